//! Sand slides where it exceeds its angle of repose, and rock fails where it exceeds its talus angle.
//!
//! The flux between a pair of cells is
//!
//! ```text
//! min(k·max(0, Δz − tan φ·distance), sand of the giver / 8)
//! ```
//!
//! so no cell loses more sand than it has, and the final slope does not depend on k. Up to k = 1/12 nothing oscillates. Under water the
//! angle of repose is smaller. Bare rock that exceeds its talus angle turns into sand in the same pass.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    core::{
        border::Border,
        terrain::{Edge, Terrain},
    },
    process::masked::{Coefficient, CoefficientRows, CoefficientWindow, MaskedCoefficients, MaskedRows, lerp},
    simd::{
        around::{DISTANCES_F32, for_each_outside_neighbour, lowest, neighbour},
        cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
        stencil::{Neighbourhood, Ring, RowAccumulator, RowQuantities, StencilWindow, across, nine},
        strip::{Strip, for_strips},
    },
};

/// Layers of a strip.
pub(super) const BEDROCK: usize = 0;
pub(super) const SAND: usize = 1;

/// Coefficients of sliding: the stable height differences of sand to an orthogonal and a diagonal neighbour; the talus of rock per
/// hardness and at hardness 0; the fraction of the excess that fails, where 0 also stops sand; and the factor on the first two under water.
pub(super) type SlideCoefficients<'a> = MaskedCoefficients<'a, 6>;

const STABLE_DROPS: [usize; 2] = [0, 1];
const PER_HARDNESS: usize = 2;
const BIAS: usize = 3;
const SHARE: usize = 4;
const WET: usize = 5;
/// Depth of water at which sand counts as fully submerged, in metres.
const UNDER_WATER: f32 = 0.1;

/// Returns the factor on the angle of repose of sand, as a slope, under water of this depth.
#[inline(always)]
pub(super) fn submerged_slope_factor(wet: f32, depth: f32) -> f32 {
    lerp([1.0, wet], (depth * (1.0 / UNDER_WATER)).min(1.0))
}

/// Volumes moved in a strip by one pass, in metres times cells.
#[derive(Default)]
pub(super) struct SlideTotals {
    pub given: f64,
    pub got: f64,
    pub crumbled: f64,
    /// Outflow across an open border.
    pub out: f64,
    /// Loss by rounding of the ground, in published mode.
    pub rounded: f64,
}

/// Moves the fraction `k` of the excess of every pair once, and turns failing rock into sand.
pub(super) fn slide(terrain: &mut Terrain, border: Border, k: f32, slopes: SlideCoefficients<'_>) -> Vec<SlideTotals> {
    let Terrain { bedrock, sand, softness, start, water, .. } = terrain;
    let (softness, start) = (&softness[..], &start[..]);
    let wet = slopes.unmasked_and_masked(WET).into_iter().any(|wet| wet != 1.0);
    let water = (wet && water.par_iter().any(|&depth| depth > 0.0)).then_some(&water[..]);
    let layers = [bedrock, sand].map(|layer| (&mut layer[..], border.width));
    // Outflow depends on the adjacent rows.
    for_strips(border, layers, 1, |strip| with_vector_unit(SlidePass { strip, start, softness, water, k, slopes }))
}

/// Returns the stable height difference of rock of this softness to an orthogonal neighbour.
#[inline(always)]
pub(super) fn talus<V: Cells>(softness: V, per_hardness: V, bias: V) -> V {
    (V::all(1.0) - softness) * per_hardness + bias
}

/// Quantum of sliding sand: 2⁻¹⁵ m, or 0.03 mm. Sums of multiples of it are exact in single precision up to 512 m of sand in a cell, so
/// that nothing is lost by rounding.
const PORTION: f32 = 1.0 / 32_768.0;
/// Constant that rounds to multiples of [`PORTION`] when added and subtracted again.
const WHOLE: f32 = 1.5 * 8_388_608.0 * PORTION;

/// Ground, and the largest outflow to a neighbour.
struct LooseGround<'a, 'layers, L> {
    strip: &'a Strip<'layers, 2>,
    start: &'a [f32],
    numbers: &'a L,
}

const GROUND: usize = 0;
const EIGHTH: usize = 1;

impl<L: CoefficientWindow> RowQuantities<2> for LooseGround<'_, '_, L> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, loose]: [&mut [f32]; 2]) {
        let width = ground.len();
        let [bedrock, sand] = [BEDROCK, SAND].map(|layer| &self.strip.row(layer, y)[..width]);
        let share = self.numbers.row(SHARE, y).slice(1, width);
        let (ground, loose) = (&mut ground[..width], &mut loose[..width]);
        over_row::<V>(width, LooseRow { bedrock, sand, share, ground, loose });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.start[index], 0.0]
    }
}

struct LooseRow<'a, N> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    share: N,
    ground: &'a mut [f32],
    loose: &'a mut [f32],
}

impl<N: Coefficient> RowKernel for LooseRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let sand = V::load(self.sand, x);
        (V::load(self.bedrock, x) + sand).store(self.ground, x);
        // At most an eighth to each neighbour; nothing where the rate is 0.
        let zero = V::all(0.0);
        self.share.at::<V>(x).if_above(zero, sand * V::all(0.125), zero).store(self.loose, x);
    }
}

/// Returns the sand that slides to a lower neighbour, from the fraction `k`, the fall, the stable height difference and an eighth of the
/// donor's sand.
#[inline(always)]
fn slide_flux<V: Cells>(k: f32, fall: V, lies: V, eighth: V) -> V {
    let slides = (V::all(k) * (fall - lies).positive()).min(eighth);
    ((slides - V::all(0.5 * PORTION)) + V::all(WHOLE)) - V::all(WHOLE)
}

/// Kernel over a row and the one below it, both padded by a cell at either end: the flux from each cell to the next in its row, to the
/// one below and to both diagonals. Inflow is negative.
struct PairRow<'a, N> {
    k: f32,
    /// Per row: the cells, and the same cells shifted by one.
    ground: [[&'a [f32]; 2]; 2],
    eighth: [[&'a [f32]; 2]; 2],
    /// Stable height differences to orthogonal and diagonal neighbours.
    lies: [[[N; 2]; 2]; 2],
    out: [&'a mut [f32]; 4],
}

/// Cell of a pair: its height, an eighth of its sand, and the stable height differences of its sand.
#[derive(Clone, Copy)]
struct PairCell<V> {
    height: V,
    eighth: V,
    lies: [V; 2],
}

impl<N: Coefficient> PairRow<'_, N> {
    #[inline(always)]
    fn side<V: Cells>(&self, row: usize, next: usize, x: usize) -> PairCell<V> {
        PairCell {
            height: V::load(self.ground[row][next], x),
            eighth: V::load(self.eighth[row][next], x),
            lies: [self.lies[0][row][next].at(x), self.lies[1][row][next].at(x)],
        }
    }
}

/// Returns the flux from one cell to another; `kind` is 0 for orthogonal and 1 for diagonal neighbours.
#[inline(always)]
fn pair_flux<V: Cells>(k: f32, from: PairCell<V>, to: PairCell<V>, kind: usize) -> V {
    let fall = from.height - to.height;
    let choose = |down: V, up: V| fall.if_above(V::all(0.0), down, up);
    let gives = slide_flux(k, fall.max(-fall), choose(from.lies[kind], to.lies[kind]), choose(from.eighth, to.eighth));
    choose(gives, -gives)
}

const ASIDE: usize = 0;
const DOWN: usize = 1;
const DOWN_RIGHT: usize = 2;
const DOWN_LEFT: usize = 3;

impl<N: Coefficient> RowKernel for PairRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (here, next): (PairCell<V>, PairCell<V>) = (self.side(0, 0, x), self.side(0, 1, x));
        let (below, below_next): (PairCell<V>, PairCell<V>) = (self.side(1, 0, x), self.side(1, 1, x));
        pair_flux(self.k, here, next, 0).store(self.out[ASIDE], x);
        pair_flux(self.k, here, below, 0).store(self.out[DOWN], x);
        pair_flux(self.k, here, below_next, 1).store(self.out[DOWN_RIGHT], x);
        pair_flux(self.k, next, below, 1).store(self.out[DOWN_LEFT], x);
    }
}

struct SlideRow<'a, N> {
    /// Talus per hardness and at hardness 0, the fraction that fails, and the stable height difference of sand to an orthogonal neighbour.
    law: [N; 4],
    ground: Neighbourhood<'a>,
    /// Fluxes to the right, downwards and to both lower diagonals, each with that of the opposite side.
    pairs: [[&'a [f32]; 2]; 4],
    softness: &'a [f32],
    bedrock: &'a mut [f32],
    sand: &'a mut [f32],
    tallies: &'a mut SlideTallies,
}

/// Outflow, inflow and rock failure of a row.
#[derive(Default)]
struct SlideTallies {
    given: RowAccumulator,
    got: RowAccumulator,
    crumbled: RowAccumulator,
}

impl<N: Coefficient> RowKernel for SlideRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [aside, down, down_right, down_left] = self.pairs;
        let (right, left) = (V::load(aside[0], x), V::load(aside[1], x));
        let (below, above) = (V::load(down[0], x), V::load(down[1], x));
        let (below_right, above_left) = (V::load(down_right[0], x), V::load(down_right[1], x));
        let (below_left, above_right) = (V::load(down_left[0], x), V::load(down_left[1], x));
        let zero = V::all(0.0);
        let goes = ((right.positive() - left.min(zero)) + (below.positive() - above.min(zero)))
            + ((below_right.positive() - above_left.min(zero)) + (below_left.positive() - above_right.min(zero)));
        let leaves = ((right - left) + (below - above)) + ((below_right - above_left) + (below_left - above_right));
        let old = V::load(self.sand, x);
        let crumbled = self.fail_rock(x, old);
        self.tallies.crumbled.add(x, crumbled);
        let old = old + crumbled;
        let sand = (old - leaves).positive();
        sand.store(self.sand, x);
        self.tallies.given.add(x, goes);
        self.tallies.got.add(x, goes + (sand - old));
    }
}

impl<N: Coefficient> SlideRow<'_, N> {
    /// Lowers rock that exceeds its talus under this much sand. Returns the thickness turned into sand.
    #[inline(always)]
    fn fail_rock<V: Cells>(&mut self, x: usize, sand: V) -> V {
        let (old, softness) = (V::load(self.bedrock, x), V::load(self.softness, x));
        let [per_hardness, bias, share, lies] = self.law;
        // Rock is never less steep than its sand.
        let talus = talus(softness, per_hardness.at(x), bias.at(x)).max(lies.at(x));
        let [beside, corner] = lowest::<V>(self.ground, x);
        let excess = ((old - beside) - talus).max((old - corner) - talus * V::all(DISTANCES_F32[1]));
        // Sand on the rock is part of the excess.
        let bedrock = old - V::all(0.5) * share.at::<V>(x) * softness * (excess - sand).positive();
        bedrock.store(self.bedrock, x);
        old - bedrock
    }
}

/// Coefficients with a smaller angle of repose under water.
struct WetRows<'a> {
    dry: MaskedRows<'a, 6>,
    water: &'a [f32],
    border: Border,
}

impl CoefficientWindow for WetRows<'_> {
    type Row<'r>
        = &'r [f32]
    where
        Self: 'r;

    #[inline(always)]
    fn next(&mut self, y: isize) {
        let Border { width, height, edge } = self.border;
        let water = &self.water[edge.nearest(y, height) * width..][..width];
        self.dry.next_with(y, |[beside, across, _, _, _, wet]| {
            for (((beside, across), &wet), &depth) in beside.iter_mut().zip(across).zip(&*wet).zip(water) {
                let flatter = submerged_slope_factor(wet, depth);
                (*beside, *across) = (*beside * flatter, *across * flatter);
            }
        });
    }

    #[inline(always)]
    fn row(&self, number: usize, y: isize) -> &[f32] {
        self.dry.row(number, y)
    }
}

/// Pass over a strip of bedrock and sand.
struct SlidePass<'a> {
    strip: Strip<'a, 2>,
    start: &'a [f32],
    softness: &'a [f32],
    /// Water, if it affects the angle of repose.
    water: Option<&'a [f32]>,
    k: f32,
    slopes: SlideCoefficients<'a>,
}

impl Pass for SlidePass<'_> {
    type Output = SlideTotals;

    #[inline(always)]
    fn run<V: Cells>(self) -> SlideTotals {
        let (border, first) = (self.strip.border(), self.strip.rows().start - 1);
        if let Some(water) = self.water {
            let dry = self.slopes.masked_rows(border, first);
            return self.run_with::<V>(WetRows { dry, water, border });
        }
        match self.slopes.rows(border, first) {
            CoefficientRows::Uniform(even) => self.run_with::<V>(even),
            CoefficientRows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

impl SlidePass<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut numbers: impl CoefficientWindow) -> SlideTotals {
        let Self { mut strip, start, softness, k, .. } = self;
        let (border, own) = (strip.border(), strip.rows());
        let width = border.width;
        numbers.next(own.start - 1);
        let mut window: StencilWindow<2> = StencilWindow::over(&strip, 1);
        let mut pairs: Ring<4, 2> = Ring::new(width + 1, own.start - 1);
        let mut tallies = SlideTallies::default();
        let mut sums = SlideTotals::default();
        for y in own.start - 1..own.end {
            numbers.next(y + 1);
            window.fill_to::<V>(y + 1, &LooseGround { strip: &strip, start, numbers: &numbers });
            let (wide, next) = (width + 1, y + 1);
            let both =
                |quantity: usize| [across(window.row(quantity, y), wide), across(window.row(quantity, next), wide)];
            let lies = |kind: usize| {
                let rows = [numbers.row(kind, y), numbers.row(kind, next)];
                [[rows[0].slice(0, wide), rows[0].slice(1, wide)], [rows[1].slice(0, wide), rows[1].slice(1, wide)]]
            };
            let lies = [lies(STABLE_DROPS[0]), lies(STABLE_DROPS[1])];
            let [aside, down, down_right, down_left] = pairs.push();
            let out = [&mut aside[..wide], &mut down[..wide], &mut down_right[..wide], &mut down_left[..wide]];
            let (ground, eighth) = (both(GROUND), both(EIGHTH));
            over_row::<V>(wide, PairRow { k, ground, eighth, lies, out });
            if !own.contains(&y) {
                continue;
            }
            let ground = window.around(GROUND, y);
            let softness = &softness[y as usize * width..][..width];
            // A pair is stored at its left cell, counted from the padding cell.
            let pair = |kind: usize, y: isize, right: usize| &pairs.row(kind, y)[1 + right..][..width];
            let pairs = [
                [pair(ASIDE, y, 1), pair(ASIDE, y, 0)],
                [pair(DOWN, y, 1), pair(DOWN, y - 1, 1)],
                [pair(DOWN_RIGHT, y, 1), pair(DOWN_RIGHT, y - 1, 0)],
                [pair(DOWN_LEFT, y, 0), pair(DOWN_LEFT, y - 1, 1)],
            ];
            let [bedrock, sand] = strip.rows_mut(y);
            let slide = SlideRow {
                law: [PER_HARDNESS, BIAS, SHARE, STABLE_DROPS[0]].map(|number| numbers.row(number, y).slice(1, width)),
                ground: nine(ground, width),
                pairs,
                softness,
                bedrock: &mut bedrock[..width],
                sand: &mut sand[..width],
                tallies: &mut tallies,
            };
            over_row::<V>(width, slide);
            for tally in [&mut tallies.given, &mut tallies.got, &mut tallies.crumbled] {
                tally.end_row(true);
            }
            if border.edge == Edge::Open {
                let (eighth, lies) = (window.row(EIGHTH, y), STABLE_DROPS.map(|kind| numbers.row(kind, y)));
                for_each_outside_neighbour(y as usize, (width, border.height), |x, kind, side| {
                    let fall = ground[1][x + 1] - neighbour(ground, x, kind, side);
                    sums.out += f64::from(slide_flux(k, fall, lies[kind].at(x + 1), eighth[x + 1]));
                });
            }
        }
        SlideTotals {
            given: tallies.given.total(),
            got: tallies.got.total(),
            crumbled: tallies.crumbled.total(),
            ..sums
        }
    }
}
