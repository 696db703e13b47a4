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
    /// How it goes on to the next key.
    #[serde(default)]
    pub then: Ease,
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

impl Key {
    /// A camera that stays there.
    pub fn still(round: f64, above: f64, near: f64) -> Self {
        Self { tick: 0.0, round, above, near, then: Ease::Hold }
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
            let numbers = [key.tick, key.round, key.above, key.near];
            if !numbers.iter().all(|number| number.is_finite()) {
                return Err("a number of a key is not finite; write plain numbers".to_owned());
            }
            if key.round.abs() > 36_000.0 {
                return Err(format!("`round` is {} degrees; it must be -36000 to 36000, a hundred turns", key.round));
            }
            if !(1.0..=89.0).contains(&key.above) {
                return Err(format!("`above` is {} degrees; it must be 1 to 89", key.above));
            }
            if !(0.1..=20.0).contains(&key.near) {
                return Err(format!("`near` is {}; it must be 0.1 to 20", key.near));
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

    /// Where the camera is at a tick: round and above in degrees, and how near.
    pub fn at(&self, tick: f64) -> [f64; 3] {
        let of = |key: &Key| [key.round, key.above, key.near.ln()];
        let next = self.camera.partition_point(|key| key.tick <= tick);
        let [round, above, near] = match (next.checked_sub(1).map(|last| &self.camera[last]), self.camera.get(next)) {
            (Some(last), Some(next)) => {
                let share = (tick - last.tick) / (next.tick - last.tick);
                let share = match last.then {
                    Ease::Smooth => share * share * (3.0 - 2.0 * share),
                    Ease::Even => share,
                    Ease::Hold => 0.0,
                };
                let (from, to) = (of(last), of(next));
                [0, 1, 2].map(|part| from[part] + share * (to[part] - from[part]))
            }
            (Some(only), None) | (None, Some(only)) => of(only),
            (None, None) => [0.0, 30.0, 0.0],
        };
        [round, above, near.exp()]
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
        Key { tick, round, above: 30.0, near: 1.0, then }
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
            assert!((script.at(tick)[0] - round).abs() < 1e-9, "{tick}: {:?}", script.at(tick));
        }
        assert!(script.at(1.0)[0] < 5.0, "it starts gently");
        let turn = Script::turning(Key::still(28.0, 26.0, 1.0), 360.0, [0.0, 100.0]);
        assert!((turn.at(50.0)[0] - 208.0).abs() < 1e-9 && (turn.at(50.0)[2] - 1.0).abs() < 1e-9);
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
        let below = Key { above: -3.0, ..key(0.0, 0.0, Ease::Even) };
        assert!(wrong(Script { camera: vec![below], captions: Vec::new() }).contains("-3 degrees"));
    }
}
