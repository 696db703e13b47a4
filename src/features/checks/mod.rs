//! The checks of this machine, made beside the frames.

mod panel;

use bevy::prelude::*;

use std::path::PathBuf;

use crate::world::{CommandEvent, FrameSystems, Notices, background::Background};
use thalweg_scene::io::{checks, output};
use thalweg_sim::simulation::check::{CHECKS, Checked};

/// What the checks have found so far.
#[derive(Resource, Default)]
pub struct Checkup {
    /// In the order in which they are made.
    pub found: Vec<Checked>,
    /// The check that is being made, by its place.
    work: Option<Background<usize, Checked>>,
}

/// Checks this machine.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CheckCommand {
    /// Checks it against what is known exactly.
    Run,
    /// Writes down what was found.
    Save(PathBuf),
}

impl CommandEvent for CheckCommand {}

/// Adds the checks and their pane.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.init_resource::<Checkup>().add_observer(obey).add_systems(Update, follow.in_set(FrameSystems::Follow));
}

fn obey(command: On<CheckCommand>, mut checkup: ResMut<Checkup>, mut notices: ResMut<Notices>) {
    match command.event() {
        CheckCommand::Run => checkup.begin(),
        CheckCommand::Save(path) => {
            let table = checks::table(&checkup.found);
            let saved = output::replace(path, |file| output::write(file, table));
            notices.tell_result(saved, format!("Saved {}.", path.display()));
        }
    }
}

impl Checkup {
    /// Makes all checks anew, unless they are being made.
    fn begin(&mut self) {
        if !self.runs() {
            self.found.clear();
            self.make(0);
        }
    }

    /// Starts a check, if there is one at this place.
    fn make(&mut self, place: usize) {
        self.work = CHECKS.get(place).map(|check| Background::start(place, || check.run()));
    }

    /// Whether they are being made.
    pub fn runs(&self) -> bool {
        self.work.is_some()
    }
}

/// Takes what has been found.
fn follow(mut checkup: ResMut<Checkup>) {
    if let Some(work) = checkup.bypass_change_detection().work.take_if(|work| work.is_finished()) {
        checkup.make(work.request + 1);
        checkup.found.extend(work.join());
    }
}
