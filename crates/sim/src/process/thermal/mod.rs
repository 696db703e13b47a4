//! Thermal erosion: slopes that exceed their angle of repose collapse.
//!
//! Corrected mode: sand in excess of its angle of repose slides to lower neighbours; bare bedrock steeper than its talus angle, which is
//! never below the angle of repose of its sand, fails and turns into sand (`sliding.rs`). Published mode (eqs 17, 18): a cell distributes
//! ΔS = Δt·Kt·R·H/2 among the neighbours down to which the slope exceeds the talus angle.
//!
//! A tick spans the same simulated time as a tick of the water, unless it has its own time step.

mod explain;
mod published;
mod sliding;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use bevy_reflect::Reflect;

use self::{
    published::PublishedPass,
    sliding::{SlideCoefficients, slide, submerged_slope_factor, talus},
};
use super::{
    AnySetup, Context, Footprint, IdleReason, Info, Mode, Process, Reference, Setup, StageInfo, StepProgress,
    explain::Explanation, limiter::Limiter,
};
use crate::{
    core::{
        analysis::steepest_fall,
        border::Border,
        grid::Grid,
        quantity::Quantity,
        terrain::{Layer, Terrain},
    },
    params::{choice, knob},
    process::masked::{MaskedParams, factors},
    simd::{around::repose_heights, cells::with_vector_unit, strip::for_strips},
};

/// Minimum thickness of sand that counts as loose ground, in metres.
const DUSTING: f32 = 0.01;

const P1: &str = "Jákó & Tóth 2011, table 2";
const TALUS: &str = "Jákó & Tóth 2011, table 2; values chosen for this program";

/// Parameters of thermal erosion.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Form of the equations: corrected, with known errors fixed and mass conserved, or as published, errors included.
    #[reflect(@choice().source("Jákó & Tóth 2011"))]
    pub mode: Mode,
    /// Angle of repose of dry sand. Low values build flat fans, high values steep cones.
    #[reflect(@knob(5.0..=60.0).title("Angle of repose").unit("°").symbol("φ").source("dry sand; this work").main().only("mode=default"))]
    pub repose_angle: f32,
    /// Angle of repose of sand under water, if lower than that of dry sand. Low values flatten deltas and lake shores.
    #[reflect(@knob(5.0..=60.0).unit("°").source("this work").only("mode=default"))]
    pub underwater_angle: f32,
    /// Failure rate of steep rock; as published, of all ground. High values round off ridges immediately; at 0 nothing fails.
    #[reflect(@knob(0.0..=3.0).title("Failure rate").unit("1/s").symbol("Kt").source(P1).main())]
    pub rate: f32,
    /// Increase of the talus slope from the softest to the hardest rock. High values preserve cliffs of hard rock.
    #[reflect(@knob(0.0..=1.0).symbol("Ka").source(TALUS).main())]
    pub talus_coefficient: f32,
    /// Talus slope of the softest rock; in the corrected mode, rock is never less steep than its sand. High values preserve all cliffs.
    #[reflect(@knob(0.0..=1.0).symbol("Ki").source(TALUS).main())]
    pub talus_bias: f32,
    /// Use a separate time step for thermal erosion. When off, and while Water is enabled, a tick spans the same simulated time as a
    /// tick of Water.
    #[reflect(@choice().title("Separate time step").source("this work").indirect())]
    pub own_time: bool,
    /// Simulated time per tick if Water is disabled or Separate time step is on. In the corrected mode the value is for a terrain 256 m wide and grows
    /// in proportion to the width.
    #[reflect(@knob(0.0..=0.05).title("Time step").unit("s").symbol("Δt").source(P1))]
    pub dt: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            repose_angle: 33.0,
            underwater_angle: 28.0,
            rate: 0.15,
            talus_coefficient: 0.9,
            talus_bias: 0.3,
            own_time: false,
            dt: 0.02,
        }
    }
}

factors!(repose_angle, underwater_angle, rate, talus_coefficient, talus_bias);

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "thermal",
    title: "Thermal erosion",
    about: "Slopes that exceed their angle of repose collapse: sand slides, and bare rock turns into sand.",
    reference: Reference {
        source: "Jákó & Tóth 2011 after Beneš & Forsbach 2001",
        equations: &[include_str!("mod.rs"), include_str!("sliding.rs")],
    },
    footprint: Footprint { per_cell: 8, per_cell_and_thread: 0 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Water, Layer::Softness, Layer::Start],
    writes: &[Layer::Bedrock, Layer::Sand],
    moves_water: false,
    stages: &[StageInfo {
        name: "slide",
        about: "Material in excess of the angle of repose slides from every cell to its lower neighbours.",
    }],
    limiters: &[Limiter {
        name: "rate",
        about: "Ticks whose time step exceeded the failure time: at most the whole excess failed.",
    }],
};

/// Fraction of the excess of a pair of cells that slides in a tick.
const SLIDE_FRACTION: f32 = 1.0 / 12.0;

/// The process: parameters and counts.
#[derive(Clone, Default)]
pub struct Thermal {
    setup: Setup<Params, Factors>,
    /// `true` if nothing moved in the last tick.
    at_rest: bool,
}

impl Thermal {
    /// Returns the process with these parameters.
    pub fn with(params: Params) -> Self {
        Self { setup: Setup::with(params), at_rest: false }
    }
}

impl Process for Thermal {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn setup(&self) -> &dyn AnySetup {
        &self.setup
    }

    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.setup
    }

    fn step(&mut self, _: usize, context: &mut Context<'_>) -> StepProgress {
        let terrain = &mut *context.terrain;
        let own = self.setup.params.mode.seconds(self.setup.params.dt, terrain);
        let followed = context.elapsed.filter(|_| !self.setup.params.own_time);
        let seconds = followed.map_or(own, |seconds| seconds as f32);
        context.elapsed.get_or_insert(f64::from(seconds));
        self.setup.elapse(f64::from(seconds));
        let (border, size) = (Border::of(terrain), terrain.cell_size);
        let masked = self.setup.masked_params(terrain, self.setup.params.mode);
        let masked = masked.as_ref();
        let steep = TalusCoefficients::new(&self.setup.params, size, seconds);
        let under = masked.map_or(steep, |masked| TalusCoefficients::new(&masked.params, size, seconds));
        let slopes = slopes(&self.setup.params, masked, size, seconds);
        let bands = match self.setup.params.mode {
            Mode::Corrected => slide(terrain, border, SLIDE_FRACTION, slopes),
            Mode::Published => {
                let Terrain { bedrock, sand, softness, start, .. } = &mut *terrain;
                let (softness, start) = (&softness[..], &start[..]);
                let layers = [bedrock, sand].map(|layer| (&mut layer[..], border.width));
                for_strips(border, layers, PublishedPass::MARGIN, |strip| {
                    with_vector_unit(PublishedPass { strip, start, softness, steep })
                })
            }
        };
        self.setup.count_limits([u64::from(steep.cut || under.cut)]);
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        self.at_rest = true;
        for band in bands {
            self.at_rest &= band.given + band.crumbled == 0.0;
            row.eroded += band.given * area;
            row.deposited += band.got * area;
            row.moved += (band.given + band.got + band.crumbled) * area;
            row.outflow += band.out * area;
            row.lost += band.rounded * area;
        }
        self.setup.counts.substeps += 1;
        StepProgress::Done
    }

    fn idle_reason(&self, _: &Terrain) -> Option<IdleReason> {
        self.at_rest.then_some(IdleReason::StableSlopes)
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        Some(explain::explain(self, terrain, place))
    }

    fn map(&self, quantity: Quantity, terrain: &Terrain) -> Option<Cow<'_, Grid>> {
        if quantity != Quantity::Steepness {
            return None;
        }
        let masked = self.setup.masked_params(terrain, self.setup.params.mode);
        let slopes = slopes(&self.setup.params, masked.as_ref(), 1.0, 0.0);
        let steepness = |x, y| {
            let stands = self.stable_slope(terrain, [x, y], &slopes).max(1e-3);
            steepest_fall(terrain, terrain.bedrock.index(x, y)) / (terrain.cell_size * stands)
        };
        Some(Cow::Owned(Grid::from_fn(terrain.width(), terrain.height(), steepness)))
    }
}

impl Thermal {
    /// Returns the largest stable slope of the ground in a cell. Sand up to [`DUSTING`] does not count as loose ground.
    fn stable_slope(&self, terrain: &Terrain, [x, y]: [usize; 2], slopes: &SlideCoefficients<'_>) -> f32 {
        let is_corrected = self.setup.params.mode == Mode::Corrected;
        let [dry, _, per_hardness, bias, _, wet] = slopes.at(x, y);
        let lies = dry * submerged_slope_factor(wet, terrain.water.at(x, y));
        let stands = talus(terrain.softness.at(x, y), per_hardness, bias);
        match (is_corrected, terrain.sand.at(x, y) > DUSTING) {
            (false, _) => stands,
            (true, false) => stands.max(lies),
            (true, true) => lies,
        }
    }

    /// Returns the largest stable slope of a single cell.
    fn stable_slope_at(&self, terrain: &Terrain, place: [usize; 2]) -> f32 {
        let masked = self.setup.masked_params(terrain, self.setup.params.mode);
        self.stable_slope(terrain, place, &slopes(&self.setup.params, masked.as_ref(), 1.0, 0.0))
    }
}

/// Coefficients shared by both modes.
#[derive(Clone, Copy)]
struct TalusCoefficients {
    /// Talus slope of rock times the cell size: the part proportional to hardness, and the value at hardness 0.
    per_hardness: f32,
    bias: f32,
    /// Fraction that fails in a tick (in published mode: slides), limited to 1; `cut` is `true` if the limit was applied.
    share: f32,
    cut: bool,
}

impl TalusCoefficients {
    fn new(params: &Params, size: f32, seconds: f32) -> Self {
        Self {
            per_hardness: params.talus_coefficient * size,
            bias: params.talus_bias * size,
            share: (params.rate * seconds).min(1.0),
            cut: params.rate * seconds > 1.0,
        }
    }
}

fn slopes<'a>(
    params: &Params,
    masked: Option<&'a MaskedParams<Params>>,
    size: f32,
    seconds: f32,
) -> SlideCoefficients<'a> {
    SlideCoefficients::new(params, masked, |params| {
        let TalusCoefficients { per_hardness, bias, share, .. } = TalusCoefficients::new(params, size, seconds);
        let [beside, across] = repose_heights(params.repose_angle, size);
        let [wet, _] = repose_heights(params.underwater_angle, size);
        [beside, across, per_hardness, bias, share, (wet / beside).min(1.0)]
    })
}
