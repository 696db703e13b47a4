//! Parses the command line and opens the window, or runs without one.

use std::process::ExitCode;

use thalweg_cli::Graphics;
use thalweg_scene::allocator::TrackingAllocator;

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

fn main() -> ExitCode {
    thalweg_cli::run(graphics())
}

#[cfg(feature = "window")]
fn graphics() -> Option<Graphics> {
    use thalweg::app;
    Some(Graphics {
        window: app::window::open,
        screenshot: app::off_screen::render_screenshot,
        film: app::film::render_video,
        frames: app::off_screen::play,
        bench_frames: |file, say| app::frames::bench(file, say),
    })
}

#[cfg(not(feature = "window"))]
fn graphics() -> Option<Graphics> {
    None
}
