//! Tests of uplift and rivers against analytical solutions (Whipple & Tucker 1999, Perron & Royden 2013).

mod bad_input;
mod long_ticks;
mod parts;
mod ranges;

use super::{Fluvial, Params};
use crate::{
    core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Terrain},
    },
    hydrology::drainage::Drainage,
    measure::{Channels, Fit},
    process::{Mode, contract::run_process},
    simulation::{
        Simulation,
        grow::{GrownRange, GrowthEnd, RangeParams, grow, typical_relief},
    },
};

/// Returns parameters for rivers without diffusion and with a critical slope that is not reached.
fn rivers() -> Params {
    Params { mode: Mode::Published, diffusivity: 0.0, critical_slope: 2.0, ..Params::default() }
}

/// Returns almost level ground with its outlets at 0 m.
fn plain(side: usize) -> Terrain {
    let mut stream = RandomStream::new(4, "plain", 0);
    let last = side - 1;
    let ground = Grid::from_fn(side, side, |x, y| {
        let height = stream.uniform();
        if x == 0 || y == 0 || x == last || y == last { 0.0 } else { height }
    });
    Terrain::bare(ground, 30.0, Edge::Open)
}

fn volumes(run: &Simulation) -> [f64; 3] {
    let solid = &run.ledger.solid;
    [solid.sum(|row| row.inflow), solid.sum(|row| row.outflow), solid.sum(|row| row.moved)]
}

/// Returns S·A^m·Kd/((1 + G)·U), which is 1 at steady state, of every cell that is not an outlet, in ascending order.
fn steepness(run: &Simulation, params: &Params) -> Vec<f64> {
    let (ground, drainage) = (run.terrain.ground(), Drainage::of(&run.terrain));
    let areas = drainage.areas(|_| run.terrain.cell_area());
    let whole = f64::from((1.0 + params.deposition) * params.uplift_rate / params.erodibility);
    let cells = (0..ground.len()).filter_map(|cell| {
        let fall = f64::from(ground[cell]) - f64::from(ground[drainage.receiver(cell)?]);
        let slope = fall / (drainage.distance(cell) * f64::from(run.terrain.cell_size));
        Some(slope * areas[cell].powf(params.area_exponent.into()) / whole)
    });
    let mut cells: Vec<f64> = cells.collect();
    cells.sort_by(f64::total_cmp);
    cells
}

#[test]
fn explained_outlets_include_spilling_border_cells() {
    // A basin within a rim, which is lowest in one border cell. From there, too, the steepest way down leads inwards.
    let bowl = |x: usize, y: usize| {
        let away = x.abs_diff(16).max(y.abs_diff(16)) as f32;
        if (x, y) == (0, 16) { 77.0 } else { 5.0 * away }
    };
    let params = Params { uplift_rate: 0.0, years_per_tick: 1.0, ..rivers() };
    let run = run_process(Fluvial::with(params), Terrain::bare(Grid::from_fn(33, 33, bowl), 100.0, Edge::Open), 1);
    let outcome = |place: [usize; 2]| {
        let explained = run.slots[0].process.explain(&run.terrain, place);
        explained.expect("it has ticked").outcome
    };
    assert!(outcome([0, 16]).starts_with("This is an outlet"), "{}", outcome([0, 16]));
    for place in [[0, 15], [1, 16], [16, 0]] {
        assert!(!outcome(place).contains("outlet"), "{place:?}: {}", outcome(place));
    }
}

#[test]
fn steady_state_matches_slope_area_and_chi_relations() {
    for deposition in [0.0, 1.0] {
        let params = Params { deposition, ..rivers() };
        let mut run = run_process(Fluvial::with(params.clone()), plain(80), 900);
        let [risen, left, moved] = volumes(&run);
        assert!(run.solid_residual().abs() <= 1e-5 * moved, "{} of {moved}", run.solid_residual());
        (0..20).for_each(|_| run.tick());
        let [risen, left] = [volumes(&run)[0] - risen, volumes(&run)[1] - left];
        println!("G = {deposition}: left/risen − 1 = {:e}", left / risen - 1.0);
        assert!((left / risen - 1.0).abs() < 1e-3, "G = {deposition}: {left} of {risen} left");
        let cells = steepness(&run, &params);
        let median = cells[cells.len() / 2];
        println!("S·A^m·K/((1 + G)U): {} to {}, median {median}", cells[0], cells[cells.len() - 1]);
        assert!((median - 1.0).abs() < 0.02, "G = {deposition}: {median}");
        let channels = Channels::of(&run.terrain, 1.0);
        let chi = channels.chi(params.area_exponent.into());
        let points: Vec<(f64, f64)> =
            channels.cells().map(|(cell, _)| (chi[cell], f64::from(channels.ground[cell]))).collect();
        let line = Fit::through(&points).expect("there are many");
        // χ takes areas in square kilometres.
        let steep = f64::from((1.0 + deposition) * params.uplift_rate / params.erodibility) * 1e6_f64.powf(-0.4);
        println!("height over χ: {} of {steep}, R² {}", line.value, line.r2);
        assert!(line.r2 > 0.999 && (line.value / steep - 1.0).abs() < 0.01, "G = {deposition}: {line:?} of {steep}");
        let fit = channels.slope_area().expect("there are many");
        assert!((fit.value + 0.4).abs() < 0.03, "{fit:?}");
    }
}

/// Returns a walled line of cells with its outlet, at 0 m, in the first cell. `area` gives the drainage area at a distance from the divide
/// in metres.
fn line(count: usize, cell_size: f32, area: impl Fn(f64) -> f64) -> Terrain {
    let ground = Grid::from_fn(count, 1, |x, _| 0.01 * x as f32);
    let mut terrain = Terrain::bare(ground, cell_size, Edge::Wall);
    let cell = terrain.cell_area();
    let from_divide = |x: usize| (count - x) as f64 * f64::from(cell_size);
    let rain = |x: usize, _| {
        let above = if x + 1 == count { 0.0 } else { area(from_divide(x + 1)) };
        ((area(from_divide(x)) - above) / cell) as f32
    };
    terrain.rain = Some(Grid::from_fn(count, 1, rain));
    terrain
}

#[test]
fn hack_law_river_matches_analytic_steady_profile() {
    let (factor, power, m) = (6.7, 1.7, 0.4);
    let params = Params { deposition: 0.0, ..rivers() };
    let terrain = line(1200, 20.0, |x| factor * x.powf(power));
    let run = run_process(Fluvial::with(params.clone()), terrain, 400);
    let rate = f64::from(params.uplift_rate / params.erodibility);
    let exponent = 1.0 - power * m;
    let length = 1200.0 * 20.0_f64;
    for place in [100, 400, 800, 1100] {
        let x = (1200 - place) as f64 * 20.0;
        let wanted = rate * factor.powf(-m) * (length.powf(exponent) - x.powf(exponent)) / exponent;
        let found = f64::from(run.terrain.bedrock[place]);
        println!("{x} m from the divide: {found} m of {wanted} m");
        assert!((found / wanted - 1.0).abs() < 0.01, "{x} m from the divide: {found} m of {wanted} m");
    }
}

#[test]
fn knickpoint_celerity_is_k_times_area_to_the_m() {
    let params = Params { deposition: 0.0, years_per_tick: 500.0, ..rivers() };
    let area = 4e6_f64;
    let speed = f64::from(params.erodibility) * area.powf(0.4);
    let courant = speed * 500.0 / 100.0;
    assert!(courant <= 1.0, "{courant}");
    let mut run = run_process(Fluvial::with(params), line(800, 100.0, |_| area), 2500);
    let steady = run.terrain.ground();
    run.terrain.bedrock[0] -= 20.0;
    let ticks = 700;
    (0..ticks).for_each(|_| run.tick());
    let fallen = |x: usize| steady[x] - run.terrain.bedrock[x];
    let reached = (0..800).rev().find(|&x| fallen(x) > 10.0).expect("the knickpoint has moved");
    let wanted = speed * 500.0 * f64::from(ticks) / 100.0;
    println!("after {ticks} ticks it is {reached} cells up, of {wanted}");
    assert!((reached as f64 / wanted - 1.0).abs() < 0.02, "{reached} cells of {wanted}");
}

#[test]
fn steady_state_is_independent_of_tick_length() {
    let height = |years: f32, ticks: usize, params: Params, terrain: Terrain| {
        let run = run_process(Fluvial::with(Params { years_per_tick: years, ..params }), terrain, ticks);
        run.terrain.ground()
    };
    for deposition in [0.0, 1.0] {
        let params = Params { deposition, ..rivers() };
        let river = || line(150, 100.0, |x| 5.0 * x.powf(1.7));
        let usual = height(2500.0, 900, params.clone(), river());
        for (years, ticks) in [(625.0, 3600), (10_000.0, 400)] {
            let other = height(years, ticks, params.clone(), river());
            let apart = usual.iter().zip(other.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-3 * usual.min_max().1, "G = {deposition}, {years} years: {apart} m");
        }
        // The course of rivers depends on the first ticks, so these simulations start from a mature landscape.
        let mature = run_process(Fluvial::with(params.clone()), plain(64), 600).terrain;
        for (years, ticks) in [(625.0, 400), (10_000.0, 100)] {
            let ratio = height(years, ticks, params.clone(), mature.clone()).total() / mature.ground().total();
            println!("G = {deposition}: with {years} years a tick it keeps {ratio} of its volume");
            assert!((ratio - 1.0).abs() < 0.01, "G = {deposition}: {years} years a tick make {ratio} of the volume");
        }
    }
}

#[test]
fn steady_slope_scales_with_slope_exponent() {
    for exponent in [0.7, 1.5] {
        let params = Params { deposition: 0.0, slope_exponent: exponent, ..rivers() };
        let mut run = run_process(Fluvial::with(params.clone()), line(200, 100.0, |_| 4e6), 3000);
        let wanted = f64::from(params.uplift_rate) / (f64::from(params.erodibility) * 4e6_f64.powf(0.4));
        let wanted = 100.0 * wanted.powf(1.0 / f64::from(exponent));
        for place in [1, 50, 198] {
            let fall = f64::from(run.terrain.bedrock[place + 1] - run.terrain.bedrock[place]);
            assert!((fall / wanted - 1.0).abs() < 0.01, "n = {exponent}: {fall} m of {wanted} m");
        }
        let before = volumes(&run);
        (0..10).for_each(|_| run.tick());
        let ratio = (volumes(&run)[1] - before[1]) / (volumes(&run)[0] - before[0]);
        assert!((ratio - 1.0).abs() < 1e-3 && run.solid_residual().abs() <= 1e-5 * volumes(&run)[2], "{ratio}");
    }
}

#[test]
fn slope_exponent_acts_only_without_deposition() {
    let after = |deposition: f32, slope_exponent: f32| {
        let params = Params { deposition, slope_exponent, ..Params::default() };
        assert_eq!(params.effective_slope_exponent(), if deposition > 0.0 { 1.0 } else { slope_exponent });
        run_process(Fluvial::with(params), plain(32), 20).terrain.ground()
    };
    assert!(after(0.5, 1.0) == after(0.5, 1.6));
    assert!(after(0.0, 1.0) != after(0.0, 1.6));
}

#[test]
fn softness_rain_uplift_and_sand_control_incision() {
    let params = || Params { deposition: 0.0, ..Params::default() };
    let halves = |left: f32, right: f32| Grid::from_fn(64, 64, |x, _| if x < 32 { left } else { right });
    let mean = |run: &Simulation, left: bool| {
        let cells = (0..64 * 64).filter(|cell| (cell % 64 < 32) == left);
        cells.map(|cell| f64::from(run.terrain.bedrock[cell])).sum::<f64>()
    };
    let mut terrain = plain(64);
    terrain.softness = halves(0.2, 0.8);
    let run = run_process(Fluvial::with(params()), terrain, 200);
    assert!(mean(&run, true) > 1.5 * mean(&run, false), "hard rock erodes less");
    let mut terrain = plain(64);
    terrain.rain = Some(halves(0.2, 4.0));
    let run = run_process(Fluvial::with(params()), terrain, 200);
    assert!(mean(&run, true) > 1.3 * mean(&run, false), "rain increases erosion");
    let mut terrain = plain(64);
    terrain.uplift = Some(halves(1.0, 0.0));
    let run = run_process(Fluvial::with(params()), terrain, 200);
    assert!(mean(&run, true) > 3.0 * mean(&run, false), "ground without uplift stays low");
    // A sand cover that lasts for the whole tick protects the rock.
    let mut masked = run.terrain.clone();
    masked.spread_sand(1000.0);
    let after = run_process(Fluvial::with(Params { uplift_rate: 0.0, ..params() }), masked.clone(), 3);
    assert!(after.terrain.bedrock == masked.bedrock && after.terrain.sand != masked.sand);
}

#[test]
fn rivers_deposit_in_lakes_up_to_spill_point() {
    let bowl = Grid::from_fn(48, 48, |x, y| {
        let far = ((x as f32 - 24.0).powi(2) + (y as f32 - 24.0).powi(2)).sqrt();
        if far < 12.0 { 40.0 + far * far } else { 184.0 - 5.0 * (far - 12.0) }
    });
    let terrain = Terrain::bare(bowl, 30.0, Edge::Open);
    let quiet = Params { uplift_rate: 0.0, deposition: 2.0, diffusivity: 0.0, ..Params::default() };
    let mut run = run_process(Fluvial::with(quiet.clone()), terrain.clone(), 20);
    let at = |run: &Simulation, x: usize| run.terrain.ground().at(x, 24);
    assert!(at(&run, 24) > 41.0, "the bottom has risen to {} m", at(&run, 24));
    assert!(run.terrain.ground().min_max().1 <= terrain.ground().min_max().1);
    let before = run.terrain.clone();
    let came = run.fill_lakes();
    let level = run.terrain.ground().at(24, 24) + run.terrain.water.at(24, 24);
    let drainage = Drainage::of(&run.terrain);
    assert_eq!(drainage.lake(24 * 48 + 24, run.terrain.ground().at(24, 24)), Some(level));
    assert!(came > 0.0 && run.water_residual().abs() <= 1e-9 * came && run.ledger.water.rows["fluvial"].inflow == came);
    assert!(run.terrain.bedrock == before.bedrock && run.fill_lakes() == 0.0);
    let without = run_process(Fluvial::with(Params { deposition: 0.0, ..quiet }), terrain.clone(), 1);
    assert_eq!(at(&without, 24), terrain.bedrock.at(24, 24), "without deposition a lake stays as deep");
}
