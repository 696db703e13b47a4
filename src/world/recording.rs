//! Video recording of the window.

use bevy::prelude::*;

use super::{CommandEvent, Jobs, KeepSystems, Level, Notices, Simulations, background::Background};
use thalweg_scene::io::{
    Error,
    film::{Filmed, Picture, Reel, Shot},
};

/// State of the video recording.
#[derive(Resource, Default)]
pub struct Recording {
    state: State,
}

#[derive(Default)]
enum State {
    #[default]
    Off,
    /// Requested; the first frame determines the size.
    Asked,
    On(Reel),
    /// The encoder is finishing the video.
    Ending(Background<(), Result<Filmed, Error>>),
}

impl Recording {
    /// Returns the duration in whole seconds, if frames of the window are needed for a recording.
    pub fn seconds(&self) -> Option<u64> {
        match &self.state {
            State::Off | State::Ending(_) => None,
            State::Asked => Some(0),
            State::On(reel) => Some(reel.seconds() as u64),
        }
    }

    /// Returns `true` if the recording needs attention in the next frame.
    pub fn is_at_work(&self) -> bool {
        !matches!(self.state, State::Off)
    }

    /// Records a frame of the window, given its size and a callback that reads its pixels.
    pub fn show(
        &mut self,
        size: (usize, usize),
        shot: impl FnOnce() -> Option<Picture> + Send + 'static,
        (simulations, jobs): (&Simulations, &Jobs),
        notices: &mut Notices,
    ) {
        if matches!(self.state, State::Asked) {
            // Anything after a dot would be taken for a file extension.
            let stem = format!("{}-film", simulations.selected().name.replace('.', "-"));
            let path = jobs.free_picture(&stem, "mp4");
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

    /// Lets the encoder finish the video.
    fn end(&mut self) {
        self.state = match std::mem::take(&mut self.state) {
            State::On(reel) => State::Ending(Background::start((), || reel.end())),
            State::Off | State::Asked => State::Off,
            ending @ State::Ending(_) => ending,
        };
    }

    /// Reports the path of a finished video, optionally waiting for it.
    fn tell(&mut self, waits: bool, notices: &mut Notices) {
        let has_ended = |state: &State| matches!(state, State::Ending(ends) if waits || ends.is_finished());
        if !has_ended(&self.state) {
            return;
        }
        let State::Ending(ends) = std::mem::take(&mut self.state) else { return };
        let Some(filmed) = ends.join() else {
            notices.tell(Level::Error, "The video was not finished because of a bug in Thalweg.");
            return;
        };
        match filmed {
            Ok(Filmed { path, seconds, missing, is_folder }) => {
                let place = path.display();
                let mut text = if is_folder {
                    format!(
                        "ffmpeg is not installed, so the video ({seconds:.0} s) was saved as an image sequence in {place}."
                    )
                } else {
                    format!("Saved the video ({seconds:.0} s) as {place}.")
                };
                if missing >= 0.5 {
                    text +=
                        &format!(" {missing:.0} s are missing because the encoder was too slow. Use a smaller window.");
                }
                let folder = path.parent().unwrap_or(&path).to_owned();
                notices.offer_folder(text, &folder);
            }
            Err(error) => {
                notices.tell(Level::Error, error.to_string());
            }
        }
    }
}

/// Starts or stops the recording.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToggleRecording;

impl CommandEvent for ToggleRecording {}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Recording>()
        .add_observer(toggle)
        .add_systems(Last, follow.before(super::document::offer).in_set(KeepSystems));
}

fn toggle(_: On<ToggleRecording>, mut recording: ResMut<Recording>, mut notices: ResMut<Notices>) {
    match recording.state {
        State::Off => recording.state = State::Asked,
        State::Ending(_) => {
            notices.tell(Level::Info, "The previous video is still being written. Try again in a moment.");
        }
        State::Asked | State::On(_) => recording.end(),
    }
}

/// Reports a finished video. The recording stops when the program exits.
pub(super) fn follow(
    mut leaving: MessageReader<AppExit>,
    mut recording: ResMut<Recording>,
    mut notices: ResMut<Notices>,
) {
    let leaves = leaving.read().next().is_some();
    let quiet = recording.bypass_change_detection();
    if leaves {
        quiet.end();
    }
    quiet.tell(leaves, &mut notices);
}
