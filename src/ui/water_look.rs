//! How the water looks.

use bevy_egui::egui::Ui;

use super::{
    Kept, PanelState,
    group::{group_ui, set},
    panels::{EVERYWHERE, Panel},
};
use crate::{
    look::WaterLook,
    runtime::{Command, Workspace},
};

/// The main parameters alone where one learns.
pub const PANEL: Panel = Panel { key: "water-look", title: "Water look", workspaces: EVERYWHERE, unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let learn = *state.workspace == Workspace::Learn;
    let (now, fresh) = (&state.live.chosen().water_look, WaterLook::default());
    set(PANEL.key, group_ui(ui, (PANEL.key, now), (PANEL.key, &fresh), learn))
}
