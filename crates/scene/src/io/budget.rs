//! Memory budget of the program, checked before every large allocation.
//!
//! A request is compared with the current memory use as counted by the allocator (simulations, undo steps, the timeline), so no
//! separate bookkeeping is needed. Memory allocated by a graphics driver is not counted.

use std::{
    fmt,
    path::Path,
    str::FromStr,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::Error;
use crate::allocator::in_use;

/// Amount of memory in bytes, usually the amount that the program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u64);

/// Source of the budget. The command line takes precedence over the user's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BudgetSource {
    CommandLine,
    Settings,
}

/// Budget set by each [`BudgetSource`], in bytes; 0 if unset.
static CONFIGURED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

impl Budget {
    /// Creates a budget of this many bytes.
    pub const fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the budget that was set, or else half of the memory of the machine or of its cgroup limit.
    pub fn present() -> Self {
        static HALF: OnceLock<u64> = OnceLock::new();
        let configured = CONFIGURED.iter().map(|limit| limit.load(Ordering::Relaxed)).find(|bytes| *bytes > 0);
        Self(configured.unwrap_or_else(|| *HALF.get_or_init(|| memory() / 2)))
    }

    /// Sets the budget of one source; `None` removes it.
    pub fn set(by: BudgetSource, budget: Option<Self>) {
        CONFIGURED[by as usize].store(budget.map_or(0, |budget| budget.0), Ordering::Relaxed);
    }

    /// Returns the memory that the program uses now.
    pub fn in_use() -> Self {
        Self(in_use() as u64)
    }

    /// Requests memory, in bytes, on behalf of the file or scene that needs it. Insufficient memory is an input error, as a smaller
    /// input would fit.
    pub fn request(self, path: &Path, bytes: u64) -> Result<(), Error> {
        self.grant(path, bytes, in_use() as u64)
    }

    /// Returns the amount in megabytes, rounded up.
    pub fn megabytes(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Returns the number of allocations of `bytes` that still fit into the budget.
    pub fn times(self, bytes: u64) -> usize {
        (self.0.saturating_sub(in_use() as u64) / bytes.max(1)) as usize
    }

    fn grant(self, path: &Path, bytes: u64, in_use: u64) -> Result<(), Error> {
        let left = self.0.saturating_sub(in_use);
        if bytes <= left {
            return Ok(());
        }
        let (needs, left) = (Budget(bytes), Budget(left));
        Err(Error::input(
            path,
            format!("needs {needs} of memory, but only {left} of the {self} limit is free"),
            "choose a smaller size, or raise the limit with --memory or in the settings",
        ))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match bytes {
            1e9.. => write!(f, "{:.1} GB", bytes / 1e9),
            1e6.. => write!(f, "{:.0} MB", bytes / 1e6),
            _ => write!(f, "{:.0} kB", bytes / 1e3),
        }
    }
}

impl FromStr for Budget {
    type Err = &'static str;

    /// Parses `2G`, `1.5 GB` or `800M`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RIGHT: &str = "expected a number followed by M, G or T, for example 800M or 2G";
        let text = text.trim().trim_end_matches(['b', 'B']);
        let unit = text.chars().last().ok_or(RIGHT)?;
        let scale = match unit.to_ascii_uppercase() {
            'M' => 1e6,
            'G' => 1e9,
            'T' => 1e12,
            _ => return Err(RIGHT),
        };
        let number: f64 = text[..text.len() - 1].trim().parse().map_err(|_| RIGHT)?;
        let bytes = number * scale;
        if (1e6..=1e18).contains(&bytes) { Ok(Self(bytes as u64)) } else { Err(RIGHT) }
    }
}

/// Returns the memory of the machine or its cgroup limit, in bytes.
fn memory() -> u64 {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kind);
    // Without /proc, for instance, the total is unknown.
    if system.total_memory() == 0 {
        return u64::MAX;
    }
    // A container may have a lower limit than the machine.
    let allowed = system.cgroup_limits().map(|limits| limits.total_memory).filter(|bytes| *bytes > 0);
    allowed.unwrap_or(u64::MAX).min(system.total_memory())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_request_is_checked_against_usage() {
        assert!(memory() > 1 << 28, "{}", memory());
        let (budget, path) = (Budget::of(2_000_000_000), Path::new("hills.png"));
        assert_eq!(budget.grant(path, 1_500_000_000, 500_000_000), Ok(()));
        let error = budget.grant(path, 1_500_000_000, 600_000_000).expect_err("it is too much");
        let expected = "hills.png: needs 1.5 GB of memory, but only 1.4 GB of the 2.0 GB limit is free; ";
        assert!(error.exit_code() == 2 && error.to_string().starts_with(expected), "{error}");
        assert!(budget.request(path, u64::MAX).is_err());
    }

    #[test]
    fn memory_sizes_parse_with_common_suffixes() {
        for (text, bytes) in [("2G", 2_000_000_000), ("1.5 GB", 1_500_000_000), ("800m", 800_000_000)] {
            assert_eq!(text.parse(), Ok(Budget::of(bytes)), "{text}");
        }
        for text in ["", "G", "2", "2K", "-1G", "nanG", "1e30T", "0M", "µ"] {
            assert!(text.parse::<Budget>().is_err(), "{text}");
        }
    }
}
