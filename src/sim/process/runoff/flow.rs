//! What runs from cell to cell: the shares of the lower neighbours, then the transfer.

use super::{Neighbours, Params};
use crate::sim::{
    around::{SIDES, for_border, neighbour, sum_around},
    cells::{Cells, Pass, RowKernel, over_row},
    masked::{Covered, between},
    process::Mode,
    stencil::{Border, Nine, Quantities, Ring, Tally, Window, nine, sides},
    strip::Strip,
    terrain::Edge,
};

/// Height, in metres, of sand that hides the rock from the water.
const COVER: f32 = 1e-3;

/// What a strip moved, in metres times cells.
#[derive(Default)]
pub(super) struct Sums {
    pub dug: f64,
    pub settled: f64,
    pub evaporated: f64,
    pub water_out: f64,
    pub solid_out: f64,
}

/// The numbers of both modes.
#[derive(Clone, Copy)]
pub(super) struct Law {
    published: bool,
    neighbours: usize,
    capacity: f32,
    deposition: f32,
    dissolution: f32,
    stays: f32,
}

impl Law {
    pub fn new(params: &Params) -> Self {
        Self {
            published: params.mode == Mode::Published,
            neighbours: if params.neighbours == Neighbours::Four { 4 } else { 8 },
            capacity: params.capacity,
            deposition: params.deposition,
            dissolution: params.dissolution,
            stays: 1.0 - params.evaporation,
        }
    }

    /// What no neighbour gets more of, so that all of them and the cell itself can have as much.
    fn part(self) -> f32 {
        1.0 / (self.neighbours + 1) as f32
    }
}

/// The law of some cells: on free ground, or in proportion to the mask.
#[derive(Clone, Copy)]
struct CellLaw<V> {
    capacity: V,
    deposition: V,
    dissolution: V,
}

/// The law on free ground and under the mask.
#[derive(Clone, Copy)]
struct Laws<const MASKED: bool>([Law; 2]);

impl<const MASKED: bool> Laws<MASKED> {
    #[inline(always)]
    fn at<V: Cells>(self, mask: &[f32], x: usize) -> CellLaw<V> {
        let Self([free, under]) = self;
        CellLaw {
            capacity: between::<V, MASKED>([free.capacity, under.capacity], mask, x),
            deposition: between::<V, MASKED>([free.deposition, under.deposition], mask, x),
            dissolution: between::<V, MASKED>([free.dissolution, under.dissolution], mask, x),
        }
    }
}

/// What a cell gives: water and sediment per metre that a neighbour lies lower; how fast its ground is dug, and by which
/// factor more or less because of rounding.
#[derive(Clone, Copy)]
struct Giver<V> {
    water: V,
    load: V,
    soft: V,
    exact: V,
}

const GIVES: usize = 0;
const LOAD: usize = 1;
const SOFT: usize = 2;
const EXACT: usize = 3;

/// What goes from a cell to a lower neighbour, what of it settles and what is dug.
struct Goes<V> {
    water: V,
    load: V,
    settles: V,
    dug: V,
}

/// What a cell gives to a neighbour: by how much its level and its ground are higher.
#[inline(always)]
fn pair<V: Cells>(law: Law, own: CellLaw<V>, giver: Giver<V>, level: V, ground: V) -> Goes<V> {
    let fall = level.positive();
    let (water, load) = (giver.water * fall, giver.load * fall);
    let able = own.capacity * water;
    let wants = own.dissolution * giver.soft * (able - load).positive();
    // Not below the neighbour, though all of them take.
    let wants = if law.published { wants } else { wants.min(ground.positive() * V::all(law.part())) };
    let dug = wants * giver.exact;
    Goes { water, load: load.min(able) + dug, settles: own.deposition * (load - able).positive(), dug }
}

/// Surface of the water, and the ground.
struct Levels<'a, 'layers> {
    strip: &'a Strip<'layers, 4>,
    start: &'a [f32],
}

const LEVEL: usize = 0;
const GROUND: usize = 1;

/// The layers of a strip.
const BEDROCK: usize = 0;
const SAND: usize = 1;
const WATER: usize = 2;
const SUSPENDED: usize = 3;

impl Quantities<2> for Levels<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [level, ground]: [&mut [f32]; 2]) {
        let width = level.len();
        let layers = [BEDROCK, SAND, WATER].map(|layer| &self.strip.row(layer, y)[..width]);
        over_row::<V>(width, LevelRow { layers, level, ground: &mut ground[..width] });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.start[index]; 2]
    }
}

struct LevelRow<'a> {
    layers: [&'a [f32]; 3],
    level: &'a mut [f32],
    ground: &'a mut [f32],
}

impl RowKernel for LevelRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [bedrock, sand, water] = self.layers;
        let ground = V::load(bedrock, x) + V::load(sand, x);
        ground.store(self.ground, x);
        (ground + V::load(water, x)).store(self.level, x);
    }
}

/// What the cells of a row give.
struct ShareRow<'a, const MASKED: bool> {
    law: Law,
    laws: Laws<MASKED>,
    mask: &'a [f32],
    level: Nine<'a>,
    ground: Nine<'a>,
    layers: [&'a [f32]; 4],
    softness: &'a [f32],
    out: [&'a mut [f32]; 4],
}

impl<const MASKED: bool> RowKernel for ShareRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let law = self.law;
        let own: CellLaw<V> = self.laws.at(self.mask, x);
        let (level, ground) = (V::load(self.level[1][1], x), V::load(self.ground[1][1], x));
        let (mut lower, mut most) = ([zero; 8], zero);
        for side in 0..law.neighbours {
            let (row, column) = SIDES[side];
            lower[side] = (level - V::load(self.level[row][column], x)).positive();
            most = most.max(lower[side]);
        }
        let all = sum_around(lower);
        let some = all.max(V::all(f32::MIN_POSITIVE));
        let [bedrock, sand, water, suspended] =
            [BEDROCK, SAND, WATER, SUSPENDED].map(|layer| V::load(self.layers[layer], x));
        let water = if law.published { water.min(most) / some } else { (water / some).min(V::all(law.part())) };
        let (water, load) = (all.if_above(zero, water, zero), all.if_above(zero, suspended / some, zero));
        let soft = if law.published {
            one
        } else {
            let bare = (V::all(2.0) * V::load(self.softness, x)).min(one / own.dissolution.max(V::all(0.5)));
            V::all(COVER).if_above(sand, bare, one)
        };
        // Rock loses what its last digit allows; as much less or more is dug for every neighbour.
        let giver = Giver { water, load, soft, exact: one };
        let mut digs = [zero; 8];
        for side in 0..law.neighbours {
            let (row, column) = SIDES[side];
            digs[side] = pair(law, own, giver, lower[side], ground - V::load(self.ground[row][column], x)).dug;
        }
        let dug = sum_around(digs);
        let from_sand = dug.min(sand);
        let real = bedrock - (bedrock - (dug - from_sand));
        let exact = dug.if_above(zero, (from_sand + real) / dug.max(V::all(f32::MIN_POSITIVE)), one);
        for (out, value) in self.out.iter_mut().zip([water, load, soft, exact]) {
            value.store(out, x);
        }
    }
}

/// What the cells of a row get and give, and what that does to them.
struct TransferRow<'a, const MASKED: bool> {
    law: Law,
    laws: Laws<MASKED>,
    mask: Nine<'a>,
    level: Nine<'a>,
    ground: Nine<'a>,
    /// What cells give, as [`ShareRow`] found it.
    gives: [Nine<'a>; 4],
    layers: [&'a mut [f32]; 4],
    tallies: &'a mut Tallies,
}

/// What a row digs, lays down and loses to the air.
#[derive(Default)]
struct Tallies {
    dug: Tally,
    settled: Tally,
    dried: Tally,
}

impl<const MASKED: bool> TransferRow<'_, MASKED> {
    #[inline(always)]
    fn giver<V: Cells>(&self, row: usize, column: usize, x: usize) -> Giver<V> {
        let at = |quantity: usize| V::load(self.gives[quantity][row][column], x);
        Giver { water: at(GIVES), load: at(LOAD), soft: at(SOFT), exact: at(EXACT) }
    }
}

impl<const MASKED: bool> RowKernel for TransferRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, law) = (V::all(0.0), self.law);
        let (level, ground) = (V::load(self.level[1][1], x), V::load(self.ground[1][1], x));
        let own: CellLaw<V> = self.laws.at(self.mask[1][1], x);
        let giver: Giver<V> = self.giver(1, 1, x);
        let mut moved = [[zero; 8]; 6];
        for side in 0..law.neighbours {
            let (row, column) = SIDES[side];
            let its: CellLaw<V> = self.laws.at(self.mask[row][column], x);
            let rise = V::load(self.level[row][column], x) - level;
            let higher = V::load(self.ground[row][column], x) - ground;
            let come = pair(law, its, self.giver(row, column, x), rise, higher);
            let go = pair(law, own, giver, -rise, -higher);
            let all = [come.water, go.water, come.load, go.load, go.settles, go.dug];
            for (sums, value) in moved.iter_mut().zip(all) {
                sums[side] = value;
            }
        }
        let [comes, goes, loads_in, loads_out, settled, dug] = moved.map(sum_around);
        let [bedrock_row, sand_row, water_row, suspended_row] = &mut self.layers;
        let (old_bedrock, old_sand) = (V::load(bedrock_row, x), V::load(sand_row, x));
        let carried = V::load(suspended_row, x);
        // Where nothing flows, all settles.
        let settled = giver.water.if_above(zero, settled, own.deposition * carried);
        let wet = (V::load(water_row, x) + (comes - goes)).positive();
        let from_sand = dug.min(old_sand);
        let (laid_rock, laid_sand) = if law.published { (settled, zero) } else { (zero, settled) };
        let left = old_bedrock - (dug - from_sand);
        let bedrock = left + laid_rock;
        let settled = if law.published { bedrock - left } else { settled };
        let sand = (old_sand - from_sand) + laid_sand;
        // What is dug goes along at once: it is part of `loads_out`.
        let lost = (old_bedrock - bedrock) + (old_sand - sand);
        let Laws([free, under]) = self.laws;
        let water = wet * between::<V, MASKED>([free.stays, under.stays], self.mask[1][1], x);
        bedrock.store(bedrock_row, x);
        sand.store(sand_row, x);
        (carried + ((loads_in - loads_out) + lost)).positive().store(suspended_row, x);
        water.store(water_row, x);
        self.tallies.dug.add(x, lost + settled);
        self.tallies.settled.add(x, settled);
        self.tallies.dried.add(x, wet - water);
    }
}

/// A step on a strip of bedrock, sand, water and sediment.
pub(super) struct Run<'a> {
    pub strip: Strip<'a, 4>,
    pub start: &'a [f32],
    pub softness: &'a [f32],
    /// On free ground, and under the mask.
    pub laws: [Law; 2],
    pub covered: Option<&'a Covered<Params>>,
}

impl Pass for Run<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        if self.covered.is_some() { self.run_as::<V, true>() } else { self.run_as::<V, false>() }
    }
}

impl Run<'_> {
    /// What a cell gives depends on the rows around it, and what it gets on what those give.
    pub const MARGIN: usize = 2;

    #[inline(always)]
    fn run_as<V: Cells, const MASKED: bool>(self) -> Sums {
        let Self { mut strip, start, softness, laws, covered } = self;
        let (border, own, near) = (strip.border(), strip.rows(), strip.reach(1));
        let Border { width, height, edge } = border;
        let (law, laws) = (laws[0], Laws::<MASKED>(laws));
        let mask = |y: isize| -> &[f32] {
            match covered {
                Some(covered) if MASKED => covered.near(y),
                _ => &[],
            }
        };
        let mut window: Window<2, 4> = Window::over(&strip, 2);
        let mut giving: Ring<4, 3> = Ring::new(width, near.start);
        let nothing = vec![0.0; width + 2];
        let mut tallies = Tallies::default();
        let mut sums = Sums::default();
        for y in own.start - 2..own.end {
            window.fill_to::<V>(y + 2, &Levels { strip: &strip, start });
            if near.contains(&(y + 1)) {
                let next = y + 1;
                let share = ShareRow {
                    law,
                    laws,
                    mask: if MASKED { sides(mask(next), width)[1] } else { &[] },
                    level: nine(window.around(LEVEL, next), width),
                    ground: nine(window.around(GROUND, next), width),
                    layers: [BEDROCK, SAND, WATER, SUSPENDED].map(|layer| &strip.row(layer, next)[..width]),
                    softness: &softness[border.on_map(next) * width..][..width],
                    out: giving.push().map(|row| &mut row[..width]),
                };
                over_row::<V>(width, share);
                giving.close(edge, [[0.0; 4]; 2]);
            }
            if !own.contains(&y) {
                continue;
            }
            let (level, ground) = (window.around(LEVEL, y), window.around(GROUND, y));
            let gives = [GIVES, LOAD, SOFT, EXACT].map(|quantity| giving.within(quantity, y, border, &nothing));
            let transfer = TransferRow {
                law,
                laws,
                mask: if MASKED { nine([mask(y - 1), mask(y), mask(y + 1)], width) } else { [[&[]; 3]; 3] },
                level: nine(level, width),
                ground: nine(ground, width),
                gives: gives.map(|quantity| nine(quantity, width)),
                layers: strip.rows_mut(y).map(|layer| &mut layer[..width]),
                tallies: &mut tallies,
            };
            over_row::<V>(width, transfer);
            for tally in [&mut tallies.dug, &mut tallies.settled, &mut tallies.dried] {
                tally.end_row(true);
            }
            if edge == Edge::Open {
                for_border(y as usize, (width, height), |x, kind, side| {
                    if 4 * kind + side >= law.neighbours {
                        return;
                    }
                    let own: CellLaw<f32> = laws.at(mask(y), x + 1);
                    let [water, load, soft, exact] = gives.map(|quantity| quantity[1][x + 1]);
                    let fall = level[1][x + 1] - neighbour(level, x, kind, side);
                    let higher = ground[1][x + 1] - neighbour(ground, x, kind, side);
                    let go = pair(law, own, Giver { water, load, soft, exact }, fall, higher);
                    sums.water_out += f64::from(go.water);
                    sums.solid_out += f64::from(go.load);
                });
            }
        }
        let Tallies { dug, settled, dried } = tallies;
        Sums { dug: dug.total(), settled: settled.total(), evaporated: dried.total(), ..sums }
    }
}
