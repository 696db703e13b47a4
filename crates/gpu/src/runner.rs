//! Ticks on the device that is right and fast for a simulation.

use std::time::Instant;

use thalweg_sim::simulation::Simulation;

use crate::{Device, DeviceError, GpuSimulation, begins_on_processor, find_obstacle, self_test, time_card_tick};

/// Runs ticks of a simulation on the processor, or on a graphics card.
#[derive(Default)]
pub struct Runner {
    device: Option<Device>,
    /// `true` if the device has yet to be compared with the processor.
    is_undecided: bool,
    card: Option<GpuSimulation>,
}

impl Runner {
    /// Runs on a graphics card.
    ///
    /// # Errors
    /// There is an obstacle, or the card fails the self-test.
    pub fn on_card(device: &Device, simulation: &Simulation) -> Result<Self, DeviceError> {
        if let Some(obstacle) = find_obstacle(simulation) {
            return Err(DeviceError(format!("the graphics card cannot be used, because {obstacle}")));
        }
        self_test(device)?;
        Ok(Self { device: Some(device.clone()), ..Self::default() })
    }

    /// Runs on a graphics card if it passes the self-test and is faster than the first ticks on the processor; otherwise on the
    /// processor.
    pub fn fastest(device: &Device, simulation: &Simulation) -> Self {
        match Self::on_card(device, simulation) {
            Ok(runner) if !device.is_software() => Self { is_undecided: true, ..runner },
            _ => Self::default(),
        }
    }

    /// Returns the graphics card on which ticks run; `None` if it is the processor.
    pub fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// Runs ticks. If the card fails, the processor runs them from the state before them, and all later ones.
    ///
    /// # Errors
    /// The card has failed. The ticks have run all the same.
    pub fn run(&mut self, simulation: &mut Simulation, ticks: u32) -> Result<(), DeviceError> {
        let end = simulation.ticks() + u64::from(ticks);
        if self.is_undecided && ticks > 0 {
            if begins_on_processor(simulation) {
                // It finds the steady state, and takes longer than those that follow.
                simulation.tick();
            }
            if simulation.ticks() < end && simulation.fault().is_none() {
                self.is_undecided = false;
                self.decide(simulation);
            }
        }
        let result = match &self.device {
            Some(device) => run_on_card(&device.clone(), &mut self.card, simulation, end),
            None => Ok(()),
        };
        if result.is_err() {
            *self = Self::default();
        }
        while simulation.ticks() < end && simulation.fault().is_none() {
            simulation.tick();
        }
        result
    }
}

impl Runner {
    /// Runs a tick on the processor, and leaves the card if it would take longer.
    fn decide(&mut self, simulation: &mut Simulation) {
        let started = Instant::now();
        simulation.tick();
        let on_processor = started.elapsed().as_secs_f64();
        let size = [simulation.terrain.width(), simulation.terrain.height()];
        let is_faster =
            |device: &Device| time_card_tick(device, simulation, size).is_ok_and(|seconds| seconds < on_processor);
        self.device.take_if(|device| !is_faster(device));
    }
}

/// Runs a simulation to the end of a tick.
fn run_on_card(
    device: &Device,
    card: &mut Option<GpuSimulation>,
    simulation: &mut Simulation,
    end: u64,
) -> Result<(), DeviceError> {
    if begins_on_processor(simulation) && simulation.ticks() < end {
        simulation.tick();
    }
    let card = match card {
        Some(card) => {
            card.upload(simulation)?;
            card
        }
        None => card.insert(GpuSimulation::new(device, simulation)?),
    };
    card.run(end.saturating_sub(simulation.ticks()) as u32)?;
    card.download(simulation)
}
