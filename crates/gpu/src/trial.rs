//! Trial of a graphics card: whether it computes correctly, and whether it is faster than the processor.

use std::time::Instant;

use thalweg_sim::{
    core::terrain::{Edge, Layer, Source, Terrain},
    generate::{TerrainParams, generate},
    params::{Value, write},
    simulation::{
        Simulation,
        check::{Check, CheckResult},
    },
};

use crate::{Device, DeviceError, GpuSimulation, Runner};

/// Cells along each side of the terrain, and ticks, of the self-test.
const SIDE: u32 = 64;
const TICKS: u32 = 64;
/// Largest difference from the processor, as a fraction of the change: ten times what rounding causes.
const TOLERANCE: f64 = 1e-3;
/// Longest side of the terrain on which ticks are timed: the time per cell hardly depends on the size above.
const LONGEST_SIDE: usize = 1024;

/// Returns a small terrain on which every kernel has something to do.
fn trial_simulation() -> Simulation {
    let params = TerrainParams {
        width: SIDE,
        height: SIDE,
        cell_size: 4.0,
        sand: 1.0,
        edge: Edge::Open,
        ..TerrainParams::default()
    };
    let mut terrain = generate(&params, 1);
    terrain.sources.push(Source { place: [0.4, 0.3], radius: 10.0, rate: 20.0, ticks: Some((3, 30)) });
    let mut simulation = Simulation::new(terrain, 1);
    for slot in simulation.slots.iter_mut().filter(|slot| ["water", "thermal"].contains(&slot.key())) {
        slot.enabled = true;
    }
    if let Some(water) = simulation.slot_mut("water") {
        write(water.process.settings_mut()[0], "rain_rate", &Value::Number(0.002));
    }
    simulation
}

/// Returns the root mean square difference of a layer in two terrains.
fn difference(one: &Terrain, other: &Terrain, layer: Layer) -> f64 {
    let [one, other] = [one, other].map(|terrain| terrain.layer_or_empty(layer));
    let squares: f64 = one.iter().zip(other.iter()).map(|(one, other)| f64::from(one - other).powi(2)).sum();
    (squares / one.len() as f64).sqrt()
}

/// Runs a small terrain on the card and on the processor.
///
/// # Errors
/// The results differ by more than rounding, or the connection to the card is lost.
pub fn self_test(device: &Device) -> Result<(), DeviceError> {
    let start = trial_simulation();
    let [mut processor, mut card] = [start.clone(), start.clone()];
    (0..TICKS).for_each(|_| processor.tick());
    let mut run = GpuSimulation::new(device, &mut card)?;
    run.run(TICKS)?;
    run.download(&mut card)?;
    for layer in [Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Suspended] {
        let [found, change] = [&card, &start].map(|other| difference(&processor.terrain, &other.terrain, layer));
        let agrees = found <= TOLERANCE * change;
        if !agrees {
            let wrong = format!(
                "{} fails the self-test: its {} differs from that of the processor by {:.2} % of the change",
                device.name(),
                layer.key(),
                100.0 * found / change,
            );
            return Err(DeviceError(wrong));
        }
    }
    Ok(())
}

/// Returns the seconds that a tick with the processes of a simulation takes on the card, on a terrain of this size.
///
/// # Errors
/// The simulation cannot run on the card, or the connection to the card is lost.
pub fn time_card_tick(device: &Device, settings: &Simulation, size: [usize; 2]) -> Result<f64, DeviceError> {
    const TICKS: u32 = 4;
    let [width, height] = size.map(|side| side.min(LONGEST_SIDE) as u32);
    let mut simulation = Simulation::new(generate(&TerrainParams { width, height, ..TerrainParams::default() }, 1), 1);
    simulation.copy_settings_from(settings);
    let mut run = GpuSimulation::new(device, &mut simulation)?;
    // The first tick compiles the kernels.
    run.run(1)?;
    let started = Instant::now();
    run.run(TICKS)?;
    let part = f64::from(width) * f64::from(height) / (size[0] as f64 * size[1] as f64);
    Ok(started.elapsed().as_secs_f64() / (f64::from(TICKS) * part))
}

/// Runs a check on the card; `None` if its processes have no kernels there.
///
/// # Errors
/// The connection to the card is lost.
pub fn run_check(device: &Device, check: &Check) -> Result<Option<CheckResult>, DeviceError> {
    let (mut runner, mut ran) = (None, None);
    let result = check.run_with(&mut |simulation, ticks| {
        let runner = runner.get_or_insert_with(|| Runner::on_card(device, simulation).ok());
        if let (Some(runner), None | Some(Ok(()))) = (runner, &ran) {
            ran = Some(runner.run(simulation, ticks));
        }
    });
    ran.transpose().map(|ran| ran.map(|()| result))
}
