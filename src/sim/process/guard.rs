//! Guards: limits that keep a scheme sound where its law alone would not. Whenever one acts, that is counted and shown.

use super::Counts;

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

/// The guards of a process, each with how often it acted.
pub type Guards = Vec<(Guard, Acted)>;

impl Counts {
    /// Counts what guards did in a part of a tick: how often each acted.
    pub fn note<const N: usize>(&mut self, acted: &mut [Acted; N], times: [u64; N]) {
        for (acted, times) in acted.iter_mut().zip(times) {
            acted.last += times;
            acted.all += times;
            self.guards += times;
        }
    }
}

/// Forgets what guards did in the last tick, as another begins.
pub fn begin(acted: &mut [Acted]) {
    acted.iter_mut().for_each(|acted| acted.last = 0);
}

/// Guards and how often each acted, side by side.
pub fn list(guards: &[Guard], acted: &[Acted]) -> Guards {
    guards.iter().copied().zip(acted.iter().copied()).collect()
}
