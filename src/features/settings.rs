//! Settings window.

use bevy::prelude::{App, InMut, Res};
use bevy_egui::egui::{self, Key, RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, CTRL, MenuSection},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi, centred_dialog},
    group::{group_ui, set},
    style,
};
use crate::world::{AppCommand, History, Preferences, WindowCommand};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::Budget,
    settings::{Settings, settings_file},
};

const PANE: FloatingWindow = FloatingWindow { key: "settings", kind: FloatingWindowKind::Modeless };

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("File", 30, commands);
}

fn commands(table: &mut MenuSection) {
    let settings = WindowCommand::Toggle(PANE.key);
    table
        .add(
            icon::GEAR,
            "Settings…",
            "Configure panels, mouse, quality, memory and autosave.",
            &[(CTRL, Key::Comma)],
            settings,
        )
        .set_aliases("preferences options theme dark light quality memory autosave scale zoom");
}

fn pane_ui(
    InMut(window): InMut<FloatingWindowUi>,
    preferences: Res<Preferences>,
    history: Res<History>,
) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    centred_dialog(&window.context, "Settings").open(&mut window.is_open).show(&window.context, |ui| {
        access::focus_first_field(ui);
        egui::ScrollArea::vertical().show(ui, |ui| {
            asked = settings_ui(ui, &preferences, &history);
            access::follow_focus(ui);
        });
    });
    asked
}

fn settings_ui(ui: &mut Ui, preferences: &Preferences, history: &History) -> Vec<AppCommand> {
    ui.set_width(style::SETTINGS_WIDTH);
    let settings = preferences.settings.resolved(preferences.software);
    let changes = group_ui(ui, ("settings", &settings), ("settings", &Settings::default()), false);
    let memory = [
        (
            "In use",
            format!("{} of {}", Budget::in_use(), Budget::present()),
            "Total memory used by the program, excluding that of the graphics driver.",
        ),
        (
            "Undo and timeline",
            history.memory_text(preferences),
            "Part of the total. Stored states of the simulation are thinned out to stay within the limit.",
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
        ui.small(RichText::new(format!("Saved in {}.", path.display())).weak());
    }
    set("settings", changes)
}
