//! Report for the teacher: all attempts at each task with the correct answers and the measured values, an image of the terrain, and
//! charts. A self-contained HTML page or a PDF document.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use chrono::Local;
use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{
    io::{
        Error, chart,
        export::hillshade,
        markup::{MarkupPart, markup, pieces},
        output,
        page::{self, wrap_text},
        png::rgb8_bytes,
        reference::escape_html,
    },
    model::{
        chart::{Chart, Curve, format_with_unit},
        formula::{Formula, typeset::TypesetFormula},
        lesson::{Answer, Attempt, LessonStep, Task},
        session::Session,
    },
};

/// Maximum side of the image of the terrain, in pixels.
const PICTURE_SIDE: usize = 800;

/// Export formats of a report: label and file extension.
pub const KINDS: [(&str, &str); 2] = [("Web page (HTML)", "html"), ("Document (PDF)", "pdf")];

/// Content of a report.
#[derive(Clone, Debug)]
pub struct LessonReport {
    /// The student's attempt.
    pub attempt: Attempt,
    /// Earlier answers by task key, oldest first.
    pub earlier: BTreeMap<String, Vec<Answer>>,
    /// Name of the student; may be empty.
    pub student: String,
    /// Date, as formatted by [`today`].
    pub date: String,
    /// Charts of the terrain.
    pub charts: Vec<Chart>,
    /// Image of the terrain.
    pub terrain: TopViewImage,
}

/// Image of the terrain in the top view.
#[derive(Clone, Debug, PartialEq)]
pub struct TopViewImage {
    /// Number of ticks.
    tick: u64,
    /// Columns and rows.
    size: (usize, usize),
    /// Red, green and blue of each pixel, row by row.
    pixels: Vec<u8>,
}

impl TopViewImage {
    /// Renders the present terrain with its water.
    pub fn of(session: &Session) -> Self {
        let (terrain, look) = (&session.simulation.terrain, &session.look);
        let (ground, water) = (terrain.ground(), (&terrain.water, &session.water_look));
        let (size, pixels) =
            hillshade::thumbnail(&ground, &terrain.sand, Some(water), terrain.cell_size, look, PICTURE_SIDE);
        Self { tick: session.simulation.ticks(), size, pixels }
    }

    /// Returns it as the address of an embedded PNG image.
    fn address(&self, path: &Path) -> Result<String, Error> {
        let bytes = rgb8_bytes(path, self.size, &self.pixels)?;
        Ok(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(bytes)))
    }
}

/// Returns the local date and time, with the name of the month.
pub fn today() -> String {
    Local::now().format("%-d %B %Y, %H:%M").to_string()
}

/// Assessment of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    /// Unanswered, or a prediction whose result the student does not know yet.
    Open,
}

/// Part of a report.
#[derive(Clone, Debug, PartialEq)]
enum ReportBlock {
    Title(String),
    /// Small grey text.
    Note(String),
    Heading(String),
    /// Markdown.
    Text(String),
    Answer(Verdict, String),
    Chart(Chart),
    /// Image of this width and height at an address.
    Image((usize, usize), String),
}

/// Writes a report, as PDF or HTML according to the file extension; HTML if it is unknown.
///
/// # Errors
/// The file cannot be written.
pub fn save(report: &LessonReport, path: &Path) -> Result<(), Error> {
    let blocks = blocks(report, report.terrain.address(path)?);
    let bytes = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pdf")) {
        page::pdf(&pages(&blocks)).map_err(|wrong| Error::output(path, wrong, "save it as HTML"))?
    } else {
        html_page(&report.attempt.lesson.head.title, &blocks).into_bytes()
    };
    output::replace(path, |file| output::write(file, bytes))
}

/// Returns the parts of a report, with the image of the terrain at this address.
fn blocks(report: &LessonReport, image: String) -> Vec<ReportBlock> {
    let LessonReport { attempt, student, date, charts, terrain, .. } = report;
    let head = &attempt.lesson.head;
    let name = if student.trim().is_empty() { "No name given" } else { student.trim() };
    let version = env!("CARGO_PKG_VERSION");
    let mut blocks = vec![
        ReportBlock::Title(head.title.clone()),
        ReportBlock::Note(format!("{name} · {date} · Thalweg {version} · scene {}", head.scene)),
    ];
    // Run tasks without text have nothing to report.
    let is_reported = |step: &LessonStep| match &step.task {
        Some(Task::Run { .. }) => !step.text.trim().is_empty(),
        task => task.is_some(),
    };
    for (number, step) in attempt.lesson.steps.iter().enumerate().filter(|(_, step)| is_reported(step)) {
        blocks.push(ReportBlock::Heading(step.title.clone()));
        blocks.push(ReportBlock::Text(step.text.clone()));
        blocks.extend(step.task.iter().flat_map(|task| answers(report, task, number)));
    }
    blocks.push(ReportBlock::Heading(format!("The terrain at tick {}", terrain.tick)));
    blocks.push(ReportBlock::Image(terrain.size, image));
    if !charts.is_empty() {
        blocks.push(ReportBlock::Heading("My charts".to_owned()));
        blocks.extend(charts.iter().cloned().map(ReportBlock::Chart));
    }
    blocks.push(ReportBlock::Note(head.source.clone()));
    blocks
}

const UNANSWERED: &str = "Not answered yet.";

/// Returns the answers to the task of a step in the order in which they were given.
fn answers(report: &LessonReport, task: &Task, number: usize) -> Vec<ReportBlock> {
    let attempt = &report.attempt;
    let Some(key) = task.key() else {
        return match task {
            Task::Reveal { guess } => vec![revealed(attempt, guess, number)],
            _ => Vec::new(),
        };
    };
    let all: Vec<&Answer> = report.earlier.get(key).into_iter().flatten().chain(attempt.answers.get(key)).collect();
    match task {
        _ if all.is_empty() => vec![ReportBlock::Answer(Verdict::Open, UNANSWERED.to_owned())],
        Task::Draw { .. } => vec![ReportBlock::Chart(drawings(&all))],
        _ => {
            let block = |(index, answer): (usize, &&Answer)| {
                let (verdict, text) = assessed(attempt, task, answer);
                let ordinal = if all.len() > 1 { format!("Attempt {}. ", index + 1) } else { String::new() };
                ReportBlock::Answer(verdict, ordinal + &text)
            };
            all.iter().enumerate().map(block).collect()
        }
    }
}

fn verdict(right: bool) -> Verdict {
    if right { Verdict::Right } else { Verdict::Wrong }
}

/// Assesses an answer to a task, with its text.
fn assessed(attempt: &Attempt, task: &Task, answer: &Answer) -> (Verdict, String) {
    match (task, answer) {
        (Task::Choose { key, options, right }, Answer::Chosen(chosen)) => {
            let known = if is_result_known(attempt, key) { verdict(chosen == right) } else { Verdict::Open };
            (known, format!("Answer: {}.", options[*chosen].trim_end_matches('.')))
        }
        (Task::Estimate { key, of, unit }, Answer::Number(number)) => {
            let mut tasks = attempt.lesson.steps.iter().filter_map(|step| step.task.as_ref());
            let measured = tasks.find_map(|task| match task {
                Task::Measure { key: own, guess: Some(guess), .. } if guess == key => {
                    Some((task, attempt.answers.get(own)?))
                }
                _ => None,
            });
            let known = match measured {
                Some((task, Answer::Measured { found, .. })) => verdict(task.is_within_tolerance(*number, *found)),
                _ => Verdict::Open,
            };
            (known, format!("Prediction, {of}: {}.", format_with_unit(*number, unit)))
        }
        (Task::Measure { unit, guess, .. }, Answer::Measured { read, found }) => {
            let mut text = format!(
                "Reading: {}. Measured by the program: {}.",
                format_with_unit(*read, unit),
                format_with_unit(*found, unit)
            );
            let guess = guess.as_ref().and_then(|key| Some((attempt.task(key)?, attempt.answers.get(key)?)));
            let _ = match guess {
                Some((_, Answer::Number(number))) => write!(text, " Prediction: {}.", format_with_unit(*number, unit)),
                Some((Task::Choose { options, right, .. }, Answer::Chosen(chosen))) => {
                    write!(text, " Prediction: {}. Correct: {}.", options[*chosen], options[*right])
                }
                _ => Ok(()),
            };
            (verdict(task.is_within_tolerance(*read, *found)), text)
        }
        _ => (Verdict::Open, UNANSWERED.to_owned()),
    }
}

/// Returns `true` if the student knows the result of a prediction: it was revealed or measured, or the lesson never shows it.
fn is_result_known(attempt: &Attempt, key: &str) -> bool {
    let shows = |task: &Task| match task {
        Task::Reveal { guess } | Task::Measure { guess: Some(guess), .. } => guess == key,
        _ => false,
    };
    let steps = attempt.lesson.steps.iter().enumerate();
    let mut shown = steps.filter(|(_, step)| step.task.as_ref().is_some_and(shows)).map(|(step, _)| step).peekable();
    shown.peek().is_none() || shown.any(|step| attempt.is_done(step))
}

/// Returns the last answer next to the correct one, if step `number` has revealed it.
fn revealed(attempt: &Attempt, guess: &str, number: usize) -> ReportBlock {
    let (verdict, text) = match (attempt.task(guess), attempt.answers.get(guess)) {
        _ if !attempt.is_done(number) => (Verdict::Open, "Not revealed yet.".to_owned()),
        (Some(Task::Choose { options, right, .. }), Some(Answer::Chosen(chosen))) => {
            (verdict(chosen == right), format!("Answer: {}. Correct: {}.", options[*chosen], options[*right]))
        }
        (Some(Task::Draw { .. }), Some(_)) => {
            (Verdict::Open, "The drawing is shown above, with the terrain.".to_owned())
        }
        _ => (Verdict::Open, UNANSWERED.to_owned()),
    };
    ReportBlock::Answer(verdict, text)
}

/// Returns the chart of all drawn profiles, with the terrain if it was revealed.
fn drawings(all: &[&Answer]) -> Chart {
    let mut heights = Vec::new();
    // The last one in front.
    for (index, answer) in all.iter().enumerate().rev() {
        let is_last = index + 1 == all.len();
        let name = if is_last { "drawn".to_owned() } else { format!("attempt {}", index + 1) };
        match answer {
            Answer::Profile { drawn, found } if is_last => {
                heights.extend([(name, drawn), ("terrain".to_owned(), found)]);
            }
            Answer::Line(drawn) | Answer::Profile { drawn, .. } => heights.push((name, drawn)),
            _ => {}
        }
    }
    profiles(&heights)
}

/// Profiles along the section, over the distance as a percentage of its length.
fn profiles(heights: &[(String, &Vec<f32>)]) -> Chart {
    let curve = |(name, heights): &(String, &Vec<f32>)| {
        let last = heights.len().saturating_sub(1).max(1) as f64;
        let place = |(place, height): (usize, &f32)| [100.0 * place as f64 / last, f64::from(*height)];
        Curve::line(name, heights.iter().enumerate().map(place))
    };
    let chart = Chart::new("profile", "Drawn profile", ["% of the section", "m"]);
    heights.iter().map(curve).fold(chart, Chart::with_curve)
}

/// Description of the image of the terrain.
const IMAGE: &str = "The terrain from above";

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.6em;margin-bottom:.2em}h2{font-size:1.1em;margin:1.6em 0 .3em}code,pre{background:#f3f3f3}\
.of{color:#666}.right::before{content:'✓ ';color:#007a55}.wrong::before{content:'✗ ';color:#b3400a}\
.answer{background:#f6f8fa;border-left:3px solid #bbb;padding:.4em .8em;margin:.4em 0}svg{display:block;margin:.6em 0}img{max-width:100%}math{margin-right:1.4em}\
@media print{h2{break-after:avoid}.answer,svg,img{break-inside:avoid}}";

fn html_page(title: &str, blocks: &[ReportBlock]) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let _ = writeln!(page, "<title>{}</title><style>{STYLE}</style></head>\n<body>", escape_html(title));
    for block in blocks {
        let _ = match block {
            ReportBlock::Title(text) => write!(page, "<h1>{}</h1>", escape_html(text)),
            ReportBlock::Note(text) => writeln!(page, "<p class=\"of\">{}</p>", escape_html(text)),
            ReportBlock::Heading(text) => writeln!(page, "<h2>{}</h2>", escape_html(text)),
            ReportBlock::Text(text) => writeln!(page, "{}", markup(text)),
            ReportBlock::Answer(verdict, text) => {
                let class = match verdict {
                    Verdict::Right => " right",
                    Verdict::Wrong => " wrong",
                    Verdict::Open => "",
                };
                writeln!(page, "<p class=\"answer{class}\">{}</p>", escape_html(text))
            }
            ReportBlock::Chart(chart) => writeln!(page, "{}", chart::svg(chart)),
            ReportBlock::Image((width, height), address) => {
                writeln!(page, "<img alt=\"{IMAGE}\" width=\"{width}\" height=\"{height}\" src=\"{address}\">")
            }
        };
    }
    page.push_str("</body></html>\n");
    page
}

/// Width, height and margin of an A4 page, in points.
const PAPER: [f64; 2] = [595.0, 842.0];
const MARGIN: f64 = 52.0;

/// Pages being laid out.
struct PageLayout {
    done: Vec<String>,
    now: String,
    /// Filled height of the current page.
    down: f64,
}

impl PageLayout {
    /// Reserves vertical space without a page break and returns its top.
    fn room(&mut self, height: f64) -> f64 {
        if self.down + height > PAPER[1] - MARGIN && self.down > MARGIN {
            self.turn();
        }
        let top = self.down;
        self.down += height;
        top
    }

    fn turn(&mut self) {
        let [width, height] = PAPER;
        let drawn = std::mem::take(&mut self.now);
        let number = self.done.len() + 1;
        self.done.push(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"{}\">{drawn}\
             <text x=\"{}\" y=\"{}\" font-size=\"9\" fill=\"#666666\" text-anchor=\"end\">{number}</text></svg>",
            page::FAMILY,
            width - MARGIN,
            height - 28.0
        ));
        self.down = MARGIN;
    }

    /// Adds wrapped text of this size, indented by `inset`.
    fn text(&mut self, text: &str, size: f64, (color, inset): (&str, f64)) {
        for line in wrap_text(text, size, PAPER[0] - 2.0 * MARGIN - inset) {
            let base = self.room(1.4 * size) + size;
            let _ = write!(
                self.now,
                "<text x=\"{}\" y=\"{base:.1}\" font-size=\"{size}\" fill=\"{color}\">{}</text>",
                MARGIN + inset,
                escape_html(&line)
            );
        }
    }

    /// Adds a typeset equation.
    fn equation(&mut self, text: &str, size: f32, color: &str) {
        const INSET: f64 = 14.0;
        let room = PAPER[0] - 2.0 * MARGIN - INSET;
        let set = TypesetFormula::new(&Formula::parse(text), &page::PageMetrics, size, room as f32);
        let top = self.room(f64::from(set.size.y) + 4.0) + 2.0;
        let _ = write!(
            self.now,
            "<g transform=\"translate({} {top:.1})\">{}</g>",
            MARGIN + INSET,
            page::equation(&set, color)
        );
    }
}

/// Returns width and height of an image on a page: as wide as the text, but at most half a page high.
fn image_size((columns, rows): (usize, usize)) -> [f64; 2] {
    let pixels = [columns, rows].map(|side| side.max(1) as f64);
    let scale = ((PAPER[0] - 2.0 * MARGIN) / pixels[0]).min(0.5 * PAPER[1] / pixels[1]);
    pixels.map(|side| side * scale)
}

/// Lays out the pages of a document, each as an SVG drawing.
fn pages(blocks: &[ReportBlock]) -> Vec<String> {
    const INK: &str = "#222222";
    let mut pages = PageLayout { done: Vec::new(), now: String::new(), down: MARGIN };
    let chart_scale = (PAPER[0] - 2.0 * MARGIN) / chart::SIZE[0];
    let chart_height = chart_scale * chart::SIZE[1] + 8.0;
    for (number, block) in blocks.iter().enumerate() {
        match block {
            ReportBlock::Title(text) => pages.text(text, 20.0, (INK, 0.0)),
            ReportBlock::Note(text) => {
                pages.down += 4.0;
                pages.text(text, 9.5, ("#666666", 0.0));
            }
            ReportBlock::Heading(text) => {
                pages.down += 12.0;
                // A heading stays on the page of the block after it.
                let next = match blocks.get(number + 1) {
                    Some(ReportBlock::Chart(_)) => chart_height,
                    Some(ReportBlock::Image(size, _)) => image_size(*size)[1] + 8.0,
                    _ => 30.0,
                };
                if pages.down + 30.0 + next > PAPER[1] - MARGIN {
                    pages.turn();
                }
                pages.text(text, 13.0, (INK, 0.0));
                pages.down += 2.0;
            }
            ReportBlock::Text(text) => {
                for paragraph in paragraphs(text) {
                    match paragraph {
                        Paragraph::Words(mark, line) => {
                            let inset = if mark.is_empty() { 0.0 } else { 10.0 };
                            pages.text(&format!("{mark}{line}"), 10.5, (INK, inset));
                        }
                        Paragraph::Equation(line) => pages.equation(&line, 11.5, INK),
                    }
                    pages.down += 4.0;
                }
            }
            ReportBlock::Answer(verdict, text) => {
                let (mark, color) = match verdict {
                    Verdict::Right => ("✔ ", "#007a55"),
                    Verdict::Wrong => ("✖ ", "#b3400a"),
                    Verdict::Open => ("", "#444444"),
                };
                let (page, top) = (pages.done.len(), pages.down);
                pages.text(&format!("{mark}{text}"), 10.5, (color, 10.0));
                let top = if pages.done.len() > page { MARGIN } else { top };
                let height = pages.down - top;
                let _ = write!(
                    pages.now,
                    "<rect x=\"{MARGIN}\" y=\"{top:.1}\" width=\"3\" height=\"{height:.1}\" fill=\"{color}\"/>"
                );
                pages.down += 4.0;
            }
            ReportBlock::Chart(chart) => {
                let top = pages.room(chart_height);
                let _ = write!(
                    pages.now,
                    "<g transform=\"translate({MARGIN} {top:.1}) scale({chart_scale:.4})\">{}</g>",
                    chart::svg(chart)
                );
            }
            ReportBlock::Image(size, address) => {
                let [width, height] = image_size(*size);
                let top = pages.room(height + 8.0);
                let _ = write!(
                    pages.now,
                    "<image x=\"{MARGIN}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" href=\"{address}\"/>"
                );
            }
        }
    }
    pages.turn();
    pages.done
}

/// Paragraph of a Markdown text.
#[derive(Debug, PartialEq)]
enum Paragraph {
    /// List marker, and the text without markup.
    Words(&'static str, String),
    Equation(String),
}

fn paragraphs(text: &str) -> Vec<Paragraph> {
    let (mut found, mut now, mut mark) = (Vec::new(), String::new(), "");
    for piece in pieces(text) {
        match piece {
            MarkupPart::Equation(line) => {
                if !now.trim().is_empty() {
                    found.push(Paragraph::Words(std::mem::take(&mut mark), std::mem::take(&mut now)));
                }
                found.push(Paragraph::Equation(line));
            }
            MarkupPart::Other(Event::Text(text) | Event::Code(text)) => now.push_str(&text),
            MarkupPart::Other(Event::SoftBreak | Event::HardBreak) => now.push(' '),
            MarkupPart::Other(Event::Start(Tag::Item)) => mark = "• ",
            MarkupPart::Other(Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::CodeBlock | TagEnd::Heading(_),
            )) if !now.trim().is_empty() => {
                found.push(Paragraph::Words(std::mem::take(&mut mark), std::mem::take(&mut now)));
            }
            MarkupPart::Other(Event::End(TagEnd::Item)) => mark = "",
            MarkupPart::Other(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        io::{decode_png_rgb8, lesson::parse, scene::open_first},
        model::chart::Chart,
    };

    fn attempt() -> Attempt {
        let text = "---\n(title: \"Heaps & <b>\", about: \"a\", level: \"l\", minutes: 5, source: \"s\", scene: \"round-hill\")\n---\n\
            ## Q\n\nHow *steep*?\n\n`tan φ = h/r`\n\n- one\n- two\n\n```ask\nChoose(key: \"q\", options: [\"x\", \"y\"], right: 0)\n```\n\n\
            ## E\n\n```ask\nEstimate(key: \"e\", of: \"slope\", unit: \"°\")\n```\n\n\
            ## M\n\n```ask\nMeasure(key: \"m\", of: \"slope.mean\", unit: \"°\", expect: (0, 90), guess: \"e\")\n```\n\n\
            ## R\n\n```ask\nReveal(guess: \"q\")\n```\n";
        let lesson = parse(Path::new("x.md"), text).unwrap_or_else(|error| panic!("{error}"));
        Attempt::new(lesson, Default::default())
    }

    fn answered() -> Attempt {
        let mut attempt = attempt();
        attempt.answers.insert("q".into(), Answer::Chosen(1));
        attempt.answers.insert("e".into(), Answer::Number(30.0));
        attempt.answers.insert("m".into(), Answer::Measured { read: 31.0, found: 33.25 });
        attempt.step = 4;
        attempt.reveal();
        attempt
    }

    fn report(attempt: Attempt, student: &str, charts: &[Chart]) -> LessonReport {
        LessonReport {
            attempt,
            earlier: BTreeMap::new(),
            student: student.to_owned(),
            date: "2026-05-03, 14:05".to_owned(),
            charts: charts.to_vec(),
            terrain: TopViewImage { tick: 7, size: (2, 1), pixels: vec![255, 0, 0, 0, 0, 255] },
        }
    }

    fn blocks(report: &LessonReport) -> Vec<ReportBlock> {
        let address = report.terrain.address(Path::new("report")).unwrap_or_else(|error| panic!("{error}"));
        super::blocks(report, address)
    }

    fn volume() -> Chart {
        let curve = Curve::line("eroded", [[0.0, 1.0], [20.0, 5.0]]);
        Chart::new("volume", "Volume", ["tick", "m³"]).with_curve(curve)
    }

    #[test]
    fn html_report_has_results_and_escapes_student_name() {
        let open = html_page("t", &blocks(&report(attempt(), "", &[])));
        assert_eq!(open.matches("Not answered yet.").count(), 3);
        let page = html_page("Heaps & <b>", &blocks(&report(answered(), "<script>Ada</script>", &[volume()])));
        for part in [
            "<h1>Heaps &amp; &lt;b&gt;</h1>",
            "&lt;script&gt;Ada&lt;/script&gt; · 2026-05-03, 14:05 · Thalweg",
            "<em>steep</em>",
            "<mfrac><mi>h</mi><mi>r</mi></mfrac>",
            "<p class=\"answer wrong\">Answer: y. Correct: x.</p>",
            "<p class=\"answer right\">Reading: 31°. Measured by the program: 33.25°. Prediction: 30°.</p>",
            "<h2>The terrain at tick 7</h2>",
            "width=\"2\" height=\"1\" src=\"data:image/png;base64,",
            "d=\"M64.0 204.0L506.0 44.0\"",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn picture_shows_the_terrain_and_its_water() {
        let mut session = open_first("round-hill", &Default::default()).unwrap_or_else(|error| panic!("{error}"));
        let dry = TopViewImage::of(&session);
        session.simulation.terrain.water.fill(1.0);
        let wet = TopViewImage::of(&session);
        assert_eq!((dry.tick, dry.size), (0, wet.size));
        let water = session.water_look.color.map(|part| (part * 255.0) as u8);
        assert!(wet.pixels.chunks_exact(3).all(|pixel| pixel == water));
        assert!(dry.pixels.chunks_exact(3).any(|pixel| pixel != water && pixel != &dry.pixels[..3]));
        let address = dry.address(Path::new("report")).unwrap_or_else(|error| panic!("{error}"));
        let bytes = address.strip_prefix("data:image/png;base64,").map(|text| BASE64_STANDARD.decode(text));
        let (size, pixels) = bytes.and_then(Result::ok).and_then(|bytes| decode_png_rgb8(&bytes)).expect("it is a PNG");
        assert_eq!(size, [dry.size.0, dry.size.1]);
        assert!(
            pixels
                .chunks_exact(pixels.len() / (size[0] * size[1]))
                .zip(dry.pixels.chunks_exact(3))
                .all(|(shown, pixel)| shown[..3] == *pixel)
        );
    }

    #[test]
    fn all_attempts_are_listed_and_wrong_predictions_marked() {
        let known = |attempt: &Attempt| {
            let mut report = report(attempt.clone(), "", &[]);
            report.earlier.insert("q".into(), vec![Answer::Chosen(0), Answer::Chosen(1)]);
            report.earlier.insert("m".into(), vec![Answer::Measured { read: 9.0, found: 33.25 }]);
            let answer = |block| match block {
                ReportBlock::Answer(verdict, text) => Some((verdict, text)),
                _ => None,
            };
            blocks(&report).into_iter().filter_map(answer).collect::<Vec<_>>()
        };
        let reading = |read: &str| format!("Reading: {read}°. Measured by the program: 33.25°. Prediction: 30°.");
        let mut attempt = answered();
        assert_eq!(
            known(&attempt),
            [
                (Verdict::Right, "Attempt 1. Answer: x.".to_owned()),
                (Verdict::Wrong, "Attempt 2. Answer: y.".to_owned()),
                (Verdict::Wrong, "Attempt 3. Answer: y.".to_owned()),
                (Verdict::Right, "Prediction, slope: 30°.".to_owned()),
                (Verdict::Wrong, format!("Attempt 1. {}", reading("9"))),
                (Verdict::Right, format!("Attempt 2. {}", reading("31"))),
                (Verdict::Wrong, "Answer: y. Correct: x.".to_owned()),
            ]
        );
        attempt.answers.insert("e".into(), Answer::Number(20.0));
        assert_eq!(known(&attempt)[3], (Verdict::Wrong, "Prediction, slope: 20°.".to_owned()));
        // Before the student knows the results, the report does not give them away.
        attempt =
            Attempt::new(attempt.lesson, [("q".into(), Answer::Chosen(1)), ("e".into(), Answer::Number(20.0))].into());
        let open = known(&attempt);
        assert!([0, 1, 2, 3, 5].map(|place| open[place].0) == [Verdict::Open; 5], "{open:?}");
    }

    #[test]
    fn drawings_are_compared_with_the_terrain_and_each_other() {
        let (first, drawn, found) = (vec![1.0, 1.0], vec![2.0, 2.0], vec![3.0, 3.0]);
        let all = [Answer::Line(first), Answer::Profile { drawn, found }];
        let chart = drawings(&all.iter().collect::<Vec<_>>());
        let curves: Vec<_> = chart.curves.iter().map(|curve| (&*curve.name, curve.points[0][1])).collect();
        assert_eq!(curves, [("drawn", 2.0), ("terrain", 3.0), ("attempt 1", 1.0)]);
    }

    #[test]
    fn heading_stays_with_following_block() {
        for lines in 0..60 {
            for (after, mark) in [
                (ReportBlock::Chart(volume()), "aria-label=\"Volume\""),
                (ReportBlock::Image((4, 3), "land.png".into()), "land.png"),
                (ReportBlock::Text("below".into()), "below"),
            ] {
                let mut blocks: Vec<ReportBlock> = (0..lines).map(|_| ReportBlock::Note("above".into())).collect();
                blocks.extend([ReportBlock::Heading("My charts".into()), after]);
                let pages = pages(&blocks);
                let page = pages.iter().find(|page| page.contains("My charts")).expect("it is there");
                assert!(page.contains(mark), "{lines} lines before it");
            }
        }
    }

    #[test]
    fn pdf_report_has_same_content_without_overflow() {
        let many = vec![volume(); 7];
        let pages = pages(&blocks(&report(answered(), "Ada <3", &many)));
        assert!(pages.len() > 2, "{} pages", pages.len());
        assert_eq!(pages.iter().map(|page| page.matches("aria-label=\"Volume\"").count()).sum::<usize>(), 7);
        let slanted = "skewX(-12)\" font-size=\"10.58\" fill=\"#222222\">h</text>";
        for part in
            [slanted, "Ada &lt;3 · 2026-05-03, 14:05 · Thalweg", "How steep?", "• two", "✖ Answer: y. Correct: x."]
        {
            assert!(pages[0].contains(part), "{part} is not in {}", pages[0]);
        }
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("report.pdf");
        save(&report(answered(), "李雷 Ада", &many), &path).unwrap_or_else(|error| panic!("{error}"));
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("/MediaBox").count(), pages.len());
        assert!(text.contains("/Subtype/Image") || text.contains("/Subtype /Image"), "the image is missing");
    }
}
