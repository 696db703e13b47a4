//! The work as a document: saving it, keeping it in case the program breaks down, and leaving.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{FileCommand, History, Job, JobKind, Jobs, Notices, Preferences, Simulations, Work};
use thalweg_scene::{
    io::{
        Error, JobProgress,
        keep::{Keeper, left_behind},
        project::{self, Camera, Project, Views},
    },
    model::{film::Pose, origin::Options, session::Session},
};

/// So many offers of work that was left behind are shown at once.
const OFFERS: usize = 3;
/// Share of the time that may be lost after which the work is kept: the rest is for writing it.
const EARLY: f32 = 0.8;

/// What is known of the work as a document.
#[derive(Resource, Debug)]
pub struct Document {
    /// Whether the person is asked what to do with unsaved work.
    pub asks: bool,
    /// The count of changes at which it was last saved or opened; none, if a breakdown left it behind.
    saved: Option<u64>,
    /// The count of changes and the tick at which it was last kept, saved or opened, and when that was last looked at.
    kept: (u64, u64),
    kept_at: Instant,
    /// Whether it is to be kept before that is due.
    keeps_now: bool,
    /// Where the work is kept: in the last place. The others hold what it has taken the place of.
    keepers: Vec<Keeper>,
    /// Work that breakdowns left behind and that is still to be offered, the newest last.
    left_behind: Vec<PathBuf>,
    /// The program ends when it is saved.
    leaves: bool,
    /// Whether another program is about to go on with the work as it is, saved or not.
    pub handed_over: bool,
    /// Where it was kept for that program.
    pub left: Option<PathBuf>,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            asks: false,
            saved: Some(0),
            kept: (0, 0),
            kept_at: Instant::now(),
            keeps_now: false,
            keepers: Vec::new(),
            left_behind: Vec::new(),
            leaves: false,
            handed_over: false,
            left: None,
        }
    }
}

impl Document {
    /// From now on the work is kept in a folder in case the program breaks down, and what earlier breakdowns left there is
    /// offered. The program starts at a tick, and perhaps with a project that was `opened`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn keep_in(&mut self, folder: &Path, opened: Option<&Path>, tick: u64) -> Result<(), Error> {
        self.kept = (0, tick);
        self.keepers.push(Keeper::new(folder)?);
        if let Some(path) = opened {
            self.takes_over(path);
        }
        self.left_behind = left_behind(folder);
        self.left_behind.reverse();
        Ok(())
    }

    /// Whether a project that was opened is work that a breakdown left behind. It goes on being kept where it is then.
    pub(super) fn takes_over(&mut self, path: &Path) -> bool {
        let own = self.keepers.last().map(|keeper| keeper.path().parent());
        let left_behind = own.is_some_and(|folder| folder == path.parent());
        if left_behind {
            self.saved = None;
            self.keepers.extend(Keeper::take_over(path));
        }
        left_behind
    }

    /// Whether the work is what a breakdown left behind, and was not saved since.
    pub fn is_recovered(&self) -> bool {
        self.saved.is_none()
    }

    /// Whether something was done by hand since it was saved.
    pub fn unsaved(&self, history: &History) -> bool {
        self.saved != Some(history.changes())
    }

    /// Takes what was there after so many changes and ticks as saved.
    pub(super) fn is_saved(&mut self, now: (u64, u64)) {
        self.saved = Some(now.0);
        self.is_kept(now);
    }

    /// Takes what stands there as saved: it is as it lies in its file.
    pub(super) fn is_opened(&mut self, work: &Work) {
        self.is_saved((work.history.changes(), work.simulations.ticks()));
    }

    /// Takes what was there after so many changes and ticks as kept.
    pub(super) fn is_kept(&mut self, now: (u64, u64)) {
        self.kept = now;
    }

    /// Has the work kept at the end of this frame.
    pub(super) fn keep_now(&mut self) {
        self.keeps_now = true;
    }

    /// Takes the answer to what is to become of unsaved work: whether the program ends as soon as it is saved.
    pub(super) fn answered(&mut self, leaves: bool) {
        (self.asks, self.leaves) = (false, leaves);
    }

    /// Whether the program is to end now that it is saved.
    pub(super) fn leaves(&mut self) -> bool {
        std::mem::take(&mut self.leaves)
    }
}

/// Where the eye is; the view says it.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Eye {
    /// In the units of the view.
    pub camera: Option<Camera>,
    /// The same in the units of a key, once the land is there.
    pub pose: Option<Pose>,
}

/// A copy of the work as it is, or as it will be when the present tick is finished.
pub(super) fn project(simulations: &Simulations, eye: Eye) -> Box<Project> {
    let views = Views { eye: eye.camera, kept: simulations.views.clone() };
    Box::new(Project { chosen: simulations.selected_index(), views, ..Project::of(simulations.all().to_vec()) })
}

/// Offers what breakdowns left behind until each is answered, here or at a later start.
pub(super) fn offer(mut document: ResMut<Document>, mut notices: ResMut<Notices>) {
    let left_behind = &mut document.bypass_change_detection().left_behind;
    while notices.questions() < OFFERS
        && let Some(path) = left_behind.pop()
    {
        let modified = fs::metadata(&path).and_then(|file| file.modified()).ok();
        let age =
            modified.and_then(|then| then.elapsed().ok()).map_or_else(String::new, |age| format!(" {}", ago(age)));
        let text = format!("Thalweg ended unexpectedly{age}. The work was kept in {}.", path.display());
        let open = FileCommand::Open(path.clone(), Options::default());
        notices.ask(text, [("Open it", open.into()), ("Throw it away", FileCommand::ThrowAway(path).into())]);
    }
}

/// A time that has passed, in words.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (count, unit) = match minutes {
        0..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// Makes a session what is saved: the state between two ticks, and not that of a run that breaks there.
pub(super) fn finish_tick(session: &mut Session, path: &Path) -> Result<(), Error> {
    if !session.simulation.between_ticks() {
        session.simulation.tick();
    }
    let fault = session.simulation.fault();
    fault.map_or(Ok(()), |fault| Err(Error::output(path, fault.to_string(), "go back and save what was before")))
}

/// Writes a project as it is after the present tick.
pub(super) fn save(project: &mut Project, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    project.sessions.iter_mut().try_for_each(|session| finish_tick(session, path))?;
    project::save(project, path, progress)
}

/// Keeps the work every few minutes, and what is about to be replaced, whether a hand changed it or time alone.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
pub(super) fn keep(
    mut leaving: MessageReader<AppExit>,
    simulations: Res<Simulations>,
    eye: Res<Eye>,
    history: Res<History>,
    preferences: Res<Preferences>,
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    let document = document.bypass_change_detection();
    let now = (history.changes(), simulations.ticks());
    let fresh = document.kept != now;
    if let Some(exit) = leaving.read().last() {
        let keepers = std::mem::take(&mut document.keepers);
        if exit.is_success() && !jobs.failed {
            keepers.into_iter().for_each(Keeper::end);
        } else if let Some(keeper) = keepers.last() {
            // It did not end as planned: what lies there is offered at the next start.
            let held = jobs.held.take();
            if fresh || document.handed_over {
                let mut project = project(held.as_ref().map_or(&simulations, |held| &held.before), *eye);
                match save(&mut project, keeper.path(), &JobProgress::default()) {
                    Err(error) => error!("{error}"),
                    Ok(_) => document.left = Some(keeper.path().to_owned()),
                }
            }
        }
        return;
    }
    let Some(keeper) = document.keepers.last().filter(|_| !jobs.hold()) else { return };
    let minutes = preferences.settings.autosave;
    let due = minutes > 0.0 && document.kept_at.elapsed() > Duration::from_secs_f32(60.0 * EARLY * minutes);
    if !(std::mem::take(&mut document.keeps_now) || due) {
        return;
    }
    document.kept_at = Instant::now();
    if fresh {
        let (path, mut project) = (keeper.path().to_owned(), project(&simulations, *eye));
        let keep = move |progress: &JobProgress| save(&mut project, &path, progress).map(|()| now);
        let kept = |In(now): In<(u64, u64)>, mut document: ResMut<Document>| document.is_kept(now);
        jobs.start(&mut notices, Job::new(JobKind::Beside, ""), keep, kept);
    }
}
