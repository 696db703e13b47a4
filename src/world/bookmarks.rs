//! Bookmarks and camera keyframes of the project.

use bevy::prelude::*;

use super::{
    AppCommandEvent, CameraMode, CameraPose, Label, NoticeLevel, Presentation, ProjectParams, ProjectReplaced,
    Simulations,
};
use thalweg_scene::model::film::{CameraKeyframe, CameraKeyframes, Ease};

/// Saves the current view as the bookmark of this number, from 1 to 9.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct SaveBookmark(pub usize);

/// Command of the camera keyframes, by tick.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum KeyframeCommand {
    /// Inserts one at the current tick with the current view.
    Set,
    /// Deletes one.
    Remove(u64),
    /// Sets the interpolation after one.
    SetInterpolation(u64, Ease),
    /// Moves one from a tick to another.
    Move(u64, u64),
    /// Makes the camera follow the keyframes, or stops that.
    Follow,
    /// Stops following the keyframes.
    StopFollowing,
}

/// `true` while the camera follows the keyframes of the project.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyframeFollowing(pub bool);

impl AppCommandEvent for SaveBookmark {
    fn requires_project(&self) -> bool {
        true
    }

    fn flushes_strokes(&self) -> bool {
        false
    }
}

impl AppCommandEvent for KeyframeCommand {
    fn requires_project(&self) -> bool {
        !matches!(self, Self::Follow | Self::StopFollowing)
    }

    fn flushes_strokes(&self) -> bool {
        false
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<KeyframeFollowing>()
        .add_observer(keep_view)
        .add_observer(change_keyframes)
        .add_observer(stop_following);
}

fn keep_view(
    command: On<SaveBookmark>,
    mut project: ProjectParams,
    (eye, mode): (Res<CameraPose>, Res<State<CameraMode>>),
) {
    let number = command.0;
    if *mode != CameraMode::Orbit {
        let text = "Bookmarks cannot be saved while walking or flying. Press Esc to stop, then try again.";
        project.notices.notify(NoticeLevel::Info, text);
        return;
    }
    let (Some(place), Some(camera)) =
        (number.checked_sub(1).and_then(|index| project.simulations.views.bookmarks.get_mut(index)), eye.camera)
    else {
        return;
    };
    *place = Some(camera);
    project.history.record_change();
    let text = format!(
        "Bookmark {number} saved in the project. To go to it, press {number} in the Present workspace, or use View ▸ Bookmarks."
    );
    project.notices.notify(NoticeLevel::Info, text);
}

fn change_keyframes(
    command: On<KeyframeCommand>,
    mut project: ProjectParams,
    (eye, mode, presentation): (Res<CameraPose>, Res<State<CameraMode>>, Option<Res<Presentation>>),
    mut follows_keys: ResMut<KeyframeFollowing>,
) {
    const ROUND: &str = "Keyframes are not available while walking or flying. Press Esc to stop, then try again.";
    let (tick, orbits) = (project.simulations.ticks(), *mode == CameraMode::Orbit);
    let mut keys = project.simulations.views.keys.clone();
    let label = match *command.event() {
        KeyframeCommand::Set => {
            let Some(pose) = eye.pose.filter(|_| orbits && presentation.is_none()) else {
                project.notices.notify(NoticeLevel::Info, ROUND);
                return;
            };
            if !keys.set(CameraKeyframe::new(tick as f64, pose, Ease::default())) {
                let text = format!(
                    "A simulation can have at most {} keyframes. Delete one before you insert another.",
                    CameraKeyframes::MOST
                );
                project.notices.notify(NoticeLevel::Info, text);
                return;
            }
            if keys.list().len() == 1 {
                let text = "Camera keyframe inserted at this tick. Insert more at other ticks, then press Shift+I to make \
                            the camera follow them.";
                project.notices.notify(NoticeLevel::Info, text);
            }
            Label::KeyframeInserted(tick)
        }
        KeyframeCommand::Remove(tick) => {
            keys.remove(tick as f64);
            Label::KeyframeDeleted(tick)
        }
        KeyframeCommand::SetInterpolation(tick, then) => {
            if let Some(key) = keys.at(tick as f64) {
                key.then = then;
            }
            Label::KeyframeInterpolation(tick)
        }
        KeyframeCommand::Move(from, to) => {
            keys.shift(from as f64, to as f64);
            Label::KeyframeMoved(to)
        }
        KeyframeCommand::Follow => {
            let follows = !follows_keys.0;
            follows_keys.0 = follows && orbits && !keys.list().is_empty();
            if follows && !orbits {
                project.notices.notify(NoticeLevel::Info, ROUND);
            } else if follows && !follows_keys.0 {
                let text = "There are no camera keyframes. Press I to insert one at the current tick.";
                project.notices.notify(NoticeLevel::Info, text);
            }
            return;
        }
        KeyframeCommand::StopFollowing => {
            follows_keys.0 = false;
            return;
        }
    };
    if keys != project.simulations.views.keys {
        project.history.set_keys(&mut project.simulations, label, keys);
    }
}

/// Stops following the keyframes, which belong to the previous project.
fn stop_following(_: On<ProjectReplaced>, mut follows_keys: ResMut<KeyframeFollowing>) {
    follows_keys.0 = false;
}

/// Stops following when the last keyframe is deleted.
pub(super) fn stop_without_keyframes(simulations: Res<Simulations>, mut follows_keys: ResMut<KeyframeFollowing>) {
    if follows_keys.0 && simulations.views.keys.list().is_empty() {
        follows_keys.0 = false;
    }
}
