//! The tree: nodes, paths between them, and restoring.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    iter::successors,
    sync::Arc,
};

use bevy::log::error;

use super::{
    History, HistoryNode, NodeState,
    step::{StepChange, UserStep},
};
use crate::world::{Label, Revision, Simulations, Transport};
use thalweg_scene::model::{session::Session, state::SimulationState};
use thalweg_sim::core::grid::Grid;

impl History {
    pub(super) fn node(&self, id: u64) -> Option<&HistoryNode> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|place| &self.nodes[place])
    }

    pub(super) fn node_mut(&mut self, id: u64) -> Option<&mut HistoryNode> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|place| &mut self.nodes[place])
    }

    pub(super) fn change_mut(&mut self, id: u64) -> Option<&mut StepChange> {
        self.node_mut(id)?.step.as_mut().map(|step| &mut step.change)
    }

    /// Returns a node and its ancestors, the last one first.
    pub(super) fn ancestors(&self, id: Option<u64>) -> impl Iterator<Item = &HistoryNode> {
        successors(id.and_then(|id| self.node(id)), |node| node.parent.and_then(|id| self.node(id)))
    }

    pub(super) fn children(&self, id: u64) -> impl Iterator<Item = &HistoryNode> {
        self.nodes.iter().filter(move |node| node.parent == Some(id))
    }

    /// Adds a child of the current node, which becomes the current one. Returns its identifier.
    pub(super) fn push(&mut self, simulations: &Simulations, step: Option<(Label, StepChange)>) -> u64 {
        let step = step.map(|(label, change)| UserStep { label, change });
        let (id, parent, back) = (self.next, self.here, self.back.clone());
        self.nodes.push(HistoryNode {
            id,
            parent,
            project_id: simulations.project_id(),
            tick: simulations.ticks(),
            step,
            back,
            state: None,
        });
        (self.here, self.project_id, self.next) = (Some(id), simulations.project_id(), id + 1);
        id
    }

    /// Removes a step without successors, and its parent if that was created for it alone.
    pub(super) fn forget(&mut self, id: u64) {
        let parent = self.node(id).and_then(|node| node.parent);
        self.nodes.retain(|node| node.id != id);
        if self.here == Some(id) {
            self.here = parent;
        }
        let empty = |id: u64| self.node(id).is_some_and(|node| node.step.is_none() && node.state.is_none());
        if let Some(parent) = parent.filter(|&id| empty(id) && self.children(id).next().is_none()) {
            self.forget(parent);
        }
    }

    /// Returns `true` if the current state is that of the last node on its path.
    pub(super) fn is_at_node(&self, simulations: &Simulations) -> bool {
        let here = self.here.and_then(|id| self.node(id));
        simulations.between_ticks()
            && here.is_some_and(|node| (node.tick, node.project_id) == (simulations.ticks(), simulations.project_id()))
    }

    /// Returns `true` if a node follows from its parent without ticks and without replacing everything.
    pub(super) fn is_reversible(&self, node: &HistoryNode) -> bool {
        let same = |parent: &HistoryNode| (parent.tick, parent.project_id) == (node.tick, node.project_id);
        let parent = node.parent.and_then(|id| self.node(id));
        parent.is_some_and(same) && matches!(node.change(), Some(StepChange::Set(..) | StepChange::Brushed(..)))
    }

    /// Returns the shortest path to a node from one with a stored state, starting with the latter. Each pair of successive nodes is
    /// separated by a reversible change only.
    pub(super) fn route(&self, id: u64) -> Option<Vec<u64>> {
        let mut seen = BTreeMap::from([(id, None)]);
        let mut queue = VecDeque::from([id]);
        while let Some(id) = queue.pop_front() {
            let node = self.node(id)?;
            if node.state.is_some() {
                return Some(successors(Some(id), |id| seen[id]).collect());
            }
            let forward = node
                .parent
                .filter(|_| self.is_reversible(node) && node.change().is_some_and(StepChange::needs_no_ticks));
            let back = self.children(id).filter(|child| self.is_reversible(child)).map(|child| child.id);
            for other in forward.into_iter().chain(back) {
                seen.entry(other).or_insert_with(|| {
                    queue.push_back(other);
                    Some(id)
                });
            }
        }
        None
    }

    /// Returns the route to a node; without a stored state for it, to the nearest one after it, or else before it.
    pub(super) fn nearest_route(&self, id: u64) -> Option<Vec<u64>> {
        let tick = self.node(id)?.tick;
        let comes_after = |node: &&HistoryNode| node.id > id && self.ancestors(node.parent).any(|node| node.id == id);
        let mut after: Vec<&HistoryNode> = self.nodes.iter().filter(comes_after).collect();
        after.sort_by_key(|node| node.tick.abs_diff(tick));
        let before = self.ancestors(self.node(id).and_then(|node| node.parent));
        let mut places =
            std::iter::once(id).chain(after.into_iter().map(|node| node.id)).chain(before.map(|node| node.id));
        places.find_map(|id| self.route(id))
    }

    /// Restores a node, or the nearest state that is stored. Returns `false` if there is none.
    pub(super) fn go_to(&mut self, id: u64, simulations: &mut Simulations) -> bool {
        let Some(route) = self.nearest_route(id) else { return false };
        let Some((project_id, states)) = self.states(route[0]) else { return false };
        if simulations.project_id() != project_id {
            self.store_project(simulations);
            *simulations = self.projects.get(&project_id).unwrap_or(simulations).clone();
        }
        for (session, state) in simulations.all_mut().iter_mut().zip(&*states) {
            restore(session, state);
        }
        simulations.halted = false;
        for pair in route.windows(2) {
            let forward = self.node(pair[1]).is_some_and(|node| node.parent == Some(pair[0]));
            match self.change_mut(pair[usize::from(forward)]).filter(|change| change.belongs_to_states()) {
                Some(change) if forward => drop(change.redo(simulations)),
                Some(change) => drop(change.undo(simulations)),
                None => {}
            }
        }
        (self.here, self.project_id) = (route.last().copied(), project_id);
        self.back = self.here.and_then(|id| self.node(id)).map_or_else(BTreeSet::new, |node| node.back.clone());
        true
    }

    /// Returns the project and the states of a node. Blocks until they are packed.
    pub(super) fn states(&mut self, id: u64) -> Option<(u64, Arc<Vec<SimulationState>>)> {
        let node = self.node_mut(id)?;
        node.collect();
        match &node.state {
            Some(NodeState::Packed(states)) => Some((node.project_id, states.clone())),
            _ => None,
        }
    }
}

/// Restores a session. States of the history are always valid.
fn restore(session: &mut Session, state: &SimulationState) {
    if let Err(wrong) = state.restore(session) {
        error!("failed to restore a state: {wrong}");
    }
    session.simulation.watched = true;
}

/// Returns the start of the selected simulation.
fn start_mut(simulations: &mut Simulations) -> &mut Grid {
    let selected = simulations.selected_index();
    &mut simulations.all_mut()[selected].simulation.terrain.start
}

/// Goes to a node, if it still exists.
pub(super) fn go_to(
    id: u64,
    simulations: &mut Simulations,
    transport: &mut Transport,
    revision: &mut Revision,
    history: &mut History,
) {
    if history.node(id).is_none() {
        return;
    }
    transport.pause();
    // The current state is stored too, so that the user can return to it.
    let left = history.store_current(simulations);
    let kind = |simulations: &Simulations| (simulations.project_id(), simulations.selected().simulation.seed());
    let before = kind(simulations);
    // Restoring creates other layers, so this one can be moved instead of copied.
    let start = std::mem::replace(start_mut(simulations), Grid::filled(0, 0, 0.0));
    if !history.go_to(id, simulations) {
        *start_mut(simulations) = start;
        return;
    }
    history.changes += 1;
    history.last = None;
    // Steps on the way back to the previous state can be redone.
    let steps: Vec<u64> = history
        .ancestors(left)
        .take_while(|node| Some(node.id) != history.here)
        .filter(|node| node.change().is_some_and(StepChange::belongs_to_states))
        .map(|node| node.id)
        .collect();
    let goes_back = history.ancestors(left).any(|node| Some(node.id) == history.here);
    history.undone = if goes_back { steps.into_iter().map(|id| (id, Some(id))).collect() } else { Vec::new() };
    if kind(simulations) == before && *start_mut(simulations) == start {
        revision.next_state();
    } else {
        revision.next_start();
    }
}
