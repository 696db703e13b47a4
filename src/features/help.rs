//! The pane of keys and mouse.

use bevy::prelude::{App, InMut, Res};
use bevy_egui::egui::{self, Key, RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, CommandTable, MENUS, MenuPart, NONE, keys_text},
    panes::{AddPane, Pane, PaneKind, PaneUi, centred},
};
use crate::world::{Command, FileCommand, WindowCommand};
use egui_phosphor::regular as icon;

const PANE: Pane = Pane { key: "help", kind: PaneKind::Reading };

pub(super) fn plugin(app: &mut App) {
    app.add_pane(PANE, pane_ui).add_commands("Help", 10, commands).add_commands("Help", 30, reference_command);
}

fn commands(table: &mut MenuPart) {
    let pane = WindowCommand::Toggle;
    table
        .add(icon::QUESTION, "Keys and mouse", "What each key does.", &[(NONE, Key::F1)], pane(PANE.key))
        .known_as("shortcuts help hotkeys keyboard controls manual");
}

fn reference_command(table: &mut MenuPart) {
    let reference = "Shows all processes with their equations, and all parameters, in your browser.";
    table
        .add(icon::BOOK_OPEN, "Reference", reference, &[], FileCommand::OpenReference(None))
        .known_as("manual documentation equations glossary parameters");
}

fn pane_ui(InMut(pane): InMut<PaneUi>, table: Res<CommandTable>) -> Vec<Command> {
    centred(&pane.context, "Keys and mouse").open(&mut pane.is_open).show(&pane.context, |ui| {
        access::take_keys(ui);
        help_ui(ui, &table);
    });
    Vec::new()
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

fn help_ui(ui: &mut Ui, table: &CommandTable) {
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
            for menu in MENUS {
                for entry in table.entries().filter(|entry| entry.menu == menu && !entry.keys.is_empty()) {
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
