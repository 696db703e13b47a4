//! Layout of bars and sidebar around the view.

use std::path::PathBuf;

use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};

use super::{
    access,
    menu::menu_ui,
    navigate,
    panel::{Sidebar, SidebarPanel, UiSystem, draw_part, draw_with},
    style,
    timeline::{timeline_height, timeline_ui},
    tool_bar::tool_bar_ui,
    transport::{status_ui, transport_ui},
};
use crate::world::{AppCommand, CurrentLesson, History, Simulations, Workspace};

/// Panels of a column, with the systems that draw them.
type Panels = Vec<(SidebarPanel, UiSystem)>;

/// Returns the visible panels of the column left of the view, and those of the sidebar. Each workspace and each lesson remembers its
/// collapsed panels under the name that is returned too.
fn visible_panels(world: &World) -> ([Panels; 2], (Workspace, Option<PathBuf>)) {
    let workspace = *world.resource::<State<Workspace>>().get();
    let lesson = world.get_resource::<CurrentLesson>().filter(|_| workspace == Workspace::Learn);
    let lesson = lesson.map(|lesson| lesson.attempt.lesson.path.clone());
    let mut columns = world.resource::<Sidebar>().systems();
    for panels in &mut columns {
        panels.retain(|(panel, _)| panel.workspaces.contains(&workspace) && (panel.in_lessons || lesson.is_none()));
    }
    (columns, (workspace, lesson))
}

/// Draws the panels of a column.
fn column_ui(ui: &mut Ui, world: &mut World, panels: Panels, place: &(Workspace, Option<PathBuf>)) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let (workspace, lesson) = place;
    let mut drawn = Vec::new();
    let scrolls_sideways = ui.available_width() >= style::FIXED_COLUMN_WIDTH;
    egui::ScrollArea::new([scrolls_sideways, true]).auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(4.0);
        for (panel, system) in panels {
            let mut content_ui = |ui: &mut Ui| {
                drawn.push(panel.key);
                asked.extend(draw_with(world, system, ui));
            };
            if panel.title.is_empty() {
                content_ui(ui);
                continue;
            }
            let unfolded = panel.unfolded.contains(workspace);
            let unfolds = navigate::take_expansion(ui, panel.key);
            let shown = egui::CollapsingHeader::new(RichText::new(panel.title).heading())
                .id_salt((panel.key, unfolded, lesson))
                .default_open(unfolded)
                // The key of a parameter panel is that of its group.
                .open((unfolds || navigate::has_navigation_target(ui, panel.key)).then_some(true))
                .show(ui, content_ui);
            if unfolds {
                shown.header_response.scroll_to_me(Some(egui::Align::TOP));
            }
        }
        ui.add_space(12.0);
        access::follow_focus(ui);
    });
    world.resource_mut::<Sidebar>().drawn.extend(drawn);
    asked
}

/// Draws all panels around the view. Returns their commands and the rectangle left for the view.
pub fn window_ui(root: &mut Ui, world: &mut World) -> (Vec<AppCommand>, egui::Rect) {
    let mut asked = Vec::new();
    egui::Panel::top("menu").show_inside(root, |ui| {
        access::begin_region(ui, "Menu bar");
        asked.extend(draw_part(world, menu_ui, ui));
    });
    let bar = |name, height| egui::Panel::bottom(name).exact_size(height);
    bar("status", style::STATUS_HEIGHT).show_inside(root, |ui| {
        draw_part(world, status_ui, ui);
    });
    bar("transport", style::TRANSPORT_HEIGHT).show_inside(root, |ui| {
        access::begin_region(ui, "Transport");
        asked.extend(draw_part(world, transport_ui, ui));
    });
    let height = timeline_height(world.resource::<Simulations>(), world.resource::<History>());
    bar("timeline", height).show_inside(root, |ui| {
        access::begin_region(ui, "Timeline");
        asked.extend(draw_part(world, timeline_ui, ui));
    });
    if *world.resource::<State<Workspace>>() == Workspace::Sculpt {
        egui::Panel::left("tools").exact_size(style::TOOL_BAR_WIDTH).resizable(false).show_inside(root, |ui| {
            access::begin_region(ui, "Toolbar");
            asked.extend(draw_part(world, tool_bar_ui, ui));
        });
    }
    world.resource_mut::<Sidebar>().drawn.clear();
    let ([mut left, mut right], place) = visible_panels(world);
    if root.available_width() < style::TWO_COLUMNS_WIDTH {
        left.append(&mut right);
        (left, right) = (Vec::new(), left);
    }
    if !left.is_empty() {
        egui::Panel::left("left-column")
            .default_size(style::PANEL_WIDTH)
            .max_size(root.available_width() * 0.4)
            .resizable(true)
            .show_inside(root, |ui| {
                access::begin_region(ui, "Left column");
                asked.extend(column_ui(ui, world, left, &place));
            });
    }
    // Leaves room for the view.
    let most = (root.available_width() * 0.6).max(style::MIN_PANEL_WIDTH);
    egui::Panel::right("parameters")
        .default_size(style::SIDEBAR_WIDTH.min(most))
        .max_size(most)
        .resizable(true)
        .show_inside(root, |ui| {
            access::begin_region(ui, "Sidebar");
            asked.extend(column_ui(ui, world, right, &place));
        });
    for (panel, name) in [("parameters", "Sidebar width"), ("left-column", "Left column width")] {
        if let Some(edge) = root.ctx().read_response(egui::Id::new(panel).with("__resize")) {
            access::name(&edge, name);
        }
    }
    (asked, root.available_rect_before_wrap())
}
