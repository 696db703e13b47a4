//! Toolbar at the left: no brush, all brushes, spring and drain.

use bevy::prelude::*;
use bevy_egui::egui::{self, Color32, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{
    access,
    commands::CommandTable,
    placement::{Placement, PlacementKind},
    style::{self, ACCENT},
};
use crate::world::{AppCommand, BrushCommand, Brushes};
use thalweg_sim::edit::Tool;

pub fn tool_icon(tool: Tool) -> &'static str {
    match tool {
        Tool::Raise => icon::ARROW_FAT_UP,
        Tool::Lower => icon::ARROW_FAT_DOWN,
        Tool::Smooth => icon::WAVE_SINE,
        Tool::Flatten => icon::EQUALS,
        Tool::Noise => icon::SPARKLE,
        Tool::Slope => icon::TREND_UP,
        Tool::Terrace => icon::STAIRS,
        Tool::Stamp => icon::STAMP,
        Tool::Sand => icon::DOTS_NINE,
        Tool::Rain => icon::CLOUD_RAIN,
        Tool::Softness => icon::DIAMOND,
        Tool::Uplift => icon::MOUNTAINS,
        Tool::Mask => icon::SHIELD,
        Tool::Clone => icon::COPY,
        Tool::Erode => icon::DROP_HALF,
        Tool::Water => icon::PAINT_BUCKET,
    }
}

pub fn tool_bar_ui(
    InMut(ui): InMut<Ui>,
    brushes: Res<Brushes>,
    table: Res<CommandTable>,
    mut placement: ResMut<Placement>,
) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let held = brushes.active;
    let button = |ui: &mut Ui, icon: &str, name: &str, about: &str, on: bool| {
        let fill = if on { ACCENT.gamma_multiply(0.55) } else { Color32::TRANSPARENT };
        let text = RichText::new(icon).size(18.0);
        let button = egui::Button::new(text).fill(fill).min_size(egui::Vec2::splat(style::TOOL_BUTTON));
        let response = ui.add(button);
        response.widget_info(|| egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, on, name));
        response.on_hover_text(format!("{name}\n{about}")).clicked()
    };
    let hidden = egui::scroll_area::ScrollBarVisibility::AlwaysHidden;
    egui::ScrollArea::vertical().scroll_bar_visibility(hidden).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.add_space(4.0);
        let looks = held.is_none() && placement.kind.is_none();
        if button(ui, icon::CURSOR, "No brush", "Deselect the brush (Esc).", looks) {
            placement.begin(None);
            asked.push(BrushCommand::Activate(None).into());
        }
        ui.separator();
        for tool in Tool::ALL {
            let help = table.help(ui.ctx(), &BrushCommand::Activate(Some(tool)).into());
            let on = held == Some(tool);
            if button(ui, tool_icon(tool), tool.title(), &help, on) {
                placement.begin(None);
                asked.push(BrushCommand::Activate(if on { None } else { Some(tool) }).into());
            }
        }
        ui.separator();
        let sources =
            [(PlacementKind::Spring, icon::DROP, "Spring"), (PlacementKind::Drain, icon::DROP_SLASH, "Drain")];
        for (placed, icon, name) in sources {
            let on = placement.kind == Some(placed);
            if button(ui, icon, name, "Click on the terrain to place it. Drag to move it, click to adjust it.", on) {
                asked.push(placement.toggle(placed));
            }
        }
        access::follow_focus(ui);
    });
    asked
}
