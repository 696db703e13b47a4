//! Wetness of the sand: a map in which water persists after it has run off.
//!
//! Standing water wets sand in proportion to its depth. Sand dries in proportion to its wetness.

use rayon::prelude::*;

use crate::core::{grid::Grid, terrain::Terrain};

/// Water content of saturated sand, in percent of the mass.
pub(super) const SATURATED: f32 = 20.0;
/// Depth of water that saturates the sand, in metres.
const SOAKS: f32 = 0.01;
/// Depth above which water shelters its bed and the wind blows over its surface, in metres.
pub(super) const SHELTERS: f32 = 0.03;

/// Returns e^(−x) for x ≥ 0 to within 1e-4, from plain arithmetic; 0 beyond 16.
pub(super) fn decay(x: f32) -> f32 {
    let part = x.min(16.0) * (1.0 / 32.0);
    let mut power = 1.0 - part * (1.0 - part * (0.5 - part * (1.0 / 6.0 - part * (1.0 / 24.0))));
    for _ in 0..5 {
        power *= power;
    }
    if x > 16.0 { 0.0 } else { power }
}

/// Wets sand under standing water and dries it elsewhere, over a tick of this many drying times.
pub(super) fn soak(wet: &mut Grid, terrain: &Terrain, times: f32) {
    let is_wet = |map: &Grid| map.par_iter().any(|&value| value > 0.0);
    if !is_wet(&terrain.water) && !is_wet(wet) {
        return;
    }
    let keeps = decay(times.min(5.0));
    wet.par_iter_mut().zip(terrain.water.par_iter()).for_each(|(wet, water)| {
        *wet = (*wet * keeps).max((water * (1.0 / SOAKS)).min(1.0));
        // Too little to have an effect.
        if *wet < 1e-4 {
            *wet = 0.0;
        }
    });
}

/// Returns the height of the surface under the wind: the ground, or deep water on it.
#[inline(always)]
pub(super) fn surface(terrain: &Terrain, cell: usize) -> f32 {
    let water = terrain.water[cell];
    terrain.bedrock[cell] + terrain.sand[cell] + if water > SHELTERS { water } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wetness_decay_approximates_exponential() {
        for step in 0..2000 {
            let x = step as f32 * 0.01;
            assert!((decay(x) - (-x).exp()).abs() < 1e-4, "{x}");
        }
    }
}
