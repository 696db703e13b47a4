//! Benchmark of wind: as published, nanoseconds per grain step; by default, which has no grains, nanoseconds per cell and step.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{REPETITIONS, median, run_ticks, simulation, substeps};
use thalweg_sim::{
    generate::{TerrainParams, generate},
    process::{
        Mode,
        wind::{self, Wind},
    },
    simulation::Simulation,
};

/// Grains per frame in the article.
const PUBLISHED_GRAINS: u32 = 250;
/// Ticks per repetition.
const WIND_TICKS: usize = 4;

/// Benchmarks wind on the initial terrain of the article: sand only, here Perlin noise with a relief of a quarter of the map's width.
pub(super) fn grains(pool: &Arc<rayon::ThreadPool>, size: u32) -> Value {
    let params = TerrainParams { width: size, height: size, cell_size: 10.0, loose: true, ..TerrainParams::default() };
    let terrain = generate(&TerrainParams { relief: 2.5 * size as f32, ..params }, 1);
    let published = wind::Params {
        mode: Mode::Published,
        law: wind::WindLaw::_2020,
        per_tick: PUBLISHED_GRAINS,
        ..wind::Params::default()
    };
    let wind = |params: &wind::Params| simulation(&terrain, pool, vec![Box::new(Wind::with(params.clone()))]);
    // A substep moves one grain or updates `cells` cells. The third value is the part of the first that air flow takes.
    let ticks = |simulation: &mut Simulation, cells: usize| {
        let before = substeps(simulation);
        let (seconds, stages) = run_ticks(simulation, WIND_TICKS);
        let air = stages.get("airflow").copied().unwrap_or_default();
        let steps = (substeps(simulation) - before) as f64 * cells as f64;
        (seconds * 1e9 / steps, seconds * 1e3 / WIND_TICKS as f64, air * 1e9 / steps)
    };
    let (mut grains, mut default) = (wind(&published), wind(&wind::Params::default()));
    let side = terrain.width();
    let mut runs: [Vec<(f64, f64, f64)>; 2] = Default::default();
    for _ in 0..REPETITIONS {
        runs[0].push(ticks(&mut grains, 1));
        runs[1].push(ticks(&mut default, side * side));
    }
    let [grains, default] = runs.map(median);
    // The published laws already run grain by grain in a scalar loop.
    json!({
        "ns_per_step": grains.0,
        "scalar_ns": grains.0,
        "ratio": 1.0,
        "threads": pool.current_num_threads(),
        "size": size,
        "ms_per_tick": grains.1,
        "default_ns": default.0,
        "default_air_ns": default.2,
        "default_ms_per_tick": default.1,
    })
}
