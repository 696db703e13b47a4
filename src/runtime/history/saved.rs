//! The history in a project.

use std::collections::BTreeSet;

use super::{History, Node, NodeState};
use crate::{io::project, model::state::State, runtime::Live};

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
    pub(in crate::runtime) fn keyframes(&mut self) -> project::Keyframes {
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
