//! The project and everything that depends on it, as a system parameter.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use bevy::{ecs::system::SystemParam, prelude::*};

use super::{
    EditCommand, History, Jobs, Label, NoticeLevel, Notices, Preferences, Restarts, Revision, Simulations, Transport,
    jobs::{LockedProject, PreviewLayers},
};
use thalweg_scene::{
    io::{Budget, Error},
    model::session::Session,
};
use thalweg_sim::simulation::Simulation;

/// System parameter of commands that change the project.
#[derive(SystemParam)]
pub struct ProjectParams<'w> {
    /// The simulations of the project.
    pub simulations: ResMut<'w, Simulations>,
    /// Its history.
    pub history: ResMut<'w, History>,
    /// Playback state.
    pub transport: ResMut<'w, Transport>,
    /// Version of the displayed state.
    pub revision: ResMut<'w, Revision>,
    /// Background jobs.
    pub jobs: ResMut<'w, Jobs>,
    /// Notifications.
    pub notices: ResMut<'w, Notices>,
    /// Restarts whose terrain is being generated.
    pub restarts: ResMut<'w, Restarts>,
    /// User preferences.
    pub preferences: ResMut<'w, Preferences>,
}

impl ProjectParams<'_> {
    /// Reports the result of an operation.
    pub fn notify_result(&mut self, done: Result<(), Error>, text: String) {
        self.notices.notify_result(done, text);
    }

    /// Reports an operation, and offers to undo it.
    pub fn offer_undo(&mut self, text: String) {
        self.notices.offer(NoticeLevel::Info, text, Some(("Undo", EditCommand::Undo.into())));
    }

    /// Marks the start of another simulation.
    pub fn mark_started(&mut self) {
        self.transport.due = 0.0;
        self.revision.next_start();
    }

    /// Completes the current tick, and displays the result.
    pub fn finish_tick(&mut self) {
        if !self.simulations.between_ticks() {
            self.simulations.finish_tick();
            self.revision.next_state();
        }
    }

    /// Changes the layers of every simulation.
    pub fn change_layers(&mut self, label: Label, mut change: impl FnMut(&mut Simulation)) {
        self.history.replace(&mut self.simulations, label, |simulations| {
            for session in simulations.all_mut() {
                change(&mut session.simulation);
                session.origin.edited = true;
            }
        });
        self.revision.next_state();
    }

    /// Returns the memory that all sessions would use after a change, in bytes.
    pub fn bytes(&self, change: impl Fn(&mut Session)) -> u64 {
        let changed = self.simulations.all().iter().map(|session| {
            let mut outline = session.outline();
            change(&mut outline);
            outline.bytes() + outline.bytes_of_maps(session.maps.len())
        });
        changed.sum()
    }

    /// Returns the memory of a copy of all layers, in bytes.
    pub fn bytes_of_copy(&self) -> u64 {
        self.simulations.all().iter().map(Session::bytes_of_layers).sum()
    }

    /// Returns `true` if there is memory for this number of bytes in addition to a copy of the current layers for undo. Otherwise
    /// notifies the user.
    pub fn has_room(&mut self, bytes: u64) -> bool {
        let copy_bytes = self.bytes_of_copy();
        let asked = Budget::present().request(Path::new(&self.simulations.selected().title), copy_bytes + bytes);
        asked.map_err(|error| self.notices.notify(NoticeLevel::Error, format!("{error}."))).is_ok()
    }

    /// Locks the project for a background job that derives a new state from it, if no other job uses it and there is memory for
    /// this number of bytes. Returns the current state, and the slots for the layers to display meanwhile. Otherwise notifies the
    /// user.
    pub fn lock(&mut self, doing: &'static str, bytes: u64) -> Option<(Arc<Simulations>, PreviewLayers)> {
        if self.jobs.has_project_jobs() {
            self.notices.notify(NoticeLevel::Info, "Another job is running. Try again when it has finished.");
            return None;
        }
        if !self.has_room(bytes) {
            return None;
        }
        self.history.end_stroke();
        self.simulations.finish_tick();
        self.simulations.all_mut().iter_mut().for_each(Session::record_sculpted_start);
        let before = Arc::new(self.simulations.clone());
        let layers: PreviewLayers = Arc::new(Mutex::new(vec![None; before.all().len()]));
        self.jobs.locked = Some(LockedProject {
            before: Arc::clone(&before),
            preview_layers: Arc::clone(&layers),
            description: doing,
        });
        Some((before, layers))
    }
}
