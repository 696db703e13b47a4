//! Robustness of file access: killed processes, full disks, pipes and devices in place of files.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use self::skipped::skipped;

mod shim;
mod skipped;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn program(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(arguments).current_dir(folder);
    for name in ["DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(name);
    }
    // Protects settings and autosaves of the user who runs the tests, and keeps the driver's shader cache out of there.
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        command.env(name, folder.join("home"));
    }
    command
}

/// Runs a command that must exit soon.
fn ends(command: &mut Command) -> Output {
    let mut child = command.stdin(Stdio::null()).spawn().expect("the program starts");
    let started = Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().expect("it is ours");
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("it has ended")
}

/// Runs the program, which must exit with this code and, unless it is 0, print one sentence with these words to standard error.
fn says(arguments: &[&str], folder: &Path, code: i32, words: &[&str]) -> Output {
    let output = ends(program(arguments, folder).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    if code > 0 {
        assert!(message.starts_with("thalweg: ") && message.lines().count() == 1, "{arguments:?}: {message}");
    }
    for word in words {
        assert!(message.contains(word), "{arguments:?}: {message:?} does not say {word:?}");
    }
    output
}

/// Returns the names of the entries of a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("it is readable").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Returns the seed of the results in a folder, or `None` if they are incomplete.
fn whole(folder: &Path) -> Option<u64> {
    let report: Value = serde_json::from_slice(&fs::read(folder.join("report.json")).ok()?).expect("it is never half");
    let files = report["files"].as_object().expect("it names its files");
    assert!(files.len() >= 3);
    for (name, file) in files {
        let bytes = fs::read(folder.join(name)).expect("a file that the report names is there");
        assert_eq!(file["bytes"], bytes.len(), "{name} is of another run than the report");
        assert_eq!(file["hash"], format!("{:016x}", xxh3_64(&bytes)), "{name} is of another run than the report");
    }
    report["seed"].as_u64()
}

/// Returns a raw map of 32 × 32 cells.
fn map() -> Vec<u8> {
    (0..32 * 32).flat_map(|cell| (cell as f32).to_le_bytes()).collect()
}

/// Opens a device that rejects writes.
fn full() -> fs::File {
    fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it")
}

fn build(seed: &str, folder: &Path) -> Command {
    let arguments = ["build", "round-hill", "--size", "32", "--ticks", "1", "--seed", seed, "--out", "out"];
    let mut command = program(&arguments, folder);
    command.stderr(Stdio::null()).env("LD_PRELOAD", shim::library());
    command
}

#[test]
fn killed_build_leaves_complete_results_or_none() {
    let (mut unchanged, mut none, mut replaced) = (0, 0, 0);
    for moment in 1.. {
        let folder = folder();
        let out = folder.path().join("out");
        assert!(ends(&mut build("1", folder.path())).status.success());
        fs::write(out.join("mine.txt"), "mine").expect("it is writable");
        let killed = ends(build("2", folder.path()).env("SHIM_KILL_AT", moment.to_string()));
        match whole(&out) {
            Some(1) => unchanged += 1,
            None => none += 1,
            Some(seed) => {
                assert_eq!(seed, 2);
                replaced += 1;
            }
        }
        if killed.status.success() {
            break;
        }
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed.status), Some(9));
        assert!(ends(&mut build("3", folder.path())).status.success());
        assert_eq!(whole(&out), Some(3));
        let left = ["height.json", "height.png", "height.r32", "hillshade.png", "mine.txt", "report.json"];
        assert!(names(&out).iter().eq(left), "killed at {moment}, it left {:?}", names(&out));
        assert_eq!(fs::read_to_string(out.join("mine.txt")).expect("it is there"), "mine");
    }
    // Four files are renamed while there is no report, which is removed before and renamed after.
    assert!(
        unchanged > 5 && none > 4 && replaced > 1,
        "{unchanged} times the old, {none} times none, {replaced} times the new"
    );
}

#[test]
fn killed_rollback_is_cleaned_up_by_next_run() {
    let folder = folder();
    let out = folder.path().join("out");
    for moment in 1.. {
        assert!(ends(&mut build("1", folder.path())).status.success());
        let mut failing = build("2", folder.path());
        let failed = ends(failing.env("SHIM_DISK_FULL", "1").env("SHIM_KILL_AT", moment.to_string()));
        assert_eq!(whole(&out), Some(1));
        if failed.status.code() == Some(1) {
            assert!(moment > 3, "it was killed {moment} times");
            break;
        }
        assert!(ends(&mut build("3", folder.path())).status.success());
        assert!(names(&out).iter().all(|name| !name.starts_with('.')), "killed at {moment}: {:?}", names(&out));
    }
}

#[test]
fn files_are_flushed_before_rename_and_folder_after() {
    let folder = folder();
    let every = "height.png,height.png8,height.r16,height.r32,height.tif,height.exr,height.asc,normal,normal.png16,\
                 flow-map,color,mesh.glb,mesh.obj,mesh.stl";
    let log = folder.path().join("log");
    let mut command = build("1", folder.path());
    assert!(ends(command.args(["--save", every]).env("SHIM_LOG", &log)).status.success());
    let log = fs::read_to_string(log).expect("the shim wrote it");
    let mut flushed = BTreeSet::new();
    let mut renamed = 0;
    let mut names_flushed = true;
    for line in log.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["fsync", path] => {
                names_flushed |= path.ends_with("/out");
                flushed.insert(path.rsplit('/').next().unwrap_or_default().to_owned());
            }
            ["rename", from, _] => {
                let name = from.rsplit('/').next().unwrap_or_default();
                assert!(flushed.contains(name), "{name} was not flushed");
                assert!(
                    name != "report.json" || names_flushed,
                    "the names of the others are flushed before the report"
                );
                names_flushed = false;
                renamed += 1;
            }
            _ => {}
        }
    }
    assert!(renamed == names(&folder.path().join("out")).len() && names_flushed, "{log}");
}

#[test]
fn full_disk_error_names_the_target_file() {
    let folder = folder();
    let files = "height.png height.r32 height.r16 height.exr height.tif height.asc mesh.glb mesh.obj mesh.stl";
    for save in files.split(' ') {
        let mut command = build("1", folder.path());
        let output = ends(command.args(["--save", save]).env("SHIM_DISK_FULL", "1").stderr(Stdio::piped()));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{save}: {message}");
        let expected = format!("thalweg: out/{save}: writing failed (No space left on device");
        assert!(message.starts_with(&expected) && message.lines().count() == 1, "{save}: {message}");
        assert!(!folder.path().join("out").exists());
    }
}

#[test]
fn pipes_and_devices_are_rejected_for_every_input() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(at(name)).status();
        assert!(made.is_ok_and(|status| status.success()), "no pipe could be made");
    };
    let endless = |name: &str| std::os::unix::fs::symlink("/dev/zero", at(name)).expect("it is writable");
    let mut inputs = Vec::new();
    for ending in ["ron", "thalweg", "png", "exr", "r16", "r32", "asc", "txt"] {
        pipe(&format!("pipe.{ending}"));
        endless(&format!("endless.{ending}"));
        inputs.extend([format!("pipe.{ending}"), format!("endless.{ending}")]);
    }
    for (stem, make) in [("piped", &pipe as &dyn Fn(&str)), ("endlessly", &endless)] {
        fs::write(at(&format!("{stem}.r32")), map()).expect("it is writable");
        make(&format!("{stem}.json"));
        let scene = |field: &str| format!("(title: \"\", about: \"\", seed: 1, ticks: 1, enabled: [], {field})");
        let within = [("heights", "heightmap"), ("sand", "sand_map"), ("rain", "rain_map"), ("water", "water_map")];
        for (name, field) in within {
            let text = scene(&format!("{field}: \"{stem}.r32\""));
            fs::write(at(&format!("{stem}-{name}.ron")), text).expect("it is writable");
            inputs.push(format!("{stem}-{name}.ron"));
        }
        inputs.push(format!("{stem}.r32"));
    }
    for input in &inputs {
        says(&["build", input, "--ticks", "1", "--out", "out"], folder.path(), 2, &["this is a pipe or a device"]);
        says(&[input], folder.path(), 2, &["this is a pipe or a device"]);
    }
    for option in ["--sand-map", "--softness-map", "--rain-map", "--water-map"] {
        for map in ["pipe.r32", "piped.r32", "endless.r32", "endlessly.r32"] {
            let arguments = ["build", "round-hill", "--size", "32", option, map, "--out", "out"];
            says(&arguments, folder.path(), 2, &["this is a pipe or a device"]);
        }
    }
    assert!(!at("out").exists());
}

#[test]
fn oversized_text_file_is_not_read() {
    let folder = folder();
    let long = fs::File::create(folder.path().join("long.ron")).expect("it is writable");
    // A sparse file that takes no disk space.
    long.set_len(1 << 40).expect("it is ours");
    says(&["build", "long.ron", "--out", "out"], folder.path(), 2, &["long.ron: longer than 4 MiB"]);
}

#[test]
fn scene_shown_from_a_late_tick_is_rejected() {
    let folder = folder();
    for shown_from in [u64::MAX, 10_001] {
        let text = format!("(title: \"\", about: \"\", seed: 1, ticks: 1, enabled: [], shown_from: {shown_from})");
        fs::write(folder.path().join("late.ron"), text).expect("it is writable");
        let words = [&*format!("late.ron: shown_from is {shown_from}"), "10000 ticks"];
        says(&["late.ron"], folder.path(), 2, &words);
        says(&["build", "late.ron", "--out", "out"], folder.path(), 2, &words);
    }
}

#[test]
fn line_breaks_in_names_are_escaped() {
    let folder = folder();
    says(&["build", "a\nb.png", "--out", "out"], folder.path(), 2, &[r"thalweg: a\nb.png: "]);
    says(&["build", "a\nb", "--out", "out"], folder.path(), 2, &[r"a\nb: "]);
    says(&["shot", "round-hill", "--out", "a\r\n\u{1b}[2Jb.jpg"], folder.path(), 2, &[r"a\r\n\u{1b}[2Jb.jpg"]);
    says(&["build", "round-hill", "--out", "out", "--enable", "a\nb"], folder.path(), 2, &["there is no process"]);
    fs::write(folder.path().join("a\nb.r32"), map()).expect("it is writable");
    let built = says(&["build", "a\nb.r32", "--ticks", "1", "--out", "out"], folder.path(), 0, &[]);
    let warned = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(
        !warned.is_empty() && warned.lines().all(|line| line.starts_with(r"thalweg: warning: a\nb.r32: ")),
        "{warned}"
    );
}

#[test]
fn failed_stdout_is_an_error_but_closed_pipe_is_not() {
    let folder = folder();
    for arguments in [
        &["params"][..],
        &["params", "--json"],
        &["scenes"],
        &["--help"],
        &["--version"],
        &["build", "round-hill", "--size", "32", "--ticks", "1", "--out", "out", "--json"],
    ] {
        let output = ends(program(arguments, folder.path()).stdout(full()).stderr(Stdio::piped()));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(
            message.starts_with("thalweg: cannot write to standard output") && message.lines().count() == 1,
            "{message}"
        );
    }
    let mut command = program(&["params"], folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn failed_stderr_does_not_change_exit_code() {
    let folder = folder();
    let run = |arguments: &[&str]| ends(program(arguments, folder.path()).stderr(full())).status.code();
    assert_eq!(run(&["build", "missing.png", "--out", "out"]), Some(2));
    assert_eq!(run(&["frobnicate", "--now"]), Some(2));
    assert_eq!(run(&["round-hill"]), Some(2), "there is no display");
    fs::write(folder.path().join("map.r32"), map()).expect("it is writable");
    assert_eq!(run(&["build", "map.r32", "--ticks", "1", "--out", "out"]), Some(0), "it warns");
    assert_eq!(run(&["params"]), Some(0));
}

/// Needs a graphics driver: without one there is no window on any display.
#[test]
fn unresponsive_display_is_reported() {
    let folder = folder();
    for (name, value) in [("DISPLAY", ":987"), ("WAYLAND_DISPLAY", "nobody")] {
        let mut command = program(&["round-hill"], folder.path());
        let output = ends(command.env(name, value).stderr(Stdio::piped()));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.lines().count() == 1, "{message}");
        if message.contains("no graphics driver") {
            skipped(message.trim(), "THALWEG_REQUIRE_GPU");
        } else {
            assert!(message.contains(&format!("the display does not respond ({name}={value})")), "{message}");
        }
    }
}

#[test]
fn output_bytes_are_independent_of_thread_count() {
    let folder = folder();
    let every = "height.png,height.png8,height.r16,height.r32,height.tif,height.exr,height.asc,normal,normal.png16,flow-map,color,\
                 hillshade,occlusion,flow,mesh.glb,mesh.obj,mesh.stl";
    // Small maps in every format, and large ones in the format whose blocks are compressed in parallel.
    for (size, save) in [("96", every), ("1024", "height.exr,flow.exr")] {
        let written = |(index, threads): (usize, &str)| -> Value {
            let out = format!("out-{size}-{index}");
            let arguments = ["build", "round-hill", "--size", size, "--ticks", "1", "--save", save, "--out", &out];
            let mut command = program(&arguments, folder.path());
            command.args(["--threads", threads]).env("RAYON_NUM_THREADS", threads).stderr(Stdio::null());
            assert!(ends(&mut command).status.success());
            assert!(whole(&folder.path().join(&out)).is_some());
            let report = fs::read(folder.path().join(out).join("report.json")).expect("it is whole");
            serde_json::from_slice::<Value>(&report).expect("it is JSON")["files"].clone()
        };
        let runs: Vec<Value> = ["2", "2", "4", "4"].into_iter().enumerate().map(written).collect();
        for (index, files) in runs.iter().enumerate() {
            for (name, file) in files.as_object().into_iter().flatten() {
                assert_eq!(file, &runs[0][name], "{name} of run {index} differs");
            }
        }
    }
}
