//! Labels of cells by the depression that they drain to.
//!
//! Strips of rows follow the flow paths of their cells to the ends within the strip: a cell without a receiver, or one of another
//! strip. The few ends of all strips are then followed to the last, and every cell gets the depression of its end.

use std::ops::Range;

use rayon::prelude::*;

use super::{Drainage, NONE, Search, step_from};
use crate::core::border::Border;

/// Rows per strip.
pub(super) const ROWS: usize = 32;
/// Marks a flow path whose end is unknown.
const UNKNOWN: u32 = u32::MAX;

/// Writes the number of its end for every cell of a strip, and returns the cells that are ends; `first` is the first cell of the
/// strip.
fn trace_flow_paths(border: Border, to: &[u8], first: usize, ends_of: &mut [u32]) -> Vec<u32> {
    let (mut ends, mut path) = (Vec::new(), Vec::new());
    ends_of.fill(UNKNOWN);
    for start in 0..ends_of.len() {
        let mut here = start;
        let end = loop {
            if ends_of[here] != UNKNOWN {
                break ends_of[here];
            }
            path.push(here);
            let cell = first + here;
            let next = if to[cell] == NONE { cell } else { step_from(border, cell, to[cell]) };
            let inside = next.wrapping_sub(first);
            if next == cell || inside >= ends_of.len() {
                ends.push(next as u32);
                break ends.len() as u32 - 1;
            }
            here = inside;
        };
        path.drain(..).for_each(|cell| ends_of[cell] = end);
    }
    ends
}

impl Drainage {
    /// Follows the flow paths of the cells of these rows, which are whole strips.
    pub(super) fn trace_rows(&mut self, rows: Range<usize>) {
        let Self { border, to, depression, search, .. } = self;
        let (border, cells) = (*border, ROWS * border.width);
        let first = rows.start * border.width;
        let strips = depression[first..rows.end * border.width].par_chunks_mut(cells).enumerate();
        search
            .ends
            .par_extend(strips.map(|(strip, ends_of)| trace_flow_paths(border, to, first + strip * cells, ends_of)));
    }

    /// Numbers the depressions from 1, and finds that of every end; 0 for one that drains to an outlet.
    pub(super) fn number_depressions(&mut self) {
        let Self { border, depression, outlets, levels, search: Search { ends, depressions, .. }, .. } = self;
        let cells = ROWS * border.width;
        levels.truncate(1);
        *depressions = ends.iter().map(|ends| vec![UNKNOWN; ends.len()]).collect();
        let mut path = Vec::new();
        for start in ends.iter().enumerate().flat_map(|(strip, ends)| (0..ends.len()).map(move |end| (strip, end))) {
            let mut here = start;
            let number = loop {
                let (strip, end) = here;
                if depressions[strip][end] != UNKNOWN {
                    break depressions[strip][end];
                }
                path.push(here);
                let cell = ends[strip][end];
                let next = cell as usize / cells;
                if next == strip {
                    // It has no receiver.
                    if outlets.binary_search(&cell).is_ok() {
                        break 0;
                    }
                    levels.push(f32::INFINITY);
                    break levels.len() as u32 - 1;
                }
                here = (next, depression[cell as usize] as usize);
            };
            path.drain(..).for_each(|(strip, end)| depressions[strip][end] = number);
        }
    }

    /// Writes the depression of its end for every cell of these rows.
    pub(super) fn write_depressions(&mut self, rows: Range<usize>) {
        let Self { border, depression, search, .. } = self;
        let strips = depression[rows.start * border.width..rows.end * border.width].par_chunks_mut(ROWS * border.width);
        strips.zip(&search.depressions[rows.start / ROWS..]).for_each(|(cells, depressions)| {
            cells.iter_mut().for_each(|cell| *cell = depressions[*cell as usize]);
        });
    }
}
