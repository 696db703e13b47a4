//! Undercut banks and needles give way where droplets have dug.
//!
//! A cell that stands farther than a share of its size above the mean of its eight neighbours gives what is too much to
//! those that lie lower, in equal parts; one that lies as far below takes it from those that stand higher. Of the difference of
//! a pair an eighth goes at most: so no cell rises above the highest around it, nor sinks below the lowest. All cells exchange at
//! once, from the old ground; what one gives another gets, so nothing is lost, and no direction is preferred.

use rayon::prelude::*;

use crate::sim::{
    grid::Grid,
    real::{Kernel, with_eight_lanes},
    stencil::nine,
    terrain::Terrain,
};

/// Farthest that a cell may stand above or below the mean of its neighbours, in cell sizes.
const FARTHEST: f32 = 0.42;
/// Sweeps after a wave end when no cell is farther off than that by more than this, in cell sizes...
const TOLERANCE: f32 = 0.04;
/// ...or after so many; what is left over is the next wave's.
const MOST_SWEEPS: usize = 16;
/// Share of the excess that moves in a sweep: 8/9 would meet the limit at once, were the neighbours at rest.
const SHARE: f32 = 0.6;

/// Lets banks give way. Returns Σ|change of ground|, in metres times cells, and how many cells have changed.
pub fn collapse(terrain: &mut Terrain) -> (f64, u64) {
    let (width, height) = (terrain.width(), terrain.height());
    if width < 3 || height < 3 {
        return (0.0, 0);
    }
    let limit = FARTHEST * terrain.cell_size;
    let start = terrain.ground();
    let mut ground = start.clone();
    let mut gives = Grid::filled(width, height, 0.0);
    let mut change = Grid::filled(width, height, 0.0);
    // The largest excess in each row, and whether its ground has changed since that was found.
    let (mut excess, mut changed) = (vec![0.0; height], vec![true; height]);
    let around = |y: usize| y.saturating_sub(1)..(y + 2).min(height);
    for _ in 0..MOST_SWEEPS {
        let rows = gives.par_chunks_exact_mut(width).zip(&mut excess).enumerate().skip(1).take(height - 2);
        rows.filter(|(y, _)| changed[around(*y)].contains(&true)).for_each(|(y, (gives, excess))| {
            let rows = [y - 1, y, y + 1].map(|y| &ground[y * width..][..width]);
            *excess = with_eight_lanes(Excess { rows, limit, gives });
        });
        if excess.iter().copied().fold(0.0, f32::max) <= TOLERANCE * terrain.cell_size {
            break;
        }
        let (all_gives, excess, old) = (&gives, &excess, &ground);
        let rows = change.par_chunks_exact_mut(width).zip(&mut changed);
        rows.enumerate().for_each(|(y, (change, changed))| {
            *changed = excess[around(y)].iter().any(|&excess| excess > 0.0);
            if *changed {
                // The outermost rows give nothing, and stand for what lies beyond them.
                let near = [y.saturating_sub(1), y, (y + 1).min(height - 1)];
                let [gives, ground] = [all_gives, old].map(|grid| near.map(|y| &grid[y * width..][..width]));
                with_eight_lanes(Exchange { gives, ground, change });
            }
        });
        let rows =
            ground.par_chunks_exact_mut(width).zip(change.par_chunks_exact(width)).zip(start.par_chunks_exact(width));
        rows.zip(&changed).filter(|(_, changed)| **changed).for_each(|(((ground, change), start), _)| {
            for ((ground, start), change) in ground.iter_mut().zip(start).zip(change) {
                *ground = start + change;
            }
        });
    }
    let layers = terrain.bedrock.iter_mut().zip(terrain.sand.iter_mut());
    let (mut fallen, mut cells) = (0.0, 0);
    for ((bedrock, sand), &change) in layers.zip(change.iter()).filter(|(_, change)| **change != 0.0) {
        let missing = (*sand + change).min(0.0);
        *sand = (*sand + change).max(0.0);
        *bedrock += missing;
        fallen += f64::from(change.abs());
        cells += 1;
    }
    (fallen, cells)
}

/// The inner cells of a row with their neighbours on both sides: the row without its last two, without its ends, without
/// its first two cells.
fn with_sides(row: &[f32]) -> [&[f32]; 3] {
    [&row[..row.len() - 2], &row[1..row.len() - 1], &row[2..]]
}

/// What each cell of a row gives to every single neighbour (negative: takes). Returns the largest excess, in metres.
/// Border cells are neighbours, but give nothing of their own.
struct Excess<'a> {
    rows: [&'a [f32]; 3],
    limit: f32,
    gives: &'a mut [f32],
}

impl Kernel for Excess<'_> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        let [[nw, n, ne], [w, here, e], [sw, s, se]] = self.rows.map(with_sides);
        let inner = here.len();
        let gives = &mut self.gives[1..inner + 1];
        // The bits of a number that is not negative are ordered like the number.
        let mut most = 0_u32;
        for x in 0..inner {
            let sides = (n[x] + s[x]) + (w[x] + e[x]);
            let corners = (nw[x] + se[x]) + (ne[x] + sw[x]);
            let high = here[x] - (sides + corners) * 0.125;
            let above = if high > self.limit { high - self.limit } else { 0.0 };
            let below = if high < -self.limit { high + self.limit } else { 0.0 };
            gives[x] = (above + below) * (SHARE / 8.0);
            most = most.max((above - below).to_bits());
        }
        f32::from_bits(most)
    }
}

/// What a cell gets from a neighbour (negative: gives), by what each of both gives to every neighbour and how high it stands.
#[inline(always)]
fn gets(own: (f32, f32), other: (f32, f32)) -> f32 {
    let (flux, most) = (other.0 - own.0, 0.125 * (other.1 - own.1));
    let (low, high) = if most > 0.0 { (0.0, most) } else { (most, 0.0) };
    let flux = if flux > low { flux } else { low };
    if high > flux { flux } else { high }
}

/// Adds up what the cells of a row get from their neighbours and give to them.
struct Exchange<'a> {
    gives: [&'a [f32]; 3],
    ground: [&'a [f32]; 3],
    change: &'a mut [f32],
}

impl Kernel for Exchange<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let inner = self.change.len() - 2;
        // All as long as the loop: so it needs no checks.
        let [[nw, n, ne], [w, here, e], [sw, s, se]] = nine(self.gives, inner);
        let [[z_nw, z_n, z_ne], [z_w, z, z_e], [z_sw, z_s, z_se]] = nine(self.ground, inner);
        let change = &mut self.change[1..][..inner];
        for x in 0..inner {
            let own = (here[x], z[x]);
            let from = |gives: &[f32], ground: &[f32]| gets(own, (gives[x], ground[x]));
            let sides = (from(n, z_n) + from(s, z_s)) + (from(w, z_w) + from(e, z_e));
            let corners = (from(nw, z_nw) + from(se, z_se)) + (from(ne, z_ne) + from(sw, z_sw));
            change[x] += sides + corners;
        }
        // The outermost columns have neighbours on one side only; what lies beside them gives nothing.
        let last = self.change.len() - 1;
        for (x, next) in [(0, 1), (last, last - 1)] {
            let from = |row: usize| {
                gets((self.gives[1][x], self.ground[1][x]), (self.gives[row][next], self.ground[row][next]))
            };
            self.change[x] += from(1) + (from(0) + from(2));
        }
    }
}
