//! Jobs: files are read and written, ranges grown, and quizzes prepared beside the frames, and what they bring arrives as a whole.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;

use super::{FileCommand, Level, Notices, Revision, Simulations, background::Background};
use thalweg_scene::{
    io::{Error, JobProgress, Pixels, output},
    settings::picture_folder,
};
use thalweg_sim::core::{grid::Grid, terrain::Layer};

/// Bedrock and sand of each session as they are while a range grows, until they are taken to be shown.
pub(super) type Sheets = Arc<Mutex<Vec<Option<[Grid; 2]>>>>;

/// What a job does to the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// It leaves the work alone.
    Beside,
    /// It saves the work where the person wants it.
    Saves,
    /// It makes something of the work, which is put away meanwhile.
    Holds,
    /// It begins another work. Of several, the last one counts.
    Opens,
}

/// A job before it is started.
pub struct Job {
    /// What the person is told meanwhile; nothing, if it is empty.
    pub text: String,
    /// What it does to the work.
    pub kind: JobKind,
    /// Whether the person can cancel it.
    pub cancels: bool,
    /// What is to be done if it fails.
    pub fails: fn(&mut World),
}

impl Job {
    /// A job of this kind. The person can cancel it if it changes or replaces the work.
    pub fn new(kind: JobKind, text: impl Into<String>) -> Self {
        let cancels = matches!(kind, JobKind::Holds | JobKind::Opens);
        Self { text: text.into(), kind, cancels, fails: |_| {} }
    }
}

/// Gives the output of a job to the system that waits for it.
type Delivery = Box<dyn FnOnce(&mut World) + Send>;

/// A job in the background.
struct RunningJob {
    /// The notice that tells of it.
    notice: Option<u64>,
    /// How far it is, and whether it is still wanted.
    progress: JobProgress,
    kind: JobKind,
    fails: fn(&mut World),
    work: Background<(), Result<Delivery, Error>>,
}

/// Message after a computation in the background has panicked.
pub(super) const PANICKED: &str = "The job failed because of a bug in Thalweg. A report is in the log folder.";

/// All jobs.
#[derive(Resource, Default)]
pub struct Jobs {
    running: Vec<RunningJob>,
    /// The work, while something is made of it.
    pub(super) held: Option<Held>,
    /// Whether the work could not be saved while the program ended.
    pub(super) failed: bool,
    /// Where pictures are written, if not into the person's folder.
    pub pictures: Option<PathBuf>,
}

/// The work while something is made of it: nothing else can be done to it until that has ended.
pub(super) struct Held {
    /// As it was.
    pub before: Arc<Simulations>,
    /// What is shown in its place.
    pub sheets: Sheets,
    /// What is being done, as the beginning of a sentence.
    pub doing: &'static str,
}

impl Jobs {
    /// Number of jobs that are not finished.
    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// A name in the folder of pictures that nothing has yet.
    pub fn free_picture(&self, stem: &str, ending: &str) -> PathBuf {
        free_name(&self.pictures.clone().unwrap_or_else(picture_folder), stem, ending)
    }

    /// Whether something is made of the work, which is put away meanwhile.
    pub fn hold(&self) -> bool {
        self.held.is_some()
    }

    /// Returns `true` while something changes, replaces or saves the work.
    pub(super) fn concern_the_work(&self) -> bool {
        self.running.iter().any(|job| job.kind != JobKind::Beside)
    }

    /// Cancels what changes or replaces the work.
    pub(super) fn cancel_changes(&self) {
        let changing = self.running.iter().filter(|job| matches!(job.kind, JobKind::Holds | JobKind::Opens));
        changing.for_each(|job| job.progress.cancel());
    }

    /// Starts a job. Its output is the input of `then`, a system that runs in [`FrameSystems::Obey`](super::FrameSystems::Obey).
    pub fn start<T: Send + 'static, M: 'static>(
        &mut self,
        notices: &mut Notices,
        job: Job,
        work: impl FnOnce(&JobProgress) -> Result<T, Error> + Send + 'static,
        then: impl IntoSystem<In<T>, (), M> + Send + 'static,
    ) {
        let Job { text, kind, cancels, fails } = job;
        if kind == JobKind::Opens {
            // The last choice wins.
            for job in self.running.iter_mut().filter(|job| job.kind == JobKind::Opens) {
                job.progress.cancel();
                job.notice.take().into_iter().for_each(|notice| notices.dismiss(notice));
            }
        }
        let progress = JobProgress::default();
        let notice = (!text.is_empty()).then(|| notices.work(text, progress.clone()));
        if let Some(notice) = notice.filter(|_| cancels) {
            notices.let_act(notice, "Cancel", FileCommand::CancelJob(notice));
        }
        let work = Background::start((), {
            let progress = progress.clone();
            move || {
                let output = work(&progress)?;
                let delivery: Delivery = Box::new(move |world| {
                    if let Err(error) = world.run_system_cached_with(then, output) {
                        error!("failed to apply the output of a job: {error}");
                    }
                });
                Ok(delivery)
            }
        });
        self.running.push(RunningJob { notice, progress, kind, fails, work });
    }

    /// Writes a picture beside the frames.
    pub fn save_picture(&mut self, notices: &mut Notices, stem: String, size: (usize, usize), pixels: Pixels) {
        let folder = self.pictures.clone().unwrap_or_else(picture_folder);
        let write = move |progress: &JobProgress| {
            let path = free_name(&folder, &stem, pixels.ending());
            output::replace(&path, |file| pixels.write(file, size, progress))?;
            Ok(path)
        };
        self.start(notices, Job::new(JobKind::Beside, "Saving picture…"), write, tell_written);
    }
}

/// Tells that a file was written, and offers to open its folder.
pub(crate) fn tell_written(In(path): In<PathBuf>, mut notices: ResMut<Notices>) {
    let folder = path.parent().unwrap_or(Path::new(""));
    notices.offer_folder(format!("Saved {}.", path.display()), folder);
}

/// Takes over what finished jobs bring. What was changed meanwhile stays.
pub(super) fn take_over(world: &mut World) {
    // Looked at every frame, changed rarely. What these begin is taken in another frame.
    let mut jobs = world.resource_mut::<Jobs>();
    let running = &mut jobs.bypass_change_detection().running;
    let finished: Vec<RunningJob> = running.extract_if(.., |job| job.work.is_finished()).collect();
    for RunningJob { notice, work, progress, kind, fails } in finished {
        notice.into_iter().for_each(|notice| world.resource_mut::<Notices>().dismiss(notice));
        if kind == JobKind::Holds {
            put_back(world);
        }
        let replaces = matches!(kind, JobKind::Holds | JobKind::Opens);
        const CANCELLED: &str = "Cancelled. Nothing changed.";
        let failed = match work.join() {
            // Another work was chosen meanwhile, or none, or the work is to stay as it was.
            Some(_) if replaces && progress.is_cancelled() => {
                if notice.is_some() {
                    world.resource_mut::<Notices>().tell(Level::Info, CANCELLED);
                }
                continue;
            }
            Some(Ok(deliver)) => {
                deliver(world);
                continue;
            }
            Some(Err(_)) if progress.is_cancelled() => {
                world.resource_mut::<Notices>().tell(Level::Info, CANCELLED);
                continue;
            }
            Some(Err(error)) => format!("{error}."),
            None => PANICKED.to_owned(),
        };
        world.resource_mut::<Notices>().tell(Level::Error, failed);
        fails(world);
    }
}

/// Puts the work back in its place.
fn put_back(world: &mut World) {
    if let Some(Held { before, .. }) = world.resource_mut::<Jobs>().held.take() {
        *world.resource_mut::<Simulations>() = Arc::unwrap_or_clone(before);
        world.resource_mut::<Revision>().goes_on();
    }
}

/// Shows the last of a range that grows. What stands there is put away until it has grown.
pub(super) fn show_growth(jobs: Res<Jobs>, mut simulations: ResMut<Simulations>, mut revision: ResMut<Revision>) {
    let Some(Held { sheets, .. }) = &jobs.held else { return };
    let sheets: Vec<_> = sheets.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().map(Option::take).collect();
    for (session, sheet) in simulations.all_mut().iter_mut().zip(sheets) {
        let Some([bedrock, sand]) = sheet else { continue };
        let terrain = &mut session.simulation.terrain;
        (terrain.bedrock, terrain.sand) = (bedrock, sand);
        terrain.set_layer(Layer::Water, None);
        revision.goes_on();
    }
}

/// A name for a picture that nothing has yet.
fn free_name(folder: &Path, stem: &str, ending: &str) -> PathBuf {
    let numbered = (2_u64..).map(|number| folder.join(format!("{stem}-{number}.{ending}")));
    // A film may become a folder of pictures.
    let free = |path: &PathBuf| !path.exists() && !path.with_extension("").exists();
    let plain = folder.join(format!("{stem}.{ending}"));
    std::iter::once(plain).chain(numbered).find(free).expect("a folder holds fewer files than there are numbers")
}

/// The last part of a path, as a person calls the file.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A file that is being written is finished before the program ends. What fails then is said on standard error and in the
/// log: there is no window any more.
pub(super) fn wait_before_exit(mut leaving: MessageReader<AppExit>, mut jobs: ResMut<Jobs>) {
    if leaving.read().next().is_some() {
        jobs.cancel_changes();
        let mut failed = false;
        for job in jobs.running.drain(..) {
            match job.work.join() {
                Some(Ok(_)) => continue,
                Some(Err(_)) if job.progress.is_cancelled() => continue,
                Some(Err(error)) => error!("{error}"),
                None => error!("work broke off by a fault of the program"),
            }
            failed |= job.kind == JobKind::Saves;
        }
        jobs.failed = failed;
    }
}
