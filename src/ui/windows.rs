//! Windows over the view: palette, keys, about, settings, wind map, and what is asked before the program ends.

use bevy_egui::egui::{self, Key, RichText, Ui};

use super::{
    PanelState, access,
    checks::checks_ui,
    commands::{keys_text, menus, table},
    group::{group_ui, set},
    history::memory_text,
    land::{LandDialog, land_ui},
    palette::{Palette, palette_ui},
    playlist::{ListDialog, playlist_ui},
    scenes::{Scenes, scenes_ui},
    style,
    vary::{VaryDialog, vary_ui},
    wind::{WindMap, map_ui},
};
use crate::runtime::{Command, FileCommand, Pane, PresentCommand, WindowCommand};
use thalweg_scene::{
    io::Budget,
    settings::{Settings, log_folder, picture_folder, settings_file},
};

/// Which windows are open, and what they remember as long as they are.
#[derive(Default)]
pub struct Windows {
    open: Vec<Pane>,
    palette: Palette,
    scenes: Scenes,
    land: LandDialog,
    pub(super) vary: VaryDialog,
    pub(super) playlist: ListDialog,
    /// Whether a file is asked for, for one of them: that is answered first.
    pub(super) asks_for_a_file: bool,
    map: WindMap,
}

impl Windows {
    /// Whether a window is open.
    pub fn has(&self, pane: Pane) -> bool {
        self.open.contains(&pane)
    }

    /// Whether one is open that Escape closes and that leaves what is pressed with Ctrl to the table of commands.
    pub fn is_open(&self) -> bool {
        [Pane::Help, Pane::About, Pane::Settings, Pane::Checks].into_iter().any(|pane| self.has(pane))
    }

    /// Opens a window, or closes it. It begins empty.
    pub fn toggle(&mut self, pane: Pane) {
        if self.has(pane) {
            self.open.retain(|open| *open != pane);
        } else {
            self.open.push(pane);
        }
        match pane {
            Pane::Palette => self.palette = Palette::default(),
            Pane::Scenes => self.scenes = Scenes::default(),
            Pane::WindMap => self.map = WindMap::default(),
            // What was set last is there the next time.
            Pane::Help | Pane::About | Pane::Settings | Pane::NewLand | Pane::Vary | Pane::Playlist | Pane::Checks => {}
        }
    }
}

/// Draws the windows that are open.
pub fn windows_ui(context: &egui::Context, state: &PanelState<'_>, windows: &mut Windows) -> Vec<Command> {
    let mut commands = Vec::new();
    let centred = |title: &str| style::dialog(title).max_height(context.content_rect().height() * 0.85);
    // The map may stay open beside the work.
    let last = windows.open.iter().rev().find(|pane| **pane != Pane::WindMap).copied();
    for pane in windows.open.clone() {
        let mut open = true;
        match pane {
            Pane::Palette => {
                let chosen = palette_ui(context, state, &mut windows.palette);
                open = chosen.is_none();
                commands.extend(chosen);
            }
            Pane::Scenes => {
                let chosen = scenes_ui(context, &mut windows.scenes, &mut open);
                open &= chosen.is_none();
                commands.extend(chosen);
            }
            Pane::NewLand => {
                let chosen = land_ui(context, &mut windows.land, &mut open);
                open &= chosen.is_none();
                commands.extend(chosen);
            }
            Pane::Vary => {
                let chosen = vary_ui(context, state, &mut windows.vary, &mut open);
                open &= chosen.is_none();
                commands.extend(chosen);
            }
            Pane::Playlist if windows.asks_for_a_file => continue,
            Pane::Playlist => {
                let chosen = playlist_ui(context, state, &mut windows.playlist, &mut open);
                let begins = |command: &Command| matches!(command.get(), Some(PresentCommand::Begin(..)));
                open &= !chosen.as_ref().is_some_and(begins);
                commands.extend(chosen);
            }
            Pane::Help => {
                centred("Keys and mouse").open(&mut open).show(context, |ui| {
                    access::take_keys(ui);
                    help_ui(ui);
                });
            }
            Pane::About => {
                let window = centred("About Thalweg").open(&mut open);
                window.show(context, |ui| {
                    access::take_keys(ui);
                    about_ui(ui, state, &mut commands);
                });
            }
            Pane::Settings => {
                let window = centred("Settings").open(&mut open);
                window.show(context, |ui| {
                    access::take_keys(ui);
                    egui::ScrollArea::vertical().show(ui, |ui| {
                        commands.extend(settings_ui(ui, state));
                        access::follow_focus(ui);
                    });
                });
            }
            Pane::Checks => {
                let window = centred("Check this machine").open(&mut open);
                window.show(context, |ui| {
                    access::take_keys(ui);
                    checks_ui(ui, state, &mut commands);
                });
            }
            Pane::WindMap => map_ui(context, state, &mut windows.map, &mut open),
        }
        // Escape closes the one that was opened last, and in a dialog what is smaller first; but the field of these two has the
        // keyboard always.
        let typed = matches!(pane, Pane::Palette | Pane::Scenes);
        let escapes =
            if typed { context.input(|input| input.key_pressed(Key::Escape)) } else { access::escapes(context) };
        if !open || (escapes && last == Some(pane) && !state.document.asks) {
            windows.toggle(pane);
        }
    }
    if state.document.asks {
        centred("Unsaved work").show(context, |ui| {
            access::hold_keys(ui);
            leave_ui(ui, state, &mut commands);
        });
    }
    commands
}

fn settings_ui(ui: &mut Ui, state: &PanelState<'_>) -> Vec<Command> {
    ui.set_width(style::SETTINGS_WIDTH);
    let settings = state.preferences.settings.resolved(state.preferences.software);
    let changes = group_ui(ui, ("settings", &settings), ("settings", &Settings::default()), false);
    let memory = [
        (
            "In use",
            format!("{} of {}", Budget::in_use(), Budget::present()),
            "All that the program has in use. Memory of the graphics driver is not counted.",
        ),
        (
            "Undo and timeline",
            memory_text(state),
            "A part of it. States along the run are thinned out before they take more.",
        ),
    ];
    ui.separator();
    ui.label(RichText::new("Memory").strong());
    egui::Grid::new("memory").num_columns(2).show(ui, |ui| {
        for (name, value, help) in memory {
            style::value_row(ui, name, value, help);
        }
    });
    if let Some(path) = settings_file() {
        ui.small(RichText::new(format!("Kept in {}.", path.display())).weak());
    }
    set("settings", changes)
}

/// Asks what is to become of unsaved work.
fn leave_ui(ui: &mut Ui, state: &PanelState<'_>, commands: &mut Vec<Command>) {
    let name = state.simulations.file.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    ui.label(format!(
        "{} has changes that are not saved.",
        name.as_deref().unwrap_or(&state.simulations.selected().title)
    ));
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        if ui.button("Save and quit").clicked() {
            commands.extend([FileCommand::QuitWhenSaved.into(), WindowCommand::Save.into()]);
        }
        if ui.button("Quit without saving").clicked() {
            commands.push(FileCommand::QuitUnsaved.into());
        }
        if ui.button("Cancel").clicked() || access::escapes_from(ui) {
            commands.push(FileCommand::Stay.into());
        }
    });
}

const MOUSE: [(&str, &str); 11] = [
    ("Right drag", "turns the view (other buttons: see settings)"),
    ("Middle drag", "shifts the view"),
    ("Wheel", "moves nearer or farther"),
    ("Left press, in Present or Learn", "rains on the land; with Shift dries it, with L lifts it, with K digs"),
    ("B, held", "shows how the run began"),
    ("Right click on a parameter", "opens its menu: reset, vary, reference; Delete on its field resets it"),
    ("Click on a number", "lets you type it; drag it to change it"),
    ("Tab, Shift+Tab", "go to the next field and back; arrows change it, Space and Enter press it"),
    ("F6, Shift+F6", "go to the next part of the window and back: menus, transport, timeline, tools, panels, land"),
    ("Esc", "leaves a field, so that letter keys give commands again"),
    ("Tab to the land", "arrow keys move a marker, with Shift finely; Space clicks or paints there"),
];

fn help_ui(ui: &mut Ui) {
    egui::ScrollArea::vertical().show(ui, |ui| {
        // Long sentences wrap, so that the window fits on a small screen.
        let widest = 0.36 * ui.ctx().content_rect().width();
        egui::Grid::new("keys").num_columns(3).spacing([18.0, 4.0]).show(ui, |ui| {
            let about = |ui: &mut Ui, text: &str| {
                ui.vertical(|ui| {
                    ui.set_width(widest);
                    ui.label(RichText::new(text).weak());
                });
            };
            for menu in menus() {
                for entry in table().iter().filter(|entry| entry.menu == menu && !entry.keys.is_empty()) {
                    ui.label(RichText::new(keys_text(ui.ctx(), entry)).strong());
                    ui.label(&entry.title);
                    about(ui, &entry.about);
                    ui.end_row();
                }
            }
            for (what, does) in MOUSE {
                ui.label(RichText::new(what).strong());
                ui.label("");
                about(ui, does);
                ui.end_row();
            }
        });
    });
}

fn about_ui(ui: &mut Ui, state: &PanelState<'_>, commands: &mut Vec<Command>) {
    ui.set_width(style::ABOUT_WIDTH);
    ui.heading(concat!("Thalweg ", env!("CARGO_PKG_VERSION")));
    ui.label("The line of lowest ground along a valley, and a sandbox that makes valleys.");
    ui.label(format!("Draws with {}.", state.adapter.as_ref().map_or("nothing", |adapter| &adapter.name)));
    ui.add_space(6.0);
    let folders = [
        ("Log and crash reports", Some(log_folder())),
        ("Settings", settings_file().and_then(|file| file.parent().map(ToOwned::to_owned))),
        ("Pictures", Some(picture_folder())),
    ];
    for (title, folder) in folders {
        let Some(folder) = folder else { continue };
        ui.label(RichText::new(title).strong());
        ui.horizontal_wrapped(|ui| {
            ui.monospace(folder.display().to_string());
            if ui.small_button("Open folder").clicked() {
                commands.push(FileCommand::OpenFolder(folder).into());
            }
        });
    }
    ui.add_space(6.0);
    let licences = "MIT or Apache-2.0. Elevation of the Jacksboro fault: US Geological Survey, public domain.";
    ui.small(RichText::new(licences).weak());
}
