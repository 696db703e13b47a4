//! Where water runs: from every cell to one of its eight neighbours, out of hollows over their lowest pass, to the outlets of the
//! map.
//!
//! ```text
//! receiver of i = the j around i with the largest (z_i − z_j)/d_ij > 0
//! d = 1 beside;  √2 across a corner, or 2 − r with r uniform      (ρ8, Fairfield & Leymarie 1991)
//! ```
//!
//! Plain D8 leaves valleys along 0, 45 and 90°; ρ8 measures diagonals anew each time, so that valleys take any direction on the
//! mean. On level ground water runs to a neighbour of a lower lot, drawn anew each time too. A cell that has none such either is the
//! bottom of a hollow. Hollows are joined to what drains already over the lowest pass first, Prim's spanning tree over the graph of
//! basins of Cordonnier, Bovy & Braun 2019 (Earth Surf. Dynam. 7, 549): the way from the pass to the bottom is turned round, and
//! what lies below the pass is a lake. So every cell drains.
//!
//! Outlets are the border cells of an open map, the lowest border cell of a walled one, and the lowest cell of one that goes
//! round. A side that is one cell long is no border: a map of one row is a line with two ends.

mod basins;
mod hollows;
mod receivers;
#[cfg(test)]
mod tests;
mod trees;

use crate::core::{
    border::{Border, DISTANCES, STEPS},
    grid::Grid,
    terrain::{Edge, Terrain},
};

pub use self::{receivers::Diagonal, trees::Order};

/// The step of a cell that gives its water to none.
const NONE: u8 = 8;

/// Cells that are worked on before others have their turn, about.
const PART: usize = 1 << 18;

/// Where the water of every cell of a map runs.
///
/// It can be filled again and again, and keeps its memory.
#[derive(Clone, Debug)]
pub struct Drainage {
    border: Border,
    /// Level of the sea; without one, −∞.
    sea: f32,
    /// Number of the step to the receiver, per cell.
    to: Vec<u8>,
    /// Steps to the donors, a bit each.
    from: Vec<u8>,
    /// Cells at which the water leaves the map, in order.
    outlets: Vec<u32>,
    /// The hollow in which a cell lies, 0 for none; and the level of its pass.
    hollow: Vec<u32>,
    levels: Vec<f32>,
    search: Search,
}

/// How far water's ways are found, and what is kept until they are.
#[derive(Clone, Debug, Default)]
struct Search {
    part: usize,
    /// Per strip of rows, the ends of its cells' ways, and the hollows of these.
    ends: Vec<Vec<u32>>,
    hollows: Vec<Vec<u32>>,
    passes: Vec<hollows::Pass>,
}

impl Drainage {
    /// An empty one for a map of this size.
    pub fn new(border: Border) -> Self {
        let count = border.width * border.height;
        Self {
            border,
            sea: f32::NEG_INFINITY,
            to: vec![NONE; count],
            from: vec![0; count],
            outlets: Vec::new(),
            hollow: vec![0; count],
            levels: vec![f32::NEG_INFINITY],
            search: Search::default(),
        }
    }

    /// The drainage of a terrain's ground, each diagonal as long as it is.
    pub fn of(terrain: &Terrain) -> Self {
        let mut drainage = Self::new(Border::of(terrain));
        drainage.find(&terrain.ground(), Diagonal::Plain);
        drainage
    }

    /// Lets water end in a sea of this level, in metres, from now on.
    pub fn set_sea(&mut self, level: f32) {
        self.sea = level;
    }

    /// Finds where water runs on this ground, a height per cell.
    ///
    /// # Panics
    /// If it has another number of cells.
    pub fn find(&mut self, ground: &[f32], diagonal: Diagonal) {
        self.begin(ground);
        while !self.go_on(ground, diagonal) {}
    }

    /// Begins to find where water runs on this ground: finds the outlets.
    ///
    /// # Panics
    /// If it has another number of cells.
    pub fn begin(&mut self, ground: &[f32]) {
        assert_eq!(ground.len(), self.to.len(), "the ground has as many cells as the map");
        self.find_outlets(ground);
        self.search = Search::default();
    }

    /// Goes on to find where water runs on the ground with which it began, for some rows. True when all is found.
    pub fn go_on(&mut self, ground: &[f32], diagonal: Diagonal) -> bool {
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
            1 => receivers::turn_round(self.border, rows, &self.to, &mut self.from),
            2 => self.follow(rows),
            3 => {
                if part == 0 {
                    self.number_hollows();
                }
                self.take_over(rows);
            }
            _ if self.levels.len() == 1 => return true,
            4 => self.search.passes.extend(hollows::passes(self.border, rows, ground, &self.hollow, diagonal)),
            _ => {
                self.join_hollows(ground);
                return true;
            }
        }
        false
    }

    /// Finds the outlets alone.
    pub fn find_outlets(&mut self, ground: &[f32]) {
        let Border { width, height, edge } = self.border;
        self.outlets.clear();
        let lowest = |cells: &mut dyn Iterator<Item = usize>| {
            cells.min_by(|&a, &b| ground[a].total_cmp(&ground[b]).then(a.cmp(&b))).map(|cell| cell as u32)
        };
        let mut on_border: Vec<usize> = Vec::new();
        if edge != Edge::Wrap {
            for y in 0..height {
                let whole = height > 1 && (y == 0 || y + 1 == height);
                if whole {
                    on_border.extend(y * width..(y + 1) * width);
                } else if width > 1 {
                    on_border.extend([y * width, (y + 1) * width - 1]);
                }
            }
        }
        match edge {
            Edge::Open if !on_border.is_empty() => self.outlets.extend(on_border.iter().map(|&cell| cell as u32)),
            Edge::Wall if !on_border.is_empty() => self.outlets.extend(lowest(&mut on_border.into_iter())),
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

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// Whether the map has no cells.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// The border of the map.
    pub fn border(&self) -> Border {
        self.border
    }

    /// Cells at which the water leaves the map.
    pub fn outlets(&self) -> &[u32] {
        &self.outlets
    }

    /// The cell that a step leads to, which does not leave the map.
    #[inline(always)]
    fn step(&self, cell: usize, step: u8) -> usize {
        step_from(self.border, cell, step)
    }

    /// The cell to which this one gives its water; none at an outlet.
    #[inline(always)]
    pub fn receiver(&self, cell: usize) -> Option<usize> {
        (self.to[cell] != NONE).then(|| self.step(cell, self.to[cell]))
    }

    /// How far the receiver is, in cells.
    #[inline(always)]
    pub fn distance(&self, cell: usize) -> f64 {
        DISTANCES[usize::from(self.to[cell] & 1)]
    }

    /// The cells that give their water to this one.
    pub fn donors(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let from = self.from[cell];
        (0..8).filter(move |step| from >> step & 1 == 1).map(move |step| self.step(cell, step))
    }

    /// The level of the lake that would stand over a cell: that of the pass over which its hollow drains. None where the cell
    /// lies in no hollow or above that level.
    #[inline(always)]
    pub fn lake(&self, cell: usize, ground: f32) -> Option<f32> {
        let level = self.levels[self.hollow[cell] as usize];
        (ground < level).then_some(level)
    }

    /// The number of the hollow that a cell lies in, or of none.
    pub fn hollow(&self, cell: usize) -> usize {
        self.hollow[cell] as usize
    }

    /// Whether any neighbour of a cell lies lower, on this ground.
    pub fn falls(&self, cell: usize, ground: &[f32]) -> bool {
        self.border.neighbours(cell).any(|(_, other)| ground[other] < ground[cell])
    }

    /// How deep water would stand in the hollows of this ground, in metres.
    pub fn lakes(&self, ground: &Grid) -> Grid {
        let depth = |(cell, &ground): (usize, &f32)| self.lake(cell, ground).map_or(0.0, |level| level - ground);
        Grid::from_values(ground.width(), ground.height(), ground.iter().enumerate().map(depth))
    }

    /// The rain of all cells above and of this one itself, where each gives what `rain` says.
    pub fn areas(&self, rain: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut areas: Vec<f64> = (0..self.len()).map(rain).collect();
        for &(cell, receiver) in self.order().links().iter().rev() {
            areas[receiver as usize] += areas[cell as usize];
        }
        areas
    }
}

/// The cell that a step leads to, which does not leave a map whose border does not wrap.
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
