//! Strokes: what the pointer does with a brush in the hand becomes dabs on the terrain.

use bevy::prelude::*;

use crate::{
    io::session::Session,
    runtime::{BrushCursor, Brushes, Command, Held, History, Level, Live, Notices, Revision, Ring, Touch},
    sim::{
        edit::{Brush, Dab, Patch, Stroke, Tool},
        terrain::Terrain,
    },
};

/// A stroke that is being made.
pub(super) struct Work {
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
    fn begin(live: &Live, brushes: &Brushes, tool: Tool, inverted: bool, place: [f32; 2]) -> Self {
        let way = |session: &Session| {
            let terrain = &session.simulation.terrain;
            let [x, y] = cell(terrain, place);
            (Stroke::new([x, y]), terrain.ground_between(x, y))
        };
        let ways = live.all().iter().map(way).collect();
        Self { tool, brush: brushes.of(tool).clone(), inverted, from: place, place, ways }
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
                session.origin.edited = true;
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
                history.begin_stroke(tool.title(), live.all().len());
                let mut begun = Work::begin(&live, &brushes, tool, inverted, place);
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
