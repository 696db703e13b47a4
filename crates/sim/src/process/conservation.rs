//! Conservation of solids under random settings of every process, measured from the layers alone.

use super::{
    catalogue,
    contract::{assert_healthy, set, simulation},
};
use crate::{
    core::{
        rng::RandomStream,
        terrain::{Edge, Terrain},
    },
    generate::{Generator, TerrainParams, generate},
    params::{Parameter, Value, collect_parameters, get},
    simulation::Simulation,
};

/// Number of random settings per process; `THALWEG_VECTORS` overrides it.
const VECTORS: u64 = 24;

/// Returns a random value from the range of a parameter; one in ten is an end of the range.
fn random_value(parameter: &Parameter, stream: &mut RandomStream) -> String {
    let (min, max) = (parameter.knob.min, parameter.knob.max);
    match &parameter.value {
        Value::Number(_) => {
            let part = match stream.below(20) {
                0 => 0.0,
                1 => 1.0,
                _ => f64::from(stream.uniform()),
            };
            let value =
                if parameter.knob.log && min > 0.0 { min * (max / min).powf(part) } else { min + (max - min) * part };
            let value = if parameter.whole { value.round() } else { value };
            value.clamp(min, max).to_string()
        }
        Value::Switch(_) => (stream.below(2) == 1).to_string(),
        _ => parameter.choices[stream.below(parameter.choices.len())].clone(),
    }
}

/// Returns a terrain of random generator, size and sand cover, one in three with water.
fn random_terrain(stream: &mut RandomStream) -> Terrain {
    let generators = [Generator::Perlin, Generator::Ridged, Generator::Plane, Generator::Step, Generator::Cone];
    let side = |stream: &mut RandomStream| 33 + stream.below(97) as u32;
    let params = TerrainParams {
        generator: generators[stream.below(generators.len())],
        width: side(stream),
        height: side(stream),
        cell_size: 0.5 * 200_f32.powf(stream.uniform()),
        edge: [Edge::Wall, Edge::Open, Edge::Wrap][stream.below(3)],
        sand: [0.0, 0.01, 1.0, 30.0][stream.below(4)],
        softness_value: stream.uniform(),
        ..TerrainParams::default()
    };
    let params = TerrainParams { relief: params.cell_size * 60.0 * stream.uniform(), ..params };
    let mut terrain = generate(&params, stream.bits().into());
    if stream.below(3) == 0 {
        let depth = 3.0 * stream.uniform();
        terrain.water.iter_mut().step_by(3).for_each(|cell| *cell = depth);
        terrain.suspended.iter_mut().step_by(9).for_each(|cell| *cell = 0.01 * depth);
    }
    terrain
}

/// Runs processes on a random terrain with random settings. Returns the simulation, its initial solid volume and the settings.
fn random_run(keys: &[&str], number: u64, ticks: usize) -> (Simulation, f64, String) {
    let mut stream = RandomStream::new(number, &keys.join("+"), 0);
    let terrain = random_terrain(&mut stream);
    let mut run = simulation(&terrain, keys[0], 1);
    let mut description = format!(
        "run {number} of {keys:?}, {}×{} cells of {} m, {:?}:",
        terrain.width(),
        terrain.height(),
        terrain.cell_size,
        terrain.edge
    );
    for key in keys {
        run.slot_mut(key).expect("it is in the catalogue").enabled = true;
        let group = run.groups().into_iter().find(|(group, _)| group == key).expect("it is in the catalogue");
        for parameter in collect_parameters(group) {
            let mut value = random_value(&parameter, &mut stream);
            if parameter.name == "per_tick" {
                value = (1 + stream.below(400)).to_string();
            }
            set(&mut run, &parameter.path, &value);
            description += &format!(" {}={value}", parameter.path);
        }
    }
    let start = run.terrain.solid_volume();
    (0..ticks).for_each(|_| run.tick());
    assert_eq!(run.fault(), None, "{description}");
    (run, start, description)
}

/// Returns the error in the solid volume measured from the layers, if there is one. A fraction of `whole`, in cubic metres, is tolerated.
fn fault(run: &Simulation, start: f64, whole: f64) -> Option<String> {
    let solid = &run.ledger.solid;
    let published = solid.rows.keys().any(|key| {
        let mode = get(&run.groups(), &format!("{key}.mode")).expect("every process has a mode");
        mode.value.to_string() == "published"
    });
    // Rounding error of the thickest cell: a layer cannot resolve smaller changes.
    let thickest = run.terrain.ground().iter().fold(0.0_f32, |most, height| most.max(height.abs()));
    let digits = f64::from(4.0 * thickest * f32::EPSILON) * run.terrain.cell_area();
    for (key, row) in &solid.rows {
        // Rivers may have deposited slightly more than their load.
        if row.carried < if key == "fluvial" { -digits } else { 0.0 } {
            return Some(format!("{key}: {} m³ are in transport", row.carried));
        }
        // Published laws destroy solids, and some create them; the wind never does.
        if row.lost != 0.0 && (!published || (*key == "wind" && row.lost < 0.0)) {
            return Some(format!("{key} lost {} m³", row.lost));
        }
    }
    let left = solid.sum(|row| row.outflow + row.lost + row.carried - row.inflow);
    let missing = run.terrain.solid_volume() + left - start;
    let moved = solid.sum(|row| row.moved);
    let allowed = (1e-6 * whole).min(1e-5 * moved + digits);
    (missing.abs() > allowed).then(|| format!("unexplained change of {missing} m³; start {start} m³, moved {moved} m³"))
}

fn vectors() -> u64 {
    std::env::var("THALWEG_VECTORS").map_or(VECTORS, |number| number.parse().expect("THALWEG_VECTORS is a number"))
}

/// Runs processes together under many random settings and collects the errors.
fn assert_solids_conserved(keys: &[&str], ticks: usize) {
    let faults = (0..vectors()).filter_map(|number| {
        let (run, start, description) = random_run(keys, number, ticks);
        assert_healthy(&run, &description);
        // Together, processes can move more than the initial volume.
        let moved = run.ledger.solid.sum(|row| row.moved);
        let whole = if keys.len() > 1 { start.max(moved) } else { start + run.ledger.solid.sum(|row| row.inflow) };
        fault(&run, start, whole).map(|fault| format!("{description}\n  {fault}"))
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{} of {} runs:\n{}", faults.len(), vectors(), faults.join("\n"));
}

#[test]
fn each_process_conserves_solids_at_random_settings() {
    catalogue().iter().for_each(|process| assert_solids_conserved(&[process.info().key], 25));
}

#[test]
fn combined_processes_conserve_solids_at_random_settings() {
    let keys: Vec<&str> = catalogue().iter().map(|process| process.info().key).collect();
    assert_solids_conserved(&keys, 15);
}

#[test]
fn settings_changed_mid_tick_conserve_solids() {
    for process in catalogue() {
        let key = process.info().key;
        let faults = (0..vectors()).filter_map(|number| {
            let (mut run, start, mut description) = random_run(&[key], number, 2);
            let mut stream = RandomStream::new(number, key, 1);
            let place = run.slots.iter().position(|slot| slot.key() == key).expect("it is in the catalogue");
            run.begin_tick();
            (0..place).for_each(|process| assert!(run.advance(process)));
            let steps = 1 + stream.below(6);
            for _ in 0..steps {
                run.advance(place);
            }
            description += &format!("\n  after {steps} steps of the third tick:");
            let group = run.groups().into_iter().find(|(group, _)| *group == key).expect("it is in the catalogue");
            let unchanged = ["mode", "per_tick"];
            let all = collect_parameters(group).into_iter().filter(|parameter| !unchanged.contains(&parameter.name));
            let changes: Vec<(String, String)> =
                all.map(|parameter| (parameter.path.clone(), random_value(&parameter, &mut stream))).collect();
            for (path, value) in changes {
                set(&mut run, &path, &value);
                description += &format!(" {path}={value}");
            }
            (0..2).for_each(|_| run.tick());
            assert_healthy(&run, &description);
            let whole = start + run.ledger.solid.sum(|row| row.inflow);
            fault(&run, start, whole).map(|fault| format!("{description}\n  {fault}"))
        });
        let faults: Vec<String> = faults.collect();
        assert!(faults.is_empty(), "{} of {} runs:\n{}", faults.len(), vectors(), faults.join("\n"));
    }
}
