//! Saving of the history with a project.

use std::collections::BTreeSet;

use super::{History, HistoryNode, NodeState, step::StepChange};
use crate::world::Simulations;
use thalweg_scene::{io::project, model::state::SimulationState};

/// Maximum number of branch ends that get a state when a project is saved, as packing takes time.
const MOST_ENDS: usize = 32;

impl History {
    /// Adds the saved snapshots of the current project, which was just opened.
    pub fn begin_with(&mut self, saved: &project::StoredTimeline, simulations: &Simulations) {
        let (first, project_id) = (self.next, simulations.project_id());
        let root = self.here.filter(|id| self.node(*id).is_some_and(|node| node.project_id == project_id));
        // Replaces the saved identifiers by unused ones.
        let place = |id: u64| saved.frames.iter().position(|frame| frame.id == id).map(|place| first + place as u64);
        for frame in &saved.frames {
            let parent = frame.parent.and_then(place).or(root);
            let tick = frame.states.first().map_or(0, SimulationState::tick);
            let state = Some(NodeState::Packed(frame.states.clone()));
            let back = BTreeSet::new();
            self.nodes.push(HistoryNode { id: self.next, parent, project_id, tick, step: None, back, state });
            self.next += 1;
        }
        (self.here, self.project_id) = (saved.here.and_then(place).or(root), project_id);
        if self.here != root {
            // The snapshots lack what the user did after the last one.
            self.push(simulations, None);
        }
    }

    /// Stores a state at the ends of branches, so that undone strokes are not lost; only the newest, if there are many. Returns the
    /// number of ends left out.
    fn store_branch_ends(&mut self, simulations: &Simulations) -> usize {
        let is_end = |node: &&HistoryNode| {
            let missing = node.state.is_none() && node.project_id == self.project_id && Some(node.id) != self.here;
            let stroke = matches!(node.change(), Some(StepChange::Brushed(..)));
            missing && stroke && self.children(node.id).next().is_none() && self.route(node.id).is_some()
        };
        let mut ends: Vec<u64> = self.nodes.iter().rev().filter(is_end).map(|node| node.id).collect();
        if ends.is_empty() {
            return 0;
        }
        let left_out = ends.len().saturating_sub(MOST_ENDS);
        ends.truncate(MOST_ENDS);
        // A copy visits the ends; the current state stays where it is.
        let (mut there, here, back) = (simulations.clone(), self.here, self.back.clone());
        let (taken, cost) = (self.taken, self.cost);
        for id in ends {
            if self.go_to(id, &mut there) {
                self.take_as(id, &mut there);
            }
        }
        (self.here, self.back, self.taken, self.cost) = (here, back, taken, cost);
        // Checks the memory limit again.
        self.trimmed = Default::default();
        left_out
    }

    /// Returns all states of the current project for saving, and the number of undone strokes they do not include. Blocks until all
    /// are packed.
    pub(in crate::world) fn snapshots(&mut self, simulations: &Simulations) -> (project::StoredTimeline, usize) {
        let left_out = self.store_branch_ends(simulations);
        self.nodes.iter_mut().for_each(HistoryNode::collect);
        (self.packed_snapshots(), left_out)
    }

    /// Returns the packed states of the current project.
    pub(in crate::world) fn packed_snapshots(&self) -> project::StoredTimeline {
        let packed = |node: &HistoryNode| match &node.state {
            Some(NodeState::Packed(states)) if node.project_id == self.project_id => Some((node.id, states.clone())),
            _ => None,
        };
        let before = |id: Option<u64>| self.ancestors(id).find_map(packed).map(|(id, _)| id);
        let frame = |node: &HistoryNode| {
            let (id, states) = packed(node)?;
            Some(project::StoredNode { id, parent: before(node.parent), states })
        };
        let frames = self.nodes.iter().filter_map(frame).collect();
        project::StoredTimeline { frames, here: before(self.here) }
    }
}
