//! Changes of a stroke, for undo and redo.

use std::collections::BTreeMap;

use super::area::Area;
use crate::core::{
    grid::Grid,
    terrain::{Layer, Matter, Terrain},
    tiles::Tiling,
};

/// Side of a tile, in cells.
const TILE: usize = 64;

/// Tiles of layers as they were before a stroke.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoPatch {
    tiles: BTreeMap<(Layer, usize, usize), Vec<f32>>,
}

impl UndoPatch {
    /// Returns `true` if nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// Returns `true` if it contains only maps that no process changes: these can be exchanged at any later time.
    pub fn is_of_maps(&self) -> bool {
        self.tiles.keys().all(|(layer, ..)| layer.row().matter == Matter::None && *layer != Layer::Softness)
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.tiles.values().map(|cells| 4 * cells.len() + 64).sum()
    }

    /// Saves tiles that are about to change, unless they are already saved.
    pub(super) fn save_tiles(&mut self, terrain: &mut Terrain, layers: &[Layer], area: &Area) {
        let tiles = |cells: &[super::area::Segment]| {
            let mut tiles: Vec<usize> = cells.iter().map(|line| line.index / TILE).collect();
            tiles.dedup();
            tiles
        };
        let (rows, columns) = (tiles(&area.rows), tiles(&area.columns));
        for &layer in layers {
            let grid = terrain.layer_mut(layer);
            for &row in &rows {
                for &column in &columns {
                    self.tiles
                        .entry((layer, row, column))
                        .or_insert_with(|| spans(grid, row, column).flat_map(|span| grid[span].to_vec()).collect());
                }
            }
        }
    }

    /// Swaps the saved tiles with the current ones. Returns the growth of the ground and of the water, in metres times cells.
    pub(crate) fn exchange(&mut self, terrain: &mut Terrain) -> [f64; 2] {
        let [mut ground, mut water] = [0.0; 2];
        for ((layer, row, column), cells) in &mut self.tiles {
            let grid = terrain.layer_mut(*layer);
            let matter = layer.row().matter;
            let mut stored = cells.iter_mut();
            let (spans, tiling) = (spans(grid, *row, *column), Tiling::new(grid.width(), grid.height()));
            let [columns, rows] = [*column, *row].map(|tile| tile * TILE..(tile + 1) * TILE);
            let changed = grid.modify_tiles(&tiling.within(columns, rows));
            for span in spans {
                for (cell, stored) in changed[span].iter_mut().zip(&mut stored) {
                    let grown = f64::from(*stored) - f64::from(*cell);
                    match matter {
                        Matter::Solid => ground += grown,
                        Matter::Water => water += grown,
                        Matter::None => {}
                    }
                    std::mem::swap(cell, stored);
                }
            }
        }
        [ground, water]
    }
}

/// Returns the parts of a tile's rows in the slice of all cells.
fn spans(grid: &Grid, row: usize, column: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
    let (width, height) = (grid.width(), grid.height());
    let right = ((column + 1) * TILE).min(width);
    let left = (column * TILE).min(right);
    (row * TILE..((row + 1) * TILE).min(height)).map(move |y| y * width + left..y * width + right)
}
