//! Where the time of a frame goes on this machine, in milliseconds.
//!
//! `cargo bench --bench frame` draws off-screen at 1280 × 800, as the window does, and prints what `thalweg --bench-frames` writes to a
//! file: `docs/window.md` says what the columns are.

use thalweg::app::frames;

fn main() {
    for (index, row) in frames::rows().enumerate() {
        if index == 0 {
            println!("{}", row.header());
        }
        println!("{}", row.line());
    }
}
