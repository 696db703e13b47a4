//! The water brush: adds or removes water.

use super::{
    Brush, Dab, Tool, UndoPatch,
    area::{Area, CellInReach},
};
use crate::core::{grid::Grid, terrain::Terrain};

/// Adds or removes water. Sediment in removed water settles as sand. Returns the growth of the ground and of the water, in metres
/// times cells.
pub(crate) fn apply(terrain: &mut Terrain, brush: &Brush, dab: Dab, patch: &mut UndoPatch) -> [f64; 2] {
    let radius = brush.radius_in_cells(terrain);
    let area = Area::new(terrain, dab.place, radius);
    patch.save_tiles(terrain, Tool::Water.writes(), &area);
    let falloff = brush.falloff;
    let weigh = |[x, y]: [f32; 2]| falloff.weight((x * x + y * y).sqrt() / radius);
    let depth = brush.rise(terrain) * brush.share();
    let mask = terrain.mask.take();
    let held = mask.as_ref();
    let volumes = |terrain: &Terrain| {
        [volume(&area, &terrain.sand) + volume(&area, &terrain.suspended), volume(&area, &terrain.water)]
    };
    let before = volumes(terrain);
    if dab.inverted {
        let Terrain { water, suspended, sand, .. } = &mut *terrain;
        // Sediment that settles from a cell in proportion to the removed water.
        let falls = |spot: CellInReach, water: &Grid, carried: f32| {
            let here = water.at(area.columns[spot.column].index, area.rows[spot.row].index);
            if here > depth * spot.weight { carried * (depth * spot.weight / here) } else { carried }
        };
        area.paint(sand, held, weigh, |spot, sand| {
            let carried = suspended.at(area.columns[spot.column].index, area.rows[spot.row].index);
            *sand += falls(spot, water, carried);
        });
        area.paint(suspended, held, weigh, |spot, carried| *carried -= falls(spot, water, *carried));
        area.paint(water, held, weigh, |spot, water| *water = (*water - depth * spot.weight).max(0.0));
    } else {
        area.paint(&mut terrain.water, held, weigh, |spot, water| *water += depth * spot.weight);
    }
    terrain.mask = mask;
    let after = volumes(terrain);
    [0, 1].map(|matter| after[matter] - before[matter])
}

/// Returns the volume of a layer in the area, in metres times cells.
fn volume(area: &Area, layer: &Grid) -> f64 {
    let row = |y: usize| area.columns.iter().map(|column| f64::from(layer.at(column.index, y))).sum::<f64>();
    area.rows.iter().map(|line| row(line.index)).sum()
}
