//! Shared terrain: layers over one grid, springs, and the boundary condition.

mod layers;

use bevy_reflect::Reflect;
use serde::{Deserialize, Serialize};

pub use self::layers::{Import, Layer, LayerInfo, Matter, Terrain};
use super::{
    bounds::{self, InvalidInput},
    grid::Grid,
};

/// Boundary condition of a map.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// Closed: nothing crosses, and particles are reflected.
    Wall,
    /// Open: what crosses is counted as outflow. Beyond lies the initial ground of the edge cell.
    #[default]
    Open,
    /// Periodic: what leaves on one side enters on the other.
    Wrap,
}

impl Edge {
    /// Returns the index on a side of `side` cells for one that may lie beyond its ends: wrapped around on a periodic map,
    /// otherwise `None` beyond the ends.
    #[inline(always)]
    pub fn index(self, place: isize, side: usize) -> Option<usize> {
        match (usize::try_from(place), self) {
            (Ok(place), _) if place < side => Some(place),
            (_, Edge::Wrap) => Some(place.rem_euclid(side as isize) as usize),
            _ => None,
        }
    }

    /// Equivalent of [`Self::index`] that returns the nearest index on the side instead of `None`.
    #[inline(always)]
    pub fn nearest(self, place: isize, side: usize) -> usize {
        self.index(place, side).unwrap_or_else(|| place.clamp(0, side as isize - 1) as usize)
    }
}

/// Spring, or drain if the rate is negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Position, as fractions of the map's width and height from its first corner.
    pub place: [f32; 2],
    /// Radius, in metres.
    pub radius: f32,
    /// Rate, in cubic metres per second.
    pub rate: f32,
    /// First tick of activity and the tick at which it ends; always active if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticks: Option<(u64, u64)>,
}

impl Source {
    /// Returns `true` if it is active in a tick.
    pub fn runs(&self, tick: u64) -> bool {
        self.ticks.is_none_or(|(first, end)| (first..end).contains(&tick))
    }

    /// Returns the cells whose centres lie within its radius, or the cell that contains it if there are none.
    pub fn cells(&self, terrain: &Terrain) -> Vec<usize> {
        let (width, height) = (terrain.width(), terrain.height());
        let centre = [self.place[0] * width as f32, self.place[1] * height as f32];
        let reach = self.radius / terrain.cell_size;
        let range = |centre: f32, count: usize| {
            let first = (centre - reach - 1.0).max(0.0) as usize;
            first..((centre + reach + 1.0).max(0.0) as usize + 1).min(count)
        };
        let mut cells = Vec::new();
        for y in range(centre[1], height) {
            for x in range(centre[0], width) {
                let (dx, dy) = (x as f32 + 0.5 - centre[0], y as f32 + 0.5 - centre[1]);
                if dx * dx + dy * dy <= reach * reach {
                    cells.push(y * width + x);
                }
            }
        }
        if cells.is_empty() {
            let nearest = |place: f32, count: usize| (place.max(0.0) as usize).min(count - 1);
            cells.push(nearest(centre[1], height) * width + nearest(centre[0], width));
        }
        cells
    }

    /// Checks that it lies on the map and that its numbers are valid.
    ///
    /// # Errors
    /// The problem and a remedy, in one sentence.
    pub fn check(&self) -> Result<(), InvalidInput> {
        self.place.iter().try_for_each(|&share| bounds::POSITION.check("the position of a spring", share))?;
        bounds::RADIUS.check("the radius of a spring", self.radius)?;
        bounds::RATE.check("the rate of a spring", self.rate)?;
        match self.ticks.filter(|(first, end)| first >= end) {
            None => Ok(()),
            Some((first, end)) => Err(InvalidInput {
                wrong: format!("a spring runs from tick {first} to {end}"),
                right: "the first tick must be before the last".to_owned(),
            }),
        }
    }
}

/// Still water at the start: a rectangle filled to a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// One corner, as fractions of the map's width and height.
    pub from: [f32; 2],
    /// The opposite corner.
    pub to: [f32; 2],
    /// Elevation of its surface, in metres.
    pub level: f32,
}

impl Pool {
    /// Checks that it lies on the map and that its level is valid.
    ///
    /// # Errors
    /// The problem and a remedy, in one sentence.
    pub fn check(&self) -> Result<(), InvalidInput> {
        let corners = self.from.iter().chain(&self.to);
        corners.into_iter().try_for_each(|&share| bounds::POSITION.check("a corner of a pool", share))?;
        bounds::HEIGHT.check("the level of a pool", self.level)
    }
}

impl Terrain {
    /// Creates bare, dry bedrock of neutral softness. Heights and cell size are in metres.
    pub fn bare(heights: Grid, cell_size: f32, edge: Edge) -> Self {
        let size = (heights.width(), heights.height());
        Self::from_layers(size, (cell_size, edge), |layer| match layer {
            Layer::Bedrock | Layer::Start => Some(heights.clone()),
            _ => None,
        })
    }

    /// Applies a change to every layer. Cell size, edge and springs stay.
    pub fn map(&self, change: impl Fn(&Grid) -> Grid) -> Self {
        let changed = |layer| self.layer(layer).map(&change);
        let sources = self.sources.clone();
        Self { sources, ..Self::from_layers((self.width(), self.height()), (self.cell_size, self.edge), changed) }
    }

    /// Returns the layers that it has.
    pub fn layers(&self) -> impl Iterator<Item = (Layer, &Grid)> {
        Layer::ALL.iter().filter_map(|&layer| Some((layer, self.layer(layer)?)))
    }

    /// Returns a copy of a layer, or an empty one if the terrain lacks it.
    pub fn layer_or_empty(&self, layer: Layer) -> Grid {
        let empty = || Grid::filled(self.width(), self.height(), layer.row().empty);
        self.layer(layer).cloned().unwrap_or_else(empty)
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.bedrock.width()
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.bedrock.height()
    }

    /// Returns the area of a cell, in square metres.
    pub fn cell_area(&self) -> f64 {
        f64::from(self.cell_size) * f64::from(self.cell_size)
    }

    /// Returns the elevation of the ground surface, bedrock + sand, in metres.
    pub fn ground(&self) -> Grid {
        let mut ground = self.bedrock.clone();
        ground.iter_mut().zip(self.sand.iter()).for_each(|(ground, sand)| *ground += sand);
        ground
    }

    /// Interpolates the elevation of the ground bilinearly between cell centres, in metres; (0, 0) is the centre of the first cell.
    /// Outside, the nearest edge is used.
    pub fn sample_ground(&self, x: f32, y: f32) -> f32 {
        self.bedrock.sample_bilinear(x, y) + self.sand.sample_bilinear(x, y)
    }

    /// Returns the volume of bedrock, sand and suspended sediment, in cubic metres.
    pub fn solid_volume(&self) -> f64 {
        self.volume(Matter::Solid)
    }

    /// Returns the volume of water on the ground, in cubic metres.
    pub fn water_volume(&self) -> f64 {
        self.volume(Matter::Water)
    }

    fn volume(&self, matter: Matter) -> f64 {
        let layers = self.layers().filter(|(layer, _)| layer.row().matter == matter);
        layers.map(|(_, grid)| grid.total()).sum::<f64>() * self.cell_area()
    }

    /// Fills a pool: ground below its level is flooded up to it.
    pub fn fill(&mut self, pool: &Pool) {
        let (width, height) = (self.width(), self.height());
        let inside = |place: usize, count: usize, axis: usize| {
            let (from, to) = (pool.from[axis].min(pool.to[axis]), pool.from[axis].max(pool.to[axis]));
            (from..to).contains(&((place as f32 + 0.5) / count as f32))
        };
        for y in (0..height).filter(|&y| inside(y, height, 1)) {
            for x in (0..width).filter(|&x| inside(x, width, 0)) {
                let index = y * width + x;
                let depth = (pool.level - (self.bedrock[index] + self.sand[index])).max(0.0);
                self.water[index] = self.water[index].max(depth);
            }
        }
    }

    /// Adds a uniform sheet of sand and makes the result the initial ground. The thickness is in metres.
    pub fn spread_sand(&mut self, thickness: f32) {
        self.sand.iter_mut().for_each(|sand| *sand += thickness);
        self.start = self.ground();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ground_and_solid_volume_sum_bedrock_and_sand() {
        let mut terrain = Terrain::bare(Grid::filled(4, 3, 10.0), 2.0, Edge::Open);
        terrain.spread_sand(0.5);
        assert!(terrain.ground().iter().all(|&ground| ground == 10.5));
        assert_eq!(terrain.solid_volume(), 12.0 * 10.5 * 4.0);
        assert_eq!(terrain.start, terrain.ground());
    }

    #[test]
    fn pool_fills_to_level_and_checks_reject_invalid_input() {
        let mut terrain = Terrain::bare(Grid::from_fn(8, 2, |x, _| x as f32), 1.0, Edge::Wall);
        terrain.fill(&Pool { from: [0.75, 1.0], to: [0.25, 0.0], level: 3.5 });
        assert_eq!(&terrain.water[..8], [0.0, 0.0, 1.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
        assert!(Pool { from: [0.0, 0.0], to: [1.0, 1.0], level: f32::NAN }.check().is_err());
        assert!(Pool { from: [0.0, 0.0], to: [1.5, 1.0], level: 1.0 }.check().is_err());
        assert!(Source { place: [0.5, -0.1], radius: 1.0, rate: 1.0, ticks: None }.check().is_err());
        assert!(Source { place: [0.5, 0.1], radius: 1.0, rate: f32::INFINITY, ticks: None }.check().is_err());
    }
}
