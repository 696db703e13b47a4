//! Removal of terraces from quantised heights.

use rayon::prelude::*;

use thalweg_sim::core::grid::Grid;

/// Distances of the neighbours that a pass averages, in cells, and the number of passes of each.
const REACHES: [usize; 6] = [32, 16, 8, 4, 2, 1];
const PASSES: usize = 12;

/// Smooths heights that are multiples of `step`. Every height stays within half a step, so it still rounds to its step.
pub(super) fn smooth(cells: &mut Grid, step: f32) {
    let (width, height) = (cells.width(), cells.height());
    // Slightly less than half, so that rounding does not reach the next step.
    let half = 0.499 * step;
    let stored = cells.clone();
    let mut before = cells.clone();
    for reach in REACHES.into_iter().filter(|reach| *reach < width.min(height)) {
        for _ in 0..PASSES {
            std::mem::swap(&mut before, cells);
            let average = |(index, cell): (usize, &mut f32)| {
                let (x, y) = (index % width, index / width);
                // Beyond the border, slopes continue: an average over both sides needs both.
                let (dx, dy) = (reach.min(x).min(width - 1 - x), reach.min(y).min(height - 1 - y));
                let sum = before.at(x - dx, y) + before.at(x + dx, y) + before.at(x, y - dy) + before.at(x, y + dy);
                *cell = (sum / 4.0).clamp(stored[index] - half, stored[index] + half);
            };
            cells.par_iter_mut().enumerate().for_each(average);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_terraces_stays_within_half_a_step() {
        let smooth_hill = |x: usize, y: usize| 40.0 + 30.0 * (x as f32 * 0.02).sin() * (y as f32 * 0.015).cos();
        let step = 4.0;
        let stored = Grid::from_fn(200, 160, |x, y| (smooth_hill(x, y) / step).round() * step);
        let mut cells = stored.clone();
        smooth(&mut cells, step);
        assert!(cells.iter().zip(stored.iter()).all(|(a, b)| (a - b).abs() <= step / 2.0));
        let error = |grid: &Grid| {
            let errors =
                grid.iter().enumerate().map(|(index, cell)| (cell - smooth_hill(index % 200, index / 200)).powi(2));
            (errors.sum::<f32>() / grid.len() as f32).sqrt()
        };
        assert!(error(&cells) < 0.6 * error(&stored), "{} of {}", error(&cells), error(&stored));
    }
}
