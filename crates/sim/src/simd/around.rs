//! The eight neighbours of a cell: sums over them, in an order that a turned map shares, and those beyond the border.

use super::{cells::Cells, stencil::Nine};
use crate::core::border::{DISTANCES, OPPOSITES, STEPS};

/// Distances of neighbours of both kinds in single precision: beside, and across the corner.
pub const FARTHER: [f32; 2] = [DISTANCES[0] as f32, DISTANCES[1] as f32];

/// Differences of height at which sand lies on neighbours of both kinds, by its angle of repose in degrees.
pub fn at_repose(angle: f32, cell_size: f32) -> [f32; 2] {
    FARTHER.map(|farther| libm::tanf(angle.to_radians()) * cell_size * farther)
}

/// What a cell and a neighbour of it exchange.
pub trait Pair<const N: usize> {
    /// For the cells from `x` on and the neighbours in this row and column of the three around: sums and a maximum.
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; N];
}

/// Sums over four neighbours, each beside its opposite: the same on a turned or mirrored map.
#[inline(always)]
fn four<V: Cells, const N: usize>(a: [V; N], b: [V; N], c: [V; N], d: [V; N]) -> [V; N] {
    let mut out = a;
    for part in 0..N {
        out[part] = (a[part] + b[part]) + (c[part] + d[part]);
    }
    out
}

/// Sums over the eight neighbours.
#[inline(always)]
pub fn around<V: Cells, const N: usize>(pairs: &impl Pair<N>, x: usize) -> [V; N] {
    around_some::<V, N, true>(pairs, x)
}

/// Sums over the eight neighbours, or over the four beside.
#[inline(always)]
pub fn around_some<V: Cells, const N: usize, const EIGHT: bool>(pairs: &impl Pair<N>, x: usize) -> [V; N] {
    let [one, root] = FARTHER;
    let beside =
        four(pairs.pair(x, 1, 0, one), pairs.pair(x, 1, 2, one), pairs.pair(x, 0, 1, one), pairs.pair(x, 2, 1, one));
    if !EIGHT {
        return beside;
    }
    let across = four(
        pairs.pair(x, 0, 0, root),
        pairs.pair(x, 2, 2, root),
        pairs.pair(x, 0, 2, root),
        pairs.pair(x, 2, 0, root),
    );
    let mut out: [V; N] = beside;
    for part in 0..N {
        out[part] = beside[part] + across[part];
    }
    out
}

/// The least of the heights of four neighbours: those beside, or those across the corner.
#[inline(always)]
pub fn lowest<V: Cells>([above, here, below]: Nine<'_>, x: usize) -> [V; 2] {
    let beside = V::load(here[0], x).min(V::load(here[2], x)).min(V::load(above[1], x).min(V::load(below[1], x)));
    let across = V::load(above[0], x).min(V::load(below[2], x)).min(V::load(above[2], x).min(V::load(below[0], x)));
    [beside, across]
}

/// The height of a neighbour, as [`for_border`] names it.
pub fn neighbour([above, here, below]: [&[f32]; 3], x: usize, kind: usize, side: usize) -> f32 {
    let beside = [here[x], here[x + 2], above[x + 1], below[x + 1]];
    let across = [above[x], below[x + 2], above[x + 2], below[x]];
    [beside, across][kind][side]
}

/// Calls `visit` for every neighbour in row `y` that lies beyond the border: the cell, whether the neighbour is beside it or
/// across the corner, and which of the four it is.
#[inline]
pub fn for_border(y: usize, (width, height): (usize, usize), mut visit: impl FnMut(usize, usize, usize)) {
    let inside = |x: usize, [dx, dy]: [isize; 2]| {
        x.checked_add_signed(dx).is_some_and(|x| x < width) && y.checked_add_signed(dy).is_some_and(|y| y < height)
    };
    // Of a row in the middle only the ends lie at the border.
    let step = if y == 0 || y + 1 == height { 1 } else { (width - 1).max(1) };
    for x in (0..width).step_by(step) {
        for (kind, steps) in OPPOSITES.iter().enumerate() {
            for (side, &step) in steps.iter().enumerate() {
                if !inside(x, STEPS[usize::from(step)]) {
                    visit(x, kind, side);
                }
            }
        }
    }
}
