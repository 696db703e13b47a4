//! The keys of the camera along the run.

use super::Runtime;
use crate::{
    model::film::{Ease, Key, Keys},
    runtime::{Gait, KeyCommand, Level},
};

impl Runtime<'_> {
    pub(super) fn key(&mut self, command: &KeyCommand) {
        const ROUND: &str = "Keys are used while the camera goes round the land. Press Esc to stop walking or flying.";
        let (tick, orbits) = (self.live.ticks(), *self.gait == Gait::Orbit);
        let kept = &mut self.bookmarks.of_mut(&self.live).keys;
        match *command {
            KeyCommand::Set => {
                let Some(pose) = self.eye.pose.filter(|_| orbits && !self.presentation.is_on()) else {
                    self.notices.tell(Level::Info, ROUND);
                    return;
                };
                if !kept.set(Key::new(tick as f64, pose, Ease::default())) {
                    let text = format!("A run can have {} keys. Remove one before you set another.", Keys::MOST);
                    self.notices.tell(Level::Info, text);
                    return;
                }
                if kept.list().len() == 1 {
                    let text = "A key of the camera is set at this tick. Set more at other ticks; with Shift+I the camera \
                                follows them.";
                    self.notices.tell(Level::Info, text);
                }
            }
            KeyCommand::Remove(tick) => {
                kept.remove(tick as f64);
                self.follows_keys.0 &= !kept.list().is_empty();
            }
            KeyCommand::Then(tick, then) => {
                if let Some(key) = kept.at(tick as f64) {
                    key.then = then;
                }
            }
            KeyCommand::Move(from, to) => kept.shift(from as f64, to as f64),
            KeyCommand::Follow => {
                let follows = !self.follows_keys.0;
                self.follows_keys.0 = follows && orbits && !kept.list().is_empty();
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
        }
        self.history.note_change();
    }
}
