//! Strokes: what the pointer does with a brush in the hand becomes dabs on the terrain.
//!
//! Layers are changed between ticks alone. Where a tick takes longer than a frame, touches wait for its end, and the frames go
//! on; the ring on the ground follows the pointer at once.

use std::collections::VecDeque;

use bevy::{ecs::system::SystemParam, prelude::*};

use crate::{
    model::session::Session,
    runtime::{
        BrushCommand, BrushCursor, BrushRing, Brushes, Command, Deadline, Held, History, Label, Level, Live, Notices,
        Revision, Touch, Transport,
    },
    sim::{
        edit::{Brush, Dab, Growth, Patch, Stroke, Symmetry, Tool},
        grid::Grid,
        terrain::Terrain,
    },
};

/// What a stroke still has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StrokeStep {
    /// Begin at a place, with a tool that perhaps does the opposite; and from where a clone copies.
    Begin([f32; 2], (Tool, bool), Option<[f32; 2]>),
    /// Go on to a place.
    Go([f32; 2]),
    /// Stay where it is for so many seconds.
    Rest(f32),
    /// End.
    End,
}

/// The stroke that is being made, and steps that wait for the end of the present tick.
#[derive(Default)]
pub(super) struct Strokes {
    stroke: Option<OpenStroke>,
    waiting: VecDeque<StrokeStep>,
}

/// A stroke that is being made.
struct OpenStroke {
    /// Its number in the history.
    number: u64,
    tool: Tool,
    brush: Brush,
    inverted: bool,
    /// Where it began and where it is, as shares of the map.
    from: [f32; 2],
    place: [f32; 2],
    /// What it does in every session.
    ways: Vec<Way>,
}

/// A stroke in a session.
struct Way {
    /// Where the next dabs fall.
    stroke: Stroke,
    /// The height under the first.
    level: f32,
    /// What they have lifted.
    growth: Growth,
    /// Of a clone, the ground as it was, how far away that is which is copied, and how much lower.
    copied: Option<(Grid, [f32; 2], f32)>,
}

/// Column and row, between cell centres, of a place given in shares of the map.
fn cell(terrain: &Terrain, [x, y]: [f32; 2]) -> [f32; 2] {
    [x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5]
}

impl OpenStroke {
    fn begin(
        number: u64,
        live: &Live,
        brushes: &Brushes,
        (tool, inverted): (Tool, bool),
        place: [f32; 2],
        source: Option<[f32; 2]>,
    ) -> Self {
        let way = |session: &Session| {
            let terrain = &session.simulation.terrain;
            let [x, y] = cell(terrain, place);
            let level = terrain.ground_between(x, y);
            let copied = source.filter(|_| tool == Tool::Clone).map(|source| {
                let source = cell(terrain, source);
                (terrain.ground(), [source[0] - x, source[1] - y], level - terrain.ground_between(source[0], source[1]))
            });
            Way { stroke: Stroke::new([x, y]), level, growth: Growth::default(), copied }
        };
        let ways = live.all().iter().map(way).collect();
        Self { number, tool, brush: brushes.of(tool).clone(), inverted, from: place, place, ways }
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
        let (symmetry, mut kept) = (self.symmetry(), history.stroke());
        for (index, (session, way)) in live.all_mut().iter_mut().zip(&mut self.ways).enumerate() {
            let simulation = &mut session.simulation;
            let at = cell(&simulation.terrain, place);
            let dabs = if first { vec![at] } else { way.stroke.go(at, seconds, &self.brush, &simulation.terrain) };
            // A stroke that the simulation has run on from is taken back as a whole state.
            let mut unkept = Patch::default();
            let patch = kept.as_mut().and_then(|patches| patches.get_mut(index)).unwrap_or(&mut unkept);
            let size = (simulation.terrain.width(), simulation.terrain.height());
            for place in dabs.into_iter().flat_map(|place| symmetry.places(place, size)) {
                let copies = way.copied.as_ref().map(|(_, away, lower)| (*away, *lower));
                let relief = way.copied.as_ref().map_or(&*brushes.stamp.0, |(ground, ..)| ground);
                let dab = Dab { place, inverted: self.inverted, level: way.level, copies };
                simulation.dab_in_stroke((self.tool, &self.brush), dab, Some(relief), (patch, &mut way.growth));
                // Rain and mask are kept apart from the layers.
                session.origin.edited |= !matches!(self.tool, Tool::Rain | Tool::Mask);
            }
        }
    }

    /// Where else the stroke is made.
    fn symmetry(&self) -> Symmetry {
        if self.tool.has("symmetry") { self.brush.symmetry } else { Symmetry::Off }
    }

    /// Makes the ramp, if that is what the stroke was for.
    fn end(&self, live: &mut Live, history: &mut History) {
        if self.tool != Tool::Slope || self.from == self.place {
            return;
        }
        let mut kept = history.stroke();
        for (index, session) in live.all_mut().iter_mut().enumerate() {
            let terrain = &session.simulation.terrain;
            let size = (terrain.width(), terrain.height());
            let [from, to] = [self.from, self.place].map(|place| self.symmetry().places(cell(terrain, place), size));
            let mut unkept = Patch::default();
            let patch = kept.as_mut().and_then(|patches| patches.get_mut(index)).unwrap_or(&mut unkept);
            from.zip(to).for_each(|(from, to)| session.simulation.ramp(&self.brush, [from, to], patch));
            session.origin.edited = true;
        }
    }
}

/// What strokes read and change.
#[derive(SystemParam)]
pub(super) struct Sculpted<'w> {
    brushes: ResMut<'w, Brushes>,
    cursor: ResMut<'w, BrushCursor>,
    live: ResMut<'w, Live>,
    history: ResMut<'w, History>,
    revision: ResMut<'w, Revision>,
    notices: ResMut<'w, Notices>,
    transport: ResMut<'w, Transport>,
    deadline: Res<'w, Deadline>,
}

/// Makes strokes of touches, as far as tick and frame allow.
pub(super) fn work(
    mut commands: MessageReader<Command>,
    mut touches: MessageReader<Touch>,
    mut sculpted: Sculpted,
    mut hand: Local<Strokes>,
) {
    // Whatever else was done meanwhile has ended the stroke, and what is left of it does nothing.
    if hand.stroke.take_if(|stroke| sculpted.history.strokes() != Some(stroke.number)).is_some() {
        while hand.waiting.pop_front_if(|step| !matches!(step, StrokeStep::Begin(..))).is_some() {}
    }
    let mut at_once = false;
    for command in commands.read() {
        at_once |= command.follows_strokes();
        let Command::Brush(command) = command else { continue };
        match command {
            BrushCommand::Hold(tool) => sculpted.brushes.held = *tool,
            BrushCommand::Resize(steps) => sculpted.brushes.resize(*steps),
            BrushCommand::Cancel => hand.cancel(&mut sculpted),
        }
    }
    touches.read().for_each(|touch| hand.feel(*touch, &mut sculpted));
    if sculpted.brushes.held.is_none() && sculpted.cursor.0.is_some() {
        sculpted.cursor.0 = None;
        hand.go_on(StrokeStep::End);
    }
    hand.work(&mut sculpted, at_once);
    sculpted.transport.bypass_change_detection().brush_waits = !hand.waiting.is_empty();
}

impl Strokes {
    /// Whether a stroke is being made whose end has not come.
    fn is_down(&self) -> bool {
        self.waiting.back().map_or(self.stroke.is_some(), |step| *step != StrokeStep::End)
    }

    /// Adds a step to the stroke that is being made, if one is.
    fn go_on(&mut self, step: StrokeStep) {
        if self.is_down() {
            self.waiting.push_back(step);
        }
    }

    /// Notes what a touch asks for, and lets the ring follow it.
    fn feel(&mut self, touch: Touch, sculpted: &mut Sculpted) {
        let Some(held) = sculpted.brushes.held else { return };
        let ring = match touch {
            Touch::Hover(place, keys) => {
                let (tool, inverted) = meant(held, keys);
                place.map(|place| BrushRing { place, from: None, tool, inverted })
            }
            Touch::Press(place, keys) => {
                let (tool, inverted) = meant(held, keys);
                if tool == Tool::Clone && (inverted || sculpted.brushes.source.is_none()) {
                    let text = if inverted {
                        sculpted.brushes.source = Some(place);
                        "The clone copies from here."
                    } else {
                        "Say first where the clone copies from: hold Ctrl and click."
                    };
                    sculpted.notices.tell(Level::Info, text);
                    return;
                }
                self.waiting.push_back(StrokeStep::Begin(place, (tool, inverted), sculpted.brushes.source));
                Some(BrushRing { place, from: (tool == Tool::Slope).then_some(place), tool, inverted })
            }
            Touch::Move(place) => {
                self.go_on(StrokeStep::Go(place));
                sculpted.cursor.0.map(|ring| BrushRing { place, ..ring })
            }
            Touch::Rest(seconds) => {
                self.go_on(StrokeStep::Rest(seconds));
                sculpted.cursor.0
            }
            Touch::Release => {
                self.go_on(StrokeStep::End);
                sculpted.cursor.0.map(|ring| BrushRing { from: None, ..ring })
            }
        };
        if sculpted.cursor.0 != ring {
            sculpted.cursor.0 = ring;
        }
    }

    /// Takes the steps that wait: between ticks, until the frame's time is over; or all of them at once, because something
    /// comes that must see them done.
    fn work(&mut self, sculpted: &mut Sculpted, at_once: bool) {
        if self.waiting.is_empty() {
            return;
        }
        if at_once {
            sculpted.live.finish_tick();
        } else if !sculpted.live.between_ticks() {
            sculpted.live.go_on();
            return;
        }
        while let Some(step) = self.waiting.pop_front() {
            self.take(step, sculpted);
            if sculpted.deadline.is_over() && !at_once {
                break;
            }
        }
        sculpted.revision.goes_on();
    }

    fn take(&mut self, step: StrokeStep, Sculpted { live, history, brushes, .. }: &mut Sculpted) {
        if let StrokeStep::Begin(place, (tool, inverted), source) = step {
            let number = history.begin_stroke(live, Label::Stroke(tool));
            let mut stroke = OpenStroke::begin(number, live, brushes, (tool, inverted), place, source);
            stroke.go(live, history, brushes, place, 0.0, true);
            self.stroke = Some(stroke);
            return;
        }
        let Some(stroke) = &mut self.stroke else { return };
        match step {
            StrokeStep::Begin(..) => {}
            StrokeStep::Go(place) => stroke.go(live, history, brushes, place, 0.0, false),
            StrokeStep::Rest(seconds) => stroke.go(live, history, brushes, stroke.place, seconds, false),
            StrokeStep::End => {
                stroke.end(live, history);
                history.end_stroke();
                self.stroke = None;
            }
        }
    }

    /// Takes back the stroke that is being made; without one, puts the brush away.
    fn cancel(&mut self, sculpted: &mut Sculpted) {
        if !self.is_down() {
            sculpted.brushes.held = None;
            return;
        }
        sculpted.cursor.0 = sculpted.cursor.0.map(|ring| BrushRing { from: None, ..ring });
        if let Some(begin) = self.waiting.iter().rposition(|step| matches!(step, StrokeStep::Begin(..))) {
            // Nothing of it has been done yet.
            self.waiting.truncate(begin);
            return;
        }
        self.waiting.clear();
        self.stroke = None;
        let ticks = sculpted.live.ticks();
        sculpted.history.cancel_stroke(&mut sculpted.live);
        if sculpted.live.ticks() == ticks {
            sculpted.revision.goes_on();
        } else {
            sculpted.revision.begins();
            let tick = sculpted.live.ticks();
            let text = format!("The stroke was taken back: the terrain is as it was at tick {tick}.");
            sculpted.notices.tell(Level::Info, text);
        }
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
        runtime::{self, EditCommand, FrameBudget, RunCommand, Transport},
        sim::terrain::Terrain,
    };

    fn app() -> App {
        let mut app = App::new();
        let options = Options { size: Some((64, 64)), ..Options::default() };
        app.add_plugins((MinimalPlugins, runtime::plugin, super::super::plugin))
            .insert_resource(Live::new(vec![Session::open("round-hill", &options).expect("built in")]))
            // A stroke is done in the frame in which it ends, however slow the machine.
            .insert_resource(FrameBudget(std::time::Duration::from_secs(600)))
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
        app.world_mut().write_message(Command::from(RunCommand::Step(ticks)));
        (0..300).for_each(|_| app.update());
    }

    fn ask(app: &mut App, command: impl Into<Command>) {
        app.world_mut().write_message(command.into());
        app.update();
    }

    fn terrain(app: &App) -> Terrain {
        app.world().resource::<Live>().chosen().simulation.terrain.clone()
    }

    fn ticks(app: &App) -> u64 {
        app.world().resource::<Live>().ticks()
    }

    fn steps(app: &App) -> usize {
        app.world().resource::<History>().done().len()
    }

    #[test]
    fn a_clone_copies_the_land_from_where_ctrl_said() {
        let mut app = app();
        app.world_mut().resource_mut::<Brushes>().held = Some(Tool::Clone);
        let before = terrain(&app);
        // Whole cells apart, so that nothing is read between cells.
        let [from, to] = [[0.5, 0.5], [13.0 / 64.0, 51.0 / 64.0]];
        let click = |place, ctrl| [Touch::Press(place, Held { ctrl, ..Held::default() }), Touch::Release];
        touch(&mut app, &click(to, false));
        assert!(terrain(&app) == before && steps(&app) == 0, "nothing was to be copied yet");
        touch(&mut app, &click(from, true));
        assert!(terrain(&app) == before && steps(&app) == 0);
        // Round and round over one place, until it is what the hill's top is.
        let keys = Held::default();
        let round: Vec<Touch> = (0..60).map(|step| Touch::Move([to[0] + 0.01 * (step % 2) as f32, to[1]])).collect();
        touch(&mut app, &[&[Touch::Press(to, keys)][..], &round, &[Touch::Release]].concat());
        let now = terrain(&app);
        let ([x, y], [copied_x, copied_y]) = (cell(&now, to), cell(&now, from));
        let level = before.ground_between(x, y) - before.ground_between(copied_x, copied_y);
        for step in [-1.0, 0.0, 1.0] {
            let (found, wanted) = (now.ground_between(x + step, y), before.ground_between(copied_x + step, copied_y));
            assert!((found - wanted - level).abs() < 0.05, "{found} for {}", wanted + level);
        }
        ask(&mut app, EditCommand::Undo);
        assert!(terrain(&app) == before);
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
            ask(&mut app, RunCommand::Restart);
            assert!(terrain(&app) == shaped && ticks(&app) == 0);
        }
        ask(&mut app, RunCommand::RestartUnshaped);
        assert!(terrain(&app) == bare);
        ask(&mut app, EditCommand::Undo);
        assert!(terrain(&app) == shaped);
        // Another terrain has no such shape; the old one has it again.
        ask(&mut app, EditCommand::Set("terrain".to_owned(), "relief", Value::Number(50.0)));
        assert!(terrain(&app).bedrock.min_max().1 <= 50.0);
        ask(&mut app, EditCommand::Undo);
        ask(&mut app, RunCommand::Restart);
        assert!(terrain(&app) == shaped);
        // What was taken back does not come again.
        while steps(&app) > 0 {
            ask(&mut app, EditCommand::Undo);
        }
        run(&mut app, 1);
        ask(&mut app, RunCommand::Restart);
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
        (0..2).for_each(|_| ask(&mut app, EditCommand::Undo));
        assert!(terrain(&app) == before && steps(&app) == 0);
        ask(&mut app, EditCommand::Redo);
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
        ask(&mut app, EditCommand::Undo);
        assert!((terrain(&app) == before, ticks(&app)) == (true, 3));
        let told =
            |app: &App, text: &str| app.world().resource::<Notices>().shown().any(|notice| notice.text.contains(text));
        assert!(told(&app, "as it was at tick 3"));
        // Time goes on without the stroke as it would have without it.
        run(&mut app, 4);
        run(&mut other, 7);
        assert!(terrain(&app) == terrain(&other));
        ask(&mut app, EditCommand::Redo);
        assert!(terrain(&app) == later && ticks(&app) == 7);
        assert!(sculpted != later);
    }

    #[test]
    fn a_stroke_below_another_step_is_undone_after_time_has_run_too() {
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
        let residual = app.world().resource::<Live>().chosen().simulation.solid_residual();
        assert!(residual.abs() < 1e-4, "{residual}");
        // The same the other way: both taken back, time runs, both done again.
        ask(&mut app, EditCommand::Redo);
        ask(&mut app, EditCommand::Undo);
        run(&mut app, 2);
        ask(&mut app, EditCommand::Redo);
        assert!(terrain(&app) != before);
    }

    #[test]
    fn whatever_is_done_while_a_stroke_goes_on_ends_it() {
        let commands: [Command; 4] = [
            EditCommand::Undo.into(),
            EditCommand::Set("droplets".to_owned(), "friction", Value::Number(0.3)).into(),
            RunCommand::Restart.into(),
            EditCommand::InvertMask.into(),
        ];
        for command in commands {
            let (mut app, fresh) = (app(), app());
            touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default()), Touch::Rest(0.3)]);
            ask(&mut app, command.clone());
            let after = terrain(&app);
            touch(&mut app, &[Touch::Move([0.7, 0.7]), Touch::Rest(0.5), Touch::Release]);
            assert!(terrain(&app) == after, "the stroke went on after {command:?}");
            while steps(&app) > 0 {
                ask(&mut app, EditCommand::Undo);
            }
            let mut start = terrain(&app);
            start.mask = None;
            assert!(start == terrain(&fresh), "{command:?} is not undone");
        }
    }

    /// An app in the middle of a tick, in which a frame has time for one step of a process.
    fn slow() -> App {
        let mut app = app();
        for session in app.world_mut().resource_mut::<Live>().all_mut() {
            session.enable(&["droplets", "water", "thermal"]);
        }
        app.insert_resource(FrameBudget(std::time::Duration::ZERO));
        app.world_mut().write_message(Command::from(RunCommand::Step(1000)));
        while ticks(&app) < 2 || between_ticks(&app) {
            app.update();
        }
        app
    }

    fn between_ticks(app: &App) -> bool {
        app.world().resource::<Live>().between_ticks()
    }

    /// Cubic metres that were added by hand.
    fn added(app: &App) -> f64 {
        app.world().resource::<Live>().chosen().simulation.ledger.solid.edits
    }

    #[test]
    fn a_stroke_waits_for_the_end_of_a_slow_tick_and_the_next_tick_for_the_stroke() {
        let mut app = slow();
        touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default()), Touch::Rest(0.5)]);
        assert_eq!((added(&app), steps(&app)), (0.0, 0), "the frame has finished the tick");
        assert!(app.world().resource::<BrushCursor>().0.is_some(), "the ring does not wait");
        while !between_ticks(&app) {
            assert_eq!(added(&app), 0.0);
            app.update();
        }
        let tick = ticks(&app);
        app.update();
        assert!(added(&app) > 0.0 && (ticks(&app), steps(&app)) == (tick, 1));
        // Had it not been booked, all of it would be missing.
        assert!(app.world().resource::<Live>().chosen().simulation.solid_residual().abs() < 1e-4 * added(&app));
        // Time runs on under the hand, and the whole stroke is one step that is taken back.
        while ticks(&app) < tick + 3 {
            touch(&mut app, &[Touch::Move([0.6, 0.5]), Touch::Rest(0.1)]);
        }
        ask(&mut app, EditCommand::Undo);
        assert_eq!((ticks(&app), added(&app), steps(&app)), (tick, 0.0, 0));
    }

    #[test]
    fn what_is_asked_for_after_a_waiting_stroke_sees_it_and_escape_takes_it_back() {
        let mut app = slow();
        let press = Touch::Press([0.5, 0.5], Held::default());
        touch(&mut app, &[press, Touch::Rest(0.5)]);
        ask(&mut app, BrushCommand::Cancel);
        (0..2000).for_each(|_| app.update());
        assert_eq!((steps(&app), app.world().resource::<Brushes>().held), (0, Some(Tool::Raise)));
        let mut app = slow();
        touch(&mut app, &[press, Touch::Rest(0.5), Touch::Release]);
        assert_eq!(steps(&app), 0);
        ask(&mut app, EditCommand::SpreadSand(1.0));
        let history = app.world().resource::<History>();
        let label = |id| history.label(id).map(|label| label.to_string().to_lowercase());
        let labels: Vec<String> = history.done().into_iter().rev().filter_map(label).collect();
        assert_eq!(labels, ["raise", "sheet of sand"]);
    }

    #[test]
    fn escape_takes_back_what_the_stroke_touched_and_then_puts_the_brush_away() {
        let mut app = app();
        let before = terrain(&app);
        touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default()), Touch::Move([0.7, 0.7])]);
        assert!(terrain(&app) != before);
        ask(&mut app, BrushCommand::Cancel);
        assert!(terrain(&app) == before && steps(&app) == 0);
        touch(&mut app, &[Touch::Move([0.2, 0.2]), Touch::Release]);
        assert!(terrain(&app) == before, "what follows of a cancelled stroke does nothing");
        assert_eq!(app.world().resource::<Brushes>().held, Some(Tool::Raise));
        ask(&mut app, BrushCommand::Cancel);
        assert_eq!(app.world().resource::<Brushes>().held, None);
        // While time runs.
        app.world_mut().resource_mut::<Brushes>().held = Some(Tool::Raise);
        touch(&mut app, &[Touch::Press([0.5, 0.5], Held::default())]);
        run(&mut app, 2);
        touch(&mut app, &[Touch::Move([0.7, 0.7])]);
        ask(&mut app, BrushCommand::Cancel);
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
