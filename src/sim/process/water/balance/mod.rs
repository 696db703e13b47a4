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

use self::{
    faces::{Face, Pull, level, parts_of},
    ways::{Ways, around},
};
use super::{INFO, Params, friction::Faces};
use crate::sim::{
    Simulation,
    bounds::Unfit,
    grid::Grid,
    masked::{Covered, between},
    process::AnyProcess,
    terrain::{Edge, Terrain},
};

/// Rivers and lakes of a run in balance: the processes that move water, and the water.
pub struct Balance(Vec<(Box<dyn AnyProcess>, Grid)>);

impl Simulation {
    /// Rivers and lakes as rain and springs of this moment keep them in the long run, between ticks.
    ///
    /// # Errors
    /// One sentence, if no water comes, or none can leave the map.
    pub fn balance(&self) -> Result<Balance, Unfit> {
        let balances = self.slots.iter().filter_map(|slot| slot.process.balance(&self.terrain, self.tick + 1));
        balances.collect::<Result<_, _>>().map(Balance)
    }

    /// Fills rivers and lakes as was found. What comes and what goes is booked as inflow and outflow of the water. Returns by how much
    /// there is more now, in cubic metres.
    pub fn fill_rivers(&mut self, balance: Balance) -> f64 {
        let before = self.terrain.water_volume();
        for (process, water) in balance.0 {
            let key = process.info().key;
            if let Some(slot) = self.slot_mut(key) {
                slot.process = process;
            }
            self.terrain.water = water;
        }
        let came = self.terrain.water_volume() - before;
        self.ledger.water.came(INFO.key, came);
        came
    }
}

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
    covered: Option<&'a Covered<Params>>,
}

impl Land<'_> {
    /// What a parameter is in a cell.
    fn local(&self, cell: usize, parameter: impl Fn(&Params) -> f32) -> f64 {
        let (free, width) = (parameter(self.params), self.terrain.width());
        f64::from(self.covered.map_or(free, |covered| {
            between([free, parameter(&covered.params)], covered.mask.at(cell % width, cell / width))
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

/// Finds the fluxes and depths, in metres, that a terrain's rivers and lakes have with the rain and springs of a tick.
///
/// # Errors
/// One sentence, if no water can leave the map, or none comes.
pub(super) fn find(
    terrain: &Terrain,
    tick: u64,
    params: &Params,
    covered: Option<&Covered<Params>>,
) -> Result<(Faces, Grid), Unfit> {
    let land = Land { terrain, params, covered };
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
    for round in 0..MOST_ROUNDS {
        rivers.gather();
        if rivers.rise(round > 0) <= SETTLED {
            break;
        }
    }
    let depth = |cell: usize| (rivers.levels[cell] - f64::from(rivers.ground[cell])) as f32;
    let depths = Grid::from_fn(terrain.width(), terrain.height(), |x, y| depth(y * terrain.width() + x));
    Ok((rivers.fluxes(), depths))
}

/// The water of a terrain, round by round.
struct Rivers<'a> {
    land: Land<'a>,
    supply: Vec<f64>,
    ground: Vec<f32>,
    ways: Ways,
    /// In metres.
    levels: Vec<f64>,
    /// What leaves each cell, in cubic metres per second.
    discharge: Vec<f64>,
    /// Flux times velocity of the faces that water leaves each cell across, in m³/s².
    momentum: Vec<[f32; 4]>,
    /// Of the discharge of each cell of a lake, the part that leaves across each face over its shore.
    spills: Vec<[f32; 4]>,
    /// What came over a shore in the round before, in cubic metres per second.
    spilled: Vec<f64>,
}

impl<'a> Rivers<'a> {
    fn new(land: Land<'a>, supply: Vec<f64>, outlets: &[(usize, f32)]) -> Self {
        let Terrain { bedrock, sand, suspended, .. } = land.terrain;
        let count = bedrock.len();
        let ground: Vec<f32> = (0..count).map(|cell| bedrock[cell] + sand[cell] + suspended[cell]).collect();
        let ways = Ways::find(land.terrain, &ground, outlets);
        let levels = ground.iter().map(|&ground| f64::from(ground)).collect();
        Self {
            land,
            supply,
            ground,
            ways,
            levels,
            discharge: vec![0.0; count],
            momentum: vec![[0.0; 4]; count],
            spills: vec![[0.0; 4]; count],
            spilled: vec![0.0; count],
        }
    }

    fn beside(&self, cell: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let around = around(self.land.terrain, cell);
        (0..4).filter_map(move |face| Some((face, around[face]?)))
    }

    /// Puts down the faces that water leaves a cell across: to lower ground, beyond the border, and the way of the flood. So water only
    /// goes to cells before it in the order. None where a drain swallows what comes.
    fn put_down(&self, cell: usize, faces: &mut Vec<Face>) {
        let Self { land, ground, ways, .. } = self;
        let (open, leaves) = (land.terrain.edge == Edge::Open, ways.into[cell] as usize == cell);
        faces.clear();
        if leaves && !open {
            return;
        }
        let (own, around) = (f64::from(ground[cell]), around(land.terrain, cell));
        // The face on the other side of the cell has the next number, or the one before.
        let brought = |number: usize| around[number ^ 1].map_or(0.0, |cell| f64::from(self.momentum[cell][number]));
        for (number, next) in (0..4).filter_map(|face| Some((face, around[face]?))) {
            if ways.is_before(next, cell) && (ground[next] < ground[cell] || ways.into[cell] as usize == next) {
                let ground = [own, f64::from(ground[next])];
                let level = self.levels[next];
                faces.push(Face { number, to: Some(next), ground, level, brought: brought(number) });
            }
        }
        if leaves {
            let [bed, level] = land.beyond(cell).map(f64::from);
            for (number, _) in land.at_border(cell).into_iter().enumerate().filter(|(_, at)| *at) {
                faces.push(Face { number, to: None, ground: [own, bed], level, brought: brought(number) });
            }
        }
    }

    /// Adds the faces over a lake's shore behind which water stands clearly lower: it spills over them beside its way out.
    fn put_down_spills(&self, cell: usize, faces: &mut Vec<Face>) {
        let (own, count) = (f64::from(self.ground[cell]), faces.len());
        for (number, next) in self.beside(cell) {
            let (bed, level) = (f64::from(self.ground[next]), self.levels[next]);
            let over = self.levels[cell] - bed;
            let spills = over > 0.0 && bed >= own && self.levels[cell] - level > CLEARLY * over;
            if spills && faces[..count].iter().all(|face| face.number != number) {
                faces.push(Face { number, to: Some(next), ground: [own, bed], level, brought: 0.0 });
            }
        }
    }

    /// The part of a cell's discharge that does not spill.
    fn kept(&self, cell: usize) -> f64 {
        1.0 - f64::from(self.spills[cell].iter().sum::<f32>())
    }

    /// Gathers the discharge of every cell, downwards.
    fn gather(&mut self) {
        self.discharge.copy_from_slice(&self.supply);
        self.discharge.iter_mut().zip(&mut self.spilled).for_each(|(all, spilled)| *all += std::mem::take(spilled));
        let area = self.land.terrain.cell_area();
        let mut faces = Vec::new();
        for place in (0..self.ways.order.len()).rev() {
            let cell = self.ways.order[place] as usize;
            let depth = self.levels[cell] - f64::from(self.ground[cell]);
            let evaporates = self.land.local(cell, |params| params.evaporation_rate) * depth * area;
            let discharge = (self.discharge[cell] - evaporates).max(0.0);
            self.discharge[cell] = discharge;
            self.put_down(cell, &mut faces);
            let kept = self.kept(cell);
            for (face, part) in faces.iter().zip(parts_of(&faces)) {
                if let Some(to) = face.to {
                    self.discharge[to] += discharge * part * kept;
                }
            }
            if kept < 1.0 {
                for (number, next) in self.beside(cell) {
                    self.spilled[next] += discharge * f64::from(self.spills[cell][number]);
                }
            }
        }
    }

    /// Lets the water of every cell rise until its discharge leaves, upwards. Returns by how much depths have changed, as a share.
    fn rise(&mut self, spills: bool) -> f64 {
        let size = f64::from(self.land.terrain.cell_size);
        let gravity = f64::from(self.land.params.gravity);
        let (mut changed, mut all) = (0.0, 0.0);
        let mut faces = Vec::new();
        for place in 0..self.ways.order.len() {
            let cell = self.ways.order[place] as usize;
            let roughness = self.land.local(cell, |params| params.roughness);
            let pull = Pull { gravity, drag: gravity * size * roughness * roughness };
            let (own, flux) = (f64::from(self.ground[cell]), self.discharge[cell] / size);
            self.put_down(cell, &mut faces);
            let count = faces.len();
            if spills && self.ways.in_hollow[cell] {
                self.put_down_spills(cell, &mut faces);
            }
            let new = if count == 0 { own } else { level(&faces, flux, pull, self.levels[cell]).max(own) };
            if self.ways.in_hollow[cell] && count > 0 {
                let passes = |face: &Face| face.passes(new, pull);
                let sum: f64 = faces.iter().map(passes).sum();
                let mut parts = [0.0; 4];
                for face in faces.drain(count..).filter(|_| sum > 0.0) {
                    parts[face.number] = (passes(&face) / sum) as f32;
                }
                self.spills[cell].iter_mut().zip(parts).for_each(|(old, new)| *old += NEW * (new - *old));
            }
            let kept = self.kept(cell);
            for (face, part) in faces.iter().zip(parts_of(&faces)) {
                let passes = flux * part * kept;
                let old = &mut self.momentum[cell][face.number];
                *old += NEW * ((passes * passes * face.speed(new)) as f32 - *old);
            }
            changed += (new - self.levels[cell]).abs();
            all += new - own;
            self.levels[cell] = new;
        }
        changed / all.max(f64::MIN_POSITIVE)
    }

    /// What passes each face.
    fn fluxes(&self) -> Faces {
        let (terrain, mut fluxes, mut faces) = (self.land.terrain, Faces::still(self.land.terrain), Vec::new());
        let size = f64::from(terrain.cell_size);
        for (cell, discharge) in self.discharge.iter().enumerate() {
            let at = [cell % terrain.width(), cell / terrain.width()];
            self.put_down(cell, &mut faces);
            let kept = self.kept(cell);
            for (face, part) in faces.iter().zip(parts_of(&faces)) {
                fluxes.run(at, face.number, (discharge * part * kept / size) as f32);
            }
            for (number, part) in self.spills[cell].iter().enumerate() {
                fluxes.run(at, number, (discharge / size) as f32 * part);
            }
        }
        fluxes.close(terrain.edge);
        fluxes
    }
}
