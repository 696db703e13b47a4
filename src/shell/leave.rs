//! Quit command, and the question about unsaved changes.

use bevy::prelude::{App, InMut, Res};
use bevy_egui::egui::{self, Key, Ui};

use super::{
    access,
    commands::{AddCommands, CTRL, MenuPart},
    panes::centred,
};
use crate::world::{Command, Document, FileCommand, Simulations, WindowCommand};
use egui_phosphor::regular as icon;

pub(crate) fn plugin(app: &mut App) {
    app.add_commands("File", 40, commands);
}

fn commands(table: &mut MenuPart) {
    table
        .add(icon::SIGN_OUT, "-Quit", "Quit Thalweg.", &[(CTRL, Key::Q)], FileCommand::Quit)
        .known_as("exit close leave");
}

/// Draws the dialog about unsaved changes.
pub fn leave_ui(
    InMut(context): InMut<egui::Context>,
    document: Res<Document>,
    simulations: Res<Simulations>,
) -> Vec<Command> {
    let mut commands = Vec::new();
    if document.asks {
        centred(context, "Unsaved changes").show(context, |ui| {
            access::hold_keys(ui);
            answers_ui(ui, &simulations, &mut commands);
        });
    }
    commands
}

/// Draws message and buttons of the dialog.
fn answers_ui(ui: &mut Ui, simulations: &Simulations, commands: &mut Vec<Command>) {
    let name = simulations.file.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
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
            commands.push(FileCommand::Stay.into());
        }
    });
}
