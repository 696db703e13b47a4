//! Sand in the air: the wind takes it up, carries it along and drops it.
//!
//! With q the sand that crosses a metre of width in a tick, q_s what the wind can carry, τ its shear and x the way along it
//! (Sauermann et al. 2001),
//!
//! ```text
//! q_s = Q·√τ·max(0, τ − τ_t)/(1 − τ_t)          ∂q/∂x = (q_s − q)/L          ∂h/∂t = −∇·q
//! ```
//!
//! In a step all sand in the air goes on by a cell: which one it is follows the true way of the wind, rounded to whole cells, so
//! nothing is blurred and no direction is special. Then it drifts to the side where the air does and where the ground falls, in
//! proportion to 1/√τ, as grains in weak wind give way to a slope more (Talmon et al. 1995; Hersen 2004), and each cell exchanges with
//! its ground what is lacking or too much. No cell gives more than it has.
//!
//! In wet sand water binds the grains (Fécan et al. 1999, with 2/3 for their 0.68, and w in percent of the mass):
//!
//! ```text
//! τ_t(w) = τ_t·(1 + 1.21·w^(2/3))
//! ```

use rayon::prelude::*;

use super::{
    air::Air,
    wetness::{SATURATED, SHELTERS},
};
use crate::{
    core::{
        border::Border,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::masked::{Number, Numbers, Rows, Scaled},
    simd::{
        cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
        stencil::{Quantities, Tally, Window, row_sum},
        strip::{Strip, for_strips},
    },
};

/// Numbers in the table of random numbers.
pub(super) const TABLE: usize = 4096;

/// The numbers of a step: thickness of the sand in the air over a plain at a shear of one, times 1 − τ_t; shear of the wind over a
/// plain; share of what is lacking or too much that is exchanged.
pub(super) type Exchange<'a> = Scaled<'a, 3>;

/// Shear, as a share of that over a plain, below which weaker wind lets sand drift no further down a slope.
const WEAKEST: f32 = 0.25;

/// What becomes of sand at the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// It comes in on the other side.
    Returns,
    /// It stays out.
    Leaves,
    /// It falls before the wall.
    Stops,
}

/// Cells whose sand in the air crosses the border as it goes on.
fn leaving([width, height]: [usize; 2], [right, down]: [isize; 2]) -> impl Iterator<Item = usize> {
    let inside = |place: usize, step: isize, side: usize| (0..side as isize).contains(&(place as isize + step));
    (0..height).flat_map(move |y| {
        let stays = inside(y, down, height);
        let columns = if stays && right > 0 { width.saturating_sub(right as usize) } else { 0 }..width;
        let all = columns.take(if stays { right.unsigned_abs() } else { width });
        all.filter(move |&x| !stays || !inside(x, right, width)).map(move |x| y * width + x)
    })
}

/// A step of the sand in the air: it goes on by whole cells and exchanges with the ground.
#[derive(Clone, Copy)]
pub(super) struct Drift<'a> {
    pub air: &'a Air,
    /// Cells by which all goes on, along columns and rows: one at most.
    pub goes: [isize; 2],
    pub beyond: Beyond,
    pub heading: [f32; 2],
    pub exchange: Exchange<'a>,
    /// Shear below which no dry sand moves, and how wet the sand is: 1 where it holds all the water that it can.
    pub threshold: f32,
    pub wet: &'a [f32],
    /// Most sand that can be in the air, in metres.
    pub most: f32,
    /// How uneven the wind is, and random numbers from −1 to 1.
    pub uneven: f32,
    pub table: &'a [f32; TABLE],
    /// How far sand in the air drifts over a plain down a slope of one to the side of the wind, for each cell along it, per cell size;
    /// and whether the map goes round.
    pub pulls: f32,
    pub periodic: bool,
}

/// What a step did, in metres times cells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drifted {
    pub lifted: f64,
    pub dropped: f64,
    /// Sand that left the map, and that fell before a wall.
    pub left: f64,
    pub stopped: f64,
    /// Sand in the air after the step.
    pub aloft: f64,
    /// Sand that rounding took from the ground and the air.
    pub missing: f64,
}

impl Drift<'_> {
    /// Does the step.
    pub fn run(self, terrain: &mut Terrain, aloft: &mut Grid) -> Drifted {
        let border = Border { edge: Edge::Wrap, ..Border::of(terrain) };
        let Terrain { bedrock, sand, water, .. } = terrain;
        let mut all = Drifted::default();
        if self.beyond != Beyond::Returns {
            for cell in leaving([border.width, border.height], self.goes) {
                let crosses = f64::from(aloft[cell]);
                if self.beyond == Beyond::Stops {
                    let old = f64::from(sand[cell]);
                    sand[cell] += aloft[cell];
                    all.stopped += crosses;
                    all.missing += crosses - (f64::from(sand[cell]) - old);
                } else {
                    all.left += crosses;
                }
            }
        }
        let layers = [&mut **sand, &mut **aloft].map(|layer: &mut [f32]| (layer, border.width));
        let (bedrock, water) = (&bedrock[..], &water[..]);
        let work = |strip| with_vector_unit(DriftStrip { drift: self, bedrock, water, strip });
        let strips = for_strips(border, layers, 2, work);
        for strip in strips {
            all.lifted += strip.lifted;
            all.dropped += strip.dropped;
            all.aloft += strip.aloft;
            all.missing += strip.missing;
        }
        all
    }

    /// A part of the table of random numbers, another one for every row.
    #[inline(always)]
    fn noise(&self, y: usize, out: &mut [f32]) {
        let mut first = (y.wrapping_mul(0x9e37_79b9) >> 5) % TABLE;
        let mut rest = out;
        while !rest.is_empty() {
            let (part, others) = rest.split_at_mut(rest.len().min(TABLE - first));
            part.copy_from_slice(&self.table[first..][..part.len()]);
            (rest, first) = (others, 0);
        }
    }
}

struct DriftStrip<'a> {
    drift: Drift<'a>,
    bedrock: &'a [f32],
    water: &'a [f32],
    strip: Strip<'a, 2>,
}

impl Pass for DriftStrip<'_> {
    type Output = Drifted;

    #[inline(always)]
    fn run<V: Cells>(self) -> Drifted {
        match self.drift.exchange.rows(self.strip.border(), self.strip.rows().start) {
            Rows::Even(even) => self.run_with::<V>(even),
            Rows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

/// The layers of a strip.
const SAND: usize = 0;
const ALOFT: usize = 1;

/// What a cell needs of its neighbours: sand in the air that has gone on, and the air. The map goes round: where it does not, nothing
/// drifts to the side at the border.
struct GoneOn<'a, 'layers> {
    drift: &'a Drift<'a>,
    bedrock: &'a [f32],
    strip: &'a Strip<'layers, 2>,
}

const MOVED: usize = 0;
const SHEAR: usize = 1;
const LEAN: usize = 2;
const GROUND: usize = 3;
const PULLS: usize = 4;

impl Quantities<5> for GoneOn<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [moved, shear, lean, ground, pulls]: [&mut [f32]; 5]) {
        let (border, [right, down]) = (self.strip.border(), self.drift.goes);
        let here = border.on_map(y);
        self.drift.air.row(here, shear, lean);
        let rock = &self.bedrock[here * border.width..][..border.width];
        ground
            .iter_mut()
            .zip(rock.iter().zip(self.strip.row(SAND, y)))
            .for_each(|(ground, (rock, sand))| *ground = rock + sand);
        let inside = self.drift.periodic || (1..border.height - 1).contains(&here);
        let most = if inside { self.drift.pulls } else { 0.0 };
        pulls.iter_mut().zip(&*shear).for_each(|(pulls, &shear)| {
            *pulls = if shear > 0.0 { most / shear.max(WEAKEST).sqrt() } else { 0.0 };
        });
        if !self.drift.periodic {
            (pulls[0], pulls[border.width - 1]) = (0.0, 0.0);
        }
        let (width, returns) = (border.width, self.drift.beyond == Beyond::Returns);
        if !returns && !(0..border.height as isize).contains(&(here as isize - down)) {
            moved.fill(0.0);
            return;
        }
        let row = self.strip.row(ALOFT, y - down);
        match right {
            0 => moved.copy_from_slice(row),
            1 => {
                moved[1..].copy_from_slice(&row[..width - 1]);
                moved[0] = if returns { row[width - 1] } else { 0.0 };
            }
            _ => {
                moved[..width - 1].copy_from_slice(&row[1..]);
                moved[width - 1] = if returns { row[0] } else { 0.0 };
            }
        }
    }

    fn beyond(&self, _: usize) -> [f32; 5] {
        unreachable!("the map goes round")
    }
}

impl DriftStrip<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut numbers: impl Numbers) -> Drifted {
        let Self { drift, bedrock, water, mut strip } = self;
        let Border { width, .. } = strip.border();
        let [cos, sin] = drift.heading;
        let mut noise = vec![0.0; width];
        let mut window: Window<5> = Window::over(&strip, 1);
        let (mut lifted, mut dropped) = (Tally::default(), Tally::default());
        let mut all = Drifted::default();
        let bound_dry = threshold_increase(DRY);
        for y in strip.rows() {
            window.fill_to::<V>(y + 1, &GoneOn { drift: &drift, bedrock, strip: &strip });
            numbers.next(y);
            let [moved, lean, ground, pulls] = [MOVED, LEAN, GROUND, PULLS].map(|quantity| window.around(quantity, y));
            drift.noise(y as usize, &mut noise);
            let part = y as usize * width..(y as usize + 1) * width;
            let number = |number: usize| numbers.row(number, y).cut(1, width);
            let [sand, out] = strip.rows_mut(y);
            let kernel = DriftRow {
                numbers: [number(0), number(1), number(2)],
                drift: &drift,
                aside: [-sin, cos],
                bound_dry,
                aloft: moved,
                lean,
                ground,
                pulls,
                noise: &noise,
                shear: &window.row(SHEAR, y)[1..][..width],
                water: &water[part.clone()],
                wet: &drift.wet[part],
                sand: &mut sand[..width],
                out: &mut out[..width],
                tallies: [&mut lifted, &mut dropped],
            };
            over_row::<V>(width, kernel);
            lifted.end_row(true);
            dropped.end_row(true);
            all.missing += row_sum::<V>(&moved[1][1..][..width]);
            all.aloft += row_sum::<V>(out);
        }
        let (lifted, dropped) = (lifted.total(), dropped.total());
        Drifted { lifted, dropped, missing: all.missing + lifted - dropped - all.aloft, ..all }
    }
}

/// Wetness that is none.
const DRY: f32 = 1e-6;

/// Returns the fraction by which moisture raises the threshold shear (Fécan et al. 1999).
#[inline(always)]
pub(super) fn threshold_increase<V: Cells>(wet: V) -> V {
    let percent = V::all(SATURATED) * wet.max(V::all(DRY));
    V::all(1.21) * (percent * percent.inverse_cube_root())
}

/// Returns the saturated flux at a shear above a threshold, in the unit of `per_shear`: the flux at a shear of 1 above a threshold of 0.
#[inline(always)]
pub(super) fn saturated_flux<V: Cells>(per_shear: V, shear: V, threshold: V) -> V {
    per_shear * shear.sqrt() * (shear - threshold).positive()
}

struct DriftRow<'a, N> {
    numbers: [N; 3],
    drift: &'a Drift<'a>,
    /// A step to the left of the wind, along columns and rows.
    aside: [f32; 2],
    /// By how much dry sand is bound.
    bound_dry: f32,
    aloft: [&'a [f32]; 3],
    lean: [&'a [f32]; 3],
    ground: [&'a [f32]; 3],
    pulls: [&'a [f32]; 3],
    noise: &'a [f32],
    shear: &'a [f32],
    water: &'a [f32],
    wet: &'a [f32],
    sand: &'a mut [f32],
    out: &'a mut [f32],
    tallies: [&'a mut Tally; 2],
}

impl<N> DriftRow<'_, N> {
    /// What drifts from one cell to the next one along columns or rows.
    #[inline(always)]
    fn crosses<V: Cells>(&self, axis: usize, [from, to]: [[usize; 2]; 2], x: usize) -> V {
        let (ground, pulls) = (&self.ground, &self.pulls);
        let lean = V::all(0.5) * (cell::<V>(&self.lean, from, x) + cell(&self.lean, to, x));
        let pulls = cell::<V>(pulls, from, x).min(cell(pulls, to, x));
        // Slopes along this axis and across it.
        let along = cell::<V>(ground, to, x) - cell(ground, from, x);
        let across = V::all(0.25) * (rise_across::<V>(ground, axis, from, x) + rise_across(ground, axis, to, x));
        let slope = V::all(self.aside[axis]) * along + V::all(self.aside[1 - axis]) * across;
        let way = V::all(self.aside[axis]) * (lean - pulls * slope);
        way * way.if_above(V::all(0.0), cell(&self.aloft, from, x), cell(&self.aloft, to, x))
    }
}

/// A cell of the rows around, by row and column.
#[inline(always)]
fn cell<V: Cells>(layer: &[&[f32]; 3], [row, column]: [usize; 2], x: usize) -> V {
    V::load(layer[row], x + column)
}

/// By how much the ground rises across an axis, over two cells.
#[inline(always)]
fn rise_across<V: Cells>(ground: &[&[f32]; 3], axis: usize, [row, column]: [usize; 2], x: usize) -> V {
    let [before, after] = if axis == 0 { [[0, column], [2, column]] } else { [[row, 0], [row, 2]] };
    cell::<V>(ground, after, x) - cell(ground, before, x)
}

impl<N: Number> RowKernel for DriftRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let [left, here, right, above, below] = [[1, 0], [1, 1], [1, 2], [0, 1], [2, 1]];
        let leaves_aside = self.crosses::<V>(0, [here, right], x) - self.crosses(0, [left, here], x);
        let leaves_down = self.crosses::<V>(1, [here, below], x) - self.crosses(1, [above, here], x);
        let aloft = (V::load(self.aloft[1], x + 1) - (leaves_aside + leaves_down)).positive();
        let [per_shear, over_plain, share]: [V; 3] =
            [self.numbers[0].at(x), self.numbers[1].at(x), self.numbers[2].at(x)];
        let uneven = one + V::all(self.drift.uneven) * V::load(self.noise, x);
        let shear = over_plain * V::load(self.shear, x) * uneven;
        let wet = V::load(self.wet, x);
        let binds = if wet.any_above(V::all(DRY)) { threshold_increase(wet) } else { V::all(self.bound_dry) };
        let threshold = V::all(self.drift.threshold) * (one + binds);
        let carries = saturated_flux(per_shear, shear, threshold).min(V::all(self.drift.most));
        let (water, sand) = (V::load(self.water, x), V::load(self.sand, x));
        let shelters = V::all(SHELTERS);
        let carries = water.if_above(shelters, zero, carries);
        let loose = water.if_above(shelters, zero, sand);
        let left = sand - ((carries - aloft) * share).min(loose);
        // What the last digit of the ground allows.
        let rises = sand - left;
        left.store(self.sand, x);
        (aloft + rises).positive().store(self.out, x);
        self.tallies[0].add(x, rises.positive());
        self.tallies[1].add(x, (-rises).positive());
    }
}

/// The sum of cells, in the same order on every machine.
pub(super) fn sum(cells: &Grid) -> f64 {
    let rows: Vec<f64> = cells
        .par_chunks(cells.width().max(1))
        .map(|row| {
            let mut lanes = [0.0_f64; 8];
            for part in row.chunks(8) {
                lanes.iter_mut().zip(part).for_each(|(lane, &cell)| *lane += f64::from(cell));
            }
            lanes.iter().sum::<f64>()
        })
        .collect();
    rows.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sand_leaves_from_the_cells_whose_next_cell_is_not_on_the_map() {
        for [right, down] in [[0, 0], [1, 0], [-1, 1], [0, -1], [1, 1]] {
            for (width, height) in [(7, 5), (1, 3), (4, 1), (1, 1)] {
                let out = |x: usize, y: usize| {
                    let (x, y) = (x as isize + right, y as isize + down);
                    x < 0 || y < 0 || x >= width as isize || y >= height as isize
                };
                let right_cells = (0..width * height).filter(|cell| out(cell % width, cell / width));
                assert!(leaving([width, height], [right, down]).eq(right_cells), "{right} {down}, {width} × {height}");
            }
        }
    }
}
