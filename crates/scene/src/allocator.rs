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

/// Pieces from this size on, in bytes, are asked for in pages of 2 MiB: particles come to places all over them, and the processor keeps
/// the addresses of a few thousand pages at hand.
#[cfg(target_os = "linux")]
const HUGE: usize = 4 * PAGE;
#[cfg(target_os = "linux")]
const PAGE: usize = 1 << 21;

/// Asks the system for large pages, which it may refuse.
#[cfg(target_os = "linux")]
fn in_large_pages(piece: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= HUGE && !piece.is_null() {
        let first = piece.wrapping_add(piece.align_offset(PAGE));
        let last = piece.wrapping_add(bytes);
        let last = last.wrapping_sub(last.addr() % PAGE);
        // SAFETY: the pages belong to the piece as a whole; what is in them stays.
        unsafe { libc::madvise(first.cast(), last.addr() - first.addr(), libc::MADV_HUGEPAGE) };
    }
    piece
}

#[cfg(not(target_os = "linux"))]
fn in_large_pages(piece: *mut u8, _: usize) -> *mut u8 {
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
        taken(in_large_pages(unsafe { System.alloc(layout) }, layout.size()), layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        taken(in_large_pages(unsafe { System.alloc_zeroed(layout) }, layout.size()), layout.size())
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as promised by the caller.
        let piece = taken(in_large_pages(unsafe { System.realloc(piece, layout, size) }, size), size);
        given_back(layout.size());
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(piece, layout) }
    }
}
