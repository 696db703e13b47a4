//! The default water: one signed flux per face, driven by the slope of the fluid's surface, slowed by the bed.
//!
//! ```text
//! H = ground + water + suspended                       surface of the fluid
//! h = max(H₁, H₂) − max(ground₁, ground₂)              depth at a face
//! q̄ = θ·q + (1 − θ)/2·(q of both neighbours)           against ripples (de Almeida 2012)
//! q ← (q̄ − g·h·Δt·(H₂ − H₁)/l) / (1 + g·Δt·n²·|q|/h^(7/3))
//! K = min(1, fluid·l / (Δt·Σ outflow))                 nobody gives more than is there
//! ```
//!
//! A flux moves the fluid, water and sediment each in its share, from the cell that it leaves. So both are conserved, and
//! erosion and deposition change neither the surface nor the ledger.

use super::{Params, Sums, beyond, rain_of, wraps};
use crate::sim::{
    grid::Grid,
    real::{Kernel, with_vector_unit},
    stencil::{Border, Quantities, Window, for_bands, row_sum},
    terrain::{Edge, Terrain},
};

/// Part of the stability limit c·Δt/l ≤ 0.707 that is used.
pub(super) const COURANT: f32 = 0.35;
/// Weight of a face's own flux against its neighbours' mean.
const THETA: f32 = 0.8;
/// Depths up to this, in metres, do not flow.
const DRY: f32 = 1e-5;

/// Fluxes across the faces between cells, in square metres per second: positive along columns and rows.
#[derive(Clone)]
pub(super) struct Faces {
    size: (usize, usize),
    /// Left of every cell, and right of the last: `width + 1` in a row.
    x: Vec<f32>,
    /// Above every cell, and below the last row.
    y: Vec<f32>,
    /// The fluxes of the next step, before they are limited to what is there.
    next_x: Vec<f32>,
    next_y: Vec<f32>,
    /// Where the next layers are made: bedrock, sand, water, suspended.
    spare: [Grid; 4],
}

impl Faces {
    pub(super) fn still(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let (x, y) = (vec![0.0; (width + 1) * height], vec![0.0; width * (height + 1)]);
        let spare = || Grid::filled(width, height, 0.0);
        Self {
            size: (width, height),
            next_x: x.clone(),
            next_y: y.clone(),
            x,
            y,
            spare: [spare(), spare(), spare(), spare()],
        }
    }

    pub(super) fn fit(&self, terrain: &Terrain) -> bool {
        self.size == (terrain.width(), terrain.height())
    }

    /// Finds the fluxes that the surface drives.
    pub(super) fn flow(&mut self, terrain: &Terrain, params: &Params, dt: f32) {
        let (width, height) = self.size;
        let (old_x, old_y) = (&self.x[..], &self.y[..]);
        let rain = rain_of(terrain, params, dt);
        let surface = Surface { terrain, rain, sea_level: params.sea_level };
        let law = Law {
            push: params.gravity * dt / terrain.cell_size,
            drag: params.gravity * dt * params.roughness * params.roughness,
        };
        for_bands(height, [(&mut self.next_x, width + 1), (&mut self.next_y, width)], |rows, [x, y]| {
            let border = Border::of(terrain);
            with_vector_unit(Flow { surface: &surface, border, law, rows, old: (old_x, old_y), out: (x, y) });
        });
    }

    /// Moves water and sediment along the fluxes, and exchanges sediment with the bed.
    pub(super) fn carry(&mut self, terrain: &mut Terrain, params: &Params, dt: f32) -> Sums {
        let (width, height) = self.size;
        let bed = Bed::new(params, dt);
        let share = dt / terrain.cell_size;
        let (next_x, next_y) = (&self.next_x[..], &self.next_y[..]);
        let border = Border::of(terrain);
        let rain = rain_of(terrain, params, dt);
        let fluid = Fluid { terrain, rain, sea_level: params.sea_level, share, fluxes: (next_x, next_y) };
        let [bedrock, sand, water, suspended] = self.spare.each_mut().map(|grid| (&mut grid[..], width));
        let written = [bedrock, sand, water, suspended, (&mut self.x[..], width + 1), (&mut self.y[..], width)];
        let mut sums = Sums::default();
        for band in
            for_bands(height, written, |rows, out| with_vector_unit(Carry { fluid: &fluid, border, bed, rows, out }))
        {
            sums += band;
        }
        let [bedrock, sand, water, suspended] = &mut self.spare;
        std::mem::swap(&mut terrain.bedrock, bedrock);
        std::mem::swap(&mut terrain.sand, sand);
        std::mem::swap(&mut terrain.water, water);
        std::mem::swap(&mut terrain.suspended, suspended);
        sums
    }

    pub(super) fn velocity(&self, terrain: &Terrain) -> [Grid; 2] {
        let (width, height) = self.size;
        let speed = |x: usize, y: usize, before: f32, after: f32| {
            let index = y * width + x;
            let depth = terrain.water[index] + terrain.suspended[index];
            0.5 * (before + after) * thin_guard(depth)
        };
        let along_x = |x, y| speed(x, y, self.x[y * (width + 1) + x], self.x[y * (width + 1) + x + 1]);
        let along_y = |x, y| speed(x, y, self.y[y * width + x], self.y[(y + 1) * width + x]);
        [Grid::from_fn(width, height, along_x), Grid::from_fn(width, height, along_y)]
    }
}

/// One over a depth, less for films: their velocity is not known.
#[inline(always)]
fn thin_guard(depth: f32) -> f32 {
    depth / (depth * depth + 1e-6)
}

/// Ground and surface of the fluid, with the rain of this step.
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
        let (water, suspended) = (&self.terrain.water[part.clone()], &self.terrain.suspended[part]);
        for x in 0..width {
            ground[x] = bedrock[x] + sand[x];
            level[x] = ground[x] + ((water[x] + level[x]) + suspended[x]);
        }
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        let (ground, depth) = beyond(self.terrain, self.sea_level, index);
        [ground, ground + depth]
    }
}

/// g·Δt/l and g·Δt·n².
#[derive(Clone, Copy)]
struct Law {
    push: f32,
    drag: f32,
}

impl Law {
    /// The next flux across a face, from its old one, that of its neighbours, and the cells on both sides.
    #[inline(always)]
    fn flux(self, [before, own, after]: [f32; 3], ground: [f32; 2], level: [f32; 2]) -> f32 {
        let top = if level[0] > level[1] { level[0] } else { level[1] };
        let sill = if ground[0] > ground[1] { ground[0] } else { ground[1] };
        let depth = top - sill;
        // A dry face is given a depth with which all stays finite, and no flux.
        let safe = if depth > DRY { depth } else { DRY };
        let mean = THETA * own + (0.5 * (1.0 - THETA)) * (before + after);
        let driven = mean - self.push * safe * (level[1] - level[0]);
        let third = inverse_cube_root(safe);
        let square = third * third;
        let flux = driven / (1.0 + self.drag * own.abs() * (square * square * square * third));
        if depth > DRY { flux } else { 0.0 }
    }
}

/// x^(−1/3) of a positive number to 1e-5, the same bits on every machine: the exponent gives a start, then Newton twice.
#[inline(always)]
fn inverse_cube_root(x: f32) -> f32 {
    let start = f32::from_bits((0x54a2_fa8c_u32 as f32 - x.to_bits() as f32 * (1.0 / 3.0)) as u32);
    let better = start * (4.0 - x * (start * start) * start) * (1.0 / 3.0);
    better * (4.0 - x * (better * better) * better) * (1.0 / 3.0)
}

/// The fluxes of a band.
struct Flow<'a, R> {
    surface: &'a Surface<'a, R>,
    border: Border,
    law: Law,
    rows: std::ops::Range<usize>,
    old: (&'a [f32], &'a [f32]),
    out: (&'a mut [f32], &'a mut [f32]),
}

impl<R: Fn(usize, &mut [f32])> Kernel for Flow<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Border { width, height, edge } = self.border;
        let mut window = Window::new(self.border, self.rows.start);
        // A row of faces with one more at either end.
        let mut padded = vec![0.0; width + 3];
        for (line, y) in self.rows.clone().enumerate() {
            window.go_to(y, self.surface);
            let ([above, ground, below], [over, level, under]) = (window.quantity(GROUND), window.quantity(LEVEL));
            let old = &self.old.0[y * (width + 1)..(y + 1) * (width + 1)];
            padded[1..=width + 1].copy_from_slice(old);
            // Across an open border the neighbour is the face itself.
            (padded[0], padded[width + 2]) = if wraps(edge) { (old[width - 1], old[1]) } else { (old[0], old[width]) };
            let out = &mut self.out.0[line * (width + 1)..(line + 1) * (width + 1)];
            {
                let (padded, ground, level) = (&padded[..width + 3], &ground[..width + 2], &level[..width + 2]);
                for x in 0..width + 1 {
                    let fluxes = [padded[x], padded[x + 1], padded[x + 2]];
                    out[x] = self.law.flux(fluxes, [ground[x], ground[x + 1]], [level[x], level[x + 1]]);
                }
            }
            match edge {
                Edge::Wall => (out[0], out[width]) = (0.0, 0.0),
                Edge::Wrap => out[width] = out[0],
                Edge::Open => {}
            }
            // Faces above this row, and below the map's last.
            for face in y..=y + usize::from(y + 1 == height) {
                let out = &mut self.out.1[(face - self.rows.start) * width..(face - self.rows.start + 1) * width];
                let closes = face == 0 || face == height;
                if closes && edge == Edge::Wall {
                    out.fill(0.0);
                    continue;
                }
                let row = |face: usize| &self.old.1[face * width..(face + 1) * width];
                let (before, after) = match (closes, edge) {
                    (true, Edge::Wrap) => (row(height - 1), row(1)),
                    _ => (row(face.saturating_sub(1)), row((face + 1).min(height))),
                };
                let own = row(face);
                let (ground, level) =
                    if face == y { ([above, ground], [over, level]) } else { ([ground, below], [level, under]) };
                let ground = ground.map(|row| &row[1..=width]);
                let level = level.map(|row| &row[1..=width]);
                for x in 0..width {
                    let fluxes = [before[x], own[x], after[x]];
                    out[x] = self.law.flux(fluxes, [ground[0][x], ground[1][x]], [level[0][x], level[1][x]]);
                }
            }
        }
    }
}

/// Ground, concentration of sediment, and the share of its outflow that a cell can give.
struct Fluid<'a, R> {
    terrain: &'a Terrain,
    rain: R,
    sea_level: f32,
    /// Δt/l.
    share: f32,
    fluxes: (&'a [f32], &'a [f32]),
}

const CONCENTRATION: usize = 1;
const LIMIT: usize = 2;

impl<R: Fn(usize, &mut [f32])> Quantities<3> for Fluid<'_, R> {
    #[inline(always)]
    fn row(&self, y: usize, [ground, concentration, limit]: [&mut [f32]; 3]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        (self.rain)(y, limit);
        let (concentration, limit) = (&mut concentration[..width], &mut limit[..width]);
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part.clone()]);
        let (water, suspended) = (&self.terrain.water[part.clone()], &self.terrain.suspended[part.clone()]);
        let across = &self.fluxes.0[y * (width + 1)..(y + 1) * (width + 1)];
        let (above, below) = (&self.fluxes.1[part], &self.fluxes.1[(y + 1) * width..(y + 2) * width]);
        for x in 0..width {
            ground[x] = bedrock[x] + sand[x];
            let fluid = (water[x] + limit[x]) + suspended[x];
            concentration[x] = suspended[x] / (fluid + f32::MIN_POSITIVE);
            let out = (positive(-across[x]) + positive(across[x + 1])) + (positive(-above[x]) + positive(below[x]));
            let wanted = out * self.share;
            limit[x] = if wanted > fluid { fluid / wanted } else { 1.0 };
        }
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 3] {
        [beyond(self.terrain, self.sea_level, index).0, 0.0, 1.0]
    }
}

#[inline(always)]
fn positive(value: f32) -> f32 {
    if value > 0.0 { value } else { 0.0 }
}

/// What the bed and the air do in a step.
#[derive(Clone, Copy)]
struct Bed {
    capacity: f32,
    least_tilt: f32,
    /// One over the depth from which on nothing is eroded; 0 without a limit.
    per_depth: f32,
    /// Rates times Δt.
    suspension: f32,
    deposition: f32,
    /// Share of the water that stays.
    stays: f32,
    /// Slopes faster than this, in metres per step, are not believed.
    dt: f32,
}

impl Bed {
    fn new(params: &Params, dt: f32) -> Self {
        let deepest = params.max_erosion_depth;
        Self {
            capacity: if deepest > 0.0 || !params.depth_limit { params.sediment_capacity } else { 0.0 },
            least_tilt: params.least_tilt,
            per_depth: if params.depth_limit && deepest > 0.0 { 1.0 / deepest } else { 0.0 },
            suspension: params.suspension_rate * dt,
            deposition: params.deposition_rate * dt,
            stays: 1.0 / (1.0 + params.evaporation_rate * dt),
            dt,
        }
    }
}

/// The layers of a band after a step, and its fluxes as they were limited.
struct Carry<'a, R> {
    fluid: &'a Fluid<'a, R>,
    border: Border,
    bed: Bed,
    rows: std::ops::Range<usize>,
    out: [&'a mut [f32]; 6],
}

impl<R: Fn(usize, &mut [f32])> Kernel for Carry<'_, R> {
    type Output = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let Bed { capacity, least_tilt, per_depth, suspension, deposition, stays, dt } = self.bed;
        let terrain = self.fluid.terrain;
        let share = self.fluid.share;
        let size = terrain.cell_size;
        let per_two_cells = 0.5 / size;
        let fastest = size / dt;
        let [bedrock, sand, water, suspended, faces_x, faces_y] = self.out;
        let mut window = Window::new(self.border, self.rows.start);
        let mut rained = vec![0.0; width];
        let (mut eroded, mut laid, mut evaporated) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        // Sediment across the faces left of the cells, above them and below them.
        let mut load_x = vec![0.0; width + 1];
        let (mut load_above, mut load_below) = (vec![0.0; width], vec![0.0; width]);
        let mut below_row = vec![0.0; width];
        let mut sums = Sums::default();
        for (line, y) in self.rows.clone().enumerate() {
            window.go_to(y, self.fluid);
            let [above, ground, below] = window.quantity(GROUND);
            let [load_over, load, load_under] = window.quantity(CONCENTRATION);
            let [limit_over, limit, limit_under] = window.quantity(LIMIT);
            (self.fluid.rain)(y, &mut rained);
            // Fluxes as limited: across the row into their place, above it likewise, below it for this row alone.
            let next_x = &self.fluid.fluxes.0[y * (width + 1)..(y + 1) * (width + 1)];
            let x_out = &mut faces_x[line * (width + 1)..(line + 1) * (width + 1)];
            {
                let (limit, load, load_x) = (&limit[..width + 2], &load[..width + 2], &mut load_x[..width + 1]);
                for x in 0..width + 1 {
                    let from_left = next_x[x] > 0.0;
                    let flux = next_x[x] * if from_left { limit[x] } else { limit[x + 1] };
                    x_out[x] = flux;
                    load_x[x] = flux * if from_left { load[x] } else { load[x + 1] };
                }
            }
            let limited = |next: &[f32], limits: [&[f32]; 2], loads: [&[f32]; 2], out: &mut [f32], load: &mut [f32]| {
                let (limits, loads) = (limits.map(|row| &row[1..=width]), loads.map(|row| &row[1..=width]));
                let (next, out, load) = (&next[..width], &mut out[..width], &mut load[..width]);
                for x in 0..width {
                    let from_above = next[x] > 0.0;
                    let flux = next[x] * if from_above { limits[0][x] } else { limits[1][x] };
                    out[x] = flux;
                    load[x] = flux * if from_above { loads[0][x] } else { loads[1][x] };
                }
            };
            let next_y = |face: usize| &self.fluid.fluxes.1[face * width..(face + 1) * width];
            let y_out = &mut faces_y[line * width..(line + 1) * width];
            limited(next_y(y), [limit_over, limit], [load_over, load], y_out, &mut load_above);
            limited(next_y(y + 1), [limit, limit_under], [load, load_under], &mut below_row, &mut load_below);

            let part = y * width..(y + 1) * width;
            let old_bedrock = &terrain.bedrock[part.clone()];
            let old_sand = &terrain.sand[part.clone()];
            let old_water = &terrain.water[part.clone()];
            let old_suspended = &terrain.suspended[part.clone()];
            let softness = &terrain.softness[part];
            let here = line * width..(line + 1) * width;
            let bedrock = &mut bedrock[here.clone()];
            let sand = &mut sand[here.clone()];
            let water = &mut water[here.clone()];
            let suspended = &mut suspended[here];
            let (above, below, ground) = (&above[..width + 2], &below[..width + 2], &ground[..width + 2]);
            let (x_out, load_x) = (&x_out[..width + 1], &load_x[..width + 1]);
            let (y_out, below_row) = (&y_out[..width], &below_row[..width]);
            let (load_above, load_below) = (&load_above[..width], &load_below[..width]);
            let (eroded, laid) = (&mut eroded[..width], &mut laid[..width]);
            let (evaporated, rained) = (&mut evaporated[..width], &rained[..width]);
            for x in 0..width {
                // What comes in, from both sides and then from above and below: a turned map gives the same sum.
                let inflow = (x_out[x] - x_out[x + 1]) + (y_out[x] - below_row[x]);
                let load_in = (load_x[x] - load_x[x + 1]) + (load_above[x] - load_below[x]);
                let wet = old_water[x] + rained[x];
                let fluid = wet + old_suspended[x];
                let s = positive(old_suspended[x] + share * load_in);
                let d = positive(wet + share * (inflow - load_in));
                // Velocity, by the mean of the depths before and after.
                let mean = 0.5 * (fluid + (d + s));
                let scale = 0.5 * thin_guard(mean);
                let (u, v) = ((x_out[x] + x_out[x + 1]) * scale, (y_out[x] + below_row[x]) * scale);
                let speed = (u * u + v * v).sqrt();
                let speed = if speed > fastest { fastest } else { speed };
                // Tilt of the ground, as a sine.
                let (slope_x, slope_y) =
                    ((ground[x + 2] - ground[x]) * per_two_cells, (below[x + 1] - above[x + 1]) * per_two_cells);
                let square = slope_x * slope_x + slope_y * slope_y;
                let tilt = (square / (1.0 + square)).sqrt();
                let tilt = if tilt > least_tilt { tilt } else { least_tilt };
                let able = capacity * tilt * speed * positive(1.0 - d * per_depth);
                // Thin water holds little, whatever its speed.
                let able = if able < d { able } else { d };
                let lack = able - s;
                // Sand first, then rock by its softness; never below the lowest neighbour, which would make a pit.
                let lowest_x = if ground[x] < ground[x + 2] { ground[x] } else { ground[x + 2] };
                let lowest_y = if above[x + 1] < below[x + 1] { above[x + 1] } else { below[x + 1] };
                let lowest = if lowest_x < lowest_y { lowest_x } else { lowest_y };
                let room = positive(ground[x + 1] - lowest);
                let want = positive(lack);
                let loose = want * (suspension / (1.0 + suspension));
                let loose = if loose < room { loose } else { room };
                let from_sand = if loose < old_sand[x] { loose } else { old_sand[x] };
                let rest = if loose > 0.0 { 1.0 - from_sand / (loose + f32::MIN_POSITIVE) } else { 0.0 };
                let hard = suspension * 2.0 * softness[x];
                let from_rock = rest * want * (hard / (1.0 + hard));
                let left = room - from_sand;
                let from_rock = if from_rock < left { from_rock } else { left };
                // A cell that dries drops all that it carries.
                let settles = if d > DRY { positive(-lack) * (deposition / (1.0 + deposition)) } else { s };
                // What high rock really lost, to the bit: its last digit is larger than what a step takes.
                bedrock[x] = old_bedrock[x] - from_rock;
                let from_rock = old_bedrock[x] - bedrock[x];
                sand[x] = (old_sand[x] - from_sand) + settles;
                suspended[x] = (s + (from_sand + from_rock)) - settles;
                let remains = d * stays;
                water[x] = remains;
                eroded[x] = from_sand + from_rock;
                laid[x] = settles;
                evaporated[x] = d - remains;
            }
            sums.eroded += row_sum(eroded);
            sums.deposited += row_sum(laid);
            sums.evaporated += row_sum(evaporated);
            sums.rained += row_sum(rained);
            if edge == Edge::Open {
                let out = f64::from(x_out[width]) - f64::from(x_out[0]);
                let load = f64::from(load_x[width]) - f64::from(load_x[0]);
                sums.water_out += f64::from(share) * (out - load);
                sums.solid_out += f64::from(share) * load;
                let mut cross = |fluxes: &[f32], loads: &[f32], sign: f64| {
                    let load = row_sum(loads);
                    sums.water_out += sign * f64::from(share) * (row_sum(fluxes) - load);
                    sums.solid_out += sign * f64::from(share) * load;
                };
                if y == 0 {
                    cross(y_out, load_above, -1.0);
                }
                if y + 1 == height {
                    cross(below_row, load_below, 1.0);
                }
            }
            if y + 1 == height {
                faces_y[(line + 1) * width..].copy_from_slice(below_row);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_cube_root_is_right_over_all_depths() {
        let mut x = 1e-5_f32;
        while x < 1e4 {
            let found = f64::from(inverse_cube_root(x));
            let right = f64::from(x).powf(-1.0 / 3.0);
            assert!((found / right - 1.0).abs() < 2e-5, "{x}: {found} for {right}");
            x *= 1.01;
        }
    }
}
