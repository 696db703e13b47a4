//! Panels for the look of ground, light and water.

use bevy::prelude::*;
use bevy_egui::egui::Ui;

use crate::shell::{
    group::{group_ui, presets_ui, set},
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
};
use crate::world::{AppCommand, Simulations, Workspace};
use thalweg_scene::look::{Look, WaterLook};

const LIGHT: SidebarPanel = SidebarPanel {
    key: "look",
    title: "Light and colour",
    workspaces: EVERYWHERE,
    unfolded: &[Workspace::Sculpt],
    in_lessons: false,
};

const WATER: SidebarPanel = SidebarPanel {
    key: "water-look",
    title: "Water appearance",
    workspaces: EVERYWHERE,
    unfolded: &[],
    in_lessons: false,
};

pub(super) fn plugin(app: &mut App) {
    app.add_panel(LIGHT, light_ui).add_panel(WATER, water_ui);
}

fn light_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>, workspace: Res<State<Workspace>>) -> Vec<AppCommand> {
    let mut asked = presets_ui(ui, "look", ("Palettes", "Load a palette of matching colours."));
    let now = &simulations.selected().look;
    // The Learn workspace shows only the main parameters.
    let main_only = *workspace == Workspace::Learn;
    asked.extend(set("look", group_ui(ui, ("look", now), ("look", &Look::default()), main_only)));
    asked
}

fn water_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>, workspace: Res<State<Workspace>>) -> Vec<AppCommand> {
    let now = &simulations.selected().water_look;
    let main_only = *workspace == Workspace::Learn;
    set("water-look", group_ui(ui, ("water-look", now), ("water-look", &WaterLook::default()), main_only))
}
