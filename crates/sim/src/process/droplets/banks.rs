//! Banks that droplets have undercut fail: what stands too steep above a cell where they dug slides down into it.
//!
//! Sand stands at its angle of repose, rock at an angle that its softness makes steeper or flatter. Of a pair of cells a quarter of
//! what is too much slides, all pairs at once, as the old ground says; then those are looked at that something slid from or into. No
//! cell comes lower than it may stand above the one below it, however many it gives to. Material goes downhill only, as sand, and fills
//! no cell higher than it was before the wave: so it dams no stream, and a bank retreats as fast as droplets carry its foot away.
//! Where no droplet dug, nothing moves.
//!
//! Small cells show slopes that large ones smooth away, and land may be too steep nearly everywhere. Then a dug cell takes from all
//! sides what was dug there, those it took from do the same, and a wave moves more cells than its droplets came to. It is not for a wave
//! to bring all of that to rest, so there are few rounds, and a cell that is full but for rounding is left alone.
//!
//! Threads share the rows of tiles. What slides is found by all of them at once, tile by tile with the vector unit, and done in two turns,
//! so that no two of them meet: the bits do not depend on how many there are.

use rayon::prelude::*;

use super::ground::{Ground, Rimmed};
use crate::{
    core::{
        border::STEPS,
        tiles::{CellSet, SIDE, Tiling},
    },
    simd::{
        around::FARTHER,
        cells::{Cells, Pass},
        lanes::{LANES, Lanes, with_eight_lanes},
    },
};

/// Most rounds after a wave; what is left over then is left to those that dig there again.
pub(super) const MOST_ROUNDS: usize = 5;
/// Of what is too much between two cells, what slides in a round.
pub(super) const SHARE: f32 = 0.25;
/// What is too steep by less than this share of the cell size stays.
pub(super) const TOLERANCE: f32 = 0.01;
/// What is lower than before the wave by less than this share of the cell size is not filled.
pub(super) const LEAST_ROOM: f32 = 0.0005;

/// Rows of tiles whose slides a thread does at a time: slides reach into one row of those before and after.
const BAND: usize = 4;

/// So many tiles ahead a thread asks for what it reads.
const AHEAD: usize = 2;

/// Steps to the eight neighbours, row by row.
pub(super) const AROUND: [[isize; 2]; 8] =
    [STEPS[5], STEPS[6], STEPS[7], STEPS[4], STEPS[0], STEPS[3], STEPS[2], STEPS[1]];

/// The steepest that ground stands beside where droplets dig, as tangents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stands {
    /// Sand.
    pub(super) sand: f32,
    /// Rock of a softness of one half.
    pub(super) rock: f32,
}

impl Stands {
    /// Angles in degrees.
    pub(super) fn at(sand: f32, rock: f32) -> Self {
        let [sand, rock] = [sand, rock].map(|angle| libm::tanf(angle.to_radians()));
        Self { sand, rock: rock.max(sand) }
    }

    /// How steep rock stands that loses so many units of height per unit of digging, which is twice its softness: the hardest is 1.6
    /// times as steep as that of a softness of one half, the softest stands like sand.
    fn rock(self, erodibility: f32) -> f32 {
        (self.rock * (1.6 - 0.6 * erodibility)).max(self.sand)
    }
}

/// What slid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fallen {
    /// In metres times cells.
    pub(super) volume: f64,
    /// How often a cell gave way.
    pub(super) cells: u64,
}

/// What slides from a cell to another, in metres.
#[derive(Clone, Copy)]
struct Slide {
    /// Numbers of the cells, see [`Ground::number`].
    way: [u32; 2],
    thickness: f32,
    /// Height at which the first one stands above the other, in metres: others may take from it too.
    floor: f32,
}

/// Lets banks fail above these cells, where droplets dug.
pub(super) fn fail(ground: &mut Ground<'_>, dug: &mut CellSet, stands: Stands) -> Fallen {
    let (mut fallen, tiling, ground) = (Fallen::default(), ground.tiling(), &*ground);
    let mut bands: Vec<Vec<Slide>> = vec![Vec::new(); bands_of(tiling)];
    for round in 0..MOST_ROUNDS {
        let tiles = dug.tiles().to_vec();
        let (cells, count) = (&*dug, bands.len());
        bands.par_iter_mut().enumerate().for_each(|(band, slides)| {
            slides.clear();
            let rows = if band + 1 == count { band * BAND..usize::MAX } else { band * BAND..(band + 1) * BAND };
            let [first, last] =
                [rows.start, rows.end].map(|row| tiles.partition_point(|tile| tile / tiling.across() < row));
            with_eight_lanes(FindSlides { ground, stands, tiles: &tiles[first..last], cells, slides });
        });
        if bands.iter().all(Vec::is_empty) {
            break;
        }
        dug.clear(tiling);
        // Who comes first may take from a cell what another one would have taken: no side is to come first each time.
        let forward = round % 2 == 0;
        for turn in if forward { [0, 1] } else { [1, 0] } {
            let slid = bands.par_iter().skip(turn).step_by(2).map(|slides| {
                let slide = |&Slide { way, thickness, floor }: &Slide| {
                    // SAFETY: no other thread comes to these tiles: bands between those of a turn are wider than slides reach.
                    unsafe { ground.slide(way, thickness, floor) }
                };
                let volume =
                    if forward { slides.iter().map(slide).sum() } else { slides.iter().rev().map(slide).sum() };
                Fallen { volume, cells: slides.len() as u64 }
            });
            for Fallen { volume, cells } in slid.collect::<Vec<_>>() {
                fallen.volume += volume;
                fallen.cells += cells;
            }
        }
        ground.take_undercut(dug);
    }
    fallen
}

/// Into how many bands a map is cut: an even number, so that in two turns none is beside another, on a map that wraps too. The last one
/// has the rows that are left over.
fn bands_of(tiling: Tiling) -> usize {
    ((tiling.count() / tiling.across() / BAND) & !1).max(1)
}

/// Finds what slides into cells of some tiles.
struct FindSlides<'a> {
    ground: &'a Ground<'a>,
    stands: Stands,
    tiles: &'a [usize],
    cells: &'a CellSet,
    slides: &'a mut Vec<Slide>,
}

impl Pass for FindSlides<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { ground, stands, tiles, cells, slides } = self;
        for (number, &tile) in tiles.iter().enumerate() {
            if let Some(&next) = tiles.get(number + AHEAD) {
                ground.expect_tile(next);
            }
            slide_into(ground, stands, tile, cells.cells(tile), slides);
        }
    }
}

/// Finds what slides into these cells of a tile.
#[inline(always)]
fn slide_into(ground: &Ground<'_>, stands: Stands, tile: usize, cells: u64, slides: &mut Vec<Slide>) {
    let ([columns, rows], size) = (ground.tiling().cells(tile), ground.cell_size);
    let (mut heights, before) = (Rimmed::default(), ground.before(tile));
    // SAFETY: `fail` alone has the ground, and lets cells slide only after all threads have looked.
    unsafe { ground.look_around(tile, &mut heights) };
    let at_border = ground.is_at_border(tile);
    // For each of the cells around, where it stands too steep.
    let mut steep = [0; AROUND.len()];
    let far = |[across, down]: [isize; 2]| size * FARTHER[usize::from(across != 0 && down != 0)];
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
            // The last tiles reach beyond the map.
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
            let ([height, sand, erodibility], far) = (unsafe { ground.look(from) }, far([across, down]));
            let rise = height - here;
            let loose = (rise - stands.sand * far).min(sand);
            let excess = loose.max(rise - stands.rock(erodibility) * far);
            if excess > TOLERANCE * size {
                let thickness = SHARE * excess;
                wanted += thickness;
                most = most.max(excess);
                let way = [from, to].map(|cell| ground.number(cell));
                slides.push(Slide { way, thickness, floor: height - excess });
            }
        }
        let room = (before[row].0[column] - here).min(most);
        if wanted > room {
            slides[first..].iter_mut().for_each(|slide| slide.thickness *= room / wanted);
        }
    }
}

/// A row of a tile, moved by so many columns.
#[inline(always)]
fn row_of(heights: &Rimmed, row: isize, across: isize) -> Lanes {
    let (row, first) = (&heights[(row + 1) as usize], (across + 1) as usize);
    let mut lanes = Lanes::default();
    lanes.0.copy_from_slice(&row[first..first + LANES]);
    lanes
}
