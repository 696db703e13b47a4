//! One tree of states: what a hand did, and keyframes along the run. Undo, redo and the timeline walk on it.
//!
//! A node comes from its parent by a step of the hand, or by ticks. States are packed beside the frames. A step that changed
//! settings only, or what a brush touched, leads from the state before it to the one after it and back, so that one of the two is
//! kept. What is run or done after going back is another branch.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    iter::successors,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bevy::{log::error, prelude::*};

use super::{
    Label, Live, Revision, Transport,
    step::{Change, HandStep, RunSettings},
};
use crate::{
    io::project,
    model::{
        session::Session,
        state::{Copied, State},
    },
    sim::edit::Patch,
};

/// All steps and states together may take so many bytes. Beyond it keyframes are thinned out, then the oldest nodes go.
pub const BUDGET: usize = 512 << 20;
/// Changes of the same thing within this time are one step: a slider that is dragged.
const SAME_STEP: Duration = Duration::from_millis(900);
/// Ticks between two keyframes at first; when there are too many, every second goes and the rest lie twice as far apart.
const INTERVAL: u64 = 10;
/// More keyframes than this are thinned out.
const MOST: usize = 200;
/// Taking a keyframe may cost this share of the time.
const SHARE: u32 = 30;
/// Memory that a state takes while it is being packed, in bytes per cell: what is usual where water flows.
const USUAL: usize = 20;

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
    Packing(JoinHandle<Vec<State>>, usize),
    Packed(Arc<Vec<State>>),
}

impl Node {
    fn change(&self) -> Option<&Change> {
        self.step.as_ref().map(|step| &step.change)
    }

    fn bytes(&self) -> usize {
        let states = match &self.state {
            None => 0,
            Some(NodeState::Packing(_, about)) => *about,
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
    works: BTreeMap<u64, Live>,
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
    /// How many nodes and changes there had been when it was last seen to that they keep to the budget.
    trimmed: (u64, u64),
    /// The node to go to. Of several that were asked for while a frame was drawn, the last counts.
    pub(super) wanted: Option<u64>,
}

/// What is seen of it.
impl History {
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
        let from_somewhere = |node: &Node| node.parent.is_some() || matches!(node.change(), Some(Change::Settings(..)));
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

    /// Memory that all steps and states take, in bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.iter().map(Node::bytes).sum()
    }
}

/// What a hand does.
impl History {
    /// Changes settings. What is dragged goes on as long as the button is held: it is one step.
    pub(super) fn set(&mut self, live: &mut Live, label: Label, drags: bool, change: impl FnOnce(&mut Live)) {
        self.end_stroke();
        let now = Instant::now();
        let held = std::mem::replace(&mut self.held, self.pressed) && drags;
        let goes_on = self.last.replace(now).is_some_and(|last| now - last < SAME_STEP || held);
        self.changes += 1;
        self.undone.clear();
        let last = self.done().first().copied().and_then(|id| self.node_mut(id)).filter(|_| goes_on);
        if let Some(Node { step: Some(step), state, .. }) = last
            && let Change::Settings(_, after) = &mut step.change
            && let Some(longer) = label.after(&step.label)
        {
            change(live);
            (*after, step.label, *state) = (RunSettings::all(live), longer, None);
            let kept = self.here.and_then(|id| self.node(id)).is_some_and(|here| here.state.is_some());
            if kept && self.is_at_node(live) {
                // A keyframe was taken of this very tick, with the setting as it was.
                self.push(live, None);
            }
            return;
        }
        if live.between_ticks() {
            self.keep_present(live);
        }
        let before = RunSettings::all(live);
        change(live);
        self.push(live, Some((label, Change::Settings(before, RunSettings::all(live)))));
    }

    /// Changes or replaces everything.
    pub(super) fn replace(&mut self, live: &mut Live, label: Label, change: impl FnOnce(&mut Live)) {
        self.keep_present(live);
        self.changes += 1;
        (self.last, self.interval) = (None, 0);
        self.undone.clear();
        self.leave_work(live);
        change(live);
        self.push(live, Some((label, Change::Replaced)));
    }

    /// Begins a stroke. What it changes goes into the patches of [`Self::stroke`]. Returns its number.
    pub fn begin_stroke(&mut self, live: &Live, label: Label) -> u64 {
        self.end_stroke();
        self.last = None;
        self.changes += 1;
        self.undone.clear();
        if !self.is_at_node(live) {
            self.push(live, None);
        }
        let touched = Change::Touched(vec![Patch::default(); live.all().len()], None);
        self.open = Some(self.push(live, Some((label, touched))));
        self.next - 1
    }

    /// The patches of the stroke that goes on, unless ticks have run since it began.
    pub fn stroke(&mut self) -> Option<&mut [Patch]> {
        match &mut self.open.and_then(|id| self.node_mut(id))?.step.as_mut()?.change {
            Change::Touched(patches, _) => Some(patches),
            _ => None,
        }
    }

    /// The number of the stroke that goes on, if one does. Whatever else is done ends it.
    pub fn strokes(&self) -> Option<u64> {
        self.open
    }

    /// Ends the stroke that goes on, if one does. One that changed nothing is no step.
    pub fn end_stroke(&mut self) {
        let nothing = self.stroke().is_some_and(|patches| patches.iter().all(Patch::is_empty));
        if let Some(id) = self.open.take() {
            // What was kept while it was made is not the whole of it.
            self.changes += 1;
            if nothing {
                self.forget(id);
            }
        }
    }

    /// Takes back the stroke that goes on; it can't be done again.
    pub fn cancel_stroke(&mut self, live: &mut Live) {
        let Some(id) = self.open.take() else { return };
        let parent = self.node(id).and_then(|node| node.parent);
        let taken_back = self.change_mut(id).is_some_and(|change| change.back(live));
        if !taken_back && let Some(parent) = parent {
            self.go_to(parent, live);
        }
        self.forget(id);
    }

    /// Takes the last step back. Returns what it was and whether all sessions were replaced.
    pub(super) fn undo(&mut self, live: &mut Live) -> Option<(Label, bool)> {
        self.end_stroke();
        self.last = None;
        let id = *self.done().first()?;
        self.changes += 1;
        let is_here = self.here == Some(id);
        let (tick, node) = (live.ticks(), self.node_mut(id)?);
        let (parent, is_now) = (node.parent, node.tick == tick);
        let step = node.step.as_mut()?;
        let label = step.label.clone();
        match &step.change {
            Change::Settings(..) => drop(step.change.back(live)),
            Change::Touched(..) if is_here && is_now => drop(step.change.back(live)),
            _ => {
                let place = self.keep_present(live);
                return self.go_to(parent?, live).then(|| {
                    self.undone.push((id, place));
                    (label, true)
                });
            }
        }
        if is_here {
            self.here = parent;
        } else {
            self.back.insert(id);
            self.push(live, None);
        }
        self.undone.push((id, None));
        Some((label, false))
    }

    /// Does again the step that was last taken back. Returns the same.
    pub(super) fn redo(&mut self, live: &mut Live) -> Option<(Label, bool)> {
        self.end_stroke();
        self.last = None;
        let (id, place) = self.undone.pop()?;
        self.changes += 1;
        let (here, tick) = (self.here, live.ticks());
        let follows = self.node(id).is_some_and(|node| node.parent == here);
        let node = self.node_mut(id)?;
        let is_now = node.tick == tick;
        let step = node.step.as_mut()?;
        let label = step.label.clone();
        match &step.change {
            Change::Settings(..) if place.is_none() || follows => {
                step.change.forward(live);
                // Where time has run on, it is done once more, from here.
                let again = Some((label.clone(), step.change.clone()));
                if self.back.remove(&id) {
                    self.push(live, None);
                } else if follows {
                    self.here = Some(id);
                } else {
                    self.push(live, again);
                }
            }
            Change::Touched(..)
                if place.is_none_or(|place| place == id) && follows && is_now && step.change.forward(live) =>
            {
                self.here = Some(id);
            }
            _ => {
                self.keep_present(live);
                self.go_to(place.unwrap_or(id), live);
                return Some((label, true));
            }
        }
        Some((label, false))
    }
}

/// The tree itself.
impl History {
    fn node(&self, id: u64) -> Option<&Node> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|place| &self.nodes[place])
    }

    fn node_mut(&mut self, id: u64) -> Option<&mut Node> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|place| &mut self.nodes[place])
    }

    fn change_mut(&mut self, id: u64) -> Option<&mut Change> {
        self.node_mut(id)?.step.as_mut().map(|step| &mut step.change)
    }

    /// A node and those that it came from, the last one first.
    fn way(&self, id: Option<u64>) -> impl Iterator<Item = &Node> {
        successors(id.and_then(|id| self.node(id)), |node| node.parent.and_then(|id| self.node(id)))
    }

    fn children(&self, id: u64) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.parent == Some(id))
    }

    /// Adds a node after the present one, which it becomes. Returns its number.
    fn push(&mut self, live: &Live, step: Option<(Label, Change)>) -> u64 {
        let step = step.map(|(label, change)| HandStep { label, change });
        let (id, parent, back) = (self.next, self.here, self.back.clone());
        self.nodes.push(Node { id, parent, work: live.work(), tick: live.ticks(), step, back, state: None });
        (self.here, self.work, self.next) = (Some(id), live.work(), id + 1);
        id
    }

    /// Forgets a step that nothing followed, and the place it was done from if that was made for it alone.
    fn forget(&mut self, id: u64) {
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

    /// Whether the present is what the last node on its way says.
    fn is_at_node(&self, live: &Live) -> bool {
        let here = self.here.and_then(|id| self.node(id));
        live.between_ticks() && here.is_some_and(|node| (node.tick, node.work) == (live.ticks(), live.work()))
    }

    /// Whether a node comes from its parent without ticks and without replacing everything.
    fn is_beside(&self, node: &Node) -> bool {
        let same = |parent: &Node| (parent.tick, parent.work) == (node.tick, node.work);
        let parent = node.parent.and_then(|id| self.node(id));
        parent.is_some_and(same) && matches!(node.change(), Some(Change::Settings(..) | Change::Touched(..)))
    }

    /// The way to a node from the nearest one whose state is kept, that one first: every next one is beside the one before.
    fn route(&self, id: u64) -> Option<Vec<u64>> {
        let mut seen = BTreeMap::from([(id, None)]);
        let mut queue = VecDeque::from([id]);
        while let Some(id) = queue.pop_front() {
            let node = self.node(id)?;
            if node.state.is_some() {
                return Some(successors(Some(id), |id| seen[id]).collect());
            }
            let forward =
                node.parent.filter(|_| self.is_beside(node) && node.change().is_some_and(Change::goes_forward));
            let back = self.children(id).filter(|child| self.is_beside(child)).map(|child| child.id);
            for other in forward.into_iter().chain(back) {
                seen.entry(other).or_insert_with(|| {
                    queue.push_back(other);
                    Some(id)
                });
            }
        }
        None
    }

    /// The route to a node; where no state of it is kept, to the next one after it, or else before it.
    fn nearest_route(&self, id: u64) -> Option<Vec<u64>> {
        let tick = self.node(id)?.tick;
        let comes_after = |node: &&Node| node.id > id && self.way(node.parent).any(|node| node.id == id);
        let mut after: Vec<&Node> = self.nodes.iter().filter(comes_after).collect();
        after.sort_by_key(|node| node.tick.abs_diff(tick));
        let before = self.way(self.node(id).and_then(|node| node.parent));
        let mut places =
            std::iter::once(id).chain(after.into_iter().map(|node| node.id)).chain(before.map(|node| node.id));
        places.find_map(|id| self.route(id))
    }

    /// Makes all sessions what they were at a node, or as near to it as a state is kept. Whether there was any.
    fn go_to(&mut self, id: u64, live: &mut Live) -> bool {
        let Some(route) = self.nearest_route(id) else { return false };
        let Some((work, states)) = self.states(route[0]) else { return false };
        if live.work() != work {
            self.leave_work(live);
            *live = self.works.get(&work).unwrap_or(live).clone();
        }
        for (session, state) in live.all_mut().iter_mut().zip(&*states) {
            restore(session, state);
        }
        live.halted = false;
        for pair in route.windows(2) {
            let forward = self.node(pair[1]).is_some_and(|node| node.parent == Some(pair[0]));
            match self.change_mut(pair[usize::from(forward)]) {
                Some(change) if forward => drop(change.forward(live)),
                Some(change) => drop(change.back(live)),
                None => {}
            }
        }
        (self.here, self.work) = (route.last().copied(), work);
        self.back = self.here.and_then(|id| self.node(id)).map_or_else(BTreeSet::new, |node| node.back.clone());
        true
    }

    /// The work and the states of a node. Waits until they are packed.
    fn states(&mut self, id: u64) -> Option<(u64, Arc<Vec<State>>)> {
        let node = self.node_mut(id)?;
        node.collect();
        match &node.state {
            Some(NodeState::Packed(states)) => Some((node.work, states.clone())),
            _ => None,
        }
    }

    /// Keeps the present between two ticks, so that one can come back to it. Returns its node.
    pub(super) fn keep_present(&mut self, live: &mut Live) -> Option<u64> {
        self.end_stroke();
        live.finish_tick();
        let kept = self.is_at_node(live) && self.here.is_some_and(|id| self.route(id).is_some());
        if !kept && live.fault().is_none() {
            self.take(live);
        }
        self.here
    }

    /// Keeps what belongs to a work besides its layers, before another takes its place.
    fn leave_work(&mut self, live: &mut Live) {
        self.works.insert(live.work(), live.without_layers());
    }

    /// Copies the sessions and has the copy packed beside the frames, as the state of the present node.
    fn take(&mut self, live: &mut Live) {
        let id = match self.here.filter(|_| self.is_at_node(live)) {
            Some(id) => id,
            None => self.push(live, None),
        };
        self.take_as(id, live);
    }

    /// The same as the state of a node.
    fn take_as(&mut self, id: u64, live: &mut Live) {
        let begun = Instant::now();
        let cells: usize = live.all().iter().map(|session| session.simulation.terrain.bedrock.len()).sum();
        let copies: Vec<Copied> = live.all_mut().iter_mut().map(Copied::copied).collect();
        let pack = move || copies.into_iter().map(Copied::pack).collect();
        let packing = std::thread::Builder::new().name("thalweg keyframe".to_owned()).spawn(pack);
        (self.taken, self.cost) = (Some(Instant::now()), begun.elapsed());
        if let Some(node) = self.node_mut(id) {
            node.state = packing.ok().map(|handle| NodeState::Packing(handle, USUAL * cells));
        }
    }

    /// Keeps what another tick would make impossible to go back to.
    pub(super) fn before_tick(&mut self, live: &mut Live) {
        if let Some(id) = self.open {
            // The rest of the stroke can't be told from what the ticks do: it is taken back by the state before it.
            let parent = self.node(id).and_then(|node| node.parent);
            if self.stroke().is_some()
                && let Some(parent) = parent
                && let Some(mut change) = self.change_mut(id).map(|change| std::mem::replace(change, Change::Replaced))
                && self.route(parent).is_none()
            {
                change.back(live);
                self.take_as(parent, live);
                change.forward(live);
            }
            return;
        }
        let wanted = self.here.is_none_or(|id| self.is_at_node(live) && self.route(id).is_none());
        if wanted && live.fault().is_none() {
            self.take(live);
        }
    }

    /// Makes all sessions what they were at the last state on their way, or at their start if there is none.
    pub(super) fn go_back(&mut self, live: &mut Live) {
        self.end_stroke();
        if !self.here.is_some_and(|id| self.go_to(id, live)) {
            live.all_mut().iter_mut().for_each(|session| session.restart(session.simulation.seed()));
            live.halted = false;
        }
    }

    /// Thins out keyframes where there are too many, and forgets the oldest nodes where all take too much memory.
    fn keep_to_budget(&mut self) {
        let plain = |history: &Self| history.nodes.iter().filter(|node| history.only_child(node).is_some()).count();
        while plain(self) > MOST && self.thin() {}
        while self.bytes() > BUDGET && (self.thin() || self.drop_oldest()) {}
        let nodes = &self.nodes;
        self.undone.retain(|(id, _)| nodes.binary_search_by_key(id, |node| node.id).is_ok());
        self.works.retain(|id, _| *id == self.work || nodes.iter().any(|node| node.work == *id));
    }

    /// Forgets the oldest node, but neither the present one nor what the last step needs to be taken back. Whether there was any.
    fn drop_oldest(&mut self) -> bool {
        let last = self.done().first().copied();
        let needed = [self.here, last, last.and_then(|id| self.node(id)?.parent)];
        let Some(place) = self.nodes.iter().position(|node| !needed.contains(&Some(node.id))) else { return false };
        let oldest = self.nodes.remove(place).id;
        self.nodes.iter_mut().filter(|node| node.parent == Some(oldest)).for_each(|node| node.parent = None);
        true
    }

    /// The one node that a keyframe leads to by ticks alone. Without one it is an end, a fork, or what a step was done from.
    fn only_child(&self, node: &Node) -> Option<u64> {
        let mut children = self.children(node.id);
        let (child, other) = (children.next()?, children.next());
        let plain = node.step.is_none() && node.parent.is_some() && self.here != Some(node.id);
        (plain && child.step.is_none() && other.is_none()).then_some(child.id)
    }

    /// Drops every second keyframe that leads from one to the next. Whether there were any.
    fn thin(&mut self) -> bool {
        let before = self.nodes.len();
        let mut index = 0;
        while index < self.nodes.len() {
            if let Some(child) = self.only_child(&self.nodes[index]) {
                let parent = self.nodes.remove(index).parent;
                self.node_mut(child).into_iter().for_each(|node| node.parent = parent);
            }
            // Its follower stays.
            index += 1;
        }
        let thinned = self.nodes.len() < before;
        if thinned {
            self.interval = 2 * self.interval.max(INTERVAL);
        }
        thinned
    }
}

/// What projects save.
impl History {
    /// Adds the keyframes of the present work, which was just opened.
    pub fn begin_with(&mut self, saved: &project::Keyframes, live: &Live) {
        let (first, work) = (self.next, live.work());
        let root = self.here.filter(|id| self.node(*id).is_some_and(|node| node.work == work));
        // Their numbers become such as no other node has had.
        let place = |id: u64| saved.frames.iter().position(|frame| frame.id == id).map(|place| first + place as u64);
        for frame in &saved.frames {
            let parent = frame.parent.and_then(place).or(root);
            let tick = frame.states.first().map_or(0, State::tick);
            let state = Some(NodeState::Packed(frame.states.clone()));
            let back = BTreeSet::new();
            self.nodes.push(Node { id: self.next, parent, work, tick, step: None, back, state });
            self.next += 1;
        }
        (self.here, self.work) = (saved.here.and_then(place).or(root), work);
        if self.here != root {
            // What was done by hand since the last keyframe is in none of them.
            self.push(live, None);
        }
    }

    /// All states of the present work, to be saved with it. Waits until they are packed.
    pub(super) fn keyframes(&mut self) -> project::Keyframes {
        self.nodes.iter_mut().for_each(Node::collect);
        let packed = |node: &Node| match &node.state {
            Some(NodeState::Packed(states)) if node.work == self.work => Some((node.id, states.clone())),
            _ => None,
        };
        let before = |id: Option<u64>| self.way(id).find_map(packed).map(|(id, _)| id);
        let frame = |node: &Node| {
            let (id, states) = packed(node)?;
            Some(project::Keyframe { id, parent: before(node.parent), states })
        };
        project::Keyframes { frames: self.nodes.iter().filter_map(frame).collect(), here: before(self.here) }
    }
}

impl Node {
    /// Takes over what was packed. Waits until it is.
    fn collect(&mut self) {
        self.state = match self.state.take() {
            // What broke off is not kept.
            Some(NodeState::Packing(handle, _)) => handle.join().ok().map(|states| NodeState::Packed(Arc::new(states))),
            other => other,
        };
    }
}

/// Makes a session what it was. A state of ours is never refused.
fn restore(session: &mut Session, state: &State) {
    if let Err(wrong) = state.restore(session) {
        error!("a state could not be taken up: {wrong}");
    }
    session.simulation.watched = true;
}

/// Sees whether a drag goes on: what it changes is one step, however slow the hand.
pub(super) fn follow_button(mouse: Option<Res<ButtonInput<MouseButton>>>, mut history: ResMut<History>) {
    let history = history.bypass_change_detection();
    history.pressed = mouse.is_some_and(|mouse| mouse.pressed(MouseButton::Left));
    history.held &= history.pressed;
}

/// Takes keyframes along the run.
pub(super) fn follow(mut live: ResMut<Live>, mut history: ResMut<History>) {
    let history = history.bypass_change_detection();
    let is_packed =
        |node: &&mut Node| matches!(&node.state, Some(NodeState::Packing(handle, _)) if handle.is_finished());
    history.nodes.iter_mut().filter(is_packed).for_each(Node::collect);
    history.work = live.work();
    let is_packing = history.nodes.iter().any(|node| matches!(node.state, Some(NodeState::Packing(..))));
    let grown = (history.next, history.changes);
    if history.open.is_none() && !is_packing && history.trimmed != grown {
        history.keep_to_budget();
        history.trimmed = grown;
    }
    if !live.between_ticks() || history.open.is_some() || is_packing || live.fault().is_some() {
        return;
    }
    let last = history.way(history.here).take_while(|node| node.work == history.work).find(|node| node.state.is_some());
    let due =
        last.is_none_or(|last| live.ticks() >= last.tick + history.interval.max(INTERVAL) || last.tick > live.ticks());
    if due && (last.is_none() || history.taken.is_none_or(|taken| taken.elapsed() > SHARE * history.cost)) {
        history.take(live.bypass_change_detection());
    }
}

/// Goes to the node that was asked for.
pub(super) fn go_to_wanted(
    mut live: ResMut<Live>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut history: ResMut<History>,
) {
    let Some(id) = history.bypass_change_detection().wanted.take().filter(|id| history.node(*id).is_some()) else {
        return;
    };
    transport.pause();
    // The present is kept too, so that one can come back to it.
    let left = history.keep_present(&mut live);
    let kind = |live: &Live| {
        let simulation = &live.chosen().simulation;
        (live.work(), simulation.seed(), simulation.terrain.width(), simulation.terrain.start.clone())
    };
    let before = kind(&live);
    if !history.go_to(id, &mut live) {
        return;
    }
    history.changes += 1;
    history.last = None;
    // Steps on the way back to where it came from can be done again.
    let steps: Vec<u64> = history
        .way(left)
        .take_while(|node| Some(node.id) != history.here)
        .filter(|node| node.step.is_some())
        .map(|node| node.id)
        .collect();
    let goes_back = history.way(left).any(|node| Some(node.id) == history.here);
    history.undone = if goes_back { steps.into_iter().map(|id| (id, Some(id))).collect() } else { Vec::new() };
    if kind(&live) == before {
        revision.goes_on();
    } else {
        revision.begins();
    }
}
