//! Tests of the contract that every process of the catalogue fulfils.

use std::sync::Arc;

use super::{IdleReason, catalogue, droplets, masked::masked_key, snow_melt::SnowMelt};
use crate::{
    core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Layer, Matter, Terrain},
    },
    generate::{Generator, TerrainParams, generate},
    params::{self, Parameter, Value, collect_parameters},
    process::{Process, saved_state::StateValue},
    simulation::Simulation,
};

/// Number of ticks of a short run.
const SHORT: usize = 8;

pub(super) fn hills(side: u32, edge: Edge) -> Terrain {
    let params = TerrainParams { width: side, height: side, edge, sand: 2.0, ..TerrainParams::default() };
    let params = TerrainParams { cell_size: 10.0 * 256.0 / side as f32, ..params };
    generate(&params, 3)
}

pub(super) fn simulation(terrain: &Terrain, key: &str, threads: usize) -> Simulation {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let mut simulation = Simulation::of(processes(), terrain.clone(), 11).with_pool(Arc::new(pool));
    simulation.slot_mut(key).expect("it is in the catalogue").enabled = true;
    simulation
}

/// Runs one process on one thread, as the tests themselves run in parallel.
pub(super) fn run_process(process: impl Process + 'static, terrain: Terrain, ticks: usize) -> Simulation {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads can be started");
    let mut simulation = Simulation::of(vec![Box::new(process)], terrain, 1).with_pool(Arc::new(pool));
    simulation.slots[0].enabled = true;
    (0..ticks).for_each(|_| simulation.tick());
    assert_eq!(simulation.fault(), None);
    simulation
}

pub(super) fn set(simulation: &mut Simulation, path: &str, value: &str) {
    params::set(&mut simulation.groups_mut(), path, value).unwrap_or_else(|error| panic!("{error}"));
}

/// Returns the settings under which a process adds no material, so that level ground stays level.
fn calm(key: &str) -> Vec<(String, String)> {
    let settings: &[(&str, &str)] = &[("fluvial.uplift_rate", "0")];
    let own = settings.iter().filter(|(path, _)| path.split('.').next() == Some(key));
    own.map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect()
}

/// Returns the catalogue and the example process of `CONTRIBUTING.md`.
fn processes() -> Vec<Box<dyn Process>> {
    let mut all = catalogue();
    all.push(Box::new(SnowMelt::default()));
    all
}

/// Returns a terrain rotated by 90° or mirrored.
pub(super) fn rotate_or_mirror(terrain: &Terrain, quarter: bool) -> Terrain {
    let (width, height) = (terrain.width(), terrain.height());
    let turn = |grid: &Grid| {
        if quarter {
            Grid::from_fn(height, width, |x, y| grid.at(y, height - 1 - x))
        } else {
            Grid::from_fn(width, height, |x, y| grid.at(width - 1 - x, y))
        }
    };
    Terrain { sources: Vec::new(), ..terrain.map(turn) }
}

/// Returns every process in each of its modes and laws.
pub(super) fn variants() -> Vec<(&'static str, Vec<(String, String)>)> {
    let mut variants = Vec::new();
    for process in processes() {
        let key = process.info().key;
        let all = collect_parameters((key, process.params()));
        let choices = |name: &str| -> Vec<Option<(String, String)>> {
            match all.iter().find(|parameter| parameter.name == name) {
                Some(found) => found.choices.iter().map(|choice| Some((found.path.clone(), choice.clone()))).collect(),
                None => vec![None],
            }
        };
        for mode in choices("mode") {
            for law in choices("law") {
                variants.push((key, mode.iter().chain(&law).cloned().collect()));
            }
        }
    }
    variants
}

pub(super) fn run(
    terrain: &Terrain,
    key: &str,
    settings: &[(String, String)],
    ticks: usize,
    threads: usize,
) -> Simulation {
    let mut simulation = simulation(terrain, key, threads);
    for (path, value) in settings {
        set(&mut simulation, path, value);
    }
    (0..ticks).for_each(|_| simulation.tick());
    assert_eq!(simulation.fault(), None);
    simulation
}

pub(super) fn bits(simulation: &Simulation) -> Vec<u32> {
    simulation.terrain.layers().flat_map(|(_, grid)| grid.iter().map(|value| value.to_bits())).collect()
}

pub(super) fn assert_healthy(simulation: &Simulation, what: &str) {
    for (layer, grid) in simulation.terrain.layers() {
        assert!(grid.iter().all(|value| value.is_finite()), "{what}: {} is not finite", layer.key());
        if layer.row().bounds.min >= 0.0 {
            let least = grid.iter().copied().fold(f32::INFINITY, f32::min);
            assert!(least >= 0.0, "{what}: {} is {least}", layer.key());
        }
    }
}

#[test]
fn ledger_balances_for_every_process() {
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let terrain = hills(64, edge);
        for (key, settings) in variants() {
            let simulation = run(&terrain, key, &settings, SHORT, 1);
            let solid = &simulation.ledger.solid;
            let (moved, lost) = (solid.sum(|row| row.moved), solid.sum(|row| row.lost));
            let writes = simulation.slots.iter().find(|slot| slot.enabled).map(|slot| slot.process.info().writes);
            let has_solid = writes.is_some_and(|all| all.iter().any(|layer| layer.row().matter == Matter::Solid));
            assert_eq!(moved > 0.0, has_solid, "{key} {settings:?} moved {moved} m³ of solid");
            let (water, unexplained) = (simulation.terrain.water_volume(), simulation.water_residual().abs());
            assert!(
                unexplained <= 1e-5 * water.max(1e-3),
                "{key} {settings:?} {edge:?}: {unexplained} of {water} m³ of water"
            );
            let residual = simulation.solid_residual().abs();
            assert!(residual <= 1e-5 * moved, "{key} {settings:?} {edge:?}: {residual} of {moved}");
            if settings.iter().any(|(path, value)| path.ends_with(".mode") && value == "default") {
                assert_eq!(lost, 0.0, "{key} {settings:?} loses mass");
            }
            let flows = solid.sum(|row| row.eroded - row.deposited - row.outflow - row.lost - row.carried);
            let flows = flows - simulation.terrain.suspended.total() * simulation.terrain.cell_area();
            assert!(
                flows.abs() <= 2e-5 * moved,
                "{key} {settings:?}: erosion differs from deposition plus outflow: {flows}"
            );
        }
    }
}

#[test]
fn simulation_resumed_from_saved_state_matches_bitwise() {
    let terrain = hills(64, Edge::Open);
    for (key, settings) in variants() {
        let mut stopped = run(&terrain, key, &settings, 6, 2);
        let mut whole = stopped.clone();
        (0..6).for_each(|_| whole.tick());
        let mut resumed = run(&terrain, key, &settings, 0, 1);
        (resumed.terrain, resumed.ledger) = (stopped.terrain.clone(), stopped.ledger.clone());
        resumed.set_clock(stopped.ticks(), stopped.simulated_seconds());
        for ((name, from), (other, to)) in stopped.state_values(&[key]).into_iter().zip(resumed.state_values(&[key])) {
            assert_eq!(name, other);
            match (from, to) {
                (StateValue::Cells(from), StateValue::Cells(to)) => to.copy_from_slice(from),
                (StateValue::Number(from), StateValue::Number(to)) => *to = *from,
                (StateValue::Count(from), StateValue::Count(to)) => *to = *from,
                _ => panic!("{key}: {name} changed its kind"),
            }
        }
        (0..6).for_each(|_| resumed.tick());
        assert_eq!(bits(&resumed), bits(&whole), "{key} {settings:?}");
        assert_eq!(resumed.ledger, whole.ledger, "{key} {settings:?}");
        assert_eq!(resumed.simulated_seconds(), whole.simulated_seconds(), "{key} {settings:?}");
    }
}

#[test]
fn layers_stay_valid_and_only_declared_layers_change() {
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let terrain = hills(64, edge);
        for (key, settings) in variants() {
            let simulation = run(&terrain, key, &settings, SHORT, 1);
            assert_healthy(&simulation, &format!("{key} {settings:?}"));
            let writes =
                processes().into_iter().find(|process| process.info().key == key).expect("listed").info().writes;
            for &layer in Layer::ALL.iter().filter(|layer| !writes.contains(layer)) {
                assert_eq!(simulation.terrain.layer(layer), terrain.layer(layer), "{key} changed {}", layer.key());
            }
        }
    }
}

/// Returns the terrain with noise added to a layer, within its bounds.
fn with_noise(terrain: &Terrain, layer: Layer) -> Terrain {
    let mut stream = RandomStream::new(5, "noise", layer as u64);
    let mut noisy = terrain.clone();
    noisy
        .layer_mut(layer)
        .iter_mut()
        .for_each(|cell| *cell = (*cell + 0.5 * stream.uniform()).min(1e6).fract().max(0.01));
    noisy
}

/// Layers that a process reads affect its result; all others change no bit of it.
#[test]
fn declared_reads_match_actual_dependencies() {
    let mut terrain = hills(32, Edge::Open);
    terrain.rain = Some(Grid::filled(32, 32, 1.0));
    terrain.water.fill(0.3);
    terrain.suspended.fill(0.02);
    // Bare rock on one side.
    terrain.sand.chunks_mut(32).for_each(|row| row[..16].fill(0.0));
    terrain.start = terrain.ground();
    let mut dry = terrain.clone();
    dry.water.fill(0.0);
    for process in processes() {
        let info = process.info();
        let own: Vec<_> = variants().into_iter().filter(|(key, _)| *key == info.key).collect();
        let reads = |layer: Layer| {
            let changes = |(key, settings): &(&str, Vec<(String, String)>), terrain: &Terrain| {
                let made = |terrain: &Terrain| run(terrain, key, settings, SHORT, 1).terrain;
                let (plain, noisy) = (made(terrain), made(&with_noise(terrain, layer)));
                info.writes.iter().any(|other| *other != layer && plain.layer(*other) != noisy.layer(*other))
            };
            own.iter().any(|variant| [&terrain, &dry].into_iter().any(|terrain| changes(variant, terrain)))
        };
        let found: Vec<Layer> = Layer::ALL.iter().copied().filter(|layer| reads(*layer)).collect();
        let mut declared = info.reads.to_vec();
        declared.sort();
        assert_eq!(found, declared, "{}", info.key);
    }
}

#[test]
fn process_disabled_mid_tick_completes_tick_bitwise() {
    // Large enough for several parts of a stage.
    let terrain = hills(600, Edge::Open);
    for (key, settings) in variants() {
        let ran = |switched_off_after: Option<usize>| {
            let mut run = run(&terrain, key, &settings, 1, 2);
            run.begin_tick();
            let process = run.slots.iter().position(|slot| slot.key() == key).expect("it is in the catalogue");
            (0..process).for_each(|process| assert!(run.advance(process)));
            let mut steps = 0;
            while Some(steps) != switched_off_after && !run.advance(process) {
                steps += 1;
            }
            if switched_off_after.is_some() {
                run.slots[process].enabled = false;
            }
            run.tick();
            assert!(run.between_ticks() && run.ticks() == 2);
            (bits(&run), run.ledger.clone(), steps)
        };
        let (wanted, ledger, steps) = ran(None);
        for after in [1, steps / 2, steps.saturating_sub(1)].into_iter().filter(|after| (1..=steps).contains(after)) {
            let (found, books, _) = ran(Some(after));
            assert!(found == wanted && books == ledger, "{key} {settings:?}: after {after} of {steps} steps");
        }
    }
}

#[test]
fn flat_bare_bedrock_stays_flat() {
    for edge in [Edge::Wall, Edge::Open] {
        let terrain = Terrain::bare(Grid::filled(48, 40, 100.0), 10.0, edge);
        for (key, settings) in variants() {
            // Published water erodes an open edge where it flows out.
            let info = processes().into_iter().map(|process| process.info()).find(|info| info.key == key);
            let flows = info.is_some_and(|info| info.writes.contains(&Layer::Water));
            if edge == Edge::Open && flows && settings.iter().any(|(_, value)| value == "published") {
                continue;
            }
            let settings = [settings, calm(key)].concat();
            let simulation = run(&terrain, key, &settings, SHORT, 1);
            assert!(simulation.terrain.ground() == terrain.ground(), "{key} {settings:?} {edge:?}");
        }
    }
}

#[test]
fn results_depend_on_seed_but_not_on_thread_count() {
    let terrain = hills(128, Edge::Open);
    for (key, settings) in variants() {
        let one = run(&terrain, key, &settings, 3, 1);
        for threads in [2, 4] {
            let other = run(&terrain, key, &settings, 3, threads);
            assert!(bits(&one) == bits(&other), "{key} {settings:?} differs on {threads} threads");
            assert_eq!(one.ledger, other.ledger, "{key} {settings:?} on {threads} threads");
        }
        // Only processes with particles draw random positions from the seed.
        if one.slots.iter().all(|slot| slot.process.counts().particles == 0) {
            continue;
        }
        let mut other = Simulation::new(terrain.clone(), 12).with_pool(Arc::new(
            rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads can be started"),
        ));
        other.slot_mut(key).expect("listed").enabled = true;
        settings.iter().for_each(|(path, value)| set(&mut other, path, value));
        (0..3).for_each(|_| other.tick());
        assert!(bits(&one) != bits(&other), "{key} does not depend on the seed");
    }
}

#[test]
fn idle_process_leaves_simulation_unchanged() {
    let bare = Terrain { sand: Grid::filled(48, 48, 0.0), ..hills(48, Edge::Open) };
    let sandy = hills(48, Edge::Open);
    let mut wet = bare.clone();
    wet.water.fill(0.5);
    let mut seen = Vec::new();
    for (key, mut settings) in variants() {
        for dry in [false, true] {
            let rain = if key == "runoff" { "runoff.rain" } else { "water.rain_rate" };
            settings.extend(dry.then(|| (rain.to_owned(), "0".to_owned())));
            for (name, terrain) in [("bare", &bare), ("sandy", &sandy), ("wet", &wet)] {
                let start = run(terrain, key, &settings, 0, 1);
                let slot = start.slots.iter().find(|slot| slot.key() == key).expect("it is in the catalogue");
                // Thin sand moves but forms no dunes.
                let reason = slot.process.idle_reason(terrain);
                let Some(idle) = reason.filter(|idle| !matches!(idle, IdleReason::ThinSand { .. })) else { continue };
                let after = run(terrain, key, &settings, 3, 1);
                assert!(bits(&after) == bits(&start), "{key} {settings:?} is idle on {name} ground and changes it");
                seen.push((key, name, dry, idle));
            }
        }
    }
    seen.sort_by_key(|(key, name, dry, _)| (*key, *name, *dry));
    seen.dedup();
    let wind = [false, true].map(|dry| ["bare", "wet"].map(|name| ("wind", name, dry, IdleReason::NoSand)));
    let water = [("runoff", "rain"), ("water", "rain_rate")]
        .map(|(key, rain)| ["bare", "sandy"].map(|name| (key, name, true, IdleReason::NoWater { rain })));
    let mut wanted: Vec<_> = wind.into_iter().chain(water).flatten().collect();
    wanted.sort_by_key(|(key, name, dry, _)| (*key, *name, *dry));
    assert_eq!(seen, wanted);
}

#[test]
fn processes_stay_stable_at_parameter_limits() {
    let terrain = hills(32, Edge::Open);
    for (key, settings) in variants() {
        let simulation = simulation(&terrain, key, 1);
        let numbers: Vec<Parameter> = simulation
            .groups()
            .into_iter()
            .filter(|(group, _)| *group == key)
            .flat_map(collect_parameters)
            .filter(|parameter| matches!(parameter.value, Value::Number(_)))
            .collect();
        let counts = numbers.iter().any(|parameter| parameter.name == "per_tick");
        for parameter in numbers {
            for end in [parameter.knob.min, parameter.knob.max] {
                // The range of a count that grows with the map is that of the largest map. A hundred particles per cell in one tick
                // test the same as a few thousand over many ticks.
                let end = if parameter.knob.grows { end.min(100.0 * terrain.bedrock.len() as f64) } else { end };
                let (per_tick, ticks) = if parameter.name == "per_tick" { (end, 2) } else { (8.0, 200) };
                let calm = calm(key);
                let brings = calm.iter().any(|(path, value)| *path == parameter.path && *value != end.to_string());
                let mut settings = [settings.clone(), calm].concat();
                if counts {
                    settings.push((format!("{key}.per_tick"), per_tick.to_string()));
                }
                settings.push((parameter.path.clone(), end.to_string()));
                let what = format!("{settings:?}");
                let simulation = run(&terrain, key, &settings, ticks, 1);
                assert_healthy(&simulation, &what);
                if !brings && settings.iter().all(|(_, value)| value != "published") {
                    let (low, high) = terrain.ground().min_max();
                    let (lowest, highest) = simulation.terrain.ground().min_max();
                    let tolerance = 0.05 * (high - low);
                    assert!(
                        lowest > low - tolerance && highest < high + tolerance,
                        "{what}: {lowest}..{highest} from {low}..{high}"
                    );
                }
            }
        }
    }
}

#[test]
fn partial_tick_is_shown_only_at_consistent_stages() {
    let terrain = hills(64, Edge::Open);
    let mut rain = simulation(&terrain, "droplets", 1);
    set(&mut rain, "droplets.per_tick", "200");
    rain.begin_tick();
    let droplets = rain.slots.iter().position(|slot| slot.key() == "droplets").expect("it is in the catalogue");
    let mut waves = 0;
    while !rain.advance(droplets) {
        waves += u32::from(rain.can_be_shown() && !rain.between_ticks());
    }
    assert!(waves > 2 && !rain.can_be_shown(), "{waves} waves");
    let mut blown = simulation(&terrain, "wind", 1);
    assert!(blown.can_be_shown());
    while blown.stage().is_some_and(|(_, stage)| stage != "transport") {}
    assert!(!blown.can_be_shown());
}

/// A parameter affects the layers if and only if it is not declared idle under the mode and law.
#[test]
fn process_parameters_have_effect_unless_declared_idle() {
    let mut idle = 0;
    for (key, mut settings) in variants() {
        let mut terrain = hills(32, Edge::Open);
        let process = processes().into_iter().find(|process| process.info().key == key).expect("listed");
        if process.info().moves_water {
            terrain.water.fill(0.3);
            terrain.suspended.iter_mut().step_by(2).for_each(|cell| *cell = 0.05);
        } else {
            // Wet ground is not deflated by wind, and droplets do not erode it.
            terrain.water[..32 * 8].fill(0.3);
        }
        if process.params().field("per_tick").is_some() {
            settings.push((format!("{key}.per_tick"), "200".to_owned()));
        }
        let plain = run(&terrain, key, &settings, SHORT, 1);
        let groups = plain.groups();
        let (_, params) = groups.into_iter().find(|(group, _)| *group == key).expect("it is in the catalogue");
        let declared = collect_parameters((key, params));
        for parameter in &declared {
            let others = match parameter.value {
                // A hundred thousand particles per tick are slow.
                Value::Number(_) if parameter.name == "per_tick" => vec!["8".to_owned()],
                Value::Number(_) => vec![parameter.knob.min.to_string(), parameter.knob.max.to_string()],
                Value::Switch(on) => vec![(!on).to_string()],
                _ => parameter.choices.clone(),
            };
            let changes = others.into_iter().any(|other| {
                let settings = [&settings[..], &[(parameter.path.clone(), other)]].concat();
                bits(&run(&terrain, key, &settings, SHORT, 1)) != bits(&plain)
            });
            if parameter.knob.idle(&declared).is_some() {
                assert!(!changes, "{} acts under {settings:?}", parameter.path);
                idle += 1;
            } else {
                assert!(changes || parameter.knob.indirect, "{} does nothing under {settings:?}", parameter.path);
            }
        }
    }
    assert!(idle > 25, "only {idle} were idle");
}

/// Returns the absolute curvature of the surface of ground and water, summed over the cells of a periodic map.
pub(super) fn roughness(terrain: &Terrain) -> f64 {
    let (ground, width, height) = (terrain.ground(), terrain.width(), terrain.height());
    let at = |x: usize, y: usize| {
        let index = y % height * width + x % width;
        f64::from(ground[index] + terrain.water[index])
    };
    let bend = |x: usize, y: usize| {
        let around = at(x + 1, y) + at(x + width - 1, y) + at(x, y + 1) + at(x, y + height - 1);
        (4.0 * at(x, y) - around).abs()
    };
    (0..width * height).map(|index| bend(index % width, index / width)).sum()
}

/// Returns the factor by which the roughness of the surface grows in 50 ticks with steps of `dt`.
pub(super) fn roughness_growth(process: Box<dyn Process>, terrain: &Terrain, dt: f32) -> f64 {
    let mut simulation = Simulation::of(vec![process], terrain.clone(), 11);
    simulation.slots[0].enabled = true;
    let [params, _] = simulation.slots[0].process.settings_mut();
    params::write(params, "dt", &Value::Number(f64::from(dt)));
    params::write(params, "per_tick", &Value::Number(200.0));
    // The flow must stay smooth, not its bed.
    params::write(params, "acceleration", &Value::Number(1.0));
    (0..50).for_each(|_| simulation.tick());
    assert_eq!(simulation.fault(), None);
    roughness(&simulation.terrain) / roughness(terrain)
}

/// Returns gentle periodic hills, on which unstable steps become visible.
pub(super) fn gentle() -> Terrain {
    let mut terrain = Terrain { cell_size: 1.0, ..hills(64, Edge::Wrap) };
    terrain.bedrock.iter_mut().for_each(|height| *height *= 0.1);
    terrain
}

/// With the largest stable step the surface does not become much rougher. For unconditionally stable schemes this also holds for a step
/// longer than the parameter range. Tests of the processes show that unstable steps do roughen it.
#[test]
fn largest_stable_dt_keeps_surface_smooth() {
    for (key, settings) in variants() {
        let mut terrain = gentle();
        let mut simulation = run(&terrain, key, &settings, 0, 1);
        let slot = simulation.slot_mut(key).expect("it is in the catalogue");
        if slot.process.info().writes.contains(&Layer::Water) {
            terrain.water.fill(2.0);
        }
        let own = collect_parameters((key, slot.process.params()));
        let Some(dt) = own.iter().find(|parameter| parameter.name == "dt") else { continue };
        let limit = slot.process.largest_stable_dt(&terrain);
        let dt = if limit.is_finite() { limit } else { 4.0 * dt.knob.max as f32 };
        let grown = roughness_growth(slot.process.clone(), &terrain, dt);
        assert!(
            grown < 1.2,
            "{key} {settings:?}: steps of {dt} (limit {limit}) increase the roughness by a factor of {grown}"
        );
    }
}

#[test]
fn restart_keeps_processes_and_resets_counts() {
    let mut run = Simulation::of(vec![Box::new(droplets::Droplets::default())], hills(32, Edge::Wall), 1);
    run.slots[0].enabled = true;
    run.tick();
    run.restart(hills(32, Edge::Wall), 2);
    assert_eq!(run.slots.iter().map(|slot| (slot.key(), slot.enabled)).collect::<Vec<_>>(), [("droplets", true)]);
    assert_eq!((run.ticks(), run.slots[0].process.counts()), (0, Default::default()));
}

#[test]
fn disabled_processes_change_nothing() {
    let terrain = hills(32, Edge::Open);
    let mut simulation = Simulation::new(terrain.clone(), 1);
    (0..5).for_each(|_| simulation.tick());
    assert_eq!(simulation.terrain, terrain);
    assert_eq!(simulation.ticks(), 5);
}

#[test]
fn stepping_by_stage_matches_whole_ticks() {
    let terrain = hills(64, Edge::Open);
    for (key, settings) in variants() {
        let whole = run(&terrain, key, &settings, 2, 1);
        let mut staged = run(&terrain, key, &settings, 0, 1);
        let mut names = Vec::new();
        while staged.ticks() < 2 {
            let (_, stage) = staged.stage().expect("a process is on");
            names.push(stage);
            let stages = staged.slots.iter().find(|slot| slot.enabled).map(|slot| slot.process.info().stages);
            let last = stages.is_some_and(|stages| stages.last().is_some_and(|last| last.name == stage));
            assert!(!staged.between_ticks() || last, "{key}: the tick ended with {stage}");
        }
        for stage in staged.slots.iter().filter(|slot| slot.enabled).flat_map(|slot| slot.process.info().stages) {
            assert!(names.contains(&stage.name), "{key}: {} never ran", stage.name);
        }
        assert!(bits(&whole) == bits(&staged), "{key}");
    }
}

#[test]
fn cloned_simulation_evolves_like_original() {
    let terrain = hills(64, Edge::Open);
    for (key, settings) in variants() {
        let mut original = run(&terrain, key, &settings, 2, 1);
        let mut copy = original.clone();
        original.tick();
        copy.tick();
        assert!(bits(&original) == bits(&copy), "{key}");
    }
}

/// Every parameter is fully declared, has its default within its range and survives conversion to text and back.
#[test]
fn parameters_are_fully_declared_and_round_trip_as_text() {
    let mut terrain = TerrainParams::default();
    params::assert_declared("terrain", &mut terrain);
    params::assert_declared("rivers", &mut crate::hydrology::network::RiverParams::default());
    params::assert_declared("range", &mut crate::simulation::grow::RangeParams::default());
    for mut process in processes() {
        let (info, [params, factors]) = (process.info(), process.settings_mut());
        params::assert_declared(info.key, params);
        params::assert_declared(masked_key(info.key), factors);
        let known: Vec<&str> = collect_parameters((info.key, params)).iter().map(|parameter| parameter.name).collect();
        assert!(
            collect_parameters((masked_key(info.key), factors)).iter().all(|factor| known.contains(&factor.name)),
            "{}",
            info.key
        );
    }
    assert_eq!(terrain, TerrainParams::default());
    assert_eq!(terrain.generator, Generator::Perlin);
}
