//! The timeline: going back, branches, and saved snapshots.

use std::sync::Arc;

use super::*;
use thalweg_sim::core::terrain::Source;

pub(super) fn marks(app: &App) -> Vec<TimelinePosition> {
    app.world().resource::<History>().marks()
}

/// Runs this number of ticks and waits until the snapshot that is then due is packed.
pub(super) fn run(app: &mut App, ticks: u32) {
    let until = app.world().resource::<Simulations>().ticks() + u64::from(ticks);
    send(app, SimulationCommand::Step(ticks));
    loop {
        app.update();
        let (simulations, history) = (app.world().resource::<Simulations>(), app.world().resource::<History>());
        let is_there = simulations.ticks() >= until && simulations.between_ticks();
        if is_there && !history.is_packing() && !history.is_due(simulations) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn timeline_restores_states_and_keeps_branches() {
    let mut app = app();
    app.update();
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    run(&mut app, 15);
    run(&mut app, 15);
    let first = marks(&app);
    assert!(first.len() >= 3 && first.iter().all(|mark| mark.branch == 0), "{first:?}");
    let late = terrain(&app);
    let early = first.iter().find(|mark| mark.tick > 0 && mark.tick < 20).copied().expect("there is a snapshot");
    send(&mut app, HistoryCommand::GoTo(early.id));
    app.update();
    let then = terrain(&app);
    assert!(then != late && app.world().resource::<Simulations>().ticks() == early.tick);
    assert!(!app.world().resource::<Transport>().playing);
    // From there it runs as before.
    run(&mut app, 30 - early.tick as u32);
    assert!(terrain(&app) == late, "it continued differently");
    // An edited state starts another branch; the first one remains.
    send(&mut app, HistoryCommand::GoTo(early.id));
    app.update();
    assert!(terrain(&app) == then);
    send(&mut app, EditCommand::AddSand(1.0));
    app.update();
    run(&mut app, 12);
    let all = marks(&app);
    assert!(first.iter().all(|mark| all.contains(mark)), "a keyframe is gone: {all:?}");
    assert!(all.iter().any(|mark| mark.branch > 0), "{all:?}");
    let other = terrain(&app);
    // Back to the end of the first branch, which was stored on leaving it.
    let end = all.iter().find(|mark| mark.branch == 0 && mark.tick == 30).expect("the current state was stored");
    send(&mut app, HistoryCommand::GoTo(end.id));
    app.update();
    assert!(terrain(&app) == late && other != late);
}

#[test]
fn scrubbing_restores_parameters_but_keeps_the_look() {
    let mut app = app();
    app.update();
    run(&mut app, 15);
    run(&mut app, 15);
    let settings = |app: &App| {
        let session = app.world().resource::<Simulations>().selected();
        (session.look.snow_line, session.water_look.shown, session.all_parameters()["droplets.friction"].clone())
    };
    let before = settings(&app);
    let early = marks(&app).into_iter().find(|mark| mark.tick > 0 && mark.tick < 20).expect("there is a snapshot");
    send(&mut app, EditCommand::Set("look".into(), "snow_line", Value::Number(123.0)));
    send(&mut app, EditCommand::ToggleWater);
    send(&mut app, EditCommand::Set("droplets".into(), "friction", Value::Number(0.5)));
    app.update();
    assert_eq!(settings(&app), (123.0, !before.1, "0.5".to_owned()));
    send(&mut app, HistoryCommand::ScrubTo(early.id));
    app.update();
    assert_eq!(app.world().resource::<Simulations>().ticks(), early.tick);
    assert_eq!(settings(&app), (123.0, !before.1, before.2.clone()));
    // The list of steps restores the look of a step too.
    send(&mut app, HistoryCommand::GoTo(early.id));
    app.update();
    assert_eq!(settings(&app), before);
}

#[test]
fn camera_keyframes_survive_time_travel_and_undo_alone() {
    let mut app = app();
    app.insert_resource(CameraPose {
        pose: Some(CameraKeyframe::still(30.0, 40.0, 2.0).pose()),
        ..CameraPose::default()
    });
    let keys = |app: &App| {
        app.world().resource::<Simulations>().views.keys.list().iter().map(|key| key.tick as u64).collect::<Vec<_>>()
    };
    let set = |app: &mut App| {
        send(app, KeyframeCommand::Set);
        app.update();
        app.world().resource::<History>().here().expect("a step was made")
    };
    run(&mut app, 5);
    let first = set(&mut app);
    run(&mut app, 7);
    let last = set(&mut app);
    assert_eq!(keys(&app), [5, 12]);
    let steps = |app: &mut App, commands: &[(EditCommand, &[u64])]| {
        for (command, wanted) in commands {
            send(app, command.clone());
            app.update();
            assert_eq!(keys(app), *wanted, "{command:?}");
        }
    };
    use EditCommand::{AddSand, Redo, Undo};
    send(&mut app, HistoryCommand::GoTo(first));
    app.update();
    assert_eq!((keys(&app), app.world().resource::<Simulations>().ticks()), (vec![5, 12], 5));
    steps(&mut app, &[(Undo, &[12]), (Redo, &[5, 12]), (Redo, &[5, 12])]);
    send(&mut app, HistoryCommand::GoTo(last));
    app.update();
    // A stroke between two keyframe steps, and ticks after it.
    steps(&mut app, &[(AddSand(1.0), &[5, 12])]);
    run(&mut app, 3);
    set(&mut app);
    assert_eq!(keys(&app), [5, 12, 15]);
    steps(&mut app, &[(Undo, &[5, 12]), (Undo, &[5, 12]), (Undo, &[5]), (Undo, &[])]);
    steps(&mut app, &[(Redo, &[5]), (Redo, &[5, 12]), (Redo, &[5, 12])]);
}

#[test]
fn restart_and_undo_keep_the_timeline() {
    let mut app = app();
    app.update();
    run(&mut app, 24);
    let first = marks(&app);
    let late = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, SimulationCommand::NewSeed);
    update_until_restarted(&mut app);
    run(&mut app, 12);
    let all = marks(&app);
    assert!(first.iter().all(|mark| all.contains(mark)) && all.len() > first.len(), "{all:?}");
    let seed = app.world().resource::<Simulations>().selected().simulation.seed();
    let end = first.iter().max_by_key(|mark| mark.tick).expect("there are some");
    send(&mut app, HistoryCommand::GoTo(end.id));
    app.update();
    run(&mut app, 24 - end.tick as u32);
    let chosen = app.world().resource::<Simulations>().selected().simulation.clone();
    assert!(chosen.seed() != seed && chosen.terrain == late);
    send(&mut app, EditCommand::Undo);
    app.update();
    let len = marks(&app).len();
    run(&mut app, 1);
    assert!(marks(&app).len() >= len);
}

#[test]
fn saved_timeline_is_restored_with_project() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let mut app = app();
    app.update();
    run(&mut app, 25);
    let (first, late) = (marks(&app), app.world().resource::<Simulations>().selected().simulation.terrain.clone());
    let early = first[1];
    send(&mut app, HistoryCommand::GoTo(early.id));
    app.update();
    let then = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    let states = format!("({} states)", marks(&app).len());
    let is_reported = app.world().resource::<Notices>().shown().any(|notice| notice.text.contains(&states));
    assert!(is_reported, "the size of the file is not reported");
    let mut other = self::app();
    other.update();
    send(&mut other, FileCommand::Open(path.clone(), Options::default()));
    wait_for_jobs(&mut other);
    run(&mut other, 1);
    let ticks = |marks: &[TimelinePosition]| marks.iter().map(|mark| (mark.tick, mark.branch)).collect::<Vec<_>>();
    let again = marks(&other);
    let saved = marks(&app);
    assert!(ticks(&again).starts_with(&ticks(&saved)), "{saved:?} came back as {again:?}");
    for (tick, wanted) in [(25, &late), (early.tick, &then)] {
        let mark = again.iter().find(|mark| mark.tick == tick).unwrap_or_else(|| panic!("{tick} of {again:?}"));
        send(&mut other, HistoryCommand::GoTo(mark.id));
        other.update();
        assert!(other.world().resource::<Simulations>().selected().simulation.terrain == *wanted, "tick {tick}");
    }
}

#[test]
fn timeline_node_has_a_thumbnail() {
    let mut app = app();
    app.update();
    run(&mut app, 15);
    let draw = |app: &mut App, id: u64| {
        send(app, HistoryCommand::Draw(id));
        for _ in 0..1000 {
            app.update();
            if let Some(thumbnail) = app.world().resource::<History>().thumbnail(id) {
                return Arc::clone(thumbnail);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("there is no thumbnail of {id}");
    };
    let places = marks(&app);
    let first = draw(&mut app, places[0].id);
    assert_eq!((first.size, first.pixels.len()), ([64, 64], 3 * 64 * 64));
    assert!(first.pixels.iter().max() > first.pixels.iter().min() && first.earlier.is_none());
    let last = draw(&mut app, places[places.len() - 1].id);
    assert_ne!(first.pixels, last.pixels);
    // A step without a state shows the previous state, and reports its tick.
    send(&mut app, EditCommand::AddSand(1.0));
    app.update();
    let step = app.world().resource::<History>().here().expect("it is a step");
    let thumbnail = draw(&mut app, step);
    let has_state = marks(&app).iter().any(|mark| mark.id == step) && thumbnail.earlier.is_none();
    assert!(has_state || thumbnail.earlier.is_some_and(|tick| (1..=15).contains(&tick)), "{:?}", thumbnail.earlier);
    // A node that does not exist has no thumbnail, and nothing waits for it.
    send(&mut app, HistoryCommand::Draw(u64::MAX));
    update_until_quiet(&mut app);
    assert_eq!(app.world().resource::<History>().thumbnail(u64::MAX), None);
}

/// Returns the rows of the history list.
fn rows(app: &App) -> Vec<String> {
    let row = |row: &HistoryRow| row.label.map_or_else(|| format!("tick {}", row.mark.tick), ToString::to_string);
    app.world().resource::<History>().rows().iter().map(row).collect()
}

#[test]
fn steps_and_states_form_one_navigable_tree() {
    let mut app = app();
    app.update();
    let chosen = |app: &App| {
        let mut session = app.world().resource::<Simulations>().selected().clone();
        // An empty mask is equivalent to none.
        let mask = &mut session.simulation.terrain.mask;
        *mask = mask.take().filter(|mask| mask.iter().any(|covered| *covered > 0.0));
        (session.simulation.ticks(), session.all_parameters(), session.simulation.terrain)
    };
    let friction = |value| EditCommand::Set("droplets".into(), "friction", Value::Number(value));
    let mut states = vec![chosen(&app)];
    for command in [friction(0.2), EditCommand::InvertMask, EditCommand::AddSand(1.0), friction(0.3)] {
        send(&mut app, command);
        app.update();
        states.push(chosen(&app));
    }
    let expected = ["tick 0", "Droplets: friction 0.05 → 0.2", "mask", "sand added", "Droplets: friction 0.2 → 0.3"];
    assert_eq!(rows(&app), expected);
    run(&mut app, 12);
    let late = chosen(&app);
    assert_eq!(late.0, 12);
    // Going back and forth between nodes changes none of them.
    let places: Vec<u64> = app.world().resource::<History>().rows().iter().map(|row| row.mark.id).collect();
    for place in [4, 0, 3, 1, 2, 4] {
        send(&mut app, HistoryCommand::GoTo(places[place]));
        app.update();
        assert!(chosen(&app) == states[place], "place {place}");
    }
    // On the way back, steps can be redone one by one.
    send(&mut app, HistoryCommand::GoTo(places[0]));
    app.update();
    for state in &states[1..] {
        send(&mut app, EditCommand::Redo);
        app.update();
        assert!(chosen(&app) == *state);
    }
    for state in states[..4].iter().rev() {
        send(&mut app, EditCommand::Undo);
        app.update();
        assert!(chosen(&app) == *state);
    }
    // The previous end remains, in another branch.
    send(&mut app, friction(0.5));
    app.update();
    let end = app.world().resource::<History>().rows().iter().find(|row| row.mark.tick == 12).map(|row| row.mark.id);
    send(&mut app, HistoryCommand::GoTo(end.expect("the current state was stored")));
    app.update();
    assert!(chosen(&app) == late && rows(&app).contains(&"Droplets: friction 0.05 → 0.5".to_owned()));
}

#[test]
fn undoing_a_setting_keeps_the_tick() {
    let mut app = app();
    app.update();
    send(&mut app, EditCommand::Set("droplets".into(), "friction", Value::Number(0.2)));
    send(&mut app, EditCommand::Enable("thermal", true));
    run(&mut app, 12);
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    let before = terrain(&app);
    let set = |app: &App| {
        let session = app.world().resource::<Simulations>().selected();
        let thermal = session.simulation.slots.iter().any(|slot| slot.key() == "thermal" && slot.enabled);
        (thalweg_sim::params::get(&session.groups(), "droplets.friction").expect("it exists").value, thermal)
    };
    for (command, wanted) in [
        (EditCommand::Undo, ("0.2", false)),
        (EditCommand::Undo, ("0.05", false)),
        (EditCommand::Redo, ("0.2", false)),
        (EditCommand::Redo, ("0.2", true)),
    ] {
        send(&mut app, command);
        app.update();
        let (friction, thermal) = set(&app);
        assert_eq!((friction.to_string().as_str(), thermal), wanted);
        assert!(terrain(&app) == before && app.world().resource::<Simulations>().ticks() == 12);
    }
}

#[test]
fn timeline_is_thinned_out_within_memory_limit() {
    let mut app = app();
    app.update();
    let history = |app: &App| app.world().resource::<History>().marks().len();
    for tick in 1..=230 {
        send(&mut app, SimulationCommand::Step(1));
        while app.world().resource::<Simulations>().ticks() < tick {
            app.update();
        }
        let mut simulations = app.world().resource::<Simulations>().clone();
        app.world_mut().resource_mut::<History>().store_current(&mut simulations);
    }
    // States being packed are thinned out later.
    run(&mut app, 0);
    assert!((50..=201).contains(&history(&app)), "{}", history(&app));
    send(&mut app, SimulationCommand::Restart);
    app.update();
    send(&mut app, EditCommand::Undo);
    app.update();
    assert_eq!(app.world().resource::<Simulations>().ticks(), 230);
}

#[test]
fn starts_of_earlier_rounds_count_as_memory_of_the_history() {
    let mut app = app();
    app.update();
    let sculpt_and_run = |app: &mut App| {
        send(app, SimulationCommand::Restart);
        update_until_restarted(app);
        send(app, EditCommand::AddSand(0.5));
        app.update();
        // Until the first snapshot.
        run(app, 12);
        app.world().resource::<History>().bytes_of_starts()
    };
    let starts: Vec<usize> = (0..5).map(|_| sculpt_and_run(&mut app)).collect();
    let layer = 4 * 64 * 64;
    assert!(starts[0] == 0 && starts[2] > layer && starts[4] > starts[2] + 2 * layer, "{starts:?}");
    // Beyond the limit, the oldest are dropped with their states; the last step can still be undone.
    app.world_mut().resource_mut::<Preferences>().settings.undo_memory = 0.0;
    app.update();
    let history = app.world().resource::<History>();
    assert!(history.bytes_of_starts() <= starts[2], "{} of {starts:?}", history.bytes_of_starts());
    assert!(history.next().0.is_some());
}

fn friction(app: &App) -> String {
    let groups = app.world().resource::<Simulations>().selected().groups();
    thalweg_sim::params::get(&groups, "droplets.friction").expect("it exists").value.to_string()
}

#[test]
fn undone_steps_belong_to_their_timeline_node() {
    let mut app = app();
    app.update();
    send(&mut app, EditCommand::Set("droplets".into(), "friction", Value::Number(0.2)));
    run(&mut app, 12);
    let snapshot = marks(&app).into_iter().rfind(|mark| mark.tick > 0).expect("there is a snapshot");
    let undo = |app: &mut App, command: EditCommand| {
        send(app, command);
        app.update();
        friction(app)
    };
    assert_eq!(undo(&mut app, EditCommand::Undo), "0.05");
    let present = app.world().resource::<History>().here().expect("it is a place");
    // Where it was not undone it still applies, and can be undone.
    send(&mut app, HistoryCommand::GoTo(snapshot.id));
    app.update();
    assert_eq!(friction(&app), "0.2");
    assert_eq!(undo(&mut app, EditCommand::Undo), "0.05");
    assert_eq!(undo(&mut app, EditCommand::Redo), "0.2");
    // Where it was undone, it remains undone. Going there is an unsaved change.
    let now = (app.world().resource::<History>().changes(), snapshot.tick);
    app.world_mut().resource_mut::<Document>().mark_saved(now);
    assert!(!is_unsaved(&app));
    send(&mut app, HistoryCommand::GoTo(present));
    app.update();
    assert_eq!(friction(&app), "0.05");
    assert!(app.world().resource::<History>().done().is_empty());
    assert!(is_unsaved(&app));
}

#[test]
fn many_steps_between_ticks_keep_keyframes() {
    let mut app = app();
    app.update();
    run(&mut app, 12);
    run(&mut app, 12);
    let before = marks(&app);
    for step in 0..230 {
        let spring = Source { place: [0.5; 2], radius: 20.0, rate: 0.1, ticks: None };
        send(&mut app, EditCommand::SetSources(vec![spring; step % 2]));
        send(&mut app, SimulationCommand::Step(u32::from(step % 100 == 0)));
        app.update();
    }
    run(&mut app, 1);
    assert!(before.len() >= 3 && before.iter().all(|mark| marks(&app).contains(mark)), "{before:?}");
}

#[test]
fn undoing_a_mask_keeps_the_tick() {
    let mut app = app();
    app.update();
    run(&mut app, 3);
    let masked = |app: &App| {
        let terrain = &app.world().resource::<Simulations>().selected().simulation.terrain;
        terrain.layer(Layer::Mask).is_some_and(|mask| mask.iter().any(|value| *value > 0.0))
    };
    send(&mut app, EditCommand::InvertMask);
    app.update();
    assert!(masked(&app));
    run(&mut app, 12);
    let before = app.world().resource::<Simulations>().selected().simulation.terrain.ground();
    for (command, is_masked) in [(EditCommand::Undo, false), (EditCommand::Redo, true), (EditCommand::Undo, false)] {
        send(&mut app, command);
        app.update();
        let simulations = app.world().resource::<Simulations>();
        assert_eq!((simulations.ticks(), masked(&app)), (15, is_masked));
        assert!(simulations.selected().simulation.terrain.ground() == before, "the ground went back");
    }
}

#[test]
fn dragging_a_restarting_slider_is_one_undo_step() {
    let mut app = app();
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    let before = terrain(&app);
    app.init_resource::<ButtonInput<MouseButton>>();
    app.world_mut().resource_mut::<ButtonInput<MouseButton>>().press(MouseButton::Left);
    app.update();
    for relief in [20.0, 30.0, 40.0, 50.0] {
        send(&mut app, EditCommand::Set("terrain".into(), "relief", Value::Number(relief)));
        // The simulation plays meanwhile.
        send(&mut app, SimulationCommand::Step(1));
        update_until_quiet(&mut app);
    }
    app.world_mut().resource_mut::<ButtonInput<MouseButton>>().release(MouseButton::Left);
    app.update();
    assert_eq!(app.world().resource::<History>().done().len(), 1);
    let reports_restore = |notice: &&Notice| notice.text.contains("restores the previous");
    let offered: Vec<_> =
        app.world().resource::<Notices>().shown().filter(reports_restore).map(|notice| notice.text.clone()).collect();
    assert!(offered.len() == 1 && offered[0].contains("the previous 2 ticks"), "{offered:?}");
    send(&mut app, SimulationCommand::Restart);
    app.update();
    send(&mut app, EditCommand::Undo);
    app.update();
    let after = terrain(&app);
    send(&mut app, EditCommand::Undo);
    app.update();
    assert!(terrain(&app) == before, "the terrain from before the drag was not restored");
    send(&mut app, EditCommand::Redo);
    app.update();
    assert!(terrain(&app) == after && after != before, "the terrain from after the drag was not restored");
    assert_eq!(app.world().resource::<Simulations>().selected().all_parameters()["terrain.relief"], "50");
}
