//! Parameters, mask factors and counts of a process.

use bevy_reflect::structs::Struct;

use super::{
    Mode,
    limiter::LimiterCount,
    masked::{MaskedParams, NoFactors},
};
use crate::core::terrain::Terrain;

/// Parameters, mask factors and counts of a process.
#[derive(Clone, Debug, Default)]
pub struct Setup<P, F = NoFactors> {
    /// Parameters: a flat struct whose fields each have a [`Knob`](crate::params::Knob).
    pub params: P,
    /// Mask factors of some of the parameters: see [`masked`](super::masked).
    pub factors: F,
    /// Counts since the start.
    pub counts: ProcessCounts,
    /// Counts of each limiter.
    limiter_counts: Vec<LimiterCount>,
    /// Simulated time of the last tick, in seconds.
    pub elapsed: f64,
}

impl<P: Struct + Clone, F: Struct + Default> Setup<P, F> {
    /// Creates a setup with these parameters and defaults for everything else.
    pub fn with(params: P) -> Self {
        Self {
            params,
            factors: F::default(),
            counts: ProcessCounts::default(),
            limiter_counts: Vec::new(),
            elapsed: 0.0,
        }
    }

    /// Returns the masked parameters; `None` in published mode and if the mask has no effect.
    pub fn masked_params(&self, terrain: &Terrain, mode: Mode) -> Option<MaskedParams<P>> {
        MaskedParams::of(terrain, mode, &self.params, &self.factors)
    }

    /// Returns the masked parameters and the mask in a cell; `None` in published mode and if the mask has no effect.
    pub fn masked_params_at(&self, terrain: &Terrain, mode: Mode, place: [usize; 2]) -> Option<(P, f32)> {
        MaskedParams::at(terrain, mode, &self.params, &self.factors, place)
    }

    /// Sets the simulated time of a tick, in seconds, and adds it to the count.
    pub fn elapse(&mut self, seconds: f64) {
        self.counts.seconds += seconds;
        self.elapsed = seconds;
    }

    /// Adds the applications of each limiter in a part of a tick, in the order of [`Info::limiters`](super::Info::limiters).
    pub fn count_limits<const N: usize>(&mut self, times: [u64; N]) {
        self.add_limits(&times);
    }
}

/// Type-erased [`Setup`] of a process.
pub trait AnySetup {
    /// Returns the parameters.
    fn params(&self) -> &dyn Struct;
    /// Returns the parameters and mask factors.
    fn settings(&self) -> [&dyn Struct; 2];
    /// Returns the parameters and mask factors mutably. They may change between ticks.
    fn settings_mut(&mut self) -> [&mut dyn Struct; 2];
    /// Returns the counts since the start.
    fn counts(&self) -> ProcessCounts;
    /// Returns the counts mutably, to be restored.
    fn counts_mut(&mut self) -> &mut ProcessCounts;
    /// Returns the counts of each limiter; those beyond the end are 0.
    fn limiter_counts(&self) -> &[LimiterCount];
    /// Adds the applications of each limiter in a part of a tick.
    fn add_limits(&mut self, times: &[u64]);
    /// Resets the limiter counts of the last tick.
    fn begin_tick(&mut self);
    /// Returns the simulated time of the last tick, in seconds; 0 if the process has no clock.
    fn elapsed(&self) -> f64;
}

impl<P: Struct, F: Struct> AnySetup for Setup<P, F> {
    fn params(&self) -> &dyn Struct {
        &self.params
    }

    fn settings(&self) -> [&dyn Struct; 2] {
        [&self.params, &self.factors]
    }

    fn settings_mut(&mut self) -> [&mut dyn Struct; 2] {
        [&mut self.params, &mut self.factors]
    }

    fn counts(&self) -> ProcessCounts {
        self.counts
    }

    fn counts_mut(&mut self) -> &mut ProcessCounts {
        &mut self.counts
    }

    fn limiter_counts(&self) -> &[LimiterCount] {
        &self.limiter_counts
    }

    fn add_limits(&mut self, times: &[u64]) {
        self.limiter_counts.resize(times.len(), LimiterCount::default());
        for (count, times) in self.limiter_counts.iter_mut().zip(times) {
            count.last += times;
            count.all += times;
            self.counts.limiter_applications += times;
        }
    }

    fn begin_tick(&mut self) {
        self.limiter_counts.iter_mut().for_each(|count| count.last = 0);
    }

    fn elapsed(&self) -> f64 {
        self.elapsed
    }
}

/// Counts of a process since the start of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessCounts {
    /// Particle steps, or sub-steps of a grid scheme.
    pub substeps: u64,
    /// Particles simulated; 0 for a grid scheme.
    pub particles: u64,
    /// Applications of all limiters together.
    pub limiter_applications: u64,
    /// Simulated time, in seconds.
    pub seconds: f64,
}
