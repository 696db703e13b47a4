//! Steps of the user, and their reversal.

use std::collections::BTreeMap;

use bevy::log::error;

use crate::world::{Label, Simulations};
use thalweg_scene::model::{
    film::{CameraKeyframe, CameraKeyframes},
    session::Session,
};
use thalweg_sim::{core::terrain::Source, edit::UndoPatch};

/// Step of the user.
#[derive(Clone, Debug)]
pub(super) struct UserStep {
    pub label: Label,
    pub change: StepChange,
}

/// Change by a step.
#[derive(Clone, Debug)]
pub(super) enum StepChange {
    /// Settings before and after it. Layers are not affected.
    Set(StepSetting, StepSetting),
    /// Cells changed by a brush in every session: their previous content and, once undone, their new content.
    Brushed(Vec<UndoPatch>, Option<Vec<UndoPatch>>),
    /// Everything replaced.
    Replaced,
}

impl StepChange {
    /// Returns `true` if the state after it can be derived from the one before it without ticks.
    pub fn needs_no_ticks(&self) -> bool {
        matches!(self, Self::Set(..) | Self::Brushed(_, Some(_)))
    }

    /// Returns `true` if it is part of the states before and after it.
    pub fn belongs_to_states(&self) -> bool {
        !matches!(self, Self::Set(StepSetting::Keys(..), _))
    }

    /// Returns `true` if it can be undone and redone after ticks have run, because ticks do not affect what it changed.
    pub fn commutes_with_ticks(&self) -> bool {
        match self {
            Self::Set(..) => true,
            Self::Brushed(before, _) => before.iter().all(UndoPatch::is_of_maps),
            Self::Replaced => false,
        }
    }

    /// Undoes it. Returns `false` if that is impossible.
    pub fn undo(&mut self, simulations: &mut Simulations) -> bool {
        match self {
            Self::Set(before, _) => before.put(simulations),
            Self::Brushed(before, after) => *after = Some(exchange(before, simulations)),
            Self::Replaced => return false,
        }
        true
    }

    /// Redoes it. Returns `false` if that is impossible.
    pub fn redo(&self, simulations: &mut Simulations) -> bool {
        match self {
            Self::Set(_, after) => after.put(simulations),
            Self::Brushed(_, Some(after)) => drop(exchange(after, simulations)),
            Self::Brushed(_, None) | Self::Replaced => return false,
        }
        true
    }

    /// Returns its memory use, in bytes.
    pub fn bytes(&self) -> usize {
        let patches = |patches: &[UndoPatch]| patches.iter().map(UndoPatch::bytes).sum::<usize>();
        match self {
            Self::Set(before, after) => before.bytes() + after.bytes(),
            Self::Brushed(before, after) => patches(before) + after.as_deref().map_or(0, patches),
            Self::Replaced => 0,
        }
    }
}

/// Settings of a step.
#[derive(Clone, Debug)]
pub(super) enum StepSetting {
    /// Settings of every session.
    Runs(Vec<SessionSettings>),
    /// Ticks, each with its camera keyframe, if any. Keyframes are no part of a state: going to another point in time does not
    /// change them.
    Keys(Vec<(f64, Option<CameraKeyframe>)>),
}

impl StepSetting {
    pub fn runs(simulations: &Simulations) -> Self {
        Self::Runs(SessionSettings::all(simulations))
    }

    /// Returns the differences between two lists of keyframes, before and after.
    pub fn keys(before: &CameraKeyframes, after: &CameraKeyframes) -> [Self; 2] {
        let at = |keys: &CameraKeyframes, tick: f64| keys.list().iter().find(|key| key.tick == tick).copied();
        // Full turns depend on the neighbouring keyframes.
        let turned =
            |key: Option<CameraKeyframe>| key.map(|key| CameraKeyframe { round: key.round.rem_euclid(360.0), ..key });
        let mut ticks: Vec<f64> = before.list().iter().chain(after.list()).map(|key| key.tick).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        ticks.retain(|tick| turned(at(before, *tick)) != turned(at(after, *tick)));
        [before, after].map(|keys| Self::Keys(ticks.iter().map(|tick| (*tick, at(keys, *tick))).collect()))
    }

    fn put(&self, simulations: &mut Simulations) {
        match self {
            Self::Runs(settings) => {
                simulations.all_mut().iter_mut().zip(settings).for_each(|(session, settings)| settings.apply(session));
            }
            Self::Keys(changed) => {
                let keys = &mut simulations.views.keys;
                changed.iter().for_each(|(tick, _)| keys.remove(*tick));
                for key in changed.iter().filter_map(|(_, key)| *key) {
                    keys.set(key);
                }
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Runs(settings) => settings.iter().map(SessionSettings::bytes).sum(),
            Self::Keys(changed) => size_of_val(&**changed),
        }
    }
}

/// Applies patches to the layers. Returns the previous contents.
fn exchange(patches: &[UndoPatch], simulations: &mut Simulations) -> Vec<UndoPatch> {
    let exchange = |(session, patch): (&mut Session, &UndoPatch)| {
        let mut patch = patch.clone();
        session.simulation.exchange(&mut patch);
        patch
    };
    simulations.all_mut().iter_mut().zip(patches).map(exchange).collect()
}

/// Part of a session that is set by the user instead of simulated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionSettings {
    /// All parameters, by path.
    parameters: BTreeMap<String, String>,
    /// For each process, `true` if it is enabled, and `true` if it is limited to unmasked terrain.
    switches: Vec<[bool; 2]>,
    sources: Vec<Source>,
}

impl SessionSettings {
    /// Returns the settings of every session.
    pub fn all(simulations: &Simulations) -> Vec<Self> {
        simulations.all().iter().map(Self::of).collect()
    }

    fn of(session: &Session) -> Self {
        let simulation = &session.simulation;
        Self {
            parameters: session.all_parameters(),
            switches: simulation.slots.iter().map(|slot| [slot.enabled, slot.limited]).collect(),
            sources: simulation.terrain.sources.clone(),
        }
    }

    /// Applies the settings that differ.
    fn apply(&self, session: &mut Session) {
        let now = session.all_parameters();
        let other = self.parameters.iter().filter(|(path, value)| now.get(*path) != Some(value));
        if let Err(wrong) = session.set_all(other.map(|(path, value)| (&**path, &**value))) {
            error!("failed to restore the settings: {wrong}");
        }
        for (slot, [enabled, limited]) in session.simulation.slots.iter_mut().zip(&self.switches) {
            (slot.enabled, slot.limited) = (*enabled, *limited);
        }
        if session.simulation.terrain.sources != self.sources {
            session.set_sources(self.sources.clone());
        }
    }

    fn bytes(&self) -> usize {
        80 * self.parameters.len()
    }
}
