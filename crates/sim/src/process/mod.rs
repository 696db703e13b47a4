//! The [`Process`] trait and the catalogue of all processes.
//!
//! To add a process, implement [`Process`] in a new file of this folder and list it in [`catalogue`]. A simulation can also run processes
//! that are not in the catalogue: see `examples/own_process.rs`.

#[cfg(test)]
mod borders;
#[cfg(test)]
mod conservation;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod coupling;
pub mod droplets;
pub mod explain;
pub mod fluvial;
#[cfg(test)]
mod interactions;
#[cfg(test)]
mod land;
#[cfg(test)]
mod limited;
pub mod limiter;
pub mod masked;
#[cfg(test)]
mod matrix;
pub mod runoff;
pub mod saved_state;
#[cfg(test)]
mod scaled;
mod setup;
#[cfg(test)]
mod snow_melt;
#[cfg(test)]
mod soundness;
mod stage;
pub mod thermal;
pub mod water;
pub mod wind;

use std::{borrow::Cow, time::Instant};

use bevy_reflect::{Reflect, structs::Struct};

use self::{
    explain::Explanation,
    limiter::{Limiter, LimiterCount},
    saved_state::NamedValues,
};
pub use self::{
    setup::{AnySetup, ProcessCounts, Setup},
    stage::{SINGLE_STAGE, StageInfo, StepProgress},
};
use crate::{
    core::{
        bounds::InvalidInput,
        grid::Grid,
        ledger::Ledger,
        quantity::Quantity,
        terrain::{Layer, Terrain},
    },
    params::{ChoiceName, REFERENCE_SIDE},
};

/// Returns all processes, in the order in which a tick runs them.
pub fn catalogue() -> Vec<Box<dyn Process>> {
    vec![
        Box::new(droplets::Droplets::default()),
        Box::new(runoff::Runoff::default()),
        Box::new(water::Water::default()),
        Box::new(thermal::Thermal::default()),
        Box::new(wind::Wind::default()),
        Box::new(fluvial::Fluvial::default()),
    ]
}

/// Form of a law: corrected or as published.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Known errors of the published form are corrected, and mass is conserved.
    #[default]
    #[reflect(@ChoiceName("default"))]
    Corrected,
    /// As published, errors included, for comparison.
    Published,
}

impl Mode {
    /// Returns the simulated time of a tick on a terrain, in seconds, for a time step parameter `dt`: `dt` itself in published mode. In
    /// corrected mode, `dt` refers to a terrain 256 m wide and scales with the width (the shorter side), independently of the resolution.
    pub fn seconds(self, dt: f32, terrain: &Terrain) -> f32 {
        match self {
            Self::Corrected => {
                dt * terrain.width().min(terrain.height()) as f32 * terrain.cell_size / REFERENCE_SIDE as f32
            }
            Self::Published => dt,
        }
    }
}

/// Declaration of a process.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in scripts, scene files and the ledger.
    pub key: &'static str,
    /// Name shown to the user.
    pub title: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Source of its law.
    pub reference: Reference,
    /// Memory use.
    pub footprint: Footprint,
    /// Layers it reads.
    pub reads: &'static [Layer],
    /// Layers it modifies; all others stay unchanged.
    pub writes: &'static [Layer],
    /// `true` if it routes water. Such processes are alternatives: a simulation runs at most one of them.
    pub moves_water: bool,
    /// Stages of its step, in order.
    pub stages: &'static [StageInfo],
    /// Limiters of its scheme.
    pub limiters: &'static [Limiter],
}

/// Source of a law.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Paper or article.
    pub source: &'static str,
    /// Source files whose module documentation states the equations. The reference page is generated from them.
    pub equations: &'static [&'static str],
}

/// Memory use of an enabled process under its most demanding law and mode, measured by `tests/memory.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Bytes per cell.
    pub per_cell: usize,
    /// Bytes per cell and thread.
    pub per_cell_and_thread: usize,
}

impl Footprint {
    /// Returns the bytes per cell for this number of threads.
    pub fn bytes_per_cell(self, threads: usize) -> usize {
        self.per_cell + threads * self.per_cell_and_thread
    }
}

impl Info {
    /// Returns `true` if this process and `other` are alternatives: enabling one disables the other.
    pub fn replaces(&self, other: &Self) -> bool {
        self.moves_water && other.moves_water && self.key != other.key
    }

    /// Blank declaration of a process with one stage.
    pub const BARE: Self = Self {
        key: "",
        title: "",
        about: "",
        reference: Reference { source: "", equations: &[] },
        footprint: Footprint { per_cell: 0, per_cell_and_thread: 0 },
        reads: &[],
        writes: &[],
        moves_water: false,
        stages: SINGLE_STAGE,
        limiters: &[],
    };
}

/// Inputs and outputs of a step.
pub struct Context<'a> {
    /// The shared terrain.
    pub terrain: &'a mut Terrain,
    /// Ledger in which every transfer is recorded, under the key of the process.
    pub ledger: &'a mut Ledger,
    /// Seed of the simulation.
    pub seed: u64,
    /// Number of the tick, starting at 1.
    pub tick: u64,
    /// `true` if particles are displayed: only then must they leave tracks.
    pub watched: bool,
    /// `true` if the simulation pauses between stages to display them: only then must a stage write results that a later one recomputes.
    pub stepwise: bool,
    /// `true` if a process that routes water is enabled: only then does water released by other processes flow on.
    pub water_flows: bool,
    /// Simulated time of this tick, in seconds, once a process with a clock has set it.
    pub elapsed: &'a mut Option<f64>,
    /// Deadline of the next frame, if one is due: a step that would exceed it should pause where it can.
    pub deadline: Option<Instant>,
}

/// Vector field that a process can display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorMap {
    /// Velocity of the water, in metres per second.
    Velocity,
    /// Discharge of the droplets times their flow direction, as contributing area in square metres.
    Momentum,
}

/// Reason why a process has no effect on a terrain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IdleReason {
    /// There is no sand.
    NoSand,
    /// The sand sheet is too thin for dunes at this cell size.
    ThinSand {
        /// Required thickness of the sheet, in metres.
        needed: f32,
    },
    /// The ground is level, so no water flows.
    LevelGround,
    /// No slope was steep enough to fail in the last tick.
    StableSlopes,
    /// There are no water, rain or springs.
    NoWater {
        /// Name of the process parameter that sets the rain.
        rain: &'static str,
    },
}

impl IdleReason {
    /// Returns [`Self::NoWater`] if a terrain has neither water nor springs. `rain` is the name of the rain parameter.
    fn without_water(terrain: &Terrain, rain: &'static str) -> Option<Self> {
        let has_springs = terrain.sources.iter().any(|source| source.rate > 0.0);
        (!has_springs && is_empty(&terrain.water)).then_some(Self::NoWater { rain })
    }
}

/// Returns `true` if no cell of a layer exceeds 0.
fn is_empty(layer: &Grid) -> bool {
    !any_above(layer, 0.0)
}

/// Returns `true` if any cell of a layer exceeds a bound.
fn any_above(layer: &Grid, bound: f32) -> bool {
    layer.chunks(4096).any(|cells| cells.iter().fold(false, |any, &cell| any | (cell > bound)))
}

/// Returns `true` if the ground has the same height everywhere.
fn is_level(terrain: &Terrain) -> bool {
    let height = |cell: usize| terrain.bedrock[cell] + terrain.sand[cell];
    (1..terrain.bedrock.len()).all(|cell| height(cell) == height(0))
}

/// A process that shapes the terrain.
///
/// A tick runs every stage in turn, each until it returns [`StepProgress::Done`]. Parallel work runs in the current rayon pool; results are
/// bit-identical for any number of threads.
pub trait Process: Duplicate + Send + Sync {
    /// Returns its declaration.
    fn info(&self) -> &'static Info;

    /// Returns the parameters, mask factors and counts.
    fn setup(&self) -> &dyn AnySetup;

    /// Returns the parameters, mask factors and counts mutably. They may change between ticks.
    fn setup_mut(&mut self) -> &mut dyn AnySetup;

    /// Runs or resumes a stage of the current tick, given by its index in [`Info::stages`].
    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> StepProgress;

    /// Returns the largest stable time step on this terrain, in the unit of the parameter `dt`; infinite for an unconditionally stable
    /// scheme.
    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        f32::INFINITY
    }

    /// Returns the reason why the process has no effect on this terrain, or `None` if it has one.
    fn idle_reason(&self, _: &Terrain) -> Option<IdleReason> {
        None
    }

    /// Returns the state that the next tick depends on in addition to parameters and layers. Creates it if there is none for this terrain.
    fn state_values(&mut self, _: &Terrain) -> NamedValues<'_> {
        self.setup_mut().counts_mut().state_values()
    }

    /// Returns the map of a quantity, in its unit, if the process stores or can compute it.
    fn map(&self, _: Quantity, _: &Terrain) -> Option<Cow<'_, Grid>> {
        None
    }

    /// Returns the components of a vector field in x and y, if the process has it.
    fn vector_map(&self, _: VectorMap, _: &Terrain) -> Option<[Grid; 2]> {
        None
    }

    /// Returns its equation evaluated in a cell (column and row), if its law has an equation for a cell.
    fn explain(&self, _: &Terrain, _cell: [usize; 2]) -> Option<Explanation> {
        None
    }

    /// Returns its optional capabilities.
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }
}

/// Optional capabilities of a process.
#[derive(Default)]
pub struct Capabilities<'a> {
    /// Particles that leave tracks.
    pub particles: Option<&'a dyn Particles>,
    /// Water that has a steady state.
    pub steady: Option<&'a dyn SteadyWater>,
    /// Mean wind.
    pub weather: Option<wind::Weather>,
    /// Simulated time in years, if its clock counts years.
    pub years: Option<f64>,
    /// Morphological acceleration, if it has one: the load of the water is the suspended layer divided by it.
    pub acceleration: Option<f32>,
}

/// Particles of a process.
pub trait Particles {
    /// Returns the tracks of a sample of particles in the last tick, if they are watched.
    fn tracks(&self) -> &[Track];

    /// Returns the trajectory, step by step, of a particle released at `place`, in cells, inside the map in the tick of the seed and number
    /// `when`; `None` if the current law has no particles. The terrain is not modified.
    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<ParticleState>>;
}

/// Steady state of the water of a process.
pub struct SteadyState {
    /// Process in this state.
    pub process: Box<dyn Process>,
    /// Depth of the water, in metres.
    pub water: Grid,
    /// `false` if depths still changed after the last iteration.
    pub has_converged: bool,
}

/// Water of a process that has a steady state.
pub trait SteadyWater {
    /// Returns the steady state for the rain and springs of this tick.
    /// `go_on` receives the progress and returns `false` to cancel.
    ///
    /// # Errors
    /// Returns a message of one sentence if there is no steady state or the computation was cancelled.
    fn solve_steady_state(
        &self,
        terrain: &Terrain,
        tick: u64,
        go_on: &ProgressCallback<'_>,
    ) -> Result<SteadyState, InvalidInput>;

    /// Returns the temporary memory, in bytes per cell, that a first tick takes to start in the steady state; 0 if it does not.
    fn startup_bytes_per_cell(&self) -> usize;
}

/// Callback that receives the progress, from 0 to 1, and returns `false` to cancel.
pub type ProgressCallback<'a> = dyn Fn(f32) -> bool + Sync + 'a;

/// Duplication of boxed processes, implemented for every process that is [`Clone`] and [`Default`].
pub trait Duplicate {
    /// Returns a copy in the same state.
    fn boxed_clone(&self) -> Box<dyn Process>;
    /// Returns a process of the same type with default parameters.
    fn boxed_default(&self) -> Box<dyn Process>;
}

impl<P: Process + Clone + Default + 'static> Duplicate for P {
    fn boxed_clone(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }

    fn boxed_default(&self) -> Box<dyn Process> {
        Box::new(P::default())
    }
}

impl dyn Process + '_ {
    /// Runs all stages of a tick.
    pub fn tick(&mut self, context: &mut Context<'_>) {
        let count = self.info().stages.len();
        self.setup_mut().begin_tick();
        let mut next = Some(0);
        while let Some(stage) = next {
            next = self.step(stage, context).next_stage(stage, count);
        }
    }

    /// Returns its parameters.
    pub fn params(&self) -> &dyn Struct {
        self.setup().params()
    }

    /// Returns its parameters and mask factors.
    pub fn settings(&self) -> [&dyn Struct; 2] {
        self.setup().settings()
    }

    /// Returns its parameters and mask factors mutably. They may change between ticks.
    pub fn settings_mut(&mut self) -> [&mut dyn Struct; 2] {
        self.setup_mut().settings_mut()
    }

    /// Returns its counts since the start.
    pub fn counts(&self) -> ProcessCounts {
        self.setup().counts()
    }

    /// Returns its limiters and their counts.
    pub fn limiters(&self) -> Vec<(Limiter, LimiterCount)> {
        let counts = self.setup().limiter_counts().iter().copied().chain(std::iter::repeat(LimiterCount::default()));
        self.info().limiters.iter().copied().zip(counts).collect()
    }

    /// Returns the tracks of its particles in the last tick; empty without particles or if they are not watched.
    pub fn tracks(&self) -> &[Track] {
        self.capabilities().particles.map_or(&[], |particles| particles.tracks())
    }

    /// Returns the trajectory of one of its particles as [`Particles::follow`] does; `None` without particles or outside the map.
    pub fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<ParticleState>> {
        let size = [terrain.width() as f32, terrain.height() as f32];
        let inside = (0..2).all(|axis| place[axis] >= 0.0 && place[axis] < size[axis]);
        self.capabilities().particles.filter(|_| inside)?.follow(terrain, when, place)
    }
}

impl Clone for Box<dyn Process> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// State of a particle after a step of its trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ParticleState {
    /// Column and row, in cells; the first cell spans 0 to 1.
    pub place: [f32; 2],
    /// Speed, in the unit of the law; the step length in cells where every step leads to a neighbour regardless of speed.
    pub speed: f32,
    /// Water, as a fraction of that of a new droplet, if it has any.
    pub water: Option<f32>,
    /// Sediment load, in metres times cells.
    pub load: f32,
    /// Transport capacity in this step, in metres times cells, if the law defines one.
    pub capacity: Option<f32>,
}

/// Track of a particle: positions in cells; the first cell spans 0 to 1.
pub type Track = Vec<[f32; 2]>;
