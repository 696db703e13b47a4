//! What there is to tune on the water.

use bevy_reflect::Reflect;

use crate::{
    params::{Reading, choice, knob},
    process::{Mode, masked::factors},
};

const P1: &str = "Jákó & Tóth 2011, table 2";

/// How much sediment flowing water can carry, as published.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capacity {
    /// In proportion to the tilt of the ground (eqs 9 and 10).
    Tilt,
    /// In proportion to how squarely the flow meets the ground (eq. 11).
    #[default]
    Collision,
}

/// Parameters of the water.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Corrected, with known faults removed and mass conserved, or as the paper prints it, faults included.
    #[reflect(@choice().source("Jákó & Tóth 2011"))]
    pub mode: Mode,
    /// Time that a tick covers. In the corrected mode the value is for land 256 m wide; on wider land a tick covers more time, in
    /// proportion, however many cells there are. Long ticks take several steps; at 0 the water stands still.
    #[reflect(@knob(0.0..=0.05).unit("s").symbol("Δt").source(P1))]
    pub dt: f32,
    /// Water that falls on every cell. Much floods the map; little leaves only the springs.
    #[reflect(@knob(0.0..=0.05).unit("m/s").symbol("Kr").source(P1).main().reads(Reading::Rain))]
    pub rain_rate: f32,
    /// Share of the water lost per second. High keeps only the largest rivers wet; at 0 every hollow fills.
    #[reflect(@knob(0.0..=0.05).unit("1/s").symbol("Ke").source(P1).main())]
    pub evaporation_rate: f32,
    /// Roughness of the bed in the corrected mode. High makes slow, deep rivers; at 0 water runs ever faster and takes up nothing.
    #[reflect(@knob(0.0..=0.2).unit("s/m^⅓").symbol("n").source("Manning; Bates et al. 2010").main().only("mode=default"))]
    pub roughness: f32,
    /// Cross-section of the pipes as published. Wide pipes level the water sooner and need shorter steps.
    #[reflect(@knob(0.1..=60.0).unit("m²").symbol("A").source(P1).log().only("mode=published"))]
    pub pipe_area: f32,
    /// Gravity. Strong gravity makes fast water and short steps.
    #[reflect(@knob(0.1..=20.0).unit("m/s²").symbol("g").source(P1))]
    pub gravity: f32,
    /// Sediment that water of one metre per second can carry down a slope of one: as a share of the water, or, as published, in
    /// metres. High cuts deep and lays thick fans; low leaves the ground be.
    #[reflect(@knob(0.1..=3.0).unit("s").symbol("Kc").source(P1).log().main())]
    pub sediment_capacity: f32,
    /// How fast water takes up ground. High cuts where it is steepest; low spreads the work downstream.
    #[reflect(@knob(0.1..=2.0).unit("1/s").symbol("Ks").source(P1).log().main())]
    pub suspension_rate: f32,
    /// How fast sediment settles. High drops it at once where water slows; low carries it far.
    #[reflect(@knob(0.1..=3.0).unit("1/s").symbol("Kd").source(P1).log().main())]
    pub deposition_rate: f32,
    /// Morphological acceleration: factor by which erosion and deposition are multiplied in each step of the flow. High values shape
    /// terrain within seconds; at 1 the bed and the flow share one clock.
    #[reflect(@knob(1.0..=1000.0).unit("×").symbol("M").source("Roelvink 2006").log().main().only("mode=default"))]
    pub acceleration: f32,
    /// How fast deposits soften the ground, as published; in the corrected mode deposits stay loose sand. High makes rivers rework
    /// their beds.
    #[reflect(@knob(0.0..=10.0).unit("1/s").symbol("Kh").source(P1).only("mode=published"))]
    pub softening_rate: f32,
    /// Depth from which on water leaves its bed alone. Small keeps lake floors smooth; at 0 nothing is eroded.
    #[reflect(@knob(0.0..=40.0).unit("m").symbol("Kdmax").source(P1).only("depth_limit=true"))]
    pub max_erosion_depth: f32,
    /// Whether water deeper than the max erosion depth leaves its bed alone. Without it rivers dig as deep as they can.
    #[reflect(@choice().source("Jákó & Tóth 2011, eq. 10 and figure 9"))]
    pub depth_limit: bool,
    /// Smallest tilt, as a sine, with which flat ground counts, as published. The corrected mode goes by the slope down which the flow
    /// spends its energy. High erodes plains; at 0 flat ground is safe.
    #[reflect(@knob(0.0..=0.5).symbol("sin α").source("Jákó & Tóth 2011; the value is ours").only("mode=published"))]
    pub least_tilt: f32,
    /// What makes the capacity, as published. The corrected mode goes by the energy that the flow spends.
    #[reflect(@choice().source("Jákó & Tóth 2011, eqs 9–11").only("mode=published"))]
    pub capacity: Capacity,
    /// Whether sediment that goes into the water raises its surface, as published. Without it ripples grow on the bed.
    #[reflect(@choice().source("Jákó & Tóth 2011, eqs 12c, 13c and figure 8").only("mode=published"))]
    pub displacement: bool,
    /// Whether rivers and lakes are full when the water begins to flow, as rain and springs keep them in the long run. Without it land
    /// is dry at first. A map that no water can leave begins as it is.
    #[reflect(@choice().source("ours; Manning"))]
    pub filled: bool,
    /// Height of a sea around a map with open edges. Low, there is none; high, it floods the map.
    #[reflect(@knob(-1000.0..=9000.0).unit("m").source("ours").indirect())]
    pub sea_level: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            dt: 0.02,
            rain_rate: 0.0005,
            evaporation_rate: 0.0002,
            roughness: 0.04,
            pipe_area: 20.0,
            gravity: 9.81,
            sediment_capacity: 1.0,
            suspension_rate: 0.5,
            deposition_rate: 1.0,
            acceleration: 250.0,
            softening_rate: 5.0,
            max_erosion_depth: 10.0,
            depth_limit: true,
            least_tilt: 0.1,
            capacity: Capacity::Collision,
            displacement: true,
            filled: false,
            sea_level: -1000.0,
        }
    }
}

factors!(rain_rate, evaporation_rate, roughness, sediment_capacity, suspension_rate, deposition_rate);

impl Params {
    /// `false` if water of no depth erodes.
    pub(super) fn erodes(&self) -> bool {
        self.max_erosion_depth > 0.0 || !self.depth_limit
    }

    /// Returns the morphological acceleration of the mode, which is 1 as published.
    pub(super) fn bed_acceleration(&self) -> f32 {
        if self.mode == Mode::Corrected { self.acceleration } else { 1.0 }
    }

    /// Returns the fraction of the suspended layer that is part of the fluid.
    pub(super) fn suspended_fraction(&self) -> f32 {
        1.0 / self.bed_acceleration()
    }

    /// Returns the inverse of the depth limit of erosion, in 1/m; 0 without a limit.
    pub(super) fn per_depth(&self) -> f32 {
        if self.depth_limit && self.max_erosion_depth > 0.0 { 1.0 / self.max_erosion_depth } else { 0.0 }
    }
}
