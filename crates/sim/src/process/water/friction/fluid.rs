//! Concentration of sediment in the fluid, and the limiter of the outflow.

use super::{BedCoefficients, FluxRows};
use crate::{
    core::{aligned::AlignedArray, border::Border},
    process::water::{
        RainRow, StepRain,
        active::Spans,
        surface::{SUSPENDED, WATER},
    },
    simd::{
        cells::{Cells, RowKernel},
        stencil::{Ring, RowAccumulator},
        strip::Strip,
    },
};

/// Suspended layer per depth of the fluid, and the fraction of its outflow that a cell can supply, row by row.
pub(super) struct Fluid {
    border: Border,
    /// Δt/l, and the fraction of the suspended layer that is part of the fluid.
    dt_over_l: f32,
    suspended_fraction: f32,
    rain: AlignedArray,
    rows: Ring<2, 3>,
    /// Both quantities beyond an open border.
    beyond: [AlignedArray; 2],
    /// Number of cells whose outflow was limited.
    pub held: RowAccumulator,
}

pub(super) const CONCENTRATION: usize = 0;
pub(super) const LIMIT: usize = 1;
/// Both quantities beyond an open border.
const BEYOND: [f32; 2] = [0.0, 1.0];

impl Fluid {
    /// Creates rows from `first` on.
    pub fn new(border: Border, first: isize, bed: &BedCoefficients) -> Self {
        let beyond = BEYOND.map(|value| AlignedArray::filled(border.width + 2, value));
        Self {
            border,
            dt_over_l: bed.dt / bed.size,
            suspended_fraction: bed.suspended_fraction,
            rain: AlignedArray::filled(border.width, 0.0),
            rows: Ring::new(border.width, first),
            beyond,
            held: RowAccumulator::default(),
        }
    }

    /// Computes the next row, row `y`; limited cells are counted if the row `counts`.
    #[inline(always)]
    pub fn row<V: Cells>(
        &mut self,
        y: isize,
        layers: &Strip<'_, 4>,
        rain: &StepRain<'_>,
        flow: &FluxRows,
        spans: Spans<'_>,
        counts: bool,
    ) {
        let width = self.border.width;
        let [concentration, limit] = self.rows.push();
        let rain = rain.row(self.border.on_map(y), &mut self.rain);
        let layers = [WATER, SUSPENDED].map(|layer| &layers.row(layer, y)[..width]);
        let (x, above, below) = (flow.x(y), flow.y(y), flow.y(y + 1));
        let faces = [&x[..width], &x[1..][..width], &above[..width], &below[..width]];
        let (concentration, limit) = (&mut concentration[..width], &mut limit[..width]);
        let held = &mut self.held;
        let &mut Self { dt_over_l, suspended_fraction, .. } = self;
        spans.clear_others(concentration);
        spans.clear_others(limit);
        spans.run::<V>(
            width,
            FluidRow { dt_over_l, suspended_fraction, layers, rain, faces, concentration, limit, held },
        );
        self.held.end_row(counts);
        self.rows.close(self.border.edge, [BEYOND; 2]);
    }

    /// Returns a quantity in the row above, in row `y` and in the row below.
    #[inline(always)]
    pub fn around(&self, quantity: usize, y: isize) -> [&[f32]; 3] {
        self.rows.within(quantity, y, self.border, &self.beyond[quantity])
    }
}

struct FluidRow<'a> {
    dt_over_l: f32,
    suspended_fraction: f32,
    /// Water and sediment.
    layers: [&'a [f32]; 2],
    rain: RainRow<'a>,
    /// Fluxes to the left of the cells, right, above and below.
    faces: [&'a [f32]; 4],
    concentration: &'a mut [f32],
    limit: &'a mut [f32],
    held: &'a mut RowAccumulator,
}

impl RowKernel for FluidRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (water, suspended) = (V::load(self.layers[0], x), V::load(self.layers[1], x));
        let (left, right, above, below) = (
            V::load(self.faces[0], x),
            V::load(self.faces[1], x),
            V::load(self.faces[2], x),
            V::load(self.faces[3], x),
        );
        let fluid = (water + self.rain.at::<V>(x)) + suspended * V::all(self.suspended_fraction);
        let out = ((-left).positive() + right.positive()) + ((-above).positive() + below.positive());
        let (wanted, one) = (out * V::all(self.dt_over_l), V::all(1.0));
        // A millionth is kept, so that rounding removes no more than there is.
        let most = fluid * V::all(1.0 - 1e-6);
        (suspended / (fluid + V::all(f32::MIN_POSITIVE))).store(self.concentration, x);
        wanted.if_above(most, most / wanted.max(V::all(f32::MIN_POSITIVE)), one).store(self.limit, x);
        self.held.add(x, wanted.if_above(most, one, V::all(0.0)));
    }
}
