//! Where the rain runs: maps of the water that passes a cell and of its way, which droplets make and follow.
//!
//! Droplets of a tick leave tracks and see the maps as they were before it. After the tick each map goes a share of the way towards
//! what the tracks say. Nobody passes over the map for that: a tile where no droplet was catches up when one comes there, by the
//! same steps, so that the bits are the same.

use std::ops::Range;

use bytemuck::Zeroable;
use rayon::prelude::*;

use crate::{
    core::{
        grid::Grid,
        terrain::Terrain,
        tiles::{CELLS, SIDE, TileCache, Tiling},
    },
    process::memory::{Memories, Memory},
    simd::{
        cells::{Cells, Pass},
        lanes::{LANES, Lanes, with_eight_lanes},
        number::Real,
    },
};

/// What a droplet meets in a cell and leaves there: the three maps, the three tracks and nothing. Together, because it needs them
/// together.
pub(super) type StreamCell = [f32; 8];
/// Places of the water that passes, in square metres of rained-on land, and of that water times its direction.
pub(super) const WATER: usize = 0;
pub(super) const ALONG: usize = 1;
pub(super) const DOWN: usize = 2;
/// Where the tracks begin, in the order of the maps, in volumes of a fresh droplet.
pub(super) const TRACKS: usize = 3;
const MAPS: usize = 3;
/// What is less than this share of a cell is nothing.
const LEAST: f32 = 1e-5;

/// The cells of a tile.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(64))]
pub(super) struct StreamTile(pub(super) [StreamCell; CELLS]);

/// The maps, and the tracks of the present tick.
#[derive(Default)]
pub(super) struct Discharge {
    maps: Option<Maps>,
    tracks: TileCache<StreamTile>,
}

impl Clone for Discharge {
    /// With the tracks: a tick that is copied between two waves goes on as the original.
    fn clone(&self) -> Self {
        // SAFETY: only waves write tracks, and a process that runs one is not copied meanwhile.
        Self { maps: self.maps.clone(), tracks: unsafe { self.tracks.copied() } }
    }
}

/// Maps of a terrain.
#[derive(Clone)]
struct Maps {
    /// In the order of [`StreamCell`].
    grids: [Grid; MAPS],
    /// Times that they were renewed since they were empty.
    renewals: u64,
    /// How many of these each tile has still to catch up with.
    missed: Vec<u32>,
    /// How far a renewal goes.
    pace: Pace,
    /// What is less, in square metres, is nothing.
    least: f32,
}

/// How far the maps follow a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// As published, this share of the way.
    Even(f32),
    /// The first few renewals make a mean of all tracks so far, so that the first droplets count at once; then this share of the way.
    Eager(f32),
}

impl Pace {
    /// The share of the way that a renewal goes; the first is number 1.
    pub(super) fn of(self, renewal: u64) -> f32 {
        match self {
            Self::Even(share) => share,
            Self::Eager(share) => share.max(1.0 / renewal as f32),
        }
    }
}

impl Maps {
    fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let missed = vec![0; Tiling::new(terrain.width(), terrain.height()).count()];
        Self {
            grids: [empty(), empty(), empty()],
            renewals: 0,
            missed,
            pace: Pace::Even(1.0),
            least: LEAST * terrain.cell_area() as f32,
        }
    }

    fn fit(&self, terrain: &Terrain) -> bool {
        (self.grids[0].width(), self.grids[0].height()) == (terrain.width(), terrain.height())
    }

    fn tiling(&self) -> Tiling {
        Tiling::new(self.grids[0].width(), self.grids[0].height())
    }

    /// A tile of a map, row by row, after the renewals that it has missed: nothing passed there. Beyond the map there is nothing.
    fn faded(&self, map: usize, tile: usize) -> [Lanes; SIDE] {
        let ([columns, rows], width) = (self.tiling().cells(tile), self.grids[map].width());
        let mut values = [Lanes::default(); SIDE];
        for (values, y) in values.iter_mut().zip(rows) {
            let cells = y * width + columns.start..y * width + columns.end;
            values.0[..columns.len()].copy_from_slice(&self.grids[map][cells]);
        }
        with_eight_lanes(Fade { maps: self, missed: self.missed[tile], values: &mut values });
        values
    }

    /// Has all tiles catch up.
    fn catch_up(&mut self) {
        let (tiling, width) = (self.tiling(), self.grids[0].width());
        for tile in (0..tiling.count()).filter(|&tile| self.missed[tile] > 0).collect::<Vec<_>>() {
            let [columns, rows] = tiling.cells(tile);
            for map in 0..MAPS {
                let values = self.faded(map, tile);
                if !is_empty(&values) {
                    for (values, y) in values.iter().zip(rows.clone()) {
                        let cells = y * width + columns.start..y * width + columns.end;
                        self.grids[map][cells].copy_from_slice(&values.0[..columns.len()]);
                    }
                }
            }
            self.missed[tile] = 0;
        }
    }
}

/// Brings values to where they are after the last so many renewals in which nothing passed.
struct Fade<'a> {
    maps: &'a Maps,
    missed: u32,
    values: &'a mut [Lanes; SIDE],
}

/// After so many renewals it is worth a look whether anything is left.
const LOOK: usize = 16;

impl Pass for Fade<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { maps, missed, values } = self;
        let last = maps.renewals;
        let mut faded = *values;
        for first in (last.saturating_sub(missed.into())..last).step_by(LOOK) {
            if is_empty(&faded) {
                break;
            }
            for renewal in first..(first + LOOK as u64).min(last) {
                let share = maps.pace.of(renewal + 1);
                for row in &mut faded {
                    *row = renewed(*row, Lanes::default(), share, maps.least);
                }
            }
        }
        *values = faded;
    }
}

/// Whether there is nothing in a tile.
#[inline(always)]
fn is_empty(values: &[Lanes; SIDE]) -> bool {
    values.iter().fold(0, |any, row| row.0.iter().fold(any, |any, value| any | value.to_bits())) == 0
}

/// Values that go a share of the way to others; what is less than the `least` is nothing.
#[inline(always)]
fn renewed(values: Lanes, to: Lanes, share: f32, least: f32) -> Lanes {
    let new = values + Lanes([share; LANES]) * (to - values);
    // What is no number stays so.
    let small = Lanes([least; LANES]).above(new.max(-new));
    small.choose(Lanes::default(), new)
}

impl Discharge {
    /// Makes ready for a tick in which maps are followed.
    pub(super) fn begin(&mut self, terrain: &Terrain, pace: Pace) {
        self.fit(terrain);
        if let Some(maps) = self.maps.as_mut().filter(|maps| maps.pace != pace) {
            maps.catch_up();
            maps.pace = pace;
        }
        self.tracks.begin(Tiling::new(terrain.width(), terrain.height()));
        self.tracks.forget();
    }

    /// Makes ready for a wave of a tick that may have begun under another law.
    pub(super) fn make_ready(&mut self, terrain: &Terrain) {
        self.fit(terrain);
        self.tracks.begin(Tiling::new(terrain.width(), terrain.height()));
    }

    /// Forgets where the rain ran.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn fit(&mut self, terrain: &Terrain) {
        if !self.maps.as_ref().is_some_and(|maps| maps.fit(terrain)) {
            self.maps = Some(Maps::new(terrain));
        }
    }

    /// The cell at a place in a tile, see [`TileCache::pointer`].
    #[inline(always)]
    pub(super) fn cell(&self, (tile, cell): (usize, usize)) -> *mut StreamCell {
        self.tracks.pointer().cast::<StreamCell>().wrapping_add(tile * CELLS + cell)
    }

    /// Makes tiles ready.
    #[inline(always)]
    pub(super) fn come_to(&self, tiles: [u32; LANES]) {
        let ready = tiles.iter().fold(true, |ready, &tile| ready & self.tracks.has(tile as usize));
        if !ready {
            tiles.iter().filter(|&&tile| !self.tracks.has(tile as usize)).for_each(|&tile| self.fill(tile as usize));
        }
    }

    #[cold]
    #[inline(never)]
    fn fill(&self, tile: usize) {
        let Some(maps) = &self.maps else { return };
        self.tracks.fill(tile, |filled| {
            *filled = StreamTile::zeroed();
            for map in 0..MAPS {
                for (cells, values) in filled.0.chunks_mut(SIDE).zip(maps.faded(map, tile)) {
                    cells.iter_mut().zip(values.0).for_each(|(cell, value)| cell[map] = value);
                }
            }
        });
    }

    /// The water that passes the cells of a part of the map, row by row, in square metres of rained-on land.
    pub(super) fn water_in(&self, [columns, rows]: &[Range<usize>; 2]) -> Vec<f32> {
        let mut water = vec![0.0; columns.len() * rows.len()];
        let Some(maps) = &self.maps else { return water };
        let tiling = maps.tiling();
        for tile_row in rows.start / SIDE..rows.end.div_ceil(SIDE) {
            for tile_column in columns.start / SIDE..columns.end.div_ceil(SIDE) {
                let tile = tiling.of(tile_column * SIDE, tile_row * SIDE);
                let (values, [across, down]) = (maps.faded(WATER, tile), tiling.cells(tile));
                for y in down.start.max(rows.start)..down.end.min(rows.end) {
                    for x in across.start.max(columns.start)..across.end.min(columns.end) {
                        let place = (y - rows.start) * columns.len() + x - columns.start;
                        water[place] = values[y - down.start].0[x - across.start];
                    }
                }
            }
        }
        water
    }

    /// Takes the tracks of the tick into the maps. A fresh droplet stands for so much rained-on land, in square metres.
    pub(super) fn renew(&mut self, land: f32) {
        let Some(maps) = &mut self.maps else { return };
        let (tiling, width) = (maps.tiling(), maps.grids[0].width());
        maps.renewals = maps.renewals.saturating_add(1);
        maps.missed.iter_mut().for_each(|missed| *missed += 1);
        let (share, least) = (maps.pace.of(maps.renewals), maps.least);
        let visited = self.tracks.filled();
        let [water, along, down] =
            maps.grids.each_mut().map(|grid| grid.change_in(&visited).par_chunks_mut(SIDE * width));
        let (tracks, in_order) = (&self.tracks, &visited);
        water.zip(along).zip(down).enumerate().for_each(|(band, ((water, along), down))| {
            for &tile in tiling.in_band(in_order, band) {
                let [columns, rows] = tiling.cells(tile);
                // SAFETY: the tile is ready, and nobody writes it now.
                let tile = unsafe { &*tracks.pointer().add(tile) };
                for (line, cells) in tile.0.chunks_exact(SIDE).enumerate().take(rows.len()) {
                    let places = line * width + columns.start..line * width + columns.end;
                    for (map, layer) in [&mut *water, &mut *along, &mut *down].into_iter().enumerate() {
                        let [old, track] =
                            [map, TRACKS + map].map(|place| Lanes(std::array::from_fn(|lane| cells[lane][place])));
                        let new = renewed(old, track * Lanes([land; LANES]), share, least);
                        layer[places.clone()].copy_from_slice(&new.0[..columns.len()]);
                    }
                }
            }
        });
        visited.iter().for_each(|&tile| maps.missed[tile] = 0);
        self.tracks.forget();
    }

    /// What is to be remembered.
    pub(super) fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        self.fit(terrain);
        let Some(maps) = &mut self.maps else { return Vec::new() };
        maps.catch_up();
        let Maps { grids: [water, along, down], renewals, .. } = maps;
        let mut kept: Memories<'_> = [("discharge", water), ("momentum x", along), ("momentum y", down)]
            .map(|(name, map)| (name, Memory::Cells(map)))
            .into();
        kept.push(("renewals", Memory::Count(renewals)));
        kept
    }

    /// The water that passes a cell, in square metres of rained-on land; none before droplets have run on this terrain.
    pub(super) fn water_at(&self, terrain: &Terrain, [x, y]: [usize; 2]) -> Option<f32> {
        self.maps.as_ref().filter(|maps| maps.fit(terrain))?;
        self.water_in(&[x..x + 1, y..y + 1]).first().copied()
    }

    /// The three maps as they are now.
    pub(super) fn maps(&self) -> Option<[Grid; MAPS]> {
        let mut maps = self.maps.clone()?;
        maps.catch_up();
        Some(maps.grids)
    }
}
