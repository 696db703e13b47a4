//! Brushes and their parameters, the brush cursor, and pointer input on the terrain.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bevy::prelude::*;

use super::{AppCommandEvent, Job, JobKind, Jobs, NoticeLevel, Notices, ProjectReplaced, jobs::name};
use thalweg_scene::{io::heightmap, model::origin::Options};
use thalweg_sim::{
    core::grid::Grid,
    edit::{Brush, Selection, Tool},
    params::{Value, collect_parameters, set, write},
};

/// Factor by which a shortcut changes the radius.
const KEY_STEP: f32 = 1.2;
/// Cells along a side of the default stamp.
const STAMP_SIDE: usize = 129;

/// Active brush, and the parameters of all brushes.
#[derive(Resource, Clone, Debug)]
pub struct Brushes {
    /// The active brush, if any.
    pub active: Option<Tool>,
    brushes: BTreeMap<Tool, Brush>,
    /// Parameters of the next mask selection.
    pub selection: Selection,
    /// Relief of the stamp, from 0 to 1, and its name.
    pub stamp: (Arc<Grid>, String),
    /// Source of the clone brush, in fractions of the map's sides.
    pub source: Option<[f32; 2]>,
}

/// Command of the brush.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum BrushCommand {
    /// Activates a brush, or none.
    Activate(Option<Tool>),
    /// Enlarges the brush by a number of steps; a negative number shrinks it.
    Resize(i32),
    /// Undoes the stroke in progress; without one, deactivates the brush.
    Cancel,
}

/// Loads a heightmap as the stamp.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct LoadStamp(pub PathBuf);

impl AppCommandEvent for BrushCommand {}

impl AppCommandEvent for LoadStamp {
    fn flushes_strokes(&self) -> bool {
        true
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Brushes>()
        .init_resource::<BrushCursor>()
        .add_message::<BrushInput>()
        .add_observer(load_stamp)
        .add_observer(forget_source);
}

fn load_stamp(command: On<LoadStamp>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>) {
    let path = command.0.clone();
    let job = Job::new(JobKind::Independent, format!("Loading {} as the stamp relief…", name(&path)));
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
    notices.notify(NoticeLevel::Info, format!("Loaded {name} as the stamp relief."));
    brushes.stamp = (Arc::new(relief), name);
    brushes.active = Some(Tool::Stamp);
}

/// Resets the source of the clone brush, which belongs to the previous project.
fn forget_source(replaced: On<ProjectReplaced>, mut brushes: ResMut<Brushes>) {
    if replaced.opened && brushes.source.is_some() {
        brushes.source = None;
    }
}

impl Default for Brushes {
    fn default() -> Self {
        Self {
            active: None,
            brushes: Tool::ALL.into_iter().map(|tool| (tool, Brush::of(tool))).collect(),
            selection: Selection::default(),
            stamp: (Arc::new(mountain()), "Mountain".to_owned()),
            source: None,
        }
    }
}

impl Brushes {
    /// Returns the parameters of a tool.
    pub fn of(&self, tool: Tool) -> &Brush {
        &self.brushes[&tool]
    }

    /// Sets a parameter of the active brush.
    pub(super) fn change(&mut self, name: &str, value: &Value) {
        if let Some(brush) = self.active.and_then(|tool| self.brushes.get_mut(&tool)) {
            write(brush, name, value);
        }
    }

    /// Enlarges the active brush by a number of steps; a negative number shrinks it.
    pub fn resize(&mut self, steps: i32) {
        if let Some(tool) = self.active {
            let wanted = self.of(tool).radius * KEY_STEP.powi(steps);
            let knob =
                collect_parameters(("brush", self.of(tool))).into_iter().find(|parameter| parameter.name == "radius");
            let wanted = knob
                .map_or(f64::from(wanted), |solve_air| f64::from(wanted).clamp(solve_air.knob.min, solve_air.knob.max));
            // Rounds to three digits.
            let digit = 10.0_f64.powf(wanted.log10().floor() - 2.0);
            self.change("radius", &Value::Number((wanted / digit).round() * digit));
        }
    }

    /// Returns the values that differ from the defaults, by path.
    pub fn changed(&self) -> BTreeMap<String, String> {
        let differing = self.brushes.iter().flat_map(|(tool, brush)| {
            let fresh = Brush::of(*tool);
            let (now, fresh) = (collect_parameters((tool.key(), brush)), collect_parameters((tool.key(), &fresh)));
            let changed: Vec<_> = now.into_iter().zip(fresh).filter(|(now, fresh)| now.value != fresh.value).collect();
            changed.into_iter().map(|(now, _)| (now.path, now.value.to_string()))
        });
        differing.collect()
    }

    /// Applies changed values; unknown or out-of-range entries keep their defaults.
    pub fn apply_changed(&mut self, changed: &BTreeMap<String, String>) {
        for (tool, brush) in &mut self.brushes {
            for (path, value) in changed {
                let _ = set(&mut [(tool.key(), brush)], path, value);
            }
        }
    }
}

/// Generates the default stamp, a mountain with ridges.
fn mountain() -> Grid {
    Grid::from_fn(STAMP_SIDE, STAMP_SIDE, |x, y| {
        let [u, v] = [x, y].map(|cell| 2.0 * cell as f32 / (STAMP_SIDE - 1) as f32 - 1.0);
        let (distance, angle) = (u.hypot(v), v.atan2(u));
        let ridges = (2.5 * angle + 3.0 * distance).sin().abs() * (4.0 * angle - 2.0 * distance + 1.0).cos().abs();
        ((1.0 - distance) * (1.0 - 0.35 * ridges * (1.0 - distance).max(0.0).sqrt())).max(0.0)
    })
}

/// Position of the brush cursor, if it is visible.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct BrushCursor(pub Option<BrushRing>);

/// Brush cursor on the terrain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrushRing {
    /// Centre, in fractions of the map's sides.
    pub place: [f32; 2],
    /// Start of the ramp being drawn.
    pub from: Option<[f32; 2]>,
    /// Current source of the clone brush.
    pub source: Option<[f32; 2]>,
    /// Tool of the next stroke.
    pub tool: Tool,
    /// `true` if the stroke is inverted.
    pub inverted: bool,
}

/// Modifier keys held during pointer input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModifierKeys {
    /// Smooths, whatever the active brush.
    pub shift: bool,
    /// Inverts the brush.
    pub ctrl: bool,
    /// Raises the terrain, where a press without a brush adds rain.
    pub lifts: bool,
    /// Lowers the terrain there.
    pub digs: bool,
}

/// Pointer input on the selected map. Positions are fractions of the map's sides.
#[derive(Message, Clone, Copy, Debug, PartialEq)]
pub enum BrushInput {
    /// The pointer is over a position, or not on the terrain, and no button is down.
    Hover(Option<[f32; 2]>, ModifierKeys),
    /// The button is pressed.
    Press([f32; 2], ModifierKeys),
    /// The pointer moves with the button down.
    Move([f32; 2]),
    /// The pressure of the pen changes, from 0 to 1. A mouse always has pressure 1.
    Pressure(f32),
    /// The button stays down for this number of seconds.
    Rest(f32),
    /// The button is released.
    Release,
    /// The press was part of a pinch gesture: the stroke is undone.
    Withdraw,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_remembers_its_brush() {
        let mut brushes = Brushes { active: Some(Tool::Raise), ..Brushes::default() };
        assert!(brushes.changed().is_empty());
        brushes.change("strength", &Value::Number(0.25));
        brushes.resize(200);
        brushes.active = Some(Tool::Sand);
        brushes.change("falloff", &Value::Choice("linear".to_owned()));
        let saved = brushes.changed();
        let mut again = Brushes::default();
        again.apply_changed(&saved);
        assert_eq!(again.of(Tool::Raise), brushes.of(Tool::Raise));
        assert_eq!((again.of(Tool::Raise).radius, again.of(Tool::Raise).strength), (50.0, 0.25));
        assert_eq!(again.changed(), saved);
        assert_eq!(again.of(Tool::Lower), &Brush::of(Tool::Lower));
    }
}
