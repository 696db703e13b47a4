//! "New terrain" dialog: size, generator and processes.

mod preview;

use bevy::prelude::{App, InMut, Local};
use bevy_egui::egui::{self, Key, RichText, Ui};

use preview::TerrainPreview;

use crate::shell::{
    access,
    commands::{AddCommands, CTRL, MenuSection},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi},
    group::some_of_group_ui,
    number::{NumberField, units},
    style,
};
use crate::world::{AppCommand, FileCommand, WindowCommand, amount::length};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::{
        Activity, Budget, NewTerrain,
        preset::{PRESETS, Preset},
    },
    settings::UnitSystem,
};
use thalweg_sim::{
    generate::TerrainParams,
    params::{Value, choice_title, collect_parameters, write},
};

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("File", 10, commands);
}

fn commands(table: &mut MenuSection) {
    let new = "Create a new terrain: size, generator and processes.";
    let toggle = WindowCommand::Toggle(PANE.key);
    table
        .add(icon::FILE_PLUS, "New…", new, &[(CTRL, Key::N)], toggle)
        .set_aliases("create own blank empty map generate terrain land size");
}

/// Returns minimum and maximum of a terrain parameter.
fn range(name: &str) -> [f64; 2] {
    let declared = collect_parameters(("terrain", &TerrainParams::default()));
    let found = declared.into_iter().find(|parameter| parameter.name == name);
    found.map_or([0.0; 2], |found| [found.knob.min, found.knob.max])
}

/// Returns the names of all generators.
fn generators() -> Vec<String> {
    let declared = collect_parameters(("terrain", &TerrainParams::default()));
    let generator = declared.into_iter().find(|parameter| parameter.name == "generator");
    generator.map(|generator| generator.choices).unwrap_or_default()
}

/// Width of the preview in points and its cells along the longer side, and the same for the thumbnail of a generator.
const PREVIEW: f32 = 240.0;
const PREVIEW_CELLS: u32 = 160;
const THUMBNAIL: f32 = 53.0;
const THUMBNAIL_CELLS: u32 = 64;

/// Contents of the dialog, kept until it opens again.
pub struct NewTerrainDialog {
    land: NewTerrain,
    /// Requested width and height, in metres.
    metres: [f32; 2],
    /// Requested cells along the shorter side.
    cells: u32,
    preview: TerrainPreview,
    /// Name and thumbnail of each generator.
    thumbnails: Vec<(String, TerrainPreview)>,
}

impl Default for NewTerrainDialog {
    fn default() -> Self {
        let land = NewTerrain::default();
        let metres = [land.terrain.width, land.terrain.height].map(|cells| cells as f32 * land.terrain.cell_size);
        Self {
            cells: land.terrain.width.min(land.terrain.height),
            metres,
            land,
            preview: TerrainPreview::default(),
            thumbnails: generators().into_iter().map(|name| (name, TerrainPreview::default())).collect(),
        }
    }
}

const PANE: FloatingWindow = FloatingWindow { key: "new-land", kind: FloatingWindowKind::Modal };

/// Draws the dialog with its previous contents.
fn pane_ui(InMut(window): InMut<FloatingWindowUi>, mut dialog: Local<NewTerrainDialog>) -> Vec<AppCommand> {
    let chosen = new_terrain_ui(&window.context, &mut dialog, &mut window.is_open);
    window.is_open &= chosen.is_none();
    chosen.into_iter().collect()
}

/// Draws the dialog. Returns the command that creates the terrain.
fn new_terrain_ui(context: &egui::Context, dialog: &mut NewTerrainDialog, open: &mut bool) -> Option<AppCommand> {
    let mut chosen = None;
    // In a text field, Enter only ends the input.
    let idle = context.memory(|memory| memory.focused().is_none());
    let entered = idle && context.input(|input| input.key_pressed(Key::Enter));
    let highest = context.content_rect().height() * 0.85;
    style::dialog("New terrain").open(open).max_height(highest).show(context, |ui| {
        let opened = access::trap_keyboard(ui);
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                ui.set_width(style::SETTINGS_WIDTH);
                egui::ScrollArea::vertical().max_height(highest - 120.0).show(ui, |ui| {
                    dialog.parts_ui(ui);
                    access::follow_focus(ui);
                });
            });
            ui.vertical(|ui| {
                ui.set_width(PREVIEW);
                egui::ScrollArea::vertical().id_salt("preview").max_height(highest - 120.0).show(ui, |ui| {
                    dialog.preview_ui(ui);
                });
            });
        });
        ui.separator();
        ui.horizontal(|ui| {
            let create = ui.add(egui::Button::new("Create").fill(style::ACCENT.gamma_multiply(0.55)));
            if opened {
                create.request_focus();
            }
            if create.clicked() || entered {
                chosen = Some(FileCommand::New(Box::new(dialog.land.clone())).into());
            }
            if ui.button("Reset").on_hover_text("Reset everything to the defaults.").clicked() {
                *dialog = NewTerrainDialog::default();
            }
            let (land, terrain) = (&dialog.land, &dialog.land.terrain);
            let text = format!("{} × {} cells, {}", terrain.width, terrain.height, Budget::of(land.bytes()));
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

impl NewTerrainDialog {
    /// Draws a preview of the terrain, and a thumbnail of each generator that selects it.
    fn preview_ui(&mut self, ui: &mut Ui) {
        let size = |longer: f32, [columns, rows]: [u32; 2]| {
            egui::vec2(columns as f32, rows as f32) * (longer / columns.max(rows).max(1) as f32)
        };
        let terrain = &self.land.terrain;
        let place = size(PREVIEW, [terrain.width, terrain.height]);
        let (place, response) = ui.allocate_exact_size(place, egui::Sense::hover());
        let mut waits = self.preview.show(ui, place, &self.land, PREVIEW_CELLS, true);
        response.on_hover_text("Preview at reduced resolution.");
        ui.add_space(6.0);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = egui::Vec2::splat(6.0);
            for (name, thumbnail) in &mut self.thumbnails {
                let mut land = NewTerrain { palette: self.land.palette, ..NewTerrain::default() };
                land.activity = Activity::Nothing;
                write(&mut land.terrain, "generator", &Value::Choice(name.clone()));
                let (place, response) = ui.allocate_exact_size(egui::Vec2::splat(THUMBNAIL), egui::Sense::click());
                let title = choice_title(name);
                response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, &title));
                waits |= thumbnail.show(ui, place, &land, THUMBNAIL_CELLS, !waits);
                let chosen = land.terrain.generator == self.land.terrain.generator;
                if chosen || response.has_focus() || response.hovered() {
                    ui.painter().rect_stroke(place, 3.0, style::focus(ui.ctx()), egui::StrokeKind::Outside);
                }
                if response.on_hover_text(&title).clicked() {
                    self.land.terrain.generator = land.terrain.generator;
                }
            }
        });
    }

    fn parts_ui(&mut self, ui: &mut Ui) {
        let [[fewest, most_cells], [_, largest]] = ["width", "cell_size"].map(range);
        let [width, height] = &mut self.metres;
        for (side, name, help) in
            [(width, "Width", "Extent from west to east."), (height, "Length", "Extent from north to south.")]
        {
            row(ui, name, help, |ui| {
                NumberField::new(name, "m", 1.0..=(most_cells * largest) as f32)
                    .drag_ui(ui, side, |field| field.speed(10.0))
            });
        }
        let help =
            "Cells along the shorter side. More cells resolve finer detail; time and memory grow with their square.";
        row(ui, "Cells", help, |ui| {
            NumberField::new("Cells", "", fewest as u32..=most_cells as u32)
                .drag_ui(ui, &mut self.cells, |field| field.speed(4.0))
        });
        let land = &mut self.land;
        let mut message = None;
        land.resize(|terrain| message = fit(terrain, self.metres, self.cells, units(ui)));
        if let Some(text) = message {
            ui.label(RichText::new(text).small().color(style::WARNING));
        }
        row(ui, "Processes", "Enable processes with parameter values suited to this extent.", |ui| {
            let choice = egui::ComboBox::from_id_salt("activity").width(style::CHOICE_WIDTH);
            let shown = choice.selected_text(land.activity.title()).show_ui(ui, |ui| {
                access::begin_list(ui);
                let before = land.activity;
                for (activity, title) in Activity::ALL {
                    access::list_choice(ui, &mut land.activity, activity, title);
                }
                if land.activity != before {
                    land.palette = land.activity.palette();
                }
            });
            shown.response
        });
        row(ui, "Seed", "The same seed always gives exactly the same terrain.", |ui| {
            NumberField::new("Seed", "", 0..=u64::MAX).drag_ui(ui, &mut land.seed, |field| field.speed(0.1))
        });
        row(ui, "Colours", "Colours of flat ground, steep ground and sand. Each can be changed later.", |ui| {
            let choice = egui::ComboBox::from_id_salt("palette").width(style::CHOICE_WIDTH);
            let title = Preset::built_in(land.palette).map_or("", |palette| &palette.title);
            let shown = choice.selected_text(title).show_ui(ui, |ui| {
                access::begin_list(ui);
                for (name, palette) in PRESETS.iter().filter(|(_, preset)| preset.is_of("look")) {
                    access::list_choice(ui, &mut land.palette, *name, &palette.title);
                }
            });
            shown.response
        });
        ui.separator();
        let (shown, fresh) = (land.terrain.clone(), TerrainParams::default());
        // The size has its own fields above.
        let wanted = |name: &str| !["width", "height", "cell_size"].contains(&name);
        for (name, value) in some_of_group_ui(ui, ("terrain", &shown), ("terrain", &fresh), false, wanted) {
            write(&mut land.terrain, name, &value);
        }
    }
}

/// Sets extent in metres and cells along the shorter side. Returns a message with the actual size if these are out of range.
fn fit(terrain: &mut TerrainParams, [width, height]: [f32; 2], cells: u32, units: UnitSystem) -> Option<String> {
    let [[fewest, most], [smallest, largest]] = ["width", "cell_size"].map(range);
    terrain.cell_size = (width.min(height) / cells as f32).clamp(smallest as f32, largest as f32);
    let along = |metres: f32| (metres / terrain.cell_size).round() as u32;
    let wanted = [along(width), along(height)];
    let [columns, rows] = wanted.map(|cells| cells.clamp(fewest as u32, most as u32));
    (terrain.width, terrain.height) = (columns, rows);
    (wanted != [columns, rows] || columns.min(rows) != cells).then(|| {
        let formatted = |metres: f64| length(units, metres, if metres < 1.0 { 2 } else if metres < 10.0 { 1 } else { 0 });
        let [width, height] = [columns, rows].map(|cells| formatted(f64::from(cells) * f64::from(terrain.cell_size)));
        let [smallest, largest] = [smallest, largest].map(formatted);
        format!(
            "Each side must have {fewest} to {most} cells of {smallest} to {largest}. With these values, the terrain will be \
             {width} × {height} with {columns} × {rows} cells."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_extent_is_met_or_limit_is_reported() {
        let mut terrain = TerrainParams::default();
        assert_eq!(fit(&mut terrain, [10_000.0, 5000.0], 250, UnitSystem::Metric), None);
        assert_eq!((terrain.width, terrain.height, terrain.cell_size), (500, 250, 20.0));
        let message = fit(&mut terrain, [1e6, 1000.0], 1000, UnitSystem::Metric).expect("it is too long");
        assert_eq!((terrain.width, terrain.height), (4096, 1000));
        assert!(message.contains("4096 m × 1000 m") && message.contains("cells of 0.01 m to 1000 m"), "{message}");
        // Its cells would be too large.
        assert!(fit(&mut terrain, [4e6, 4e6], 32, UnitSystem::Feet).is_some_and(|message| message.contains("ft")));
        assert_eq!((terrain.width, terrain.height, terrain.cell_size), (4000, 4000, 1000.0));
    }
}
