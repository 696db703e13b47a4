//! Undercut banks and needles give way where droplets have dug.
//!
//! A cell that stands farther than a share of its size above the mean of its eight neighbours gives what is too much to
//! them, in equal parts; one that lies as far below takes it from them. All cells exchange at once, from the old
//! ground; what one gives another gets, so nothing is lost, and no direction is preferred. What a cell among steep ones gets above
//! the highest ground of the map is taken off again, to settle elsewhere.

use rayon::prelude::*;

use crate::sim::{
    grid::Grid,
    real::{Kernel, with_eight_lanes},
    terrain::Terrain,
};

use super::bundle::Droplet;

/// Farthest that a cell may stand above or below the mean of its neighbours, in cell sizes.
const FARTHEST: f32 = 0.42;
/// Sweeps after a wave end when no cell is farther off than that by more than this, in cell sizes...
const TOLERANCE: f32 = 0.04;
/// ...or after so many; what is left over is the next wave's.
const MOST_SWEEPS: usize = 16;
/// Share of the excess that moves in a sweep: 8/9 would meet the limit at once, were the neighbours at rest.
const SHARE: f32 = 0.6;

/// Lets banks give way. Returns Σ|change of ground|, in metres times cells, how many cells have changed, and what came to lie above
/// the `highest` ground: it is to be settled.
pub fn collapse(terrain: &mut Terrain, highest: f32) -> (f64, u64, Vec<Droplet>) {
    let (width, height) = (terrain.width(), terrain.height());
    if width < 3 || height < 3 {
        return (0.0, 0, Vec::new());
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
        let (all_gives, excess) = (&gives, &excess);
        let rows = change.par_chunks_exact_mut(width).zip(ground.par_chunks_exact_mut(width));
        rows.zip(&mut changed).enumerate().for_each(|(y, ((change, ground), changed))| {
            *changed = excess[around(y)].iter().any(|&excess| excess > 0.0);
            if !*changed {
                return;
            }
            // Nothing comes from outside, and the outermost rows give nothing: the first row stands for both.
            let gives = [y.saturating_sub(1), y, if y + 1 == height { 0 } else { y + 1 }];
            let gives = gives.map(|y| &all_gives[y * width..][..width]);
            with_eight_lanes(Exchange { gives, change, ground, start: &start[y * width..][..width] });
        });
    }
    let layers = terrain.bedrock.iter_mut().zip(terrain.sand.iter_mut());
    let (mut fallen, mut cells, mut above) = (0.0, 0, Vec::new());
    for (index, ((bedrock, sand), &change)) in
        layers.zip(change.iter()).enumerate().filter(|(_, (_, change))| **change != 0.0)
    {
        let missing = (*sand + change).min(0.0);
        *sand = (*sand + change).max(0.0);
        *bedrock += missing;
        fallen += f64::from(change.abs());
        cells += 1;
        if *bedrock + *sand > highest {
            let left = (*sand - (*bedrock + *sand - highest)).max(0.0);
            let (x, y) = ((index % width) as f32 + 0.5, (index / width) as f32 + 0.5);
            above.push(Droplet { mass: *sand - left, ..Droplet::at(x, y, 0.0) });
            *sand = left;
        }
    }
    (fallen, cells, above)
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

/// Adds up what the cells of a row get from their neighbours and give to them.
struct Exchange<'a> {
    gives: [&'a [f32]; 3],
    change: &'a mut [f32],
    ground: &'a mut [f32],
    start: &'a [f32],
}

impl Kernel for Exchange<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [[nw, n, ne], [w, here, e], [sw, s, se]] = self.gives.map(with_sides);
        let (inner, last) = (here.len(), self.change.len() - 1);
        let change = &mut self.change[1..inner + 1];
        for x in 0..inner {
            let sides = (n[x] + s[x]) + (w[x] + e[x]);
            let corners = (nw[x] + se[x]) + (ne[x] + sw[x]);
            change[x] += (sides + corners) - 8.0 * here[x];
        }
        // The outermost columns have neighbours on one side only, and give nothing.
        let [above, middle, below] = self.gives;
        for (x, next) in [(0, 1), (last, last - 1)] {
            self.change[x] += middle[next] + (above[next] + below[next]);
        }
        for ((ground, start), change) in self.ground.iter_mut().zip(self.start).zip(&*self.change) {
            *ground = start + change;
        }
    }
}
