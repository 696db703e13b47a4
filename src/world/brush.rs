//! The brush in the hand: which it is and how it works; where it is on the ground; how the pointer touches.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bevy::prelude::*;

use super::{CommandEvent, Job, JobKind, Jobs, Level, Notices, WorkReplaced, jobs::name};
use thalweg_scene::{io::heightmap, model::origin::Options};
use thalweg_sim::{
    core::grid::Grid,
    edit::{Brush, Selection, Tool},
    params::{Value, set, walk, write},
};

/// Factor by which a key changes the radius.
const KEY_STEP: f32 = 1.2;
/// Cells along a side of the relief that is stamped before one is loaded.
const STAMP_SIDE: usize = 129;

/// Which brush is in the hand, and how each works.
#[derive(Resource, Clone, Debug)]
pub struct Brushes {
    /// The one in the hand, if any.
    pub held: Option<Tool>,
    brushes: BTreeMap<Tool, Brush>,
    /// What the next selection for the mask is.
    pub selection: Selection,
    /// What the stamp presses on the ground, from 0 to 1, and what it is called.
    pub stamp: (Arc<Grid>, String),
    /// From where a clone copies, as shares of the map.
    pub source: Option<[f32; 2]>,
}

/// The brush in the hand.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum BrushCommand {
    /// Takes a brush into the hand, or puts it away.
    Hold(Option<Tool>),
    /// Makes the brush so many steps larger, or smaller.
    Resize(i32),
    /// Takes back the stroke that is being made; without one, puts the brush away.
    Cancel,
}

/// Loads a heightmap as what the stamp presses on the ground.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct LoadStamp(pub PathBuf);

impl CommandEvent for BrushCommand {}

impl CommandEvent for LoadStamp {
    fn follows_strokes(&self) -> bool {
        true
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Brushes>()
        .init_resource::<BrushCursor>()
        .add_message::<Touch>()
        .add_observer(load_stamp)
        .add_observer(forget_source);
}

fn load_stamp(command: On<LoadStamp>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>) {
    let path = command.0.clone();
    let job = Job::new(JobKind::Beside, format!("Loading {} for the stamp…", name(&path)));
    let load = move |_: &_| {
        let map = heightmap::read(&path, &Options::default())?;
        let (low, high) = map.heights.min_max();
        let mut relief = map.heights;
        let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
        relief.iter_mut().for_each(|height| *height = (*height - low) * scale);
        Ok((name(&path), relief))
    };
    jobs.start(&mut notices, job, load, take_stamp);
}

fn take_stamp(In((name, relief)): In<(String, Grid)>, mut brushes: ResMut<Brushes>, mut notices: ResMut<Notices>) {
    notices.tell(Level::Info, format!("The stamp presses {name} on the ground."));
    brushes.stamp = (Arc::new(relief), name);
    brushes.held = Some(Tool::Stamp);
}

/// The place from which a clone copies belongs to the work that was opened.
fn forget_source(replaced: On<WorkReplaced>, mut brushes: ResMut<Brushes>) {
    if replaced.opened && brushes.source.is_some() {
        brushes.source = None;
    }
}

impl Default for Brushes {
    fn default() -> Self {
        Self {
            held: None,
            brushes: Tool::ALL.into_iter().map(|tool| (tool, Brush::of(tool))).collect(),
            selection: Selection::default(),
            stamp: (Arc::new(mountain()), "Mountain".to_owned()),
            source: None,
        }
    }
}

impl Brushes {
    /// How a tool works.
    pub fn of(&self, tool: Tool) -> &Brush {
        &self.brushes[&tool]
    }

    /// Changes one number of the brush in the hand.
    pub(super) fn change(&mut self, name: &str, value: &Value) {
        if let Some(brush) = self.held.and_then(|tool| self.brushes.get_mut(&tool)) {
            write(brush, name, value);
        }
    }

    /// Makes the brush in the hand so many steps larger, or smaller.
    pub fn resize(&mut self, steps: i32) {
        if let Some(tool) = self.held {
            let wanted = self.of(tool).radius * KEY_STEP.powi(steps);
            let knob = walk(("brush", self.of(tool))).into_iter().find(|parameter| parameter.name == "radius");
            let wanted =
                knob.map_or(f64::from(wanted), |found| f64::from(wanted).clamp(found.knob.min, found.knob.max));
            // Three digits are enough.
            let digit = 10.0_f64.powf(wanted.log10().floor() - 2.0);
            self.change("radius", &Value::Number((wanted / digit).round() * digit));
        }
    }

    /// What differs from what a new user has, by path.
    pub fn changed(&self) -> BTreeMap<String, String> {
        let differing = self.brushes.iter().flat_map(|(tool, brush)| {
            let fresh = Brush::of(*tool);
            let (now, fresh) = (walk((tool.key(), brush)), walk((tool.key(), &fresh)));
            let changed: Vec<_> = now.into_iter().zip(fresh).filter(|(now, fresh)| now.value != fresh.value).collect();
            changed.into_iter().map(|(now, _)| (now.path, now.value.to_string()))
        });
        differing.collect()
    }

    /// Takes over what was changed; what is unknown or out of range stays as a new user has it.
    pub fn take_over(&mut self, changed: &BTreeMap<String, String>) {
        for (tool, brush) in &mut self.brushes {
            for (path, value) in changed {
                let _ = set(&mut [(tool.key(), brush)], path, value);
            }
        }
    }
}

/// A mountain with ridges, for the stamp of a new user.
fn mountain() -> Grid {
    Grid::from_fn(STAMP_SIDE, STAMP_SIDE, |x, y| {
        let [u, v] = [x, y].map(|cell| 2.0 * cell as f32 / (STAMP_SIDE - 1) as f32 - 1.0);
        let (distance, angle) = (u.hypot(v), v.atan2(u));
        let ridges = (2.5 * angle + 3.0 * distance).sin().abs() * (4.0 * angle - 2.0 * distance + 1.0).cos().abs();
        ((1.0 - distance) * (1.0 - 0.35 * ridges * (1.0 - distance).max(0.0).sqrt())).max(0.0)
    })
}

/// Where the brush is, for the ring on the ground.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct BrushCursor(pub Option<BrushRing>);

/// The ring that shows the brush on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrushRing {
    /// Its middle, as shares of the map.
    pub place: [f32; 2],
    /// Where the ramp begins that is being drawn.
    pub from: Option<[f32; 2]>,
    /// From where a clone copies now.
    pub source: Option<[f32; 2]>,
    /// What it would do now.
    pub tool: Tool,
    /// Whether it would do the opposite.
    pub inverted: bool,
}

/// Keys that are down while the pointer touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Smooths, whatever brush is in the hand.
    pub shift: bool,
    /// Does the opposite.
    pub ctrl: bool,
    /// Lifts the land, where a press without a brush rains.
    pub lifts: bool,
    /// Digs there.
    pub digs: bool,
}

/// How the pointer touches the ground of the chosen map. Places are shares of its sides.
#[derive(Message, Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    /// It is over a place, or nowhere on the ground, and no button is down.
    Hover(Option<[f32; 2]>, Held),
    /// The button goes down.
    Press([f32; 2], Held),
    /// It moves to a place with the button down.
    Move([f32; 2]),
    /// A pen presses so hard from now on, from 0 to 1. A mouse always presses with 1.
    Pressure(f32),
    /// So many seconds pass with the button down.
    Rest(f32),
    /// The button goes up.
    Release,
    /// The press was part of a pinch: what was done since is taken back.
    Withdraw,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_its_own_brush_which_is_remembered() {
        let mut brushes = Brushes { held: Some(Tool::Raise), ..Brushes::default() };
        assert!(brushes.changed().is_empty());
        brushes.change("strength", &Value::Number(0.25));
        brushes.resize(200);
        brushes.held = Some(Tool::Sand);
        brushes.change("falloff", &Value::Choice("linear".to_owned()));
        let kept = brushes.changed();
        let mut again = Brushes::default();
        again.take_over(&kept);
        assert_eq!(again.of(Tool::Raise), brushes.of(Tool::Raise));
        assert_eq!((again.of(Tool::Raise).radius, again.of(Tool::Raise).strength), (50.0, 0.25));
        assert_eq!(again.changed(), kept);
        assert_eq!(again.of(Tool::Lower), &Brush::of(Tool::Lower));
    }
}
