//! Tests of coupled processes on one terrain: closed ledger, robustness to any setting, valley formation.

use crate::{
    core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Terrain},
    },
    generate::{Generator, TerrainParams, generate},
    params::{Value, collect_parameters, write},
    process::{
        Mode,
        contract::{assert_healthy, set},
        thermal, water,
    },
    simulation::Simulation,
};

fn enable(simulation: &mut Simulation, keys: &[&str]) {
    for slot in &mut simulation.slots {
        slot.enabled = keys.contains(&slot.key());
    }
}

/// Returns the residuals of the solid and water ledgers as multiples of their tolerances: 1e-5 of the volume moved or added, plus the
/// rounding of the volume on the map, 6e-8 in each of up to 8000 steps.
fn residuals(simulation: &Simulation) -> (f64, f64) {
    let (ledger, terrain) = (&simulation.ledger, &simulation.terrain);
    let (moved, came) = (ledger.solid.sum(|row| row.moved), ledger.water.sum(|row| row.inflow));
    let solid = simulation.solid_residual().abs() / (1e-5 * moved + 1e-7 * terrain.solid_volume()).max(1e-3);
    (solid, simulation.water_residual().abs() / (1e-5 * came + 1e-5 * terrain.water_volume()).max(1e-3))
}

#[test]
fn combined_erosion_conserves_volume_over_5000_ticks() {
    let params = TerrainParams { generator: Generator::Fbm, ..TerrainParams::default() };
    let mut simulation = Simulation::new(generate(&params, 2), 2);
    enable(&mut simulation, &["droplets", "water", "thermal"]);
    set(&mut simulation, "droplets.per_tick", "40");
    (0..5000).for_each(|_| simulation.tick());
    let ledger = &simulation.ledger;
    let (moved, came) = (ledger.solid.sum(|row| row.moved), ledger.water.sum(|row| row.inflow));
    let (solid, water) = (simulation.solid_residual().abs() / moved, simulation.water_residual().abs() / came);
    assert!(solid <= 1e-5 && water <= 1e-5, "solid {solid:e}, water {water:e}");
}

#[test]
fn grid_processes_stay_stable_at_random_settings() {
    let mut stream = RandomStream::new(5, "settings", 0);
    for number in 0..200 {
        let edge = [Edge::Wall, Edge::Open, Edge::Wrap][number % 3];
        let params = TerrainParams { width: 64, height: 64, cell_size: 10.0, sand: 2.0, edge, ..Default::default() };
        let start = generate(&params, number as u64);
        let mut simulation = Simulation::new(start, 1);
        let keys: &[&str] = if number % 4 == 3 { &["runoff", "thermal"] } else { &["water", "thermal"] };
        enable(&mut simulation, keys);
        let settings: Vec<(String, String)> = simulation
            .groups()
            .into_iter()
            .filter(|(key, _)| keys.contains(key))
            .flat_map(collect_parameters)
            // Without substeps, published water is unstable.
            .filter(|parameter| parameter.path != "water.substeps")
            .map(|parameter| {
                let unit = stream.uniform();
                let value = match parameter.value {
                    Value::Number(_) => {
                        let knob = parameter.knob;
                        let value = knob.min + f64::from(unit) * (knob.max - knob.min);
                        if parameter.whole { value.round().to_string() } else { value.to_string() }
                    }
                    Value::Switch(_) => (unit < 0.5).to_string(),
                    Value::Choice(_) => parameter.choices[(unit * parameter.choices.len() as f32) as usize].clone(),
                    Value::Color(_) => unreachable!("processes have no colours"),
                };
                (parameter.path, value)
            })
            .collect();
        for (path, value) in &settings {
            set(&mut simulation, path, value);
        }
        // In corrected mode, scales dt so that a tick is as long as on a map with 256 cells per side.
        let is_corrected = settings.iter().any(|(path, value)| path == "water.mode" && value == "default");
        if let (true, Some(water), Some((_, dt))) =
            (is_corrected, simulation.slot_mut("water"), settings.iter().find(|(path, _)| path == "water.dt"))
        {
            let [params, _] = water.process.settings_mut();
            write(params, "dt", &Value::Number(4.0 * dt.parse::<f64>().expect("it was set")));
        }
        let before = simulation.terrain.ground().min_max();
        (0..500).for_each(|_| simulation.tick());
        assert_healthy(&simulation, &format!("{settings:?}"));
        let (solid, water) = residuals(&simulation);
        assert!(solid <= 0.1 && water <= 0.1, "{settings:?}: solid {solid:e}, water {water:e}");
        // Deposits of a corrected process never rise above their source. Erosion never goes below the base level of its water, unless
        // a sea floods the map.
        if settings.iter().all(|(_, value)| value != "published") {
            let ((low, high), (lowest, highest)) = (before, simulation.terrain.ground().min_max());
            let tolerance = 0.05 * (high - low);
            let sea =
                settings.iter().find(|(path, _)| path == "water.sea_level").map(|(_, level)| level.parse::<f32>());
            let flooded = edge == Edge::Open && sea.is_some_and(|level| level.is_ok_and(|level| level > low));
            assert!(
                (flooded || lowest > low - tolerance) && highest < high + tolerance,
                "{settings:?}: {lowest}..{highest} from {low}..{high}"
            );
        }
    }
}

/// Returns the exponents e of the cross-profiles height ∝ distance^e of the valleys on a slope that falls along y, and the slopes of
/// their steepest walls, both in ascending order.
fn valleys(terrain: &Terrain) -> [Vec<f64>; 2] {
    const REACH: usize = 5;
    /// Height above the floor at `REACH` cells from which a valley counts, in metres.
    const DEEP: f64 = 2.0;
    let ground = terrain.ground();
    let height = |x: usize, y: usize| f64::from(ground.at(x, y));
    let (mut exponents, mut walls) = (Vec::new(), Vec::new());
    for y in 10..ground.height() - 10 {
        for x in REACH..ground.width() - REACH {
            let floor = height(x, y);
            if (x - REACH..=x + REACH).any(|other| other != x && height(other, y) <= floor) {
                continue;
            }
            let rises: Vec<f64> =
                (1..=REACH).map(|away| 0.5 * (height(x - away, y) + height(x + away, y)) - floor).collect();
            if rises[REACH - 1] < DEEP {
                continue;
            }
            let points = rises.iter().enumerate().map(|(index, rise)| ((index as f64 + 1.0).ln(), rise.ln()));
            let count = REACH as f64;
            let (sum_x, sum_y) = points.clone().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
            let (mean_x, mean_y) = (sum_x / count, sum_y / count);
            let both: f64 = points.clone().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
            exponents.push(both / points.map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>());
            let steps = (1..=REACH).flat_map(|away| {
                let out = height(x + away, y) - height(x + away - 1, y);
                [out, height(x - away, y) - height(x - away + 1, y)]
            });
            walls.push(steps.fold(0.0, f64::max) / f64::from(terrain.cell_size));
        }
    }
    exponents.sort_by(f64::total_cmp);
    walls.sort_by(f64::total_cmp);
    [exponents, walls]
}

#[test]
fn thermal_erosion_widens_slots_into_v_shaped_valleys() {
    let params = TerrainParams {
        generator: Generator::DiamondSquare,
        width: 128,
        height: 128,
        cell_size: 1.0,
        relief: 0.8,
        hurst: 0.9,
        ..TerrainParams::default()
    };
    let mut start = generate(&params, 7);
    for (index, bedrock) in start.bedrock.iter_mut().enumerate() {
        *bedrock += 0.3 * (index / 128) as f32;
    }
    start.start = start.ground();
    let after = |combined: bool| {
        let mut simulation = Simulation::new(start.clone(), 7);
        enable(&mut simulation, if combined { &["water", "thermal"] } else { &["water"] });
        let mode = Mode::Published;
        for slot in &mut simulation.slots {
            match slot.key() {
                "water" => {
                    let params = water::Params { mode, rain_rate: 0.002, ..Default::default() };
                    slot.process = Box::new(water::Water::with(params));
                }
                "thermal" => {
                    let params = thermal::Params { mode, rate: 1.0, ..Default::default() };
                    slot.process = Box::new(thermal::Thermal::with(params));
                }
                _ => {}
            }
        }
        (0..1000).for_each(|_| simulation.tick());
        valleys(&simulation.terrain)
    };
    let median = |values: &[f64]| values[values.len() / 2];
    let [exponents, walls] = after(true);
    let (exponent, wall) = (median(&exponents), median(&walls));
    assert!(exponents.len() > 30 && (0.9..=1.3).contains(&exponent) && wall < 3.0, "{exponent}, walls of {wall}");
    // A floor one cell wide between walls of 79° and more with level tops.
    let [exponents, walls] = after(false);
    let (exponent, wall) = (median(&exponents), median(&walls));
    assert!(walls.len() > 30 && exponent < 0.3 && wall > 5.0, "{exponent}, walls of {wall}");
}

/// Returns a deep sea next to a rock cliff. Its waves are so fast that a tick of the water simulates less time than set.
fn sea_beside_a_cliff() -> Terrain {
    let ground = Grid::from_fn(384, 384, |x, _| if x < 48 { 3600.0 } else { 0.0 });
    let mut terrain = Terrain::bare(ground, 10.0, Edge::Wall);
    terrain.water = Grid::from_fn(384, 384, |x, _| if x < 48 { 0.0 } else { 3000.0 });
    terrain
}

#[test]
fn thermal_erosion_uses_water_time_unless_own_time_is_set() {
    let run = |keys: &[&str], settings: &[(&str, &str)]| {
        let mut simulation = Simulation::new(sea_beside_a_cliff(), 1);
        enable(&mut simulation, keys);
        settings.iter().for_each(|(path, value)| set(&mut simulation, path, value));
        (0..20).for_each(|_| simulation.tick());
        let seconds = |key: &str| {
            simulation.slots.iter().find(|slot| slot.key() == key).expect("it is there").process.counts().seconds
        };
        (seconds("water"), seconds("thermal"), simulation.simulated_seconds(), simulation.terrain.bedrock.total())
    };
    let stated = |dt: f64| 20.0 * dt * 384.0 * 10.0 / 256.0;
    let same = |one: f64, other: f64| (one - other).abs() <= 1e-5 * other;
    let long = ("water.dt", "0.05");
    let (water, thermal, clock, followed) = run(&["water", "thermal"], &[long]);
    let acceleration = f64::from(water::Params::default().acceleration);
    let bed = acceleration * water;
    assert!(water < 0.9 * stated(0.05) && same(thermal, bed) && same(clock, bed), "{water}, {thermal}, {clock}");
    let (water, thermal, clock, apart) = run(&["water", "thermal"], &[long, ("thermal.own_time", "true")]);
    assert!(same(thermal, stated(0.02)) && same(clock, acceleration * water), "{water}, {thermal}, {clock}");
    let (none, thermal, clock, alone) = run(&["thermal"], &[("thermal.dt", "0.02")]);
    assert!(none == 0.0 && same(thermal, stated(0.02)) && same(clock, thermal), "{thermal}, {clock}");
    // Rock fails in proportion to the simulated time, with or without water.
    assert!(followed != apart && alone < sea_beside_a_cliff().bedrock.total(), "{followed}, {apart}, {alone}");
}

#[test]
fn simulated_time_per_tick_depends_on_enabled_processes() {
    let terrain = Terrain::bare(Grid::filled(64, 64, 1.0), 10.0, Edge::Wall);
    let acceleration = f64::from(water::Params::default().acceleration);
    for (keys, wanted) in [
        // A droplet is 5 cm of water on one cell; heavy rain is 1 cm per hour.
        (["droplets"].as_slice(), 1000.0 * 0.05 / 4096.0 * 360_000.0),
        // 10 m at 1 m/s.
        (["runoff"].as_slice(), 10.0),
        (["thermal"].as_slice(), 0.02 * 64.0 * 10.0 / 256.0),
        (["droplets", "thermal"].as_slice(), 0.02 * 64.0 * 10.0 / 256.0),
        (["droplets", "water"].as_slice(), acceleration * 0.02 * 64.0 * 10.0 / 256.0),
    ] {
        let mut simulation = Simulation::new(terrain.clone(), 1);
        enable(&mut simulation, keys);
        (0..3).for_each(|_| simulation.tick());
        let seconds = simulation.simulated_seconds();
        assert!((seconds / (3.0 * wanted) - 1.0).abs() < 1e-5, "{keys:?}: {seconds}, not {}", 3.0 * wanted);
    }
}

#[test]
fn droplets_fill_lake_and_water_ledger_balances() {
    let bowl = Grid::from_fn(64, 64, |x, y| 0.02 * ((x as f32 - 31.5).powi(2) + (y as f32 - 31.5).powi(2)));
    let mut terrain = Terrain::bare(bowl, 10.0, Edge::Wall);
    let ground = terrain.ground();
    terrain.water.iter_mut().zip(ground.iter()).for_each(|(water, ground)| *water = (4.0 - ground).max(0.0));
    let gained = |flows: bool, settings: &[(&str, &str)]| {
        let mut simulation = Simulation::new(terrain.clone(), 1);
        enable(&mut simulation, if flows { &["droplets", "water"] } else { &["droplets"] });
        for (path, value) in [("water.rain_rate", "0"), ("water.evaporation_rate", "0"), ("droplets.per_tick", "100")] {
            set(&mut simulation, path, value);
        }
        settings.iter().for_each(|(path, value)| set(&mut simulation, path, value));
        let before = simulation.terrain.water_volume();
        (0..40).for_each(|_| simulation.tick());
        let gained = simulation.terrain.water_volume() - before;
        assert!(simulation.water_residual().abs() <= 1e-6 * before, "{}", simulation.water_residual());
        let row = simulation.ledger.water.rows.get("droplets").map_or(0.0, |row| row.inflow);
        assert!((row - gained).abs() <= 1e-6 * before, "{row} booked, {gained} m³ gained");
        gained
    };
    // 40 ticks of 100 droplets, each 5 cm of water on a cell of 100 m², part of which evaporates.
    let all = 100.0 * 40.0 * 0.05 * 100.0;
    for law in ["streams", "mass-transfer", "capacity"] {
        let gained = |flows, settings: &[(&str, &str)]| gained(flows, &[settings, &[("droplets.law", law)]].concat());
        let lake = gained(true, &[]);
        assert!((0.8 * all..=all * 1.000_001).contains(&lake), "{law}: {lake} of {all} m³");
        let twice = gained(true, &[("droplets.water", "0.1")]);
        // A growing lake intercepts droplets earlier, before as much of them has evaporated.
        assert!((twice / lake - 2.0).abs() < 0.01, "{law}: {twice}, not twice {lake}");
        assert!(gained(false, &[]).abs() < 1e-2, "{law}: a lake whose water does not flow stays");
        assert!(gained(true, &[("droplets.mode", "published")]).abs() < 1e-2);
    }
}
