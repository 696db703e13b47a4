//! Tick of the default law: steps in each of which the airflow is computed, sand moves by a cell, and lee slopes slide.

use rayon::prelude::*;

use super::{
    INFO, Params, Wind, WindMaps,
    air::WindForcing,
    drift::{self, BorderCondition, Drift, DriftSums, Exchange},
    slip,
    weather::Weather,
    wetness::{SHELTERS, decay, soak, surface},
};
use crate::{
    core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Terrain},
    },
    process::{
        Context, Track,
        masked::{MaskedCoefficients, MaskedParams},
    },
    simd::around::repose_heights,
};

/// Strength of the wind for which the capacity is stated.
const STATED: f32 = 2.0;
/// Minimum saturation length, in cells.
const SHORTEST: f32 = 0.4;
/// Smoothing length of the airflow, in cells or saturation lengths.
const BLUR: f32 = 1.5;
/// Maximum sand that crosses a cell over a plain in a step, as a fraction of a cube of its size.
const CROSSES: f32 = 0.1;
/// Minimum distance that sand in the air moves in a tick, in metres: far compared with the migration of dunes.
const FARTHER: f32 = 1.0;
/// Thickness of a sheet of sand, in cell sizes, below which all of it is in the air before dunes can grow from it.
const THINNEST_SHEET: f32 = 0.1;
/// Maximum number of steps per tick.
const MOST_STEPS: f32 = 16.0;
/// Rounds of sliding at the maximum flux of a step.
const ROUNDS: f32 = 24.0;
/// Maximum thickness of sand in the air, in cell sizes.
const FULL: f32 = 0.25;
/// Fraction of the turbulence that acts close to the ground.
const UNEVEN: f32 = 0.1;
/// Length of the eddies that disperse sand over bare rock, in metres.
const EDDIES: f32 = 20.0;
/// Maximum fraction of a difference between cells that turbulence exchanges in a step.
const MOST_DISPERSED: f32 = 0.1;
/// Transverse slope effect: lateral drift of sand in the air down a slope, relative to its movement along the wind and to the slope, over
/// a plain (Hersen 2004). It fills the furrows that uneven crests leave behind them.
const PULLS: f32 = 0.35;
/// Maximum length of a trail, in cells.
const MAX_TRAIL_CELLS: usize = 128;
/// Abrasion by sand that passes over a plain, relative to sand that hits a slope of 1.
const GRAZES: f32 = 0.02;
/// Thickness of sand below which rock counts as bare, in cell sizes.
const DUST: f32 = 1e-3;

/// Returns the shear of a wind over a plain.
pub(super) fn shear(strength: f32) -> f32 {
    (strength / STATED) * (strength / STATED)
}

/// Sand flux of a strong breeze over a plain, in m²/s: 1.5·(ρ/g)·u*³ (Bagnold 1941) for a shear velocity u* of 0.5 m/s, over a bulk
/// density of 1600 kg/m³. It sets the simulated time of a tick.
const STRONG_BREEZE: f64 = 1.5e-5;

/// Returns the sand flux of a wind of strength 2 over a plain, in m² per tick. Dunes on cells that are coarse compared with the saturation
/// length are larger than in nature and evolve more slowly with the square of their size, so ticks are longer by the same factor.
pub(super) fn capacity(params: &Params, cell_size: f32) -> f32 {
    let larger = length(params, cell_size) / params.saturation_length;
    params.capacity * (larger * larger)
}

/// Returns the sand flux over a plain, in m² per tick.
fn carried(params: &Params, cell_size: f32, strength: f32) -> f32 {
    let shear = shear(strength);
    drift::saturated_flux(capacity(params, cell_size), shear, params.threshold) / (1.0 - params.threshold)
}

/// Returns the thickness that a sheet of sand needs for dunes to grow from it, in metres.
pub fn thinnest_sheet(cell_size: f32) -> f32 {
    THINNEST_SHEET * cell_size
}

/// Returns the saturation length on cells of this size, in metres.
fn length(params: &Params, cell_size: f32) -> f32 {
    params.saturation_length.max(SHORTEST * cell_size)
}

impl Wind {
    /// Dries or wets the sand over the simulated time of the tick.
    pub(super) fn soak(&mut self, context: &Context<'_>, maps: &mut WindMaps) {
        let own = f64::from(capacity(&self.setup.params, context.terrain.cell_size)) / STRONG_BREEZE;
        self.setup.elapse(own);
        let seconds = context.elapsed.unwrap_or(own);
        soak(&mut maps.wet, context.terrain, seconds as f32 / self.setup.params.drying);
    }

    /// Sets the number of steps of a tick in a wind of this strength.
    pub(super) fn count_steps(&mut self, terrain: &Terrain, strength: f32) {
        let params = &self.setup.params;
        let crosses = carried(params, terrain.cell_size, strength) / (terrain.cell_size * terrain.cell_size);
        let steps = (crosses / CROSSES).max(FARTHER / terrain.cell_size).ceil();
        if crosses > CROSSES * MOST_STEPS {
            self.setup.count_limits([1]);
        }
        self.steps = steps.clamp(1.0, MOST_STEPS) as u32;
        self.slows = (CROSSES * MOST_STEPS / crosses).min(1.0);
        self.rounds = (ROUNDS * self.slows * crosses / (CROSSES * self.steps as f32)).ceil().clamp(2.0, ROUNDS) as u32;
        self.steps_left = self.steps;
    }

    /// Deposits all sand in the air where it is, after a change of the mode.
    pub(super) fn deposit_airborne(&mut self, context: &mut Context<'_>, maps: &mut WindMaps) {
        let terrain = &mut *context.terrain;
        let aloft = drift::sum(&maps.aloft);
        if aloft == 0.0 {
            return;
        }
        let before = drift::sum(&terrain.sand);
        terrain.sand.iter_mut().zip(maps.aloft.iter()).for_each(|(sand, aloft)| *sand += aloft);
        maps.aloft.fill(0.0);
        self.owed += before + aloft - drift::sum(&terrain.sand);
        self.owed = slip::restore_withheld_sand(&mut terrain.sand, self.owed, context.tick);
        let row = context.ledger.solid.row(INFO.key);
        row.deposited += aloft * terrain.cell_area();
        row.moved += aloft * terrain.cell_area();
        row.carried = 0.0;
    }

    /// Computes the airflow over the ground, if that has changed enough.
    pub(super) fn update_airflow(&mut self, terrain: &Terrain, maps: &mut WindMaps) {
        let Some(Weather { heading, .. }) = self.weather else { return };
        let params = &self.setup.params;
        let Params { speed_up, lead, .. } = *params;
        let blur = BLUR * params.saturation_length.max(terrain.cell_size);
        let wind = WindForcing { heading, speed_up, lead, blur };
        let masked = self.setup.masked_params(terrain, params.mode);
        let under = masked.as_ref().map_or(speed_up, |masked| masked.params.speed_up);
        update_seen(terrain, &mut maps.seen, wind.change_threshold(speed_up.max(under)));
        let more = masked.as_ref().filter(|_| under != speed_up).map(|masked| {
            let under = under / speed_up.max(f32::MIN_POSITIVE);
            let at = |x, y| 1.0 + (under - 1.0) * masked.mask.at(x, y);
            Grid::from_fn(terrain.width(), terrain.height(), at)
        });
        self.air.find(&maps.seen, terrain, wind, more.as_ref());
    }

    /// Runs a step of the sand in the air.
    pub(super) fn carry(&mut self, context: &mut Context<'_>, maps: &mut WindMaps) {
        let terrain = &mut *context.terrain;
        let Some(weather) = self.weather else { return };
        let params = &self.setup.params;
        let Params { threshold, turbulence, .. } = *params;
        let heading = weather.heading;
        let masked = self.setup.masked_params(terrain, params.mode);
        if context.watched && self.steps_left == self.steps {
            self.tracks =
                self.trails(terrain, heading, &maps.aloft, RandomStream::new(context.seed, "streaks", context.tick));
        }
        let goes = [0, 1].map(|axis| {
            let displacement = self.remainder[axis] + f64::from(heading[axis]);
            self.remainder[axis] = displacement - displacement.round();
            displacement.round() as isize
        });
        let beyond = match terrain.edge {
            Edge::Wall => BorderCondition::Stops,
            _ if self.returns(terrain) => BorderCondition::Returns,
            _ => BorderCondition::Leaves,
        };
        let cell_size = terrain.cell_size;
        let exchange = Exchange::new(params, masked.as_ref(), |own| {
            let per_shear =
                self.slows * capacity(own, cell_size) / ((1.0 - own.threshold) * self.steps as f32 * cell_size);
            let over_plain = shear(weather.strength * strength_ratio(params, own));
            [per_shear, over_plain, 1.0 - decay(cell_size / length(own, cell_size))]
        });
        let table = &*self.table.0;
        let step = Drift {
            air: &self.air,
            shift: goes,
            beyond,
            heading,
            exchange,
            threshold,
            wet: &maps.wet,
            most: FULL * cell_size,
            uneven: UNEVEN * turbulence,
            table,
            pulls: PULLS / cell_size,
            periodic: terrain.edge == Edge::Wrap,
            disperses: (turbulence * turbulence * EDDIES / cell_size).min(MOST_DISPERSED),
            bare: DUST * cell_size,
        };
        let DriftSums { lifted, dropped, left, stopped, aloft, missing } = step.run(terrain, &mut maps.aloft);
        let [worn, grown] = self.wear(terrain, maps, heading, masked.as_ref());
        self.owed += missing + worn - grown;
        self.steps_left -= 1;
        self.setup.counts.substeps += 1;
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        row.eroded += lifted * area;
        row.deposited += (dropped + stopped) * area;
        row.moved += (lifted + dropped + stopped + 2.0 * worn) * area;
        row.outflow += left * area;
        row.carried = aloft * area;
    }

    /// Turns bare windward rock into sand, abraded by the sand in the air. Returns the abraded rock and the actual growth of the sand, in
    /// metres times cells.
    fn wear(
        &self,
        terrain: &mut Terrain,
        maps: &mut WindMaps,
        [cos, sin]: [f32; 2],
        masked: Option<&MaskedParams<Params>>,
    ) -> [f64; 2] {
        let abrasion = MaskedCoefficients::new(&self.setup.params, masked, |own| [own.abrasion]);
        if abrasion.at(0, 0) == [0.0] && masked.is_none() {
            return [0.0, 0.0];
        }
        let (width, height, cell_size, edge) = (terrain.width(), terrain.height(), terrain.cell_size, terrain.edge);
        let Terrain { bedrock, sand, water, softness, .. } = terrain;
        let (seen, aloft, air) = (&maps.seen, &maps.aloft, &self.air);
        let layers = bedrock.par_chunks_mut(width).zip(sand.par_chunks_mut(width));
        let layers = layers.zip(maps.abraded.par_chunks_mut(width)).enumerate();
        let worn: Vec<[f64; 2]> = layers
            .map(|(y, ((bedrock, sand), abraded))| {
                let mut sums = [0.0, 0.0];
                if !sand.iter().fold(false, |bare, &sand| bare | (sand < DUST * cell_size)) {
                    return sums;
                }
                for x in 0..width {
                    let cell = y * width + x;
                    if sand[x] >= DUST * cell_size || aloft[cell] <= 0.0 || water[cell] > SHELTERS {
                        continue;
                    }
                    let at = |x: isize, y: isize| seen[edge.nearest(y, height) * width + edge.nearest(x, width)];
                    let (column, row) = (x as isize, y as isize);
                    let rises = (at(column + 1, row) - at(column - 1, row)) * cos;
                    let rises = (rises + (at(column, row + 1) - at(column, row - 1)) * sin) * (0.5 / cell_size);
                    let [abrasion] = abrasion.at(x, y);
                    let [shear, _] = air.at(x, y);
                    let hits = 2.0 * softness[cell] * (rises.max(0.0) + GRAZES) * shear;
                    let old = bedrock[x];
                    bedrock[x] = old - abrasion * aloft[cell] * hits;
                    let worn = old - bedrock[x];
                    let before = sand[x];
                    sand[x] += worn;
                    abraded[x] += worn;
                    sums[0] += f64::from(worn);
                    sums[1] += f64::from(sand[x]) - f64::from(before);
                }
                sums
            })
            .collect();
        worn.iter().fold([0.0, 0.0], |[worn, grown], row| [worn + row[0], grown + row[1]])
    }

    /// Slides sand that exceeds the angle of repose.
    pub(super) fn slip(&mut self, context: &mut Context<'_>) {
        let terrain = &mut *context.terrain;
        let params = &self.setup.params;
        let masked = self.setup.masked_params(terrain, params.mode);
        let lies = MaskedCoefficients::new(params, masked.as_ref(), |own| {
            let [beside, _] = repose_heights(own.repose_angle, terrain.cell_size);
            [beside]
        });
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        let [slid, grown] = slip::slip(terrain, lies, masked.is_none(), self.rounds);
        row.moved += 2.0 * slid * area;
        row.eroded += slid * area;
        row.deposited += slid * area;
        self.owed -= grown;
        self.owed = slip::restore_withheld_sand(&mut terrain.sand, self.owed, context.tick);
    }

    /// Returns the trails of a sample of the sand in the air.
    fn trails(&self, terrain: &Terrain, [cos, sin]: [f32; 2], aloft: &Grid, mut stream: RandomStream) -> Vec<Track> {
        let (width, height) = (terrain.width(), terrain.height());
        let returns = self.returns(terrain);
        let mut starts: Vec<[f32; 2]> = Vec::new();
        // Trails start only where sand is in the air.
        for _ in 0..4 * self.setup.params.tracks {
            let start = [stream.uniform() * width as f32, stream.uniform() * height as f32];
            if starts.len() < self.setup.params.tracks as usize && aloft.at(start[0] as usize, start[1] as usize) > 0.0
            {
                starts.push(start);
            }
        }
        let trace = |[mut x, mut y]: [f32; 2]| {
            let mut track = vec![[x, y]];
            while track.len() < MAX_TRAIL_CELLS {
                let [shear, lean] = self.air.at(x as usize, y as usize);
                if shear == 0.0 {
                    break;
                }
                (x, y) = (x + cos - lean * sin, y + sin + lean * cos);
                if returns {
                    (x, y) = (x.rem_euclid(width as f32), y.rem_euclid(height as f32));
                }
                if !(0.0..width as f32).contains(&x) || !(0.0..height as f32).contains(&y) {
                    break;
                }
                track.push([x, y]);
            }
            track
        };
        starts.into_iter().map(trace).filter(|track| track.len() > 2).collect()
    }
}

/// Returns the strength of the wind under the mask relative to that outside.
fn strength_ratio(params: &Params, masked: &Params) -> f32 {
    masked.strength / params.strength.max(f32::MIN_POSITIVE)
}

/// Updates the `seen` heights if a cell has changed by more than `news`.
fn update_seen(terrain: &Terrain, seen: &mut Grid, news: f32) {
    let width = terrain.width();
    let new = |(y, seen): (usize, &[f32])| {
        let change = |(x, seen): (usize, &f32)| (surface(terrain, y * width + x) - seen).abs();
        seen.iter().enumerate().map(change).fold(false, |any, change| any | (change > news))
    };
    let changed = seen.par_chunks(width).enumerate().any(new);
    if changed {
        seen.par_iter_mut().enumerate().with_min_len(4096).for_each(|(cell, seen)| *seen = surface(terrain, cell));
    }
}
