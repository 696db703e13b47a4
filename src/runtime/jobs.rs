//! Work beside the frames: files are read and written on threads of their own, and what they bring arrives as a whole.

use std::{
    path::{Path, PathBuf},
    thread::JoinHandle,
};

use bevy::prelude::*;

use super::{Command, History, Level, Live, Notices, Preferences, Revision};
use crate::{
    io::{
        Error,
        export::Export,
        heightmap::{self, Options},
        output,
        scene::{self, Role},
        session::{Origin, Session},
        write_rgb8,
    },
    look::Look,
    sim::terrain::Terrain,
};

/// What is to be done.
pub(super) enum Task {
    Open(String, Options),
    Load(Role, PathBuf, Options, Vec<Session>),
    SaveMap(&'static str, PathBuf, Box<Terrain>, Look),
    SaveScene(PathBuf, Box<Session>),
    SavePicture(PathBuf, (usize, usize), Vec<u8>),
}

/// What came of it.
enum Outcome {
    /// Sessions that replace the present ones: what they are called, and they.
    Sessions(String, Vec<Session>),
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
    pub fn save_picture(&mut self, notices: &mut Notices, path: PathBuf, size: (usize, usize), pixels: Vec<u8>) {
        self.start(notices, Task::SavePicture(path, size, pixels));
    }

    pub(super) fn start(&mut self, notices: &mut Notices, task: Task) {
        let text = match &task {
            Task::Open(input, _) => format!("Opening {} …", name(Path::new(input))),
            Task::Load(role, path, ..) => format!("Loading {} as {} …", name(path), role.title().to_lowercase()),
            Task::SaveMap(map, path, ..) => format!("Saving {map} as {} …", name(path)),
            Task::SaveScene(path, _) | Task::SavePicture(path, ..) => format!("Saving {} …", name(path)),
        };
        let id = notices.tell(Level::Working, text);
        match std::thread::Builder::new().name("thalweg job".to_owned()).spawn(move || task.run()) {
            Ok(handle) => self.running.push((id, handle)),
            Err(error) => {
                notices.dismiss(id);
                notices.tell(Level::Error, format!("No thread could be started ({error}); try again."));
            }
        }
    }
}

impl Task {
    fn run(self) -> Result<Outcome, Error> {
        match self {
            Self::Open(input, options) => {
                let mut sessions = scene::open(&input, &options)?;
                sessions.iter_mut().for_each(Session::prepare);
                Ok(Outcome::Sessions(format!("opened {}", name(Path::new(&input))), sessions))
            }
            Self::Load(role, path, options, mut sessions) => {
                if role == Role::Heights {
                    import_heights(&path, options, &mut sessions)?;
                } else {
                    for session in &mut sessions {
                        session.warnings.clear();
                        session.load_map(role, &path)?;
                        session.restart(session.simulation.seed());
                    }
                }
                Ok(Outcome::Sessions(format!("loaded {} from {}", role.title().to_lowercase(), name(&path)), sessions))
            }
            Self::SaveMap(map, path, terrain, look) => {
                Export::save(map, &terrain, &look, &path)?;
                Ok(Outcome::Written(path))
            }
            Self::SavePicture(path, (width, height), pixels) => {
                output::replace(&path, |file| write_rgb8(file, width, height, &pixels))?;
                Ok(Outcome::Written(path))
            }
            Self::SaveScene(path, session) => {
                scene::save(&session, &path)?;
                Ok(Outcome::Written(path))
            }
        }
    }
}

/// A heightmap takes the place of the terrain; light, colours and processes stay as they are.
fn import_heights(path: &Path, options: Options, sessions: &mut Vec<Session>) -> Result<(), Error> {
    let map = heightmap::read(path, &options)?;
    let origin = Origin { input: path.display().to_string(), options, ..Origin::default() };
    let mut fresh = Session::of_heightmap(&name(path), map, origin);
    if let Some(old) = sessions.first() {
        fresh.look = old.look.clone();
        for (slot, old) in fresh.simulation.slots.iter_mut().zip(&old.simulation.slots) {
            slot.process.params_mut().apply(old.process.params().as_partial_reflect());
            slot.enabled = old.enabled;
        }
    }
    *sessions = vec![fresh];
    Ok(())
}

/// The last part of a path, as a person calls the file.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Takes over what finished jobs bring.
pub(super) fn finish(
    mut jobs: ResMut<Jobs>,
    mut live: ResMut<Live>,
    mut history: ResMut<History>,
    mut notices: ResMut<Notices>,
    mut revision: ResMut<Revision>,
    mut preferences: ResMut<Preferences>,
) {
    while let Some(index) = jobs.running.iter().position(|(_, handle)| handle.is_finished()) {
        let (id, handle) = jobs.running.swap_remove(index);
        notices.dismiss(id);
        match handle.join() {
            Ok(Ok(Outcome::Sessions(label, sessions))) => {
                let mut warnings: Vec<String> =
                    sessions.iter().flat_map(|session| session.warnings.iter().cloned()).collect();
                warnings.dedup();
                let ticks = live.ticks();
                history.before_state(&live, label.clone());
                *live = Live::new(sessions);
                revision.begins();
                for warning in warnings {
                    notices.tell(Level::Warning, warning);
                }
                let mut text = format!("{}{}.", label[..1].to_uppercase(), &label[1..]);
                if ticks > 0 {
                    text.push_str(&format!(" The {ticks} ticks before are kept."));
                }
                notices.offer(Level::Info, text, (ticks > 0).then_some(("Undo", Command::Undo)));
            }
            Ok(Ok(Outcome::Written(path))) => {
                let folder = path.parent().map(Path::to_owned).unwrap_or_default();
                preferences.remembered.last_folder = Some(folder.clone());
                let text = format!("Saved {}.", path.display());
                notices.offer(Level::Info, text, Some(("Open folder", Command::OpenFolder(folder))));
            }
            Ok(Err(error)) => {
                notices.tell(Level::Error, format!("{error}."));
            }
            Err(_) => {
                notices.tell(Level::Error, "The work broke off by a fault of the program; the log says where.");
            }
        }
    }
}

/// A file that is being written is finished before the program ends.
pub(super) fn wait_before_exit(mut leaving: MessageReader<AppExit>, mut jobs: ResMut<Jobs>) {
    if leaving.read().next().is_some() {
        for (_, handle) in jobs.running.drain(..) {
            let _ = handle.join();
        }
    }
}
