//! Eqs 2 to 5: fluxes that the surface drives through the pipes.

use crate::{
    process::water::RainRow,
    simd::{
        cells::{Cells, RowKernel},
        stencil::RowAccumulator,
    },
};

/// Eqs 2 to 5 for a row of cells.
pub(super) struct FlowRow<'a> {
    /// A·g·Δt/l.
    pub push: f32,
    /// l²/Δt.
    pub area_over_dt: f32,
    /// Surface here, to the left, right, above and below.
    pub levels: [&'a [f32]; 5],
    pub water: &'a [f32],
    pub rained: RainRow<'a>,
    pub flux: [&'a mut [f32]; 4],
    /// Number of cells whose outflow was limited.
    pub held: &'a mut RowAccumulator,
}

impl RowKernel for FlowRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (here, left, right, above, below) = (
            V::load(self.levels[0], x),
            V::load(self.levels[1], x),
            V::load(self.levels[2], x),
            V::load(self.levels[3], x),
            V::load(self.levels[4], x),
        );
        let push = V::all(self.push);
        let [to_left, to_right, to_above, to_below] = &mut self.flux;
        let go_left = (V::load(to_left, x) + push * (here - left)).positive();
        let go_right = (V::load(to_right, x) + push * (here - right)).positive();
        let go_above = (V::load(to_above, x) + push * (here - above)).positive();
        let go_below = (V::load(to_below, x) + push * (here - below)).positive();
        let out = (go_left + go_right) + (go_above + go_below);
        let there = (V::load(self.water, x) + self.rained.at::<V>(x)) * V::all(self.area_over_dt);
        let limit = out.if_above(there, there / out.max(V::all(f32::MIN_POSITIVE)), V::all(1.0));
        self.held.add(x, out.if_above(there, V::all(1.0), V::all(0.0)));
        (go_left * limit).store(to_left, x);
        (go_right * limit).store(to_right, x);
        (go_above * limit).store(to_above, x);
        (go_below * limit).store(to_below, x);
    }
}
