//! Scaling benchmark: cost of each process at several map sizes, and its growth with the number of cells.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use serde_json::{Value, json};

use super::{super::print_message, run_waves, simulation, substeps};
use thalweg_sim::{
    core::terrain::Terrain,
    generate::{TerrainParams, generate},
    params::{self, REFERENCE_CELLS, collect_parameters, rescale_counts},
    process::{
        Mode, Process,
        droplets::{self, DropletLaw},
        fluvial, runoff, thermal, water, wind,
    },
    simulation::Simulation,
};

/// Sides of the maps, in cells.
const SIDES: [u32; 5] = [256, 512, 1024, 2048, 4096];
/// Maximum number of measured ticks, and time in seconds after which no further tick starts.
const TICKS: usize = 8;
const TIME_LIMIT: f64 = 1.0;

/// Unit of the cost of a process.
#[derive(Clone, Copy, PartialEq)]
enum CostUnit {
    Cells,
    /// Step of a particle, with the same number of particles on every map.
    Particles,
    /// Step of a particle, with a number of particles proportional to the cells.
    ParticlesPerCell,
}

/// Process under test.
struct BenchedProcess {
    name: &'static str,
    of: CostUnit,
    /// `true` if the process runs on a map of sand only.
    loose: bool,
    process: fn() -> Box<dyn Process>,
}

const fn subject(name: &'static str, of: CostUnit, loose: bool, process: fn() -> Box<dyn Process>) -> BenchedProcess {
    BenchedProcess { name, of, loose, process }
}

fn droplets(mode: Mode, law: DropletLaw) -> Box<dyn Process> {
    Box::new(droplets::Droplets::with(droplets::Params { mode, law, ..Default::default() }))
}

fn published_wind() -> Box<dyn Process> {
    let (mode, law) = (Mode::Published, wind::WindLaw::_2020);
    Box::new(wind::Wind::with(wind::Params { mode, law, ..Default::default() }))
}

const SUBJECTS: [BenchedProcess; 12] = [
    subject("streams, 1000", CostUnit::Particles, false, || droplets(Mode::Corrected, DropletLaw::Streams)),
    subject("streams, per cell", CostUnit::ParticlesPerCell, false, || droplets(Mode::Corrected, DropletLaw::Streams)),
    subject("mass transfer, per cell", CostUnit::ParticlesPerCell, false, || {
        droplets(Mode::Corrected, DropletLaw::MassTransfer)
    }),
    subject("published, 1000", CostUnit::Particles, false, || droplets(Mode::Published, DropletLaw::MassTransfer)),
    subject("published, per cell", CostUnit::ParticlesPerCell, false, || {
        droplets(Mode::Published, DropletLaw::MassTransfer)
    }),
    subject("wind", CostUnit::Cells, true, || Box::new(wind::Wind::default())),
    subject("wind published, 1024", CostUnit::Particles, true, published_wind),
    subject("wind published, per cell", CostUnit::ParticlesPerCell, true, published_wind),
    subject("water", CostUnit::Cells, false, || Box::new(water::Water::default())),
    subject("thermal", CostUnit::Cells, false, || Box::new(thermal::Thermal::default())),
    subject("uplift and rivers", CostUnit::Cells, false, || Box::new(fluvial::Fluvial::default())),
    subject("runoff", CostUnit::Cells, false, || Box::new(runoff::Runoff::default())),
];

/// Measures every process at every size with each number of threads.
///
/// # Errors
/// Threads cannot be started.
pub(super) fn measure(threads: &[usize]) -> Result<Value, rayon::ThreadPoolBuildError> {
    let pools = threads.iter().map(|&count| rayon::ThreadPoolBuilder::new().num_threads(count).build().map(Arc::new));
    let pools: Vec<Arc<rayon::ThreadPool>> = pools.collect::<Result<_, _>>()?;
    // By process and number of threads, from the smallest to the largest map: nanoseconds per unit, and seconds per tick.
    let mut runs: BTreeMap<(&str, usize), Vec<(f64, f64)>> = BTreeMap::new();
    for side in SIDES {
        print_message(&format!("measuring {side}² cells…"));
        for loose in [false, true] {
            let terrain = terrain(side, loose);
            for subject in SUBJECTS.iter().filter(|subject| subject.loose == loose) {
                for pool in &pools {
                    let run = subject.run(&terrain, pool);
                    runs.entry((subject.name, pool.current_num_threads())).or_default().push(run);
                }
            }
        }
    }
    let rows = runs.into_iter().map(|((name, threads), runs)| {
        let cells = SUBJECTS.iter().any(|subject| subject.name == name && subject.of == CostUnit::Cells);
        let (ns, seconds): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
        json!({
            "process": name,
            "threads": threads,
            "of": if cells { "cell" } else { "particle step" },
            "ns": ns,
            "seconds_per_tick": seconds,
            "exponent": exponent(if cells { &seconds } else { &ns }),
        })
    });
    Ok(json!({ "sides": SIDES, "rows": rows.collect::<Vec<_>>() }))
}

/// Generates the benchmark terrain with a side in cells; the one for wind is sand only.
fn terrain(side: u32, loose: bool) -> Terrain {
    let params = TerrainParams { width: side, height: side, ..TerrainParams::default() };
    let params = if loose {
        TerrainParams { cell_size: 10.0, loose, relief: 2.5 * side as f32, ..params }
    } else {
        TerrainParams { cell_size: params.cell_size * 256.0 / side as f32, ..params }
    };
    generate(&params, 1)
}

impl BenchedProcess {
    /// Returns nanoseconds per particle step or cell, and seconds per tick.
    fn run(&self, terrain: &Terrain, pool: &Arc<rayon::ThreadPool>) -> (f64, f64) {
        let mut process = (self.process)();
        if self.of == CostUnit::ParticlesPerCell {
            let (key, fresh) = (process.info().key, process.boxed_default());
            let [params, _] = process.settings_mut();
            rescale_counts((key, params), fresh.params(), [REFERENCE_CELLS, terrain.bedrock.len() as f64], |_| true);
        }
        let mut simulation = simulation(terrain, pool, vec![process]);
        match self.of {
            CostUnit::ParticlesPerCell => part_of_a_tick(&mut simulation),
            CostUnit::Particles => ticks(&mut simulation, substeps),
            CostUnit::Cells => ticks(&mut simulation, |simulation| simulation.ticks() * terrain.bedrock.len() as u64),
        }
    }
}

/// Runs at least two ticks and discards the first, which allocates memory. Returns the medians of nanoseconds per counted unit and
/// of seconds per tick.
fn ticks(simulation: &mut Simulation, counted: impl Fn(&Simulation) -> u64) -> (f64, f64) {
    let (begun, mut ticks) = (Instant::now(), Vec::new());
    while ticks.len() <= TICKS && (ticks.len() < 2 || begun.elapsed().as_secs_f64() < TIME_LIMIT) {
        let (started, before) = (Instant::now(), counted(simulation));
        simulation.tick();
        let seconds = started.elapsed().as_secs_f64();
        ticks.push((seconds * 1e9 / (counted(simulation) - before) as f64, seconds));
    }
    ticks.remove(0);
    ticks.sort_by(|one, other| one.1.total_cmp(&other.1));
    ticks[ticks.len() / 2]
}

/// Runs waves of particles, as a full tick of many droplets takes long, and discards the first ones, which allocate memory. Returns
/// the mean nanoseconds per particle step, and the seconds per tick extrapolated from them.
fn part_of_a_tick(simulation: &mut Simulation) -> (f64, f64) {
    run_waves(simulation, f64::INFINITY, 0.5 * TIME_LIMIT);
    let (seconds, steps, particles) = run_waves(simulation, f64::INFINITY, TIME_LIMIT);
    let per_tick = simulation.slots.iter().filter(|slot| slot.enabled).find_map(|slot| {
        let parameters = collect_parameters((slot.key(), slot.process.params()));
        parameters.into_iter().find(|parameter| parameter.name == "per_tick").map(|parameter| parameter.value)
    });
    let Some(params::Value::Number(per_tick)) = per_tick else { unreachable!("processes of particles have it") };
    (seconds * 1e9 / steps, seconds * per_tick / particles)
}

/// Returns the exponent of the growth of times with the number of cells, for sides that double from one time to the next.
fn exponent(seconds: &[f64]) -> f64 {
    // Slope of the regression line through the logarithms.
    let middle = 0.5 * (seconds.len() as f64 - 1.0);
    let steps = || seconds.iter().enumerate().map(|(step, seconds)| (step as f64 - middle, seconds.ln()));
    let (along, square) = steps().fold((0.0, 0.0), |(a, b), (step, log)| (a + step * log, b + step * step));
    along / square / 4.0_f64.ln()
}

/// Formats the figures as a table, one line per process and number of threads.
pub(super) fn table(report: &Value) -> String {
    let sides = SIDES.map(|side| format!("{:>9}", format!("{side}²"))).concat();
    let mut text = "nanoseconds per particle step, proportional to cells^exponent, or per cell, where the time of a \
        tick is proportional to cells^exponent\n"
        .to_owned();
    text += &format!("{:30}{:>8}{sides}{:>10}   per\n", "process", "threads", "exponent");
    for row in report["rows"].as_array().into_iter().flatten() {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let ns: String = row["ns"].as_array().into_iter().flatten().map(|ns| format!("{:9.2}", number(ns))).collect();
        let (name, of) = (row["process"].as_str().unwrap_or_default(), row["of"].as_str().unwrap_or_default());
        text += &format!("{name:30}{:>8}{ns}{:10.2}   {of}\n", row["threads"], number(&row["exponent"]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_exponent_is_relative_to_cell_count() {
        for power in [0.0, 0.5, 1.0, 1.3] {
            let seconds: Vec<f64> = SIDES.iter().map(|&side| 3e-9 * f64::from(side).powf(2.0 * power)).collect();
            assert!((exponent(&seconds) - power).abs() < 1e-9, "{power}");
        }
    }
}
