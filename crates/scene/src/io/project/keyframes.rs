//! Timeline of a project: `timeline.ron` has the metadata of all keyframes, `timeline/ID/run-N/NAME.lz4` are their maps, packed as in
//! memory. The maps of an autosave are files beside it instead, named by their hashes, so that each is written once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Seek, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;
use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{PACKED, archive::Archive, damaged, folder_of, put_maps};
use crate::{
    io::{
        Budget, Error,
        output::{self, OutputSet},
    },
    model::{
        MOST_SIDE_BY_SIDE,
        state::{SimulationState, StateMetadata, bounds_of},
    },
};
use thalweg_sim::core::{bounds::SIDES, terrain::Layer};

const MAX_KEYFRAMES: usize = 10_000;
/// Maximum length of `timeline.ron`, in bytes: every keyframe has all parameters.
const MAX_TIMELINE_BYTES: u64 = 256 << 20;

/// Hashes of the maps beside an autosave, by the names that they would have in its archive.
pub(super) type MapHashes = BTreeMap<String, u64>;

/// State of all simulations side by side.
#[derive(Clone, Debug)]
pub struct StoredNode {
    /// Identifier.
    pub id: u64,
    /// Identifier of the keyframe from which it was simulated.
    pub parent: Option<u64>,
    /// States of the simulations.
    pub states: Arc<Vec<SimulationState>>,
}

/// Keyframes, parents before children.
#[derive(Clone, Debug, Default)]
pub struct StoredTimeline {
    /// All keyframes.
    pub frames: Vec<StoredNode>,
    /// Last keyframe on the current branch.
    pub here: Option<u64>,
}

impl StoredTimeline {
    /// Returns the size of their maps in a project file, in bytes.
    pub fn bytes(&self) -> u64 {
        let states = self.frames.iter().flat_map(|frame| frame.states.iter());
        states.flat_map(|state| state.maps.values()).map(|map| map.bytes().len() as u64).sum()
    }
}

/// Content of `timeline.ron`.
#[derive(Serialize, Deserialize)]
struct TimelineFacts {
    here: Option<u64>,
    frames: Vec<FrameFacts>,
    /// Maps that are not in the archive.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: MapHashes,
}

#[derive(Serialize, Deserialize)]
struct FrameFacts {
    id: u64,
    parent: Option<u64>,
    runs: Vec<StateMetadata>,
}

fn folder(id: u64, run: usize) -> String {
    format!("timeline/{id}/{}", folder_of(run))
}

/// Returns the name of a map in the archive.
fn entry(folder: &str, name: &str) -> String {
    format!("{folder}/{name}.{PACKED}")
}

/// Returns the folder of the maps beside an autosave.
pub(in crate::io) fn map_folder(path: &Path) -> PathBuf {
    path.with_extension("maps")
}

/// Returns the file of a map beside an autosave.
pub(super) fn map_file(path: &Path, hash: u64) -> PathBuf {
    map_folder(path).join(output::hex(hash)).with_extension(PACKED)
}

/// Writes the maps of keyframes to files beside an autosave, unless they are there.
pub(super) fn put_files(path: &Path, keyframes: &StoredTimeline) -> Result<MapHashes, Error> {
    let mut hashes = MapHashes::new();
    if keyframes.frames.is_empty() {
        return Ok(hashes);
    }
    let set = OutputSet::new(&map_folder(path))?;
    let mut written = BTreeSet::new();
    for frame in &keyframes.frames {
        for (run, state) in frame.states.iter().enumerate() {
            for (name, map) in &state.maps {
                let hash = xxh3_64(map.bytes());
                hashes.insert(entry(&folder(frame.id, run), name), hash);
                let file = map_file(path, hash);
                if written.insert(hash)
                    && !file.exists()
                    && let Some(name) = file.file_name()
                {
                    set.write(name, |staged| output::write(staged, map.bytes()))?;
                }
            }
        }
    }
    set.publish(None)?;
    Ok(hashes)
}

/// Removes the files beside an autosave that it does not use.
pub(super) fn remove_unused(path: &Path, hashes: &MapHashes) {
    let used: BTreeSet<PathBuf> = hashes.values().map(|hash| map_file(path, *hash)).collect();
    let files = fs::read_dir(map_folder(path)).into_iter().flatten().flatten().map(|file| file.path());
    for file in files.filter(|file| !used.contains(file)) {
        // Leftovers are harmless.
        let _ = fs::remove_file(file);
    }
}

/// Writes keyframes to an archive, if there are any; without their maps, if these are files with the given hashes.
pub(super) fn put(
    archive: &mut ZipWriter<impl Write + Seek>,
    keyframes: &StoredTimeline,
    hashes: Option<&MapHashes>,
) -> Result<(), ZipError> {
    if keyframes.frames.is_empty() {
        return Ok(());
    }
    let frame = |frame: &StoredNode| FrameFacts {
        id: frame.id,
        parent: frame.parent,
        runs: frame.states.iter().map(|state| state.facts.clone()).collect(),
    };
    let frames = keyframes.frames.iter().map(frame).collect();
    let facts = TimelineFacts { here: keyframes.here, frames, files: hashes.cloned().unwrap_or_default() };
    let text = ron::to_string(&facts).map_err(|error| ZipError::Io(std::io::Error::other(error)))?;
    if text.len() as u64 > MAX_TIMELINE_BYTES || keyframes.frames.len() > MAX_KEYFRAMES {
        return Err(ZipError::Io(std::io::Error::other("the timeline is too long to save")));
    }
    archive.start_file("timeline.ron", SimpleFileOptions::default().compression_method(CompressionMethod::Deflated))?;
    archive.write_all(text.as_bytes())?;
    if hashes.is_some() {
        return Ok(());
    }
    for frame in &keyframes.frames {
        for (run, state) in frame.states.iter().enumerate() {
            put_maps(archive, &folder(frame.id, run), &state.maps)?;
        }
    }
    Ok(())
}

/// Reads the keyframes of a project; empty if it was saved without.
///
/// # Errors
/// The keyframes are damaged. The project itself may still be intact.
pub fn keyframes(path: &Path) -> Result<StoredTimeline, Error> {
    let (mut archive, _) = Archive::open(path)?;
    if !archive.has("timeline.ron") {
        return Ok(StoredTimeline::default());
    }
    let wrong = |what: String| damaged(path, &format!("timeline is damaged ({what})"));
    let text = archive.text("timeline.ron", MAX_TIMELINE_BYTES)?;
    let facts: TimelineFacts = ron::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if facts.frames.len() > MAX_KEYFRAMES {
        return Err(wrong(format!("{} states", facts.frames.len())));
    }
    archive.map_hashes = facts.files;
    let mut frames: Vec<StoredNode> = Vec::with_capacity(facts.frames.len());
    for FrameFacts { id, parent, runs } in facts.frames {
        let earlier = |id: u64| frames.iter().any(|frame| frame.id == id);
        if earlier(id) || parent.is_some_and(|parent| !earlier(parent)) {
            return Err(wrong(format!("state {id} is out of order")));
        }
        if runs.len() > MOST_SIDE_BY_SIDE {
            return Err(wrong(format!("state {id} has {} simulations", runs.len())));
        }
        let runs = runs.into_iter().enumerate();
        let states = runs.map(|(index, facts)| state(&mut archive, &folder(id, index), facts, wrong));
        frames.push(StoredNode { id, parent, states: Arc::new(states.collect::<Result<_, Error>>()?) });
    }
    let here = facts.here.filter(|here| frames.iter().any(|frame| frame.id == *here));
    Ok(StoredTimeline { frames, here })
}

/// Reads the state of a simulation from its metadata and its maps in a folder of the archive.
fn state(
    archive: &mut Archive<'_>,
    folder: &str,
    facts: StateMetadata,
    wrong: impl Fn(String) -> Error,
) -> Result<SimulationState, Error> {
    check_size(facts.size).and_then(|()| facts.check()).map_err(&wrong)?;
    // Memory for all maps as if uncompressed, plus an unpacked one.
    let numbers: usize = facts.maps.iter().map(|name| facts.numbers_of(name)).sum();
    Budget::present().request(archive.path, 4 * (numbers + 2 * facts.numbers_of("")) as u64)?;
    let maps = facts.maps.iter().map(|name| {
        let most = facts.numbers_of(name);
        let packed = archive.packed(&entry(folder, name), most, bounds_of(name))?;
        if Layer::from_key(name).is_some() && packed.count() != most {
            return Err(wrong(format!("map {name} has {} values, expected {most}", packed.count())));
        }
        Ok((name.clone(), packed))
    });
    let maps = maps.collect::<Result<_, Error>>()?;
    Ok(SimulationState::new(facts, maps, None))
}

fn check_size([width, height]: [usize; 2]) -> Result<(), String> {
    let sides = 1..=*SIDES.end();
    let fits = sides.contains(&width) && sides.contains(&height);
    if fits { Ok(()) } else { Err(format!("{width} × {height} cells")) }
}
