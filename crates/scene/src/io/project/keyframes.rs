//! The timeline in a project: `timeline.ron` has the facts of all keyframes, and
//! `timeline/ID/run-N/NAME.lz4` are their maps, packed as they lie in memory.

use std::{
    io::{Seek, Write},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{LONGEST_SIDE, PACKED, archive::Archive, damaged, folder_of, put_maps};
use crate::{
    io::{Budget, Error},
    model::{
        MOST_SIDE_BY_SIDE,
        state::{Facts, State, bounds_of},
    },
};
use thalweg_sim::core::terrain::Layer;

const MOST: usize = 10_000;
/// Longest `timeline.ron`, in bytes: every keyframe has all parameters.
const LONGEST: u64 = 256 << 20;

/// A state of all runs side by side.
#[derive(Clone, Debug)]
pub struct Keyframe {
    /// Its number.
    pub id: u64,
    /// The number of the one that it was run on from.
    pub parent: Option<u64>,
    /// The runs.
    pub states: Arc<Vec<State>>,
}

/// Keyframes, each after its parent.
#[derive(Clone, Debug, Default)]
pub struct Keyframes {
    /// All of them.
    pub frames: Vec<Keyframe>,
    /// The last one on the way to the present.
    pub here: Option<u64>,
}

impl Keyframes {
    /// What their maps take in a project's file, in bytes.
    pub fn bytes(&self) -> u64 {
        let states = self.frames.iter().flat_map(|frame| frame.states.iter());
        states.flat_map(|state| state.maps.values()).map(|map| map.bytes().len() as u64).sum()
    }
}

/// The content of `timeline.ron`.
#[derive(Serialize, Deserialize)]
struct TimelineFacts {
    here: Option<u64>,
    frames: Vec<FrameFacts>,
}

#[derive(Serialize, Deserialize)]
struct FrameFacts {
    id: u64,
    parent: Option<u64>,
    runs: Vec<Facts>,
}

fn folder(id: u64, run: usize) -> String {
    format!("timeline/{id}/{}", folder_of(run))
}

/// Writes keyframes into an archive; nothing if there are none.
pub(super) fn put(archive: &mut ZipWriter<impl Write + Seek>, keyframes: &Keyframes) -> Result<(), ZipError> {
    if keyframes.frames.is_empty() {
        return Ok(());
    }
    let frame = |frame: &Keyframe| FrameFacts {
        id: frame.id,
        parent: frame.parent,
        runs: frame.states.iter().map(|state| state.facts.clone()).collect(),
    };
    let facts = TimelineFacts { here: keyframes.here, frames: keyframes.frames.iter().map(frame).collect() };
    let text = ron::to_string(&facts).map_err(|error| ZipError::Io(std::io::Error::other(error)))?;
    if text.len() as u64 > LONGEST || keyframes.frames.len() > MOST {
        return Err(ZipError::Io(std::io::Error::other("the timeline is too long to be saved")));
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

/// Reads the keyframes of a project; none if it was saved without. If they are damaged, the project itself may still be good.
///
/// # Errors
/// One sentence, if they are damaged. The project itself may still be good.
pub fn keyframes(path: &Path) -> Result<Keyframes, Error> {
    let (mut archive, _) = Archive::open(path)?;
    if !archive.has("timeline.ron") {
        return Ok(Keyframes::default());
    }
    let wrong = |what: String| damaged(path, &format!("its timeline is damaged ({what})"));
    let text = archive.text("timeline.ron", LONGEST)?;
    let facts: TimelineFacts = ron::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if facts.frames.len() > MOST {
        return Err(wrong(format!("it has {} keyframes", facts.frames.len())));
    }
    let mut frames: Vec<Keyframe> = Vec::with_capacity(facts.frames.len());
    for FrameFacts { id, parent, runs } in facts.frames {
        let earlier = |id: u64| frames.iter().any(|frame| frame.id == id);
        if earlier(id) || parent.is_some_and(|parent| !earlier(parent)) {
            return Err(wrong(format!("keyframe {id} is out of order")));
        }
        if runs.len() > MOST_SIDE_BY_SIDE {
            return Err(wrong(format!("keyframe {id} has {} runs", runs.len())));
        }
        let runs = runs.into_iter().enumerate();
        let states = runs.map(|(index, facts)| state(&mut archive, &folder(id, index), facts, wrong));
        frames.push(Keyframe { id, parent, states: Arc::new(states.collect::<Result<_, Error>>()?) });
    }
    let here = facts.here.filter(|here| frames.iter().any(|frame| frame.id == *here));
    Ok(Keyframes { frames, here })
}

/// Reads the state of a run from its facts and its maps in a folder of the archive.
fn state(
    archive: &mut Archive<'_>,
    folder: &str,
    facts: Facts,
    wrong: impl Fn(String) -> Error,
) -> Result<State, Error> {
    check_size(facts.size).and_then(|()| facts.check()).map_err(&wrong)?;
    // Room for all maps as if packing did not make them smaller, and for an unpacked one.
    let numbers: usize = facts.maps.iter().map(|name| facts.numbers_of(name)).sum();
    Budget::present().ask(archive.path, 4 * (numbers + 2 * facts.numbers_of("")) as u64)?;
    let maps = facts.maps.iter().map(|name| {
        let most = facts.numbers_of(name);
        let packed = archive.packed(&format!("{folder}/{name}.{PACKED}"), most, bounds_of(name))?;
        if Layer::of_key(name).is_some() && packed.count() != most {
            return Err(wrong(format!("its map {name} has {} numbers, where {most} are needed", packed.count())));
        }
        Ok((name.clone(), packed))
    });
    let maps = maps.collect::<Result<_, Error>>()?;
    Ok(State::new(facts, maps, None))
}

fn check_size([width, height]: [usize; 2]) -> Result<(), String> {
    let sides = 1..=LONGEST_SIDE;
    let fits = sides.contains(&width) && sides.contains(&height);
    if fits { Ok(()) } else { Err(format!("it has {width} × {height} cells")) }
}
