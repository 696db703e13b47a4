//! Eqs 6 to 14: depth and velocity, capacity, what is taken and what settles.

use std::ops::Range;

use super::{ABOVE, BELOW, LEFT, RIGHT};
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row},
    process::water::{
        Capacity, FILM_SQUARE, Params, Sums,
        surface::{GROUND, LEVEL, Surface},
    },
    stencil::{Border, Window, row_sum},
    terrain::Edge,
};

/// Hardness below which nothing softens further.
const LEAST_HARDNESS: f32 = 0.1;

/// The numbers of eqs 6 to 14.
#[derive(Clone, Copy)]
pub(super) struct Bed {
    pub size: f32,
    pub dt: f32,
    /// Speed with which water passes a cell in a step; no more is believed.
    pub fastest: f32,
    pub capacity: f32,
    pub least_tilt: f32,
    pub collides: bool,
    pub per_depth: f32,
    pub suspension: f32,
    pub deposition: f32,
    pub softening: f32,
    pub displacement: bool,
}

impl Bed {
    pub fn new(params: &Params, size: f32, dt: f32) -> Self {
        let deepest = params.max_erosion_depth;
        Self {
            size,
            dt,
            fastest: size / dt.max(f32::MIN_POSITIVE),
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

/// Slopes along columns and rows, from the rows to the left, right, above and below.
#[inline(always)]
fn slope<V: Cells>(rows: &[&[f32]; 4], x: usize, per_two_cells: V) -> (V, V) {
    let along_x = V::load(rows[1], x) - V::load(rows[0], x);
    let along_y = V::load(rows[3], x) - V::load(rows[2], x);
    (along_x * per_two_cells, along_y * per_two_cells)
}

/// Eqs 6 to 8 for a row of cells. In short kernels more cells are on their way at once than in a long one.
struct FaceRow<'a> {
    bed: Bed,
    water: &'a [f32],
    /// Rain of this step; afterwards what the water really gained by it.
    rained: &'a mut [f32],
    /// What comes from the left, right, above and below, and goes there.
    inflow: [&'a [f32]; 4],
    outflow: [&'a [f32]; 4],
    /// Depth after the flow, and both velocities.
    out: [&'a mut [f32]; 3],
}

impl RowKernel for FaceRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let bed = self.bed;
        let (come_left, come_right, come_above, come_below) = (
            V::load(self.inflow[0], x),
            V::load(self.inflow[1], x),
            V::load(self.inflow[2], x),
            V::load(self.inflow[3], x),
        );
        let (go_left, go_right, go_above, go_below) = (
            V::load(self.outflow[0], x),
            V::load(self.outflow[1], x),
            V::load(self.outflow[2], x),
            V::load(self.outflow[3], x),
        );
        let water = V::load(self.water, x);
        let before = water + V::load(self.rained, x);
        (before - water).store(self.rained, x);
        let inflow = (come_left + come_right) + (come_above + come_below);
        let outflow = (go_left + go_right) + (go_above + go_below);
        let after = (before + V::all(bed.dt / (bed.size * bed.size)) * (inflow - outflow)).positive();
        let mean = V::all(0.5) * (before + after);
        let scale = V::all(0.5 / bed.size) * (mean / (mean * mean + V::all(FILM_SQUARE)));
        let fastest = V::all(bed.fastest);
        let [after_out, u_out, v_out] = &mut self.out;
        after.store(after_out, x);
        let u = ((come_left - go_left) + (go_right - come_right)) * scale;
        let v = ((come_above - go_above) + (go_below - come_below)) * scale;
        u.min(fastest).max(-fastest).store(u_out, x);
        v.min(fastest).max(-fastest).store(v_out, x);
    }
}

/// Eqs 9 to 11 for a row of cells.
struct CapacityRow<'a> {
    bed: Bed,
    water: &'a [f32],
    rained: &'a [f32],
    velocity: [&'a [f32]; 2],
    /// Ground and surface to the left, right, above and below.
    ground: [&'a [f32]; 4],
    level: [&'a [f32]; 4],
    out: &'a mut [f32],
}

impl RowKernel for CapacityRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let bed = self.bed;
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let (u, v) = (V::load(self.velocity[0], x), V::load(self.velocity[1], x));
        let speed_square = u * u + v * v;
        let per_two_cells = V::all(0.5 / bed.size);
        let (slope_x, slope_y) = slope(&self.ground, x, per_two_cells);
        let square = slope_x * slope_x + slope_y * slope_y;
        let tilt = if bed.collides {
            // Along the flow: how the bed rises more steeply than the surface that the flow follows; times the speed.
            let (surface_x, surface_y) = slope(&self.level, x, per_two_cells);
            let rise = slope_x * u + slope_y * v;
            let fall = surface_x * u + surface_y * v;
            (rise - fall) / ((one + square) * ((speed_square + V::all(1e-18)) + fall * fall)).sqrt()
        } else {
            (square / (one + square)).sqrt()
        };
        let tilt = tilt.max(V::all(bed.least_tilt));
        let depth = V::load(self.water, x) + V::load(self.rained, x);
        let wet = depth.if_above(zero, (one - depth * V::all(bed.per_depth)).positive(), zero);
        (V::all(bed.capacity) * tilt * speed_square.sqrt() * wet).store(self.out, x);
    }
}

/// Eqs 12 to 14 for a row of cells.
struct ExchangeRow<'a> {
    bed: Bed,
    capacity: &'a [f32],
    bedrock: &'a [f32],
    sand: &'a [f32],
    /// Bedrock, sand, water, suspended, softness.
    out: [&'a mut [f32]; 5],
    eroded: &'a mut [f32],
    laid: &'a mut [f32],
}

impl RowKernel for ExchangeRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let bed = self.bed;
        let [bedrock_out, sand_out, water_out, suspended_out, softness_out] = &mut self.out;
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let depth = V::load(water_out, x);
        let (s, soft) = (V::load(suspended_out, x), V::load(softness_out, x));
        let lack = V::load(self.capacity, x) - s;
        let taken = (V::all(bed.suspension) * soft * lack.positive()).min(depth);
        let surplus = (-lack).positive();
        let settled = (V::all(bed.deposition) * surplus).min(s);
        let settled = if bed.displacement { settled.min(depth) } else { settled };
        // What is taken is sand as long as there is some; what is laid down is part of the solid. What high rock really
        // lost and got counts, to the bit: its last digit is larger than what a step takes.
        let from_sand = taken.min(old_sand);
        let dug = old_bedrock - (taken - from_sand);
        let taken = from_sand + (old_bedrock - dug);
        let bedrock = dug + settled;
        let settled = (bedrock - dug).min(s);
        let displaced = V::all(if bed.displacement { 1.0 } else { 0.0 });
        bedrock.store(bedrock_out, x);
        (old_sand - from_sand).store(sand_out, x);
        ((s + taken) - settled).store(suspended_out, x);
        (depth + displaced * (taken - settled)).positive().store(water_out, x);
        let softer = (soft + V::all(bed.softening) * surplus).min(V::all(1.0 - LEAST_HARDNESS));
        softer.max(soft).store(softness_out, x);
        taken.store(self.eroded, x);
        settled.store(self.laid, x);
    }
}

pub(super) struct Erode<'a> {
    pub surface: &'a Surface<'a>,
    pub border: Border,
    pub bed: Bed,
    pub flux: [&'a [f32]; 4],
    /// A·g·Δt/l.
    pub push: f32,
    pub rows: Range<usize>,
    /// Bedrock, sand, water, suspended, softness, both velocities.
    pub out: [&'a mut [f32]; 7],
}

/// What a sea drives through the pipe across an open border, which remembers nothing; dry ground beyond gives nothing.
fn sea(push: f32, ground: f32, level: f32, own: f32) -> f32 {
    if level > ground { (push * (level - own)).max(0.0) } else { 0.0 }
}

impl Pass for Erode<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(mut self) -> Sums {
        let Border { width, height, edge } = self.border;
        let Bed { size, dt, displacement, .. } = self.bed;
        let terrain = self.surface.terrain;
        let share = dt / (size * size);
        let displaced = if displacement { 1.0 } else { 0.0 };
        let mut window = Window::new(self.border, self.rows.start);
        // What comes from the left and the right, with a cell beyond either end.
        let (mut from_left, mut from_right) = (vec![0.0; width + 2], vec![0.0; width + 2]);
        // What comes from above the first row and from below the last one.
        let (mut from_top, mut from_bottom) = (vec![0.0; width], vec![0.0; width]);
        let mut rained = vec![0.0; width];
        let (mut able, mut eroded, mut laid) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums::default();
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.surface);
            let [above, ground, below] = window.quantity(GROUND).map(|row| &row[..width + 2]);
            let [over, level, under] = window.quantity(LEVEL).map(|row| &row[..width + 2]);
            let row = |side: usize, y: usize| &self.flux[side][y * width..(y + 1) * width];
            let [left, right, up, down] = [LEFT, RIGHT, ABOVE, BELOW].map(|side| &row(side, y)[..width]);
            from_left[1..=width].copy_from_slice(right);
            from_right[1..=width].copy_from_slice(left);
            match edge {
                Edge::Wall => {}
                Edge::Wrap => (from_left[0], from_right[width + 1]) = (right[width - 1], left[0]),
                Edge::Open => {
                    let sea = |ground: f32, level: f32, own: f32| sea(self.push, ground, level, own);
                    from_left[0] = sea(ground[0], level[0], level[1]);
                    from_right[width + 1] = sea(ground[width + 1], level[width + 1], level[width]);
                    for x in (0..width).filter(|_| y == 0) {
                        from_top[x] = sea(above[x + 1], over[x + 1], level[x + 1]);
                    }
                    for x in (0..width).filter(|_| y + 1 == height) {
                        from_bottom[x] = sea(below[x + 1], under[x + 1], level[x + 1]);
                    }
                }
            }
            let from_above = match (y, edge == Edge::Wrap) {
                (0, false) => &from_top[..],
                (0, true) => row(BELOW, height - 1),
                _ => row(BELOW, y - 1),
            };
            let from_below = match (y + 1 == height, edge == Edge::Wrap) {
                (true, false) => &from_bottom[..],
                (true, true) => row(ABOVE, 0),
                _ => row(ABOVE, y + 1),
            };
            self.surface.rain.fall(y, &mut rained);
            let part = y * width..(y + 1) * width;
            let here = line * width..(line + 1) * width;
            let [bedrock, sand, water] =
                [&terrain.bedrock, &terrain.sand, &terrain.water].map(|layer| &layer[part.clone()]);
            let [new_bedrock, new_sand, new_water, suspended, softness, u, v] =
                self.out.each_mut().map(|layer| &mut layer[here.clone()]);
            let inflow = [&from_left, &from_right[2..], from_above, from_below];
            let outflow = [left, right, up, down];
            let bed = self.bed;
            over_row::<V>(width, FaceRow { bed, water, rained: &mut rained, inflow, outflow, out: [new_water, u, v] });
            let velocity = [&*u, &*v];
            let ground = [ground, &ground[2..], &above[1..], &below[1..]];
            let level = [level, &level[2..], &over[1..], &under[1..]];
            let rained = &rained[..];
            over_row::<V>(width, CapacityRow { bed, water, rained, velocity, ground, level, out: &mut able });
            let out = [new_bedrock, new_sand, new_water, suspended, softness];
            let (eroded, laid) = (&mut eroded[..], &mut laid[..]);
            over_row::<V>(width, ExchangeRow { bed, capacity: &able, bedrock, sand, out, eroded, laid });
            let (dug, dropped) = (row_sum::<V>(eroded), row_sum::<V>(laid));
            sums.eroded += dug;
            sums.deposited += dropped;
            sums.rained += row_sum::<V>(rained);
            sums.water_lost -= displaced * (dug - dropped);
            if edge == Edge::Open {
                let mut leaves = |flux: f64| sums.water_out += f64::from(share) * flux;
                leaves(f64::from(left[0]) - f64::from(from_left[0]));
                leaves(f64::from(right[width - 1]) - f64::from(from_right[width + 1]));
                if y == 0 {
                    leaves(row_sum::<V>(up) - row_sum::<V>(&from_top));
                }
                if y + 1 == height {
                    leaves(row_sum::<V>(down) - row_sum::<V>(&from_bottom));
                }
            }
        }
        sums
    }
}
