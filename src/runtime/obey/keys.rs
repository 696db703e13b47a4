//! The keys of the camera along the run.

use super::Runtime;
use crate::runtime::{Gait, KeyCommand, Label, Level};
use thalweg_scene::model::film::{Ease, Key, Keys};

impl Runtime<'_> {
    pub(super) fn key(&mut self, command: &KeyCommand) {
        const ROUND: &str = "Keys are used while the camera goes round the land. Press Esc to stop walking or flying.";
        let (tick, orbits) = (self.simulations.ticks(), *self.gait == Gait::Orbit);
        let mut keys = self.simulations.views.keys.clone();
        let label = match *command {
            KeyCommand::Set => {
                let Some(pose) = self.eye.pose.filter(|_| orbits && !self.presentation.is_on()) else {
                    self.notices.tell(Level::Info, ROUND);
                    return;
                };
                if !keys.set(Key::new(tick as f64, pose, Ease::default())) {
                    let text = format!("A run can have {} keys. Remove one before you set another.", Keys::MOST);
                    self.notices.tell(Level::Info, text);
                    return;
                }
                if keys.list().len() == 1 {
                    let text = "A key of the camera is set at this tick. Set more at other ticks; with Shift+I the camera \
                                follows them.";
                    self.notices.tell(Level::Info, text);
                }
                Label::KeySet(tick)
            }
            KeyCommand::Remove(tick) => {
                keys.remove(tick as f64);
                Label::KeyRemoved(tick)
            }
            KeyCommand::Then(tick, then) => {
                if let Some(key) = keys.at(tick as f64) {
                    key.then = then;
                }
                Label::KeyEased(tick)
            }
            KeyCommand::Move(from, to) => {
                keys.shift(from as f64, to as f64);
                Label::KeyMoved(to)
            }
            KeyCommand::Follow => {
                let follows = !self.follows_keys.0;
                self.follows_keys.0 = follows && orbits && !keys.list().is_empty();
                if follows && !orbits {
                    self.notices.tell(Level::Info, ROUND);
                } else if follows && !self.follows_keys.0 {
                    let text = "The camera has no keys yet: I sets one at the present tick, where the camera is.";
                    self.notices.tell(Level::Info, text);
                }
                return;
            }
            KeyCommand::Rest => {
                self.follows_keys.0 = false;
                return;
            }
        };
        if keys != self.simulations.views.keys {
            self.history.set_keys(&mut self.simulations, label, keys);
        }
        self.rest_without_keys();
    }

    /// The camera follows keys as long as there are some.
    pub(super) fn rest_without_keys(&mut self) {
        self.follows_keys.0 &= !self.simulations.views.keys.list().is_empty();
    }
}
