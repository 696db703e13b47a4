//! Charts as data, for panels, files and reports.

use std::cmp::Ordering;

/// Marker style of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkerStyle {
    /// Points connected by a line.
    #[default]
    Line,
    /// One dot per point.
    Dots,
    /// One small, faint dot per point, for very many points.
    Cloud,
}

/// Data series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Marker style.
    pub mark: MarkerStyle,
    /// Coordinates along both axes. Points that are not finite are skipped.
    pub points: Vec<[f64; 2]>,
}

/// Minimum and maximum along both axes.
pub type Range = [[f64; 2]; 2];

/// Chart with one or more curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Short identifier, used in file names.
    pub key: &'static str,
    /// Title.
    pub title: String,
    /// Axis labels with units.
    pub axes: [String; 2],
    /// `true` for each logarithmic axis, on which values that are not positive are skipped.
    pub logarithmic: [bool; 2],
    /// Fixed range, if different from that of the points.
    pub range: Option<Range>,
    /// Curves, front to back.
    pub curves: Vec<Curve>,
}

impl Curve {
    /// Creates a curve drawn as a line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        Self { name: name.into(), mark: MarkerStyle::Line, points: points.into_iter().collect() }
    }

    /// Returns the curve with another marker style.
    pub fn with_mark(self, mark: MarkerStyle) -> Self {
        Self { mark, ..self }
    }
}

impl Chart {
    /// Creates an empty chart.
    pub fn new(key: &'static str, title: impl Into<String>, axes: [&str; 2]) -> Self {
        Self { key, title: title.into(), axes: axes.map(str::to_owned), ..Self::default() }
    }

    /// Adds a curve behind the others.
    pub fn with_curve(mut self, curve: Curve) -> Self {
        self.curves.push(curve);
        self
    }

    /// Returns the axis coordinate of a value: its decimal logarithm if the axis is logarithmic. `None` if it cannot be shown.
    pub fn axis_coordinate(&self, axis: usize, value: f64) -> Option<f64> {
        let along = if self.logarithmic[axis] { (value > 0.0).then(|| value.log10())? } else { value };
        along.is_finite().then_some(along)
    }

    /// Returns the axis coordinates of a point.
    pub fn place(&self, point: [f64; 2]) -> Option<[f64; 2]> {
        Some([self.axis_coordinate(0, point[0])?, self.axis_coordinate(1, point[1])?])
    }

    /// Splits points into contiguous segments that can be shown, in axis coordinates.
    pub fn stretches(&self, points: &[[f64; 2]]) -> Vec<Vec<[f64; 2]>> {
        let places: Vec<_> = points.iter().map(|point| self.place(*point)).collect();
        let parts = places.split(Option::is_none).map(|part| part.iter().flatten().copied().collect());
        parts.filter(|part: &Vec<_>| !part.is_empty()).collect()
    }

    /// Returns the visible range in axis coordinates. It is never empty.
    pub fn shown_range(&self) -> Range {
        [0, 1].map(|axis| {
            let fixed = self.range.map(|range| range[axis].map(|end| self.axis_coordinate(axis, end)));
            let ends = match fixed {
                Some([Some(low), Some(high)]) => (low, high),
                _ => self.ends(axis),
            };
            match ends.0.total_cmp(&ends.1) {
                Ordering::Less => [ends.0, ends.1],
                // A time axis starts at 0 before the first tick.
                Ordering::Equal if axis == 0 && ends.0 == 0.0 => [0.0, 1.0],
                Ordering::Equal => [ends.0 - 1.0, ends.1 + 1.0],
                // There are no points.
                Ordering::Greater => [0.0, 1.0],
            }
        })
    }

    /// Returns minimum and maximum of the points along an axis, reversed if there are no points.
    fn ends(&self, axis: usize) -> (f64, f64) {
        let points = self.curves.iter().flat_map(|curve| &curve.points).filter_map(|point| self.place(*point));
        points.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at[axis]), high.max(at[axis])))
    }

    /// Returns the label of a tick mark.
    pub fn tick_text(&self, axis: usize, along: f64) -> String {
        format_number(if self.logarithmic[axis] { 10.0_f64.powf(along) } else { along })
    }
}

/// Returns round tick positions between the ends of an axis, about `most` of them, in axis coordinates.
pub fn ticks(logarithmic: bool, [low, high]: [f64; 2], most: usize) -> Vec<f64> {
    let rough = (high - low) / most.max(1) as f64;
    let power = 10.0_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    // No ticks between powers of ten on a logarithmic axis.
    let step = if logarithmic { step.max(1.0).round() } else { step };
    if !(step > 0.0 && step.is_finite()) {
        return Vec::new();
    }
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    // No ticks if the axis is shorter than the rounding error of its numbers.
    if last.saturating_sub(first) > 2 * most as i64 + 2 {
        Vec::new()
    } else {
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

/// Formats a number with four significant digits.
pub fn format_number(number: f64) -> String {
    // Without the sign of a negative zero.
    let number = number + 0.0;
    let size = if number == 0.0 { 0 } else { number.abs().log10().floor() as i32 };
    match size {
        -4..=5 => {
            let decimals = (3 - size).clamp(0, 6) as usize;
            let text = format!("{number:.decimals$}");
            if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
        }
        _ => {
            let text = format!("{number:.3e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Formats a number with its unit. A degree sign follows without a space.
pub fn format_with_unit(number: f64, unit: &str) -> String {
    let blank = if unit.is_empty() || unit.starts_with('°') { "" } else { " " };
    format!("{}{blank}{unit}", format_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        for (number, text) in [
            (0.0, "0"),
            (33.5, "33.5"),
            (0.01234, "0.01234"),
            (123_456.0, "123456"),
            (1.5e9, "1.5e9"),
            (4e-6, "4e-6"),
            (-2.0, "-2"),
        ] {
            assert_eq!(format_number(number), text);
        }
        assert_eq!(
            [format_with_unit(33.98, "°"), format_with_unit(5.0, "m"), format_with_unit(0.5, "")],
            ["33.98°", "5 m", "0.5"]
        );
    }

    #[test]
    fn log_axis_skips_nonpositive_and_ticks_powers_of_ten() {
        let mut chart = Chart::new("c", "c", ["km²", "slope"]);
        chart.curves.push(Curve::line("a", [[0.0, 1.0], [0.01, 0.5], [100.0, -1.0], [1000.0, 0.002]]));
        assert_eq!(chart.shown_range(), [[0.0, 1000.0], [-1.0, 1.0]]);
        chart.logarithmic = [true, true];
        let [x, y] = chart.shown_range();
        assert_eq!(x, [-2.0, 3.0]);
        assert!((y[0] - 0.002_f64.log10()).abs() < 1e-12 && (y[1] - 0.5_f64.log10()).abs() < 1e-12);
        let ticks: Vec<String> = ticks(true, x, 6).iter().map(|tick| chart.tick_text(0, *tick)).collect();
        assert_eq!(ticks, ["0.01", "0.1", "1", "10", "100", "1000"]);
    }

    #[test]
    fn axis_range_is_fixed_or_derived_and_never_empty() {
        let mut chart = Chart::new("c", "c", ["tick", "m"]);
        assert_eq!(chart.shown_range(), [[0.0, 1.0], [0.0, 1.0]]);
        chart.curves.push(Curve::line("a", [[5.0, 3.0], [f64::NAN, 99.0]]));
        assert_eq!(chart.shown_range(), [[4.0, 6.0], [2.0, 4.0]]);
        chart.range = Some([[0.0, 50.0], [-1.0, 1.0]]);
        assert_eq!(chart.shown_range(), [[0.0, 50.0], [-1.0, 1.0]]);
        assert_eq!(ticks(false, [0.0, 50.0], 5), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
    }
}
