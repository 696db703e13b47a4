//! Heightmaps that GDAL, tifffile, OpenImageIO and Pillow write are read as those programs mean them.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use thalweg_scene::{
    io::{JobProgress, RasterMetadata, heightmap, write_asc, write_tiff},
    model::origin::{Encoding, Heightmap, Options},
};

#[test]
fn third_party_files_are_read_correctly() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats.py");
    let has_writers = |python: &&str| {
        let found = Command::new(python).args(["-c", "import numpy, OpenImageIO, rasterio, tifffile, PIL"]).output();
        found.is_ok_and(|found| found.status.success())
    };
    // The system's Python comes second: another one may be first in the path.
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_writers) else {
        let missing = "python3 has not all of numpy, OpenImageIO, rasterio, tifffile and PIL";
        assert!(std::env::var_os("THALWEG_REQUIRE_READERS").is_none(), "{missing}");
        println!("SKIPPED: {missing}");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let written = Command::new(python).arg(script).arg(folder.path()).output().expect("it runs");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let index = fs::read_to_string(folder.path().join("index.json")).expect("it was written");
    let cases: Vec<Value> = serde_json::from_str(&index).expect("it is JSON");
    assert!(cases.len() > 150, "{} cases", cases.len());
    let failures: Vec<String> = cases.iter().filter_map(|case| judged(folder.path(), case).err()).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// Reads a file and compares it with what is expected.
fn judged(folder: &Path, case: &Value) -> Result<(), String> {
    let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let (file, stem) = (text("file"), text("stem"));
    let fails = |why: String| Err(format!("{file}: {why}"));
    let mut options = Options::default();
    for option in case["options"].as_array().into_iter().flatten() {
        match option.as_str().and_then(|option| option.split_once('=')) {
            Some(("min", value)) => options.min_m = value.parse().ok(),
            Some(("max", value)) => options.max_m = value.parse().ok(),
            Some(("channel", value)) => options.channel = Some(value.to_owned()),
            Some(("encoding", "terrarium")) => options.encoding = Some(Encoding::Terrarium),
            Some(("encoding", "mapbox")) => options.encoding = Some(Encoding::Mapbox),
            other => panic!("{other:?}"),
        }
    }
    let map = heightmap::read(&folder.join(&file), &options).map_err(|error| error.to_string())?;
    let size = (map.heights.width() as u64, map.heights.height() as u64);
    if [Some(size.0), Some(size.1)] != [case["size"][0].as_u64(), case["size"][1].as_u64()] {
        return fails(format!("{size:?} cells"));
    }
    let wanted = fs::read(folder.join(format!("{stem}.want"))).expect("it was written");
    let wanted = wanted.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    let void = fs::read(folder.join(format!("{stem}.void"))).expect("it was written");
    let near = case["near"].as_f64().unwrap_or(1e-3);
    for (index, (wanted, void)) in wanted.zip(void).enumerate() {
        let is_void = map.nodata.as_ref().is_some_and(|mask| mask[index] > 0.0);
        let found = f64::from(map.heights[index]);
        if is_void != (void > 0) || void == 0 && (found - wanted).abs() > near + 1e-6 * wanted.abs() {
            return fails(format!(
                "cell {index} is {found}, void: {is_void}; expected {wanted}, {void}; {:?}",
                map.warnings
            ));
        }
    }
    if let Some(cell) = case["cell_size"].as_f64().filter(|cell| (f64::from(map.cell_size) / cell - 1.0).abs() > 2e-3) {
        return fails(format!("cells of {} m, expected {cell}", map.cell_size));
    }
    placed(&file, &map, case)?;
    // What is exported is at the same place.
    let place = RasterMetadata { cell_size: map.cell_size, geo: map.geo.as_ref(), nodata: map.nodata.as_ref() };
    let exported = folder.join("exported");
    fs::create_dir_all(&exported).expect("it is writable");
    let (tif, asc) = (exported.join(format!("{stem}.tif")), exported.join(format!("{stem}.asc")));
    write_tiff(&tif, &map.heights, place).expect("it is writable");
    write_asc(&asc, &map.heights, place, &JobProgress::default()).expect("it is writable");
    for path in [tif, asc] {
        let again = heightmap::read(&path, &Options::default()).map_err(|error| error.to_string())?;
        placed(&format!("{file} exported to {}", path.display()), &again, case)?;
    }
    Ok(())
}

fn placed(name: &str, map: &Heightmap, case: &Value) -> Result<(), String> {
    let geo = map.geo.as_ref();
    if let Some(code) = case["epsg"].as_u64() {
        let found = geo.and_then(|geo| geo.crs.name());
        if found != Some(format!("EPSG:{code}")) {
            return Err(format!("{name}: in {found:?} rather than EPSG:{code}"));
        }
    }
    let Some(wanted) = case["transform"].as_array() else { return Ok(()) };
    let Some(geo) = geo else { return Err(format!("{name}: no place")) };
    let (wide, tall) = (geo.width / map.heights.width() as f64, geo.height / map.heights.height() as f64);
    let found = [wide, 0.0, geo.west, 0.0, -tall, geo.north];
    let same = |(found, wanted): (&f64, &Value)| {
        (found - wanted.as_f64().unwrap_or(f64::NAN)).abs() <= 1e-9 * found.abs().max(1.0)
    };
    if found.iter().zip(wanted).all(same) { Ok(()) } else { Err(format!("{name}: {found:?} rather than {wanted:?}")) }
}
