//! Menu bar, built from the command table, with the workspace tabs at its right end.

use std::path::PathBuf;

use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_egui::egui::{self, Ui};
use egui_phosphor::regular as icon;

use super::{
    access,
    commands::{AddCommands, CommandEntry, CommandTable, MENUS, MenuSection, format_shortcuts},
    files::open_request,
    style,
};
use crate::world::{AppCommand, EditCommand, FileCommand, History, OpenWorkspace, Preferences, Workspace};
use thalweg_scene::model::origin::Options;

/// Parameters of the menu bar system.
#[derive(SystemParam)]
pub struct MenuBarParams<'w> {
    table: Res<'w, CommandTable>,
    workspace: Res<'w, State<Workspace>>,
    history: Res<'w, History>,
    preferences: Res<'w, Preferences>,
}

pub(crate) fn plugin(app: &mut App) {
    app.add_commands("View", 90, commands);
}

fn commands(table: &mut MenuSection) {
    table.add(icon::SLIDERS, "-Sculpt workspace", "Show all tools and panels.", &[], OpenWorkspace(Workspace::Sculpt));
    let learn = "Follow the processes step by step, with fewer sliders, more charts and a lower speed.";
    table.add(icon::GRADUATION_CAP, "Learn workspace", learn, &[], OpenWorkspace(Workspace::Learn));
    let present = OpenWorkspace(Workspace::Present);
    table
        .add(
            icon::PRESENTATION,
            "Present workspace",
            "Show only the viewport and the sliders of the scene. Click and hold on the terrain to make it rain there.",
            &[],
            present,
        )
        .set_aliases("presentation slideshow");
}

pub fn menu_ui(InMut(ui): InMut<Ui>, state: MenuBarParams) -> Vec<AppCommand> {
    let state = &state;
    let mut commands = Vec::new();
    egui::MenuBar::new().ui(ui, |ui| {
        for menu in MENUS {
            ui.menu_button(menu, |ui| {
                let entries: Vec<&CommandEntry> = state.table.entries().filter(|entry| entry.menu == menu).collect();
                // Entries of a group form a submenu.
                scrolled_ui(ui, |ui| {
                    for part in entries.chunk_by(|one, other| one.submenu == other.submenu) {
                        match part[0].submenu {
                            Some(group) => {
                                let title = format!("{}  {group}", part[0].icon);
                                ui.menu_button(title, |ui| {
                                    scrolled_ui(ui, |ui| entries_ui(ui, part, state, &mut commands));
                                });
                            }
                            None => entries_ui(ui, part, state, &mut commands),
                        }
                    }
                });
            });
        }
        // A narrow window lists the workspaces in the View menu only.
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
                if access::choice(ui, *state.workspace == workspace, format!("{icon} {title}")).clicked() {
                    commands.push(OpenWorkspace(workspace).into());
                }
            }
        });
    });
    commands
}

/// Draws a menu that scrolls if it is taller than the window.
fn scrolled_ui(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    let window = ui.ctx().content_rect();
    // Its position is unknown when it is drawn for the first time.
    let height = window.height() - style::MENU_MARGIN;
    ui.set_max_height(height);
    egui::ScrollArea::vertical().show(ui, |ui| {
        ui.set_min_width(style::MENU_WIDTH);
        access::begin_list(ui);
        contents(ui);
        access::follow_focus(ui);
    });
}

fn entries_ui(ui: &mut Ui, entries: &[&CommandEntry], state: &MenuBarParams<'_>, commands: &mut Vec<AppCommand>) {
    let open = open_request();
    for entry in entries {
        if entry.divided {
            ui.separator();
        }
        let (undo, redo) = state.history.next();
        let (title, enabled) = match entry.command.get() {
            Some(command @ (EditCommand::Undo | EditCommand::Redo)) => {
                match if *command == EditCommand::Undo { undo } else { redo } {
                    Some(step) => (format!("{}: {step}", entry.title), true),
                    None => (entry.title.clone(), false),
                }
            }
            _ => (entry.title.clone(), true),
        };
        let text = format!("{}  {title}", entry.icon);
        let button = egui::Button::new(text).shortcut_text(format_shortcuts(ui.ctx(), entry));
        if ui.add_enabled(enabled, button).on_hover_text(&entry.about).clicked() {
            commands.push(entry.command.clone());
            ui.close();
        }
        if entry.command == open {
            commands.extend(recent_ui(ui, &state.preferences.remembered.recent));
        }
    }
}

fn recent_ui(ui: &mut Ui, recent: &[PathBuf]) -> Option<AppCommand> {
    let mut asked = None;
    ui.add_enabled_ui(!recent.is_empty(), |ui| {
        ui.menu_button(format!("{}  Open recent", icon::CLOCK_COUNTER_CLOCKWISE), |ui| {
            for path in recent {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                if ui.button(name).on_hover_text(path.display().to_string()).clicked() {
                    asked = Some(FileCommand::Open(path.clone(), Options::default()).into());
                    ui.close();
                }
            }
        });
    });
    asked
}
