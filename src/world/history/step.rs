//! What a hand did in one step, and how it is taken back.

use std::collections::BTreeMap;

use bevy::log::error;

use crate::world::{Label, Simulations};
use thalweg_scene::model::{
    film::{Key, Keys},
    session::Session,
};
use thalweg_sim::{core::terrain::Source, edit::Patch};

/// A step of the hand.
#[derive(Clone, Debug)]
pub(super) struct HandStep {
    pub label: Label,
    pub change: Change,
}

/// What a step changed.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Something that is set, before and after. Layers stay as they are.
    Set(Setting, Setting),
    /// What a brush touched in every session: what was there before, and what it made of that, once it was taken back.
    Touched(Vec<Patch>, Option<Vec<Patch>>),
    /// Everything.
    Replaced,
}

impl Change {
    /// Whether the state after it follows from the one before it without ticks.
    pub fn goes_forward(&self) -> bool {
        matches!(self, Self::Set(..) | Self::Touched(_, Some(_)))
    }

    /// Whether it belongs to the states before and after it.
    pub fn is_of_states(&self) -> bool {
        !matches!(self, Self::Set(Setting::Keys(..), _))
    }

    /// Whether it can be taken back and done again after time has run on, because time changes nothing of what it changed.
    pub fn is_beside_time(&self) -> bool {
        match self {
            Self::Set(..) => true,
            Self::Touched(before, _) => before.iter().all(Patch::is_of_maps),
            Self::Replaced => false,
        }
    }

    /// Takes it back: sessions and keys are as they were before it. Whether it was possible.
    pub fn back(&mut self, simulations: &mut Simulations) -> bool {
        match self {
            Self::Set(before, _) => before.put(simulations),
            Self::Touched(before, after) => *after = Some(exchange(before, simulations)),
            Self::Replaced => return false,
        }
        true
    }

    /// Does it again: sessions and keys are as it left them. Whether it was possible.
    pub fn forward(&self, simulations: &mut Simulations) -> bool {
        match self {
            Self::Set(_, after) => after.put(simulations),
            Self::Touched(_, Some(after)) => drop(exchange(after, simulations)),
            Self::Touched(_, None) | Self::Replaced => return false,
        }
        true
    }

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let patches = |patches: &[Patch]| patches.iter().map(Patch::bytes).sum::<usize>();
        match self {
            Self::Set(before, after) => before.bytes() + after.bytes(),
            Self::Touched(before, after) => patches(before) + after.as_deref().map_or(0, patches),
            Self::Replaced => 0,
        }
    }
}

/// What a step sets.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    /// What is set in every session.
    Runs(Vec<RunSettings>),
    /// Ticks, and the key of the camera at each, if there is one. Keys are no part of a state: on the way to another place in time they stay.
    Keys(Vec<(f64, Option<Key>)>),
}

impl Setting {
    pub fn runs(simulations: &Simulations) -> Self {
        Self::Runs(RunSettings::all(simulations))
    }

    /// What differs between keys, before and after.
    pub fn keys(before: &Keys, after: &Keys) -> [Self; 2] {
        let at = |keys: &Keys, tick: f64| keys.list().iter().find(|key| key.tick == tick).copied();
        // Whole turns follow from the keys around.
        let turned = |key: Option<Key>| key.map(|key| Key { round: key.round.rem_euclid(360.0), ..key });
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
            Self::Runs(settings) => settings.iter().map(RunSettings::bytes).sum(),
            Self::Keys(changed) => size_of_val(&**changed),
        }
    }
}

/// Puts patches on the layers. Returns what was there.
fn exchange(patches: &[Patch], simulations: &mut Simulations) -> Vec<Patch> {
    let exchange = |(session, patch): (&mut Session, &Patch)| {
        let mut patch = patch.clone();
        session.simulation.exchange(&mut patch);
        patch
    };
    simulations.all_mut().iter_mut().zip(patches).map(exchange).collect()
}

/// What of a session is set, not simulated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunSettings {
    /// Every parameter, by path.
    parameters: BTreeMap<String, String>,
    /// Whether each process runs, and whether it leaves masked ground alone.
    switches: Vec<[bool; 2]>,
    sources: Vec<Source>,
}

impl RunSettings {
    /// Those of every session.
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

    /// Sets what differs.
    fn apply(&self, session: &mut Session) {
        let now = session.all_parameters();
        let other = self.parameters.iter().filter(|(path, value)| now.get(*path) != Some(value));
        if let Err(wrong) = session.set_all(other.map(|(path, value)| (&**path, &**value))) {
            error!("a setting could not be taken back: {wrong}");
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
