//! Flow routing: from every cell to one of its eight neighbours, out of depressions over their spill points, to the outlets of the
//! map.
//!
//! ```text
//! receiver of i = neighbour j of i with the largest (z_i − z_j)/d_ij > 0
//! d = 1 cardinal;  √2 diagonal, or 2 − r with r uniform      (ρ8, Fairfield & Leymarie 1991)
//! ```
//!
//! Plain D8 aligns valleys with 0, 45 and 90°; ρ8 redraws the lengths of diagonals each time, so that valleys take any direction on
//! average. On level ground, water flows to a neighbour with a lower random rank, which is also redrawn each time. A cell without
//! such a neighbour is a pit, the bottom of a depression. Depressions are joined to drained ground over the lowest saddle first, as
//! in Prim's spanning tree of the basin graph of Cordonnier, Bovy & Braun 2019 (Earth Surf. Dynam. 7, 549): the flow path from the
//! saddle to the pit is reversed, and ground below the saddle is a lake. Thus every cell drains.
//!
//! Outlets of an open map are the border cells where water leaves: those from which the steepest way down leads beyond the border, where
//! the ground continues with its slope, and those over which a depression spills. All other border cells drain to their neighbours, so
//! that rivers that reach the border wear it down, as in the interior. A walled map has its outlet in the lowest border cell, and a
//! periodic one in the lowest cell. A side that is one cell long is no border: a map of one row is a line with two ends.

mod basins;
mod depressions;
mod receivers;
#[cfg(test)]
mod tests;
mod trees;

use crate::core::{
    border::{Border, DISTANCES, STEPS},
    grid::Grid,
    terrain::{Edge, Terrain},
};

pub use self::{receivers::Diagonal, trees::UpstreamOrder};

/// Step of a cell without a receiver.
const NONE: u8 = 8;

/// Approximate number of cells per increment of work.
const PART: usize = 1 << 18;

/// Flow directions of a map.
///
/// They can be recomputed repeatedly, and keep their memory.
#[derive(Clone, Debug)]
pub struct Drainage {
    border: Border,
    /// Sea level; −∞ without a sea.
    sea: f32,
    /// Index of the step to the receiver, per cell.
    to: Vec<u8>,
    /// Steps to the donors, one bit each, per cell.
    from: Vec<u8>,
    /// Cells where water leaves the map, in order.
    outlets: Vec<u32>,
    /// Depression to which a cell drains, 0 for none; and the levels of the spill points.
    depression: Vec<u32>,
    levels: Vec<f32>,
    search: Search,
}

/// Progress of the flow routing, and its intermediate results.
#[derive(Clone, Debug, Default)]
struct Search {
    part: usize,
    /// Ends of the flow paths per strip of rows, and their depressions.
    ends: Vec<Vec<u32>>,
    depressions: Vec<Vec<u32>>,
    saddles: Vec<depressions::Saddle>,
}

impl Drainage {
    /// Creates empty flow directions for a map of this size.
    pub fn new(border: Border) -> Self {
        let count = border.width * border.height;
        Self {
            border,
            sea: f32::NEG_INFINITY,
            to: vec![NONE; count],
            from: vec![0; count],
            outlets: Vec::new(),
            depression: vec![0; count],
            levels: vec![f32::NEG_INFINITY],
            search: Search::default(),
        }
    }

    /// Computes the drainage of a terrain's ground with plain D8.
    pub fn of(terrain: &Terrain) -> Self {
        let mut drainage = Self::new(Border::of(terrain));
        drainage.find(&terrain.ground(), Diagonal::Plain);
        drainage
    }

    /// Sets the sea level, in metres. Cells at or below it will be outlets.
    pub fn set_sea(&mut self, level: f32) {
        self.sea = level;
    }

    /// Computes the flow directions on this ground, an elevation per cell.
    ///
    /// # Panics
    /// If the number of cells differs.
    pub fn find(&mut self, ground: &[f32], diagonal: Diagonal) {
        self.begin(ground);
        while !self.advance(ground, diagonal) {}
    }

    /// Begins to compute the flow directions on this ground: finds the outlets.
    ///
    /// # Panics
    /// If the number of cells differs.
    pub fn begin(&mut self, ground: &[f32]) {
        assert_eq!(ground.len(), self.to.len(), "the ground has as many cells as the map");
        self.find_outlets(ground);
        self.search = Search::default();
    }

    /// Continues the computation on the same ground for some rows. Returns `true` when it is complete.
    pub fn advance(&mut self, ground: &[f32], diagonal: Diagonal) -> bool {
        let Border { width, height, .. } = self.border;
        let in_part = (PART / width.max(1) / basins::ROWS).max(1) * basins::ROWS;
        let parts = height.div_ceil(in_part).max(1);
        let (phase, part) = (self.search.part / parts, self.search.part % parts);
        let rows = part * in_part..((part + 1) * in_part).min(height);
        self.search.part += 1;
        match phase {
            0 => {
                receivers::find(self.border, rows.clone(), ground, diagonal, &mut self.to);
                let before = |row: usize| self.outlets.partition_point(|&outlet| (outlet as usize) < row * width);
                for &outlet in &self.outlets[before(rows.start)..before(rows.end)] {
                    self.to[outlet as usize] = NONE;
                }
            }
            1 => receivers::find_donors(self.border, rows, &self.to, &mut self.from),
            2 => self.trace_rows(rows),
            3 => {
                if part == 0 {
                    self.number_depressions();
                }
                self.write_depressions(rows);
            }
            _ if self.levels.len() == 1 => return true,
            4 => self.search.saddles.extend(depressions::find_saddles(
                self.border,
                rows,
                ground,
                &self.depression,
                diagonal,
            )),
            _ => {
                self.join_depressions(ground);
                return true;
            }
        }
        false
    }

    /// Finds the outlets only, without those over which depressions spill.
    pub fn find_outlets(&mut self, ground: &[f32]) {
        let border = self.border;
        self.outlets.clear();
        let lowest = |cells: &mut dyn Iterator<Item = usize>| {
            cells.min_by(|&a, &b| ground[a].total_cmp(&ground[b]).then(a.cmp(&b))).map(|cell| cell as u32)
        };
        let mut on_border = border.outermost().peekable();
        match border.edge {
            Edge::Open if on_border.peek().is_some() => self
                .outlets
                .extend(on_border.filter(|&cell| border.flows_out(cell, |cell| ground[cell])).map(|cell| cell as u32)),
            Edge::Wall if on_border.peek().is_some() => self.outlets.extend(lowest(&mut on_border)),
            _ => self.outlets.extend(lowest(&mut (0..ground.len()))),
        }
        let dry = self.outlets.len();
        let sunken = |cell: &u32| ground[*cell as usize] <= self.sea;
        self.outlets.extend((0..ground.len() as u32).filter(sunken));
        if self.outlets.len() > dry {
            self.outlets.sort_unstable();
            self.outlets.dedup();
        }
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// Returns `true` if the map has no cells.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns the border of the map.
    pub fn border(&self) -> Border {
        self.border
    }

    /// Returns the cells where water leaves the map.
    pub fn outlets(&self) -> &[u32] {
        &self.outlets
    }

    /// Returns the cell that a step leads to, which must not leave the map.
    #[inline(always)]
    fn step(&self, cell: usize, step: u8) -> usize {
        step_from(self.border, cell, step)
    }

    /// Returns the receiver of a cell, or `None` at an outlet.
    #[inline(always)]
    pub fn receiver(&self, cell: usize) -> Option<usize> {
        (self.to[cell] != NONE).then(|| self.step(cell, self.to[cell]))
    }

    /// Returns the distance to the receiver, in cells.
    #[inline(always)]
    pub fn distance(&self, cell: usize) -> f64 {
        DISTANCES[usize::from(self.to[cell] & 1)]
    }

    /// Returns the donors of a cell.
    pub fn donors(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let from = self.from[cell];
        (0..8).filter(move |step| from >> step & 1 == 1).map(move |step| self.step(cell, step))
    }

    /// Returns the level of the lake over a cell, which is that of the spill point of its depression, or `None` if the cell is in
    /// no depression or above that level.
    #[inline(always)]
    pub fn lake(&self, cell: usize, ground: f32) -> Option<f32> {
        let level = self.levels[self.depression[cell] as usize];
        (ground < level).then_some(level)
    }

    /// Returns the number of the depression to which a cell drains, 0 for none.
    pub fn depression(&self, cell: usize) -> usize {
        self.depression[cell] as usize
    }

    /// Returns `true` if any neighbour of a cell is lower on this ground.
    pub fn has_lower_neighbour(&self, cell: usize, ground: &[f32]) -> bool {
        self.border.neighbours(cell).any(|(_, other)| ground[other] < ground[cell])
    }

    /// Returns the depth of water in the depressions of this ground, in metres.
    pub fn lakes(&self, ground: &Grid) -> Grid {
        let depth = |(cell, &ground): (usize, &f32)| self.lake(cell, ground).map_or(0.0, |level| level - ground);
        Grid::from_values(ground.width(), ground.height(), ground.iter().enumerate().map(depth))
    }

    /// Returns the flow accumulation: the sum of `rain` over each cell and all cells upstream of it.
    pub fn areas(&self, rain: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut areas: Vec<f64> = (0..self.len()).map(rain).collect();
        for &(cell, receiver) in self.order().links().iter().rev() {
            areas[receiver as usize] += areas[cell as usize];
        }
        areas
    }
}

/// Returns the cell that a step leads to, which must not leave a map that is not periodic.
#[inline(always)]
fn step_from(border: Border, cell: usize, step: u8) -> usize {
    let [dx, dy] = STEPS[usize::from(step)];
    if border.edge == Edge::Wrap {
        let (x, y) = ((cell % border.width) as isize + dx, (cell / border.width) as isize + dy);
        border.on_map(y) * border.width + Edge::Wrap.nearest(x, border.width)
    } else {
        (cell as isize + dy * border.width as isize + dx) as usize
    }
}
