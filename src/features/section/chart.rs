//! Chart of the section.

use super::Section;
use crate::world::amount::display_unit;
use thalweg_scene::{
    model::chart::{Chart, Curve},
    settings::UnitSystem,
};
use thalweg_sim::measure::SectionPoint;

/// Returns the chart of ground and layers along the section.
pub fn chart(section: &Section, units: UnitSystem) -> Chart {
    let (unit, times) = display_unit(units, "m");
    let along = |heights: &mut dyn Iterator<Item = f32>| {
        let places = section.now.iter().zip(heights);
        let at = |(layers, height): (&SectionPoint, f32)| [times * layers.distance, times * f64::from(height)];
        places.map(at).collect::<Vec<[f64; 2]>>()
    };
    let now = |height: fn(&SectionPoint) -> f32| along(&mut section.now.iter().map(height));
    let mut chart = Chart::new("section", "Section from A to B", [unit, unit])
        .with_curve(Curve::line("now", now(SectionPoint::ground)))
        .with_curve(Curve::line("start", along(&mut section.start.iter().copied())));
    if section.now.iter().any(|layers| layers.sand > 0.0) {
        chart.curves.push(Curve::line("rock", now(|layers| layers.bedrock)));
    }
    if section.now.iter().any(|layers| layers.water > 0.0) {
        chart.curves.push(Curve::line("water", now(|layers| layers.ground() + layers.water)));
    }
    for earlier in &section.earlier {
        let points = along(&mut earlier.ground.iter().copied());
        chart.curves.push(Curve::line(format!("tick {}", earlier.tick), points));
    }
    chart
}
