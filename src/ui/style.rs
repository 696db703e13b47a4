//! Colours, spacing and type of the panels, in one place.

use bevy_egui::egui::{self, Align2, Color32, CornerRadius, FontFamily, FontId, Stroke, TextStyle};

use crate::settings::Theme;

/// Width of the parameter panel, in points.
pub const PANEL_WIDTH: f32 = 300.0;
/// Width of a parameter's name, in points.
pub const NAME_WIDTH: f32 = 124.0;
/// The colour of what is on or chosen.
pub const ACCENT: Color32 = Color32::from_rgb(96, 176, 132);
/// The least width of that panel, in points.
pub const LEAST_PANEL_WIDTH: f32 = 120.0;
/// Height of the line of numbers at the bottom, in points.
pub const STATUS_HEIGHT: f32 = 24.0;
/// Height of the bar that plays and pauses, in points.
pub const TRANSPORT_HEIGHT: f32 = 42.0;
/// Height of a branch of the timeline, in points.
pub const BRANCH_HEIGHT: f32 = 7.0;
/// Height of the timeline without its branches, in points.
pub const TIMELINE_MARGIN: f32 = 15.0;
/// Width of the bar of tools, in points.
pub const TOOL_BAR_WIDTH: f32 = 50.0;
/// Side of a button of the bar of tools, in points.
pub const TOOL_BUTTON: f32 = 34.0;
/// Width of a menu, in points.
pub const MENU_WIDTH: f32 = 230.0;
/// Width that the workspaces need in the menu bar, in points.
pub const WORKSPACES_WIDTH: f32 = 260.0;
/// Width of a list of numbers to choose from, in points.
pub const SHORT_CHOICE_WIDTH: f32 = 64.0;
/// Width of a parameter's list of choices, in points.
pub const CHOICE_WIDTH: f32 = 140.0;
/// Width of a list of titles, in points.
pub const WIDE_CHOICE_WIDTH: f32 = 200.0;
/// Width of a list of sizes, in points.
pub const SIZES_WIDTH: f32 = 240.0;
/// Width of the settings, in points.
pub const SETTINGS_WIDTH: f32 = 360.0;
/// Width of the window about the program, in points.
pub const ABOUT_WIDTH: f32 = 420.0;
/// Width of the dialog that imports a map, in points.
pub const IMPORT_WIDTH: f32 = 380.0;
/// Width of the dialog that exports, in points.
pub const EXPORT_WIDTH: f32 = 520.0;
/// Size of the dialog for files, in points.
pub const FILES_SIZE: [f32; 2] = [720.0, 420.0];
/// Width of a tooltip, in points.
pub const TOOLTIP_WIDTH: f32 = 320.0;
/// Size of the palette, in points.
pub const PALETTE_SIZE: [f32; 2] = [440.0, 320.0];
/// Where the palette stands from the middle of the upper edge, in points.
pub const PALETTE_OFFSET: [f32; 2] = [0.0, 60.0];
/// Height of the list of steps, in points.
pub const LIST_HEIGHT: f32 = 220.0;
/// Height of a plot, in points.
pub const PLOT_HEIGHT: f32 = 130.0;
/// Size of the legend's bar of colours, in points.
pub const LEGEND_BAR: egui::Vec2 = egui::vec2(220.0, 12.0);
/// Radius of the dial of the wind, in points.
pub const DIAL_RADIUS: f32 = 34.0;
/// Side of each of the two pictures of the wind map, in points.
pub const WIND_MAP_SIDE: f32 = 150.0;
/// Radius of the mark of a spring, in points.
pub const MARK_RADIUS: f32 = 10.0;

/// Colour of a spring's mark.
pub const SPRING: Color32 = Color32::from_rgb(64, 150, 235);
/// Colour of a drain's mark.
pub const DRAIN: Color32 = Color32::from_rgb(214, 120, 60);
/// Colour of a warning's sign.
pub const WARNING: Color32 = Color32::from_rgb(222, 170, 70);
/// Colour of an error's sign.
pub const ERROR: Color32 = Color32::from_rgb(224, 96, 84);
/// Behind words and numbers on the picture, on which all is white.
pub const SHADE: Color32 = Color32::from_black_alpha(120);
/// The same behind small print.
pub const DEEP_SHADE: Color32 = Color32::from_black_alpha(150);
/// Lines on the picture that must not catch the eye: white, half transparent.
pub const FAINT: Color32 = Color32::from_rgba_premultiplied(150, 150, 150, 150);
/// Around what has the keyboard.
pub const FOCUS: Stroke = Stroke { width: 2.0, color: ACCENT };

/// The colours of a theme.
struct ThemeColors {
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

const DARK: ThemeColors = ThemeColors {
    panel: Color32::from_rgb(27, 30, 34),
    field: Color32::from_rgb(42, 47, 53),
    deep: Color32::from_rgb(19, 21, 24),
    line: Color32::from_rgb(44, 48, 54),
    text: Color32::from_rgb(214, 218, 222),
};

const LIGHT: ThemeColors = ThemeColors {
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

/// Writes white words on the picture, on a shade.
pub fn shaded_text(painter: &egui::Painter, place: egui::Pos2, align: Align2, text: &str, size: f32, shade: Color32) {
    let words = painter.layout_no_wrap(text.to_owned(), FontId::proportional(size), Color32::WHITE);
    let at = align.anchor_size(place, words.size());
    painter.rect_filled(at.expand2(egui::vec2(7.0, 3.0)), 5.0, shade);
    painter.galley(at.min, words, Color32::WHITE);
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

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn no_other_file_of_the_panels_names_a_colour() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui");
        let files = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is readable").path());
        let files: Vec<_> = files.filter(|path| !path.ends_with("style.rs")).collect();
        assert!(files.len() > 20, "only {} files were found", files.len());
        for path in files {
            let text = fs::read_to_string(&path).expect("source is text");
            assert!(!text.contains("Color32::from_"), "{} names a colour", path.display());
        }
    }
}
