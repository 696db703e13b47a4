//! Limiters, which keep a scheme stable where its law alone does not. Each application is counted and shown.

/// A limiter of a process.
#[derive(Clone, Copy, Debug)]
pub struct Limiter {
    /// Short name: what was limited.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
}

/// How often a limiter was applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimiterCount {
    /// In the last tick.
    pub last: u64,
    /// Since the simulation began or was restored.
    pub all: u64,
}
