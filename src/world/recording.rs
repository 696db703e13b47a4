//! The film of the window that is being recorded.

use bevy::prelude::*;

use super::{CommandEvent, Jobs, KeepSystems, Level, Notices, Simulations, background::Background};
use thalweg_scene::io::{
    Error,
    film::{Filmed, Picture, Reel, Shot},
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
    /// The encoder ends the film.
    Ending(Background<(), Result<Filmed, Error>>),
}

impl Recording {
    /// Whole seconds that the film has so far, if pictures of the window are wanted for one.
    pub fn seconds(&self) -> Option<u64> {
        match &self.state {
            State::Off | State::Ending(_) => None,
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
        (simulations, jobs): (&Simulations, &Jobs),
        notices: &mut Notices,
    ) {
        if matches!(self.state, State::Asked) {
            // What stands behind a dot would be taken for an ending.
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

    /// Has the encoder end the film.
    fn end(&mut self) {
        self.state = match std::mem::take(&mut self.state) {
            State::On(reel) => State::Ending(Background::start((), || reel.end())),
            State::Off | State::Asked => State::Off,
            ending @ State::Ending(_) => ending,
        };
    }

    /// Says where the film is once it has ended; or waits for that.
    fn tell(&mut self, waits: bool, notices: &mut Notices) {
        let has_ended = |state: &State| matches!(state, State::Ending(ends) if waits || ends.is_finished());
        if !has_ended(&self.state) {
            return;
        }
        let State::Ending(ends) = std::mem::take(&mut self.state) else { return };
        let Some(filmed) = ends.join() else {
            notices.tell(Level::Error, "The film was not finished because of a fault in the program.");
            return;
        };
        match filmed {
            Ok(Filmed { path, seconds, missing, is_folder }) => {
                let place = path.display();
                let mut text = if is_folder {
                    format!(
                        "ffmpeg, which makes films, is not installed: the film of {seconds:.0} s is a folder of pictures, {place}."
                    )
                } else {
                    format!("The film of {seconds:.0} s is {place}.")
                };
                if missing >= 0.5 {
                    text += &format!(
                        " It misses {missing:.0} s, because the encoder was too slow. A smaller window helps."
                    );
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

/// Films the window from now on; asked again, ends the film.
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
            notices.tell(Level::Info, "The last film is still being written. Try again in a moment.");
        }
        State::Asked | State::On(_) => recording.end(),
    }
}

/// Tells what has become of the film. It ends with the program.
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
