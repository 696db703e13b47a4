//! A wave of grains under each law: what it sees of the terrain, and how it flies.

use super::{
    MARGIN, Params, Weather, Wind, WindLaw,
    air::{self, decay},
    boundary::Boundary,
    drift::{Beyond, Drift},
    field::{self, BLOWS, CAPACITY, Field, HEIGHT, LOOSE, QUANTA, Tallies, UPTAKE, WEAR},
    flight::{self, FlightOutcome, Start},
    law2020::{Constants2020, Law2020, TALL},
};
use crate::sim::{
    grid::Grid,
    masked::Covered,
    process::{Mode, Track},
    terrain::{Edge, Terrain},
};

/// Memory of the wind as a multiple of the saturation length.
const MEMORY: f32 = 4.0;
/// The saturation length is at least so many cells.
const SHORTEST: f32 = 0.5;
/// Distance over which the load falls in still air, as a multiple of the saturation length.
const FALLOUT: f32 = 2.0;
/// Water deeper than this keeps sand from blowing, in metres.
const WET: f32 = 1e-3;
/// Sand thinner than this leaves rock bare, as a share of the cell size.
const DUST: f32 = 1e-3;
/// Greatest load of a grain, in quanta: what their count holds over a round of steps.
const GREATEST_LOAD: f32 = 4.0 * QUANTA;
/// Share of a cell's sand that a grain lifts at most in a step...
const GREATEST_BITE: f32 = 1.0 / 16.0;
/// ...and so many times as many visits as a cell has on average still find sand.
const CROWDED: f32 = 4.0;
/// Capacity of still air, as a mark.
const STILL: f32 = -1.0;
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
}

/// Lets a wave fly under a law. `offset` is what a cell's middle lies from its number there. Returns what the grains did and
/// the law's greatest bite.
fn fly<L: flight::GrainLaw>(
    law: &L,
    flight: Flight<'_>,
    offset: f32,
    tallies: &mut Vec<Tallies>,
    tracks: &mut Vec<Track>,
) -> (FlightOutcome, f32) {
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
    /// Fills the field with what grains see of the terrain under the chosen law.
    pub(super) fn see(&mut self, terrain: &Terrain, weather: Weather) {
        self.field.resize(terrain.width(), terrain.height());
        let covered = self.setup.covered(terrain, self.setup.params.mode);
        match (self.setup.params.mode, self.setup.params.law) {
            (Mode::Default, WindLaw::_2020) => self.see_heights(terrain, true, covered.as_ref()),
            (Mode::Published, _) => self.see_heights(terrain, false, None),
            (Mode::Default, WindLaw::BoundaryLayer) => {
                let shear = self.shear(terrain, weather, covered.as_ref());
                self.see_wind(terrain, weather, covered.as_ref(), &shear);
            }
        }
    }

    /// Lets a wave fly under the chosen law over what is in the field. Returns what the grains did, and the share of a cell's sand that
    /// one of them takes at most at a visit.
    pub(super) fn fly(&mut self, terrain: &Terrain, weather: Weather, flight: Flight<'_>) -> (FlightOutcome, f32) {
        match (self.setup.params.mode, self.setup.params.law) {
            (mode, WindLaw::_2020) => self.fly_2020(terrain, weather, mode == Mode::Default, flight),
            (Mode::Published, WindLaw::BoundaryLayer) => self.fly_boundary(weather, flight),
            (Mode::Default, WindLaw::BoundaryLayer) => self.fly_drift(terrain, weather, flight),
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
        fly(&law, flight, 0.5, &mut self.tallies, &mut self.tracks)
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
        fly(&law, flight, 0.5, &mut self.tallies, &mut self.tracks)
    }

    /// How strong the wind of the default law is close to the ground.
    fn shear(&self, terrain: &Terrain, weather: Weather, covered: Option<&Covered<Params>>) -> Grid {
        let params = &self.setup.params;
        let wind = air::Airflow {
            heading: weather.heading,
            memory: MEMORY * length(params, terrain),
            speed_up: params.speed_up,
            boundary_layer: params.boundary_layer * terrain.cell_size,
        };
        let under = covered.filter(|covered| covered.params.speed_up != params.speed_up);
        let speed_up = under.map(|covered| {
            let (free, more) = (params.speed_up, covered.params.speed_up - params.speed_up);
            let at = |x, y| (free + more * covered.mask.at(x, y)) / wind.memory;
            Grid::from_fn(terrain.width(), terrain.height(), at)
        });
        air::shear(terrain, wind, speed_up.as_ref())
    }

    fn fly_drift(&mut self, terrain: &Terrain, weather: Weather, flight: Flight<'_>) -> (FlightOutcome, f32) {
        let steps = flight.starts.len() as f32 * self.setup.params.max_age as f32;
        let visits = steps / terrain.sand.len() as f32;
        let law = Drift {
            field: &self.field,
            heading: weather.heading,
            abrasion: self.setup.params.abrasion,
            turbulence: self.setup.params.turbulence,
            table: &self.table.0,
            border: match terrain.edge {
                Edge::Wall => Beyond::Stops,
                _ if self.returns(terrain) => Beyond::Returns,
                _ => Beyond::Loses,
            },
            longest: self.setup.params.max_age as f32,
            bite: GREATEST_BITE.min(1.0 / (CROWDED * visits)),
        };
        fly(&law, flight, 0.0, &mut self.tallies, &mut self.tracks)
    }

    /// Fills the field with heights, sand and rock in units of 80 cells.
    fn see_heights(&mut self, terrain: &Terrain, cured: bool, covered: Option<&Covered<Params>>) {
        let wears = covered.map_or(0.0, |covered| self.wears_more(covered));
        let blows = covered.map_or(0.0, |covered| stronger(&self.setup.params, &covered.params) - 1.0);
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
                let mask = covered.map_or(0.0, |covered| covered.mask.at(x, y));
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
    fn wears_more(&self, covered: &Covered<Params>) -> f32 {
        covered.params.abrasion / self.setup.params.abrasion.max(f32::MIN_POSITIVE) - 1.0
    }

    /// Fills the field with what the wind can carry and lift in every cell.
    fn see_wind(&mut self, terrain: &Terrain, weather: Weather, covered: Option<&Covered<Params>>, shear: &Grid) {
        let Field { width, height, .. } = self.field;
        let edge = if self.returns(terrain) { Edge::Wrap } else { terrain.edge };
        let per_metre = QUANTA / terrain.cell_size;
        let free = Carries::new(&self.setup.params, terrain, weather.strength);
        // Gusts are as strong there in proportion.
        let under = covered.map(|covered| {
            let strength = weather.strength * stronger(&self.setup.params, &covered.params);
            (covered, Carries::new(&covered.params, terrain, strength))
        });
        let wears = covered.map_or(0.0, |covered| self.wears_more(covered));
        let (threshold, dust) = (self.setup.params.threshold, DUST * terrain.cell_size);
        let per_shear = 1.0 / (1.0 - threshold);
        let [cos, sin] = weather.heading.map(|part| part * 0.5 / terrain.cell_size);
        let ground = |x: isize, y: isize| {
            let index = terrain.edge.nearest(y, height) * width + terrain.edge.nearest(x, width);
            terrain.bedrock[index] + terrain.sand[index]
        };
        field::fill(&mut self.field.cells, width, height, edge, |y, out| {
            let part = y * width..(y + 1) * width;
            let layers = terrain.sand[part.clone()].iter().zip(&terrain.water[part.clone()]);
            let layers = layers.zip(terrain.softness[part.clone()].iter().zip(&shear[part]));
            for (x, (out, ((&sand, &water), (&softness, &shear)))) in out.iter_mut().zip(layers).enumerate() {
                let mask = covered.map_or(0.0, |covered| covered.mask.at(x, y));
                let here = under.map_or(free, |(_, under)| free.towards(under, mask));
                let dry = water <= WET;
                let moves = (shear - threshold) * per_shear;
                out[LOOSE] = if dry { sand * per_metre } else { 0.0 };
                out[CAPACITY] =
                    if dry && moves > 0.0 { (here.most * per_metre * moves).min(GREATEST_LOAD) } else { STILL };
                out[UPTAKE] = if out[CAPACITY] > 0.0 { here.uptake } else { here.fallout };
                out[WEAR] = if dry && sand < dust {
                    // What flies over a plain hardly touches it; it hits what faces it.
                    let (x, y) = (x as isize, y as isize);
                    let faces =
                        (ground(x + 1, y) - ground(x - 1, y)) * cos + (ground(x, y + 1) - ground(x, y - 1)) * sin;
                    2.0 * softness * (faces.max(0.0) + 0.02) * shear * (1.0 + wears * mask)
                } else {
                    0.0
                };
            }
        });
    }
}

/// How many times as strong the wind blows under the mask.
pub(super) fn stronger(params: &Params, covered: &Params) -> f32 {
    covered.strength / params.strength.max(f32::MIN_POSITIVE)
}

/// Distance over which the wind takes up its load, in metres.
fn length(params: &Params, terrain: &Terrain) -> f32 {
    params.saturation_length.max(SHORTEST * terrain.cell_size)
}

/// Load of a grain over a plain, in metres; at most a quarter of a cell, so that a wave stays a small change.
pub(super) fn most(params: &Params, terrain: &Terrain, strength: f32) -> f32 {
    (params.capacity * 0.01 * strength * strength).min(0.25) * terrain.cell_size
}

/// What grains of the cured law carry over a plain, and how fast they take it up.
#[derive(Clone, Copy)]
struct Carries {
    /// In metres.
    most: f32,
    /// Share of what is lacking that they take up in a step.
    uptake: f32,
    /// Share of what is too much that they drop in still air.
    fallout: f32,
}

impl Carries {
    fn new(params: &Params, terrain: &Terrain, strength: f32) -> Self {
        let lag = terrain.cell_size / length(params, terrain);
        let (uptake, fallout) = (1.0 - decay(lag), 1.0 - decay(lag / FALLOUT));
        Self { most: most(params, terrain, strength), uptake, fallout }
    }

    /// What lies between this and another, in proportion to the mask.
    fn towards(self, other: Self, mask: f32) -> Self {
        let between = |free: f32, under: f32| free + (under - free) * mask;
        Self {
            most: between(self.most, other.most),
            uptake: between(self.uptake, other.uptake),
            fallout: between(self.fallout, other.fallout),
        }
    }
}
