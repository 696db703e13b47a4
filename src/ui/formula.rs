//! Equations as they are set in print: fractions, roots, exponents and indices; long ones go on in the next line.

use std::sync::Arc;

use bevy_egui::egui::{
    Color32, FontFamily, FontId, Galley, Painter, Pos2, Response, Sense, Shape, Stroke, TextFormat, Ui, Vec2,
    WidgetInfo, WidgetType, epaint::QuadraticBezierShape, pos2, text::LayoutJob, vec2,
};

use crate::model::formula::Formula;

/// Shares of the size of the letters: height of the bar of a fraction over the line, room above and below it.
const AXIS: f32 = 0.27;
const ROOM: f32 = 0.14;
/// An index, and the parts of a fraction.
const SCRIPT: f32 = 0.72;
const PART: f32 = 0.92;
/// How far an exponent is lifted and an index sunk.
const HEAD: f32 = 0.4;
const FOOT: f32 = 0.2;
/// Heights over and under the line that letters take.
const ASCENT: f32 = 0.78;
const DESCENT: f32 = 0.2;
/// Around a sign, around a product's dot, between words and between equations.
const SIGN: f32 = 0.24;
const DOT: f32 = 0.07;
const BLANK: f32 = 0.26;
const GAP: f32 = 1.4;
/// Between lines, and before a line that goes on with an equation.
const LINE: f32 = 0.4;
const INDENT: f32 = 1.2;
/// Letters are not smaller than so many points.
const SMALLEST: f32 = 8.0;

/// Shows an equation with letters of this size.
pub fn show(ui: &mut Ui, text: &str, size: f32, color: Color32) -> Response {
    let writer = Writer { painter: ui.painter().clone(), color };
    let lines = writer.lines(&Formula::read(text), size, ui.available_width());
    let width = lines.iter().map(|line| line.width).fold(0.0, f32::max);
    let between = LINE * size * lines.len().saturating_sub(1) as f32;
    let height = lines.iter().map(|line| line.ascent + line.descent).sum::<f32>() + between;
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
    let mut top = rect.top();
    for line in lines {
        let descent = line.descent;
        let base = top + line.ascent;
        line.paint(ui.painter(), pos2(rect.left(), base), color);
        top = base + descent + LINE * size;
    }
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, text));
    response
}

/// What is set: marks with their places relative to the left end of the line on which its letters stand.
#[derive(Default)]
struct Set {
    width: f32,
    ascent: f32,
    descent: f32,
    marks: Vec<(Vec2, Mark)>,
}

/// What is painted, relative to its place.
enum Mark {
    /// Letters with their left upper corner there.
    Text(Arc<Galley>),
    /// A line of so many points' width from there to these places.
    Line(Vec<Vec2>, f32),
    /// The half of an ellipse from there to the last place, past the first.
    Bow([Vec2; 2], f32),
}

impl Set {
    /// Puts something at a place.
    fn put(&mut self, other: Set, at: Vec2) {
        self.width = self.width.max(at.x + other.width);
        self.ascent = self.ascent.max(other.ascent - at.y);
        self.descent = self.descent.max(other.descent + at.y);
        self.marks.extend(other.marks.into_iter().map(|(place, mark)| (place + at, mark)));
    }

    /// Puts something behind all that there is.
    fn append(&mut self, other: Set) {
        self.put(other, vec2(self.width, 0.0));
    }

    fn paint(self, painter: &Painter, base: Pos2, color: Color32) {
        for (place, mark) in self.marks {
            let at = base + place;
            match mark {
                Mark::Text(galley) => {
                    painter.galley(at, galley, color);
                }
                Mark::Line(way, width) => {
                    let way = std::iter::once(at).chain(way.into_iter().map(|place| at + place));
                    painter.add(Shape::line(way.collect(), Stroke::new(width, color)));
                }
                Mark::Bow([past, end], width) => {
                    let stroke = Stroke::new(width, color);
                    let points = [at, at + past, at + end];
                    painter.add(QuadraticBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke));
                }
            }
        }
    }
}

/// Sets equations in the letters of the panels.
struct Writer {
    painter: Painter,
    color: Color32,
}

impl Writer {
    /// The lines of an equation that fit into a width. They break at gaps, else before a sign that is no product.
    fn lines(&self, formula: &Formula, size: f32, width: f32) -> Vec<Set> {
        let parts = if let Formula::Row(parts) = formula { parts.as_slice() } else { std::slice::from_ref(formula) };
        // From one place where a line may break to the next, and whether another equation begins there.
        let mut pieces: Vec<(bool, Vec<&Formula>)> = vec![(true, Vec::new())];
        let mut depends = false;
        for part in parts {
            match part {
                Formula::Gap => pieces.push((true, Vec::new())),
                Formula::Sign(sign) if breaks_before(sign) && depends => pieces.push((false, vec![part])),
                _ => pieces.last_mut().expect("it has one").1.push(part),
            }
            depends = !matches!(part, Formula::Gap);
        }
        let mut lines: Vec<Set> = Vec::new();
        let mut rest = pieces.as_slice();
        while let Some(((begins, parts), after)) = rest.split_first() {
            rest = after;
            let mut set = self.row(parts.iter().copied(), size);
            // An equation that fits on a line stays whole.
            let more = after.iter().take_while(|(begins, _)| !*begins).count();
            if *begins && more > 0 {
                let whole = after[..more].iter().flat_map(|(_, parts)| parts);
                let whole = self.row(parts.iter().chain(whole).copied(), size);
                if whole.width <= width {
                    (set, rest) = (whole, &after[more..]);
                }
            }
            let room = if *begins { GAP * size } else { 0.0 };
            match lines.last_mut() {
                Some(line) if line.width + room + set.width <= width => {
                    let at = vec2(line.width + room, 0.0);
                    line.put(set, at);
                }
                _ => {
                    let indent = if *begins { 0.0 } else { INDENT * size };
                    let mut line = Set::default();
                    line.put(set, vec2(indent, 0.0));
                    lines.push(line);
                }
            }
        }
        // What fits on no line becomes smaller.
        let widest = lines.iter().map(|line| line.width).fold(0.0, f32::max);
        let smaller = size * (0.98 * width / widest).min(1.0);
        if widest <= width || size <= SMALLEST { lines } else { self.lines(formula, smaller.max(SMALLEST), width) }
    }

    fn set(&self, formula: &Formula, size: f32) -> Set {
        match formula {
            Formula::Row(parts) => self.row(parts, size),
            Formula::Letter(text) => self.text(text, size, true),
            Formula::Upright(text) => self.text(text, size, false),
            Formula::Sign(text) => self.sign(text, size),
            Formula::Blank => Set { width: BLANK * size, ..Set::default() },
            Formula::Gap => Set { width: GAP * size, ..Set::default() },
            Formula::Scripts(base, foot, head) => {
                let mut set = self.set(base, size);
                let (width, high, low) =
                    (set.width + 0.03 * size, set.ascent - ASCENT * size, set.descent - DESCENT * size);
                for (script, lift) in [(foot, -FOOT * size - low.max(0.0)), (head, HEAD * size + high.max(0.0))] {
                    if let Some(script) = script {
                        set.put(self.set(script, (SCRIPT * size).max(SMALLEST)), vec2(width, -lift));
                    }
                }
                set
            }
            Formula::Fraction(above, below) => {
                let [above, below] = [above, below].map(|part| self.set(part, (PART * size).max(SMALLEST)));
                let (room, bar) = (ROOM * size, self.bar(size));
                let width = above.width.max(below.width) + 0.3 * size;
                let mut set = Set { width, ..Set::default() };
                let axis = AXIS * size;
                let [up, down] = [axis + room + above.descent, axis - room - below.ascent];
                let [left, right] = [above.width, below.width].map(|inner| 0.5 * (width - inner));
                set.put(above, vec2(left, -up));
                set.put(below, vec2(right, -down));
                let edge = 0.06 * size;
                set.marks.push((vec2(edge, -axis), Mark::Line(vec![vec2(width - 2.0 * edge, 0.0)], bar)));
                set
            }
            Formula::Root(inside) => {
                let inside = self.set(inside, size);
                let (high, low) = (inside.ascent + 0.1 * size, inside.descent);
                let (hook, over) = (0.5 * size, inside.width + 0.08 * size);
                let mut set = Set::default();
                set.put(inside, vec2(hook + 0.04 * size, 0.0));
                set.ascent = high + 0.06 * size;
                let begin = vec2(0.05 * size, -0.32 * size);
                let way = [
                    vec2(0.15 * size, -0.42 * size),
                    vec2(0.3 * size, low),
                    vec2(hook, -high),
                    vec2(hook + over, -high),
                ];
                set.marks.push((begin, Mark::Line(way.map(|place| place - begin).into(), self.bar(size))));
                set.width += 0.1 * size;
                set
            }
            Formula::Parentheses(inside) => {
                let inside = self.set(inside, size);
                let [high, low] = [inside.ascent.max(ASCENT * size), inside.descent.max(DESCENT * size)];
                let (bow, room) = ((0.16 * size).max(0.07 * (high + low)), 0.1 * size);
                let (mut set, bar) = (Set::default(), self.bar(size));
                let width = inside.width;
                set.put(inside, vec2(bow + 2.0 * room, 0.0));
                let [left, right] = [bow + room, bow + 3.0 * room + width];
                for (side, out) in [(left, -2.0 * bow), (right, 2.0 * bow)] {
                    let ends = [vec2(out, 0.5 * (high + low)), vec2(0.0, high + low)];
                    set.marks.push((vec2(side, -high), Mark::Bow(ends, bar)));
                }
                Set { width: right + bow + room, ascent: high, descent: low, marks: set.marks }
            }
        }
    }

    fn row<'a>(&self, parts: impl IntoIterator<Item = &'a Formula>, size: f32) -> Set {
        let mut row = Set::default();
        parts.into_iter().for_each(|part| row.append(self.set(part, size)));
        row
    }

    fn sign(&self, text: &str, size: f32) -> Set {
        let [before, after] = match text {
            "·" => [DOT, DOT],
            "," | ";" | ":" => [0.0, SIGN],
            _ => [SIGN, SIGN],
        };
        let mut set = Set { width: before * size, ..Set::default() };
        set.append(self.text(text, size, false));
        set.width += after * size;
        set
    }

    fn text(&self, text: &str, size: f32, italics: bool) -> Set {
        let font_id = FontId::new(size, FontFamily::Proportional);
        let format = TextFormat { font_id, color: self.color, italics, ..TextFormat::default() };
        let galley = self.painter.layout_job(LayoutJob::single_section(text.to_owned(), format));
        let base =
            galley.rows.first().map_or(0.0, |row| row.pos.y + row.glyphs.first().map_or(0.0, |glyph| glyph.pos.y));
        let width = galley.size().x;
        let marks = vec![(vec2(0.0, -base), Mark::Text(galley))];
        Set { width, ascent: ASCENT * size, descent: DESCENT * size, marks }
    }

    /// Width of a bar.
    fn bar(&self, size: f32) -> f32 {
        (0.065 * size).max(1.0)
    }
}

fn breaks_before(sign: &str) -> bool {
    !"·,:;".contains(sign)
}
