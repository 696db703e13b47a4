//! What every process has: parameters, factors by which the mask scales some of them, and counts.

use bevy_reflect::structs::Struct;

use super::{
    Mode,
    limiter::LimiterCount,
    masked::{Masked, NoFactors},
};
use crate::core::terrain::Terrain;

/// Parameters, mask factors and counts of a process.
#[derive(Clone, Debug, Default)]
pub struct Setup<P, F = NoFactors> {
    /// Its parameters: a flat struct whose fields each have a [`Knob`](crate::params::Knob).
    pub params: P,
    /// Factors by which the mask scales some of them: see [`masked`](super::masked).
    pub factors: F,
    /// Counts since the start.
    pub counts: Counts,
    /// How often each limiter was applied.
    limiter_counts: Vec<LimiterCount>,
    /// Simulated time of the last tick, in seconds.
    pub elapsed: f64,
}

impl<P: Struct + Clone, F: Struct + Default> Setup<P, F> {
    /// Parameters, with all else at its default.
    pub fn with(params: P) -> Self {
        Self { params, factors: F::default(), counts: Counts::default(), limiter_counts: Vec::new(), elapsed: 0.0 }
    }

    /// Returns what the mask makes of the parameters; `None` as published, and where the mask changes nothing.
    pub fn masked(&self, terrain: &Terrain, mode: Mode) -> Option<Masked<P>> {
        Masked::of(terrain, mode, &self.params, &self.factors)
    }

    /// Sets the simulated time of a tick, in seconds, and adds it to the count.
    pub fn elapse(&mut self, seconds: f64) {
        self.counts.seconds += seconds;
        self.elapsed = seconds;
    }

    /// Counts how often each limiter was applied in a part of a tick, in the order of [`Info::limiters`](super::Info::limiters).
    pub fn count_limits<const N: usize>(&mut self, times: [u64; N]) {
        self.limiter_counts.resize(N, LimiterCount::default());
        for (count, times) in self.limiter_counts.iter_mut().zip(times) {
            count.last += times;
            count.all += times;
            self.counts.limited += times;
        }
    }
}

/// A [`Setup`] of any process.
pub trait AnySetup {
    /// The parameters.
    fn params(&self) -> &dyn Struct;
    /// The parameters, and the factors by which the mask scales some of them.
    fn settings(&self) -> [&dyn Struct; 2];
    /// Both, to be changed between ticks.
    fn settings_mut(&mut self) -> [&mut dyn Struct; 2];
    /// Counts since the start.
    fn counts(&self) -> Counts;
    /// The counts, to be restored.
    fn counts_mut(&mut self) -> &mut Counts;
    /// How often each limiter was applied; a limiter beyond the end never was.
    fn limiter_counts(&self) -> &[LimiterCount];
    /// Forgets how often limiters were applied in the last tick.
    fn begin_tick(&mut self);
    /// Simulated time of the last tick, in seconds; 0 if the process has no clock.
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

    fn counts(&self) -> Counts {
        self.counts
    }

    fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn limiter_counts(&self) -> &[LimiterCount] {
        &self.limiter_counts
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
pub struct Counts {
    /// Steps within ticks: particle steps, or sub-steps of a grid scheme.
    pub substeps: u64,
    /// Particles that have run; 0 for a grid scheme.
    pub particles: u64,
    /// How often limiters were applied, all together.
    pub limited: u64,
    /// Simulated time, in seconds.
    pub seconds: f64,
}
