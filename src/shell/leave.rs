//! Quit command, and the question about unsaved changes.

use bevy::prelude::{App, InMut, Res};
use bevy_egui::egui::{self, Key, Ui};

use super::{
    access,
    commands::{AddCommands, CTRL, MenuSection},
    floating::centred_dialog,
};
use crate::world::{AppCommand, Document, FileCommand, Simulations, WindowCommand};
use egui_phosphor::regular as icon;

pub(crate) fn plugin(app: &mut App) {
    app.add_commands("File", 40, commands);
}

fn commands(table: &mut MenuSection) {
    table
        .add(icon::SIGN_OUT, "-Quit", "Quit Thalweg.", &[(CTRL, Key::Q)], FileCommand::Quit)
        .set_aliases("exit close leave");
}

/// Draws the dialog about unsaved changes.
pub fn leave_ui(
    InMut(context): InMut<egui::Context>,
    document: Res<Document>,
    simulations: Res<Simulations>,
) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    if document.asks_to_save {
        centred_dialog(context, "Unsaved changes").show(context, |ui| {
            access::trap_focus(ui);
            answers_ui(ui, &simulations, &mut commands);
        });
    }
    commands
}

/// Draws message and buttons of the dialog.
fn answers_ui(ui: &mut Ui, simulations: &Simulations, commands: &mut Vec<AppCommand>) {
    let name = simulations.file.as_ref().and_then(|file| file.path.file_name()).map(|name| name.to_string_lossy());
    ui.label(format!("{} has unsaved changes.", name.as_deref().unwrap_or(&simulations.selected().title)));
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        if ui.button("Save and quit").clicked() {
            commands.extend([FileCommand::QuitWhenSaved.into(), WindowCommand::Save.into()]);
        }
        if ui.button("Quit without saving").clicked() {
            commands.push(FileCommand::QuitUnsaved.into());
        }
        if ui.button("Cancel").clicked() || access::escapes_from(ui) {
            commands.push(FileCommand::CancelQuit.into());
        }
    });
}
