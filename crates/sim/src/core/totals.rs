//! Totals of a layer, updated from the changed tiles only.

use rayon::prelude::*;

use super::{
    grid::{Grid, GridVersion},
    tiles::Tiling,
};

/// Cached sums of the tiles of a grid.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    of: Option<GridVersion>,
    tiles: Vec<f64>,
}

impl Totals {
    /// Returns the sum over all cells of a grid, in f64, independent of the cache.
    pub fn of(&mut self, grid: &Grid) -> f64 {
        let tiling = Tiling::new(grid.width(), grid.height());
        match self.of.and_then(|then| grid.changed_since(then)) {
            Some(changed) => changed.for_each(|tile| self.tiles[tile] = sum(grid, tiling, tile)),
            None => {
                self.tiles.clear();
                self.tiles.par_extend((0..tiling.count()).into_par_iter().map(|tile| sum(grid, tiling, tile)));
            }
        }
        self.of = Some(grid.version());
        self.tiles.iter().sum()
    }
}

fn sum(grid: &Grid, tiling: Tiling, tile: usize) -> f64 {
    let [columns, rows] = tiling.cells(tile);
    let row = |y: usize| &grid[grid.index(columns.start, y)..grid.index(columns.end, y)];
    rows.flat_map(row).map(|&value| f64::from(value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_totals_match_grid_after_each_change() {
        let mut grid = Grid::from_fn(37, 29, |x, y| (x * y % 13) as f32 + 0.1);
        let mut totals = Totals::default();
        let same = |grid: &Grid, totals: &mut Totals| {
            let total = totals.of(grid);
            assert!((total - grid.total()).abs() <= 1e-9 * total, "{total}, {}", grid.total());
            assert_eq!(total, Totals::default().of(grid), "what was known before shows");
        };
        same(&grid, &mut totals);
        // Changes of one tile, of two, of all, and of none, and other grids.
        grid.modify_tiles(&[7])[10 * 37 + 18] += 100.0;
        grid.modify_tiles(&[2, 7])[20] = -3.0;
        same(&grid, &mut totals);
        grid[1] = 9.0;
        same(&grid, &mut totals);
        same(&grid, &mut totals);
        same(&Grid::filled(4, 50, 2.0), &mut totals);
        same(&Grid::filled(0, 0, 2.0), &mut totals);
    }
}
