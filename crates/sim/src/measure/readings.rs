//! The measures as they are shown: each with its name, and the range in which real mountains lie.
//!
//! The ranges are those of section 9 of the model that the checks of uplift and rivers go by, for cells of about 30 m.

use super::Measures;

/// A measure as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Name in reports.
    pub key: &'static str,
    /// Name shown to the user.
    pub title: &'static str,
    /// What it tells, in a sentence.
    pub about: &'static str,
    /// None where there is too little land to tell.
    pub value: Option<f64>,
    /// Where it lies in real mountains, least and most; none if it tells young land from old, not land from noise.
    pub real: Option<(f64, f64)>,
}

/// How many readings lie where they do in real mountains, and of how many something is expected.
pub fn score(readings: &[Reading]) -> (usize, usize) {
    let told = || readings.iter().filter_map(Reading::is_real);
    (told().filter(|real| *real).count(), told().count())
}

impl Reading {
    /// Whether it lies where it does in real mountains; none if that says nothing.
    pub fn is_real(&self) -> Option<bool> {
        let (least, most) = self.real?;
        Some(self.value.is_some_and(|value| (least..=most).contains(&value)))
    }
}

impl Measures {
    /// Every measure with its name and its range in real mountains.
    pub fn readings(&self) -> Vec<Reading> {
        let row = |key, title, about, value, real| Reading { key, title, about, value, real };
        let (concavity, slope_area) = (self.concavity, self.slope_area);
        vec![
            row(
                "pits",
                "Pits",
                "Share of the cells that lie below all their neighbours.",
                Some(self.pits),
                Some((0.0, 0.004)),
            ),
            row(
                "depressions",
                "Depressions",
                "Share of the land over which water would stand.",
                Some(self.depressions),
                Some((0.0, 0.02)),
            ),
            row(
                "against_inverted",
                "Against land upside down",
                "Depressions of the land, divided by those of the same land upside down: rivers drain hollows, but nothing drains \
                    upturned hills.",
                Some(self.against_inverted),
                Some((0.0, 0.25)),
            ),
            row(
                "uphill",
                "Uphill steps",
                "Share of the river cells from which the way leads up.",
                Some(self.uphill),
                Some((0.0, 0.07)),
            ),
            row(
                "concavity",
                "Concavity",
                "How much flatter rivers are where they drain more: the exponent for which all lie on one line of height over χ.",
                concavity.map(|fit| fit.value),
                Some((0.25, 0.65)),
            ),
            row(
                "slope_area_r2",
                "Slope follows area",
                "How well a power of the drained area foretells the slope of rivers: 1 wholly, 0 not at all.",
                slope_area.map(|fit| fit.r2),
                Some((0.7, 1.0)),
            ),
            row(
                "roughness",
                "Roughness",
                "How much the slope changes from cell to cell, divided by the slope: 0 is smooth, 1.7 is noise.",
                Some(self.roughness),
                Some((0.3, 1.0)),
            ),
            row(
                "spectral_exponent",
                "Spectral exponent",
                "How fast small forms get lower: the slope of the power spectrum at 3 to 12 cells.",
                self.spectral_exponent,
                Some((4.6, 6.0)),
            ),
            row(
                "aspect_4",
                "Aspects, fourfold",
                "How much the slopes prefer rows and columns: 0 not at all.",
                Some(self.aspect_harmonics[0]),
                Some((0.0, 0.05)),
            ),
            row(
                "aspect_8",
                "Aspects, eightfold",
                "How much the slopes prefer rows, columns and diagonals: 0 not at all.",
                Some(self.aspect_harmonics[1]),
                Some((0.0, 0.05)),
            ),
            row(
                "concavity_r2",
                "Rivers on one line",
                "How well all rivers lie on one line of height over χ: 1 where the land is in balance with its uplift.",
                concavity.map(|fit| fit.r2),
                None,
            ),
            row(
                "slope_area_exponent",
                "Slope over area",
                "The power of the drained area with which the slope of rivers falls.",
                slope_area.map(|fit| fit.value),
                None,
            ),
            row(
                "hypsometric_integral",
                "Hypsometric integral",
                "Mean height from the lowest to the highest: above 0.6 land is young, below 0.35 it is old.",
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
        rng::Stream,
        terrain::{Edge, Terrain},
    };

    #[test]
    fn noise_fails_where_land_passes_and_keys_are_names() {
        let mut stream = Stream::new(1, "noise", 0);
        let noise = Grid::from_fn(64, 64, |_, _| 9.0 * stream.unit());
        let readings = Measures::of(&Terrain::bare(noise, 10.0, Edge::Open)).readings();
        let failed: Vec<_> = readings.iter().filter(|row| row.is_real() == Some(false)).map(|row| row.key).collect();
        for key in ["pits", "depressions", "against_inverted", "roughness", "spectral_exponent"] {
            assert!(failed.contains(&key), "{key}: {failed:?}");
        }
        // Slopes of noise prefer no direction.
        assert!(!failed.contains(&"aspect_4"));
        let flat = Measures::of(&Terrain::bare(Grid::filled(8, 8, 1.0), 10.0, Edge::Open)).readings();
        let no_rivers = flat.iter().find(|row| row.key == "concavity").and_then(Reading::is_real);
        assert_eq!(no_rivers, Some(false));
    }
}
