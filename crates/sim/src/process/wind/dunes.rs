//! Dunes of the default wind compared with nature: shape, migration, wavelength, star dunes.
//!
//! Barchans: Hersen 2004 and Sauermann et al. 2000 (width and length against height), slip faces at the angle of repose; Bagnold 1941
//! (speed against height). All lengths are in metres.

use super::{Params, Wind};
use crate::{
    core::{
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::contract::{rotate_or_mirror, run_process},
    simulation::Simulation,
};

/// A periodic map with a paraboloid of sand on rock.
fn heap([width, height]: [usize; 2], cell_size: f32, [x, y]: [f32; 2], radius: f32, tall: f32) -> Terrain {
    let mut terrain = Terrain::bare(Grid::filled(width, height, 0.0), cell_size, Edge::Wrap);
    for (index, sand) in terrain.sand.iter_mut().enumerate() {
        let (dx, dy) = ((index % width) as f32 * cell_size - x, (index / width) as f32 * cell_size - y);
        *sand = tall * (1.0 - (dx * dx + dy * dy) / (radius * radius)).max(0.0);
    }
    terrain.start = terrain.ground();
    terrain
}

/// A steady wind whose flux per tick is about a twentieth of the squared cell size.
fn wind(direction: f32, cell_size: f32) -> Params {
    Params { direction, capacity: 0.06 * cell_size * cell_size, ..Params::default() }
}

/// Measurements of a barchan.
#[derive(Debug)]
struct Barchan {
    height: f32,
    width: f32,
    /// From the foot of the windward side over the brink to the foot of the slip face.
    length: f32,
    /// Length of the windward side relative to the lee side. The brink separates them, where the flow separates from the falling ground.
    ratio: f32,
    /// Mean slope of the windward side, in degrees.
    stoss: f32,
    /// Reach of the horns beyond the foot of the slip face.
    horns: [f32; 2],
    /// Slope of the slip face, in degrees: median and maximum.
    slip: [f32; 2],
}

/// Returns the height between cells, on a periodic map.
fn height_at(sand: &Grid, x: f32, y: f32) -> f32 {
    let at = |x: isize, y: isize| {
        sand.at(x.rem_euclid(sand.width() as isize) as usize, y.rem_euclid(sand.height() as isize) as usize)
    };
    let (column, row) = (x.floor(), y.floor());
    let (right, down) = (x - column, y - row);
    let along = |row: isize| at(column as isize, row) * (1.0 - right) + at(column as isize + 1, row) * right;
    along(row as isize) * (1.0 - down) + along(row as isize + 1) * down
}

/// Returns the slope of the ground in degrees, from the difference over a cell.
fn slope_at(sand: &Grid, cell_size: f32, x: f32, y: f32) -> f32 {
    let along = height_at(sand, x + 0.5, y) - height_at(sand, x - 0.5, y);
    let down = height_at(sand, x, y + 0.5) - height_at(sand, x, y - 0.5);
    (along.hypot(down) / cell_size).atan().to_degrees()
}

fn measure(terrain: &Terrain, direction: f32) -> Barchan {
    /// Height below which sand counts as blown over the rock.
    const FOOT: f32 = 0.3;
    let (sand, cell) = (&terrain.sand, terrain.cell_size);
    let (sin, cos) = direction.to_radians().sin_cos();
    let crest = (0..sand.len()).max_by(|&a, &b| sand[a].total_cmp(&sand[b])).expect("there are cells");
    let (x, y) = ((crest % sand.width()) as f32, (crest / sand.width()) as f32);
    // Cells downwind of the crest, and to its side.
    let place = |along: f32, aside: f32| (x + along * cos - aside * sin, y + along * sin + aside * cos);
    let at = |along: f32, aside: isize| {
        let (x, y) = place(along, aside as f32);
        height_at(sand, x, y)
    };
    let reach = (60.0 / cell) as isize;
    // Feet and brink also lie between cells: a cell is a sixth of a lee side.
    const PART: f32 = 1.0 / 16.0;
    let parts = |sign: f32| (0..reach * 32).map(move |part| part as f32 * sign * PART);
    let foot = |sign: f32| parts(sign).find(|&along| at(along, 0) < FOOT).unwrap_or(sign * 2.0 * reach as f32);
    let (windward, lee) = (-foot(-1.0), foot(1.0));
    let falls = |along: f32| (at(along - 0.5, 0) - at(along + 0.5, 0)) / cell;
    // From half-way up the slip face back to its top.
    let half = parts(1.0).find(|&along| at(along, 0) < 0.5 * sand[crest]).unwrap_or(lee);
    let brink = parts(-1.0).map(|back| half + back).find(|&along| falls(along) < 0.3).unwrap_or(0.0);
    let tip = |aside: isize| (-reach..reach).rev().find(|&along| at(along as f32, aside) > FOOT);
    let wide = |side: isize| (1..=reach).take_while(|aside| tip(aside * side).is_some()).count();
    let horn = |side: isize| (1..reach).filter_map(|aside| tip(aside * side)).max().map_or(0.0, |tip| tip as f32 - lee);
    let mut slopes: Vec<f32> = (-4..=4)
        .flat_map(|aside| (0..reach).map(move |along| (along as f32, aside as f32)))
        .map(|(along, aside)| {
            let (x, y) = place(along, aside);
            slope_at(sand, cell, x, y)
        })
        .filter(|&slope| slope > 27.0)
        .collect();
    slopes.sort_by(f32::total_cmp);
    Barchan {
        height: sand[crest],
        width: (wide(-1) + wide(1) + 1) as f32 * cell,
        length: (windward + lee) * cell,
        ratio: (windward + brink) / (lee - brink),
        stoss: (sand[crest] / (windward * cell)).atan().to_degrees(),
        horns: [horn(-1) * cell, horn(1) * cell],
        slip: [slopes.get(slopes.len() / 2).copied().unwrap_or(0.0), slopes.last().copied().unwrap_or(0.0)],
    }
}

/// Returns the steepest slope of the map, in degrees, over two cells.
fn steepest(terrain: &Terrain) -> f32 {
    let (sand, width, height) = (&terrain.sand, terrain.width(), terrain.height());
    let at = |x: usize, y: usize| sand.at(x % width, y % height);
    let slope = |x: usize, y: usize| {
        let along = at(x + 2, y + 1) - at(x, y + 1);
        let down = at(x + 1, y + 2) - at(x + 1, y);
        (along.hypot(down) / (2.0 * terrain.cell_size)).atan().to_degrees()
    };
    (0..width * height).map(|cell| slope(cell % width, cell / width)).fold(0.0, f32::max)
}

fn assert_realistic_barchan(barchan: &Barchan, what: &str) {
    let Barchan { height, width, length, .. } = *barchan;
    assert!((width / (8.6 * height + 8.8) - 1.0).abs() < 0.3, "{what}: {barchan:?}");
    assert!((length / (5.5 * height + 10.8) - 1.0).abs() < 0.3, "{what}: {barchan:?}");
    assert!((6.0..=15.0).contains(&barchan.stoss), "{what}: {barchan:?}");
    assert!(barchan.ratio >= 3.0, "{what}: {barchan:?}");
    assert!((barchan.slip[0] - 33.0).abs() <= 2.0 && barchan.slip[1] < 36.0, "{what}: {barchan:?}");
    assert!(barchan.horns.iter().all(|horn| *horn > 0.5 * height), "{what}: {barchan:?}");
}

#[test]
fn barchan_shape_is_realistic_in_any_wind_direction() {
    let mut shapes = Vec::new();
    for direction in [0.0_f32, 22.5, 45.0, 250.0] {
        let terrain = heap([96, 96], 2.0, [96.0, 96.0], 30.0, 8.0);
        let run = run_process(Wind::with(wind(direction, 2.0)), terrain, 1200);
        let barchan = measure(&run.terrain, direction);
        println!("{direction}°: {barchan:?}, steepest {}", steepest(&run.terrain));
        assert_realistic_barchan(&barchan, &format!("{direction}°"));
        assert!(steepest(&run.terrain) < 36.0, "{direction}°: {}", steepest(&run.terrain));
        shapes.push(barchan);
    }
    for other in &shapes[1..] {
        let apart = [other.height / shapes[0].height, other.width / shapes[0].width, other.length / shapes[0].length];
        assert!(apart.iter().all(|apart| (apart - 1.0).abs() < 0.1), "{apart:?}");
    }
}

/// Runs the wind over a heap of this height.
fn grown(tall: f32, cell_size: f32, ticks: usize) -> Simulation {
    let side = |metres: f32| (metres / cell_size) as usize;
    let terrain = heap([side(256.0), side(160.0)], cell_size, [80.0, 80.0], 3.6 * tall, tall);
    run_process(Wind::with(wind(0.0, cell_size)), terrain, ticks)
}

#[test]
fn barchan_proportions_match_field_data_at_every_size() {
    let heights = [(5.5, 1.0, 1000), (8.0, 2.0, 1200), (12.5, 2.0, 1800)].map(|(tall, cell_size, ticks)| {
        let barchan = measure(&grown(tall, cell_size, ticks).terrain, 0.0);
        println!("{barchan:?}");
        assert_realistic_barchan(&barchan, &format!("a heap of {tall} m"));
        barchan.height
    });
    assert!(heights[0] < 6.0 && heights[2] > 10.0, "{heights:?}");
}

#[test]
fn barchan_with_recycled_sand_keeps_its_shape() {
    // In this direction, the losses of its horns re-enter at every place in turn.
    const DIRECTION: f32 = 20.0;
    let terrain = heap([128, 64], 2.0, [60.0, 64.0], 30.0, 8.0);
    let mut run = run_process(Wind::with(Params { abrasion: 0.0, ..wind(DIRECTION, 2.0) }), terrain, 1500);
    let sand = |run: &Simulation| run.terrain.sand.total() * run.terrain.cell_area();
    let (before, held) = (measure(&run.terrain, DIRECTION), sand(&run));
    (0..5000).for_each(|_| run.tick());
    let after = measure(&run.terrain, DIRECTION);
    println!("{before:?}\n{after:?}");
    let assert_preserved = |what: &str, after: f32, before: f32| {
        assert!((after / before - 1.0).abs() <= 0.15, "{what}: {before} m, 5000 ticks later {after} m");
    };
    assert_preserved("width", after.width, before.width);
    assert_preserved("height", after.height, before.height);
    // Horns are measured from the windward foot: their tips are as ragged as the grid.
    for side in [0, 1] {
        assert_preserved("horn", after.horns[side] + after.length, before.horns[side] + before.length);
    }
    assert!((sand(&run) / held - 1.0).abs() < 0.01, "{} m³ of {held} m³", sand(&run));
    assert_realistic_barchan(&after, "after 6500 ticks");
}

/// Returns the depth of the deepest groove along columns on the windward side of a barchan, below the lower of its two shoulders.
fn deepest_groove(sand: &Grid) -> f32 {
    let (width, height) = (sand.width(), sand.height());
    let crest = (0..sand.len()).max_by(|&a, &b| sand[a].total_cmp(&sand[b])).expect("there are cells") % width;
    let windward = (2..width / 2).map(|away| {
        let x = (crest + width - away) % width;
        (0..height).map(|y| sand.at(x, y)).collect::<Vec<f32>>()
    });
    let top = |cells: &[f32]| cells.iter().fold(0.0, |top: f32, &cell| top.max(cell));
    let depth = |row: Vec<f32>| (1..row.len()).map(|y| top(&row[..y]).min(top(&row[y..])) - row[y]).fold(0.0, f32::max);
    // Up to the foot, beyond which sand only passes.
    windward.take_while(|row| top(row) > 1.0).map(depth).fold(0.0, f32::max)
}

/// The losses of both horns return along the same two lines, tick after tick.
#[test]
fn barchan_in_steady_wind_has_no_groove_along_its_axis() {
    let mut terrain = Terrain::bare(Grid::filled(128, 96, 0.0), 2.0, Edge::Wrap);
    // A mound with wide, gentle flanks.
    terrain.sand = Grid::from_fn(128, 96, |x, y| {
        let squared = (x as f32 - 63.5).powi(2) + (y as f32 - 47.5).powi(2);
        11.0 * (-squared / (2.0 * 13.4_f32.powi(2))).exp()
    });
    terrain.start = terrain.ground();
    let mut run = run_process(Wind::with(wind(0.0, 2.0)), terrain, 500);
    for _ in 0..4 {
        (0..250).for_each(|_| run.tick());
        let groove = deepest_groove(&run.terrain.sand);
        assert!(groove < 0.05, "after {} ticks the groove is {groove} m deep", run.ticks());
    }
}

/// Returns the centre of mass of the sand along columns, on a periodic map, in metres.
fn centre(terrain: &Terrain) -> f64 {
    let turn = std::f64::consts::TAU / terrain.width() as f64;
    let (mut sin, mut cos) = (0.0, 0.0);
    for (index, &sand) in terrain.sand.iter().enumerate() {
        let angle = turn * (index % terrain.width()) as f64;
        sin += f64::from(sand) * angle.sin();
        cos += f64::from(sand) * angle.cos();
    }
    sin.atan2(cos) / turn * f64::from(terrain.cell_size)
}

/// Bagnold: the migration speed of a dune is inversely proportional to its height.
#[test]
fn dune_migration_speed_is_inverse_to_height() {
    const TICKS: usize = 300;
    let points = [6.0, 9.0, 13.0].map(|tall| {
        let mut run = grown(tall, 2.0, 500);
        let (mut tall, start) = (0.0, centre(&run.terrain));
        for _ in 0..TICKS {
            run.tick();
            tall += f64::from(run.terrain.sand.min_max().1);
        }
        let speed = (centre(&run.terrain) - start).rem_euclid(256.0) / TICKS as f64;
        println!("a barchan {:.2} m high: {speed:.4} m a tick", tall / TICKS as f64);
        [(tall / TICKS as f64).ln(), speed.ln()]
    });
    let mean = [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / points.len() as f64);
    let both: f64 = points.iter().map(|point| (point[0] - mean[0]) * (point[1] - mean[1])).sum();
    let square: f64 = points.iter().map(|point| (point[0] - mean[0]).powi(2)).sum();
    println!("exponent of speed against height: {:.3}", both / square);
    assert!((-1.35..=-0.65).contains(&(both / square)), "{}", both / square);
}

/// Returns the wavelength along the wind of the first dunes on a flat sheet, in metres: that of the spectrum's centre of mass.
fn wavelength(side: usize, cell_size: f32) -> f64 {
    let mut terrain = Terrain::bare(Grid::filled(side, side / 2, 0.0), cell_size, Edge::Wrap);
    terrain.spread_sand(10.0);
    let params = Params { saturation_length: 4.0, capacity: 0.96, ..wind(0.0, cell_size) };
    let mut run = run_process(Wind::with(params), terrain, 0);
    let amplitude = |terrain: &Terrain| {
        let mean = terrain.sand.total() / terrain.sand.len() as f64;
        let squares: f64 = terrain.sand.iter().map(|&sand| (f64::from(sand) - mean).powi(2)).sum();
        (squares / terrain.sand.len() as f64).sqrt()
    };
    while amplitude(&run.terrain) < 0.2 && run.ticks() < 10_000 {
        run.tick();
    }
    let sand = &run.terrain.sand;
    let (mut power, mut moment) = (0.0, 0.0);
    // Waves that both grids resolve.
    for wave in 1..16 {
        let turn = std::f64::consts::TAU * wave as f64 / side as f64;
        let mut here = 0.0;
        for y in 0..sand.height() {
            let (mut sin, mut cos) = (0.0, 0.0);
            for x in 0..side {
                let value = f64::from(sand.at(x, y)) - 10.0;
                sin += value * (turn * x as f64).sin();
                cos += value * (turn * x as f64).cos();
            }
            here += sin * sin + cos * cos;
        }
        power += here;
        moment += here * wave as f64;
    }
    let length = side as f64 * f64::from(cell_size) * power / moment;
    println!("cells of {cell_size} m: {} ticks, {length:.1} m", run.ticks());
    length
}

#[test]
fn initial_dune_wavelength_is_resolution_independent() {
    let (coarse, fine) = (wavelength(64, 4.0), wavelength(128, 2.0));
    assert!((0.8..=1.2).contains(&(fine / coarse)), "{coarse} m and {fine} m");
    // A few saturation lengths, of 4 m here.
    assert!((24.0..=160.0).contains(&fine), "{fine} m");
}

#[test]
fn transverse_dunes_have_realistic_aspect_ratio() {
    let mut terrain = Terrain::bare(Grid::filled(128, 64, 0.0), 2.0, Edge::Wrap);
    terrain.spread_sand(8.0);
    let run = run_process(Wind::with(wind(0.0, 2.0)), terrain, 5000);
    let sand = &run.terrain.sand;
    // Crests in each row, where the ground falls to a slip face.
    let (mut crests, mut heights) = (0, 0.0);
    for y in 0..64 {
        let row: Vec<f32> = (0..128).map(|x| sand.at(x, y)).collect();
        let at = |x: usize| row[x % 128];
        crests += (0..128).filter(|&x| at(x + 2) - at(x) < -1.6 && at(x + 1) - at(x + 127) >= -1.6).count();
        let (low, high) = row.iter().fold((f32::MAX, 0.0_f32), |(low, high), &cell| (low.min(cell), high.max(cell)));
        heights += high - low;
    }
    let (length, height) = (256.0 * 64.0 / crests as f32, heights / 64.0);
    println!("{height:.1} m high, {length:.0} m apart");
    assert!((0.05..=0.1).contains(&(height / length)), "{height} m high, {length} m apart");
}

/// Returns a sheet of sand after one wind with default parameters.
fn blown_sheet([width, height]: [usize; 2], cell_size: f32, thickness: f32, direction: f32, ticks: usize) -> Terrain {
    let mut terrain = Terrain::bare(Grid::filled(width, height, 0.0), cell_size, Edge::Wrap);
    terrain.spread_sand(thickness);
    run_process(Wind::with(Params { direction, ..Params::default() }), terrain, ticks).terrain
}

#[test]
fn thin_sand_sheet_forms_dunes_within_300_ticks() {
    for (cell_size, direction) in [(1.0, 0.0), (2.0, 45.0), (5.0, 0.0), (10.0, 45.0)] {
        let terrain = blown_sheet([96, 64], cell_size, 1.1, direction, 300);
        let (low, high) = terrain.sand.min_max();
        println!("cells of {cell_size} m: from {low} m to {high} m");
        assert!(high - low > 1.5, "cells of {cell_size} m: from {low} m to {high} m");
    }
}

/// Returns the slopes across the wind relative to those along it, where the sand is lower than its mean: between dunes.
fn furrows(sand: &Grid) -> f64 {
    let (width, height) = (sand.width(), sand.height());
    let mean = (sand.total() / sand.len() as f64) as f32;
    let (mut along, mut across) = (0.0, 0.0);
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).filter(|&(x, y)| sand.at(x, y) < mean) {
        along += f64::from(sand.at((x + 1) % width, y) - sand.at((x + width - 1) % width, y)).powi(2);
        across += f64::from(sand.at(x, (y + 1) % height) - sand.at(x, (y + height - 1) % height)).powi(2);
    }
    (across / along).sqrt()
}

#[test]
fn unidirectional_wind_leaves_no_furrows_between_dunes() {
    for (cell_size, thickness) in [(1.0, 8.0), (2.0, 8.0), (5.0, 20.0), (10.0, 40.0)] {
        let furrows = furrows(&blown_sheet([96, 96], cell_size, thickness, 0.0, 2000).sand);
        println!("cells of {cell_size} m: {furrows:.2}");
        assert!(furrows < 0.7, "cells of {cell_size} m: slopes across the wind are {furrows} of those along it");
    }
}

/// Returns the directions of the arms of a heap: ridges that a circle around its middle crosses.
fn arms(terrain: &Terrain, radius: f32) -> Vec<f32> {
    let (sand, cell) = (&terrain.sand, terrain.cell_size);
    let crest = (0..sand.len()).max_by(|&a, &b| sand[a].total_cmp(&sand[b])).expect("there are cells");
    let (x, y) = ((crest % sand.width()) as f32, (crest / sand.width()) as f32);
    let at = |degrees: usize| {
        let (sin, cos) = (degrees as f32).to_radians().sin_cos();
        height_at(sand, x + radius / cell * cos, y + radius / cell * sin)
    };
    let circle: Vec<f32> = (0..360).map(at).collect();
    // Higher than everything within 30°, and by a tenth of the crest higher than the lowest ground before the next ridge.
    let ridge = |&degrees: &usize| {
        let own = circle[degrees];
        (1..=30).all(|away| circle[(degrees + away) % 360] <= own && circle[(degrees + 360 - away) % 360] < own)
    };
    let tall = sand[crest];
    let ridges: Vec<usize> = (0..360).filter(ridge).collect();
    let valley = |from: usize, to: usize| {
        let span = (to + 360 - from - 1) % 360 + 1;
        (0..=span).map(|away| circle[(from + away) % 360]).fold(f32::MAX, f32::min)
    };
    let count = ridges.len();
    let stands_out = |index: &usize| {
        let (own, next) = (ridges[*index], ridges[(*index + 1) % count]);
        circle[own] - valley(own, next) > 0.1 * tall
    };
    (0..count).filter(stands_out).map(|index| ridges[index] as f32).collect()
}

#[test]
fn three_wind_directions_form_star_dune() {
    for turned in [0.0_f32, 17.0, 45.0] {
        let terrain = heap([96, 96], 2.0, [96.0, 96.0], 60.0, 24.0);
        let winds = Params { turning: 1200.0, sides: 3, ..wind(turned, 2.0) };
        let run = run_process(Wind::with(winds), terrain, 1800);
        let found = arms(&run.terrain, 40.0);
        println!("turned by {turned}°: arms to {found:?}, {:.1} m high", run.terrain.sand.min_max().1);
        assert!(found.len() >= 3, "turned by {turned}°: arms to {found:?}");
    }
}

/// Returns the direction of least slopes, in degrees from 0 to 180, and the anisotropy of the slopes: 1 for straight ridges, 0 without a
/// preferred direction.
fn ridges(sand: &Grid) -> [f32; 2] {
    let (width, height) = (sand.width(), sand.height());
    let (mut along, mut down, mut both) = (0.0, 0.0, 0.0);
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let dx = f64::from(sand.at((x + 1) % width, y) - sand.at((x + width - 1) % width, y));
        let dy = f64::from(sand.at(x, (y + 1) % height) - sand.at(x, (y + height - 1) % height));
        (along, down, both) = (along + dx * dx, down + dy * dy, both + 2.0 * dx * dy);
    }
    let steepest = (0.5 * both.atan2(along - down)).to_degrees();
    [(steepest + 90.0).rem_euclid(180.0) as f32, (both.hypot(along - down) / (along + down)) as f32]
}

/// Rubin & Hunter 1987: under two winds at a wide angle, dunes align with their mean.
#[test]
fn bimodal_winds_form_ridges_along_their_mean() {
    for turned in [0.0_f32, 30.0, 45.0] {
        let mut terrain = Terrain::bare(Grid::filled(80, 80, 0.0), 2.0, Edge::Wrap);
        terrain.spread_sand(3.0);
        let [direction, second_direction] = [-65.0, 65.0].map(|side: f32| (turned + side).rem_euclid(360.0));
        let winds = Params { second_direction, second_share: 0.5, capacity: 0.96, ..wind(direction, 2.0) };
        let run = run_process(Wind::with(winds), terrain, 1500);
        let [along, straight] = ridges(&run.terrain.sand);
        let off = (along - turned + 90.0).rem_euclid(180.0) - 90.0;
        println!(
            "turned by {turned}°: ridges to {along:.1}°, {straight:.2} straight, {:?} m",
            run.terrain.sand.min_max()
        );
        assert!(off.abs() <= 15.0 && straight > 0.3, "turned by {turned}°: ridges to {along}°, {straight} straight");
        let (low, high) = run.terrain.sand.min_max();
        assert!(high - low > 1.0, "turned by {turned}°: from {low} m to {high} m");
    }
}

/// The same map and wind, rotated by a quarter turn: the order of sums differs, and so do last digits.
#[test]
fn wind_is_equivariant_under_quarter_turn() {
    let terrain = heap([80, 80], 2.0, [70.0, 84.0], 30.0, 8.0);
    // Without the random numbers, which depend on the position.
    let blown = |terrain: &Terrain, direction: f32| {
        let winds = Params { turbulence: 0.0, ..wind(direction, 2.0) };
        run_process(Wind::with(winds), terrain.clone(), 250).terrain.sand
    };
    for direction in [10.0, 45.0] {
        let (plain, turned) = (blown(&terrain, direction), blown(&rotate_or_mirror(&terrain, true), direction + 90.0));
        let back = Grid::from_fn(80, 80, |x, y| turned.at(79 - y, x));
        let squares = |a: &Grid, b: &Grid| a.iter().zip(b.iter()).map(|(a, b)| f64::from((a - b).powi(2))).sum::<f64>();
        let (off, change) = (squares(&plain, &back), squares(&plain, &terrain.sand));
        println!("{direction}°: {off:.2e} of {change:.0}");
        assert!(off < 1e-5 * change, "{direction}°: {off} of {change}");
    }
}
