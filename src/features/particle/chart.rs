//! Charts of a followed particle over its steps.

use super::ParticleTrajectory;
use crate::world::amount::display_unit;
use thalweg_scene::{
    model::chart::{Chart, Curve},
    settings::UnitSystem,
};

/// Returns charts of load and capacity, cumulative erosion and deposition, speed and water over the steps, and of the ground along
/// the track.
pub fn charts(trajectory: &ParticleTrajectory, units: UnitSystem) -> Vec<Chart> {
    let [(metres, of_length), (volume, of_volume)] = ["m", "m³"].map(|unit| display_unit(units, unit));
    let cubic = of_volume * trajectory.cell_area();
    let steps = || trajectory.states.iter().enumerate();
    let load = steps().map(|(step, moment)| [step as f64, cubic * f64::from(moment.load)]);
    let mut loads =
        Chart::new("followed-load", "Load and capacity", ["step", volume]).with_curve(Curve::line("load", load));
    let capacity: Vec<[f64; 2]> =
        steps().filter_map(|(step, moment)| Some([step as f64, cubic * f64::from(moment.capacity?)])).collect();
    if !capacity.is_empty() {
        loads.curves.push(Curve::line("capacity", capacity));
    }
    let (mut dug, mut laid) = (Vec::new(), Vec::new());
    let mut sums = [0.0; 2];
    for step in 0..trajectory.states.len() {
        let taken = of_volume * trajectory.entrained_volume(step);
        sums = [sums[0] + taken.max(0.0), sums[1] + (-taken).max(0.0)];
        dug.push([step as f64, sums[0]]);
        laid.push([step as f64, sums[1]]);
    }
    let exchanged = Chart::new("followed-exchange", "Cumulative erosion and deposition", ["step", volume])
        .with_curve(Curve::line("eroded", dug))
        .with_curve(Curve::line("deposited", laid));
    let ground = trajectory.distances().into_iter().zip(&trajectory.ground);
    let ground = ground.map(|(distance, height)| [of_length * distance, of_length * f64::from(*height)]);
    let ground = Chart::new("followed-ground", "Ground along the track", [metres, metres])
        .with_curve(Curve::line("ground", ground));
    let speed = steps().map(|(step, moment)| [step as f64, f64::from(moment.speed)]);
    let speed = Chart::new("followed-speed", "Speed", ["step", "model units"]).with_curve(Curve::line("speed", speed));
    let water: Vec<[f64; 2]> =
        steps().filter_map(|(step, moment)| Some([step as f64, 100.0 * f64::from(moment.water?)])).collect();
    let mut all = vec![loads, exchanged, ground, speed];
    if !water.is_empty() {
        let water = Curve::line("water", water);
        all.push(
            Chart::new("followed-water", "Water in the droplet", ["step", "% of the initial water"]).with_curve(water),
        );
    }
    all
}
