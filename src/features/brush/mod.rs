//! Brushes: strokes on the terrain, and the panel of the active brush.

mod panel;
mod strokes;

use bevy::prelude::*;

use crate::world::{FrameSystems, works_in_place};

pub use panel::drag_plugin;

/// Adds strokes, the brush panel and its commands.
pub fn plugin(app: &mut App) {
    app.init_resource::<strokes::Strokes>()
        .add_observer(strokes::obey)
        .add_systems(Update, strokes::work.run_if(works_in_place).in_set(FrameSystems::Edit))
        .add_plugins(panel::plugin);
}
