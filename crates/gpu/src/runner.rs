//! Ticks on the device that is right and fast for a simulation.

use thalweg_sim::simulation::Simulation;

use crate::{Device, DeviceError, GpuSimulation, begins_on_processor, find_obstacle, self_test, time_tick};

/// Runs ticks of a simulation on the processor, or on a graphics card.
#[derive(Default)]
pub struct Runner {
    device: Option<Device>,
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
        Ok(Self { device: Some(device.clone()), card: None })
    }

    /// Runs on a graphics card if it passes the self-test and is faster; otherwise on the processor.
    pub fn fastest(device: &Device, simulation: &Simulation) -> Self {
        let is_faster = || time_tick(device, simulation).is_ok_and(|[processor, card]| card < processor);
        match Self::on_card(device, simulation) {
            Ok(runner) if !device.is_software() && is_faster() => runner,
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
    card.run((end - simulation.ticks()) as u32)?;
    card.download(simulation)
}
