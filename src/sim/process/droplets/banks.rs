//! Undercut banks and needles give way where droplets have dug.
//!
//! A cell that stands farther than a share of its size above the mean of its eight neighbours gives what is too much to
//! them, in equal parts; one that lies as far below takes it from them. All cells exchange at once, from the old
//! ground; what one gives another gets, so nothing is lost, and no direction is preferred.

use rayon::prelude::*;

use crate::sim::{grid::Grid, terrain::Terrain};

/// Farthest that a cell may stand above or below the mean of its neighbours, in cell sizes.
const FARTHEST: f32 = 0.42;
/// Sweeps after a wave end when no cell is farther off than that by more than this, in cell sizes...
const TOLERANCE: f32 = 0.04;
/// ...or after so many; what is left over is the next wave's.
const MOST_SWEEPS: usize = 16;
/// Share of the excess that moves in a sweep: 8/9 would meet the limit at once, were the neighbours at rest.
const SHARE: f32 = 0.6;

/// Lets banks give way. Returns Σ|change of ground|, in metres times cells.
pub fn collapse(terrain: &mut Terrain) -> f64 {
    let (width, height) = (terrain.width(), terrain.height());
    if width < 3 || height < 3 {
        return 0.0;
    }
    let limit = FARTHEST * terrain.cell_size;
    let start = terrain.ground();
    let mut ground = start.clone();
    let mut gives = Grid::filled(width, height, 0.0);
    let mut change = Grid::filled(width, height, 0.0);
    for _ in 0..MOST_SWEEPS {
        let rows = gives.par_chunks_exact_mut(width).enumerate().skip(1).take(height - 2);
        let worst = rows.map(|(y, gives)| excess(&ground, y, limit, gives)).reduce(|| 0.0, f32::max);
        if worst <= TOLERANCE * terrain.cell_size {
            break;
        }
        let rows = change.par_chunks_exact_mut(width).zip(ground.par_chunks_exact_mut(width)).enumerate();
        rows.for_each(|(y, (change, ground))| exchange(&gives, y, change, ground, &start[y * width..]));
    }
    let layers = terrain.bedrock.iter_mut().zip(terrain.sand.iter_mut());
    let mut fallen = 0.0;
    for ((bedrock, sand), &change) in layers.zip(change.iter()).filter(|(_, change)| **change != 0.0) {
        let missing = (*sand + change).min(0.0);
        *sand = (*sand + change).max(0.0);
        *bedrock += missing;
        fallen += f64::from(change.abs());
    }
    fallen
}

/// What each cell of a row gives to every single neighbour (negative: takes). Returns the largest
/// excess, in metres. Border cells are neighbours, but give nothing of their own.
fn excess(ground: &Grid, y: usize, limit: f32, gives: &mut [f32]) -> f32 {
    let width = ground.width();
    let [above, here, below] = [y - 1, y, y + 1].map(|y| &ground[y * width..][..width]);
    let mut most = 0.0_f32;
    for x in 1..width - 1 {
        let sides = (above[x] + below[x]) + (here[x - 1] + here[x + 1]);
        let corners = (above[x - 1] + below[x + 1]) + (above[x + 1] + below[x - 1]);
        let high = here[x] - (sides + corners) * 0.125;
        let beyond = (high - limit).max(0.0) + (high + limit).min(0.0);
        gives[x] = beyond * (SHARE / 8.0);
        most = most.max(beyond.abs());
    }
    most
}

/// Adds up what the cells of a row get from their neighbours and give to them.
fn exchange(gives: &Grid, y: usize, change: &mut [f32], ground: &mut [f32], start: &[f32]) {
    let (width, last) = (gives.width(), gives.height() - 1);
    // Nothing comes from outside, and nothing is given by the outermost rows and columns: the first row stands for both.
    let [above, here, below] =
        [y.saturating_sub(1), y, if y == last { 0 } else { y + 1 }].map(|y| &gives[y * width..][..width]);
    for x in 0..width {
        let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
        let sides = (above[x] + below[x]) + (here[left] + here[right]);
        let corners = (above[left] + below[right]) + (above[right] + below[left]);
        let own = if x == left || x == right { 0.0 } else { here[x] };
        change[x] += (sides + corners) - 8.0 * own;
        ground[x] = start[x] + change[x];
    }
}
