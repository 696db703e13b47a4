//! The contract of a process, and the catalogue of all processes.
//!
//! To add one: write a file here that implements [`Process`] for a type, and add its line to [`catalogue`]. A simulation may hold others
//! too: see `examples/own_process.rs`.

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
mod land;
#[cfg(test)]
mod limited;
pub mod limiter;
pub mod masked;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod meetings;
pub mod memory;
pub mod runoff;
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
    memory::Memories,
};
pub use self::{
    setup::{AnySetup, Counts, Setup},
    stage::{Progress, STEP, StageInfo},
};
use crate::{
    core::{
        bounds::Unfit,
        grid::Grid,
        ledger::Ledger,
        quantity::Quantity,
        terrain::{Layer, Terrain},
    },
    params::{ChoiceName, STATED_SIDE},
};

/// Every process, in the order in which a tick runs them.
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

/// Form of a law: as its source prints it, or corrected.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The known faults of the published form are corrected, and mass is conserved.
    #[default]
    #[reflect(@ChoiceName("default"))]
    Corrected,
    /// As the source prints it, faults included, for comparison.
    Published,
}

impl Mode {
    /// Returns the simulated time of a tick on a terrain, in seconds, if it is stated as `dt`. Published, it is `dt`. In the corrected mode
    /// `dt` is for a terrain 256 m wide, and grows with the width: another number of cells on the same terrain changes no time.
    pub fn seconds(self, dt: f32, terrain: &Terrain) -> f32 {
        match self {
            Self::Corrected => {
                dt * terrain.width().min(terrain.height()) as f32 * terrain.cell_size / STATED_SIDE as f32
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
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Where its law comes from.
    pub reference: Reference,
    /// Memory that it takes.
    pub footprint: Footprint,
    /// Layers it reads.
    pub reads: &'static [Layer],
    /// Layers it changes; no other layer is touched.
    pub writes: &'static [Layer],
    /// `true` if it lets water flow. Of the processes that do, a simulation runs one: they are alternatives.
    pub moves_water: bool,
    /// Stages of its step, in order.
    pub stages: &'static [StageInfo],
    /// Its limiters.
    pub limiters: &'static [Limiter],
}

/// Source of a law.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Paper or article.
    pub source: &'static str,
    /// Source files whose module documentation states the equations: the reference is made from them.
    pub equations: &'static [&'static str],
}

/// Memory of a process that is on, under the hungriest of its laws and modes. `tests/memory.rs` measures it.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Bytes for each cell.
    pub per_cell: usize,
    /// Bytes for each cell and thread.
    pub per_cell_and_thread: usize,
}

impl Footprint {
    /// Bytes for each cell with this number of threads.
    pub fn bytes_per_cell(self, threads: usize) -> usize {
        self.per_cell + threads * self.per_cell_and_thread
    }
}

impl Info {
    /// Returns `true` if this process and another one are alternatives: switching one on switches the other off.
    pub fn replaces(&self, other: &Self) -> bool {
        self.moves_water && other.moves_water && self.key != other.key
    }

    /// A process of one stage of which nothing else is declared.
    pub const BARE: Self = Self {
        key: "",
        title: "",
        about: "",
        reference: Reference { source: "", equations: &[] },
        footprint: Footprint { per_cell: 0, per_cell_and_thread: 0 },
        reads: &[],
        writes: &[],
        moves_water: false,
        stages: STEP,
        limiters: &[],
    };
}

/// What a step works on.
pub struct Context<'a> {
    /// The shared terrain.
    pub terrain: &'a mut Terrain,
    /// Where every transfer is booked, under the process's key.
    pub ledger: &'a mut Ledger,
    /// Seed of the simulation.
    pub seed: u64,
    /// Number of the tick, from 1.
    pub tick: u64,
    /// `true` if the particles are shown: only then they need to leave tracks.
    pub watched: bool,
    /// `true` if the simulation stops between the stages to show them: only then a stage needs to write what a later one finds again.
    pub stepwise: bool,
    /// `true` if a process is on that moves water: only then water that a process pours out flows on.
    pub water_flows: bool,
    /// Simulated time of this tick, in seconds, as soon as a process that has a clock has set it.
    pub elapsed: &'a mut Option<f64>,
    /// When a frame waits to be drawn, if one does: then a step that takes longer should stop where it can.
    pub until: Option<Instant>,
}

/// A vector field that a process can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorMap {
    /// Velocity of the water that it moves, in metres per second.
    Velocity,
    /// Discharge of the rain that its droplets bring, times its direction, in square metres of rained-on land.
    Momentum,
}

/// Reason why a process leaves no mark on a terrain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IdleReason {
    /// There is no sand.
    NoSand,
    /// All sand lies in a sheet that is too thin for dunes on cells of this size.
    ThinSand {
        /// Thickness that a sheet needs, in metres.
        needed: f32,
    },
    /// The ground is level: no water runs.
    LevelGround,
    /// No slope was steep enough to fail in the last tick.
    StableSlopes,
    /// There is no water, no rain and no spring.
    NoWater {
        /// Name of the parameter of the process that sets its rain.
        rain: &'static str,
    },
}

impl IdleReason {
    /// Returns [`Self::NoWater`] if a terrain has neither water nor springs. `rain` is the name of the parameter that sets the rain.
    fn without_water(terrain: &Terrain, rain: &'static str) -> Option<Self> {
        let has_springs = terrain.sources.iter().any(|source| source.rate > 0.0);
        (!has_springs && is_empty(&terrain.water)).then_some(Self::NoWater { rain })
    }
}

/// `true` if no cell of a layer has more than 0.
fn is_empty(layer: &Grid) -> bool {
    !any_above(layer, 0.0)
}

/// `true` if a cell of a layer has more than a bound.
fn any_above(layer: &Grid, bound: f32) -> bool {
    layer.chunks(4096).any(|cells| cells.iter().fold(false, |any, &cell| any | (cell > bound)))
}

/// `true` if the ground has the same height everywhere.
fn is_level(terrain: &Terrain) -> bool {
    let height = |cell: usize| terrain.bedrock[cell] + terrain.sand[cell];
    (1..terrain.bedrock.len()).all(|cell| height(cell) == height(0))
}

/// A process that shapes the terrain.
///
/// One tick runs every stage in turn, each until it is [`Progress::Done`]. Parallel work uses rayon's current pool and gives the same
/// bits for every number of threads.
pub trait Process: Duplicate + Send + Sync {
    /// Returns its declaration.
    fn info(&self) -> &'static Info;

    /// Returns what every process has: parameters, mask factors, counts.
    fn setup(&self) -> &dyn AnySetup;

    /// Returns the same, to be changed between ticks.
    fn setup_mut(&mut self) -> &mut dyn AnySetup;

    /// Works on a stage of the present tick, by its index in [`Info::stages`].
    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress;

    /// Returns the largest time step for which the scheme is stable on this terrain, in the unit of its own `dt`; infinite if every step
    /// is.
    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        f32::INFINITY
    }

    /// Returns why the process leaves no mark on this terrain, or `None` if it does.
    fn idle_reason(&self, _: &Terrain) -> Option<IdleReason> {
        None
    }

    /// Returns everything that the next tick depends on besides parameters and layers, made if there is none yet for this terrain.
    fn memories(&mut self, _: &Terrain) -> Memories<'_> {
        self.setup_mut().counts_mut().memories()
    }

    /// Returns the map of a quantity, in its unit, if the process keeps or knows it.
    fn map(&self, _: Quantity, _: &Terrain) -> Option<Cow<'_, Grid>> {
        None
    }

    /// Returns the components of a vector field along columns and along rows, if the process has it.
    fn vector_map(&self, _: VectorMap, _: &Terrain) -> Option<[Grid; 2]> {
        None
    }

    /// Returns its equation with the numbers of a cell (column and row), if its law has an equation for one.
    fn explain(&self, _: &Terrain, _cell: [usize; 2]) -> Option<Explanation> {
        None
    }

    /// Returns what only some processes can do.
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }
}

/// What only some processes can do.
#[derive(Default)]
pub struct Abilities<'a> {
    /// Particles that leave tracks.
    pub particles: Option<&'a dyn Particles>,
    /// Water that has a steady state.
    pub steady: Option<&'a dyn SteadyWater>,
    /// The mean wind that it lets blow.
    pub weather: Option<wind::Weather>,
    /// Simulated time in years, if its clock counts years.
    pub years: Option<f64>,
    /// Morphological acceleration, if it has one: its water holds the suspended layer divided by that.
    pub acceleration: Option<f32>,
}

/// Particles of a process.
pub trait Particles {
    /// Returns the tracks of a sample of particles in the last tick, if they are watched.
    fn tracks(&self) -> &[Track];

    /// Returns the trajectory of one particle that begins at a place inside the map, in cells, step by step, as it would run in the tick
    /// of this seed and number; `None` where the present law has no particles. The terrain stays as it is.
    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<Moment>>;
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

/// Water of a process that can be brought into its steady state.
pub trait SteadyWater {
    /// Returns the steady state with the rain and springs of this tick.
    /// `go_on` hears the progress and answers whether to continue.
    ///
    /// # Errors
    /// One sentence, if there is no steady state or the search was cancelled.
    fn balance(&self, terrain: &Terrain, tick: u64, go_on: &GoOn<'_>) -> Result<SteadyState, Unfit>;

    /// Bytes for each cell that the first tick takes for a moment to start in its steady state; 0 if it does not.
    fn bytes_to_begin(&self) -> usize;
}

/// Hears the progress of some work, from 0 to 1, and answers whether to continue.
pub type GoOn<'a> = dyn Fn(f32) -> bool + Sync + 'a;

/// Copies of a process behind a pointer. Every process that is [`Clone`] and [`Default`] has them.
pub trait Duplicate {
    /// Returns a copy in the same state.
    fn boxed_clone(&self) -> Box<dyn Process>;
    /// Returns a process of the same kind at its defaults.
    fn fresh(&self) -> Box<dyn Process>;
}

impl<P: Process + Clone + Default + 'static> Duplicate for P {
    fn boxed_clone(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn Process> {
        Box::new(P::default())
    }
}

impl dyn Process + '_ {
    /// Runs every stage of a tick.
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

    /// Returns its parameters, and the factors by which the mask scales some of them.
    pub fn settings(&self) -> [&dyn Struct; 2] {
        self.setup().settings()
    }

    /// Returns both, to be changed between ticks.
    pub fn settings_mut(&mut self) -> [&mut dyn Struct; 2] {
        self.setup_mut().settings_mut()
    }

    /// Returns its counts since the start.
    pub fn counts(&self) -> Counts {
        self.setup().counts()
    }

    /// Returns its limiters, each with how often it was applied.
    pub fn limiters(&self) -> Vec<(Limiter, LimiterCount)> {
        let counts = self.setup().limiter_counts().iter().copied().chain(std::iter::repeat(LimiterCount::default()));
        self.info().limiters.iter().copied().zip(counts).collect()
    }

    /// Returns the tracks of its particles in the last tick, if it has particles and they are watched.
    pub fn tracks(&self) -> &[Track] {
        self.abilities().particles.map_or(&[], |particles| particles.tracks())
    }

    /// Returns the trajectory of one of its particles: see [`Particles::follow`]; `None` without particles and beyond the map.
    pub fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<Moment>> {
        let size = [terrain.width() as f32, terrain.height() as f32];
        let inside = (0..2).all(|axis| place[axis] >= 0.0 && place[axis] < size[axis]);
        self.abilities().particles.filter(|_| inside)?.follow(terrain, when, place)
    }
}

impl Clone for Box<dyn Process> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// A particle after a step of its trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Column and row in cells, the first cell reaching from 0 to 1.
    pub place: [f32; 2],
    /// Its speed, in the unit of its law; where a step goes to a neighbour whatever the speed, its length in cells.
    pub speed: f32,
    /// Its water, as a share of a fresh droplet's, if it has any.
    pub water: Option<f32>,
    /// What it carries, in metres times cells.
    pub load: f32,
    /// What it could carry in this step, in metres times cells, where its law knows.
    pub capacity: Option<f32>,
}

/// Track of a particle: places in cells, the first cell reaching from 0 to 1.
pub type Track = Vec<[f32; 2]>;
