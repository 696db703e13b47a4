//! Flow map: direction and strength of the flow of each cell, for use in an engine.

use rayon::prelude::*;

use super::{RiverRouting, RiverTerrain};
use crate::{
    core::{border::Border, grid::Grid},
    hydrology::HEAVY_RAIN,
};

impl RiverTerrain {
    /// Returns the flow direction of each cell as components to the right and down the map, of length 1 or 0 without flow; and its
    /// discharge relative to the largest, from 0 to 1 on a logarithmic scale.
    pub fn flow_map(&self) -> [Grid; 3] {
        let (width, height) = (self.terrain.width(), self.terrain.height());
        let border = Border::of(&self.terrain);
        // Contribution of one cell.
        let mut least = self.terrain.cell_area();
        let [water, right, down] = match self.streams() {
            Some(streams) => {
                least *= HEAVY_RAIN;
                streams
            }
            None => {
                let rivers = RiverRouting::of(&self.terrain, &self.params);
                let water = Grid::from_values(width, height, rivers.areas.iter().map(|&area| area as f32));
                let directions: Vec<[f32; 2]> = (0..water.len()).map(|cell| rivers.flow_vector(cell)).collect();
                let part = |axis: usize| {
                    let moves = directions.iter().zip(water.iter()).map(|(direction, water)| direction[axis] * water);
                    sum_neighbourhoods(&Grid::from_values(width, height, moves), border)
                };
                let [right, down] = [0, 1].map(part);
                [water, right, down]
            }
        };
        let most = libm::log1p(f64::from(water.min_max().1) / least);
        let strength = |&water: &f32| (libm::log1p(f64::from(water) / least) / most.max(f64::MIN_POSITIVE)) as f32;
        let strength = Grid::from_values(width, height, water.iter().map(strength));
        let long = |cell: usize| (right[cell] * right[cell] + down[cell] * down[cell]).sqrt().max(f32::MIN_POSITIVE);
        let [right, down] = [&right, &down].map(|part| {
            Grid::from_values(width, height, part.iter().enumerate().map(|(cell, part)| part / long(cell)))
        });
        [right, down, strength]
    }
}

impl RiverRouting<'_> {
    /// Returns the direction from a cell to its receiver, as components to the right and down, of length 1; 0 at an outlet.
    fn flow_vector(&self, cell: usize) -> [f32; 2] {
        let Some(next) = self.drainage.receiver(cell) else { return [0.0; 2] };
        let width = self.border.width;
        let step = |from: usize, to: usize| {
            let step = to as isize - from as isize;
            // Across a side of a periodic map.
            if step.abs() > 1 { -step.signum() as f32 } else { step as f32 }
        };
        let displacement = [step(cell % width, next % width), step(cell / width, next / width)];
        let length = (displacement[0] * displacement[0] + displacement[1] * displacement[1]).sqrt();
        displacement.map(|part| part / length)
    }
}

/// Returns the sums over each cell and its eight neighbours, which smooth the eight directions of the grid.
fn sum_neighbourhoods(map: &Grid, border: Border) -> Grid {
    let (width, height) = (map.width(), map.height());
    let mut sums = Grid::filled(width, height, 0.0);
    sums.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        let near = |middle: usize, side: usize| {
            (-1..=1).filter_map(move |step| border.edge.index(middle as isize + step, side))
        };
        for (x, sum) in row.iter_mut().enumerate() {
            *sum = near(y, height).flat_map(|y| near(x, width).map(move |x| (x, y))).map(|(x, y)| map.at(x, y)).sum();
        }
    });
    sums
}
