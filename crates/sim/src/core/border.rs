//! Border of a map, and neighbours of its cells: the single table of steps to them.

use super::terrain::{Edge, Terrain};

/// Steps to the eight neighbours, as columns and rows, in circular order from the next column: even indices are cardinal, odd ones
/// diagonal, and `k ^ 4` is the opposite step.
pub const STEPS: [[isize; 2]; 8] = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]];

/// Indices of the cardinal steps (left, right, above, below) and of the diagonal ones, each next to its opposite.
pub const OPPOSITES: [[u8; 4]; 2] = [[4, 0, 6, 2], [5, 1, 7, 3]];

/// Distances to cardinal and diagonal neighbours, in cells, indexed by the lowest bit of the index of a step.
pub const DISTANCES: [f64; 2] = [1.0, std::f64::consts::SQRT_2];

/// Size and boundary condition of a map.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Boundary condition.
    pub edge: Edge,
}

impl Border {
    /// Returns the border of a terrain.
    pub fn of(terrain: &Terrain) -> Self {
        Self { width: terrain.width(), height: terrain.height(), edge: terrain.edge }
    }

    /// Wraps a row beyond a periodic border onto the map.
    #[inline(always)]
    pub fn on_map(&self, y: isize) -> usize {
        Edge::Wrap.nearest(y, self.height)
    }

    /// Returns the cell at an offset of columns to the right and rows down, or `None` beyond the border.
    pub fn offset_cell(&self, cell: usize, offset: [isize; 2]) -> Option<usize> {
        self.index([cell % self.width, cell / self.width], offset)
    }

    #[inline(always)]
    fn index(&self, [x, y]: [usize; 2], [right, down]: [isize; 2]) -> Option<usize> {
        let column = self.edge.index(x as isize + right, self.width)?;
        let row = self.edge.index(y as isize + down, self.height)?;
        Some(row * self.width + column)
    }

    /// Returns the neighbours of a cell, each with the index of the step to it.
    #[inline]
    pub fn neighbours(self, cell: usize) -> impl Iterator<Item = (u8, usize)> {
        let place = [cell % self.width, cell / self.width];
        // On a periodic map one cell wide, a cell is not its own neighbour.
        let neighbour = move |step: u8| self.index(place, STEPS[usize::from(step)]).filter(|&other| other != cell);
        (0..8).filter_map(move |step| Some((step, neighbour(step)?)))
    }

    /// Returns the cells across the faces of a cell: left, right, above, below. On a periodic map one cell wide, it is the cell
    /// itself.
    #[inline]
    pub fn across_faces(&self, cell: usize) -> [Option<usize>; 4] {
        let place = [cell % self.width, cell / self.width];
        OPPOSITES[0].map(|step| self.index(place, STEPS[usize::from(step)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_form_opposite_pairs_with_matching_distances() {
        for (number, [right, down]) in STEPS.into_iter().enumerate() {
            assert_eq!(STEPS[number ^ 4], [-right, -down]);
            assert_eq!(((right * right + down * down) as f64).sqrt(), DISTANCES[number & 1]);
        }
        for (kind, steps) in OPPOSITES.into_iter().enumerate() {
            assert!(steps.iter().all(|&step| usize::from(step) & 1 == kind));
            assert!(steps.chunks(2).all(|pair| pair[0] ^ 4 == pair[1]));
        }
    }

    #[test]
    fn neighbour_count_depends_on_edge_mode() {
        let count = |edge, width, height, cell| Border { width, height, edge }.neighbours(cell).count();
        assert_eq!([Edge::Open, Edge::Wall, Edge::Wrap].map(|edge| count(edge, 5, 4, 0)), [3, 3, 8]);
        assert_eq!([Edge::Open, Edge::Wall, Edge::Wrap].map(|edge| count(edge, 5, 4, 6)), [8, 8, 8]);
        assert_eq!((count(Edge::Wrap, 1, 1, 0), count(Edge::Wrap, 1, 5, 2)), (0, 6));
        let border = Border { width: 5, height: 4, edge: Edge::Wrap };
        assert_eq!(border.across_faces(0), [Some(4), Some(1), Some(15), Some(5)]);
    }
}
