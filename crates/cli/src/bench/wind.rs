//! Wind: as published in nanoseconds per step of a grain, by default, where there are no grains, per cell of the map and step.

use std::{hint::black_box, sync::Arc, time::Instant};

use serde_json::{Value, json};

use super::{REPETITIONS, median, simulation, substeps, timed};
use thalweg_sim::{
    core::rng::Stream,
    generate::{TerrainParams, generate},
    process::{
        Mode,
        wind::{
            self, Wind,
            law2020::{self, Constants2020},
        },
    },
    simulation::Simulation,
};

/// Grains of a frame in the article.
const PUBLISHED_GRAINS: u32 = 250;
/// Ticks of wind in a repetition.
const WIND_TICKS: usize = 4;

/// The article's start: a map of nothing but sand, here of Perlin noise as high as a quarter of the map is wide.
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
    // A sub-step is one of a grain, or one of so many cells. The third number is what the air takes of the first.
    let ticks = |simulation: &mut Simulation, cells: usize| {
        let before = substeps(simulation);
        let (seconds, stages) = timed(simulation, WIND_TICKS);
        let air = stages.get("air").copied().unwrap_or_default();
        let steps = (substeps(simulation) - before) as f64 * cells as f64;
        (seconds * 1e9 / steps, seconds * 1e3 / WIND_TICKS as f64, air * 1e9 / steps)
    };
    let (mut fast, mut default) = (wind(&published), wind(&wind::Params::default()));
    let side = terrain.width();
    let constants = Constants2020::<f32>::new(&published, [std::f64::consts::SQRT_2; 2], false);
    let unit = 1.0 / (law2020::TALL as f32 * terrain.cell_size);
    let (mut bedrock, mut sand) =
        (vec![0.0; side * side], terrain.sand.iter().map(|sand| sand * unit).collect::<Vec<f32>>());
    let mut stream = Stream::new(1, "bench", 1);
    let mut plain = || {
        let started = Instant::now();
        let mut steps = 0;
        for _ in 0..WIND_TICKS * PUBLISHED_GRAINS as usize {
            let along = (stream.below(side - 4) + 2) as f64;
            let start = if stream.below(2) == 0 { [along, 2.0] } else { [2.0, along] };
            let layers = [&mut bedrock[..], &mut sand[..]];
            steps += law2020::run_alone(layers, side, 2, &constants, &published, start).2;
        }
        (started.elapsed().as_secs_f64() * 1e9 / steps as f64, 0.0, 0.0)
    };
    let mut runs: [Vec<(f64, f64, f64)>; 3] = Default::default();
    for _ in 0..REPETITIONS {
        runs[0].push(ticks(&mut fast, 1));
        runs[1].push(ticks(&mut default, side * side));
        runs[2].push(plain());
    }
    black_box((&bedrock, &sand));
    let [fast, default, plain] = runs.map(median);
    json!({
        "ns_per_step": fast.0,
        "scalar_ns": plain.0,
        "ratio": plain.0 / fast.0,
        "threads": pool.current_num_threads(),
        "size": size,
        "ms_per_tick": fast.1,
        "default_ns": default.0,
        "default_air_ns": default.2,
        "default_ms_per_tick": default.1,
    })
}
