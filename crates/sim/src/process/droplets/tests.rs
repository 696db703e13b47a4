//! Tests of the droplet laws: against published results, and the guarantees of the corrected form.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{
    bundle::{Law, Outcome},
    constants::Constants,
    corrected::CorrectedLaw,
    published::{DropletState, DropletStep, MassTransfer},
    published_wave::PublishedOutcome,
    rain::{CELLS_PER_DROPLET, SQUARE},
    streams::{StreamLaw, Streams},
    *,
};
use crate::{
    core::{
        analysis::count_pits,
        border::Border,
        grid::Grid,
        ledger::Ledger,
        terrain::{Edge, Source},
    },
    generate::{TerrainParams, generate},
    params::set,
    process::contract::{gentle, roughness_growth},
    simd::{lanes::Lanes, swarm::BATCH_SIZE},
    simulation::Simulation,
};

const LAWS: [DropletLaw; 3] = [DropletLaw::Streams, DropletLaw::MassTransfer, DropletLaw::Capacity];

fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn reference(name: &str) -> Vec<f32> {
    data(name).chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

fn reference_starts() -> Vec<[f64; 2]> {
    let json: serde_json::Value = serde_json::from_slice(&data("droplets.json")).expect("it is JSON");
    serde_json::from_value(json["positions"].clone()).expect("pairs of numbers")
}

/// Runs the reference droplets one after the other on normalised heights with the reference's height scale of 60.
fn run_reference<R>(count: usize) -> Vec<R>
where
    R: crate::simd::number::Real + PartialOrd + Into<f64> + Sync,
{
    let law = MassTransfer::<R>::new(&Params::default());
    let mut ground: Vec<R> = reference("droplet_h0.f32").iter().map(|&height| R::splat(f64::from(height))).collect();
    for [x, y] in &reference_starts()[..count] {
        let droplet = DropletState::at(R::splat(*x), R::splat(*y), R::splat(1.0));
        published::run_alone(&mut ground, 64, R::splat(60.0), &law, droplet);
    }
    ground
}

#[test]
fn published_droplets_match_reference_in_f64() {
    let worst = run_reference::<f64>(10)
        .iter()
        .zip(reference("droplet_after10.f32"))
        .map(|(ours, theirs)| (ours - f64::from(theirs)).abs())
        .fold(0.0, f64::max);
    assert!(worst <= 2e-6, "{worst}");
}

#[test]
fn published_droplets_match_reference_statistics_in_f32() {
    let start: Vec<f64> = reference("droplet_h0.f32").iter().map(|&height| f64::from(height)).collect();
    let theirs: Vec<f64> = reference("droplet_after200.f32").iter().map(|&height| f64::from(height)).collect();
    let ours: Vec<f64> = run_reference::<f32>(200).iter().map(|&height| f64::from(height)).collect();
    let squares: f64 = ours.iter().zip(&theirs).map(|(a, b)| (a - b) * (a - b)).sum();
    let rms = (squares / ours.len() as f64).sqrt();
    let loss = |after: &[f64]| start.iter().sum::<f64>() - after.iter().sum::<f64>();
    assert!(rms <= 6e-4, "{rms}");
    assert!((loss(&ours) / loss(&theirs) - 1.0).abs() <= 0.05, "{} against {}", loss(&ours), loss(&theirs));
}

/// The published law, which panics for a droplet at or beyond a row.
#[derive(Clone, Copy)]
struct PanickingLaw(MassTransfer<Lanes>, f32);

impl DropletStep<Lanes> for PanickingLaw {
    const AT_ARRIVAL: bool = false;

    fn drive(&self, normal: [Lanes; 3]) -> [Lanes; 2] {
        self.0.drive(normal)
    }

    fn travel(&self, droplet: &mut DropletState<Lanes>, drive: [Lanes; 2]) {
        self.0.travel(droplet, drive);
        assert!(droplet.y.0[0] < self.1, "a droplet came too far");
    }

    fn exchange(&self, droplet: &mut DropletState<Lanes>, left: Lanes, reached: Lanes) -> Lanes {
        self.0.exchange(droplet, left, reached)
    }

    fn cargo(&self, droplet: &DropletState<Lanes>) -> Lanes {
        self.0.cargo(droplet)
    }

    fn remaining(&self, droplet: &DropletState<Lanes>) -> Lanes {
        self.0.remaining(droplet)
    }
}

/// Returns the panic message of `work`, with a time limit: without one, a thread that never ends would keep the test from failing.
fn panic_message(work: impl FnOnce() + Send + 'static) -> String {
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || tell.send(catch_unwind(AssertUnwindSafe(work))));
    let end = hear.recv_timeout(Duration::from_secs(60)).expect("it hangs");
    let panic = end.expect_err("it panics");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).expect("it has a text")
}

/// Runs a published wave to its end and returns its totals.
fn run_wave<S>(terrain: &mut Terrain, highest: f32, law: &S, droplets: Vec<DropletState<f32>>) -> PublishedOutcome
where
    S: DropletStep<Lanes> + Send,
{
    let mut tiles = TileCache::default();
    let mut swarm = published_wave::begin(terrain, droplets, &mut tiles, None);
    while !published_wave::advance(terrain, highest, law, &mut swarm, &mut tiles, None, None) {}
    published_wave::write_back(terrain, &mut tiles);
    swarm.into_outcome()
}

/// Runs droplets of a corrected law to their end and returns their totals.
fn run_all(mut law: impl Law, droplets: Vec<Droplet>) -> Outcome {
    let mut swarm = bundle::begin(law.ground(), droplets, None);
    while !bundle::advance(&mut law, &mut swarm, None, None) {}
    swarm.into_outcome()
}

#[test]
fn panic_in_droplet_law_ends_wave_on_all_threads() {
    for threads in [2, 4] {
        // Droplets of the first rows run concurrently with others.
        for row in [0.0, 110.0] {
            let message = panic_message(move || {
                let pool =
                    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
                let mut terrain = perlin(128, 1);
                let law = PanickingLaw(MassTransfer::new(&Params::default()), row);
                let start =
                    |index: usize| DropletState::at((index % 100) as f32 + 10.5, (index / 8 % 120) as f32 + 4.5, 1.0);
                let droplets = (0..960).map(start).collect();
                pool.install(|| run_wave(&mut terrain, f32::INFINITY, &law, droplets));
            });
            assert_eq!(message, "a droplet came too far", "{threads} threads, row {row}");
        }
    }
}

#[test]
fn fast_published_droplets_are_thread_count_independent() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        let law = MassTransfer::new(&Params { mode: Mode::Published, ..Params::default() });
        let speed = |index: usize| [0.0, 60.0, -60.0, f32::INFINITY, f32::NAN][index % 5];
        let start = |index: usize| DropletState {
            vy: speed(index),
            ..DropletState::at((index % 100) as f32 + 10.5, (index / 8 % 120) as f32 + 4.5, 1.0)
        };
        let mut terrain = perlin(128, 1);
        let droplets = (0..960).map(start).collect();
        let outcome = pool.install(|| run_wave(&mut terrain, 600.0, &law, droplets));
        (terrain, outcome)
    };
    let one = run(1);
    assert!(one.0.ground().iter().all(|height| height.is_finite()) && one.1.moved > 0.0);
    assert!(one == run(4));
}

fn perlin(side: u32, seed: u64) -> Terrain {
    let params = TerrainParams::default();
    let cell_size = params.cell_size * params.width as f32 / side as f32;
    generate(&TerrainParams { width: side, height: side, cell_size, ..params }, seed)
}

/// Runs on one thread: results don't depend on it, and tests run in parallel.
pub(super) fn erode(terrain: &Terrain, params: &Params, ticks: usize, seed: u64) -> Simulation {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads can be started");
    let mut simulation = Simulation::new(terrain.clone(), seed).with_pool(std::sync::Arc::new(pool));
    for slot in simulation.slots.iter_mut().filter(|slot| slot.key() == INFO.key) {
        slot.process = Box::new(Droplets::with(params.clone()));
        slot.enabled = true;
    }
    (0..ticks).for_each(|_| simulation.tick());
    assert_eq!(simulation.fault(), None);
    simulation
}

fn eroded(simulation: &Simulation) -> f64 {
    simulation.ledger.solid.rows[INFO.key].eroded
}

fn border(ground: &Grid) -> Border {
    Border { width: ground.width(), height: ground.height(), edge: Edge::Open }
}

fn pits(ground: &Grid) -> usize {
    count_pits(ground, border(ground))[0]
}

/// Returns the height of every inner cell above the mean of its eight neighbours.
fn above_neighbours(ground: &Grid) -> Vec<f32> {
    let heights =
        |cell: usize| -> Vec<f32> { border(ground).neighbours(cell).map(|(_, other)| ground[other]).collect() };
    let around = (0..ground.len()).map(|cell| (ground[cell], heights(cell)));
    let inner = around.filter(|(_, heights)| heights.len() == 8);
    inner.map(|(here, heights)| here - heights.iter().sum::<f32>() / 8.0).collect()
}

#[test]
fn published_waves_match_sequential_droplets() {
    let params = Params { mode: Mode::Published, law: DropletLaw::MassTransfer, ..Params::default() };
    let law = MassTransfer::<f32>::new(&params);
    for side in [256, 1024] {
        let terrain = perlin(side as u32, 5);
        let waves = erode(&terrain, &params, 20, 1);
        let (mut ground, mut moved, mut stream) = (terrain.ground(), 0.0, RandomStream::new(99, "alone", 0));
        for _ in 0..20_000 {
            let mut place = || stream.below(side) as f32 + 0.5;
            let droplet = DropletState::at(place(), place(), 1.0);
            moved += published::run_alone(&mut ground, side, 1.0 / terrain.cell_size, &law, droplet).1.moved;
        }
        let ratio = waves.ledger.solid.rows[INFO.key].moved / (moved * terrain.cell_area());
        assert!((ratio - 1.0).abs() <= 0.05, "{side}: gross erosion differs by a factor of {ratio}");
        let ratio = pits(&waves.terrain.ground()) as f64 / pits(&ground) as f64;
        assert!((ratio - 1.0).abs() <= 0.05, "{side}: the number of pits differs by a factor of {ratio}");
    }
}

#[test]
fn corrected_waves_match_sequential_droplets() {
    for (law, side, seeds) in [
        (DropletLaw::Streams, 256, 5..8),
        (DropletLaw::Streams, 1024, 5..6),
        (DropletLaw::MassTransfer, 256, 5..8),
        (DropletLaw::MassTransfer, 1024, 5..6),
    ] {
        let params = Params { law, ..Params::default() };
        // Erosion and pits, of waves and one by one.
        let (mut together, mut single) = ((0.0, 0), (0.0, 0));
        for seed in seeds {
            let terrain = perlin(side, seed);
            let waves = erode(&terrain, &params, 20, seed);
            together = (together.0 + eroded(&waves), together.1 + pits(&waves.terrain.ground()));
            let (eroded, ground) = erode_sequentially(terrain, &params, seed);
            single = (single.0 + eroded, single.1 + pits(&ground));
        }
        let ratio = together.0 / single.0;
        assert!((ratio - 1.0).abs() <= 0.05, "{law:?} {side}: gross erosion differs by a factor of {ratio}");
        let ratio = together.1 as f64 / single.1 as f64;
        let message = format!("{law:?} {side}: the pits differ by a factor of {ratio}: {together:?} {single:?}");
        assert!((ratio - 1.0).abs() <= 0.05, "{message}");
    }
}

/// Lets banks fail. Returns the volume of the slides, in metres times cells.
fn collapse_undercut_banks(ground: &mut DropletGround<'_>, droplets: &mut Droplets, params: &Params) -> f64 {
    let undercut = &mut droplets.undercut;
    undercut.clear(ground.tiling());
    ground.take_undercut(undercut);
    if params.law != DropletLaw::Streams {
        undercut.grow();
    }
    banks::collapse_banks(ground, undercut, params.bank_slopes()).volume
}

/// Runs 20 000 droplets of a corrected law one after the other. Returns the erosion, in cubic metres, and the ground.
fn erode_sequentially(mut terrain: Terrain, params: &Params, seed: u64) -> (f64, Grid) {
    let (mut eroded, mut stream, side) = (0.0, RandomStream::new(99, "alone", seed), terrain.width() as f32);
    let mut droplets = Droplets::with(params.clone());
    let contributing_area = (terrain.cell_area() * terrain.bedrock.len() as f64 / 1000.0) as f32;
    for _ in 0..20 {
        let (mut copies, highest) = (Copies::default(), Peak::default().height(&terrain));
        droplets.discharge.begin(&terrain, streams::update_rate(params, &terrain));
        copies.begin(&terrain);
        let mut ground = DropletGround::new(&terrain, &mut copies, highest, params.mode);
        let wave = terrain.bedrock.len() / CELLS_PER_DROPLET;
        for number in 1..=1000 {
            let droplet = vec![Droplet::at(side * stream.uniform(), side * stream.uniform(), 1.0)];
            let outcome = if params.law == DropletLaw::Streams {
                let laws = [(); 2].map(|()| StreamLaw::new(params, &terrain, contributing_area));
                run_all(Streams::new(&mut ground, &mut droplets.discharge, laws, None), droplet)
            } else {
                let laws = [(); 2].map(|()| Constants::new(params, &terrain));
                run_all(CorrectedLaw::new(&mut ground, laws, None), droplet)
            };
            eroded += outcome.eroded * terrain.cell_area();
            settling::settle(&mut ground, &outcome.ended, highest);
            // Banks fail as often as between waves.
            if number % wave == 0 || number == 1000 {
                eroded += collapse_undercut_banks(&mut ground, &mut droplets, params) * terrain.cell_area();
                copies.write_back(&mut terrain);
                copies.begin(&terrain);
                ground = DropletGround::new(&terrain, &mut copies, highest, params.mode);
            }
        }
        droplets.discharge.renew(contributing_area);
    }
    (eroded, terrain.ground())
}

#[test]
fn round_hill_erodes_isotropically() {
    for law in LAWS {
        let params = Params { law, ..Params::default() };
        let (mut x, mut y, mut total) = (0.0, 0.0, 0.0);
        for seed in 1..=3 {
            let height = |x: usize, y: usize| {
                let (dx, dy) = (x as f32 - 64.0, y as f32 - 64.0);
                60.0 * (-(dx * dx + dy * dy) / (2.0 * 22.0 * 22.0)).exp()
            };
            let terrain = Terrain::bare(Grid::from_fn(129, 129, height), 1.0, Edge::Open);
            let after = erode(&terrain, &params, 20, seed).terrain.ground();
            for (index, (now, start)) in after.iter().zip(terrain.start.iter()).enumerate() {
                let lost = f64::from((start - now).max(0.0));
                x += lost * (index % 129) as f64;
                y += lost * (index / 129) as f64;
                total += lost;
            }
        }
        let (x, y) = (x / total - 64.0, y / total - 64.0);
        assert!(x.hypot(y) <= 0.4, "{law:?}: the centre of what was eroded lies off by {x}, {y}");
    }
}

#[test]
fn droplet_erosion_is_statistically_rotation_invariant() {
    let slopes = |ground: &Grid| {
        let (mut along_x, mut along_y) = (0.0, 0.0);
        for y in 1..ground.height() - 1 {
            for x in 1..ground.width() - 1 {
                along_x += f64::from(ground.at(x + 1, y) - ground.at(x - 1, y)).powi(2);
                along_y += f64::from(ground.at(x, y + 1) - ground.at(x, y - 1)).powi(2);
            }
        }
        (along_x.sqrt(), along_y.sqrt())
    };
    let terrain = perlin(128, 2);
    let turned = Grid::from_fn(128, 128, |x, y| terrain.bedrock.at(y, 127 - x));
    let turned = Terrain::bare(turned, terrain.cell_size, terrain.edge);
    let mean = |terrain: &Terrain| {
        let runs = [1, 2, 3].map(|seed| slopes(&erode(terrain, &Params::default(), 20, seed).terrain.ground()));
        runs.iter().fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1))
    };
    let (straight, turned) = (mean(&terrain), mean(&turned));
    assert!((straight.0 / turned.1 - 1.0).abs() <= 0.03, "{straight:?} {turned:?}");
    assert!((straight.1 / turned.0 - 1.0).abs() <= 0.03, "{straight:?} {turned:?}");
}

#[test]
fn droplet_erosion_adds_no_pits_or_spikes() {
    for law in LAWS {
        let terrain = perlin(256, 7);
        let params = Params { law, ..Params::default() };
        let after = erode(&terrain, &params, 200, 7).terrain.ground();
        let start = terrain.ground();
        assert!(pits(&after) <= pits(&start), "{law:?}: {} pits", pits(&after));
        // Height of a pyramid with sides at the bank angle above the mean of its neighbours.
        let pyramid = 0.5 * (1.0 + std::f32::consts::SQRT_2) * terrain.cell_size * params.bank_angle.to_radians().tan();
        let new = above_neighbours(&after).into_iter().zip(above_neighbours(&start));
        let new = new.filter(|(now, then)| now.abs() > then.abs().max(pyramid));
        let (up, down): (Vec<_>, Vec<_>) = new.partition(|(now, _)| *now > 0.0);
        assert!(up.len() + down.len() <= 6, "{law:?}: {up:?} {down:?}");
    }
}

#[test]
fn droplet_erosion_is_independent_of_time_step() {
    let terrain = perlin(256, 4);
    let law = DropletLaw::MassTransfer;
    let gross = |dt: f32| eroded(&erode(&terrain, &Params { dt, law, ..Params::default() }, 10, 1));
    let usual = gross(Params::default().dt);
    for factor in [0.5, 2.0] {
        let ratio = gross(Params::default().dt * factor) / usual;
        assert!((ratio - 1.0).abs() <= 0.1, "a time step {factor} times as long erodes {ratio} times as much");
    }
}

#[test]
fn droplet_erosion_is_independent_of_grid_resolution() {
    for law in LAWS {
        let coarse = perlin(256, 4);
        let fine = Terrain::bare(coarse.bedrock.resample(512, 512), 0.5 * coarse.cell_size, coarse.edge);
        let params = Params { law, ..Params::default() };
        // A droplet is the rain of one cell, so the finer grid needs four times as many.
        let finer = Params { per_tick: 4 * params.per_tick, ..params.clone() };
        let lowered = |start: &Terrain, params: &Params| {
            let after = erode(start, params, 20, 1).terrain.ground();
            let lost = start.bedrock.iter().zip(after.iter()).map(|(then, now)| f64::from((then - now).max(0.0)));
            lost.sum::<f64>() * start.cell_area()
        };
        let ratio = lowered(&fine, &finer) / lowered(&coarse, &params);
        assert!((ratio - 1.0).abs() <= 0.15, "{law:?}: the finer grid loses {ratio} times as much");
    }
}

#[test]
fn soft_ground_erodes_faster_and_sand_shields_rock() {
    let mut terrain = perlin(64, 1);
    let with_softness = |terrain: &Terrain, softness: f32| {
        let mut terrain = terrain.clone();
        terrain.softness.fill(softness);
        erode(&terrain, &Params::default(), 1, 1)
    };
    let (hard, soft) = (with_softness(&terrain, 0.1), with_softness(&terrain, 1.0));
    assert!(eroded(&soft) > 2.0 * eroded(&hard), "{} {}", eroded(&soft), eroded(&hard));
    terrain.spread_sand(1000.0);
    let sandy = erode(&terrain, &Params::default(), 3, 1);
    assert_eq!(sandy.terrain.bedrock, terrain.bedrock, "rock was cut under deep sand");
    assert!(sandy.terrain.sand != terrain.sand);
}

/// Returns, for the droplets of a tick, the fraction that starts in each range of columns, their number, and their contributing
/// area.
fn begin(terrain: &Terrain, params: &Params, columns: &[[f32; 2]]) -> (Vec<f64>, usize, f32) {
    let DropletRain { starts, contributing_area } =
        DropletRain::new(terrain, 0, params, None, &Discharge::default(), &mut RandomStream::new(1, "rain", 1));
    let share = |[from, to]: &[f32; 2]| {
        starts.iter().filter(|DropletStart { place: [x, _], .. }| x >= from && x < to).count() as f64
    };
    (
        columns.iter().map(|columns| share(columns) / starts.len().max(1) as f64).collect(),
        starts.len(),
        contributing_area,
    )
}

#[test]
fn droplets_spawn_in_proportion_to_rain_map() {
    let mut terrain = perlin(64, 1);
    terrain.rain = Some(Grid::from_fn(64, 64, |x, _| {
        if x < 16 {
            1.0
        } else if x < 32 {
            3.0
        } else {
            0.0
        }
    }));
    let params = Params { per_tick: 20_000, ..Params::default() };
    let (shares, count, contributing_area) = begin(&terrain, &params, &[[0.0, 16.0], [16.0, 32.0]]);
    assert!((shares[0] - 0.25).abs() < 0.02 && (shares[1] - 0.75).abs() < 0.02 && count == 20_000, "{shares:?}");
    // On average, this map has as much rain as a terrain without a rain map.
    let whole = terrain.cell_area() * 64.0 * 64.0;
    assert!((f64::from(contributing_area) * 2e4 / whole - 1.0).abs() < 1e-5);
    terrain.rain = Some(Grid::filled(64, 64, 0.0));
    assert_eq!(begin(&terrain, &params, &[]).1, 0, "where there is no rain and no spring, nothing begins");
}

#[test]
fn springs_spawn_droplets_in_proportion_to_discharge() {
    let mut terrain = perlin(64, 1);
    let whole = terrain.cell_area() * 64.0 * 64.0;
    // A spring in column 44 delivers as much as heavy rain on the whole map; a drain in column 12 delivers nothing.
    let rate = (whole * 0.01 / 3600.0) as f32;
    let source = |x: f32, rate: f32| Source { place: [x, 0.5], radius: 0.0, rate, ticks: None };
    terrain.sources = vec![source(0.6875, rate), source(0.2, -rate)];
    let columns = [[44.0, 45.0], [12.0, 13.0]];
    let params = |rain_rate| Params { per_tick: 20_000, rain_rate, springs: true, ..Params::default() };
    for (rain_rate, wanted) in [(10.0, 0.5), (30.0, 0.25), (0.0, 1.0)] {
        let (shares, count, contributing_area) = begin(&terrain, &params(rain_rate), &columns);
        let rained = (1.0 - wanted) / 64.0;
        assert!((shares[0] - wanted - rained).abs() < 0.02 && (shares[1] - rained).abs() < 0.01, "{shares:?}");
        let all = whole * (1.0 + f64::from(rain_rate) / 10.0);
        assert!(
            count == 20_000 && (f64::from(contributing_area) * 2e4 / all - 1.0).abs() < 1e-4,
            "{contributing_area} m²"
        );
    }
    // At half the rain rate, a tick takes twice the time.
    let seconds = |rain_rate| {
        erode(&terrain, &Params { springs: false, ..params(rain_rate) }, 1, 1).slots[0].process.counts().seconds
    };
    assert!((seconds(5.0) / seconds(10.0) - 2.0).abs() < 1e-6 && seconds(0.0) == 0.0);
    // The published mode has no springs, nor does a run with the switch off.
    for params in [Params { mode: Mode::Published, ..params(0.0) }, Params { springs: false, ..params(10.0) }] {
        assert!(begin(&terrain, &params, &columns).0[0] < 0.05);
    }
}

#[test]
fn ended_droplet_is_unaffected_by_bundle_companions() {
    // A bowl in the west traps droplets early; in the east they run far. Companions in the same bundle must not change where the
    // trapped droplets deposit their load.
    let mut terrain = perlin(64, 1);
    terrain.bedrock = Grid::from_fn(64, 64, |x, y| {
        let (dx, dy) = (x as f32 - 12.0, y as f32 - 32.0);
        if x < 24 { 40.0 + (dx * dx + dy * dy).sqrt() * 3.0 } else { 140.0 - x as f32 }
    });
    terrain.start = terrain.ground();
    let caught = |companions: usize| {
        let mut droplets = vec![Droplet::at(12.5, 20.5, 1.0)];
        droplets.extend((0..companions).map(|index| Droplet::at(30.5 + index as f32, 20.2, 1.0)));
        let mut copies = Copies::default();
        copies.begin(&terrain);
        let params = Params { law: DropletLaw::MassTransfer, ..Params::default() };
        let mut ground = DropletGround::new(&terrain, &mut copies, f32::INFINITY, params.mode);
        let laws = [(); 2].map(|()| Constants::new(&params, &terrain));
        let ended = run_all(CorrectedLaw::new(&mut ground, laws, None), droplets).ended;
        let caught: Vec<_> =
            ended.iter().filter(|droplet| droplet.x < 24.0).map(|droplet| (droplet.x, droplet.y)).collect();
        assert_eq!(caught.len(), 1);
        caught
    };
    let alone = caught(0);
    assert!((alone[0].0 - 12.5).abs() < 4.0 && (alone[0].1 - 32.5).abs() < 4.0, "{alone:?}");
    assert_eq!(alone, caught(7));
}

#[test]
fn wave_cloned_midway_continues_and_keeps_its_law() {
    for (mode, law) in [Mode::Corrected, Mode::Published].into_iter().flat_map(|mode| LAWS.map(|law| (mode, law))) {
        let params = Params { mode, law, per_tick: 512, ..Params::default() };
        let mut run = erode(&perlin(256, 3), &params, 1, 5);
        run.watched = true;
        let still = run.terrain.ground();
        run.begin_tick();
        // The rain, and some of its droplets.
        let late = Some(Instant::now());
        (0..2).for_each(|_| assert!(!run.advance_until(0, late), "{mode:?} {law:?}"));
        assert!(run.slots[0].process.counts().particles == 1024 && run.terrain.ground() == still, "{mode:?} {law:?}");
        let (mut copy, mut changed) = (run.clone(), run.clone());
        let other = if law == DropletLaw::Streams { "mass-transfer" } else { "streams" };
        set(&mut changed.groups_mut(), "droplets.law", other).unwrap_or_else(|error| panic!("{error}"));
        // The first continues block by block, the others without a pause.
        let ends = [(&mut run, late), (&mut copy, None), (&mut changed, None)].map(|(run, until)| {
            while !run.advance_until(0, until) {}
            assert_eq!(run.fault(), None);
            (run.terrain.ground(), run.ledger.clone(), run.slots[0].process.tracks().to_vec())
        });
        assert!(ends[0].0 != still && !ends[0].2.is_empty(), "{mode:?} {law:?}");
        assert!(ends[0] == ends[1] && ends[0] == ends[2], "{mode:?} {law:?}");
    }
}

#[test]
fn recording_tracks_does_not_affect_droplets() {
    for (mode, law) in [Mode::Corrected, Mode::Published].into_iter().flat_map(|mode| LAWS.map(|law| (mode, law))) {
        let run = |tracks| {
            let params = Params { mode, law, tracks, per_tick: 300, ..Params::default() };
            let mut simulation = erode(&perlin(128, 3), &params, 0, 5);
            simulation.watched = true;
            simulation.tick();
            simulation
        };
        let (watched, unwatched) = (run(100), run(0));
        assert!(watched.terrain == unwatched.terrain, "{mode:?} {law:?}: watching changed the ground");
        assert!(unwatched.slots[0].process.tracks().is_empty());
        let tracks = watched.slots[0].process.tracks();
        assert!(tracks.len() > 60, "{mode:?} {law:?}: {} tracks of 100", tracks.len());
        let longest_step = if mode == Mode::Corrected || law == DropletLaw::Streams { 1.5 } else { 128.0 };
        for pair in tracks.iter().flat_map(|track| track.windows(2)) {
            let step = (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]);
            assert!(step <= longest_step, "{mode:?} {law:?}: a step of {step} cells");
        }
    }
}

#[test]
fn followed_droplet_matches_simulated_trajectory() {
    for (mode, law) in [Mode::Corrected, Mode::Published].into_iter().flat_map(|mode| LAWS.map(|law| (mode, law))) {
        let params = Params { mode, law, tracks: 1, per_tick: 1, ..Params::default() };
        let land = erode(&perlin(128, 3), &Params { per_tick: 200, ..params.clone() }, 4, 5).terrain;
        let mut process = Droplets::with(params);
        let (seed, tick) = (5, 9);
        let (mut terrain, mut ledger) = (land.clone(), Ledger::default());
        let mut context = Context {
            terrain: &mut terrain,
            ledger: &mut ledger,
            seed,
            tick,
            watched: true,
            stepwise: false,
            water_flows: false,
            elapsed: &mut None,
            deadline: None,
        };
        let fresh = process.clone();
        process.step(Stage::Spawning as usize, &mut context);
        let place = process.waiting[0].place;
        process.step(Stage::Descent as usize, &mut context);
        let track = process.tracks.first().cloned().unwrap_or_default();
        let trajectory = fresh.follow_one(&land, (seed, tick), place);
        let places: Vec<[f32; 2]> = trajectory.iter().map(|moment| moment.place).collect();
        assert_eq!(places[..track.len()], track, "{mode:?} {law:?}");
        assert!(trajectory.len() > 1, "{mode:?} {law:?}: {} steps", trajectory.len());
        assert!(
            trajectory.iter().all(|moment| moment.water.is_some_and(|water| water > 0.0) && moment.load.is_finite())
        );
        assert!(
            mode == Mode::Published && law != DropletLaw::Streams
                || trajectory.iter().any(|moment| moment.capacity > Some(0.0))
        );
    }
}

/// Terrains with sheer rises: a column, a wall, a small tower.
fn cliffs(cell_size: f32, edge: Edge) -> [Terrain; 3] {
    let round = |x: usize, y: usize| if (x as f32 - 24.0).hypot(y as f32 - 24.0) < 9.0 { 600.0 } else { 0.0 };
    let wall = |x: usize, y: usize| if x < 24 { 600.0 } else { (y % 3) as f32 };
    let tower = |x: usize, y: usize| if x.abs_diff(24) < 2 && y.abs_diff(24) < 2 { 600.0 } else { 0.1 * x as f32 };
    [Grid::from_fn(48, 48, round), Grid::from_fn(48, 48, wall), Grid::from_fn(48, 48, tower)]
        .map(|ground| Terrain::bare(ground, cell_size, edge))
}

#[test]
fn droplet_deposits_never_exceed_highest_ground() {
    for law in LAWS {
        for (cell_size, edge) in [(1.0, Edge::Wall), (30.0, Edge::Open), (645.0, Edge::Wrap)] {
            for terrain in cliffs(cell_size, edge) {
                for (rate, capacity) in [(0.1, 1.0), (1.0, 10.0)] {
                    let params = Params {
                        law,
                        deposition_rate: rate,
                        exchange: rate,
                        capacity,
                        entrainment: 10.0 * capacity,
                        friction: 0.01,
                        per_tick: 500,
                        ..Params::default()
                    };
                    let run = erode(&terrain, &params, 20, 1);
                    let highest = run.terrain.ground().min_max().1;
                    // Sums are rounded in every wave.
                    assert!(highest <= 600.0 * (1.0 + 5e-5), "{law:?} {cell_size} m {edge:?}: {highest} m");
                    let solid = &run.ledger.solid;
                    let (moved, left) = (solid.sum(|row| row.moved), solid.sum(|row| row.outflow));
                    let made = run.terrain.solid_volume() + left - terrain.solid_volume();
                    assert!(made.abs() <= 1e-5 * moved, "{law:?} {cell_size} m {edge:?}: {made} of {moved}");
                }
            }
        }
    }
}

#[test]
fn published_time_step_is_clamped_to_stable_limit() {
    for (dt, deposition_rate, friction) in [(5.0, 0.1, 0.5), (5.0, 0.3, 0.5), (5.0, 0.1, 0.3)] {
        let law = DropletLaw::MassTransfer;
        let params = Params { mode: Mode::Published, law, dt, deposition_rate, friction, ..Params::default() };
        let run = erode(&perlin(128, 1), &params, 20, 1);
        assert_eq!((run.fault(), run.ticks()), (None, 20), "{dt} {deposition_rate} {friction}");
        let (lowest, highest) = run.terrain.ground().min_max();
        assert!(lowest > -600.0 && highest <= 600.0, "{lowest} to {highest} m under {dt} {deposition_rate} {friction}");
    }
}

/// Where droplets erode more than their fall, holes grow without bound: the run may stop, but builds no tower, and a run that
/// continues holds no NaN.
#[test]
fn unstable_published_law_yields_no_nan_or_spikes() {
    let start = perlin(128, 1);
    let highest = start.ground().min_max().1;
    for (dt, deposition_rate, density) in [(3.95, 1.0, 1.0), (1.2, 1.0, 0.1), (1.2, 0.5, 1.0), (5.0, 0.1, 0.1)] {
        let (mode, law) = (Mode::Published, DropletLaw::MassTransfer);
        let params = Params { mode, law, dt, deposition_rate, density, friction: 0.001, ..Params::default() };
        let mut run = erode(&start, &params, 0, 1);
        while run.ticks() < 5 && run.fault().is_none() {
            let (low, high) = run.terrain.ground().min_max();
            assert!(low.is_finite() && high <= highest, "{dt} {deposition_rate} {density}: {low} to {high} m");
            run.tick();
        }
    }
}

#[test]
fn waves_on_large_maps_are_spatially_grouped() {
    let mut stream = RandomStream::new(3, "waves", 0);
    let mut drops = |side: usize, count: usize| -> Vec<DropletStart> {
        let place =
            |_| DropletStart { place: [stream.uniform() * side as f32, stream.uniform() * side as f32], load: 0.0 };
        (0..count).map(place).collect()
    };
    // If all droplets fit into one wave, they stay in the order of the draw.
    let small = drops(256, 1000);
    let mut ordered = small.clone();
    assert_eq!((in_waves(&mut ordered, 256 * 256, false), ordered), (256 * 256 / CELLS_PER_DROPLET, small));
    let side = 1024;
    let large = drops(side, 2 * side * side / CELLS_PER_DROPLET);
    let mut ordered = large.clone();
    let wave = in_waves(&mut ordered, side * side, false);
    assert!(wave <= BATCH_SIZE && ordered != large);
    // Published waves use the same order of the parts.
    let mut published = large.clone();
    let whole = in_waves(&mut published, side * side, true);
    assert_eq!((whole, published), (side * side / CELLS_PER_DROPLET, ordered.clone()));
    // Each part has as many squares as its droplets would cover under uniform rain, and a few shared ones.
    let most = wave * CELLS_PER_DROPLET / (SQUARE * SQUARE) + 8;
    for starts in ordered.chunks(wave) {
        let mut squares: Vec<[usize; 2]> =
            starts.iter().map(|start| start.place.map(|place| place as usize / SQUARE)).collect();
        squares.sort_unstable();
        squares.dedup();
        assert!(squares.len() <= most, "{} squares", squares.len());
    }
    let sorted = |starts: Vec<DropletStart>| {
        let mut places: Vec<[f32; 2]> = starts.iter().map(|start| start.place).collect();
        places.sort_by(|one, other| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
        places
    };
    assert_eq!(sorted(ordered), sorted(large));
}

#[test]
fn published_droplets_are_unstable_above_stability_limit() {
    let terrain = gentle();
    let params = Params { mode: Mode::Published, law: DropletLaw::MassTransfer, ..Params::default() };
    let droplets = Droplets::with(params);
    let dt = 4.0 * droplets.largest_stable_dt(&terrain);
    let grown = roughness_growth(Box::new(droplets), &terrain, dt);
    assert!(grown >= 1.2, "steps of {dt} make it {grown} times as rough");
}
