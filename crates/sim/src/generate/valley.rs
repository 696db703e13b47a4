//! A winding valley in rugged country.

use noise::{NoiseFn, Perlin};

use super::{TerrainParams, fractal, frame::MapFrame};
use crate::core::{grid::Grid, rng::RandomStream};

/// Fall of the valley floor from the upper border to the lower, as a fraction of the relief.
const FALL: f64 = 0.3;
/// Amplitude of the bends, as a fraction of the shorter side, and their number along it: large and small ones.
const BENDS: [(f64, f64); 2] = [(0.3, 1.6), (0.1, 4.3)];
/// Amplitude of the ruggedness on the valley floor and beside the valley, as a fraction of the country's height.
const RUGGED: [f64; 2] = [0.04, 0.5];

/// Returns heights of arbitrary scale, to be normalised by the caller. The feature size is half the width of the floor.
pub(super) fn heights(params: &TerrainParams, frame: MapFrame, seed: u64) -> Grid {
    let mut stream = RandomStream::new(seed, "terrain.valley", 0);
    let bends = Perlin::new(stream.bits());
    let rows = BENDS.map(|_| 256.0 * f64::from(stream.uniform()) + 0.5);
    let rugged = fractal::rugged(params, frame, seed, 1.0);
    let size = f64::from(params.feature_size);
    let (_, half_height) = frame.half_extent();
    let side = frame.sample(|u, v| {
        let bend = |(&(reach, count), row): (&(f64, f64), &f64)| reach * bends.get([count * v, *row]);
        let middle: f64 = BENDS.iter().zip(&rows).map(bend).sum();
        let beside = ((u - middle).abs() / size - 1.0).max(0.0);
        beside * beside / (1.0 + beside * beside)
    });
    let mut heights = frame.sample(|_, v| FALL * (0.5 - 0.5 * v / half_height));
    for (height, (&side, &rugged)) in heights.iter_mut().zip(side.iter().zip(rugged.iter())) {
        let [floor, beside] = RUGGED.map(|share| share as f32 * rugged);
        *height += (1.0 - FALL as f32) * (side * (1.0 - RUGGED[1] as f32 + beside) + (1.0 - side) * floor);
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Generator, normalized},
        *,
    };

    #[test]
    fn valley_floor_descends_steadily_below_surroundings() {
        for seed in [1, 2, 3, 5, 8] {
            let params = TerrainParams { generator: Generator::Valley, feature_size: 0.08, ..Default::default() };
            let map = normalized(heights(&params, MapFrame::new(128, 128), seed), 100.0);
            let floor: Vec<f32> = (0..128).map(|y| (0..128).map(|x| map.at(x, y)).fold(f32::MAX, f32::min)).collect();
            assert!(floor[0] - floor[127] > 20.0, "seed {seed}: from {} to {}", floor[0], floor[127]);
            assert!((16..128).all(|y| floor[y] < floor[y - 16]), "seed {seed}: the floor rises on its way");
            let mean = map.total() as f32 / (128.0 * 128.0);
            assert!(floor.iter().sum::<f32>() / 128.0 < mean - 20.0, "seed {seed}");
        }
    }
}
