//! Springs and drains.

use crate::sim::terrain::{Source, Terrain};

/// Lets springs give and drains take. Returns both, in cubic metres.
pub(super) fn run_sources(terrain: &mut Terrain, tick: u64, seconds: f32) -> (f64, f64) {
    let (mut given, mut taken) = (0.0, 0.0);
    let area = terrain.cell_area();
    for source in terrain.sources.clone().into_iter().filter(|source| source.runs(tick)) {
        let cells = source_cells(terrain, &source);
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

/// The cells that a source covers: those whose centre lies in its circle, or the one that it lies in.
pub(super) fn source_cells(terrain: &Terrain, source: &Source) -> Vec<usize> {
    let (width, height) = (terrain.width(), terrain.height());
    let centre = [source.place[0] * width as f32, source.place[1] * height as f32];
    let reach = source.radius / terrain.cell_size;
    let range = |centre: f32, count: usize| {
        let first = (centre - reach - 1.0).max(0.0) as usize;
        first..((centre + reach + 1.0).max(0.0) as usize + 1).min(count)
    };
    let mut cells = Vec::new();
    for y in range(centre[1], height) {
        for x in range(centre[0], width) {
            let (dx, dy) = (x as f32 + 0.5 - centre[0], y as f32 + 0.5 - centre[1]);
            if dx * dx + dy * dy <= reach * reach {
                cells.push(y * width + x);
            }
        }
    }
    if cells.is_empty() {
        let nearest = |place: f32, count: usize| (place.max(0.0) as usize).min(count - 1);
        cells.push(nearest(centre[1], height) * width + nearest(centre[0], width));
    }
    cells
}
