//! The numbers of the probes as a chart.

use super::{Probes, Sample};
use crate::world::amount::told_in;
use thalweg_scene::{
    model::chart::{Chart, Curve},
    settings::Units,
};
use thalweg_sim::core::quantity::Quantity;

/// Which number of probes a chart is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Series {
    /// Height of the ground over that of the first sample.
    #[default]
    Change,
    /// Height of the ground.
    Height,
    /// Depth of sand.
    Sand,
    /// Depth of water.
    Water,
    /// The quantity that is shown over the ground.
    Overlay(Quantity),
}

impl Series {
    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Change => "Change of the ground",
            Self::Height => "Height",
            Self::Sand => "Sand",
            Self::Water => "Water",
            Self::Overlay(quantity) => quantity.title(),
        }
    }

    /// The number of a sample.
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

/// A number of all probes over the ticks.
pub fn chart(probes: &Probes, series: Series, units: Units) -> Chart {
    let (unit, times) = match series {
        Series::Overlay(quantity) => told_in(units, quantity.unit()),
        _ => told_in(units, "m"),
    };
    let curves = probes.pinned.iter().enumerate().map(|(number, probe)| {
        let first = probe.series.first().copied().unwrap_or_default();
        let points = probe.series.iter().filter_map(|sample| {
            let value = series.value(sample, &first)?;
            Some([sample.tick as f64, times * f64::from(value)])
        });
        Curve::line(format!("{}", number + 1), points)
    });
    curves.fold(Chart::new("probes", series.title(), ["tick", unit]), Chart::and)
}
