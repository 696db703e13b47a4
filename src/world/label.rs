//! Names of undo steps.

use std::fmt;

use super::Simulations;
use thalweg_sim::{
    core::terrain::{Layer, Source},
    edit::Tool,
    params::{Value, get, title},
};

/// Name of an undo step.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// Change of a parameter: title of its group, its name, `true` for the factor under the mask, and the values before and after.
    Parameter(String, &'static str, bool, [String; 2]),
    /// Enabled or disabled process.
    Switch(&'static str, bool),
    /// Process limited to unmasked terrain, or not.
    Limit(&'static str, bool),
    /// Addition of a spring or drain, with the resulting number.
    SpringPlaced(usize),
    /// Removal of a spring or drain, with the previous number.
    SpringRemoved(usize),
    /// Change of a spring or drain, with its number.
    SpringChanged(usize),
    /// Insertion of a camera keyframe at a tick.
    KeyframeInserted(u64),
    /// Deletion of the camera keyframe at a tick.
    KeyframeDeleted(u64),
    /// Movement of a camera keyframe to a tick.
    KeyframeMoved(u64),
    /// Change of a camera keyframe's interpolation.
    KeyframeInterpolation(u64),
    /// Brush stroke.
    Stroke(Tool),
    /// Selected, inverted or cleared mask.
    Mask,
    /// Addition of a layer of sand.
    SandSpread,
    /// Removal of all sand.
    SandRemoved,
    /// Removal of all water.
    WaterRemoved,
    /// Carved outlets of depressions.
    Carved,
    /// Depressions filled with water.
    LakesFilled,
    /// Filled rivers and lakes.
    RiversFilled,
    /// Grown mountain range.
    Grown,
    /// Restart.
    Restart,
    /// Restart without sculpting.
    RestartWithoutSculpting,
    /// Simulations side by side, with their number; 1 for a single simulation.
    SideBySide(usize),
    /// Restart with the next seed.
    NewSeed,
    /// Restart with a given seed.
    Seed,
    /// Restart with another number of cells.
    Size,
    /// Applied preset.
    Preset,
    /// Parameters set by a lesson step.
    Lesson,
    /// New terrain.
    NewTerrain,
    /// Opened scene or project, with its name.
    Opened(String),
    /// Map loaded from a file of this name.
    Loaded(Layer, String),
}

impl Label {
    /// Creates the label of a parameter change, from the key of the parameter's group and its name.
    pub(super) fn parameter(simulations: &Simulations, group: &str, name: &'static str, value: &Value) -> Self {
        let key = group.strip_suffix("-masked").unwrap_or(group);
        let mut infos = simulations.selected().simulation.slots.iter().map(|slot| slot.process.info());
        let group_title = infos.find(|info| info.key == key).map_or_else(|| title(key), |info| info.title.to_owned());
        let before = get(&simulations.selected().groups(), &format!("{group}.{name}"))
            .map(|parameter| parameter.value.to_string());
        Self::Parameter(group_title, name, key != group, [before.unwrap_or_default(), value.to_string()])
    }

    /// Returns the label of both steps merged into one, or `None` if this step does not continue the first.
    pub(super) fn merge(&self, first: &Self) -> Option<Self> {
        match (self, first) {
            (Self::Parameter(group, name, masked, [_, after]), Self::Parameter(other, same, both, [before, _])) => {
                let one = (group, name, masked) == (other, same, both);
                one.then(|| Self::Parameter(group.clone(), name, *masked, [before.clone(), after.clone()]))
            }
            _ => (self == first).then(|| self.clone()),
        }
    }

    /// Creates the label of a change of the springs and drains.
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
            Self::Switch(title, on) => write!(f, "{title} {}", if *on { "enabled" } else { "disabled" }),
            Self::Limit(title, true) => write!(f, "{title} limited to unmasked terrain"),
            Self::Limit(title, false) => write!(f, "{title} not limited by the mask"),
            Self::SpringPlaced(number) => write!(f, "spring {number} added"),
            Self::SpringRemoved(count) => write!(f, "one of {count} springs removed"),
            Self::SpringChanged(number) => write!(f, "spring {number} changed"),
            Self::KeyframeInserted(tick) => write!(f, "camera keyframe inserted at tick {tick}"),
            Self::KeyframeDeleted(tick) => write!(f, "camera keyframe deleted at tick {tick}"),
            Self::KeyframeMoved(tick) => write!(f, "camera keyframe moved to tick {tick}"),
            Self::KeyframeInterpolation(tick) => write!(f, "interpolation of the camera keyframe at tick {tick}"),
            Self::Stroke(tool) => f.write_str(tool.title()),
            Self::Mask => f.write_str("mask"),
            Self::SandSpread => f.write_str("sand added"),
            Self::SandRemoved => f.write_str("sand removed"),
            Self::WaterRemoved => f.write_str("water removed"),
            Self::Carved => f.write_str("outlets carved"),
            Self::Lesson => f.write_str("lesson step"),
            Self::NewTerrain => f.write_str("new terrain"),
            Self::LakesFilled => f.write_str("lakes filled"),
            Self::RiversFilled => f.write_str("rivers filled"),
            Self::Grown => f.write_str("mountain range grown"),
            Self::Restart => f.write_str("restart"),
            Self::RestartWithoutSculpting => f.write_str("restart without sculpting"),
            Self::SideBySide(1) => f.write_str("single simulation"),
            Self::SideBySide(count) => write!(f, "{count} simulations side by side"),
            Self::NewSeed => f.write_str("new seed"),
            Self::Seed => f.write_str("seed"),
            Self::Size => f.write_str("size"),
            Self::Preset => f.write_str("preset loaded"),
            Self::Opened(name) => write!(f, "opened {name}"),
            Self::Loaded(layer, name) => write!(f, "loaded {} from {name}", layer.import_title().to_lowercase()),
        }
    }
}
