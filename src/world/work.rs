//! The work, and what each change of it touches.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use bevy::{ecs::system::SystemParam, prelude::*};

use super::{
    EditCommand, History, Jobs, Label, Level, Notices, Preferences, Restarts, Revision, Simulations, Transport,
    jobs::{Held, Sheets},
};
use thalweg_scene::{
    io::{Budget, Error},
    model::session::Session,
};
use thalweg_sim::simulation::Simulation;

/// What commands that change the work read and write.
#[derive(SystemParam)]
pub struct Work<'w> {
    /// The work itself.
    pub simulations: ResMut<'w, Simulations>,
    /// Its steps.
    pub history: ResMut<'w, History>,
    /// Whether time runs.
    pub transport: ResMut<'w, Transport>,
    /// What the view shows of it.
    pub revision: ResMut<'w, Revision>,
    /// What is being made of it.
    pub jobs: ResMut<'w, Jobs>,
    /// What the person is told.
    pub notices: ResMut<'w, Notices>,
    /// Restarts whose terrain is being generated.
    pub restarts: ResMut<'w, Restarts>,
    /// What the person has set.
    pub preferences: ResMut<'w, Preferences>,
}

impl Work<'_> {
    /// Tells that something was done, or why not.
    pub fn tell(&mut self, done: Result<(), Error>, text: String) {
        self.notices.tell_result(done, text);
    }

    /// Tells that something was done, and offers to undo it.
    pub fn offer_undo(&mut self, text: String) {
        self.notices.offer(Level::Info, text, Some(("Undo", EditCommand::Undo.into())));
    }

    /// Notes that what stands now is a run from another start.
    pub fn begins(&mut self) {
        self.transport.due = 0.0;
        self.revision.begins();
    }

    /// Finishes the tick that has begun, and shows what stands then.
    pub fn finish_tick(&mut self) {
        if !self.simulations.between_ticks() {
            self.simulations.finish_tick();
            self.revision.goes_on();
        }
    }

    /// Changes the layers of every session.
    pub fn change_layers(&mut self, label: Label, mut change: impl FnMut(&mut Simulation)) {
        self.history.replace(&mut self.simulations, label, |simulations| {
            for session in simulations.all_mut() {
                change(&mut session.simulation);
                session.origin.edited = true;
            }
        });
        self.revision.goes_on();
    }

    /// Returns the memory that all sessions would take if each was changed in this way, in bytes.
    pub fn bytes(&self, change: impl Fn(&mut Session)) -> u64 {
        let changed = self.simulations.all().iter().map(|session| {
            let mut outline = session.outline();
            change(&mut outline);
            outline.bytes() + outline.bytes_of_maps(session.maps.len())
        });
        changed.sum()
    }

    /// Returns the memory that a copy of all layers takes, in bytes.
    pub fn bytes_of_copy(&self) -> u64 {
        self.simulations.all().iter().map(Session::bytes_of_layers).sum()
    }

    /// Returns `true` if there is memory for so many bytes and for the present layers, which undo keeps; if not, the person is told.
    pub fn has_room(&mut self, bytes: u64) -> bool {
        let kept = self.bytes_of_copy();
        let asked = Budget::present().ask(Path::new(&self.simulations.selected().title), kept + bytes);
        asked.map_err(|error| self.notices.tell(Level::Error, format!("{error}."))).is_ok()
    }

    /// Puts the work away, so that something can be made of it beside the frames, if nothing else is being done and there is memory for so
    /// many bytes. Returns the work as it is, and where to put what is shown in its place; if it is not put away, the person is told why.
    pub fn hold(&mut self, doing: &'static str, bytes: u64) -> Option<(Arc<Simulations>, Sheets)> {
        if self.jobs.concern_the_work() {
            self.notices.tell(Level::Info, "Other work goes on: try again when it is done.");
            return None;
        }
        if !self.has_room(bytes) {
            return None;
        }
        self.history.end_stroke();
        self.simulations.finish_tick();
        self.simulations.all_mut().iter_mut().for_each(Session::note_shape);
        let before = Arc::new(self.simulations.clone());
        let sheets: Sheets = Arc::new(Mutex::new(vec![None; before.all().len()]));
        self.jobs.held = Some(Held { before: Arc::clone(&before), sheets: Arc::clone(&sheets), doing });
        Some((before, sheets))
    }
}
