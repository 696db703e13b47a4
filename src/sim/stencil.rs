//! Passes over the map in which a cell looks at its neighbours: bands of rows in parallel, and windows of padded rows.
//!
//! A pass reads what the last one left and writes elsewhere or only its own cell, so its result depends neither on the
//! number of threads nor on the order of the bands.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    cells::Cells,
    terrain::{Edge, Terrain},
};

/// Rows in a band: many enough that few are made ready twice, few enough that all threads have work to the end.
const BAND: usize = 32;

/// Runs `work` on bands of rows, in parallel, and returns what the bands return, from the first to the last.
///
/// Each of `written` is a layer and the number of its values that belong to a row of cells; a band gets its part of every
/// layer. What is left over after the last row goes to the last band.
pub fn for_bands<'a, const LAYERS: usize, T: Send>(
    rows: usize,
    written: [(&'a mut [f32], usize); LAYERS],
    work: impl Fn(Range<usize>, [&'a mut [f32]; LAYERS]) -> T + Sync,
) -> Vec<T> {
    let mut rest = written;
    let mut bands = Vec::with_capacity(rows.div_ceil(BAND));
    for first in (0..rows).step_by(BAND) {
        let last = (first + BAND).min(rows);
        let part = rest.each_mut().map(|(layer, stride)| {
            let whole = std::mem::take(layer);
            let count = if last == rows { whole.len() } else { (last - first) * *stride };
            let (part, left) = whole.split_at_mut(count);
            *layer = left;
            part
        });
        bands.push((first..last, part));
    }
    bands.into_par_iter().map(|(range, part)| work(range, part)).collect()
}

/// The row of cells that lies at `y`, which may be one beyond the map, or `None` if beyond the map lies something else.
fn row_at(y: isize, rows: usize, edge: Edge) -> Option<usize> {
    match (usize::try_from(y).ok().filter(|&y| y < rows), edge) {
        (Some(y), _) => Some(y),
        (None, Edge::Wall) => Some(y.clamp(0, rows as isize - 1) as usize),
        (None, Edge::Wrap) => Some(y.rem_euclid(rows as isize) as usize),
        (None, Edge::Open) => None,
    }
}

/// The border of a map, as the windows see it.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What lies beyond.
    pub edge: Edge,
}

impl Border {
    /// The border of a terrain.
    pub fn of(terrain: &Terrain) -> Self {
        Self { width: terrain.width(), height: terrain.height(), edge: terrain.edge }
    }
}

/// Quantities of the cells of a map, computed row by row. The methods are inlined into the pass, so that they use its vector
/// unit.
pub trait Quantities<const Q: usize> {
    /// Computes a row of the map, each quantity into a slice as long as the row.
    fn row<V: Cells>(&self, y: usize, out: [&mut [f32]; Q]);

    /// What lies beyond an open border beside the cell of this index.
    fn beyond(&self, index: usize) -> [f32; Q];
}

/// Several quantities of three rows, the one that is worked on, the one above and the one below, with a cell beyond either
/// end: cell x stands at x + 1.
pub struct Window<const Q: usize> {
    rows: [[Vec<f32>; Q]; 3],
    border: Border,
    /// The lowest row that is filled.
    lowest: isize,
}

impl<const Q: usize> Window<Q> {
    /// A window that will first stand at row `first`.
    pub fn new(border: Border, first: usize) -> Self {
        let empty = || std::array::from_fn(|_| vec![0.0; border.width + 2]);
        Self { rows: [empty(), empty(), empty()], border, lowest: first as isize - 2 }
    }

    /// Goes down until the middle row is `y`.
    #[inline(always)]
    pub fn go_to<V: Cells>(&mut self, y: usize, quantities: &impl Quantities<Q>) {
        while self.lowest < y as isize + 1 {
            self.lowest += 1;
            self.rows.rotate_left(1);
            fill::<V, Q>(&mut self.rows[2], self.lowest, self.border, quantities);
        }
    }

    /// One quantity of the rows above, in the middle and below, each one cell longer at both ends.
    #[inline(always)]
    pub fn quantity(&self, quantity: usize) -> [&[f32]; 3] {
        self.rows.each_ref().map(|row| &row[quantity][..self.border.width + 2])
    }
}

#[inline(always)]
fn fill<V: Cells, const Q: usize>(row: &mut [Vec<f32>; Q], y: isize, border: Border, quantities: &impl Quantities<Q>) {
    let Border { width, height, edge } = border;
    let mut set = |x: usize, values: [f32; Q]| {
        for (quantity, value) in row.iter_mut().zip(values) {
            quantity[x] = value;
        }
    };
    let Some(y) = row_at(y, height, edge) else {
        let nearest = if y < 0 { 0 } else { height - 1 } * width;
        for x in 0..width + 2 {
            set(x, quantities.beyond(nearest + x.clamp(1, width) - 1));
        }
        return;
    };
    if edge == Edge::Open {
        set(0, quantities.beyond(y * width));
        set(width + 1, quantities.beyond(y * width + width - 1));
    }
    quantities.row::<V>(y, row.each_mut().map(|quantity| &mut quantity[1..=width]));
    for quantity in row {
        match edge {
            Edge::Open => {}
            Edge::Wall => (quantity[0], quantity[width + 1]) = (quantity[1], quantity[width]),
            Edge::Wrap => (quantity[0], quantity[width + 1]) = (quantity[width], quantity[1]),
        }
    }
}

/// The sum of a row's values, in the same order on every machine: thirty-two sums side by side, then pair by pair.
#[inline(always)]
pub fn row_sum<V: Cells>(values: &[f32]) -> f64 {
    const SUMS: usize = 32;
    let mut sums = [V::all(0.0); SUMS];
    let whole = values.len() / SUMS * SUMS;
    for first in (0..whole).step_by(SUMS) {
        for (part, sum) in sums.iter_mut().take(SUMS / V::COUNT).enumerate() {
            *sum = *sum + V::load(values, first + part * V::COUNT);
        }
    }
    let mut lanes = [0.0; SUMS];
    for (part, sum) in sums.into_iter().take(SUMS / V::COUNT).enumerate() {
        sum.store(&mut lanes, part * V::COUNT);
    }
    // One after the other they would wait for each other.
    let mut lanes = lanes.map(f64::from);
    for half in [16, 8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0] + values[whole..].iter().map(|&value| f64::from(value)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbered;

    impl Quantities<1> for Numbered {
        fn row<V: Cells>(&self, y: usize, [row]: [&mut [f32]; 1]) {
            for (x, value) in row.iter_mut().enumerate() {
                *value = (10 * y + x) as f32;
            }
        }

        fn beyond(&self, index: usize) -> [f32; 1] {
            [100.0 + index as f32]
        }
    }

    fn window_at(y: usize, edge: Edge) -> [Vec<f32>; 3] {
        let mut window = Window::new(Border { width: 3, height: 2, edge }, 0);
        (0..=y).for_each(|y| window.go_to::<f32>(y, &Numbered));
        window.quantity(0).map(<[f32]>::to_vec)
    }

    #[test]
    fn beyond_the_border_lies_what_the_edge_says() {
        assert_eq!(window_at(0, Edge::Wall)[0], [0.0, 0.0, 1.0, 2.0, 2.0]);
        assert_eq!(window_at(0, Edge::Wrap)[0], [12.0, 10.0, 11.0, 12.0, 10.0]);
        assert_eq!(window_at(0, Edge::Open)[0], [100.0, 100.0, 101.0, 102.0, 102.0]);
        assert_eq!(window_at(1, Edge::Open)[1], [103.0, 10.0, 11.0, 12.0, 105.0]);
        assert_eq!(window_at(1, Edge::Wrap)[2], [2.0, 0.0, 1.0, 2.0, 0.0]);
    }

    #[test]
    fn bands_cover_every_row_once_and_the_last_takes_what_is_left() {
        let (mut cells, mut faces) = (vec![0.0; 70 * 4], vec![0.0; 71 * 4]);
        let ranges = for_bands(70, [(&mut cells, 4), (&mut faces, 4)], |rows, [cells, faces]| {
            cells.iter_mut().chain(faces.iter_mut()).for_each(|value| *value += 1.0);
            (rows.len(), cells.len() / 4, faces.len() / 4)
        });
        assert_eq!(ranges, [(32, 32, 32), (32, 32, 32), (6, 6, 7)]);
        assert!(cells.iter().chain(&faces).all(|&value| value == 1.0));
    }
}
