//! What the chosen run is called, and what it is about.

use bevy_egui::egui::{RichText, Ui};

use super::{
    Kept, PanelState,
    panel::{EVERYWHERE, Panel},
};
use crate::runtime::Command;

pub const PANEL: Panel = Panel { key: "run", title: "", workspaces: EVERYWHERE, unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let session = state.simulations.selected();
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
