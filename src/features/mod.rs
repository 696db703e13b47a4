//! Features of the window. Each is a plugin with its own state, commands, systems and panel.

pub mod about;
pub mod brush;
pub mod camera;
pub mod checks;
pub mod help;
pub mod history;
pub mod ledger;
pub mod lessons;
pub mod look;
pub mod mask;
pub mod new_terrain;
pub mod overlay;
pub mod overview;
pub mod particle;
pub mod present;
pub mod probes;
pub mod process;
pub mod range;
pub mod readout;
pub mod record;
pub mod rivers;
pub mod run;
pub mod scenes;
pub mod section;
pub mod settings;
pub mod springs;
pub mod statistics;
pub mod terrain;
pub mod variations;
pub mod wind;
pub mod window;

use bevy::prelude::*;

use crate::shell::{chart, files, leave, menu, palette, placement, registries, viewport_marker_plugin};

/// Adds all features. Their order determines the order of panels, view layers and menu entries.
pub fn plugin(app: &mut App) {
    app.add_plugins((registries, new_terrain::plugin, files::plugin, scenes::plugin))
        .add_plugins((run::plugin, lessons::plugin, brush::plugin, terrain::plugin, range::plugin, variations::plugin))
        .add_plugins((
            process::plugin,
            camera::plugin,
            overview::plugin,
            viewport_marker_plugin,
            springs::plugin,
            mask::plugin,
            overlay::plugin,
        ))
        .add_plugins((
            section::plugin,
            probes::plugin,
            particle::plugin,
            placement::plugin,
            rivers::plugin,
            look::plugin,
        ))
        .add_plugins((history::plugin, ledger::plugin, statistics::plugin, wind::plugin, readout::plugin))
        .add_plugins((menu::plugin, present::plugin, window::plugin, record::plugin, chart::plugin))
        .add_plugins((settings::plugin, help::plugin, palette::plugin, checks::plugin, about::plugin, leave::plugin))
        .add_plugins(brush::drag_plugin);
}

/// Returns the commands of all features, for tests.
#[cfg(test)]
pub(crate) fn command_table() -> crate::shell::commands::CommandTable {
    let mut app = App::new();
    app.add_plugins(plugin);
    app.world_mut().remove_resource().expect("the features add commands")
}
