//! Presets: parameter sets as files, of one process or of everything.

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::{Error, heightmap, input, output};
use crate::model::session::Session;
use thalweg_sim::core::bounds::SIDES;

/// File extension of presets.
pub const ENDING: &str = "ron";

macro_rules! built_in {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../../assets/presets/", $name, ".ron")))),*]
    };
}

/// Presets compiled into the program: name and RON text.
const BUILT_IN: [(&str, &str); 28] = built_in! { "palette-meadow" "palette-article" "palette-alpine" "palette-arctic" "palette-iceland" "palette-canyon"
"palette-desert" "palette-tropics" "palette-clay" "palette-hypsometric" "palette-satellite-alps"
"palette-satellite-atlas" "droplets-young-valley" "droplets-meanders" "droplets-braided" "droplets-delta" "droplets-2020" "droplets-2025"
"droplets-1998" "water-gentle-rain" "water-snowmelt-river" "water-flash-flood" "water-2011" "wind-transverse-dunes" "wind-barchans"
"wind-linear-dunes" "wind-star-dunes" "thermal-2011" };

/// Built-in presets by name. Each belongs to one process or to the look.
pub static PRESETS: LazyLock<Vec<(&'static str, Preset)>> = LazyLock::new(|| {
    let read = |(name, text): (&'static str, &str)| {
        let preset = input::ron(Path::new(name), text, "parameters", "reinstall Thalweg");
        preset.ok().map(|preset| (name, preset))
    };
    BUILT_IN.into_iter().filter_map(read).collect()
});

/// Parameters by path, with values in the syntax of the command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Display name; empty for the user's presets, which are named after their file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Values by parameter path.
    pub parameters: BTreeMap<String, String>,
    /// Columns and rows of the map that it was saved from. On maps of other sizes, the numbers of droplets and grains are scaled with the
    /// number of cells. `None` disables the scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<(usize, usize)>,
}

impl Preset {
    /// Captures the parameters of a group, or all except those of the terrain, which would restart the simulation.
    pub fn of(session: &Session, group: Option<&str>) -> Self {
        let mut parameters = session.all_parameters();
        parameters.retain(|path, _| match (path.split('.').next(), group) {
            // The parameters of a process, and its mask factors.
            (own, Some(group)) => own.is_some_and(|own| own.strip_suffix("-masked").unwrap_or(own) == group),
            (own, None) => own != Some("terrain"),
        });
        Self { title: String::new(), parameters, size: Some(session.size()) }
    }

    /// Returns the built-in preset of this name.
    pub fn built_in(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|(own, _)| *own == name).map(|(_, preset)| preset)
    }

    /// `true` if it sets parameters of this group, e.g. a process.
    pub fn is_of(&self, group: &str) -> bool {
        self.parameters.keys().any(|path| path.split('.').next() == Some(group))
    }

    /// Reads a preset.
    ///
    /// # Errors
    /// The file cannot be read or is not a preset.
    pub fn load(path: &Path) -> Result<Self, Error> {
        input::ron(path, &input::text(path)?, "parameters", "expected a saved preset")
    }

    /// Sets the parameters of a session, or none if one is unknown or out of range. The error names the file at `path`.
    pub fn apply(&self, session: &mut Session, path: &Path) -> Result<(), Error> {
        if let Some((width, height)) = self.size.filter(|&(width, height)| !heightmap::fits(width, height)) {
            let wrong = format!("invalid map size of {width} × {height} cells");
            let (shortest, longest) = (SIDES.start(), SIDES.end());
            let right = format!("each side ranges from {shortest} to {longest} cells; nothing was changed");
            return Err(Error::input(path, wrong, right));
        }
        let before = Self::of(session, None);
        for (parameter, value) in &self.parameters {
            let outcome = if parameter.starts_with("terrain.") {
                Err(format!("sets {parameter}, which would restart the simulation"))
            } else {
                session.set(parameter, value).map_err(|error| error.to_string())
            };
            if let Err(wrong) = outcome {
                for (parameter, value) in &before.parameters {
                    // Values read from the session are in range.
                    let _ = session.set(parameter, value);
                }
                return Err(Error::input(path, wrong, "nothing was changed; correct the file"));
            }
        }
        if let Some(size) = self.size {
            session.follow(size, |path| self.parameters.contains_key(path));
        }
        Ok(())
    }

    /// Writes the preset atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        output::replace_by_ron(path, self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{io::scene::open_first, model::origin::Options};

    #[test]
    fn built_in_presets_apply_to_a_single_group() {
        assert_eq!(PRESETS.len(), BUILT_IN.len());
        for (name, preset) in PRESETS.iter() {
            let mut session = open_first("round-hill", &Options::default()).unwrap_or_else(|error| panic!("{error}"));
            preset.apply(&mut session, Path::new(name)).unwrap_or_else(|error| panic!("{error}"));
            let all = session.all_parameters();
            assert!(preset.parameters.iter().all(|(path, value)| &all[path] == value), "{name}");
            let group = match name.split('-').next().expect("a name") {
                "palette" => "look.",
                process => process,
            };
            assert!(!preset.title.is_empty() && preset.parameters.keys().all(|path| path.starts_with(group)), "{name}");
        }
    }

    #[test]
    fn all_palettes_set_the_same_parameters() {
        let all: Vec<_> = PRESETS.iter().filter(|(_, preset)| preset.is_of("look")).collect();
        assert_eq!(all.len(), 12);
        // Ramp colours have no effect in a palette based on steepness.
        let seen = |palette: &Preset| -> Vec<String> {
            palette.parameters.keys().filter(|path| !path.starts_with("look.ramp_")).cloned().collect()
        };
        for (name, palette) in &all {
            assert_eq!(seen(palette), seen(&all[0].1), "{name}");
            let ramp = palette.parameters["look.color_by"] == "ramp";
            assert_eq!(palette.parameters.len() - seen(palette).len(), if ramp { 12 } else { 0 }, "{name}");
        }
    }

    #[test]
    fn preset_round_trips_and_invalid_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("mine.ron");
        let open = || open_first("round-hill", &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let mut session = open();
        for (parameter, value) in
            [("water.rain_rate", "0.02"), ("wind.law", "2020"), ("look.flat_color", "0.1,0.2,0.3")]
        {
            session.set(parameter, value).unwrap_or_else(|error| panic!("{error}"));
        }
        let all = Preset::of(&session, None);
        all.save(&path).unwrap_or_else(|error| panic!("{error}"));
        let mut other = open();
        let read = Preset::load(&path).unwrap_or_else(|error| panic!("{error}"));
        read.apply(&mut other, &path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(other.all_parameters(), session.all_parameters());
        other.resize(512);
        read.apply(&mut other, &path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(other.all_parameters()["droplets.per_tick"], "4000");
        let water = Preset::of(&session, Some("water"));
        let own = |path: &String| path.starts_with("water.") || path.starts_with("water-masked.");
        assert!(water.parameters.keys().all(own) && water.parameters.len() > 5);
        for (text, expected) in [
            ("(parameters: {\"droplets.dt\": \"1\", \"water.rain_rate\": \"-1\"})", "water.rain_rate cannot be -1"),
            ("(parameters: {\"droplets.dt\": \"1\", \"terrain.width\": \"64\"})", "would restart the simulation"),
            ("(parameters: {\"droplets.dt\": \"1\", \"water.rane\": \"1\"})", "there is no parameter"),
            ("(parameters: {\"droplets.per_tick\": \"10\"}, size: Some((0, 64)))", "map size of 0 × 64 cells"),
        ] {
            fs::write(&path, text).expect("it is writable");
            let mut other = open();
            let wrong =
                Preset::load(&path).and_then(|preset| preset.apply(&mut other, &path)).expect_err(text).to_string();
            assert!(wrong.contains(expected) && wrong.contains("mine.ron: "), "{wrong}");
            assert_eq!(other.all_parameters(), open().all_parameters());
        }
        fs::write(&path, "no preset").expect("it is writable");
        assert!(Preset::load(&path).expect_err("refused").to_string().contains("does not contain parameters"));
    }
}
