//! Wind lifts sand, carries it and drops it, and the sand piles into dunes.
//!
//! Two laws, each as published and in the cured default: of 2020 ([`law2020`]) and with a boundary layer (`boundary.rs`). Three of
//! the four drive grains. All grains of a wave see the ground as the last wave left it, and what they do to it is counted in whole
//! quanta (`field.rs`), so the result does not depend on the number of threads. The default boundary layer has no grains: the air is
//! found over the whole map (`air.rs`), carries sand from cell to cell (`drift.rs`), and lees slide (`slip.rs`).

mod air;
mod boundary;
mod drift;
#[cfg(test)]
mod dunes;
mod explain;
mod field;
mod flight;
pub mod law2020;
mod params;
mod response;
mod settle;
mod slip;
mod steps;
#[cfg(test)]
mod tests;
mod waves;
mod weather;
mod wetness;

use rayon::prelude::*;

use std::borrow::Cow;

use self::{
    air::Air,
    field::{Field, QUANTA, Tallies},
    flight::{Start, TABLE},
    law2020::TALL,
    settle::Marks,
    waves::Flight,
};
pub use self::{
    params::{Params, Spawn, WindLaw},
    weather::Weather,
};
use super::{
    Abilities, AnySetup, Context, Footprint, Info, Map, Mode, Moment, Particles, Process, Progress, Reference, Setup,
    Track, explain::Explanation, guard::Guard, stage::stages,
};
use crate::{
    core::{
        grid::Grid,
        quantity::Quantity,
        rng::Stream,
        terrain::{Edge, Layer, Terrain},
    },
    process::{
        masked::{Scaled, factors},
        memory::{Memories, Memory},
    },
};

factors!(strength, per_tick, abrasion, saturation_length, capacity, speed_up, repose_angle);

stages! {
    /// The wind of the tick: how strong, where to, and how strong close to the ground.
    Gust = "gust",
    /// Finds how the ground turns the wind and makes it stronger and weaker, if the ground has changed enough since the last time.
    Air = "air",
    /// The wind lifts sand where it can carry more and drops it in the lee.
    Blow = "blow",
    /// What it left too steep slides down.
    Slide = "slide",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "wind",
    title: "Wind",
    about: "Wind lifts sand, carries it over crests and drops it behind them; it wears rock with what it carries.",
    reference: Reference {
        source: "McDonald 2020 and 2023; Jackson & Hunt 1975, Sauermann et al. 2001, Kroy et al. 2002",
        equations: &[
            include_str!("mod.rs"),
            include_str!("drift.rs"),
            include_str!("air.rs"),
            include_str!("law2020.rs"),
            include_str!("boundary.rs"),
        ],
    },
    footprint: Footprint { per_cell: 88, per_cell_and_thread: 25 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Softness],
    writes: &[Layer::Bedrock, Layer::Sand],
    moves_water: false,
    stages: Stage::ALL,
    guards: &[
        Guard {
            name: "sharing",
            about: "Cells with less sand than the grains that run together would have taken: the grains shared what there was.",
        },
        Guard {
            name: "slow ticks",
            about: "Ticks in which the wind carried less than it could, as small cells would have needed too many steps.",
        },
    ],
};

/// At most one grain of a wave for so many cells: grains don't see what others of their wave do.
const CELLS_PER_GRAIN: usize = 64;
/// Most grains of a wave. On a large map more could fly at once, but a frame need not wait for all of them.
const MOST_GRAINS: usize = 16_384;

/// The process: parameters, what waits between stages, and the maps that it keeps.
#[derive(Clone, Default)]
pub struct Wind {
    setup: Setup<Params, Factors>,
    waiting: Vec<Start>,
    /// Grains that started in this tick.
    started: usize,
    weather: Option<Weather>,
    table: Table,
    field: Field,
    tallies: Vec<Tallies>,
    spare: Option<Maps>,
    air: Air,
    /// Steps of the tick in the default law, and how many of them are still to be made.
    steps: u32,
    left: u32,
    /// Rounds of sliding after each, and the share of its load that the wind carries.
    rounds: u32,
    slows: f32,
    /// How far sand in the air has got beyond whole cells, along columns and rows.
    way: [f64; 2],
    /// Sand that rounding has withheld from the ground, or, negative, has added to it, in metres times cells. What is left of
    /// it after a wave is less than the last digit of one cell's sand.
    owed: f64,
    tracks: Vec<Track>,
    /// The way of the grain that is followed.
    followed: Vec<Moment>,
}

/// Random numbers from −1 to 1.
#[derive(Clone)]
struct Table(Box<[f32; TABLE]>);

impl Default for Table {
    fn default() -> Self {
        Self(Box::new([0.0; TABLE]))
    }
}

/// Maps that the wind keeps.
#[derive(Clone)]
struct Maps {
    path: Grid,
    flux: Grid,
    abraded: Grid,
    /// Sand in the air, in metres, and the heights over which the air was last found.
    aloft: Grid,
    seen: Grid,
    /// How wet the sand is: 1 where it holds all the water that it can.
    wet: Grid,
    /// What grains do in a tick; empty without grains.
    calls: Grid,
    touched: Grid,
    passed: Grid,
}

impl Maps {
    fn fit(&self, terrain: &Terrain) -> bool {
        (self.path.width(), self.path.height()) == (terrain.width(), terrain.height())
    }

    fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let [path, flux, abraded, aloft, seen, wet] = std::array::from_fn(|_| empty());
        let [calls, touched, passed] = std::array::from_fn(|_| Grid::filled(0, 0, 0.0));
        Self { path, flux, abraded, aloft, seen, wet, calls, touched, passed }
    }

    /// Makes room for what grains do, or gives it up.
    fn of_grains(&mut self, grains: bool) {
        let (width, height) = if grains { (self.path.width(), self.path.height()) } else { (0, 0) };
        for map in [&mut self.calls, &mut self.touched, &mut self.passed] {
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

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        let mut maps = self.spare.take().filter(|maps| maps.fit(terrain)).unwrap_or_else(|| Maps::new(terrain));
        let progress = match Stage::at(stage) {
            Stage::Gust => {
                self.tracks.clear();
                maps.of_grains(self.has_grains());
                self.begin(terrain, context.seed, context.tick);
                if self.has_grains() {
                    self.land(context, &mut maps);
                } else {
                    self.soak(context, &mut maps);
                }
                Progress::Done
            }
            Stage::Air => {
                if self.has_grains() {
                    self.see(context.terrain);
                } else {
                    self.meet(context.terrain, &mut maps);
                }
                Progress::Done
            }
            Stage::Blow => {
                if self.has_grains() {
                    self.blow(context, &mut maps);
                } else {
                    self.carry(context, &mut maps);
                }
                Progress::Done
            }
            Stage::Slide => {
                if self.has_grains() {
                    self.slide(context, &mut maps);
                } else {
                    self.slip(context);
                }
                if self.waiting.is_empty() && self.left == 0 {
                    self.remember(&mut maps, context.watched);
                    Progress::Done
                } else {
                    Progress::From(Stage::Air as usize)
                }
            }
        };
        self.spare = Some(maps);
        progress
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        let mut kept = self.setup.counts.memories();
        kept.push(("owed", Memory::Number(&mut self.owed)));
        let [x, y] = &mut self.way;
        kept.extend([("way x", x), ("way y", y)].map(|(name, way)| (name, Memory::Number(way))));
        let maps = self.spare.take().filter(|maps| maps.fit(terrain)).unwrap_or_else(|| Maps::new(terrain));
        let Maps { path, flux, abraded, aloft, seen, wet, .. } = self.spare.insert(maps);
        let maps = [("path", path), ("flux", flux), ("abraded", abraded)];
        kept.extend(maps.map(|(name, map)| (name, Memory::Cells(map))));
        let maps = [("aloft", aloft), ("seen", seen), ("wet", wet)];
        kept.extend(maps.map(|(name, map)| (name, Memory::Cells(map))));
        kept
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        explain::explain(self, terrain, place)
    }

    fn map(&self, map: Map, _: &Terrain) -> Option<Cow<'_, Grid>> {
        let Map::Quantity(quantity) = map else { return None };
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

    fn abilities(&self) -> Abilities<'_> {
        let weather = Some(Weather::mean(&self.setup.params));
        Abilities { particles: Some(self), weather, ..Abilities::default() }
    }
}

impl Particles for Wind {
    fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    fn follow(&self, terrain: &Terrain, when: (u64, u64), place: [f32; 2]) -> Option<Vec<Moment>> {
        self.follow_one(terrain, when, place)
    }
}

impl Wind {
    /// Whether the law drives grains.
    fn has_grains(&self) -> bool {
        (self.setup.params.mode, self.setup.params.law) != (Mode::Corrected, WindLaw::BoundaryLayer)
    }

    /// Whether grains keep what they carry when they cross the border.
    fn returns(&self, terrain: &Terrain) -> bool {
        terrain.edge == Edge::Wrap || (terrain.edge == Edge::Open && self.setup.params.refeed)
    }

    /// Most grains of a wave.
    fn wave(&self, terrain: &Terrain) -> usize {
        (terrain.sand.len() / CELLS_PER_GRAIN).clamp(1, MOST_GRAINS)
    }

    /// Chooses the wind of the tick and where its grains start.
    fn begin(&mut self, terrain: &Terrain, seed: u64, tick: u64) {
        let params = &self.setup.params;
        let mut stream = Stream::new(seed, INFO.key, tick);
        let cured = params.mode == Mode::Corrected;
        let weather = if cured { Weather::of(params, tick, &mut stream) } else { Weather::mean(params) };
        self.weather = Some(weather);
        if !self.has_grains() {
            self.table.0.fill_with(|| 2.0 * stream.unit() - 1.0);
            self.count_steps(terrain, weather.strength);
            return;
        }
        let upwind = match (params.mode, params.law) {
            (Mode::Published, law) => law == WindLaw::_2020,
            (Mode::Corrected, _) => params.spawn == Spawn::Upwind,
        };
        // Published grains of 2020 end in the outermost cells, and start beside them.
        let margin = if upwind && !cured { MARGIN } else { 0 };
        let velocity = weather.heading.map(|part| part * weather.strength);
        let masked = self.setup.masked(terrain, self.setup.params.mode);
        let mask = |place: [f32; 2]| {
            masked.as_ref().map_or(0.0, |masked| masked.mask.at(place[0] as usize, place[1] as usize))
        };
        let stronger = masked.as_ref().map_or(0.0, |masked| waves::stronger(params, &masked.params) - 1.0);
        let more = masked.as_ref().map_or(0.0, |masked| masked.params.per_tick as f32 / params.per_tick as f32 - 1.0);
        // Where the mask makes them fewer, some of them don't start; where it makes them more, more are drawn for all.
        let drawn = (params.per_tick as f32 * (1.0 + more.max(0.0))) as u32;
        let mut starts: Vec<Start> = (0..drawn)
            .map(|_| {
                let place = place(terrain, upwind.then_some(weather.heading), margin, &mut stream);
                let velocity = velocity.map(|part| part * (1.0 + stronger * mask(place)));
                Start { place, velocity, load: 0, random: stream.below(TABLE) as i32 }
            })
            .collect();
        if more != 0.0 {
            starts.retain(|start| stream.unit() * (1.0 + more.max(0.0)) < 1.0 + more * mask(start.place));
        }
        self.started = starts.len();
        if !cured {
            starts.iter_mut().for_each(|start| start.place = start.place.map(f32::floor));
        }
        // Waves are taken from the end.
        starts.reverse();
        let wave = self.wave(terrain);
        // Those that run side by side in a vector see the same part of the map.
        let (width, height) = (terrain.width() as f32, terrain.height() as f32);
        let tile = |start: &Start| ((start.place[1] * 8.0 / height) as u32, (start.place[0] * 8.0 / width) as u32);
        starts.rchunks_mut(wave).for_each(|wave| wave.sort_by_key(tile));
        self.waiting = starts;
        self.table.0.fill_with(|| 2.0 * stream.unit() - 1.0);
    }

    /// Runs a wave of grains and turns what they did into sand and rock.
    fn blow(&mut self, context: &mut Context<'_>, maps: &mut Maps) {
        let terrain = &mut *context.terrain;
        let Some(weather) = self.weather else { return };
        let wave = self.wave(terrain).min(self.waiting.len());
        let starts: Vec<Start> = self.waiting.drain(self.waiting.len() - wave..).rev().collect();
        self.setup.counts.particles += starts.len() as u64;
        let quantum = f64::from(terrain.cell_size / QUANTA);
        // Of a tick's waves, the first leaves tracks.
        let first_wave = self.waiting.len() + wave == self.started;
        let tracks = if context.watched && first_wave { self.setup.params.tracks as usize } else { 0 };
        let flight = Flight { starts: &starts, tracks, watched: context.watched, follows: None };
        let mut attempt = 1;
        let outcome = loop {
            let (outcome, bite) = self.fly(terrain, weather, flight);
            settle::gather(&mut self.tallies, &self.field);
            let Some(tallies) = self.tallies.first_mut() else { return };
            let overdrawn = settle::share_out(terrain, tallies, &mut self.field, bite, attempt);
            if overdrawn == 0 {
                break outcome;
            }
            self.setup.count_limits([overdrawn as u64, 0]);
            attempt *= 2;
        };
        let Some(tallies) = self.tallies.first_mut() else { return };
        let mut marks = Marks {
            calls: &mut maps.calls,
            touched: &mut maps.touched,
            passed: &mut maps.passed,
            abraded: &mut maps.abraded,
        };
        let grown = settle::deposit(terrain, tallies, &self.field, &mut marks);
        self.setup.counts.substeps += outcome.steps;
        let cells = |quanta: i64| quanta as f64 * quantum;
        self.owed += cells(outcome.dropped - outcome.lifted) - grown;
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        row.eroded += cells(outcome.lifted) * area;
        row.deposited += cells(outcome.dropped) * area;
        row.moved += cells(outcome.lifted + outcome.dropped + 2 * outcome.worn) * area;
        row.outflow += cells(outcome.outflow) * area;
        row.lost += cells(outcome.lifted - outcome.dropped - outcome.outflow) * area;
    }

    /// Lets sand slide that lies too steep.
    fn slide(&mut self, context: &mut Context<'_>, maps: &mut Maps) {
        let terrain = &mut *context.terrain;
        let tall = TALL as f32 * terrain.cell_size;
        let params = &self.setup.params;
        let [lies, slides] = match params.law {
            WindLaw::_2020 => [params.roughness, params.dt * params.settling],
            WindLaw::BoundaryLayer => [params.slope_limit, 0.125],
        };
        let [slid, grown] = settle::cascade(terrain, &maps.calls, lies * tall, Scaled::new(params, None, |_| [slides]));
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        row.moved += 2.0 * slid * area;
        row.eroded += slid * area;
        row.deposited += slid * area;
        self.owed -= grown;
        self.owed = settle::repay(&mut terrain.sand, self.owed, context.tick, |cell, _| maps.calls[cell] > 0.0);
    }

    /// Takes the tick into the averaged maps.
    fn remember(&self, maps: &mut Maps, watched: bool) {
        let rate = self.setup.params.path_rate;
        let follow = |map: &mut Grid, now: &Grid| {
            map.iter_mut().zip(now.iter()).for_each(|(map, now)| *map += rate * (now - *map));
        };
        if !self.has_grains() {
            let Maps { path, flux, aloft, .. } = maps;
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

/// Cells at the border in which published grains of 2020 end.
const MARGIN: usize = 2;

/// Where a grain starts: everywhere alike, or on the borders that face the wind, more on the one that faces it more.
fn place(terrain: &Terrain, heading: Option<[f32; 2]>, margin: usize, stream: &mut Stream) -> [f32; 2] {
    let sides = [terrain.width(), terrain.height()];
    let mut within = |side: usize, margin: usize| {
        let inner = side.saturating_sub(2 * margin).max(1);
        let cell = stream.below(inner) + margin.min(side - 1);
        (cell as f32 + stream.unit()).min((cell as f32 + 1.0).next_down())
    };
    let [x, y] = [within(sides[0], margin), within(sides[1], margin)];
    let Some([cos, sin]) = heading else { return [x, y] };
    // How much wind comes in over either border.
    let (over_columns, over_rows) = (cos.abs() * sides[1] as f32, sin.abs() * sides[0] as f32);
    let border = |part: f32, side: usize| {
        let cell = if part > 0.0 { margin.min(side - 1) } else { side.saturating_sub(1 + margin) };
        cell as f32 + 0.5
    };
    if stream.unit() * (over_columns + over_rows) < over_columns {
        [border(cos, sides[0]), y]
    } else {
        [x, border(sin, sides[1])]
    }
}
