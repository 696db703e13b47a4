//! Map divided into square tiles: their cells, changes per tile, sets of cells, and tile caches filled on demand.

use std::{
    cell::UnsafeCell,
    ops::Range,
    sync::atomic::{AtomicU8, Ordering},
};

use bytemuck::{Zeroable, allocation::zeroed_vec};

/// Side of a tile, in cells: a row fills a vector register.
pub const SIDE: usize = 8;
/// Cells per tile.
pub const CELLS: usize = SIDE * SIDE;

/// Division of a map into tiles, numbered row by row. The last ones of a row and the last row may extend beyond the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tiling {
    width: usize,
    height: usize,
    across: usize,
}

impl Tiling {
    /// Creates the tiling of a map.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, across: width.div_ceil(SIDE) }
    }

    /// Returns the number of columns of the map.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows of the map.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the number of tiles in a row of tiles.
    pub fn across(&self) -> usize {
        self.across
    }

    /// Returns the number of tiles.
    pub fn count(&self) -> usize {
        self.across * self.height.div_ceil(SIDE)
    }

    /// Returns the tile of a cell.
    #[inline(always)]
    pub fn of(&self, x: usize, y: usize) -> usize {
        y / SIDE * self.across + x / SIDE
    }

    /// Returns the columns and rows of a tile on the map.
    pub fn cells(&self, tile: usize) -> [Range<usize>; 2] {
        let (x, y) = (tile % self.across * SIDE, tile / self.across * SIDE);
        [x..(x + SIDE).min(self.width), y..(y + SIDE).min(self.height)]
    }

    /// Returns the tiles that overlap these columns and rows of the map, in order.
    pub fn within(&self, columns: Range<usize>, rows: Range<usize>) -> Vec<usize> {
        let tiles = |cells: Range<usize>, count: usize| cells.start / SIDE..cells.end.min(count).div_ceil(SIDE);
        let (columns, bands) = (tiles(columns, self.width), tiles(rows, self.height));
        bands.flat_map(|band| columns.clone().map(move |column| band * self.across + column)).collect()
    }

    /// Returns those of `tiles`, given in order, that lie in row `band` of tiles.
    pub fn in_band<'a>(&self, tiles: &'a [usize], band: usize) -> &'a [usize] {
        let [first, last] = [band, band + 1].map(|band| tiles.partition_point(|tile| *tile < band * self.across));
        &tiles[first..last]
    }

    /// Returns `tiles`, given in order, and the eight neighbours of each, in order.
    pub fn with_neighbours(&self, tiles: &[usize]) -> Vec<usize> {
        let mut rows: Vec<usize> = Vec::with_capacity(2 * tiles.len() + 2);
        for &tile in tiles {
            let column = tile % self.across;
            let first = if column == 0 { tile } else { tile - 1 };
            let last = if column + 1 == self.across { tile } else { tile + 1 };
            let next = rows.last().map_or(0, |last| last + 1);
            rows.extend(first.max(next)..=last);
        }
        let above = rows.iter().filter_map(|tile| tile.checked_sub(self.across));
        let below = rows.iter().map(|tile| tile + self.across).filter(|tile| *tile < self.count());
        merge_sorted(merge_sorted(above, rows.iter().copied()), below).collect()
    }
}

/// Number of the last change of each tile of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileChanges {
    /// Last change that may affect any tile.
    everywhere: u64,
    /// Last local change of each tile; empty before the first.
    tiles: Vec<u64>,
}

impl TileChanges {
    /// Records a change that may affect any tile.
    #[inline(always)]
    pub fn everywhere(&mut self, change: u64) {
        self.everywhere = change;
    }

    /// Records a change limited to `tiles`.
    pub fn within(&mut self, change: u64, tiling: Tiling, tiles: &[usize]) {
        self.tiles.resize(tiling.count(), 0);
        tiles.iter().for_each(|&tile| self.tiles[tile] = change);
    }

    /// Returns the tiles changed after a change, in order; `None` if all may have changed.
    pub fn since(&self, change: u64) -> Option<impl Iterator<Item = usize> + '_> {
        let marks = self.tiles.iter().enumerate();
        (self.everywhere <= change).then(|| marks.filter(move |(_, mark)| **mark > change).map(|(tile, _)| tile))
    }
}

/// Merges two sorted sequences without duplicates.
fn merge_sorted(one: impl Iterator<Item = usize>, other: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || {
        let next = match (one.peek(), other.peek()) {
            (Some(&one), Some(&other)) => one.min(other),
            (next, None) | (None, next) => *next?,
        };
        one.next_if_eq(&next);
        other.next_if_eq(&next);
        Some(next)
    })
}

/// Set of cells, as a bit mask per tile: row by row, from the lowest bit.
#[derive(Clone, Debug, Default)]
pub struct CellSet {
    tiling: Tiling,
    masks: Vec<u64>,
    /// Non-empty tiles.
    tiles: Vec<usize>,
}

impl CellSet {
    /// Removes all cells and adopts a tiling.
    pub fn clear(&mut self, tiling: Tiling) {
        self.tiles.drain(..).for_each(|tile| self.masks[tile] = 0);
        self.tiling = tiling;
        self.masks.resize(tiling.count(), 0);
    }

    /// Adds cells of a tile, given as a bit mask.
    #[inline]
    pub fn insert_in(&mut self, tile: usize, cells: u64) {
        let mask = &mut self.masks[tile];
        if *mask == 0 && cells != 0 {
            self.tiles.push(tile);
        }
        *mask |= cells;
    }

    /// Returns the non-empty tiles, in order.
    pub fn tiles(&mut self) -> &[usize] {
        self.tiles.sort_unstable();
        &self.tiles
    }

    /// Returns the bit mask of a tile.
    pub fn cells(&self, tile: usize) -> u64 {
        self.masks[tile]
    }

    /// Adds the eight neighbours of each cell.
    pub fn grow(&mut self) {
        const ROW: u64 = (1 << SIDE) - 1;
        const COLUMN: u64 = u64::MAX / ROW;
        let last = SIDE - 1;
        let cells: Vec<(usize, u64)> = self.tiles.iter().map(|&tile| (tile, self.masks[tile])).collect();
        for (tile, mask) in cells {
            let (column, across) = (tile % self.tiling.across, self.tiling.across);
            let left = (mask & COLUMN) << last;
            let right = (mask >> last) & COLUMN;
            let wide = mask | (mask >> 1 & !(COLUMN << last)) | (mask << 1 & !COLUMN);
            let beside = [(column > 0).then_some((tile.wrapping_sub(1), left)), Some((tile, wide))];
            let beside = beside.into_iter().chain([(column + 1 < across).then_some((tile + 1, right))]);
            for (tile, mask) in beside.flatten() {
                self.insert_in(tile, mask | mask << SIDE | mask >> SIDE);
                if let Some(above) = tile.checked_sub(across) {
                    self.insert_in(above, mask << (CELLS - SIDE));
                }
                if tile + across < self.tiling.count() {
                    self.insert_in(tile + across, mask >> (CELLS - SIDE));
                }
            }
        }
    }
}

/// Cache of the tiles of a map, each filled on first use, concurrently by several threads.
#[derive(Debug)]
pub struct TileCache<T> {
    tiling: Tiling,
    tiles: Vec<UnsafeCell<T>>,
    states: Vec<AtomicU8>,
}

/// States of a tile.
const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const FILLED: u8 = 2;
/// The tile and its neighbours are filled.
const SURROUNDED: u8 = 3;

// SAFETY: only the thread that sets a tile to `BUSY` fills it, and it is read only once it is filled. All other access goes through
// `pointer`, whose callers guarantee the rest.
unsafe impl<T: Send + Sync> Sync for TileCache<T> {}

impl<T> Default for TileCache<T> {
    fn default() -> Self {
        Self { tiling: Tiling::default(), tiles: Vec::new(), states: Vec::new() }
    }
}

impl<T> Clone for TileCache<T> {
    /// Returns an empty cache, to be filled again.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T: Zeroable> TileCache<T> {
    /// Resets the cache if the tiling differs.
    pub fn begin(&mut self, tiling: Tiling) {
        if self.tiling != tiling {
            let states = (0..tiling.count()).map(|_| AtomicU8::new(EMPTY)).collect();
            // Zeroed memory costs nothing until it is written.
            *self = Self { tiling, tiles: zeroed_cells(tiling.count()), states };
        }
    }

    /// Returns a copy with all filled tiles, unlike [`Clone`].
    ///
    /// # Safety
    /// No thread may write a tile meanwhile.
    pub unsafe fn copied(&self) -> Self
    where
        T: Copy,
    {
        let mut copy = Self::default();
        copy.begin(self.tiling);
        for tile in self.filled() {
            // SAFETY: it is filled, and the caller guarantees that no thread writes it.
            *copy.tile(tile) = unsafe { *self.tiles[tile].get() };
            *copy.states[tile].get_mut() = FILLED;
        }
        copy
    }

    /// Marks all tiles as empty.
    pub fn clear(&mut self) {
        self.states.iter_mut().for_each(|state| *state.get_mut() = EMPTY);
    }

    /// Returns the tiling.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Returns `true` if a tile is filled.
    #[inline(always)]
    pub fn is_filled(&self, tile: usize) -> bool {
        self.states[tile].load(Ordering::Acquire) >= FILLED
    }

    /// Returns `true` if [`Self::mark_surrounded`] has been called for a tile.
    #[inline(always)]
    pub fn is_surrounded(&self, tile: usize) -> bool {
        self.states[tile].load(Ordering::Acquire) == SURROUNDED
    }

    /// Marks a tile and its neighbours as filled.
    pub fn mark_surrounded(&self, tile: usize) {
        self.states[tile].store(SURROUNDED, Ordering::Release);
    }

    /// Fills an empty tile, or waits for the thread that does. All threads must fill it with the same contents.
    #[cold]
    pub fn fill(&self, tile: usize, fill: impl FnOnce(&mut T)) {
        let state = &self.states[tile];
        if state.compare_exchange(EMPTY, BUSY, Ordering::Acquire, Ordering::Acquire).is_ok() {
            // SAFETY: only the thread that made the exchange gets here, and no thread reads the tile before it is filled.
            fill(unsafe { &mut *self.tiles[tile].get() });
            state.store(FILLED, Ordering::Release);
        }
        while !self.is_filled(tile) {
            std::hint::spin_loop();
        }
    }

    /// Returns the filled tiles, in order.
    pub fn filled(&self) -> Vec<usize> {
        (0..self.states.len()).filter(|&tile| self.is_filled(tile)).collect()
    }

    /// Returns the address of the first tile; the others follow it. The caller must guarantee that a tile is filled, and that no
    /// thread writes one while another uses it.
    #[inline(always)]
    pub fn pointer(&self) -> *mut T {
        UnsafeCell::raw_get(self.tiles.as_ptr())
    }

    /// Returns a tile for changes.
    pub fn tile(&mut self, tile: usize) -> &mut T {
        self.tiles[tile].get_mut()
    }
}

/// Allocates zeroed tiles.
fn zeroed_cells<T: Zeroable>(count: usize) -> Vec<UnsafeCell<T>> {
    let tiles = std::mem::ManuallyDrop::new(zeroed_vec::<T>(count));
    // SAFETY: `UnsafeCell<T>` has the layout of `T`, and the original vector does not free its memory.
    unsafe { Vec::from_raw_parts(tiles.as_ptr().cast_mut().cast(), tiles.len(), tiles.capacity()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_partition_map() {
        let tiling = Tiling::new(37, 50);
        let mut cells = vec![0; 37 * 50];
        for tile in 0..tiling.count() {
            let [columns, rows] = tiling.cells(tile);
            for (x, y) in rows.flat_map(|y| columns.clone().map(move |x| (x, y))) {
                assert_eq!(tiling.of(x, y), tile);
                cells[y * 37 + x] += 1;
            }
        }
        assert!(cells.iter().all(|count| *count == 1));
        assert_eq!(tiling.with_neighbours(&[0, 12]), [0, 1, 5, 6, 7, 8, 11, 12, 13, 16, 17, 18]);
    }

    #[test]
    fn cell_set_contains_inserted_cells_and_grows_by_one_ring() {
        let (width, height) = (37, 50);
        let mut set = CellSet::default();
        for cells in [vec![(0, 0)], vec![(8, 8), (9, 8)], vec![(7, 15), (36, 49), (20, 23), (24, 24)]] {
            set.clear(Tiling::new(width, height));
            cells.iter().for_each(|&(x, y)| set.insert_in(set.tiling.of(x, y), 1 << (y % SIDE * SIDE + x % SIDE)));
            let has = |set: &CellSet, x: usize, y: usize| {
                set.cells(set.tiling.of(x, y)) >> (y % SIDE * SIDE + x % SIDE) & 1 == 1
            };
            let near = |x: usize, y: usize, reach: usize| {
                cells.iter().any(|cell| cell.0.abs_diff(x) <= reach && cell.1.abs_diff(y) <= reach)
            };
            for reach in [0, 1] {
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    assert_eq!(has(&set, x, y), near(x, y, reach), "({x}, {y}), {reach} around {cells:?}");
                }
                set.grow();
            }
            assert!(set.tiles().is_sorted());
        }
    }

    #[test]
    fn tile_cache_fills_each_tile_once_until_cleared() {
        let mut cache: TileCache<[f32; CELLS]> = TileCache::default();
        cache.begin(Tiling::new(100, 20));
        for round in 1..4 {
            assert!(cache.filled().is_empty());
            let filled = AtomicU8::new(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for tile in [3, 7, 3, 20] {
                            cache.fill(tile, |cells| {
                                filled.fetch_add(1, Ordering::Relaxed);
                                cells.fill((round * tile) as f32);
                            });
                            assert!(cache.is_filled(tile) && !cache.is_surrounded(tile));
                        }
                    });
                }
            });
            assert_eq!((filled.into_inner(), cache.filled()), (3, vec![3, 7, 20]));
            // SAFETY: the threads have ended.
            let mut copy = unsafe { cache.copied() };
            assert_eq!((copy.filled(), copy.tile(7)[CELLS - 1]), (vec![3, 7, 20], (7 * round) as f32));
            cache.begin(Tiling::new(100, 20));
            cache.mark_surrounded(20);
            cache.fill(20, |_| panic!("it is filled"));
            assert!(cache.is_surrounded(20) && cache.tile(20)[CELLS - 1] == 20.0 * round as f32);
            cache.clear();
        }
    }
}
