//! Springs and drains.

use crate::core::terrain::Terrain;

/// Runs springs and drains for `seconds`. Returns the volumes added and removed, in cubic metres.
pub(super) fn run_sources(terrain: &mut Terrain, tick: u64, seconds: f32) -> (f64, f64) {
    let (mut given, mut taken) = (0.0, 0.0);
    let area = terrain.cell_area();
    for source in terrain.sources.clone().into_iter().filter(|source| source.runs(tick)) {
        let cells = source.cells(terrain);
        let each = source.rate * seconds / (cells.len() as f32 * area as f32);
        for index in cells {
            let depth = &mut terrain.water[index];
            let before = *depth;
            *depth = (before + each).max(0.0);
            let change = (f64::from(*depth) - f64::from(before)) * area;
            given += change.max(0.0);
            taken -= change.min(0.0);
        }
    }
    (given, taken)
}
