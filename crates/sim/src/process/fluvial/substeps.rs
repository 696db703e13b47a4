//! Substeps of long ticks.
//!
//! A substep is at most a seventh of the response time of the terrain, or as long as a default tick where that is longer. The response time
//! is the shorter one of two, both in years: that in which a change at the border reaches the divides, at the celerity Kd·A^m of
//! knickpoints and with A ∝ x² (Whipple & Tucker 1999), and that in which the terrain rises to the critical slope.
//!
//! ```text
//! δt ≤ max(δt₀, min(τ, τc)/7),     τ = ℓ^(1 − 2m)/((1.2 − m)·Kd),     τc = Sc·ℓ/U
//! ```
//!
//! ℓ is half the extent of the map, U the uplift rate, Sc the critical slope and δt₀ the default tick. The fitted factor 1.2 − m replaces
//! 1 − 2m, which vanishes at m = 0.5; the slope exponent and softness are neglected. In longer steps, rivers would incise
//! along the courses that they had before the uplift, and the ground beside them would fail as a whole.

use super::{CellCoefficients, Params};
use crate::core::terrain::Terrain;

/// Minimum number of substeps in the response time.
const PER_RESPONSE: f64 = 7.0;

/// Substeps of a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Substeps {
    pub count: usize,
    /// Length of one, in years.
    pub years: f64,
}

impl Substeps {
    /// Returns the substeps for a terrain whose fastest response has these coefficients.
    pub fn of(params: &Params, terrain: &Terrain, fastest: CellCoefficients) -> Self {
        let whole = f64::from(params.years_per_tick);
        // A side that is one cell long does not count.
        let sides = [terrain.width(), terrain.height()].into_iter().filter(|&side| side > 1);
        let length = 0.5 * sides.min().unwrap_or(1) as f64 * f64::from(terrain.cell_size);
        let exponent = f64::from(params.area_exponent);
        let of_rivers = libm::pow(length, 1.0 - 2.0 * exponent) / ((1.2 - exponent) * fastest.erodibility);
        let of_slopes = fastest.critical_slope * length / fastest.uplift_rate;
        let longest = (of_rivers.min(of_slopes) / PER_RESPONSE).max(Params::default().years_per_tick.into());
        let count = (whole / longest).ceil().max(1.0);
        Self { count: count as usize, years: whole / count }
    }
}
