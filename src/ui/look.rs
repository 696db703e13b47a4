//! Light and colours of the ground.

use bevy_egui::egui::Ui;

use super::{
    Kept, PanelState,
    group::{group_ui, set},
    panels::{EVERYWHERE, Panel},
};
use crate::{
    look::Look,
    runtime::{Command, Workspace},
};

/// The main parameters alone where one learns.
pub const PANEL: Panel =
    Panel { key: "look", title: "Light and colour", workspaces: EVERYWHERE, unfolded: &[Workspace::Sculpt], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let learn = *state.workspace == Workspace::Learn;
    let (now, fresh) = (&state.live.chosen().look, Look::default());
    set(PANEL.key, group_ui(ui, (PANEL.key, now), (PANEL.key, &fresh), learn))
}
