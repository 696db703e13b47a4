//! One tree of states: what a hand did, and keyframes along the run. Undo, redo and the timeline walk on it.
//!
//! A node comes from its parent by a step of the hand, or by ticks. States are packed beside the frames. A step that changed
//! settings only, or what a brush touched, leads from the state before it to the one after it and back, so that one of the two is
//! kept. What is run or done after going back is another branch. Keys of the camera belong to no state: their steps can be taken back, but they
//! stay when one goes to another place in time.

mod hand;
mod keep;
mod picture;
mod saved;
mod step;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::prelude::*;

pub use self::picture::HistoryPicture;
use self::step::{Change, HandStep};

use super::{
    CommandEvent, FrameSystems, Label, Preferences, Revision, Simulations, Transport, background::Background,
    works_in_place,
};
use thalweg_scene::{io::Budget, model::state::State};

/// Goes through the history.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum HistoryCommand {
    /// Goes to a place.
    GoTo(u64),
    /// Draws a small picture of a place.
    Draw(u64),
}

impl CommandEvent for HistoryCommand {
    fn needs_the_work(&self) -> bool {
        matches!(self, Self::GoTo(_))
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<History>()
        .add_observer(obey)
        .add_systems(
            Update,
            (
                hand::follow_button.before(super::ticks::run_due),
                keep::follow.after(super::fault::stop_broken).before(super::record::sample),
            )
                .run_if(works_in_place)
                .in_set(FrameSystems::Tick),
        )
        .add_systems(Update, picture::draw_wanted.in_set(FrameSystems::Follow));
}

fn obey(
    command: On<HistoryCommand>,
    mut simulations: ResMut<Simulations>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut history: ResMut<History>,
) {
    match *command.event() {
        HistoryCommand::GoTo(id) => tree::go_to(id, &mut simulations, &mut transport, &mut revision, &mut history),
        HistoryCommand::Draw(id) => history.draw(id),
    }
}

/// A place in the tree.
#[derive(Debug)]
struct Node {
    id: u64,
    parent: Option<u64>,
    /// The work that it belongs to, and its tick.
    work: u64,
    tick: u64,
    /// What a hand did to come here from the parent; ticks alone, if nothing.
    step: Option<HandStep>,
    /// Steps on its way that were taken back after time had run on from them.
    back: BTreeSet<u64>,
    state: Option<NodeState>,
}

/// The states of all sessions.
#[derive(Debug)]
enum NodeState {
    /// They are being packed, and will take about so many bytes.
    Packing(Background<usize, Vec<State>>),
    Packed(Arc<Vec<State>>),
}

impl Node {
    fn change(&self) -> Option<&Change> {
        self.step.as_ref().map(|step| &step.change)
    }

    fn bytes(&self) -> usize {
        let states = match &self.state {
            None => 0,
            Some(NodeState::Packing(packing)) => packing.request,
            Some(NodeState::Packed(states)) => states.iter().map(State::bytes).sum(),
        };
        states + self.change().map_or(0, Change::bytes) + 64
    }
}

/// Where a node stands in the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What to ask for to go there.
    pub id: u64,
    /// Its tick.
    pub tick: u64,
    /// The branch that it stands on; 0 is the one that was run first.
    pub branch: usize,
}

/// A place of the tree in a list.
pub struct HistoryRow<'a> {
    /// Where it stands.
    pub mark: Mark,
    /// What was done to come there, if it was not ticks alone.
    pub label: Option<&'a Label>,
    /// Whether the present came from there, and it was not taken back since.
    pub holds: bool,
}

/// The tree, and where the present stands in it.
#[derive(Resource, Default)]
pub struct History {
    /// Each after its parent.
    nodes: Vec<Node>,
    /// The last node on the way to the present.
    here: Option<u64>,
    next: u64,
    /// See [`Node::back`]: those of the present.
    back: BTreeSet<u64>,
    /// Steps that were taken back, the last one last, each with the place to go to if time had run on from it.
    undone: Vec<(u64, Option<u64>)>,
    /// The present work, and every work of the tree without its layers.
    work: u64,
    works: BTreeMap<u64, Simulations>,
    /// The step that is a stroke which still goes on.
    open: Option<u64>,
    /// How often something was changed, taken back or done again.
    changes: u64,
    /// When settings were last changed, whether the button is pressed, and whether it has been since then.
    last: Option<Instant>,
    pressed: bool,
    held: bool,
    /// Ticks between two keyframes, when the last one was taken, and what that cost the frame.
    interval: u64,
    taken: Option<Instant>,
    cost: Duration,
    /// How many nodes and changes there had been when it was last seen to that they keep to the budget, and that budget.
    trimmed: (u64, u64, usize),
    pictures: picture::Pictures,
}

/// What is seen of it.
impl History {
    /// What undo and the timeline take, and what they may.
    pub fn memory_text(&self, preferences: &Preferences) -> String {
        let size = |bytes: usize| Budget::of(bytes as u64);
        format!("{} of {}", size(self.bytes()), size(preferences.settings.undo_bytes()))
    }

    /// What undo and redo would do next.
    pub fn next(&self) -> (Option<&Label>, Option<&Label>) {
        let last = self.done().first().and_then(|id| self.label(*id));
        (last, self.undone.last().and_then(|(id, _)| self.label(*id)))
    }

    /// What was done to come to a node, if it was not ticks alone.
    pub fn label(&self, id: u64) -> Option<&Label> {
        self.node(id)?.step.as_ref().map(|step| &step.label)
    }

    /// All steps of the present work and those before it, and keyframes where branches begin and end; the oldest first.
    pub fn rows(&self) -> Vec<HistoryRow<'_>> {
        let (marks, way) = (self.marks(), self.way(self.here).map(|node| node.id).collect::<BTreeSet<_>>());
        let mut children: BTreeMap<Option<u64>, usize> = BTreeMap::new();
        self.nodes.iter().for_each(|node| *children.entry(node.parent).or_default() += 1);
        let mut rows = Vec::new();
        for node in self.nodes.iter().filter(|node| node.work == self.work || way.contains(&node.id)) {
            let Node { id, parent, tick, .. } = *node;
            let label = self.label(id);
            let ends = parent.is_none() || children.get(&Some(id)) != Some(&1);
            if label.is_none() && !ends && self.here != Some(id) {
                continue;
            }
            let before = marks.partition_point(|mark| mark.id <= id).checked_sub(1);
            let mark = Mark { id, tick, branch: before.map_or(0, |before| marks[before].branch) };
            rows.push(HistoryRow { mark, label, holds: way.contains(&id) && !self.back.contains(&id) });
        }
        rows
    }

    /// Steps that can be taken back, the last one first.
    pub fn done(&self) -> Vec<u64> {
        let from_somewhere = |node: &Node| node.parent.is_some() || matches!(node.change(), Some(Change::Set(..)));
        let can_go_back = |node: &&Node| node.step.is_some() && !self.back.contains(&node.id) && from_somewhere(node);
        self.way(self.here).filter(can_go_back).map(|node| node.id).collect()
    }

    /// All places of the present work that can be gone to, the oldest first.
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::with_capacity(self.nodes.len());
        let (mut branches, mut parents) = (0, BTreeSet::new());
        let own = self.nodes.iter().filter(|node| node.work == self.work);
        for node in own.filter(|node| node.state.is_some() || self.is_beside(node)) {
            let marked =
                |node: &Node| marks.binary_search_by_key(&node.id, |mark| mark.id).ok().map(|place| marks[place]);
            let parent = self.way(node.parent).find_map(marked);
            // The first child goes on with its parent's branch, another one begins its own.
            let first = parents.insert(parent.map(|parent| parent.id));
            let branch = match parent {
                Some(parent) if first && parent.tick <= node.tick => parent.branch,
                _ => {
                    branches += 1;
                    branches - 1
                }
            };
            marks.push(Mark { id: node.id, tick: node.tick, branch });
        }
        marks
    }

    /// The last node on the way to the present.
    pub fn here(&self) -> Option<u64> {
        self.here
    }

    /// How often something was done by hand, taken back or done again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Something was changed by hand that is saved with the work, and that is no step of it.
    pub fn note_change(&mut self) {
        self.changes += 1;
    }

    /// Memory that all steps and states take, in bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.iter().map(Node::bytes).sum()
    }
}
