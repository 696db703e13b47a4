//! Work beside the frames: files are read and written, ranges grown, rivers and lakes filled, outlets carved and quizzes prepared in the background, and what they bring
//! arrives as a whole.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;

use super::{FileCommand, Label, Notices, QuizQuestion, Simulations, background::Background};
use thalweg_scene::{
    io::{
        Budget, Error, JobProgress, NewLand, Pixels,
        export::{self, Dimensions, Export, Subject},
        heightmap, lesson, output, playlist,
        project::{self, Project},
        scene,
    },
    model::{
        film::Keys,
        lesson::Lesson,
        origin::{Heightmap, Options, Tile},
        playlist::Playlist,
        session::Session,
    },
    settings::picture_folder,
};
use thalweg_sim::{
    core::{grid::Grid, terrain::Layer},
    hydrology::breach::{Breached, Limits},
    simulation::{grow::GrowthEnd, water::Balance},
};

/// Bedrock and sand of each session as they are while a range grows, until they are taken to be shown.
pub(super) type Sheets = Arc<Mutex<Vec<Option<[Grid; 2]>>>>;

/// What is to be done.
pub(super) enum Task {
    Open(PathBuf, Options),
    New(Box<NewLand>),
    /// Opens this scene of a playlist.
    Perform(Arc<Playlist>, usize),
    /// Fits a map of sand, softness or rain to (columns, rows).
    Load(Layer, PathBuf, Options, (usize, usize)),
    /// A heightmap for the stamp.
    Stamp(PathBuf),
    SaveMap(&'static str, PathBuf, Box<Session>),
    /// Several results into a folder, with a word before each name.
    Export(PathBuf, String, Vec<Export>, Dimensions, Box<Session>),
    SaveScene(PathBuf, Box<Session>),
    /// The work, its count of changes and ticks, and its number.
    SaveProject(PathBuf, Box<Project>, (u64, u64), u64),
    /// The work, in case the program breaks down, and its count of changes and ticks; no message tells of it.
    Keep(PathBuf, Box<Project>, (u64, u64)),
    /// A range in the place of the ground of every session.
    Grow(Arc<Simulations>, Sheets),
    /// Rivers and lakes of every session in balance.
    FillRivers(Arc<Simulations>),
    /// Water in the depressions of every session.
    FillLakes(Arc<Simulations>),
    /// Outlets of the depressions of every session.
    CarveOutlets(Arc<Simulations>, Limits),
    /// A quiz about a copy of the selected session, chosen by this seed, for the work of this number.
    Quiz(Box<Session>, u64, u64),
    /// Under a name in a folder that nothing has yet.
    SavePicture(PathBuf, String, (usize, usize), Pixels),
}

/// What came of it.
pub(super) enum JobOutcome {
    /// Sessions that replace the present ones, and what the step is called.
    Sessions(Label, Vec<Session>),
    /// A playlist that is to be shown.
    Playlist(Playlist),
    /// The sessions of a scene of the playlist that is shown, its title, and the keys of the camera that it brings.
    Performed(String, Vec<Session>, Keys),
    /// A lesson, and the session on which it plays.
    Lesson(Box<Lesson>, Box<Session>),
    /// Heights that replace the present terrain.
    Heights(PathBuf, Options, Heightmap),
    /// A map of sand, softness or rain, and warnings.
    Map(Layer, PathBuf, Grid, Vec<String>),
    /// A relief from 0 to 1, and what it is called.
    Stamp(String, Grid),
    /// A project that replaces the present sessions, and its file.
    Project(PathBuf, Box<Project>),
    /// The work of this number was saved as it was after so many changes and ticks. The text says how large it is.
    Saved(PathBuf, (u64, u64), u64, String),
    /// The work was kept as it was after so many changes and ticks. No message tells of it.
    Kept((u64, u64)),
    /// So many files were written into a folder.
    Exported(PathBuf, usize),
    /// Sessions whose ground is a grown range, and `true` if every range is mature.
    Grown(Vec<Session>, bool),
    /// The water of every session.
    Filled(Vec<Balance>),
    /// Sessions with full lakes, and the volume of water that was added, in cubic metres.
    LakesFilled(Vec<Session>, f64),
    /// Sessions with outlets, and what was cut.
    Carved(Vec<Session>, Breached),
    /// A question with its two runs, if a parameter shows, for the work of this number.
    Quiz(Option<(QuizQuestion, [Tile; 2])>, u64),
    /// A file was written.
    Written(PathBuf),
}

/// Work that is being done.
#[derive(Resource, Default)]
pub struct Jobs {
    running: Vec<Job>,
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

/// A task in the background.
pub(super) struct Job {
    /// The notice that tells of it.
    pub notice: Option<u64>,
    /// How far it is, and whether it is still wanted.
    pub progress: JobProgress,
    /// Whether it saves the work where the person wants it.
    pub saves: bool,
    /// Whether it holds the work.
    pub holds: bool,
    /// Whether it begins another work. Of several, the last one counts.
    pub opens: bool,
    pub work: Background<(), Result<JobOutcome, Error>>,
}

impl Jobs {
    /// Takes out a job that is finished, if one is.
    pub(super) fn take_finished(&mut self) -> Option<Job> {
        let index = self.running.iter().position(|job| job.work.is_finished())?;
        Some(self.running.swap_remove(index))
    }

    /// Number of jobs that are not finished.
    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// Writes a picture beside the frames.
    pub fn save_picture(&mut self, notices: &mut Notices, stem: String, size: (usize, usize), pixels: Pixels) {
        let folder = self.pictures.clone().unwrap_or_else(picture_folder);
        self.start(notices, Task::SavePicture(folder, stem, size, pixels));
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
        self.running.iter().any(|job| job.holds || job.opens || job.saves)
    }

    /// Cancels what changes or replaces the work.
    pub(super) fn cancel_changes(&self) {
        self.running.iter().filter(|job| job.holds || job.opens).for_each(|job| job.progress.cancel());
    }

    /// Starts a task.
    pub(super) fn start(&mut self, notices: &mut Notices, task: Task) {
        let text = match &task {
            Task::Open(input, _) => format!("Opening {} …", title(input)),
            Task::New(_) => "Making new land …".to_owned(),
            // A room does not need to read that.
            Task::Perform(..) => String::new(),
            Task::Load(layer, path, ..) => {
                format!("Loading {} as {} …", name(path), layer.import_title().to_lowercase())
            }
            Task::Stamp(path) => format!("Loading {} for the stamp …", name(path)),
            Task::SaveMap(map, path, ..) => format!("Saving {map} as {} …", name(path)),
            Task::Export(folder, ..) => format!("Writing into {} …", folder.display()),
            Task::SaveScene(path, _) | Task::SaveProject(path, ..) => format!("Saving {} …", name(path)),
            Task::Keep(..) => String::new(),
            Task::Grow(..) => "A range grows …".to_owned(),
            Task::FillRivers(..) => "Rivers are being filled …".to_owned(),
            Task::FillLakes(..) => "Lakes are being filled …".to_owned(),
            Task::CarveOutlets(..) => "Outlets are being cut …".to_owned(),
            Task::Quiz(..) => "Looking for a parameter that shows …".to_owned(),
            Task::SavePicture(..) => "Saving a picture …".to_owned(),
        };
        let saves = matches!(task, Task::SaveProject(..));
        let holds =
            matches!(task, Task::Grow(..) | Task::FillRivers(..) | Task::FillLakes(..) | Task::CarveOutlets(..));
        let opens = matches!(task, Task::Open(..) | Task::New(_) | Task::Perform(..) | Task::Quiz(..));
        if opens {
            // The last choice wins.
            for job in self.running.iter_mut().filter(|job| job.opens) {
                job.progress.cancel();
                job.notice.take().into_iter().for_each(|notice| notices.dismiss(notice));
            }
        }
        let progress = JobProgress::default();
        let notice = (!text.is_empty()).then(|| notices.work(text, progress.clone()));
        if (holds || opens || matches!(task, Task::Export(..)))
            && let Some(notice) = notice
        {
            notices.let_act(notice, "Cancel", FileCommand::CancelJob(notice));
        }
        let work = Background::start((), {
            let progress = progress.clone();
            move || task.run(&progress)
        });
        self.running.push(Job { notice, progress, saves, holds, opens, work });
    }
}

impl Task {
    fn run(self, progress: &JobProgress) -> Result<JobOutcome, Error> {
        match self {
            Self::Open(path, _) if project::is_project(&path) => {
                let project = project::open_whole(&path)?;
                Ok(JobOutcome::Project(path, Box::new(project)))
            }
            Self::Open(path, _) if lesson::is_lesson(&path) => {
                let (lesson, session) = lesson::open(&path)?;
                Ok(JobOutcome::Lesson(Box::new(lesson), Box::new(session)))
            }
            Self::Open(path, _) if playlist::is_playlist_file(&path) => {
                Ok(JobOutcome::Playlist(playlist::read(&path)?))
            }
            Self::Perform(list, at) => {
                let item = &list.scenes[at];
                let sessions = playlist::open(item)?;
                let title = if item.title.is_empty() { title(&item.open) } else { item.title.clone() };
                Ok(JobOutcome::Performed(title, sessions, playlist::keys(item)))
            }
            Self::Open(input, options) => {
                let sessions = scene::open(&input, &options)?;
                Ok(JobOutcome::Sessions(Label::Opened(title(&input)), sessions))
            }
            Self::New(land) => Ok(JobOutcome::Sessions(Label::NewLand, vec![land.open()?])),
            Self::Load(Layer::Bedrock, path, options, _) => {
                let map = heightmap::read(&path, &options)?;
                Ok(JobOutcome::Heights(path, options, map))
            }
            Self::Load(layer, path, _, size) => {
                let (map, warnings) = heightmap::read_layer(&path, size, layer)?;
                Ok(JobOutcome::Map(layer, path, map, warnings))
            }
            Self::Stamp(path) => {
                let map = heightmap::read(&path, &Options::default())?;
                let (low, high) = map.heights.min_max();
                let mut relief = map.heights;
                let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
                relief.iter_mut().for_each(|height| *height = (*height - low) * scale);
                Ok(JobOutcome::Stamp(name(&path), relief))
            }
            Self::SaveMap(map, path, mut session) => {
                finish_tick(&mut session, &path)?;
                let ending = path.extension().unwrap_or_default().to_string_lossy();
                let exports: Vec<Export> = Export::new(map, &ending).into_iter().collect();
                let subject = Subject::new(&session, Dimensions::default(), &exports)?;
                Export::save(map, &subject, &path, progress)?;
                Ok(JobOutcome::Written(path))
            }
            Self::Export(folder, before, exports, dimensions, mut session) => {
                finish_tick(&mut session, &folder)?;
                let subject = Subject::new(&session, dimensions, &exports)?;
                let written = export::save_all(&exports, &subject, &folder, &before, progress)?;
                Ok(JobOutcome::Exported(folder, written.len()))
            }
            Self::SavePicture(folder, stem, size, pixels) => {
                let path = free_name(&folder, &stem, pixels.ending());
                output::replace(&path, |file| pixels.write(file, size, progress))?;
                Ok(JobOutcome::Written(path))
            }
            Self::SaveProject(path, mut project, now, work) => {
                save(&mut project, &path, progress)?;
                let timeline = Budget::of(project.timeline.bytes());
                let size = std::fs::metadata(&path).ok().map(|file| Budget::of(file.len()));
                let size = match (size, project.timeline.frames.len()) {
                    (None, _) => ".".to_owned(),
                    (Some(size), 0) => format!(": {size}."),
                    (Some(size), 1) => format!(": {size}. The timeline takes {timeline} (1 state)."),
                    (Some(size), states) => {
                        format!(": {size}. The timeline takes {timeline} ({states} states).")
                    }
                };
                Ok(JobOutcome::Saved(path, now, work, size))
            }
            Self::Keep(path, mut project, now) => {
                save(&mut project, &path, progress)?;
                Ok(JobOutcome::Kept(now))
            }
            Self::Grow(before, sheets) => {
                let mut sessions = before.all().to_vec();
                drop(before);
                let (all, mut mature) = (sessions.len() as f32, true);
                for (index, session) in sessions.iter_mut().enumerate() {
                    let title = PathBuf::from(&session.title);
                    let size = (session.simulation.terrain.width(), session.simulation.terrain.height());
                    let end = session.grow(|growth| {
                        progress.done((1000.0 * (index as f32 + growth.share) / all) as usize, 1000);
                        let sheet = &mut sheets.lock().unwrap_or_else(PoisonError::into_inner)[index];
                        // Made anew when the last one was taken.
                        if sheet.is_none() {
                            *sheet = Some(growth.layers().map(|layer| layer.resampled(size.0, size.1)));
                        }
                        !progress.is_cancelled()
                    });
                    match end.map_err(|unfit| Error::unfit(&title, unfit))? {
                        GrowthEnd::Grown => {}
                        GrowthEnd::StillRising => mature = false,
                        GrowthEnd::Cancelled => {
                            return Err(Error::input(&title, "growing was cancelled", "let it finish"));
                        }
                    }
                }
                Ok(JobOutcome::Grown(sessions, mature))
            }
            Self::FillRivers(before) => {
                let (sessions, all) = (before.all(), before.all().len() as f32);
                let balance = |(index, session): (usize, &Session)| {
                    let share = |share: f32| {
                        progress.done((1000.0 * (index as f32 + share) / all) as usize, 1000);
                        !progress.is_cancelled()
                    };
                    let found = session.simulation.balance(&share);
                    found.map_err(|unfit| Error::unfit(Path::new(&session.title), unfit))
                };
                sessions.iter().enumerate().map(balance).collect::<Result<_, _>>().map(JobOutcome::Filled)
            }
            Self::FillLakes(before) => {
                let mut sessions = before.all().to_vec();
                let added = sessions.iter_mut().map(|session| session.simulation.fill_lakes()).sum();
                not_cancelled(progress, &sessions)?;
                Ok(JobOutcome::LakesFilled(sessions, added))
            }
            Self::CarveOutlets(before, limits) => {
                let mut sessions = before.all().to_vec();
                let mut all = Breached::default();
                for session in &mut sessions {
                    let one = session.simulation.carve_outlets(limits);
                    (all.cut, all.left, all.volume) = (all.cut + one.cut, all.left + one.left, all.volume + one.volume);
                }
                not_cancelled(progress, &sessions)?;
                Ok(JobOutcome::Carved(sessions, all))
            }
            Self::Quiz(session, seed, work) => {
                Ok(JobOutcome::Quiz(QuizQuestion::generate(*session, seed, progress), work))
            }
            Self::SaveScene(path, mut session) => {
                finish_tick(&mut session, &path)?;
                scene::save(&session, &path, progress)?;
                Ok(JobOutcome::Written(path))
            }
        }
    }
}

/// Fails if the task was cancelled.
fn not_cancelled(progress: &JobProgress, sessions: &[Session]) -> Result<(), Error> {
    let cancelled = || Error::input(Path::new(&sessions[0].title), "it was cancelled", "let it finish");
    if progress.is_cancelled() { Err(cancelled()) } else { Ok(()) }
}

/// What is saved is the state between two ticks, and not that of a run that breaks there.
fn finish_tick(session: &mut Session, path: &Path) -> Result<(), Error> {
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

/// A name for a picture that nothing has yet.
fn free_name(folder: &Path, stem: &str, ending: &str) -> PathBuf {
    let numbered = (2_u64..).map(|number| folder.join(format!("{stem}-{number}.{ending}")));
    // A film may become a folder of pictures.
    let free = |path: &PathBuf| !path.exists() && !path.with_extension("").exists();
    let plain = folder.join(format!("{stem}.{ending}"));
    std::iter::once(plain).chain(numbered).find(free).expect("a folder holds fewer files than there are numbers")
}

/// What a person calls what is opened.
fn title(input: &Path) -> String {
    scene::title_of(&input.to_string_lossy()).unwrap_or_else(|| name(input))
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
            failed |= job.saves;
        }
        jobs.failed = failed;
    }
}
