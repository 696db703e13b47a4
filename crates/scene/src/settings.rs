//! What belongs to the person and the machine and not to a scene: panels, mouse, quality. It survives a restart.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use bevy_reflect::Reflect;
use serde::{Deserialize, Serialize, Serializer};

use crate::io::{Budget, Error, input, output};
use thalweg_sim::params::{self, choice, knob};

/// Light or dark panels.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light text on dark panels.
    #[default]
    Dark,
    /// Dark text on light panels.
    Light,
}

/// Which buttons turn and shift the view. The left one stays free to work on the ground.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buttons {
    /// Right turns, middle shifts.
    #[default]
    RightAndMiddle,
    /// Middle turns, right shifts.
    MiddleAndRight,
    /// For two buttons: right turns, right with Shift shifts.
    RightAndShift,
}

/// What is spent on the picture.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// Fit for the graphics adapter that was found, and for how fast it has drawn so far.
    #[default]
    Automatic,
    /// For machines without a graphics card: large triangles. While something moves, as many pixels as the machine can draw in time.
    Software,
    /// For small graphics cards: four samples for each pixel smooth all edges.
    Balanced,
    /// For large graphics cards: smaller triangles, so finer crests.
    High,
    /// For pictures: small triangles, and more pixels than the window has.
    Ultra,
    /// What the settings below say.
    Custom,
}

/// How edges are smoothed.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AntiAliasing {
    /// Not while something moves. Once all stands still, by four samples for each pixel, if "Steady" is on.
    #[default]
    Off,
    /// Always, by four samples for each pixel.
    Msaa4,
}

/// In which units lengths, areas, volumes and speeds are told. Files are always metric.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Metres.
    #[default]
    Metric,
    /// Feet, acres and miles.
    Feet,
}

/// When the view has a scale bar and an arrow to the north.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signs {
    /// In the workspace Learn.
    #[default]
    InLearn,
    /// In all workspaces.
    Always,
    /// In none.
    Never,
}

/// How pictures that are saved are written.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PictureFormat {
    /// As the screen shows them: PNG with 8 bits for each colour.
    #[default]
    Png,
    /// As light, without the tone curve: EXR with half floats, for grading and compositing.
    Exr,
}

/// The settings.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Settings {
    /// Light text on dark panels, or dark text on light ones.
    #[reflect(@choice().source("ours").main())]
    pub theme: Theme,
    /// Metres, or feet, acres and miles. Numbers can be typed in either. Files are always metric.
    #[reflect(@choice().source("ours").main())]
    pub units: Units,
    /// When the view shows a scale bar and an arrow to the north. The bar is right for the place that the camera looks at: what is nearer to you is larger.
    #[reflect(@choice().source("ours").main())]
    pub scale_and_north: Signs,
    /// Size of panels and text. Larger reads more easily and leaves less room for the view.
    #[reflect(@knob(0.75..=2.5).unit("×").source("ours").main())]
    pub scale: f32,
    /// Which mouse buttons turn and shift the view; the wheel and two fingers always zoom.
    #[reflect(@choice().source("ours").main())]
    pub buttons: Buttons,
    /// Two fingers on a trackpad turn the view, with Shift they shift it, with Ctrl they zoom. Off, they zoom.
    #[reflect(@choice().source("ours").main())]
    pub trackpad: bool,
    /// How much work goes into the picture. Higher gives smoother edges and finer crests, and is slower.
    #[reflect(@choice().source("ours").main())]
    pub quality: Quality,
    /// Side of a triangle of the ground on the screen, at least; some are twice as large. Small ones show finer crests and draw more
    /// slowly; light and colour stay as fine as the cells.
    #[reflect(@knob(2.0..=32.0).unit("px").source("ours").log())]
    pub triangle: f32,
    /// How jagged edges are smoothed.
    #[reflect(@choice().source("ours"))]
    pub anti_aliasing: AntiAliasing,
    /// Pixels drawn per pixel of the window, along a side. Below 1 is faster and blurred, above 1 is slower and finer.
    #[reflect(@knob(0.25..=2.0).unit("×").source("ours"))]
    pub render_scale: f32,
    /// While something moves, pictures that take too long are drawn with fewer pixels. As soon as all stands still, the picture is
    /// drawn in full. Off, each picture is drawn in full, and moves less smoothly.
    #[reflect(@choice().source("ours"))]
    pub steady: bool,
    /// Pixels along the longer side of pictures that you save. At 0, they have as many as the view has on the screen.
    #[reflect(@knob(0.0..=8192.0).unit("px").source("ours").main())]
    pub picture_side: f32,
    /// How blurred pictures that you save are before and behind what lies in their middle, as with a large lens: the width of a far point, as
    /// a share of the picture's height. At 0 all is sharp. Blurred pictures take much longer.
    #[reflect(@knob(0.0..=10.0).unit("%").source("ours").main())]
    pub picture_blur: f32,
    /// How pictures that you save are written: PNG as the screen shows them, or EXR with their light in half floats, without the tone curve,
    /// for grading and compositing.
    #[reflect(@choice().source("ours").main())]
    pub picture_format: PictureFormat,
    /// Whether pictures that you save show the land alone, with a transparent background.
    #[reflect(@choice().source("ours").main())]
    pub transparent_pictures: bool,
    /// Wait for the screen before each frame. Off, the machine works as hard as it can, and pictures may tear.
    #[reflect(@choice().source("ours"))]
    pub vsync: bool,
    /// Minutes of work that a crash may cost at most: the work is saved this often. A small number keeps the disk busy; 0 saves
    /// nothing.
    #[reflect(@knob(0.0..=60.0).unit("min").source("ours").main())]
    pub autosave: f32,
    /// Memory that the program may take. What needs more is refused before it begins; 0 allows half of what the machine has.
    /// Too much slows down the whole machine.
    #[reflect(@knob(0.0..=4096.0).unit("GB").source("ours").main())]
    pub memory: f32,
    /// Memory for undo and the timeline. When it is full, states along the run are thinned out and the oldest steps are removed.
    #[reflect(@knob(0.05..=64.0).unit("GB").source("ours").log().main())]
    pub undo_memory: f32,
    /// Whether projects keep the timeline, so that you can still go back after opening them. A message says how large it is. Off,
    /// files are many times smaller, and you can only go on from the saved state.
    #[reflect(@choice().source("ours").main())]
    pub save_timeline: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::Dark,
            units: Units::Metric,
            scale_and_north: Signs::InLearn,
            scale: 1.0,
            buttons: Buttons::RightAndMiddle,
            trackpad: false,
            quality: Quality::Automatic,
            triangle: 5.0,
            anti_aliasing: AntiAliasing::Msaa4,
            render_scale: 1.0,
            steady: true,
            picture_side: 0.0,
            picture_blur: 0.0,
            picture_format: PictureFormat::Png,
            transparent_pictures: false,
            vsync: true,
            autosave: 5.0,
            memory: 0.0,
            undo_memory: 0.5,
            save_timeline: true,
        }
    }
}

/// The fields that [`Quality`] decides.
const DECIDED_BY_QUALITY: [&str; 3] = ["triangle", "anti_aliasing", "render_scale"];

impl Settings {
    /// With the fields that its quality decides as they are on this machine.
    pub fn resolved(&self, software: bool) -> Self {
        let (triangle, anti_aliasing, render_scale) = match (self.quality, software) {
            (Quality::Custom, _) => return self.clone(),
            (Quality::Automatic, true) | (Quality::Software, _) => (6.0, AntiAliasing::Off, 1.0),
            (Quality::Automatic, false) | (Quality::Balanced, _) => (5.0, AntiAliasing::Msaa4, 1.0),
            (Quality::High, _) => (3.5, AntiAliasing::Msaa4, 1.0),
            (Quality::Ultra, _) => (3.0, AntiAliasing::Msaa4, 1.5),
        };
        Self { triangle, anti_aliasing, render_scale, ..self.clone() }
    }

    /// What the program may take of the machine's memory, if something was chosen.
    pub fn budget(&self) -> Option<Budget> {
        (self.memory > 0.0).then(|| Budget::of((f64::from(self.memory) * 1e9) as u64))
    }

    /// What undo and the timeline may take, in bytes.
    pub fn undo_bytes(&self) -> usize {
        (f64::from(self.undo_memory) * 1e9) as usize
    }

    /// Sets one field. One that the quality decides makes the quality "custom", the others staying as they looked.
    pub fn change(&mut self, name: &str, value: &params::Value, software: bool) -> bool {
        if DECIDED_BY_QUALITY.contains(&name) {
            *self = Self { quality: Quality::Custom, ..self.resolved(software) };
        }
        params::write(self, name, value)
    }
}

/// Settings and what else is remembered, as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// Changed settings by path.
    set: BTreeMap<String, String>,
    /// What was changed on the brushes, by tool and name.
    pub brushes: BTreeMap<String, String>,
    /// The playlist that was being made and that no file has, as RON; none, if it is empty.
    pub playlist: String,
    /// Projects that were opened or saved, the last first.
    #[serde(serialize_with = "unicode_paths")]
    pub recent: Vec<PathBuf>,
    /// Where files were last opened or saved by choice.
    #[serde(skip_serializing_if = "is_not_unicode")]
    pub last_folder: Option<PathBuf>,
}

/// Serializes the paths that can be written as text. Others are remembered as long as the program runs.
fn unicode_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().filter(|path| path.to_str().is_some()))
}

fn is_not_unicode(path: &Option<PathBuf>) -> bool {
    path.as_ref().is_some_and(|path| path.to_str().is_none())
}

impl Remembered {
    /// Reads the file. Where there is none, nothing is remembered yet.
    ///
    /// # Errors
    /// It is unreadable or damaged.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let Some(text) = input::text_if_there(path)? else { return Ok(Self::default()) };
        input::ron(path, &text, "settings", "until you change one, the defaults hold")
    }

    /// The settings; entries that are unknown or out of range stay at their defaults.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        for (path, value) in &self.set {
            let _ = params::set(&mut [("settings", &mut settings)], path, value);
        }
        settings
    }

    /// Keeps what differs from the defaults.
    pub fn keep(&mut self, settings: &Settings) {
        let fresh = params::walk(("settings", &Settings::default()));
        let now = params::walk(("settings", settings));
        let changed = now.into_iter().zip(fresh).filter(|(now, fresh)| now.value != fresh.value);
        self.set = changed.map(|(now, _)| (now.path, now.value.to_string())).collect();
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        output::replace_by_ron(path, self)
    }
}

/// The folders of this program, made by the system's rules; `None` where there is no home folder.
fn folders() -> Option<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "thalweg")
}

/// Where settings are kept.
pub fn settings_file() -> Option<PathBuf> {
    Some(folders()?.config_dir().join("settings.ron"))
}

/// Where the log and reports of crashes are written.
pub fn log_folder() -> PathBuf {
    folders().map_or_else(std::env::temp_dir, |folders| folders.data_local_dir().join("log"))
}

/// Where unsaved work is kept in case the program crashes.
pub fn autosave_folder() -> Option<PathBuf> {
    Some(folders()?.data_local_dir().join("autosave"))
}

/// Where the reference is written to be shown.
pub fn reference_folder() -> PathBuf {
    folders().map_or_else(std::env::temp_dir, |folders| folders.cache_dir().to_owned()).join("reference")
}

/// Where answers to lessons are kept.
pub fn lessons_file() -> Option<PathBuf> {
    Some(folders()?.data_local_dir().join("lessons.ron"))
}

/// Where pictures are written.
pub fn picture_folder() -> PathBuf {
    let user = directories::UserDirs::new();
    let pictures = user.as_ref().and_then(|user| user.picture_dir().map(Path::to_owned));
    pictures.or_else(|| user.map(|user| user.home_dir().to_owned())).unwrap_or_default().join("Thalweg")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changed_settings_survive_and_a_damaged_file_is_told_of() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a/settings.ron");
        let settings = Settings { theme: Theme::Light, scale: 1.5, ..Settings::default() };
        let mut kept = Remembered { last_folder: Some("/maps".into()), ..Remembered::default() };
        kept.keep(&settings);
        kept.save(&path).unwrap_or_else(|error| panic!("{error}"));
        let again = Remembered::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((again.settings(), again.last_folder), (settings, Some("/maps".into())));
        let missing = Remembered::load(&folder.path().join("none.ron"));
        assert_eq!(missing, Ok(Remembered::default()));
        fs::write(&path, "(set: {\"settings.scale\": \"9000\", \"settings.gone\": \"1\"})").expect("it is writable");
        assert_eq!(Remembered::load(&path).map(|kept| kept.settings()), Ok(Settings::default()));
        for damage in ["", "(set", "\u{0}"] {
            fs::write(&path, damage).expect("it is writable");
            let error = Remembered::load(&path).expect_err("it is damaged");
            assert!(error.to_string().contains("settings.ron: it holds no settings"), "{error}");
        }
    }

    #[test]
    fn a_field_of_the_quality_makes_it_custom_and_leaves_the_others_as_they_looked() {
        let mut settings = Settings::default();
        assert!(settings.change("render_scale", &params::Value::Number(0.5), true));
        assert_eq!(settings.quality, Quality::Custom);
        assert_eq!((settings.triangle, settings.anti_aliasing), (6.0, AntiAliasing::Off));
        assert_eq!(settings.resolved(false), settings);
    }

    #[test]
    fn memory_is_a_budget_unless_it_is_left_to_the_machine() {
        assert_eq!(Settings::default().budget(), None);
        assert_eq!(Settings { memory: 2.5, ..Settings::default() }.budget(), Some(Budget::of(2_500_000_000)));
    }
}
