//! Projects: a run with everything that it needs to go on, in one file.
//!
//! A `.thalweg` file is a zip archive: `manifest.ron` says what there is, `run-N/NAME.r32` are layers and what
//! processes keep, as raw little-endian numbers of 32 bits, and `thumbnail.png` is for the eye. A project that is opened and
//! run on gives the same bits as if it had never been closed.

mod keyframes;
mod manifest;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{Read, Seek, Write},
    path::Path,
    sync::Arc,
};

use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use self::manifest::{FORMAT, Head, Manifest, Run};
use super::{Budget, Error, Progress, input, output, png::rgb8_bytes};
use crate::{
    io::export::hillshade::hillshade,
    model::{
        origin::Heightmap,
        session::{Session, check_map},
    },
    sim::{
        bounds::{Bounds, KEPT, Unfit},
        grid::Grid,
        memory::Memory,
        terrain::{Layer, Terrain},
    },
};

pub use self::{
    keyframes::{Keyframe, Keyframes, keyframes},
    manifest::Camera,
};

/// Ending of a project's name.
pub const ENDING: &str = "thalweg";
/// Longest manifest, in bytes.
const LONGEST_MANIFEST: u64 = 16 << 20;
/// Most runs side by side.
const MOST_RUNS: usize = 64;
/// Longest side of a map, in cells.
const LONGEST_SIDE: usize = 4096;
/// Memory that a text takes when it is read and understood, in bytes for each of its own.
const BYTES_PER_LETTER: u64 = 8;
/// Cells along the longer side of the thumbnail.
const THUMBNAIL: usize = 256;

/// A project: runs side by side, and how they were looked at.
#[derive(Clone)]
pub struct Project {
    /// The runs, at least one.
    pub sessions: Vec<Session>,
    /// The one whose numbers are shown.
    pub chosen: usize,
    /// Where the eye is.
    pub camera: Option<Camera>,
    /// States along the run, if they are to be saved too. Opening leaves them out: see [`keyframes()`].
    pub timeline: Keyframes,
}

/// Whether a name is that of a project.
pub fn is_project(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Writes a project between two ticks. What stood there before is replaced whole or not at all.
///
/// # Errors
/// The file cannot be written.
///
/// # Panics
/// If a run is in the middle of a tick.
pub fn save(project: &mut Project, path: &Path, progress: &Progress) -> Result<(), Error> {
    assert!(project.sessions.iter().all(|session| session.simulation.between_ticks()), "a tick is saved whole");
    let manifest = Manifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        chosen: project.chosen,
        camera: project.camera,
        runs: project.sessions.iter_mut().map(Run::of).collect(),
    };
    let text = ron::ser::to_string_pretty(&manifest, ron::ser::PrettyConfig::new())
        .map_err(|error| Error::output(path, format!("it cannot be written ({error})"), "choose another name"))?;
    let failed = |error: ZipError| match error {
        ZipError::Io(error) => Error::unwritable(path, &error),
        error => Error::output(path, format!("it cannot be written ({error})"), "choose another name"),
    };
    output::replace(path, |staged| {
        let thumbnail = thumbnail(&project.sessions[0], staged)?;
        let written = output::create(staged, |file| {
            let mut archive = ZipWriter::new(file);
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            let options = options.compression_level(Some(1));
            let mut put = |name: &str, bytes: &[u8]| -> Result<(), ZipError> {
                archive.start_file(name, options)?;
                Ok(archive.write_all(bytes)?)
            };
            put("manifest.ron", text.as_bytes())?;
            put("thumbnail.png", &thumbnail)?;
            let count = project.sessions.len();
            for (index, session) in project.sessions.iter_mut().enumerate() {
                for (name, cells) in layers_of(session) {
                    put(&file_of(index, &name), &bytes_of(cells))?;
                }
                let kept = session.simulation.with_memories();
                for (name, memory) in session.simulation.memories(&kept) {
                    if let Memory::Cells(cells) = memory {
                        put(&file_of(index, &name), &bytes_of(cells))?;
                    }
                }
                progress.done(index + 1, count);
            }
            keyframes::put(&mut archive, &project.timeline)?;
            archive.finish().map(drop)
        });
        written.map_err(failed)
    })
}

/// Reads a project.
///
/// # Errors
/// One sentence, if the file is no project, is damaged, or was written by a newer version of the program.
pub fn open(path: &Path) -> Result<Project, Error> {
    let mut archive = ZipArchive::new(input::open(path)?)
        .map_err(|error| damaged(path, &format!("it is no project, or cut off ({error})")))?;
    let text = text(path, &mut archive, "manifest.ron", LONGEST_MANIFEST)?;
    let head: Head =
        ron::from_str(&text).map_err(|error| damaged(path, &format!("its manifest is damaged ({error})")))?;
    if head.format > FORMAT {
        let wrong = format!("it was written by Thalweg {}, which is newer than this one", head.program);
        return Err(Error::input(path, wrong, "open it with that version or a later one"));
    }
    let manifest = Manifest::of(&text).map_err(|error| damaged(path, &format!("its manifest is damaged ({error})")))?;
    if manifest.runs.is_empty() || manifest.runs.len() > MOST_RUNS {
        return Err(damaged(path, &format!("it has {} runs, where there are 1 to {MOST_RUNS}", manifest.runs.len())));
    }
    manifest.runs.iter().try_for_each(|run| check_sizes(path, run))?;
    Budget::present().ask(path, manifest.runs.iter().map(Run::bytes).sum())?;
    let runs = manifest.runs.into_iter().enumerate();
    let sessions = runs.map(|(index, run)| take_up(path, &mut archive, index, run)).collect::<Result<Vec<_>, _>>()?;
    let chosen = manifest.chosen.min(sessions.len() - 1);
    let camera = manifest.camera.filter(Camera::is_sane);
    Ok(Project { sessions, chosen, camera, timeline: Keyframes::default() })
}

/// Reads a project with its timeline. One whose timeline alone is damaged opens without it, and says so.
///
/// # Errors
/// As [`open()`].
pub fn open_whole(path: &Path) -> Result<Project, Error> {
    let mut project = open(path)?;
    match keyframes(path) {
        Ok(mut timeline) => {
            // One start is kept for all of them.
            for frame in &mut timeline.frames {
                let snapshots = Arc::get_mut(&mut frame.snapshots).into_iter().flatten();
                for (snapshot, session) in snapshots.zip(&project.sessions) {
                    snapshot.shaped.clone_from(&session.shaped);
                }
            }
            project.timeline = timeline;
        }
        Err(error) => project.sessions[0].warnings.push(format!("{error}; it was opened without")),
    }
    Ok(project)
}

fn damaged(path: &Path, wrong: &str) -> Error {
    Error::input(path, wrong, "a whole .thalweg file is needed; an autosave or a copy may still be good")
}

/// Checks that a run has no other maps than a session can have, and of what size they are.
fn check_sizes(path: &Path, run: &Run) -> Result<(), Error> {
    for (name, size) in std::iter::once(("", &run.size)).chain(run.grids.iter().map(|(name, size)| (&**name, size))) {
        let refuse = |wrong: &str, right: String| {
            let [width, height] = size;
            Err(Error::input(path, format!("its map {name} {wrong} ({width} × {height} cells)"), right))
        };
        if size.iter().any(|side| !(1..=LONGEST_SIDE).contains(side)) {
            return refuse("is empty or too large", format!("a side has 1 to {LONGEST_SIDE} cells"));
        }
        if !name.is_empty() && bounds_of(name).is_none() {
            return refuse("is none that a run can have", "a file that Thalweg wrote is needed".to_owned());
        }
        if !name.starts_with("begin ") && *size != run.size {
            return refuse("has another size than the run", "all layers have the same size".to_owned());
        }
    }
    Ok(())
}

/// A text of the archive.
fn text(path: &Path, archive: &mut ZipArchive<impl Read + Seek>, name: &str, most: u64) -> Result<String, Error> {
    let length = archive.by_name(name).map_or(0, |entry| entry.size().min(most));
    Budget::present().ask(path, BYTES_PER_LETTER * length)?;
    let text = read(path, archive, name, most)?;
    String::from_utf8(text).map_err(|_| damaged(path, &format!("{name} in it is no text")))
}

/// A file of the archive, whole. One that is longer than it may be is not read on.
fn read(path: &Path, archive: &mut ZipArchive<impl Read + Seek>, name: &str, most: u64) -> Result<Vec<u8>, Error> {
    let wrong = |what: &str| damaged(path, &format!("{name} in it {what}"));
    let entry = archive.by_name(name).map_err(|error| wrong(&format!("is missing or damaged ({error})")))?;
    let mut bytes = Vec::with_capacity(entry.size().min(most) as usize);
    let got = entry.take(most + 1).read_to_end(&mut bytes);
    got.map_err(|error| wrong(&format!("is damaged ({error})")))?;
    if bytes.len() as u64 > most {
        return Err(wrong("is longer than it can be"));
    }
    Ok(bytes)
}

/// Numbers of the archive, as many as there must be, each between these bounds.
fn numbers(
    path: &Path,
    archive: &mut ZipArchive<impl Read + Seek>,
    name: &str,
    [width, height]: [usize; 2],
    bounds: Bounds,
) -> Result<Vec<f32>, Error> {
    let count = width * height;
    let bytes = read(path, archive, name, 4 * count as u64)?;
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    if numbers.len() != count {
        return Err(damaged(path, &format!("{name} in it has {} numbers, where {count} are needed", numbers.len())));
    }
    let unfit = |unfit: Unfit| Error::input(path, format!("in its map {name} {}", unfit.wrong), unfit.right);
    bounds.check_cells(&numbers, width, 0).map_err(unfit)?;
    Ok(numbers)
}

/// The session of a run.
fn take_up(path: &Path, archive: &mut ZipArchive<impl Read + Seek>, index: usize, run: Run) -> Result<Session, Error> {
    let mut grids = BTreeMap::new();
    for (name, size) in &run.grids {
        let Some(bounds) = bounds_of(name) else { continue };
        let cells = numbers(path, archive, &file_of(index, name), *size, bounds)?;
        grids.insert(name.clone(), Grid::from_cells(size[0], size[1], cells));
    }
    let mut layers = |prefix: &str| -> Terrain {
        let layer = |layer: Layer| grids.remove(&format!("{prefix}{}", layer.key()));
        Terrain::of((run.size[0], run.size[1]), (run.cell_size, Default::default()), layer)
    };
    // A project from before a layer was invented lacks it, but there is none without ground.
    for name in ["bedrock", "start"].into_iter().filter(|name| !run.grids.contains_key(*name)) {
        return Err(damaged(path, &format!("its layer {name} is missing")));
    }
    let terrain = layers("");
    let shape = run.grids.contains_key("shaped bedrock").then(|| layers("shaped "));
    let heights = grids.remove("begin heights");
    let map = |layer: Layer| Some((layer, grids.remove(&format!("begin {}", layer.key()))?));
    let maps: BTreeMap<Layer, Grid> = Layer::ALL.iter().copied().filter_map(map).collect();
    maps.iter().try_for_each(|(layer, map)| check_map(*layer, map)).map_err(|unfit| Error::unfit(path, unfit))?;
    let (cell_size, geo) = (run.cell_size, run.geo);
    let heightmap = heights.map(|heights| Arc::new(Heightmap { heights, cell_size, geo, warnings: vec![] }));
    let (values, counts, kept) = (run.numbers.clone(), run.counts.clone(), run.kept.clone());
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    let mut session = run.session(terrain, maps, heightmap).map_err(|wrong| damaged(path, &wrong))?;
    if let Some(shape) = shape {
        session.set_shape(Terrain { edge: session.terrain.edge, ..shape });
    }
    for (name, memory) in session.simulation.memories(&kept) {
        let missing = || damaged(path, &format!("{name} in it is missing"));
        match memory {
            Memory::Number(number) => {
                *number = *values.get(&name).ok_or_else(missing)?;
                KEPT.check(&name, *number).map_err(|unfit| Error::unfit(path, unfit))?;
            }
            Memory::Count(count) => *count = *counts.get(&name).ok_or_else(missing)?,
            Memory::Cells(cells) => {
                let size = [cells.len(), 1];
                cells.copy_from_slice(&numbers(path, archive, &file_of(index, &name), size, KEPT)?);
            }
        }
    }
    session.note_defaults();
    Ok(session)
}

/// What a cell of a map of this name may hold; `None` if [`layers_of`] knows no such map.
fn bounds_of(name: &str) -> Option<Bounds> {
    let layer = name.strip_prefix("begin ").or(name.strip_prefix("shaped ")).unwrap_or(name);
    let layer = if name == "begin heights" { Some(Layer::Bedrock) } else { Layer::of_key(layer) };
    layer.map(|layer| layer.row().bounds)
}

/// All maps of a session, by name: the layers, and what it begins with if it is started again.
fn layers_of(session: &Session) -> Vec<(String, &Grid)> {
    let layers = session.simulation.terrain.layers().map(|(layer, grid)| (layer.key().to_owned(), grid));
    let heights = session.heightmap.iter().map(|map| ("begin heights".to_owned(), &map.heights));
    let maps = session.maps.iter().map(|(layer, grid)| (format!("begin {}", layer.key()), grid));
    let shape = session.shape().into_iter().flat_map(Terrain::layers);
    let shape = shape.map(|(layer, grid)| (format!("shaped {}", layer.key()), grid));
    layers.chain(heights).chain(maps).chain(shape).collect()
}

fn file_of(index: usize, name: &str) -> String {
    format!("run-{}/{}.r32", index + 1, name.replace(' ', "-"))
}

fn bytes_of(cells: &[f32]) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.to_le_bytes()).collect()
}

/// A small picture of the first run, as the bytes of a PNG that becomes part of `staged`.
fn thumbnail(session: &Session, staged: &Path) -> Result<Vec<u8>, Error> {
    let terrain = &session.simulation.terrain;
    let (width, height) = (terrain.width(), terrain.height());
    let shrink = (THUMBNAIL as f32 / width.max(height) as f32).min(1.0);
    let size = [width, height].map(|side| ((side as f32 * shrink).round() as usize).max(1));
    let [ground, sand] = [&terrain.ground(), &terrain.sand].map(|grid| grid.resampled(size[0], size[1]));
    let cell_size = terrain.cell_size * width as f32 / size[0] as f32;
    let pixels = hillshade(&ground, &sand, cell_size, &session.look, &Progress::default());
    rgb8_bytes(staged, (size[0], size[1]), &pixels)
}
