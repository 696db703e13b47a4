//! Hydraulic erosion by droplets: each runs downhill, erodes where it is below transport capacity and deposits where it is above
//! it.
//!
//! Three laws, each as published and corrected: streams (`streams.rs`), mass transfer and capacity (`corrected.rs`). Droplets run in
//! groups of eight within blocks of the map, and the cost of a tick scales with the number of droplets, not the size of the map.
//! The result does not depend on the number of threads (see [`crate::simd::swarm`]).

mod banks;
mod bundle;
mod constants;
mod copies;
mod corrected;
mod discharge;
mod explain;
mod follow;
mod ground;
mod params;
mod peak;
pub mod published;
mod published_wave;
mod rain;
#[cfg(test)]
mod rivers;
mod running_wave;
#[cfg(test)]
mod scalar;
mod settling;
mod streams;
#[cfg(test)]
mod tests;
mod tracks;

use std::borrow::Cow;

pub use self::params::{DropletLaw, Factors, Params};
use self::{
    bundle::Droplet,
    copies::Copies,
    discharge::Discharge,
    ground::DropletGround,
    peak::Peak,
    published_wave::DriveTile,
    rain::{DropletRain, DropletStart, in_waves},
    running_wave::{RunningWave, WaveDroplets},
    tracks::TrackRecorder,
};
use super::{
    AnySetup, Capabilities, Context, Footprint, IdleReason, Info, Mode, ParticleState, Particles, Process, Reference,
    Setup, StepProgress, Track, VectorMap, explain::Explanation, is_level, limiter::Limiter, stage::stages,
};
use crate::{
    core::{
        grid::Grid,
        quantity::Quantity,
        rng::RandomStream,
        terrain::{Layer, Terrain},
        tiles::{CellSet, TileCache, Tiling},
    },
    hydrology::HEAVY_RAIN,
    process::saved_state::NamedValues,
};

stages! {
    /// Droplets spawn: uniformly, weighted by the rain map if there is one, and at springs if enabled.
    Spawning = "spawning",
    /// Droplets move downhill, eroding and depositing, until all have ended; their remaining load then settles. While Water is
    /// enabled, their remaining water joins it.
    Descent = "descent",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "droplets",
    title: "Droplets",
    about: "Droplets of rain run downhill, erode where their load is below the transport capacity and deposit where \
        it exceeds it.",
    reference: Reference {
        source: "McDonald 2020 and 2023 (streams); SimpleErosion (McDonald 2020) and its sign-corrected form of 2025; \
            Chiba 1998 as in UIUC CS 418",
        equations: &[
            include_str!("mod.rs"),
            include_str!("streams.rs"),
            include_str!("corrected.rs"),
            include_str!("published.rs"),
        ],
    },
    footprint: Footprint { per_cell: 66, per_cell_and_thread: 0 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Softness, Layer::Start, Layer::Rain],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water],
    moves_water: false,
    stages: Stage::ALL,
    limiters: &[
        Limiter {
            name: "steps",
            about: "Steps shortened so that no droplet moves farther than one cell; in the published mode, ticks whose time step \
                was reduced to the stable maximum.",
        },
        Limiter {
            name: "erosion",
            about: "Steps whose erosion was limited to a fraction of the droplet's fall in that step; in the published mode, to \
                the whole fall.",
        },
        Limiter {
            name: "deposition",
            about: "Steps whose deposition was limited to the rise ahead or the drop behind, so that no mound forms.",
        },
        Limiter {
            name: "banks",
            about: "Bank failures: cells that exceeded their stable angle above a cell eroded by a droplet.",
        },
        Limiter { name: "circling", about: "Droplets that ended because they kept circling a periodic map." },
    ],
};

/// The process: its parameters, the droplets waiting to run, and its counters.
#[derive(Clone, Default)]
pub struct Droplets {
    setup: Setup<Params, Factors>,
    waiting: Vec<DropletStart>,
    /// Contributing area of a droplet of this tick, in square metres.
    contributing_area: f32,
    /// Droplets per wave of this tick, and droplets in the tick.
    wave: usize,
    droplets_in_tick: usize,
    /// The wave in progress.
    running_wave: Option<RunningWave>,
    copies: Copies,
    discharge: Discharge,
    /// Cells where a wave has undercut a bank.
    undercut: CellSet,
    published: TileCache<DriveTile>,
    peak: Peak,
    tracks: Vec<Track>,
    watches: bool,
    /// Trajectory of the only droplet, if one is followed.
    trajectory: Option<Vec<ParticleState>>,
}

impl Droplets {
    /// Returns the process with these parameters.
    pub fn with(params: Params) -> Self {
        Self { setup: Setup::with(params), ..Self::default() }
    }
}

impl Process for Droplets {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn setup(&self) -> &dyn AnySetup {
        &self.setup
    }

    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.setup
    }

    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        match (self.setup.params.mode, self.setup.params.law) {
            // Beyond this, a droplet at terminal speed, 1/(ρ·μ), erodes more than its own fall.
            (Mode::Published, DropletLaw::MassTransfer) => {
                let Params { density, friction, deposition_rate, .. } = self.setup.params;
                self.longest_step().min(density * friction / deposition_rate)
            }
            _ => f32::INFINITY,
        }
    }

    fn idle_reason(&self, terrain: &Terrain) -> Option<IdleReason> {
        is_level(terrain).then_some(IdleReason::LevelGround)
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> StepProgress {
        let streams = self.setup.params.law == DropletLaw::Streams;
        if Stage::at(stage) == Stage::Spawning {
            let mut stream = RandomStream::new(context.seed, INFO.key, context.tick);
            let masked = self.setup.masked_params(context.terrain, self.setup.params.mode);
            if streams {
                self.discharge.begin(context.terrain, streams::update_rate(&self.setup.params, context.terrain));
            } else {
                self.discharge.clear();
            }
            let (params, discharge) = (&self.setup.params, &self.discharge);
            let DropletRain { starts, contributing_area } =
                DropletRain::new(context.terrain, context.tick, params, masked.as_ref(), discharge, &mut stream);
            (self.waiting, self.contributing_area) = (starts, contributing_area);
            self.wave =
                in_waves(&mut self.waiting, context.terrain.bedrock.len(), self.setup.params.runs_as_published());
            self.droplets_in_tick = self.waiting.len();
            // Waves are taken from the end.
            self.waiting.reverse();
            self.running_wave = None;
            let cut = self.setup.params.dt > self.longest_step();
            self.setup.count_limits([u64::from(cut), 0, 0, 0, 0]);
            if self.setup.params.mode == Mode::Corrected {
                // The time in which heavy rain on the droplets' contributing area delivers their water.
                let water =
                    self.droplets_in_tick as f64 * f64::from(self.setup.params.water) * context.terrain.cell_area();
                let total_area = f64::from(self.contributing_area) * f64::from(self.setup.params.per_tick);
                self.setup.elapse(if self.droplets_in_tick > 0 { water / total_area / HEAVY_RAIN } else { 0.0 });
            }
            self.watches = context.watched;
            self.tracks.clear();
            return StepProgress::Done;
        }
        let mut wave = match self.running_wave.take() {
            Some(wave) => wave,
            None => self.begin_wave(context),
        };
        if !wave.advance(context.terrain, &mut self.discharge, context.deadline) {
            self.running_wave = Some(wave);
            return StepProgress::Paused;
        }
        let streams = wave.streams();
        self.end_wave(context, wave);
        if !self.waiting.is_empty() {
            return StepProgress::Paused;
        }
        if streams {
            self.discharge.renew(self.contributing_area);
        }
        StepProgress::Done
    }

    fn state_values(&mut self, terrain: &Terrain) -> NamedValues<'_> {
        let mut values = self.setup.counts.state_values();
        values.extend(self.discharge.state_values(terrain));
        values
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        explain::explain(self, terrain, place)
    }

    fn map(&self, quantity: Quantity, _: &Terrain) -> Option<Cow<'_, Grid>> {
        let maps = (quantity == Quantity::StreamDischarge).then(|| self.discharge.maps()).flatten();
        maps.map(|[water, ..]| Cow::Owned(water))
    }

    fn vector_map(&self, map: VectorMap, _: &Terrain) -> Option<[Grid; 2]> {
        let maps = (map == VectorMap::Momentum).then(|| self.discharge.maps()).flatten();
        maps.map(|[_, along, down]| [along, down])
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { particles: Some(self), ..Capabilities::default() }
    }
}

impl Particles for Droplets {
    fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<ParticleState>> {
        Some(self.follow_one(terrain, when, place))
    }
}

impl Droplets {
    /// Returns the longest time step of a droplet. Beyond it, in the published mode, the exchange would overshoot the capacity,
    /// friction would reverse the velocity, or the volume would become negative.
    fn longest_step(&self) -> f32 {
        match (self.setup.params.mode, self.setup.params.law) {
            (Mode::Published, DropletLaw::MassTransfer) => {
                let Params { deposition_rate, friction, evaporation_rate, .. } = self.setup.params;
                1.0 / deposition_rate.max(friction).max(evaporation_rate)
            }
            _ => f32::INFINITY,
        }
    }

    /// Returns recorders for a wave's part of the tick's tracks, or `None` if none of its droplets are tracked.
    fn new_tracks(&self, wave: usize) -> Option<TrackRecorder> {
        if self.trajectory.is_some() {
            return Some(TrackRecorder::of_one());
        }
        let until = |ran: usize| self.setup.params.tracks as usize * ran / self.droplets_in_tick.max(1);
        let ran = self.droplets_in_tick - self.waiting.len();
        let part = until(ran) - until(ran - wave);
        (self.watches && part > 0).then(|| TrackRecorder::new(part))
    }

    /// Stores the tracks of a wave.
    fn append_tracks(&mut self, tracks: TrackRecorder) {
        match &mut self.trajectory {
            Some(trajectory) => trajectory.extend(tracks.into_trajectories().flatten()),
            None => self.tracks.extend(tracks.into_tracks()),
        }
    }

    /// Takes the next wave from the queue and returns it ready to run.
    fn begin_wave(&mut self, context: &Context<'_>) -> RunningWave {
        let terrain = &*context.terrain;
        let wave = self.wave.min(self.waiting.len());
        let starts: Vec<DropletStart> = self.waiting.drain(self.waiting.len() - wave..).rev().collect();
        self.setup.counts.particles += starts.len() as u64;
        let tracks = self.new_tracks(starts.len());
        let (params, highest) = (&self.setup.params, self.peak.height(terrain));
        if params.runs_as_published() {
            self.copies = Copies::default();
            let tiles = (std::mem::take(&mut self.published), highest);
            return RunningWave::published(terrain, &starts, (params, self.longest_step()), tiles, tracks);
        }
        if params.law == DropletLaw::Streams {
            self.discharge.make_ready(terrain);
        }
        self.published = TileCache::default();
        let masked = self.setup.masked_params(terrain, params.mode);
        let copies = (std::mem::take(&mut self.copies), highest);
        RunningWave::on_copies(terrain, &starts, (params, self.contributing_area), masked, copies, tracks)
    }

    /// Writes the results of a wave back to the layers and the ledger.
    fn end_wave(&mut self, context: &mut Context<'_>, wave: RunningWave) {
        let (tiling, area) =
            (Tiling::new(context.terrain.width(), context.terrain.height()), context.terrain.cell_area());
        let RunningWave { params, supplied, highest, tracks, droplets } = wave;
        match droplets {
            WaveDroplets::OnCopies { mut copies, swarm, .. } => {
                let (terrain, outcome) = (&mut *context.terrain, swarm.into_outcome());
                let mut ground = DropletGround::new(terrain, &mut copies, highest, params.mode);
                let laid = settling::settle(&mut ground, &outcome.ended, highest);
                let undercut = &mut self.undercut;
                undercut.clear(tiling);
                ground.take_undercut(undercut);
                if params.law != DropletLaw::Streams {
                    // These erode all cells around the droplet.
                    undercut.grow();
                }
                let fallen = banks::collapse_banks(&mut ground, undercut, params.bank_slopes());
                let changed = copies.write_back(terrain);
                self.peak.follow(terrain, tiling, &changed);
                self.copies = copies;
                let [short, cut, risen] = outcome.limited;
                self.setup.count_limits([short, cut, risen, fallen.cells, outcome.endless]);
                self.setup.counts.substeps += outcome.steps;
                let row = context.ledger.solid.row(INFO.key);
                row.inflow += supplied * area;
                row.eroded += (outcome.eroded + fallen.volume) * area;
                row.deposited += (outcome.deposited + laid + fallen.volume) * area;
                row.moved += (outcome.eroded + outcome.deposited + laid + 2.0 * fallen.volume) * area;
                row.outflow += outcome.outflow * area;
                if context.water_flows && params.mode == Mode::Corrected {
                    let poured = pour(terrain, &outcome.ended, params.water / RunningWave::volume(&params));
                    context.ledger.water.row(INFO.key).inflow += poured * area;
                }
            }
            // The ground is one solid: erosion takes sand first, deposition adds bedrock.
            WaveDroplets::Published { mut tiles, swarm, .. } => {
                let outcome = swarm.into_outcome();
                let (net, visited) = published_wave::write_back(context.terrain, &mut tiles);
                self.peak.follow(context.terrain, tiling, &visited);
                self.published = tiles;
                self.setup.counts.substeps += outcome.steps;
                let row = context.ledger.solid.row(INFO.key);
                row.moved += outcome.moved * area;
                row.eroded += 0.5 * (outcome.moved + net) * area;
                row.deposited += 0.5 * (outcome.moved - net) * area;
                row.outflow += outcome.outflow * area;
                row.lost += (net - outcome.outflow) * area;
            }
        }
        if let Some(tracks) = tracks {
            self.append_tracks(tracks);
        }
    }
}

/// Adds the remaining water of droplets to the cells where they ended, `depth` metres per unit of volume. Returns the actual change
/// of the layer, in metres times cells.
fn pour(terrain: &mut Terrain, ended: &[Droplet], depth: f32) -> f64 {
    let width = terrain.width();
    let mut poured = 0.0;
    for droplet in ended {
        let water = &mut terrain.water[droplet.y as usize * width + droplet.x as usize];
        let before = *water;
        *water += depth * droplet.volume.max(0.0);
        poured += f64::from(*water) - f64::from(before);
    }
    poured
}
