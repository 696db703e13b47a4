//! Eqs 6 to 14 and 16: depth and velocity, transport capacity, erosion and deposition, evaporation.

use super::{ABOVE, BELOW, LEFT, RIGHT};
use crate::{
    core::{aligned::AlignedArray, border::Border, terrain::Edge},
    process::water::{
        Capacity, FILM_SQUARE, Params, RainRow, WaterSums, WaterTallies,
        surface::{GROUND, LEVEL},
    },
    simd::{
        cells::{Cells, RowKernel, add_limited, over_row},
        stencil::{Ring, RowAccumulator, StencilWindow, row_sum, sides},
        strip::Strip,
    },
};

/// Hardness below which the ground does not soften further.
const LEAST_HARDNESS: f32 = 0.1;

/// Coefficients of eqs 6 to 14 and 16.
#[derive(Clone, Copy)]
pub(in crate::process::water) struct PipeCoefficients {
    pub size: f32,
    pub dt: f32,
    /// Maximum speed: a cell per step.
    pub fastest: f32,
    pub capacity: f32,
    pub least_tilt: f32,
    pub collides: bool,
    pub per_depth: f32,
    pub suspension: f32,
    pub deposition: f32,
    pub softening: f32,
    pub displacement: bool,
    /// Fraction of the water that does not evaporate.
    pub stays: f32,
}

impl PipeCoefficients {
    pub(in crate::process::water) fn new(params: &Params, size: f32, dt: f32) -> Self {
        Self {
            size,
            dt,
            fastest: size / dt.max(f32::MIN_POSITIVE),
            capacity: if params.erodes() { params.sediment_capacity } else { 0.0 },
            least_tilt: params.least_tilt,
            collides: params.capacity == Capacity::Collision,
            per_depth: params.per_depth(),
            suspension: params.suspension_rate * dt,
            deposition: params.deposition_rate * dt,
            softening: params.softening_rate * params.suspension_rate * dt,
            displacement: params.displacement,
            stays: (1.0 - params.evaporation_rate * dt).max(0.0),
        }
    }
}

/// Returns the slopes along columns and rows, from the rows to the left, right, above and below.
#[inline(always)]
fn slope<V: Cells>(rows: &[&[f32]; 4], x: usize, per_two_cells: V) -> (V, V) {
    let along_x = V::load(rows[1], x) - V::load(rows[0], x);
    let along_y = V::load(rows[3], x) - V::load(rows[2], x);
    (along_x * per_two_cells, along_y * per_two_cells)
}

/// Returns the square of −N·V (eq. 11) from the slopes of the bed and of the surface along which the water flows, and its velocity.
#[inline(always)]
pub(in crate::process::water) fn collision_squared<V: Cells>(
    (slope_x, slope_y): (V, V),
    surface: (V, V),
    (u, v): (V, V),
) -> V {
    let (square, speed_square) = (slope_x * slope_x + slope_y * slope_y, u * u + v * v);
    let rise = slope_x * u + slope_y * v;
    let fall = surface.0 * u + surface.1 * v;
    let meets = (rise - fall).positive();
    (meets * meets) / ((V::all(1.0) + square) * ((speed_square + V::all(1e-18)) + fall * fall))
}

/// Returns the square of sin α from the slopes along columns and rows.
#[inline(always)]
pub(in crate::process::water) fn sine_squared<V: Cells>((slope_x, slope_y): (V, V)) -> V {
    let square = slope_x * slope_x + slope_y * slope_y;
    square / (V::all(1.0) + square)
}

impl PipeCoefficients {
    /// Returns the transport capacity of water of this depth and squared speed for a squared sin α or −N·V of `tilt` (eqs 9 to 11).
    #[inline(always)]
    pub(in crate::process::water) fn capacity<V: Cells>(&self, tilt: V, speed_square: V, depth: V) -> V {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let tilt = tilt.max(V::all(self.least_tilt * self.least_tilt));
        let wet = depth.if_above(zero, (one - depth * V::all(self.per_depth)).positive(), zero);
        V::all(self.capacity) * (tilt * speed_square).sqrt() * wet
    }
}

/// Eqs 6 to 8 for a row of cells. Short kernels keep more cells in flight than a long one.
struct PipeDepthRow<'a> {
    bed: PipeCoefficients,
    water: &'a [f32],
    rain: RainRow<'a>,
    /// Inflow from and outflow to the left, right, above and below.
    inflow: [&'a [f32]; 4],
    outflow: [&'a [f32]; 4],
    /// Depth before and after the flow, and both components of the velocity.
    out: [&'a mut [f32]; 4],
    /// Rain actually added to the water, after rounding.
    rained: &'a mut RowAccumulator,
}

impl RowKernel for PipeDepthRow<'_> {
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
        let before = water + self.rain.at::<V>(x);
        self.rained.add(x, before - water);
        let inflow = (come_left + come_right) + (come_above + come_below);
        let outflow = (go_left + go_right) + (go_above + go_below);
        let after = (before + V::all(bed.dt / (bed.size * bed.size)) * (inflow - outflow)).positive();
        let mean = V::all(0.5) * (before + after);
        let scale = V::all(0.5 / bed.size) * (mean / (mean * mean + V::all(FILM_SQUARE)));
        let fastest = V::all(bed.fastest);
        let [before_out, after_out, u_out, v_out] = &mut self.out;
        before.store(before_out, x);
        after.store(after_out, x);
        let u = ((come_left - go_left) + (go_right - come_right)) * scale;
        let v = ((come_above - go_above) + (go_below - come_below)) * scale;
        u.min(fastest).max(-fastest).store(u_out, x);
        v.min(fastest).max(-fastest).store(v_out, x);
    }
}

/// Eqs 9 to 11 for a row of cells.
struct CapacityRow<'a> {
    bed: PipeCoefficients,
    /// Depth before the flow.
    depth: &'a [f32],
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
        let (u, v) = (V::load(self.velocity[0], x), V::load(self.velocity[1], x));
        let per_two_cells = V::all(0.5 / bed.size);
        let slopes = slope(&self.ground, x, per_two_cells);
        // One square root serves both tilt and speed.
        let tilt = if bed.collides {
            collision_squared(slopes, slope(&self.level, x, per_two_cells), (u, v))
        } else {
            sine_squared(slopes)
        };
        bed.capacity(tilt, u * u + v * v, V::load(self.depth, x)).store(self.out, x);
    }
}

/// Eqs 12 to 14 and 16 for a row of cells.
struct ExchangeRow<'a> {
    bed: PipeCoefficients,
    capacity: &'a [f32],
    /// Depth after the flow.
    depth: &'a [f32],
    /// Bedrock, sand, water, suspended, softness.
    layers: [&'a mut [f32]; 5],
    settled: &'a mut [f32],
    tallies: &'a mut WaterTallies,
}

impl RowKernel for ExchangeRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let bed = self.bed;
        let [bedrock_row, sand_row, water_row, suspended_row, softness_row] = &mut self.layers;
        let (old_bedrock, old_sand) = (V::load(bedrock_row, x), V::load(sand_row, x));
        let depth = V::load(self.depth, x);
        let (s, soft) = (V::load(suspended_row, x), V::load(softness_row, x));
        let deficit = V::load(self.capacity, x) - s;
        let taken = (V::all(bed.suspension) * soft * deficit.positive()).min(depth);
        let surplus = (-deficit).positive();
        let settled = V::all(bed.deposition) * surplus;
        let most = if bed.displacement { s.min(depth) } else { s };
        let settled = settled.min(most);
        // Sand is eroded first; deposits become part of the solid. The totals use the exact changes of the layers, as the last digit
        // of high rock exceeds what a step erodes.
        let from_sand = taken.min(old_sand);
        let dug = old_bedrock - (taken - from_sand);
        let sand = old_sand - from_sand;
        let taken = (old_sand - sand) + (old_bedrock - dug);
        let bedrock = add_limited(dug, settled);
        let settled = bedrock - dug;
        let displaced = V::all(if bed.displacement { 1.0 } else { 0.0 });
        bedrock.store(bedrock_row, x);
        sand.store(sand_row, x);
        ((s + taken) - settled).store(self.settled, x);
        let wet = (depth + displaced * (taken - settled)).positive();
        let stays = wet * V::all(bed.stays);
        stays.store(water_row, x);
        let softer = (soft + V::all(bed.softening) * surplus).min(V::all(1.0 - LEAST_HARDNESS));
        softer.max(soft).store(softness_row, x);
        self.tallies.eroded.add(x, taken);
        self.tallies.deposited.add(x, settled);
        self.tallies.evaporated.add(x, wet - stays);
    }
}

/// Rows of the quantities that erosion passes to the transport.
pub(super) type ErodedRows = Ring<3, 3>;

pub(super) const SETTLED: usize = 0;
pub(super) const ALONG_X: usize = 1;
pub(super) const ALONG_Y: usize = 2;

/// Erosion, row by row.
pub(super) struct Erosion {
    border: Border,
    bed: PipeCoefficients,
    /// A·g·Δt/l.
    push: f32,
    /// Inflow from the left and the right, with a cell beyond either end.
    from_sides: [AlignedArray; 2],
    /// Inflow from above the first row and from below the last one.
    from_beyond: [AlignedArray; 2],
    /// Depth before and after the flow, and capacity.
    before: AlignedArray,
    depth: AlignedArray,
    capacity: AlignedArray,
    tallies: WaterTallies,
    water_out: f64,
    pub moved: ErodedRows,
}

impl Erosion {
    /// Creates erosion whose first row is `first`, or that of the map.
    pub fn new(border: Border, first: isize, bed: PipeCoefficients, push: f32) -> Self {
        let width = border.width;
        let first = if border.edge == Edge::Wrap { first } else { first.max(0) };
        Self {
            border,
            bed,
            push,
            from_sides: [AlignedArray::filled(width + 2, 0.0), AlignedArray::filled(width + 2, 0.0)],
            from_beyond: [AlignedArray::filled(width, 0.0), AlignedArray::filled(width, 0.0)],
            before: AlignedArray::filled(width, 0.0),
            depth: AlignedArray::filled(width, 0.0),
            capacity: AlignedArray::filled(width, 0.0),
            tallies: WaterTallies::default(),
            water_out: 0.0,
            moved: Ring::new(width, first),
        }
    }

    /// Returns the totals of the rows that count.
    pub fn sums(&self) -> WaterSums {
        let sums = self.tallies.sums();
        let displaced = if self.bed.displacement { sums.deposited - sums.eroded } else { 0.0 };
        WaterSums { water_out: self.water_out, water_lost: displaced, ..sums }
    }

    /// Processes row `y`, on which `rain` falls. Rows that count are added to the totals.
    #[inline(always)]
    pub fn row<V: Cells>(
        &mut self,
        y: isize,
        surface: &StencilWindow<2, 4>,
        flux: &Strip<'_, 4>,
        layers: &mut Strip<'_, 5>,
        rain: RainRow<'_>,
        counts: bool,
    ) {
        let Border { width, height, edge } = self.border;
        let bed = self.bed;
        let [above, ground, below] = surface.around(GROUND, y);
        let [over, level, under] = surface.around(LEVEL, y);
        let [left, right, up, down] = [LEFT, RIGHT, ABOVE, BELOW].map(|side| &flux.row(side, y)[..width]);
        let ([from_left, from_right], [from_top, from_bottom]) = (&mut self.from_sides, &mut self.from_beyond);
        from_left[1..=width].copy_from_slice(right);
        from_right[1..=width].copy_from_slice(left);
        let (first, last) = (y == 0 && edge != Edge::Wrap, y + 1 == height as isize && edge != Edge::Wrap);
        match edge {
            Edge::Wall => {}
            Edge::Wrap => (from_left[0], from_right[width + 1]) = (right[width - 1], left[0]),
            Edge::Open => {
                let sea = |ground: f32, level: f32, own: f32| sea(self.push, ground, level, own);
                from_left[0] = sea(ground[0], level[0], level[1]);
                from_right[width + 1] = sea(ground[width + 1], level[width + 1], level[width]);
                for x in (0..width).filter(|_| first) {
                    from_top[x] = sea(above[x + 1], over[x + 1], level[x + 1]);
                }
                for x in (0..width).filter(|_| last) {
                    from_bottom[x] = sea(below[x + 1], under[x + 1], level[x + 1]);
                }
            }
        }
        let from_above = &if first { &from_top[..] } else { flux.row(BELOW, y - 1) }[..width];
        let from_below = &if last { &from_bottom[..] } else { flux.row(ABOVE, y + 1) }[..width];
        let inflow = [&from_left[..width], &from_right[2..][..width], from_above, from_below];
        let outflow = [left, right, up, down];
        let [settled, u, v] = self.moved.push();
        let [bedrock, sand, water, suspended, softness] = layers.rows_mut(y);
        let tallies = &mut self.tallies;
        let (depth, capacity) = (&mut self.depth[..width], &mut self.capacity[..width]);
        let (settled, u, v) = (&mut settled[..width], &mut u[..width], &mut v[..width]);
        let before = &mut self.before[..width];
        let water = &mut water[..width];
        let out = [&mut *before, &mut *depth, &mut *u, &mut *v];
        let rained = &mut tallies.rained;
        over_row::<V>(width, PipeDepthRow { bed, water, rain, inflow, outflow, out, rained });
        let [ground_left, _, ground_right] = sides(ground, width);
        let [level_left, _, level_right] = sides(level, width);
        let ground = [ground_left, ground_right, sides(above, width)[1], sides(below, width)[1]];
        let level_sides = [level_left, level_right, sides(over, width)[1], sides(under, width)[1]];
        let (velocity, out) = ([&*u, &*v], &mut *capacity);
        over_row::<V>(width, CapacityRow { bed, depth: before, velocity, ground, level: level_sides, out });
        let layers =
            [&mut bedrock[..width], &mut sand[..width], water, &mut suspended[..width], &mut softness[..width]];
        over_row::<V>(width, ExchangeRow { bed, capacity, depth, layers, settled, tallies });
        self.moved.close(edge, [[0.0; 3]; 2]);
        tallies.end_row(counts);
        if edge == Edge::Open && counts {
            let dt_over_area = f64::from(bed.dt / (bed.size * bed.size));
            let mut leaves = |flux: f64| self.water_out += dt_over_area * flux;
            leaves(f64::from(left[0]) - f64::from(from_left[0]));
            leaves(f64::from(right[width - 1]) - f64::from(from_right[width + 1]));
            if first {
                leaves(row_sum::<V>(up) - row_sum::<V>(from_top));
            }
            if last {
                leaves(row_sum::<V>(down) - row_sum::<V>(from_bottom));
            }
        }
    }
}

/// Returns the inflow from a sea through the pipe across an open border, which has no inertia; 0 from dry ground.
fn sea(push: f32, ground: f32, level: f32, own: f32) -> f32 {
    if level > ground { (push * (level - own)).max(0.0) } else { 0.0 }
}
