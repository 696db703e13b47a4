use self::recovery::{autosaves, keeping};
use super::*;
use crate::features;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bevy::state::app::StatesPlugin;
use thalweg_scene::{
    io::{
        project::{self, SavedViews},
        scene::open_first,
    },
    model::{
        film::{CameraKeyframe, Ease},
        origin::Options,
    },
};
use thalweg_sim::{
    core::{grid::Grid, terrain::Layer},
    params::Value,
};

fn app() -> App {
    background::pool();
    let mut app = App::new();
    let options = Options { size: Some((64, 64)), ..Options::default() };
    app.add_plugins((MinimalPlugins, StatesPlugin, plugin, features::plugin))
        .insert_resource(Simulations::new(vec![open_first("round-hill", &options).expect("built in")]))
        .insert_resource(Transport::paused());
    app
}

fn send(app: &mut App, command: impl Into<AppCommand>) {
    app.world_mut().write_message(command.into());
}

/// Updates until the terrain of all restarts is there.
fn update_until_restarted(app: &mut App) {
    app.update();
    while app.world().resource::<Restarts>().is_active() {
        app.update();
    }
}

fn update_until_quiet(app: &mut App) {
    for _ in 0..500 {
        app.update();
    }
}

#[test]
fn step_runs_requested_ticks_and_displays_each() {
    let mut app = app();
    app.update();
    let before = app.world().resource::<Revision>().state;
    send(&mut app, SimulationCommand::Step(3));
    update_until_quiet(&mut app);
    assert_eq!(app.world().resource::<Simulations>().selected().simulation.ticks(), 3);
    // A long tick is also displayed midway.
    assert!(app.world().resource::<Revision>().state >= before + 3);
}

#[test]
fn zero_frame_budget_spreads_tick_without_changing_it() {
    let (mut whole, mut slow) = (app(), app());
    slow.insert_resource(FrameBudget(Duration::from_nanos(1)));
    for app in [&mut whole, &mut slow] {
        send(app, SimulationCommand::Step(2));
        update_until_quiet(app);
    }
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    assert_eq!(slow.world().resource::<Simulations>().selected().simulation.ticks(), 2);
    assert!(terrain(&whole) == terrain(&slow), "the frame budget changed the result");
}

#[test]
fn frame_excess_pauses_ticks_briefly_but_not_strokes() {
    let fair = Duration::from_millis(200);
    let begin = |deadline: &mut Deadline| {
        deadline.begin(fair);
        let brush = deadline.until.saturating_duration_since(Instant::now());
        assert!(brush > fair / 2, "a stroke has {brush:?}");
        (deadline.pauses_ticks, deadline.left())
    };
    let mut deadline = Deadline { excess: 5 * fair / 2, ..Deadline::default() };
    assert_eq!([begin(&mut deadline), begin(&mut deadline)], [(true, Duration::ZERO); 2]);
    let (rests, left) = begin(&mut deadline);
    assert!(!rests && left > fair / 4 && left <= fair / 2, "{left:?}");
    // However large the excess is, ticks continue.
    deadline.excess = 1000 * fair;
    let rested = (0..20).take_while(|_| begin(&mut deadline).0).count();
    assert_eq!(rested, MAX_PAUSED_FRAMES as usize);
    // The time that a pass uses beyond its limit adds to the excess.
    deadline.begin(Duration::ZERO);
    assert!(!deadline.pauses_ticks, "without any time it would never run");
    std::thread::sleep(Duration::from_millis(3));
    deadline.end(Instant::now());
    assert!(deadline.excess >= Duration::from_millis(3), "{:?}", deadline.excess);
}

#[test]
fn long_tick_is_displayed_while_it_runs() {
    let mut app = app();
    app.insert_resource(FrameBudget(Duration::from_nanos(1)));
    for slot in &mut app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.slots {
        slot.enabled = slot.key() == "droplets";
    }
    app.world_mut().resource_mut::<Simulations>().all_mut()[0].set("droplets.per_tick", "20000").expect("in range");
    let state = |app: &App| app.world().resource::<Revision>().state;
    app.update();
    let before = state(&app);
    send(&mut app, SimulationCommand::Step(1));
    let mut midway = false;
    while app.world().resource::<Simulations>().ticks() == 0 {
        app.update();
        let simulations = app.world().resource::<Simulations>();
        midway |= !simulations.between_ticks() && simulations.can_be_shown() && state(&app) > before;
    }
    assert!(midway, "nothing was displayed before the end of the tick");
}

#[test]
fn stepping_by_stage_matches_a_whole_tick() {
    let ready = || {
        let mut app = app();
        for session in app.world_mut().resource_mut::<Simulations>().all_mut() {
            for slot in &mut session.simulation.slots {
                slot.enabled = ["water", "thermal"].contains(&slot.key());
            }
        }
        app
    };
    let (mut whole, mut staged) = (ready(), ready());
    send(&mut whole, SimulationCommand::Step(2));
    update_until_quiet(&mut whole);
    let simulations = |app: &App| app.world().resource::<Simulations>().clone();
    let revision = |app: &App| app.world().resource::<Revision>().state;
    staged.update();
    let mut next = Vec::new();
    for _ in 0..4 {
        let before = revision(&staged);
        send(&mut staged, SimulationCommand::Stage);
        // Nothing advances on its own, however many frames pass.
        (0..4).for_each(|_| staged.update());
        assert_eq!(revision(&staged), before + 1);
        assert!(simulations(&staged).is_displayable());
        next.push(simulations(&staged).next_stage().map(|(_, stage)| stage));
    }
    assert_eq!(next, [Some("flow"), Some("erosion"), Some("slide"), None]);
    assert_eq!(simulations(&staged).ticks(), 1);
    // The rest of a tick begun in this way counts as one.
    for command in [SimulationCommand::Stage, SimulationCommand::Step(1)] {
        send(&mut staged, command);
        update_until_quiet(&mut staged);
    }
    assert_eq!(simulations(&staged).ticks(), 2);
    assert!(simulations(&staged).next_stage().is_none());
    let terrain = |app: &App| simulations(app).selected().simulation.terrain.clone();
    assert!(terrain(&whole) == terrain(&staged));
}

#[test]
fn restart_restores_start_until_terrain_changes() {
    let mut app = app();
    let start = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, SimulationCommand::Step(1));
    update_until_quiet(&mut app);
    send(&mut app, SimulationCommand::Restart);
    update_until_restarted(&mut app);
    assert!(app.world().resource::<Simulations>().selected().simulation.terrain == start);
    send(&mut app, EditCommand::Set("terrain".into(), "relief", Value::Number(50.0)));
    update_until_restarted(&mut app);
    assert_eq!(app.world().resource::<Simulations>().selected().terrain.relief, 50.0);
    assert!(app.world().resource::<Simulations>().selected().simulation.terrain != start);
}

#[test]
fn last_seed_wins_and_pending_map_loads_onto_new_terrain() {
    let mut app = app();
    app.update();
    for seed in [20, 30, 40] {
        send(&mut app, SimulationCommand::SetSeed(seed));
    }
    app.update();
    send(&mut app, SimulationCommand::SetSeed(50));
    update_until_restarted(&mut app);
    let session = |app: &App| app.world().resource::<Simulations>().selected().clone();
    assert_eq!(session(&app).simulation.seed(), 50);
    assert!(app.world().resource::<History>().done().len() <= 2, "each position of a slider became a step");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rain.png");
    send(&mut app, FileCommand::SaveMap("height", path.clone()));
    app.update();
    until_done(&mut app);
    send(&mut app, FileCommand::Load(Layer::Rain, path, Options::default()));
    send(&mut app, EditCommand::Set("terrain".into(), "relief", Value::Number(50.0)));
    until_done(&mut app);
    update_until_restarted(&mut app);
    let session = session(&app);
    assert_eq!((session.terrain.relief, session.maps.contains_key(&Layer::Rain)), (50.0, true));
}

#[test]
fn failed_simulation_pauses_at_last_keyframe() {
    let mut app = app();
    send(&mut app, SimulationCommand::Step(3));
    update_until_quiet(&mut app);
    for session in app.world_mut().resource_mut::<Simulations>().all_mut() {
        let water = session.simulation.slot_mut("water").expect("it is in the catalogue");
        water.enabled = true;
        session.simulation.terrain.bedrock[70] = f32::NAN;
    }
    send(&mut app, SimulationCommand::TogglePlay);
    app.update();
    let begun = Instant::now();
    while app.world().resource::<Transport>().playing && begun.elapsed() < Duration::from_secs(60) {
        app.update();
    }
    let world = app.world();
    assert!(!world.resource::<Transport>().playing);
    let simulation = &world.resource::<Simulations>().selected().simulation;
    assert!(simulation.fault().is_none() && simulation.ticks() <= 3);
    assert!(simulation.terrain.bedrock.iter().all(|height| height.is_finite()));
    let messages: Vec<&Notice> =
        world.resource::<Notices>().shown().filter(|notice| notice.level == NoticeLevel::Error).collect();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].text.contains("failed in tick 4: the bedrock of the cell in column"), "{}", messages[0].text);
    send(&mut app, SimulationCommand::Step(1));
    update_until_quiet(&mut app);
    assert!(app.world().resource::<Simulations>().selected().simulation.fault().is_none());
}

#[test]
fn panicking_process_pauses_and_autosaves_last_keyframe() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = keeping(folder.path());
    send(&mut app, EditCommand::AddSand(2.0));
    send(&mut app, SimulationCommand::Step(3));
    update_until_quiet(&mut app);
    for session in app.world_mut().resource_mut::<Simulations>().all_mut() {
        assert!(session.simulation.slots.iter().any(|slot| slot.key() == "droplets" && slot.enabled));
        session.simulation.terrain.softness = Grid::filled(1, 1, 0.5);
    }
    assert!(autosaves(folder.path()).is_empty(), "no autosave was due");
    send(&mut app, SimulationCommand::Step(1));
    update_until_quiet(&mut app);
    wait_for_jobs(&mut app);
    let simulation = &app.world().resource::<Simulations>().selected().simulation;
    assert!(simulation.fault().is_none() && simulation.terrain.sand.iter().any(|sand| *sand > 0.0));
    let notices = app.world().resource::<Notices>();
    let messages: Vec<&str> =
        notices.shown().filter(|notice| notice.level == NoticeLevel::Error).map(|notice| &*notice.text).collect();
    let [text] = messages[..] else { panic!("{messages:?}") };
    assert!(text.starts_with("Droplets failed in tick 4: internal error (range start index"), "{text}");
    let [path] = &autosaves(folder.path())[..] else { panic!("no autosave") };
    let project = project::open(path).unwrap_or_else(|error| panic!("{error}"));
    assert!(project.sessions[0].simulation.terrain == simulation.terrain);
}

#[test]
fn pending_save_completes_before_exit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("height.r32");
    let mut app = app();
    send(&mut app, FileCommand::SaveMap("height", path.clone()));
    app.world_mut().write_message(AppExit::Success);
    app.update();
    assert_eq!(std::fs::metadata(&path).map(|file| file.len()).ok(), Some(64 * 64 * 4));
}

#[test]
fn discarding_commands_are_undone_bit_identically() {
    let mut app = app();
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    let before = terrain(&app);
    let commands: [AppCommand; 8] = [
        SimulationCommand::Restart.into(),
        SimulationCommand::NewSeed.into(),
        SimulationCommand::SetSeed(99).into(),
        SimulationCommand::SetSize(32).into(),
        EditCommand::Set("terrain".into(), "relief", Value::Number(50.0)).into(),
        EditCommand::AddSand(1.0).into(),
        EditCommand::RemoveSand.into(),
        EditCommand::RemoveWater.into(),
    ];
    for command in commands {
        send(&mut app, command.clone());
        app.update();
        send(&mut app, EditCommand::Undo);
        app.update();
        assert!(terrain(&app) == before, "{command:?} is not undone");
        assert_eq!(app.world().resource::<Simulations>().ticks(), 2, "{command:?}");
        send(&mut app, EditCommand::Redo);
        app.update();
        send(&mut app, EditCommand::Undo);
        app.update();
        assert!(terrain(&app) == before, "{command:?} is not undone the second time");
    }
}

#[test]
fn dragged_parameter_is_one_undo_step() {
    let mut app = app();
    let friction = |app: &App| {
        let groups = app.world().resource::<Simulations>().selected().groups();
        thalweg_sim::params::get(&groups, "droplets.friction").expect("it exists").value
    };
    let before = friction(&app);
    for value in [0.1, 0.2, 0.3] {
        send(&mut app, EditCommand::Set("droplets".into(), "friction", Value::Number(value)));
        app.update();
    }
    assert_eq!(friction(&app), Value::Number(0.3));
    send(&mut app, EditCommand::Undo);
    app.update();
    assert_eq!(friction(&app), before);
    send(&mut app, EditCommand::Redo);
    app.update();
    assert_eq!(friction(&app), Value::Number(0.3));
}

/// Runs until no job is left.
fn until_done(app: &mut App) {
    for _ in 0..5000 {
        app.update();
        if app.world().resource::<Jobs>().count() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("a job does not finish");
}

#[test]
fn invalid_files_are_reported_and_change_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = app();
    app.update();
    let before = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    let broken = folder.path().join("broken.png");
    std::fs::write(&broken, b"no picture").expect("it is writable");
    let scene = folder.path().join("broken.ron");
    std::fs::write(&scene, b"(title: 3)").expect("it is writable");
    for command in [
        FileCommand::Open(broken.clone(), Options::default()),
        FileCommand::Open(scene, Options::default()),
        FileCommand::Open(folder.path().into(), Options::default()),
        FileCommand::Open("no-such-scene".into(), Options::default()),
        FileCommand::Load(Layer::Bedrock, broken.clone(), Options::default()),
        FileCommand::Load(Layer::Rain, broken.clone(), Options::default()),
        FileCommand::SaveMap("height", folder.path().join("map.jpg")),
        FileCommand::SaveScene(folder.path().join("broken.png/inside.ron")),
    ] {
        send(&mut app, command.clone());
        app.update();
        until_done(&mut app);
        let mut notices = app.world_mut().resource_mut::<Notices>();
        let messages: Vec<(u64, NoticeLevel, String)> =
            notices.shown().map(|notice| (notice.id, notice.level, notice.text.clone())).collect();
        assert_eq!(messages.len(), 1, "{command:?}: {messages:?}");
        assert!(
            messages[0].1 == NoticeLevel::Error && messages[0].2.contains("; ") && messages[0].2.ends_with('.'),
            "{messages:?}"
        );
        notices.dismiss(messages[0].0);
        assert!(app.world().resource::<Simulations>().selected().simulation.terrain == before, "{command:?}");
    }
}

#[test]
fn opened_scene_and_loaded_map_can_be_undone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = app();
    send(&mut app, SimulationCommand::Step(1));
    update_until_quiet(&mut app);
    let before = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    let framed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&framed);
    app.add_observer(move |command: On<CameraCommand>| {
        counter.fetch_add(usize::from(*command.event() == CameraCommand::FrameAgain), Ordering::Relaxed);
    });
    let path = folder.path().join("height.png");
    send(&mut app, FileCommand::SaveMap("height", path.clone()));
    app.update();
    until_done(&mut app);
    send(&mut app, FileCommand::Load(Layer::Bedrock, path, Options::default()));
    app.update();
    until_done(&mut app);
    let simulations = app.world().resource::<Simulations>();
    assert_eq!((simulations.ticks(), simulations.selected().simulation.terrain.width()), (0, 64));
    assert_eq!(framed.load(Ordering::Relaxed), 1, "the camera frames new ground");
    send(&mut app, FileCommand::Open("ten-seeds".into(), Options::default()));
    app.update();
    until_done(&mut app);
    assert_eq!(app.world().resource::<Simulations>().all().len(), 20);
    // The opened scene plays.
    app.insert_resource(Transport::paused());
    for _ in 0..2 {
        send(&mut app, EditCommand::Undo);
        app.update();
    }
    assert!(app.world().resource::<Simulations>().selected().simulation.terrain == before);
}

#[test]
fn simulation_pauses_at_total_and_resumes_on_request() {
    let mut app = app();
    let mut simulations = app.world_mut().resource_mut::<Simulations>();
    let session = &mut simulations.all_mut()[0];
    session.set("droplets.per_tick", "100").expect("it is a parameter");
    session.set("droplets.total", "1000").expect("it is a parameter");
    session.simulation.slot_mut("droplets").expect("it is in the catalogue").enabled = true;
    let run = |app: &mut App| {
        for _ in 0..400 {
            app.world_mut().resource_mut::<Transport>().due += 1.0;
            app.update();
            if !app.world().resource::<Transport>().playing {
                break;
            }
        }
        app.world().resource::<Simulations>().ticks()
    };
    app.insert_resource(Transport::default());
    assert_eq!(run(&mut app), 10);
    send(&mut app, SimulationCommand::TogglePlay);
    assert!(run(&mut app) > 100, "it was paused twice");
}

#[test]
fn runoff_replaces_water_and_undo_restores_it() {
    let mut app = app();
    let on = |app: &App| -> Vec<&'static str> {
        let slots = &app.world().resource::<Simulations>().selected().simulation.slots;
        slots.iter().filter(|slot| slot.enabled).map(|slot| slot.key()).collect()
    };
    let ask = |app: &mut App, command: EditCommand| {
        send(app, command);
        app.update();
    };
    ask(&mut app, EditCommand::Enable("droplets", false));
    ask(&mut app, EditCommand::Enable("water", true));
    ask(&mut app, EditCommand::Enable("runoff", true));
    assert_eq!(on(&app), ["runoff"]);
    assert!(app.world().resource::<Notices>().shown().any(|notice| notice.text.contains("replaces Water")));
    ask(&mut app, EditCommand::Undo);
    assert_eq!(on(&app), ["water"]);
}

fn leaves(app: &App) -> bool {
    !app.world().resource::<Messages<AppExit>>().is_empty()
}

fn wait_for_jobs(app: &mut App) {
    for _ in 0..2000 {
        app.update();
        if app.world().resource::<Jobs>().count() == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    app.update();
}

fn is_unsaved(app: &App) -> bool {
    app.world().resource::<Document>().unsaved(app.world().resource::<History>())
}

#[test]
fn saved_project_reopens_and_tracks_unsaved_changes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let mut app = app();
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    assert!(!is_unsaved(&app), "looking around leaves nothing to save");
    send(&mut app, EditCommand::AddSand(2.0));
    app.update();
    assert!(is_unsaved(&app));
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    assert!(!is_unsaved(&app) && path.exists());
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    let saved = terrain(&app);
    send(&mut app, EditCommand::RemoveSand);
    app.update();
    assert!(is_unsaved(&app) && terrain(&app) != saved);
    send(&mut app, FileCommand::Open(path.clone(), Options::default()));
    wait_for_jobs(&mut app);
    assert!(terrain(&app) == saved && !is_unsaved(&app));
    assert_eq!(app.world().resource::<Simulations>().ticks(), 2);
    assert_eq!(app.world().resource::<Simulations>().file.as_ref().map(|file| &file.path), Some(&path));
    assert_eq!(app.world().resource::<Preferences>().remembered.recent, [path]);
}

#[test]
fn bookmarks_are_saved_with_their_project() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let mut app = app();
    let views = |app: &App| app.world().resource::<Simulations>().views.clone();
    // The camera pose is not known yet.
    send(&mut app, SaveBookmark(3));
    app.update();
    send(&mut app, KeyframeCommand::Set);
    app.update();
    assert!(views(&app) == SavedViews::default() && !is_unsaved(&app));
    let camera = project::Camera { focus: [1.0, 2.0, 3.0], yaw: 0.5, pitch: 0.6, distance: 70.0 };
    let pose = CameraKeyframe::still(30.0, 40.0, 2.0).pose();
    app.insert_resource(CameraPose { camera: Some(camera), pose: Some(pose) });
    for number in [0, 3, 10] {
        send(&mut app, SaveBookmark(number));
    }
    app.update();
    let mut wanted = SavedViews::default();
    wanted.bookmarks[2] = Some(camera);
    assert!(views(&app) == wanted && is_unsaved(&app), "a bookmark is an unsaved change");
    send(&mut app, KeyframeCommand::Set);
    app.update();
    let tick = app.world().resource::<Simulations>().ticks();
    for command in [
        KeyframeCommand::SetInterpolation(tick, Ease::Even),
        KeyframeCommand::Move(tick, tick + 5),
        KeyframeCommand::Set,
    ] {
        send(&mut app, command);
    }
    app.update();
    assert_eq!(views(&app).keys.list().len(), 2);
    let follows = |app: &App| app.world().resource::<KeyframeFollowing>().0;
    for wanted in [true, false, true] {
        send(&mut app, KeyframeCommand::Follow);
        app.update();
        assert_eq!(follows(&app), wanted);
    }
    send(&mut app, KeyframeCommand::Remove(tick));
    app.update();
    wanted.keys.set(CameraKeyframe::new(tick as f64 + 5.0, pose, Ease::Even));
    assert_eq!(views(&app), wanted);
    // All of it can be undone, also after ticks have run.
    send(&mut app, SimulationCommand::Step(3));
    app.update();
    app.update();
    let left = wanted.keys.list().to_vec();
    let ticks =
        |app: &App| views(app).keys.list().iter().map(|key| (key.tick - tick as f64, key.then)).collect::<Vec<_>>();
    let (smooth, even) = (Ease::default(), Ease::Even);
    let steps = [
        vec![(5.0, even)],
        vec![(0.0, smooth), (5.0, even)],
        vec![(5.0, even)],
        vec![(0.0, even)],
        vec![(0.0, smooth)],
        vec![],
    ];
    for (number, wanted) in steps.iter().enumerate() {
        assert_eq!(ticks(&app), *wanted, "{number} steps were undone");
        send(&mut app, EditCommand::Undo);
        app.update();
    }
    for wanted in steps.iter().rev() {
        assert_eq!(ticks(&app), *wanted);
        send(&mut app, EditCommand::Redo);
        app.update();
    }
    assert_eq!(views(&app).keys.list(), left);
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    assert!(!is_unsaved(&app));
    let options = Options { size: Some((32, 32)), ..Options::default() };
    send(&mut app, FileCommand::Open("round-hill".into(), options));
    wait_for_jobs(&mut app);
    assert!(views(&app) == SavedViews::default() && !follows(&app));
    send(&mut app, FileCommand::Open(path.clone(), Options::default()));
    wait_for_jobs(&mut app);
    assert_eq!(views(&app), wanted);
}

#[test]
fn quit_asks_to_save_unsaved_work() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let mut app = app();
    send(&mut app, EditCommand::AddSand(2.0));
    app.update();
    send(&mut app, FileCommand::Quit);
    app.update();
    assert!(app.world().resource::<Document>().asks_to_save && !leaves(&app));
    send(&mut app, FileCommand::CancelQuit);
    app.update();
    assert!(!app.world().resource::<Document>().asks_to_save && !leaves(&app));
    send(&mut app, FileCommand::QuitWhenSaved);
    send(&mut app, FileCommand::SaveProject(path.clone()));
    for _ in 0..2000 {
        app.update();
        if leaves(&app) {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(path.exists() && leaves(&app));
    let mut other = self::app();
    send(&mut other, FileCommand::Quit);
    other.update();
    assert!(leaves(&other), "without changes there is no question");
}

#[test]
fn quit_waits_for_files_unless_one_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("height.r32");
    let mut app = app();
    app.update();
    let tells = |app: &App, text: &str| app.world().resource::<Notices>().shown().any(|n| n.text.starts_with(text));
    // A folder is no file.
    std::fs::create_dir(&path).expect("the folder is writable");
    send(&mut app, FileCommand::SaveMap("height", path.clone()));
    send(&mut app, FileCommand::Quit);
    app.update();
    assert!(tells(&app, "Finishing files") && !leaves(&app));
    wait_for_jobs(&mut app);
    assert!(app.world().resource::<Notices>().shown().any(|notice| notice.level == NoticeLevel::Error));
    assert!(!tells(&app, "Finishing files") && !leaves(&app), "the error could not be read");
    std::fs::remove_dir(&path).expect("it is empty");
    send(&mut app, FileCommand::SaveMap("height", path.clone()));
    send(&mut app, FileCommand::Quit);
    for _ in 0..2000 {
        app.update();
        if leaves(&app) {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(leaves(&app) && path.is_file());
}

#[test]
fn quitting_anyway_cancels_files_being_written() {
    let mut app = app();
    app.update();
    let wait = |progress: &thalweg_scene::io::JobProgress| {
        while !progress.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    };
    app.world_mut().resource_scope(|world, mut jobs: Mut<Jobs>| {
        let job = Job::new(JobKind::Independent, "Exporting…");
        jobs.start(&mut world.resource_mut::<Notices>(), job, wait, |In(()): In<()>| ());
    });
    for wanted in [false, true] {
        send(&mut app, FileCommand::QuitUnsaved);
        app.update();
        assert_eq!(leaves(&app), wanted);
    }
}

#[test]
fn repeated_failure_to_save_settings_is_reported_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = app();
    // A folder is no file.
    app.world_mut().resource_mut::<Preferences>().file = Some(folder.path().to_owned());
    app.update();
    for wanted in [1, 0] {
        app.world_mut().resource_mut::<Preferences>().settings.scale *= 1.1;
        app.update();
        std::thread::sleep(Duration::from_millis(1100));
        app.update();
        wait_for_jobs(&mut app);
        let mut notices = app.world_mut().resource_mut::<Notices>();
        let errors: Vec<u64> = notices.shown().filter(|n| n.level == NoticeLevel::Error).map(|n| n.id).collect();
        assert_eq!(errors.len(), wanted);
        errors.into_iter().for_each(|id| notices.dismiss(id));
    }
}

#[test]
fn replaced_project_is_autosaved_until_regular_exit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = keeping(folder.path());
    send(&mut app, EditCommand::AddSand(2.0));
    app.update();
    let wanted = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, FileCommand::Open("cone".into(), Options::default()));
    wait_for_jobs(&mut app);
    let [autosave] = &autosaves(folder.path())[..] else { panic!("no autosave") };
    let project = project::open(autosave).unwrap_or_else(|error| panic!("{error}"));
    assert!(project.sessions[0].simulation.terrain == wanted);
    app.world_mut().write_message(AppExit::Success);
    app.update();
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
}

#[test]
fn undo_restores_project_file_and_crash_autosaves() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [first, second] = ["first", "second"].map(|name| folder.path().join(format!("{name}.thalweg")));
    let mut app = keeping(&folder.path().join("kept"));
    let file = |app: &App| app.world().resource::<Simulations>().file.as_ref().map(|file| file.path.clone());
    for path in [&first, &second] {
        send(&mut app, FileCommand::SaveProject(path.clone()));
        wait_for_jobs(&mut app);
        assert_eq!(file(&app).as_ref(), Some(path));
    }
    send(&mut app, FileCommand::Open(first.clone(), Options::default()));
    wait_for_jobs(&mut app);
    assert_eq!(file(&app), Some(first));
    send(&mut app, EditCommand::Undo);
    app.update();
    assert_eq!(file(&app), Some(second));
    send(&mut app, EditCommand::AddSand(3.0));
    app.update();
    let wanted = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    app.world_mut().write_message(AppExit::error());
    app.update();
    let [autosave] = &autosaves(&folder.path().join("kept"))[..] else { panic!("no autosave") };
    let project = project::open(autosave).unwrap_or_else(|error| panic!("{error}"));
    assert!(project.sessions[0].simulation.terrain == wanted);
}

mod card;
mod growth;
mod lab;
mod layers;
mod lesson;
mod opening;
mod presentation;
mod recovery;
mod timeline;
mod unwritable;
