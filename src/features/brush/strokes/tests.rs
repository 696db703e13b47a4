//! Tests of strokes, with touches as the pointer sends them.

use super::*;
use crate::world::{
    self, EditCommand, FileCommand, FrameBudget, HistoryCommand, Jobs, Notice, Restarts, SimulationCommand, Transport,
};
use bevy::state::app::StatesPlugin;
use thalweg_scene::{io::scene::open_first, model::origin::Options};
use thalweg_sim::{core::terrain::Terrain, params::Value};

fn app() -> App {
    world::background::pool();
    let mut app = App::new();
    let options = Options { size: Some((64, 64)), ..Options::default() };
    app.add_plugins((MinimalPlugins, StatesPlugin, world::plugin, crate::features::plugin))
        .insert_resource(Simulations::new(vec![open_first("round-hill", &options).expect("built in")]))
        // A stroke completes in the frame in which it ends, even on a slow machine.
        .insert_resource(FrameBudget(std::time::Duration::from_secs(600)))
        .insert_resource(Transport::paused());
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Raise);
    app
}

fn touch(app: &mut App, touches: &[BrushInput]) {
    for touch in touches {
        app.world_mut().write_message(*touch);
    }
    app.update();
}

fn stroke(app: &mut App) {
    let keys = ModifierKeys::default();
    touch(
        app,
        &[
            BrushInput::Press([0.3, 0.4], keys),
            BrushInput::Move([0.6, 0.5]),
            BrushInput::Rest(0.2),
            BrushInput::Release,
        ],
    );
}

fn run(app: &mut App, ticks: u32) {
    app.world_mut().write_message(AppCommand::from(SimulationCommand::Step(ticks)));
    (0..300).for_each(|_| app.update());
}

fn ask(app: &mut App, command: impl Into<AppCommand>) {
    app.world_mut().write_message(command.into());
    app.update();
    while app.world().resource::<Restarts>().is_active() {
        app.update();
    }
}

fn terrain(app: &App) -> Terrain {
    app.world().resource::<Simulations>().selected().simulation.terrain.clone()
}

fn ticks(app: &App) -> u64 {
    app.world().resource::<Simulations>().ticks()
}

fn steps(app: &App) -> usize {
    app.world().resource::<History>().done().len()
}

#[test]
fn clone_brush_copies_from_ctrl_clicked_source() {
    let mut app = app();
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Clone);
    let before = terrain(&app);
    // Whole cells apart, so that nothing is interpolated.
    let [from, to] = [[0.5, 0.5], [13.0 / 64.0, 51.0 / 64.0]];
    let click =
        |place, ctrl| [BrushInput::Press(place, ModifierKeys { ctrl, ..ModifierKeys::default() }), BrushInput::Release];
    touch(&mut app, &click(to, false));
    assert!(terrain(&app) == before && steps(&app) == 0, "no source was set yet");
    touch(&mut app, &click(from, true));
    assert!(terrain(&app) == before && steps(&app) == 0);
    // Back and forth over one place, until it equals the hilltop.
    let keys = ModifierKeys::default();
    let round: Vec<BrushInput> =
        (0..60).map(|step| BrushInput::Move([to[0] + 0.01 * (step % 2) as f32, to[1]])).collect();
    touch(&mut app, &[&[BrushInput::Press(to, keys)][..], &round, &[BrushInput::Release]].concat());
    let now = terrain(&app);
    let ([x, y], [copied_x, copied_y]) = (cell(&now, to), cell(&now, from));
    let level = before.sample_ground(x, y) - before.sample_ground(copied_x, copied_y);
    for step in [-1.0, 0.0, 1.0] {
        let (found, wanted) = (now.sample_ground(x + step, y), before.sample_ground(copied_x + step, copied_y));
        assert!((found - wanted - level).abs() < 0.05, "{found} for {}", wanted + level);
    }
    ask(&mut app, EditCommand::Undo);
    assert!(terrain(&app) == before);
}

#[test]
fn restart_keeps_edits_made_before_first_tick() {
    let mut app = app();
    let bare = terrain(&app);
    stroke(&mut app);
    let shaped = terrain(&app);
    for _ in 0..2 {
        run(&mut app, 2);
        stroke(&mut app);
        ask(&mut app, SimulationCommand::Restart);
        assert!(terrain(&app) == shaped && ticks(&app) == 0);
    }
    ask(&mut app, SimulationCommand::RestartUnshaped);
    assert!(terrain(&app) == bare);
    ask(&mut app, EditCommand::Undo);
    assert!(terrain(&app) == shaped);
    // Another terrain has no such edits; undo restores them.
    ask(&mut app, EditCommand::Set("terrain".to_owned(), "relief", Value::Number(50.0)));
    assert!(terrain(&app).bedrock.min_max().1 <= 50.0);
    ask(&mut app, EditCommand::Undo);
    ask(&mut app, SimulationCommand::Restart);
    assert!(terrain(&app) == shaped);
    // Undone edits do not return.
    while steps(&app) > 0 {
        ask(&mut app, EditCommand::Undo);
    }
    run(&mut app, 1);
    ask(&mut app, SimulationCommand::Restart);
    assert!(terrain(&app) == bare);
}

#[test]
fn stroke_is_one_step_undone_and_redone_bit_identically() {
    let mut app = app();
    let before = terrain(&app);
    stroke(&mut app);
    let after = terrain(&app);
    assert!(before != after && steps(&app) == 1);
    stroke(&mut app);
    assert_eq!(steps(&app), 2, "two strokes in quick succession are two steps");
    (0..2).for_each(|_| ask(&mut app, EditCommand::Undo));
    assert!(terrain(&app) == before && steps(&app) == 0);
    ask(&mut app, EditCommand::Redo);
    assert!(terrain(&app) == after);
    let residual = app.world().resource::<Simulations>().selected().simulation.solid_residual();
    assert!(residual.abs() < 1e-4, "{residual}");
}

#[test]
fn undoing_a_stroke_returns_to_its_tick() {
    let (mut app, mut other) = (app(), app());
    run(&mut app, 3);
    let before = terrain(&app);
    stroke(&mut app);
    let sculpted = terrain(&app);
    run(&mut app, 4);
    let later = terrain(&app);
    ask(&mut app, EditCommand::Undo);
    assert!((terrain(&app) == before, ticks(&app)) == (true, 3));
    let is_notified =
        |app: &App, text: &str| app.world().resource::<Notices>().shown().any(|notice| notice.text.contains(text));
    assert!(is_notified(&app, "back at tick 3"));
    // The simulation continues as if the stroke had not been made.
    run(&mut app, 4);
    run(&mut other, 7);
    assert!(terrain(&app) == terrain(&other));
    ask(&mut app, EditCommand::Redo);
    assert!(terrain(&app) == later && ticks(&app) == 7);
    assert!(sculpted != later);
}

#[test]
fn stroke_below_another_step_is_undone_after_ticks() {
    let mut app = app();
    let before = terrain(&app);
    stroke(&mut app);
    let painted = terrain(&app);
    ask(&mut app, EditCommand::Set("droplets".to_owned(), "friction", Value::Number(0.3)));
    run(&mut app, 4);
    assert!(terrain(&app) != painted);
    ask(&mut app, EditCommand::Undo);
    ask(&mut app, EditCommand::Undo);
    assert!((terrain(&app) == before, ticks(&app)) == (true, 0));
    let residual = app.world().resource::<Simulations>().selected().simulation.solid_residual();
    assert!(residual.abs() < 1e-4, "{residual}");
    // The same in reverse: both undone, ticks run, both redone.
    ask(&mut app, EditCommand::Redo);
    ask(&mut app, EditCommand::Undo);
    run(&mut app, 2);
    ask(&mut app, EditCommand::Redo);
    assert!(terrain(&app) != before);
}

#[test]
fn commands_end_the_current_stroke() {
    let commands: [AppCommand; 4] = [
        EditCommand::Undo.into(),
        EditCommand::Set("droplets".to_owned(), "friction", Value::Number(0.3)).into(),
        SimulationCommand::Restart.into(),
        EditCommand::InvertMask.into(),
    ];
    for command in commands {
        let (mut app, fresh) = (app(), app());
        touch(&mut app, &[BrushInput::Press([0.5, 0.5], ModifierKeys::default()), BrushInput::Rest(0.3)]);
        ask(&mut app, command.clone());
        let after = terrain(&app);
        touch(&mut app, &[BrushInput::Move([0.7, 0.7]), BrushInput::Rest(0.5), BrushInput::Release]);
        assert!(terrain(&app) == after, "the stroke continued after {command:?}");
        while steps(&app) > 0 {
            ask(&mut app, EditCommand::Undo);
        }
        let mut start = terrain(&app);
        start.mask = None;
        assert!(start == terrain(&fresh), "{command:?} is not undone");
    }
}

/// Returns an app in the middle of a tick, whose frames have time for one step of a process.
fn slow() -> App {
    let mut app = app();
    for session in app.world_mut().resource_mut::<Simulations>().all_mut() {
        session.enable(&["droplets", "water", "thermal"]);
    }
    app.insert_resource(FrameBudget(std::time::Duration::ZERO));
    app.world_mut().write_message(AppCommand::from(SimulationCommand::Step(1000)));
    while ticks(&app) < 2 || between_ticks(&app) {
        app.update();
    }
    app
}

fn between_ticks(app: &App) -> bool {
    app.world().resource::<Simulations>().between_ticks()
}

/// Returns the volume added by edits, in cubic metres.
fn added(app: &App) -> f64 {
    app.world().resource::<Simulations>().selected().simulation.ledger.solid.edits
}

#[test]
fn stroke_and_ticks_wait_for_each_other() {
    let mut app = slow();
    touch(&mut app, &[BrushInput::Press([0.5, 0.5], ModifierKeys::default()), BrushInput::Rest(0.5)]);
    assert_eq!((added(&app), steps(&app)), (0.0, 0), "the frame has finished the tick");
    assert!(app.world().resource::<BrushCursor>().0.is_some(), "the ring is not delayed");
    while !between_ticks(&app) {
        assert_eq!(added(&app), 0.0);
        app.update();
    }
    let tick = ticks(&app);
    // It may take several frames on a busy machine.
    for _ in 0..1000 {
        app.update();
        if added(&app) > 0.0 {
            break;
        }
        assert_eq!((ticks(&app), steps(&app)), (tick, 1));
    }
    assert!(added(&app) > 0.0, "the stroke was never made");
    assert_eq!(steps(&app), 1);
    // Without booking, all of it would be missing.
    assert!(app.world().resource::<Simulations>().selected().simulation.solid_residual().abs() < 1e-4 * added(&app));
    // Ticks continue during the stroke, and the whole stroke is one step of undo.
    while ticks(&app) < tick + 3 {
        touch(&mut app, &[BrushInput::Move([0.6, 0.5]), BrushInput::Rest(0.1)]);
    }
    ask(&mut app, EditCommand::Undo);
    assert_eq!((ticks(&app), added(&app), steps(&app)), (tick, 0.0, 0));
}

#[test]
fn pending_stroke_precedes_commands_and_escape_cancels_it() {
    let mut app = slow();
    let press = BrushInput::Press([0.5, 0.5], ModifierKeys::default());
    touch(&mut app, &[press, BrushInput::Rest(0.5)]);
    ask(&mut app, BrushCommand::Cancel);
    (0..2000).for_each(|_| app.update());
    assert_eq!((steps(&app), app.world().resource::<Brushes>().active), (0, Some(Tool::Raise)));
    let mut app = slow();
    touch(&mut app, &[press, BrushInput::Rest(0.5), BrushInput::Release]);
    assert_eq!(steps(&app), 0);
    ask(&mut app, EditCommand::AddSand(1.0));
    let history = app.world().resource::<History>();
    let label = |id| history.label(id).map(|label| label.to_string().to_lowercase());
    let labels: Vec<String> = history.done().into_iter().rev().filter_map(label).collect();
    assert_eq!(labels, ["raise", "sand added"]);
}

#[test]
fn escape_undoes_stroke_then_deactivates_brush() {
    let mut app = app();
    let before = terrain(&app);
    touch(&mut app, &[BrushInput::Press([0.5, 0.5], ModifierKeys::default()), BrushInput::Move([0.7, 0.7])]);
    assert!(terrain(&app) != before);
    ask(&mut app, BrushCommand::Cancel);
    assert!(terrain(&app) == before && steps(&app) == 0);
    touch(&mut app, &[BrushInput::Move([0.2, 0.2]), BrushInput::Release]);
    assert!(terrain(&app) == before, "the rest of a cancelled stroke does nothing");
    assert_eq!(app.world().resource::<Brushes>().active, Some(Tool::Raise));
    ask(&mut app, BrushCommand::Cancel);
    assert_eq!(app.world().resource::<Brushes>().active, None);
    // While the simulation runs.
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Raise);
    touch(&mut app, &[BrushInput::Press([0.5, 0.5], ModifierKeys::default())]);
    run(&mut app, 2);
    touch(&mut app, &[BrushInput::Move([0.7, 0.7])]);
    ask(&mut app, BrushCommand::Cancel);
    assert!((terrain(&app) == before, ticks(&app)) == (true, 0));
}

#[test]
fn shift_smooths_ctrl_inverts_and_slope_joins_endpoints() {
    let mut app = app();
    let height = |app: &App, [x, y]: [f32; 2]| terrain(app).sample_ground(64.0 * x - 0.5, 64.0 * y - 0.5);
    let place = [0.5, 0.4];
    let start = height(&app, place);
    let click = |keys: ModifierKeys| [BrushInput::Press(place, keys), BrushInput::Rest(0.3), BrushInput::Release];
    touch(&mut app, &click(ModifierKeys::default()));
    let raised = height(&app, place);
    touch(&mut app, &click(ModifierKeys { shift: true, ..ModifierKeys::default() }));
    let smoothed = height(&app, place);
    touch(&mut app, &click(ModifierKeys { ctrl: true, ..ModifierKeys::default() }));
    let lowered = height(&app, place);
    assert!(start < raised && smoothed < raised && lowered < smoothed, "{start} {raised} {smoothed} {lowered}");
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Slope);
    let ends = [[0.3, 0.3], [0.6, 0.6]];
    let wanted = 0.5 * (height(&app, ends[0]) + height(&app, ends[1]));
    let away = |app: &App| (height(app, [0.45, 0.45]) - wanted).abs();
    let before = away(&app);
    touch(&mut app, &[BrushInput::Press(ends[0], ModifierKeys::default()), BrushInput::Move(ends[1])]);
    let drawn = app.world().resource::<BrushCursor>().0.and_then(|ring| ring.from);
    assert_eq!(drawn, Some(ends[0]));
    touch(&mut app, &[BrushInput::Release]);
    assert!(away(&app) < 0.2 * before, "{} of {before}", away(&app));
}

#[test]
fn pen_pressure_scales_brush_strength() {
    let rise = |touches: &[BrushInput]| {
        let mut app = app();
        touch(&mut app, touches);
        added(&app)
    };
    let (keys, places) = (ModifierKeys::default(), [[0.3, 0.4], [0.6, 0.5]]);
    let press = |pressure: f32| {
        [BrushInput::Pressure(pressure), BrushInput::Press(places[0], keys), BrushInput::Move(places[1])]
    };
    let full = rise(&[&press(1.0)[..], &[BrushInput::Release]].concat());
    let half = rise(&[&press(0.5)[..], &[BrushInput::Release]].concat());
    assert!((half / full - 0.5).abs() < 0.02, "{half} of {full}");
    let [weak, begins, moves] = press(0.2);
    let middle = BrushInput::Move([0.45, 0.45]);
    let rising = rise(&[weak, begins, middle, BrushInput::Pressure(0.8), moves, BrushInput::Release]);
    assert!((rising / full - 0.5).abs() < 0.1, "{rising} of {full}");
}

#[test]
fn clone_source_marker_follows_the_stroke() {
    let mut app = app();
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Clone);
    let source = |app: &App| app.world().resource::<BrushCursor>().0.and_then(|ring| ring.source);
    let (keys, ctrl) = (ModifierKeys::default(), ModifierKeys { ctrl: true, ..ModifierKeys::default() });
    touch(&mut app, &[BrushInput::Hover(Some([0.5, 0.5]), keys)]);
    assert_eq!(source(&app), None);
    touch(&mut app, &[BrushInput::Press([0.25, 0.25], ctrl), BrushInput::Release, BrushInput::Press([0.5, 0.5], keys)]);
    assert_eq!(source(&app), Some([0.25, 0.25]));
    touch(&mut app, &[BrushInput::Move([0.625, 0.75])]);
    assert_eq!(source(&app), Some([0.375, 0.5]));
    touch(&mut app, &[BrushInput::Release, BrushInput::Hover(Some([0.75, 0.75]), keys)]);
    assert_eq!(source(&app), Some([0.25, 0.25]));
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Raise);
    touch(&mut app, &[BrushInput::Hover(Some([0.75, 0.75]), keys)]);
    assert_eq!(source(&app), None);
}

#[test]
fn project_saves_undone_strokes() {
    let mut app = app();
    stroke(&mut app);
    let first = terrain(&app);
    ask(&mut app, EditCommand::Undo);
    touch(
        &mut app,
        &[BrushInput::Press([0.7, 0.7], ModifierKeys::default()), BrushInput::Rest(0.5), BrushInput::Release],
    );
    let second = terrain(&app);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("hill.thalweg");
    let finish = |app: &mut App| {
        while app.world().resource::<Jobs>().count() > 0 {
            app.update();
        }
        app.update();
    };
    ask(&mut app, FileCommand::SaveProject(path.clone()));
    finish(&mut app);
    assert!(terrain(&app) == second && steps(&app) == 1, "saving changed the project");
    let mut other = self::app();
    ask(&mut other, FileCommand::Open(path.clone(), Options::default()));
    finish(&mut other);
    assert!(terrain(&other) == second);
    let places: Vec<u64> = other.world().resource::<History>().marks().iter().map(|mark| mark.id).collect();
    let found = places.into_iter().any(|id| {
        ask(&mut other, HistoryCommand::GoTo(id));
        terrain(&other) == first
    });
    assert!(found, "the first stroke is gone");
}

#[test]
fn unsaved_undone_strokes_are_reported() {
    let mut app = app();
    // The current terrain gets the only state, so it is not random which stroke is stored with one.
    app.update();
    for _ in 0..35 {
        stroke(&mut app);
        ask(&mut app, EditCommand::Undo);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    ask(&mut app, FileCommand::SaveProject(folder.path().join("hill.thalweg")));
    let reports_loss = |notice: &Notice| notice.text == "The oldest 3 undone strokes were not saved with the project.";
    let texts: Vec<&str> = app.world().resource::<Notices>().shown().map(|notice| notice.text.as_str()).collect();
    assert!(app.world().resource::<Notices>().shown().any(reports_loss), "{texts:?}");
}

#[test]
fn press_without_brush_rains_drains_lifts_and_lowers() {
    let mut app = app();
    app.world_mut().resource_mut::<Brushes>().active = None;
    let keys = ModifierKeys::default();
    let press =
        |keys| [BrushInput::Press([0.5, 0.5], keys), BrushInput::Rest(0.5), BrushInput::Rest(0.5), BrushInput::Release];
    let before = terrain(&app);
    touch(&mut app, &press(keys));
    assert!(terrain(&app) == before, "it rains only on the stage");
    app.world_mut().resource_mut::<PointerOverView>().adds_rain = true;
    // Water is enabled first, then it rains while the button is held.
    let flows = |app: &App| water_flows(app.world().resource::<Simulations>());
    assert!(!flows(&app));
    touch(&mut app, &[BrushInput::Press([0.5, 0.5], keys), BrushInput::Rest(0.2)]);
    touch(&mut app, &[BrushInput::Rest(0.5)]);
    touch(&mut app, &[BrushInput::Rest(0.5), BrushInput::Release]);
    assert!(flows(&app));
    let wet = terrain(&app);
    assert!(wet.water_volume() > 0.0 && wet.ground() == before.ground());
    let booked = app.world().resource::<Simulations>().selected().simulation.ledger.water.edits;
    assert!((booked - wet.water_volume()).abs() < 1e-6 * booked, "{booked}");
    // A short press rains too, and distant cells stay dry while the simulation runs.
    touch(&mut app, &press(keys)[..1]);
    touch(&mut app, &[BrushInput::Release]);
    assert!(terrain(&app).water_volume() > wet.water_volume());
    run(&mut app, 3);
    assert!(ticks(&app) == 3 && terrain(&app).water.at(1, 1) == 0.0 && terrain(&app).water_volume() > 0.0);
    let wet = terrain(&app);
    touch(&mut app, &press(ModifierKeys { shift: true, ..keys }));
    assert!(terrain(&app).water_volume() < 0.5 * wet.water_volume());
    let heights = |app: &App| terrain(app).ground().total();
    let start = heights(&app);
    touch(&mut app, &press(ModifierKeys { lifts: true, ..keys }));
    let lifted = heights(&app);
    touch(&mut app, &press(ModifierKeys { digs: true, ..keys }));
    assert!(lifted > start && heights(&app) < lifted);
    // An unintended press leaves no trace, neither on the terrain nor in the history.
    let before_pinch = (terrain(&app), steps(&app));
    touch(&mut app, &[BrushInput::Press([0.5, 0.5], keys), BrushInput::Rest(0.1), BrushInput::Withdraw]);
    assert!((terrain(&app), steps(&app)) == before_pinch);
    // No ring remains, and each press is one step of undo.
    touch(&mut app, &[BrushInput::Hover(Some([0.5, 0.5]), keys)]);
    assert!(app.world().resource::<BrushCursor>().0.is_none());
    (0..7).for_each(|_| ask(&mut app, EditCommand::Undo));
    assert!(terrain(&app) == before && !flows(&app));
}
