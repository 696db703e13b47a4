//! Storage and removal of states.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use bevy::prelude::*;

use super::{History, HistoryNode, NodeState, step::StepChange};
use crate::world::{Preferences, Simulations, background::BackgroundTask};
use thalweg_scene::model::{origin::Heightmap, session::Session, state::UnpackedState};

/// Initial distance of snapshots in ticks. When there are too many, every second one is dropped and the distance doubles.
const INTERVAL: u64 = 10;
/// Number of snapshots above which they are thinned out.
const MAX_SNAPSHOTS: usize = 200;
/// Reciprocal of the fraction of time that snapshots may cost.
const SHARE: u32 = 30;
/// Estimated memory of a state while it is being packed, in bytes per cell, as is typical with water.
const TYPICAL_BYTES_PER_CELL: usize = 20;

impl History {
    /// Stores the current state at the end of its tick, so that it can be restored. Returns its node.
    pub(in crate::world) fn store_current(&mut self, simulations: &mut Simulations) -> Option<u64> {
        self.end_stroke();
        simulations.finish_tick();
        let is_stored = self.is_at_node(simulations) && self.here.is_some_and(|id| self.route(id).is_some());
        if !is_stored && simulations.fault().is_none() {
            self.take(simulations);
        }
        self.here
    }

    /// Stores everything of a project except its layers, before it is replaced.
    pub(super) fn store_project(&mut self, simulations: &mut Simulations) {
        self.projects.insert(simulations.project_id(), simulations.without_layers());
    }

    /// Returns the last node with a stored state on the path to the current state.
    fn last_kept(&self) -> Option<&HistoryNode> {
        self.ancestors(self.here)
            .take_while(|node| node.project_id == self.project_id)
            .find(|node| node.state.is_some())
    }

    /// Returns `true` if the current tick should get a snapshot, as soon as its cost is affordable.
    pub(in crate::world) fn is_due(&self, simulations: &Simulations) -> bool {
        let is_far = |last: &HistoryNode| {
            simulations.ticks() >= last.tick + self.interval.max(INTERVAL) || last.tick > simulations.ticks()
        };
        self.last_kept().is_none_or(is_far)
    }

    /// Returns `true` while a state is being packed.
    pub(in crate::world) fn is_packing(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.state, Some(NodeState::Packing(_))))
    }

    /// Copies the sessions and packs the copy in the background, as the state of the current node.
    pub(super) fn take(&mut self, simulations: &mut Simulations) {
        let id = match self.here.filter(|_| self.is_at_node(simulations)) {
            Some(id) => id,
            None => self.push(simulations, None),
        };
        self.take_as(id, simulations);
    }

    /// Does the same as the state of a given node.
    pub(super) fn take_as(&mut self, id: u64, simulations: &mut Simulations) {
        let begun = Instant::now();
        let cells: usize = simulations.all().iter().map(|session| session.simulation.terrain.bedrock.len()).sum();
        // Layers that have not changed since the last state are shared.
        let last = self.nodes.iter().rev().find_map(|node| node.packed().cloned());
        let before = |run: usize| last.as_ref().and_then(|states| states.get(run));
        let sessions = simulations.all_mut().iter_mut().enumerate();
        let copies: Vec<UnpackedState> =
            sessions.map(|(run, session)| UnpackedState::capture_unpacked(session, before(run))).collect();
        let pack = move || copies.into_iter().map(UnpackedState::pack).collect();
        // The request is the estimated memory of the state, in bytes.
        let packing = BackgroundTask::start(TYPICAL_BYTES_PER_CELL * cells, pack);
        (self.taken, self.cost) = (Some(Instant::now()), begun.elapsed());
        if let Some(node) = self.node_mut(id) {
            node.state = Some(NodeState::Packing(packing));
        }
    }

    /// Stores what the next tick would make impossible to restore.
    pub(in crate::world) fn before_tick(&mut self, simulations: &mut Simulations) {
        if let Some(id) = self.open {
            // The rest of the stroke cannot be separated from the effect of ticks, so undo will restore the state before it.
            let parent = self.node(id).and_then(|node| node.parent);
            if self.stroke().is_some()
                && let Some(parent) = parent
                && let Some(mut change) =
                    self.change_mut(id).map(|change| std::mem::replace(change, StepChange::Replaced))
                && self.route(parent).is_none()
            {
                change.undo(simulations);
                self.take_as(parent, simulations);
                change.redo(simulations);
            }
            return;
        }
        let wanted = self.here.is_none_or(|id| self.is_at_node(simulations) && self.route(id).is_none());
        if wanted && simulations.fault().is_none() {
            self.take(simulations);
        }
    }

    /// Restores the last stored state on the path of the sessions, or their start if there is none.
    pub(in crate::world) fn go_back(&mut self, simulations: &mut Simulations) {
        self.end_stroke();
        if !self.here.is_some_and(|id| self.go_to(id, simulations)) {
            simulations.all_mut().iter_mut().for_each(|session| session.restart(session.simulation.seed()));
            simulations.halted = false;
        }
    }

    /// Thins out snapshots if there are too many, and drops the oldest nodes beyond a memory limit in bytes.
    pub(super) fn enforce_budget(&mut self, budget: usize) {
        let plain = |history: &Self| history.nodes.iter().filter(|node| history.only_child(node).is_some()).count();
        self.projects.retain(|id, _| *id == self.project_id || self.nodes.iter().any(|node| node.project_id == *id));
        while plain(self) > MAX_SNAPSHOTS && self.thin() {}
        while self.bytes() > budget && (self.thin() || self.drop_oldest()) {}
        let nodes: BTreeSet<u64> = self.nodes.iter().map(|node| node.id).collect();
        self.undone.retain(|(id, _)| nodes.contains(id));
        self.back.retain(|id| nodes.contains(id));
        self.nodes.iter_mut().for_each(|node| node.back.retain(|id| nodes.contains(id)));
    }

    /// Returns the memory of imported maps and sculpted starts that only the history keeps, in bytes.
    pub(in crate::world) fn bytes_of_starts(&self) -> usize {
        let current = self.project_id;
        let others = || self.projects.iter().filter(move |(id, _)| **id != current).flat_map(|(_, other)| other.all());
        let states = self.nodes.iter().filter_map(HistoryNode::packed).flat_map(|states| states.iter());
        let sculpted = states.filter_map(|state| state.shaped.as_ref());
        let sculpted = sculpted.chain(others().filter_map(Session::sculpted_start));
        let heights = others().filter_map(|session| session.heightmap.as_ref());
        let maps = others().flat_map(|session| session.maps.values()).map(|map| 4 * map.len()).sum::<usize>();
        let bytes_of_heights =
            |map: &Heightmap| 4 * (map.heights.len() + map.nodata.as_ref().map_or(0, |mask| mask.len()));
        maps + bytes_kept(sculpted, |start| start.bytes()) + bytes_kept(heights, bytes_of_heights)
    }

    /// Drops the oldest node, except the current one and those that the next undo needs. Returns `false` if there was none.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let last = self.done().first().copied();
        let needed = [self.here, last, last.and_then(|id| self.node(id)?.parent)];
        let Some(place) = self.nodes.iter().position(|node| !needed.contains(&Some(node.id))) else { return false };
        let HistoryNode { id: oldest, project_id, .. } = self.nodes.remove(place);
        self.nodes.iter_mut().filter(|node| node.parent == Some(oldest)).for_each(|node| node.parent = None);
        if project_id != self.project_id && self.nodes.iter().all(|node| node.project_id != project_id) {
            self.projects.remove(&project_id);
        }
        true
    }

    /// Returns the only child of a snapshot if ticks alone lead to it; `None` if the node is the end of a branch, a fork, or the
    /// origin of a step.
    pub(super) fn only_child(&self, node: &HistoryNode) -> Option<u64> {
        let mut children = self.children(node.id);
        let (child, other) = (children.next()?, children.next());
        let plain = node.step.is_none() && node.parent.is_some() && self.here != Some(node.id);
        (plain && child.step.is_none() && other.is_none()).then_some(child.id)
    }

    /// Drops every second snapshot that only connects two others. Returns `false` if there were none.
    pub(super) fn thin(&mut self) -> bool {
        let before = self.nodes.len();
        let mut index = 0;
        while index < self.nodes.len() {
            if let Some(child) = self.only_child(&self.nodes[index]) {
                let parent = self.nodes.remove(index).parent;
                self.node_mut(child).into_iter().for_each(|node| node.parent = parent);
            }
            // The next one stays.
            index += 1;
        }
        let thinned = self.nodes.len() < before;
        if thinned {
            self.interval = 2 * self.interval.max(INTERVAL);
        }
        thinned
    }
}

/// Returns the memory of shared data that only these references keep, in bytes.
fn bytes_kept<'a, T: 'a>(shared: impl Iterator<Item = &'a Arc<T>>, bytes: impl Fn(&T) -> usize) -> usize {
    let mut counts: BTreeMap<*const T, (&Arc<T>, usize)> = BTreeMap::new();
    for one in shared {
        counts.entry(Arc::as_ptr(one)).or_insert((one, 0)).1 += 1;
    }
    let kept = counts.into_values().filter(|(one, count)| Arc::strong_count(one) == *count);
    kept.map(|(one, _)| bytes(one)).sum()
}

impl HistoryNode {
    /// Takes over the packed state. Blocks until it is complete.
    pub(super) fn collect(&mut self) {
        self.state = match self.state.take() {
            // The result of a panicked job is dropped.
            Some(NodeState::Packing(packing)) => packing.join().map(|states| NodeState::Packed(Arc::new(states))),
            other => other,
        };
    }
}

/// Takes snapshots along the simulation.
pub(in crate::world) fn follow(
    preferences: Res<Preferences>,
    mut simulations: ResMut<Simulations>,
    mut history: ResMut<History>,
) {
    let history = &mut *history;
    let is_packed =
        |node: &&mut HistoryNode| matches!(&node.state, Some(NodeState::Packing(packing)) if packing.is_finished());
    history.nodes.iter_mut().filter(is_packed).for_each(HistoryNode::collect);
    history.project_id = simulations.project_id();
    let is_packing = history.is_packing();
    let budget = preferences.settings.undo_bytes();
    let grown = (history.next, history.changes, budget);
    if history.open.is_none() && !is_packing && history.trimmed != grown {
        history.enforce_budget(budget);
        history.trimmed = grown;
    }
    if !simulations.between_ticks() || history.open.is_some() || is_packing || simulations.fault().is_some() {
        return;
    }
    let is_affordable = history.taken.is_none_or(|taken| taken.elapsed() > SHARE * history.cost);
    if history.is_due(&simulations) && (history.last_kept().is_none() || is_affordable) {
        history.take(simulations.bypass_change_detection());
    }
}
