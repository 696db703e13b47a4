//! Stencil passes over the map: windows of padded rows over a strip.

use super::{
    cells::{Cells, MAX_LANES},
    strip::Strip,
};
use crate::core::{aligned::AlignedArray, border::Border, terrain::Edge};

/// Quantities of the cells of a map, computed row by row. The methods are inlined into the pass, so that they use its vector unit.
pub trait RowQuantities<const Q: usize> {
    /// Computes a row of the map, each quantity into a slice as long as the row. In a window over a strip, rows beyond a periodic
    /// border keep their own indices, below 0 or from the height on.
    fn row<V: Cells>(&self, y: isize, out: [&mut [f32]; Q]);

    /// Returns the values beyond an open border next to the cell of this index.
    fn beyond(&self, index: usize) -> [f32; Q];
}

/// Unused cells before the one beyond the border, which align the first cell of a row.
const PAD: usize = MAX_LANES - 1;

/// Ring buffer of rows of several quantities, with a cell beyond either end: cell x is at x + 1.
pub struct Ring<const Q: usize, const ROWS: usize> {
    rows: [[AlignedArray; Q]; ROWS],
    width: usize,
    /// Index of the newest row.
    last: isize,
}

impl<const Q: usize, const ROWS: usize> Ring<Q, ROWS> {
    /// Creates a ring whose first row will be `first`.
    pub fn new(width: usize, first: isize) -> Self {
        let empty = || std::array::from_fn(|_| AlignedArray::filled(PAD + width + 2, 0.0));
        Self { rows: std::array::from_fn(|_| empty()), width, last: first - 1 }
    }

    /// Replaces the oldest row by a new one, and returns its cells to be written.
    #[inline(always)]
    pub fn push(&mut self) -> [&mut [f32]; Q] {
        self.last += 1;
        self.rows.rotate_left(1);
        // The compiler does not inline `map` of arrays here, and a row of a small map is short.
        let mut cells: [&mut [f32]; Q] = std::array::from_fn(|_| Default::default());
        for (cells, row) in cells.iter_mut().zip(&mut self.rows[ROWS - 1]) {
            *cells = row.part_mut(PAD + 1, self.width);
        }
        cells
    }

    /// Sets the cells beyond the ends of the newest row, to `ends` at an open border.
    #[inline(always)]
    pub fn close(&mut self, edge: Edge, ends: [[f32; Q]; 2]) {
        let (width, last) = (self.width, self.width + 1);
        for (quantity, row) in self.rows[ROWS - 1].iter_mut().enumerate() {
            let row = row.part_mut(PAD, width + 2);
            (row[0], row[last]) = match edge {
                Edge::Open => (ends[0][quantity], ends[1][quantity]),
                _ => (row[1 + edge.nearest(-1, width)], row[1 + edge.nearest(width as isize, width)]),
            };
        }
    }

    /// Equivalent of [`Self::close`] for a row of faces between cells, which has one more face than cells. A periodic border has
    /// the same face at both ends; other borders repeat the last face.
    #[inline(always)]
    pub fn close_faces(&mut self, edge: Edge) {
        let faces = self.width;
        for row in &mut self.rows[ROWS - 1] {
            let row = row.part_mut(PAD, faces + 2);
            (row[0], row[faces + 1]) = if edge == Edge::Wrap { (row[faces - 1], row[2]) } else { (row[1], row[faces]) };
        }
    }

    /// Returns the index of the newest row.
    #[inline(always)]
    pub fn last(&self) -> isize {
        self.last
    }

    /// Returns one quantity of a row in the ring, with an extra cell at both ends.
    #[inline(always)]
    pub fn row(&self, quantity: usize, y: isize) -> &[f32] {
        self.rows[(ROWS as isize - 1 - (self.last - y)) as usize][quantity].part(PAD, self.width + 2)
    }

    /// Returns one quantity of the rows above, here and below.
    #[inline(always)]
    pub fn around(&self, quantity: usize, y: isize) -> [&[f32]; 3] {
        [self.row(quantity, y - 1), self.row(quantity, y), self.row(quantity, y + 1)]
    }

    /// Equivalent of [`Self::around`] for a ring with rows of the map only: a wall repeats the row, and an open border has
    /// `beyond`.
    #[inline(always)]
    pub fn within<'a>(&'a self, quantity: usize, y: isize, border: Border, beyond: &'a [f32]) -> [&'a [f32]; 3] {
        [y - 1, y, y + 1].map(|near| match border.edge {
            Edge::Wrap => self.row(quantity, near),
            _ if (0..border.height as isize).contains(&near) => self.row(quantity, near),
            Edge::Wall => self.row(quantity, y),
            Edge::Open => beyond,
        })
    }
}

/// Window of rows of several quantities, computed on demand, also beyond the border.
pub struct StencilWindow<const Q: usize, const ROWS: usize = 3> {
    ring: Ring<Q, ROWS>,
    border: Border,
}

impl<const Q: usize, const ROWS: usize> StencilWindow<Q, ROWS> {
    /// Creates a window over a strip that starts `above` rows above it, or with the row beyond the border.
    pub fn over<const LAYERS: usize>(strip: &Strip<'_, LAYERS>, above: isize) -> Self {
        let border = strip.border();
        let first = strip.rows().start - above;
        let first = if border.edge == Edge::Wrap { first } else { first.max(-1) };
        Self { ring: Ring::new(border.width, first), border }
    }

    /// Advances until the newest row is `y`, or the one beyond the border.
    #[inline(always)]
    pub fn fill_to<V: Cells>(&mut self, y: isize, quantities: &impl RowQuantities<Q>) {
        let Border { width, height, edge } = self.border;
        let last = if edge == Edge::Wrap { y } else { y.min(height as isize) };
        while self.ring.last < last {
            let y = self.ring.last + 1;
            let mut row = self.ring.push();
            let inside = edge == Edge::Wrap || (0..height as isize).contains(&y);
            if edge == Edge::Open && !inside {
                let nearest = if y < 0 { 0 } else { height - 1 } * width;
                for x in 0..width {
                    for (quantity, value) in row.iter_mut().zip(quantities.beyond(nearest + x)) {
                        quantity[x] = value;
                    }
                }
                // Corners repeat the cell beyond the last one.
                self.ring.close(Edge::Wall, [[0.0; Q]; 2]);
                continue;
            }
            let y = if inside { y } else { edge.nearest(y, height) as isize };
            quantities.row::<V>(y, row);
            let ends = match edge {
                Edge::Open => {
                    let first = y as usize * width;
                    [quantities.beyond(first), quantities.beyond(first + width - 1)]
                }
                _ => [[0.0; Q]; 2],
            };
            self.ring.close(edge, ends);
        }
    }

    /// Returns one quantity of a row in the window.
    #[inline(always)]
    pub fn row(&self, quantity: usize, y: isize) -> &[f32] {
        self.ring.row(quantity, y)
    }

    /// Returns one quantity of the rows above, here and below.
    #[inline(always)]
    pub fn around(&self, quantity: usize, y: isize) -> [&[f32]; 3] {
        self.ring.around(quantity, y)
    }
}

/// Returns a row shifted by one cell, each as wide as the map: the neighbours to the left, the cells, and the neighbours to the
/// right.
#[inline(always)]
pub fn sides(padded: &[f32], width: usize) -> [&[f32]; 3] {
    [&padded[..width], &padded[1..][..width], &padded[2..][..width]]
}

/// Returns the cells on both sides of each face, from the left end of a padded row on.
#[inline(always)]
pub fn across(padded: &[f32], faces: usize) -> [&[f32]; 2] {
    [&padded[..faces], &padded[1..][..faces]]
}

/// Rows above, here and below, each as its [`sides`].
pub type Neighbourhood<'a> = [[&'a [f32]; 3]; 3];

/// Returns the 3 × 3 neighbourhoods of the cells of a row.
#[inline(always)]
pub fn nine<'a>([above, here, below]: [&'a [f32]; 3], width: usize) -> Neighbourhood<'a> {
    [sides(above, width), sides(here, width), sides(below, width)]
}

/// Sum over rows in thirty-two lanes, so that every machine adds in the same order: within a row in single precision, across rows
/// in double.
#[derive(Clone)]
#[repr(align(64))]
pub struct RowAccumulator {
    row: [f32; SUMS],
    rows: [f64; SUMS],
}

const SUMS: usize = 32;

impl Default for RowAccumulator {
    fn default() -> Self {
        Self { row: [0.0; SUMS], rows: [0.0; SUMS] }
    }
}

impl RowAccumulator {
    /// Adds the values of the cells from `x` on, which is a multiple of their number.
    #[inline(always)]
    pub fn add<V: Cells>(&mut self, x: usize, values: V) {
        let at = x & (SUMS - V::COUNT);
        (V::load(&self.row, at) + values).store(&mut self.row, at);
    }

    /// Ends a row, which is added if it counts, or discarded.
    #[inline(always)]
    pub fn end_row(&mut self, counts: bool) {
        if counts {
            for (rows, row) in self.rows.iter_mut().zip(self.row) {
                *rows += f64::from(row);
            }
        }
        self.row = [0.0; SUMS];
    }

    /// Returns the sum of all rows that count.
    pub fn total(&self) -> f64 {
        let mut lanes = self.rows;
        for half in [16, 8, 4, 2, 1] {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
        }
        lanes[0]
    }
}

/// Returns the sum of a row, added in the same order on every machine.
#[inline(always)]
pub fn row_sum<V: Cells>(values: &[f32]) -> f64 {
    let mut sums = [V::all(0.0); SUMS];
    let whole = values.len() / SUMS * SUMS;
    for first in (0..whole).step_by(SUMS) {
        for (part, sum) in sums.iter_mut().take(SUMS / V::COUNT).enumerate() {
            *sum = *sum + V::load(values, first + part * V::COUNT);
        }
    }
    let mut tally = RowAccumulator::default();
    for (part, sum) in sums.into_iter().take(SUMS / V::COUNT).enumerate() {
        tally.add(part * V::COUNT, sum);
    }
    tally.end_row(true);
    tally.total() + values[whole..].iter().map(|&value| f64::from(value)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::strip::for_strips;

    struct Numbered;

    impl RowQuantities<1> for Numbered {
        fn row<V: Cells>(&self, y: isize, [row]: [&mut [f32]; 1]) {
            for (x, value) in row.iter_mut().enumerate() {
                *value = (10 * y.rem_euclid(2) + x as isize) as f32;
            }
        }

        fn beyond(&self, index: usize) -> [f32; 1] {
            [100.0 + index as f32]
        }
    }

    fn window_at(y: isize, edge: Edge) -> [Vec<f32>; 3] {
        let border = Border { width: 3, height: 2, edge };
        let windows = for_strips(border, [(&mut [0.0; 6], 3)], 1, |strip| {
            let mut window: StencilWindow<1> = StencilWindow::over(&strip, 1);
            window.fill_to::<f32>(y + 1, &Numbered);
            window.around(0, y).map(<[f32]>::to_vec)
        });
        windows.into_iter().next().expect("there is a strip")
    }

    #[test]
    fn stencil_halo_follows_edge_mode() {
        assert_eq!(window_at(0, Edge::Wall)[0], [0.0, 0.0, 1.0, 2.0, 2.0]);
        assert_eq!(window_at(0, Edge::Wrap)[0], [12.0, 10.0, 11.0, 12.0, 10.0]);
        assert_eq!(window_at(0, Edge::Open)[0], [100.0, 100.0, 101.0, 102.0, 102.0]);
        assert_eq!(window_at(1, Edge::Open)[1], [103.0, 10.0, 11.0, 12.0, 105.0]);
        assert_eq!(window_at(1, Edge::Wrap)[2], [2.0, 0.0, 1.0, 2.0, 0.0]);
    }
}
