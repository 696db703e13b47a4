//! Recovery of the project after a crash.

use std::path::{Path, PathBuf};

use super::*;
use thalweg_scene::io::project;
use thalweg_sim::edit::Tool;

/// Creates an app that autosaves to a folder and offers the autosaves in it.
pub(super) fn keeping(folder: &Path) -> App {
    let mut app = app();
    app.world_mut()
        .resource_mut::<Document>()
        .start_autosave(folder, None, 0)
        .unwrap_or_else(|error| panic!("{error}"));
    app
}

/// Returns the projects in a folder.
pub(super) fn autosaves(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is readable").path());
    entries.filter(|path| project::is_project(path)).collect()
}

/// Returns the texts of all questions.
fn offers(app: &mut App) -> Vec<String> {
    app.update();
    let shown = app.world().resource::<Notices>().shown();
    shown.filter(|notice| notice.level == NoticeLevel::Question).map(|notice| notice.text.clone()).collect()
}

/// Returns the command of the n-th answer to the question about a file.
fn answer(app: &App, path: &Path, place: usize) -> AppCommand {
    let path = path.display().to_string();
    let offer = app.world().resource::<Notices>().shown().find(|notice| notice.text.contains(&path));
    offer.expect("it is offered").answers[place].1.clone()
}

fn terrain(app: &App) -> thalweg_sim::core::terrain::Terrain {
    app.world().resource::<Simulations>().selected().simulation.terrain.clone()
}

#[test]
fn simulation_without_edits_is_autosaved_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = keeping(folder.path());
    app.world_mut().resource_mut::<Preferences>().settings.autosave = 1e-6;
    update_until_quiet(&mut app);
    wait_for_jobs(&mut app);
    assert!(autosaves(folder.path()).is_empty(), "nothing has happened yet");
    send(&mut app, SimulationCommand::Step(3));
    update_until_quiet(&mut app);
    wait_for_jobs(&mut app);
    assert!(!is_unsaved(&app), "looking around leaves nothing to save");
    let [path] = &autosaves(folder.path())[..] else { panic!("no autosave") };
    let project = project::open(path).unwrap_or_else(|error| panic!("{error}"));
    assert!(project.sessions[0].simulation.ticks() == 3 && project.sessions[0].simulation.terrain == terrain(&app));
    std::fs::remove_file(path).expect("it is ours");
    update_until_quiet(&mut app);
    wait_for_jobs(&mut app);
    assert!(autosaves(folder.path()).is_empty(), "it was paused");
}

#[test]
fn autosave_includes_whole_stroke() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = keeping(folder.path());
    app.world_mut().resource_mut::<Preferences>().settings.autosave = 1e-6;
    app.update();
    let paint = |app: &mut App, height: f32| {
        let mut simulations = app.world_mut().resource_mut::<Simulations>();
        simulations.all_mut()[0].simulation.terrain.bedrock[5] = height;
        // Longer than the interval.
        std::thread::sleep(Duration::from_millis(1));
        wait_for_jobs(app);
    };
    let simulations = app.world().resource::<Simulations>().clone();
    app.world_mut().resource_mut::<History>().begin_stroke(&simulations, Label::Stroke(Tool::Raise));
    paint(&mut app, 700.0);
    assert_eq!(autosaves(folder.path()).len(), 1, "the button is still pressed");
    paint(&mut app, 800.0);
    app.world_mut().resource_mut::<History>().end_stroke();
    wait_for_jobs(&mut app);
    wait_for_jobs(&mut app);
    let project = project::open(&autosaves(folder.path())[0]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(project.sessions[0].simulation.terrain.bedrock[5], 800.0);
}

#[test]
fn abandoned_projects_are_offered_until_answered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for thickness in [1.0, 2.0, 3.0, 4.0, 5.0] {
        let mut app = keeping(folder.path());
        send(&mut app, EditCommand::AddSand(thickness));
        send(&mut app, FileCommand::Open("round-hill".into(), Options::default()));
        app.update();
        wait_for_jobs(&mut app);
        // Simulates a crash: the app is dropped without an exit message.
        drop(app);
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut left = autosaves(folder.path());
    left.sort();
    assert_eq!(left.len(), 5);
    for _ in 0..4 {
        let mut app = keeping(folder.path());
        let offers = offers(&mut app);
        for (offer, path) in offers.iter().zip(left.iter().rev()) {
            assert!(offer.contains(&path.display().to_string()) && offer.contains("less than a minute ago"), "{offer}");
        }
        assert_eq!(offers.len(), 3, "the newest ones first");
        // Other notifications do not displace the questions.
        let mut notices = app.world_mut().resource_mut::<Notices>();
        for fault in 0..9 {
            notices.notify(NoticeLevel::Error, format!("Fault {fault}."));
        }
        assert_eq!(self::offers(&mut app).len(), 3);
    }
    // One is discarded: its file is deleted, and the next one is offered.
    let mut app = keeping(folder.path());
    offers(&mut app);
    let id =
        app.world().resource::<Notices>().shown().find(|notice| notice.level == NoticeLevel::Question).expect("one").id;
    let throw = answer(&app, &left[4], 1);
    send(&mut app, throw);
    send(&mut app, FileCommand::Dismiss(id));
    app.update();
    assert!(offers(&mut app)[2].contains(&left[1].display().to_string()));
    assert!(!left[4].exists() && left[..4].iter().all(|path| path.exists()));
    // One is opened: it counts as unsaved, and its file remains in case of another crash.
    let open = answer(&app, &left[3], 0);
    send(&mut app, open);
    wait_for_jobs(&mut app);
    let sand = |app: &App| terrain(app).sand[0];
    assert!(is_unsaved(&app) && app.world().resource::<Simulations>().file.is_none());
    assert_eq!(sand(&app), 4.0);
    let now = app.world().resource::<Simulations>().clone();
    send(&mut app, EditCommand::AddSand(0.5));
    app.update();
    drop(app);
    let mut app = keeping(folder.path());
    assert!(offers(&mut app)[0].contains(&left[3].display().to_string()));
    let open = answer(&app, &left[3], 0);
    send(&mut app, open);
    wait_for_jobs(&mut app);
    assert!(terrain(&app) == now.selected().simulation.terrain);
    // Its autosave file is reused, and deleted on a regular exit.
    app.world_mut().resource_mut::<Preferences>().settings.autosave = 1e-6;
    send(&mut app, EditCommand::AddSand(0.5));
    app.update();
    wait_for_jobs(&mut app);
    let project = project::open(&left[3]).unwrap_or_else(|error| panic!("{error}"));
    assert!(project.sessions[0].simulation.terrain == terrain(&app));
    app.world_mut().write_message(AppExit::Success);
    app.update();
    assert_eq!(autosaves(folder.path()).len(), 3);
    // A project of the folder that is opened at startup is not offered as another one.
    let mut document = Document::default();
    document.start_autosave(folder.path(), Some(&left[0]), 0).unwrap_or_else(|error| panic!("{error}"));
    assert!(document.is_recovered());
    let mut other = keeping(folder.path());
    assert_eq!(offers(&mut other).len(), 2);
}

#[test]
fn recovered_project_keeps_file_timeline_and_branches() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, kept) = (folder.path().join("valley.thalweg"), folder.path().join("kept"));
    let mut app = keeping(&kept);
    app.update();
    timeline::run(&mut app, 15);
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    // Neither the states after this nor their branches are in the file.
    timeline::run(&mut app, 15);
    let early = timeline::marks(&app)[1];
    send(&mut app, HistoryCommand::GoTo(early.id));
    app.update();
    send(&mut app, EditCommand::AddSand(0.5));
    app.update();
    timeline::run(&mut app, 12);
    let (wanted, before) = (terrain(&app), timeline::marks(&app));
    assert!(before.iter().any(|mark| mark.branch > 0), "{before:?}");
    app.world_mut().write_message(AppExit::error());
    app.update();
    drop(app);
    let mut app = keeping(&kept);
    let left = autosaves(&kept);
    offers(&mut app);
    let open = answer(&app, &left[0], 0);
    send(&mut app, open);
    wait_for_jobs(&mut app);
    assert!(terrain(&app) == wanted && is_unsaved(&app));
    assert_eq!(app.world().resource::<Simulations>().file.as_ref().map(|file| &file.path), Some(&path));
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    timeline::run(&mut app, 1);
    let places = |marks: &[TimelinePosition]| marks.iter().map(|mark| (mark.tick, mark.branch)).collect::<Vec<_>>();
    let again = timeline::marks(&app);
    assert!(places(&again).starts_with(&places(&before)), "{before:?} came back as {again:?}");
    let whole = project::open_with_timeline(&path).unwrap_or_else(|error| panic!("{error}"));
    assert!(whole.sessions[0].simulation.terrain == wanted);
    assert!(whole.timeline.frames.len() >= before.len(), "{} of {}", whole.timeline.frames.len(), before.len());
    app.world_mut().write_message(AppExit::Success);
    app.update();
    assert_eq!(std::fs::read_dir(&kept).expect("it is there").count(), 0, "something of the autosave is left");
}

#[test]
fn save_asks_before_overwriting_changes_of_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("valley.thalweg");
    let mut app = app();
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    let offers =
        |app: &App| app.world().resource::<Notices>().shown().filter(|notice| !notice.answers.is_empty()).count();
    assert_eq!(offers(&app), 0, "nobody else has changed it");
    std::fs::write(&path, "the other window's project").expect("it is writable");
    send(&mut app, EditCommand::AddSand(0.5));
    send(&mut app, FileCommand::SaveProject(path.clone()));
    wait_for_jobs(&mut app);
    assert_eq!(std::fs::read_to_string(&path).expect("it is unchanged"), "the other window's project");
    assert!(is_unsaved(&app));
    let offer = app.world().resource::<Notices>().shown().find(|notice| !notice.answers.is_empty()).expect("an offer");
    let overwrite = offer.answers[0].1.clone();
    send(&mut app, overwrite);
    wait_for_jobs(&mut app);
    assert!(!is_unsaved(&app));
    assert!(project::open(&path).is_ok());
}
