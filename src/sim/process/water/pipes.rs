//! The paper's water: four one-way pipes per cell of constant cross-section (eqs 1–16), with its misprints mended.
//!
//! ```text
//! f_i ← max(0, f_i + Δt·A·g·ΔH_i/l),  f ← min(1, d·l²/(Δt·Σf))·f                        eqs 2–5
//! d ← d + Δt·(Σ in − Σ out)/l²,  u = ½·(what passes left + what passes right)/(l·d̄)      eqs 6–8
//! C = Kc·max(sin α, least)·|v|·max(0, 1 − d/Kdmax),  or with −N·V instead of sin α       eqs 9–11
//! below C: dissolve Δt·R·Ks·(C − s);  above: settle Δt·Kd·(s − C), soften the ground     eqs 12–14
//! s(x) ← s(x − v·Δt),  d ← d·(1 − Ke·Δt)                                                 eqs 15, 16
//! ```
//!
//! The ground is one solid; its two layers are only kept in step. Eq. 15 does not conserve sediment: what it makes or
//! destroys is booked as lost, and so is water that sediment displaces.

use std::ops::Range;

use super::{Capacity, Params, Sums, beyond, rain_of, wraps};
use crate::sim::{
    grid::Grid,
    real::{Kernel, with_vector_unit},
    stencil::{Border, Quantities, Window, for_bands, row_sum},
    terrain::{Edge, Terrain},
};

/// Part of the stability limit c·Δt/l ≤ 0.499 that is used.
pub(super) const COURANT: f32 = 0.35;
/// Hardness below which nothing softens further.
const LEAST_HARDNESS: f32 = 0.1;

/// Out-fluxes in cubic metres per second, and velocities in metres per second.
#[derive(Clone)]
pub(super) struct Pipes {
    size: (usize, usize),
    /// To the left, right, above and below.
    flux: [Vec<f32>; 4],
    velocity: [Grid; 2],
    /// Where the next layers are made: bedrock, sand, water, suspended.
    spare: [Grid; 4],
}

const LEFT: usize = 0;
const RIGHT: usize = 1;
const ABOVE: usize = 2;
const BELOW: usize = 3;

impl Pipes {
    pub(super) fn still(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let empty = || Grid::filled(width, height, 0.0);
        Self {
            size: (width, height),
            flux: std::array::from_fn(|_| vec![0.0; width * height]),
            velocity: [empty(), empty()],
            spare: [empty(), empty(), empty(), empty()],
        }
    }

    pub(super) fn fit(&self, terrain: &Terrain) -> bool {
        self.size == (terrain.width(), terrain.height())
    }

    pub(super) fn velocity(&self) -> [Grid; 2] {
        self.velocity.clone()
    }

    /// Finds the fluxes that the surface drives, limited to what is there.
    pub(super) fn flow(&mut self, terrain: &Terrain, params: &Params, dt: f32) {
        let (width, height) = self.size;
        let surface = Surface { terrain, rain: rain_of(terrain, params, dt), sea_level: params.sea_level };
        let size = terrain.cell_size;
        let push = params.gravity * params.pipe_area * dt / size;
        let volume = size * size / dt.max(f32::MIN_POSITIVE);
        let written = self.flux.each_mut().map(|flux| (&mut flux[..], width));
        for_bands(height, written, |rows, out| {
            with_vector_unit(Flow { surface: &surface, border: Border::of(terrain), push, volume, rows, out });
        });
    }

    /// Moves the water, exchanges sediment with the bed, carries sediment on, and lets water evaporate.
    pub(super) fn carry(&mut self, terrain: &mut Terrain, params: &Params, dt: f32) -> Sums {
        let (width, height) = self.size;
        let border = Border::of(terrain);
        let mut sums = Sums::default();
        // Layers of which a cell needs its own alone are changed where they are.
        let nothing = || Grid::filled(0, 0, 0.0);
        let mut suspended = std::mem::replace(&mut terrain.suspended, nothing());
        let mut softness = std::mem::replace(&mut terrain.softness, nothing());
        let surface = Surface { terrain, rain: rain_of(terrain, params, dt), sea_level: params.sea_level };
        let flux = self.flux.each_ref().map(|flux| &flux[..]);
        let bed = Bed::new(params, terrain.cell_size, dt);
        let [bedrock, sand, water, _] = &mut self.spare;
        let [u, v] = &mut self.velocity;
        let layers = [bedrock, sand, water, &mut suspended, &mut softness, u, v];
        let written = layers.map(|layer| (&mut layer[..], width));
        let bands = for_bands(height, written, |rows, out| {
            with_vector_unit(Erode { surface: &surface, border, bed, flux, rows, out })
        });
        bands.into_iter().for_each(|band| sums += band);
        let [bedrock, sand, water, next] = &mut self.spare;
        std::mem::swap(&mut terrain.bedrock, bedrock);
        std::mem::swap(&mut terrain.sand, sand);
        std::mem::swap(&mut terrain.water, water);
        terrain.softness = softness;
        let carried = Carried { suspended: &suspended };
        let shift = dt / terrain.cell_size;
        let stays = (1.0 - params.evaporation_rate * dt).max(0.0);
        let [u, v] = self.velocity.each_ref();
        let written = [(&mut next[..], width), (&mut terrain.water[..], width)];
        let bands = for_bands(height, written, |rows, out| {
            with_vector_unit(Transport { carried: &carried, border, shift, stays, u, v, rows, out })
        });
        for [lost, evaporated] in bands {
            sums.solid_lost += lost;
            sums.evaporated += evaporated;
        }
        terrain.suspended = std::mem::replace(next, suspended);
        sums
    }
}

/// Ground and surface of the water, with the rain of this step.
struct Surface<'a, R> {
    terrain: &'a Terrain,
    rain: R,
    sea_level: f32,
}

const GROUND: usize = 0;
const LEVEL: usize = 1;

impl<R: Fn(usize, &mut [f32])> Quantities<2> for Surface<'_, R> {
    #[inline(always)]
    fn row(&self, y: usize, [ground, level]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        (self.rain)(y, level);
        let level = &mut level[..width];
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part.clone()]);
        let water = &self.terrain.water[part];
        for x in 0..width {
            ground[x] = bedrock[x] + sand[x];
            level[x] = ground[x] + (water[x] + level[x]);
        }
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        let (ground, depth) = beyond(self.terrain, self.sea_level, index);
        [ground, ground + depth]
    }
}

struct Flow<'a, R> {
    surface: &'a Surface<'a, R>,
    border: Border,
    /// A·g·Δt/l.
    push: f32,
    /// l²/Δt.
    volume: f32,
    rows: Range<usize>,
    out: [&'a mut [f32]; 4],
}

impl<R: Fn(usize, &mut [f32])> Kernel for Flow<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let width = self.border.width;
        let (push, volume) = (self.push, self.volume);
        let mut window = Window::new(self.border, self.rows.start);
        let mut depth = vec![0.0; width];
        for (line, y) in self.rows.enumerate() {
            window.go_to(y, self.surface);
            let [over, level, under] = window.quantity(LEVEL).map(|row| &row[..width + 2]);
            let water = &self.surface.terrain.water[y * width..(y + 1) * width];
            (self.surface.rain)(y, &mut depth);
            let depth = &depth[..width];
            let part = line * width..(line + 1) * width;
            let [left, right, above, below] = &mut self.out;
            let (left, right) = (&mut left[part.clone()][..width], &mut right[part.clone()][..width]);
            let (above, below) = (&mut above[part.clone()][..width], &mut below[part][..width]);
            for x in 0..width {
                let here = level[x + 1];
                let to_left = positive(left[x] + push * (here - level[x]));
                let to_right = positive(right[x] + push * (here - level[x + 2]));
                let to_above = positive(above[x] + push * (here - over[x + 1]));
                let to_below = positive(below[x] + push * (here - under[x + 1]));
                let out = (to_left + to_right) + (to_above + to_below);
                let there = (water[x] + depth[x]) * volume;
                let limit = if out > there { there / out } else { 1.0 };
                left[x] = to_left * limit;
                right[x] = to_right * limit;
                above[x] = to_above * limit;
                below[x] = to_below * limit;
            }
        }
    }
}

#[inline(always)]
fn positive(value: f32) -> f32 {
    if value > 0.0 { value } else { 0.0 }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The numbers of eqs 6 to 14.
#[derive(Clone, Copy)]
struct Bed {
    size: f32,
    dt: f32,
    capacity: f32,
    least_tilt: f32,
    collides: bool,
    per_depth: f32,
    suspension: f32,
    deposition: f32,
    softening: f32,
    displacement: bool,
}

impl Bed {
    fn new(params: &Params, size: f32, dt: f32) -> Self {
        let deepest = params.max_erosion_depth;
        Self {
            size,
            dt,
            capacity: if deepest > 0.0 || !params.depth_limit { params.sediment_capacity } else { 0.0 },
            least_tilt: params.least_tilt,
            collides: params.capacity == Capacity::Collision,
            per_depth: if params.depth_limit && deepest > 0.0 { 1.0 / deepest } else { 0.0 },
            suspension: params.suspension_rate * dt,
            deposition: params.deposition_rate * dt,
            softening: params.softening_rate * params.suspension_rate * dt,
            displacement: params.displacement,
        }
    }
}

struct Erode<'a, R> {
    surface: &'a Surface<'a, R>,
    border: Border,
    bed: Bed,
    flux: [&'a [f32]; 4],
    rows: Range<usize>,
    /// Bedrock, sand, water, suspended, softness, both velocities.
    out: [&'a mut [f32]; 7],
}

impl<R: Fn(usize, &mut [f32])> Kernel for Erode<'_, R> {
    type Output = Sums;

    #[inline(always)]
    fn run(mut self) -> Sums {
        let Border { width, height, edge } = self.border;
        let Bed {
            size,
            dt,
            capacity,
            least_tilt,
            collides,
            per_depth,
            suspension,
            deposition,
            softening,
            displacement,
        } = self.bed;
        let terrain = self.surface.terrain;
        let share = dt / (size * size);
        let per_two_cells = 0.5 / size;
        let per_size = 1.0 / size;
        let fastest = size / dt.max(f32::MIN_POSITIVE);
        let displaced = if displacement { 1.0 } else { 0.0 };
        let mut window = Window::new(self.border, self.rows.start);
        // What comes from the left and the right, with a cell beyond either end.
        let (mut from_left, mut from_right) = (vec![0.0; width + 2], vec![0.0; width + 2]);
        let nothing = vec![0.0; width];
        let mut rained = vec![0.0; width];
        let (mut eroded, mut laid) = (vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums::default();
        for (line, y) in self.rows.enumerate() {
            window.go_to(y, self.surface);
            let [above, ground, below] = window.quantity(GROUND).map(|row| &row[..width + 2]);
            let [over, level, under] = window.quantity(LEVEL).map(|row| &row[..width + 2]);
            let row = |side: usize, y: usize| &self.flux[side][y * width..(y + 1) * width];
            let [left, right, up, down] = [LEFT, RIGHT, ABOVE, BELOW].map(|side| &row(side, y)[..width]);
            from_left[1..=width].copy_from_slice(right);
            from_right[1..=width].copy_from_slice(left);
            if wraps(edge) {
                from_left[0] = right[width - 1];
                from_right[width + 1] = left[0];
            }
            let from_above = match (y, wraps(edge)) {
                (0, false) => &nothing[..],
                (0, true) => row(BELOW, height - 1),
                _ => row(BELOW, y - 1),
            };
            let from_below = match (y + 1 == height, wraps(edge)) {
                (true, false) => &nothing[..],
                (true, true) => row(ABOVE, 0),
                _ => row(ABOVE, y + 1),
            };
            (self.surface.rain)(y, &mut rained);
            let (from_left, from_right) = (&from_left[..width + 2], &from_right[..width + 2]);
            let (from_above, from_below) = (&from_above[..width], &from_below[..width]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, old_sand) = (&terrain.bedrock[part.clone()], &terrain.sand[part.clone()]);
            let old_water = &terrain.water[part];
            let here = line * width..(line + 1) * width;
            let out = &mut self.out.each_mut().map(|layer| &mut layer[here.clone()]);
            let [bedrock, sand, water, suspended, softness, along_x, along_y] = out;
            let (eroded, laid, rained) = (&mut eroded[..width], &mut laid[..width], &rained[..width]);
            for x in 0..width {
                let d1 = old_water[x] + rained[x];
                let inflow = (from_left[x] + from_right[x + 2]) + (from_above[x] + from_below[x]);
                let outflow = (left[x] + right[x]) + (up[x] + down[x]);
                let d2 = positive(d1 + share * (inflow - outflow));
                let mean = 0.5 * (d1 + d2);
                let per_depth_and_side = 0.5 * per_size * (mean / (mean * mean + 1e-6));
                let bounded = |speed: f32| {
                    let speed = smaller(speed, fastest);
                    if speed > -fastest { speed } else { -fastest }
                };
                let u = bounded(((from_left[x] - left[x]) + (right[x] - from_right[x + 2])) * per_depth_and_side);
                let v = bounded(((from_above[x] - up[x]) + (down[x] - from_below[x])) * per_depth_and_side);
                let speed = (u * u + v * v).sqrt();
                let slope_x = (ground[x + 2] - ground[x]) * per_two_cells;
                let slope_y = (below[x + 1] - above[x + 1]) * per_two_cells;
                let square = slope_x * slope_x + slope_y * slope_y;
                let tilt = if collides {
                    // Along the flow: how the bed rises more steeply than the surface that the flow follows.
                    let surface_x = (level[x + 2] - level[x]) * per_two_cells;
                    let surface_y = (under[x + 1] - over[x + 1]) * per_two_cells;
                    let per_speed = 1.0 / (speed + 1e-9);
                    let rise = (slope_x * u + slope_y * v) * per_speed;
                    let fall = (surface_x * u + surface_y * v) * per_speed;
                    (rise - fall) / ((1.0 + square) * (1.0 + fall * fall)).sqrt()
                } else {
                    (square / (1.0 + square)).sqrt()
                };
                let tilt = if tilt > least_tilt { tilt } else { least_tilt };
                let wet = if d1 > 0.0 { positive(1.0 - d1 * per_depth) } else { 0.0 };
                let able = capacity * tilt * speed * wet;
                let (s, soft) = (suspended[x], softness[x]);
                let lack = able - s;
                let taken = smaller(suspension * soft * positive(lack), d2);
                let surplus = positive(-lack);
                let settled = smaller(deposition * surplus, s);
                let settled = if displacement { smaller(settled, d2) } else { settled };
                // What is taken is sand as long as there is some; what is laid down is part of the solid.
                let from_sand = smaller(taken, old_sand[x]);
                sand[x] = old_sand[x] - from_sand;
                // What high rock really lost and got, to the bit: its last digit is larger than what a step takes.
                let dug = old_bedrock[x] - (taken - from_sand);
                let taken = from_sand + (old_bedrock[x] - dug);
                bedrock[x] = dug + settled;
                let settled = smaller(bedrock[x] - dug, s);
                suspended[x] = (s + taken) - settled;
                water[x] = positive(d2 + displaced * (taken - settled));
                let softer = smaller(soft + softening * surplus, 1.0 - LEAST_HARDNESS);
                softness[x] = if softer > soft { softer } else { soft };
                along_x[x] = u;
                along_y[x] = v;
                eroded[x] = taken;
                laid[x] = settled;
            }
            let (dug, dropped) = (row_sum(eroded), row_sum(laid));
            sums.eroded += dug;
            sums.deposited += dropped;
            sums.rained += row_sum(rained);
            sums.water_lost -= f64::from(displaced) * (dug - dropped);
            if edge == Edge::Open {
                let mut leaves = |flux: f64| sums.water_out += f64::from(share) * flux;
                leaves(f64::from(left[0]) + f64::from(right[width - 1]));
                if y == 0 {
                    leaves(row_sum(up));
                }
                if y + 1 == height {
                    leaves(row_sum(down));
                }
            }
        }
        sums
    }
}

/// Sediment in the water.
struct Carried<'a> {
    suspended: &'a Grid,
}

impl Quantities<1> for Carried<'_> {
    #[inline(always)]
    fn row(&self, y: usize, [row]: [&mut [f32]; 1]) {
        let width = row.len();
        row.copy_from_slice(&self.suspended[y * width..(y + 1) * width]);
    }

    #[inline(always)]
    fn beyond(&self, _: usize) -> [f32; 1] {
        [0.0]
    }
}

/// Eq. 15: every cell takes what was where its water comes from, at most a cell away.
struct Transport<'a> {
    carried: &'a Carried<'a>,
    border: Border,
    /// Δt/l.
    shift: f32,
    /// Share of the water that stays.
    stays: f32,
    u: &'a Grid,
    v: &'a Grid,
    rows: Range<usize>,
    /// Suspended and water.
    out: [&'a mut [f32]; 2],
}

impl Kernel for Transport<'_> {
    /// What was lost of the sediment, and what evaporated, in metres times cells.
    type Output = [f64; 2];

    #[inline(always)]
    fn run(self) -> [f64; 2] {
        let width = self.border.width;
        let mut window = Window::new(self.border, self.rows.start);
        let mut dried = vec![0.0; width];
        let (mut lost, mut evaporated) = (0.0, 0.0);
        let [suspended, water] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to(y, self.carried);
            let [above, here, below] = window.quantity(0).map(|row| &row[..width + 2]);
            let (u, v) = (&self.u[y * width..(y + 1) * width], &self.v[y * width..(y + 1) * width]);
            let out = &mut suspended[line * width..(line + 1) * width];
            let water = &mut water[line * width..(line + 1) * width];
            let dried = &mut dried[..width];
            for x in 0..width {
                let (a, b) = (u[x] * self.shift, v[x] * self.shift);
                let (left, right, up, down) = (positive(a), positive(-a), positive(b), positive(-b));
                let (middle_x, middle_y) = (1.0 - (left + right), 1.0 - (up + down));
                // Nine weights of which four at most are not nought; summed so that a turned map gives the same bits.
                let own = (middle_x * middle_y) * here[x + 1];
                let sides = ((left * middle_y) * here[x] + (right * middle_y) * here[x + 2])
                    + ((middle_x * up) * above[x + 1] + (middle_x * down) * below[x + 1]);
                let corners = ((left * up) * above[x] + (right * down) * below[x + 2])
                    + ((right * up) * above[x + 2] + (left * down) * below[x]);
                out[x] = (own + sides) + corners;
                let stays = water[x] * self.stays;
                dried[x] = water[x] - stays;
                water[x] = stays;
            }
            lost += row_sum(&here[1..=width]) - row_sum(out);
            evaporated += row_sum(dried);
        }
        [lost, evaporated]
    }
}
