//! The kernels against the processes of the processor.

use thalweg_gpu::{Device, GpuSimulation, Runner, self_test, time_card_tick};
use thalweg_sim::{
    core::{
        grid::Grid,
        terrain::{Edge, Layer, Source, Terrain},
    },
    generate::{TerrainParams, generate},
    params::{Value, write},
    simulation::Simulation,
};

/// Returns a hilly terrain with sand, rain and a spring.
fn hills(side: u32, edge: Edge) -> Terrain {
    let params =
        TerrainParams { width: side, height: side, cell_size: 4.0, sand: 1.0, edge, ..TerrainParams::default() };
    let mut terrain = generate(&params, 3);
    terrain.sources.push(Source { place: [0.4, 0.3], radius: 10.0, rate: 20.0, ticks: Some((3, 30)) });
    terrain
}

fn simulation(terrain: Terrain, keys: &[&str], settings: &[(&str, &str, f64)]) -> Simulation {
    let mut simulation = Simulation::new(terrain, 1);
    for slot in simulation.slots.iter_mut().filter(|slot| keys.contains(&slot.key())) {
        slot.enabled = true;
    }
    for &(key, name, value) in settings {
        let [params, _] = simulation.slot_mut(key).expect("it is in the catalogue").process.settings_mut();
        write(params, name, &Value::Number(value));
    }
    simulation
}

/// Returns the root mean square difference of two layers, and that of the first from its state before.
fn differences(one: &Grid, other: &Grid, before: &Grid) -> [f64; 2] {
    let rms = |a: &Grid, b: &Grid| {
        let sum: f64 = a.iter().zip(b.iter()).map(|(a, b)| f64::from(a - b).powi(2)).sum();
        (sum / a.len() as f64).sqrt()
    };
    [rms(one, other), rms(one, before)]
}

/// Runs a simulation on both devices, and asserts that the layers differ by less than a fraction of their change.
fn assert_alike(device: &Device, start: &Simulation, ticks: u32, tolerance: f64) {
    let (mut processor, mut card) = (start.clone(), start.clone());
    (0..ticks).for_each(|_| processor.tick());
    let mut run = GpuSimulation::new(device, &mut card).unwrap_or_else(|error| panic!("{error}"));
    run.run(ticks).unwrap_or_else(|error| panic!("{error}"));
    run.download(&mut card).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(card.ticks(), processor.ticks());
    for layer in [Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended] {
        let of = |simulation: &Simulation| simulation.terrain.layer_or_empty(layer);
        let [difference, change] = differences(&of(&processor), &of(&card), &of(start));
        println!("{}: {difference:e} of {change:e}", layer.key());
        assert!(difference <= tolerance * change, "{}: {difference:e} of {change:e}", layer.key());
    }
    let moved = |simulation: &Simulation| {
        simulation.ledger.solid.sum(|row| row.moved) + simulation.ledger.water.sum(|row| row.inflow)
    };
    let residuals = [card.solid_residual().abs(), card.water_residual().abs()];
    println!("residuals {residuals:?} of {}", moved(&card));
    assert!(residuals.iter().all(|residual| *residual <= 1e-5 * moved(&card)), "{residuals:?} of {}", moved(&card));
}

fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(error) if std::env::var_os("THALWEG_REQUIRE_GPU").is_none() => {
            println!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn water_follows_the_processor() {
    let Some(device) = device() else { return };
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let start = simulation(hills(96, edge), &["water"], &[("water", "rain_rate", 0.002)]);
        for (ticks, tolerance) in [(1, 1e-4), (20, 1e-3), (200, 0.05)] {
            println!("{edge:?}, {ticks} ticks");
            assert_alike(&device, &start, ticks, tolerance);
        }
    }
}

#[test]
fn thermal_erosion_follows_the_processor() {
    let Some(device) = device() else { return };
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let start = simulation(hills(96, edge), &["thermal"], &[]);
        for (ticks, tolerance) in [(1, 1e-3), (50, 0.02)] {
            println!("{edge:?}, {ticks} ticks");
            assert_alike(&device, &start, ticks, tolerance);
        }
    }
}

#[test]
fn runs_on_one_card_are_bit_identical() {
    let Some(device) = device() else { return };
    let start = simulation(hills(64, Edge::Open), &["water", "thermal"], &[("water", "rain_rate", 0.002)]);
    let run = |parts: &[u32]| {
        let mut card = start.clone();
        let mut run = GpuSimulation::new(&device, &mut card).unwrap_or_else(|error| panic!("{error}"));
        parts.iter().for_each(|ticks| run.run(*ticks).unwrap_or_else(|error| panic!("{error}")));
        run.download(&mut card).unwrap_or_else(|error| panic!("{error}"));
        card.terrain
    };
    let whole = run(&[60]);
    assert!(whole == run(&[60]) && whole == run(&[7, 1, 52]));
}

#[test]
fn lost_card_is_replaced_by_the_processor() {
    let Some(device) = device() else { return };
    let start = simulation(hills(64, Edge::Open), &["water", "thermal"], &[("water", "rain_rate", 0.002)]);
    let mut lost = start.clone();
    let mut runner = Runner::on_card(&device, &lost).unwrap_or_else(|error| panic!("{error}"));
    runner.run(&mut lost, 10).unwrap_or_else(|error| panic!("{error}"));
    let mut expected = lost.clone();
    device.destroy();
    let error = runner.run(&mut lost, 10).expect_err("the card is lost");
    assert!(error.to_string().contains("lost"), "{error}");
    assert!(runner.device().is_none());
    (0..10).for_each(|_| expected.tick());
    assert_eq!(lost.ticks(), 20);
    assert!(lost.terrain == expected.terrain);
    runner.run(&mut lost, 1).expect("the processor runs it");
}

#[test]
fn self_test_passes_and_a_tick_is_timed() {
    let Some(device) = device() else { return };
    self_test(&device).unwrap_or_else(|error| panic!("{error}"));
    let start = simulation(hills(48, Edge::Open), &["water", "thermal"], &[]);
    let seconds = time_card_tick(&device, &start, [48, 48]).unwrap_or_else(|error| panic!("{error}"));
    assert!(seconds > 0.0);
}

#[test]
fn edits_between_ticks_reach_the_card() {
    let Some(device) = device() else { return };
    let start = simulation(hills(96, Edge::Wall), &["water", "thermal"], &[("water", "rain_rate", 0.002)]);
    let (mut card, mut processor) = (start.clone(), start.clone());
    let mut runner = Runner::on_card(&device, &card).unwrap_or_else(|error| panic!("{error}"));
    for step in 0..4_usize {
        for simulation in [&mut card, &mut processor] {
            // A tile, a whole layer, a parameter, a source.
            match step {
                1 => simulation.terrain.sand.modify_tiles(&[5])[170] += 3.0,
                2 => simulation.terrain.water.iter_mut().for_each(|depth| *depth += 0.1),
                3 => {
                    simulation.terrain.sources[0].rate = 40.0;
                    let water = simulation.slot_mut("water").expect("it is in the catalogue");
                    write(water.process.settings_mut()[0], "rain_rate", &Value::Number(0.0));
                }
                _ => {}
            }
        }
        runner.run(&mut card, 5).unwrap_or_else(|error| panic!("{error}"));
        (0..5).for_each(|_| processor.tick());
    }
    for layer in [Layer::Bedrock, Layer::Sand, Layer::Water] {
        let of = |simulation: &Simulation| simulation.terrain.layer_or_empty(layer);
        let [difference, change] = differences(&of(&processor), &of(&card), &of(&start));
        assert!(difference <= 1e-3 * change, "{}: {difference:e} of {change:e}", layer.key());
    }
}
