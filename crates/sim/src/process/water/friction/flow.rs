//! Fluxes driven by the slope of the fluid surface and by momentum.

use std::ops::Range;

use super::{DRAG, DRY, X, Y};
use crate::{
    core::{border::Border, terrain::Edge},
    process::{
        masked::{Coefficient, CoefficientWindow},
        water::{
            FILM,
            active::Active,
            surface::{GROUND, LEVEL},
        },
    },
    simd::{
        cells::{Cells, MAX_LANES, RowKernel},
        stencil::{Ring, StencilWindow, across, sides},
        strip::Strip,
    },
};

/// Weight of the deeper side in the depth that sets the velocity.
pub(in super::super) const DEEPER: f32 = 0.75;
/// Square, in m², of the depth below which the momentum of a film is damped.
pub(in super::super) const CARRIES: f32 = 2e-5;

/// Coefficients of the flow in a step.
#[derive(Clone, Copy)]
pub(super) struct FlowCoefficients {
    /// g·Δt/l.
    pub push: f32,
    /// Δt/l.
    pub dt_over_l: f32,
    /// Acceleration of gravity, in metres per second squared.
    pub gravity: f32,
}

/// Indices of the quantities of faces.
const FLUX: usize = 0;
const SPEED: usize = 1;

/// Ground and level of the cells on both sides of a row of faces.
#[derive(Clone, Copy)]
pub(super) struct FaceSides<'a> {
    pub ground: [&'a [f32]; 2],
    pub level: [&'a [f32]; 2],
}

impl FaceSides<'_> {
    /// Returns the depth of the fluid at the faces from `x` on, and its velocity there for this flux.
    #[inline(always)]
    pub fn depth_and_speed<V: Cells>(&self, x: usize, flux: V) -> (V, V) {
        let (ground, ground_after) = (V::load(self.ground[0], x), V::load(self.ground[1], x));
        let (level, level_after) = (V::load(self.level[0], x), V::load(self.level[1], x));
        let depth = level.max(level_after) - ground.max(ground_after);
        let least = (level - ground).min(level_after - ground_after).min(depth);
        let seen = V::all(DEEPER) * depth + V::all(1.0 - DEEPER) * least;
        let speed = flux * (seen / (seen * seen + V::all(CARRIES)));
        (depth, depth.if_above(V::all(DRY), speed, V::all(0.0)))
    }
}

/// Returns the speed of the fastest wave on fluid of this depth and velocity; films count as deeper than they are.
#[inline(always)]
pub(super) fn wave<V: Cells>(gravity: f32, depth: V, speed: V) -> V {
    speed.max(-speed) + (V::all(gravity) * depth.max(V::all(FILM))).sqrt()
}

/// Velocities of a row of faces, from their fluxes and the cells on both sides.
struct SpeedRow<'a> {
    /// Maximum speed: a cell per step.
    fastest: f32,
    gravity: f32,
    flux: &'a [f32],
    sides: FaceSides<'a>,
    out: [&'a mut [f32]; 2],
    wave: &'a mut [f32; MAX_LANES],
}

impl RowKernel for SpeedRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (flux, fastest) = (V::load(self.flux, x), V::all(self.fastest));
        let (depth, speed) = self.sides.depth_and_speed(x, flux);
        V::load(self.wave, 0).max(wave(self.gravity, depth, speed)).store(self.wave, 0);
        let [flux_out, speed_out] = &mut self.out;
        flux.store(flux_out, x);
        speed.min(fastest).max(-fastest).store(speed_out, x);
    }
}

/// New fluxes of a row of faces, from old fluxes and velocities, those around them, and the cells on both sides.
struct FaceRow<'a, N> {
    drive: FlowCoefficients,
    /// g·Δt·n² on both sides.
    drag: [N; 2],
    /// Along the flux: the previous face, this one, the next.
    fluxes: [&'a [f32]; 3],
    speeds: [&'a [f32]; 3],
    /// Velocities of the adjacent parallel faces.
    beside: [&'a [f32]; 2],
    /// Transverse fluxes on either side.
    crossing: [[&'a [f32]; 2]; 2],
    ground: [&'a [f32]; 2],
    level: [&'a [f32]; 2],
    out: &'a mut [f32],
}

impl<N: Coefficient> RowKernel for FaceRow<'_, N> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (before, own, after) = (V::load(self.fluxes[0], x), V::load(self.fluxes[1], x), V::load(self.fluxes[2], x));
        let (speed_before, speed, speed_after) =
            (V::load(self.speeds[0], x), V::load(self.speeds[1], x), V::load(self.speeds[2], x));
        let (one, zero, dry) = (V::all(1.0), V::all(0.0), V::all(DRY));
        // Each flux advects the momentum of its upwind face.
        let along = (before.positive() * speed_before + (-after).positive() * speed_after) - own.max(-own) * speed;
        // Twice the transverse flux on either side.
        let crossing = |side: usize| {
            let [one, other] = self.crossing[side];
            V::load(one, x) + V::load(other, x)
        };
        let (near, far) = (crossing(0), crossing(1));
        let into = near * near.if_above(zero, V::load(self.beside[0], x), speed);
        let aside = into - far * far.if_above(zero, speed, V::load(self.beside[1], x));
        let (ground, ground_after) = (V::load(self.ground[0], x), V::load(self.ground[1], x));
        let (level, level_after) = (V::load(self.level[0], x), V::load(self.level[1], x));
        let depth = level.max(level_after) - ground.max(ground_after);
        // A dry face gets a depth that keeps all values finite, and no flux.
        let safe = depth.max(dry);
        let driven = (own + V::all(self.drive.dt_over_l) * (along + V::all(0.5) * aside))
            - V::all(self.drive.push) * safe * (level_after - level);
        // Friction acts on the magnitude of the flow, not on each component separately.
        let sideways = V::all(0.25) * (near + far);
        let whole = (own * own + sideways * sideways).sqrt();
        let third = safe.inverse_cube_root();
        let square = third * third;
        let drag = V::all(0.5) * (self.drag[0].at::<V>(x) + self.drag[1].at::<V>(x));
        let flux = driven / (one + drag * whole * (square * square * square * third));
        depth.if_above(dry, flux, zero).store(self.out, x);
    }
}

/// Fluxes of the next step before they are limited, row by row.
pub(super) struct FluxRows {
    border: Border,
    drive: FlowCoefficients,
    /// Rows of cells whose faces are computed.
    rows: Range<isize>,
    /// Fluxes and velocities before the step.
    old_x: Ring<2, 3>,
    old_y: Ring<2, 3>,
    x: Ring<1, 2>,
    y: Ring<1, 3>,
    /// Speed of the fastest wave before the step, in each lane.
    wave: [f32; MAX_LANES],
}

impl FluxRows {
    /// Creates the fluxes of these rows.
    pub fn new(border: Border, drive: FlowCoefficients, rows: Range<isize>) -> Self {
        let (width, first) = (border.width, rows.start);
        Self {
            border,
            drive,
            rows,
            old_x: Ring::new(width + 1, first - 1),
            old_y: Ring::new(width, first - 1),
            x: Ring::new(width + 1, first),
            y: Ring::new(width, first),
            wave: [0.0; MAX_LANES],
        }
    }

    /// Returns the speed of the fastest wave so far, in metres per second.
    pub fn wave(&self) -> f32 {
        self.wave.into_iter().fold(0.0, f32::max)
    }

    /// Returns the fluxes across the faces left of the cells of row `y`, and right of the last.
    #[inline(always)]
    pub fn x(&self, y: isize) -> &[f32] {
        &self.x.row(0, y)[1..self.border.width + 2]
    }

    /// Returns the fluxes across the faces above the cells of row `y`.
    #[inline(always)]
    pub fn y(&self, y: isize) -> &[f32] {
        &self.y.row(0, y)[1..self.border.width + 1]
    }

    /// Returns `y`, clamped to `rows` rows unless the border wraps.
    fn nearest(&self, y: isize, rows: usize) -> isize {
        if self.border.edge == Edge::Wrap { y } else { self.border.edge.nearest(y, rows) as isize }
    }

    /// Loads the previous fluxes along row `y` of the cells and across the faces above row `y + 1`, with their velocities. Rows come in
    /// order; the surface is known down to row `y + 1`.
    #[inline(always)]
    pub fn load_previous<V: Cells>(
        &mut self,
        y: isize,
        surface: &StencilWindow<2, 5>,
        old: &Strip<'_, 2>,
        active: &Active,
    ) {
        let Border { width, height, edge } = self.border;
        let (fastest, gravity) = (1.0 / self.drive.dt_over_l.max(f32::MIN_POSITIVE), self.drive.gravity);
        if y == self.old_x.last() + 1 {
            let row = self.nearest(y, height);
            let faces = width + 1;
            let (ground, level) = (across(surface.row(GROUND, row), faces), across(surface.row(LEVEL, row), faces));
            let flux = &old.row(X, row)[..faces];
            let [flux_out, speed_out] = self.old_x.push();
            let out = [&mut flux_out[..faces], &mut speed_out[..faces]];
            let spans = active.spans(row);
            spans.clear_others(out[0]);
            spans.clear_others(out[1]);
            spans.run::<V>(
                faces,
                SpeedRow { fastest, gravity, flux, sides: FaceSides { ground, level }, out, wave: &mut self.wave },
            );
            self.old_x.close_faces(edge);
        }
        if y + 1 == self.old_y.last() + 1 {
            // There is one more row of faces than of cells.
            let row = self.nearest(y + 1, height + 1);
            let both = |quantity: usize| {
                [sides(surface.row(quantity, row - 1), width)[1], sides(surface.row(quantity, row), width)[1]]
            };
            let (ground, level) = (both(GROUND), both(LEVEL));
            let flux = &old.row(Y, row)[..width];
            let [flux_out, speed_out] = self.old_y.push();
            let out = [&mut flux_out[..width], &mut speed_out[..width]];
            let spans = active.spans(row);
            spans.clear_others(out[0]);
            spans.clear_others(out[1]);
            spans.run::<V>(
                width,
                SpeedRow { fastest, gravity, flux, sides: FaceSides { ground, level }, out, wave: &mut self.wave },
            );
            self.old_y.close(if edge == Edge::Wrap { edge } else { Edge::Wall }, [[0.0; 2]; 2]);
        }
    }

    /// Computes the fluxes along row `y`, if it is among the requested rows.
    #[inline(always)]
    pub fn along_row<V: Cells>(
        &mut self,
        y: isize,
        surface: &StencilWindow<2, 5>,
        numbers: &impl CoefficientWindow,
        active: &Active,
    ) {
        if !self.rows.contains(&y) {
            return;
        }
        let Border { width, edge, .. } = self.border;
        let faces = width + 1;
        let (ground, level) = (across(surface.row(GROUND, y), faces), across(surface.row(LEVEL, y), faces));
        let fluxes = sides(self.old_x.row(FLUX, y), faces);
        let speeds = sides(self.old_x.row(SPEED, y), faces);
        let beside = [y - 1, y + 1].map(|y| sides(self.old_x.row(SPEED, y), faces)[1]);
        let crossing = [y, y + 1].map(|y| across(self.old_y.row(FLUX, y), faces));
        let drag = numbers.row(DRAG, y);
        let drag = [drag.slice(0, faces), drag.slice(1, faces)];
        let [out] = self.x.push();
        let out = &mut out[..faces];
        let drive = self.drive;
        let spans = active.spans(y);
        spans.clear_others(out);
        spans.run::<V>(faces, FaceRow { drive, drag, fluxes, speeds, beside, crossing, ground, level, out });
        match edge {
            Edge::Wall => (out[0], out[width]) = (0.0, 0.0),
            Edge::Wrap => out[width] = out[0],
            Edge::Open => {}
        }
    }

    /// Computes the fluxes from the row above row `y` into it, if they are among the requested rows.
    #[inline(always)]
    pub fn across_rows<V: Cells>(
        &mut self,
        y: isize,
        surface: &StencilWindow<2, 5>,
        numbers: &impl CoefficientWindow,
        active: &Active,
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
        let here = |quantity: usize, y: isize| sides(self.old_y.row(quantity, y), width);
        let fluxes = [y - 1, y, y + 1].map(|y| here(FLUX, y)[1]);
        let speeds = [y - 1, y, y + 1].map(|y| here(SPEED, y)[1]);
        let [left, _, right] = here(SPEED, y);
        let [above, below] = [y - 1, y].map(|y| sides(self.old_x.row(FLUX, y), width));
        let crossing = [[above[1], below[1]], [above[2], below[2]]];
        let both = |quantity: usize| {
            [sides(surface.row(quantity, y - 1), width)[1], sides(surface.row(quantity, y), width)[1]]
        };
        let (ground, level) = (both(GROUND), both(LEVEL));
        let drag = [numbers.row(DRAG, y - 1).slice(1, width), numbers.row(DRAG, y).slice(1, width)];
        let out = &mut out[..width];
        let (drive, beside) = (self.drive, [left, right]);
        let spans = active.spans(y);
        spans.clear_others(out);
        spans.run::<V>(width, FaceRow { drive, drag, fluxes, speeds, beside, crossing, ground, level, out });
    }

    /// Copies the fluxes of row `y` to `faces` for display.
    pub fn show(&self, y: isize, faces: &mut Strip<'_, 2>) {
        let [x, above] = faces.rows_mut(y);
        x.copy_from_slice(self.x(y));
        above.copy_from_slice(self.y(y));
        if y + 1 == self.border.height as isize {
            faces.rows_mut(y + 1)[Y].copy_from_slice(self.y(y + 1));
        }
    }
}
