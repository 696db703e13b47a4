//! Undercut banks and needles give way where droplets have dug or laid down, and beside it.
//!
//! There a cell that stands farther than a share of its size above the mean of its eight neighbours gives what is too much to
//! them, in equal parts; one that lies as far below takes it from them. All cells exchange at once, from the old
//! ground; what one gives another gets, so nothing is lost, and no direction is preferred. What a cell among steep ones gets above
//! the highest ground of the map is taken off again, to settle elsewhere.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use rayon::prelude::*;

use super::{bundle::Droplet, ground::Ground};
use crate::sim::{
    real::{Kernel, LANES, LaneMask, Lanes, with_eight_lanes},
    tiles::{CellSet, SIDE, Tiling},
};

/// Farthest that a cell may stand above or below the mean of its neighbours, in cell sizes.
const FARTHEST: f32 = 0.42;
/// A cell gives way when it is farther off than that by more than this, in cell sizes.
const TOLERANCE: f32 = 0.04;
/// Most sweeps after a wave; what is left over then is left to those that dig there again.
const MOST_SWEEPS: usize = 64;
/// Share of the excess that moves in a sweep: 8/9 would meet the limit at once, were the neighbours at rest.
const SHARE: f32 = 0.6;

/// Tiles that a thread takes at a time.
const TILES_AT_A_TIME: usize = 256;

/// A number for each cell of a tile, row by row.
type TileOf = [Lanes; SIDE];

/// The surface of the tiles in which banks may give way and of those beside them, and how it changes. It is kept from one wave to
/// the next, because making room takes longer than what is done there.
#[derive(Clone, Default)]
pub(super) struct Banks {
    tiling: Tiling,
    cell_size: f32,
    /// The tiles; and for every tile of the map its place among them.
    tiles: Vec<usize>,
    places: Vec<u32>,
    surface: Vec<TileOf>,
    change: Vec<TileOf>,
    /// Whether a tile has changed.
    changed: Vec<bool>,
    /// Cells that see what cells gave in the last sweep.
    around: CellSet,
}

/// The place of what lies beyond: an empty tile.
const BEYOND: u32 = 0;

impl Banks {
    /// Lets banks give way in these cells, which have changed, and around them. Returns Σ|change of ground|, in metres times
    /// cells, how often a cell gave way, and what came to lie above the `highest` ground: it is to be settled.
    pub(super) fn collapse(
        &mut self,
        ground: &mut Ground<'_>,
        changed: &mut CellSet,
        highest: f32,
    ) -> (f64, u64, Vec<Droplet>) {
        changed.grow();
        self.begin(ground);
        let (mut active, mut gave) = (changed.tiles().to_vec(), 0);
        for _ in 0..MOST_SWEEPS {
            self.take_on(ground, &active);
            let (banks, may) = (&*self, &*changed);
            let giving = active.par_chunks(TILES_AT_A_TIME).map(|part| {
                let excess = |&tile: &usize| {
                    let (gives, cells) = with_eight_lanes(Excess { banks, tile, may: may.cells(tile) });
                    (cells != 0).then_some((tile, cells, gives))
                };
                part.iter().filter_map(excess).collect::<Vec<_>>()
            });
            let giving: Vec<Vec<(usize, u64, TileOf)>> = giving.collect();
            if giving.iter().all(Vec::is_empty) {
                break;
            }
            self.around.clear(self.tiling);
            for (tile, cells, gives) in giving.iter().flatten() {
                gave += u64::from(cells.count_ones());
                self.around.insert_in(*tile, *cells);
                self.give(*tile, *cells, gives);
            }
            // What stands two cells away sees what they gave.
            self.around.grow();
            self.around.grow();
            active = self.around.tiles().to_vec();
            active.iter().for_each(|tile| changed.insert_in(*tile, self.around.cells(*tile)));
        }
        let fallen = self.finish(ground);
        (fallen, gave, above(ground, &self.tiles, highest))
    }

    /// Leaves no tile.
    fn begin(&mut self, ground: &Ground<'_>) {
        (self.tiling, self.cell_size) = (ground.tiling(), ground.cell_size);
        self.places.resize(self.tiling.count(), BEYOND);
        self.tiles.clear();
        let empty = [Lanes::default(); SIDE];
        self.surface.clear();
        self.surface.push(empty);
        self.change.clear();
        self.change.push(empty);
        self.changed.clear();
        self.changed.push(false);
    }

    /// Takes on these tiles, given in order, and those around them.
    fn take_on(&mut self, ground: &Ground<'_>, tiles: &[usize]) {
        for tile in self.tiling.with_neighbours(tiles) {
            if self.places[tile] == BEYOND {
                self.places[tile] = self.surface.len() as u32;
                self.tiles.push(tile);
                self.surface.push(ground.surface_of(tile));
                self.change.push([Lanes::default(); SIDE]);
                self.changed.push(false);
            }
        }
    }

    /// The place of a tile that lies so many columns and rows of tiles away.
    #[inline(always)]
    fn beside(&self, tile: usize, [across, down]: [isize; 2]) -> usize {
        let (columns, column) = (self.tiling.across() as isize, (tile % self.tiling.across()) as isize);
        let on_map = (0..columns).contains(&(column + across));
        let other = tile.wrapping_add_signed(down * columns + across);
        *self.places.get(other).filter(|_| on_map).unwrap_or(&BEYOND) as usize
    }

    /// Lets these cells of a tile give to each of their neighbours.
    fn give(&mut self, tile: usize, cells: u64, gives: &TileOf) {
        let mut left = cells;
        while left != 0 {
            let cell = left.trailing_zeros() as usize;
            left &= left - 1;
            let (row, column) = ((cell / SIDE) as isize, (cell % SIDE) as isize);
            let amount = gives[cell / SIDE].0[cell % SIDE];
            for (y, x) in (row - 1..row + 2).flat_map(|y| (column - 1..column + 2).map(move |x| (y, x))) {
                let side = SIDE as isize;
                let place = self.beside(tile, [x.div_euclid(side), y.div_euclid(side)]);
                let (y, x) = (y.rem_euclid(side) as usize, x.rem_euclid(side) as usize);
                let amount =
                    if (y * SIDE + x) == cell && place == self.places[tile] as usize { -8.0 * amount } else { amount };
                self.change[place][y].0[x] += amount;
                self.surface[place][y].0[x] += amount;
                self.changed[place] = true;
            }
        }
    }

    /// Brings the changes into the ground and leaves the tiles that have changed. Returns Σ|change|, in metres times cells.
    fn finish(&mut self, ground: &mut Ground<'_>) -> f64 {
        let (mut fallen, changed) = (0.0, &self.changed);
        self.tiles.retain(|&tile| {
            let place = std::mem::take(&mut self.places[tile]) as usize;
            if changed[place] {
                let change = &self.change[place];
                fallen += change.iter().flat_map(|row| row.0).map(|change| f64::from(change.abs())).sum::<f64>();
                ground.shift(tile, change);
            }
            changed[place]
        });
        fallen
    }
}

/// Takes off what lies above the highest ground.
fn above(ground: &mut Ground<'_>, tiles: &[usize], highest: f32) -> Vec<Droplet> {
    let mut above = Vec::new();
    for &tile in tiles {
        let [columns, rows] = ground.tiling().cells(tile);
        let surface = ground.surface_of(tile);
        for (Lanes(row), y) in surface.iter().zip(rows) {
            for x in columns.clone().zip(row).filter_map(|(x, surface)| (*surface > highest).then_some(x)) {
                let mass = ground.cut([x as i32, y as i32], highest);
                above.push(Droplet { mass, ..Droplet::at(x as f32 + 0.5, y as f32 + 0.5, 0.0) });
            }
        }
    }
    above
}

/// Cells of a row of a tile: those to the west of its own, its own, and those to the east.
type Triple = [Lanes; 3];

/// For each cell of the middle row the mean of its eight neighbours.
#[inline(always)]
fn mean_around(above: &Triple, row: &Triple, below: &Triple) -> Lanes {
    let sides = (above[1] + below[1]) + (row[0] + row[2]);
    let corners = (above[0] + below[2]) + (above[2] + below[0]);
    (sides + corners) * Lanes([0.125; LANES])
}

/// What the cells of a tile give to every single neighbour (negative: take), in metres, and which ones give, as in a [`CellSet`].
/// Border cells are neighbours, but give nothing of their own.
struct Excess<'a> {
    banks: &'a Banks,
    tile: usize,
    /// The cells that may give.
    may: u64,
}

impl Excess<'_> {
    /// A row that may lie beside the tile: from −1 to the number of its rows.
    #[inline(always)]
    fn row(around: &[[&TileOf; 3]; 3], row: isize) -> Triple {
        let [west, own, east] = around[(row + SIDE as isize) as usize / SIDE];
        let row = row as usize % SIDE;
        let (west, here, east) = (west[row].0[LANES - 1], own[row].0, east[row].0[0]);
        let (mut before, mut after) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            before[lane] = if lane == 0 { west } else { here[lane - 1] };
            after[lane] = if lane + 1 == LANES { east } else { here[lane + 1] };
        }
        [Lanes(before), Lanes(here), Lanes(after)]
    }

    /// The cells of a row that lie inside the map's border, as bits.
    #[inline(always)]
    fn inside(&self, line: usize) -> u8 {
        let tiling = self.banks.tiling;
        let (x, y) = (self.tile % tiling.across() * SIDE, self.tile / tiling.across() * SIDE + line);
        if y == 0 || y + 1 >= tiling.height() {
            return 0;
        }
        let first = if x == 0 { !1 } else { !0 };
        let beyond = (x + SIDE + 1).saturating_sub(tiling.width());
        first & u8::MAX.checked_shr(beyond as u32).unwrap_or(0)
    }
}

impl Kernel for Excess<'_> {
    type Output = (TileOf, u64);

    #[inline(always)]
    fn run(self) -> (TileOf, u64) {
        let (banks, mut around) = (self.banks, [[&self.banks.surface[0]; 3]; 3]);
        for down in 0..3 {
            for across in 0..3 {
                let place = banks.beside(self.tile, [across as isize - 1, down as isize - 1]);
                around[down][across] = &banks.surface[place];
            }
        }
        let limit = Lanes([FARTHEST * banks.cell_size; LANES]);
        let farthest = Lanes([(FARTHEST + TOLERANCE) * banks.cell_size; LANES]);
        let (zero, share) = (Lanes::default(), Lanes([SHARE / 8.0; LANES]));
        let (mut gives, mut giving) = ([zero; SIDE], 0);
        let (mut above, mut row) = (Self::row(&around, -1), Self::row(&around, 0));
        for line in 0..SIDE {
            let below = Self::row(&around, line as isize + 1);
            let high = row[1] - mean_around(&above, &row, &below);
            let (over, under) = (high.above(farthest), (-high).above(farthest));
            gives[line] = (over.choose(high - limit, zero) + under.choose(high + limit, zero)) * share;
            let LaneMask(far) = over.or(under);
            let mut bits = 0;
            for lane in 0..LANES {
                bits |= u64::from(far[lane] & 1) << lane;
            }
            giving |= (bits & u64::from(self.inside(line))) << (line * SIDE);
            (above, row) = (row, below);
        }
        (gives, giving & self.may)
    }
}
