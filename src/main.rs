//! Parses the command line and opens the window or runs headless.

use std::process::ExitCode;

use thalweg::{app, headless};

fn main() -> ExitCode {
    headless::run(headless::Graphics { window: app::open_window, picture: app::shot, frames: app::play })
}
