//! Depressions: their spill points, and the flow paths to them.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use rayon::prelude::*;

use super::{
    Diagonal, Drainage, NONE,
    receivers::{pad, row_of},
    step_from,
};
use crate::{
    core::{border::Border, terrain::Edge},
    hydrology::flood::to_ordered_bits,
};

/// Marks cells beyond the border.
const NOWHERE: u32 = u32::MAX;
/// Cells that are checked together for a boundary.
const TOGETHER: usize = 16;
/// Saddles cached while rows are searched, so that most boundaries are recorded once in a number of rows.
const REMEMBERED: usize = 256;
/// Rows per parallel chunk.
const ROWS: usize = 16;

/// Saddle between two depressions, or between a depression and drained ground, which includes that beyond an open border. Lower ones
/// come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Saddle {
    /// Ranks of its two cells, the higher one first: elevation as an ordered integer, then the tie-breaker.
    ranks: [(i32, u32); 2],
    /// A cell of the first depression, and the step from there to the second; [`NONE`] across the border.
    cell: u32,
    step: u8,
    depressions: [u32; 2],
}

/// Finds the lowest saddles between depressions with a cell in these rows, each at least once.
pub(super) fn find_saddles(
    border: Border,
    rows: Range<usize>,
    ground: &[f32],
    depression: &[u32],
    diagonal: Diagonal,
) -> Vec<Saddle> {
    let chunks = rows.clone().into_par_iter().step_by(ROWS).map(|first| {
        let mut found = SaddleSearch { list: Vec::new(), last: vec![None; REMEMBERED] };
        let mut padded = [(); 2].map(|()| vec![NOWHERE; border.width + 2]);
        for y in first..(first + ROWS).min(rows.end) {
            for (padded, dy) in padded.iter_mut().zip([0, 1]) {
                pad(border, row_of(border, depression, y as isize + dy), NOWHERE, padded);
            }
            found.search_row(border, y, &padded, |cell, other| {
                let rank = |cell: usize| (to_ordered_bits(ground[cell]), diagonal.tie_break_rank(cell as u32));
                let [one, other] = [rank(cell), rank(other)];
                [one.max(other), one.min(other)]
            });
        }
        found.list.extend(found.last.into_iter().flatten());
        found.list
    });
    let chunks: Vec<Vec<Saddle>> = chunks.collect();
    chunks.concat()
}

/// Saddles found in some rows.
struct SaddleSearch {
    list: Vec<Saddle>,
    /// Lowest saddles between the pairs of depressions met last.
    last: Vec<Option<Saddle>>,
}

impl SaddleSearch {
    /// Searches a row for boundaries to the next cell and to the row below.
    fn search_row(
        &mut self,
        border: Border,
        y: usize,
        [own, after]: &[Vec<u32>; 2],
        ranks: impl Fn(usize, usize) -> [(i32, u32); 2],
    ) {
        let width = border.width;
        let here = &own[1..=width];
        let around = [&own[2..], &after[2..], &after[1..=width], &after[..width]];
        for start in (0..width).step_by(TOGETHER) {
            let part = start..(start + TOGETHER).min(width);
            let apart = around.iter().fold(0, |apart, row| {
                let pairs = here[part.clone()].iter().zip(&row[part.clone()]);
                pairs.fold(apart, |apart, (here, there)| apart | (here ^ there))
            });
            if apart == 0 {
                continue;
            }
            for x in part {
                for (step, row) in around.iter().enumerate() {
                    let depressions = [here[x], row[x]];
                    if depressions[0] == depressions[1] || depressions[1] == NOWHERE {
                        continue;
                    }
                    let cell = y * width + x;
                    let ranks = ranks(cell, step_from(border, cell, step as u8));
                    self.record(Saddle { ranks, cell: cell as u32, step: step as u8, depressions });
                }
            }
        }
    }

    fn record(&mut self, saddle: Saddle) {
        let [one, other] = saddle.depressions;
        let place = (one ^ other).wrapping_mul(0x9E37_79B1) >> 24;
        let known = &mut self.last[place as usize % REMEMBERED];
        match known {
            Some(known) if [[one, other], [other, one]].contains(&known.depressions) => *known = saddle.min(*known),
            _ => self.list.extend(known.replace(saddle)),
        }
    }
}

/// Indices of the saddles of each depression, one depression after another.
struct SaddleIndex {
    numbers: Vec<u32>,
    firsts: Vec<u32>,
}

impl SaddleIndex {
    fn new(saddles: &[Saddle], depressions: usize) -> Self {
        let mut firsts = vec![0; depressions + 1];
        let sides = |(number, saddle): (usize, &Saddle)| {
            saddle.depressions.map(|depression| (depression as usize, number as u32))
        };
        saddles.iter().enumerate().flat_map(sides).for_each(|(depression, _)| firsts[depression + 1] += 1);
        for depression in 0..depressions {
            firsts[depression + 1] += firsts[depression];
        }
        let (mut numbers, mut next) = (vec![0; 2 * saddles.len()], firsts.clone());
        for (depression, number) in saddles.iter().enumerate().flat_map(sides) {
            numbers[next[depression] as usize] = number;
            next[depression] += 1;
        }
        Self { numbers, firsts }
    }

    fn of(&self, depression: u32) -> impl Iterator<Item = u32> {
        let [first, end] = [0, 1].map(|next| self.firsts[depression as usize + next] as usize);
        self.numbers[first..end].iter().copied()
    }
}

impl Drainage {
    /// Joins depressions to drained ground over the lowest saddle first. Afterwards the trees of the outlets contain all cells.
    pub(super) fn join_depressions(&mut self, ground: &[f32]) {
        let mut saddles = std::mem::take(&mut self.search.saddles);
        saddles.extend(self.spill_points(ground));
        saddles.par_sort_unstable();
        let around = SaddleIndex::new(&saddles, self.levels.len());
        let sides: Vec<[u32; 2]> = saddles.iter().map(|saddle| saddle.depressions).collect();
        let mut heap: BinaryHeap<Reverse<u32>> = around.of(0).map(Reverse).collect();
        while let Some(Reverse(number)) = heap.pop() {
            let levels = sides[number as usize].map(|depression| self.levels[depression as usize]);
            let Some(joined) = levels.iter().position(|&level| level == f32::INFINITY) else { continue };
            let Saddle { cell, step, depressions, .. } = saddles[number as usize];
            let cell = cell as usize;
            let cells = [cell, if step == NONE { cell } else { self.step(cell, step) }];
            if step == NONE {
                self.outlets.push(cell as u32);
            }
            self.levels[depressions[joined] as usize] =
                cells.iter().fold(levels[1 - joined], |level, &cell| level.max(ground[cell]));
            self.reverse_flow_path(cells[joined], if joined == 0 { step } else { step ^ 4 });
            let open = |saddle: &u32| {
                sides[*saddle as usize].iter().any(|&depression| self.levels[depression as usize] == f32::INFINITY)
            };
            heap.extend(around.of(depressions[joined]).filter(open).map(Reverse));
        }
        self.outlets.sort_unstable();
    }

    /// Returns the saddles between depressions and the ground beyond an open border.
    fn spill_points(&self, ground: &[f32]) -> Vec<Saddle> {
        if self.border.edge != Edge::Open {
            return Vec::new();
        }
        let in_depression = |&cell: &usize| self.depression[cell] != 0;
        let spill = |cell: usize| Saddle {
            ranks: [(to_ordered_bits(ground[cell]), 0), (i32::MIN, 0)],
            cell: cell as u32,
            step: NONE,
            depressions: [self.depression[cell], 0],
        };
        self.border.outermost().filter(in_depression).map(spill).collect()
    }

    /// Reverses the flow path from a cell to the pit of its depression, so that the pit drains over this cell.
    fn reverse_flow_path(&mut self, mut cell: usize, mut step: u8) {
        loop {
            let old = std::mem::replace(&mut self.to[cell], step);
            if step != NONE {
                let receiver = self.step(cell, step);
                self.from[receiver] |= 1 << (step ^ 4);
            }
            if old == NONE {
                return;
            }
            let next = self.step(cell, old);
            self.from[next] &= !(1 << (old ^ 4));
            (cell, step) = (next, old ^ 4);
        }
    }
}
