//! A plateau that ends in a winding scarp above a plain.

use noise::{NoiseFn, Perlin};

use super::{TerrainParams, fractal, frame::MapFrame};
use crate::core::{grid::Grid, rng::RandomStream};

/// Position of the scarp, from the middle towards the left border, and amplitude and number of its bends, as fractions of the
/// shorter side.
const PLACE: f64 = 0.2;
const BENDS: f64 = 0.16;
const WAVES: f64 = 2.3;
/// Fall of the plateau towards the scarp and of the plain away from it, over the shorter side, and amplitude of the ruggedness, as
/// fractions of the relief.
const FALL: f64 = 0.12;
const RUGGED: f64 = 0.05;

/// Returns heights of arbitrary scale, to be normalised by the caller. The plain is at the left border.
pub(super) fn heights(params: &TerrainParams, frame: MapFrame, seed: u64) -> Grid {
    let mut stream = RandomStream::new(seed, "terrain.plateau", 0);
    let bends = Perlin::new(stream.bits());
    let row = 256.0 * f64::from(stream.uniform()) + 0.5;
    let rugged = fractal::rugged(params, frame, seed, RUGGED as f32);
    let half = f64::from(params.feature_size);
    let mut heights = frame.sample(|u, v| {
        let beside = (u + PLACE + BENDS * bends.get([WAVES * v, row])) / half;
        let smooth = 0.5 + 0.5 * libm::sin(0.5 * std::f64::consts::PI * beside.clamp(-1.0, 1.0));
        smooth + FALL * u
    });
    heights.iter_mut().zip(rugged.iter()).for_each(|(height, rugged)| *height += rugged);
    heights
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Generator, normalized},
        *,
    };

    #[test]
    fn plateau_heights_are_bimodal_and_slope_to_plain() {
        for seed in [1, 2, 3, 5, 8] {
            let params = TerrainParams { generator: Generator::Plateau, feature_size: 0.03, ..Default::default() };
            let map = normalized(heights(&params, MapFrame::new(128, 128), seed), 100.0);
            let between = map.iter().filter(|height| (30.0..60.0).contains(*height)).count();
            assert!(between < 128 * 128 / 10, "seed {seed}: {between} cells between plain and plateau");
            let mean = |column: usize| (0..128).map(|y| map.at(column, y)).sum::<f32>() / 128.0;
            assert!(mean(0) < 20.0 && mean(127) > 85.0 && mean(100) < mean(127), "seed {seed}");
        }
    }
}
