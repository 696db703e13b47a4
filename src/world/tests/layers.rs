use super::*;
use thalweg_scene::io::{
    JobProgress,
    export::{self, Dimensions, Export, ExportSubject},
    project::{self, Project},
};
use thalweg_sim::core::{grid::Grid, quantity::Quantity};

/// A row of the table defines a layer completely: every map that a user may paint is saved, undone, exported and displayed.
#[test]
fn every_painted_layer_is_saved_undone_exported_and_shown() {
    let painted: Vec<Layer> = Layer::ALL.iter().copied().filter(|layer| layer.row().painted).collect();
    assert!(painted.len() >= 3, "{painted:?}");
    painted.into_iter().for_each(check_painted_layer);
}

fn check_painted_layer(layer: Layer) {
    let key = layer.key();
    let mut app = app();
    let map = Grid::from_fn(64, 64, |x, y| ((x * 7 + y) % 64) as f32 / 64.0);
    let held = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.layer(layer).cloned();
    let put = |app: &mut App, grid: Option<Grid>| {
        app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.terrain.set_layer(layer, grid);
    };
    put(&mut app, Some(map.clone()));

    // Undo.
    send(&mut app, EditCommand::AddSand(1.0));
    app.update();
    put(&mut app, None);
    send(&mut app, EditCommand::Undo);
    app.update();
    assert!(held(&app).as_ref() == Some(&map), "{key}");
    // Painted maps survive a restart.
    send(&mut app, SimulationCommand::Restart);
    update_until_restarted(&mut app);
    assert!(held(&app).as_ref() == Some(&map), "{key}");

    // Project and export.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("work.thalweg");
    let sessions = app.world().resource::<Simulations>().all().to_vec();
    let export = Export::new(key, "r32").expect("it is a map");
    let subject = ExportSubject::new(&sessions[0], Dimensions::default(), &[export]).expect("it is small");
    let exported = folder.path().join("map.r32");
    export.write(&subject, &exported, &JobProgress::default()).expect("there is room");
    let written = std::fs::read(exported).expect("it is there");
    assert_eq!(written, map.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>(), "{key}");
    assert_eq!(export::about(key), layer.row().about);
    let mut project = Project::of(sessions);
    project::save(&mut project, &path, &JobProgress::default()).expect("there is room");
    let opened = project::open(&path).expect("it is whole").sessions.remove(0);
    assert_eq!(opened.simulation.terrain.layer(layer), Some(&map), "{key}");

    // Overlay.
    let shown = Quantity::all().find(|quantity| quantity.title() == layer.row().title).expect("it is offered");
    send(&mut app, OverlayCommand::Show(Some(shown)));
    app.update();
    assert_eq!(app.world().resource::<Overlay>().values, [map], "{key}");
}
