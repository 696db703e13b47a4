//! A wave of grains under each law: what it sees of the terrain, and how it flies.

use super::{
    MARGIN, Params, Weather, Wind, WindLaw,
    boundary::Boundary,
    field::{self, BLOWS, Field, HEIGHT, LOOSE, QUANTA, Tallies, WEAR},
    flight::{self, FlightOutcome, Start},
    law2020::{Constants2020, Law2020, TALL},
};
use crate::{
    core::terrain::{Edge, Terrain},
    process::{Mode, Moment, Track, masked::Masked},
};

/// Water deeper than this keeps sand from blowing, in metres.
const WET: f32 = 1e-3;
/// Sand thinner than this leaves rock bare, as a share of the cell size.
pub(super) const DUST: f32 = 1e-3;
/// Depth of the published boundary layer, in cells.
const PUBLISHED_LAYER: f32 = 2.0;

/// A wave that is to fly.
#[derive(Clone, Copy)]
pub(super) struct Flight<'a> {
    /// Its grains at their start.
    pub starts: &'a [Start],
    /// How many of its grains leave tracks.
    pub tracks: usize,
    /// Whether the wind is shown.
    pub watched: bool,
    /// What a quantum of sand is, in metres, where the first grain is followed.
    pub follows: Option<f32>,
}

/// Lets a wave fly under a law. `offset` is what a cell's middle lies from its number there. Returns what the grains did and
/// the law's greatest bite.
fn fly<L: flight::GrainLaw>(
    law: &L,
    flight: Flight<'_>,
    offset: f32,
    tallies: &mut Vec<Tallies>,
    (tracks, way): (&mut Vec<Track>, &mut Vec<Moment>),
) -> (FlightOutcome, f32) {
    if let (Some(quantum), Some(start)) = (flight.follows, flight.starts.first()) {
        *way = flight::follow(law, start, offset, quantum);
    }
    if flight.tracks > 0 {
        *tracks = flight::tracks(law, &sample(flight.starts, flight.tracks), offset);
    }
    (flight::run(law, flight.starts, tallies, law.field().count(), flight.watched), law.bite())
}

/// So many of the grains, from all over the map.
fn sample(starts: &[Start], count: usize) -> Vec<Start> {
    let count = count.min(starts.len());
    (0..count).map(|index| starts[index * starts.len() / count]).collect()
}

impl Wind {
    /// The way of one grain that begins at a place, in cells, with the wind's speed, over a copy of the land; none under a law without
    /// grains.
    pub(super) fn follow_one(
        &self,
        terrain: &Terrain,
        (seed, tick): (u64, u64),
        place: [f32; 2],
    ) -> Option<Vec<Moment>> {
        if !self.has_grains() {
            return None;
        }
        let mut own = self.clone();
        own.begin(terrain, seed, tick);
        let weather = own.weather?;
        own.see(terrain);
        // A cell's value stands at its whole number.
        let (width, height) = (terrain.width() as f32, terrain.height() as f32);
        let place = [(place[0] - 0.5).clamp(0.0, width - 1.0), (place[1] - 0.5).clamp(0.0, height - 1.0)];
        let velocity = weather.heading.map(|part| part * weather.strength);
        let starts = [Start { place, velocity, load: 0, random: 0 }];
        let quantum = terrain.cell_size / QUANTA;
        own.fly(terrain, weather, Flight { starts: &starts, tracks: 0, watched: false, follows: Some(quantum) });
        Some(own.followed)
    }

    /// Fills the field with what grains see of the terrain.
    pub(super) fn see(&mut self, terrain: &Terrain) {
        self.field.resize(terrain.width(), terrain.height());
        let masked = self.setup.masked(terrain, self.setup.params.mode);
        self.see_heights(terrain, self.setup.params.mode == Mode::Corrected, masked.as_ref());
    }

    /// Lets a wave fly under the chosen law over what is in the field. Returns what the grains did, and the share of a cell's sand that
    /// one of them takes at most at a visit.
    pub(super) fn fly(&mut self, terrain: &Terrain, weather: Weather, flight: Flight<'_>) -> (FlightOutcome, f32) {
        match self.setup.params.law {
            WindLaw::_2020 => self.fly_2020(terrain, weather, self.setup.params.mode == Mode::Corrected, flight),
            WindLaw::BoundaryLayer => self.fly_boundary(weather, flight),
        }
    }

    fn fly_2020(
        &mut self,
        terrain: &Terrain,
        weather: Weather,
        cured: bool,
        flight: Flight<'_>,
    ) -> (FlightOutcome, f32) {
        let wind = weather.heading.map(|part| f64::from(part * weather.strength));
        let law = Law2020 {
            field: &self.field,
            constants: Constants2020::new(&self.setup.params, wind, cured),
            margin: if cured { 0.0 } else { MARGIN as f32 },
            periodic: cured && self.returns(terrain),
            walls: cured && terrain.edge == Edge::Wall,
            // On a periodic map grains never leave; published ones end when they do, but none may go on for ever.
            longest: (if cured { 4 } else { 64 } * (terrain.width() + terrain.height())) as f32,
        };
        fly(&law, flight, 0.5, &mut self.tallies, (&mut self.tracks, &mut self.followed))
    }

    fn fly_boundary(&mut self, weather: Weather, flight: Flight<'_>) -> (FlightOutcome, f32) {
        let law = Boundary {
            field: &self.field,
            wind: weather.heading.map(|part| part * weather.strength),
            layer: 1.0 / PUBLISHED_LAYER,
            suspension: self.setup.params.uptake,
            gravity: self.setup.params.weight,
            turbulence: self.setup.params.turbulence,
            table: &self.table.0,
            longest: self.setup.params.max_age as f32,
        };
        fly(&law, flight, 0.5, &mut self.tallies, (&mut self.tracks, &mut self.followed))
    }

    /// Fills the field with heights, sand and rock in units of 80 cells.
    fn see_heights(&mut self, terrain: &Terrain, cured: bool, masked: Option<&Masked<Params>>) {
        let wears = masked.map_or(0.0, |masked| self.wears_more(masked));
        let blows = masked.map_or(0.0, |masked| stronger(&self.setup.params, &masked.params) - 1.0);
        let Field { width, height, .. } = self.field;
        let unit = 1.0 / (TALL as f32 * terrain.cell_size);
        let edge = if self.returns(terrain) && cured { Edge::Wrap } else { terrain.edge };
        let dust = DUST * terrain.cell_size;
        field::fill(&mut self.field.ground, width, height, edge, |y, out| {
            let part = y * width..(y + 1) * width;
            let layers = terrain.bedrock[part.clone()].iter().zip(&terrain.sand[part]);
            out.iter_mut().zip(layers).for_each(|(out, (rock, sand))| *out = (rock + sand) * unit);
        });
        field::fill(&mut self.field.cells, width, height, edge, |y, out| {
            let part = y * width..(y + 1) * width;
            let sand = &terrain.sand[part.clone()];
            for (out, (rock, sand)) in out.iter_mut().zip(terrain.bedrock[part.clone()].iter().zip(sand)) {
                (out[HEIGHT], out[LOOSE], out[BLOWS]) = ((rock + sand) * unit, sand * unit, 1.0);
            }
            if !cured {
                return;
            }
            let layers = terrain.water[part.clone()].iter().zip(&terrain.softness[part]);
            for (x, ((out, &sand), (&water, softness))) in out.iter_mut().zip(sand).zip(layers).enumerate() {
                let mask = masked.map_or(0.0, |masked| masked.mask.at(x, y));
                let dry = water <= WET;
                if !dry {
                    out[LOOSE] = 0.0;
                }
                out[BLOWS] = 1.0 + blows * mask;
                out[WEAR] = if dry && sand < dust { 2.0 * softness * (1.0 + wears * mask) } else { 0.0 };
            }
        });
    }

    /// By which share more rock wears under the mask.
    fn wears_more(&self, masked: &Masked<Params>) -> f32 {
        masked.params.abrasion / self.setup.params.abrasion.max(f32::MIN_POSITIVE) - 1.0
    }
}

/// How many times as strong the wind blows under the mask.
pub(super) fn stronger(params: &Params, masked: &Params) -> f32 {
    masked.strength / params.strength.max(f32::MIN_POSITIVE)
}
