//! Benchmark of uplift and rivers: nanoseconds per cell and tick, by stage, on terrain with an established drainage network.

use std::{hint::black_box, sync::Arc, time::Instant};

use serde_json::{Value, json};

use super::{REPETITIONS, median, run_ticks, scalar::rivers::ScalarRivers, simulation};
use thalweg_sim::{
    core::terrain::Terrain,
    process::{
        Mode, StageInfo,
        fluvial::{Fluvial, INFO, Params},
    },
    simulation::Simulation,
};

/// Warm-up ticks, in which the drainage network forms.
const BEFORE: usize = 4;
/// Ticks per repetition.
const TICKS: usize = 2;

/// Runs ticks. Returns nanoseconds per cell, milliseconds per tick, and nanoseconds per cell by stage.
fn ticks(simulation: &mut Simulation) -> (f64, f64, Vec<(&'static str, f64)>) {
    let (all, stages) = run_ticks(simulation, TICKS);
    let per_cell = 1e9 / (TICKS * simulation.terrain.bedrock.len()) as f64;
    let by_stage = |stage: &StageInfo| (stage.name, stages.get(stage.name).map_or(0.0, |spent| spent * per_cell));
    (all * per_cell, all * 1e3 / TICKS as f64, INFO.stages.iter().map(by_stage).collect())
}

/// Benchmarks the default and the published mode, along with the scalar reference implementation.
pub(super) fn rivers(terrain: &Terrain, pool: &Arc<rayon::ThreadPool>) -> Value {
    let run = |mode| {
        let params = Params { mode, ..Params::default() };
        let mut run = simulation(terrain, pool, vec![Box::new(Fluvial::with(params))]);
        (0..BEFORE).for_each(|_| run.tick());
        run
    };
    let (mut published, mut default) = (run(Mode::Published), run(Mode::Corrected));
    let mut scalar = ScalarRivers::new(&default.terrain);
    let (mut runs, mut stages) = ([const { Vec::new() }; 3], Vec::new());
    for _ in 0..REPETITIONS {
        let (ns, ms, _) = ticks(&mut published);
        runs[0].push((ns, ms, 0.0));
        let (ns, ms, by_stage) = ticks(&mut default);
        runs[1].push((ns, ms, 0.0));
        stages.push(by_stage);
        let begun = Instant::now();
        scalar.step(&Params::default());
        runs[2].push((begun.elapsed().as_secs_f64() * 1e9 / terrain.bedrock.len() as f64, 0.0, 0.0));
    }
    black_box(&scalar);
    let [published, default, scalar] = runs.map(median);
    let by_stage = |index: usize| {
        let mut ns: Vec<f64> = stages.iter().map(|stages| stages[index].1).collect();
        ns.sort_by(f64::total_cmp);
        (stages[0][index].0.to_owned(), json!(ns[ns.len() / 2]))
    };
    json!({
        "ns_per_cell": published.0,
        "scalar_ns": scalar.0,
        "ratio": scalar.0 / published.0,
        "threads": pool.current_num_threads(),
        "size": terrain.width(),
        "ms_per_tick": published.1,
        "default_ns": default.0,
        "default_ms_per_tick": default.1,
        "default_stages_ns": (0..stages[0].len()).map(by_stage).collect::<serde_json::Map<String, Value>>(),
    })
}
