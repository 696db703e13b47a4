//! Particles that move in lock-step, a few at a time in vector lanes, on a team of threads.
//!
//! Every thread has a copy of the ground. Between two waits it moves its own bundles of particles on the ground as the last
//! wait left it, and notes what they ask of it; then it applies the notes of all, in the order of the bundles, to
//! its copy. So all copies hold the same bits, for every number of threads, and no thread waits for memory that
//! another one has just changed but for the notes.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    real::{Kernel, with_vector_unit},
    team::{self, Member, Shared},
};

/// Below this many bundles a second thread costs more than it does.
const BUNDLES_PER_THREAD: usize = 8;

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

    /// Does to the ground what a bundle noted. `bundle` is the bundle itself on the one thread that moves it: there it
    /// learns what it got.
    fn apply(&self, ground: &mut Self::Ground, note: &Self::Note, bundle: Option<&mut Self::Bundle>);

    /// Moves the particles that still run to the front. Returns the number of bundles that they fill.
    fn repack(&mut self, bundles: &mut [Self::Bundle]) -> usize;
}

/// Runs particles until each has ended. Returns the ground that they leave.
pub fn run<S: Swarm + Send>(swarm: &mut S, ground: S::Ground, mut bundles: Vec<S::Bundle>) -> S::Ground {
    let mut notes = vec![S::Note::default(); 2 * bundles.len()];
    let threads = rayon::current_num_threads().min(bundles.len() / BUNDLES_PER_THREAD).max(1);
    let count = AtomicUsize::new(bundles.len());
    let (bundles, notes) = (Shared::new(&mut bundles), Shared::new(&mut notes));
    let mut swarm = [swarm];
    let swarm = Shared::new(&mut swarm);
    // The first member goes on with the ground itself.
    let (first, others) = (Mutex::new(Some(ground)), Mutex::new(Vec::new()));
    if threads > 1 {
        let ground = first.lock().unwrap_or_else(PoisonError::into_inner);
        others.lock().unwrap_or_else(PoisonError::into_inner).extend((1..threads).filter_map(|_| ground.clone()));
    }
    team::run(threads, |mut member| {
        let own = if member.index() == 0 {
            first.lock().unwrap_or_else(PoisonError::into_inner).take()
        } else {
            others.lock().unwrap_or_else(PoisonError::into_inner).pop()
        };
        let Some(mut ground) = own else { unreachable!("there is a ground for every member") };
        loop {
            let running = count.load(Ordering::Relaxed);
            if running == 0 || !member.shrink(running / BUNDLES_PER_THREAD) {
                break;
            }
            // SAFETY: nobody changes the swarm before the wait.
            let shared: &S = unsafe { swarm.get(0) };
            with_vector_unit(Exchanges {
                swarm: shared,
                ground: &mut ground,
                bundles,
                notes,
                running,
                member: &member,
            });
            // All have left the exchanges, and with them their view of the swarm.
            member.wait();
            if member.index() == 0 {
                // SAFETY: the others wait until there is room again.
                let (swarm, bundles) = unsafe { (swarm.get_mut(0), bundles.slice_mut()) };
                count.store(swarm.repack(&mut bundles[..running]), Ordering::Relaxed);
            }
            member.wait();
        }
        if member.index() == 0 {
            *first.lock().unwrap_or_else(PoisonError::into_inner) = Some(ground);
        }
    });
    let Some(ground) = first.into_inner().unwrap_or_else(PoisonError::into_inner) else {
        unreachable!("the first member puts the ground back")
    };
    ground
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
        for exchange in 0..S::EXCHANGES {
            // Notes of this exchange and of the last lie apart, so that writing these needs no wait for readers of those.
            let first = (exchange % 2) * running;
            for index in own.clone() {
                // SAFETY: shares of bundles and of their notes don't overlap, and who reads notes reads the other
                // exchange's: those of this one were last read before the last wait.
                unsafe { *notes.get_mut(first + index) = swarm.advance(ground, bundles.get_mut(index)) };
            }
            member.wait();
            for index in 0..running {
                // SAFETY: notes of this exchange are not written before the next wait, and bundles are their owner's.
                unsafe {
                    let bundle = if own.contains(&index) { Some(bundles.get_mut(index)) } else { None };
                    swarm.apply(ground, notes.get(first + index), bundle);
                }
            }
        }
    }
}
