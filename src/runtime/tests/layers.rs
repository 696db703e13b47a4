use super::*;
use crate::{
    io::{
        JobProgress,
        export::{self, Dimensions, Export, Subject},
        project::{self, Project},
    },
    sim::{grid::Grid, quantity::Quantity},
};

/// The table of layers has a row for tests, and nothing else in the program knows of it.
#[test]
fn a_layer_of_the_table_is_saved_taken_back_exported_and_shown() {
    let mut app = app();
    let trial = Grid::from_fn(64, 64, |x, y| ((x * 7 + y) % 64) as f32 / 64.0);
    let layer = |app: &App| app.world().resource::<Live>().chosen().simulation.terrain.layer(Layer::Trial).cloned();
    let put = |app: &mut App, grid: Option<Grid>| {
        app.world_mut().resource_mut::<Live>().all_mut()[0].simulation.terrain.set_layer(Layer::Trial, grid);
    };
    put(&mut app, Some(trial.clone()));

    // An undo step.
    send(&mut app, EditCommand::SpreadSand(1.0));
    app.update();
    put(&mut app, None);
    send(&mut app, EditCommand::Undo);
    app.update();
    assert!(layer(&app).as_ref() == Some(&trial));
    // What is painted stays when the run starts again.
    send(&mut app, RunCommand::Restart);
    app.update();
    assert!(layer(&app).as_ref() == Some(&trial));

    // A project, and an export.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let sessions = app.world().resource::<Live>().all().to_vec();
    let export = Export::new("trial", "r32").expect("it is a map");
    let subject = Subject::new(&sessions[0], Dimensions::default(), &[export]).expect("it is small");
    export.write(&subject, &folder.path().join("trial.r32"), &JobProgress::default()).expect("there is room");
    let written = std::fs::read(folder.path().join("trial.r32")).expect("it is there");
    assert_eq!(written, trial.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>());
    assert_eq!(export::about("trial"), Layer::Trial.row().about);
    let mut project = Project::of(sessions);
    project::save(&mut project, &path, &JobProgress::default()).expect("there is room");
    let opened = project::open(&path).expect("it is whole").sessions.remove(0);
    assert_eq!(opened.simulation.terrain.layer(Layer::Trial), Some(&trial));

    // An overlay.
    let shown = Quantity::all().find(|quantity| quantity.title() == "Trial").expect("it is offered");
    send(&mut app, ShowCommand::Overlay(Some(shown)));
    app.update();
    assert_eq!(app.world().resource::<Overlay>().values, [trial]);
}
