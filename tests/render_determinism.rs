//! Films and screenshots are reproducible byte for byte, on idle and on busy machines.

use std::{
    collections::BTreeMap,
    fs,
    hint::spin_loop,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use thalweg::app::graphics;

use self::skipped::skipped;

mod skipped;

/// A mountain range with rivers and woods, and dunes under a flood.
const SCENES: [&str; 2] = ["alpine-valley", "wadi"];
/// Runs of each scene. Every second one runs on an otherwise idle machine.
const RUNS: usize = 20;
/// Threads that keep the machine busy.
const SPINNING: usize = 3;

/// Renders a film of two frames and a screenshot of a scene, and returns the bytes of each image by name.
fn render(scene: &str, run: usize) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let thalweg = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.args(arguments).args(["--size", "48", "--resolution", "96x64"]).current_dir(folder.path());
        let output = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().expect("the program starts");
        assert!(output.status.success(), "{scene}, run {run}: {}", String::from_utf8_lossy(&output.stderr));
    };
    thalweg(&["film", scene, "--ticks", "0..4", "--every", "4", "--out", "film"]);
    thalweg(&["shot", scene, "--ticks", "4", "--out", "film/shot.png"]);
    let files = fs::read_dir(folder.path().join("film")).expect("it is a folder");
    let read = |path: &Path| (path.file_name().expect("it is a file").to_string_lossy().into_owned(), fs::read(path));
    let files = files.map(|entry| read(&entry.expect("it is readable").path()));
    let frames: BTreeMap<_, _> = files.map(|(name, bytes)| (name, bytes.expect("it is readable"))).collect();
    assert_eq!(frames.len(), 3, "{scene}, run {run}: {:?}", frames.keys());
    frames
}

#[test]
fn renders_are_bit_identical_on_a_busy_machine() {
    if graphics::find_adapter().is_err() {
        skipped("there is no graphics driver", "THALWEG_REQUIRE_GPU");
        return;
    }
    for scene in SCENES {
        let first = render(scene, 0);
        for run in 1..RUNS {
            let done = AtomicBool::new(run % 2 == 0);
            let frames = thread::scope(|scope| {
                for _ in 0..SPINNING {
                    scope.spawn(|| {
                        while !done.load(Ordering::Relaxed) {
                            spin_loop();
                        }
                    });
                }
                let frames = std::panic::catch_unwind(|| render(scene, run));
                done.store(true, Ordering::Relaxed);
                frames.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            let differ: Vec<_> = first.iter().filter(|&(name, bytes)| frames.get(name) != Some(bytes)).collect();
            let names: Vec<_> = differ.iter().map(|(name, _)| name).collect();
            assert!(differ.is_empty(), "{scene}, run {run} of {RUNS}: {names:?} are not the bytes of the first run");
        }
    }
}
