//! Grid-based runoff after Musgrave, Kolb & Mace 1989: water flows to neighbours with a lower water surface and transports sediment.
//!
//! ```text
//! D = (w + a)ᵢ − (w + a)ⱼ > 0,  S = Σ D over the lower neighbours
//! W = min(wᵢ, Dmax)·D/S   as published;   W = D·min(1/(N + 1), wᵢ/S)   corrected
//! c = Kc·W;  s = sᵢ·D/S
//! s > c: c moves with the water, Kd·(s − c) settles;   else s + Ks·(c − s) moves and Ks·(c − s) is eroded
//! ```
//!
//! w is the depth of the water, a the height of the ground, W the water that flows from i to j, and s the sediment in it.
//!
//! All transfers are computed from the old state, so the result does not depend on the order of cells and mass is conserved. By moving
//! the full height difference, the published form turns a lake into a checkerboard; the corrected form moves at most what levels the cell
//! and its N neighbours.

mod explain;
mod flow;
mod law;
#[cfg(test)]
mod tests;

use bevy_reflect::Reflect;

use self::{flow::RunoffPass, law::Musgrave};
use super::{
    AnySetup, Context, Footprint, IdleReason, Info, Mode, Process, Reference, Setup, StepProgress,
    explain::Explanation, is_level, limiter::Limiter, stage::stages,
};
use crate::{
    core::{
        border::Border,
        terrain::{Layer, Terrain},
    },
    params::{choice, knob},
    process::masked::{MaskedCoefficients, factors},
    simd::{cells::with_vector_unit, strip::for_strips},
};

const G1: &str = "Musgrave et al. 1989; values chosen for this program";

/// Neighbourhood in which a cell exchanges water.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Neighbours {
    /// The four orthogonal neighbours.
    Four,
    /// The orthogonal and diagonal neighbours.
    #[default]
    Eight,
}

/// Parameters of runoff.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Form of the equations: corrected, with known errors fixed and mass conserved, or as published, errors included.
    #[reflect(@choice().source("Musgrave et al. 1989"))]
    pub mode: Mode,
    /// Number of neighbours with which a cell exchanges water.
    #[reflect(@choice().source("Musgrave et al. 1989"))]
    pub neighbours: Neighbours,
    /// Depth of rain on every cell per shower. High values flood the map; at low values the water evaporates on the way. In the
    /// corrected mode the value is for cells of 1 m and grows in proportion to the cell size, as does the simulated time per
    /// tick.
    #[reflect(@knob(0.0..=0.2).title("Rain depth").unit("m").source(G1).main())]
    pub rain: f32,
    /// Interval between showers. Short intervals keep the map wet; long ones let it dry.
    #[reflect(@knob(1.0..=200.0).title("Rain interval").unit("ticks").source(G1).log().main())]
    pub interval: u32,
    /// Fraction of the water that evaporates per tick. With high values water dries up before it leaves the slopes; at 0 it
    /// fills every depression.
    #[reflect(@knob(0.0..=0.5).source(G1).main())]
    pub evaporation: f32,
    /// Transport capacity per metre of flowing water. High values erode deeply; at 0 nothing is eroded.
    #[reflect(@knob(0.0..=2.0).title("Transport capacity").symbol("Kc").source(G1).main())]
    pub capacity: f32,
    /// Fraction of the excess sediment that settles per tick. High values deposit it immediately.
    #[reflect(@knob(0.0..=1.0).title("Settling fraction").symbol("Kd").source(G1).main())]
    pub deposition: f32,
    /// Fraction of the capacity deficit that is eroded per tick. High values erode where the flow increases.
    #[reflect(@knob(0.0..=1.0).title("Entrainment fraction").symbol("Ks").source(G1).main())]
    pub dissolution: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            neighbours: Neighbours::Eight,
            rain: 0.004,
            interval: 10,
            evaporation: 0.02,
            capacity: 0.5,
            deposition: 0.1,
            dissolution: 0.1,
        }
    }
}

factors!(rain, evaporation, capacity, deposition, dissolution);

/// Flow speed that sets the simulated time of a tick, in which water moves by one cell, in metres per second. The law itself has none.
const SPEED: f64 = 1.0;

stages! {
    /// Rain falls at the set interval.
    Rain = "rain",
    /// Every cell distributes water and sediment among its lower neighbours; sediment settles or is eroded, and water evaporates.
    Transfer = "transfer",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "runoff",
    title: "Runoff (1989)",
    about: "Rain runs off to lower neighbours and carries sediment along: the first grid-based method, an alternative to Water.",
    reference: Reference { source: "Musgrave, Kolb & Mace 1989", equations: &[include_str!("mod.rs")] },
    footprint: Footprint { per_cell: 8, per_cell_and_thread: 0 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness, Layer::Start, Layer::Rain],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended],
    moves_water: true,
    stages: Stage::ALL,
    limiters: &[Limiter {
        name: "erosion",
        about: "Cells whose erosion was reduced, so that none sinks below a neighbour that it drains to.",
    }],
};

/// The process: parameters and counts.
#[derive(Clone, Default)]
pub struct Runoff {
    setup: Setup<Params, Factors>,
}

impl Runoff {
    /// Returns the process with these parameters.
    pub fn with(params: Params) -> Self {
        Self { setup: Setup::with(params) }
    }
}

impl Process for Runoff {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn setup(&self) -> &dyn AnySetup {
        &self.setup
    }

    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.setup
    }

    fn idle_reason(&self, terrain: &Terrain) -> Option<IdleReason> {
        let level = is_level(terrain).then_some(IdleReason::LevelGround);
        if self.setup.params.rain > 0.0 { level } else { IdleReason::without_water(terrain, "rain").or(level) }
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        Some(explain::explain(self, terrain, place))
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> StepProgress {
        let terrain = &mut *context.terrain;
        let area = terrain.cell_area();
        let (width, height, border) = (terrain.width(), terrain.height(), Border::of(terrain));
        if Stage::at(stage) == Stage::Rain {
            if (context.tick - 1).is_multiple_of(u64::from(self.setup.params.interval.max(1))) {
                let before = terrain.water.total();
                let per_cell_size = match self.setup.params.mode {
                    Mode::Corrected => terrain.cell_size,
                    Mode::Published => 1.0,
                };
                let rain = self.setup.params.rain * per_cell_size;
                let masked = self.setup.masked_params(terrain, self.setup.params.mode);
                let more = masked.as_ref().map_or(0.0, |masked| masked.params.rain * per_cell_size - rain);
                for y in 0..height {
                    for x in 0..width {
                        let mask = masked.as_ref().map_or(0.0, |masked| masked.mask.at(x, y));
                        let share = terrain.rain.as_ref().map_or(1.0, |map| map.at(x, y));
                        terrain.water[y * width + x] += (rain + more * mask) * share;
                    }
                }
                context.ledger.water.row(INFO.key).inflow += (terrain.water.total() - before) * area;
            }
            return StepProgress::Done;
        }
        let masked = self.setup.masked_params(terrain, self.setup.params.mode);
        let masked = masked.as_ref();
        let (law, numbers) =
            (Musgrave::new(&self.setup.params), MaskedCoefficients::new(&self.setup.params, masked, law::numbers));
        let Terrain { bedrock, sand, water, suspended, softness, start, .. } = terrain;
        let (softness, start) = (&softness[..], &start[..]);
        let layers = [bedrock, sand, water, suspended].map(|layer| (&mut layer[..], width));
        let bands = for_strips(border, layers, RunoffPass::MARGIN, |strip| {
            with_vector_unit(RunoffPass { strip, start, softness, law, numbers })
        });
        for band in bands {
            let solid = context.ledger.solid.row(INFO.key);
            solid.eroded += band.dug * area;
            solid.deposited += band.settled * area;
            solid.moved += (band.dug + band.settled) * area;
            solid.outflow += band.solid_out * area;
            let water = context.ledger.water.row(INFO.key);
            water.evaporated += band.evaporated * area;
            water.outflow += band.water_out * area;
            self.setup.count_limits([band.spared]);
        }
        self.setup.counts.substeps += 1;
        self.setup.elapse(f64::from(context.terrain.cell_size) / SPEED);
        StepProgress::Done
    }
}
