//! Autosave of a killed window: the work it recovers, and the repeated offer to restore it. The display is Xvfb.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use self::skipped::skipped;

mod skipped;

/// Autosave interval in minutes, as in the settings.
const MINUTES: f32 = 0.2;
/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Requires the window to open.
const GPU: &str = "THALWEG_REQUIRE_GPU";

/// A process that is killed at the end of the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Option<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok().map(Self)
    }

    /// Returns the error output if the process has exited.
    fn ended(&mut self) -> Option<String> {
        self.0.try_wait().expect("it is ours")?;
        let mut output = String::new();
        self.0.stderr.as_mut().map(|stderr| stderr.read_to_string(&mut output));
        Some(output)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGKILL cannot be handled.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a virtual display. Returns its process and its name.
fn screen() -> Option<(Running, String)> {
    let mut server = Running::start(Command::new("Xvfb").args(["-displayfd", "1", "-screen", "0", "1280x800x24"]))?;
    let mut number = String::new();
    BufReader::new(server.0.stdout.take()?).read_line(&mut number).ok()?;
    (!number.trim().is_empty()).then(|| (server, format!(":{}", number.trim())))
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn killed_window_offers_autosave_until_answered() {
    let Some((_server, display)) = screen() else { return skipped("there is no Xvfb", GPU) };
    let home = tempfile::tempdir().expect("a temporary folder");
    let (config, data) = (home.path().join("config"), home.path().join("data"));
    fs::create_dir_all(config.join("thalweg")).expect("it is writable");
    let settings = format!("(set: {{\"settings.autosave\": \"{MINUTES}\"}})");
    fs::write(config.join("thalweg/settings.ron"), settings).expect("it is writable");
    let (place, log) = (data.join("thalweg/autosave"), data.join("thalweg/log"));
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.arg("round-hill").env("DISPLAY", &display).env_remove("WAYLAND_DISPLAY");
        command.env("XDG_CONFIG_HOME", &config).env("XDG_DATA_HOME", &data).env("HOME", home.path());
        Running::start(&mut command).expect("the program starts")
    };
    // `false` if it exited because there is no graphics driver.
    let wait = |window: &mut Running, what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            if let Some(output) = window.ended() {
                assert!(output.contains("there is no graphics driver"), "{what}: {output}");
                skipped(output.trim(), GPU);
                return false;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    };

    // Idle window. Work between two autosaves can be lost.
    let mut window = start();
    if !wait(&mut window, "nothing was kept", &|| !files(&place, "thalweg").is_empty()) {
        return;
    }
    let [autosave] = &files(&place, "thalweg")[..] else { panic!("one is kept") };
    let written = || fs::metadata(autosave).and_then(|file| file.modified()).expect("it is there");
    let first = written();
    assert!(wait(&mut window, "it was not kept again", &|| written() != first));
    let lost = written().duration_since(first).unwrap_or_default();
    drop(window);
    let interval = Duration::from_secs_f32(60.0 * MINUTES);
    println!("{:.1} s of {:.1} s were lost", lost.as_secs_f32(), interval.as_secs_f32());
    assert!(lost <= interval, "{lost:?} were lost");
    let out = home.path().join("out");
    let mut build = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    let built =
        build.arg("build").arg(autosave).arg("--json").arg("--out").arg(out).output().expect("the program starts");
    let report: Value = serde_json::from_slice(&built.stdout).expect("the report is JSON");
    assert!(report["ticks"].as_u64().is_some_and(|ticks| ticks > 0), "{report}");

    // It is offered again after every crash until it is answered.
    let offers = || -> usize {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let text: String = files(&log, "log").into_iter().map(read).collect();
        text.matches(&format!("The project was autosaved to {}.", autosave.display())).count()
    };
    for count in 1..=3 {
        assert_eq!(offers(), count - 1);
        let mut window = start();
        assert!(wait(&mut window, "it was not offered", &|| offers() == count));
    }
    assert!(autosave.exists());
}
