//! The panel of the terrain: where it comes from, its size, its seed, and what is done to it by hand.

use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{State, group::group_ui};
use crate::{
    runtime::Command,
    sim::{generate::TerrainParams, terrain::Layer},
};

/// Sizes that are offered, in cells along the shorter side.
const SIZES: [u32; 6] = [128, 256, 512, 1024, 2048, 4096];

/// Generator, seed, size, imports, sand. `sheet` is the thickness of the next sheet of sand, in metres.
pub fn terrain_ui(ui: &mut Ui, state: &State<'_>, sheet: &mut f32, main_only: bool) -> Vec<Command> {
    let mut commands = Vec::new();
    let session = state.live.chosen();
    ui.horizontal(|ui| {
        let mut seed = session.simulation.seed();
        let label = ui.label("Seed");
        let field = ui.add(egui::DragValue::new(&mut seed).speed(0.1)).labelled_by(label.id);
        if field.on_hover_text("The same seed gives the same terrain and the same rain, bit by bit.").changed() {
            commands.push(Command::SetSeed(seed));
        }
        if ui.button(format!("{} New", icon::DICE_FIVE)).on_hover_text("The next seed (Shift+R)").clicked() {
            commands.push(Command::NewSeed);
        }
        if session.heightmap.is_none() {
            let side = session.terrain.width.min(session.terrain.height);
            let sizes = egui::ComboBox::from_id_salt("size").width(64.0).selected_text(format!("{side} cells"));
            let shown = sizes.show_ui(ui, |ui| {
                for size in SIZES {
                    if ui.selectable_label(size == side, format!("{size} cells")).clicked() && size != side {
                        commands.push(Command::SetSize(size));
                    }
                }
            });
            shown.response.on_hover_text("Cells along the shorter side; the map keeps its extent");
        }
    });
    if session.heightmap.is_some() {
        ui.label(RichText::new("An imported map: of the parameters, only edge and sand act on it.").weak());
    }
    let changes = group_ui(ui, ("terrain", &session.terrain), ("terrain", &TerrainParams::default()), main_only);
    commands.extend(changes.into_iter().map(|(name, value)| Command::Set("terrain".to_owned(), name, value)));
    if main_only {
        return commands;
    }
    ui.horizontal_wrapped(|ui| {
        ui.label("Import");
        for (layer, import) in Layer::imports().filter(|(_, import)| import.offered) {
            if ui.button(format!("{}…", import.title)).clicked() {
                commands.push(Command::AskImport(layer));
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        if ui.button("Spread sand").on_hover_text("Lays a sheet of this thickness on everything").clicked() {
            commands.push(Command::SpreadSand(*sheet));
        }
        let thickness = egui::DragValue::new(sheet).range(0.01..=100.0).speed(0.02).suffix(" m");
        ui.add(thickness).on_hover_text("Thickness of the sheet");
        if ui.button("Remove all sand").clicked() {
            commands.push(Command::RemoveSand);
        }
        if ui.button("Dry everything").clicked() {
            commands.push(Command::Dry);
        }
    });
    commands
}
