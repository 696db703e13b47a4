//! Coordinate system of the map, in units of its shorter side.

use rayon::prelude::*;

use crate::core::grid::Grid;

/// Size of a map in cells. Positions are measured from its centre, in units of its shorter side.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapFrame {
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
}

impl MapFrame {
    /// Returns a frame of at least one cell.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width: width.max(1), height: height.max(1) }
    }

    /// Number of cells along the shorter side.
    pub fn shorter(self) -> usize {
        self.width.min(self.height)
    }

    /// Half the map's width and height, in units of the shorter side.
    pub fn half_extent(self) -> (f64, f64) {
        let twice = 2.0 * self.shorter() as f64;
        (self.width as f64 / twice, self.height as f64 / twice)
    }

    /// Computes every cell from the position of its centre. Positions of mirrored cells differ only in sign.
    pub fn sample(self, value: impl Fn(f64, f64) -> f64 + Sync) -> Grid {
        let twice = 2.0 * self.shorter() as f64;
        let position = |index: usize, count: usize| (2.0 * index as f64 + 1.0 - count as f64) / twice;
        let mut grid = Grid::filled(self.width, self.height, 0.0);
        grid.par_chunks_exact_mut(self.width).enumerate().for_each(|(y, row)| {
            let v = position(y, self.height);
            for (x, cell) in row.iter_mut().enumerate() {
                *cell = value(position(x, self.width), v) as f32;
            }
        });
        grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_positions_are_symmetric_and_inset_half_a_cell() {
        for frame in [MapFrame::new(50, 30), MapFrame::new(31, 64), MapFrame::new(1, 1)] {
            let (u, v) = (frame.sample(|u, _| u), frame.sample(|_, v| v));
            for y in 0..frame.height {
                for x in 0..frame.width {
                    assert_eq!(u.at(x, y), -u.at(frame.width - 1 - x, y));
                    assert_eq!(v.at(x, y), -v.at(x, frame.height - 1 - y));
                }
            }
            let (half_width, _) = frame.half_extent();
            let half_cell = 0.5 / frame.shorter() as f64;
            assert!((f64::from(u.at(frame.width - 1, 0)) - (half_width - half_cell)).abs() < 1e-6);
        }
    }
}
