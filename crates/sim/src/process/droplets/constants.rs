//! Constants of the corrected laws "mass transfer" and "capacity", from the parameters and the terrain.

use super::{DropletLaw, Params};
use crate::core::terrain::Terrain;

/// Time step to which the published capacity refers.
const PUBLISHED_DT: f32 = 1.2;
/// Time without lower ground after which a droplet counts as trapped in a depression.
const PATIENCE: f32 = 20.0;

/// Constants of a law on a terrain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    /// `true` if the capacity depends on the fall, not on speed alone.
    pub(super) falls: bool,
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
    /// Slope above which banks may fail.
    pub(super) steep: f32,
}

impl Constants {
    pub(super) fn new(params: &Params, terrain: &Terrain) -> Self {
        // A fraction lost per step as a rate per step: −ln(1 − K), to within a few percent.
        let rate = |share: f32| share / (1.0 - 0.5 * share);
        let falls = params.law != DropletLaw::Capacity;
        let mut law = if falls {
            Self {
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
            }
        } else {
            Self {
                dt: 1.0,
                acceleration: params.acceleration,
                friction: rate(params.drag),
                capacity: params.capacity * 0.01 * params.length,
                lifting: rate(params.suspension),
                settling: rate(params.settling),
                evaporation: params.evaporation,
                patience: PATIENCE,
                ..Self::EMPTY
            }
        };
        law.falls = falls;
        law.cells = params.length / terrain.cell_size;
        law.steep = params.bank_slopes().sand;
        law.steepness = 1.0 / terrain.cell_size;
        law.most_steps = 4 * (terrain.width() + terrain.height()) as u32;
        law
    }

    const EMPTY: Self = Self {
        falls: true,
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
        steep: 0.0,
    };
}
