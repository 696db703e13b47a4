//! Tests that grown ranges measure like real terrain at every resolution.

use super::{super::params::NO_SEA, *};
use crate::{
    core::border::Border,
    generate::{Uplift, uplift_map},
    measure::Measures,
    process::{contract::set, saved_state::StateValue},
};

fn ground(side: usize, cell_size: f32) -> Terrain {
    Terrain::bare(Grid::filled(side, side, 0.0), cell_size, Edge::Open)
}

fn range(terrain: &Terrain, seed: u64) -> Terrain {
    grown(terrain, &RangeParams::default(), seed).terrain
}

fn grown(terrain: &Terrain, range: &RangeParams, seed: u64) -> GrownRange {
    let grown = grow(terrain, &Params::default(), range, seed, |_| true).expect("it is not cancelled");
    assert!(grown.is_mature);
    grown
}

fn relief(terrain: &Terrain) -> f32 {
    let (low, high) = terrain.ground().min_max();
    high - low
}

#[test]
fn grown_range_passes_realism_measures_at_every_extent() {
    for (side, cell_size) in
        [(256, 4.0), (256, 10.0), (256, 30.0), (256, 100.0), (256, 500.0), (512, 2.0), (512, 100.0)]
    {
        for seed in [1, 2] {
            let range = range(&ground(side, cell_size), seed);
            let (readings, wanted) =
                (Measures::of(&range).readings(), typical_relief(side as f64 * f64::from(cell_size)));
            let failed: Vec<_> = readings.iter().filter(|row| row.is_real() == Some(false)).collect();
            println!("{side} × {cell_size} m, seed {seed}: relief {} of {wanted}, failed {failed:?}", relief(&range));
            let found = f64::from(relief(&range)) / wanted;
            assert!(failed.len() <= 1 && (0.99..=1.01).contains(&found), "{side} × {cell_size} m: {found}, {failed:?}");
        }
    }
}

#[test]
fn grown_range_has_requested_relief_ruggedness_and_age() {
    let roughness = |range: &RangeParams| {
        let terrain = grown(&ground(192, 10.0), range, 3).terrain;
        let (found, wanted) =
            (relief(&terrain), if range.relief > 0.0 { range.relief } else { typical_relief(1920.0) as f32 });
        assert!((found / wanted - 1.0).abs() < 0.01, "{found} m, {wanted} m wanted");
        let found = Measures::of(&terrain);
        (found.roughness, found.hypsometric_integral)
    };
    for relief in [20.0, 185.0, 500.0] {
        let [soft, rugged] =
            [0.0, 1.0].map(|ruggedness| roughness(&RangeParams { relief, ruggedness, ..Default::default() }));
        assert!(rugged.0 > 2.0 * soft.0, "{relief} m: {rugged:?}, {soft:?}");
    }
    let [young, mature, old] = [0.5, 1.0, 2.5].map(|age| roughness(&RangeParams { age, ..Default::default() }));
    println!("young {young:?}, mature {mature:?}, old {old:?}");
    assert!(young.1 > mature.1 + 0.03 && mature.1 > old.1 + 0.03, "{young:?}, {mature:?}, {old:?}");
}

#[test]
fn relief_out_of_reach_is_reported() {
    // The erodibility that balances such a relief is beyond its range.
    let (terrain, range) = (ground(64, 1500.0), RangeParams { relief: 0.05, ..RangeParams::default() });
    let params = Params { uplift_rate: 1e-2, ..Params::default() };
    let low = grow(&terrain, &params, &range, 1, |_| true).expect("it is not cancelled");
    assert!(!low.has_target_relief, "{} m", relief(&low.terrain));
    let mut run = Simulation::of(vec![Box::new(Fluvial::with(params))], terrain, 1);
    let end = run.grow_range(&range, |_| true).expect("it rises");
    assert_eq!(end, if low.is_mature { GrowthEnd::OffTarget } else { GrowthEnd::StillRising });
}

#[test]
fn grown_range_keeps_relief_and_concavity_over_time() {
    let GrownRange { terrain, params, has_target_relief, .. } = grown(&ground(192, 30.0), &RangeParams::default(), 4);
    assert!(has_target_relief);
    let before = (relief(&terrain), Measures::of(&terrain));
    let run = run_process(Fluvial::with(params), terrain, 100);
    let after = (relief(&run.terrain), Measures::of(&run.terrain));
    println!("{before:?}, {after:?}");
    assert!((after.0 / before.0 - 1.0).abs() < 0.15, "{} m, then {} m", before.0, after.0);
    let concavity = |found: &Measures| found.concavity.expect("there are channels").value;
    assert!((concavity(&before.1) - concavity(&after.1)).abs() < 0.12, "{before:?}, {after:?}");
}

#[test]
fn transposed_uplift_yields_transposed_range() {
    let belt = |x: usize, _: usize| (1.0 - (x as f32 - 64.0).abs() / 50.0).clamp(0.0, 1.0);
    let mut terrains = [ground(128, 60.0), ground(128, 60.0)];
    terrains[0].uplift = Some(Grid::from_fn(128, 128, belt));
    terrains[1].uplift = Some(Grid::from_fn(128, 128, |x, y| belt(y, x)));
    let [along, across] = terrains.map(|terrain| range(&terrain, 5).ground());
    let row = |grid: &Grid, place: usize, turned: bool| -> f64 {
        (0..128).map(|x| f64::from(if turned { grid.at(x, place) } else { grid.at(place, x) })).sum()
    };
    for place in [20, 40, 64, 90] {
        let ratio = row(&along, place, false) / row(&across, place, true);
        assert!((ratio - 1.0).abs() < 0.15, "{place}: {ratio}");
    }
    let volume = along.total() / across.total();
    assert!((volume - 1.0).abs() < 0.03, "{volume}");
}

/// Returns the side of the map to which each cell drains.
fn sides(terrain: &Terrain) -> Vec<u8> {
    let drainage = Drainage::of(terrain);
    let (width, height) = (terrain.width(), terrain.height());
    let mut sides = vec![0; drainage.len()];
    for &outlet in drainage.outlets() {
        let (x, y) = (outlet as usize % width, outlet as usize / width);
        let far = [x, y, width - 1 - x, height - 1 - y];
        sides[outlet as usize] = (0..4).min_by_key(|&side| far[side]).unwrap_or(0) as u8;
    }
    for &(cell, receiver) in drainage.order().links() {
        sides[cell as usize] = sides[receiver as usize];
    }
    sides
}

/// Returns the positions, as fractions of the map, of cells with a neighbour that drains to another side.
fn divides(terrain: &Terrain) -> Vec<[f64; 2]> {
    let (sides, width) = (sides(terrain), terrain.width());
    let inner = (0..sides.len()).filter(|cell| cell % width + 1 < width && cell + width < sides.len());
    let on_divide = inner.filter(|&cell| sides[cell] != sides[cell + 1] || sides[cell] != sides[cell + width]);
    on_divide.map(|cell| [(cell % width) as f64 / width as f64, (cell / width) as f64 / width as f64]).collect()
}

/// Returns the mean distance between the main divides of a range at two resolutions, as a fraction of the width.
fn apart(side: usize, seed: u64) -> f64 {
    let [coarse, fine] =
        [(side, 30.0), (2 * side, 15.0)].map(|(side, cell)| divides(&range(&ground(side, cell), seed)));
    let nearest = |place: &[f64; 2]| {
        let squares = coarse.iter().map(|other| (place[0] - other[0]).powi(2) + (place[1] - other[1]).powi(2));
        squares.fold(f64::INFINITY, f64::min).sqrt()
    };
    fine.iter().map(nearest).sum::<f64>() / fine.len() as f64
}

#[test]
fn main_divides_are_resolution_independent() {
    let found = apart(256, 3);
    println!("main divides of 256² and 512² lie {found} of the width apart");
    assert!(found < 0.05, "{found}");
}

#[test]
#[ignore = "slow: the same test at 512² and 1024²"]
fn main_divides_of_large_ranges_are_resolution_independent() {
    for seed in [1, 2] {
        let found = apart(512, seed);
        println!("main divides of 512² and 1024² lie {found} of the width apart");
        assert!(found < 0.05, "{found}");
    }
}

#[test]
fn growth_reports_progress_and_can_be_cancelled() {
    let mut shares = Vec::new();
    let mut levels = Vec::new();
    let target = RangeParams::default();
    let whole = grow(&ground(200, 30.0), &Params::default(), &target, 1, |growth| {
        shares.push(growth.share);
        levels.push((growth.level, growth.layers()[0].width()));
        true
    });
    assert!(whole.is_some() && shares.is_sorted() && shares.last() == Some(&1.0), "{:?}", shares.last());
    levels.dedup();
    assert_eq!(levels, [(0, 100), (1, 100), (2, 200)]);
    assert_eq!(grow(&ground(64, 30.0), &Params::default(), &target, 1, |_| false), None);
}

#[test]
fn grown_range_reflects_uplift_and_softness() {
    let halves = |left: f32, right: f32| Grid::from_fn(160, 160, |x, _| if x < 80 { left } else { right });
    let mut terrain = ground(160, 30.0);
    terrain.softness = halves(0.25, 0.75);
    let hard = range(&terrain, 2);
    terrain.softness.fill(0.5);
    terrain.uplift = Some(halves(1.0, 0.2));
    let risen = range(&terrain, 2);
    for (range, ratio) in [(hard, 1.5), (risen, 2.0)] {
        let sum = |from: usize| -> f64 {
            (0..160 * 160).filter(|cell| cell % 160 / 80 == from).map(|cell| f64::from(range.bedrock[cell])).sum()
        };
        assert!(sum(0) > ratio * sum(1), "{} of {}", sum(0), sum(1));
    }
}

#[test]
fn grown_range_is_thread_count_independent() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        pool.install(|| range(&ground(150, 30.0), 7))
    };
    let one = on(1);
    for threads in [2, 5, 16] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

#[test]
fn sea_level_is_base_level_of_emerging_island() {
    let sea = 30.0;
    let mut terrain = ground(96, 60.0);
    terrain.uplift = Some(uplift_map(Uplift::Dome, 96, 96, 1));
    let params = || Params { sea_level: sea, ..Params::default() };
    let run = run_process(Fluvial::with(params()), terrain, 400);
    let (ground, terrain) = (run.terrain.ground(), &run.terrain);
    let wet = ground.iter().filter(|&&ground| ground < sea).count();
    assert!(wet > 96 * 96 / 10 && ground.at(0, 48) < sea && ground.min_max().1 > 3.0 * sea, "{wet} cells in the sea");
    for (cell, (&ground, &water)) in ground.iter().zip(terrain.water.iter()).enumerate() {
        // The sea follows the uplift of the last tick, but not necessarily its erosion.
        assert!(
            if ground < sea { water == sea - ground } else { water == 0.0 },
            "{cell}: {ground} m, {water} m of water"
        );
    }
    let mut drainage = Drainage::new(Border::of(terrain));
    drainage.set_sea(sea);
    drainage.find(&ground, crate::hydrology::drainage::Diagonal::Plain);
    let land = ground.iter().enumerate().filter(|(_, height)| **height > sea);
    let pits = land.filter(|(cell, _)| !drainage.has_lower_neighbour(*cell, &ground)).count();
    assert!(pits < 5, "{pits} pits");
    assert!(run.water_residual().abs() <= 1e-5 * run.ledger.water.sum(|row| row.inflow), "{}", run.water_residual());
    let moved = volumes(&run)[2];
    assert!(run.solid_residual().abs() <= 1e-5 * moved, "{} of {moved}", run.solid_residual());
}

#[test]
fn sea_floor_emerges_at_open_border() {
    let on_border = |x: usize, y: usize| x == 0 || y == 0 || x == 31 || y == 31;
    let floor = Grid::from_fn(32, 32, |x, y| if on_border(x, y) { -1.0 } else { 5.0 + (x + y) as f32 });
    let params = Params { sea_level: 0.0, ..Params::default() };
    let run = run_process(Fluvial::with(params), Terrain::bare(floor, 100.0, Edge::Open), 4);
    let ground = run.terrain.ground();
    for (cell, (&ground, &water)) in ground.iter().zip(run.terrain.water.iter()).enumerate() {
        assert!(ground >= 0.0 && water == 0.0, "{cell}: {ground} m, {water} m of water");
    }
}

#[test]
fn falling_sea_level_exposes_land_even_after_restore() {
    let mut terrain = ground(64, 60.0);
    terrain.uplift = Some(uplift_map(Uplift::Dome, 64, 64, 1));
    let params = |sea_level: f64| Params { sea_level: sea_level as f32, ..Params::default() };
    let level = |run: &mut Simulation| {
        let saved = run.state_values(&["fluvial"]).into_iter().find(|(name, _)| name == "fluvial/sea");
        let Some((_, StateValue::Number(level))) = saved else { panic!("the level of the sea is kept") };
        *level
    };
    for (lower, read_back) in [(12.0, false), (NO_SEA, false), (12.0, true)] {
        let mut run = run_process(Fluvial::with(params(30.0)), terrain.clone(), 100);
        let deep = run.terrain.water_volume();
        assert_eq!(level(&mut run), 30.0);
        if read_back {
            let mut fresh = run_process(Fluvial::with(params(30.0)), run.terrain.clone(), 0);
            for (name, memory) in fresh.state_values(&["fluvial"]) {
                if let StateValue::Number(number) = memory
                    && name == "fluvial/sea"
                {
                    *number = 30.0;
                }
            }
            run = fresh;
        }
        set(&mut run, "fluvial.sea_level", &lower.to_string());
        run.tick();
        let ground = run.terrain.ground();
        for (cell, (&ground, &water)) in ground.iter().zip(run.terrain.water.iter()).enumerate() {
            let wanted = if lower == NO_SEA { 0.0 } else { (lower as f32 - ground).max(0.0) };
            assert!((water - wanted).abs() <= 1e-4, "{cell}: {ground} m, {water} m of water at {lower} m");
        }
        let residual = run.water_residual();
        assert!(deep > 0.0 && residual.abs() <= 1e-5 * deep, "{residual} of {deep}");
    }
}
