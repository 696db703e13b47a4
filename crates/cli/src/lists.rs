//! `thalweg scenes` and `thalweg params`: listings for people and scripts.

use serde_json::json;

use super::{Failure, print};
use thalweg_scene::{
    io::scene::{BUILT_IN, DEFAULT, open_first},
    model::{origin::Options, session::Session},
};
use thalweg_sim::{
    params::{Knob, Parameter, Value, collect_parameters},
    simulation::Simulation,
};

pub(super) fn scenes(as_json: bool) -> Result<(), Failure> {
    let (mut rows, mut text) = (Vec::new(), String::new());
    for (name, _) in BUILT_IN {
        let Session { title, about, ticks, .. } = open_first(name, &Options::default())?;
        text += &format!("{name:<16} {title}: {about}\n");
        rows.push(json!({"name": name, "title": title, "about": about, "ticks": ticks}));
    }
    print(&if as_json { format!("{:#}\n", json!(rows)) } else { text })
}

fn all_parameters() -> Result<Vec<Parameter>, Failure> {
    let mut session = open_first(DEFAULT, &Options::default())?;
    session.terrain = Default::default();
    session.look = Default::default();
    session.simulation.slots = Simulation::new(session.simulation.terrain.clone(), 1).slots;
    Ok(session.groups().into_iter().flat_map(collect_parameters).collect())
}

pub(super) fn params(markdown: bool, as_json: bool) -> Result<(), Failure> {
    let all = all_parameters()?;
    let text = if as_json {
        let rows: Vec<_> = all
            .iter()
            .map(|parameter| {
                let knob = &parameter.knob;
                let number = matches!(parameter.value, Value::Number(_) | Value::Color(_));
                json!({
                    "key": parameter.path, "kind": parameter.kind(), "min": number.then_some(knob.min), "max": number.then_some(knob.max),
                    "default": match &parameter.value {
                        Value::Number(number) => json!(number),
                        Value::Switch(on) => json!(on),
                        Value::Choice(name) => json!(name),
                        Value::Color(color) => json!(color),
                    },
                    "choices": parameter.choices, "unit": knob.unit, "symbol": knob.symbol, "source": knob.source,
                    "only": knob.only, "grows": knob.grows, "doc": one_paragraph(parameter.doc),
                })
            })
            .collect();
        format!("{:#}\n", json!(rows))
    } else {
        let mut text = String::new();
        if markdown {
            text += "| key | range | default | unit | symbol | meaning | source |\n|---|---|---|---|---|---|---|\n";
        }
        for parameter in &all {
            let knob = &parameter.knob;
            let range = match parameter.value {
                Value::Number(_) | Value::Color(_) => format!("{}–{}", knob.min, knob.max),
                Value::Switch(_) => "true, false".to_owned(),
                Value::Choice(_) => parameter.choices.join(", "),
            };
            let mut doc = one_paragraph(parameter.doc);
            if !knob.only.is_empty() {
                doc += &format!(" Only with {}.", knob.only.replace(' ', ", ").replace('|', " or "));
            }
            if knob.grows {
                doc += " The default is for 256 × 256 cells and scales with the number of cells.";
            }
            let (Parameter { path, value, .. }, Knob { unit, symbol, source, .. }) = (parameter, knob);
            text += &if markdown {
                format!("| `{path}` | {range} | {value} | {unit} | {symbol} | {doc} | {source} |\n")
            } else {
                format!("{path:<28} {value} {unit} [{range}]\n    {doc}\n")
            };
        }
        text
    };
    print(&text)
}

fn one_paragraph(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
