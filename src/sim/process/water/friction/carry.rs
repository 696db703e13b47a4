//! What the fluxes move, and what the bed gives and takes.

use std::ops::Range;

use super::{DRY, layers};
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row},
    masked::{Covered, between},
    process::water::{FILM_SQUARE, Params, Rain, Sums, beyond},
    stencil::{Border, Quantities, Window, row_sum},
    terrain::{Edge, Terrain},
};

/// Ground, concentration of sediment, and the share of its outflow that a cell can give.
pub(super) struct Fluid<'a> {
    pub terrain: &'a Terrain,
    pub rain: Rain<'a>,
    pub sea_level: f32,
    /// Δt/l.
    pub share: f32,
    pub fluxes: (&'a [f32], &'a [f32]),
}

const GROUND: usize = 0;
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
pub(super) struct Bed {
    pub capacity: f32,
    pub least_tilt: f32,
    /// One over the depth from which on nothing is eroded; 0 without a limit.
    pub per_depth: f32,
    /// Rates times Δt.
    pub suspension: f32,
    pub deposition: f32,
    /// Share of the water that stays.
    pub stays: f32,
    /// Length of the step, in seconds: water that would pass a cell in less is not believed.
    pub dt: f32,
}

impl Bed {
    pub fn new(params: &Params, dt: f32) -> Self {
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
pub(super) struct Carry<'a> {
    pub fluid: &'a Fluid<'a>,
    pub border: Border,
    /// On free ground, and under the mask.
    pub bed: [Bed; 2],
    pub covered: Option<&'a Covered<Params>>,
    pub rows: Range<usize>,
    pub out: [&'a mut [f32]; 6],
}

/// A row of cells: what flows in and out of them. In short kernels more cells are on their way at once than in a long one.
struct MoveRow<'a> {
    share: f32,
    fastest: f32,
    water: &'a [f32],
    suspended: &'a [f32],
    /// Rain of this step; afterwards what the water really gained by it.
    rained: &'a mut [f32],
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
        let water = V::load(self.water, x);
        let wet = water + V::load(self.rained, x);
        (wet - water).store(self.rained, x);
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
struct BedRow<'a, const MASKED: bool> {
    bed: [Bed; 2],
    mask: &'a [f32],
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

impl<const MASKED: bool> RowKernel for BedRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let ([free, under], mask) = (self.bed, self.mask);
        let Bed { least_tilt, per_depth, .. } = free;
        let capacity: V = between::<V, MASKED>([free.capacity, under.capacity], mask, x);
        let suspension: V = between::<V, MASKED>([free.suspension, under.suspension], mask, x);
        let deposition: V = between::<V, MASKED>([free.deposition, under.deposition], mask, x);
        let stays: V = between::<V, MASKED>([free.stays, under.stays], mask, x);
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
        let able = capacity * tilt * V::load(self.speed, x) * (one - d * V::all(per_depth)).positive();
        // Thin water holds little, whatever its speed.
        let lack = able.min(d) - s;
        // Sand first, then rock by its softness; never below the lowest neighbour, which would make a pit.
        let room = (here - left.min(right).min(above.min(below))).positive();
        let want = lack.positive();
        let loose = (want * (suspension / (one + suspension))).min(room);
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let from_sand = loose.min(old_sand);
        let rest = loose.if_above(zero, one - from_sand / (loose + tiny), zero);
        let hard = suspension * V::all(2.0) * V::load(self.softness, x);
        let from_rock = (rest * want * (hard / (one + hard))).min(room - from_sand);
        // A cell that dries drops all that it carries.
        let settles = d.if_above(V::all(DRY), (-lack).positive() * (deposition / (one + deposition)), s);
        // What the ground really lost, to the bit: the last digit of high rock is larger than what a step takes.
        let bedrock = old_bedrock - from_rock;
        let sand = (old_sand - from_sand) + settles;
        let lost = (old_bedrock - bedrock) + (old_sand - sand);
        let remains = d * stays;
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
        if self.covered.is_some() { self.run_as::<V, true>() } else { self.run_as::<V, false>() }
    }
}

impl Carry<'_> {
    #[inline(always)]
    fn run_as<V: Cells, const MASKED: bool>(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let terrain = self.fluid.terrain;
        let share = self.fluid.share;
        let size = terrain.cell_size;
        let per_two_cells = 0.5 / size;
        let fastest = size / self.bed[0].dt.max(f32::MIN_POSITIVE);
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
                rained: &mut rained,
                fluxes: [x_out, &x_out[1..], y_out, &below_row],
                loads: [&load_x, &load_x[1..], &load_above, &load_below],
                out: [water, suspended, &mut speed],
            };
            over_row::<V>(width, moves);
            let bed = BedRow::<MASKED> {
                bed: self.bed,
                mask: self.covered.map_or(&[], |covered| &covered.row(y)[1..]),
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
