//! Law "2020" as published: wind grains that slide over the ground, fly and eject sand on impact, generic over [`Real`].
//!
//! A step of dt for a grain at p (cells) and height (all heights as multiples of 80 cells) with velocity v:
//!
//! ```text
//! height < ground: lifted to it.     height > ground: v_z −= dt·gravity,    else v += dt·(v × n) × n
//! v += 0.1·dt·(wind − v)             p += dt·(v_x, v_y)                     height += dt·v_z
//! in contact with the new cell:  force = |v|·(ground' − height);  bare: dt·abrasion·force·load of rock turns into sand,
//!     else dt·suspension·force of sand is lifted if there is more than that, else all of it is lost
//! flying:  load −= dt·suspension·load;  dt·suspension·load falls, half on the old, half on the new cell
//! ```
//!
//! n is the normal of central differences, bilinear between four cells. Since (v × n) × n is the opposite of the component of v
//! along the ground, the published "deflection" is drag. The law forms ripples and rough dunes, but no barchans.

use super::{
    Params,
    grains::{Grain, GrainBed, GrainState, GrainStep, GrainTally},
};
use crate::simd::number::Real;

/// Unit of height, in cells: the published program scales its normals by it.
pub(super) const TALL: f64 = 80.0;
/// Relaxation rate of a grain to the velocity of the wind.
const RELAXATION: f64 = 0.1;
/// Speed below which a grain stops.
const SLOWEST: f64 = 0.01;

/// Coefficients of the law; velocities in cells per unit of time, upwards in heights of 80 cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law2020<R> {
    dt: R,
    /// Height of 80 cells, in metres.
    tall: R,
    /// Slope per height difference over two cells.
    steepness: R,
    fall: R,
    relaxation: R,
    wind: [R; 2],
    suspension: R,
    abrasion: R,
    /// Height difference up to which sand is stable, in metres, and the fraction of the excess that slides.
    roughness: R,
    settling: R,
}

impl<R: Real + PartialOrd + Into<f64>> Law2020<R> {
    /// Width of the border in which a grain leaves the map, in cells: the reach of the normal.
    pub const MARGIN: usize = 2;

    /// Creates the law from parameters and a wind, in cells per unit of time, on cells of this size, in metres.
    pub fn new(params: &Params, wind: [f64; 2], cell_size: f64) -> Self {
        let (dt, tall) = (f64::from(params.dt), TALL * cell_size);
        Self {
            dt: R::splat(dt),
            tall: R::splat(tall),
            steepness: R::splat(0.5 / cell_size),
            fall: R::splat(dt * f64::from(params.gravity)),
            relaxation: R::splat(RELAXATION * dt),
            wind: wind.map(R::splat),
            suspension: R::splat(dt * f64::from(params.suspension)),
            abrasion: R::splat(dt * f64::from(params.abrasion)),
            roughness: R::splat(f64::from(params.roughness) * tall),
            settling: R::splat(f64::from(params.dt * params.settling)),
        }
    }

    /// Moves a grain by a step and exchanges sand with the ground.
    #[inline(always)]
    pub fn step(&self, ground: &mut GrainBed<'_, R>, grain: &mut Grain<R>, tally: &mut GrainTally) -> GrainStep<R> {
        let zero = R::splat(0.0);
        let [x, y] = GrainBed::cell(grain.place);
        let old = y * ground.width + x;
        let elevation = ground.elevation(old);
        let touches = grain.height <= elevation;
        let [vx, vy, vz] = grain.velocity;
        let velocity = if touches {
            grain.height = elevation;
            self.slow_down(grain.velocity, self.normal(ground, [x, y], grain.place))
        } else {
            [vx, vy, vz - self.fall]
        };
        for ((own, velocity), wind) in grain.velocity.iter_mut().zip(velocity).zip([self.wind[0], self.wind[1], zero]) {
            *own = velocity + self.relaxation * (wind - velocity);
        }
        let [vx, vy, vz] = grain.velocity;
        let [px, py] = grain.place;
        let place = [px + self.dt * vx, py + self.dt * vy];
        grain.height = grain.height + self.dt * vz * self.tall;
        let mut step = GrainStep { state: GrainState::Outside, cell: old, touches, worn: zero };
        if !ground.contains(place, Self::MARGIN) {
            return step;
        }
        grain.place = place;
        let [column, row] = GrainBed::cell(place);
        let new = row * ground.width + column;
        let speed = grain.speed();
        let depth = ground.elevation(new) - grain.height;
        if depth >= zero {
            let force = speed * depth;
            let lift = self.suspension * force;
            let sand = ground.sand[old];
            if sand <= zero {
                // No more than the last digit of the layer resolves, here and below.
                let rock = ground.bedrock[old];
                ground.bedrock[old] = rock - self.abrasion * force * (grain.load / self.tall);
                step.worn = rock - ground.bedrock[old];
                ground.sand[old] = step.worn;
                tally.worn += step.worn.into();
            } else if sand > lift {
                grain.load = grain.load + ground.set_sand(old, sand - lift, tally);
                ground.cascade([x, y], self.roughness, self.settling, tally);
            } else {
                tally.lost += ground.set_sand(old, zero, tally).into();
            }
        } else {
            let sinks = self.suspension * grain.load;
            grain.load = grain.load - sinks;
            let half = R::splat(0.5) * self.suspension * grain.load;
            tally.lost += sinks.into() - (half + half).into();
            for cell in [new, old] {
                // The grain keeps what the layer cannot resolve.
                grain.load = grain.load + (half + ground.set_sand(cell, ground.sand[cell] + half, tally));
            }
            ground.cascade([column, row], self.roughness, self.settling, tally);
            ground.cascade([x, y], self.roughness, self.settling, tally);
        }
        step.state = if speed < R::splat(SLOWEST) { GrainState::Stopped } else { GrainState::Moving };
        step
    }

    /// Returns the velocity of a grain after contact with ground of this normal.
    #[inline(always)]
    fn slow_down(&self, [vx, vy, vz]: [R; 3], [nx, ny, nz]: [R; 3]) -> [R; 3] {
        let along = (vx * nx + vy * ny) + vz * nz;
        let square = (nx * nx + ny * ny) + nz * nz;
        let part = |v: R, n: R| v + self.dt * (along * n - square * v);
        [part(vx, nx), part(vy, ny), part(vz, nz)]
    }

    /// Returns the normal at a position in a cell, as (along columns, along rows, up), interpolated between four cells.
    #[inline(always)]
    fn normal(&self, ground: &GrainBed<'_, R>, [x, y]: [usize; 2], [px, py]: [R; 2]) -> [R; 3] {
        let width = ground.width;
        let row = |first: usize| {
            let (rock, sand) = (&ground.bedrock[first..first + 4], &ground.sand[first..first + 4]);
            [rock[0] + sand[0], rock[1] + sand[1], rock[2] + sand[2], rock[3] + sand[3]]
        };
        let first = y * width + x - 1;
        let [a, b, c, d] = [first - width, first, first + width, first + 2 * width].map(row);
        let one = R::splat(1.0);
        let (fx, fy) = (px - R::splat(x as f64), py - R::splat(y as f64));
        let (gx, gy) = (one - fx, one - fy);
        // The two cells in row b, then the two in row c: adjacent, for the vector unit.
        let weights = [gx * gy, fx * gy, gx * fy, fx * fy];
        let (west, east) = ([b[0], b[1], c[0], c[1]], [b[2], b[3], c[2], c[3]]);
        let (north, south) = ([a[1], a[2], b[1], b[2]], [c[1], c[2], d[1], d[2]]);
        let along: [R; 4] = std::array::from_fn(|cell| self.steepness * (west[cell] - east[cell]));
        let down: [R; 4] = std::array::from_fn(|cell| self.steepness * (north[cell] - south[cell]));
        let length = |cell: usize| ((along[cell] * along[cell] + down[cell] * down[cell]) + one).sqrt();
        let up: [R; 4] = std::array::from_fn(|cell| weights[cell] / length(cell));
        let sum = |parts: [R; 4]| (parts[0] + parts[1]) + (parts[2] + parts[3]);
        let scaled = |parts: [R; 4]| std::array::from_fn(|cell| parts[cell] * up[cell]);
        [sum(scaled(along)), sum(scaled(down)), sum(up)]
    }
}
