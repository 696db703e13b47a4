//! The page that a student hands in: answers beside what was right, readings beside measurements, and plots, as one HTML file that needs
//! no other.

use std::{cmp::Ordering, fmt::Write};

use pulldown_cmark::{Parser, html};

use crate::{
    io::reference::escaped,
    model::lesson::{Answer, Attempt, Step, Task},
};

/// Curves of a run in one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What is shown.
    pub title: String,
    /// What lies along the axes, with units.
    pub axes: [String; 2],
    /// Names and points of the curves.
    pub curves: Vec<(String, Vec<[f64; 2]>)>,
}

/// Width and height of a plot, and the room for its numbers, in pixels.
const SIZE: [f64; 2] = [520.0, 220.0];
const ROOM: [f64; 2] = [64.0, 34.0];
/// Colours that colour-blind eyes tell apart (Okabe & Ito 2008).
const COLORS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.6em;margin-bottom:.2em}h2{font-size:1.1em;margin:1.6em 0 .3em}code,pre{background:#f3f3f3}\
.of{color:#666}.right::before{content:'✓ ';color:#007a55}.wrong::before{content:'✗ ';color:#b3400a}\
.answer{background:#f6f8fa;border-left:3px solid #bbb;padding:.4em .8em;margin:.4em 0}svg{display:block;margin:.6em 0}\
@media print{h2{break-after:avoid}.answer,svg{break-inside:avoid}}";

/// The page of a lesson as far as the student has come.
pub fn page(attempt: &Attempt, student: &str, plots: &[Plot]) -> String {
    let head = &attempt.lesson.head;
    let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let name = if student.trim().is_empty() { "No name was given" } else { student.trim() };
    let _ = write!(
        page,
        "<title>{0}</title><style>{STYLE}</style></head>\n<body><h1>{0}</h1><p class=\"of\">{1} · Thalweg {2} · scene {3}</p>\n",
        escaped(&head.title),
        escaped(name),
        env!("CARGO_PKG_VERSION"),
        escaped(&head.scene)
    );
    for (number, step) in attempt.lesson.steps.iter().enumerate() {
        if step.task.is_none() {
            continue;
        }
        let _ = writeln!(page, "<h2>{}</h2>", escaped(&step.title));
        page.push_str(&markdown(&step.text));
        page.push_str(&answer(attempt, step, number));
    }
    if !plots.is_empty() {
        page.push_str("<h2>My plots</h2>\n");
        plots.iter().for_each(|plot| page.push_str(&svg(plot)));
    }
    let _ = writeln!(page, "<p class=\"of\">{}</p></body></html>", escaped(&head.source));
    page
}

/// What was answered in a step, and what was right.
fn answer(attempt: &Attempt, step: &Step, number: usize) -> String {
    let Some(task) = &step.task else { return String::new() };
    let said = task.key().and_then(|key| attempt.answers.get(key));
    let line = |class: &str, text: &str| format!("<p class=\"answer {class}\">{text}</p>\n");
    let (class, text) = match (task, said) {
        (Task::Run { .. }, _) => return String::new(),
        (Task::Reveal { guess }, _) if attempt.done(number) => {
            match (attempt.task(guess), attempt.answers.get(guess)) {
                (Some(Task::Choose { options, right, .. }), Some(Answer::Chosen(chosen))) => {
                    let class = if chosen == right { "right" } else { "wrong" };
                    (class, format!("Chosen: {}. Right: {}.", escaped(&options[*chosen]), escaped(&options[*right])))
                }
                (Some(Task::Draw { .. }), Some(_)) => ("", "The drawing stands above, beside the ground.".to_owned()),
                _ => ("", "Not answered yet.".to_owned()),
            }
        }
        (Task::Reveal { .. }, _) => ("", "Not looked at yet.".to_owned()),
        (Task::Choose { options, .. }, Some(Answer::Chosen(chosen))) => {
            ("", format!("Chosen: {}", escaped(&options[*chosen])))
        }
        (Task::Estimate { of, unit, .. }, Some(Answer::Number(number))) => {
            ("", format!("Predicted, {}: {} {}", escaped(of), told(*number), escaped(unit)))
        }
        (Task::Draw { .. }, Some(Answer::Line(drawn))) => return svg(&profiles(&[("drawn", drawn)])),
        (Task::Draw { .. }, Some(Answer::Profile { drawn, found })) => {
            return svg(&profiles(&[("drawn", drawn), ("the ground", found)]));
        }
        (Task::Measure { unit, guess, .. }, Some(Answer::Measured { read, found })) => {
            let class = if task.agrees(*read, *found) { "right" } else { "wrong" };
            let unit = escaped(unit);
            let mut text = format!("Read: {} {unit}. Measured by the program: {} {unit}.", told(*read), told(*found));
            if let Some(Answer::Number(number)) = guess.as_ref().and_then(|key| attempt.answers.get(key)) {
                let _ = write!(text, " Predicted: {} {unit}.", told(*number));
            }
            (class, text)
        }
        _ => ("", "Not answered yet.".to_owned()),
    };
    line(class, &text)
}

/// Profiles along the section, as shares of its length.
fn profiles(heights: &[(&str, &Vec<f32>)]) -> Plot {
    let curve = |(name, heights): &(&str, &Vec<f32>)| {
        let last = heights.len().saturating_sub(1).max(1) as f64;
        let place = |(place, height): (usize, &f32)| [100.0 * place as f64 / last, f64::from(*height)];
        ((*name).to_owned(), heights.iter().enumerate().map(place).collect())
    };
    let axes = ["% of the section".to_owned(), "m".to_owned()];
    Plot { title: "Profile".to_owned(), axes, curves: heights.iter().map(curve).collect() }
}

/// A number with four digits that count.
pub fn told(number: f64) -> String {
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

fn markdown(text: &str) -> String {
    let mut page = String::new();
    html::push_html(&mut page, Parser::new(text));
    page
}

/// A plot as a picture within the page. Curves differ by colour and by dashes.
fn svg(plot: &Plot) -> String {
    let points =
        || plot.curves.iter().flat_map(|(_, points)| points).filter(|point| point.iter().all(|at| at.is_finite()));
    let span = |axis: usize| {
        let (low, high) =
            points().fold((f64::MAX, f64::MIN), |(low, high), point| (low.min(point[axis]), high.max(point[axis])));
        match low.total_cmp(&high) {
            Ordering::Less => (low, high),
            Ordering::Equal => (low - 1.0, high + 1.0),
            // There are no points.
            Ordering::Greater => (0.0, 1.0),
        }
    };
    let spans = [span(0), span(1)];
    let inner = [SIZE[0] - ROOM[0] - 12.0, SIZE[1] - 2.0 * ROOM[1]];
    let at = |point: &[f64; 2]| {
        let share = [0, 1].map(|axis| (point[axis] - spans[axis].0) / (spans[axis].1 - spans[axis].0));
        [ROOM[0] + share[0] * inner[0], ROOM[1] + (1.0 - share[1]) * inner[1]]
    };
    let [width, height] = SIZE;
    let mut picture = format!(
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"{0}\" \
         font-size=\"11\">",
        escaped(&plot.title)
    );
    let [left, top] = ROOM;
    let (right, bottom) = (left + inner[0], top + inner[1]);
    let _ = write!(picture, "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#888\"/>");
    let mut write_at = |x: f64, y: f64, anchor: &str, text: &str| {
        let _ = write!(picture, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
    };
    write_at(left, bottom + 14.0, "middle", &told(spans[0].0));
    write_at(right, bottom + 14.0, "end", &told(spans[0].1));
    write_at(0.5 * (left + right), bottom + 28.0, "middle", &plot.axes[0]);
    write_at(left - 5.0, bottom, "end", &told(spans[1].0));
    write_at(left - 5.0, top + 8.0, "end", &told(spans[1].1));
    write_at(left - 5.0, top - 8.0, "end", &plot.axes[1]);
    for (number, (name, _)) in plot.curves.iter().enumerate() {
        write_at(left + 30.0 + 150.0 * number as f64, top - 8.0, "start", name);
    }
    for (number, (_, points)) in plot.curves.iter().enumerate() {
        let (color, dash) = (COLORS[number % COLORS.len()], DASHES[number % DASHES.len()]);
        let stroke = format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"");
        let x = left + 8.0 + 150.0 * number as f64;
        let _ = write!(picture, "<path d=\"M{x} {0}h18\" {stroke}/>", top - 12.0);
        let mut path = String::new();
        for point in points.iter().filter(|point| point.iter().all(|at| at.is_finite())).map(at) {
            let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { "M" } else { "L" }, point[0], point[1]);
        }
        let _ = write!(picture, "<path d=\"{path}\" {stroke}/>");
    }
    picture.push_str("</svg></figure>\n");
    picture
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::io::lesson::parse;

    #[test]
    fn the_page_has_name_answers_marks_and_plots_and_no_markup_of_the_student() {
        let text = "---\n(title: \"Heaps & <b>\", about: \"a\", level: \"l\", minutes: 5, source: \"s\", scene: \"round-hill\")\n---\n\
            ## Q\n\nHow *steep*?\n\n```ask\nChoose(key: \"q\", options: [\"x\", \"y\"], right: 0)\n```\n\n\
            ## E\n\n```ask\nEstimate(key: \"e\", of: \"slope\", unit: \"°\")\n```\n\n\
            ## M\n\n```ask\nMeasure(key: \"m\", of: \"slope.mean\", unit: \"°\", expect: (0, 90), guess: \"e\")\n```\n\n\
            ## R\n\n```ask\nReveal(guess: \"q\")\n```\n";
        let lesson = parse(Path::new("x.md"), text).unwrap_or_else(|error| panic!("{error}"));
        let mut attempt = Attempt::new(lesson, Default::default());
        assert_eq!(page(&attempt, "", &[]).matches("Not answered yet.").count(), 3);
        attempt.answers.insert("q".into(), Answer::Chosen(1));
        attempt.answers.insert("e".into(), Answer::Number(30.0));
        attempt.answers.insert("m".into(), Answer::Measured { read: 31.0, found: 33.25 });
        attempt.step = 4;
        attempt.reveal();
        let curve = ("eroded".to_owned(), vec![[0.0, 1.0], [10.0, f64::NAN], [20.0, 5.0]]);
        let axes = ["tick".to_owned(), "m³".to_owned()];
        let plot = Plot { title: "Volume".to_owned(), axes, curves: vec![curve] };
        let page = page(&attempt, "<script>Ada</script>", &[plot]);
        for part in [
            "<h1>Heaps &amp; &lt;b&gt;</h1>",
            "&lt;script&gt;Ada&lt;/script&gt; · Thalweg",
            "<em>steep</em>",
            "<p class=\"answer wrong\">Chosen: y. Right: x.</p>",
            "<p class=\"answer right\">Read: 31 °. Measured by the program: 33.25 °. Predicted: 30 °.</p>",
            "M64.0 186.0L508.0 34.0",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn numbers_have_four_digits_that_count() {
        for (number, text) in [
            (0.0, "0"),
            (33.5, "33.5"),
            (0.01234, "0.01234"),
            (123_456.0, "123456"),
            (1.5e9, "1.5e9"),
            (4e-6, "4e-6"),
            (-2.0, "-2"),
        ] {
            assert_eq!(told(number), text);
        }
    }
}
