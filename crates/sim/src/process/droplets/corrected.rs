//! The corrected form of the laws "mass transfer" and "capacity".
//!
//! A step of length τ ≤ dt, short enough that no droplet moves farther than one cell:
//!
//! ```text
//! (h, ∇h) bilinear at p      v → v·e^(−f·τ) + a·(1 − e^(−f·τ))/f      p' = p + L·τ·v      h' bilinear at p'
//! mass transfer:  a = n/(V·density), f = friction,        C = V·|v|·T·max(0, h − h')/τ,  V → V·e^(−Ke·τ)
//! capacity:       a = Ka·n,          f ≈ −ln(1 − Kf),     C = Kc·|v|·w,                   w → w − evaporation·τ
//! M → M + Δ,  Δ = (1 − e^(−K·τ))·(V·C − M)  (capacity: C − M), deposited or eroded around p
//! ```
//!
//! The droplet carries the mass M (metres times cells), which evaporation does not reduce. T is the published time step, and L the
//! length of one cell of the published map, in cells, so erosion per unit of rain is the same on every grid of a map. In one step a
//! droplet erodes at most a fraction of its fall and deposits at most the rise ahead or the drop behind, and never above the highest
//! ground of the map, for instance beside a cliff; the rest stays in the load. A droplet that has found no lower ground for a while is
//! trapped in a depression: it ends, and its load settles there as a level fill (see [`super::settling`]). Sediment leaves the map
//! only over an open edge, beyond which the ground continues with its slope. Outlets there
//! ([`Border::flows_out`](crate::core::border::Border::flows_out)) are the base level: they are not eroded below their initial ground
//! and take no deposits. All other border cells wear like the interior.
//!
//! Eight droplets step side by side and read the ground as left by all earlier steps; then the ground changes, in the order of the
//! eight (see [`crate::simd::swarm`]).

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use super::{
    bundle::{Bundle, Law},
    constants::Constants,
    ground::DropletGround,
    streams::{DRIFT_STEPS, SINKING},
};
use crate::{
    core::terrain::Edge,
    process::masked::Mask,
    simd::{
        lanes::{LANES, LaneMask, Lanes},
        number::Real,
    },
};

/// Maximum fraction of its own fall that a droplet erodes in a step; later droplets deepen the cut.
const GREATEST_CUT: f32 = 0.1;

/// The laws on a ground.
pub(super) struct CorrectedLaw<'a> {
    ground: &'a DropletGround<'a>,
    law: Constants,
    /// The law at full mask, and the mask, if it has an effect.
    masked_law: Constants,
    mask: Option<&'a Mask>,
    /// `true` if deposition and erosion have the same rate.
    settles_alike: bool,
}

impl<'a> CorrectedLaw<'a> {
    /// Returns the law from its constants without and with the mask.
    pub(super) fn new(ground: &'a mut DropletGround<'_>, [law, under]: [Constants; 2], mask: Option<&'a Mask>) -> Self {
        let settles_alike = law.lifting == law.settling && under.lifting == under.settling;
        Self { ground, law, masked_law: under, mask, settles_alike }
    }
}

// SAFETY: the ground was borrowed mutably; a droplet moves one cell at most, and reads and changes 3 × 3 cells.
unsafe impl Law for CorrectedLaw<'_> {
    fn ground(&self) -> &DropletGround<'_> {
        self.ground
    }

    fn most_steps(&self) -> Option<u32> {
        (self.ground.edge == Edge::Wrap).then_some(self.law.most_steps)
    }

    #[inline(always)]
    unsafe fn act(&self, bundle: &mut Bundle) -> Lanes {
        // SAFETY: as promised by the caller.
        let (from, amount, steep) = unsafe { self.advance(bundle) };
        let mut parts = [Lanes::default(); LANES];
        for lane in 0..LANES {
            if amount.0[lane] != 0.0 {
                let place = [from[0].0[lane], from[1].0[lane]];
                // SAFETY: the droplet has prepared these tiles, and no block that runs concurrently comes near.
                parts[lane] = unsafe { self.ground.change(place, amount.0[lane]) };
                if steep.0[lane] != 0 {
                    self.ground.mark_undercut(self.ground.tile_and_cell(place[0] as i32, place[1] as i32));
                }
            }
        }
        sums(&parts)
    }
}

/// Constants of the law at the positions of eight droplets.
struct CorrectedConstants {
    friction: Lanes,
    capacity: Lanes,
    lifting: Lanes,
    settling: Lanes,
    evaporation: Lanes,
}

impl CorrectedLaw<'_> {
    /// Returns the constants of the law at the positions of the droplets.
    #[inline(always)]
    fn local(&self, bundle: &Bundle) -> CorrectedConstants {
        let all = |value: f32| Lanes([value; LANES]);
        let (free, under) = (&self.law, &self.masked_law);
        let Some(mask) = self.mask else {
            return CorrectedConstants {
                friction: all(free.friction),
                capacity: all(free.capacity),
                lifting: all(free.lifting),
                settling: all(free.settling),
                evaporation: all(free.evaporation),
            };
        };
        let mut masked = Lanes::default();
        for lane in 0..LANES {
            let (column, row) = (bundle.x.0[lane] as usize, bundle.y.0[lane] as usize);
            masked.0[lane] = mask.at(column, row);
        }
        let between = |free: f32, under: f32| all(free) + all(under - free) * masked;
        CorrectedConstants {
            friction: between(free.friction, under.friction),
            capacity: between(free.capacity, under.capacity),
            lifting: between(free.lifting, under.lifting),
            settling: between(free.settling, under.settling),
            evaporation: between(free.evaporation, under.evaporation),
        }
    }

    /// Moves eight droplets by one step. Returns their previous positions, the erosion there in metres times cells (negative for
    /// deposition), and a mask of those that erode on a steep slope.
    ///
    /// # Safety
    /// As for [`Law::act`].
    #[inline(always)]
    unsafe fn advance(&self, bundle: &mut Bundle) -> ([Lanes; 2], Lanes, LaneMask) {
        let (law, ground) = (&self.law, self.ground);
        let CorrectedConstants { friction, capacity, lifting, settling, evaporation } = self.local(bundle);
        let all = |value: f32| Lanes([value; LANES]);
        let (zero, one) = (all(0.0), all(1.0));
        // SAFETY: `Bundle::apply_border` keeps droplets on the map.
        let [here, along_x, along_y] = unsafe { ground.sample(bundle.x, bundle.y) };
        let (slope_x, slope_y) = (along_x * all(law.steepness), along_y * all(law.steepness));
        let mut push = all(-law.acceleration) / (one + (slope_x * slope_x + slope_y * slope_y)).sqrt();
        if law.falls {
            push = push / bundle.volume;
        }
        let (push_x, push_y) = (push * slope_x, push * slope_y);
        // No farther than one cell: bound the step by the current speed and the speed that it may reach.
        let dt = all(law.dt);
        let pace = {
            let (vx, vy) = (bundle.vx + dt * push_x, bundle.vy + dt * push_y);
            let after = vx * vx + vy * vy;
            let before = bundle.vx * bundle.vx + bundle.vy * bundle.vy;
            before.max(after).sqrt() * all(law.cells)
        };
        let short = (pace * dt).above(one);
        let time = short.select(one / pace, dt);
        let kept_speed = decay(friction * time);
        // ∫ e^(−f·t) dt over the step; for small f·τ the quotient loses its significant digits.
        let gained = (friction * time).above(all(1e-3)).select((one - kept_speed) / friction, time);
        bundle.vx = bundle.vx * kept_speed + push_x * gained;
        bundle.vy = bundle.vy * kept_speed + push_y * gained;
        let from = [bundle.x, bundle.y];
        // A droplet that has ended stays there: its load settles in that cell.
        bundle.x = bundle.runs.select(bundle.x + bundle.vx * (time * all(law.cells)), bundle.x);
        bundle.y = bundle.runs.select(bundle.y + bundle.vy * (time * all(law.cells)), bundle.y);
        let left = bundle.apply_border((ground.width as f32, ground.height as f32), self.ground.edge);
        // A droplet that has left samples its old position.
        (bundle.x, bundle.y) = (left.select(from[0], bundle.x), left.select(from[1], bundle.y));
        // SAFETY: as above.
        let [ahead, _, _] = unsafe {
            ground.prepare(bundle.x, bundle.y);
            ground.sample(bundle.x, bundle.y)
        };
        ground.prefetch(bundle.x + bundle.vx * (time * all(law.cells)), bundle.y + bundle.vy * (time * all(law.cells)));
        let fall = here - ahead;
        let speed = (bundle.vx * bundle.vx + bundle.vy * bundle.vy).sqrt();
        let capacity = if law.falls {
            bundle.volume * bundle.volume * speed * capacity * fall.max(zero) / time
        } else {
            capacity * speed * bundle.volume
        };
        // SAFETY: droplets are on the map.
        let (columns, rows) = unsafe { (from[0].truncated(), from[1].truncated()) };
        let depth = ground.standing_water(columns, rows, here);
        let swims = depth.above(zero);
        bundle.capacity = swims.select(zero, capacity);
        let lacking = bundle.capacity - bundle.mass;
        let kept_lacking = decay(lifting * time);
        let kept_excess = if self.settles_alike { kept_lacking } else { decay(settling * time) };
        let (digs, cut) = ((one - kept_lacking) * lacking, fall.max(zero) * all(GREATEST_CUT));
        let rise = zero.above(fall).select(-fall, (bundle.behind - here).max(zero));
        // No land grows out of standing water. Up to eight droplets may deposit in one cell.
        let rise = swims.select(depth * all(1.0 / LANES as f32), rise);
        // Where the ground rises ahead, water ponds and its load settles.
        let sinks = if law.falls { zero.above(fall) } else { LaneMask::default() };
        let lays = sinks.without(swims).select(-bundle.mass, (one - kept_excess) * lacking);
        let lays = swims.select(lays.min(lacking * all(SINKING)), lays);
        let amount = lacking.above(zero).select(digs.min(cut), lays.max(-rise));
        let acts = bundle.runs.without(left);
        let limited = [short, digs.above(cut), (-rise).above(lays)];
        for (counts, limited) in bundle.limited.iter_mut().zip(limited) {
            for lane in 0..LANES {
                counts[lane] += limited.0[lane] & acts.0[lane] & 1;
            }
        }
        bundle.behind = here;
        bundle.volume =
            if law.falls { bundle.volume * decay(evaporation * time) } else { bundle.volume - evaporation * time };
        let found = (bundle.lowest - all(1e-4 / law.steepness)).above(ahead);
        bundle.lowest = found.select(ahead, bundle.lowest);
        let waits = swims.select(time.max(all(law.patience / DRIFT_STEPS)), time);
        bundle.waited = found.without(swims).select(zero, bundle.waited + waits);
        // Standing water slows droplets down.
        (bundle.vx, bundle.vy) =
            (swims.select(bundle.vx * all(0.5), bundle.vx), swims.select(bundle.vy * all(0.5), bundle.vy));
        let mut ended = left.or(bundle.waited.above(all(law.patience)));
        for lane in 0..LANES {
            bundle.steps[lane] += bundle.runs.0[lane] & 1;
            let spent = bundle.volume.0[lane] <= law.min_volume;
            let endless = self.ground.edge == Edge::Wrap && bundle.steps[lane] >= law.most_steps;
            ended.0[lane] |= if spent | endless { u32::MAX } else { 0 };
        }
        bundle.left = bundle.left.or(left);
        bundle.runs = bundle.runs.without(ended);
        let steep = (slope_x * slope_x + slope_y * slope_y).above(all(law.steep * law.steep)).and(amount.above(zero));
        (from, acts.select(amount, zero), steep)
    }
}

/// Returns the sum over the lanes of each entry.
#[inline(always)]
fn sums(parts: &[Lanes; LANES]) -> Lanes {
    let mut sums = Lanes::default();
    for part in 0..LANES {
        for lane in 0..LANES {
            sums.0[lane] += parts[lane].0[part];
        }
    }
    sums
}

/// Returns e^(−x) for 0 ≤ x ≤ 5 to 2e-5, by basic arithmetic only: the Taylor polynomial at x/16, squared four times.
#[inline(always)]
pub(super) fn decay(x: Lanes) -> Lanes {
    let all = |value: f32| Lanes([value; LANES]);
    let (one, part) = (all(1.0), x * all(1.0 / 16.0));
    let mut power = one - part * (one - part * (all(0.5) - part * (all(1.0 / 6.0) - part * all(1.0 / 24.0))));
    for _ in 0..4 {
        power = power * power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::{super::ground::Spline, *};

    #[test]
    fn lane_decay_approximates_exponential() {
        for step in 0..500 {
            let x = step as f32 * 0.01;
            assert!((decay(Lanes([x; LANES])).0[0] - (-x).exp()).abs() < 2e-5, "{x}");
        }
    }

    #[test]
    fn spline_weights_sum_to_one() {
        for step in 0..100 {
            let part = step as f32 * 0.01;
            let total: f32 = (-1..2).map(|cell| Spline::weight(part - (cell as f32 + 0.5))).sum();
            assert!((total - 1.0).abs() < 1e-6, "{part}");
        }
    }
}
