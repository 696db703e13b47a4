//! Colours, spacing and typography of the panels.

use bevy_egui::egui::{self, Align2, Color32, CornerRadius, FontFamily, FontId, Stroke, TextStyle};

use super::access;
use thalweg_scene::settings::Theme;

// Sizes are in points.
pub const PANEL_WIDTH: f32 = 300.0;
/// Width of the sidebar, in which every row of parameters fits.
pub const SIDEBAR_WIDTH: f32 = 376.0;
/// Minimum width of the contents of a column that keeps its width. A narrower one grows to its widest row.
pub const FIXED_COLUMN_WIDTH: f32 = 350.0;
pub const MIN_PANEL_WIDTH: f32 = 120.0;
/// Minimum width of the window with a column of panels on either side of the view.
pub const TWO_COLUMNS_WIDTH: f32 = 1200.0;
/// Width of parameter names.
pub const NAME_WIDTH: f32 = 124.0;
pub const STATUS_HEIGHT: f32 = 24.0;
pub const TRANSPORT_HEIGHT: f32 = 42.0;
/// Height of a branch of the timeline.
pub const BRANCH_HEIGHT: f32 = 14.0;
pub const BRANCH_INDENT: f32 = 7.0;
/// Side of the sketch of a square export.
pub const SQUARE_SIDE: f32 = 40.0;
/// Height of the timeline without its branches.
pub const TIMELINE_MARGIN: f32 = 15.0;
pub const TOOL_BAR_WIDTH: f32 = 50.0;
pub const TOOL_BUTTON: f32 = 34.0;
pub const MENU_WIDTH: f32 = 230.0;
/// Height of the window that a menu leaves free.
pub const MENU_MARGIN: f32 = 60.0;
/// Width of the workspace tabs in the menu bar.
pub const WORKSPACES_WIDTH: f32 = 260.0;
/// Width of preset names in their menu, and side of a colour swatch after them.
pub const PRESET_WIDTH: f32 = 84.0;
pub const SWATCH: f32 = 14.0;
/// Widths of combo boxes: numbers, parameter values, titles, sizes.
pub const SHORT_CHOICE_WIDTH: f32 = 64.0;
pub const CHOICE_WIDTH: f32 = 140.0;
pub const WIDE_CHOICE_WIDTH: f32 = 200.0;
pub const SIZES_WIDTH: f32 = 240.0;
// Windows and dialogs.
pub const SETTINGS_WIDTH: f32 = 360.0;
pub const CHECKS_WIDTH: f32 = 470.0;
pub const ABOUT_WIDTH: f32 = 420.0;
pub const IMPORT_WIDTH: f32 = 380.0;
pub const EXPORT_WIDTH: f32 = 596.0;
pub const TOOLTIP_WIDTH: f32 = 320.0;
pub const PALETTE_SIZE: [f32; 2] = [440.0, 320.0];
/// List of scenes, its thumbnails, and the title line below them.
pub const SCENES_SIZE: [f32; 2] = [860.0, 600.0];
pub const CARD_SIZE: [f32; 2] = [160.0, 100.0];
pub const CARD_TITLE: f32 = 22.0;
/// Thumbnails in the playlist editor, a row of its list, and the text fields of a scene.
pub const SMALL_CARD_SIZE: [f32; 2] = [112.0, 70.0];
pub const LIST_ROW: f32 = 44.0;
pub const SCENE_WORDS_HEIGHT: f32 = 200.0;
/// Offset of the palette from the centre of the upper edge.
pub const PALETTE_OFFSET: [f32; 2] = [0.0, 60.0];
/// Height of the history list.
pub const LIST_HEIGHT: f32 = 220.0;
pub const PLOT_HEIGHT: f32 = 130.0;
/// Width of the list of masks of a channel.
pub const WEIGHT_WIDTH: f32 = 74.0;
/// Initial size and position of a chart in a window of its own.
pub const LARGE_PLOT_SIZE: egui::Vec2 = egui::vec2(560.0, 320.0);
pub const LARGE_PLOT_POSITION: egui::Pos2 = egui::pos2(80.0, 60.0);
/// Margin at the right of a plot for half of the last tick label.
pub const LAST_NUMBER: f32 = 12.0;
/// Height of the section plot.
pub const SECTION_HEIGHT: f32 = 210.0;
pub const LEGEND_BAR: egui::Vec2 = egui::vec2(220.0, 12.0);
/// Radius of the wind dial.
pub const DIAL_RADIUS: f32 = 34.0;
/// Side of each of the two images of the wind map.
pub const WIND_MAP_SIDE: f32 = 150.0;
/// Font sizes of an equation and of the values in it.
pub const EQUATION: f32 = 17.0;
pub const TERM: f32 = 14.0;
/// Radius of the marker of a spring.
pub const MARK_RADIUS: f32 = 10.0;

/// Colour of enabled or selected items.
pub const ACCENT: Color32 = Color32::from_rgb(96, 176, 132);
pub const SPRING: Color32 = Color32::from_rgb(64, 150, 235);
pub const DRAIN: Color32 = Color32::from_rgb(214, 120, 60);
pub const WARNING: Color32 = Color32::from_rgb(222, 170, 70);
pub const ERROR: Color32 = Color32::from_rgb(224, 96, 84);
/// Colours of the layers in a section.
pub const ROCK: Color32 = Color32::from_rgb(104, 98, 94);
pub const SEDIMENT: Color32 = Color32::from_rgb(150, 96, 60);
pub const SAND: Color32 = Color32::from_rgb(214, 186, 122);
/// Background of white text over the view.
pub const SHADE: Color32 = Color32::from_black_alpha(120);
/// Background of small white text over the view.
pub const DEEP_SHADE: Color32 = Color32::from_black_alpha(150);
/// Dims what lies behind a modal dialog.
const BACKDROP: Color32 = Color32::from_black_alpha(70);
/// Outline of small white text over the view.
pub const RIM: Color32 = Color32::from_black_alpha(170);
/// Inconspicuous lines over the view: semi-transparent white.
pub const FAINT: Color32 = Color32::from_rgba_premultiplied(150, 150, 150, 150);
/// Focus ring over the view and on dark panels.
pub const FOCUS: Stroke = Stroke { width: 2.0, color: ACCENT };
/// Focus ring on light panels.
const DARK_FOCUS: Stroke = Stroke { width: 2.0, color: Color32::from_rgb(22, 104, 66) };

struct ThemeColors {
    panel: Color32,
    field: Color32,
    /// Background of text fields.
    deep: Color32,
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

/// Draws white text over the view, on a shaded background.
pub fn shaded_text(painter: &egui::Painter, place: egui::Pos2, align: Align2, text: &str, size: f32, shade: Color32) {
    shaded_lines(painter, place, align, (text, size, f32::INFINITY), shade);
}

/// Draws white text over the view, wrapped at `width`, on a shaded background.
pub fn shaded_lines(
    painter: &egui::Painter,
    place: egui::Pos2,
    align: Align2,
    (text, size, width): (&str, f32, f32),
    shade: Color32,
) {
    let words = painter.layout(text.to_owned(), FontId::proportional(size), Color32::WHITE, width);
    let at = align.anchor_size(place, words.size());
    // Near the edge, the text is moved inside the view.
    let room = painter.clip_rect().shrink2(egui::vec2(9.0, 5.0));
    let inwards = |least: f32, from: f32, to: f32, most: f32| (least - from).max(0.0) + (most - to).min(0.0);
    let at = at.translate(egui::vec2(
        inwards(room.left(), at.left(), at.right(), room.right()),
        inwards(room.top(), at.top(), at.bottom(), room.bottom()),
    ));
    painter.rect_filled(at.expand2(egui::vec2(7.0, 3.0)), 5.0, shade);
    painter.galley(at.min, words, Color32::WHITE);
}

/// Creates a colour from red, green and blue.
pub fn color([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

/// Returns the focus ring of the current theme.
pub fn focus(context: &egui::Context) -> Stroke {
    if context.theme() == egui::Theme::Dark { FOCUS } else { DARK_FOCUS }
}

/// Creates a fixed window at the centre of the screen, above all messages.
pub fn dialog(title: &str) -> egui::Window<'static> {
    let window = egui::Window::new(title.to_owned()).collapsible(false).resizable(false);
    window.order(egui::Order::Foreground).anchor(Align2::CENTER_CENTER, [0.0, 0.0])
}

/// Dims everything behind a modal dialog, and takes its clicks and drags.
pub fn backdrop_ui(context: &egui::Context) {
    let rect = context.content_rect();
    let area = egui::Area::new(egui::Id::new("backdrop")).order(egui::Order::Middle).fixed_pos(rect.min);
    area.show(context, |ui| {
        ui.painter().rect_filled(rect, 0.0, BACKDROP);
        // Without keyboard focus.
        ui.allocate_rect(rect, egui::Sense::CLICK | egui::Sense::DRAG);
    });
}

/// Width of the scroll bar that overlaps the right edge of the panels.
pub const SCROLL_BAR: f32 = 4.0;

/// Draws a grid row: a name with its tooltip, and a right-aligned value.
pub fn value_row(ui: &mut egui::Ui, name: &str, value: String, help: &str) {
    tooltip_beside(&ui.label(name), |ui| drop(ui.label(help)));
    let value = egui::RichText::new(value).monospace().size(11.0);
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        ui.add_space(SCROLL_BAR);
        ui.label(value)
    });
    ui.end_row();
}

/// Shows a tooltip left of a row of the sidebar while the pointer is on the row, so that it does not cover the rows below.
pub fn tooltip_beside(row: &egui::Response, content_ui: impl FnOnce(&mut egui::Ui)) {
    let mut tooltip = egui::Tooltip::for_enabled(row);
    tooltip.popup = tooltip.popup.align(egui::RectAlign::LEFT_START);
    tooltip.show(content_ui);
}

/// Applies the style of the panels. `first` also loads the icon font and sets global options.
pub fn apply(context: &egui::Context, theme: Theme, first: bool) {
    if first {
        let mut fonts = egui::FontDefinitions::default();
        egui_phosphor::add_to_fonts(&mut fonts, egui_phosphor::Variant::Regular);
        // Contains arrows that the other fonts lack.
        fonts.families.entry(FontFamily::Proportional).or_default().push("Hack".to_owned());
        context.set_fonts(fonts);
        access::install_name_correction(context);
        // Long frames make clicks longer.
        context.options_mut(|options| options.input_options.max_click_duration = 1.5);
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
        // Lists show all entries where the window is high enough. Where it is not, the bar shows that there are more.
        style.spacing.combo_height = 560.0;
        style.spacing.scroll.dormant_handle_opacity = 0.6;
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

/// Formats a duration in seconds, in the largest unit of which it is at least 1.
pub fn duration(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] =
        [(31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
    let (length, unit) = UNITS.into_iter().find(|(length, _)| seconds >= *length).unwrap_or((1.0, "s"));
    let number = seconds / length;
    let digits = if number < 0.095 { 3 } else { usize::from(number < 99.95) };
    format!("{number:.digits$} {unit}")
}

/// Formats a number with digit groups, e.g. 200 000, separated by spaces at which lines do not break.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string().into_bytes();
    let groups: Vec<_> = digits.rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("\u{a0}")
}

/// Formats a count for reading at a glance, e.g. 3 421, 16 thousand or 158 million.
pub fn rounded_count(count: u64) -> String {
    match count {
        0..10_000 => grouped(count),
        10_000..1_000_000 => format!("{}\u{a0}thousand", (count + 500) / 1000),
        _ => format!("{}\u{a0}million", grouped((count + 500_000) / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    #[test]
    fn large_counts_are_rounded() {
        let texts = [3421, 15_600, 158_258_837].map(rounded_count);
        assert_eq!(texts, ["3\u{a0}421", "16\u{a0}thousand", "158\u{a0}million"]);
    }

    #[test]
    fn colours_are_defined_only_in_style_module() {
        fn files_below(folder: &Path) -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is readable").path());
            entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = ["shell", "features"].into_iter().flat_map(|folder| files_below(&source.join(folder)));
        let files: Vec<_> = files.filter(|path| !path.ends_with("style.rs")).collect();
        assert!(files.len() > 60, "only {} files were found", files.len());
        for path in files {
            let text = fs::read_to_string(&path).expect("source is text");
            assert!(!text.contains("Color32::from_"), "{} names a colour", path.display());
        }
    }

    #[test]
    fn durations_use_a_fitting_unit() {
        for (seconds, text) in [
            (0.0, "0.000 s"),
            (0.042, "0.042 s"),
            (0.6, "0.6 s"),
            (59.0, "59.0 s"),
            (275.0, "4.6 min"),
            (10_000.0, "2.8 h"),
            (200_000.0, "2.3 days"),
            (7.9e10, "2503 years"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn digits_are_grouped_by_three() {
        let text = grouped;
        assert_eq!(
            [7, 1000, 200_000, 12_345_678].map(text),
            ["7", "1\u{a0}000", "200\u{a0}000", "12\u{a0}345\u{a0}678"]
        );
    }
}
