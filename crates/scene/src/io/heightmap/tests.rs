//! Properties that every heightmap format has to satisfy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::*;
use crate::io::{JobProgress, RasterMetadata, write_asc, write_exr, write_png16, write_r16, write_r32, write_tiff};
use thalweg_sim::core::terrain::Layer;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

fn hills(width: usize, height: usize) -> Grid {
    Grid::from_fn(width, height, |x, y| 100.0 + 40.0 * (x as f32 * 0.2).sin() + 30.0 * (y as f32 * 0.3).cos())
}

/// Writes the same hills, 40 × 36 cells, in every format to a temporary folder.
fn every_format() -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let map = hills(40, 36);
    let at = |name: &str| folder.path().join(name);
    write_png16(&at("png.png"), &map, map.min_max(), &JobProgress::default()).expect("it is writable");
    write_exr(&at("exr.exr"), &map, &JobProgress::default()).expect("it is writable");
    write_r32(&at("r32.r32"), &map, &JobProgress::default()).expect("it is writable");
    write_r16(&at("r16.r16"), &map, map.min_max(), &JobProgress::default()).expect("it is writable");
    let rows: Vec<String> = map.chunks(40).map(|row| row.iter().map(|v| format!("{v} ")).collect()).collect();
    let header = "ncols 40\nnrows 36\nxllcorner 10\nyllcorner 50\ncellsize 0.001\nNODATA_value -9999\n";
    fs::write(at("asc.asc"), format!("{header}{}\n", rows.join("\n"))).expect("it is writable");
    for name in ["r16.json", "r32.json"] {
        let text = r#"{"width": 40, "height": 36, "cell_size_m": 2.0, "min_m": 0, "max_m": 65535}"#;
        fs::write(at(name), text).expect("it is writable");
    }
    write_tiff(&at("tif.tif"), &map, RasterMetadata::local(2.0)).expect("it is writable");
    let floats: Vec<u8> = map.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (36, 40), }";
    let array = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &floats].concat();
    fs::write(at("npy.npy"), array).expect("it is writable");
    fs::write(at("flt.flt"), &floats).expect("it is writable");
    fs::write(at("flt.hdr"), "ncols 40\nnrows 36\ncellsize 2\nbyteorder LSBFIRST\n").expect("it is writable");
    let rows = map.chunks(40).rev().flatten().flat_map(|cell| cell.to_le_bytes());
    let ranges = [1.0_f64, 79.0, 1.0, 71.0, 0.0, 1.0].into_iter().flat_map(f64::to_le_bytes);
    let surfer: Vec<u8> = b"DSBB".iter().copied().chain([40, 0, 36, 0]).chain(ranges).chain(rows).collect();
    fs::write(at("grd.grd"), surfer).expect("it is writable");
    let names = ["png.png", "exr.exr", "r16.r16", "r32.r32", "asc.asc", "tif.tif", "npy.npy", "flt.flt", "grd.grd"];
    let paths = names.map(at).to_vec();
    (folder, paths)
}

fn message(result: Result<Heightmap, Error>) -> String {
    let error = result.expect_err("it is bad input");
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains("; ") && !text.ends_with('.'), "one sentence: {text}");
    text
}

#[test]
fn jacksboro_png_and_asc_match_sidecar() {
    let png = read(&sample("jacksboro.png"), &Options::default()).expect("it is good");
    let asc = read(&sample("jacksboro.asc"), &Options::default()).expect("it is good");
    assert_eq!((png.heights.width(), png.heights.height(), png.cell_size), (403, 344, 90.0));
    assert_eq!(png.heights.min_max(), (236.0, 1076.0));
    assert!(png.warnings.is_empty() && asc.warnings.is_empty(), "{:?} {:?}", png.warnings, asc.warnings);
    let half_step = 0.5 * (1076.0 - 236.0) / 65535.0;
    assert!(png.heights.iter().zip(asc.heights.iter()).all(|(a, b)| (a - b).abs() <= half_step + 1e-4));
    assert_eq!(asc.cell_size, 90.0);
}

#[test]
fn every_format_reads_the_same_heights() {
    let (_folder, paths) = every_format();
    let (min, max) = hills(40, 36).min_max();
    for path in paths {
        let map = read(&path, &Options { min_m: Some(min), max_m: Some(max), ..Options::default() });
        let map = map.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((map.heights.width(), map.heights.height()), (40, 36), "{}", path.display());
        let worst = map.heights.iter().zip(hills(40, 36).iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let in_steps = ["png", "r16"].iter().any(|ending| path.ends_with(format!("{ending}.{ending}")));
        let allowed = if in_steps { 0.51 * (max - min) / 65535.0 } else { 0.0 };
        assert!(worst <= allowed, "{}: {worst} m", path.display());
    }
}

#[test]
fn options_override_sidecar_which_overrides_file() {
    let (folder, paths) = every_format();
    let (png, asc) = (&paths[0], &paths[4]);
    let map = read(png, &Options::default()).expect("it is good");
    assert_eq!(map.cell_size, 1.0);
    assert_eq!(map.heights.min_max(), (0.0, 60.0 / 256.0 * 36.0));
    assert_eq!(map.warnings.len(), 2, "{:?}", map.warnings);
    assert!(map.warnings[1].contains("--min-height") && map.warnings[1].contains("png.json"), "{:?}", map.warnings);

    fs::write(folder.path().join("png.json"), r#"{"cell_size_m": 4, "min_m": -10, "max_m": 20}"#).expect("writable");
    let map = read(png, &Options { max_m: Some(40.0), ..Options::default() }).expect("it is good");
    assert_eq!((map.cell_size, map.heights.min_max(), map.warnings.len()), (4.0, (-10.0, 40.0), 0));
    let map = read(png, &Options { cell_size: Some(7.0), ..Options::default() }).expect("it is good");
    assert_eq!((map.cell_size, map.heights.min_max()), (7.0, (-10.0, 20.0)));
    let map = read(png, &Options { min_m: Some(20.0), ..Options::default() }).expect("flat is good");
    assert_eq!(map.heights.min_max(), (20.0, 20.0));
    let text = message(read(png, &Options { min_m: Some(21.0), ..Options::default() }));
    assert!(text.contains("minimum height 21 m is above the maximum 20 m"), "{text}");

    let degrees = read(asc, &Options::default()).expect("it is good");
    assert!(degrees.cell_size > 80.0 && degrees.warnings[0].contains("degrees"), "{:?}", degrees.warnings);
    fs::write(folder.path().join("asc.json"), r#"{"cell_size_m": 90}"#).expect("writable");
    let stated = read(asc, &Options::default()).expect("it is good");
    assert_eq!((stated.cell_size, stated.warnings.len()), (90.0, 0));

    fs::write(folder.path().join("png.json"), r#"{"width": 1920, "height": 1080}"#).expect("writable");
    let foreign = read(png, &Options::default()).expect("it is that of another program");
    assert!(foreign.warnings.iter().any(|warning| warning.contains("is not a sidecar")), "{:?}", foreign.warnings);
    fs::write(folder.path().join("png.json"), r#"{"width": 40, "height": 36}"#).expect("writable");
    let own = read(png, &Options::default()).expect("it fits");
    assert!(!own.warnings.iter().any(|warning| warning.contains("is not a sidecar")), "{:?}", own.warnings);
    fs::write(folder.path().join("png.json"), r#"{"width": 41, "min_m": 0}"#).expect("writable");
    let text = message(read(png, &Options::default()));
    assert!(text.contains("40 × 36 cells, but") && text.contains("png.json states width 41;"), "{text}");
}

#[test]
fn resampling_keeps_extent_unless_cell_size_is_given() {
    let (folder, paths) = every_format();
    let options = Options { size: Some((80, 72)), ..Options::default() };
    let map = read(&paths[3], &options).expect("it is good");
    assert_eq!((map.heights.width(), map.heights.height(), map.cell_size), (80, 72, 1.0));
    let map = read(&paths[3], &Options { cell_size: Some(5.0), ..options.clone() }).expect("it is good");
    assert_eq!(map.cell_size, 5.0);
    // Cells stay square: the map is padded.
    let map = read(&paths[3], &Options { size: Some((64, 64)), ..options }).expect("it is good");
    assert_eq!((map.heights.width(), map.heights.height(), map.cell_size), (64, 64, 2.0 * 40.0 / 64.0));
    assert!(map.warnings[0].contains("resampled to 64 × 58 and padded to 64 × 64"), "{:?}", map.warnings);
    assert_eq!(map.nodata, Some(Grid::from_fn(64, 64, |_, y| f32::from(y >= 58))));
    assert!((0..64).all(|x| map.heights.at(x, 63) == map.heights.at(x, 57)));

    fs::remove_file(folder.path().join("r32.json")).expect("it was there");
    let map =
        read(&paths[3], &Options { size: Some((40, 36)), ..Options::default() }).expect("the size is that of the file");
    assert_eq!(map.heights, hills(40, 36));
}

#[test]
fn out_of_range_sizes_are_padded_or_resampled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("map.png");
    write_png16(&path, &hills(16, 48), (0.0, 200.0), &JobProgress::default()).expect("it is writable");
    let map = read(&path, &Options::default()).expect("it is padded");
    assert_eq!((map.heights.width(), map.heights.height(), map.cell_size), (32, 48, 1.0));
    assert!(map.warnings[0].contains("16 × 48 cells are padded to 32 × 48"), "{:?}", map.warnings);
    assert_eq!(map.nodata, Some(Grid::from_fn(32, 48, |x, _| f32::from(x >= 16))));
    write_png16(&path, &hills(5000, 40), (0.0, 200.0), &JobProgress::default()).expect("it is writable");
    let map = read(&path, &Options::default()).expect("it is resampled");
    assert_eq!((map.heights.width(), map.heights.height()), (4096, 33));
    assert!(map.warnings[0].contains("5000 × 40 cells are resampled to 4096 × 33"), "{:?}", map.warnings);
    let map = read(&path, &Options { size: Some((4096, 33)), ..Options::default() }).expect("it fits now");
    assert_eq!(map.heights.width(), 4096);
    let text = message(read(&path, &Options { size: Some((31, 64)), ..Options::default() }));
    assert!(text.contains("each side of --size ranges from 32 to 4096"), "{text}");
}

#[test]
fn unreadable_heightmap_is_rejected_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("it is writable");
        message(read(&path, &Options::default()))
    };
    assert!(message(read(&folder.path().join("gone.png"), &Options::default())).contains("file not found"));
    fs::create_dir(folder.path().join("dir.exr")).expect("it is writable");
    assert!(message(read(&folder.path().join("dir.exr"), &Options::default())).contains("this is a folder"));
    assert!(at("map.gif", b"GIF").contains("unknown file extension \"gif\""));
    assert!(at("map.bil", b"12").contains("its header map.hdr is missing"));
    assert!(at("map.hgt", b"12345").contains("5 bytes are not a tile"));
    for name in ["map.npy", "map.dem", "map.bmp", "map.tga", "map.jpg", "map.webp", "map.pgm", "map.grd"] {
        at(name, b"x");
    }
    for extension in ["png", "exr", "tif", "asc"] {
        at(&format!("text.{extension}"), b"This is no heightmap, whatever its name says.");
        at(&format!("empty.{extension}"), b"");
    }
    assert!(at("empty.r16", b"").contains("0 × 0 cells"));
    assert!(at("odd.r32", b"12345").contains("5 bytes are not a square of 4-byte cells"));
    assert!(at("nan.r32", &f32::NAN.to_le_bytes().repeat(32 * 32)).contains("all 1024 cells are NODATA (NaN)"));
    let bad_option = Options { cell_size: Some(f32::NAN), ..Options::default() };
    assert!(message(read(&sample("jacksboro.png"), &bad_option)).contains("--cell-size"));
}

#[test]
fn layer_maps_are_resampled_and_scaled_to_range() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rain.png");
    let ramp = Grid::from_fn(8, 8, |x, _| x as f32);
    write_png16(&path, &ramp, (0.0, 7.0), &JobProgress::default()).expect("it is writable");
    let (layer, warnings) = read_layer(&path, (40, 36), Layer::Water).expect("it is good");
    assert_eq!((layer.width(), layer.height(), layer.min_max(), warnings.len()), (40, 36, (0.0, 10.0), 0));
    fs::write(folder.path().join("rain.json"), r#"{"min_m": 1, "max_m": 3}"#).expect("it is writable");
    let (layer, _) = read_layer(&path, (40, 36), Layer::Rain).expect("it is good");
    assert_eq!(layer.min_max(), (1.0, 3.0));
    let path = folder.path().join("sand.exr");
    write_exr(&path, &ramp, &JobProgress::default()).expect("it is writable");
    let (layer, _) = read_layer(&path, (8, 8), Layer::Sand).expect("it is good");
    assert_eq!(layer, ramp);
}

#[test]
fn streaming_resampling_matches_resampling_whole_map() {
    let (folder, mut paths) = every_format();
    paths.extend(["interlaced.png", "tiled.tif"].map(sample));
    // With a NODATA gap, which is filled from its surroundings.
    let text = fs::read_to_string(&paths[4]).expect("it was just written");
    let mut words: Vec<&str> = text.split_whitespace().collect();
    (100..130).for_each(|place| words[place] = "-9999");
    let holes = folder.path().join("holes.asc");
    fs::write(&holes, words.join(" ")).expect("it is writable");
    paths.push(holes);
    for path in paths {
        let load = |size| {
            let sidecar = Sidecar::of(&path).expect("it is good");
            load(&path, &ReadConstraints { sidecar, ..ReadConstraints::sized(size) })
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let whole = load(None);
        for (width, height) in [(80, 72), (30, 27), (10, 9), (60, 54)] {
            let read = load(Some((width, height)));
            assert_eq!(read.size, (40, 36), "{}", path.display());
            let wanted = whole.cells.resample(width, height);
            let same = read.cells.iter().zip(wanted.iter()).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0));
            assert!(same, "{} as {width} × {height}", path.display());
        }
    }
}

#[test]
fn reading_reports_progress_and_can_be_cancelled() {
    let (_folder, paths) = every_format();
    for path in paths {
        let progress = JobProgress::default();
        progress.observe(|| read(&path, &Options::default())).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(progress.share(), 1.0, "{}", path.display());
        progress.cancel();
        let error = progress.observe(|| read(&path, &Options::default())).expect_err("it is cancelled").to_string();
        assert!(error.contains("reading was cancelled"), "{error}");
        assert!(read(&path, &Options::default()).is_ok(), "nobody observes this one");
    }
}

#[test]
fn nodata_mask_is_resampled_with_heights() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (asc, tif) = (folder.path().join("map.asc"), folder.path().join("map.tif"));
    let map = hills(64, 48);
    // The left quarter has no data.
    let nodata = Grid::from_fn(64, 48, |x, _| f32::from(x < 16));
    let place = RasterMetadata { nodata: Some(&nodata), ..RasterMetadata::local(30.0) };
    write_asc(&asc, &map, place, &JobProgress::default()).expect("it is writable");
    write_tiff(&tif, &map, place).expect("it is writable");
    for path in [asc, tif] {
        let read = |size| {
            let options = Options { size, ..Options::default() };
            read(&path, &options).unwrap_or_else(|error| panic!("{error}"))
        };
        let whole = read(None);
        assert!(whole.warnings[0].contains("768 of 3072 cells are NODATA (-9999)"), "{:?}", whole.warnings);
        assert!(whole.heights.iter().zip(map.iter()).zip(nodata.iter()).all(|((a, b), none)| a == b || *none == 1.0));
        assert_eq!(whole.nodata, Some(nodata.clone()));
        for (width, height) in [(32, 24), (128, 96), (40, 30)] {
            let (width, height) = (width, height.max(32));
            let wanted = Grid::from_fn(width, height, |x, y| f32::from(x < width / 4 || y >= width * 3 / 4));
            let other = read(Some((width, height)));
            assert_eq!(other.nodata, Some(wanted), "{width} × {height}");
            let resampled = whole.heights.resample(width, width * 3 / 4);
            assert_eq!(other.heights[..resampled.len()], resampled[..]);
        }
    }
    let (_folder, paths) = every_format();
    assert!(paths.iter().all(|path| read(path, &Options::default()).is_ok_and(|map| map.nodata.is_none())));
}

/// A file written by GDAL: 16-bit integers in compressed tiles, in degrees, with a NODATA gap.
#[test]
fn tiled_integer_tiff_keeps_georeference_and_nodata() {
    let map = read(&sample("tiled.tif"), &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let hole = Grid::from_fn(40, 36, |x, y| f32::from((30..38).contains(&x) && (5..9).contains(&y)));
    let wanted = Grid::from_fn(40, 36, |x, y| ((x * 97 + y * 131) % 3000) as f32 - 500.0);
    assert!(map.heights.iter().zip(wanted.iter()).zip(hole.iter()).all(|((a, b), hole)| a == b || *hole == 1.0));
    assert_eq!(map.nodata, Some(hole));
    let geo = map.geo.expect("it knows its place");
    assert_eq!((geo.west, geo.north, geo.crs.name().as_deref()), (7.5, 46.5, Some("EPSG:4326")));
    assert!((geo.width - 0.04).abs() < 1e-12 && (geo.height - 0.036).abs() < 1e-12);
    assert!(map.warnings[1].contains("in degrees: at latitude 46.48°"), "{:?}", map.warnings);
    let wide = 111.195_f32 * 46.482_f32.to_radians().cos();
    assert!((map.cell_size - (wide * 111.195).sqrt()).abs() < 0.01, "{}", map.cell_size);
}

#[test]
fn interlaced_png_rows_are_in_order() {
    let read =
        load(&sample("interlaced.png"), &ReadConstraints::ranged(65535.0)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.cells, Grid::from_fn(40, 36, |x, y| ((x * 977 + y * 1310) % 65536) as f32));
}

#[test]
fn out_of_range_values_are_rejected_by_every_reader() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let with = |value: f32| {
        let mut map = hills(40, 36);
        map[83] = value;
        map
    };
    let asc = |header: &str, value: &str| {
        let cells = format!("{}{value}{}", "1 ".repeat(83), " 1".repeat(1440 - 84));
        fs::write(at("map.asc"), format!("ncols 40 nrows 36 {header} {cells}")).expect("it is writable");
    };
    let place = "the value in column 3, row 2 (counted from 0) is";
    for value in [3.4e37_f32, -1e30] {
        write_r32(&at("map.r32"), &with(value), &JobProgress::default()).expect("it is writable");
        asc("cellsize 1", &format!("{value:e}"));
        for name in ["map.r32", "map.asc"] {
            let size = Some((40, 36)).filter(|_| name == "map.r32");
            let text = message(read(&at(name), &Options { size, ..Options::default() }));
            assert!(text.contains(place) && text.contains("a height must be between"), "{text}");
        }
    }
    for cell_size in ["1e39", "1e-46", "-3", "nan"] {
        asc(&format!("cellsize {cell_size}"), "1");
        let text = message(read(&at("map.asc"), &Options::default()));
        assert!(text.contains("cellsize") || text.contains("cell size"), "{text}");
    }
    asc("xllcorner 1e300 yllcorner 3 cellsize 1", "1");
    assert!(message(read(&at("map.asc"), &Options::default())).contains("the map's western edge on Earth is 1e300"));
    for options in [
        Options { cell_size: Some(1e30), ..Options::default() },
        Options { cell_size: Some(1e-30), ..Options::default() },
        Options { min_m: Some(-3.4e38), ..Options::default() },
        Options { max_m: Some(3.4e38), ..Options::default() },
    ] {
        let text = message(read(&sample("jacksboro.png"), &options));
        assert!(text.contains("jacksboro.png: --") && text.contains("must be between"), "{text}");
    }
    for (layer, value) in [(Layer::Sand, 3.4e37), (Layer::Softness, 2e30), (Layer::Rain, 2e30), (Layer::Water, -1.0)] {
        write_r32(&at("map.r32"), &with(value), &JobProgress::default()).expect("it is writable");
        let text = read_layer(&at("map.r32"), (40, 36), layer).expect_err("it cannot be carried").to_string();
        assert!(text.contains("must be between"), "{text}");
    }
}

/// Damages each format a few hundred times, deterministically; the result is a map or an error, never a panic.
#[test]
fn malformed_files_never_panic() {
    let (folder, paths) = every_format();
    // SplitMix64, for the same cases on every machine.
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    };
    for path in paths {
        let sound = fs::read(&path).expect("it was just written");
        let extension = path.extension().expect("every format has one").to_string_lossy().into_owned();
        let damaged = folder.path().join(format!("damaged.{extension}"));
        let mut refused = 0;
        for case in 0..400 {
            let mut bytes = sound.clone();
            // A wrong byte does most harm in the header.
            let reach = if case % 2 == 0 { bytes.len().min(512) } else { bytes.len() };
            for _ in 0..1 + case % 3 {
                let place = random(reach);
                bytes[place] = random(256) as u8;
            }
            if case % 5 == 0 {
                bytes.truncate(random(sound.len()));
            }
            fs::write(&damaged, bytes).expect("it is writable");
            if let Err(error) = read(&damaged, &Options::default()) {
                assert!(error.to_string().contains(&format!("damaged.{extension}")), "{error}");
                refused += 1;
            }
        }
        assert!(refused >= 80, "{extension}: at least truncated files must be rejected, but only {refused} were");
    }
}
