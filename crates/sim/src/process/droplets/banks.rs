//! Failure of undercut banks: ground that is too steep above an eroded cell slides down into it.
//!
//! Sand is stable at its angle of repose, rock at an angle that depends on its softness. Each pair of cells moves a quarter of its
//! excess height, all pairs at once from the old ground; the next round visits the cells that lost or gained material. No cell
//! falls below its stable height above the cell it slides into, however many cells it feeds. Material only moves downhill, becomes
//! sand, and fills no cell above its height before the wave. So it dams no stream, and a bank retreats as fast as droplets remove
//! its toe. Without erosion nothing moves.
//!
//! Small cells resolve slopes that large cells smooth away, and terrain may be too steep nearly everywhere. An eroded cell then
//! refills from all sides, its donors do the same, and a wave changes more cells than its droplets visit. A wave need not relax all
//! of that, so there are few rounds, and a cell that is full up to rounding is skipped.
//!
//! Threads share the rows of tiles. Slides are found in parallel, tile by tile with the vector unit, and applied in two passes of
//! non-adjacent bands, so the bits do not depend on the number of threads.

use rayon::prelude::*;

use super::ground::{DropletGround, RimmedHeights};
use crate::{
    core::{
        border::AROUND,
        tiles::{CellSet, SIDE, Tiling},
    },
    simd::{
        around::DISTANCES_F32,
        cells::{Cells, Pass},
        lanes::{LANES, Lanes, with_eight_lanes},
    },
};

/// Maximum number of rounds after a wave; the remaining excess waits for further erosion.
pub(super) const MOST_ROUNDS: usize = 5;
/// Fraction of the excess height between two cells that slides in one round.
pub(super) const SHARE: f32 = 0.25;
/// Excess that is ignored, as a fraction of the cell size.
pub(super) const TOLERANCE: f32 = 0.01;
/// Minimum depth below the ground before the wave that is filled, as a fraction of the cell size.
pub(super) const LEAST_ROOM: f32 = 0.0005;

/// Rows of tiles whose slides one thread applies: slides reach one row of tiles into the bands before and after. Under Miri, small maps
/// have several bands.
const BAND: usize = if cfg!(miri) { 2 } else { 4 };

/// Prefetch distance, in tiles.
const AHEAD: usize = 2;

/// Steepest stable slopes where droplets erode, as tangents.
#[derive(Clone, Copy, Debug)]
pub(super) struct BankSlopes {
    /// Slope of sand.
    pub(super) sand: f32,
    /// Slope of rock of softness 0.5.
    pub(super) rock: f32,
}

impl BankSlopes {
    /// Converts angles in degrees.
    pub(super) fn from_degrees(sand: f32, rock: f32) -> Self {
        let [sand, rock] = [sand, rock].map(|angle| libm::tanf(angle.to_radians()));
        Self { sand, rock: rock.max(sand) }
    }

    /// Returns the stable slope of rock of this erodibility (twice its softness): the hardest is 1.6 times as steep as rock of
    /// softness 0.5, the softest is like sand.
    fn rock(self, erodibility: f32) -> f32 {
        (self.rock * (1.6 - 0.6 * erodibility)).max(self.sand)
    }
}

/// Total of all slides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BankSlideTotals {
    /// Volume, in metres times cells.
    pub(super) volume: f64,
    /// Number of cell failures.
    pub(super) cells: u64,
}

/// A slide from one cell to another.
#[derive(Clone, Copy)]
struct Slide {
    /// Indices of the two cells, see [`DropletGround::number`].
    path: [u32; 2],
    thickness: f32,
    /// Stable height of the first cell above the other, in metres; a limit because it may feed other cells too.
    floor: f32,
}

/// Lets banks fail above these eroded cells.
pub(super) fn collapse_banks(ground: &mut DropletGround<'_>, dug: &mut CellSet, stands: BankSlopes) -> BankSlideTotals {
    let (mut fallen, tiling, ground) = (BankSlideTotals::default(), ground.tiling(), &*ground);
    let mut bands: Vec<Vec<Slide>> = vec![Vec::new(); bands_of(tiling)];
    for round in 0..MOST_ROUNDS {
        let tiles = dug.tiles().to_vec();
        let (cells, count) = (&*dug, bands.len());
        bands.par_iter_mut().enumerate().for_each(|(band, slides)| {
            slides.clear();
            let rows = if band + 1 == count { band * BAND..usize::MAX } else { band * BAND..(band + 1) * BAND };
            let [first, last] =
                [rows.start, rows.end].map(|row| tiles.partition_point(|tile| tile / tiling.across() < row));
            with_eight_lanes(SlideSearch { ground, stands, tiles: &tiles[first..last], cells, slides });
        });
        if bands.iter().all(Vec::is_empty) {
            break;
        }
        dug.clear(tiling);
        // The first slide may take what a later one needs: the order alternates so that no side is always first.
        let forward = round % 2 == 0;
        for turn in if forward { [0, 1] } else { [1, 0] } {
            let slid = bands.par_iter().skip(turn).step_by(2).map(|slides| {
                let slide = |&Slide { path, thickness, floor }: &Slide| {
                    // SAFETY: no other thread uses these tiles: the bands between those of a pass are wider than the reach of
                    // slides.
                    unsafe { ground.slide(path, thickness, floor) }
                };
                let volume =
                    if forward { slides.iter().map(slide).sum() } else { slides.iter().rev().map(slide).sum() };
                BankSlideTotals { volume, cells: slides.len() as u64 }
            });
            for BankSlideTotals { volume, cells } in slid.collect::<Vec<_>>() {
                fallen.volume += volume;
                fallen.cells += cells;
            }
        }
        ground.take_undercut(dug);
    }
    fallen
}

/// Returns the number of bands of a map: even, so that bands of one pass are never adjacent, even if the map wraps. The last band
/// gets the remaining rows.
fn bands_of(tiling: Tiling) -> usize {
    ((tiling.count() / tiling.across() / BAND) & !1).max(1)
}

/// Finds the slides into cells of these tiles.
struct SlideSearch<'a> {
    ground: &'a DropletGround<'a>,
    stands: BankSlopes,
    tiles: &'a [usize],
    cells: &'a CellSet,
    slides: &'a mut Vec<Slide>,
}

impl Pass for SlideSearch<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { ground, stands, tiles, cells, slides } = self;
        for (number, &tile) in tiles.iter().enumerate() {
            if let Some(&next) = tiles.get(number + AHEAD) {
                ground.prefetch_tile(next);
            }
            slide_into(ground, stands, tile, cells.cells(tile), slides);
        }
    }
}

/// Finds the slides into these cells of a tile.
#[inline(always)]
fn slide_into(ground: &DropletGround<'_>, stands: BankSlopes, tile: usize, cells: u64, slides: &mut Vec<Slide>) {
    let ([columns, rows], size) = (ground.tiling().cells(tile), ground.cell_size);
    let (mut heights, before) = (RimmedHeights::default(), ground.before(tile));
    // SAFETY: `collapse_banks` has exclusive access to the ground, and applies slides only after all threads have read it.
    unsafe { ground.read_with_rim(tile, &mut heights) };
    let at_border = ground.is_at_border(tile);
    // Cells that exceed the stable slope, for each of the eight directions.
    let mut steep = [0; AROUND.len()];
    let far = |[across, down]: [isize; 2]| size * DISTANCES_F32[usize::from(across != 0 && down != 0)];
    for row in (0..SIDE).filter(|row| cells >> (row * SIDE) & ((1 << SIDE) - 1) != 0) {
        let here = row_of(&heights, row as isize, 0);
        let room = before[row].above(here + Lanes([LEAST_ROOM * size; LANES]));
        for (steep, [across, down]) in steep.iter_mut().zip(AROUND) {
            let rise = row_of(&heights, row as isize + down, across) - here;
            let above = rise.above(Lanes([stands.sand * far([across, down]) + TOLERANCE * size; LANES])).and(room);
            *steep |= above.bits() << (row * SIDE);
        }
    }
    let mut left = cells & steep.iter().fold(0, |any, steep| any | steep);
    while left != 0 {
        let cell = left.trailing_zeros() as usize;
        left &= left - 1;
        let (row, column) = (cell / SIDE, cell % SIDE);
        if row >= rows.len() || column >= columns.len() {
            // The last tiles extend beyond the map.
            continue;
        }
        let to = [(columns.start + column) as i32, (rows.start + row) as i32];
        let (here, first) = (heights[row + 1][column + 1], slides.len());
        let (mut wanted, mut most) = (0.0_f32, 0.0_f32);
        for (steep, [across, down]) in steep.into_iter().zip(AROUND) {
            if steep >> cell & 1 == 0 {
                continue;
            }
            let mut from = [to[0] + across as i32, to[1] + down as i32];
            if at_border {
                match ground.cell(from[0] as isize, from[1] as isize) {
                    Some(cell) if !ground.is_held(cell) => from = cell,
                    _ => continue,
                }
            }
            // SAFETY: as above.
            let ([height, sand, erodibility], far) = (unsafe { ground.read_cell(from) }, far([across, down]));
            let rise = height - here;
            let loose = (rise - stands.sand * far).min(sand);
            let excess = loose.max(rise - stands.rock(erodibility) * far);
            if excess > TOLERANCE * size {
                let thickness = SHARE * excess;
                wanted += thickness;
                most = most.max(excess);
                let path = [from, to].map(|cell| ground.number(cell));
                slides.push(Slide { path, thickness, floor: height - excess });
            }
        }
        let room = (before[row].0[column] - here).min(most);
        if wanted > room {
            slides[first..].iter_mut().for_each(|slide| slide.thickness *= room / wanted);
        }
    }
}

/// Returns a row of a tile, shifted by `across` columns.
#[inline(always)]
fn row_of(heights: &RimmedHeights, row: isize, across: isize) -> Lanes {
    let (row, first) = (&heights[(row + 1) as usize], (across + 1) as usize);
    let mut lanes = Lanes::default();
    lanes.0.copy_from_slice(&row[first..first + LANES]);
    lanes
}
