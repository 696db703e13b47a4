//! The bar at the left: no brush, every brush, spring and drain.

use bevy_egui::egui::{self, Color32, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{
    PanelState, commands,
    springs::{SourceKind, Springs},
    style::{self, ACCENT},
};
use crate::{
    runtime::{BrushCommand, Command},
    sim::edit::Tool,
};

/// Icon of a tool.
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
        Tool::Hardness => icon::DIAMOND,
        Tool::Mask => icon::SHIELD,
    }
}

/// Draws the bar.
pub fn tool_bar_ui(ui: &mut Ui, state: &PanelState<'_>, springs: &mut Springs) -> Vec<Command> {
    let mut asked = Vec::new();
    let held = state.brushes.held;
    let button = |ui: &mut Ui, icon: &str, name: &str, about: String, on: bool| {
        let fill = if on { ACCENT.gamma_multiply(0.55) } else { Color32::TRANSPARENT };
        let text = RichText::new(icon).size(18.0);
        let button = egui::Button::new(text).fill(fill).min_size(egui::Vec2::splat(style::TOOL_BUTTON));
        let response = ui.add(button);
        response.widget_info(|| egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, on, name));
        response.on_hover_text(format!("{name}\n{about}")).clicked()
    };
    egui::ScrollArea::vertical().scroll_bar_visibility(egui::scroll_area::ScrollBarVisibility::AlwaysHidden).show(
        ui,
        |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.add_space(4.0);
            let placing = springs.placing();
            let looks = held.is_none() && placing.is_none();
            if button(ui, icon::CURSOR, "Look", "No brush: the left button does nothing. (Esc)".to_owned(), looks) {
                springs.place(None);
                asked.push(BrushCommand::Hold(None).into());
            }
            ui.separator();
            for tool in Tool::ALL {
                let keys = commands::entry(&BrushCommand::Hold(Some(tool)).into())
                    .map(|entry| commands::keys_text(ui.ctx(), entry));
                let keys = keys.filter(|keys| !keys.is_empty()).map(|keys| format!(" ({keys})")).unwrap_or_default();
                let on = held == Some(tool);
                if button(ui, tool_icon(tool), tool.title(), format!("{}{keys}", tool.about()), on) {
                    springs.place(None);
                    asked.push(BrushCommand::Hold(if on { None } else { Some(tool) }).into());
                }
            }
            ui.separator();
            let sources = [(SourceKind::Spring, icon::DROP, "Spring"), (SourceKind::Drain, icon::DROP_SLASH, "Drain")];
            for (kind, icon, name) in sources {
                let on = placing == Some(kind);
                if button(
                    ui,
                    icon,
                    name,
                    "Placed with a click on the map, then dragged and tuned there.".to_owned(),
                    on,
                ) {
                    springs.place(if on { None } else { Some(kind) });
                    asked.push(BrushCommand::Hold(None).into());
                }
            }
        },
    );
    asked
}
