//! The rivers of a terrain as a person studies them: one of them from its source to its mouth, and all of them together.

use super::{Basin, Channels, Fit, Knickpoint, Measures, Reading, RiverPoint, basins, knickpoints, long_profile};
use crate::sim::terrain::Terrain;

/// Distance from a place within which the largest river is meant, as a share of the map's shorter side.
const NEAR: f32 = 0.02;
/// Points of all rivers together in a plot, at most.
const MOST_POINTS: usize = 1500;
/// The exponent of χ where the land does not tell one.
const USUAL: f64 = 0.4;

/// What is known of a terrain's rivers.
#[derive(Clone, Debug)]
pub struct Study {
    /// Columns and rows of the terrain.
    pub size: (usize, usize),
    /// All measures of the terrain.
    pub readings: Vec<Reading>,
    /// The chosen river from its source to its mouth.
    pub river: Vec<RiverPoint>,
    /// Its knickpoints, as places in the river.
    pub knickpoints: Vec<Knickpoint>,
    /// Areas in square metres and the median slope of rivers in each class of area.
    pub slopes: Vec<(f64, f64)>,
    /// The line through their logarithms.
    pub slope_area: Option<Fit>,
    /// The exponent for which heights of rivers lie best on a line over χ.
    pub concavity: Option<Fit>,
    /// χ of cells of rivers and their heights above their outlets, in metres; not more than a plot can show.
    pub chi: Vec<(f64, f64)>,
    /// The basins that have a river, the largest first.
    pub basins: Vec<Basin>,
    /// Mean softness of the rock.
    pub softness: f64,
    /// Length of all rivers, in metres.
    pub length: f64,
}

impl Study {
    /// Studies a terrain whose rivers begin where the water of so many cells passes. The river is the largest near a place, given
    /// as shares of the map's sides; without one, it is that of the largest basin.
    pub fn of(terrain: &Terrain, cells: f64, place: Option<[f32; 2]>) -> Self {
        let size = (terrain.width(), terrain.height());
        let channels = Channels::of(terrain, cells);
        let concavity = channels.concavity();
        let theta = concavity.map_or(USUAL, |fit| fit.value);
        let (mut draining, _) = basins(&channels);
        let mouth = draining.first().map(|basin| basin.outlet);
        draining.retain(|basin| basin.area >= channels.from_area);
        let chosen = place.and_then(|place| largest_near(&channels, size, place)).or(mouth);
        let river = chosen.map_or_else(Vec::new, |cell| long_profile(&channels, source(&channels, cell), theta));
        let heights = channels.chi(theta);
        let rivers: Vec<(usize, usize)> = channels.cells().collect();
        let foot = channels.feet();
        let points = rivers.iter().step_by(rivers.len().div_ceil(MOST_POINTS).max(1));
        let length = |&(cell, _): &(usize, usize)| channels.drainage.distance(cell) * channels.cell_size;
        Self {
            size,
            readings: Measures::of(terrain).readings(),
            knickpoints: knickpoints(&river, channels.from_area),
            river,
            slopes: channels.slopes_by_area(),
            slope_area: channels.slope_area(),
            concavity,
            chi: points.map(|&(cell, _)| (heights[cell], f64::from(channels.ground[cell]) - foot[cell])).collect(),
            softness: terrain.softness.total() / terrain.softness.len().max(1) as f64,
            basins: draining,
            length: rivers.iter().map(length).sum(),
        }
    }

    /// The way of the chosen river on the map, as shares of its sides, from the source to the mouth.
    pub fn way(&self) -> impl Iterator<Item = [f32; 2]> + '_ {
        let (width, height) = self.size;
        self.river.iter().map(move |point| {
            let (column, row) = (point.cell % width, point.cell / width);
            [(column as f32 + 0.5) / width as f32, (row as f32 + 0.5) / height as f32]
        })
    }
}

/// The cell near a place that drains most.
fn largest_near(channels: &Channels, (width, height): (usize, usize), [x, y]: [f32; 2]) -> Option<usize> {
    let reach = (NEAR * width.min(height) as f32).ceil() as usize;
    let middle =
        |share: f32, count: usize| ((share.clamp(0.0, 1.0) * count as f32) as usize).min(count.saturating_sub(1));
    let (column, row) = (middle(x, width), middle(y, height));
    let columns = column.saturating_sub(reach)..(column + reach + 1).min(width);
    let rows = row.saturating_sub(reach)..(row + reach + 1).min(height);
    let cells = rows.flat_map(|row| columns.clone().map(move |column| row * width + column));
    cells.max_by(|&a, &b| channels.areas[a].total_cmp(&channels.areas[b]))
}

/// Up from a cell to where the river begins: at each confluence on the side that drains more.
fn source(channels: &Channels, from: usize) -> usize {
    let mut larger = vec![u32::MAX; channels.areas.len()];
    for &(cell, receiver) in channels.drainage.order().links() {
        let best = &mut larger[receiver as usize];
        if *best == u32::MAX || channels.areas[cell as usize] > channels.areas[*best as usize] {
            *best = cell;
        }
    }
    let mut cell = from;
    while larger[cell] != u32::MAX {
        cell = larger[cell] as usize;
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{grid::Grid, terrain::Edge};

    /// Two valleys side by side, of which the first is the wider, that run down to the lowest row.
    fn valleys() -> Terrain {
        let ground = Grid::from_fn(96, 64, |x, y| {
            let away = if x < 64 { x.abs_diff(32) } else { 2 * x.abs_diff(80) };
            away as f32 + 2.0 * (63 - y) as f32 + 0.01 * (x % 3) as f32
        });
        Terrain::bare(ground, 10.0, Edge::Open)
    }

    #[test]
    fn the_river_near_a_place_runs_from_its_source_to_its_mouth() {
        let terrain = valleys();
        let study = |place| Study::of(&terrain, 20.0, place);
        for (place, column) in [(None, 32), (Some([0.335, 0.5]), 32), (Some([0.84, 0.6]), 80)] {
            let found = study(place);
            let mouth = found.river.last().expect("it is a river").cell;
            assert!((mouth % 96).abs_diff(column) < 2 && mouth / 96 == 63, "{place:?}: {mouth}");
            assert!(
                found.river[0].cell / 96 < 20 && found.river.windows(2).all(|two| two[0].distance > two[1].distance)
            );
            let [x, y] = found.way().last().expect("it has a mouth");
            assert!((x * 96.0 - column as f32).abs() < 2.0 && y > 0.98);
        }
        assert!(study(None).basins[0].area >= study(None).basins[1].area && study(None).length > 600.0);
    }

    #[test]
    fn every_map_can_be_studied() {
        for (width, height) in [(1, 1), (1, 40), (33, 2)] {
            let terrain = Terrain::bare(Grid::filled(width, height, 1.0), 1.0, Edge::Wall);
            let found = Study::of(&terrain, 1.0, Some([1.0, 0.0]));
            assert!(!found.river.is_empty() && found.way().count() == found.river.len(), "{width} x {height}");
        }
    }
}
