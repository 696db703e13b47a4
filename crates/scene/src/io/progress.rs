//! Progress of a background job.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

thread_local! {
    // Progress of the job on this thread.
    static CURRENT: RefCell<JobProgress> = RefCell::default();
}

/// Progress of a job from 0 to 1, with a cancellation flag, shared by all clones. Jobs that nobody observes get a new one.
#[derive(Clone, Debug, Default)]
pub struct JobProgress(Arc<AtomicU32>, Arc<AtomicBool>);

impl JobProgress {
    /// Returns the completed fraction; 0 if the job does not report progress.
    pub fn share(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Requests cancellation.
    pub fn cancel(&self) {
        self.1.store(true, Ordering::Relaxed);
    }

    /// `true` if cancellation was requested: the job then stops as soon as possible and leaves no output.
    pub fn is_cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }

    /// Runs the work of this job on this thread, on which readers of maps then report to it.
    pub fn observe<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the previous job, after a panic too.
        struct PreviousJobGuard(JobProgress);
        impl Drop for PreviousJobGuard {
            fn drop(&mut self) {
                CURRENT.set(std::mem::take(&mut self.0));
            }
        }
        let _restore = PreviousJobGuard(CURRENT.replace(self.clone()));
        work()
    }

    /// Returns the progress of the job on this thread, or a new one if nobody observes it.
    pub(super) fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Reports that `done` of `all` parts are complete.
    pub fn done(&self, done: usize, all: usize) {
        self.0.store((done as f32 / all.max(1) as f32).min(1.0).to_bits(), Ordering::Relaxed);
    }
}

impl PartialEq for JobProgress {
    /// Compares the identity of the job, not its progress.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_is_current_only_while_it_runs_on_this_thread() {
        let progress = JobProgress::default();
        assert_ne!(JobProgress::current(), progress);
        progress.observe(|| assert_eq!(JobProgress::current(), progress));
        assert_ne!(JobProgress::current(), progress);
    }
}
