//! A few threads that work on one thing in short phases.
//!
//! Rayon starts a parallel loop in microseconds; particles in lock-step need a new phase every few microseconds. So a
//! team's threads live as long as the whole job and wait for each other by spinning.

use std::{
    cell::UnsafeCell,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicUsize, Ordering},
};

/// One thread's view of its team.
pub struct Member<'a> {
    index: usize,
    size: usize,
    barrier: &'a Barrier,
}

impl Member<'_> {
    /// Number of this member, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// This member's share of `count` things: contiguous, and all shares together are everything.
    pub fn share(&self, count: usize) -> Range<usize> {
        count * self.index / self.size..count * (self.index + 1) / self.size
    }

    /// Goes on with fewer members. Every member must say the same number after the same wait; false tells this one to
    /// return, because it is no longer needed.
    pub fn shrink(&mut self, size: usize) -> bool {
        self.size = size.clamp(1, self.size);
        self.index < self.size
    }

    /// Waits until every member has come here. What others wrote before is then visible.
    ///
    /// If another member has panicked, this one unwinds too: the other will never come.
    pub fn wait(&self) {
        self.barrier.wait(self.size);
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.barrier.poison();
        }
    }
}

/// Each on cache lines of its own: those who wait read one while those who come write the other.
#[derive(Default)]
struct Barrier {
    arrived: OwnLine,
    phase: OwnLine,
}

#[derive(Default)]
#[repr(align(128))]
struct OwnLine(AtomicUsize);

/// Set in the phase once a member has panicked.
const POISONED: usize = 1 << (usize::BITS - 1);

/// What members unwind with because another one has panicked.
struct OtherPanicked;

impl Barrier {
    fn wait(&self, size: usize) {
        if size == 1 {
            return;
        }
        let phase = self.phase.0.load(Ordering::Acquire);
        if phase & POISONED == 0 {
            self.wait_for_next(phase, size);
        }
        if self.phase.0.load(Ordering::Acquire) & POISONED != 0 {
            resume_unwind(Box::new(OtherPanicked));
        }
    }

    fn wait_for_next(&self, phase: usize, size: usize) {
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == size {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.phase.0.fetch_add(1, Ordering::Release);
            return;
        }
        let mut spins = 0_u32;
        while self.phase.0.load(Ordering::Acquire) == phase {
            spins += 1;
            if spins < 2048 {
                std::hint::spin_loop();
            } else {
                // More threads want to run than there are cores.
                std::thread::yield_now();
            }
        }
    }

    fn poison(&self) {
        self.phase.0.fetch_or(POISONED, Ordering::Release);
    }
}

/// Runs `work` on `size` threads at once, the calling one among them, and returns when all are done.
///
/// # Panics
/// If a member panics: the others leave at their next wait, and the panic goes on in the calling thread.
pub fn run(size: usize, work: impl Fn(Member<'_>) + Sync) {
    let barrier = Barrier::default();
    let member = |index| catch_unwind(AssertUnwindSafe(|| work(Member { index, size, barrier: &barrier })));
    let ends = std::thread::scope(|scope| {
        let member = &member;
        let others: Vec<_> = (1..size).map(|index| scope.spawn(move || member(index))).collect();
        let own = member(0);
        let others = others.into_iter().map(|other| other.join().and_then(|end| end));
        others.chain([own]).collect::<Vec<_>>()
    });
    if let Some(panic) = ends.into_iter().filter_map(Result::err).find(|panic| !panic.is::<OtherPanicked>()) {
        resume_unwind(panic);
    }
}

/// A slice that several threads read and write, each place by one thread between two waits.
pub struct Shared<'a, T>(&'a [UnsafeCell<T>]);

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

// SAFETY: access goes through `get` and `get_mut`, whose callers promise that no place is written by one thread while
// another one uses it.
unsafe impl<T: Send + Sync> Sync for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Send for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Takes a slice over for as long as it is shared.
    pub fn new(slice: &'a mut [T]) -> Self {
        // SAFETY: `UnsafeCell<T>` has the layout of `T`, and the exclusive borrow is held for 'a.
        Self(unsafe { &*(std::ptr::from_mut(slice) as *const [UnsafeCell<T>]) })
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no places.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a place.
    ///
    /// # Safety
    /// No thread writes this place between the waits around the call.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline(always)]
    pub unsafe fn get(&self, index: usize) -> &'a T {
        // SAFETY: the caller promises that nobody writes it.
        unsafe { &*self.0[index].get() }
    }

    /// Writes a place.
    ///
    /// # Safety
    /// No other thread uses this place between the waits around the call, and the caller holds no other reference to it.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline(always)]
    pub unsafe fn get_mut(&self, index: usize) -> &'a mut T {
        // SAFETY: the caller promises that it is the only one.
        unsafe { &mut *self.0[index].get() }
    }

    /// The address of the first place, for loops that check their bounds once. Using it asks for the same promises as
    /// [`Self::get`] and [`Self::get_mut`].
    #[inline(always)]
    pub fn pointer(&self) -> *mut T {
        UnsafeCell::raw_get(self.0.as_ptr())
    }

    /// All places, for reading.
    ///
    /// # Safety
    /// No thread writes any place while the slice is used.
    pub unsafe fn slice(&self) -> &'a [T] {
        // SAFETY: `UnsafeCell<T>` has the layout of `T`; the caller promises that nobody writes.
        unsafe { &*(std::ptr::from_ref(self.0) as *const [T]) }
    }

    /// All places, for writing.
    ///
    /// # Safety
    /// No other thread uses any place while the slice is used.
    pub unsafe fn slice_mut(&self) -> &'a mut [T] {
        // SAFETY: the caller promises that it is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.len()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What work that is to panic says, found out with a time limit: without one, a thread that never ends would keep the
    /// test from failing.
    pub(crate) fn said_within_a_minute(work: impl FnOnce() + Send + 'static) -> String {
        let (tell, hear) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(catch_unwind(AssertUnwindSafe(work))));
        let end = hear.recv_timeout(std::time::Duration::from_secs(60)).expect("it hangs");
        let panic = end.expect_err("it panics");
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).expect("it has a text")
    }

    #[test]
    fn every_member_sees_what_the_others_wrote_before_the_wait() {
        for size in [1, 2, 5] {
            let mut numbers = vec![0_usize; 1000];
            let shared = Shared::new(&mut numbers);
            run(size, |member| {
                for round in 1..=50 {
                    for index in member.share(shared.len()) {
                        // SAFETY: shares don't overlap, and nobody reads before the wait.
                        unsafe { *shared.get_mut(index) = round * index };
                    }
                    member.wait();
                    // SAFETY: nobody writes before the next wait.
                    let total: usize = unsafe { shared.slice() }.iter().sum();
                    assert_eq!(total, round * 999 * 1000 / 2);
                    member.wait();
                }
            });
        }
    }

    #[test]
    fn when_a_member_panics_the_others_leave_and_the_panic_goes_on() {
        for size in [2, 4] {
            for (member, round) in [(0, 0), (size - 1, 7)] {
                let said = said_within_a_minute(move || {
                    run(size, |own| {
                        for now in 0..20 {
                            assert!((own.index(), now) != (member, round), "member {member} broke");
                            own.wait();
                        }
                    });
                });
                assert_eq!(said, format!("member {member} broke"), "{size} members");
            }
        }
    }
}
