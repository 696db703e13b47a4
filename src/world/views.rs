//! Bookmarks and camera keyframes of the project.

use bevy::prelude::*;

use super::{CameraMode, CommandEvent, Eye, Label, Level, Presentation, Simulations, Work, WorkReplaced};
use thalweg_scene::model::film::{Ease, Key, Keys};

/// Saves the current view as the bookmark of this number, from 1 to 9.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct KeepView(pub usize);

/// Command of the camera keyframes, by tick.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum KeyframeCommand {
    /// Inserts one at the current tick with the current view.
    Set,
    /// Deletes one.
    Remove(u64),
    /// Sets the interpolation after one.
    Then(u64, Ease),
    /// Moves one from a tick to another.
    Move(u64, u64),
    /// Makes the camera follow the keyframes, or stops that.
    Follow,
    /// Stops following the keyframes.
    Rest,
}

/// `true` while the camera follows the keyframes of the project.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowsKeys(pub bool);

impl CommandEvent for KeepView {
    fn needs_the_work(&self) -> bool {
        true
    }

    fn follows_strokes(&self) -> bool {
        false
    }
}

impl CommandEvent for KeyframeCommand {
    fn needs_the_work(&self) -> bool {
        !matches!(self, Self::Follow | Self::Rest)
    }

    fn follows_strokes(&self) -> bool {
        false
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<FollowsKeys>().add_observer(keep_view).add_observer(change_keyframes).add_observer(rest);
}

fn keep_view(kept: On<KeepView>, mut work: Work, (eye, mode): (Res<Eye>, Res<State<CameraMode>>)) {
    let number = kept.0;
    if *mode != CameraMode::Orbit {
        let text = "Bookmarks can only be saved while the camera orbits. Press Esc to stop walking or flying.";
        work.notices.tell(Level::Info, text);
        return;
    }
    let (Some(place), Some(camera)) =
        (number.checked_sub(1).and_then(|index| work.simulations.views.numbered.get_mut(index)), eye.camera)
    else {
        return;
    };
    *place = Some(camera);
    work.history.note_change();
    let text = format!(
        "Bookmark {number} saved in the project. To go to it, press {number} in the Present workspace, or use View ▸ Bookmarks."
    );
    work.notices.tell(Level::Info, text);
}

fn change_keyframes(
    command: On<KeyframeCommand>,
    mut work: Work,
    (eye, mode, presentation): (Res<Eye>, Res<State<CameraMode>>, Res<Presentation>),
    mut follows_keys: ResMut<FollowsKeys>,
) {
    const ROUND: &str = "Keyframes are only available while the camera orbits. Press Esc to stop walking or flying.";
    let (tick, orbits) = (work.simulations.ticks(), *mode == CameraMode::Orbit);
    let mut keys = work.simulations.views.keys.clone();
    let label = match *command.event() {
        KeyframeCommand::Set => {
            let Some(pose) = eye.pose.filter(|_| orbits && !presentation.is_on()) else {
                work.notices.tell(Level::Info, ROUND);
                return;
            };
            if !keys.set(Key::new(tick as f64, pose, Ease::default())) {
                let text =
                    format!("A simulation can have {} keyframes. Delete one before you insert another.", Keys::MOST);
                work.notices.tell(Level::Info, text);
                return;
            }
            if keys.list().len() == 1 {
                let text = "Camera keyframe inserted at this tick. Insert more at other ticks; with Shift+I the camera \
                            follows them.";
                work.notices.tell(Level::Info, text);
            }
            Label::KeySet(tick)
        }
        KeyframeCommand::Remove(tick) => {
            keys.remove(tick as f64);
            Label::KeyRemoved(tick)
        }
        KeyframeCommand::Then(tick, then) => {
            if let Some(key) = keys.at(tick as f64) {
                key.then = then;
            }
            Label::KeyEased(tick)
        }
        KeyframeCommand::Move(from, to) => {
            keys.shift(from as f64, to as f64);
            Label::KeyMoved(to)
        }
        KeyframeCommand::Follow => {
            let follows = !follows_keys.0;
            follows_keys.0 = follows && orbits && !keys.list().is_empty();
            if follows && !orbits {
                work.notices.tell(Level::Info, ROUND);
            } else if follows && !follows_keys.0 {
                let text = "There are no camera keyframes. Press I to insert one at the current tick.";
                work.notices.tell(Level::Info, text);
            }
            return;
        }
        KeyframeCommand::Rest => {
            follows_keys.0 = false;
            return;
        }
    };
    if keys != work.simulations.views.keys {
        work.history.set_keys(&mut work.simulations, label, keys);
    }
}

/// Stops following the keyframes, which belong to the previous project.
fn rest(_: On<WorkReplaced>, mut follows_keys: ResMut<FollowsKeys>) {
    follows_keys.0 = false;
}

/// Stops following when the last keyframe is deleted.
pub(super) fn rest_without_keyframes(simulations: Res<Simulations>, mut follows_keys: ResMut<FollowsKeys>) {
    if follows_keys.0 && simulations.views.keys.list().is_empty() {
        follows_keys.0 = false;
    }
}
