//! Hollows: which cells run to the bottom of one, over which pass it drains, and how the water gets there.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use super::{Diagonal, Drainage, NONE, STEPS, neighbour, receivers::mixed};
use crate::sim::stencil::Border;

/// A pass out of a hollow.
#[derive(Clone, Copy)]
struct Pass {
    /// Level to which water rises behind it, and the height of the pass itself: lower, if a lake stands before it.
    level: f32,
    height: f32,
    /// Decides between equals, at random.
    lot: u32,
    hollow: u32,
    /// The cell of the hollow, and the step out of it.
    cell: u32,
    step: u8,
}

impl Pass {
    /// Lower ones come first.
    fn rank(&self) -> (i32, i32, u32, u32, u8) {
        (ordered(self.level), ordered(self.height), self.lot, self.cell, self.step)
    }
}

/// A whole number that is larger for a larger number.
fn ordered(number: f32) -> i32 {
    let bits = number.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

impl PartialEq for Pass {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Pass {}

impl PartialOrd for Pass {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pass {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The steps from a cell that stay on the map, and where they lead.
#[inline(always)]
fn around(border: Border, cell: usize) -> impl Iterator<Item = (u8, usize)> {
    let (x, y) = (cell % border.width, cell / border.width);
    let inner = x > 0 && y > 0 && x + 1 < border.width && y + 1 < border.height;
    (0..8).filter_map(move |step| {
        let (dx, dy) = STEPS[step as usize];
        let inside = || (cell as isize + dy * border.width as isize + dx) as usize;
        let to = if inner { inside() } else { neighbour(border, cell, step)? };
        Some((step, to))
    })
}

impl Drainage {
    /// Lets every hollow drain over its lowest pass. Afterwards the trees of the outlets hold all cells.
    pub(super) fn join_hollows(&mut self, ground: &[f32], diagonal: Diagonal) {
        for cell in self.members.drain(..) {
            self.hollow[cell as usize] = 0;
        }
        self.levels.truncate(1);
        let mut ranges = vec![Range::default()];
        let mut next_outlet = 0;
        for cell in 0..self.len() {
            if self.to[cell] != NONE {
                continue;
            }
            if self.outlets.get(next_outlet) == Some(&(cell as u32)) {
                next_outlet += 1;
                continue;
            }
            let number = ranges.len() as u32;
            ranges.push(self.gather(cell as u32, number));
        }
        if ranges.len() > 1 {
            self.levels.resize(ranges.len(), f32::INFINITY);
            self.drain(ground, &ranges, diagonal);
        }
    }

    /// Notes all cells that run to the bottom of a hollow.
    fn gather(&mut self, bottom: u32, number: u32) -> Range<usize> {
        let first = self.members.len();
        self.members.push(bottom);
        let mut next = first;
        while let Some(&cell) = self.members.get(next) {
            next += 1;
            self.hollow[cell as usize] = number;
            let mut from = self.from[cell as usize];
            while from != 0 {
                self.members.push(self.step(cell as usize, from.trailing_zeros() as u8) as u32);
                from &= from - 1;
            }
        }
        first..next
    }

    /// Joins hollows to what drains already, the lowest pass first.
    fn drain(&mut self, ground: &[f32], ranges: &[Range<usize>], diagonal: Diagonal) {
        let key = match diagonal {
            Diagonal::Plain => 0,
            Diagonal::Random(key) => key,
        };
        let mut best: Vec<Option<Pass>> = vec![None; ranges.len()];
        let mut heap = BinaryHeap::new();
        let mut offer = |pass: Pass, heap: &mut BinaryHeap<Reverse<Pass>>| {
            let known = &mut best[pass.hollow as usize];
            if known.is_none_or(|known| pass < known) {
                *known = Some(pass);
                heap.push(Reverse(pass));
            }
        };
        let pass = |from: usize, to: usize, step: u8, below: f32, hollow: u32| {
            let height = ground[from].max(ground[to]);
            let (level, lot) = (height.max(below), mixed(from as u32, key));
            Pass { level, height, lot, hollow, cell: from as u32, step }
        };
        for (number, range) in ranges.iter().enumerate().skip(1) {
            let mut lowest: Option<Pass> = None;
            for &cell in &self.members[range.clone()] {
                for (step, to) in around(self.border, cell as usize) {
                    if self.hollow[to] == 0 {
                        let found = pass(cell as usize, to, step, f32::NEG_INFINITY, number as u32);
                        lowest = Some(lowest.map_or(found, |lowest| lowest.min(found)));
                    }
                }
            }
            if let Some(lowest) = lowest {
                offer(lowest, &mut heap);
            }
        }
        while let Some(Reverse(joined)) = heap.pop() {
            let number = joined.hollow as usize;
            if self.levels[number] < f32::INFINITY {
                continue;
            }
            self.levels[number] = joined.level;
            self.lead(joined.cell as usize, joined.step);
            for &cell in &self.members[ranges[number].clone()] {
                for (step, beside) in around(self.border, cell as usize) {
                    let other = self.hollow[beside];
                    if other != 0 && self.levels[other as usize] == f32::INFINITY {
                        offer(pass(beside, cell as usize, step ^ 4, joined.level, other), &mut heap);
                    }
                }
            }
        }
    }

    /// Turns the way from a cell to the bottom of its hollow round, so that the bottom drains over this cell.
    fn lead(&mut self, mut cell: usize, mut step: u8) {
        loop {
            let old = std::mem::replace(&mut self.to[cell], step);
            let receiver = self.step(cell, step);
            self.from[receiver] |= 1 << (step ^ 4);
            if old == NONE {
                return;
            }
            let next = self.step(cell, old);
            self.from[next] &= !(1 << (old ^ 4));
            (cell, step) = (next, old ^ 4);
        }
    }
}
