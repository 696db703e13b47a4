//! Diamond-square midpoint displacement with Gaussian midpoints (Jákó & Tóth 2011, section 4), without recursion.
//!
//! The unit square, with the map's longer side as its side, is halved repeatedly. Halving j sets the centre of a square of side
//! 2^(−j) to the mean of its four corners plus a Gaussian number of standard deviation 2^(−H·j), then the middle of every edge to
//! the mean of its neighbours plus one of 2^(−H·(j + ½)), since those are closer by √½.
//!
//! Every Gaussian number is a hash of only the seed and the point's position in the unit square: a finer lattice only adds points
//! between those of a coarser one.

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::frame::MapFrame;
use crate::core::{grid::Grid, rng::RandomStream};

/// Returns heights of arbitrary scale, to be normalised by the caller.
///
/// If the longer side of a map is a power of two, its cells are lattice points. For other sizes, cells are averaged from a lattice
/// at least one and a half times as fine, which avoids beating between cells and lattice.
pub(super) fn heights(hurst: f32, frame: MapFrame, seed: u64) -> Grid {
    let longer = frame.width.max(frame.height);
    let side = if longer.is_power_of_two() { longer } else { (longer + longer / 2).next_power_of_two() };
    let points = lattice(side.trailing_zeros(), hurst.into(), seed);
    let covered = |count: usize| ((count * side + longer / 2) / longer).max(1);
    let (columns, rows) = (covered(frame.width), covered(frame.height));
    let cells = points.chunks_exact(side + 1).take(rows).flat_map(|row| &row[..columns]).copied();
    Grid::from_values(columns, rows, cells).resample(frame.width, frame.height)
}

/// Returns the (2^levels + 1)² points of the unit square.
fn lattice(levels: u32, hurst: f64, seed: u64) -> Grid {
    let key = u64::from(RandomStream::new(seed, "terrain.diamond-square", 0).bits());
    let side = 1_usize << levels;
    let mut points = Grid::filled(side + 1, side + 1, 0.0);
    let normal = |x: usize, y: usize| gaussian(((x as u64) << (31 - levels)) | ((y as u64) << (63 - levels)), key);
    for (x, y) in [(0, 0), (side, 0), (0, side), (side, side)] {
        let index = points.index(x, y);
        points[index] = normal(x, y);
    }
    let fall = 1.0 / libm::exp2(hurst);
    let between = 1.0 / libm::exp2(0.5 * hurst);
    let mut deviation = 1.0;
    let mut step = side;
    while step > 1 {
        let half = step / 2;
        for y in (half..side).step_by(step) {
            for x in (half..side).step_by(step) {
                let above = points.at(x - half, y - half) + points.at(x + half, y - half);
                let below = points.at(x - half, y + half) + points.at(x + half, y + half);
                let index = points.index(x, y);
                points[index] = 0.25 * (above + below) + deviation as f32 * normal(x, y);
            }
        }
        let deviation_of_edges = (deviation * between) as f32;
        for y in (0..=side).step_by(half) {
            let first = if (y / half).is_multiple_of(2) { half } else { 0 };
            for x in (first..=side).step_by(step) {
                let index = points.index(x, y);
                points[index] = mean_around(&points, x, y, half, side) + deviation_of_edges * normal(x, y);
            }
        }
        deviation *= fall;
        step = half;
    }
    points
}

/// Returns the mean of the points at a distance to the left, right, top and bottom; at the border one is missing.
fn mean_around(points: &Grid, x: usize, y: usize, distance: usize, side: usize) -> f32 {
    let pair = |first: Option<f32>, second: Option<f32>| match (first, second) {
        (Some(first), Some(second)) => (first + second, 2.0),
        (one, other) => (one.or(other).unwrap_or_default(), 1.0),
    };
    let (across, columns) = pair(
        (x >= distance).then(|| points.at(x - distance, y)),
        (x + distance <= side).then(|| points.at(x + distance, y)),
    );
    let (along, rows) = pair(
        (y >= distance).then(|| points.at(x, y - distance)),
        (y + distance <= side).then(|| points.at(x, y + distance)),
    );
    (across + along) / (columns + rows)
}

/// Returns a number of mean 0 and variance 1 that depends only on the position and the key, normally distributed to within the
/// error of summing eight uniform ones.
fn gaussian(place: u64, key: u64) -> f32 {
    let hash = xxh3_128_with_seed(&place.to_le_bytes(), key);
    let sum: u32 = (0..8).map(|part| u32::from((hash >> (16 * part)) as u16)).sum();
    // Eight uniform numbers in 0..65536 have the mean 8·32767.5 and the variance 8·65536²/12.
    (sum as f32 - 262_140.0) / (65_536.0 * 0.816_496_6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_lattice_contains_coarser_lattice() {
        for hurst in [0.5, 0.9] {
            let (coarse, fine) = (lattice(6, hurst, 11), lattice(8, hurst, 11));
            for y in 0..=64 {
                for x in 0..=64 {
                    assert_eq!(coarse.at(x, y).to_bits(), fine.at(4 * x, 4 * y).to_bits(), "{x}, {y}");
                }
            }
        }
    }

    #[test]
    fn opposite_borders_differ() {
        let points = lattice(5, 0.9, 2);
        assert!((0..=32).all(|x| points.at(x, 0) != points.at(x, 32)), "top and bottom");
        assert!((0..=32).all(|y| points.at(0, y) != points.at(32, y)), "left and right");
    }

    #[test]
    fn doubled_map_contains_original_heights() {
        let (small, large) = (heights(0.9, MapFrame::new(128, 96), 5), heights(0.9, MapFrame::new(256, 192), 5));
        assert!((0..96).all(|y| (0..128).all(|x| small.at(x, y) == large.at(2 * x, 2 * y))));
    }

    #[test]
    fn midpoints_are_normally_distributed() {
        let numbers: Vec<f64> = (0..200_000).map(|place| gaussian(place << 20, 9).into()).collect();
        let moment = |power: i32| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / numbers.len() as f64;
        assert!(moment(1).abs() < 0.01, "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.015, "variance {}", moment(2));
        assert!((moment(4) - 3.0).abs() < 0.25, "kurtosis {}", moment(4));
    }
}
