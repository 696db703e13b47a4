//! Transport along the fluxes, and exchange of sediment with the bed.

use super::{
    CAPACITY, DEPOSITION, DRAG, DRY, FluxRows, STAYS, SUSPENSION, X, Y,
    fluid::{CONCENTRATION, Fluid, LIMIT},
};
use crate::{
    core::{aligned::AlignedArray, border::Border, terrain::Edge},
    process::{
        masked::{Coefficient, CoefficientWindow},
        water::{
            FILM_SQUARE, Params, RainRow, StepRain, WaterSums, WaterTallies,
            active::{Active, Spans},
            surface::GROUND,
        },
    },
    simd::{
        cells::{Cells, RowKernel, add_limited},
        stencil::{RowAccumulator, StencilWindow, across, row_sum, sides},
        strip::Strip,
    },
};

/// Maximum transport capacity, as a fraction of the water.
pub(in crate::process::water) const MOST_LOAD: f32 = 0.5;
/// Depth below its lowest neighbour to which a step erodes, as a fraction of the water depth, and the water depth where it stops growing.
const POOL: f32 = 0.02;
const DEEP: f32 = 1.0;

/// Returns the fraction of the height difference to the lowest or highest neighbour that a step may level, unless an unaccelerated step
/// would level more: small at high acceleration, where larger steps build bars along the bed, and proportional to Δt/l, as finer cells
/// differ less in height.
fn step_fraction(acceleration: f32, dt_over_l: f32) -> f32 {
    (100.0 / (acceleration * acceleration)).max(0.25 * dt_over_l).clamp(0.005, 0.25)
}

/// Limiter of a row of faces: fluxes and the sediment that they carry, each from the upwind cell.
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

/// Coefficients of the exchange with the bed in a step.
#[derive(Clone, Copy)]
pub(super) struct BedCoefficients {
    /// Inverse of g·Δt.
    pub per_push: f32,
    /// Inverse of the depth limit of erosion; 0 without a limit.
    pub per_depth: f32,
    /// Morphological acceleration, and its inverse: the fraction of the suspended layer that is part of the fluid.
    pub acceleration: f32,
    pub suspended_fraction: f32,
    /// Maximum fraction of a height difference that a step levels.
    pub step_fraction: f32,
    /// Side of a cell, in metres.
    pub size: f32,
    /// Length of the step, in seconds, in which water moves a cell at most.
    pub dt: f32,
}

impl BedCoefficients {
    pub fn new(params: &Params, size: f32, dt: f32) -> Self {
        let push = params.gravity * dt;
        Self {
            per_push: if push > 0.0 { 1.0 / push } else { 0.0 },
            per_depth: params.per_depth(),
            acceleration: params.acceleration,
            suspended_fraction: params.suspended_fraction(),
            step_fraction: step_fraction(params.acceleration, dt / size),
            size,
            dt,
        }
    }
}

/// Returns the quantities scaled by the mask: capacity, both rates times Δt, and the fraction of the water that does not evaporate.
pub(super) fn rates(params: &Params, dt: f32) -> [f32; 4] {
    let capacity = if params.erodes() { params.sediment_capacity } else { 0.0 };
    let stays = 1.0 / (1.0 + params.evaporation_rate * dt);
    [capacity, params.suspension_rate * dt, params.deposition_rate * dt, stays]
}

/// Inflow and outflow of a row of cells. Short kernels keep more cells in flight than a long one.
struct MoveRow<'a> {
    dt_over_l: f32,
    suspended_fraction: f32,
    /// Square of the maximum speed, a cell per step.
    fastest: f32,
    /// Depth of the water, rain of this step, suspended layer.
    water: &'a [f32],
    rain: RainRow<'a>,
    suspended: &'a [f32],
    /// Fluxes of fluid, and of sediment, to the left of the cells, right, above and below.
    fluxes: [&'a [f32]; 4],
    loads: [&'a [f32]; 4],
    /// Water and sediment after the flow, and the square of the speed.
    out: [&'a mut [f32]; 3],
    /// Rain actually added to the water, after rounding.
    rained: &'a mut RowAccumulator,
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
        let (half, dt_over_l, suspended_fraction) =
            (V::all(0.5), V::all(self.dt_over_l), V::all(self.suspended_fraction));
        // Summed per axis, so that a rotated map gives the same sum.
        let inflow = (flux_left - flux_right) + (flux_above - flux_below);
        let load_in = (load_left - load_right) + (load_above - load_below);
        let water = V::load(self.water, x);
        let wet = water + self.rain.at::<V>(x);
        self.rained.add(x, wet - water);
        let suspended = V::load(self.suspended, x);
        let s = (suspended + dt_over_l * load_in).positive();
        let d = (wet + dt_over_l * (inflow - load_in * suspended_fraction)).positive();
        // Velocity from the mean of the depths before and after, damped over thin films.
        let mean = half * ((wet + suspended * suspended_fraction) + (d + s * suspended_fraction));
        let scale = half * (mean / (mean * mean + V::all(FILM_SQUARE)));
        let (u, v) = ((flux_left + flux_right) * scale, (flux_above + flux_below) * scale);
        let [water_out, suspended_out, speed_out] = &mut self.out;
        d.store(water_out, x);
        s.store(suspended_out, x);
        (u * u + v * v).min(V::all(self.fastest)).store(speed_out, x);
    }
}

/// Deficit of a row of cells: transport capacity minus load, in units of the suspended layer.
struct DeficitRow<'a, N> {
    bed: BedCoefficients,
    /// Capacity, and g·Δt·n².
    capacity: N,
    drag: N,
    /// Water and sediment after the flow.
    moved: [&'a [f32]; 2],
    /// Square of the speed, replaced by the deficit.
    deficit: &'a mut [f32],
}

impl<N: Coefficient> RowKernel for DeficitRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let BedCoefficients { per_depth, per_push, acceleration, suspended_fraction, .. } = self.bed;
        let (d, s) = (V::load(self.moved[0], x), V::load(self.moved[1], x));
        let square = V::load(self.deficit, x);
        let slope = energy_slope(self.drag.at::<V>(x) * V::all(per_push), d, square);
        let holds = concentration(self.capacity.at::<V>(x), slope, square, (d, per_depth)) * d;
        ((holds - s * V::all(suspended_fraction)) * V::all(acceleration)).store(self.deficit, x);
    }
}

/// Erosion and deposition of a row of cells.
struct BedRow<'a, N> {
    /// Fraction of the suspended layer that is part of the fluid, and maximum fraction of a height difference that a step levels.
    suspended_fraction: f32,
    step_fraction: f32,
    /// Rates of suspension and deposition times Δt, fraction of the water that does not evaporate.
    rates: [N; 3],
    softness: &'a [f32],
    /// Water and sediment after the flow, and the deficit.
    moved: [&'a [f32]; 3],
    /// Ground here, to the left, right, above and below.
    ground: [&'a [f32]; 5],
    /// Bedrock, sand, water, suspended.
    layers: [&'a mut [f32]; 4],
    tallies: &'a mut WaterTallies,
}

/// Returns the energy slope n²·v²/h^(4/3) from n², h and v²: the slope of the bed in uniform flow, almost 0 in a pool.
#[inline(always)]
pub(in crate::process::water) fn energy_slope<V: Cells>(drag: V, depth: V, square: V) -> V {
    let third = depth.max(V::all(DRY)).inverse_cube_root();
    drag * square * ((third * third) * (third * third))
}

/// Returns the concentration of sediment at transport capacity, as a volume fraction.
#[inline(always)]
pub(in crate::process::water) fn concentration<V: Cells>(
    capacity: V,
    slope: V,
    square: V,
    (depth, per_depth): (V, f32),
) -> V {
    let one = V::all(1.0);
    let power = slope * slope / (one + slope * slope) * square;
    (capacity * power.sqrt() * (one - depth * V::all(per_depth)).positive()).min(V::all(MOST_LOAD))
}

impl<N: Coefficient> RowKernel for BedRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (suspension, deposition, stays): (V, V, V) =
            (self.rates[0].at(x), self.rates[1].at(x), self.rates[2].at(x));
        let (here, left, right, above, below) = (
            V::load(self.ground[0], x),
            V::load(self.ground[1], x),
            V::load(self.ground[2], x),
            V::load(self.ground[3], x),
            V::load(self.ground[4], x),
        );
        let (one, tiny) = (V::all(1.0), V::all(f32::MIN_POSITIVE));
        let (d, s) = (V::load(self.moved[0], x), V::load(self.moved[1], x));
        let deficit = V::load(self.moved[2], x);
        // Sand first, then rock by its softness, to a small fraction of the depth below the lowest neighbour at most: the bed sinks as a
        // whole, and no pit is left when the water has gone.
        let (lowest, highest) = (left.min(right).min(above.min(below)), left.max(right).max(above.max(below)));
        let (pool, suspended_fraction) = (V::all(POOL) * d.min(V::all(DEEP)), V::all(self.suspended_fraction));
        let want = deficit.positive();
        let wanted = want * (suspension / (one + suspension));
        // Never less than without acceleration.
        let gentle = (V::all(self.step_fraction) * (here - lowest).positive()).max(want * suspended_fraction);
        let above_lowest = ((here - lowest) + pool).min(gentle).positive();
        let loose = wanted.min(above_lowest);
        let [bedrock_row, sand_row, water_row, suspended_row] = &mut self.layers;
        let (old_bedrock, old_sand) = (V::load(bedrock_row, x), V::load(sand_row, x));
        // Rounded to the precision of the suspended layer, so that bed and layer change by the same amount: accelerated layers can be
        // kilometres thick.
        let from_sand = add_limited(s, loose.min(old_sand)) - s;
        let hard = suspension * V::all(2.0) * V::load(self.softness, x);
        let rest = (loose - from_sand) / ((loose + tiny) * (one + hard));
        let from_rock = add_limited(s, (want * (rest * hard)).min((above_lowest - from_sand).positive())) - s;
        // Bed load fills a pool to the level of the bed around it; a cell that dries deposits all its sediment.
        let share = deposition / (one + deposition);
        let falls = (lowest - here).positive().min(s * share);
        let settles = d.if_above(V::all(DRY), ((-deficit).positive() * share).max(falls), s);
        let room = (V::all(self.step_fraction) * (highest - here).positive()).max(settles * suspended_fraction);
        self.tallies.deposition_limited.add(x, settles.if_above(room, one, V::all(0.0)));
        let settles = s - (s - settles.min(room));
        // Exact changes of the layers, whose last digit can exceed what a step moves. Sediment that they cannot take up without
        // rounding up stays in the water.
        let (bedrock, left) = (old_bedrock - from_rock, old_sand - from_sand);
        let taken = (old_bedrock - bedrock) + (old_sand - left);
        let sand = add_limited(left, settles);
        let settled = sand - left;
        let remains = d * stays;
        bedrock.store(bedrock_row, x);
        sand.store(sand_row, x);
        remains.store(water_row, x);
        ((s - settled) + taken).store(suspended_row, x);
        self.tallies.eroded.add(x, taken);
        self.tallies.deposited.add(x, settled);
        self.tallies.erosion_limited.add(x, wanted.if_above(above_lowest, one, V::all(0.0)));
        self.tallies.evaporated.add(x, d - remains);
    }
}

/// Transport and exchange with the bed, row by row over a strip.
pub(super) struct FluidTransport {
    border: Border,
    bed: BedCoefficients,
    /// Limited fluxes of fluid across the faces above and below the row, and the sediment that they carry.
    flux_above: AlignedArray,
    flux_below: AlignedArray,
    load_above: AlignedArray,
    load_below: AlignedArray,
    load_x: AlignedArray,
    rain: AlignedArray,
    /// Water and sediment after the flow, and the square of the speed, later the deficit.
    moved: [AlignedArray; 3],
    tallies: WaterTallies,
    water_out: f64,
    solid_out: f64,
}

impl FluidTransport {
    pub fn new(border: Border, bed: BedCoefficients) -> Self {
        let row = || AlignedArray::filled(border.width, 0.0);
        Self {
            border,
            bed,
            flux_above: row(),
            flux_below: row(),
            load_above: row(),
            load_below: row(),
            load_x: AlignedArray::filled(border.width + 1, 0.0),
            rain: row(),
            moved: [row(), row(), row()],
            tallies: WaterTallies::default(),
            water_out: 0.0,
            solid_out: 0.0,
        }
    }

    /// Returns the totals of the rows.
    pub fn sums(&self) -> WaterSums {
        WaterSums { water_out: self.water_out, solid_out: self.solid_out, ..self.tallies.sums() }
    }

    /// Limits the fluxes between row `y` and the one above it, and computes their sediment: for the current row, or for the one `below`
    /// it, which may be beyond the border.
    #[inline(always)]
    fn limit_above<V: Cells>(&mut self, y: isize, fluid: &Fluid, flow: &FluxRows, spans: Spans<'_>, below: bool) {
        let (middle, rows) = if below { (y - 1, [1, 2]) } else { (y, [0, 1]) };
        let width = self.border.width;
        let both = |quantity: usize| {
            let around = fluid.around(quantity, middle);
            [sides(around[rows[0]], width)[1], sides(around[rows[1]], width)[1]]
        };
        let (limits, concentrations) = (both(LIMIT), both(CONCENTRATION));
        let (out, load) = if below {
            (&mut self.flux_below, &mut self.load_below)
        } else {
            (&mut self.flux_above, &mut self.load_above)
        };
        let (next, out, load) = (&flow.y(y)[..width], &mut out[..width], &mut load[..width]);
        spans.clear_others(out);
        spans.clear_others(load);
        spans.run::<V>(width, LimitRow { next, limits, concentrations, out, load });
    }

    /// Limits the fluxes around row `y`, and computes their sediment. Rows come in order from `first`; `last` marks the map's last row.
    #[inline(always)]
    fn limit<V: Cells>(
        &mut self,
        y: isize,
        fluid: &Fluid,
        flow: &FluxRows,
        (first, last): (isize, bool),
        spans: [Spans<'_>; 2],
        faces: &mut Strip<'_, 2>,
    ) {
        let width = self.border.width;
        // The fluxes between this row and the one above are known.
        if y == first {
            self.limit_above::<V>(y, fluid, flow, spans[0], false);
        } else {
            std::mem::swap(&mut self.flux_above, &mut self.flux_below);
            std::mem::swap(&mut self.load_above, &mut self.load_below);
        }
        self.limit_above::<V>(y + 1, fluid, flow, spans[1], true);
        let spans = spans[0];
        if last {
            faces.rows_mut(y + 1)[Y].copy_from_slice(&self.flux_below);
        }
        let [x_out, y_out] = faces.rows_mut(y);
        y_out.copy_from_slice(&self.flux_above);
        let (limit, load) = (fluid.around(LIMIT, y)[1], fluid.around(CONCENTRATION, y)[1]);
        let faces = width + 1;
        let (limits, concentrations) = (across(limit, faces), across(load, faces));
        let (next, out, load) = (&flow.x(y)[..faces], &mut x_out[..faces], &mut self.load_x[..faces]);
        spans.clear_others(out);
        spans.clear_others(load);
        spans.run::<V>(faces, LimitRow { next, limits, concentrations, out, load });
    }

    /// Processes row `y`.
    #[inline(always)]
    pub fn row<V: Cells>(
        &mut self,
        y: isize,
        (fluid, flow, surface, numbers, active): (
            &Fluid,
            &FluxRows,
            &StencilWindow<2, 5>,
            &impl CoefficientWindow,
            &Active,
        ),
        (layers, faces): (&mut Strip<'_, 4>, &mut Strip<'_, 2>),
        softness: &[f32],
        rain: &StepRain<'_>,
    ) {
        let Border { width, height, edge } = self.border;
        let (first, last) = (y == 0, y + 1 == height as isize);
        let spans = active.spans(y);
        self.limit::<V>(y, fluid, flow, (layers.rows().start, last), [spans, active.spans(y + 1)], faces);
        let x_out = faces.row(X, y);
        let fluxes = [&x_out[..width], &x_out[1..][..width], &self.flux_above[..width], &self.flux_below[..width]];
        let load_x = &self.load_x;
        let loads = [&load_x[..width], &load_x[1..][..width], &self.load_above[..width], &self.load_below[..width]];
        let [above, ground, below] = surface.around(GROUND, y);
        let [left, here, right] = sides(ground, width);
        let ground = [here, left, right, sides(above, width)[1], sides(below, width)[1]];
        let (bed, tallies) = (self.bed, &mut self.tallies);
        let (dt_over_l, fastest) = (bed.dt / bed.size, bed.size / bed.dt.max(f32::MIN_POSITIVE));
        let [bedrock, sand, water, suspended] = layers.rows_mut(y);
        let (water, suspended) = (&mut water[..width], &mut suspended[..width]);
        let [moved_water, moved_sediment, speed] = &mut self.moved;
        let moves = MoveRow {
            dt_over_l,
            suspended_fraction: bed.suspended_fraction,
            fastest: fastest * fastest,
            water,
            rain: rain.row(self.border.on_map(y), &mut self.rain),
            suspended,
            fluxes,
            loads,
            out: [&mut moved_water[..width], &mut moved_sediment[..width], &mut speed[..width]],
            rained: &mut tallies.rained,
        };
        spans.run::<V>(width, moves);
        let rate = |number: usize| numbers.row(number, y).slice(1, width);
        let (moved_water, moved_sediment, deficit) =
            (&moved_water[..width], &moved_sediment[..width], &mut speed[..width]);
        let (capacity, drag) = (rate(CAPACITY), rate(DRAG));
        spans.run::<V>(width, DeficitRow { bed, capacity, drag, moved: [moved_water, moved_sediment], deficit });
        let beds = BedRow {
            suspended_fraction: bed.suspended_fraction,
            step_fraction: bed.step_fraction,
            rates: [rate(SUSPENSION), rate(DEPOSITION), rate(STAYS)],
            softness: &softness[..width],
            moved: [moved_water, moved_sediment, deficit],
            ground,
            layers: [&mut bedrock[..width], &mut sand[..width], water, suspended],
            tallies,
        };
        spans.run::<V>(width, beds);
        tallies.end_row(true);
        if edge == Edge::Open {
            let dt_over_l = f64::from(dt_over_l);
            let suspended_fraction = f64::from(bed.suspended_fraction);
            let out = f64::from(x_out[width]) - f64::from(x_out[0]);
            let load = f64::from(self.load_x[width]) - f64::from(self.load_x[0]);
            self.water_out += dt_over_l * (out - suspended_fraction * load);
            self.solid_out += dt_over_l * load;
            let mut cross = |fluxes: &[f32], loads: &[f32], sign: f64| {
                let load = row_sum::<V>(loads);
                self.water_out += sign * dt_over_l * (row_sum::<V>(fluxes) - suspended_fraction * load);
                self.solid_out += sign * dt_over_l * load;
            };
            if first {
                cross(&self.flux_above, &self.load_above, -1.0);
            }
            if last {
                cross(&self.flux_below, &self.load_below, 1.0);
            }
        }
    }
}
