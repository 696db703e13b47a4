//! The allocator of the program: it counts the memory that is in use, and says so in a sentence when there is none left.
//!
//! The library does not set it, so that a program that uses the library has its own; then nothing is counted. Nothing that a
//! person could do goes on after memory has run out, so the program ends there.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Pieces from this size on, in bytes, are counted.
const LARGE: usize = 1024;

/// Bytes of all large pieces that are in use, and the most that were since [`most_in_use`] began.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Memory that the program has in use, in bytes. Small pieces are not counted.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// The most memory that some work had in use besides what there was before, in bytes, and what came of it. What other
/// threads do meanwhile is counted too.
pub fn most_in_use<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = in_use();
    MOST.store(before, Ordering::Relaxed);
    let done = work();
    (MOST.load(Ordering::Relaxed).saturating_sub(before), done)
}

/// The system's allocator, which counts. A program sets it as its `#[global_allocator]`.
pub struct Counting;

/// Counts a piece that was taken.
fn taken(piece: *mut u8, bytes: usize) -> *mut u8 {
    if piece.is_null() {
        let right = "choose a smaller size, or end other programs";
        let said = format_args!("thalweg: the system has no {bytes} bytes of memory left; {right}\n");
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), said);
        std::process::exit(2);
    }
    if bytes >= LARGE {
        let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        MOST.fetch_max(now, Ordering::Relaxed);
    }
    piece
}

/// Counts a piece that is given back.
fn given_back(bytes: usize) {
    if bytes >= LARGE {
        IN_USE.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        taken(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        taken(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as promised by the caller.
        let piece = taken(unsafe { System.realloc(piece, layout, size) }, size);
        given_back(layout.size());
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(piece, layout) }
    }
}
