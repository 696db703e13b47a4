//! Sand slides where it lies steeper than its angle of repose, and rock that stands steeper than its own crumbles.
//!
//! A pair of cells exchanges
//!
//! ```text
//! min(k·max(0, Δz − tan φ·distance), sand of the giver / 8)
//! ```
//!
//! so no cell gives more than it has, and the final slope does not depend on k. Up to k = 1/12 nothing swings. Under water sand
//! lies flatter. Rock that stands bare and steeper than its own angle crumbles into sand in the same pass.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    core::{
        border::Border,
        terrain::{Edge, Terrain},
    },
    process::masked::{MaskedRows, Number, Numbers, Rows, Scaled, between},
    simd::{
        around::{FARTHER, for_border, lowest, neighbour},
        cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
        stencil::{Nine, Quantities, Ring, Tally, Window, across, nine},
        strip::{Strip, for_strips},
    },
};

/// The layers of a strip.
pub(super) const BEDROCK: usize = 0;
pub(super) const SAND: usize = 1;

/// The numbers of sliding: the differences of height at which sand lies on the neighbour beside it and on the one across the
/// corner; the talus of rock, per hardness and at none; the share of what is too steep that crumbles, where time stands still if that
/// is 0; and what the first two are multiplied by under water.
pub(super) type Slopes<'a> = Scaled<'a, 6>;

const LIES: [usize; 2] = [0, 1];
const PER_HARDNESS: usize = 2;
const BIAS: usize = 3;
const SHARE: usize = 4;
const WET: usize = 5;
/// Depth from which on sand lies as under water, in metres.
const UNDER_WATER: f32 = 0.1;

/// What the slope at which sand lies is multiplied by under so much water.
#[inline(always)]
pub(super) fn flatter(wet: f32, depth: f32) -> f32 {
    between([1.0, wet], (depth * (1.0 / UNDER_WATER)).min(1.0))
}

/// What a pass moved in a strip, in metres times cells.
#[derive(Default)]
pub(super) struct Slid {
    pub given: f64,
    pub got: f64,
    pub crumbled: f64,
    /// Over an open border.
    pub out: f64,
    /// Lost in the last digit of the ground, as published.
    pub rounded: f64,
}

/// Lets the share `k` of every pair's excess slide once, and lets rock crumble.
pub(super) fn slide(terrain: &mut Terrain, border: Border, k: f32, slopes: Slopes<'_>) -> Vec<Slid> {
    let Terrain { bedrock, sand, softness, start, water, .. } = terrain;
    let (softness, start) = (&softness[..], &start[..]);
    let wet = slopes.ends(WET).into_iter().any(|wet| wet != 1.0);
    let water = (wet && water.par_iter().any(|&depth| depth > 0.0)).then_some(&water[..]);
    let layers = [bedrock, sand].map(|layer| (&mut layer[..], border.width));
    // What a cell gives depends on the next row.
    for_strips(border, layers, 1, |strip| with_vector_unit(Slide { strip, start, softness, water, k, slopes }))
}

/// Difference of height at which rock of this softness stands beside its neighbour.
#[inline(always)]
pub(super) fn talus<V: Cells>(softness: V, per_hardness: V, bias: V) -> V {
    (V::all(1.0) - softness) * per_hardness + bias
}

/// Sand slides in portions of 2⁻¹⁵ m, 0.03 mm: such sums are exact in single precision as long as less than 512 m lie
/// in a cell, so that nothing is lost in the last digit.
const PORTION: f32 = 1.0 / 32_768.0;
/// Added and taken off again, it leaves whole portions.
const WHOLE: f32 = 1.5 * 8_388_608.0 * PORTION;

/// Ground, and what a cell can give to a neighbour.
struct Loose<'a, 'layers, L> {
    strip: &'a Strip<'layers, 2>,
    start: &'a [f32],
    numbers: &'a L,
}

const GROUND: usize = 0;
const EIGHTH: usize = 1;

impl<L: Numbers> Quantities<2> for Loose<'_, '_, L> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, loose]: [&mut [f32]; 2]) {
        let width = ground.len();
        let [bedrock, sand] = [BEDROCK, SAND].map(|layer| &self.strip.row(layer, y)[..width]);
        let share = self.numbers.row(SHARE, y).cut(1, width);
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

impl<N: Number> RowKernel for LooseRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let sand = V::load(self.sand, x);
        (V::load(self.bedrock, x) + sand).store(self.ground, x);
        // An eighth for every neighbour at most; nothing where time stands still.
        let zero = V::all(0.0);
        self.share.at::<V>(x).if_above(zero, sand * V::all(0.125), zero).store(self.loose, x);
    }
}

/// What slides from a cell to a lower neighbour: the share k, how much lower that is, the difference that lies, an eighth of the
/// giver's sand.
#[inline(always)]
fn slides<V: Cells>(k: f32, fall: V, lies: V, eighth: V) -> V {
    let slides = (V::all(k) * (fall - lies).positive()).min(eighth);
    ((slides - V::all(0.5 * PORTION)) + V::all(WHOLE)) - V::all(WHOLE)
}

/// Of cells in two rows with a cell beyond either end, a row and the one below it, what each gives to the next one in its
/// row, below it, and across the corner to both sides. What it gets counts as less than nothing.
struct PairRow<'a, N> {
    k: f32,
    /// Of both rows: the cells, and the next ones.
    ground: [[&'a [f32]; 2]; 2],
    eighth: [[&'a [f32]; 2]; 2],
    /// Beside, and across the corner.
    lies: [[[N; 2]; 2]; 2],
    out: [&'a mut [f32]; 4],
}

/// A cell of those that exchange: its height, an eighth of its sand, the differences of height at which sand lies on it.
#[derive(Clone, Copy)]
struct PairCell<V> {
    height: V,
    eighth: V,
    lies: [V; 2],
}

impl<N: Number> PairRow<'_, N> {
    #[inline(always)]
    fn side<V: Cells>(&self, row: usize, next: usize, x: usize) -> PairCell<V> {
        PairCell {
            height: V::load(self.ground[row][next], x),
            eighth: V::load(self.eighth[row][next], x),
            lies: [self.lies[0][row][next].at(x), self.lies[1][row][next].at(x)],
        }
    }
}

/// What a cell gives to another of this kind, beside it or across the corner.
#[inline(always)]
fn gives<V: Cells>(k: f32, from: PairCell<V>, to: PairCell<V>, kind: usize) -> V {
    let fall = from.height - to.height;
    let choose = |down: V, up: V| fall.if_above(V::all(0.0), down, up);
    let gives = slides(k, fall.max(-fall), choose(from.lies[kind], to.lies[kind]), choose(from.eighth, to.eighth));
    choose(gives, -gives)
}

const ASIDE: usize = 0;
const DOWN: usize = 1;
const DOWN_RIGHT: usize = 2;
const DOWN_LEFT: usize = 3;

impl<N: Number> RowKernel for PairRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (here, next): (PairCell<V>, PairCell<V>) = (self.side(0, 0, x), self.side(0, 1, x));
        let (below, below_next): (PairCell<V>, PairCell<V>) = (self.side(1, 0, x), self.side(1, 1, x));
        gives(self.k, here, next, 0).store(self.out[ASIDE], x);
        gives(self.k, here, below, 0).store(self.out[DOWN], x);
        gives(self.k, here, below_next, 1).store(self.out[DOWN_RIGHT], x);
        gives(self.k, next, below, 1).store(self.out[DOWN_LEFT], x);
    }
}

struct SlideRow<'a, N> {
    /// Talus per hardness and at none, the share that crumbles, and the difference that lies beside.
    law: [N; 4],
    ground: Nine<'a>,
    /// What goes to the right, left, down, up, and across the corners, each beside its opposite.
    pairs: [[&'a [f32]; 2]; 4],
    softness: &'a [f32],
    bedrock: &'a mut [f32],
    sand: &'a mut [f32],
    tallies: &'a mut SlideTallies,
}

/// What a row gives, gets and crumbles.
#[derive(Default)]
struct SlideTallies {
    given: Tally,
    got: Tally,
    crumbled: Tally,
}

impl<N: Number> RowKernel for SlideRow<'_, N> {
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
        let crumbled = self.crumble(x, old);
        self.tallies.crumbled.add(x, crumbled);
        let old = old + crumbled;
        let sand = (old - leaves).positive();
        sand.store(self.sand, x);
        self.tallies.given.add(x, goes);
        self.tallies.got.add(x, goes + (sand - old));
    }
}

impl<N: Number> SlideRow<'_, N> {
    /// What rock that stands too steep under so much sand crumbles by.
    #[inline(always)]
    fn crumble<V: Cells>(&mut self, x: usize, sand: V) -> V {
        let (old, softness) = (V::load(self.bedrock, x), V::load(self.softness, x));
        let [per_hardness, bias, share, lies] = self.law;
        // No rock is less steep than its own sand.
        let talus = talus(softness, per_hardness.at(x), bias.at(x)).max(lies.at(x));
        let [beside, corner] = lowest::<V>(self.ground, x);
        let excess = ((old - beside) - talus).max((old - corner) - talus * V::all(FARTHER[1]));
        // What would fall may lie on the rock as sand already.
        let bedrock = old - V::all(0.5) * share.at::<V>(x) * softness * (excess - sand).positive();
        bedrock.store(self.bedrock, x);
        old - bedrock
    }
}

/// Numbers that the water changes: under it sand lies flatter.
struct WetRows<'a> {
    dry: MaskedRows<'a, 6>,
    water: &'a [f32],
    border: Border,
}

impl Numbers for WetRows<'_> {
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
                let flatter = flatter(wet, depth);
                (*beside, *across) = (*beside * flatter, *across * flatter);
            }
        });
    }

    #[inline(always)]
    fn row(&self, number: usize, y: isize) -> &[f32] {
        self.dry.row(number, y)
    }
}

/// A pass over a strip of bedrock and sand.
struct Slide<'a> {
    strip: Strip<'a, 2>,
    start: &'a [f32],
    softness: &'a [f32],
    /// The water, if it makes a difference.
    water: Option<&'a [f32]>,
    k: f32,
    slopes: Slopes<'a>,
}

impl Pass for Slide<'_> {
    type Output = Slid;

    #[inline(always)]
    fn run<V: Cells>(self) -> Slid {
        let (border, first) = (self.strip.border(), self.strip.rows().start - 1);
        if let Some(water) = self.water {
            let dry = self.slopes.rows_of_all(border, first);
            return self.run_with::<V>(WetRows { dry, water, border });
        }
        match self.slopes.rows(border, first) {
            Rows::Even(even) => self.run_with::<V>(even),
            Rows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

impl Slide<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut numbers: impl Numbers) -> Slid {
        let Self { mut strip, start, softness, k, .. } = self;
        let (border, own) = (strip.border(), strip.rows());
        let width = border.width;
        numbers.next(own.start - 1);
        let mut window: Window<2> = Window::over(&strip, 1);
        let mut pairs: Ring<4, 2> = Ring::new(width + 1, own.start - 1);
        let mut tallies = SlideTallies::default();
        let mut sums = Slid::default();
        for y in own.start - 1..own.end {
            numbers.next(y + 1);
            window.fill_to::<V>(y + 1, &Loose { strip: &strip, start, numbers: &numbers });
            let (wide, next) = (width + 1, y + 1);
            let both =
                |quantity: usize| [across(window.row(quantity, y), wide), across(window.row(quantity, next), wide)];
            let lies = |kind: usize| {
                let rows = [numbers.row(kind, y), numbers.row(kind, next)];
                [[rows[0].cut(0, wide), rows[0].cut(1, wide)], [rows[1].cut(0, wide), rows[1].cut(1, wide)]]
            };
            let lies = [lies(LIES[0]), lies(LIES[1])];
            let [aside, down, down_right, down_left] = pairs.push();
            let out = [&mut aside[..wide], &mut down[..wide], &mut down_right[..wide], &mut down_left[..wide]];
            let (ground, eighth) = (both(GROUND), both(EIGHTH));
            over_row::<V>(wide, PairRow { k, ground, eighth, lies, out });
            if !own.contains(&y) {
                continue;
            }
            let ground = window.around(GROUND, y);
            let softness = &softness[y as usize * width..][..width];
            // A pair stands at its left cell, counted from the one beyond the border.
            let pair = |kind: usize, y: isize, right: usize| &pairs.row(kind, y)[1 + right..][..width];
            let pairs = [
                [pair(ASIDE, y, 1), pair(ASIDE, y, 0)],
                [pair(DOWN, y, 1), pair(DOWN, y - 1, 1)],
                [pair(DOWN_RIGHT, y, 1), pair(DOWN_RIGHT, y - 1, 0)],
                [pair(DOWN_LEFT, y, 0), pair(DOWN_LEFT, y - 1, 1)],
            ];
            let [bedrock, sand] = strip.rows_mut(y);
            let slide = SlideRow {
                law: [PER_HARDNESS, BIAS, SHARE, LIES[0]].map(|number| numbers.row(number, y).cut(1, width)),
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
                let (eighth, lies) = (window.row(EIGHTH, y), LIES.map(|kind| numbers.row(kind, y)));
                for_border(y as usize, (width, border.height), |x, kind, side| {
                    let fall = ground[1][x + 1] - neighbour(ground, x, kind, side);
                    sums.out += f64::from(slides(k, fall, lies[kind].at(x + 1), eighth[x + 1]));
                });
            }
        }
        Slid { given: tallies.given.total(), got: tallies.got.total(), crumbled: tallies.crumbled.total(), ..sums }
    }
}
