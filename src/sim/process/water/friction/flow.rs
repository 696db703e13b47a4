//! The fluxes that the slope of the fluid's surface drives.

use std::ops::Range;

use super::{DRAG, DRY, X, Y};
use crate::sim::{
    aligned::Aligned,
    cells::{Cells, RowKernel, over_row},
    masked::{Number, Numbers},
    process::water::surface::{GROUND, LEVEL},
    stencil::{Border, Ring, Window, across, sides},
    strip::Strip,
    terrain::Edge,
};

/// Weight of a face's own flux against its neighbours' mean.
const THETA: f32 = 0.8;

/// A row of faces: their old fluxes, those of their neighbours, the cells on both sides.
struct FaceRow<'a, N> {
    /// g·Δt/l.
    push: f32,
    /// g·Δt·n² on both sides.
    drag: [N; 2],
    fluxes: [&'a [f32]; 3],
    ground: [&'a [f32]; 2],
    level: [&'a [f32]; 2],
    out: &'a mut [f32],
}

impl<N: Number> RowKernel for FaceRow<'_, N> {
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
        let driven = mean - V::all(self.push) * safe * (level_after - level);
        let third = safe.inverse_cube_root();
        let square = third * third;
        let speed = own.max(-own);
        let drag = V::all(0.5) * (self.drag[0].at::<V>(x) + self.drag[1].at::<V>(x));
        let flux = driven / (one + drag * speed * (square * square * square * third));
        depth.if_above(dry, flux, V::all(0.0)).store(self.out, x);
    }
}

/// The fluxes of the next step, row after row, before they are limited to what is there.
pub(super) struct Flow {
    border: Border,
    /// g·Δt/l.
    push: f32,
    /// Rows of cells of which the faces to the left are found, and the last one's to the right.
    rows: Range<isize>,
    /// A row of old fluxes with one more at either end.
    padded: Aligned,
    x: Ring<1, 2>,
    y: Ring<1, 3>,
}

impl Flow {
    /// Fluxes of these rows; `push` is g·Δt/l.
    pub fn new(border: Border, push: f32, rows: Range<isize>) -> Self {
        let (width, first) = (border.width, rows.start);
        let padded = Aligned::filled(width + 3, 0.0);
        Self { border, push, rows, padded, x: Ring::new(width + 1, first), y: Ring::new(width, first) }
    }

    /// Fluxes across the faces left of the cells of row `y`, and right of the last.
    #[inline(always)]
    pub fn x(&self, y: isize) -> &[f32] {
        &self.x.row(0, y)[1..self.border.width + 2]
    }

    /// Fluxes across the faces above the cells of row `y`.
    #[inline(always)]
    pub fn y(&self, y: isize) -> &[f32] {
        &self.y.row(0, y)[1..self.border.width + 1]
    }

    /// Finds the fluxes along row `y`, if it is among those asked for.
    #[inline(always)]
    pub fn along_row<V: Cells>(
        &mut self,
        y: isize,
        surface: &Window<2, 4>,
        old: &Strip<'_, 2>,
        numbers: &impl Numbers,
    ) {
        if !self.rows.contains(&y) {
            return;
        }
        let Border { width, edge, .. } = self.border;
        let (ground, level) = (surface.row(GROUND, y), surface.row(LEVEL, y));
        let old = &old.row(X, y)[..width + 1];
        self.padded[1..=width + 1].copy_from_slice(old);
        // Across an open border the neighbour is the face itself.
        (self.padded[0], self.padded[width + 2]) =
            if edge == Edge::Wrap { (old[width - 1], old[1]) } else { (old[0], old[width]) };
        let [out] = self.x.push();
        let faces = width + 1;
        let out = &mut out[..faces];
        let fluxes = sides(&self.padded, faces);
        let (ground, level) = (across(ground, faces), across(level, faces));
        let drag = numbers.row(DRAG, y);
        let drag = [drag.cut(0, faces), drag.cut(1, faces)];
        over_row::<V>(faces, FaceRow { push: self.push, drag, fluxes, ground, level, out });
        match edge {
            Edge::Wall => (out[0], out[width]) = (0.0, 0.0),
            Edge::Wrap => out[width] = out[0],
            Edge::Open => {}
        }
    }

    /// Finds the fluxes from the row above row `y` into it, if they are among those asked for.
    #[inline(always)]
    pub fn across_rows<V: Cells>(
        &mut self,
        y: isize,
        surface: &Window<2, 4>,
        old: &Strip<'_, 2>,
        numbers: &impl Numbers,
    ) {
        if y < self.rows.start || y > self.rows.end {
            return;
        }
        let Border { width, height, edge } = self.border;
        let closes = edge != Edge::Wrap && (y == 0 || y == height as isize);
        let [out] = self.y.push();
        if closes && edge == Edge::Wall {
            out.fill(0.0);
            return;
        }
        // There is a row of faces more than of cells.
        let nearest = |y: isize| if edge == Edge::Wrap { y } else { edge.nearest(y, height + 1) as isize };
        let fluxes = [y - 1, y, y + 1].map(|y| &old.row(Y, nearest(y))[..width]);
        let both = |quantity: usize| {
            [sides(surface.row(quantity, y - 1), width)[1], sides(surface.row(quantity, y), width)[1]]
        };
        let (ground, level) = (both(GROUND), both(LEVEL));
        let drag = [numbers.row(DRAG, y - 1).cut(1, width), numbers.row(DRAG, y).cut(1, width)];
        let out = &mut out[..width];
        over_row::<V>(width, FaceRow { push: self.push, drag, fluxes, ground, level, out });
    }

    /// Puts the fluxes of row `y` where they can be looked at.
    pub fn show(&self, y: isize, faces: &mut Strip<'_, 2>) {
        let [x, above] = faces.rows_mut(y);
        x.copy_from_slice(self.x(y));
        above.copy_from_slice(self.y(y));
        if y + 1 == self.border.height as isize {
            faces.rows_mut(y + 1)[Y].copy_from_slice(self.y(y + 1));
        }
    }
}
