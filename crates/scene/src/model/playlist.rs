//! Playlists: scenes in order, presented to an audience.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    film::{CameraKeyframe, Caption, Script, caption_at},
    lesson::Lesson,
    session::{AudienceSlider, MAX_FAST_FORWARD},
};

/// Content of a window on startup, in addition to its simulations.
#[derive(Clone, Debug)]
pub enum Opening {
    /// The default workspaces.
    Work,
    /// A lesson.
    Lesson(Box<Lesson>),
    /// A playlist.
    Show(PresentationOptions),
}

/// Presentation of a playlist.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentationOptions {
    /// The playlist. Its first scene is open.
    pub list: Arc<Playlist>,
    /// `true` if files and panels are locked.
    pub kiosk: bool,
    /// Index of the screen; `None` for the primary screen.
    pub screen: Option<usize>,
    /// `true` for a window instead of fullscreen.
    pub windowed: bool,
    /// `true` if a second window shows the presenter's notes and the next scene.
    pub notes: bool,
}

/// Scenes in presentation order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Playlist {
    /// Title of the playlist.
    #[serde(default)]
    pub title: String,
    /// The scenes.
    pub scenes: Vec<Item>,
}

/// Scene of a playlist with its presentation settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Built-in scene, or path of a scene, project or heightmap relative to the playlist.
    pub open: PathBuf,
    /// Title, if different from the scene's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Description, if different from the scene's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Notes for the presenter's window, in any number of lines. The audience does not see them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// Parameters by path, with values as on the command line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// First and last tick: the simulation fast-forwards to the first and pauses at the last, or never if that is 0. If missing,
    /// it fast-forwards to the scene's own first tick and never pauses.
    #[serde(default, skip_serializing_if = "no_ticks")]
    pub ticks: (u64, u64),
    /// Paths of the parameters that the audience may change, if different from the scene's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sliders: Vec<AudienceSlider>,
    /// Camera keyframes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub camera: Vec<CameraKeyframe>,
    /// Captions, instead of `about`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captions: Vec<Caption>,
    /// Seconds until the next scene follows automatically; 0 waits for a key press.
    #[serde(default, skip_serializing_if = "waits")]
    pub seconds: f64,
}

fn no_ticks(ticks: &(u64, u64)) -> bool {
    *ticks == (0, 0)
}

fn waits(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// Maximum time until the next scene follows automatically, in seconds: a day.
pub const MAX_SECONDS: f64 = 86_400.0;
/// Maximum number of sliders on screen.
const MOST_SLIDERS: usize = 4;

impl Playlist {
    /// Creates a playlist of inputs with default settings.
    pub fn of(inputs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        let scenes = inputs.into_iter().map(|open| Item { open: open.into(), ..Item::default() }).collect();
        Self { title: "Scenes".to_owned(), scenes }
    }

    /// Checks all values and texts.
    ///
    /// # Errors
    /// A message that names the scene, the defect and a valid alternative.
    pub fn check(&self) -> Result<(), String> {
        if self.title.chars().any(char::is_control) {
            return Err("`title` contains a control character; use a single line of plain text".to_owned());
        }
        if self.scenes.is_empty() {
            return Err("`scenes` is empty; list at least one scene".to_owned());
        }
        for (number, item) in self.scenes.iter().enumerate() {
            item.check().map_err(|wrong| format!("scene {} (\"{}\"): {wrong}", number + 1, item.open.display()))?;
        }
        Ok(())
    }
}

impl Item {
    fn check(&self) -> Result<(), String> {
        if !(0.0..=MAX_SECONDS).contains(&self.seconds) {
            return Err(format!("`seconds` is {}; use 0 to {MAX_SECONDS}", self.seconds));
        }
        let (first, last) = self.ticks;
        if last != 0 && first >= last {
            return Err(format!(
                "`ticks` is ({first}, {last}); the last must be greater than the first, or 0 to run indefinitely"
            ));
        }
        if first > MAX_FAST_FORWARD {
            return Err(format!(
                "`ticks` begins at {first}; a simulation can fast-forward by {MAX_FAST_FORWARD} ticks at most"
            ));
        }
        if self.sliders.len() > MOST_SLIDERS {
            return Err(format!("it has {} sliders, but only {MOST_SLIDERS} fit on the screen", self.sliders.len()));
        }
        if [&self.title, &self.about].into_iter().any(|text| text.chars().any(char::is_control)) {
            return Err("`title` or `about` contains a control character; use plain text".to_owned());
        }
        if self.notes.chars().any(|letter| letter.is_control() && !['\n', '\r', '\t'].contains(&letter)) {
            return Err("`notes` contains a control character; use plain text".to_owned());
        }
        // A video needs a camera keyframe; a playlist scene may do without.
        let camera =
            if self.camera.is_empty() { vec![CameraKeyframe::still(0.0, 30.0, 1.0)] } else { self.camera.clone() };
        Script { camera, captions: self.captions.clone(), ..Script::default() }.check()
    }

    /// Returns the camera script, if there are keyframes.
    pub fn script(&self) -> Option<Script> {
        let script = || Script { camera: self.camera.clone(), captions: self.captions.clone(), ..Script::default() };
        (!self.camera.is_empty()).then(script)
    }

    /// Returns the caption at a tick, if there is one.
    pub fn caption(&self, tick: f64) -> Option<&str> {
        caption_at(&self.captions, tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_playlist_error_names_scene_number() {
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
        assert!(wrong(Item { sliders: vec![AudienceSlider::default(); 5], ..Item::default() }).contains("5 sliders"));
        assert!(wrong(Item { about: "a\u{1b}".to_owned(), ..Item::default() }).contains("control character"));
        assert!(wrong(Item { notes: "a\u{7}".to_owned(), ..Item::default() }).contains("`notes`"));
        assert_eq!(list(Item { notes: "First this.\r\n\tThen that.".to_owned(), ..Item::default() }).check(), Ok(()));
        let below = CameraKeyframe { above: -3.0, ..CameraKeyframe::still(0.0, 30.0, 1.0) };
        assert!(wrong(Item { camera: vec![below], ..Item::default() }).contains("-3 degrees"));
        assert!(Playlist::default().check().is_err());
    }
}
