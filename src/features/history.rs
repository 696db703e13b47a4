//! History panel.

use bevy::prelude::*;
use bevy_egui::egui::{self, Key, RichText, Ui};
use egui_phosphor::regular as icon;

use crate::shell::{
    access,
    commands::{AddCommands, CTRL, MenuSection, SHIFT_CTRL},
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style,
};
use crate::world::{AppCommand, EditCommand, History, HistoryCommand, HistoryRow, Preferences};
use thalweg_sim::params::capital;

/// Lists all undo steps and the states where branches start and end, to return to any of them.
const PANEL: SidebarPanel =
    SidebarPanel { key: "history", title: "History", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("Edit", 10, commands);
}

fn commands(table: &mut MenuSection) {
    table
        .add(icon::ARROW_U_UP_LEFT, "Undo", "Undo the last step.", &[(CTRL, Key::Z)], EditCommand::Undo)
        .set_aliases("back revert");
    let redo = [(SHIFT_CTRL, Key::Z), (CTRL, Key::Y)];
    table
        .add(icon::ARROW_U_UP_RIGHT, "Redo", "Redo the last undone step.", &redo, EditCommand::Redo)
        .set_aliases("again forward");
}

fn panel_ui(InMut(ui): InMut<Ui>, history: Res<History>, preferences: Res<Preferences>) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let list = egui::ScrollArea::vertical()
        .id_salt("history")
        .max_height(style::LIST_HEIGHT)
        .min_scrolled_height(style::LIST_HEIGHT);
    list.stick_to_bottom(true).show(ui, |ui| {
        for HistoryRow { mark, label, is_applied: holds } in history.rows() {
            let here = history.here() == Some(mark.id);
            let tick = format!("Tick {}", mark.tick);
            let text = label.map_or_else(|| tick.clone(), |label| capital(&label.to_string()));
            let help = if label.is_some() { format!("{text}\n{tick}") } else { tick };
            let text = RichText::new(text);
            ui.horizontal(|ui| {
                ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Truncate);
                ui.add_space(style::BRANCH_INDENT * mark.branch as f32);
                let row = access::choice(ui, here, if holds { text } else { text.weak() });
                if row.on_hover_text(help).clicked() {
                    asked.push(HistoryCommand::GoTo(mark.id).into());
                }
            });
        }
    });
    let text = history.memory_text(&preferences);
    ui.label(RichText::new(text).small().weak()).on_hover_text(
        "Memory used by undo and the timeline. At the limit, stored states of the simulation are thinned out and the oldest \
            steps are removed. Change the limit in Settings.",
    );
    asked
}
