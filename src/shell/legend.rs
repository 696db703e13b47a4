//! Legend of the overlay, in the lower left corner of the view.

use bevy_egui::egui::{self, Align2, Color32, FontId, Mesh, Rect, Ui};

use super::{number::units, style};
use crate::world::{
    Overlay,
    amount::{area, display_unit},
};
use thalweg_scene::settings::UnitSystem;
use thalweg_sim::core::quantity::ColorScale;

/// Returns the width of the legend including its distance from the left edge of the view, or 0 without a legend.
pub fn legend_width(overlay: &Overlay) -> f32 {
    if overlay.shown.is_some() || overlay.arrows { LEGEND_PLACE.x + LEGEND_WIDTH } else { 0.0 }
}

/// Offset of the legend from the lower left corner of the view.
const LEGEND_PLACE: egui::Vec2 = egui::vec2(16.0, -16.0);
const LEGEND_WIDTH: f32 = style::LEGEND_BAR.x + 20.0;

/// Draws the legend: title, unit, colour bar and values, and the speed at which arrows saturate.
pub fn legend(ui: &Ui, view: Rect, overlay: &Overlay) {
    let units = units(ui);
    let painter = ui.painter().with_clip_rect(view);
    let (small, font) = (FontId::proportional(11.0), FontId::proportional(13.0));
    let mut corner = view.left_bottom() + LEGEND_PLACE;
    if let Some(quantity) = overlay.shown {
        let back = Rect::from_min_max(corner - egui::vec2(4.0, 56.0), corner + egui::vec2(LEGEND_WIDTH, 4.0));
        painter.rect_filled(back, 6.0, style::DEEP_SHADE);
        let left = corner + egui::vec2(8.0, -30.0);
        let (unit, _) = display_unit(units, quantity.unit());
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        let title = format!("{}{unit}", quantity.title());
        painter.text(left - egui::vec2(0.0, 5.0), Align2::LEFT_BOTTOM, title, font.clone(), Color32::WHITE);
        painter.add(bar(Rect::from_min_size(left, style::LEGEND_BAR), quantity.scale()));
        let (least, most) = overlay.range;
        let sign = |clipped: bool, sign: &'static str| if clipped { sign } else { "" };
        for (share, align, sign) in [
            (0.0, Align2::LEFT_TOP, sign(overlay.clipped[0], "≤ ")),
            (0.5, Align2::CENTER_TOP, ""),
            (1.0, Align2::RIGHT_TOP, sign(overlay.clipped[1], "≥ ")),
        ] {
            let value = least + share * (most - least);
            let value = if quantity.scale() == ColorScale::Logarithmic { 10.0_f32.powf(value) } else { value };
            let place = left + egui::vec2(share * style::LEGEND_BAR.x, style::LEGEND_BAR.y + 2.0);
            // The range is empty until the first values arrive.
            if least < most && quantity.scale() != ColorScale::Classes {
                let text = format!("{sign}{}", value_text(units, value, quantity.unit()));
                painter.text(place, align, text, small.clone(), Color32::WHITE);
            }
        }
        corner.y -= back.height() + 6.0;
    }
    if overlay.arrows {
        let back = Rect::from_min_max(corner - egui::vec2(4.0, 24.0), corner + egui::vec2(LEGEND_WIDTH, 4.0));
        painter.rect_filled(back, 6.0, style::DEEP_SHADE);
        let (unit, times) = display_unit(units, if overlay.arrows_are_of_streams() { "m²" } else { "m/s" });
        let text = format!("Arrows saturate at {} {unit}", number(times as f32 * overlay.fastest));
        painter.text(corner + egui::vec2(4.0, -10.0), Align2::LEFT_CENTER, text, font, Color32::WHITE);
    }
}

fn bar(place: Rect, scale: ColorScale) -> Mesh {
    const STEPS: u32 = 32;
    let mut mesh = Mesh::default();
    for step in 0..=STEPS {
        let share = step as f32 / STEPS as f32;
        let [red, green, blue] = Overlay::color(scale, share);
        let color = egui::Rgba::from_rgb(red, green, blue).into();
        let x = place.left() + share * place.width();
        mesh.colored_vertex(egui::pos2(x, place.top()), color);
        mesh.colored_vertex(egui::pos2(x, place.bottom()), color);
        if step > 0 {
            let last = 2 * step - 2;
            mesh.add_triangle(last, last + 1, last + 2);
            mesh.add_triangle(last + 1, last + 2, last + 3);
        }
    }
    mesh
}

/// Formats a number with the digits that a legend needs.
fn number(value: f32) -> String {
    let digits = match value.abs() {
        0.0 | 10.0.. => 0,
        0.1.. => 2,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a value of the legend. Areas include their unit.
pub fn value_text(units: UnitSystem, value: f32, unit: &str) -> String {
    if unit == "m²" { area(units, value.into()) } else { number(display_unit(units, unit).1 as f32 * value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legend_numbers_are_short() {
        assert_eq!([0.0, 0.5, 2.0, 50.0, -0.025, 2.5].map(number), ["0", "0.5", "2", "50", "-0.025", "2.5"]);
        assert_eq!(
            [value_text(UnitSystem::Metric, 8.14e6, "m²"), value_text(UnitSystem::Metric, 8.5, "m")],
            ["8.14 km²", "8.5"]
        );
    }
}
