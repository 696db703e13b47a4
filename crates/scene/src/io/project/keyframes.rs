//! Timeline of a project: `timeline.ron` has the metadata of all keyframes, `timeline/ID/run-N/NAME.lz4` are their maps, packed as in
//! memory.

use std::{
    io::{Seek, Write},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{PACKED, archive::Archive, damaged, folder_of, put_maps};
use crate::{
    io::{Budget, Error},
    model::{
        MOST_SIDE_BY_SIDE,
        state::{SimulationState, StateMetadata, bounds_of},
    },
};
use thalweg_sim::core::{bounds::SIDES, terrain::Layer};

const MAX_KEYFRAMES: usize = 10_000;
/// Maximum length of `timeline.ron`, in bytes: every keyframe has all parameters.
const MAX_TIMELINE_BYTES: u64 = 256 << 20;

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

/// Writes keyframes to an archive, if there are any.
pub(super) fn put(archive: &mut ZipWriter<impl Write + Seek>, keyframes: &StoredTimeline) -> Result<(), ZipError> {
    if keyframes.frames.is_empty() {
        return Ok(());
    }
    let frame = |frame: &StoredNode| FrameFacts {
        id: frame.id,
        parent: frame.parent,
        runs: frame.states.iter().map(|state| state.facts.clone()).collect(),
    };
    let facts = TimelineFacts { here: keyframes.here, frames: keyframes.frames.iter().map(frame).collect() };
    let text = ron::to_string(&facts).map_err(|error| ZipError::Io(std::io::Error::other(error)))?;
    if text.len() as u64 > MAX_TIMELINE_BYTES || keyframes.frames.len() > MAX_KEYFRAMES {
        return Err(ZipError::Io(std::io::Error::other("the timeline is too long to save")));
    }
    archive.start_file("timeline.ron", SimpleFileOptions::default().compression_method(CompressionMethod::Deflated))?;
    archive.write_all(text.as_bytes())?;
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
        let packed = archive.packed(&format!("{folder}/{name}.{PACKED}"), most, bounds_of(name))?;
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
