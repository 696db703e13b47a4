//! Sand in the air: entrainment, transport and deposition by the wind.
//!
//! With q the sand flux per metre of width in a tick, q_s the saturated flux, τ the shear and x the distance along the wind
//! (Sauermann et al. 2001),
//!
//! ```text
//! q_s = Q·√τ·max(0, τ − τ_t)/(1 − τ_t)          ∂q/∂x = (q_s − q)/L          ∂h/∂t = −∇·q
//! ```
//!
//! In a step all sand in the air moves by a cell, along the direction of the wind rounded to whole cells with the remainder carried
//! over, so there is no numerical diffusion and no favoured direction. It then drifts sideways with the air and down slopes, in
//! proportion to 1/√τ, as gravity deflects grains more in weak wind (Talmon et al. 1995; Hersen 2004), and each cell exchanges the
//! deficit or excess with its ground. No cell gives more than it has.
//!
//! Over bare rock grains rebound higher and farther than over sand (Ho et al. 2011). Turbulence of intensity I with eddies of length Λ
//! disperses them there (Taylor 1921), so that the losses of the horns of a barchan do not all arrive along two lines at the next one:
//!
//! ```text
//! ∂q/∂x = I²·Λ·∇²q
//! ```
//!
//! In wet sand moisture binds the grains (Fécan et al. 1999, with 2/3 for their 0.68, and w in percent of the mass):
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
        bounds::DEPTH,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::masked::{Coefficient, CoefficientRows, CoefficientWindow, MaskedCoefficients},
    simd::{
        cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
        stencil::{RowAccumulator, RowQuantities, StencilWindow, row_sum},
        strip::{Strip, for_strips},
    },
};

/// Length of the table of random numbers.
pub(super) const TABLE: usize = 4096;

/// Quantities of a step that the mask scales: thickness of the sand in the air over a plain at a shear of 1, divided by 1 − τ_t; shear
/// over a plain; fraction of the deficit or excess that is exchanged.
pub(super) type Exchange<'a> = MaskedCoefficients<'a, 3>;

/// Shear relative to a plain below which weaker wind no longer increases the drift down slopes.
const WEAKEST: f32 = 0.25;

/// Boundary condition of sand in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BorderCondition {
    /// Sand re-enters on the opposite side.
    Returns,
    /// Sand leaves the map.
    Leaves,
    /// Sand is deposited in front of the wall.
    Stops,
}

/// Returns the cells whose sand in the air crosses the border in a step.
fn leaving([width, height]: [usize; 2], [right, down]: [isize; 2]) -> impl Iterator<Item = usize> {
    let inside = |place: usize, step: isize, side: usize| (0..side as isize).contains(&(place as isize + step));
    (0..height).flat_map(move |y| {
        let stays = inside(y, down, height);
        let columns = if stays && right > 0 { width.saturating_sub(right as usize) } else { 0 }..width;
        let all = columns.take(if stays { right.unsigned_abs() } else { width });
        all.filter(move |&x| !stays || !inside(x, right, width)).map(move |x| y * width + x)
    })
}

/// Step of the sand in the air: movement by whole cells, lateral drift and exchange with the ground.
#[derive(Clone, Copy)]
pub(super) struct Drift<'a> {
    pub air: &'a Air,
    /// Movement along columns and rows, at most one cell.
    pub shift: [isize; 2],
    pub beyond: BorderCondition,
    pub heading: [f32; 2],
    pub exchange: Exchange<'a>,
    /// Threshold shear of dry sand, and moisture of the sand: 1 at saturation.
    pub threshold: f32,
    pub wet: &'a [f32],
    /// Maximum thickness of sand in the air, in metres.
    pub most: f32,
    /// Amplitude of the variation of the wind, and random numbers from −1 to 1.
    pub uneven: f32,
    pub table: &'a [f32; TABLE],
    /// Lateral drift of sand in the air down a slope of 1 over a plain, per cell along the wind and per cell size; and `true` if the map
    /// is periodic.
    pub pulls: f32,
    pub periodic: bool,
    /// Fraction of the difference between the sand in the air of two cells of bare rock that turbulence exchanges, and the thickness of
    /// sand below which rock counts as bare, in metres.
    pub disperses: f32,
    pub bare: f32,
}

/// Totals of a step, in metres times cells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DriftSums {
    pub lifted: f64,
    pub dropped: f64,
    /// Sand that left the map, and that was deposited in front of a wall.
    pub left: f64,
    pub stopped: f64,
    /// Sand in the air after the step.
    pub aloft: f64,
    /// Sand that rounding removed from the ground and the air.
    pub missing: f64,
}

impl Drift<'_> {
    /// Runs the step.
    pub fn run(self, terrain: &mut Terrain, aloft: &mut Grid) -> DriftSums {
        let border = Border { edge: Edge::Wrap, ..Border::of(terrain) };
        let Terrain { bedrock, sand, water, .. } = terrain;
        let mut all = DriftSums::default();
        if self.beyond != BorderCondition::Returns {
            for cell in leaving([border.width, border.height], self.shift) {
                let crosses = f64::from(aloft[cell]);
                if self.beyond == BorderCondition::Stops {
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

    /// Fills a row from the table of random numbers, at an offset that differs between rows.
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
    type Output = DriftSums;

    #[inline(always)]
    fn run<V: Cells>(self) -> DriftSums {
        match self.drift.exchange.rows(self.strip.border(), self.strip.rows().start) {
            CoefficientRows::Uniform(even) => self.run_with::<V>(even),
            CoefficientRows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

/// Indices of the layers of a strip.
const SAND: usize = 0;
const ALOFT: usize = 1;

/// Input from neighbouring cells: sand in the air after the movement, and the airflow. The strip wraps around; on a map that does not,
/// there is no lateral drift at the border.
struct AdvectedRows<'a, 'layers> {
    drift: &'a Drift<'a>,
    bedrock: &'a [f32],
    strip: &'a Strip<'layers, 2>,
}

const MOVED: usize = 0;
const SHEAR: usize = 1;
const LEAN: usize = 2;
const GROUND: usize = 3;
const PULLS: usize = 4;
const DISPERSES: usize = 5;

impl RowQuantities<6> for AdvectedRows<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [moved, shear, lean, ground, pulls, disperses]: [&mut [f32]; 6]) {
        let (border, [right, down]) = (self.strip.border(), self.drift.shift);
        let here = border.on_map(y);
        self.drift.air.row(here, shear, lean);
        let rock = &self.bedrock[here * border.width..][..border.width];
        ground
            .iter_mut()
            .zip(rock.iter().zip(self.strip.row(SAND, y)))
            .for_each(|(ground, (rock, sand))| *ground = rock + sand);
        let inside = self.drift.periodic || (1..border.height - 1).contains(&here);
        let [most, dispersed] = if inside { [self.drift.pulls, self.drift.disperses] } else { [0.0; 2] };
        pulls.iter_mut().zip(&*shear).for_each(|(pulls, &shear)| {
            *pulls = if shear > 0.0 { most / shear.max(WEAKEST).sqrt() } else { 0.0 };
        });
        disperses.iter_mut().zip(shear.iter().zip(self.strip.row(SAND, y))).for_each(|(disperses, (&shear, &sand))| {
            *disperses = if shear > 0.0 && sand < self.drift.bare { dispersed } else { 0.0 };
        });
        if !self.drift.periodic {
            for row in [pulls, disperses] {
                (row[0], row[border.width - 1]) = (0.0, 0.0);
            }
        }
        let (width, returns) = (border.width, self.drift.beyond == BorderCondition::Returns);
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

    fn beyond(&self, _: usize) -> [f32; 6] {
        unreachable!("the strip wraps around")
    }
}

impl DriftStrip<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut numbers: impl CoefficientWindow) -> DriftSums {
        let Self { drift, bedrock, water, mut strip } = self;
        let Border { width, .. } = strip.border();
        let [cos, sin] = drift.heading;
        let mut noise = vec![0.0; width];
        let mut window: StencilWindow<6> = StencilWindow::over(&strip, 1);
        let (mut lifted, mut dropped) = (RowAccumulator::default(), RowAccumulator::default());
        let mut all = DriftSums::default();
        let bound_dry = threshold_increase(DRY);
        for y in strip.rows() {
            window.fill_to::<V>(y + 1, &AdvectedRows { drift: &drift, bedrock, strip: &strip });
            numbers.next(y);
            let [moved, lean, ground, pulls, disperses] =
                [MOVED, LEAN, GROUND, PULLS, DISPERSES].map(|quantity| window.around(quantity, y));
            drift.noise(y as usize, &mut noise);
            let part = y as usize * width..(y as usize + 1) * width;
            let number = |number: usize| numbers.row(number, y).slice(1, width);
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
                disperses,
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
        DriftSums { lifted, dropped, missing: all.missing + lifted - dropped - all.aloft, ..all }
    }
}

/// Wetness below which sand counts as dry.
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
    /// Unit vector to the left of the wind, along columns and rows.
    aside: [f32; 2],
    /// Increase of the threshold in dry sand.
    bound_dry: f32,
    aloft: [&'a [f32]; 3],
    lean: [&'a [f32]; 3],
    ground: [&'a [f32]; 3],
    pulls: [&'a [f32]; 3],
    disperses: [&'a [f32]; 3],
    noise: &'a [f32],
    shear: &'a [f32],
    water: &'a [f32],
    wet: &'a [f32],
    sand: &'a mut [f32],
    out: &'a mut [f32],
    tallies: [&'a mut RowAccumulator; 2],
}

impl<N> DriftRow<'_, N> {
    /// Returns the sand that drifts from one cell to the next one along columns or rows.
    #[inline(always)]
    fn crosses<V: Cells>(&self, axis: usize, [from, to]: [[usize; 2]; 2], x: usize) -> V {
        let (ground, pulls) = (&self.ground, &self.pulls);
        let lean = V::all(0.5) * (cell::<V>(&self.lean, from, x) + cell(&self.lean, to, x));
        let pulls = cell::<V>(pulls, from, x).min(cell(pulls, to, x));
        // Slopes along this axis and across it.
        let along = cell::<V>(ground, to, x) - cell(ground, from, x);
        let across = V::all(0.25) * (rise_across::<V>(ground, axis, from, x) + rise_across(ground, axis, to, x));
        let slope = V::all(self.aside[axis]) * along + V::all(self.aside[1 - axis]) * across;
        let shift = V::all(self.aside[axis]) * (lean - pulls * slope);
        let (aloft, aloft_after) = (cell::<V>(&self.aloft, from, x), cell(&self.aloft, to, x));
        let disperses = cell::<V>(&self.disperses, from, x).min(cell(&self.disperses, to, x));
        shift * shift.if_above(V::all(0.0), aloft, aloft_after) + disperses * (aloft - aloft_after)
    }
}

/// Loads a cell of the surrounding rows, by row and column.
#[inline(always)]
fn cell<V: Cells>(layer: &[&[f32]; 3], [row, column]: [usize; 2], x: usize) -> V {
    V::load(layer[row], x + column)
}

/// Returns the rise of the ground across an axis, over two cells.
#[inline(always)]
fn rise_across<V: Cells>(ground: &[&[f32]; 3], axis: usize, [row, column]: [usize; 2], x: usize) -> V {
    let [before, after] = if axis == 0 { [[0, column], [2, column]] } else { [[row, 0], [row, 2]] };
    cell::<V>(ground, after, x) - cell(ground, before, x)
}

impl<N: Coefficient> RowKernel for DriftRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let [left, here, right, above, below] = [[1, 0], [1, 1], [1, 2], [0, 1], [2, 1]];
        let leaves_aside = self.crosses::<V>(0, [here, right], x) - self.crosses(0, [left, here], x);
        let leaves_down = self.crosses::<V>(1, [here, below], x) - self.crosses(1, [above, here], x);
        let aloft = (V::load(self.aloft[1], x + 1) - (leaves_aside + leaves_down)).positive();
        // Over cliffs of kilometres, lateral drift would multiply the sand in the air without limit.
        let aloft = aloft.min(V::all(const { DEPTH.clamp(f32::MAX) }));
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
        // Rounded to the last digit of the ground.
        let rises = sand - left;
        left.store(self.sand, x);
        (aloft + rises).positive().store(self.out, x);
        self.tallies[0].add(x, rises.positive());
        self.tallies[1].add(x, (-rises).positive());
    }
}

/// Returns the sum of cells, in the same order on every machine.
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
    fn leaving_lists_cells_whose_target_is_off_map() {
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
