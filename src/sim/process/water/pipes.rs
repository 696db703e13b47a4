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

use super::{Capacity, FILM_SQUARE, Params, Rain, Sums, beyond};
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
    grid::Grid,
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
    pub(super) velocity: [Grid; 2],
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

    /// Finds the fluxes that the surface drives, limited to what is there.
    pub(super) fn flow(&mut self, terrain: &Terrain, params: &Params, dt: f32) {
        let (width, height) = self.size;
        let surface = Surface { terrain, rain: Rain::new(terrain, params, dt), sea_level: params.sea_level };
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
        let surface = Surface { terrain, rain: Rain::new(terrain, params, dt), sea_level: params.sea_level };
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
struct Surface<'a> {
    terrain: &'a Terrain,
    rain: Rain<'a>,
    sea_level: f32,
}

const GROUND: usize = 0;
const LEVEL: usize = 1;

impl Quantities<2> for Surface<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, level]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        self.rain.fall(y, level);
        let [bedrock, sand, water] =
            [&self.terrain.bedrock, &self.terrain.sand, &self.terrain.water].map(|layer| &layer[part.clone()]);
        over_row::<V>(width, SurfaceRow { bedrock, sand, water, ground, level });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        let (ground, depth) = beyond(self.terrain, self.sea_level, index);
        [ground, ground + depth]
    }
}

/// `level` holds the rain of this step before.
struct SurfaceRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    water: &'a [f32],
    ground: &'a mut [f32],
    level: &'a mut [f32],
}

impl RowKernel for SurfaceRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let ground = V::load(self.bedrock, x) + V::load(self.sand, x);
        ground.store(self.ground, x);
        (ground + (V::load(self.water, x) + V::load(self.level, x))).store(self.level, x);
    }
}

/// Eqs 2 to 5 for a row of cells.
struct FlowRow<'a> {
    push: f32,
    volume: f32,
    /// Surface here, to the left, right, above and below.
    levels: [&'a [f32]; 5],
    water: &'a [f32],
    rained: &'a [f32],
    flux: [&'a mut [f32]; 4],
}

impl RowKernel for FlowRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (here, left, right, above, below) = (
            V::load(self.levels[0], x),
            V::load(self.levels[1], x),
            V::load(self.levels[2], x),
            V::load(self.levels[3], x),
            V::load(self.levels[4], x),
        );
        let push = V::all(self.push);
        let [to_left, to_right, to_above, to_below] = &mut self.flux;
        let go_left = (V::load(to_left, x) + push * (here - left)).positive();
        let go_right = (V::load(to_right, x) + push * (here - right)).positive();
        let go_above = (V::load(to_above, x) + push * (here - above)).positive();
        let go_below = (V::load(to_below, x) + push * (here - below)).positive();
        let out = (go_left + go_right) + (go_above + go_below);
        let there = (V::load(self.water, x) + V::load(self.rained, x)) * V::all(self.volume);
        let limit = out.if_above(there, there / out.max(V::all(f32::MIN_POSITIVE)), V::all(1.0));
        (go_left * limit).store(to_left, x);
        (go_right * limit).store(to_right, x);
        (go_above * limit).store(to_above, x);
        (go_below * limit).store(to_below, x);
    }
}

struct Flow<'a> {
    surface: &'a Surface<'a>,
    border: Border,
    /// A·g·Δt/l.
    push: f32,
    /// l²/Δt.
    volume: f32,
    rows: Range<usize>,
    out: [&'a mut [f32]; 4],
}

impl Pass for Flow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(mut self) {
        let width = self.border.width;
        let (push, volume) = (self.push, self.volume);
        let mut window = Window::new(self.border, self.rows.start);
        let mut depth = vec![0.0; width];
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.surface);
            let [over, level, under] = window.quantity(LEVEL).map(|row| &row[..width + 2]);
            let water = &self.surface.terrain.water[y * width..(y + 1) * width];
            self.surface.rain.fall(y, &mut depth);
            let part = line * width..(line + 1) * width;
            let flux = self.out.each_mut().map(|flux| &mut flux[part.clone()]);
            let levels = [&level[1..], level, &level[2..], &over[1..], &under[1..]];
            over_row::<V>(width, FlowRow { push, volume, levels, water, rained: &depth, flux });
        }
    }
}

/// The numbers of eqs 6 to 14.
#[derive(Clone, Copy)]
struct Bed {
    size: f32,
    dt: f32,
    /// Speed with which water passes a cell in a step; no more is believed.
    fastest: f32,
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
    rained: &'a [f32],
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
        let before = V::load(self.water, x) + V::load(self.rained, x);
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

struct Erode<'a> {
    surface: &'a Surface<'a>,
    border: Border,
    bed: Bed,
    flux: [&'a [f32]; 4],
    rows: Range<usize>,
    /// Bedrock, sand, water, suspended, softness, both velocities.
    out: [&'a mut [f32]; 7],
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
        let nothing = vec![0.0; width];
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
            if edge == Edge::Wrap {
                from_left[0] = right[width - 1];
                from_right[width + 1] = left[0];
            }
            let from_above = match (y, edge == Edge::Wrap) {
                (0, false) => &nothing[..],
                (0, true) => row(BELOW, height - 1),
                _ => row(BELOW, y - 1),
            };
            let from_below = match (y + 1 == height, edge == Edge::Wrap) {
                (true, false) => &nothing[..],
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
            let (bed, rained) = (self.bed, &rained[..]);
            over_row::<V>(width, FaceRow { bed, water, rained, inflow, outflow, out: [new_water, u, v] });
            let velocity = [&*u, &*v];
            let ground = [ground, &ground[2..], &above[1..], &below[1..]];
            let level = [level, &level[2..], &over[1..], &under[1..]];
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
                leaves(f64::from(left[0]) + f64::from(right[width - 1]));
                if y == 0 {
                    leaves(row_sum::<V>(up));
                }
                if y + 1 == height {
                    leaves(row_sum::<V>(down));
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
    fn row<V: Cells>(&self, y: usize, [row]: [&mut [f32]; 1]) {
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

struct TransportRow<'a> {
    shift: f32,
    stays: f32,
    /// Sediment above, here and below.
    rows: [&'a [f32]; 3],
    u: &'a [f32],
    v: &'a [f32],
    out: &'a mut [f32],
    water: &'a mut [f32],
    dried: &'a mut [f32],
}

impl RowKernel for TransportRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [above, here, below] = self.rows;
        let one = V::all(1.0);
        let (a, b) = (V::load(self.u, x) * V::all(self.shift), V::load(self.v, x) * V::all(self.shift));
        let (left, right, up, down) = (a.positive(), (-a).positive(), b.positive(), (-b).positive());
        let (middle_x, middle_y) = (one - (left + right), one - (up + down));
        // Nine weights of which four at most are not nought; summed so that a turned map gives the same bits.
        let own = (middle_x * middle_y) * V::load(here, x + 1);
        let sides = ((left * middle_y) * V::load(here, x) + (right * middle_y) * V::load(here, x + 2))
            + ((middle_x * up) * V::load(above, x + 1) + (middle_x * down) * V::load(below, x + 1));
        let corners = ((left * up) * V::load(above, x) + (right * down) * V::load(below, x + 2))
            + ((right * up) * V::load(above, x + 2) + (left * down) * V::load(below, x));
        ((own + sides) + corners).store(self.out, x);
        let water = V::load(self.water, x);
        let stays = water * V::all(self.stays);
        (water - stays).store(self.dried, x);
        stays.store(self.water, x);
    }
}

impl Pass for Transport<'_> {
    /// What was lost of the sediment, and what evaporated, in metres times cells.
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Cells>(self) -> [f64; 2] {
        let width = self.border.width;
        let mut window = Window::new(self.border, self.rows.start);
        let mut dried = vec![0.0; width];
        let (mut lost, mut evaporated) = (0.0, 0.0);
        let [suspended, water] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.carried);
            let [above, here, below] = window.quantity(0).map(|row| &row[..width + 2]);
            let (u, v) = (&self.u[y * width..(y + 1) * width], &self.v[y * width..(y + 1) * width]);
            let out = &mut suspended[line * width..(line + 1) * width];
            let water = &mut water[line * width..(line + 1) * width];
            let (shift, stays) = (self.shift, self.stays);
            let rows = [above, here, below];
            over_row::<V>(width, TransportRow { shift, stays, rows, u, v, out, water, dried: &mut dried });
            lost += row_sum::<V>(&here[1..=width]) - row_sum::<V>(out);
            evaporated += row_sum::<V>(&dried);
        }
        [lost, evaporated]
    }
}
