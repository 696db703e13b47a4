//! Device that runs the ticks: `--device`.

#[cfg(feature = "gpu")]
use rayon::prelude::*;

use super::{Failure, setup::tick};
use thalweg_scene::{model::session::Session, settings::ComputeDevice};
#[cfg(feature = "gpu")]
use thalweg_sim::simulation::check::CHECKS;
use thalweg_sim::simulation::check::CheckResult;

#[cfg(feature = "gpu")]
use super::print_message;
#[cfg(feature = "gpu")]
use thalweg_gpu::{Device, DeviceError, Runner, run_check};

/// Ticks between two updates of the progress bar while nothing is read back from a graphics card.
#[cfg(feature = "gpu")]
const BATCH: u64 = 16;

/// Device that runs the ticks of sessions: the processor by default.
#[derive(Default)]
pub(super) struct Computer {
    /// One per session; none on the processor.
    #[cfg(feature = "gpu")]
    runners: Vec<Runner>,
}

/// Parses the value of `--device`.
pub(super) fn parse_device(text: &str) -> Result<ComputeDevice, String> {
    match text {
        "auto" => Ok(ComputeDevice::Automatic),
        "cpu" => Ok(ComputeDevice::Processor),
        "gpu" => Ok(ComputeDevice::GraphicsCard),
        _ => Err("use auto, cpu or gpu".to_owned()),
    }
}

/// Opens the graphics card.
#[cfg(feature = "gpu")]
pub(super) fn open_card() -> Result<Device, Failure> {
    Device::open().map_err(refused)
}

#[cfg(feature = "gpu")]
pub(super) fn refused(error: DeviceError) -> Failure {
    Failure::bad_input(format!("--device gpu: {error}; use --device cpu"))
}

/// Returns the failure of `--device gpu` without graphics.
#[cfg(not(feature = "gpu"))]
pub(super) fn without_graphics() -> Failure {
    Failure::bad_input("--device gpu: this program was built without graphics; use --device cpu")
}

/// Runs the checks of processes with kernels on the graphics card.
#[cfg(feature = "gpu")]
pub(super) fn checks_on_card() -> Result<Vec<CheckResult>, Failure> {
    let card = open_card()?;
    let results = CHECKS.iter().map(|check| run_check(&card, check).map_err(refused));
    Ok(results.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

#[cfg(not(feature = "gpu"))]
pub(super) fn checks_on_card() -> Result<Vec<CheckResult>, Failure> {
    Err(without_graphics())
}

#[cfg(feature = "gpu")]
impl Computer {
    /// Selects a device. Automatic takes a graphics card that computes correctly and faster than the processor, if there is one.
    pub(super) fn select(device: ComputeDevice, sessions: &[Session]) -> Result<Self, Failure> {
        let runners = match device {
            ComputeDevice::Processor => Vec::new(),
            ComputeDevice::Automatic => Device::open().map_or_else(
                |_| Vec::new(),
                |card| sessions.iter().map(|session| Runner::fastest(&card, &session.simulation)).collect(),
            ),
            ComputeDevice::GraphicsCard => {
                let card = open_card()?;
                let runners = sessions.iter().map(|session| Runner::on_card(&card, &session.simulation));
                runners.collect::<Result<_, _>>().map_err(refused)?
            }
        };
        Ok(Self { runners })
    }

    /// Returns the number of ticks after which to look up, with `observed` if each tick is.
    pub(super) fn batch(&self, observed: bool) -> u64 {
        if observed || self.runners.is_empty() { 1 } else { BATCH }
    }

    /// Runs ticks of every session in parallel.
    pub(super) fn run(&mut self, sessions: &mut [Session], ticks: u64) -> Result<(), Failure> {
        if self.runners.is_empty() {
            return (0..ticks).try_for_each(|_| tick(sessions));
        }
        let runs = sessions.par_iter_mut().zip(&mut self.runners);
        let lost = runs.filter_map(|(session, runner)| runner.run(&mut session.simulation, ticks as u32).err());
        if let Some(error) = lost.collect::<Vec<_>>().first() {
            print_message(&format!("warning: {error}; the processor continues"));
        }
        super::setup::check_faults(sessions)
    }

    /// Returns the name of the device that ran the last ticks of a session.
    pub(super) fn name(&self, session: usize) -> String {
        let card = self.runners.get(session).and_then(Runner::device);
        card.map_or_else(|| "processor".to_owned(), Device::name)
    }
}

#[cfg(not(feature = "gpu"))]
impl Computer {
    pub(super) fn select(device: ComputeDevice, _: &[Session]) -> Result<Self, Failure> {
        match device {
            ComputeDevice::GraphicsCard => {
                Err(Failure::bad_input("--device gpu: this program was built without graphics; use --device cpu"))
            }
            _ => Ok(Self::default()),
        }
    }

    pub(super) fn batch(&self, _: bool) -> u64 {
        1
    }

    pub(super) fn run(&mut self, sessions: &mut [Session], ticks: u64) -> Result<(), Failure> {
        (0..ticks).try_for_each(|_| tick(sessions))
    }

    pub(super) fn name(&self, _: usize) -> String {
        "processor".to_owned()
    }
}
