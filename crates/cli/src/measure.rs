//! `thalweg measure`: compares the morphometry of a heightmap with real mountains.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Failure, print, setup};
use thalweg_scene::io::{Budget, project, scene};
use thalweg_sim::{
    core::terrain::Terrain,
    measure::{BYTES_PER_CELL, MeasureReading, Measures, score},
};

#[derive(Args)]
pub(super) struct MeasureArgs {
    /// Heightmap (.png, .exr, .r16, .r32, .tif, .asc), built-in scene, scene file (.ron) or project (.thalweg), in its initial state
    map: PathBuf,
    #[command(flatten)]
    reading: setup::InputOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl MeasureArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let (options, path) = (self.reading.options(&self.map)?, &*self.map);
        let sessions = if project::is_project(path) {
            project::open_with_timeline(path)?.sessions
        } else {
            scene::open(&self.map, &options)?
        };
        setup::print_warnings(&sessions);
        let cells = sessions.iter().map(|session| session.simulation.terrain.bedrock.len()).max().unwrap_or_default();
        Budget::present().request(path, (BYTES_PER_CELL * cells) as u64)?;
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
            // Side-by-side simulations are reported separately.
            let report = if reports.len() == 1 { reports.remove(0) } else { json!({ "tiles": reports }) };
            print(&format!("{report:#}\n"))
        } else {
            print(&all.into_iter().map(|(_, table)| table).collect::<Vec<_>>().join("\n"))
        }
    }
}

fn report(name: &str, terrain: &Terrain, readings: &[MeasureReading]) -> Value {
    let rows = readings.iter().map(|reading| {
        let real = reading.real.map(|(least, most)| [least, most]);
        // JSON cannot represent infinity.
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

fn table(title: &str, readings: &[MeasureReading]) -> String {
    let (real, of) = score(readings);
    let mut text = format!("{title}: {real} of {of} metrics are in the range of real mountains\n");
    for reading in readings {
        let value = reading.value.map_or("none".to_owned(), |value| format!("{value:.4}"));
        let range = reading.real.map_or(String::new(), |(least, most)| format!("{least} to {most}"));
        let mark = match reading.is_real() {
            Some(true) => "in range",
            Some(false) => "out of range",
            None => "",
        };
        let line = format!("  {:<26}{value:>10}   {range:<14}{mark}", reading.title);
        text += line.trim_end();
        text.push('\n');
    }
    text
}
