//! What a wave of grains did becomes sand and rock again, and sand slides where grains lifted or dropped it.
//!
//! A cell shares its excess over each neighbour as often as a grain lifted sand from it or dropped sand on it. All cells exchange at
//! once, and none gives more than an eighth of its sand to a neighbour.

use rayon::prelude::*;

use super::field::{BELOW, COUNT, Field, LOOSE, QUANTA, Tallies};
use crate::{
    core::{
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::masked::{Number, Numbers, Rows, Scaled},
    simd::{
        around::{Pair, around},
        cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
        stencil::{Border, Quantities, Tally, Window},
        strip::{Strip, for_strips},
    },
};

/// The law's count in a tally that says how often sand is to slide.
const fn calls(tally: i64) -> i64 {
    tally & ((1 << COUNT) - 1)
}

/// The law's count in a tally that says how often grains touched the ground.
const fn touches(tally: i64) -> i64 {
    calls(tally >> COUNT)
}

/// What rounding may add to the bites out of a cell's sand, as a share of it.
const ROUNDING: f32 = 1e-6;

/// Adds the tallies of other threads to the first one's, and empties them.
pub(super) fn gather(tallies: &mut [Tallies], field: &Field) {
    let stride = field.stride();
    let Some((first, others)) = tallies.split_first_mut() else { return };
    for other in others {
        let rows = first.changes.par_chunks_mut(stride).zip(other.changes.par_chunks_mut(stride));
        rows.for_each(|(to, from)| add(to, from));
        for (to, from) in [(&mut first.worn, &mut other.worn), (&mut first.passed, &mut other.passed)] {
            to.resize(to.len().max(from.len()), 0);
            to.par_chunks_mut(stride).zip(from.par_chunks_mut(stride)).for_each(|(to, from)| add(to, from));
        }
    }
}

fn add<T: Copy + Default + std::ops::AddAssign>(to: &mut [T], from: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += *from;
        *from = T::default();
    }
}

/// What is known of every cell besides its sand.
pub(super) struct Marks<'a> {
    /// How often sand is to slide from and to the cell.
    pub calls: &'a mut Grid,
    /// 1 where a grain touched the ground in this tick.
    pub touched: &'a mut Grid,
    /// Sand that passed in this tick, in metres.
    pub passed: &'a mut Grid,
    /// Rock worn off since the start, in metres.
    pub abraded: &'a mut Grid,
}

/// Looks for cells from which the grains of a wave took more sand than there is: each saw the ground before the wave. If there
/// are any, what the wave did is forgotten, and the grains will find so little in every crowded cell that there is enough
/// for all: `attempt` times less than an equal share. A visit takes at most the share `bite` of what it finds. Returns the number of
/// such cells.
pub(super) fn share_out(terrain: &Terrain, tallies: &mut Tallies, field: &mut Field, bite: f32, attempt: u32) -> usize {
    let (width, stride, start) = (field.width, field.stride(), field.index(0, 0));
    let quantum = terrain.cell_size / QUANTA;
    let takes = |sand: f32, tally: i64| -((tally >> BELOW) as f32) * quantum > sand * (1.0 + ROUNDING);
    let rows = tallies.changes[start..].par_chunks(stride).zip(terrain.sand.par_chunks(width));
    let overdrawn = rows.map(|(changes, sand)| {
        changes.iter().zip(sand).filter(|&(&tally, &sand)| tally < 0 && takes(sand, tally)).count()
    });
    let overdrawn = overdrawn.sum();
    if overdrawn == 0 {
        return 0;
    }
    let rows = tallies.changes[start..].par_chunks(stride).zip(field.cells[start..].par_chunks_mut(stride));
    rows.zip(terrain.sand.par_chunks(width)).for_each(|((changes, cells), sand)| {
        for ((&tally, cell), &sand) in changes.iter().zip(cells).zip(sand) {
            let visits = calls(tally).max(touches(tally)) as f32 * attempt as f32;
            let visits = if takes(sand, tally) { visits.max(2.0 * attempt as f32 / bite) } else { visits };
            if visits * bite > 1.0 {
                // In the law's own unit, without the quantum by which a visit may be rounded.
                let per_quantum = cell[LOOSE] / (sand / quantum).max(1.0);
                let each = cell[LOOSE] / visits * (1.0 - ROUNDING) - per_quantum;
                cell[LOOSE] = each.max(0.0) / bite;
            }
        }
    });
    tallies.changes.fill(0);
    tallies.worn.fill(0);
    tallies.passed.fill(0);
    overdrawn
}

/// Turns the first tally into sand and rock and empties it.
///
/// A layer holds no more digits than an `f32`: what a cell's sand can't take is given to the next cell of its row. Returns by how
/// much rock and sand together grew, in metres times cells.
pub(super) fn deposit(terrain: &mut Terrain, tallies: &mut Tallies, field: &Field, marks: &mut Marks<'_>) -> f64 {
    let (width, quantum) = (field.width, terrain.cell_size / QUANTA);
    let start = field.index(0, 0);
    let stride = field.stride();
    let rows = tallies.changes[start..].par_chunks_mut(stride);
    let layers = terrain.sand.par_chunks_mut(width).zip(marks.calls.par_chunks_mut(width));
    let layers = layers.zip(marks.touched.par_chunks_mut(width));
    let grown: Vec<f64> = rows
        .zip(layers)
        .map(|(changes, ((sand, slides), touched))| {
            let (mut rest, mut grown) = (0.0, 0.0);
            for (x, changes) in changes[..width].iter_mut().enumerate() {
                let tally = std::mem::take(changes);
                // The lower bits are never negative, so the upper ones are the change itself.
                let change = tally >> BELOW;
                if change != 0 {
                    let old = f64::from(sand[x]);
                    let exact = old + change as f64 * f64::from(quantum) + rest;
                    sand[x] = (exact as f32).max(0.0);
                    rest = exact - f64::from(sand[x]);
                    grown += f64::from(sand[x]) - old;
                }
                slides[x] = calls(tally) as f32;
                touched[x] = if touches(tally) == 0 { touched[x] } else { 1.0 };
            }
            grown
        })
        .collect();
    let mut grown: f64 = grown.iter().sum();
    let cell = |index: usize| start + index / width * stride + index % width;
    if !tallies.worn.is_empty() {
        for index in 0..terrain.sand.len() {
            let worn = std::mem::take(&mut tallies.worn[cell(index)]) as f32 * quantum;
            if worn > 0.0 {
                let (rock, sand) = (terrain.bedrock[index], f64::from(terrain.sand[index]));
                terrain.bedrock[index] = rock - worn;
                let worn = f64::from(rock) - f64::from(terrain.bedrock[index]);
                terrain.sand[index] = (sand + worn) as f32;
                marks.abraded[index] += worn as f32;
                grown += f64::from(terrain.sand[index]) - sand - worn;
            }
        }
    }
    if !tallies.passed.is_empty() {
        for (index, passed) in marks.passed.iter_mut().enumerate() {
            *passed += std::mem::take(&mut tallies.passed[cell(index)]) as f32 * (256.0 * quantum);
        }
    }
    grown
}

/// Gives what rounding has withheld, in metres times cells, to a cell that is `wanted`, by its place and its sand; what was too much is taken there.
/// Returns what is less than the last digit. The search begins somewhere else in every tick.
pub(super) fn repay(sand: &mut Grid, owed: f64, tick: u64, wanted: impl Fn(usize, f32) -> bool) -> f64 {
    let first = (tick.wrapping_mul(0x9e37_79b9_7f4a_7c15) % sand.len() as u64) as usize;
    let mut owed = owed;
    for index in (first..sand.len()).chain(0..first) {
        if !wanted(index, sand[index]) {
            continue;
        }
        let exact = f64::from(sand[index]) + owed;
        sand[index] = (exact as f32).max(0.0);
        owed = exact - f64::from(sand[index]);
        if sand[index] > 0.0 {
            break;
        }
    }
    owed
}

/// Lets sand slide once where it was called to. At every call the `share` of half of what exceeds the difference of height at
/// which sand `lies` goes. Returns what slid and by how much the sand really grew, in metres times cells.
pub(super) fn cascade(terrain: &mut Terrain, calls: &[f32], lies: f32, share: Scaled<'_, 1>) -> [f64; 2] {
    let border = closed(terrain);
    let Terrain { bedrock, sand, .. } = terrain;
    let bands = for_strips(border, [(&mut sand[..], border.width)], 1, |strip| {
        with_vector_unit(Cascade { strip, bedrock, calls, lies, share })
    });
    bands.iter().fold([0.0, 0.0], |[slid, grown], band| [slid + band[0], grown + band[1]])
}

/// The border as sliding sand meets it: over an open one the wind alone carries sand.
pub(super) fn closed(terrain: &Terrain) -> Border {
    let border = Border::of(terrain);
    Border { edge: if border.edge == Edge::Open { Edge::Wall } else { border.edge }, ..border }
}

/// Ground, sand and calls.
struct CascadeGround<'a, 'layers> {
    strip: &'a Strip<'layers, 1>,
    bedrock: &'a [f32],
    calls: &'a [f32],
}

const GROUND: usize = 0;
const SAND: usize = 1;
const CALLS: usize = 2;

impl Quantities<3> for CascadeGround<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, sand, calls]: [&mut [f32]; 3]) {
        let width = ground.len();
        let first = self.strip.border().on_map(y) * width;
        sand.copy_from_slice(self.strip.row(0, y));
        calls.copy_from_slice(&self.calls[first..][..width]);
        let (bedrock, sand) = (&self.bedrock[first..][..width], &sand[..width]);
        over_row::<V>(width, GroundRow { bedrock, sand, ground: &mut ground[..width] });
    }

    fn beyond(&self, _: usize) -> [f32; 3] {
        unreachable!("no border is open here")
    }
}

struct GroundRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    ground: &'a mut [f32],
}

impl RowKernel for GroundRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        (V::load(self.bedrock, x) + V::load(self.sand, x)).store(self.ground, x);
    }
}

/// A pass over a strip of sand.
struct Cascade<'a> {
    strip: Strip<'a, 1>,
    bedrock: &'a [f32],
    calls: &'a [f32],
    lies: f32,
    share: Scaled<'a, 1>,
}

struct CascadeRow<'a, N> {
    lies: f32,
    /// Above, here and below, as all that follows.
    share: [N; 3],
    ground: [&'a [f32]; 3],
    sand: [&'a [f32]; 3],
    calls: [&'a [f32]; 3],
    out: &'a mut [f32],
    slid: &'a mut Tally,
}

impl<N: Number> Pair<2> for CascadeRow<'_, N> {
    /// What comes and what goes.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, _: f32) -> [V; 2] {
        let lies = V::all(self.lies);
        let difference = V::load(self.ground[row], x + column) - V::load(self.ground[1], x + 1);
        let calls = V::load(self.calls[1], x + 1) + V::load(self.calls[row], x + column);
        let (half, eighth) = (V::all(0.5), V::all(0.125));
        let (from, to) = (V::load(self.sand[row], x + column), V::load(self.sand[1], x + 1));
        let (comes, goes) = (half * (difference - lies).positive(), half * (-difference - lies).positive());
        // As the cell lets it that gives.
        let [its, own]: [V; 2] = [self.share[row].at(x + column), self.share[1].at(x + 1)];
        [(its * calls).min(eighth) * from.min(comes), (own * calls).min(eighth) * to.min(goes)]
    }
}

impl<N: Number> RowKernel for CascadeRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [comes, goes] = around::<V, 2>(self, x);
        (V::load(self.sand[1], x + 1) + (comes - goes)).positive().store(self.out, x);
        self.slid.add(x, goes);
    }
}

impl Pass for Cascade<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Cells>(self) -> [f64; 2] {
        match self.share.rows(self.strip.border(), self.strip.rows().start - 1) {
            Rows::Even(even) => self.run_with::<V>(even),
            Rows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

impl Cascade<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut share: impl Numbers) -> [f64; 2] {
        let Self { mut strip, bedrock, calls, lies, .. } = self;
        let (width, own) = (strip.border().width, strip.rows());
        share.next(own.start - 1);
        share.next(own.start);
        let mut window: Window<3> = Window::over(&strip, 1);
        let (mut slid, mut grown) = (Tally::default(), 0.0);
        for y in own {
            window.fill_to::<V>(y + 1, &CascadeGround { strip: &strip, bedrock, calls });
            share.next(y + 1);
            let share = [y - 1, y, y + 1].map(|y| share.row(0, y));
            let [ground, sand, calls] = [GROUND, SAND, CALLS].map(|quantity| window.around(quantity, y));
            let [out] = strip.rows_mut(y);
            let out = &mut out[..width];
            over_row::<V>(width, CascadeRow { lies, share, ground, sand, calls, out: &mut *out, slid: &mut slid });
            slid.end_row(true);
            grown += out.iter().zip(&sand[1][1..]).map(|(&new, &old)| f64::from(new) - f64::from(old)).sum::<f64>();
        }
        [slid.total(), grown]
    }
}
