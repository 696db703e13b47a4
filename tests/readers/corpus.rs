//! Stored files of the readers, created by the writers and by hand.
//!
//! `cargo test --release --test readers -- --ignored` rewrites them after a format change.

use std::{fs, io::Read, path::Path, sync::Arc};

use thalweg_scene::{
    io::{
        JobProgress, RasterMetadata,
        preset::Preset,
        project::{self, Project, StoredNode, StoredTimeline},
        scene,
        scene::open_first,
        write_asc, write_exr, write_png_rgb8, write_png8, write_png16, write_r16, write_r32, write_sidecar, write_tiff,
    },
    model::{origin::Options, session::Session, state::SimulationState},
    settings::{Settings, SettingsFile, Theme},
};
use thalweg_sim::core::grid::Grid;

use super::readers::KEYFRAME;

/// Corrects the checksums of complete PNG chunks, as decoders stop at a wrong one.
pub fn mend_checksums(png: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = png.get(at..at + 4) {
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let end = at + 8 + length;
        if png.len() < end + 4 {
            return;
        }
        let sum = checksum(&png[at + 4..end]);
        png[end..end + 4].copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
}

/// Computes the CRC-32 of PNG (ISO 3309).
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

fn small(scene: &str) -> Session {
    let options = Options { size: Some((32, 32)), ..Options::default() };
    open_first(scene, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Creates a project with a timeline of two keyframes, the first of which has identifier 0.
fn project_with_timeline() -> Project {
    let mut session = small("wadi");
    let mut timeline = StoredTimeline::default();
    for (id, parent) in [(0, None), (1, Some(0))] {
        (0..3).for_each(|_| session.simulation.tick());
        let states = Arc::new(vec![SimulationState::capture_packed(&mut session)]);
        timeline.frames.push(StoredNode { id, parent, states });
    }
    timeline.here = Some(1);
    Project { timeline, ..Project::of(vec![session]) }
}

/// Writes a grid as a USGS DEM of cells of 30 m in UTM zone 12: records of 1024 bytes, one for each column from south to north.
fn quadrangle(grid: &Grid) -> Vec<u8> {
    let record = |fields: &[(usize, String)]| {
        let mut bytes = vec![b' '; 1024];
        fields.iter().for_each(|(at, text)| bytes[*at..at + text.len()].copy_from_slice(text.as_bytes()));
        bytes
    };
    let whole = |number: usize| format!("{number:6}");
    let float = |number: usize| format!("{number:24}");
    // System, zone, units of ground and heights, resolution, and numbers of rows and columns.
    let header =
        [(156, whole(1)), (162, whole(12)), (528, whole(2)), (534, whole(2)), (852, whole(1) + &whole(grid.width()))];
    let resolution = [(816, format!("{:12}{:12}{:12}", 30, 30, 1))];
    let mut bytes = record(&[&header[..], &resolution].concat());
    for column in 0..grid.width() {
        let heights: String = (0..grid.height()).rev().map(|row| whole(grid.at(column, row) as usize)).collect();
        let start = whole(1) + &whole(column + 1) + &whole(grid.height()) + &whole(1);
        let place = float(500_010 + 30 * column) + &float(4_100_010) + &float(0);
        bytes.extend(record(&[(0, start), (24, place), (144, heights)]));
    }
    bytes
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).expect("it is text");
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
#[ignore = "rewrites the stored files"]
fn rewrite_stored_reader_files() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/readers");
    let put = |reader: &str, name: &str, bytes: &[u8]| {
        let folder = all.join(reader);
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name), bytes)).expect("it is writable");
    };
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| scratch.path().join(name);
    let written = |name: &str| fs::read(path(name)).expect("it was written");
    let quiet = JobProgress::default();
    let hills = Grid::from_fn(32, 33, |x, y| 100.0 + 40.0 * (x as f32 * 0.2).sin() + 30.0 * (y as f32 * 0.3).cos());
    let square = hills.resample(32, 32);

    write_png16(&path("map.png"), &hills, hills.min_max(), &quiet).expect("it is writable");
    let png = written("map.png");
    put("png", "good-16-bit", &png);
    write_png8(&path("map.png"), &hills, hills.min_max(), &quiet).expect("it is writable");
    put("png", "good-8-bit", &written("map.png"));
    let pixels: Vec<u8> = (0..32 * 32 * 3).map(|place| (place % 251) as u8).collect();
    write_png_rgb8(&path("map.png"), (32, 32), &pixels, &quiet).expect("it is writable");
    put("png", "good-colour", &written("map.png"));
    let mut large = png.clone();
    // Width and height follow the signature and the name of the first chunk.
    large[16..24].copy_from_slice(&[0, 0, 16, 0, 0, 0, 16, 0]);
    mend_checksums(&mut large);
    put("png", "bad-claims-4096", &large);
    put("png", "bad-text", b"this is no picture");

    write_exr(&path("map.exr"), &hills, &quiet).expect("it is writable");
    let exr = written("map.exr");
    put("exr", "good", &exr);
    let window = exr.windows(10).position(|name| name == b"dataWindow").expect("it has one");
    let mut large = exr.clone();
    // After its name, its type "box2i" and its length: the lower corner, then the last column and row.
    large[window + 11 + 6 + 4 + 8..][..8].copy_from_slice(&[0xff, 0x0f, 0, 0, 0xff, 0x0f, 0, 0]);
    put("exr", "bad-claims-4096", &large);

    write_r16(&path("map.r16"), &square, square.min_max(), &quiet).expect("it is writable");
    put("r16", "good", &written("map.r16"));
    put("r16", "bad-odd", &written("map.r16")[1..]);
    write_r32(&path("map.r32"), &square, &quiet).expect("it is writable");
    put("r32", "good", &written("map.r32"));
    put("r32", "bad-odd", &written("map.r32")[1..]);
    put("r32", "bad-numbers", &[0xff; 4 * 32 * 32]);

    let nodata = Grid::from_fn(32, 32, |x, y| f32::from(x < 3 && y < 5));
    let place = RasterMetadata { nodata: Some(&nodata), ..RasterMetadata::local(5.0) };
    write_tiff(&path("map.tif"), &square, place).expect("it is writable");
    let tif = written("map.tif");
    put("tif", "good", &tif);
    put("tif", "good-tiles", include_bytes!("../data/tiled.tif"));
    put("tif", "bad-cut-off", &tif[..tif.len() / 2]);
    let width = tif.windows(8).position(|entry| entry == [0, 1, 4, 0, 1, 0, 0, 0]).expect("it states its width") + 8;
    put("tif", "bad-claims-16384", &[&tif[..width], &[0, 64, 0, 0], &tif[width + 4..]].concat());
    put("tif", "bad-text", b"II*\0this is no picture");

    write_asc(&path("map.asc"), &square, RasterMetadata::local(5.0), &quiet).expect("it is writable");
    let asc = written("map.asc");
    put("asc", "good", &asc);
    let degrees = replaced(&replaced(&asc, "xllcorner 0", "XLLCENTER 7"), "cellsize 5", "cellsize 0.001");
    put("asc", "good-degrees", &replaced(&degrees, "NODATA_value -9999", "NODATA_value 100"));
    put("asc", "bad-claims-16384", b"ncols 16384 nrows 16384 cellsize 1 5");
    put("asc", "bad-infinite", &replaced(&asc, "value -9999\n", "value -9999\ninf "));
    put("asc", "bad-text", b"Once upon a time");

    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (33, 32), }\n";
    let npy = |text: &str| {
        let start = [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
        [start, hills.iter().flat_map(|height| height.to_le_bytes()).collect()].concat()
    };
    put("npy", "good", &npy(text));
    put("npy", "good-columns", &npy(&text.replace("False", "True")));
    put("npy", "bad-claims-20480", &npy(&text.replace("33, 32", "20480, 20480")));
    put("npy", "bad-type", &npy(&text.replace("<f4", "<c8")));

    let tile: Vec<u8> = square.iter().flat_map(|height| (*height as i16).to_be_bytes()).collect();
    put("hgt", "good", &tile);
    put("hgt", "bad-odd", &tile[1..]);
    put("hgt", "bad-nothing", &[0x80, 0].repeat(32 * 32));

    let esri = b"BYTEORDER M\nLAYOUT BIL\nNROWS 32\nNCOLS 32\nNBANDS 1\nNBITS 16\nULXMAP 500\nULYMAP 700\nXDIM 5\nYDIM 5\nNODATA 7\n";
    put("header", "good", esri);
    let envi = b"ENVI\nsamples = 32\nlines = 32\nbands = 2\ndata type = 2\ninterleave = bsq\nbyte order = 1\n";
    put("header", "good-envi", envi);
    put("header", "bad-rows", &replaced(esri, "NROWS 32", "NROWS 65"));
    put("header", "bad-claims-16384", &replaced(envi, "lines = 32", "lines = 16384"));
    put("header", "bad-text", b"Once upon a time");

    let dem = quadrangle(&hills);
    put("dem", "good", &dem);
    put("dem", "bad-claims-16384", &replaced(&dem, "     1    32", "     1 16384"));
    put("dem", "bad-text", &b"Once upon a time ".repeat(100));

    let text: String = square.chunks(32).rev().map(|row| format!("{row:?}\n").replace(['[', ']', ','], "")).collect();
    let text = format!("DSAA\n32 32\n0 310\n0 310\n0 500\n{text}");
    put("surfer", "good", text.as_bytes());
    let ranges: Vec<u8> = [0_f64, 310.0, 0.0, 310.0, 0.0, 500.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let cells: Vec<u8> = square.iter().flat_map(|height| height.to_le_bytes()).collect();
    let binary = [b"DSBB\x20\0\x20\0", &ranges[..], &cells].concat();
    put("surfer", "good-binary", &binary);
    put("surfer", "bad-claims-20480", &[b"DSBB\0\x50\0\x50", &ranges[..], &cells].concat());
    put("surfer", "bad-rows", &replaced(text.as_bytes(), "32 32", "32 33"));

    let grey: Vec<u8> = hills.iter().map(|height| *height as u8).collect();
    put("image", "good-pgm", &[b"P5 32 33 255\n", &grey[..]].concat());
    put("image", "bad-claims-16384", &[b"P5 16384 16384 255\n", &grey[..]].concat());
    // Uncompressed greyscale, from the upper left.
    put("image", "good-tga", &[&[0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 33, 0, 8, 0x20], &grey[..]].concat());
    let colours: Vec<u8> = grey.iter().flat_map(|grey| [*grey; 3]).collect();
    let mut bmp = b"BM".to_vec();
    let length = 54 + colours.len() as u32;
    bmp.extend(
        [length, 0, 54, 40, 32, 33, 1 | 24 << 16, 0, colours.len() as u32, 0, 0, 0, 0].map(u32::to_le_bytes).concat(),
    );
    bmp.extend(colours);
    put("image", "good-bmp", &bmp);
    // Written by Pillow.
    let jpeg = fs::read(all.join("image/good-jpeg")).expect("it is stored");
    put("image", "bad-jpeg-cut-off", &jpeg[..jpeg.len() - 9]);
    for (name, of) in [
        ("good-png", "png/good-colour"),
        ("good-jpeg", "image/good-jpeg"),
        ("good-webp", "image/good-webp"),
        ("bad-cut-off", "png/bad-cut-off"),
        ("bad-text", "png/bad-text"),
        ("bad-claims-16384", "image/bad-claims-16384"),
    ] {
        put("lesson_image", name, &fs::read(all.join(of)).expect("it is stored"));
    }

    // The fuzzer's map is all zeros, and the sidecar has their hash.
    write_sidecar(&path("map.json"), &Grid::filled(32, 32, 0.0), 2.5, (32, 32)).expect("it is writable");
    let json = written("map.json");
    put("sidecar", "good", &json);
    put("sidecar", "good-nothing", b"{}");
    put("sidecar", "bad-size", &replaced(&json, "\"width\": 32", "\"width\": 33"));
    put("sidecar", "bad-infinite", &replaced(&json, "2.5", "1e39"));
    put("sidecar", "good-unknown-field", &replaced(&json, "width", "wide"));
    put("sidecar", "good-other-program", b"{\"type\": 1}\n{\"type\": 2}\n");
    put("sidecar", "bad-deep", &[b"{\"min_m\": ".as_slice(), &b"[".repeat(20_000)].concat());

    for name in ["wadi", "river-valley", "figure-5"] {
        let (_, text) = scene::BUILT_IN.into_iter().find(|(known, _)| *known == name).expect("it is built in");
        put("scene", &format!("good-{name}"), text.as_bytes());
    }
    let wadi = fs::read(all.join("scene/good-wadi")).expect("it was just written");
    put("scene", "bad-process", &replaced(&wadi, "\"thermal\"", "\"thermos\""));
    put("scene", "bad-value", &replaced(&wadi, "\"140\"", "\"nan\""));
    put("scene", "bad-map", &replaced(&wadi, "title: ", "sand_map: \"../../none.png\", title: "));
    put("scene", "bad-deep", &[b"(tiles: ".as_slice(), &b"[".repeat(20_000)].concat());

    let mut session = small("river-valley");
    session.set("wind.law", "2020").expect("it is a parameter");
    Preset::of(&session, Some("wind")).save(&path("preset.ron")).expect("it is writable");
    let preset = written("preset.ron");
    put("preset", "good", &preset);
    put("preset", "bad-name", &replaced(&preset, "wind.law", "wind.lore"));
    put("preset", "bad-terrain", &replaced(&preset, "wind.law\": \"2020", "terrain.width\": \"4096"));
    put("preset", "bad-text", b"no preset");

    let mut remembered = SettingsFile::default();
    remembered.last_folder = Some("/maps".into());
    remembered.record_changes(&Settings { theme: Theme::Light, scale: 1.5, ..Settings::default() });
    remembered.recent.push("work.thalweg".into());
    remembered.save(&path("settings.ron")).expect("it is writable");
    let settings = written("settings.ron");
    put("settings", "good", &settings);
    put("settings", "good-out-of-range", &replaced(&settings, "1.5", "9000"));

    project::save(&mut project_with_timeline(), &path("work.thalweg"), &quiet).expect("it is writable");
    let work = written("work.thalweg");
    put("project", "good-wadi", &work);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&work)).expect("it is whole");
    let mut part = |name: &str| {
        let mut bytes = Vec::new();
        archive.by_name(name).expect("it has one").read_to_end(&mut bytes).expect("it is whole");
        bytes
    };
    let (manifest, timeline, keyframe) = (part("manifest.ron"), part("timeline.ron"), part(KEYFRAME));
    put("manifest", "good", &manifest);
    put("manifest", "bad-format", &replaced(&manifest, "format: 2", "format: 9"));
    put("manifest", "bad-size", &replaced(&manifest, "size: (32, 32)", "size: (4096, 4096)"));
    put("manifest", "bad-process", &replaced(&manifest, "\"thermal\"", "\"thermos\""));
    put("timeline", "good", &timeline);
    put("timeline", "bad-order", &replaced(&timeline, "id:1", "id:0"));
    put("timeline", "bad-size", &replaced(&timeline, "(32,32)", "(4096,4096)"));
    put("keyframe", "good", &keyframe);

    let cut_off =
        [("png", &png), ("exr", &exr), ("asc", &asc), ("dem", &dem), ("settings", &settings), ("project", &work)];
    for (reader, bytes) in cut_off.into_iter().chain([("keyframe", &keyframe)]) {
        put(reader, "bad-cut-off", &bytes[..bytes.len() / 2]);
    }
    for reader in ["png", "exr", "r16", "r32", "settings", "project", "keyframe"] {
        put(reader, "bad-empty", b"");
    }
}
