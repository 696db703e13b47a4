//! `thalweg build`: simulate, then write layers, pictures and the report, all or nothing.

use std::{
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Instant,
};

use clap::Args;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::{Failure, Start, interrupted, print};
use crate::{
    io::{
        Error, hillshade::hillshade, output::Output, scene::Session, write_exr, write_png16, write_r32, write_rgb8,
        write_sidecar,
    },
    params::nearest,
    sim::{grid::Grid, ledger::Account, terrain::Layer},
};

/// What is written unless `--save` says otherwise.
const DEFAULT_FILES: [&str; 3] = ["height.png", "height.r32", "hillshade.png"];

#[derive(Args)]
pub(super) struct Build {
    #[command(flatten)]
    start: Start,
    /// Folder to write into; other files in it are left alone
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Files to write, for example height.exr,sand.png,hillshade
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    save: Vec<String>,
    /// Print the report on standard output
    #[arg(long)]
    json: bool,
}

/// A file to write: what and in which format.
struct Item {
    map: &'static str,
    extension: &'static str,
}

/// Maps that can be saved beside the five layers.
const OTHER_MAPS: [&str; 3] = ["height", "change", "hillshade"];

impl Item {
    fn parse(text: &str) -> Result<Self, Failure> {
        let (name, extension) = text.trim().split_once('.').unwrap_or((text.trim(), "png"));
        let maps: Vec<&'static str> = OTHER_MAPS.into_iter().chain(Layer::ALL.map(Layer::key)).collect();
        let Some(&map) = maps.iter().find(|map| **map == name) else {
            let near = nearest(name, maps.iter().copied()).map(|near| format!(", and the nearest is {near}"));
            return Err(Failure::bad_input(format!(
                "--save knows no \"{name}\"; there are {}{}",
                maps.join(", "),
                near.unwrap_or_default()
            )));
        };
        let formats: &[&'static str] = if map == "hillshade" { &["png"] } else { &["png", "r32", "exr"] };
        match formats.iter().find(|format| **format == extension) {
            Some(&extension) => Ok(Self { map, extension }),
            None => Err(Failure::bad_input(format!(
                "--save cannot write {map} as .{extension}; there are .{}",
                formats.join(", .")
            ))),
        }
    }
}

impl Build {
    /// The build of a scene with the defaults.
    pub(super) fn of_scene(name: &str, out: &Path) -> Self {
        let start = Start { input: Some(name.to_owned()), ..Start::default() };
        Self { start, out: out.to_owned(), save: Vec::new(), json: false }
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        let items = if self.save.is_empty() {
            DEFAULT_FILES.map(Item::parse).into_iter().collect::<Result<Vec<_>, _>>()?
        } else {
            self.save.iter().map(|text| Item::parse(text)).collect::<Result<Vec<_>, _>>()?
        };
        let mut session = self.start.session()?;
        // Before the work, so that a folder that cannot be written costs no time.
        let output = Output::new(&self.out).map_err(|error| Failure::bad_input(error.to_string()))?;
        let started = Instant::now();
        self.start.simulate(&mut session)?;
        let report = report(&session, started.elapsed().as_secs_f64());
        for item in &items {
            write(item, &session, &output)?;
        }
        let text = format!("{report:#}\n");
        let path = output.file("report.json");
        std::fs::write(&path, &text).map_err(|error| Error::unwritable(&self.out, &error))?;
        if interrupted().load(Ordering::Relaxed) {
            return Err(Failure::while_running("stopped by Ctrl+C; nothing was written"));
        }
        output.publish()?;
        if self.json {
            print(&text);
        }
        Ok(())
    }
}

fn write(item: &Item, session: &Session, output: &Output) -> Result<(), Failure> {
    let terrain = &session.simulation.terrain;
    let path = output.file(&format!("{}.{}", item.map, item.extension));
    let ground = terrain.ground();
    if item.map == "hillshade" {
        let pixels = hillshade(&ground, &terrain.sand, terrain.cell_size, &session.look);
        return Ok(write_rgb8(&path, ground.width(), ground.height(), &pixels)?);
    }
    let grid: Grid = match item.map {
        "height" => ground,
        "change" => {
            let cells = ground.iter().zip(terrain.start.iter()).map(|(now, start)| now - start).collect();
            Grid::from_cells(ground.width(), ground.height(), cells)
        }
        key => Layer::ALL
            .into_iter()
            .find(|layer| layer.key() == key)
            .map(|layer| terrain.layer(layer).clone())
            .ok_or_else(|| Failure::while_running(format!("there is no layer {key}")))?,
    };
    let range = grid.min_max();
    match item.extension {
        "png" => write_png16(&path, &grid, range)?,
        "exr" => write_exr(&path, &grid)?,
        _ => write_r32(&path, &grid)?,
    }
    let sidecar = output.file(&format!("{}.json", item.map));
    Ok(write_sidecar(&sidecar, (grid.width(), grid.height()), terrain.cell_size, range)?)
}

fn report(session: &Session, seconds: f64) -> Value {
    let simulation = &session.simulation;
    let terrain = &simulation.terrain;
    let mut processes = Map::new();
    for slot in simulation.slots.iter().filter(|slot| slot.enabled) {
        let counts = slot.process.counts();
        let row = json!({"seconds": slot.seconds, "substeps": counts.substeps, "guards": counts.guards});
        processes.insert(slot.key().to_owned(), row);
    }
    let mut layers = Map::new();
    for layer in Layer::ALL {
        let grid = terrain.layer(layer);
        let (min, max) = grid.min_max();
        let bytes: Vec<u8> = grid.iter().flat_map(|value| value.to_le_bytes()).collect();
        let row = json!({"min": min, "max": max, "hash": format!("{:016x}", xxh3_64(&bytes))});
        layers.insert(layer.key().to_owned(), row);
    }
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "scene": session.name,
        "seed": simulation.seed(),
        "ticks": simulation.ticks(),
        "size": [terrain.width(), terrain.height()],
        "cell_size_m": terrain.cell_size,
        "wall_seconds": seconds,
        "simulated_seconds": simulation.simulated_seconds(),
        "processes": processes,
        "ledger": {
            "solid": account(&simulation.ledger.solid, terrain.solid_volume()),
            "water": account(&simulation.ledger.water, terrain.water_volume()),
        },
        "layers": layers,
    })
}

/// An account in cubic metres.
fn account(account: &Account, now: f64) -> Value {
    let mut rows = Map::new();
    for (key, row) in &account.rows {
        let row = json!({
            "eroded": row.eroded, "deposited": row.deposited, "moved": row.moved, "outflow": row.outflow,
            "lost": row.lost, "carried": row.carried,
        });
        rows.insert((*key).to_owned(), row);
    }
    json!({
        "start": account.start, "end": now, "moved": account.sum(|row| row.moved), "processes": rows,
        "outflow": account.sum(|row| row.outflow), "lost": account.sum(|row| row.lost), "edits": account.edits,
        "residual": account.residual(now),
    })
}
