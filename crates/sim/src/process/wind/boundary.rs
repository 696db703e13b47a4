//! Law "boundary layer" as published in 2023 by the author of the law of 2020, as far as its description goes.
//!
//! A step of a grain with velocity v (cells per step) over a cell with normal n; thicknesses and loads in units of 80 cells,
//! heights above the ground in cells:
//!
//! ```text
//! e = e^(−height above ground/boundary layer)      open = 1 − max(0, n·wind/|wind|)       hit = max(0, −n·v/|v|)
//! v += 0.05·((0.1 + 0.9·open)·wind − v)            flying: v_z −= gravity·load
//! u = (1 − hit)·(v − (n·v)·n)                      v += 0.9·(open·(wind + open·e·(u − wind)) − v)
//! v += turbulence·e·hit·random                     v *= 1 − 0.3·load                      p += v
//! capacity = e·(max(0, −n·v)·|v| + 0.02·(1 − hit)·|v|)       load += suspension·(capacity − load), from or to the sand
//! ```
//!
//! In every cell that a grain reaches, half of the height difference beyond a limit slides.

use super::{
    Params,
    grains::{Grain, GrainBed, GrainState, GrainStep, GrainTally},
    law2020::TALL,
    wetness::decay,
};
use crate::core::rng::RandomStream;

/// Thickness of the boundary layer, in cells.
const LAYER: f32 = 2.0;
/// Speed below which a grain stops, in cells per step.
const SLOWEST: f32 = 0.01;
/// Maximum fraction of a cell's sand that a grain lifts in a step: our addition, as the capacity would strip thin sand at once.
const MOST_LIFTED: f32 = 0.25;
/// Fraction of half the excess that slides.
const SETTLING: f32 = 1.0;

/// Coefficients of the law.
pub(super) struct BoundaryLayer {
    cell_size: f32,
    /// Wind along columns, along rows and upwards, in cells per step, and its strength.
    wind: [f32; 3],
    strength: f32,
    /// Fraction of the difference to the capacity that a step makes up.
    suspension: f32,
    /// Fall per step and load.
    gravity: f32,
    turbulence: f32,
    /// Height difference up to which sand is stable, in metres.
    slope_limit: f32,
    /// Number of steps after which a grain stops.
    pub max_age: u32,
}

impl BoundaryLayer {
    /// Creates the law from parameters and a wind, in cells per step, on cells of this size, in metres.
    pub fn new(params: &Params, [along, down]: [f32; 2], cell_size: f32) -> Self {
        Self {
            cell_size,
            wind: [along, down, 0.0],
            strength: libm::hypotf(along, down).max(f32::MIN_POSITIVE),
            suspension: params.uptake,
            gravity: params.weight,
            turbulence: params.turbulence,
            slope_limit: params.slope_limit * TALL as f32 * cell_size,
            max_age: params.max_age,
        }
    }

    /// Moves a grain by a step and exchanges sand with the ground.
    #[inline(always)]
    pub fn step(
        &self,
        ground: &mut GrainBed<'_, f32>,
        grain: &mut Grain<f32>,
        stream: &mut RandomStream,
        tally: &mut GrainTally,
    ) -> GrainStep<f32> {
        let wind = self.wind;
        let tall = TALL as f32 * self.cell_size;
        let [x, y] = GrainBed::cell(grain.place);
        let old = y * ground.width + x;
        let n = self.normal(ground, [x, y]);
        let elevation = ground.elevation(old);
        let touches = grain.height <= elevation;
        grain.height = grain.height.max(elevation);
        let e = decay((grain.height - elevation) / self.cell_size / LAYER);
        let open = 1.0 - (dot(n, wind) / self.strength).max(0.0);
        let mut v = grain.velocity;
        for (v, wind) in v.iter_mut().zip(wind) {
            *v += 0.05 * ((0.1 + 0.9 * open) * wind - *v);
        }
        let load = grain.load / tall;
        if !touches {
            v[2] -= self.gravity * load;
        }
        let along = dot(n, v);
        let hit = (-along / length(v)).max(0.0);
        let slows = (1.0 - 0.3 * load).max(0.0);
        for ((v, wind), n) in v.iter_mut().zip(wind).zip(n) {
            let tangential = (1.0 - hit) * (*v - along * n);
            let guided = wind + open * e * (tangential - wind);
            let random = 2.0 * stream.uniform() - 1.0;
            *v = (*v + 0.9 * (open * guided - *v) + self.turbulence * e * hit * random) * slows;
        }
        grain.velocity = v;
        let place = [grain.place[0] + v[0], grain.place[1] + v[1]];
        let mut step = GrainStep { state: GrainState::Outside, cell: old, touches, worn: 0.0 };
        if !ground.contains(place, 0) {
            return step;
        }
        grain.place = place;
        grain.height += v[2] * self.cell_size;
        let [column, row] = GrainBed::cell(place);
        let new = row * ground.width + column;
        let into = (-dot(self.normal(ground, [column, row]), v)).max(0.0);
        let above = (grain.height - ground.elevation(new)).max(0.0);
        let (speed, e) = (grain.speed(), decay(above / self.cell_size / LAYER));
        let capacity = e * (into * speed + 0.02 * (1.0 - into / length(v)) * speed);
        let sand = ground.sand[new];
        let change = (self.suspension * (capacity * tall - grain.load)).min(MOST_LIFTED * sand);
        let lifted = ground.set_sand(new, sand - change, tally);
        grain.load = (grain.load + lifted).max(0.0);
        ground.cascade([column, row], self.slope_limit, SETTLING, tally);
        step.state = if speed < SLOWEST { GrainState::Stopped } else { GrainState::Moving };
        step
    }

    /// Returns the unit normal of a cell, as (along columns, along rows, up).
    #[inline(always)]
    fn normal(&self, ground: &GrainBed<'_, f32>, [x, y]: [usize; 2]) -> [f32; 3] {
        let (right, bottom) = (ground.width - 1, ground.rows - 1);
        let at = |x: usize, y: usize| ground.elevation(y * ground.width + x);
        let steepness = 0.5 / self.cell_size;
        let along = steepness * (at(x.saturating_sub(1), y) - at((x + 1).min(right), y));
        let down = steepness * (at(x, y.saturating_sub(1)) - at(x, (y + 1).min(bottom)));
        let up = 1.0 / (along * along + down * down + 1.0).sqrt();
        [along * up, down * up, up]
    }
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]
}

/// Returns the length of a vector, at least 1e-12.
fn length(v: [f32; 3]) -> f32 {
    dot(v, v).sqrt().max(1e-12)
}
