//! Opening of another project: fast-forwarding, and the end of overlays and similar state.

use super::*;
use thalweg_sim::{core::quantity::Quantity, edit::Tool};

#[test]
fn scene_fast_forwards_to_its_first_shown_tick() {
    let begin = |app: &mut App, to: u64| {
        let world = app.world_mut();
        world.resource_mut::<Simulations>().all_mut()[0].shown_from = to;
        world.resource_mut::<Transport>().playing = true;
        world.resource_scope(|world, mut ahead: Mut<FastForward>| {
            world.resource_scope(|world, mut notices: Mut<Notices>| ahead.begin(world.resource(), &mut notices));
        });
    };
    let ticks = |app: &App| app.world().resource::<Simulations>().ticks();
    // So slow that without fast-forwarding no second tick would be due.
    let slowly = |to: u64| {
        let mut app = app();
        app.insert_resource(bevy::time::TimeUpdateStrategy::ManualDuration(Duration::from_micros(10)));
        begin(&mut app, to);
        app
    };
    let mut app = slowly(40);
    for _ in 0..200 {
        app.update();
    }
    assert_eq!(ticks(&app), 40);
    let mut plain = self::app();
    let mut simulations = plain.world_mut().resource_mut::<Simulations>();
    (0..40).for_each(|_| simulations.all_mut()[0].simulation.tick());
    let terrain = |app: &App| app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    assert!(terrain(&app) == terrain(&plain), "the result differs");
    // A pause ends it.
    let mut paused = slowly(40);
    paused.insert_resource(FrameBudget(Duration::from_nanos(1)));
    while ticks(&paused) < 5 {
        paused.update();
    }
    for _ in 0..2 {
        send(&mut paused, SimulationCommand::TogglePlay);
        paused.update();
    }
    let stopped = ticks(&paused);
    update_until_quiet(&mut paused);
    assert!(ticks(&paused) <= stopped + 1 && stopped < 40, "{stopped} and then {}", ticks(&paused));
    // Another project ends it too, and removes its notification.
    let mut other = slowly(u64::MAX);
    // No process is enabled on it, so that its map is never finished.
    other.world_mut().resource_mut::<Simulations>().all_mut()[0].enable(&[]);
    let notice_count = |app: &App| {
        app.world().resource::<Notices>().shown().filter(|notice| notice.text.contains("Fast-forwarding")).count()
    };
    for _ in 0..2000 {
        other.update();
        if notice_count(&other) > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(notice_count(&other), 1);
    let options = Options { size: Some((32, 32)), ..Options::default() };
    send(&mut other, FileCommand::Open("round-hill".into(), options));
    wait_for_jobs(&mut other);
    other.update();
    assert_eq!(notice_count(&other), 0);
}

#[test]
fn toggle_restores_user_overlay_not_brush_overlay() {
    let mut app = app();
    let shown = |app: &App| app.world().resource::<Overlay>().shown;
    let hold = |app: &mut App, tool: Option<Tool>| {
        app.world_mut().resource_mut::<Brushes>().active = tool;
        app.update();
    };
    let toggle = |app: &mut App| {
        send(app, OverlayCommand::Toggle);
        app.update();
    };
    send(&mut app, OverlayCommand::Show(Some(Quantity::Layer(Layer::Sand))));
    app.update();
    send(&mut app, OverlayCommand::Show(None));
    app.update();
    hold(&mut app, Some(Tool::Mask));
    assert_eq!(shown(&app), Some(Quantity::Layer(Layer::Mask)));
    // Off while the brush is active, and on again after it was deactivated.
    toggle(&mut app);
    assert_eq!(shown(&app), None);
    hold(&mut app, None);
    toggle(&mut app);
    assert_eq!(shown(&app), Some(Quantity::Layer(Layer::Sand)));
    // It ends with its project.
    let options = Options { size: Some((32, 32)), ..Options::default() };
    send(&mut app, FileCommand::Open("round-hill".into(), options));
    wait_for_jobs(&mut app);
    assert_eq!(shown(&app), None);
}
