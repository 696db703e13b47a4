//! Cells without data: filled from their neighbours when a map is read, remembered, and marked again where a format has a mark.

use std::path::Path;

use super::{
    Error,
    raster::{Expected, Raster, RasterRows},
};
use thalweg_sim::core::{border::Border, grid::Grid, terrain::Edge};

/// What a cell without data holds in a file that does not say it.
pub(super) const USUAL: f32 = -9999.0;
/// Memory that filling takes for each cell, in bytes: its value, its distance, its index in two lists, and whether it was empty.
const BYTES_TO_FILL: u64 = 28;

/// What cells without data hold beside the values of a map: a number that none of them is. As f64, so that its digits are exact.
pub(super) fn value_beside(grid: &Grid) -> f64 {
    if grid.contains(&USUAL) { f32::MIN.into() } else { USUAL.into() }
}

/// The same mask with another number of cells: 1 where at least half of a cell has no data, else 0.
pub(super) fn fitted(nodata: &Grid, (width, height): (usize, usize)) -> Grid {
    // Of each new cell along a side, the old ones that it covers, and how much of it each makes up.
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

/// Reads a map that may have cells without data, which hold `nodata` in the file, and fills them from the nearest that have some.
/// `read` reads all of its rows. It is called again for the whole map if it has such cells and is to get another size. A reader needs
/// as many bytes as it says `besides`.
///
/// # Errors
/// No cell has data, it needs more memory than may be used, or `read` fails.
pub(super) fn filled(
    path: &Path,
    expected: &Expected,
    size: (usize, usize),
    besides: u64,
    nodata: &str,
    mut read: impl FnMut(RasterRows<'_>) -> Result<Raster, Error>,
) -> Result<Raster, Error> {
    let mut raster = read(expected.rows(path, size, besides)?)?;
    let (missing, count) = (raster.missing, size.0 * size.1);
    if missing == 0 {
        return Ok(raster);
    } else if missing == count {
        let wrong = format!("all of its {count} cells hold NODATA ({nodata})");
        return Err(Error::input(path, wrong, "at least one cell needs a height"));
    }
    expected.budget.ask(path, count as u64 * BYTES_TO_FILL)?;
    let wanted = expected.size.filter(|wanted| *wanted != size);
    if wanted.is_some() {
        // What is nearest is known when all of the map is.
        let whole = Expected { size: None, sidecar: expected.sidecar.clone(), ..*expected };
        raster = read(whole.rows(path, size, besides)?)?;
    }
    let mut mask = Grid::from_values(size.0, size.1, raster.cells.iter().map(|value| f32::from(value.is_nan())));
    fill(&mut raster.cells);
    if let Some(wanted) = wanted {
        raster.cells = raster.cells.resampled(wanted.0, wanted.1);
        mask = fitted(&mask, wanted);
    }
    raster.nodata = Some(mask);
    raster.warnings.push(format!(
        "{missing} of its {count} cells hold NODATA ({nodata}) and are filled from the nearest that have a height"
    ));
    Ok(raster)
}

/// Fills missing cells, which hold NaN, ring by ring from their neighbours that have a value. Each gets the mean of those in the
/// rings before.
fn fill(cells: &mut Grid) {
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
