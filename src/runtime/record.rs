//! How the chosen run has gone so far: numbers of the terrain, and a series of samples for plots.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{Live, Revision};
use crate::sim::statistics::Statistics;

/// More samples than this are thinned out to half.
const MOST_SAMPLES: usize = 1024;

/// The ledger at a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Finished ticks.
    pub tick: u64,
    /// Taken off the ground so far, in cubic metres.
    pub eroded: f64,
    /// Laid down so far, in cubic metres.
    pub deposited: f64,
    /// Gone over the border so far, in cubic metres.
    pub outflow: f64,
}

/// What is known of the chosen run so far.
#[derive(Resource, Clone, Debug, Default)]
pub struct Record {
    /// Of the terrain as it was when last measured.
    pub statistics: Statistics,
    /// The ledger over time, the oldest first.
    pub samples: Vec<Sample>,
    /// Whether somebody looks at the statistics: only then they are measured.
    pub wanted: bool,
    measured: Option<(Instant, Revision, usize)>,
}

impl Record {
    fn add(&mut self, sample: Sample) {
        if self.samples.last().is_some_and(|last| last.tick > sample.tick) {
            self.samples.clear();
        }
        if self.samples.last().is_none_or(|last| last.tick < sample.tick) {
            self.samples.push(sample);
        }
        if self.samples.len() > MOST_SAMPLES {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }
}

/// Follows the chosen run.
pub(super) fn sample(live: Res<Live>, revision: Res<Revision>, mut record: ResMut<Record>) {
    if !revision.is_changed() || !live.between_ticks() {
        // The last state is measured too, once it stands still.
        if !record.wanted || record.measured.is_some_and(|(_, seen, index)| (seen, index) == (*revision, live.index()))
        {
            return;
        }
    }
    let simulation = &live.chosen().simulation;
    if !simulation.between_ticks() {
        return;
    }
    if record.measured.is_some_and(|(.., index)| index != live.index()) {
        record.samples.clear();
    }
    let solid = &simulation.ledger.solid;
    record.add(Sample {
        tick: simulation.ticks(),
        eroded: solid.sum(|row| row.eroded),
        deposited: solid.sum(|row| row.deposited),
        outflow: solid.sum(|row| row.outflow),
    });
    let due = record
        .measured
        .is_none_or(|(when, _, index)| index != live.index() || when.elapsed() > Duration::from_millis(400));
    if record.wanted && due {
        record.statistics = Statistics::of(&simulation.terrain);
        record.measured = Some((Instant::now(), *revision, live.index()));
    }
}
