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
//! nothing is blurred and no direction is special. Then it drifts to the side where the air does, and each cell exchanges with its
//! ground what is lacking or too much. No cell gives more than it has.
//!
//! In wet sand water binds the grains (Fécan et al. 1999, with 2/3 for their 0.68, and w in percent of the mass):
//!
//! ```text
//! τ_t(w) = τ_t·(1 + 1.21·w^(2/3))
//! ```

use rayon::prelude::*;

use super::{
    air::Air,
    flight::TABLE,
    wetness::{SATURATED, SHELTERS},
};
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
    grid::Grid,
    masked::{Number, Numbers, Rows, Scaled},
    stencil::{Border, Tally},
    strip::{Strip, for_strips},
    terrain::{Edge, Terrain},
};

/// The numbers of a step: thickness of the sand in the air over a plain at a shear of one, times 1 − τ_t; shear of the wind over a
/// plain; share of what is lacking or too much that is exchanged.
pub(super) type Exchange<'a> = Scaled<'a, 3>;

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

/// Takes the sand in the air along by whole cells into rows that have a cell more at either end. Returns what left the map, in metres
/// times cells.
pub(super) fn shift(
    aloft: &Grid,
    sand: &mut Grid,
    moved: &mut Vec<f32>,
    [right, down]: [isize; 2],
    beyond: Beyond,
) -> f64 {
    let (width, height) = (aloft.width(), aloft.height());
    let mut left = 0.0;
    if beyond != Beyond::Returns {
        for y in 0..height {
            let stays = (0..height as isize).contains(&(y as isize + down));
            let inner = if stays { (-right).max(0) as usize..width - (right.max(0) as usize).min(width) } else { 0..0 };
            for x in (0..width).filter(|x| !inner.contains(x)) {
                let sand_aloft = aloft.at(x, y);
                match beyond {
                    Beyond::Stops => sand[y * width + x] += sand_aloft,
                    _ => left += f64::from(sand_aloft),
                }
            }
        }
    }
    let edge = if beyond == Beyond::Returns { Edge::Wrap } else { Edge::Open };
    moved.resize((width + 2) * height, 0.0);
    moved.par_chunks_mut(width + 2).enumerate().for_each(|(y, out)| {
        let inner = &mut out[1..=width];
        match edge.index(y as isize - down, height) {
            None => inner.fill(0.0),
            Some(from) => {
                let row = &aloft[from * width..][..width];
                if beyond == Beyond::Returns {
                    let first = (-right).rem_euclid(width as isize) as usize;
                    inner[..width - first].copy_from_slice(&row[first..]);
                    inner[width - first..].copy_from_slice(&row[..first]);
                } else {
                    for (x, out) in inner.iter_mut().enumerate() {
                        *out = edge.index(x as isize - right, width).map_or(0.0, |from| row[from]);
                    }
                }
            }
        }
        (out[0], out[width + 1]) = (out[width], out[1]);
    });
    left
}

/// A step of the sand in the air, after it has gone on.
#[derive(Clone, Copy)]
pub(super) struct Drift<'a> {
    pub air: &'a Air,
    /// Sand in the air, with a cell beyond either end of a row.
    pub moved: &'a [f32],
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
}

impl Drift<'_> {
    /// Does the step. Returns what was lifted and what was dropped, in metres times cells.
    pub fn run(self, terrain: &mut Terrain, aloft: &mut Grid) -> [f64; 2] {
        let border = Border::of(terrain);
        let Terrain { sand, water, .. } = terrain;
        let layers = [&mut **sand, &mut **aloft].map(|layer: &mut [f32]| (layer, border.width));
        let water = &water[..];
        let strips = for_strips(border, layers, 0, |strip| with_vector_unit(DriftStrip { drift: self, water, strip }));
        strips.into_iter().fold([0.0, 0.0], |[lifted, dropped], strip| [lifted + strip[0], dropped + strip[1]])
    }
}

struct DriftStrip<'a> {
    drift: Drift<'a>,
    water: &'a [f32],
    strip: Strip<'a, 2>,
}

impl Pass for DriftStrip<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Cells>(self) -> [f64; 2] {
        match self.drift.exchange.rows(self.strip.border(), self.strip.rows().start) {
            Rows::Even(even) => self.run_with::<V>(even),
            Rows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

impl DriftStrip<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut numbers: impl Numbers) -> [f64; 2] {
        let Self { drift, water, mut strip } = self;
        let Border { width, height, .. } = strip.border();
        let [cos, sin] = drift.heading;
        let mut noise = vec![0.0; width];
        let (mut lifted, mut dropped) = (Tally::default(), Tally::default());
        for y in strip.rows() {
            numbers.next(y);
            let row = |layer: &'_ [f32], y: isize| -> std::ops::Range<usize> {
                let first = Edge::Wrap.nearest(y, height) * (width + 2);
                debug_assert!(first < layer.len());
                first..first + width + 2
            };
            let around = |layer| [y - 1, y, y + 1].map(|y| row(layer, y));
            let [above, here, below] = around(drift.moved);
            let aloft = [&drift.moved[above], &drift.moved[here], &drift.moved[below]];
            let [above, here, below] = around(&drift.air.lean);
            let lean = [&drift.air.lean[above], &drift.air.lean[here], &drift.air.lean[below]];
            // Every row reads the table from another place.
            let first = (y as usize).wrapping_mul(0x9e37_79b9) >> 5;
            noise.iter_mut().enumerate().for_each(|(x, noise)| *noise = drift.table[(first + x) % TABLE]);
            let part = y as usize * width..(y as usize + 1) * width;
            let number = |number: usize| numbers.row(number, y).cut(1, width);
            let [sand, out] = strip.rows_mut(y);
            let kernel = DriftRow {
                numbers: [number(0), number(1), number(2)],
                drift: &drift,
                aside: [-0.5 * sin, 0.5 * cos],
                aloft,
                lean,
                noise: &noise,
                shear: &drift.air.shear[part.clone()],
                water: &water[part.clone()],
                wet: &drift.wet[part],
                sand: &mut sand[..width],
                out: &mut out[..width],
                tallies: [&mut lifted, &mut dropped],
            };
            over_row::<V>(width, kernel);
            lifted.end_row(true);
            dropped.end_row(true);
        }
        [lifted.total(), dropped.total()]
    }
}

struct DriftRow<'a, N> {
    numbers: [N; 3],
    drift: &'a Drift<'a>,
    /// Half of a step to the left of the wind, along columns and rows.
    aside: [f32; 2],
    aloft: [&'a [f32]; 3],
    lean: [&'a [f32]; 3],
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
        let cell = |layer: &[&[f32]; 3], [row, column]: [usize; 2]| V::load(layer[row], x + column);
        let way = V::all(self.aside[axis]) * (cell(&self.lean, from) + cell(&self.lean, to));
        way * way.if_above(V::all(0.0), cell(&self.aloft, from), cell(&self.aloft, to))
    }
}

impl<N: Number> RowKernel for DriftRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let [left, here, right, above, below] = [[1, 0], [1, 1], [1, 2], [0, 1], [2, 1]];
        let crosses = |axis: usize, pair: [[usize; 2]; 2]| -> V { self.crosses(axis, pair, x) };
        let leaves_aside = crosses(0, [here, right]) - crosses(0, [left, here]);
        let leaves_down = crosses(1, [here, below]) - crosses(1, [above, here]);
        let aloft = (V::load(self.aloft[1], x + 1) - (leaves_aside + leaves_down)).positive();
        let [per_shear, over_plain, share]: [V; 3] =
            [self.numbers[0].at(x), self.numbers[1].at(x), self.numbers[2].at(x)];
        let uneven = one + V::all(self.drift.uneven) * V::load(self.noise, x);
        let shear = over_plain * V::load(self.shear, x) * uneven;
        let percent = V::all(SATURATED) * V::load(self.wet, x).max(V::all(1e-6));
        let binds = V::all(1.21) * (percent * percent.inverse_cube_root());
        let moves = (shear - V::all(self.drift.threshold) * (one + binds)).positive();
        let carries = (per_shear * shear.sqrt() * moves).min(V::all(self.drift.most));
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
    fn sand_in_the_air_is_neither_lost_nor_made_at_any_border() {
        let aloft = Grid::from_fn(7, 5, |x, y| (x + 10 * y) as f32);
        for step in [[1, 0], [-1, 1], [0, -1], [1, 1]] {
            for beyond in [Beyond::Returns, Beyond::Leaves, Beyond::Stops] {
                let (mut sand, mut moved) = (Grid::filled(7, 5, 0.0), Vec::new());
                let left = shift(&aloft, &mut sand, &mut moved, step, beyond);
                let kept: f64 = moved.chunks(9).flat_map(|row| &row[1..8]).map(|&cell| f64::from(cell)).sum();
                assert_eq!(kept + left + sand.total(), aloft.total(), "{step:?} {beyond:?}");
                assert_eq!(left > 0.0, beyond == Beyond::Leaves, "{step:?} {beyond:?}");
                assert_eq!(moved[9 * 2 + 3], aloft.at((2 - step[0]) as usize, (2 - step[1]) as usize));
            }
        }
    }
}
