//! Windows over the view: palette, keys, about, settings.

use bevy_egui::egui::{self, Align2, Key, RichText, Ui};
use nucleo_matcher::{
    Config, Matcher,
    pattern::{CaseMatching, Normalization, Pattern},
};

use super::{
    State,
    commands::{Menu, keys_text, table},
    group::group_ui,
    wind::{WindMap, map_ui},
};
use crate::{
    runtime::Command,
    settings::{Settings, log_folder, picture_folder, settings_file},
};

/// Which windows are open, and what was typed into them.
#[derive(Default)]
pub struct Windows {
    /// The command palette.
    pub palette: bool,
    /// Keys and mouse.
    pub help: bool,
    /// About the program.
    pub about: bool,
    /// The settings.
    pub settings: bool,
    /// The map of the wind's ways.
    pub wind: bool,
    map: WindMap,
    typed: String,
    marked: usize,
    fresh: bool,
}

impl Windows {
    /// Whether one is open that Escape closes.
    pub fn is_open(&self) -> bool {
        self.help || self.about || self.settings
    }

    /// Opens or closes what a command says. True if the command was for a window.
    pub fn obey(&mut self, command: &Command) -> bool {
        let window = match command {
            Command::TogglePalette => {
                self.typed.clear();
                self.marked = 0;
                self.fresh = true;
                &mut self.palette
            }
            Command::ToggleHelp => &mut self.help,
            Command::ToggleAbout => &mut self.about,
            Command::ToggleSettings => &mut self.settings,
            Command::ToggleWindMap => &mut self.wind,
            _ => return false,
        };
        *window = !*window;
        true
    }
}

/// Draws the windows that are open.
pub fn windows_ui(context: &egui::Context, state: &State<'_>, windows: &mut Windows) -> Vec<Command> {
    let mut commands = Vec::new();
    if windows.palette {
        palette_ui(context, windows, &mut commands);
    }
    let centred = |title: &str| {
        egui::Window::new(title.to_owned())
            .collapsible(false)
            .resizable(false)
            .anchor(Align2::CENTER_CENTER, [0.0, 0.0])
            .max_height(context.content_rect().height() * 0.85)
    };
    centred("Keys and mouse").open(&mut windows.help).show(context, help_ui);
    centred("About Thalweg").open(&mut windows.about).show(context, |ui| about_ui(ui, state, &mut commands));
    centred("Settings").open(&mut windows.settings).show(context, |ui| {
        ui.set_width(360.0);
        let settings = state.preferences.settings.resolved(state.preferences.software);
        let changes = group_ui(ui, ("settings", &settings), ("settings", &Settings::default()), false);
        commands.extend(changes.into_iter().map(|(name, value)| Command::Set("settings".to_owned(), name, value)));
        if let Some(path) = settings_file() {
            ui.small(RichText::new(format!("Kept in {}.", path.display())).weak());
        }
    });
    if state.document.asks {
        centred("Unsaved work").show(context, |ui| leave_ui(ui, state, &mut commands));
    }
    map_ui(context, state, &mut windows.map, &mut windows.wind);
    if context.input(|input| input.key_pressed(Key::Escape)) {
        (windows.palette, windows.help, windows.about, windows.settings) = (false, false, false, false);
    }
    commands
}

/// Asks what is to become of unsaved work.
fn leave_ui(ui: &mut Ui, state: &State<'_>, commands: &mut Vec<Command>) {
    let name = state.live.file.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    ui.label(format!("{} has changes that are not saved.", name.as_deref().unwrap_or(&state.live.chosen().title)));
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        if ui.button("Save and quit").clicked() {
            commands.extend([Command::SaveAndQuit, Command::Save]);
        }
        if ui.button("Quit without saving").clicked() {
            commands.push(Command::QuitUnsaved);
        }
        if ui.button("Cancel").clicked() || ui.input(|input| input.key_pressed(Key::Escape)) {
            commands.push(Command::Stay);
        }
    });
}

fn palette_ui(context: &egui::Context, windows: &mut Windows, commands: &mut Vec<Command>) {
    let pattern = Pattern::parse(&windows.typed, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut letters = Vec::new();
    let mut found: Vec<_> = table()
        .iter()
        .filter_map(|entry| {
            let text = format!("{} {}", entry.menu.title(), entry.title);
            let text = nucleo_matcher::Utf32Str::new(&text, &mut letters);
            Some((pattern.score(text, &mut matcher)?, entry))
        })
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let mut open = true;
    egui::Window::new("Command palette")
        .title_bar(false)
        .resizable(false)
        .anchor(Align2::CENTER_TOP, [0.0, 60.0])
        .fixed_size([440.0, 320.0])
        .show(context, |ui| {
            let field = egui::TextEdit::singleline(&mut windows.typed)
                .hint_text("What do you want to do?")
                .desired_width(f32::INFINITY)
                .lock_focus(true);
            let field = ui.add(field);
            if std::mem::take(&mut windows.fresh) {
                field.request_focus();
            }
            if field.changed() {
                windows.marked = 0;
            }
            let step = ui.input(|input| {
                i32::from(input.key_pressed(Key::ArrowDown)) - i32::from(input.key_pressed(Key::ArrowUp))
            });
            let last = found.len().saturating_sub(1);
            windows.marked = windows.marked.saturating_add_signed(step as isize).min(last);
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                for (index, (_, entry)) in found.iter().enumerate() {
                    let row = ui.horizontal(|ui| {
                        ui.set_width(ui.available_width());
                        let text = format!("{}  {} · {}", entry.icon, entry.menu.title(), entry.title);
                        let row = ui.selectable_label(index == windows.marked, text);
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            ui.label(RichText::new(keys_text(ui.ctx(), entry)).weak().small());
                        });
                        row
                    });
                    if step != 0 && index == windows.marked {
                        row.response.scroll_to_me(None);
                    }
                    if row.inner.on_hover_text(&entry.about).clicked() {
                        commands.push(entry.command.clone());
                        open = false;
                    }
                }
                if found.is_empty() {
                    ui.label(RichText::new("No command has these letters in its name.").weak());
                }
            });
            if ui.input(|input| input.key_pressed(Key::Enter))
                && let Some((_, entry)) = found.get(windows.marked)
            {
                commands.push(entry.command.clone());
                open = false;
            }
        });
    windows.palette &= open;
}

const MOUSE: [(&str, &str); 7] = [
    ("Right drag", "turns the view (other buttons: see settings)"),
    ("Middle drag", "shifts the view"),
    ("Wheel", "moves nearer or farther"),
    ("B, held", "shows how the run began"),
    ("Right click on a parameter", "resets it"),
    ("Click on a number", "lets you type it; drag it to change it"),
    ("Tab", "goes to the next field; arrows change it"),
];

fn help_ui(ui: &mut Ui) {
    egui::ScrollArea::vertical().show(ui, |ui| {
        egui::Grid::new("keys").num_columns(3).spacing([18.0, 4.0]).show(ui, |ui| {
            for menu in Menu::ALL {
                for entry in table().iter().filter(|entry| entry.menu == menu && !entry.keys.is_empty()) {
                    ui.label(RichText::new(keys_text(ui.ctx(), entry)).strong());
                    ui.label(&entry.title);
                    ui.label(RichText::new(&entry.about).weak());
                    ui.end_row();
                }
            }
            for (what, does) in MOUSE {
                ui.label(RichText::new(what).strong());
                ui.label("");
                ui.label(RichText::new(does).weak());
                ui.end_row();
            }
        });
    });
}

fn about_ui(ui: &mut Ui, state: &State<'_>, commands: &mut Vec<Command>) {
    ui.set_width(420.0);
    ui.heading(concat!("Thalweg ", env!("CARGO_PKG_VERSION")));
    ui.label("The line of lowest ground along a valley, and a sandbox that makes valleys.");
    ui.label(format!("Draws with {}.", state.adapter));
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
                commands.push(Command::OpenFolder(folder));
            }
        });
    }
    ui.add_space(6.0);
    ui.small(
        RichText::new("MIT or Apache-2.0. Elevation of the Jacksboro fault: US Geological Survey, public domain.")
            .weak(),
    );
}
