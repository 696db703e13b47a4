//! A range that rivers have cut while it rose: land that measures as real to begin with.

use super::TerrainParams;
use crate::sim::{
    grid::Grid,
    process::fluvial::{Params, grow::grow},
    terrain::Terrain,
};

/// Cells of the longer side of the map on which it is found how high the range becomes.
const TRIAL: usize = 40;

/// Heights of a mature range that drains over the map's edge as its `edge` says, before they are normalised. The land rises as fast as
/// it takes for the relief: heights grow in proportion to the uplift until hillsides slide.
pub(super) fn heights(params: &TerrainParams, (width, height): (usize, usize), seed: u64) -> Grid {
    let flat = |divisor: usize| {
        let size = (width.div_ceil(divisor), height.div_ceil(divisor));
        let cell_size = params.cell_size * width.max(height) as f32 / size.0.max(size.1) as f32;
        Terrain::bare(Grid::filled(size.0, size.1, 0.0), cell_size, params.edge)
    };
    let range = |terrain: &Terrain, uplift: f32| {
        let params = Params { uplift_rate: uplift, ..Params::default() };
        grow(terrain, &params, seed, |_| true).map_or_else(|| terrain.ground(), |range| range.ground())
    };
    let halvings = (0..).find(|&times| width.max(height).div_ceil(1 << times) <= TRIAL).unwrap_or(0);
    let usual = Params::default().uplift_rate;
    let (low, high) = range(&flat(1 << halvings), usual).min_max();
    let uplift = if high > low { usual * params.relief / (high - low) } else { usual };
    range(&flat(1), uplift.max(f32::MIN_POSITIVE))
}
