//! Window with the checks of this machine: measured and expected values.

use bevy::prelude::{App, InMut, Res};
use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{CheckCommand, CheckResults};
use crate::shell::{
    access,
    commands::{AddCommands, MenuSection},
    file_request::FileRequest,
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi, centred_dialog},
    style,
};
use crate::world::{AppCommand, WindowCommand};
use thalweg_scene::model::chart::format_number;
use thalweg_sim::simulation::check::CHECKS;

const PANE: FloatingWindow = FloatingWindow { key: "checks", kind: FloatingWindowKind::Modeless };

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Help", 40, commands);
}

fn commands(table: &mut MenuSection) {
    let window = WindowCommand::Toggle;
    let check = "Check the simulation on this machine against exact solutions.";
    table
        .add(icon::CHECK_SQUARE, "Check this machine…", check, &[], window(PANE.key))
        .set_aliases("self test verify validation benchmark");
}

fn pane_ui(InMut(window): InMut<FloatingWindowUi>, checkup: Res<CheckResults>) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    centred_dialog(&window.context, "Check this machine").open(&mut window.is_open).show(&window.context, |ui| {
        access::focus_first_field(ui);
        checks_ui(ui, &checkup, &mut commands);
    });
    commands
}

/// Draws the results, and the buttons that run the checks and save them.
fn checks_ui(ui: &mut Ui, checkup: &CheckResults, commands: &mut Vec<AppCommand>) {
    ui.set_width(style::CHECKS_WIDTH);
    ui.label("Each check simulates a case on this machine and compares it with its exact solution.");
    ui.add_space(4.0);
    egui::Grid::new("checks").num_columns(5).min_col_width(0.0).spacing([14.0, 4.0]).striped(true).show(ui, |ui| {
        for title in ["", "Check", "Measured", "Expected", "Tolerance"] {
            ui.label(RichText::new(title).weak());
        }
        ui.end_row();
        for (place, check) in CHECKS.iter().enumerate() {
            let found = checkup.found.get(place);
            let (sign, name) = match found {
                Some(found) if found.holds() => (RichText::new(icon::CHECK).color(style::ACCENT), "passed"),
                Some(_) => (RichText::new(icon::X).color(style::ERROR), "failed"),
                None => (RichText::new(""), "not run yet"),
            };
            if checkup.is_running() && place == checkup.found.len() {
                ui.spinner();
            } else {
                access::name(&ui.label(sign), name);
            }
            ui.label(check.title).on_hover_text(check.about);
            let measured = found.map_or(String::new(), |found| format_number(found.measured));
            for text in [measured, format_number(check.expected), format_number(check.within)] {
                ui.label(RichText::new(text).monospace());
            }
            ui.end_row();
        }
    });
    let failed = checkup.found.iter().filter(|found| !found.holds()).count();
    if checkup.found.len() == CHECKS.len() {
        let (text, color) = match failed {
            0 => ("All checks passed on this machine.".to_owned(), style::ACCENT),
            failed => {
                let all = checkup.found.len();
                (
                    format!("{failed} of {all} checks failed. Save the results and report them to the developers."),
                    style::ERROR,
                )
            }
        };
        ui.label(RichText::new(text).color(color));
    }
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let text = if checkup.is_running() { "Checking…" } else { "Check now" };
        if ui.add_enabled(!checkup.is_running(), egui::Button::new(text)).clicked() {
            commands.push(CheckCommand::Run.into());
        }
        let save = egui::Button::new("Save…");
        if ui.add_enabled(!checkup.found.is_empty() && !checkup.is_running(), save).clicked() {
            commands.push(
                FileRequest::save("Save check results", "checks", [("Text".to_owned(), "txt")], CheckCommand::Save)
                    .into(),
            );
        }
    });
}
