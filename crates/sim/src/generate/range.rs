//! A range that rivers have cut while it rose: land that measures as real to begin with.

use super::{TerrainParams, Uplift, uplift_map};
use crate::{
    core::{grid::Grid, terrain::Terrain},
    process::fluvial::Params,
    simulation::grow::grow,
};

/// Length of the map's shorter side on which the range grows, in metres: its forms depend on it, its relief is what is asked for.
const LENGTH: f32 = 7680.0;
/// How fast land rises where it rises slowest, as a share of its fastest rise: each seed has its own highlands.
const SLOWEST: f32 = 0.1;

/// Heights of a mature range that drains over the map's edge as its `edge` says, of any scale; the caller normalises them.
pub(super) fn heights(params: &TerrainParams, (width, height): (usize, usize), seed: u64) -> Grid {
    let flat = Grid::filled(width, height, 0.0);
    let mut terrain = Terrain::bare(flat, LENGTH / width.min(height) as f32, params.edge);
    let mut uplift = uplift_map(Uplift::Patches, width, height, seed);
    uplift.iter_mut().for_each(|share| *share = SLOWEST + (1.0 - SLOWEST) * *share);
    terrain.uplift = Some(uplift);
    grow(&terrain, &Params::default(), seed, |_| true).map_or(terrain.bedrock, |range| range.terrain.ground())
}
