//! Strokes: what the pointer does with a brush in the hand becomes dabs on the terrain.

use bevy::prelude::*;

use crate::{
    model::session::Session,
    runtime::{BrushCursor, Brushes, Command, Held, History, Level, Live, Notices, Revision, Ring, Touch},
    sim::{
        edit::{Brush, Dab, Patch, Stroke, Tool},
        terrain::Terrain,
    },
};

/// A stroke that is being made.
pub(super) struct Work {
    /// Its number in the history.
    stroke: u64,
    tool: Tool,
    brush: Brush,
    inverted: bool,
    /// Where it began and where it is, as shares of the map.
    from: [f32; 2],
    place: [f32; 2],
    /// Where the next dabs fall, and the height under the first, in every session.
    ways: Vec<(Stroke, f32)>,
}

/// Column and row, between cell centres, of a place given in shares of the map.
fn cell(terrain: &Terrain, [x, y]: [f32; 2]) -> [f32; 2] {
    [x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5]
}

impl Work {
    fn begin(stroke: u64, live: &Live, brushes: &Brushes, (tool, inverted): (Tool, bool), place: [f32; 2]) -> Self {
        let way = |session: &Session| {
            let terrain = &session.simulation.terrain;
            let [x, y] = cell(terrain, place);
            (Stroke::new([x, y]), terrain.ground_between(x, y))
        };
        let ways = live.all().iter().map(way).collect();
        Self { stroke, tool, brush: brushes.of(tool).clone(), inverted, from: place, place, ways }
    }

    /// Goes on to a place within so many seconds, and dabs on the way; at the start it dabs there at once.
    fn go(
        &mut self,
        live: &mut Live,
        history: &mut History,
        brushes: &Brushes,
        place: [f32; 2],
        seconds: f32,
        first: bool,
    ) {
        self.place = place;
        if self.tool == Tool::Slope {
            return;
        }
        let mut kept = history.stroke();
        for (index, (session, (stroke, level))) in live.all_mut().iter_mut().zip(&mut self.ways).enumerate() {
            let simulation = &mut session.simulation;
            let at = cell(&simulation.terrain, place);
            let dabs = if first { vec![at] } else { stroke.go(at, seconds, &self.brush, &simulation.terrain) };
            // A stroke that the simulation has run on from is taken back as a whole state.
            let mut unkept = Patch::default();
            let patch = kept.as_mut().and_then(|patches| patches.get_mut(index)).unwrap_or(&mut unkept);
            for place in dabs {
                let dab = Dab { place, inverted: self.inverted, level: *level };
                simulation.dab(self.tool, &self.brush, dab, Some(&brushes.stamp.0), patch);
                // Rain and mask are kept apart from the layers.
                session.origin.edited |= !matches!(self.tool, Tool::Rain | Tool::Mask);
            }
        }
    }

    /// Makes the ramp, if that is what the stroke was for.
    fn end(&self, live: &mut Live, history: &mut History) {
        if self.tool != Tool::Slope || self.from == self.place {
            return;
        }
        let mut kept = history.stroke();
        for (index, session) in live.all_mut().iter_mut().enumerate() {
            let ends = [self.from, self.place].map(|place| cell(&session.simulation.terrain, place));
            let mut unkept = Patch::default();
            let patch = kept.as_mut().and_then(|patches| patches.get_mut(index)).unwrap_or(&mut unkept);
            session.simulation.ramp(&self.brush, ends, patch);
            session.origin.edited = true;
        }
    }
}

/// Makes strokes of touches.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
pub(super) fn work(
    mut touches: MessageReader<Touch>,
    mut commands: MessageReader<Command>,
    brushes: Res<Brushes>,
    mut cursor: ResMut<BrushCursor>,
    mut live: ResMut<Live>,
    mut history: ResMut<History>,
    mut revision: ResMut<Revision>,
    mut notices: ResMut<Notices>,
    mut work: Local<Option<Work>>,
) {
    // Whatever else was done meanwhile has ended the stroke.
    work.take_if(|work| history.strokes() != Some(work.stroke));
    for touch in touches.read() {
        let Some(held) = brushes.held else { continue };
        match *touch {
            Touch::Hover(place, keys) => {
                let (tool, inverted) = meant(held, keys);
                let ring = place.map(|place| Ring { place, from: None, tool, inverted });
                if cursor.0 != ring {
                    cursor.0 = ring;
                }
                continue;
            }
            Touch::Press(place, keys) => {
                let (tool, inverted) = meant(held, keys);
                live.finish_tick();
                let stroke = history.begin_stroke(tool.title(), live.all().len());
                let mut begun = Work::begin(stroke, &live, &brushes, (tool, inverted), place);
                begun.go(&mut live, &mut history, &brushes, place, 0.0, true);
                *work = Some(begun);
            }
            Touch::Move(place) => {
                if let Some(work) = &mut *work {
                    live.finish_tick();
                    work.go(&mut live, &mut history, &brushes, place, 0.0, false);
                }
            }
            Touch::Rest(seconds) => {
                if let Some(work) = &mut *work {
                    live.finish_tick();
                    let place = work.place;
                    work.go(&mut live, &mut history, &brushes, place, seconds, false);
                }
            }
            Touch::Release => {
                if let Some(done) = work.take() {
                    live.finish_tick();
                    done.end(&mut live, &mut history);
                    history.end_stroke();
                }
            }
        }
        if let Some(work) = &*work {
            let from = (work.tool == Tool::Slope).then_some(work.from);
            cursor.0 = Some(Ring { place: work.place, from, tool: work.tool, inverted: work.inverted });
        } else {
            cursor.0 = cursor.0.map(|ring| Ring { from: None, ..ring });
        }
        revision.goes_on();
    }
    let cancelled = commands.read().filter(|command| **command == Command::Cancel).count() > 0;
    if cancelled && work.take().is_some() {
        let ticks = live.ticks();
        history.cancel_stroke(&mut live);
        if live.ticks() == ticks {
            revision.goes_on();
        } else {
            revision.begins();
            let text = format!("The stroke was taken back: the terrain is as it was at tick {}.", live.ticks());
            notices.tell(Level::Info, text);
        }
        cursor.0 = cursor.0.map(|ring| Ring { from: None, ..ring });
    }
    if brushes.held.is_none() && cursor.0.is_some() {
        cursor.0 = None;
        *work = None;
        history.end_stroke();
    }
}

/// What a tool does while these keys are down, and whether it does the opposite.
fn meant(held: Tool, keys: Held) -> (Tool, bool) {
    (if keys.shift { Tool::Smooth } else { held }, keys.ctrl)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::origin::Options,
        params::Value,
        runtime::{self, Transport},
        sim::terrain::Terrain,
    };

    fn app() -> App {
        let mut app = App::new();
        let options = Options { size: Some((64, 64)), ..Options::default() };
        app.add_plugins((MinimalPlugins, runtime::plugin, super::super::plugin))
            .insert_resource(Live::new(vec![Session::open("round-hill", &options).expect("built in")]))
            .insert_resource(Transport::paused());
        app.world_mut().resource_mut::<Brushes>().held = Some(Tool::Raise);
        app
    }

    fn touch(app: &mut App, touches: &[Touch]) {
        for touch in touches {
            app.world_mut().write_message(*touch);
        }
        app.update();
    }

    fn stroke(app: &mut App) {
        let keys = Held::default();
        touch(app, &[Touch::Press([0.3, 0.4], keys), Touch::Move([0.6, 0.5]), Touch::Rest(0.2), Touch::Release]);
    }

    fn run(app: &mut App, ticks: u32) {
        app.world_mut().write_message(Command::Step(ticks));
        (0..300).for_each(|_| app.update());
    }

    fn ask(app: &mut App, command: Command) {
        app.world_mut().write_message(command);
        app.update();
    }

    fn terrain(app: &App) -> Terrain {
        app.world().resource::<Live>().chosen().simulation.terrain.clone()
    }

    fn ticks(app: &App) -> u64 {
        app.world().resource::<Live>().ticks()
    }

    fn steps(app: &App) -> usize {
        app.world().resource::<History>().steps().1
    }

    #[test]
    fn restart_keeps_what_was_shaped_before_the_first_tick() {
        let mut app = app();
        let bare = terrain(&app);
        stroke(&mut app);
        let shaped = terrain(&app);
        for _ in 0..2 {
            run(&mut app, 2);
            stroke(&mut app);
            ask(&mut app, Command::Restart);
            assert!(terrain(&app) == shaped && ticks(&app) == 0);
        }
        ask(&mut app, Command::RestartUnshaped);
        assert!(terrain(&app) == bare);
        ask(&mut app, Command::Undo);
        assert!(terrain(&app) == shaped);
        // Another terrain has no such shape; the old one has it again.
        ask(&mut app, Command::Set("terrain".to_owned(), "relief", Value::Number(50.0)));
        assert!(terrain(&app).bedrock.min_max().1 <= 50.0);
        ask(&mut app, Command::Undo);
        ask(&mut app, Command::Restart);
        assert!(terrain(&app) == shaped);
        // What was taken back does not come again.
        while steps(&app) > 0 {
            ask(&mut app, Command::Undo);
        }
        run(&mut app, 1);
        ask(&mut app, Command::Restart);
        assert!(terrain(&app) == bare);
    }

    #[test]
    fn a_stroke_is_one_step_that_is_undone_and_done_again_to_the_bit() {
        let mut app = app();
        let before = terrain(&app);
        stroke(&mut app);
        let after = terrain(&app);
        assert!(before != after && steps(&app) == 1);
        stroke(&mut app);
        assert_eq!(steps(&app), 2, "two strokes in quick succession are two steps");
        ask(&mut app, Command::Jump(2));
        assert!(terrain(&app) == before && steps(&app) == 0);
        ask(&mut app, Command::Redo);
        assert!(terrain(&app) == after);
        let residual = app.world().resource::<Live>().chosen().simulation.solid_residual();
        assert!(residual.abs() < 1e-4, "{residual}");
    }

    #[test]
    fn a_stroke_that_time_has_run_on_from_is_undone_to_its_tick_and_the_run_goes_on_as_if_it_had_not_been() {
        let (mut app, mut other) = (app(), app());
        run(&mut app, 3);
        let before = terrain(&app);
        stroke(&mut app);
        let sculpted = terrain(&app);
        run(&mut app, 4);
        let later = terrain(&app);
        ask(&mut app, Command::Undo);
        assert!((terrain(&app) == before, ticks(&app)) == (true, 3));
        let told =
            |app: &App, text: &str| app.world().resource::<Notices>().shown().any(|notice| notice.text.contains(text));
        assert!(told(&app, "as it was at tick 3"));
        // Time goes on without the stroke as it would have without it.
        run(&mut app, 4);
        run(&mut other, 7);
        assert!(terrain(&app) == terrain(&other));
        ask(&mut app, Command::Redo);
        assert!(terrain(&app) == later && ticks(&app) == 7);
        assert!(sculpted != later);
    }

    #[test]
    fn a_stroke_below_another_step_is_undone_after_time_has_run_too() {
        let mut app = app();
        let before = terrain(&app);
        stroke(&mut app);
        let painted = terrain(&app);
        ask(&mut app, Command::Set("droplets".to_owned(), "friction", Value::Number(0.3)));
        run(&mut app, 4);
        assert!(terrain(&app) != painted);
        ask(&mut app, Command::Undo);
        ask(&mut app, Command::Undo);
        assert!((terrain(&app) == before, ticks(&app)) == (true, 0));
        let residual = app.world().resource::<Live>().chosen().simulation.solid_residual();
        assert!(residual.abs() < 1e-4, "{residual}");
        // The same the other way: both taken back, time runs, both done again.
        ask(&mut app, Command::Redo);
        ask(&mut app, Command::Undo);
        run(&mut app, 2);
        ask(&mut app, Command::Redo);
        assert!(terrain(&app) != before);
    }

    #[test]
    fn whatever_is_done_while_a_stroke_goes_on_ends_it() {
        for command in [
            Command::Undo,
            Command::Set("droplets".to_owned(), "friction", Value::Number(0.3)),
            Command::Restart,
            Command::InvertMask,
        ] {
            let (mut app, fresh) = (app(), app());
            touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default()), Touch::Rest(0.3)]);
            ask(&mut app, command.clone());
            let after = terrain(&app);
            touch(&mut app, &[Touch::Move([0.7, 0.7]), Touch::Rest(0.5), Touch::Release]);
            assert!(terrain(&app) == after, "the stroke went on after {command:?}");
            while steps(&app) > 0 {
                ask(&mut app, Command::Undo);
            }
            let mut start = terrain(&app);
            start.mask = None;
            assert!(start == terrain(&fresh), "{command:?} is not undone");
        }
    }

    #[test]
    fn escape_takes_back_what_the_stroke_touched_and_then_puts_the_brush_away() {
        let mut app = app();
        let before = terrain(&app);
        touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default()), Touch::Move([0.7, 0.7])]);
        assert!(terrain(&app) != before);
        ask(&mut app, Command::Cancel);
        assert!(terrain(&app) == before && steps(&app) == 0);
        touch(&mut app, &[Touch::Move([0.2, 0.2]), Touch::Release]);
        assert!(terrain(&app) == before, "what follows of a cancelled stroke does nothing");
        assert_eq!(app.world().resource::<Brushes>().held, Some(Tool::Raise));
        ask(&mut app, Command::Cancel);
        assert_eq!(app.world().resource::<Brushes>().held, None);
        // While time runs.
        app.world_mut().resource_mut::<Brushes>().held = Some(Tool::Raise);
        touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default())]);
        run(&mut app, 2);
        touch(&mut app, &[Touch::Move([0.7, 0.7])]);
        ask(&mut app, Command::Cancel);
        assert!((terrain(&app) == before, ticks(&app)) == (true, 0));
    }

    #[test]
    fn shift_smooths_ctrl_does_the_opposite_and_a_ramp_joins_two_places() {
        let mut app = app();
        let height = |app: &App, [x, y]: [f32; 2]| terrain(app).ground_between(64.0 * x - 0.5, 64.0 * y - 0.5);
        let place = [0.5, 0.4];
        let start = height(&app, place);
        let click = |keys: Held| [Touch::Press(place, keys), Touch::Rest(0.3), Touch::Release];
        touch(&mut app, &click(Held::default()));
        let raised = height(&app, place);
        touch(&mut app, &click(Held { shift: true, ctrl: false }));
        let smoothed = height(&app, place);
        touch(&mut app, &click(Held { shift: false, ctrl: true }));
        let lowered = height(&app, place);
        assert!(start < raised && smoothed < raised && lowered < smoothed, "{start} {raised} {smoothed} {lowered}");
        app.world_mut().resource_mut::<Brushes>().held = Some(Tool::Slope);
        let ends = [[0.3, 0.3], [0.6, 0.6]];
        let wanted = 0.5 * (height(&app, ends[0]) + height(&app, ends[1]));
        let away = |app: &App| (height(app, [0.45, 0.45]) - wanted).abs();
        let before = away(&app);
        touch(&mut app, &[Touch::Press(ends[0], Held::default()), Touch::Move(ends[1])]);
        let drawn = app.world().resource::<BrushCursor>().0.and_then(|ring| ring.from);
        assert_eq!(drawn, Some(ends[0]));
        touch(&mut app, &[Touch::Release]);
        assert!(away(&app) < 0.2 * before, "{} of {before}", away(&app));
    }
}
