//! Ground of the corrected laws: [copies](super::copies) of the tiles that droplets visit, shared by all threads.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::copies::{Copies, ERODIBILITY, GroundTile, LAYERS, SAND, STANDING, SURFACE, TileRow, row_of_tile};
use crate::{
    core::{
        border::Border,
        terrain::{Edge, Terrain},
        tiles::{CELLS, CellSet, SIDE, TileCache, Tiling},
    },
    process::Mode,
    simd::{
        lanes::{LANES, LaneMask, Lanes, prefetch},
        number::Real,
    },
};

/// Positions of eight cells: the tile of each, and its index there, row by row.
#[derive(Clone, Copy)]
pub(super) struct CellPositions {
    pub(super) tiles: [u32; LANES],
    pub(super) cells: [u32; LANES],
}

impl CellPositions {
    /// Returns the tile of a lane's cell, and the cell's index there.
    #[inline(always)]
    pub(super) fn at(&self, lane: usize) -> (usize, usize) {
        (self.tiles[lane] as usize, self.cells[lane] as usize)
    }
}

/// Heights of a tile's cells and of the cells around the tile, row by row.
pub(super) type RimmedHeights = [[f32; RIMMED]; RIMMED];
const RIMMED: usize = SIDE + 2;

/// Size of a tile, and of a row with all layers, in `f32`s.
const NUMBERS: i32 = (size_of::<GroundTile>() / size_of::<f32>()) as i32;
const ROW: i32 = (LAYERS * SIDE) as i32;
const TILE: i32 = SIDE as i32;
/// Size of a cache line, in bytes.
const LINE: usize = 64;

/// The ground that droplets read and change.
pub(super) struct DropletGround<'a> {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) edge: Edge,
    pub(super) cell_size: f32,
    wraps: bool,
    /// `true` if the ground continues with its slope beyond an open border, as in the corrected laws.
    continues: bool,
    /// Deposition does not raise the ground above this height.
    ceiling: f32,
    terrain: &'a Terrain,
    tiles: &'a TileCache<GroundTile>,
    changed: &'a [AtomicU64],
    undercut: &'a [AtomicU64],
    /// Tiles per row of tiles, and the stride from one row of tiles to the next, in `f32`s.
    across: i32,
    stride: i32,
    /// `true` if there is standing water anywhere.
    wet: bool,
}

impl<'a> DropletGround<'a> {
    /// Returns the ground of a terrain on copies that have [begun](Copies::begin) and are borrowed exclusively. Nothing is
    /// deposited above the `highest` ground.
    pub(super) fn new(terrain: &'a Terrain, copies: &'a mut Copies, highest: f32, mode: Mode) -> Self {
        let Copies { tiles, changed, undercut, wet, .. } = &*copies;
        Self {
            wet: wet.is_some_and(|(_, wet)| wet),
            width: terrain.width() as i32,
            height: terrain.height() as i32,
            edge: terrain.edge,
            cell_size: terrain.cell_size,
            wraps: terrain.edge == Edge::Wrap,
            continues: terrain.edge == Edge::Open && mode == Mode::Corrected,
            // Two representable values below it, so that rounding cannot exceed it.
            ceiling: highest.next_down().next_down(),
            terrain,
            across: tiles.tiling().across() as i32,
            stride: tiles.tiling().across() as i32 * NUMBERS,
            tiles,
            changed,
            undercut,
        }
    }

    /// Returns the tiling of the map.
    pub(super) fn tiling(&self) -> Tiling {
        self.tiles.tiling()
    }

    /// Offset of a column's layers; with that of the row, it gives the offset of a cell's bedrock.
    #[inline(always)]
    fn of_column(x: i32) -> i32 {
        (x >> TILE.ilog2()) * NUMBERS + (x & (TILE - 1))
    }

    #[inline(always)]
    fn of_row(&self, y: i32) -> i32 {
        (y >> TILE.ilog2()) * self.stride + (y & (TILE - 1)) * ROW
    }

    /// Returns the column or row for a coordinate that may lie beyond the ends of a side of this length.
    #[inline(always)]
    fn on_side(&self, place: i32, side: i32) -> i32 {
        // No coordinate is beyond by more than the side's length.
        let (before, after) = if self.wraps { (place + side, place - side) } else { (0, side - 1) };
        let inside = if place >= side { after } else { place };
        if place < 0 { before } else { inside }
    }

    /// Returns the positions of cells on the map.
    #[inline(always)]
    pub(super) fn places(&self, columns: [i32; LANES], rows: [i32; LANES]) -> CellPositions {
        let (mut tiles, mut cells) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            tiles[lane] = ((rows[lane] >> TILE.ilog2()) * self.across + (columns[lane] >> TILE.ilog2())) as u32;
            cells[lane] = ((rows[lane] & (TILE - 1)) * TILE + (columns[lane] & (TILE - 1))) as u32;
        }
        CellPositions { tiles, cells }
    }

    /// Prepares the tiles that droplets at these positions read and change: their own and those around.
    ///
    /// # Safety
    /// The positions are on the map.
    #[inline(always)]
    pub(super) unsafe fn prepare(&self, x: Lanes, y: Lanes) {
        // SAFETY: coordinates on the map are small, and the caller promises that these are.
        let (columns, rows) = unsafe { (x.truncated(), y.truncated()) };
        self.prepare_tiles(self.places(columns, rows).tiles);
    }

    /// Prepares these tiles and those around.
    #[inline(always)]
    pub(super) fn prepare_tiles(&self, tiles: [u32; LANES]) {
        let mut ready = true;
        for lane in 0..LANES {
            ready &= self.tiles.is_surrounded(tiles[lane] as usize);
        }
        if !ready {
            self.surround(tiles);
        }
    }

    #[cold]
    #[inline(never)]
    fn surround(&self, tiles: [u32; LANES]) {
        for tile in tiles.map(|tile| tile as usize).into_iter().filter(|tile| !self.tiles.is_surrounded(*tile)) {
            let [columns, rows] = self.tiling().cells(tile);
            let near = |cells: Range<usize>, side: i32| {
                let (first, last) = (cells.start as i32, cells.end as i32 - 1);
                [self.on_side(first - 1, side), first, self.on_side(last + 1, side)].map(|place| place as usize)
            };
            for y in near(rows, self.height) {
                near(columns.clone(), self.width).into_iter().for_each(|x| self.fill(self.tiling().of(x, y)));
            }
            self.tiles.mark_surrounded(tile);
        }
    }

    /// Fills a tile from the layers if it isn't yet.
    #[inline]
    pub(super) fn fill(&self, tile: usize) {
        if self.tiles.is_filled(tile) {
            return;
        }
        let Terrain { bedrock, sand, softness, .. } = self.terrain;
        self.tiles.fill(tile, |filled| {
            let [columns, rows] = self.tiling().cells(tile);
            let (first, count) = (columns.start, columns.len());
            for (row, y) in filled.rows.iter_mut().zip(rows) {
                let cells = y * self.width as usize + first..y * self.width as usize + first + count;
                let [bedrock, sand, softness] =
                    [bedrock, sand, softness].map(|layer| row_of_tile(&layer[cells.clone()]));
                *row = [bedrock, sand, softness + softness, bedrock + sand].map(|Lanes(row)| TileRow(row));
            }
        });
    }

    /// Returns a tile, filling it if necessary.
    pub(super) fn tile(&mut self, tile: usize) -> &mut GroundTile {
        self.fill(tile);
        // SAFETY: the tile is filled, and the mutably borrowed ground has exclusive access to the copies.
        unsafe { &mut *self.tiles.pointer().add(tile) }
    }

    /// Moves the cells marked as undercut into a set, which must be empty.
    pub(super) fn take_undercut(&self, undercut: &mut CellSet) {
        for (tile, cells) in self.undercut.iter().enumerate() {
            let dug = cells.load(Ordering::Relaxed);
            if dug != 0 {
                cells.store(0, Ordering::Relaxed);
                undercut.insert_in(tile, dug);
            }
        }
    }

    /// Marks a cell as undercut. No other thread may do so in its tile.
    #[inline(always)]
    pub(super) fn mark_undercut(&self, (tile, cell): (usize, usize)) {
        let old = self.undercut[tile].load(Ordering::Relaxed);
        self.undercut[tile].store(old | 1 << cell, Ordering::Relaxed);
    }

    /// Returns the tile of a cell on the map, and the cell's index there, row by row.
    #[inline(always)]
    pub(super) fn tile_and_cell(&self, x: i32, y: i32) -> (usize, usize) {
        let tile = (y >> TILE.ilog2()) * self.across + (x >> TILE.ilog2());
        (tile as usize, ((y & (TILE - 1)) * TILE + (x & (TILE - 1))) as usize)
    }

    /// Returns the index of a cell on the map in tile order.
    #[inline(always)]
    pub(super) fn number(&self, [x, y]: [i32; 2]) -> u32 {
        let (tile, cell) = self.tile_and_cell(x, y);
        (tile * CELLS + cell) as u32
    }

    /// Marks cells of a tile as changed. No other thread may change cells of this tile.
    #[inline(always)]
    fn mark_changed(&self, tile: usize, cells: u64) {
        let old = self.changed[tile].load(Ordering::Relaxed);
        self.changed[tile].store(old | cells, Ordering::Relaxed);
    }

    fn mark_cell_changed(&mut self, cell: [i32; 2]) {
        let (tile, row, column) = self.place(cell);
        self.mark_changed(tile, 1 << (row * SIDE + column));
    }

    /// Returns the cell at these coordinates; outside the map, the cell there by the edge rule, or `None`.
    #[inline]
    pub(super) fn cell(&self, x: isize, y: isize) -> Option<[i32; 2]> {
        let (width, height) = (self.width as usize, self.height as usize);
        Some([self.edge.index(x, width)? as i32, self.edge.index(y, height)? as i32])
    }

    /// Returns the layers of a cell.
    fn layers(&mut self, [x, y]: [i32; 2]) -> [&mut f32; LAYERS] {
        let (tile, row, column) = self.place([x, y]);
        self.tile(tile).rows[row].each_mut().map(|layer| &mut layer.0[column])
    }

    /// Returns the tile of a cell, and its row and column there.
    #[inline(always)]
    fn place(&self, cell: [i32; 2]) -> (usize, usize, usize) {
        let [x, y] = cell.map(|place| place as usize);
        (self.tiling().of(x, y), y % SIDE, x % SIDE)
    }

    /// Returns the height of a cell's ground, in metres.
    pub(super) fn height_of(&mut self, cell: [i32; 2]) -> f32 {
        *self.layers(cell)[SURFACE]
    }

    /// Returns the height of a cell's ground before the wave, in metres.
    pub(super) fn height_before(&self, [x, y]: [i32; 2]) -> f32 {
        let cell = (y * self.width + x) as usize;
        self.terrain.bedrock[cell] + self.terrain.sand[cell]
    }

    /// Returns the thickness of a cell's sand, in metres.
    pub(super) fn sand_of(&mut self, cell: [i32; 2]) -> f32 {
        *self.layers(cell)[SAND]
    }

    /// Returns the height of a cell's ground and the thickness of its sand, in metres, and its erodibility (rock lost per unit of
    /// erosion).
    ///
    /// # Safety
    /// No other thread changes its tile during the call.
    #[inline(always)]
    pub(super) unsafe fn read_cell(&self, [x, y]: [i32; 2]) -> [f32; 3] {
        let (tile, cell) = self.tile_and_cell(x, y);
        self.fill(tile);
        // SAFETY: the tile is filled, and no thread changes it, as promised by the caller.
        let row = unsafe { &(*self.tiles.pointer().add(tile)).rows[cell / SIDE] };
        [SURFACE, SAND, ERODIBILITY].map(|layer| row[layer].0[cell % SIDE])
    }

    /// Returns `true` for the outermost cells.
    #[inline(always)]
    fn is_outermost(&self, [x, y]: [i32; 2]) -> bool {
        (x == 0) | (y == 0) | (x == self.width - 1) | (y == self.height - 1)
    }

    /// Returns a mask of the outermost cells beyond which the ground continues with its slope.
    #[inline(always)]
    pub(super) fn outermost(&self, columns: [i32; LANES], rows: [i32; LANES]) -> LaneMask {
        let mut outermost = LaneMask::default();
        if self.continues {
            for lane in 0..LANES {
                outermost.0[lane] = if self.is_outermost([columns[lane], rows[lane]]) { u32::MAX } else { 0 };
            }
        }
        outermost
    }

    /// Returns `true` if a cell is part of the base level: an outlet of an open map, where water left it before the wave. In the
    /// published mode, all outermost cells are.
    pub(super) fn is_held(&self, cell: [i32; 2]) -> bool {
        let [x, y] = cell.map(|place| place as usize);
        let height = |cell: usize| self.terrain.bedrock[cell] + self.terrain.sand[cell];
        let flows_out = || Border::of(self.terrain).flows_out(y * self.width as usize + x, height);
        self.edge == Edge::Open && self.is_outermost(cell) && (!self.continues || flows_out())
    }

    /// Returns the height below which a cell is not eroded: the initial ground of an outlet, −∞ elsewhere.
    pub(super) fn base_level(&self, [x, y]: [i32; 2]) -> f32 {
        if self.is_held([x, y]) { self.terrain.start[(y * self.width + x) as usize] } else { f32::NEG_INFINITY }
    }

    /// Returns `true` if a tile is cut off by the border, or has neighbouring cells that are off the map or keep their height.
    #[inline(always)]
    pub(super) fn is_at_border(&self, tile: usize) -> bool {
        let [columns, rows] = self.tiling().cells(tile);
        let near = |cells: Range<usize>, side: i32| cells.start == 0 || cells.start + SIDE + 1 >= side as usize;
        near(columns, self.width) || near(rows, self.height)
    }

    /// Reads the surface of a tile's cells and of those around, filling tiles as necessary. Beyond the map the height is −∞.
    ///
    /// # Safety
    /// No other thread changes these tiles during the call.
    #[inline(always)]
    pub(super) unsafe fn read_with_rim(&self, tile: usize, heights: &mut RimmedHeights) {
        if self.is_at_border(tile) {
            // SAFETY: as promised by the caller.
            unsafe { self.look_around_at_border(tile, heights) };
            return;
        }
        let across = self.across as usize;
        for (down, near) in [tile - across, tile, tile + across].into_iter().enumerate() {
            [near - 1, near, near + 1].into_iter().for_each(|tile| self.fill(tile));
            // SAFETY: the tiles are filled, and no thread changes them, as promised by the caller.
            let [west, own, east] = [near - 1, near, near + 1].map(|tile| unsafe { &*self.tiles.pointer().add(tile) });
            let (first, lines) = [(0, SIDE - 1..SIDE), (1, 0..SIDE), (SIDE + 1, 0..1)][down].clone();
            for (heights, line) in heights[first..].iter_mut().zip(lines) {
                heights[0] = west.rows[line][SURFACE].0[SIDE - 1];
                heights[1..=SIDE].copy_from_slice(&own.rows[line][SURFACE].0);
                heights[SIDE + 1] = east.rows[line][SURFACE].0[0];
            }
        }
    }

    /// Does the same as [`Self::read_with_rim`], for tiles at the border.
    ///
    /// # Safety
    /// No other thread changes these tiles during the call.
    #[cold]
    #[inline(never)]
    unsafe fn look_around_at_border(&self, tile: usize, heights: &mut RimmedHeights) {
        let [columns, rows] = self.tiling().cells(tile);
        *heights = [[f32::NEG_INFINITY; RIMMED]; RIMMED];
        for (down, row) in heights.iter_mut().enumerate().take(rows.len() + 2) {
            for (across, height) in row.iter_mut().enumerate().take(columns.len() + 2) {
                let place = [columns.start + across, rows.start + down].map(|place| place as isize - 1);
                if let Some(cell) = self.cell(place[0], place[1]) {
                    // SAFETY: as promised by the caller.
                    *height = unsafe { self.read_cell(cell)[0] };
                }
            }
        }
    }

    /// Prefetches what [`Self::read_with_rim`] and [`Self::before`] read for a tile. The tiles to the west and above are usually in
    /// the cache.
    #[inline(always)]
    pub(super) fn prefetch_tile(&self, tile: usize) {
        const SURFACES: usize = size_of::<[TileRow; SURFACE]>();
        let ([columns, rows], across) = (self.tiling().cells(tile), self.across as usize);
        let [own, east, south] = [tile, tile + 1, tile + across].map(|tile| self.tiles.pointer().wrapping_add(tile));
        for (line, y) in rows.enumerate() {
            let row = line * size_of::<[TileRow; LAYERS]>();
            prefetch(own.wrapping_byte_add(row));
            prefetch(own.wrapping_byte_add(row + SURFACES));
            prefetch(east.wrapping_byte_add(row + SURFACES));
            let first = y * self.width as usize + columns.start;
            prefetch(self.terrain.bedrock[first..].as_ptr());
            prefetch(self.terrain.sand[first..].as_ptr());
        }
        prefetch(south.wrapping_byte_add(SURFACES));
    }

    /// Returns the height of the ground of a tile's cells before the wave, in metres, row by row.
    #[inline(always)]
    pub(super) fn before(&self, tile: usize) -> [Lanes; SIDE] {
        let [columns, rows] = self.tiling().cells(tile);
        let mut heights = [Lanes::default(); SIDE];
        for (heights, y) in heights.iter_mut().zip(rows) {
            let first = y * self.width as usize + columns.start;
            let [bedrock, sand] = [&self.terrain.bedrock, &self.terrain.sand]
                .map(|layer| row_of_tile(&layer[first..first + columns.len()]));
            *heights = bedrock + sand;
        }
        heights
    }

    /// Slides a thickness from one cell to another, without lowering the first below `floor`: sand first, then rock, which becomes
    /// sand. Marks both as [`Self::mark_undercut`]. Returns the actual growth of the sand.
    ///
    /// # Safety
    /// Their tiles are filled, and no other thread uses them during the call.
    #[inline(always)]
    pub(super) unsafe fn slide(&self, [from, to]: [u32; 2], thickness: f32, floor: f32) -> f64 {
        // SAFETY: as promised by the caller.
        let [bedrock, sand, _, surface] = unsafe { self.changing(from) };
        let (old_bedrock, old_sand) = (*bedrock, *sand);
        let thickness = thickness.min(*surface - floor).max(0.0);
        let loose = thickness.min(old_sand);
        (*sand, *bedrock) = (old_sand - loose, old_bedrock - (thickness - loose));
        let taken = (old_sand - *sand) + (old_bedrock - *bedrock);
        *surface = *bedrock + *sand;
        // SAFETY: as promised by the caller.
        let [bedrock, sand, _, surface] = unsafe { self.changing(to) };
        let old = *sand;
        *sand = (old + taken).max(0.0);
        *surface = *bedrock + *sand;
        f64::from(*sand) - f64::from(old)
    }

    /// Returns the layers of a cell that is about to change, and marks it as changed and undercut.
    ///
    /// # Safety
    /// Its tile is filled, and no other thread uses it during the call.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "threads share the tiles, and promise to keep apart")]
    unsafe fn changing(&self, place: u32) -> [&mut f32; LAYERS] {
        let (tile, cell) = (place as usize / CELLS, place as usize % CELLS);
        self.mark_changed(tile, 1 << cell);
        let old = self.undercut[tile].load(Ordering::Relaxed);
        self.undercut[tile].store(old | 1 << cell, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        let rows = unsafe { &mut (*self.tiles.pointer().add(tile)).rows };
        rows[cell / SIDE].each_mut().map(|layer| &mut layer.0[cell % SIDE])
    }

    /// Adds sand to a cell, or removes it. Returns the actual change of the layer.
    pub(super) fn add_sand(&mut self, cell: [i32; 2], thickness: f64) -> f64 {
        let [bedrock, sand, _, surface] = self.layers(cell);
        let old = *sand;
        *sand = (old + thickness as f32).max(0.0);
        *surface = *bedrock + *sand;
        let laid = f64::from(*sand) - f64::from(old);
        self.mark_cell_changed(cell);
        laid
    }

    /// Prefetches the surroundings of these positions, which droplets may reach next.
    #[inline(always)]
    pub(super) fn prefetch(&self, x: Lanes, y: Lanes) {
        let last = |side: i32| Lanes([(side - 1) as f32; LANES]);
        // NaN becomes the last column or row.
        let (x, y) = (Lanes::default().max(x).min(last(self.width)), Lanes::default().max(y).min(last(self.height)));
        // SAFETY: coordinates on the map are small.
        let (columns, rows) = unsafe { (x.truncated(), y.truncated()) };
        let mut places = [[0; LANES]; 3];
        for lane in 0..LANES {
            let column = (columns[lane] >> TILE.ilog2()) * NUMBERS;
            let above = if rows[lane] > 0 { rows[lane] - 1 } else { 0 };
            let below = if rows[lane] + 1 < self.height { rows[lane] + 1 } else { rows[lane] };
            places[0][lane] = column + self.of_row(above);
            places[1][lane] = column + self.of_row(rows[lane]);
            places[2][lane] = column + self.of_row(below);
        }
        for lane in 0..LANES {
            let [above, row, below] = places.map(|places| self.numbers().wrapping_add(places[lane] as usize));
            // Of the rows above and below, only the surface is read.
            prefetch(above.wrapping_byte_add(LINE));
            prefetch(row);
            prefetch(row.wrapping_byte_add(LINE));
            prefetch(below.wrapping_byte_add(LINE));
        }
    }

    #[inline(always)]
    fn numbers(&self) -> *mut f32 {
        self.tiles.pointer().cast()
    }

    /// Returns the height and its differences per cell along columns and rows, bilinear between cell centres. Beyond a wall, the
    /// height of the border continues; beyond an open border, its slope.
    ///
    /// # Safety
    /// Every position is on the map and has been prepared by [`Self::prepare`].
    #[inline(always)]
    pub(super) unsafe fn sample(&self, x: Lanes, y: Lanes) -> [Lanes; 3] {
        let (half, one) = (Lanes::splat(0.5), Lanes::splat(1.0));
        let (x, y) = (x - half, y - half);
        // SAFETY: coordinates on the map are small.
        let (columns, rows) = unsafe { ((x + one).truncated(), (y + one).truncated()) };
        let mut corners = [[0; LANES]; 4];
        let (mut fx, mut fy) = (x, y);
        let mut beyond = false;
        for lane in 0..LANES {
            let (column, row) = (columns[lane] - 1, rows[lane] - 1);
            beyond |= (column < 0) | (row < 0) | (column + 1 >= self.width) | (row + 1 >= self.height);
            fx.0[lane] -= column as f32;
            fy.0[lane] -= row as f32;
            let left = Self::of_column(self.on_side(column, self.width));
            let right = Self::of_column(self.on_side(column + 1, self.width));
            let top = self.of_row(self.on_side(row, self.height));
            let bottom = self.of_row(self.on_side(row + 1, self.height));
            corners[0][lane] = top + left;
            corners[1][lane] = top + right;
            corners[2][lane] = bottom + left;
            corners[3][lane] = bottom + right;
        }
        let surfaces = self.numbers().wrapping_add(SURFACE * SIDE);
        let mut heights = [Lanes::default(); 4];
        for corner in 0..4 {
            for lane in 0..LANES {
                // SAFETY: the tiles of all four cells are filled, as promised by the caller.
                heights[corner].0[lane] = unsafe { *surfaces.add(corners[corner][lane] as usize) };
            }
        }
        if beyond & self.continues {
            for (corner, heights) in heights.iter_mut().enumerate() {
                let (across, down) = (corner as i32 % 2 - 1, corner as i32 / 2 - 1);
                for lane in 0..LANES {
                    // SAFETY: as above.
                    heights.0[lane] = unsafe { self.continued([columns[lane] + across, rows[lane] + down]) };
                }
            }
        }
        let [nw, ne, sw, se] = heights;
        let (north, south) = (nw + fx * (ne - nw), sw + fx * (se - sw));
        let along_x = (ne - nw) + fy * ((se - sw) - (ne - nw));
        [north + fy * (south - north), along_x, south - north]
    }

    /// Returns the surface of a cell on the map, or of one beyond the border, where the slope continues.
    ///
    /// # Safety
    /// [`Self::prepare`] has prepared the nearest cell on the map.
    #[cold]
    unsafe fn continued(&self, cell: [i32; 2]) -> f32 {
        let surfaces = self.numbers().wrapping_add(SURFACE * SIDE);
        let two = Border::of(self.terrain).last_two(cell.map(|place| place as isize));
        let [last, behind] = two.map(|cell| {
            let [x, y] = cell.map(|place| place as i32);
            // SAFETY: the tiles of these cells are filled, as promised by the caller.
            unsafe { *surfaces.add((self.of_row(y) + Self::of_column(x)) as usize) }
        });
        2.0 * last - behind
    }

    /// Returns the maximum thickness of deposits in these cells, of given ground height, where they have standing water; 0
    /// elsewhere.
    #[inline(always)]
    pub(super) fn standing_water(&self, columns: [i32; LANES], rows: [i32; LANES], ground: Lanes) -> Lanes {
        let mut room = Lanes::default();
        if self.wet {
            for lane in 0..LANES {
                room.0[lane] = (self.still_level([columns[lane], rows[lane]]) - ground.0[lane]).max(0.0);
            }
        }
        room
    }

    /// Returns the level of the standing water in a cell, as before the wave: the lowest surface of water or dry ground at samples
    /// around it, since flowing or displaced water is higher. −∞ where there is no water.
    pub(super) fn still_level(&self, [x, y]: [i32; 2]) -> f32 {
        let depth = |[x, y]: [i32; 2]| self.terrain.water[(y * self.width + x) as usize];
        if !self.wet || depth([x, y]) <= STANDING {
            return f32::NEG_INFINITY;
        }
        let mut level = self.height_before([x, y]) + depth([x, y]);
        for far in [1, 4, 16] {
            for (dx, dy) in [(-far, 0), (far, 0), (0, -far), (0, far)] {
                if let Some(cell) = self.cell(x as isize + dx, y as isize + dy) {
                    level = level.min(self.height_before(cell) + depth(cell));
                }
            }
        }
        level
    }

    /// Returns the surface of cells on the map.
    ///
    /// # Safety
    /// [`Self::prepare`] has prepared these cells.
    #[inline(always)]
    pub(super) unsafe fn heights(&self, columns: [i32; LANES], rows: [i32; LANES]) -> Lanes {
        let surfaces = self.numbers().wrapping_add(SURFACE * SIDE);
        let mut heights = Lanes::default();
        for lane in 0..LANES {
            let place = self.of_row(rows[lane]) + Self::of_column(columns[lane]);
            // SAFETY: the tile is filled, as promised by the caller.
            heights.0[lane] = unsafe { *surfaces.add(place as usize) };
        }
        heights
    }

    /// Returns the surface of cells on the map, and of the cells to the west, east, north and south of each; beyond a border that
    /// does not wrap, that of the border. Where cells are `outermost`, the slope continues instead.
    ///
    /// # Safety
    /// [`Self::prepare`] has prepared these cells.
    #[inline(always)]
    pub(super) unsafe fn around(&self, columns: [i32; LANES], rows: [i32; LANES], outermost: LaneMask) -> [Lanes; 5] {
        let surfaces = self.numbers().wrapping_add(SURFACE * SIDE);
        let mut places = [[0; LANES]; 5];
        for lane in 0..LANES {
            let (x, y) = (columns[lane], rows[lane]);
            let (column, row) = (Self::of_column(x), self.of_row(y));
            places[0][lane] = row + column;
            places[1][lane] = row + Self::of_column(self.on_side(x - 1, self.width));
            places[2][lane] = row + Self::of_column(self.on_side(x + 1, self.width));
            places[3][lane] = self.of_row(self.on_side(y - 1, self.height)) + column;
            places[4][lane] = self.of_row(self.on_side(y + 1, self.height)) + column;
        }
        let mut heights = [Lanes::default(); 5];
        for cell in 0..5 {
            for lane in 0..LANES {
                // SAFETY: the tiles of all five cells are filled, as promised by the caller.
                heights[cell].0[lane] = unsafe { *surfaces.add(places[cell][lane] as usize) };
            }
        }
        if outermost.any() {
            self.continue_around(columns, rows, &mut heights);
        }
        heights
    }

    /// Continues the slope of outermost cells in the surfaces around them.
    #[cold]
    #[inline(never)]
    fn continue_around(&self, columns: [i32; LANES], rows: [i32; LANES], around: &mut [Lanes; 5]) {
        let [here, west, east, north, south] = around;
        for lane in 0..LANES {
            let twice = 2.0 * here.0[lane];
            if columns[lane] == 0 {
                west.0[lane] = twice - east.0[lane];
            } else if columns[lane] == self.width - 1 {
                east.0[lane] = twice - west.0[lane];
            }
            if rows[lane] == 0 {
                north.0[lane] = twice - south.0[lane];
            } else if rows[lane] == self.height - 1 {
                south.0[lane] = twice - north.0[lane];
            }
        }
    }

    /// Puts the continued surface at the positions of droplets that have left the map into `heights`.
    ///
    /// # Safety
    /// [`Self::prepare`] has prepared the nearest cells on the map.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn continue_beyond(&self, left: LaneMask, [x, y]: [Lanes; 2], heights: &mut Lanes) {
        for lane in (0..LANES).filter(|&lane| left.0[lane] != 0) {
            let beyond = [x, y].map(|place| place.0[lane].floor() as i32);
            // SAFETY: as promised by the caller.
            heights.0[lane] = unsafe { self.continued(beyond) };
        }
    }

    /// Erodes a cell of a tile by an amount, or deposits if it is negative: not below `least` and not above `most`. Other droplets
    /// may have changed the cell since these bounds were computed. Returns the actual erosion in metres, and `true` if it was
    /// limited.
    ///
    /// # Safety
    /// [`Self::prepare`] has prepared this cell, and no other thread uses it or changes its tile during the call.
    #[inline(always)]
    pub(super) unsafe fn take(
        &self,
        (tile, cell): (usize, usize),
        amount: f32,
        [least, most]: [f32; 2],
    ) -> (f32, bool) {
        self.mark_changed(tile, 1 << cell);
        // SAFETY: the tile is filled, and only this thread changes it.
        let rows = unsafe { &mut (*self.tiles.pointer().add(tile)).rows };
        let [bedrock, sand, erodibility, surface] = rows[cell / SIDE].each_mut().map(|row| &mut row.0[cell % SIDE]);
        let (old_bedrock, old_sand) = (*bedrock, *sand);
        let room = (most.min(self.ceiling) - *surface).max(0.0);
        // NaN must not get lost: it goes into the bedrock.
        let laid = if amount < -room { -room } else { amount };
        let loose = laid.min(old_sand);
        let solid = (laid - loose) * *erodibility;
        let spare = (*surface - least).max(0.0);
        let held = loose + solid > spare;
        let loose = if held & (loose > spare) { spare } else { loose };
        let solid = if held { spare - loose } else { solid };
        (*bedrock, *sand) = (old_bedrock - solid, old_sand - loose);
        *surface = *bedrock + *sand;
        ((old_sand - *sand) + (old_bedrock - *bedrock), held)
    }

    /// Erodes 3 × 3 cells around a position by an amount, or deposits if it is negative, with the weights of a quadratic B-spline.
    /// Returns the actual erosion in metres times cells, as eight partial sums.
    ///
    /// # Safety
    /// [`Self::prepare`] has prepared these cells, and no other thread uses them or changes their tiles during the call.
    #[inline(always)]
    pub(super) unsafe fn change(&self, [x, y]: [f32; 2], amount: f32) -> Lanes {
        let (column, row) = (x as i32, y as i32);
        let inner = column > 1 && row > 1 && column + 2 < self.width && row + 2 < self.height;
        if !inner {
            // SAFETY: as promised by the caller.
            return unsafe { self.change_at_border([x, y], amount) };
        }
        let (first, last) = (Self::tile_column(column - 1), Self::tile_column(column + 1));
        let part = y - (row as f32 + 0.5);
        let down = [Spline::weight(part + 1.0), Spline::weight(part), Spline::weight(part - 1.0)];
        let across = Spline::row_of_tile(x, first);
        let mut sum = Lanes::default();
        for line in 0..3 {
            // SAFETY: as promised by the caller.
            sum = sum + unsafe { self.change_row(first, row + line - 1, amount * down[line as usize], across) };
        }
        if last != first {
            let across = Spline::row_of_tile(x, last);
            for line in 0..3 {
                // SAFETY: as promised by the caller.
                sum = sum + unsafe { self.change_row(last, row + line - 1, amount * down[line as usize], across) };
            }
        }
        sum
    }

    #[inline(always)]
    fn tile_column(x: i32) -> i32 {
        x & !(TILE - 1)
    }

    /// Changes the row of a tile with this first column. Returns the erosion of its cells.
    #[inline(always)]
    unsafe fn change_row(&self, first: i32, y: i32, amount: f32, weights: Lanes) -> Lanes {
        let tile = (y >> TILE.ilog2()) * self.across + (first >> TILE.ilog2());
        let line = y & (TILE - 1);
        let mut bits = 0;
        for lane in 0..LANES {
            bits |= u64::from(weights.0[lane] != 0.0) << lane;
        }
        self.mark_changed(tile as usize, bits << (TILE * line));
        // SAFETY: the tile is filled, and only this thread changes it.
        let tile = unsafe { &mut *self.tiles.pointer().add(tile as usize) };
        let [bedrock, sand, erodibility, surface] = &mut tile.rows[line as usize & (SIDE - 1)];
        let (old_bedrock, old_sand) = (Lanes(bedrock.0), Lanes(sand.0));
        let amount = Lanes([amount; LANES]) * weights;
        let [new_bedrock, new_sand] =
            self.eroded_layers(amount, old_bedrock, old_sand, Lanes(erodibility.0), Lanes(surface.0));
        (bedrock.0, sand.0, surface.0) = (new_bedrock.0, new_sand.0, (new_bedrock + new_sand).0);
        (old_sand - new_sand) + (old_bedrock - new_bedrock)
    }

    /// Returns bedrock and sand after erosion by an amount: sand first. Deposition adds sand, up to the ceiling.
    #[inline(always)]
    fn eroded_layers<R: Real>(&self, amount: R, bedrock: R, sand: R, erodibility: R, surface: R) -> [R; 2] {
        let zero = R::splat(0.0);
        let room = (R::splat(f64::from(self.ceiling)) - surface).max(zero);
        let loose = (-(-amount).max(-sand)).max(-room);
        let solid = (amount - loose).max(zero) * erodibility;
        [bedrock - solid, sand - loose]
    }

    /// Does the same as [`Self::change`], for positions at the border. Beyond an open border, droplets mirrored in it would change the
    /// outermost cells as much as these change those beyond, so the outermost cells take both.
    #[cold]
    #[inline(never)]
    unsafe fn change_at_border(&self, [x, y]: [f32; 2], amount: f32) -> Lanes {
        let (column, row) = (x as i32, y as i32);
        let mut taken = 0.0;
        for cell_y in row - 1..row + 2 {
            let amount = amount * Spline::weight(y - (cell_y as f32 + 0.5));
            for cell_x in column - 1..column + 2 {
                let cell = match self.edge {
                    Edge::Open => Some([cell_x.clamp(0, self.width - 1), cell_y.clamp(0, self.height - 1)]),
                    _ => self.cell(cell_x as isize, cell_y as isize),
                };
                if let Some(cell) = cell {
                    // SAFETY: as promised by the caller.
                    taken += unsafe { self.change_cell(cell, amount * Spline::weight(x - (cell_x as f32 + 0.5))) };
                }
            }
        }
        let mut parts = Lanes::default();
        parts.0[0] = taken;
        parts
    }

    /// Erodes a cell by an amount, or deposits if it is negative. Returns the actual erosion. An outlet is not eroded below its base
    /// level and takes no deposits.
    unsafe fn change_cell(&self, [x, y]: [i32; 2], amount: f32) -> f32 {
        let (tile, line, column) = self.place([x, y]);
        self.mark_changed(tile, 1 << (line * SIDE + column));
        // SAFETY: the tile is filled, and only this thread changes it.
        let tile = unsafe { &mut *self.tiles.pointer().add(tile) };
        let [bedrock, sand, erodibility, surface] = tile.rows[line].each_mut().map(|row| &mut row.0[column]);
        let (old_bedrock, old_sand) = (*bedrock, *sand);
        let base_level = self.base_level([x, y]);
        // NaN must not get lost.
        let [new_bedrock, new_sand] = if base_level > f32::NEG_INFINITY && !amount.is_nan() {
            let (amount, spare) = (amount.max(0.0), (*surface - base_level).max(0.0));
            let loose = amount.min(old_sand).min(spare);
            let solid = ((amount - loose) * *erodibility).min(spare - loose);
            [old_bedrock - solid, old_sand - loose]
        } else {
            self.eroded_layers(amount, old_bedrock, old_sand, *erodibility, *surface)
        };
        (*bedrock, *sand, *surface) = (new_bedrock, new_sand, new_bedrock + new_sand);
        (old_sand - new_sand) + (old_bedrock - new_bedrock)
    }
}

/// A quadratic B-spline: smooth in the position, with weights that sum to one over the cells.
pub(super) struct Spline;

impl Spline {
    /// Returns the weight of a cell with its centre at this distance, in cells.
    #[inline(always)]
    pub(super) fn weight<R: Real>(distance: R) -> R {
        let number = |value: f64| R::splat(value);
        let distance = distance.max(-distance);
        let wide = (number(1.5) - distance).max(number(0.0));
        let narrow = (number(0.5) - distance).max(number(0.0));
        number(0.5) * (wide * wide) - number(1.5) * (narrow * narrow)
    }

    /// Returns the weights of the cells in the row of a tile with this first column.
    #[inline(always)]
    fn row_of_tile(x: f32, first: i32) -> Lanes {
        let mut distance = Lanes([x - (first as f32 + 0.5); LANES]);
        for lane in 0..LANES {
            distance.0[lane] -= lane as f32;
        }
        Self::weight(distance)
    }
}
