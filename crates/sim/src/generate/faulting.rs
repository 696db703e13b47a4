//! Faulting planes (UIUC CS 418): straight lines through random points of the map, with one side raised, the other lowered.
//!
//! The displacement decreases linearly from the first fault to the last, so early faults make the blocks and late ones the detail.
//! The original displaces whole cells; here a fault is a narrow scarp of the same width in metres at every resolution, which avoids
//! both a staircase along oblique lines and a cliff between two cells.

use rayon::prelude::*;

use super::frame::MapFrame;
use crate::core::{grid::Grid, rng::RandomStream};

/// Width of a scarp, as a fraction of the shorter side; at least one cell.
const SCARP: f32 = 0.015;

/// A line, and the displacement of the ground on its sides.
struct FaultLine {
    /// Unit vector towards the raised side.
    normal: [f32; 2],
    /// A point of the line relative to the map's centre, in units of the shorter side.
    point: [f32; 2],
    /// Height by which one side rises and the other falls.
    displacement: f32,
}

/// Returns heights of arbitrary scale, to be normalised by the caller.
pub(super) fn heights(count: u32, frame: MapFrame, seed: u64) -> Grid {
    let faults = faults(count, frame, seed);
    let cells_per_side = frame.shorter() as f32;
    let steepness = 2.0 / (SCARP * cells_per_side).max(1.0);
    let mut grid = Grid::filled(frame.width, frame.height, 0.0);
    grid.par_chunks_exact_mut(frame.width).enumerate().for_each(|(y, row)| {
        let row_from_centre = y as f32 - 0.5 * (frame.height as f32 - 1.0);
        for FaultLine { normal, point, displacement } in &faults {
            let first_column = -0.5 * (frame.width as f32 - 1.0) - point[0] * cells_per_side;
            let start = first_column * normal[0] + (row_from_centre - point[1] * cells_per_side) * normal[1];
            for (x, cell) in row.iter_mut().enumerate() {
                let side = ((start + x as f32 * normal[0]) * steepness).clamp(-1.0, 1.0);
                *cell += displacement * side * (1.5 - 0.5 * side * side);
            }
        }
    });
    grid
}

fn faults(count: u32, frame: MapFrame, seed: u64) -> Vec<FaultLine> {
    let mut stream = RandomStream::new(seed, "terrain.faulting", 0);
    let (half_width, half_height) = frame.half_extent();
    let mut within = |half: f64| half as f32 * (2.0 * stream.uniform() - 1.0);
    (0..count)
        .map(|index| {
            let point = [within(half_width), within(half_height)];
            // A point in the unit disc, not too close to its centre, gives a direction without trigonometry.
            let (normal, length) = loop {
                let normal = [within(1.0), within(1.0)];
                let squared = normal[0] * normal[0] + normal[1] * normal[1];
                if (0.01..=1.0).contains(&squared) {
                    break (normal, squared.sqrt());
                }
            };
            let displacement = 1.0 - index as f32 / count as f32;
            FaultLine { normal: normal.map(|part| part / length), point, displacement }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_fault_splits_map_into_two_levels() {
        for seed in 0..10 {
            let map = heights(1, MapFrame::new(40, 30), seed);
            let sheer = map.iter().filter(|&&height| height.abs() == 1.0).count();
            assert!(map.iter().all(|height| height.abs() <= 1.0));
            assert!(sheer >= map.len() - 2 * 40, "{sheer} cells are on either level");
            assert!(map.contains(&1.0) && map.contains(&-1.0), "the fault crosses the map");
        }
    }
}
