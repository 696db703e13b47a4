//! Parameters of the water process.

use bevy_reflect::Reflect;

use crate::{
    params::{DisplayAlias, choice, knob},
    process::{Mode, masked::factors},
};

const P1: &str = "Jákó & Tóth 2011, table 2";

/// Formula of the transport capacity in the published mode.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capacity {
    /// Proportional to the sine of the slope of the ground (eqs 9 and 10).
    Tilt,
    /// Proportional to −N·V, the component of the flow direction into the ground (eq. 11).
    #[default]
    Collision,
}

/// Parameters of the water process.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Form of the equations: corrected, with known errors fixed and mass conserved, or as published, errors included.
    #[reflect(@choice().source("Jákó & Tóth 2011"))]
    pub mode: Mode,
    /// Simulated time per tick. In the corrected mode the value is for a terrain 256 m wide and grows in proportion to the width, whatever
    /// the number of cells. Long ticks are split into substeps, unless Stable substeps is off; at 0 the water does not move.
    #[reflect(@knob(0.0..=0.05).title("Time step").unit("s").symbol("Δt").source(P1))]
    pub dt: f32,
    /// Split ticks that exceed the stability limit into stable substeps. When off, each tick is a single step, as published: beyond the limit
    /// the water oscillates from cell to cell.
    #[reflect(@choice().title("Stable substeps").source("Jákó & Tóth 2011, table 2").indirect().only("mode=published"))]
    pub substeps: bool,
    /// Rain on every cell. High values flood the map; low values leave only the springs.
    #[reflect(@knob(0.0..=0.05).unit("m/s").symbol("Kr").source(P1).main().reads(DisplayAlias::Rain))]
    pub rain_rate: f32,
    /// Fraction of the water that evaporates per second. High values keep only the largest rivers wet; at 0 every depression fills.
    #[reflect(@knob(0.0..=0.05).unit("1/s").symbol("Ke").source(P1).main())]
    pub evaporation_rate: f32,
    /// Manning roughness of the bed in the corrected mode. High values make slow, deep rivers; at 0 water accelerates without
    /// limit and never erodes.
    #[reflect(@knob(0.0..=0.2).title("Manning's n").unit("s/m^⅓").symbol("n").source("Manning; Bates et al. 2010").main().only("mode=default"))]
    pub roughness: f32,
    /// Cross-sectional area of the pipes, as published. Wide pipes level the water faster and require shorter steps.
    #[reflect(@knob(0.1..=60.0).unit("m²").symbol("A").source(P1).log().only("mode=published"))]
    pub pipe_area: f32,
    /// Gravitational acceleration. High values make the water faster and require shorter steps.
    #[reflect(@knob(0.1..=20.0).unit("m/s²").symbol("g").source(P1))]
    pub gravity: f32,
    /// Coefficient of the transport capacity, which grows with velocity and slope: a fraction of the water or, as published, a depth in
    /// metres. High values cut deep and build thick fans; low values barely change the ground.
    #[reflect(@knob(0.1..=3.0).title("Transport capacity").unit("s").symbol("Kc").source(P1).log().main())]
    pub sediment_capacity: f32,
    /// Entrainment rate of water below its transport capacity. High values cut where the flow steepens; low values erode further
    /// downstream.
    #[reflect(@knob(0.1..=2.0).title("Entrainment rate").unit("1/s").symbol("Ks").source(P1).log().main())]
    pub suspension_rate: f32,
    /// Rate at which excess sediment settles. High values deposit it as soon as the water slows; low values carry it far.
    #[reflect(@knob(0.1..=3.0).unit("1/s").symbol("Kd").source(P1).log().main())]
    pub deposition_rate: f32,
    /// Morphological acceleration: factor by which erosion and deposition are multiplied in each step of the flow. High values
    /// shape terrain within seconds; at 1 bed and flow evolve on the same time scale.
    #[reflect(@knob(1.0..=1000.0).title("Morphological factor").unit("×").symbol("M").source("Roelvink 2006").log().main().only("mode=default"))]
    pub acceleration: f32,
    /// Rate at which deposits soften the ground, as published; in the corrected mode deposits stay loose sand. High values make rivers
    /// rework their beds.
    #[reflect(@knob(0.0..=10.0).unit("1/s").symbol("Kh").source(P1).only("mode=published"))]
    pub softening_rate: f32,
    /// Water depth beyond which the bed is not eroded. Low values keep lake floors smooth; at 0 nothing is eroded.
    #[reflect(@knob(0.0..=40.0).title("Max. erosion depth").unit("m").symbol("Kdmax").source(P1).only("depth_limit=true"))]
    pub max_erosion_depth: f32,
    /// Limit erosion to water shallower than Max. erosion depth. When off, rivers cut as deep as they can.
    #[reflect(@choice().title("Limit erosion depth").source("Jákó & Tóth 2011, eq. 10 and figure 9"))]
    pub depth_limit: bool,
    /// Lower limit of the sine of the slope in the transport capacity, as published. The corrected mode uses the energy slope of
    /// the flow. High values erode plains; at 0 flat ground is not eroded.
    #[reflect(@knob(0.0..=0.5).title("Minimum tilt").symbol("sin α").source("Jákó & Tóth 2011; value chosen for this program").only("mode=published"))]
    pub least_tilt: f32,
    /// Formula of the transport capacity, as published. The corrected mode uses the energy slope of the flow.
    #[reflect(@choice().title("Capacity formula").source("Jákó & Tóth 2011, eqs 9–11").only("mode=published"))]
    pub capacity: Capacity,
    /// Raise the water surface by the volume of the entrained sediment, as published. When off, ripples grow on the bed.
    #[reflect(@choice().source("Jákó & Tóth 2011, eqs 12c, 13c and figure 8").only("mode=published"))]
    pub displacement: bool,
    /// Start with rivers and lakes in steady state with rain and springs. When off, the terrain starts dry. Has no effect on a
    /// map that no water can leave.
    #[reflect(@choice().title("Start filled").source("this work; Manning"))]
    pub filled: bool,
    /// Level of the sea around a map with open edges. Low values leave the map without a sea; high values flood it.
    #[reflect(@knob(-1000.0..=9000.0).unit("m").source("this work").indirect().main())]
    pub sea_level: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            dt: 0.02,
            substeps: true,
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
    /// Returns `false` if the depth limit rules out erosion at any depth.
    pub(super) fn erodes(&self) -> bool {
        self.max_erosion_depth > 0.0 || !self.depth_limit
    }

    /// Returns the morphological acceleration of the mode, which is 1 in the published mode.
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
