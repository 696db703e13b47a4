//! Guards: limits that keep a scheme sound where its law alone would not. Whenever one acts, that is counted and shown.

/// A guard of a process.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// Short name: what was limited.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
}

/// How often a guard acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acted {
    /// In the last tick.
    pub last: u64,
    /// Since the run began or was taken up.
    pub all: u64,
}
