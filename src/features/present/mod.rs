//! Presentations: playlist dialog, overlay of the Present workspace, and presenter window.

pub mod draft;
pub mod playlist;
pub mod presenter;
pub mod stage;

use bevy::{prelude::*, window::WindowCloseRequested};

use crate::{
    shell::shortcuts,
    world::{FrameSystems, Presentation},
};

/// Adds the playlist dialog, the stage and the presenter window.
pub fn plugin(app: &mut App) {
    app.add_plugins((draft::plugin, playlist::plugin, stage::plugin, presenter::plugin)).add_systems(
        Update,
        (
            stage::record_user_activity
                .before(shortcuts::send_commands)
                .run_if(resource_exists::<Touches>.and_then(resource_exists::<Presentation>)),
            presenter::close.run_if(resource_exists::<Messages<WindowCloseRequested>>),
        )
            .in_set(FrameSystems::Input),
    );
}
