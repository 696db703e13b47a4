//! Time of each kernel.

use std::time::Instant;

use thalweg_sim::simulation::Simulation;

use crate::{Device, DeviceError, GpuSimulation};

/// Shortest time of a measurement, in seconds.
const SHORTEST: f64 = 0.05;
/// Measurements whose median is returned.
const REPETITIONS: usize = 5;

/// Time of a kernel or of another use of the card.
#[derive(Clone, Debug)]
pub struct KernelTime {
    /// Name of the kernel.
    pub name: String,
    /// Nanoseconds per cell.
    pub ns: f64,
    /// Bytes that it reads and writes per cell, each once.
    pub bytes: f64,
}

/// Measures a copy, each kernel of a simulation, a tick, an upload and a download on a graphics card, in this order.
///
/// # Errors
/// The simulation cannot run on the card, or the connection to the card is lost.
pub fn bench(device: &Device, simulation: &mut Simulation) -> Result<Vec<KernelTime>, DeviceError> {
    let cells = simulation.terrain.bedrock.len() as f64;
    let mut card = GpuSimulation::new(device, simulation)?;
    // Compiles the kernels, and lets the water flow.
    card.run(4)?;
    let mut times = Vec::new();
    let mut add = |name: &str, bytes: f64, run: &mut dyn FnMut(u32) -> Result<(), DeviceError>| {
        times.push(KernelTime { name: name.to_owned(), ns: median(run)? * 1e9 / cells, bytes });
        Ok::<_, DeviceError>(())
    };
    add("copy", 8.0, &mut |times| card.copy_layers(times))?;
    for (index, (name, bytes)) in card.kernel_sizes().into_iter().enumerate() {
        add(name, bytes, &mut |times| card.repeat_kernel(index, times))?;
    }
    card.reset(simulation)?;
    add("tick", card.kernel_sizes().iter().map(|(_, bytes)| bytes).sum(), &mut |times| card.run(times))?;
    add("upload", 24.0, &mut |times| (0..times).try_for_each(|_| card.reset(simulation)))?;
    add("download", 16.0, &mut |times| {
        (0..times).try_for_each(|_| {
            card.run(1)?;
            card.download(simulation)
        })
    })?;
    let [.., tick, _, download] = &mut times[..] else { unreachable!("three were added") };
    download.ns = (download.ns - tick.ns).max(0.0);
    Ok(times)
}

/// Returns the median time of a run, in seconds.
fn median(run: &mut dyn FnMut(u32) -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    let mut time = |times: u32| {
        let started = Instant::now();
        run(times)?;
        Ok(started.elapsed().as_secs_f64())
    };
    let mut times = 1;
    while time(times)? < SHORTEST && times < 1 << 16 {
        times *= 2;
    }
    let mut runs = (0..REPETITIONS).map(|_| time(times)).collect::<Result<Vec<f64>, DeviceError>>()?;
    runs.sort_by(f64::total_cmp);
    Ok(runs[REPETITIONS / 2] / f64::from(times))
}
