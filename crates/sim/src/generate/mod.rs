//! Starting terrains: fractal noise, diamond-square, faulting planes and regular test fields, with their softness.
//!
//! All lengths are in units of the map's shorter side, so the same parameters and seed give the same mountains at every resolution,
//! and a longer map shows more of them instead of stretching them. The same seed gives the same bits for any number of threads.

mod diamond_square;
mod faulting;
mod fields;
mod flood_plain;
mod fractal;
mod frame;
mod plateau;
mod range;
mod softness;
mod uplift;
mod valley;

use std::ops::RangeInclusive;

use bevy_reflect::Reflect;

use crate::{
    core::{
        bounds::SIDES,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    params::{choice, knob},
};
use frame::MapFrame;
pub use softness::softness_map;
pub use uplift::{Uplift, uplift_map};

/// Default thickness of a sheet of sand, in metres.
const SHEET: f32 = 4.0;

/// Source of the default terrain.
const D1: &str = "SimpleErosion (McDonald 2020)";
/// Source of the Gaussian midpoints and of the softness map.
const P1: &str = "Jákó & Tóth 2011";
/// Source of the fractal sums.
const EBERT: &str = "Ebert et al., Texturing & Modeling (2003)";
/// Source of the faulting planes.
const G1: &str = "UIUC CS 418, faulting planes";

/// Generator of the starting heights.
///
/// The kinds up to `Range` are random; their lowest cell is at 0 and their highest at the relief. The others are regular test
/// fields; lengths are those of an ideal shape sampled at the cell centres, with x along columns and y along rows.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Layered gradient noise, as in McDonald 2020: the amplitude of every octave is `persistence` times that of the previous one.
    #[default]
    Perlin,
    /// The same sum over simplex noise, with rounder bumps and no underlying square lattice.
    Simplex,
    /// Fractional Brownian motion: simplex octaves that decrease with frequency by the Hurst exponent, independent of the
    /// lacunarity.
    Fbm,
    /// Ridged multifractal: sharp, branching crests and smooth valley floors.
    Ridged,
    /// Sum of folded noise: rounded hills between sharp clefts.
    Billow,
    /// Midpoint displacement with Gaussian midpoints.
    DiamondSquare,
    /// Straight faults across the map, with one side raised, the other lowered.
    Faulting,
    /// A valley that winds from the upper border down to the lower one, through country as rugged as fBm. The feature size is half
    /// the width of its floor.
    Valley,
    /// A plateau above a plain: high country that falls gently towards a winding scarp. The feature size is half the width of the
    /// scarp.
    Plateau,
    /// A flood plain: a constant fall from the left border to the right, with low undulations, and gently rising land on both
    /// sides. The feature size is half the width of the plain.
    FloodPlain,
    /// A mountain range carved by rivers during uplift, which drains across the border: it has no depressions.
    Range,
    /// Level bedrock at 0, bare unless `sand` covers it.
    Flat,
    /// An inclined plane, from 0 at the left border to the relief at the right.
    Plane,
    /// Two level halves, 0 on the left and the relief on the right, joined by a slope two feature sizes wide.
    Ramp,
    /// The same two halves with a sheer step between them.
    Step,
    /// A cone with the feature size as base radius.
    Cone,
    /// A sheer round column with the feature size as radius.
    Column,
    /// A square pyramid with the feature size as half the width of its base.
    Pyramid,
    /// A straight ridge along y with the feature size as half the width of its base.
    Ridge,
    /// A round rim at the feature size, with a bowl inside and a slope outside that ends at twice that radius.
    Crater,
    /// A valley along y, dammed by a wall across its middle. Its floor rises behind the wall, so that a lake can form.
    Dam,
    /// Level bedrock at 0 under a level sheet of sand as thick as `sand`, or 4 m where that is 0.
    SandSheet,
    /// Two walled basins with their floor at 0, joined by a gap as wide as the feature size. The walls are as high as the relief.
    TwoVessels,
    /// A Gaussian hill with the feature size as its standard deviation.
    Hill,
}

impl Generator {
    /// Temporary memory per cell while generating, beyond the layers, in bytes. Measured by `tests/memory.rs`.
    pub fn bytes_per_cell(self) -> usize {
        if self == Self::Range { 140 } else { 0 }
    }
}

/// Source of the bedrock's softness.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Softness {
    /// The same everywhere.
    #[default]
    Constant,
    /// Blurred height plus noise: high ground is hard.
    Noise,
    /// Alternating hard and soft layers.
    Strata,
}

/// [`SIDES`] as the range of a parameter.
const SIDE_RANGE: RangeInclusive<f64> = *SIDES.start() as f64..=*SIDES.end() as f64;

/// Parameters of the starting terrain.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct TerrainParams {
    /// Generator of the initial heights: random mountains, or a simple shape on which to test a process.
    #[reflect(@choice().source("McDonald 2020; Jákó & Tóth 2011; UIUC CS 418; this work").main())]
    pub generator: Generator,
    /// Number of columns. High values show finer detail of the same mountains; time and memory grow in proportion.
    #[reflect(@knob(SIDE_RANGE).unit("cells").source(P1).log())]
    pub width: u32,
    /// Number of rows. High values show finer detail of the same mountains; time and memory grow in proportion.
    #[reflect(@knob(SIDE_RANGE).unit("cells").source(P1).log())]
    pub height: u32,
    /// Side length of a cell. Large cells make the same relief gentler; very small cells turn every slope into a cliff.
    #[reflect(@knob(0.01..=1000.0).unit("m").symbol("l").source("this work").log())]
    pub cell_size: f32,
    /// Height between the lowest and the highest point, or height of a simple shape. Very high values make rock needles, very
    /// low values plains with little flow.
    #[reflect(@knob(0.0..=10_000.0).unit("m").source(D1).main())]
    pub relief: f32,
    /// Number of noise octaves, each finer than the previous one. Low values give smooth hills. Octaves too fine for the cells
    /// are faded out, so high values do no harm.
    #[reflect(@knob(1.0..=20.0).source(D1).only("generator=perlin|simplex|fbm|ridged|billow|valley|plateau|flood-plain"))]
    pub octaves: u32,
    /// Periods of the first noise octave along the shorter side of the map. High values give many small mountains, low values
    /// only part of one.
    #[reflect(@knob(0.25..=16.0).source(D1).log().main().only("generator=perlin|simplex|fbm|ridged|billow|valley|plateau|flood-plain"))]
    pub frequency: f32,
    /// Ratio of the amplitudes of successive noise octaves. High values are rugged down to single cells, low values smooth.
    #[reflect(@knob(0.1..=0.9).source(D1).main().only("generator=perlin|simplex"))]
    pub persistence: f32,
    /// Ratio of the frequencies of successive noise octaves. High values leave gaps between the sizes of the bumps, low values
    /// need more octaves for the same detail.
    #[reflect(@knob(1.5..=4.0).source(EBERT).only("generator=perlin|simplex|fbm|ridged|billow|valley|plateau|flood-plain"))]
    pub lacunarity: f32,
    /// Hurst exponent H: a bump half as wide is 2 to the power of −H times as high. Low values are rugged, high values smooth.
    #[reflect(@knob(0.2..=1.5).title("Hurst exponent").symbol("H").source(EBERT).only("generator=fbm|ridged|billow|diamond-square|valley|plateau|flood-plain"))]
    pub hurst: f32,
    /// Number of faults. Low values leave straight cliffs between level blocks, high values build mountains.
    #[reflect(@knob(1.0..=1000.0).source(G1).log().only("generator=faulting"))]
    pub faults: u32,
    /// Radius, half-width or standard deviation of a simple shape, or half-width of the valley floor, the plain or the scarp,
    /// as a fraction of the shorter side of the map. Very high values extend beyond the map, very low values span only a few
    /// cells.
    #[reflect(@knob(0.02..=0.5).source("this work").only("generator=valley|plateau|flood-plain|ramp|cone|column|pyramid|ridge|crater|dam|two-vessels|hill"))]
    pub feature_size: f32,
    /// Boundary condition at the edges of the map: a wall, open to outflow, or periodic (wraps around).
    #[reflect(@choice().source("this work"))]
    pub edge: Edge,
    /// Spatial pattern of the uplift while Uplift and rivers is on: uniform, a dome, a belt, a block along a fault, patches, or
    /// none until it is painted.
    #[reflect(@choice().source("this work").main())]
    pub uplift: Uplift,
    /// Slowest uplift, as a fraction of the fastest. At 0 some areas never rise; at high values everything rises almost equally.
    #[reflect(@knob(0.0..=1.0).title("Minimum uplift").source("this work").only("uplift=dome|belt|fault|patches"))]
    pub uplift_least: f32,
    /// Source of the softness of the bedrock: one value, height with noise, or rock layers.
    #[reflect(@choice().source(P1).main())]
    pub softness: Softness,
    /// Mean of the softest and the hardest bedrock, or the softness everywhere if it is constant. High values erode fast, low
    /// values hardly at all.
    #[reflect(@knob(0.0..=1.0).symbol("R").source(P1))]
    pub softness_value: f32,
    /// Difference between the softest and the hardest bedrock. Low values make all rock alike; high values make hard rock stand
    /// out.
    #[reflect(@knob(0.0..=1.0).source("this work").only("softness=noise|strata"))]
    pub softness_contrast: f32,
    /// Weight of the noise relative to height in the noisy softness map. At low values hardness follows height, at high values it
    /// is patchy.
    #[reflect(@knob(0.0..=1.0).source(P1).only("softness=noise"))]
    pub softness_noise: f32,
    /// Standard deviation of the Gaussian blur of the noisy softness map, as a fraction of the shorter side of the map. Low
    /// values are grainy, high values wash out all detail.
    #[reflect(@knob(0.0..=0.2).symbol("σ").source(P1).only("softness=noise"))]
    pub softness_blur: f32,
    /// Thickness of a rock layer in the layered softness map. Thin layers make many small terraces; layers thicker than the relief
    /// are not visible.
    #[reflect(@knob(1.0..=1000.0).unit("m").source("this work").log().only("softness=strata"))]
    pub strata_thickness: f32,
    /// Initial thickness of the sand everywhere. Thin sand is soon washed away; thick sand hides the bedrock.
    #[reflect(@knob(0.0..=100.0).title("Sand thickness").unit("m").source("this work").main())]
    pub sand: f32,
    /// Turn all ground above the lowest point into sand: mounds for the wind to shape.
    #[reflect(@choice().title("Sand only").source("McDonald 2020, simple wind erosion"))]
    pub loose: bool,
}

impl TerrainParams {
    /// Changes the number of cells along the shorter side; the map keeps its extent and proportions.
    pub fn resize(&mut self, side: u32) {
        let scale = side as f32 / self.width.min(self.height) as f32;
        let scaled =
            |cells: u32| ((cells as f32 * scale).round() as u32).clamp(*SIDES.start() as u32, *SIDES.end() as u32);
        (self.width, self.height) = (scaled(self.width), scaled(self.height));
        self.cell_size /= scale;
    }

    /// Returns the uplift map of a terrain of this many columns and rows, or `None` if uplift is uniform.
    pub fn uplift_map(&self, (width, height): (usize, usize), seed: u64) -> Option<Grid> {
        (self.uplift != Uplift::Uniform).then(|| {
            let mut map = uplift_map(self.uplift, width, height, seed);
            let least = if self.uplift == Uplift::Nowhere { 0.0 } else { self.uplift_least };
            map.iter_mut().for_each(|share| *share = least + (1.0 - least) * *share);
            map
        })
    }
}

impl Default for TerrainParams {
    fn default() -> Self {
        Self {
            generator: Generator::Perlin,
            width: 256,
            height: 256,
            cell_size: 10.0,
            relief: 600.0,
            octaves: 15,
            frequency: 1.0,
            persistence: 0.6,
            lacunarity: 2.0,
            hurst: 1.0,
            faults: 400,
            feature_size: 0.2,
            edge: Edge::Open,
            uplift: Uplift::Uniform,
            uplift_least: 0.0,
            softness: Softness::Constant,
            softness_value: 0.5,
            softness_contrast: 0.8,
            softness_noise: 0.5,
            softness_blur: 0.01,
            strata_thickness: 60.0,
            sand: 0.0,
            loose: false,
        }
    }
}

/// Returns the starting terrain of a seed: bedrock, softness, sand and uplift map; no water.
pub fn generate(params: &TerrainParams, seed: u64) -> Terrain {
    let frame = MapFrame::new(params.width as usize, params.height as usize);
    let heights = match params.generator {
        Generator::Perlin | Generator::Simplex | Generator::Fbm | Generator::Ridged | Generator::Billow => {
            normalized(fractal::heights(params, frame, seed), params.relief)
        }
        Generator::DiamondSquare => normalized(diamond_square::heights(params.hurst, frame, seed), params.relief),
        Generator::Faulting => normalized(faulting::heights(params.faults, frame, seed), params.relief),
        Generator::Range => normalized(range::heights(params, (frame.width, frame.height), seed), params.relief),
        Generator::Plateau => normalized(plateau::heights(params, frame, seed), params.relief),
        Generator::FloodPlain => normalized(flood_plain::heights(params, frame, seed), params.relief),
        Generator::Valley => normalized(valley::heights(params, frame, seed), params.relief),
        _ => fields::heights(params, frame),
    };
    let softness = softness_map(params, &heights, seed);
    let mut terrain = Terrain::bare(heights, params.cell_size, params.edge);
    terrain.softness = softness;
    terrain.uplift = params.uplift_map((frame.width, frame.height), seed);
    if params.loose {
        std::mem::swap(&mut terrain.bedrock, &mut terrain.sand);
    }
    let sheet = params.generator == Generator::SandSheet && params.sand == 0.0;
    terrain.spread_sand(if sheet { SHEET } else { params.sand });
    terrain
}

/// Shifts and scales so that the smallest value becomes exactly 0 and the largest exactly `top`; a constant becomes 0.
fn normalized(mut grid: Grid, top: f32) -> Grid {
    let (low, high) = grid.min_max();
    let range = high - low;
    if range > 0.0 {
        grid.iter_mut().for_each(|value| *value = (*value - low) / range * top);
    } else {
        grid.iter_mut().for_each(|value| *value = 0.0);
    }
    grid
}

#[cfg(test)]
mod tests;
