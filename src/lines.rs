//! Memory for layers and rows of cells: what is large begins at a cache line and is counted.
//!
//! A vector unit takes a cache line at once. Where a row begins in the middle of one, every load and store touches two, and
//! a step of the water takes about an eighth longer. Rust's `Vec` has no way to ask for more, so the allocator gives it. The
//! price: a large piece is copied when it grows, and one of zeros is cleared at once.
//!
//! Nothing that a person could do goes on after memory has run out, so the program ends there with a sentence.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Bytes of all large pieces that are in use, and the most that were since somebody began to watch.
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

/// Counts a piece that was taken.
fn taken(piece: *mut u8, layout: Layout) -> *mut u8 {
    if piece.is_null() {
        let bytes = layout.size();
        let right = "choose a smaller size, or end other programs";
        let said = format_args!("thalweg: the system has no {bytes} bytes of memory left; {right}\n");
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), said);
        std::process::exit(2);
    }
    if layout.size() >= LARGE {
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
    }
    piece
}

/// The system's allocator, with large pieces at cache lines.
struct Lines;

#[global_allocator]
static LINES: Lines = Lines;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Pieces from this size on, in bytes, begin at one.
const LARGE: usize = 1024;

/// The layout that is asked of the system. It depends on the layout alone, so that a piece is given back as it was taken.
fn aligned(layout: Layout) -> Layout {
    if layout.size() < LARGE {
        return layout;
    }
    // Sizes near the end of the address space keep their alignment.
    layout.align_to(LINE).unwrap_or(layout)
}

// SAFETY: every call goes to the system's allocator with a layout of the same size and at least the same alignment, and
// the same one for a piece each time.
unsafe impl GlobalAlloc for Lines {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        taken(unsafe { System.alloc(aligned(layout)) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        taken(unsafe { System.alloc_zeroed(aligned(layout)) }, layout)
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < LARGE {
            // SAFETY: as promised by the caller; neither size changes the layout.
            return taken(unsafe { System.realloc(piece, layout, size) }, layout);
        }
        // SAFETY: as promised by the caller, the size is not nought and does not overflow with this alignment; the old piece
        // was taken with its layout, both are as large as what is copied, and they don't overlap.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            std::ptr::copy_nonoverlapping(piece, new, layout.size().min(size));
            self.dealloc(piece, layout);
            new
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: as promised by the caller; it was taken with this layout.
        unsafe { System.dealloc(piece, aligned(layout)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pieces_begin_at_a_cache_line_and_keep_what_is_in_them_when_they_grow() {
        for count in [1_usize, 255, 256, 257, 5000, 1 << 20] {
            let layers = [vec![0.0_f32; count], vec![1.5; count], Vec::with_capacity(count)];
            for layer in &layers {
                assert!(count < 256 || layer.as_ptr().addr() % LINE == 0, "{count} numbers");
            }
        }
        let mut grows: Vec<u32> = Vec::new();
        (0..100_000).for_each(|number| grows.push(number));
        grows.shrink_to(10);
        assert!(grows.iter().copied().eq(0..100_000));
        grows.truncate(3);
        grows.shrink_to_fit();
        assert_eq!(grows, [0, 1, 2]);
    }
}
