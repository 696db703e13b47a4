//! Conversion of Markdown to HTML, with equations as MathML. Equations are the lines of code blocks marked as `text`, and paragraphs that
//! consist of inline code only.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd, html};

use super::reference::escape_html;
use crate::model::formula::Formula;

/// Part of a Markdown text.
pub enum MarkupPart<'a> {
    /// A line that is an equation.
    Equation(String),
    Other(Event<'a>),
}

/// Splits Markdown into equations and other events.
pub fn pieces(text: &str) -> Vec<MarkupPart<'_>> {
    let events: Vec<Event<'_>> = Parser::new(text).collect();
    let (mut pieces, mut rest) = (Vec::with_capacity(events.len()), &*events);
    while let Some((event, after)) = rest.split_first() {
        rest = after;
        match (event, after) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))), after) if &**language == "text" => {
                let end = after.iter().position(|event| matches!(event, Event::End(_))).unwrap_or(after.len());
                let text: String = after[..end]
                    .iter()
                    .filter_map(|event| if let Event::Text(text) = event { Some(&**text) } else { None })
                    .collect();
                pieces.extend(text.lines().map(|line| MarkupPart::Equation(line.to_owned())));
                rest = &after[(end + 1).min(after.len())..];
            }
            (Event::Start(Tag::Paragraph), [Event::Code(code), Event::End(TagEnd::Paragraph), after @ ..]) => {
                pieces.push(MarkupPart::Equation(code.to_string()));
                rest = after;
            }
            _ => pieces.push(MarkupPart::Other(event.clone())),
        }
    }
    pieces
}

/// Converts Markdown to HTML.
pub fn markup(text: &str) -> String {
    let html = |piece| match piece {
        MarkupPart::Equation(line) => Event::Html(format!("<div class=\"equation\">{}</div>\n", mathml(&line)).into()),
        MarkupPart::Other(event) => event,
    };
    let mut page = String::new();
    html::push_html(&mut page, pieces(text).into_iter().map(html));
    page
}

/// Converts an equation to display-style MathML. Equations on one line become one element each, so that the line can wrap.
fn mathml(text: &str) -> String {
    let parts = if let Formula::Row(parts) = Formula::parse(text) { parts } else { vec![Formula::parse(text)] };
    let equations = parts.split(|part| *part == Formula::Gap).filter(|equation| !equation.is_empty());
    let element =
        |equation: &[Formula]| format!("<math displaystyle=\"true\">{}</math>", part(&Formula::Row(equation.to_vec())));
    equations.map(element).collect::<Vec<_>>().join(" ")
}

fn part(formula: &Formula) -> String {
    let operator = |text: &str| format!("<mo>{}</mo>", escape_html(text));
    match formula {
        Formula::Row(parts) => format!("<mrow>{}</mrow>", parts.iter().map(part).collect::<String>()),
        Formula::Letter(text) => match text.strip_suffix('′') {
            Some(plain) => format!("<msup><mi>{}</mi><mo>′</mo></msup>", escape_html(plain)),
            None => format!("<mi>{}</mi>", escape_html(text)),
        },
        Formula::Upright(text) if text.starts_with(|first: char| first.is_ascii_digit()) => format!("<mn>{text}</mn>"),
        Formula::Upright(text) if text.starts_with(char::is_alphabetic) => {
            format!("<mtext>{}</mtext>", escape_html(text))
        }
        Formula::Upright(text) => format!("<mo form=\"prefix\" stretchy=\"false\">{}</mo>", escape_html(text)),
        Formula::Sign(text) => operator(text),
        Formula::Blank => "<mspace width=\"0.3em\"></mspace>".to_owned(),
        Formula::Gap => "<mspace width=\"2em\"></mspace>".to_owned(),
        Formula::Scripts(base, subscript, superscript) => {
            let [base, subscript, superscript] =
                [Some(base), subscript.as_ref(), superscript.as_ref()].map(|part_of| part_of.map(|it| part(it)));
            let name = if subscript.is_none() {
                "msup"
            } else if superscript.is_none() {
                "msub"
            } else {
                "msubsup"
            };
            format!("<{name}>{}</{name}>", [base, subscript, superscript].into_iter().flatten().collect::<String>())
        }
        Formula::Fraction(above, below) => format!("<mfrac>{}{}</mfrac>", part(above), part(below)),
        Formula::Root(inside) => format!("<msqrt>{}</msqrt>", part(inside)),
        Formula::Parentheses(inside) => format!("<mrow>{}{}{}</mrow>", operator("("), part(inside), operator(")")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_become_mathml_and_other_code_stays() {
        let text = "One `a` in a line.\n\n`q = √τ·(A/ha)^θ`\n\n```text\nKc < 2\n1 > w\n```\n\n```sh\nls\n```\n";
        let made = markup(text);
        let root = "<math displaystyle=\"true\"><mrow><mi>q</mi><mo>=</mo><msqrt><mi>τ</mi></msqrt><mo>·</mo><msup><mrow><mo>(</mo>\
                    <mfrac><mi>A</mi><mtext>ha</mtext></mfrac><mo>)</mo></mrow><mi>θ</mi></msup></mrow></math>";
        assert!(made.contains(root), "{made}");
        assert!(made.contains("<msub><mi>K</mi><mtext>c</mtext></msub><mo>&lt;</mo><mn>2</mn>"), "{made}");
        assert_eq!(made.matches("<math ").count(), 3, "{made}");
        assert!(made.contains("One <code>a</code> in a line.") && made.contains("ls"), "{made}");
        let two = markup("`a = b      c = d`");
        assert!(two.matches("<math ").count() == 2 && two.contains("</math> <math "), "{two}");
    }
}
