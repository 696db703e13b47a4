//! Hydraulic erosion by shallow water: flow, erosion of the bed, transport and deposition of sediment.
//!
//! The default scheme ([`friction`]) solves the shallow-water equations with one signed flux per face, bed friction and sediment transport
//! in flux form. The published scheme ([`pipes`]) has four one-way pipes of constant cross-section per cell, eqs 1–16. The pipes do not
//! advect momentum: there are no hydraulic jumps, and dam-break fronts on dry ground are too slow.

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

use rayon::prelude::*;

use self::sources::run_sources;
pub use self::{
    balance::BYTES_PER_CELL as BYTES_TO_FILL,
    params::{Capacity, Factors, Params},
};
use super::{
    AnySetup, Capabilities, Context, Footprint, IdleReason, Info, Mode, Process, ProcessCounts, ProgressCallback,
    Reference, Setup, SteadyState, SteadyWater, StepProgress, VectorMap, explain::Explanation, limiter::Limiter,
    stage::stages,
};
use crate::{
    core::{
        bounds::InvalidInput,
        grid::Grid,
        ledger::Ledger,
        terrain::{Edge, Layer, Terrain},
    },
    process::{
        masked::{Mask, MaskedParams, lerp},
        saved_state::NamedValues,
    },
    simd::{cells::Cells, stencil::RowAccumulator},
};

stages! {
    /// Springs add and drains remove water; the substep length is chosen.
    Sources = "springs and drains",
    /// Fluxes between cells are computed from the slope of the water surface, with the rain on it, and from momentum: the flow arrows
    /// show them.
    Flow = "flow",
    /// Rain is added and depths follow the fluxes; sediment is eroded, transported and deposited, and a fraction of the water evaporates.
    Erosion = "erosion",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "water",
    title: "Water",
    about: "Rain and springs form rivers and lakes that erode their beds, carry sediment and deposit it.",
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
            about: "Substeps beyond the first into which ticks were split, so that each is short enough to be stable.",
        },
        Limiter {
            name: "slow ticks",
            about: "Ticks that simulated less time than requested, because they would have needed too many substeps.",
        },
        Limiter {
            name: "outflow",
            about: "Cells whose outflow was reduced, because the computed fluxes would remove more water than they held.",
        },
        Limiter {
            name: "erosion",
            about: "Cells whose erosion was reduced, so that the bed stays smooth and no cell sinks far below its lowest neighbour.",
        },
        Limiter {
            name: "deposition",
            about: "Cells with morphological acceleration whose deposition was reduced, so that the bed stays smooth \
                and no cell rises above its highest neighbour.",
        },
        Limiter {
            name: "steady state",
            about: "Steady states of rivers and lakes that did not converge within the maximum number of iterations.",
        },
        Limiter {
            name: "levels",
            about: "Cells of a steady state whose water level was not solved to within the tolerance.",
        },
    ],
};

/// Maximum number of substeps per tick; a tick that needs more simulates less time.
const MOST_STEPS: u32 = 16;
/// Smallest depth in the wave speed that sets the time step, in metres: thinner films count as this deep.
const FILM: f32 = 0.01;
/// Square, in m², of the depth below which the velocity of a film is damped.
const FILM_SQUARE: f32 = 1e-6;

/// Water process: parameters, fluxes, counts.
#[derive(Clone, Default)]
pub struct Water {
    setup: Setup<Params, Factors>,
    flow: Scheme,
    /// Length of a substep of this tick, in seconds, and the number of substeps left.
    dt: f32,
    steps_left: u32,
}

/// Fluxes that a mode keeps from step to step.
#[derive(Clone, Default)]
enum Scheme {
    /// No flow yet.
    #[default]
    Still,
    /// Signed fluxes across faces.
    Friction(friction::FaceFluxes),
    /// Fluxes of the four pipes of each cell.
    Pipes(pipes::Pipes),
}

impl Scheme {
    /// Returns the fluxes of the corrected mode, all 0 if there are none for this terrain.
    fn faces(&mut self, terrain: &Terrain) -> &mut friction::FaceFluxes {
        if !matches!(self, Self::Friction(faces) if faces.fit(terrain)) {
            *self = Self::Friction(friction::FaceFluxes::new(terrain));
        }
        match self {
            Self::Friction(faces) => faces,
            _ => unreachable!("it was just made"),
        }
    }

    /// Returns the fluxes of the published mode, likewise.
    fn pipes(&mut self, terrain: &Terrain) -> &mut pipes::Pipes {
        if !matches!(self, Self::Pipes(pipes) if pipes.fit(terrain)) {
            *self = Self::Pipes(pipes::Pipes::new(terrain));
        }
        match self {
            Self::Pipes(pipes) => pipes,
            _ => unreachable!("it was just made"),
        }
    }
}

/// Scope of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepScope {
    /// Compute the fluxes for display and change nothing else.
    Flow,
    /// Compute the fluxes and apply them, in one pass.
    Full,
}

/// Totals of a step, in metres times cells unless stated otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct WaterSums {
    eroded: f64,
    deposited: f64,
    rained: f64,
    evaporated: f64,
    /// Net outflow of water and sediment across the border; negative for inflow.
    water_out: f64,
    solid_out: f64,
    /// Water and sediment lost in the published mode, which conserves neither; negative if created.
    water_lost: f64,
    solid_lost: f64,
    /// Number of cells whose outflow, erosion or deposition was limited.
    outflow_limited: u64,
    erosion_limited: u64,
    deposition_limited: u64,
    /// Speed of the fastest wave at the start of the step, in metres per second.
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
        self.outflow_limited += other.outflow_limited;
        self.erosion_limited += other.erosion_limited;
        self.deposition_limited += other.deposition_limited;
        self.wave = self.wave.max(other.wave);
    }
}

/// Erosion, deposition, rain and evaporation in the rows of a strip, and the number of cells in which each limiter was applied.
#[derive(Default)]
struct WaterTallies {
    eroded: RowAccumulator,
    deposited: RowAccumulator,
    rained: RowAccumulator,
    evaporated: RowAccumulator,
    outflow_limited: RowAccumulator,
    erosion_limited: RowAccumulator,
    deposition_limited: RowAccumulator,
}

impl WaterTallies {
    /// Ends a row and adds it to the totals if it `counts`.
    #[inline(always)]
    fn end_row(&mut self, counts: bool) {
        let Self {
            eroded,
            deposited: laid,
            rained,
            evaporated: dried,
            outflow_limited: held,
            erosion_limited: spared,
            deposition_limited: withheld,
        } = self;
        for tally in [eroded, laid, rained, dried, held, spared, withheld] {
            tally.end_row(counts);
        }
    }

    /// Returns the totals of the rows that count.
    fn sums(&self) -> WaterSums {
        WaterSums {
            eroded: self.eroded.total(),
            deposited: self.deposited.total(),
            rained: self.rained.total(),
            evaporated: self.evaporated.total(),
            outflow_limited: self.outflow_limited.total() as u64,
            erosion_limited: self.erosion_limited.total() as u64,
            deposition_limited: self.deposition_limited.total() as u64,
            ..WaterSums::default()
        }
    }
}

impl SteadyWater for Water {
    fn solve_steady_state(
        &self,
        terrain: &Terrain,
        tick: u64,
        go_on: &ProgressCallback<'_>,
    ) -> Result<SteadyState, InvalidInput> {
        let (process, water, has_converged) = self.steady_state(terrain, tick, go_on)?;
        Ok(SteadyState { process: Box::new(process), water, has_converged })
    }

    fn startup_bytes_per_cell(&self) -> usize {
        if self.setup.params.filled { BYTES_TO_FILL } else { 0 }
    }
}

impl Water {
    /// Returns the process and the depth of the water in the steady state for the rain and springs of a tick, and `true` if it has
    /// converged.
    fn steady_state(
        &self,
        terrain: &Terrain,
        tick: u64,
        go_on: &ProgressCallback<'_>,
    ) -> Result<(Self, Grid, bool), InvalidInput> {
        let params = &self.setup.params;
        let masked = self.setup.masked_params(terrain, params.mode);
        let balance::RiverSolution { faces, depths, has_converged, unsolved } =
            balance::find(terrain, tick, params, masked.as_ref(), go_on)?;
        let flow = if params.mode == Mode::Corrected { Scheme::Friction(faces) } else { Scheme::Still };
        let mut setup = self.setup.clone();
        setup.count_limits([0, 0, 0, 0, 0, u64::from(!has_converged), unsolved]);
        Ok((Self { setup, flow, ..*self }, depths, has_converged))
    }

    /// Returns the velocity of the water along columns and rows, in metres per second, or `None` before it has flowed on this terrain.
    fn velocity(&self, terrain: &Terrain) -> Option<[Grid; 2]> {
        self.velocity_at(terrain, [0, 0])?;
        let (width, height) = (terrain.width(), terrain.height());
        let mut velocity = [Grid::filled(width, height, 0.0), Grid::filled(width, height, 0.0)];
        let [u, v] = &mut velocity;
        u.par_chunks_mut(width).zip(v.par_chunks_mut(width)).enumerate().for_each(|(y, (u, v))| {
            for x in 0..width {
                [u[x], v[x]] = self.velocity_at(terrain, [x, y]).unwrap_or_default();
            }
        });
        Some(velocity)
    }

    /// Returns the velocity of the water in a cell, likewise.
    #[inline]
    fn velocity_at(&self, terrain: &Terrain, place: [usize; 2]) -> Option<[f32; 2]> {
        match &self.flow {
            Scheme::Still => None,
            Scheme::Friction(faces) => {
                let suspended_fraction = self.setup.params.suspended_fraction();
                faces.fit(terrain).then(|| faces.velocity_at(terrain, suspended_fraction, place))
            }
            Scheme::Pipes(pipes) => pipes.fit(terrain).then(|| pipes.velocity_at(terrain, place)),
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
                    _ => friction::FaceFluxes::new(terrain).fastest_wave(terrain, params),
                };
                friction::COURANT * size / wave
            }
            // Wave speed in the pipes: c = √(g·A/l).
            Mode::Published => pipes::COURANT * size / (gravity * pipe_area / size).sqrt(),
        }
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> StepProgress {
        let terrain = &mut *context.terrain;
        match Stage::at(stage) {
            Stage::Sources => {
                if self.setup.params.filled && self.setup.counts == ProcessCounts::default() {
                    // Without a steady state, the process starts from the existing water.
                    if let Ok((water, depths, _)) = self.steady_state(terrain, context.tick, &|_| true) {
                        let before = terrain.water_volume();
                        (*self, terrain.water) = (water, depths);
                        context.ledger.water.book_inflow(INFO.key, terrain.water_volume() - before);
                    }
                }
                match &mut self.flow {
                    Scheme::Still => {}
                    Scheme::Friction(faces) => faces.discard_display(),
                    Scheme::Pipes(pipes) => pipes.discard_display(),
                }
                let whole = self.setup.params.mode.seconds(self.setup.params.dt, terrain);
                let params = &self.setup.params;
                let splits = params.substeps || params.mode == Mode::Corrected;
                let stable = if splits { self.largest_stable_dt(terrain) } else { f32::INFINITY };
                let wanted = (whole / stable).ceil().max(1.0);
                self.steps_left = wanted.min(MOST_STEPS as f32) as u32;
                let slow = u64::from(wanted > MOST_STEPS as f32);
                self.setup.count_limits([u64::from(self.steps_left - 1), slow, 0, 0, 0, 0, 0]);
                self.dt = (whole / self.steps_left as f32).min(stable);
                let seconds = self.dt * self.steps_left as f32;
                self.setup.elapse(f64::from(seconds));
                // Other processes change the bed too, so they follow its morphological time.
                context.elapsed.get_or_insert(f64::from(seconds * self.setup.params.bed_acceleration()));
                let (given, taken) = run_sources(terrain, context.tick, seconds);
                let row = context.ledger.water.row(INFO.key);
                row.inflow += given;
                row.outflow += taken;
            }
            // For display only: the next stage recomputes the fluxes, row by row.
            Stage::Flow => {
                if context.stepwise {
                    self.work(terrain, StepScope::Flow);
                }
            }
            Stage::Erosion => {
                let sums = self.work(terrain, StepScope::Full);
                book(context.ledger, sums, terrain.cell_area());
                self.setup.count_limits([
                    0,
                    0,
                    sums.outflow_limited,
                    sums.erosion_limited,
                    sums.deposition_limited,
                    0,
                    0,
                ]);
                self.setup.counts.substeps += 1;
                self.steps_left -= 1;
                if self.steps_left > 0 {
                    return StepProgress::ContinueAt(Stage::Flow as usize);
                }
            }
        }
        StepProgress::Done
    }

    fn idle_reason(&self, terrain: &Terrain) -> Option<IdleReason> {
        let params = &self.setup.params;
        if params.rain_rate > 0.0 {
            return None;
        }
        // A sea flows in across open borders.
        let has_sea = || terrain.edge == Edge::Open && params.sea_level > terrain.start.min_max().0;
        IdleReason::without_water(terrain, "rain_rate").filter(|_| !has_sea())
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        Some(explain::explain(self, terrain, place))
    }

    fn vector_map(&self, map: VectorMap, terrain: &Terrain) -> Option<[Grid; 2]> {
        (map == VectorMap::Velocity).then(|| self.velocity(terrain)).flatten()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            steady: Some(self),
            acceleration: Some(self.setup.params.bed_acceleration()),
            ..Capabilities::default()
        }
    }

    fn state_values(&mut self, terrain: &Terrain) -> NamedValues<'_> {
        let mut values = self.setup.counts.state_values();
        values.extend(match self.setup.params.mode {
            Mode::Corrected => self.flow.faces(terrain).state_values(),
            Mode::Published => self.flow.pipes(terrain).state_values(),
        });
        values
    }
}

impl Water {
    fn work(&mut self, terrain: &mut Terrain, work: StepScope) -> WaterSums {
        match self.setup.params.mode {
            Mode::Corrected => {
                let masked = self.setup.masked_params(terrain, self.setup.params.mode);
                self.flow.faces(terrain).step(terrain, &self.setup.params, masked.as_ref(), self.dt, work)
            }
            Mode::Published => self.flow.pipes(terrain).step(terrain, &self.setup.params, self.dt, work),
        }
    }
}

/// Boundary condition beyond an open border: the starting ground, dry or below a sea.
#[derive(Clone, Copy)]
struct OpenBoundary<'a> {
    start: &'a [f32],
    sea_level: f32,
}

impl OpenBoundary<'_> {
    /// Returns the ground and the depth of the water beyond the border cell of this index.
    #[inline(always)]
    fn at(&self, index: usize) -> (f32, f32) {
        let ground = self.start[index];
        (ground, (self.sea_level - ground).max(0.0))
    }
}

/// Rain in a step, in metres: uniform or scaled by the rain map, and interpolated to the masked rate by the mask.
#[derive(Clone, Copy)]
struct StepRain<'a> {
    amount: f32,
    map: Option<&'a [f32]>,
    /// Mask, and the uniform rain where it is full.
    masked: Option<(&'a Mask, f32)>,
}

impl<'a> StepRain<'a> {
    fn new(map: Option<&'a [f32]>, params: &Params, masked: Option<&'a MaskedParams<Params>>, dt: f32) -> Self {
        let masked = masked.filter(|masked| masked.params.rain_rate != params.rain_rate);
        Self {
            amount: params.rain_rate * dt,
            map,
            masked: masked.map(|masked| (&masked.mask, masked.params.rain_rate * dt)),
        }
    }

    /// Returns `true` if any rain falls.
    fn is_falling(&self) -> bool {
        self.amount > 0.0 || self.masked.is_some_and(|(_, under)| under > 0.0)
    }

    /// Returns the rain on row `y`, written to `row` unless it is uniform.
    #[inline(always)]
    fn row<'row>(&self, y: usize, row: &'row mut [f32]) -> RainRow<'row> {
        let amount = self.amount;
        if self.map.is_none() && self.masked.is_none() {
            return RainRow { amount, row: None };
        }
        row.fill(amount);
        if let Some((mask, under)) = self.masked {
            for (cell, mask) in row.iter_mut().zip(mask.row(y as isize)) {
                *cell = lerp([amount, under], *mask);
            }
        }
        if let Some(map) = self.map {
            let width = row.len();
            for (cell, share) in row.iter_mut().zip(&map[y * width..]) {
                *cell *= share;
            }
        }
        RainRow { amount, row: Some(row) }
    }
}

/// Rain on a row of cells in a step: uniform, or one value per cell.
#[derive(Clone, Copy)]
struct RainRow<'a> {
    amount: f32,
    row: Option<&'a [f32]>,
}

impl RainRow<'_> {
    /// Returns the rain on the cells from `x` on.
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
