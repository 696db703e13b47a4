//! The project as a document: saving, autosave for crash recovery, and quitting.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{
    FileCommand, History, Jobs, NoticeLevel, Notices, Preferences, ProjectParams, Recording, Simulations, ViewportArea,
};
use thalweg_scene::{
    io::{
        Error, JobProgress,
        project::{self, Camera, Project, StoredTimeline, Views},
        recovery::{RecoverySlot, find_abandoned},
    },
    model::{film::Pose, origin::Options, session::Session},
};

/// Maximum number of recovery questions on screen.
const OFFERS: usize = 3;
/// Fraction of the autosave interval after which an autosave starts; the rest is for writing.
const EARLY: f32 = 0.8;

/// Exit of the program that was requested, but waits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum PendingExit {
    #[default]
    None,
    /// For the project to be saved.
    Save,
    /// For all files to be written.
    Files {
        /// Change count at the request.
        changes: u64,
        /// Identifier of the notification about it.
        notice: Option<u64>,
    },
}

/// State of the project as a document.
#[derive(Resource, Debug)]
pub struct Document {
    /// `true` while the user is asked about unsaved changes.
    pub asks_to_save: bool,
    /// Change count at the last save or opening; `None` if the project was recovered after a crash.
    saved: Option<u64>,
    /// Change count and tick at the last autosave, save or opening.
    autosaved: (u64, u64),
    autosaved_at: Instant,
    /// `true` if an autosave is due before the interval ends.
    autosave_requested: bool,
    /// Autosaves; the last one is that of the project, the others belong to projects it has replaced.
    slots: Vec<RecoverySlot>,
    /// Autosaves left by crashes and not offered yet, the newest last.
    abandoned: Vec<PathBuf>,
    exit: PendingExit,
    /// `true` if another process is about to continue with the project, saved or not.
    pub handed_over: bool,
    /// Autosave for that process.
    pub handover_path: Option<PathBuf>,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            asks_to_save: false,
            saved: Some(0),
            autosaved: (0, 0),
            autosaved_at: Instant::now(),
            autosave_requested: false,
            slots: Vec::new(),
            abandoned: Vec::new(),
            exit: PendingExit::None,
            handed_over: false,
            handover_path: None,
        }
    }
}

impl Document {
    /// Starts autosaving to a folder, and offers what crashes have left there. The session starts at a tick, with the project
    /// `opened` if there is one.
    ///
    /// # Errors
    /// The folder is not writable.
    pub fn start_autosave(&mut self, folder: &Path, opened: Option<&Path>, tick: u64) -> Result<(), Error> {
        self.autosaved = (0, tick);
        self.slots.push(RecoverySlot::new(folder)?);
        if let Some(path) = opened {
            self.adopt_autosave(path);
        }
        self.abandoned = find_abandoned(folder);
        self.abandoned.reverse();
        Ok(())
    }

    /// Returns `true` if an opened project is an autosave left by a crash. Its autosave file is then reused.
    pub(super) fn adopt_autosave(&mut self, path: &Path) -> bool {
        let own = self.slots.last().map(|slot| slot.path().parent());
        let abandoned = own.is_some_and(|folder| folder == path.parent());
        if abandoned {
            self.saved = None;
            self.slots.extend(RecoverySlot::adopt(path));
        }
        abandoned
    }

    /// Returns `true` if the project was recovered after a crash and has not been saved since.
    pub fn is_recovered(&self) -> bool {
        self.saved.is_none()
    }

    /// Returns `true` if the user changed something since the last save.
    pub fn unsaved(&self, history: &History) -> bool {
        self.saved != Some(history.changes())
    }

    /// Marks the state after these numbers of changes and ticks as saved.
    pub(super) fn mark_saved(&mut self, now: (u64, u64)) {
        self.saved = Some(now.0);
        self.mark_autosaved(now);
    }

    /// Marks the current state as saved, since it equals its file.
    pub(super) fn mark_opened(&mut self, project: &ProjectParams) {
        self.mark_saved((project.history.changes(), project.simulations.ticks()));
    }

    /// Marks the state after these numbers of changes and ticks as autosaved.
    pub(super) fn mark_autosaved(&mut self, now: (u64, u64)) {
        self.autosaved = now;
    }

    /// Requests an autosave at the end of this frame.
    pub(super) fn autosave_now(&mut self) {
        self.autosave_requested = true;
    }

    /// Makes the program exit once the project is saved.
    pub(super) fn exit_when_saved(&mut self, notices: &mut Notices) {
        self.cancel_exit(notices);
        (self.asks_to_save, self.exit) = (false, PendingExit::Save);
    }

    /// Returns `true` if the program exits once the project is saved.
    pub(super) fn exits_when_saved(&self) -> bool {
        self.exit == PendingExit::Save
    }

    /// Makes the program exit once all files are written, unless the number of changes differs by then.
    pub(super) fn exit_when_written(&mut self, changes: u64) {
        let notice = if let PendingExit::Files { notice, .. } = self.exit { notice } else { None };
        (self.asks_to_save, self.exit) = (false, PendingExit::Files { changes, notice });
    }

    /// Returns `true` if the program exits once all files are written.
    pub(super) fn exits_when_written(&self) -> bool {
        matches!(self.exit, PendingExit::Files { .. })
    }

    /// Returns `true` if the project has unsaved changes that were made since the exit was requested.
    pub(super) fn has_changed_since_exit(&self, history: &History) -> bool {
        let changes =
            |exit: &PendingExit| matches!(exit, PendingExit::Files { changes, .. } if *changes != history.changes());
        changes(&self.exit) && self.unsaved(history)
    }

    /// Cancels a requested exit.
    pub(super) fn cancel_exit(&mut self, notices: &mut Notices) {
        if let PendingExit::Files { notice: Some(notice), .. } = std::mem::take(&mut self.exit) {
            notices.dismiss(notice);
        }
    }
}

/// Pose of the camera, set by the view.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct CameraPose {
    /// In world units.
    pub camera: Option<Camera>,
    /// In the units of a keyframe, once there is terrain.
    pub pose: Option<Pose>,
}

/// Returns a copy of the project for saving.
pub(super) fn project(simulations: &Simulations, pose: CameraPose) -> Box<Project> {
    let views = Views { camera: pose.camera, saved: simulations.views.clone() };
    Box::new(Project { chosen: simulations.selected_index(), views, ..Project::of(simulations.all().to_vec()) })
}

/// Returns a copy of the project for an autosave, with its file and its timeline.
fn autosaved_project(
    simulations: &Simulations,
    pose: CameraPose,
    history: &History,
    preferences: &Preferences,
) -> Box<Project> {
    let file = simulations.file.as_ref().map(|file| file.path.clone());
    let keeps_timeline = preferences.settings.save_timeline;
    let timeline = if keeps_timeline { history.packed_snapshots() } else { StoredTimeline::default() };
    Box::new(Project { file, timeline, ..*project(simulations, pose) })
}

/// Offers to recover autosaves left by crashes, until each is answered, now or after a later start.
pub(super) fn offer(mut document: ResMut<Document>, mut notices: ResMut<Notices>) {
    while notices.questions() < OFFERS
        && let Some(path) = document.abandoned.pop()
    {
        let modified = fs::metadata(&path).and_then(|file| file.modified()).ok();
        let age =
            modified.and_then(|then| then.elapsed().ok()).map_or_else(String::new, |age| format!(" {}", ago(age)));
        let text = format!("Thalweg closed unexpectedly{age}. The project was autosaved to {}.", path.display());
        let open = FileCommand::Open(path.clone(), Options::default());
        notices.ask(text, [("Open", open.into()), ("Discard", FileCommand::DiscardAutosave(path).into())]);
    }
}

/// Formats the age of a file.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => return "less than a minute ago".to_owned(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// Finishes the current tick of a session before saving.
///
/// # Errors
/// The simulation fails in that tick.
pub(super) fn finish_tick(session: &mut Session, path: &Path) -> Result<(), Error> {
    if !session.simulation.between_ticks() {
        session.simulation.tick();
    }
    let fault = session.simulation.fault();
    fault.map_or(Ok(()), |fault| Err(Error::output(path, fault.to_string(), "undo and save an earlier state")))
}

/// Saves a project as of the end of its current tick.
pub(super) fn save(project: &mut Project, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    finish_ticks(project, path)?;
    project::save(project, path, progress)
}

/// Autosaves a project as of the end of its current tick.
fn save_for_recovery(project: &mut Project, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    finish_ticks(project, path)?;
    project::autosave(project, path, progress)
}

fn finish_ticks(project: &mut Project, path: &Path) -> Result<(), Error> {
    project.sessions.iter_mut().try_for_each(|session| finish_tick(session, path))
}

/// Exits if requested, once all files are written. If the project has changed meanwhile, asks about the changes instead.
pub(super) fn exit_when_written(
    mut document: ResMut<Document>,
    history: Res<History>,
    jobs: Res<Jobs>,
    mut recording: ResMut<Recording>,
    view: Option<Res<ViewportArea>>,
    mut notices: ResMut<Notices>,
    mut leave: MessageWriter<AppExit>,
) {
    let PendingExit::Files { notice, .. } = &mut document.exit else { return };
    recording.end();
    let is_taking_screenshot = view.is_some_and(|view| view.is_taking_screenshot);
    if jobs.count() > 0 || recording.is_at_work() || is_taking_screenshot {
        notice.get_or_insert_with(|| {
            let quit = Some(("Quit anyway", FileCommand::QuitUnsaved.into()));
            let text = "Finishing files… Thalweg closes when they are written.";
            let notice = notices.offer(NoticeLevel::Working, text, quit);
            notices.add_button(notice, "Cancel", FileCommand::CancelQuit);
            notice
        });
        return;
    }
    document.asks_to_save = document.has_changed_since_exit(&history);
    document.cancel_exit(&mut notices);
    if !document.asks_to_save {
        leave.write(AppExit::Success);
    }
}

/// Ends the autosaves when the program exits. After an irregular exit, the last one is offered at the next start.
pub(super) fn end_autosaves(
    mut leaving: MessageReader<AppExit>,
    simulations: Res<Simulations>,
    pose: Res<CameraPose>,
    (history, preferences): (Res<History>, Res<Preferences>),
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
) {
    let Some(exit) = leaving.read().last() else { return };
    let slots = std::mem::take(&mut document.slots);
    if exit.is_success() && !jobs.failed {
        slots.into_iter().for_each(RecoverySlot::end);
    } else if let Some(slot) = slots.last() {
        let held = jobs.locked.take();
        if document.autosaved != (history.changes(), simulations.ticks()) || document.handed_over {
            let simulations = held.as_ref().map_or(&*simulations, |held| &held.before);
            let mut project = autosaved_project(simulations, *pose, &history, &preferences);
            match save_for_recovery(&mut project, slot.path(), &JobProgress::default()) {
                Err(error) => error!("{error}"),
                Ok(_) => document.handover_path = Some(slot.path().to_owned()),
            }
        }
    }
}

/// Autosaves the project at regular intervals, and before it is replaced, whether the user or only time has changed it.
pub(super) fn autosave(
    simulations: Res<Simulations>,
    pose: Res<CameraPose>,
    history: Res<History>,
    preferences: Res<Preferences>,
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
) {
    let document = &mut *document;
    let Some(slot) = document.slots.last().filter(|_| !jobs.is_project_locked()) else { return };
    let minutes = preferences.settings.autosave;
    let due = minutes > 0.0 && document.autosaved_at.elapsed() > Duration::from_secs_f32(60.0 * EARLY * minutes);
    if !(std::mem::take(&mut document.autosave_requested) || due) {
        return;
    }
    document.autosaved_at = Instant::now();
    let now = (history.changes(), simulations.ticks());
    if document.autosaved != now {
        let mut project = autosaved_project(&simulations, *pose, &history, &preferences);
        let keep = move |path: &Path, progress: &JobProgress| save_for_recovery(&mut project, path, progress);
        let mark = move |world: &mut World| world.resource_mut::<Document>().mark_autosaved(now);
        jobs.autosave_then(slot.path(), keep, mark);
    }
}
