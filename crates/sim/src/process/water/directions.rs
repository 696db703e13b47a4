//! Tests of isotropy: erosion and deposition favour no direction of the grid.

use super::{tests::unaccelerated, *};
use crate::{
    core::{
        rng::RandomStream,
        terrain::{Edge, Source},
    },
    process::thermal::Thermal,
    simulation::Simulation,
};

const SIDE: usize = 192;

/// Returns the offset of a cell from the middle of the map, in cells.
fn offset(cell: usize) -> [f64; 2] {
    let middle = 0.5 * (SIDE - 1) as f64;
    [(cell % SIDE) as f64 - middle, (cell / SIDE) as f64 - middle]
}

/// A cone on a plain, with undulations several cells long: the same slope in every direction.
fn cone(seed: u64) -> Terrain {
    let mut stream = RandomStream::new(seed, "cone", 0);
    let mut rough = Grid::from_fn(SIDE, SIDE, |_, _| stream.uniform() - 0.5);
    for _ in 0..3 {
        rough = Grid::from_fn(SIDE, SIDE, |x, y| {
            let near = |at: usize| at.saturating_sub(2)..(at + 3).min(SIDE);
            let cells = near(y).flat_map(|y| near(x).map(move |x| (x, y)));
            cells.map(|(x, y)| rough.at(x, y)).sum::<f32>() / 25.0
        });
    }
    let ground = Grid::from_fn(SIDE, SIDE, |x, y| {
        let [dx, dy] = offset(y * SIDE + x);
        (0.3 * 5.0 * (90.0 - libm::hypot(dx, dy)).max(-6.0)) as f32 + 30.0 * rough.at(x, y)
    });
    Terrain::bare(ground, 5.0, Edge::Open)
}

#[test]
fn rain_erodes_cone_isotropically() {
    // Cells on the sides, by direction from the middle: along rows and columns, along diagonals, and halfway between.
    let mut sums = [(0.0, 0.0); 3];
    for seed in 0..4 {
        let start = cone(seed);
        let before = start.ground();
        let water = Water::with(Params { rain_rate: 0.01, dt: 0.05, ..unaccelerated() });
        let mut simulation = Simulation::of(vec![Box::new(water), Box::new(Thermal::default())], start, seed);
        simulation.slots.iter_mut().for_each(|slot| slot.enabled = true);
        (0..1000).for_each(|_| simulation.tick());
        let ground = simulation.terrain.ground();
        for cell in 0..SIDE * SIDE {
            let [dx, dy] = offset(cell);
            let degrees = libm::atan2(dy, dx).to_degrees().rem_euclid(90.0);
            let from_axis = degrees.min(90.0 - degrees);
            let kind = [0.0..8.0, 37.0..46.0, 18.0..26.0].iter().position(|range| range.contains(&from_axis));
            let on_side = (20.0..80.0).contains(&libm::hypot(dx, dy));
            if let Some((count, sum)) = kind.filter(|_| on_side).map(|kind| &mut sums[kind]) {
                *count += 1.0;
                *sum += f64::from(before[cell] - ground[cell]);
            }
        }
    }
    let [axis, diagonal, between] = sums.map(|(count, sum): (f64, f64)| sum / count);
    assert!(between > 0.5, "it digs {between} m");
    let far = |one: f64| (one / between - 1.0).abs();
    assert!(far(axis) <= 0.02 && far(diagonal) <= 0.02, "{axis}, {diagonal} and {between} m");
}

#[test]
fn delta_has_no_grid_scale_ripples() {
    // A river rich in sand enters a lake with a gently sloping floor.
    let (width, height) = (192, 96);
    let ground = |x: usize, y: usize| {
        let bank = (y as f32 - 47.5).abs();
        let valley = if x < 64 { (bank - 6.0).max(0.0) * 1.0 } else { 0.0 };
        30.0 - 0.1 * x as f32 + valley.min(8.0)
    };
    let mut terrain = Terrain::bare(Grid::from_fn(width, height, ground), 5.0, Edge::Open);
    terrain.sand = Grid::from_fn(width, height, |x, _| if x < 60 { 4.0 } else { 0.0 });
    let level = 24.0;
    let bed = terrain.ground();
    terrain.start = bed.clone();
    terrain.water.iter_mut().zip(bed.iter()).for_each(|(water, bed)| *water = (level - bed).max(0.0));
    terrain.sources.push(Source { place: [0.03, 0.5], radius: 15.0, rate: 120.0, ticks: None });
    let params = Params { rain_rate: 0.0, sea_level: level, dt: 0.05, ..unaccelerated() };
    let mut simulation = Simulation::of(vec![Box::new(Water::with(params)), Box::new(Thermal::default())], terrain, 1);
    simulation.slots.iter_mut().for_each(|slot| slot.enabled = true);
    (0..6000).for_each(|_| simulation.tick());
    let after = simulation.terrain.ground();
    let laid = Grid::from_fn(width, height, |x, y| after.at(x, y) - bed.at(x, y));
    // Amplitude of the cell-to-cell oscillation of the deposit on the delta, without its front.
    let inner = (2..height - 2).flat_map(|y| (66..width - 2).map(move |x| (x, y)));
    let thick = |x: usize, y: usize| (y - 2..y + 3).all(|y| (x - 2..x + 3).all(|x| laid.at(x, y) > 0.5));
    let delta: Vec<(usize, usize)> = inner.filter(|&(x, y)| thick(x, y)).collect();
    let boards = |dx: usize, dy: usize| {
        let of = |&(x, y): &(usize, usize)| {
            let [one, here, other] = [laid.at(x - dx, y - dy), laid.at(x, y), laid.at(x + dx, y + dy)].map(f64::from);
            (0.25 * (one - 2.0 * here + other)).powi(2)
        };
        libm::sqrt(delta.iter().map(of).sum::<f64>() / delta.len() as f64)
    };
    let (along, across, thickest) = (boards(1, 0), boards(0, 1), f64::from(laid.min_max().1));
    assert!(delta.len() > 60 && thickest < 4.0, "{} cells, {thickest} m", delta.len());
    assert!(along <= 0.05 && across <= 0.05, "boards of {along} m along and {across} m across the stream");
}
