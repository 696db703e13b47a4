//! What a step of undo is called.

use std::fmt;

use super::Simulations;
use thalweg_sim::{
    core::terrain::{Layer, Source},
    edit::Tool,
    params::{Value, get, title},
};

/// What a step did.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A parameter was set: the title of its group, its name, whether it is the factor under the mask, and its values before and
    /// after.
    Parameter(String, &'static str, bool, [String; 2]),
    /// A process was switched on or off.
    Switch(&'static str, bool),
    /// A process was told to leave masked ground alone, or not.
    Limit(&'static str, bool),
    /// A spring or drain was placed, the last of so many.
    SpringPlaced(usize),
    /// One of so many was removed.
    SpringRemoved(usize),
    /// The one of this number was moved or tuned.
    SpringChanged(usize),
    /// A key of the camera was set at a tick.
    KeySet(u64),
    /// The one at a tick was removed.
    KeyRemoved(u64),
    /// One was moved to a tick.
    KeyMoved(u64),
    /// How the camera leaves the one at a tick was changed.
    KeyEased(u64),
    /// A stroke with a brush.
    Stroke(Tool),
    /// The mask was selected, inverted or cleared.
    Mask,
    /// Sand was spread.
    SandSpread,
    /// All sand was removed.
    SandRemoved,
    /// All water was removed.
    Dried,
    /// Outlets were cut for hollows.
    Carved,
    /// Hollows were filled with water.
    LakesFilled,
    /// Rivers and lakes were filled.
    RiversFilled,
    /// A range grew.
    Grown,
    /// From the start.
    Restart,
    /// From the start as it was before it was shaped by hand.
    RestartUnshaped,
    /// Several runs side by side, so many, or one alone.
    SideBySide(usize),
    /// From the start with the next seed.
    NewSeed,
    /// From the start with a chosen seed.
    Seed,
    /// From the start with another number of cells.
    Size,
    /// Parameters came from a preset.
    Preset,
    /// Parameters were set by a step of a lesson.
    Lesson,
    /// New land was made.
    NewLand,
    /// A scene or project of this name was opened.
    Opened(String),
    /// A map was loaded from a file of this name.
    Loaded(Layer, String),
}

impl Label {
    /// That of a parameter by its group's key and its own name.
    pub(super) fn parameter(simulations: &Simulations, group: &str, name: &'static str, value: &Value) -> Self {
        let key = group.strip_suffix("-masked").unwrap_or(group);
        let mut infos = simulations.selected().simulation.slots.iter().map(|slot| slot.process.info());
        let group_title = infos.find(|info| info.key == key).map_or_else(|| title(key), |info| info.title.to_owned());
        let before = get(&simulations.selected().groups(), &format!("{group}.{name}"))
            .map(|parameter| parameter.value.to_string());
        Self::Parameter(group_title, name, key != group, [before.unwrap_or_default(), value.to_string()])
    }

    /// What both steps are called if they are one, because the second goes on with what the first has changed.
    pub(super) fn after(&self, first: &Self) -> Option<Self> {
        match (self, first) {
            (Self::Parameter(group, name, masked, [_, after]), Self::Parameter(other, same, both, [before, _])) => {
                let one = (group, name, masked) == (other, same, both);
                one.then(|| Self::Parameter(group.clone(), name, *masked, [before.clone(), after.clone()]))
            }
            _ => (self == first).then(|| self.clone()),
        }
    }

    /// That of other springs.
    pub(super) fn springs(simulations: &Simulations, wanted: &[Source]) -> Self {
        let now = &simulations.selected().simulation.terrain.sources;
        match wanted.len() {
            more if more > now.len() => Self::SpringPlaced(more),
            less if less < now.len() => Self::SpringRemoved(now.len()),
            _ => {
                let which = wanted.iter().zip(now).position(|(wanted, now)| wanted != now).unwrap_or_default();
                Self::SpringChanged(which + 1)
            }
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(group, name, masked, [before, after]) => {
                let masked = if *masked { " under the mask" } else { "" };
                write!(f, "{group}: {}{masked} {before} → {after}", name.replace('_', " "))
            }
            Self::Switch(title, on) => write!(f, "{title} {}", if *on { "on" } else { "off" }),
            Self::Limit(title, true) => write!(f, "{title} leaves masked ground alone"),
            Self::Limit(title, false) => write!(f, "{title} works under the mask too"),
            Self::SpringPlaced(number) => write!(f, "spring {number} placed"),
            Self::SpringRemoved(count) => write!(f, "one of {count} springs removed"),
            Self::SpringChanged(number) => write!(f, "spring {number} changed"),
            Self::KeySet(tick) => write!(f, "camera key set at tick {tick}"),
            Self::KeyRemoved(tick) => write!(f, "camera key at tick {tick} removed"),
            Self::KeyMoved(tick) => write!(f, "camera key moved to tick {tick}"),
            Self::KeyEased(tick) => write!(f, "way on from the camera key at tick {tick}"),
            Self::Stroke(tool) => f.write_str(tool.title()),
            Self::Mask => f.write_str("mask"),
            Self::SandSpread => f.write_str("sheet of sand"),
            Self::SandRemoved => f.write_str("sand removed"),
            Self::Dried => f.write_str("dried"),
            Self::Carved => f.write_str("outlets carved"),
            Self::Lesson => f.write_str("step of a lesson"),
            Self::NewLand => f.write_str("new land"),
            Self::LakesFilled => f.write_str("lakes filled"),
            Self::RiversFilled => f.write_str("rivers filled"),
            Self::Grown => f.write_str("range grown"),
            Self::Restart => f.write_str("restart"),
            Self::RestartUnshaped => f.write_str("restart unshaped"),
            Self::SideBySide(1) => f.write_str("one run alone"),
            Self::SideBySide(count) => write!(f, "{count} runs side by side"),
            Self::NewSeed => f.write_str("new seed"),
            Self::Seed => f.write_str("seed"),
            Self::Size => f.write_str("size"),
            Self::Preset => f.write_str("preset loaded"),
            Self::Opened(name) => write!(f, "opened {name}"),
            Self::Loaded(layer, name) => write!(f, "loaded {} from {name}", layer.import_title().to_lowercase()),
        }
    }
}
