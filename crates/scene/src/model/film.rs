//! What the camera does in a film, and what is written into its pictures.

use serde::{Deserialize, Serialize};

/// Named views: name, direction in degrees (0 is south, 90 is east), angle above the horizontal in degrees, and zoom: at 1 the whole land just
/// fits into the picture, at 2 the camera is at half that distance.
pub const CAMERAS: [(&str, f32, f32, f32); 4] =
    [("default", 28.0, 26.0, 1.0), ("front", 0.0, 24.0, 1.0), ("high", 28.0, 58.0, 1.0), ("low", 55.0, 12.0, 1.25)];

/// A film's camera and captions, tick by tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Where the camera is at some ticks; between them it moves.
    pub camera: Vec<Key>,
    /// Words at the foot of the picture.
    #[serde(default)]
    pub captions: Vec<Caption>,
}

/// Where the camera is at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The tick.
    pub tick: f64,
    /// Direction in degrees: 0 is south, 90 is east. Beyond 360 the camera goes round again.
    pub round: f64,
    /// Angle above the horizontal, in degrees.
    pub above: f64,
    /// Zoom: at 1 the whole land fits into the picture, at 2 the camera is at half that distance.
    #[serde(default = "whole")]
    pub near: f64,
    /// The place that it looks at, as shares of the land's width and height from the north-west corner.
    #[serde(default = "middle", skip_serializing_if = "is_middle")]
    pub at: [f64; 2],
    /// How it goes on to the next key.
    #[serde(default)]
    pub then: Ease,
}

/// Where the camera is: its numbers are those of a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Direction in degrees.
    pub round: f64,
    /// Angle above the horizontal, in degrees.
    pub above: f64,
    /// Zoom.
    pub near: f64,
    /// The place that it looks at.
    pub at: [f64; 2],
}

/// How the camera goes from a key to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ease {
    /// It starts and stops gently.
    #[default]
    Smooth,
    /// At the same speed all the way: several in a row make one long turn.
    Even,
    /// It stays until the next key, and is there at once.
    Hold,
}

/// Words that are seen for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caption {
    /// First tick at which they are seen.
    pub from: f64,
    /// First tick at which they are seen no more.
    pub to: f64,
    /// The words.
    pub text: String,
}

fn whole() -> f64 {
    1.0
}

fn middle() -> [f64; 2] {
    [0.5; 2]
}

fn is_middle(at: &[f64; 2]) -> bool {
    *at == middle()
}

impl Key {
    /// A camera that stays there.
    pub fn still(round: f64, above: f64, near: f64) -> Self {
        Self { tick: 0.0, round, above, near, at: middle(), then: Ease::Hold }
    }

    /// A key at a tick.
    pub fn new(tick: f64, Pose { round, above, near, at }: Pose, then: Ease) -> Self {
        Self { tick, round, above, near, at, then }
    }

    /// Where the camera is.
    pub fn pose(&self) -> Pose {
        let Self { round, above, near, at, .. } = *self;
        Pose { round, above, near, at }
    }
}

/// Keys that a hand sets one by one: their ticks rise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Keys(Vec<Key>);

impl Keys {
    /// Most keys of a run.
    pub const MOST: usize = 1000;

    /// Those that were saved; what is wrong with them, if something is.
    ///
    /// # Errors
    /// One sentence.
    pub fn of(keys: Vec<Key>) -> Result<Self, String> {
        if !keys.is_empty() {
            Script { camera: keys.clone(), captions: Vec::new() }.check()?;
        }
        Ok(Self(keys))
    }

    /// The keys.
    pub fn list(&self) -> &[Key] {
        &self.0
    }

    /// The way of the camera, if there is a key.
    pub fn script(&self) -> Option<Script> {
        (!self.0.is_empty()).then(|| Script { camera: self.0.clone(), captions: Vec::new() })
    }

    /// Sets a key, in the place of one at its tick. Returns whether there was room for it.
    pub fn set(&mut self, key: Key) -> bool {
        if let Some(other) = self.at(key.tick) {
            *other = Key { then: other.then, ..key };
        } else if self.0.len() < Self::MOST {
            self.0.push(key);
        } else {
            return false;
        }
        self.arrange();
        true
    }

    /// The key at a tick.
    pub fn at(&mut self, tick: f64) -> Option<&mut Key> {
        self.0.iter_mut().find(|key| key.tick == tick)
    }

    /// Moves a key to another tick, if none is there.
    pub fn shift(&mut self, from: f64, to: f64) {
        if self.at(to).is_none()
            && let Some(key) = self.at(from)
        {
            key.tick = to;
            self.arrange();
        }
    }

    /// Takes a key away.
    pub fn remove(&mut self, tick: f64) {
        self.0.retain(|key| key.tick != tick);
        self.arrange();
    }

    /// Brings them into order. From each to the next the camera turns by the shorter way.
    fn arrange(&mut self) {
        self.0.sort_by(|a, b| a.tick.total_cmp(&b.tick));
        let mut before = 0.0;
        for key in &mut self.0 {
            key.round += 360.0 * ((before - key.round) / 360.0).round();
            before = key.round;
        }
    }
}

impl Script {
    /// A camera that goes round by so many degrees from one tick to another.
    pub fn turning(start: Key, degrees: f64, [from, to]: [f64; 2]) -> Self {
        let first = Key { tick: from, then: Ease::Even, ..start };
        let last = Key { tick: to, round: start.round + degrees, ..first };
        Self { camera: vec![first, last], captions: Vec::new() }
    }

    /// Checks it.
    ///
    /// # Errors
    /// One sentence: what is wrong, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        if self.camera.is_empty() {
            return Err("the camera has no key; give it one or more".to_owned());
        }
        for key in &self.camera {
            let numbers = [key.tick, key.round, key.above, key.near, key.at[0], key.at[1]];
            if !numbers.iter().all(|number| number.is_finite()) {
                return Err("a number of a key is not finite; write plain numbers".to_owned());
            }
            if key.round.abs() > 36_000.0 {
                return Err(format!("`round` is {} degrees; it must be -36000 to 36000, a hundred turns", key.round));
            }
            if !(1.0..=89.0).contains(&key.above) {
                return Err(format!("`above` is {} degrees; it must be 1 to 89", key.above));
            }
            if !(0.1..=200.0).contains(&key.near) {
                return Err(format!("`near` is {}; it must be 0.1 to 200", key.near));
            }
            if !key.at.iter().all(|share| (-1.0..=2.0).contains(share)) {
                return Err(format!(
                    "`at` is {:?}; both shares must be -1 to 2, where (0.5, 0.5) is the middle",
                    key.at
                ));
            }
        }
        if self.camera.windows(2).any(|pair| pair[1].tick <= pair[0].tick) {
            return Err("the ticks of the keys do not rise; put the keys in order".to_owned());
        }
        if let Some(caption) = self.captions.iter().find(|caption| caption.text.chars().any(char::is_control)) {
            return Err(format!("the caption {:?} has a control character; write plain text", caption.text));
        }
        match self
            .captions
            .iter()
            .find(|caption| caption.to.partial_cmp(&caption.from) != Some(std::cmp::Ordering::Greater))
        {
            Some(caption) => Err(format!("the caption \"{}\" ends before it begins", caption.text)),
            None => Ok(()),
        }
    }

    /// Where the camera is at a tick.
    pub fn at(&self, tick: f64) -> Pose {
        let of = |key: &Key| [key.round, key.above, key.near.ln(), key.at[0], key.at[1]];
        let next = self.camera.partition_point(|key| key.tick <= tick);
        let [round, above, near, x, y] =
            match (next.checked_sub(1).map(|last| &self.camera[last]), self.camera.get(next)) {
                (Some(last), Some(next)) => {
                    let share = (tick - last.tick) / (next.tick - last.tick);
                    let share = match last.then {
                        Ease::Smooth => share * share * (3.0 - 2.0 * share),
                        Ease::Even => share,
                        Ease::Hold => 0.0,
                    };
                    let (from, to) = (of(last), of(next));
                    [0, 1, 2, 3, 4].map(|part| from[part] + share * (to[part] - from[part]))
                }
                (Some(only), None) | (None, Some(only)) => of(only),
                (None, None) => [0.0, 30.0, 0.0, 0.5, 0.5],
            };
        Pose { round, above, near: near.exp(), at: [x, y] }
    }

    /// What is written into the picture of a tick.
    pub fn caption(&self, tick: f64) -> Option<&str> {
        let seen = |caption: &&Caption| caption.from <= tick && tick < caption.to;
        self.captions.iter().rev().find(seen).map(|caption| caption.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tick: f64, round: f64, then: Ease) -> Key {
        Key { tick, then, ..Key::still(round, 30.0, 1.0) }
    }

    #[test]
    fn the_camera_is_at_its_keys_and_moves_between_them_as_each_says() {
        let camera = vec![
            key(0.0, 0.0, Ease::Smooth),
            key(10.0, 100.0, Ease::Hold),
            key(20.0, 50.0, Ease::Even),
            key(30.0, 60.0, Ease::Even),
        ];
        let script = Script { camera, captions: Vec::new() };
        assert_eq!(script.check(), Ok(()));
        for (tick, round) in [
            (-5.0, 0.0),
            (0.0, 0.0),
            (5.0, 50.0),
            (10.0, 100.0),
            (19.0, 100.0),
            (20.0, 50.0),
            (25.0, 55.0),
            (99.0, 60.0),
        ] {
            assert!((script.at(tick).round - round).abs() < 1e-9, "{tick}: {:?}", script.at(tick));
        }
        assert!(script.at(1.0).round < 5.0, "it starts gently");
        let turn = Script::turning(Key::still(28.0, 26.0, 1.0), 360.0, [0.0, 100.0]);
        assert!((turn.at(50.0).round - 208.0).abs() < 1e-9 && (turn.at(50.0).near - 1.0).abs() < 1e-9);
        let aside = Key { at: [0.0, 1.0], then: Ease::Even, ..key(0.0, 0.0, Ease::Even) };
        let script = Script { camera: vec![aside, key(4.0, 0.0, Ease::Even)], captions: Vec::new() };
        assert_eq!(script.at(1.0).at, [0.125, 0.875]);
    }

    #[test]
    fn keys_that_are_set_stay_in_order_and_turn_by_the_shorter_way() {
        let mut keys = Keys::default();
        for (tick, round) in [(100.0, 3950.0), (20.0, 10.0), (200.0, 20.0), (100.0, 340.0)] {
            assert!(keys.set(key(tick, round, Ease::Smooth)));
        }
        let told = |keys: &Keys| keys.list().iter().map(|key| (key.tick, key.round)).collect::<Vec<_>>();
        assert_eq!(told(&keys), [(20.0, 10.0), (100.0, -20.0), (200.0, 20.0)]);
        keys.at(100.0).expect("it is there").then = Ease::Hold;
        assert!(keys.set(key(100.0, 5.0, Ease::Smooth)) && keys.list()[1].then == Ease::Hold, "how it goes on stays");
        keys.shift(20.0, 100.0);
        assert_eq!(told(&keys)[0].0, 20.0, "a key is in the way");
        keys.shift(20.0, 150.0);
        keys.remove(100.0);
        assert_eq!(told(&keys), [(150.0, 10.0), (200.0, 20.0)]);
        // What comes after a key that has changed turns by the shorter way too.
        for (tick, round) in [(300.0, 170.0), (400.0, 340.0), (300.0, 190.0)] {
            assert!(keys.set(key(tick, round, Ease::Smooth)));
        }
        assert_eq!(told(&keys)[2..], [(300.0, 190.0), (400.0, 340.0)]);
        keys.remove(300.0);
        assert_eq!(told(&keys)[1..], [(200.0, 20.0), (400.0, -20.0)]);
        keys.remove(400.0);
        assert_eq!(keys.script().expect("it has keys").at(0.0), keys.list()[0].pose());
        assert!(Keys::of(keys.list().iter().rev().copied().collect()).is_err() && Keys::default().script().is_none());
        for tick in 0..2 * Keys::MOST {
            keys.set(key(tick as f64, 0.0, Ease::Even));
        }
        assert_eq!(keys.list().len(), Keys::MOST);
    }

    #[test]
    fn captions_are_seen_for_their_while_and_what_is_wrong_is_said() {
        let caption = |from, to, text: &str| Caption { from, to, text: text.to_owned() };
        let captions = vec![caption(0.0, 10.0, "a"), caption(5.0, 8.0, "b")];
        let script = Script { camera: vec![key(0.0, 0.0, Ease::Hold)], captions };
        assert_eq!([4.0, 6.0, 9.0, 10.0].map(|tick| script.caption(tick)), [Some("a"), Some("b"), Some("a"), None]);
        let wrong = |script: Script| script.check().expect_err("it is wrong");
        assert!(wrong(Script::default()).contains("no key"));
        let twice = Script { camera: vec![key(3.0, 0.0, Ease::Even); 2], captions: Vec::new() };
        assert!(wrong(twice).contains("in order"));
        assert!(wrong(Script { captions: vec![caption(5.0, 5.0, "c")], ..script.clone() }).contains("ends before"));
        assert!(wrong(Script { captions: vec![caption(0.0, 5.0, "c\u{7}")], ..script.clone() }).contains("control"));
        assert!(wrong(Script::turning(Key::still(0.0, 30.0, 1.0), f64::NAN, [0.0, 1.0])).contains("not finite"));
        assert!(wrong(Script::turning(Key::still(0.0, 30.0, 1.0), 1e39, [0.0, 1.0])).contains("a hundred turns"));
        let beside = Key { at: [0.5, 7.0], ..key(0.0, 0.0, Ease::Even) };
        assert!(wrong(Script { camera: vec![beside], captions: Vec::new() }).contains("must be -1 to 2"));
        let below = Key { above: -3.0, ..key(0.0, 0.0, Ease::Even) };
        assert!(wrong(Script { camera: vec![below], captions: Vec::new() }).contains("-3 degrees"));
    }
}
