//! The erosion brush: droplets released under the brush.

use super::{Brush, Dab, Tool, UndoPatch, area::Area};
use crate::{
    core::{
        grid::Grid,
        ledger::Ledger,
        terrain::{Edge, Terrain},
    },
    params::{Value, write},
    process::{Context, Process},
};

/// Droplets per cell under the brush in one pass at full strength.
const PER_CELL: f32 = 2.0;
/// Margin of the ground around the brush that droplets can reach, as a fraction of the radius, and in cells.
const AROUND: (f32, f32) = (0.5, 2.0);
/// Width of the fade towards the rim, as a fraction of the radius.
const RIM: f32 = 0.4;

/// Releases droplets with the parameters of `droplets` under the brush; their changes outside the brush are discarded. Returns the
/// growth of the ground, in metres times cells.
pub(crate) fn apply(
    terrain: &mut Terrain,
    droplets: &dyn Process,
    seed: u64,
    brush: &Brush,
    dab: Dab,
    patch: &mut UndoPatch,
) -> f64 {
    let mut droplets = with_parameters_of(droplets);
    let radius = brush.radius_in_cells(terrain);
    let area = Area::new(terrain, dab.place, radius);
    let seen = Area::new(terrain, dab.place, radius * (1.0 + AROUND.0) + AROUND.1);
    let before = around(terrain, &seen, |offset| brush.falloff.weight(distance(offset) / radius));
    if before.rain.as_ref().is_none_or(|rain| rain.total() <= 0.0) {
        return 0.0;
    }
    // If a dab has less than one droplet, some dabs get one and others none.
    let per_dab = f64::from(PER_CELL * std::f32::consts::PI * radius * radius * brush.share());
    let until = |dabs: u64| (per_dab * dabs as f64).floor();
    let count = until(dab.number + 1) - until(dab.number);
    if count <= 0.0 {
        return 0.0;
    }
    patch.save_tiles(terrain, Tool::Erode.writes(), &area);
    for (name, value) in [("per_tick", Value::Number(count)), ("springs", Value::Switch(false))] {
        write(droplets.settings_mut()[0], name, &value);
    }
    // Each position, and each dab of a stroke, has its own rain.
    let [x, y] = dab.place.map(|part| u64::from(part.to_bits()));
    let (rock_before, sand_before) = (before.bedrock.clone(), before.sand.clone());
    let after = run(droplets.as_mut(), before, (seed ^ x << 32 ^ y, dab.number));
    let [row, column] = area.place_in(&seen);
    let weigh = |offset: [f32; 2]| {
        let inside = ((1.0 - distance(offset) / radius) / RIM).clamp(0.0, 1.0);
        inside * inside * (3.0 - 2.0 * inside)
    };
    area.shape(terrain, None, weigh, |spot, rock, sand| {
        let cell = (spot.row + row) * after.width() + spot.column + column;
        *rock += spot.weight * (after.bedrock[cell] - rock_before[cell]);
        *sand = (*sand + spot.weight * (after.sand[cell] - sand_before[cell])).max(0.0);
    })
}

fn distance([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}

/// Returns a fresh process of the same kind with the parameters of another.
fn with_parameters_of(own: &dyn Process) -> Box<dyn Process> {
    let mut fresh = own.boxed_default();
    for (fresh, own) in fresh.settings_mut().into_iter().zip(own.settings()) {
        fresh.apply(own.as_partial_reflect());
    }
    fresh
}

/// Returns an area as a terrain of its own, with the rain of a cell given by its offset from the centre.
fn around(terrain: &Terrain, area: &Area, rain: impl Fn([f32; 2]) -> f32) -> Terrain {
    let size = (area.columns.len(), area.rows.len());
    let cut = |grid: &Grid| Grid::from_fn(size.0, size.1, |x, y| grid.at(area.columns[x].index, area.rows[y].index));
    let mut land = Terrain::from_layers(size, (terrain.cell_size, Edge::Open), |layer| terrain.layer(layer).map(cut));
    let fallen = |x: usize, y: usize| rain([area.columns[x].offset, area.rows[y].offset]);
    land.rain = Some(Grid::from_fn(size.0, size.1, fallen));
    land
}

/// Runs one tick of a single process.
fn run(process: &mut dyn Process, mut terrain: Terrain, (seed, tick): (u64, u64)) -> Terrain {
    process.tick(&mut Context {
        terrain: &mut terrain,
        ledger: &mut Ledger::default(),
        seed,
        tick,
        watched: false,
        stepwise: false,
        water_flows: false,
        elapsed: &mut None,
        deadline: None,
    });
    terrain
}
