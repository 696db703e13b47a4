//! `thalweg bench`: nanoseconds per particle step or per cell of each process, beside a plain scalar loop run in the same
//! process.

mod grids;
mod wind;

use std::{hint::black_box, sync::Arc, time::Instant};

use clap::Args;
use serde_json::{Value, json};

use self::{
    grids::GRIDS,
    wind::{PUBLISHED_GRAINS, grains},
};
use super::{Failure, print};
use crate::sim::{
    Simulation,
    generate::{TerrainParams, generate},
    process::{
        Mode,
        droplets::{
            Droplets, Params,
            published::{MassTransfer, State, run_alone},
        },
    },
    rng::Stream,
    terrain::Terrain,
};

/// Droplets that make a finished map in the article.
const FINISHED_MAP: f64 = 200_000.0;
/// Repetitions whose median is reported.
const REPETITIONS: usize = 5;
/// Waves of published droplets in a repetition.
const PUBLISHED_TICKS: usize = 5;
/// Droplets of the plain loop in a repetition.
const PLAIN_DROPLETS: usize = 2000;
/// Seconds after which a map is not finished but reckoned from what has run.
const LONGEST: f64 = 3.0;

#[derive(Args)]
pub(super) struct Bench {
    /// Cells on a side
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=4096))]
    size: u32,
    /// Threads to use; all of the machine's without it
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Grid processes alone, which take seconds
    #[arg(long)]
    grids: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.map_or(0, usize::from)).build();
        let pool = pool.map_err(|error| Failure::while_running(format!("threads could not be started: {error}")))?;
        let threads = pool.current_num_threads();
        let scale = 256.0 / self.size as f32;
        let params = TerrainParams { width: self.size, height: self.size, ..TerrainParams::default() };
        let params = TerrainParams { cell_size: params.cell_size * scale, ..params };
        let terrain = generate(&params, 1);
        let pool = Arc::new(pool);
        // Grids first: they need half a second, and droplets heat the machine.
        let bandwidth = bandwidth(&pool);
        let grids: Vec<(&str, Value)> =
            GRIDS.iter().map(|grid| (grid.name, grid.measure(&terrain, &pool, bandwidth))).collect();
        let blown = if self.grids { Value::Null } else { grains(&pool, self.size) };
        let figures = if self.grids { Value::Null } else { droplets(&terrain, pool) };
        let mut processes = if self.grids { json!({}) } else { json!({"droplets": figures, "wind": blown.clone()}) };
        for (name, figures) in &grids {
            processes[*name] = figures.clone();
        }
        let report = json!({
            "threads": threads, "size": self.size, "bandwidth_gb_per_s": bandwidth, "processes": processes,
        });
        if self.json {
            return print(&format!("{report:#}\n"));
        }
        if !self.grids {
            print(&self.of_droplets(&figures, threads))?;
            print(&self.of_wind(&blown, threads))?;
        }
        grids.iter().try_for_each(|(name, figures)| print(&self.of_grid(name, figures, threads, bandwidth)))
    }

    fn of_droplets(&self, figures: &Value, threads: usize) -> String {
        let figure = |key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
        format!(
            "droplets, {0} × {0}, {threads} threads\n  \
             published  {1:8.2} ns per droplet step   plain loop {2:.2} ns   ratio {3:.1}\n  \
             default    {4:8.2} ns per droplet step   {5:.0} steps a droplet (published: {6:.0})\n  \
             a finished map of 200 000 droplets: default {7:.2} s, plain published loop {8:.2} s, \
             ratio {9:.1}\n  \
             medians of {10}; the maps were made once, or reckoned after {11} s\n",
            self.size,
            figure("ns_per_step"),
            figure("scalar_ns"),
            figure("ratio"),
            figure("default_ns"),
            figure("default_steps_per_droplet"),
            figure("steps_per_droplet"),
            figure("map_seconds"),
            figure("map_scalar_seconds"),
            figure("map_ratio"),
            REPETITIONS,
            LONGEST,
        )
    }

    fn of_wind(&self, figures: &Value, threads: usize) -> String {
        let figure = |key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
        format!(
            "wind, {0} × {0}, {threads} threads\n  \
             law of 2020, published  {1:8.2} ns per grain step   plain loop {2:.2} ns   ratio {3:.1}   \
             {4} grains in {5:.1} ms\n  \
             boundary layer, default {6:8.2} ns per grain step\n",
            self.size,
            figure("ns_per_step"),
            figure("scalar_ns"),
            figure("ratio"),
            PUBLISHED_GRAINS,
            figure("ms_per_tick"),
            figure("default_ns"),
        )
    }

    fn of_grid(&self, name: &str, figures: &Value, threads: usize, bandwidth: f64) -> String {
        let figure = |key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
        format!(
            "{name}, {0} × {0}, {threads} threads\n  \
             published  {1:8.2} ns per cell   plain loop {2:.2} ns   ratio {3:.1}   \
             {4:.0} bytes a cell, {5:.0} % of {bandwidth:.1} GB/s\n  \
             default    {6:8.2} ns per cell   {7:.0} bytes a cell, {8:.0} %\n",
            self.size,
            figure("ns_per_cell"),
            figure("scalar_ns"),
            figure("ratio"),
            figure("bytes_per_cell"),
            100.0 * figure("bandwidth_share"),
            figure("default_ns"),
            figure("default_bytes_per_cell"),
            100.0 * figure("default_bandwidth_share"),
        )
    }
}

/// Gigabytes a second that all threads together read and write in a copy far larger than the caches.
fn bandwidth(pool: &rayon::ThreadPool) -> f64 {
    use rayon::prelude::*;
    const COUNT: usize = 1 << 25;
    let (from, mut to) = (vec![1.0_f32; COUNT], vec![0.0_f32; COUNT]);
    let runs = (0..REPETITIONS).map(|_| {
        let started = Instant::now();
        pool.install(|| {
            to.par_chunks_mut(1 << 16).zip(from.par_chunks(1 << 16)).for_each(|(to, from)| to.copy_from_slice(from));
        });
        black_box(&to);
        // Read, written, and read before it is written.
        12.0 * COUNT as f64 / started.elapsed().as_secs_f64() * 1e-9
    });
    runs.fold(0.0, f64::max)
}

/// Runs ticks. Returns (nanoseconds per step, steps per droplet, seconds per droplet).
fn ticks(terrain: &Terrain, mode: Mode, most: usize, pool: &Arc<rayon::ThreadPool>) -> (f64, f64, f64) {
    let mut simulation = Simulation::new(terrain.clone(), 1).with_pool(Arc::clone(pool));
    let params = Params { mode, ..Params::default() };
    for slot in simulation.slots.iter_mut().filter(|slot| slot.key() == "droplets") {
        slot.process = Box::new(Droplets::new(params.clone()));
        slot.enabled = true;
    }
    let started = Instant::now();
    while simulation.ticks() < most as u64 && started.elapsed().as_secs_f64() < LONGEST {
        simulation.tick();
    }
    let seconds = started.elapsed().as_secs_f64();
    let droplets = simulation.ticks() as f64 * f64::from(params.per_tick);
    let steps: u64 = simulation.slots.iter().map(|slot| slot.process.counts().substeps).sum();
    (seconds * 1e9 / steps as f64, steps as f64 / droplets, seconds / droplets)
}

/// The published loop, one droplet after the other in f32. Same units as [`ticks`].
fn scalar(terrain: &Terrain, most: usize) -> (f64, f64, f64) {
    let law = MassTransfer::<f32>::new(&Params::default());
    let (width, height) = (terrain.width(), terrain.height());
    let mut ground = terrain.ground();
    let mut stream = Stream::new(1, "bench", 0);
    let started = Instant::now();
    let (mut steps, mut droplets) = (0, 0);
    while droplets < most && (droplets % 100 > 0 || started.elapsed().as_secs_f64() < LONGEST) {
        droplets += 1;
        let mut place = |side: usize| stream.below(side) as f32 + 0.5;
        let droplet = State::at(place(width), place(height), 1.0);
        steps += run_alone(&mut ground, width, 1.0 / terrain.cell_size, &law, droplet).1.steps;
    }
    black_box(&ground);
    let seconds = started.elapsed().as_secs_f64();
    (seconds * 1e9 / steps as f64, steps as f64 / droplets as f64, seconds / droplets as f64)
}

fn droplets(terrain: &Terrain, pool: Arc<rayon::ThreadPool>) -> Value {
    let (mut fast, mut plain) = (Vec::new(), Vec::new());
    let per_tick = f64::from(Params::default().per_tick);
    for _ in 0..REPETITIONS {
        fast.push(ticks(terrain, Mode::Published, PUBLISHED_TICKS, &pool));
        plain.push(scalar(terrain, PLAIN_DROPLETS));
    }
    let (fast, plain) = (median(fast), median(plain));
    // Seconds each: once is enough.
    let whole = ticks(terrain, Mode::Default, (FINISHED_MAP / per_tick) as usize, &pool);
    let whole_plain = scalar(terrain, FINISHED_MAP as usize);
    json!({
        "ns_per_step": fast.0,
        "scalar_ns": plain.0,
        "ratio": plain.0 / fast.0,
        "threads": pool.current_num_threads(),
        "size": terrain.width(),
        "steps_per_droplet": fast.1,
        "default_ns": whole.0,
        "default_steps_per_droplet": whole.1,
        "map_seconds": whole.2 * FINISHED_MAP,
        "map_scalar_seconds": whole_plain.2 * FINISHED_MAP,
        "map_ratio": whole_plain.2 / whole.2,
    })
}

/// The middle one by its first figure.
fn median(mut runs: Vec<(f64, f64, f64)>) -> (f64, f64, f64) {
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    runs[runs.len() / 2]
}
