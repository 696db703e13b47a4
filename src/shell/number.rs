//! Number fields that accept units and expressions: `0,1`, `10 m`, `5 %`, `2*3`.

use std::{
    cell::{Cell, RefCell},
    fmt,
    ops::RangeInclusive,
};

use bevy_egui::egui::{self, DragValue, Slider, Ui, emath::Numeric};

use super::access;
use crate::world::{
    AppCommand, WindowCommand,
    amount::{FOOT, MILE, display_unit},
};
use thalweg_scene::settings::UnitSystem;

/// Units by quantity, with their size in the first unit of the quantity.
const UNITS: [(&str, &[(&str, f64)]); 8] = [
    (
        "length",
        &[
            ("m", 1.0),
            ("mm", 1e-3),
            ("cm", 0.01),
            ("km", 1e3),
            ("in", 0.0254),
            ("ft", FOOT),
            ("yd", 3.0 * FOOT),
            ("mi", MILE),
        ],
    ),
    (
        "time",
        &[("s", 1.0), ("ms", 1e-3), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0), ("yr", YEAR), ("kyr", 1e3 * YEAR)],
    ),
    (
        "speed",
        &[
            ("m/s", 1.0),
            ("mm/s", 1e-3),
            ("km/h", 1.0 / 3.6),
            ("mm/h", 1e-3 / 3600.0),
            ("mm/d", 1e-3 / 86_400.0),
            ("kn", 1852.0 / 3600.0),
            ("ft/s", FOOT),
            ("mph", MILE / 3600.0),
            ("in/h", 0.0254 / 3600.0),
            ("ft/yr", FOOT / YEAR),
            ("in/yr", 0.0254 / YEAR),
            ("m/yr", 1.0 / YEAR),
            ("mm/yr", 1e-3 / YEAR),
        ],
    ),
    (
        "area",
        &[
            ("m²", 1.0),
            ("m2", 1.0),
            ("ha", 1e4),
            ("km²", 1e6),
            ("km2", 1e6),
            ("ft²", FOOT * FOOT),
            ("ft2", FOOT * FOOT),
            ("acres", MILE * MILE / 640.0),
            ("mi²", MILE * MILE),
            ("mi2", MILE * MILE),
        ],
    ),
    (
        "flow",
        &[("m³/s", 1.0), ("m3/s", 1.0), ("l/s", 1e-3), ("ft³/s", FOOT * FOOT * FOOT), ("ft3/s", FOOT * FOOT * FOOT)],
    ),
    ("angle", &[("°", 1.0), ("deg", 1.0), ("rad", 180.0 / std::f64::consts::PI)]),
    ("share", &[("", 1.0), ("%", 0.01), ("‰", 1e-3), ("×", 1.0)]),
    ("memory", &[("GB", 1.0), ("MB", 1e-3), ("kB", 1e-6)]),
];
/// A Julian year, in seconds.
const YEAR: f64 = 365.25 * 86_400.0;
/// Maximum length of a unit that is displayed after the number.
const LONGEST_SUFFIX: usize = 5;

/// A number field: name, unit and range.
pub(crate) struct NumberField<'a> {
    name: &'a str,
    unit: &'a str,
    range: RangeInclusive<f64>,
    powers: bool,
    /// Display unit, and the size of the field's own unit in it.
    display_unit: Cell<(&'a str, f64)>,
    /// Number as displayed while the field is not edited.
    shown: RefCell<String>,
    /// Message about the last input.
    message: RefCell<Option<String>>,
}

impl<'a> NumberField<'a> {
    pub(crate) fn new<N: Numeric>(name: &'a str, unit: &'a str, range: RangeInclusive<N>) -> Self {
        let range = range.start().to_f64()..=range.end().to_f64();
        let (shown, message) = (RefCell::default(), RefCell::default());
        Self { name, unit, range, powers: false, display_unit: Cell::new((unit, 1.0)), shown, message }
    }

    /// Sets scientific notation, e.g. 6e-5.
    pub(crate) fn in_powers(mut self, powers: bool) -> Self {
        self.powers = powers;
        self
    }

    /// Draws a slider with the number.
    pub(crate) fn slider_ui<N: Numeric>(
        &self,
        ui: &mut Ui,
        number: &mut N,
        tuned: impl FnOnce(Slider<'_>) -> Slider<'_>,
    ) -> egui::Response {
        let range = N::from_f64(*self.range.start())..=N::from_f64(*self.range.end());
        let plain = ui.style().number_formatter.clone();
        self.display_unit.set(display_unit(units(ui), self.unit));
        let slider = tuned(Slider::new(number, range).suffix(self.suffix()));
        let slider = slider
            .custom_formatter(|number, decimals| self.show(number, |number| plain.format(number, decimals)))
            .custom_parser(|text| self.read(text))
            .update_while_editing(false);
        let response = ui.add(slider);
        self.queue_message(ui);
        response
    }

    /// Draws the number alone, to drag or type.
    pub(crate) fn drag_ui<N: Numeric>(
        &self,
        ui: &mut Ui,
        number: &mut N,
        tuned: impl FnOnce(DragValue<'_>) -> DragValue<'_>,
    ) -> egui::Response {
        let range = N::from_f64(*self.range.start())..=N::from_f64(*self.range.end());
        let plain = ui.style().number_formatter.clone();
        self.display_unit.set(display_unit(units(ui), self.unit));
        let field = tuned(DragValue::new(number).range(range).suffix(self.suffix()));
        let field = field
            .custom_formatter(|number, decimals| self.show(number, |number| plain.format(number, decimals)))
            .custom_parser(|text| self.read(text))
            .update_while_editing(false);
        let response = ui.add(field);
        access::name(&response, self.name);
        self.queue_message(ui);
        response
    }

    fn suffix(&self) -> String {
        let (unit, _) = self.display_unit.get();
        let short = !unit.is_empty() && unit.chars().count() <= LONGEST_SUFFIX;
        if short { format!(" {unit}") } else { String::new() }
    }

    fn show(&self, number: f64, plain: impl FnOnce(f64) -> String) -> String {
        let number = self.display_unit.get().1 * number;
        let text = if self.powers { format_scientific(number) } else { plain(number) };
        self.shown.borrow_mut().clone_from(&text);
        text
    }

    /// Returns the typed number clamped to the range, or `None` if the text is unchanged or invalid.
    fn read(&self, text: &str) -> Option<f64> {
        // An unchanged text keeps the digits that are not displayed.
        if text == *self.shown.borrow() {
            return None;
        }
        let (unit, times) = self.display_unit.get();
        let number = match evaluate(text, unit) {
            Ok(number) => number / times,
            Err(why) => {
                *self.message.borrow_mut() = Some(format!("{}: {why}", self.name));
                return None;
            }
        };
        let within = number.clamp(*self.range.start(), *self.range.end());
        // A bound typed as displayed may lie slightly outside the range, by rounding.
        if (within - number).abs() > 1e-4 * within.abs() {
            let (size, bound) = if within < number { ("large", "maximum") } else { ("small", "minimum") };
            let rounded_bound = Rounded(times * within);
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            let message =
                format!("{}: \"{}\" is too {size}. Set to the {bound}, {rounded_bound}{unit}.", self.name, text.trim());
            *self.message.borrow_mut() = Some(message);
        }
        Some(within)
    }

    fn queue_message(&self, ui: &Ui) {
        if let Some(message) = self.message.take() {
            ui.data_mut(|data| data.get_temp_mut_or_default::<Vec<String>>(message_id()).push(message));
        }
    }
}

/// Sets the display units of number fields.
pub(crate) fn set_units(context: &egui::Context, units: UnitSystem) {
    context.data_mut(|data| data.insert_temp(units_id(), units));
}

/// Returns the display units of number fields.
pub(crate) fn units(ui: &Ui) -> UnitSystem {
    ui.data(|data| data.get_temp(units_id())).unwrap_or_default()
}

fn units_id() -> egui::Id {
    egui::Id::new("units")
}

fn message_id() -> egui::Id {
    egui::Id::new("field messages")
}

/// Takes the messages of number fields.
pub(crate) fn take_messages(context: &egui::Context) -> Vec<AppCommand> {
    let messages = context.data_mut(|data| data.remove_temp::<Vec<String>>(message_id())).unwrap_or_default();
    messages.into_iter().map(|text| WindowCommand::ShowError(text).into()).collect()
}

/// A number rounded to six significant digits for display.
pub(crate) struct Rounded(pub(crate) f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (5.0 - self.0.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0);
        let power = 10.0_f64.powf(digits);
        // Without the sign of a negative zero.
        write!(f, "{}", (self.0 * power).round() / power + 0.0)
    }
}

/// Formats a number in scientific notation with up to three digits, e.g. 6e-5.
fn format_scientific(number: f64) -> String {
    let text = format!("{number:.2e}");
    match text.split_once('e') {
        Some((digits, power)) if digits.contains('.') => {
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// Evaluates a text in a unit.
///
/// The decimal separator is a point or a comma, each number may have a unit of the same quantity, and arithmetic is allowed.
///
/// # Errors
///
/// Returns a message if the text is not a number or a unit does not match.
fn evaluate(text: &str, unit: &str) -> Result<f64, String> {
    let sum = in_unit(text, unit)?;
    let number = exmex::eval_str::<f64>(&sum).ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("\"{}\" is not a number. Enter e.g. {}.", text.trim(), example(unit)))
}

fn example(unit: &str) -> String {
    let unit = if unit.is_empty() { "5 %".to_owned() } else { format!("5 {unit}") };
    format!("12.5, {unit} or 2*3")
}

/// Returns an expression with all numbers converted to one unit.
fn in_unit(text: &str, unit: &str) -> Result<String, String> {
    let (mut sum, mut rest) = (String::new(), text.trim());
    while let Some(first) = rest.chars().next() {
        let length = length_of_number(rest);
        if length > 0 {
            let number = decimal(&rest[..length])
                .ok_or_else(|| format!("\"{}\" is not a number. Enter e.g. {}.", text.trim(), example(unit)))?;
            sum.push_str(&format!("{number}"));
            rest = &rest[length..];
        } else {
            sum.push(match first {
                '−' => '-',
                '×' | '·' => '*',
                '÷' => '/',
                other => other,
            });
            rest = &rest[first.len_utf8()..];
        }
        if length > 0 || first == ')' {
            let behind = rest.trim_start();
            if let Some(typed) = unit_of(behind, unit) {
                sum.push_str(&format!("*{}", factor(typed, unit)?));
                rest = &behind[typed.len()..];
            }
        }
    }
    Ok(sum)
}

/// Returns the length in bytes of the number at the beginning of a text: grouped digits, decimal separator, exponent.
fn length_of_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    loop {
        let behind = text[end..].chars().next().filter(|sign| [' ', '\'', '\u{a0}', '\u{202f}'].contains(sign));
        let mark = bytes.get(end).is_some_and(|sign| [b'.', b','].contains(sign)) && (end > 0 || digit(end + 1));
        if digit(end) || mark {
            end += 1;
        } else if let Some(gap) = behind.filter(|gap| end > 0 && (0..3).all(|at| digit(end + gap.len_utf8() + at))) {
            end += gap.len_utf8();
        } else {
            break;
        }
    }
    if end > 0 && bytes.get(end).is_some_and(|sign| [b'e', b'E'].contains(sign)) {
        let signed = usize::from(bytes.get(end + 1).is_some_and(|sign| [b'+', b'-'].contains(sign)));
        if digit(end + 1 + signed) {
            end += 1 + signed;
            while digit(end) {
                end += 1;
            }
        }
    }
    end
}

/// Parses a decimal number. The last point or comma is the decimal separator; one that occurs repeatedly or before it groups digits.
fn decimal(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|sign| sign.is_ascii()).filter(|sign| ![' ', '\''].contains(sign)).collect();
    let (points, commas) = (text.matches('.').count(), text.matches(',').count());
    let mark = match (points, commas) {
        (1, 0) => Some('.'),
        (0, 1) => Some(','),
        (0, _) | (_, 0) => None,
        _ if points == 1 && text.rfind('.') > text.rfind(',') => Some('.'),
        _ if commas == 1 && text.rfind(',') > text.rfind('.') => Some(','),
        _ => return None,
    };
    let plain: String = text
        .chars()
        .filter(|sign| ![',', '.'].contains(sign) || Some(*sign) == mark)
        .map(|sign| if Some(sign) == mark { '.' } else { sign })
        .collect();
    plain.parse().ok()
}

/// Returns the longest unit with which a text begins.
fn unit_of<'a>(text: &'a str, own: &str) -> Option<&'a str> {
    let all = UNITS.iter().flat_map(|(_, units)| units.iter().map(|(unit, _)| *unit)).chain([own]);
    let fits = all.filter(|unit| !unit.is_empty() && text.starts_with(unit)).filter(|unit| {
        let behind = text[unit.len()..].chars().next();
        let letters = unit.ends_with(char::is_alphanumeric) && behind.is_some_and(char::is_alphanumeric);
        // Between two numbers, `×` is the multiplication sign.
        let multiplies = *unit == "×" && !text[unit.len()..].trim().is_empty();
        !letters && !multiplies
    });
    fits.map(str::len).max().map(|length| &text[..length])
}

/// Returns the conversion factor from a typed unit to the unit of a field.
fn factor(typed: &str, own: &str) -> Result<f64, String> {
    // "% of a cell" is entered in "%".
    let short = own.split(' ').next().unwrap_or(own);
    if typed == own || typed == short {
        return Ok(1.0);
    }
    let find = |unit: &str| {
        UNITS.iter().find_map(|(kind, units)| Some((*kind, units.iter().find(|(name, _)| *name == unit)?.1)))
    };
    match (find(typed), find(short)) {
        (Some((kind, size)), Some((wanted, own))) if kind == wanted => Ok(size / own),
        _ if own.is_empty() => Err(format!("\"{typed}\" does not apply to a dimensionless value. Omit it, or use %.")),
        _ => Err(format!("\"{typed}\" cannot be converted to {own}. Use {own}, or omit the unit.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scientific_notation_has_three_digits() {
        for (number, text) in [(6e-5, "6e-5"), (1e-6, "1e-6"), (1.234e-3, "1.23e-3"), (0.01, "1e-2"), (0.0, "0e0")] {
            assert_eq!(format_scientific(number), text);
        }
    }

    #[test]
    fn expressions_and_units_evaluate() {
        let same = [
            ("0,1", "", 0.1),
            ("0.1", "", 0.1),
            (",5", "", 0.5),
            ("1 000", "", 1000.0),
            ("1'000,5", "", 1000.5),
            ("1,234.5", "", 1234.5),
            ("1.234,5", "", 1234.5),
            ("1,000,000", "", 1e6),
            ("6e-5", "1/step", 6e-5),
            ("2E3", "", 2000.0),
            ("-3", "", -3.0),
            ("−3", "", -3.0),
            ("2*3", "", 6.0),
            ("2 × 3", "", 6.0),
            ("(1+2)/4", "", 0.75),
            ("1/3", "", 1.0 / 3.0),
            ("2^3", "", 8.0),
            ("10 m", "m", 10.0),
            ("10m", "m", 10.0),
            ("1,5 km", "m", 1500.0),
            ("10 m + 5 cm", "m", 10.05),
            ("(2+3) km", "m", 5000.0),
            ("10 m/2", "m", 5.0),
            ("36 km/h", "m/s", 10.0),
            ("0.01 m/s", "mm/h", 36_000.0),
            ("2 min", "s", 120.0),
            ("1 h", "min", 60.0),
            ("5 %", "", 0.05),
            ("5 %", "%", 5.0),
            ("5%", "% of a cell", 5.0),
            ("2×", "×", 2.0),
            ("2 l/s", "m³/s", 0.002),
            ("1 ha", "m²", 1e4),
            ("3 droplets", "droplets", 3.0),
            ("512 MB", "GB", 0.512),
            ("90°", "°", 90.0),
        ];
        for (text, unit, wanted) in same {
            let found = evaluate(text, unit).unwrap_or_else(|why| panic!("{why}"));
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{text:?} in {unit:?} is {wanted}, not {found}");
        }
    }

    #[test]
    fn invalid_number_error_shows_example() {
        let bad = [
            ("abc", "m", "\"abc\" is not a number. Enter e.g. 12.5, 5 m or 2*3."),
            ("", "", "\"\" is not a number. Enter e.g. 12.5, 5 % or 2*3."),
            ("1/0", "", "\"1/0\" is not a number. Enter e.g. 12.5, 5 % or 2*3."),
            ("2*", "", "\"2*\" is not a number. Enter e.g. 12.5, 5 % or 2*3."),
            ("1.2.3,4,5", "", "\"1.2.3,4,5\" is not a number. Enter e.g. 12.5, 5 % or 2*3."),
            ("5 s", "m", "\"s\" cannot be converted to m. Use m, or omit the unit."),
            ("5 m", "", "\"m\" does not apply to a dimensionless value. Omit it, or use %."),
            ("m", "m", "\"m\" is not a number. Enter e.g. 12.5, 5 m or 2*3."),
        ];
        for (text, unit, wanted) in bad {
            assert_eq!(evaluate(text, unit).expect_err(text), wanted);
        }
    }

    #[test]
    fn out_of_range_number_is_clamped_with_message() {
        let field = NumberField::new("Speed", "m/s", 0.0..=40.0_f32);
        assert_eq!(field.read("500"), Some(40.0));
        assert_eq!(field.message.take().as_deref(), Some("Speed: \"500\" is too large. Set to the maximum, 40 m/s."));
        assert_eq!(field.read("-1"), Some(0.0));
        assert_eq!(field.message.take().as_deref(), Some("Speed: \"-1\" is too small. Set to the minimum, 0 m/s."));
        assert_eq!((field.read("12"), field.message.take()), (Some(12.0), None));
    }

    #[test]
    fn metre_field_displays_and_accepts_feet() {
        let field = NumberField::new("Height", "m", 0.0..=100.0_f32);
        field.display_unit.set(display_unit(UnitSystem::Feet, "m"));
        assert_eq!(
            (field.show(30.48, |number| format!("{number:.1}")), field.suffix()),
            ("100.0".to_owned(), " ft".to_owned())
        );
        let near = |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found - wanted).abs() < 1e-9);
        assert!(near(field.read("10"), 3.048) && near(field.read("10 m"), 10.0) && near(field.read("2 yd"), 1.8288));
        assert_eq!(field.read("1 mi"), Some(100.0));
        let message = field.message.take().unwrap_or_default();
        assert!(
            message.starts_with("Height: \"1 mi\" is too large. Set to the maximum, 328.084")
                && message.contains("328.084 ft."),
            "{message}"
        );
    }

    #[test]
    fn unedited_number_keeps_hidden_digits() {
        let field = NumberField::new("Speed", "m/s", 0.0..=40.0_f32);
        let text = field.show(0.123_456, |_| "0.1235".to_owned());
        assert_eq!(field.read(&text), None);
        assert_eq!(field.read("0.1236"), Some(0.1236));
    }
}
