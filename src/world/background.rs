//! Background computations, which take longer than a frame.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use bevy::tasks::{AsyncComputeTaskPool, Task, TaskPool, TaskPoolBuilder, block_on};

/// Number of concurrent computations. They share the cores; none waits for another to finish.
const THREADS: usize = 8;

/// Returns Bevy's task pool for computations that span frames. The first call sets the number of threads, so it must precede the
/// engine's plugins: with few cores they would create a single thread, and a long computation would block all others.
pub fn pool() -> &'static TaskPool {
    let build = || TaskPoolBuilder::new().num_threads(THREADS).thread_name("background".to_owned()).build();
    AsyncComputeTaskPool::get_or_init(build)
}

/// Background computation, with its request.
#[derive(Debug)]
pub struct BackgroundTask<Request, Output> {
    /// The request.
    pub request: Request,
    begun: Instant,
    task: Task<Option<Output>>,
}

impl<Request, Output: Send + 'static> BackgroundTask<Request, Output> {
    /// Starts `work`.
    pub fn start(request: Request, work: impl FnOnce() -> Output + Send + 'static) -> Self {
        // The panic hook has reported the panic already; it must not propagate to the system that takes the output.
        let task = pool().spawn(async { catch_unwind(AssertUnwindSafe(work)).ok() });
        Self { request, begun: Instant::now(), task }
    }

    /// Returns `true` if the output is available.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the output, or `None` if the computation panicked. Blocks until it has finished.
    pub fn join(self) -> Option<Output> {
        self.finish().1
    }

    /// Returns the request with its output, which is `None` if the computation panicked. Blocks until it has finished.
    pub fn finish(self) -> (Request, Option<Output>) {
        (self.request, block_on(self.task))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn tasks_run_concurrently_and_panic_yields_no_output() {
        // Each waits until the next one has started.
        let (begins, has_begun) = channel();
        let first = BackgroundTask::start("first", move || has_begun.recv().is_ok());
        let second = BackgroundTask::start("second", move || begins.send(()).is_ok());
        assert_eq!((first.request, first.join(), second.join()), ("first", Some(true), Some(true)));
        let broken = BackgroundTask::start((), || -> u32 { panic!("a fault that is expected here") });
        while !broken.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(broken.join(), None);
    }
}
