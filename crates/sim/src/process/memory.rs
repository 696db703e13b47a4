//! What a run remembers besides layers and parameters, so that it can be written down and go on as if it had never stopped.

use crate::process::Counts;

/// A value that a process keeps from tick to tick. The same list of them serves to write it down and to read it back.
pub enum Memory<'a> {
    /// One number per cell or face, of a size that the terrain alone decides.
    Cells(&'a mut [f32]),
    /// A number.
    Number(&'a mut f64),
    /// A whole number.
    Count(&'a mut u64),
}

/// What a process keeps, by names that are its own.
pub type Memories<'a> = Vec<(&'static str, Memory<'a>)>;

impl Counts {
    /// The counts as what is remembered.
    pub fn memories(&mut self) -> Memories<'_> {
        vec![
            ("substeps", Memory::Count(&mut self.substeps)),
            ("particles", Memory::Count(&mut self.particles)),
            ("guards", Memory::Count(&mut self.limited)),
            ("seconds", Memory::Number(&mut self.seconds)),
        ]
    }
}
