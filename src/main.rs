//! Parses the command line and opens the window or runs headless.

use std::process::ExitCode;

use thalweg::{allocator::Counting, app, headless};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    headless::run(headless::Graphics {
        window: app::window::open,
        picture: app::off_screen::shot,
        film: app::film::shoot,
        frames: app::off_screen::play,
        bench_frames: |file, say| app::frames::bench(file, say),
    })
}
