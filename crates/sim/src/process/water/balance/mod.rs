//! Steady state of rivers and lakes: discharges and depths at which outflow balances rain and springs, solved without time stepping.
//!
//! Water leaves a cell across those of its four faces behind which the ground is lower, in proportion to the square roots of the falls, as
//! in Manning's equation for shallow water. It leaves depressions over their spill points (priority flood, Barnes et al. 2014). With Q the
//! discharge of a cell, its level H follows from the levels H′ behind these faces, from the outlets upstream: the fall accelerates the
//! water, and Manning friction slows it,
//!
//! ```text
//! Q = Σ l·q        g·h·(H − H′) + M = q·u + g·l·n²·q²·h^(−7/3)        h = max(H, H′) − max(z, z′)
//! ```
//!
//! z and z′ are the grounds, l the cell size, n the roughness, u the velocity that the process assigns to a face with flux q, and M = q·u
//! of the face upstream of the cell, from the previous iteration. This is nearly a steady state of the default scheme: lakes stand as high
//! above their spill points as their outflow requires, backwater raises rivers, and rain spreads over slopes. Evaporation along the way is
//! subtracted. The published form has no roughness; it starts with the depths of the default one.

mod faces;
mod routing;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rayon::prelude::*;

use self::{
    faces::{Face, FaceCoefficients, solve_level},
    routing::{NOWHERE, Place, Routing},
};
use super::{Params, friction::FaceFluxes};
use crate::{
    core::{
        border::Border,
        bounds::InvalidInput,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::{
        ProgressCallback,
        masked::{MaskedParams, lerp},
    },
};

/// Memory per cell during the solution, in bytes.
pub const BYTES_PER_CELL: usize =
    size_of::<Place>() + size_of::<StandingWater>() + size_of::<CellOutflow>() + 4 * 8 + 6 * 4;

/// Maximum number of iterations, each of which updates discharge, momentum and depths in turn.
const MOST_ROUNDS: usize = 16;
/// Relative change of all depths in an iteration below which the solution has converged.
const CONVERGED: f64 = 1e-3;
/// Relaxation factor: weight of new momentum and new spills in an iteration.
const NEW: f32 = 0.5;
/// Water spills over a shore if the level behind it is lower by this fraction of the depth over the shore.
const CLEARLY: f64 = 0.1;

/// Terrain and the parameters of its water, with or without a mask.
struct BalancedTerrain<'a> {
    terrain: &'a Terrain,
    params: &'a Params,
    masked: Option<&'a MaskedParams<Params>>,
}

impl BalancedTerrain<'_> {
    /// Returns the value of a parameter in a cell.
    fn local(&self, cell: usize, parameter: impl Fn(&Params) -> f32) -> f64 {
        let (free, width) = (parameter(self.params), self.terrain.width());
        f64::from(
            self.masked.map_or(free, |masked| {
                lerp([free, parameter(&masked.params)], masked.mask.at(cell % width, cell / width))
            }),
        )
    }

    /// Returns `true` for each face of a cell that lies on the map border.
    fn at_border(&self, cell: usize) -> [bool; 4] {
        let (width, height) = (self.terrain.width(), self.terrain.height());
        let (x, y) = (cell % width, cell / width);
        [x == 0, x + 1 == width, y == 0, y + 1 == height]
    }

    /// Returns ground and level beyond an open border, in metres.
    fn beyond(&self, cell: usize) -> [f32; 2] {
        let bed = self.terrain.start[cell];
        [bed, bed.max(self.params.sea_level)]
    }

    /// Returns the cells at which water leaves the map, each with the level that it has to reach there.
    fn outlets(&self, tick: u64) -> Vec<(usize, f32)> {
        let Self { terrain, .. } = *self;
        if terrain.edge == Edge::Open {
            let border = (0..terrain.bedrock.len()).filter(|&cell| self.at_border(cell).contains(&true));
            return border.map(|cell| (cell, self.beyond(cell)[1])).collect();
        }
        let drains = terrain.sources.iter().filter(|source| source.rate < 0.0 && source.runs(tick));
        let mut cells: Vec<usize> = drains.flat_map(|source| source.cells(terrain)).collect();
        cells.sort_unstable();
        cells.dedup();
        cells.into_iter().map(|cell| (cell, f32::NEG_INFINITY)).collect()
    }

    /// Returns the faces across which water leaves a place, without momentum, for these levels of places.
    fn faces(&self, place: &Place, places: &[Place], level: impl Fn(usize) -> f64) -> impl Iterator<Item = Face> {
        let own = f64::from(place.ground);
        (0..4).filter(|&face| place.leaves(face)).map(move |number| match place.around[number] {
            NOWHERE => {
                let [bed, level] = self.beyond(place.cell as usize).map(f64::from);
                Face { number, ground: [own, bed], level, momentum: 0.0 }
            }
            next => {
                let (ground, level) = (f64::from(places[next as usize].ground), level(next as usize));
                Face { number, ground: [own, ground], level, momentum: 0.0 }
            }
        })
    }

    /// Returns the supply of each cell, in cubic metres per second: rain and springs, less drains.
    fn supply(&self, tick: u64) -> Vec<f64> {
        let Self { terrain, .. } = *self;
        let share = |cell: usize| terrain.rain.as_ref().map_or(1.0, |map| f64::from(map[cell]));
        let rain = |cell| self.local(cell, |params| params.rain_rate) * share(cell) * terrain.cell_area();
        let mut supply: Vec<f64> = (0..terrain.bedrock.len()).map(rain).collect();
        for source in terrain.sources.iter().filter(|source| source.runs(tick)) {
            let cells = source.cells(terrain);
            let each = f64::from(source.rate) / cells.len() as f64;
            cells.into_iter().for_each(|cell| supply[cell] += each);
        }
        supply
    }
}

/// Fluxes and depths of rivers and lakes after the last iteration.
pub(super) struct RiverSolution {
    pub faces: FaceFluxes,
    /// Depth of the water, in metres.
    pub depths: Grid,
    /// `false` if depths still changed in the last iteration.
    pub has_converged: bool,
    /// Number of cells whose level was not solved to within the tolerance in the last iteration.
    pub unsolved: u64,
}

/// Solves for the fluxes and depths of rivers and lakes in the steady state for the rain and springs of a tick.
///
/// # Errors
/// If no water can leave the map, none enters it, or the search was cancelled.
pub(super) fn find(
    terrain: &Terrain,
    tick: u64,
    params: &Params,
    masked: Option<&MaskedParams<Params>>,
    go_on: &ProgressCallback<'_>,
) -> Result<RiverSolution, InvalidInput> {
    let land = BalancedTerrain { terrain, params, masked };
    let supply = land.supply(tick);
    if !supply.iter().any(|&rate| rate > 0.0) {
        return Err(InvalidInput {
            wrong: "there is no rain and no spring".to_owned(),
            right: "set a rain rate above 0 or place a spring".to_owned(),
        });
    }
    let outlets = land.outlets(tick);
    if outlets.is_empty() {
        return Err(InvalidInput {
            wrong: "no water can leave a map with closed edges".to_owned(),
            right: "open the edges or place a drain".to_owned(),
        });
    }
    let mut rivers = BalanceState::new(land, supply, &outlets);
    // Runs on a thread of the pool, whose threads synchronise often.
    let has_converged = rayon::scope(|_| {
        for round in 0..MOST_ROUNDS {
            if !go_on(round as f32 / MOST_ROUNDS as f32) {
                return Err(InvalidInput {
                    wrong: "the search was cancelled".to_owned(),
                    right: "start it again and let it finish".to_owned(),
                });
            }
            rivers.gather();
            if rivers.rise(round > 0) <= CONVERGED {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    Ok(RiverSolution { faces: rivers.fluxes(), depths: rivers.depths(), has_converged, unsolved: rivers.unsolved })
}

/// Water standing in a cell.
#[derive(Clone, Copy)]
struct StandingWater {
    /// Level, in metres.
    level: f64,
    /// Fraction of the discharge that spills across each face: over a bank or shore, or over a border without a fall.
    spills: [f32; 4],
}

impl StandingWater {
    /// Returns the fraction of the discharge that does not spill.
    fn retained_fraction(&self) -> f64 {
        1.0 - f64::from(self.spills.iter().sum::<f32>())
    }
}

/// Water flowing out of a cell.
#[derive(Clone, Copy, Default)]
struct CellOutflow {
    /// Discharge, in cubic metres per second.
    discharge: f64,
    /// Flux times velocity of the faces across which water leaves, in m³/s².
    momentum: [f32; 4],
}

/// Water of a terrain during the iterations, in the order of its places.
struct BalanceState<'a> {
    land: BalancedTerrain<'a>,
    routing: Routing,
    /// Supply of each place, in cubic metres per second: from outside, and spilled over shores in the previous iteration.
    supply: Vec<f64>,
    spilled: Vec<f64>,
    standing: Vec<StandingWater>,
    /// Levels of the previous iteration, in metres.
    before: Vec<f64>,
    flows: Vec<CellOutflow>,
    /// Number of cells whose level was not solved to within the tolerance in the last iteration.
    unsolved: u64,
}

impl<'a> BalanceState<'a> {
    fn new(land: BalancedTerrain<'a>, supply: Vec<f64>, outlets: &[(usize, f32)]) -> Self {
        let terrain = land.terrain;
        let Terrain { bedrock, sand, suspended, .. } = terrain;
        let (count, suspended_fraction) = (bedrock.len(), land.params.suspended_fraction());
        let ground: Vec<f32> =
            (0..count).map(|cell| bedrock[cell] + sand[cell] + suspended[cell] * suspended_fraction).collect();
        let borders = |cell| if terrain.edge == Edge::Open { land.at_border(cell) } else { [false; 4] };
        let routing = Routing::find(Border::of(terrain), &ground, outlets, borders, |cell| land.beyond(cell)[1]);
        let supply = routing.places.iter().map(|place| supply[place.cell as usize]).collect();
        let dry = |place: &Place| StandingWater { level: f64::from(place.ground), spills: [0.0; 4] };
        let standing: Vec<StandingWater> = routing.places.iter().map(dry).collect();
        let before = standing.iter().map(|standing| standing.level).collect();
        let (spilled, flows) = (vec![0.0; count], vec![CellOutflow::default(); count]);
        Self { land, routing, supply, spilled, standing, before, flows, unsolved: 0 }
    }

    /// Accumulates the discharge of every cell downstream, and its momentum.
    fn gather(&mut self) {
        let Self { land, routing, supply, spilled, standing, flows, .. } = self;
        let (area, size) = (land.terrain.cell_area(), f64::from(land.terrain.cell_size));
        for step in routing.steps.iter().rev() {
            let end = step[step.len() - 1].end;
            let (open, done) = flows.split_at_mut(end);
            blocks(step, &mut open[step[0].start..]).into_par_iter().for_each(|(block, own)| {
                for at in block.clone().rev() {
                    let (place, water) = (&routing.places[at], &standing[at]);
                    let mut comes = supply[at] + spilled[at];
                    for (face, next) in place.neighbours() {
                        let (from, face) = (&routing.places[next], face ^ 1);
                        if from.leaves(face) {
                            let flow = if next < block.end { &own[next - block.start] } else { &done[next - end] };
                            comes += flow.discharge * f64::from(from.parts[face]) * standing[next].retained_fraction();
                        }
                    }
                    let depth = water.level - f64::from(place.ground);
                    let evaporates = land.local(place.cell as usize, |params| params.evaporation_rate) * depth * area;
                    let flow = &mut own[at - block.start];
                    flow.discharge = (comes - evaporates).max(0.0);
                    let passes = flow.discharge / size * water.retained_fraction();
                    for face in land.faces(place, &routing.places, |next| standing[next].level) {
                        let passes = passes * f64::from(place.parts[face.number]);
                        let old = &mut flow.momentum[face.number];
                        *old += NEW * ((passes * passes * face.speed(water.level)) as f32 - *old);
                    }
                }
            });
        }
        // Spills arrive in the next iteration.
        spilled.par_iter_mut().zip(&routing.places).for_each(|(spilled, place)| {
            let over =
                |(face, next): (usize, usize)| flows[next].discharge * f64::from(standing[next].spills[face ^ 1]);
            *spilled = place.neighbours().map(over).sum();
        });
    }

    /// Raises the level of every cell, upstream, until its discharge leaves. Returns the relative change of the depths.
    fn rise(&mut self, spills: bool) -> f64 {
        let Self { land, routing, standing, before, flows, unsolved, .. } = self;
        *unsolved = 0;
        let size = f64::from(land.terrain.cell_size);
        let gravity = f64::from(land.params.gravity);
        before.par_iter_mut().zip(&*standing).for_each(|(before, standing)| *before = standing.level);
        let mut sums = [0.0; 2];
        for step in &routing.steps {
            let start = step[0].start;
            let (done, open) = standing.split_at_mut(start);
            let change = |(block, own): (Range<usize>, &mut [StandingWater])| {
                let (mut sums, mut inexact, mut faces) = ([0.0; 2], 0, Vec::with_capacity(4));
                for at in block.clone() {
                    let place = &routing.places[at];
                    let roughness = land.local(place.cell as usize, |params| params.roughness);
                    let pull = FaceCoefficients { gravity, drag: gravity * size * roughness * roughness };
                    let (ground, flux) = (f64::from(place.ground), flows[at].discharge / size);
                    let level_of =
                        |next: usize| if next < start { done[next].level } else { own[next - block.start].level };
                    faces.clear();
                    faces.extend(land.faces(place, &routing.places, level_of));
                    for face in &mut faces {
                        // The cell upstream lies across the opposite face.
                        let behind = place.around[face.number ^ 1];
                        face.momentum =
                            if behind == NOWHERE { 0.0 } else { flows[behind as usize].momentum[face.number].into() };
                    }
                    let count = faces.len();
                    if spills && count > 0 {
                        push_spill_faces(place, &routing.places, before, before[at], &mut faces);
                    }
                    let (new, is_exact) =
                        if count == 0 { (ground, true) } else { solve_level(&faces, flux, pull, before[at]) };
                    let new = new.max(ground);
                    let own = &mut own[at - block.start];
                    let passes = |face: &Face| face.passes(new, pull);
                    let sum: f64 = faces.iter().map(passes).sum();
                    let spills = |(at, face): &(usize, &Face)| *at >= count || place.pours(face.number);
                    let mut parts = [0.0; 4];
                    for (_, face) in faces.iter().enumerate().filter(spills).filter(|_| sum > 0.0) {
                        parts[face.number] = (passes(face) / sum) as f32;
                    }
                    own.spills.iter_mut().zip(parts).for_each(|(old, new)| *old += NEW * (new - *old));
                    own.level = new;
                    inexact += u64::from(!is_exact);
                    sums[0] += (new - before[at]).abs();
                    sums[1] += new - ground;
                }
                (sums, inexact)
            };
            let found: Vec<([f64; 2], u64)> = blocks(step, open).into_par_iter().map(change).collect();
            for (of, inexact) in found {
                sums[0] += of[0];
                sums[1] += of[1];
                *unsolved += inexact;
            }
        }
        sums[0] / sums[1].max(f64::MIN_POSITIVE)
    }

    /// Returns the depths of all cells, in metres.
    fn depths(&self) -> Grid {
        let mut depths = Grid::filled(self.land.terrain.width(), self.land.terrain.height(), 0.0);
        for (place, standing) in self.routing.places.iter().zip(&self.standing) {
            depths[place.cell as usize] = (standing.level - f64::from(place.ground)) as f32;
        }
        depths
    }

    /// Returns the flux across each face.
    fn fluxes(&self) -> FaceFluxes {
        let terrain = self.land.terrain;
        let (size, mut fluxes) = (f64::from(terrain.cell_size), FaceFluxes::new(terrain));
        for ((place, standing), flow) in self.routing.places.iter().zip(&self.standing).zip(&self.flows) {
            let at = [place.cell as usize % terrain.width(), place.cell as usize / terrain.width()];
            let flux = flow.discharge / size;
            for face in 0..4 {
                let share =
                    f64::from(place.parts[face]) * standing.retained_fraction() + f64::from(standing.spills[face]);
                if share > 0.0 {
                    fluxes.add_outflow(at, face, (flux * share) as f32);
                }
            }
        }
        fluxes.merge_periodic(terrain.edge);
        fluxes
    }
}

/// Adds the faces over a bank or shore to clearly lower water, across which the cell overflows.
fn push_spill_faces(place: &Place, places: &[Place], levels: &[f64], own: f64, faces: &mut Vec<Face>) {
    for (number, next) in place.neighbours().filter(|&(face, _)| !place.leaves(face)) {
        let (ground, bed) = (f64::from(place.ground), f64::from(places[next].ground));
        let over = own - bed;
        if over > 0.0 && bed > ground && own - levels[next] > CLEARLY * over {
            faces.push(Face { number, ground: [ground, bed], level: levels[next], momentum: 0.0 });
        }
    }
}

/// Pairs each range of a step with its part of `rest`, which begins at the first range.
fn blocks<'a, T>(step: &[Range<usize>], mut rest: &'a mut [T]) -> Vec<(Range<usize>, &'a mut [T])> {
    step.iter()
        .map(|block| {
            let own;
            (own, rest) = std::mem::take(&mut rest).split_at_mut(block.len());
            (block.clone(), own)
        })
        .collect()
}
