//! Export dialog: maps and formats, resolution and folder.

use std::{ops::RangeInclusive, path::PathBuf};

use bevy_egui::egui::{self, RichText};

use super::{access, number::NumberField, style};
use crate::world::{AppCommand, FileCommand};
use thalweg_scene::{
    io::export::{
        self, Dimensions, Export, ExportWindow, PrintDimensions, SETS, Size, SquareConversion, TileGrid, TileNames,
        WeightChannels, WeightMask,
    },
    model::session::Session,
};
use thalweg_sim::{
    core::{bounds::InvalidInput, terrain::Terrain},
    params::title,
};

#[derive(Clone, Debug)]
pub struct ExportDialog {
    preset: usize,
    chosen: Vec<Export>,
    dimensions: Dimensions,
    pub folder: PathBuf,
    /// Prefix of the file names.
    prefix: String,
}

impl ExportDialog {
    /// Creates the dialog with the first preset selected.
    pub fn new(session: &Session, folder: PathBuf) -> Self {
        let mut dialog = Self {
            preset: 0,
            chosen: Vec::new(),
            dimensions: Dimensions::default(),
            folder,
            prefix: format!("{}-", session.name),
        };
        dialog.choose(0);
        dialog
    }

    fn choose(&mut self, preset: usize) {
        self.preset = preset;
        self.chosen = SETS[preset].exports();
        self.dimensions = self.dimensions.for_preset(&SETS[preset]);
    }

    /// Draws the dialog. Returns `None` while it is open, or its commands (none if cancelled) once it is closed; and `true` if the user
    /// wants to select a folder.
    pub fn ui(&mut self, context: &egui::Context, session: &Session) -> (Option<Vec<AppCommand>>, bool) {
        let (mut answer, mut folder_wanted) = (None, false);
        style::dialog("Export").max_height(context.content_rect().height() * 0.9).show(context, |ui| {
            access::trap_focus(ui);
            ui.set_width(style::EXPORT_WIDTH);
            ui.horizontal_wrapped(|ui| {
                for (index, preset) in SETS.iter().enumerate() {
                    if access::choice(ui, self.preset == index, preset.title).clicked() {
                        self.choose(index);
                    }
                }
            });
            ui.separator();
            let height = (context.content_rect().height() - 470.0).clamp(120.0, 420.0);
            egui::ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show(ui, |ui| {
                egui::Grid::new("maps").num_columns(2).spacing([14.0, 3.0]).striped(true).show(ui, |ui| {
                    for map in export::maps() {
                        ui.label(map_title(map)).on_hover_text(export::about(map));
                        ui.horizontal(|ui| {
                            for format in export::formats(map) {
                                let Ok(file) = Export::new(map, format) else { continue };
                                let mut on = self.chosen.contains(&file);
                                let field = ui.checkbox(&mut on, *format);
                                access::name(&field, &format!("{} as {format}", map_title(map)));
                                if field.on_hover_text(export::about_format(map, format)).changed() {
                                    self.chosen.retain(|other| *other != file);
                                    if on {
                                        self.chosen.push(file);
                                    }
                                }
                            }
                        });
                        ui.end_row();
                    }
                });
                access::follow_focus(ui);
            });
            ui.separator();
            self.settings_ui(ui, session);
            ui.horizontal(|ui| {
                if ui.button(format!("{} Folder…", egui_phosphor::regular::FOLDER_OPEN)).clicked() {
                    folder_wanted = true;
                }
                ui.add(egui::Label::new(RichText::new(self.folder.display().to_string()).monospace()).truncate());
            });
            ui.horizontal(|ui| {
                let label = ui.label("File name prefix");
                ui.text_edit_singleline(&mut self.prefix).labelled_by(label.id);
            });
            ui.add_space(4.0);
            ui.horizontal(|ui| {
                let text = match self.chosen.len() {
                    0 => "Export".to_owned(),
                    _ => format!("Export {} files", export::count_files(&self.chosen, session, self.dimensions)),
                };
                let wrong = self.dimensions.check(&session.simulation.terrain).err();
                // A path separator would lead out of the folder.
                let plain = !self.prefix.contains(['/', '\\']);
                let ready = !self.chosen.is_empty() && plain && wrong.is_none();
                let button = ui.add_enabled(ready, egui::Button::new(text));
                if button.clicked() {
                    let chosen = self.chosen.clone();
                    let (folder, before) = (self.folder.clone(), self.prefix.clone());
                    answer = Some(vec![FileCommand::Export(folder, before, chosen, self.dimensions).into()]);
                }
                if ui.button("Cancel").clicked() || access::escapes_from(ui) {
                    answer = Some(Vec::new());
                }
                if let Some(InvalidInput { wrong, right }) = wrong {
                    ui.label(RichText::new(format!("{wrong}: {right}")).color(style::WARNING));
                }
            });
        });
        (answer, folder_wanted)
    }

    fn settings_ui(&mut self, ui: &mut egui::Ui, session: &Session) {
        let (terrain, dimensions) = (&session.simulation.terrain, self.dimensions);
        ui.horizontal(|ui| {
            let label = ui.label("Resolution");
            let name = |size: Size| {
                let (width, height) = Dimensions { size, ..dimensions }.of(terrain);
                let about = match size {
                    Size::Working => "as simulated",
                    Size::Times(_) => "upsampled",
                    Size::PowerOfTwoPlusOne => "power of two plus one, for Unity",
                    Size::Unreal => "for Unreal",
                };
                format!("{width} × {height}, {about}")
            };
            let sizes =
                [Size::Working, Size::Times(2), Size::Times(4), Size::Times(8), Size::PowerOfTwoPlusOne, Size::Unreal];
            egui::ComboBox::from_id_salt("cells")
                .width(style::SIZES_WIDTH)
                .selected_text(name(self.dimensions.size))
                .show_ui(ui, |ui| {
                    access::begin_list(ui);
                    for size in sizes {
                        access::list_choice(ui, &mut self.dimensions.size, size, name(size));
                    }
                })
                .response
                .labelled_by(label.id);
        });
        let window = self.dimensions.window(terrain);
        if window.size != (terrain.width(), terrain.height()) {
            square_ui(ui, terrain, &mut self.dimensions);
        }
        tiles_ui(ui, &mut self.dimensions.tiles, SETS[self.preset].tile_names());
        if self.chosen.iter().any(|file| file.map == "weights") {
            weights_ui(ui, &mut self.dimensions.weights);
        }
        if self.chosen.iter().any(|file| file.map == "mesh" && file.format != "stl") {
            ui.horizontal(|ui| {
                let label = ui.label("Mesh levels of detail");
                let levels = egui::DragValue::new(&mut self.dimensions.mesh_levels);
                let help =
                    "Set the number of levels of detail; each has half the columns and rows of the previous one.";
                ui.add(levels.range(1..=Dimensions::MAX_MESH_LEVELS)).labelled_by(label.id).on_hover_text(help);
            });
        }
        if self.chosen.iter().any(|file| file.format == "stl") {
            let PrintDimensions { width, base } = &mut self.dimensions.print;
            ui.horizontal(|ui| {
                ui.label("3D print: longer side");
                let side = NumberField::new("Longer side", "mm", 10.0..=2000.0);
                side.drag_ui(ui, width, |field| field).on_hover_text("Set the length of the longer side of the model.");
                ui.label("base");
                let thickness = NumberField::new("Base", "mm", 0.5..=100.0);
                let thickness = thickness.drag_ui(ui, base, |field| field.speed(0.1));
                thickness.on_hover_text("Set the thickness of the base below the lowest point of the terrain.");
            });
        }
    }
}

/// Draws the division into tiles.
fn tiles_ui(ui: &mut egui::Ui, tiles: &mut Option<TileGrid>, names: TileNames) {
    ui.horizontal(|ui| {
        let mut on = tiles.is_some();
        let help = "Divide each map into tiles of equal size, for large worlds.";
        if ui.checkbox(&mut on, "Tiles").on_hover_text(help).changed() {
            *tiles = on.then_some(TileGrid { count: (2, 2), overlap: 1, names });
        }
        let Some(tiles) = tiles else { return };
        let number = |ui: &mut egui::Ui, name: &str, value: &mut usize, range: RangeInclusive<usize>| {
            let field = ui.add(egui::DragValue::new(value).range(range));
            access::name(&field, name);
        };
        number(ui, "Columns of tiles", &mut tiles.count.0, 1..=TileGrid::MAX_COUNT);
        ui.label("×");
        number(ui, "Rows of tiles", &mut tiles.count.1, 1..=TileGrid::MAX_COUNT);
        ui.label("overlap").on_hover_text("Columns and rows of cells that neighbouring tiles share.");
        number(ui, "Overlap of tiles in cells", &mut tiles.overlap, 0..=TileGrid::MAX_OVERLAP);
        ui.label("cells");
    });
}

/// Draws the mask of each channel of the weight map.
fn weights_ui(ui: &mut egui::Ui, weights: &mut WeightChannels) {
    ui.horizontal(|ui| {
        ui.label("Weight map")
            .on_hover_text("Masks in the channels of the weight map. Their sum is 255 in each pixel.");
        let name = |mask: Option<WeightMask>| {
            let found = WeightMask::ALL.iter().find(|(_, known)| Some(*known) == mask);
            found.map_or("None".to_owned(), |(key, _)| title(key))
        };
        for (channel, mask) in ["Red", "Green", "Blue", "Alpha"].into_iter().zip(&mut weights.0) {
            let list = egui::ComboBox::from_id_salt(channel).width(style::WEIGHT_WIDTH).selected_text(name(*mask));
            let shown = list.show_ui(ui, |ui| {
                access::begin_list(ui);
                for offered in std::iter::once(None).chain(WeightMask::ALL.map(|(_, mask)| Some(mask))) {
                    access::list_choice(ui, mask, offered, name(offered));
                }
            });
            access::name(&shown.response, &format!("Mask of the channel {}", channel.to_lowercase()));
        }
    });
}

/// Returns the title of a map in the dialog; scripts use its key.
fn map_title(map: &str) -> String {
    if map == "hardness" { "Hardness (1 − softness)".to_owned() } else { title(map) }
}

/// Draws the options for a square export: mode, sketch of the exported part, and explanation.
fn square_ui(ui: &mut egui::Ui, terrain: &Terrain, dimensions: &mut Dimensions) {
    ui.horizontal(|ui| {
        ui.label("Square");
        let square = &mut dimensions.square;
        let conversions = [
            (SquareConversion::Pad, "Pad", "Export the whole map and repeat its edge cells to fill the square."),
            (SquareConversion::Crop, "Crop", "Export only the centre of the map. River lines are not cropped."),
        ];
        for (conversion, title, about) in conversions {
            if access::choice(ui, *square == conversion, title).on_hover_text(about).clicked() {
                *square = conversion;
            }
        }
    });
    let (map, ExportWindow { first, size }) = ((terrain.width(), terrain.height()), dimensions.window(terrain));
    let vector = |(columns, rows): (usize, usize)| egui::vec2(columns as f32, rows as f32);
    // Bounding box of the map and the square.
    let whole = vector((map.0.max(size.0), map.1.max(size.1)));
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(whole * (style::SQUARE_SIDE / whole.max_elem()), egui::Sense::hover());
        let scale = rect.width() / whole.x;
        let part =
            |first: egui::Vec2, size: egui::Vec2| egui::Rect::from_min_size(rect.min + first * scale, size * scale);
        let weak = ui.visuals().weak_text_color();
        ui.painter().rect_filled(rect, 0.0, weak.gamma_multiply(0.35));
        ui.painter().rect_filled(part(egui::Vec2::ZERO, vector(map)), 0.0, style::ACCENT.gamma_multiply(0.4));
        let shown = (size.0.min(map.0), size.1.min(map.1));
        ui.painter().rect_filled(part(vector(first), vector(shown)), 0.0, style::ACCENT);
        ui.label(RichText::new(square_text(map, size)).small().weak());
    });
}

/// Describes the columns or rows that a square of `size` adds to a map or crops.
fn square_text(map: (usize, usize), size: (usize, usize)) -> String {
    let text = |count: usize, lines: &str, rest: &str| format!("The map is not stretched. {count} {lines} {rest}");
    let repeats = "repeating the edge. The .json sidecar records the extent of the map.";
    if map.0 < size.0 {
        text(size.0 - map.0, "columns are added at the right,", repeats)
    } else if map.1 < size.1 {
        text(size.1 - map.1, "rows are added at the bottom,", repeats)
    } else if map.0 > size.0 {
        text(map.0 - size.0, "columns are cropped,", "half on each side.")
    } else {
        text(map.1 - size.1, "rows are cropped,", "half at the top and half at the bottom.")
    }
}

#[cfg(test)]
mod tests {
    use super::square_text;

    #[test]
    fn square_text_states_padding_or_cropping() {
        let text = |map: (usize, usize), side: usize| square_text(map, (side, side));
        assert!(text((300, 512), 512).contains("212 columns are added at the right"));
        assert!(text((512, 300), 512).contains("212 rows are added at the bottom"));
        assert!(text((512, 300), 300).contains("212 columns are cropped"));
        assert!(text((300, 512), 300).contains("212 rows are cropped"));
    }
}
