//! Skipping of tests that this machine cannot run.

use std::{env, io, io::Write};

/// Prints why a test was skipped, past the output capture of the harness. Fails if the environment variable `unless` requires the
/// test.
pub fn skipped(why: &str, unless: &str) {
    assert!(env::var_os(unless).is_none(), "{unless} is set, but {why}");
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}
