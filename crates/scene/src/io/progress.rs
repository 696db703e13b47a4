//! How much of some work is done.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

/// The share of some work that is done, from 0 to 1, and whether the work is still wanted. Clones share both. Where nothing watches
/// the work, it gets a new one.
#[derive(Clone, Debug, Default)]
pub struct JobProgress(Arc<AtomicU32>, Arc<AtomicBool>);

impl JobProgress {
    /// The share that is done. It stays 0 where the work does not tell.
    pub fn share(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// The work is not wanted any more.
    pub fn cancel(&self) {
        self.1.store(true, Ordering::Relaxed);
    }

    /// Whether the work is not wanted any more: then it ends as soon as it can, and leaves nothing.
    pub fn is_cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }

    /// `done` of `all` parts are done.
    pub fn done(&self, done: usize, all: usize) {
        self.0.store((done as f32 / all.max(1) as f32).min(1.0).to_bits(), Ordering::Relaxed);
    }
}

impl PartialEq for JobProgress {
    /// The same work, not the same share.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
