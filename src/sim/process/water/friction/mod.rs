//! The default water: one signed flux per face, driven by the slope of the fluid's surface, slowed by the bed.
//!
//! ```text
//! H = ground + water + suspended                       surface of the fluid
//! h = max(H₁, H₂) − max(ground₁, ground₂)              depth at a face
//! q̄ = θ·q + (1 − θ)/2·(q of both neighbours)           against ripples (de Almeida 2012)
//! q ← (q̄ − g·h·Δt·(H₂ − H₁)/l) / (1 + g·Δt·n²·|q|/h^(7/3))
//! K = min(1, fluid·l / (Δt·Σ outflow))                 nobody gives more than is there
//! ```
//!
//! A flux moves the fluid, water and sediment each in its share, from the cell that it leaves. So both are conserved, and
//! erosion and deposition change neither the surface nor the ledger.

mod carry;
mod flow;

use std::ops::Range;

use self::{
    carry::{Bed, Carry, Fluid},
    flow::{Flow, Law},
};
use super::{FILM_SQUARE, Params, Rain, Sums, surface::Surface};
use crate::sim::{
    cells::with_vector_unit,
    grid::Grid,
    masked::Covered,
    memory::{Memories, Memory},
    stencil::{Border, for_bands},
    terrain::Terrain,
};

/// Part of the stability limit c·Δt/l ≤ 0.707 that is used.
pub(super) const COURANT: f32 = 0.35;
/// Depths up to this, in metres, do not flow.
const DRY: f32 = 1e-5;

/// Fluxes across the faces between cells, in square metres per second: positive along columns and rows.
#[derive(Clone)]
pub(super) struct Faces {
    size: (usize, usize),
    /// Left of every cell, and right of the last: `width + 1` in a row.
    x: Vec<f32>,
    /// Above every cell, and below the last row.
    y: Vec<f32>,
    /// The fluxes of the next step, before they are limited to what is there.
    next_x: Vec<f32>,
    next_y: Vec<f32>,
    /// Where the next layers are made: bedrock, sand, water, suspended.
    spare: [Grid; 4],
}

impl Faces {
    pub(super) fn memories(&mut self) -> Memories<'_> {
        vec![("flow x", Memory::Cells(&mut self.x)), ("flow y", Memory::Cells(&mut self.y))]
    }

    pub(super) fn still(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let (x, y) = (vec![0.0; (width + 1) * height], vec![0.0; width * (height + 1)]);
        let spare = || Grid::filled(width, height, 0.0);
        Self {
            size: (width, height),
            next_x: x.clone(),
            next_y: y.clone(),
            x,
            y,
            spare: [spare(), spare(), spare(), spare()],
        }
    }

    pub(super) fn fit(&self, terrain: &Terrain) -> bool {
        self.size == (terrain.width(), terrain.height())
    }

    /// Velocity of the fluid along columns and rows, in metres per second; films that hardly flow have none.
    pub(super) fn velocity(&self, terrain: &Terrain) -> [Grid; 2] {
        let (width, height) = self.size;
        let along = |x: usize, y: usize, first: f32, second: f32| {
            let index = y * width + x;
            let depth = terrain.water[index] + terrain.suspended[index];
            0.5 * (first + second) * depth / (depth * depth + FILM_SQUARE)
        };
        let mut velocity = [Grid::filled(width, height, 0.0), Grid::filled(width, height, 0.0)];
        let [u, v] = &mut velocity;
        for_bands(height, [(&mut u[..], width), (&mut v[..], width)], |rows, [u, v]| {
            for (line, y) in rows.enumerate() {
                for x in 0..width {
                    let (face, at) = (y * (width + 1) + x, line * width + x);
                    u[at] = along(x, y, self.x[face], self.x[face + 1]);
                    v[at] = along(x, y, self.y[y * width + x], self.y[(y + 1) * width + x]);
                }
            }
        });
        velocity
    }

    /// Finds the fluxes that the surface drives.
    pub(super) fn flow(&mut self, terrain: &Terrain, params: &Params, covered: Option<&Covered<Params>>, dt: f32) {
        let (width, height) = self.size;
        let (old_x, old_y) = (&self.x[..], &self.y[..]);
        let surface = Surface::of_fluid(terrain, params, covered, dt);
        let drag = |params: &Params| params.gravity * dt * params.roughness * params.roughness;
        let law = Law {
            push: params.gravity * dt / terrain.cell_size,
            drag: [drag(params), covered.map_or(0.0, |covered| drag(&covered.params))],
        };
        for_bands(height, [(&mut self.next_x, width + 1), (&mut self.next_y, width)], |rows, [x, y]| {
            let border = Border::of(terrain);
            with_vector_unit(Flow { surface: &surface, border, law, covered, rows, old: (old_x, old_y), out: (x, y) });
        });
    }

    /// Moves water and sediment along the fluxes, and exchanges sediment with the bed.
    pub(super) fn carry(
        &mut self,
        terrain: &mut Terrain,
        params: &Params,
        covered: Option<&Covered<Params>>,
        dt: f32,
    ) -> Sums {
        let (width, height) = self.size;
        let bed = [params, covered.map_or(params, |covered| &covered.params)].map(|params| Bed::new(params, dt));
        let share = dt / terrain.cell_size;
        let (next_x, next_y) = (&self.next_x[..], &self.next_y[..]);
        let border = Border::of(terrain);
        let rain = Rain::new(terrain, params, covered, dt);
        let fluid = Fluid { terrain, rain, sea_level: params.sea_level, share, fluxes: (next_x, next_y) };
        let [bedrock, sand, water, suspended] = self.spare.each_mut().map(|grid| (&mut grid[..], width));
        let written = [bedrock, sand, water, suspended, (&mut self.x[..], width + 1), (&mut self.y[..], width)];
        let mut sums = Sums::default();
        for band in for_bands(height, written, |rows, out| {
            with_vector_unit(Carry { fluid: &fluid, border, bed, covered, rows, out })
        }) {
            sums += band;
        }
        let [bedrock, sand, water, suspended] = &mut self.spare;
        std::mem::swap(&mut terrain.bedrock, bedrock);
        std::mem::swap(&mut terrain.sand, sand);
        std::mem::swap(&mut terrain.water, water);
        std::mem::swap(&mut terrain.suspended, suspended);
        sums
    }
}

/// The four layers that make the surface of the fluid, in a part of the map.
fn layers(terrain: &Terrain, part: Range<usize>) -> [&[f32]; 4] {
    [&terrain.bedrock, &terrain.sand, &terrain.water, &terrain.suspended].map(|layer| &layer[part.clone()])
}
