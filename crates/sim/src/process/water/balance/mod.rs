//! Rivers in balance: the water that stands and flows when as much leaves as falls and springs, found at once.
//!
//! Water leaves a cell across those of its four faces behind which the ground is lower, in parts as the roots of the falls: so Manning has
//! it where water is shallow. Out of hollows it goes over their lowest pass (priority flood, Barnes et al. 2014). With Q the discharge that
//! comes together in a cell, its level H follows from the levels H′ behind these faces, from the outlets upwards: the fall gives the water
//! its speed, and what the bed holds back is Manning's,
//!
//! ```text
//! Q = Σ l·q        g·h·(H − H′) + M = q·u + g·l·n²·q²·h^(−7/3)        h = max(H, H′) − max(z, z′)
//! ```
//!
//! z and z′ are the grounds, l the cell size, n the roughness, u the velocity that the process gives a face with the flux q, and M = q·u of
//! the face behind the cell, from the round before. This is the state in which the default scheme's own faces hardly change: lakes stand
//! over their passes as high as their outflow asks for, rivers are dammed up by what lies downstream, and rain spreads over slopes. What
//! evaporates on the way is taken off. The published form has no roughness; it begins with the depths of the default one.

mod faces;
#[cfg(test)]
mod tests;
mod ways;

use std::ops::Range;

use rayon::prelude::*;

use self::{
    faces::{Face, Pull, level},
    ways::{NOWHERE, Place, Ways},
};
use super::{Params, friction::Faces};
use crate::{
    core::{
        border::Border,
        bounds::Unfit,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::{
        GoOn,
        masked::{Masked, between},
    },
};

/// Memory for each cell while they are found, in bytes.
pub const BYTES_PER_CELL: usize = size_of::<Place>() + size_of::<Standing>() + size_of::<Flow>() + 4 * 8 + 6 * 4;

/// Rounds in which discharge, depths and momentum are found by turns.
const MOST_ROUNDS: usize = 16;
/// Change of all depths in a round, as a share of them, with which they end.
const SETTLED: f64 = 1e-3;
/// Of the new momentum and of what newly spills, what a round takes over.
const NEW: f32 = 0.5;
/// Water spills over a shore where it stands lower behind it by this share of what stands over the shore.
const CLEARLY: f64 = 0.1;

/// What a terrain gives and takes, under a mask or not.
struct Land<'a> {
    terrain: &'a Terrain,
    params: &'a Params,
    masked: Option<&'a Masked<Params>>,
}

impl Land<'_> {
    /// What a parameter is in a cell.
    fn local(&self, cell: usize, parameter: impl Fn(&Params) -> f32) -> f64 {
        let (free, width) = (parameter(self.params), self.terrain.width());
        f64::from(self.masked.map_or(free, |masked| {
            between([free, parameter(&masked.params)], masked.mask.at(cell % width, cell / width))
        }))
    }

    /// Which of a cell's faces are the map's border.
    fn at_border(&self, cell: usize) -> [bool; 4] {
        let (width, height) = (self.terrain.width(), self.terrain.height());
        let (x, y) = (cell % width, cell / width);
        [x == 0, x + 1 == width, y == 0, y + 1 == height]
    }

    /// Ground and level beyond an open border, in metres.
    fn beyond(&self, cell: usize) -> [f32; 2] {
        let bed = self.terrain.start[cell];
        [bed, bed.max(self.params.sea_level)]
    }

    /// The cells that water leaves the map at, each with the level that it has to reach there.
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

    /// The faces that water leaves a cell across, with nothing brought, where places have these levels.
    fn faces(&self, place: &Place, places: &[Place], level: impl Fn(usize) -> f64) -> impl Iterator<Item = Face> {
        let own = f64::from(place.ground);
        (0..4).filter(|&face| place.leaves(face)).map(move |number| match place.around[number] {
            NOWHERE => {
                let [bed, level] = self.beyond(place.cell as usize).map(f64::from);
                Face { number, ground: [own, bed], level, brought: 0.0 }
            }
            next => {
                let (ground, level) = (f64::from(places[next as usize].ground), level(next as usize));
                Face { number, ground: [own, ground], level, brought: 0.0 }
            }
        })
    }

    /// What comes to each cell, in cubic metres per second: rain, and springs, which drains make less.
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

/// Fluxes and depths of rivers and lakes, as far as the search came.
pub(super) struct RiverSolution {
    pub faces: Faces,
    /// Depth of the water, in metres.
    pub depths: Grid,
    /// `false` if depths still changed in the last round.
    pub has_converged: bool,
    /// Number of cells for whose discharge no exact level was found in the last round.
    pub unsolved: u64,
}

/// Finds the fluxes and depths that a terrain's rivers and lakes have with the rain and springs of a tick.
///
/// # Errors
/// One sentence, if no water can leave the map, none enters it, or the search was cancelled.
pub(super) fn find(
    terrain: &Terrain,
    tick: u64,
    params: &Params,
    masked: Option<&Masked<Params>>,
    go_on: &GoOn<'_>,
) -> Result<RiverSolution, Unfit> {
    let land = Land { terrain, params, masked };
    let supply = land.supply(tick);
    if !supply.iter().any(|&rate| rate > 0.0) {
        return Err(Unfit {
            wrong: "no rain falls and no spring runs".to_owned(),
            right: "rivers need a rain rate above 0 or a spring".to_owned(),
        });
    }
    let outlets = land.outlets(tick);
    if outlets.is_empty() {
        return Err(Unfit {
            wrong: "no water can leave a map with closed edges".to_owned(),
            right: "open the edge or place a drain".to_owned(),
        });
    }
    let mut rivers = Rivers::new(land, supply, &outlets);
    // On one of the threads that share the work: they meet often.
    let has_converged = rayon::scope(|_| {
        for round in 0..MOST_ROUNDS {
            if !go_on(round as f32 / MOST_ROUNDS as f32) {
                return Err(Unfit { wrong: "the search was cancelled".to_owned(), right: "let it finish".to_owned() });
            }
            rivers.gather();
            if rivers.rise(round > 0) <= SETTLED {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    Ok(RiverSolution { faces: rivers.fluxes(), depths: rivers.depths(), has_converged, unsolved: rivers.unsolved })
}

/// How water stands in a cell.
#[derive(Clone, Copy)]
struct Standing {
    /// In metres.
    level: f64,
    /// The part of the discharge that leaves across each face over a bank or shore, or pours over the border.
    spills: [f32; 4],
}

impl Standing {
    /// The part of the discharge that does not spill.
    fn kept(&self) -> f64 {
        1.0 - f64::from(self.spills.iter().sum::<f32>())
    }
}

/// How water flows out of a cell.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// In cubic metres per second.
    discharge: f64,
    /// Flux times velocity of the faces that water leaves across, in m³/s².
    momentum: [f32; 4],
}

/// The water of a terrain, round by round, in the order of its places.
struct Rivers<'a> {
    land: Land<'a>,
    ways: Ways,
    /// What comes to each, in cubic metres per second: from outside, and over shores in the round before.
    supply: Vec<f64>,
    spilled: Vec<f64>,
    standing: Vec<Standing>,
    /// Levels of the round before, in metres.
    before: Vec<f64>,
    flows: Vec<Flow>,
    /// Number of cells for whose discharge no exact level was found in the last round.
    unsolved: u64,
}

impl<'a> Rivers<'a> {
    fn new(land: Land<'a>, supply: Vec<f64>, outlets: &[(usize, f32)]) -> Self {
        let terrain = land.terrain;
        let Terrain { bedrock, sand, suspended, .. } = terrain;
        let (count, suspended_fraction) = (bedrock.len(), land.params.suspended_fraction());
        let ground: Vec<f32> =
            (0..count).map(|cell| bedrock[cell] + sand[cell] + suspended[cell] * suspended_fraction).collect();
        let borders = |cell| if terrain.edge == Edge::Open { land.at_border(cell) } else { [false; 4] };
        let ways = Ways::find(Border::of(terrain), &ground, outlets, borders, |cell| land.beyond(cell)[1]);
        let supply = ways.places.iter().map(|place| supply[place.cell as usize]).collect();
        let dry = |place: &Place| Standing { level: f64::from(place.ground), spills: [0.0; 4] };
        let standing: Vec<Standing> = ways.places.iter().map(dry).collect();
        let before = standing.iter().map(|standing| standing.level).collect();
        let (spilled, flows) = (vec![0.0; count], vec![Flow::default(); count]);
        Self { land, ways, supply, spilled, standing, before, flows, unsolved: 0 }
    }

    /// Gathers the discharge of every cell, downwards, and its momentum.
    fn gather(&mut self) {
        let Self { land, ways, supply, spilled, standing, flows, .. } = self;
        let (area, size) = (land.terrain.cell_area(), f64::from(land.terrain.cell_size));
        for step in ways.steps.iter().rev() {
            let end = step[step.len() - 1].end;
            let (open, done) = flows.split_at_mut(end);
            blocks(step, &mut open[step[0].start..]).into_par_iter().for_each(|(block, own)| {
                for at in block.clone().rev() {
                    let (place, water) = (&ways.places[at], &standing[at]);
                    let mut comes = supply[at] + spilled[at];
                    for (face, next) in place.beside() {
                        let (from, face) = (&ways.places[next], face ^ 1);
                        if from.leaves(face) {
                            let flow = if next < block.end { &own[next - block.start] } else { &done[next - end] };
                            comes += flow.discharge * f64::from(from.parts[face]) * standing[next].kept();
                        }
                    }
                    let depth = water.level - f64::from(place.ground);
                    let evaporates = land.local(place.cell as usize, |params| params.evaporation_rate) * depth * area;
                    let flow = &mut own[at - block.start];
                    flow.discharge = (comes - evaporates).max(0.0);
                    let passes = flow.discharge / size * water.kept();
                    for face in land.faces(place, &ways.places, |next| standing[next].level) {
                        let passes = passes * f64::from(place.parts[face.number]);
                        let old = &mut flow.momentum[face.number];
                        *old += NEW * ((passes * passes * face.speed(water.level)) as f32 - *old);
                    }
                }
            });
        }
        // It comes in the next round.
        spilled.par_iter_mut().zip(&ways.places).for_each(|(spilled, place)| {
            let over =
                |(face, next): (usize, usize)| flows[next].discharge * f64::from(standing[next].spills[face ^ 1]);
            *spilled = place.beside().map(over).sum();
        });
    }

    /// Lets the water of every cell rise until its discharge leaves, upwards. Returns by how much depths have changed, as a share.
    fn rise(&mut self, spills: bool) -> f64 {
        let Self { land, ways, standing, before, flows, unsolved, .. } = self;
        *unsolved = 0;
        let size = f64::from(land.terrain.cell_size);
        let gravity = f64::from(land.params.gravity);
        before.par_iter_mut().zip(&*standing).for_each(|(before, standing)| *before = standing.level);
        let mut sums = [0.0; 2];
        for step in &ways.steps {
            let start = step[0].start;
            let (done, open) = standing.split_at_mut(start);
            let change = |(block, own): (Range<usize>, &mut [Standing])| {
                let (mut sums, mut inexact, mut faces) = ([0.0; 2], 0, Vec::with_capacity(4));
                for at in block.clone() {
                    let place = &ways.places[at];
                    let roughness = land.local(place.cell as usize, |params| params.roughness);
                    let pull = Pull { gravity, drag: gravity * size * roughness * roughness };
                    let (ground, flux) = (f64::from(place.ground), flows[at].discharge / size);
                    let level_of =
                        |next: usize| if next < start { done[next].level } else { own[next - block.start].level };
                    faces.clear();
                    faces.extend(land.faces(place, &ways.places, level_of));
                    for face in &mut faces {
                        // What is behind the cell lies across the face on the other side.
                        let behind = place.around[face.number ^ 1];
                        face.brought =
                            if behind == NOWHERE { 0.0 } else { flows[behind as usize].momentum[face.number].into() };
                    }
                    let count = faces.len();
                    if spills && count > 0 {
                        put_down_spills(place, &ways.places, before, before[at], &mut faces);
                    }
                    let (new, is_exact) =
                        if count == 0 { (ground, true) } else { level(&faces, flux, pull, before[at]) };
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

    /// Depths of all cells, in metres.
    fn depths(&self) -> Grid {
        let mut depths = Grid::filled(self.land.terrain.width(), self.land.terrain.height(), 0.0);
        for (place, standing) in self.ways.places.iter().zip(&self.standing) {
            depths[place.cell as usize] = (standing.level - f64::from(place.ground)) as f32;
        }
        depths
    }

    /// What passes each face.
    fn fluxes(&self) -> Faces {
        let terrain = self.land.terrain;
        let (size, mut fluxes) = (f64::from(terrain.cell_size), Faces::still(terrain));
        for ((place, standing), flow) in self.ways.places.iter().zip(&self.standing).zip(&self.flows) {
            let at = [place.cell as usize % terrain.width(), place.cell as usize / terrain.width()];
            let flux = flow.discharge / size;
            for face in 0..4 {
                let share = f64::from(place.parts[face]) * standing.kept() + f64::from(standing.spills[face]);
                if share > 0.0 {
                    fluxes.run(at, face, (flux * share) as f32);
                }
            }
        }
        fluxes.close(terrain.edge);
        fluxes
    }
}

/// Adds the faces over a bank or shore behind which the water is clearly lower, so that it overflows there.
fn put_down_spills(place: &Place, places: &[Place], levels: &[f64], own: f64, faces: &mut Vec<Face>) {
    for (number, next) in place.beside().filter(|&(face, _)| !place.leaves(face)) {
        let (ground, bed) = (f64::from(place.ground), f64::from(places[next].ground));
        let over = own - bed;
        if over > 0.0 && bed > ground && own - levels[next] > CLEARLY * over {
            faces.push(Face { number, ground: [ground, bed], level: levels[next], brought: 0.0 });
        }
    }
}

/// The stretches of a step, each with its part of what belongs to the places from its first one on.
fn blocks<'a, T>(step: &[Range<usize>], mut rest: &'a mut [T]) -> Vec<(Range<usize>, &'a mut [T])> {
    step.iter()
        .map(|block| {
            let own;
            (own, rest) = std::mem::take(&mut rest).split_at_mut(block.len());
            (block.clone(), own)
        })
        .collect()
}
