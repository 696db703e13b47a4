//! Mountain ranges that grow in the background, outlets and lakes.

use super::*;
use crate::features::terrain::DrainageCommand;
use thalweg_sim::{core::terrain::Terrain, edit::Tool, hydrology::breach::Limits, measure::Measures};

fn terrain(app: &App) -> Terrain {
    app.world().resource::<Simulations>().selected().simulation.terrain.clone()
}

fn holds(app: &App) -> bool {
    app.world().resource::<Jobs>().is_project_locked()
}

/// Returns the texts of the notifications.
fn notices(app: &App) -> Vec<String> {
    app.world().resource::<Notices>().shown().map(|notice| notice.text.clone()).collect()
}

/// Waits until the job has finished or was cancelled. Returns `true` if anything was displayed meanwhile.
fn wait(app: &mut App) -> bool {
    let before = terrain(app);
    let mut shown = false;
    while holds(app) {
        shown |= terrain(app) != before;
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    shown
}

#[test]
fn growth_is_displayed_and_becomes_an_undoable_start() {
    let mut app = app();
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    let before = terrain(&app);
    send(&mut app, SimulationCommand::Grow);
    app.update();
    assert!(holds(&app));
    // The displayed terrain is no project, so it cannot be changed.
    let water_shown = app.world().resource::<Simulations>().selected().water_look.shown;
    let asked: [AppCommand; 6] = [
        EditCommand::AddSand(9.0).into(),
        EditCommand::Undo.into(),
        EditCommand::Set("fluvial".into(), "uplift_rate", Value::Number(0.002)).into(),
        SimulationCommand::Step(1).into(),
        SimulationCommand::Stage.into(),
        EditCommand::ToggleWater.into(),
    ];
    for command in asked {
        app.world_mut().write_message(command);
    }
    // The brush does not belong to it.
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Raise);
    send(&mut app, EditCommand::Set("brush".into(), "radius", Value::Number(33.0)));
    assert!(wait(&mut app), "no stage of the growth was displayed");
    update_until_quiet(&mut app);
    let grown = terrain(&app);
    let simulations = app.world().resource::<Simulations>();
    assert!(simulations.ticks() == 0 && grown != before);
    assert_eq!((simulations.selected().water_look.shown, simulations.selected().simulation.ticks()), (water_shown, 0));
    assert_eq!(app.world().resource::<Brushes>().of(Tool::Raise).radius, 33.0);
    send(&mut app, SimulationCommand::Restart);
    update_until_restarted(&mut app);
    let start = terrain(&app);
    let measures = Measures::of(&start);
    assert!(measures.pits == 0.0 && measures.depressions == 0.0, "{measures:?}");
    for _ in 0..2 {
        send(&mut app, EditCommand::Undo);
        app.update();
    }
    assert!(terrain(&app) == before, "undo has not restored the terrain");
    assert_eq!(app.world().resource::<Simulations>().ticks(), 2);
}

#[test]
fn growth_can_be_cancelled_and_requires_uplift() {
    let mut app = app();
    app.update();
    let before = terrain(&app);
    send(&mut app, SimulationCommand::Grow);
    app.update();
    app.world_mut().resource_mut::<Jobs>().cancel_changes();
    wait(&mut app);
    assert!(terrain(&app) == before);
    send(&mut app, EditCommand::Set("fluvial".into(), "uplift_rate", Value::Number(0.0)));
    send(&mut app, SimulationCommand::Grow);
    app.update();
    wait(&mut app);
    assert!(terrain(&app) == before);
    let messages = notices(&app);
    assert!(messages.iter().any(|text| text.contains("a mountain range cannot grow without uplift")), "{messages:?}");
}

#[test]
fn play_without_enabled_process_is_reported() {
    let mut app = app();
    let enabled = app.world().resource::<Simulations>().selected().simulation.slots.iter().filter(|slot| slot.enabled);
    let keys: Vec<&'static str> = enabled.map(|slot| slot.process.info().key).collect();
    assert!(!keys.is_empty());
    let says = |app: &mut App| {
        send(app, SimulationCommand::TogglePlay);
        app.update();
        notices(app).iter().any(|text| text.contains("No process is enabled"))
    };
    assert!(!says(&mut app));
    send(&mut app, SimulationCommand::TogglePlay);
    for key in keys {
        send(&mut app, EditCommand::Enable(key, false));
    }
    app.update();
    assert!(says(&mut app));
}

#[test]
fn carving_outlets_and_filling_lakes_can_be_undone() {
    let mut app = app();
    // A crater in the hill.
    let side = 64;
    for y in 24..40 {
        for x in 24..40 {
            let mut simulations = app.world_mut().resource_mut::<Simulations>();
            simulations.all_mut()[0].simulation.terrain.bedrock[y * side + x] = 1.0;
        }
    }
    let before = terrain(&app);
    assert!(Measures::of(&before).depressions > 0.01);
    send(&mut app, DrainageCommand::FillLakes);
    app.update();
    wait(&mut app);
    let water = terrain(&app).water_volume();
    let ledger = &app.world().resource::<Simulations>().selected().simulation.ledger.water;
    assert!(water > 0.0 && ledger.residual(water).abs() < 1e-6 * water);
    send(&mut app, EditCommand::Undo);
    send(&mut app, DrainageCommand::FillRivers);
    app.update();
    // It runs in the background.
    assert!(holds(&app));
    wait(&mut app);
    let (filled, messages) = (terrain(&app).water_volume(), notices(&app));
    assert!(filled > water, "rivers outside the lake: {filled} m³, and {water} m³ in the lake alone");
    assert!(messages.iter().any(|text| text.contains("Enable Water")), "{messages:?}");
    send(&mut app, EditCommand::Undo);
    send(&mut app, DrainageCommand::FillRivers);
    app.update();
    app.world_mut().resource_mut::<Jobs>().cancel_changes();
    wait(&mut app);
    assert!(terrain(&app).water_volume() == 0.0, "it was not cancelled");
    let rains = EditCommand::Set("water".into(), "rain_rate", Value::Number(0.0));
    send(&mut app, rains);
    send(&mut app, DrainageCommand::FillRivers);
    app.update();
    wait(&mut app);
    assert!(terrain(&app).water_volume() == 0.0);
    assert!(notices(&app).iter().any(|text| text.contains("there is no rain")), "{:?}", notices(&app));
    send(&mut app, EditCommand::Undo);
    send(&mut app, DrainageCommand::CarveOutlets(Limits { length: 1e6, depth: 1e6 }));
    app.update();
    wait(&mut app);
    let carved = terrain(&app);
    assert!(Measures::of(&carved).depressions == 0.0 && carved.water_volume() == 0.0);
    send(&mut app, EditCommand::Undo);
    app.update();
    assert!(terrain(&app) == before);
}
