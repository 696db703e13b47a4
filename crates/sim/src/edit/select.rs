//! Masks that are made from the ground itself: what lies high, steep, wet or buried.

use bevy_reflect::Reflect;

use super::{Patch, area::Area};
use crate::{
    core::{
        analysis,
        grid::Grid,
        terrain::{Layer, Terrain},
    },
    params::{choice, knob},
};

const OURS: &str = "ours";

/// What a selection goes by.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Height of the ground, from the lowest to the highest.
    Height,
    /// Angle of the ground, from 0° to 90°.
    #[default]
    Slope,
    /// Where water would run, from no cell above to the largest river, by ratios.
    Flow,
    /// What was laid down since the start, from none to the most.
    Deposits,
    /// What was taken off since the start, from none to the most.
    Wear,
    /// Thickness of sand, from none to the thickest.
    Sand,
}

/// How a selection and the mask that is there become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The selection alone.
    Replace,
    /// Either of both.
    Add,
    /// The mask without the selection.
    Subtract,
    /// Where both are.
    Intersect,
}

/// What is selected.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Selection {
    /// What the selection is made by, for instance the height or the slope of the ground.
    #[reflect(@choice().source(OURS).main())]
    pub by: By,
    /// Where the selection begins, as a share of the whole range on the map (slope: of 90°).
    #[reflect(@knob(0.0..=1.0).source(OURS).main())]
    pub from: f32,
    /// Where it ends, as a share of the whole range.
    #[reflect(@knob(0.0..=1.0).source(OURS).main())]
    pub to: f32,
    /// How softly it begins and ends, as a share of the range. 0 makes hard borders.
    #[reflect(@knob(0.0..=0.5).source(OURS).main())]
    pub softness: f32,
}

impl Default for Selection {
    fn default() -> Self {
        Self { by: By::Slope, from: 0.35, to: 1.0, softness: 0.05 }
    }
}

impl Selection {
    /// How much each cell belongs to it, from 0 to 1.
    pub fn of(&self, terrain: &Terrain) -> Grid {
        let mut values = match self.by {
            By::Height => terrain.ground(),
            By::Slope => analysis::slope(terrain),
            By::Flow => analysis::flow(terrain),
            By::Deposits => analysis::changed(terrain, true),
            By::Wear => analysis::changed(terrain, false),
            By::Sand => terrain.sand.clone(),
        };
        let (low, high) = match self.by {
            By::Height => values.min_max(),
            By::Slope => (0.0, 90.0),
            _ => (0.0, values.min_max().1),
        };
        let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
        let soft = self.softness.max(1e-6);
        let rises = |share: f32| {
            let share = share.clamp(0.0, 1.0);
            share * share * (3.0 - 2.0 * share)
        };
        values.iter_mut().for_each(|value| {
            let share = (*value - low) * scale;
            // At an end of the range nothing is left to fade out to.
            let begins = if self.from <= 0.0 { 1.0 } else { rises((share - self.from) / soft + 0.5) };
            let ends = if self.to >= 1.0 { 1.0 } else { rises((self.to - share) / soft + 0.5) };
            *value = begins.min(ends);
        });
        values
    }
}

impl Combine {
    fn apply(self, mask: f32, selected: f32) -> f32 {
        match self {
            Self::Replace => selected,
            Self::Add => mask.max(selected),
            Self::Subtract => mask.min(1.0 - selected),
            Self::Intersect => mask.min(selected),
        }
    }
}

/// Changes the whole mask, cell by cell.
fn change(terrain: &mut Terrain, patch: &mut Patch, change: impl Fn(usize, f32) -> f32) {
    let middle = [terrain.width(), terrain.height()].map(|count| 0.5 * (count as f32 - 1.0));
    let area = Area::new(terrain, middle, terrain.width().max(terrain.height()) as f32);
    patch.keep(terrain, &[Layer::Mask], &area);
    let mask = terrain.layer_mut(Layer::Mask);
    mask.iter_mut().enumerate().for_each(|(index, value)| *value = change(index, *value));
}

/// Combines a selection with the mask.
pub(crate) fn select(terrain: &mut Terrain, selection: &Selection, combine: Combine, patch: &mut Patch) {
    let selected = selection.of(terrain);
    change(terrain, patch, |index, mask| combine.apply(mask, selected[index]));
}

/// Exchanges what is masked for what is not.
pub(crate) fn invert(terrain: &mut Terrain, patch: &mut Patch) {
    change(terrain, patch, |_, mask| 1.0 - mask);
}

/// Frees everything.
pub(crate) fn clear(terrain: &mut Terrain, patch: &mut Patch) {
    change(terrain, patch, |_, _| 0.0);
}
