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

use std::ops::Range;

use super::{FILM_SQUARE, Params, Rain, Sums, beyond};
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
    grid::Grid,
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

    /// Velocity of the fluid along columns and rows, in metres per second; films that hardly flow have none.
    pub(super) fn velocity(&self, terrain: &Terrain) -> [Grid; 2] {
        let (width, height) = self.size;
        let along = |x: usize, y: usize, first: f32, second: f32| {
            let index = y * width + x;
            let depth = terrain.water[index] + terrain.suspended[index];
            0.5 * (first + second) * depth / (depth * depth + FILM_SQUARE)
        };
        let mut velocity = [Grid::filled(width, height, 0.0), Grid::filled(width, height, 0.0)];
        let [u, v] = &mut velocity;
        for_bands(height, [(&mut u[..], width), (&mut v[..], width)], |rows, [u, v]| {
            for (line, y) in rows.enumerate() {
                for x in 0..width {
                    let (face, at) = (y * (width + 1) + x, line * width + x);
                    u[at] = along(x, y, self.x[face], self.x[face + 1]);
                    v[at] = along(x, y, self.y[y * width + x], self.y[(y + 1) * width + x]);
                }
            }
        });
        velocity
    }

    /// Finds the fluxes that the surface drives.
    pub(super) fn flow(&mut self, terrain: &Terrain, params: &Params, dt: f32) {
        let (width, height) = self.size;
        let (old_x, old_y) = (&self.x[..], &self.y[..]);
        let rain = Rain::new(terrain, params, dt);
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
        let rain = Rain::new(terrain, params, dt);
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
}

/// Ground and surface of the fluid, with the rain of this step.
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
        let [bedrock, sand, water, suspended] = layers(self.terrain, part);
        over_row::<V>(width, SurfaceRow { bedrock, sand, water, suspended, ground, level });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        let (ground, depth) = beyond(self.terrain, self.sea_level, index);
        [ground, ground + depth]
    }
}

/// The four layers that make the surface of the fluid, in a part of the map.
fn layers(terrain: &Terrain, part: Range<usize>) -> [&[f32]; 4] {
    [&terrain.bedrock, &terrain.sand, &terrain.water, &terrain.suspended].map(|layer| &layer[part.clone()])
}

/// `level` holds the rain of this step before.
struct SurfaceRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    water: &'a [f32],
    suspended: &'a [f32],
    ground: &'a mut [f32],
    level: &'a mut [f32],
}

impl RowKernel for SurfaceRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let ground = V::load(self.bedrock, x) + V::load(self.sand, x);
        let wet = V::load(self.water, x) + V::load(self.level, x);
        ground.store(self.ground, x);
        (ground + (wet + V::load(self.suspended, x))).store(self.level, x);
    }
}

/// g·Δt/l and g·Δt·n².
#[derive(Clone, Copy)]
struct Law {
    push: f32,
    drag: f32,
}

/// A row of faces: their old fluxes, those of their neighbours, the cells on both sides.
struct FaceRow<'a> {
    law: Law,
    fluxes: [&'a [f32]; 3],
    ground: [&'a [f32]; 2],
    level: [&'a [f32]; 2],
    out: &'a mut [f32],
}

impl RowKernel for FaceRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (before, own, after) = (V::load(self.fluxes[0], x), V::load(self.fluxes[1], x), V::load(self.fluxes[2], x));
        let (ground, ground_after) = (V::load(self.ground[0], x), V::load(self.ground[1], x));
        let (level, level_after) = (V::load(self.level[0], x), V::load(self.level[1], x));
        let one = V::all(1.0);
        let dry = V::all(DRY);
        let depth = level.max(level_after) - ground.max(ground_after);
        // A dry face is given a depth with which all stays finite, and no flux.
        let safe = depth.max(dry);
        let mean = V::all(THETA) * own + V::all(0.5 * (1.0 - THETA)) * (before + after);
        let driven = mean - V::all(self.law.push) * safe * (level_after - level);
        let third = safe.inverse_cube_root();
        let square = third * third;
        let speed = own.max(-own);
        let flux = driven / (one + V::all(self.law.drag) * speed * (square * square * square * third));
        depth.if_above(dry, flux, V::all(0.0)).store(self.out, x);
    }
}

/// The fluxes of a band.
struct Flow<'a> {
    surface: &'a Surface<'a>,
    border: Border,
    law: Law,
    rows: Range<usize>,
    old: (&'a [f32], &'a [f32]),
    out: (&'a mut [f32], &'a mut [f32]),
}

impl Pass for Flow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Border { width, height, edge } = self.border;
        let mut window = Window::new(self.border, self.rows.start);
        // A row of faces with one more at either end.
        let mut padded = vec![0.0; width + 3];
        for (line, y) in self.rows.clone().enumerate() {
            window.go_to::<V>(y, self.surface);
            let ([above, ground, below], [over, level, under]) = (window.quantity(GROUND), window.quantity(LEVEL));
            let old = &self.old.0[y * (width + 1)..(y + 1) * (width + 1)];
            padded[1..=width + 1].copy_from_slice(old);
            // Across an open border the neighbour is the face itself.
            (padded[0], padded[width + 2]) =
                if edge == Edge::Wrap { (old[width - 1], old[1]) } else { (old[0], old[width]) };
            let out = &mut self.out.0[line * (width + 1)..(line + 1) * (width + 1)];
            let fluxes = [&padded[..], &padded[1..], &padded[2..]];
            let (ground_sides, level_sides) = ([ground, &ground[1..]], [level, &level[1..]]);
            over_row::<V>(width + 1, FaceRow { law: self.law, fluxes, ground: ground_sides, level: level_sides, out });
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
                let (ground, level) = (ground.map(|row| &row[1..]), level.map(|row| &row[1..]));
                over_row::<V>(width, FaceRow { law: self.law, fluxes: [before, own, after], ground, level, out });
            }
        }
    }
}

/// Ground, concentration of sediment, and the share of its outflow that a cell can give.
struct Fluid<'a> {
    terrain: &'a Terrain,
    rain: Rain<'a>,
    sea_level: f32,
    /// Δt/l.
    share: f32,
    fluxes: (&'a [f32], &'a [f32]),
}

const CONCENTRATION: usize = 1;
const LIMIT: usize = 2;

impl Quantities<3> for Fluid<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, concentration, limit]: [&mut [f32]; 3]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        self.rain.fall(y, limit);
        let [bedrock, sand, water, suspended] = layers(self.terrain, part.clone());
        let across = &self.fluxes.0[y * (width + 1)..(y + 1) * (width + 1)];
        let (above, below) = (&self.fluxes.1[part], &self.fluxes.1[(y + 1) * width..(y + 2) * width]);
        let (layers, faces) = ([bedrock, sand, water, suspended], [across, &across[1..], above, below]);
        over_row::<V>(width, FluidRow { share: self.share, layers, faces, ground, concentration, limit });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 3] {
        [beyond(self.terrain, self.sea_level, index).0, 0.0, 1.0]
    }
}

/// `limit` holds the rain of this step before.
struct FluidRow<'a> {
    share: f32,
    layers: [&'a [f32]; 4],
    /// Fluxes to the left of the cells, right, above and below.
    faces: [&'a [f32]; 4],
    ground: &'a mut [f32],
    concentration: &'a mut [f32],
    limit: &'a mut [f32],
}

impl RowKernel for FluidRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (bedrock, sand, water, suspended) = (
            V::load(self.layers[0], x),
            V::load(self.layers[1], x),
            V::load(self.layers[2], x),
            V::load(self.layers[3], x),
        );
        let (left, right, above, below) = (
            V::load(self.faces[0], x),
            V::load(self.faces[1], x),
            V::load(self.faces[2], x),
            V::load(self.faces[3], x),
        );
        let fluid = (water + V::load(self.limit, x)) + suspended;
        let out = ((-left).positive() + right.positive()) + ((-above).positive() + below.positive());
        let wanted = out * V::all(self.share);
        let one = V::all(1.0);
        (bedrock + sand).store(self.ground, x);
        (suspended / (fluid + V::all(f32::MIN_POSITIVE))).store(self.concentration, x);
        wanted.if_above(fluid, fluid / wanted.max(V::all(f32::MIN_POSITIVE)), one).store(self.limit, x);
    }
}

/// A row of faces as limited: their fluxes, and the sediment that goes along, each from the cell that it leaves.
struct LimitRow<'a> {
    next: &'a [f32],
    limits: [&'a [f32]; 2],
    concentrations: [&'a [f32]; 2],
    out: &'a mut [f32],
    load: &'a mut [f32],
}

impl RowKernel for LimitRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let next = V::load(self.next, x);
        let zero = V::all(0.0);
        let limit = next.if_above(zero, V::load(self.limits[0], x), V::load(self.limits[1], x));
        let load = next.if_above(zero, V::load(self.concentrations[0], x), V::load(self.concentrations[1], x));
        let flux = next * limit;
        flux.store(self.out, x);
        (flux * load).store(self.load, x);
    }
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
    /// Length of the step, in seconds: water that would pass a cell in less is not believed.
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
struct Carry<'a> {
    fluid: &'a Fluid<'a>,
    border: Border,
    bed: Bed,
    rows: Range<usize>,
    out: [&'a mut [f32]; 6],
}

/// A row of cells: what flows in and out of them. In short kernels more cells are on their way at once than in a long one.
struct MoveRow<'a> {
    share: f32,
    fastest: f32,
    water: &'a [f32],
    suspended: &'a [f32],
    rained: &'a [f32],
    /// Fluxes of fluid, and of sediment, to the left of the cells, right, above and below.
    fluxes: [&'a [f32]; 4],
    loads: [&'a [f32]; 4],
    /// Water and sediment after that, and the speed.
    out: [&'a mut [f32]; 3],
}

impl RowKernel for MoveRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (flux_left, flux_right, flux_above, flux_below) = (
            V::load(self.fluxes[0], x),
            V::load(self.fluxes[1], x),
            V::load(self.fluxes[2], x),
            V::load(self.fluxes[3], x),
        );
        let (load_left, load_right, load_above, load_below) = (
            V::load(self.loads[0], x),
            V::load(self.loads[1], x),
            V::load(self.loads[2], x),
            V::load(self.loads[3], x),
        );
        let (half, share) = (V::all(0.5), V::all(self.share));
        // What comes in, from both sides and then from above and below: a turned map gives the same sum.
        let inflow = (flux_left - flux_right) + (flux_above - flux_below);
        let load_in = (load_left - load_right) + (load_above - load_below);
        let wet = V::load(self.water, x) + V::load(self.rained, x);
        let suspended = V::load(self.suspended, x);
        let s = (suspended + share * load_in).positive();
        let d = (wet + share * (inflow - load_in)).positive();
        // Velocity, by the mean of the depths before and after; that of films is not known.
        let mean = half * ((wet + suspended) + (d + s));
        let scale = half * (mean / (mean * mean + V::all(FILM_SQUARE)));
        let (u, v) = ((flux_left + flux_right) * scale, (flux_above + flux_below) * scale);
        let [water_out, suspended_out, speed_out] = &mut self.out;
        d.store(water_out, x);
        s.store(suspended_out, x);
        (u * u + v * v).sqrt().min(V::all(self.fastest)).store(speed_out, x);
    }
}

/// A row of cells: what their beds give and take.
struct BedRow<'a> {
    bed: Bed,
    per_two_cells: f32,
    bedrock: &'a [f32],
    sand: &'a [f32],
    softness: &'a [f32],
    speed: &'a [f32],
    /// Ground here, to the left, right, above and below.
    ground: [&'a [f32]; 5],
    /// Bedrock, sand, water, suspended.
    out: [&'a mut [f32]; 4],
    eroded: &'a mut [f32],
    laid: &'a mut [f32],
    evaporated: &'a mut [f32],
}

impl RowKernel for BedRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let Bed { capacity, least_tilt, per_depth, suspension, deposition, stays, .. } = self.bed;
        let (here, left, right, above, below) = (
            V::load(self.ground[0], x),
            V::load(self.ground[1], x),
            V::load(self.ground[2], x),
            V::load(self.ground[3], x),
            V::load(self.ground[4], x),
        );
        let (zero, one, tiny) = (V::all(0.0), V::all(1.0), V::all(f32::MIN_POSITIVE));
        let [bedrock_out, sand_out, water_out, suspended_out] = &mut self.out;
        let (d, s) = (V::load(water_out, x), V::load(suspended_out, x));
        // Tilt of the ground, as a sine.
        let per_two_cells = V::all(self.per_two_cells);
        let (slope_x, slope_y) = ((right - left) * per_two_cells, (below - above) * per_two_cells);
        let square = slope_x * slope_x + slope_y * slope_y;
        let tilt = (square / (one + square)).sqrt().max(V::all(least_tilt));
        let able = V::all(capacity) * tilt * V::load(self.speed, x) * (one - d * V::all(per_depth)).positive();
        // Thin water holds little, whatever its speed.
        let lack = able.min(d) - s;
        // Sand first, then rock by its softness; never below the lowest neighbour, which would make a pit.
        let room = (here - left.min(right).min(above.min(below))).positive();
        let want = lack.positive();
        let suspension = V::all(suspension);
        let loose = (want * (suspension / (one + suspension))).min(room);
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let from_sand = loose.min(old_sand);
        let rest = loose.if_above(zero, one - from_sand / (loose + tiny), zero);
        let hard = suspension * V::all(2.0) * V::load(self.softness, x);
        let from_rock = (rest * want * (hard / (one + hard))).min(room - from_sand);
        // A cell that dries drops all that it carries.
        let deposition = V::all(deposition);
        let settles = d.if_above(V::all(DRY), (-lack).positive() * (deposition / (one + deposition)), s);
        // What the ground really lost, to the bit: the last digit of high rock is larger than what a step takes.
        let bedrock = old_bedrock - from_rock;
        let sand = (old_sand - from_sand) + settles;
        let lost = (old_bedrock - bedrock) + (old_sand - sand);
        let remains = d * V::all(stays);
        bedrock.store(bedrock_out, x);
        sand.store(sand_out, x);
        remains.store(water_out, x);
        (s + lost).positive().store(suspended_out, x);
        (from_sand + (old_bedrock - bedrock)).store(self.eroded, x);
        settles.store(self.laid, x);
        (d - remains).store(self.evaporated, x);
    }
}

impl Pass for Carry<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let terrain = self.fluid.terrain;
        let share = self.fluid.share;
        let size = terrain.cell_size;
        let per_two_cells = 0.5 / size;
        let fastest = size / self.bed.dt.max(f32::MIN_POSITIVE);
        let [bedrock, sand, water, suspended, faces_x, faces_y] = self.out;
        let mut window = Window::new(self.border, self.rows.start);
        let (mut rained, mut speed) = (vec![0.0; width], vec![0.0; width]);
        let (mut eroded, mut laid, mut evaporated) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        // Sediment across the faces left of the cells, above them and below them.
        let mut load_x = vec![0.0; width + 1];
        let (mut load_above, mut load_below) = (vec![0.0; width], vec![0.0; width]);
        let mut below_row = vec![0.0; width];
        let mut sums = Sums::default();
        for (line, y) in self.rows.clone().enumerate() {
            window.go_to::<V>(y, self.fluid);
            let [above, ground, below] = window.quantity(GROUND);
            let [load_over, load, load_under] = window.quantity(CONCENTRATION);
            let [limit_over, limit, limit_under] = window.quantity(LIMIT);
            self.fluid.rain.fall(y, &mut rained);
            // Fluxes as limited: across the row into their place, above it likewise, below it for this row alone.
            let next_x = &self.fluid.fluxes.0[y * (width + 1)..(y + 1) * (width + 1)];
            let x_out = &mut faces_x[line * (width + 1)..(line + 1) * (width + 1)];
            let limits = [limit, &limit[1..]];
            let concentrations = [load, &load[1..]];
            over_row::<V>(width + 1, LimitRow { next: next_x, limits, concentrations, out: x_out, load: &mut load_x });
            let next_y = |face: usize| &self.fluid.fluxes.1[face * width..(face + 1) * width];
            let y_out = &mut faces_y[line * width..(line + 1) * width];
            let (limits, concentrations) = ([&limit_over[1..], &limit[1..]], [&load_over[1..], &load[1..]]);
            over_row::<V>(
                width,
                LimitRow { next: next_y(y), limits, concentrations, out: y_out, load: &mut load_above },
            );
            let (limits, concentrations) = ([&limit[1..], &limit_under[1..]], [&load[1..], &load_under[1..]]);
            let (out, load) = (&mut below_row[..], &mut load_below[..]);
            over_row::<V>(width, LimitRow { next: next_y(y + 1), limits, concentrations, out, load });

            let part = y * width..(y + 1) * width;
            let here = line * width..(line + 1) * width;
            let [old_bedrock, old_sand, old_water, old_suspended] = layers(terrain, part.clone());
            let (x_out, y_out) = (&*x_out, &*y_out);
            let (water, suspended) = (&mut water[here.clone()], &mut suspended[here.clone()]);
            let moves = MoveRow {
                share,
                fastest,
                water: old_water,
                suspended: old_suspended,
                rained: &rained,
                fluxes: [x_out, &x_out[1..], y_out, &below_row],
                loads: [&load_x, &load_x[1..], &load_above, &load_below],
                out: [water, suspended, &mut speed],
            };
            over_row::<V>(width, moves);
            let bed = BedRow {
                bed: self.bed,
                per_two_cells,
                bedrock: old_bedrock,
                sand: old_sand,
                softness: &terrain.softness[part],
                speed: &speed,
                ground: [&ground[1..], ground, &ground[2..], &above[1..], &below[1..]],
                out: [&mut bedrock[here.clone()], &mut sand[here], water, suspended],
                eroded: &mut eroded,
                laid: &mut laid,
                evaporated: &mut evaporated,
            };
            over_row::<V>(width, bed);
            sums.eroded += row_sum::<V>(&eroded);
            sums.deposited += row_sum::<V>(&laid);
            sums.evaporated += row_sum::<V>(&evaporated);
            sums.rained += row_sum::<V>(&rained);
            if edge == Edge::Open {
                let out = f64::from(x_out[width]) - f64::from(x_out[0]);
                let load = f64::from(load_x[width]) - f64::from(load_x[0]);
                sums.water_out += f64::from(share) * (out - load);
                sums.solid_out += f64::from(share) * load;
                let mut cross = |fluxes: &[f32], loads: &[f32], sign: f64| {
                    let load = row_sum::<V>(loads);
                    sums.water_out += sign * f64::from(share) * (row_sum::<V>(fluxes) - load);
                    sums.solid_out += sign * f64::from(share) * load;
                };
                if y == 0 {
                    cross(y_out, &load_above, -1.0);
                }
                if y + 1 == height {
                    cross(&below_row, &load_below, 1.0);
                }
            }
            if y + 1 == height {
                faces_y[(line + 1) * width..].copy_from_slice(&below_row);
            }
        }
        sums
    }
}
