//! Banks that droplets have undercut fail: what stands too steep above a cell where they dug slides down into it.
//!
//! Sand stands at its angle of repose, rock at an angle that its softness makes steeper or flatter. Of a pair of cells an eighth of
//! what is too much slides, all pairs at once, from the old ground; then those are looked at that stand above what slid. Material goes
//! downhill only, as sand, and fills no cell higher than it was before the wave: so it dams no stream, and a bank retreats as fast as
//! droplets carry its foot away. Where no droplet dug, nothing moves.

use rayon::prelude::*;

use super::ground::Ground;
use crate::sim::tiles::{CellSet, SIDE};

/// Most rounds after a wave; what is left over then is left to those that dig there again.
const MOST_ROUNDS: usize = 8;
/// Of what is too much between two cells, what slides in a round: a cell has eight neighbours.
const SHARE: f32 = 0.125;
/// What is too steep by less than this share of the cell size stays.
const TOLERANCE: f32 = 0.01;

/// Cells that a thread takes at a time.
const CELLS_AT_A_TIME: usize = 512;

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
struct Slide {
    from: [i32; 2],
    to: [i32; 2],
    thickness: f32,
}

/// Lets banks fail above these cells, where droplets dug.
pub(super) fn fail(ground: &mut Ground<'_>, dug: &mut CellSet, stands: Stands) -> Fallen {
    let mut fallen = Fallen::default();
    let mut low = cells_of(ground, dug);
    for _ in 0..MOST_ROUNDS {
        let seen = &*ground;
        let slides = low.par_chunks(CELLS_AT_A_TIME).map(|low| {
            let mut slides = Vec::new();
            low.iter().for_each(|&cell| slide_into(seen, cell, stands, &mut slides));
            slides
        });
        let slides: Vec<Vec<Slide>> = slides.collect();
        if slides.iter().all(Vec::is_empty) {
            break;
        }
        dug.clear(ground.tiling());
        for Slide { from, to, thickness } in slides.into_iter().flatten() {
            let taken = ground.break_off(from, thickness);
            fallen.volume += ground.lay(to, f64::from(taken));
            fallen.cells += 1;
            for cell in [from, to] {
                let (tile, cell) = ground.tile_and_cell(cell[0], cell[1]);
                dug.insert_in(tile, 1 << cell);
            }
        }
        low = cells_of(ground, dug);
    }
    fallen
}

/// The cells of a set, in order.
fn cells_of(ground: &Ground<'_>, set: &mut CellSet) -> Vec<[i32; 2]> {
    let mut cells = Vec::new();
    for tile in set.tiles().to_vec() {
        let ([columns, rows], mut left) = (ground.tiling().cells(tile), set.cells(tile));
        while left != 0 {
            let cell = left.trailing_zeros() as usize;
            left &= left - 1;
            let (x, y) = (columns.start + cell % SIDE, rows.start + cell / SIDE);
            // The last tiles reach beyond the map.
            if columns.contains(&x) && rows.contains(&y) {
                cells.push([x as i32, y as i32]);
            }
        }
    }
    cells
}

/// Finds what slides into a cell from those around it.
fn slide_into(ground: &Ground<'_>, to: [i32; 2], stands: Stands, slides: &mut Vec<Slide>) {
    let (size, [here, ..], first) = (ground.cell_size, ground.look(to), slides.len());
    let room = ground.height_before(to) - here;
    if room <= 0.0 {
        return;
    }
    let mut wanted = 0.0;
    for (across, down) in [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
        let Some(from) = ground.cell((to[0] + across) as isize, (to[1] + down) as isize) else { continue };
        let [height, sand, erodibility] = ground.look(from);
        let far = size * if across != 0 && down != 0 { std::f32::consts::SQRT_2 } else { 1.0 };
        let rise = height - here;
        if rise <= stands.sand * far || ground.is_held(from) {
            continue;
        }
        let loose = (rise - stands.sand * far).min(sand);
        let excess = loose.max(rise - stands.rock(erodibility) * far);
        if excess > TOLERANCE * size {
            wanted += SHARE * excess;
            slides.push(Slide { from, to, thickness: SHARE * excess });
        }
    }
    if wanted > room {
        slides[first..].iter_mut().for_each(|slide| slide.thickness *= room / wanted);
    }
}
