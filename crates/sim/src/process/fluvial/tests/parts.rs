//! Tests of ticks processed in parts, on any number of threads.

use std::sync::Arc;

use super::{Fluvial, Params};
use crate::{
    core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Terrain},
    },
    process::contract::{bits, run_process},
    simulation::Simulation,
};

/// Returns rough ground on which most of the water gathers in few trees.
fn rough(width: usize, height: usize, edge: Edge) -> Terrain {
    let mut stream = RandomStream::new(5, "rough", 0);
    let valley = |x: usize| (x as f32 - 0.4 * width as f32).abs();
    let ground = Grid::from_fn(width, height, |x, y| 2.0 * stream.uniform() + 0.5 * valley(x) + 0.3 * y as f32);
    let mut terrain = Terrain::bare(ground, 30.0, edge);
    terrain.spread_sand(0.5);
    terrain
}

/// Runs the next tick part by part. Returns the number of parts.
fn parts(run: &mut Simulation) -> usize {
    run.begin_tick();
    let mut parts = 1;
    while !run.advance(0) {
        assert!(!run.can_be_shown(), "the terrain is displayed before the tick has ended");
        parts += 1;
    }
    assert!(run.end_tick());
    parts
}

#[test]
fn fluvial_tick_in_parts_matches_whole_tick_bitwise() {
    for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
        let terrain = rough(768, 640, edge);
        let mut run = run_process(Fluvial::default(), terrain.clone(), 1);
        let large = parts(&mut run);
        assert!(bits(&run) == bits(&run_process(Fluvial::default(), terrain, 2)), "{edge:?}");
        let small = parts(&mut run_process(Fluvial::default(), rough(96, 64, edge), 1));
        println!("{edge:?}: {small} parts and {large}");
        assert!(large > small + 10, "{edge:?}: {small} parts and {large}");
    }
}

#[test]
fn fluvial_is_thread_count_independent() {
    for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
        for deposition in [0.0, 0.5] {
            let run = |threads: usize| {
                let pool =
                    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
                let process = Fluvial::with(Params { deposition, ..Params::default() });
                let mut run =
                    Simulation::of(vec![Box::new(process)], rough(400, 300, edge), 1).with_pool(Arc::new(pool));
                run.slots[0].enabled = true;
                (0..3).for_each(|_| run.tick());
                run
            };
            let one = run(1);
            for threads in [2, 5, 16] {
                let other = run(threads);
                assert!(bits(&one) == bits(&other), "{edge:?}, G = {deposition}: {threads} threads");
                assert_eq!(one.ledger, other.ledger, "{edge:?}, G = {deposition}: {threads} threads");
            }
        }
    }
}
