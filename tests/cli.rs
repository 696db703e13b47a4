//! The command line as used by scripts: exit codes, files, and one-sentence errors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use thalweg::app::graphics;
use thalweg_scene::{
    io::{
        JobProgress,
        film::VideoWriter,
        project::{self, Project},
        scene::{BUILT_IN, open_first},
    },
    look::{Look, WaterLook},
    model::{film::CameraKeyframe, origin::Options},
};
use thalweg_sim::{
    generate::TerrainParams,
    hydrology::network::RiverParams,
    params::{Group, Parameter, collect_parameters},
    process::catalogue,
    simd::vector_unit::VectorUnit,
    simulation::grow::RangeParams,
};

use self::skipped::skipped;

mod skipped;

fn thalweg(arguments: &[&str], folder: &Path) -> Output {
    thalweg_with(&[], arguments, folder)
}

/// Runs the program with environment variables.
fn thalweg_with(variables: &[(&str, &str)], arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(arguments).current_dir(folder).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.envs(variables.iter().copied()).output().expect("the program starts")
}

/// Runs the program, which must succeed.
fn succeeds(variables: &[(&str, &str)], arguments: &[&str], folder: &Path) -> Output {
    let output = thalweg_with(variables, arguments, folder);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Parses the printed report.
fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// Writes a file and returns its path.
fn put(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("writable");
    path.to_string_lossy().into_owned()
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

/// Checks for exit code 2, one sentence with these words, and no output files.
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
fn real_map_is_eroded_and_outputs_read_back() {
    let folder = folder();
    let run = |out: &str, threads: &str| {
        let map = data("jacksboro.png");
        let arguments =
            ["build", &map, "--enable", "droplets", "--ticks", "3", "--out", out, "--json", "--threads", threads];
        report(&succeeds(&[], &arguments, folder.path()))
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
    assert!(guarded["erosion"].as_u64() > Some(0) && guarded["circling"] == 0, "guards are counted by name: {guarded}");
    // Outputs are valid inputs.
    let again = folder.path().join("one/height.r32").to_string_lossy().into_owned();
    succeeds(&[], &["build", &again, "--ticks", "0", "--out", "again", "--save", "height.r32"], folder.path());
    let bytes = |name: &str| fs::read(folder.path().join(name)).expect("it was written");
    assert!(bytes("one/height.r32") == bytes("again/height.r32"), "an untouched map did not come back bit by bit");
}

/// Returns every process in all its modes and laws: what to enable, and what to set.
fn variants() -> Vec<(&'static str, Vec<String>)> {
    let mut variants = Vec::new();
    for process in catalogue() {
        let key = process.info().key;
        let all = collect_parameters((key, process.params()));
        let choices = |name: &str| -> Vec<Option<String>> {
            match all.iter().find(|parameter| parameter.name == name) {
                Some(found) => found.choices.iter().map(|choice| Some(format!("{}={choice}", found.path))).collect(),
                None => vec![None],
            }
        };
        for mode in choices("mode") {
            for law in choices("law") {
                variants.push((key, mode.iter().chain(&law).cloned().collect()));
            }
        }
    }
    variants.push(("droplets,water,thermal,wind", Vec::new()));
    variants
}

#[test]
fn graphics_card_agrees_with_the_processor() {
    refuses(&["build", "wadi", "--size", "64", "--device", "gpu"], &["--device gpu: ", "only runs on the processor"]);
    refuses(&["build", "wadi", "--device", "tpu"], &["use auto, cpu or gpu"]);
    if thalweg_gpu::Device::open().is_err() {
        return skipped("nothing ran on a graphics card, because there is no driver", "THALWEG_REQUIRE_GPU");
    }
    let folder = folder();
    let run = |out: &str, device: &str| {
        let arguments = ["build", "river-valley", "--size", "64", "--ticks", "40", "--device", device, "--out", out];
        report(&succeeds(&[], &[&arguments[..], &["--json"]].concat(), folder.path()))
    };
    let [processor, card, again] =
        [("cpu", "cpu"), ("gpu", "gpu"), ("again", "gpu")].map(|(out, device)| run(out, device));
    assert_eq!(processor["device"], "processor");
    assert_ne!(card["device"], "processor");
    assert_eq!(card["layers"], again["layers"]);
    for report in [&processor, &card] {
        assert_eq!(report["ticks"], 40);
    }
    let moved = |report: &Value| report["ledger"]["solid"]["processes"]["water"]["eroded"].as_f64();
    let [Some(one), Some(other)] = [moved(&processor), moved(&card)] else { panic!("{:#}", processor["ledger"]) };
    assert!((one / other - 1.0).abs() < 1e-4, "{one} and {other}");
}

#[test]
fn every_process_is_bit_identical_across_vector_units() {
    let folder = folder();
    let names: Vec<&str> =
        VectorUnit::ALL.into_iter().filter(|(unit, _)| unit.is_supported()).map(|(_, name)| name).collect();
    if names.len() == 1 {
        skipped("this machine has no vector unit to compare", "THALWEG_REQUIRE_VECTORS");
    }
    for (enabled, settings) in variants() {
        // Row lengths that are no multiple of any vector width, on terrain too steep to be stable.
        let mut arguments = vec!["build", "alpine-valley", "--size", "75x51", "--ticks", "4", "--json", "--out", "out"];
        arguments.extend(["--save", "height.r32", "--set", "terrain.sand=2", "--set", "terrain.relief=3000"]);
        arguments.extend(["--enable", enabled]);
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting.as_str()]));
        let results = names.iter().map(|name| {
            let mut report = report(&succeeds(&[("THALWEG_SIMD", name)], &arguments, folder.path()));
            [report["layers"].take(), report["ledger"].take()]
        });
        let results: Vec<_> = results.collect();
        let moved = &results[0][1]["solid"]["moved"];
        assert!(moved.as_f64().is_some_and(|moved| moved > 0.0), "{enabled} {settings:?} moved {moved}");
        for (result, name) in results.iter().zip(&names) {
            assert_eq!(*result, results[0], "{enabled} {settings:?}: {name} differs from {}", names[0]);
        }
    }
}

#[test]
fn unavailable_vector_unit_is_rejected() {
    let folder = folder();
    let missing = VectorUnit::ALL.into_iter().filter(|(unit, _)| !unit.is_supported()).map(|(_, name)| name);
    for name in ["", "sse", "AVX2"].into_iter().chain(missing) {
        for arguments in [&["scenes"][..], &["build", "round-hill", "--out", "out"], &[]] {
            let output = thalweg_with(&[("THALWEG_SIMD", name)], arguments, folder.path());
            let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}: {sentence}");
            assert!(sentence.lines().count() == 1 && sentence.contains("available: scalar"), "{sentence}");
        }
    }
    assert!(names(folder.path()).is_empty(), "it wrote {:?}", names(folder.path()));
}

#[test]
fn invalid_arguments_are_rejected_in_one_sentence() {
    refuses(&["build", "alpine-valley", "--set", "droplets.frictoin=0.1"], &["droplets.frictoin", "droplets.friction"]);
    refuses(&["build", "alpine-valley", "--set", "droplets.friction=7"], &["droplets.friction", "0.001", "0.5"]);
    refuses(&["build", "alpine-valley", "--set", "droplets.friction"], &["group.param=VALUE"]);
    refuses(&["build", "alpine-valley", "--enable", "droplet"], &["droplets"]);
    refuses(&["build", "alpine-valley", "--save", "heigth"], &["heigth", "height"]);
    refuses(&["build", "alpine-valley", "--size", "5000"], &["32 to 4096"]);
    refuses(&["build", "alpine-vally"], &["alpine-vally", "alpine-valley"]);
    refuses(&["build", "missing.png"], &["missing.png", "file not found"]);
    refuses(&["shot", "round-hill", "--ticks", "0", "--out", "x.png", "--camera", "nowhere"], &["nowhere", "default"]);
    refuses(&["shot", "round-hill", "--ticks", "0", "--out", "x.jpg"], &["x.jpg", ".png or .exr"]);
    refuses(&["shot", "round-hill", "--ticks", "0", "--out", "x.exr", "--ui"], &["x.exr", "--ui"]);
    refuses(&["bench", "--size", "3"], &["--size"]);
    refuses(&["build", "round-hill", "--square", "crop"], &["--square", "--resolution unity or unreal"]);
    refuses(&["build", "round-hill", "--for", "unrael"], &["--for", "closest match: unreal"]);
    refuses(&["build", "round-hill", "--for", "unity", "--resolution", "2x"], &["--for unity", "omit --resolution"]);
    refuses(&["build", "round-hill", "--tiles", "0x4"], &["--tiles", "1 to 64 tiles"]);
    refuses(&["build", "round-hill", "--size", "64", "--tiles", "32x32"], &["--tiles", "too small"]);
    refuses(&["build", "round-hill", "--weights", "rock,mud"], &["--weights", "rock, soil, sand, snow"]);
    refuses(&["build", "round-hill", "--weights", "rock,sand"], &["--weights", "add weights to --save"]);
    refuses(&["build", "round-hill", "--levels", "2", "--save", "mesh.stl"], &["--levels", "add mesh.glb or mesh.obj"]);
    refuses(&["build", "round-hill", "--tiles", "2", "--save", "rivers,mesh.stl"], &["--tiles", "add another map"]);
    refuses(&["shot", "round-hill", "--out", "a.png", "--blur", "11"], &["--blur", "0 to 10 percent"]);
    refuses(&["shot", "round-hill", "--out", "a.png", "--transparent", "--ui"], &["--transparent", "--ui"]);
    refuses(&["film", "round-hill", "--out", "a.mp4", "--blur", "2", "--ui"], &["--blur", "--ui"]);
    refuses(&["build", "round-hill", "--square", "cut"], &["--square", "pad or crop"]);
    refuses(&["frobnicate", "--now"], &["--now"]);
    refuses(&["alpine-valley", "--bench-frames", "frames.json"], &["--bench-frames"]);
}

#[test]
fn invalid_maps_are_rejected_in_one_sentence() {
    let folder = folder();
    let put = |name: &str, bytes: &[u8]| put(&folder, name, bytes);
    let image = fs::read(data("jacksboro.png")).expect("test data");
    let truncated = put("truncated.png", &image[..image.len() / 2]);
    refuses(&["build", &truncated], &["truncated.png"]);
    refuses(&["build", &put("text.png", b"this is no picture")], &["text.png"]);
    refuses(&["build", &put("empty.r32", b"")], &["empty.r32"]);
    let nans: Vec<u8> = (0..64 * 64).flat_map(|_| f32::NAN.to_le_bytes()).collect();
    refuses(&["build", &put("nan.r32", &nans)], &["nan.r32"]);
    put("wrong.json", br#"{"width": 10, "height": 10, "min_m": 0}"#);
    refuses(&["build", &put("wrong.png", &image)], &["wrong"]);
    let header = "ncols 40\nnrows 40\nxllcorner 0\nyllcorner 0\ncellsize 30\nNODATA_value -9999\n";
    let nothing = format!("{header}{}", "-9999 ".repeat(1600));
    refuses(&["build", &put("nothing.asc", nothing.as_bytes())], &["nothing.asc"]);
    refuses(&["build", &put("scene.ron", b"(title: 1)")], &["scene.ron"]);
    refuses(&["build", &folder.path().to_string_lossy()], &[]);
}

/// Returns a minimal scene with additional fields.
fn scene(rest: &str) -> String {
    format!("(title: \"t\", about: \"\", seed: 1, ticks: 1, enabled: [], {rest})")
}

/// Small files with large demands: each is rejected before the memory is allocated, or needs little of it.
#[test]
fn oversized_inputs_fail_within_the_memory_limit() {
    let folder = folder();
    let put = |name: &str, text: &str| put(&folder, name, text);
    let tiles: String = (0..10).map(|tile| format!("(title: \"{tile}\"),")).collect();
    let large = r#"{"terrain.width": "4096", "terrain.height": "4096"}"#;
    let scene = |set: &str, rest: &str| scene(&format!("set: {set}, {rest}"));
    let bomb = put("tiles.ron", &scene(large, &format!("tiles: [{tiles}]")));
    let one = put("one.ron", &scene(large, ""));
    let small = put("small.ron", &scene("{}", ""));
    let budget = "of the 300 MB limit is free";
    refuses(&["build", &bomb, "--memory", "300M"], &["tiles.ron: needs ", budget]);
    refuses(&["build", &one, "--memory", "300M"], &["one.ron: needs ", budget]);
    refuses(&["build", &small, "--size", "4096", "--memory", "300M"], &["small.ron: needs ", budget]);
    let wide = ["--set", "terrain.width=4096", "--set", "terrain.height=4096"];
    refuses(&[&["build", &small, "--memory", "300M"], &wide[..]].concat(), &[budget]);
    refuses(&["build", &small, "--memory", "300M", "--size", "512", "--resolution", "8x"], &[budget]);
    refuses(&["build", &small, "--memory", "3K"], &["--memory", "800M or 2G"]);
    // A sparse map of 2^28 zeros.
    let map = fs::File::create(folder.path().join("zeros.r32")).expect("writable");
    map.set_len(4 << 28).expect("writable");
    put("zeros.json", r#"{"width": 16384, "height": 16384, "cell_size_m": 1}"#);
    let arguments = ["build", "zeros.r32", "--size", "64", "--ticks", "0", "--memory", "60M", "--out", "out"];
    succeeds(&[], &arguments, folder.path());
}

#[cfg(target_os = "linux")]
#[test]
fn out_of_memory_is_reported_in_one_sentence() {
    let folder = folder();
    // The shell limits the address space to 800 MB, unknown to the program.
    let run = format!(
        "ulimit -v 800000; {} build round-hill --size 4096 --ticks 0 --threads 1 --memory 1T --out out",
        env!("CARGO_BIN_EXE_thalweg")
    );
    let output = Command::new("sh").args(["-c", &run]).current_dir(folder.path()).output().expect("there is a shell");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.lines().last().is_some_and(|line| line.contains("out of memory")), "{message}");
}

#[test]
fn out_of_range_values_are_rejected_in_one_sentence() {
    let words = ["--cell-size is 1e30", "must be between 0.001 and 1000000 m"];
    refuses(&["build", "round-hill", "--cell-size", "1e30"], &words);
    refuses(&["build", "round-hill", "--max-height", "1e30"], &["--max-height is 1e30", "a height must be between"]);
    refuses(&["build", "round-hill", "--sand", "3.4e38"], &["terrain.sand", "100"]);
    let folder = folder();
    let scene = |rest: &str| put(&folder, "springs.ron", scene(rest));
    let spring = |rate: &str| scene(&format!("springs: [(place: (0.5, 0.5), radius: 1.0, rate: {rate})]"));
    refuses(&["build", &spring("1e30")], &["springs.ron: the rate of a spring is 1e30; a spring rate must be between"]);
    refuses(&["build", &spring("NaN")], &["the rate of a spring is NaN"]);
    let pool = scene("pools: [(from: (0.0, 0.0), to: (1.0, 1.0), level: 3.4e38)]");
    refuses(&["build", &pool], &["the level of a pool is 3.4e38; a height must be between"]);
}

#[test]
fn output_path_that_is_a_file_is_rejected_and_kept() {
    let folder = folder();
    fs::write(folder.path().join("out"), "a file").expect("writable");
    for out in ["out", "out/deeper"] {
        let output = thalweg(&["build", "round-hill", "--size", "32", "--ticks", "1", "--out", out], folder.path());
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_to_string(folder.path().join("out")).expect("still there"), "a file");
    }
}

/// Sends Ctrl+C after some seconds. The program must exit and report it.
#[cfg(unix)]
fn interrupted(arguments: &[&str], seconds: u64, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    let piped = std::process::Stdio::piped;
    let command = command.args(arguments).current_dir(folder).stdout(piped()).stderr(piped());
    let child = command.spawn().expect("the program starts");
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(status.success(), "it was no longer running");
    let output = child.wait_with_output().expect("it ends");
    let sentence = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{sentence}");
    assert!(sentence.contains("Ctrl+C"), "{sentence}");
    output
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_files_and_ends_soak_with_report() {
    let folder = folder();
    let run = ["build", "round-hill", "--enable", "droplets", "--ticks", "1000000", "--out", "out"];
    interrupted(&run, 2, folder.path());
    let out = folder.path().join("out");
    assert!(!out.exists() || names(&out).is_empty(), "it wrote {:?}", names(&out));
    let report = report(&interrupted(&["soak", "round-hill", "--minutes", "30"], 4, folder.path()));
    assert!(report["minutes"].as_f64().is_some_and(|minutes| minutes < 2.0), "{report}");
}

#[test]
fn lists_are_complete_and_machine_readable() {
    let folder = folder();
    let rows = |list: &str, key: &str| -> BTreeMap<String, Value> {
        let output = thalweg(&[list, "--json"], folder.path());
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("it is a list in JSON");
        let count = rows.len();
        let named: BTreeMap<_, _> =
            rows.into_iter().map(|row| (row[key].as_str().expect("it has a name").to_owned(), row)).collect();
        assert_eq!(named.len(), count, "two have one name");
        named
    };
    let scenes = rows("scenes", "name");
    assert_eq!(
        scenes.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        BUILT_IN.iter().map(|(name, _)| *name).collect()
    );
    for (name, row) in &scenes {
        let texts = ["title", "about"].map(|field| row[field].as_str().unwrap_or_default());
        assert!(texts.iter().all(|text| !text.is_empty()) && row["ticks"].is_u64(), "{name}: {row}");
    }

    let (terrain, look, water) = (TerrainParams::default(), Look::default(), WaterLook::default());
    let (rivers, range) = (RiverParams::default(), RangeParams::default());
    let catalogue = catalogue();
    let mut groups: Vec<Group<'_>> =
        vec![("terrain", &terrain), ("look", &look), ("water-look", &water), ("rivers", &rivers), ("range", &range)];
    groups.extend(catalogue.iter().map(|process| (process.info().key, process.params())));
    let own: Vec<Parameter> = groups.into_iter().flat_map(collect_parameters).collect();
    let listed = rows("params", "key");
    for parameter in &own {
        let row = listed.get(&parameter.path).unwrap_or_else(|| panic!("{} is not listed", parameter.path));
        let range = matches!(parameter.value, thalweg_sim::params::Value::Number(_));
        let kind = row["kind"].as_str().unwrap_or_default();
        let fits = match &row["default"] {
            Value::Bool(_) => kind == "switch",
            Value::String(_) => kind == "choice" && !parameter.choices.is_empty(),
            Value::Array(parts) => kind == "colour" && parts.len() == 3,
            _ => kind == if parameter.whole { "whole" } else { "number" },
        };
        assert!(fits, "{row}");
        let bounds = [&row["min"], &row["max"]].map(Value::as_f64);
        let right = [parameter.knob.min, parameter.knob.max].map(|bound| Some(bound).filter(|_| range));
        assert!(!range || bounds == right, "{row}");
        assert_eq!(row["choices"].as_array().map(Vec::len), Some(parameter.choices.len()), "{row}");
        for field in ["source", "doc"] {
            assert!(row[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {row}");
        }
        assert!(row["unit"].is_string() && row["symbol"].is_string() && !row["default"].is_null(), "{row}");
    }
    for (key, kind) in [("droplets.per_tick", "whole"), ("water.rain_rate", "number"), ("terrain.generator", "choice")]
    {
        assert_eq!(listed[key]["kind"], kind, "{key}");
    }
    // The rest are mask factors that scale parameters of a process.
    for key in listed.keys().filter(|key| own.iter().all(|parameter| parameter.path != **key)) {
        let (group, name) = key.split_once('.').expect("a group and a name");
        let scaled = format!("{}.{name}", group.strip_suffix("-masked").unwrap_or_else(|| panic!("{key} is unknown")));
        assert!(own.iter().any(|parameter| parameter.path == scaled), "{key}");
    }
}

#[test]
fn examples_run_and_print_expected_output() {
    let folder = folder();
    // Built by `cargo test`.
    let place = Path::new(env!("CARGO_BIN_EXE_thalweg")).with_file_name("examples");
    let run = |name: &str, arguments: &[&str]| -> Option<String> {
        let Ok(output) = Command::new(place.join(name)).args(arguments).current_dir(folder.path()).output() else {
            skipped("the examples are not built (cargo build --release --examples)", "THALWEG_REQUIRE_EXAMPLES");
            return None;
        };
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if run("heightmap", &[]).is_some() {
        let options = Options::default();
        let map = thalweg_scene::io::heightmap::read(&folder.path().join("height.png"), &options);
        let heights = map.unwrap_or_else(|error| panic!("{error}")).heights;
        assert!(heights.width() == 128 && heights.min_max().1 - heights.min_max().0 > 100.0);
    }
    if let Some(output) = run("own_process", &[]) {
        assert!(output.contains("200 ticks: "), "{output}");
    }
    if let Some(output) = run("project", &[]) {
        assert!(output.contains("after 10 ticks") && output.contains("continue with: thalweg build"), "{output}");
    }
}

/// Returns the path of a file of the repository.
fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Reads a document of the repository.
fn document(name: &str) -> String {
    fs::read_to_string(from_root(name)).expect("it is text")
}

#[test]
fn documentation_lists_every_process_and_scene() {
    let mut table = "| key | title | what it does | laws | source |\n|---|---|---|---|---|\n".to_owned();
    for process in catalogue() {
        let info = process.info();
        let laws =
            collect_parameters((info.key, process.params())).into_iter().find(|parameter| parameter.name == "law");
        let laws: Vec<String> = laws.into_iter().flat_map(|law| law.choices).map(|law| format!("`{law}`")).collect();
        let (about, laws) = (info.about, laws.join(", "));
        table += &format!("| `{}` | {} | {about} | {laws} | {} |\n", info.key, info.title, info.reference.source);
    }
    assert!(document("docs/processes.md").contains(&table), "docs/processes.md needs this table:\n{table}");
    let gallery = document("docs/gallery.md");
    for (scene, _) in BUILT_IN {
        assert!(gallery.contains(&format!("(../assets/pictures/{scene}.png)")), "the gallery does not show {scene}");
    }
}

#[test]
fn documentation_links_resolve() {
    let mut seen = 0;
    let documents = "README.md CONTRIBUTING.md docs/window.md docs/command-line.md docs/gallery.md docs/processes.md \
                     docs/exports.md docs/films.md docs/sweeps.md docs/presenting.md docs/lessons.md";
    for name in documents.split(' ') {
        let file = from_root(name);
        for link in document(name).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let there = link.starts_with("https://") || file.with_file_name(link).exists();
            assert!(there, "{name} links to {link}");
            seen += 1;
        }
        // Source files that documents refer to.
        let words = document(name);
        let is_path = |word: &&str| word.starts_with("src/") || word.starts_with("crates/");
        for path in words.split('`').filter(|word| is_path(word) && !word.contains(['{', ' '])) {
            let there = path == "crates/sim/src/process/yours.rs" || from_root(path).exists();
            assert!(there, "{name} names {path}");
        }
    }
    assert!(seen > 30, "only {seen} links were found");
}

#[test]
fn playlist_is_saved_checked_and_validated() {
    let folder = folder();
    succeeds(&[], &["present", "round-hill", "wadi", "--save", "list.ron"], folder.path());
    let listed = succeeds(&[], &["present", "list.ron", "--check"], folder.path());
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(text.contains("Wadi") && text.contains("water.rain_rate, wind.strength"), "{text}");
    let list = |name: &str, scenes: &str| put(&folder, name, format!("(title: \"a\", scenes: [{scenes}])"));
    for (input, expected) in [
        (list("camera.ron", "(open: \"wadi\", camera: [(tick: 0, round: 0, above: 95)])"), "95 degrees"),
        (list("empty.ron", ""), "`scenes` is empty"),
        (list("file.ron", "(open: \"../none.thalweg\")"), "none.thalweg"),
        ("wadii".to_owned(), "closest match: wadi"),
        ("none.ron".to_owned(), "none.ron"),
    ] {
        refuses(&["present", &input, "--check"], &[expected]);
    }
}

#[test]
fn simulations_side_by_side_write_own_files_and_one_report() {
    let folder = folder();
    let arguments = ["build", "ten-seeds", "--ticks", "1", "--size", "32", "--seed", "5", "--save", "height.r32"];
    succeeds(&[], &[&arguments[..], &["--out", "out"]].concat(), folder.path());
    let out = folder.path().join("out");
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).expect("written")).expect("JSON");
    let tiles = report["tiles"].as_array().expect("a list");
    let seeds: Vec<u64> = tiles.iter().filter_map(|tile| tile["seed"].as_u64()).collect();
    // Five seeds as published, the same with the corrected law, and again with the next five.
    let wanted = [5..10, 5..10, 10..15, 10..15].into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(seeds, wanted);
    let mut files: Vec<Vec<u8>> =
        (1..=20).map(|run| fs::read(out.join(format!("{run}-height.r32"))).expect("written")).collect();
    files.sort();
    files.dedup();
    assert_eq!(files.len(), 20, "two runs are the same");
}

#[test]
fn soak_reports_ledger_memory_and_times() {
    let folder = folder();
    // With the installed graphics driver, if any, and with none.
    let none = [("VK_DRIVER_FILES", "none.json"), ("VK_ICD_FILENAMES", "none.json")];
    for variables in [&[][..], &none] {
        let report = report(&succeeds(variables, &["soak", "round-hill", "--minutes", "0.03"], folder.path()));
        let number = |place: &str| report.pointer(place).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let drawn = report["drawn"].as_bool().expect("it says so");
        assert!(!(drawn && cfg!(target_os = "linux") && !variables.is_empty()), "there was nothing to draw with");
        assert_eq!(report["not_drawn_because"].is_null(), drawn);
        assert!(number("/minutes") >= 0.03 && number("/scenes/0/runs/0/ticks") > 0.0, "{report}");
        assert!(number("/scenes/0/runs/0/solid/share") <= 1e-5, "{report}");
        let [start, peak] = ["start", "peak"].map(|when| number(&format!("/resident_bytes/{when}")));
        assert!(start > 1e6 && peak >= start, "{report}");
        for times in ["frame_ms", "tick_ms"] {
            let [count, median, p95, worst] =
                ["count", "median", "p95", "worst"].map(|which| number(&format!("/scenes/0/{times}/{which}")));
            assert!(count > 0.0 && 0.0 < median && median <= p95 && p95 <= worst, "{times}: {report}");
        }
    }
    refuses(&["soak", "round-hill", "--minutes", "0"], &["--minutes", "0.001 to 100000"]);
    refuses(&["soak", "round-hil", "--minutes", "1"], &["round-hil", "round-hill"]);
}

#[test]
fn built_in_real_map_matches_its_source_file() {
    let folder = folder();
    let map = data("jacksboro.png");
    for (out, input) in [("file", &*map), ("scene", "jacksboro-fault")] {
        succeeds(&[], &["build", input, "--ticks", "0", "--save", "height.r32", "--out", out], folder.path());
    }
    let read = |out: &str| fs::read(folder.path().join(out).join("height.r32")).expect("written");
    assert!(read("file") == read("scene"));
}

#[test]
fn grown_range_is_realistic_and_noise_is_not() {
    let folder = folder();
    let run = |arguments: &[&str]| succeeds(&[], arguments, folder.path());
    // At the resolution for which the ranges of real mountains are stated.
    let rivers = ["--set", "fluvial.erodibility=0.0002"];
    let grow = ["build", "young-range", "--grow", "--seed", "5", "--save", "height.r32", "--out", "grown"];
    run(&[&grow[..], &rivers].concat());
    let grown = report(&run(&["measure", "grown/height.r32", "--json"]));
    assert_eq!(grown["real"], grown["of"], "{grown:#}");
    assert!(
        grown["measures"]["pits"]["value"].as_f64() < Some(1e-4) && grown["measures"]["pits"]["is_real"] == true,
        "{grown:#}"
    );
    let noise = report(&run(&["measure", "young-range", "--json"]));
    assert!(noise["real"].as_u64() < Some(7) && noise["measures"]["depressions"]["is_real"] == false, "{noise:#}");
    // As text, and side by side.
    let text = String::from_utf8(run(&["measure", "grown/height.r32"]).stdout).expect("it is text");
    assert!(text.starts_with("height: 10 of 10 metrics are in the range of real mountains\n"), "{text}");
    assert!(report(&run(&["measure", "two-methods", "--json"]))["tiles"].as_array().is_some_and(|all| all.len() > 1));
    refuses(&["measure", "nowhere.png"], &["nowhere.png", "file not found"]);
    refuses(&["measure", "young-range", "--cell-size", "0"], &["--cell-size"]);
    let still = ["build", "young-range", "--grow", "--size", "32", "--set", "fluvial.uplift_rate=0"];
    refuses(&still, &["a mountain range cannot grow without uplift", "fluvial.uplift_rate above 0"]);
}

/// Pillow, tifffile, OpenImageIO and rasterio read the results, with identical heights and rivers at the same georeferenced
/// positions.
#[test]
fn other_programs_read_the_outputs() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers.py");
    let has_readers = |python: &&str| {
        let found = Command::new(python).args(["-c", "import numpy, OpenImageIO, rasterio, tifffile, PIL"]).output();
        found.is_ok_and(|found| found.status.success())
    };
    // The system's Python comes second: another one may be first in the path.
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_readers) else {
        skipped("python3 has not all of numpy, OpenImageIO, rasterio, tifffile and PIL", "THALWEG_REQUIRE_READERS");
        return;
    };
    let folder = folder();
    let (west, north, cell) = (-84.25, 36.5, 1.0 / 1200.0);
    let header = format!("ncols 48\nnrows 40\nxllcorner {west}\nyllcorner {}\ncellsize {cell}\n", north - 40.0 * cell);
    let row =
        |y: usize| (0..48).map(|x| format!("{} ", 300 + (x * 7 + y * 13) % 90 + x * y % 11)).collect::<String>() + "\n";
    let text = header + &(0..40).map(row).collect::<String>();
    fs::write(folder.path().join("land.asc"), text).expect("it is writable");
    let save = "height.png,height.png8,height.r16,height.r32,height.tif,height.exr,height.asc,normal,color,slope.r32,\
        flow.r32,flow-map,rivers.geojson,rivers.csv";
    let rivers = ["--set", "rivers.from_cells=8"];
    let arguments = ["build", "land.asc", "--ticks", "3", "--out", "out", "--save", save];
    succeeds(&[], &[&arguments[..], &rivers].concat(), folder.path());
    let hole = |y: usize| {
        let cells = row(y);
        let words = cells.split_whitespace().enumerate();
        words.map(|(x, word)| if x < 5 && y < 6 { "-1 ".to_owned() } else { format!("{word} ") }).collect::<String>()
            + "\n"
    };
    let text = "ncols 48\nnrows 40\ncellsize 30\nNODATA_value -1\n".to_owned() + &(0..40).map(hole).collect::<String>();
    fs::write(folder.path().join("nowhere.asc"), text).expect("it is writable");
    let save = "height.r32,height.tif,height.asc,discharge.r32,discharge.tif,discharge.asc";
    let arguments = ["build", "nowhere.asc", "--ticks", "3", "--enable", "water", "--set", "water.rain_rate=0.01"];
    let results = ["--resolution", "unity", "--out", "square", "--save", save];
    succeeds(&[], &[&arguments[..], &results].concat(), folder.path());
    let numbers = [west, north, cell].map(|number| number.to_string());
    let at = |name: &str| folder.path().join(name);
    // A view in display colours and in linear light, without a tone curve.
    if graphics::find_adapter().is_ok() {
        for name in ["out/view.png", "out/view.exr"] {
            let view = [
                "shot",
                "land.asc",
                "--ticks",
                "3",
                "--set",
                "look.tone_curve=none",
                "--set",
                "look.exposure=-2",
                "--resolution",
                "160x100",
            ];
            succeeds(&[], &[&view[..], &["--out", name]].concat(), folder.path());
        }
    } else {
        skipped("no view was read, because there is no graphics driver", "THALWEG_REQUIRE_GPU");
    }
    let read = Command::new(python).arg(script).arg(at("out")).args(numbers).arg(at("square")).output();
    let read = read.expect("python3 was there a moment ago");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

const PLAN: &str = "(input: \"round-hill\", size: 48, ticks: 12, enabled: [\"droplets\"], vary: {\
    \"droplets.per_tick\": Range(from: 100, to: 400, count: 3, ratios: true), \"seed\": List([\"3\", \"4\"])})";

#[test]
fn sweep_resumes_and_its_runs_match_build() {
    let folder = folder();
    let plan = put(&folder, "plan.ron", PLAN);
    let sweep = |more: &[&str]| {
        let arguments: Vec<&str> =
            ["sweep", &plan, "--out", "runs-of-it", "--json"].iter().chain(more).copied().collect();
        report(&succeeds(&[], &arguments, folder.path()))
    };
    // Like a task of a cluster job.
    assert_eq!(
        (sweep(&["--only", "5"])["made"].as_u64(), sweep(&["--only", "2-3"])["made"].as_u64()),
        (Some(1), Some(2))
    );
    let whole = sweep(&[]);
    assert_eq!((whole["made"].as_u64(), whole["skipped"].as_u64()), (Some(3), Some(3)), "three were finished");
    let out = folder.path().join("runs-of-it");
    assert!(["table.csv", "table.parquet", "index.html", "plan.ron"].iter().all(|name| out.join(name).exists()));
    let table = fs::read_to_string(out.join("table.csv")).expect("it was written");
    assert_eq!(table.lines().count(), 7);
    // The fifth run: the largest number of droplets, and the first seed.
    let run: Value =
        serde_json::from_slice(&fs::read(out.join("runs/0005/report.json")).expect("it was written")).expect("JSON");
    assert_eq!(run["run"]["values"]["droplets.per_tick"], "400");
    let set =
        ["--set", "droplets.per_tick=400", "--seed", "3", "--size", "48", "--ticks", "12", "--enable", "droplets"];
    let build: Vec<&str> = ["build", "round-hill", "--out", "one", "--json"].iter().chain(&set).copied().collect();
    let built = report(&succeeds(&[], &build, folder.path()));
    assert_eq!(built["layers"], run["layers"], "the same terrain, bit by bit");
    // A damaged run is repeated.
    fs::write(out.join("runs/0001/report.json"), "{").expect("writable");
    assert_eq!(sweep(&[])["made"].as_u64(), Some(1));
    for kind in ["slurm", "snakemake"] {
        let arguments = ["sweep", &plan, "--out", "runs-of-it", "--emit", kind];
        succeeds(&[], &arguments, folder.path());
    }
    let job = fs::read_to_string(out.join("sweep.sbatch")).expect("it was written");
    assert!(job.contains("--array=1-6\n") && job.contains("--only \"$first-$last\""), "{job}");
    assert!(out.join("Snakefile").exists());
}

#[test]
fn film_follows_camera_keyframes_of_project() {
    if graphics::find_adapter().is_err() {
        skipped("there is no graphics driver", "THALWEG_REQUIRE_GPU");
        return;
    }
    let folder = folder();
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let mut project = Project::of(vec![open_first("round-hill", &options).expect("it is built in")]);
    for (tick, round) in [(0.0, 20.0), (4.0, 80.0)] {
        let key = CameraKeyframe { tick, at: [0.3, 0.6], ..CameraKeyframe::still(round, 30.0, 1.4) };
        assert!(project.views.saved.keys.set(key));
    }
    let path = folder.path().join("work.thalweg");
    project::save(&mut project, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let keys = "(camera: [(tick: 0, round: 20, above: 30, near: 1.4, at: (0.3, 0.6), then: Hold), \
                (tick: 4, round: 80, above: 30, near: 1.4, at: (0.3, 0.6), then: Hold)])";
    let keys = put(&folder, "keys.ron", keys);
    let film = |out: &str, more: &[&str]| {
        let path = path.to_string_lossy();
        let all = ["film", &*path, "--out", out, "--every", "4", "--resolution", "96x64"];
        let all: Vec<&str> = all.iter().chain(more).copied().collect();
        let done = thalweg(&all, folder.path());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let mut frames: Vec<_> = fs::read_dir(folder.path().join(out)).expect("it is there").flatten().collect();
        frames.sort_by_key(|frame| frame.path());
        frames.iter().map(|frame| fs::read(frame.path()).expect("it is readable")).collect::<Vec<_>>()
    };
    let own = film("own", &[]);
    // By default it ends with the last keyframe.
    assert!(own.len() == 2 && own == film("file", &["--camera", &keys, "--ticks", "4"]));
    assert!(own != film("usual", &["--camera", "default", "--ticks", "4"]));
    (0..9).for_each(|_| project.sessions[0].simulation.tick());
    project::save(&mut project, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    refuses(&["film", &path.to_string_lossy(), "--out", "late"], &["before tick 9", "go back to the first key"]);
}

#[test]
fn invalid_plans_and_films_are_rejected_in_one_sentence() {
    let folder = folder();
    let wrong = |name: &str, from: &str, to: &str| put(&folder, name, PLAN.replace(from, to));
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let sweep = |plan: &str, words: &[&str]| refuses(&["sweep", plan, "--out", &out], words);
    sweep(&wrong("a.ron", "droplets.per_tick", "droplets.per_tik"), &["droplets.per_tik", "closest match"]);
    sweep(&wrong("b.ron", "count: 3", "count: 0"), &["per_tick", "empty"]);
    sweep(&wrong("c.ron", "to: 400", "to: 1e12"), &["per_tick", "expected"]);
    sweep(&wrong("d.ron", "\"round-hill\"", "\"ten-seeds\""), &["d.ron", "side by side"]);
    sweep(&wrong("e.ron", "count: 3", "count: 1000000"), &["2000000 runs", "--yes"]);
    sweep(&wrong("f.ron", "vary", "varies"), &["f.ron", "varies"]);
    sweep(&wrong("g.ron", "\"round-hill\"", "\"round-hil\""), &["g.ron", "round-hil", "round-hill"]);
    sweep(&wrong("h.ron", "vary", "size: 5, vary"), &["h.ron", "size"]);
    sweep(&wrong("i.ron", "vary", "set: {\"droplets.fricton\": \"1\"}, vary"), &["i.ron", "fricton", "closest match"]);
    sweep("none.ron", &["none.ron"]);
    assert!(!Path::new(&out).exists(), "a plan that is refused leaves a folder");
    let plan = put(&folder, "plan.ron", PLAN);
    refuses(&["sweep", &plan, "--out", &out, "--only", "7"], &["--only 7", "6 runs"]);
    fs::create_dir_all(folder.path().join("out")).expect("writable");
    fs::write(folder.path().join("out/plan.ron"), "another").expect("writable");
    sweep(&plan, &["out", "another plan"]);
    refuses(&["sweep", "--collect", &data("")], &["plan.ron"]);
    let film = |arguments: &[&str], words: &[&str]| {
        let all: Vec<&str> = ["film", "round-hill", "--size", "32"].iter().chain(arguments).copied().collect();
        refuses(&all, words);
    };
    let to = folder.path().join("a.mp4").to_string_lossy().into_owned();
    film(&["--out", &to, "--camera", "behind"], &["behind", "default, front, high, low"]);
    film(&["--out", &to, "--ticks", "9..3"], &["--ticks"]);
    film(&["--out", "a.avi", "--ticks", "3"], &[".avi", ".mp4"]);
    film(&["--out", &to, "--resolution", "9000x10"], &["--resolution"]);
    film(&["--out", &to, "--ticks", "18446744073709551615"], &["limit is 324000", "--every"]);
    film(&["--out", &to, "--turn", "nan"], &["not finite"]);
    film(&["--out", &to, "--caption", "\u{7}"], &["control character"]);
    film(&["--out", &to, "--frames", "exr"], &["a.mp4", "image sequence", "a folder name"]);
    film(&["--out", "frames", "--frames", "exr", "--ui"], &["cannot include panels", "--ui"]);
    let keys = put(&folder, "keys.ron", "(camera: [])");
    film(&["--out", &to, "--camera", &keys], &["keys.ron", "no key"]);
    refuses(&["build", "round-hill", "--ticks", "1..5"], &["--ticks A..B"]);
}

#[test]
fn snakefile_matches_a_local_sweep() {
    if !Command::new("snakemake").arg("--version").output().is_ok_and(|found| found.status.success()) {
        skipped("there is no snakemake", "THALWEG_REQUIRE_SNAKEMAKE");
        return;
    }
    let folder = folder();
    let plan = put(&folder, "plan.ron", PLAN);
    for (out, more) in [("here", &[][..]), ("there", &["--emit", "snakemake"])] {
        let arguments: Vec<&str> = ["sweep", &plan, "--out", out].iter().chain(more).copied().collect();
        succeeds(&[], &arguments, folder.path());
    }
    let there = folder.path().join("there");
    let made = Command::new("snakemake").args(["--cores", "2", "--quiet"]).current_dir(&there).output();
    let made = made.expect("it was there a moment ago");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // Columns of the layer hashes.
    let hashes = |out: &str| -> Vec<String> {
        let table = fs::read_to_string(folder.path().join(out).join("table.csv")).expect("it was written");
        table.lines().map(|line| line.rsplit(',').take(3).collect()).collect()
    };
    assert_eq!(hashes("here").len(), 7);
    assert_eq!(hashes("here"), hashes("there"));
}

/// Not in the tests of the writer: child processes briefly inherit the locks that other tests of that process check.
#[test]
fn ffmpeg_writes_every_film_format() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        skipped("there is no ffmpeg", "THALWEG_REQUIRE_FFMPEG");
        return;
    }
    let folder = folder();
    for ending in ["mp4", "gif", "webp"] {
        let path = folder.path().join(format!("film.{ending}"));
        let mut film = VideoWriter::begin(&path, (32, 24), 25.0).unwrap_or_else(|error| panic!("{error}"));
        for shade in 0..5 {
            film.add(&[50 * shade; 3 * 32 * 24]).unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(film.frames(), 5);
        film.end().unwrap_or_else(|error| panic!("{ending}: {error}"));
        assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 100), "{ending}");
        assert!(!path.with_extension(format!("part.{ending}")).exists());
    }
}
