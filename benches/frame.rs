//! Where the time of a frame goes on this machine, in milliseconds.
//!
//! `cargo bench --bench frame` prints what `thalweg --bench-frames` prints and writes to a file: `docs/window.md` says what the columns
//! are.

use thalweg::app::frames;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("frames.json");
    frames::bench(&file, &mut |line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
}
