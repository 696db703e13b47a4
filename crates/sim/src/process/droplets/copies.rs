//! Copies of the tiles that droplets visit, with all layers of a row adjacent in memory.
//!
//! Changes are written back to the layers after a wave; the copies stay valid for the next wave unless anything else changes the
//! layers.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Zeroable;
use rayon::prelude::*;

use crate::{
    core::{
        grid::GridVersion,
        terrain::Terrain,
        tiles::{SIDE, TileCache, Tiling},
    },
    simd::lanes::Lanes,
};

/// A tile with its layers interleaved by row.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(64))]
pub(super) struct GroundTile {
    pub(super) rows: [[TileRow; LAYERS]; SIDE],
}

/// One row of a layer in a tile.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(32))]
pub(super) struct TileRow(pub(super) [f32; SIDE]);

/// Number of layers of a tile.
pub(super) const LAYERS: usize = 4;
/// Indices of the layers: bedrock, sand, erodibility (rock lost per unit of erosion, twice the softness), and the surface, bedrock
/// plus sand.
pub(super) const BEDROCK: usize = 0;
pub(super) const SAND: usize = 1;
pub(super) const ERODIBILITY: usize = 2;
pub(super) const SURFACE: usize = 3;

/// Minimum depth of standing water that affects droplets, in metres.
pub(super) const STANDING: f32 = 0.05;

/// Copies of tiles, and the versions of the layers when last written.
#[derive(Default)]
pub(super) struct Copies {
    pub(super) tiles: TileCache<GroundTile>,
    /// Cells of each tile that have changed in this wave, as in a [`CellSet`](crate::core::tiles::CellSet).
    pub(super) changed: Vec<AtomicU64>,
    /// Cells of each tile where droplets undercut a bank, in the same form.
    pub(super) undercut: Vec<AtomicU64>,
    written: Option<[GridVersion; 3]>,
    /// Version of the water layer at the last check, and `true` if it had standing water.
    pub(super) wet: Option<(GridVersion, bool)>,
}

impl Clone for Copies {
    /// Returns empty copies: tiles can be copied again.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Copies {
    /// Prepares for a wave on a terrain. Copies that still match its layers are kept.
    pub(super) fn begin(&mut self, terrain: &Terrain) {
        let (width, height) = (terrain.width(), terrain.height());
        let Self { tiles, changed, undercut, written, wet } = self;
        tiles.begin(Tiling::new(width, height));
        for cells in [&mut *changed, &mut *undercut] {
            cells.resize_with(tiles.tiling().count(), AtomicU64::default);
        }
        if written.take() != Some(layer_versions(terrain)) {
            tiles.clear();
        }
        let water = terrain.water.version();
        let stands = || terrain.water.par_chunks(width).any(|row| row.iter().any(|&depth| depth > STANDING));
        *wet = wet.filter(|(seen, _)| *seen == water).or_else(|| Some((water, stands())));
    }

    /// Writes changed copies back to the layers. Returns the changed tiles, in order.
    pub(super) fn write_back(&mut self, terrain: &mut Terrain) -> Vec<usize> {
        let Self { tiles, changed, written, .. } = self;
        let (tiling, width) = (tiles.tiling(), terrain.width());
        let cells = changed.iter_mut().enumerate();
        let changed: Vec<usize> =
            cells.filter_map(|(tile, cells)| (std::mem::take(cells.get_mut()) != 0).then_some(tile)).collect();
        let layers = [&mut terrain.bedrock, &mut terrain.sand];
        let [bedrock, sand] = layers.map(|layer| layer.modify_tiles(&changed).par_chunks_mut(SIDE * width));
        let (tiles, in_order) = (&*tiles, &changed);
        bedrock.zip(sand).enumerate().for_each(|(band, (bedrock, sand))| {
            for &tile in tiling.in_band(in_order, band) {
                let [columns, rows] = tiling.cells(tile);
                // SAFETY: the tile is filled, and no thread changes it now.
                let tile = unsafe { &*tiles.pointer().add(tile) };
                for (line, row) in tile.rows[..rows.len()].iter().enumerate() {
                    let cells = line * width + columns.start..line * width + columns.end;
                    bedrock[cells.clone()].copy_from_slice(&row[BEDROCK].0[..columns.len()]);
                    sand[cells].copy_from_slice(&row[SAND].0[..columns.len()]);
                }
            }
        });
        *written = Some(layer_versions(terrain));
        changed
    }

    /// Returns a copy in the middle of a wave, including the tiles.
    pub(super) fn with_tiles(&self) -> Self {
        let copied = |cells: &[AtomicU64]| {
            cells.iter().map(|cells| AtomicU64::new(cells.load(Ordering::Relaxed))).collect::<Vec<_>>()
        };
        let (changed, undercut) = (copied(&self.changed), copied(&self.undercut));
        // SAFETY: only waves write tiles, and a process is not copied while it runs one.
        Self { tiles: unsafe { self.tiles.copied() }, changed, undercut, written: self.written, wet: self.wet }
    }
}

fn layer_versions(terrain: &Terrain) -> [GridVersion; 3] {
    [terrain.bedrock.version(), terrain.sand.version(), terrain.softness.version()]
}

/// Returns a row of a tile; cells beyond the map are 0.
#[inline(always)]
pub(super) fn row_of_tile(cells: &[f32]) -> Lanes {
    let mut row = Lanes::default();
    match cells.try_into() {
        Ok(all) => row.0 = all,
        Err(_) => row.0[..cells.len()].copy_from_slice(cells),
    }
    row
}
