//! Trial of a graphics card: whether it computes correctly, and whether it is faster than the processor.

use std::time::Instant;

use thalweg_sim::{
    core::terrain::{Edge, Layer, Source, Terrain},
    generate::{TerrainParams, generate},
    params::{Value, write},
    simulation::Simulation,
};

use crate::{Device, DeviceError, GpuSimulation};

/// Cells along each side of the terrain, and ticks, of the self-test.
const SIDE: u32 = 64;
const TICKS: u32 = 64;
/// Largest difference from the processor, as a fraction of the change: ten times what rounding causes.
const TOLERANCE: f64 = 1e-3;
/// Longest side of the terrain on which both are timed: the time per cell hardly depends on the size above.
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
        if !(found <= TOLERANCE * change) {
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

/// Seconds that a tick of a simulation takes on the processor and on the card, at its size, but with at most 1024 cells per side.
///
/// # Errors
/// The simulation cannot run on the card, or the connection to the card is lost.
pub fn time_tick(device: &Device, simulation: &Simulation) -> Result<[f64; 2], DeviceError> {
    let terrain = &simulation.terrain;
    let [width, height] = [terrain.width(), terrain.height()].map(|side| side.min(LONGEST_SIDE));
    let part = terrain.map(|layer| layer.resample(width, height));
    let mut processor = simulation.clone();
    processor.restart(part, simulation.seed());
    let mut card = processor.clone();
    let mut run = GpuSimulation::new(device, &mut card)?;
    // The first tick compiles the kernels and fills the caches.
    processor.tick();
    run.run(1)?;
    let started = Instant::now();
    const TIMED: u32 = 4;
    (0..TIMED).for_each(|_| processor.tick());
    let on_processor = started.elapsed().as_secs_f64();
    let started = Instant::now();
    run.run(TIMED)?;
    Ok([on_processor, started.elapsed().as_secs_f64()].map(|seconds| seconds / f64::from(TIMED)))
}
