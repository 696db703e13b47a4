//! The published steps, written once over [`Real`].
//!
//! Law "mass transfer" (SimpleErosion, McDonald 2020, with the sign-correct normal of its successor of 2025), a step of dt:
//!
//! ```text
//! n  = Σ facets                       v += dt·n/(V·density)    p += dt·v    v *= 1 − dt·friction
//! C  = V·|v|·max(0, z(old) − z(new))  s += dt·Kd·(C − s)       z(old) −= dt·V·Kd·(C − s)
//! V *= 1 − dt·Ke
//! ```
//!
//! Law "capacity" (Chiba 1998 in the form of lecture notes, UIUC CS 418), a step:
//!
//! ```text
//! n  = Σ facets / |Σ|                 v += Ka·n    v *= 1 − Kf    p += v
//! C  = Kc·|v|·w                       s > C: Kd·(s − C) settles, else Ks·(C − s) is lifted, at the new cell
//! w −= evaporation
//! ```
//!
//! Σ facets is the weighted sum of the normals of the eight facets around p. p in cells, v in cells per unit of time, z and s in
//! metres. A droplet leaves in the outermost ring of cells and ends when its water is used up. Its remaining load is then lost, as is
//! the sediment removed by evaporation: both as published. Deposits above the highest ground of the map are lost too, which stops
//! runaway towers.

use super::Params;
use crate::simd::number::Real;

/// A droplet, or a bundle of droplets.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropletState<R> {
    /// Column, in cells.
    pub x: R,
    /// Row, in cells.
    pub y: R,
    /// Velocity along columns, in cells per unit of time.
    pub vx: R,
    /// Velocity along rows.
    pub vy: R,
    /// Volume of water, as a fraction of a full droplet.
    pub volume: R,
    /// Sediment: a fraction of the volume, in metres.
    pub load: R,
}

impl<R: Real> DropletState<R> {
    /// Returns a droplet at rest without sediment.
    pub fn at(x: R, y: R, volume: R) -> Self {
        let zero = R::splat(0.0);
        Self { x, y, vx: zero, vy: zero, volume, load: zero }
    }
}

/// One of the two laws with its constants.
pub trait DropletStep<R>: Copy + Sync {
    /// `true` if a step changes the ground at the cell of arrival rather than departure.
    const AT_ARRIVAL: bool;

    /// Returns the horizontal part of the driving normal, from the weighted sum of facet normals.
    fn drive(&self, normal: [R; 3]) -> [R; 2];

    /// Accelerates, moves and slows the droplet.
    fn travel(&self, droplet: &mut DropletState<R>, drive: [R; 2]);

    /// Exchanges sediment with the ground and evaporates, given the heights of the cells of departure and arrival. Returns the
    /// erosion in metres, negative for deposition.
    fn exchange(&self, droplet: &mut DropletState<R>, left: R, reached: R) -> R;

    /// Returns the sediment load, in metres times cells.
    fn cargo(&self, droplet: &DropletState<R>) -> R;

    /// Returns a positive value while the droplet has water.
    fn remaining(&self, droplet: &DropletState<R>) -> R;
}

/// Constants of law "mass transfer".
#[derive(Clone, Copy, Debug)]
pub struct MassTransfer<R> {
    dt: R,
    dt_per_density: R,
    slowing: R,
    rate: R,
    drying: R,
    min_volume: R,
}

impl<R: Real> MassTransfer<R> {
    /// Returns the constants for these parameters.
    pub fn new(params: &Params) -> Self {
        let dt = f64::from(params.dt);
        Self {
            dt: R::splat(dt),
            dt_per_density: R::splat(dt / f64::from(params.density)),
            slowing: R::splat(1.0 - dt * f64::from(params.friction)),
            rate: R::splat(dt * f64::from(params.deposition_rate)),
            drying: R::splat(1.0 - dt * f64::from(params.evaporation_rate)),
            min_volume: R::splat(f64::from(params.min_volume)),
        }
    }
}

impl<R: Real + Sync> DropletStep<R> for MassTransfer<R> {
    const AT_ARRIVAL: bool = false;

    #[inline(always)]
    fn drive(&self, [x, y, _]: [R; 3]) -> [R; 2] {
        [x, y]
    }

    #[inline(always)]
    fn travel(&self, droplet: &mut DropletState<R>, [x, y]: [R; 2]) {
        let push = self.dt_per_density / droplet.volume;
        droplet.vx = droplet.vx + x * push;
        droplet.vy = droplet.vy + y * push;
        droplet.x = droplet.x + droplet.vx * self.dt;
        droplet.y = droplet.y + droplet.vy * self.dt;
        droplet.vx = droplet.vx * self.slowing;
        droplet.vy = droplet.vy * self.slowing;
    }

    #[inline(always)]
    fn exchange(&self, droplet: &mut DropletState<R>, left: R, reached: R) -> R {
        let speed = (droplet.vx * droplet.vx + droplet.vy * droplet.vy).sqrt();
        let capacity = (droplet.volume * speed * (left - reached)).max(R::splat(0.0));
        let change = self.rate * (capacity - droplet.load);
        let taken = change * droplet.volume;
        droplet.load = droplet.load + change;
        droplet.volume = droplet.volume * self.drying;
        taken
    }

    #[inline(always)]
    fn cargo(&self, droplet: &DropletState<R>) -> R {
        droplet.load * droplet.volume
    }

    #[inline(always)]
    fn remaining(&self, droplet: &DropletState<R>) -> R {
        droplet.volume - self.min_volume
    }
}

/// Constants of law "capacity".
#[derive(Clone, Copy, Debug)]
pub struct CapacityLaw<R> {
    acceleration: R,
    slowing: R,
    capacity: R,
    settling: R,
    suspension: R,
    evaporation: R,
}

impl<R: Real> CapacityLaw<R> {
    /// Returns the constants for these parameters on cells of this size, in metres.
    pub fn new(params: &Params, cell_size: f32) -> Self {
        Self {
            acceleration: R::splat(f64::from(params.acceleration)),
            slowing: R::splat(1.0 - f64::from(params.drag)),
            capacity: R::splat(f64::from(params.capacity) * f64::from(cell_size) * 0.01),
            settling: R::splat(f64::from(params.settling)),
            suspension: R::splat(f64::from(params.suspension)),
            evaporation: R::splat(f64::from(params.evaporation)),
        }
    }
}

impl<R: Real + Sync> DropletStep<R> for CapacityLaw<R> {
    const AT_ARRIVAL: bool = true;

    #[inline(always)]
    fn drive(&self, [x, y, up]: [R; 3]) -> [R; 2] {
        let length = (x * x + y * y + up * up).sqrt();
        [x / length, y / length]
    }

    #[inline(always)]
    fn travel(&self, droplet: &mut DropletState<R>, [x, y]: [R; 2]) {
        droplet.vx = (droplet.vx + self.acceleration * x) * self.slowing;
        droplet.vy = (droplet.vy + self.acceleration * y) * self.slowing;
        droplet.x = droplet.x + droplet.vx;
        droplet.y = droplet.y + droplet.vy;
    }

    #[inline(always)]
    fn exchange(&self, droplet: &mut DropletState<R>, _left: R, _reached: R) -> R {
        let speed = (droplet.vx * droplet.vx + droplet.vy * droplet.vy).sqrt();
        let lacking = self.capacity * speed * droplet.volume - droplet.load;
        let taken = lacking.if_positive(self.suspension, self.settling) * lacking;
        droplet.load = droplet.load + taken;
        droplet.volume = droplet.volume - self.evaporation;
        taken
    }

    #[inline(always)]
    fn cargo(&self, droplet: &DropletState<R>) -> R {
        droplet.load
    }

    #[inline(always)]
    fn remaining(&self, droplet: &DropletState<R>) -> R {
        droplet.volume
    }
}

/// Returns the weighted sum of the eight facet normals around a cell, as (along columns, along rows, up). Not a unit vector.
///
/// `around` are the heights of the 3 × 3 cells, row by row; `steepness` converts a height difference between neighbours to a slope:
/// 1 / cell size.
#[inline(always)]
pub fn facet_normal<R: Real>(around: [R; 9], steepness: R) -> [R; 3] {
    let [nw, north, ne, west, here, east, sw, south, se] = around;
    let one = R::splat(1.0);
    let two = R::splat(2.0);
    // A cardinal facet falls by `slope` over one cell; its unit normal has the components slope/√(1+slope²) and 1/√(1+slope²).
    let cardinal = |fall: R| {
        let slope = fall * steepness;
        let up = one / (one + slope * slope).sqrt();
        [slope * up, up]
    };
    // A diagonal facet falls by `fall` over √2 cells; each horizontal component is (fall/√2)/√(2+fall²).
    let diagonal = |fall: R| {
        let fall = fall * steepness;
        let length = one / (two + fall * fall).sqrt();
        [fall * R::splat(std::f64::consts::FRAC_1_SQRT_2) * length, R::splat(std::f64::consts::SQRT_2) * length]
    };
    let (e, w, s, n) = (cardinal(here - east), cardinal(west - here), cardinal(here - south), cardinal(north - here));
    let (d_se, d_ne) = (diagonal(here - se), diagonal(here - ne));
    let (d_sw, d_nw) = (diagonal(here - sw), diagonal(here - nw));
    let (near, far) = (R::splat(0.15), R::splat(0.10));
    let x = near * (e[0] + w[0]) + far * ((d_se[0] - d_nw[0]) + (d_ne[0] - d_sw[0]));
    let y = near * (s[0] + n[0]) + far * ((d_se[0] - d_nw[0]) - (d_ne[0] - d_sw[0]));
    let up = near * ((e[1] + w[1]) + (s[1] + n[1])) + far * ((d_se[1] + d_nw[1]) + (d_ne[1] + d_sw[1]));
    [x, y, up]
}

/// Totals of droplets run one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTally {
    /// Steps taken.
    pub steps: u64,
    /// Σ|change of ground|, in metres times cells.
    pub moved: f64,
}

/// Runs one droplet to its end on the live ground: the loop of the published program, and the scalar reference implementation.
///
/// `ground` is row-major, in metres (or any unit that matches `steepness`).
pub fn run_alone<R, S>(
    ground: &mut [R],
    width: usize,
    steepness: R,
    law: &S,
    mut droplet: DropletState<R>,
) -> (DropletState<R>, RunTally)
where
    R: Real + PartialOrd + Into<f64>,
    S: DropletStep<R>,
{
    let height = ground.len() / width;
    let zero = R::splat(0.0);
    let mut tally = RunTally::default();
    while law.remaining(&droplet) > zero {
        let (x, y): (f64, f64) = (droplet.x.into(), droplet.y.into());
        let (x, y) = (x as usize, y as usize);
        if x < 1 || y < 1 || x + 1 >= width || y + 1 >= height {
            break;
        }
        let old = y * width + x;
        let row = |start: usize| [ground[start - 1], ground[start], ground[start + 1]];
        let ([a, b, c], [d, e, f], [g, h, i]) = (row(old - width), row(old), row(old + width));
        law.travel(&mut droplet, law.drive(facet_normal([a, b, c, d, e, f, g, h, i], steepness)));
        tally.steps += 1;
        let (x, y): (f64, f64) = (droplet.x.into(), droplet.y.into());
        if !(x >= 0.0 && y >= 0.0 && x < width as f64 && y < height as f64) {
            break;
        }
        let new = y as usize * width + x as usize;
        let taken = law.exchange(&mut droplet, ground[old], ground[new]);
        let place = if S::AT_ARRIVAL { new } else { old };
        ground[place] = ground[place] - taken;
        tally.moved += Into::<f64>::into(taken).abs();
    }
    (droplet, tally)
}
