//! Breakdown of the frame time on this machine, in milliseconds.
//!
//! `cargo bench --bench frame` prints the table that `thalweg --bench-frames` prints and saves; `docs/window.md` explains its
//! columns.

use thalweg::app::frames;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("frames.json");
    frames::bench(&file, &mut |line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
}
