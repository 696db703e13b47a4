//! Self-tests of the simulation against exact solutions. They give the same numbers on every machine.
//!
//! | check | source |
//! |---|---|
//! | lake at rest | hydrostatics |
//! | seiche | T = 2·L/√(g·h), Merian 1828 |
//! | uniform flow on a plane | h = (q·n/√S)^(3/5), Manning 1891 |
//! | dam break | Ritter 1892 |
//! | sand pile | its angle of repose |
//! | steady-state rivers | S = (U/K)^(1/n)·A^(−m/n), Whipple & Tucker 1999 |
//! | mass balance of dunes, and of all processes | conservation of mass |
//! | threads | the same bits for any number of them |

use std::sync::Arc;

use super::Simulation;
use crate::{
    core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Source, Terrain},
    },
    measure::Channels,
    params::REFERENCE_SIDE,
    process::{
        Mode, Process,
        droplets::{self, Droplets},
        fluvial::{self, Fluvial},
        thermal::{self, Thermal},
        water::{self, Water},
        wind::Wind,
    },
};

const GRAVITY: f64 = 9.81;

/// Function that runs ticks of a simulation.
pub type RunTicks<'a> = &'a mut dyn FnMut(&mut Simulation, u32);

/// A check.
pub struct Check {
    /// Name shown to the user.
    pub title: &'static str,
    /// Measured quantity, with the source of the expected value.
    pub about: &'static str,
    /// Exact value.
    pub expected: f64,
    /// Tolerance.
    pub within: f64,
    measure: fn(RunTicks<'_>) -> f64,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckResult {
    /// Name shown to the user.
    pub title: &'static str,
    /// Measured quantity.
    pub about: &'static str,
    /// Measured value.
    pub measured: f64,
    /// Exact value.
    pub expected: f64,
    /// Tolerance.
    pub within: f64,
}

impl CheckResult {
    /// Returns `true` if the measured value is within the tolerance.
    pub fn holds(&self) -> bool {
        (self.measured - self.expected).abs() <= self.within
    }
}

impl Check {
    /// Runs the check, in at most a few seconds.
    pub fn run(&self) -> CheckResult {
        self.run_with(&mut |simulation, ticks| (0..ticks).for_each(|_| simulation.tick()))
    }

    /// Runs the check with a function that runs the ticks, e.g. on a graphics card.
    pub fn run_with(&self, ticks: RunTicks<'_>) -> CheckResult {
        let Self { title, about, expected, within, measure } = *self;
        CheckResult { title, about, measured: measure(ticks), expected, within }
    }
}

/// All checks.
pub const CHECKS: [Check; 9] = [
    Check {
        title: "Lake at rest",
        about: "Largest change of depth in a still lake with islands after 1000 ticks, relative to the depth of the lake.",
        expected: 0.0,
        within: 4e-6,
        measure: lake,
    },
    Check {
        title: "Seiche",
        about: "Period of a standing wave in a closed basin, relative to 2·L/√(g·h) (Merian 1828).",
        expected: 1.0,
        within: 0.01,
        measure: seiche,
    },
    Check {
        title: "Uniform flow on a plane",
        about: "Depth of a steady flow, relative to (q·n/√S)^(3/5) (Manning 1891).",
        expected: 1.0,
        within: 0.01,
        measure: plane,
    },
    Check {
        title: "Dam break",
        about: "Mean error of the depth 12 s after a 1 m dam break on a dry bed, in metres (Ritter 1892).",
        expected: 0.0,
        within: 0.02,
        measure: dam,
    },
    Check {
        title: "Sand pile",
        about: "Slope of a sand pile at rest, relative to the tangent of the angle of repose.",
        expected: 1.0,
        within: 0.02,
        measure: heap,
    },
    Check {
        title: "Steady-state rivers",
        about: "Exponent of slope against drainage area where erosion balances uplift: −m/n (Whipple & Tucker 1999).",
        expected: -0.4,
        within: 0.03,
        measure: rivers,
    },
    Check {
        title: "Mass balance of dunes",
        about: "Residual of the ledger after 300 ticks of wind over sand, relative to the volume moved.",
        expected: 0.0,
        within: 1e-6,
        measure: dunes,
    },
    Check {
        title: "Mass balance of all processes",
        about: "Residual of the ledger after 100 ticks of droplets, water, thermal erosion and wind, relative to the volume moved.",
        expected: 0.0,
        within: 1e-5,
        measure: together,
    },
    Check {
        title: "Bit-identical on any number of threads",
        about: "Number of cells that differ between a run on one thread and the same run on all threads.",
        expected: 0.0,
        within: 0.0,
        measure: threads,
    },
];

/// Returns a simulation of these processes alone, all enabled.
fn run(processes: Vec<Box<dyn Process>>, terrain: Terrain) -> Simulation {
    let mut run = Simulation::of(processes, terrain, 1);
    run.slots.iter_mut().for_each(|slot| slot.enabled = true);
    run
}

/// Returns water alone, without rain, evaporation and erosion. A tick covers this many seconds on any number of cells.
fn still_water(terrain: Terrain, seconds: f32, roughness: f32) -> Simulation {
    let params = water::Params {
        mode: Mode::Corrected,
        dt: seconds * REFERENCE_SIDE as f32 / terrain.width().min(terrain.height()) as f32,
        roughness,
        rain_rate: 0.0,
        evaporation_rate: 0.0,
        max_erosion_depth: 0.0,
        ..water::Params::default()
    };
    run(vec![Box::new(Water::with(params))], terrain)
}

/// Returns ground from a function of the position in cells, with water up to a level.
fn filled(size: [usize; 2], ground: impl Fn(f64, f64) -> f64, level: impl Fn(f64) -> f64) -> Terrain {
    let at = |x: usize, y: usize| ground(x as f64, y as f64);
    let mut terrain = Terrain::bare(Grid::from_fn(size[0], size[1], |x, y| at(x, y) as f32), 1.0, Edge::Wall);
    terrain.water = Grid::from_fn(size[0], size[1], |x, y| (level(x as f64) - at(x, y)).max(0.0) as f32);
    terrain
}

/// Returns the height of gentle hills.
fn bumps(x: f64, y: f64) -> f64 {
    0.6 * (libm::sin(0.31 * x) + libm::cos(0.23 * y)) + 0.2 * libm::sin(0.9 * x + 0.7 * y)
}

fn lake(ticks: RunTicks<'_>) -> f64 {
    let terrain = filled([96, 80], bumps, |_| 0.5);
    let (before, deepest) = (terrain.water.clone(), f64::from(terrain.water.min_max().1));
    let mut run = still_water(terrain, 0.02, 0.0);
    ticks(&mut run, 1000);
    let after = run.terrain.water.iter().zip(before.iter());
    after.map(|(now, before)| f64::from((now - before).abs())).fold(0.0, f64::max) / deepest
}

fn seiche(ticks: RunTicks<'_>) -> f64 {
    let (length, depth, step) = (64, 1.0, 0.02_f32);
    let wave = |x: f64| depth + 1e-3 * libm::cos((x + 0.5) * std::f64::consts::PI / length as f64);
    let mut run = still_water(filled([length, 1], |_, _| 0.0, wave), step, 0.0);
    let (mut crossings, mut before) = (Vec::new(), 1e-3_f64);
    for tick in 1..5000 {
        ticks(&mut run, 1);
        let now = f64::from(run.terrain.water[0]) - depth;
        if (before < 0.0) != (now < 0.0) {
            crossings.push(f64::from(step) * (f64::from(tick) - now.abs() / (now.abs() + before.abs())));
        }
        before = now;
    }
    let (Some(first), Some(last)) = (crossings.first(), crossings.last()) else { return f64::NAN };
    let period = 2.0 * (last - first) / (crossings.len() - 1) as f64;
    period / (2.0 * length as f64 / (GRAVITY * depth).sqrt())
}

fn plane(ticks: RunTicks<'_>) -> f64 {
    let (slope, roughness, rate, step) = (0.01, 0.05_f32, 0.02, 0.04_f32);
    let mut terrain = filled([80, 6], |x, _| 10.0 - slope * x, |_| 0.0);
    // Walls beside the flow, which leaves over the far edge.
    terrain.edge = Edge::Open;
    for (x, y) in (0..6).flat_map(|y| (0..80).map(move |x| (x, y))).filter(|&(x, y)| y == 0 || y == 5 || x == 0) {
        terrain.bedrock[y * 80 + x] += 5.0;
        terrain.start[y * 80 + x] += 5.0;
    }
    terrain.sources.push(Source { place: [4.5 / 80.0, 0.5], radius: 1.6, rate: rate * 4.0, ticks: None });
    let mut run = still_water(terrain, step, roughness);
    ticks(&mut run, 15_000);
    let depth = (1..5).map(|y| f64::from(run.terrain.water.at(50, y))).sum::<f64>() / 4.0;
    depth / libm::pow(f64::from(rate) * f64::from(roughness) / slope.sqrt(), 0.6)
}

fn dam(ticks: RunTicks<'_>) -> f64 {
    let (seconds, step) = (12.0, 0.02_f32);
    let mut run = still_water(filled([200, 1], |_, _| 0.0, |x| f64::from(x < 100.0)), step, 0.0);
    ticks(&mut run, 600);
    let wave = GRAVITY.sqrt();
    let exact = |cell: usize| match (cell as f64 - 99.5) / seconds {
        speed if speed <= -wave => 1.0,
        speed if speed >= 2.0 * wave => 0.0,
        speed => (2.0 * wave - speed) * (2.0 * wave - speed) / (9.0 * GRAVITY),
    };
    let cells = run.terrain.water.iter().enumerate();
    cells.map(|(cell, &depth)| (f64::from(depth) - exact(cell)).abs()).sum::<f64>() / 200.0
}

fn heap(ticks: RunTicks<'_>) -> f64 {
    let (side, middle) = (65, 32);
    let mut terrain = Terrain::bare(Grid::filled(side, side, 0.0), 1.0, Edge::Wall);
    terrain.sand = Grid::from_fn(side, side, |x, y| {
        let away = [x, y].map(|place| place.abs_diff(middle) as f32);
        if away[0] * away[0] + away[1] * away[1] <= 25.0 { 35.0 } else { 0.0 }
    });
    let mut params = thermal::Params { mode: Mode::Corrected, ..thermal::Params::default() };
    params.dt *= REFERENCE_SIDE as f32 / side as f32;
    let talus = libm::tan(f64::from(params.repose_angle).to_radians());
    let mut run = run(vec![Box::new(Thermal::with(params))], terrain);
    ticks(&mut run, 6000);
    let ground = run.terrain.ground();
    let foot = (f64::from(ground.at(middle, middle)) / talus) as usize;
    let (from, to) = (foot / 5, foot * 4 / 5);
    let fall = f64::from(ground.at(middle + from, middle) - ground.at(middle + to, middle));
    fall / (to - from) as f64 / talus
}

fn rivers(ticks: RunTicks<'_>) -> f64 {
    let (side, mut stream) = (64, RandomStream::new(4, "plain", 0));
    let ground = Grid::from_fn(side, side, |x, y| {
        let height = stream.uniform();
        if x.min(y) == 0 || x.max(y) + 1 == side { 0.0 } else { height }
    });
    let params = fluvial::Params {
        mode: Mode::Published,
        deposition: 0.0,
        diffusivity: 0.0,
        critical_slope: 2.0,
        ..fluvial::Params::default()
    };
    let mut run = run(vec![Box::new(Fluvial::with(params))], Terrain::bare(ground, 30.0, Edge::Open));
    ticks(&mut run, 600);
    Channels::of(&run.terrain, 1.0).slope_area().map_or(f64::NAN, |fit| fit.value)
}

/// Returns the residual of the ledger of solids, relative to the volume moved.
fn unexplained(run: &Simulation) -> f64 {
    run.solid_residual().abs() / run.ledger.solid.sum(|row| row.moved)
}

fn dunes(ticks: RunTicks<'_>) -> f64 {
    let mut terrain = Terrain::bare(Grid::filled(64, 64, 0.0), 1.0, Edge::Wrap);
    terrain.spread_sand(2.0);
    let mut run = run(vec![Box::new(Wind::default())], terrain);
    ticks(&mut run, 300);
    unexplained(&run)
}

/// Returns a terrain with droplets, water, thermal erosion and wind.
fn busy() -> Simulation {
    let mut terrain = filled([64, 64], |x, y| 30.0 + 0.3 * (x - 32.0).abs() + 0.15 * y + bumps(x, y), |_| 0.0);
    terrain.edge = Edge::Open;
    terrain.spread_sand(0.5);
    let droplets = droplets::Params { per_tick: 200, ..droplets::Params::default() };
    let processes: Vec<Box<dyn Process>> = vec![
        Box::new(Droplets::with(droplets)),
        Box::new(Water::default()),
        Box::new(Thermal::default()),
        Box::new(Wind::default()),
    ];
    run(processes, terrain)
}

fn together(ticks: RunTicks<'_>) -> f64 {
    let mut run = busy();
    ticks(&mut run, 100);
    unexplained(&run)
}

fn threads(_: RunTicks<'_>) -> f64 {
    let Ok(one) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return f64::NAN };
    let [mut alone, mut all] = [busy().with_pool(Arc::new(one)), busy()];
    for _ in 0..30 {
        alone.tick();
        all.tick();
    }
    let layers = alone.terrain.layers().zip(all.terrain.layers());
    let differ = |one: &Grid, other: &Grid| {
        one.iter().zip(other.iter()).filter(|(one, other)| one.to_bits() != other.to_bits()).count()
    };
    layers.map(|((_, one), (_, other))| differ(one, other)).sum::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_holds_and_rejects_nan_or_deviation() {
        for check in CHECKS {
            let begun = std::time::Instant::now();
            let found = check.run();
            println!(
                "{}: {:e} for {} ± {}, {:?}",
                found.title,
                found.measured,
                found.expected,
                found.within,
                begun.elapsed()
            );
            assert!(found.holds(), "{}: {:e} for {} ± {}", found.title, found.measured, found.expected, found.within);
            assert!(!CheckResult { measured: f64::NAN, ..found }.holds());
            assert!(!CheckResult { measured: found.expected + found.within * 1.01 + 1e-9, ..found }.holds());
        }
    }
}
