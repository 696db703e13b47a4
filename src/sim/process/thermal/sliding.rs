//! A step of the default mode: sand slides, bare rock crumbles.

use std::ops::Range;

use super::{Steep, Sums};
use crate::sim::{
    around::{FARTHER, Pair, around, for_border, lowest, neighbour},
    cells::{Cells, Pass, RowKernel, over_row},
    masked::{Covered, between},
    process::thermal::Params,
    stencil::{Border, Quantities, Window, row_sum},
    terrain::{Edge, Terrain},
};

/// Of a pair's excess, what moves in a tick.
const PAIR: f32 = 1.0 / 12.0;
/// Sand slides in portions of 2⁻¹⁵ m, 0.03 mm: such sums are exact in single precision as long as less than 512 m lie
/// in a cell, so that nothing is lost in the last digit.
const PORTION: f32 = 1.0 / 32_768.0;
/// Added and taken off again, it leaves whole portions.
const WHOLE: f32 = 1.5 * 8_388_608.0 * PORTION;

/// Ground and sand.
pub(super) struct Loose<'a> {
    pub terrain: &'a Terrain,
}

impl Quantities<2> for Loose<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, loose]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part]);
        over_row::<V>(width, LooseRow { bedrock, sand, ground, loose });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index], 0.0]
    }
}

struct LooseRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    ground: &'a mut [f32],
    loose: &'a mut [f32],
}

impl RowKernel for LooseRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let sand = V::load(self.sand, x);
        (V::load(self.bedrock, x) + sand).store(self.ground, x);
        // An eighth for every neighbour at most.
        (sand * V::all(0.125)).store(self.loose, x);
    }
}

/// A step of the default mode.
pub(super) struct Slide<'a> {
    pub loose: &'a Loose<'a>,
    /// On free ground, and under the mask.
    pub steep: [Steep; 2],
    pub covered: Option<&'a Covered<Params>>,
    pub border: Border,
    pub rows: Range<usize>,
    pub out: [&'a mut [f32]; 2],
}

/// What slides from a cell to a neighbour: heights of both, an eighth of the giver's sand, the difference that lies.
#[inline(always)]
fn slides<V: Cells>(from: V, to: V, eighth: V, lies: V) -> V {
    let slides = (V::all(PAIR) * ((from - to) - lies).positive()).min(eighth);
    (((slides - V::all(0.5 * PORTION)) + V::all(WHOLE)) - V::all(WHOLE)).positive()
}

struct SlideRow<'a, const MASKED: bool> {
    steep: [Steep; 2],
    mask: [&'a [f32]; 3],
    ground: [&'a [f32]; 3],
    loose: [&'a [f32]; 3],
    bedrock: &'a [f32],
    sand: &'a [f32],
    softness: &'a [f32],
    out: [&'a mut [f32]; 2],
    given: &'a mut [f32],
    got: &'a mut [f32],
    crumbled: &'a mut [f32],
}

/// 1 where sand slides, 0 where time stands still.
#[inline(always)]
fn moves<V: Cells, const MASKED: bool>([free, under]: [Steep; 2], mask: &[f32], at: usize) -> V {
    let (zero, one) = (V::all(0.0), V::all(1.0));
    between::<V, MASKED>([free.share, under.share], mask, at).if_above(zero, one, zero)
}

impl<const MASKED: bool> SlideRow<'_, MASKED> {
    /// The same for the cells of a row.
    #[inline(always)]
    fn moves<V: Cells>(&self, row: usize, at: usize) -> V {
        moves::<V, MASKED>(self.steep, self.mask[row], at)
    }

    /// Difference at which the sand of cells lies: that of the cell that would give.
    #[inline(always)]
    fn lies<V: Cells>(&self, row: usize, at: usize, farther: f32) -> V {
        let [free, under] = self.steep;
        between::<V, MASKED>([free.repose * farther, under.repose * farther], self.mask[row], at)
    }
}

impl<const MASKED: bool> Pair<2> for SlideRow<'_, MASKED> {
    /// What comes and what goes.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 2] {
        let (own, eighth) = (V::load(self.ground[1], x + 1), V::load(self.loose[1], x + 1));
        let (other, its_eighth) = (V::load(self.ground[row], x + column), V::load(self.loose[row], x + column));
        let (lies, its_lies) = (self.lies(1, x + 1, farther), self.lies(row, x + column, farther));
        let (comes, goes) = (slides(other, own, its_eighth, its_lies), slides(own, other, eighth, lies));
        if MASKED {
            [self.moves::<V>(row, x + column) * comes, self.moves::<V>(1, x + 1) * goes]
        } else {
            [comes, goes]
        }
    }
}

impl<const MASKED: bool> RowKernel for SlideRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let softness = V::load(self.softness, x);
        let talus: V = Steep::talus::<V, MASKED>(self.steep, softness, self.mask[1], x + 1);
        let [mut comes, mut goes] = around::<V, 2>(self, x);
        if !MASKED {
            let moves = self.moves::<V>(1, x + 1);
            (comes, goes) = (moves * comes, moves * goes);
        }
        let [beside, across] = lowest::<V>(self.ground, x);
        let excess = ((old_bedrock - beside) - talus).max((old_bedrock - across) - talus * V::all(FARTHER[1]));
        // Rock that stands too steep crumbles, unless what would fall lies on it as sand already.
        let [free, under] = self.steep;
        let share: V = between::<V, MASKED>([0.5 * free.share, 0.5 * under.share], self.mask[1], x + 1);
        let crumbles = share * softness * (excess - old_sand).positive();
        let bedrock = old_bedrock - crumbles;
        let crumbles = old_bedrock - bedrock;
        let [bedrock_out, sand_out] = &mut self.out;
        bedrock.store(bedrock_out, x);
        ((old_sand + crumbles) + (comes - goes)).positive().store(sand_out, x);
        goes.store(self.given, x);
        comes.store(self.got, x);
        crumbles.store(self.crumbled, x);
    }
}

impl Pass for Slide<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        if self.covered.is_some() { self.run_as::<V, true>() } else { self.run_as::<V, false>() }
    }
}

impl Slide<'_> {
    #[inline(always)]
    fn run_as<V: Cells, const MASKED: bool>(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let (steep, terrain) = (self.steep, self.loose.terrain);
        let mut window = Window::new(self.border, self.rows.start);
        let (mut given, mut got, mut crumbled) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums::default();
        let [bedrock, sand] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.loose);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let loose = window.quantity(1).map(|row| &row[..width + 2]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, softness) = (&terrain.bedrock[part.clone()], &terrain.softness[part.clone()]);
            let old_sand = &terrain.sand[part];
            let here = line * width..(line + 1) * width;
            let mask = self.covered.map_or([&[] as &[f32]; 3], |covered| covered.rows(y));
            over_row::<V>(
                width,
                SlideRow::<MASKED> {
                    steep,
                    mask,
                    ground,
                    loose,
                    bedrock: old_bedrock,
                    sand: old_sand,
                    softness,
                    out: [&mut bedrock[here.clone()], &mut sand[here]],
                    given: &mut given,
                    got: &mut got,
                    crumbled: &mut crumbled,
                },
            );
            sums.given += row_sum::<V>(&given);
            sums.got += row_sum::<V>(&got);
            sums.crumbled += row_sum::<V>(&crumbled);
            if edge == Edge::Open {
                for_border(y, (width, height), |x, kind, side| {
                    let other = neighbour(ground, x, kind, side);
                    let lies = steep.map(|steep| steep.repose * FARTHER[kind]);
                    let lies = between::<f32, MASKED>(lies, mask[1], x + 1);
                    let left = slides(ground[1][x + 1], other, loose[1][x + 1], lies);
                    let moves = moves::<f32, MASKED>(steep, mask[1], x + 1);
                    sums.out += f64::from(moves * left);
                });
            }
        }
        sums
    }
}
