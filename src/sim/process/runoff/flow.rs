//! What runs from cell to cell: the shares of the lower neighbours, then the transfer.

use std::ops::Range;

use super::{Neighbours, Params};
use crate::sim::{
    cells::Cells,
    grid::Grid,
    masked::Covered,
    process::Mode,
    stencil::{Border, Quantities, Window, row_sum},
    terrain::{Edge, Terrain},
};

/// Height, in metres, of sand that hides the rock from the water.
const COVER: f32 = 1e-3;

/// What a band moved, in metres times cells.
#[derive(Default)]
pub(super) struct Sums {
    pub dug: f64,
    pub settled: f64,
    pub evaporated: f64,
    pub water_out: f64,
    pub solid_out: f64,
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
pub(super) struct Laws<'a> {
    free: Law,
    covered: Option<(Law, &'a Covered<Params>)>,
}

impl<'a> Laws<'a> {
    pub fn new(params: &Params, covered: Option<&'a Covered<Params>>) -> Self {
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
pub(super) struct Levels<'a> {
    pub terrain: &'a Terrain,
}

impl Quantities<2> for Levels<'_> {
    fn row<V: Cells>(&self, y: isize, [level, ground]: [&mut [f32]; 2]) {
        let y = y as usize;
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

pub(super) fn find_shares(
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
pub(super) struct Flowing<'a> {
    pub terrain: &'a Terrain,
    pub gives: &'a [Grid; 4],
}

impl Quantities<6> for Flowing<'_> {
    fn row<V: Cells>(&self, y: isize, [level, ground, gives, loads, soft, exact]: [&mut [f32]; 6]) {
        let y = y as usize;
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

pub(super) fn transfer(
    flowing: &Flowing<'_>,
    laws: Laws<'_>,
    border: Border,
    rows: Range<usize>,
    out: [&mut [f32]; 4],
) -> Sums {
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
