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
use super::{
    Error, Progress,
    heightmap::Heightmap,
    hillshade::hillshade,
    input, output,
    png::rgb8_bytes,
    session::{Maps, Session},
};
use crate::sim::{grid::Grid, memory::Memory, terrain::Terrain};

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
/// Most cells of all runs together.
const MOST_CELLS: usize = 2 * LONGEST_SIDE * LONGEST_SIDE;
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
    let text = read(path, &mut archive, "manifest.ron", LONGEST_MANIFEST)?;
    let text = String::from_utf8(text).map_err(|_| damaged(path, "its manifest is no text"))?;
    let head: Head =
        ron::from_str(&text).map_err(|error| damaged(path, &format!("its manifest is damaged ({error})")))?;
    if head.format > FORMAT {
        let wrong = format!("it was written by Thalweg {}, which is newer than this one", head.program);
        return Err(Error::input(path, wrong, "open it with that version or a later one"));
    }
    let manifest = Manifest::of(&text).map_err(|error| damaged(path, &format!("its manifest is damaged ({error})")))?;
    let cells: usize = manifest.runs.iter().map(|run| run.size[0].saturating_mul(run.size[1])).sum();
    let sides = manifest.runs.iter().flat_map(|run| run.size);
    if manifest.runs.is_empty() || manifest.runs.len() > MOST_RUNS {
        return Err(damaged(path, &format!("it has {} runs, where there are 1 to {MOST_RUNS}", manifest.runs.len())));
    }
    if cells > MOST_CELLS || sides.into_iter().any(|side| side == 0 || side > LONGEST_SIDE) {
        let right = format!("sides of 1 to {LONGEST_SIDE} cells can be opened, and {MOST_CELLS} cells in all");
        return Err(Error::input(path, format!("it has maps of {cells} cells"), right));
    }
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

/// A file of the archive, whole. One that is longer than it may be is not read on.
fn read(path: &Path, archive: &mut ZipArchive<impl Read + Seek>, name: &str, most: u64) -> Result<Vec<u8>, Error> {
    let wrong = |what: &str| damaged(path, &format!("{name} in it {what}"));
    let entry = archive.by_name(name).map_err(|error| wrong(&format!("is missing or damaged ({error})")))?;
    let mut bytes = Vec::new();
    let got = entry.take(most + 1).read_to_end(&mut bytes);
    got.map_err(|error| wrong(&format!("is damaged ({error})")))?;
    if bytes.len() as u64 > most {
        return Err(wrong("is longer than it can be"));
    }
    Ok(bytes)
}

/// Numbers of the archive, as many as there must be.
fn numbers(
    path: &Path,
    archive: &mut ZipArchive<impl Read + Seek>,
    name: &str,
    count: usize,
) -> Result<Vec<f32>, Error> {
    let bytes = read(path, archive, name, 4 * count as u64)?;
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    if numbers.len() != count {
        return Err(damaged(path, &format!("{name} in it has {} numbers, where {count} are needed", numbers.len())));
    }
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(damaged(path, &format!("{name} in it has values that are no numbers")));
    }
    Ok(numbers)
}

/// The session of a run.
fn take_up(path: &Path, archive: &mut ZipArchive<impl Read + Seek>, index: usize, run: Run) -> Result<Session, Error> {
    let [width, height] = run.size;
    let mut grids = BTreeMap::new();
    for (name, [width, height]) in &run.grids {
        if *width == 0 || *height == 0 || *width > LONGEST_SIDE || *height > LONGEST_SIDE {
            return Err(damaged(path, &format!("its map {name} has {width} × {height} cells")));
        }
        let cells = numbers(path, archive, &file_of(index, name), width * height)?;
        grids.insert(name.clone(), Grid::from_cells(*width, *height, cells));
    }
    let mut layer = |name: &str, least: f32| -> Result<Grid, Error> {
        let grid = grids.remove(name).ok_or_else(|| damaged(path, &format!("its layer {name} is missing")))?;
        if (grid.width(), grid.height()) != (width, height) {
            return Err(damaged(path, &format!("its layer {name} has another size than the map")));
        }
        if grid.min_max().0 < least {
            return Err(damaged(path, &format!("its layer {name} has negative values")));
        }
        Ok(grid)
    };
    let any = f32::NEG_INFINITY;
    let mut layers = |prefix: &str| -> Result<Terrain, Error> {
        let mut layer = |name: &str, least: f32| layer(&format!("{prefix}{name}"), least);
        Ok(Terrain {
            sand: layer("sand", 0.0)?,
            water: layer("water", 0.0)?,
            suspended: layer("suspended", 0.0)?,
            softness: layer("softness", 0.0)?,
            start: layer("start", any)?,
            ..Terrain::bare(layer("bedrock", any)?, run.cell_size, Default::default())
        })
    };
    let mut terrain = layers("")?;
    let shape = if run.grids.contains_key("shaped bedrock") { Some(layers("shaped ")?) } else { None };
    terrain.rain = if run.grids.contains_key("rain") { Some(layer("rain", 0.0)?) } else { None };
    terrain.mask = if run.grids.contains_key("mask") { Some(layer("mask", 0.0)?) } else { None };
    let mut map = |name: &str| grids.remove(&format!("begin {name}"));
    let maps = Maps {
        sand: map("sand"),
        softness: map("softness"),
        rain: map("rain"),
        water: map("water"),
        suspended: map("suspended"),
    };
    maps.check().map_err(|wrong| damaged(path, &wrong))?;
    let heights = map("heights");
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
            Memory::Number(number) => *number = *values.get(&name).ok_or_else(missing)?,
            Memory::Count(count) => *count = *counts.get(&name).ok_or_else(missing)?,
            Memory::Cells(cells) => {
                cells.copy_from_slice(&numbers(path, archive, &file_of(index, &name), cells.len())?);
            }
        }
    }
    session.note_defaults();
    Ok(session)
}

/// All maps of a session, by name: the layers, and what it begins with if it is started again.
fn layers_of(session: &Session) -> Vec<(String, &Grid)> {
    let terrain = &session.simulation.terrain;
    let shape = session.shape();
    let layers = [
        ("bedrock", Some(&terrain.bedrock)),
        ("sand", Some(&terrain.sand)),
        ("water", Some(&terrain.water)),
        ("suspended", Some(&terrain.suspended)),
        ("softness", Some(&terrain.softness)),
        ("start", Some(&terrain.start)),
        ("rain", terrain.rain.as_ref()),
        ("mask", terrain.mask.as_ref()),
        ("begin heights", session.heightmap.as_ref().map(|map| &map.heights)),
        ("begin sand", session.maps.sand.as_ref()),
        ("begin softness", session.maps.softness.as_ref()),
        ("begin rain", session.maps.rain.as_ref()),
        ("begin water", session.maps.water.as_ref()),
        ("begin suspended", session.maps.suspended.as_ref()),
        ("shaped bedrock", shape.map(|shape| &shape.bedrock)),
        ("shaped sand", shape.map(|shape| &shape.sand)),
        ("shaped water", shape.map(|shape| &shape.water)),
        ("shaped suspended", shape.map(|shape| &shape.suspended)),
        ("shaped softness", shape.map(|shape| &shape.softness)),
        ("shaped start", shape.map(|shape| &shape.start)),
    ];
    layers.into_iter().filter_map(|(name, grid)| Some((name.to_owned(), grid?))).collect()
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
