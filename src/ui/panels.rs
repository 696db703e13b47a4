//! The list of panels, and how everything is arranged around the view.

use bevy_egui::egui::{self, RichText, Ui};

use super::{
    Kept, PanelState, access, brush, explain, follow, history, learn, ledger, look, mask,
    menu::menu_ui,
    overlay,
    panel::Panel,
    probes, process, range, rivers, run, section, seek, springs, statistics, style, terrain,
    timeline::{timeline_height, timeline_ui},
    tool_bar::tool_bar_ui,
    transport::{status_ui, transport_ui},
};
use crate::runtime::{Command, Workspace};

/// All panels, from the top.
pub const PANELS: [Panel; 19] = [
    run::PANEL,
    learn::PANEL,
    brush::PANEL,
    terrain::PANEL,
    range::PANEL,
    process::PANEL,
    springs::PANEL,
    mask::PANEL,
    overlay::PANEL,
    section::PANEL,
    probes::PANEL,
    explain::PANEL,
    follow::PANEL,
    rivers::PANEL,
    look::LIGHT,
    look::WATER,
    history::PANEL,
    ledger::PANEL,
    statistics::PANEL,
];

/// Panels that a lesson puts away: it has the sliders that it leaves to the student.
const NOT_IN_LESSONS: [Panel; 8] =
    [brush::PANEL, terrain::PANEL, range::PANEL, process::PANEL, springs::PANEL, mask::PANEL, look::LIGHT, look::WATER];

/// Whether a panel is seen now.
fn is_seen(panel: &Panel, state: &PanelState<'_>) -> bool {
    let teaches = *state.workspace == Workspace::Learn && state.course.attempt.is_some();
    panel.workspaces.contains(state.workspace.get())
        && !(teaches && NOT_IN_LESSONS.iter().any(|other| other.key == panel.key))
}

fn column_ui(ui: &mut Ui, state: &PanelState<'_>, memory: &mut Kept) -> Vec<Command> {
    let mut asked = Vec::new();
    egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(4.0);
        for panel in PANELS.iter().filter(|panel| is_seen(panel, state)) {
            if panel.title.is_empty() {
                asked.extend((panel.draw)(ui, state, memory));
                continue;
            }
            let unfolded = panel.unfolded.contains(state.workspace.get());
            // Each workspace and each lesson remembers what is folded in it.
            let lesson = state.course.attempt.as_ref().filter(|_| *state.workspace == Workspace::Learn);
            let unfolds = seek::unfolds(ui, panel.key);
            let shown = egui::CollapsingHeader::new(RichText::new(panel.title).heading())
                .id_salt((panel.key, unfolded, lesson.map(|attempt| &attempt.lesson.path)))
                .default_open(unfolded)
                // A panel of parameters is called like their group.
                .open((unfolds || seek::is_sought_in(ui, panel.key)).then_some(true))
                .show(ui, |ui| asked.extend((panel.draw)(ui, state, memory)));
            if unfolds {
                shown.header_response.scroll_to_me(Some(egui::Align::TOP));
            }
        }
        ui.add_space(12.0);
        access::follow_focus(ui);
    });
    asked
}

/// All panels around the view. Returns what is asked for, and the rectangle that is left for the view.
pub fn window_ui(root: &mut Ui, state: &PanelState<'_>, memory: &mut Kept) -> (Vec<Command>, egui::Rect) {
    let mut asked = Vec::new();
    egui::Panel::top("menu").show_inside(root, |ui| {
        access::begin_part(ui, "Menus");
        asked.extend(menu_ui(ui, state));
    });
    let bar = |name, height| egui::Panel::bottom(name).exact_size(height);
    bar("status", style::STATUS_HEIGHT).show_inside(root, |ui| status_ui(ui, state));
    bar("transport", style::TRANSPORT_HEIGHT).show_inside(root, |ui| {
        access::begin_part(ui, "Transport");
        asked.extend(transport_ui(ui, state));
    });
    bar("timeline", timeline_height(state)).show_inside(root, |ui| {
        access::begin_part(ui, "Timeline");
        asked.extend(timeline_ui(ui, state));
    });
    if *state.workspace == Workspace::Sculpt {
        egui::Panel::left("tools").exact_size(style::TOOL_BAR_WIDTH).resizable(false).show_inside(root, |ui| {
            access::begin_part(ui, "Tools");
            asked.extend(tool_bar_ui(ui, state, memory));
        });
    }
    // Never wider than leaves room for the view.
    let most = (root.available_width() * 0.6).max(style::LEAST_PANEL_WIDTH);
    egui::Panel::right("parameters")
        .default_size(style::PANEL_WIDTH.min(most))
        .max_size(most)
        .resizable(true)
        .show_inside(root, |ui| {
            access::begin_part(ui, "Panels");
            asked.extend(column_ui(ui, state, memory));
        });
    if let Some(edge) = root.ctx().read_response(egui::Id::new("parameters").with("__resize")) {
        access::name(&edge, "Width of the panels");
    }
    (asked, root.available_rect_before_wrap())
}
