//! Scenes in an order, to be shown to a room.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    film::{Caption, Key, Script},
    lesson::Lesson,
    session::LATEST_SHOWN,
};

/// What a window begins with, besides its runs.
#[derive(Clone, Debug)]
pub enum Opening {
    /// Nothing else.
    Work,
    /// A lesson.
    Lesson(Box<Lesson>),
    /// Scenes for a room.
    Show(Show),
}

/// A playlist on a screen.
#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    /// The scenes. The first is open.
    pub list: Arc<Playlist>,
    /// Whether files and panels cannot be opened.
    pub kiosk: bool,
    /// Which screen, from 0; without, the main one.
    pub screen: Option<usize>,
    /// Whether it is shown in a window and not on the whole screen.
    pub windowed: bool,
    /// Whether a second window shows the presenter's notes and the next scene.
    pub notes: bool,
}

/// Scenes in an order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Playlist {
    /// What the whole is called.
    #[serde(default)]
    pub title: String,
    /// The scenes.
    pub scenes: Vec<Item>,
}

/// A scene, and how it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// A built-in scene, or a file: a scene, a project or a heightmap. Its path counts from the folder of the playlist.
    pub open: PathBuf,
    /// Its title, if not its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What there is to see, if not what the scene says of itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What the presenter reads in a window of their own, in as many lines as wanted. The room does not see it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// Parameters by path, values as they are written on the command line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// First and last tick: the run goes ahead to the first, and stands still at the last, or never if that is 0. Without, as the scene
    /// has it.
    #[serde(default, skip_serializing_if = "no_ticks")]
    pub ticks: (u64, u64),
    /// Parameters that the room may turn, if not those that the scene names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sliders: Vec<String>,
    /// Where the camera is at some ticks; between them it moves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub camera: Vec<Key>,
    /// Words at the foot of the picture, instead of `about`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captions: Vec<Caption>,
    /// Seconds after which the next scene follows by itself; 0 waits for a key.
    #[serde(default, skip_serializing_if = "waits")]
    pub seconds: f64,
}

fn no_ticks(ticks: &(u64, u64)) -> bool {
    *ticks == (0, 0)
}

fn waits(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// Longest time that a scene is shown before the next follows by itself, in seconds: a day.
pub const LONGEST: f64 = 86_400.0;
/// Most sliders over a picture.
const MOST_SLIDERS: usize = 4;

impl Playlist {
    /// One of inputs as they are.
    pub fn of(inputs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        let scenes = inputs.into_iter().map(|open| Item { open: open.into(), ..Item::default() }).collect();
        Self { title: "Scenes".to_owned(), scenes }
    }

    /// Checks its numbers and words.
    ///
    /// # Errors
    /// One sentence: which scene, what is wrong, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        if self.title.chars().any(char::is_control) {
            return Err("`title` has a control character; write plain text in one line".to_owned());
        }
        if self.scenes.is_empty() {
            return Err("`scenes` is empty; name one or more".to_owned());
        }
        for (number, item) in self.scenes.iter().enumerate() {
            item.check().map_err(|wrong| format!("scene {} (\"{}\"): {wrong}", number + 1, item.open.display()))?;
        }
        Ok(())
    }
}

impl Item {
    fn check(&self) -> Result<(), String> {
        if !(0.0..=LONGEST).contains(&self.seconds) {
            return Err(format!("`seconds` is {}; it must be 0 to {LONGEST}", self.seconds));
        }
        let (first, last) = self.ticks;
        if last != 0 && first >= last {
            return Err(format!(
                "`ticks` is ({first}, {last}); the last must be greater than the first, or 0 for a run without end"
            ));
        }
        if first > LATEST_SHOWN {
            return Err(format!("`ticks` begins at {first}; a run goes ahead by {LATEST_SHOWN} ticks at most"));
        }
        if self.sliders.len() > MOST_SLIDERS {
            return Err(format!("it has {} sliders; {MOST_SLIDERS} at most find room", self.sliders.len()));
        }
        if [&self.title, &self.about].into_iter().any(|text| text.chars().any(char::is_control)) {
            return Err("title or `about` has a control character; write plain text".to_owned());
        }
        if self.notes.chars().any(|letter| letter.is_control() && !['\n', '\r', '\t'].contains(&letter)) {
            return Err("`notes` has a control character; write plain text".to_owned());
        }
        // A film must say where its camera is; here it may stay where it is.
        let camera = if self.camera.is_empty() { vec![Key::still(0.0, 30.0, 1.0)] } else { self.camera.clone() };
        Script { camera, captions: self.captions.clone() }.check()
    }

    /// The way of the camera, if it has one.
    pub fn script(&self) -> Option<Script> {
        (!self.camera.is_empty()).then(|| Script { camera: self.camera.clone(), captions: self.captions.clone() })
    }

    /// The words at a tick, if it has captions.
    pub fn caption(&self, tick: f64) -> Option<&str> {
        let seen = |caption: &&Caption| caption.from <= tick && tick < caption.to;
        self.captions.iter().rev().find(seen).map(|caption| caption.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_playlist_is_said_with_the_number_of_its_scene() {
        let list = |item: Item| Playlist { title: "a".to_owned(), scenes: vec![Item::default(), item] };
        assert_eq!(list(Item { ticks: (5, 900), seconds: 30.0, ..Item::default() }).check(), Ok(()));
        let wrong = |item: Item| list(item).check().expect_err("it is wrong");
        assert!(wrong(Item { seconds: f64::NAN, ..Item::default() }).starts_with("scene 2 (\"\"): `seconds` is NaN"));
        assert!(wrong(Item { seconds: -1.0, ..Item::default() }).contains("0 to 86400"));
        assert!(wrong(Item { ticks: (9, 9), ..Item::default() }).contains("greater than the first"));
        assert_eq!(list(Item { ticks: (9, 0), ..Item::default() }).check(), Ok(()));
        let titled = Playlist { title: "a\nb".to_owned(), scenes: vec![Item::default()] };
        assert!(titled.check().is_err_and(|wrong| wrong.contains("`title`")));
        assert!(wrong(Item { ticks: (20_000, 30_000), ..Item::default() }).contains("10000 ticks at most"));
        assert!(wrong(Item { sliders: vec![String::new(); 5], ..Item::default() }).contains("5 sliders"));
        assert!(wrong(Item { about: "a\u{1b}".to_owned(), ..Item::default() }).contains("control character"));
        assert!(wrong(Item { notes: "a\u{7}".to_owned(), ..Item::default() }).contains("`notes`"));
        assert_eq!(list(Item { notes: "First this.\r\n\tThen that.".to_owned(), ..Item::default() }).check(), Ok(()));
        let below = Key { above: -3.0, ..Key::still(0.0, 30.0, 1.0) };
        assert!(wrong(Item { camera: vec![below], ..Item::default() }).contains("-3 degrees"));
        assert!(Playlist::default().check().is_err());
    }
}
