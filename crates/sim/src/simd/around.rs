//! Neighbourhood of a cell: sums over the eight neighbours in an order that is invariant under rotation, and neighbours beyond the
//! border.

use super::{cells::Cells, stencil::Neighbourhood};
use crate::core::border::{DISTANCES, OPPOSITES, STEPS};

/// Distances to cardinal and diagonal neighbours in single precision.
pub const DISTANCES_F32: [f32; 2] = [DISTANCES[0] as f32, DISTANCES[1] as f32];

/// Returns the height differences to cardinal and diagonal neighbours at an angle of repose, given in degrees.
pub fn repose_heights(angle: f32, cell_size: f32) -> [f32; 2] {
    DISTANCES_F32.map(|farther| libm::tanf(angle.to_radians()) * cell_size * farther)
}

/// Exchange between a cell and a neighbour.
pub trait Pair<const N: usize> {
    /// Computes the terms to be summed for the cells from `x` on and their neighbours at a row and column of the 3 × 3 window.
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; N];
}

/// Sums over four neighbours, opposite ones in pairs, which is invariant under rotation and reflection of the map.
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
pub fn sum_neighbours<V: Cells, const N: usize>(pairs: &impl Pair<N>, x: usize) -> [V; N] {
    around_some::<V, N, true>(pairs, x)
}

/// Sums over the eight neighbours, or over the four cardinal ones.
#[inline(always)]
pub fn around_some<V: Cells, const N: usize, const EIGHT: bool>(pairs: &impl Pair<N>, x: usize) -> [V; N] {
    let [one, root] = DISTANCES_F32;
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

/// Returns the lowest height among the four cardinal neighbours, and among the four diagonal ones.
#[inline(always)]
pub fn lowest<V: Cells>([above, here, below]: Neighbourhood<'_>, x: usize) -> [V; 2] {
    let beside = V::load(here[0], x).min(V::load(here[2], x)).min(V::load(above[1], x).min(V::load(below[1], x)));
    let across = V::load(above[0], x).min(V::load(below[2], x)).min(V::load(above[2], x).min(V::load(below[0], x)));
    [beside, across]
}

/// Returns the height of a neighbour, indexed as in [`for_each_outside_neighbour`].
pub fn neighbour([above, here, below]: [&[f32]; 3], x: usize, kind: usize, side: usize) -> f32 {
    let beside = [here[x], here[x + 2], above[x + 1], below[x + 1]];
    let across = [above[x], below[x + 2], above[x + 2], below[x]];
    [beside, across][kind][side]
}

/// Calls `visit` for every neighbour beyond the border of the cells in row `y`: with the cell, 0 for a cardinal or 1 for a diagonal
/// neighbour, and its index among the four.
#[inline]
pub fn for_each_outside_neighbour(
    y: usize,
    (width, height): (usize, usize),
    mut visit: impl FnMut(usize, usize, usize),
) {
    let inside = |x: usize, [dx, dy]: [isize; 2]| {
        x.checked_add_signed(dx).is_some_and(|x| x < width) && y.checked_add_signed(dy).is_some_and(|y| y < height)
    };
    // In an inner row, only the ends are at the border.
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
