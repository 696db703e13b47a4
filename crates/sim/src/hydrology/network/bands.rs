//! Bands along streams, broader along larger ones, in which vegetation is greener.

/// Decrease of a band from cell to cell, and across a diagonal, on the scale to 255.
const FADES: u8 = 14;
const FADES_ASIDE: u8 = 20;

/// Returns the flow accumulation of each cell of a map on a logarithmic scale: 0 is one cell, 255 the whole map. It decreases with
/// distance from a stream.
pub(super) fn bands((width, height): (usize, usize), cells_above: impl Iterator<Item = f64>) -> Vec<u8> {
    let scale = 255.0 / libm::log2((width * height).max(2) as f64);
    let level = |cells: f64| (scale * libm::log2(cells.max(1.0))) as u8;
    let mut bands: Vec<u8> = cells_above.map(level).collect();
    // Two sweeps, down and up the map, propagate the largest band in reach to all cells.
    for y in 0..height {
        spread(&mut bands, width, (0..width).map(|x| (x, y)), (-1, y.checked_sub(1)));
    }
    for y in (0..height).rev() {
        let below = (y + 1 < height).then_some(y + 1);
        spread(&mut bands, width, (0..width).rev().map(|x| (x, y)), (1, below));
    }
    bands
}

/// Propagates bands to the cells of a row, from the previous cell on this side and from the three of the previous row.
fn spread(
    bands: &mut [u8],
    width: usize,
    cells: impl Iterator<Item = (usize, usize)>,
    (aside, row): (isize, Option<usize>),
) {
    for (x, y) in cells {
        let mut most = bands[y * width + x];
        let mut see = |x: Option<usize>, y: usize, fades: u8| {
            if let Some(x) = x.filter(|&x| x < width) {
                most = most.max(bands[y * width + x].saturating_sub(fades));
            }
        };
        see(x.checked_add_signed(aside), y, FADES);
        if let Some(row) = row {
            see(Some(x), row, FADES);
            see(x.checked_sub(1), row, FADES_ASIDE);
            see(Some(x + 1), row, FADES_ASIDE);
        }
        bands[y * width + x] = most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn band_width_scales_with_flow_and_is_symmetric() {
        // A stream down the middle of a map of 64 × 64 cells, with half of the map's water.
        let bands = bands((64, 64), (0..64 * 64).map(|cell| if cell % 64 == 32 { 2048.0 } else { 1.0 }));
        let row = &bands[30 * 64..31 * 64];
        assert_eq!(row[32], (255.0 * 11.0 / 12.0) as u8);
        for away in 1..20 {
            assert_eq!(row[32 - away], row[32].saturating_sub(FADES.saturating_mul(away as u8)));
            assert_eq!(row[32 - away], row[32 + away]);
        }
        // Without flow accumulation there are no bands.
        assert!(super::bands((8, 8), std::iter::repeat_n(1.0, 64)).into_iter().all(|band| band == 0));
        assert!(super::bands((1, 1), std::iter::once(1.0)).len() == 1);
    }
}
