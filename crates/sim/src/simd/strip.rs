//! In-place passes over layers: a strip of rows is processed from top to bottom, in several stages that follow each other at a
//! distance of a row or two, so that memory is read and written once for all of them.
//!
//! A strip owns its rows. Of the surrounding rows, which belong to other strips, it has copies from before the pass. Those that its
//! own rows depend on are computed redundantly and discarded. The result therefore depends neither on the number of threads nor on
//! the order of the strips.

use std::ops::Range;

use rayon::prelude::*;

use crate::core::border::Border;
use crate::core::{aligned::AlignedArray, terrain::Edge};

/// Returns the number of rows per strip: large enough to limit redundant rows, small enough to occupy several threads. Sums depend
/// on it, so it must not depend on the number of threads.
fn rows_in_strip(height: usize) -> usize {
    (height / 8).clamp(16, 64)
}

/// Strip of rows of some layers, with copies of the surrounding rows.
pub struct Strip<'a, const LAYERS: usize> {
    border: Border,
    rows: Range<isize>,
    /// Number of copied rows above and below.
    margin: isize,
    layers: [LayerPart<'a>; LAYERS],
}

/// Part of a layer in a strip.
struct LayerPart<'a> {
    own: &'a mut [f32],
    /// Copies of the rows above the strip, then of those below it.
    around: AlignedArray,
    /// Number of values in a row.
    stride: usize,
}

impl<'a, const LAYERS: usize> Strip<'a, LAYERS> {
    /// Splits off the first layers, so that both parts can be used at once.
    ///
    /// # Panics
    /// If the parts do not add up to all layers.
    pub fn split<const FIRST: usize, const OTHERS: usize>(self) -> (Strip<'a, FIRST>, Strip<'a, OTHERS>) {
        assert_eq!(FIRST + OTHERS, LAYERS, "the parts must add up to all layers");
        let Self { border, rows, margin, layers } = self;
        let mut layers = layers.into_iter();
        let mut next = || layers.next().expect("there are as many");
        let first = Strip { border, rows: rows.clone(), margin, layers: std::array::from_fn(|_| next()) };
        (first, Strip { border, rows, margin, layers: std::array::from_fn(|_| next()) })
    }

    /// Returns the border of the map.
    pub fn border(&self) -> Border {
        self.border
    }

    /// Returns the rows that the strip owns.
    pub fn rows(&self) -> Range<isize> {
        self.rows.clone()
    }

    /// Returns these rows and `around` more above and below, as far as the map extends. On a periodic map, rows beyond the border
    /// have their own indices, below 0 or from the height on.
    pub fn reach(&self, around: isize) -> Range<isize> {
        let (first, last) = (self.rows.start - around, self.rows.end + around);
        match self.border.edge {
            Edge::Wrap => first..last,
            _ => first.max(0)..last.min(self.border.height as isize),
        }
    }

    /// Returns a row of a layer.
    #[inline(always)]
    pub fn row(&self, layer: usize, y: isize) -> &[f32] {
        let LayerPart { own, around, stride } = &self.layers[layer];
        match place(&self.rows, self.margin, own.len(), *stride, y) {
            RowOffset::Own(at) => &own[at..at + stride],
            RowOffset::Around(at) => &around[at..at + stride],
        }
    }

    /// Returns a row of every layer, to be changed.
    #[inline(always)]
    pub fn rows_mut(&mut self, y: isize) -> [&mut [f32]; LAYERS] {
        let mut rows: [&mut [f32]; LAYERS] = std::array::from_fn(|_| Default::default());
        for (row, LayerPart { own, around, stride }) in rows.iter_mut().zip(&mut self.layers) {
            *row = match place(&self.rows, self.margin, own.len(), *stride, y) {
                RowOffset::Own(at) => &mut own[at..at + *stride],
                RowOffset::Around(at) => &mut around[at..at + *stride],
            };
        }
        rows
    }
}

/// Offset of a row in a [`LayerPart`].
enum RowOffset {
    Own(usize),
    Around(usize),
}

#[inline(always)]
fn place(rows: &Range<isize>, margin: isize, own: usize, stride: usize, y: isize) -> RowOffset {
    let at = |row: isize| row as usize * stride;
    if y < rows.start {
        return RowOffset::Around(at(y - rows.start + margin));
    }
    // The last strip also owns what is left over after the last row.
    let inside = at(y - rows.start);
    if inside < own { RowOffset::Own(inside) } else { RowOffset::Around(at(margin + y - rows.end)) }
}

/// Runs `work` on strips of rows in parallel, and returns the results in order.
///
/// Each of `layers` is a layer and its number of values per row of cells. A strip gets copies of `margin` rows above and below;
/// what is left over after the last row goes to the last strip.
pub fn for_strips<'a, const LAYERS: usize, T: Send>(
    border: Border,
    layers: [(&'a mut [f32], usize); LAYERS],
    margin: usize,
    work: impl Fn(Strip<'a, LAYERS>) -> T + Send + Sync,
) -> Vec<T> {
    let height = border.height;
    let rows = rows_in_strip(height);
    let bands: Vec<Range<usize>> = (0..height).step_by(rows).map(|first| first..(first + rows).min(height)).collect();
    // All copies are made before anything changes.
    let before = layers.each_ref().map(|(layer, stride)| (&**layer, *stride));
    let copies: Vec<[AlignedArray; LAYERS]> = bands
        .par_iter()
        .map(|band| before.map(|(layer, stride)| rows_around(border, layer, stride, band.clone(), margin)))
        .collect();
    let mut rest = layers;
    let strips: Vec<Strip<'a, LAYERS>> = bands
        .into_iter()
        .zip(copies)
        .map(|(band, copies)| {
            let mut copies = copies.into_iter();
            let layers = rest.each_mut().map(|(layer, stride)| {
                let whole = std::mem::take(layer);
                let count = if band.end == height { whole.len() } else { band.len() * *stride };
                let (own, left) = whole.split_at_mut(count);
                *layer = left;
                LayerPart { own, around: copies.next().expect("there are as many"), stride: *stride }
            });
            Strip { border, rows: band.start as isize..band.end as isize, margin: margin as isize, layers }
        })
        .collect();
    strips.into_par_iter().map(work).collect()
}

/// Returns copies of the rows above and below a band, with zeros beyond the map.
fn rows_around(border: Border, layer: &[f32], stride: usize, band: Range<usize>, margin: usize) -> AlignedArray {
    let Border { height, edge, .. } = border;
    let mut copies = AlignedArray::filled(2 * margin * stride, 0.0);
    for (row, copy) in copies.chunks_exact_mut(stride).enumerate() {
        let y = if row < margin { band.start + row } else { band.end + row } as isize - margin as isize;
        // There is one more row of faces than of cells.
        let rows = if edge == Edge::Wrap { height } else { layer.len() / stride };
        if let Some(y) = edge.index(y, rows) {
            copy.copy_from_slice(&layer[y * stride..(y + 1) * stride]);
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces every value by the sum of itself and those above and below, twice, in place.
    fn blurred(height: usize, edge: Edge) -> Vec<f32> {
        let border = Border { width: 2, height, edge };
        let mut layer: Vec<f32> = (0..2 * height).map(|place| (place * place % 31) as f32).collect();
        for_strips(border, [(&mut layer, 2)], 2, |mut strip| {
            let mut old: Vec<(isize, Vec<f32>)> = Vec::new();
            for y in strip.reach(2) {
                old.push((y, strip.row(0, y).to_vec()));
            }
            let sum = |rows: &[(isize, Vec<f32>)], y: isize| -> Vec<f32> {
                let near = rows.iter().filter(|row| (y - 1..=y + 1).contains(&row.0));
                near.fold(vec![0.0; 2], |sum, row| vec![sum[0] + row.1[0], sum[1] + row.1[1]])
            };
            let once: Vec<_> = strip.reach(1).map(|y| (y, sum(&old, y))).collect();
            for y in strip.rows() {
                let [row] = strip.rows_mut(y);
                row.copy_from_slice(&sum(&once, y));
            }
        });
        layer
    }

    #[test]
    fn strips_read_unmodified_neighbour_rows() {
        for edge in [Edge::Wall, Edge::Wrap] {
            for height in [1_usize, 2, 5, 64, 65, 130, 200] {
                let mut right: Vec<f32> = (0..2 * height).map(|place| (place * place % 31) as f32).collect();
                for _ in 0..2 {
                    let before = right.clone();
                    for (place, value) in right.iter_mut().enumerate() {
                        let (y, x) = ((place / 2) as isize, place % 2);
                        let row = |y: isize| match edge {
                            Edge::Wrap => before[y.rem_euclid(height as isize) as usize * 2 + x],
                            _ => usize::try_from(y).ok().and_then(|y| before.get(y * 2 + x)).copied().unwrap_or(0.0),
                        };
                        *value = row(y - 1) + row(y) + row(y + 1);
                    }
                }
                assert_eq!(blurred(height, edge), right, "{edge:?}, {height} rows");
            }
        }
    }

    #[test]
    fn last_strip_covers_remaining_rows() {
        let border = Border { width: 3, height: 70, edge: Edge::Wall };
        let mut faces = vec![0.0; 3 * 71];
        let ends = for_strips(border, [(&mut faces, 3)], 1, |mut strip| {
            let end = strip.rows().end;
            let [row] = strip.rows_mut(end);
            row.fill(1.0);
            end
        });
        assert_eq!(ends, [16, 32, 48, 64, 70]);
        assert_eq!(faces.iter().sum::<f32>(), 3.0);
        assert!(faces[3 * 70..].iter().all(|&face| face == 1.0));
    }
}
