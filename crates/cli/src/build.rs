//! `thalweg build`: simulates, then writes layers, images and the report atomically.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use serde_json::{Map, Value, json};

use super::{
    Failure,
    computer::{Computer, parse_device},
    is_interrupted,
    log::{RunLog, parse_log, parse_probe},
    print,
    setup::{RunOptions, parse_size},
};
use thalweg_scene::{
    io::{
        Budget, JobProgress,
        export::{
            self, Dimensions, Export, ExportSet, ExportSubject, SETS, Size, SquareConversion, TileGrid, TileNames,
            WeightChannels, WeightMask,
        },
        output::{self, OutputSet, hash_of},
    },
    model::{origin::Georeference, session::Session},
    settings::ComputeDevice,
};
use thalweg_sim::{core::ledger::Account, measure::statistics::Statistics, params::join_with_suggestion};

/// Files that are written without `--save`.
const DEFAULT_FILES: [&str; 3] = ["height.png", "height.r32", "hillshade.png"];
/// Report: lists all other files and the simulation that produced them.
const REPORT: &str = "report.json";

#[derive(Args, Default)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    start: RunOptions,
    /// Output folder; other files in it are kept
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Files to write, e.g. height.exr,sand.png,hillshade
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    save: Vec<String>,
    /// Preset for another program: unreal, unity, godot, blender, houdini, gis, print or everything. Sets files and resolution, and
    /// writes the import settings to import.md
    #[arg(long = "for", value_name = "PROGRAM", value_parser = parse_preset)]
    preset: Option<&'static str>,
    /// Resolution of the files: working (as simulated), 2x to 8x, unity (2ⁿ+1) or unreal; working by default
    #[arg(long, value_name = "SIZE", value_parser = parse_resolution)]
    resolution: Option<Size>,
    /// Conversion of a non-square map for unity or unreal: pad extends the map at its edges, crop keeps its centre
    #[arg(long, value_name = "HOW", value_parser = parse_square)]
    square: Option<SquareConversion>,
    /// Divide maps into columns and rows of tiles, e.g. 4x4
    #[arg(long, value_name = "N|WxH", value_parser = parse_tiles)]
    tiles: Option<(usize, usize)>,
    /// Columns and rows of cells that neighbouring tiles share; 1 by default
    #[arg(long, value_name = "CELLS", requires = "tiles", value_parser = parse_overlap)]
    overlap: Option<usize>,
    /// Names of tiles: unreal (_x0_y0), unity (_0_0, from the bottom), gaea (_y0_x0) or tms (_2_0_0, from the bottom)
    #[arg(long, value_name = "NAMES", requires = "tiles", value_parser = parse_tile_names)]
    tile_names: Option<TileNames>,
    /// Masks for the channels of the weight map: up to four of rock, soil, sand, snow, wear, deposit, flow, wetness and forest
    #[arg(long, value_name = "A,B,C,D", value_parser = parse_weights)]
    weights: Option<WeightChannels>,
    /// Number of mesh levels of detail; each has half the columns and rows of the previous one
    #[arg(long, value_name = "N", value_parser = parse_levels)]
    levels: Option<u32>,
    /// Table (.csv) with one row for the start and one for each tick: time, statistics, ledger and probes
    #[arg(long, value_name = "FILE.csv", value_parser = parse_log)]
    log: Option<PathBuf>,
    /// Point at which the log records ground height, sand thickness and water depth, as fractions of the map's width and height
    /// from the north-west corner; can be repeated
    #[arg(long = "probe", value_name = "X,Y", value_parser = parse_probe, requires = "log")]
    probes: Vec<[f32; 2]>,
    /// Device that computes: cpu (the same bits on every machine), gpu (water and thermal erosion on the graphics card, equal within
    /// rounding), or auto (the faster one that passes a self-test)
    #[arg(long, value_name = "auto|cpu|gpu", value_parser = parse_device)]
    device: Option<ComputeDevice>,
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

fn parse_square(text: &str) -> Result<SquareConversion, String> {
    match text {
        "pad" => Ok(SquareConversion::Pad),
        "crop" => Ok(SquareConversion::Crop),
        _ => Err("use pad or crop".to_owned()),
    }
}

fn parse_preset(text: &str) -> Result<&'static str, String> {
    let known: Vec<&str> = SETS.iter().map(|set| set.key).collect();
    let found = ExportSet::from_key(text).map(|set| set.key);
    found.ok_or_else(|| format!("use {}", join_with_suggestion(&known, text)))
}

fn parse_tiles(text: &str) -> Result<(usize, usize), String> {
    let most = TileGrid::MAX_COUNT;
    let found = parse_size(text).ok().filter(|count| [count.0, count.1].iter().all(|side| (1..=most).contains(side)));
    found.ok_or_else(|| format!("use N or WxH with 1 to {most} tiles per side, e.g. 4x4"))
}

fn parse_overlap(text: &str) -> Result<usize, String> {
    let most = TileGrid::MAX_OVERLAP;
    text.parse().ok().filter(|cells| *cells <= most).ok_or_else(|| format!("use 0 to {most} cells"))
}

fn parse_tile_names(text: &str) -> Result<TileNames, String> {
    TileNames::from_key(text).ok_or_else(|| format!("use {}", join_with_suggestion(&TileNames::keys(), text)))
}

fn parse_weights(text: &str) -> Result<WeightChannels, String> {
    let known = WeightMask::ALL.map(|(key, _)| key);
    let mut channels = [None; 4];
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    if names.len() > channels.len() {
        return Err("use at most four masks, one per channel".to_owned());
    }
    for (channel, name) in channels.iter_mut().zip(names) {
        let mask = WeightMask::from_key(name);
        *channel = Some(mask.ok_or_else(|| format!("use up to four of {}", join_with_suggestion(&known, name)))?);
    }
    Ok(WeightChannels(channels))
}

fn parse_levels(text: &str) -> Result<u32, String> {
    let most = Dimensions::MAX_MESH_LEVELS;
    text.parse().ok().filter(|levels| (1..=most).contains(levels)).ok_or_else(|| format!("use 1 to {most} levels"))
}

impl BuildArgs {
    pub(super) fn of_scene(name: &str, out: &Path) -> Self {
        Self { start: RunOptions::of_scene(name), out: out.to_owned(), ..Self::default() }
    }

    /// Returns the exports: those of `--save`, else those of the preset, else the default ones.
    fn exports(&self) -> Result<Vec<Export>, Failure> {
        match self.preset.and_then(ExportSet::from_key) {
            Some(set) if self.save.is_empty() => Ok(set.exports()),
            _ if self.save.is_empty() => DEFAULT_FILES.into_iter().map(parse_export).collect(),
            _ => self.save.iter().map(|text| parse_export(text)).collect(),
        }
    }

    /// Returns the dimensions of the exports.
    fn dimensions(&self) -> Result<Dimensions, Failure> {
        let names = self.tile_names.unwrap_or_default();
        let tiles = self.tiles.map(|count| TileGrid { count, overlap: self.overlap.unwrap_or(1), names });
        let mut dimensions = Dimensions {
            square: self.square.unwrap_or_default(),
            tiles,
            weights: self.weights.unwrap_or_default(),
            mesh_levels: self.levels.unwrap_or(1),
            ..Dimensions::default()
        };
        if let Some(set) = self.preset.and_then(ExportSet::from_key) {
            if set.size.is_square() && self.resolution.is_some_and(|size| size != set.size) {
                let sentence = format!("--for {} requires its own square sizes; omit --resolution", set.key);
                return Err(Failure::bad_input(sentence));
            }
            dimensions = dimensions.for_preset(set);
        }
        dimensions.size = self.resolution.unwrap_or(dimensions.size);
        if let (Some(tiles), Some(names)) = (&mut dimensions.tiles, self.tile_names) {
            tiles.names = names;
        }
        if self.square.is_some() && !dimensions.size.is_square() {
            return Err(Failure::bad_input(
                "--square only applies to square output files; add --resolution unity or unreal",
            ));
        }
        Ok(dimensions)
    }

    /// Checks that the options for some kinds of files apply to one of the exports.
    fn check_options(&self, exports: &[Export]) -> Result<(), Failure> {
        let is_tiled = |export: &Export| !matches!((export.map, export.format), ("rivers" | "trees", _) | (_, "stl"));
        let has_levels = |export: &Export| export.map == "mesh" && export.format != "stl";
        let unused = if self.weights.is_some() && !exports.iter().any(|export| export.map == "weights") {
            "--weights only applies to the weight map; add weights to --save"
        } else if self.levels.is_some() && !exports.iter().any(has_levels) {
            "--levels only applies to meshes as .glb or .obj; add mesh.glb or mesh.obj to --save"
        } else if self.tiles.is_some() && !exports.iter().any(is_tiled) {
            "--tiles does not apply to rivers, trees and .stl; add another map, e.g. height.png, to --save"
        } else {
            return Ok(());
        };
        Err(Failure::bad_input(unused))
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        let (exports, dimensions) = (self.exports()?, self.dimensions()?);
        self.check_options(&exports)?;
        let mut sessions = self.start.sessions()?;
        // Early, so that an unwritable folder is reported before the simulation.
        let output = OutputSet::new(&self.out).map_err(|error| Failure::bad_input(error.to_string()))?;
        // Likewise for results that exceed the memory limit.
        for session in &sessions {
            let checked = dimensions.check(&session.simulation.terrain);
            checked.map_err(|unfit| Failure::bad_input(format!("--tiles: {unfit}")))?;
        }
        let results = sessions.iter().map(|session| ExportSubject::bytes(session, dimensions, &exports)).max();
        let runs: u64 = sessions.iter().map(Session::additional_bytes).sum();
        Budget::present().request(Path::new(&sessions[0].name), runs + results.unwrap_or_default())?;
        if let Some(log) = &self.log {
            let folder = |path: &Path| {
                let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
                std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
            };
            let is_beside = folder(log.parent().unwrap_or(Path::new(""))) == folder(&self.out);
            if is_beside && exports.iter().any(|export| log.file_name() == Some(export.file_name().as_ref())) {
                let sentence = format!("--log {}: an output file has this name; choose another name", log.display());
                return Err(Failure::bad_input(sentence));
            }
        }
        let log = self.log.as_deref().map(|path| RunLog::begin(path, &sessions, &self.probes));
        let mut log = log.transpose()?;
        let started = Instant::now();
        let mut computer = Computer::select(self.device.unwrap_or(ComputeDevice::Processor), &sessions)?;
        self.start.simulate(&mut sessions, &mut computer, log.as_mut())?;
        let seconds = started.elapsed().as_secs_f64();
        let mut reports = Vec::new();
        for (index, session) in sessions.iter().enumerate() {
            let subject = ExportSubject::new(session, dimensions, &exports)?;
            self.start.warn(&subject.warnings(&exports));
            let before = numbered("", index, sessions.len());
            let mut report = report(session, seconds);
            report["device"] = json!(computer.name(index));
            if let Some(import) = export::write_files(&exports, &subject, &output, &before, &JobProgress::default())? {
                report["import"] = import;
            }
            reports.push(report);
        }
        let mut report = if reports.len() == 1 { reports.swap_remove(0) } else { json!({"tiles": reports}) };
        report["files"] = output.contents()?;
        let text = format!("{report:#}\n");
        output.write(REPORT, |file| output::write(file, &text))?;
        if is_interrupted() {
            return Err(Failure::stopped());
        }
        let log = log.map(RunLog::end).transpose()?;
        output.publish(Some(REPORT.as_ref()))?;
        if let Some(log) = log {
            log.publish(None)?;
        }
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{super::*, *};

    fn build(arguments: &[&str]) -> Result<BuildArgs, String> {
        let all = ["thalweg", "build"].iter().chain(arguments);
        match Cli::try_parse_from(all).map_err(|error| first_lines(&error.to_string()))?.command {
            Some(Action::Build(build)) => Ok(build),
            _ => Err("another command".to_owned()),
        }
    }

    #[test]
    fn invalid_export_options_are_refused_in_a_sentence() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().to_str().expect("it is Unicode").to_owned();
        for (arguments, words) in [
            (&["--for", "unrael"][..], "closest match: unreal"),
            (&["--tiles", "0x4"], "1 to 64 tiles"),
            (&["--tiles", "4x4", "--overlap", "33"], "0 to 32 cells"),
            (&["--overlap", "2"], "--tiles"),
            (&["--tiles", "4", "--tile-names", "unitiy"], "closest match: unity"),
            (&["--weights", "rock,mud"], "rock, soil, sand, snow"),
            (&["--weights", "rock,soil,sand,snow,wear"], "at most four"),
            (&["--levels", "7"], "1 to 6 levels"),
            (&["--for", "unity", "--resolution", "2x"], "omit --resolution"),
            (&["--for", "blender", "--square", "crop"], "--square only applies"),
            (&["--size", "64", "--tiles", "32x32"], "too small"),
        ] {
            let arguments = [&["round-hill", "--out", &out], arguments].concat();
            let refused = match build(&arguments) {
                Ok(build) => build.run().map_err(|failure| (failure.code, failure.sentence)),
                Err(sentence) => Err((2, sentence)),
            };
            let (code, sentence) = refused.expect_err("refused");
            assert!(code == 2 && sentence.contains(words) && !sentence.contains('\n'), "{sentence}");
        }
    }

    #[test]
    fn a_preset_writes_tiles_and_import_settings_for_its_program() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().to_str().expect("it is Unicode").to_owned();
        let arguments =
            ["round-hill", "--size", "64", "--ticks", "0", "--for", "unity", "--tiles", "2x2", "--out", &out];
        let run = build(&arguments).expect("it is valid").run();
        assert!(run.is_ok(), "{:?}", run.map_err(|failure| failure.sentence));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it was written");
        let report: Value = serde_json::from_str(&read("report.json")).expect("it is JSON");
        let import = &report["import"];
        assert_eq!(import["settings"]["heightmap_resolution"], 33.0);
        assert_eq!(import["heights"], json!(["height_0_1.raw", "height_1_1.raw", "height_0_0.raw", "height_1_0.raw"]));
        assert!(read("import.md").contains("| Terrain size Y |"));
        for name in import["heights"].as_array().expect("it has files") {
            let name = name.as_str().expect("it is a name");
            assert_eq!(report["files"][name]["bytes"], 2 * 33 * 33);
        }
    }
}
