//! Stress tests of unsafe code: processes whose threads share memory give the same bits on many threads as on one, in repeated runs
//! and when they are copied in the middle of a tick.
//!
//! Under Miri (see CONTRIBUTING.md for the command) runs are shorter, and threads share a small map in small parts.

use std::time::Instant;

use super::contract::{assert_healthy, bits, run, variants};
use crate::{
    core::{
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    simulation::Simulation,
};

/// Width and height of the map in cells: rows for several blocks of droplets.
const SIZE: (usize, usize) = if cfg!(miri) { (16, 128) } else { (150, 150) };
/// Ticks per run, and number of runs.
const RUNS: (usize, usize) = if cfg!(miri) { (1, 1) } else { (4, 3) };
const THREADS: usize = if cfg!(miri) { 2 } else { 12 };
/// Processes whose threads write to shared memory.
const SHARE_MEMORY: [&str; 2] = ["droplets", "fluvial"];

/// Returns rough ground with sand and a pond, computed from integers. Under Miri it is smoother but steeper, so that droplets leave it
/// early and banks fail.
fn rough(edge: Edge) -> Terrain {
    let (width, height) = SIZE;
    let (rises, cell_size) = if cfg!(miri) { (3, 4.0) } else { (31, 10.0) };
    let ground =
        Grid::from_fn(width, height, |x, y| ((x * x * 7 + y * y * 13 + x * y * 5) % rises) as f32 + 3.0 * x as f32);
    let mut terrain = Terrain::bare(ground, cell_size, edge);
    terrain.spread_sand(0.5);
    terrain.water = Grid::from_fn(width, height, |x, y| if x + y < width / 4 { 1.0 } else { 0.0 });
    terrain
}

/// Runs a process on many threads. In the middle of each tick, a copy replaces the simulation.
fn run_on_copies(terrain: &Terrain, key: &str, settings: &[(String, String)], ticks: usize) -> Simulation {
    let mut simulation = run(terrain, key, settings, 0, THREADS);
    let process = simulation.slots.iter().position(|slot| slot.key() == key).expect("it is in the catalogue");
    for _ in 0..ticks {
        simulation.begin_tick();
        (0..process).for_each(|process| assert!(simulation.advance(process)));
        let late = Some(Instant::now());
        for _ in 0..2 {
            simulation.advance_until(process, late);
        }
        simulation = simulation.clone();
        simulation.tick();
    }
    assert_eq!(simulation.fault(), None);
    simulation
}

#[test]
fn shared_memory_processes_are_independent_of_threads_and_copies() {
    let (ticks, runs) = RUNS;
    for (key, mut settings) in variants().into_iter().filter(|(key, _)| SHARE_MEMORY.contains(key)) {
        if cfg!(miri) && key == "droplets" {
            settings.push(("droplets.per_tick".to_owned(), "16".to_owned()));
        }
        for edge in if cfg!(miri) { &[Edge::Open][..] } else { &[Edge::Wall, Edge::Open, Edge::Wrap] } {
            let terrain = rough(*edge);
            let one = run(&terrain, key, &settings, ticks, 1);
            for _ in 0..runs {
                let many = run_on_copies(&terrain, key, &settings, ticks);
                assert!(bits(&many) == bits(&one), "{key} {settings:?} {edge:?}");
                assert_healthy(&many, key);
            }
        }
    }
}
