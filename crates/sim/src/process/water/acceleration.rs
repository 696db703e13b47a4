//! Tests of morphological acceleration: equivalence, conservation, rest, and the effect of the defaults on new terrain.

use super::{tests::unaccelerated, *};
use crate::{
    core::terrain::Source,
    generate::{Generator, TerrainParams, generate},
    params::{Value, write},
    process::{
        contract::run_process,
        land::{TerrainMeasures, fluvial},
    },
    simulation::Simulation,
};

/// A slope of sand that flattens downstream, with a spring at its upper end.
fn fed_slope() -> Terrain {
    let ground = Grid::from_fn(16, 12, |x, _| if x < 8 { 20.0 - 0.2 * x as f32 } else { 18.6 - 0.02 * x as f32 });
    let mut terrain = Terrain::bare(ground, 5.0, Edge::Open);
    terrain.spread_sand(30.0);
    terrain.sources.push(Source { place: [0.05, 0.5], radius: 8.0, rate: 4.0, ticks: None });
    terrain
}

fn set(simulation: &mut Simulation, name: &str, value: f64) {
    let [params, _] = simulation.slots[0].process.settings_mut();
    assert!(write(params, name, &Value::Number(value)), "{name}");
}

#[test]
fn accelerated_bed_matches_unaccelerated_bed() {
    let bed_after = |acceleration: f64, ticks: usize| {
        let params = Params { rain_rate: 0.0, evaporation_rate: 0.0, dt: 2.0, ..unaccelerated() };
        // The river forms before its bed starts to change.
        let mut simulation =
            run_process(Water::with(Params { max_erosion_depth: 0.0, ..params.clone() }), fed_slope(), 2000);
        set(&mut simulation, "max_erosion_depth", f64::from(params.max_erosion_depth));
        set(&mut simulation, "acceleration", acceleration);
        (0..ticks).for_each(|_| simulation.tick());
        simulation.terrain.ground()
    };
    let (slow, fast) = (bed_after(1.0, 100_000), bed_after(20.0, 5000));
    let start = fed_slope().ground();
    let mean = |one: &Grid, other: &Grid| {
        one.iter().zip(other.iter()).map(|(one, other)| f64::from((one - other).abs())).sum::<f64>() / one.len() as f64
    };
    let (moved, apart) = (mean(&slow, &start), mean(&slow, &fast));
    assert!(moved > 0.2 && apart < 0.05 * moved, "{moved} m moved, {apart} m apart");
}

#[test]
fn solids_are_conserved_as_acceleration_changes() {
    let terrain = fluvial(96, 2);
    let mut simulation = run_process(Water::with(Params { rain_rate: 0.002, ..Params::default() }), terrain, 0);
    for acceleration in [1.0, 300.0, 10.0] {
        set(&mut simulation, "acceleration", acceleration);
        (0..150).for_each(|_| simulation.tick());
        let (moved, residual) = (simulation.ledger.solid.rows[INFO.key].moved, simulation.solid_residual());
        assert!(residual.abs() < 1e-6 * moved, "×{acceleration}: {residual} m³ of {moved}");
    }
}

#[test]
fn acceleration_leaves_bed_of_still_lake_unchanged() {
    let ground = Grid::from_fn(40, 40, |x, y| 0.02 * ((x as f32 - 19.5).powi(2) + (y as f32 - 19.5).powi(2)));
    let mut terrain = Terrain::bare(ground, 5.0, Edge::Wall);
    terrain.spread_sand(0.5);
    let ground = terrain.ground();
    terrain.water = Grid::from_fn(40, 40, |x, y| (6.0 - ground.at(x, y)).max(0.0));
    let params = Params { acceleration: 1000.0, rain_rate: 0.0, evaporation_rate: 0.0, ..Params::default() };
    let after = run_process(Water::with(params), terrain, 500).terrain.ground();
    let most = after.iter().zip(ground.iter()).map(|(after, before)| (after - before).abs()).fold(0.0, f32::max);
    assert!(most < 1e-3, "{most} m");
}

/// Returns the 99.9th percentile of the height of a cell above the mean of its neighbours, in cell sizes.
fn sharpness(ground: &Grid, cell_size: f32) -> f32 {
    let (width, height) = (ground.width(), ground.height());
    let inner = (1..height - 1).flat_map(|y| (1..width - 1).map(move |x| (x, y)));
    let mut rises: Vec<f32> = inner
        .map(|(x, y)| {
            let around = ground.at(x - 1, y) + ground.at(x + 1, y) + ground.at(x, y - 1) + ground.at(x, y + 1);
            (ground.at(x, y) - 0.25 * around) / cell_size
        })
        .collect();
    rises.sort_by(f32::total_cmp);
    rises[rises.len() * 999 / 1000]
}

#[test]
fn default_water_erodes_visibly_without_spikes() {
    let default = TerrainParams::default();
    let share = default.relief / (default.cell_size * default.width as f32);
    for generator in [Generator::Perlin, Generator::Ridged, Generator::Range] {
        for cell_size in [1.0, 10.0, 100.0] {
            let relief = share * cell_size * 256.0;
            let params = TerrainParams { generator, width: 256, height: 256, cell_size, relief, ..default.clone() };
            let terrain = generate(&params, 1);
            let before = terrain.ground();
            let after = run_process(Water::default(), terrain, 600).terrain.ground();
            let (low, high) = before.min_max();
            let mut changes: Vec<f32> =
                before.iter().zip(after.iter()).map(|(one, other)| (one - other).abs()).collect();
            changes.sort_by(f32::total_cmp);
            let change = changes[changes.len() * 95 / 100] / (high - low);
            // Smooth terrain may become slightly sharper than rugged terrain was.
            let [sharp, was] = [&after, &before].map(|ground| sharpness(ground, cell_size));
            let message = format!("{generator:?}, {cell_size} m: {change} of the relief, {was} became {sharp}");
            assert!(change >= 0.01 && sharp < 2.2 * was.max(0.5), "{message}");
        }
    }
}

#[test]
fn default_water_preserves_river_profiles() {
    let terrain = fluvial(256, 1);
    let start = TerrainMeasures::of(&terrain);
    let land = TerrainMeasures::of(&run_process(Water::default(), terrain, 600).terrain);
    let message = format!("{start:?} became {land:?}");
    assert!((land.concavity - start.concavity).abs() <= 0.12 && land.straightness >= 0.9, "{message}");
    assert!(land.pits <= start.pits + 0.002, "{message}");
}
