//! What a layer holds in all, known again after a change without looking at more than what has changed.

use rayon::prelude::*;

use super::{
    grid::{Edition, Grid},
    tiles::Tiling,
};

/// The sums of a grid's tiles as they were last found.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    of: Option<Edition>,
    tiles: Vec<f64>,
}

impl Totals {
    /// The sum over all cells of a grid, in f64. It does not depend on what was known before.
    pub fn of(&mut self, grid: &Grid) -> f64 {
        let tiling = Tiling::new(grid.width(), grid.height());
        match self.of.and_then(|then| grid.changed_since(then)) {
            Some(changed) => changed.for_each(|tile| self.tiles[tile] = sum(grid, tiling, tile)),
            None => {
                self.tiles.clear();
                self.tiles.par_extend((0..tiling.count()).into_par_iter().map(|tile| sum(grid, tiling, tile)));
            }
        }
        self.of = Some(grid.edition());
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
    fn after_every_change_the_total_is_that_of_the_grid() {
        let mut grid = Grid::from_fn(37, 29, |x, y| (x * y % 13) as f32 + 0.1);
        let mut totals = Totals::default();
        let same = |grid: &Grid, totals: &mut Totals| {
            let total = totals.of(grid);
            assert!((total - grid.total()).abs() <= 1e-9 * total, "{total}, {}", grid.total());
            assert_eq!(total, Totals::default().of(grid), "what was known before shows");
        };
        same(&grid, &mut totals);
        // Of one tile, of all, of a part of none, and of another grid.
        grid.change_in(&[7])[10 * 37 + 18] += 100.0;
        grid.change_in(&[2, 7])[20] = -3.0;
        same(&grid, &mut totals);
        grid[1] = 9.0;
        same(&grid, &mut totals);
        same(&grid, &mut totals);
        same(&Grid::filled(4, 50, 2.0), &mut totals);
        same(&Grid::filled(0, 0, 2.0), &mut totals);
    }
}
