//! Checks of the wind that need minutes, and so are made only when they are asked for:
//! `cargo test --release --lib dunes -- --ignored --nocapture`.

use super::{Params, Wind};
use crate::sim::{
    grid::Grid,
    process::{Process, contract::alone},
    terrain::{Edge, Terrain},
};

/// Where the sand's centre of mass lies along columns, on a map that goes round, in cells.
fn centre(terrain: &Terrain) -> f64 {
    let width = terrain.width() as f64;
    let turn = std::f64::consts::TAU / width;
    let (mut sin, mut cos) = (0.0, 0.0);
    for (index, &sand) in terrain.sand.iter().enumerate() {
        let angle = turn * (index % terrain.width()) as f64;
        sin += f64::from(sand) * angle.sin();
        cos += f64::from(sand) * angle.cos();
    }
    sin.atan2(cos) / turn
}

/// Height and speed, in metres and metres per tick, of the barchan that a heap becomes.
fn barchan(radius: f32, height: f32) -> (f64, f64) {
    const SIDE: usize = 160;
    let mut terrain = Terrain::bare(Grid::filled(SIDE, SIDE, 0.0), 2.0, Edge::Wrap);
    for (index, sand) in terrain.sand.iter_mut().enumerate() {
        let (x, y) = ((index % SIDE) as f32 - 60.0, (index / SIDE) as f32 - 80.0);
        *sand = height * (1.0 - (x * x + y * y) / (radius * radius)).max(0.0);
    }
    let params = Params { direction: 0.0, per_tick: 400, ..Params::default() };
    let mut simulation = alone(Wind::with(params), terrain, 0);
    (0..300).for_each(|_| simulation.tick());
    let (mut way, mut tall, mut last) = (0.0, 0.0, centre(&simulation.terrain));
    const TICKS: usize = 300;
    for _ in 0..TICKS {
        simulation.tick();
        let now = centre(&simulation.terrain);
        way += (now - last + 1.5 * SIDE as f64).rem_euclid(SIDE as f64) - 0.5 * SIDE as f64;
        last = now;
        tall += f64::from(simulation.terrain.sand.min_max().1);
    }
    (tall / TICKS as f64, 2.0 * way / TICKS as f64)
}

/// Wavelength along the wind of the first dunes on a flat sheet, in metres: that of the spectrum's centre of mass.
fn wavelength(side: usize, cell_size: f32) -> f64 {
    let mut terrain = Terrain::bare(Grid::filled(side, side, 0.0), cell_size, Edge::Wrap);
    terrain.spread_sand(10.0);
    let grains = (side * side / 64) as u32;
    let params = Params { direction: 0.0, per_tick: grains, saturation_length: 4.0, ..Params::default() };
    let mut simulation = alone(Wind::with(params), terrain, 0);
    let amplitude = |terrain: &Terrain| {
        let mean = terrain.sand.total() / terrain.sand.len() as f64;
        let squares: f64 = terrain.sand.iter().map(|&sand| (f64::from(sand) - mean).powi(2)).sum();
        (squares / terrain.sand.len() as f64).sqrt()
    };
    while amplitude(&simulation.terrain) < 0.15 && simulation.ticks() < 20_000 {
        simulation.tick();
    }
    let sand = &simulation.terrain.sand;
    let (mut power, mut moment) = (0.0, 0.0);
    for wave in 1..side / 4 {
        let turn = std::f64::consts::TAU * wave as f64 / side as f64;
        let mut here = 0.0;
        for y in 0..side {
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
    println!("  cells of {cell_size} m: {} ticks", simulation.ticks());
    side as f64 * f64::from(cell_size) * power / moment
}

/// Bagnold: a dune wanders the slower the higher it is, in inverse proportion.
#[test]
#[ignore = "takes minutes"]
fn a_dune_half_as_high_wanders_twice_as_fast() {
    let points = [(18.0, 6.0), (24.0, 8.0), (32.0, 11.0), (42.0, 14.0)].map(|(radius, height)| {
        let (height, speed) = barchan(radius, height);
        println!("a barchan {height:.2} m high: {speed:.4} m a tick");
        [height.ln(), speed.ln()]
    });
    let mean = [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / points.len() as f64);
    let both: f64 = points.iter().map(|point| (point[0] - mean[0]) * (point[1] - mean[1])).sum();
    let square: f64 = points.iter().map(|point| (point[0] - mean[0]).powi(2)).sum();
    println!("exponent of speed against height: {:.3}", both / square);
    assert!((-1.35..=-0.65).contains(&(both / square)), "{}", both / square);
}

#[test]
#[ignore = "takes minutes"]
fn the_first_dunes_on_a_flat_sheet_are_as_far_apart_whatever_the_cells() {
    let (coarse, fine) = (wavelength(128, 4.0), wavelength(256, 2.0));
    println!("{coarse:.1} m with cells of 4 m, {fine:.1} m with cells of 2 m");
    assert!((0.8..=1.2).contains(&(fine / coarse)), "{coarse} m and {fine} m");
}
