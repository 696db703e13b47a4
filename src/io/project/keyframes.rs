//! The timeline in a project: `timeline.ron` has the facts of all keyframes, and
//! `timeline/ID/run-N/NAME.lz4` are their maps, packed as they lie in memory.

use std::{
    io::{Seek, Write},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{
    LONGEST_MANIFEST, LONGEST_SIDE, MOST_RUNS, PACKED, damaged, folder_of,
    manifest::{FORMAT, Head},
    packed, positional, put_maps, text,
};
use crate::{
    io::{Budget, Error, input},
    model::state::{Facts, State, bounds_of},
    sim::terrain::Layer,
};

/// Most keyframes that are read.
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

/// What `timeline.ron` says, with the facts of a run in the form `F`.
#[derive(Serialize, Deserialize)]
struct Manifest<F> {
    here: Option<u64>,
    frames: Vec<Frame<F>>,
}

#[derive(Serialize, Deserialize)]
struct Frame<F> {
    id: u64,
    parent: Option<u64>,
    runs: Vec<F>,
}

fn folder(id: u64, run: usize) -> String {
    format!("timeline/{id}/{}", folder_of(run))
}

/// Writes keyframes into an archive; nothing if there are none.
pub(super) fn put(archive: &mut ZipWriter<impl Write + Seek>, keyframes: &Keyframes) -> Result<(), ZipError> {
    if keyframes.frames.is_empty() {
        return Ok(());
    }
    let frame = |frame: &Keyframe| Frame {
        id: frame.id,
        parent: frame.parent,
        runs: frame.states.iter().map(|state| state.facts.clone()).collect(),
    };
    let manifest = Manifest { here: keyframes.here, frames: keyframes.frames.iter().map(frame).collect() };
    let text = ron::to_string(&manifest).map_err(|error| ZipError::Io(std::io::Error::other(error)))?;
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

/// Reads the keyframes of a project; none if it was saved without.
///
/// # Errors
/// One sentence, if they are damaged. The project itself may still be good.
pub fn keyframes(path: &Path) -> Result<Keyframes, Error> {
    let mut archive = ZipArchive::new(input::open(path)?)
        .map_err(|error| damaged(path, &format!("it is no project, or cut off ({error})")))?;
    if archive.index_for_name("timeline.ron").is_none() {
        return Ok(Keyframes::default());
    }
    let wrong = |what: String| damaged(path, &format!("its timeline is damaged ({what})"));
    let head = text(path, &mut archive, "manifest.ron", LONGEST_MANIFEST)?;
    let head: Head = ron::from_str(&head).map_err(|error| wrong(error.to_string()))?;
    let text = text(path, &mut archive, "timeline.ron", LONGEST)?;
    if head.format < FORMAT {
        let manifest = ron::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        return of(path, manifest, |run: positional::Run, id, index| {
            run.state(path, &mut archive, &folder(id, index), wrong)
        });
    }
    let manifest = ron::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    of(path, manifest, |facts: Facts, id, index| {
        check_size(facts.size).and_then(|()| facts.check()).map_err(wrong)?;
        // As if packing had not made them smaller, and one unpacked.
        let numbers: usize = facts.maps.iter().map(|name| facts.numbers_of(name)).sum();
        Budget::present().ask(path, 4 * (numbers + 2 * facts.numbers_of("")) as u64)?;
        let maps = facts.maps.iter().map(|name| {
            let most = facts.numbers_of(name);
            let file = format!("{}/{name}.{PACKED}", folder(id, index));
            let packed = packed(path, &mut archive, &file, most, bounds_of(name))?;
            if Layer::of_key(name).is_some() && packed.count() != most {
                return Err(wrong(format!("its map {name} has {} numbers, where {most} are needed", packed.count())));
            }
            Ok((name.clone(), packed))
        });
        let maps = maps.collect::<Result<_, Error>>()?;
        Ok(State { facts, maps, shaped: None })
    })
}

/// The keyframes of a manifest, with the state of each run as `state` finds it from its facts, keyframe and place.
fn of<F>(
    path: &Path,
    manifest: Manifest<F>,
    mut state: impl FnMut(F, u64, usize) -> Result<State, Error>,
) -> Result<Keyframes, Error> {
    let wrong = |what: String| damaged(path, &format!("its timeline is damaged ({what})"));
    if manifest.frames.len() > MOST {
        return Err(wrong(format!("it has {} keyframes", manifest.frames.len())));
    }
    let mut frames: Vec<Keyframe> = Vec::with_capacity(manifest.frames.len());
    for Frame { id, parent, runs } in manifest.frames {
        let earlier = |id: u64| frames.iter().any(|frame| frame.id == id);
        if earlier(id) || parent.is_some_and(|parent| !earlier(parent)) {
            return Err(wrong(format!("keyframe {id} is out of order")));
        }
        if runs.len() > MOST_RUNS {
            return Err(wrong(format!("keyframe {id} has {} runs", runs.len())));
        }
        let states = runs.into_iter().enumerate().map(|(index, run)| state(run, id, index));
        frames.push(Keyframe { id, parent, states: Arc::new(states.collect::<Result<_, Error>>()?) });
    }
    let here = manifest.here.filter(|here| frames.iter().any(|frame| frame.id == *here));
    Ok(Keyframes { frames, here })
}

/// Checks the size of a run.
pub(super) fn check_size([width, height]: [usize; 2]) -> Result<(), String> {
    let sides = 1..=LONGEST_SIDE;
    let fits = sides.contains(&width) && sides.contains(&height);
    if fits { Ok(()) } else { Err(format!("it has {width} × {height} cells")) }
}
