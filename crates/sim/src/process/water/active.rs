//! Active parts of a strip, where fluid may flow in a step: near fluid and beside a sea beyond the border, or everywhere if it rains. Dry
//! terrain is only scanned.

use std::ops::Range;

use super::{
    OpenBoundary, StepRain,
    friction::{MARGIN, X, Y},
    surface::{SUSPENDED, WATER},
};
use crate::{
    core::{border::Border, terrain::Edge},
    simd::{
        cells::{Cells, RowKernel, over_row},
        strip::Strip,
    },
};

/// Number of cells of a row that are active or skipped together. A step reaches less far than a full block.
const BLOCK: usize = 64;

/// Active blocks of the rows of a strip and of those around it.
pub(super) struct Active {
    border: Border,
    /// First row.
    first: isize,
    /// Spans of active cells of each row, or one list for all.
    rows: Vec<Vec<Range<usize>>>,
}

impl Active {
    /// Creates a set in which every cell is active.
    pub fn everywhere(border: Border) -> Self {
        Self { border, first: 0, rows: vec![vec![0..border.width]] }
    }

    /// Finds the active blocks from the fluid and the fluxes of a strip.
    #[inline(always)]
    pub fn find<V: Cells>(
        layers: &Strip<'_, 4>,
        faces: &Strip<'_, 2>,
        rain: &StepRain<'_>,
        beyond: &OpenBoundary<'_>,
    ) -> Self {
        let (border, near) = (layers.border(), layers.reach(MARGIN as isize));
        let Border { width, height, edge } = border;
        // There may be a sea beyond an open border.
        let is_sea = |x: usize, y: isize| edge == Edge::Open && beyond.at(y as usize * width + x).1 > 0.0;
        if rain.is_falling() {
            return Self::everywhere(border);
        }
        let blocks = width.div_ceil(BLOCK);
        let mut wet = vec![false; near.clone().count() * blocks];
        for (y, wet) in near.clone().zip(wet.chunks_exact_mut(blocks)) {
            for (block, wet) in wet.iter_mut().enumerate() {
                let (first, count) = (block * BLOCK, BLOCK.min(width - block * BLOCK));
                let rows = [layers.row(WATER, y), layers.row(SUSPENDED, y), faces.row(X, y), faces.row(Y, y)];
                let rows = rows.map(|row| &row[first..][..count]);
                let mut most = [0.0; BLOCK];
                over_row::<V>(count, SizeRow { rows, most: &mut most });
                let mut cells = first..first + count;
                *wet = most.iter().any(|&most| most > 0.0)
                    || (first == 0 && is_sea(0, y))
                    || (first + count == width && is_sea(width - 1, y))
                    || ((y == 0 || y + 1 == height as isize) && cells.any(|x| is_sea(x, y)));
            }
        }
        let rows = (0..near.clone().count()).map(|row| {
            let around = row.saturating_sub(MARGIN)..(row + MARGIN + 1).min(near.clone().count());
            let is_wet = |block: usize| around.clone().any(|row| wet[row * blocks + block]);
            let mut spans: Vec<Range<usize>> = Vec::new();
            for block in 0..blocks {
                // Rows that wrap continue at the other end. The last block can be narrower than the reach of a step.
                let at_end = edge == Edge::Wrap && (block == 0 || block + 2 >= blocks);
                if at_end || (block.saturating_sub(1)..(block + 2).min(blocks)).any(is_wet) {
                    let (first, end) = (block * BLOCK, ((block + 1) * BLOCK).min(width));
                    match spans.last_mut() {
                        Some(last) if last.end == first => last.end = end,
                        _ => spans.push(first..end),
                    }
                }
            }
            spans
        });
        Self { border, first: near.start, rows: rows.collect() }
    }

    /// Returns `true` if nothing is active.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(Vec::is_empty)
    }

    /// Returns the active cells of row `y`, clamped to the rows of the strip and those around it.
    #[inline(always)]
    pub fn spans(&self, y: isize) -> Spans<'_> {
        let row = (y - self.first).clamp(0, self.rows.len() as isize - 1);
        Spans { spans: &self.rows[row as usize], width: self.border.width }
    }
}

/// Largest of water, sediment and absolute fluxes, for each cell of a block.
struct SizeRow<'a> {
    rows: [&'a [f32]; 4],
    most: &'a mut [f32; BLOCK],
}

impl RowKernel for SizeRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (water, suspended) = (V::load(self.rows[0], x), V::load(self.rows[1], x));
        let (along, down) = (V::load(self.rows[2], x), V::load(self.rows[3], x));
        water.max(suspended).max(along.max(-along).max(down.max(-down))).store(self.most, x);
    }
}

/// Active cells of a row.
#[derive(Clone, Copy)]
pub(super) struct Spans<'a> {
    spans: &'a [Range<usize>],
    width: usize,
}

impl Spans<'_> {
    /// Runs a kernel over the active values of a row with `count` values: one per cell, or one per face, of which there is one more.
    #[inline(always)]
    pub fn run<V: Cells>(self, count: usize, mut kernel: impl RowKernel) {
        for span in self.spans {
            let mut x = span.start;
            let end = if span.end == self.width { count } else { span.end.min(count) };
            if end >= V::COUNT {
                while x <= end - V::COUNT {
                    kernel.cells::<V>(x);
                    x += V::COUNT;
                }
            }
            while x < end {
                kernel.cells::<f32>(x);
                x += 1;
            }
        }
    }

    /// Sets the inactive values of a row to 0.
    #[inline(always)]
    pub fn clear_others(self, row: &mut [f32]) {
        if self.spans.len() == 1 && self.spans[0] == (0..self.width) {
            return;
        }
        let mut from = 0;
        for span in self.spans {
            row[from..span.start].fill(0.0);
            from = if span.end == self.width { row.len() } else { span.end };
        }
        row[from..].fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        core::{
            grid::Grid,
            terrain::{Edge, Source, Terrain},
        },
        process::{
            contract::run_process,
            water::{Params, Water, tests::unaccelerated},
        },
    };

    /// Two lakes, one of them held back by a slope, on otherwise dry ground.
    fn lakes(width: usize, edge: Edge) -> Terrain {
        let ground = |x: f32, y: f32| 0.02 * x + 0.3 * ((x * 0.11).sin() + (y * 0.07).cos());
        let ground = Grid::from_fn(width, 170, |x, y| ground(x as f32, y as f32));
        let mut terrain = Terrain::bare(ground, 1.0, edge);
        let far = |x: usize, y: usize, at: [i32; 2]| (x as i32 - at[0]).pow(2) + (y as i32 - at[1]).pow(2) > 400;
        terrain.water = Grid::from_fn(width, 170, |x, y| match (far(x, y, [200, 60]), far(x, y, [20, 150])) {
            (true, true) => 0.0,
            _ => 1.5,
        });
        terrain.sources.push(Source { place: [0.9, 0.1], radius: 2.0, rate: 3.0, ticks: None });
        terrain
    }

    #[test]
    fn skipping_dry_cells_matches_full_computation_bitwise() {
        for (width, edge) in [(330, Edge::Wall), (330, Edge::Open), (330, Edge::Wrap), (321, Edge::Wrap)] {
            // Rain too light to change any depth, but which falls everywhere.
            let run = |rain_rate: f32| {
                let params = Params { rain_rate, sea_level: 0.1, ..unaccelerated() };
                run_process(Water::with(params), lakes(width, edge), 150)
            };
            let (passed, worked) = (run(0.0), run(1e-30));
            let bits = |grid: &Grid| grid.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&passed.terrain.ground()), bits(&worked.terrain.ground()), "{edge:?}: ground");
            assert_eq!(bits(&passed.terrain.suspended), bits(&worked.terrain.suspended), "{edge:?}: suspended");
            let wet =
                |grid: &Grid| grid.iter().map(|&depth| if depth > 1e-20 { depth } else { 0.0 }).collect::<Vec<_>>();
            assert_eq!(wet(&passed.terrain.water), wet(&worked.terrain.water), "{edge:?}: water");
            let dry = passed.terrain.water.iter().filter(|&&depth| depth == 0.0).count();
            assert!(dry > width * 170 / 4, "{edge:?}: only {dry} dry cells");
        }
    }
}
