//! Checks of this machine, run in the background.

mod panel;

use bevy::prelude::*;

use std::path::PathBuf;

use crate::world::{CommandEvent, FrameSystems, Jobs, Notices, background::Background};
use thalweg_scene::io::{checks, output};
use thalweg_sim::simulation::check::{CHECKS, Checked};

/// Results of the checks so far.
#[derive(Resource, Default)]
pub struct Checkup {
    /// Results in the order of the checks.
    pub found: Vec<Checked>,
    /// Running check, with its index.
    work: Option<Background<usize, Checked>>,
}

/// Command for the checks of this machine.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CheckCommand {
    /// Runs all checks against exact solutions.
    Run,
    /// Saves the results.
    Save(PathBuf),
}

impl CommandEvent for CheckCommand {}

/// Adds the checks and their window.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.init_resource::<Checkup>().add_observer(obey).add_systems(Update, follow.in_set(FrameSystems::Follow));
}

fn obey(command: On<CheckCommand>, mut checkup: ResMut<Checkup>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>) {
    match command.event() {
        CheckCommand::Run => checkup.begin(),
        CheckCommand::Save(path) => {
            let table = checks::table(&checkup.found);
            jobs.save(&mut notices, path, |path, _| output::replace(path, |file| output::write(file, table)));
        }
    }
}

impl Checkup {
    /// Runs all checks again, unless they are running.
    fn begin(&mut self) {
        if !self.runs() {
            self.found.clear();
            self.make(0);
        }
    }

    /// Starts the check at an index, if there is one.
    fn make(&mut self, place: usize) {
        self.work = CHECKS.get(place).map(|check| Background::start(place, || check.run()));
    }

    /// Returns `true` while checks are running.
    pub fn runs(&self) -> bool {
        self.work.is_some()
    }
}

/// Stores the result of a finished check, and starts the next.
fn follow(mut checkup: ResMut<Checkup>) {
    if let Some(work) = checkup.bypass_change_detection().work.take_if(|work| work.is_finished()) {
        checkup.make(work.request + 1);
        checkup.found.extend(work.join());
    }
}
