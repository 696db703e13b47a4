//! One function per reader: it accepts any bytes and returns success or an error sentence, nothing else. Used by the fuzzers here
//! and by the test `tests/readers.rs`.

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
        lesson::{self, LessonProgress},
        preset::Preset,
        project, scene,
    },
    model::{origin::Options, session::Session},
    settings::SettingsFile,
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// Result of reading: success, or an error in one sentence.
pub type Outcome = Result<(), String>;

/// A reader: its name, which is also that of its fuzzer and its folder of stored files, and its function.
pub type Reader = (&'static str, fn(&[u8]) -> Outcome);

/// All readers.
pub const READERS: [Reader; 23] = [
    ("png", png),
    ("exr", exr),
    ("r16", r16),
    ("r32", r32),
    ("tif", tif),
    ("asc", asc),
    ("npy", npy),
    ("hgt", hgt),
    ("header", header),
    ("dem", dem),
    ("surfer", surfer),
    ("image", image),
    ("sidecar", sidecar),
    ("scene", scene),
    ("preset", preset),
    ("settings", settings),
    ("lesson", lesson),
    ("lesson_image", lesson_image),
    ("answers", answers),
    ("project", project),
    ("manifest", manifest),
    ("timeline", timeline),
    ("keyframe", keyframe),
];

/// Smallest terrain size, used for all scenes: larger ones only take longer.
const SMALL: Options = Options {
    size: Some((32, 32)),
    cell_size: None,
    min_m: None,
    max_m: None,
    channel: None,
    raw: None,
    encoding: None,
    smooth_steps: false,
};

/// A valid project of 32 × 32 cells with a timeline.
pub const PROJECT: &[u8] = include_bytes!("../../tests/data/readers/project/good-wadi");
/// Map of its timeline that [`keyframe`] replaces.
pub const KEYFRAME: &str = "timeline/0/run-1/bedrock.lz4";

/// Reads a heightmap image of 8 or 16 bits.
pub fn png(bytes: &[u8]) -> Outcome {
    heights("map.png", bytes)
}

/// Reads an OpenEXR heightmap.
pub fn exr(bytes: &[u8]) -> Outcome {
    heights("map.exr", bytes)
}

/// Reads raw 16-bit heights.
pub fn r16(bytes: &[u8]) -> Outcome {
    heights("map.r16", bytes)
}

/// Reads raw 32-bit heights.
pub fn r32(bytes: &[u8]) -> Outcome {
    heights("map.r32", bytes)
}

/// Reads a (Geo)TIFF heightmap.
pub fn tif(bytes: &[u8]) -> Outcome {
    heights("map.tif", bytes)
}

/// Reads an ESRI ASCII grid.
pub fn asc(bytes: &[u8]) -> Outcome {
    heights("map.asc", bytes)
}

/// Reads an array of NumPy.
pub fn npy(bytes: &[u8]) -> Outcome {
    heights("map.npy", bytes)
}

/// Reads an SRTM tile.
pub fn hgt(bytes: &[u8]) -> Outcome {
    heights("N46E007.hgt", bytes)
}

/// Reads the header of a raster of zeros.
pub fn header(bytes: &[u8]) -> Outcome {
    let map = put("headed.bil", &[0; 4 * 32 * 32]);
    put("headed.hdr", bytes);
    read_heights(&map)
}

/// Reads a USGS DEM.
pub fn dem(bytes: &[u8]) -> Outcome {
    heights("map.dem", bytes)
}

/// Reads a Surfer grid.
pub fn surfer(bytes: &[u8]) -> Outcome {
    heights("map.grd", bytes)
}

/// Reads an image of the format that the first bytes indicate.
pub fn image(bytes: &[u8]) -> Outcome {
    let name = match bytes {
        [0xff, 0xd8, ..] => "map.jpg",
        [b'B', b'M', ..] => "map.bmp",
        [b'P', ..] => "map.pgm",
        [b'R', ..] => "map.webp",
        _ => "map.tga",
    };
    heights(name, bytes)
}

/// Reads the sidecar of raw heights.
pub fn sidecar(bytes: &[u8]) -> Outcome {
    let map = put("beside.r32", &[0; 4 * 32 * 32]);
    put("beside.json", bytes);
    read_heights(&map)
}

/// Reads a scene file.
pub fn scene(bytes: &[u8]) -> Outcome {
    let path = put("scene.ron", bytes);
    healthy(checked(scene::open(path, &SMALL))?)
}

/// Reads and applies a preset.
pub fn preset(bytes: &[u8]) -> Outcome {
    thread_local!(static SESSION: Session = scene::open_first("round-hill", &SMALL).expect("it is built in"));
    let path = put("preset.ron", bytes);
    let mut session = SESSION.with(Session::clone);
    checked(Preset::load(&path).and_then(|preset| preset.apply(&mut session, &path)))?;
    session.simulation.tick();
    healthy(vec![session])
}

/// Reads settings.
pub fn settings(bytes: &[u8]) -> Outcome {
    let path = put("settings.ron", bytes);
    checked(SettingsFile::load(&path)).map(|remembered| {
        let _ = remembered.settings();
    })
}

/// Reads a lesson, without its scene.
pub fn lesson(bytes: &[u8]) -> Outcome {
    let path = put("lesson.md", bytes);
    checked(lesson::read(path)).map(drop)
}

/// Reads an image of a lesson.
pub fn lesson_image(bytes: &[u8]) -> Outcome {
    let lesson = put("lesson_image", bytes).with_file_name("lesson.md");
    let ([width, height], pixels) = checked(lesson::read_image(&lesson, "lesson_image"))?;
    assert_eq!(pixels.len(), 4 * width * height);
    Ok(())
}

/// Reads answers to lessons.
pub fn answers(bytes: &[u8]) -> Outcome {
    let path = put("answers.ron", bytes);
    checked(LessonProgress::load(&path)).map(|progress| {
        for (_, lesson) in lesson::built_in() {
            drop(progress.attempt(lesson.clone()));
        }
    })
}

/// Reads a project with its timeline.
pub fn project(bytes: &[u8]) -> Outcome {
    let path = put("work.thalweg", bytes);
    healthy(checked(project::open_with_timeline(&path))?.sessions)
}

/// Reads the manifest of an otherwise valid project, as checksums keep most mutations of [`project`] from getting this far.
pub fn manifest(bytes: &[u8]) -> Outcome {
    project(&with("manifest.ron", bytes))
}

/// Reads the timeline of an otherwise valid project, and restores each of its keyframes.
pub fn timeline(bytes: &[u8]) -> Outcome {
    thread_local!(static SESSION: Session = scene::open_first("wadi", &SMALL).expect("it is built in"));
    let path = put("work.thalweg", &with("timeline.ron", bytes));
    let timeline = checked(project::keyframes(&path))?;
    let states = timeline.frames.iter().flat_map(|frame| frame.states.iter());
    let restored = states.map(|state| {
        let mut session = SESSION.with(Session::clone);
        state.restore(&mut session).map(|()| session)
    });
    healthy(restored.collect::<Result<_, _>>()?)
}

/// Reads a compressed map in the timeline of an otherwise valid project.
pub fn keyframe(bytes: &[u8]) -> Outcome {
    let path = put("work.thalweg", &with(KEYFRAME, bytes));
    checked(project::keyframes(&path)).map(drop)
}

fn heights(name: &str, bytes: &[u8]) -> Outcome {
    read_heights(&put(name, bytes))
}

fn read_heights(path: &Path) -> Outcome {
    let map = checked(heightmap::read(path, &Options::default()))?;
    assert!(map.heights.iter().all(|height| height.is_finite()), "a height is not finite");
    assert!(map.cell_size.is_finite() && map.cell_size > 0.0, "cells of {} m", map.cell_size);
    Ok(())
}

/// Checks that accepted sessions contain only finite values.
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

/// Checks that an error is an input error of one line.
fn checked<T>(result: Result<T, Error>) -> Result<T, String> {
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
    // A new file: some file systems sync to disk when an existing one is replaced.
    let _ = fs::remove_file(&path);
    fs::write(&path, bytes).expect("it is writable");
    path
}

/// Returns [`PROJECT`] with one of its files replaced.
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
