//! Summary statistics of a terrain, and its hypsometric curve.

use crate::core::{
    analysis::{count_pits, gradient, slope_angle},
    border::Border,
    terrain::Terrain,
};

/// Number of bins of the hypsometric curve and of the slope histogram.
pub const BINS: usize = 64;

/// Statistics of the ground (bedrock + sand) of a terrain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Lowest and highest ground, in metres.
    pub range: (f32, f32),
    /// Mean height, in metres.
    pub mean: f64,
    /// Standard deviation of height, in metres.
    pub deviation: f64,
    /// Mean slope angle, in degrees.
    pub slope: f64,
    /// Number of pits: cells lower than all eight neighbours.
    pub pits: usize,
    /// Volumes of ground below and above the starting ground, in cubic metres.
    pub cut_and_fill: (f64, f64),
    /// Fraction of the map covered by loose sand thicker than a hundredth of a cell.
    pub sandy: f64,
    /// Fraction of the map above `BINS` heights, evenly spaced from the lowest to the highest: the hypsometric curve.
    pub hypsometry: Vec<f64>,
    /// Fraction of the map per slope class; class `i` begins at `90° · i / BINS`.
    pub slopes: Vec<f64>,
}

impl Statistics {
    /// Measures a terrain.
    pub fn of(terrain: &Terrain) -> Self {
        let (ground, border) = (terrain.ground(), Border::of(terrain));
        let (width, height) = (ground.width(), ground.height());
        let count = ground.len().max(1) as f64;
        let range = ground.min_max();
        let span = f64::from(range.1 - range.0).max(f64::MIN_POSITIVE);
        let mean = ground.total() / count;
        let mut own = Self { range, mean, hypsometry: vec![0.0; BINS], slopes: vec![0.0; BINS], ..Self::default() };
        let (mut squares, mut angles, mut sandy) = (0.0, 0.0, 0usize);
        for y in 0..height {
            for x in 0..width {
                let here = ground[y * width + x];
                let level = (f64::from(here - range.0) / span * BINS as f64) as usize;
                own.hypsometry[level.min(BINS - 1)] += 1.0 / count;
                let off = f64::from(here) - mean;
                squares += off * off;
                let gradient = gradient(border, terrain.cell_size, [x, y], |x, y| ground.at(x, y));
                let angle = f64::from(slope_angle(gradient));
                angles += angle;
                own.slopes[((angle / 90.0 * BINS as f64) as usize).min(BINS - 1)] += 1.0 / count;
                let change = f64::from(here - terrain.start[y * width + x]) * terrain.cell_area();
                own.cut_and_fill.0 += (-change).max(0.0);
                own.cut_and_fill.1 += change.max(0.0);
                sandy += usize::from(terrain.sand[y * width + x] > 0.01 * terrain.cell_size);
            }
        }
        // From the fraction in a class to the fraction above its lower bound.
        for bin in (0..BINS - 1).rev() {
            own.hypsometry[bin] += own.hypsometry[bin + 1];
        }
        [own.pits, _] = count_pits(&ground, border);
        own.deviation = (squares / count).sqrt();
        own.slope = angles / count;
        own.sandy = sandy as f64 / count;
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{grid::Grid, terrain::Edge};

    #[test]
    fn plane_has_constant_slope_and_linear_hypsometry() {
        let terrain = Terrain::bare(Grid::from_fn(64, 64, |x, _| x as f32 * 2.0), 2.0, Edge::Open);
        let found = Statistics::of(&terrain);
        assert!((found.slope - 45.0).abs() < 1e-4, "{}", found.slope);
        assert_eq!((found.pits, found.cut_and_fill), (0, (0.0, 0.0)));
        for (bin, share) in found.hypsometry.iter().enumerate() {
            assert!((share - (1.0 - bin as f64 / 64.0)).abs() < 1.5 / 64.0, "{bin}: {share}");
        }
    }

    #[test]
    fn pits_cut_and_fill_are_counted() {
        let mut terrain = Terrain::bare(Grid::filled(9, 9, 5.0), 3.0, Edge::Open);
        terrain.bedrock[4 * 9 + 4] = 3.0;
        terrain.sand[9 + 1] = 1.0;
        let found = Statistics::of(&terrain);
        assert_eq!(found.pits, 1);
        assert_eq!(found.cut_and_fill, (18.0, 9.0));
        assert!((found.sandy - 1.0 / 81.0).abs() < 1e-12);
    }
}
