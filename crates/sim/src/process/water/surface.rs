//! Ground and fluid surface of a strip, row by row, with the rain of a step.

use super::{OpenBoundary, StepRain, active::Active};
use crate::simd::{
    cells::{Cells, RowKernel},
    stencil::RowQuantities,
    strip::Strip,
};

/// Indices of the first layers of a strip of water.
pub(super) const BEDROCK: usize = 0;
pub(super) const SAND: usize = 1;
pub(super) const WATER: usize = 2;
pub(super) const SUSPENDED: usize = 3;

/// Ground and level that drive the flow, as [`RowQuantities`] [`GROUND`] and [`LEVEL`].
pub(super) struct WaterSurface<'a, 'layers, const LAYERS: usize> {
    pub strip: &'a Strip<'layers, LAYERS>,
    pub rain: StepRain<'a>,
    pub beyond: OpenBoundary<'a>,
    /// Fraction of the suspended layer that is part of the fluid: 0 for water alone.
    pub suspended_fraction: f32,
    /// Cells where fluid may flow; elsewhere ground and level are 0.
    pub active: &'a Active,
}

pub(super) const GROUND: usize = 0;
pub(super) const LEVEL: usize = 1;

impl<const LAYERS: usize> RowQuantities<2> for WaterSurface<'_, '_, LAYERS> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: isize, [ground, level]: [&mut [f32]; 2]) {
        let width = ground.len();
        // Rain that varies between cells is buffered in the row of the level.
        let uneven = self.rain.row(self.strip.border().on_map(y), level).row.is_some();
        let rain = (!uneven).then_some(self.rain.amount);
        let [bedrock, sand, water, suspended] =
            [BEDROCK, SAND, WATER, SUSPENDED].map(|layer| &self.strip.row(layer, y)[..width]);
        let fraction = self.suspended_fraction;
        let suspended = (fraction > 0.0).then_some(suspended);
        let (ground, level) = (&mut ground[..width], &mut level[..width]);
        let spans = self.active.spans(y);
        spans.clear_others(ground);
        spans.clear_others(level);
        spans.run::<V>(width, SurfaceRow { bedrock, sand, water, suspended, fraction, rain, ground, level });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        let (ground, depth) = self.beyond.at(index);
        [ground, ground + depth]
    }
}

struct SurfaceRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    water: &'a [f32],
    suspended: Option<&'a [f32]>,
    /// Fraction of the suspended layer that is part of the fluid.
    fraction: f32,
    /// Uniform rain of this step, or `None` if `level` holds the rain of each cell.
    rain: Option<f32>,
    ground: &'a mut [f32],
    level: &'a mut [f32],
}

impl RowKernel for SurfaceRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let ground = V::load(self.bedrock, x) + V::load(self.sand, x);
        let rain = self.rain.map_or_else(|| V::load(self.level, x), V::all);
        let mut fluid = V::load(self.water, x) + rain;
        if let Some(suspended) = self.suspended {
            fluid = fluid + V::load(suspended, x) * V::all(self.fraction);
        }
        ground.store(self.ground, x);
        (ground + fluid).store(self.level, x);
    }
}
