//! `thalweg build`: simulates, then writes layers, images and the report atomically.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use serde_json::{Map, Value, json};

use super::{
    Failure, is_interrupted,
    log::{RunLog, parse_log, parse_probe},
    print,
    setup::RunOptions,
};
use thalweg_scene::{
    io::{
        Budget, JobProgress,
        export::{Dimensions, Export, ExportSubject, Size, Square},
        output::{self, OutputSet, hash_of},
    },
    model::{origin::Georeference, session::Session},
};
use thalweg_sim::{core::ledger::Account, measure::statistics::Statistics};

/// Files that are written without `--save`.
const DEFAULT_FILES: [&str; 3] = ["height.png", "height.r32", "hillshade.png"];
/// Report: lists all other files and the simulation that produced them.
const REPORT: &str = "report.json";

#[derive(Args)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    start: RunOptions,
    /// Output folder; other files in it are kept
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Files to write, e.g. height.exr,sand.png,hillshade
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    save: Vec<String>,
    /// Resolution of the files: working (as simulated), 2x to 8x, unity (2ⁿ+1) or unreal
    #[arg(long, value_name = "SIZE", default_value = "working", value_parser = parse_resolution)]
    resolution: Size,
    /// Conversion of a non-square map for unity or unreal: pad extends the map at its edges, crop keeps its centre
    #[arg(long, value_name = "HOW", value_parser = parse_square)]
    square: Option<Square>,
    /// Table (.csv) with one row for the start and one for each tick: time, statistics, ledger and probes
    #[arg(long, value_name = "FILE.csv", value_parser = parse_log)]
    log: Option<PathBuf>,
    /// Place whose ground, sand and water the log records, in fractions of the map's width and height from the north-west corner;
    /// can be repeated
    #[arg(long = "probe", value_name = "X,Y", value_parser = parse_probe, requires = "log")]
    probes: Vec<[f32; 2]>,
    /// Print the report to standard output
    #[arg(long)]
    json: bool,
}

/// Parses an entry of `--save`: a map, with or without the extension of a format.
pub(super) fn parse_export(text: &str) -> Result<Export, Failure> {
    let text = text.trim();
    Export::parse(text).map_err(|(wrong, right)| Failure::bad_input(format!("--save {text}: {wrong}; {right}")))
}

fn parse_resolution(text: &str) -> Result<Size, String> {
    match text {
        "working" => Ok(Size::Working),
        "unity" => Ok(Size::PowerOfTwoPlusOne),
        "unreal" => Ok(Size::Unreal),
        times => match times.strip_suffix('x').and_then(|factor| factor.parse().ok()) {
            Some(factor @ 2..=8) => Ok(Size::Times(factor)),
            _ => Err("use working, 2x to 8x, unity or unreal".to_owned()),
        },
    }
}

fn parse_square(text: &str) -> Result<Square, String> {
    match text {
        "pad" => Ok(Square::Pad),
        "crop" => Ok(Square::Crop),
        _ => Err("use pad or crop".to_owned()),
    }
}

impl BuildArgs {
    pub(super) fn of_scene(name: &str, out: &Path) -> Self {
        let (start, out) = (RunOptions::of_scene(name), out.to_owned());
        let (save, probes) = (Vec::new(), Vec::new());
        Self { start, out, save, resolution: Size::Working, square: None, log: None, probes, json: false }
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        let wanted: Vec<&str> =
            if self.save.is_empty() { DEFAULT_FILES.to_vec() } else { self.save.iter().map(String::as_str).collect() };
        let exports = wanted.into_iter().map(parse_export).collect::<Result<Vec<_>, _>>()?;
        if self.square.is_some() && !matches!(self.resolution, Size::PowerOfTwoPlusOne | Size::Unreal) {
            return Err(Failure::bad_input(
                "--square only applies to square output files; add --resolution unity or unreal",
            ));
        }
        let mut sessions = self.start.sessions()?;
        // Early, so that an unwritable folder is reported before the simulation.
        let output = OutputSet::new(&self.out).map_err(|error| Failure::bad_input(error.to_string()))?;
        // Likewise for results that exceed the memory limit.
        let dimensions =
            Dimensions { size: self.resolution, square: self.square.unwrap_or_default(), ..Dimensions::default() };
        let results = sessions.iter().map(|session| ExportSubject::bytes(session, dimensions, &exports)).max();
        let runs: u64 = sessions.iter().map(Session::additional_bytes).sum();
        Budget::present().request(Path::new(&sessions[0].name), runs + results.unwrap_or_default())?;
        if let Some(log) = &self.log {
            let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            let is_log = |export: &Export| whole(&self.out.join(export.file_name())) == whole(log);
            if exports.iter().any(is_log) {
                let sentence = format!("--log {}: an output file has this name; choose another name", log.display());
                return Err(Failure::bad_input(sentence));
            }
        }
        let log = self.log.as_deref().map(|path| RunLog::begin(path, &sessions, &self.probes));
        let mut log = log.transpose()?;
        let started = Instant::now();
        self.start.simulate(&mut sessions, |sessions| log.as_mut().map_or(Ok(()), |log| log.record(sessions)))?;
        let seconds = started.elapsed().as_secs_f64();
        for (index, session) in sessions.iter().enumerate() {
            let subject = ExportSubject::new(session, dimensions, &exports)?;
            for export in &exports {
                let name = numbered(&export.file_name(), index, sessions.len());
                output.write(name, |file| export.write(&subject, file, &JobProgress::default()))?;
            }
        }
        let mut report = match &sessions[..] {
            [only] => report(only, seconds),
            all => json!({"tiles": all.iter().map(|session| report(session, seconds)).collect::<Vec<_>>()}),
        };
        report["files"] = output.contents()?;
        let text = format!("{report:#}\n");
        output.write(REPORT, |file| output::write(file, &text))?;
        if is_interrupted() {
            return Err(Failure::stopped());
        }
        if let Some(log) = log {
            log.publish()?;
        }
        output.publish(Some(REPORT.as_ref()))?;
        if self.json { print(&text) } else { Ok(()) }
    }
}

/// Returns the name of a file of one of several simulations: side-by-side simulations have a number in front.
pub(super) fn numbered(name: &str, index: usize, count: usize) -> String {
    if count > 1 { format!("{}-{name}", index + 1) } else { name.to_owned() }
}

/// Returns the part of the report that changes with every tick: time, ledger and statistics.
pub(super) fn state(session: &Session) -> Value {
    let simulation = &session.simulation;
    let terrain = &simulation.terrain;
    json!({
        "ticks": simulation.ticks(),
        "simulated_seconds": simulation.simulated_seconds(),
        "simulated_years": simulation.years(),
        "ledger": {
            "solid": account(&simulation.ledger.solid, terrain.solid_volume()),
            "water": account(&simulation.ledger.water, terrain.water_volume()),
        },
        "statistics": statistics(&Statistics::of(terrain)),
    })
}

pub(super) fn report(session: &Session, seconds: f64) -> Value {
    let simulation = &session.simulation;
    let terrain = &simulation.terrain;
    let mut processes = Map::new();
    for slot in simulation.slots.iter().filter(|slot| slot.enabled) {
        let counts = slot.process.counts();
        let limited: Map<String, Value> = slot
            .process
            .limiters()
            .into_iter()
            .map(|(limiter, count)| (limiter.name.to_owned(), json!(count.all)))
            .collect();
        let row = json!({
            "seconds": slot.seconds, "simulated_seconds": counts.seconds, "substeps": counts.substeps,
            "guards": counts.limiter_applications, "guarded": limited,
        });
        processes.insert(slot.key().to_owned(), row);
    }
    let mut layers = Map::new();
    for (layer, grid) in terrain.layers() {
        let (min, max) = grid.min_max();
        let row = json!({"min": min, "max": max, "hash": hash_of(grid)});
        layers.insert(layer.key().to_owned(), row);
    }
    let mut report = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "scene": session.name,
        "tile": session.tile.as_ref().map(|tile| &tile.title),
        "seed": simulation.seed(),
        "size": [terrain.width(), terrain.height()],
        "cell_size_m": terrain.cell_size,
        "georeference": session.heightmap.as_ref().and_then(|map| map.geo.as_ref()).map(georeference),
        "wall_seconds": seconds,
        "processes": processes,
        "layers": layers,
    });
    if let (Some(report), Value::Object(state)) = (report.as_object_mut(), state(session)) {
        report.extend(state);
    }
    report
}

/// Reports the extent of the map, in the units of its coordinate reference system.
fn georeference(geo: &Georeference) -> Value {
    let Georeference { west, north, width, height, crs } = geo;
    json!({"west": west, "north": north, "width": width, "height": height, "crs": crs.name(), "wkt": crs.text()})
}

fn statistics(found: &Statistics) -> Value {
    json!({
        "min_m": found.range.0, "max_m": found.range.1, "mean_m": found.mean, "deviation_m": found.deviation,
        "slope_deg": found.slope, "pits": found.pits, "sandy": found.sandy, "cut_m3": found.cut_and_fill.0,
        "fill_m3": found.cut_and_fill.1,
    })
}

fn account(account: &Account, now: f64) -> Value {
    let mut rows = Map::new();
    for (key, row) in &account.rows {
        let row = json!({
            "eroded": row.eroded, "deposited": row.deposited, "moved": row.moved, "outflow": row.outflow,
            "inflow": row.inflow,
            "evaporated": row.evaporated, "lost": row.lost, "carried": row.carried,
        });
        rows.insert(key.to_string(), row);
    }
    json!({
        "start": account.start, "end": now, "moved": account.sum(|row| row.moved), "processes": rows,
        "outflow": account.sum(|row| row.outflow), "inflow": account.sum(|row| row.inflow),
        "evaporated": account.sum(|row| row.evaporated), "lost": account.sum(|row| row.lost), "edits": account.edits,
        "residual": account.residual(now),
    })
}
