//! Particles that move in lock-step, a few at a time in vector lanes, on a team of threads.
//!
//! Every thread has a copy of the ground. Between two waits it moves its own bundles of particles on the ground as the last
//! wait left it, and notes what they ask of it; then it applies the notes of all, in the order of the bundles, to
//! its copy. So all copies hold the same bits, for every number of threads, and no thread waits for memory that
//! another one has just changed but for the notes.

use std::{
    slice::from_mut,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    real::{Kernel, fetch_ahead, with_eight_lanes},
    team::{self, Member, Shared},
};

/// Below this many bundles a second thread costs more than it does.
const BUNDLES_PER_THREAD: usize = 8;

/// Bytes in a line of a processor's cache.
const LINE: usize = 64;

/// Particles of one kind: how a bundle of them moves, and what it does to the ground.
///
/// `advance` and `apply` must be `#[inline(always)]`, so that they are compiled for the vector unit.
pub trait Swarm: Sync {
    /// A thread's own copy of what the particles move on.
    type Ground: Clone + Send + Sync;
    /// Eight particles.
    type Bundle: Copy + Send + Sync;
    /// What a bundle asks of the ground between two waits.
    type Note: Copy + Default + Send + Sync;
    /// Exchanges of notes between two repackings; an even number.
    const EXCHANGES: usize;

    /// Moves the bundle's particles and notes what they ask of the ground.
    fn advance(&self, ground: &Self::Ground, bundle: &mut Self::Bundle) -> Self::Note;

    /// Whether [`Self::watch`] is to be called.
    fn watches(&self) -> bool {
        false
    }

    /// Sees a bundle after each move, on the thread that moves it.
    fn watch(&self, _: &Self::Bundle) {}

    /// Does to the ground what a bundle noted. `bundle` is the bundle itself on the one thread that moves it: there it
    /// learns what it got.
    fn apply(&self, ground: &mut Self::Ground, note: &Self::Note, bundle: Option<&mut Self::Bundle>);

    /// Moves the particles that still run to the front. Returns the number of bundles that they fill.
    fn repack(&mut self, bundles: &mut [Self::Bundle]) -> usize;
}

/// Runs particles until each has ended, and leaves the ground as they do.
pub fn run<S: Swarm + Send>(swarm: &mut S, ground: &mut S::Ground, mut bundles: Vec<S::Bundle>) {
    let mut notes = vec![S::Note::default(); 2 * bundles.len()];
    let threads = rayon::current_num_threads().min(bundles.len() / BUNDLES_PER_THREAD).max(1);
    let count = AtomicUsize::new(bundles.len());
    let (bundles, notes) = (Shared::new(&mut bundles), Shared::new(&mut notes));
    let (swarm, ground) = (Shared::new(from_mut(swarm)), Shared::new(from_mut(ground)));
    team::run(threads, |mut member| {
        // The first member works on the ground itself.
        // SAFETY: nobody changes the ground before the wait, and afterwards only the first member uses it.
        let mut copy = (member.index() > 0).then(|| unsafe { ground.get(0) }.clone());
        member.wait();
        // SAFETY: as above.
        let own = copy.as_mut().unwrap_or_else(|| unsafe { ground.get_mut(0) });
        loop {
            let running = count.load(Ordering::Relaxed);
            if running == 0 || !member.shrink(running / BUNDLES_PER_THREAD) {
                break;
            }
            // SAFETY: nobody changes the swarm before the next wait.
            let shared: &S = unsafe { swarm.get(0) };
            with_eight_lanes(Exchanges { swarm: shared, ground: own, bundles, notes, running, member: &member });
            // All have left the exchanges, and with them their view of the swarm.
            member.wait();
            if member.index() == 0 {
                // SAFETY: the others wait until there is room again.
                let (swarm, bundles) = unsafe { (swarm.get_mut(0), bundles.slice_mut()) };
                count.store(swarm.repack(&mut bundles[..running]), Ordering::Relaxed);
            }
            member.wait();
        }
    });
}

/// One thread's part of the exchanges between two repackings.
struct Exchanges<'a, S: Swarm> {
    swarm: &'a S,
    ground: &'a mut S::Ground,
    bundles: Shared<'a, S::Bundle>,
    notes: Shared<'a, S::Note>,
    running: usize,
    member: &'a Member<'a>,
}

impl<S: Swarm> Kernel for Exchanges<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { swarm, ground, bundles, notes, running, member } = self;
        let own = member.share(running);
        let watches = swarm.watches();
        for exchange in 0..S::EXCHANGES {
            // Notes of this exchange and of the last lie apart, so that writing these needs no wait for readers of those.
            let first = (exchange % 2) * running;
            for index in own.clone() {
                // SAFETY: shares of bundles and of their notes don't overlap, and who reads notes reads the other
                // exchange's: those of this one were last read before the last wait.
                unsafe {
                    *notes.get_mut(first + index) = swarm.advance(ground, bundles.get_mut(index));
                    if watches {
                        swarm.watch(bundles.get(index));
                    }
                }
            }
            member.wait();
            let now = notes.pointer().wrapping_add(first);
            for index in (0..own.start).chain(own.end..running) {
                for line in (0..size_of::<S::Note>()).step_by(LINE) {
                    fetch_ahead(now.wrapping_add(index).wrapping_byte_add(line));
                }
            }
            // SAFETY: notes of this exchange are not written before the next wait, and bundles are their owner's.
            unsafe {
                for index in 0..own.start {
                    swarm.apply(ground, notes.get(first + index), None);
                }
                for index in own.clone() {
                    swarm.apply(ground, notes.get(first + index), Some(bundles.get_mut(index)));
                }
                for index in own.end..running {
                    swarm.apply(ground, notes.get(first + index), None);
                }
            }
        }
    }
}
