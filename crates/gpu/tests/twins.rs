//! The kernels against the processes of the processor.

use thalweg_gpu::{Device, GpuSimulation, Runner, begins_on_processor, self_test, time_card_tick};
use thalweg_sim::{
    core::{
        grid::Grid,
        ledger::{Ledger, LedgerRow},
        terrain::{Edge, Layer, Source, Terrain},
    },
    generate::{TerrainParams, generate},
    params::{Parameter, Value, collect_parameters, set},
    process::saved_state::StateValue,
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

/// Returns cliffs of 500 m between basins: one flooded, one with the front of a flood on dry ground, others under a film, and a column of
/// sand.
fn cliffs(edge: Edge) -> Terrain {
    let (width, height) = (70, 45);
    let ground = |x: usize, y: usize| {
        let step = if (x / 14 + y / 15).is_multiple_of(2) { 500.0 } else { 0.0 };
        step + ((x * 7 + y * 13) % 11) as f32 * 0.03
    };
    let mut terrain = Terrain::bare(Grid::from_fn(width, height, ground), 3.0, edge);
    let bed = terrain.bedrock.clone();
    terrain.water = Grid::from_fn(width, height, |x, y| match (bed.at(x, y) < 400.0, x / 14) {
        (true, 1) => 12.0 - bed.at(x, y),
        (true, 2) if y > 22 => 5.0,
        (false, 0) => 1e-4,
        _ => 0.0,
    });
    terrain.sand = Grid::from_fn(width, height, |x, y| match (x, y) {
        (34..38, 10..14) => 80.0,
        _ if y % 3 == 0 => 0.5,
        _ => 0.0,
    });
    terrain.softness = Grid::from_fn(width, height, |x, y| ((x + 3 * y) % 10) as f32 / 9.0);
    terrain.start = terrain.ground();
    terrain
}

/// Returns the values that a parameter can take: both ends of its range, or all choices.
fn ends(parameter: &Parameter) -> Vec<String> {
    match parameter.value {
        Value::Number(_) => [parameter.knob.min, parameter.knob.max].map(|end| end.to_string()).to_vec(),
        Value::Switch(_) => ["true", "false"].map(str::to_owned).to_vec(),
        _ => parameter.choices.clone(),
    }
}

/// Sets every parameter of a process to each of its ends in turn, and asserts that the first tick agrees with the processor and that all
/// cells stay finite in the next ticks.
fn assert_alike_at_ends(device: &Device, start: &Simulation, key: &str, tolerance: f64) {
    let groups = start.groups();
    let (_, params) = groups.iter().find(|(group, _)| *group == key).expect("it is in the catalogue");
    let parameters = collect_parameters((key.to_owned().leak(), *params)).into_iter();
    for parameter in parameters.filter(|parameter| !["mode", "filled"].contains(&parameter.name)) {
        for end in ends(&parameter) {
            println!("{} = {end}", parameter.path);
            let mut simulation = start.clone();
            set(&mut simulation.groups_mut(), &parameter.path, &end).unwrap_or_else(|error| panic!("{error}"));
            assert_alike(device, &simulation, 1, tolerance);
            let later = on_card(device, &simulation, &[4]);
            for layer in [Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness] {
                let layer = later.terrain.layer_or_empty(layer);
                assert!(layer.iter().all(|cell| cell.is_finite()), "{} = {end}", parameter.path);
            }
        }
    }
}

/// Returns a simulation of the processes with these keys, and these values of parameters by their paths.
fn simulation(terrain: Terrain, keys: &[&str], settings: &[(&str, &str)]) -> Simulation {
    let mut simulation = Simulation::new(terrain, 1);
    for slot in simulation.slots.iter_mut().filter(|slot| keys.contains(&slot.key())) {
        slot.enabled = true;
    }
    for (path, value) in settings {
        set(&mut simulation.groups_mut(), path, value).unwrap_or_else(|error| panic!("{error}"));
    }
    simulation
}

/// Returns the simulation after ticks on the processor.
fn on_processor(start: &Simulation, ticks: u32) -> Simulation {
    let mut simulation = start.clone();
    (0..ticks).for_each(|_| simulation.tick());
    simulation
}

/// Returns the simulation after ticks on the card, in several parts.
fn on_card(device: &Device, start: &Simulation, parts: &[u32]) -> Simulation {
    let mut simulation = start.clone();
    let mut run = GpuSimulation::new(device, &mut simulation).unwrap_or_else(|error| panic!("{error}"));
    parts.iter().for_each(|ticks| run.run(*ticks).unwrap_or_else(|error| panic!("{error}")));
    run.download(&mut simulation).unwrap_or_else(|error| panic!("{error}"));
    simulation
}

/// Returns the root mean square difference of two lists of numbers.
fn distance(one: &[f32], other: &[f32]) -> f64 {
    let sum: f64 = one.iter().zip(other).map(|(one, other)| f64::from(one - other).powi(2)).sum();
    (sum / one.len().max(1) as f64).sqrt()
}

/// Returns the numbers that processes keep between ticks, by name.
fn kept(simulation: &Simulation) -> Vec<(String, Vec<f32>)> {
    let mut simulation = simulation.clone();
    let keys = simulation.processes_with_state();
    let values = simulation.state_values(&keys).into_iter();
    let cells = |(name, value)| match value {
        StateValue::Cells(cells) => Some((name, cells.to_vec())),
        _ => None,
    };
    values.filter_map(cells).collect()
}

/// Returns what a simulation has moved, in cubic metres.
fn moved(simulation: &Simulation) -> f64 {
    let Ledger { solid, water } = &simulation.ledger;
    solid.sum(|row| row.moved) + water.sum(|row| row.inflow + row.outflow + row.evaporated)
}

/// Asserts that the ledger is closed to 1e-5 of what moved and the rounding of the layers, and that its rows agree with another within a
/// fraction of what moved.
fn assert_same_ledger(card: &Simulation, processor: &Simulation, tolerance: f64) {
    let terrain = &card.terrain;
    let residuals =
        [(card.solid_residual(), terrain.solid_volume().abs()), (card.water_residual(), terrain.water_volume())];
    for (residual, volume) in residuals {
        let most = 1e-5 * moved(card) + f64::from(f32::EPSILON) * volume;
        assert!(residual.abs() <= most, "{residual:e} of {:e} moved and {volume:e}", moved(card));
    }
    let rows = |simulation: &Simulation| {
        let Ledger { solid, water } = simulation.ledger.clone();
        let row = |row: &LedgerRow| {
            [row.moved, row.eroded, row.deposited, row.lost, row.evaporated, row.inflow - row.outflow]
        };
        let edits = [solid.edits, water.edits].map(|edits| [edits, 0.0, 0.0, 0.0, 0.0, 0.0]);
        edits.into_iter().chain(solid.rows.values().chain(water.rows.values()).map(row)).collect::<Vec<_>>()
    };
    for (number, (own, other)) in rows(card).into_iter().zip(rows(processor)).enumerate() {
        let apart = own.iter().zip(other).map(|(own, other)| (own - other).abs()).fold(0.0, f64::max);
        assert!(apart <= tolerance * moved(processor), "row {number}: {own:?}, {other:?} of {}", moved(processor));
    }
}

/// Asserts that limiters were applied equally often, except for a fraction.
fn assert_same_limits(card: &Simulation, processor: &Simulation, tolerance: f64) {
    for (own, other) in card.slots.iter().zip(&processor.slots) {
        assert_eq!(own.process.counts().substeps, other.process.counts().substeps, "{}", own.key());
        for ((limiter, own), (_, other)) in own.process.limiters().into_iter().zip(other.process.limiters()) {
            let apart = own.all.abs_diff(other.all) as f64;
            assert!(apart <= 2.0 + tolerance * other.all as f64, "{}: {} and {}", limiter.name, own.all, other.all);
        }
    }
}

/// Runs a simulation on both devices, and asserts that layers, fluxes, ledgers and counts differ by less than a fraction of their change.
fn assert_alike(device: &Device, start: &Simulation, ticks: u32, tolerance: f64) {
    let (processor, card) = (on_processor(start, ticks), on_card(device, start, &[ticks]));
    assert_eq!(card.ticks(), processor.ticks());
    assert!((card.simulated_seconds() / processor.simulated_seconds() - 1.0).abs() < 1e-5);
    let mut worst = ("nothing", 0.0);
    for layer in [Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended, Layer::Softness] {
        let of = |simulation: &Simulation| simulation.terrain.layer_or_empty(layer);
        let (one, other, before) = (of(&processor), of(&card), of(start));
        assert!(other.iter().all(|cell| cell.is_finite()), "{} is not finite", layer.key());
        let (apart, change) = (distance(&one, &other), distance(&one, &before));
        // Less than the rounding of the layer itself.
        let rounding = 0.5 * f64::from(f32::EPSILON) * distance(&one, &vec![0.0; one.len()]);
        if apart > worst.1 * change {
            worst = (layer.key(), apart / change);
        }
        assert!(apart <= tolerance * change + rounding, "{}: {apart:e} of {change:e}", layer.key());
    }
    for ((name, one), (_, other)) in kept(&processor).into_iter().zip(kept(&card)) {
        let (apart, size) = (distance(&one, &other), distance(&one, &vec![0.0; one.len()]));
        assert!(apart <= 3.0 * tolerance * size, "{name}: {apart:e} of {size:e}");
    }
    println!("{ticks} ticks: at most {:.1e} of the change, in {}", worst.1, worst.0);
    assert_same_ledger(&card, &processor, tolerance);
    assert_same_limits(&card, &processor, tolerance);
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
        let start = simulation(hills(96, edge), &["water"], &[("water.rain_rate", "0.002")]);
        for (ticks, tolerance) in [(1, 1e-6), (20, 1e-5), (500, 1e-3)] {
            print!("{edge:?}, ");
            assert_alike(&device, &start, ticks, tolerance);
        }
    }
}

#[test]
fn published_water_follows_the_processor() {
    let Some(device) = device() else { return };
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let settings = [("water.mode", "published"), ("water.rain_rate", "0.01")];
        let start = simulation(hills(96, edge), &["water"], &settings);
        for (ticks, tolerance) in [(1, 1e-6), (20, 1e-5), (500, 1e-3)] {
            print!("{edge:?}, ");
            assert_alike(&device, &start, ticks, tolerance);
        }
    }
}

#[test]
fn water_follows_the_processor_at_extremes() {
    let Some(device) = device() else { return };
    for (mode, tolerance) in [("default", 1e-5), ("published", 1e-5)] {
        let settings = [("water.mode", mode), ("water.rain_rate", "0.01"), ("water.sea_level", "3")];
        let start = |edge: Edge| simulation(cliffs(edge), &["water"], &settings);
        for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
            assert_alike(&device, &start(edge), 1, tolerance);
            assert_alike(&device, &start(edge), 20, 10.0 * tolerance);
        }
        assert_alike_at_ends(&device, &on_processor(&start(Edge::Open), 5), "water", tolerance);
    }
}

#[test]
fn thermal_erosion_follows_the_processor() {
    let Some(device) = device() else { return };
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let start = simulation(hills(96, edge), &["thermal"], &[]);
        for (ticks, tolerance) in [(1, 1e-6), (50, 1e-5)] {
            print!("{edge:?}, ");
            assert_alike(&device, &start, ticks, tolerance);
        }
    }
}

#[test]
fn published_thermal_erosion_follows_the_processor() {
    let Some(device) = device() else { return };
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let settings = [("thermal.mode", "published"), ("thermal.rate", "3")];
        let start = simulation(hills(96, edge), &["thermal"], &settings);
        for (ticks, tolerance) in [(1, 1e-6), (50, 1e-5), (500, 1e-5)] {
            print!("{edge:?}, ");
            assert_alike(&device, &start, ticks, tolerance);
        }
    }
}

#[test]
fn thermal_erosion_follows_the_processor_at_extremes() {
    let Some(device) = device() else { return };
    for mode in ["default", "published"] {
        let start = |edge: Edge| simulation(cliffs(edge), &["thermal"], &[("thermal.mode", mode)]);
        for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
            assert_alike(&device, &start(edge), 1, 1e-6);
            assert_alike(&device, &start(edge), 50, 1e-5);
        }
        assert_alike_at_ends(&device, &on_processor(&start(Edge::Open), 2), "thermal", 1e-6);
    }
}

#[test]
fn simulation_that_starts_filled_runs_on_the_card_after_its_first_tick() {
    let start = simulation(hills(48, Edge::Open), &["water"], &[("water.filled", "true")]);
    assert!(begins_on_processor(&start) && !begins_on_processor(&on_processor(&start, 1)));
}

#[test]
fn rate_limiter_is_counted_as_on_the_processor() {
    let Some(device) = device() else { return };
    // Never, with the time of the water, and under the mask only.
    let cases: [(&[&str], &[_]); 3] = [
        (&["thermal"], &[("thermal.rate", "3"), ("thermal.dt", "0.05"), ("thermal.mode", "published")]),
        (&["water", "thermal"], &[("thermal.rate", "0.2")]),
        (&["water", "thermal"], &[("thermal.rate", "0.1"), ("thermal-masked.rate", "5")]),
    ];
    let rate = |simulation: &mut Simulation| {
        let slot = simulation.slot_mut("thermal").expect("it is in the catalogue");
        slot.process.limiters()[0].1.all
    };
    let counts = cases.map(|(keys, settings)| {
        let start = simulation(masked_hills(Edge::Open), keys, settings);
        let (mut card, mut processor) = (on_card(&device, &start, &[3, 4]), on_processor(&start, 7));
        assert_eq!(rate(&mut card), rate(&mut processor), "{settings:?}");
        rate(&mut card)
    });
    assert_eq!(counts, [0, 7, 7]);
}

/// Returns a terrain with a mask of steps and slopes, uneven rain, and water on its sand.
fn masked_hills(edge: Edge) -> Terrain {
    let mut terrain = hills(72, edge);
    let mask = |x: usize, y: usize| match (x / 9 + y / 9) % 3 {
        0 => 0.0,
        1 => 1.0,
        _ => (x % 9) as f32 / 8.0,
    };
    terrain.mask = Some(Grid::from_fn(72, 72, mask));
    terrain.rain = Some(Grid::from_fn(72, 72, |x, y| ((x + 5 * y) % 4) as f32));
    terrain.water = Grid::from_fn(72, 72, |x, y| if (x + y) % 20 < 8 { 0.01 * (x % 14) as f32 } else { 0.0 });
    terrain
}

#[test]
fn masked_parameters_follow_the_processor() {
    let Some(device) = device() else { return };
    let groups = [
        (
            "water",
            &["rain_rate", "evaporation_rate", "roughness", "sediment_capacity", "suspension_rate", "deposition_rate"]
                [..],
        ),
        ("thermal", &["repose_angle", "underwater_angle", "rate", "talus_coefficient", "talus_bias"]),
    ];
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        for (key, names) in groups {
            let mut all =
                simulation(masked_hills(edge), &[key], &[("water.rain_rate", "0.002"), ("thermal.rate", "2")]);
            for name in names {
                let mut one =
                    simulation(masked_hills(edge), &[key], &[("water.rain_rate", "0.002"), ("thermal.rate", "2")]);
                let path = format!("{key}-masked.{name}");
                set(&mut one.groups_mut(), &path, "3").unwrap_or_else(|error| panic!("{error}"));
                set(&mut all.groups_mut(), &path, "0.2").unwrap_or_else(|error| panic!("{error}"));
                print!("{edge:?}, {path}, ");
                assert_alike(&device, &one, 1, 1e-5);
                assert_alike(&device, &on_processor(&one, 5), 1, 1e-5);
            }
            assert_alike(&device, &all, 50, 1e-4);
        }
    }
}

#[test]
fn limited_processes_leave_masked_cells_unchanged() {
    let Some(device) = device() else { return };
    for (edge, mode) in [(Edge::Wall, "default"), (Edge::Open, "published"), (Edge::Wrap, "default")] {
        let settings = [
            ("water.rain_rate", "0.005"),
            ("water.mode", mode),
            ("thermal.mode", mode),
            ("water-masked.roughness", "2"),
        ];
        let mut start = simulation(masked_hills(edge), &["water", "thermal"], &settings);
        start.slots.iter_mut().for_each(|slot| slot.limited = true);
        for (ticks, tolerance) in [(1, 1e-5), (50, 1e-4)] {
            assert_alike(&device, &start, ticks, tolerance);
        }
        let (after, mask) = (on_card(&device, &start, &[20]).terrain, start.terrain.mask.as_ref().expect("it has one"));
        let full = (0..mask.len()).filter(|&cell| mask[cell] == 1.0);
        assert!(full.clone().count() > 1000);
        assert!(full.into_iter().all(|cell| after.bedrock[cell] == start.terrain.bedrock[cell]));
    }
}

#[test]
fn runs_on_one_card_are_bit_identical() {
    let Some(device) = device() else { return };
    for mode in ["default", "published"] {
        let settings = [("water.rain_rate", "0.002"), ("water.mode", mode), ("thermal.mode", mode)];
        let start = simulation(hills(64, Edge::Open), &["water", "thermal"], &settings);
        let run = |parts: &[u32]| on_card(&device, &start, parts).terrain;
        let whole = run(&[60]);
        assert!(whole == run(&[60]) && whole == run(&[7, 1, 52]), "{mode}");
    }
}

#[test]
fn lost_card_is_replaced_by_the_processor() {
    let Some(device) = device() else { return };
    let start = simulation(hills(64, Edge::Open), &["water", "thermal"], &[("water.rain_rate", "0.002")]);
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
    let start = simulation(hills(96, Edge::Wall), &["water", "thermal"], &[("water.rain_rate", "0.002")]);
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
                    set(&mut simulation.groups_mut(), "water.rain_rate", "0").expect("it is a parameter");
                }
                _ => {}
            }
        }
        runner.run(&mut card, 5).unwrap_or_else(|error| panic!("{error}"));
        (0..5).for_each(|_| processor.tick());
    }
    for layer in [Layer::Bedrock, Layer::Sand, Layer::Water] {
        let of = |simulation: &Simulation| simulation.terrain.layer_or_empty(layer);
        let [apart, change] = [&card, &start].map(|other| distance(&of(&processor), &of(other)));
        assert!(apart <= 1e-3 * change, "{}: {apart:e} of {change:e}", layer.key());
    }
}

#[test]
fn every_size_follows_the_processor() {
    let Some(device) = device() else { return };
    for (width, height) in [(1, 1), (1, 40), (40, 1), (63, 4), (64, 5), (65, 3), (300, 2)] {
        let ground = |x: usize, y: usize| ((7 * x + 5 * y) % 9) as f32;
        for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
            let mut terrain = Terrain::bare(Grid::from_fn(width, height, ground), 3.0, edge);
            terrain.sand = Grid::from_fn(width, height, |x, y| ((x + y) % 3) as f32);
            terrain.water = Grid::from_fn(width, height, |x, _| if x < 20 { 1.5 } else { 0.0 });
            println!("{width} x {height}, {edge:?}");
            let start = simulation(terrain, &["water", "thermal"], &[("water.rain_rate", "0.001")]);
            assert_alike(&device, &start, 5, 1e-3);
        }
    }
}

#[test]
fn largest_terrain_runs_within_guaranteed_limits_or_is_refused() {
    if device().is_none() {
        return;
    }
    let open = |limits: wgpu::Limits| Device::open_with(|_| limits.clone()).unwrap_or_else(|error| panic!("{error}"));
    let side = 4096;
    let ground = |x: usize, y: usize| ((x / 64 + y / 64) % 7) as f32 * 20.0;
    let mut terrain = Terrain::bare(Grid::from_fn(side, side, ground), 4.0, Edge::Open);
    terrain.spread_sand(0.5);
    terrain.mask = Some(Grid::from_fn(side, side, |x, _| if x % 128 < 16 { 1.0 } else { 0.0 }));
    for mode in ["default", "published"] {
        let settings = [("water.rain_rate", "0.01"), ("water.mode", mode), ("thermal.mode", mode)];
        let mut start = simulation(terrain.clone(), &["water", "thermal"], &settings);
        start.slots.iter_mut().for_each(|slot| slot.limited = true);
        assert_alike(&open(wgpu::Limits::defaults()), &start, 1, 1e-3);
        let small = open(wgpu::Limits { max_storage_buffer_binding_size: 64 << 20, ..wgpu::Limits::defaults() });
        let refused = GpuSimulation::new(&small, &mut start).err().expect("a buffer would be too large");
        assert!(refused.to_string().contains("cannot hold a map of 4096 × 4096 cells"), "{refused}");
    }
}
