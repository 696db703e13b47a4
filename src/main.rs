//! Parses the command line and opens the window or runs headless.

use std::process::ExitCode;

fn main() -> ExitCode {
    thalweg::headless::run(|_| Err("there is no window yet".to_owned()))
}
