//! Wind: grains that it drives over the ground lift sand, carry it and drop it, and the sand piles into dunes.
//!
//! Two laws, each as published and in the cured default: of 2020 ([`law2020`]) and with a boundary layer (`boundary.rs` as
//! published, `drift.rs` in the wind that `air.rs` finds). All grains of a wave see the ground as the last wave left it, and
//! what they do to it is counted in whole quanta (`field.rs`), so the result does not depend on the number of threads.

mod air;
mod boundary;
mod drift;
mod field;
mod flight;
pub mod law2020;
mod settle;
#[cfg(test)]
mod tests;
mod weather;

use bevy_reflect::{Reflect, structs::Struct};

pub use self::weather::Weather;
use self::{
    air::decay,
    boundary::Boundary,
    drift::{Beyond, Drift, TABLE},
    field::{CAPACITY, Field, HEIGHT, LOOSE, QUANTA, Tallies, WEAR},
    flight::{Outcome, Start},
    law2020::{Constants, Law2020, TALL},
    settle::{Marks, Slope},
};
use super::{Context, Counts, Info, Mode, Process, Progress, Stage, Track};
use crate::{
    params::{choice, knob},
    sim::{
        grid::Grid,
        quantity::Quantity,
        rng::Stream,
        terrain::{Edge, Layer, Terrain},
    },
};

const W1: &str = "McDonald 2020, simple wind erosion";
const W2: &str = "its successor of 2023";
const OURS: &str = "ours";

/// How grains move and what they can carry.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Law {
    /// Grains beat sand loose where they hit the ground, and drop it while they fly.
    _2020,
    /// Grains carry what the wind close to the ground can hold.
    #[default]
    BoundaryLayer,
}

/// Where grains start.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spawn {
    /// Everywhere alike.
    #[default]
    Uniform,
    /// On the borders that face the wind.
    Upwind,
}

/// Parameters of the wind.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Cured, or as published.
    #[reflect(@choice().source(W1))]
    pub mode: Mode,
    /// Which of the two models moves the grains.
    #[reflect(@choice().source("McDonald 2020 and 2023"))]
    pub law: Law,
    /// Where the wind blows to: 0° along columns, 90° along rows.
    #[reflect(@knob(0.0..=360.0).unit("°").source(W1).main())]
    pub direction: f32,
    /// How strong it blows. Strong wind carries more and moves dunes faster; at 0 nothing moves.
    #[reflect(@knob(0.0..=6.0).unit("cells/time").symbol("v").source(W1).main())]
    pub strength: f32,
    /// How much its strength changes from tick to tick, as a share. Gusts make dunes less regular.
    #[reflect(@knob(0.0..=1.0).source(OURS))]
    pub gusts: f32,
    /// How far its direction swings from tick to tick. Wide swings round off crests and widen heaps.
    #[reflect(@knob(0.0..=180.0).unit("°").source(OURS))]
    pub swing: f32,
    /// Where a second wind blows to.
    #[reflect(@knob(0.0..=360.0).unit("°").source(OURS))]
    pub second_direction: f32,
    /// Share of the time in which the second wind blows. Two winds from both sides make long ridges.
    #[reflect(@knob(0.0..=1.0).source(OURS).main())]
    pub second_share: f32,
    /// How far the wind turns in a thousand ticks. A wind from all sides heaps sand into stars.
    #[reflect(@knob(-3600.0..=3600.0).unit("°").source(OURS))]
    pub turning: f32,
    /// Grains that are driven over the map in one tick. More is faster change per tick and longer ticks.
    #[reflect(@knob(1.0..=100_000.0).unit("grains").source(W2).log().main())]
    pub per_tick: u32,
    /// Where grains start. As published, on the upwind borders in the law of 2020 and everywhere in the other one.
    #[reflect(@choice().source("McDonald 2020 and 2023"))]
    pub spawn: Spawn,
    /// Whether the sand that leaves over an open border comes in on the other side. Off, the map is blown bare.
    #[reflect(@choice().source(OURS))]
    pub refeed: bool,
    /// How many grains leave streaks for the eye.
    #[reflect(@knob(0.0..=500.0).unit("grains").source(OURS))]
    pub tracks: u32,
    /// How fast the map of the wind's ways follows the last tick. Low remembers long.
    #[reflect(@knob(0.001..=1.0).unit("1/tick").source(W1).log())]
    pub path_rate: f32,
    /// How fast carried sand wears bare rock. High makes sand from rock and rounds off what stands in the wind.
    #[reflect(@knob(0.0..=1.0).symbol("ka").source(W1).main())]
    pub abrasion: f32,
    /// Law "2020": time step. Large makes grains jump over cells.
    #[reflect(@knob(0.01..=1.0).symbol("Δt").source(W1).log())]
    pub dt: f32,
    /// Law "2020": how much sand a blow beats loose, and how fast flying sand falls. High moves more sand; low leaves the
    /// slopes to slumping.
    #[reflect(@knob(0.0..=0.05).symbol("ks").source(W1))]
    pub suspension: f32,
    /// Law "2020": fall of a flying grain. High keeps grains on the ground; low lets them leap over valleys.
    #[reflect(@knob(0.001..=1.0).symbol("g").source(W1).log())]
    pub gravity: f32,
    /// Law "2020": difference of height at which sand lies still, as a multiple of 80 cells. High gives rough, steep dunes.
    #[reflect(@knob(0.0..=0.05).source(W1))]
    pub roughness: f32,
    /// Law "2020": share of the excess that slides. High flattens dunes.
    #[reflect(@knob(0.0..=1.0).source(W1))]
    pub settling: f32,
    /// Law "boundary layer": distance over which the wind takes up its load. Short makes small dunes close together, long
    /// makes few large ones; what is smaller than about ten times that vanishes.
    #[reflect(@knob(0.5..=100.0).unit("m").symbol("L").source("Sauermann et al. 2001").log().main())]
    pub saturation_length: f32,
    /// Law "boundary layer": load of a grain at a wind of one, in hundredths of the cell size. High is faster and rougher.
    #[reflect(@knob(0.01..=5.0).unit("% of a cell").source(OURS).log().main())]
    pub capacity: f32,
    /// Law "boundary layer": how much the wind speeds up over what rises into it. High makes steep dunes that grow fast.
    #[reflect(@knob(0.0..=15.0).source("Jackson & Hunt 1975").main())]
    pub speed_up: f32,
    /// Law "boundary layer": strength close to the ground below which no sand moves, as a share of the wind's over a plain.
    #[reflect(@knob(0.0..=0.95).symbol("τ₀").source("Bagnold 1941"))]
    pub threshold: f32,
    /// Law "boundary layer": how much impacts push sand downhill, as a share of what flies over it. High makes low, wide dunes.
    #[reflect(@knob(0.0..=5.0).symbol("γ").source("Hardisty & Whitehouse 1988"))]
    pub creep: f32,
    /// Law "boundary layer": depth of still air behind a crest in which the wind falls off, in cells. High lets the wind reach
    /// into lees.
    #[reflect(@knob(0.01..=5.0).unit("cells").symbol("δ").source(W2).log())]
    pub boundary_layer: f32,
    /// Law "boundary layer": how far eddies turn grains from their way. High makes smooth, wide dunes.
    #[reflect(@knob(0.0..=1.0).source(W2))]
    pub turbulence: f32,
    /// Law "boundary layer": steps after which a grain ends and drops its load.
    #[reflect(@knob(16.0..=4096.0).unit("steps").source(W2).log())]
    pub max_age: u32,
    /// Law "boundary layer": angle at which sand lies. Small makes flat dunes, large steep lees.
    #[reflect(@knob(5.0..=60.0).unit("°").symbol("φ").source("dry sand; ours").main())]
    pub repose_angle: f32,
    /// Law "boundary layer", published: share of the difference to what it can carry that a grain makes up in a step.
    #[reflect(@knob(0.0..=1.0).symbol("ks").source(W2))]
    pub uptake: f32,
    /// Law "boundary layer", published: fall of a flying grain in a step, per load.
    #[reflect(@knob(0.0..=1.0).source(W2))]
    pub weight: f32,
    /// Law "boundary layer", published: difference of height at which sand lies still, as a multiple of 80 cells.
    #[reflect(@knob(0.0..=0.05).source(W2))]
    pub slope_limit: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Default,
            law: Law::BoundaryLayer,
            direction: 45.0,
            strength: 2.0,
            gusts: 0.0,
            swing: 0.0,
            second_direction: 135.0,
            second_share: 0.0,
            turning: 0.0,
            per_tick: 1024,
            spawn: Spawn::Uniform,
            refeed: true,
            tracks: 60,
            path_rate: 0.01,
            abrasion: 0.01,
            dt: 0.25,
            suspension: 0.002,
            gravity: 0.01,
            roughness: 0.005,
            settling: 0.05,
            saturation_length: 2.0,
            capacity: 0.25,
            speed_up: 8.0,
            threshold: 0.2,
            creep: 1.2,
            boundary_layer: 0.1,
            turbulence: 0.2,
            max_age: 512,
            repose_angle: 33.0,
            uptake: 0.05,
            weight: 0.1,
            slope_limit: 0.005,
        }
    }
}

const INFO: Info = Info {
    key: "wind",
    title: "Wind",
    about: "Wind lifts sand, carries it over crests and drops it behind them; it wears rock with what it carries.",
    source: "McDonald 2020 and 2023; Jackson & Hunt 1975, Sauermann et al. 2001",
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Softness],
    writes: &[Layer::Bedrock, Layer::Sand],
    replaces: &[],
    stages: &[
        Stage {
            name: "gust",
            about: "The wind of the tick: how strong, where to, and how strong close to the ground.",
        },
        Stage {
            name: "blow",
            about: "Grains run over the map, lift sand where they can carry more and drop it in the lee.",
        },
        Stage { name: "slide", about: "What they left too steep slides down." },
    ],
};

/// At most one grain of a wave for so many cells: grains don't see what others of their wave do.
const CELLS_PER_GRAIN: usize = 64;
/// A wave of the cured law "boundary layer" is followed by so many rounds of sliding.
const SLIDES: usize = 16;
/// Of a pair's excess, what slides in a round.
const SHARE: f32 = 0.25;
/// Memory of the wind as a multiple of the saturation length.
const MEMORY: f32 = 4.0;
/// The saturation length is at least so many cells.
const SHORTEST: f32 = 0.5;
/// Distance over which the load falls in still air, as a multiple of the saturation length.
const FALLOUT: f32 = 2.0;
/// Water deeper than this keeps sand from blowing, in metres.
const WET: f32 = 1e-3;
/// Sand thinner than this leaves rock bare, as a share of the cell size.
const DUST: f32 = 1e-3;
/// Capacity of still air, as a mark.
const STILL: f32 = -1.0;

/// The process: parameters, what waits between stages, and the maps that it keeps.
#[derive(Clone, Default)]
pub struct Wind {
    /// Its parameters.
    pub params: Params,
    waiting: Vec<Start>,
    weather: Option<Weather>,
    table: Vec<f32>,
    field: Field,
    tallies: Vec<Tallies>,
    spare: Option<Maps>,
    /// Sand that rounding owes to the ground, in metres times cells: the next grain takes it along.
    owed: f64,
    counts: Counts,
    tracks: Vec<Track>,
}

/// Maps that the wind keeps.
#[derive(Clone)]
struct Maps {
    sand: Grid,
    calls: Grid,
    touched: Grid,
    passed: Grid,
    path: Grid,
    flux: Grid,
    abraded: Grid,
}

impl Maps {
    fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        Self {
            sand: empty(),
            calls: empty(),
            touched: empty(),
            passed: empty(),
            path: empty(),
            flux: empty(),
            abraded: empty(),
        }
    }
}

impl Process for Wind {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn params(&self) -> &dyn Struct {
        &self.params
    }

    fn params_mut(&mut self) -> &mut dyn Struct {
        &mut self.params
    }

    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        match (self.params.mode, self.params.law) {
            // Beyond it the drag turns grains round.
            (Mode::Published, Law::_2020) => 1.0,
            _ => f32::INFINITY,
        }
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        let mut maps = self
            .spare
            .take()
            .filter(|maps| maps.sand.len() == terrain.sand.len())
            .unwrap_or_else(|| Maps::new(terrain));
        let progress = match stage {
            0 => {
                self.begin(terrain, context.seed, context.tick);
                maps.touched.fill(0.0);
                maps.passed.fill(0.0);
                self.tracks.clear();
                Progress::Done
            }
            1 => {
                self.blow(context, &mut maps);
                Progress::Done
            }
            _ => {
                self.slide(context, &mut maps);
                if self.waiting.is_empty() {
                    self.remember(&mut maps, context.watched);
                    Progress::Done
                } else {
                    Progress::From(1)
                }
            }
        };
        self.spare = Some(maps);
        progress
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    fn map(&self, quantity: Quantity) -> Option<&Grid> {
        let maps = self.spare.as_ref()?;
        match quantity {
            Quantity::WindPath => Some(&maps.path),
            Quantity::WindFlux => Some(&maps.flux),
            Quantity::Abrasion => Some(&maps.abraded),
            _ => None,
        }
    }

    fn wind(&self) -> Option<Weather> {
        Some(Weather::mean(&self.params))
    }

    fn boxed_clone(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

impl Wind {
    /// The process with these parameters.
    pub fn new(params: Params) -> Self {
        Self { params, ..Self::default() }
    }

    /// Whether grains keep what they carry when they cross the border.
    fn returns(&self, terrain: &Terrain) -> bool {
        terrain.edge == Edge::Wrap || (terrain.edge == Edge::Open && self.params.refeed)
    }

    /// Most grains of a wave.
    fn wave(&self, terrain: &Terrain) -> usize {
        (terrain.sand.len() / CELLS_PER_GRAIN).max(1)
    }

    /// Chooses the wind of the tick and where its grains start.
    fn begin(&mut self, terrain: &Terrain, seed: u64, tick: u64) {
        let params = &self.params;
        let mut stream = Stream::new(seed, INFO.key, tick);
        let cured = params.mode == Mode::Default;
        let weather = if cured { Weather::of(params, tick, &mut stream) } else { Weather::mean(params) };
        let upwind = match (params.mode, params.law) {
            (Mode::Published, law) => law == Law::_2020,
            (Mode::Default, _) => params.spawn == Spawn::Upwind,
        };
        // Published grains of 2020 end in the outermost cells, and start beside them.
        let margin = if upwind && !cured { MARGIN } else { 0 };
        let velocity = weather.heading.map(|part| part * weather.strength);
        let mut starts: Vec<Start> = (0..params.per_tick)
            .map(|_| Start {
                place: place(terrain, upwind.then_some(weather.heading), margin, &mut stream),
                velocity,
                load: 0,
                random: stream.below(TABLE) as i32,
            })
            .collect();
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
        self.table = (0..TABLE).map(|_| 2.0 * stream.unit() - 1.0).collect();
        self.weather = Some(weather);
    }

    /// Runs a wave of grains and turns what they did into sand and rock.
    fn blow(&mut self, context: &mut Context<'_>, maps: &mut Maps) {
        let terrain = &mut *context.terrain;
        let Some(weather) = self.weather else { return };
        let wave = self.wave(terrain).min(self.waiting.len());
        let mut starts: Vec<Start> = self.waiting.drain(self.waiting.len() - wave..).rev().collect();
        self.counts.particles += starts.len() as u64;
        let quantum = f64::from(terrain.cell_size / QUANTA);
        let cured = self.params.mode == Mode::Default;
        if cured && let Some(first) = starts.first_mut() {
            first.load = (self.owed / quantum).round().clamp(-1e8, 1e8) as i32;
        }
        let taken_along = starts.first().map_or(0.0, |first| f64::from(first.load) * quantum);
        let first_wave = self.tracks.is_empty() && self.waiting.len() + wave == self.params.per_tick as usize;
        let watched = if context.watched && first_wave { self.params.tracks as usize } else { 0 };
        self.field.resize(terrain.width(), terrain.height());
        let outcome = match (self.params.mode, self.params.law) {
            (mode, Law::_2020) => self.run_2020(terrain, weather, &starts, mode, watched, context.watched),
            (Mode::Published, Law::BoundaryLayer) => {
                self.run_boundary(terrain, weather, &starts, watched, context.watched)
            }
            (Mode::Default, Law::BoundaryLayer) => self.run_drift(terrain, weather, &starts, watched, context.watched),
        };
        settle::gather(&mut self.tallies, &self.field);
        let Some(tallies) = self.tallies.first_mut() else { return };
        let mut marks = Marks {
            calls: &mut maps.calls,
            touched: &mut maps.touched,
            passed: &mut maps.passed,
            abraded: &mut maps.abraded,
        };
        let grown = settle::deposit(terrain, tallies, &self.field, &mut marks);
        self.counts.substeps += outcome.steps;
        let cells = |quanta: i64| quanta as f64 * quantum;
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        // Where sand ran out before all grains had lifted theirs, and in the last digit, the ground gave less.
        let short = cells(outcome.dropped - outcome.lifted) - grown;
        row.eroded += (cells(outcome.lifted) + short) * area;
        row.deposited += cells(outcome.dropped) * area;
        row.moved += cells(outcome.lifted + outcome.dropped + 2 * outcome.worn) * area;
        row.outflow += cells(outcome.outflow) * area;
        if cured {
            self.owed += short - taken_along;
            row.carried += (short - taken_along) * area;
        } else {
            row.lost -= (grown + cells(outcome.outflow)) * area;
        }
    }

    fn run_2020(
        &mut self,
        terrain: &Terrain,
        weather: Weather,
        starts: &[Start],
        mode: Mode,
        watched: usize,
        counts: bool,
    ) -> Outcome {
        let cured = mode == Mode::Default;
        self.see_heights(terrain, cured);
        let wind = weather.heading.map(|part| f64::from(part * weather.strength));
        let law = Law2020 {
            field: &self.field,
            constants: Constants::new(&self.params, wind, cured),
            margin: if cured { 0.0 } else { MARGIN as f32 },
            periodic: cured && self.returns(terrain),
            walls: cured && terrain.edge == Edge::Wall,
            // On a periodic map grains never leave; published ones end when they do, but none may go on for ever.
            longest: (if cured { 4 } else { 64 } * (terrain.width() + terrain.height())) as f32,
        };
        self.tracks = flight::tracks(&law, &sample(starts, watched), 0.5);
        flight::run(&law, starts, &mut self.tallies, self.field.count(), counts)
    }

    fn run_boundary(
        &mut self,
        terrain: &Terrain,
        weather: Weather,
        starts: &[Start],
        watched: usize,
        counts: bool,
    ) -> Outcome {
        self.see_heights(terrain, false);
        let law = Boundary {
            field: &self.field,
            wind: weather.heading.map(|part| part * weather.strength),
            layer: 1.0 / PUBLISHED_LAYER,
            suspension: self.params.uptake,
            gravity: self.params.weight,
            turbulence: self.params.turbulence,
            table: &self.table,
            longest: self.params.max_age as f32,
        };
        self.tracks = flight::tracks(&law, &sample(starts, watched), 0.5);
        flight::run(&law, starts, &mut self.tallies, self.field.count(), counts)
    }

    fn run_drift(
        &mut self,
        terrain: &Terrain,
        weather: Weather,
        starts: &[Start],
        watched: usize,
        counts: bool,
    ) -> Outcome {
        let params = &self.params;
        let size = terrain.cell_size;
        let length = self.length(terrain);
        let wind = air::Wind {
            heading: weather.heading,
            memory: MEMORY * length,
            speed_up: params.speed_up,
            boundary_layer: params.boundary_layer * size,
        };
        let shear = air::shear(terrain, wind);
        self.see_wind(terrain, weather, &shear);
        let lag = size / length;
        let law = Drift {
            field: &self.field,
            heading: weather.heading,
            uptake: 1.0 - decay(lag),
            fallout: 1.0 - decay(lag / FALLOUT),
            abrasion: self.params.abrasion,
            turbulence: self.params.turbulence,
            table: &self.table,
            border: match terrain.edge {
                Edge::Wall => Beyond::Stops,
                _ if self.returns(terrain) => Beyond::Returns,
                _ => Beyond::Loses,
            },
            longest: self.params.max_age as f32,
        };
        self.tracks = flight::tracks(&law, &sample(starts, watched), 0.0);
        flight::run(&law, starts, &mut self.tallies, self.field.count(), counts)
    }

    /// Fills the field with heights, sand and rock in units of 80 cells.
    fn see_heights(&mut self, terrain: &Terrain, cured: bool) {
        let Field { width, height, .. } = self.field;
        let unit = 1.0 / (TALL as f32 * terrain.cell_size);
        let edge = if self.returns(terrain) && cured { Edge::Wrap } else { terrain.edge };
        let dust = DUST * terrain.cell_size;
        field::fill(&mut self.field.ground, width, height, edge, |y, out| {
            let part = y * width..(y + 1) * width;
            let layers = terrain.bedrock[part.clone()].iter().zip(&terrain.sand[part]);
            out.iter_mut().zip(layers).for_each(|(out, (rock, sand))| *out = (rock + sand) * unit);
        });
        field::fill(&mut self.field.cells, width, height, edge, |y, out| {
            let part = y * width..(y + 1) * width;
            let sand = &terrain.sand[part.clone()];
            for (out, (rock, sand)) in out.iter_mut().zip(terrain.bedrock[part.clone()].iter().zip(sand)) {
                (out[HEIGHT], out[LOOSE]) = ((rock + sand) * unit, sand * unit);
            }
            if !cured {
                return;
            }
            let layers = terrain.water[part.clone()].iter().zip(&terrain.softness[part]);
            for ((out, &sand), (&water, softness)) in out.iter_mut().zip(sand).zip(layers) {
                let dry = water <= WET;
                if !dry {
                    out[LOOSE] = 0.0;
                }
                out[WEAR] = if dry && sand < dust { 2.0 * softness } else { 0.0 };
            }
        });
    }

    /// Fills the field with what the wind can carry and lift in every cell.
    fn see_wind(&mut self, terrain: &Terrain, weather: Weather, shear: &Grid) {
        let Field { width, height, .. } = self.field;
        let edge = if self.returns(terrain) { Edge::Wrap } else { terrain.edge };
        let per_metre = QUANTA / terrain.cell_size;
        let most = self.most(terrain, weather.strength) * per_metre;
        let (threshold, dust) = (self.params.threshold, DUST * terrain.cell_size);
        let per_shear = 1.0 / (1.0 - threshold);
        let [cos, sin] = weather.heading.map(|part| part * 0.5 / terrain.cell_size);
        let ground = |x: isize, y: isize| {
            let index = field::inside(y, height, terrain.edge) * width + field::inside(x, width, terrain.edge);
            terrain.bedrock[index] + terrain.sand[index]
        };
        field::fill(&mut self.field.cells, width, height, edge, |y, out| {
            let part = y * width..(y + 1) * width;
            let layers = terrain.sand[part.clone()].iter().zip(&terrain.water[part.clone()]);
            let layers = layers.zip(terrain.softness[part.clone()].iter().zip(&shear[part]));
            for (x, (out, ((&sand, &water), (&softness, &shear)))) in out.iter_mut().zip(layers).enumerate() {
                let dry = water <= WET;
                let moves = (shear - threshold) * per_shear;
                out[LOOSE] = if dry { sand * per_metre } else { 0.0 };
                out[CAPACITY] = if dry && moves > 0.0 { most * moves } else { STILL };
                out[WEAR] = if dry && sand < dust {
                    // What flies over a plain hardly touches it; it hits what faces it.
                    let (x, y) = (x as isize, y as isize);
                    let faces =
                        (ground(x + 1, y) - ground(x - 1, y)) * cos + (ground(x, y + 1) - ground(x, y - 1)) * sin;
                    2.0 * softness * (faces.max(0.0) + 0.02) * shear
                } else {
                    0.0
                };
            }
        });
    }

    /// Distance over which the wind takes up its load, in metres.
    fn length(&self, terrain: &Terrain) -> f32 {
        self.params.saturation_length.max(SHORTEST * terrain.cell_size)
    }

    /// Load of a grain over a plain, in metres; at most a quarter of a cell, so that a wave stays a small change.
    fn most(&self, terrain: &Terrain, strength: f32) -> f32 {
        (self.params.capacity * 0.01 * strength * strength).min(0.25) * terrain.cell_size
    }

    /// Lets sand slide that lies too steep.
    fn slide(&mut self, context: &mut Context<'_>, maps: &mut Maps) {
        let terrain = &mut *context.terrain;
        let tall = TALL as f32 * terrain.cell_size;
        let params = &self.params;
        let cascade = |difference: f32, share: f32| {
            (1, Slope { lies: [difference * tall; 2], share: share.min(0.125), called: true, creep: 0.0 })
        };
        let (rounds, slope) = match (params.mode, params.law) {
            (_, Law::_2020) => cascade(params.roughness, params.dt * params.settling),
            (Mode::Published, Law::BoundaryLayer) => cascade(params.slope_limit, 0.125),
            (Mode::Default, Law::BoundaryLayer) => {
                let lies = params.repose_angle.to_radians().tan() * terrain.cell_size;
                let lies = [lies, lies * std::f32::consts::SQRT_2];
                let strength = self.weather.map_or(0.0, |weather| weather.strength);
                let creep = params.creep * self.most(terrain, strength) / (6.0 * terrain.cell_size);
                (SLIDES, Slope { lies, share: SHARE, called: false, creep })
            }
        };
        let area = terrain.cell_area();
        for round in 0..rounds {
            let slope = Slope { creep: if round == 0 { slope.creep } else { 0.0 }, ..slope };
            let [slid, grown] = settle::slide(terrain, &maps.calls, slope, &mut maps.sand);
            let row = context.ledger.solid.row(INFO.key);
            row.moved += 2.0 * slid * area;
            row.eroded += slid * area;
            row.deposited += (slid + grown) * area;
            if params.mode == Mode::Default {
                self.owed -= grown;
                row.carried -= grown * area;
            } else {
                row.lost -= grown * area;
            }
        }
    }

    /// Takes the tick into the averaged maps.
    fn remember(&self, maps: &mut Maps, watched: bool) {
        let rate = self.params.path_rate;
        let follow = |map: &mut Grid, now: &Grid| {
            map.iter_mut().zip(now.iter()).for_each(|(map, now)| *map += rate * (now - *map));
        };
        follow(&mut maps.path, &maps.touched);
        if watched {
            follow(&mut maps.flux, &maps.passed);
        }
    }
}

/// So many of the grains, from all over the map.
fn sample(starts: &[Start], count: usize) -> Vec<Start> {
    let count = count.min(starts.len());
    (0..count).map(|index| starts[index * starts.len() / count]).collect()
}

/// Cells at the border in which published grains of 2020 end.
const MARGIN: usize = 2;
/// Depth of the published boundary layer, in cells.
const PUBLISHED_LAYER: f32 = 2.0;

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
