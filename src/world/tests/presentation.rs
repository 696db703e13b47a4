//! Presentation of a playlist.

use std::{collections::BTreeMap, sync::Arc};

use super::*;
use crate::features::present::draft::{Draft, PlaylistCommand};
use thalweg_scene::{
    io::{JobProgress, project::Project, scene::open_first},
    model::playlist::{Item, Playlist},
    settings::SettingsFile,
};

fn list() -> Arc<Playlist> {
    let small = || BTreeMap::from(["width", "height"].map(|side| (format!("terrain.{side}"), "32".to_owned())));
    let item = |open: &str, ticks, seconds| Item { open: open.into(), set: small(), ticks, seconds, ..Item::default() };
    let scenes = vec![item("round-hill", (2, 6), 0.0), item("dam-break", (0, 0), 10.0), item("nowhere", (0, 0), 0.0)];
    Arc::new(Playlist { title: "Presentation".to_owned(), scenes })
}

fn shown(app: &App) -> &Presentation {
    app.world().resource::<Presentation>()
}

/// Runs until the requested scene is open, with a fixed frame time.
fn wait_for(app: &mut App, number: usize) {
    for _ in 0..2000 {
        app.update();
        let world = app.world();
        let shows =
            |shown: &Presentation| shown.number().0 == number && shown.item(world.resource::<Simulations>()).is_some();
        if world.get_resource::<Presentation>().is_some_and(shows) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("scene {number} did not come, but {:?}", shown(app).number());
}

fn frames_of(app: &mut App, seconds: f32) {
    app.insert_resource(bevy::time::TimeUpdateStrategy::ManualDuration(Duration::from_secs_f32(seconds)));
}

#[test]
fn playlist_scenes_pause_at_their_last_tick() {
    let mut app = app();
    frames_of(&mut app, 0.1);
    send(&mut app, PresentCommand::Begin(list()));
    wait_for(&mut app, 1);
    assert_eq!(*app.world().resource::<State<Workspace>>().get(), Workspace::Present);
    assert!(app.world().resource::<Simulations>().selected().title.contains("hill"));
    // It fast-forwards to its first tick and pauses at its last.
    for _ in 0..300 {
        app.update();
    }
    let ticks = app.world().resource::<Simulations>().ticks();
    assert!((6..=8).contains(&ticks) && !app.world().resource::<Transport>().playing, "{ticks}");
    // There is nothing before the first scene.
    send(&mut app, PresentCommand::Go(-1));
    app.update();
    assert_eq!(shown(&app).number(), (1, 3));
    send(&mut app, PresentCommand::Go(1));
    wait_for(&mut app, 2);
    // With occasional input it stays; without, it advances after ten seconds. Nothing follows the last scene.
    for _ in 0..15 {
        app.world_mut().resource_mut::<Presentation>().touch();
        frames_of(&mut app, 1.0);
        app.update();
    }
    assert_eq!(shown(&app).number().0, 2);
    for _ in 0..30 {
        app.update();
    }
    assert_eq!(shown(&app).number().0, 3);
    // It cannot be opened, which is reported, and going back is possible.
    for _ in 0..200 {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(app.world().resource::<Notices>().shown().any(|notice| notice.text.contains("nowhere")));
    send(&mut app, PresentCommand::Go(-1));
    wait_for(&mut app, 2);
    // Leaving the Present workspace ends the presentation: a pending scene is dropped, and no shortcut opens the next one.
    let project_id = app.world().resource::<Simulations>().project_id();
    send(&mut app, PresentCommand::Go(-1));
    send(&mut app, OpenWorkspace(Workspace::Sculpt));
    for _ in 0..100 {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    send(&mut app, PresentCommand::Go(1));
    app.update();
    assert!(
        !app.world().contains_resource::<Presentation>()
            && app.world().resource::<Simulations>().project_id() == project_id
    );
}

#[test]
fn fast_forwarding_is_not_part_of_the_seconds_of_a_scene() {
    let mut list = Playlist::clone(&list());
    (list.scenes[0].ticks, list.scenes[0].seconds) = ((10_000, 0), 0.003);
    let mut app = app();
    app.insert_resource(FrameBudget(Duration::from_nanos(1)));
    frames_of(&mut app, 0.001);
    send(&mut app, PresentCommand::Begin(Arc::new(list)));
    wait_for(&mut app, 1);
    for _ in 0..10 {
        app.update();
    }
    let [scene, whole] = shown(&app).elapsed_times();
    assert!(scene.is_zero() && whole >= Duration::from_millis(10), "{scene:?} of {whole:?}");
    assert_eq!(shown(&app).number().0, 1);
    // Pausing ends the fast-forward.
    send(&mut app, SimulationCommand::TogglePlay);
    wait_for(&mut app, 2);
}

#[test]
fn playlist_draft_is_remembered_until_saved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (settings, file) = (folder.path().join("settings.ron"), folder.path().join("my.ron"));
    let mut app = app();
    app.world_mut().resource_mut::<Preferences>().file = Some(settings.clone());
    app.update();
    let list = list();
    send(&mut app, PlaylistCommand::Edit(Arc::clone(&list)));
    app.update();
    let saved = |app: &App| app.world().resource::<Draft>().has_saved(&list);
    assert!(!saved(&app));
    let saved_draft = |app: &mut App| {
        app.world_mut().write_message(AppExit::Success);
        app.update();
        Draft::remembered(&SettingsFile::load(&settings).unwrap_or_else(|error| panic!("{error}")).playlist).list
    };
    assert_eq!(saved_draft(&mut app), *list);
    // A folder is no file.
    for (path, wanted) in [(folder.path().to_owned(), false), (file, true)] {
        send(&mut app, PlaylistCommand::Save(Arc::clone(&list), path));
        app.update();
        until_done(&mut app);
        assert_eq!(saved(&app), wanted);
    }
    assert_eq!(saved_draft(&mut app), Playlist::default(), "a file has it");
    assert_eq!(Draft::remembered("(scenes: [(of_tomorrow: 1)])"), Draft::default(), "another version wrote it");
}

#[test]
fn presented_project_brings_its_camera_keyframes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let mut project = Project::of(vec![open_first("round-hill", &options).expect("it is built in")]);
    for (tick, round) in [(0.0, 20.0), (4.0, 80.0)] {
        assert!(project.views.saved.keys.set(CameraKeyframe { tick, ..CameraKeyframe::still(round, 30.0, 1.4) }));
    }
    project::save(&mut project, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut list = Playlist::clone(&list());
    list.scenes[0] = Item { open: path.clone(), ..Item::default() };
    let mut app = app();
    frames_of(&mut app, 0.01);
    send(&mut app, PresentCommand::Begin(Arc::new(list)));
    let keys = |app: &App| {
        app.world()
            .resource::<Simulations>()
            .views
            .keys
            .list()
            .iter()
            .map(|key| (key.tick, key.round))
            .collect::<Vec<_>>()
    };
    for (number, steps, wanted) in [(1, 1, vec![(0.0, 20.0), (4.0, 80.0)]), (2, -1, Vec::new())] {
        wait_for(&mut app, number);
        assert_eq!(keys(&app), wanted, "scene {number}");
        send(&mut app, PresentCommand::Go(steps));
    }
    wait_for(&mut app, 1);
    assert_eq!(keys(&app).len(), 2);
}

#[test]
fn kiosk_loops_restarts_when_idle_and_denies_file_access() {
    let mut app = app();
    frames_of(&mut app, 0.1);
    let kiosk = Presentation::of(list(), true, app.world().resource::<Simulations>());
    app.insert_resource(kiosk);
    app.world_mut().trigger(OpenWorkspace(Workspace::Present));
    app.world_mut().trigger(PresentCommand::Again);
    wait_for(&mut app, 1);
    let simulations = app.world().resource::<Simulations>();
    assert!(shown(&app).is_kiosk());
    let allows = |command: AppCommand| command.is_allowed_in_kiosk(simulations);
    let set = |group: &str, name| EditCommand::Set(group.into(), name, Value::Number(1.0)).into();
    assert!(allows(SimulationCommand::TogglePlay.into()) && allows(CameraCommand::FrameAll.into()));
    assert!(allows(set("droplets", "entrainment")) && !allows(set("droplets", "per_tick")));
    for refused in [
        FileCommand::Quit.into(),
        FileCommand::SaveScene("a.ron".into()).into(),
        WindowCommand::Cancel.into(),
        WindowCommand::Toggle("palette").into(),
        OpenWorkspace(Workspace::Sculpt).into(),
        ScreenshotCommand::Take.into(),
        ToggleRecording.into(),
        RecordTurntable.into(),
        PresentCommand::Begin(list()).into(),
    ] {
        assert!(!allows(refused));
    }
    send(&mut app, OpenWorkspace(Workspace::Sculpt));
    send(&mut app, FileCommand::Quit);
    frames_of(&mut app, 0.01);
    app.update();
    app.update();
    assert!(shown(&app).is_kiosk() && app.should_exit().is_none());
    assert_eq!(*app.world().resource::<State<Workspace>>(), Workspace::Present);
    frames_of(&mut app, 0.1);
    // Going back from the first scene leads to the last, which cannot be opened; the first follows after the delay.
    send(&mut app, PresentCommand::Go(-1));
    app.update();
    assert_eq!(shown(&app).number(), (3, 3));
    frames_of(&mut app, 1.0);
    wait_for(&mut app, 1);
    send(&mut app, PresentCommand::Go(1));
    wait_for(&mut app, 2);
    // After input and a pause it starts again; otherwise it would have advanced.
    app.world_mut().resource_mut::<Presentation>().touch();
    frames_of(&mut app, 61.0);
    app.update();
    frames_of(&mut app, 0.01);
    wait_for(&mut app, 1);
}
