//! Eqs 15 and 16: sediment goes with the water, and a share of it evaporates.

use std::ops::Range;

use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row},
    grid::Grid,
    stencil::{Border, Quantities, Window, row_sum},
};

/// Sediment in the water.
pub(super) struct Carried<'a> {
    pub suspended: &'a Grid,
}

impl Quantities<1> for Carried<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [row]: [&mut [f32]; 1]) {
        let width = row.len();
        row.copy_from_slice(&self.suspended[y * width..(y + 1) * width]);
    }

    #[inline(always)]
    fn beyond(&self, _: usize) -> [f32; 1] {
        [0.0]
    }
}

/// Eq. 15: every cell takes what was where its water comes from, at most a cell away.
pub(super) struct Transport<'a> {
    pub carried: &'a Carried<'a>,
    pub border: Border,
    /// Δt/l.
    pub shift: f32,
    /// Share of the water that stays.
    pub stays: f32,
    pub u: &'a Grid,
    pub v: &'a Grid,
    pub rows: Range<usize>,
    /// Suspended and water.
    pub out: [&'a mut [f32]; 2],
}

struct TransportRow<'a> {
    shift: f32,
    stays: f32,
    /// Sediment above, here and below.
    rows: [&'a [f32]; 3],
    u: &'a [f32],
    v: &'a [f32],
    out: &'a mut [f32],
    water: &'a mut [f32],
    dried: &'a mut [f32],
}

impl RowKernel for TransportRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [above, here, below] = self.rows;
        let one = V::all(1.0);
        let (a, b) = (V::load(self.u, x) * V::all(self.shift), V::load(self.v, x) * V::all(self.shift));
        let (left, right, up, down) = (a.positive(), (-a).positive(), b.positive(), (-b).positive());
        let (middle_x, middle_y) = (one - (left + right), one - (up + down));
        // Nine weights of which four at most are not nought; summed so that a turned map gives the same bits.
        let own = (middle_x * middle_y) * V::load(here, x + 1);
        let sides = ((left * middle_y) * V::load(here, x) + (right * middle_y) * V::load(here, x + 2))
            + ((middle_x * up) * V::load(above, x + 1) + (middle_x * down) * V::load(below, x + 1));
        let corners = ((left * up) * V::load(above, x) + (right * down) * V::load(below, x + 2))
            + ((right * up) * V::load(above, x + 2) + (left * down) * V::load(below, x));
        ((own + sides) + corners).store(self.out, x);
        let water = V::load(self.water, x);
        let stays = water * V::all(self.stays);
        (water - stays).store(self.dried, x);
        stays.store(self.water, x);
    }
}

impl Pass for Transport<'_> {
    /// What was lost of the sediment, and what evaporated, in metres times cells.
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Cells>(self) -> [f64; 2] {
        let width = self.border.width;
        let mut window = Window::new(self.border, self.rows.start);
        let mut dried = vec![0.0; width];
        let (mut lost, mut evaporated) = (0.0, 0.0);
        let [suspended, water] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.carried);
            let [above, here, below] = window.quantity(0).map(|row| &row[..width + 2]);
            let (u, v) = (&self.u[y * width..(y + 1) * width], &self.v[y * width..(y + 1) * width]);
            let out = &mut suspended[line * width..(line + 1) * width];
            let water = &mut water[line * width..(line + 1) * width];
            let (shift, stays) = (self.shift, self.stays);
            let rows = [above, here, below];
            over_row::<V>(width, TransportRow { shift, stays, rows, u, v, out, water, dried: &mut dried });
            lost += row_sum::<V>(&here[1..=width]) - row_sum::<V>(out);
            evaporated += row_sum::<V>(&dried);
        }
        [lost, evaporated]
    }
}
