//! Projects: complete simulation states in one file.
//!
//! A `.thalweg` file is a zip archive. `manifest.ron` is its table of contents. `run-N/NAME.lz4` are layers and process state, packed as
//! for undo ([`PackedGrid`]). `thumbnail.png` is a preview. A simulation continued from a project is bit-identical to one that was never
//! closed. An autosave is a project whose timeline has its maps in a folder beside it, see [`autosave()`].

mod archive;
mod keyframes;
mod manifest;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    io::{Seek, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use self::{
    archive::Archive,
    keyframes::MapHashes,
    manifest::{FORMAT, Manifest, SavedRun},
};
use super::{Budget, Error, JobProgress, output, png::rgb8_bytes};
use crate::{
    io::export::hillshade,
    model::{
        MOST_SIDE_BY_SIDE,
        film::CameraKeyframes,
        origin::Heightmap,
        packed::PackedGrid,
        session::{Session, check_map},
        state::{SimulationState, bounds_of},
    },
};
use thalweg_sim::core::{
    bounds::{SHARE, SIDES},
    grid::Grid,
    terrain::{Layer, Terrain},
};

pub(super) use self::keyframes::map_folder;
pub use self::{
    keyframes::{StoredNode, StoredTimeline, keyframes},
    manifest::{Camera, SavedViews, Views},
};

/// File extension of projects.
pub const ENDING: &str = "thalweg";
/// File extension of packed maps in the archive.
const PACKED: &str = "lz4";
/// Name of the NODATA mask of a heightmap.
const NODATA: &str = "begin nodata";
/// Longer side of the thumbnail, in pixels.
const THUMBNAIL: usize = 256;

/// Simulations side by side, and their views.
#[derive(Clone)]
pub struct Project {
    /// The simulations, at least one.
    pub sessions: Vec<Session>,
    /// Index of the active simulation, whose parameters are shown.
    pub chosen: usize,
    /// Current camera and bookmarks.
    pub views: Views,
    /// Keyframes of the timeline, if they are to be saved too. [`open()`] leaves them out, see [`keyframes()`].
    pub timeline: StoredTimeline,
    /// Project file that an autosave belongs to, if its path is Unicode.
    pub file: Option<PathBuf>,
}

/// Project file, with the version that was read or written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Time of the last change, and length in bytes; `None` if the file was missing.
    version: Option<(SystemTime, u64)>,
}

impl ProjectFile {
    /// Returns a file in its present version.
    pub fn of(path: PathBuf) -> Self {
        Self { version: version(&path), path }
    }

    /// Returns `true` if another program has changed the file.
    pub fn is_changed(&self) -> bool {
        version(&self.path).is_some_and(|now| self.version != Some(now))
    }
}

fn version(path: &Path) -> Option<(SystemTime, u64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len()))
}

impl Project {
    /// Creates a project without views. The first simulation is active.
    pub fn of(sessions: Vec<Session>) -> Self {
        Self { sessions, chosen: 0, views: Views::default(), timeline: StoredTimeline::default(), file: None }
    }
}

/// `true` if this is the path of a project.
pub fn is_project(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Saves a project between two ticks. An existing file is replaced atomically.
///
/// # Errors
/// The file cannot be written.
///
/// # Panics
/// If a simulation is in the middle of a tick.
pub fn save(project: &mut Project, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    write(project, path, None, progress)
}

/// Saves a project in the same way, but the maps of its timeline to a folder beside it, where those of the previous autosave are kept.
///
/// # Errors
/// The file or the folder cannot be written. If only the folder cannot, the project is saved without its timeline.
///
/// # Panics
/// If a simulation is in the middle of a tick.
pub fn autosave(project: &mut Project, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    let hashes = keyframes::put_files(path, &project.timeline);
    if hashes.is_err() {
        project.timeline = StoredTimeline::default();
    }
    write(project, path, hashes.as_ref().ok(), progress)?;
    hashes.map(|hashes| keyframes::remove_unused(path, &hashes))
}

/// Writes a project; without the maps of its timeline, if these are files with the given hashes.
fn write(project: &mut Project, path: &Path, hashes: Option<&MapHashes>, progress: &JobProgress) -> Result<(), Error> {
    assert!(
        project.sessions.iter().all(|session| session.simulation.between_ticks()),
        "projects are saved between ticks"
    );
    let states: Vec<SimulationState> = project.sessions.iter_mut().map(SimulationState::capture_packed).collect();
    let run = |(session, state): (&Session, &SimulationState)| {
        let sizes = initial_maps(session).into_iter().map(|(name, grid)| (name, [grid.width(), grid.height()]));
        SavedRun::of(session, state.facts.clone(), sizes.collect())
    };
    let manifest = Manifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        chosen: project.chosen,
        file: project.file.as_ref().and_then(|file| file.to_str()).map(str::to_owned),
        camera: project.views.camera,
        bookmarks: project.views.saved.bookmarks,
        camera_keys: project.views.saved.keys.list().to_vec(),
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
                let begins = initial_maps(session).into_iter().chain(nodata);
                put_maps(&mut archive, &folder, &begins.map(|(name, grid)| (name, PackedGrid::pack(grid))).collect())?;
                progress.done(index + 1, states.len());
            }
            keyframes::put(&mut archive, &project.timeline, hashes)?;
            archive.finish().map(drop)
        })
    })
}

/// Reads a project without its timeline.
///
/// # Errors
/// The file is not a project, is damaged, or has an unsupported format.
pub fn open(path: &Path) -> Result<Project, Error> {
    let (mut archive, manifest) = Archive::open(path)?;
    if manifest.runs.is_empty() || manifest.runs.len() > MOST_SIDE_BY_SIDE {
        return Err(damaged(path, &format!("{} simulations, expected 1 to {MOST_SIDE_BY_SIDE}", manifest.runs.len())));
    }
    manifest.runs.iter().try_for_each(|run| check_sizes(path, run))?;
    Budget::present().request(path, manifest.runs.iter().map(SavedRun::bytes).sum())?;
    let runs = manifest.runs.into_iter().enumerate();
    let mut sessions =
        runs.map(|(index, run)| restore_session(&mut archive, index, run)).collect::<Result<Vec<_>, _>>()?;
    let chosen = manifest.chosen.min(sessions.len() - 1);
    let valid = |camera: Option<Camera>| camera.filter(Camera::is_valid);
    // Invalid views are discarded, as the simulation matters more.
    let keys = CameraKeyframes::of(manifest.camera_keys).unwrap_or_else(|wrong| {
        sessions[0].warnings.push(format!("Camera keyframes were discarded: {wrong}."));
        CameraKeyframes::default()
    });
    let saved = SavedViews { bookmarks: manifest.bookmarks.map(valid), keys };
    let views = Views { camera: valid(manifest.camera), saved };
    Ok(Project { chosen, views, file: manifest.file.map(PathBuf::from), ..Project::of(sessions) })
}

/// Reads only the camera keyframes.
///
/// # Errors
/// As [`open()`], or the keyframes are invalid.
pub fn keys(path: &Path) -> Result<CameraKeyframes, Error> {
    let (_, manifest) = Archive::open(path)?;
    CameraKeyframes::of(manifest.camera_keys)
        .map_err(|wrong| damaged(path, &format!("camera keyframes are damaged ({wrong})")))
}

/// Reads a project with its timeline. If only the timeline is damaged, it opens without it, with a warning.
///
/// # Errors
/// As [`open()`].
pub fn open_with_timeline(path: &Path) -> Result<Project, Error> {
    let mut project = open(path)?;
    match timeline(path, &project.sessions) {
        Ok(timeline) => project.timeline = timeline,
        Err(error) => project.sessions[0].warnings.push(format!("{error}; opened without the timeline")),
    }
    Ok(project)
}

/// Reads the timeline of a project whose simulations were read before.
fn timeline(path: &Path, sessions: &[Session]) -> Result<StoredTimeline, Error> {
    let mut timeline = keyframes(path)?;
    // All keyframes share one initial state.
    for frame in &mut timeline.frames {
        let states = Arc::get_mut(&mut frame.states).into_iter().flatten();
        for (state, session) in states.zip(sessions) {
            state.shaped.clone_from(&session.shaped);
        }
    }
    Ok(timeline)
}

fn damaged(path: &Path, wrong: &str) -> Error {
    Error::input(path, wrong, "open an intact .thalweg file, for example an autosave or a backup")
}

/// Checks that a simulation has only known maps of valid sizes.
fn check_sizes(path: &Path, run: &SavedRun) -> Result<(), Error> {
    let begins = run.grids.iter().map(|(name, size)| (&**name, *size));
    for (name, size) in std::iter::once(("", run.state.size)).chain(begins) {
        let refuse = |wrong: &str, right: String| {
            let [width, height] = size;
            Err(Error::input(path, format!("map {name} {wrong} ({width} × {height} cells)"), right))
        };
        if size.iter().any(|side| !(1..=*SIDES.end()).contains(side)) {
            return refuse("is empty or too large", format!("each side ranges from 1 to {} cells", SIDES.end()));
        }
        if !name.is_empty() && parse_initial_map(name).is_none() {
            return refuse("is unknown", "expected a file written by Thalweg".to_owned());
        }
    }
    Ok(())
}

fn put_maps(
    archive: &mut ZipWriter<impl Write + Seek>,
    folder: &str,
    maps: &BTreeMap<String, PackedGrid>,
) -> Result<(), ZipError> {
    // Already compressed.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, packed) in maps {
        archive.start_file(format!("{folder}/{name}.{PACKED}"), options)?;
        archive.write_all(packed.bytes())?;
    }
    Ok(())
}

fn restore_session(archive: &mut Archive<'_>, index: usize, run: SavedRun) -> Result<Session, Error> {
    let (path, folder) = (archive.path, folder_of(index));
    let wrong = |wrong: String| damaged(path, &wrong);
    let mut session = run.session().map_err(wrong)?;
    let mut shape = BTreeMap::new();
    for (name, &[width, height]) in &run.grids {
        let Some((begins, layer)) = parse_initial_map(name) else { continue };
        let mut whole = |name: &str, bounds| {
            let cells = archive.map(&folder, name, width * height, bounds)?;
            let cells = cells.filter(|cells| cells.len() == width * height);
            let cells = cells.ok_or_else(|| wrong(format!("map {name} is missing or has the wrong size")))?;
            Ok::<_, Error>(Grid::from_cells(width, height, cells))
        };
        let grid = whole(name, layer.row().bounds)?;
        match begins {
            InitialMap::Shaped => drop(shape.insert(layer, grid)),
            InitialMap::Loaded => {
                check_map(layer, &grid).map_err(|unfit| Error::unfit(path, unfit))?;
                session.maps.insert(layer, grid);
            }
            InitialMap::Heights => {
                let (cell_size, geo) = (run.state.cell_size, run.geo.clone());
                let nodata = if run.nodata { Some(whole(NODATA, SHARE)?) } else { None };
                let (file_size, warnings) = ((width, height), vec![]);
                let map = Heightmap { heights: grid, file_size, cell_size, geo, nodata, warnings };
                session.heightmap = Some(Arc::new(map));
            }
        }
    }
    let maps = |name: &str| {
        archive.map(&folder, name, run.state.numbers_of(name), bounds_of(name)).map_err(RestoreError::File)
    };
    run.state.restore(&mut session, maps).map_err(|refused| match refused {
        RestoreError::File(error) => error,
        RestoreError::State(sentence) => wrong(sentence),
    })?;
    if let Some(size) = shape.get(&Layer::Bedrock).map(|grid| (grid.width(), grid.height())) {
        let cells = (run.state.cell_size, session.terrain.edge);
        session.set_sculpted_start(Terrain::from_layers(size, cells, |layer| shape.remove(&layer)));
    }
    session.record_defaults();
    Ok(session)
}

/// Error while restoring a state.
enum RestoreError {
    File(Error),
    State(String),
}

impl From<String> for RestoreError {
    fn from(sentence: String) -> Self {
        Self::State(sentence)
    }
}

/// Origin of a map in the initial state of a simulation.
enum InitialMap {
    /// Heights of a heightmap.
    Heights,
    /// Imported layer.
    Loaded,
    /// Layer edited by hand.
    Shaped,
}

/// Parses the name of an initial map.
fn parse_initial_map(name: &str) -> Option<(InitialMap, Layer)> {
    match name.split_once(' ')? {
        ("begin", "heights") => Some((InitialMap::Heights, Layer::Bedrock)),
        ("begin", layer) => Some((InitialMap::Loaded, Layer::from_key(layer)?)),
        ("shaped", layer) => Some((InitialMap::Shaped, Layer::from_key(layer)?)),
        _ => None,
    }
}

/// Returns the maps of a session's initial state by name.
fn initial_maps(session: &Session) -> Vec<(String, &Grid)> {
    let heights = session.heightmap.iter().map(|map| ("begin heights".to_owned(), &map.heights));
    let maps = session.maps.iter().map(|(layer, grid)| (format!("begin {}", layer.key()), grid));
    let shape = session.sculpted_terrain().into_iter().flat_map(Terrain::layers);
    heights.chain(maps).chain(shape.map(|(layer, grid)| (format!("shaped {}", layer.key()), grid))).collect()
}

fn folder_of(run: usize) -> String {
    format!("run-{}", run + 1)
}

/// Renders a thumbnail of the first simulation as PNG bytes that become part of `staged`.
fn thumbnail(session: &Session, staged: &Path) -> Result<Vec<u8>, Error> {
    let terrain = &session.simulation.terrain;
    let (ground, sand) = (terrain.ground(), &terrain.sand);
    let (size, pixels) = hillshade::thumbnail(&ground, sand, None, terrain.cell_size, &session.look, THUMBNAIL);
    rgb8_bytes(staged, size, &pixels)
}
