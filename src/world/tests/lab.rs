//! Slow motion, tracked particles, and simulations side by side.

use bevy::time::TimeUpdateStrategy;

use super::*;
use crate::features::particle::{FollowedParticle, ParticleCommand};
use thalweg_scene::model::origin::Tile;
use thalweg_sim::core::quantity::Quantity;

fn only(app: &mut App, key: &str) {
    for slot in &mut app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.slots {
        slot.enabled = slot.key() == key;
    }
}

fn messages(app: &App) -> Vec<String> {
    app.world().resource::<Notices>().shown().map(|notice| notice.text.clone()).collect()
}

#[test]
fn slow_motion_shows_stages_at_its_speed() {
    let mut app = app();
    only(&mut app, "water");
    let stages = app.world().resource::<Simulations>().selected().simulation.slots[2].process.info().stages.len();
    // Two frames per stage.
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(50)));
    app.update();
    send(&mut app, SimulationCommand::SlowMotion(Some(10.0)));
    send(&mut app, SimulationCommand::TogglePlay);
    let mut shown = Vec::new();
    for _ in 0..2 * (stages + 2) {
        app.update();
        shown.push(app.world().resource::<Simulations>().next_stage());
    }
    shown.dedup();
    assert!(shown.len() >= stages, "{shown:?} of {stages} stages");
    assert!(app.world().resource::<Simulations>().ticks() <= 1, "a stage was not waited for");
    // Without slow motion, ticks run as before.
    send(&mut app, SimulationCommand::SlowMotion(None));
    for _ in 0..40 {
        app.update();
    }
    assert!(
        app.world().resource::<Simulations>().ticks() > 10,
        "{} ticks",
        app.world().resource::<Simulations>().ticks()
    );
}

#[test]
fn stage_changes_keep_water_and_restore_arrows() {
    let mut app = app();
    only(&mut app, "water");
    app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.terrain.water.fill(0.5);
    send(&mut app, OpenWorkspace(Workspace::Learn));
    app.update();
    let overlay = |app: &App| {
        let overlay = app.world().resource::<Overlay>();
        (overlay.shown, overlay.arrows, overlay.water_opacity())
    };
    assert_eq!(overlay(&app), (None, false, 1.0));
    let mut arrows = false;
    while !arrows {
        send(&mut app, SimulationCommand::Stage);
        (0..4).for_each(|_| app.update());
        assert!(app.world().resource::<Simulations>().ticks() <= 1, "no stage changed the flow");
        let (shown, shows_arrows, opacity) = overlay(&app);
        assert!(shown == Some(Quantity::StageChange) && opacity > 0.0 && opacity < 1.0, "{shown:?} under {opacity}");
        arrows = shows_arrows;
    }
    send(&mut app, SimulationCommand::Step(1));
    update_until_quiet(&mut app);
    assert_eq!(overlay(&app), (None, false, 1.0), "a whole tick shows no stage");
}

#[test]
fn released_droplet_descends_without_changing_terrain() {
    let mut app = app();
    only(&mut app, "droplets");
    send(&mut app, SimulationCommand::Step(3));
    update_until_quiet(&mut app);
    let before = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, ParticleCommand::Release([0.4, 0.55]));
    app.update();
    assert!(app.world().resource::<Simulations>().selected().simulation.terrain == before, "the terrain was changed");
    let trajectory = app.world().resource::<FollowedParticle>().track.clone().expect("it runs from there");
    let last = trajectory.states.len() - 1;
    assert!(last > 5, "{last} steps");
    assert!(
        trajectory.ground[last] < trajectory.ground[0] - 1.0,
        "from {} to {}",
        trajectory.ground[0],
        trajectory.ground[last]
    );
    assert_eq!(trajectory.states[0].place, [0.4 * 64.0, 0.55 * 64.0]);
    let [dug, laid] = trajectory.eroded_and_deposited(last);
    let load = f64::from(trajectory.states[last].load) * trajectory.cell_area();
    assert!(dug > 0.0 && (dug - laid - load).abs() < 1e-4 * dug, "dug {dug}, laid {laid}, on board {load}");
    // Another start discards the track.
    send(&mut app, SimulationCommand::Restart);
    update_until_quiet(&mut app);
    assert_eq!(app.world().resource::<FollowedParticle>().track, None);
}

#[test]
fn releasing_particle_without_process_is_reported() {
    let mut app = app();
    only(&mut app, "thermal");
    send(&mut app, ParticleCommand::Release([0.5, 0.5]));
    app.update();
    assert_eq!(app.world().resource::<FollowedParticle>().track, None);
    assert!(messages(&app).iter().any(|text| text.contains("Enable Droplets")), "{:?}", messages(&app));
}

fn tile(value: &str) -> Tile {
    let set = [("droplets.per_tick".to_owned(), value.to_owned())].into_iter().collect();
    Tile { title: format!("per tick {value}"), set, ..Tile::default() }
}

#[test]
fn simulations_side_by_side_share_start_and_vary_parameter() {
    let mut app = app();
    only(&mut app, "droplets");
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    send(&mut app, SimulationCommand::SideBySide(vec![tile("100"), tile("900")]));
    app.update();
    wait_for_jobs(&mut app);
    send(&mut app, OverlayCommand::Show(Some(Quantity::Difference)));
    app.update();
    let simulations = app.world().resource::<Simulations>();
    assert_eq!(simulations.all().len(), 2);
    let per_tick = |app: &App, run: usize| {
        let session = &app.world().resource::<Simulations>().all()[run];
        thalweg_sim::params::get(&session.groups(), "droplets.per_tick").map(|parameter| parameter.value.to_string())
    };
    assert_eq!([per_tick(&app, 0), per_tick(&app, 1)], ["100", "900"].map(|text| Ok(text.to_owned())));
    let simulations = app.world().resource::<Simulations>();
    assert!(simulations.all()[0].simulation.terrain.start == simulations.all()[1].simulation.terrain.start);
    assert_eq!(simulations.all()[0].simulation.seed(), simulations.all()[1].simulation.seed());
    send(&mut app, SimulationCommand::Step(8));
    update_until_quiet(&mut app);
    let overlay = app.world().resource::<Overlay>();
    let found: Vec<_> = overlay.differences.iter().map(|found| found.expect("they are of one size")).collect();
    assert_eq!((found[0].size, found[0].range), (0.0, (0.0, 0.0)));
    assert!(found[1].size > 0.0 && found[1].range.0 < 0.0, "{:?}", found[1]);
    assert!(found[1].correlation.is_some_and(|correlation| correlation > 0.2 && correlation < 1.0), "{:?}", found[1]);
    // A varied parameter is set in the selected simulation only, all others in both.
    send(&mut app, SimulationCommand::Select(1));
    send(&mut app, EditCommand::Set("droplets".to_owned(), "per_tick", Value::Number(50.0)));
    app.update();
    assert_eq!([per_tick(&app, 0), per_tick(&app, 1)], ["100", "50"].map(|text| Ok(text.to_owned())));
    // The selected simulation continues alone from its current state.
    let ticks = app.world().resource::<Simulations>().ticks();
    send(&mut app, SimulationCommand::SideBySide(Vec::new()));
    send(&mut app, SimulationCommand::TogglePlay);
    app.update();
    let simulations = app.world().resource::<Simulations>();
    assert!(simulations.all().len() == 1 && simulations.ticks() >= ticks && simulations.selected().tile.is_none());
    send(&mut app, EditCommand::Undo);
    app.update();
    assert_eq!(app.world().resource::<Simulations>().all().len(), 2, "undo restores the others");
}

#[test]
fn invalid_variation_is_reported_and_changes_nothing() {
    let mut app = app();
    app.update();
    for (path, value, word) in [("droplets.per_tik", "5", "per_tick"), ("droplets.per_tick", "lots", "per_tick")] {
        let set = [(path.to_owned(), value.to_owned())].into_iter().collect();
        send(&mut app, SimulationCommand::SideBySide(vec![tile("100"), Tile { set, ..Tile::default() }]));
        app.update();
        assert_eq!(app.world().resource::<Simulations>().all().len(), 1);
        assert!(messages(&app).iter().any(|text| text.contains(word)), "{:?}", messages(&app));
    }
}

#[test]
fn quiz_opens_the_workspace_that_shows_its_question() {
    let mut app = app();
    send(&mut app, QuizCommand::Ask);
    app.update();
    until_done(&mut app);
    app.update();
    let world = app.world();
    let question = world.resource::<Quiz>().now.as_ref().expect("a parameter has a visible effect");
    assert!(question.is_of(world.resource::<Simulations>().project_id()));
    assert_eq!(*world.resource::<State<Workspace>>().get(), Workspace::Learn);
}
