//! Published scheme: four one-way pipes of constant cross-section per cell (eqs 1–16), with misprints corrected.
//!
//! ```text
//! f_i ← max(0, f_i + Δt·A·g·ΔH_i/l),  f ← min(1, d·l²/(Δt·Σf))·f                        eqs 2–5
//! d ← d + Δt·(Σ in − Σ out)/l²,  u = ½·(flux left + flux right)/(l·d̄)                    eqs 6–8
//! C = Kc·max(sin α, least)·|v|·max(0, 1 − d/Kdmax),  or with −N·V instead of sin α       eqs 9–11
//! below C: dissolve Δt·R·Ks·(C − s);  above: settle Δt·Kd·(s − C), soften the ground     eqs 12–14
//! s(x) ← s(x − v·Δt),  d ← d·(1 − Ke·Δt)                                                 eqs 15, 16
//! ```
//!
//! The ground is one solid; its two layers are only kept in step. Eq. 15 does not conserve sediment: the amount created or
//! destroyed is recorded as lost, and so is water displaced by sediment.

mod erode;
mod flow;
mod transport;

pub(super) use self::erode::{PipeCoefficients, collision_squared, sine_squared};
use self::{erode::Erosion, flow::FlowRow, transport::SedimentTransport};
use super::{
    FILM_SQUARE, OpenBoundary, Params, StepRain, StepScope, WaterSums,
    active::Active,
    surface::{LEVEL, SUSPENDED, WATER, WaterSurface},
};
use crate::{
    core::{aligned::AlignedArray, border::Border, terrain::Terrain},
    process::saved_state::{NamedValues, StateValue},
    simd::{
        cells::{Cells, Pass, over_row, with_vector_unit},
        stencil::{RowAccumulator, StencilWindow, sides},
        strip::{Strip, for_strips},
    },
};

/// Courant number c·Δt/l of a step; the scheme is stable up to 0.499.
pub(super) const COURANT: f32 = 0.35;

/// Outflows, in cubic metres per second.
#[derive(Clone)]
pub(super) struct Pipes {
    size: (usize, usize),
    /// To the left, right, above and below.
    flux: [AlignedArray; 4],
    /// Fluxes of the next step, if they are displayed.
    displayed: Option<[AlignedArray; 4]>,
    /// Maximum displayed speed: a cell per step, as in the last step.
    fastest: f32,
}

const LEFT: usize = 0;
const RIGHT: usize = 1;
const ABOVE: usize = 2;
const BELOW: usize = 3;

/// Rows around a strip on which a step depends: one each for fluxes, erosion and transport.
const MARGIN: usize = 3;

impl Pipes {
    pub(super) fn state_values(&mut self) -> NamedValues<'_> {
        let names = ["flux left", "flux right", "flux above", "flux below"];
        names.into_iter().zip(&mut self.flux).map(|(name, flux)| (name, StateValue::Cells(flux))).collect()
    }

    pub(super) fn new(terrain: &Terrain) -> Self {
        let size = (terrain.width(), terrain.height());
        Self {
            size,
            flux: std::array::from_fn(|_| AlignedArray::filled(size.0 * size.1, 0.0)),
            displayed: None,
            fastest: f32::INFINITY,
        }
    }

    pub(super) fn fit(&self, terrain: &Terrain) -> bool {
        self.size == (terrain.width(), terrain.height())
    }

    /// Discards the fluxes kept for display.
    pub(super) fn discard_display(&mut self) {
        self.displayed = None;
    }

    /// Returns the velocity in a cell along columns and rows, in metres per second: eq. 8 with the present depth, without inflow from a
    /// sea, damped over thin films.
    #[inline]
    pub(super) fn velocity_at(&self, terrain: &Terrain, [x, y]: [usize; 2]) -> [f32; 2] {
        let (width, height) = self.size;
        let flux = self.displayed.as_ref().unwrap_or(&self.flux);
        let at = |side: usize, x: isize, y: isize| {
            let place = terrain.edge.index(x, width).zip(terrain.edge.index(y, height));
            place.map_or(0.0, |(x, y)| flux[side][y * width + x])
        };
        let depth = terrain.water.at(x, y);
        let per_flux = 0.5 / terrain.cell_size * depth / (depth * depth + FILM_SQUARE);
        let along = |[back, ahead]: [usize; 2], (dx, dy): (isize, isize)| {
            let (x, y) = (x as isize, y as isize);
            let came = at(ahead, x - dx, y - dy) - at(back, x + dx, y + dy);
            let goes = at(ahead, x, y) - at(back, x, y);
            ((came + goes) * per_flux).clamp(-self.fastest, self.fastest)
        };
        [along([LEFT, RIGHT], (1, 0)), along([ABOVE, BELOW], (0, 1))]
    }

    /// Computes the fluxes, limited to the water present, moves the water, exchanges sediment with the bed, transports it and evaporates
    /// water; or computes the fluxes alone, for display.
    pub(super) fn step(&mut self, terrain: &mut Terrain, params: &Params, dt: f32, work: StepScope) -> WaterSums {
        let border = Border::of(terrain);
        let (width, size) = (border.width, terrain.cell_size);
        let Terrain { bedrock, sand, water, suspended, softness, start, rain, .. } = terrain;
        let rain = StepRain::new(rain.as_deref(), params, None, dt);
        let beyond = OpenBoundary { start, sea_level: params.sea_level };
        let laws = PipeStepCoefficients {
            push: params.gravity * params.pipe_area * dt / size,
            area_over_dt: size * size / dt.max(f32::MIN_POSITIVE),
            bed: PipeCoefficients::new(params, size, dt),
            shift: dt / size,
        };
        self.fastest = laws.bed.fastest;
        self.displayed = (work == StepScope::Flow).then(|| self.flux.clone());
        let flux = self.displayed.as_mut().unwrap_or(&mut self.flux);
        let [left, right, above, below] = flux.each_mut().map(|flux| (&mut flux[..], width));
        let [bedrock, sand, water, suspended, softness] =
            [bedrock, sand, water, suspended, softness].map(|layer| (&mut layer[..], width));
        let layers = [bedrock, sand, water, suspended, softness, left, right, above, below];
        let bands = for_strips(border, layers, MARGIN, |strip| {
            let (layers, flux) = strip.split();
            with_vector_unit(PipeSweep { layers, flux, rain, beyond, laws, work })
        });
        bands.into_iter().fold(WaterSums::default(), |mut sums, band| {
            sums += band;
            sums
        })
    }
}

/// Coefficients of a step.
#[derive(Clone, Copy)]
struct PipeStepCoefficients {
    /// Increase of the flux of a pipe per metre of level difference, in square metres per second: A·g·Δt/l.
    push: f32,
    /// Flux that drains a metre of water in a step: l²/Δt.
    area_over_dt: f32,
    bed: PipeCoefficients,
    /// Δt/l.
    shift: f32,
}

/// Step on a strip.
struct PipeSweep<'a> {
    /// Bedrock, sand, water, suspended, softness.
    layers: Strip<'a, 5>,
    flux: Strip<'a, 4>,
    rain: StepRain<'a>,
    beyond: OpenBoundary<'a>,
    laws: PipeStepCoefficients,
    work: StepScope,
}

impl Pass for PipeSweep<'_> {
    type Output = WaterSums;

    #[inline(always)]
    fn run<V: Cells>(self) -> WaterSums {
        let Self { mut layers, mut flux, rain, beyond, laws, work } = self;
        let (border, own) = (layers.border(), layers.rows());
        let width = border.width;
        let active = Active::everywhere(border);
        let mut surface: StencilWindow<2, 4> = StencilWindow::over(&layers, MARGIN as isize);
        let mut erosion = Erosion::new(border, own.start - 1, laws.bed, laws.push);
        let mut transport = SedimentTransport::new(border, laws.shift);
        let (mut rained, mut held) = (AlignedArray::filled(width, 0.0), RowAccumulator::default());
        let (flows, erodes, carries) = match work {
            StepScope::Flow => (own.clone(), 0..0, 0..0),
            StepScope::Full => (layers.reach(2), layers.reach(1), own.clone()),
        };
        // Each stage runs a row ahead of the one that depends on it.
        for y in own.start - 2 * MARGIN as isize..own.end {
            surface.fill_to::<V>(
                y + 3,
                &WaterSurface { strip: &layers, rain, beyond, suspended_fraction: 0.0, active: &active },
            );
            if flows.contains(&(y + 2)) {
                let y = y + 2;
                let rained = rain.row(border.on_map(y), &mut rained);
                let [over, level, under] = surface.around(LEVEL, y);
                let water = &layers.row(WATER, y)[..width];
                let [left, here, right] = sides(level, width);
                let levels = [here, left, right, sides(over, width)[1], sides(under, width)[1]];
                let [to_left, to_right, to_above, to_below] = flux.rows_mut(y);
                let flux =
                    [&mut to_left[..width], &mut to_right[..width], &mut to_above[..width], &mut to_below[..width]];
                let (push, area_over_dt, held) = (laws.push, laws.area_over_dt, &mut held);
                over_row::<V>(width, FlowRow { push, area_over_dt, levels, water, rained, flux, held: &mut *held });
                held.end_row(own.contains(&y));
            }
            if erodes.contains(&(y + 1)) {
                let rained = rain.row(border.on_map(y + 1), &mut rained);
                erosion.row::<V>(y + 1, &surface, &flux, &mut layers, rained, own.contains(&(y + 1)));
            }
            if carries.contains(&y) {
                let suspended = &mut layers.rows_mut(y)[SUSPENDED][..width];
                transport.row::<V>(y, &erosion.moved, suspended);
            }
        }
        WaterSums { solid_lost: transport.lost(), outflow_limited: held.total() as u64, ..erosion.sums() }
    }
}
