//! Exports for other programs: with their own import formulas and the settings in the report, the peak is where it was.

use std::{fs, path::Path, process::Command, sync::Arc};

use serde_json::json;
use thalweg_scene::{
    io::{
        JobProgress,
        export::{self, Dimensions, ExportSet, ExportSubject, SETS, Size, TileGrid, TileNames},
    },
    model::{
        origin::{Heightmap, Origin},
        session::Session,
    },
};
use thalweg_sim::core::grid::Grid;

/// Side of a cell, in metres.
const CELL: f32 = 12.5;
const SIZE: (usize, usize) = (300, 200);
/// Column and row of the peak.
const PEAK: (usize, usize) = (211, 61);

/// A mountain on a slope below sea level, with one peak.
fn mountain() -> Session {
    let height = |x: usize, y: usize| {
        let away = (x as f32 - PEAK.0 as f32).hypot(1.3 * (y as f32 - PEAK.1 as f32));
        let hills = 30.0 * (x as f32 * 0.13).sin() * (y as f32 * 0.09).cos();
        1500.0 * (-away / 40.0).exp() + hills - 250.0 + 0.3 * x as f32
    };
    let heights = Grid::from_fn(SIZE.0, SIZE.1, height);
    let map = Heightmap { heights, file_size: SIZE, cell_size: CELL, geo: None, nodata: None, warnings: Vec::new() };
    let mut session = Session::placeholder("mountain", 1, Origin::default());
    session.set_heights(Arc::new(map));
    session.restart(1);
    session
}

#[test]
fn every_program_finds_the_peak_where_it_was() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines.py");
    let has_readers = |python: &&str| {
        let found = Command::new(python).args(["-c", "import numpy, OpenImageIO, rasterio, PIL"]).output();
        found.is_ok_and(|found| found.status.success())
    };
    // The system's Python comes second: another one may be first in the path.
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_readers) else {
        let missing = "python3 has not all of numpy, OpenImageIO, rasterio and PIL";
        assert!(std::env::var_os("THALWEG_REQUIRE_READERS").is_none(), "{missing}");
        println!("SKIPPED: {missing}");
        return;
    };
    let session = mountain();
    let terrain = &session.simulation.terrain;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut cases = Vec::new();
    for set in SETS.iter().filter(|set| set.has_import_settings()) {
        for count in [None, Some((1, 1)), Some((3, 2))] {
            let tiles = count.map(|count| TileGrid { count, overlap: 1, names: TileNames::default() });
            let dimensions = Dimensions { tiles, ..Dimensions::default() }.for_preset(set);
            let subject =
                ExportSubject::new(&session, dimensions, &set.exports()).unwrap_or_else(|error| panic!("{error}"));
            let name = format!("{}-{}", set.key, count.map_or("whole".to_owned(), |(x, y)| format!("{x}x{y}")));
            let target = folder.path().join(&name);
            export::save_all(&set.exports(), &subject, &target, "", &JobProgress::default())
                .unwrap_or_else(|error| panic!("{error}"));
            let text = fs::read_to_string(target.join("import.md")).expect("it was written");
            assert!(text.starts_with("# Import into ") && text.len() < 2500, "{text}");
            cases.push(json!({"folder": name, "program": set.key}));
        }
    }
    let (low, high) = terrain.ground().min_max();
    let place = [(PEAK.0 as f32 + 0.5) * CELL, (PEAK.1 as f32 + 0.5) * CELL];
    let expected = json!({"cases": cases, "place": place, "min": low, "max": high, "cell": CELL});
    fs::write(folder.path().join("cases.json"), expected.to_string()).expect("it is writable");
    let judged = Command::new(python).arg(script).arg(folder.path()).output().expect("it runs");
    println!("{}", String::from_utf8_lossy(&judged.stdout));
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
}

#[test]
fn a_flat_map_has_settings_too() {
    let mut session = mountain();
    session.simulation.terrain.bedrock.fill(40.0);
    for set in SETS.iter().filter(|set| set.has_import_settings()) {
        let dimensions = Dimensions { size: Size::Working, ..Dimensions::default() }.for_preset(set);
        let subject = ExportSubject::new(&session, dimensions, &[]).unwrap_or_else(|error| panic!("{error}"));
        let notes = subject.import_notes("").expect("it has settings");
        let settings = notes.report["settings"].as_object().expect("it has settings");
        assert!(settings.values().all(serde_json::Value::is_number), "{}: {settings:?}", set.key);
        assert!(!notes.markdown.contains("NaN") && !notes.markdown.contains("inf"), "{}", notes.markdown);
    }
    assert!(ExportSet::from_key("print").is_some_and(|set| !set.has_import_settings()));
}
