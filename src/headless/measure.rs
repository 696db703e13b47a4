//! `thalweg measure`: tells land from noise in numbers.

use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Failure, print, tell};
use crate::{
    io::{project, scene},
    model::origin::Options,
    sim::{
        measure::{Measures, Reading},
        terrain::Terrain,
    },
};

#[derive(Args)]
pub(super) struct Measure {
    /// A heightmap (.png, .exr, .r16, .r32, .tif, .asc), a built-in scene, a scene file (.ron) or a project (.thalweg), as it begins
    map: String,
    #[command(flatten)]
    reading: Reads,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How a file is read.
#[derive(Args)]
struct Reads {
    /// Cells of raw input without sidecar, N or WxH; other input is resampled
    #[arg(long, value_name = "N|WxH", value_parser = super::setup::parse_size)]
    size: Option<(usize, usize)>,
    /// Side of a cell, in metres
    #[arg(long, value_name = "M", value_parser = super::setup::parse_length)]
    cell_size: Option<f32>,
    /// Height of an integer format's smallest value, in metres
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    min_height: Option<f32>,
    /// Height of an integer format's largest value, in metres
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    max_height: Option<f32>,
}

impl Measure {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Reads { size, cell_size, min_height, max_height } = self.reading;
        let options = Options { size, cell_size, min_m: min_height, max_m: max_height };
        options.check_numbers().map_err(|unfit| Failure::bad_input(unfit.to_string()))?;
        let path = Path::new(&self.map);
        let sessions = match (project::is_project(path), options == Options::default()) {
            (true, true) => project::open_whole(path)?.sessions,
            (true, false) => {
                let sentence = "a project has its size and heights; leave --size, --cell-size and the heights out";
                return Err(Failure::bad_input(sentence));
            }
            (false, _) => scene::open(&self.map, &options)?,
        };
        let mut warnings: Vec<&String> = sessions.iter().flat_map(|session| &session.warnings).collect();
        warnings.dedup();
        warnings.into_iter().for_each(|warning| tell(&format!("warning: {warning}")));
        let all: Vec<(Value, String)> = sessions
            .iter()
            .map(|session| {
                let terrain = &session.simulation.terrain;
                let readings = Measures::of(terrain).readings();
                (report(&session.name, terrain, &readings), table(&session.title, &readings))
            })
            .collect();
        if self.json {
            let mut reports: Vec<Value> = all.into_iter().map(|(report, _)| report).collect();
            // Runs side by side are told one by one.
            let report = if reports.len() == 1 { reports.remove(0) } else { json!({ "tiles": reports }) };
            print(&format!("{report:#}\n"))
        } else {
            print(&all.into_iter().map(|(_, table)| table).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Readings of which something is expected, and how many of them lie where they do in real mountains.
fn score(readings: &[Reading]) -> (usize, usize) {
    let told: Vec<bool> = readings.iter().filter_map(Reading::is_real).collect();
    (told.iter().filter(|real| **real).count(), told.len())
}

fn report(name: &str, terrain: &Terrain, readings: &[Reading]) -> Value {
    let rows = readings.iter().map(|reading| {
        let real = reading.real.map(|(least, most)| [least, most]);
        // What is infinite has no number in JSON.
        let value = reading.value.filter(|value| value.is_finite());
        let row = json!({"title": reading.title, "value": value, "real": real, "is_real": reading.is_real()});
        (reading.key.to_owned(), row)
    });
    let (real, of) = score(readings);
    json!({
        "input": name,
        "size": [terrain.width(), terrain.height()],
        "cell_size_m": terrain.cell_size,
        "measures": rows.collect::<Map<String, Value>>(),
        "real": real,
        "of": of,
    })
}

fn table(title: &str, readings: &[Reading]) -> String {
    let (real, of) = score(readings);
    let mut text = format!("{title}: {real} of {of} measures lie where they do in real mountains\n");
    for reading in readings {
        let value = reading.value.map_or("none".to_owned(), |value| format!("{value:.4}"));
        let range = reading.real.map_or(String::new(), |(least, most)| format!("{least} to {most}"));
        let mark = match reading.is_real() {
            Some(true) => "as real land",
            Some(false) => "not as real land",
            None => "",
        };
        let line = format!("  {:<26}{value:>10}   {range:<14}{mark}", reading.title);
        text += line.trim_end();
        text.push('\n');
    }
    text
}
