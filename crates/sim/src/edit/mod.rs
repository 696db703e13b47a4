//! Manual edits of the layers. Every cubic metre added or removed is recorded as an edit in the ledger.

mod area;
mod brush;
mod dab;
mod erode;
mod patch;
mod pour;
mod select;
mod stroke;
#[cfg(test)]
mod tests;

use self::area::Area;
pub use self::{
    brush::{Brush, Falloff, PenPressure, Symmetry, Tool},
    dab::Dab,
    patch::UndoPatch,
    select::{CombineMode, Selection, SelectionCriterion},
    stroke::{Stroke, StrokeGrowth},
};
pub(crate) use self::{
    dab::{apply as dab, ramp},
    erode::apply as erode,
    pour::apply as pour,
    select::{clear as clear_mask, invert as invert_mask, select},
};
use crate::core::{
    grid::Grid,
    terrain::{Layer, Matter, Terrain},
};

/// Sets a layer to 0 everywhere. Its previous values are kept in `patch`.
pub(crate) fn clear(terrain: &mut Terrain, layer: Layer, patch: &mut UndoPatch) {
    let whole = Area::new(terrain, [0.0, 0.0], (terrain.width() + terrain.height()) as f32);
    patch.save_tiles(terrain, &[layer], &whole);
    terrain.layer_mut(layer).fill(0.0);
}

/// Returns copies of the layers that masked processes must not change under the mask.
pub(crate) fn masked(terrain: &Terrain) -> Vec<(Layer, Grid)> {
    terrain.layers().filter(|(layer, _)| layer.row().masked).map(|(layer, grid)| (layer, grid.clone())).collect()
}

/// Restores these layers to their previous values in proportion to the mask. Returns the growth of the ground, in metres times
/// cells.
pub(crate) fn restore_masked(terrain: &mut Terrain, before: &[(Layer, Grid)]) -> f64 {
    let Some(mask) = terrain.mask.take() else { return 0.0 };
    let mut grown = 0.0;
    for (layer, before) in before {
        for ((now, before), mask) in terrain.layer_mut(*layer).iter_mut().zip(before.iter()).zip(mask.iter()) {
            // Exact where the mask is 0 or 1.
            let held = mask * before + (1.0 - mask) * *now;
            if layer.row().matter == Matter::Solid {
                grown += f64::from(held) - f64::from(*now);
            }
            *now = held;
        }
    }
    terrain.mask = Some(mask);
    grown
}
