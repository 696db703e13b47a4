//! A slow disk: no frame waits for a file.

use std::process::Command;

use bevy::{prelude::MinimalPlugins, state::app::StatesPlugin};
use thalweg::{
    features::{lessons::LessonCommand, probes::ProbeCommand},
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

/// Renames complete a save, and `fsync` waits for the disk. Both are intercepted while everything is saved that can be.
#[test]
fn files_are_saved_on_background_threads() {
    if env::var_os(THREADS).is_some() {
        return save_everything();
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let threads = folder.path().join("threads");
    let status = Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "slow_disk::files_are_saved_on_background_threads"])
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
}

/// Opens a scene and a lesson, and saves every kind of file.
fn save_everything() {
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let mut notices = Notices::default();
    let mut app = App::new();
    world::background::pool();
    app.add_plugins((MinimalPlugins, StatesPlugin, world::plugin, features::plugin))
        .insert_resource(Simulations::new(scene::open(scene::DEFAULT, &options).expect("it is built in")))
        .insert_resource(Transport::paused())
        .insert_resource(Preferences::load(false, &mut notices))
        .insert_resource(LessonState::load(&mut notices));
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
    for command in commands {
        let asked = format!("{command:?}");
        app.world_mut().write_message(command);
        settle(&mut app);
        let failed: Vec<String> = app
            .world()
            .resource::<Notices>()
            .shown()
            .filter(|notice| notice.level == NoticeLevel::Error)
            .map(|notice| notice.text.clone())
            .collect();
        assert!(failed.is_empty(), "{asked}: {failed:?}");
    }
    app.world_mut().resource_mut::<Preferences>().settings.scale *= 1.5;
    app.update();
    app.world_mut().write_message(AppExit::Success);
    app.update();
}
