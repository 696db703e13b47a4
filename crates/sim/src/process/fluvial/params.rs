//! Parameters of uplift and rivers.

use std::ops::RangeInclusive;

use bevy_reflect::Reflect;

use crate::{
    params::{choice, knob},
    process::{Mode, masked::factors},
};

const YUAN: &str = "Yuan et al. 2019; values chosen for this program";
const BRAUN: &str = "Braun & Willett 2013; values chosen for this program";

/// Range of the erodibility, in m^(1−2m)/yr; its order of magnitude depends on the area exponent m.
pub const ERODIBILITY: RangeInclusive<f64> = 1e-9..=1.0;
/// Range of the diffusivity, in m²/yr; high values represent hillslopes shorter than a cell.
pub const DIFFUSIVITY: RangeInclusive<f64> = 0.0..=100.0;
/// Range of the critical slope.
pub const CRITICAL_SLOPE: RangeInclusive<f64> = 0.2..=5.0;
/// Range of the duration of a tick, in years.
pub const YEARS_PER_TICK: RangeInclusive<f64> = 1.0..=1e6;

/// Lowest value of the sea level, which stands for no sea.
pub(super) const NO_SEA: f64 = -12_000.0;

/// Returns the sea level in metres, or −∞ without a sea.
pub(super) fn sea(level: f64) -> f32 {
    if level > NO_SEA { level as f32 } else { f32::NEG_INFINITY }
}

/// Parameters of uplift and rivers.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Form of the equations: corrected, or as published, with plain D8 flow routing and the same erodibility for sand and all
    /// rock.
    #[reflect(@choice().source("Braun & Willett 2013"))]
    pub mode: Mode,
    /// Uplift rate where the uplift map is 1. High values build high, steep mountains; at 0 the terrain is only worn down.
    #[reflect(@knob(0.0..=1e-2).unit("m/yr").symbol("U").source(BRAUN).main())]
    pub uplift_rate: f32,
    /// Erodibility of rock of medium softness. High values keep the terrain low; low values let it steepen to the critical slope.
    /// Its unit depends on the area exponent, so values are only comparable for the same exponent.
    #[reflect(@knob(ERODIBILITY).unit("m^(1−2m)/yr").symbol("Kd").source(BRAUN).log().main())]
    pub erodibility: f32,
    /// Erodibility of sand relative to that of rock. High values remove deposits immediately; low values preserve them.
    #[reflect(@knob(1.0..=10.0).unit("×").source("this work").log().only("mode=default"))]
    pub sand_factor: f32,
    /// Deposition coefficient of river sediment. High values build wide fans and plains; at 0 all sediment leaves the map.
    #[reflect(@knob(0.0..=10.0).title("Deposition coefficient").symbol("G").source(YUAN).main())]
    pub deposition: f32,
    /// Exponent of the drainage area in the erosion law. High values give large rivers gentle gradients and headwaters steep
    /// ones.
    #[reflect(@knob(0.2..=0.8).symbol("m").source(BRAUN))]
    pub area_exponent: f32,
    /// Exponent of the slope in the erosion law. At 1 knickpoints travel upstream unchanged; higher values flatten their foot,
    /// lower values round off their lip. With deposition, it is always 1.
    #[reflect(@knob(0.5..=2.0).symbol("n").source(BRAUN).only("deposition=0"))]
    pub slope_exponent: f32,
    /// Hillslope diffusivity, the rate of soil creep. High values round off hills; at 0 ridges stay sharp.
    #[reflect(@knob(DIFFUSIVITY).unit("m²/yr").symbol("D").source(BRAUN).log().main())]
    pub diffusivity: f32,
    /// Slope above which hillslopes fail and supply sediment to the rivers. Low values keep mountains gentle.
    #[reflect(@knob(CRITICAL_SLOPE).symbol("Sc").source("Cordonnier et al. 2016; value chosen for this program").main())]
    pub critical_slope: f32,
    /// Sea level, at which rivers end. High values leave islands; at the lowest value there is no sea.
    #[reflect(@knob(NO_SEA..=9000.0).unit("m").source("this work").main())]
    pub sea_level: f32,
    /// Simulated time per tick. Long ticks reach a mature landscape sooner, in substeps as short as accuracy requires; short ones show
    /// how valleys grow.
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
    /// Returns the exponent of the slope in the law: with deposition, it is 1.
    pub fn effective_slope_exponent(&self) -> f32 {
        if self.deposition > 0.0 { 1.0 } else { self.slope_exponent }
    }

    /// Returns the sea level in metres, or −∞ without a sea.
    pub(super) fn sea(&self) -> f32 {
        sea(self.sea_level.into())
    }
}

factors!(uplift_rate, erodibility, deposition, critical_slope);
