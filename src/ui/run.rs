//! What the chosen run is called, and what it is about.

use bevy::prelude::*;
use bevy_egui::egui::{RichText, Ui};

use super::panel::{EVERYWHERE, Panel};
use crate::runtime::{Command, Simulations};

pub const PANEL: Panel = Panel { key: "run", title: "", workspaces: EVERYWHERE, unfolded: &[] };

pub(super) fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>) -> Vec<Command> {
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
