//! Slip faces: sand slides down the steepest way until it lies at its angle of repose, whichever way that is.
//!
//! Between two cells beside each other
//!
//! ```text
//! s = |∇h|, of the difference between both and of those across it       slides: k·Δh·max(0, 1 − tan φ/s)
//! ```
//!
//! so what counts is the true slope, not that along rows, columns and diagonals: those would let sand lie at 35° between them where it
//! lies at 33° along them. No cell gives more than a quarter of its sand to another. Over an open border the wind alone carries sand.

use super::settle::closed;
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
    masked::{Number, Numbers, Rows, Scaled},
    stencil::{Border, Quantities, Tally, Window},
    strip::{Strip, for_strips},
    terrain::Terrain,
};

/// Share k of what is too steep that slides in a round: up to 1/4 nothing swings.
const SHARE: f32 = 0.24;

/// Lets sand slide in a round. `lies` is the difference of height between cells at which it rests. Returns what slid and by how much the
/// sand really grew, in metres times cells.
pub(super) fn slip(terrain: &mut Terrain, lies: Scaled<'_, 1>) -> [f64; 2] {
    let border = closed(terrain);
    let Terrain { bedrock, sand, .. } = terrain;
    let bedrock = &bedrock[..];
    let strips =
        for_strips(border, [(&mut sand[..], border.width)], 1, |strip| with_vector_unit(Slip { strip, bedrock, lies }));
    strips.iter().fold([0.0, 0.0], |[slid, grown], strip| [slid + strip[0], grown + strip[1]])
}

struct Slip<'a> {
    strip: Strip<'a, 1>,
    bedrock: &'a [f32],
    lies: Scaled<'a, 1>,
}

/// Ground and sand.
struct Loose<'a, 'layers> {
    strip: &'a Strip<'layers, 1>,
    bedrock: &'a [f32],
}

const GROUND: usize = 0;
const SAND: usize = 1;

impl Quantities<2> for Loose<'_, '_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, sand]: [&mut [f32]; 2]) {
        let width = ground.len();
        let first = self.strip.border().on_map(y) * width;
        sand.copy_from_slice(self.strip.row(0, y));
        let bedrock = &self.bedrock[first..][..width];
        ground.iter_mut().zip(bedrock).zip(&*sand).for_each(|((ground, rock), sand)| *ground = rock + sand);
    }

    fn beyond(&self, _: usize) -> [f32; 2] {
        unreachable!("no border is open here")
    }
}

impl Pass for Slip<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Cells>(self) -> [f64; 2] {
        match self.lies.rows(self.strip.border(), self.strip.rows().start - 1) {
            Rows::Even(even) => self.run_with::<V>(even),
            Rows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

impl Slip<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut lies: impl Numbers) -> [f64; 2] {
        let Self { mut strip, bedrock, .. } = self;
        let (Border { width, .. }, own) = (strip.border(), strip.rows());
        lies.next(own.start - 1);
        lies.next(own.start);
        let mut window: Window<2> = Window::over(&strip, 1);
        let (mut slid, mut grown) = (Tally::default(), 0.0);
        for y in own {
            window.fill_to::<V>(y + 1, &Loose { strip: &strip, bedrock });
            lies.next(y + 1);
            let lies = [y - 1, y, y + 1].map(|y| lies.row(0, y));
            let [ground, sand] = [GROUND, SAND].map(|quantity| window.around(quantity, y));
            let [out] = strip.rows_mut(y);
            let mut slides = false;
            let row = SlipRow { lies, ground, sand, out: &mut out[..width], slid: &mut slid, slides: &mut slides };
            over_row::<V>(width, row);
            slid.end_row(true);
            if slides {
                let changes = out[..width].iter().zip(&sand[1][1..]);
                grown += changes.map(|(&new, &old)| f64::from(new) - f64::from(old)).sum::<f64>();
            }
        }
        [slid.total(), grown]
    }
}

struct SlipRow<'a, N> {
    /// Above, here and below, as all that follows.
    lies: [N; 3],
    ground: [&'a [f32]; 3],
    sand: [&'a [f32]; 3],
    out: &'a mut [f32],
    slid: &'a mut Tally,
    /// Whether anything slides in the row.
    slides: &'a mut bool,
}

impl<N: Number> SlipRow<'_, N> {
    /// How much lower a cell beside this one is, and the square of the slope between them, as a difference of height between cells.
    #[inline(always)]
    fn slope<V: Cells>(&self, [row, column]: [usize; 2], x: usize) -> [V; 2] {
        let height = |row: usize, column: usize| V::load(self.ground[row], x + column);
        let falls = height(1, 1) - height(row, column);
        let (across, own) = if row == 1 {
            (height(0, column) - height(2, column), height(0, 1) - height(2, 1))
        } else {
            (height(row, 0) - height(row, 2), height(1, 0) - height(1, 2))
        };
        // The mean of squares, as of two slopes beside each other the steeper one slides.
        [falls, falls * falls + V::all(0.125) * (across * across + own * own)]
    }
}

const BESIDE: [[usize; 2]; 4] = [[1, 0], [1, 2], [0, 1], [2, 1]];

impl<N: Number> RowKernel for SlipRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let own: V = self.lies[1].at(x + 1);
        let mut slopes = [[zero; 2]; 4];
        let mut steepest = zero;
        let mut gentlest = own;
        for (slope, place) in slopes.iter_mut().zip(BESIDE) {
            *slope = self.slope(place, x);
            steepest = steepest.max(slope[1]);
            gentlest = gentlest.min(self.lies[place[0]].at(x + place[1]));
        }
        let sand = V::load(self.sand[1], x + 1);
        if !steepest.any_above(gentlest * gentlest) {
            sand.store(self.out, x);
            return;
        }
        *self.slides = true;
        let mut change = [zero; 4];
        for ((change, place), [falls, square]) in change.iter_mut().zip(BESIDE).zip(slopes) {
            // As the cell lets it that gives.
            let other: V = self.lies[place[0]].at(x + place[1]);
            let giver = V::load(self.sand[place[0]], x + place[1]);
            let choose = |down: V, up: V| falls.if_above(zero, down, up);
            let steeper = one - choose(own, other) / square.sqrt().max(V::all(f32::MIN_POSITIVE));
            let slides = V::all(SHARE) * (falls.max(-falls) * steeper.positive()).min(choose(sand, giver));
            *change = choose(-slides, slides);
        }
        // Each beside its opposite.
        let comes = (change[0] + change[1]) + (change[2] + change[3]);
        (sand + comes).positive().store(self.out, x);
        let goes = (change[0].min(zero) + change[1].min(zero)) + (change[2].min(zero) + change[3].min(zero));
        self.slid.add(x, -goes);
    }
}
