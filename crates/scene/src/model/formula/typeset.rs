//! Typesetting of equations with fractions, roots, superscripts and subscripts, independent of the font backend. Long equations wrap.

use glam::{Vec2, vec2};

use super::Formula;

/// Distances as fractions of the font size: height of the fraction bar above the baseline, and clearance above and below the bar.
const AXIS: f32 = 0.27;
const ROOM: f32 = 0.14;
/// Font sizes of scripts and of the parts of a fraction.
const SCRIPT: f32 = 0.72;
const PART: f32 = 0.92;
/// Shifts of superscripts up and subscripts down.
const SUPERSCRIPT_RISE: f32 = 0.4;
const SUBSCRIPT_DROP: f32 = 0.2;
/// Extents of letters above and below the baseline.
const ASCENT: f32 = 0.78;
const DESCENT: f32 = 0.2;
/// Spaces around a sign, around a product dot, between words and between equations.
const SIGN: f32 = 0.24;
const DOT: f32 = 0.07;
const BLANK: f32 = 0.26;
const GAP: f32 = 1.4;
/// Space between lines, and indent of a continued line.
const LINE: f32 = 0.4;
const INDENT: f32 = 1.2;
/// Minimum font size, in points.
const SMALLEST: f32 = 8.0;

/// Font metrics for typesetting.
pub trait FontMetrics {
    /// Returns the width of a text at a font size.
    fn width(&self, text: &str, size: f32, slanted: bool) -> f32;
}

/// Typeset equation.
pub struct TypesetFormula {
    /// Width and height.
    pub size: Vec2,
    /// Marks with their positions relative to the upper left corner.
    pub marks: Vec<(Vec2, Mark)>,
}

/// Drawing primitive, relative to its position.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Text that starts at the position, on the baseline.
    Text {
        /// The text.
        text: String,
        /// Font size.
        size: f32,
        /// `true` for italics.
        slanted: bool,
    },
    /// Polyline from the position through these points, with its width.
    Line(Vec<Vec2>, f32),
    /// Quadratic Bézier curve from the position to the last point with the first as control point, with its width.
    Curve([Vec2; 2], f32),
}

impl TypesetFormula {
    /// Typesets an equation at a font size, within a maximum width if possible.
    pub fn new(formula: &Formula, letters: &impl FontMetrics, size: f32, width: f32) -> Self {
        let lines = Typesetter { letters }.lines(formula, size, width);
        let width = lines.iter().map(|line| line.width).fold(0.0, f32::max);
        let (mut down, mut marks) = (0.0, Vec::new());
        for (number, line) in lines.into_iter().enumerate() {
            down += if number == 0 { 0.0 } else { LINE * size } + line.ascent;
            marks.extend(line.marks.into_iter().map(|(place, mark)| (place + vec2(0.0, down), mark)));
            down += line.descent;
        }
        Self { size: vec2(width, down), marks }
    }
}

/// Box under construction: marks with their positions relative to the left end of the baseline.
#[derive(Default)]
struct LayoutBox {
    width: f32,
    ascent: f32,
    descent: f32,
    marks: Vec<(Vec2, Mark)>,
}

impl LayoutBox {
    /// Places a box at a position.
    fn put(&mut self, other: LayoutBox, at: Vec2) {
        self.width = self.width.max(at.x + other.width);
        self.ascent = self.ascent.max(other.ascent - at.y);
        self.descent = self.descent.max(other.descent + at.y);
        self.marks.extend(other.marks.into_iter().map(|(place, mark)| (place + at, mark)));
    }

    /// Appends a box on the right.
    fn append(&mut self, other: LayoutBox) {
        self.put(other, vec2(self.width, 0.0));
    }
}

struct Typesetter<'a, L> {
    letters: &'a L,
}

impl<L: FontMetrics> Typesetter<'_, L> {
    /// Breaks an equation into lines that fit a width: at gaps, else before signs that are no product.
    fn lines(&self, formula: &Formula, size: f32, width: f32) -> Vec<LayoutBox> {
        let parts = if let Formula::Row(parts) = formula { parts.as_slice() } else { std::slice::from_ref(formula) };
        // Segments between possible line breaks, with `true` if another equation starts there.
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
        let mut lines: Vec<LayoutBox> = Vec::new();
        let mut rest = pieces.as_slice();
        while let Some(((begins, parts), after)) = rest.split_first() {
            rest = after;
            let mut set = self.row(parts.iter().copied(), size);
            // An equation that fits on one line is not broken.
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
                    let mut line = LayoutBox::default();
                    line.put(set, vec2(indent, 0.0));
                    lines.push(line);
                }
            }
        }
        // If a line still does not fit, the font shrinks.
        let widest = lines.iter().map(|line| line.width).fold(0.0, f32::max);
        let smaller = size * (0.98 * width / widest).min(1.0);
        if widest <= width || size <= SMALLEST { lines } else { self.lines(formula, smaller.max(SMALLEST), width) }
    }

    fn set(&self, formula: &Formula, size: f32) -> LayoutBox {
        match formula {
            Formula::Row(parts) => self.row(parts, size),
            Formula::Letter(text) => self.text(text, size, true),
            Formula::Upright(text) => self.text(text, size, false),
            Formula::Sign(text) => self.sign(text, size),
            Formula::Blank => LayoutBox { width: BLANK * size, ..LayoutBox::default() },
            Formula::Gap => LayoutBox { width: GAP * size, ..LayoutBox::default() },
            Formula::Scripts(base, subscript, superscript) => {
                let mut set = self.set(base, size);
                let (width, high, low) =
                    (set.width + 0.03 * size, set.ascent - ASCENT * size, set.descent - DESCENT * size);
                for (script, lift) in [
                    (subscript, -SUBSCRIPT_DROP * size - low.max(0.0)),
                    (superscript, SUPERSCRIPT_RISE * size + high.max(0.0)),
                ] {
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
                let mut set = LayoutBox { width, ..LayoutBox::default() };
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
                let mut set = LayoutBox::default();
                set.put(inside, vec2(hook + 0.04 * size, 0.0));
                set.ascent = high + 0.06 * size;
                let begin = vec2(0.05 * size, -0.32 * size);
                let points = [
                    vec2(0.15 * size, -0.42 * size),
                    vec2(0.3 * size, low),
                    vec2(hook, -high),
                    vec2(hook + over, -high),
                ];
                set.marks.push((begin, Mark::Line(points.map(|place| place - begin).into(), self.bar(size))));
                set.width += 0.1 * size;
                set
            }
            Formula::Parentheses(inside) => {
                let inside = self.set(inside, size);
                let [high, low] = [inside.ascent.max(ASCENT * size), inside.descent.max(DESCENT * size)];
                let (bow, room) = ((0.16 * size).max(0.07 * (high + low)), 0.1 * size);
                let (mut set, bar) = (LayoutBox::default(), self.bar(size));
                let width = inside.width;
                set.put(inside, vec2(bow + 2.0 * room, 0.0));
                let [left, right] = [bow + room, bow + 3.0 * room + width];
                for (side, out) in [(left, -2.0 * bow), (right, 2.0 * bow)] {
                    let ends = [vec2(out, 0.5 * (high + low)), vec2(0.0, high + low)];
                    set.marks.push((vec2(side, -high), Mark::Curve(ends, bar)));
                }
                LayoutBox { width: right + bow + room, ascent: high, descent: low, marks: set.marks }
            }
        }
    }

    fn row<'a>(&self, parts: impl IntoIterator<Item = &'a Formula>, size: f32) -> LayoutBox {
        let mut row = LayoutBox::default();
        parts.into_iter().for_each(|part| row.append(self.set(part, size)));
        row
    }

    fn sign(&self, text: &str, size: f32) -> LayoutBox {
        let [before, after] = match text {
            "·" => [DOT, DOT],
            "," | ";" | ":" => [0.0, SIGN],
            _ => [SIGN, SIGN],
        };
        let mut set = LayoutBox { width: before * size, ..LayoutBox::default() };
        set.append(self.text(text, size, false));
        set.width += after * size;
        set
    }

    fn text(&self, text: &str, size: f32, slanted: bool) -> LayoutBox {
        let mark = Mark::Text { text: text.to_owned(), size, slanted };
        let width = self.letters.width(text, size, slanted);
        LayoutBox { width, ascent: ASCENT * size, descent: DESCENT * size, marks: vec![(Vec2::ZERO, mark)] }
    }

    /// Returns the width of a rule.
    fn bar(&self, size: f32) -> f32 {
        (0.065 * size).max(1.0)
    }
}

fn breaks_before(sign: &str) -> bool {
    !"·,:;".contains(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Font whose letters are half as wide as high.
    struct Plain;

    impl FontMetrics for Plain {
        fn width(&self, text: &str, size: f32, _: bool) -> f32 {
            0.5 * size * text.chars().count() as f32
        }
    }

    fn set(text: &str, width: f32) -> TypesetFormula {
        TypesetFormula::new(&Formula::parse(text), &Plain, 20.0, width)
    }

    /// Returns position and size of a text.
    fn letters(set: &TypesetFormula, wanted: &str) -> (Vec2, f32) {
        let mut found = set.marks.iter().filter_map(|(place, mark)| match mark {
            Mark::Text { text, size, .. } if text == wanted => Some((*place, *size)),
            _ => None,
        });
        found.next().unwrap_or_else(|| panic!("{wanted} is not there"))
    }

    #[test]
    fn fractions_roots_and_scripts_are_positioned() {
        let set = set("q = Kc·√(a/b)^θ", 1000.0);
        let [(a, part), (b, _), (q, size), (subscript, small), (superscript, _)] =
            ["a", "b", "q", "c", "θ"].map(|text| letters(&set, text));
        assert!(size == 20.0 && part < size && small < part, "{size} {part} {small}");
        assert!(a.y < q.y && q.y < b.y && a.x == b.x, "{a} {q} {b}");
        assert!(subscript.y > q.y && superscript.y < q.y && superscript.x > a.x, "{subscript} {q} {superscript}");
        let bar = set.marks.iter().find_map(|(place, mark)| match mark {
            Mark::Line(points, _) if points.len() == 1 => Some((*place, points[0])),
            _ => None,
        });
        let (place, offset) = bar.expect("a fraction has a bar");
        assert!(
            a.y < place.y && place.y < b.y - 0.7 * part && place.x < a.x && a.x < place.x + offset.x && offset.y == 0.0
        );
        assert_eq!(set.marks.iter().filter(|(_, mark)| matches!(mark, Mark::Curve(..))).count(), 2, "two parentheses");
    }

    #[test]
    fn long_equations_wrap_within_bounds() {
        let text = "E = a + b·c − d/e + f·g   where  S = h";
        let whole = set(text, 1000.0);
        let cut = set(text, 100.0);
        assert!(cut.size.x <= 100.0 && cut.size.y > 2.0 * whole.size.y, "{} of {}", cut.size, whole.size);
        assert!(letters(&cut, "g").0.y > letters(&cut, "E").0.y);
        // A line without a break opportunity shrinks.
        let small = set("abcdefghij·abcdefghij", 120.0);
        assert!(small.size.x <= 120.0, "{}", small.size);
        for set in [whole, cut, small] {
            for (at, mark) in &set.marks {
                let ends = match mark {
                    Mark::Text { text, size, slanted } => vec![vec2(Plain.width(text, *size, *slanted), 0.0)],
                    Mark::Line(points, _) => points.clone(),
                    Mark::Curve([_, end], _) => vec![*end],
                };
                let lies_in = |place: Vec2| place.cmpge(Vec2::splat(-1e-3)).all() && place.cmple(set.size + 1e-3).all();
                assert!(lies_in(*at) && ends.iter().all(|end| lies_in(*at + *end)), "{mark:?} at {at} of {}", set.size);
            }
        }
    }
}
