//! A mountain range carved by rivers during uplift, with realistic landform statistics from the start.

use super::{TerrainParams, Uplift, uplift_map};
use crate::{
    core::{grid::Grid, terrain::Terrain},
    process::fluvial::Params,
    simulation::grow::{RangeParams, grow},
};

/// Slowest uplift, as a fraction of the fastest: each seed has its own highlands.
const SLOWEST: f32 = 0.1;

/// Returns the heights of a mature range that drains across the border, by the rule of its `edge`. They are scaled to this relief, so that
/// a range that still rises a little is as good.
pub(super) fn heights(params: &TerrainParams, (width, height): (usize, usize), seed: u64) -> Grid {
    let mut terrain = Terrain::bare(Grid::filled(width, height, 0.0), params.cell_size, params.edge);
    let mut uplift = uplift_map(Uplift::Patches, width, height, seed);
    uplift.iter_mut().for_each(|share| *share = SLOWEST + (1.0 - SLOWEST) * *share);
    terrain.uplift = Some(uplift);
    let range = RangeParams { relief: params.relief, ..RangeParams::default() };
    let grown = grow(&terrain, &Params::default(), &range, seed, |_| true);
    grown.map_or(terrain.bedrock, |range| range.terrain.ground())
}
