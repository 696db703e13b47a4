//! Shadow casting: sun rays swept over a map line by line.
//!
//! The sweep starts on the sun's side. Each ray carries the height of the shadow edge and the half width of its penumbra. A cell
//! interpolates between the two rays next to it. Its sunlight value is its height above the shadow edge in penumbra half widths.
//! The sign changes between two cells where the edge of the shadow lies, so edges are smooth lines at any cell size.

use bevy::math::Vec3;
use rayon::prelude::*;

use super::relief::{ExternalHorizon, Light, half};

/// Height of an unshaded ray, in metres.
const NOTHING: f32 = -1e30;
/// Clamp of sunlight values, far into full light and full shadow. Values beyond look the same and need no update.
pub(super) const MAX_SUNLIGHT: f32 = 8.0;

/// Computes the sunlight of all cells of a map as half floats and passes it to `emit` row by row. Returns the external horizon.
pub(super) fn sweep_sunlight(
    top: &[f32],
    (width, height): (usize, usize),
    light: Light,
    mut emit: impl FnMut(usize, &[u16]),
) -> ExternalHorizon {
    let Vec3 { x, y, z } = light.sun;
    let flat = (x * x + z * z).sqrt().max(1e-6);
    // Rays advance from line to line. Lines are rows, or columns for a sun closer to the x axis.
    let turned = x.abs() > z.abs();
    let (along, across) = if turned { (x, z) } else { (z, x) };
    let aside = if along == 0.0 { 0.0 } else { across / along.abs() };
    let step = light.cell * (1.0 + aside * aside).sqrt();
    let steep = y / flat;
    let drop = step * steep / light.exaggeration;
    // Height difference between the shadow edges of both limbs of the sun. Capped, as a high sun would shade flat ground.
    let spread = (light.spread * step * (1.0 + steep * steep) / light.exaggeration).min(drop);
    let rays = Rays { aside, drop, spread, from_last: along > 0.0 };
    if !turned {
        return rays.sweep(top, (width, height), emit);
    }
    let mut lit = vec![0; top.len()];
    let [first, last, starts, ends] = rays.sweep(&transposed(top, width, height), (height, width), |line, values| {
        lit[line * height..][..height].copy_from_slice(values);
    });
    for (row, values) in transposed(&lit, height, width).chunks_exact(width).enumerate() {
        emit(row, values);
    }
    [starts, ends, first, last]
}

/// Rays swept over a map line by line, starting on the sun's side.
#[derive(Clone, Copy, Debug)]
struct Rays {
    /// Shift along a line towards the sun, in cells per line.
    aside: f32,
    /// Descent of a ray per line, in metres.
    drop: f32,
    /// Growth of the penumbra's half width per line, in metres.
    spread: f32,
    /// `true` if the sun stands beyond the last line, not before the first.
    from_last: bool,
}

impl Rays {
    /// Sweeps the rays over the lines and passes the sunlight of each to `emit`. Returns the horizon: first and last line, first and
    /// last cell of every line.
    fn sweep(
        self,
        top: &[f32],
        (length, lines): (usize, usize),
        mut emit: impl FnMut(usize, &[u16]),
    ) -> ExternalHorizon {
        // One ray runs between any two cells of a line, before the first and after the last. It keeps its index while it moves
        // along the lines, so the window of rays over a line shifts from time to time.
        let gaps = length + 1;
        let moved = |line: usize| -self.aside * line as f32;
        let (least, most) = (moved(lines).floor().min(0.0), moved(lines).ceil().max(0.0));
        let count = gaps + (most - least) as usize + 1;
        let (mut heights, mut widths) = (vec![NOTHING; count], vec![0.0_f32; count]);
        let mut lit = vec![0_u16; length];
        let mut horizon = [vec![0.0; length], vec![0.0; length], vec![0.0; lines], vec![0.0; lines]];
        // Minimum penumbra: wide enough to be smooth between cells, narrower than the descent per line to avoid self-shadowing of
        // flat ground.
        let least_width = 0.5 * self.drop + 1e-6;
        for step in 0..lines {
            let line = if self.from_last { lines - 1 - step } else { step };
            let row = &top[line * length..][..length];
            let offset = moved(step);
            let part = offset - offset.floor();
            // Index of the ray in the first gap.
            let first = (most - offset.floor()) as usize;
            let heights = &mut heights[first..][..gaps];
            let widths = &mut widths[first..][..gaps];
            for (height, width) in heights.iter_mut().zip(&mut *widths) {
                *height -= self.drop;
                *width += self.spread;
            }
            let rays = heights.windows(2).zip(widths.windows(2));
            for ((cell, lit), (height, widths)) in row.iter().zip(&mut lit).zip(rays) {
                let above = cell - (part * height[0] + (1.0 - part) * height[1]);
                let width = (part * widths[0] + (1.0 - part) * widths[1]).max(least_width);
                *lit = half((above / width).clamp(-MAX_SUNLIGHT, MAX_SUNLIGHT));
            }
            emit(line, &lit);
            let crest = |cell: usize| row[cell].max(part * heights[cell] + (1.0 - part) * heights[cell + 1]);
            if line == 0 {
                horizon[0] = (0..length).map(crest).collect();
            }
            if line == lines - 1 {
                horizon[1] = (0..length).map(crest).collect();
            }
            (horizon[2][line], horizon[3][line]) = (crest(0), crest(length - 1));
            // Ground above a ray is lit and shades the ground behind it.
            let mut meet = |gap: usize, ground: f32| {
                let shades = ground >= heights[gap];
                heights[gap] = heights[gap].max(ground);
                widths[gap] = if shades { 0.0 } else { widths[gap] };
            };
            meet(0, row[0]);
            for gap in 1..length {
                meet(gap, (1.0 - part) * row[gap - 1] + part * row[gap]);
            }
            meet(length, row[length - 1]);
        }
        horizon
    }
}

/// Transposes a map.
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
