//! Hillslope diffusion: ∂z/∂t = D·∇²z, solved implicitly along rows and then along columns, which is stable for every λ = D·δt/l²
//! (dimensional splitting; Yanenko 1971).
//!
//! Each line is a tridiagonal system, −λ·z_{x−1} + (1 + 2λ)·z_x − λ·z_{x+1} = z_x before, solved by the Thomas algorithm. Walls have zero
//! flux. On a periodic map the system is cyclic and is solved by the Sherman–Morrison formula. At an open border the ground continues
//! with its slope: a line that ends there has no curvature in its last cell, and what creeps into that cell creeps on over the border.
//! The outermost lines diffuse along the border, where outlets keep their height and what creeps into them leaves the map.

use std::{cell::Cell, ops::Range};

use rayon::prelude::*;

use crate::core::{border::Border, terrain::Edge};

/// Number of columns that are solved together. Under Miri, small maps have several groups of columns.
pub(super) const COLUMNS: usize = if cfg!(miri) { 8 } else { 64 };

/// Factorised system of a line.
struct Line {
    lambda: f64,
    /// Per cell: coefficient of the previous cell, inverse of the pivot, and eliminated coefficient of the next cell.
    steps: Vec<[f64; 3]>,
    /// Sherman–Morrison correction of a periodic line: the vector q, the last element of v (the first is 1), and 1 + v·q.
    round: Option<(Vec<f64>, f64, f64)>,
    /// Pairs of a cell that keeps its height and a neighbour that does not.
    held: Vec<[usize; 2]>,
}

impl Line {
    /// Returns the system of a line that leads from border to border.
    fn across(count: usize, lambda: f64, edge: Edge) -> Self {
        let held = edge == Edge::Open && count > 1;
        Self::new(count, lambda, edge == Edge::Wrap, |place| held && (place == 0 || place + 1 == count))
    }

    /// Returns the system of the outermost line from cell `first` on, every `stride`-th cell, of an open map with these outlets.
    fn along_border(count: usize, lambda: f64, [first, stride]: [usize; 2], outlets: &[u32]) -> Self {
        Self::new(count, lambda, false, |place| outlets.binary_search(&((first + place * stride) as u32)).is_ok())
    }

    fn new(count: usize, lambda: f64, periodic: bool, held: impl Fn(usize) -> bool) -> Self {
        // Two cells on a periodic line are neighbours on both sides.
        let lambda = if periodic && count == 2 { 2.0 * lambda } else { lambda };
        let round = periodic && count > 2;
        let mut steps: Vec<[f64; 3]> = Vec::with_capacity(count);
        let whole = 1.0 + 2.0 * lambda;
        for place in 0..count {
            let (first, last) = (place == 0, place + 1 == count);
            let beside = usize::from(!first) + usize::from(!last);
            let (before, pivot, after) = if held(place) {
                (0.0, 1.0, 0.0)
            } else if round && first {
                (0.0, 2.0 * whole, lambda)
            } else if round && last {
                (lambda, whole + lambda * lambda / whole, 0.0)
            } else {
                (if first { 0.0 } else { lambda }, 1.0 + lambda * beside as f64, if last { 0.0 } else { lambda })
            };
            let pivot = pivot - before * steps.last().map_or(0.0, |last| last[2]);
            steps.push([before, 1.0 / pivot, after / pivot]);
        }
        let neighbours = (1..count).flat_map(|place| [[place - 1, place], [place, place - 1]]);
        let held = neighbours.filter(|&[place, beside]| held(place) && !held(beside)).collect();
        let mut line = Self { lambda, steps, round: None, held };
        if round {
            let mut spread = vec![0.0; count];
            (spread[0], spread[count - 1]) = (-whole, -lambda);
            line.eliminate(&mut spread, 1);
            let far = lambda / whole;
            let whole = 1.0 + spread[0] + far * spread[count - 1];
            line.round = Some((spread, far, whole));
        }
        line
    }

    /// Solves the tridiagonal systems of interleaved lines in place: the values of all lines at one cell are contiguous.
    fn eliminate(&self, values: &mut [f64], side_by_side: usize) {
        let mut done: &mut [f64] = &mut [];
        let mut rest = &mut *values;
        for &[before, inverse, _] in &self.steps {
            let (row, others) = std::mem::take(&mut rest).split_at_mut(side_by_side);
            if done.is_empty() {
                row.iter_mut().for_each(|value| *value *= inverse);
            } else {
                row.iter_mut().zip(done.iter()).for_each(|(value, last)| *value = (*value + before * last) * inverse);
            }
            (done, rest) = (row, others);
        }
        let mut rest = values;
        let mut done: &mut [f64] = &mut [];
        for &[_, _, after] in self.steps.iter().rev() {
            let middle = rest.len() - side_by_side;
            let (others, row) = std::mem::take(&mut rest).split_at_mut(middle);
            if !done.is_empty() {
                row.iter_mut().zip(done.iter()).for_each(|(value, next)| *value += after * next);
            }
            (done, rest) = (row, others);
        }
    }

    /// Solves interleaved lines in place. Returns the amount that crept into held cells, in metres.
    fn solve(&self, values: &mut [f64], side_by_side: usize) -> f64 {
        self.eliminate(values, side_by_side);
        let last = (self.steps.len() - 1) * side_by_side;
        if let Some((spread, far, whole)) = &self.round {
            for line in 0..side_by_side {
                let rest = (values[line] + far * values[last + line]) / whole;
                for (place, spread) in spread.iter().enumerate() {
                    values[place * side_by_side + line] -= rest * spread;
                }
            }
        }
        let fall = |line: usize| {
            let at = |place: usize| values[place * side_by_side + line];
            self.held.iter().map(|&[held, beside]| at(beside) - at(held)).sum::<f64>()
        };
        (0..side_by_side).map(fall).sum::<f64>() * self.lambda
    }
}

/// Map in which every thread modifies its own columns.
struct SharedColumns<'a>(&'a [Cell<f32>]);

// SAFETY: a column is processed by one thread, so no cell is accessed by two.
unsafe impl Sync for SharedColumns<'_> {}

/// Returns `true` if the line at `place` runs along an open border.
fn at_border(edge: Edge, place: usize, count: usize) -> bool {
    edge == Edge::Open && count > 1 && (place == 0 || place + 1 == count)
}

/// Diffuses ground that has changed by `change` from `ground`, in metres, along these rows with λ = D·δt/l². Returns the outflow across
/// an open border, in metres times cells; inflow is negative.
pub(super) fn along_rows(
    (border, outlets): (Border, &[u32]),
    rows: Range<usize>,
    ground: &[f32],
    change: &mut [f32],
    lambda: f64,
) -> f64 {
    let Border { width, height, edge } = border;
    let (line, cells) = (Line::across(width, lambda, edge), rows.start * width..rows.end * width);
    let lines = change[cells.clone()].par_chunks_mut(width).zip(ground[cells].par_chunks(width)).enumerate();
    let left = lines.map_init(Vec::new, |values, (y, (change, ground))| {
        let y = rows.start + y;
        let own = at_border(edge, y, height).then(|| Line::along_border(width, lambda, [y * width, 1], outlets));
        values.clear();
        values.extend(ground.iter().zip(change.iter()).map(|(ground, change)| f64::from(*ground) + f64::from(*change)));
        let left = own.as_ref().unwrap_or(&line).solve(values, 1);
        for (change, (value, ground)) in change.iter_mut().zip(values.iter().zip(ground)) {
            *change = (value - f64::from(*ground)) as f32;
        }
        left
    });
    let left: Vec<f64> = left.collect();
    left.into_iter().sum()
}

/// Diffuses ground along these columns as [`along_rows`] does along rows.
pub(super) fn along_columns(
    (border, outlets): (Border, &[u32]),
    columns: Range<usize>,
    ground: &[f32],
    change: &mut [f32],
    lambda: f64,
) -> f64 {
    let Border { width, height, edge } = border;
    let line = Line::across(height, lambda, edge);
    let change = SharedColumns(Cell::from_mut(change).as_slice_of_cells());
    let blocks = columns.clone().into_par_iter().step_by(COLUMNS);
    let left = blocks.map_init(Vec::new, |values: &mut Vec<f64>, first| {
        let change = &change;
        let mut diffuse = |line: &Line, block: Range<usize>| {
            let cells = |y: usize| y * width + block.start..y * width + block.end;
            values.clear();
            for y in 0..height {
                let old = ground[cells(y)].iter().zip(&change.0[cells(y)]);
                values.extend(old.map(|(ground, change)| f64::from(*ground) + f64::from(change.get())));
            }
            let left = line.solve(values, block.len());
            for (y, values) in values.chunks(block.len()).enumerate() {
                for (change, (value, ground)) in change.0[cells(y)].iter().zip(values.iter().zip(&ground[cells(y)])) {
                    change.set((value - f64::from(*ground)) as f32);
                }
            }
            left
        };
        let mut block = first..(first + COLUMNS).min(columns.end);
        let mut left = 0.0;
        for column in [block.start, block.end - 1] {
            if block.contains(&column) && at_border(edge, column, width) {
                let own = Line::along_border(height, lambda, [column, width], outlets);
                left += diffuse(&own, column..column + 1);
                block = if column == block.start { column + 1..block.end } else { block.start..column };
            }
        }
        if block.is_empty() { left } else { left + diffuse(&line, block) }
    });
    let left: Vec<f64> = left.collect();
    left.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the row before a step from the row `after` it, by the definition of the system.
    fn before(after: &[f64], lambda: f64, edge: Edge, held: &[u32]) -> Vec<f64> {
        let count = after.len();
        let at = |place: isize| after[edge.nearest(place, count)];
        let bend = |place: usize| 2.0 * after[place] - at(place as isize - 1) - at(place as isize + 1);
        let held = |place: usize| held.contains(&(place as u32));
        (0..count).map(|place| if held(place) { after[place] } else { after[place] + lambda * bend(place) }).collect()
    }

    #[test]
    fn creep_solver_satisfies_its_tridiagonal_system() {
        for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
            for count in [1, 2, 3, 4, 17] {
                for lambda in [0.0, 0.14, 30.0, 1e9] {
                    let ends = if edge == Edge::Open && count > 1 { vec![0, count as u32 - 1] } else { Vec::new() };
                    let across = (Line::across(count, lambda, edge), ends);
                    let outlets = [0, 1, 2, 9, 16].map(|place| 5 + 3 * place);
                    let along = (Line::along_border(count, lambda, [5, 3], &outlets), vec![0, 1, 2, 9, 16]);
                    for (line, held) in [across, along].into_iter().take(if edge == Edge::Wrap { 1 } else { 2 }) {
                        let start: Vec<f64> = (0..count).map(|place| ((place * place) as f64 * 0.7).sin()).collect();
                        let mut values = start.clone();
                        let left = line.solve(&mut values, 1);
                        let back = before(&values, lambda, edge, &held);
                        let near = back.iter().zip(&start).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + lambda));
                        assert!(near, "{edge:?} {count} {lambda}: {start:?} became {back:?}");
                        let lost = start.iter().sum::<f64>() - values.iter().sum::<f64>() - left;
                        assert!(lost.abs() < 1e-6, "{edge:?} {count} {lambda}: {lost} is missing");
                    }
                }
            }
        }
    }

    #[test]
    fn creep_preserves_planes_at_open_border() {
        let border = Border { width: 40, height: 30, edge: Edge::Open };
        let ground: Vec<f32> = (0..1200).map(|cell| (3 * (cell % 40) + 5 * (cell / 40)) as f32).collect();
        let mut change = vec![0.0; 1200];
        let outlets: Vec<u32> = border
            .outermost()
            .filter(|&cell| border.flows_out(cell, |cell| ground[cell]))
            .map(|cell| cell as u32)
            .collect();
        let left = along_rows((border, &outlets), 0..30, &ground, &mut change, 2.0)
            + along_columns((border, &outlets), 0..40, &ground, &mut change, 2.0);
        // The corners disturb only the cells near them: by half as much per cell at this λ.
        let far_from_corners = |cell: &usize| (14..26).contains(&(cell % 40)) || (14..16).contains(&(cell / 40));
        assert!((0..1200).filter(far_from_corners).all(|cell| change[cell].abs() < 1e-3));
        // What creeps in over one side creeps out over the other.
        let grown = change.iter().map(|change| f64::from(*change)).sum::<f64>();
        assert!((grown + left).abs() < 1e-3, "{grown} m have grown, {left} m have left");
        // A bump on a border cell that is no outlet diffuses like one in the interior.
        let (mut bumpy, bump) = (ground, 29 * 40 + 20);
        bumpy[bump] += 4.0;
        change.fill(0.0);
        along_rows((border, &outlets), 0..30, &bumpy, &mut change, 2.0);
        assert!(change[bump] < -1.0, "{} m", change[bump]);
    }
}
