//! A flood plain that falls from the left border to the right, between low valley sides.

use super::{TerrainParams, fractal, frame::MapFrame};
use crate::core::grid::Grid;

/// Height of the undulations, and of the sides at the upper and lower border, as fractions of the fall.
const SWELLS: f32 = 0.03;
const SIDES: f64 = 0.3;

/// Returns heights of arbitrary scale, to be normalised by the caller. The feature size is half the width of the plain.
pub(super) fn heights(params: &TerrainParams, frame: MapFrame, seed: u64) -> Grid {
    let swells = fractal::rugged(params, frame, seed, SWELLS);
    let (size, (half_width, half_height)) = (f64::from(params.feature_size), frame.half_extent());
    let mut heights = frame.sample(|u, v| {
        let beside = (v.abs() - size).max(0.0) / (half_height - size).max(f64::MIN_POSITIVE);
        0.5 - 0.5 * u / half_width + SIDES * beside * beside
    });
    heights.iter_mut().zip(swells.iter()).for_each(|(height, swell)| *height += swell);
    heights
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Generator, normalized},
        *,
    };

    #[test]
    fn flood_plain_descends_evenly_below_valley_sides() {
        for seed in [1, 2, 3, 5, 8] {
            let params = TerrainParams { generator: Generator::FloodPlain, feature_size: 0.3, ..Default::default() };
            let map = normalized(heights(&params, MapFrame::new(256, 128), seed), 100.0);
            let along: Vec<f32> = (0..256).map(|x| (40..88).map(|y| map.at(x, y)).sum::<f32>() / 48.0).collect();
            assert!((32..256).all(|x| along[x] < along[x - 32]), "seed {seed}: it rises on its way");
            // Both halves have about the same fall.
            let [upper, lower] = [along[0] - along[127], along[128] - along[255]];
            assert!((upper / lower - 1.0).abs() < 0.2, "seed {seed}: {upper} and {lower} m");
            assert!((0..256).all(|x| map.at(x, 0).min(map.at(x, 127)) > along[x] + 10.0), "seed {seed}");
        }
    }
}
