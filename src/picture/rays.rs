//! Rays of the sun that run over a map, line by line, and find what lies in shadow.
//!
//! They come from the sun's side. Each carries the height below which its place lies in shadow, and how wide the soft edge of that
//! shadow is by now. A cell gets the two rays beside it. What is told of it is how far it rises above that height, in half widths of
//! the edge: between two cells it changes its sign where the edge of the shadow is. So edges are smooth lines however large the cells
//! are.

use bevy::math::Vec3;
use rayon::prelude::*;

use super::relief::{Light, Rims, half};

/// Height of a ray that nothing has shaded yet, in metres.
const NOTHING: f32 = -1e30;
/// Far more than wholly lit, and as far below wholly shaded: beyond, cells differ in nothing that is seen, and stay as they are.
pub(super) const WHOLLY: f32 = 8.0;

/// Finds the sunlight of all cells of a map of so many columns and rows, as half floats, and tells it row by row. Returns the rims.
pub(super) fn shine(
    top: &[f32],
    (width, height): (usize, usize),
    light: Light,
    mut tell: impl FnMut(usize, &[u16]),
) -> Rims {
    let Vec3 { x, y, z } = light.sun;
    let flat = (x * x + z * z).sqrt().max(1e-6);
    // Rays go from line to line. Lines are rows, or columns where the sun stands more to the side.
    let turned = x.abs() > z.abs();
    let (along, across) = if turned { (x, z) } else { (z, x) };
    let aside = if along == 0.0 { 0.0 } else { across / along.abs() };
    let step = light.cell * (1.0 + aside * aside).sqrt();
    let steep = y / flat;
    let drop = step * steep / light.exaggeration;
    // By how much the height of the shadow's edge differs between both sides of the sun. Under a sun that stands high it would shade
    // flat ground.
    let spread = (light.spread * step * (1.0 + steep * steep) / light.exaggeration).min(drop);
    let rays = Rays { aside, drop, spread, from_last: along > 0.0 };
    if !turned {
        return rays.sweep(top, (width, height), tell);
    }
    let mut lit = vec![0; top.len()];
    let [first, last, starts, ends] = rays.sweep(&transposed(top, width, height), (height, width), |line, values| {
        lit[line * height..][..height].copy_from_slice(values);
    });
    for (row, values) in transposed(&lit, height, width).chunks_exact(width).enumerate() {
        tell(row, values);
    }
    [starts, ends, first, last]
}

/// Rays that go over a map from line to line, from the sun's side on.
#[derive(Clone, Copy, Debug)]
struct Rays {
    /// Cells along a line, towards the sun, from a line to the one before.
    aside: f32,
    /// Metres by which a ray sinks from line to line.
    drop: f32,
    /// Metres by which half of the soft edge grows from line to line.
    spread: f32,
    /// Whether the sun stands beyond the last line and not before the first.
    from_last: bool,
}

impl Rays {
    /// Lets the rays run over lines of so many cells, and tells the sunlight of each. Returns the rims: first and last line, first and
    /// last cell of every line.
    fn sweep(self, top: &[f32], (length, lines): (usize, usize), mut tell: impl FnMut(usize, &[u16])) -> Rims {
        // Between two cells of a line, and before the first and behind the last, runs one ray. It keeps its number while it moves
        // along the lines. So the line sees other rays from time to time.
        let gaps = length + 1;
        let moved = |line: usize| -self.aside * line as f32;
        let (least, most) = (moved(lines).floor().min(0.0), moved(lines).ceil().max(0.0));
        let count = gaps + (most - least) as usize + 1;
        let (mut heights, mut ways) = (vec![NOTHING; count], vec![0.0_f32; count]);
        let mut lit = vec![0_u16; length];
        let mut rims = [vec![0.0; length], vec![0.0; length], vec![0.0; lines], vec![0.0; lines]];
        // An edge is at least so wide that it is smooth between cells, and less than a ray sinks in one step: else flat ground would shade
        // itself.
        let least_width = 0.5 * self.drop + 1e-6;
        for step in 0..lines {
            let line = if self.from_last { lines - 1 - step } else { step };
            let row = &top[line * length..][..length];
            let offset = moved(step);
            let part = offset - offset.floor();
            // The ray in the first gap.
            let first = (most - offset.floor()) as usize;
            let heights = &mut heights[first..][..gaps];
            let ways = &mut ways[first..][..gaps];
            for (height, way) in heights.iter_mut().zip(&mut *ways) {
                *height -= self.drop;
                *way += self.spread;
            }
            let rays = heights.windows(2).zip(ways.windows(2));
            for ((cell, lit), (height, way)) in row.iter().zip(&mut lit).zip(rays) {
                let above = cell - (part * height[0] + (1.0 - part) * height[1]);
                let width = (part * way[0] + (1.0 - part) * way[1]).max(least_width);
                *lit = half((above / width).clamp(-WHOLLY, WHOLLY));
            }
            tell(line, &lit);
            let crest = |cell: usize| row[cell].max(part * heights[cell] + (1.0 - part) * heights[cell + 1]);
            if line == 0 {
                rims[0] = (0..length).map(crest).collect();
            }
            if line == lines - 1 {
                rims[1] = (0..length).map(crest).collect();
            }
            (rims[2][line], rims[3][line]) = (crest(0), crest(length - 1));
            // Where the ground reaches above a ray, it is lit, and shades what comes behind it.
            let mut meet = |gap: usize, ground: f32| {
                let shades = ground >= heights[gap];
                heights[gap] = heights[gap].max(ground);
                ways[gap] = if shades { 0.0 } else { ways[gap] };
            };
            meet(0, row[0]);
            for gap in 1..length {
                meet(gap, (1.0 - part) * row[gap - 1] + part * row[gap]);
            }
            meet(length, row[length - 1]);
        }
        rims
    }
}

/// A map with columns and rows exchanged.
fn transposed<T: Copy + Default + Send + Sync>(map: &[T], width: usize, height: usize) -> Vec<T> {
    const BLOCK: usize = 32;
    let mut turned = vec![T::default(); map.len()];
    turned.par_chunks_mut(BLOCK * height).enumerate().for_each(|(band, columns)| {
        for top in (0..height).step_by(BLOCK) {
            for (x, column) in columns.chunks_exact_mut(height).enumerate() {
                for (y, cell) in column.iter_mut().enumerate().take(top + BLOCK).skip(top) {
                    *cell = map[y * width + band * BLOCK + x];
                }
            }
        }
    });
    turned
}
