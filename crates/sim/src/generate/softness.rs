//! Softness of the bedrock: 0 is hard, 1 is soft.

use rayon::prelude::*;

use super::{Softness, TerrainParams, fractal::grain, frame::MapFrame, normalized};
use crate::core::{grid::Grid, rng::RandomStream};

/// Periods of the coarsest noise per shorter side.
const NOISE_FREQUENCY: f64 = 4.0;
/// Amplitude by which noise bends the strata, in layers.
const STRATA_WARP: f32 = 0.4;
/// Fraction of a layer's thickness over which it blends into the next.
const STRATA_BLEND: f32 = 0.3;
/// Maximum cell size during the blur, as a fraction of its standard deviation.
const BLUR_RESOLUTION: f32 = 1.0 / 8.0;

/// Returns the softness of the bedrock in 0..=1 for ground of these heights in metres; see [`TerrainParams`].
///
/// The noisy map follows Jákó & Tóth 2011, section 4: scaled height plus noise, blurred by a Gaussian. That is hardness, so it is
/// inverted. Its noise is independent of the cell size, so it is the same at every resolution.
pub fn softness_map(params: &TerrainParams, heights: &Grid, seed: u64) -> Grid {
    let frame = MapFrame::new(heights.width(), heights.height());
    let mut stream = RandomStream::new(seed, "terrain.softness", 0);
    let mut map = match params.softness {
        Softness::Constant => return Grid::filled(heights.width(), heights.height(), params.softness_value),
        Softness::Noise => {
            let mut hardness = normalized(heights.clone(), 1.0);
            let noise = normalized(grain(NOISE_FREQUENCY, frame, &mut stream), params.softness_noise);
            hardness.iter_mut().zip(noise.iter()).for_each(|(hard, noise)| *hard += noise);
            normalized(blurred(hardness, params.softness_blur * frame.shorter() as f32), 1.0)
        }
        Softness::Strata => {
            let warp =
                blurred(normalized(grain(1.0, frame, &mut stream), 2.0 * STRATA_WARP), 0.02 * frame.shorter() as f32);
            let layers = heights.iter().zip(warp.iter()).map(|(height, warp)| height / params.strata_thickness + warp);
            Grid::from_values(heights.width(), heights.height(), layers.map(hardness_of_layer))
        }
    };
    map.iter_mut().for_each(|value| {
        *value = (params.softness_value + params.softness_contrast * (0.5 - *value)).clamp(0.0, 1.0);
    });
    map
}

/// Returns the hardness at a height counted in layers: even layers are hard, odd ones soft.
fn hardness_of_layer(layer: f32) -> f32 {
    let pair = layer * 0.5;
    let from_hard = (pair - pair.floor() - 0.25).abs();
    // 0 in the middle of a hard layer, 1 at its border, 2 in the middle of a soft one.
    let distance = 4.0 * from_hard.min(1.0 - from_hard);
    let blend = ((1.0 - distance) / STRATA_BLEND + 0.5).clamp(0.0, 1.0);
    blend * blend * (3.0 - 2.0 * blend)
}

/// Returns the map blurred by a Gaussian of this standard deviation in cells; beyond the border the nearest cell counts.
///
/// Wide blurs work on a coarser copy of the map, since they remove its detail anyway.
fn blurred(map: Grid, deviation: f32) -> Grid {
    if deviation <= 0.0 {
        return map;
    }
    let coarser = (deviation * BLUR_RESOLUTION).max(1.0);
    let coarse = |count: usize| ((count as f32 / coarser) as usize).max(1);
    let (width, height) = (map.width(), map.height());
    let map = map.resample(coarse(width), coarse(height));
    let weights = gaussian_weights(deviation * map.width().min(map.height()) as f32 / width.min(height) as f32);
    blurred_columns(&blurred_rows(&map, &weights), &weights).resample(width, height)
}

/// Returns the weight of the centre cell, then of cells at distance 1, 2, … to either side, up to three standard deviations.
fn gaussian_weights(deviation: f32) -> Vec<f32> {
    let deviation = f64::from(deviation);
    let reach = (3.0 * deviation).ceil() as u32;
    let weights: Vec<f64> = (0..=reach)
        .map(|distance| {
            let ratio = f64::from(distance) / deviation;
            libm::exp(-0.5 * ratio * ratio)
        })
        .collect();
    let total = 2.0 * weights.iter().sum::<f64>() - weights[0];
    weights.iter().map(|weight| (weight / total) as f32).collect()
}

fn blurred_rows(map: &Grid, weights: &[f32]) -> Grid {
    let width = map.width();
    let reach = weights.len() - 1;
    let mut blurred = Grid::filled(map.width(), map.height(), 0.0);
    blurred.par_chunks_exact_mut(width).zip(map.par_chunks_exact(width)).for_each(|(out, row)| {
        let mut padded = vec![row[0]; reach];
        padded.extend_from_slice(row);
        padded.resize(width + 2 * reach, row[width - 1]);
        for (x, cell) in out.iter_mut().enumerate() {
            let middle = x + reach;
            *cell = weights[0] * padded[middle];
            for (distance, weight) in weights.iter().enumerate().skip(1) {
                *cell += weight * (padded[middle - distance] + padded[middle + distance]);
            }
        }
    });
    blurred
}

fn blurred_columns(map: &Grid, weights: &[f32]) -> Grid {
    let (width, height) = (map.width(), map.height());
    let row = |y: usize| &map[y * width..(y + 1) * width];
    let mut blurred = Grid::filled(map.width(), map.height(), 0.0);
    blurred.par_chunks_exact_mut(width).enumerate().for_each(|(y, out)| {
        out.iter_mut().zip(row(y)).for_each(|(cell, value)| *cell = weights[0] * value);
        for (distance, weight) in weights.iter().enumerate().skip(1) {
            let (above, below) = (row(y.saturating_sub(distance)), row((y + distance).min(height - 1)));
            for (cell, (above, below)) in out.iter_mut().zip(above.iter().zip(below)) {
                *cell += weight * (above + below);
            }
        }
    });
    blurred
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, generate, tests::correlation};

    fn params(softness: Softness) -> TerrainParams {
        TerrainParams { softness, width: 128, height: 96, ..Default::default() }
    }

    #[test]
    fn constant_softness_is_exact() {
        let params = TerrainParams { softness_value: 0.3, ..params(Softness::Constant) };
        assert!(generate(&params, 1).softness.iter().all(|&softness| softness == 0.3));
    }

    #[test]
    fn softness_stays_in_range_at_every_contrast() {
        for softness in [Softness::Noise, Softness::Strata] {
            for (softness_value, softness_contrast) in [(0.5, 1.0), (0.0, 1.0), (1.0, 0.4), (0.5, 0.0)] {
                let map =
                    generate(&TerrainParams { softness_value, softness_contrast, ..params(softness) }, 2).softness;
                assert!(map.iter().all(|value| (0.0..=1.0).contains(value)), "{softness:?} {softness_value}");
                let (low, high) = map.min_max();
                assert!(high - low <= softness_contrast + 1e-6);
            }
        }
    }

    #[test]
    fn noise_softness_anticorrelates_with_height() {
        for seed in 0..4 {
            let terrain = generate(&params(Softness::Noise), seed);
            let found = correlation(&terrain.softness, &terrain.bedrock);
            assert!((-0.99..-0.5).contains(&found), "seed {seed}: {found}");
        }
    }

    #[test]
    fn noise_softness_is_resolution_independent() {
        let sized = |width, height| generate(&TerrainParams { width, height, ..params(Softness::Noise) }, 3).softness;
        let found = correlation(&sized(256, 192).resample(128, 96), &sized(128, 96));
        assert!(found > 0.98, "{found}");
    }

    #[test]
    fn strata_count_matches_relief_over_thickness() {
        let params = TerrainParams { generator: Generator::Plane, ..params(Softness::Strata) };
        let map = generate(&params, 1).softness;
        for y in 0..96 {
            let row: Vec<bool> = (0..128).map(|x| map.at(x, y) > 0.5).collect();
            let changes = row.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let layers = (params.relief / params.strata_thickness) as usize;
            assert!(changes.abs_diff(layers) <= 2, "{changes} borders of {layers} layers in row {y}");
        }
    }

    #[test]
    fn blur_preserves_constants_and_matches_deviation() {
        let level = blurred(Grid::filled(40, 30, 3.0), 5.0);
        assert!(level.iter().all(|value| (value - 3.0).abs() < 1e-5));
        for deviation in [2.0, 5.0, 20.0] {
            let point = Grid::from_fn(201, 201, |x, y| f32::from((x, y) == (100, 100)));
            let spread = blurred(point, deviation);
            let moment = |x: usize, y: usize| f64::from(spread.at(x, y)) * (x as f64 - 100.0) * (x as f64 - 100.0);
            let sum: f64 = (0..201).flat_map(|y| (0..201).map(move |x| moment(x, y))).sum();
            let found = (sum / spread.total()).sqrt() as f32;
            assert!((found / deviation - 1.0).abs() < 0.06, "{found} instead of {deviation}");
        }
    }
}
