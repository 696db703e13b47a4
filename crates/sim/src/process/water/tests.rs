use super::*;
use crate::{
    core::{
        border::Border,
        grid::Grid,
        terrain::{Edge, Source},
    },
    hydrology::flood::Flood,
    params::REFERENCE_SIDE,
    process::{
        contract::{self, gentle, rotate_or_mirror, run_process},
        land::{TerrainMeasures, fluvial},
        saved_state::StateValue,
        thermal,
    },
    simulation::Simulation,
};

/// Heavy rain without morphological acceleration.
pub(in crate::process::water) fn unaccelerated() -> Params {
    Params { acceleration: 1.0, rain_rate: 0.002, ..Params::default() }
}

/// Water alone, without rain, evaporation, erosion or friction.
fn calm() -> Params {
    Params { rain_rate: 0.0, evaporation_rate: 0.0, max_erosion_depth: 0.0, roughness: 0.0, ..unaccelerated() }
}

/// Rates of the paper's table 2, with heavy rain.
fn table_2() -> Params {
    Params { rain_rate: 0.012, evaporation_rate: 0.015, ..unaccelerated() }
}

/// Runs ticks of Δt times the cell size in metres, whatever the number of cells.
fn run(terrain: Terrain, mut params: Params, ticks: usize) -> Simulation {
    if params.mode == Mode::Corrected {
        params.dt *= REFERENCE_SIDE as f32 / terrain.width().min(terrain.height()) as f32;
    }
    run_process(Water::with(params), terrain, ticks)
}

/// Returns a terrain with ground from a function of the position in cells, and water up to a level.
fn filled(width: usize, height: usize, ground: impl Fn(f32, f32) -> f32, level: impl Fn(f32, f32) -> f32) -> Terrain {
    let at = |value: &dyn Fn(f32, f32) -> f32| Grid::from_fn(width, height, |x, y| value(x as f32, y as f32));
    let mut terrain = Terrain::bare(at(&ground), 1.0, Edge::Wall);
    terrain.water = at(&|x, y| (level(x, y) - ground(x, y)).max(0.0));
    terrain
}

fn bumps(x: f32, y: f32) -> f32 {
    0.6 * ((x * 0.31).sin() + (y * 0.23).cos()) + 0.2 * (x * 0.9 + y * 0.7).sin()
}

fn surface(terrain: &Terrain) -> Grid {
    let ground = terrain.ground();
    let cells = ground.iter().zip(terrain.water.iter()).map(|(ground, water)| ground + water);
    Grid::from_values(terrain.width(), terrain.height(), cells)
}

#[test]
fn lake_with_islands_stays_at_rest() {
    let terrain = filled(96, 80, bumps, |_, _| 0.5);
    let after = run(terrain.clone(), calm(), 2000);
    let deepest = terrain.water.min_max().1;
    let worst = after.terrain.water.iter().zip(terrain.water.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= 4e-6 * deepest, "the water moved by {worst} m");
}

#[test]
fn water_volume_is_conserved_and_nonnegative() {
    let terrain = filled(80, 64, bumps, |x, _| if x < 30.0 { 1.5 } else { 0.1 });
    let before = terrain.water_volume();
    for edge in [Edge::Wall, Edge::Wrap] {
        let after = run(Terrain { edge, ..terrain.clone() }, calm(), 5000);
        let change = after.terrain.water_volume() / before - 1.0;
        assert!(change.abs() <= 1e-6, "{edge:?}: {change:e}");
        assert!(after.terrain.water.iter().all(|&depth| depth >= 0.0));
    }
}

#[test]
fn published_water_oscillates_beyond_its_stability_limit_unless_it_takes_substeps() {
    let deepest = |substeps: bool| {
        let terrain = filled(32, 32, |_, _| 0.0, |x, y| if x < 16.0 && y < 16.0 { 10.0 } else { 3.0 });
        // c·Δt = 1.2 l
        let params = Params { mode: Mode::Published, dt: 0.05, pipe_area: 60.0, substeps, ..calm() };
        let simulation = run(terrain, params, 160);
        let (least, most) = simulation.terrain.water.min_max();
        assert!(least >= 0.0 && simulation.water_residual().abs() < 0.1);
        most
    };
    let (stable, unstable) = (deepest(true), deepest(false));
    assert!(stable < 10.0 && unstable > 15.0 && unstable.is_finite(), "{stable} m, {unstable} m");
}

/// Returns the period of a standing wave in a closed channel, relative to theory, from the times at which its left end crosses the mean
/// level.
fn seiche(mode: Mode) -> f64 {
    let (length, depth) = (64, 1.0);
    let wave = |x: f32| depth + 1e-3 * ((x + 0.5) * std::f32::consts::PI / length as f32).cos();
    let terrain = filled(length, 1, |_, _| 0.0, |x, _| wave(x));
    let params = Params { mode, pipe_area: depth, ..calm() };
    let mut simulation = run(terrain, params, 0);
    let (mut crossings, mut before) = (Vec::new(), 1e-3_f64);
    for tick in 1..8000 {
        simulation.tick();
        let now = f64::from(simulation.terrain.water[0]) - f64::from(depth);
        if (before < 0.0) != (now < 0.0) {
            crossings.push((f64::from(tick) - now.abs() / (now.abs() + before.abs())) * 0.02);
        }
        before = now;
    }
    let last = crossings.len() - 1;
    let period = 2.0 * (crossings[last] - crossings[0]) / last as f64;
    period / (2.0 * length as f64 / (9.81 * f64::from(depth)).sqrt())
}

#[test]
fn seiche_period_is_exact_only_in_corrected_mode() {
    let corrected = seiche(Mode::Corrected);
    assert!((corrected - 1.0).abs() <= 0.01, "{corrected}");
    let published = seiche(Mode::Published);
    assert!((published - 0.707).abs() <= 0.01, "{published}");
}

#[test]
fn standing_wave_amplitude_is_preserved_at_any_step() {
    let wave = |x: f32| 1.0 + 1e-3 * ((x + 0.5) * std::f32::consts::PI / 64.0).cos();
    let period = 2.0 * 64.0 / 9.81_f32.sqrt();
    let retained: Vec<f32> = [0.04, 0.02, 0.005, 0.0025]
        .into_iter()
        .map(|dt| {
            let mut simulation = run(filled(64, 1, |_, _| 0.0, |x, _| wave(x)), Params { dt, ..calm() }, 0);
            let mut height = 0.0_f32;
            for tick in 0..(3.2 * period / dt) as usize {
                simulation.tick();
                // The third crest at the left end.
                if tick as f32 * dt > 2.8 * period {
                    height = height.max(simulation.terrain.water[0] - 1.0);
                }
            }
            (height / 1e-3).cbrt()
        })
        .collect();
    let most = retained.iter().fold(0.0_f32, |most, &retained| most.max(retained));
    assert!(retained.iter().all(|&retained| retained >= 0.9 && retained >= 0.95 * most), "{retained:?} a period");
}

/// A sheet of water flows straight down a plane in any direction, at the speed of Manning's equation.
#[test]
fn sheet_flow_is_isotropic_at_manning_speed() {
    let (slope, roughness, depth) = (0.05_f32, 0.1, 0.2_f32);
    for degrees in [0.0_f32, 10.0, 22.5, 30.0, 45.0, 60.0, 80.0, 90.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let ground = |x: f32, y: f32| 100.0 - slope * (cos * x + sin * y);
        let mut terrain = filled(64, 64, ground, |x, y| ground(x, y) + depth);
        terrain.edge = Edge::Open;
        let after = run(terrain, Params { roughness, ..calm() }, 400);
        let velocity = after.slots[0].process.vector_map(VectorMap::Velocity, &after.terrain).expect("water flows");
        let [u, v] = velocity.map(|part| part.at(32, 32));
        let angle = v.atan2(u).to_degrees();
        assert!((angle - degrees).abs() <= 1.0, "on a plane that falls to {degrees}° water runs to {angle}°");
        let here = after.terrain.water.at(32, 32);
        let normal = (here * u.hypot(v) * roughness / slope.sqrt()).powf(0.6);
        assert!((here / normal - 1.0).abs() <= 0.01, "{degrees}°: {here} m deep, not {normal}");
    }
}

#[test]
fn steady_flow_has_manning_depth_at_any_step() {
    let (slope, roughness, rate) = (0.01_f32, 0.05, 0.02);
    let mut depths = Vec::new();
    for dt in [0.04, 0.02, 0.01] {
        let mut terrain = filled(80, 6, |x, _| 10.0 - slope * x, |_, _| 0.0);
        // Walls left and right of the flow; it leaves across the far edge, upstream of which depths are taken.
        terrain.edge = Edge::Open;
        let higher = |x: usize, y: usize| y == 0 || y == 5 || x == 0;
        for y in 0..6 {
            for x in (0..80).filter(|&x| higher(x, y)) {
                let index = y * 80 + x;
                terrain.bedrock[index] += 5.0;
                terrain.start[index] += 5.0;
            }
        }
        terrain.sources.push(Source { place: [4.5 / 80.0, 0.5], radius: 1.6, rate: rate * 4.0, ticks: None });
        let params = Params { dt, roughness, ..calm() };
        let after = run(terrain, params, (600.0 / dt) as usize);
        depths.push((1..5).map(|y| after.terrain.water.at(50, y)).sum::<f32>() / 4.0);
    }
    let expected = (rate * roughness / slope.sqrt()).powf(0.6);
    for depth in &depths {
        assert!((depth / expected - 1.0).abs() <= 0.01, "{depths:?} for {expected}");
    }
}

#[test]
fn flow_stage_updates_only_fluxes() {
    let terrain = filled(40, 70, bumps, |x, _| if x < 20.0 { 1.5 } else { 0.3 });
    for mode in [Mode::Corrected, Mode::Published] {
        let mut simulation = run(terrain.clone(), Params { mode, ..calm() }, 0);
        let speed = |simulation: &Simulation| -> f32 {
            let velocity = simulation
                .slots
                .iter()
                .find_map(|slot| slot.process.vector_map(VectorMap::Velocity, &simulation.terrain));
            velocity.map_or(0.0, |[u, v]| u.iter().chain(v.iter()).fold(0.0, |most, part| most.max(part.abs())))
        };
        assert_eq!(simulation.stage(), Some(("Water", "springs and drains")));
        assert_eq!(speed(&simulation), 0.0);
        assert_eq!(simulation.stage(), Some(("Water", "flow")));
        let seen = speed(&simulation);
        assert!(seen > 0.01, "{mode:?}: {seen} m/s");
        assert!(simulation.terrain == terrain, "{mode:?}: the flow alone moves nothing");
        while !simulation.between_ticks() {
            simulation.stage();
        }
        let whole = run(terrain.clone(), Params { mode, ..calm() }, 1);
        assert!(whole.terrain == simulation.terrain && speed(&whole) == speed(&simulation), "{mode:?}");
    }
}

#[test]
fn communicating_vessels_equalize() {
    let ground = |x: f32, y: f32| if (14.0..16.0).contains(&x) && !(5.0..7.0).contains(&y) { 5.0 } else { 0.0 };
    let terrain = filled(30, 12, ground, |x, _| if x < 14.0 { 2.0 } else { 0.0 });
    let params = Params { dt: 0.05, roughness: 0.03, ..calm() };
    let after = run(terrain, params, 60_000);
    let mean = |range: std::ops::Range<usize>| {
        let depths: Vec<f32> =
            range.flat_map(|x| (0..12).map(move |y| (x, y))).map(|(x, y)| after.terrain.water.at(x, y)).collect();
        depths.iter().sum::<f32>() / depths.len() as f32
    };
    let (left, right) = (mean(0..14), mean(16..30));
    assert!((left / right - 1.0).abs() <= 0.01, "{left} {right}");
}

#[test]
fn sloshing_bowl_settles_to_level_surface() {
    let bowl = |x: f32, y: f32| 0.01 * ((x - 24.0) * (x - 24.0) + (y - 24.0) * (y - 24.0));
    let terrain = filled(49, 49, bowl, |x, _| 2.0 + 0.05 * (x - 24.0));
    let after = run(terrain, Params { dt: 0.05, roughness: 0.03, ..calm() }, 20_000);
    let wet: Vec<(f32, f32)> = surface(&after.terrain)
        .iter()
        .zip(after.terrain.water.iter())
        .filter(|(_, depth)| **depth > 0.05)
        .map(|(level, depth)| (*level, *depth))
        .collect();
    let mean = wet.iter().map(|wet| wet.0).sum::<f32>() / wet.len() as f32;
    let deviation = (wet.iter().map(|wet| (wet.0 - mean).powi(2)).sum::<f32>() / wet.len() as f32).sqrt();
    let depth = wet.iter().map(|wet| wet.1).sum::<f32>() / wet.len() as f32;
    assert!(deviation < 1e-3 * depth, "{deviation} of {depth}");
}

/// Returns the depth at x over t after the break of a dam of depth 1, by Ritter (dry bed) or Stoker (water of depth `low`).
fn dam_break_depth(low: f64, speed: f64) -> f64 {
    let c = 9.81_f64.sqrt();
    if low == 0.0 {
        return if speed <= -c {
            1.0
        } else if speed >= 2.0 * c {
            0.0
        } else {
            (2.0 * c - speed).powi(2) / (9.0 * 9.81)
        };
    }
    // Depth of the plateau behind the shock, by bisection.
    let shock = |depth: f64| (9.81 * depth * (depth + low) / (2.0 * low)).sqrt();
    let (mut from, mut to) = (low, 1.0);
    for _ in 0..80 {
        let middle = 0.5 * (from + to);
        let behind = shock(middle) * (1.0 - low / middle);
        if 2.0 * (c - (9.81 * middle).sqrt()) > behind { from = middle } else { to = middle }
    }
    let flow = 2.0 * (c - (9.81 * from).sqrt());
    if speed <= -c {
        1.0
    } else if speed <= flow - (9.81 * from).sqrt() {
        (2.0 * c - speed).powi(2) / (9.0 * 9.81)
    } else if speed <= shock(from) {
        from
    } else {
        low
    }
}

/// Returns the position of the front in cells from the dam: the last cell that is a hundredth of the dam deeper than before.
fn front(water: &[f32], low: f64) -> f64 {
    water.iter().rposition(|&depth| f64::from(depth) > low + 0.01).map_or(0.0, |cell| cell as f64 - 99.5)
}

#[test]
fn dam_break_matches_analytic_solution_at_any_step() {
    for low in [0.0, 0.2] {
        let level = |x: f32| if x < 100.0 { 1.0 } else { low };
        let terrain = filled(200, 1, |_, _| 0.0, |x, _| level(x));
        let mirrored = filled(200, 1, |_, _| 0.0, |x, _| level(199.0 - x));
        let after = |terrain: &Terrain, seconds: f32, dt: f32| {
            run(terrain.clone(), Params { dt, ..calm() }, (seconds / dt).round() as usize).terrain.water
        };
        let back = after(&mirrored, 12.0, 0.02);
        assert!(after(&terrain, 12.0, 0.02).iter().eq(back.iter().rev()), "it is not the same both ways");
        for dt in [0.05, 0.02, 0.005, 0.0025] {
            for seconds in [12.0, 15.0, 20.0] {
                let water = after(&terrain, seconds, dt);
                let exact: Vec<f32> = (0..200)
                    .map(|x| dam_break_depth(f64::from(low), (x as f64 - 99.5) / f64::from(seconds)) as f32)
                    .collect();
                let error = (0..200).map(|x| f64::from((water[x] - exact[x]).abs())).sum::<f64>() / 200.0;
                assert!(error <= 0.02, "{low} {dt} {seconds}: {error}");
                if seconds == 12.0 {
                    let (found, wanted) = (front(&water, low.into()), front(&exact, low.into()));
                    assert!(
                        (found / wanted - 1.0).abs() <= 0.1,
                        "{low} {dt}: the front is at {found}, not at {wanted}"
                    );
                }
            }
        }
    }
}

/// The front of a dam break on a dry bed travels at 2·√(g·h) (Ritter 1892), and slower over a rough bed. Behind it the velocity is
/// 2/3·(√(g·h) + x/t).
#[test]
fn dry_dam_break_has_ritter_velocities() {
    const DEPTH: f32 = 10.0;
    let wave = (9.81 * DEPTH).sqrt();
    for (cell_size, dt) in [(0.5, 0.02), (1.0, 0.005), (2.0, 0.01), (2.0, 0.04), (20.0, 0.02)] {
        let mut terrain = filled(200, 1, |_, _| 0.0, |x, _| if x < 100.0 { DEPTH } else { 0.0 });
        terrain.cell_size = cell_size;
        let velocity = |simulation: &Simulation| {
            let process = &simulation.slots[0].process;
            let [u, _] = process.vector_map(VectorMap::Velocity, &simulation.terrain).expect("water flows");
            (u, process.counts().seconds as f32)
        };
        let mut rough = run(terrain.clone(), Params { dt, roughness: 0.01, ..calm() }, 0);
        for tick in 1..=(5.0 / dt) as usize {
            rough.tick();
            let fastest = velocity(&rough).0.iter().fold(0.0_f32, |fastest, u| fastest.max(u.abs()));
            assert!(
                fastest <= 2.1 * wave,
                "cells of {cell_size} m, steps of {dt}: {fastest} m/s after {tick} ticks, faster than {} m/s",
                2.0 * wave
            );
        }
        let smooth = run(terrain, Params { dt, ..calm() }, (5.0 / dt) as usize);
        let (u, seconds) = velocity(&smooth);
        for x in (0..200).filter(|&x| smooth.terrain.water[x] > 0.1 * DEPTH) {
            let exact = 2.0 / 3.0 * (wave + cell_size * (x as f32 - 99.5) / seconds).max(0.0);
            assert!(
                (u[x] - exact).abs() < 0.1 * wave,
                "cells of {cell_size} m, steps of {dt}: {} m/s, not {exact} m/s, in column {x}",
                u[x]
            );
        }
    }
}

/// A valley with sand and varying softness, on which every part of the scheme acts.
fn valley(edge: Edge) -> Terrain {
    let ground = |x: f32, y: f32| 30.0 + 0.3 * (x - 20.0).abs() + 0.15 * y + bumps(x, y);
    let mut terrain = filled(48, 48, ground, |_, _| 0.0);
    terrain.edge = edge;
    terrain.sand = Grid::from_fn(48, 48, |x, y| 0.2 * ((x * 7 + y * 13) % 5) as f32);
    terrain.softness = Grid::from_fn(48, 48, |x, y| 0.2 + 0.6 * ((x * 3 + y * 5) % 7) as f32 / 6.0);
    terrain.start = terrain.ground();
    terrain
}

#[test]
fn water_and_sediment_are_conserved_during_incision() {
    for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
        let simulation = run(valley(edge), table_2(), 3000);
        let (solid, water) = (&simulation.ledger.solid, &simulation.ledger.water);
        let (moved, rained) = (solid.sum(|row| row.moved), water.sum(|row| row.inflow));
        assert!(moved > 1.0 && rained > 1.0);
        assert!(
            simulation.solid_residual().abs() <= 1e-5 * moved,
            "{edge:?}: {} of {moved}",
            simulation.solid_residual()
        );
        assert!(
            simulation.water_residual().abs() <= 1e-5 * rained,
            "{edge:?}: {} of {rained}",
            simulation.water_residual()
        );
        for layer in [&simulation.terrain.water, &simulation.terrain.suspended, &simulation.terrain.sand] {
            assert!(layer.iter().all(|&value| value >= 0.0 && value.is_finite()));
        }
    }
}

/// The last digit of deep sand and high rock exceeds what a step moves: sediment that they cannot take up stays in the water.
#[test]
fn ledger_balances_despite_coarse_float_precision() {
    for mode in [Mode::Corrected, Mode::Published] {
        for capacity in [Capacity::Tilt, Capacity::Collision] {
            for loose in [false, true] {
                let mut terrain = valley(Edge::Wall);
                terrain.bedrock.iter_mut().for_each(|height| *height += 4000.0);
                if loose {
                    std::mem::swap(&mut terrain.bedrock, &mut terrain.sand);
                }
                terrain.start = terrain.ground();
                let params = Params { mode, capacity, pipe_area: 1.0, ..table_2() };
                let run = run(terrain, params, 300);
                let moved = run.ledger.solid.sum(|row| row.moved);
                let (residual, came) = (run.solid_residual(), run.ledger.water.sum(|row| row.inflow));
                assert!(
                    moved > 0.0 && residual.abs() <= 1e-5 * moved,
                    "{mode:?} {capacity:?} {loose}: {residual} of {moved}"
                );
                assert!(
                    run.water_residual().abs() <= 1e-5 * came,
                    "{mode:?} {capacity:?} {loose}: {}",
                    run.water_residual()
                );
            }
        }
    }
}

#[test]
fn advection_preserves_uniform_concentration_and_maxima() {
    let mut terrain = filled(64, 48, bumps, |x, _| if x < 30.0 { 2.0 } else { 1.6 });
    terrain.water.iter_mut().for_each(|depth| *depth *= 0.75);
    terrain.suspended = Grid::from_values(64, 48, terrain.water.iter().map(|depth| depth / 3.0));
    // Neither erosion nor deposition: nothing settles at a rate of 0.
    let params = Params { deposition_rate: 0.0, ..calm() };
    let after = run(terrain.clone(), params.clone(), 100).terrain;
    for (suspended, water) in after.suspended.iter().zip(after.water.iter()).filter(|(_, water)| **water > 1e-3) {
        assert!((suspended / (suspended + water) - 0.25).abs() <= 1e-6, "{suspended} {water}");
    }
    // A cloud of sediment.
    let total = terrain.water.iter().zip(terrain.suspended.iter()).map(|(d, s)| d + s).collect::<Vec<f32>>();
    let cloud = |index: usize| if (20..30).contains(&(index % 64)) { 0.3 } else { 0.0 };
    terrain.suspended.iter_mut().enumerate().for_each(|(index, value)| *value = total[index] * cloud(index));
    terrain.water.iter_mut().enumerate().for_each(|(index, value)| *value = total[index] * (1.0 - cloud(index)));
    let before = terrain.suspended.total();
    let after = run(terrain, params, 500).terrain;
    assert!((after.suspended.total() / before - 1.0).abs() <= 1e-6);
    let most = after.suspended.iter().zip(after.water.iter()).map(|(s, d)| s / (s + d + 1e-6)).fold(0.0, f32::max);
    assert!(most <= 0.3 + 1e-5, "{most}");
}

#[test]
fn water_is_equivariant_under_rotation_and_mirroring() {
    for mode in [Mode::Corrected, Mode::Published] {
        let params = Params { mode, ..unaccelerated() };
        let straight = run(valley(Edge::Open), params.clone(), 300).terrain;
        for quarter in [false, true] {
            let other = run(rotate_or_mirror(&valley(Edge::Open), quarter), params.clone(), 300).terrain;
            assert!(
                rotate_or_mirror(&straight, quarter).ground() == other.ground(),
                "{mode:?}, quarter turn: {quarter}"
            );
            assert!(rotate_or_mirror(&straight, quarter).water == other.water, "{mode:?}, quarter turn: {quarter}");
        }
    }
}

/// Returns the root mean square deviation of the chosen cells from the mean of their four neighbours, in metres.
fn roughness(ground: &Grid, chosen: impl Fn(usize, usize) -> bool) -> f64 {
    let (width, height) = (ground.width(), ground.height());
    let inner = (1..height - 1).flat_map(|y| (1..width - 1).map(move |x| (x, y))).filter(|&(x, y)| chosen(x, y));
    let off = |(x, y): (usize, usize)| {
        let around = ground.at(x - 1, y) + ground.at(x + 1, y) + ground.at(x, y - 1) + ground.at(x, y + 1);
        f64::from(ground.at(x, y) - 0.25 * around)
    };
    let (sum, count) = inner.fold((0.0, 0), |(sum, count), cell| (sum + off(cell).powi(2), count + 1));
    (sum / f64::from(count.max(1))).sqrt()
}

#[test]
fn water_erosion_creates_no_grid_scale_ripples() {
    // A slope under heavy rain.
    let mut slope = filled(96, 96, |x, _| 0.1 * x, |_, _| 0.0);
    slope.edge = Edge::Open;
    let after = run(slope.clone(), Params { rain_rate: 0.012, ..unaccelerated() }, 3000).terrain;
    let inside = |x: usize, y: usize| (8..88).contains(&x) && (8..88).contains(&y);
    let lowered = (slope.bedrock.total() - after.ground().total()) / 96.0 / 96.0;
    let ripples = roughness(&after.ground(), inside);
    assert!(lowered > 0.1 && ripples <= 0.01 * lowered, "ripples of {ripples} m after {lowered} m");
    // A stirred lake whose middle is deeper than the depth limit of erosion.
    let bowl = |x: f32, y: f32| 0.01 * ((x - 47.5).powi(2) + (y - 47.5).powi(2));
    let lake = filled(96, 96, bowl, |x, _| 18.0 + 0.05 * (x - 47.5));
    let params = Params { max_erosion_depth: 5.0, rain_rate: 0.0, evaporation_rate: 0.0, ..unaccelerated() };
    let after = run(lake.clone(), params, 2000).terrain;
    let deep = |x: usize, y: usize| lake.water.at(x, y) > 8.0;
    let (before, now) = (roughness(&lake.ground(), deep), roughness(&after.ground(), deep));
    let shores = |x: usize, y: usize| (0.1..4.0).contains(&lake.water.at(x, y));
    let worked = roughness(&after.ground(), shores);
    assert!(after.ground() != lake.ground(), "the shores are worked on");
    assert!(now <= before + 0.002, "the floor's roughness went from {before} to {now} m; at the shores it is {worked}");
}

#[test]
fn springs_and_drains_match_their_rates() {
    let mut terrain = filled(40, 40, |_, _| 0.0, |_, _| 1.0);
    terrain.sources.push(Source { place: [0.25, 0.5], radius: 3.0, rate: 2.0, ticks: None });
    terrain.sources.push(Source { place: [0.75, 0.5], radius: 0.0, rate: -1.0, ticks: None });
    let before = terrain.water_volume();
    let simulation = run(terrain, calm(), 1000);
    let seconds = 20.0;
    let gained = simulation.terrain.water_volume() - before;
    assert!((gained - seconds).abs() <= 1e-3 * seconds, "{gained}");
    let water = &simulation.ledger.water;
    assert!((water.sum(|row| row.inflow) - 2.0 * seconds).abs() <= 1e-3 * seconds);
    assert!((water.sum(|row| row.outflow) - seconds).abs() <= 1e-3 * seconds);
}

#[test]
fn sea_floods_ground_below_sea_level() {
    let mut terrain = filled(40, 40, |x, y| 10.0 - 0.1 * (x + y), |_, _| 0.0);
    terrain.edge = Edge::Open;
    for mode in [Mode::Corrected, Mode::Published] {
        let simulation = run(terrain.clone(), Params { mode, sea_level: 6.0, roughness: 0.03, ..calm() }, 20_000);
        let after = &simulation.terrain;
        for (ground, depth) in after.ground().iter().zip(after.water.iter()) {
            let right = (6.0 - ground).max(0.0);
            assert!((depth - right).abs() <= 0.01, "{mode:?}: {depth} m of water on ground at {ground} m");
        }
        assert!(simulation.water_residual().abs() <= 1e-4 * after.water_volume(), "{mode:?}");
    }
}

/// Sets the fluxes along rows that the process stores.
fn set_row_fluxes(simulation: &mut Simulation, flux: f32) {
    let terrain = simulation.terrain.clone();
    for (name, memory) in simulation.slots[0].process.state_values(&terrain) {
        if let (true, StateValue::Cells(cells)) = (name == "flow x", memory) {
            cells.fill(flux);
        }
    }
}

/// Clear water over a flat bed of sand, slowed by friction alone, erodes up to its transport capacity, and the bed sinks evenly.
#[test]
fn clear_water_scours_sand_bed_to_transport_capacity() {
    let (depth, fast, roughness) = (1.0_f64, 3.0_f64, 0.1_f64);
    let mut terrain = filled(48, 8, |_, _| 0.0, |_, _| depth as f32);
    terrain.edge = Edge::Wrap;
    terrain.spread_sand(1.0);
    let params = Params {
        roughness: roughness as f32,
        rain_rate: 0.0,
        evaporation_rate: 0.0,
        depth_limit: false,
        ..unaccelerated()
    };
    let mut simulation = run(terrain, params.clone(), 0);
    set_row_fluxes(&mut simulation, (fast * depth) as f32);
    let (ticks, dt) = (200, 0.02 / 100.0);
    (0..ticks).for_each(|_| simulation.tick());
    // The same with small steps: v' = −g·n²·v², s' = K·(Kc·sin α·v·d − s), where K is Ks during erosion and Kd during deposition.
    let (mut speed, mut load) = (fast, 0.0);
    for _ in 0..ticks * 100 {
        let slope = roughness * roughness * speed * speed;
        let capacity = f64::from(params.sediment_capacity) * slope / (1.0 + slope * slope).sqrt() * speed;
        let lack = capacity.min(0.5) * (depth - load) - load;
        load += dt * f64::from(if lack > 0.0 { params.suspension_rate } else { params.deposition_rate }) * lack;
        speed -= dt * 9.81 * slope;
    }
    let sand = &simulation.terrain.sand;
    let (least, most) = sand.min_max();
    let scoured = 1.0 - sand.total() / sand.len() as f64;
    assert!(load > 0.01 && (scoured / load - 1.0).abs() <= 0.05, "{scoured} m were scoured, not {load}");
    assert!(most - least <= 0.02 * scoured as f32, "the bed lies from {least} to {most} m");
}

#[test]
fn water_preserves_fluvial_morphology() {
    let terrain = fluvial(256, 1);
    let start = TerrainMeasures::of(&terrain);
    let slump = thermal::Thermal::with(thermal::Params::default());
    let mut simulation = Simulation::of(vec![Box::new(Water::with(unaccelerated())), Box::new(slump)], terrain, 1);
    simulation.slots.iter_mut().for_each(|slot| slot.enabled = true);
    (0..2000).for_each(|_| simulation.tick());
    let (land, eroded) = (TerrainMeasures::of(&simulation.terrain), simulation.ledger.solid.rows[INFO.key].eroded);
    let message = format!("{start:?} became {land:?}, {eroded} m³ eroded");
    assert!(eroded >= 3e7, "{message}");
    assert!(land.pits - start.pits <= 0.001 && land.depressions - start.depressions <= 0.005, "{message}");
    assert!((land.concavity - start.concavity).abs() <= 0.1 && land.straightness >= 0.9, "{message}");
    for (now, then) in land.slopes.into_iter().zip(start.slopes) {
        assert!((now / then - 1.0).abs() <= 0.2, "{message}");
    }
}

/// Returns `true` if the wet cells connected to a cell reach the border.
fn is_connected_to_border(water: &Grid, first: usize) -> bool {
    let (width, height) = (water.width(), water.height());
    let (mut seen, mut next) = (vec![false; water.len()], vec![first]);
    while let Some(cell) = next.pop() {
        if std::mem::replace(&mut seen[cell], true) {
            continue;
        }
        let (x, y) = (cell % width, cell / width);
        if x == 0 || y == 0 || x + 1 == width || y + 1 == height {
            return true;
        }
        let around = [cell - 1, cell + 1, cell - width, cell + width];
        next.extend(around.into_iter().filter(|&cell| water[cell] > 0.01 && !seen[cell]));
    }
    false
}

/// Raises ground that lies below its spill point. Water crosses the faces of cells, not their corners: a cell that drains only across a
/// corner is a pool.
fn fill_depressions_across_faces(terrain: &mut Terrain) {
    let (border, ground) = (Border::of(terrain), &mut terrain.bedrock);
    let outlets: Vec<(usize, f32)> = (0..ground.len())
        .filter(|&cell| border.across_faces(cell).contains(&None))
        .map(|cell| (cell, ground[cell]))
        .collect();
    let across_sides = |cell: usize| border.across_faces(cell).into_iter().flatten();
    let Flood { order, from, .. } = Flood::new(ground, outlets, across_sides);
    for (cell, below) in order.iter().map(|&cell| (cell as usize, from[cell as usize] as usize)) {
        if below != cell {
            ground[cell] = ground[cell].max(ground[below] + 0.01);
        }
    }
    terrain.start = terrain.ground();
}

#[test]
fn spring_river_reaches_border_within_travel_time() {
    let mut terrain = fluvial(128, 1);
    let (side, size) = (128, terrain.cell_size);
    fill_depressions_across_faces(&mut terrain);
    // The highest ground far from the border.
    let inner = (0..side * side).filter(|&cell| {
        let (x, y) = (cell % side, cell / side);
        x.min(y).min(side - 1 - x).min(side - 1 - y) >= side / 3
    });
    let ground = terrain.ground();
    let spring = inner.max_by(|&one, &other| ground[one].total_cmp(&ground[other])).expect("there is an inner cell");
    let place = [(spring % side) as f32 + 0.5, (spring / side) as f32 + 0.5].map(|place| place / side as f32);
    terrain.sources.push(Source { place, radius: 0.0, rate: 30.0, ticks: None });
    let mut simulation = run_process(Water::with(Params { rain_rate: 0.0, ..unaccelerated() }), terrain, 0);
    let mut arrived = None;
    for tick in 1..=8000 {
        simulation.tick();
        if tick % 50 == 0 && is_connected_to_border(&simulation.terrain.water, spring) {
            arrived = Some(simulation.slots[0].process.counts().seconds);
            break;
        }
    }
    let seconds = arrived.expect("the river reaches the border");
    let [u, v] = simulation.slots[0].process.vector_map(VectorMap::Velocity, &simulation.terrain).expect("water flows");
    let wet: Vec<usize> = (0..side * side).filter(|&cell| simulation.terrain.water[cell] > 0.05).collect();
    let travel_time = wet.iter().map(|&cell| f64::from(size / u[cell].hypot(v[cell]).max(0.05))).sum::<f64>();
    assert!(seconds <= travel_time, "it took {seconds} s, and {travel_time} s at the speed of the water");
}

#[test]
fn water_is_unstable_above_stability_limit() {
    for mode in [Mode::Corrected, Mode::Published] {
        let mut terrain = gentle();
        terrain.water.fill(2.0);
        let mut water = Water::with(Params { mode, ..unaccelerated() });
        water.dt = 4.0 * water.largest_stable_dt(&terrain);
        let (dt, start) = (water.dt, contract::roughness(&terrain));
        for _ in 0..50 {
            water.work(&mut terrain, StepScope::Full);
        }
        let grown = contract::roughness(&terrain) / start;
        assert!(grown >= 1.2, "{mode:?}: steps of {dt} make it {grown} times as rough");
    }
}
