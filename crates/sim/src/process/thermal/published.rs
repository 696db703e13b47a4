//! Published step (eqs 17 and 18): bedrock and sand form one solid.

use super::{
    TalusCoefficients,
    sliding::{BEDROCK, SAND, SlideTotals, talus},
};
use crate::{
    core::{aligned::AlignedArray, border::Border, terrain::Edge},
    simd::{
        around::{DISTANCES_F32, Pair, for_each_outside_neighbour, lowest, neighbour, sum_neighbours},
        cells::{Cells, Pass, RowKernel, over_row},
        stencil::{Neighbourhood, Ring, RowAccumulator, RowQuantities, StencilWindow, nine, sides},
        strip::Strip,
    },
};

/// Ground as one solid, and its talus as a height difference to the next cell.
struct Solid<'a, 'layers> {
    strip: &'a Strip<'layers, 2>,
    start: &'a [f32],
    softness: &'a [f32],
    steep: TalusCoefficients,
}

const GROUND: usize = 0;
const TALUS: usize = 1;

impl RowQuantities<2> for Solid<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, talus]: [&mut [f32]; 2]) {
        let width = ground.len();
        let [bedrock, sand] = [BEDROCK, SAND].map(|layer| &self.strip.row(layer, y)[..width]);
        let softness = &self.softness[self.strip.border().on_map(y) * width..][..width];
        let (ground, talus) = (&mut ground[..width], &mut talus[..width]);
        over_row::<V>(width, SolidRow { steep: self.steep, bedrock, sand, softness, ground, talus });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.start[index], 0.0]
    }
}

struct SolidRow<'a> {
    steep: TalusCoefficients,
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
        let (per_hardness, bias) = (V::all(self.steep.per_hardness), V::all(self.steep.bias));
        talus(V::load(self.softness, x), per_hardness, bias).store(self.talus, x);
    }
}

struct TalusRow<'a> {
    share: f32,
    ground: Neighbourhood<'a>,
    talus: &'a [f32],
    softness: &'a [f32],
    bedrock: &'a mut [f32],
    sand: &'a mut [f32],
    /// Outflow of a cell per metre of fall to its receivers.
    out: &'a mut [f32],
    given: &'a mut RowAccumulator,
}

impl Pair<1> for TalusRow<'_> {
    /// Returns the fall to the neighbour, or 0 if it does not exceed the talus.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 1] {
        let fall = V::load(self.ground[1][1], x) - V::load(self.ground[row][column], x);
        [fall.if_above(V::load(self.talus, x) * V::all(farther), fall, V::all(0.0))]
    }
}

impl RowKernel for TalusRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let zero = V::all(0.0);
        let [all] = sum_neighbours::<V, 1>(self, x);
        let [beside, across] = lowest::<V>(self.ground, x);
        let most = V::load(self.ground[1][1], x) - beside.min(across);
        let gives = V::all(self.share) * V::load(self.softness, x) * most / all.max(V::all(f32::MIN_POSITIVE));
        let goes = all.if_above(zero, gives * all, zero);
        // Outflow takes sand first. It equals the actual change of the layers, to the bit: the rounding error of high rock can
        // exceed the change of a step.
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let from_sand = goes.min(old_sand);
        let (bedrock, sand) = (old_bedrock - (goes - from_sand), old_sand - from_sand);
        let given = (old_bedrock - bedrock) + (old_sand - sand);
        bedrock.store(self.bedrock, x);
        sand.store(self.sand, x);
        (given / all.max(V::all(f32::MIN_POSITIVE))).store(self.out, x);
        self.given.add(x, given);
    }
}

struct FallRow<'a> {
    ground: Neighbourhood<'a>,
    talus: Neighbourhood<'a>,
    gives: Neighbourhood<'a>,
    bedrock: &'a mut [f32],
    got: &'a mut RowAccumulator,
    rounded: &'a mut RowAccumulator,
}

impl Pair<1> for FallRow<'_> {
    /// Returns the inflow from the neighbour.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 1] {
        let rise = V::load(self.ground[row][column], x) - V::load(self.ground[1][1], x);
        let stands = V::load(self.talus[row][column], x) * V::all(farther);
        [rise.if_above(stands, V::load(self.gives[row][column], x) * rise, V::all(0.0))]
    }
}

impl RowKernel for FallRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [comes] = sum_neighbours::<V, 1>(self, x);
        // Inflow becomes bedrock, except for the rounding error.
        let bedrock = V::load(self.bedrock, x);
        let new = bedrock + comes;
        new.store(self.bedrock, x);
        self.got.add(x, new - bedrock);
        self.rounded.add(x, comes - (new - bedrock));
    }
}

/// Eqs 17 and 18 on a strip of bedrock and sand: the outflow of every cell, then its inflow, gathered from its donors.
pub(super) struct PublishedPass<'a> {
    pub strip: Strip<'a, 2>,
    pub start: &'a [f32],
    pub softness: &'a [f32],
    pub steep: TalusCoefficients,
}

impl PublishedPass<'_> {
    /// Outflow depends on the adjacent rows, and inflow on the outflow of those.
    pub const MARGIN: usize = 2;
}

impl Pass for PublishedPass<'_> {
    type Output = SlideTotals;

    #[inline(always)]
    fn run<V: Cells>(self) -> SlideTotals {
        let Self { mut strip, start, softness, steep } = self;
        let (border, own, near) = (strip.border(), strip.rows(), strip.reach(1));
        let Border { width, height, edge } = border;
        let mut window: StencilWindow<2, 4> = StencilWindow::over(&strip, 2);
        let mut giving: Ring<1, 3> = Ring::new(width, near.start);
        let nothing = AlignedArray::filled(width + 2, 0.0);
        let (mut given, mut got, mut rounded) =
            (RowAccumulator::default(), RowAccumulator::default(), RowAccumulator::default());
        let mut out = 0.0;
        for y in own.start - 2..own.end {
            window.fill_to::<V>(y + 2, &Solid { strip: &strip, start, softness, steep });
            if near.contains(&(y + 1)) {
                let next = y + 1;
                let ground = nine(window.around(GROUND, next), width);
                let talus = sides(window.row(TALUS, next), width)[1];
                let softness = &softness[border.on_map(next) * width..][..width];
                let [gives] = giving.push();
                let [bedrock, sand] = strip.rows_mut(next).map(|row| &mut row[..width]);
                let (share, out, given) = (0.5 * steep.share, &mut gives[..width], &mut given);
                let talus = TalusRow { share, ground, talus, softness, bedrock, sand, out, given: &mut *given };
                over_row::<V>(width, talus);
                given.end_row(own.contains(&next));
                giving.close(edge, [[0.0]; 2]);
            }
            if !own.contains(&y) {
                continue;
            }
            let (ground, talus) = (window.around(GROUND, y), window.around(TALUS, y));
            let gives = giving.within(0, y, border, &nothing);
            let [bedrock, _] = strip.rows_mut(y);
            let fall = FallRow {
                ground: nine(ground, width),
                talus: nine(talus, width),
                gives: nine(gives, width),
                bedrock: &mut bedrock[..width],
                got: &mut got,
                rounded: &mut rounded,
            };
            over_row::<V>(width, fall);
            got.end_row(true);
            rounded.end_row(true);
            if edge == Edge::Open {
                for_each_outside_neighbour(y as usize, (width, height), |x, kind, side| {
                    let fall = ground[1][x + 1] - neighbour(ground, x, kind, side);
                    if fall > talus[1][x + 1] * DISTANCES_F32[kind] {
                        out += f64::from(gives[1][x + 1] * fall);
                    }
                });
            }
        }
        SlideTotals { given: given.total(), got: got.total(), rounded: rounded.total(), out, crumbled: 0.0 }
    }
}
