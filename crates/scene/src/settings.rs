//! Preferences of the user and the machine that persist across sessions: interface, input devices, render quality.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use bevy_reflect::Reflect;
use serde::{Deserialize, Serialize, Serializer};

use crate::io::{Budget, Error, input, output};
use thalweg_sim::params::{self, choice, knob};

/// Colour theme of the interface.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light text on dark panels.
    #[default]
    Dark,
    /// Dark text on light panels.
    Light,
}

/// Mouse buttons that orbit and pan the camera. The left button stays free for tools.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buttons {
    /// Right orbits, middle pans.
    #[default]
    RightAndMiddle,
    /// Middle orbits, right pans.
    MiddleAndRight,
    /// For two-button mice: right orbits, Shift+right pans.
    RightAndShift,
}

/// Render quality preset.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// Chosen for the graphics adapter and its measured frame times.
    #[default]
    Automatic,
    /// For machines without a GPU: large triangles, and a resolution that adapts to the frame time while the view changes.
    Software,
    /// For small GPUs: 4× MSAA on all edges.
    Balanced,
    /// For large GPUs: smaller triangles, so finer crests.
    High,
    /// For screenshots: small triangles and supersampling.
    Ultra,
    /// The individual settings below.
    Custom,
}

/// Device that computes water and thermal erosion.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputeDevice {
    /// The graphics card if it passes a self-test and is faster than the processor.
    #[default]
    Automatic,
    /// The processor: the same bits on every machine.
    Processor,
    /// The graphics card: equal to the processor within rounding.
    GraphicsCard,
}

/// Anti-aliasing method.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AntiAliasing {
    /// None while the view changes. A still view gets 4× MSAA if "Adaptive resolution" is on.
    #[default]
    Off,
    /// Always 4× MSAA.
    Msaa4,
}

/// Display units of lengths, areas, volumes and speeds. Files are always metric.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitSystem {
    /// Metres.
    #[default]
    Metric,
    /// Feet, acres and miles.
    Feet,
}

/// Visibility of the scale bar and the north arrow.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuideVisibility {
    /// In the Learn workspace.
    #[default]
    InLearn,
    /// In all workspaces.
    Always,
    /// In no workspace.
    Never,
}

/// File format of screenshots.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScreenshotFormat {
    /// Display-referred: PNG with 8 bits per channel.
    #[default]
    Png,
    /// Scene-referred, without the tone curve: EXR with half floats, for grading and compositing.
    Exr,
}

/// User preferences.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Settings {
    /// Colour theme of the interface: dark panels with light text, or light panels with dark text.
    #[reflect(@choice().source("this work").main())]
    pub theme: Theme,
    /// Units of displayed values: metric, or feet, acres and miles. Number fields accept both. Files are always metric.
    #[reflect(@choice().source("this work").main())]
    pub units: UnitSystem,
    /// Visibility of the scale bar and the north arrow. The bar is exact at the point the camera looks at; closer terrain appears
    /// larger.
    #[reflect(@choice().source("this work").main())]
    pub scale_and_north: GuideVisibility,
    /// Size of the interface. Large values are easier to read and leave less room for the viewport.
    #[reflect(@knob(0.75..=2.5).title("Interface scale").unit("×").source("this work").main())]
    pub scale: f32,
    /// Mouse buttons that orbit and pan the camera. The mouse wheel and pinching always zoom.
    #[reflect(@choice().title("Mouse buttons").source("this work").main())]
    pub buttons: Buttons,
    /// Trackpad navigation: scroll with two fingers to orbit, with Shift to pan, with Ctrl to zoom. When off, scrolling zooms.
    #[reflect(@choice().source("this work").main())]
    pub trackpad: bool,
    /// Render quality preset. High presets give smoother edges and finer crests at a lower frame rate.
    #[reflect(@choice().source("this work").main())]
    pub quality: Quality,
    /// Minimum side length of a terrain triangle on screen; some are twice as large. Small triangles show finer crests but
    /// render more slowly. Lighting and colour always have the resolution of the cells.
    #[reflect(@knob(2.0..=32.0).unit("px").source("this work").log())]
    pub triangle: f32,
    /// Anti-aliasing method for jagged edges.
    #[reflect(@choice().source("this work"))]
    pub anti_aliasing: AntiAliasing,
    /// Rendered pixels per window pixel, along each side. Values below 1 are faster but blurred, values above 1 slower but
    /// sharper.
    #[reflect(@knob(0.25..=2.0).unit("×").source("this work"))]
    pub render_scale: f32,
    /// Render slow frames at a lower resolution while the view changes. A still view is rendered at full quality. When off,
    /// every frame is rendered at full quality, and motion is less smooth.
    #[reflect(@choice().source("this work"))]
    pub adaptive_resolution: bool,
    /// Device that computes water and thermal erosion while no other process is enabled. Automatic uses the graphics card if it is
    /// faster than the processor and passes a self-test. Results of the two are equal within rounding.
    #[reflect(@choice().title("Compute on").source("this work").main())]
    pub compute_device: ComputeDevice,
    /// Length of the longer side of screenshots. 0 keeps the resolution of the viewport.
    #[reflect(@knob(0.0..=8192.0).unit("px").source("this work").main())]
    pub screenshot_side: f32,
    /// Depth of field of screenshots: diameter of the blur disc of a distant point, as a percentage of the image height. 0 keeps
    /// everything sharp. Blurred screenshots take much longer.
    #[reflect(@knob(0.0..=10.0).unit("%").source("this work").main())]
    pub screenshot_blur: f32,
    /// File format of screenshots: PNG as displayed, or EXR with half floats and no tone curve, for grading and compositing.
    #[reflect(@choice().source("this work").main())]
    pub screenshot_format: ScreenshotFormat,
    /// Take screenshots with a transparent background, so that only the terrain is visible.
    #[reflect(@choice().source("this work").main())]
    pub transparent_screenshots: bool,
    /// Synchronise frames with the display (vsync). When off, the frame rate is not limited and the image may tear.
    #[reflect(@choice().source("this work"))]
    pub vsync: bool,
    /// Interval between autosaves: the most work a crash can cost. Low values keep the disk busy; 0 disables autosave.
    #[reflect(@knob(0.0..=60.0).title("Autosave interval").unit("min").source("this work").main())]
    pub autosave: f32,
    /// Memory limit. Larger operations are refused before they start. 0 allows half of the machine's memory; too high a limit slows
    /// down the whole machine.
    #[reflect(@knob(0.0..=4096.0).title("Memory limit").unit("GB").source("this work").main())]
    pub memory: f32,
    /// Memory for undo and the timeline. When it is full, timeline states are thinned out and the oldest undo steps are discarded.
    #[reflect(@knob(0.05..=64.0).unit("GB").source("this work").log().main())]
    pub undo_memory: f32,
    /// Save the timeline in projects, so that earlier states remain available after opening. A message reports its size. When
    /// off, files are many times smaller, and only the saved state can be continued.
    #[reflect(@choice().source("this work").main())]
    pub save_timeline: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::Dark,
            units: UnitSystem::Metric,
            scale_and_north: GuideVisibility::InLearn,
            scale: 1.0,
            buttons: Buttons::RightAndMiddle,
            trackpad: false,
            quality: Quality::Automatic,
            triangle: 5.0,
            anti_aliasing: AntiAliasing::Msaa4,
            render_scale: 1.0,
            adaptive_resolution: true,
            compute_device: ComputeDevice::Automatic,
            screenshot_side: 0.0,
            screenshot_blur: 0.0,
            screenshot_format: ScreenshotFormat::Png,
            transparent_screenshots: false,
            vsync: true,
            autosave: 5.0,
            memory: 0.0,
            undo_memory: 0.5,
            save_timeline: true,
        }
    }
}

/// Fields that [`Quality`] presets override.
const DECIDED_BY_QUALITY: [&str; 3] = ["triangle", "anti_aliasing", "render_scale"];

impl Settings {
    /// Returns a copy with the fields of the quality preset filled in; `software` is `true` with a software renderer.
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

    /// Returns the memory limit, or `None` if it is derived from the machine's memory.
    pub fn budget(&self) -> Option<Budget> {
        (self.memory > 0.0).then(|| Budget::of((f64::from(self.memory) * 1e9) as u64))
    }

    /// Returns the memory limit of undo and the timeline, in bytes.
    pub fn undo_bytes(&self) -> usize {
        (f64::from(self.undo_memory) * 1e9) as usize
    }

    /// Sets one field. A field that the preset overrides switches the quality to custom and keeps the effective values of the others.
    pub fn change(&mut self, name: &str, value: &params::Value, software: bool) -> bool {
        if DECIDED_BY_QUALITY.contains(&name) {
            *self = Self { quality: Quality::Custom, ..self.resolved(software) };
        }
        params::write(self, name, value)
    }
}

/// Maximum number of recent projects.
const MAX_RECENT: usize = 10;

/// Contents of the settings file: changed settings and remembered state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingsFile {
    /// Changed settings, by path.
    set: BTreeMap<String, String>,
    /// Changed brush parameters, by tool and name.
    pub brushes: BTreeMap<String, String>,
    /// Unsaved playlist of the editor, as RON; empty if there is none.
    pub playlist: String,
    /// Recent projects, most recent first.
    #[serde(serialize_with = "unicode_paths")]
    pub recent: Vec<PathBuf>,
    /// Folder of the last file that the user opened or saved.
    #[serde(skip_serializing_if = "is_not_unicode")]
    pub last_folder: Option<PathBuf>,
}

/// Serializes the paths that are valid Unicode. Others are only remembered until the program exits.
fn unicode_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().filter(|path| path.to_str().is_some()))
}

fn is_not_unicode(path: &Option<PathBuf>) -> bool {
    path.as_ref().is_some_and(|path| path.to_str().is_none())
}

impl SettingsFile {
    /// Loads the settings file. A missing file gives the defaults.
    ///
    /// # Errors
    /// The file is unreadable or damaged.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Ok(Self::load_if_exists(path)?.unwrap_or_default())
    }

    fn load_if_exists(path: &Path) -> Result<Option<Self>, Error> {
        let Some(text) = input::read_text_if_exists(path)? else { return Ok(None) };
        input::ron(path, &text, "settings", "the defaults apply until you change a setting").map(Some)
    }

    /// Returns the settings; unknown or out-of-range entries keep their defaults.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        for (path, value) in &self.set {
            let _ = params::set(&mut [("settings", &mut settings)], path, value);
        }
        settings
    }

    /// Stores the settings that differ from the defaults.
    pub fn record_changes(&mut self, settings: &Settings) {
        let fresh = params::collect_parameters(("settings", &Settings::default()));
        let now = params::collect_parameters(("settings", settings));
        let changed = now.into_iter().zip(fresh).filter(|(now, fresh)| now.value != fresh.value);
        self.set = changed.map(|(now, _)| (now.path, now.value.to_string())).collect();
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        output::replace_by_ron(path, self)
    }

    /// Writes the changes since this window read or wrote the file, `before`, and keeps those that other windows have written meanwhile. A
    /// missing or damaged file is written as a whole.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_changes(&self, before: &Self, path: &Path) -> Result<(), Error> {
        let now = Self::load_if_exists(path).ok().flatten();
        now.map_or_else(|| self.clone(), |now| self.merged(before, now)).save(path)
    }

    /// Applies the changes since `before` to the present contents of the file.
    fn merged(&self, before: &Self, now: Self) -> Self {
        fn changed<T: PartialEq + Clone>(own: &T, before: &T, now: T) -> T {
            if own == before { now } else { own.clone() }
        }
        Self {
            set: merge_entries(&self.set, &before.set, now.set),
            brushes: merge_entries(&self.brushes, &before.brushes, now.brushes),
            playlist: changed(&self.playlist, &before.playlist, now.playlist),
            recent: merge_recent(&self.recent, &before.recent, now.recent),
            last_folder: changed(&self.last_folder, &before.last_folder, now.last_folder),
        }
    }

    /// Moves a file to the top of the recent projects.
    pub fn remember_file(&mut self, path: &Path) {
        self.recent.retain(|other| other != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(MAX_RECENT);
    }
}

/// Applies the entries that were added, changed or removed since `before` to those in the file.
fn merge_entries(
    own: &BTreeMap<String, String>,
    before: &BTreeMap<String, String>,
    mut now: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    now.retain(|key, _| own.contains_key(key) || !before.contains_key(key));
    let changed = own.iter().filter(|(key, value)| before.get(*key) != Some(value));
    now.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
    now
}

/// Moves the projects that were opened since `before` to the top of those in the file.
fn merge_recent(own: &[PathBuf], before: &[PathBuf], now: Vec<PathBuf>) -> Vec<PathBuf> {
    // The rest is in its former order.
    let is_rest = |rest: &[PathBuf]| {
        let mut former = before.iter();
        rest.iter().all(|path| former.any(|other| other == path))
    };
    let opened = (0..own.len()).find(|&count| is_rest(&own[count..])).unwrap_or(own.len());
    let (opened, _) = own.split_at(opened);
    let others = now.into_iter().filter(|path| !opened.contains(path));
    opened.iter().cloned().chain(others).take(MAX_RECENT).collect()
}

/// Returns the platform's folders for this program, or `None` if there is no home folder.
fn folders() -> Option<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "thalweg")
}

/// Returns the path of the settings file.
pub fn settings_file() -> Option<PathBuf> {
    Some(folders()?.config_dir().join("settings.ron"))
}

/// Returns the folder of logs and crash reports.
pub fn log_folder() -> PathBuf {
    folders().map_or_else(std::env::temp_dir, |folders| folders.data_local_dir().join("log"))
}

/// Returns the folder of autosaves.
pub fn autosave_folder() -> Option<PathBuf> {
    Some(folders()?.data_local_dir().join("autosave"))
}

/// Returns the folder into which the reference is written for display.
pub fn reference_folder() -> PathBuf {
    folders().map_or_else(std::env::temp_dir, |folders| folders.cache_dir().to_owned()).join("reference")
}

/// Returns the path of the file with lesson answers.
pub fn lessons_file() -> Option<PathBuf> {
    Some(folders()?.data_local_dir().join("lessons.ron"))
}

/// Returns the folder of screenshots.
pub fn screenshot_folder() -> PathBuf {
    let user = directories::UserDirs::new();
    let folder = user.as_ref().and_then(|user| user.picture_dir().map(Path::to_owned));
    folder.or_else(|| user.map(|user| user.home_dir().to_owned())).unwrap_or_default().join("Thalweg")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_round_trip_and_damaged_file_is_rejected() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a/settings.ron");
        let settings = Settings { theme: Theme::Light, scale: 1.5, ..Settings::default() };
        let mut saved = SettingsFile { last_folder: Some("/maps".into()), ..SettingsFile::default() };
        saved.record_changes(&settings);
        saved.save(&path).unwrap_or_else(|error| panic!("{error}"));
        let again = SettingsFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((again.settings(), again.last_folder), (settings, Some("/maps".into())));
        let missing = SettingsFile::load(&folder.path().join("none.ron"));
        assert_eq!(missing, Ok(SettingsFile::default()));
        fs::write(&path, "(set: {\"settings.scale\": \"9000\", \"settings.gone\": \"1\"})").expect("it is writable");
        assert_eq!(SettingsFile::load(&path).map(|saved| saved.settings()), Ok(Settings::default()));
        for damage in ["", "(set", "\u{0}"] {
            fs::write(&path, damage).expect("it is writable");
            let error = SettingsFile::load(&path).expect_err("it is damaged");
            assert!(error.to_string().contains("settings.ron: does not contain settings"), "{error}");
        }
    }

    #[test]
    fn changes_of_two_windows_are_merged() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("settings.ron");
        let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut before = SettingsFile { brushes: [entry("dig.radius", "9")].into(), ..SettingsFile::default() };
        before.record_changes(&Settings { theme: Theme::Light, scale: 1.5, ..Settings::default() });
        (0..MAX_RECENT).rev().for_each(|number| before.remember_file(Path::new(&format!("{number}.thalweg"))));
        before.save(&path).unwrap_or_else(|error| panic!("{error}"));
        let change = |settings: Settings, edit: &dyn Fn(&mut SettingsFile)| {
            let mut own = before.clone();
            own.record_changes(&settings);
            edit(&mut own);
            own.save_changes(&before, &path).unwrap_or_else(|error| panic!("{error}"));
            own
        };
        // The first window resets the theme, the second one the scale.
        let first = change(Settings { scale: 1.5, trackpad: true, ..Settings::default() }, &|own| {
            own.brushes.clear();
            own.remember_file(Path::new("first.thalweg"));
            own.remember_file(Path::new("4.thalweg"));
            own.last_folder = Some("/first".into());
        });
        change(Settings { theme: Theme::Light, autosave: 2.0, ..Settings::default() }, &|own| {
            own.brushes.extend([entry("raise.radius", "3")]);
            own.remember_file(Path::new("second.thalweg"));
            own.playlist = "()".to_owned();
        });
        let load = || SettingsFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let both = load();
        assert_eq!(both.settings(), Settings { trackpad: true, autosave: 2.0, ..Settings::default() });
        assert_eq!(both.brushes, [entry("raise.radius", "3")].into());
        assert_eq!((both.last_folder.as_deref(), &*both.playlist), (Some(Path::new("/first")), "()"));
        let recent = ["second", "4", "first", "0", "1", "2", "3", "5", "6", "7"];
        assert_eq!(both.recent, recent.map(|name| PathBuf::from(format!("{name}.thalweg"))));
        // Without changes, the file of the other window stays.
        first.save_changes(&first, &path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(load(), both);
        // A damaged or missing file is written again.
        fs::write(&path, "(set").expect("it is writable");
        first.save_changes(&first, &path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(load(), first);
        fs::remove_file(&path).expect("it is there");
        first.save_changes(&first, &path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(load(), first);
    }

    #[test]
    fn changing_one_quality_field_makes_quality_custom() {
        let mut settings = Settings::default();
        assert!(settings.change("render_scale", &params::Value::Number(0.5), true));
        assert_eq!(settings.quality, Quality::Custom);
        assert_eq!((settings.triangle, settings.anti_aliasing), (6.0, AntiAliasing::Off));
        assert_eq!(settings.resolved(false), settings);
    }

    #[test]
    fn memory_setting_becomes_budget_unless_automatic() {
        assert_eq!(Settings::default().budget(), None);
        assert_eq!(Settings { memory: 2.5, ..Settings::default() }.budget(), Some(Budget::of(2_500_000_000)));
    }
}
