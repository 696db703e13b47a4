//! Law "boundary layer" as published in 2023 by the author of the law of 2020, as far as its description goes.
//!
//! A step of a grain with velocity v (cells per step) over a cell with normal n; thicknesses and loads in units of 80 cells,
//! heights above the ground in cells:
//!
//! ```text
//! e = e^(−height above ground/boundary layer)      open = 1 − max(0, n·wind/|wind|)       hit = max(0, −n·v/|v|)
//! v += 0.05·((0.1 + 0.9·open)·wind − v)            flying: v_up −= gravity·load
//! v += 0.9·(open·mix(wind, (1 − hit)·v_tangential, open·e) − v)
//! v += turbulence·e·hit·random                     v *= 1 − 0.3·load                      p += v
//! capacity = e·(max(0, −n·v)·|v| + 0.02·(1 − hit)·|v|)       load += suspension·(capacity − load), from or to the sand
//! ```

use super::{
    field::{Field, HEIGHT, LOOSE, QUANTA},
    flight::{GrainLaw, GrainNote, Grains, TABLE, TOUCH},
    law2020::{MOST, TALL},
};
use crate::simd::cells::{Cells, Places};

/// The law over the ground that a wave of grains sees.
pub struct Boundary<'a> {
    /// The ground; heights in units of 80 cells.
    pub field: &'a Field,
    /// Wind along columns and rows, in cells per step.
    pub wind: [f32; 2],
    /// 1 over the depth of the layer, in cells.
    pub layer: f32,
    /// Share of the difference to the capacity that a step makes up.
    pub suspension: f32,
    /// Fall per load in a step.
    pub gravity: f32,
    /// Size of the random part.
    pub turbulence: f32,
    /// Random numbers from −1 to 1.
    pub table: &'a [f32; TABLE],
    /// Steps after which a grain ends.
    pub longest: f32,
}

const PER_HEIGHT: f32 = QUANTA * TALL as f32;
/// Share of a cell's sand that a grain lifts at most in a step: others come too.
const GREATEST_BITE: f32 = 0.25;
/// Greatest load, in heights: what a count of quanta holds.
const FULL: f32 = 1.2;
/// Speed below which a grain ends, in cells per step.
const SLOWEST: f32 = 0.01;
/// Fastest that a grain moves, in cells per step: faster ones are a spike's doing.
const FASTEST: f32 = 64.0;

impl Boundary<'_> {
    /// The unit normal of a cell.
    #[inline(always)]
    fn normal<V: Cells>(&self, cell: &Places) -> [V; 3] {
        // SAFETY: grains are on the map, and the ring lies around it.
        let [north, row, south] = unsafe {
            [self.field.heights::<V>(cell, -1), self.field.heights::<V>(cell, 0), self.field.heights::<V>(cell, 1)]
        };
        let half = V::all(0.5 * TALL as f32);
        let (x, y) = (half * (row[0] - row[2]), half * (north[1] - south[1]));
        let up = V::all(1.0) / ((x * x + y * y) + V::all(1.0)).sqrt();
        [x * up, y * up, up]
    }
}

/// e^(−x) for x ≥ 0 to 1e-4, from plain arithmetic alone; 0 beyond 16.
#[inline(always)]
pub(super) fn decay<V: Cells>(x: V) -> V {
    let (one, part) = (V::all(1.0), x.min(V::all(16.0)) * V::all(1.0 / 32.0));
    let mut power = one - part * (one - part * (V::all(0.5) - part * (V::all(1.0 / 6.0) - part * V::all(1.0 / 24.0))));
    for _ in 0..5 {
        power = power * power;
    }
    x.if_above(V::all(16.0), V::all(0.0), power)
}

#[inline(always)]
fn dot<V: Cells>(a: [V; 3], b: [V; 3]) -> V {
    (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]
}

impl GrainLaw for Boundary<'_> {
    fn settles(&self) -> bool {
        false
    }

    fn field(&self) -> &Field {
        self.field
    }

    fn bite(&self) -> f32 {
        GREATEST_BITE
    }

    #[inline(always)]
    fn step<V: Cells>(&self, grains: &mut Grains<V>) -> GrainNote<V> {
        let field = self.field;
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let tiny = V::all(1e-12);
        let runs = grains.runs;
        let old = field.cell(grains.x, grains.y);
        let n = self.normal::<V>(&old);
        let wind = [V::all(self.wind[0]), V::all(self.wind[1]), zero];
        let strength = dot(wind, wind).sqrt().max(tiny);
        // SAFETY: grains are on the map.
        let ground = unsafe { field.parts::<V>(&old) }[HEIGHT] * V::all(TALL as f32);
        let height = grains.height.max(ground);
        let above = height - ground;
        let e = decay(above * V::all(self.layer));
        let open = one - (dot(n, wind) / strength).positive();
        let mut v = grains.velocity;
        for part in 0..3 {
            v[part] = v[part] + V::all(0.05) * ((V::all(0.1) + V::all(0.9) * open) * wind[part] - v[part]);
        }
        let load = V::number(grains.load) * V::all(1.0 / PER_HEIGHT);
        v[2] = above.if_above(zero, v[2] - V::all(self.gravity) * load, v[2]);
        let hit = (-dot(n, v) / dot(v, v).sqrt().max(tiny)).positive();
        let along = dot(n, v);
        let slows = (one - V::all(0.3) * load).positive();
        let speed_limit = V::all(FASTEST);
        for part in 0..3 {
            let aside = (one - hit) * (v[part] - along * n[part]);
            let guided = wind[part] + (open * e) * (aside - wind[part]);
            let eddy = grains.draw(self.table);
            v[part] = v[part] + V::all(0.9) * (open * guided - v[part]) + V::all(self.turbulence) * (e * hit * eddy);
            v[part] = (v[part] * slows).min(speed_limit).max(-speed_limit);
        }
        let (x, y) = (grains.x + v[0], grains.y + v[1]);
        let inside = x.if_positive(runs, zero) * y.if_positive(one, zero);
        let inside = V::all(field.width as f32).if_above(x, inside, zero);
        let acts = V::all(field.height as f32).if_above(y, inside, zero);
        grains.x = acts.if_above(zero, x, grains.x);
        grains.y = acts.if_above(zero, y, grains.y);
        grains.height = height + v[2];
        grains.velocity = v;
        let new = field.cell(grains.x, grains.y);
        let n = self.normal::<V>(&new);
        // SAFETY: as above.
        let parts = unsafe { field.parts::<V>(&new) };
        let (reached, loose) = (parts[HEIGHT] * V::all(TALL as f32), parts[LOOSE]);
        let e = decay((grains.height - reached).positive() * V::all(self.layer));
        let speed = dot(v, v).sqrt();
        let into = (-dot(n, v)).positive();
        let hit = into / speed.max(tiny);
        let capacity = e * (into * speed + V::all(0.02) * ((one - hit) * speed));
        let capacity = capacity.min(V::all(FULL));
        let most = loose * V::all(GREATEST_BITE);
        let change = (V::all(self.suspension) * (capacity - load)).min(most);
        let change = change.min(V::all(MOST)).max(V::all(-MOST)) * V::all(PER_HEIGHT);
        let (lifted, dropped) = (V::truncated(acts * change.positive()), V::nearest(acts * (-change).positive()));
        grains.load = V::minus(V::plus(grains.load, lifted), dropped);
        grains.lifted = V::plus(grains.lifted, lifted);
        grains.dropped = V::plus(grains.dropped, dropped);
        grains.age = grains.age + one;
        grains.left = runs.if_above(acts, one, grains.left);
        let goes_on = speed.if_above(V::all(SLOWEST), acts, zero);
        grains.runs = V::all(self.longest).if_above(grains.age, goes_on, zero);
        let contact = (reached - grains.height).if_positive(acts, zero);
        GrainNote {
            at: new,
            beside: None,
            change: [V::minus(dropped, lifted); 2],
            tally: [V::nearest(contact * V::all(TOUCH) + acts); 2],
            worn: zero,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential_function() {
        for step in 0..2000 {
            let x = step as f32 * 0.01;
            assert!((decay(x) - (-x).exp()).abs() < 1e-4, "{x}");
        }
    }
}
