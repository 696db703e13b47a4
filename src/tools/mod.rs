//! What the hand does on the ground.

mod brush;

use bevy::prelude::*;

use crate::runtime::{SimSystems, nothing_grows};

/// Strokes with the brush in the hand.
pub fn plugin(app: &mut App) {
    app.add_systems(Update, brush::work.run_if(nothing_grows).in_set(SimSystems::Edit));
}
