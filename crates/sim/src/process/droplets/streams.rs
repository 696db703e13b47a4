//! Streams: droplets that interact through discharge and momentum maps. Earlier flow deflects each droplet, and capacity grows with
//! discharge.
//!
//! As published (McDonald 2020 and 2023), a step in a cell with discharge q and momentum m:
//!
//! ```text
//! v += gravity·n/V      v += transfer·(m̂·v̂)/(V + q)·m      |v| = √2      p += v
//! C = (1 + entrainment·erf(0.4·q))·max(0, h − h')      s += Kd·(C − s)      V *= 1 − Ke
//! ```
//!
//! By default lengths are in metres, and the capacity is that of a graded river: steady-state topography has S ∝ A^−θ, so a load
//! proportional to A^θ·S is constant downstream and preserves the landform.
//!
//! ```text
//! C = entrainment·V·(A/ha)^θ·S      s += (1 − e^(−exchange·d/L))·(C − s)      V *= e^(−Ke·d/L)
//! ```
//!
//! A is the drainage area, S the fall divided by the step length d, and L the length of one cell of the published map; gravity and
//! transfer also act per L. Each step moves to one of the eight neighbours. A droplet erodes at most a fraction of its own fall,
//! and deposits at most the rise ahead or the drop behind, so it leaves no pits or mounds. Its momentum carries it over obstacles,
//! which is how a bend erodes its outer bank. Over standing water it drifts on briefly and deposits its load: a delta.
//!
//! All droplets of a tick read the maps as they were before it (see [`super::discharge`]), but the current ground.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use rayon::prelude::*;

use super::{
    Params,
    bundle::{Bundle, Law},
    corrected::decay,
    discharge::{ALONG, DOWN, Discharge, TRACKS, UpdateRate, WATER},
    ground::{CellPositions, DropletGround},
};
use crate::{
    core::terrain::{Edge, Terrain},
    params::REFERENCE_CELLS,
    process::{
        Mode,
        masked::{Mask, lerp},
    },
    simd::{
        lanes::{LANES, LaneMask, Lanes, prefetch},
        number::Real,
    },
};

/// Droplets per cell and tick for which the renewal of the maps is stated.
const STATED_RAIN: f64 = 1000.0 / REFERENCE_CELLS;
/// Maximum fraction of its own fall that a droplet erodes in a step: eight in the same cell erode less than the whole fall.
const GREATEST_CUT: f32 = 0.1;
/// Distances without lower ground after which a droplet counts as trapped in a depression, and after which it leaves no momentum,
/// in the law's unit of length, and the minimum of both in steps.
const PATIENCE: f32 = 64.0;
const CIRCLING: f32 = 8.0;
const LEAST_STEPS: f32 = 8.0;
/// Runoff of every cell as sheet flow, as a fraction of the headwater area, which makes it independent of the cell size.
const SHEET: f32 = 0.1;
/// Minimum fraction of its load that settles per step over standing water, and the number of steps that a droplet drifts.
pub(super) const SINKING: f32 = 0.3;
pub(super) const DRIFT_STEPS: f32 = 16.0;
/// Drainage area to which the entrainment refers, in square metres.
pub(super) const HECTARE: f32 = 1e4;
/// Published constants: the factor on the discharge before it saturates, and the virtual fall on leaving the map, as a fraction of
/// the height above the lowest ground.
const SATURATION: f32 = 0.4;
const FALL_AT_EDGE: f32 = 0.01;

/// Constants of the law on a terrain.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamLaw {
    pub(super) published: bool,
    /// Acceleration per step and unit of slope, for a fresh droplet.
    pub(super) gravity: f32,
    pub(super) transfer: f32,
    /// Discharge that deflects a droplet half as much as a large river does, in square metres.
    pub(super) own: f32,
    pub(super) entrainment: f32,
    pub(super) exponent: f32,
    /// Rate per cell of length.
    pub(super) exchange: f32,
    pub(super) evaporation: f32,
    pub(super) min_volume: f32,
    pub(super) patience: f32,
    pub(super) circling: f32,
    pub(super) most_steps: u32,
    pub(super) steepness: f32,
    /// Rise to a neighbour above which a bank may fail, in metres.
    pub(super) steep: f32,
    /// Drainage area of the sheet flow on slopes, in square metres.
    pub(super) sheet: f32,
    /// Contributing area of a fresh droplet, in square metres.
    pub(super) contributing_area: f32,
    /// In the published mode, the lowest ground, from which the virtual fall on leaving is measured, in metres.
    pub(super) lowest: f32,
}

impl StreamLaw {
    /// Returns the law on a terrain, with the `contributing_area` of a fresh droplet, in square metres.
    pub(super) fn new(params: &Params, terrain: &Terrain, contributing_area: f32) -> Self {
        let published = params.mode == Mode::Published;
        let cells = if published { 1.0 } else { terrain.cell_size / params.length };
        Self {
            published,
            gravity: params.gravity * cells,
            transfer: params.transfer * cells,
            own: if published { contributing_area } else { params.headwater },
            entrainment: if published { params.entrainment_factor } else { params.entrainment },
            exponent: params.concavity,
            exchange: if published { params.equilibration } else { params.exchange * cells },
            evaporation: if published { params.evaporation_rate } else { params.evaporation_rate * cells },
            min_volume: params.min_volume,
            patience: (PATIENCE / cells).max(LEAST_STEPS),
            circling: if published { f32::INFINITY } else { (CIRCLING / cells).max(LEAST_STEPS) },
            most_steps: if published { params.max_age } else { 4 * (terrain.width() + terrain.height()) as u32 },
            steepness: 1.0 / terrain.cell_size,
            steep: params.bank_slopes().sand * terrain.cell_size,
            sheet: sheet(params),
            contributing_area,
            lowest: if published { lowest(terrain) } else { 0.0 },
        }
    }
}

/// Returns the drainage area of sheet flow in every cell, in square metres.
pub(super) fn sheet(params: &Params) -> f32 {
    SHEET * params.headwater
}

/// Returns the transport capacity of droplets on a slope with a drainage area in hectares, in metres times cells.
#[inline(always)]
fn capacity(entrainment: Lanes, volume: Lanes, hectares: Lanes, exponent: f32, slope: Lanes) -> Lanes {
    entrainment * volume * power(hectares, exponent) * slope
}

/// Returns the capacity of a fresh droplet on a slope, in metres times cells, in a stream one cell wide with this
/// `contributing_area`, in square metres. A steady stream with this load neither erodes nor deposits there.
pub(super) fn graded_load(params: &Params, contributing_area: f32, slope: f32) -> f32 {
    let hectares = (contributing_area + sheet(params)) / HECTARE;
    let [entrainment, one, hectares, slope] =
        [params.entrainment, 1.0, hectares, slope].map(|value| Lanes([value; LANES]));
    capacity(entrainment, one, hectares, params.concavity, slope).0[0]
}

/// Returns the rate at which the maps follow a tick's droplets: by default it grows with their number.
pub(super) fn update_rate(params: &Params, terrain: &Terrain) -> UpdateRate {
    match params.mode {
        Mode::Published => UpdateRate::Even(params.renewal),
        Mode::Corrected => {
            let rain = f64::from(params.per_tick) / terrain.bedrock.len() as f64 / STATED_RAIN;
            UpdateRate::Eager(1.0 - libm::pow(1.0 - f64::from(params.renewal), rain) as f32)
        }
    }
}

/// Returns the lowest ground, in metres.
fn lowest(terrain: &Terrain) -> f32 {
    let cells = terrain.bedrock.par_iter().zip(terrain.sand.par_iter());
    cells.map(|(bedrock, sand)| bedrock + sand).reduce(|| f32::INFINITY, f32::min)
}

/// The law on a ground.
pub(super) struct Streams<'a> {
    ground: &'a DropletGround<'a>,
    discharge: &'a Discharge,
    law: StreamLaw,
    /// The law at full mask, and the mask, if it has an effect.
    masked_law: StreamLaw,
    mask: Option<&'a Mask>,
}

impl<'a> Streams<'a> {
    /// Returns the law from its constants without and with the mask.
    pub(super) fn new(
        ground: &'a mut DropletGround<'_>,
        discharge: &'a mut Discharge,
        [law, under]: [StreamLaw; 2],
        mask: Option<&'a Mask>,
    ) -> Self {
        Self { ground, discharge, law, masked_law: under, mask }
    }
}

// SAFETY: ground and discharge were borrowed mutably; a droplet moves to an adjacent cell, and reads those beside both.
unsafe impl Law for Streams<'_> {
    fn ground(&self) -> &DropletGround<'_> {
        self.ground
    }

    fn most_steps(&self) -> Option<u32> {
        (!self.law.published && self.ground.edge == Edge::Wrap).then_some(self.law.most_steps)
    }

    #[inline(always)]
    unsafe fn act(&self, bundle: &mut Bundle) -> Lanes {
        // SAFETY: as promised by the caller.
        let StreamStep { places, amount, least, most, undercuts } = unsafe { self.advance(bundle) };
        let mut given = Lanes::default();
        for lane in 0..LANES {
            if amount.0[lane] != 0.0 {
                let (cell, between) = (places.at(lane), [least.0[lane], most.0[lane]]);
                // SAFETY: the droplet was in this cell, and no block that runs concurrently comes near.
                let (taken, held) = unsafe { self.ground.take(cell, amount.0[lane], between) };
                given.0[lane] = taken;
                bundle.limited[1][lane] += u32::from(held);
                if undercuts.0[lane] != 0 {
                    self.ground.mark_undercut(cell);
                }
            }
        }
        given
    }
}

/// Changes by eight droplets in a step.
struct StreamStep {
    /// Cells of departure.
    places: CellPositions,
    /// Erosion there, in metres; negative for deposition.
    amount: Lanes,
    /// Lower and upper limits of the ground.
    least: Lanes,
    most: Lanes,
    /// `true` for droplets that undercut a bank.
    undercuts: LaneMask,
}

/// Constants of the law at the positions of eight droplets.
struct StreamConstants {
    entrainment: Lanes,
    exchange: Lanes,
    evaporation: Lanes,
}

impl Streams<'_> {
    #[inline(always)]
    fn local(&self, columns: &[i32; LANES], rows: &[i32; LANES]) -> StreamConstants {
        let (free, under) = (&self.law, &self.masked_law);
        let all = |value: f32| Lanes([value; LANES]);
        let (mut entrainment, mut exchange) = (all(free.entrainment), all(free.exchange));
        let mut evaporation = all(free.evaporation);
        if let Some(mask) = self.mask {
            for lane in 0..LANES {
                let masked = mask.at(columns[lane] as usize, rows[lane] as usize);
                entrainment.0[lane] = lerp([free.entrainment, under.entrainment], masked);
                exchange.0[lane] = lerp([free.exchange, under.exchange], masked);
                evaporation.0[lane] = lerp([free.evaporation, under.evaporation], masked);
            }
        }
        StreamConstants { entrainment, exchange, evaporation }
    }

    /// Moves eight droplets by one step.
    ///
    /// # Safety
    /// As for [`Law::act`].
    #[inline(always)]
    unsafe fn advance(&self, bundle: &mut Bundle) -> StreamStep {
        let (law, ground) = (&self.law, self.ground);
        let all = |value: f32| Lanes([value; LANES]);
        let (zero, one) = (all(0.0), all(1.0));
        // SAFETY: `Bundle::apply_border` keeps droplets on the map.
        let (columns, rows) = unsafe { (bundle.x.truncated(), bundle.y.truncated()) };
        let places = ground.places(columns, rows);
        self.discharge.fill_tiles(places.tiles);
        let outermost = ground.outermost(columns, rows);
        // SAFETY: droplets have prepared these cells.
        let [here, west, east, north, south] = unsafe { ground.around(columns, rows, outermost) };
        let (mut water, mut along, mut down) = (zero, zero, zero);
        for lane in 0..LANES {
            // SAFETY: the tile is filled, and no thread writes the maps in it.
            let cell = unsafe { &*self.discharge.cell(places.at(lane)) };
            (water.0[lane], along.0[lane], down.0[lane]) = (cell[WATER], cell[ALONG], cell[DOWN]);
        }
        let water = water.max(zero);
        let StreamConstants { entrainment, exchange, evaporation } = self.local(&columns, &rows);
        // Driving direction.
        let half = all(0.5 * law.steepness);
        let (slope_x, slope_y) = ((east - west) * half, (south - north) * half);
        let upright = (one + (slope_x * slope_x + slope_y * slope_y)).sqrt();
        // Standing water carries a droplet on without accelerating it.
        let depth = if law.published { zero } else { ground.standing_water(columns, rows, here) };
        let swims = depth.above(zero);
        let push = all(-law.gravity) / (upright * bundle.volume.max(all(1e-6)));
        // A diagonal step is longer, with more effect of gravity and momentum.
        let square = bundle.vx * bundle.vx + bundle.vy * bundle.vy;
        let longer = if law.published { one } else { square.above(zero).select(square, one) };
        let push = swims.select(zero, push) * longer;
        let (mut vx, mut vy) = (bundle.vx + push * slope_x, bundle.vy + push * slope_y);
        let alignment = along * vx + down * vy;
        let size = ((along * along + down * down) * (vx * vx + vy * vy)).sqrt();
        let pull =
            all(law.transfer) * longer * alignment / (size * (all(law.own) * bundle.volume + water)).max(all(1e-20));
        (vx, vy) = (vx + pull * along, vy + pull * down);
        let (wide, high) = (vx.max(-vx), vy.max(-vy));
        let pace = if law.published {
            (vx * vx + vy * vy).sqrt() * all(std::f32::consts::FRAC_1_SQRT_2)
        } else {
            wide.max(high)
        };
        // Without a finite pace a droplet doesn't move.
        let moves = pace.above(zero).without(pace.above(all(1e30)));
        (vx, vy) = (moves.select(vx / pace, zero), moves.select(vy / pace, zero));
        let distance = (vx * vx + vy * vy).sqrt();
        let per_length = if law.published { one } else { one / distance.max(all(1e-6)) };
        let (along, down) = (vx * per_length, vy * per_length);
        for lane in 0..LANES {
            if bundle.runs.0[lane] != 0 {
                let volume = bundle.volume.0[lane];
                // SAFETY: as above; no block that runs concurrently comes near.
                let cell = unsafe { &mut *self.discharge.cell(places.at(lane)) };
                cell[TRACKS + WATER] += volume;
                // A droplet that finds no lower ground leaves no momentum: others would circle with it.
                let drawing = if bundle.waited.0[lane] < law.circling { volume } else { 0.0 };
                cell[TRACKS + ALONG] += drawing * along.0[lane];
                cell[TRACKS + DOWN] += drawing * down.0[lane];
            }
        }
        let from = [bundle.x, bundle.y];
        (bundle.vx, bundle.vy) = (vx, vy);
        bundle.x = bundle.runs.select(bundle.x + vx, bundle.x);
        bundle.y = bundle.runs.select(bundle.y + vy, bundle.y);
        let reached = [bundle.x, bundle.y];
        let left = bundle.apply_border((ground.width as f32, ground.height as f32), ground.edge).and(bundle.runs);
        (bundle.x, bundle.y) = (left.select(from[0], bundle.x), left.select(from[1], bundle.y));
        // SAFETY: as above.
        let (new_columns, new_rows) = unsafe { (bundle.x.truncated(), bundle.y.truncated()) };
        let new_places = ground.places(new_columns, new_rows);
        ground.prepare_tiles(new_places.tiles);
        for lane in 0..LANES {
            prefetch(self.discharge.cell(new_places.at(lane)));
        }
        // SAFETY: droplets have prepared these tiles.
        let mut ahead = unsafe { ground.heights(new_columns, new_rows) };
        if !law.published && left.any() {
            // SAFETY: as above.
            unsafe { ground.continue_beyond(left, reached, &mut ahead) };
        }
        ground.prefetch(bundle.x + vx, bundle.y + vy);
        let fall = if law.published {
            left.select((here - all(law.lowest)) * all(FALL_AT_EDGE), here - ahead)
        } else {
            here - ahead
        };
        let downhill = fall.max(zero);
        let (mut least, cut) = (here - downhill, downhill * all(GREATEST_CUT));
        let mut most = all(f32::INFINITY);
        let mut amount = if law.published {
            let saturated = saturation(water * all(SATURATION / law.contributing_area));
            bundle.capacity = (one + entrainment * saturated) * downhill;
            exchange * (bundle.capacity - bundle.mass)
        } else {
            let hectares = (water + all(law.sheet)) * all(1.0 / HECTARE);
            let slope = downhill * all(law.steepness) * per_length;
            let capacity = capacity(entrainment, bundle.volume, hectares, law.exponent, slope);
            bundle.capacity = swims.select(zero, capacity);
            let lacking = bundle.capacity - bundle.mass;
            let share = one - decay((exchange * distance).min(all(5.0)));
            let wanted = swims.select(share.max(all(SINKING)), share) * lacking;
            let rise = zero.above(fall).select(-fall, (bundle.behind - here).max(zero));
            // No land grows out of the water.
            let rise = swims.select(depth, rise);
            most = here + rise;
            let limited = [LaneMask::default(), wanted.above(cut), (-rise).above(wanted)];
            for (counts, limited) in bundle.limited.iter_mut().zip(limited) {
                for lane in 0..LANES {
                    counts[lane] += limited.0[lane] & bundle.runs.0[lane] & 1;
                }
            }
            let laid = zero.above(fall).without(swims).select(-bundle.mass, wanted).max(-rise);
            lacking.above(zero).select(wanted.min(cut), laid)
        };
        let mut acts = bundle.runs;
        if outermost.any() {
            for lane in 0..LANES {
                if outermost.0[lane] & acts.0[lane] != 0 {
                    let base_level = ground.base_level([columns[lane], rows[lane]]);
                    if base_level == f32::NEG_INFINITY {
                        continue;
                    }
                    least.0[lane] = least.0[lane].max(base_level);
                    // The base level is no limiter. Through an outlet, droplets carry their load off the map.
                    let above = (here.0[lane] - base_level).max(0.0);
                    if amount.0[lane] > above {
                        amount.0[lane] = above;
                    }
                    acts.0[lane] = if amount.0[lane] < 0.0 { 0 } else { acts.0[lane] };
                }
            }
        }
        // NaN must not get lost.
        let amount = amount + (fall + slope_x + slope_y) * zero;
        bundle.behind = here;
        bundle.volume = if law.published {
            bundle.volume * (one - evaporation)
        } else {
            bundle.volume * decay((evaporation * distance).min(all(5.0)))
        };
        let found = (bundle.lowest - all(1e-4 / law.steepness)).above(ahead);
        bundle.lowest = found.select(ahead, bundle.lowest);
        bundle.waited =
            found.without(swims).select(zero, bundle.waited + swims.select(all(law.patience / DRIFT_STEPS), one));
        let mut ended = left;
        for lane in 0..LANES {
            bundle.steps[lane] += bundle.runs.0[lane] & 1;
            let spent = (bundle.volume.0[lane] <= law.min_volume) | (moves.0[lane] == 0);
            let caught = !law.published & (bundle.waited.0[lane] > law.patience);
            let endless = (law.published | (ground.edge == Edge::Wrap)) & (bundle.steps[lane] >= law.most_steps);
            ended.0[lane] |= if spent | caught | endless { u32::MAX } else { 0 };
        }
        bundle.left = bundle.left.or(left);
        bundle.runs = bundle.runs.without(ended);
        let highest = west.max(east).max(north.max(south));
        let undercuts = (highest - here + amount).above(all(law.steep)).and(amount.above(zero));
        StreamStep { places, amount: acts.select(amount, zero), least, most, undercuts }
    }
}

/// Returns the power of a positive base to 1e-5, by basic arithmetic only.
#[inline(always)]
fn power(base: Lanes, exponent: f32) -> Lanes {
    const MANTISSA: u32 = (1 << 23) - 1;
    const ONE: u32 = 127 << 23;
    let all = |value: f32| Lanes([value; LANES]);
    // base = m·2^e with m from √½ to √2.
    let (mut mantissa, mut whole) = (Lanes::default(), Lanes::default());
    for lane in 0..LANES {
        let bits = base.0[lane].to_bits();
        let large = (bits & MANTISSA) > 0x35_04f3;
        let shifted = if large { ONE - (1 << 23) } else { ONE };
        mantissa.0[lane] = f32::from_bits((bits & MANTISSA) | shifted);
        whole.0[lane] = ((bits >> 23) as i32 - if large { 126 } else { 127 }) as f32;
    }
    // log2 m = 2/ln 2·(s + s³/3 + s⁵/5 + s⁷/7), s = (m − 1)/(m + 1)
    let part = (mantissa - all(1.0)) / (mantissa + all(1.0));
    let square = part * part;
    let series = all(1.0) + square * (all(1.0 / 3.0) + square * (all(0.2) + square * all(1.0 / 7.0)));
    let logarithm = whole + part * series * all(2.0 * std::f32::consts::LOG2_E);
    let wanted = (logarithm * all(exponent)).min(all(126.0)).max(all(-126.0));
    // 2^w = 2^n·e^(f·ln 2), f from −½ to ½.
    let (mut fraction, mut scale) = (Lanes::default(), Lanes::default());
    for lane in 0..LANES {
        let shifted = wanted.0[lane] + 127.5;
        // SAFETY: it lies between 1 and 254.
        let near: i32 = unsafe { shifted.to_int_unchecked() };
        fraction.0[lane] = shifted - near as f32 - 0.5;
        scale.0[lane] = f32::from_bits((near as u32) << 23);
    }
    let x = fraction * all(std::f32::consts::LN_2);
    let series = all(0.5) + x * (all(1.0 / 6.0) + x * (all(1.0 / 24.0) + x * all(1.0 / 120.0)));
    scale * (all(1.0) + x * (all(1.0) + x * series))
}

/// Returns the error function of x ≥ 0 to 2e-3, by basic arithmetic only (Abramowitz & Stegun, 7.1.26).
#[inline(always)]
fn saturation(x: Lanes) -> Lanes {
    let all = |value: f32| Lanes([value; LANES]);
    let x = x.min(all(2.2));
    let t = all(1.0) / (all(1.0) + all(0.327_591_1) * x);
    let series = all(-0.284_496_74) + t * (all(1.421_413_8) + t * (all(-1.453_152) + t * all(1.061_405_4)));
    all(1.0) - t * (all(0.254_829_6) + t * series) * decay(x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_power_matches_powf() {
        for exponent in [0.0, 0.2, 0.45, 1.0] {
            for step in -60..100 {
                let base = 1.7_f32.powf(0.5 * step as f32);
                let (found, wanted) =
                    (power(Lanes([base; LANES]), exponent).0[3], f64::from(base).powf(exponent.into()));
                assert!((f64::from(found) / wanted - 1.0).abs() < 1e-5, "{base}^{exponent}: {found}, not {wanted}");
            }
        }
    }

    #[test]
    fn saturation_approximates_error_function() {
        for (x, wanted) in [(0.0, 0.0), (0.2, 0.222_703), (0.5, 0.520_500), (1.0, 0.842_701), (2.0, 0.995_322)] {
            assert!((saturation(Lanes([x; LANES])).0[0] - wanted).abs() < 5e-5, "{x}");
        }
    }
}
