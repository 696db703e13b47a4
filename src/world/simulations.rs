//! The simulations, and the schedules of a frame and of a tick.
//!
//! A tick is the schedule [`SimTick`]: one system begins it, each process of the catalogue has its own system, named after it, and
//! one ends it. A process added to the catalogue needs no further code here. Like Bevy's fixed main loop,
//! [`run_due`](super::ticks::run_due) runs the schedule as often as ticks are due. If the frame's time is up in the middle of a
//! tick, the next pass skips the systems that have already run.

use std::sync::atomic::{AtomicU64, Ordering};

use bevy::{ecs::schedule::ScheduleLabel, prelude::*};
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::{Deadline, History, ticks::ready};
use thalweg_scene::{
    io::project::{ProjectFile, SavedViews},
    model::session::Session,
};
use thalweg_sim::{
    process::catalogue,
    simulation::{Simulation, fault::Fault},
};

/// Simulations shared by all systems: terrain, processes, parameters. Usually one; there can be several side by side.
#[derive(Resource, Clone)]
pub struct Simulations {
    pub(super) sessions: Vec<Session>,
    pub(super) selected: usize,
    /// `true` if they are paused between two stages of a tick.
    pub(super) halted: bool,
    /// Project file they were opened from or last saved to.
    pub file: Option<ProjectFile>,
    /// Bookmarks and camera keyframes of the project.
    pub views: SavedViews,
    /// Identifier of the project, unique since program start and unaffected by undo and redo.
    pub(super) project_id: u64,
}

impl Simulations {
    /// Creates the resource from sessions. The first one is selected.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(mut sessions: Vec<Session>) -> Self {
        assert!(!sessions.is_empty(), "a scene has at least one session");
        sessions.iter_mut().for_each(|session| session.simulation.watched = true);
        Self {
            sessions,
            selected: 0,
            halted: false,
            file: None,
            views: SavedViews::default(),
            project_id: Self::next_project_id(),
        }
    }

    /// Returns a copy with a new project identifier.
    pub(super) fn with_new_project_id(&self) -> Self {
        Self { project_id: Self::next_project_id(), ..self.clone() }
    }

    pub(super) fn next_project_id() -> u64 {
        static WORKS: AtomicU64 = AtomicU64::new(0);
        WORKS.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a copy whose sessions have no layers.
    pub(super) fn without_layers(&mut self) -> Self {
        let simulations: Vec<Simulation> = self.sessions.iter_mut().map(Session::take_simulation).collect();
        let same = self.clone();
        for (session, simulation) in self.sessions.iter_mut().zip(simulations) {
            session.simulation = simulation;
        }
        same
    }

    /// Returns the identifier of the project.
    pub fn project_id(&self) -> u64 {
        self.project_id
    }

    /// Returns the selected session.
    pub fn selected(&self) -> &Session {
        &self.sessions[self.selected]
    }

    /// Returns the index of the selected session.
    pub fn selected_index(&self) -> usize {
        self.selected
    }

    /// Selects a session.
    pub fn select(&mut self, index: usize) {
        self.selected = index.min(self.sessions.len() - 1);
    }

    /// Returns all sessions.
    pub fn all(&self) -> &[Session] {
        &self.sessions
    }

    /// Returns all sessions, mutably.
    pub fn all_mut(&mut self) -> &mut [Session] {
        &mut self.sessions
    }

    /// Returns the number of finished ticks, the same for all sessions.
    pub fn ticks(&self) -> u64 {
        self.selected().simulation.ticks()
    }

    /// Resumes a tick that was paused between two stages.
    pub fn resume(&mut self) {
        self.halted = false;
    }

    /// Completes the current tick immediately, as the user can change layers only between ticks.
    pub fn finish_tick(&mut self) {
        self.halted = false;
        let unfinished = self.sessions.par_iter_mut().filter(|session| !session.simulation.between_ticks());
        unfinished.for_each(|session| session.simulation.tick());
    }

    /// Returns the fault that stopped a session, if any.
    pub fn fault(&self) -> Option<&Fault> {
        self.sessions.iter().find_map(|session| session.simulation.fault())
    }

    /// Returns the number of ticks that every session has finished.
    pub(super) fn common_ticks(&self) -> u64 {
        self.sessions.iter().map(|session| session.simulation.ticks()).min().unwrap_or_default()
    }

    /// `true` if no session is in the middle of a tick.
    pub fn between_ticks(&self) -> bool {
        self.sessions.iter().all(|session| session.simulation.between_ticks())
    }

    /// Returns the next process and stage if the selected session is paused between stages.
    pub fn next_stage(&self) -> Option<(&'static str, &'static str)> {
        self.selected().simulation.next_stage().filter(|_| self.halted)
    }

    /// `true` if the layers are in a state to be displayed: between ticks, or paused between stages.
    pub fn is_displayable(&self) -> bool {
        self.halted || self.between_ticks()
    }

    /// `true` if all sessions can be displayed as they are.
    pub fn can_be_shown(&self) -> bool {
        self.halted || self.sessions.iter().all(|session| session.simulation.can_be_shown())
    }
}

/// Order of a frame. Every system of [`Update`] is in one of these sets, so that the order is deterministic.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSystems {
    /// Shortcuts, dropped files and results of file dialogs become commands.
    Input,
    /// The pointer is projected onto the terrain and becomes brush input.
    Point,
    /// The brush edits the terrain.
    Edit,
    /// Commands are executed: those of shortcuts in the same frame, those of panels in the next one.
    Execute,
    /// Due ticks run within the time budget of the frame.
    Tick,
    /// Measurements and lessons are updated after the ticks.
    Follow,
    /// The camera moves.
    Aim,
    /// Heights, light and colours of the last finished tick are uploaded.
    Show,
    /// Water, rivers, tracks, markers and labels follow the ground.
    Decorate,
}

/// End of a frame, where project and settings are saved, also when the program is about to exit.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AutosaveSystems;

/// Pass over a tick, or over the rest of one.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SimTick;

pub(super) fn plugin(app: &mut App) {
    use FrameSystems::{Aim, Decorate, Edit, Execute, Follow, Input, Point, Show, Tick};
    app.configure_sets(Update, (Input, Point, Edit, Execute, Tick, Follow, Aim, Show, Decorate).chain());
    app.init_schedule(SimTick).add_systems(SimTick, begin_tick.before(ProcessOrder(0)));
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
        app.add_systems(SimTick, run_process.in_set(ProcessOrder(turn)))
            .configure_sets(SimTick, ProcessOrder(turn).before(ProcessOrder(turn + 1)));
    }
    app.add_systems(SimTick, end_tick.in_set(ProcessOrder(processes.len())));
}

/// Position of a process in [`SimTick`].
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ProcessOrder(usize);

/// Begins a tick, or continues one.
fn begin_tick(mut simulations: ResMut<Simulations>, mut history: ResMut<History>) {
    ready(&mut simulations, &mut history).for_each(|session| session.simulation.begin_tick());
}

/// Ends the tick of every simulation in which all processes have finished.
fn end_tick(mut simulations: ResMut<Simulations>) {
    for session in simulations.all_mut() {
        session.simulation.end_tick();
    }
}
