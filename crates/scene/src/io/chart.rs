//! Export of charts as CSV tables, SVG drawings and PNG images.

use std::{fmt::Write, path::Path};

use super::{Error, output, page, reference::escape_html};
use crate::model::chart::{Chart, MarkerStyle, format_number, ticks};

/// Export formats of a chart: label and file extension.
pub const KINDS: [(&str, &str); 3] = [("Image (PNG)", "png"), ("Table (CSV)", "csv"), ("Vector graphics (SVG)", "svg")];

/// Width and height of a chart, and the margin for its axis labels, in page pixels.
pub const SIZE: [f64; 2] = [520.0, 240.0];
const ROOM: [f64; 2] = [64.0, 44.0];
/// Line height of the legend, in pixels.
const LINE: f64 = 14.0;
/// Colour palette that is safe for colour-blind readers (Okabe & Ito 2008).
const COLORS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555"];
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];
/// Image pixels per page pixel.
const SHARPNESS: f32 = 3.0;

/// Returns all points as CSV: name of the curve, x and y.
pub fn csv(chart: &Chart) -> String {
    let mut text = output::csv_row(["curve", &chart.axes[0], &chart.axes[1]]);
    for curve in &chart.curves {
        for [x, y] in &curve.points {
            text += &output::csv_row([&*curve.name, &x.to_string(), &y.to_string()]);
        }
    }
    text
}

/// Writes a chart in the format of the file extension; PNG if the extension is unknown.
///
/// # Errors
/// The file cannot be written.
pub fn save(chart: &Chart, path: &Path) -> Result<(), Error> {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    let bytes = match ending.to_str() {
        Some("csv") => csv(chart).into_bytes(),
        Some("svg") => svg(chart).into_bytes(),
        _ => page::png(&svg(chart), SHARPNESS).map_err(|error| Error::output(path, error, "save it as CSV"))?,
    };
    output::replace(path, |file| output::write(file, bytes))
}

/// Draws a chart as SVG. Curves differ in colour and dash pattern.
pub fn svg(chart: &Chart) -> String {
    let [width, height] = SIZE;
    let title = escape_html(&chart.title);
    let range = chart.shown_range();
    let names = legend(chart, width - 14.0);
    let lines = names.iter().map(|(line, ..)| line + 1).max().unwrap_or(1);
    let [left, top] = [ROOM[0], ROOM[1] + LINE * (lines - 1) as f64];
    let inner = [width - left - 14.0, height - top - 36.0];
    let (right, bottom) = (left + inner[0], top + inner[1]);
    let at = |place: [f64; 2]| {
        let share = [0, 1].map(|axis| (place[axis] - range[axis][0]) / (range[axis][1] - range[axis][0]));
        [left + share[0] * inner[0], top + (1.0 - share[1]) * inner[1]]
    };
    let mut drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"{}, sans-serif\" font-size=\"11\"><rect width=\"{width}\" height=\"{height}\" \
         fill=\"#ffffff\"/>",
        page::FAMILY
    );
    let write_at = |drawing: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str| {
        let _ =
            write!(drawing, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape_html(text));
    };
    let mut line = |from: [f64; 2], to: [f64; 2], color: &str| {
        let _ = write!(
            drawing,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" fill=\"none\" stroke=\"{color}\"/>",
            from[0], from[1], to[0], to[1]
        );
    };
    let ticks = [(0, 8), (1, 5)].map(|(axis, most)| ticks(chart.logarithmic[axis], range[axis], most));
    for x in ticks[0].iter().map(|tick| at([*tick, 0.0])[0]) {
        line([x, top], [x, bottom], "#e4e4e4");
    }
    for y in ticks[1].iter().map(|tick| at([0.0, *tick])[1]) {
        line([left, y], [right, y], "#e4e4e4");
    }
    line([left, top], [left, bottom], "#888888");
    line([left, bottom], [right, bottom], "#888888");
    for (axis, ticks) in ticks.iter().enumerate() {
        // An axis that spans less than a decade is labelled at its ends instead.
        let ends = range[axis].to_vec();
        for tick in if ticks.is_empty() { &ends } else { ticks } {
            let text = chart.tick_text(axis, *tick);
            if axis == 0 {
                write_at(&mut drawing, [at([*tick, 0.0])[0], bottom + 14.0], "middle", &text);
            } else {
                write_at(&mut drawing, [left - 5.0, at([0.0, *tick])[1] + 4.0], "end", &text);
            }
        }
    }
    write_at(&mut drawing, [0.5 * (left + right), bottom + 29.0], "middle", &chart.axes[0]);
    write_at(&mut drawing, [6.0, top - 9.0], "start", &chart.axes[1]);
    let _ = write!(drawing, "<text x=\"6\" y=\"16\" font-size=\"13\">{title}</text>");
    let strokes = |number: usize| {
        let (color, dash) = (COLORS[number % COLORS.len()], DASHES[number % DASHES.len()]);
        (color, format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"1.6\" stroke-dasharray=\"{dash}\""))
    };
    for (number, ((line, x), curve)) in names.into_iter().zip(&chart.curves).enumerate() {
        let (color, stroke) = strokes(number);
        let base = ROOM[1] - 9.0 + LINE * line as f64;
        write_at(&mut drawing, [x + 24.0, base], "start", &curve.name);
        let _ = match curve.mark {
            MarkerStyle::Line => write!(drawing, "<path d=\"M{x:.1} {0:.1}h18\" {stroke}/>", base - 4.0),
            MarkerStyle::Dots | MarkerStyle::Cloud => {
                write!(drawing, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\" fill=\"{color}\"/>", x + 11.0, base - 4.0)
            }
        };
    }
    let _ = write!(
        drawing,
        "<clipPath id=\"frame-{}\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/></clipPath><g clip-path=\"url(#frame-{0})\">",
        chart.key, inner[0], inner[1]
    );
    for (number, curve) in chart.curves.iter().enumerate().rev() {
        let (color, stroke) = strokes(number);
        let places = curve.points.iter().map(|point| chart.place(*point).map(at));
        if curve.mark == MarkerStyle::Line {
            let mut path = String::new();
            for part in chart.stretches(&curve.points) {
                for (number, [x, y]) in part.into_iter().map(at).enumerate() {
                    let _ = write!(path, "{}{x:.1} {y:.1}", if number > 0 { "L" } else { "M" });
                }
            }
            let _ = write!(drawing, "<path d=\"{path}\" {stroke}/>");
        } else {
            let (radius, opacity) = if curve.mark == MarkerStyle::Dots { (2.5, 1.0) } else { (1.0, 0.4) };
            for [x, y] in places.flatten() {
                let _ = write!(
                    drawing,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\" fill-opacity=\"{opacity}\"/>"
                );
            }
        }
    }
    drawing.push_str("</g></svg>");
    drawing
}

/// Returns the legend line and x position of each curve's symbol. Lines start after the unit and end at the right edge of the frame.
fn legend(chart: &Chart, right: f64) -> Vec<(usize, f64)> {
    let left = 20.0 + page::width(&chart.axes[1], 11.0);
    let (mut line, mut end) = (0, left);
    let places = chart.curves.iter().map(|curve| {
        let wide = 24.0 + page::width(&curve.name, 11.0);
        if end > left && end + wide > right {
            (line, end) = (line + 1, left);
        }
        let place = (line, end);
        end += wide + 12.0;
        place
    });
    places.collect()
}

/// Describes the chart and its axis ranges as text for screen readers.
pub fn describe(chart: &Chart) -> String {
    let range = chart.shown_range();
    let ends = |axis: usize| {
        let [low, high] = range[axis].map(|end| if chart.logarithmic[axis] { 10.0_f64.powf(end) } else { end });
        format!("{} from {} to {}", chart.axes[axis], format_number(low), format_number(high))
    };
    let names: Vec<&str> = chart.curves.iter().map(|curve| curve.name.as_str()).collect();
    format!("{}: {}, {}; {}", chart.title, ends(0), ends(1), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chart::Curve;

    fn chart() -> Chart {
        let gap = Curve::line("eroded, all", [[0.0, 1.0], [10.0, f64::NAN], [20.0, 5.0], [30.0, 4.0]]);
        let dots = Curve::line("a \"place\"", [[5.0, 2.0]]).with_mark(MarkerStyle::Dots);
        Chart::new("volume", "Volume <over> time", ["tick", "million m³"]).with_curve(gap).with_curve(dots)
    }

    #[test]
    fn csv_lists_every_point_and_quotes_names() {
        let table = csv(&chart());
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows[0], "curve,tick,million m³");
        assert_eq!(rows[1], "\"eroded, all\",0,1");
        assert_eq!(rows[5], "\"a \"\"place\"\"\",5,2");
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn svg_breaks_line_at_missing_point_and_escapes_title() {
        let drawing = svg(&chart());
        assert!(drawing.contains("Volume &lt;over&gt; time"));
        assert!(drawing.contains("d=\"M64.0 204.0M358.7 44.0L506.0 84.0\""), "{drawing}");
        assert!(describe(&chart()).starts_with("Volume <over> time: tick from 0 to 30, million m³ from 1 to 5; "));
    }

    #[test]
    fn legend_wraps_within_image() {
        let many = (0..9).map(|number| Curve::line(format!("after tick {number}000"), [[0.0, 0.0], [1.0, 1.0]]));
        let chart = many.fold(Chart::new("many", "Many", ["m", "m"]), Chart::with_curve);
        let right = SIZE[0] - 14.0;
        let places = legend(&chart, right);
        assert!(places.iter().map(|(line, _)| *line).max() >= Some(1), "{places:?}");
        for ((_, x), curve) in places.iter().zip(&chart.curves) {
            assert!(x + 24.0 + page::width(&curve.name, 11.0) <= right, "{places:?}");
        }
    }

    #[test]
    fn chart_format_follows_file_extension() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        for (name, begin) in
            [("a.png", &b"\x89PNG"[..]), ("a.csv", b"curve,"), ("a.SVG", b"<svg "), ("none", b"\x89PNG")]
        {
            let path = folder.path().join(name);
            save(&chart(), &path).unwrap_or_else(|error| panic!("{error}"));
            assert!(std::fs::read(&path).unwrap_or_default().starts_with(begin), "{name}");
        }
        assert!(save(&chart(), &folder.path().join("a.csv/in-a-file.png")).is_err());
    }
}
