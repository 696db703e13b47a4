//! The dialog for new land: how large it is, what the ground is like, and what runs on it.

use bevy_egui::egui::{self, RichText, Ui};

use super::{group::group_ui, number::Number, style};
use crate::{
    io::{Budget, NewLand},
    look::Palette,
    params::{choice_title, write},
    runtime::{Command, FileCommand},
    sim::generate::TerrainParams,
};

/// Cells along a side.
const CELLS: std::ops::RangeInclusive<u32> = 32..=4096;

/// Draws it. Returns what was chosen.
pub fn land_ui(context: &egui::Context, land: &mut NewLand, open: &mut bool) -> Option<Command> {
    let mut chosen = None;
    let window = style::dialog("New land").open(open).max_height(context.content_rect().height() * 0.85);
    window.show(context, |ui| {
        ui.set_width(style::SETTINGS_WIDTH);
        let height = context.content_rect().height() * 0.85 - 120.0;
        egui::ScrollArea::vertical().max_height(height).show(ui, |ui| parts_ui(ui, land));
        ui.separator();
        ui.horizontal(|ui| {
            let create = ui.add(egui::Button::new("Create").fill(style::ACCENT.gamma_multiply(0.55)));
            let wanted = create.clicked() || ui.input(|input| input.key_pressed(egui::Key::Enter));
            if wanted && !ui.ctx().text_edit_focused() {
                chosen = Some(FileCommand::New(Box::new(land.clone())).into());
            }
            if ui.button("As at first").on_hover_text("All as a new user has it").clicked() {
                *land = NewLand::default();
            }
            let text = format!("{} × {} cells, {}", land.terrain.width, land.terrain.height, Budget::of(land.bytes()));
            ui.label(RichText::new(text).small().weak());
        });
    });
    chosen
}

fn row(ui: &mut Ui, name: &str, help: &str, field: impl FnOnce(&mut Ui) -> egui::Response) {
    ui.horizontal(|ui| {
        let size = egui::vec2(style::NAME_WIDTH, ui.spacing().interact_size.y);
        let label = ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.set_min_width(style::NAME_WIDTH);
            ui.label(name)
        });
        field(ui).labelled_by(label.inner.id).on_hover_text(help);
    });
}

fn parts_ui(ui: &mut Ui, land: &mut NewLand) {
    let terrain = &mut land.terrain;
    let sides = [terrain.width, terrain.height].map(|cells| cells as f32 * terrain.cell_size);
    let mut metres = sides;
    let size = "From the left to the right border, and from the upper to the lower one. Cells stay square.";
    for (side, name) in metres.iter_mut().zip(["Width", "Height"]) {
        row(ui, name, size, |ui| Number::new(name, "m", 1.0..=4.0e6).drag_ui(ui, side, |field| field.speed(10.0)));
    }
    let mut cells = terrain.width.min(terrain.height);
    let help = "Cells along the shorter side. More show finer detail; time and memory grow with their square.";
    row(ui, "Cells", help, |ui| Number::new("Cells", "", CELLS).drag_ui(ui, &mut cells, |field| field.speed(4.0)));
    if metres != sides || cells != terrain.width.min(terrain.height) {
        fit(terrain, metres, cells);
    }
    row(ui, "Seed", "The same seed gives the same land, bit by bit.", |ui| {
        Number::new("Seed", "", 0..=u64::MAX).drag_ui(ui, &mut land.seed, |field| field.speed(0.1))
    });
    row(ui, "Colours", "Of flat ground, steep ground and sand; each can be changed later.", |ui| {
        let choice = egui::ComboBox::from_id_salt("palette").width(style::CHOICE_WIDTH);
        let text = |palette: Palette| choice_title(&format!("{palette:?}").to_lowercase());
        let shown = choice.selected_text(text(land.palette)).show_ui(ui, |ui| {
            for palette in Palette::ALL {
                ui.selectable_value(&mut land.palette, palette, text(palette));
            }
        });
        shown.response
    });
    ui.separator();
    let fresh = TerrainParams::default();
    for (name, value) in group_ui(ui, ("terrain", &land.terrain), ("terrain", &fresh), false) {
        write(&mut land.terrain, name, &value);
    }
    ui.separator();
    ui.label("What runs on it");
    ui.horizontal_wrapped(|ui| {
        for (key, title) in NewLand::all_processes() {
            let mut on = land.processes.contains(&key);
            if ui.checkbox(&mut on, title).changed() {
                land.processes.retain(|other| *other != key);
                land.processes.extend(on.then_some(key));
            }
        }
    });
}

/// Gives a terrain so many metres along its sides and so many cells along the shorter one.
fn fit(terrain: &mut TerrainParams, [width, height]: [f32; 2], cells: u32) {
    terrain.cell_size = (width.min(height) / cells as f32).clamp(0.01, 1000.0);
    let along = |metres: f32| ((metres / terrain.cell_size).round() as u32).clamp(*CELLS.start(), *CELLS.end());
    (terrain.width, terrain.height) = (along(width), along(height));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_land_has_the_metres_and_the_cells_that_were_asked_for() {
        let mut terrain = TerrainParams::default();
        fit(&mut terrain, [10_000.0, 5000.0], 250);
        assert_eq!((terrain.width, terrain.height, terrain.cell_size), (500, 250, 20.0));
        // Beyond the longest side there are no cells; the map is then shorter than wanted, and the dialog shows it.
        fit(&mut terrain, [1e6, 1000.0], 1000);
        assert_eq!((terrain.width, terrain.height), (4096, 1000));
    }
}
