//! How the chosen run has gone so far: numbers of the terrain, and a series of samples for plots.

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

/// More samples than this are thinned out to half.
const MOST_SAMPLES: usize = 1024;
/// Distance in cells from which the celerity of dunes is measured, and ticks after which that of slow ones is.
const WELL_TOLD: f64 = 1.5;
const LONG: u64 = 400;

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
    /// Simulated seconds so far.
    pub seconds: f64,
    /// Water that came from springs, rain and the sea so far, in cubic metres.
    pub water_in: f64,
    /// Water that went over the border and into drains so far, in cubic metres.
    pub water_out: f64,
}

/// The dunes at a tick. Lengths are in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DuneSample {
    /// Finished ticks.
    pub tick: u64,
    /// Mean height of crests over the troughs beside them.
    pub height: f64,
    /// The same of the highest crest.
    pub highest: f64,
    /// Mean way from crest to crest along the wind, if there are two.
    pub wavelength: Option<f64>,
    /// Metres in a tick that they have come along the wind, if they have come far enough to tell.
    pub celerity: Option<f64>,
}

/// What is known of the chosen run so far.
#[derive(Resource, Clone, Debug, Default)]
pub struct Record {
    /// Of the terrain as it was when last measured.
    pub statistics: Statistics,
    /// The ledger over time, the oldest first.
    pub samples: Vec<LedgerSample>,
    /// The dunes over time, the oldest first; none where no wind blows.
    pub dunes: Vec<DuneSample>,
    /// The dunes from which a celerity is measured, and their tick.
    dunes_before: Option<(u64, Dunes)>,
    /// Whether the statistics are seen: only then they are measured.
    pub wanted: bool,
    /// Solid and water on the map after the last finished tick, in cubic metres.
    pub volumes: [f64; 2],
    /// What of the solid the water carries, in cubic metres.
    pub suspended: f64,
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
        layers.map(|(layer, _)| self.volume_of(terrain, layer)).sum()
    }

    /// What a layer holds, in cubic metres.
    fn volume_of(&mut self, terrain: &Terrain, layer: Layer) -> f64 {
        let totals = self.totals.entry(layer).or_default();
        terrain.layer(layer).map_or(0.0, |grid| totals.of(grid)) * terrain.cell_area()
    }

    fn add(&mut self, sample: LedgerSample) {
        if self.samples.last().is_some_and(|last| last.tick > sample.tick) {
            self.samples.clear();
        }
        if self.samples.last().is_none_or(|last| last.tick < sample.tick) {
            self.samples.push(sample);
        }
        thin_out(&mut self.samples);
    }

    /// Measures the dunes, and how far they have come since they were last measured for that.
    fn add_dunes(&mut self, simulation: &Simulation) {
        let tick = simulation.ticks();
        self.dunes.retain(|sample| sample.tick < tick);
        // Meanwhile one dune may have taken the place of another.
        if self.dunes.last().is_none_or(|last| tick - last.tick > LONG) {
            self.dunes_before = None;
        }
        let Some(wind) = simulation.wind() else {
            self.dunes_before = None;
            return;
        };
        let now = Dunes::of(&simulation.terrain, wind);
        let cell = f64::from(simulation.terrain.cell_size);
        let way = self.dunes_before.as_ref().filter(|(before, _)| *before < tick).map(|(before, dunes)| {
            // Beyond half a wavelength it may be the next dune that matches.
            let way =
                now.way_since(dunes).filter(|way| now.wavelength.is_none_or(|wavelength| *way < 0.5 * wavelength));
            (way, way.map(|way| way / (tick - before) as f64), tick - before)
        });
        // Less than a cell and a half cannot be told well; what has come too far is measured from now on.
        let celerity = match way {
            Some((Some(way), celerity, ticks)) if way >= WELL_TOLD * cell || ticks >= LONG => {
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

/// Leaves every second one out, if there are too many.
fn thin_out<T>(samples: &mut Vec<T>) {
    if samples.len() > MOST_SAMPLES {
        let mut index = 0;
        samples.retain(|_| {
            index += 1;
            index % 2 == 1
        });
    }
}

/// Follows the chosen run.
pub(super) fn sample(simulations: Res<Simulations>, revision: Res<Revision>, mut record: ResMut<Record>) {
    let simulation = &simulations.selected().simulation;
    let run = (revision.start, simulations.selected_index());
    let fresh = record.seen != Some((*revision, simulations.selected_index()));
    let due = record.wanted && record.measured != Some((*revision, simulations.selected_index()));
    if !simulation.between_ticks() || !(fresh || due) {
        return;
    }
    // Curves of another run don't go on.
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
    // A large map takes long to measure, and is measured less often.
    if due && record.rest.is_none_or(|until| Instant::now() > until) {
        let begun = Instant::now();
        record.statistics = Statistics::of(&simulation.terrain);
        record.add_dunes(simulation);
        record.measured = Some((*revision, simulations.selected_index()));
        record.rest = Some(Instant::now() + Duration::from_millis(400).max(begun.elapsed() * 20));
    }
}
