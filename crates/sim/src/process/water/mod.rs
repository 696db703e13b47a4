//! Water that flows from cell to cell, cuts its bed, carries what it took and drops it where it slows.
//!
//! [`friction`] is the default: the shallow-water equations with one signed flux per face, slowed by the bed's roughness, with sediment
//! in flux form. [`pipes`] is the paper: four one-way pipes per cell of constant cross-section, eqs 1–16. These carry no momentum
//! along: there are no hydraulic jumps, and a dam-break front on dry ground is too slow.

#[cfg(test)]
mod acceleration;
mod active;
mod balance;
#[cfg(test)]
mod directions;
mod explain;
pub mod friction;
mod params;
pub mod pipes;
mod sources;
mod surface;
#[cfg(test)]
mod tests;

use self::sources::run_sources;
pub use self::{
    balance::BYTES_PER_CELL as BYTES_TO_FILL,
    params::{Capacity, Factors, Params},
};
use super::{
    Abilities, AnySetup, Context, Counts, Footprint, GoOn, IdleReason, Info, Mode, Process, Progress, Reference, Setup,
    SteadyState, SteadyWater, VectorMap, explain::Explanation, limiter::Limiter, stage::stages,
};
use crate::{
    core::{
        bounds::Unfit,
        grid::Grid,
        ledger::Ledger,
        terrain::{Edge, Layer, Terrain},
    },
    process::{
        masked::{Mask, Masked, between},
        memory::Memories,
    },
    simd::{cells::Cells, stencil::Tally},
};

stages! {
    /// Springs give and drains take; the time step is chosen.
    Rain = "rain",
    /// Water flows from cell to cell, driven by the slope of its surface, with the rain on it, and by its own momentum: the flow arrows
    /// show it.
    Flow = "flow",
    /// Rain falls and depths follow the fluxes; the water takes up ground or drops it, carries it on, and a share evaporates.
    Erosion = "erosion",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "water",
    title: "Water",
    about: "Rain and springs flow downhill as rivers and lakes, cut their beds and lay down what they carry.",
    reference: Reference {
        source: "Stelling & Duinmeijer 2003 (shallow water) with friction as in Bates et al. 2010; Jákó & Tóth 2011 (virtual pipes)",
        equations: &[include_str!("mod.rs"), include_str!("friction/mod.rs"), include_str!("pipes/mod.rs")],
    },
    footprint: Footprint { per_cell: 28, per_cell_and_thread: 0 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness, Layer::Start, Layer::Rain],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness],
    moves_water: true,
    stages: Stage::ALL,
    limiters: &[
        Limiter {
            name: "steps",
            about: "Steps that a tick was split into beyond the first, so that none is longer than is stable.",
        },
        Limiter {
            name: "slow ticks",
            about: "Ticks that cover less time than they should, because the steps would be too many.",
        },
        Limiter {
            name: "outflow",
            about: "Cells that gave less water than the slope of their surface asks for, because they held no more.",
        },
        Limiter {
            name: "digging",
            about: "Cells that eroded less than the law says, so that the bed stays smooth and none comes to lie far below its lowest neighbour.",
        },
        Limiter {
            name: "deposition",
            about: "Cells with accelerated beds that deposited less than the law says, so that the bed stays smooth and none rises above its highest neighbour.",
        },
        Limiter {
            name: "steady state",
            about: "Steady states of rivers and lakes whose depths still changed after the last iteration.",
        },
        Limiter {
            name: "levels",
            about: "Cells in a steady state for whose discharge no exact water level was found.",
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
    setup: Setup<Params, Factors>,
    flow: Scheme,
    /// Length of a step of this tick, in seconds, and how many are still to be taken.
    dt: f32,
    steps_left: u32,
}

/// What the two modes remember from step to step.
#[derive(Clone, Default)]
enum Scheme {
    /// Nothing has flowed yet.
    #[default]
    Still,
    /// Signed fluxes across faces.
    Friction(friction::Faces),
    /// Fluxes of four pipes per cell.
    Pipes(pipes::Pipes),
}

impl Scheme {
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

/// What is to be done of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Find the fluxes, to be shown: nothing else changes.
    Flow,
    /// Find them and follow them, in one go.
    Whole,
}

/// What a step moved, in metres times cells unless stated otherwise, and what it saw.
#[derive(Clone, Copy, Debug, Default)]
struct WaterSums {
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
    /// Number of cells whose outflow, erosion or deposition was limited.
    held: u64,
    spared: u64,
    withheld: u64,
    /// Speed of the fastest wave as the step began, in metres per second.
    wave: f32,
}

impl std::ops::AddAssign for WaterSums {
    fn add_assign(&mut self, other: Self) {
        self.eroded += other.eroded;
        self.deposited += other.deposited;
        self.rained += other.rained;
        self.evaporated += other.evaporated;
        self.water_out += other.water_out;
        self.solid_out += other.solid_out;
        self.water_lost += other.water_lost;
        self.solid_lost += other.solid_lost;
        self.held += other.held;
        self.spared += other.spared;
        self.withheld += other.withheld;
        self.wave = self.wave.max(other.wave);
    }
}

/// What the rows of a strip take up, lay down, gain as rain and lose to the air, and in how many of their cells a limiter was applied.
#[derive(Default)]
struct WaterTallies {
    eroded: Tally,
    laid: Tally,
    rained: Tally,
    dried: Tally,
    held: Tally,
    spared: Tally,
    withheld: Tally,
}

impl WaterTallies {
    /// Ends a row, which counts or is forgotten.
    #[inline(always)]
    fn end_row(&mut self, counts: bool) {
        let Self { eroded, laid, rained, dried, held, spared, withheld } = self;
        for tally in [eroded, laid, rained, dried, held, spared, withheld] {
            tally.end_row(counts);
        }
    }

    /// The sums of the rows that count.
    fn sums(&self) -> WaterSums {
        WaterSums {
            eroded: self.eroded.total(),
            deposited: self.laid.total(),
            rained: self.rained.total(),
            evaporated: self.dried.total(),
            held: self.held.total() as u64,
            spared: self.spared.total() as u64,
            withheld: self.withheld.total() as u64,
            ..WaterSums::default()
        }
    }
}

impl SteadyWater for Water {
    fn balance(&self, terrain: &Terrain, tick: u64, go_on: &GoOn<'_>) -> Result<SteadyState, Unfit> {
        let (process, water, has_converged) = self.steady_state(terrain, tick, go_on)?;
        Ok(SteadyState { process: Box::new(process), water, has_converged })
    }

    fn bytes_to_begin(&self) -> usize {
        if self.setup.params.filled { BYTES_TO_FILL } else { 0 }
    }
}

impl Water {
    /// Returns itself and the depth of the water in the steady state of a tick's rain and springs, and `true` if it has
    /// converged.
    fn steady_state(&self, terrain: &Terrain, tick: u64, go_on: &GoOn<'_>) -> Result<(Self, Grid, bool), Unfit> {
        let params = &self.setup.params;
        let masked = self.setup.masked(terrain, params.mode);
        let balance::RiverSolution { faces, depths, has_converged, unsolved } =
            balance::find(terrain, tick, params, masked.as_ref(), go_on)?;
        let flow = if params.mode == Mode::Corrected { Scheme::Friction(faces) } else { Scheme::Still };
        let mut setup = self.setup.clone();
        setup.count_limits([0, 0, 0, 0, 0, u64::from(!has_converged), unsolved]);
        Ok((Self { setup, flow, ..*self }, depths, has_converged))
    }

    /// Velocity of the water along columns and rows, in metres per second, once it has flowed on this terrain.
    fn velocity(&self, terrain: &Terrain) -> Option<[Grid; 2]> {
        match &self.flow {
            Scheme::Still => None,
            Scheme::Friction(faces) => {
                faces.fit(terrain).then(|| faces.velocity(terrain, self.setup.params.suspended_fraction()))
            }
            Scheme::Pipes(pipes) => pipes.fit(terrain).then(|| pipes.velocity(terrain)),
        }
    }

    /// Returns the process with these parameters.
    pub fn with(params: Params) -> Self {
        Self { setup: Setup::with(params), ..Self::default() }
    }
}

impl Process for Water {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn setup(&self) -> &dyn AnySetup {
        &self.setup
    }

    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.setup
    }

    fn largest_stable_dt(&self, terrain: &Terrain) -> f32 {
        let params = &self.setup.params;
        let &Params { gravity, pipe_area, .. } = params;
        let size = terrain.cell_size;
        match self.setup.params.mode {
            Mode::Corrected => {
                let wave = match &self.flow {
                    Scheme::Friction(faces) if faces.fit(terrain) => faces.recent_wave(terrain, params),
                    _ => friction::Faces::still(terrain).fastest_wave(terrain, params),
                };
                friction::COURANT * size / wave
            }
            // Half of what the linear theory allows, c = √(g·A/l).
            Mode::Published => pipes::COURANT * size / (gravity * pipe_area / size).sqrt(),
        }
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        match Stage::at(stage) {
            Stage::Rain => {
                if self.setup.params.filled && self.setup.counts == Counts::default() {
                    // Where that cannot be, it begins with the water that there is.
                    if let Ok((water, depths, _)) = self.steady_state(terrain, context.tick, &|_| true) {
                        let before = terrain.water_volume();
                        (*self, terrain.water) = (water, depths);
                        context.ledger.water.came(INFO.key, terrain.water_volume() - before);
                    }
                }
                match &mut self.flow {
                    Scheme::Still => {}
                    Scheme::Friction(faces) => faces.look_away(),
                    Scheme::Pipes(pipes) => pipes.look_away(),
                }
                let whole = self.setup.params.mode.seconds(self.setup.params.dt, terrain);
                let stable = self.largest_stable_dt(terrain);
                let wanted = (whole / stable).ceil().max(1.0);
                self.steps_left = wanted.min(MOST_STEPS as f32) as u32;
                let slow = u64::from(wanted > MOST_STEPS as f32);
                self.setup.count_limits([u64::from(self.steps_left - 1), slow, 0, 0, 0, 0, 0]);
                self.dt = (whole / self.steps_left as f32).min(stable);
                let seconds = self.dt * self.steps_left as f32;
                self.setup.elapse(f64::from(seconds));
                // Other processes change the bed too, so they follow its clock.
                context.elapsed.get_or_insert(f64::from(seconds * self.setup.params.bed_acceleration()));
                let (given, taken) = run_sources(terrain, context.tick, seconds);
                let row = context.ledger.water.row(INFO.key);
                row.inflow += given;
                row.outflow += taken;
            }
            // Its result is computed again in the next stage, where the rows are at hand.
            Stage::Flow => {
                if context.stepwise {
                    self.work(terrain, Work::Flow);
                }
            }
            Stage::Erosion => {
                let sums = self.work(terrain, Work::Whole);
                book(context.ledger, sums, terrain.cell_area());
                self.setup.count_limits([0, 0, sums.held, sums.spared, sums.withheld, 0, 0]);
                self.setup.counts.substeps += 1;
                self.steps_left -= 1;
                if self.steps_left > 0 {
                    return Progress::From(Stage::Flow as usize);
                }
            }
        }
        Progress::Done
    }

    fn idle_reason(&self, terrain: &Terrain) -> Option<IdleReason> {
        let params = &self.setup.params;
        if params.rain_rate > 0.0 {
            return None;
        }
        // A sea flows in over the border.
        let has_sea = || terrain.edge == Edge::Open && params.sea_level > terrain.start.min_max().0;
        IdleReason::without_water(terrain, "rain_rate").filter(|_| !has_sea())
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        Some(explain::explain(self, terrain, place))
    }

    fn vector_map(&self, map: VectorMap, terrain: &Terrain) -> Option<[Grid; 2]> {
        (map == VectorMap::Velocity).then(|| self.velocity(terrain)).flatten()
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            steady: Some(self),
            acceleration: Some(self.setup.params.bed_acceleration()),
            ..Abilities::default()
        }
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        let mut kept = self.setup.counts.memories();
        kept.extend(match self.setup.params.mode {
            Mode::Corrected => self.flow.faces(terrain).memories(),
            Mode::Published => self.flow.pipes(terrain).memories(),
        });
        kept
    }
}

impl Water {
    fn work(&mut self, terrain: &mut Terrain, work: Work) -> WaterSums {
        match self.setup.params.mode {
            Mode::Corrected => {
                let masked = self.setup.masked(terrain, self.setup.params.mode);
                self.flow.faces(terrain).step(terrain, &self.setup.params, masked.as_ref(), self.dt, work)
            }
            Mode::Published => self.flow.pipes(terrain).step(terrain, &self.setup.params, self.dt, work),
        }
    }
}

/// What lies beyond an open border: the starting ground, under a sea or dry.
#[derive(Clone, Copy)]
struct Shore<'a> {
    start: &'a [f32],
    sea_level: f32,
}

impl Shore<'_> {
    /// Ground and depth of water beyond the cell of this index.
    #[inline(always)]
    fn at(&self, index: usize) -> (f32, f32) {
        let ground = self.start[index];
        (ground, (self.sea_level - ground).max(0.0))
    }
}

/// Rain on every cell in a step, in metres: one number, or the rain map's share of it; where the mask scales it, as much more
/// or less.
#[derive(Clone, Copy)]
struct Rain<'a> {
    amount: f32,
    map: Option<&'a [f32]>,
    /// The mask, and the rain under it.
    masked: Option<(&'a Mask, f32)>,
}

impl<'a> Rain<'a> {
    fn new(map: Option<&'a [f32]>, params: &Params, masked: Option<&'a Masked<Params>>, dt: f32) -> Self {
        let masked = masked.filter(|masked| masked.params.rain_rate != params.rain_rate);
        Self {
            amount: params.rain_rate * dt,
            map,
            masked: masked.map(|masked| (&masked.mask, masked.params.rain_rate * dt)),
        }
    }

    /// Whether any falls.
    fn falls(&self) -> bool {
        self.amount > 0.0 || self.masked.is_some_and(|(_, under)| under > 0.0)
    }

    /// The rain on row `y`, which is written to `row` unless it is the same everywhere.
    #[inline(always)]
    fn fall<'row>(&self, y: usize, row: &'row mut [f32]) -> Fallen<'row> {
        let amount = self.amount;
        if self.map.is_none() && self.masked.is_none() {
            return Fallen { amount, row: None };
        }
        row.fill(amount);
        if let Some((mask, under)) = self.masked {
            for (cell, mask) in row.iter_mut().zip(mask.row(y as isize)) {
                *cell = between([amount, under], *mask);
            }
        }
        if let Some(map) = self.map {
            let width = row.len();
            for (cell, share) in row.iter_mut().zip(&map[y * width..]) {
                *cell *= share;
            }
        }
        Fallen { amount, row: Some(row) }
    }
}

/// The rain on a row of cells in a step: on each as much, or what the row says.
#[derive(Clone, Copy)]
struct Fallen<'a> {
    amount: f32,
    row: Option<&'a [f32]>,
}

impl Fallen<'_> {
    /// The rain on the cells from `x` on.
    #[inline(always)]
    fn at<V: Cells>(&self, x: usize) -> V {
        match self.row {
            Some(row) => V::load(row, x),
            None => V::all(self.amount),
        }
    }
}

fn book(ledger: &mut Ledger, sums: WaterSums, area: f64) {
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
