//! Passes that change layers where they lie: a strip of rows is worked on from the first to the last, in several stages that
//! follow each other at a distance of a row or two, so that memory is read and written once for all of them.
//!
//! A strip owns its rows. Of the rows around it, which belong to other strips, it has copies as they were before the pass;
//! it computes them too where its own rows need that, and throws them away. So its result depends neither on the number of
//! threads nor on the order of the strips.

use std::ops::Range;

use rayon::prelude::*;

use crate::core::border::Border;
use crate::core::{aligned::Aligned, terrain::Edge};

/// Rows in a strip of a map of so many: many enough that few are computed twice, few enough that several threads have work.
/// Sums depend on it, so it must not follow the number of threads.
fn rows_in_strip(height: usize) -> usize {
    (height / 8).clamp(16, 64)
}

/// A strip of rows of some layers, and copies of the rows around it.
pub struct Strip<'a, const LAYERS: usize> {
    border: Border,
    rows: Range<isize>,
    /// Number of rows around it, above and below.
    margin: isize,
    layers: [Part<'a>; LAYERS],
}

/// What a strip has of a layer.
struct Part<'a> {
    own: &'a mut [f32],
    /// Copies of the rows above the strip, then of those below it.
    around: Aligned,
    /// Number of values in a row.
    stride: usize,
}

impl<'a, const LAYERS: usize> Strip<'a, LAYERS> {
    /// The first layers and the others apart, so that both can be used at once.
    ///
    /// # Panics
    /// If these are not all layers.
    pub fn split<const FIRST: usize, const OTHERS: usize>(self) -> (Strip<'a, FIRST>, Strip<'a, OTHERS>) {
        assert_eq!(FIRST + OTHERS, LAYERS, "every layer belongs to one part");
        let Self { border, rows, margin, layers } = self;
        let mut layers = layers.into_iter();
        let mut next = || layers.next().expect("there are as many");
        let first = Strip { border, rows: rows.clone(), margin, layers: std::array::from_fn(|_| next()) };
        (first, Strip { border, rows, margin, layers: std::array::from_fn(|_| next()) })
    }

    /// The border of the map.
    pub fn border(&self) -> Border {
        self.border
    }

    /// The rows that the strip owns.
    pub fn rows(&self) -> Range<isize> {
        self.rows.clone()
    }

    /// These rows and as many as that around them, as far as the map reaches. Where it wraps, rows beyond the border have
    /// numbers of their own, below 0 or from the height on.
    pub fn reach(&self, around: isize) -> Range<isize> {
        let (first, last) = (self.rows.start - around, self.rows.end + around);
        match self.border.edge {
            Edge::Wrap => first..last,
            _ => first.max(0)..last.min(self.border.height as isize),
        }
    }

    /// A row of a layer.
    #[inline(always)]
    pub fn row(&self, layer: usize, y: isize) -> &[f32] {
        let Part { own, around, stride } = &self.layers[layer];
        match place(&self.rows, self.margin, own.len(), *stride, y) {
            Place::Own(at) => &own[at..at + stride],
            Place::Around(at) => &around[at..at + stride],
        }
    }

    /// A row of every layer, to be changed.
    #[inline(always)]
    pub fn rows_mut(&mut self, y: isize) -> [&mut [f32]; LAYERS] {
        let mut rows: [&mut [f32]; LAYERS] = std::array::from_fn(|_| Default::default());
        for (row, Part { own, around, stride }) in rows.iter_mut().zip(&mut self.layers) {
            *row = match place(&self.rows, self.margin, own.len(), *stride, y) {
                Place::Own(at) => &mut own[at..at + *stride],
                Place::Around(at) => &mut around[at..at + *stride],
            };
        }
        rows
    }
}

/// Where a row begins.
enum Place {
    Own(usize),
    Around(usize),
}

#[inline(always)]
fn place(rows: &Range<isize>, margin: isize, own: usize, stride: usize, y: isize) -> Place {
    let at = |row: isize| row as usize * stride;
    if y < rows.start {
        return Place::Around(at(y - rows.start + margin));
    }
    // The last strip has what is left over after the last row, too.
    let inside = at(y - rows.start);
    if inside < own { Place::Own(inside) } else { Place::Around(at(margin + y - rows.end)) }
}

/// Runs `work` on strips of rows, in parallel, and returns what the strips return, from the first to the last.
///
/// Each of `layers` is a layer and the number of its values that belong to a row of cells. A strip gets `margin` rows
/// around its own; what is left over after the last row goes to the last strip.
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
    let copies: Vec<[Aligned; LAYERS]> = bands
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
                Part { own, around: copies.next().expect("there are as many"), stride: *stride }
            });
            Strip { border, rows: band.start as isize..band.end as isize, margin: margin as isize, layers }
        })
        .collect();
    strips.into_par_iter().map(work).collect()
}

/// Copies of the rows above a band and of those below it; zeros where the map has none.
fn rows_around(border: Border, layer: &[f32], stride: usize, band: Range<usize>, margin: usize) -> Aligned {
    let Border { height, edge, .. } = border;
    let mut copies = Aligned::filled(2 * margin * stride, 0.0);
    for (row, copy) in copies.chunks_exact_mut(stride).enumerate() {
        let y = if row < margin { band.start + row } else { band.end + row } as isize - margin as isize;
        // Faces have a row more than cells.
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

    /// Every value becomes the sum of itself and those above and below it, twice, changed where it lies.
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
    fn strips_see_what_was_there_before_whatever_their_neighbours_have_done() {
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
    fn the_last_strip_has_what_is_left_over() {
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
