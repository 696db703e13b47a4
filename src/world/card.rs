//! Ticks on the graphics card.
//!
//! While only processes with kernels there run, the layers stay on the card, and the view is drawn from them. [`Simulations`] follow a
//! fraction of a second later, as a consistent state between two ticks. Before anything changes them, and when the card stops,
//! [`CardTicks::bring_back`] brings them up to date.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use thalweg_gpu::{
    Device, DeviceError, GpuSimulation, Packer, begins_on_processor, find_obstacle, self_test, time_card_tick,
};
use thalweg_scene::settings::ComputeDevice;
use thalweg_sim::{
    core::{
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    simulation::Simulation,
};

use super::{
    AutosaveSystems, Deadline, History, NoticeLevel, Notices, Preferences, Revision, Simulations, Timing,
    background::BackgroundTask, ticks::ready,
};

/// Shortest interval between two updates of the simulations.
const INTERVAL: Duration = Duration::from_millis(250);
/// Multiple of its duration that passes between two updates.
const REST: u32 = 10;

/// Size and processes for which a card was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TrialKey {
    size: [usize; 2],
    processes: Vec<&'static str>,
}

impl TrialKey {
    fn of(simulation: &Simulation) -> Self {
        let processes = simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.key()).collect();
        Self { size: [simulation.terrain.width(), simulation.terrain.height()], processes }
    }
}

/// Result of a trial: seconds that a tick takes on the card, or what is wrong with it.
type Trial = Result<f64, DeviceError>;

/// Ticks on the graphics card.
#[derive(Resource, Default)]
pub struct CardTicks {
    device: Option<Device>,
    card: Option<GpuSimulation>,
    /// `true` if ticks have begun there since the simulations were last brought up to date.
    is_ahead: bool,
    trial: Option<BackgroundTask<TrialKey, Trial>>,
    tried: Option<(TrialKey, Trial)>,
    /// Seconds that the last tick on the processor took.
    processor_seconds: Option<f64>,
    /// Failure to report to the user, in sentences.
    failure: Option<String>,
    /// `true` if the last ticks ran on the card.
    was_used: bool,
    /// Time of the last update of the simulations, and its duration.
    updated: Option<(Instant, Duration)>,
}

impl CardTicks {
    /// Uses a graphics card.
    pub fn set_device(&mut self, device: Device) {
        self.device = Some(device);
    }

    /// Returns the graphics card if the last ticks ran there.
    pub fn device(&self) -> Option<&Device> {
        self.device.as_ref().filter(|_| self.was_used)
    }

    /// Returns the way to draw the layers on the card; `None` if the simulations are up to date.
    pub fn packer(&self) -> Option<Packer> {
        self.card.as_ref().filter(|_| self.is_ahead).map(GpuSimulation::packer)
    }

    /// Brings the simulations up to date, and returns `true` if they had not been.
    pub fn bring_back(&mut self, simulations: &mut Simulations) -> bool {
        if !std::mem::take(&mut self.is_ahead) {
            return false;
        }
        let begun = Instant::now();
        let session = &mut simulations.all_mut()[0];
        let simulation = &mut session.simulation;
        // A replaced terrain stays.
        let card = self.card.as_mut().filter(|card| card.has_layers_of(simulation));
        if let Some(Err(error)) = card.map(|card| card.download(simulation)) {
            self.give_up(&error);
        }
        self.updated = Some((Instant::now(), begun.elapsed()));
        true
    }

    /// Forgets a card that has failed. The processor continues from the last update.
    fn give_up(&mut self, error: &DeviceError) {
        (self.device, self.card, self.is_ahead) = (None, None, false);
        self.failure = Some(format!("Ticks on the graphics card have stopped: {error}. The processor continues."));
    }

    /// Returns `true` if the card runs this simulation. Starts a trial if that is unknown.
    fn is_suitable(&mut self, simulation: &Simulation, wanted: ComputeDevice) -> bool {
        let Some(device) = self.device.clone().filter(|_| wanted != ComputeDevice::Processor) else { return false };
        let is_automatic = wanted == ComputeDevice::Automatic;
        if find_obstacle(simulation).is_some()
            || begins_on_processor(simulation)
            || is_automatic && device.is_software()
        {
            return false;
        }
        let key = TrialKey::of(simulation);
        if let Some(trial) = self.trial.take_if(|trial| trial.is_finished()) {
            let (key, result) = trial.finish();
            let panicked = || Err(DeviceError("its trial was not finished because of a bug".to_owned()));
            self.tried = Some((key, result.unwrap_or_else(panicked)));
        }
        match &self.tried {
            Some((_, Err(error))) => {
                let error = error.clone();
                self.give_up(&error);
                // Nobody asked for the card.
                self.failure.take_if(|_| is_automatic);
                false
            }
            Some((tried, Ok(seconds))) if *tried == key => {
                !is_automatic || self.processor_seconds.is_some_and(|processor| *seconds < processor)
            }
            _ => {
                if self.trial.is_none() {
                    let mut settings = Simulation::new(Terrain::bare(Grid::filled(1, 1, 0.0), 1.0, Edge::Wall), 1);
                    settings.copy_settings_from(simulation);
                    let size = key.size;
                    let attempt =
                        move || -> Trial { self_test(&device).and_then(|()| time_card_tick(&device, &settings, size)) };
                    self.trial = Some(BackgroundTask::start(key, attempt));
                }
                false
            }
        }
    }

    /// Returns `true` if it is time to update the simulations.
    fn is_update_due(&self) -> bool {
        self.updated.is_none_or(|(at, took)| at.elapsed() >= INTERVAL.max(REST * took))
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<CardTicks>().add_systems(Last, bring_back_at_exit.before(AutosaveSystems));
}

/// Brings the simulations up to date before they are saved at exit.
fn bring_back_at_exit(
    mut exits: MessageReader<AppExit>,
    mut ticks: ResMut<CardTicks>,
    mut simulations: ResMut<Simulations>,
) {
    if exits.read().count() > 0 {
        ticks.bring_back(&mut simulations);
    }
}

/// Brings the simulations up to date before they change.
pub(super) fn bring_back(world: &mut World) {
    if world.contains_resource::<CardTicks>() {
        world.resource_scope(|world, mut card: Mut<CardTicks>| {
            if card.bypass_change_detection().bring_back(&mut world.resource_mut::<Simulations>()) {
                world.resource_mut::<Revision>().next_state();
            }
        });
    }
}

/// Runs up to `due` ticks on the card, if it is in use. Returns the number of ticks begun; `None` if it is not in
/// use.
pub(super) fn run_due(world: &mut World, may_run: bool, due: u32) -> Option<u32> {
    world.resource_scope(|world, mut ticks: Mut<CardTicks>| {
        let ticks = ticks.bypass_change_detection();
        if let Some(failure) = ticks.failure.take() {
            world.resource_mut::<Notices>().notify(NoticeLevel::Warning, failure);
        }
        let wanted = world.resource::<Preferences>().settings.compute_device;
        let simulations = world.resource::<Simulations>();
        let may_run = may_run && simulations.all().len() == 1 && simulations.between_ticks() && !simulations.halted;
        let is_used = may_run && ticks.is_suitable(&simulations.selected().simulation, wanted);
        if !is_used {
            if !ticks.was_used {
                let seconds = 1e-3 * world.resource::<Timing>().tick_ms;
                ticks.processor_seconds = Some(seconds).filter(|seconds| *seconds > 0.0).or(ticks.processor_seconds);
            } else if due > 0 {
                // The time on the card says nothing about the processor.
                world.resource_mut::<Timing>().tick_ms = 0.0;
            }
            if ticks.is_ahead && ticks.bring_back(&mut world.resource_mut::<Simulations>()) {
                world.resource_mut::<Revision>().next_state();
            }
            ticks.was_used &= due == 0;
            return None;
        }
        advance(world, ticks, due).map_err(|error| ticks.give_up(&error)).ok()
    })
}

/// Collects finished ticks, and begins others. Returns their number.
fn advance(world: &mut World, ticks: &mut CardTicks, due: u32) -> Result<u32, DeviceError> {
    let budget = world.resource::<Deadline>().left();
    if let Some(card) = &mut ticks.card {
        card.advance()?;
        if !card.is_idle() {
            return Ok(0);
        }
        if ticks.is_ahead && ticks.is_update_due() && ticks.bring_back(&mut world.resource_mut::<Simulations>()) {
            world.resource_mut::<Revision>().next_state();
        }
    }
    if due == 0 {
        return Ok(0);
    }
    world.resource_scope(|world, mut history: Mut<History>| {
        // Takes part even if the simulations lag behind: they are a state between two ticks.
        ready(&mut world.resource_mut::<Simulations>(), &mut history).for_each(drop);
    });
    let Some(device) = &ticks.device else { return Ok(0) };
    let mut simulations = world.resource_mut::<Simulations>();
    let simulation = &mut simulations.bypass_change_detection().all_mut()[0].simulation;
    let card = match &mut ticks.card {
        Some(card) => {
            card.upload(simulation)?;
            card
        }
        None => ticks.card.insert(GpuSimulation::new(device, simulation)?),
    };
    // Updates, pauses and strokes wait for them.
    let due = due.min((INTERVAL.as_secs_f64() / card.tick_seconds()).max(1.0) as u32);
    card.set_longest(budget);
    card.begin(due)?;
    (ticks.is_ahead, ticks.was_used) = (true, true);
    let seconds = card.tick_seconds();
    world.resource_mut::<Timing>().tick_ms = 1e3 * seconds;
    Ok(due)
}
