//! The contract of a process, and the catalogue of all processes.
//!
//! To add one: write a file here that implements [`Process`] for a type, and add its line to [`catalogue`]. A run may hold others
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
pub mod guard;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod land;
pub mod masked;
#[cfg(test)]
mod meetings;
pub mod memory;
pub mod runoff;
#[cfg(test)]
mod scaled;
pub mod thermal;
pub mod water;
pub mod wind;

use std::time::Instant;

use bevy_reflect::{Reflect, structs::Struct};

use self::{
    explain::Explanation,
    guard::{Acted, Guard},
};
use crate::{
    core::{
        bounds::Unfit,
        grid::Grid,
        ledger::Ledger,
        quantity::Quantity,
        terrain::{Layer, Terrain},
    },
    params::STATED_SIDE,
    process::{masked::Covered, memory::Memories},
};

/// Every process, in the order in which a tick runs them.
pub fn catalogue() -> Vec<Box<dyn AnyProcess>> {
    vec![
        Box::new(droplets::Droplets::default()),
        Box::new(runoff::Runoff::default()),
        Box::new(water::Water::default()),
        Box::new(thermal::Thermal::default()),
        Box::new(wind::Wind::default()),
        Box::new(fluvial::Fluvial::default()),
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

impl Mode {
    /// Time that a tick covers on a terrain, in seconds, if it is stated as `dt`. Published, it is that. The cured mode covers so much
    /// on land 256 m wide, and as much more as the land is wider: another number of cells on the same land changes no time.
    pub fn seconds(self, dt: f32, terrain: &Terrain) -> f32 {
        match self {
            Self::Default => dt * terrain.width().min(terrain.height()) as f32 * terrain.cell_size / STATED_SIDE as f32,
            Self::Published => dt,
        }
    }
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
    /// Its files whose heads state what it computes: the reference is made from them.
    pub heads: &'static [&'static str],
    /// Memory that it takes for each cell when it is on, in bytes, under the hungriest of its laws and modes. Measured by
    /// `tests/memory.rs`.
    pub bytes_per_cell: usize,
    /// The same for each thread that works on it.
    pub bytes_per_cell_and_thread: usize,
    /// Layers it reads.
    pub reads: &'static [Layer],
    /// Layers it changes; no other layer is touched.
    pub writes: &'static [Layer],
    /// Whether it lets water flow.
    pub moves_water: bool,
    /// Keys of processes that do the same in another way: switched on in the window, this one takes their place.
    pub replaces: &'static [&'static str],
    /// The parts of a step, in order: what step mode stops between.
    pub stages: &'static [Stage],
    /// Its guards.
    pub guards: &'static [Guard],
    /// Parameters that need not change a layer within a few ticks, as they are for the eye, act on the border or after long,
    /// or wait for another one; and when that is so, as in [`Knob::only`](crate::params::Knob::only).
    pub silent: &'static [(&'static str, &'static str)],
    /// Parameters of which the mask scales only one of the uses.
    pub partly_masked: &'static [&'static str],
    /// What it remembers that projects of earlier versions don't have: there it begins empty.
    pub young: &'static [&'static str],
    /// Values of parameters, by their names, with which it brings nothing from outside: then level ground stays level, and none
    /// grows higher than what was there.
    pub calm: &'static [(&'static str, &'static str)],
}

impl Info {
    /// A process of one stage of which nothing else is said.
    pub const BARE: Self = Self {
        key: "",
        masked_key: "",
        title: "",
        about: "",
        source: "",
        heads: &[],
        bytes_per_cell: 0,
        bytes_per_cell_and_thread: 0,
        reads: &[],
        writes: &[],
        moves_water: false,
        replaces: &[],
        stages: &[Stage { name: "step", about: "All that it does." }],
        guards: &[],
        silent: &[],
        partly_masked: &[],
        young: &[],
        calm: &[],
    };

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
    /// Call the same stage again: it stopped only so that a frame can be drawn, which may show the layers as they are.
    Again,
    /// The stage is finished.
    Done,
    /// Go on with the stage of this number: the first of another step of the tick, or this one, which stopped so that a frame can be
    /// drawn, but left layers that are not to be shown.
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
    /// Whether the particles are shown: only then they need to leave tracks.
    pub watched: bool,
    /// Whether the run stops between the stages to show them: only then a stage needs to write what a later one finds again.
    pub stepwise: bool,
    /// Whether a process is on that moves water: only then what a process pours out goes on.
    pub water_flows: bool,
    /// Simulated time that this tick covers, in seconds, as soon as a process has said so that counts it.
    pub covered: &'a mut Option<f64>,
    /// When a frame waits to be drawn, if one does: then a step that takes longer should stop where it can.
    pub until: Option<Instant>,
}

/// What every process has, whatever it does: parameters, factors by which the mask scales some of them (see
/// [`crate::process::masked`]), and counts.
#[derive(Clone, Debug, Default)]
pub struct Setup<P, F> {
    /// Its parameters.
    pub params: P,
    /// Factors by which the mask scales some of them.
    pub factors: F,
    /// What it has counted since the start.
    pub counts: Counts,
    /// How often each guard acted.
    acted: Vec<Acted>,
    /// Simulated time of the last tick, in seconds.
    covered: f64,
    /// By what share steps may be longer than is stable: 0 but where a test shows what happens then.
    overstep: f32,
}

impl<P: Struct + Clone, F: Struct> Setup<P, F> {
    /// What the mask makes of the parameters; nothing as published, and where the mask changes nothing.
    pub fn covered(&self, terrain: &Terrain, mode: Mode) -> Option<Covered<P>> {
        Covered::of(terrain, mode, &self.params, &self.factors)
    }

    /// Counts the simulated time of a tick, in seconds.
    pub fn cover(&mut self, seconds: f64) {
        self.counts.seconds += seconds;
        self.covered = seconds;
    }

    /// Counts what guards did in a part of a tick: how often each acted, in the order of [`Info::guards`].
    pub fn note<const N: usize>(&mut self, times: [u64; N]) {
        self.acted.resize(N, Acted::default());
        for (acted, times) in self.acted.iter_mut().zip(times) {
            acted.last += times;
            acted.all += times;
            self.counts.guards += times;
        }
    }
}

/// Says in which field a process has its [`Setup`].
#[macro_export]
macro_rules! setup_in {
    ($field:tt) => {
        fn setup(&self) -> &$crate::process::Setup<Self::Params, Self::Factors> {
            &self.$field
        }

        fn setup_mut(&mut self) -> &mut $crate::process::Setup<Self::Params, Self::Factors> {
            &mut self.$field
        }
    };
}

pub use setup_in;

/// Told how far some work is, from 0 to 1, it says whether the work is still wanted.
pub type GoOn<'a> = dyn Fn(f32) -> bool + Sync + 'a;

/// A process and the water of each cell in metres, or why there is no such state: see [`Process::balance`].
pub type Balanced<P> = Result<(P, Grid), Unfit>;

/// A process that shapes the terrain: what its author writes. [`AnyProcess`] is what the rest of the program sees of it.
///
/// One tick calls every stage in turn, each until it is [`Progress::Done`]. Parallel work uses rayon's current pool
/// and gives the same bits for every number of threads.
pub trait Process: Clone + Default + Send + Sync + 'static {
    /// Its parameters: a flat struct whose fields each have a [`Knob`](crate::params::Knob).
    type Params: Struct + Clone;
    /// Factors by which the mask scales some of them: what [`factors!`](crate::process::masked) makes.
    type Factors: Struct + Clone;
    /// What the process says of itself.
    const INFO: Info;

    /// What it has like every process. [`setup_in!`](crate::setup_in) writes this and the next one.
    fn setup(&self) -> &Setup<Self::Params, Self::Factors>;

    /// The same, to be changed between ticks.
    fn setup_mut(&mut self) -> &mut Setup<Self::Params, Self::Factors>;

    /// Works on a stage of the present tick.
    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress;

    /// The process with these parameters.
    fn with(params: Self::Params) -> Self {
        let mut process = Self::default();
        process.setup_mut().params = params;
        process
    }

    /// The largest time step for which the scheme is stable on this terrain, in the unit of its own `dt`; infinite if
    /// every step is.
    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        f32::INFINITY
    }

    /// What it keeps from tick to tick besides its parameters, made if there is none yet for this terrain: all that the next
    /// tick depends on, its counts among it, and the maps that it averages.
    fn memories(&mut self, _: &Terrain) -> Memories<'_> {
        self.setup_mut().counts.memories()
    }

    /// Memory for each cell that its first tick takes for a moment besides [`Info::bytes`], in bytes.
    fn bytes_to_begin(&self) -> usize {
        0
    }

    /// Itself and the water of each cell, in metres, as they would be in the long run if all went on as at the beginning of this tick;
    /// `None` if it moves no water.
    ///
    /// # Errors
    /// One sentence, if it never comes to rest.
    fn balance(&self, _terrain: &Terrain, _tick: u64, _go_on: &GoOn<'_>) -> Option<Balanced<Self>> {
        None
    }

    /// The ways of a sample of particles in the last tick, if the process has particles and they are watched.
    fn tracks(&self) -> &[Track] {
        &[]
    }

    /// The way of one particle that begins at a place, in cells, step by step, as it would run in the tick of this seed and number. The
    /// land stays as it is. None where the process has no particles.
    fn follow(&self, _: &Terrain, _when: (u64, u64), _place: [f32; 2]) -> Option<Vec<Moment>> {
        None
    }

    /// Velocity of the water that it moves, along columns and rows, in metres per second.
    fn velocity(&self, _: &Terrain) -> Option<[Grid; 2]> {
        None
    }

    /// Discharge of the rain that its droplets bring, times its direction along columns and rows, in square metres of rained-on land.
    fn momentum(&self) -> Option<[Grid; 2]> {
        None
    }

    /// The slope, as a tangent, at which each cell's ground stands, if the process lets ground slide.
    fn talus(&self, _: &Terrain) -> Option<Grid> {
        None
    }

    /// Its equation with the numbers of a cell (column and row), and what comes of it there, if its law has an equation for one.
    fn explain(&self, _: &Terrain, _place: [usize; 2]) -> Option<Explanation> {
        None
    }

    /// The wind that it lets blow.
    fn wind(&self) -> Option<wind::Weather> {
        None
    }

    /// How wet the ground is, from 0 to 1, if the process keeps account of it.
    fn wetness(&self) -> Option<&Grid> {
        None
    }

    /// Years that it has simulated, if its clock counts years.
    fn years(&self) -> Option<f64> {
        None
    }

    /// A map that the process keeps besides the layers, if it keeps this one.
    fn map(&self, _: Quantity) -> Option<Grid> {
        None
    }
}

/// A process of any kind. Every [`Process`] is one; its author writes nothing for it.
pub trait AnyProcess: Send + Sync {
    /// See [`Process::INFO`].
    fn info(&self) -> &'static Info;
    /// Its parameters, and the factors by which the mask scales some of them.
    fn settings(&self) -> [&dyn Struct; 2];
    /// Both, to be changed between ticks.
    fn settings_mut(&mut self) -> [&mut dyn Struct; 2];
    /// Its parameters alone.
    fn params(&self) -> &dyn Struct {
        self.settings()[0]
    }
    /// What it has counted since the start.
    fn counts(&self) -> Counts;
    /// Its guards, each with how often it acted.
    fn guards(&self) -> Vec<(Guard, Acted)>;
    /// Forgets what guards did in the last tick, as another begins.
    fn begin_tick(&mut self);
    /// See [`Process::step`].
    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress;
    /// See [`Process::largest_stable_dt`].
    fn largest_stable_dt(&self, terrain: &Terrain) -> f32;
    /// Simulated time that it covered in its last tick, in seconds; 0 if it does not say.
    fn covered(&self) -> f64;
    /// Lets steps be longer than is stable by this share.
    #[cfg(test)]
    fn overstep(&mut self, share: f32);
    /// See [`Process::memories`].
    fn memories(&mut self, terrain: &Terrain) -> Memories<'_>;
    /// See [`Process::bytes_to_begin`].
    fn bytes_to_begin(&self) -> usize;
    /// See [`Process::balance`].
    fn balance(&self, terrain: &Terrain, tick: u64, go_on: &GoOn<'_>) -> Option<Balanced<Box<dyn AnyProcess>>>;
    /// See [`Process::tracks`].
    fn tracks(&self) -> &[Track];
    /// See [`Process::follow`]; none of a place beyond the map.
    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<Moment>>;
    /// See [`Process::velocity`].
    fn velocity(&self, terrain: &Terrain) -> Option<[Grid; 2]>;
    /// See [`Process::momentum`].
    fn momentum(&self) -> Option<[Grid; 2]>;
    /// See [`Process::talus`].
    fn talus(&self, terrain: &Terrain) -> Option<Grid>;
    /// See [`Process::explain`]; none of a cell beyond the map.
    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation>;
    /// See [`Process::wind`].
    fn wind(&self) -> Option<wind::Weather>;
    /// See [`Process::wetness`].
    fn wetness(&self) -> Option<&Grid>;
    /// See [`Process::years`].
    fn years(&self) -> Option<f64>;
    /// See [`Process::map`].
    fn map(&self, quantity: Quantity) -> Option<Grid>;
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn AnyProcess>;
    /// A process of the same kind at its defaults.
    fn fresh(&self) -> Box<dyn AnyProcess>;
}

impl<P: Process> AnyProcess for P {
    fn info(&self) -> &'static Info {
        const { &P::INFO }
    }

    fn settings(&self) -> [&dyn Struct; 2] {
        let Setup { params, factors, .. } = self.setup();
        [params, factors]
    }

    fn settings_mut(&mut self) -> [&mut dyn Struct; 2] {
        let Setup { params, factors, .. } = self.setup_mut();
        [params, factors]
    }

    fn counts(&self) -> Counts {
        self.setup().counts
    }

    fn guards(&self) -> Vec<(Guard, Acted)> {
        let acted = self.setup().acted.iter().copied().chain(std::iter::repeat(Acted::default()));
        P::INFO.guards.iter().copied().zip(acted).collect()
    }

    fn begin_tick(&mut self) {
        self.setup_mut().acted.iter_mut().for_each(|acted| acted.last = 0);
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        Process::step(self, stage, context)
    }

    fn largest_stable_dt(&self, terrain: &Terrain) -> f32 {
        Process::largest_stable_dt(self, terrain)
    }

    fn covered(&self) -> f64 {
        self.setup().covered
    }

    #[cfg(test)]
    fn overstep(&mut self, share: f32) {
        self.setup_mut().overstep = share;
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        Process::memories(self, terrain)
    }

    fn bytes_to_begin(&self) -> usize {
        Process::bytes_to_begin(self)
    }

    fn balance(&self, terrain: &Terrain, tick: u64, go_on: &GoOn<'_>) -> Option<Balanced<Box<dyn AnyProcess>>> {
        let balance = Process::balance(self, terrain, tick, go_on)?;
        Some(balance.map(|(process, water)| (Box::new(process) as Box<dyn AnyProcess>, water)))
    }

    fn tracks(&self) -> &[Track] {
        Process::tracks(self)
    }

    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<Moment>> {
        let size = [terrain.width() as f32, terrain.height() as f32];
        let inside = (0..2).all(|axis| place[axis] >= 0.0 && place[axis] < size[axis]);
        inside.then(|| Process::follow(self, terrain, when, place)).flatten()
    }

    fn velocity(&self, terrain: &Terrain) -> Option<[Grid; 2]> {
        Process::velocity(self, terrain)
    }

    fn momentum(&self) -> Option<[Grid; 2]> {
        Process::momentum(self)
    }

    fn talus(&self, terrain: &Terrain) -> Option<Grid> {
        Process::talus(self, terrain)
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        explain::explain(self, terrain, place)
    }

    fn wind(&self) -> Option<wind::Weather> {
        Process::wind(self)
    }

    fn wetness(&self) -> Option<&Grid> {
        Process::wetness(self)
    }

    fn years(&self) -> Option<f64> {
        Process::years(self)
    }

    fn map(&self, quantity: Quantity) -> Option<Grid> {
        Process::map(self, quantity)
    }

    fn boxed_clone(&self) -> Box<dyn AnyProcess> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn AnyProcess> {
        Box::new(P::default())
    }
}

/// A particle after a step of its way.
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
    /// Simulated time that it has covered, in seconds.
    pub seconds: f64,
}
