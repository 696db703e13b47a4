//! Reference manual: processes with their equations, parameters, overlays and lessons as one self-contained HTML page, generated from the
//! declarations in the code, so that it cannot deviate from the program.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use super::{
    Error,
    lesson::built_in,
    markup::markup,
    output::{self, OutputSet},
};
use crate::model::{origin::Origin, session::Session};
use thalweg_sim::{
    core::quantity::Quantity,
    edit::{Brush, Selection},
    params::{Group, Parameter, Value, collect_parameters, title},
    process::{Info, catalogue, masked::masked_key},
};

/// File name of the page.
pub const PAGE: &str = "index.html";

const STYLE: &str = "body{font:16px/1.55 system-ui,sans-serif;margin:0;color:#1d2226;background:#fff;display:grid;\
grid-template-columns:15em minmax(0,1fr)}nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1em;background:#f3f4f3;\
box-sizing:border-box}nav a{display:block;color:#22543d;text-decoration:none;padding:.1em 0}nav a:hover{text-decoration:underline}\
main{padding:1em 2.5em;max-width:60em}h2{border-bottom:2px solid #60b084;padding-bottom:.2em;margin-top:2em}\
input{width:100%;box-sizing:border-box;font:inherit;padding:.3em .5em}table{border-collapse:collapse;width:100%;font-size:.9em}\
td,th{text-align:left;vertical-align:top;padding:.35em .6em;border-bottom:1px solid #ddd}th{color:#555}\
code,pre{background:#f3f4f3;font-size:.93em}pre{padding:.6em .8em;overflow:auto}.of{color:#60676c;font-size:.9em}\
math{font-size:1.15em;margin-right:1.4em}.equation{padding:.3em .8em;background:#f3f4f3;overflow:auto}\
@media print{body{display:block;font-size:10pt}nav,label{display:none}main{padding:0;max-width:none}\
.equation,pre{overflow:visible;white-space:pre-wrap}math{font-size:1em}tr,.equation{break-inside:avoid}h2,h3{break-after:avoid}}\
@media(max-width:50em){body{display:block}nav{position:static;height:auto}}";

/// Hides the rows that do not match the search.
const SCRIPT: &str = "const field=document.querySelector('input');field.addEventListener('input',()=>{\
const words=field.value.toLowerCase().split(/\\s+/).filter(word=>word);\
for(const row of document.querySelectorAll('[data-find]'))row.hidden=!words.every(word=>row.textContent.toLowerCase().includes(word));\
for(const part of document.querySelectorAll('section')){\
const prose=[...part.children].filter(child=>child.tagName!=='TABLE').map(child=>child.textContent).join(' ').toLowerCase();\
const rows=[...part.querySelectorAll('[data-find]')];\
part.hidden=!words.every(word=>prose.includes(word))&&rows.every(row=>row.hidden)}});";

/// Writes the page to a folder, which is created if missing. The user's settings are listed among the parameters.
///
/// # Errors
/// The page cannot be written.
pub fn write(folder: &Path, settings: Group<'_>) -> Result<(), Error> {
    let output = OutputSet::new(folder)?;
    output.write(PAGE, |file| output::write(file, page(settings)))?;
    output.publish(Some(PAGE.as_ref())).map(drop)
}

/// Writes a page in the same folder that redirects to a parameter or process in the reference. Browsers do not always preserve the
/// fragment of a file URL.
///
/// # Errors
/// The page cannot be written.
pub fn write_redirect(folder: &Path, at: &str) -> Result<PathBuf, Error> {
    let page = folder.join("at.html");
    // Mask factors are documented with their parameter.
    let at = escape_html(&at.replacen("-masked.", ".", 1));
    let text = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={PAGE}#{at}\">");
    output::replace(&page, |file| output::write(file, text))?;
    Ok(page)
}

/// Builds the page, with the user's settings among the parameters.
pub fn page(settings: Group<'_>) -> String {
    let fresh = Session::placeholder("", 1, Origin::default());
    let processes = catalogue();
    let infos: Vec<&Info> = processes.iter().map(|process| process.info()).collect();
    let (mut links, mut body) = (String::new(), String::new());
    let mut part = |key: &str, title: &str, text: &str| {
        let _ = write!(links, "<a href=\"#{key}\">{}</a>", escape_html(title));
        let _ = writeln!(body, "<section id=\"{key}\"><h2>{}</h2>\n{text}</section>", escape_html(title));
    };
    let (brush, selection) = (Brush::default(), Selection::default());
    let mut groups = fresh.groups();
    let beside: [Group<'_>; 3] = [("brush", &brush), ("selection", &selection), settings];
    groups.extend(beside);
    // Terrain, processes, rendering, tools and settings.
    groups.sort_by_key(|(group, _)| match *group {
        "terrain" | "range" => 0,
        "look" | "water-look" | "rivers" => 2,
        "brush" | "selection" => 3,
        "settings" => 4,
        _ => 1,
    });
    for (group, fields) in groups {
        let info = infos.iter().find(|info| info.key == group);
        if infos.iter().any(|info| masked_key(info.key) == group) {
            continue;
        }
        let text = info.map_or(String::new(), |info| process(info)) + &parameters(&collect_parameters((group, fields)));
        let heading = if group == "water-look" { "Water appearance".to_owned() } else { title(group) };
        part(group, &info.map_or(heading, |info| info.title.to_owned()), &text);
    }
    part("quantities", "Overlays", &quantities());
    part("lessons", "Lessons", &lessons());
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Thalweg {0}: reference</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body><nav><p><strong>Thalweg {0}</strong></p>\
         <label>Search <input type=\"search\"></label>{links}</nav>\n<main><h1>Reference</h1>\n<p>All processes with their equations, and all \
         parameters with range, unit, symbol and source. Generated from this version of Thalweg.</p>\n{body}</main>\
         <script>{SCRIPT}</script></body></html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Describes a process: its stages, equations and limiters.
fn process(info: &Info) -> String {
    let mut text = format!(
        "<p>{} <span class=\"of\">{}</span></p>\n<ol>",
        escape_html(info.about),
        escape_html(info.reference.source)
    );
    for stage in info.stages {
        let _ =
            write!(text, "<li><strong>{}</strong>: {}</li>", escape_html(&title(stage.name)), escape_html(stage.about));
    }
    text.push_str("</ol>\n");
    info.reference.equations.iter().for_each(|head| text += &markup(&module_docs(head)));
    if !info.limiters.is_empty() {
        text.push_str("<h3>Limiters</h3>\n<ul>");
        for limiter in info.limiters {
            let _ = write!(
                text,
                "<li><strong>{}</strong>: {}</li>",
                escape_html(&limiter.title()),
                escape_html(limiter.about)
            );
        }
        text.push_str("</ul>\n");
    }
    text
}

/// Extracts the module documentation of a source file as Markdown without names of code.
fn module_docs(file: &str) -> String {
    let lines = file.lines().map_while(|line| line.strip_prefix("//!"));
    let text = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let (mut plain, mut rest) = (String::new(), &*text);
    while let Some(at) = rest.find('`') {
        let (before, code) = (&rest[..at], &rest[at + 1..]);
        let Some((name, after)) = code.split_once('`') else { break };
        let is_link = before.ends_with('[') && after.starts_with(']');
        if !is_link && !name.ends_with(".rs") {
            plain += &rest[..at + 1 + name.len() + 1];
            rest = after;
            continue;
        }
        plain += if is_link { &before[..before.len() - 1] } else { before };
        rest = if is_link { &after[1..] } else { after };
        if let Some((_, after)) = rest.strip_prefix('(').filter(|_| is_link).and_then(|target| target.split_once(')')) {
            rest = after;
        }
        let opened = ["(", "(see ", "(see\n"].into_iter().find_map(|start| plain.strip_suffix(start).map(str::len));
        let over = plain.strip_suffix(" over ").and_then(|phrase| phrase.rfind(','));
        match (opened, rest.strip_prefix(')'), over) {
            // A reference in parentheses.
            (Some(end), Some(after), _) => {
                plain.truncate(plain[..end].trim_end().len());
                rest = after;
            }
            // The type of the numbers.
            (_, _, Some(end)) => plain.truncate(end),
            _ => plain += &name.trim_end_matches(".rs").rsplit("::").next().unwrap_or_default().replace('_', " "),
        }
    }
    plain + rest
}

fn parameters(all: &[Parameter]) -> String {
    let mut text =
        "<table><thead><tr><th>Parameter</th><th>Range</th><th>Default</th><th>Meaning</th></tr></thead><tbody>\n"
            .to_owned();
    for parameter in all {
        let knob = &parameter.knob;
        let range = match parameter.value {
            Value::Number(_) | Value::Color(_) => format!("{} to {}", knob.min, knob.max),
            Value::Switch(_) => "on, off".to_owned(),
            Value::Choice(_) => parameter.choices.join(", "),
        };
        let default = match parameter.value {
            Value::Switch(on) => if on { "on" } else { "off" }.to_owned(),
            _ => parameter.value.to_string(),
        };
        let unit = if knob.unit.is_empty() { String::new() } else { format!(" {}", knob.unit) };
        let symbol =
            if knob.symbol.is_empty() { String::new() } else { format!(" <em>{}</em>", escape_html(knob.symbol)) };
        let source = if knob.source.is_empty() { String::new() } else { format!(" ({})", knob.source) };
        let doc = parameter.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            text,
            "<tr data-find id=\"{0}\"><td><strong>{1}</strong>{symbol}<br><code>{0}</code></td><td>{2}{3}</td><td>{4}{3}</td>\
             <td>{5}<span class=\"of\">{6}</span></td></tr>",
            parameter.path,
            escape_html(&parameter.title()),
            escape_html(&range),
            escape_html(&unit),
            escape_html(&default),
            escape_html(&doc),
            escape_html(&source)
        );
    }
    text + "</tbody></table>\n"
}

fn quantities() -> String {
    let mut text = "<table><thead><tr><th>Overlay</th><th>Unit</th><th>Meaning</th></tr></thead><tbody>\n".to_owned();
    for quantity in Quantity::all() {
        let _ = writeln!(
            text,
            "<tr data-find><td><strong>{}</strong><br><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            escape_html(quantity.title()),
            quantity.key(),
            escape_html(quantity.unit()),
            escape_html(quantity.about())
        );
    }
    text + "</tbody></table>\n"
}

fn lessons() -> String {
    let mut text = "<table><thead><tr><th>Lesson</th><th>Minutes</th><th>About</th></tr></thead><tbody>\n".to_owned();
    for (name, lesson) in built_in() {
        let head = &lesson.head;
        let _ = writeln!(
            text,
            "<tr data-find><td><strong>{}</strong><br><code>thalweg learn {name}</code></td><td>{}</td><td>{} \
             <span class=\"of\">{}</span></td></tr>",
            escape_html(&head.title),
            head.minutes,
            escape_html(&head.about),
            escape_html(&head.source)
        );
    }
    text + "</tbody></table>\n"
}

/// Escapes text for HTML and SVG.
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn reference_lists_every_process_and_parameter_once() {
        let page = page(("settings", &Settings::default()));
        for process in catalogue() {
            let info = process.info();
            assert!(page.contains(&format!("<section id=\"{}\"", info.key)), "{}", info.key);
            let stated: String = info.reference.equations.iter().map(|head| module_docs(head)).collect();
            assert!(stated.contains("```text") || info.key == "thermal", "{} states no equation", info.key);
            for code in ["[`", "//!", "::", ".rs`"] {
                assert!(!stated.contains(code), "{code} in {stated}");
            }
        }
        let mut all: Vec<Parameter> =
            Session::placeholder("", 1, Origin::default()).groups().into_iter().flat_map(collect_parameters).collect();
        // Settings and tools are included.
        all.extend(collect_parameters(("brush", &Brush::default())));
        all.extend(collect_parameters(("selection", &Selection::default())));
        all.extend(collect_parameters(("settings", &Settings::default())));
        for parameter in all {
            let count = page.matches(&format!(" id=\"{}\"", parameter.path)).count();
            assert_eq!(count, usize::from(!parameter.path.contains("-masked.")), "{}", parameter.path);
        }
        assert!(page.matches("<math ").count() > 20 && page.contains("<msup><mi>A</mi><mi>m</mi></msup>"));
        assert_eq!(page.matches("thalweg learn ").count(), built_in().len());
    }

    #[test]
    fn module_documentation_has_no_names_of_code() {
        for (text, plain) in [
            ("//! Streams (`streams.rs`) and `A` (see [`crate::simd`]).", "Streams and `A`."),
            (
                "//! Steps, generic over [`Real`]: flow\n//! routing ([`drainage`](crate::drainage)); a",
                "Steps: flow\nrouting; a",
            ),
            ("//! L = [`super::Params::step_length`] in cells\nfn main() {}", "L = step length in cells"),
        ] {
            assert_eq!(module_docs(text), plain);
        }
    }

    #[test]
    fn reference_is_written_with_redirects() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("reference");
        write(&place, ("settings", &Settings::default())).unwrap_or_else(|error| panic!("{error}"));
        let read = std::fs::read_to_string(place.join(PAGE)).expect("it was written");
        assert_eq!(read, page(("settings", &Settings::default())));
        for at in ["droplets.erosion_rate", "droplets-masked.erosion_rate"] {
            let redirect = write_redirect(&place, at).unwrap_or_else(|error| panic!("{error}"));
            let redirect = std::fs::read_to_string(redirect).expect("it was written");
            assert!(redirect.contains("url=index.html#droplets.erosion_rate\""), "{redirect}");
        }
    }
}
