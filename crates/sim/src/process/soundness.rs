//! Stress tests of unsafe code: processes whose threads share memory give the same bits on many threads as on one, in repeated runs.
//!
//! Runs are shorter under Miri (see CONTRIBUTING.md for the command).

use super::contract::{assert_healthy, bits, run, variants};
use crate::core::{
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Side of the map in cells, ticks per run, and number of runs.
const RUNS: (usize, usize, usize) = if cfg!(miri) { (18, 1, 1) } else { (150, 4, 3) };
const THREADS: usize = if cfg!(miri) { 2 } else { 12 };
/// Processes whose threads write to shared memory.
const SHARE_MEMORY: [&str; 2] = ["droplets", "fluvial"];

/// Returns rough ground with sand and a pond, computed from integers. Under Miri it is smoother, so that droplets leave it early.
fn rough(side: usize, edge: Edge) -> Terrain {
    let rises = if cfg!(miri) { 3 } else { 31 };
    let ground =
        Grid::from_fn(side, side, |x, y| ((x * x * 7 + y * y * 13 + x * y * 5) % rises) as f32 + 3.0 * x as f32);
    let mut terrain = Terrain::bare(ground, 10.0, edge);
    terrain.spread_sand(0.5);
    terrain.water = Grid::from_fn(side, side, |x, y| if x + y < side / 4 { 1.0 } else { 0.0 });
    terrain
}

#[test]
fn shared_memory_processes_are_thread_count_independent() {
    let (side, ticks, runs) = RUNS;
    for (key, mut settings) in variants().into_iter().filter(|(key, _)| SHARE_MEMORY.contains(key)) {
        if cfg!(miri) && key == "droplets" {
            settings.push(("droplets.per_tick".to_owned(), "9".to_owned()));
        }
        for edge in if cfg!(miri) { &[Edge::Open][..] } else { &[Edge::Wall, Edge::Open, Edge::Wrap] } {
            let terrain = rough(side, *edge);
            let one = run(&terrain, key, &settings, ticks, 1);
            for _ in 0..runs {
                let many = run(&terrain, key, &settings, ticks, THREADS);
                assert!(bits(&many) == bits(&one), "{key} {settings:?} {edge:?}");
                assert_healthy(&many, key);
            }
        }
    }
}
