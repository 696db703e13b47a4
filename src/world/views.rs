//! Views of the work that are kept with it: by number, and as keyframes of the camera along the run.

use bevy::prelude::*;

use super::{CameraMode, CommandEvent, Eye, Label, Level, Presentation, Simulations, Work, WorkReplaced};
use thalweg_scene::model::film::{Ease, Key, Keys};

/// Keeps where the eye is under this number, from 1 to 9.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct KeepView(pub usize);

/// The keys of the camera along the run, by their ticks.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum KeyframeCommand {
    /// Sets one at the present tick, where the camera is.
    Set,
    /// Takes one away.
    Remove(u64),
    /// How the camera goes on from one.
    Then(u64, Ease),
    /// Moves one from a tick to another.
    Move(u64, u64),
    /// Lets the camera go along them; asked again, stops that.
    Follow,
    /// The camera goes along them no more.
    Rest,
}

/// Whether the camera goes along the keyframes of the work.
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
        let text = "A view is kept while the camera goes round the land: end walking or flying with Esc first.";
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
        "View {number} is kept, and saved with the project. {number} goes there in the workspace Present, View ▸ Kept views everywhere."
    );
    work.notices.tell(Level::Info, text);
}

fn change_keyframes(
    command: On<KeyframeCommand>,
    mut work: Work,
    (eye, mode, presentation): (Res<Eye>, Res<State<CameraMode>>, Res<Presentation>),
    mut follows_keys: ResMut<FollowsKeys>,
) {
    const ROUND: &str = "Keys are used while the camera goes round the land. Press Esc to stop walking or flying.";
    let (tick, orbits) = (work.simulations.ticks(), *mode == CameraMode::Orbit);
    let mut keys = work.simulations.views.keys.clone();
    let label = match *command.event() {
        KeyframeCommand::Set => {
            let Some(pose) = eye.pose.filter(|_| orbits && !presentation.is_on()) else {
                work.notices.tell(Level::Info, ROUND);
                return;
            };
            if !keys.set(Key::new(tick as f64, pose, Ease::default())) {
                let text = format!("A run can have {} keys. Remove one before you set another.", Keys::MOST);
                work.notices.tell(Level::Info, text);
                return;
            }
            if keys.list().len() == 1 {
                let text = "A key of the camera is set at this tick. Set more at other ticks; with Shift+I the camera \
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
                let text = "The camera has no keys yet: I sets one at the present tick, where the camera is.";
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

/// The camera follows the keyframes of the work that it began with.
fn rest(_: On<WorkReplaced>, mut follows_keys: ResMut<FollowsKeys>) {
    follows_keys.0 = false;
}

/// The camera follows keyframes as long as there are some.
pub(super) fn rest_without_keyframes(simulations: Res<Simulations>, mut follows_keys: ResMut<FollowsKeys>) {
    if follows_keys.0 && simulations.views.keys.list().is_empty() {
        follows_keys.0 = false;
    }
}
