//! Highest ground of a map, updated incrementally after each wave.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    core::{grid::GridVersion, terrain::Terrain, tiles::Tiling},
    simd::lanes::LANES,
};

/// Cached highest ground, valid as long as only droplets change the layers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    found: Option<CachedPeak>,
}

#[derive(Clone, Copy, Debug)]
struct CachedPeak {
    layers: [GridVersion; 2],
    cell: usize,
    height: f32,
}

impl Peak {
    /// Returns the height of the highest ground, in metres.
    pub(super) fn height(&mut self, terrain: &Terrain) -> f32 {
        let layers = layers(terrain);
        let found = self.found.filter(|found| found.layers == layers).unwrap_or_else(|| {
            let width = terrain.width();
            let rows = (0..terrain.height()).into_par_iter().map(|y| highest_of(terrain, y * width..(y + 1) * width));
            let (row, height) = rows.reduce(|| NONE, higher);
            let mut cells = row..terrain.bedrock.len();
            let cell = cells.find(|&cell| terrain.bedrock[cell] + terrain.sand[cell] == height).unwrap_or_default();
            CachedPeak { layers, cell, height }
        });
        self.found = Some(found);
        found.height
    }

    /// Updates the cache after a wave that changed only these tiles since [`Self::height`] was called.
    pub(super) fn follow(&mut self, terrain: &Terrain, tiling: Tiling, changed: &[usize]) {
        let Some(mut found) = self.found.take() else { return };
        let highest = changed.par_iter().map(|&tile| {
            let [columns, rows] = tiling.cells(tile);
            let rows =
                rows.map(|y| highest_of(terrain, y * tiling.width() + columns.start..y * tiling.width() + columns.end));
            rows.fold(NONE, higher)
        });
        let (cell, height) = highest.reduce(|| NONE, higher);
        if height >= found.height {
            (found.cell, found.height) = (cell, height);
        } else {
            let place = [found.cell % tiling.width(), found.cell / tiling.width()];
            if changed.binary_search(&tiling.of(place[0], place[1])).is_ok() {
                // The highest cell was lowered, so the new maximum is unknown.
                return;
            }
        }
        self.found = Some(CachedPeak { layers: layers(terrain), ..found });
    }
}

fn layers(terrain: &Terrain) -> [GridVersion; 2] {
    [terrain.bedrock.version(), terrain.sand.version()]
}

const NONE: (usize, f32) = (0, f32::NEG_INFINITY);

fn higher(one: (usize, f32), other: (usize, f32)) -> (usize, f32) {
    if other.1 > one.1 { other } else { one }
}

/// Returns the highest ground in a range of cells of one row.
fn highest_of(terrain: &Terrain, cells: Range<usize>) -> (usize, f32) {
    let (bedrock, sand) = (&terrain.bedrock[cells.clone()], &terrain.sand[cells.clone()]);
    // One running maximum per lane of the vector unit.
    let mut most = [f32::NEG_INFINITY; LANES];
    for (bedrock, sand) in bedrock.chunks(LANES).zip(sand.chunks(LANES)) {
        for ((most, bedrock), sand) in most.iter_mut().zip(bedrock).zip(sand) {
            let ground = bedrock + sand;
            *most = if ground > *most { ground } else { *most };
        }
    }
    (cells.start, most.into_iter().fold(f32::NEG_INFINITY, f32::max))
}
