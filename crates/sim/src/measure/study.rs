//! Analysis of a terrain's rivers: the long profile of one river, and metrics of all rivers.

use super::{
    Basin, Channels, Fit, Knickpoint, MeasureReading, Measures, RiverPoint, basins, knickpoints, long_profile,
    sinuosity,
};
use crate::hydrology::network::{Reach, RiverNetwork, RiverTerrain};

/// Radius around a position for selecting the largest river, as a fraction of the map's shorter side. If there is none, the nearest
/// is selected.
const NEAR: f32 = 0.02;
/// Maximum number of points of all rivers in a plot.
const MOST_POINTS: usize = 1500;
/// Concavity for χ where it cannot be fitted.
const USUAL: f64 = 0.4;

/// Analysis of a terrain's rivers.
#[derive(Clone, Debug)]
pub struct Study {
    /// Columns and rows of the terrain.
    pub size: (usize, usize),
    /// Width and height of the terrain, in metres.
    extent: [f64; 2],
    /// All measures of the terrain.
    pub readings: Vec<MeasureReading>,
    /// The selected river from its source to its mouth; empty if there is none.
    pub river: Vec<RiverPoint>,
    /// Sinuosity of the river.
    pub sinuosity: Option<f64>,
    /// Knickpoints of the river, by index.
    pub knickpoints: Vec<Knickpoint>,
    /// Mean drainage area in square metres and median slope of rivers in each area class.
    pub slopes: Vec<(f64, f64)>,
    /// The line through their logarithms.
    pub slope_area: Option<Fit>,
    /// The concavity for the best linear fit of river heights over χ.
    pub concavity: Option<Fit>,
    /// χ of river cells and their heights above their outlets, in metres, thinned out for a plot.
    pub chi: Vec<(f64, f64)>,
    /// The basins with a river, the largest first.
    pub basins: Vec<Basin>,
    /// Mean softness of the bedrock.
    pub softness: f64,
    /// Total length of the rivers, in metres.
    pub length: f64,
}

impl Study {
    /// Analyses a terrain. The selected river is the largest near a position, given as fractions of the map's sides; without one,
    /// the river with the largest discharge. The rivers are those drawn on the map, so they may follow droplets. Slopes, χ and
    /// basins are from the terrain's own drainage.
    pub fn of(land: &RiverTerrain, place: Option<[f32; 2]>) -> Self {
        let (terrain, params) = (land.terrain(), land.params());
        let channels = Channels::of(terrain, params.from_cells.into());
        let concavity = channels.concavity();
        let theta = concavity.map_or(USUAL, |fit| fit.value);
        let (mut draining, _) = basins(&channels);
        draining.retain(|basin| basin.area >= channels.from_area);
        let size = (terrain.width(), terrain.height());
        let extent = [size.0, size.1].map(|cells| cells as f64 * channels.cell_size);
        let network = land.network();
        let chosen = match place {
            Some(place) => reach_near(&network, extent, place),
            None => largest(&network),
        };
        let river = chosen.map_or_else(Vec::new, |reach| long_profile(&network, reach, params, theta));
        let heights = channels.chi(theta);
        let rivers: Vec<(usize, usize)> = channels.cells().collect();
        let outlet_heights = channels.outlet_heights();
        let points = rivers.iter().step_by(rivers.len().div_ceil(MOST_POINTS).max(1));
        Self {
            size,
            extent,
            readings: Measures::of(terrain).readings(),
            knickpoints: knickpoints(&river),
            sinuosity: sinuosity(&river),
            river,
            slopes: channels.slopes_by_area(),
            slope_area: channels.slope_area(),
            concavity,
            chi: points
                .map(|&(cell, _)| (heights[cell], f64::from(channels.ground[cell]) - outlet_heights[cell]))
                .collect(),
            softness: terrain.softness.total() / terrain.softness.len().max(1) as f64,
            basins: draining,
            length: network.reaches.iter().map(Reach::length).sum(),
        }
    }

    /// Returns the course of the selected river on the map, as fractions of its sides, from the source to the mouth.
    pub fn course_points(&self) -> impl Iterator<Item = [f32; 2]> + '_ {
        let share = |at: f64, side: f64| (at / side).rem_euclid(1.0) as f32;
        self.river.iter().map(move |point| [share(point.at[0], self.extent[0]), share(point.at[1], self.extent[1])])
    }
}

/// Returns the reach with the largest discharge at its end.
fn largest(network: &RiverNetwork) -> Option<usize> {
    let water = |number: &usize| network.reaches[*number].points.last().map_or(0.0, |mouth| mouth.discharge);
    (0..network.reaches.len()).max_by(|one, other| water(one).total_cmp(&water(other)))
}

/// Returns the reach with the largest discharge near a position, or the nearest one.
fn reach_near(network: &RiverNetwork, extent: [f64; 2], place: [f32; 2]) -> Option<usize> {
    let near = f64::from(NEAR) * extent[0].min(extent[1]);
    let middle = [0, 1].map(|axis| f64::from(place[axis]) * extent[axis]);
    let places = network.reaches.iter().enumerate().flat_map(|(number, reach)| {
        // The final place belongs to the next reach, which has the discharge of both.
        let own = reach.points.len() - usize::from(reach.into.is_some());
        reach.points[..own].iter().map(move |place| {
            let away = libm::hypot(place.at[0] - middle[0], place.at[1] - middle[1]);
            // All places within the radius count as equally near; then the discharge decides.
            (number, away.max(near), place.discharge)
        })
    });
    let chosen = places.min_by(|one, other| one.1.total_cmp(&other.1).then(other.2.total_cmp(&one.2)));
    chosen.map(|(number, ..)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        core::{
            grid::Grid,
            terrain::{Edge, Source, Terrain},
        },
        hydrology::network::{Course, RiverParams},
        params::set,
        simulation::Simulation,
    };

    fn land(terrain: Terrain, from_cells: f32) -> RiverTerrain {
        Simulation::new(terrain, 1).river_terrain(&RiverParams { from_cells, ..RiverParams::default() })
    }

    /// Returns two parallel valleys that run down to the lowest row, the first of which is wider.
    fn valleys() -> Terrain {
        let ground = Grid::from_fn(96, 64, |x, y| {
            let away = if x < 64 { x.abs_diff(32) } else { 2 * x.abs_diff(80) };
            away as f32 + 2.0 * (63 - y) as f32 + 0.01 * (x % 3) as f32
        });
        Terrain::bare(ground, 10.0, Edge::Open)
    }

    #[test]
    fn river_nearest_position_runs_from_source_to_mouth() {
        let land = land(valleys(), 20.0);
        let study = |place| Study::of(&land, place);
        for (place, column) in [(None, 32.0), (Some([0.335, 0.5]), 32.0), (Some([0.84, 0.6]), 80.0)] {
            let found = study(place);
            let mouth = found.river.last().expect("it is a river").at.map(|at| at / 10.0);
            assert!((mouth[0] - column).abs() < 2.0 && mouth[1] > 63.0, "{place:?}: {mouth:?}");
            assert!(found.river[0].at[1] < 200.0, "it begins at {:?}", found.river[0].at);
            assert!(found.river.windows(2).all(|two| two[0].distance > two[1].distance), "{:?}", found.river);
            let [x, y] = found.course_points().last().expect("it has a mouth");
            assert!((x * 96.0 - column as f32).abs() < 2.0 && y > 0.98);
            // Straight down, with the whole basin.
            let sinuosity = found.sinuosity.expect("it has a length");
            assert!((1.0..1.1).contains(&sinuosity), "{sinuosity}");
            let (source, mouth) = (found.river[0], found.river[found.river.len() - 1]);
            assert!(mouth.area > 10.0 * source.area && mouth.chi == 0.0 && source.chi > 0.0);
        }
        let found = study(None);
        assert!(found.basins[0].area >= found.basins[1].area && found.length > 600.0);
        let mouth = found.river.last().expect("it is a river");
        assert!((mouth.area / found.basins[0].area - 1.0).abs() < 1e-3, "{} of {}", mouth.area, found.basins[0].area);
    }

    #[test]
    fn study_measures_sinuosity_and_unwraps_periodic_rivers() {
        // A trench that swings by 12 cells to both sides, and one that wraps around the map from row 40 to row 30.
        let swing = |y: usize| 32.0 + 12.0 * libm::sinf(y as f32 * 0.2);
        let winding = Grid::from_fn(64, 96, |x, y| 2.0 * (x as f32 - swing(y)).abs() + 0.5 * (95 - y) as f32);
        let found = Study::of(&land(Terrain::bare(winding, 5.0, Edge::Open), 100.0), None);
        // Arc length of the sine wave divided by its length: the mean of √(1 + 5.76·cos²).
        let sinuosity = found.sinuosity.expect("it has a length");
        assert!((1.6..2.05).contains(&sinuosity), "{sinuosity}");
        let round = Grid::from_fn(60, 48, |x, y| {
            let from = (x + 40) % 60;
            let middle = 40.0 - from as f32 / 6.0;
            3.0 * (y as f32 - middle).abs() + 0.4 * (59 - from) as f32 + if from == 0 { 30.0 } else { 0.0 }
        });
        let found = Study::of(&land(Terrain::bare(round, 5.0, Edge::Wrap), 50.0), None);
        let jumps =
            found.river.windows(2).map(|two| libm::hypot(two[1].at[0] - two[0].at[0], two[1].at[1] - two[0].at[1]));
        assert!(found.river.len() > 40 && jumps.fold(0.0, f64::max) < 12.0, "{:?}", found.river);
        assert!(found.course_points().all(|[x, y]| (0.0..1.0).contains(&x) && (0.0..1.0).contains(&y)));
        assert!(found.river.iter().any(|point| point.at[0] > 300.0), "none beyond the side");
    }

    #[test]
    fn study_follows_droplet_course_when_selected() {
        // The terrain drains to the left valley, while a spring feeds droplets in the right one.
        let mut terrain = valleys();
        terrain.sources = vec![Source { place: [0.84, 0.1], radius: 0.0, rate: 2.0, ticks: Some((0, 100)) }];
        let mut run = Simulation::new(terrain, 1);
        for (name, value) in [("springs", "true"), ("rain_rate", "0"), ("entrainment", "0.1")] {
            set(&mut run.groups_mut(), &format!("droplets.{name}"), value).expect("in range");
        }
        run.slot_mut("droplets").expect("it is in the catalogue").enabled = true;
        (0..20).for_each(|_| run.tick());
        let rivers = |course| RiverParams { course, from_cells: 20.0, ..RiverParams::default() };
        let mouth = |course| {
            let found = Study::of(&run.river_terrain(&rivers(course)), None);
            let mouth = *found.river.last().expect("it is a river");
            (mouth.at[0] / 10.0, mouth.discharge)
        };
        let (land, led) = (mouth(Course::Land), mouth(Course::Droplets));
        assert!((land.0 - 32.0).abs() < 3.0 && (led.0 - 80.0).abs() < 4.0, "{land:?} {led:?}");
        assert!((1.4..2.4).contains(&led.1), "{} m³/s of 2", led.1);
    }

    #[test]
    fn study_supports_degenerate_maps() {
        for (width, height) in [(1, 1), (1, 40), (33, 2)] {
            let terrain = Terrain::bare(Grid::filled(width, height, 1.0), 1.0, Edge::Wall);
            let found = Study::of(&land(terrain, 1.0), Some([1.0, 0.0]));
            assert_eq!(found.course_points().count(), found.river.len(), "{width} x {height}");
        }
        let none = Study::of(&land(Terrain::bare(Grid::filled(8, 8, 1.0), 1.0, Edge::Open), 50_000.0), None);
        assert!(none.river.is_empty() && none.sinuosity.is_none() && none.knickpoints.is_empty());
    }
}
