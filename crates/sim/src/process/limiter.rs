//! Limiters, which keep a scheme stable where its law alone would not. Each application is counted and displayed.

use crate::params::title;

/// A limiter of a process.
#[derive(Clone, Copy, Debug)]
pub struct Limiter {
    /// Short name of the limited quantity.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
}

impl Limiter {
    /// Returns the title. The name is a key in reports.
    pub fn title(&self) -> String {
        match self.name {
            "steady state" => "Unconverged steady states".to_owned(),
            "levels" => "Unconverged water levels".to_owned(),
            name => title(name),
        }
    }
}

/// Number of times that a limiter was applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimiterCount {
    /// In the last tick.
    pub last: u64,
    /// Since the simulation began or was restored.
    pub all: u64,
}
