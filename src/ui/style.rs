//! Colours, spacing and type of the panels, in one place.

use bevy_egui::egui::{self, Color32, CornerRadius, FontFamily, FontId, Stroke, TextStyle};

/// Width of the parameter panel, in points.
pub const PANEL_WIDTH: f32 = 300.0;
/// Width of a parameter's name, in points.
pub const NAME_WIDTH: f32 = 124.0;
/// The colour of what is on or chosen.
pub const ACCENT: Color32 = Color32::from_rgb(96, 176, 132);
/// Panels behind text.
const PANEL: Color32 = Color32::from_rgb(27, 30, 34);
/// Fields and sliders.
const FIELD: Color32 = Color32::from_rgb(42, 47, 53);
/// Text.
const TEXT: Color32 = Color32::from_rgb(214, 218, 222);

/// Dark, calm, with enough air.
pub fn apply(context: &egui::Context) {
    context.set_theme(egui::Theme::Dark);
    context.all_styles_mut(|style| {
        style.spacing.item_spacing = egui::vec2(8.0, 6.0);
        style.spacing.button_padding = egui::vec2(8.0, 4.0);
        style.spacing.slider_width = 88.0;
        style.text_styles = [
            (TextStyle::Heading, FontId::new(15.0, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Small, FontId::new(11.0, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
        ]
        .into();
        let visuals = &mut style.visuals;
        visuals.panel_fill = PANEL;
        visuals.window_fill = PANEL;
        visuals.override_text_color = Some(TEXT);
        visuals.extreme_bg_color = Color32::from_rgb(19, 21, 24);
        visuals.selection.bg_fill = ACCENT.gamma_multiply(0.75);
        visuals.selection.stroke = Stroke::new(1.0, Color32::WHITE);
        visuals.slider_trailing_fill = true;
        for widget in [&mut visuals.widgets.inactive, &mut visuals.widgets.hovered, &mut visuals.widgets.active] {
            widget.corner_radius = CornerRadius::same(4);
        }
        visuals.widgets.inactive.bg_fill = FIELD;
        visuals.widgets.inactive.weak_bg_fill = FIELD;
        visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, Color32::from_rgb(44, 48, 54));
    });
}
