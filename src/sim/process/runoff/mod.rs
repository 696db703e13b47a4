//! Runoff on a grid, the method of Musgrave, Kolb & Mace 1989: water that stands higher than a neighbour's flows there and
//! takes sediment along.
//!
//! ```text
//! D = (w + a)ᵢ − (w + a)ⱼ > 0,  S = Σ D over the lower neighbours
//! water to j: min(wᵢ, Dmax)·D/S   as published;   D·min(1/(N + 1), wᵢ/S)   in the default
//! c = Kc·water;  s = sᵢ·D/S
//! s > c: c goes along, Kd·(s − c) settles;   else s + Ks·(c − s) goes along and Ks·(c − s) leaves the ground
//! ```
//!
//! All transfers follow from the old state, so nothing depends on the order of cells and nothing is lost. The full
//! difference of the published form turns a lake into a checkerboard; the default moves at most what levels the pair and
//! its other N − 1 neighbours.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bevy_reflect::{Reflect, structs::Struct};

use super::{Context, Counts, Info, Mode, Process, Progress, Stage};
use crate::{
    params::{choice, knob},
    sim::{
        cells::Cells,
        grid::Grid,
        masked::{Covered, factors},
        memory::Memories,
        stencil::{Border, Quantities, Window, for_bands, row_sum},
        terrain::{Edge, Layer, Terrain},
    },
};

const G1: &str = "ours; the law is Musgrave et al. 1989";

/// With how many neighbours a cell exchanges water.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Neighbours {
    /// Those beside it.
    Four,
    /// Those across the corners too.
    #[default]
    Eight,
}

/// Parameters of the runoff.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Cured, or as the paper prints it.
    #[reflect(@choice().source("Musgrave et al. 1989"))]
    pub mode: Mode,
    /// With how many neighbours a cell exchanges water.
    #[reflect(@choice().source("Musgrave et al. 1989"))]
    pub neighbours: Neighbours,
    /// Water that falls on every cell at once. Much floods the map, little dries before it arrives.
    #[reflect(@knob(0.0..=0.2).unit("m").source(G1).main())]
    pub rain: f32,
    /// Ticks from rain to rain. Short intervals keep the map wet; long ones let it dry.
    #[reflect(@knob(1.0..=200.0).unit("ticks").source(G1).log().main())]
    pub interval: u32,
    /// Share of the water lost in a tick. High keeps water on the slopes; at 0 it fills all hollows.
    #[reflect(@knob(0.0..=0.5).source(G1).main())]
    pub evaporation: f32,
    /// Sediment that a metre of flowing water can carry. High digs deep; at 0 nothing is dug.
    #[reflect(@knob(0.0..=2.0).symbol("Kc").source(G1).main())]
    pub capacity: f32,
    /// Share of what is too much that settles in a tick. High drops it at once.
    #[reflect(@knob(0.0..=1.0).symbol("Kd").source(G1).main())]
    pub deposition: f32,
    /// Share of what is lacking that is dug in a tick. High digs where the water speeds up.
    #[reflect(@knob(0.0..=1.0).symbol("Ks").source(G1).main())]
    pub dissolution: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Default,
            neighbours: Neighbours::Eight,
            rain: 0.01,
            interval: 10,
            evaporation: 0.02,
            capacity: 0.1,
            deposition: 0.1,
            dissolution: 0.1,
        }
    }
}

factors!(rain, evaporation, capacity, deposition, dissolution);

const INFO: Info = Info {
    key: "runoff",
    masked_key: "runoff-masked",
    title: "Runoff (1989)",
    about: "Rain runs off to lower neighbours and takes sediment along: the first grid method, an alternative to the water.",
    source: "Musgrave, Kolb & Mace 1989",
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended],
    replaces: &["water"],
    stages: &[
        Stage { name: "rain", about: "Rain falls, every so many ticks." },
        Stage { name: "shares", about: "Every cell finds its lower neighbours and what each of them gets." },
        Stage { name: "transfer", about: "Water and sediment move; sediment settles or is dug, and water evaporates." },
    ],
};

/// Height, in metres, of sand that hides the rock from the water.
const COVER: f32 = 1e-3;

/// The process: parameters, what cells give, and room for the next layers.
#[derive(Clone, Default)]
pub struct Runoff {
    /// Its parameters.
    pub params: Params,
    /// What the mask makes of them.
    pub factors: Factors,
    rooms: Option<Rooms>,
    counts: Counts,
}

/// Grids of the terrain's size.
#[derive(Clone)]
struct Rooms {
    /// Per metre of difference: water that a cell gives, and its sediment that goes with it. How fast it is dug,
    /// and by which factor more or less because of rounding.
    gives: [Grid; 4],
    /// Bedrock, sand, water, suspended after the step.
    next: [Grid; 4],
}

impl Runoff {
    /// The process with these parameters.
    pub fn new(params: Params) -> Self {
        Self { params, ..Self::default() }
    }

    /// What the mask makes of the parameters.
    fn covered(&self, terrain: &Terrain) -> Option<Covered<Params>> {
        Covered::of(terrain, self.params.mode, &self.params, &self.factors)
    }
}

impl Process for Runoff {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn settings(&self) -> [&dyn Struct; 2] {
        [&self.params, &self.factors]
    }

    fn settings_mut(&mut self) -> [&mut dyn Struct; 2] {
        [&mut self.params, &mut self.factors]
    }

    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        f32::INFINITY
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        let area = terrain.cell_area();
        let (width, height, border) = (terrain.width(), terrain.height(), Border::of(terrain));
        if stage == 0 {
            if (context.tick - 1).is_multiple_of(u64::from(self.params.interval.max(1))) {
                let before = terrain.water.total();
                let rain = self.params.rain;
                let covered = self.covered(terrain);
                let more = covered.as_ref().map_or(0.0, |covered| covered.params.rain - rain);
                for y in 0..height {
                    for x in 0..width {
                        let mask = covered.as_ref().map_or(0.0, |covered| covered.at(x, y));
                        let share = terrain.rain.as_ref().map_or(1.0, |map| map.at(x, y));
                        terrain.water[y * width + x] += (rain + more * mask) * share;
                    }
                }
                context.ledger.water.row(INFO.key).inflow += (terrain.water.total() - before) * area;
            }
            return Progress::Done;
        }
        let covered = self.covered(terrain);
        let rooms =
            self.rooms.take().filter(|rooms| (rooms.next[0].width(), rooms.next[0].height()) == (width, height));
        let empty = || Grid::filled(width, height, 0.0);
        let rooms = self.rooms.insert(rooms.unwrap_or_else(|| Rooms {
            gives: [empty(), empty(), empty(), empty()],
            next: [empty(), empty(), empty(), empty()],
        }));
        let laws = Laws::new(&self.params, covered.as_ref());
        if stage == 1 {
            let levels = Levels { terrain };
            let written = rooms.gives.each_mut().map(|grid| (&mut grid[..], width));
            for_bands(height, written, |rows, out| find_shares(&levels, laws, border, rows, out));
            return Progress::Done;
        }
        let flowing = Flowing { terrain, gives: &rooms.gives };
        let written = rooms.next.each_mut().map(|grid| (&mut grid[..], width));
        let bands = for_bands(height, written, |rows, out| transfer(&flowing, laws, border, rows, out));
        let [bedrock, sand, water, suspended] = &mut rooms.next;
        std::mem::swap(&mut terrain.bedrock, bedrock);
        std::mem::swap(&mut terrain.sand, sand);
        std::mem::swap(&mut terrain.water, water);
        std::mem::swap(&mut terrain.suspended, suspended);
        for band in bands {
            let solid = context.ledger.solid.row(INFO.key);
            solid.eroded += band.dug * area;
            solid.deposited += band.settled * area;
            solid.moved += (band.dug + band.settled) * area;
            solid.outflow += band.solid_out * area;
            let water = context.ledger.water.row(INFO.key);
            water.evaporated += band.evaporated * area;
            water.outflow += band.water_out * area;
        }
        self.counts.substeps += 1;
        Progress::Done
    }

    fn memories(&mut self, _: &Terrain) -> Memories<'_> {
        self.counts.memories()
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn boxed_clone(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

/// What a band moved, in metres times cells.
#[derive(Default)]
struct Sums {
    dug: f64,
    settled: f64,
    evaporated: f64,
    water_out: f64,
    solid_out: f64,
}

/// The numbers of both modes.
#[derive(Clone, Copy)]
struct Law {
    published: bool,
    neighbours: usize,
    capacity: f32,
    deposition: f32,
    dissolution: f32,
    stays: f32,
}

/// The law on free ground and under the mask.
#[derive(Clone, Copy)]
struct Laws<'a> {
    free: Law,
    covered: Option<(Law, &'a Covered<Params>)>,
}

impl<'a> Laws<'a> {
    fn new(params: &Params, covered: Option<&'a Covered<Params>>) -> Self {
        Self { free: Law::new(params), covered: covered.map(|covered| (Law::new(&covered.params), covered)) }
    }

    /// The law in the cells of a row and of those above and below, each one cell longer at both ends.
    fn around(self, y: usize) -> impl Fn(usize, usize) -> Law {
        let covered = self.covered.map(|(under, covered)| (under, covered.rows(y)));
        move |line, x| match covered {
            None => self.free,
            Some((under, rows)) => {
                let mask = rows[line][x];
                let between = |free: f32, under: f32| free + (under - free) * mask;
                Law {
                    capacity: between(self.free.capacity, under.capacity),
                    deposition: between(self.free.deposition, under.deposition),
                    dissolution: between(self.free.dissolution, under.dissolution),
                    stays: between(self.free.stays, under.stays),
                    ..self.free
                }
            }
        }
    }
}

impl Law {
    fn new(params: &Params) -> Self {
        Self {
            published: params.mode == Mode::Published,
            neighbours: if params.neighbours == Neighbours::Four { 4 } else { 8 },
            capacity: params.capacity,
            deposition: params.deposition,
            dissolution: params.dissolution,
            stays: 1.0 - params.evaporation,
        }
    }

    /// What a pair exchanges, from the giver: difference of level, what it gives per metre, how fast it is dug, and by how
    /// much its ground lies higher. Returns water, sediment that goes, settles and is dug.
    #[inline(always)]
    fn pair(self, difference: f32, [gives, load]: [f32; 2], [soft, exact]: [f32; 2], above: f32) -> [f32; 4] {
        if difference <= 0.0 {
            return [0.0; 4];
        }
        let (water, load) = (gives * difference, load * difference);
        let able = self.capacity * water;
        if load > able {
            return [water, able, self.deposition * (load - able), 0.0];
        }
        let dug = self.dissolution * soft * (able - load);
        // Not below the neighbour, though all of them take.
        let dug = if self.published { dug } else { dug.min(above.max(0.0) / (self.neighbours + 1) as f32) };
        let dug = dug * exact;
        [water, load + dug, 0.0, dug]
    }
}

/// Row and column of the eight neighbours in the three rows around, as [`neighbours`] orders them.
const SIDES: [(usize, usize); 8] = [(1, 0), (1, 2), (0, 1), (2, 1), (0, 0), (2, 2), (0, 2), (2, 0)];

/// The eight neighbours, those beside first, each beside its opposite.
fn neighbours([above, here, below]: [&[f32]; 3], x: usize) -> [f32; 8] {
    [here[x], here[x + 2], above[x + 1], below[x + 1], above[x], below[x + 2], above[x + 2], below[x]]
}

/// A sum over the neighbours that is the same on a turned or mirrored map.
fn sum(parts: [f32; 8]) -> f32 {
    ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]))
}

/// Surface of the water, and the ground.
struct Levels<'a> {
    terrain: &'a Terrain,
}

impl Quantities<2> for Levels<'_> {
    fn row<V: Cells>(&self, y: usize, [level, ground]: [&mut [f32]; 2]) {
        let part = y * level.len()..(y + 1) * level.len();
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part.clone()]);
        for (x, (level, water)) in level.iter_mut().zip(&self.terrain.water[part]).enumerate() {
            ground[x] = bedrock[x] + sand[x];
            *level = ground[x] + water;
        }
    }

    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index]; 2]
    }
}

fn find_shares(
    levels: &Levels<'_>,
    laws: Laws<'_>,
    border: Border,
    rows: Range<usize>,
    [gives, loads, soft, exact]: [&mut [f32]; 4],
) {
    let (width, terrain) = (border.width, levels.terrain);
    let mut window = Window::new(border, rows.start);
    for (line, y) in rows.enumerate() {
        window.go_to::<f32>(y, levels);
        let (level, ground) = (window.quantity(0), window.quantity(1));
        let law_at = laws.around(y);
        for x in 0..width {
            let law = law_at(1, x + 1);
            let mut lower = neighbours(level, x).map(|other| (level[1][x + 1] - other).max(0.0));
            lower[law.neighbours..].fill(0.0);
            let (all, most) = (sum(lower), lower.into_iter().fold(0.0, f32::max));
            let (here, at) = (y * width + x, line * width + x);
            let (water, suspended) = (terrain.water[here], terrain.suspended[here]);
            (gives[at], loads[at]) = match all {
                0.0 => (0.0, 0.0),
                _ if law.published => (water.min(most) / all, suspended / all),
                _ => ((water / all).min(1.0 / (law.neighbours + 1) as f32), suspended / all),
            };
            let bare = !law.published && terrain.sand[here] < COVER;
            soft[at] = if bare { (2.0 * terrain.softness[here]).min(1.0 / law.dissolution.max(0.5)) } else { 1.0 };
            // Rock loses what its last digit allows; as much less or more is dug for every neighbour.
            let mut digs = [0.0; 8];
            for (side, dug) in digs.iter_mut().enumerate().take(law.neighbours) {
                let above = ground[1][x + 1] - neighbours(ground, x)[side];
                *dug = law.pair(lower[side], [gives[at], loads[at]], [soft[at], 1.0], above)[3];
            }
            let dug = sum(digs);
            let from_sand = dug.min(terrain.sand[here]);
            let real = terrain.bedrock[here] - (terrain.bedrock[here] - (dug - from_sand));
            exact[at] = if dug > 0.0 { (from_sand + real) / dug } else { 1.0 };
        }
    }
}

/// Surface and ground, what cells give, and how fast they are dug.
struct Flowing<'a> {
    terrain: &'a Terrain,
    gives: &'a [Grid; 4],
}

impl Quantities<6> for Flowing<'_> {
    fn row<V: Cells>(&self, y: usize, [level, ground, gives, loads, soft, exact]: [&mut [f32]; 6]) {
        let width = level.len();
        for x in 0..width {
            let index = y * width + x;
            ground[x] = self.terrain.bedrock[index] + self.terrain.sand[index];
            level[x] = ground[x] + self.terrain.water[index];
            gives[x] = self.gives[0][index];
            loads[x] = self.gives[1][index];
            soft[x] = self.gives[2][index];
            exact[x] = self.gives[3][index];
        }
    }

    fn beyond(&self, index: usize) -> [f32; 6] {
        [self.terrain.start[index], self.terrain.start[index], 0.0, 0.0, 0.0, 0.0]
    }
}

fn transfer(flowing: &Flowing<'_>, laws: Laws<'_>, border: Border, rows: Range<usize>, out: [&mut [f32]; 4]) -> Sums {
    let Border { width, height, edge } = border;
    let terrain = flowing.terrain;
    let [bedrock, sand, water, suspended] = out;
    let mut window = Window::new(border, rows.start);
    let mut sums = Sums::default();
    let (mut dug_row, mut settled_row, mut dry_row) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
    for (line, y) in rows.enumerate() {
        window.go_to::<f32>(y, flowing);
        let [level, ground, gives, loads, soft, exact] = [0, 1, 2, 3, 4, 5].map(|quantity| window.quantity(quantity));
        let law_at = laws.around(y);
        for x in 0..width {
            let law = law_at(1, x + 1);
            let (here, at) = (y * width + x, line * width + x);
            let (levels, grounds) = (neighbours(level, x), neighbours(ground, x));
            let (rates, shares) = (neighbours(gives, x), neighbours(loads, x));
            let (softs, exacts) = (neighbours(soft, x), neighbours(exact, x));
            let (own_level, own_ground) = (level[1][x + 1], ground[1][x + 1]);
            let own = [gives[1][x + 1], loads[1][x + 1]];
            let mut moved = [[0.0; 8]; 6];
            for side in 0..law.neighbours {
                let (line, column) = SIDES[side];
                let come = law_at(line, x + column).pair(
                    levels[side] - own_level,
                    [rates[side], shares[side]],
                    [softs[side], exacts[side]],
                    grounds[side] - own_ground,
                );
                let go = law.pair(
                    own_level - levels[side],
                    own,
                    [soft[1][x + 1], exact[1][x + 1]],
                    own_ground - grounds[side],
                );
                for (sums, value) in moved.iter_mut().zip([come[0], go[0], come[1], go[1], go[2], go[3]]) {
                    sums[side] = value;
                }
                if edge == Edge::Open && beyond(x, y, side, (width, height)) {
                    sums.water_out += f64::from(go[0]);
                    sums.solid_out += f64::from(go[1]);
                }
            }
            let [comes, goes, loads_in, loads_out, mut settled, dug] = moved.map(sum);
            let carried = terrain.suspended[here];
            if own[0] == 0.0 {
                settled = law.deposition * carried;
            }
            let wet = (terrain.water[here] + (comes - goes)).max(0.0);
            let from_sand = dug.min(terrain.sand[here]);
            let (laid_rock, laid_sand) = if law.published { (settled, 0.0) } else { (0.0, settled) };
            let left = terrain.bedrock[here] - (dug - from_sand);
            bedrock[at] = left + laid_rock;
            if law.published {
                settled = bedrock[at] - left;
            }
            sand[at] = (terrain.sand[here] - from_sand) + laid_sand;
            // What is dug goes along at once: it is part of `loads_out`.
            let lost = (terrain.bedrock[here] - bedrock[at]) + (terrain.sand[here] - sand[at]);
            suspended[at] = (carried + ((loads_in - loads_out) + lost)).max(0.0);
            water[at] = wet * law.stays;
            dug_row[x] = lost + settled;
            settled_row[x] = settled;
            dry_row[x] = wet - water[at];
        }
        sums.dug += row_sum::<f32>(&dug_row);
        sums.settled += row_sum::<f32>(&settled_row);
        sums.evaporated += row_sum::<f32>(&dry_row);
    }
    sums
}

/// Whether a neighbour of cell (x, y) lies beyond the border; `side` as in [`neighbours`].
fn beyond(x: usize, y: usize, side: usize, (width, height): (usize, usize)) -> bool {
    const STEPS: [(isize, isize); 8] = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1), (1, -1), (-1, 1)];
    let (dx, dy) = STEPS[side];
    let inside =
        |place: usize, step: isize, count: usize| place.checked_add_signed(step).is_some_and(|place| place < count);
    !(inside(x, dx, width) && inside(y, dy, height))
}
