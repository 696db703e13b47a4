//! Global allocator that tracks memory use and reports out-of-memory errors.
//!
//! The library does not register it: a dependent program keeps its own allocator, and nothing is tracked. Running out of memory
//! ends the process with a message.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Minimum size of a tracked allocation, in bytes.
const LARGE: usize = 1024;

/// Bytes in tracked allocations, and their peak since the start of [`measure_peak`].
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Returns the memory in tracked allocations, in bytes. Allocations below 1 KiB are not tracked.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Runs `work` and returns its peak memory use above the level at its start, in bytes, along with its result. Allocations by other
/// threads count too.
pub fn measure_peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = in_use();
    PEAK.store(before, Ordering::Relaxed);
    let done = work();
    (PEAK.load(Ordering::Relaxed).saturating_sub(before), done)
}

/// System allocator with tracking. A program registers it as its `#[global_allocator]`.
pub struct TrackingAllocator;

/// Records an allocation. Ends the process if it failed.
fn record_allocation(piece: *mut u8, bytes: usize) -> *mut u8 {
    if piece.is_null() {
        let right = "choose a smaller map or close other programs";
        let message = format_args!("thalweg: out of memory: an allocation of {bytes} bytes failed; {right}\n");
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), message);
        std::process::exit(2);
    }
    if bytes >= LARGE {
        let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
    piece
}

/// Minimum size of an allocation for which 2 MiB pages are requested, in bytes. Particles access large grids at random, and the TLB
/// holds a few thousand pages.
#[cfg(target_os = "linux")]
const HUGE: usize = 4 * PAGE;
#[cfg(target_os = "linux")]
const PAGE: usize = 1 << 21;

/// Requests huge pages for a large allocation, which the kernel may refuse.
#[cfg(target_os = "linux")]
fn request_huge_pages(piece: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= HUGE && !piece.is_null() {
        let first = piece.wrapping_add(piece.align_offset(PAGE));
        let last = piece.wrapping_add(bytes);
        let last = last.wrapping_sub(last.addr() % PAGE);
        // SAFETY: the pages lie inside the allocation, and the call leaves their contents unchanged.
        unsafe { libc::madvise(first.cast(), last.addr() - first.addr(), libc::MADV_HUGEPAGE) };
    }
    piece
}

#[cfg(not(target_os = "linux"))]
fn request_huge_pages(piece: *mut u8, _: usize) -> *mut u8 {
    piece
}

/// Records a deallocation.
fn record_deallocation(bytes: usize) {
    if bytes >= LARGE {
        IN_USE.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded to the system allocator unchanged.
unsafe impl GlobalAlloc for TrackingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        record_allocation(request_huge_pages(unsafe { System.alloc(layout) }, layout.size()), layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        record_allocation(request_huge_pages(unsafe { System.alloc_zeroed(layout) }, layout.size()), layout.size())
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        let piece = record_allocation(request_huge_pages(unsafe { System.realloc(piece, layout, size) }, size), size);
        record_deallocation(layout.size());
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        record_deallocation(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(piece, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocator_tracks_large_allocations_until_they_are_freed() {
        let layout = Layout::from_size_align(LARGE, 64).expect("the alignment is a power of two");
        let before = in_use();
        // SAFETY: the size is not zero.
        let piece = unsafe { TrackingAllocator.alloc_zeroed(layout) };
        assert_eq!(in_use() - before, LARGE);
        // SAFETY: the piece has this layout, and the new size is not zero.
        let piece = unsafe { TrackingAllocator.realloc(piece, layout, 3 * LARGE) };
        assert_eq!(in_use() - before, 3 * LARGE);
        let larger = Layout::from_size_align(3 * LARGE, 64).expect("the alignment is a power of two");
        // SAFETY: the first bytes of the piece are initialised.
        let first = unsafe { piece.read() };
        assert_eq!(first, 0);
        // SAFETY: the piece has this layout now.
        unsafe { TrackingAllocator.dealloc(piece, larger) };
        assert_eq!(in_use(), before);
    }
}
