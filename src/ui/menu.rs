//! The menu bar, made from the table of commands, with the workspaces at its right.

use std::path::PathBuf;

use bevy_egui::egui::{self, Ui};
use egui_phosphor::regular as icon;

use super::{
    PanelState,
    commands::{keys_text, menus, table},
    style,
};
use crate::{
    model::origin::Options,
    runtime::{Command, Dialog, EditCommand, FileCommand, ShowCommand, WindowCommand, Workspace},
};

pub fn menu_ui(ui: &mut Ui, state: &PanelState<'_>) -> Vec<Command> {
    let mut commands = Vec::new();
    egui::MenuBar::new().ui(ui, |ui| {
        for menu in menus() {
            ui.menu_button(menu, |ui| {
                ui.set_min_width(style::MENU_WIDTH);
                for entry in table().iter().filter(|entry| entry.menu == menu) {
                    if entry.divided {
                        ui.separator();
                    }
                    let (undo, redo) = state.history.next();
                    let (title, enabled) = match (&entry.command, undo, redo) {
                        (Command::Edit(EditCommand::Undo), Some(step), _)
                        | (Command::Edit(EditCommand::Redo), _, Some(step)) => {
                            (format!("{}: {step}", entry.title), true)
                        }
                        (Command::Edit(EditCommand::Undo | EditCommand::Redo), ..) => (entry.title.clone(), false),
                        _ => (entry.title.clone(), true),
                    };
                    let text = format!("{}  {title}", entry.icon);
                    let button = egui::Button::new(text).shortcut_text(keys_text(ui.ctx(), entry));
                    if ui.add_enabled(enabled, button).on_hover_text(&entry.about).clicked() {
                        commands.push(entry.command.clone());
                        ui.close();
                    }
                    if entry.command == WindowCommand::Ask(Dialog::Open) {
                        commands.extend(recent_ui(ui, &state.preferences.remembered.recent));
                    }
                }
            });
        }
        // In a narrow window they are in the menu alone.
        if ui.available_width() < style::WORKSPACES_WIDTH {
            return;
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let workspaces = [
                (Workspace::Present, icon::PRESENTATION, "Present"),
                (Workspace::Learn, icon::GRADUATION_CAP, "Learn"),
                (Workspace::Sculpt, icon::SLIDERS, "Sculpt"),
            ];
            for (workspace, icon, title) in workspaces {
                if ui.selectable_label(*state.workspace == workspace, format!("{icon} {title}")).clicked() {
                    commands.push(ShowCommand::Workspace(workspace).into());
                }
            }
        });
    });
    commands
}

fn recent_ui(ui: &mut Ui, recent: &[PathBuf]) -> Option<Command> {
    let mut asked = None;
    ui.add_enabled_ui(!recent.is_empty(), |ui| {
        ui.menu_button(format!("{}  Open recent", icon::CLOCK_COUNTER_CLOCKWISE), |ui| {
            for path in recent {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                if ui.button(name).on_hover_text(path.display().to_string()).clicked() {
                    asked = Some(FileCommand::Open(path.display().to_string(), Options::default()).into());
                    ui.close();
                }
            }
        });
    });
    asked
}
