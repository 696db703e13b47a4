//! What each process costs on maps of several sizes, and how the cost grows with the number of cells.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use serde_json::{Value, json};

use super::{simulation, substeps};
use crate::sim::{
    generate::{TerrainParams, generate},
    process::{AnyProcess, Mode, Process, droplets, runoff, thermal, water, wind},
    terrain::Terrain,
};

/// Sides of the maps, in cells.
const SIDES: [u32; 5] = [256, 512, 1024, 2048, 4096];
/// Ticks that are measured, and seconds after which no other one begins.
const TICKS: usize = 8;
const LONGEST: f64 = 2.0;

/// A process that is measured.
struct Subject {
    name: &'static str,
    /// Whether it moves a fixed number of particles, and so is counted in their steps, not in cells.
    particles: bool,
    /// Whether it runs on a map of nothing but sand.
    loose: bool,
    process: fn() -> Box<dyn AnyProcess>,
}

const fn subject(name: &'static str, particles: bool, loose: bool, process: fn() -> Box<dyn AnyProcess>) -> Subject {
    Subject { name, particles, loose, process }
}

const SUBJECTS: [Subject; 7] = [
    subject("droplets", true, false, || Box::new(droplets::Droplets::with(droplets::Params::default()))),
    subject("droplets as published", true, false, || {
        Box::new(droplets::Droplets::with(droplets::Params { mode: Mode::Published, ..Default::default() }))
    }),
    subject("wind", true, true, || Box::new(wind::Wind::with(wind::Params::default()))),
    subject("wind as published", true, true, || {
        let (mode, law) = (Mode::Published, wind::WindLaw::_2020);
        Box::new(wind::Wind::with(wind::Params { mode, law, ..Default::default() }))
    }),
    subject("water", false, false, || Box::new(water::Water::with(water::Params::default()))),
    subject("thermal", false, false, || Box::new(thermal::Thermal::with(thermal::Params::default()))),
    subject("runoff", false, false, || Box::new(runoff::Runoff::with(runoff::Params::default()))),
];

/// Measures every process at every size with each of these numbers of threads.
///
/// # Errors
/// If threads can't be started.
pub(super) fn measure(threads: &[usize]) -> Result<Value, rayon::ThreadPoolBuildError> {
    let pools = threads.iter().map(|&count| rayon::ThreadPoolBuilder::new().num_threads(count).build().map(Arc::new));
    let pools: Vec<Arc<rayon::ThreadPool>> = pools.collect::<Result<_, _>>()?;
    // By process and number of threads, from the smallest map to the largest: nanoseconds, and seconds of a tick.
    let mut runs: BTreeMap<(&str, usize), Vec<(f64, f64)>> = BTreeMap::new();
    for side in SIDES {
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
        let particles = SUBJECTS.iter().any(|subject| subject.name == name && subject.particles);
        let (ns, seconds): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
        json!({
            "process": name,
            "threads": threads,
            "of": if particles { "step of a particle" } else { "cell" },
            "ns": ns,
            "seconds_per_tick": seconds,
            "exponent": exponent(&seconds),
        })
    });
    Ok(json!({ "sides": SIDES, "rows": rows.collect::<Vec<_>>() }))
}

/// The map of `thalweg bench` with so many cells on a side; the one for the wind is nothing but sand.
fn terrain(side: u32, loose: bool) -> Terrain {
    let params = TerrainParams { width: side, height: side, ..TerrainParams::default() };
    let params = if loose {
        TerrainParams { cell_size: 10.0, loose, relief: 2.5 * side as f32, ..params }
    } else {
        TerrainParams { cell_size: params.cell_size * 256.0 / side as f32, ..params }
    };
    generate(&params, 1)
}

impl Subject {
    /// Runs ticks after a first one, which makes room. Returns the median of nanoseconds for each step of a particle or each cell,
    /// and of the seconds of a tick.
    fn run(&self, terrain: &Terrain, pool: &Arc<rayon::ThreadPool>) -> (f64, f64) {
        let mut simulation = simulation(terrain, pool, vec![(self.process)()]);
        simulation.tick();
        let (begun, mut ticks) = (Instant::now(), Vec::new());
        while ticks.is_empty() || (ticks.len() < TICKS && begun.elapsed().as_secs_f64() < LONGEST) {
            let (started, before) = (Instant::now(), substeps(&simulation));
            simulation.tick();
            let seconds = started.elapsed().as_secs_f64();
            let steps = (substeps(&simulation) - before) as f64;
            let count = if self.particles { steps } else { terrain.bedrock.len() as f64 };
            ticks.push((seconds * 1e9 / count, seconds));
        }
        ticks.sort_by(|one, other| one.1.total_cmp(&other.1));
        ticks[ticks.len() / 2]
    }
}

/// The power of the number of cells with which these times grow, from one side to the next twice as long.
fn exponent(seconds: &[f64]) -> f64 {
    // The slope of the straight line through the logarithms.
    let middle = 0.5 * (seconds.len() as f64 - 1.0);
    let steps = || seconds.iter().enumerate().map(|(step, seconds)| (step as f64 - middle, seconds.ln()));
    let (along, square) = steps().fold((0.0, 0.0), |(a, b), (step, log)| (a + step * log, b + step * step));
    along / square / 4.0_f64.ln()
}

/// The figures as a table: a line for each process and number of threads.
pub(super) fn table(report: &Value) -> String {
    let sides = SIDES.map(|side| format!("{:>9}", format!("{side}²"))).concat();
    let mut text = "nanoseconds for each step of a particle or cell; time of a tick ~ cells^exponent\n".to_owned();
    text += &format!("{:24}{:>8}{sides}{:>10}   for each\n", "process", "threads", "exponent");
    for row in report["rows"].as_array().into_iter().flatten() {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let ns: String = row["ns"].as_array().into_iter().flatten().map(|ns| format!("{:9.2}", number(ns))).collect();
        let (name, of) = (row["process"].as_str().unwrap_or_default(), row["of"].as_str().unwrap_or_default());
        text += &format!("{name:24}{:>8}{ns}{:10.2}   {of}\n", row["threads"], number(&row["exponent"]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_is_that_of_the_number_of_cells() {
        for power in [0.0, 0.5, 1.0, 1.3] {
            let seconds: Vec<f64> = SIDES.iter().map(|&side| 3e-9 * f64::from(side).powf(2.0 * power)).collect();
            assert!((exponent(&seconds) - power).abs() < 1e-9, "{power}");
        }
    }
}
