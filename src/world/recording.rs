//! Video recording of the window.

use std::f32::consts::TAU;

use bevy::prelude::*;

use super::{
    AppCommandEvent, AutosaveSystems, CameraMode, Document, Jobs, NoticeLevel, Notices, Simulations,
    background::BackgroundTask,
};
use thalweg_scene::io::{
    Error,
    film::{FrameSource, RecordingResult, RgbFrame, VideoRecorder},
};

/// State of the video recording.
#[derive(Resource, Default)]
pub struct Recording {
    state: RecordingState,
    /// Angle that a turntable has yet to turn, in radians; `None` for other videos.
    turn: Option<f32>,
}

#[derive(Default)]
enum RecordingState {
    #[default]
    Off,
    /// Requested; the first frame determines the size.
    Asked,
    On(VideoRecorder),
    /// The encoder is finishing the video.
    Ending(BackgroundTask<(), Result<RecordingResult, Error>>),
}

impl Recording {
    /// Returns the duration in whole seconds, if frames of the window are needed for a recording.
    pub fn seconds(&self) -> Option<u64> {
        match &self.state {
            RecordingState::Off | RecordingState::Ending(_) => None,
            RecordingState::Asked => Some(0),
            RecordingState::On(recorder) => Some(recorder.seconds() as u64),
        }
    }

    /// Returns `true` while one turn of the turntable is recorded, which hides the panels.
    pub fn is_turntable(&self) -> bool {
        self.turn.is_some() && self.seconds().is_some()
    }

    /// Turns the turntable by up to this angle, in radians, once recording has begun, and stops after a full turn. Returns the angle.
    pub fn turn_by(&mut self, most: f32) -> f32 {
        let Some(left) = self.turn.filter(|_| matches!(self.state, RecordingState::On(_))) else { return 0.0 };
        let angle = most.min(left);
        self.turn = Some(left - angle);
        if angle == left {
            self.end();
        }
        angle
    }

    /// Returns `true` if the recording needs attention in the next frame.
    pub fn is_at_work(&self) -> bool {
        !matches!(self.state, RecordingState::Off)
    }

    /// Records a frame of the window, given its size and a callback that reads its pixels.
    pub fn record_frame(
        &mut self,
        size: (usize, usize),
        shot: impl FnOnce() -> Option<RgbFrame> + Send + 'static,
        (simulations, jobs): (&Simulations, &Jobs),
        notices: &mut Notices,
    ) {
        if matches!(self.state, RecordingState::Asked) {
            // Anything after a dot would be taken for a file extension.
            let stem = format!("{}-film", simulations.selected().name.replace('.', "-"));
            let path = jobs.unused_screenshot_path(&stem, "mp4");
            self.state = match VideoRecorder::begin(&path, size) {
                Ok(recorder) => RecordingState::On(recorder),
                Err(error) => {
                    self.turn = None;
                    notices.notify(NoticeLevel::Error, format!("{error}."));
                    RecordingState::Off
                }
            };
        }
        let shot: FrameSource = Box::new(shot);
        if let RecordingState::On(recorder) = &self.state
            && !recorder.show(shot)
        {
            self.end();
        }
    }

    /// Lets the encoder finish the video.
    pub fn end(&mut self) {
        self.turn = None;
        self.state = match std::mem::take(&mut self.state) {
            RecordingState::On(recorder) => RecordingState::Ending(BackgroundTask::start((), || recorder.end())),
            RecordingState::Off | RecordingState::Asked => RecordingState::Off,
            ending @ RecordingState::Ending(_) => ending,
        };
    }

    /// Reports the path of a finished video, optionally waiting for it. A failure cancels the exit of the program.
    fn notify(&mut self, waits: bool, notices: &mut Notices, document: &mut Document) {
        let has_ended =
            |state: &RecordingState| matches!(state, RecordingState::Ending(ends) if waits || ends.is_finished());
        if !has_ended(&self.state) {
            return;
        }
        let RecordingState::Ending(ends) = std::mem::take(&mut self.state) else { return };
        let Some(filmed) = ends.join() else {
            notices.notify(NoticeLevel::Error, "The video was not finished because of a bug in Thalweg.");
            document.cancel_exit(notices);
            return;
        };
        match filmed {
            Ok(RecordingResult { path, seconds, missing, is_folder }) => {
                let place = path.display();
                let mut text = if is_folder {
                    format!(
                        "ffmpeg is not installed, so the video ({seconds:.0} s) was saved as an image sequence in {place}."
                    )
                } else {
                    format!("Saved the video ({seconds:.0} s) as {place}.")
                };
                if missing >= 0.5 {
                    text += &format!(
                        " {missing:.0} s are missing because the encoder was too slow. Record in a smaller window."
                    );
                }
                let folder = path.parent().unwrap_or(&path).to_owned();
                notices.offer_folder(text, &folder);
            }
            Err(error) => {
                notices.notify(NoticeLevel::Error, format!("{error}."));
                document.cancel_exit(notices);
            }
        }
    }
}

/// Starts or stops the recording.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToggleRecording;

impl AppCommandEvent for ToggleRecording {}

/// Records one turn of the turntable, without panels.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTurntable;

impl AppCommandEvent for RecordTurntable {}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Recording>()
        .add_observer(toggle)
        .add_observer(record_turntable)
        .add_systems(Last, follow.before(super::document::offer).in_set(AutosaveSystems));
}

fn toggle(_: On<ToggleRecording>, mut recording: ResMut<Recording>, mut notices: ResMut<Notices>) {
    match recording.state {
        RecordingState::Off => recording.state = RecordingState::Asked,
        RecordingState::Ending(_) => {
            notices.notify(NoticeLevel::Info, "The previous video is still being written. Try again in a moment.");
        }
        RecordingState::Asked | RecordingState::On(_) => recording.end(),
    }
}

fn record_turntable(
    _: On<RecordTurntable>,
    mode: Option<Res<State<CameraMode>>>,
    mut recording: ResMut<Recording>,
    mut notices: ResMut<Notices>,
) {
    match recording.state {
        _ if mode.is_some_and(|mode| *mode != CameraMode::Orbit) => {
            notices.notify(
                NoticeLevel::Info,
                "A turntable video needs the orbit camera. Press Esc to stop walking or flying.",
            );
        }
        RecordingState::Off => {
            recording.state = RecordingState::Asked;
            recording.turn = Some(TAU);
        }
        _ => {
            notices.notify(NoticeLevel::Info, "Another video is being recorded. Try again when it is finished.");
        }
    }
}

/// Reports a finished video. The recording stops when the program exits.
pub(super) fn follow(
    mut leaving: MessageReader<AppExit>,
    mut recording: ResMut<Recording>,
    mut notices: ResMut<Notices>,
    mut document: ResMut<Document>,
) {
    let leaves = leaving.read().next().is_some();
    if leaves {
        recording.end();
    }
    recording.notify(leaves, &mut notices, &mut document);
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn turntable_video_ends_after_one_turn() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut recording = Recording { state: RecordingState::Asked, turn: Some(TAU) };
        // It does not turn before the first frame.
        assert!(recording.is_turntable() && recording.turn_by(1.0) == 0.0);
        let recorder = VideoRecorder::begin(&folder.path().join("turn.mp4"), (16, 16));
        recording.state = RecordingState::On(recorder.unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(recording.turn_by(4.0), 4.0);
        assert!(recording.is_turntable());
        assert_eq!(recording.turn_by(4.0), TAU - 4.0);
        assert!(!recording.is_turntable() && matches!(recording.state, RecordingState::Ending(_)));
    }

    #[test]
    fn recording_that_cannot_be_written_is_reported_and_off() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mine");
        std::fs::write(&file, "mine").expect("it is writable");
        let (mut jobs, mut notices) = (Jobs::default(), Notices::default());
        jobs.screenshot_folder = Some(file.clone());
        let options = Options { size: Some((16, 16)), ..Options::default() };
        let simulations = Simulations::new(vec![open_first("round-hill", &options).expect("it is built in")]);
        let mut recording = Recording { state: RecordingState::Asked, turn: Some(TAU) };
        recording.record_frame((16, 16), || None, (&simulations, &jobs), &mut notices);
        assert!(!recording.is_at_work() && !recording.is_turntable());
        let errors: Vec<&str> =
            notices.shown().filter(|notice| notice.level == NoticeLevel::Error).map(|notice| &*notice.text).collect();
        assert!(errors.len() == 1 && errors[0].contains("mine: "), "{errors:?}");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"mine");
    }
}
