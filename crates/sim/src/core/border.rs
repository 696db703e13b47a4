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

    /// Returns the outermost cells, in order. A side that is one cell long is no border, and a periodic map has none.
    pub fn outermost(self) -> impl Iterator<Item = usize> {
        let Self { width, height, edge } = self;
        (0..height).filter(move |_| edge != Edge::Wrap).flat_map(move |y| {
            let whole = height > 1 && (y == 0 || y + 1 == height);
            let step = if whole { 1 } else { width.saturating_sub(1).max(1) };
            let ends = if whole || width > 1 { y * width..(y + 1) * width } else { 0..0 };
            ends.step_by(step)
        })
    }

    /// Returns `true` if water leaves an open map in this outermost cell: the steepest way down leads beyond the border, where the ground
    /// continues with the slope of the two cells within.
    pub fn flows_out(&self, cell: usize, ground: impl Fn(usize) -> f32) -> bool {
        let place = [cell % self.width, cell / self.width];
        let size = [self.width, self.height];
        let here = ground(cell);
        let (mut inside, mut outside) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (number, step) in STEPS.into_iter().enumerate() {
            if (0..2).any(|axis| step[axis] != 0 && size[axis] == 1) {
                continue;
            }
            let fall = |to: usize| f64::from(here) - f64::from(ground(to));
            let distance = DISTANCES[number & 1];
            if let Some(other) = self.index(place, step) {
                inside = inside.max(fall(other) / distance);
                continue;
            }
            let beyond = [0, 1].map(|axis| place[axis] as isize + step[axis]);
            let [last, behind] = self.last_two(beyond).map(|[x, y]| y * self.width + x);
            outside = outside.max((2.0 * fall(last) - fall(behind)) / distance);
        }
        outside >= inside
    }

    /// Returns the column and row of the cell nearest to a place, and those of the cell behind it. Beyond an open border, the ground
    /// continues with the slope of these two.
    #[inline]
    pub fn last_two(&self, beyond: [isize; 2]) -> [[usize; 2]; 2] {
        let size = [self.width, self.height];
        let last = [0, 1].map(|axis| Edge::Open.nearest(beyond[axis], size[axis]));
        let behind = [0, 1].map(|axis| Edge::Open.nearest(2 * last[axis] as isize - beyond[axis], size[axis]));
        [last, behind]
    }

    /// Returns the cells across the faces of a cell: left, right, above, below. On a periodic map one cell wide, it is the cell
    /// itself.
    #[inline]
    pub fn across_faces(&self, cell: usize) -> [Option<usize>; 4] {
        let place = [cell % self.width, cell / self.width];
        OPPOSITES[0].map(|step| self.index(place, STEPS[usize::from(step)]))
    }
}

/// Offsets of the eight neighbours, row by row.
pub const AROUND: [[isize; 2]; 8] = [STEPS[5], STEPS[6], STEPS[7], STEPS[4], STEPS[0], STEPS[3], STEPS[2], STEPS[1]];

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
    fn outermost_cells_are_beside_borders() {
        let outermost = |edge, width, height| Border { width, height, edge }.outermost().collect::<Vec<_>>();
        assert_eq!(outermost(Edge::Open, 4, 3), [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]);
        assert_eq!(outermost(Edge::Wall, 3, 1), [0, 2]);
        assert_eq!(outermost(Edge::Open, 1, 4), [0, 3]);
        assert_eq!((outermost(Edge::Open, 1, 1), outermost(Edge::Wrap, 4, 3)), (vec![], vec![]));
    }

    #[test]
    fn water_leaves_plane_on_downhill_sides() {
        let border = Border { width: 9, height: 9, edge: Edge::Open };
        for degrees in (0..360).step_by(15) {
            let (down, right) = f64::from(degrees).to_radians().sin_cos();
            let ground = |cell: usize| -(right * (cell % 9) as f64 + down * (cell / 9) as f64) as f32;
            for cell in border.outermost().filter(|cell| ![0, 8].contains(&(cell % 9)) || ![0, 8].contains(&(cell / 9)))
            {
                let outward = [(cell % 9 == 0, -right), (cell % 9 == 8, right), (cell < 9, -down), (cell >= 72, down)];
                let outward = outward.into_iter().find(|(beside, _)| *beside).map_or(0.0, |(_, fall)| fall);
                // Flow along a side leaves from 22.5° on, halfway to a diagonal.
                assert_eq!(border.flows_out(cell, ground), outward > 0.383, "{degrees}°, cell {cell}: {outward}");
            }
        }
        // A crest does not drain outwards, and level ground does.
        assert!(!border.flows_out(4, |cell| if cell < 9 { 5.0 } else { 1.0 }) && border.flows_out(4, |_| 5.0));
        let line = Border { width: 9, height: 1, ..border };
        assert_eq!([0, 8].map(|cell| line.flows_out(cell, |cell| cell as f32)), [true, false]);
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
