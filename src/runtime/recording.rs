//! The film of the window that is being recorded.

use std::{
    path::PathBuf,
    thread::{self, JoinHandle},
};

use bevy::prelude::*;

use super::{Command, FileCommand, Jobs, Level, Live, Notices, ViewCommand};
use crate::io::{
    Error,
    film::{Picture, Reel, Shot},
};

/// Whether the window is filmed.
#[derive(Resource, Default)]
pub struct Recording {
    state: State,
}

#[derive(Default)]
enum State {
    #[default]
    Off,
    /// The first picture tells how large the film is.
    Asked,
    On(Reel),
    /// The encoder ends a film of so many seconds.
    Ending(f64, JoinHandle<Result<PathBuf, Error>>),
}

impl Recording {
    /// Whether pictures of the window are wanted.
    pub fn is_on(&self) -> bool {
        matches!(self.state, State::Asked | State::On(_))
    }

    /// Whole seconds that the film has so far, if one is made.
    pub fn seconds(&self) -> Option<u64> {
        match &self.state {
            State::Off | State::Ending(..) => None,
            State::Asked => Some(0),
            State::On(reel) => Some(reel.seconds() as u64),
        }
    }

    /// Whether something is to be looked at in the next frame.
    pub fn is_at_work(&self) -> bool {
        !matches!(self.state, State::Off)
    }

    /// Shows the film what the window shows now: its size, and what makes the pixels of it.
    pub fn show(
        &mut self,
        size: (usize, usize),
        shot: impl FnOnce() -> Option<Picture> + Send + 'static,
        (live, jobs): (&Live, &Jobs),
        notices: &mut Notices,
    ) {
        if matches!(self.state, State::Asked) {
            let path = jobs.free_picture(&format!("{}-film", live.chosen().name), "mp4");
            self.state = match Reel::begin(&path, size) {
                Ok(reel) => State::On(reel),
                Err(error) => {
                    notices.tell(Level::Error, error.to_string());
                    State::Off
                }
            };
        }
        let shot: Shot = Box::new(shot);
        if let State::On(reel) = &self.state
            && !reel.show(shot)
        {
            self.end();
        }
    }

    /// Has the encoder end the film.
    fn end(&mut self) {
        self.state = match std::mem::take(&mut self.state) {
            State::On(reel) => State::Ending(reel.seconds(), thread::spawn(|| reel.end())),
            State::Off | State::Asked => State::Off,
            ending @ State::Ending(..) => ending,
        };
    }

    /// Says where the film is once it has ended; or waits for that.
    fn tell(&mut self, waits: bool, notices: &mut Notices) {
        let has_ended = |state: &State| matches!(state, State::Ending(_, ends) if waits || ends.is_finished());
        if !has_ended(&self.state) {
            return;
        }
        let State::Ending(seconds, ends) = std::mem::take(&mut self.state) else { return };
        match ends.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok(path) => {
                let text = match path.extension() {
                    Some(_) => format!("The film of {seconds:.0} s is {}.", path.display()),
                    None => format!(
                        "The film of {seconds:.0} s is a folder of pictures, {}: ffmpeg, which makes films, is not installed.",
                        path.display()
                    ),
                };
                let folder = path.parent().unwrap_or(&path).to_owned();
                let open = Command::from(FileCommand::OpenFolder(folder));
                notices.offer(Level::Info, text, Some(("Open folder", open)));
            }
            Err(error) => {
                notices.tell(Level::Error, error.to_string());
            }
        }
    }
}

/// Begins and ends films.
pub(super) fn obey(
    mut asked: MessageReader<Command>,
    mut leaving: MessageReader<AppExit>,
    mut recording: ResMut<Recording>,
    mut notices: ResMut<Notices>,
) {
    for _ in asked.read().filter(|command| **command == ViewCommand::Record) {
        if matches!(recording.state, State::Off) {
            recording.state = State::Asked;
        } else {
            recording.end();
        }
    }
    let leaves = leaving.read().next().is_some();
    let quiet = recording.bypass_change_detection();
    if leaves {
        quiet.end();
    }
    quiet.tell(leaves, &mut notices);
}
