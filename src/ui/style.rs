//! Colours, spacing and type of the panels, in one place.

use bevy_egui::egui::{self, Color32, CornerRadius, FontFamily, FontId, Stroke, TextStyle};

use crate::settings::Theme;

/// Width of the parameter panel, in points.
pub const PANEL_WIDTH: f32 = 300.0;
/// Width of a parameter's name, in points.
pub const NAME_WIDTH: f32 = 124.0;
/// The colour of what is on or chosen.
pub const ACCENT: Color32 = Color32::from_rgb(96, 176, 132);
/// The colours of a theme.
struct Palette {
    /// Panels behind text.
    panel: Color32,
    /// Fields and sliders.
    field: Color32,
    /// Behind what is typed.
    deep: Color32,
    /// Lines between panels.
    line: Color32,
    text: Color32,
}

const DARK: Palette = Palette {
    panel: Color32::from_rgb(27, 30, 34),
    field: Color32::from_rgb(42, 47, 53),
    deep: Color32::from_rgb(19, 21, 24),
    line: Color32::from_rgb(44, 48, 54),
    text: Color32::from_rgb(214, 218, 222),
};

const LIGHT: Palette = Palette {
    panel: Color32::from_rgb(243, 243, 241),
    field: Color32::from_rgb(222, 223, 222),
    deep: Color32::from_rgb(255, 255, 255),
    line: Color32::from_rgb(208, 208, 204),
    text: Color32::from_rgb(34, 38, 42),
};

/// Letters that numbers and texts are made of.
const LETTERS: &str =
    " !\"#%&'()*+,-./0123456789:;<=>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz×·…°²³⁶−→";

/// Draws every letter where the texts can take it from. A letter that is needed for the first time would be missing for a
/// frame, which a slow machine shows.
pub fn keep_letters(ui: &egui::Ui) {
    for style in [TextStyle::Heading, TextStyle::Body, TextStyle::Button, TextStyle::Small, TextStyle::Monospace] {
        let _ = ui.painter().layout_no_wrap(LETTERS.to_owned(), style.resolve(ui.style()), Color32::WHITE);
    }
}

/// Calm, with enough air. `first` also loads the icons.
pub fn apply(context: &egui::Context, theme: Theme, first: bool) {
    if first {
        let mut fonts = egui::FontDefinitions::default();
        egui_phosphor::add_to_fonts(&mut fonts, egui_phosphor::Variant::Regular);
        context.set_fonts(fonts);
    }
    let (theme, palette) = match theme {
        Theme::Dark => (egui::Theme::Dark, DARK),
        Theme::Light => (egui::Theme::Light, LIGHT),
    };
    context.set_theme(theme);
    context.style_mut_of(theme, |style| {
        style.spacing.item_spacing = egui::vec2(8.0, 6.0);
        style.spacing.button_padding = egui::vec2(8.0, 4.0);
        style.spacing.slider_width = 88.0;
        style.spacing.interact_size.y = 22.0;
        style.text_styles = [
            (TextStyle::Heading, FontId::new(15.0, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Small, FontId::new(11.0, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
        ]
        .into();
        let visuals = &mut style.visuals;
        visuals.panel_fill = palette.panel;
        visuals.window_fill = palette.panel;
        visuals.override_text_color = Some(palette.text);
        visuals.extreme_bg_color = palette.deep;
        visuals.selection.bg_fill = ACCENT.gamma_multiply(0.75);
        visuals.selection.stroke = Stroke::new(1.0, Color32::WHITE);
        visuals.slider_trailing_fill = true;
        for widget in [&mut visuals.widgets.inactive, &mut visuals.widgets.hovered, &mut visuals.widgets.active] {
            widget.corner_radius = CornerRadius::same(4);
        }
        visuals.widgets.inactive.bg_fill = palette.field;
        visuals.widgets.inactive.weak_bg_fill = palette.field;
        visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, palette.line);
    });
}
