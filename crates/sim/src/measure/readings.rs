//! The measures as shown to the user: each with its name and the range of real mountains.
//!
//! The ranges also serve the tests of uplift and rivers, and apply to cells of about 30 m.

use super::Measures;

/// A measure as shown to the user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasureReading {
    /// Name in reports.
    pub key: &'static str,
    /// Name shown to the user.
    pub title: &'static str,
    /// Tooltip: the definition, in a sentence.
    pub about: &'static str,
    /// Value, or `None` if the terrain is too small to measure.
    pub value: Option<f64>,
    /// Lowest and highest value in real mountains, or `None` for measures of the age of a landscape.
    pub real: Option<(f64, f64)>,
}

/// Returns the number of readings in the range of real mountains, and the number of readings that have such a range.
pub fn score(readings: &[MeasureReading]) -> (usize, usize) {
    let flags = || readings.iter().filter_map(MeasureReading::is_real);
    (flags().filter(|real| *real).count(), flags().count())
}

impl MeasureReading {
    /// Returns `true` if the value is in the range of real mountains, or `None` if there is no such range.
    pub fn is_real(&self) -> Option<bool> {
        let (least, most) = self.real?;
        Some(self.value.is_some_and(|value| (least..=most).contains(&value)))
    }
}

impl Measures {
    /// Returns every measure with its name and its range in real mountains.
    pub fn readings(&self) -> Vec<MeasureReading> {
        let row = |key, title, about, value, real| MeasureReading { key, title, about, value, real };
        let (concavity, slope_area) = (self.concavity, self.slope_area);
        vec![
            row(
                "pits",
                "Pits",
                "Fraction of cells that are lower than all eight neighbours.",
                Some(self.pits),
                Some((0.0, 0.004)),
            ),
            row(
                "depressions",
                "Depressions",
                "Fraction of the terrain that lies below the spill point of a depression.",
                Some(self.depressions),
                Some((0.0, 0.02)),
            ),
            row(
                "against_inverted",
                "Depressions vs. inverted",
                "Depressions, divided by those of the inverted terrain: rivers drain depressions, but nothing drains inverted \
                    hills.",
                Some(self.against_inverted),
                Some((0.0, 0.25)),
            ),
            row(
                "uphill",
                "Uphill steps",
                "Fraction of river cells whose downstream neighbour is higher.",
                Some(self.uphill),
                Some((0.0, 0.07)),
            ),
            row(
                "concavity",
                "Concavity",
                "Rate at which river slope decreases with drainage area: the exponent for which all rivers collapse \
                    onto one line in a chart of height against χ.",
                concavity.map(|fit| fit.value),
                Some((0.25, 0.65)),
            ),
            row(
                "slope_area_r2",
                "Slope–area fit",
                "R² of a power law of river slope against drainage area: 1 is a perfect fit, 0 none.",
                slope_area.map(|fit| fit.r2),
                Some((0.7, 1.0)),
            ),
            row(
                "roughness",
                "Roughness",
                "Change of slope from cell to cell, divided by the slope: 0 is smooth, 1.7 is white noise.",
                Some(self.roughness),
                Some((0.3, 1.0)),
            ),
            row(
                "spectral_exponent",
                "Spectral exponent",
                "Slope of the power spectrum at wavelengths of 3 to 12 cells: high values mean smooth small-scale relief.",
                self.spectral_exponent,
                Some((4.6, 6.0)),
            ),
            row(
                "aspect_4",
                "4th aspect harmonic",
                "Tendency of slopes to face along rows and columns: 0 is none.",
                Some(self.aspect_harmonics[0]),
                Some((0.0, 0.05)),
            ),
            row(
                "aspect_8",
                "8th aspect harmonic",
                "Tendency of slopes to face along rows, columns and diagonals: 0 is none.",
                Some(self.aspect_harmonics[1]),
                Some((0.0, 0.05)),
            ),
            row(
                "concavity_r2",
                "χ fit",
                "R² of a single line fitted to river height against χ: 1 where erosion balances uplift.",
                concavity.map(|fit| fit.r2),
                None,
            ),
            row(
                "slope_area_exponent",
                "Slope–area exponent",
                "Exponent of the power law of river slope against drainage area.",
                slope_area.map(|fit| fit.value),
                None,
            ),
            row(
                "hypsometric_integral",
                "Hypsometric integral",
                "Mean height, scaled from the lowest point (0) to the highest (1): above 0.6 a landscape is young, \
                    below 0.35 old.",
                Some(self.hypsometric_integral),
                None,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Terrain},
    };

    #[test]
    fn noise_terrain_fails_realism_readings() {
        let mut stream = RandomStream::new(1, "noise", 0);
        let noise = Grid::from_fn(64, 64, |_, _| 9.0 * stream.uniform());
        let readings = Measures::of(&Terrain::bare(noise, 10.0, Edge::Open)).readings();
        let failed: Vec<_> = readings.iter().filter(|row| row.is_real() == Some(false)).map(|row| row.key).collect();
        for key in ["pits", "depressions", "against_inverted", "roughness", "spectral_exponent"] {
            assert!(failed.contains(&key), "{key}: {failed:?}");
        }
        // Noise has no preferred aspect.
        assert!(!failed.contains(&"aspect_4"));
        let flat = Measures::of(&Terrain::bare(Grid::filled(8, 8, 1.0), 10.0, Edge::Open)).readings();
        let no_rivers = flat.iter().find(|row| row.key == "concavity").and_then(MeasureReading::is_real);
        assert_eq!(no_rivers, Some(false));
    }
}
