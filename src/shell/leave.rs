//! What is asked before the program ends.

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
        .add(icon::SIGN_OUT, "-Quit", "Ends the program.", &[(CTRL, Key::Q)], FileCommand::Quit)
        .known_as("exit close leave");
}

/// Asks what is to become of unsaved work.
pub fn leave_ui(
    InMut(context): InMut<egui::Context>,
    document: Res<Document>,
    simulations: Res<Simulations>,
) -> Vec<Command> {
    let mut commands = Vec::new();
    if document.asks {
        centred(context, "Unsaved work").show(context, |ui| {
            access::hold_keys(ui);
            answers_ui(ui, &simulations, &mut commands);
        });
    }
    commands
}

/// What can become of unsaved work.
fn answers_ui(ui: &mut Ui, simulations: &Simulations, commands: &mut Vec<Command>) {
    let name = simulations.file.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    ui.label(format!("{} has changes that are not saved.", name.as_deref().unwrap_or(&simulations.selected().title)));
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
