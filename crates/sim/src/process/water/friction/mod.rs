//! Default scheme: the shallow-water equations with one signed flux per face.
//!
//! ```text
//! H = ground + water + S/M                             surface of the fluid
//! h = max(H₁, H₂) − max(ground₁, ground₂)              depth at a face
//! u = q/h                                              velocity there, damped over thin films
//! q ← (q + Δt/l·(momentum inflow − outflow) − g·h·Δt·(H₂ − H₁)/l) / (1 + g·Δt·n²·|q|/h^(7/3))
//! K = min(1, fluid·l / (Δt·Σ outflow))                 outflow limiter
//! ```
//!
//! Fluxes and levels are staggered, as in Stelling & Duinmeijer 2003: each flux advects the momentum of its upwind face, which conserves
//! momentum. |q| is the magnitude of both components, so no direction is favoured.
//!
//! A flux carries water and sediment in the proportions of the upwind cell, which conserves both.
//!
//! Morphological acceleration (Roelvink 2006) multiplies erosion and deposition in a step by M. The suspended layer S is the volume that
//! was eroded and not deposited; the fluid contains S/M of it, which sets its level and concentration. Bed and S together are conserved
//! for every M, and with M = 1 erosion and deposition do not move the surface.

mod flow;
mod fluid;
mod transport;

use std::ops::Range;

use rayon::prelude::*;

pub(super) use self::{
    flow::{CARRIES, DEEPER},
    transport::{concentration, energy_slope},
};
use self::{
    flow::{FaceSides, FlowCoefficients, FluxRows, wave},
    fluid::Fluid,
    transport::{BedCoefficients, FluidTransport},
};
use super::{
    FILM, FILM_SQUARE, OpenBoundary, Params, StepRain, StepScope, WaterSums, active::Active, surface::WaterSurface,
};
use crate::{
    core::{
        aligned::AlignedArray,
        border::Border,
        terrain::{Edge, Terrain},
    },
    process::{
        masked::{CoefficientRows, CoefficientWindow, MaskedCoefficients, MaskedParams},
        saved_state::{NamedValues, StateValue},
    },
    simd::{
        cells::{Cells, MAX_LANES, Pass, RowKernel, over_row, with_vector_unit},
        stencil::StencilWindow,
        strip::{Strip, for_strips},
    },
};

/// Maximum Courant number of waves on the flow.
pub(super) const COURANT: f32 = 0.5;
/// Depth up to which fluid does not flow, in metres.
const DRY: f32 = 1e-5;

/// Fluxes across the faces between cells, in square metres per second: positive towards higher columns and rows.
#[derive(Clone)]
pub(super) struct FaceFluxes {
    size: (usize, usize),
    /// Left of every cell, and right of the last: `width + 1` in a row.
    x: AlignedArray,
    /// Above every cell, and below the last row.
    y: AlignedArray,
    /// Fluxes of the next step before they are limited, if they are displayed.
    displayed: Option<[AlignedArray; 2]>,
    /// Speed of the fastest wave at the start of the last step, in metres per second; 0 before the first.
    wave: f64,
}

/// Rows around a strip on which a step depends: one each for outflows, the limits of neighbours and the faces around a face.
pub(super) const MARGIN: usize = 3;

impl FaceFluxes {
    pub(super) fn state_values(&mut self) -> NamedValues<'_> {
        vec![
            ("flow x", StateValue::Cells(&mut self.x)),
            ("flow y", StateValue::Cells(&mut self.y)),
            ("wave", StateValue::Number(&mut self.wave)),
        ]
    }

    pub(super) fn new(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let (x, y) = (AlignedArray::filled((width + 1) * height, 0.0), AlignedArray::filled(width * (height + 1), 0.0));
        Self { size: (width, height), x, y, displayed: None, wave: 0.0 }
    }

    pub(super) fn fit(&self, terrain: &Terrain) -> bool {
        self.size == (terrain.width(), terrain.height())
    }

    /// Adds an outflow, in square metres per second, across one of the faces of a cell: left, right, above, below.
    pub(super) fn add_outflow(&mut self, [x, y]: [usize; 2], face: usize, flux: f32) {
        let width = self.size.0;
        match face {
            0 => self.x[y * (width + 1) + x] -= flux,
            1 => self.x[y * (width + 1) + x + 1] += flux,
            2 => self.y[y * width + x] -= flux,
            _ => self.y[(y + 1) * width + x] += flux,
        }
    }

    /// Merges the first and the last faces of a periodic map, which coincide.
    pub(super) fn merge_periodic(&mut self, edge: Edge) {
        let (width, height) = self.size;
        if edge == Edge::Wrap {
            let join = |faces: &mut AlignedArray, first: usize, last: usize| {
                let flux = faces[first] + faces[last];
                (faces[first], faces[last]) = (flux, flux);
            };
            (0..height).for_each(|y| join(&mut self.x, y * (width + 1), y * (width + 1) + width));
            (0..width).for_each(|x| join(&mut self.y, x, height * width + x));
        }
    }

    /// Returns the velocity of the fluid in a cell along columns and rows, in metres per second, damped over thin films: the mean flux
    /// across two opposite faces of the cell divided by its depth or, at a front that runs into it, by their larger mean depth. The depth at
    /// a face is the geometric mean of both sides.
    #[inline]
    pub(super) fn velocity_at(&self, terrain: &Terrain, suspended_fraction: f32, [x, y]: [usize; 2]) -> [f32; 2] {
        let (width, height) = self.size;
        let edge = terrain.edge;
        let fluid = |x: isize, y: isize| {
            let index = edge.nearest(y, height) * width + edge.nearest(x, width);
            let ground = terrain.bedrock[index] + terrain.sand[index];
            (ground, terrain.water[index] + terrain.suspended[index] * suspended_fraction)
        };
        let along = |[right, down]: [isize; 2], fluxes: [f32; 2]| {
            let (x, y) = (x as isize, y as isize);
            let (ground, depth) = fluid(x, y);
            let at_face = |(other, beyond): (f32, f32)| {
                let higher = ground.max(other);
                ((ground + depth - higher).max(0.0) * (other + beyond - higher).max(0.0)).sqrt()
            };
            let at_faces = at_face(fluid(x - right, y - down)) + at_face(fluid(x + right, y + down));
            let depth = depth.max(0.5 * at_faces);
            0.5 * (fluxes[0] + fluxes[1]) * depth / (depth * depth + FILM_SQUARE)
        };
        let (faces_x, faces_y) = match &self.displayed {
            Some([x, y]) => (x, y),
            None => (&self.x, &self.y),
        };
        let (beside, above) = (y * (width + 1) + x, y * width + x);
        [along([1, 0], [faces_x[beside], faces_x[beside + 1]]), along([0, 1], [faces_y[above], faces_y[above + width]])]
    }

    /// Returns the speed of the fastest wave at the start of the last step, in metres per second, or of waves on still fluid of the present
    /// maximum depth, if higher; before the first step, on the present flow. Steps are half as long as is stable, so the flow may have
    /// accelerated since.
    pub(super) fn recent_wave(&self, terrain: &Terrain, params: &Params) -> f32 {
        const PART: usize = 1 << 15;
        if self.wave == 0.0 {
            return self.fastest_wave(terrain, params);
        }
        let suspended_fraction = params.suspended_fraction();
        let parts = terrain.water.par_chunks(PART).zip(terrain.suspended.par_chunks(PART));
        let depths =
            parts.map(|(water, suspended)| with_vector_unit(MaximumDepth { water, suspended, suspended_fraction }));
        (self.wave as f32).max((params.gravity * depths.reduce(|| 0.0, f32::max)).sqrt())
    }

    /// Returns the speed of the fastest wave on the flow, in metres per second. Films count as deeper than they are.
    pub(super) fn fastest_wave(&self, terrain: &Terrain, params: &Params) -> f32 {
        const ROWS: usize = 32;
        let (height, gravity, suspended_fraction) = (self.size.1, params.gravity, params.suspended_fraction());
        let waves = |part: usize| {
            let rows = part * ROWS..((part + 1) * ROWS).min(height);
            with_vector_unit(FastestWave { terrain, faces: self, gravity, suspended_fraction, rows })
        };
        (0..height.div_ceil(ROWS)).into_par_iter().map(waves).reduce(|| 0.0, f32::max)
    }

    /// Discards the fluxes kept for display.
    pub(super) fn discard_display(&mut self) {
        self.displayed = None;
    }

    /// Computes the fluxes, moves water and sediment along them and exchanges sediment with the bed; or computes the fluxes alone, for
    /// display.
    pub(super) fn step(
        &mut self,
        terrain: &mut Terrain,
        params: &Params,
        masked: Option<&MaskedParams<Params>>,
        dt: f32,
        work: StepScope,
    ) -> WaterSums {
        let (border, size) = (Border::of(terrain), terrain.cell_size);
        let width = border.width;
        let Terrain { bedrock, sand, water, suspended, softness, start, rain, .. } = terrain;
        let rain = StepRain::new(rain.as_deref(), params, masked, dt);
        let beyond = OpenBoundary { start, sea_level: params.sea_level };
        let numbers = MaskedCoefficients::new(params, masked, |params| {
            let [capacity, suspension, deposition, stays] = transport::rates(params, dt);
            [params.gravity * dt * params.roughness * params.roughness, capacity, suspension, deposition, stays]
        });
        let drive =
            FlowCoefficients { push: params.gravity * dt / size, dt_over_l: dt / size, gravity: params.gravity };
        let bed = BedCoefficients::new(params, size, dt);
        self.displayed = (work == StepScope::Flow).then(|| [self.x.clone(), self.y.clone()]);
        let [faces_x, faces_y] = match &mut self.displayed {
            Some(seen) => seen.each_mut(),
            None => [&mut self.x, &mut self.y],
        };
        let [bedrock, sand, water, suspended] = [bedrock, sand, water, suspended].map(|layer| (&mut layer[..], width));
        let layers = [bedrock, sand, water, suspended, (&mut faces_x[..], width + 1), (&mut faces_y[..], width)];
        let bands = for_strips(border, layers, MARGIN, |strip| {
            let (layers, faces) = strip.split();
            let softness = &softness[..];
            with_vector_unit(FrictionSweep { layers, faces, softness, rain, beyond, drive, bed, numbers, work })
        });
        let sums = bands.into_iter().fold(WaterSums::default(), |mut sums, band| {
            sums += band;
            sums
        });
        if work == StepScope::Full {
            self.wave = f64::from(sums.wave.max((params.gravity * FILM).sqrt()));
        }
        sums
    }
}

/// Maximum depth of some cells.
struct MaximumDepth<'a> {
    water: &'a [f32],
    suspended: &'a [f32],
    suspended_fraction: f32,
}

impl Pass for MaximumDepth<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Cells>(self) -> f32 {
        let mut most = [0.0; MAX_LANES];
        over_row::<V>(self.water.len(), FlowDepthRow { deepest: self, most: &mut most });
        most.into_iter().fold(0.0, f32::max)
    }
}

struct FlowDepthRow<'a> {
    deepest: MaximumDepth<'a>,
    most: &'a mut [f32; MAX_LANES],
}

impl RowKernel for FlowDepthRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let MaximumDepth { water, suspended, suspended_fraction } = self.deepest;
        let depth = V::load(water, x) + V::load(suspended, x) * V::all(suspended_fraction);
        V::load(self.most, 0).max(depth).store(self.most, 0);
    }
}

/// Speed of the fastest wave across a row of faces.
struct WaveRow<'a> {
    gravity: f32,
    flux: &'a [f32],
    sides: FaceSides<'a>,
    most: &'a mut [f32; MAX_LANES],
}

impl RowKernel for WaveRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (depth, speed) = self.sides.depth_and_speed(x, V::load(self.flux, x));
        V::load(self.most, 0).max(wave(self.gravity, depth, speed)).store(self.most, 0);
    }
}

/// Ground and level of a row of cells.
struct FlowLevelRow<'a> {
    layers: [&'a [f32]; 4],
    suspended_fraction: f32,
    out: [&'a mut [f32]; 2],
}

impl RowKernel for FlowLevelRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (bedrock, sand) = (V::load(self.layers[0], x), V::load(self.layers[1], x));
        let (water, suspended) = (V::load(self.layers[2], x), V::load(self.layers[3], x));
        let [ground, level] = &mut self.out;
        (bedrock + sand).store(ground, x);
        (bedrock + sand + (water + suspended * V::all(self.suspended_fraction))).store(level, x);
    }
}

/// Speed of the fastest wave across the faces between the cells of some rows, and between these and the next row.
struct FastestWave<'a> {
    terrain: &'a Terrain,
    faces: &'a FaceFluxes,
    gravity: f32,
    suspended_fraction: f32,
    rows: Range<usize>,
}

impl Pass for FastestWave<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Cells>(self) -> f32 {
        let Self { terrain, faces, gravity, suspended_fraction, rows } = self;
        let (width, height) = faces.size;
        let mut lines = [0; 2].map(|_| [0; 2].map(|_| vec![0.0; width]));
        let mut most = [0.0; MAX_LANES];
        for y in rows.start..(rows.end + 1).min(height) {
            lines.swap(0, 1);
            let cells = y * width..(y + 1) * width;
            let Terrain { bedrock, sand, water, suspended, .. } = terrain;
            let layers = [bedrock, sand, water, suspended].map(|layer| &layer[cells.clone()]);
            let [ground, level] = &mut lines[1];
            over_row::<V>(width, FlowLevelRow { layers, suspended_fraction, out: [ground, level] });
            let [[ground_above, level_above], [ground, level]] = &lines;
            if y > rows.start {
                let flux = &faces.y[cells];
                let sides = FaceSides { ground: [ground_above, ground], level: [level_above, level] };
                over_row::<V>(width, WaveRow { gravity, flux, sides, most: &mut most });
            }
            if y < rows.end && width > 1 {
                let flux = &faces.x[y * (width + 1) + 1..][..width - 1];
                let sides = FaceSides { ground: [ground, &ground[1..]], level: [level, &level[1..]] };
                over_row::<V>(width - 1, WaveRow { gravity, flux, sides, most: &mut most });
            }
        }
        most.into_iter().fold((gravity * FILM).sqrt(), f32::max)
    }
}

/// Indices of the fluxes of a strip: across the faces left of the cells, and above them.
pub(super) const X: usize = 0;
pub(super) const Y: usize = 1;

/// Step on a strip.
struct FrictionSweep<'a> {
    /// Bedrock, sand, water, suspended.
    layers: Strip<'a, 4>,
    faces: Strip<'a, 2>,
    softness: &'a [f32],
    rain: StepRain<'a>,
    beyond: OpenBoundary<'a>,
    drive: FlowCoefficients,
    bed: BedCoefficients,
    numbers: MaskedCoefficients<'a, 5>,
    work: StepScope,
}

/// Indices of the quantities scaled by the mask: g·Δt·n², capacity, rates times Δt, fraction of the water that does not evaporate.
const DRAG: usize = 0;
const CAPACITY: usize = 1;
const SUSPENSION: usize = 2;
const DEPOSITION: usize = 3;
const STAYS: usize = 4;

impl Pass for FrictionSweep<'_> {
    type Output = WaterSums;

    #[inline(always)]
    fn run<V: Cells>(self) -> WaterSums {
        match self.numbers.rows(self.layers.border(), self.layers.rows().start - 2) {
            CoefficientRows::Uniform(even) => self.run_with::<V>(even),
            CoefficientRows::Masked(rows) => self.run_with::<V>(rows),
        }
    }
}

impl FrictionSweep<'_> {
    #[inline(always)]
    fn run_with<V: Cells>(self, mut numbers: impl CoefficientWindow) -> WaterSums {
        let Self { mut layers, mut faces, softness, rain, beyond, drive, bed, work, .. } = self;
        let (border, own) = (layers.border(), layers.rows());
        let width = border.width;
        let active = Active::find::<V>(&layers, &faces, &rain, &beyond);
        if active.is_empty() {
            // The scan does not include the faces of the border.
            own.clone().for_each(|y| faces.rows_mut(y)[X][width] = 0.0);
            if own.end == border.height as isize {
                faces.rows_mut(own.end)[Y].fill(0.0);
            }
            return WaterSums::default();
        }
        let mut surface: StencilWindow<2, 5> = StencilWindow::over(&layers, 3);
        let near = layers.reach(1);
        numbers.next(own.start - 2);
        let mut flow = FluxRows::new(border, drive, near.clone());
        let mut fluid = Fluid::new(border, near.start, &bed);
        let mut carry = FluidTransport::new(border, bed);
        surface.fill_to::<V>(
            own.start,
            &WaterSurface { strip: &layers, rain, beyond, suspended_fraction: bed.suspended_fraction, active: &active },
        );
        for y in own.start - 3..own.start - 1 {
            flow.load_previous::<V>(y, &surface, &faces, &active);
        }
        // Each stage runs a row ahead of the one that depends on it.
        for y in own.start - 3..own.end {
            surface.fill_to::<V>(
                y + 3,
                &WaterSurface {
                    strip: &layers,
                    rain,
                    beyond,
                    suspended_fraction: bed.suspended_fraction,
                    active: &active,
                },
            );
            numbers.next(y + 2);
            flow.load_previous::<V>(y + 2, &surface, &faces, &active);
            flow.along_row::<V>(y + 1, &surface, &numbers, &active);
            flow.across_rows::<V>(y + 2, &surface, &numbers, &active);
            if work == StepScope::Full && near.contains(&(y + 1)) {
                fluid.row::<V>(y + 1, &layers, &rain, &flow, active.spans(y + 1), own.contains(&(y + 1)));
            }
            if own.contains(&y) {
                match work {
                    StepScope::Flow => flow.show(y, &mut faces),
                    StepScope::Full => {
                        let softness = &softness[y as usize * width..][..width];
                        let found = (&fluid, &flow, &surface, &numbers, &active);
                        let changed = (&mut layers, &mut faces);
                        carry.row::<V>(y, found, changed, softness, &rain);
                    }
                }
            }
        }
        WaterSums { outflow_limited: fluid.held.total() as u64, wave: flow.wave(), ..carry.sums() }
    }
}
