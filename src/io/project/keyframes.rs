//! The timeline in a project: `timeline.ron` says which keyframes there are and what is no map in them, and
//! `timeline/ID/run-N/K.lz4` are their maps, packed as they lie in memory.

use std::{
    collections::BTreeMap,
    io::{Read, Seek, Write},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{LONGEST_SIDE, MOST_RUNS, damaged, manifest::Books, read, text};
use crate::{
    io::{Budget, Error, input},
    model::state::{Packed, Snapshot},
    params::kebab,
    sim::{
        bounds::{Bounds, CELL_SIZE, KEPT, TICK},
        ledger::Ledger,
        process::catalogue,
        terrain::{Edge, Layer, Source},
    },
};

/// Most keyframes that are read.
const MOST: usize = 10_000;
/// Most maps of a run of a keyframe besides its layers.
const MOST_MAPS: usize = 64;
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
    pub snapshots: Arc<Vec<Snapshot>>,
}

/// Keyframes, each after its parent.
#[derive(Clone, Debug, Default)]
pub struct Keyframes {
    /// All of them.
    pub frames: Vec<Keyframe>,
    /// The last one on the way to the present.
    pub here: Option<u64>,
}

/// What `timeline.ron` says.
#[derive(Serialize, Deserialize)]
struct Manifest {
    here: Option<u64>,
    frames: Vec<Frame>,
}

#[derive(Serialize, Deserialize)]
struct Frame {
    id: u64,
    parent: Option<u64>,
    runs: Vec<Run>,
}

/// What is no map in a snapshot.
#[derive(Serialize, Deserialize)]
struct Run {
    size: (usize, usize),
    cell_size: f32,
    edge: String,
    seed: u64,
    tick: u64,
    #[serde(default)]
    edited: bool,
    enabled: Vec<String>,
    limited: Vec<String>,
    set: BTreeMap<String, String>,
    sources: Vec<Source>,
    solid: Books,
    water: Books,
    /// Which of the layers there are, in the order of the snapshot.
    layers: Vec<bool>,
    /// Processes that kept something, the lengths of their maps, and their numbers.
    kept: Vec<String>,
    cells: Vec<usize>,
    numbers: Vec<f64>,
    counts: Vec<u64>,
}

impl Run {
    fn of(snapshot: &Snapshot) -> Self {
        let keys = || catalogue().into_iter().map(|process| process.info().key);
        let those = |which: usize| {
            let flags = keys().zip(&snapshot.enabled).filter(|(_, flags)| flags[which]);
            flags.map(|(key, _)| key.to_owned()).collect()
        };
        Self {
            size: snapshot.size,
            cell_size: snapshot.cell_size,
            edge: kebab(&format!("{:?}", snapshot.edge)),
            seed: snapshot.seed,
            tick: snapshot.tick,
            edited: snapshot.edited,
            enabled: those(0),
            limited: those(1),
            set: snapshot.parameters.clone(),
            sources: snapshot.sources.clone(),
            solid: Books::of(&snapshot.ledger.solid),
            water: Books::of(&snapshot.ledger.water),
            layers: Layer::ALL.iter().map(|layer| snapshot.layers.contains_key(layer)).collect(),
            kept: snapshot.kept.iter().map(|key| (*key).to_owned()).collect(),
            cells: snapshot.cells.iter().map(|packed| packed.count).collect(),
            numbers: snapshot.numbers.clone(),
            counts: snapshot.counts.clone(),
        }
    }

    /// The snapshot with these maps: the layers that there are, then what processes keep.
    fn snapshot(self, maps: Vec<Packed>) -> Result<Snapshot, String> {
        let edge =
            [Edge::Wall, Edge::Open, Edge::Wrap].into_iter().find(|edge| kebab(&format!("{edge:?}")) == self.edge);
        let edge = edge.ok_or_else(|| format!("its edge is \"{}\"", self.edge))?;
        self.sources.iter().try_for_each(Source::check)?;
        self.numbers.iter().try_for_each(|&number| KEPT.check("a number that a process keeps", number))?;
        let slots = catalogue();
        let keys = || slots.iter().map(|process| process.info().key);
        let known =
            |key: &String| keys().find(|known| known == key).ok_or_else(|| format!("there is no process \"{key}\""));
        let has = |list: &[String], key: &str| list.iter().any(|other| other == key);
        let mut maps = maps.into_iter();
        let there: Vec<Layer> = self.there().collect();
        let layers = there.into_iter().zip(&mut maps).collect();
        Ok(Snapshot {
            size: self.size,
            cell_size: self.cell_size,
            edge,
            layers,
            sources: self.sources,
            ledger: Ledger { solid: self.solid.account()?, water: self.water.account()? },
            seed: self.seed,
            tick: self.tick,
            edited: self.edited,
            shaped: None,
            enabled: keys().map(|key| [has(&self.enabled, key), has(&self.limited, key)]).collect(),
            parameters: self.set,
            kept: self.kept.iter().map(known).collect::<Result<_, _>>()?,
            cells: maps.collect(),
            numbers: self.numbers,
            counts: self.counts,
        })
    }

    /// The layers that it has.
    fn there(&self) -> impl Iterator<Item = Layer> {
        Layer::ALL.iter().zip(&self.layers).filter(|(_, there)| **there).map(|(layer, _)| *layer)
    }

    /// How many numbers each of its maps has.
    fn lengths(&self) -> Result<Vec<usize>, String> {
        let (width, height) = self.size;
        if width == 0 || height == 0 || width > LONGEST_SIDE || height > LONGEST_SIDE {
            return Err(format!("it has {width} × {height} cells"));
        }
        CELL_SIZE.check("the side of its cells", self.cell_size)?;
        TICK.check("its tick", self.tick as f64)?;
        // What a process keeps lies in cells or on their faces, of which there are at most two more in a row.
        let most = (width + 2) * (height + 2);
        if self.cells.len() > MOST_MAPS || self.cells.iter().any(|&count| count > most) {
            return Err("its processes keep more than they can".to_owned());
        }
        let layers = self.there().map(|_| width * height);
        Ok(layers.chain(self.cells.iter().copied()).collect())
    }
}

fn file_of(id: u64, run: usize, map: usize) -> String {
    format!("timeline/{id}/run-{}/{}.lz4", run + 1, map + 1)
}

/// Writes keyframes into an archive; nothing if there are none.
pub(super) fn put(archive: &mut ZipWriter<impl Write + Seek>, keyframes: &Keyframes) -> Result<(), ZipError> {
    if keyframes.frames.is_empty() {
        return Ok(());
    }
    let frame = |frame: &Keyframe| Frame {
        id: frame.id,
        parent: frame.parent,
        runs: frame.snapshots.iter().map(Run::of).collect(),
    };
    let manifest = Manifest { here: keyframes.here, frames: keyframes.frames.iter().map(frame).collect() };
    let text = ron::to_string(&manifest).map_err(|error| ZipError::Io(std::io::Error::other(error)))?;
    if text.len() as u64 > LONGEST || keyframes.frames.len() > MOST {
        return Err(ZipError::Io(std::io::Error::other("the timeline is too long to be saved")));
    }
    archive.start_file("timeline.ron", SimpleFileOptions::default().compression_method(CompressionMethod::Deflated))?;
    archive.write_all(text.as_bytes())?;
    // They are packed already.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for frame in &keyframes.frames {
        for (run, snapshot) in frame.snapshots.iter().enumerate() {
            let maps = snapshot.layers.values().chain(&snapshot.cells);
            for (map, packed) in maps.enumerate() {
                archive.start_file(file_of(frame.id, run, map), options)?;
                archive.write_all(&packed.bytes)?;
            }
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
    let text = text(path, &mut archive, "timeline.ron", LONGEST)?;
    let wrong = |what: String| damaged(path, &format!("its timeline is damaged ({what})"));
    let manifest: Manifest = ron::from_str(&text).map_err(|error| wrong(error.to_string()))?;
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
        let lengths = runs.iter().map(Run::lengths).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        // All maps of the keyframe, as if packing had not made them smaller, and the largest one unpacked.
        let (all, largest) = (lengths.iter().flatten().sum::<usize>(), lengths.iter().flatten().max());
        Budget::present().ask(path, 4 * (all + 2 * largest.unwrap_or(&0)) as u64)?;
        let snapshots = runs.into_iter().zip(lengths).enumerate().map(|(index, (run, lengths))| {
            let maps = lengths.into_iter().enumerate();
            let there: Vec<Layer> = run.there().collect();
            let maps = maps.map(|(map, count)| {
                let bounds = there.get(map).map_or(KEPT, |layer| layer.row().bounds);
                take_up(path, &mut archive, &file_of(id, index, map), count, bounds)
            });
            let maps = maps.collect::<Result<_, _>>()?;
            run.snapshot(maps).map_err(wrong)
        });
        let snapshots = Arc::new(snapshots.collect::<Result<Vec<_>, _>>()?);
        frames.push(Keyframe { id, parent, snapshots });
    }
    let here = manifest.here.filter(|here| frames.iter().any(|frame| frame.id == *here));
    Ok(Keyframes { frames, here })
}

/// A packed map of so many numbers, each between these bounds.
fn take_up(
    path: &Path,
    archive: &mut ZipArchive<impl Read + Seek>,
    name: &str,
    count: usize,
    bounds: Bounds,
) -> Result<Packed, Error> {
    let most = lz4_flex::block::get_maximum_output_size(4 * count) as u64;
    let packed = Packed { count, bytes: read(path, archive, name, most)? };
    packed.check(bounds).map_err(|wrong| damaged(path, &format!("{name} in it {wrong}")))?;
    Ok(packed)
}
