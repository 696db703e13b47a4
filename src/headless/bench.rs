//! `thalweg bench`: nanoseconds per particle step of each process, beside a plain scalar loop run in the same process.

use std::{hint::black_box, sync::Arc, time::Instant};

use clap::Args;
use serde_json::{Value, json};

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

#[derive(Args)]
pub(super) struct Bench {
    /// Cells on a side
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=4096))]
    size: u32,
    /// Threads to use; all of the machine's without it
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
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
        let figures = droplets(&terrain, Arc::new(pool));
        let report = json!({"threads": threads, "size": self.size, "processes": {"droplets": figures}});
        if self.json {
            print(&format!("{report:#}\n"));
            return Ok(());
        }
        let figure = |key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
        print(&format!(
            "droplets, {0} × {0}, {threads} threads\n  \
             published  {1:8.2} ns per droplet step   plain loop {2:.2} ns   ratio {3:.1}\n  \
             default    {4:8.2} ns per droplet step   {5:.0} steps a droplet (published: {6:.0})\n  \
             a finished map of 200 000 droplets: default {7:.2} s, plain published loop {8:.2} s, \
             ratio {9:.1}\n  \
             medians of {10}; the plain loop's map was made once\n",
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
        ));
        Ok(())
    }
}

/// Runs ticks. Returns (nanoseconds per step, steps per droplet, seconds per droplet).
fn ticks(terrain: &Terrain, mode: Mode, count: usize, pool: &Arc<rayon::ThreadPool>) -> (f64, f64, f64) {
    let mut simulation = Simulation::new(terrain.clone(), 1).with_pool(Arc::clone(pool));
    let params = Params { mode, ..Params::default() };
    let droplets = count as f64 * f64::from(params.per_tick);
    for slot in simulation.slots.iter_mut().filter(|slot| slot.key() == "droplets") {
        slot.process = Box::new(Droplets::new(params.clone()));
        slot.enabled = true;
    }
    let started = Instant::now();
    (0..count).for_each(|_| simulation.tick());
    let seconds = started.elapsed().as_secs_f64();
    let steps: u64 = simulation.slots.iter().map(|slot| slot.process.counts().substeps).sum();
    (seconds * 1e9 / steps as f64, steps as f64 / droplets, seconds / droplets)
}

/// The published loop, one droplet after the other in f32. Same units as [`ticks`].
fn scalar(terrain: &Terrain, droplets: usize) -> (f64, f64, f64) {
    let law = MassTransfer::<f32>::new(&Params::default());
    let (width, height) = (terrain.width(), terrain.height());
    let mut ground = terrain.ground().into_cells();
    let mut stream = Stream::new(1, "bench", 0);
    let started = Instant::now();
    let mut steps = 0;
    for _ in 0..droplets {
        let mut place = |side: usize| stream.below(side) as f32 + 0.5;
        let droplet = State::at(place(width), place(height), 1.0);
        steps += run_alone(&mut ground, width, 1.0 / terrain.cell_size, &law, droplet).1.steps;
    }
    black_box(&ground);
    let seconds = started.elapsed().as_secs_f64();
    (seconds * 1e9 / steps as f64, steps as f64 / droplets as f64, seconds / droplets as f64)
}

fn droplets(terrain: &Terrain, pool: Arc<rayon::ThreadPool>) -> Value {
    let (mut fast, mut plain, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let per_tick = f64::from(Params::default().per_tick);
    for _ in 0..REPETITIONS {
        fast.push(ticks(terrain, Mode::Published, PUBLISHED_TICKS, &pool));
        plain.push(scalar(terrain, PLAIN_DROPLETS));
        whole.push(ticks(terrain, Mode::Default, (FINISHED_MAP / per_tick) as usize, &pool));
    }
    let (fast, plain, whole) = (median(fast), median(plain), median(whole));
    // Half a minute: once is enough.
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
