//! The numbers of the default form's laws, from the parameters and the terrain.

use super::{DropletLaw, Params};
use crate::sim::terrain::Terrain;

/// The time step to which the published capacity refers.
const PUBLISHED_DT: f32 = 1.2;
/// Side of the published map, in cells.
const PUBLISHED_SIDE: f32 = 256.0;
/// Time without lower ground after which a droplet counts as caught in a hollow.
const PATIENCE: f32 = 20.0;

/// The constants of a law on a terrain.
pub(super) struct Constants {
    pub(super) law: DropletLaw,
    pub(super) dt: f32,
    /// Cells per unit of length of the published map.
    pub(super) cells: f32,
    pub(super) steepness: f32,
    pub(super) acceleration: f32,
    pub(super) friction: f32,
    pub(super) capacity: f32,
    pub(super) lifting: f32,
    pub(super) settling: f32,
    pub(super) evaporation: f32,
    pub(super) min_volume: f32,
    pub(super) patience: f32,
    pub(super) most_steps: u32,
}

impl Constants {
    pub(super) fn new(params: &Params, terrain: &Terrain) -> Self {
        let side = terrain.width().min(terrain.height()) as f32;
        // A share lost per step as a rate per step: −ln(1 − K), to within a few percent.
        let rate = |share: f32| share / (1.0 - 0.5 * share);
        let mut law = match params.law {
            DropletLaw::MassTransfer => Self {
                dt: params.dt,
                acceleration: 1.0 / params.density,
                friction: params.friction,
                capacity: PUBLISHED_DT,
                lifting: params.deposition_rate,
                settling: params.deposition_rate,
                evaporation: params.evaporation_rate,
                min_volume: params.min_volume,
                patience: PATIENCE,
                ..Self::EMPTY
            },
            DropletLaw::Capacity => Self {
                dt: 1.0,
                acceleration: params.acceleration,
                friction: rate(params.drag),
                capacity: params.capacity * 0.01 * terrain.cell_size * side / PUBLISHED_SIDE,
                lifting: rate(params.suspension),
                settling: rate(params.settling),
                evaporation: params.evaporation,
                patience: PATIENCE,
                ..Self::EMPTY
            },
        };
        law.law = params.law;
        law.cells = side / PUBLISHED_SIDE;
        law.steepness = 1.0 / terrain.cell_size;
        law.most_steps = 4 * (terrain.width() + terrain.height()) as u32;
        law
    }

    const EMPTY: Self = Self {
        law: DropletLaw::MassTransfer,
        dt: 0.0,
        cells: 0.0,
        steepness: 0.0,
        acceleration: 0.0,
        friction: 0.0,
        capacity: 0.0,
        lifting: 0.0,
        settling: 0.0,
        evaporation: 0.0,
        min_volume: 0.0,
        patience: 0.0,
        most_steps: 0,
    };
}
