//! Water that flows from cell to cell through virtual pipes, cuts its bed, carries what it took and drops it where it slows.
//!
//! [`friction`] is the default: one signed flux per face, slowed by the bed's roughness, with sediment in flux form.
//! [`pipes`] is the paper: four one-way pipes per cell of constant cross-section, eqs 1–16. Neither advects momentum: there
//! are no hydraulic jumps, and a dam-break front on dry ground is too slow.

pub mod friction;
pub mod pipes;
pub mod plain;
mod surface;
#[cfg(test)]
mod tests;

use bevy_reflect::{Reflect, structs::Struct};

use super::{Context, Counts, Info, Mode, Process, Progress, Stage};
use crate::{
    params::{choice, knob},
    sim::{
        grid::Grid,
        ledger::Ledger,
        masked::{Covered, factors},
        memory::Memories,
        terrain::{Layer, Source, Terrain},
    },
};

const P1: &str = "Jákó & Tóth 2011, table 2";

/// How much sediment flowing water can carry, as published.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capacity {
    /// In proportion to the tilt of the ground (eqs 9 and 10).
    Tilt,
    /// In proportion to how squarely the flow meets the ground (eq. 11).
    #[default]
    Collision,
}

/// Parameters of the water.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Cured, or as the paper prints it.
    #[reflect(@choice().source("Jákó & Tóth 2011"))]
    pub mode: Mode,
    /// Time that a tick covers on cells of one metre; the cured mode covers as much more as cells are larger. Long ticks
    /// take several steps; at 0 the water stands still.
    #[reflect(@knob(0.0..=0.05).unit("s").symbol("Δt").source(P1))]
    pub dt: f32,
    /// Water that falls on every cell. Much floods the map; little leaves only the springs.
    #[reflect(@knob(0.0..=0.05).unit("m/s").symbol("Kr").source(P1).main())]
    pub rain_rate: f32,
    /// Share of the water lost per second. High keeps only the largest rivers wet; at 0 every hollow fills.
    #[reflect(@knob(0.0..=0.05).unit("1/s").symbol("Ke").source(P1).main())]
    pub evaporation_rate: f32,
    /// Roughness of the bed in the cured mode. High makes slow, deep rivers; at 0 water runs ever faster.
    #[reflect(@knob(0.0..=0.2).unit("s/m^⅓").symbol("n").source("Manning; Bates et al. 2010").main().only("mode=default"))]
    pub roughness: f32,
    /// Cross-section of the pipes as published. Wide pipes level the water sooner and need shorter steps.
    #[reflect(@knob(0.1..=60.0).unit("m²").symbol("A").source(P1).log().only("mode=published"))]
    pub pipe_area: f32,
    /// Gravity. Strong gravity makes fast water and short steps.
    #[reflect(@knob(0.1..=20.0).unit("m/s²").symbol("g").source(P1))]
    pub gravity: f32,
    /// Sediment that water of one metre per second can carry. High cuts deep and lays thick fans; low leaves the ground be.
    #[reflect(@knob(0.1..=3.0).unit("s").symbol("Kc").source(P1).log().main())]
    pub sediment_capacity: f32,
    /// How fast water takes up ground. High cuts where it is steepest; low spreads the work downstream.
    #[reflect(@knob(0.1..=2.0).unit("1/s").symbol("Ks").source(P1).log().main())]
    pub suspension_rate: f32,
    /// How fast sediment settles. High drops it at once where water slows; low carries it far.
    #[reflect(@knob(0.1..=3.0).unit("1/s").symbol("Kd").source(P1).log().main())]
    pub deposition_rate: f32,
    /// How fast deposits soften the ground, as published; in the cured mode deposits stay loose sand. High makes rivers rework
    /// their beds.
    #[reflect(@knob(0.0..=10.0).unit("1/s").symbol("Kh").source(P1).only("mode=published"))]
    pub softening_rate: f32,
    /// Depth from which on water leaves its bed alone. Small keeps lake floors smooth; at 0 nothing is eroded.
    #[reflect(@knob(0.0..=40.0).unit("m").symbol("Kdmax").source(P1).only("depth_limit=true"))]
    pub max_erosion_depth: f32,
    /// Whether that depth counts. Without it rivers dig as deep as they can.
    #[reflect(@choice().source("Jákó & Tóth 2011, eq. 10 and figure 9"))]
    pub depth_limit: bool,
    /// Smallest tilt, as a sine, with which flat ground counts. High erodes plains; at 0 flat ground is safe.
    #[reflect(@knob(0.0..=0.5).symbol("sin α").source("Jákó & Tóth 2011; the value is ours"))]
    pub least_tilt: f32,
    /// What makes the capacity, as published. The cured mode goes by the tilt.
    #[reflect(@choice().source("Jákó & Tóth 2011, eqs 9–11").only("mode=published"))]
    pub capacity: Capacity,
    /// Whether sediment that goes into the water raises its surface, as published. Without it ripples grow on the bed.
    #[reflect(@choice().source("Jákó & Tóth 2011, eqs 12c, 13c and figure 8").only("mode=published"))]
    pub displacement: bool,
    /// Height of a sea around a map with open edges. Low, there is none; high, it floods the map.
    #[reflect(@knob(-1000.0..=9000.0).unit("m").source("ours"))]
    pub sea_level: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Default,
            dt: 0.02,
            rain_rate: 0.012,
            evaporation_rate: 0.015,
            roughness: 0.04,
            pipe_area: 20.0,
            gravity: 9.81,
            sediment_capacity: 1.0,
            suspension_rate: 0.5,
            deposition_rate: 1.0,
            softening_rate: 5.0,
            max_erosion_depth: 10.0,
            depth_limit: true,
            least_tilt: 0.1,
            capacity: Capacity::Collision,
            displacement: true,
            sea_level: -1000.0,
        }
    }
}

factors!(rain_rate, evaporation_rate, roughness, sediment_capacity, suspension_rate, deposition_rate);

const INFO: Info = Info {
    key: "water",
    masked_key: "water-masked",
    title: "Water",
    about: "Rain and springs flow downhill as rivers and lakes, cut their beds and lay down what they carry.",
    source: "Jákó & Tóth 2011 (virtual pipes); Bates et al. 2010 and de Almeida et al. 2012 (friction)",
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness],
    replaces: &["runoff"],
    stages: &[
        Stage { name: "rain", about: "Springs give and drains take; the time step is chosen." },
        Stage { name: "flow", about: "Rain falls, and the slope of its surface drives the water from cell to cell." },
        Stage {
            name: "erosion",
            about: "Depths follow the flow; the water takes up ground or drops it, carries it on, and a share evaporates.",
        },
    ],
};

/// A tick takes at most so many steps; where that is too few, it covers less time.
const MOST_STEPS: u32 = 16;
/// Films thinner than this, in metres, do not shorten the time step.
const FILM: f32 = 0.01;
/// Square, in m², of the depth up to which the velocity of a film is not known and counts as less.
const FILM_SQUARE: f32 = 1e-6;

/// The process: parameters, fluxes, counts.
#[derive(Clone, Default)]
pub struct Water {
    /// Its parameters.
    pub params: Params,
    /// What the mask makes of them.
    pub factors: Factors,
    flow: Flow,
    /// Length of a step of this tick, in seconds, and how many are still to be taken.
    dt: f32,
    steps_left: u32,
    /// Steps of the last tick, and the share of its time that they covered.
    steps: u32,
    pace: f32,
    counts: Counts,
}

/// What the two modes remember from step to step.
#[derive(Clone, Default)]
enum Flow {
    /// Nothing has flowed yet.
    #[default]
    Still,
    /// Signed fluxes across faces.
    Friction(friction::Faces),
    /// Fluxes of four pipes per cell.
    Pipes(pipes::Pipes),
}

impl Flow {
    /// The fluxes of the cured mode; nothing flows yet if there are none for this terrain.
    fn faces(&mut self, terrain: &Terrain) -> &mut friction::Faces {
        if !matches!(self, Self::Friction(faces) if faces.fit(terrain)) {
            *self = Self::Friction(friction::Faces::still(terrain));
        }
        match self {
            Self::Friction(faces) => faces,
            _ => unreachable!("it was just made"),
        }
    }

    /// The fluxes of the published mode, likewise.
    fn pipes(&mut self, terrain: &Terrain) -> &mut pipes::Pipes {
        if !matches!(self, Self::Pipes(pipes) if pipes.fit(terrain)) {
            *self = Self::Pipes(pipes::Pipes::still(terrain));
        }
        match self {
            Self::Pipes(pipes) => pipes,
            _ => unreachable!("it was just made"),
        }
    }
}

/// What a step moved, in metres times cells.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    eroded: f64,
    deposited: f64,
    rained: f64,
    evaporated: f64,
    /// Water and sediment that crossed the border outwards; what came in is negative.
    water_out: f64,
    solid_out: f64,
    /// Of the published mode alone: what its transport loses, or makes.
    water_lost: f64,
    solid_lost: f64,
}

impl std::ops::AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.eroded += other.eroded;
        self.deposited += other.deposited;
        self.rained += other.rained;
        self.evaporated += other.evaporated;
        self.water_out += other.water_out;
        self.solid_out += other.solid_out;
        self.water_lost += other.water_lost;
        self.solid_lost += other.solid_lost;
    }
}

impl Process for Water {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn settings(&self) -> [&dyn Struct; 2] {
        [&self.params, &self.factors]
    }

    fn settings_mut(&mut self) -> [&mut dyn Struct; 2] {
        [&mut self.params, &mut self.factors]
    }

    fn largest_stable_dt(&self, terrain: &Terrain) -> f32 {
        let Params { gravity, pipe_area, .. } = self.params;
        let size = terrain.cell_size;
        match self.params.mode {
            Mode::Default => {
                // The fluid is water and sediment.
                let depths = terrain.water.iter().zip(terrain.suspended.iter());
                let deepest = depths.fold(FILM, |deepest, (water, suspended)| deepest.max(water + suspended));
                friction::COURANT * size / (gravity * deepest).sqrt()
            }
            // Half of what the linear theory allows, c = √(g·A/l).
            Mode::Published => pipes::COURANT * size / (gravity * pipe_area / size).sqrt(),
        }
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        match stage {
            0 => {
                let whole = match self.params.mode {
                    Mode::Default => self.params.dt * terrain.cell_size,
                    Mode::Published => self.params.dt,
                };
                let stable = self.largest_stable_dt(terrain);
                let wanted = (whole / stable).ceil().max(1.0);
                if wanted > MOST_STEPS as f32 {
                    self.counts.guards += 1;
                }
                self.steps_left = wanted.min(MOST_STEPS as f32) as u32;
                self.steps = self.steps_left;
                self.dt = (whole / self.steps_left as f32).min(stable);
                let seconds = self.dt * self.steps_left as f32;
                self.pace = if whole > 0.0 { seconds / whole } else { 1.0 };
                self.counts.seconds += f64::from(seconds);
                let (given, taken) = run_sources(terrain, context.tick, seconds);
                let row = context.ledger.water.row(INFO.key);
                row.inflow += given;
                row.outflow += taken;
            }
            1 => match self.params.mode {
                Mode::Default => {
                    let covered = Covered::of(terrain, self.params.mode, &self.params, &self.factors);
                    self.flow.faces(terrain).flow(terrain, &self.params, covered.as_ref(), self.dt);
                }
                Mode::Published => self.flow.pipes(terrain).flow(terrain, &self.params, self.dt),
            },
            _ => {
                let sums = match self.params.mode {
                    Mode::Default => {
                        let covered = Covered::of(terrain, self.params.mode, &self.params, &self.factors);
                        self.flow.faces(terrain).carry(terrain, &self.params, covered.as_ref(), self.dt)
                    }
                    Mode::Published => self.flow.pipes(terrain).carry(terrain, &self.params, self.dt),
                };
                book(context.ledger, sums, terrain.cell_area());
                self.counts.substeps += 1;
                self.steps_left -= 1;
                if self.steps_left > 0 {
                    return Progress::From(1);
                }
            }
        }
        Progress::Done
    }

    fn guard(&self) -> Option<String> {
        let split = (self.steps > 1).then(|| format!("step split {} times", self.steps));
        let slowed = (self.steps > 0 && self.pace < 0.999).then(|| format!("time slowed to {:.2}×", self.pace));
        let told: Vec<String> = split.into_iter().chain(slowed).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    fn velocity(&self, terrain: &Terrain) -> Option<[Grid; 2]> {
        match &self.flow {
            Flow::Still => None,
            Flow::Friction(faces) => faces.fit(terrain).then(|| faces.velocity(terrain)),
            Flow::Pipes(pipes) => pipes.fit(terrain).then(|| pipes.velocity.clone()),
        }
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        let mut kept = self.counts.memories();
        kept.extend(match self.params.mode {
            Mode::Default => self.flow.faces(terrain).memories(),
            Mode::Published => self.flow.pipes(terrain).memories(),
        });
        kept
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn boxed_clone(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

impl Water {
    /// The process with these parameters.
    pub fn new(params: Params) -> Self {
        Self { params, ..Self::default() }
    }
}

/// What lies beyond an open border: the starting ground, under a sea or dry. Returns ground and depth of water there.
#[inline(always)]
fn beyond(terrain: &Terrain, sea_level: f32, index: usize) -> (f32, f32) {
    let ground = terrain.start[index];
    (ground, (sea_level - ground).max(0.0))
}

/// Rain on every cell in a step, in metres: one number, or the rain map's share of it; where the mask scales it, as much more
/// or less.
#[derive(Clone, Copy)]
struct Rain<'a> {
    amount: f32,
    map: Option<&'a [f32]>,
    covered: Option<(&'a Covered<Params>, f32)>,
}

impl<'a> Rain<'a> {
    fn new(terrain: &'a Terrain, params: &Params, covered: Option<&'a Covered<Params>>, dt: f32) -> Self {
        let covered = covered.filter(|covered| covered.params.rain_rate != params.rain_rate);
        Self {
            amount: params.rain_rate * dt,
            map: terrain.rain.as_deref(),
            covered: covered.map(|covered| (covered, covered.params.rain_rate * dt)),
        }
    }

    /// The rain on row `y`.
    #[inline(always)]
    fn fall(&self, y: usize, row: &mut [f32]) {
        row.fill(self.amount);
        if let Some((covered, amount)) = self.covered {
            for (cell, mask) in row.iter_mut().zip(&covered.row(y)[1..]) {
                *cell += (amount - self.amount) * mask;
            }
        }
        if let Some(map) = self.map {
            let width = row.len();
            for (cell, share) in row.iter_mut().zip(&map[y * width..]) {
                *cell *= share;
            }
        }
    }
}

/// Lets springs give and drains take. Returns both, in cubic metres.
fn run_sources(terrain: &mut Terrain, tick: u64, seconds: f32) -> (f64, f64) {
    let (mut given, mut taken) = (0.0, 0.0);
    let area = terrain.cell_area();
    for source in terrain.sources.clone().into_iter().filter(|source| source.runs(tick)) {
        let cells = source_cells(terrain, &source);
        let each = source.rate * seconds / (cells.len() as f32 * area as f32);
        for index in cells {
            let depth = &mut terrain.water[index];
            let before = *depth;
            *depth = (before + each).max(0.0);
            let change = (f64::from(*depth) - f64::from(before)) * area;
            given += change.max(0.0);
            taken -= change.min(0.0);
        }
    }
    (given, taken)
}

/// The cells that a source covers: those whose centre lies in its circle, or the one that it lies in.
fn source_cells(terrain: &Terrain, source: &Source) -> Vec<usize> {
    let (width, height) = (terrain.width(), terrain.height());
    let centre = [source.place[0] * width as f32, source.place[1] * height as f32];
    let reach = source.radius / terrain.cell_size;
    let range = |centre: f32, count: usize| {
        let first = (centre - reach - 1.0).max(0.0) as usize;
        first..((centre + reach + 1.0).max(0.0) as usize + 1).min(count)
    };
    let mut cells = Vec::new();
    for y in range(centre[1], height) {
        for x in range(centre[0], width) {
            let (dx, dy) = (x as f32 + 0.5 - centre[0], y as f32 + 0.5 - centre[1]);
            if dx * dx + dy * dy <= reach * reach {
                cells.push(y * width + x);
            }
        }
    }
    if cells.is_empty() {
        let nearest = |place: f32, count: usize| (place.max(0.0) as usize).min(count - 1);
        cells.push(nearest(centre[1], height) * width + nearest(centre[0], width));
    }
    cells
}

fn book(ledger: &mut Ledger, sums: Sums, area: f64) {
    let water = ledger.water.row(INFO.key);
    water.inflow += (sums.rained + (-sums.water_out).max(0.0)) * area;
    water.outflow += sums.water_out.max(0.0) * area;
    water.evaporated += sums.evaporated * area;
    water.lost += sums.water_lost * area;
    let solid = ledger.solid.row(INFO.key);
    solid.eroded += sums.eroded * area;
    solid.deposited += sums.deposited * area;
    solid.moved += (sums.eroded + sums.deposited) * area;
    solid.outflow += sums.solid_out * area;
    solid.lost += sums.solid_lost * area;
}
