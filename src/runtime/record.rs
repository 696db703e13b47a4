//! How the chosen run has gone so far: numbers of the terrain, and a series of samples for plots.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Live, Revision};
use crate::sim::{
    ledger::Ledger,
    statistics::Statistics,
    terrain::{Layer, Matter, Terrain},
    totals::Totals,
};

/// More samples than this are thinned out to half.
const MOST_SAMPLES: usize = 1024;

/// The ledger at a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LedgerSample {
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
    pub samples: Vec<LedgerSample>,
    /// Whether the statistics are seen: only then they are measured.
    pub wanted: bool,
    /// Solid and water on the map after the last finished tick, in cubic metres.
    pub volumes: [f64; 2],
    totals: BTreeMap<Layer, Totals>,
    /// The ledger of the same moment.
    pub ledger: Ledger,
    seen: Option<(Revision, usize)>,
    measured: Option<(Revision, usize)>,
    /// Not measured again before this.
    rest: Option<Instant>,
}

impl Record {
    /// What the layers of a matter hold, in cubic metres.
    fn volume(&mut self, terrain: &Terrain, matter: Matter) -> f64 {
        let layers = terrain.layers().filter(|(layer, _)| layer.row().matter == matter);
        let totals = layers.map(|(layer, grid)| self.totals.entry(layer).or_default().of(grid));
        totals.sum::<f64>() * terrain.cell_area()
    }

    fn add(&mut self, sample: LedgerSample) {
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
    let simulation = &live.chosen().simulation;
    let run = (revision.start, live.index());
    let fresh = record.seen != Some((*revision, live.index()));
    let due = record.wanted && record.measured != Some((*revision, live.index()));
    if !simulation.between_ticks() || !(fresh || due) {
        return;
    }
    // Curves of another run don't go on.
    if record.seen.is_none_or(|(seen, index)| (seen.start, index) != run) {
        record.samples.clear();
        record.rest = None;
    }
    if fresh {
        record.seen = Some((*revision, live.index()));
        record.volumes = [Matter::Solid, Matter::Water].map(|matter| record.volume(&simulation.terrain, matter));
        record.ledger = simulation.ledger.clone();
        let solid = &simulation.ledger.solid;
        record.add(LedgerSample {
            tick: simulation.ticks(),
            eroded: solid.sum(|row| row.eroded),
            deposited: solid.sum(|row| row.deposited),
            outflow: solid.sum(|row| row.outflow),
        });
    }
    // A large map takes long to measure, and is measured less often.
    if due && record.rest.is_none_or(|until| Instant::now() > until) {
        let begun = Instant::now();
        record.statistics = Statistics::of(&simulation.terrain);
        record.measured = Some((*revision, live.index()));
        record.rest = Some(Instant::now() + Duration::from_millis(400).max(begun.elapsed() * 20));
    }
}
