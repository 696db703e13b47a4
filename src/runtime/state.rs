//! States of all sessions that undo goes back to: packed beside the frames, unpacked when they are wanted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Live;
use crate::{
    model::state::{Snapshot, Unpacked},
    sim::{Simulation, grid::Grid, terrain::Terrain},
};

/// Memory that a state which is still being packed will take, in bytes per cell: what is usual where water flows.
const USUAL: usize = 20;

/// A state of all sessions. Copies share it.
#[derive(Clone)]
pub(super) struct State {
    kept: Arc<Mutex<Kept>>,
    cells: usize,
}

struct Kept {
    /// The sessions; when their simulations are packed, these are empty.
    live: Box<Live>,
    packed: Option<Vec<Snapshot>>,
}

impl State {
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
        for (session, snapshot) in live.all_mut().iter_mut().zip(kept.packed.iter().flatten()) {
            snapshot.restore(session);
            session.simulation.watched = true;
        }
        live
    }

    /// Memory that it takes when it is packed.
    pub(super) fn bytes(&self) -> usize {
        let kept = self.kept.try_lock();
        match kept.as_ref().map(|kept| &kept.packed) {
            Ok(Some(snapshots)) => snapshots.iter().map(Snapshot::bytes).sum(),
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
        let snapshots = self.live.all_mut().iter_mut().map(|session| Unpacked::of(session).pack()).collect();
        for session in self.live.all_mut() {
            let nothing = Terrain::bare(Grid::filled(1, 1, 0.0), 1.0, Default::default());
            session.simulation = Simulation::new(nothing, session.simulation.seed());
        }
        self.packed = Some(snapshots);
    }
}
