//! State of a simulation other than layers and parameters, saved so that it resumes exactly where it stopped.

use crate::process::ProcessCounts;

/// Value that a process keeps from tick to tick. The same list serves for saving and restoring.
pub enum StateValue<'a> {
    /// One number per cell or face; the length depends on the terrain alone.
    Cells(&'a mut [f32]),
    /// A number.
    Number(&'a mut f64),
    /// An integer.
    Count(&'a mut u64),
}

/// State of a process by name. Names are unique within the process.
pub type NamedValues<'a> = Vec<(&'static str, StateValue<'a>)>;

impl ProcessCounts {
    /// Returns the counts as state to be saved.
    pub fn state_values(&mut self) -> NamedValues<'_> {
        vec![
            ("substeps", StateValue::Count(&mut self.substeps)),
            ("particles", StateValue::Count(&mut self.particles)),
            ("guards", StateValue::Count(&mut self.limiter_applications)),
            ("seconds", StateValue::Number(&mut self.seconds)),
        ]
    }
}
