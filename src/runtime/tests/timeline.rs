//! The timeline: going back, branches, and keyframes in projects.

use super::*;

fn marks(app: &App) -> Vec<Mark> {
    app.world().resource::<Timeline>().marks()
}

/// Runs so many ticks and waits until what was taken of them is packed.
fn run(app: &mut App, ticks: u32) {
    send(app, RunCommand::Step(ticks));
    for _ in 0..1500 {
        app.update();
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn the_timeline_goes_back_to_the_bit_and_keeps_what_was_run_before_as_a_branch() {
    let mut app = app();
    app.update();
    let terrain = |app: &App| app.world().resource::<Live>().chosen().simulation.terrain.clone();
    run(&mut app, 15);
    run(&mut app, 15);
    let first = marks(&app);
    assert!(first.len() >= 3 && first.iter().all(|mark| mark.branch == 0), "{first:?}");
    let late = terrain(&app);
    let early = first.iter().find(|mark| mark.tick > 0 && mark.tick < 20).copied().expect("one was taken on the way");
    send(&mut app, RunCommand::GoTo(early.id));
    app.update();
    let then = terrain(&app);
    assert!(then != late && app.world().resource::<Live>().ticks() == early.tick);
    assert!(!app.world().resource::<Transport>().playing);
    // On from there it runs as it ran.
    run(&mut app, 30 - early.tick as u32);
    assert!(terrain(&app) == late, "it did not run on as it had");
    // A state that a hand has changed is another branch; the first stays.
    send(&mut app, RunCommand::GoTo(early.id));
    app.update();
    assert!(terrain(&app) == then);
    send(&mut app, EditCommand::SpreadSand(1.0));
    app.update();
    std::thread::sleep(Duration::from_millis(600));
    run(&mut app, 12);
    let all = marks(&app);
    assert!(first.iter().all(|mark| all.contains(mark)), "a keyframe is gone: {all:?}");
    assert!(all.iter().any(|mark| mark.branch > 0), "{all:?}");
    let other = terrain(&app);
    // And back to where the first branch ended, which was kept when it was left.
    let end = all.iter().find(|mark| mark.branch == 0 && mark.tick == 30).expect("the present was kept");
    send(&mut app, RunCommand::GoTo(end.id));
    app.update();
    assert!(terrain(&app) == late && other != late);
}

#[test]
fn a_new_start_and_undo_keep_the_timeline() {
    let mut app = app();
    app.update();
    run(&mut app, 24);
    let first = marks(&app);
    let late = app.world().resource::<Live>().chosen().simulation.terrain.clone();
    send(&mut app, RunCommand::NewSeed);
    app.update();
    run(&mut app, 12);
    let all = marks(&app);
    assert!(first.iter().all(|mark| all.contains(mark)) && all.len() > first.len(), "{all:?}");
    let seed = app.world().resource::<Live>().chosen().simulation.seed();
    let end = first.iter().max_by_key(|mark| mark.tick).expect("there are some");
    send(&mut app, RunCommand::GoTo(end.id));
    app.update();
    run(&mut app, 24 - end.tick as u32);
    let chosen = app.world().resource::<Live>().chosen().simulation.clone();
    assert!(chosen.seed() != seed && chosen.terrain == late);
    send(&mut app, EditCommand::Undo);
    app.update();
    let len = marks(&app).len();
    run(&mut app, 1);
    assert!(marks(&app).len() >= len);
}

#[test]
fn a_project_that_was_saved_with_its_timeline_brings_it_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let mut app = app();
    app.update();
    run(&mut app, 25);
    let (first, late) = (marks(&app), app.world().resource::<Live>().chosen().simulation.terrain.clone());
    let early = first[1];
    send(&mut app, RunCommand::GoTo(early.id));
    app.update();
    let then = app.world().resource::<Live>().chosen().simulation.terrain.clone();
    send(&mut app, EditCommand::Set("settings".to_owned(), "save_timeline", Value::Switch(true)));
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    let mut other = self::app();
    other.update();
    send(&mut other, FileCommand::Open(path.display().to_string(), Options::default()));
    wait_for_jobs(&mut other);
    run(&mut other, 1);
    let ticks = |marks: &[Mark]| marks.iter().map(|mark| (mark.tick, mark.branch)).collect::<Vec<_>>();
    let again = marks(&other);
    let saved = marks(&app);
    assert!(ticks(&again).starts_with(&ticks(&saved)), "{saved:?} came back as {again:?}");
    for (tick, wanted) in [(25, &late), (early.tick, &then)] {
        let mark = again.iter().find(|mark| mark.tick == tick).unwrap_or_else(|| panic!("{tick} of {again:?}"));
        send(&mut other, RunCommand::GoTo(mark.id));
        other.update();
        assert!(other.world().resource::<Live>().chosen().simulation.terrain == *wanted, "tick {tick}");
    }
}
