//! Two-dimensional array of cells.

use std::{
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;

use super::{
    aligned::AlignedArray,
    resample::Resampler,
    tiles::{TileChanges, Tiling},
};

/// Cells per parallel chunk of a sum.
const PART: usize = 1 << 14;

/// Row-major values of `width × height` cells: `cells[y * width + x]`, x along columns, y along rows.
///
/// A grid dereferences to the slice of its cells, which is aligned to a cache line.
#[derive(Debug)]
pub struct Grid {
    width: usize,
    height: usize,
    cells: AlignedArray,
    version: GridVersion,
    marks: TileChanges,
}

/// Version of a grid. While it is the same, no cell has changed. No two grids share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridVersion {
    grid: u64,
    changes: u64,
}

impl GridVersion {
    fn new() -> Self {
        static GRIDS: AtomicU64 = AtomicU64::new(0);
        Self { grid: GRIDS.fetch_add(1, Ordering::Relaxed), changes: 0 }
    }
}

impl Clone for Grid {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), version: GridVersion::new(), marks: TileChanges::default(), ..*self }
    }
}

impl PartialEq for Grid {
    fn eq(&self, other: &Self) -> bool {
        (self.width, self.height) == (other.width, other.height) && self.cells == other.cells
    }
}

impl Grid {
    /// Returns the column and row of a position given as fractions of the sides.
    pub fn cell_at(&self, place: [f32; 2]) -> (usize, usize) {
        let along = |share: f32, cells: usize| ((share * cells as f32) as usize).min(cells - 1);
        (along(place[0], self.width), along(place[1], self.height))
    }

    /// Creates a grid with `value` in every cell.
    pub fn filled(width: usize, height: usize, value: f32) -> Self {
        let cells = AlignedArray::filled(width * height, value);
        Self { width, height, cells, version: GridVersion::new(), marks: TileChanges::default() }
    }

    /// Creates a grid from row-major cells.
    ///
    /// # Panics
    /// If the number of cells is not `width * height`.
    pub fn from_cells(width: usize, height: usize, cells: impl AsRef<[f32]>) -> Self {
        let cells = cells.as_ref();
        let mut grid = Self::filled(width, height, 0.0);
        assert_eq!(cells.len(), grid.len(), "the number of cells must be {width} × {height}");
        grid.copy_from_slice(cells);
        grid
    }

    /// Creates a grid, computing every cell from its column and row.
    pub fn from_fn(width: usize, height: usize, mut value: impl FnMut(usize, usize) -> f32) -> Self {
        let mut grid = Self::filled(width, height, 0.0);
        for (y, row) in grid.chunks_exact_mut(width.max(1)).enumerate() {
            row.iter_mut().enumerate().for_each(|(x, cell)| *cell = value(x, y));
        }
        grid
    }

    /// Creates a grid from row-major values. Missing ones are 0.
    pub fn from_values(width: usize, height: usize, values: impl IntoIterator<Item = f32>) -> Self {
        let mut grid = Self::filled(width, height, 0.0);
        grid.iter_mut().zip(values).for_each(|(cell, value)| *cell = value);
        grid
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the version of its contents.
    pub fn version(&self) -> GridVersion {
        self.version
    }

    /// Returns the cells, of which the caller may only change those in `tiles`.
    pub fn modify_tiles(&mut self, tiles: &[usize]) -> &mut [f32] {
        self.version.changes += 1;
        self.marks.within(self.version.changes, Tiling::new(self.width, self.height), tiles);
        &mut self.cells
    }

    /// Copies another grid of the same size. Tiles without differences stay unchanged.
    ///
    /// # Panics
    /// If the sizes differ.
    pub fn copy_changes(&mut self, other: &Self) {
        assert_eq!((self.width, self.height), (other.width, other.height), "both grids must have the same size");
        let (width, tiling) = (self.width, Tiling::new(self.width, self.height));
        let rows = |tile: usize| {
            let [columns, rows] = tiling.cells(tile);
            rows.map(move |y| y * width + columns.start..y * width + columns.end)
        };
        let differs = |&tile: &usize| rows(tile).any(|row| self.cells[row.clone()] != other.cells[row]);
        let changed: Vec<usize> = (0..tiling.count()).filter(differs).collect();
        if changed.is_empty() {
            return;
        }
        let cells = self.modify_tiles(&changed);
        for row in changed.into_iter().flat_map(rows) {
            cells[row.clone()].copy_from_slice(&other.cells[row]);
        }
    }

    /// Returns the tiles changed since a version, in order; `None` if all may have changed.
    pub fn changed_since(&self, then: GridVersion) -> Option<impl Iterator<Item = usize> + '_> {
        if then.grid == self.version.grid { self.marks.since(then.changes) } else { None }
    }

    /// Returns the index of a cell in the slice.
    pub fn index(&self, x: usize, y: usize) -> usize {
        y * self.width + x
    }

    /// Returns the value of a cell.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.cells[y * self.width + x]
    }

    /// Returns the value of the cell nearest to (x, y), which may lie outside.
    pub fn at_clamped(&self, x: isize, y: isize) -> f32 {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.at(x, y)
    }

    /// Returns the smallest and largest value: (0, 0) for a grid without cells, NaN if any cell is NaN.
    pub fn min_max(&self) -> (f32, f32) {
        if self.cells.is_empty() {
            return (0.0, 0.0);
        }
        let none = self.cells.iter().any(|value| value.is_nan());
        let start = if none { (f32::NAN, f32::NAN) } else { (f32::INFINITY, f32::NEG_INFINITY) };
        // Comparisons with NaN are always false.
        let wider = |(low, high): (f32, f32), &value: &f32| {
            (if value < low { value } else { low }, if value > high { value } else { high })
        };
        self.cells.iter().fold(start, wider)
    }

    /// Returns the sum over all cells, in f64.
    pub fn total(&self) -> f64 {
        // The chunks do not depend on the number of threads.
        let parts = self.cells.par_chunks(PART).map(|part| part.iter().map(|&value| f64::from(value)).sum());
        parts.collect::<Vec<f64>>().into_iter().sum()
    }

    /// Interpolates bilinearly between cell centres; (0, 0) is the centre of the first cell. Outside, the nearest edge is used.
    pub fn sample_bilinear(&self, x: f32, y: f32) -> f32 {
        let x = x.clamp(0.0, (self.width - 1) as f32);
        let y = y.clamp(0.0, (self.height - 1) as f32);
        let (left, top) = (x as usize, y as usize);
        let (right, bottom) = ((left + 1).min(self.width - 1), (top + 1).min(self.height - 1));
        let (fx, fy) = (x - left as f32, y - top as f32);
        let above = self.at(left, top) + fx * (self.at(right, top) - self.at(left, top));
        let below = self.at(left, bottom) + fx * (self.at(right, bottom) - self.at(left, bottom));
        above + fy * (below - above)
    }

    /// Resamples to another number of cells: bilinear when enlarging, area-weighted mean when shrinking.
    ///
    /// A cell is an area, so the extent of the map is preserved.
    pub fn resample(&self, width: usize, height: usize) -> Grid {
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let mut rows = Resampler::new((self.width, self.height), (width, height));
        self.cells.chunks(self.width).for_each(|row| rows.push(row));
        rows.finish()
    }
}

impl Deref for Grid {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.cells
    }
}

impl DerefMut for Grid {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        self.version.changes += 1;
        self.marks.everywhere(self.version.changes);
        &mut self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bilinear_sampling_interpolates_and_clamps() {
        let grid = Grid::from_cells(2, 2, [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(grid.sample_bilinear(1.0, 0.0), 1.0);
        assert_eq!(grid.sample_bilinear(0.5, 0.5), 1.5);
        assert_eq!(grid.sample_bilinear(-4.0, 9.0), 2.0);
    }

    #[test]
    fn resampling_preserves_mean_and_plane() {
        let plane = Grid::from_fn(40, 30, |x, y| x as f32 + 2.0 * y as f32);
        for (width, height) in [(20, 15), (80, 60), (33, 47), (40, 30)] {
            let other = plane.resample(width, height);
            let mean = |grid: &Grid| grid.total() / grid.len() as f64;
            assert!((mean(&other) - mean(&plane)).abs() < 0.02, "{width} × {height}");
            let (x, y) = (width / 2, height / 2);
            let expected =
                (x as f32 + 0.5) * 40.0 / width as f32 - 0.5 + 2.0 * ((y as f32 + 0.5) * 30.0 / height as f32 - 0.5);
            assert!((other.at(x, y) - expected).abs() < 1e-3, "{width} × {height}: {}", other.at(x, y));
        }
    }

    #[test]
    fn nan_propagates_to_min_and_max() {
        assert_eq!(Grid::from_cells(3, 1, [2.0, -1.0, f32::INFINITY]).min_max(), (-1.0, f32::INFINITY));
        for place in 0..3 {
            let mut grid = Grid::filled(3, 1, 4.0);
            grid[place] = f32::NAN;
            let (low, high) = grid.min_max();
            assert!(low.is_nan() && high.is_nan());
        }
    }

    #[test]
    fn version_is_unique_per_grid_and_changes_on_write() {
        let mut grid = Grid::filled(2, 2, 1.0);
        let first = grid.version();
        let copy = grid.clone();
        assert!(grid.version() == first && grid == copy && copy.version() != first);
        grid[3] = 2.0;
        assert_ne!(grid.version(), first);
        assert_ne!(std::mem::replace(&mut grid, copy).version(), grid.version());
    }

    #[test]
    fn changed_since_lists_tiles_until_untracked_write() {
        let mut grid = Grid::filled(40, 20, 0.0);
        let tiles = |grid: &Grid, then| grid.changed_since(then).map(Iterator::collect::<Vec<usize>>);
        let first = grid.version();
        assert_eq!(tiles(&grid, first), Some(vec![]));
        grid.modify_tiles(&[3, 7])[24] = 1.0;
        let second = grid.version();
        grid.modify_tiles(&[7, 14])[799] = 1.0;
        assert_eq!((tiles(&grid, first), tiles(&grid, second)), (Some(vec![3, 7, 14]), Some(vec![7, 14])));
        assert!(grid.version() != second && tiles(&grid.clone(), second).is_none());
        grid[0] = 1.0;
        let third = grid.version();
        assert_eq!((tiles(&grid, second), tiles(&grid, third)), (None, Some(vec![])));
        grid.modify_tiles(&[0])[0] = 2.0;
        assert_eq!((tiles(&grid, second), tiles(&grid, third)), (None, Some(vec![0])));
    }

    #[test]
    fn copy_changes_marks_only_differing_tiles() {
        let mut grid = Grid::from_fn(41, 19, |x, y| (x * y) as f32);
        let mut other = grid.clone();
        let first = grid.version();
        grid.copy_changes(&other);
        assert_eq!(grid.version(), first);
        for (x, y) in [(0, 0), (40, 18), (9, 9)] {
            let cell = other.index(x, y);
            other[cell] = f32::NEG_INFINITY;
        }
        grid.copy_changes(&other);
        let changed = grid.changed_since(first).expect("parts alone have changed");
        assert_eq!(changed.collect::<Vec<_>>(), [0, 7, 17]);
        assert!(grid == other);
    }

    #[test]
    fn single_cell_grid_can_be_sampled_and_resampled() {
        let grid = Grid::filled(1, 1, 4.0);
        assert_eq!(grid.sample_bilinear(3.0, -2.0), 4.0);
        assert!(grid.resample(5, 3).iter().all(|&value| value == 4.0));
    }
}
