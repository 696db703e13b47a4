//! Metrics that distinguish eroded landscapes from noise, for any terrain.
//!
//! | measure | definition | source |
//! |---|---|---|
//! | pits | fraction of the inner cells lower than all eight neighbours | Band 1986 |
//! | depressions | fraction of the cells below the spill point of a depression | Lindsay 2016 |
//! | against the inverted terrain | depressions over those of the inverted terrain: rivers drain depressions, nothing drains hills | this work |
//! | uphill steps | fraction of the channel cells with a higher receiver | this work |
//! | concavity | θ of the best linear fit of channel height over χ = ∫(A₀/A)^θ dx | Perron & Royden 2013 |
//! | slope against area | line through the logarithms of the median channel slope in area classes | Flint 1974 |
//! | roughness | root mean square of second over first differences between neighbours: 1.7 for white noise, 0 for a plane | this work |
//! | spectral exponent | −slope of the power spectrum on logarithmic axes, at wavelengths of 3 to 12 cells | Turcotte 1997 |
//! | aspect harmonics | magnitude of the mean of exp(4iφ) and of exp(8iφ) over the aspects φ: 0 for isotropic terrain | Mardia 1972 |
//! | hypsometric integral | (mean − lowest)/(highest − lowest) | Strahler 1952 |
//!
//! Flow routing is D8, and depressions drain over their lowest spill point. A channel begins at a drainage area of [`CHANNEL`]
//! cells. Lakes count as ground: heights are bedrock and sand.

mod channels;
mod dunes;
mod readings;
mod river;
mod section;
mod shape;
pub mod statistics;
mod study;
#[cfg(test)]
mod tests;

pub use self::{
    channels::{Channels, Fit},
    dunes::Dunes,
    readings::{MeasureReading, score},
    river::{Basin, Knickpoint, RiverPoint, basins, knickpoints, long_profile, sinuosity},
    section::{SectionPoint, along, section},
    shape::{aspect_harmonics, roughness, spectral_exponent},
    study::Study,
};
use crate::{
    core::{analysis::count_pits, border::Border, grid::Grid, terrain::Terrain},
    hydrology::{CHANNEL, drainage::Drainage},
};

/// Memory of [`Measures::of`] per cell, in bytes.
pub const BYTES_PER_CELL: usize = 120;
/// Minimum depth of a depression, in metres: less is rounding of heights.
const SHALLOW: f32 = 1e-3;

/// All measures of a terrain; see the table above.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Fraction of inner cells.
    pub pits: f64,
    /// Fraction of all cells.
    pub depressions: f64,
    /// Ratio of two fractions; infinite if only the inverted terrain has no depressions.
    pub against_inverted: f64,
    /// Fraction of channel cells; 0 without channels.
    pub uphill: f64,
    /// θ and the quality of the fit; `None` without channels of different areas.
    pub concavity: Option<Fit>,
    /// Slope of log S over log A and the quality of the fit; `None` without channels of different areas.
    pub slope_area: Option<Fit>,
    /// Ratio of two root mean squares; 0 for a plane.
    pub roughness: f64,
    /// `None` for a level map, or one with a side of fewer than 32 cells.
    pub spectral_exponent: Option<f64>,
    /// The 4th and the 8th, each from 0 to 1; 0 for level ground.
    pub aspect_harmonics: [f64; 2],
    /// From 0 to 1; 0.5 for level ground.
    pub hypsometric_integral: f64,
}

impl Measures {
    /// Measures a terrain of any size. Heights must be finite.
    pub fn of(terrain: &Terrain) -> Self {
        let ground = terrain.ground();
        let channels = Channels::of(terrain, CHANNEL);
        let depressions = depressions(&ground, &channels.drainage);
        let mut inverted = terrain.clone();
        inverted.sand.fill(0.0);
        inverted.bedrock.iter_mut().zip(ground.iter()).for_each(|(height, ground)| *height = -ground);
        let hills = self::depressions(&inverted.ground(), &Drainage::of(&inverted));
        let [pits, inner] = count_pits(&ground, Border::of(terrain));
        let (low, high) = ground.min_max();
        let mean = ground.total() / ground.len().max(1) as f64;
        let span = f64::from(high) - f64::from(low);
        Self {
            pits: pits as f64 / inner.max(1) as f64,
            depressions,
            against_inverted: if depressions == 0.0 { 0.0 } else { depressions / hills },
            uphill: channels.uphill(),
            concavity: channels.concavity(),
            slope_area: channels.slope_area(),
            roughness: roughness(&ground),
            spectral_exponent: spectral_exponent(&ground),
            aspect_harmonics: aspect_harmonics(&ground),
            hypsometric_integral: if span > 0.0 { (mean - f64::from(low)) / span } else { 0.5 },
        }
    }
}

/// Returns the fraction of cells inside depressions.
fn depressions(ground: &Grid, drainage: &Drainage) -> f64 {
    let sunken = drainage.lakes(ground).iter().filter(|&&depth| depth > SHALLOW).count();
    sunken as f64 / ground.len().max(1) as f64
}
