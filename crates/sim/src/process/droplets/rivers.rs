//! Tests on fluvial terrain, on steep walls, and of the droplets' own streams.

use std::collections::BTreeSet;

use super::{tests::erode, *};
use crate::{
    core::{
        grid::Grid,
        terrain::{Edge, Source},
    },
    generate::{Generator, TerrainParams, generate},
    params::set,
    process::land::{TerrainMeasures, fluvial},
    simulation::Simulation,
};

#[test]
fn streams_law_preserves_fluvial_morphology() {
    let terrain = fluvial(256, 1);
    let start = TerrainMeasures::of(&terrain);
    let run = |law| {
        let run = erode(&terrain, &Params { law, length: terrain.cell_size, ..Params::default() }, 200, 7);
        (TerrainMeasures::of(&run.terrain), run.ledger.solid.rows[INFO.key].eroded)
    };
    let (mass, moved) = run(DropletLaw::MassTransfer);
    assert!(mass.pits - start.pits <= 0.002, "{start:?} became {mass:?}");
    let streams = erode(&terrain, &Params::default(), 200, 7);
    let (land, eroded) = (TerrainMeasures::of(&streams.terrain), streams.ledger.solid.rows[INFO.key].eroded);
    let message = format!("{start:?} became {land:?}, {eroded} of {moved} m³ eroded");
    assert!(eroded >= moved, "{message}");
    assert!(land.pits - start.pits <= 0.001 && land.depressions - start.depressions <= 0.005, "{message}");
    assert!((land.concavity - start.concavity).abs() <= 0.1 && land.straightness >= 0.9, "{message}");
    for (now, then) in land.slopes.into_iter().zip(start.slopes) {
        assert!((now / then - 1.0).abs() <= 0.2, "{message}");
    }
}

/// Returns a terrain with a step across the map, before and after erosion by a law.
fn step(rise: f32, softness: f32, law: DropletLaw) -> (Terrain, Terrain) {
    let ground = Grid::from_fn(96, 96, |x, y| {
        let slope = 0.05 * y as f32 + 0.02 * x as f32;
        if x < 48 { 100.0 + rise + slope } else { 100.0 + slope - 0.1 * x as f32 }
    });
    let mut terrain = Terrain::bare(ground, 1.0, Edge::Open);
    terrain.softness.fill(softness);
    let params = Params { law, length: 1.0, per_tick: 500, ..Params::default() };
    let after = erode(&terrain, &params, 40, 3).terrain;
    (terrain, after)
}

#[test]
fn cliff_develops_no_rim_or_moat() {
    for law in [DropletLaw::Streams, DropletLaw::MassTransfer] {
        let (before, after) = step(20.0, 0.5, law);
        let (start, ground) = (before.ground(), after.ground());
        for y in 8..88 {
            // No rim: the plateau rises nowhere; no moat: the plain is not eroded along the foot of the wall.
            let rim = (8..48).map(|x| ground.at(x, y) - start.at(x, y)).fold(f32::MIN, f32::max);
            assert!(rim <= 0.05, "{law:?}: the plateau rose by {rim} m in row {y}");
            let foot = (49..60).map(|x| ground.at(x, y) - start.at(x, y)).fold(f32::MAX, f32::min);
            assert!(foot >= -2.0, "{law:?}: the foot sank by {foot} m in row {y}");
        }
    }
}

#[test]
fn softer_cliff_loses_more_volume_to_streams() {
    let walls = |softness| {
        let (before, after) = step(20.0, softness, DropletLaw::Streams);
        let lost = |x: usize| (8..88).map(|y| before.ground().at(x, y) - after.ground().at(x, y)).sum::<f32>() / 80.0;
        (36..48).map(lost).sum::<f32>()
    };
    let (hard, middle, soft) = (walls(0.05), walls(0.5), walls(1.0));
    assert!(hard < 0.5 * middle && middle < 0.9 * soft, "{hard} {middle} {soft}");
}

#[test]
fn ground_without_droplets_stays_bitwise_unchanged() {
    let ground = Grid::from_fn(96, 96, |x, y| if (x / 3 + y / 5) % 2 == 0 { 60.0 } else { 0.0 });
    let mut terrain = Terrain::bare(ground, 1.0, Edge::Open);
    // It rains only in a corner enclosed by a wall.
    terrain.rain = Some(Grid::from_fn(96, 96, |x, y| if x < 20 && y < 20 { 1.0 } else { 0.0 }));
    for (x, y) in (0..96).flat_map(|y| (0..96).map(move |x| (x, y))).filter(|&(x, y)| x.max(y) <= 24) {
        terrain.bedrock[y * 96 + x] = if x.max(y) >= 22 { 500.0 } else { 0.3 * (x + y) as f32 };
    }
    terrain.start = terrain.ground();
    for law in [DropletLaw::Streams, DropletLaw::MassTransfer, DropletLaw::Capacity] {
        let params = Params { law, length: 1.0, per_tick: 200, ..Params::default() };
        let after = erode(&terrain, &params, 20, 1).terrain;
        let changed = |x: usize, y: usize| after.ground().at(x, y) != terrain.ground().at(x, y);
        assert!((0..20).any(|x| changed(x, x)), "{law:?}: nothing happened where it rains");
        let beyond = (0..96).flat_map(|y| (0..96).map(move |x| (x, y))).filter(|&(x, y)| x.max(y) > 40);
        assert_eq!(beyond.filter(|&(x, y)| changed(x, y)).count(), 0, "{law:?}");
    }
}

/// Height of a broad mountain: processes around its summit are independent of the terrain below.
fn mountain(x: f32, y: f32) -> f32 {
    500.0 - 1.5 * x.hypot(y) + 2.0 * (0.3 * x).sin() * (0.25 * y).cos()
}

#[test]
fn erosion_in_map_centre_is_independent_of_map_size() {
    let eroded = |law, side: usize| {
        let middle = side as f32 / 2.0;
        let ground = Grid::from_fn(side, side, |x, y| mountain(x as f32 - middle, y as f32 - middle));
        let terrain = Terrain::bare(ground, 5.0, Edge::Open);
        let per_tick = (side * side / 64) as u32;
        let after = erode(&terrain, &Params { law, per_tick, ..Params::default() }, 100, 5).terrain.ground();
        let inner = |place: usize| (place as f32 - middle).abs() < 20.0;
        let lost = (0..side * side).filter(|&cell| inner(cell % side) && inner(cell / side));
        lost.map(|cell| f64::from(terrain.bedrock[cell] - after[cell]).max(0.0)).sum::<f64>()
    };
    for law in [DropletLaw::Streams, DropletLaw::MassTransfer, DropletLaw::Capacity] {
        let own = eroded(law, 128);
        for side in [64, 256] {
            let ratio = eroded(law, side) / own;
            assert!((ratio - 1.0).abs() <= 0.05, "{law:?}: on {side} cells {ratio} times as much as on 128");
        }
    }
}

fn correlation(one: &Grid, other: &Grid) -> f64 {
    let numbers = |grid: &Grid| -> Vec<f64> { grid.iter().map(|value| f64::from(*value)).collect() };
    let (xs, ys, count) = (numbers(one), numbers(other), one.len() as f64);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(&xs), mean(&ys));
    let both: f64 = xs.iter().zip(&ys).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    both / (squares(&xs, mean_x) * squares(&ys, mean_y)).sqrt()
}

/// Returns the mean over each cell and its eight neighbours.
fn blurred(grid: &Grid) -> Grid {
    let around = [-1, 0, 1].map(|down| [-1, 0, 1].map(|across| (across, down))).concat();
    Grid::from_fn(grid.width(), grid.height(), |x, y| {
        let at = |&(across, down): &(isize, isize)| grid.at_clamped(x as isize + across, y as isize + down);
        around.iter().map(at).sum::<f32>() / 9.0
    })
}

#[test]
fn stream_pattern_is_independent_of_droplet_count() {
    let terrain = fluvial(256, 2);
    let streams = |params: Params, ticks| {
        let run = erode(&terrain, &params, ticks, u64::from(params.per_tick));
        (run.quantity(Quantity::StreamDischarge), eroded_volume(&run))
    };
    // Without momentum, and on nearly unchanging ground, all follow the same course. Meanders diverge, as with another seed.
    let still = Params { transfer: 0.0, entrainment: 0.1, ..Params::default() };
    for (params, blur, wanted) in [(still, false, 0.98), (Params::default(), true, 0.85)] {
        let (few, eroded) = streams(Params { per_tick: 1000, ..params.clone() }, 80);
        let (many, more) = streams(Params { per_tick: 4000, ..params }, 20);
        let similarity = if blur { correlation(&blurred(&few), &blurred(&many)) } else { correlation(&few, &many) };
        assert!(similarity >= wanted, "correlated by {similarity}");
        assert!((more / eroded - 1.0).abs() <= 0.15, "{more} m³ of ground for {eroded}");
        let land = terrain.cell_area() * terrain.bedrock.len() as f64;
        let largest = f64::from(few.min_max().1.max(many.min_max().1));
        assert!(largest > 0.02 * land && largest < land, "{largest} m² of {land} m² pass one cell");
    }
}

fn eroded_volume(run: &Simulation) -> f64 {
    run.ledger.solid.rows[INFO.key].eroded
}

#[test]
fn stream_waves_match_scalar_reference_implementation() {
    let terrain = fluvial(256, 3);
    let waves = eroded_volume(&erode(&terrain, &Params::default(), 60, 3)) / terrain.cell_area();
    let (mut plain, mut stream) = (scalar::ScalarStreams::new(&terrain), RandomStream::new(3, "plain", 0));
    (0..60).for_each(|_| plain.tick(&terrain, &Params::default(), 1000, &mut stream));
    assert!((waves / plain.eroded - 1.0).abs() <= 0.05, "{waves} and {} m eroded", plain.eroded);
}

#[test]
fn stream_discharge_scales_with_contributing_area() {
    // A plane with a central groove collects the water of both sides.
    let ground = Grid::from_fn(128, 64, |x, y| 200.0 - x as f32 + 0.5 * (y as f32 - 32.0).abs());
    let terrain = Terrain::bare(ground, 10.0, Edge::Open);
    let params =
        Params { entrainment: 0.1, transfer: 0.0, per_tick: 2000, evaporation_rate: 0.001, ..Params::default() };
    let discharge = erode(&terrain, &params, 100, 1).quantity(Quantity::StreamDischarge);
    let passing = |x: usize| (24..41).map(|y| discharge.at(x, y)).sum::<f32>();
    let per_column = 64.0 * 100.0;
    // The farthest rows take 64 columns to reach the groove.
    for x in [80, 100, 120] {
        let share = passing(x) / (x as f32 * per_column);
        assert!((0.6..=1.1).contains(&share), "column {x}: {share} of the land above");
    }
    assert!(passing(120) > 1.4 * passing(80));
}

#[test]
fn deferred_map_updates_match_eager_updates_bitwise() {
    // Read after every tick, or only at the end.
    let terrain = fluvial(64, 2);
    let run = |asks: bool| {
        let mut run = erode(&terrain, &Params { per_tick: 5, ..Params::default() }, 0, 1);
        for tick in 0..60 {
            if tick == 30 {
                // A tick without rain near the streams, and another renewal rate.
                let [params, _] = run.slots[0].process.settings_mut();
                crate::params::write(params, "renewal", &crate::params::Value::Number(0.2));
            }
            run.tick();
            if asks {
                drop(run.state_values(&[INFO.key]));
            }
        }
        let discharge = run.quantity(Quantity::StreamDischarge);
        (bits(&discharge), bits(&run.terrain.ground()))
    };
    let (asked, waited) = (run(true), run(false));
    assert!(asked == waited && asked.0.iter().any(|bits| *bits != 0));
}

#[test]
fn tick_completes_after_mid_tick_clone_or_law_change() {
    let terrain = fluvial(64, 2);
    let midway = || {
        let mut run = erode(&terrain, &Params { per_tick: 200, ..Params::default() }, 3, 1);
        run.begin_tick();
        (0..3).for_each(|_| assert!(!run.advance(0)));
        run
    };
    let finish = |run: &mut Simulation| {
        for process in 0..run.slots.len() {
            while !run.advance(process) {}
        }
        run.end_tick();
        run.tick();
        assert_eq!(run.fault(), None);
        (bits(&run.terrain.ground()), bits(&run.quantity(Quantity::StreamDischarge)))
    };
    let mut run = midway();
    let mut copy = run.clone();
    assert!(finish(&mut run) == finish(&mut copy));
    // To the streams, and away from them.
    for [then, now] in [["mass-transfer", "streams"], ["streams", "capacity"]] {
        let mut run = erode(&terrain, &Params { per_tick: 200, ..Params::default() }, 1, 1);
        let set = |run: &mut Simulation, law: &str| {
            set(&mut run.groups_mut(), "droplets.law", law).unwrap_or_else(|error| panic!("{error}"));
        };
        set(&mut run, then);
        run.tick();
        run.begin_tick();
        (0..3).for_each(|_| assert!(!run.advance(0)));
        set(&mut run, now);
        finish(&mut run);
    }
}

#[test]
fn droplets_build_a_delta_into_standing_water() {
    // A sand valley runs down into a lake with a sloping floor.
    let ground = |x: usize, y: usize| 60.0 - 0.4 * x as f32 + 0.02 * (y as f32 - 32.0).powi(2);
    let mut terrain = Terrain::bare(Grid::from_fn(128, 64, ground), 5.0, Edge::Wall);
    terrain.spread_sand(5.0);
    let level = 40.0;
    let bed = terrain.ground();
    terrain.water.iter_mut().zip(bed.iter()).for_each(|(water, bed)| *water = (level - bed).max(0.0));
    for law in [DropletLaw::Streams, DropletLaw::MassTransfer] {
        let droplets = Droplets::with(Params { law, per_tick: 300, ..Params::default() });
        let mut run = Simulation::of(
            vec![Box::new(droplets), Box::new(crate::process::water::Water::default())],
            terrain.clone(),
            1,
        );
        run.slots.iter_mut().for_each(|slot| slot.enabled = true);
        (0..60).for_each(|_| run.tick());
        assert_eq!(run.fault(), None);
        let after = run.terrain.ground();
        let rise = |x: usize| (24..41).map(|y| after.at(x, y) - bed.at(x, y)).sum::<f32>() / 17.0;
        // The shore is at column 62 in the middle of the valley.
        let (mouth, deep) = ((64..72).map(rise).sum::<f32>() / 8.0, (100..120).map(rise).sum::<f32>() / 20.0);
        assert!(mouth > 0.2 && mouth > 5.0 * deep.abs(), "{law:?}: {mouth} m at the mouth, {deep} m far out");
        // It slopes down into the lake: no bar forms before the mouth.
        let ground = |columns: std::ops::Range<usize>| {
            let cells = columns.flat_map(|x| (24..41).map(move |y| (x, y)));
            cells.map(|(x, y)| after.at(x, y)).fold(f32::MIN, f32::max)
        };
        let (before, behind) = (ground(54..60), ground(64..128));
        assert!(behind <= before, "{law:?}: a bar of {behind} m before a plain of {before} m");
    }
}

/// Returns a sand plain that falls by 2 m in 100 from left to right, with undulations, and a spring of 5 m³/s near its left border.
fn plain(seed: u64) -> Terrain {
    let params = TerrainParams {
        generator: Generator::FloodPlain,
        width: 512,
        height: 256,
        relief: 105.0,
        frequency: 4.0,
        feature_size: 0.5,
        sand: 60.0,
        ..TerrainParams::default()
    };
    let mut terrain = generate(&params, seed);
    terrain.sources = vec![Source { place: [0.03, 0.5], radius: 15.0, rate: 5.0, ticks: None }];
    terrain
}

/// Returns the path of most discharge from a cell of the map to an end: columns and rows, starting at the end.
fn trace_discharge(water: &Grid, from: [usize; 2], ends: impl Fn([isize; 2]) -> bool) -> Vec<[f64; 2]> {
    let most = water.iter().copied().fold(0.0, f32::max);
    let mut cost = vec![f32::INFINITY; water.len()];
    let (mut before, mut queue) = (vec![usize::MAX; water.len()], BTreeSet::new());
    let start = from[1] * water.width() + from[0];
    cost[start] = 0.0;
    queue.insert((0_u32, start));
    let mut end = start;
    while let Some((_, cell)) = queue.pop_first() {
        let [x, y] = [(cell % water.width()) as isize, (cell / water.width()) as isize];
        end = cell;
        if ends([x, y]) {
            break;
        }
        for (dx, dy) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))).filter(|&to| to != (0, 0)) {
            let (x, y) = (x + dx, y + dy);
            if x < 0 || y < 0 || x as usize >= water.width() || y as usize >= water.height() {
                continue;
            }
            let to = y as usize * water.width() + x as usize;
            let new = cost[cell] + ((dx * dx + dy * dy) as f32).sqrt() / (water[to] / most + 1e-4);
            if new < cost[to] {
                queue.remove(&(cost[to].to_bits(), to));
                (cost[to], before[to]) = (new, cell);
                queue.insert((new.to_bits(), to));
            }
        }
    }
    let path = std::iter::successors(Some(end), |&cell| Some(before[cell]).filter(|&cell| cell != usize::MAX));
    path.map(|cell| [(cell % water.width()) as f64, (cell / water.width()) as f64]).collect()
}

/// Returns a path without the corners of its steps from cell to cell.
fn smooth(path: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mean = |places: &[[f64; 2]]| [0, 1].map(|axis| places.iter().map(|place| place[axis]).sum::<f64>() / 9.0);
    path.windows(9).map(mean).collect()
}

fn far(one: [f64; 2], other: [f64; 2]) -> f64 {
    (one[0] - other[0]).hypot(one[1] - other[1])
}

/// Returns the length of a path over the distance between its ends.
fn sinuosity(path: &[[f64; 2]]) -> f64 {
    let smooth = smooth(path);
    let length: f64 = smooth.windows(2).map(|step| far(step[0], step[1])).sum();
    length / far(smooth[0], smooth[smooth.len() - 1])
}

/// Returns the parameters of the preset "Meandering river".
fn meandering_params() -> Params {
    Params { springs: true, rain_rate: 0.0, sediment_supply: 0.15, length: 20.0, ..Params::default() }
}

#[test]
fn river_on_plain_develops_meanders() {
    let mut simulation = erode(&plain(2), &meandering_params(), 0, 4);
    let (mut found, mut paths) = (Vec::new(), Vec::new());
    // Until the first large neck cutoff, during which the water has two courses.
    for _ in 0..5 {
        (0..200).for_each(|_| simulation.tick());
        let water = simulation.quantity(Quantity::StreamDischarge);
        let path = trace_discharge(&water, [15, 128], |[x, _]| x > 508);
        // One channel carries most of the water: the discharge through a column within three rows of the path.
        let spring = 5.0 / HEAVY_RAIN as f32;
        let crossing = |column: usize| {
            let near = |row: usize| {
                path.iter().any(|place| (place[0] - column as f64).abs() <= 2.0 && (place[1] - row as f64).abs() <= 3.0)
            };
            (0..256).filter(|&row| near(row)).map(|row| water.at(column, row)).sum::<f32>() / spring
        };
        let columns: Vec<f32> = (40..500).step_by(10).map(crossing).collect();
        let whole = columns.iter().filter(|&&share| share > 0.5).count() as f32 / columns.len() as f32;
        found.push((sinuosity(&path), whole, columns.iter().copied().fold(f32::INFINITY, f32::min)));
        paths.push(smooth(&path));
    }
    // Bends migrate: mean distance of the path at tick 800 from that at tick 400, in cells.
    let away = |place: &[f64; 2]| paths[1].iter().map(|&other| far(*place, other)).fold(f64::INFINITY, f64::min);
    let moved = paths[3].iter().map(away).sum::<f64>() / paths[3].len() as f64;
    assert!(moved > 1.0, "bends moved by {moved} cells");
    let most = found.iter().map(|found| found.0).fold(0.0, f64::max);
    assert!(found[0].0 < 1.1 && most > 1.3, "{found:?}");
    assert!(found[1..].iter().all(|found| found.1 >= 0.9 && found.2 > 0.3), "{found:?}");
    let row = simulation.ledger.solid.rows[INFO.key];
    assert!(row.inflow > 0.0 && simulation.solid_residual().abs() <= 1e-5 * row.moved, "{row:?}");
}

#[test]
fn sediment_supply_at_springs_reduces_incision() {
    let laden = |supply, ticks| {
        let params = Params { springs: true, rain_rate: 0.0, sediment_supply: supply, ..Params::default() };
        let mut run = erode(&plain(1), &params, 0, 1);
        (0..ticks).for_each(|_| run.tick());
        run
    };
    let inflow = |run: &Simulation| run.ledger.solid.rows[INFO.key].inflow;
    // There is no flow yet when the first droplets spawn; then the inflow grows with the supply.
    assert_eq!(inflow(&laden(1.0, 1)), 0.0);
    let [none, some, much] = [0.0, 0.2, 0.8].map(|supply| laden(supply, 60));
    assert!(inflow(&none) == 0.0 && inflow(&some) > 0.0 && inflow(&much) > 1.5 * inflow(&some));
    // Its sediment fills the trench that clear water incises.
    let deepest = |run: &Simulation| {
        let ground = run.terrain.ground();
        run.terrain.start.iter().zip(ground.iter()).map(|(start, now)| start - now).fold(0.0, f32::max)
    };
    let depths = [&none, &some, &much].map(deepest);
    assert!(depths[0] > 2.0 * depths[2] && depths[1] < depths[0], "{depths:?} m");
}

#[test]
fn masked_entrainment_factor_applies_to_spring_supply() {
    let run = |entrainment: f32, factor: f32, mask: f32| {
        let params = Params { entrainment, springs: true, rain_rate: 0.0, ..Params::default() };
        let mut run = erode(&plain(1), &params, 0, 1);
        run.terrain.mask = Some(Grid::filled(512, 256, mask));
        let [_, factors] = run.slots[0].process.settings_mut();
        assert!(crate::params::write(factors, "entrainment", &crate::params::Value::Number(factor.into())));
        (0..20).for_each(|_| run.tick());
        (run.ledger.solid.rows[INFO.key].inflow, bits(&run.terrain.bedrock), bits(&run.terrain.sand))
    };
    // At full mask the factor has the same effect as the parameter. Without a mask it has none.
    let [own, masked, bare] = [run(0.5, 1.0, 1.0), run(1.0, 0.5, 1.0), run(0.5, 0.2, 0.0)];
    assert!(own.0 > 0.0 && own == masked && own == bare, "{} {} {}", own.0, masked.0, bare.0);
}

#[test]
fn saving_state_leaves_sediment_river_bitwise_unchanged() {
    let land = TerrainParams { width: 128, height: 64, generator: Generator::FloodPlain, ..TerrainParams::default() };
    let mut terrain = generate(&land, 3);
    terrain.sources = vec![Source { place: [0.1, 0.5], radius: 15.0, rate: 5.0, ticks: None }];
    let run = |threads: usize, stored: bool| {
        let params = Params { springs: true, rain_rate: 0.0, sediment_supply: 1.0, ..Params::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        let mut run = erode(&terrain, &params, 0, 2).with_pool(std::sync::Arc::new(pool));
        for _ in 0..30 {
            run.tick();
            if stored {
                run.slot_mut("droplets").expect("listed").process.state_values(&terrain);
            }
        }
        assert!(run.ledger.solid.rows[INFO.key].inflow > 0.0);
        [bits(&run.terrain.bedrock), bits(&run.terrain.sand)]
    };
    let plain = run(1, false);
    assert!(plain == run(1, true) && plain == run(3, false));
}

fn bits(grid: &Grid) -> Vec<u32> {
    grid.iter().map(|value| value.to_bits()).collect()
}
