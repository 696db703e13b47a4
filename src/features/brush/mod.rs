//! Brushes: strokes on the terrain, and the panel of the active brush.

mod panel;
mod strokes;

use bevy::prelude::*;

use crate::world::{FrameSystems, has_project};

pub use panel::drag_plugin;

/// Adds strokes, the brush panel and its commands.
pub fn plugin(app: &mut App) {
    app.init_resource::<strokes::StrokeQueue>()
        .add_observer(strokes::handle_command)
        .add_systems(Update, strokes::process_touches.run_if(has_project).in_set(FrameSystems::Edit))
        .add_plugins(panel::plugin);
}
