//! Undo, redo and the timeline: a tree of states, with the user's steps and with snapshots along the simulation.
//!
//! A node follows from its parent by a step of the user, or by ticks. States are packed in the background. A step that only changed
//! settings, or cells under a brush, can be applied and reverted, so that a single state serves the nodes before and after it.
//! Going back and continuing from there starts another branch. Camera keyframes belong to no state: their steps can be undone, but
//! going to another point in time does not change them.

mod saved;
mod step;
mod storage;
mod thumbnail;
mod tree;
mod user_steps;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use self::step::{StepChange, UserStep};
pub use self::thumbnail::Thumbnail;

use super::{
    AppCommandEvent, FrameSystems, Label, Preferences, Revision, Simulations, Transport, background::BackgroundTask,
    has_project,
};
use thalweg_scene::{io::Budget, model::state::SimulationState};

/// Command of the history.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum HistoryCommand {
    /// Goes to a node.
    GoTo(u64),
    /// Goes to a node without restoring its look.
    ScrubTo(u64),
    /// Renders a thumbnail of a node.
    Draw(u64),
}

impl AppCommandEvent for HistoryCommand {
    fn requires_project(&self) -> bool {
        matches!(self, Self::GoTo(_) | Self::ScrubTo(_))
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<History>()
        .add_observer(handle_command)
        .add_systems(
            Update,
            (
                user_steps::follow_button.before(super::ticks::run_due),
                storage::follow.after(super::fault::stop_broken).before(super::record::sample),
            )
                .run_if(has_project)
                .in_set(FrameSystems::Tick),
        )
        .add_systems(Update, thumbnail::draw_wanted.in_set(FrameSystems::Follow));
}

fn handle_command(
    command: On<HistoryCommand>,
    mut simulations: ResMut<Simulations>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut history: ResMut<History>,
) {
    match *command.event() {
        HistoryCommand::GoTo(id) => tree::go_to(id, &mut simulations, &mut transport, &mut revision, &mut history),
        HistoryCommand::ScrubTo(id) => {
            let project = simulations.project_id();
            let looks = simulations
                .all()
                .iter()
                .map(|session| (session.look.clone(), session.water_look.clone(), session.rivers.shown));
            let looks: Vec<_> = looks.collect();
            tree::go_to(id, &mut simulations, &mut transport, &mut revision, &mut history);
            if simulations.project_id() == project {
                for (session, (look, water_look, rivers)) in simulations.all_mut().iter_mut().zip(looks) {
                    (session.look, session.water_look, session.rivers.shown) = (look, water_look, rivers);
                }
            }
        }
        HistoryCommand::Draw(id) => history.draw(id),
    }
}

/// Node of the tree.
#[derive(Debug)]
struct HistoryNode {
    id: u64,
    parent: Option<u64>,
    /// Identifier of its project, and its tick.
    project_id: u64,
    tick: u64,
    /// Step that leads here from the parent; `None` for ticks alone.
    step: Option<UserStep>,
    /// Steps on its path that were undone after ticks had run since.
    back: BTreeSet<u64>,
    state: Option<NodeState>,
}

/// States of all sessions.
#[derive(Debug)]
enum NodeState {
    /// Being packed, with the estimated size in bytes.
    Packing(BackgroundTask<usize, Vec<SimulationState>>),
    Packed(Arc<Vec<SimulationState>>),
}

impl HistoryNode {
    fn change(&self) -> Option<&StepChange> {
        self.step.as_ref().map(|step| &step.change)
    }

    fn bytes(&self) -> usize {
        let states = match &self.state {
            None => 0,
            Some(NodeState::Packing(packing)) => packing.request,
            Some(NodeState::Packed(states)) => states.iter().map(SimulationState::bytes).sum(),
        };
        states + self.change().map_or(0, StepChange::bytes) + 64 + 16 * self.back.len()
    }

    /// Returns the states, once they are packed.
    fn packed(&self) -> Option<&Arc<Vec<SimulationState>>> {
        match &self.state {
            Some(NodeState::Packed(states)) => Some(states),
            _ => None,
        }
    }
}

/// Position of a node in the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePosition {
    /// Identifier of the node.
    pub id: u64,
    /// Tick of the node.
    pub tick: u64,
    /// Index of its branch; 0 is the first one.
    pub branch: usize,
}

/// Row of the history list.
pub struct HistoryRow<'a> {
    /// Position in the timeline.
    pub mark: TimelinePosition,
    /// Label of its step; `None` for ticks alone.
    pub label: Option<&'a Label>,
    /// `true` if the current state follows from it, and it was not undone since.
    pub is_applied: bool,
}

/// The tree, and the position of the current state in it.
#[derive(Resource, Default)]
pub struct History {
    /// Nodes, each after its parent.
    nodes: Vec<HistoryNode>,
    /// Last node on the path to the current state.
    here: Option<u64>,
    next: u64,
    /// [`HistoryNode::back`] of the current state.
    back: BTreeSet<u64>,
    /// Undone steps, the last one last, each with the node to go to if ticks had run since.
    undone: Vec<(u64, Option<u64>)>,
    /// Identifier of the current project, and all projects of the tree without their layers.
    project_id: u64,
    projects: BTreeMap<u64, Simulations>,
    /// Stroke in progress.
    open: Option<u64>,
    /// Number of changes, undos and redos so far.
    changes: u64,
    /// Time of the last change of settings, `true` while the mouse button is down, and `true` if it has been down since that
    /// change.
    last: Option<Instant>,
    pressed: bool,
    held: bool,
    /// Ticks between two snapshots, time of the last one, and its cost in the frame.
    interval: u64,
    taken: Option<Instant>,
    cost: Duration,
    /// Node and change counts and the limit at the last check against the limit.
    trimmed: (u64, u64, usize),
    thumbnails: thumbnail::ThumbnailCache,
}

/// Queries.
impl History {
    /// Formats the memory use of undo and the timeline, and its limit.
    pub fn memory_text(&self, preferences: &Preferences) -> String {
        let size = |bytes: usize| Budget::of(bytes as u64);
        format!("{} of {}", size(self.bytes()), size(preferences.settings.undo_bytes()))
    }

    /// Returns the labels of the next undo and redo.
    pub fn next(&self) -> (Option<&Label>, Option<&Label>) {
        let last = self.done().first().and_then(|id| self.label(*id));
        (last, self.undone.last().and_then(|(id, _)| self.label(*id)))
    }

    /// Returns the label of a node's step, or `None` for ticks alone.
    pub fn label(&self, id: u64) -> Option<&Label> {
        self.node(id)?.step.as_ref().map(|step| &step.label)
    }

    /// Returns all steps of the current project and its predecessors, and the snapshots where branches begin and end, the oldest
    /// first.
    pub fn rows(&self) -> Vec<HistoryRow<'_>> {
        let (marks, path) = (self.marks(), self.ancestors(self.here).map(|node| node.id).collect::<BTreeSet<_>>());
        let mut children: BTreeMap<Option<u64>, usize> = BTreeMap::new();
        self.nodes.iter().for_each(|node| *children.entry(node.parent).or_default() += 1);
        let mut rows = Vec::new();
        for node in self.nodes.iter().filter(|node| node.project_id == self.project_id || path.contains(&node.id)) {
            let HistoryNode { id, parent, tick, .. } = *node;
            let label = self.label(id);
            let ends = parent.is_none() || children.get(&Some(id)) != Some(&1);
            if label.is_none() && !ends && self.here != Some(id) {
                continue;
            }
            let before = marks.partition_point(|mark| mark.id <= id).checked_sub(1);
            let mark = TimelinePosition { id, tick, branch: before.map_or(0, |before| marks[before].branch) };
            rows.push(HistoryRow { mark, label, is_applied: path.contains(&id) && !self.back.contains(&id) });
        }
        rows
    }

    /// Returns the steps that can be undone, the last one first.
    pub fn done(&self) -> Vec<u64> {
        let from_somewhere =
            |node: &HistoryNode| node.parent.is_some() || matches!(node.change(), Some(StepChange::Set(..)));
        let can_go_back =
            |node: &&HistoryNode| node.step.is_some() && !self.back.contains(&node.id) && from_somewhere(node);
        self.ancestors(self.here).filter(can_go_back).map(|node| node.id).collect()
    }

    /// Returns all nodes of the current project that can be restored, the oldest first.
    pub fn marks(&self) -> Vec<TimelinePosition> {
        let mut marks: Vec<TimelinePosition> = Vec::with_capacity(self.nodes.len());
        let (mut branches, mut parents) = (0, BTreeSet::new());
        let own = self.nodes.iter().filter(|node| node.project_id == self.project_id);
        for node in own.filter(|node| node.state.is_some() || self.is_reversible(node)) {
            let marked = |node: &HistoryNode| {
                marks.binary_search_by_key(&node.id, |mark| mark.id).ok().map(|place| marks[place])
            };
            let parent = self.ancestors(node.parent).find_map(marked);
            // The first child continues its parent's branch, any other starts a new one.
            let first = parents.insert(parent.map(|parent| parent.id));
            let branch = match parent {
                Some(parent) if first && parent.tick <= node.tick => parent.branch,
                _ => {
                    branches += 1;
                    branches - 1
                }
            };
            marks.push(TimelinePosition { id: node.id, tick: node.tick, branch });
        }
        marks
    }

    /// Returns the last node on the path to the current state.
    pub fn here(&self) -> Option<u64> {
        self.here
    }

    /// Returns the number of changes, undos and redos so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Counts a change by the user that is saved with the project, but is not an undo step.
    pub fn record_change(&mut self) {
        self.changes += 1;
    }

    /// Returns the memory use of all steps, states and starts, in bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.iter().map(HistoryNode::bytes).sum::<usize>() + self.bytes_of_starts()
    }
}
