//! Starting terrains: fractal noise, diamond-square, faulting planes and regular test fields, with their softness.
//!
//! Everything is described in units of the map's shorter side, so the same parameters and seed give the same
//! mountains at every resolution, and a longer map shows more of them instead of stretching them. The same seed gives
//! the same bits for any number of threads.

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
use frame::Frame;
pub use softness::softness_map;
pub use uplift::{Uplift, uplift_map};

/// Thickness of a sheet of sand that has none of its own, in metres.
const SHEET: f32 = 4.0;

/// Source of the default terrain.
const D1: &str = "SimpleErosion (McDonald 2020)";
/// Source of the Gaussian midpoints and of the softness map.
const P1: &str = "Jákó & Tóth 2011";
/// Source of the fractal sums.
const EBERT: &str = "Ebert et al., Texturing & Modeling (2003)";
/// Source of the faulting planes.
const G1: &str = "UIUC CS 418, faulting planes";

/// How the starting heights are made.
///
/// The kinds up to `Range` are random; their lowest cell lies at 0 and their highest at the relief. The others are
/// regular test fields; lengths are those of an ideal shape that the cell centres sample, x runs along columns and y
/// along rows.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Layered gradient noise, the first article's start: every octave is `persistence` times as high as the last.
    #[default]
    Perlin,
    /// The same sum over simplex noise, whose bumps are rounder and have no square lattice behind them.
    Simplex,
    /// Fractional Brownian motion: simplex octaves that weaken with their frequency by the Hurst exponent, whatever the
    /// lacunarity.
    Fbm,
    /// Ridged multifractal: sharp crests that branch, and smooth valley floors.
    Ridged,
    /// Sum of folded noise: rounded hills between sharp clefts.
    Billow,
    /// Midpoint displacement with Gaussian midpoints.
    DiamondSquare,
    /// Straight faults across the map, one side raised, the other lowered.
    Faulting,
    /// A valley that winds from the upper border down to the lower one, its floor as wide as the feature size to each side,
    /// through country that is as rugged as fbm makes it.
    Valley,
    /// A plateau beside a plain: high country that ends in a winding scarp, towards which it falls gently. The scarp is as wide as
    /// the feature size to each side.
    Plateau,
    /// A plain for a river: it falls evenly from the left border to the right, with low swells. It is as wide as the feature size to each
    /// side; beside it the land rises gently.
    FloodPlain,
    /// A range that rivers have cut while it rose, and that they drain over the map's edge: it has no hollows.
    Range,
    /// Level bedrock at 0, bare unless `sand` covers it.
    Flat,
    /// One inclined plane, from 0 at the left border to the relief at the right.
    Plane,
    /// Two level halves, 0 on the left and the relief on the right, joined by a slope two feature sizes wide.
    Ramp,
    /// The same two halves with a sheer step between them.
    Step,
    /// A cone whose foot has the feature size as radius.
    Cone,
    /// A sheer round column with the feature size as radius.
    Column,
    /// A square pyramid whose foot reaches the feature size to each side.
    Pyramid,
    /// A straight roof along y, whose foot reaches the feature size to each side.
    Ridge,
    /// A round rim at the feature size, with a bowl inside and a slope outside that ends at twice that radius.
    Crater,
    /// A valley along y, closed by a wall across its middle. Its floor rises behind the wall, so that a lake can stand.
    Dam,
    /// Level bedrock at 0 under a level sheet of sand as thick as `sand`, or 4 m where that is 0.
    SandSheet,
    /// Two walled basins with their floor at 0, joined by a gap as wide as the feature size. The walls are the relief.
    TwoVessels,
    /// A Gaussian hill with the feature size as its standard deviation.
    Hill,
}

impl Generator {
    /// Memory that it takes for each cell while it works, besides the layers, in bytes. Measured by `tests/memory.rs`.
    pub fn bytes_per_cell(self) -> usize {
        if self == Self::Range { 140 } else { 0 }
    }
}

/// How the softness of the bedrock is made.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Softness {
    /// The same everywhere.
    #[default]
    Constant,
    /// High ground is hard, with noise on it, blurred.
    Noise,
    /// Hard and soft layers, one above the other.
    Strata,
}

/// [`SIDES`] as the range of a parameter.
const SIDE_RANGE: RangeInclusive<f64> = *SIDES.start() as f64..=*SIDES.end() as f64;

/// What the starting terrain looks like.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct TerrainParams {
    /// How the starting heights are made: random mountains, or a regular field to test a process on.
    #[reflect(@choice().source("McDonald 2020; Jákó & Tóth 2011; UIUC CS 418; ours").main())]
    pub generator: Generator,
    /// Number of columns. More show finer detail of the same mountains; time and memory grow in proportion.
    #[reflect(@knob(SIDE_RANGE).unit("cells").source(P1).log())]
    pub width: u32,
    /// Number of rows. More show finer detail of the same mountains; time and memory grow in proportion.
    #[reflect(@knob(SIDE_RANGE).unit("cells").source(P1).log())]
    pub height: u32,
    /// Side of a cell. Larger cells make the same relief gentler; too small, and every slope is a cliff.
    #[reflect(@knob(0.01..=1000.0).unit("m").symbol("l").source("ours").log())]
    pub cell_size: f32,
    /// Height between the lowest and the highest point, or of a test field. Too high makes needles, too low plains on
    /// which little flows.
    #[reflect(@knob(0.0..=10_000.0).unit("m").source(D1).main())]
    pub relief: f32,
    /// Number of noise layers, each finer than the last. Few give smooth hills. Layers finer than the cells can show
    /// are faded out, so that more than enough does no harm.
    #[reflect(@knob(1.0..=20.0).source(D1).only("generator=perlin|simplex|fbm|ridged|billow|valley|plateau|flood-plain"))]
    pub octaves: u32,
    /// Periods of the first noise layer per shorter side of the map. High gives many small mountains, low a part of a
    /// single one.
    #[reflect(@knob(0.25..=16.0).source(D1).log().main().only("generator=perlin|simplex|fbm|ridged|billow|valley|plateau|flood-plain"))]
    pub frequency: f32,
    /// Height of each noise layer as a share of the one before. High is rugged down to the cells, low is smooth.
    #[reflect(@knob(0.1..=0.9).source(D1).main().only("generator=perlin|simplex"))]
    pub persistence: f32,
    /// Frequency of each noise layer over the one before. High leaves gaps between the sizes of the bumps, low needs
    /// more octaves for the same detail.
    #[reflect(@knob(1.5..=4.0).source(EBERT).only("generator=perlin|simplex|fbm|ridged|billow|valley|plateau|flood-plain"))]
    pub lacunarity: f32,
    /// Hurst exponent H: a bump that is half as wide is 2 to the power of −H times as high. Low is rugged, high is smooth.
    #[reflect(@knob(0.2..=1.5).symbol("H").source(EBERT).only("generator=fbm|ridged|billow|diamond-square|valley|plateau|flood-plain"))]
    pub hurst: f32,
    /// Number of faults. Few leave straight cliffs between level blocks, many pile up to mountains.
    #[reflect(@knob(1.0..=1000.0).source(G1).log().only("generator=faulting"))]
    pub faults: u32,
    /// Radius, half width or standard deviation of a test field, half width of the valley's floor, of the plain or of the scarp, as a share
    /// of the map's shorter side. Too large runs over the border, too small is only a few cells.
    #[reflect(@knob(0.02..=0.5).source("ours").only("generator=valley|plateau|flood-plain|ramp|cone|column|pyramid|ridge|crater|dam|two-vessels|hill"))]
    pub feature_size: f32,
    /// What happens at the map's border: nothing crosses, what crosses is gone, or it comes back on the other side.
    #[reflect(@choice().source("ours"))]
    pub edge: Edge,
    /// Where the land rises while uplift and rivers run: everywhere, or as a dome, a belt, a block along a fault, in patches, or
    /// nowhere until it is painted.
    #[reflect(@choice().source("ours").main())]
    pub uplift: Uplift,
    /// How fast land rises where it rises slowest, as a share of its fastest rise. At 0 there are plains that stay, high makes
    /// everything rise almost alike.
    #[reflect(@knob(0.0..=1.0).source("ours").only("uplift=dome|belt|fault|patches"))]
    pub uplift_least: f32,
    /// How the softness of the bedrock is made: one value, high ground harder than low, or layers.
    #[reflect(@choice().source(P1).main())]
    pub softness: Softness,
    /// Softness in the middle between hardest and softest, and everywhere if it is constant. High erodes fast, low
    /// hardly at all.
    #[reflect(@knob(0.0..=1.0).symbol("R").source(P1))]
    pub softness_value: f32,
    /// Difference between the softest and the hardest bedrock. Low makes all alike; high makes hard parts stand out.
    #[reflect(@knob(0.0..=1.0).source("ours").only("softness=noise|strata"))]
    pub softness_contrast: f32,
    /// Weight of the noise against the height in the noisy softness map. Low: hardness follows height alone. High:
    /// it is patchy.
    #[reflect(@knob(0.0..=1.0).source(P1).only("softness=noise"))]
    pub softness_noise: f32,
    /// Standard deviation of the Gaussian that blurs the noisy softness map, as a share of the map's shorter side. Low
    /// is grainy, high washes everything out.
    #[reflect(@knob(0.0..=0.2).symbol("σ").source(P1).only("softness=noise"))]
    pub softness_blur: f32,
    /// Thickness of a layer of rock in the layered softness map. Thin layers make many small terraces; layers thicker
    /// than the relief don't show.
    #[reflect(@knob(1.0..=1000.0).unit("m").source("ours").log().only("softness=strata"))]
    pub strata_thickness: f32,
    /// Thickness of the sand that lies everywhere at the start. Little is soon washed away; much hides the bedrock.
    #[reflect(@knob(0.0..=100.0).unit("m").source("ours").main())]
    pub sand: f32,
    /// Whether all that rises above the lowest ground is sand rather than rock: heaps for the wind.
    #[reflect(@choice().source("McDonald 2020, simple wind erosion"))]
    pub loose: bool,
}

impl TerrainParams {
    /// Another number of cells along the shorter side; the map keeps its extent and its proportions.
    pub fn resize(&mut self, side: u32) {
        let scale = side as f32 / self.width.min(self.height) as f32;
        let scaled =
            |cells: u32| ((cells as f32 * scale).round() as u32).clamp(*SIDES.start() as u32, *SIDES.end() as u32);
        (self.width, self.height) = (scaled(self.width), scaled(self.height));
        self.cell_size /= scale;
    }

    /// The map of uplift of a terrain of so many columns and rows; none where all land rises alike.
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

/// The starting terrain of a seed: bedrock, softness, sand and where it rises; no water.
pub fn generate(params: &TerrainParams, seed: u64) -> Terrain {
    let frame = Frame::new(params.width as usize, params.height as usize);
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
