//! Masks derived from the terrain: from height, slope, flow, erosion, deposits or sand.

use bevy_reflect::Reflect;

use super::{UndoPatch, area::Area};
use crate::{
    core::{
        analysis,
        grid::Grid,
        terrain::{Layer, Terrain},
    },
    params::{choice, knob},
};

const THIS_WORK: &str = "this work";

/// Quantity that a selection is based on.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectionCriterion {
    /// Height of the ground, from the lowest to the highest.
    Height,
    /// Slope of the ground, from 0° to 90°.
    #[default]
    Slope,
    /// Flow accumulation, from a cell without upstream cells to the largest river, on a logarithmic scale.
    Flow,
    /// Deposition since the start, from none to the most.
    Deposits,
    /// Erosion since the start, from none to the most.
    Wear,
    /// Thickness of the sand, from none to the thickest.
    Sand,
}

/// Combination of a selection with the existing mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CombineMode {
    /// The selection alone.
    Replace,
    /// Union of both.
    Add,
    /// The mask without the selection.
    Subtract,
    /// Intersection of both.
    Intersect,
}

/// A range of a quantity, for a mask.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Selection {
    /// Quantity to select by, for example height or slope of the ground.
    #[reflect(@choice().source(THIS_WORK).main())]
    pub by: SelectionCriterion,
    /// Lower limit of the selection, as a fraction of the range on the map (for slope, of 90°).
    #[reflect(@knob(0.0..=1.0).source(THIS_WORK).main())]
    pub from: f32,
    /// Upper limit of the selection, as a fraction of the range on the map (for slope, of 90°).
    #[reflect(@knob(0.0..=1.0).source(THIS_WORK).main())]
    pub to: f32,
    /// Feathering of both limits, as a fraction of the range. 0 gives hard edges.
    #[reflect(@knob(0.0..=0.5).source(THIS_WORK).main())]
    pub softness: f32,
}

impl Default for Selection {
    fn default() -> Self {
        Self { by: SelectionCriterion::Slope, from: 0.35, to: 1.0, softness: 0.05 }
    }
}

impl Selection {
    /// Returns the weight of each cell in the selection, from 0 to 1.
    pub fn of(&self, terrain: &Terrain) -> Grid {
        let mut values = match self.by {
            SelectionCriterion::Height => terrain.ground(),
            SelectionCriterion::Slope => analysis::slope(terrain),
            SelectionCriterion::Flow => analysis::log_upslope_area(terrain),
            SelectionCriterion::Deposits => analysis::elevation_change(terrain, true),
            SelectionCriterion::Wear => analysis::elevation_change(terrain, false),
            SelectionCriterion::Sand => terrain.sand.clone(),
        };
        let (low, high) = match self.by {
            SelectionCriterion::Height => values.min_max(),
            SelectionCriterion::Slope => (0.0, 90.0),
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
            // At the ends of the range there is nothing left to fade to.
            let begins = if self.from <= 0.0 { 1.0 } else { rises((share - self.from) / soft + 0.5) };
            let ends = if self.to >= 1.0 { 1.0 } else { rises((self.to - share) / soft + 0.5) };
            *value = begins.min(ends);
        });
        values
    }
}

impl CombineMode {
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
fn change(terrain: &mut Terrain, patch: &mut UndoPatch, change: impl Fn(usize, f32) -> f32) {
    let middle = [terrain.width(), terrain.height()].map(|count| 0.5 * (count as f32 - 1.0));
    let area = Area::new(terrain, middle, terrain.width().max(terrain.height()) as f32);
    patch.save_tiles(terrain, &[Layer::Mask], &area);
    let mask = terrain.layer_mut(Layer::Mask);
    mask.iter_mut().enumerate().for_each(|(index, value)| *value = change(index, *value));
}

/// Combines a selection with the mask.
pub(crate) fn select(terrain: &mut Terrain, selection: &Selection, combine: CombineMode, patch: &mut UndoPatch) {
    let selected = selection.of(terrain);
    change(terrain, patch, |index, mask| combine.apply(mask, selected[index]));
}

/// Inverts the mask.
pub(crate) fn invert(terrain: &mut Terrain, patch: &mut UndoPatch) {
    change(terrain, patch, |_, mask| 1.0 - mask);
}

/// Clears the mask.
pub(crate) fn clear(terrain: &mut Terrain, patch: &mut UndoPatch) {
    change(terrain, patch, |_, _| 0.0);
}
