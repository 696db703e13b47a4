//! Checks of this machine, run in the background.

mod panel;

use bevy::prelude::*;

use std::path::PathBuf;

use crate::world::{AppCommandEvent, FrameSystems, Jobs, Notices, background::BackgroundTask};
use thalweg_scene::io::{checks, output};
use thalweg_sim::simulation::check::{CHECKS, CheckResult};

/// Results of the checks so far.
#[derive(Resource, Default)]
pub struct CheckResults {
    /// Results in the order of the checks.
    pub found: Vec<CheckResult>,
    /// Running check, with its index.
    task: Option<BackgroundTask<usize, CheckResult>>,
}

/// Command for the checks of this machine.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CheckCommand {
    /// Runs all checks against exact solutions.
    Run,
    /// Saves the results.
    Save(PathBuf),
}

impl AppCommandEvent for CheckCommand {}

/// Adds the checks and their window.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.init_resource::<CheckResults>()
        .add_observer(handle_command)
        .add_systems(Update, follow.in_set(FrameSystems::Follow));
}

fn handle_command(
    command: On<CheckCommand>,
    mut checkup: ResMut<CheckResults>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    match command.event() {
        CheckCommand::Run => checkup.begin(),
        CheckCommand::Save(path) => {
            let table = checks::table(&checkup.found);
            jobs.save(&mut notices, path, |path, _| output::replace(path, |file| output::write(file, table)));
        }
    }
}

impl CheckResults {
    /// Runs all checks again, unless they are running.
    fn begin(&mut self) {
        if !self.is_running() {
            self.found.clear();
            self.make(0);
        }
    }

    /// Starts the check at an index, if there is one.
    fn make(&mut self, place: usize) {
        self.task = CHECKS.get(place).map(|check| BackgroundTask::start(place, || check.run()));
    }

    /// Returns `true` while checks are running.
    pub fn is_running(&self) -> bool {
        self.task.is_some()
    }
}

/// Stores the result of a finished check, and starts the next.
fn follow(mut checkup: ResMut<CheckResults>) {
    if let Some(task) = checkup.task.take_if(|task| task.is_finished()) {
        checkup.make(task.request + 1);
        checkup.found.extend(task.join());
    }
}
