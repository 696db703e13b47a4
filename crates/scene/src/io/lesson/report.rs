//! Report for the teacher: answers with the correct ones, readings with measurements, and charts. A self-contained HTML page or a PDF
//! document.

use std::{fmt::Write, path::Path};

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{
    io::{
        Error, chart,
        markup::{MarkupPart, markup, pieces},
        output,
        page::{self, wrap_text},
        reference::escape_html,
    },
    model::{
        chart::{Chart, Curve, format_with_unit},
        formula::{Formula, typeset::TypesetFormula},
        lesson::{Answer, Attempt, LessonStep, Task},
    },
};

/// Export formats of a report: label and file extension.
pub const KINDS: [(&str, &str); 2] = [("Web page (HTML)", "html"), ("Document (PDF)", "pdf")];

/// Assessment of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    /// A prediction or unanswered.
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
}

/// Writes the report of an attempt, as PDF or HTML according to the file extension; HTML if it is unknown.
///
/// # Errors
/// The file cannot be written.
pub fn save(attempt: &Attempt, student: &str, charts: &[Chart], path: &Path) -> Result<(), Error> {
    let blocks = blocks(attempt, student, charts);
    let bytes = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pdf")) {
        page::pdf(&pages(&blocks)).map_err(|wrong| Error::output(path, wrong, "save it as HTML"))?
    } else {
        html_page(&attempt.lesson.head.title, &blocks).into_bytes()
    };
    output::replace(path, |file| output::write(file, bytes))
}

fn blocks(attempt: &Attempt, student: &str, charts: &[Chart]) -> Vec<ReportBlock> {
    let head = &attempt.lesson.head;
    let name = if student.trim().is_empty() { "No name given" } else { student.trim() };
    let version = env!("CARGO_PKG_VERSION");
    let mut blocks = vec![
        ReportBlock::Title(head.title.clone()),
        ReportBlock::Note(format!("{name} · Thalweg {version} · scene {}", head.scene)),
    ];
    // Run tasks without text have nothing to report.
    let told = |step: &LessonStep| match &step.task {
        Some(Task::Run { .. }) => !step.text.trim().is_empty(),
        task => task.is_some(),
    };
    for (number, step) in attempt.lesson.steps.iter().enumerate().filter(|(_, step)| told(step)) {
        blocks.push(ReportBlock::Heading(step.title.clone()));
        blocks.push(ReportBlock::Text(step.text.clone()));
        blocks.extend(answer(attempt, step, number));
    }
    if !charts.is_empty() {
        blocks.push(ReportBlock::Heading("My charts".to_owned()));
        blocks.extend(charts.iter().cloned().map(ReportBlock::Chart));
    }
    blocks.push(ReportBlock::Note(head.source.clone()));
    blocks
}

/// Returns the answer to a step, with the correct one if revealed.
fn answer(attempt: &Attempt, step: &LessonStep, number: usize) -> Option<ReportBlock> {
    let task = step.task.as_ref()?;
    let said = task.key().and_then(|key| attempt.answers.get(key));
    let verdict = |right| if right { Verdict::Right } else { Verdict::Wrong };
    let (verdict, text) = match (task, said) {
        (Task::Run { .. }, _) => return None,
        (Task::Reveal { guess }, _) if attempt.is_done(number) => {
            match (attempt.task(guess), attempt.answers.get(guess)) {
                (Some(Task::Choose { options, right, .. }), Some(Answer::Chosen(chosen))) => {
                    (verdict(chosen == right), format!("Answer: {}. Correct: {}.", options[*chosen], options[*right]))
                }
                (Some(Task::Draw { .. }), Some(_)) => {
                    (Verdict::Open, "The drawing is shown above, with the terrain.".to_owned())
                }
                _ => (Verdict::Open, "Not answered yet.".to_owned()),
            }
        }
        (Task::Reveal { .. }, _) => (Verdict::Open, "Not revealed yet.".to_owned()),
        (Task::Choose { options, .. }, Some(Answer::Chosen(chosen))) => {
            (Verdict::Open, format!("Answer: {}", options[*chosen]))
        }
        (Task::Estimate { of, unit, .. }, Some(Answer::Number(number))) => {
            (Verdict::Open, format!("Prediction, {of}: {}", format_with_unit(*number, unit)))
        }
        (Task::Draw { .. }, Some(Answer::Line(drawn))) => {
            return Some(ReportBlock::Chart(profiles(&[("drawn", drawn)])));
        }
        (Task::Draw { .. }, Some(Answer::Profile { drawn, found })) => {
            return Some(ReportBlock::Chart(profiles(&[("drawn", drawn), ("terrain", found)])));
        }
        (Task::Measure { unit, guess, .. }, Some(Answer::Measured { read, found })) => {
            let mut text = format!(
                "Reading: {}. Measured by the program: {}.",
                format_with_unit(*read, unit),
                format_with_unit(*found, unit)
            );
            if let Some(Answer::Number(number)) = guess.as_ref().and_then(|key| attempt.answers.get(key)) {
                let _ = write!(text, " Prediction: {}.", format_with_unit(*number, unit));
            }
            (verdict(task.is_within_tolerance(*read, *found)), text)
        }
        _ => (Verdict::Open, "Not answered yet.".to_owned()),
    };
    Some(ReportBlock::Answer(verdict, text))
}

/// Profiles along the section, over the distance as a percentage of its length.
fn profiles(heights: &[(&str, &Vec<f32>)]) -> Chart {
    let curve = |(name, heights): &(&str, &Vec<f32>)| {
        let last = heights.len().saturating_sub(1).max(1) as f64;
        let place = |(place, height): (usize, &f32)| [100.0 * place as f64 / last, f64::from(*height)];
        Curve::line(*name, heights.iter().enumerate().map(place))
    };
    let chart = Chart::new("profile", "Drawn profile", ["% of the section", "m"]);
    heights.iter().map(curve).fold(chart, Chart::with_curve)
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.6em;margin-bottom:.2em}h2{font-size:1.1em;margin:1.6em 0 .3em}code,pre{background:#f3f3f3}\
.of{color:#666}.right::before{content:'✓ ';color:#007a55}.wrong::before{content:'✗ ';color:#b3400a}\
.answer{background:#f6f8fa;border-left:3px solid #bbb;padding:.4em .8em;margin:.4em 0}svg{display:block;margin:.6em 0}math{margin-right:1.4em}\
@media print{h2{break-after:avoid}.answer,svg{break-inside:avoid}}";

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
                let next = if let Some(ReportBlock::Chart(_)) = blocks.get(number + 1) { chart_height } else { 30.0 };
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
    use crate::{io::lesson::parse, model::chart::Chart};

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

    fn volume() -> Chart {
        let curve = Curve::line("eroded", [[0.0, 1.0], [20.0, 5.0]]);
        Chart::new("volume", "Volume", ["tick", "m³"]).with_curve(curve)
    }

    #[test]
    fn html_report_has_results_and_escapes_student_name() {
        let open = html_page("t", &blocks(&attempt(), "", &[]));
        assert_eq!(open.matches("Not answered yet.").count(), 3);
        let page = html_page("Heaps & <b>", &blocks(&answered(), "<script>Ada</script>", &[volume()]));
        for part in [
            "<h1>Heaps &amp; &lt;b&gt;</h1>",
            "&lt;script&gt;Ada&lt;/script&gt; · Thalweg",
            "<em>steep</em>",
            "<mfrac><mi>h</mi><mi>r</mi></mfrac>",
            "<p class=\"answer wrong\">Answer: y. Correct: x.</p>",
            "<p class=\"answer right\">Reading: 31°. Measured by the program: 33.25°. Prediction: 30°.</p>",
            "d=\"M64.0 204.0L506.0 44.0\"",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn heading_stays_with_following_block() {
        for lines in 0..60 {
            for (after, mark) in
                [(ReportBlock::Chart(volume()), "aria-label=\"Volume\""), (ReportBlock::Text("below".into()), "below")]
            {
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
        let pages = pages(&blocks(&answered(), "Ada <3", &many));
        assert!(pages.len() > 2, "{} pages", pages.len());
        assert_eq!(pages.iter().map(|page| page.matches("aria-label=\"Volume\"").count()).sum::<usize>(), 7);
        let slanted = "skewX(-12)\" font-size=\"10.58\" fill=\"#222222\">h</text>";
        for part in [slanted, "Ada &lt;3 · Thalweg", "How steep?", "• two", "✖ Answer: y. Correct: x."] {
            assert!(pages[0].contains(part), "{part} is not in {}", pages[0]);
        }
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("report.pdf");
        save(&answered(), "李雷 Ада", &many, &path).unwrap_or_else(|error| panic!("{error}"));
        let bytes = std::fs::read(&path).unwrap_or_default();
        assert_eq!(String::from_utf8_lossy(&bytes).matches("/MediaBox").count(), pages.len());
    }
}
