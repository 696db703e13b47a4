//! Cells in reach of a dab.

use rayon::prelude::*;

use super::StrokeGrowth;
use crate::core::{
    grid::Grid,
    terrain::{Edge, Terrain},
    tiles::Tiling,
};

/// A row or column in reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    /// Index on the map.
    pub index: usize,
    /// Index on an unbounded map, without wrapping.
    pub place: isize,
    /// Distance from the centre, in cells.
    pub offset: f32,
}

/// Rows and columns in reach of a dab.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Area {
    pub rows: Vec<Segment>,
    pub columns: Vec<Segment>,
}

/// Cell within the brush radius.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellInReach {
    /// Row and column within the area.
    pub row: usize,
    pub column: usize,
    /// Offset from the centre along columns and rows, in cells.
    pub offset: [f32; 2],
    /// Effect of the dab, 0 to 1, reduced by the mask.
    pub weight: f32,
    /// Rise of the ground by the stroke so far, in metres, and the largest weight of its dabs.
    pub grown: f32,
    pub reach: f32,
}

impl Area {
    /// Returns the cells closer to (column, row) than `reach`; on a periodic map, across its border too.
    pub fn new(terrain: &Terrain, place: [f32; 2], reach: f32) -> Self {
        let lines = |axis: usize, count: usize| lines(place[axis], reach, count, terrain.edge);
        Self { rows: lines(1, terrain.height()), columns: lines(0, terrain.width()) }
    }

    /// Returns the numbers of rows and columns of a larger area that precede its own.
    pub fn place_in(&self, around: &Self) -> [usize; 2] {
        let before = |own: &[Segment], around: &[Segment]| {
            let first = own.first().map(|line| line.place);
            around.iter().position(|line| Some(line.place) == first).unwrap_or_default()
        };
        [before(&self.rows, &around.rows), before(&self.columns, &around.columns)]
    }

    /// Changes bedrock and sand of every cell in reach with a positive weight, and adds the change to the stroke's growth. Returns
    /// the growth of the ground, in metres times cells.
    pub fn shape(
        &self,
        terrain: &mut Terrain,
        growth: Option<&mut StrokeGrowth>,
        weigh: impl Fn([f32; 2]) -> f32 + Sync,
        change: impl Fn(CellInReach, &mut f32, &mut f32) + Sync,
    ) -> f64 {
        let width = terrain.width();
        let mask = terrain.mask.as_deref();
        let Some((span, turns)) = self.span() else { return 0.0 };
        let tiles = self.tiles(&terrain.bedrock);
        let (bedrock, sand) = (terrain.bedrock.modify_tiles(&tiles), terrain.sand.modify_tiles(&tiles));
        let cells = span.start * width..span.end * width;
        let growth: Vec<Option<&mut [[f32; 2]]>> = match growth {
            Some(growth) => growth.cells(bedrock.len())[cells.clone()].chunks_mut(width).map(Some).collect(),
            None => span.clone().map(|_| None).collect(),
        };
        let rows = bedrock[cells.clone()].par_chunks_mut(width).zip(sand[cells].par_chunks_mut(width)).zip(&turns);
        // Summed row by row, so that the sum is independent of the threads.
        let grown: Vec<f64> = rows
            .zip(growth)
            .enumerate()
            .map(|(y, (((bedrock, sand), row), mut growth))| {
                let mut grown = 0.0;
                let Some((row, line)) = row.map(|row| (row, self.rows[row])) else { return 0.0 };
                let protected = mask.map(|mask| &mask[(span.start + y) * width..][..width]);
                for (column, over) in self.columns.iter().enumerate() {
                    let offset = [over.offset, line.offset];
                    let weight = weigh(offset) * protected.map_or(1.0, |mask| 1.0 - mask[over.index]);
                    if weight > 0.0 {
                        let (rock, sand) = (&mut bedrock[over.index], &mut sand[over.index]);
                        let before = f64::from(*rock) + f64::from(*sand);
                        let [grown_here, reached] = growth.as_ref().map_or([0.0; 2], |growth| growth[over.index]);
                        let reach = weight.max(reached);
                        change(CellInReach { row, column, offset, weight, grown: grown_here, reach }, rock, sand);
                        let change = f64::from(*rock) + f64::from(*sand) - before;
                        if let Some(growth) = &mut growth {
                            growth[over.index] = [grown_here + change as f32, reach];
                        }
                        grown += change;
                    }
                }
                grown
            })
            .collect();
        grown.iter().sum()
    }

    /// Changes the values of a map in every cell in reach with a positive weight.
    pub fn paint(
        &self,
        map: &mut Grid,
        mask: Option<&Grid>,
        weigh: impl Fn([f32; 2]) -> f32 + Sync,
        change: impl Fn(CellInReach, &mut f32) + Sync,
    ) {
        let width = map.width();
        let Some((span, turns)) = self.span() else { return };
        let cells = span.start * width..span.end * width;
        let tiles = self.tiles(map);
        map.modify_tiles(&tiles)[cells].par_chunks_mut(width).zip(&turns).enumerate().for_each(|(y, (values, row))| {
            let Some((row, line)) = row.map(|row| (row, self.rows[row])) else { return };
            for (column, over) in self.columns.iter().enumerate() {
                let offset = [over.offset, line.offset];
                let held = mask.map_or(1.0, |mask| 1.0 - mask.at(over.index, span.start + y));
                let weight = weigh(offset) * held;
                if weight > 0.0 {
                    change(
                        CellInReach { row, column, offset, weight, grown: 0.0, reach: weight },
                        &mut values[over.index],
                    );
                }
            }
        });
    }

    /// Returns the tiles in reach.
    fn tiles(&self, map: &Grid) -> Vec<usize> {
        let tiling = Tiling::new(map.width(), map.height());
        let lines = |lines: &[Segment], tile: fn(&Tiling, usize) -> usize| {
            let mut tiles: Vec<usize> = lines.iter().map(|line| tile(&tiling, line.index)).collect();
            tiles.sort_unstable();
            tiles.dedup();
            tiles
        };
        let columns = lines(&self.columns, |tiling, x| tiling.of(x, 0));
        let bands = lines(&self.rows, |tiling, y| tiling.of(0, y));
        bands.into_iter().flat_map(|band| columns.iter().map(move |column| band + column)).collect()
    }

    /// Returns the rows of the map between the first and the last in reach, with the index of each within the area.
    fn span(&self) -> Option<(std::ops::Range<usize>, Vec<Option<usize>>)> {
        let first = self.rows.iter().map(|line| line.index).min()?;
        let last = self.rows.iter().map(|line| line.index).max()?;
        let mut turns = vec![None; last + 1 - first];
        self.rows.iter().enumerate().for_each(|(row, line)| turns[line.index - first] = Some(row));
        Some((first..last + 1, turns))
    }
}

fn lines(middle: f32, reach: f32, side: usize, edge: Edge) -> Vec<Segment> {
    let (mut first, mut last) = ((middle - reach).ceil() as isize, (middle + reach).floor() as isize);
    let count = side as isize;
    if edge != Edge::Wrap {
        (first, last) = (first.max(0), last.min(count - 1));
    } else if last - first >= count {
        // Each once, where it is nearest.
        first = (middle - 0.5 * count as f32).ceil() as isize;
        last = first + count - 1;
    }
    (first..=last)
        .map(|place| Segment { index: edge.nearest(place, side), place, offset: place as f32 - middle })
        .collect()
}
