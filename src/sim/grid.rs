//! A rectangle of values, one per cell.

use std::ops::{Deref, DerefMut};

use super::resample::Resampler;

/// Row-major values of `width × height` cells: `cells[y * width + x]`, x along columns, y along rows.
///
/// A grid dereferences to the slice of its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<T = f32> {
    width: usize,
    height: usize,
    cells: Vec<T>,
}

impl<T: Copy> Grid<T> {
    /// Every cell holds `value`.
    pub fn filled(width: usize, height: usize, value: T) -> Self {
        Self { width, height, cells: vec![value; width * height] }
    }

    /// Takes over row-major cells.
    ///
    /// # Panics
    /// If the number of cells is not `width * height`.
    pub fn from_cells(width: usize, height: usize, cells: Vec<T>) -> Self {
        assert_eq!(cells.len(), width * height, "a grid of {width} × {height} needs as many cells");
        Self { width, height, cells }
    }

    /// Computes every cell from its column and row.
    pub fn from_fn(width: usize, height: usize, mut value: impl FnMut(usize, usize) -> T) -> Self {
        let cells = (0..width * height).map(|index| value(index % width, index / width)).collect();
        Self { width, height, cells }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The cell's place in the slice.
    pub fn index(&self, x: usize, y: usize) -> usize {
        y * self.width + x
    }

    /// The value of a cell.
    pub fn at(&self, x: usize, y: usize) -> T {
        self.cells[y * self.width + x]
    }

    /// The value of the cell nearest to (x, y), which may lie outside.
    pub fn clamped(&self, x: isize, y: isize) -> T {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.at(x, y)
    }

    /// The cells as a vector.
    pub fn into_cells(self) -> Vec<T> {
        self.cells
    }
}

impl Grid<f32> {
    /// Smallest and largest value; (0, 0) for a grid without cells, and no numbers if one of the cells holds none.
    pub fn min_max(&self) -> (f32, f32) {
        if self.cells.is_empty() {
            return (0.0, 0.0);
        }
        let none = self.cells.iter().any(|value| value.is_nan());
        let start = if none { (f32::NAN, f32::NAN) } else { (f32::INFINITY, f32::NEG_INFINITY) };
        // A comparison with what is no number is never true.
        let wider = |(low, high): (f32, f32), &value: &f32| {
            (if value < low { value } else { low }, if value > high { value } else { high })
        };
        self.cells.iter().fold(start, wider)
    }

    /// Sum over all cells, in f64.
    pub fn total(&self) -> f64 {
        self.cells.iter().map(|&value| f64::from(value)).sum()
    }

    /// Value between cell centres, bilinear; (0, 0) is the centre of the first cell. Outside, the nearest edge counts.
    pub fn bilinear(&self, x: f32, y: f32) -> f32 {
        let x = x.clamp(0.0, (self.width - 1) as f32);
        let y = y.clamp(0.0, (self.height - 1) as f32);
        let (left, top) = (x as usize, y as usize);
        let (right, bottom) = ((left + 1).min(self.width - 1), (top + 1).min(self.height - 1));
        let (fx, fy) = (x - left as f32, y - top as f32);
        let above = self.at(left, top) + fx * (self.at(right, top) - self.at(left, top));
        let below = self.at(left, bottom) + fx * (self.at(right, bottom) - self.at(left, bottom));
        above + fy * (below - above)
    }

    /// The same map with another number of cells: bilinear when it grows, mean over the covered cells when it shrinks.
    ///
    /// A cell is an area, so the map's extent stays what it was.
    pub fn resampled(&self, width: usize, height: usize) -> Grid {
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let mut rows = Resampler::new((self.width, self.height), (width, height));
        self.cells.chunks(self.width).for_each(|row| rows.push(row));
        rows.finish()
    }
}

impl<T> Deref for Grid<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.cells
    }
}

impl<T> DerefMut for Grid<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bilinear_meets_the_cells_and_the_middle_between_them() {
        let grid = Grid::from_cells(2, 2, vec![0.0, 1.0, 2.0, 3.0]);
        assert_eq!(grid.bilinear(1.0, 0.0), 1.0);
        assert_eq!(grid.bilinear(0.5, 0.5), 1.5);
        assert_eq!(grid.bilinear(-4.0, 9.0), 2.0);
    }

    #[test]
    fn resampling_keeps_the_mean_and_a_plane() {
        let plane = Grid::from_fn(40, 30, |x, y| x as f32 + 2.0 * y as f32);
        for (width, height) in [(20, 15), (80, 60), (33, 47), (40, 30)] {
            let other = plane.resampled(width, height);
            let mean = |grid: &Grid| grid.total() / grid.len() as f64;
            assert!((mean(&other) - mean(&plane)).abs() < 0.02, "{width} × {height}");
            let (x, y) = (width / 2, height / 2);
            let expected =
                (x as f32 + 0.5) * 40.0 / width as f32 - 0.5 + 2.0 * ((y as f32 + 0.5) * 30.0 / height as f32 - 0.5);
            assert!((other.at(x, y) - expected).abs() < 1e-3, "{width} × {height}: {}", other.at(x, y));
        }
    }

    #[test]
    fn what_is_no_number_is_not_left_out_of_smallest_and_largest() {
        assert_eq!(Grid::from_cells(3, 1, vec![2.0, -1.0, f32::INFINITY]).min_max(), (-1.0, f32::INFINITY));
        for place in 0..3 {
            let mut grid = Grid::filled(3, 1, 4.0);
            grid[place] = f32::NAN;
            let (low, high) = grid.min_max();
            assert!(low.is_nan() && high.is_nan());
        }
    }

    #[test]
    fn a_single_cell_can_be_sampled_and_resampled() {
        let grid = Grid::filled(1, 1, 4.0);
        assert_eq!(grid.bilinear(3.0, -2.0), 4.0);
        assert!(grid.resampled(5, 3).iter().all(|&value| value == 4.0));
    }
}
