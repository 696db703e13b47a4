//! Ticks on the graphics card.

use super::*;
use thalweg_gpu::Device;
use thalweg_scene::settings::ComputeDevice;
use thalweg_sim::simulation::Simulation;

/// Returns an app with water and thermal erosion that run on the graphics card; `None` without one.
fn app_on_card() -> Option<App> {
    let device = match Device::open() {
        Ok(device) => device,
        Err(error) if std::env::var_os("THALWEG_REQUIRE_GPU").is_none() => {
            println!("SKIPPED: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut app = app();
    app.update();
    app.world_mut().resource_mut::<CardTicks>().set_device(device);
    app.world_mut().resource_mut::<Preferences>().settings.compute_device = ComputeDevice::GraphicsCard;
    for slot in &mut app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.slots {
        slot.enabled = ["water", "thermal"].contains(&slot.key());
    }
    Some(app)
}

fn simulation(app: &App) -> &Simulation {
    &app.world().resource::<Simulations>().selected().simulation
}

fn is_ahead(app: &App) -> bool {
    app.world().resource::<CardTicks>().packer().is_some()
}

fn update_until(app: &mut App, condition: impl Fn(&App) -> bool) {
    for _ in 0..100_000 {
        if condition(app) {
            return;
        }
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the condition was never met");
}

/// Asserts that a simulation agrees with one that ran from a start on the processor, within rounding.
fn assert_follows(start: &Simulation, found: &Simulation) {
    let mut expected = start.clone();
    while expected.ticks() < found.ticks() {
        expected.tick();
    }
    let distance = |one: &Simulation, other: &Simulation| {
        let [one, other] = [one, other].map(|simulation| simulation.terrain.ground());
        one.iter().zip(other.iter()).map(|(one, other)| f64::from(one - other).powi(2)).sum::<f64>().sqrt()
    };
    let [apart, change] = [distance(&expected, found), distance(&expected, start)];
    assert!(apart <= 1e-3 * change, "{apart:e} of {change:e}");
    assert!(found.solid_residual().abs() <= 1e-5 * found.ledger.solid.sum(|row| row.moved));
}

#[test]
fn simulations_follow_the_card_and_are_exact_after_a_pause() {
    let Some(mut app) = app_on_card() else { return };
    let start = simulation(&app).clone();
    app.world_mut().resource_mut::<Transport>().playing = true;
    update_until(&mut app, is_ahead);
    let begun = simulation(&app).ticks();
    // They are updated while ticks run.
    update_until(&mut app, |app| simulation(app).ticks() > begun + 5);
    assert!(app.world().resource::<CardTicks>().device().is_some());
    send(&mut app, SimulationCommand::TogglePlay);
    update_until(&mut app, |app| !is_ahead(app));
    assert_follows(&start, simulation(&app));
    // Single steps are exact in number.
    let paused = simulation(&app).ticks();
    send(&mut app, SimulationCommand::Step(3));
    update_until(&mut app, |app| simulation(app).ticks() == paused + 3 && !is_ahead(app));
    update_until_quiet(&mut app);
    assert_eq!(simulation(&app).ticks(), paused + 3);
    assert_follows(&start, simulation(&app));
}

#[test]
fn commands_change_the_latest_state_of_the_card() {
    let Some(mut app) = app_on_card() else { return };
    let start = simulation(&app).clone();
    app.world_mut().resource_mut::<Transport>().playing = true;
    update_until(&mut app, is_ahead);
    update_until(&mut app, |app| simulation(app).ticks() > 10 && is_ahead(app));
    // A step pauses, and begins from what the card has reached.
    let before = simulation(&app).ticks();
    send(&mut app, SimulationCommand::Step(1));
    update_until_quiet(&mut app);
    assert!(simulation(&app).ticks() > before && !is_ahead(&app));
    assert_follows(&start, simulation(&app));
}

#[test]
fn replaced_terrain_is_not_overwritten_by_the_card() {
    let Some(mut app) = app_on_card() else { return };
    app.world_mut().resource_mut::<Transport>().playing = true;
    update_until(&mut app, is_ahead);
    let options = Options { size: Some((64, 64)), ..Options::default() };
    let other = open_first("alpine-valley", &options).expect("built in");
    let ground = other.simulation.terrain.ground();
    app.insert_resource(Simulations::new(vec![other]));
    app.world_mut().resource_mut::<Transport>().playing = false;
    update_until(&mut app, |app| !is_ahead(app));
    assert!(simulation(&app).terrain.ground() == ground && simulation(&app).ticks() == 0);
}

#[test]
fn processor_continues_when_the_card_is_lost() {
    let Some(mut app) = app_on_card() else { return };
    let start = simulation(&app).clone();
    app.world_mut().resource_mut::<Transport>().playing = true;
    update_until(&mut app, is_ahead);
    app.world().resource::<CardTicks>().device().expect("it is in use").clone().destroy();
    let ticks = simulation(&app).ticks();
    update_until(&mut app, |app| simulation(app).ticks() > ticks + 5 && !is_ahead(app));
    let notices = app.world().resource::<Notices>();
    let texts: Vec<&str> = notices.shown().map(|notice| &*notice.text).collect();
    assert!(texts.iter().any(|text| text.contains("The processor continues.")), "{texts:?}");
    assert_follows(&start, simulation(&app));
}
