//! Thermal erosion: what stands too steep comes down.
//!
//! Default: sand slides from cell to neighbour by what exceeds its angle of repose; bedrock that stands bare and steeper
//! than its own angle, which is never less than the sand's, crumbles into sand (`sliding.rs`). As published (eqs 17, 18),
//! ΔS = Δt·Kt·R·H/2 leaves a cell for those neighbours that lie lower than the talus angle allows.
//!
//! It covers as much time in a tick as the water does, unless it is set apart.

mod explain;
mod published;
mod sliding;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use bevy_reflect::Reflect;

use self::{
    published::Fall,
    sliding::{Slopes, flatter, slide, talus},
};
use super::{
    AnySetup, Context, Footprint, IdleReason, Info, Mode, Process, Progress, Reference, Setup, StageInfo,
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
    process::masked::{Masked, factors},
    simd::{around::at_repose, cells::with_vector_unit, strip::for_strips},
};

/// Sand thinner than this, in metres, does not make loose ground.
const DUSTING: f32 = 0.01;

const P1: &str = "Jákó & Tóth 2011, table 2";
const TALUS: &str = "Jákó & Tóth 2011, table 2; the values are ours";

/// Parameters of the slumping.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Corrected, with known faults removed and mass conserved, or as the paper prints it, faults included.
    #[reflect(@choice().source("Jákó & Tóth 2011"))]
    pub mode: Mode,
    /// Angle at which sand lies. Small makes flat fans, large steep cones.
    #[reflect(@knob(5.0..=60.0).unit("°").symbol("φ").source("dry sand; ours").main().only("mode=default"))]
    pub repose_angle: f32,
    /// Angle at which sand lies under water, if that is flatter. Small makes deltas and lake shores flat.
    #[reflect(@knob(5.0..=60.0).unit("°").source("ours").only("mode=default"))]
    pub underwater_angle: f32,
    /// How fast rock crumbles, and as published how fast everything slides. High rounds ridges at once; at 0 nothing falls.
    #[reflect(@knob(0.0..=3.0).unit("1/s").symbol("Kt").source(P1).main())]
    pub rate: f32,
    /// How much steeper hard rock stands than soft rock, as a slope. High keeps cliffs where the rock is hard.
    #[reflect(@knob(0.0..=1.0).symbol("Ka").source(TALUS).main())]
    pub talus_coefficient: f32,
    /// Slope at which the softest rock stands; in the corrected mode none is less steep than its own sand. High keeps all cliffs.
    #[reflect(@knob(0.0..=1.0).symbol("Ki").source(TALUS).main())]
    pub talus_bias: f32,
    /// Whether slumping has its own time per tick. If not, a tick of slumping covers the same time as a tick of Water, while Water
    /// is on.
    #[reflect(@choice().source("ours").indirect())]
    pub own_time: bool,
    /// Time that a tick covers if Water is off or Own time is on. In the corrected mode the value is for land 256 m wide; on wider
    /// land a tick covers more time, in proportion.
    #[reflect(@knob(0.0..=0.05).unit("s").symbol("Δt").source(P1))]
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
    title: "Slumping",
    about: "Slopes that are too steep come down: sand slides, bare rock crumbles into sand.",
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
        about: "Every cell gives what exceeds its angle of repose to its lower neighbours, and takes from the higher ones.",
    }],
    limiters: &[Limiter {
        name: "rate",
        about: "Ticks that are longer than the time in which all that is too steep comes down: no more than that falls in a tick.",
    }],
};

/// Of a pair's excess, what slides in a tick.
const SLIDES: f32 = 1.0 / 12.0;

/// The process: parameters and counts.
#[derive(Clone, Default)]
pub struct Thermal {
    setup: Setup<Params, Factors>,
    /// Whether nothing came down in the last tick.
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

    fn step(&mut self, _: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        let own = self.setup.params.mode.seconds(self.setup.params.dt, terrain);
        let followed = context.elapsed.filter(|_| !self.setup.params.own_time);
        let seconds = followed.map_or(own, |seconds| seconds as f32);
        context.elapsed.get_or_insert(f64::from(seconds));
        self.setup.elapse(f64::from(seconds));
        let (border, size) = (Border::of(terrain), terrain.cell_size);
        let masked = self.setup.masked(terrain, self.setup.params.mode);
        let masked = masked.as_ref();
        let steep = Steep::new(&self.setup.params, size, seconds);
        let under = masked.map_or(steep, |masked| Steep::new(&masked.params, size, seconds));
        let slopes = slopes(&self.setup.params, masked, size, seconds);
        let bands = match self.setup.params.mode {
            Mode::Corrected => slide(terrain, border, SLIDES, slopes),
            Mode::Published => {
                let Terrain { bedrock, sand, softness, start, .. } = &mut *terrain;
                let (softness, start) = (&softness[..], &start[..]);
                let layers = [bedrock, sand].map(|layer| (&mut layer[..], border.width));
                for_strips(border, layers, Fall::MARGIN, |strip| {
                    with_vector_unit(Fall { strip, start, softness, steep })
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
        Progress::Done
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
        let masked = self.setup.masked(terrain, self.setup.params.mode);
        let slopes = slopes(&self.setup.params, masked.as_ref(), 1.0, 0.0);
        let steepness = |x, y| {
            let stands = self.stands(terrain, [x, y], &slopes).max(1e-3);
            steepest_fall(terrain, terrain.bedrock.index(x, y)) / (terrain.cell_size * stands)
        };
        Some(Cow::Owned(Grid::from_fn(terrain.width(), terrain.height(), steepness)))
    }
}

impl Thermal {
    /// The slope at which the ground of a cell stands, as a tangent. A dusting does not count as loose ground.
    fn stands(&self, terrain: &Terrain, [x, y]: [usize; 2], slopes: &Slopes<'_>) -> f32 {
        let cured = self.setup.params.mode == Mode::Corrected;
        let [dry, _, per_hardness, bias, _, wet] = slopes.at(x, y);
        let lies = dry * flatter(wet, terrain.water.at(x, y));
        let stands = talus(terrain.softness.at(x, y), per_hardness, bias);
        match (cured, terrain.sand.at(x, y) > DUSTING) {
            (false, _) => stands,
            (true, false) => stands.max(lies),
            (true, true) => lies,
        }
    }

    /// The same of a single cell.
    fn stands_at(&self, terrain: &Terrain, place: [usize; 2]) -> f32 {
        let masked = self.setup.masked(terrain, self.setup.params.mode);
        self.stands(terrain, place, &slopes(&self.setup.params, masked.as_ref(), 1.0, 0.0))
    }
}

/// The numbers of both modes.
#[derive(Clone, Copy)]
struct Steep {
    /// Tangent of the talus angle of rock: per hardness, and at none; times the cell size.
    per_hardness: f32,
    bias: f32,
    /// Share that crumbles, or slides as published, in a tick; and whether it would be more than all.
    share: f32,
    cut: bool,
}

impl Steep {
    fn new(params: &Params, size: f32, seconds: f32) -> Self {
        Self {
            per_hardness: params.talus_coefficient * size,
            bias: params.talus_bias * size,
            share: (params.rate * seconds).min(1.0),
            cut: params.rate * seconds > 1.0,
        }
    }
}

fn slopes<'a>(params: &Params, masked: Option<&'a Masked<Params>>, size: f32, seconds: f32) -> Slopes<'a> {
    Slopes::new(params, masked, |params| {
        let Steep { per_hardness, bias, share, .. } = Steep::new(params, size, seconds);
        let [beside, across] = at_repose(params.repose_angle, size);
        let [wet, _] = at_repose(params.underwater_angle, size);
        [beside, across, per_hardness, bias, share, (wet / beside).min(1.0)]
    })
}
