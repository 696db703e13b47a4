use super::*;
use crate::{
    core::terrain::Source,
    generate::{Generator, TerrainParams, generate},
    hydrology::drainage::Drainage,
    process::{land::fluvial, saved_state::StateValue, water::Water},
    simulation::Simulation,
};

/// Water alone, without erosion.
fn run(terrain: Terrain, params: Params) -> Simulation {
    let mut simulation = Simulation::new(terrain, 1);
    let slot = simulation.slot_mut("water").expect("it is in the catalogue");
    slot.process = Box::new(Water::with(Params { max_erosion_depth: 0.0, ..params }));
    slot.enabled = true;
    simulation
}

fn fill(run: &mut Simulation) -> f64 {
    let balance = run.balance(&|_| true).expect("water comes and goes");
    run.fill_rivers(balance)
}

fn rain(rate: f32) -> Params {
    Params { rain_rate: rate, evaporation_rate: 0.0, dt: 0.05, ..Params::default() }
}

/// Returns the outflow of the next ticks as a fraction of the rain.
fn outflow(run: &mut Simulation, ticks: usize) -> f64 {
    let before = run.ledger.water.rows.get("water").copied().unwrap_or_default();
    (0..ticks).for_each(|_| run.tick());
    let after = run.ledger.water.rows["water"];
    (after.outflow - before.outflow) / (after.inflow - before.inflow)
}

#[test]
fn steady_state_on_rainy_plane_has_normal_depth() {
    let (length, slope, rate) = (64, 0.02, 1e-4);
    let ground = Grid::from_fn(length, 24, |x, _| slope * (length - x) as f32 * 10.0);
    let mut run = run(Terrain::bare(ground, 10.0, Edge::Open), rain(rate));
    // Water also leaves across the sides, which does not affect the middle yet.
    let came = fill(&mut run);
    assert!(came > 0.0 && (run.terrain.water_volume() - came).abs() < 1e-9 * came);
    for x in [20_usize, 40, 60] {
        let discharge = rate * (x as f32 + 1.0) * 10.0;
        let wanted = (discharge * 0.04 / slope.sqrt()).powf(0.6);
        let found = run.terrain.water.at(x, 12);
        assert!((found / wanted - 1.0).abs() < 0.05, "column {x}: {found} m, not {wanted} m");
    }
    let filled = run.terrain.water.clone();
    (0..100).for_each(|_| run.tick());
    for x in [20, 40, 60] {
        let (before, after) = (filled.at(x, 12), run.terrain.water.at(x, 12));
        assert!((after / before - 1.0).abs() < 0.03, "column {x}: {before} m became {after} m");
    }
    assert!(run.water_residual().abs() < 1e-6 * came);
}

#[test]
fn range_starts_with_rivers_in_steady_state() {
    let params =
        TerrainParams { generator: Generator::Range, width: 128, height: 128, cell_size: 20.0, ..Default::default() };
    let terrain = generate(&params, 5);
    let mut filled = run(terrain.clone(), rain(1e-4));
    let volume = fill(&mut filled);
    let share = outflow(&mut filled, 20);
    assert!((0.9..1.1).contains(&share), "{share} of the rain leaves at once");
    (0..500).for_each(|_| filled.tick());
    let after = filled.terrain.water_volume();
    assert!((after / volume - 1.0).abs() < 0.03, "{volume} m³ became {after} m³");
    let mut dry = run(terrain, rain(1e-4));
    assert!(outflow(&mut dry, 20) < 0.1, "without it the terrain takes time to fill");
}

#[test]
fn steady_outflow_equals_rain_across_uneven_borders() {
    for (generator, seed) in [(Generator::Valley, 5), (Generator::Valley, 6), (Generator::Range, 7)] {
        let params = TerrainParams { generator, width: 128, height: 128, cell_size: 20.0, ..Default::default() };
        let mut run = run(generate(&params, seed), rain(1e-4));
        fill(&mut run);
        let share = outflow(&mut run, 20);
        assert!((0.9..1.1).contains(&share), "{generator:?}: {share} of the rain leaves");
    }
}

#[test]
fn steady_discharge_is_proportional_to_drainage_area() {
    for seed in [5, 11] {
        let terrain = fluvial(160, seed);
        let drainage = Drainage::of(&terrain);
        let areas = drainage.areas(|_| 1.0);
        let mut run = run(terrain, rain(1e-4));
        fill(&mut run);
        (0..200).for_each(|_| run.tick());
        let share = outflow(&mut run, 20);
        assert!((0.9..1.1).contains(&share), "seed {seed}: {share} of the rain leaves");
        let terrain = run.terrain.clone();
        let process = &mut run.slot_mut("water").expect("it is there").process;
        let fluxes = process.state_values(&terrain).into_iter().filter_map(|(name, memory)| match memory {
            StateValue::Cells(fluxes) if name.starts_with("flow") => Some(fluxes.to_vec()),
            _ => None,
        });
        let (faces, water): (Vec<Vec<f32>>, _) = (fluxes.collect(), &terrain.water);
        let (mut wet, mut all, mut sums) = (0, 0, [0.0_f64; 5]);
        let inner =
            (0..areas.len()).filter(|cell| (1..159).contains(&(cell % 160)) && (1..159).contains(&(cell / 160)));
        for cell in inner.filter(|&cell| areas[cell] >= 200.0) {
            all += 1;
            wet += usize::from(water[cell] > 1e-3);
            // Outflow near this cell from its contributing area.
            let mut basin = vec![cell];
            let mut inside = vec![false; areas.len()];
            inside[cell] = true;
            while let Some(cell) = basin.pop() {
                for donor in drainage.donors(cell) {
                    inside[donor] = true;
                    basin.push(donor);
                }
            }
            let span = |middle: usize| middle.max(4) - 4..(middle + 5).min(159);
            let mut leaves = 0.0_f64;
            for (x, y) in span(cell / 160).flat_map(|y| span(cell % 160).map(move |x| (x, y))) {
                let here = y * 160 + x;
                for (next, passes) in [(here + 1, faces[0][y * 161 + x + 1]), (here + 160, faces[1][here + 160])] {
                    let out = f64::from(u8::from(inside[here])) - f64::from(u8::from(inside[next]));
                    leaves += f64::from(passes) * out;
                }
            }
            let [area, flow] = [areas[cell], leaves.max(1e-9)].map(f64::ln);
            for (sum, term) in sums.iter_mut().zip([1.0, area, flow, area * area, area * flow]) {
                *sum += term;
            }
        }
        let [count, area, flow, square, both] = sums;
        let power = (count * both - area * flow) / (count * square - area * area);
        assert!(all > 100 && wet as f64 >= 0.99 * f64::from(all), "seed {seed}: {wet} of {all} cells are wet");
        assert!((0.9..1.1).contains(&power), "seed {seed}: discharge grows with the power {power} of the area");
    }
}

#[test]
fn steady_lakes_spill_unless_evaporation_balances_inflow() {
    // A bowl in a plateau that falls off to the borders; its spill point is at 51 m, behind a notch.
    let ground = Grid::from_fn(41, 41, |x, y| {
        let far = x.abs_diff(20).max(y.abs_diff(20)) as f32;
        if far < 8.0 {
            20.0 + far
        } else if (x, y) == (28, 20) {
            50.0
        } else {
            60.0 - far
        }
    });
    let terrain = Terrain::bare(ground, 10.0, Edge::Open);
    let mut wet = run(terrain.clone(), rain(1e-5));
    fill(&mut wet);
    let level = wet.terrain.ground().at(20, 20) + wet.terrain.water.at(20, 20);
    let corner = wet.terrain.ground().at(14, 14) + wet.terrain.water.at(14, 14);
    assert!((51.0..51.3).contains(&level) && (level - corner).abs() < 0.01, "{level} m and {corner} m");
    let leaves = outflow(&mut wet, 5);
    assert!((0.6..1.3).contains(&leaves), "{leaves} of the rain leaves");
    let mut drying = run(terrain, Params { evaporation_rate: 1e-3, ..rain(1e-5) });
    fill(&mut drying);
    let over = |run: &Simulation| run.terrain.water.at(29, 20);
    let message = format!("{} m run over, without evaporation {} m", over(&drying), over(&wet));
    assert!(over(&drying) < 0.1 * over(&wet), "the lake gives what it gets to the air, but {message}");
}

#[test]
fn unsolvable_steady_states_return_errors() {
    let ground = Grid::from_fn(16, 16, |x, _| x as f32);
    let terrain = Terrain::bare(ground.clone(), 1.0, Edge::Wall);
    let walled = run(terrain.clone(), rain(1e-4));
    assert!(walled.balance(&|_| true).err().expect("walls").to_string().contains("place a drain"));
    let dry = run(Terrain::bare(ground, 1.0, Edge::Open), rain(0.0));
    assert!(dry.balance(&|_| true).err().expect("no rain").to_string().contains("rain rate"));
    let cancelled = run(Terrain::bare(Grid::filled(16, 16, 1.0), 1.0, Edge::Open), rain(1e-4));
    assert!(cancelled.balance(&|_| false).err().expect("cancelled").to_string().contains("cancelled"));
    // A drain is an outlet.
    let drain = Source { place: [0.1, 0.5], radius: 0.0, rate: -1.0, ticks: None };
    let mut drained = run(Terrain { sources: vec![drain], ..terrain }, rain(1e-4));
    assert!(fill(&mut drained) > 0.0);
}

#[test]
fn steady_state_supports_periodic_and_tiny_maps() {
    let drain = Source { place: [0.0, 0.0], radius: 0.0, rate: -10.0, ticks: None };
    let ground = Grid::from_fn(24, 16, |x, y| (x.min(24 - x) + y.min(16 - y)) as f32);
    let terrain = Terrain { sources: vec![drain], ..Terrain::bare(ground, 4.0, Edge::Wrap) };
    let mut round = run(terrain, rain(1e-4));
    let before = fill(&mut round);
    (0..50).for_each(|_| round.tick());
    let after = round.terrain.water_volume();
    assert!((after / before - 1.0).abs() < 0.15, "{before} m³ became {after} m³");
    for (width, height) in [(1, 1), (2, 1), (1, 7), (2, 2)] {
        let mut tiny = run(Terrain::bare(Grid::filled(width, height, 3.0), 1.0, Edge::Open), rain(1e-4));
        assert!(fill(&mut tiny) > 0.0);
        tiny.tick();
        assert!(tiny.water_residual().abs() < 1e-9);
    }
}
