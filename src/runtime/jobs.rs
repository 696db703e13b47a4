//! Work beside the frames: files are read and written on threads of their own, and what they bring arrives as a whole.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
};

use bevy::prelude::*;

use super::{Brushes, Command, History, Level, Live, Notices, Revision, Transport};
use crate::{
    io::{
        Error, Progress,
        export::Export,
        heightmap::{self, Heightmap, Options},
        output,
        scene::{self, Role},
        session::{Origin, Session},
        write_rgb8,
    },
    look::Look,
    settings::picture_folder,
    sim::{edit::Tool, grid::Grid, terrain::Terrain},
};

/// What is to be done.
pub(super) enum Task {
    Open(String, Options),
    /// Fits a map of sand, softness or rain to (columns, rows).
    Load(Role, PathBuf, Options, (usize, usize)),
    /// A heightmap for the stamp.
    Stamp(PathBuf),
    SaveMap(&'static str, PathBuf, Box<Terrain>, Look),
    SaveScene(PathBuf, Box<Session>),
    /// Under a name in a folder that nothing has yet.
    SavePicture(PathBuf, String, (usize, usize), Vec<u8>),
}

/// What came of it.
enum Outcome {
    /// Sessions that replace the present ones: what they are called, and they.
    Sessions(String, Vec<Session>),
    /// Heights that replace the present terrain.
    Heights(PathBuf, Options, Heightmap),
    /// A map of sand, softness or rain, and warnings.
    Map(Role, PathBuf, Grid, Vec<String>),
    /// A relief from 0 to 1, and what it is called.
    Stamp(String, Grid),
    /// A file was written.
    Written(PathBuf),
}

/// Work that is being done.
#[derive(Resource, Default)]
pub struct Jobs {
    running: Vec<(u64, JoinHandle<Result<Outcome, Error>>)>,
}

impl Jobs {
    /// Number of jobs that are not finished.
    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// Writes a picture, red, green and blue from 0 to 255, beside the frames.
    pub fn save_picture(&mut self, notices: &mut Notices, stem: String, size: (usize, usize), pixels: Vec<u8>) {
        self.start(notices, Task::SavePicture(picture_folder(), stem, size, pixels));
    }

    pub(super) fn start(&mut self, notices: &mut Notices, task: Task) {
        let text = match &task {
            Task::Open(input, _) => format!("Opening {} …", name(Path::new(input))),
            Task::Load(role, path, ..) => format!("Loading {} as {} …", name(path), role.title().to_lowercase()),
            Task::Stamp(path) => format!("Loading {} for the stamp …", name(path)),
            Task::SaveMap(map, path, ..) => format!("Saving {map} as {} …", name(path)),
            Task::SaveScene(path, _) => format!("Saving {} …", name(path)),
            Task::SavePicture(..) => "Saving a picture …".to_owned(),
        };
        let progress = Progress::default();
        let id = notices.work(text, progress.clone());
        match std::thread::Builder::new().name("thalweg job".to_owned()).spawn(move || task.run(&progress)) {
            Ok(handle) => self.running.push((id, handle)),
            Err(error) => {
                notices.dismiss(id);
                notices.tell(Level::Error, format!("No thread could be started ({error}); try again."));
            }
        }
    }
}

impl Task {
    fn run(self, progress: &Progress) -> Result<Outcome, Error> {
        match self {
            Self::Open(input, options) => {
                let mut sessions = scene::open(&input, &options)?;
                sessions.iter_mut().for_each(|session| session.prepare(progress));
                Ok(Outcome::Sessions(format!("opened {}", name(Path::new(&input))), sessions))
            }
            Self::Load(Role::Heights, path, options, _) => {
                let map = heightmap::read(&path, &options)?;
                Ok(Outcome::Heights(path, options, map))
            }
            Self::Load(role, path, _, size) => {
                let (map, warnings) = heightmap::read_layer(&path, size, role.range())?;
                Ok(Outcome::Map(role, path, map, warnings))
            }
            Self::Stamp(path) => {
                let map = heightmap::read(&path, &Options::default())?;
                let (low, high) = map.heights.min_max();
                let mut relief = map.heights;
                let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
                relief.iter_mut().for_each(|height| *height = (*height - low) * scale);
                Ok(Outcome::Stamp(name(&path), relief))
            }
            Self::SaveMap(map, path, terrain, look) => {
                Export::save(map, &terrain, &look, &path, progress)?;
                Ok(Outcome::Written(path))
            }
            Self::SavePicture(folder, stem, size, pixels) => {
                let path = free_name(&folder, &stem);
                output::replace(&path, |file| write_rgb8(file, size, &pixels, progress))?;
                Ok(Outcome::Written(path))
            }
            Self::SaveScene(path, session) => {
                scene::save(&session, &path, progress)?;
                Ok(Outcome::Written(path))
            }
        }
    }
}

/// A session on a heightmap, with the light, colours and processes of another.
fn on_heights(path: &Path, options: Options, map: Heightmap, old: &Session) -> Session {
    let origin = Origin { input: path.display().to_string(), options, ..Origin::default() };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut fresh = Session::of_heightmap(&stem, map, origin);
    fresh.look = old.look.clone();
    fresh.water_look = old.water_look.clone();
    fresh.simulation.take_over(&old.simulation);
    fresh
}

/// A name for a picture that nothing has yet.
fn free_name(folder: &Path, stem: &str) -> PathBuf {
    let plain = folder.join(format!("{stem}.png"));
    let numbered = (2..10_000).map(|number| folder.join(format!("{stem}-{number}.png")));
    std::iter::once(plain.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(plain)
}

/// The last part of a path, as a person calls the file.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Takes over what finished jobs bring. What was changed meanwhile stays.
pub(super) fn finish(
    mut jobs: ResMut<Jobs>,
    mut live: ResMut<Live>,
    mut history: ResMut<History>,
    mut notices: ResMut<Notices>,
    mut revision: ResMut<Revision>,
    mut transport: ResMut<Transport>,
    mut brushes: ResMut<Brushes>,
) {
    while let Some(index) = jobs.running.iter().position(|(_, handle)| handle.is_finished()) {
        let (id, handle) = jobs.running.swap_remove(index);
        notices.dismiss(id);
        let outcome = match handle.join() {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => {
                notices.tell(Level::Error, format!("{error}."));
                continue;
            }
            Err(_) => {
                let text = "The work broke off by a fault of the program; a report lies in the log's folder.";
                notices.tell(Level::Error, text);
                continue;
            }
        };
        let replaced = match outcome {
            Outcome::Sessions(label, sessions) => Ok((label, Live::new(sessions))),
            Outcome::Heights(path, options, map) => {
                let session = on_heights(&path, options, map, live.chosen());
                Ok((format!("loaded heights from {}", name(&path)), Live::new(vec![session])))
            }
            Outcome::Map(role, path, map, warnings) => {
                let mut changed = live.clone();
                let all = changed.all_mut().iter_mut();
                let set = all.map(|session| {
                    session.set_map(role, &path, map.clone())?;
                    session.warnings = warnings.clone();
                    session.origin.edited = false;
                    session.restart(session.simulation.seed());
                    Ok(())
                });
                let label = format!("loaded {} from {}", role.title().to_lowercase(), name(&path));
                set.collect::<Result<(), Error>>().map(|()| (label, changed))
            }
            Outcome::Stamp(name, relief) => {
                notices.tell(Level::Info, format!("The stamp presses {name} on the ground."));
                brushes.stamp = (Arc::new(relief), name);
                brushes.held = Some(Tool::Stamp);
                continue;
            }
            Outcome::Written(path) => {
                let folder = path.parent().map(Path::to_owned).unwrap_or_default();
                let text = format!("Saved {}.", path.display());
                notices.offer(Level::Info, text, Some(("Open folder", Command::OpenFolder(folder))));
                continue;
            }
        };
        match replaced {
            Err(error) => {
                notices.tell(Level::Error, format!("{error}."));
            }
            Ok((label, new)) => {
                let ticks = live.ticks();
                history.before_state(&live, &label);
                *live = new;
                transport.due = 0.0;
                revision.begins();
                let mut warnings: Vec<String> =
                    live.all().iter().flat_map(|session| session.warnings.iter().cloned()).collect();
                warnings.dedup();
                for warning in warnings {
                    notices.tell(Level::Warning, warning);
                }
                let mut text = format!("{}{}.", label[..1].to_uppercase(), &label[1..]);
                if ticks > 0 {
                    text.push_str(&format!(" The {ticks} ticks before are kept."));
                }
                notices.retract(&Command::Undo);
                notices.offer(Level::Info, text, (ticks > 0).then_some(("Undo", Command::Undo)));
            }
        }
    }
}

/// A file that is being written is finished before the program ends. What fails then is said on standard error and in the
/// log: there is no window any more.
pub(super) fn wait_before_exit(mut leaving: MessageReader<AppExit>, mut jobs: ResMut<Jobs>) {
    if leaving.read().next().is_some() {
        for (_, handle) in jobs.running.drain(..) {
            if let Ok(Err(error)) = handle.join() {
                error!("{error}");
            }
        }
    }
}
