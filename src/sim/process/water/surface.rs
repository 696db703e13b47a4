//! Ground and surface of the fluid, row by row, with the rain of a step.

use super::{Params, Rain, beyond};
use crate::sim::{
    cells::{Cells, RowKernel, over_row},
    masked::Covered,
    stencil::Quantities,
    terrain::Terrain,
};

/// What drives the flow, as [`Quantities`] [`GROUND`] and [`LEVEL`].
pub(super) struct Surface<'a> {
    pub terrain: &'a Terrain,
    pub rain: Rain<'a>,
    sea_level: f32,
    /// Whether the fluid is water and sediment, or water alone.
    muddy: bool,
}

pub(super) const GROUND: usize = 0;
pub(super) const LEVEL: usize = 1;

impl<'a> Surface<'a> {
    /// The surface of the water alone, in a step of `dt` seconds.
    pub fn of_water(terrain: &'a Terrain, params: &Params, dt: f32) -> Self {
        Self { terrain, rain: Rain::new(terrain, params, None, dt), sea_level: params.sea_level, muddy: false }
    }

    /// That of water and sediment.
    pub fn of_fluid(terrain: &'a Terrain, params: &Params, covered: Option<&'a Covered<Params>>, dt: f32) -> Self {
        let rain = Rain::new(terrain, params, covered, dt);
        Self { rain, muddy: true, ..Self::of_water(terrain, params, dt) }
    }
}

impl Quantities<2> for Surface<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, level]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let Terrain { bedrock, sand, water, suspended, .. } = self.terrain;
        self.rain.fall(y, level);
        let suspended = self.muddy.then(|| &suspended[part.clone()]);
        let (bedrock, sand, water) = (&bedrock[part.clone()], &sand[part.clone()], &water[part]);
        over_row::<V>(width, SurfaceRow { bedrock, sand, water, suspended, ground, level });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        let (ground, depth) = beyond(self.terrain, self.sea_level, index);
        [ground, ground + depth]
    }
}

/// `level` holds the rain of this step before.
struct SurfaceRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    water: &'a [f32],
    suspended: Option<&'a [f32]>,
    ground: &'a mut [f32],
    level: &'a mut [f32],
}

impl RowKernel for SurfaceRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let ground = V::load(self.bedrock, x) + V::load(self.sand, x);
        let mut fluid = V::load(self.water, x) + V::load(self.level, x);
        if let Some(suspended) = self.suspended {
            fluid = fluid + V::load(suspended, x);
        }
        ground.store(self.ground, x);
        (ground + fluid).store(self.level, x);
    }
}
