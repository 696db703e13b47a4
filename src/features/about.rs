//! "About Thalweg" window: version, graphics adapter and file locations.

use bevy::{
    prelude::{App, InMut, Res},
    render::renderer::RenderAdapterInfo,
};
use bevy_egui::egui::{RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, MenuSection},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi, centred_dialog},
    style,
};
use crate::world::{AppCommand, FileCommand, WindowCommand};
use egui_phosphor::regular as icon;
use thalweg_scene::settings::{log_folder, screenshot_folder, settings_file};

const PANE: FloatingWindow = FloatingWindow { key: "about", kind: FloatingWindowKind::Modeless };

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Help", 50, commands);
}

fn commands(table: &mut MenuSection) {
    let window = WindowCommand::Toggle;
    let about = "Show the version, the graphics adapter and the file locations.";
    table.add(icon::INFO, "About Thalweg", about, &[], window(PANE.key));
}

fn pane_ui(InMut(window): InMut<FloatingWindowUi>, adapter: Option<Res<RenderAdapterInfo>>) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    centred_dialog(&window.context, "About Thalweg").open(&mut window.is_open).show(&window.context, |ui| {
        access::focus_first_field(ui);
        about_ui(ui, adapter.as_deref(), &mut commands);
    });
    commands
}

fn about_ui(ui: &mut Ui, adapter: Option<&RenderAdapterInfo>, commands: &mut Vec<AppCommand>) {
    ui.set_width(style::ABOUT_WIDTH);
    ui.heading(concat!("Thalweg ", env!("CARGO_PKG_VERSION")));
    ui.label("Terrain-erosion sandbox. A thalweg is the line of lowest elevation along a valley.");
    ui.label(format!("Graphics adapter: {}", adapter.map_or("none", |adapter| &adapter.name)));
    ui.add_space(6.0);
    let folders = [
        ("Log and crash reports", Some(log_folder())),
        ("Settings", settings_file().and_then(|file| file.parent().map(ToOwned::to_owned))),
        ("Screenshots and videos", Some(screenshot_folder())),
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
    let licences = "MIT or Apache-2.0. Elevation data of the Jacksboro fault: US Geological Survey, public domain.";
    ui.small(RichText::new(licences).weak());
}
