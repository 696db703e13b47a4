//! A step of the default mode: sand slides, bare rock crumbles.

use super::{BEDROCK, SAND, Steep, Sums};
use crate::sim::{
    around::{FARTHER, for_border, lowest, neighbour},
    cells::{Cells, Pass, RowKernel, over_row},
    masked::{Covered, between},
    process::thermal::Params,
    stencil::{Nine, Quantities, Ring, Tally, Window, across, nine, sides},
    strip::Strip,
    terrain::Edge,
};

/// Of a pair's excess, what moves in a tick.
const PAIR: f32 = 1.0 / 12.0;
/// Sand slides in portions of 2⁻¹⁵ m, 0.03 mm: such sums are exact in single precision as long as less than 512 m lie
/// in a cell, so that nothing is lost in the last digit.
const PORTION: f32 = 1.0 / 32_768.0;
/// Added and taken off again, it leaves whole portions.
const WHOLE: f32 = 1.5 * 8_388_608.0 * PORTION;

/// Ground, and what a cell can give to a neighbour.
struct Loose<'a, 'layers> {
    strip: &'a Strip<'layers, 2>,
    start: &'a [f32],
}

const GROUND: usize = 0;
const EIGHTH: usize = 1;

impl Quantities<2> for Loose<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, loose]: [&mut [f32]; 2]) {
        let width = ground.len();
        let [bedrock, sand] = [BEDROCK, SAND].map(|layer| &self.strip.row(layer, y)[..width]);
        let (ground, loose) = (&mut ground[..width], &mut loose[..width]);
        over_row::<V>(width, LooseRow { bedrock, sand, ground, loose });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.start[index], 0.0]
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

/// What slides from a cell to a lower neighbour: how much lower that is, an eighth of the giver's sand, the difference that
/// lies; and 1 where sand slides, 0 where time stands still.
#[inline(always)]
fn slides<V: Cells>(fall: V, eighth: V, lies: V, moves: V) -> V {
    let slides = (V::all(PAIR) * moves * (fall - lies).positive()).min(eighth);
    (((slides - V::all(0.5 * PORTION)) + V::all(WHOLE)) - V::all(WHOLE)).positive()
}

/// Of cells in two rows with a cell beyond either end, a row and the one below it, what each gives to the next one in its
/// row, below it, and across the corner to both sides. What it gets counts as less than nothing.
struct PairRow<'a, const MASKED: bool> {
    steep: [Steep; 2],
    /// Of both rows: the cells, and the next ones.
    mask: [[&'a [f32]; 2]; 2],
    ground: [[&'a [f32]; 2]; 2],
    eighth: [[&'a [f32]; 2]; 2],
    out: [&'a mut [f32]; 4],
}

/// A cell of those that exchange: its height, an eighth of its sand, the mask there.
#[derive(Clone, Copy)]
struct Side<V> {
    height: V,
    eighth: V,
    mask: V,
}

impl<const MASKED: bool> PairRow<'_, MASKED> {
    #[inline(always)]
    fn side<V: Cells>(&self, row: usize, next: usize, x: usize) -> Side<V> {
        let mask = if MASKED { V::load(self.mask[row][next], x) } else { V::all(0.0) };
        Side { height: V::load(self.ground[row][next], x), eighth: V::load(self.eighth[row][next], x), mask }
    }

    #[inline(always)]
    fn gives<V: Cells>(&self, from: Side<V>, to: Side<V>, farther: f32) -> V {
        let zero = V::all(0.0);
        let fall = from.height - to.height;
        let choose = |down: V, up: V| fall.if_above(zero, down, up);
        let [free, under] = self.steep;
        let (mut lies, mut moves) = (V::all(free.repose * farther), V::all(free.moves()));
        if MASKED {
            // That of the cell that gives.
            let mask = choose(from.mask, to.mask);
            lies = lies + V::all(under.repose * farther - free.repose * farther) * mask;
            let share = V::all(free.share) + V::all(under.share - free.share) * mask;
            moves = share.if_above(zero, V::all(1.0), zero);
        }
        let gives = slides(fall.max(-fall), choose(from.eighth, to.eighth), lies, moves);
        choose(gives, -gives)
    }
}

const ASIDE: usize = 0;
const DOWN: usize = 1;
const DOWN_RIGHT: usize = 2;
const DOWN_LEFT: usize = 3;

impl<const MASKED: bool> RowKernel for PairRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (here, next): (Side<V>, Side<V>) = (self.side(0, 0, x), self.side(0, 1, x));
        let (below, below_next): (Side<V>, Side<V>) = (self.side(1, 0, x), self.side(1, 1, x));
        let [one, root] = FARTHER;
        let aside = self.gives(here, next, one);
        let down = self.gives(here, below, one);
        let down_right = self.gives(here, below_next, root);
        let down_left = self.gives(next, below, root);
        aside.store(self.out[ASIDE], x);
        down.store(self.out[DOWN], x);
        down_right.store(self.out[DOWN_RIGHT], x);
        down_left.store(self.out[DOWN_LEFT], x);
    }
}

struct SlideRow<'a, const MASKED: bool> {
    steep: [Steep; 2],
    mask: &'a [f32],
    ground: Nine<'a>,
    /// What goes to the right, left, down, up, and across the corners, each beside its opposite.
    pairs: [[&'a [f32]; 2]; 4],
    softness: &'a [f32],
    bedrock: &'a mut [f32],
    sand: &'a mut [f32],
    tallies: &'a mut Tallies,
}

/// What a row gives, gets and crumbles.
#[derive(Default)]
struct Tallies {
    given: Tally,
    got: Tally,
    crumbled: Tally,
}

impl<const MASKED: bool> RowKernel for SlideRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let softness = V::load(self.softness, x);
        let talus: V = Steep::talus::<V, MASKED>(self.steep, softness, self.mask, x);
        let [aside, down, down_right, down_left] = self.pairs;
        let (right, left) = (V::load(aside[0], x), V::load(aside[1], x));
        let (below, above) = (V::load(down[0], x), V::load(down[1], x));
        let (below_right, above_left) = (V::load(down_right[0], x), V::load(down_right[1], x));
        let (below_left, above_right) = (V::load(down_left[0], x), V::load(down_left[1], x));
        let zero = V::all(0.0);
        let goes = ((right.positive() - left.min(zero)) + (below.positive() - above.min(zero)))
            + ((below_right.positive() - above_left.min(zero)) + (below_left.positive() - above_right.min(zero)));
        let leaves = ((right - left) + (below - above)) + ((below_right - above_left) + (below_left - above_right));
        let [beside, corner] = lowest::<V>(self.ground, x);
        let excess = ((old_bedrock - beside) - talus).max((old_bedrock - corner) - talus * V::all(FARTHER[1]));
        // Rock that stands too steep crumbles, unless what would fall lies on it as sand already.
        let [free, under] = self.steep;
        let share: V = between::<V, MASKED>([0.5 * free.share, 0.5 * under.share], self.mask, x);
        let crumbles = share * softness * (excess - old_sand).positive();
        let bedrock = old_bedrock - crumbles;
        let crumbles = old_bedrock - bedrock;
        bedrock.store(self.bedrock, x);
        ((old_sand + crumbles) - leaves).positive().store(self.sand, x);
        self.tallies.given.add(x, goes);
        self.tallies.got.add(x, goes - leaves);
        self.tallies.crumbled.add(x, crumbles);
    }
}

/// A step of the default mode on a strip of bedrock and sand.
pub(super) struct Slide<'a> {
    pub strip: Strip<'a, 2>,
    pub start: &'a [f32],
    pub softness: &'a [f32],
    /// On free ground, and under the mask.
    pub steep: [Steep; 2],
    pub covered: Option<&'a Covered<Params>>,
}

impl Pass for Slide<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        if self.covered.is_some() { self.run_as::<V, true>() } else { self.run_as::<V, false>() }
    }
}

impl Slide<'_> {
    /// What a cell gives depends on the next row.
    pub const MARGIN: usize = 1;

    #[inline(always)]
    fn run_as<V: Cells, const MASKED: bool>(self) -> Sums {
        let Self { mut strip, start, softness, steep, covered } = self;
        let (border, own) = (strip.border(), strip.rows());
        let width = border.width;
        let mask = |y: isize| -> &[f32] {
            match covered {
                Some(covered) if MASKED => covered.near(y),
                _ => &[],
            }
        };
        let mut window: Window<2> = Window::over(&strip, 1);
        let mut pairs: Ring<4, 2> = Ring::new(width + 1, own.start - 1);
        let mut tallies = Tallies::default();
        let mut sums = Sums::default();
        for y in own.start - 1..own.end {
            window.fill_to::<V>(y + 1, &Loose { strip: &strip, start });
            let (wide, next) = (width + 1, y + 1);
            let both =
                |quantity: usize| [across(window.row(quantity, y), wide), across(window.row(quantity, next), wide)];
            let masks =
                if MASKED { [across(mask(y), wide), across(mask(next), wide)] } else { [[&[] as &[f32]; 2]; 2] };
            let [aside, down, down_right, down_left] = pairs.push();
            let out = [&mut aside[..wide], &mut down[..wide], &mut down_right[..wide], &mut down_left[..wide]];
            let (ground, eighth) = (both(GROUND), both(EIGHTH));
            over_row::<V>(wide, PairRow::<MASKED> { steep, mask: masks, ground, eighth, out });
            if !own.contains(&y) {
                continue;
            }
            let (ground, mask) = (window.around(GROUND, y), mask(y));
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
            let slide = SlideRow::<MASKED> {
                steep,
                mask: if MASKED { sides(mask, width)[1] } else { &[] },
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
                let eighth = window.row(EIGHTH, y);
                for_border(y as usize, (width, border.height), |x, kind, side| {
                    let other = neighbour(ground, x, kind, side);
                    let lies = steep.map(|steep| steep.repose * FARTHER[kind]);
                    let lies = between::<f32, MASKED>(lies, mask, x + 1);
                    let fall = ground[1][x + 1] - other;
                    let share = between::<f32, MASKED>(steep.map(|steep| steep.share), mask, x + 1);
                    let moves = if share > 0.0 { 1.0 } else { 0.0 };
                    sums.out += f64::from(slides(fall, eighth[x + 1], lies, moves));
                });
            }
        }
        Sums { given: tallies.given.total(), got: tallies.got.total(), crumbled: tallies.crumbled.total(), ..sums }
    }
}
