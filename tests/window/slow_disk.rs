//! A slow disk: no frame waits for a file.

use std::process::Command;

use bevy::{prelude::MinimalPlugins, state::app::StatesPlugin};
use thalweg::{
    features::{lessons::LessonCommand, probes::ProbeCommand},
    shell::files::{AddToPlaylist, OpenDroppedFile},
    world::{self, NoticeLevel},
};
use thalweg_scene::{
    io::{
        export::{Dimensions, Export},
        lesson::path_of,
        scene,
    },
    model::playlist::Playlist,
};

use super::*;

#[path = "../shim/mod.rs"]
mod shim;

/// File with the thread of each file operation, in the child process.
const THREADS: &str = "SHIM_THREADS";
/// Files that are saved, in the working directory of the child process.
const SAVED: [&str; 9] = [
    "work.thalweg",
    "scene.ron",
    "height.exr",
    "preset.ron",
    "out/sand.png",
    "probes.csv",
    "checks.txt",
    "list.ron",
    "lesson.md",
];

/// Renames complete a save, and `fsync` waits for the disk. Both are intercepted while everything is saved that can be, and so is
/// opening one of these files to read it.
#[test]
fn files_are_saved_and_read_on_background_threads() {
    if env::var_os(THREADS).is_some() {
        return save_everything();
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let threads = folder.path().join("threads");
    let status = Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "slow_disk::files_are_saved_and_read_on_background_threads"])
        .current_dir(folder.path())
        .env("LD_PRELOAD", shim::library())
        .env(THREADS, &threads)
        .envs(["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"].map(|name| (name, folder.path())))
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let calls = fs::read_to_string(threads).expect("the shim wrote it");
    for name in SAVED.into_iter().chain(["settings.ron", "lessons.ron"]) {
        let renamed = |line: &&str| line.contains("rename") && line.ends_with(name);
        let line = calls.lines().find(renamed).unwrap_or_else(|| panic!("{name} was not saved:\n{calls}"));
        assert!(line.starts_with("background"), "a frame waits: {line}");
    }
    let waits: Vec<&str> =
        calls.lines().filter(|line| line.contains("fsync") && !line.starts_with("background")).collect();
    assert!(waits.is_empty(), "frames wait for the disk: {waits:?}");
    let reads =
        |name: &'static str| calls.lines().filter(move |line| line.contains("\topen\t") && line.ends_with(name));
    let waits: Vec<&str> = SAVED.into_iter().flat_map(reads).filter(|line| !line.starts_with("background")).collect();
    assert!(waits.is_empty(), "frames wait for files that they read: {waits:?}");
    for name in ["preset.ron", "scene.ron"] {
        assert!(reads(name).count() > 0, "{name} was not read:\n{calls}");
    }
}

/// Opens a scene and a lesson, saves every kind of file, and reads some of them.
fn save_everything() {
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let mut notices = Notices::default();
    let mut app = App::new();
    world::background::pool();
    app.add_plugins((MinimalPlugins, StatesPlugin, world::plugin, features::plugin))
        .insert_resource(Simulations::new(scene::open(scene::DEFAULT, &options).expect("it is built in")))
        .insert_resource(Transport::paused())
        .insert_resource(Preferences::load(false, &mut notices))
        .insert_resource(LessonAnswers::load(&mut notices));
    let settle = |app: &mut App| {
        app.update();
        let begun = Instant::now();
        while app.world().resource::<Jobs>().count() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(120), "a job does not end");
            app.update();
        }
    };
    settle(&mut app);
    let path = |name: &str| env::current_dir().expect("it has one").join(name);
    let exports = vec![Export::new("sand", "png").expect("it is a format")];
    let commands: Vec<AppCommand> = vec![
        FileCommand::Open(path_of("talus-and-slumping"), Options::default()).into(),
        LessonCommand::Name("A student".into()).into(),
        LessonCommand::SaveCopy(path("lesson.md")).into(),
        ProbeCommand::Pin([0.5, 0.5]).into(),
        ProbeCommand::Save(path("probes.csv")).into(),
        CheckCommand::Save(path("checks.txt")).into(),
        PlaylistCommand::Save(Arc::new(Playlist::default()), path("list.ron")).into(),
        FileCommand::SaveProject(path("work.thalweg")).into(),
        FileCommand::SaveScene(path("scene.ron")).into(),
        FileCommand::SaveMap("height", path("height.exr")).into(),
        FileCommand::SavePreset(None, path("preset.ron")).into(),
        FileCommand::Export(path("out"), String::new(), exports, Dimensions::default()).into(),
    ];
    let execute = |app: &mut App, command: AppCommand| {
        let asked = format!("{command:?}");
        app.world_mut().write_message(command);
        settle(app);
        let failed: Vec<String> = app
            .world()
            .resource::<Notices>()
            .shown()
            .filter(|notice| notice.level == NoticeLevel::Error)
            .map(|notice| notice.text.clone())
            .collect();
        assert!(failed.is_empty(), "{asked}: {failed:?}");
    };
    commands.into_iter().for_each(|command| execute(&mut app, command));
    // The playlist dialog offers the open project, which is saved.
    app.world_mut().resource_mut::<FloatingWindows>().open("playlist");
    let context = egui::Context::default();
    for _ in 0..3 {
        let _ = context.run_ui(egui::RawInput::default(), |ui| drop(floating_windows_ui(ui.ctx(), app.world_mut())));
    }
    assert!(app.world().resource::<FloatingWindows>().is_open("playlist"));
    execute(&mut app, AddToPlaylist(vec![path("scene.ron")]).into());
    app.world_mut().resource_mut::<FloatingWindows>().close("playlist");
    execute(&mut app, OpenDroppedFile(path("preset.ron")).into());
    app.world_mut().resource_mut::<Preferences>().settings.scale *= 1.5;
    app.update();
    app.world_mut().write_message(AppExit::Success);
    app.update();
}
