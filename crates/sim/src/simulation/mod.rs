//! The simulation core: terrain, processes, clock and ledger as one value.
//!
//! It is independent of windows and files. [`Simulation`] runs the same in the app, in `thalweg build`, in a test and in a
//! benchmark; several can coexist.
//!
//! Every machine gets the same bits. So sines, powers and logarithms come from `libm`; clippy rejects those of the system.

pub mod check;
mod edits;
pub mod fault;
pub mod gauge;
pub mod grow;
pub mod quantities;
pub mod stage_changes;
pub mod water;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use rayon::ThreadPool;

use self::{
    fault::{Cause, Fault},
    stage_changes::{StageChanges, StageSnapshot},
};
use crate::{
    core::{
        grid::Grid,
        ledger::Ledger,
        terrain::{Layer, Terrain},
    },
    edit,
    params::{Group, GroupMut, Value, collect_parameters},
    process::{Context, Process, ProcessCounts, StepProgress, catalogue, masked::masked_key, saved_state::StateValue},
};

/// A process with its switch and the time spent in it.
pub struct Slot {
    /// The process.
    pub process: Box<dyn Process>,
    /// `true` if ticks run it. If it is switched off in the middle of its part of a tick, it finishes that part.
    pub enabled: bool,
    /// `true` if it must not change masked cells.
    pub limited: bool,
    /// Wall time spent in it since the start, in seconds.
    pub seconds: f64,
    /// If it is limited, the layers before its part of the current tick, to be restored under the mask.
    before: Option<Vec<(Layer, Grid)>>,
    /// `true` if it has begun its part of the current tick and not finished it.
    begun: bool,
}

impl Slot {
    fn new(process: Box<dyn Process>) -> Self {
        Self { process, enabled: false, limited: false, seconds: 0.0, before: None, begun: false }
    }

    /// Returns `true` if a tick runs it.
    fn runs(&self) -> bool {
        self.enabled || self.begun
    }

    /// Key of the process.
    pub fn key(&self) -> &'static str {
        self.process.info().key
    }

    /// Returns the number of particles that have run, and the number set for a finished map; `None` without such a parameter.
    pub fn particles(&self) -> Option<(u64, u64)> {
        let parameters = collect_parameters((self.key(), self.process.params()));
        match parameters.into_iter().find(|parameter| parameter.name == "total")?.value {
            Value::Number(total) => Some((self.process.counts().particles, total as u64)),
            _ => None,
        }
    }
}

impl Clone for Slot {
    fn clone(&self) -> Self {
        Self { process: self.process.clone(), before: self.before.clone(), ..*self }
    }
}

/// Position of the simulation within a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    process: usize,
    stage: usize,
}

/// Terrain, processes, clock and ledger.
#[derive(Clone)]
pub struct Simulation {
    /// The shared terrain.
    pub terrain: Terrain,
    /// All processes, in the order in which a tick runs them.
    pub slots: Vec<Slot>,
    /// Accounts of all volumes.
    pub ledger: Ledger,
    /// `true` if particles are shown: only then they record tracks. The terrain does not depend on it.
    pub watched: bool,
    /// `true` if the simulation stops between the stages of a process. The result does not depend on it.
    stepwise: bool,
    /// Changes of the last stage, if it was run alone.
    staged: Option<Arc<StageChanges>>,
    seed: u64,
    tick: u64,
    /// Simulated time of the finished ticks, and of the current one, in seconds.
    seconds: f64,
    elapsed: Option<f64>,
    cursor: Option<Cursor>,
    /// `true` if the stage at the cursor has paused only so that a frame can be drawn.
    pauses: bool,
    fault: Option<Fault>,
    pool: Option<Arc<ThreadPool>>,
}

impl Simulation {
    /// Returns a simulation at its start, with every process of the catalogue at its defaults and off.
    pub fn new(terrain: Terrain, seed: u64) -> Self {
        Self::of(catalogue(), terrain, seed)
    }

    /// Returns a simulation of these processes at its start, all of them off. Their keys must differ.
    pub fn of(processes: Vec<Box<dyn Process>>, terrain: Terrain, seed: u64) -> Self {
        let slots = processes.into_iter().map(Slot::new).collect();
        let mut ledger = Ledger::default();
        ledger.solid.start = terrain.solid_volume();
        ledger.water.start = terrain.water_volume();
        Self {
            terrain,
            slots,
            ledger,
            watched: false,
            stepwise: false,
            staged: None,
            seed,
            tick: 0,
            seconds: 0.0,
            elapsed: None,
            cursor: None,
            pauses: false,
            fault: None,
            pool: None,
        }
    }

    /// Restarts from another terrain and seed; processes, their parameters and switches stay.
    pub fn restart(&mut self, terrain: Terrain, seed: u64) {
        let mut fresh = Self::of(self.slots.iter().map(|slot| slot.process.boxed_default()).collect(), terrain, seed);
        fresh.copy_settings_from(self);
        fresh.pool = self.pool.take();
        fresh.watched = self.watched;
        *self = fresh;
    }

    /// Copies the parameters and switches of another simulation's processes.
    pub fn copy_settings_from(&mut self, other: &Self) {
        for (slot, other) in self.slots.iter_mut().zip(&other.slots) {
            for (own, other) in slot.process.settings_mut().into_iter().zip(other.process.settings()) {
                own.apply(other.as_partial_reflect());
            }
            (slot.enabled, slot.limited) = (other.enabled, other.limited);
        }
    }

    /// Uses these threads instead of rayon's global pool. Results don't depend on it.
    pub fn with_pool(mut self, pool: Arc<ThreadPool>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Runs a closure on the simulation's threads.
    pub(crate) fn on_its_threads<T: Send>(&self, work: impl FnOnce(&Self) -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(|| work(self)),
            None => work(self),
        }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or_else(rayon::current_num_threads, |pool| pool.current_num_threads())
    }

    /// Returns the keys of the processes that are on or have run: the others have no state.
    pub fn processes_with_state(&self) -> Vec<&'static str> {
        let slots = self.slots.iter().filter(|slot| slot.enabled || slot.process.counts() != ProcessCounts::default());
        slots.map(Slot::key).collect()
    }

    /// Returns the state that these processes keep between ticks in addition to their parameters, by process and name.
    pub fn state_values(&mut self, keys: &[&str]) -> Vec<(String, StateValue<'_>)> {
        let mut all = Vec::new();
        for slot in self.slots.iter_mut().filter(|slot| keys.contains(&slot.key())) {
            let key = slot.key();
            let values = slot.process.state_values(&self.terrain).into_iter();
            all.extend(values.map(|(name, memory)| (format!("{key}/{name}"), memory)));
        }
        all
    }

    /// Sets the clock to that of a stored state: finished ticks, and simulated time in seconds.
    pub fn set_clock(&mut self, ticks: u64, seconds: f64) {
        (self.tick, self.seconds) = (ticks, seconds);
    }

    /// Records ticks that ran elsewhere, e.g. on a graphics card, once layers, ledger and processes hold their results: their number
    /// and their simulated time in seconds.
    pub fn record_ticks(&mut self, ticks: u64, seconds: f64) {
        self.set_clock(self.tick + ticks, self.seconds + seconds);
        self.staged = None;
        let broken = self.slots.iter().find(|slot| slot.enabled && !self.ledger.is_finite(slot.key()));
        self.fault = broken.map(|slot| Fault {
            process: slot.process.info().title,
            tick: self.tick,
            cause: Cause::not_finite(&self.terrain),
        });
    }

    /// Seed of the simulation.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of finished ticks.
    pub fn ticks(&self) -> u64 {
        self.tick
    }

    /// Returns `true` between ticks, when the terrain is the result of the last tick.
    pub fn between_ticks(&self) -> bool {
        self.cursor.is_none()
    }

    /// Returns `true` between ticks, and where a stage pauses so that a frame can be drawn: then the layers can be shown.
    pub fn can_be_shown(&self) -> bool {
        self.cursor.is_none() || self.pauses
    }

    /// Returns the slot of the process with this key.
    pub fn slot_mut(&mut self, key: &str) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.key() == key)
    }

    /// Returns the parameters of all processes, as groups named by their keys, and the factors by which the mask scales them.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let slots = self.slots.iter().map(|slot| (slot.process.info(), slot.process.settings()));
        slots.flat_map(|(info, [params, factors])| [(info.key, params), (masked_key(info.key), factors)]).collect()
    }

    /// Returns the same groups, mutably.
    pub fn groups_mut(&mut self) -> Vec<GroupMut<'_>> {
        let slots = self.slots.iter_mut().map(|slot| (slot.process.info(), slot.process.settings_mut()));
        slots.flat_map(|(info, [params, factors])| [(info.key, params), (masked_key(info.key), factors)]).collect()
    }

    /// Finishes the current tick, or runs a whole one.
    pub fn tick(&mut self) {
        self.begin_tick();
        for process in 0..self.slots.len() {
            while !self.advance(process) {}
        }
        self.end_tick();
    }

    /// Runs the next stage of a tick to its end, to show the effect of each stage. The first stage begins the tick and the last
    /// ends it. Returns the process and the stage; `None` if no process is on.
    pub fn stage(&mut self) -> Option<(&'static str, &'static str)> {
        self.begin_tick();
        self.skip_idle();
        let ran = self.next_stage();
        let before = StageSnapshot::of(self);
        self.stepwise = true;
        if let Some(cursor) = self.cursor {
            // It may pause so that a frame can be drawn.
            while ran.is_some() && self.cursor == Some(cursor) {
                self.advance(cursor.process);
            }
        }
        self.stepwise = false;
        self.staged = ran.map(|ran| Arc::new(before.since(self, ran)));
        self.skip_idle();
        self.end_tick();
        ran
    }

    /// Returns the changes of the last stage, if it was run alone by [`Self::stage`].
    pub fn stage_changes(&self) -> Option<&StageChanges> {
        self.staged.as_deref()
    }

    /// Advances to the next process that is on.
    fn skip_idle(&mut self) {
        while let Some(cursor) = self.cursor
            && self.slots.get(cursor.process).is_some_and(|slot| !slot.runs())
        {
            self.advance(cursor.process);
        }
    }

    /// Returns the fault that stopped the simulation, if any: no more ticks run, and the layers are invalid.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Starts a tick unless one has begun.
    pub fn begin_tick(&mut self) {
        if self.cursor.is_none() && self.fault.is_none() {
            self.cursor = Some(Cursor::default());
            self.elapsed = None;
            self.staged = None;
            for slot in &mut self.slots {
                slot.begun = false;
                slot.process.setup_mut().begin_tick();
            }
        }
    }

    /// Runs the part of one process in the current tick, until its stage pauses or ends. Returns `true` if the process has finished
    /// its part, is not next, or is off.
    ///
    /// A tick calls it for every process in order, each until it returns `true`, then [`Self::end_tick`].
    pub fn advance(&mut self, process: usize) -> bool {
        self.advance_until(process, None)
    }

    /// Does the same with a deadline for the next frame: after `until`, a stage that can pause does so as soon as possible.
    pub fn advance_until(&mut self, process: usize, until: Option<Instant>) -> bool {
        let Some(cursor) = self.cursor.filter(|cursor| cursor.process == process) else { return true };
        self.pauses = false;
        let water_flows = self.slots.iter().any(|slot| slot.enabled && slot.process.info().moves_water);
        let slot = &mut self.slots[process];
        if !slot.runs() {
            self.cursor = Some(Cursor { process: process + 1, stage: 0 });
            return true;
        }
        if !self.stepwise {
            self.staged = None;
        }
        let started = Instant::now();
        slot.begun = true;
        if slot.limited && slot.before.is_none() && self.terrain.mask.is_some() {
            slot.before = Some(edit::masked(&self.terrain));
        }
        let mut context = Context {
            terrain: &mut self.terrain,
            ledger: &mut self.ledger,
            seed: self.seed,
            tick: self.tick + 1,
            watched: self.watched,
            stepwise: self.stepwise,
            water_flows,
            elapsed: &mut self.elapsed,
            deadline: until,
        };
        // State left inconsistent by a panic is not used: after a fault the simulation continues from another state, with new
        // processes.
        let mut step = || slot.process.step(cursor.stage, &mut context);
        let outcome = catch_unwind(AssertUnwindSafe(|| match &self.pool {
            Some(pool) => pool.install(step),
            None => step(),
        }));
        slot.seconds += started.elapsed().as_secs_f64();
        let outcome = match outcome {
            // Every process records the actual changes of the layers, so a cell that is not finite makes the sum not finite.
            Ok(_) if !self.ledger.is_finite(slot.key()) => Err(Cause::not_finite(&self.terrain)),
            outcome => outcome.map_err(|payload| Cause::panic(&*payload)),
        };
        let progress = match outcome {
            Ok(progress) => progress,
            Err(cause) => {
                self.fault = Some(Fault { process: slot.process.info().title, tick: self.tick + 1, cause });
                self.cursor = None;
                return true;
            }
        };
        // With a mask, the layers cannot be shown before the end, when masked cells are restored.
        self.pauses = progress == StepProgress::Paused && slot.before.is_none();
        let next = progress.next_stage(cursor.stage, slot.process.info().stages.len());
        slot.begun = next.is_some();
        if next.is_none()
            && let Some(before) = slot.before.take()
        {
            // Cells restored under the mask are recorded as an edit.
            self.ledger.solid.edits += edit::restore_masked(&mut self.terrain, &before) * self.terrain.cell_area();
        }
        self.cursor = Some(match next {
            Some(stage) => Cursor { process, stage },
            None => Cursor { process: process + 1, stage: 0 },
        });
        next.is_none()
    }

    /// Ends the tick if every process has finished its part. Returns `true` if so.
    pub fn end_tick(&mut self) -> bool {
        let finished = self.cursor.is_some_and(|cursor| cursor.process == self.slots.len());
        if finished {
            self.cursor = None;
            self.tick += 1;
            let mut stated = self.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.process.setup().elapsed());
            self.seconds += self.elapsed.or_else(|| stated.find(|&seconds| seconds > 0.0)).unwrap_or_default();
        }
        finished
    }

    /// Returns the process and stage that will run next; `None` between ticks.
    pub fn next_stage(&self) -> Option<(&'static str, &'static str)> {
        let cursor = self.cursor?;
        let mut slots = self.slots.iter().enumerate().skip(cursor.process).filter(|(_, slot)| slot.runs());
        let (process, slot) = slots.next()?;
        let (info, stage) = (slot.process.info(), if process == cursor.process { cursor.stage } else { 0 });
        Some((info.title, info.stages.get(stage)?.name))
    }

    /// Simulated time since the start, in seconds.
    ///
    /// The time of a tick is that of the water's bed, which is the time of its flow times its acceleration; without water it is
    /// that of thermal erosion; without both, that of the first process that is on and has one.
    pub fn simulated_seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the geological time since the start, in years, if a process with such a clock is on or has run.
    pub fn years(&self) -> Option<f64> {
        let mut slots =
            self.slots.iter().filter(|slot| slot.enabled || slot.process.counts() != ProcessCounts::default());
        slots.find_map(|slot| slot.process.capabilities().years)
    }

    /// Residual of the solids account, in cubic metres.
    pub fn solid_residual(&self) -> f64 {
        self.ledger.solid.residual(self.terrain.solid_volume())
    }

    /// Residual of the water account, in cubic metres.
    pub fn water_residual(&self) -> f64 {
        self.ledger.water.residual(self.terrain.water_volume())
    }
}
