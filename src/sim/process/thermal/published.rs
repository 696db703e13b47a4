//! A step as published (eqs 17 and 18): the ground is one solid.

use std::ops::Range;

use super::{Steep, Sums};
use crate::sim::{
    around::{FARTHER, Pair, around, for_border, lowest, neighbour},
    cells::{Cells, Pass, RowKernel, over_row},
    grid::Grid,
    stencil::{Border, Quantities, Window, row_sum},
    terrain::{Edge, Terrain},
};

/// The ground as one solid, and the difference of height at which it stands.
pub(super) struct Solid<'a> {
    pub terrain: &'a Terrain,
    pub steep: Steep,
}

impl Quantities<2> for Solid<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, talus]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part.clone()]);
        let softness = &self.terrain.softness[part];
        over_row::<V>(width, SolidRow { steep: self.steep, bedrock, sand, softness, ground, talus });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index], 0.0]
    }
}

struct SolidRow<'a> {
    steep: Steep,
    bedrock: &'a [f32],
    sand: &'a [f32],
    softness: &'a [f32],
    ground: &'a mut [f32],
    talus: &'a mut [f32],
}

impl RowKernel for SolidRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        (V::load(self.bedrock, x) + V::load(self.sand, x)).store(self.ground, x);
        Steep::talus::<V, false>([self.steep; 2], V::load(self.softness, x), &[], 0).store(self.talus, x);
    }
}

struct TalusRow<'a> {
    share: f32,
    ground: [&'a [f32]; 3],
    talus: &'a [f32],
    softness: &'a [f32],
    out: &'a mut [f32],
}

impl Pair<1> for TalusRow<'_> {
    /// How much lower the neighbour lies, if that is more than the talus allows.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 1] {
        let fall = V::load(self.ground[1], x + 1) - V::load(self.ground[row], x + column);
        [fall.if_above(V::load(self.talus, x) * V::all(farther), fall, V::all(0.0))]
    }
}

impl RowKernel for TalusRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let zero = V::all(0.0);
        let [all] = around::<V, 1>(self, x);
        let [beside, across] = lowest::<V>(self.ground, x);
        let most = V::load(self.ground[1], x + 1) - beside.min(across);
        let gives = V::all(self.share) * V::load(self.softness, x) * most / all.max(V::all(f32::MIN_POSITIVE));
        all.if_above(zero, gives, zero).store(self.out, x);
    }
}

/// Eq. 17: what a cell gives, per metre that the neighbours which get it lie lower.
pub(super) struct Talus<'a> {
    pub solid: &'a Solid<'a>,
    pub border: Border,
    pub rows: Range<usize>,
    pub out: &'a mut [f32],
}

impl Pass for Talus<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let width = self.border.width;
        let share = 0.5 * self.solid.steep.share;
        let mut window = Window::new(self.border, self.rows.start);
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.solid);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let talus = &window.quantity(1)[1][1..=width];
            let softness = &self.solid.terrain.softness[y * width..(y + 1) * width];
            let out = &mut self.out[line * width..(line + 1) * width];
            over_row::<V>(width, TalusRow { share, ground, talus, softness, out });
        }
    }
}

/// Ground, talus, and what cells give.
pub(super) struct Falling<'a> {
    pub solid: Solid<'a>,
    pub gives: &'a Grid,
}

impl Quantities<3> for Falling<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, talus, gives]: [&mut [f32]; 3]) {
        let width = ground.len();
        self.solid.row::<V>(y, [ground, talus]);
        gives.copy_from_slice(&self.gives[y * width..(y + 1) * width]);
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 3] {
        [self.solid.terrain.start[index], 0.0, 0.0]
    }
}

/// Eq. 18, gathered: a cell takes from those that give to it, and gives.
pub(super) struct Fall<'a> {
    pub falling: &'a Falling<'a>,
    pub border: Border,
    pub rows: Range<usize>,
    pub out: [&'a mut [f32]; 2],
}

struct FallRow<'a> {
    ground: [&'a [f32]; 3],
    talus: [&'a [f32]; 3],
    gives: [&'a [f32]; 3],
    bedrock: &'a [f32],
    sand: &'a [f32],
    out: [&'a mut [f32]; 2],
    given: &'a mut [f32],
    got: &'a mut [f32],
    rounded: &'a mut [f32],
}

impl Pair<2> for FallRow<'_> {
    /// What comes, and how much lower the neighbour lies if something goes there.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 2] {
        let rise = V::load(self.ground[row], x + column) - V::load(self.ground[1], x + 1);
        let (fall, zero, farther) = (-rise, V::all(0.0), V::all(farther));
        let gives = V::load(self.gives[row], x + column);
        [
            rise.if_above(V::load(self.talus[row], x + column) * farther, gives * rise, zero),
            fall.if_above(V::load(self.talus[1], x + 1) * farther, fall, zero),
        ]
    }
}

impl RowKernel for FallRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [comes, falls] = around::<V, 2>(self, x);
        let goes = V::load(self.gives[1], x + 1) * falls;
        // What is given is sand as long as there is some; what comes is part of the solid.
        let sand = V::load(self.sand, x);
        let from_sand = goes.min(sand);
        let [bedrock_out, sand_out] = &mut self.out;
        let bedrock = V::load(self.bedrock, x);
        let rock = comes - (goes - from_sand);
        let new = bedrock + rock;
        (sand - from_sand).store(sand_out, x);
        new.store(bedrock_out, x);
        goes.store(self.given, x);
        comes.store(self.got, x);
        // The last digit of high rock is larger than what a step may move.
        (rock - (new - bedrock)).store(self.rounded, x);
    }
}

impl Pass for Fall<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let terrain = self.falling.solid.terrain;
        let mut window = Window::new(self.border, self.rows.start);
        let (mut given, mut got, mut rounded) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums::default();
        let [bedrock, sand] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.falling);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let talus = window.quantity(1).map(|row| &row[..width + 2]);
            let gives = window.quantity(2).map(|row| &row[..width + 2]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, old_sand) = (&terrain.bedrock[part.clone()], &terrain.sand[part]);
            let here = line * width..(line + 1) * width;
            over_row::<V>(
                width,
                FallRow {
                    ground,
                    talus,
                    gives,
                    bedrock: old_bedrock,
                    sand: old_sand,
                    out: [&mut bedrock[here.clone()], &mut sand[here]],
                    given: &mut given,
                    got: &mut got,
                    rounded: &mut rounded,
                },
            );
            sums.given += row_sum::<V>(&given);
            sums.got += row_sum::<V>(&got);
            sums.rounded += row_sum::<V>(&rounded);
            if edge == Edge::Open {
                for_border(y, (width, height), |x, kind, side| {
                    let fall = ground[1][x + 1] - neighbour(ground, x, kind, side);
                    if fall > talus[1][x + 1] * FARTHER[kind] {
                        sums.out += f64::from(gives[1][x + 1] * fall);
                    }
                });
            }
        }
        sums
    }
}
