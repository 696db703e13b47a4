//! Projects: a run with everything that it needs to go on, in one file.
//!
//! A `.thalweg` file is a zip archive. `manifest.ron` lists what is in it. `run-N/NAME.lz4` are layers and what processes keep,
//! packed as they are for undo ([`Packed`]). `thumbnail.png` is a small picture. A project that is opened and run on gives the same
//! bits as if it had never been closed.

mod archive;
mod keyframes;
mod manifest;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{Seek, Write},
    path::Path,
    sync::Arc,
};

use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use self::{
    archive::Archive,
    manifest::{FORMAT, Manifest, SavedRun},
};
use super::{Budget, Error, JobProgress, output, png::rgb8_bytes};
use crate::{
    io::export::hillshade::hillshade,
    model::{
        MOST_SIDE_BY_SIDE,
        film::Keys,
        origin::Heightmap,
        packed::Packed,
        session::{Session, check_map},
        state::{State, bounds_of},
    },
};
use thalweg_sim::core::{
    bounds::SHARE,
    grid::Grid,
    terrain::{Layer, Terrain},
};

pub use self::{
    keyframes::{Keyframe, Keyframes, keyframes},
    manifest::{Camera, KeptViews, Views},
};

/// Ending of a project's name.
pub const ENDING: &str = "thalweg";
/// Ending of the names of packed maps in the archive.
const PACKED: &str = "lz4";
/// The map of the cells of a heightmap that have no data.
const NODATA: &str = "begin nodata";
const LONGEST_SIDE: usize = 4096;
/// Cells along the longer side of the thumbnail.
const THUMBNAIL: usize = 256;

/// A project: runs side by side, and how they were looked at.
#[derive(Clone)]
pub struct Project {
    /// The runs, at least one.
    pub sessions: Vec<Session>,
    /// The one whose numbers are shown.
    pub chosen: usize,
    /// Where the eye is, and the views that are kept.
    pub views: Views,
    /// States along the run, if they are to be saved too. Opening leaves them out: see [`keyframes()`].
    pub timeline: Keyframes,
}

impl Project {
    /// Runs that nobody has looked at yet. The first is chosen.
    pub fn of(sessions: Vec<Session>) -> Self {
        Self { sessions, chosen: 0, views: Views::default(), timeline: Keyframes::default() }
    }
}

/// Whether a name is that of a project.
pub fn is_project(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Writes a project between two ticks. The file that was there before is replaced whole or not at all.
///
/// # Errors
/// The file cannot be written.
///
/// # Panics
/// If a run is in the middle of a tick.
pub fn save(project: &mut Project, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    assert!(project.sessions.iter().all(|session| session.simulation.between_ticks()), "a tick is saved whole");
    let states: Vec<State> = project.sessions.iter_mut().map(State::packed).collect();
    let run = |(session, state): (&Session, &State)| {
        let sizes = begins_of(session).into_iter().map(|(name, grid)| (name, [grid.width(), grid.height()]));
        SavedRun::of(session, state.facts.clone(), sizes.collect())
    };
    let manifest = Manifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        chosen: project.chosen,
        camera: project.views.eye,
        kept_views: project.views.kept.numbered,
        camera_keys: project.views.kept.keys.list().to_vec(),
        runs: project.sessions.iter().zip(&states).map(run).collect(),
    };
    let text = ron::ser::to_string_pretty(&manifest, ron::ser::PrettyConfig::new())
        .map_err(|error| Error::unwritable(path, &error))?;
    output::replace(path, |staged| {
        let thumbnail = thumbnail(&project.sessions[0], staged)?;
        output::create(staged, |file| -> Result<(), ZipError> {
            let mut archive = ZipWriter::new(file);
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            let options = options.compression_level(Some(1));
            let mut put = |name: &str, bytes: &[u8]| -> Result<(), ZipError> {
                archive.start_file(name, options)?;
                Ok(archive.write_all(bytes)?)
            };
            put("manifest.ron", text.as_bytes())?;
            put("thumbnail.png", &thumbnail)?;
            for (index, (session, state)) in project.sessions.iter().zip(&states).enumerate() {
                let folder = folder_of(index);
                put_maps(&mut archive, &folder, &state.maps)?;
                let nodata = session.heightmap.iter().filter_map(|map| Some((NODATA.to_owned(), map.nodata.as_ref()?)));
                let begins = begins_of(session).into_iter().chain(nodata);
                put_maps(&mut archive, &folder, &begins.map(|(name, grid)| (name, Packed::of(grid))).collect())?;
                progress.done(index + 1, states.len());
            }
            keyframes::put(&mut archive, &project.timeline)?;
            archive.finish().map(drop)
        })
    })
}

/// Reads a project.
///
/// # Errors
/// One sentence, if the file is no project, is damaged, or has another format than that of this program.
pub fn open(path: &Path) -> Result<Project, Error> {
    let (mut archive, manifest) = Archive::open(path)?;
    if manifest.runs.is_empty() || manifest.runs.len() > MOST_SIDE_BY_SIDE {
        return Err(damaged(
            path,
            &format!("it has {} runs, where there are 1 to {MOST_SIDE_BY_SIDE}", manifest.runs.len()),
        ));
    }
    manifest.runs.iter().try_for_each(|run| check_sizes(path, run))?;
    Budget::present().ask(path, manifest.runs.iter().map(SavedRun::bytes).sum())?;
    let runs = manifest.runs.into_iter().enumerate();
    let mut sessions = runs.map(|(index, run)| take_up(&mut archive, index, run)).collect::<Result<Vec<_>, _>>()?;
    let chosen = manifest.chosen.min(sessions.len() - 1);
    let sane = |camera: Option<Camera>| camera.filter(Camera::is_sane);
    // Views that make no sense are left out: the work is more than they are.
    let keys = Keys::of(manifest.camera_keys).unwrap_or_else(|wrong| {
        sessions[0].warnings.push(format!("The keys of the camera are left out: {wrong}."));
        Keys::default()
    });
    let kept = KeptViews { numbered: manifest.kept_views.map(sane), keys };
    let views = Views { eye: sane(manifest.camera), kept };
    Ok(Project { chosen, views, ..Project::of(sessions) })
}

/// Reads the keys of the camera alone.
///
/// # Errors
/// As [`open()`], and if the keys make no sense.
pub fn keys(path: &Path) -> Result<Keys, Error> {
    let (_, manifest) = Archive::open(path)?;
    Keys::of(manifest.camera_keys).map_err(|wrong| damaged(path, &format!("its camera is damaged ({wrong})")))
}

/// Reads a project with its timeline. If the timeline alone is damaged, it opens without it, and says so.
///
/// # Errors
/// As [`open()`].
pub fn open_whole(path: &Path) -> Result<Project, Error> {
    let mut project = open(path)?;
    match keyframes(path) {
        Ok(mut timeline) => {
            // One start is kept for all of them.
            for frame in &mut timeline.frames {
                let states = Arc::get_mut(&mut frame.states).into_iter().flatten();
                for (state, session) in states.zip(&project.sessions) {
                    state.shaped.clone_from(&session.shaped);
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
fn check_sizes(path: &Path, run: &SavedRun) -> Result<(), Error> {
    let begins = run.grids.iter().map(|(name, size)| (&**name, *size));
    for (name, size) in std::iter::once(("", run.state.size)).chain(begins) {
        let refuse = |wrong: &str, right: String| {
            let [width, height] = size;
            Err(Error::input(path, format!("its map {name} {wrong} ({width} × {height} cells)"), right))
        };
        if size.iter().any(|side| !(1..=LONGEST_SIDE).contains(side)) {
            return refuse("is empty or too large", format!("a side has 1 to {LONGEST_SIDE} cells"));
        }
        if !name.is_empty() && begins_with(name).is_none() {
            return refuse("is none that a run can have", "a file that Thalweg wrote is needed".to_owned());
        }
    }
    Ok(())
}

fn put_maps(
    archive: &mut ZipWriter<impl Write + Seek>,
    folder: &str,
    maps: &BTreeMap<String, Packed>,
) -> Result<(), ZipError> {
    // They are packed already.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, packed) in maps {
        archive.start_file(format!("{folder}/{name}.{PACKED}"), options)?;
        archive.write_all(packed.bytes())?;
    }
    Ok(())
}

fn take_up(archive: &mut Archive<'_>, index: usize, run: SavedRun) -> Result<Session, Error> {
    let (path, folder) = (archive.path, folder_of(index));
    let wrong = |wrong: String| damaged(path, &wrong);
    let mut session = run.session().map_err(wrong)?;
    let mut shape = BTreeMap::new();
    for (name, &[width, height]) in &run.grids {
        let Some((begins, layer)) = begins_with(name) else { continue };
        let mut whole = |name: &str, bounds| {
            let cells = archive.map(&folder, name, width * height, bounds)?;
            let cells = cells.filter(|cells| cells.len() == width * height);
            let cells = cells.ok_or_else(|| wrong(format!("its map {name} is missing, or not of its size")))?;
            Ok::<_, Error>(Grid::from_cells(width, height, cells))
        };
        let grid = whole(name, layer.row().bounds)?;
        match begins {
            Begins::Shaped => drop(shape.insert(layer, grid)),
            Begins::Loaded => {
                check_map(layer, &grid).map_err(|unfit| Error::unfit(path, unfit))?;
                session.maps.insert(layer, grid);
            }
            Begins::Heights => {
                let (cell_size, geo) = (run.state.cell_size, run.geo);
                let nodata = if run.nodata { Some(whole(NODATA, SHARE)?) } else { None };
                let (file_size, warnings) = ((width, height), vec![]);
                let map = Heightmap { heights: grid, file_size, cell_size, geo, nodata, warnings };
                session.heightmap = Some(Arc::new(map));
            }
        }
    }
    let maps =
        |name: &str| archive.map(&folder, name, run.state.numbers_of(name), bounds_of(name)).map_err(Refused::File);
    run.state.restore(&mut session, maps).map_err(|refused| match refused {
        Refused::File(error) => error,
        Refused::State(sentence) => wrong(sentence),
    })?;
    if let Some(size) = shape.get(&Layer::Bedrock).map(|grid| (grid.width(), grid.height())) {
        let cells = (run.state.cell_size, session.terrain.edge);
        session.set_shape(Terrain::of(size, cells, |layer| shape.remove(&layer)));
    }
    session.note_defaults();
    Ok(session)
}

/// Why a state could not be taken up.
enum Refused {
    File(Error),
    State(String),
}

impl From<String> for Refused {
    fn from(sentence: String) -> Self {
        Self::State(sentence)
    }
}

/// What a run begins with if it is started again.
enum Begins {
    /// The heights of a heightmap.
    Heights,
    /// A layer that was loaded.
    Loaded,
    /// A layer as it was shaped by hand.
    Shaped,
}

/// What the map of this name is.
fn begins_with(name: &str) -> Option<(Begins, Layer)> {
    match name.split_once(' ')? {
        ("begin", "heights") => Some((Begins::Heights, Layer::Bedrock)),
        ("begin", layer) => Some((Begins::Loaded, Layer::of_key(layer)?)),
        ("shaped", layer) => Some((Begins::Shaped, Layer::of_key(layer)?)),
        _ => None,
    }
}

/// The maps that a session begins with if it is started again, by name.
fn begins_of(session: &Session) -> Vec<(String, &Grid)> {
    let heights = session.heightmap.iter().map(|map| ("begin heights".to_owned(), &map.heights));
    let maps = session.maps.iter().map(|(layer, grid)| (format!("begin {}", layer.key()), grid));
    let shape = session.shape().into_iter().flat_map(Terrain::layers);
    heights.chain(maps).chain(shape.map(|(layer, grid)| (format!("shaped {}", layer.key()), grid))).collect()
}

fn folder_of(run: usize) -> String {
    format!("run-{}", run + 1)
}

/// A small picture of the first run, as the bytes of a PNG that becomes part of `staged`.
fn thumbnail(session: &Session, staged: &Path) -> Result<Vec<u8>, Error> {
    let terrain = &session.simulation.terrain;
    let (width, height) = (terrain.width(), terrain.height());
    let shrink = (THUMBNAIL as f32 / width.max(height) as f32).min(1.0);
    let size = [width, height].map(|side| ((side as f32 * shrink).round() as usize).max(1));
    let [ground, sand] = [&terrain.ground(), &terrain.sand].map(|grid| grid.resampled(size[0], size[1]));
    let cell_size = terrain.cell_size * width as f32 / size[0] as f32;
    let pixels = hillshade(&ground, &sand, cell_size, &session.look, &JobProgress::default());
    rgb8_bytes(staged, (size[0], size[1]), &pixels)
}
