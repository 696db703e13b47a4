//! Benchmarks of grid processes, in nanoseconds per cell.

use std::{sync::Arc, time::Instant};

use serde_json::{Value, json};

use super::{
    REPETITIONS,
    scalar::{runoff::ScalarRunoff, water::ScalarWater},
    simulation,
};
use thalweg_sim::{
    core::terrain::Terrain,
    process::{Mode, Process, runoff, thermal, water},
};

/// Benchmark of grid processes that run together.
pub(super) struct GridBench {
    pub name: &'static str,
    enabled: &'static [&'static str],
    /// Bytes that a step reads and writes per cell, published and default: each value of a pass once per direction.
    bytes: [f64; 2],
}

/// Counted from the passes: see `water::pipes`, `water::friction` and `thermal`.
pub(super) const GRIDS: [GridBench; 4] = [
    GridBench { name: "water", enabled: &["water"], bytes: [72.0, 52.0] },
    GridBench { name: "thermal", enabled: &["thermal"], bytes: [20.0, 20.0] },
    GridBench { name: "runoff", enabled: &["runoff"], bytes: [36.0, 36.0] },
    GridBench { name: "water+thermal", enabled: &["water", "thermal"], bytes: [92.0, 72.0] },
];

/// Maximum number of ticks and cells per repetition. With the published parameters, a tick is one step.
const MOST_TICKS: usize = 12;
const GRID_CELLS: usize = 4 << 20;

impl GridBench {
    /// Measures the processes on a terrain. `bandwidth` is the memory bandwidth in bytes per nanosecond.
    pub fn measure(&self, terrain: &Terrain, pool: &Arc<rayon::ThreadPool>, bandwidth: f64) -> Value {
        // With cells of 4 m, a tick is one step with the published parameters, and at this depth by default too.
        let terrain = Terrain { cell_size: 4.0, ..terrain.clone() };
        let ticks = (GRID_CELLS / terrain.bedrock.len()).clamp(1, MOST_TICKS);
        let cells = (terrain.bedrock.len() * ticks) as f64;
        let median = |mut runs: Vec<f64>| {
            runs.sort_by(f64::total_cmp);
            runs[runs.len() / 2] * 1e9 / cells
        };
        let fast = |mode: Mode| {
            let mut processes: Vec<Box<dyn Process>> = vec![
                Box::new(water::Water::with(water::Params { mode, ..Default::default() })),
                Box::new(thermal::Thermal::with(thermal::Params { mode, ..Default::default() })),
                Box::new(runoff::Runoff::with(runoff::Params { mode, ..Default::default() })),
            ];
            processes.retain(|process| self.enabled.contains(&process.info().key));
            let mut simulation = simulation(&terrain, pool, processes);
            let runs = (0..=REPETITIONS).map(|_| {
                let started = Instant::now();
                (0..ticks).for_each(|_| simulation.tick());
                started.elapsed().as_secs_f64()
            });
            // The first repetition allocates memory.
            let runs = runs.skip(1).collect();
            let steps =
                simulation.slots.iter().filter(|slot| slot.key() == "water").map(|slot| slot.process.counts().substeps);
            (median(runs), steps.sum::<u64>() as f64 / (ticks * (REPETITIONS + 1)) as f64)
        };
        let slow = || {
            let (mut scalar, mut scalar_runoff) = (ScalarWater::new(&terrain), ScalarRunoff::new(&terrain));
            let (water, thermal) = (water::Params::default(), thermal::Params::default());
            let runs = (0..3).map(|_| {
                let started = Instant::now();
                for _ in 0..ticks {
                    if self.enabled.contains(&"water") {
                        scalar.flow(&water, water.dt);
                    }
                    if self.enabled.contains(&"thermal") {
                        scalar.erode_thermally(&thermal);
                    }
                    if self.enabled.contains(&"runoff") {
                        scalar_runoff.step(&runoff::Params::default());
                    }
                }
                started.elapsed().as_secs_f64()
            });
            median(runs.collect())
        };
        let ((published, steps), (default, default_steps)) = (fast(Mode::Published), fast(Mode::Corrected));
        let scalar = slow();
        let share = |bytes: f64, ns: f64| bytes / ns / bandwidth;
        json!({
            "ns_per_cell": published,
            "scalar_ns": scalar,
            "ratio": scalar / published,
            "threads": pool.current_num_threads(),
            "size": terrain.width(),
            "default_ns": default,
            "steps_per_tick": steps,
            "default_steps_per_tick": default_steps,
            "bytes_per_cell": self.bytes[0],
            "default_bytes_per_cell": self.bytes[1],
            "bandwidth_share": share(self.bytes[0], published),
            "default_bandwidth_share": share(self.bytes[1], default),
        })
    }
}
