//! What a wave of grains sees, and what it does to the sand: both with a ring of cells around the map.
//!
//! All grains of a wave see the ground as the last wave left it. What they take and drop is counted in quanta, whole
//! numbers: sums of them don't depend on their order, so every thread counts for itself, and the result is the same for
//! every number of threads.

use rayon::prelude::*;

use crate::{
    core::terrain::Edge,
    simd::cells::{Cells, Places},
};

/// Quanta in a cell size: grains carry sand in whole quanta.
pub const QUANTA: f32 = 16_777_216.0;
/// Cells of the ring on each side.
const RING: usize = 2;
/// Bits of a cell's tally below its change of sand.
pub const BELOW: u32 = 24;
/// A law's own count is two numbers of so many bits each.
pub const COUNT: u32 = BELOW / 2;

/// The ground as a wave sees it.
#[derive(Clone, Default)]
pub struct Field {
    /// Columns of the map.
    pub width: usize,
    /// Rows of the map.
    pub height: usize,
    /// Height of the ground, in the unit of the law.
    pub ground: Vec<f32>,
    /// What else a grain needs to know of a cell, side by side because it needs all of it at once.
    pub cells: Vec<[f32; PARTS]>,
}

/// Numbers of a cell.
pub const PARTS: usize = 4;
/// Sand that the wind can take, in the unit of the law: none under water.
pub const LOOSE: usize = 0;
/// How easily bare rock wears, 1 for rock of neutral softness; 0 where sand or water covers it.
pub const WEAR: usize = 1;
/// How many times as strong as elsewhere the wind blows.
pub const BLOWS: usize = 2;
/// Height of the ground, as in [`Field::ground`].
pub const HEIGHT: usize = 3;

impl Field {
    /// Cells from one row to the next.
    pub fn stride(&self) -> usize {
        self.width + 2 * RING
    }

    /// Number of cells with the ring.
    pub fn count(&self) -> usize {
        self.stride() * (self.height + 2 * RING)
    }

    /// Place of a cell of the map in the field.
    pub fn index(&self, x: usize, y: usize) -> usize {
        (y + RING) * self.stride() + x + RING
    }

    /// Takes on a map's size. What was in the field is of no use then.
    pub fn resize(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.ground.resize(self.count(), 0.0);
        self.cells.resize(self.count(), [0.0; PARTS]);
    }

    /// The cells that places on the map lie in.
    #[inline(always)]
    pub fn cell<V: Cells>(&self, x: V, y: V) -> Places {
        let (ring, stride) = (RING as i32, self.stride() as i32);
        let start = V::all_whole(ring * stride + ring);
        let rows = V::times(V::truncated(y), V::all_whole(stride));
        Places::of::<V>(V::plus(V::plus(rows, V::truncated(x)), start))
    }

    /// Heights of the ground in four cells of a row, from one column before the cell to two after it, so many rows from it.
    ///
    /// # Safety
    /// The cells lie on the map, and the distance is not larger than the ring.
    #[inline(always)]
    pub unsafe fn heights<V: Cells>(&self, cells: &Places, dy: isize) -> [V; 4] {
        let memory = self.ground.as_ptr().wrapping_offset(dy * self.stride() as isize - 1);
        // SAFETY: as promised by the caller.
        unsafe { V::gather_four(memory, cells) }
    }

    /// All numbers of a cell.
    ///
    /// # Safety
    /// The cells lie on the map.
    #[inline(always)]
    pub unsafe fn parts<V: Cells>(&self, cells: &Places) -> [V; PARTS] {
        // SAFETY: as promised by the caller.
        unsafe { V::gather_four(self.cells.as_ptr(), cells) }
    }

    /// A place that may lie a little beyond the border, brought in on the other side.
    #[inline(always)]
    pub fn wrapped<V: Cells>(&self, x: V, y: V) -> (V, V) {
        let bring = |place: V, side: usize| {
            let (zero, side) = (V::all(0.0), V::all(side as f32));
            let place = place.if_positive(place, place + side);
            let place = side.if_above(place, place, place - side);
            // Rounding can leave it on the border itself, and a wild jump beyond.
            let last = V::all(1.0 - 6e-8) * side;
            place.max(zero).min(last)
        };
        (bring(x, self.width), bring(y, self.height))
    }
}

/// Fills a layer with a ring row by row, in parallel, and then the ring.
pub fn fill<T: Copy + Send + Sync>(
    layer: &mut [T],
    width: usize,
    height: usize,
    edge: Edge,
    row: impl Fn(usize, &mut [T]) + Sync,
) {
    let stride = width + 2 * RING;
    layer[RING * stride..(RING + height) * stride].par_chunks_exact_mut(stride).enumerate().for_each(|(y, out)| {
        row(y, &mut out[RING..RING + width]);
        for ring in 1..=RING as isize {
            for beyond in [-ring, width as isize + ring - 1] {
                out[(RING as isize + beyond) as usize] = out[RING + edge.nearest(beyond, width)];
            }
        }
    });
    for ring in 1..=RING as isize {
        for beyond in [-ring, height as isize + ring - 1] {
            let from = (RING + edge.nearest(beyond, height)) * stride;
            layer.copy_within(from..from + stride, (RING as isize + beyond) as usize * stride);
        }
    }
}

/// What one thread's grains did to the sand, cell by cell, with the ring.
#[derive(Clone, Default)]
pub struct Tallies {
    /// The change of sand in quanta, and in the [`BELOW`] lowest bits the law's own counts: how often sand is to slide, and
    /// above that how often grains touched the ground. Should one of these counts run over, a quantum more or less is owed to the
    /// ground like any other rounding.
    pub changes: Vec<i64>,
    /// Rock that turned into sand, in quanta; empty as long as there is none.
    pub worn: Vec<i64>,
    /// Sand that passed on board, in quanta of 2⁸; empty unless the wind is shown.
    pub passed: Vec<i64>,
}

impl Tallies {
    /// Takes on a field's size, with nothing done.
    pub fn resize(&mut self, cells: usize) {
        if self.changes.len() != cells {
            *self = Self { changes: vec![0; cells], ..Self::default() };
        }
    }
}
