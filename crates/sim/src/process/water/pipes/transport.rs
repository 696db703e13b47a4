//! Eq. 15: semi-Lagrangian transport of sediment.

use super::erode::{ALONG_X, ALONG_Y, ErodedRows, SETTLED};
use crate::{
    core::{aligned::AlignedArray, border::Border},
    simd::{
        cells::{Cells, RowKernel, over_row},
        stencil::{RowAccumulator, sides},
    },
};

/// Semi-Lagrangian transport: each cell takes the sediment from where its water came from, at most a cell away.
pub(super) struct SedimentTransport {
    border: Border,
    /// Δt/l.
    shift: f32,
    /// Sediment beyond an open border: none.
    clear: AlignedArray,
    lost: RowAccumulator,
}

impl SedimentTransport {
    pub fn new(border: Border, shift: f32) -> Self {
        Self { border, shift, clear: AlignedArray::filled(border.width + 2, 0.0), lost: RowAccumulator::default() }
    }

    /// Returns the sediment lost, in metres times cells: the equation does not conserve it.
    pub fn lost(&self) -> f64 {
        self.lost.total()
    }

    /// Computes the sediment of row `y` after the transport.
    #[inline(always)]
    pub fn row<V: Cells>(&mut self, y: isize, moved: &ErodedRows, out: &mut [f32]) {
        let width = self.border.width;
        let [above, here, below] = moved.within(SETTLED, y, self.border, &self.clear);
        let rows = [sides(above, width), sides(here, width), sides(below, width)];
        let velocity = [sides(moved.row(ALONG_X, y), width)[1], sides(moved.row(ALONG_Y, y), width)[1]];
        let (out, lost) = (&mut out[..width], &mut self.lost);
        over_row::<V>(width, TransportRow { shift: self.shift, rows, velocity, out, lost });
        self.lost.end_row(true);
    }
}

struct TransportRow<'a> {
    shift: f32,
    /// Sediment above, here and below: to the left, in the middle and to the right.
    rows: [[&'a [f32]; 3]; 3],
    velocity: [&'a [f32]; 2],
    out: &'a mut [f32],
    lost: &'a mut RowAccumulator,
}

impl RowKernel for TransportRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [above, here, below] = self.rows;
        let one = V::all(1.0);
        let (a, b) =
            (V::load(self.velocity[0], x) * V::all(self.shift), V::load(self.velocity[1], x) * V::all(self.shift));
        let (left, right, up, down) = (a.positive(), (-a).positive(), b.positive(), (-b).positive());
        let (middle_x, middle_y) = (one - (left + right), one - (up + down));
        // Nine weights, at most four of them non-zero, summed so that a rotated map gives the same bits.
        let settled = V::load(here[1], x);
        let own = (middle_x * middle_y) * settled;
        let sides = ((left * middle_y) * V::load(here[0], x) + (right * middle_y) * V::load(here[2], x))
            + ((middle_x * up) * V::load(above[1], x) + (middle_x * down) * V::load(below[1], x));
        let corners = ((left * up) * V::load(above[0], x) + (right * down) * V::load(below[2], x))
            + ((right * up) * V::load(above[2], x) + (left * down) * V::load(below[0], x));
        let carried = (own + sides) + corners;
        carried.store(self.out, x);
        self.lost.add(x, settled - carried);
    }
}
