//! Tests of manual edits.

use super::*;
use crate::{
    core::terrain::Edge,
    params::{Value, write},
    simulation::Simulation,
};

#[test]
fn drying_deposits_suspended_sediment_and_balances_ledger() {
    let mut simulation = Simulation::new(Terrain::bare(Grid::filled(8, 8, 3.0), 2.0, Edge::Open), 1);
    simulation.spread_sand(0.5);
    assert_eq!((simulation.ledger.solid.edits, simulation.solid_residual()), (128.0, 0.0));
    simulation.terrain.water[9] = 1.0;
    simulation.terrain.suspended[9] = 0.25;
    simulation.ledger.water.start = simulation.terrain.water_volume();
    simulation.ledger.solid.start += 1.0;
    simulation.dry();
    assert_eq!((simulation.terrain.water_volume(), simulation.terrain.sand[9]), (0.0, 0.75));
    assert_eq!((simulation.water_residual(), simulation.solid_residual()), (0.0, 0.0));
    simulation.remove_sand();
    assert_eq!(simulation.terrain.sand.total(), 0.0);
    assert_eq!(simulation.solid_residual(), 0.0);
}

const SIDE: usize = 65;

/// Rolling ground with some sand on it.
fn ground(edge: Edge) -> Simulation {
    let heights = Grid::from_fn(SIDE, SIDE, |x, y| 20.0 + 4.0 * ((x as f32 * 0.4).sin() + (y as f32 * 0.3).cos()));
    let mut terrain = Terrain::bare(heights, 2.0, edge);
    terrain.sand = Grid::from_fn(SIDE, SIDE, |x, y| if (x / 9 + y / 7) % 2 == 0 { 0.4 } else { 0.0 });
    Simulation::new(terrain, 1)
}

fn brush(tool: Tool) -> Brush {
    Brush { radius: 15.0, ..Brush::of(tool) }
}

fn dab(place: [f32; 2]) -> Dab {
    Dab { place, inverted: false, level: 22.0, clone_source: Some(([-15.0, -17.0], 0.5)), number: 0 }
}

fn stamp_image() -> Grid {
    Grid::from_fn(33, 33, |x, y| if (8..24).contains(&x) && (8..24).contains(&y) { 1.0 } else { 0.0 })
}

/// Applies a stroke through these positions, with this many seconds between them.
fn stroke(simulation: &mut Simulation, tool: Tool, brush: &Brush, places: &[[f32; 2]], seconds: f32) -> UndoPatch {
    let mut patch = UndoPatch::default();
    let (mut stroke, mut growth) = (Stroke::new(places[0]), StrokeGrowth::default());
    let stamp = stamp_image();
    let mut touch = |simulation: &mut Simulation, place| {
        simulation.dab_in_stroke((tool, brush), dab(place), Some(&stamp), (&mut patch, &mut growth));
    };
    touch(simulation, places[0]);
    for &place in &places[1..] {
        for place in stroke.advance(place, seconds, brush, &simulation.terrain) {
            touch(simulation, place);
        }
    }
    patch
}

fn largest_difference(a: &Grid, b: &Grid) -> f32 {
    a.iter().zip(b.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn brush_edits_are_booked_local_and_exactly_undoable() {
    for tool in Tool::ALL {
        for inverted in [false, true] {
            let mut simulation = ground(Edge::Open);
            let before = simulation.clone();
            let (brush, place) = (brush(tool), [30.3, 33.8]);
            let mut patch = UndoPatch::default();
            for _ in 0..5 {
                if tool == Tool::Slope {
                    simulation.ramp(&brush, [[27.0, 33.0], [34.0, 34.0]], &mut patch);
                } else {
                    simulation.dab(tool, &brush, Dab { inverted, ..dab(place) }, Some(&stamp_image()), &mut patch);
                }
            }
            let grown = simulation.terrain.solid_volume() - before.terrain.solid_volume();
            assert!((simulation.ledger.solid.edits - grown).abs() < 1e-6 * grown.abs().max(1.0), "{tool:?}");
            assert!(simulation.solid_residual().abs() < 1e-5, "{tool:?}: {}", simulation.solid_residual());
            let poured = simulation.terrain.water_volume() - before.terrain.water_volume();
            assert!((simulation.ledger.water.edits - poured).abs() < 1e-6 * poured.abs().max(1.0), "{tool:?}");
            let mut changed = simulation.terrain.clone();
            let layers = |terrain: &mut Terrain| {
                tool.writes().iter().map(|field| terrain.layer_or_empty(*field)).collect::<Vec<_>>()
            };
            let (now, then) = (layers(&mut changed), layers(&mut before.terrain.clone()));
            assert!(now.iter().all(|grid| grid.iter().all(|value| value.is_finite())), "{tool:?}");
            // To paint the existing value, unmask the unmasked or dry the dry changes nothing.
            let idle = match tool {
                Tool::Water => inverted,
                Tool::Mask => inverted,
                Tool::Uplift => !inverted,
                _ => false,
            };
            assert_eq!(now == then, idle, "{tool:?}, inverted {inverted}");
            let reach = brush.radius_in_cells(&before.terrain) + if tool == Tool::Slope { 4.0 } else { 0.0 };
            for (now, then) in now.iter().zip(&then) {
                for index in 0..SIDE * SIDE {
                    let (x, y) = ((index % SIDE) as f32 - place[0], (index / SIDE) as f32 - place[1]);
                    assert!(x.hypot(y) <= reach || now[index] == then[index], "{tool:?} reaches {x}, {y}");
                }
            }
            simulation.exchange(&mut patch);
            assert_eq!(layers(&mut simulation.terrain), then, "{tool:?} is not undone");
            let left = [simulation.ledger.solid.edits, simulation.ledger.water.edits];
            assert!(left.iter().all(|edits| edits.abs() < 1e-9), "{tool:?}: {left:?}");
            simulation.exchange(&mut patch);
            assert_eq!(layers(&mut simulation.terrain), now, "{tool:?} is not done again");
        }
    }
}

#[test]
fn removing_water_deposits_suspended_sediment() {
    let mut simulation = ground(Edge::Open);
    for (cell, (water, carried)) in
        simulation.terrain.water.iter_mut().zip(simulation.terrain.suspended.iter_mut()).enumerate()
    {
        (*water, *carried) = (0.01 * (cell % 7) as f32, 0.002 * (cell % 5) as f32);
    }
    let before = simulation.terrain.clone();
    let (brush, mut patch) = (Brush { falloff: Falloff::Flat, ..brush(Tool::Water) }, UndoPatch::default());
    (0..50).for_each(|_| {
        simulation.dab(Tool::Water, &brush, Dab { inverted: true, ..dab([32.0, 32.0]) }, None, &mut patch);
    });
    let at = |grid: &Grid| grid.at(32, 32);
    let (now, then) = (&simulation.terrain, &before);
    assert!(
        at(&now.water) == 0.0 && at(&now.suspended) == 0.0 && at(&now.sand) == at(&then.sand) + at(&then.suspended)
    );
    let volumes = |terrain: &Terrain| [terrain.solid_volume(), terrain.water_volume()];
    let [solid, water] = [0, 1].map(|matter| volumes(now)[matter] - volumes(then)[matter]);
    assert!(solid.abs() < 1e-3 && water < -1.0, "{solid} and {water} m³");
    let edits = [simulation.ledger.solid.edits, simulation.ledger.water.edits];
    assert!((edits[0] - solid).abs() < 1e-6 && (edits[1] - water).abs() < 1e-6, "{edits:?}");
    simulation.exchange(&mut patch);
    let (now, edits) = (&simulation.terrain, [simulation.ledger.solid.edits, simulation.ledger.water.edits]);
    assert!(now.water == before.water && now.suspended == before.suspended && now.sand == before.sand);
    assert!(edits.iter().all(|edits| edits.abs() < 1e-9), "{edits:?}");
}

#[test]
fn dab_on_flat_ground_is_symmetric() {
    for tool in [Tool::Raise, Tool::Lower, Tool::Flatten, Tool::Sand, Tool::Stamp, Tool::Smooth, Tool::Terrace] {
        let mut simulation = Simulation::new(Terrain::bare(Grid::filled(SIDE, SIDE, 17.0), 1.0, Edge::Open), 1);
        if tool == Tool::Smooth {
            simulation.terrain.bedrock[32 * SIDE + 32] = 40.0;
        }
        simulation.dab(
            tool,
            &brush(tool),
            dab([32.0, 32.0]),
            Some(&Grid::filled(9, 9, 1.0)),
            &mut UndoPatch::default(),
        );
        let ground = simulation.terrain.ground();
        for y in 0..SIDE {
            for x in 0..SIDE {
                let here = ground.at(x, y);
                for other in [ground.at(SIDE - 1 - x, y), ground.at(x, SIDE - 1 - y), ground.at(y, x)] {
                    assert!((here - other).abs() < 1e-5, "{tool:?} at {x}, {y}: {here} and {other}");
                }
            }
        }
    }
}

#[test]
fn stroke_is_independent_of_pointer_rate_and_dab_spacing() {
    let ends = [[12.0, 20.0], [52.0, 44.0]];
    let path = |count: usize| -> Vec<[f32; 2]> {
        let share = |index: usize| index as f32 / count as f32;
        (0..=count)
            .map(|index| [0, 1].map(|axis| ends[0][axis] + share(index) * (ends[1][axis] - ends[0][axis])))
            .collect()
    };
    for tool in [Tool::Raise, Tool::Lower, Tool::Smooth, Tool::Sand, Tool::Rain, Tool::Noise, Tool::Terrace] {
        let run = |count: usize, brush: &Brush| {
            let mut simulation = ground(Edge::Open);
            stroke(&mut simulation, tool, brush, &path(count), 1.0 / count as f32);
            let before = ground(Edge::Open).terrain;
            let rain = |terrain: &Terrain| terrain.rain.clone().unwrap_or_else(|| Grid::filled(SIDE, SIDE, 1.0));
            let mut changed = if tool == Tool::Rain { rain(&simulation.terrain) } else { simulation.terrain.ground() };
            let start = if tool == Tool::Rain { rain(&before) } else { before.ground() };
            changed.iter_mut().zip(start.iter()).for_each(|(changed, start)| *changed -= start);
            changed
        };
        let brush = brush(tool);
        let (seldom, often) = (run(3, &brush), run(120, &brush));
        let most = often.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        assert!(most > 0.05, "{tool:?} does nothing");
        let apart = largest_difference(&seldom, &often) / most;
        assert!(apart < 2e-3, "{tool:?}: {apart} between 3 and 120 looks");
        // Without holding, the effect of a pass is independent of the spacing of its dabs.
        let moving = |spacing: f32| run(40, &Brush { hold: false, spacing, ..brush.clone() });
        let (close, wide) = (moving(5.0), moving(25.0));
        let apart = largest_difference(&close, &wide) / most;
        assert!(apart < 0.25, "{tool:?}: {apart} between close and wide dabs");
    }
}

#[test]
fn full_strength_stroke_raises_ground_by_brush_height() {
    let mut simulation = Simulation::new(Terrain::bare(Grid::filled(SIDE, SIDE, 0.0), 2.0, Edge::Open), 1);
    let brush = Brush { strength: 1.0, hold: false, ..brush(Tool::Raise) };
    let places: Vec<[f32; 2]> = (0..=60).map(|x| [x as f32, 32.0]).collect();
    stroke(&mut simulation, Tool::Raise, &brush, &places, 0.1);
    let wanted = 0.8 * brush.radius_in_cells(&simulation.terrain) * 2.0;
    let raised = simulation.terrain.bedrock.at(32, 32);
    assert!((raised / wanted - 1.0).abs() < 0.05, "{raised} m for {wanted} m");
}

#[test]
fn held_brush_saturates_unless_build_up_is_enabled() {
    let flat = || Simulation::new(Terrain::bare(Grid::filled(SIDE, SIDE, 0.0), 2.0, Edge::Open), 1);
    for tool in [Tool::Raise, Tool::Lower, Tool::Sand] {
        let height = |build_up: bool, seconds: f32| {
            let brush = Brush { build_up, ..brush(tool) };
            let mut simulation = flat();
            stroke(&mut simulation, tool, &brush, &[[30.2, 31.0]; 2], seconds);
            let (low, high) = simulation.terrain.ground().min_max();
            let edits = simulation.ledger.solid.edits;
            assert!((edits - simulation.terrain.solid_volume()).abs() < 1e-6 * edits.abs(), "{tool:?} is booked");
            (high - low) / brush.rise(&simulation.terrain)
        };
        let (short, long, on) = (height(false, 1.0), height(false, 120.0), height(true, 120.0));
        assert!(short < 0.5 && (0.95..=1.001).contains(&long), "{tool:?}: {short}, then {long} of the height");
        assert!(on > 20.0, "{tool:?} builds up to {on}");
    }
    // It keeps the brush's shape: half-way to the rim it is half as high.
    let mut hill = flat();
    let brush = Brush { falloff: Falloff::Linear, ..brush(Tool::Raise) };
    stroke(&mut hill, Tool::Raise, &brush, &[[32.0, 32.0]; 2], 60.0);
    let radius = brush.radius_in_cells(&hill.terrain);
    let share = hill.terrain.sample_ground(32.0 + 0.5 * radius, 32.0) / hill.terrain.sample_ground(32.0, 32.0);
    assert!((share - 0.5).abs() < 0.02, "{share}");
}

#[test]
fn locked_brush_stops_at_lock_level() {
    let before = ground(Edge::Open).terrain;
    for (tool, inverted) in [(Tool::Raise, false), (Tool::Lower, true), (Tool::Sand, false), (Tool::Stamp, false)] {
        let locked = Brush { lock: true, level: 22.0, build_up: true, strength: 1.0, ..brush(tool) };
        let mut simulation = ground(Edge::Open);
        for _ in 0..200 {
            let dab = Dab { inverted, ..dab([32.0, 32.0]) };
            simulation.dab(tool, &locked, dab, Some(&stamp_image()), &mut UndoPatch::default());
        }
        let now = simulation.terrain.ground();
        let most = |before: f32| before.max(22.0) + 1e-4;
        assert!(now.iter().zip(before.ground().iter()).all(|(now, &before)| *now <= most(before)), "{tool:?}");
        assert!((now.at(32, 32) - 22.0).abs() < 0.01 || before.ground().at(32, 32) > 22.0, "{tool:?}");
        assert!(now.iter().zip(before.ground().iter()).all(|(now, before)| now >= before), "{tool:?} dug");
    }
    let mut dug = ground(Edge::Open);
    let locked =
        |tool| Brush { lock: true, level: 18.0, build_up: true, strength: 1.0, falloff: Falloff::Flat, ..brush(tool) };
    (0..200)
        .for_each(|_| dug.dab(Tool::Lower, &locked(Tool::Lower), dab([32.0, 32.0]), None, &mut UndoPatch::default()));
    let (now, radius) = (dug.terrain.ground(), brush(Tool::Lower).radius_in_cells(&dug.terrain));
    for (index, (now, before)) in now.iter().zip(before.ground().iter()).enumerate() {
        let (x, y) = ((index % SIDE) as f32 - 32.0, (index / SIDE) as f32 - 32.0);
        let wanted = if x.hypot(y) < radius { before.min(18.0) } else { *before };
        assert!((now - wanted).abs() < 1e-3, "{x}, {y}: {now} for {wanted}");
    }
    let mut flat = ground(Edge::Open);
    (0..60).for_each(|_| {
        flat.dab(Tool::Flatten, &locked(Tool::Flatten), dab([32.0, 32.0]), None, &mut UndoPatch::default());
    });
    assert!((flat.terrain.sample_ground(33.0, 30.0) - 18.0).abs() < 0.01);
}

#[test]
fn clone_brush_wraps_only_on_periodic_maps() {
    for edge in [Edge::Wrap, Edge::Open] {
        let mut simulation = ground(edge);
        let before = simulation.terrain.ground();
        let full = Brush { strength: 1.0, falloff: Falloff::Flat, ..brush(Tool::Clone) };
        // From 10 columns to the left and 3 rows up: across the left border, into rows and columns with other indices.
        let dab = Dab { clone_source: Some(([-10.0, -3.0], 2.0)), ..dab([6.0, 30.0]) };
        for _ in 0..40 {
            simulation.dab(Tool::Clone, &full, dab, Some(&before), &mut UndoPatch::default());
        }
        let now = simulation.terrain.ground();
        for (x, y) in [(3, 30), (6, 27), (12, 33)] {
            let from = x as isize - 10;
            let wanted = match edge {
                Edge::Wrap => before.at(from.rem_euclid(SIDE as isize) as usize, y - 3) + 2.0,
                _ if from < 0 => before.at(x, y),
                _ => before.at(from as usize, y - 3) + 2.0,
            };
            assert!((now.at(x, y) - wanted).abs() < 1e-2, "{edge:?}, {x}, {y}: {} for {wanted}", now.at(x, y));
        }
    }
}

#[test]
fn symmetry_mirrors_dab_positions() {
    let places = |symmetry: Symmetry| symmetry.places([2.0, 5.0], (10, 20)).collect::<Vec<_>>();
    assert_eq!(places(Symmetry::Off), [[2.0, 5.0]]);
    assert_eq!(places(Symmetry::LeftRight), [[2.0, 5.0], [7.0, 5.0]]);
    assert_eq!(places(Symmetry::AboveBelow), [[2.0, 5.0], [2.0, 14.0]]);
    assert_eq!(places(Symmetry::Quarters), [[2.0, 5.0], [7.0, 5.0], [2.0, 14.0], [7.0, 14.0]]);
}

#[test]
fn brush_tools_converge_to_their_target_shape() {
    let full = |tool| Brush { strength: 1.0, falloff: Falloff::Flat, hold: false, ..brush(tool) };
    let rest = |simulation: &mut Simulation, tool: Tool, count: usize| {
        for _ in 0..count {
            simulation.dab(tool, &full(tool), dab([32.0, 32.0]), None, &mut UndoPatch::default());
        }
    };
    let mut flat = ground(Edge::Open);
    rest(&mut flat, Tool::Flatten, 60);
    assert!((flat.terrain.sample_ground(33.0, 30.0) - 22.0).abs() < 0.01);
    let mut stepped = ground(Edge::Open);
    let held = Brush { hold: true, ..full(Tool::Terrace) };
    stroke(&mut stepped, Tool::Terrace, &held, &[[32.0, 32.0]; 2], 10.0);
    let height = stepped.terrain.sample_ground(32.0, 32.0);
    assert!((height / 10.0 - (height / 10.0).round()).abs() < 0.02, "{height} is no tread");
    let roughness = |terrain: &Terrain| -> f32 {
        (28..36)
            .map(|x| (terrain.sample_ground(x as f32 + 1.0, 32.0) - terrain.sample_ground(x as f32, 32.0)).abs())
            .sum()
    };
    let mut smooth = ground(Edge::Open);
    rest(&mut smooth, Tool::Smooth, 40);
    assert!(roughness(&smooth.terrain) < 0.5 * roughness(&ground(Edge::Open).terrain));
    let mut sandy = ground(Edge::Open);
    rest(&mut sandy, Tool::Sand, 3);
    assert_eq!(sandy.terrain.bedrock, ground(Edge::Open).terrain.bedrock);
    assert!(sandy.terrain.sand.at(32, 32) > 0.5);
    let take = Dab { inverted: true, ..dab([32.0, 32.0]) };
    (0..99).for_each(|_| sandy.dab(Tool::Sand, &full(Tool::Sand), take, None, &mut UndoPatch::default()));
    assert_eq!(sandy.terrain.sand.at(32, 32), 0.0);
    let mut soft = ground(Edge::Open);
    rest(&mut soft, Tool::Softness, 60);
    assert!(soft.terrain.softness.at(32, 32) > 0.99);
    let mut ramp = ground(Edge::Open);
    let ends = [[20.0, 30.0], [44.0, 36.0]];
    let heights = ends.map(|[x, y]| ramp.terrain.sample_ground(x, y));
    ramp.ramp(&full(Tool::Slope), ends, &mut UndoPatch::default());
    for share in [0.25_f32, 0.5, 0.75] {
        let (x, y) = (20.0 + 24.0 * share, 30.0 + 6.0 * share);
        let wanted = heights[0] + share * (heights[1] - heights[0]);
        assert!((ramp.terrain.sample_ground(x, y) - wanted).abs() < 0.05, "{share}");
    }
}

/// Strokes back and forth over the middle of a map with a brush at its defaults, at an angle to the grid. Returns the changes of the
/// cells that every stroke has passed, row by row.
fn scribbled(terrain: &Terrain, tool: Tool) -> Grid {
    let side = terrain.width() as f32;
    let turn = |along: f32, down: f32| [0.5 * side + 0.8 * along - 0.6 * down, 0.5 * side + 0.6 * along + 0.8 * down];
    let brush = Brush::of(tool);
    let lines = 0.02 * brush.radius * side;
    let places: Vec<[f32; 2]> = (-8..=8)
        .flat_map(|line| {
            let ends = if line % 2 == 0 { [-0.3, 0.3] } else { [0.3, -0.3] };
            ends.map(|end| turn(end * side, line as f32 * 0.25 * lines))
        })
        .collect();
    let mut simulation = Simulation::new(terrain.clone(), 1);
    stroke(&mut simulation, tool, &brush, &places, 0.1);
    let (before, after) = (terrain.ground(), simulation.terrain.ground());
    let (first, count) = ((0.4 * side) as usize, (0.2 * side) as usize);
    Grid::from_fn(count, count, |x, y| after.at(first + x, first + y) - before.at(first + x, first + y))
}

/// Returns the curvature of a map over single cells relative to its standard deviation: (2π/λ)² for waves of λ cells, 4 for a comb.
fn cell_curvature(map: &Grid) -> f32 {
    let mean = (map.total() / map.len() as f64) as f32;
    let deviation = map.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / map.len() as f32;
    let (width, height) = (map.width(), map.height());
    let inner = (1..height - 1).flat_map(|y| (1..width - 1).map(move |x| (x, y)));
    let bends = inner.map(|(x, y)| {
        let twice = 2.0 * map.at(x, y);
        let (across, down) = (map.at(x - 1, y) + map.at(x + 1, y) - twice, map.at(x, y - 1) + map.at(x, y + 1) - twice);
        across.powi(2).max(down.powi(2))
    });
    (bends.sum::<f32>() / ((width - 2) * (height - 2)) as f32 / deviation).sqrt()
}

/// A slope of this gradient at an angle to the grid, with hills if they are higher than 0.
fn oblique_slope(side: usize, gradient: f32, hills: f32) -> Terrain {
    let cell_size = 2560.0 / side as f32;
    let heights = Grid::from_fn(side, side, |x, y| {
        let [x, y] = [x, y].map(|place| place as f32 * cell_size);
        500.0 + gradient * (0.9 * x - 0.44 * y) + hills * ((0.012 * x).sin() + (0.017 * y).cos())
    });
    Terrain::bare(heights, cell_size, Edge::Open)
}

#[test]
fn brushed_relief_is_smooth_at_the_scale_of_cells() {
    for side in [256, 512] {
        for (gradient, hills) in [(0.05, 0.0), (0.3, 0.0), (0.6, 0.0), (0.3, 20.0)] {
            for tool in [Tool::Terrace, Tool::Noise] {
                let change = scribbled(&oblique_slope(side, gradient, hills), tool);
                let bends = cell_curvature(&change);
                assert!(bends < 0.6, "{tool:?} at {side}², slope {gradient} with hills of {hills} m: {bends}");
            }
        }
    }
}

#[test]
fn held_noise_grows_to_a_limit_without_losing_its_shape() {
    let bumps = |seconds: f32| {
        let mut simulation = Simulation::new(Terrain::bare(Grid::filled(SIDE, SIDE, 0.0), 2.0, Edge::Open), 1);
        stroke(&mut simulation, Tool::Noise, &brush(Tool::Noise), &[[30.2, 31.0]; 2], seconds);
        simulation.terrain.ground()
    };
    let (short, long, longest) = (bumps(1.0), bumps(60.0), bumps(120.0));
    assert!(long == longest, "it still grows");
    let products = |a: &Grid, b: &Grid| a.iter().zip(b.iter()).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let likeness = products(&short, &long) / (products(&short, &short) * products(&long, &long)).sqrt();
    assert!(likeness > 0.999, "{likeness}");
    assert!(products(&long, &long) > 4.0 * products(&short, &short));
}

#[test]
fn held_terrace_has_gentle_risers() {
    let terrain = oblique_slope(128, 0.02, 0.0);
    let mut simulation = Simulation::new(terrain, 1);
    let brush = Brush { radius: 30.0, ..Brush::of(Tool::Terrace) };
    stroke(&mut simulation, Tool::Terrace, &brush, &[[64.0, 64.0]; 2], 30.0);
    let ground = simulation.terrain.ground();
    // A terrace is 10 m high and 25 cells wide.
    let steepest = (40..88)
        .flat_map(|y| (40..88).map(move |x| (x, y)))
        .map(|(x, y)| (ground.at(x + 1, y) - ground.at(x, y)).abs())
        .fold(0.0, f32::max);
    assert!(steepest < 3.0, "{steepest} m between cells");
}

#[test]
fn brushes_leave_masked_cells_unchanged() {
    for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::Mask) {
        let mut simulation = ground(Edge::Open);
        let layer = |simulation: &mut Simulation| match *tool.writes() {
            [layer] | [layer @ Layer::Water, ..] => simulation.terrain.layer_or_empty(layer),
            _ => simulation.terrain.ground(),
        };
        simulation.terrain.mask = Some(Grid::from_fn(SIDE, SIDE, |x, _| if x < 32 { 1.0 } else { 0.0 }));
        let before = layer(&mut simulation);
        if tool == Tool::Slope {
            simulation.ramp(&brush(tool), [[25.0, 20.0], [40.0, 40.0]], &mut UndoPatch::default());
        } else {
            // All land rises until uplift is painted away.
            let inverted = tool == Tool::Uplift;
            let dab = Dab { inverted, ..dab([32.0, 32.0]) };
            simulation.dab(tool, &brush(tool), dab, Some(&stamp_image()), &mut UndoPatch::default());
        }
        let after = layer(&mut simulation);
        let changed =
            |left: bool| (0..SIDE * SIDE).any(|cell| (cell % SIDE < 32) == left && before[cell] != after[cell]);
        assert!(!changed(true) && changed(false), "{tool:?}");
    }
}

#[test]
fn uplift_painted_over_uniform_uplift_can_be_undone() {
    let mut simulation = ground(Edge::Open);
    let mut patch = UndoPatch::default();
    simulation.clear_uplift(&mut patch);
    simulation.dab(Tool::Uplift, &brush(Tool::Uplift), dab([32.0, 32.0]), None, &mut patch);
    let uplift = |simulation: &Simulation| simulation.terrain.layer_or_empty(Layer::Uplift);
    let painted = uplift(&simulation);
    assert!(painted.at(32, 32) > 0.0 && painted.at(0, 0) == 0.0 && painted.at(SIDE - 1, SIDE - 1) == 0.0);
    simulation.exchange(&mut patch);
    assert_eq!(uplift(&simulation).min_max(), (1.0, 1.0));
    simulation.exchange(&mut patch);
    assert_eq!(uplift(&simulation), painted);
}

#[test]
fn brushes_wrap_on_periodic_maps_and_support_any_size() {
    let mut simulation = ground(Edge::Wrap);
    simulation.dab(Tool::Raise, &brush(Tool::Raise), dab([0.0, 10.0]), None, &mut UndoPatch::default());
    let start = ground(Edge::Wrap).terrain.bedrock;
    let raised = |x: usize| simulation.terrain.bedrock.at(x, 10) - start.at(x, 10);
    assert!(raised(SIDE - 2) > 0.0 && (raised(SIDE - 2) - raised(2)).abs() < 1e-5);
    for (width, height) in [(1, 1), (1, 40), (3, 2), (100, 5)] {
        for edge in [Edge::Open, Edge::Wrap] {
            let mut simulation = Simulation::new(Terrain::bare(Grid::filled(width, height, 5.0), 1.0, edge), 1);
            for tool in Tool::ALL {
                let mut patch = UndoPatch::default();
                let wide = Brush { radius: 50.0, ..brush(tool) };
                simulation.dab(tool, &wide, dab([0.4, 0.6]), Some(&stamp_image()), &mut patch);
                simulation.ramp(&wide, [[0.0, 0.0], [width as f32, height as f32]], &mut patch);
                simulation.exchange(&mut patch);
            }
            assert!(simulation.terrain.bedrock.iter().all(|&height| height == 5.0));
        }
    }
}

#[test]
fn selection_criteria_combine_and_undo() {
    // A cone on a plain, with a heap of deposited sand beside it.
    let heights =
        Grid::from_fn(SIDE, SIDE, |x, y| (30.0 - 2.0 * (x as f32 - 20.0).hypot(y as f32 - 32.0)).max(0.02 * x as f32));
    let mut simulation = Simulation::new(Terrain::bare(heights, 1.0, Edge::Open), 1);
    simulation.dab(Tool::Sand, &brush(Tool::Sand), dab([52.0, 32.0]), None, &mut UndoPatch::default());
    let select = |by: SelectionCriterion, from: f32, to: f32| Selection { by, from, to, softness: 0.02 };
    let at = |simulation: &Simulation, x: usize| simulation.terrain.mask.as_ref().map(|mask| mask.at(x, 32));
    let mut run = |selection: Selection, combine: CombineMode| {
        let mut patch = UndoPatch::default();
        simulation.select(&selection, combine, &mut patch);
        let seen = [20, 26, 40, 52].map(|x| at(&simulation, x).unwrap_or_default().round());
        (seen, patch)
    };
    assert_eq!(run(select(SelectionCriterion::Height, 0.5, 1.0), CombineMode::Replace).0, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(run(select(SelectionCriterion::Slope, 0.5, 1.0), CombineMode::Replace).0[1..3], [1.0, 0.0]);
    assert_eq!(run(select(SelectionCriterion::Deposits, 0.3, 1.0), CombineMode::Add).0[1..], [1.0, 0.0, 1.0]);
    assert_eq!(run(select(SelectionCriterion::Height, 0.9, 1.0), CombineMode::Subtract).0[0], 0.0);
    let (seen, mut patch) = run(select(SelectionCriterion::Sand, 0.3, 1.0), CombineMode::Intersect);
    assert_eq!(seen, [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(run(select(SelectionCriterion::Flow, 0.0, 1.0), CombineMode::Replace).0, [1.0; 4]);
    assert_eq!(run(select(SelectionCriterion::Wear, 0.5, 1.0), CombineMode::Replace).0, [0.0; 4]);
    simulation.exchange(&mut patch);
    assert_eq!(at(&simulation, 26).map(f32::round), Some(1.0), "the intersection is undone");
    simulation.invert_mask(&mut UndoPatch::default());
    assert_eq!(at(&simulation, 26).map(f32::round), Some(0.0));
    simulation.clear_mask(&mut UndoPatch::default());
    assert!(simulation.terrain.mask.as_ref().is_some_and(|mask| mask.iter().all(|value| *value == 0.0)));
}

#[test]
fn limited_process_preserves_masked_ground_and_ledger() {
    for key in ["droplets", "water", "thermal", "wind", "runoff"] {
        let mut simulation = ground(Edge::Open);
        simulation.terrain.mask = Some(Grid::from_fn(SIDE, SIDE, |x, _| if x < 32 { 1.0 } else { 0.0 }));
        let before = simulation.terrain.clone();
        let slot = simulation.slot_mut(key).expect("it is in the catalogue");
        (slot.enabled, slot.limited) = (true, true);
        if key == "water" {
            // Enough for rivers after these few ticks.
            let [params, _] = slot.process.settings_mut();
            write(params, "rain_rate", &Value::Number(0.002));
        }
        (0..60).for_each(|_| simulation.tick());
        let changed = |left: bool| {
            let ground = simulation.terrain.ground();
            let before = before.ground();
            (0..SIDE * SIDE).any(|cell| (cell % SIDE < 32) == left && ground[cell] != before[cell])
        };
        assert!(!changed(true) && changed(false), "{key}");
        let moved = simulation.ledger.solid.sum(|row| row.moved);
        let residual = simulation.solid_residual();
        assert!(residual.abs() < 1e-5 * moved, "{key}: {residual} of {moved}");
    }
}

#[test]
fn undo_modifies_only_tiles_in_patch() {
    let mut simulation = ground(Edge::Open);
    let before = simulation.terrain.clone();
    let (mut patch, first) = (UndoPatch::default(), simulation.terrain.bedrock.version());
    simulation.dab(Tool::Raise, &brush(Tool::Raise), dab([10.0, 10.0]), None, &mut patch);
    let second = simulation.terrain.bedrock.version();
    let count = |simulation: &Simulation, then| simulation.terrain.bedrock.changed_since(then).map(Iterator::count);
    let all = simulation.terrain.bedrock.len() / crate::core::tiles::CELLS;
    assert!(simulation.terrain != before && count(&simulation, first).is_some_and(|tiles| tiles > 0 && tiles < all));
    simulation.exchange(&mut patch);
    assert!(simulation.terrain == before);
    // A patch saves squares of 64 cells.
    assert!(
        count(&simulation, second).is_some_and(|tiles| tiles > 0 && tiles <= 64),
        "{:?}",
        count(&simulation, second)
    );
}

#[test]
fn erode_brush_uses_droplet_parameters_and_reseeds_per_dab() {
    let hill = |edge| {
        let heights = Grid::from_fn(SIDE, SIDE, |x, y| 80.0 - 1.2 * (x as f32 - 32.0).hypot(y as f32 - 32.0));
        Simulation::new(Terrain::bare(heights, 2.0, edge), 1)
    };
    let brush = brush(Tool::Erode);
    let dabs = |simulation: &mut Simulation, brush: &Brush, numbers: std::ops::Range<u64>| {
        let before = simulation.terrain.ground();
        for number in numbers {
            let dab = Dab { number, ..dab([32.0, 40.0]) };
            simulation.dab(Tool::Erode, brush, dab, None, &mut UndoPatch::default());
        }
        assert!(simulation.solid_residual().abs() < 1e-5, "{}", simulation.solid_residual());
        let change = simulation.terrain.ground();
        change.iter().zip(before.iter()).map(|(now, before)| (now - before).abs()).sum::<f32>()
    };
    let set = |simulation: &mut Simulation, name: &str, value: f64| {
        let droplets = simulation.slot_mut("droplets").expect("it is in the catalogue");
        assert!(write(droplets.process.settings_mut()[0], name, &Value::Number(value)));
    };
    let mut usual = hill(Edge::Open);
    let moved = dabs(&mut usual, &brush, 0..10);
    let mut hungry = hill(Edge::Open);
    set(&mut hungry, "entrainment", 40.0);
    let more = dabs(&mut hungry, &brush, 0..10);
    assert!(moved > 1.0 && more > 1.5 * moved, "{moved}, with five times the load {more}");
    let (mut first, mut second, mut none) = (hill(Edge::Open), hill(Edge::Open), hill(Edge::Open));
    dabs(&mut first, &brush, 0..1);
    dabs(&mut second, &brush, 1..2);
    assert!(first.terrain != second.terrain, "two dabs have the same rain");
    assert_eq!(dabs(&mut none, &Brush { strength: 0.0, ..brush.clone() }, 0..10), 0.0);
    // Across the border of a periodic map too.
    let mut round = hill(Edge::Wrap);
    round.dab(Tool::Erode, &brush, dab([0.0, 33.0]), None, &mut UndoPatch::default());
    let before = hill(Edge::Wrap).terrain.ground();
    let changed = |x: usize| (0..SIDE).any(|y| round.terrain.ground().at(x, y) != before.at(x, y));
    assert!(changed(2) && changed(SIDE - 3) && !changed(32));
    // A simulation without the droplets process releases none.
    let mut without = Simulation::of(Vec::new(), hill(Edge::Open).terrain, 1);
    assert_eq!(dabs(&mut without, &brush, 0..3), 0.0);
}

#[test]
fn pen_pressure_scales_selected_brush_settings() {
    let of = |pen: PenPressure| {
        let brush = Brush { pen, radius: 10.0, strength: 0.8, ..Brush::default() }.pressed(0.5);
        (brush.radius, brush.strength)
    };
    let found = [PenPressure::Strength, PenPressure::Radius, PenPressure::Both, PenPressure::Nothing].map(of);
    assert_eq!(found, [(10.0, 0.4), (5.0, 0.8), (5.0, 0.4), (10.0, 0.8)]);
}
