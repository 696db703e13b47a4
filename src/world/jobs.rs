//! Background jobs: reading and writing files, growing mountain ranges, preparing quizzes. Their output is applied as a whole.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;

use super::{
    Document, FileCommand, NoticeLevel, Notices, Restarts, Revision, Simulations, background::BackgroundTask, card,
    restart,
};
use thalweg_scene::{
    io::{Error, ImagePixels, JobProgress, output},
    settings::screenshot_folder,
};
use thalweg_sim::core::{grid::Grid, terrain::Layer};

/// Bedrock and sand of each session while a mountain range grows, until they are taken for display.
pub(super) type PreviewLayers = Arc<Mutex<Vec<Option<[Grid; 2]>>>>;

/// Effect of a job on the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Does not affect the project.
    Independent,
    /// Saves the project to a file of the user.
    Save,
    /// Derives a new state from the project, which is locked meanwhile.
    Exclusive,
    /// Opens another project. Only the last one of several takes effect.
    Open,
}

/// Job before its start.
pub struct Job {
    /// Text of the notification; none if empty.
    pub text: String,
    /// Effect on the project.
    pub kind: JobKind,
    /// `true` if the user can cancel it.
    pub is_cancellable: bool,
    /// Called if it fails.
    pub on_failure: fn(&mut World),
}

impl Job {
    /// Creates a job of this kind. The user can cancel it if it changes or replaces the project.
    pub fn new(kind: JobKind, text: impl Into<String>) -> Self {
        let cancels = matches!(kind, JobKind::Exclusive | JobKind::Open);
        Self { text: text.into(), kind, is_cancellable: cancels, on_failure: |_| {} }
    }
}

/// Callback that passes the output of a job to the system that waits for it.
type Delivery = Box<dyn FnOnce(&mut World) + Send>;

/// Running job.
struct RunningJob {
    /// Identifier of its notification.
    notice: Option<u64>,
    /// Progress and cancellation.
    progress: JobProgress,
    kind: JobKind,
    fails: fn(&mut World),
    task: BackgroundTask<(), Result<Delivery, Error>>,
    /// File that is saved, if the job is a save.
    file: Option<PathBuf>,
}

/// Function that saves a file.
type Save = dyn FnOnce(&Path, &JobProgress) -> Result<(), Error> + Send + Sync;

/// Callback after a file is saved.
type Saved = dyn FnOnce(&mut World) + Send + Sync;

/// Save that waits for the previous one of its file.
struct PendingSave {
    /// `true` if the result is reported, `false` if only errors are.
    is_reported: bool,
    save: Box<Save>,
    then: Box<Saved>,
}

/// Message after a panic of a background computation.
pub(super) const PANICKED: &str = "The job failed because of a bug in Thalweg. A crash report is in the log folder.";

/// All jobs.
#[derive(Resource, Default)]
pub struct Jobs {
    running: Vec<RunningJob>,
    /// Pending saves, by file.
    saves: BTreeMap<PathBuf, PendingSave>,
    /// The locked project, while a job derives a new state from it.
    pub(super) locked: Option<LockedProject>,
    /// `true` if a file of the user could not be written while the program exited.
    pub(super) failed: bool,
    /// Folder of screenshots, if not the user's.
    pub screenshot_folder: Option<PathBuf>,
}

/// Locked project, which cannot be changed until the job has finished.
pub(super) struct LockedProject {
    /// State when it was locked.
    pub before: Arc<Simulations>,
    /// Layers to display meanwhile.
    pub preview_layers: PreviewLayers,
    /// Description of the job, as the beginning of a sentence.
    pub description: &'static str,
}

impl Jobs {
    /// Returns the number of unfinished jobs.
    pub fn count(&self) -> usize {
        self.running.len() + self.saves.len()
    }

    /// Returns an unused file name in the folder of screenshots.
    pub fn unused_screenshot_path(&self, stem: &str, ending: &str) -> PathBuf {
        free_name(&self.screenshot_folder.clone().unwrap_or_else(screenshot_folder), stem, ending)
    }

    /// Returns `true` while a job derives a new state from the project, which is locked meanwhile.
    pub fn is_project_locked(&self) -> bool {
        self.locked.is_some()
    }

    /// Returns `true` while a job changes, replaces or saves the project.
    pub(super) fn has_project_jobs(&self) -> bool {
        self.running.iter().any(|job| job.kind != JobKind::Independent)
    }

    /// Cancels jobs that change or replace the project.
    pub(super) fn cancel_changes(&self) {
        let changing = self.running.iter().filter(|job| matches!(job.kind, JobKind::Exclusive | JobKind::Open));
        changing.for_each(|job| job.progress.cancel());
    }

    /// Cancels everything that the user waits for, except for saving the project.
    pub(super) fn cancel_exports(&mut self) {
        self.saves.retain(|_, pending| !pending.is_reported);
        let waited_for = self.running.iter().filter(|job| job.notice.is_some() && job.kind != JobKind::Save);
        waited_for.for_each(|job| job.progress.cancel());
    }

    /// Starts a job. Its output is passed to `then`, a system that runs in [`FrameSystems::Execute`](super::FrameSystems::Execute).
    pub fn start<T: Send + 'static, M: 'static>(
        &mut self,
        notices: &mut Notices,
        job: Job,
        work: impl FnOnce(&JobProgress) -> Result<T, Error> + Send + 'static,
        then: impl IntoSystem<In<T>, (), M> + Send + 'static,
    ) {
        let Job { text, kind, is_cancellable: cancels, on_failure: fails } = job;
        if kind == JobKind::Open {
            // The last one wins.
            for job in self.running.iter_mut().filter(|job| job.kind == JobKind::Open) {
                job.progress.cancel();
                job.notice.take().into_iter().for_each(|notice| notices.dismiss(notice));
            }
        }
        let progress = JobProgress::default();
        let notice = (!text.is_empty()).then(|| notices.notify_progress(text, progress.clone()));
        if let Some(notice) = notice.filter(|_| cancels) {
            notices.add_button(notice, "Cancel", FileCommand::CancelJob(notice));
        }
        let task = BackgroundTask::start((), {
            let progress = progress.clone();
            move || {
                let output = progress.observe(|| work(&progress))?;
                let delivery: Delivery = Box::new(move |world| {
                    if let Err(error) = world.run_system_cached_with(then, output) {
                        error!("failed to apply the output of a job: {error}");
                    }
                });
                Ok(delivery)
            }
        });
        self.running.push(RunningJob { notice, progress, kind, fails, task, file: None });
    }

    /// Saves a file of the user in the background, and reports the result. While a file is being saved, only the last of several requests
    /// is kept.
    pub fn save(
        &mut self,
        notices: &mut Notices,
        path: &Path,
        save: impl FnOnce(&Path, &JobProgress) -> Result<(), Error> + Send + Sync + 'static,
    ) {
        self.save_then(notices, path, save, |_| {});
    }

    /// Saves a file of the user in the same way, and calls `then` once it is saved.
    pub fn save_then(
        &mut self,
        notices: &mut Notices,
        path: &Path,
        save: impl FnOnce(&Path, &JobProgress) -> Result<(), Error> + Send + Sync + 'static,
        then: impl FnOnce(&mut World) + Send + Sync + 'static,
    ) {
        let pending = PendingSave { is_reported: true, save: Box::new(save), then: Box::new(then) };
        self.saves.insert(path.to_owned(), pending);
        self.start_saves(notices);
    }

    /// Saves a file of the program itself in the same way, but reports only errors.
    pub(super) fn autosave(
        &mut self,
        path: &Path,
        save: impl FnOnce(&Path) -> Result<(), Error> + Send + Sync + 'static,
    ) {
        self.autosave_then(path, |path, _| save(path), |_| {});
    }

    /// Saves a file of the program itself in the same way, and calls `then` once it is saved.
    pub(super) fn autosave_then(
        &mut self,
        path: &Path,
        save: impl FnOnce(&Path, &JobProgress) -> Result<(), Error> + Send + Sync + 'static,
        then: impl FnOnce(&mut World) + Send + Sync + 'static,
    ) {
        let pending = PendingSave { is_reported: false, save: Box::new(save), then: Box::new(then) };
        self.saves.insert(path.to_owned(), pending);
    }

    /// Starts pending saves whose files are not being saved.
    fn start_saves(&mut self, notices: &mut Notices) {
        let is_free = |path: &PathBuf| !self.running.iter().any(|job| job.file.as_ref() == Some(path));
        let due: Vec<_> = self.saves.extract_if(.., |path, _| is_free(path)).collect();
        for (path, PendingSave { is_reported, save, then }) in due {
            let text = if is_reported { format!("Saving {}…", name(&path)) } else { String::new() };
            let target = path.clone();
            let save = move |progress: &JobProgress| {
                save(&target, progress)?;
                Ok((is_reported.then_some(target), then))
            };
            self.start(notices, Job::new(JobKind::Independent, text), save, finish_save);
            self.running.last_mut().expect("it was just started").file = Some(path);
        }
    }

    /// Saves a screenshot in the background.
    pub fn save_screenshot(&mut self, notices: &mut Notices, stem: String, size: (usize, usize), pixels: ImagePixels) {
        let folder = self.screenshot_folder.clone().unwrap_or_else(screenshot_folder);
        let write = move |progress: &JobProgress| {
            let path = free_name(&folder, &stem, pixels.ending());
            output::replace(&path, |file| pixels.write(file, size, progress))?;
            Ok(path)
        };
        let tell = |In(path): In<PathBuf>, mut notices: ResMut<Notices>| notices.offer_file(&path);
        self.start(notices, Job::new(JobKind::Independent, "Saving screenshot…"), write, tell);
    }
}

/// Calls what follows the save of a file, and reports the file unless there is none to report.
fn finish_save(In((path, then)): In<(Option<PathBuf>, Box<Saved>)>, world: &mut World) {
    then(world);
    if let Some(path) = path {
        world.resource_mut::<Notices>().offer_file(&path);
    }
}

/// Applies the output of finished jobs. Changes made meanwhile are kept.
pub(super) fn apply_outputs(world: &mut World) {
    // Jobs started here are taken in another frame.
    world.resource_scope(|world, mut jobs: Mut<Jobs>| jobs.start_saves(&mut world.resource_mut::<Notices>()));
    let mut jobs = world.resource_mut::<Jobs>();
    let finished: Vec<RunningJob> = jobs.running.extract_if(.., |job| job.task.is_finished()).collect();
    for RunningJob { notice, task, progress, kind, fails, file } in finished {
        notice.into_iter().for_each(|notice| world.resource_mut::<Notices>().dismiss(notice));
        if kind == JobKind::Exclusive {
            restore_locked(world);
        }
        let replaces = matches!(kind, JobKind::Exclusive | JobKind::Open);
        const CANCELLED: &str = "Cancelled. Nothing changed.";
        let failed = match task.join() {
            // Superseded by another project, or cancelled.
            Some(_) if replaces && progress.is_cancelled() => {
                if notice.is_some() {
                    world.resource_mut::<Notices>().notify(NoticeLevel::Info, CANCELLED);
                }
                continue;
            }
            Some(Ok(deliver)) => {
                if file.is_none() {
                    card::bring_back(world);
                }
                if file.is_none() && world.get_resource::<Restarts>().is_some_and(Restarts::is_active) {
                    world.run_system_cached(restart::complete).expect("its parameters are there");
                }
                deliver(world);
                continue;
            }
            Some(Err(_)) if progress.is_cancelled() => {
                world.resource_mut::<Notices>().notify(NoticeLevel::Info, CANCELLED);
                continue;
            }
            Some(Err(error)) => format!("{error}."),
            None => PANICKED.to_owned(),
        };
        world.resource_mut::<Notices>().notify(NoticeLevel::Error, failed);
        // The window stays open, so that the user sees the error; other errors do not keep a saved project from closing.
        world.resource_scope(|world, mut document: Mut<Document>| {
            if kind == JobKind::Save || document.exits_when_written() {
                document.cancel_exit(&mut world.resource_mut::<Notices>());
            }
        });
        fails(world);
    }
}

/// Restores the locked project.
fn restore_locked(world: &mut World) {
    if let Some(LockedProject { before, .. }) = world.resource_mut::<Jobs>().locked.take() {
        *world.resource_mut::<Simulations>() = Arc::unwrap_or_clone(before);
        world.resource_mut::<Revision>().next_state();
    }
}

/// Displays the latest state of a growing mountain range in place of the locked project.
pub(super) fn show_growth(jobs: Res<Jobs>, mut simulations: ResMut<Simulations>, mut revision: ResMut<Revision>) {
    let Some(LockedProject { preview_layers: layers, .. }) = &jobs.locked else { return };
    let layers: Vec<_> = layers.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().map(Option::take).collect();
    for (session, sheet) in simulations.all_mut().iter_mut().zip(layers) {
        let Some([bedrock, sand]) = sheet else { continue };
        let terrain = &mut session.simulation.terrain;
        (terrain.bedrock, terrain.sand) = (bedrock, sand);
        terrain.set_layer(Layer::Water, None);
        revision.next_state();
    }
}

/// Returns an unused file name.
fn free_name(folder: &Path, stem: &str, ending: &str) -> PathBuf {
    let numbered = (2_u64..).map(|number| folder.join(format!("{stem}-{number}.{ending}")));
    // A video may become a folder of images.
    let free = |path: &PathBuf| !path.exists() && !path.with_extension("").exists();
    let plain = folder.join(format!("{stem}.{ending}"));
    std::iter::once(plain).chain(numbered).find(free).expect("a folder holds fewer files than there are numbers")
}

/// Returns the file name of a path for display.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Completes files being written before the program exits. Errors go to standard error and the log, as the window is gone.
pub(super) fn finish_saving(mut leaving: MessageReader<AppExit>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>) {
    if leaving.read().next().is_some() {
        jobs.cancel_changes();
        let mut failed = false;
        while !(jobs.running.is_empty() && jobs.saves.is_empty()) {
            for job in jobs.running.drain(..) {
                match job.task.join() {
                    Some(Ok(_)) => continue,
                    Some(Err(_)) if job.progress.is_cancelled() => continue,
                    Some(Err(error)) => error!("{error}"),
                    None => error!("a job panicked"),
                }
                failed |= job.notice.is_some();
            }
            jobs.start_saves(&mut notices);
        }
        jobs.failed = failed;
    }
}
