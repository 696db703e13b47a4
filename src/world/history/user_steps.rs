//! Steps of the user: recording, undo and redo.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{
    History, HistoryNode,
    step::{StepChange, StepSetting},
    thumbnail::ThumbnailCache,
};
use crate::world::{Label, Simulations};
use thalweg_scene::model::film::CameraKeyframes;
use thalweg_sim::edit::UndoPatch;

/// Time within which changes of the same parameter are one step, as when a slider is dragged.
const SAME_STEP: Duration = Duration::from_millis(900);

impl History {
    /// Changes settings. Changes while the mouse button is held down are one step.
    pub(in crate::world) fn set(
        &mut self,
        simulations: &mut Simulations,
        label: Label,
        drags: bool,
        change: impl FnOnce(&mut Simulations),
    ) {
        self.end_stroke();
        let now = Instant::now();
        let held = std::mem::replace(&mut self.held, self.pressed) && drags;
        let goes_on = self.last.replace(now).is_some_and(|last| drags && now - last < SAME_STEP || held);
        self.changes += 1;
        self.undone.clear();
        let last = self.done().first().copied().and_then(|id| self.node_mut(id)).filter(|_| goes_on);
        if let Some(HistoryNode { step: Some(step), state, .. }) = last
            && let StepChange::Set(_, after) = &mut step.change
            && let Some(longer) = label.merge(&step.label)
        {
            change(simulations);
            (*after, step.label, *state) = (StepSetting::runs(simulations), longer, None);
            let is_stored = self.here.and_then(|id| self.node(id)).is_some_and(|here| here.state.is_some());
            if is_stored && self.is_at_node(simulations) {
                // A snapshot of this tick has the previous value.
                self.push(simulations, None);
            }
            return;
        }
        if simulations.between_ticks() {
            self.store_current(simulations);
        }
        let before = StepSetting::runs(simulations);
        change(simulations);
        self.push(simulations, Some((label, StepChange::Set(before, StepSetting::runs(simulations)))));
    }

    /// Replaces the camera keyframes.
    pub(in crate::world) fn set_keys(&mut self, simulations: &mut Simulations, label: Label, keys: CameraKeyframes) {
        if simulations.between_ticks() {
            self.store_current(simulations);
        }
        self.end_stroke();
        self.changes += 1;
        self.last = None;
        self.undone.clear();
        let [before, after] = StepSetting::keys(&simulations.views.keys, &keys);
        simulations.views.keys = keys;
        self.push(simulations, Some((label, StepChange::Set(before, after))));
    }

    /// Returns `true` if a change of a slider that regenerates the terrain belongs to the same drag as the one before it.
    pub(in crate::world) fn continues_drag(&mut self) -> bool {
        let held = std::mem::replace(&mut self.held, self.pressed);
        let now = Instant::now();
        self.last.replace(now).is_some_and(|last| now - last < SAME_STEP || held)
    }

    /// Changes a parameter that regenerates the terrain. Changes during one drag are one step, before which the current state is
    /// stored once. Returns `true` if this is the first of them.
    pub(in crate::world) fn replace_by_parameter(
        &mut self,
        simulations: &mut Simulations,
        label: Label,
        continues: bool,
        change: impl FnOnce(&mut Simulations),
    ) -> bool {
        let last = self.done().first().copied().and_then(|id| self.node_mut(id)).filter(|_| continues);
        if let Some(HistoryNode { id, step: Some(step), state, tick, .. }) = last
            && matches!(step.change, StepChange::Replaced)
            && let Some(longer) = label.merge(&step.label)
        {
            change(simulations);
            (step.label, *state, *tick) = (longer, None, simulations.ticks());
            let id = *id;
            // Later states belong to the replaced start.
            self.nodes.retain(|node| node.id <= id);
            self.here = Some(id);
            self.thumbnails = ThumbnailCache::default();
            self.changes += 1;
            self.undone.clear();
            return false;
        }
        let last = self.last;
        self.replace(simulations, label, change);
        self.last = last;
        true
    }

    /// Changes or replaces everything.
    pub(crate) fn replace(
        &mut self,
        simulations: &mut Simulations,
        label: Label,
        change: impl FnOnce(&mut Simulations),
    ) {
        self.store_current(simulations);
        self.changes += 1;
        (self.last, self.interval) = (None, 0);
        self.undone.clear();
        self.store_project(simulations);
        change(simulations);
        self.push(simulations, Some((label, StepChange::Replaced)));
    }

    /// Begins a stroke, which writes its changes to the patches of [`Self::stroke`]. Returns its identifier.
    pub fn begin_stroke(&mut self, simulations: &Simulations, label: Label) -> u64 {
        self.end_stroke();
        self.last = None;
        self.changes += 1;
        self.undone.clear();
        if !self.is_at_node(simulations) {
            self.push(simulations, None);
        }
        let touched = StepChange::Brushed(vec![UndoPatch::default(); simulations.all().len()], None);
        self.open = Some(self.push(simulations, Some((label, touched))));
        self.next - 1
    }

    /// Returns the patches of the stroke in progress, unless ticks have run since it began.
    pub fn stroke(&mut self) -> Option<&mut [UndoPatch]> {
        match &mut self.open.and_then(|id| self.node_mut(id))?.step.as_mut()?.change {
            StepChange::Brushed(patches, _) => Some(patches),
            _ => None,
        }
    }

    /// Returns the identifier of the stroke in progress. Any other step ends it.
    pub fn strokes(&self) -> Option<u64> {
        self.open
    }

    /// Ends the stroke in progress. A stroke without changes is no step.
    pub fn end_stroke(&mut self) {
        let nothing = self.stroke().is_some_and(|patches| patches.iter().all(UndoPatch::is_empty));
        if let Some(id) = self.open.take() {
            // An autosave during the stroke has only part of it.
            self.changes += 1;
            if nothing {
                self.forget(id);
            }
        }
    }

    /// Undoes the stroke in progress, without redo.
    pub fn cancel_stroke(&mut self, simulations: &mut Simulations) {
        let Some(id) = self.open.take() else { return };
        let parent = self.node(id).and_then(|node| node.parent);
        let undone = self.change_mut(id).is_some_and(|change| change.undo(simulations));
        if !undone && let Some(parent) = parent {
            self.go_to(parent, simulations);
        }
        self.forget(id);
    }

    /// Undoes the last step. Returns its label, and `true` if all sessions were replaced.
    pub(in crate::world) fn undo(&mut self, simulations: &mut Simulations) -> Option<(Label, bool)> {
        self.end_stroke();
        self.last = None;
        let id = *self.done().first()?;
        self.changes += 1;
        let is_here = self.here == Some(id);
        let (tick, node) = (simulations.ticks(), self.node_mut(id)?);
        let (parent, is_now) = (node.parent, node.tick == tick);
        let step = node.step.as_mut()?;
        let label = step.label.clone();
        match &step.change {
            change if change.commutes_with_ticks() => drop(step.change.undo(simulations)),
            StepChange::Brushed(..) if is_here && is_now => drop(step.change.undo(simulations)),
            _ => {
                let place = self.store_current(simulations);
                return self.go_to(parent?, simulations).then(|| {
                    self.undone.push((id, place));
                    (label, true)
                });
            }
        }
        if is_here {
            self.here = parent;
        } else {
            self.back.insert(id);
            self.push(simulations, None);
        }
        self.undone.push((id, None));
        Some((label, false))
    }

    /// Redoes the last undone step. Returns the same as [`Self::undo`].
    pub(in crate::world) fn redo(&mut self, simulations: &mut Simulations) -> Option<(Label, bool)> {
        self.end_stroke();
        self.last = None;
        let (id, place) = self.undone.pop()?;
        self.changes += 1;
        let (here, tick) = (self.here, simulations.ticks());
        let follows = self.node(id).is_some_and(|node| node.parent == here);
        let node = self.node_mut(id)?;
        let is_now = node.tick == tick;
        let step = node.step.as_mut()?;
        let label = step.label.clone();
        match &step.change {
            change if change.commutes_with_ticks() && (place.is_none() || follows) && step.change.redo(simulations) => {
                // If ticks have run since, it is applied again, from the current state.
                let again = Some((label.clone(), step.change.clone()));
                if self.back.remove(&id) {
                    self.push(simulations, None);
                } else if follows {
                    self.here = Some(id);
                } else {
                    self.push(simulations, again);
                }
            }
            StepChange::Brushed(..)
                if place.is_none_or(|place| place == id) && follows && is_now && step.change.redo(simulations) =>
            {
                self.here = Some(id);
            }
            _ => {
                self.store_current(simulations);
                self.go_to(place.unwrap_or(id), simulations);
                return Some((label, true));
            }
        }
        Some((label, false))
    }
}

/// Detects whether a drag continues: its changes are one step, however slow it is.
pub(in crate::world) fn follow_button(mouse: Option<Res<ButtonInput<MouseButton>>>, mut history: ResMut<History>) {
    let history = &mut *history;
    history.pressed = mouse.is_some_and(|mouse| mouse.pressed(MouseButton::Left));
    history.held &= history.pressed;
}
