//! The command line as a script sees it: exit codes, files, one sentence for what is wrong.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

fn thalweg(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(arguments).current_dir(folder).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.output().expect("the program starts")
}

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("it is a folder")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Exit code 2 and one sentence that has these words; nothing is written.
fn refuses(arguments: &[&str], words: &[&str]) {
    let folder = folder();
    let out = folder.path().join("out");
    let mut all = arguments.to_vec();
    let out_text = out.to_string_lossy().into_owned();
    if arguments.first() == Some(&"build") {
        all.extend(["--out", &out_text]);
    }
    let output = thalweg(&all, folder.path());
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {sentence}");
    let last = sentence.lines().last().unwrap_or_default();
    for word in words {
        assert!(last.contains(word), "{arguments:?}: \"{last}\" does not say \"{word}\"");
    }
    assert!(!out.exists() || names(&out).is_empty(), "{arguments:?} wrote {:?}", names(&out));
}

#[test]
fn a_real_map_is_eroded_and_its_results_come_back() {
    let folder = folder();
    let run = |out: &str, threads: &str| {
        let map = data("jacksboro.png");
        let arguments =
            ["build", &map, "--enable", "droplets", "--ticks", "3", "--out", out, "--json", "--threads", threads];
        let output = thalweg(&arguments, folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("the report is JSON")
    };
    let (one, two) = (run("one", "1"), run("two", "2"));
    assert_eq!(
        names(&folder.path().join("one")),
        ["height.json", "height.png", "height.r32", "hillshade.png", "report.json"]
    );
    assert_eq!(one["layers"], two["layers"], "the number of threads changed the result");
    assert_eq!((&one["size"][0], &one["size"][1], &one["cell_size_m"]), (&403.into(), &344.into(), &90.0.into()));
    let solid = &one["ledger"]["solid"];
    let (moved, residual) = (solid["moved"].as_f64().expect("a number"), solid["residual"].as_f64().expect("a number"));
    assert!(moved > 0.0 && residual.abs() <= 1e-5 * moved, "{residual} of {moved}");
    let guarded = &one["processes"]["droplets"]["guarded"];
    assert!(guarded["digging"].as_u64() > Some(0) && guarded["circling"] == 0, "guards are counted by name: {guarded}");
    // What was written is input again.
    let again = folder.path().join("one/height.r32").to_string_lossy().into_owned();
    let output = thalweg(&["build", &again, "--ticks", "0", "--out", "again", "--save", "height.r32"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = |name: &str| fs::read(folder.path().join(name)).expect("it was written");
    assert!(bytes("one/height.r32") == bytes("again/height.r32"), "an untouched map did not come back bit by bit");
}

#[test]
fn files_of_other_names_are_left_alone() {
    let folder = folder();
    fs::create_dir(folder.path().join("out")).expect("a new folder");
    fs::write(folder.path().join("out/mine.txt"), "mine").expect("writable");
    let output = thalweg(&["build", "round-hill", "--size", "32", "--ticks", "1", "--out", "out"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(folder.path().join("out/mine.txt")).expect("still there"), "mine");
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    refuses(&["build", "alpine-valley", "--set", "droplets.frictoin=0.1"], &["droplets.frictoin", "droplets.friction"]);
    refuses(&["build", "alpine-valley", "--set", "droplets.friction=7"], &["droplets.friction", "0.001", "0.5"]);
    refuses(&["build", "alpine-valley", "--set", "droplets.friction"], &["group.param=VALUE"]);
    refuses(&["build", "alpine-valley", "--enable", "droplet"], &["droplets"]);
    refuses(&["build", "alpine-valley", "--save", "heigth"], &["heigth", "height"]);
    refuses(&["build", "alpine-valley", "--size", "5000"], &["32 to 4096"]);
    refuses(&["build", "alpine-vally"], &["alpine-vally", "alpine-valley"]);
    refuses(&["build", "missing.png"], &["missing.png", "no such file"]);
    refuses(&["shot", "round-hill", "--ticks", "0", "--out", "x.png", "--camera", "nowhere"], &["nowhere", "default"]);
    refuses(&["shot", "round-hill", "--ticks", "0", "--out", "x.jpg"], &["x.jpg", ".png"]);
    refuses(&["bench", "--size", "3"], &["--size"]);
    refuses(&["frobnicate", "--now"], &["--now"]);
}

#[test]
fn bad_maps_are_refused_in_one_sentence() {
    let folder = folder();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("writable");
        path.to_string_lossy().into_owned()
    };
    let picture = fs::read(data("jacksboro.png")).expect("test data");
    let truncated = put("truncated.png", &picture[..picture.len() / 2]);
    refuses(&["build", &truncated], &["truncated.png"]);
    refuses(&["build", &put("text.png", b"this is no picture")], &["text.png"]);
    refuses(&["build", &put("empty.r32", b"")], &["empty.r32"]);
    let nans: Vec<u8> = (0..64 * 64).flat_map(|_| f32::NAN.to_le_bytes()).collect();
    refuses(&["build", &put("nan.r32", &nans)], &["nan.r32"]);
    put("wrong.json", br#"{"width": 10, "height": 10}"#);
    refuses(&["build", &put("wrong.png", &picture)], &["wrong"]);
    let header = "ncols 40\nnrows 40\nxllcorner 0\nyllcorner 0\ncellsize 30\nNODATA_value -9999\n";
    let nothing = format!("{header}{}", "-9999 ".repeat(1600));
    refuses(&["build", &put("nothing.asc", nothing.as_bytes())], &["nothing.asc"]);
    refuses(&["build", &put("scene.ron", b"(title: 1)")], &["scene.ron"]);
    refuses(&["build", &folder.path().to_string_lossy()], &[]);
}

#[test]
fn an_output_folder_that_is_a_file_is_refused_and_kept() {
    let folder = folder();
    fs::write(folder.path().join("out"), "a file").expect("writable");
    let output = thalweg(&["build", "round-hill", "--size", "32", "--ticks", "1", "--out", "out"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(folder.path().join("out")).expect("still there"), "a file");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_run_and_leaves_no_file() {
    let folder = folder();
    let child = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["build", "round-hill", "--enable", "droplets", "--ticks", "1000000", "--out", "out"])
        .current_dir(folder.path())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(told.success(), "it was no longer running");
    let output = child.wait_with_output().expect("it ends");
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{sentence}");
    assert!(sentence.contains("Ctrl+C"), "{sentence}");
    let out = folder.path().join("out");
    assert!(!out.exists() || names(&out).is_empty(), "it wrote {:?}", names(&out));
}

#[test]
fn lists_are_complete_and_machine_readable() {
    let folder = folder();
    for (arguments, key) in [(["params", "--json"], "key"), (["scenes", "--json"], "name")] {
        let output = thalweg(&arguments, folder.path());
        let rows: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let keys: Vec<&str> = rows.as_array().expect("a list").iter().filter_map(|row| row[key].as_str()).collect();
        assert!(keys.contains(&"droplets.per_tick") || keys.contains(&"alpine-valley"), "{keys:?}");
    }
}

/// The arrows of the layout, read from the imports: nothing uses what stands above it.
#[test]
fn modules_are_used_in_one_direction_only() {
    let allowed: [(&str, &[&str]); 12] = [
        ("params", &[]),
        ("look", &["params"]),
        ("sim", &["params", "look"]),
        ("io", &["params", "look", "sim"]),
        ("headless", &["params", "look", "sim", "io"]),
        ("settings", &["params", "io"]),
        ("log", &["settings"]),
        ("runtime", &["params", "look", "sim", "io", "settings"]),
        ("view", &["params", "look", "sim", "io", "settings", "runtime"]),
        ("ui", &["params", "look", "sim", "io", "settings", "runtime"]),
        ("tools", &["params", "look", "sim", "io", "settings", "runtime"]),
        ("app", &["params", "look", "sim", "io", "settings", "log", "runtime", "view", "ui", "tools"]),
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for (module, below) in allowed {
        for file in files_of(&source, module) {
            seen += 1;
            let text = fs::read_to_string(&file).expect("source is text");
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for (other, _) in allowed {
                    let uses = line.contains(&format!("crate::{other}"))
                        || line.trim_start().starts_with(&format!("{other}::"));
                    let own_child = text.contains(&format!("mod {other};"));
                    assert!(
                        !uses || other == module || below.contains(&other) || own_child,
                        "{} uses {other}: {line}",
                        file.display()
                    );
                }
                let engine = line.contains("bevy::") || line.contains("bevy_egui");
                assert!(
                    !engine || ["log", "runtime", "view", "ui", "tools", "app"].contains(&module),
                    "{} uses Bevy's engine",
                    file.display()
                );
            }
        }
    }
    assert!(seen > 20, "only {seen} files were found");
}

fn files_of(source: &Path, module: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![source.join(module)];
    let file = source.join(format!("{module}.rs"));
    if file.exists() {
        found.push(file);
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
                found.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn runs_side_by_side_write_their_own_files_and_one_report() {
    let folder = folder();
    let arguments = ["build", "ten-seeds", "--ticks", "1", "--size", "32", "--seed", "5", "--save", "height.r32"];
    let output = thalweg(&[&arguments[..], &["--out", "out"]].concat(), folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let out = folder.path().join("out");
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).expect("written")).expect("JSON");
    let tiles = report["tiles"].as_array().expect("a list");
    let seeds: Vec<u64> = tiles.iter().filter_map(|tile| tile["seed"].as_u64()).collect();
    assert_eq!(seeds, (5..15).collect::<Vec<_>>());
    let mut files: Vec<Vec<u8>> =
        (1..=10).map(|run| fs::read(out.join(format!("{run}-height.r32"))).expect("written")).collect();
    files.sort();
    files.dedup();
    assert_eq!(files.len(), 10, "two runs are the same");
}

#[test]
fn the_built_in_real_map_is_the_file_that_it_was_made_from() {
    let folder = folder();
    let map = data("jacksboro.png");
    for (out, input) in [("file", &*map), ("scene", "jacksboro-fault")] {
        let output = thalweg(&["build", input, "--ticks", "0", "--save", "height.r32", "--out", out], folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let read = |out: &str| fs::read(folder.path().join(out).join("height.r32")).expect("written");
    assert!(read("file") == read("scene"));
}

/// Pillow, tifffile, OpenImageIO and rasterio read what is written, and find the same heights at the same place on Earth.
#[test]
fn programs_of_others_read_the_results() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers.py");
    let has_readers = |python: &&str| {
        let found = Command::new(python).args(["-c", "import numpy, OpenImageIO, rasterio, tifffile, PIL"]).output();
        found.is_ok_and(|found| found.status.success())
    };
    // The system's own comes second: another may stand before it.
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_readers) else {
        assert!(
            std::env::var_os("THALWEG_REQUIRE_READERS").is_none(),
            "python3 lacks numpy, OpenImageIO, rasterio, tifffile or PIL"
        );
        eprintln!("SKIPPED: python3 lacks numpy, OpenImageIO, rasterio, tifffile or PIL");
        return;
    };
    let folder = folder();
    let (west, north, cell) = (-84.25, 36.5, 1.0 / 1200.0);
    let header = format!("ncols 48\nnrows 40\nxllcorner {west}\nyllcorner {}\ncellsize {cell}\n", north - 40.0 * cell);
    let row =
        |y: usize| (0..48).map(|x| format!("{} ", 300 + (x * 7 + y * 13) % 90 + x * y % 11)).collect::<String>() + "\n";
    let text = header + &(0..40).map(row).collect::<String>();
    fs::write(folder.path().join("land.asc"), text).expect("it is writable");
    let save = "height.png,height.png8,height.r16,height.r32,height.tif,height.exr,height.asc,normal,color,slope.r32";
    let built = thalweg(&["build", "land.asc", "--ticks", "3", "--out", "out", "--save", save], folder.path());
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let numbers = [west, north, cell].map(|number| number.to_string());
    let read = Command::new(python).arg(script).arg(folder.path().join("out")).args(numbers).output();
    let read = read.expect("python3 was there a moment ago");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}
