//! How ground, light and water look.

use bevy_egui::egui::Ui;

use super::{
    PanelState,
    group::{group_ui, presets_ui, set},
    panel::{EVERYWHERE, Panel},
};
use crate::runtime::{Command, Workspace};
use thalweg_scene::look::{Look, WaterLook};
use thalweg_sim::params::Group;

pub const LIGHT: Panel = Panel {
    key: "look",
    title: "Light and colour",
    workspaces: EVERYWHERE,
    unfolded: &[Workspace::Sculpt],
    draw: |ui, state, _| {
        let mut asked = presets_ui(ui, "look", ("Palettes", "Colours that go together"));
        asked.extend(look_ui(ui, state, ("look", &state.simulations.selected().look), ("look", &Look::default())));
        asked
    },
};

pub const WATER: Panel = Panel {
    key: "water-look",
    title: "Water look",
    workspaces: EVERYWHERE,
    unfolded: &[],
    draw: |ui, state, _| {
        let now = &state.simulations.selected().water_look;
        look_ui(ui, state, ("water-look", now), ("water-look", &WaterLook::default()))
    },
};

/// The workspace Learn shows the main parameters alone.
fn look_ui(ui: &mut Ui, state: &PanelState<'_>, now: Group<'_>, fresh: Group<'_>) -> Vec<Command> {
    set(now.0, group_ui(ui, now, fresh, *state.workspace == Workspace::Learn))
}
