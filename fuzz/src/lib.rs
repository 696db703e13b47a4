//! One function for each reader: it takes any bytes and gives data or a sentence, and nothing else. The fuzzers beside this call
//! them, and so does the ordinary test `tests/readers.rs`.

use std::{
    cell::RefCell,
    fs,
    io::{Cursor, Write},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use thalweg_scene::{
    io::{
        Error, heightmap,
        lesson::{self, Progress},
        preset::Preset,
        project, scene,
    },
    model::{origin::Options, session::Session},
    settings::Remembered,
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// What a reader makes of bytes: nothing to complain about, or one sentence.
pub type Outcome = Result<(), String>;

/// A reader: its name, which is that of its fuzzer and its folder of stored files, and what it does.
pub type Reader = (&'static str, fn(&[u8]) -> Outcome);

/// All readers.
pub const READERS: [Reader; 16] = [
    ("png", png),
    ("exr", exr),
    ("r16", r16),
    ("r32", r32),
    ("tif", tif),
    ("asc", asc),
    ("sidecar", sidecar),
    ("scene", scene),
    ("preset", preset),
    ("settings", settings),
    ("lesson", lesson),
    ("answers", answers),
    ("project", project),
    ("manifest", manifest),
    ("timeline", timeline),
    ("keyframe", keyframe),
];

/// Smallest size of a terrain, to which scenes are brought: other sizes take longer and show no more.
const SMALL: Options = Options { size: Some((32, 32)), cell_size: None, min_m: None, max_m: None };

/// A whole project of 32 × 32 cells with a timeline.
pub const PROJECT: &[u8] = include_bytes!("../../tests/data/readers/project/good-wadi");
/// The map of its timeline that [`keyframe`] replaces.
pub const KEYFRAME: &str = "timeline/0/run-1/bedrock.lz4";

/// A 16-bit or 8-bit picture of heights.
pub fn png(bytes: &[u8]) -> Outcome {
    heights("map.png", bytes)
}

/// An OpenEXR picture of heights.
pub fn exr(bytes: &[u8]) -> Outcome {
    heights("map.exr", bytes)
}

/// Raw heights of 16 bits.
pub fn r16(bytes: &[u8]) -> Outcome {
    heights("map.r16", bytes)
}

/// Raw heights of 32 bits.
pub fn r32(bytes: &[u8]) -> Outcome {
    heights("map.r32", bytes)
}

/// A (Geo)TIFF of heights.
pub fn tif(bytes: &[u8]) -> Outcome {
    heights("map.tif", bytes)
}

/// An ESRI ASCII grid.
pub fn asc(bytes: &[u8]) -> Outcome {
    heights("map.asc", bytes)
}

/// The sidecar of raw heights.
pub fn sidecar(bytes: &[u8]) -> Outcome {
    let map = put("beside.r32", &[0; 4 * 32 * 32]);
    put("beside.json", bytes);
    read_heights(&map)
}

/// A scene file.
pub fn scene(bytes: &[u8]) -> Outcome {
    let path = put("scene.ron", bytes);
    healthy(said(scene::open(path, &SMALL))?)
}

/// A preset, read and applied.
pub fn preset(bytes: &[u8]) -> Outcome {
    thread_local!(static SESSION: Session = scene::open_first("round-hill", &SMALL).expect("it is built in"));
    let path = put("preset.ron", bytes);
    let mut session = SESSION.with(Session::clone);
    said(Preset::load(&path).and_then(|preset| preset.apply(&mut session, &path)))?;
    session.simulation.tick();
    healthy(vec![session])
}

/// The settings.
pub fn settings(bytes: &[u8]) -> Outcome {
    let path = put("settings.ron", bytes);
    said(Remembered::load(&path)).map(|remembered| {
        let _ = remembered.settings();
    })
}

/// A lesson, without its scene.
pub fn lesson(bytes: &[u8]) -> Outcome {
    let path = put("lesson.md", bytes);
    said(lesson::read(path)).map(drop)
}

/// Answers to lessons.
pub fn answers(bytes: &[u8]) -> Outcome {
    let path = put("answers.ron", bytes);
    said(Progress::load(&path)).map(|progress| {
        for (_, lesson) in lesson::built_in() {
            drop(progress.attempt(lesson.clone()));
        }
    })
}

/// A project with its timeline.
pub fn project(bytes: &[u8]) -> Outcome {
    let path = put("work.thalweg", bytes);
    healthy(said(project::open_whole(&path))?.sessions)
}

/// The manifest of an otherwise good project: checksums keep most of what [`project`] tries from getting so far.
pub fn manifest(bytes: &[u8]) -> Outcome {
    project(&with("manifest.ron", bytes))
}

/// The timeline of an otherwise good project, and going to each of its keyframes.
pub fn timeline(bytes: &[u8]) -> Outcome {
    thread_local!(static SESSION: Session = scene::open_first("wadi", &SMALL).expect("it is built in"));
    let path = put("work.thalweg", &with("timeline.ron", bytes));
    let timeline = said(project::keyframes(&path))?;
    let states = timeline.frames.iter().flat_map(|frame| frame.states.iter());
    let restored = states.map(|state| {
        let mut session = SESSION.with(Session::clone);
        state.restore(&mut session).map(|()| session)
    });
    healthy(restored.collect::<Result<_, _>>()?)
}

/// A packed map of the timeline of an otherwise good project.
pub fn keyframe(bytes: &[u8]) -> Outcome {
    let path = put("work.thalweg", &with(KEYFRAME, bytes));
    said(project::keyframes(&path)).map(drop)
}

fn heights(name: &str, bytes: &[u8]) -> Outcome {
    read_heights(&put(name, bytes))
}

fn read_heights(path: &Path) -> Outcome {
    let map = said(heightmap::read(path, &Options::default()))?;
    assert!(map.heights.iter().all(|height| height.is_finite()), "a height is no number");
    assert!(map.cell_size.is_finite() && map.cell_size > 0.0, "cells of {} m", map.cell_size);
    Ok(())
}

/// Sessions that were accepted hold nothing but numbers.
fn healthy(sessions: Vec<Session>) -> Outcome {
    for session in sessions {
        let terrain = &session.simulation.terrain;
        for (layer, grid) in terrain.layers() {
            let numbers = grid.iter().all(|value| value.is_finite());
            assert!(numbers, "{} holds NaN or infinity", layer.key());
        }
        assert!(terrain.cell_size.is_finite() && terrain.cell_size > 0.0, "cells of {} m", terrain.cell_size);
    }
    Ok(())
}

/// An error is bad input, told in one line.
fn said<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| {
        let sentence = error.to_string();
        assert_eq!(error.exit_code(), 2, "{sentence}");
        assert!(sentence.contains("; ") && !sentence.chars().any(char::is_control), "{sentence:?}");
        sentence
    })
}

/// Writes a file into this thread's folder.
fn put(name: &str, bytes: &[u8]) -> PathBuf {
    thread_local!(static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder"));
    let path = FOLDER.with(|folder| folder.path().join(name));
    // A new file: some file systems write to the disk at once what takes the place of something.
    let _ = fs::remove_file(&path);
    fs::write(&path, bytes).expect("it is writable");
    path
}

/// [`PROJECT`] with one of its files replaced.
pub fn with(name: &str, bytes: &[u8]) -> Vec<u8> {
    thread_local!(static GOOD: RefCell<ZipArchive<Cursor<&'static [u8]>>> =
        RefCell::new(ZipArchive::new(Cursor::new(PROJECT)).expect("it is whole")));
    GOOD.with_borrow_mut(|good| {
        let mut changed = ZipWriter::new(Cursor::new(Vec::new()));
        for index in 0..good.len() {
            let entry = good.by_index_raw(index).expect("it is whole");
            if entry.name().expect("it is text") != name {
                changed.raw_copy_file(entry).expect("in memory");
            }
        }
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        changed.start_file(name, stored).expect("in memory");
        changed.write_all(bytes).expect("in memory");
        changed.finish().expect("in memory").into_inner()
    })
}
