//! What the hand does on the ground.

mod brush;

use bevy::prelude::*;

use crate::runtime::{FrameSystems, works_in_place};

/// Strokes with the brush in the hand.
pub fn plugin(app: &mut App) {
    app.init_resource::<brush::Strokes>()
        .add_observer(brush::obey)
        .add_systems(Update, brush::work.run_if(works_in_place).in_set(FrameSystems::Edit));
}
