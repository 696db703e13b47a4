//! The fluxes that the slope of the fluid's surface drives.

use std::ops::Range;

use super::DRY;
use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row},
    masked::{Covered, between},
    process::water::Params,
    process::water::surface::{GROUND, LEVEL, Surface},
    stencil::{Border, Window},
    terrain::Edge,
};

/// Weight of a face's own flux against its neighbours' mean.
const THETA: f32 = 0.8;

/// g·Δt/l and g·Δt·n², the latter on free ground and under the mask.
#[derive(Clone, Copy)]
pub(super) struct Law {
    pub push: f32,
    pub drag: [f32; 2],
}

/// A row of faces: their old fluxes, those of their neighbours, the cells on both sides.
struct FaceRow<'a, const MASKED: bool> {
    law: Law,
    /// The mask in the cells on both sides.
    mask: [&'a [f32]; 2],
    fluxes: [&'a [f32]; 3],
    ground: [&'a [f32]; 2],
    level: [&'a [f32]; 2],
    out: &'a mut [f32],
}

impl<const MASKED: bool> RowKernel for FaceRow<'_, MASKED> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (before, own, after) = (V::load(self.fluxes[0], x), V::load(self.fluxes[1], x), V::load(self.fluxes[2], x));
        let (ground, ground_after) = (V::load(self.ground[0], x), V::load(self.ground[1], x));
        let (level, level_after) = (V::load(self.level[0], x), V::load(self.level[1], x));
        let one = V::all(1.0);
        let dry = V::all(DRY);
        let depth = level.max(level_after) - ground.max(ground_after);
        // A dry face is given a depth with which all stays finite, and no flux.
        let safe = depth.max(dry);
        let mean = V::all(THETA) * own + V::all(0.5 * (1.0 - THETA)) * (before + after);
        let driven = mean - V::all(self.law.push) * safe * (level_after - level);
        let third = safe.inverse_cube_root();
        let square = third * third;
        let speed = own.max(-own);
        let drag = if MASKED {
            let (before, after): (V, V) = (
                between::<V, true>(self.law.drag, self.mask[0], x),
                between::<V, true>(self.law.drag, self.mask[1], x),
            );
            V::all(0.5) * (before + after)
        } else {
            V::all(self.law.drag[0])
        };
        let flux = driven / (one + drag * speed * (square * square * square * third));
        depth.if_above(dry, flux, V::all(0.0)).store(self.out, x);
    }
}

/// The fluxes of a band.
pub(super) struct Flow<'a> {
    pub surface: &'a Surface<'a>,
    pub border: Border,
    pub law: Law,
    pub covered: Option<&'a Covered<Params>>,
    pub rows: Range<usize>,
    pub old: (&'a [f32], &'a [f32]),
    pub out: (&'a mut [f32], &'a mut [f32]),
}

impl Pass for Flow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        if self.covered.is_some() { self.run_as::<V, true>() } else { self.run_as::<V, false>() }
    }
}

impl Flow<'_> {
    #[inline(always)]
    fn run_as<V: Cells, const MASKED: bool>(self) {
        let Border { width, height, edge } = self.border;
        let mut window = Window::new(self.border, self.rows.start);
        // A row of faces with one more at either end.
        let mut padded = vec![0.0; width + 3];
        for (line, y) in self.rows.clone().enumerate() {
            window.go_to::<V>(y, self.surface);
            let ([above, ground, below], [over, level, under]) = (window.quantity(GROUND), window.quantity(LEVEL));
            let old = &self.old.0[y * (width + 1)..(y + 1) * (width + 1)];
            padded[1..=width + 1].copy_from_slice(old);
            // Across an open border the neighbour is the face itself.
            (padded[0], padded[width + 2]) =
                if edge == Edge::Wrap { (old[width - 1], old[1]) } else { (old[0], old[width]) };
            let out = &mut self.out.0[line * (width + 1)..(line + 1) * (width + 1)];
            let fluxes = [&padded[..], &padded[1..], &padded[2..]];
            let (ground_sides, level_sides) = ([ground, &ground[1..]], [level, &level[1..]]);
            let mask = self.covered.map_or([&[] as &[f32]; 3], |covered| covered.rows(y));
            let (law, beside) = (self.law, if MASKED { [mask[1], &mask[1][1..]] } else { [mask[1]; 2] });
            let faces = FaceRow::<MASKED> { law, mask: beside, fluxes, ground: ground_sides, level: level_sides, out };
            over_row::<V>(width + 1, faces);
            match edge {
                Edge::Wall => (out[0], out[width]) = (0.0, 0.0),
                Edge::Wrap => out[width] = out[0],
                Edge::Open => {}
            }
            // Faces above this row, and below the map's last.
            for face in y..=y + usize::from(y + 1 == height) {
                let out = &mut self.out.1[(face - self.rows.start) * width..(face - self.rows.start + 1) * width];
                let closes = face == 0 || face == height;
                if closes && edge == Edge::Wall {
                    out.fill(0.0);
                    continue;
                }
                let row = |face: usize| &self.old.1[face * width..(face + 1) * width];
                let (before, after) = match (closes, edge) {
                    (true, Edge::Wrap) => (row(height - 1), row(1)),
                    _ => (row(face.saturating_sub(1)), row((face + 1).min(height))),
                };
                let own = row(face);
                let (ground, level) =
                    if face == y { ([above, ground], [over, level]) } else { ([ground, below], [level, under]) };
                let (ground, level) = (ground.map(|row| &row[1..]), level.map(|row| &row[1..]));
                let sides = if face == y { [mask[0], mask[1]] } else { [mask[1], mask[2]] };
                let sides = if MASKED { sides.map(|row| &row[1..]) } else { sides };
                let fluxes = [before, own, after];
                over_row::<V>(width, FaceRow::<MASKED> { law, mask: sides, fluxes, ground, level, out });
            }
        }
    }
}
