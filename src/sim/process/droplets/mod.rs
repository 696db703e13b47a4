//! Hydraulic erosion by droplets: each runs downhill, digs where it speeds up and drops its load where it slows down.
//!
//! Three laws, each as published and in the cured default: streams (`streams.rs`), and the two of [`published`] and `cured.rs`. Droplets run eight at a time in blocks of the map, and
//! what a wave costs follows its droplets, not the map; the result does not depend on the number of
//! threads (see [`crate::sim::swarm`]).

mod banks;
pub mod bundle;
mod constants;
mod cured;
mod discharge;
mod ground;
mod peak;
pub mod plain;
pub mod published;
#[cfg(test)]
mod rivers;
mod settling;
mod streams;
#[cfg(test)]
mod tests;
pub mod tracks;
pub mod wave;

use bevy_reflect::Reflect;

use super::{Context, Info, Mode, Process, Progress, Setup, Stage, Track, guard::Guard};
use crate::{
    params::{choice, knob},
    sim::{
        grid::Grid,
        masked::{Covered, factors},
        memory::Memories,
        quantity::Quantity,
        real::Lanes,
        rng::Stream,
        terrain::{Layer, Terrain},
        tiles::{CellSet, TileCache, Tiling},
    },
};
use banks::Stands;
use bundle::Droplet;
use constants::Constants;
use discharge::Discharge;
use ground::{Copies, Ground};
use peak::Peak;
use published::{CapacityLaw, DropletState, DropletStep, MassTransfer};
use streams::StreamLaw;
use tracks::Tracks;
use wave::DriveTile;

const D1: &str = "SimpleErosion (McDonald 2020)";
const H1: &str = "McDonald 2020 (procedural hydrology) and 2023 (meandering rivers)";
const D3: &str = "ours; the law is Chiba 1998 as in UIUC CS 418";

/// How a droplet moves and what it can carry.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropletLaw {
    /// Droplets find each other: capacity follows the water that passes, and its momentum draws them along.
    #[default]
    Streams,
    /// Capacity follows speed and fall; one rate for both directions.
    MassTransfer,
    /// Capacity follows speed and water; own rates for lifting and settling.
    Capacity,
}

/// Parameters of the droplets.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Cured, or as the article prints it.
    #[reflect(@choice().source(D1))]
    pub mode: Mode,
    /// Which of the models moves the droplets.
    #[reflect(@choice().source("McDonald 2020 and 2023; Chiba 1998"))]
    pub law: DropletLaw,
    /// Droplets that rain down and run to their end in one tick. More is faster erosion per tick and longer ticks.
    #[reflect(@knob(1.0..=1_000_000.0).unit("droplets").source(D1).log().main().grows())]
    pub per_tick: u32,
    /// Droplets after which the landscape counts as finished: the end of the progress bar, where the
    /// window pauses once.
    #[reflect(@knob(1000.0..=1_000_000_000.0).unit("droplets").source(D1).log().grows())]
    pub total: u32,
    /// Droplets of a tick whose way is drawn. Many hide the ground; 0 shows none. The terrain does not depend on it.
    #[reflect(@knob(0.0..=500.0).unit("droplets").source("ours"))]
    pub tracks: u32,
    /// Time step. Long steps make fast, noisy erosion; short ones take longer for the same work.
    #[reflect(@knob(0.01..=5.0).symbol("dt").source(D1).log().only("law=mass-transfer"))]
    pub dt: f32,
    /// Inertia of the water. Heavy droplets speed up slowly and overshoot bends; light ones follow every furrow.
    #[reflect(@knob(0.1..=5.0).symbol("ρ").source(D1).log().only("law=mass-transfer"))]
    pub density: f32,
    /// Share of the speed lost per unit of time. High keeps droplets slow and erosion weak; low lets them race.
    #[reflect(@knob(0.001..=0.5).symbol("μ").source(D1).log().main().only("law=mass-transfer"))]
    pub friction: f32,
    /// How fast the load follows the capacity. High cuts deep and drops quickly; low spreads the work along the way.
    #[reflect(@knob(0.01..=1.0).symbol("Kd").source(D1).log().main().only("law=mass-transfer"))]
    pub deposition_rate: f32,
    /// Share of the water lost per unit of time, or of the way. High ends droplets on the slopes; low lets them reach the plain.
    #[reflect(@knob(0.001..=0.5).symbol("Ke").source(D1).log().main().only("law=streams|mass-transfer"))]
    pub evaporation_rate: f32,
    /// Share of its water at which a droplet ends. Higher ends it sooner.
    #[reflect(@knob(0.0001..=0.1).source(D1).log().only("law=streams|mass-transfer"))]
    pub min_volume: f32,
    /// What a droplet carries at a slope of one where a hectare's rain passes, as a thickness over a cell; as published, how much more
    /// it carries in a great stream. High cuts deep valleys.
    #[reflect(@knob(0.1..=100.0).unit("m").source(H1).log().main().only("law=streams"))]
    pub entrainment: f32,
    /// How fast the load follows the capacity, per unit of length. High erodes slopes and valleys alike; low lets streams cut
    /// narrow beds.
    #[reflect(@knob(0.001..=1.0).symbol("Kd").source(H1).log().main().only("law=streams"))]
    pub exchange: f32,
    /// How the capacity grows with the land whose rain passes: with this power of it. Streams make rivers of this concavity.
    #[reflect(@knob(0.1..=0.8).symbol("θ").source("Whipple & Tucker 1999").only("mode=default law=streams"))]
    pub concavity: f32,
    /// How much a slope turns a droplet, per unit of length. High makes it run straight down.
    #[reflect(@knob(0.1..=10.0).source(H1).log().only("law=streams"))]
    pub gravity: f32,
    /// How much the water that passed before draws a droplet along, per unit of length. High makes streams meander.
    #[reflect(@knob(0.0..=5.0).source(H1).main().only("law=streams"))]
    pub transfer: f32,
    /// Land whose rain must come together before it draws droplets along half as much as a great river does.
    #[reflect(@knob(100.0..=10_000_000.0).unit("m²").source("ours; channel heads as in Montgomery & Dietrich 1988").log().only("mode=default law=streams"))]
    pub headwater: f32,
    /// How far the maps of the streams follow the droplets of a tick, as a share. More or fewer droplets than one for 65 cells make it
    /// more or less, but for the published mode. High makes streams shift quickly.
    #[reflect(@knob(0.001..=1.0).symbol("λ").source(H1).log().only("law=streams"))]
    pub renewal: f32,
    /// Steps after which a droplet ends.
    #[reflect(@knob(10.0..=10_000.0).unit("steps").source(H1).log().only("mode=published law=streams"))]
    pub max_age: u32,
    /// Length on the ground that counts as a cell of the published map: what is stated per step, or per unit of time or length, is
    /// stated for it.
    #[reflect(@knob(0.1..=1000.0).unit("m").symbol("L").source("ours").log().only("mode=default"))]
    pub length: f32,
    /// The steepest that rock of a softness of one half stands beside where droplets dig; harder rock stands steeper. What is steeper
    /// slides down.
    #[reflect(@knob(33.0..=80.0).unit("°").source("Schmidt & Montgomery 1995").only("mode=default"))]
    pub bank_angle: f32,
    /// Gain of speed per step on a slope. High makes fast, straight-running droplets.
    #[reflect(@knob(0.1..=5.0).unit("cells/step").symbol("Ka").source(D3).log().only("law=capacity"))]
    pub acceleration: f32,
    /// Share of the speed lost per step. High keeps droplets slow.
    #[reflect(@knob(0.0..=0.5).symbol("Kf").source(D3).only("law=capacity"))]
    pub drag: f32,
    /// Sediment that a full droplet carries at a speed of one cell per step, in hundredths of the cell
    /// size. High digs deep and lays thick deposits.
    #[reflect(@knob(0.1..=10.0).unit("% of a cell").symbol("Kc").source(D3).log().main().only("law=capacity"))]
    pub capacity: f32,
    /// Share of the excess that settles per step. High drops the load at once.
    #[reflect(@knob(0.0..=1.0).symbol("Kd").source(D3).only("law=capacity"))]
    pub settling: f32,
    /// Share of the missing load that is lifted per step. High digs at once.
    #[reflect(@knob(0.0..=1.0).symbol("Ks").source(D3).only("law=capacity"))]
    pub suspension: f32,
    /// Water of a fresh droplet. More lives longer and carries more.
    #[reflect(@knob(0.1..=5.0).symbol("w").source(D3).log().only("law=capacity"))]
    pub start_water: f32,
    /// Water lost per step. High ends droplets early.
    #[reflect(@knob(0.0005..=0.1).unit("1/step").source(D3).log().only("law=capacity"))]
    pub evaporation: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Default,
            law: DropletLaw::Streams,
            per_tick: 1000,
            total: 200_000,
            tracks: 60,
            dt: 1.2,
            density: 1.0,
            friction: 0.05,
            deposition_rate: 0.1,
            evaporation_rate: 0.001,
            min_volume: 0.01,
            entrainment: 8.0,
            exchange: 0.2,
            concavity: 0.35,
            gravity: 1.0,
            transfer: 1.0,
            headwater: 10_000.0,
            renewal: 0.02,
            max_age: 512,
            length: 10.0,
            bank_angle: 40.0,
            acceleration: 1.0,
            drag: 0.05,
            capacity: 1.0,
            settling: 0.1,
            suspension: 0.1,
            start_water: 1.0,
            evaporation: 0.005,
        }
    }
}

factors!(per_tick, friction, deposition_rate, evaporation_rate, entrainment, exchange, capacity);

impl Params {
    /// The steepest that ground stands beside where droplets dig.
    fn stands(&self) -> Stands {
        match self.mode {
            Mode::Default => Stands::at(REPOSE_ANGLE, self.bank_angle),
            Mode::Published => Stands::at(PUBLISHED_ANGLE, PUBLISHED_ANGLE),
        }
    }
}

/// Angle at which dry sand comes to rest, in degrees.
const REPOSE_ANGLE: f32 = 33.0;
/// Angle of the published streams' banks, in degrees: a slope of 0.8.
const PUBLISHED_ANGLE: f32 = 38.66;

const INFO: Info = Info {
    key: "droplets",
    masked_key: "droplets-masked",
    title: "Droplets",
    about: "Drops of rain run downhill, dig where they speed up and drop their load where they slow down.",
    source: "McDonald 2020 and 2023 (streams); SimpleErosion (McDonald 2020) and its sign-correct form of 2025; Chiba 1998 as in \
             UIUC CS 418",
    bytes_per_cell: 66,
    bytes_per_cell_and_thread: 0,
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Softness, Layer::Start, Layer::Rain],
    writes: &[Layer::Bedrock, Layer::Sand],
    replaces: &[],
    stages: &[
        Stage { name: "rain", about: "Droplets appear, evenly or where the rain map has rain." },
        Stage {
            name: "run",
            about: "They run downhill, dig and drop, until each has ended; what they still carry settles.",
        },
    ],
    guards: &[
        Guard {
            name: "steps",
            about: "Steps that were cut short, so that no droplet moves farther than a cell; as published, ticks whose time step was \
                cut to what is stable.",
        },
        Guard {
            name: "digging",
            about: "Steps that dug less than the law says: a part of the droplet's own fall at most.",
        },
        Guard {
            name: "laying",
            about: "Steps that laid down less than the law says: the rise ahead or the step behind at most.",
        },
        Guard {
            name: "banks",
            about: "Times that a cell gave way because it stood too steep above one where a droplet dug.",
        },
        Guard { name: "circling", about: "Droplets that ended because they ran in circles over a map that wraps." },
    ],
    silent: &[("tracks", ""), ("total", ""), ("min_volume", "")],
    partly_masked: &[],
    young: &["discharge", "momentum x", "momentum y", "renewals"],
};

/// Rain falls in waves of at most one droplet for so many cells: what they carry at their end settles after the wave, and should fill
/// few hollows in which others still dig.
const CELLS_PER_DROPLET: usize = 128;
/// Most droplets of a wave. Where a large map may have more at once, a wave rains on a part of it: a frame need not wait for all of
/// them, and what they change lies together.
const MOST: usize = 2048;
/// Side of the squares that a part is made of, in cells.
const SQUARE: usize = 64;

/// The process: parameters, the rain that has not run yet, and counts.
#[derive(Clone, Default)]
pub struct Droplets {
    setup: Setup<Params, Factors>,
    waiting: Vec<[f32; 2]>,
    /// Droplets of a wave of this tick, and of the tick.
    wave: usize,
    fallen: usize,
    copies: Copies,
    discharge: Discharge,
    /// Cells where a wave has undercut a bank.
    undercut: CellSet,
    published: TileCache<DriveTile>,
    peak: Peak,
    tracks: Vec<Track>,
    watches: bool,
}

impl Process for Droplets {
    type Params = Params;
    type Factors = Factors;
    const INFO: Info = INFO;
    super::setup_in!(setup);

    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        match (self.setup.params.mode, self.setup.params.law) {
            // Beyond it a droplet at its greatest speed, 1/(ρ·μ), digs deeper than the drop that it came down.
            (Mode::Published, DropletLaw::MassTransfer) => {
                let Params { density, friction, deposition_rate, .. } = self.setup.params;
                self.longest_step().min(density * friction / deposition_rate)
            }
            _ => f32::INFINITY,
        }
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let streams = self.setup.params.law == DropletLaw::Streams;
        if stage == 0 {
            let mut stream = Stream::new(context.seed, INFO.key, context.tick);
            let covered = self.setup.covered(context.terrain, self.setup.params.mode);
            self.waiting = rain(context.terrain, self.setup.params.per_tick, covered.as_ref(), &mut stream);
            self.wave = in_waves(&mut self.waiting, context.terrain.bedrock.len());
            self.fallen = self.waiting.len();
            // Waves are taken from the end.
            self.waiting.reverse();
            let cut = self.setup.params.dt > self.longest_step();
            self.setup.note([u64::from(cut), 0, 0, 0, 0]);
            self.watches = context.watched;
            self.tracks.clear();
            if streams {
                self.discharge.begin(context.terrain, streams::renewal_of(&self.setup.params, context.terrain));
            } else {
                self.discharge.clear();
            }
            return Progress::Done;
        }
        if streams {
            self.discharge.make_ready(context.terrain);
        }
        let wave = self.wave.min(self.waiting.len());
        let starts: Vec<[f32; 2]> = self.waiting.drain(self.waiting.len() - wave..).rev().collect();
        self.setup.counts.particles += starts.len() as u64;
        match (self.setup.params.mode, self.setup.params.law) {
            (Mode::Default, _) | (_, DropletLaw::Streams) => self.run_on_copies(context, &starts),
            (Mode::Published, DropletLaw::MassTransfer) => {
                let dt = self.setup.params.dt.min(self.longest_step());
                let law = MassTransfer::new(&Params { dt, ..self.setup.params.clone() });
                self.run_published(context, &starts, 1.0, &law);
            }
            (Mode::Published, DropletLaw::Capacity) => {
                let law = CapacityLaw::new(&self.setup.params, context.terrain.cell_size);
                self.run_published(context, &starts, self.setup.params.start_water, &law);
            }
        }
        if !self.waiting.is_empty() {
            return Progress::Again;
        }
        if streams {
            self.discharge.renew(streams::land_of(&self.setup.params, context.terrain));
        }
        Progress::Done
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        let mut kept = self.setup.counts.memories();
        kept.extend(self.discharge.memories(terrain));
        kept
    }

    fn momentum(&self) -> Option<[Grid; 2]> {
        self.discharge.maps().map(|[_, along, down]| [along, down])
    }

    fn map(&self, quantity: Quantity) -> Option<Grid> {
        match quantity {
            Quantity::StreamDischarge => self.discharge.maps().map(|[water, ..]| water),
            _ => None,
        }
    }

    fn tracks(&self) -> &[Track] {
        &self.tracks
    }
}

impl Droplets {
    /// The longest step that a droplet takes: beyond it, as published, it would exchange more than the difference, turn round
    /// by its friction or have less than no water.
    fn longest_step(&self) -> f32 {
        match (self.setup.params.mode, self.setup.params.law) {
            (Mode::Published, DropletLaw::MassTransfer) => {
                let Params { deposition_rate, friction, evaporation_rate, .. } = self.setup.params;
                1.0 / deposition_rate.max(friction).max(evaporation_rate)
            }
            _ => f32::INFINITY,
        }
    }

    /// Room for a wave's part of the tick's tracks.
    fn new_tracks(&self, wave: usize) -> Option<Tracks> {
        let until = |ran: usize| self.setup.params.tracks as usize * ran / self.fallen.max(1);
        let ran = self.fallen - self.waiting.len();
        let part = until(ran) - until(ran - wave);
        (self.watches && part > 0).then(|| Tracks::new(part))
    }

    fn run_on_copies(&mut self, context: &mut Context<'_>, starts: &[[f32; 2]]) {
        let volume = if self.setup.params.law == DropletLaw::Capacity { self.setup.params.start_water } else { 1.0 };
        let droplets: Vec<Droplet> = starts.iter().map(|&[x, y]| Droplet::at(x, y, volume)).collect();
        let tracks = self.new_tracks(starts.len());
        self.published = TileCache::default();
        let terrain = &mut *context.terrain;
        let highest = self.peak.height(terrain);
        let params = &self.setup.params;
        let covered = self.setup.covered(terrain, params.mode);
        let under = covered.as_ref().map_or(params, |covered| &covered.params);
        let mask = covered.as_ref().map(|covered| &covered.mask);
        let mut ground = Ground::new(terrain, &mut self.copies, highest);
        let outcome = if params.law == DropletLaw::Streams {
            let laws = [params, under].map(|params| StreamLaw::new(params, terrain, highest));
            streams::run(&ground, &self.discharge, laws, mask, droplets, tracks.as_ref())
        } else {
            let laws = [params, under].map(|params| Constants::new(params, terrain));
            cured::run(&ground, laws, mask, droplets, tracks.as_ref())
        };
        let laid = settling::settle(&mut ground, &outcome.holding, highest);
        let undercut = &mut self.undercut;
        undercut.clear(ground.tiling());
        ground.take_undercut(undercut);
        if params.law != DropletLaw::Streams {
            // These dig in all cells around.
            undercut.grow();
        }
        let fallen = banks::fail(&mut ground, undercut, params.stands());
        let changed = ground::write_back(terrain, &mut self.copies);
        self.peak.follow(terrain, Tiling::new(terrain.width(), terrain.height()), &changed);
        if let Some(tracks) = tracks {
            self.tracks.extend(tracks.into_tracks());
        }
        let [short, cut, risen] = outcome.limited;
        self.setup.note([short, cut, risen, fallen.cells, outcome.endless]);
        self.setup.counts.substeps += outcome.steps;
        let area = context.terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        row.eroded += (outcome.eroded + fallen.volume) * area;
        row.deposited += (outcome.deposited + laid + fallen.volume) * area;
        row.moved += (outcome.eroded + outcome.deposited + laid + 2.0 * fallen.volume) * area;
        row.outflow += outcome.outflow * area;
    }

    /// The ground is one solid: what is taken is sand as long as there is some, what is laid down is bedrock.
    fn run_published<S: DropletStep<Lanes> + Send>(
        &mut self,
        context: &mut Context<'_>,
        starts: &[[f32; 2]],
        volume: f32,
        law: &S,
    ) {
        self.copies = Copies::default();
        let terrain = &mut *context.terrain;
        let (width, height) = (terrain.width(), terrain.height());
        // A droplet that starts in the outermost ring has left before its first step.
        let droplets: Vec<DropletState<f32>> = starts
            .iter()
            .map(|[x, y]| (x.floor(), y.floor()))
            .filter(|&(x, y)| x >= 1.0 && y >= 1.0 && x < (width - 1) as f32 && y < (height - 1) as f32)
            .map(|(x, y)| DropletState::at(x + 0.5, y + 0.5, volume))
            .collect();
        let tracks = self.new_tracks(starts.len());
        let highest = self.peak.height(terrain);
        let (outcome, visited) = wave::run(terrain, highest, law, droplets, &mut self.published, tracks.as_ref());
        if let Some(tracks) = tracks {
            self.tracks.extend(tracks.into_tracks());
        }
        self.peak.follow(terrain, Tiling::new(width, height), &visited);
        let net = outcome.taken;
        self.setup.counts.substeps += outcome.steps;
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        row.moved += outcome.moved * area;
        row.eroded += 0.5 * (outcome.moved + net) * area;
        row.deposited += 0.5 * (outcome.moved - net) * area;
        row.outflow += outcome.outflow * area;
        row.lost += (net - outcome.outflow) * area;
    }
}

/// Puts a tick's droplets in the order in which they rain, on a map of so many cells. Returns how many make a wave.
fn in_waves(starts: &mut [[f32; 2]], cells: usize) -> usize {
    let at_once = (cells / CELLS_PER_DROPLET).max(1);
    if at_once <= MOST {
        return at_once;
    }
    for starts in starts.chunks_mut(at_once / MOST * MOST) {
        starts.sort_by_cached_key(|&[x, y]| z_order(x as usize / SQUARE, y as usize / SQUARE));
    }
    MOST
}

/// The number of a square in Morton's order, which visits a block of squares before it goes on to the next one. Blocks are at most
/// twice as tall as wide: the swarm cuts the map along rows.
fn z_order(x: usize, y: usize) -> usize {
    (0..16).map(|bit| ((y >> bit & 1) | (x >> bit & 1) << 1) << (2 * bit)).sum()
}

/// Places where drops fall, in cells: everywhere alike, or in proportion to the rain map; as much more or less where the mask
/// scales their number.
fn rain(terrain: &Terrain, per_tick: u32, covered: Option<&Covered<Params>>, stream: &mut Stream) -> Vec<[f32; 2]> {
    let (width, height) = (terrain.width(), terrain.height());
    let covered = covered.filter(|covered| covered.params.per_tick != per_tick);
    let weight = |cell: usize| terrain.rain.as_ref().map_or(1.0, |map| f64::from(map[cell].max(0.0)));
    let (mut sums, mut count, mut even) = (Vec::new(), per_tick as usize, 0.0);
    if terrain.rain.is_some() || covered.is_some() {
        let mut sum = 0.0;
        let mut weigh = |cell: usize| {
            even += weight(cell);
            let more = covered.map_or(0.0, |covered| {
                let mask = f64::from(covered.mask.at(cell % width, cell / width));
                mask * (f64::from(covered.params.per_tick) / f64::from(per_tick) - 1.0)
            });
            sum += weight(cell) * (1.0 + more);
            sum
        };
        sums = (0..width * height).map(&mut weigh).collect();
    }
    let total = sums.last().copied().unwrap_or_default();
    if covered.is_some() && even > 0.0 {
        count = (count as f64 * total / even).round() as usize;
    }
    (0..count)
        .map(|_| {
            let cell = if total > 0.0 {
                let drawn = (f64::from(stream.unit()) + f64::from(stream.unit()) / f64::from(1 << 24)) * total;
                sums.partition_point(|&sum| sum <= drawn).min(sums.len() - 1)
            } else {
                stream.below(width * height)
            };
            let place = |cell: usize, part: f32| (cell as f32 + part).min((cell as f32 + 1.0).next_down());
            [place(cell % width, stream.unit()), place(cell / width, stream.unit())]
        })
        .collect()
}
