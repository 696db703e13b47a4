//! Window with keyboard shortcuts and mouse controls.

use bevy::prelude::{App, InMut, Local, Res};
use bevy_egui::egui::{self, Key, RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, CommandTable, MENUS, MenuSection, NONE, format_shortcuts},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi, centred_dialog},
};
use crate::world::{AppCommand, FileCommand, WindowCommand};
use egui_phosphor::regular as icon;

const PANE: FloatingWindow = FloatingWindow { key: "help", kind: FloatingWindowKind::Modeless };

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Help", 10, commands).add_commands(
        "Help",
        30,
        reference_command,
    );
}

fn commands(table: &mut MenuSection) {
    let window = WindowCommand::Toggle;
    table
        .add(
            icon::QUESTION,
            "Keyboard and mouse",
            "Show all keyboard shortcuts and mouse controls.",
            &[(NONE, Key::F1)],
            window(PANE.key),
        )
        .set_aliases("shortcuts help hotkeys keys controls manual");
}

fn reference_command(table: &mut MenuSection) {
    let reference = "Open the reference of all processes, equations and parameters in the browser.";
    table
        .add(icon::BOOK_OPEN, "Reference", reference, &[], FileCommand::OpenReference(None))
        .set_aliases("manual documentation equations glossary parameters");
}

fn pane_ui(
    InMut(window): InMut<FloatingWindowUi>,
    table: Res<CommandTable>,
    mut sought: Local<String>,
) -> Vec<AppCommand> {
    if window.just_opened {
        sought.clear();
    }
    centred_dialog(&window.context, "Keyboard and mouse").open(&mut window.is_open).show(&window.context, |ui| {
        access::focus_first_field(ui);
        let field = egui::TextEdit::singleline(&mut *sought).hint_text("Search").desired_width(f32::INFINITY);
        let field = ui.add(field);
        access::name(&field, "Search keyboard and mouse");
        help_ui(ui, &table, &sought.to_lowercase());
    });
    Vec::new()
}

const MOUSE: [(&str, &str); 11] = [
    ("Right drag", "Orbit the camera; other buttons can be set in Settings"),
    ("Middle drag", "Pan the camera"),
    ("Wheel", "Zoom in or out"),
    ("Hold left (Present, Learn)", "Make it rain; Shift: remove water, L: raise, K: lower the terrain"),
    ("Hold B", "Show the initial state of the simulation"),
    ("Right-click a parameter", "Open its menu: reset, vary, reference; Delete resets it"),
    ("Click a number", "Type a value; drag to change it"),
    ("Tab, Shift+Tab", "Go to the next or previous field; arrows change it, Space activates it"),
    ("F6, Shift+F6", "Go to the next or previous region: menus, timeline, sidebar, viewport …"),
    ("Esc", "Leave a field, so that letter keys work as shortcuts"),
    ("Tab to the viewport", "Move a marker with the arrows (Shift: finely); Space clicks or paints"),
];

/// Draws the mouse controls and shortcuts that contain all words of the lower-case text `sought`.
fn help_ui(ui: &mut Ui, table: &CommandTable, sought: &str) {
    let mouse = MOUSE.map(|(control, about)| [control.to_owned(), String::new(), about.to_owned()]);
    let entries = MENUS.iter().flat_map(|menu| table.entries().filter(move |entry| entry.menu == *menu));
    let keys = entries
        .filter(|entry| !entry.shortcuts.is_empty())
        .map(|entry| [format_shortcuts(ui.ctx(), entry), entry.title.clone(), entry.about.clone()]);
    let is_sought = |row: &[String; 3]| {
        let text = row.join(" ").to_lowercase();
        sought.split_whitespace().all(|word| text.contains(word))
    };
    let rows: Vec<[String; 3]> = mouse.into_iter().chain(keys).filter(is_sought).collect();
    egui::ScrollArea::vertical().auto_shrink([true, false]).show(ui, |ui| {
        // Long sentences wrap, so that the window fits on a small screen.
        let widest = 0.3 * ui.ctx().content_rect().width();
        egui::Grid::new("keys").num_columns(3).spacing([18.0, 4.0]).show(ui, |ui| {
            for [keys, title, about] in &rows {
                ui.label(RichText::new(keys).strong());
                ui.label(title);
                ui.vertical(|ui| {
                    ui.set_width(widest);
                    ui.label(RichText::new(about).weak());
                });
                ui.end_row();
            }
        });
        if rows.is_empty() {
            ui.label(RichText::new("No matching key or mouse control.").weak());
        }
    });
}
