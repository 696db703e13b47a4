//! Equations typeset in the font of the panels.

use bevy_egui::egui::{
    Color32, FontFamily, FontId, Galley, Painter, Response, Sense, Shape, Stroke, TextFormat, Ui, WidgetInfo,
    WidgetType, epaint::QuadraticBezierShape, text::LayoutJob, vec2,
};
use glam::Vec2;

use thalweg_scene::model::formula::{
    Formula,
    typeset::{FontMetrics, Mark, TypesetFormula},
};

/// Draws an equation in the given font size.
pub fn show(ui: &mut Ui, text: &str, size: f32, color: Color32) -> Response {
    let writer = Writer { painter: ui.painter().clone(), color };
    let set = TypesetFormula::new(&Formula::parse(text), &writer, size, ui.available_width());
    let (rect, response) = ui.allocate_exact_size(vec2(set.size.x, set.size.y), Sense::hover());
    for (place, mark) in set.marks {
        let at = |offset: Vec2| rect.min + vec2(place.x + offset.x, place.y + offset.y);
        match mark {
            Mark::Text { text, size, slanted } => {
                let galley = writer.galley(&text, size, slanted);
                let row = galley.rows.first();
                let base = row.map_or(0.0, |row| row.pos.y + row.glyphs.first().map_or(0.0, |glyph| glyph.pos.y));
                writer.painter.galley(at(Vec2::new(0.0, -base)), galley, color);
            }
            Mark::Line(points, width) => {
                let points = [Vec2::ZERO].into_iter().chain(points).map(at).collect();
                writer.painter.add(Shape::line(points, Stroke::new(width, color)));
            }
            Mark::Curve([past, end], width) => {
                let points = [Vec2::ZERO, past, end].map(at);
                let stroke = Stroke::new(width, color);
                let bow = QuadraticBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke);
                writer.painter.add(bow);
            }
        }
    }
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, text));
    response
}

/// Lays out text in the font of the panels.
struct Writer {
    painter: Painter,
    color: Color32,
}

impl Writer {
    fn galley(&self, text: &str, size: f32, italics: bool) -> std::sync::Arc<Galley> {
        let font_id = FontId::new(size, FontFamily::Proportional);
        let format = TextFormat { font_id, color: self.color, italics, ..TextFormat::default() };
        self.painter.layout_job(LayoutJob::single_section(text.to_owned(), format))
    }
}

impl FontMetrics for Writer {
    fn width(&self, text: &str, size: f32, slanted: bool) -> f32 {
        self.galley(text, size, slanted).size().x
    }
}
