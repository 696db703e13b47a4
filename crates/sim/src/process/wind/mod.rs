//! Aeolian transport: wind entrains sand, carries it and deposits it, and the sand forms dunes.
//!
//! In the default mode the airflow is computed over the whole map (`air.rs`) and carries sand from cell to cell (`drift.rs`), and lee
//! slopes slide (`slip.rs`). The published mode has two laws, "2020" (`law2020.rs`) and "boundary layer" (`boundary.rs`), which move
//! grains one after the other (`grains.rs`).

mod air;
mod boundary;
mod drift;
#[cfg(test)]
mod dunes;
mod explain;
mod grains;
mod law2020;
mod params;
mod response;
mod slip;
mod steps;
#[cfg(test)]
mod tests;
mod weather;
mod wetness;

use std::borrow::Cow;

use rayon::prelude::*;

use self::{air::Air, drift::TABLE};
pub use self::{
    params::{Params, WindLaw},
    steps::thinnest_sheet,
    weather::Weather,
};
use super::{
    AnySetup, Capabilities, Context, Footprint, IdleReason, Info, Mode, ParticleState, Particles, Process, Reference,
    Setup, StepProgress, Track, any_above, explain::Explanation, is_empty, limiter::Limiter, stage::stages,
};
use crate::{
    core::{
        grid::Grid,
        quantity::Quantity,
        rng::RandomStream,
        terrain::{Edge, Layer, Terrain},
    },
    process::{
        masked::factors,
        saved_state::{NamedValues, StateValue},
    },
};

factors!(strength, abrasion, saturation_length, capacity, speed_up, repose_angle);

stages! {
    /// Direction, strength and turbulence of the wind are sampled for this tick.
    Forcing = "forcing",
    /// The deflection and speed-up of the wind by the terrain are computed, if the ground has changed enough since the last time.
    Airflow = "airflow",
    /// The wind entrains sand up to its capacity and deposits it in the lee.
    Transport = "transport",
    /// Sand steeper than the angle of repose slides.
    Avalanching = "avalanching",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "wind",
    title: "Wind",
    about: "Wind entrains sand, carries it over crests and deposits it in their lee; sand in the air abrades rock.",
    reference: Reference {
        source: "McDonald 2020 and 2023; Jackson & Hunt 1975, Sauermann et al. 2001, Kroy et al. 2002",
        equations: &[
            include_str!("mod.rs"),
            include_str!("drift.rs"),
            include_str!("air.rs"),
            include_str!("grains.rs"),
            include_str!("law2020.rs"),
            include_str!("boundary.rs"),
        ],
    },
    footprint: Footprint { per_cell: 88, per_cell_and_thread: 0 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Softness],
    writes: &[Layer::Bedrock, Layer::Sand],
    moves_water: false,
    stages: Stage::ALL,
    limiters: &[Limiter {
        name: "slow ticks",
        about: "Ticks in which the wind carried less sand than its capacity, because small cells would have needed too many steps.",
    }],
};

/// Wind process: parameters, state between stages, and stored maps.
#[derive(Clone, Default)]
pub struct Wind {
    setup: Setup<Params, Factors>,
    weather: Option<Weather>,
    table: NoiseTable,
    spare: Option<WindMaps>,
    air: Air,
    /// Grains of the tick that have not run yet: published laws only.
    waiting: u32,
    /// Steps of the tick in the default mode, and the number of steps left.
    steps: u32,
    steps_left: u32,
    /// Rounds of sliding after each step, and the fraction of its load that the wind carries.
    rounds: u32,
    slows: f32,
    /// Sub-cell remainder of the movement of sand in the air, along columns and rows.
    remainder: [f64; 2],
    /// Sand that rounding has withheld from the ground or, if negative, added to it, in metres times cells. After a step it is less
    /// than the last digit of one cell's sand.
    owed: f64,
    tracks: Vec<Track>,
}

/// Table of random numbers from −1 to 1.
#[derive(Clone)]
struct NoiseTable(Box<[f32; TABLE]>);

impl Default for NoiseTable {
    fn default() -> Self {
        Self(Box::new([0.0; TABLE]))
    }
}

/// Stored maps.
#[derive(Clone)]
struct WindMaps {
    path: Grid,
    flux: Grid,
    abraded: Grid,
    /// Sand in the air, in metres, and the heights for which the airflow was last computed.
    aloft: Grid,
    seen: Grid,
    /// Wetness of the sand: 1 at saturation.
    wet: Grid,
    /// 1 where a grain touched the ground in this tick, and the sand that passed, in metres; empty without grains.
    touched: Grid,
    passed: Grid,
}

impl WindMaps {
    fn fit(&self, terrain: &Terrain) -> bool {
        (self.path.width(), self.path.height()) == (terrain.width(), terrain.height())
    }

    fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let [path, flux, abraded, aloft, seen, wet] = std::array::from_fn(|_| empty());
        let [touched, passed] = std::array::from_fn(|_| Grid::filled(0, 0, 0.0));
        Self { path, flux, abraded, aloft, seen, wet, touched, passed }
    }

    /// Allocates and clears the maps of grains, or frees them.
    fn reset_grain_maps(&mut self, grains: bool) {
        let (width, height) = if grains { (self.path.width(), self.path.height()) } else { (0, 0) };
        for map in [&mut self.touched, &mut self.passed] {
            if map.len() == width * height {
                map.fill(0.0);
            } else {
                *map = Grid::filled(width, height, 0.0);
            }
        }
    }
}

impl Wind {
    /// Returns the process with these parameters.
    pub fn with(params: Params) -> Self {
        Self { setup: Setup::with(params), ..Self::default() }
    }
}

impl Process for Wind {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn setup(&self) -> &dyn AnySetup {
        &self.setup
    }

    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.setup
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> StepProgress {
        let terrain = &mut *context.terrain;
        let mut maps = self.spare.take().filter(|maps| maps.fit(terrain)).unwrap_or_else(|| WindMaps::new(terrain));
        let progress = match Stage::at(stage) {
            Stage::Forcing => {
                self.tracks.clear();
                maps.reset_grain_maps(self.has_grains());
                self.begin(terrain, context.seed, context.tick);
                if self.has_grains() {
                    self.deposit_airborne(context, &mut maps);
                } else {
                    self.soak(context, &mut maps);
                }
                StepProgress::Done
            }
            Stage::Airflow => {
                if self.steps_left > 0 {
                    self.update_airflow(context.terrain, &mut maps);
                }
                StepProgress::Done
            }
            Stage::Transport => {
                if self.steps_left > 0 {
                    self.carry(context, &mut maps);
                } else {
                    self.blow(context, &mut maps);
                }
                if self.waiting > 0 { StepProgress::Paused } else { StepProgress::Done }
            }
            Stage::Avalanching => {
                if self.steps > 0 {
                    self.slip(context);
                }
                if self.steps_left == 0 {
                    self.update_averages(&mut maps, context.watched);
                    StepProgress::Done
                } else {
                    StepProgress::ContinueAt(Stage::Airflow as usize)
                }
            }
        };
        self.spare = Some(maps);
        progress
    }

    fn state_values(&mut self, terrain: &Terrain) -> NamedValues<'_> {
        let mut values = self.setup.counts.state_values();
        values.push(("owed", StateValue::Number(&mut self.owed)));
        let [x, y] = &mut self.remainder;
        values.extend([("way x", x), ("way y", y)].map(|(name, value)| (name, StateValue::Number(value))));
        let maps = self.spare.take().filter(|maps| maps.fit(terrain)).unwrap_or_else(|| WindMaps::new(terrain));
        let WindMaps { path, flux, abraded, aloft, seen, wet, .. } = self.spare.insert(maps);
        let maps = [("path", path), ("flux", flux), ("abraded", abraded)];
        values.extend(maps.map(|(name, map)| (name, StateValue::Cells(map))));
        let maps = [("aloft", aloft), ("seen", seen), ("wet", wet)];
        values.extend(maps.map(|(name, map)| (name, StateValue::Cells(map))));
        values
    }

    fn idle_reason(&self, terrain: &Terrain) -> Option<IdleReason> {
        let is_aloft = || self.spare.as_ref().is_some_and(|maps| !is_empty(&maps.aloft));
        if is_empty(&terrain.sand) && !is_aloft() {
            return Some(IdleReason::NoSand);
        }
        let needed = thinnest_sheet(terrain.cell_size);
        (!self.has_grains() && !any_above(&terrain.sand, needed)).then_some(IdleReason::ThinSand { needed })
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        explain::explain(self, terrain, place)
    }

    fn map(&self, quantity: Quantity, _: &Terrain) -> Option<Cow<'_, Grid>> {
        let maps = self.spare.as_ref()?;
        let map = match quantity {
            Quantity::WindPath => &maps.path,
            Quantity::WindFlux => &maps.flux,
            Quantity::Abrasion => &maps.abraded,
            Quantity::Wetness if !self.has_grains() => &maps.wet,
            _ => return None,
        };
        Some(Cow::Borrowed(map))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let weather = Some(Weather::mean(&self.setup.params));
        Capabilities { particles: Some(self), weather, ..Capabilities::default() }
    }
}

impl Particles for Wind {
    fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<ParticleState>> {
        self.follow_one(terrain, when, place)
    }
}

impl Wind {
    /// Returns `true` if grains carry the sand.
    fn has_grains(&self) -> bool {
        self.setup.params.mode == Mode::Published
    }

    /// Returns `true` if sand that crosses the border re-enters on the opposite side.
    fn returns(&self, terrain: &Terrain) -> bool {
        terrain.edge == Edge::Wrap || (terrain.edge == Edge::Open && self.setup.params.refeed)
    }

    /// Draws the wind of the tick, and sets its number of steps or grains.
    fn begin(&mut self, terrain: &Terrain, seed: u64, tick: u64) {
        let params = &self.setup.params;
        (self.steps, self.steps_left, self.waiting) = (0, 0, 0);
        if self.has_grains() {
            (self.weather, self.waiting) = (Some(Weather::mean(params)), params.per_tick);
            return;
        }
        let mut stream = RandomStream::new(seed, INFO.key, tick);
        let weather = Weather::of(params, tick, &mut stream);
        self.weather = Some(weather);
        self.table.0.fill_with(|| 2.0 * stream.uniform() - 1.0);
        self.count_steps(terrain, weather.strength);
    }

    /// Adds the tick to the averaged maps.
    fn update_averages(&self, maps: &mut WindMaps, watched: bool) {
        let rate = self.setup.params.path_rate;
        let follow = |map: &mut Grid, now: &Grid| {
            map.iter_mut().zip(now.iter()).for_each(|(map, now)| *map += rate * (now - *map));
        };
        if self.steps > 0 {
            let WindMaps { path, flux, aloft, .. } = maps;
            path.par_iter_mut().zip(aloft.par_iter()).with_min_len(4096).for_each(|(path, &aloft)| {
                *path += rate * (if aloft > 0.0 { 1.0 } else { 0.0 } - *path);
            });
            if watched {
                let steps = self.steps as f32;
                flux.iter_mut().zip(aloft.iter()).for_each(|(flux, aloft)| *flux += rate * (steps * aloft - *flux));
            }
            return;
        }
        follow(&mut maps.path, &maps.touched);
        if watched {
            follow(&mut maps.flux, &maps.passed);
        }
    }
}
