//! Window commands.

use egui_phosphor::regular as icon;

use crate::shell::commands::{AddCommands, MenuSection, NONE};
use crate::world::WindowCommand;
use bevy::prelude::App;
use bevy_egui::egui::Key;

pub(super) fn plugin(app: &mut App) {
    app.add_commands("Brush", 20, leave_command).add_commands("View", 110, commands);
}

fn leave_command(table: &mut MenuSection) {
    let away = "Cancel the current stroke. If there is none, deselect the brush; if there is no brush, leave the Present workspace and full screen.";
    table
        .add(icon::X, "Cancel or leave", away, &[(NONE, Key::Escape)], WindowCommand::Cancel)
        .set_aliases("escape exit back");
}

fn commands(table: &mut MenuSection) {
    table
        .add(icon::SIDEBAR, "-Panels", "Show or hide all panels.", &[(NONE, Key::H)], WindowCommand::ToggleUi)
        .set_aliases("hide ui interface sidebar");
    let full = "Enter or leave full screen.";
    table
        .add(icon::ARROWS_OUT, "Full screen", full, &[(NONE, Key::F11)], WindowCommand::ToggleFullScreen)
        .set_aliases("fullscreen maximise window");
}
