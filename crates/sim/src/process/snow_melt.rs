//! Snowmelt: meltwater of a snowpack distributed like the rain map, at the rate of a degree-day model (Hock 2003).
//!
//! ```text
//! ∂w/∂t = M·p      M melt rate, p rain map (1 without one), w depth of the water
//! ```

use bevy_reflect::Reflect;

use super::{AnySetup, Context, Info, Process, Reference, Setup, StepProgress};
use crate::{core::terrain::Layer, params::knob};

/// Parameters of snowmelt.
#[derive(Reflect, Clone, Debug)]
pub struct Params {
    /// Depth of meltwater per tick. High values swell the streams; at 0 no snow melts.
    #[reflect(@knob(0.0..=0.1).unit("m").symbol("M").source("Hock 2003").main())]
    pub melt: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self { melt: 0.002 }
    }
}

const INFO: Info = Info {
    key: "snow-melt",
    title: "Snowmelt",
    about: "Snow melts, and its meltwater feeds the flow.",
    reference: Reference { source: "Hock 2003", equations: &[include_str!("snow_melt.rs")] },
    reads: &[Layer::Rain],
    writes: &[Layer::Water],
    ..Info::BARE
};

/// The process.
#[derive(Clone, Default)]
pub struct SnowMelt(Setup<Params>);

impl Process for SnowMelt {
    fn info(&self) -> &'static Info {
        &INFO
    }
    fn setup(&self) -> &dyn AnySetup {
        &self.0
    }
    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.0
    }
    fn step(&mut self, _: usize, Context { terrain, ledger, .. }: &mut Context<'_>) -> StepProgress {
        let before = terrain.water_volume();
        for (cell, depth) in terrain.water.iter_mut().enumerate() {
            *depth += self.0.params.melt * terrain.rain.as_ref().map_or(1.0, |rain| rain[cell]);
        }
        ledger.water.row(INFO.key).inflow += terrain.water_volume() - before;
        StepProgress::Done
    }
}
