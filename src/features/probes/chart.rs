//! Chart of the probes.

use super::{Probes, Sample};
use crate::world::amount::display_unit;
use thalweg_scene::{
    model::chart::{Chart, Curve},
    settings::UnitSystem,
};
use thalweg_sim::core::quantity::Quantity;

/// Quantity of probes that a chart shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeSeries {
    /// Ground height relative to the first sample.
    #[default]
    Change,
    /// Ground height.
    Height,
    /// Depth of sand.
    Sand,
    /// Depth of water.
    Water,
    /// Quantity of the overlay.
    Overlay(Quantity),
}

impl ProbeSeries {
    /// Returns the title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Change => "Change in height",
            Self::Height => "Height",
            Self::Sand => "Sand",
            Self::Water => "Water",
            Self::Overlay(quantity) => quantity.title(),
        }
    }

    /// Returns the value of a sample.
    fn value(self, sample: &Sample, first: &Sample) -> Option<f32> {
        match self {
            Self::Change => Some(sample.ground - first.ground),
            Self::Height => Some(sample.ground),
            Self::Sand => Some(sample.sand),
            Self::Water => Some(sample.water),
            Self::Overlay(shown) => sample.overlay.filter(|(quantity, _)| *quantity == shown).map(|(_, value)| value),
        }
    }
}

/// Returns the chart of a quantity over the ticks, for all probes.
pub fn chart(probes: &Probes, series: ProbeSeries, units: UnitSystem) -> Chart {
    let (unit, times) = match series {
        ProbeSeries::Overlay(quantity) => display_unit(units, quantity.unit()),
        _ => display_unit(units, "m"),
    };
    let curves = probes.pinned.iter().enumerate().map(|(number, probe)| {
        let first = probe.series.first().copied().unwrap_or_default();
        let points = probe.series.iter().filter_map(|sample| {
            let value = series.value(sample, &first)?;
            Some([sample.tick as f64, times * f64::from(value)])
        });
        Curve::line(format!("{}", number + 1), points)
    });
    curves.fold(Chart::new("probes", series.title(), ["tick", unit]), Chart::with_curve)
}
