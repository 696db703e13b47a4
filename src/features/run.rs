//! Heading of the simulation in the sidebar, and the commands that play, step and restart it.

use bevy::prelude::*;
use bevy_egui::egui::{Key, RichText, Ui};

use crate::shell::{
    commands::{AddCommands, MenuSection, NONE, SHIFT},
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
};
use crate::world::{AppCommand, SimulationCommand, Simulations};
use egui_phosphor::regular as icon;

const PANEL: SidebarPanel =
    SidebarPanel { key: "run", title: "", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("Simulation", 10, commands).add_commands(
        "Simulation",
        30,
        start_commands,
    );
}

fn commands(table: &mut MenuSection) {
    let play = "Start or pause the simulation.";
    table
        .add(icon::PLAY_PAUSE, "Play or pause", play, &[(NONE, Key::Space)], SimulationCommand::TogglePlay)
        .set_aliases("start stop run simulate");
    let step = [(NONE, Key::ArrowRight), (NONE, Key::Period)];
    table
        .add(icon::SKIP_FORWARD, "Step one tick", "Run a single tick and pause.", &step, SimulationCommand::Step(1))
        .set_aliases("step frame forward");
    let stage =
        "Run the next stage of the tick and pause. The status bar and the Learn workspace show which stage is next.";
    table
        .add(icon::STEPS, "Step one stage", stage, &[(NONE, Key::Comma)], SimulationCommand::Stage)
        .set_aliases("step substep slow motion");
    let ten = [(SHIFT, Key::ArrowRight)];
    table.add(icon::FAST_FORWARD, "Step ten ticks", "Run ten ticks and pause.", &ten, SimulationCommand::Step(10));
}

fn start_commands(table: &mut MenuSection) {
    let restart = "Restart with the same seed from the terrain as sculpted before the first tick. Undo restores the current state.";
    table
        .add(icon::SKIP_BACK, "-Restart", restart, &[(NONE, Key::R)], SimulationCommand::Restart)
        .set_aliases("reset begin rewind");
    let bare = "Restart from the terrain before any sculpting, but keep the painted rain and mask. Undo restores the current state.";
    table.add(icon::ERASER, "Restart without sculpting", bare, &[], SimulationCommand::RestartUnshaped);
    let seed = "Restart with the next seed. Undo restores the current state.";
    table
        .add(icon::DICE_FIVE, "New seed", seed, &[(SHIFT, Key::R)], SimulationCommand::NewSeed)
        .set_aliases("random shuffle another");
}

fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>) -> Vec<AppCommand> {
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
