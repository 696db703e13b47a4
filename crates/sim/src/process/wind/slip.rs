//! Slip faces: sand slides down the steepest slope until it is at its angle of repose, in any direction.
//!
//! Between two adjacent cells
//!
//! ```text
//! s = |∇h|, from the differences between both and across them           slides: k·Δh·max(0, 1 − tan φ/s)
//! ```
//!
//! so the true slope counts, not that along rows, columns and diagonals, which would let sand stand at 35° between them and at 33° along
//! them. No cell gives more than a quarter of its sand to another. Across an open border only the wind carries sand.
//!
//! The map is divided into tiles. After a round, only tiles in which sand slid and their neighbours are checked again: elsewhere nothing
//! has changed, and nothing slid before.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    core::{
        border::Border,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    process::masked::{Coefficient, MaskedCoefficients},
    simd::{
        cells::{Cells, MAX_LANES, Pass, RowKernel, over_row, with_vector_unit},
        stencil::RowAccumulator,
    },
};

/// Fraction k of the excess that slides in a round, stable up to 1/4.
const SHARE: f32 = 0.24;
/// Side of a tile, in cells.
const SIDE: usize = MAX_LANES;
/// Side of a tile with a margin of one cell.
const WIDE: usize = SIDE + 2;

/// Slides sand in up to `rounds` rounds, fewer if it comes to rest. `lies` is the height difference between cells at repose, which is
/// uniform if `even`. Returns the sand that slid and the actual growth of the layer, in metres times cells.
pub(super) fn slip(terrain: &mut Terrain, lies: MaskedCoefficients<'_, 1>, even: bool, rounds: u32) -> [f64; 2] {
    let border = closed(terrain);
    let Terrain { bedrock, sand, .. } = terrain;
    let tiles = TilePartition::of(border);
    let mut looked_at: Vec<usize> = (0..tiles.across * tiles.down).collect();
    let mut sums = [0.0, 0.0];
    for _ in 0..rounds {
        let ground = SandBed { bedrock, sand, border, lies, even };
        let slid: Vec<TileResult> = looked_at.par_iter().filter_map(|&tile| ground.slide(tile, tiles)).collect();
        if slid.is_empty() {
            break;
        }
        sand.par_chunks_mut(SIDE * border.width).enumerate().for_each(|(band, rows)| {
            let [first, last] =
                [band, band + 1].map(|band| slid.partition_point(|slid| slid.tile < band * tiles.across));
            for TileResult { tile, sand, .. } in &slid[first..last] {
                let columns = tiles.columns(*tile);
                for (row, sand) in rows.chunks_mut(border.width).zip(&**sand) {
                    row[columns.clone()].copy_from_slice(&sand[..columns.len()]);
                }
            }
        });
        sums = slid.iter().fold(sums, |[all, grown], slid| [all + slid.sum, grown + slid.grown]);
        looked_at = tiles.around(slid.iter().map(|slid| slid.tile));
    }
    sums
}

/// Returns the border for sliding sand, which does not cross an open one.
fn closed(terrain: &Terrain) -> Border {
    let border = Border::of(terrain);
    Border { edge: if border.edge == Edge::Open { Edge::Wall } else { border.edge }, ..border }
}

/// Adds the sand withheld by rounding, in metres times cells, to a cell with sand, or removes an excess there. Returns the remainder,
/// less than the last digit. The search starts at a different cell in every tick.
pub(super) fn restore_withheld_sand(sand: &mut Grid, owed: f64, tick: u64) -> f64 {
    let first = (tick.wrapping_mul(0x9e37_79b9_7f4a_7c15) % sand.len() as u64) as usize;
    let mut owed = owed;
    for index in (first..sand.len()).chain(0..first) {
        if sand[index] <= 0.0 {
            continue;
        }
        let exact = f64::from(sand[index]) + owed;
        sand[index] = (exact as f32).max(0.0);
        owed = exact - f64::from(sand[index]);
        if sand[index] > 0.0 {
            break;
        }
    }
    owed
}

/// Division of the map into tiles, numbered row by row.
#[derive(Clone, Copy)]
struct TilePartition {
    border: Border,
    across: usize,
    down: usize,
}

impl TilePartition {
    fn of(border: Border) -> Self {
        Self { border, across: border.width.div_ceil(SIDE), down: border.height.div_ceil(SIDE) }
    }

    fn columns(&self, tile: usize) -> Range<usize> {
        let first = tile % self.across * SIDE;
        first..(first + SIDE).min(self.border.width)
    }

    fn rows(&self, tile: usize) -> Range<usize> {
        let first = tile / self.across * SIDE;
        first..(first + SIDE).min(self.border.height)
    }

    /// Returns these tiles and those around each, in order.
    fn around(&self, tiles: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut near = vec![false; self.across * self.down];
        let beside =
            |place: usize, count: usize| [-1, 0, 1].map(|step| self.border.edge.nearest(place as isize + step, count));
        for tile in tiles {
            for row in beside(tile / self.across, self.down) {
                beside(tile % self.across, self.across)
                    .iter()
                    .for_each(|column| near[row * self.across + column] = true);
            }
        }
        (0..near.len()).filter(|&tile| near[tile]).collect()
    }
}

/// Result of a round in a tile that changed.
struct TileResult {
    tile: usize,
    /// Sand of the tile after the round.
    sand: Box<[[f32; SIDE]; SIDE]>,
    sum: f64,
    grown: f64,
}

/// Layers of sliding sand, and the height difference at repose.
#[derive(Clone, Copy)]
struct SandBed<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    border: Border,
    lies: MaskedCoefficients<'a, 1>,
    even: bool,
}

impl SandBed<'_> {
    /// Slides sand in a tile for a round. Returns `None` if nothing changed.
    fn slide(&self, tile: usize, tiles: TilePartition) -> Option<TileResult> {
        let Border { width, height, edge } = self.border;
        let (columns, rows) = (tiles.columns(tile), tiles.rows(tile));
        let place = TileSize { columns: columns.len(), rows: rows.len() };
        let [mut ground, mut sand, mut lies] = [[[0.0; WIDE]; WIDE]; 3];
        for (line, y) in (rows.start as isize - 1..=rows.end as isize).enumerate() {
            let y = edge.nearest(y, height);
            let row = y * width..(y + 1) * width;
            let (bedrock, layer) = (&self.bedrock[row.clone()], &self.sand[row]);
            let (ground, sand) = (&mut ground[line], &mut sand[line]);
            if columns.start > 0 && columns.start + SIDE < width {
                let near = columns.start - 1..columns.start - 1 + WIDE;
                sand.copy_from_slice(&layer[near.clone()]);
                let rock = bedrock[near].iter().zip(&*sand);
                ground.iter_mut().zip(rock).for_each(|(ground, (rock, sand))| *ground = rock + sand);
            } else {
                let cells = ground.iter_mut().zip(sand).take(columns.len() + 2);
                for (column, (ground, sand)) in cells.enumerate() {
                    let x = edge.nearest((columns.start + column) as isize - 1, width);
                    (*ground, *sand) = (bedrock[x] + layer[x], layer[x]);
                }
            }
            if !self.even {
                for (column, lies) in lies[line][..columns.len() + 2].iter_mut().enumerate() {
                    let x = edge.nearest((columns.start + column) as isize - 1, width);
                    [*lies] = self.lies.at(x, y);
                }
            }
        }
        let [even] = self.lies.at(0, 0);
        let slid = if self.even {
            with_vector_unit(SlipSweep { place, ground: &ground, sand: &sand, lies: [even; WIDE] })
        } else {
            with_vector_unit(SlipSweep {
                place,
                ground: &ground,
                sand: &sand,
                lies: lies.each_ref().map(|row| &row[..]),
            })
        };
        slid.map(|(sand, [sum, grown])| TileResult { tile, sand, sum, grown })
    }
}

/// Number of columns and rows of a tile.
#[derive(Clone, Copy)]
struct TileSize {
    columns: usize,
    rows: usize,
}

/// Round in a tile. All layers have a margin of one cell around the tile.
struct SlipSweep<'a, N> {
    place: TileSize,
    ground: &'a [[f32; WIDE]; WIDE],
    sand: &'a [[f32; WIDE]; WIDE],
    lies: [N; WIDE],
}

impl<N: Coefficient> Pass for SlipSweep<'_, N> {
    type Output = Option<(Box<[[f32; SIDE]; SIDE]>, [f64; 2])>;

    #[inline(always)]
    fn run<V: Cells>(self) -> Self::Output {
        let Self { place: TileSize { columns, rows }, ground, sand, lies } = self;
        let mut out = [[0.0; SIDE]; SIDE];
        let (mut slid, mut slides) = (RowAccumulator::default(), false);
        for (y, out) in out.iter_mut().enumerate().take(rows) {
            let lies = [lies[y], lies[y + 1], lies[y + 2]];
            let [ground, sand] = [ground, sand].map(|layer| [&layer[y][..], &layer[y + 1][..], &layer[y + 2][..]]);
            let row = SlipRow { lies, ground, sand, out, slid: &mut slid, slides: &mut slides };
            over_row::<V>(columns, row);
            slid.end_row(slides);
        }
        if !slides {
            return None;
        }
        // The tile may change only by sand from other tiles.
        let (mut grown, mut changes) = ([0.0; SIDE], false);
        for (new, old) in out.iter().zip(&sand[1..]).take(rows) {
            for (grown, (&new, &old)) in grown.iter_mut().zip(new.iter().zip(&old[1..])).take(columns) {
                *grown += f64::from(new) - f64::from(old);
                changes |= new != old;
            }
        }
        let grown = grown.iter().sum();
        changes.then(|| (Box::new(out), [slid.total(), grown]))
    }
}

struct SlipRow<'a, N> {
    /// In the rows above, here and below, like the next two fields.
    lies: [N; 3],
    ground: [&'a [f32]; 3],
    sand: [&'a [f32]; 3],
    out: &'a mut [f32],
    slid: &'a mut RowAccumulator,
    /// Set to `true` if anything slides in the row.
    slides: &'a mut bool,
}

impl<N: Coefficient> SlipRow<'_, N> {
    /// Returns the fall from one surrounding cell to another.
    #[inline(always)]
    fn falls<V: Cells>(&self, from: [usize; 2], to: [usize; 2], x: usize) -> V {
        V::load(self.ground[from[0]], x + from[1]) - V::load(self.ground[to[0]], x + to[1])
    }

    /// Returns the fall to an adjacent cell and the square of the slope between them, as height differences between cells.
    #[inline(always)]
    fn slope<V: Cells>(&self, [row, column]: [usize; 2], x: usize) -> [V; 2] {
        let falls = self.falls::<V>([1, 1], [row, column], x);
        let (across, own) = if row == 1 {
            (self.falls::<V>([0, column], [2, column], x), self.falls::<V>([0, 1], [2, 1], x))
        } else {
            (self.falls::<V>([row, 0], [row, 2], x), self.falls::<V>([1, 0], [1, 2], x))
        };
        // The mean of squares: of two parallel slopes, the steeper one slides.
        [falls, falls * falls + V::all(0.125) * (across * across + own * own)]
    }
}

const BESIDE: [[usize; 2]; 4] = [[1, 0], [1, 2], [0, 1], [2, 1]];

impl<N: Coefficient> RowKernel for SlipRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let own: V = self.lies[1].at(x + 1);
        let mut slopes = [[zero; 2]; 4];
        let mut steepest = zero;
        let mut gentlest = own;
        for (slope, place) in slopes.iter_mut().zip(BESIDE) {
            *slope = self.slope(place, x);
            steepest = steepest.max(slope[1]);
            gentlest = gentlest.min(self.lies[place[0]].at(x + place[1]));
        }
        let sand = V::load(self.sand[1], x + 1);
        if !steepest.any_above(gentlest * gentlest) {
            sand.store(self.out, x);
            return;
        }
        *self.slides = true;
        let mut change = [zero; 4];
        for ((change, place), [falls, square]) in change.iter_mut().zip(BESIDE).zip(slopes) {
            // The angle and the sand are those of the cell that gives.
            let other: V = self.lies[place[0]].at(x + place[1]);
            let giver = V::load(self.sand[place[0]], x + place[1]);
            let (lies, most) = (falls.if_above(zero, own, other), falls.if_above(zero, sand, giver));
            let steeper = one - lies / square.sqrt().max(V::all(f32::MIN_POSITIVE));
            let slides = V::all(SHARE) * (falls.max(-falls) * steeper.positive()).min(most);
            *change = falls.if_above(zero, -slides, slides);
        }
        // Opposite neighbours are paired for symmetry.
        let comes = (change[0] + change[1]) + (change[2] + change[3]);
        (sand + comes).positive().store(self.out, x);
        let goes = (change[0].min(zero) + change[1].min(zero)) + (change[2].min(zero) + change[3].min(zero));
        self.slid.add(x, -goes);
    }
}
