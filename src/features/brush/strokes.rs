//! Strokes: pointer input with an active brush becomes dabs on the terrain.
//!
//! Layers change only between ticks. If a tick takes longer than a frame, touches are queued until it ends while frames
//! continue; the brush ring follows the pointer immediately.

use std::collections::VecDeque;

use bevy::{ecs::system::SystemParam, prelude::*};

use crate::world::{
    AppCommand, BrushCommand, BrushCursor, BrushInput, BrushRing, Brushes, CardTicks, Deadline, EditCommand, History,
    Label, ModifierKeys, NoticeLevel, Notices, PointerOverView, Restarts, Revision, Simulations, Transport,
};
use thalweg_scene::model::session::Session;
use thalweg_sim::{
    core::{grid::Grid, terrain::Terrain},
    edit::{Brush, Dab, Stroke, StrokeGrowth, Symmetry, Tool, UndoPatch},
};

/// Queued step of a stroke.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StrokeStep {
    /// Starts the stroke.
    Begin(StrokeStart),
    /// Continues to a place.
    Go([f32; 2]),
    /// Sets the pen pressure, from 0 to 1.
    Press(f32),
    /// Holds still for a number of seconds.
    Rest(f32),
    /// Ends the stroke.
    End,
}

/// Start of a stroke.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StrokeStart {
    place: [f32; 2],
    tool: Tool,
    inverted: bool,
    /// Source of a clone.
    source: Option<[f32; 2]>,
    /// Pen pressure, from 0 to 1.
    pressure: f32,
}

/// Stroke in progress, and steps queued until the end of the current tick.
#[derive(Resource, Default)]
pub(super) struct StrokeQueue {
    stroke: Option<OpenStroke>,
    waiting: VecDeque<StrokeStep>,
    /// Pen pressure, from 0 to 1; `None` without a pen.
    pressure: Option<f32>,
    /// Place of rain that waits for water to be enabled; `true` if the button has been released.
    rain: Option<([f32; 2], bool)>,
}

/// Stroke in progress.
struct OpenStroke {
    /// Number in the history.
    number: u64,
    tool: Tool,
    brush: Brush,
    /// Pen pressure, from 0 to 1.
    pressure: f32,
    inverted: bool,
    /// Start, as fractions of the map's sides.
    from: [f32; 2],
    /// Current place, as fractions of the map's sides.
    place: [f32; 2],
    /// State in each session.
    tracks: Vec<StrokeTrack>,
}

/// State of a stroke in a session.
struct StrokeTrack {
    /// Path that places the dabs.
    stroke: Stroke,
    /// Ground height under the first dab, in metres.
    level: f32,
    /// Growth of each cell so far.
    growth: StrokeGrowth,
    /// Number of dabs so far.
    dabs: u64,
    /// For a clone: original ground, offset of the source in cells, and its depth below the destination in metres.
    clone_source: Option<(Grid, [f32; 2], f32)>,
}

/// Converts a place in fractions of the map's sides into fractional column and row.
fn cell(terrain: &Terrain, [x, y]: [f32; 2]) -> [f32; 2] {
    [x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5]
}

impl OpenStroke {
    fn begin(number: u64, simulations: &Simulations, brushes: &Brushes, beginning: StrokeStart) -> Self {
        let StrokeStart { place, tool, inverted, source, pressure } = beginning;
        let track = |session: &Session| {
            let terrain = &session.simulation.terrain;
            let [x, y] = cell(terrain, place);
            let level = terrain.sample_ground(x, y);
            let copied = source.filter(|_| tool == Tool::Clone).map(|source| {
                let source = cell(terrain, source);
                (terrain.ground(), [source[0] - x, source[1] - y], level - terrain.sample_ground(source[0], source[1]))
            });
            StrokeTrack {
                stroke: Stroke::new([x, y]),
                level,
                growth: StrokeGrowth::default(),
                dabs: 0,
                clone_source: copied,
            }
        };
        let tracks = simulations.all().iter().map(track).collect();
        let brush = brushes.of(tool).clone();
        Self { number, tool, brush, pressure, inverted, from: place, place, tracks }
    }

    /// Continues to a place within a number of seconds, with dabs along the way. The first dab of a stroke is immediate.
    fn go(
        &mut self,
        simulations: &mut Simulations,
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
        let (symmetry, mut patches) = (self.symmetry(), history.stroke());
        let brush = self.brush.pressed(self.pressure);
        for (index, (session, track)) in simulations.all_mut().iter_mut().zip(&mut self.tracks).enumerate() {
            let simulation = &mut session.simulation;
            let at = cell(&simulation.terrain, place);
            let dabs = if first { vec![at] } else { track.stroke.advance(at, seconds, &brush, &simulation.terrain) };
            // After further ticks, a stroke is undone by restoring a whole state, without a patch.
            let mut discarded = UndoPatch::default();
            let patch = patches.as_mut().and_then(|patches| patches.get_mut(index)).unwrap_or(&mut discarded);
            let size = (simulation.terrain.width(), simulation.terrain.height());
            // With uniform uplift, painting the maximum would have no effect.
            let is_lost = self.tool == Tool::Uplift && !self.inverted && brush.uplift >= 1.0;
            if first && is_lost && simulation.terrain.uplift.is_none() {
                simulation.clear_uplift(patch);
            }
            for place in dabs.into_iter().flat_map(|place| symmetry.places(place, size)) {
                let copies = track.clone_source.as_ref().map(|(_, away, lower)| (*away, *lower));
                let relief = track.clone_source.as_ref().map_or(&*brushes.stamp.0, |(ground, ..)| ground);
                let dab = Dab {
                    place,
                    inverted: self.inverted,
                    level: track.level,
                    clone_source: copies,
                    number: track.dabs,
                };
                track.dabs += 1;
                simulation.dab_in_stroke((self.tool, &brush), dab, Some(relief), (patch, &mut track.growth));
                // Rain and mask are stored apart from the layers.
                session.origin.edited |= !matches!(self.tool, Tool::Rain | Tool::Mask);
            }
        }
    }

    /// Returns the symmetry of the stroke.
    fn symmetry(&self) -> Symmetry {
        if self.tool.has("symmetry") { self.brush.symmetry } else { Symmetry::Off }
    }

    /// Ends the stroke, which builds the ramp of [`Tool::Slope`].
    fn end(&self, simulations: &mut Simulations, history: &mut History) {
        if self.tool != Tool::Slope || self.from == self.place {
            return;
        }
        let mut patches = history.stroke();
        for (index, session) in simulations.all_mut().iter_mut().enumerate() {
            let terrain = &session.simulation.terrain;
            let size = (terrain.width(), terrain.height());
            let [from, to] = [self.from, self.place].map(|place| self.symmetry().places(cell(terrain, place), size));
            let mut discarded = UndoPatch::default();
            let patch = patches.as_mut().and_then(|patches| patches.get_mut(index)).unwrap_or(&mut discarded);
            from.zip(to).for_each(|(from, to)| session.simulation.ramp(&self.brush, [from, to], patch));
            session.origin.edited = true;
        }
    }
}

/// State that strokes read and change.
#[derive(SystemParam)]
pub(super) struct StrokeParams<'w> {
    brushes: ResMut<'w, Brushes>,
    cursor: ResMut<'w, BrushCursor>,
    simulations: ResMut<'w, Simulations>,
    history: ResMut<'w, History>,
    revision: ResMut<'w, Revision>,
    notices: ResMut<'w, Notices>,
    transport: ResMut<'w, Transport>,
    deadline: Res<'w, Deadline>,
    restarts: Res<'w, Restarts>,
    over_view: Res<'w, PointerOverView>,
}

/// Handles a brush command.
pub(super) fn handle_command(
    command: On<BrushCommand>,
    mut sculpted: StrokeParams,
    mut pointer: ResMut<StrokeQueue>,
    mut card: ResMut<CardTicks>,
) {
    match *command.event() {
        BrushCommand::Activate(tool) => {
            sculpted.brushes.active = tool;
            pointer.end_without_brush(&mut sculpted);
        }
        BrushCommand::Resize(steps) => sculpted.brushes.resize(steps),
        BrushCommand::Cancel => {
            card.bypass_change_detection().bring_back(&mut sculpted.simulations);
            pointer.drop_ended(&sculpted.history);
            pointer.cancel(&mut sculpted);
        }
    }
}

/// Converts touches into strokes, between ticks and within the frame's time.
pub(super) fn process_touches(
    mut commands: MessageReader<AppCommand>,
    mut touches: MessageReader<BrushInput>,
    mut sculpted: StrokeParams,
    mut pointer: ResMut<StrokeQueue>,
    mut card: ResMut<CardTicks>,
    mut asked: Commands,
) {
    let pointer = &mut *pointer;
    pointer.drop_ended(&sculpted.history);
    if pointer.stroke.is_some() {
        card.bypass_change_detection().bring_back(&mut sculpted.simulations);
    }
    let at_once = commands.read().filter(|command| command.flushes_strokes()).count() > 0;
    touches.read().for_each(|touch| pointer.queue_touch(*touch, &mut sculpted, &mut asked));
    if let Some((place, over)) = pointer.rain
        && water_flows(&sculpted.simulations)
    {
        pointer.rain = None;
        pointer.begin(place, (Tool::Water, false), &sculpted.brushes);
        if over {
            pointer.push_step(StrokeStep::End);
        }
    }
    pointer.end_without_brush(&mut sculpted);
    if pointer.stroke.is_some() || !pointer.waiting.is_empty() {
        card.bypass_change_detection().bring_back(&mut sculpted.simulations);
    }
    pointer.execute_queue(&mut sculpted, at_once);
    sculpted.transport.brush_waits = !pointer.waiting.is_empty();
}

impl StrokeQueue {
    /// Ends the stroke and removes the ring if no brush is active and the pointer does not rain.
    fn end_without_brush(&mut self, sculpted: &mut StrokeParams) {
        if sculpted.brushes.active.is_none() && !sculpted.over_view.adds_rain && sculpted.cursor.0.is_some() {
            sculpted.cursor.0 = None;
            self.push_step(StrokeStep::End);
        }
    }

    /// Drops the stroke, and the rest of its steps, if another edit has ended it.
    fn drop_ended(&mut self, history: &History) {
        if self.stroke.take_if(|stroke| history.strokes() != Some(stroke.number)).is_some() {
            while self.waiting.pop_front_if(|step| !matches!(step, StrokeStep::Begin(..))).is_some() {}
        }
    }

    /// Returns `true` if a stroke is in progress and its end is not queued.
    fn is_stroking(&self) -> bool {
        self.waiting.back().map_or(self.stroke.is_some(), |step| *step != StrokeStep::End)
    }

    /// Queues the start of a stroke at a place.
    fn begin(&mut self, place: [f32; 2], (tool, inverted): (Tool, bool), brushes: &Brushes) {
        let source = brushes.source.filter(|_| tool == Tool::Clone);
        let pressure = self.pressure.unwrap_or(1.0);
        self.waiting.push_back(StrokeStep::Begin(StrokeStart { place, tool, inverted, source, pressure }));
    }

    /// Queues a step of the stroke in progress, if any.
    fn push_step(&mut self, step: StrokeStep) {
        if self.is_stroking() {
            self.waiting.push_back(step);
        }
    }

    /// Queues the steps of a touch, and moves the ring.
    fn queue_touch(&mut self, touch: BrushInput, sculpted: &mut StrokeParams, asked: &mut Commands) {
        if let BrushInput::Pressure(pressure) = touch {
            self.pressure = Some(pressure);
            self.push_step(StrokeStep::Press(pressure));
            return;
        }
        let (held, rains) = (sculpted.brushes.active, sculpted.over_view.adds_rain);
        if held.is_none() && !rains {
            return;
        }
        let ring = match touch {
            // Without a brush, there is a ring only while it rains.
            BrushInput::Hover(..) if held.is_none() => None,
            BrushInput::Hover(place, keys) => {
                let (tool, inverted) = effective_tool(held, keys);
                let source = sculpted.brushes.source.filter(|_| tool == Tool::Clone);
                place.map(|place| BrushRing { place, from: None, source, tool, inverted })
            }
            BrushInput::Press(place, keys) => {
                let (tool, inverted) = effective_tool(held, keys);
                if tool == Tool::Clone && (keys.ctrl || sculpted.brushes.source.is_none()) {
                    let text = if keys.ctrl {
                        sculpted.brushes.source = Some(place);
                        "Clone source set."
                    } else {
                        "No clone source is set. Ctrl+click the terrain to set one."
                    };
                    sculpted.notices.notify(NoticeLevel::Info, text);
                    return;
                }
                let source = sculpted.brushes.source.filter(|_| tool == Tool::Clone);
                if held.is_none() && tool == Tool::Water && !inverted && !water_flows(&sculpted.simulations) {
                    // Enables Water without rain elsewhere.
                    asked.write_message(AppCommand::from(EditCommand::EnableWater));
                    self.rain = Some((place, false));
                } else {
                    self.begin(place, (tool, inverted), &sculpted.brushes);
                }
                Some(BrushRing { place, from: (tool == Tool::Slope).then_some(place), source, tool, inverted })
            }
            BrushInput::Move(place) => {
                self.rain = self.rain.map(|_| (place, false));
                self.push_step(StrokeStep::Go(place));
                sculpted.cursor.0.map(|ring| {
                    let source = |[x, y]: [f32; 2]| [x + place[0] - ring.place[0], y + place[1] - ring.place[1]];
                    BrushRing { place, source: ring.source.map(source), ..ring }
                })
            }
            BrushInput::Pressure(_) => sculpted.cursor.0,
            BrushInput::Rest(seconds) => {
                self.push_step(StrokeStep::Rest(seconds));
                sculpted.cursor.0
            }
            BrushInput::Withdraw => {
                self.rain = None;
                if self.is_stroking() {
                    self.cancel(sculpted);
                }
                None
            }
            BrushInput::Release => {
                self.rain = self.rain.map(|(place, _)| (place, true));
                self.push_step(StrokeStep::End);
                sculpted.cursor.0.map(|ring| BrushRing { from: None, ..ring })
            }
        };
        if sculpted.cursor.0 != ring {
            sculpted.cursor.0 = ring;
        }
    }

    /// Executes queued steps: between ticks until the frame's time is used up, or all of them if `at_once`, for a command that
    /// depends on them.
    fn execute_queue(&mut self, sculpted: &mut StrokeParams, at_once: bool) {
        // Terrain that is being generated will replace the present one.
        if self.waiting.is_empty() || sculpted.restarts.is_active() && !at_once {
            return;
        }
        if at_once {
            sculpted.simulations.finish_tick();
        } else if !sculpted.simulations.between_ticks() {
            sculpted.simulations.resume();
            return;
        }
        while let Some(step) = self.waiting.pop_front() {
            self.take(step, sculpted);
            if sculpted.deadline.is_over() && !at_once {
                break;
            }
        }
        sculpted.revision.next_state();
    }

    fn take(&mut self, step: StrokeStep, StrokeParams { simulations, history, brushes, .. }: &mut StrokeParams) {
        if let StrokeStep::Begin(beginning) = step {
            let number = history.begin_stroke(simulations, Label::Stroke(beginning.tool));
            let mut stroke = OpenStroke::begin(number, simulations, brushes, beginning);
            stroke.go(simulations, history, brushes, beginning.place, 0.0, true);
            self.stroke = Some(stroke);
            return;
        }
        let Some(stroke) = &mut self.stroke else { return };
        match step {
            StrokeStep::Begin(..) => {}
            StrokeStep::Go(place) => stroke.go(simulations, history, brushes, place, 0.0, false),
            StrokeStep::Press(pressure) => stroke.pressure = pressure,
            StrokeStep::Rest(seconds) => stroke.go(simulations, history, brushes, stroke.place, seconds, false),
            StrokeStep::End => {
                stroke.end(simulations, history);
                history.end_stroke();
                self.stroke = None;
            }
        }
    }

    /// Cancels the stroke in progress; without one, deselects the brush.
    fn cancel(&mut self, sculpted: &mut StrokeParams) {
        if !self.is_stroking() {
            sculpted.brushes.active = None;
            return;
        }
        sculpted.cursor.0 = sculpted.cursor.0.map(|ring| BrushRing { from: None, ..ring });
        if let Some(begin) = self.waiting.iter().rposition(|step| matches!(step, StrokeStep::Begin(..))) {
            // Nothing has been executed yet.
            self.waiting.truncate(begin);
            return;
        }
        self.waiting.clear();
        self.stroke = None;
        let ticks = sculpted.simulations.ticks();
        sculpted.history.cancel_stroke(&mut sculpted.simulations);
        if sculpted.simulations.ticks() == ticks {
            sculpted.revision.next_state();
        } else {
            sculpted.revision.next_start();
            let tick = sculpted.simulations.ticks();
            let text = format!("Stroke cancelled. The terrain is back at tick {tick}.");
            sculpted.notices.notify(NoticeLevel::Info, text);
        }
    }
}

/// Returns the tool in effect with these keys held, and `true` if it is inverted. Without a brush, the tool is rain.
fn effective_tool(held: Option<Tool>, keys: ModifierKeys) -> (Tool, bool) {
    match held {
        Some(_) if keys.shift => (Tool::Smooth, keys.ctrl),
        Some(tool) => (tool, keys.ctrl && tool.inverts()),
        None if keys.lifts => (Tool::Raise, false),
        None if keys.digs => (Tool::Lower, false),
        None => (Tool::Water, keys.shift),
    }
}

/// Returns `true` if a process moves water in any simulation. Those side by side without water are intended.
fn water_flows(simulations: &Simulations) -> bool {
    let slots = simulations.all().iter().flat_map(|session| &session.simulation.slots);
    slots.filter(|slot| slot.enabled).any(|slot| slot.process.info().moves_water)
}

#[cfg(test)]
mod tests;
