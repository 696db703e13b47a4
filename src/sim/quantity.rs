//! Quantities that can be seen over the ground: what they are called, in which unit, and how they are found.

use super::{
    Simulation,
    analysis::steepest_fall,
    drainage::Drainage,
    grid::Grid,
    measure::{Channels, basins},
    process::wind::Weather,
    terrain::Layer,
};

/// Colours of classes; the largest basins differ in theirs.
const CLASSES: u32 = 9;

/// What can be shown over the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A layer of the terrain.
    Layer(Layer),
    /// Speed of the water.
    Speed,
    /// Water that passes a metre of width.
    Discharge,
    /// Land whose rain the droplets bring past a cell.
    StreamDischarge,
    /// Land whose rain runs past a cell: as uplift and rivers found it, if they are on.
    DrainageArea,
    /// The land that drains to one outlet, as a number from 0 to 8.
    Basin,
    /// How much higher the ground lies than at the start.
    Change,
    /// How much the last stage of a tick has changed, where it was run alone: the ground, or else the water or what it carries.
    StageChange,
    /// How much higher the ground lies than in the first of the runs side by side; of one run alone it is nothing.
    Difference,
    /// Slope, as a multiple of the slope at which the ground would slide or crumble.
    Steepness,
    /// How often the wind's grains touch the ground.
    WindPath,
    /// Sand that the wind carries over a cell.
    WindFlux,
    /// Rock that the wind has worn off.
    Abrasion,
    /// How wet the sand is.
    Wetness,
}

/// Which colours a quantity needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From nothing upwards.
    FromZero,
    /// As much below zero as above.
    AroundZero,
    /// Always from 0 to this.
    UpTo(f32),
    /// From that of a single cell upwards, each tenfold as wide as the next.
    Logarithmic,
    /// Numbers from 0 to 8, each with a colour of its own.
    Classes,
}

impl Quantity {
    /// All of them, in the order in which they are offered: layers, then what is found from them.
    pub fn all() -> impl Iterator<Item = Self> {
        let shown = Layer::ALL.iter().filter(|layer| layer.row().overlay.is_some());
        shown.map(|&layer| Self::Layer(layer)).chain([
            Self::Speed,
            Self::Discharge,
            Self::StreamDischarge,
            Self::DrainageArea,
            Self::Basin,
            Self::Change,
            Self::StageChange,
            Self::Difference,
            Self::Steepness,
            Self::WindPath,
            Self::WindFlux,
            Self::Abrasion,
            Self::Wetness,
        ])
    }

    /// Its name in lessons.
    pub fn key(self) -> &'static str {
        match self {
            Quantity::Layer(layer) => layer.key(),
            Quantity::Speed => "speed",
            Quantity::Discharge => "discharge",
            Quantity::StreamDischarge => "stream-discharge",
            Quantity::DrainageArea => "drainage-area",
            Quantity::Basin => "basin",
            Quantity::Change => "change",
            Quantity::StageChange => "stage-change",
            Quantity::Difference => "difference",
            Quantity::Steepness => "steepness",
            Quantity::WindPath => "wind-path",
            Quantity::WindFlux => "wind-flux",
            Quantity::Abrasion => "abrasion",
            Quantity::Wetness => "wetness",
        }
    }

    /// The one of that name, if it can be shown.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::all().find(|quantity| quantity.key() == key)
    }

    /// Name shown to the user.
    pub fn title(self) -> &'static str {
        self.words().0
    }

    /// Its unit; empty for a ratio.
    pub fn unit(self) -> &'static str {
        self.words().1
    }

    /// What it tells, in a sentence.
    pub fn about(self) -> &'static str {
        self.words().2
    }

    /// Which colours it needs.
    pub fn scale(self) -> Scale {
        match self {
            Quantity::Layer(layer) => layer.row().overlay.unwrap_or(Scale::FromZero),
            Quantity::Change | Quantity::StageChange | Quantity::Difference => Scale::AroundZero,
            Quantity::Steepness => Scale::UpTo(2.0),
            Quantity::Basin => Scale::Classes,
            Quantity::Wetness => Scale::UpTo(1.0),
            Quantity::StreamDischarge | Quantity::DrainageArea => Scale::Logarithmic,
            _ => Scale::FromZero,
        }
    }

    /// Title, unit and what it tells.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Quantity::Layer(layer) => (layer.row().title, layer.row().unit, layer.row().about),
            Quantity::Speed => ("Speed of water", "m/s", "How fast the water flows."),
            Quantity::Discharge => (
                "Discharge, averaged",
                "m²/s",
                "Water that passes a metre of width, averaged over the last fifty ticks or so.",
            ),
            Quantity::StreamDischarge => (
                "Discharge of the droplets",
                "m²",
                "Land whose rain passes here. Times the rain of a second, it is the river's discharge.",
            ),
            Quantity::DrainageArea => (
                "Drainage area",
                "m²",
                "Land whose rain runs past here, if all of it runs down the surface. Shown where rivers begin, as the panel Rivers says.",
            ),
            Quantity::Basin => ("Drainage basins", "", "Land of one colour drains to one outlet."),
            Quantity::Change => {
                ("Change since the start", "m", "How much higher or lower the ground lies than at the start.")
            }
            Quantity::StageChange => (
                "Changed by the last stage",
                "m",
                "What the last stage of a tick has changed: the ground, or else the water or what it carries. Shown where you go stage by stage.",
            ),
            Quantity::Difference => (
                "Difference to the first run",
                "m",
                "How much higher or lower the ground lies than in the first of the runs side by side.",
            ),
            Quantity::Steepness => (
                "Slope against talus",
                "",
                "Slope of the ground over the steepest slope at which it stands. \
                Above 1 it slides or crumbles.",
            ),
            Quantity::WindPath => (
                "Wind path, averaged",
                "",
                "Share of the last hundred ticks or so in which sand flew over the cell, or a grain of wind touched the ground.",
            ),
            Quantity::WindFlux => (
                "Sand in the wind, averaged",
                "m/tick",
                "Sand that the wind carries over a cell in a tick, as the thickness it would have there; averaged.",
            ),
            Quantity::Abrasion => ("Abrasion so far", "m", "Rock that carried sand has worn off since the start."),
            Quantity::Wetness => (
                "Wetness of the sand",
                "",
                "Water that the sand holds, as a share of all that it can. Wet sand withstands the wind.",
            ),
        }
    }
}

/// How much the ground of two runs differs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Mean of the differences, in metres.
    pub mean: f64,
    /// Root mean square, in metres.
    pub size: f64,
    /// Least and largest, in metres.
    pub range: (f32, f32),
    /// Correlation of the changes since the start of both; none if one has not changed.
    pub alike: Option<f64>,
}

impl Simulation {
    /// How much higher the ground lies than in another run, in each cell, and in numbers; nothing if their maps differ in size.
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
        let alike = (own > 0.0 && others > 0.0).then(|| both / (own * others).sqrt());
        let numbers = Difference { mean: difference.total() / count, size, range: difference.min_max(), alike };
        Some((difference, numbers))
    }

    /// How wet the ground is, from 0 to 1, if a process that is on keeps account of it.
    pub fn wetness(&self) -> Option<&Grid> {
        self.slots.iter().filter(|slot| slot.enabled).find_map(|slot| slot.process.wetness())
    }

    /// Velocity of the water along columns and rows, in metres per second, if a process that is on moves water.
    pub fn velocity(&self) -> Option<[Grid; 2]> {
        let mut on = self.slots.iter().filter(|slot| slot.enabled);
        on.find_map(|slot| slot.process.velocity(&self.terrain))
    }

    /// Discharge of the droplets times its direction along columns and rows, in square metres, if a process that is on keeps it.
    pub fn momentum(&self) -> Option<[Grid; 2]> {
        self.slots.iter().filter(|slot| slot.enabled).find_map(|slot| slot.process.momentum())
    }

    /// The wind, if a process that is on lets one blow.
    pub fn wind(&self) -> Option<Weather> {
        self.slots.iter().filter(|slot| slot.enabled).find_map(|slot| slot.process.wind())
    }

    /// A quantity as it is now, in every cell.
    pub fn quantity(&self, quantity: Quantity) -> Grid {
        let terrain = &self.terrain;
        let (width, height) = (terrain.width(), terrain.height());
        let speed = || {
            let velocity = self.velocity().unwrap_or_else(|| [(); 2].map(|()| Grid::filled(width, height, 0.0)));
            let [u, v] = velocity;
            u.iter().zip(v.iter()).map(|(u, v)| libm::hypotf(*u, *v)).collect::<Vec<f32>>()
        };
        let cells = match quantity {
            Quantity::Layer(layer) => return terrain.layer_or_empty(layer),
            Quantity::DrainageArea => {
                let kept = self.slots.iter().filter(|slot| slot.enabled).find_map(|slot| slot.process.map(quantity));
                let found = || {
                    let areas = Drainage::of(terrain).areas(|_| terrain.cell_area());
                    Grid::from_cells(width, height, areas.into_iter().map(|area| area as f32).collect::<Vec<f32>>())
                };
                return kept.unwrap_or_else(found);
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
                let kept = self.slots.iter().find_map(|slot| slot.process.map(quantity));
                return kept.unwrap_or_else(|| Grid::filled(width, height, 0.0));
            }
            Quantity::Speed => speed(),
            Quantity::Discharge => {
                speed().iter().zip(terrain.water.iter()).map(|(speed, depth)| speed * depth).collect()
            }
            Quantity::Change => {
                terrain.ground().iter().zip(terrain.start.iter()).map(|(now, start)| now - start).collect()
            }
            Quantity::StageChange => {
                return self.staged().map_or_else(|| Grid::filled(width, height, 0.0), |staged| staged.change.clone());
            }
            Quantity::Difference => return Grid::filled(width, height, 0.0),
            Quantity::Steepness => {
                let talus = self.slots.iter().find_map(|slot| slot.process.talus(terrain));
                let stands = |index: usize| talus.as_ref().map_or(1.0, |talus| talus[index]).max(1e-3);
                let cells = (0..width * height).map(|index| {
                    let (x, y) = (index % width, index / width);
                    steepest_fall(terrain, x, y) / (terrain.cell_size * stands(index))
                });
                cells.collect()
            }
        };
        Grid::from_cells(width, height, cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::terrain::{Edge, Terrain};

    #[test]
    fn a_slope_at_the_talus_angle_has_steepness_one_and_running_water_its_speed() {
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
