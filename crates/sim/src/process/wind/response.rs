//! Response of the wind shear to the shape of the ground, by Fourier transform.
//!
//! Heights are real, so two columns share a transform, and half of the spectrum is sufficient. Columns are transformed in blocks
//! (`simd/fourier.rs`), then rows, each block of which is multiplied by the response and transformed back immediately; both responses
//! return through the columns together, one as the real part and the other as the imaginary one.

use rayon::prelude::*;

use super::air::WindForcing;
use crate::simd::{
    cells::{Cells, MAX_LANES, Pass, with_vector_unit},
    fourier::{Complexes, Transform, TransformColumns, next_smooth_length, product},
};

/// Minimum number of padding cells, which lead from one side to the other across a border that does not wrap; else an eighth of the map.
const PADDING: usize = 8;

/// Transforms of a map, with their buffers and results.
#[derive(Clone, Default)]
pub(super) struct Response {
    /// Of rows and of columns.
    transforms: Option<[Transform; 2]>,
    /// Blocks of sixteen columns, each row by row: spectra along columns, and in the end the results.
    blocks: Vec<Complexes>,
    /// Number of rows of a block.
    tall: usize,
    /// Blocks of sixteen waves along columns, each with both responses column by column.
    answers: Vec<Complexes>,
}

/// Map whose response is computed.
#[derive(Clone, Copy)]
pub(super) struct ResponseInput<'a> {
    /// Heights, in metres.
    pub heights: &'a [f32],
    pub size: [usize; 2],
    pub cell_size: f32,
    /// `true` if the map is periodic.
    pub periodic: bool,
    /// Offset subtracted from all heights to preserve precision.
    pub middle: f32,
}

impl Response {
    /// Computes δτ and δτ_y of the formulas of `air.rs`. `finish` is called with the index and the rows of each block, with δτ as the
    /// imaginary part and δτ_y as the real one, and replaces them by the results.
    pub fn find(
        &mut self,
        shape: ResponseInput<'_>,
        wind: WindForcing,
        finish: impl Fn(usize, &mut [Complexes]) + Sync,
    ) {
        let [width, height] = shape.size;
        let sides = shape
            .size
            .map(|side| if shape.periodic { side } else { next_smooth_length(side + (side / 8).max(PADDING)) });
        let transforms = self.transforms.take().filter(|plans| plans.each_ref().map(Transform::side) == sides);
        let transforms = &*self.transforms.insert(transforms.unwrap_or_else(|| sides.map(Transform::new)));
        let [columns, rows] = sides;
        let (half, pairs) = (rows / 2 + 1, columns.div_ceil(2 * MAX_LANES));
        self.tall = half.max(height);
        let tall = self.tall;
        self.blocks.resize(2 * pairs * tall, Complexes::default());
        self.answers.resize(half.div_ceil(MAX_LANES) * columns * 2, Complexes::default());
        let pairs = self.blocks.par_chunks_mut(2 * tall).enumerate();
        pairs.for_each_init(TransformColumns::default, |room, (pair, out)| {
            room.rows.resize(rows, Complexes::default());
            for (y, row) in room.rows.iter_mut().enumerate() {
                shape.gather(2 * pair * MAX_LANES, y, sides, &mut row.re);
                shape.gather((2 * pair + 1) * MAX_LANES, y, sides, &mut row.im);
            }
            with_vector_unit(ColumnTransform { transform: &transforms[1], room, out: out.split_at_mut(tall).into() });
        });
        let answer = TransferFunction::new(wind, sides, shape.cell_size);
        let blocks = &self.blocks[..];
        let waves = self.answers.par_chunks_mut(2 * columns).enumerate();
        waves.for_each_init(Default::default, |room: &mut [TransformColumns; 2], (block, out)| {
            let first = block * MAX_LANES;
            for (block, rows) in room[0].cleared(columns).chunks_mut(MAX_LANES).enumerate() {
                let waves = blocks[block * tall..][first..half.min(first + MAX_LANES)].iter();
                for (lane, wave) in waves.enumerate() {
                    for (column, row) in rows.iter_mut().enumerate() {
                        (row.re[lane], row.im[lane]) = (wave.re[column], wave.im[column]);
                    }
                }
            }
            let down = &answer.down[first..];
            with_vector_unit(RowTransform { transform: &transforms[0], answer: &answer, down, room, out });
        });
        let answers = &self.answers[..];
        let blocks = self.blocks.par_chunks_mut(tall).take(width.div_ceil(MAX_LANES)).enumerate();
        blocks.for_each_init(TransformColumns::default, |room, (block, out)| {
            room.rows.resize(rows, Complexes::default());
            let first = block * MAX_LANES;
            for (waves, answers) in answers.chunks(2 * columns).enumerate() {
                for (column, both) in answers[2 * first..].chunks_exact(2).take(MAX_LANES).enumerate() {
                    merge_spectra(both, &mut room.rows, waves * MAX_LANES, column);
                }
            }
            with_vector_unit(InverseTransform { transform: &transforms[1], room });
            out[..height].copy_from_slice(&room.rows[..height]);
            finish(block, &mut out[..height]);
        });
    }

    /// Returns the results for sixteen columns in a row.
    #[inline]
    pub fn result(&self, block: usize, y: usize) -> &Complexes {
        &self.blocks[block * self.tall + y]
    }
}

/// Combines both responses of a column, from wave `first` on, into one spectrum: the first plus i times the second. Real and imaginary
/// parts are swapped, and stay so.
#[inline]
fn merge_spectra(both: &[Complexes], rows: &mut [Complexes], first: usize, column: usize) {
    let (side, half) = (rows.len(), rows.len() / 2 + 1);
    let [own, other] = [&both[0], &both[1]];
    for (lane, wave) in (first..half.min(first + MAX_LANES)).enumerate() {
        let ([a, b], [c, d]) = ([own.im[lane], own.re[lane]], [other.im[lane], other.re[lane]]);
        // The opposite wave first, as both can be the same.
        let opposite = &mut rows[(side - wave) % side];
        (opposite.im[column], opposite.re[column]) = (a + d, c - b);
        (rows[wave].im[column], rows[wave].re[column]) = (a - d, c + b);
    }
}

impl ResponseInput<'_> {
    /// Gathers the heights of the columns from `first` on in a row. Beyond a border that does not wrap, they lead from the last row back to
    /// the first one, and likewise for columns.
    fn gather(&self, first: usize, y: usize, [columns, rows]: [usize; 2], out: &mut [f32; MAX_LANES]) {
        let [width, height] = self.size;
        let row = |y: usize| &self.heights[y * width..][..width];
        let (own, other, part) = (row(y.min(height - 1)), row(0), between_sides(y, height, rows));
        let at = |own: f32, other: f32| own + part * (other - own) - self.middle;
        let inside = width.saturating_sub(first).min(MAX_LANES);
        let (inner, outer) = out.split_at_mut(inside);
        if inside > 0 {
            let rows = own[first..][..inside].iter().zip(&other[first..][..inside]);
            inner.iter_mut().zip(rows).for_each(|(out, (&own, &other))| *out = at(own, other));
        }
        for (out, x) in outer.iter_mut().zip(first + inside..) {
            let [last, first] = [width - 1, 0].map(|x| at(own[x], other[x]));
            *out = if x < columns { last + between_sides(x, width, columns) * (first - last) } else { 0.0 };
        }
    }
}

/// Returns the position in the padding as a fraction of the way from the last cell back to the first; 0 on the map.
fn between_sides(place: usize, side: usize, padded: usize) -> f32 {
    if place < side { 0.0 } else { (place + 1 - side) as f32 / (padded + 1 - side) as f32 }
}

/// Transforms two blocks of columns, as real and imaginary parts, into their spectra, times two.
struct ColumnTransform<'a> {
    transform: &'a Transform,
    room: &'a mut TransformColumns,
    out: [&'a mut [Complexes]; 2],
}

impl Pass for ColumnTransform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { transform, room, out: [one, other] } = self;
        transform.run(room);
        let side = room.rows.len();
        for wave in 0..=side / 2 {
            for lane in (0..MAX_LANES).step_by(V::COUNT) {
                let [a, b] = room.rows[wave].load::<V>(lane);
                let [c, d] = room.rows[(side - wave) % side].load::<V>(lane);
                one[wave].store(lane, [a + c, b - d]);
                other[wave].store(lane, [b + d, c - a]);
            }
        }
    }
}

/// Factors of the response by wave.
struct TransferFunction {
    wind: WindForcing,
    per_wave: f32,
    /// Wave numbers along rows and along columns, in 1/m, each with its damping factor.
    across: Vec<[f32; 2]>,
    down: Vec<[f32; 2]>,
}

impl TransferFunction {
    fn new(wind: WindForcing, sides: [usize; 2], cell_size: f32) -> Self {
        let [across, down] = sides.map(|side| {
            let number = |index: usize| if 2 * index > side { index as f32 - side as f32 } else { index as f32 };
            let wave = |index| number(index) * (std::f32::consts::TAU / (side as f32 * cell_size));
            let left = |wave: f32| libm::expf(-0.5 * (wind.blur * wave) * (wind.blur * wave));
            // Padded to whole blocks.
            (0..side.next_multiple_of(MAX_LANES)).map(|index| [wave(index), left(wave(index))]).collect()
        });
        Self { wind, per_wave: 0.5 * wind.speed_up / (sides[0] * sides[1]) as f32, across, down }
    }
}

/// Transforms a block of sixteen waves along rows, multiplies it by both responses and transforms them back.
struct RowTransform<'a> {
    transform: &'a Transform,
    answer: &'a TransferFunction,
    down: &'a [[f32; 2]],
    room: &'a mut [TransformColumns; 2],
    out: &'a mut [Complexes],
}

impl Pass for RowTransform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self {
            transform,
            answer: &TransferFunction { wind, per_wave, ref across, .. },
            down,
            room: [one, other],
            out,
        } = self;
        transform.run(one);
        let lanes: [[f32; MAX_LANES]; 2] =
            [0, 1].map(|part| std::array::from_fn(|lane| down.get(lane).map_or(0.0, |wave| wave[part])));
        let [cos, sin] = wind.heading.map(V::all);
        other.rows.clear();
        for (row, &[kx, left]) in one.rows.iter_mut().zip(across) {
            let mut aside_row = Complexes::default();
            for lane in (0..MAX_LANES).step_by(V::COUNT) {
                let (kx, ky) = (V::all(kx), V::load(&lanes[0], lane));
                let left = V::all(per_wave * left) * V::load(&lanes[1], lane);
                let gain = left / (kx * kx + ky * ky).max(V::all(f32::MIN_POSITIVE)).sqrt();
                let (along, aside) = (kx * cos + ky * sin, ky * cos - kx * sin);
                let size = along.max(-along);
                let wave = row.load::<V>(lane);
                let [re, im] = product(wave, [along * along * gain, V::all(wind.lead) * along * size * gain]);
                let turns = along * aside * gain;
                // Swapped for the inverse transform.
                row.store(lane, [im, re]);
                aside_row.store(lane, [wave[1] * turns, wave[0] * turns]);
            }
            other.rows.push(aside_row);
        }
        transform.run(one);
        transform.run(other);
        for (out, (one, other)) in out.chunks_exact_mut(2).zip(one.rows.iter().zip(&other.rows)) {
            (out[0], out[1]) = (*one, *other);
        }
    }
}

struct InverseTransform<'a> {
    transform: &'a Transform,
    room: &'a mut TransformColumns,
}

impl Pass for InverseTransform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        self.transform.run(self.room);
    }
}
