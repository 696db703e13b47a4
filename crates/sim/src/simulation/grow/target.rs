//! Target of range growth, and the erodibility, diffusivity and critical slope that produce it.
//!
//! With uplift U, erodibility K, drainage area A and its exponent m, diffusivity D and hillslope length ℓ, steady rivers and
//! hillslopes are similar at every extent L and relief R if R·K/U, ℓ/L and the ratio of the critical slope to the slope of channel
//! heads are equal (Perron, Dietrich & Kirchner 2008, J. Geophys. Res. 113, F04016):
//!
//! ```text
//! R ∝ U/K      D = K·ℓ^(2m+1)      S_head = (U/(K·ℓ^(2m)))^(1/n)
//! ```

use std::ops::RangeInclusive;

use bevy_reflect::Reflect;

use crate::{
    core::terrain::Terrain,
    params::knob,
    process::fluvial::{CRITICAL_SLOPE, DIFFUSIVITY, ERODIBILITY, Params, YEARS_PER_TICK},
};

const THIS_WORK: &str = "this work";

/// Relief of real ranges: this fraction of a short extent, and at most that of the highest on Earth, in metres.
const STEEPNESS: f64 = 0.2;
const HIGHEST: f64 = 5000.0;

/// Hillslope length at a ruggedness of 0.5: a fraction of the extent, and at least a number of cells. From 0.5 to 0 it grows by
/// [`SOFTER`].
const HILLSIDE: f64 = 1.0 / 600.0;
const HILLSIDE_CELLS: f64 = 1.2;
const SOFTER: f64 = 3.0;
/// Minimum hillslope length in cells at any ruggedness: shorter ones would be noise.
const SHORTEST: f64 = 0.7;
/// Ratio of the critical slope to the slope at which channel heads keep pace with the uplift.
const STABILITY: f64 = 0.75;

/// Time for a change at an outlet to reach the divides, in ticks.
const TICKS_OF_A_RESPONSE: f64 = 40.0;
/// Ratio of the relief of a mature range to that of its longest river by the law alone, for a first estimate of the erodibility.
const BRANCHING: f64 = 4.5;

/// Parameters of a range to grow.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct RangeParams {
    /// Height of the range from its lowest outlet to its highest peak. At 0 it is as high as real ranges of its extent. It
    /// determines the erodibility of the rock.
    #[reflect(@knob(0.0..=9000.0).unit("m").symbol("R").source(THIS_WORK).main().indirect())]
    pub relief: f32,
    /// Density of valleys. Low values leave long, rounded hillslopes; high values dissect every slope. It determines the
    /// hillslope diffusivity.
    #[reflect(@knob(0.0..=1.0).source("Perron et al. 2008; values chosen for this program").main().indirect())]
    pub ruggedness: f32,
    /// Age relative to the response time, in which erosion comes to balance uplift. Below 1 the range still rises, and the
    /// upland between its valleys is not yet dissected; above 1 uplift has ceased, and the valleys have widened.
    #[reflect(@knob(0.1..=3.0).source("Davis 1899; values chosen for this program").log().main().indirect())]
    pub age: f32,
}

impl Default for RangeParams {
    fn default() -> Self {
        Self { relief: 0.0, ruggedness: 0.5, age: 1.0 }
    }
}

/// Returns the relief of real ranges of an extent, both in metres.
pub fn typical_relief(extent: f64) -> f64 {
    STEEPNESS * extent / (1.0 + STEEPNESS * extent / HIGHEST)
}

/// Returns the side of a square with the area of the rising part of a terrain, weighted by its uplift, in metres; at most the
/// terrain's shorter side.
pub fn rising_extent(terrain: &Terrain) -> f64 {
    let cell_size = f64::from(terrain.cell_size);
    let shorter = terrain.width().min(terrain.height()) as f64 * cell_size;
    let rising = terrain.uplift.as_ref().map_or(terrain.bedrock.len() as f64, |uplift| {
        let most = f64::from(uplift.min_max().1);
        if most > 0.0 { uplift.total() / most } else { 0.0 }
    });
    shorter.min(rising.sqrt() * cell_size)
}

/// Returns the parameters with which uplift and rivers balance at about the relief of `range` on a terrain.
pub(super) fn tuned(terrain: &Terrain, params: &Params, range: &RangeParams) -> Params {
    let target = Target::of(terrain, params, range);
    target.law(params, target.guess(params), terrain.cell_size)
}

/// Target in lengths and rates.
pub(super) struct Target {
    /// Height above the outlets, in metres.
    pub relief: f64,
    /// See [`RangeParams::age`].
    pub age: f64,
    /// Extent of the rising area, in metres.
    extent: f64,
    /// Factor of the hillslope length.
    softer: f64,
    /// Maximum uplift rate, in metres per year.
    pub uplift: f64,
}

impl Target {
    pub fn of(terrain: &Terrain, params: &Params, range: &RangeParams) -> Self {
        let extent = rising_extent(terrain).max(f64::from(terrain.cell_size));
        let RangeParams { relief, ruggedness, age } = range;
        let softer = libm::pow(SOFTER, 1.0 - 2.0 * f64::from(*ruggedness));
        let fastest = terrain.uplift.as_ref().map_or(1.0, |uplift| uplift.min_max().1);
        Self {
            relief: if *relief > 0.0 { f64::from(*relief) } else { typical_relief(extent) },
            age: f64::from(*age),
            extent,
            softer,
            uplift: f64::from(params.uplift_rate * fastest),
        }
    }

    /// Returns a first estimate of the erodibility.
    pub fn guess(&self, params: &Params) -> f64 {
        let (m, n) = (f64::from(params.area_exponent), f64::from(params.effective_slope_exponent()));
        let along = BRANCHING * libm::pow(0.5 * self.extent, 1.0 - 2.0 * m / n) / (1.2 - m / n).abs().max(0.2);
        let deposition = 1.0 + f64::from(params.deposition);
        deposition * self.uplift * libm::pow(along / self.relief, n)
    }

    /// Returns the parameters of uplift and rivers for the target, at this erodibility and this cell size in metres.
    pub fn law(&self, params: &Params, erodibility: f64, cell_size: f32) -> Params {
        let (m, n) = (f64::from(params.area_exponent), f64::from(params.effective_slope_exponent()));
        let cell_size = f64::from(cell_size);
        let hillside = self.softer * (HILLSIDE * self.extent).max(HILLSIDE_CELLS * cell_size);
        let hillside = hillside.max(SHORTEST * cell_size);
        let head = libm::pow(self.uplift / (erodibility * libm::pow(hillside, 2.0 * m)), 1.0 / n);
        let length = 0.5 * self.extent;
        let response = length / (erodibility * libm::pow(length, 2.0 * m)) / (1.2 - m);
        let within = |value: f64, range: RangeInclusive<f64>| value.clamp(*range.start(), *range.end()) as f32;
        Params {
            erodibility: within(erodibility, ERODIBILITY),
            diffusivity: within(erodibility * libm::pow(hillside, 2.0 * m + 1.0), DIFFUSIVITY),
            critical_slope: within((STABILITY * head).max(params.critical_slope.into()), CRITICAL_SLOPE),
            years_per_tick: within(response / TICKS_OF_A_RESPONSE, YEARS_PER_TICK),
            ..params.clone()
        }
    }

    /// Returns the erodibility of a range that is `factor` times as high.
    pub fn scaled(params: &Params, erodibility: f64, factor: f64) -> f64 {
        erodibility / libm::pow(factor, params.effective_slope_exponent().into())
    }
}
