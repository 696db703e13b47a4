//! The air over dunes: how strong the wind is close to the ground, found for the whole map at once.
//!
//! With ĥ the Fourier transform of the envelope, k the wave vector, and the wind along x,
//!
//! ```text
//! δτ̂ = A·ĥ·(k_x² + i·B·k_x·|k_x|)/|k|        δτ̂_y = A·ĥ·k_x·k_y/|k|
//! τ/τ₀ = max(0, 1 + δτ),  0 in still air
//! ```
//!
//! (Jackson & Hunt 1975; Weng et al. 1991; Kroy et al. 2002). The envelope is the ground, or the roof of the still air where that
//! lies above it. The roof leaves a brink, where the ground falls by more than 0.3, and sinks to the ground behind it. Waves of a few
//! cells or saturation lengths are damped: sand in the air does not follow them, and no grid shows their slopes. Another direction of the wind turns k, so no direction is special.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::{Fft, FftPlannerScalar, num_complex::Complex};

use crate::sim::{
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Fall of the ground at which the wind leaves it.
const BRINK: f32 = 0.3;
/// Fall of the roof of the still air.
const ROOF: f32 = 0.15;
/// Most by which the ground makes the wind stronger over steep mountains, where the linear law ends.
const STRONGEST: f32 = 8.0;
/// Sand drifts to the side by this multiple of the air's own turn. With 1, wind that flows together narrows a barchan without end;
/// with 2 a barchan keeps its width.
const SIDEWAYS: f32 = 2.0;
/// Most that sand drifts to the side for each cell that it goes along.
const FARTHEST: f32 = 0.5;
/// Beyond a border that does not wrap, so many cells lead from one side to the other: an eighth of the map, but not fewer than these.
const PADDING: usize = 8;

/// What the wind meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Airflow {
    /// Where it blows to: cosine and sine of its direction.
    pub heading: [f32; 2],
    /// How much slopes speed it up: A.
    pub speed_up: f32,
    /// How far upwind of a crest it is strongest: B.
    pub lead: f32,
    /// Waves are damped as a bell curve of this many metres blurs them.
    pub blur: f32,
}

/// The wind close to the ground.
#[derive(Clone, Default)]
pub(super) struct Air {
    /// Its shear as a multiple of what it is over a plain; 0 in still air.
    pub shear: Vec<f32>,
    /// How far sand drifts to the left of the wind for each cell along it, with a cell beyond either end of a row.
    pub lean: Vec<f32>,
    /// For which wind, cell size, edge and map it has been found.
    of: Option<(Airflow, f32, Edge, [usize; 2])>,
    roof: [Vec<f32>; 2],
    waves: [Vec<Complex<f32>>; 2],
    plans: Option<Plans>,
}

/// Transforms of rows and columns.
#[derive(Clone)]
struct Plans {
    sides: [usize; 2],
    forward: [Arc<dyn Fft<f32>>; 2],
    inverse: [Arc<dyn Fft<f32>>; 2],
}

impl Plans {
    /// Plain arithmetic alone: other units of the processor give other last digits.
    fn new(sides: [usize; 2]) -> Self {
        let mut planner = FftPlannerScalar::new();
        let forward = sides.map(|side| planner.plan_fft_forward(side));
        Self { sides, forward, inverse: sides.map(|side| planner.plan_fft_inverse(side)) }
    }
}

impl Air {
    /// Forgets what was found.
    pub fn forget(&mut self) {
        self.of = None;
    }

    /// Finds the wind over the `seen` heights unless that has been done. `factor` is by how much more the ground speeds it up in each
    /// cell, where that is not the same everywhere.
    pub fn find(&mut self, seen: &Grid, terrain: &Terrain, wind: Airflow, factor: Option<&Grid>) {
        let Terrain { edge, cell_size, .. } = *terrain;
        let size = [seen.width(), seen.height()];
        let of = Some((wind, cell_size, edge, size));
        if self.of == of && factor.is_none() {
            return;
        }
        self.of = if factor.is_none() { of } else { None };
        self.raise_roof(seen, cell_size, wind.heading, edge);
        self.transform(size, cell_size, wind, edge == Edge::Wrap);
        self.note(seen, cell_size, edge == Edge::Wrap, factor);
    }

    /// Puts the envelope into the first roof.
    fn raise_roof(&mut self, seen: &Grid, cell_size: f32, [cos, sin]: [f32; 2], edge: Edge) {
        let (width, height) = (seen.width(), seen.height());
        self.roof.iter_mut().for_each(|roof| roof.resize(width * height, 0.0));
        let [roof, before] = &mut self.roof;
        // Downwind lies a place between four cells.
        let (left, up) = (cos.floor(), sin.floor());
        let (part_x, part_y) = (cos - left, sin - up);
        let (low, high) = seen.min_max();
        roof.par_chunks_mut(width).enumerate().for_each(|(y, roof)| {
            let row = |down: isize| &seen[edge.nearest(y as isize + up as isize + down, height) * width..][..width];
            let (near, far, own) = (row(0), row(1), &seen[y * width..][..width]);
            for x in 0..width {
                let first = x as isize + left as isize;
                let [here, next] = [edge.nearest(first, width), edge.nearest(first + 1, width)];
                let between = |row: &[f32]| row[here] + part_x * (row[next] - row[here]);
                let ahead = between(near) + part_y * (between(far) - between(near));
                roof[x] = if own[x] - ahead > BRINK * cell_size { own[x] } else { f32::MIN };
            }
        });
        let mut step = 1.0;
        let most = ((high - low) / (ROOF * cell_size)).min((width + height) as f32);
        while step < most {
            std::mem::swap(roof, before);
            let shift = [cos, sin].map(|part| (part * step).round() as isize);
            let falls = ROOF * cell_size * ((shift[0] * shift[0] + shift[1] * shift[1]) as f32).sqrt();
            roof.par_chunks_mut(width).enumerate().for_each(|(y, roof)| {
                roof.copy_from_slice(&before[y * width..][..width]);
                let Some(from) = edge.index(y as isize - shift[1], height) else { return };
                shifted(&before[from * width..][..width], shift[0], edge, |x, above| {
                    roof[x] = roof[x].max(above - falls);
                });
            });
            step *= 2.0;
        }
        roof.par_iter_mut().zip(seen.par_iter()).for_each(|(roof, &ground)| *roof = roof.max(ground));
    }

    /// Transforms the envelope, multiplies each wave and transforms back: δτ is the real part of the result, δτ_y the imaginary one.
    fn transform(&mut self, [width, height]: [usize; 2], cell_size: f32, wind: Airflow, periodic: bool) {
        let padded = |side: usize| if periodic { side } else { smooth(side + (side / 8).max(PADDING)) };
        let sides = [padded(width), padded(height)];
        if self.plans.as_ref().is_none_or(|plans| plans.sides != sides) {
            self.plans = Some(Plans::new(sides));
        }
        let Some(plans) = &self.plans else { return };
        let [columns, rows] = sides;
        let [waves, turned] = &mut self.waves;
        waves.resize(columns * rows, Complex::default());
        turned.resize(columns * rows, Complex::default());
        let roof = &self.roof[0];
        waves.par_chunks_mut(columns).enumerate().for_each(|(y, out)| {
            // From the last row to the first one, where the map does not wrap.
            let (one, other) = (y.min(height - 1), 0);
            let down = between_sides(y, height, rows);
            for (x, out) in out[..width].iter_mut().enumerate() {
                let (one, other) = (roof[one * width + x], roof[other * width + x]);
                *out = Complex::new(one + down * (other - one), 0.0);
            }
            let [last, first] = [out[width - 1].re, out[0].re];
            for (x, out) in out.iter_mut().enumerate().skip(width) {
                *out = Complex::new(last + between_sides(x, width, columns) * (first - last), 0.0);
            }
        });
        rows_through(&plans.forward[0], waves, columns);
        transpose(waves, turned, columns, rows);
        rows_through(&plans.forward[1], turned, rows);
        let numbers = |side: usize| -> Vec<[f32; 2]> {
            let number = |index: usize| if 2 * index > side { index as f32 - side as f32 } else { index as f32 };
            let wave = |index| number(index) * (std::f32::consts::TAU / (side as f32 * cell_size));
            let damped = |wave: f32| libm::expf(-0.5 * (wind.blur * wave) * (wind.blur * wave));
            (0..side).map(|index| [wave(index), damped(wave(index))]).collect()
        };
        let (across, down) = (numbers(columns), numbers(rows));
        let per_cell = wind.speed_up / (columns * rows) as f32;
        let [cos, sin] = wind.heading;
        turned.par_chunks_mut(rows).zip(&across).for_each(|(column, &[kx, damps_x])| {
            for (wave, &[ky, damps_y]) in column.iter_mut().zip(&down) {
                let length = (kx * kx + ky * ky).sqrt();
                let gain = if length > 0.0 { per_cell * damps_x * damps_y / length } else { 0.0 };
                let (along, aside) = (kx * cos + ky * sin, ky * cos - kx * sin);
                let (square, ahead) = (along * along, wind.lead * (along * along.abs()));
                // The second wave times i, so that it comes back as imaginary part.
                *wave *= Complex::new(square, ahead + along * aside) * gain;
            }
        });
        rows_through(&plans.inverse[1], turned, rows);
        transpose(turned, waves, rows, columns);
        rows_through(&plans.inverse[0], &mut waves[..height * columns], columns);
    }

    /// Takes over what was found.
    fn note(&mut self, seen: &Grid, cell_size: f32, periodic: bool, factor: Option<&Grid>) {
        let (width, height) = (seen.width(), seen.height());
        let columns = self.waves[0].len() / self.plans.as_ref().map_or(1, |plans| plans.sides[1]);
        self.shear.resize(width * height, 0.0);
        self.lean.resize((width + 2) * height, 0.0);
        let (waves, roof) = (&self.waves[0], &self.roof[0]);
        let rows = self.shear.par_chunks_mut(width).zip(self.lean.par_chunks_mut(width + 2)).enumerate();
        rows.for_each(|(y, (shear, lean))| {
            for x in 0..width {
                let index = y * width + x;
                let more = factor.map_or(1.0, |factor| factor[index]);
                let wave = waves[y * columns + x];
                let (stronger, aside) = (more * wave.re, more * wave.im);
                let still = roof[index] - seen[index] > 1e-3 * cell_size;
                let over = stronger.max(0.0) * (1.0 / STRONGEST);
                let stronger = if stronger > 0.0 { stronger / (1.0 + over * over).sqrt() } else { stronger };
                shear[x] = if still { 0.0 } else { (1.0 + stronger).max(0.0) };
                // Over a border that does not wrap, nothing drifts.
                let inside = periodic || ((1..width - 1).contains(&x) && (1..height - 1).contains(&y));
                let turns = (SIDEWAYS * aside / shear[x].max(0.25)).clamp(-FARTHEST, FARTHEST);
                lean[x + 1] = if still || !inside { 0.0 } else { turns };
            }
            (lean[0], lean[width + 1]) = (lean[width], lean[1]);
        });
    }
}

/// Calls `with` for the places of a row and what comes to them from so many columns before.
fn shifted(row: &[f32], shift: isize, edge: Edge, mut with: impl FnMut(usize, f32)) {
    let width = row.len();
    if edge == Edge::Wrap {
        let first = (-shift).rem_euclid(width as isize) as usize;
        row[first..].iter().chain(&row[..first]).enumerate().for_each(|(x, &value)| with(x, value));
    } else {
        let (from, to) = ((-shift).max(0) as usize, shift.max(0) as usize);
        row.iter().skip(from).zip(to..width).for_each(|(&value, x)| with(x, value));
    }
}

/// How far a place beyond the border lies on the way from the last one before it back to the first one.
fn between_sides(place: usize, side: usize, padded: usize) -> f32 {
    if place < side { 0.0 } else { (place + 1 - side) as f32 / (padded + 1 - side) as f32 }
}

/// The next number that has no factors but 2, 3 and 5, of which transforms are quick.
fn smooth(side: usize) -> usize {
    let rest = |mut number: usize| {
        for factor in [2, 3, 5] {
            while number.is_multiple_of(factor) {
                number /= factor;
            }
        }
        number
    };
    (side..).find(|&number| rest(number) == 1).unwrap_or(side)
}

/// Transforms every row.
fn rows_through(plan: &Arc<dyn Fft<f32>>, rows: &mut [Complex<f32>], side: usize) {
    let scratch = || vec![Complex::default(); plan.get_inplace_scratch_len()];
    rows.par_chunks_mut(side).for_each_init(scratch, |scratch, row| plan.process_with_scratch(row, scratch));
}

/// Exchanges rows and columns.
fn transpose(from: &[Complex<f32>], to: &mut [Complex<f32>], columns: usize, rows: usize) {
    const BLOCK: usize = 16;
    to.par_chunks_mut(rows * BLOCK).enumerate().for_each(|(block, out)| {
        let first_column = block * BLOCK;
        for first in (0..rows).step_by(BLOCK) {
            for y in first..(first + BLOCK).min(rows) {
                for (line, x) in (first_column..(first_column + BLOCK).min(columns)).enumerate() {
                    out[line * rows + y] = from[y * columns + x];
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wind(degrees: f32) -> Airflow {
        let (sin, cos) = degrees.to_radians().sin_cos();
        Airflow { heading: [cos, sin], speed_up: 3.0, lead: 0.4, blur: 3.0 }
    }

    fn found(ground: Grid, cell_size: f32, edge: Edge, wind: Airflow) -> Air {
        let terrain = Terrain::bare(ground.clone(), cell_size, edge);
        let mut air = Air::default();
        air.find(&ground, &terrain, wind, None);
        air
    }

    #[test]
    fn the_shear_over_low_waves_is_that_of_the_formula() {
        let wave = std::f32::consts::TAU / 32.0;
        let low = Grid::from_fn(64, 16, |x, _| 0.1 * (wave * x as f32).cos());
        let air = found(low, 2.0, Edge::Wrap, wind(0.0));
        let (k, damped) = (wave / 2.0, (-0.5 * (3.0 * wave / 2.0).powi(2)).exp());
        for x in 0..64 {
            let place = wave * x as f32;
            let right = 1.0 + 3.0 * 0.1 * k * damped * (place.cos() - 0.4 * place.sin());
            assert!((air.shear[5 * 64 + x] - right).abs() < 1e-4, "{x}: {} for {right}", air.shear[5 * 64 + x]);
        }
    }

    #[test]
    fn air_is_still_behind_a_cliff_for_about_seven_heights_and_flat_maps_of_any_size_have_a_shear_of_one() {
        for (degrees, dx, dy) in [(0.0, 1, 0), (90.0, 0, 1), (180.0, -1, 0), (270.0, 0, -1)] {
            let along = |x: usize, y: usize| (x as isize - 32) * dx + (y as isize - 32) * dy;
            let step = Grid::from_fn(64, 64, |x, y| if (-12..=0).contains(&along(x, y)) { 4.0 } else { 0.0 });
            let air = found(step, 2.0, Edge::Open, wind(degrees));
            let at = |away: isize| air.shear[(32 + away * dy) as usize * 64 + (32 + away * dx) as usize];
            assert!((1..=12).all(|away| at(away) == 0.0) && at(18) > 0.3, "{degrees}: {} {}", at(12), at(18));
        }
        for (width, height) in [(1, 1), (1, 7), (37, 2), (53, 41)] {
            for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
                let air = found(Grid::filled(width, height, 5.0), 3.0, edge, wind(30.0));
                assert!(air.shear.iter().all(|shear| (shear - 1.0).abs() < 1e-4), "{width} × {height} {edge:?}");
            }
        }
    }
}
