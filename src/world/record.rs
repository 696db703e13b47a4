//! Time series of the selected simulation: statistics, ledger and dunes.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Revision, Simulations};
use thalweg_sim::{
    core::{
        ledger::Ledger,
        terrain::{Layer, Matter, Terrain},
        totals::Totals,
    },
    measure::{Dunes, statistics::Statistics},
    simulation::Simulation,
};

/// Number of samples above which every second one is dropped.
const MOST_SAMPLES: usize = 1024;
/// Distance in cells for measuring the celerity of dunes, and ticks after which slower dunes are measured.
const MIN_DISPLACEMENT: f64 = 1.5;
const MAX_TICKS_BETWEEN: u64 = 400;

/// Ledger at a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LedgerSample {
    /// Number of finished ticks.
    pub tick: u64,
    /// Eroded volume so far, in cubic metres.
    pub eroded: f64,
    /// Deposited volume so far, in cubic metres.
    pub deposited: f64,
    /// Volume that left across the boundary so far, in cubic metres.
    pub outflow: f64,
    /// Simulated time so far, in seconds.
    pub seconds: f64,
    /// Inflow of water from springs, rain and the sea so far, in cubic metres.
    pub water_in: f64,
    /// Outflow of water across the boundary and into drains so far, in cubic metres.
    pub water_out: f64,
}

/// Dunes at a tick. Lengths are in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DuneSample {
    /// Number of finished ticks.
    pub tick: u64,
    /// Mean height of crests above the adjacent troughs.
    pub height: f64,
    /// Height of the highest crest above the adjacent troughs.
    pub highest: f64,
    /// Mean distance between crests along the wind, if there are at least two.
    pub wavelength: Option<f64>,
    /// Celerity along the wind in metres per tick, if they have moved far enough to measure it.
    pub celerity: Option<f64>,
}

/// Time series of the selected simulation.
#[derive(Resource, Clone, Debug, Default)]
pub struct TimeSeries {
    /// Statistics of the terrain at the last measurement.
    pub statistics: Statistics,
    /// Ledger over time, the oldest first.
    pub samples: Vec<LedgerSample>,
    /// Dunes over time, the oldest first; empty without wind.
    pub dunes: Vec<DuneSample>,
    /// Reference for measuring the celerity, with its tick.
    dunes_before: Option<(u64, Dunes)>,
    /// `true` while the statistics are visible; otherwise they are not measured.
    pub wanted: bool,
    /// Volumes of solids and water on the map after the last finished tick, in cubic metres.
    pub volumes: [f64; 2],
    /// Suspended part of the solids, in cubic metres.
    pub suspended: f64,
    totals: BTreeMap<Layer, Totals>,
    /// Ledger at the same tick.
    pub ledger: Ledger,
    seen: Option<(Revision, usize)>,
    measured: Option<(Revision, usize)>,
    /// Earliest time of the next measurement.
    rest: Option<Instant>,
}

impl TimeSeries {
    /// Returns the volume of the layers of a matter, in cubic metres.
    fn volume(&mut self, terrain: &Terrain, matter: Matter) -> f64 {
        let layers = terrain.layers().filter(|(layer, _)| layer.row().matter == matter);
        layers.map(|(layer, _)| self.volume_of(terrain, layer)).sum()
    }

    /// Returns the volume of a layer, in cubic metres.
    fn volume_of(&mut self, terrain: &Terrain, layer: Layer) -> f64 {
        let totals = self.totals.entry(layer).or_default();
        terrain.layer(layer).map_or(0.0, |grid| totals.of(grid)) * terrain.cell_area()
    }

    fn add(&mut self, sample: LedgerSample) {
        // After going back in time, the samples up to then remain.
        self.samples.retain(|earlier| earlier.tick < sample.tick);
        self.samples.push(sample);
        thin_out(&mut self.samples);
    }

    /// Measures the dunes, and their displacement since the reference.
    fn add_dunes(&mut self, simulation: &Simulation) {
        let tick = simulation.ticks();
        self.dunes.retain(|sample| sample.tick < tick);
        // After a long gap, another dune may be in the same place.
        if self.dunes.last().is_none_or(|last| tick - last.tick > MAX_TICKS_BETWEEN) {
            self.dunes_before = None;
        }
        let Some(wind) = simulation.wind() else {
            self.dunes_before = None;
            return;
        };
        let now = Dunes::of(&simulation.terrain, wind);
        let cell = f64::from(simulation.terrain.cell_size);
        let displacement = self.dunes_before.as_ref().filter(|(before, _)| *before < tick).map(|(before, dunes)| {
            // Beyond half a wavelength, the next dune may match instead.
            let displacement = now
                .migration_since(dunes)
                .filter(|displacement| now.wavelength.is_none_or(|wavelength| *displacement < 0.5 * wavelength));
            (displacement, displacement.map(|displacement| displacement / (tick - before) as f64), tick - before)
        });
        // A displacement below 1.5 cells is too inaccurate; one that is too large resets the reference.
        let celerity = match displacement {
            Some((Some(displacement), celerity, ticks))
                if displacement >= MIN_DISPLACEMENT * cell || ticks >= MAX_TICKS_BETWEEN =>
            {
                self.dunes_before = Some((tick, now.clone()));
                celerity
            }
            Some((Some(_), ..)) => None,
            _ => {
                self.dunes_before = Some((tick, now.clone()));
                None
            }
        };
        let Dunes { height, highest, wavelength, .. } = now;
        self.dunes.push(DuneSample { tick, height, highest, wavelength, celerity });
        thin_out(&mut self.dunes);
    }
}

/// Drops every second sample if there are too many.
fn thin_out<T>(samples: &mut Vec<T>) {
    if samples.len() > MOST_SAMPLES {
        let mut index = 0;
        samples.retain(|_| {
            index += 1;
            index % 2 == 1
        });
    }
}

/// Samples the selected simulation.
pub(super) fn sample(simulations: Res<Simulations>, revision: Res<Revision>, mut record: ResMut<TimeSeries>) {
    let simulation = &simulations.selected().simulation;
    let run = (revision.start, simulations.selected_index());
    let fresh = record.seen != Some((*revision, simulations.selected_index()));
    let due = record.wanted && record.measured != Some((*revision, simulations.selected_index()));
    if !simulation.between_ticks() || !(fresh || due) {
        return;
    }
    // Another simulation starts new series.
    if record.seen.is_none_or(|(seen, index)| (seen.start, index) != run) {
        record.samples.clear();
        record.dunes.clear();
        record.dunes_before = None;
        record.rest = None;
    }
    if fresh {
        record.seen = Some((*revision, simulations.selected_index()));
        record.volumes = [Matter::Solid, Matter::Water].map(|matter| record.volume(&simulation.terrain, matter));
        record.suspended = record.volume_of(&simulation.terrain, Layer::Suspended);
        record.ledger = simulation.ledger.clone();
        let solid = &simulation.ledger.solid;
        record.add(LedgerSample {
            tick: simulation.ticks(),
            eroded: solid.sum(|row| row.eroded),
            deposited: solid.sum(|row| row.deposited),
            outflow: solid.sum(|row| row.outflow),
            seconds: simulation.simulated_seconds(),
            water_in: simulation.ledger.water.sum(|row| row.inflow),
            water_out: simulation.ledger.water.sum(|row| row.outflow),
        });
    }
    // Large maps take long to measure, and are measured less often.
    if due && record.rest.is_none_or(|until| Instant::now() > until) {
        let begun = Instant::now();
        record.statistics = Statistics::of(&simulation.terrain);
        record.add_dunes(simulation);
        record.measured = Some((*revision, simulations.selected_index()));
        record.rest = Some(Instant::now() + Duration::from_millis(400).max(begun.elapsed() * 20));
    }
}
