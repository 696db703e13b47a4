//! How a test says that this machine cannot make it.

use std::{env, io, io::Write};

/// Says why a test was skipped, past the harness, which keeps to itself what a passing test prints. Fails where the variable
/// of this name demands the test.
pub fn skipped(why: &str, unless: &str) {
    assert!(env::var_os(unless).is_none(), "{unless} is set, but {why}");
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}
