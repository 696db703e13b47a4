//! Flow between cells: outflow to the lower neighbours, erosion and deposition, then the transfer.

use super::law::{
    CAPACITY, DEPOSITION, DISSOLUTION, Donor, Musgrave, PairTransfer, RETAINED_WATER, RunoffSums, outflow_per_fall,
    pair_transfer,
};
use crate::{
    core::{aligned::AlignedArray, border::Border, terrain::Edge},
    process::masked::{Coefficient, CoefficientRows, CoefficientWindow, MaskedCoefficients},
    simd::{
        around::{Pair, around_some, for_each_outside_neighbour, lowest, neighbour},
        cells::{Cells, Pass, RowKernel, add_limited, over_row},
        stencil::{Neighbourhood, Ring, RowAccumulator, RowQuantities, StencilWindow, nine},
        strip::Strip,
    },
};

/// Thickness of sand that protects the rock from the water, in metres.
const COVER: f32 = 1e-3;

/// Water surface and ground.
struct RunoffLevels<'a, 'layers> {
    strip: &'a Strip<'layers, 4>,
    start: &'a [f32],
}

const LEVEL: usize = 0;
const GROUND: usize = 1;

/// Rows of the ring: the outflow of cells.
const GIVES: usize = 0;
const LOAD: usize = 1;
const DIGS: usize = 2;
const HAS: usize = 3;
/// Largest fraction of its sediment that a cell loses.
const ALL: f32 = 1.0 - 1e-6;

/// Layers of a strip.
const BEDROCK: usize = 0;
const SAND: usize = 1;
const WATER: usize = 2;

impl RowQuantities<2> for RunoffLevels<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [level, ground]: [&mut [f32]; 2]) {
        let width = level.len();
        let layers = [BEDROCK, SAND, WATER].map(|layer| &self.strip.row(layer, y)[..width]);
        over_row::<V>(width, RunoffLevelRow { layers, level, ground: &mut ground[..width] });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.start[index]; 2]
    }
}

struct RunoffLevelRow<'a> {
    layers: [&'a [f32]; 3],
    level: &'a mut [f32],
    ground: &'a mut [f32],
}

impl RowKernel for RunoffLevelRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [bedrock, sand, water] = self.layers;
        let ground = V::load(bedrock, x) + V::load(sand, x);
        ground.store(self.ground, x);
        (ground + V::load(water, x)).store(self.level, x);
    }
}

/// Kernel for the potential outflow of the cells of a row.
struct OutflowRow<'a, N, const EIGHT: bool> {
    law: Musgrave,
    level: Neighbourhood<'a>,
    /// Sand, water, sediment, softness.
    layers: [&'a [f32]; 4],
    dissolution: N,
    /// Outflow of water and sediment per metre of fall, and the dissolution rate of the ground.
    out: [&'a mut [f32]; 3],
}

impl<N: Coefficient, const EIGHT: bool> Pair<1> for OutflowRow<'_, N, EIGHT> {
    /// Returns the fall to the neighbour.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, _: f32) -> [V; 1] {
        [(V::load(self.level[1][1], x) - V::load(self.level[row][column], x)).positive()]
    }
}

impl<N: Coefficient, const EIGHT: bool> RowKernel for OutflowRow<'_, N, EIGHT> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let law = self.law;
        let dissolution: V = self.dissolution.at(x);
        let [all] = around_some::<V, 1, EIGHT>(self, x);
        let [beside, across] = lowest::<V>(self.level, x);
        let lowest = if EIGHT { beside.min(across) } else { beside };
        let most = (V::load(self.level[1][1], x) - lowest).positive();
        let some = all.max(V::all(f32::MIN_POSITIVE));
        let [sand, water, suspended, softness] = self.layers;
        let (sand, water, suspended) = (V::load(sand, x), V::load(water, x), V::load(suspended, x));
        let water = outflow_per_fall(law, water, most, some);
        let soft = if law.published {
            one
        } else {
            let bare = (V::all(2.0) * V::load(softness, x)).min(one / dissolution.max(V::all(0.5)));
            V::all(COVER).if_above(sand, bare, one)
        };
        let [water_out, load_out, digs_out] = &mut self.out;
        all.if_above(zero, water, zero).store(water_out, x);
        all.if_above(zero, suspended / some, zero).store(load_out, x);
        (dissolution * soft).store(digs_out, x);
    }
}

/// Kernel for erosion and deposition in the cells of a row, and the fraction of their sediment outflow that they can supply.
struct ErosionRow<'a, N, const EIGHT: bool> {
    law: Musgrave,
    level: Neighbourhood<'a>,
    ground: Neighbourhood<'a>,
    /// Outflow from [`OutflowRow`].
    gives: [&'a [f32]; 3],
    capacity: N,
    deposition: N,
    /// Bedrock, sand, sediment.
    layers: [&'a mut [f32]; 3],
    /// Fraction of the sediment outflow that is available.
    out: &'a mut [f32],
    tallies: &'a mut BedTallies,
}

impl<N: Coefficient, const EIGHT: bool> Pair<4> for ErosionRow<'_, N, EIGHT> {
    /// Returns the sediment outflow to a neighbour, deposition, erosion, and erosion suppressed by the height of the neighbour.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, _: f32) -> [V; 4] {
        let [water, load, digs] = self.gives;
        let (water, load, digs) = (V::load(water, x), V::load(load, x), V::load(digs, x));
        let capacity = self.capacity.at(x);
        let fall = V::load(self.level[1][1], x) - V::load(self.level[row][column], x);
        let higher = V::load(self.ground[1][1], x) - V::load(self.ground[row][column], x);
        let goes = pair_transfer(self.law, Donor { water, load, capacity, digs, has: V::all(1.0) }, fall, higher);
        [goes.load, self.deposition.at::<V>(x) * goes.surplus, goes.dug, goes.spared]
    }
}

impl<N: Coefficient, const EIGHT: bool> RowKernel for ErosionRow<'_, N, EIGHT> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one, law) = (V::all(0.0), V::all(1.0), self.law);
        let [goes, settles, dug, spared] = around_some::<V, 4, EIGHT>(self, x);
        let [bedrock_row, sand_row, suspended_row] = &mut self.layers;
        let (old_bedrock, old_sand) = (V::load(bedrock_row, x), V::load(sand_row, x));
        let carried = V::load(suspended_row, x);
        // Without outflow, deposition acts on the whole load.
        let settles = V::load(self.gives[GIVES], x).if_above(zero, settles, self.deposition.at::<V>(x) * carried);
        let from_sand = dug.min(old_sand);
        let (bedrock, sand) = (old_bedrock - (dug - from_sand), old_sand - from_sand);
        let dug = (old_bedrock - bedrock) + (old_sand - sand);
        let bed = if law.published { bedrock } else { sand };
        let laid = add_limited(bed, settles.min(carried));
        let settled = laid - bed;
        let (bedrock, sand) = if law.published { (laid, sand) } else { (bedrock, laid) };
        let has = (carried - settled) + dug;
        bedrock.store(bedrock_row, x);
        sand.store(sand_row, x);
        has.store(suspended_row, x);
        // Rounding must not make the outflow exceed the load.
        let most = has * V::all(ALL);
        goes.if_above(most, most / goes.max(V::all(f32::MIN_POSITIVE)), one).store(self.out, x);
        self.tallies.dug.add(x, dug);
        self.tallies.settled.add(x, settled);
        self.tallies.spared.add(x, spared.if_above(zero, one, zero));
    }
}

/// Kernel that transfers water and sediment between the cells of a row and their neighbours.
struct TransferRow<'a, N, const EIGHT: bool> {
    law: Musgrave,
    level: Neighbourhood<'a>,
    ground: Neighbourhood<'a>,
    /// Outflow of cells from [`OutflowRow`] and [`ErosionRow`].
    gives: [Neighbourhood<'a>; 4],
    capacity: [[N; 3]; 3],
    stays: N,
    water: &'a mut [f32],
    suspended: &'a mut [f32],
    dried: &'a mut RowAccumulator,
}

/// Erosion and deposition of a row, and the number of cells in which the height of a neighbour limited erosion.
#[derive(Default)]
struct BedTallies {
    dug: RowAccumulator,
    settled: RowAccumulator,
    spared: RowAccumulator,
}

impl<N: Coefficient, const EIGHT: bool> TransferRow<'_, N, EIGHT> {
    #[inline(always)]
    fn giver<V: Cells>(&self, row: usize, column: usize, x: usize) -> Donor<V> {
        let at = |quantity: usize| V::load(self.gives[quantity][row][column], x);
        let capacity = self.capacity[row][column].at(x);
        Donor { water: at(GIVES), load: at(LOAD), capacity, digs: at(DIGS), has: at(HAS) }
    }
}

impl<N: Coefficient, const EIGHT: bool> Pair<3> for TransferRow<'_, N, EIGHT> {
    /// Returns inflow and outflow of water, and the net inflow of sediment, so that through-flow leaves no rounding error.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, _: f32) -> [V; 3] {
        let rise = V::load(self.level[row][column], x) - V::load(self.level[1][1], x);
        let higher = V::load(self.ground[row][column], x) - V::load(self.ground[1][1], x);
        let come: PairTransfer<V> = pair_transfer(self.law, self.giver(row, column, x), rise, higher);
        let go: PairTransfer<V> = pair_transfer(self.law, self.giver(1, 1, x), -rise, -higher);
        [come.water, go.water, come.load - go.load]
    }
}

impl<N: Coefficient, const EIGHT: bool> RowKernel for TransferRow<'_, N, EIGHT> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [comes, goes, loads] = around_some::<V, 3, EIGHT>(self, x);
        let wet = (V::load(self.water, x) + (comes - goes)).positive();
        let water = wet * self.stays.at::<V>(x);
        // Rounding must not leave a negative load.
        (V::load(self.suspended, x) + loads).positive().store(self.suspended, x);
        water.store(self.water, x);
        self.dried.add(x, wet - water);
    }
}

/// Step on a strip of bedrock, sand, water and sediment.
pub(super) struct RunoffPass<'a> {
    pub strip: Strip<'a, 4>,
    pub start: &'a [f32],
    pub softness: &'a [f32],
    pub law: Musgrave,
    pub numbers: MaskedCoefficients<'a, 4>,
}

impl Pass for RunoffPass<'_> {
    type Output = RunoffSums;

    #[inline(always)]
    fn run<V: Cells>(self) -> RunoffSums {
        let rows = self.numbers.rows(self.strip.border(), self.strip.rows().start - 1);
        match (rows, self.law.neighbours == 8) {
            (CoefficientRows::Uniform(even), false) => self.run_as::<V, false>(even),
            (CoefficientRows::Uniform(even), true) => self.run_as::<V, true>(even),
            (CoefficientRows::Masked(rows), false) => self.run_as::<V, false>(rows),
            (CoefficientRows::Masked(rows), true) => self.run_as::<V, true>(rows),
        }
    }
}

impl RunoffPass<'_> {
    /// Outflow depends on the adjacent rows, and inflow on the outflow of those.
    pub const MARGIN: usize = 2;

    #[inline(always)]
    fn run_as<V: Cells, const EIGHT: bool>(self, mut numbers: impl CoefficientWindow) -> RunoffSums {
        let Self { mut strip, start, softness, law, .. } = self;
        let (border, own, near) = (strip.border(), strip.rows(), strip.reach(1));
        let mut window: StencilWindow<2, 4> = StencilWindow::over(&strip, 2);
        let mut flow = StripOutflow {
            law,
            border,
            giving: Ring::new(border.width, near.start),
            nothing: AlignedArray::filled(border.width + 2, 0.0),
            tallies: BedTallies::default(),
            dried: RowAccumulator::default(),
            sums: RunoffSums::default(),
        };
        for y in own.start - 2..own.end {
            window.fill_to::<V>(y + 2, &RunoffLevels { strip: &strip, start });
            numbers.next(y + 1);
            if near.contains(&(y + 1)) {
                let softness = &softness[border.on_map(y + 1) * border.width..][..border.width];
                flow.compute_outflow::<V, EIGHT>(
                    y + 1,
                    &window,
                    &mut strip,
                    softness,
                    &numbers,
                    own.contains(&(y + 1)),
                );
            }
            if own.contains(&y) {
                flow.transfer::<V, EIGHT>(y, &window, &mut strip, &numbers);
            }
        }
        let StripOutflow { tallies: BedTallies { dug, settled, spared }, dried, sums, .. } = flow;
        let (dug, settled, evaporated) = (dug.total(), settled.total(), dried.total());
        RunoffSums { dug, settled, evaporated, spared: spared.total() as u64, ..sums }
    }
}

/// Outflow of the cells of a strip, row by row, and the totals of the transfers.
struct StripOutflow {
    law: Musgrave,
    border: Border,
    giving: Ring<4, 3>,
    /// Inflow across an open border: zero.
    nothing: AlignedArray,
    tallies: BedTallies,
    dried: RowAccumulator,
    sums: RunoffSums,
}

impl StripOutflow {
    /// Computes the outflow of row `y` and applies erosion and deposition there. Totals include the row if it `counts`.
    #[inline(always)]
    fn compute_outflow<V: Cells, const EIGHT: bool>(
        &mut self,
        y: isize,
        window: &StencilWindow<2, 4>,
        strip: &mut Strip<'_, 4>,
        softness: &[f32],
        numbers: &impl CoefficientWindow,
        counts: bool,
    ) {
        let (law, Border { width, edge, .. }) = (self.law, self.border);
        let number = |number: usize| numbers.row(number, y).slice(1, width);
        let (level, ground) = (nine(window.around(LEVEL, y), width), nine(window.around(GROUND, y), width));
        let [water_out, load_out, digs_out, has_out] = self.giving.push();
        let [bedrock, sand, water, suspended] = strip.rows_mut(y).map(|row| &mut row[..width]);
        let out = [&mut water_out[..width], &mut load_out[..width], &mut digs_out[..width]];
        let layers = [&*sand, &*water, &*suspended, softness];
        over_row::<V>(width, OutflowRow::<_, EIGHT> { law, level, layers, dissolution: number(DISSOLUTION), out });
        let gives = [&water_out[..width], &load_out[..width], &digs_out[..width]];
        let (layers, out, tallies) = ([bedrock, sand, suspended], &mut has_out[..width], &mut self.tallies);
        let (capacity, deposition) = (number(CAPACITY), number(DEPOSITION));
        over_row::<V>(
            width,
            ErosionRow::<_, EIGHT> { law, level, ground, gives, capacity, deposition, layers, out, tallies },
        );
        for tally in [&mut self.tallies.dug, &mut self.tallies.settled, &mut self.tallies.spared] {
            tally.end_row(counts);
        }
        self.giving.close(edge, [[0.0; 4]; 2]);
    }

    /// Applies inflow and outflow to the cells of row `y`.
    #[inline(always)]
    fn transfer<V: Cells, const EIGHT: bool>(
        &mut self,
        y: isize,
        window: &StencilWindow<2, 4>,
        strip: &mut Strip<'_, 4>,
        numbers: &impl CoefficientWindow,
    ) {
        let (law, border) = (self.law, self.border);
        let Border { width, height, edge } = border;
        let (level, ground) = (window.around(LEVEL, y), window.around(GROUND, y));
        let gives = [GIVES, LOAD, DIGS, HAS].map(|quantity| self.giving.within(quantity, y, border, &self.nothing));
        let [_, _, water, suspended] = strip.rows_mut(y);
        let around = |y: isize| {
            let row = numbers.row(CAPACITY, y);
            [row.slice(0, width), row.slice(1, width), row.slice(2, width)]
        };
        let transfer = TransferRow::<_, EIGHT> {
            law,
            level: nine(level, width),
            ground: nine(ground, width),
            gives: gives.map(|quantity| nine(quantity, width)),
            capacity: [around(y - 1), around(y), around(y + 1)],
            stays: numbers.row(RETAINED_WATER, y).slice(1, width),
            water: &mut water[..width],
            suspended: &mut suspended[..width],
            dried: &mut self.dried,
        };
        over_row::<V>(width, transfer);
        self.dried.end_row(true);
        if edge != Edge::Open {
            return;
        }
        for_each_outside_neighbour(y as usize, (width, height), |x, kind, side| {
            if 4 * kind + side >= law.neighbours {
                return;
            }
            let [water, load, digs, has] = gives.map(|quantity| quantity[1][x + 1]);
            let capacity = numbers.row(CAPACITY, y).at(x + 1);
            let fall = level[1][x + 1] - neighbour(level, x, kind, side);
            let higher = ground[1][x + 1] - neighbour(ground, x, kind, side);
            let go = pair_transfer(law, Donor { water, load, capacity, digs, has }, fall, higher);
            self.sums.water_out += f64::from(go.water);
            self.sums.solid_out += f64::from(go.load);
        });
    }
}
