//! The contract of a process, and the catalogue of all processes.
//!
//! To add one: write a file here that implements [`Process`] for a type, and add its line to [`catalogue`].

#[cfg(test)]
mod conservation;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod coupling;
pub mod droplets;
pub mod guard;
#[cfg(test)]
mod guarded;
pub mod runoff;
#[cfg(test)]
mod scaled;
pub mod thermal;
pub mod water;
pub mod wind;

use bevy_reflect::{Reflect, structs::Struct};

use self::guard::Guards;
use super::{
    grid::Grid,
    ledger::Ledger,
    memory::Memories,
    quantity::Quantity,
    terrain::{Layer, Terrain},
};

/// Every process, in the order in which a tick runs them.
pub fn catalogue() -> Vec<Box<dyn Process>> {
    vec![
        Box::new(droplets::Droplets::default()),
        Box::new(runoff::Runoff::default()),
        Box::new(water::Water::default()),
        Box::new(thermal::Thermal::default()),
        Box::new(wind::Wind::default()),
    ]
}

/// Whether a process computes what its source prints, or the cured form of it.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With the known faults of the published form cured; conserves mass.
    #[default]
    Default,
    /// As the source prints it, faults included, for comparison.
    Published,
}

/// What a process says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in scripts, scene files and the ledger.
    pub key: &'static str,
    /// Name of the group of factors by which the mask scales its parameters.
    pub masked_key: &'static str,
    /// Name shown to the user.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// The paper or article it is made from.
    pub source: &'static str,
    /// Memory that it takes for each cell when it is on, in bytes, under the hungriest of its laws and modes. Measured by
    /// `tests/memory.rs`.
    pub bytes_per_cell: usize,
    /// The same for each thread that works on it.
    pub bytes_per_cell_and_thread: usize,
    /// Layers it reads.
    pub reads: &'static [Layer],
    /// Layers it changes; no other layer is touched.
    pub writes: &'static [Layer],
    /// Keys of processes that do the same in another way: switched on in the window, this one takes their place.
    pub replaces: &'static [&'static str],
    /// The parts of a step, in order: what step mode stops between.
    pub stages: &'static [Stage],
}

impl Info {
    /// Memory that it takes for each cell with so many threads, in bytes.
    pub fn bytes(&self, threads: usize) -> usize {
        self.bytes_per_cell + threads * self.bytes_per_cell_and_thread
    }
}

/// A named part of a step.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Short name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
}

/// Whether a stage is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Call the same stage again: it stopped only so that a frame can be drawn.
    Again,
    /// The stage is finished.
    Done,
    /// The stage is finished, and another step of the tick begins with the stage of this number.
    From(usize),
}

/// What a step works on.
pub struct Context<'a> {
    /// The shared terrain.
    pub terrain: &'a mut Terrain,
    /// Where every transfer is booked, under the process's key.
    pub ledger: &'a mut Ledger,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the tick, from 1.
    pub tick: u64,
    /// Whether somebody looks at the particles: only then they need to leave tracks.
    pub watched: bool,
    /// Whether somebody looks between the stages: only then a stage needs to show what a later one finds again.
    pub stepwise: bool,
}

/// A process that shapes the terrain.
///
/// One tick calls every stage in turn, each until it is [`Progress::Done`]. Parallel work uses rayon's current pool
/// and gives the same bits for every number of threads.
pub trait Process: Send + Sync {
    /// What the process says of itself.
    fn info(&self) -> &'static Info;

    /// Its parameters, and the factors by which the mask scales some of them (see [`super::masked`]): flat structs whose
    /// fields each have a [`Knob`](crate::params::Knob).
    fn settings(&self) -> [&dyn Struct; 2];

    /// Both, to be changed between ticks.
    fn settings_mut(&mut self) -> [&mut dyn Struct; 2];

    /// Its parameters alone.
    fn params(&self) -> &dyn Struct {
        self.settings()[0]
    }

    /// Its parameters alone, to be changed between ticks.
    fn params_mut(&mut self) -> &mut dyn Struct {
        let [params, _] = self.settings_mut();
        params
    }

    /// The largest time step for which the scheme is stable on this terrain, in the unit of its own `dt`; infinite if
    /// every step is.
    fn largest_stable_dt(&self, terrain: &Terrain) -> f32;

    /// Works on a stage of the present tick.
    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress;

    /// How often guards acted and how many sub-steps were taken since the start.
    fn counts(&self) -> Counts;

    /// What it keeps from tick to tick besides its parameters, made if there is none yet for this terrain: all that the next
    /// tick depends on, and the maps that it averages.
    fn memories(&mut self, terrain: &Terrain) -> Memories<'_>;

    /// The ways of a sample of particles in the last tick, if the process has particles and they are watched.
    fn tracks(&self) -> &[Track] {
        &[]
    }

    /// Velocity of the water that it moves, along columns and rows, in metres per second.
    fn velocity(&self, _: &Terrain) -> Option<[Grid; 2]> {
        None
    }

    /// The slope, as a tangent, at which each cell's ground stands, if the process lets ground slide.
    fn talus(&self, _: &Terrain) -> Option<Grid> {
        None
    }

    /// The wind that it lets blow.
    fn wind(&self) -> Option<wind::Weather> {
        None
    }

    /// A map that the process keeps besides the layers, if it keeps this one.
    fn map(&self, _: Quantity) -> Option<&Grid> {
        None
    }

    /// Its guards, each with how often it acted.
    fn guards(&self) -> Guards {
        Guards::new()
    }

    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn Process>;
}

/// The way of a particle: places in cells, the first cell reaching from 0 to 1.
pub type Track = Vec<[f32; 2]>;

/// What a process counted since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Steps within ticks: particle steps, or sub-steps of a grid scheme.
    pub substeps: u64,
    /// Particles that have run; 0 for a grid scheme.
    pub particles: u64,
    /// How often guards acted, all together.
    pub guards: u64,
    /// Simulated time, in seconds; 0 for a process whose time has no unit.
    pub seconds: f64,
}
