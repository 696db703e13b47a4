//! The run: its heading in the column, and the commands that play, step and restart it.

use bevy::prelude::*;
use bevy_egui::egui::{Key, RichText, Ui};

use crate::shell::{
    commands::{AddCommands, MenuPart, NONE, SHIFT},
    panel::{AddPanel, EVERYWHERE, Panel},
};
use crate::world::{Command, RunCommand, Simulations};
use egui_phosphor::regular as icon;

const PANEL: Panel = Panel { key: "run", title: "", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("Run", 10, commands).add_commands("Run", 30, start_commands);
}

fn commands(table: &mut MenuPart) {
    let play = "Lets time run, or stops it.";
    table
        .add(icon::PLAY_PAUSE, "Play or pause", play, &[(NONE, Key::Space)], RunCommand::TogglePlay)
        .known_as("start stop run simulate");
    let step = [(NONE, Key::ArrowRight), (NONE, Key::Period)];
    table
        .add(icon::SKIP_FORWARD, "One tick", "Runs a single tick and pauses.", &step, RunCommand::Step(1))
        .known_as("step frame forward");
    let stage = "Runs the next stage of a tick and pauses: the status bar and the Learn workspace say what comes next.";
    table
        .add(icon::STEPS, "One stage", stage, &[(NONE, Key::Comma)], RunCommand::Stage)
        .known_as("step substep slow motion");
    let ten = [(SHIFT, Key::ArrowRight)];
    table.add(icon::FAST_FORWARD, "Ten ticks", "Runs ten ticks and pauses.", &ten, RunCommand::Step(10));
}

fn start_commands(table: &mut MenuPart) {
    let restart = "Begins again with the same seed and with the terrain as you shaped it before the first tick; undo brings back what was.";
    table
        .add(icon::SKIP_BACK, "-Restart", restart, &[(NONE, Key::R)], RunCommand::Restart)
        .known_as("reset begin rewind");
    let bare = "Begins again with the terrain as it was before you shaped it, under the painted rain and mask; undo brings back what was.";
    table.add(icon::ERASER, "Restart unshaped", bare, &[], RunCommand::RestartUnshaped);
    let seed = "Begins again with the next seed; what was is kept for undo.";
    table
        .add(icon::DICE_FIVE, "New seed", seed, &[(SHIFT, Key::R)], RunCommand::NewSeed)
        .known_as("random shuffle another");
}

fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>) -> Vec<Command> {
    let session = simulations.selected();
    ui.heading(match session.tile_title() {
        Some(tile) => format!("{} · {tile}", session.title),
        None => session.title.clone(),
    });
    if !session.about.is_empty() {
        ui.label(RichText::new(&session.about).weak());
    }
    ui.add_space(4.0);
    Vec::new()
}
