//! Discharge and momentum maps that droplets create and follow.
//!
//! The droplets of a tick leave tracks and read the maps as they were before it. After the tick each map moves a fraction of the
//! way to its tracks. This needs no pass over the whole map: a tile without droplets catches up on its next visit by the same
//! steps, so the bits are the same.

use std::ops::Range;

use bytemuck::Zeroable;
use rayon::prelude::*;

use crate::{
    core::{
        grid::Grid,
        terrain::Terrain,
        tiles::{CELLS, SIDE, TileCache, Tiling},
    },
    process::saved_state::{NamedValues, StateValue},
    simd::{
        cells::{Cells, Pass},
        lanes::{LANES, Lanes, with_eight_lanes},
        number::Real,
    },
};

/// State of a cell as a droplet needs it: the three maps, the three tracks and padding.
pub(super) type StreamCell = [f32; 8];
/// Indices of the discharge, in square metres of contributing area, and of discharge times direction.
pub(super) const WATER: usize = 0;
pub(super) const ALONG: usize = 1;
pub(super) const DOWN: usize = 2;
/// Index of the first track, in the order of the maps, in initial droplet volumes.
pub(super) const TRACKS: usize = 3;
const MAPS: usize = 3;
/// Values below this fraction of a cell are flushed to zero.
const LEAST: f32 = 1e-5;

/// Cells of a tile.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(64))]
pub(super) struct StreamTile(pub(super) [StreamCell; CELLS]);

/// The maps, and the tracks of the current tick.
#[derive(Default)]
pub(super) struct Discharge {
    maps: Option<DischargeMaps>,
    tracks: TileCache<StreamTile>,
}

impl Clone for Discharge {
    /// Includes the tracks, so a tick that is copied between two waves continues like the original.
    fn clone(&self) -> Self {
        // SAFETY: a wave borrows the maps mutably while it writes tracks.
        Self { maps: self.maps.clone(), tracks: unsafe { self.tracks.copied() } }
    }
}

/// Maps of a terrain.
#[derive(Clone)]
struct DischargeMaps {
    /// Grids, in the order of [`StreamCell`].
    grids: [Grid; MAPS],
    /// Number of updates since the maps were empty.
    renewals: u64,
    /// Updates that each tile has yet to catch up with.
    missed: Vec<u32>,
    /// Rate of the updates.
    pace: UpdateRate,
    /// Threshold below which values are flushed to zero, in square metres.
    least: f32,
}

/// Rate at which the maps follow the tracks of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum UpdateRate {
    /// This fraction in every update, as published.
    Even(f32),
    /// Running mean of all tracks in the first updates, so that the first droplets count immediately; then this fraction.
    Eager(f32),
}

impl UpdateRate {
    /// Returns the fraction of an update; the first is number 1.
    pub(super) fn of(self, renewal: u64) -> f32 {
        match self {
            Self::Even(share) => share,
            Self::Eager(share) => share.max(1.0 / renewal as f32),
        }
    }
}

impl DischargeMaps {
    fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let missed = vec![0; Tiling::new(terrain.width(), terrain.height()).count()];
        Self {
            grids: [empty(), empty(), empty()],
            renewals: 0,
            missed,
            pace: UpdateRate::Even(1.0),
            least: LEAST * terrain.cell_area() as f32,
        }
    }

    fn fit(&self, terrain: &Terrain) -> bool {
        (self.grids[0].width(), self.grids[0].height()) == (terrain.width(), terrain.height())
    }

    fn tiling(&self) -> Tiling {
        Tiling::new(self.grids[0].width(), self.grids[0].height())
    }

    /// Returns a tile of a map, row by row, after its missed updates, in which no droplet visited it. 0 beyond the map.
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

    /// Applies the missed updates of all tiles.
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

/// Applies the last `missed` updates, without tracks, to values.
struct Fade<'a> {
    maps: &'a DischargeMaps,
    missed: u32,
    values: &'a mut [Lanes; SIDE],
}

/// Number of updates between checks for an empty tile.
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

/// Returns `true` if all values of a tile are zero.
#[inline(always)]
fn is_empty(values: &[Lanes; SIDE]) -> bool {
    values.iter().fold(0, |any, row| row.0.iter().fold(any, |any, value| any | value.to_bits())) == 0
}

/// Moves values a fraction of the way to `to`; results below `least` become zero.
#[inline(always)]
fn renewed(values: Lanes, to: Lanes, share: f32, least: f32) -> Lanes {
    let new = values + Lanes([share; LANES]) * (to - values);
    // NaN stays NaN.
    let small = Lanes([least; LANES]).above(new.max(-new));
    small.select(Lanes::default(), new)
}

impl Discharge {
    /// Prepares for a tick that uses the maps.
    pub(super) fn begin(&mut self, terrain: &Terrain, pace: UpdateRate) {
        self.fit(terrain);
        if let Some(maps) = self.maps.as_mut().filter(|maps| maps.pace != pace) {
            maps.catch_up();
            maps.pace = pace;
        }
        self.tracks.begin(Tiling::new(terrain.width(), terrain.height()));
        self.tracks.clear();
    }

    /// Prepares for a wave of a tick that may have begun under another law.
    pub(super) fn make_ready(&mut self, terrain: &Terrain) {
        self.fit(terrain);
        self.tracks.begin(Tiling::new(terrain.width(), terrain.height()));
    }

    /// Clears the maps.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn fit(&mut self, terrain: &Terrain) {
        if !self.maps.as_ref().is_some_and(|maps| maps.fit(terrain)) {
            self.maps = Some(DischargeMaps::new(terrain));
        }
    }

    /// Returns a pointer to a cell of a tile, see [`TileCache::pointer`].
    #[inline(always)]
    pub(super) fn cell(&self, (tile, cell): (usize, usize)) -> *mut StreamCell {
        self.tracks.pointer().cast::<StreamCell>().wrapping_add(tile * CELLS + cell)
    }

    /// Fills tiles that aren't filled yet.
    #[inline(always)]
    pub(super) fn fill_tiles(&self, tiles: [u32; LANES]) {
        let ready = tiles.iter().fold(true, |ready, &tile| ready & self.tracks.is_filled(tile as usize));
        if !ready {
            tiles
                .iter()
                .filter(|&&tile| !self.tracks.is_filled(tile as usize))
                .for_each(|&tile| self.fill(tile as usize));
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

    /// Returns the discharge of the cells in a window, row by row, in square metres of contributing area.
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

    /// Updates the maps from the tracks of the tick. `contributing_area` is that of a fresh droplet, in square metres.
    pub(super) fn renew(&mut self, contributing_area: f32) {
        let Some(maps) = &mut self.maps else { return };
        let (tiling, width) = (maps.tiling(), maps.grids[0].width());
        maps.renewals = maps.renewals.saturating_add(1);
        maps.missed.iter_mut().for_each(|missed| *missed += 1);
        let (share, least) = (maps.pace.of(maps.renewals), maps.least);
        let visited = self.tracks.filled();
        let [water, along, down] =
            maps.grids.each_mut().map(|grid| grid.modify_tiles(&visited).par_chunks_mut(SIDE * width));
        let (tracks, in_order) = (&self.tracks, &visited);
        water.zip(along).zip(down).enumerate().for_each(|(band, ((water, along), down))| {
            for &tile in tiling.in_band(in_order, band) {
                let [columns, rows] = tiling.cells(tile);
                // SAFETY: the tile is filled, and the mutably borrowed maps have exclusive access to it.
                let tile = unsafe { &*tracks.pointer().add(tile) };
                for (line, cells) in tile.0.chunks_exact(SIDE).enumerate().take(rows.len()) {
                    let places = line * width + columns.start..line * width + columns.end;
                    for (map, layer) in [&mut *water, &mut *along, &mut *down].into_iter().enumerate() {
                        let [old, track] =
                            [map, TRACKS + map].map(|place| Lanes(std::array::from_fn(|lane| cells[lane][place])));
                        let new = renewed(old, track * Lanes([contributing_area; LANES]), share, least);
                        layer[places.clone()].copy_from_slice(&new.0[..columns.len()]);
                    }
                }
            }
        });
        visited.iter().for_each(|&tile| maps.missed[tile] = 0);
        self.tracks.clear();
    }

    /// Returns the state to be saved.
    pub(super) fn state_values(&mut self, terrain: &Terrain) -> NamedValues<'_> {
        self.fit(terrain);
        let Some(maps) = &mut self.maps else { return Vec::new() };
        maps.catch_up();
        let DischargeMaps { grids: [water, along, down], renewals, .. } = maps;
        let mut values: NamedValues<'_> = [("discharge", water), ("momentum x", along), ("momentum y", down)]
            .map(|(name, map)| (name, StateValue::Cells(map)))
            .into();
        values.push(("renewals", StateValue::Count(renewals)));
        values
    }

    /// Returns the discharge of a cell, in square metres of contributing area, or `None` before droplets have run on this terrain.
    pub(super) fn water_at(&self, terrain: &Terrain, [x, y]: [usize; 2]) -> Option<f32> {
        self.maps.as_ref().filter(|maps| maps.fit(terrain))?;
        self.water_in(&[x..x + 1, y..y + 1]).first().copied()
    }

    /// Returns the three maps, up to date.
    pub(super) fn maps(&self) -> Option<[Grid; MAPS]> {
        let mut maps = self.maps.clone()?;
        maps.catch_up();
        Some(maps.grids)
    }
}
