//! States of all sessions that undo goes back to: packed beside the frames, unpacked when they are wanted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy::log::error;

use super::Live;
use crate::{
    model::{session::Session, state::State},
    sim::{Simulation, grid::Grid, terrain::Terrain},
};

/// Memory that a state which is still being packed will take, in bytes per cell: what is usual where water flows.
const USUAL: usize = 20;

/// A state of all sessions. Copies share it.
#[derive(Clone)]
pub(super) struct Moment {
    kept: Arc<Mutex<Kept>>,
    cells: usize,
}

struct Kept {
    /// The sessions; when their simulations are packed, these are empty.
    live: Box<Live>,
    packed: Option<Vec<State>>,
}

impl Moment {
    /// Keeps a state, and has it packed.
    pub(super) fn new(live: Live) -> Self {
        let cells = live.all().iter().map(|session| session.simulation.terrain.bedrock.len()).sum();
        let state = Self { kept: Arc::new(Mutex::new(Kept { live: Box::new(live), packed: None })), cells };
        let packs = state.clone();
        // Where no thread can be started it stays as it is, which is only larger.
        let _ = std::thread::Builder::new().name("thalweg undo".to_owned()).spawn(move || packs.lock().pack());
        state
    }

    /// What was kept. While it is being packed this waits.
    pub(super) fn live(&self) -> Live {
        let kept = self.lock();
        let mut live = (*kept.live).clone();
        for (session, state) in live.all_mut().iter_mut().zip(kept.packed.iter().flatten()) {
            restore(session, state);
        }
        live
    }

    /// Memory that it takes when it is packed.
    pub(super) fn bytes(&self) -> usize {
        let kept = self.kept.try_lock();
        match kept.as_ref().map(|kept| &kept.packed) {
            Ok(Some(states)) => states.iter().map(State::bytes).sum(),
            _ => self.cells * USUAL,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A thread that broke off while it packed has left what there was.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn pack(&mut self) {
        // A tick that had begun is finished: a snapshot lies between two.
        self.live.finish_tick();
        let states = self.live.all_mut().iter_mut().map(State::packed).collect();
        for session in self.live.all_mut() {
            let nothing = Terrain::bare(Grid::filled(1, 1, 0.0), 1.0, Default::default());
            session.simulation = Simulation::new(nothing, session.simulation.seed());
        }
        self.packed = Some(states);
    }
}

/// Makes a session what it was. A state of ours is never refused.
pub(super) fn restore(session: &mut Session, state: &State) {
    if let Err(wrong) = state.restore(session) {
        error!("a state could not be taken up: {wrong}");
    }
    session.simulation.watched = true;
}
