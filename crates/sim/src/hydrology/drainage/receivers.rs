//! Receivers by steepest descent.

use std::ops::Range;

use rayon::prelude::*;

use super::NONE;
use crate::{
    core::{
        border::{Border, DISTANCES, STEPS},
        terrain::Edge,
    },
    simd::{
        cells::{Cells, Pass},
        lanes::with_eight_lanes,
    },
};

/// Length of a diagonal, in cells, where slopes are compared.
#[derive(Clone, Copy, Debug)]
pub enum Diagonal {
    /// √2: plain D8.
    Plain,
    /// 2 − r with r uniform from 0 to 0.96, drawn for each cell and key.
    Random(u64),
}

/// Upper limit of r. Fairfield & Leymarie let it reach 1, which gives flow on a plane the right mean direction. Rivers that incise
/// such ground align a few hundredths of its hillslopes with the diagonals, because diagonal flow runs in narrower strips; with
/// this limit, all directions are equally frequent.
const LARGEST: f32 = 0.96;

impl Diagonal {
    /// Returns the random rank that breaks ties between cells of equal height.
    #[inline(always)]
    pub(super) fn tie_break_rank(self, cell: u32) -> u32 {
        match self {
            Self::Plain => hash_cell(cell, 0),
            Self::Random(key) => hash_cell(cell, key),
        }
    }

    /// Returns r, by which a diagonal is shorter than two cells.
    #[inline(always)]
    pub(super) fn draw(self, cell: u32) -> f32 {
        match self {
            Self::Plain => 2.0 - DISTANCES[1] as f32,
            Self::Random(key) => (hash_cell(cell, key) >> 8) as f32 * (LARGEST / (1 << 24) as f32),
        }
    }
}

/// Hashes a cell and a key: two rounds of multiply and xorshift (Wellons 2018, "lowbias32").
#[inline(always)]
fn hash_cell(cell: u32, key: u64) -> u32 {
    let mut bits = cell ^ key as u32;
    bits = (bits ^ bits >> 16).wrapping_mul(0x7feb_352d);
    bits = (bits ^ bits >> 15).wrapping_mul(0x846c_a68b) ^ (key >> 32) as u32;
    bits = (bits ^ bits >> 16).wrapping_mul(0x7feb_352d);
    bits ^ bits >> 15
}

/// Rows per parallel chunk.
const ROWS: usize = 16;

/// Returns a row of the map, or `None` beyond its border.
pub(super) fn row_of<T>(border: Border, cells: &[T], y: isize) -> Option<&[T]> {
    let y = border.edge.index(y, border.height)?;
    Some(&cells[y * border.width..][..border.width])
}

/// Copies a row with a cell beyond either end.
pub(super) fn pad<T: Copy>(border: Border, row: Option<&[T]>, beyond: T, padded: &mut [T]) {
    match row {
        Some(row) => {
            let (first, last) = (row[0], row[row.len() - 1]);
            padded[1..=row.len()].copy_from_slice(row);
            let wraps = border.edge == Edge::Wrap;
            (padded[0], padded[row.len() + 1]) = if wraps { (last, first) } else { (beyond, beyond) };
        }
        None => padded.fill(beyond),
    }
}

/// Writes the step to the receiver of every cell of these rows; [`NONE`] if no neighbour is lower, and none at the same level has a
/// lower rank.
pub(super) fn find(border: Border, rows: Range<usize>, ground: &[f32], diagonal: Diagonal, to: &mut [u8]) {
    let width = border.width;
    to[rows.start * width..rows.end * width].par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, to)| {
        let mut padded = [(); 3].map(|()| vec![0.0; width + 2]);
        let (mut best, mut step) = (vec![0.0; width], vec![0; width]);
        for (line, to) in to.chunks_mut(width).enumerate() {
            let y = rows.start + chunk * ROWS + line;
            for (padded, dy) in padded.iter_mut().zip([-1, 0, 1]) {
                pad(border, row_of(border, ground, y as isize + dy), f32::INFINITY, padded);
            }
            let first = (y * width) as u32;
            with_eight_lanes(SteepestReceiverRow {
                rows: &padded,
                first,
                diagonal,
                best: &mut best,
                step: &mut step,
                to,
            });
            for (x, to) in to.iter_mut().enumerate().filter(|(_, to)| **to == NONE) {
                *to = on_level(border, ground, diagonal, y * width + x);
            }
        }
    });
}

/// Returns the step to the neighbour at the same level with the lowest rank, if that is below the cell's own.
fn on_level(border: Border, ground: &[f32], diagonal: Diagonal, cell: usize) -> u8 {
    let lot = |cell: usize| (diagonal.tie_break_rank(cell as u32), cell);
    let level = border.neighbours(cell).filter(|&(_, other)| ground[other] == ground[cell]);
    let level = level.map(|(step, other)| (lot(other), step));
    level.min().filter(|&(other, _)| other < lot(cell)).map_or(NONE, |(_, step)| step)
}

/// Pass that finds the receivers of a row.
struct SteepestReceiverRow<'a> {
    rows: &'a [Vec<f32>; 3],
    first: u32,
    diagonal: Diagonal,
    best: &'a mut [f32],
    step: &'a mut [u32],
    to: &'a mut [u8],
}

impl Pass for SteepestReceiverRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { rows, first, diagonal, best, step, to } = self;
        let width = to.len();
        // `best` holds the reciprocal of the length of the diagonal.
        for (x, best) in best.iter_mut().enumerate() {
            *best = 1.0 / (2.0 - diagonal.draw(first + x as u32));
        }
        let here = &rows[1][1..=width];
        let around: [&[f32]; 8] = STEPS.map(|[dx, dy]| &rows[(1 + dy) as usize][(1 + dx) as usize..][..width]);
        for x in 0..width {
            let across = best[x];
            let (mut most, mut direction) = (0.0, u32::from(NONE));
            for (number, row) in around.iter().enumerate() {
                let fall = (here[x] - row[x]) * if number & 1 == 1 { across } else { 1.0 };
                direction = if fall > most { number as u32 } else { direction };
                most = if fall > most { fall } else { most };
            }
            step[x] = direction;
        }
        for (to, &step) in to.iter_mut().zip(step.iter()) {
            *to = step as u8;
        }
    }
}

/// Computes the steps to the donors of the cells of these rows from the steps to receivers.
pub(super) fn find_donors(border: Border, rows: Range<usize>, to: &[u8], from: &mut [u8]) {
    let width = border.width;
    from[rows.start * width..rows.end * width].par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, from)| {
        let mut padded = [(); 3].map(|()| vec![NONE; width + 2]);
        for (line, from) in from.chunks_mut(width).enumerate() {
            let y = (rows.start + chunk * ROWS + line) as isize;
            for (padded, dy) in padded.iter_mut().zip([-1, 0, 1]) {
                pad(border, row_of(border, to, y + dy), NONE, padded);
            }
            from.fill(0);
            for (number, [dx, dy]) in STEPS.iter().enumerate() {
                let row = &padded[(1 + dy) as usize][(1 + dx) as usize..][..width];
                let back = number as u8 ^ 4;
                from.iter_mut().zip(row).for_each(|(from, &to)| *from |= u8::from(to == back) << number);
            }
        }
    });
}
