//! Row-by-row resampling of a map, so that a large one need not be held in memory.

use std::{collections::VecDeque, ops::Range};

use super::grid::Grid;

/// Resampler of a map whose rows arrive one by one: bilinear along a side that grows, area-weighted mean along one that shrinks. A
/// cell is an area, so the extent of the map is preserved.
///
/// It holds the result, and those source rows that the next result row depends on, at the width of the result.
pub struct Resampler {
    columns: Taps,
    rows: Side,
    /// Last rows, at the width of the result, and the number of rows received.
    last: VecDeque<Vec<f32>>,
    come: usize,
    /// Sums of the row in progress.
    sums: Vec<f64>,
    made: Grid,
    /// Number of finished rows.
    count: usize,
}

impl Resampler {
    /// Creates a resampler from one size to another, each (columns, rows).
    pub fn new(from: (usize, usize), to: (usize, usize)) -> Self {
        Self {
            columns: Taps::new(Side { from: from.0, to: to.0 }),
            rows: Side { from: from.1, to: to.1 },
            last: VecDeque::new(),
            come: 0,
            sums: vec![0.0; to.0],
            made: Grid::filled(to.0, to.1, 0.0),
            count: 0,
        }
    }

    /// Returns an upper bound of its memory use, in bytes.
    pub fn bytes(from: (usize, usize), to: (usize, usize)) -> u64 {
        let rows = to.1 + from.1.div_ceil(to.1.max(1)) + 2;
        4 * (to.0 * rows) as u64 + 8 * (from.0 + 5 * to.0) as u64
    }

    /// Returns the number of rows received.
    pub fn rows_received(&self) -> usize {
        self.come
    }

    /// Adds the next row.
    ///
    /// # Panics
    /// If its width differs from that of the map.
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.columns.side.from, "a row must be as wide as the map");
        self.last.push_back(self.columns.resampled(row));
        self.come += 1;
        while self.count < self.rows.to && self.rows.covered(self.count).end <= self.come {
            self.make(self.count);
            self.count += 1;
        }
        let first = self.rows.covered(self.count).start;
        while self.come - self.last.len() < first && self.last.pop_front().is_some() {}
    }

    /// Returns the resampled map.
    ///
    /// # Panics
    /// If rows are missing.
    pub fn finish(self) -> Grid {
        assert_eq!(self.count, self.rows.to, "rows are missing");
        self.made
    }

    fn make(&mut self, index: usize) {
        let covered = self.rows.covered(index);
        let before = self.come - self.last.len();
        for cell in covered.clone() {
            let weight = self.rows.weight(index, cell);
            let row = self.sums.iter_mut().zip(&self.last[cell - before]);
            if cell == covered.start {
                row.for_each(|(sum, &value)| *sum = weight * f64::from(value));
            } else {
                row.for_each(|(sum, &value)| *sum += weight * f64::from(value));
            }
        }
        let scale = self.rows.scale();
        let width = self.columns.side.to;
        let row = &mut self.made[index * width..][..width];
        row.iter_mut().zip(&self.sums).for_each(|(cell, sum)| *cell = (sum / scale) as f32);
    }
}

/// Returns the number of new cells whose centres lie in the first `part` old ones, on a side resampled from `from` to `to` cells.
pub fn cells_within(part: usize, from: usize, to: usize) -> usize {
    (2 * part * to).div_ceil(from) / 2
}

/// Side resampled from `from` to `to` cells.
#[derive(Clone, Copy)]
struct Side {
    from: usize,
    to: usize,
}

impl Side {
    /// Returns the number of old cells per new one.
    fn step(self) -> f64 {
        self.from as f64 / self.to as f64
    }

    /// Returns the sum of the weights of a new cell.
    fn scale(self) -> f64 {
        self.step().max(1.0)
    }

    /// Returns the position of the centre of a new cell between the centres of the old ones.
    fn position(self, index: usize) -> f64 {
        ((index as f64 + 0.5) * self.step() - 0.5).clamp(0.0, (self.from - 1) as f64)
    }

    /// Returns the old cells that contribute to a new one.
    fn covered(self, index: usize) -> Range<usize> {
        if self.from == self.to {
            index..index + 1
        } else if self.from < self.to {
            let first = self.position(index) as usize;
            first..(first + 2).min(self.from)
        } else {
            let (start, end) = (index as f64 * self.step(), (index + 1) as f64 * self.step());
            start as usize..(end.ceil() as usize).min(self.from)
        }
    }

    /// Returns the weight of an old cell in a new one.
    fn weight(self, index: usize, cell: usize) -> f64 {
        if self.from == self.to {
            1.0
        } else if self.from < self.to {
            let position = self.position(index);
            let part = position - position.floor();
            if cell == position as usize { 1.0 - part } else { part }
        } else {
            let (start, end) = (index as f64 * self.step(), (index + 1) as f64 * self.step());
            (end.min((cell + 1) as f64) - start.max(cell as f64)).max(0.0)
        }
    }
}

/// Contributions to the cells of a line, computed once for all lines.
struct Taps {
    side: Side,
    /// First old cell of each new one, and the end of its weights.
    cells: Vec<(usize, usize)>,
    weights: Vec<f64>,
}

impl Taps {
    fn new(side: Side) -> Self {
        let (mut cells, mut weights) = (Vec::with_capacity(side.to), Vec::new());
        for index in 0..side.to {
            let covered = side.covered(index);
            weights.extend(covered.clone().map(|cell| side.weight(index, cell)));
            cells.push((covered.start, weights.len()));
        }
        Self { side, cells, weights }
    }

    fn resampled(&self, line: &[f32]) -> Vec<f32> {
        if self.side.from == self.side.to {
            return line.to_vec();
        }
        let (scale, mut begin) = (self.side.scale(), 0);
        let value = |&(first, end): &(usize, usize)| {
            let weights = &self.weights[std::mem::replace(&mut begin, end)..end];
            let sum: f64 = weights.iter().zip(&line[first..]).map(|(weight, &value)| weight * f64::from(value)).sum();
            (sum / scale) as f32
        };
        self.cells.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scalar reference implementation: each cell by its definition.
    fn resample_reference(map: &Grid, width: usize, height: usize) -> Grid {
        let along = |side: Side, index, old: &dyn Fn(usize) -> f32| {
            let sum: f64 = side.covered(index).map(|cell| side.weight(index, cell) * f64::from(old(cell))).sum();
            if side.from == side.to { old(index) } else { (sum / side.scale()) as f32 }
        };
        let (columns, rows) = (Side { from: map.width(), to: width }, Side { from: map.height(), to: height });
        Grid::from_fn(width, height, |x, y| along(rows, y, &|row| along(columns, x, &|column| map.at(column, row))))
    }

    #[test]
    fn row_wise_resampling_matches_full_grid_bitwise() {
        let map = Grid::from_fn(97, 61, |x, y| (x as f32 * 1.7 + y as f32 * 0.3).sin() * 1e4);
        for (width, height) in [(97, 61), (32, 32), (97, 32), (200, 61), (200, 7), (1, 1), (33, 300), (98, 60)] {
            let mut rows = Resampler::new((97, 61), (width, height));
            map.chunks(97).for_each(|row| rows.push(row));
            let (rows, whole) = (rows.finish(), resample_reference(&map, width, height));
            assert!(rows.iter().zip(whole.iter()).all(|(a, b)| a.to_bits() == b.to_bits()), "{width} × {height}");
        }
    }

    #[test]
    fn cells_within_counts_cell_centres() {
        for (part, from, to) in
            [(344, 403, 513), (344, 403, 403), (7, 7, 3), (1, 4, 2), (3, 4, 2), (3, 8, 400), (5, 9, 1)]
        {
            let within = |index: &usize| (*index as f64 + 0.5) * from as f64 / (to as f64) < part as f64;
            assert_eq!(cells_within(part, from, to), (0..to).filter(within).count(), "{part} of {from} as {to}");
        }
    }

    #[test]
    fn resampler_memory_stays_bounded_for_large_maps() {
        let (from, to) = ((64, 8192), (64, 32));
        let mut rows = Resampler::new(from, to);
        let mut most = 0;
        for _ in 0..from.1 {
            rows.push(&[1.0; 64]);
            most = most.max(rows.last.iter().map(Vec::len).sum::<usize>());
        }
        assert!(most <= 64 * 258 && 4 * (most + 64 * 32) as u64 <= Resampler::bytes(from, to), "{most} cells");
        assert!(rows.finish().iter().all(|&value| value == 1.0));
    }
}
