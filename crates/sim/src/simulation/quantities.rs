//! Quantities of the current simulation: layers, and quantities derived from them.

use std::borrow::Cow;

use super::Simulation;
use crate::{
    core::{analysis::steepest_fall, grid::Grid, quantity::Quantity, terrain::Layer},
    hydrology::drainage::Drainage,
    measure::{Channels, basins},
    process::{VectorMap, wind::Weather},
};

/// Number of colours of basins; the largest basins get different ones.
const CLASSES: u32 = 9;

/// Statistics of the difference between the ground of two simulations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Mean difference, in metres.
    pub mean: f64,
    /// Root mean square, in metres.
    pub size: f64,
    /// Minimum and maximum, in metres.
    pub range: (f32, f32),
    /// Correlation of the changes since the start of both; `None` if one has not changed.
    pub correlation: Option<f64>,
}

impl Simulation {
    /// Returns the height above the ground of another simulation, in each cell, with its statistics, or `None` if the maps differ
    /// in size.
    pub fn difference_to(&self, other: &Self) -> Option<(Grid, Difference)> {
        let (ground, before) = (self.terrain.ground(), other.terrain.ground());
        if (ground.width(), ground.height()) != (before.width(), before.height()) {
            return None;
        }
        let cells = ground.iter().zip(before.iter()).map(|(now, other)| now - other);
        let difference = Grid::from_values(ground.width(), ground.height(), cells);
        let count = difference.len().max(1) as f64;
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
        let size = (squares(&mut difference.iter().copied().map(f64::from)) / count).sqrt();
        // Changes since the start, as sums of squares and products.
        let [mut own, mut others, mut both] = [0.0_f64; 3];
        let starts = self.terrain.start.iter().zip(other.terrain.start.iter());
        for ((now, then), (start, first)) in ground.iter().zip(before.iter()).zip(starts) {
            let [own_change, other_change] = [now - start, then - first].map(f64::from);
            own += own_change * own_change;
            others += other_change * other_change;
            both += own_change * other_change;
        }
        let correlation = (own > 0.0 && others > 0.0).then(|| both / (own * others).sqrt());
        let numbers = Difference { mean: difference.total() / count, size, range: difference.min_max(), correlation };
        Some((difference, numbers))
    }

    /// Returns the wetness of the ground, from 0 to 1, if an enabled process tracks it.
    pub fn wetness(&self) -> Option<Cow<'_, Grid>> {
        self.enabled_map(Quantity::Wetness)
    }

    /// Returns the morphological acceleration of the water, or 1 if it has none: the water holds the suspended layer divided by it.
    pub fn bed_acceleration(&self) -> f32 {
        let of_slots = |enabled: bool| {
            let mut slots = self.slots.iter().filter(move |slot| slot.enabled == enabled);
            slots.find(|slot| slot.process.info().writes.contains(&Layer::Suspended))
        };
        let slot = of_slots(true).or_else(|| of_slots(false));
        slot.and_then(|slot| slot.process.capabilities().acceleration).unwrap_or(1.0)
    }

    /// Returns the map of a quantity from the first enabled process that has it.
    pub(super) fn enabled_map(&self, quantity: Quantity) -> Option<Cow<'_, Grid>> {
        self.slots.iter().filter(|slot| slot.enabled).find_map(|slot| slot.process.map(quantity, &self.terrain))
    }

    /// Returns the velocity of the water along columns and rows, in metres per second, if an enabled process moves water.
    pub fn velocity(&self) -> Option<[Grid; 2]> {
        let mut on = self.slots.iter().filter(|slot| slot.enabled);
        on.find_map(|slot| slot.process.vector_map(VectorMap::Velocity, &self.terrain))
    }

    /// Returns the speed of the water, in metres per second, if an enabled process moves water.
    pub(super) fn speed(&self) -> Option<Grid> {
        let [u, v] = self.velocity()?;
        Some(Grid::from_values(u.width(), u.height(), u.iter().zip(v.iter()).map(|(u, v)| libm::hypotf(*u, *v))))
    }

    /// Returns the discharge of the droplets times its direction along columns and rows, in square metres, if an enabled process
    /// has it.
    pub fn momentum(&self) -> Option<[Grid; 2]> {
        let mut on = self.slots.iter().filter(|slot| slot.enabled);
        on.find_map(|slot| slot.process.vector_map(VectorMap::Momentum, &self.terrain))
    }

    /// Returns the wind, if an enabled process has one.
    pub fn wind(&self) -> Option<Weather> {
        self.slots.iter().filter(|slot| slot.enabled).find_map(|slot| slot.process.capabilities().weather)
    }

    /// Returns the current values of a quantity in every cell.
    pub fn quantity(&self, quantity: Quantity) -> Grid {
        let terrain = &self.terrain;
        let (width, height) = (terrain.width(), terrain.height());
        let speed = || self.speed().unwrap_or_else(|| Grid::filled(width, height, 0.0));
        let cells: Vec<f32> = match quantity {
            Quantity::Layer(layer) => return terrain.layer_or_empty(layer),
            Quantity::DrainageArea => {
                let stored = self.enabled_map(quantity).map(Cow::into_owned);
                let found = || {
                    let areas = Drainage::of(terrain).areas(|_| terrain.cell_area());
                    Grid::from_cells(width, height, areas.into_iter().map(|area| area as f32).collect::<Vec<f32>>())
                };
                return stored.unwrap_or_else(found);
            }
            Quantity::Basin => {
                let (_, numbers) = basins(&Channels::of(terrain, 1.0));
                let classes = numbers.into_iter().map(|number| (number % CLASSES) as f32).collect::<Vec<f32>>();
                return Grid::from_cells(width, height, classes);
            }
            Quantity::StreamDischarge
            | Quantity::WindPath
            | Quantity::WindFlux
            | Quantity::Abrasion
            | Quantity::Wetness => {
                let stored = self.slots.iter().find_map(|slot| slot.process.map(quantity, terrain));
                return stored.map_or_else(|| Grid::filled(width, height, 0.0), Cow::into_owned);
            }
            Quantity::Speed => return speed(),
            Quantity::Discharge => {
                speed().iter().zip(terrain.water.iter()).map(|(speed, depth)| speed * depth).collect()
            }
            Quantity::Change => {
                terrain.ground().iter().zip(terrain.start.iter()).map(|(now, start)| now - start).collect()
            }
            Quantity::StageChange => {
                return self
                    .stage_changes()
                    .map_or_else(|| Grid::filled(width, height, 0.0), |staged| staged.change.clone());
            }
            Quantity::Difference => return Grid::filled(width, height, 0.0),
            Quantity::Steepness => {
                // Without a process that lets ground fail, the stable slope is 45°.
                let known = self.slots.iter().find_map(|slot| slot.process.map(quantity, terrain));
                let at_45_degrees = |x, y| steepest_fall(terrain, terrain.bedrock.index(x, y)) / terrain.cell_size;
                return known.map_or_else(|| Grid::from_fn(width, height, at_45_degrees), Cow::into_owned);
            }
        };
        Grid::from_cells(width, height, cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terrain::{Edge, Terrain};

    #[test]
    fn steepness_is_one_at_talus_angle_and_speed_matches_flow() {
        let slope = 33.0_f32.to_radians().tan();
        let ground = Grid::from_fn(32, 32, |x, _| slope * 2.0 * x as f32);
        let mut terrain = Terrain::bare(ground, 2.0, Edge::Open);
        terrain.spread_sand(1.0);
        let mut simulation = Simulation::new(terrain, 1);
        assert!((simulation.quantity(Quantity::Steepness).at(16, 16) - 1.0).abs() < 1e-3);
        assert!(simulation.quantity(Quantity::Speed).iter().all(|&speed| speed == 0.0));
        assert!(simulation.quantity(Quantity::Change).iter().all(|&change| change == 0.0));
        simulation.slot_mut("water").expect("it is in the catalogue").enabled = true;
        (0..400).for_each(|_| simulation.tick());
        let [u, v] = simulation.velocity().expect("water flows");
        assert!(u.at(16, 16) < -0.05 && v.at(16, 16).abs() < 1e-6, "downhill is towards the first column");
        assert_eq!(simulation.quantity(Quantity::Speed).at(16, 16), -u.at(16, 16));
    }
}
