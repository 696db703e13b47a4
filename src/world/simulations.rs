//! The simulations, the order of a frame, and the order of a tick.
//!
//! A tick is the schedule [`SimTick`]: one system begins it, each process of the catalogue has one of its own, named after it, and one ends
//! it. A process that is added to the catalogue gets its system here without another line. Like Bevy's fixed main loop,
//! [`run_due`](super::ticks::run_due) runs the schedule as often as ticks are due. If a frame's time is up in the middle of a tick, the
//! systems before that place have nothing to do in the next pass.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy::{ecs::schedule::ScheduleLabel, prelude::*};
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::{Deadline, History, ticks::ready};
use thalweg_scene::{io::project::KeptViews, model::session::Session};
use thalweg_sim::{
    process::catalogue,
    simulation::{Simulation, fault::Fault},
};

/// The sessions that all systems share: terrain, processes, parameters. Usually one; several stand side by side.
#[derive(Resource, Clone)]
pub struct Simulations {
    pub(super) sessions: Vec<Session>,
    pub(super) selected: usize,
    /// Whether it was stopped between two stages of a tick, to be looked at.
    pub(super) halted: bool,
    /// The project that they were opened from or saved to last.
    pub file: Option<PathBuf>,
    /// The views that are kept with it, and the camera keyframes.
    pub views: KeptViews,
    /// Tells this work from all others since the program started; undo and redo do not change it.
    pub(super) work: u64,
}

impl Simulations {
    /// Shares sessions, of which there is at least one. The first is selected.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(mut sessions: Vec<Session>) -> Self {
        assert!(!sessions.is_empty(), "a scene has at least one session");
        sessions.iter_mut().for_each(|session| session.simulation.watched = true);
        Self { sessions, selected: 0, halted: false, file: None, views: KeptViews::default(), work: Self::next_work() }
    }

    /// A copy that is another work.
    pub(super) fn of_other_work(&self) -> Self {
        Self { work: Self::next_work(), ..self.clone() }
    }

    pub(super) fn next_work() -> u64 {
        static WORKS: AtomicU64 = AtomicU64::new(0);
        WORKS.fetch_add(1, Ordering::Relaxed)
    }

    /// The same with sessions that have no layers.
    pub(super) fn without_layers(&mut self) -> Self {
        let simulations: Vec<Simulation> = self.sessions.iter_mut().map(Session::take_simulation).collect();
        let same = self.clone();
        for (session, simulation) in self.sessions.iter_mut().zip(simulations) {
            session.simulation = simulation;
        }
        same
    }

    /// The number of this work.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The session whose numbers are shown.
    pub fn selected(&self) -> &Session {
        &self.sessions[self.selected]
    }

    /// The position of the session whose numbers are shown.
    pub fn selected_index(&self) -> usize {
        self.selected
    }

    /// Shows the numbers of another session.
    pub fn select(&mut self, index: usize) {
        self.selected = index.min(self.sessions.len() - 1);
    }

    /// All sessions.
    pub fn all(&self) -> &[Session] {
        &self.sessions
    }

    /// All sessions, to be changed.
    pub fn all_mut(&mut self) -> &mut [Session] {
        &mut self.sessions
    }

    /// Finished ticks of all sessions, which keep step.
    pub fn ticks(&self) -> u64 {
        self.selected().simulation.ticks()
    }

    /// Lets the tick that has begun be finished in the frames that come, though it was stopped between two stages.
    pub fn go_on(&mut self) {
        self.halted = false;
    }

    /// Finishes the tick that has begun at once, if one has: layers are changed by hand between ticks alone.
    pub fn finish_tick(&mut self) {
        self.halted = false;
        let unfinished = self.sessions.par_iter_mut().filter(|session| !session.simulation.between_ticks());
        unfinished.for_each(|session| session.simulation.tick());
    }

    /// Where a session broke, if one did.
    pub fn fault(&self) -> Option<&Fault> {
        self.sessions.iter().find_map(|session| session.simulation.fault())
    }

    /// Ticks that every session has finished.
    pub(super) fn common_ticks(&self) -> u64 {
        self.sessions.iter().map(|session| session.simulation.ticks()).min().unwrap_or_default()
    }

    /// `true` if no session is in the middle of a tick.
    pub fn between_ticks(&self) -> bool {
        self.sessions.iter().all(|session| session.simulation.between_ticks())
    }

    /// The process and stage before which the selected session was stopped, if it was.
    pub fn next_stage(&self) -> Option<(&'static str, &'static str)> {
        self.selected().simulation.next_stage().filter(|_| self.halted)
    }

    /// `true` if what the layers hold is to be seen: between ticks, and between stages where it was stopped.
    pub fn rests(&self) -> bool {
        self.halted || self.between_ticks()
    }

    /// `true` if all sessions can be shown as they are.
    pub fn can_be_shown(&self) -> bool {
        self.halted || self.sessions.iter().all(|session| session.simulation.can_be_shown())
    }
}

/// The order of a frame. All systems of [`Update`] are in one of these sets, so that none of them depends on chance.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSystems {
    /// Keys, dropped files and answers of file dialogs become commands.
    Input,
    /// The place under the pointer is found, and touches on the land.
    Point,
    /// The brush edits the terrain.
    Edit,
    /// Commands are carried out: those of the keys in the same frame, those of the panels in the next one.
    Obey,
    /// Ticks run: as many as are due and the frame's budget allows.
    Tick,
    /// Measurements and lessons follow the state after the ticks.
    Follow,
    /// The camera moves.
    Aim,
    /// Heights, light and colours of the last finished tick go to the graphics card.
    Show,
    /// Water, rivers, tracks, marks and labels follow the ground.
    Decorate,
}

/// The end of a frame: the project and the settings are saved, also if the program is about to end.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeepSystems;

/// A pass over a tick, or over the rest of one.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SimTick;

pub(super) fn plugin(app: &mut App) {
    use FrameSystems::{Aim, Decorate, Edit, Follow, Input, Obey, Point, Show, Tick};
    app.configure_sets(Update, (Input, Point, Edit, Obey, Tick, Follow, Aim, Show, Decorate).chain());
    app.init_schedule(SimTick).add_systems(SimTick, begin_tick.before(Turn(0)));
    let processes = catalogue();
    for (turn, process) in processes.iter().enumerate() {
        let run_process = move |mut simulations: ResMut<Simulations>, deadline: Res<Deadline>| {
            simulations.sessions.par_iter_mut().for_each(|session| {
                let until = Some(deadline.ticks_until);
                while !session.simulation.advance_until(turn, until) && !deadline.left().is_zero() {}
            });
        };
        let run_process =
            IntoSystem::into_system(run_process).with_name(format!("thalweg::run_{}", process.info().key));
        app.add_systems(SimTick, run_process.in_set(Turn(turn)))
            .configure_sets(SimTick, Turn(turn).before(Turn(turn + 1)));
    }
    app.add_systems(SimTick, end_tick.in_set(Turn(processes.len())));
}

/// The turn of a process in [`SimTick`].
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn(usize);

/// Begins a tick, or goes on with one.
fn begin_tick(mut simulations: ResMut<Simulations>, mut history: ResMut<History>) {
    ready(&mut simulations, &mut history).for_each(|session| session.simulation.begin_tick());
}

/// Ends the tick of every simulation in which all processes are done.
fn end_tick(mut simulations: ResMut<Simulations>) {
    for session in simulations.all_mut() {
        session.simulation.end_tick();
    }
}
