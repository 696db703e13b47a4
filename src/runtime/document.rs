//! The work as a document: saving it, keeping it in case the program breaks down, and leaving.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{
    Command, History, Jobs, Live, Notices, Preferences, Timeline,
    jobs::{Task, save},
};
use crate::io::{
    Progress,
    keep::Keeper,
    project::{Camera, Keyframes, Project},
};

/// How many files are remembered.
const RECENT: usize = 10;

/// What is known of the work as a document.
#[derive(Resource, Debug)]
pub struct Document {
    /// Whether the person is asked what to do with unsaved work.
    pub asks: bool,
    /// The count of changes at which it was last saved or opened.
    saved: u64,
    /// The count of changes and the tick at which it was last kept, and when.
    kept: (u64, u64),
    kept_at: Instant,
    keeper: Option<Keeper>,
    /// The program ends when it is saved.
    leaves: bool,
}

impl Default for Document {
    fn default() -> Self {
        let kept_at = Instant::now();
        Self { asks: false, saved: 0, kept: (0, 0), kept_at, keeper: None, leaves: false }
    }
}

impl Document {
    /// One whose work is kept in case the program breaks down.
    pub fn with_keeper(keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..Self::default() }
    }

    /// Whether something was done by hand since it was saved.
    pub fn unsaved(&self, history: &History) -> bool {
        history.changes() != self.saved
    }

    /// Takes what is there as saved.
    pub(super) fn is_saved(&mut self, changes: u64) {
        self.saved = changes;
    }

    /// Takes what was there after so many changes and ticks as kept.
    pub(super) fn is_kept(&mut self, now: (u64, u64)) {
        self.kept = now;
    }

    /// Whether the program is to end now that it is saved.
    pub(super) fn leaves(&mut self) -> bool {
        std::mem::take(&mut self.leaves)
    }
}

/// Where the eye is; the view says it.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Eye(pub Option<Camera>);

/// Puts a file first among those that are remembered.
pub(super) fn remember_file(preferences: &mut Preferences, path: &Path) {
    let recent = &mut preferences.remembered.recent;
    recent.retain(|other| other != path);
    recent.insert(0, path.to_owned());
    recent.truncate(RECENT);
}

/// A copy of the work as it is, or as it will be when the present tick is finished.
fn project(live: &Live, eye: Eye) -> Box<Project> {
    let (sessions, chosen) = (live.all().to_vec(), live.index());
    Box::new(Project { sessions, chosen, camera: eye.0, timeline: Keyframes::default() })
}

/// Saves, and leaves.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
pub(super) fn obey(
    mut commands: MessageReader<Command>,
    live: Res<Live>,
    eye: Res<Eye>,
    (timeline, preferences): (Res<Timeline>, Res<Preferences>),
    mut history: ResMut<History>,
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
    mut leave: MessageWriter<AppExit>,
) {
    for command in commands.read() {
        let path = match command {
            Command::Save => live.file.clone(),
            Command::SaveProject(path) => Some(path.clone()),
            _ => None,
        };
        if let Some(path) = path {
            history.end_stroke();
            let mut project = project(&live, *eye);
            if preferences.settings.save_timeline {
                project.timeline = timeline.keyframes();
            }
            jobs.start(&mut notices, Task::SaveProject(path, project, history.changes(), live.work()));
        }
        match command {
            Command::Quit if document.unsaved(&history) => document.asks = true,
            Command::Quit | Command::QuitUnsaved => drop(leave.write(AppExit::Success)),
            Command::SaveAndQuit => (document.asks, document.leaves) = (false, true),
            Command::Stay => (document.asks, document.leaves) = (false, false),
            _ => {}
        }
    }
}

/// Keeps unsaved work every few minutes, and what is about to be replaced.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
pub(super) fn keep(
    mut commands: MessageReader<Command>,
    mut leaving: MessageReader<AppExit>,
    live: Res<Live>,
    eye: Res<Eye>,
    history: Res<History>,
    preferences: Res<Preferences>,
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    let document = document.bypass_change_detection();
    if let Some(exit) = leaving.read().last() {
        let Some(keeper) = document.keeper.take() else { return };
        if exit.is_success() && !jobs.failed {
            keeper.end();
        } else if history.changes() != document.saved {
            // It did not end as planned: what lies there is offered at the next start.
            let mut project = project(&live, *eye);
            if let Err(error) = save(&mut project, keeper.path(), &Progress::default()) {
                error!("{error}");
            }
        }
        return;
    }
    let Some(keeper) = &document.keeper else { return };
    let risky = commands.read().any(|command| matches!(command, Command::Open(..) | Command::Load(..)));
    let minutes = preferences.settings.autosave;
    let due = minutes > 0.0 && document.kept_at.elapsed() > Duration::from_secs_f32(60.0 * minutes);
    let now = (history.changes(), live.ticks());
    if !(due || risky) || history.strokes().is_some() {
        return;
    }
    document.kept_at = Instant::now();
    if history.changes() != document.saved && document.kept != now {
        jobs.start(&mut notices, Task::Keep(keeper.path().to_owned(), project(&live, *eye), now));
    }
}
