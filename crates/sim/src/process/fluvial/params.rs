//! What there is to tune on uplift and rivers.

use std::ops::RangeInclusive;

use bevy_reflect::Reflect;

use crate::{
    params::{choice, knob},
    process::{Mode, masked::factors},
};

const YUAN: &str = "Yuan et al. 2019; the values are ours";
const BRAUN: &str = "Braun & Willett 2013; the values are ours";

/// Range of the erodibility, in m^(1−2m)/yr; its order of magnitude depends on the area exponent m.
pub const ERODIBILITY: RangeInclusive<f64> = 1e-9..=1.0;
/// Range of the diffusivity, in m²/yr; high values represent hillslopes shorter than a cell.
pub const DIFFUSIVITY: RangeInclusive<f64> = 0.0..=100.0;
/// Range of the critical slope.
pub const CRITICAL_SLOPE: RangeInclusive<f64> = 0.2..=5.0;
/// Range of the duration of a tick, in years.
pub const YEARS_PER_TICK: RangeInclusive<f64> = 1.0..=1e6;

/// The least level of the sea, at which there is none.
pub(super) const NO_SEA: f64 = -12_000.0;

/// Height of the sea in metres; without one, lower than any ground.
pub(super) fn sea(level: f64) -> f32 {
    if level > NO_SEA { level as f32 } else { f32::NEG_INFINITY }
}

/// Parameters of uplift and rivers.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Corrected, or as the papers print it: there water takes the steepest of eight ways, and all ground is one solid.
    #[reflect(@choice().source("Braun & Willett 2013"))]
    pub mode: Mode,
    /// How fast the land rises where its map of uplift is 1. High makes high, steep mountains; at 0 the land wears down.
    #[reflect(@knob(0.0..=1e-2).unit("m/yr").symbol("U").source(BRAUN).main())]
    pub uplift_rate: f32,
    /// How easily rivers cut rock of middle softness. High keeps the land low, low lets it grow to the critical slope. Its unit
    /// changes with the exponent of the area, so that a value means nothing without it.
    #[reflect(@knob(ERODIBILITY).unit("m^(1−2m)/yr").symbol("Kd").source(BRAUN).log().main())]
    pub erodibility: f32,
    /// How much more easily sand is cut than rock. High clears deposits away at once; low lets them stay.
    #[reflect(@knob(1.0..=10.0).unit("×").source("ours").log().only("mode=default"))]
    pub sand_factor: f32,
    /// How soon the rivers lay down what they carry. At 0 all of it leaves the map; high lays wide fans and plains.
    #[reflect(@knob(0.0..=10.0).symbol("G").source(YUAN).main())]
    pub deposition: f32,
    /// How strongly rivers cut deeper where more water passes. High makes large rivers flat and headwaters steep.
    #[reflect(@knob(0.2..=0.8).symbol("m").source(BRAUN))]
    pub area_exponent: f32,
    /// How strongly rivers cut deeper where they are steeper. High lets steps in a river's bed lie down, low lets them grow
    /// steeper as they travel. Where rivers lay down what they carry, it is 1.
    #[reflect(@knob(0.5..=2.0).symbol("n").source(BRAUN).only("deposition=0"))]
    pub slope_exponent: f32,
    /// How fast hillsides creep. High makes rounded hills, at 0 ridges stay sharp.
    #[reflect(@knob(DIFFUSIVITY).unit("m²/yr").symbol("D").source(BRAUN).log().main())]
    pub diffusivity: f32,
    /// Slope of hillsides above which they slide. What slides is the river's to carry. Low keeps mountains gentle.
    #[reflect(@knob(CRITICAL_SLOPE).symbol("Sc").source("Cordonnier et al. 2016; the value is ours").main())]
    pub critical_slope: f32,
    /// Height of the sea, into which rivers run. What lies lower is under water. High leaves islands; at the least value there is
    /// no sea.
    #[reflect(@knob(NO_SEA..=9000.0).unit("m").source("ours"))]
    pub sea_level: f32,
    /// Time that a tick covers. Long ticks reach mature land sooner; short ones show how valleys grow.
    #[reflect(@knob(YEARS_PER_TICK).unit("yr").symbol("δt").source(BRAUN).log().main())]
    pub years_per_tick: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            uplift_rate: 1e-3,
            erodibility: 2e-4,
            sand_factor: 2.0,
            deposition: 0.5,
            area_exponent: 0.4,
            slope_exponent: 1.0,
            diffusivity: 0.05,
            critical_slope: 0.7,
            sea_level: NO_SEA as f32,
            years_per_tick: 2500.0,
        }
    }
}

impl Params {
    /// Height of the sea in metres; without one, lower than any ground.
    pub(super) fn sea(&self) -> f32 {
        sea(self.sea_level.into())
    }
}

factors!(uplift_rate, erodibility, deposition, critical_slope);
