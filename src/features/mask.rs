//! Mask panel: the selection, and how it combines with the existing mask.

use bevy::prelude::*;
use bevy_egui::egui::{RichText, Ui};

use crate::shell::{
    group::{group_ui, set},
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
};
use crate::world::{AppCommand, BrushCommand, Brushes, EditCommand, Overlay, OverlayCommand};
use thalweg_sim::{
    core::{quantity::Quantity, terrain::Layer},
    edit::{CombineMode, Selection, Tool},
};

const PANEL: SidebarPanel =
    SidebarPanel { key: "mask", title: "Mask", workspaces: EVERYWHERE, unfolded: &[], in_lessons: false };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui);
}

fn panel_ui(InMut(ui): InMut<Ui>, brushes: Res<Brushes>, overlay: Res<Overlay>) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let about = "Masked terrain is protected from brushes, and from processes limited to unmasked terrain. Select terrain, or paint the mask.";
    ui.label(RichText::new(about).weak());
    let selection = &brushes.selection;
    let changes = group_ui(ui, ("selection", selection), ("selection", &Selection::default()), false);
    asked.extend(set("selection", changes));
    let combinations = [
        (CombineMode::Replace, "Replace", "Replace the mask with the selection."),
        (CombineMode::Add, "Add", "Add the selection to the mask."),
        (CombineMode::Subtract, "Subtract", "Remove the selection from the mask."),
        (CombineMode::Intersect, "Intersect", "Keep the mask only where it overlaps the selection."),
    ];
    ui.horizontal_wrapped(|ui| {
        for (combine, text, help) in combinations {
            if ui.button(text).on_hover_text(help).clicked() {
                asked.push(EditCommand::Select(combine).into());
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        let mut button = |ui: &mut Ui, text: &str, command: AppCommand| {
            if ui.button(text).clicked() {
                asked.push(command);
            }
        };
        button(ui, "Paint", BrushCommand::Activate(Some(Tool::Mask)).into());
        button(ui, "Invert", EditCommand::InvertMask.into());
        button(ui, "Clear", EditCommand::ClearMask.into());
        let shown = overlay.shown == Some(Quantity::Layer(Layer::Mask));
        let wanted = if shown { None } else { Some(Quantity::Layer(Layer::Mask)) };
        button(ui, if shown { "Hide" } else { "Show" }, OverlayCommand::Show(wanted).into());
    });
    asked
}
