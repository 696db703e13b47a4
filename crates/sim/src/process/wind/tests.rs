//! Tests of the wind: against published results, and of the properties of the default mode.

use std::fs;

use super::{
    grains::{Grain, GrainBed, GrainState, GrainTally},
    law2020::{Law2020, TALL},
    *,
};
use crate::{
    process::{contract::run_process, water},
    simd::number::Real,
    simulation::Simulation,
};

fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn reference(name: &str) -> Vec<f64> {
    let values = data(name);
    values.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()
}

/// The wind of the published program.
const PUBLISHED: [f64; 2] = [std::f64::consts::SQRT_2; 2];

/// Returns bedrock and sand after the reference's first grains, run one after the other, in heights of 80 cells.
fn run_reference<R>(count: usize) -> (Vec<f64>, Vec<f64>)
where
    R: Real + PartialOrd + Into<f64>,
{
    let law = Law2020::<R>::new(&Params::default(), PUBLISHED, 1.0 / TALL);
    let layer = |name: &str| reference(name).into_iter().map(R::splat).collect::<Vec<R>>();
    let (mut bedrock, mut sand) = (layer("wind_bedrock0.f32"), layer("wind_sand0.f32"));
    let mut ground = GrainBed { bedrock: &mut bedrock, sand: &mut sand, width: 64, rows: 64 };
    let list = String::from_utf8(data("wind_particles.txt")).expect("it is text");
    for line in list.lines().filter(|line| !line.starts_with('#')).take(count) {
        let fields: Vec<f64> = line.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        let mut grain = Grain::new([fields[2], fields[1]].map(R::splat), PUBLISHED.map(R::splat));
        let (mut tally, mut steps) = (GrainTally::default(), 1);
        while law.step(&mut ground, &mut grain, &mut tally).state == GrainState::Moving {
            steps += 1;
        }
        if size_of::<R>() == 8 {
            assert_eq!(steps, fields[3] as u64, "steps of grain {}", fields[0]);
        }
    }
    let numbers = |layer: Vec<R>| layer.into_iter().map(Into::into).collect();
    (numbers(bedrock), numbers(sand))
}

fn worst(ours: &[f64], theirs: &[f64]) -> f64 {
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn published_grains_match_reference_in_f64() {
    for count in [1, 10, 200] {
        let (bedrock, sand) = run_reference::<f64>(count);
        // Half a unit in the last place of the numbers in the files.
        assert!(worst(&sand, &reference(&format!("wind_sand_after{count}.f32"))) < 4e-9, "sand after {count}");
        assert!(worst(&bedrock, &reference(&format!("wind_bedrock_after{count}.f32"))) < 4e-8, "rock after {count}");
    }
}

#[test]
fn published_grains_approximate_reference_in_f32() {
    let start = reference("wind_sand0.f32");
    let theirs = reference("wind_sand_after10.f32");
    let (_, sand) = run_reference::<f32>(10);
    assert!(worst(&sand, &theirs) <= 2e-3 * worst(&start, &theirs));
    let theirs = reference("wind_sand_after200.f32");
    let (_, sand) = run_reference::<f32>(200);
    let squares = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    assert!(squares(&sand, &theirs) <= 0.03 * squares(&start, &theirs));
    let total = |sand: &[f64]| sand.iter().sum::<f64>();
    assert!((total(&sand) / total(&theirs) - 1.0).abs() <= 1e-5);
}

fn blow(terrain: Terrain, params: Params, ticks: usize) -> Simulation {
    run_process(Wind::with(params), terrain, ticks)
}

fn flat(side: usize, cell_size: f32, edge: Edge) -> Terrain {
    Terrain::bare(Grid::filled(side, side, 0.0), cell_size, edge)
}

/// Adds a paraboloid of sand.
fn heap(terrain: &mut Terrain, [x, y]: [f32; 2], radius: f32, height: f32) {
    let width = terrain.width();
    for (index, sand) in terrain.sand.iter_mut().enumerate() {
        let (dx, dy) = ((index % width) as f32 - x, (index / width) as f32 - y);
        *sand += height * (1.0 - (dx * dx + dy * dy) / (radius * radius)).max(0.0);
    }
    terrain.start = terrain.ground();
}

/// Replaces the bedrock by a pyramid.
fn pyramid(terrain: &mut Terrain, half: f32, height: f32) {
    let (width, middle) = (terrain.width(), 0.5 * terrain.width() as f32);
    for (index, bedrock) in terrain.bedrock.iter_mut().enumerate() {
        let (dx, dy) = ((index % width) as f32 + 0.5 - middle, (index / width) as f32 + 0.5 - middle);
        *bedrock = height * (1.0 - dx.abs().max(dy.abs()) / half).max(0.0);
    }
    terrain.start = terrain.ground();
}

#[test]
fn small_heap_erodes_away_and_large_heap_survives() {
    let height_after = |radius: f32, height: f32| {
        let mut terrain = flat(96, 2.0, Edge::Wrap);
        heap(&mut terrain, [48.0, 48.0], radius, height);
        let params = Params { direction: 0.0, capacity: 0.25, ..Params::default() };
        blow(terrain, params, 600).terrain.sand.min_max().1
    };
    let (small, large) = (height_after(5.0, 1.0), height_after(18.0, 9.0));
    assert!(small < 0.3, "a heap of 1 m is still {small} m high");
    assert!(large > 6.0, "a heap of 9 m is only {large} m high");
}

#[test]
fn flat_sand_sheet_forms_dunes() {
    let mut terrain = flat(96, 10.0, Edge::Open);
    terrain.spread_sand(8.0);
    let simulation = blow(terrain, Params { capacity: 4.0, ..Params::default() }, 2500);
    let (low, high) = simulation.terrain.sand.min_max();
    assert!(high - low > 15.0, "sand from {low} m to {high} m");
}

#[test]
fn wind_conserves_sand_and_books_open_border_outflow() {
    for (edge, refeed) in [(Edge::Wrap, false), (Edge::Open, true), (Edge::Open, false), (Edge::Wall, false)] {
        let mut terrain = flat(64, 5.0, edge);
        terrain.spread_sand(2.0);
        heap(&mut terrain, [20.0, 30.0], 14.0, 9.0);
        let params = Params { refeed, abrasion: 0.0, ..Params::default() };
        let simulation = blow(terrain.clone(), params, 60);
        let row = simulation.ledger.solid.rows[INFO.key];
        let total = simulation.terrain.sand.total() * simulation.terrain.cell_area();
        let accounted = total + row.outflow + row.carried;
        let start = terrain.sand.total() * terrain.cell_area();
        assert!((accounted / start - 1.0).abs() < 1e-6, "{edge:?} {refeed}: {accounted} of {start}");
        assert_eq!(row.lost, 0.0);
        assert_eq!(row.outflow > 0.0, edge == Edge::Open && !refeed, "{edge:?} {refeed}: {}", row.outflow);
        assert!(row.carried > 0.0);
        let moved = simulation.ledger.solid.sum(|row| row.moved);
        assert!(simulation.solid_residual().abs() < 1e-6 * moved, "{edge:?} {refeed}");
    }
}

const LAWS: [WindLaw; 2] = [WindLaw::_2020, WindLaw::BoundaryLayer];
/// Default mode and published laws.
const FORMS: [(Mode, WindLaw); 3] = [
    (Mode::Corrected, WindLaw::BoundaryLayer),
    (Mode::Published, WindLaw::_2020),
    (Mode::Published, WindLaw::BoundaryLayer),
];

#[test]
fn published_grains_lose_but_never_create_sand() {
    for (thickness, law) in LAWS.into_iter().flat_map(|law| [(0.02, law), (2.0, law)]) {
        let mut terrain = flat(64, 5.0, Edge::Open);
        pyramid(&mut terrain, 20.0, 60.0);
        terrain.spread_sand(thickness);
        // Grains of the boundary layer lose only their load when they stop before they leave the map.
        let params = Params { mode: Mode::Published, law, per_tick: 64, max_age: 20, ..Params::default() };
        let run = blow(terrain.clone(), params, 30);
        let row = run.ledger.solid.rows[INFO.key];
        assert!(row.moved > 0.0 && row.outflow > 0.0, "{law:?}: {row:?}");
        assert!(row.lost > 0.0, "{law:?}: {row:?}");
        let missing = row.eroded - row.deposited - row.outflow - row.lost;
        assert!(missing.abs() < 1e-5 * row.moved, "{law:?}: {missing} m³ of {row:?}");
        assert!(run.solid_residual().abs() < 1e-5 * row.moved, "{law:?}: {} m³", run.solid_residual());
    }
}

#[test]
fn grain_result_is_independent_of_interruptions() {
    for law in LAWS {
        let mut terrain = flat(48, 5.0, Edge::Open);
        terrain.spread_sand(2.0);
        heap(&mut terrain, [20.0, 20.0], 12.0, 8.0);
        let params = Params { mode: Mode::Published, law, per_tick: 40, ..Params::default() };
        let (mut whole, mut parts) = (blow(terrain.clone(), params.clone(), 0), blow(terrain, params, 0));
        let (late, mut calls) = (std::time::Instant::now(), 0);
        for _ in 0..2 {
            whole.tick();
            parts.begin_tick();
            while !parts.advance_until(0, Some(late)) {
                calls += 1;
            }
            parts.end_tick();
        }
        assert!(calls >= 40, "{law:?}: {calls} interruptions");
        assert!(whole.terrain == parts.terrain, "{law:?}");
    }
}

#[test]
fn pyramid_traps_sand_in_lee_and_abrades_at_edges() {
    let mut terrain = flat(96, 2.0, Edge::Wrap);
    pyramid(&mut terrain, 16.0, 26.0);
    terrain.spread_sand(0.5);
    let params = Params { direction: 0.0, abrasion: 0.1, ..Params::default() };
    let simulation = blow(terrain, params, 400);
    let sand = &simulation.terrain.sand;
    let mean = |columns: std::ops::Range<usize>| {
        let cells = columns.flat_map(|x| (40..56).map(move |y| sand.at(x, y)));
        cells.clone().sum::<f32>() / cells.count() as f32
    };
    let lee = mean(64..74);
    assert!(lee > 1.3 * 0.5, "{lee} m in the lee, 0.5 m at the start");
    // The edges run along the diagonals and end at the tip; the windward face lies between them.
    let wind = simulation.slots.iter().find(|slot| slot.key() == INFO.key).expect("it is in the catalogue");
    let worn = wind.process.map(Quantity::Abrasion, &simulation.terrain).expect("the wind keeps it");
    let of = |cells: Vec<(usize, usize)>| cells.iter().map(|&(x, y)| worn.at(x, y)).sum::<f32>() / cells.len() as f32;
    let tip = of((44..49).flat_map(|x| (46..50).map(move |y| (x, y))).collect());
    let face = of((34..42).flat_map(|x| (46..50).map(move |y| (x, y))).collect());
    let lee = of((52..62).flat_map(|x| (46..50).map(move |y| (x, y))).collect());
    assert!(tip > 1.2 * face && face > 1.5 * lee, "worn: tip {tip}, face {face}, lee {lee}");
}

#[test]
fn rotating_wind_rotates_result() {
    let mut terrain = flat(96, 2.0, Edge::Wrap);
    heap(&mut terrain, [48.0, 48.0], 20.0, 7.0);
    let run = |direction: f32| {
        let params = Params { direction, ..Params::default() };
        blow(terrain.clone(), params, 150).terrain.sand
    };
    let (along, across) = (run(0.0), run(90.0));
    // (x, y) maps to (y, x): a mirror image, which a wind along the other axis also gives.
    let turned = Grid::from_fn(96, 96, |x, y| across.at(y, x));
    let squares = |a: &Grid, b: &Grid| a.iter().zip(b.iter()).map(|(a, b)| f64::from((a - b) * (a - b))).sum::<f64>();
    let (difference, change) = (squares(&along, &turned), squares(&along, &terrain.sand));
    assert!(difference < 0.02 * change, "{difference} of {change}");
}

#[test]
fn wet_sand_does_not_blow() {
    let mut terrain = flat(64, 5.0, Edge::Wrap);
    heap(&mut terrain, [32.0, 32.0], 20.0, 8.0);
    let dry = terrain.clone();
    terrain.water.fill(0.5);
    let moved = |terrain: &Terrain| blow(terrain.clone(), Params::default(), 20).ledger.solid.rows[INFO.key].eroded;
    let (wet, dry) = (moved(&terrain), moved(&dry));
    // Sand steeper than the angle of repose still slides.
    assert!(wet < 0.05 * dry, "{wet} m³ wet, {dry} m³ dry");
}

/// Returns the sand that the wind lifts in the next ticks, in m³.
fn lifts(run: &mut Simulation, ticks: usize) -> f64 {
    let lifted = |run: &Simulation| run.ledger.solid.rows.get(INFO.key).map_or(0.0, |row| row.eroded);
    let before = lifted(run);
    (0..ticks).for_each(|_| run.tick());
    lifted(run) - before
}

#[test]
fn wet_sand_becomes_mobile_again_as_it_dries() {
    let mut terrain = flat(64, 5.0, Edge::Wrap);
    heap(&mut terrain, [32.0, 32.0], 20.0, 8.0);
    let run = |water: f32| {
        let params = Params { drying: 40.0 / 1.5e-5, saturation_length: 2.0, ..Params::default() };
        let mut run = blow(terrain.clone(), params, 0);
        run.terrain.water.fill(water);
        run.tick();
        // The water has run off.
        run.terrain.water.fill(0.0);
        run
    };
    let (mut dry, mut film, mut wet) = (run(0.0), run(0.0003), run(0.02));
    let [at_first, under_a_film, soaked] = [&mut dry, &mut film, &mut wet].map(|run| lifts(run, 10));
    assert!(soaked < 0.02 * at_first, "soaked sand gives {soaked} m³, dry sand {at_first} m³");
    // A third of a millimetre of water binds sand where the wind is weak.
    assert!(under_a_film < 0.7 * at_first && under_a_film > 2.0 * soaked, "{under_a_film} m³ of {at_first} m³");
    lifts(&mut wet, 400);
    let later = lifts(&mut wet, 10);
    assert!(later > 0.5 * at_first, "ten drying times later it gives {later} m³ of {at_first} m³");
}

#[test]
fn wind_ignores_lake_bed_and_lakes_trap_sand() {
    // Half of the map is a lake, level with a beach of sand, with or without hills on its floor.
    let lake = |hills: f32| {
        let mut terrain = flat(64, 5.0, Edge::Wrap);
        terrain.spread_sand(1.0);
        for (index, (rock, water)) in terrain.bedrock.iter_mut().zip(terrain.water.iter_mut()).enumerate() {
            if index % 64 < 32 {
                *rock = -20.0 - hills * ((index / 64) as f32 * 0.4).sin();
                *water = -*rock;
            }
        }
        terrain.start = terrain.ground();
        terrain
    };
    let (calm, hilly) = (lake(0.0), lake(15.0));
    let after = |terrain: &Terrain| blow(terrain.clone(), Params { direction: 0.0, ..Params::default() }, 5).terrain;
    let (plain, other, mut empty) = (after(&calm), after(&hilly), hilly.clone());
    empty.water.fill(0.0);
    let empty = after(&empty);
    let change = |one: &Terrain, other: &Terrain| -> f64 {
        // Away from the shore, where sand slides in.
        let beach = (0..64 * 64).filter(|cell| (44..=52).contains(&(cell % 64)));
        beach.map(|cell| f64::from((one.sand[cell] - other.sand[cell]).abs())).sum()
    };
    let (moved, by_floor, by_basin) = (change(&plain, &calm), change(&plain, &other), change(&plain, &empty));
    assert!(
        by_floor < 0.05 * moved && by_basin > 10.0 * by_floor,
        "{moved} m, {by_floor} m by the floor, {by_basin} m dry"
    );
    // Sand falls into the lake and is not lifted there.
    let in_lake = |terrain: &Terrain| -> f64 {
        (0..64 * 64).filter(|cell| cell % 64 < 32).map(|cell| f64::from(terrain.sand[cell])).sum()
    };
    assert!(in_lake(&other) > in_lake(&hilly), "{} m³ of {} m³ are left", in_lake(&other), in_lake(&hilly));
}

#[test]
fn wind_water_thermal_and_droplets_conserve_volume() {
    let params = crate::generate::TerrainParams { width: 128, height: 128, sand: 3.0, ..Default::default() };
    for edge in [Edge::Open, Edge::Wrap] {
        let params = crate::generate::TerrainParams { edge, ..params.clone() };
        let mut simulation = Simulation::new(crate::generate::generate(&params, 4), 4);
        for slot in &mut simulation.slots {
            slot.enabled = slot.key() != "runoff";
            if slot.key() == "water" {
                let rain = water::Params { rain_rate: 1e-4, ..water::Params::default() };
                slot.process = Box::new(water::Water::with(rain));
            }
        }
        (0..400).for_each(|_| simulation.tick());
        let (solid, water) = (&simulation.ledger.solid, &simulation.ledger.water);
        let moved = solid.sum(|row| row.moved);
        assert!(solid.rows[INFO.key].moved > 0.0);
        assert!(
            simulation.solid_residual().abs() <= 1e-5 * moved,
            "{edge:?}: {} of {moved}",
            simulation.solid_residual()
        );
        let came = water.sum(|row| row.inflow);
        assert!(
            simulation.water_residual().abs() <= 1e-5 * came,
            "{edge:?}: {} of {came}",
            simulation.water_residual()
        );
    }
}

#[test]
fn wind_supports_maps_of_any_size() {
    for (width, height) in [(1, 1), (1, 7), (5, 1), (3, 4), (17, 2)] {
        for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
            for (mode, law) in FORMS {
                let mut terrain = Terrain::bare(Grid::filled(width, height, 3.0), 2.0, edge);
                terrain.spread_sand(1.0);
                let params = Params { mode, law, per_tick: 40, direction: 30.0, ..Params::default() };
                let simulation = blow(terrain, params, 3);
                assert!(simulation.terrain.sand.iter().all(|sand| sand.is_finite() && *sand >= 0.0));
                assert!(simulation.solid_residual().abs() < 1e-6 * simulation.ledger.solid.start, "{law:?} {edge:?}");
            }
        }
    }
}

#[test]
fn recording_tracks_does_not_affect_wind() {
    for (mode, law) in FORMS {
        let mut terrain = flat(48, 5.0, Edge::Wrap);
        terrain.spread_sand(2.0);
        heap(&mut terrain, [20.0, 20.0], 12.0, 8.0);
        let params = Params { mode, law, per_tick: 200, tracks: 12, ..Params::default() };
        let unwatched = blow(terrain.clone(), params.clone(), 2);
        let mut watched = blow(terrain, params, 0);
        watched.watched = true;
        (0..2).for_each(|_| watched.tick());
        let tracks = |simulation: &Simulation| -> usize {
            simulation.slots.iter().map(|slot| slot.process.tracks().len()).sum()
        };
        assert!((6..=12).contains(&tracks(&watched)), "{law:?}: {} tracks", tracks(&watched));
        assert_eq!(tracks(&unwatched), 0);
        assert!(watched.terrain == unwatched.terrain, "{law:?}: watching changes the sand");
    }
}

#[test]
fn followed_grain_moves_downwind_in_published_mode() {
    let terrain = crate::generate::generate(&crate::generate::TerrainParams::default(), 2);
    for law in LAWS {
        let params = Params { mode: Mode::Published, law, ..Params::default() };
        let heading = Weather::mean(&params).heading;
        let (width, height) = (terrain.width() as f32, terrain.height() as f32);
        let trajectory =
            Wind::with(params).follow_one(&terrain, (3, 1), [0.5 * width, 0.5 * height]).unwrap_or_default();
        assert!(trajectory.len() > 3, "{law:?}: {} steps", trajectory.len());
        let came = [0, 1].map(|axis| trajectory[trajectory.len().min(8) - 1].place[axis] - 0.5 * [width, height][axis]);
        assert!(came[0] * heading[0] + came[1] * heading[1] > 0.0, "{law:?}: {came:?} against {heading:?}");
        assert!(trajectory.iter().all(|moment| moment.load >= 0.0 && moment.water.is_none()));
    }
    assert_eq!(Wind::default().follow_one(&terrain, (3, 1), [40.0, 40.0]), None);
}

#[test]
fn wind_law_applies_only_in_published_mode() {
    let mut terrain = flat(48, 5.0, Edge::Wrap);
    terrain.spread_sand(2.0);
    heap(&mut terrain, [20.0, 20.0], 12.0, 8.0);
    let after = |mode, law| blow(terrain.clone(), Params { mode, law, ..Params::default() }, 5).terrain;
    let [default, published] = [Mode::Corrected, Mode::Published]
        .map(|mode| LAWS.map(|law| after(mode, law)))
        .map(|[one, other]| one == other);
    assert!(default && !published);
}
