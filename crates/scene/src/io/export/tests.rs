//! Tests of the exports, with third-party readers where available.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::*;
use crate::{
    io::{export::lines::GeoreferencedRivers, heightmap, nodata},
    look::Look,
    model::{
        origin::{Crs, Georeference, Heightmap, Options, Origin},
        session::Session,
    },
};
use thalweg_sim::{
    core::terrain::{Edge, Terrain},
    hydrology::network::{RiverNetwork, RiverParams},
    simulation::Simulation,
};

fn subject(terrain: Terrain) -> ExportSubject {
    let map = (terrain.width(), terrain.height());
    let look = Look::default();
    let run = Simulation::new(terrain.clone(), 1);
    let window = Dimensions::default().window(&run.terrain);
    let rivers = GeoreferencedRivers::of("hills", &run, &RiverParams::default(), None, window).expect("they are few");
    let flow = Some(run.river_terrain(&RiverParams::default()).flow_map());
    ExportSubject {
        terrain,
        look,
        geo: None,
        dimensions: Dimensions::default(),
        process_maps: BTreeMap::new(),
        raw_maps: BTreeSet::new(),
        map,
        nodata: None,
        rivers: Some(rivers),
        flow,
    }
}

fn hills(width: usize, height: usize) -> Terrain {
    let heights = Grid::from_fn(width, height, |x, y| 20.0 + 6.0 * ((x as f32 * 0.3).sin() + (y as f32 * 0.21).cos()));
    let mut terrain = Terrain::bare(heights, 3.0, Edge::Open);
    terrain.sand = Grid::from_fn(width, height, |x, _| if x < 9 { 0.75 } else { 0.0 });
    terrain
}

fn written(file: (&str, &str), subject: &ExportSubject) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let export = Export::new(file.0, file.1).expect("it can be saved");
    let path = folder.path().join(export.file_name());
    export.write(subject, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    (folder, path)
}

#[test]
fn every_export_format_has_description_and_title() {
    for map in maps() {
        let is_described = |format: &&'static str| !about_format(map, format).is_empty();
        assert_eq!(formats(map).iter().find(|format| !is_described(format)), None, "{map}");
        for (title, ending) in endings(map) {
            let name = Export::new(map, ending).expect("it is one of its formats").file_name();
            assert!(!title.is_empty() && name.ends_with(ending), "{name}");
        }
    }
}

#[test]
fn exported_map_round_trips_with_sidecar() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Values with many digits.
    let heights = Grid::from_fn(40, 32, |x, y| 28.0 + 28.0 * ((x as f32 * 7.7 + y as f32 * 1.3) * 0.2).sin());
    let (min, max) = heights.min_max();
    let terrain = Terrain::bare(heights, 3.0, Edge::Open);
    for format in ["png", "exr", "r16", "r32", "raw", "tif", "asc"] {
        let path = folder.path().join(format!("map-{format}.{format}"));
        Export::save("height", &subject(terrain.clone()), &path, &JobProgress::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((back.heights.width(), back.cell_size, back.warnings.len()), (40, 3.0, 0));
        let worst = back.heights.iter().zip(terrain.bedrock.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        if ["png", "r16", "raw"].contains(&format) {
            assert!(worst <= 0.5 / 65535.0 * (max - min) * 1.01, "{format}: {worst}");
        } else {
            let bits = |grid: &Grid| grid.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
            assert!(bits(&back.heights) == bits(&terrain.bedrock), "{format}: {worst}");
        }
    }
}

#[test]
fn unknown_extension_error_lists_formats() {
    let terrain = Terrain::bare(Grid::filled(4, 4, 0.0), 1.0, Edge::Open);
    let error =
        Export::save("height", &subject(terrain), Path::new("map.jpg"), &JobProgress::default()).expect_err("refused");
    assert!(error.to_string().contains(".png, .png8, .png16, .exr"), "{error}");
}

#[test]
fn every_map_exports_in_every_format_at_any_size() {
    for (width, height) in [(33, 40), (2, 2), (1, 5)] {
        let subject = subject(hills(width, height));
        for map in maps() {
            assert!(about(map).ends_with('.'));
            for format in formats(map) {
                let export = Export::new(map, format).expect("it can be saved");
                let folder = tempfile::tempdir().expect("a temporary folder");
                let outcome = export.write(&subject, &folder.path().join("a.file"), &JobProgress::default());
                assert!(outcome.is_ok(), "{map} as {format}: {outcome:?}");
            }
        }
    }
    for set in SETS {
        let mut names: Vec<_> = set.exports().into_iter().map(Export::file_name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), set.files.split_whitespace().count(), "{}", set.title);
    }
}

#[test]
fn export_sizes_match_game_engines() {
    let size = |size: Size, side: usize| {
        let dimensions = Dimensions { size, ..Dimensions::default() };
        dimensions.of(&Terrain::bare(Grid::filled(side, side, 0.0), 1.0, Edge::Open))
    };
    assert_eq!(size(Size::PowerOfTwoPlusOne, 256), (257, 257));
    assert_eq!(size(Size::PowerOfTwoPlusOne, 257), (257, 257));
    assert_eq!(size(Size::PowerOfTwoPlusOne, 300), (513, 513));
    assert_eq!(size(Size::Unreal, 512), (1009, 1009));
    assert_eq!(size(Size::Times(4), 100), (400, 400));
    assert_eq!(size(Size::Times(8), 4096), (8192, 8192));
}

/// A georeferenced terrain of 60 × 40 cells of 30 m with a NODATA gap, rain and droplets.
fn river_terrain() -> Session {
    let heights = Grid::from_fn(60, 40, |x, y| 40.0 - 0.5 * y as f32 + 3.0 * (x as f32 * 0.3).cos());
    let nodata = Some(Grid::from_fn(60, 40, |x, y| f32::from((10..16).contains(&x) && (20..28).contains(&y))));
    let geo = Some(Georeference { west: 5e5, north: 4e6, width: 1800.0, height: 1200.0, crs: Crs::Unknown });
    let map = Heightmap { heights, file_size: (60, 40), cell_size: 30.0, geo, nodata, warnings: Vec::new() };
    let mut session = heightmap::session("land", map, Origin::default()).expect("it is small");
    session.enable(&["droplets", "water"]);
    session.set("water.rain_rate", "0.01").expect("in range");
    session.restart(1);
    (0..20).for_each(|_| session.simulation.tick());
    session
}

#[test]
fn rivers_use_longitude_latitude_when_crs_is_known() {
    let mut session = river_terrain();
    let points = |session: &Session| -> Vec<[f64; 2]> {
        let export = Export::new("rivers", "geojson").expect("it can be saved");
        let subject = ExportSubject::new(session, Dimensions::default(), &[export]).expect("it is small");
        let (_folder, path) = written(("rivers", "geojson"), &subject);
        let text = std::fs::read_to_string(path).expect("it was written");
        let lines: Value = serde_json::from_str(&text).expect("it is JSON");
        let features = lines["features"].as_array().expect("it has features").iter();
        let places =
            features.flat_map(|feature| feature["geometry"]["coordinates"].as_array().expect("a line").clone());
        places.map(|place| [0, 1].map(|axis| place[axis].as_f64().expect("a number"))).collect()
    };
    session.rivers.from_cells = 8.0;
    let in_metres = points(&session);
    assert!(in_metres.len() > 5);
    let mut map = (**session.heightmap.as_ref().expect("it has one")).clone();
    map.geo.as_mut().expect("it has a place").crs = Crs::Epsg(32612);
    session.heightmap = Some(std::sync::Arc::new(map));
    let in_degrees = points(&session);
    assert_eq!(in_degrees.len(), in_metres.len());
    for ([x, y], [longitude, latitude]) in in_metres.into_iter().zip(in_degrees) {
        // The central meridian of the zone is at 500 km; a degree of latitude is 110.7 km, at a scale of 0.9996.
        let (east, north) = ((x - 5e5) / (111_320.0 * latitude.to_radians().cos()), y / (110_700.0 * 0.9996));
        assert!((longitude + 111.0 - east).abs() < 1e-3 && (latitude - north).abs() < 0.05, "{longitude} {latitude}");
    }
}

const MOVES: [&str; 6] = ["discharge", "velocity-x", "velocity-y", "stream-discharge", "stream-x", "stream-y"];

#[test]
fn rivers_in_map_coordinates_name_their_system() {
    let mut session = river_terrain();
    session.rivers.from_cells = 8.0;
    let export = Export::new("rivers", "geojson").expect("it can be saved");
    let local = "LOCAL_CS[\"mine\",UNIT[\"metre\",1]]".to_owned();
    let named = |name: &str| json!({"type": "name", "properties": {"name": name}});
    for (crs, member, warnings) in [
        (Crs::Unknown, Value::Null, 0),
        (Crs::Epsg(32612), Value::Null, 0),
        (Crs::Wkt(local.clone()), named(&local), 1),
    ] {
        let mut map = (**session.heightmap.as_ref().expect("it has one")).clone();
        map.geo.as_mut().expect("it has a place").crs = crs.clone();
        session.heightmap = Some(std::sync::Arc::new(map));
        let subject = ExportSubject::new(&session, Dimensions::default(), &[export]).expect("it is small");
        assert_eq!(subject.warnings(&[export]).len(), warnings, "{crs:?}");
        let (_folder, path) = written(("rivers", "geojson"), &subject);
        let text = std::fs::read_to_string(path).expect("it was written");
        let lines: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(lines["crs"], member, "{crs:?}");
    }
}

#[test]
fn padding_of_square_export_is_nodata_without_flow() {
    let session = river_terrain();
    let files: Vec<String> =
        MOVES.into_iter().chain(["height", "water", "deposits"]).map(|map| format!("{map}.r32")).collect();
    let files = files.iter().map(String::as_str).chain(["height.tif", "height.asc", "discharge.tif", "nodata.r32"]);
    let exports: Vec<Export> = files.map(|file| Export::parse(file).expect("it can be saved")).collect();
    for (size, side) in [(Size::PowerOfTwoPlusOne, 65), (Size::Unreal, 127)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let subject =
            ExportSubject::new(&session, Dimensions { size, ..Dimensions::default() }, &exports).expect("it is small");
        save_all(&exports, &subject, folder.path(), "", &JobProgress::default()).expect("it is writable");
        let at = |name: &str| folder.path().join(name);
        let json = |name: &str| -> Value {
            serde_json::from_str(&std::fs::read_to_string(at(name)).expect("it was written")).expect("it is JSON")
        };
        // Cells whose centre is on the map.
        let rows = (0..side).filter(|row| (*row as f64 + 0.5) / side as f64 * 60.0 < 40.0).count();
        for map in MOVES.into_iter().chain(["height", "water", "deposits"]) {
            let sidecar = json(&format!("{map}.json"));
            assert_eq!((&sidecar["map_width"], &sidecar["map_height"]), (&json!(side), &json!(rows)), "{map}");
            let bytes = std::fs::read(at(&format!("{map}.r32"))).expect("it was written");
            let cells: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            let (land, beyond) = cells.split_at(rows * side);
            assert!(land.iter().any(|value| *value != 0.0), "{map} is empty");
            if map == "height" {
                // No cliff at the border of the map.
                let border = &land[land.len() - side..];
                let same = |row: &[f32]| row.iter().zip(border).all(|(a, b)| (a - b).abs() < 0.5);
                assert!(beyond.chunks(side).all(same));
            } else {
                assert!(beyond.iter().all(|value| *value == 0.0), "{map} continues beyond the terrain");
            }
        }
        let hole = |x: usize, y: usize| {
            let [x, y] = [x, y].map(|cell| (cell as f64 + 0.5) / side as f64 * 60.0);
            (10.0..16.0).contains(&x) && (20.0..28.0).contains(&y)
        };
        let wanted = Grid::from_fn(side, side, |x, y| f32::from(y >= rows || hole(x, y)));
        assert_eq!(subject.nodata.as_ref(), Some(&wanted));
        for name in ["height.tif", "height.asc"] {
            // Renamed, as a sidecar takes precedence over the file.
            std::fs::rename(at(name), at(&format!("alone-{name}"))).expect("it was written");
            let back = heightmap::read(&at(&format!("alone-{name}")), &Options::default()).expect("it was written");
            assert_eq!(back.nodata.as_ref(), Some(&wanted), "{name}");
            assert!((back.cell_size - 1800.0 / side as f32).abs() < 1e-3, "{name}: {}", back.cell_size);
            let geo = back.geo.expect("it knows its place");
            let found = [geo.west, geo.north, geo.width, geo.height];
            let right = found.iter().zip([5e5, 4e6, 1800.0, 1800.0]).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(right, "{name}: {found:?}");
        }
        // The sidecar also states the extent of the actual map.
        let raw = heightmap::read(&at("height.r32"), &Options::default()).expect("it was written");
        let beyond = Grid::from_fn(side, side, |_, y| f32::from(y >= rows));
        assert_eq!(raw.nodata.as_ref(), Some(&beyond));
    }
}

#[test]
fn exported_nodata_round_trips() {
    let session = river_terrain();
    let nodata_mask = session.heightmap.as_ref().and_then(|map| map.nodata.clone());
    let exports = [Export::parse("height.tif").expect("known"), Export::parse("height.asc").expect("known")];
    let subject = ExportSubject::new(&session, Dimensions::default(), &exports).expect("it is small");
    for export in exports {
        let (_folder, path) = written((export.map, export.format), &subject);
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(back.nodata == nodata_mask, "{path:?}");
        let ground = session.simulation.terrain.ground();
        let known =
            back.heights.iter().zip(ground.iter()).zip(nodata_mask.iter().flat_map(|nodata_mask| nodata_mask.iter()));
        assert!(known.filter(|(_, nodata)| **nodata == 0.0).all(|((a, b), _)| a == b), "{path:?}");
        // A height equal to the default NODATA value is data.
        let mut deep = subject.clone();
        deep.terrain.bedrock[7] = nodata::DEFAULT_NODATA;
        deep.terrain.sand[7] = 0.0;
        let (_folder, path) = written((export.map, export.format), &deep);
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(back.heights[7] == nodata::DEFAULT_NODATA && back.nodata == nodata_mask, "{path:?}");
    }
    // Without NODATA cells there is no NODATA tag.
    let (_folder, path) = written(("height", "tif"), &ExportSubject { nodata: None, ..subject });
    assert_eq!(heightmap::read(&path, &Options::default()).expect("it was written").nodata, None);
}

#[test]
fn tiff_without_georeference_keeps_cell_size() {
    for cell_size in [0.1, 3.0, 27.7] {
        let mut terrain = hills(40, 33);
        terrain.cell_size = cell_size;
        let (_folder, path) = written(("height", "tif"), &subject(terrain));
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((back.cell_size, back.geo, back.warnings.len()), (cell_size, None, 0));
    }
}

#[test]
fn png_bit_depth_is_in_file_name_and_sidecar() {
    let terrain = hills(40, 33);
    let range = terrain.ground().min_max();
    for (format, name, full) in [("png8", "height-8bit", 255.0), ("png16", "height-16bit", 65535.0)] {
        let export = Export::new("height", format).unwrap_or_else(|(wrong, right)| panic!("{wrong}; {right}"));
        assert_eq!(export.file_name(), format!("{name}.png"));
        let (_folder, path) = written(("height", format), &subject(terrain.clone()));
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((back.cell_size, back.heights.min_max()), (3.0, range), "its sidecar says so");
        let step = 0.51 * (range.1 - range.0) / full;
        assert!(back.heights.iter().zip(terrain.ground().iter()).all(|(a, b)| (a - b).abs() <= step), "{format}");
    }
    let names = ["png", "png8", "png16"].map(|format| Export::new("normal", format).expect("known").file_name());
    assert_eq!(names, ["normal.png", "normal-8bit.png", "normal-16bit.png"]);
}

#[test]
fn sidecar_of_slopes_has_their_range_in_degrees() {
    let subject = subject(hills(40, 33));
    let slope = analysis::slope(&subject.terrain);
    let range = slope.min_max();
    let sidecar = |path: &Path| -> Value {
        let text = std::fs::read_to_string(path.with_extension("json")).expect("it was written");
        serde_json::from_str(&text).expect("it is JSON")
    };
    let number = |value: &Value| value.as_f64().map(|number| number as f32);
    for (format, full) in [("png", 65535.0), ("png16", 65535.0), ("png8", 255.0), ("r16", 65535.0), ("raw", 65535.0)] {
        let (_folder, path) = written(("slope", format), &subject);
        let found = sidecar(&path);
        assert_eq!(
            (&found["unit"], found.get("min_m"), found.get("max_m")),
            (&json!("degrees"), None, None),
            "{format}"
        );
        assert_eq!(["min", "max"].map(|end| number(&found[end])), [range.0, range.1].map(Some), "{format}");
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let step = 0.51 * (range.1 - range.0) / full;
        assert!(back.heights.iter().zip(slope.iter()).all(|(a, b)| (a - b).abs() <= step), "{format}");
        let is_about_sidecar = |warning: &String| warning.contains(".json");
        assert!(!back.warnings.iter().any(is_about_sidecar), "{format}: {:?}", back.warnings);
    }
    // Heights are in metres, and hardness has no unit.
    let (_folder, path) = written(("height", "png"), &subject);
    let (found, lowest) = (sidecar(&path), subject.terrain.ground().min_max().0);
    assert_eq!((found.get("unit"), number(&found["min_m"])), (None, Some(lowest)));
    let (_folder, path) = written(("hardness", "png"), &subject);
    assert_eq!(sidecar(&path)["unit"], json!(""));
}

#[test]
fn number_of_files_is_known_before_they_are_written() {
    let mut session = river_terrain();
    let map = session.heightmap.as_mut().and_then(std::sync::Arc::get_mut).expect("it is not shared");
    map.geo.as_mut().expect("it has a place").crs = Crs::Epsg(32612);
    let all = maps().into_iter().flat_map(|map| formats(map).iter().filter_map(|format| Export::new(map, format).ok()));
    let mut sets = vec![(all.collect::<Vec<_>>(), Dimensions { mesh_levels: 3, ..Dimensions::default() })];
    sets.extend(SETS.iter().map(|set| (set.exports(), Dimensions::default().for_preset(set))));
    for (exports, dimensions) in sets {
        // Every file is flushed to disk: tiles of all maps would take long.
        let counts = if dimensions.preset.is_some() { &[None, Some((2, 1))][..] } else { &[None] };
        for &count in counts {
            let tiles = count.map(|count| TileGrid { count, overlap: 1, names: TileNames::default() });
            let dimensions = Dimensions { tiles, ..dimensions };
            let subject = ExportSubject::new(&session, dimensions, &exports).unwrap_or_else(|error| panic!("{error}"));
            let folder = tempfile::tempdir().expect("a temporary folder");
            let written = save_all(&exports, &subject, folder.path(), "", &JobProgress::default());
            let written = written.unwrap_or_else(|error| panic!("{error}")).len();
            let found = std::fs::read_dir(folder.path()).expect("it is there").count();
            let wanted = count_files(&exports, &session, dimensions);
            assert_eq!((written, found), (wanted, wanted), "{:?} in {count:?}", dimensions.preset);
        }
    }
}

#[test]
fn rows_run_upwards_if_this_export_has_raw_cells() {
    let session = river_terrain();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let is_bottom_up = |files: &[&str]| {
        let exports: Vec<Export> = files.iter().map(|file| Export::parse(file).expect("it can be saved")).collect();
        let subject = ExportSubject::new(&session, Dimensions::default(), &exports).expect("it is small");
        for export in exports {
            let path = folder.path().join(export.file_name());
            export.write(&subject, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
        }
        let text = std::fs::read_to_string(folder.path().join("height.json")).expect("it was written");
        serde_json::from_str::<Value>(&text).expect("it is JSON").get("raw_bottom_up").cloned()
    };
    assert_eq!(is_bottom_up(&["height.raw", "height.png"]), Some(json!(true)));
    assert_eq!(is_bottom_up(&["height.png", "height.raw"]), Some(json!(true)));
    // The file of an earlier export is still there.
    assert_eq!(is_bottom_up(&["height.png", "slope.raw"]), None);
}

#[test]
fn flow_map_encodes_direction_and_strength() {
    // A valley that descends to the right, and to the upper right beyond its bend.
    let ground = Grid::from_fn(40, 30, |x, y| {
        let middle = if x < 20 { 20 } else { 40 - x };
        3.0 * y.abs_diff(middle) as f32 + (39 - x) as f32
    });
    let subject = subject(Terrain::bare(ground, 5.0, Edge::Open));
    for (format, most) in [("png8", 255.0), ("png16", 65535.0)] {
        let (_folder, path) = written(("flow-map", format), &subject);
        let file = std::io::BufReader::new(std::fs::File::open(&path).expect("it was written"));
        let mut reader = png::Decoder::new(file).read_info().expect("it is an image");
        let mut bytes = vec![0; reader.output_buffer_size().expect("it is small")];
        reader.next_frame(&mut bytes).expect("it is whole");
        let parts: Vec<f32> = match format {
            "png8" => bytes.iter().map(|&part| f32::from(part) / most).collect(),
            _ => bytes.chunks(2).map(|two| f32::from(u16::from_be_bytes([two[0], two[1]])) / most).collect(),
        };
        assert_eq!(parts.len(), 40 * 30 * 3);
        let at = |x: usize, y: usize| [0, 1, 2].map(|part| parts[3 * (y * 40 + x) + part]);
        // Sampled in the valley, on its side, and beyond the bend.
        let ([right, up, strength], [_, down, little], [on, higher, _]) = (at(15, 20), at(10, 8), at(30, 10));
        let near = |one: f32, other: f32| (one - other).abs() < 0.1;
        assert!(near(right, 1.0) && near(up, 0.5) && strength > 0.6, "{format}: {right} {up} {strength}");
        assert!(down < 0.1 && little < 0.6 * strength, "{format}: {down} {little}");
        assert!(near(on, 0.85) && near(higher, 0.85), "{format}: {on} {higher}");
        assert_eq!(parts.iter().skip(2).step_by(3).copied().fold(0.0, f32::max), 1.0);
    }
    // Without rain there is no flow.
    let mut run = Simulation::new(Terrain::bare(Grid::filled(8, 8, 1.0), 5.0, Edge::Wall), 1);
    run.terrain.rain = Some(Grid::filled(8, 8, 0.0));
    let none = run.river_terrain(&RiverParams::default()).flow_map();
    assert!(none.iter().all(|part| part.iter().all(|&value| value == 0.0)));
}

#[test]
fn export_set_is_atomic() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let subject = subject(hills(40, 32));
    let exports = ExportSet::from_key("everything").expect("it is a preset").exports();
    let progress = JobProgress::default();
    progress.cancel();
    assert!(save_all(&exports, &subject, folder.path(), "hill-", &progress).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    let written = save_all(&exports, &subject, folder.path(), "hill-", &JobProgress::default());
    let written = written.unwrap_or_else(|error| panic!("{error}"));
    assert!(written.len() > exports.len() && written.iter().all(|path| path.exists()));
    let (index, others) = written.split_last().expect("there are files");
    assert!(index.ends_with("hill-files.json"));
    let index = std::fs::read_to_string(index).expect("it is there");
    let index: Value = serde_json::from_str(&index).expect("it is JSON");
    assert_eq!(index["files"].as_object().map(serde_json::Map::len), Some(others.len()));
    // A file of another format must not get the same name.
    let names = |ending: &str| written.iter().filter(|path| path.extension().is_some_and(|own| own == ending)).count();
    assert_eq!((names("glb"), names("obj"), names("stl"), names("tif")), (1, 1, 1, 1));
}

/// Returns the volume of a closed triangle mesh, and `true` if every edge occurs once in each direction.
fn enclosed(triangles: impl Iterator<Item = [[f32; 3]; 3]>) -> (f64, bool) {
    let mut edges: HashMap<[[u32; 3]; 2], i32> = HashMap::new();
    let mut volume = 0.0;
    for corners in triangles {
        let [a, b, c] = corners.map(|corner| corner.map(f64::from));
        let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
        volume += (0..3).map(|axis| a[axis] * cross[axis]).sum::<f64>() / 6.0;
        let bits = corners.map(|corner| corner.map(f32::to_bits));
        for side in 0..3 {
            let (from, to) = (bits[side], bits[(side + 1) % 3]);
            let (key, turn) = if from < to { ([from, to], 1) } else { ([to, from], -1) };
            *edges.entry(key).or_default() += turn;
        }
    }
    (volume, edges.values().all(|turns| *turns == 0))
}

#[test]
fn stl_is_watertight_with_the_terrain_volume() {
    let terrain = hills(41, 33);
    let (_folder, path) = written(("mesh", "stl"), &subject(terrain.clone()));
    assert!(std::fs::read(&path).expect("it was just written").starts_with(b"Thalweg, in mm\0"));
    let mut file = std::fs::File::open(&path).expect("it was just written");
    let mesh = stl_io::create_stl_reader(&mut file).expect("it is an STL file");
    let triangles: Vec<_> =
        mesh.map(|triangle| triangle.expect("it is whole").vertices.map(|vertex| vertex.0)).collect();
    let (volume, closed) = enclosed(triangles.iter().copied());
    assert!(closed, "there is a hole");
    let PrintDimensions { width, base } = PrintDimensions::default();
    let scale = f64::from(width) / (41.0 * 3.0);
    let ground = terrain.ground();
    let lowest = ground.min_max().0;
    // Two triangles per four vertices: their mean counts the ends of the diagonal twice. The outermost are half a cell wide.
    let mut wanted = 0.0;
    for y in 0..34 {
        for x in 0..42 {
            let [a, b, c, d] = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y): (isize, isize)| {
                f64::from(base) + f64::from(ground.at_clamped(x - 1, y - 1) - lowest) * scale
            });
            let side = |index: isize, last: isize| if index == 0 || index == last { 1.5 * scale } else { 3.0 * scale };
            wanted += (a + 2.0 * b + 2.0 * c + d) / 6.0 * side(x, 41) * side(y, 33);
        }
    }
    assert!((volume / wanted - 1.0).abs() < 1e-4, "{volume} mm³ for {wanted}");
    let widest = triangles.iter().flatten().map(|corner| corner[0]).fold(0.0, f32::max);
    assert!((widest - width).abs() < 1e-3);
}

#[test]
fn gltf_and_obj_are_valid_for_other_readers() {
    let terrain = hills(41, 33);
    let ground = terrain.ground();
    let subject = subject(terrain);
    let (_folder, path) = written(("mesh", "glb"), &subject);
    let bytes = std::fs::read(&path).expect("it was just written");
    let glb = gltf::Glb::from_slice(&bytes).expect("it is binary glTF");
    // Validates on reading.
    let document = gltf::Gltf::from_slice(&bytes).expect("it is valid glTF");
    let blob = document.blob.as_deref().expect("it has its data inside");
    assert!(glb.bin.is_some_and(|bin| bin.len() == blob.len()));
    let mesh = document.meshes().next().expect("it has a mesh");
    let primitive = mesh.primitives().next().expect("it has triangles");
    let reader = primitive.reader(|_| Some(blob));
    let places: Vec<[f32; 3]> = reader.read_positions().expect("it has places").collect();
    let normals: Vec<[f32; 3]> = reader.read_normals().expect("it has normals").collect();
    let texture: Vec<[f32; 2]> = reader.read_tex_coords(0).expect("it has a texture").into_f32().collect();
    let indices: Vec<u32> = reader.read_indices().expect("it has triangles").into_u32().collect();
    // Cell centres and a rim half a cell around them.
    assert_eq!((places.len(), normals.len(), texture.len()), (43 * 35, 43 * 35, 43 * 35));
    assert_eq!(indices.len(), 2 * 3 * 42 * 34);
    let lengths = normals.iter().map(|normal| normal.iter().map(|part| part * part).sum::<f32>());
    assert!(lengths.into_iter().all(|length| (length - 1.0).abs() < 1e-5));
    for (x, y) in [(0, 0), (7, 12), (40, 32)] {
        let vertex = (y + 1) * 43 + x + 1;
        assert_eq!(places[vertex][1], ground.at(x, y));
        let [u, v] = texture[vertex];
        assert!((u - (x as f32 + 0.5) / 41.0).abs() < 1e-6 && (v - (y as f32 + 0.5) / 33.0).abs() < 1e-6);
        // The texture reaches as far as the mesh, which is as large as the raster.
        assert!((places[vertex][0] / (41.0 * 3.0) + 0.5 - u).abs() < 1e-5);
    }
    let bounds = primitive.bounding_box();
    assert_eq!((bounds.min[1], bounds.max[1]), ground.min_max());
    assert_eq!((bounds.min[0], bounds.max[0], bounds.min[2], bounds.max[2]), (-61.5, 61.5, -49.5, 49.5));
    // Triangles are counterclockwise seen from above.
    for corners in indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|corner| places[corners[corner] as usize]);
        let up = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2]);
        assert!(up > 0.0);
    }
    let image = document.images().next().expect("it has an image").source();
    assert!(matches!(image, gltf::image::Source::View { mime_type: "image/png", .. }));

    let (_folder, path) = written(("mesh", "obj"), &subject);
    let (models, materials) = tobj::load_obj(&path, &tobj::GPU_LOAD_OPTIONS).expect("it is an OBJ file");
    let mesh = &models[0].mesh;
    assert_eq!((mesh.positions.len(), mesh.indices.len()), (3 * 43 * 35, indices.len()));
    let materials = materials.expect("its material is beside it");
    assert_eq!(materials[0].diffuse_texture.as_deref(), Some("mesh.png"));
    assert!(path.with_file_name("mesh.png").exists());
}

#[test]
fn cropped_square_is_centred_and_georeferenced() {
    let mut session = river_terrain();
    session.rivers.from_cells = 30.0;
    let exports: Vec<Export> =
        ["height.r32", "height.tif", "nodata.r32", "discharge.r32", "rivers.geojson", "rivers.csv"]
            .iter()
            .map(|file| Export::parse(file).expect("it can be saved"))
            .collect();
    let of = |size: Size, square: SquareConversion| {
        let dimensions = Dimensions { size, square, ..Dimensions::default() };
        ExportSubject::new(&session, dimensions, &exports).unwrap_or_else(|error| panic!("{error}"))
    };
    let (whole, cropped) =
        (of(Size::Working, SquareConversion::Crop), of(Size::PowerOfTwoPlusOne, SquareConversion::Crop));
    // A size without a square is not cropped: 60 × 40 cells. The centre square has 40, including the NODATA gap.
    assert_eq!((whole.terrain.width(), whole.terrain.height()), (60, 40));
    assert_eq!((cropped.terrain.width(), cropped.terrain.height(), cropped.map), (65, 65, (65, 65)));
    assert!((cropped.terrain.cell_size - 30.0 * 40.0 / 65.0).abs() < 1e-4);
    for (x, y) in [(0.0, 0.0), (0.3, 0.8), (1.0, 1.0), (0.5, 0.5)] {
        let at = |terrain: &Terrain, x: f32, y: f32| terrain.ground().sample_bilinear(x - 0.5, y - 0.5);
        let found = at(&cropped.terrain, 65.0 * x, 65.0 * y);
        let wanted = at(&whole.terrain, 10.0 + 40.0 * x, 40.0 * y);
        assert!((found - wanted).abs() < 0.5, "{found} at {x}, {y}, where {wanted} is right");
    }
    let hole = |subject: &ExportSubject| subject.nodata.as_ref().expect("it has a hole").total();
    assert!((hole(&cropped) / (65.0 * 65.0) - 6.0 * 8.0 / (40.0 * 40.0)).abs() < 0.005);
    let [before, after] = [&whole, &cropped].map(|subject| subject.geo.clone().expect("it lies on Earth"));
    assert_eq!((after.west, after.north), (before.west + 10.0 * 30.0, before.north));
    assert_eq!((after.width, after.height), (1200.0, 1200.0));
    // The georeference of rivers is unchanged; the table is relative to the exported window.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lines = |subject: &ExportSubject, name: &str| {
        let path = folder.path().join(name);
        let format = name.rsplit_once('.').expect("it has an ending").1;
        let export = Export::new("rivers", format).expect("it can be saved");
        export.write(subject, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
        std::fs::read_to_string(path).expect("it was written")
    };
    assert_eq!(lines(&whole, "whole.geojson"), lines(&cropped, "cropped.geojson"));
    let first_x = |text: String| -> f64 {
        let row = text.lines().nth(1).expect("it has a row").to_owned();
        row.split(',').nth(2).expect("it has an x").parse().expect("it is a number")
    };
    assert_eq!(first_x(lines(&whole, "whole.csv")) - 300.0, first_x(lines(&cropped, "cropped.csv")));
}

#[test]
fn rivers_and_square_maps_share_their_origin() {
    // A tall valley that descends to the bottom: 40 × 60 cells of 10 m.
    let ground = Grid::from_fn(40, 60, |x, y| 2.0 * x.abs_diff(20) as f32 + 60.0 - y as f32);
    let run = Simulation::new(Terrain::bare(ground, 10.0, Edge::Open), 1);
    let params = RiverParams { from_cells: 100.0, ..RiverParams::default() };
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The first point of a river: right and up in GeoJSON, right and down in the table.
    let first = |square: SquareConversion| {
        let dimensions = Dimensions { size: Size::Unreal, square, ..Dimensions::default() };
        let rivers = GeoreferencedRivers::of("valley", &run, &params, None, dimensions.window(&run.terrain))
            .expect("they are few");
        let (lines, table) = (folder.path().join("rivers.geojson"), folder.path().join("rivers.csv"));
        rivers.write_geojson(&lines, &JobProgress::default()).expect("it is writable");
        rivers.write_csv(&table, &JobProgress::default()).expect("it is writable");
        let text = |path: &Path| std::fs::read_to_string(path).expect("it was written");
        let json: Value = serde_json::from_str(&text(&lines)).expect("it is JSON");
        let place = &json["features"][0]["geometry"]["coordinates"][0];
        let row = text(&table).lines().nth(1).expect("it has a row").to_owned();
        let cell = |column: usize| row.split(',').nth(column).expect("it is there").parse().expect("it is a number");
        ([0, 1].map(|axis| place[axis].as_f64().expect("it is a number")), [cell(2), cell(3)])
    };
    let ([x, y], [column, row]): ([f64; 2], [f64; 2]) = first(SquareConversion::Pad);
    // The window is 600 m wide, the map covers the left 400 m.
    assert!((x - column).abs() < 1e-3 && (y - (600.0 - row)).abs() < 1e-3, "{x}, {y} and {column}, {row}");
    let (place, [cropped_column, cropped_row]) = first(SquareConversion::Crop);
    // The window is 400 m high: 100 m are cropped at the top and at the bottom.
    assert_eq!((cropped_column, cropped_row), (column, row - 100.0));
    assert!((place[0] - cropped_column).abs() < 1e-3 && (place[1] - (400.0 - cropped_row)).abs() < 1e-3);
}

#[test]
fn cropped_square_gets_upstream_flow_without_wrapping() {
    // A trough that descends from left to right on a periodic map.
    let ground = Grid::from_fn(96, 32, |x, y| 96.0 - x as f32 + 3.0 * y.abs_diff(16) as f32);
    let mut session = Session::placeholder("trough", 1, Default::default());
    for edge in [Edge::Open, Edge::Wrap] {
        session.simulation = Simulation::new(Terrain::bare(ground.clone(), 1.0, edge), 1);
        let exports = ["flow", "slope"].map(|map| Export::new(map, "r32").expect("it can be saved"));
        let dimensions =
            Dimensions { size: Size::PowerOfTwoPlusOne, square: SquareConversion::Crop, ..Dimensions::default() };
        let subject = ExportSubject::new(&session, dimensions, &exports).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [flow, slope] = exports.map(|export| {
            let path = folder.path().join(export.file_name());
            export.write(&subject, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
            let bytes = std::fs::read(path).expect("it was written");
            let cells: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            Grid::from_cells(33, 33, cells)
        });
        // A third of the terrain is above the square; its runoff enters in the middle of the left border.
        if edge == Edge::Open {
            let most = (0..33).map(|y| flow.at(0, y)).fold(0.0, f32::max);
            assert!(most > 50.0_f32.ln(), "only {} cells flow in", most.exp());
        }
        // No cliff of 32 m between the cut borders.
        assert!((0..33).all(|y| slope.at(0, y) < 75.0 && slope.at(32, y) < 75.0), "{edge:?}");
    }
}

#[test]
fn exported_rivers_match_map_coordinates() {
    let mut session = river_terrain();
    session.rivers.from_cells = 30.0;
    let network = RiverNetwork::from_terrain(&session.simulation.terrain, &session.rivers);
    assert!(network.reaches.len() > 3, "{} reaches", network.reaches.len());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let exports = ["geojson", "csv"].map(|format| Export::new("rivers", format).expect("it can be saved"));
    // The size of the maps does not affect the rivers.
    let dimensions = Dimensions { size: Size::Unreal, ..Dimensions::default() };
    let subject = ExportSubject::new(&session, dimensions, &exports).unwrap_or_else(|error| panic!("{error}"));
    save_all(&exports, &subject, folder.path(), "", &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it was written");
    let lines: Value = serde_json::from_str(&text("rivers.geojson")).expect("it is JSON");
    assert_eq!(lines["type"], "FeatureCollection");
    let features = lines["features"].as_array().expect("it has features");
    assert_eq!(features.len(), network.reaches.len());
    for (feature, reach) in features.iter().zip(&network.reaches) {
        assert_eq!((&feature["type"], &feature["geometry"]["type"]), (&"Feature".into(), &"LineString".into()));
        let coordinates = feature["geometry"]["coordinates"].as_array().expect("it has coordinates");
        assert_eq!(coordinates.len(), reach.points.len());
        for (found, place) in coordinates.iter().zip(&reach.points) {
            // Within the extent of 60 × 40 cells of 30 m.
            let wanted = [5e5 + place.at[0], 4e6 - place.at[1], f64::from(place.height)];
            let near = |axis: usize| found[axis].as_f64().is_some_and(|found| (found - wanted[axis]).abs() < 1e-3);
            assert!((0..3).all(near), "{found}, {wanted:?}");
        }
        let properties = &feature["properties"];
        let width = properties["width_m"].as_f64().expect("it has one");
        assert!((width - f64::from(reach.points[reach.points.len() - 1].width)).abs() < 1e-3);
        assert_eq!(properties["into"].as_u64().map(|into| into as usize), reach.into);
    }
    let table = text("rivers.csv");
    let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("it has a head");
    let column = head.iter().position(|name| *name == "discharge_m3_s").expect("it has discharges");
    let rows: Vec<Vec<&str>> = rows.collect();
    assert!(rows.len() == network.places() && rows.iter().all(|row| row.len() == head.len()));
    let whole: f64 = rows.iter().map(|row| row[column].parse::<f64>().expect("it is a number")).sum();
    let wanted: f64 =
        network.reaches.iter().flat_map(|reach| &reach.points).map(|place| f64::from(place.discharge)).sum();
    assert!((whole / wanted - 1.0).abs() < 1e-3, "{whole}, {wanted}");
    // Too many points are rejected before anything is written.
    session.rivers.from_cells = 1.0;
    let huge = Terrain::bare(Grid::from_fn(1500, 1400, |x, y| (x + y) as f32), 1.0, Edge::Open);
    session.simulation.terrain = huge;
    let error =
        ExportSubject::new(&session, Dimensions::default(), &exports).expect_err("they are too many").to_string();
    let expected = "points, more than the limit of 2000000; raise rivers.from_cells above 1";
    assert!(error.contains(expected), "{error}");
}

/// Returns dimensions with tiles.
fn tiled(count: (usize, usize), overlap: usize, names: TileNames) -> Dimensions {
    Dimensions { tiles: Some(TileGrid { count, overlap, names }), ..Dimensions::default() }
}

#[test]
fn tiles_share_codes_have_one_range_and_are_read_back_as_one_map() {
    let session = river_terrain();
    let ground = session.simulation.terrain.ground();
    let whole = ExportSubject::new(&session, Dimensions::default(), &[]).expect("it is small");
    for (names, overlap, count) in [
        (TileNames::Unreal, 1, (3, 2)),
        (TileNames::Unreal, 3, (3, 2)),
        (TileNames::Unity, 1, (2, 3)),
        (TileNames::Gaea, 0, (4, 4)),
        (TileNames::Tms, 3, (2, 2)),
        (TileNames::Unreal, 0, (7, 1)),
    ] {
        for format in ["png", "raw", "r16", "r32", "tif", "asc"] {
            let export = Export::new("height", format).expect("it can be saved");
            let subject = ExportSubject::new(&session, tiled(count, overlap, names), &[export]).expect("it is small");
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join(export.file_name());
            save_all(&[export], &subject, folder.path(), "", &JobProgress::default()).expect("it is writable");
            let label = format!("{names:?} {format} {count:?}");
            assert!(!path.exists() && subject.tiles().len() == count.0 * count.1, "{label}");
            // A tile alone.
            let tiles = subject.tiles();
            let first = folder.path().join(export.tile_file_name(&tiles[0]));
            let options = Options::default();
            assert!(heightmap::read(&first, &options).is_ok(), "{label}");
            let back = heightmap::read(&path, &options).unwrap_or_else(|error| panic!("{label}: {error}"));
            let step = (ground.min_max().1 - ground.min_max().0) / 65535.0;
            let near = if ["r32", "tif", "asc"].contains(&format) { 0.0 } else { 0.51 * step };
            assert_eq!((back.heights.width(), back.heights.height(), back.cell_size), (60, 40, 30.0), "{label}");
            for (x, y) in (0..60).flat_map(|x| (0..40).map(move |y| (x, y))) {
                let is_void = back.nodata.as_ref().is_some_and(|mask| mask.at(x, y) > 0.0);
                assert!(is_void || (back.heights.at(x, y) - ground.at(x, y)).abs() <= near, "{label}: {x}, {y}");
            }
            if ["tif", "asc"].contains(&format) {
                let geo = back.geo.expect("it knows its place");
                assert_eq!((geo.west, geo.north), (5e5, 4e6), "{label}");
                assert_eq!(geo.width / back.heights.width() as f64, 30.0, "{label}");
            }
        }
    }
    assert_eq!(whole.tiles().len(), 1);
}

#[test]
fn tiles_with_values_between_zero_and_one_keep_them() {
    let low = |x: usize, y: usize| (x + 40 * y) as f32 / 2000.0;
    let maps = [
        Grid::from_fn(40, 40, low),
        // One tile of a coast.
        Grid::from_fn(40, 40, |x, y| if x < 20 && y < 20 { low(x, y) } else { 820.0 * low(x, y) - 20.0 }),
    ];
    for (format, heights) in
        ["r32", "exr", "tif", "asc"].into_iter().flat_map(|format| maps.each_ref().map(|map| (format, map)))
    {
        let mut subject = subject(Terrain::bare(heights.clone(), 3.0, Edge::Open));
        subject.dimensions = tiled((2, 2), 0, TileNames::Unreal);
        let (_folder, path) = written(("height", format), &subject);
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert!(back.heights == *heights, "{format}: {:?}", back.heights.min_max());
    }
}

#[test]
fn tile_without_data_is_read_as_part_of_its_map() {
    let heights = Grid::from_fn(64, 64, |x, y| (x + 3 * y) as f32);
    let map = Heightmap { heights, file_size: (64, 64), cell_size: 3.0, geo: None, nodata: None, warnings: Vec::new() };
    let session = heightmap::session("slope", map, Origin::default()).expect("it is small");
    let ground = session.simulation.terrain.ground();
    let (low, high) = ground.min_max();
    for (format, tolerance) in [("png", (high - low) / 65535.0), ("tif", 0.0), ("asc", 0.0)] {
        let export = Export::new("height", format).expect("it can be saved");
        // The last row of tiles lies in the padding.
        let dimensions = tiled((2, 9), 0, TileNames::Unreal);
        let subject = ExportSubject::new(&session, dimensions, &[export]).expect("it is small");
        let folder = tempfile::tempdir().expect("a temporary folder");
        save_all(&[export], &subject, folder.path(), "", &JobProgress::default()).expect("it is writable");
        let path = folder.path().join(export.file_name());
        let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!((back.heights.width(), back.heights.height()), (64, 64), "{format}");
        let differences = back.heights.iter().zip(ground.iter()).map(|(found, wanted)| (found - wanted).abs());
        let largest = differences.fold(0.0, f32::max);
        assert!(largest <= tolerance, "{format}: {largest} m off");
    }
}

#[test]
fn tiles_of_engine_sizes_cover_the_map() {
    let size = |size: Size, count, (width, height)| {
        let dimensions = Dimensions { size, ..tiled(count, 1, TileNames::Unreal) };
        let terrain = Terrain::bare(Grid::filled(width, height, 0.0), 1.0, Edge::Open);
        (dimensions.of(&terrain), dimensions.file_size(&terrain))
    };
    assert_eq!(size(Size::PowerOfTwoPlusOne, (4, 4), (1024, 1024)), ((1025, 1025), (257, 257)));
    assert_eq!(size(Size::PowerOfTwoPlusOne, (4, 2), (1024, 512)), ((1025, 513), (257, 257)));
    assert_eq!(size(Size::Unreal, (2, 2), (1024, 1024)), ((2017, 2017), (1009, 1009)));
    assert_eq!(size(Size::Working, (4, 4), (257, 129)), ((257, 129), (65, 33)));
    // The last tiles are padded.
    assert_eq!(size(Size::Working, (4, 4), (256, 256)), ((257, 257), (65, 65)));
    assert_eq!(size(Size::Times(2), (3, 3), (256, 256)), ((514, 514), (172, 172)));
}

#[test]
fn a_missing_tile_and_too_many_tiles_are_refused_in_a_sentence() {
    let session = river_terrain();
    let export = Export::new("height", "png").expect("it can be saved");
    let new = |count, overlap| ExportSubject::new(&session, tiled(count, overlap, TileNames::Unreal), &[export]);
    for (count, overlap) in [((0, 1), 1), ((65, 1), 1), ((60, 40), 1), ((2, 2), 33)] {
        let error = new(count, overlap).expect_err("refused");
        assert!(error.exit_code() == 2 && error.to_string().contains("tiles"), "{error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let subject = new((2, 2), 1).expect("it is small");
    save_all(&[export], &subject, folder.path(), "", &JobProgress::default()).expect("it is writable");
    std::fs::remove_file(folder.path().join("height_x1_y0.png")).expect("it was written");
    let error = heightmap::read(&folder.path().join("height.png"), &Options::default()).expect_err("refused");
    assert!(error.to_string().contains("column 1, row 0 of 2 × 2 tiles is missing"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn names_of_tiles_are_recognised() {
    assert_eq!(TileNames::Unreal.parse("_x3_y12"), Some((3, 12)));
    assert_eq!(TileNames::Gaea.parse("_y12_x3"), Some((3, 12)));
    assert_eq!(TileNames::Tms.parse("_2_3_1"), Some((3, 1)));
    assert_eq!(TileNames::Unity.parse("_3_1"), Some((3, 1)));
    for (names, suffix) in [
        (TileNames::Unreal, "_x3_y"),
        (TileNames::Unreal, "_x_y1"),
        (TileNames::Unity, "_2_3_1"),
        (TileNames::Unity, "_2"),
        (TileNames::Unreal, "_x1_y2a"),
        (TileNames::Unreal, "_x99999999999999999999_y2"),
    ] {
        assert_eq!(names.parse(suffix), None, "{suffix}");
    }
}

#[test]
fn a_mesh_is_divided_into_chunks_with_levels_of_detail() {
    let mut subject = subject(hills(41, 33));
    subject.dimensions = Dimensions { mesh_levels: 3, ..tiled((2, 2), 1, TileNames::Unreal) };
    let (_folder, path) = written(("mesh", "glb"), &subject);
    let document = gltf::Gltf::open(&path).expect("it is valid glTF");
    let names: Vec<&str> = document.nodes().filter_map(|node| node.name()).collect();
    assert_eq!((names.len(), names[0], names[11]), (12, "terrain_x0_y0_LOD0", "terrain_x1_y1_LOD2"));
    let blob = document.blob.as_deref().expect("it has its data inside");
    let (mut bounds, mut counts) = ([f32::MAX, f32::MIN], Vec::new());
    for mesh in document.meshes() {
        let primitive = mesh.primitives().next().expect("it has triangles");
        let places = primitive.reader(|_| Some(blob)).read_positions().expect("it has places");
        counts.push(places.len());
        for [x, ..] in places {
            bounds = [bounds[0].min(x), bounds[1].max(x)];
        }
    }
    // All chunks together reach the border of the map, at every level.
    assert_eq!(bounds, [-61.5, 61.5]);
    assert!(2 * counts[0] > 5 * counts[1] && counts[1] > 2 * counts[2], "{counts:?}");
}

#[test]
fn meshes_and_trees_have_no_padding() {
    let session = river_terrain();
    let exports = ["mesh.glb", "trees.glb"].map(|file| Export::parse(file).expect("known"));
    let trees = |dimensions: Dimensions| {
        let mut subject = ExportSubject::new(&session, dimensions, &exports).expect("it is small");
        subject.look.woods = 0.8;
        let (_folder, path) = written(("trees", "glb"), &subject);
        std::fs::read(path).expect("it was written")
    };
    let (square, tiles) = (Size::Unreal, tiled((7, 3), 0, TileNames::Unreal));
    assert!(trees(tiles) == trees(Dimensions::default()), "trees move with the padding");
    for dimensions in [tiles, Dimensions { size: square, ..Dimensions::default() }] {
        let subject = ExportSubject::new(&session, dimensions, &exports).expect("it is small");
        assert_ne!(subject.map, (subject.terrain.width(), subject.terrain.height()), "it has padding");
        let (_folder, path) = written(("mesh", "glb"), &subject);
        let document = gltf::Gltf::open(&path).expect("it is valid glTF");
        let blob = document.blob.as_deref().expect("it has its data inside");
        let mut far = [0.0_f32; 2];
        for mesh in document.meshes() {
            let primitive = mesh.primitives().next().expect("it has triangles");
            for [x, _, z] in primitive.reader(|_| Some(blob)).read_positions().expect("it has places") {
                far = [far[0].max(x), far[1].max(z)];
            }
        }
        let half = [subject.map.0, subject.map.1].map(|cells| 0.5 * cells as f32 * subject.terrain.cell_size);
        assert!(far.iter().zip(half).all(|(far, half)| (far - half).abs() < 1e-2), "{far:?}, {half:?}");
    }
}

#[test]
fn trees_stand_on_wooded_ground_as_dense_as_its_cover() {
    let mut subject = subject(hills(96, 64));
    subject.terrain.cell_size = 10.0;
    let trees = |subject: &ExportSubject, format: &str| written(("trees", format), subject);
    let (_folder, path) = trees(&subject, "csv");
    assert_eq!(std::fs::read_to_string(path).expect("it was written").lines().count(), 1, "land without forest");
    let (_folder, path) = trees(&subject, "glb");
    assert!(gltf::Gltf::open(path).is_ok(), "an empty forest is valid");
    subject.look.woods = 0.8;
    let cover = weights::tree_cover(&subject);
    let (_folder, path) = trees(&subject, "csv");
    let text = std::fs::read_to_string(path).expect("it was written");
    let count = text.lines().count() - 1;
    let wanted = cover.total() * 100.0 / 36.0;
    assert!(wanted > 1000.0 && (count as f64 / wanted - 1.0).abs() < 0.1, "{count} trees, {wanted} expected");
    for line in text.lines().skip(1) {
        let numbers: Vec<f32> = line.split(',').map(|cell| cell.parse().expect("it is a number")).collect();
        let (x, y) = ((numbers[0] / 10.0) as usize, (numbers[1] / 10.0) as usize);
        assert!(cover.at(x.min(95), y.min(63)) > 0.0, "{line}");
        let ground = subject.terrain.sample_ground(numbers[0] / 10.0 - 0.5, numbers[1] / 10.0 - 0.5);
        assert!((ground - numbers[2]).abs() < 0.01, "{line}");
    }
    let (_folder, path) = trees(&subject, "glb");
    let bytes = std::fs::read(path).expect("it was written");
    let glb = gltf::Glb::from_slice(&bytes).expect("it is binary glTF");
    let json: Value = serde_json::from_slice(&glb.json).expect("it is JSON");
    let attributes = &json["nodes"][0]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
    for attribute in ["TRANSLATION", "ROTATION", "SCALE"] {
        let accessor = attributes[attribute].as_u64().expect("it has one") as usize;
        assert_eq!(json["accessors"][accessor]["count"], count, "{attribute}");
    }
}

#[test]
fn weights_of_every_pixel_add_up_to_255() {
    let mut subject = subject(hills(40, 33));
    subject.look.snow_line = 24.0;
    for masks in [
        WeightChannels::default(),
        WeightChannels([WeightMask::Wear, WeightMask::Deposit, WeightMask::Flow, WeightMask::Wetness].map(Some)),
        WeightChannels([Some(WeightMask::Forest), Some(WeightMask::Sand), None, None]),
    ] {
        subject.dimensions.weights = masks;
        let (_folder, path) = written(("weights", "png"), &subject);
        let file = std::io::BufReader::new(std::fs::File::open(&path).expect("it was written"));
        let mut reader = png::Decoder::new(file).read_info().expect("it is an image");
        let mut bytes = vec![0; reader.output_buffer_size().expect("it is small")];
        reader.next_frame(&mut bytes).expect("it is whole");
        assert_eq!(bytes.len(), 40 * 33 * 4);
        assert!(bytes.chunks(4).all(|pixel| pixel.iter().map(|part| u32::from(*part)).sum::<u32>() == 255));
        let has = |channel: usize| bytes.iter().skip(channel).step_by(4).any(|byte| *byte > 0);
        match masks.0[1] {
            Some(WeightMask::Soil) => assert!((1..4).all(has), "soil, sand and snow"),
            // Sand was added since the start, and nothing was eroded.
            Some(WeightMask::Deposit) => assert_eq!([0, 1, 2, 3].map(has), [false, true, true, true]),
            _ => assert_eq!([2, 3].map(has), [false, false]),
        }
    }
}
