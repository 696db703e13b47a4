//! Undo and redo of what the user did: a changed parameter, a switch, or a whole state that was replaced.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{Label, Live, state::Moment};
use crate::{
    model::session::Session,
    params::{Value, walk, write},
    sim::{edit::Patch, terrain::Source},
};

/// All steps together may take so many bytes; beyond it the oldest go.
pub const BUDGET: usize = 512 << 20;
/// Changes of the same thing within this time are one step: a slider that is dragged.
const SAME_STEP: Duration = Duration::from_millis(900);

/// What a step changed, with what brings back the other side of it.
#[derive(Clone)]
enum Change {
    /// A parameter and its values in all sessions; one of the terrain is a state, as it replaces everything.
    Parameter(String, &'static str, Vec<Value>),
    /// Which processes ran in every session, and which kept off what is masked.
    Switches(Vec<Vec<[bool; 2]>>),
    /// Springs and drains of every session.
    Sources(Vec<Vec<Source>>),
    /// What a stroke changed in every session; good as long as no tick has run since.
    Stroke(Vec<Patch>),
    /// Everything.
    State(Moment),
}

#[derive(Clone)]
struct UndoStep {
    label: Label,
    change: Change,
}

/// Steps that can be undone and redone.
#[derive(Resource, Clone, Default)]
pub struct History {
    past: Vec<UndoStep>,
    future: Vec<UndoStep>,
    last: Option<Instant>,
    /// Whether the button is pressed, and whether it has been since something was last changed.
    pressed: bool,
    held: bool,
    /// The number of the stroke that still goes on, which is the last step.
    open: Option<u64>,
    /// Strokes so far.
    begun: u64,
    /// How often something was changed, taken back or done again.
    changes: u64,
}

impl History {
    /// What undo and redo would do next.
    pub fn next(&self) -> (Option<&Label>, Option<&Label>) {
        (self.past.last().map(|step| &step.label), self.future.last().map(|step| &step.label))
    }

    /// All steps, the oldest first, and how many of them are done; the others can be done again.
    pub fn steps(&self) -> (impl Iterator<Item = &Label>, usize) {
        let all = self.past.iter().chain(self.future.iter().rev());
        (all.map(|step| &step.label), self.past.len())
    }

    /// How often something was done by hand, taken back or done again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Memory that all steps take, in bytes.
    pub fn bytes(&self) -> usize {
        self.past.iter().chain(&self.future).map(UndoStep::bytes).sum()
    }

    /// Begins a stroke in so many sessions. What it changes goes into the patches of [`Self::stroke`]. Returns its number.
    pub fn begin_stroke(&mut self, label: Label, sessions: usize) -> u64 {
        self.end_stroke();
        self.last = None;
        self.changes += 1;
        self.future.clear();
        self.past.push(UndoStep { label, change: Change::Stroke(vec![Patch::default(); sessions]) });
        self.begun += 1;
        self.open = Some(self.begun);
        self.begun
    }

    /// The patches of the stroke that goes on, unless ticks have run since it began.
    pub fn stroke(&mut self) -> Option<&mut [Patch]> {
        match self.past.last_mut().filter(|_| self.open.is_some()).map(|step| &mut step.change) {
            Some(Change::Stroke(patches)) => Some(patches),
            _ => None,
        }
    }

    /// The number of the stroke that goes on, if one does. Whatever else is done ends it.
    pub fn strokes(&self) -> Option<u64> {
        self.open
    }

    /// Ends the stroke that goes on, if one does. One that changed nothing is no step.
    pub fn end_stroke(&mut self) {
        if self.stroke().is_some_and(|patches| patches.iter().all(Patch::is_empty)) {
            self.past.pop();
        }
        // What was kept while it was made is not the whole of it.
        self.changes += u64::from(self.open.take().is_some());
        self.keep_to_budget();
    }

    /// Takes back the stroke that goes on; it can't be done again.
    pub fn cancel_stroke(&mut self, live: &mut Live) {
        if self.open.take().is_some()
            && let Some(step) = self.past.pop()
        {
            step.exchange(live);
        }
    }

    /// Makes what only holds for the present tick hold for good, before another tick runs: strokes become whole states.
    pub(super) fn seal(&mut self, live: &Live) {
        for list in [&mut self.past, &mut self.future] {
            // The next of each list that is a stroke or a state; older strokes come after a state then.
            let next = list.iter().rposition(|step| matches!(step.change, Change::Stroke(_) | Change::State(_)));
            let Some(place) = next.filter(|place| matches!(list[*place].change, Change::Stroke(_))) else { continue };
            let mut before = live.clone();
            for step in list[place + 1..].iter().rev() {
                step.clone().exchange(&mut before);
            }
            if let Change::Stroke(patches) = &mut list[place].change {
                exchange_patches(&mut before, patches);
            }
            list[place].change = Change::State(Moment::new(before));
        }
        self.keep_to_budget();
    }

    /// Remembers a parameter as it is before it is changed.
    pub(super) fn before_parameter(&mut self, live: &Live, group: &str, name: &'static str) {
        let values = live.all().iter().filter_map(|session| value(session, group, name)).collect();
        self.push(Label::parameter(live, group, name), true, || Change::Parameter(group.to_owned(), name, values));
    }

    /// Remembers which processes run, and which leave masked ground alone, before that is changed.
    pub(super) fn before_switch(&mut self, live: &Live, label: Label) {
        self.push(label, false, || Change::Switches(switches(live)));
    }

    /// Remembers the springs before they are changed.
    pub(super) fn before_sources(&mut self, live: &Live, wanted: &[Source]) {
        self.push(Label::springs(live, wanted), true, || Change::Sources(sources(live)));
    }

    /// Remembers everything before it is replaced.
    pub(super) fn before_state(&mut self, live: &Live, label: Label) {
        self.push(label, false, || Change::State(Moment::new(live.clone())));
    }

    /// What is dragged goes on as long as the button is held.
    fn push(&mut self, label: Label, drags: bool, change: impl FnOnce() -> Change) {
        self.end_stroke();
        self.changes += 1;
        let now = Instant::now();
        let held = std::mem::replace(&mut self.held, self.pressed) && drags;
        let goes_on = self.last.replace(now).is_some_and(|last| now - last < SAME_STEP || held);
        self.future.clear();
        // What a step looked like before its first change is what undo brings back.
        if goes_on && self.past.last().is_some_and(|step| step.label == label) {
            return;
        }
        self.past.push(UndoStep { label, change: change() });
        self.keep_to_budget();
    }

    fn keep_to_budget(&mut self) {
        while self.bytes() > BUDGET && self.past.len() > 1 {
            self.past.remove(0);
        }
    }

    /// Takes the last step back. Returns what it was and whether all sessions were replaced.
    pub(super) fn undo(&mut self, live: &mut Live) -> Option<(Label, bool)> {
        self.last = None;
        self.end_stroke();
        let done = exchange_last(&mut self.past, &mut self.future, live);
        self.changes += u64::from(done.is_some());
        done
    }

    /// Does again the step that was last taken back. Returns the same.
    pub(super) fn redo(&mut self, live: &mut Live) -> Option<(Label, bool)> {
        self.last = None;
        self.end_stroke();
        let done = exchange_last(&mut self.future, &mut self.past, live);
        self.changes += u64::from(done.is_some());
        done
    }
}

/// Exchanges the last step of one list for what is there, which becomes the last of the other.
fn exchange_last(from: &mut Vec<UndoStep>, to: &mut Vec<UndoStep>, live: &mut Live) -> Option<(Label, bool)> {
    let (other, replaced) = from.pop()?.exchange(live);
    let label = other.label.clone();
    to.push(other);
    Some((label, replaced))
}

impl UndoStep {
    /// Exchanges what it holds for what is there.
    fn exchange(self, live: &mut Live) -> (Self, bool) {
        let Self { label, change } = self;
        let (change, replaced) = match change {
            Change::Parameter(group, name, values) => {
                let now = live.all().iter().filter_map(|session| value(session, &group, name)).collect();
                for (session, value) in live.all_mut().iter_mut().zip(&values) {
                    for (key, fields) in session.groups_mut() {
                        if key == group {
                            write(fields, name, value);
                        }
                    }
                }
                (Change::Parameter(group, name, now), false)
            }
            Change::Sources(before) => {
                let now = sources(live);
                live.all_mut().iter_mut().zip(before).for_each(|(session, sources)| session.set_sources(sources));
                (Change::Sources(now), false)
            }
            Change::Stroke(mut patches) => {
                exchange_patches(live, &mut patches);
                (Change::Stroke(patches), false)
            }
            Change::Switches(before) => {
                let now = switches(live);
                for (session, on) in live.all_mut().iter_mut().zip(before) {
                    for (slot, [enabled, limited]) in session.simulation.slots.iter_mut().zip(on) {
                        (slot.enabled, slot.limited) = (enabled, limited);
                    }
                }
                (Change::Switches(now), false)
            }
            Change::State(state) => (Change::State(Moment::new(std::mem::replace(live, state.live()))), true),
        };
        (Self { label, change }, replaced)
    }

    fn bytes(&self) -> usize {
        match &self.change {
            Change::State(state) => state.bytes(),
            Change::Stroke(patches) => patches.iter().map(Patch::bytes).sum(),
            _ => 64,
        }
    }
}

fn exchange_patches(live: &mut Live, patches: &mut [Patch]) {
    for (session, patch) in live.all_mut().iter_mut().zip(patches) {
        session.simulation.exchange(patch);
    }
}

/// Sees whether a drag goes on: what it changes is one step, however slow the hand.
pub(super) fn follow_button(mouse: Option<Res<ButtonInput<MouseButton>>>, mut history: ResMut<History>) {
    let history = history.bypass_change_detection();
    history.pressed = mouse.is_some_and(|mouse| mouse.pressed(MouseButton::Left));
    history.held &= history.pressed;
}

fn value(session: &Session, group: &str, name: &str) -> Option<Value> {
    let groups = session.groups();
    let group = groups.into_iter().find(|(key, _)| *key == group)?;
    walk(group).into_iter().find(|parameter| parameter.name == name).map(|parameter| parameter.value)
}

/// Springs and drains of every session.
fn sources(live: &Live) -> Vec<Vec<Source>> {
    live.all().iter().map(|session| session.simulation.terrain.sources.clone()).collect()
}

fn switches(live: &Live) -> Vec<Vec<[bool; 2]>> {
    let of = |session: &Session| session.simulation.slots.iter().map(|slot| [slot.enabled, slot.limited]).collect();
    live.all().iter().map(of).collect()
}
