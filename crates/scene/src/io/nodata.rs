//! NODATA cells: filled from their neighbours when a map is read, recorded in a mask, and written back to formats that support them.

use thalweg_sim::core::{border::Border, grid::Grid, terrain::Edge};

/// Default NODATA value.
pub(super) const DEFAULT_NODATA: f32 = -9999.0;
/// Memory per cell that filling needs, in bytes: value, distance, index in two lists and mask.
pub(super) const BYTES_TO_FILL: u64 = 28;

/// Returns a NODATA value that does not occur in the grid. As f64, so that it is formatted exactly.
pub(super) fn unused_value(grid: &Grid) -> f64 {
    if grid.contains(&DEFAULT_NODATA) { f32::MIN.into() } else { DEFAULT_NODATA.into() }
}

/// Resamples a mask: 1 where at least half of a cell has no data, else 0.
pub(super) fn resample_mask(nodata: &Grid, (width, height): (usize, usize)) -> Grid {
    // For each new cell along a side, the old cells it overlaps and the fraction of its length in each.
    let shares = |from: usize, to: usize| -> Vec<Vec<(usize, f64)>> {
        let step = from as f64 / to as f64;
        let covered = |index: usize| {
            let (start, end) = (index as f64 * step, (index + 1) as f64 * step);
            let share = move |cell: usize| (end.min((cell + 1) as f64) - start.max(cell as f64)) / step;
            (start as usize..(end.ceil() as usize).min(from)).map(|cell| (cell, share(cell))).collect()
        };
        (0..to).map(covered).collect()
    };
    let (columns, rows) = (shares(nodata.width(), width), shares(nodata.height(), height));
    Grid::from_fn(width, height, |x, y| {
        let row = |&(y, tall): &(usize, f64)| -> f64 {
            columns[x].iter().map(|&(x, wide)| wide * tall * f64::from(nodata.at(x, y))).sum()
        };
        f32::from(rows[y].iter().map(row).sum::<f64>() >= 0.5)
    })
}

/// Fills NaN cells ring by ring, each with the mean of its neighbours in earlier rings.
pub(super) fn fill(cells: &mut Grid) {
    const UNREACHED: u32 = u32::MAX;
    let border = Border { width: cells.width(), height: cells.height(), edge: Edge::Open };
    let mut distance: Vec<u32> = cells.iter().map(|value| if value.is_nan() { UNREACHED } else { 0 }).collect();
    let neighbours = |index: usize| border.neighbours(index).map(|(_, other)| other);
    let borders = |index: &usize| distance[*index] == 0 && neighbours(*index).any(|other| distance[other] == UNREACHED);
    let mut ring: Vec<usize> = (0..cells.len()).filter(borders).collect();
    for steps in 1.. {
        let mut next = Vec::new();
        for &index in &ring {
            for neighbour in neighbours(index) {
                if distance[neighbour] == UNREACHED {
                    distance[neighbour] = steps;
                    next.push(neighbour);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        for &index in &next {
            let nearer = neighbours(index).filter(|&other| distance[other] < steps);
            let (sum, values) =
                nearer.fold((0.0, 0), |(sum, values), other| (sum + f64::from(cells[other]), values + 1));
            cells[index] = (sum / f64::from(values)) as f32;
        }
        ring = next;
    }
}
