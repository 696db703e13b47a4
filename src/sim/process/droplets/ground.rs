//! What droplets of the default form move on: the layers side by side in each cell, with a ring around the map.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use crate::sim::{
    real::{LANES, Lanes, Real},
    terrain::{Edge, Terrain},
};

/// What lies in a cell, together because it is needed together.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
pub(super) struct Cell {
    pub(super) bedrock: f32,
    pub(super) sand: f32,
    /// What a unit of digging takes off bedrock: twice the softness.
    pub(super) erodibility: f32,
    /// Bedrock and sand.
    pub(super) surface: f32,
}

impl Cell {
    /// Takes an amount off, sand first, or lays it down as sand. Returns what was really taken.
    #[inline(always)]
    pub(super) fn take(&mut self, amount: f32) -> f32 {
        let (bedrock, sand) = (self.bedrock, self.sand);
        // Negative, what is laid down is all loose.
        let loose = if amount < sand { amount } else { sand };
        self.sand = sand - loose;
        self.bedrock = bedrock - (amount - loose) * self.erodibility;
        self.surface = self.bedrock + self.sand;
        (sand - self.sand) + (bedrock - self.bedrock)
    }
}

/// One thread's copy of the terrain with a ring of cells around it, whose surface is that of the cells that stand for what
/// lies outside.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) wraps: bool,
    pub(super) cells: Vec<Cell>,
}

impl Ground {
    pub(super) fn new(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.bedrock.width(), terrain.bedrock.height());
        let mut ground = Self {
            width: width as i32,
            height: height as i32,
            wraps: terrain.edge == Edge::Wrap,
            cells: vec![Cell::default(); (width + 2) * (height + 2)],
        };
        for y in 0..height {
            let first = ground.index(0, y as i32);
            for (x, cell) in ground.cells[first..first + width].iter_mut().enumerate() {
                let index = y * width + x;
                let (bedrock, sand) = (terrain.bedrock[index], terrain.sand[index]);
                let erodibility = 2.0 * terrain.softness[index];
                *cell = Cell { bedrock, sand, erodibility, surface: bedrock + sand };
            }
        }
        for x in 0..ground.width {
            ground.refresh(x, 0);
            ground.refresh(x, ground.height - 1);
        }
        for y in 0..ground.height {
            ground.refresh(0, y);
            ground.refresh(ground.width - 1, y);
        }
        ground
    }

    #[inline(always)]
    pub(super) fn index(&self, x: i32, y: i32) -> usize {
        ((y + 1) * (self.width + 2) + (x + 1)) as usize
    }

    /// Brings the surface of the ring up to that of a border cell that stands for it.
    pub(super) fn refresh(&mut self, x: i32, y: i32) {
        let beyond = |place: i32, side: i32| match (place, self.wraps) {
            (0, false) => -1,
            (0, true) => side,
            (place, false) if place == side - 1 => side,
            (place, true) if place == side - 1 => -1,
            (place, _) => place,
        };
        let (columns, rows) = ([x, beyond(x, self.width)], [y, beyond(y, self.height)]);
        let surface = self.cells[self.index(x, y)].surface;
        for (column, row) in rows.into_iter().flat_map(|row| columns.map(|column| (column, row))) {
            let index = self.index(column, row);
            self.cells[index].surface = surface;
        }
    }

    /// Height and its differences per cell along columns and rows, bilinear between cell centres.
    ///
    /// # Safety
    /// Every place lies on the map.
    #[inline(always)]
    pub(super) unsafe fn sample(&self, x: Lanes, y: Lanes) -> [Lanes; 3] {
        let (half, one) = (Lanes::splat(0.5), Lanes::splat(1.0));
        let (x, y) = (x - half, y - half);
        // Cells of the ring count from 0, so this is the cell to the north-west.
        // SAFETY: places on the map have small coordinates.
        let (column, row) = unsafe { ((x + one).truncated(), (y + one).truncated()) };
        let stride = self.width + 2;
        let (mut first, mut second) = ([0; LANES], [0; LANES]);
        let (mut fx, mut fy) = (x, y);
        for lane in 0..LANES {
            first[lane] = row[lane] * stride + column[lane];
            second[lane] = first[lane] + stride;
            fx.0[lane] -= (column[lane] - 1) as f32;
            fy.0[lane] -= (row[lane] - 1) as f32;
        }
        // SAFETY: the four cells around a place on the map lie on the map or its ring.
        let ([nw, ne], [sw, se]) = unsafe { (surfaces(&self.cells, first), surfaces(&self.cells, second)) };
        let (north, south) = (nw + fx * (ne - nw), sw + fx * (se - sw));
        let along_x = (ne - nw) + fy * ((se - sw) - (ne - nw));
        [north + fy * (south - north), along_x, south - north]
    }
}

/// The surface of a cell and of the next in every lane.
///
/// # Safety
/// Both cells lie inside `cells`.
#[inline(always)]
unsafe fn surfaces(cells: &[Cell], index: [i32; LANES]) -> [Lanes; 2] {
    let mut out = [Lanes::default(); 2];
    for lane in 0..LANES {
        // SAFETY: as promised by the caller.
        unsafe {
            out[0].0[lane] = cells.get_unchecked(index[lane] as usize).surface;
            out[1].0[lane] = cells.get_unchecked(index[lane] as usize + 1).surface;
        }
    }
    out
}

/// Changes 3 × 3 cells, none of them at the border: `across` are the weights of columns, `down` the amounts of rows. Returns
/// what was taken, in metres times cells.
///
/// # Safety
/// All of the cells lie on the map.
#[inline(always)]
pub(super) unsafe fn change_inner(ground: &mut Ground, column: i32, row: i32, across: [f32; 3], down: [f32; 3]) -> f32 {
    let first = ground.index(column - 1, row - 1);
    let stride = ground.width as usize + 2;
    let mut taken = [0.0; 3];
    for line in 0..3 {
        for offset in 0..3 {
            // SAFETY: as promised by the caller.
            let cell = unsafe { ground.cells.get_unchecked_mut(first + line * stride + offset) };
            taken[line] += cell.take(down[line] * across[offset]);
        }
    }
    (taken[0] + taken[2]) + taken[1]
}
