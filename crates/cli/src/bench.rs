//! `thalweg bench`: nanoseconds per particle step or per cell of each process, compared with a scalar reference implementation in
//! the same program.

mod card;
mod fluvial;
mod grids;
mod scalar;
mod sizes;
mod wind;

use std::{collections::BTreeMap, hint::black_box, sync::Arc, time::Instant};

use clap::Args;
use serde_json::{Value, json};

use self::{fluvial::rivers, grids::GRIDS, wind::grains};
use super::{Failure, computer::parse_device, print};
use thalweg_scene::settings::ComputeDevice;
use thalweg_sim::{
    core::{bounds::SIDES, rng::RandomStream, terrain::Terrain},
    generate::{TerrainParams, generate},
    params::{REFERENCE_CELLS, rescale_counts},
    process::{
        Mode, Process,
        droplets::{
            self, DropletLaw, Droplets, Params,
            published::{DropletState, MassTransfer, run_alone},
        },
    },
    simulation::Simulation,
};

/// Droplets of a finished map in the article.
const FINISHED_MAP: f64 = 200_000.0;
/// Repetitions whose median is reported.
const REPETITIONS: usize = 5;
/// Droplets per repetition, and those of the scalar reference implementation.
const DROPLETS: f64 = 5000.0;
const SCALAR_DROPLETS: usize = 2000;
/// Time limit in seconds, after which the time of a finished map is extrapolated.
const TIME_LIMIT: f64 = 3.0;

#[derive(Args)]
pub(super) struct BenchArgs {
    /// Cells along each side
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(*SIDES.start() as i64..=*SIDES.end() as i64))]
    size: u32,
    /// Number of threads; by default all hardware threads
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Benchmark the grid processes only; takes seconds
    #[arg(long)]
    grids: bool,
    /// Benchmark every process at 256² to 4096² cells with 1, 2 and all threads; takes minutes
    #[arg(long, conflicts_with_all = ["size", "threads", "grids"])]
    sizes: bool,
    /// Benchmark each kernel of water and thermal erosion on the graphics card instead (gpu)
    #[arg(long, value_name = "cpu|gpu", value_parser = parse_device, conflicts_with_all = ["threads", "grids", "sizes"])]
    device: Option<ComputeDevice>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl BenchArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        if self.device == Some(ComputeDevice::GraphicsCard) {
            let report = card::measure(self.size)?;
            return print(&if self.json { format!("{report:#}\n") } else { card::table(&report) });
        }
        let no_threads = |error| Failure::while_running(format!("threads could not be started: {error}"));
        if self.sizes {
            let all = std::thread::available_parallelism().map_or(1, usize::from);
            let mut threads = vec![1, 2, all];
            threads.sort_unstable();
            threads.dedup();
            let report = sizes::measure(&threads).map_err(no_threads)?;
            return print(&if self.json { format!("{report:#}\n") } else { sizes::table(&report) });
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.map_or(0, usize::from)).build();
        let pool = pool.map_err(no_threads)?;
        let threads = pool.current_num_threads();
        let scale = 256.0 / self.size as f32;
        let params = TerrainParams { width: self.size, height: self.size, ..TerrainParams::default() };
        let params = TerrainParams { cell_size: params.cell_size * scale, ..params };
        let terrain = generate(&params, 1);
        let pool = Arc::new(pool);
        // Grids first: they take half a second, whereas droplets heat up the machine.
        let bandwidth = bandwidth(&pool);
        let mut processes: BTreeMap<&str, Value> =
            GRIDS.iter().map(|grid| (grid.name, grid.measure(&terrain, &pool, bandwidth))).collect();
        processes.insert("fluvial", rivers(&terrain, &pool));
        if !self.grids {
            processes.insert("wind", grains(&pool, self.size));
            processes.insert("droplets", droplets(&terrain, pool));
        }
        let report = json!({
            "threads": threads, "size": self.size, "bandwidth_gb_per_s": bandwidth, "processes": processes,
        });
        print(&if self.json { format!("{report:#}\n") } else { table(&report) })
    }
}

/// Formats the report as a table, one line per process.
fn table(report: &Value) -> String {
    let figure = |of: &Value, key: &str| of[key].as_f64().unwrap_or(f64::NAN);
    let mut text = format!(
        "{0} × {0} cells, {1} threads, {2:.1} GB/s; medians of {REPETITIONS}, in nanoseconds\n{3:14} {4:>13} {5:>11} {6:>7} {7:>11}   per\n",
        report["size"],
        report["threads"],
        figure(report, "bandwidth_gb_per_s"),
        "process",
        "as published",
        "scalar",
        "ratio",
        "default",
    );
    for (name, of) in report["processes"].as_object().into_iter().flatten() {
        let (unit, published) =
            if of["ns_per_cell"].is_null() { ("particle step", "ns_per_step") } else { ("cell", "ns_per_cell") };
        let [published, scalar, ratio, default] =
            [published, "scalar_ns", "ratio", "default_ns"].map(|key| figure(of, key));
        text += &format!("{name:14} {published:13.2} {scalar:11.2} {ratio:7.1} {default:11.2}   {unit}");
        let [share, default] = ["bandwidth_share", "default_bandwidth_share"].map(|key| 100.0 * figure(of, key));
        let air = figure(of, "default_air_ns");
        if air.is_finite() {
            text += &format!(", default per cell and step, of which air flow takes {air:.2}");
        }
        if let Some(stages) = of["default_stages_ns"].as_object() {
            let stages: Vec<String> =
                stages.iter().map(|(name, ns)| format!("{name} {:.1}", ns.as_f64().unwrap_or(f64::NAN))).collect();
            text += &format!(", default stages: {}", stages.join(", "));
        }
        if share.is_finite() {
            text += &format!(", {share:.0} % and {default:.0} % of the memory bandwidth");
        }
        text += "\n";
    }
    let droplets = &report["processes"]["droplets"];
    if droplets.is_object() {
        let [default, scalar, ratio] =
            ["map_seconds", "map_scalar_seconds", "map_ratio"].map(|key| figure(droplets, key));
        text += &format!(
            "a finished map of {FINISHED_MAP} droplets, run once or extrapolated after {TIME_LIMIT} s: default {default:.2} s, \
             published scalar {scalar:.2} s, ratio {ratio:.1}\n"
        );
    }
    text
}

/// Creates a simulation with only these processes.
fn simulation(terrain: &Terrain, pool: &Arc<rayon::ThreadPool>, processes: Vec<Box<dyn Process>>) -> Simulation {
    let mut simulation = Simulation::new(terrain.clone(), 1).with_pool(Arc::clone(pool));
    for process in processes {
        if let Some(slot) = simulation.slot_mut(process.info().key) {
            slot.process = process;
            slot.enabled = true;
        }
    }
    simulation
}

/// Runs ticks. Returns their time in seconds, in total and by stage name.
fn run_ticks(simulation: &mut Simulation, ticks: usize) -> (f64, BTreeMap<&'static str, f64>) {
    let (mut stages, started) = (BTreeMap::new(), Instant::now());
    for _ in 0..ticks {
        simulation.begin_tick();
        for process in 0..simulation.slots.len() {
            loop {
                let (stage, begun) = (simulation.next_stage(), Instant::now());
                let done = simulation.advance(process);
                if let Some((_, name)) = stage {
                    *stages.entry(name).or_default() += begun.elapsed().as_secs_f64();
                }
                if done {
                    break;
                }
            }
        }
        simulation.end_tick();
    }
    (started.elapsed().as_secs_f64(), stages)
}

fn substeps(simulation: &Simulation) -> u64 {
    simulation.slots.iter().map(|slot| slot.process.counts().substeps).sum()
}

/// Measures the memory bandwidth of all threads in GB/s, with a copy far larger than the caches.
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
        // Bytes per element: read the source, write the target, and read the target before writing.
        12.0 * COUNT as f64 / started.elapsed().as_secs_f64() * 1e-9
    });
    runs.fold(0.0, f64::max)
}

/// Runs waves of particles until the number of particles or the time in seconds is reached. Returns seconds, steps and particles.
fn run_waves(simulation: &mut Simulation, particles: f64, longest: f64) -> (f64, f64, f64) {
    let counts = |simulation: &Simulation| {
        let all = simulation.slots.iter().map(|slot| slot.process.counts());
        all.fold((0, 0), |(steps, particles), own| (steps + own.substeps, particles + own.particles))
    };
    let (begun, before) = (Instant::now(), counts(simulation));
    loop {
        simulation.begin_tick();
        if (0..simulation.slots.len()).all(|process| simulation.advance(process)) {
            simulation.end_tick();
        }
        let now = counts(simulation);
        let (steps, ran, seconds) =
            ((now.0 - before.0) as f64, (now.1 - before.1) as f64, begun.elapsed().as_secs_f64());
        // At least one wave, however long it takes.
        if ran >= particles || seconds >= longest && ran > 0.0 {
            return (seconds, steps, ran);
        }
    }
}

/// Runs droplets. Returns (nanoseconds per step, steps per droplet, seconds per droplet).
fn run(terrain: &Terrain, params: &Params, most: f64, pool: &Arc<rayon::ThreadPool>) -> (f64, f64, f64) {
    let mut simulation = simulation(terrain, pool, vec![Box::new(Droplets::with(params.clone()))]);
    let (seconds, steps, droplets) = run_waves(&mut simulation, most, TIME_LIMIT);
    (seconds * 1e9 / steps, steps / droplets, seconds / droplets)
}

/// Runs the published loop, droplet by droplet in f32. Returns the same quantities as [`run`].
fn run_scalar(terrain: &Terrain, most: usize) -> (f64, f64, f64) {
    let law = MassTransfer::<f32>::new(&Params::default());
    let (width, height) = (terrain.width(), terrain.height());
    let mut ground = terrain.ground();
    let mut stream = RandomStream::new(1, "bench", 0);
    let started = Instant::now();
    let (mut steps, mut droplets) = (0, 0);
    while droplets < most && (droplets % 100 > 0 || started.elapsed().as_secs_f64() < TIME_LIMIT) {
        droplets += 1;
        let mut place = |side: usize| stream.below(side) as f32 + 0.5;
        let droplet = DropletState::at(place(width), place(height), 1.0);
        steps += run_alone(&mut ground, width, 1.0 / terrain.cell_size, &law, droplet).1.steps;
    }
    black_box(&ground);
    let seconds = started.elapsed().as_secs_f64();
    (seconds * 1e9 / steps as f64, steps as f64 / droplets as f64, seconds / droplets as f64)
}

fn droplets(terrain: &Terrain, pool: Arc<rayon::ThreadPool>) -> Value {
    let (mut fast, mut slow, mut streams) = (Vec::new(), Vec::new(), Vec::new());
    let (stated, mut params) = (Params::default(), Params::default());
    rescale_counts((droplets::INFO.key, &mut params), &stated, [REFERENCE_CELLS, terrain.bedrock.len() as f64], |_| {
        true
    });
    let published = Params { mode: Mode::Published, law: DropletLaw::MassTransfer, ..params.clone() };
    for _ in 0..REPETITIONS {
        fast.push(run(terrain, &published, DROPLETS, &pool));
        slow.push(run_scalar(terrain, SCALAR_DROPLETS));
        streams.push(run(terrain, &params, DROPLETS, &pool));
    }
    let [fast, slow, streams] = [fast, slow, streams].map(median);
    // These take seconds each: one repetition is enough.
    let whole = run(terrain, &params, FINISHED_MAP, &pool);
    let whole_scalar = run_scalar(terrain, FINISHED_MAP as usize);
    json!({
        "ns_per_step": fast.0,
        "scalar_ns": slow.0,
        "ratio": slow.0 / fast.0,
        "threads": pool.current_num_threads(),
        "size": terrain.width(),
        "steps_per_droplet": fast.1,
        "default_ns": streams.0,
        "default_steps_per_droplet": whole.1,
        "map_seconds": whole.2 * FINISHED_MAP,
        "map_scalar_seconds": whole_scalar.2 * FINISHED_MAP,
        "map_ratio": whole_scalar.2 / whole.2,
    })
}

/// Returns the median by the first value.
fn median(mut runs: Vec<(f64, f64, f64)>) -> (f64, f64, f64) {
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    runs[runs.len() / 2]
}
