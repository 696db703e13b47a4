//! The paper's water: four one-way pipes per cell of constant cross-section (eqs 1–16), with its misprints mended.
//!
//! ```text
//! f_i ← max(0, f_i + Δt·A·g·ΔH_i/l),  f ← min(1, d·l²/(Δt·Σf))·f                        eqs 2–5
//! d ← d + Δt·(Σ in − Σ out)/l²,  u = ½·(what passes left + what passes right)/(l·d̄)      eqs 6–8
//! C = Kc·max(sin α, least)·|v|·max(0, 1 − d/Kdmax),  or with −N·V instead of sin α       eqs 9–11
//! below C: dissolve Δt·R·Ks·(C − s);  above: settle Δt·Kd·(s − C), soften the ground     eqs 12–14
//! s(x) ← s(x − v·Δt),  d ← d·(1 − Ke·Δt)                                                 eqs 15, 16
//! ```
//!
//! The ground is one solid; its two layers are only kept in step. Eq. 15 does not conserve sediment: what it makes or
//! destroys is booked as lost, and so is water that sediment displaces.

mod erode;
mod flow;
mod transport;

use self::{
    erode::{Bed, Erode},
    flow::Flow,
    transport::{Carried, Transport},
};
use super::{Params, Sums, surface::Surface};
use crate::sim::{
    cells::with_vector_unit,
    grid::Grid,
    memory::{Memories, Memory},
    stencil::{Border, for_bands},
    terrain::Terrain,
};

/// Part of the stability limit c·Δt/l ≤ 0.499 that is used.
pub(super) const COURANT: f32 = 0.35;

/// Out-fluxes in cubic metres per second, and velocities in metres per second.
#[derive(Clone)]
pub(super) struct Pipes {
    size: (usize, usize),
    /// To the left, right, above and below.
    flux: [Vec<f32>; 4],
    pub(super) velocity: [Grid; 2],
    /// Where the next layers are made: bedrock, sand, water, suspended.
    spare: [Grid; 4],
}

const LEFT: usize = 0;
const RIGHT: usize = 1;
const ABOVE: usize = 2;
const BELOW: usize = 3;

impl Pipes {
    pub(super) fn memories(&mut self) -> Memories<'_> {
        let fluxes = ["flux left", "flux right", "flux above", "flux below"].into_iter().zip(&mut self.flux);
        let [u, v] = &mut self.velocity;
        let fluxes = fluxes.map(|(name, flux)| (name, Memory::Cells(flux)));
        fluxes.chain([("velocity x", Memory::Cells(u)), ("velocity y", Memory::Cells(v))]).collect()
    }

    pub(super) fn still(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let empty = || Grid::filled(width, height, 0.0);
        Self {
            size: (width, height),
            flux: std::array::from_fn(|_| vec![0.0; width * height]),
            velocity: [empty(), empty()],
            spare: [empty(), empty(), empty(), empty()],
        }
    }

    pub(super) fn fit(&self, terrain: &Terrain) -> bool {
        self.size == (terrain.width(), terrain.height())
    }

    /// Finds the fluxes that the surface drives, limited to what is there.
    pub(super) fn flow(&mut self, terrain: &Terrain, params: &Params, dt: f32) {
        let (width, height) = self.size;
        let surface = Surface::of_water(terrain, params, dt);
        let size = terrain.cell_size;
        let push = push(params, size, dt);
        let volume = size * size / dt.max(f32::MIN_POSITIVE);
        let written = self.flux.each_mut().map(|flux| (&mut flux[..], width));
        for_bands(height, written, |rows, out| {
            with_vector_unit(Flow { surface: &surface, border: Border::of(terrain), push, volume, rows, out });
        });
    }

    /// Moves the water, exchanges sediment with the bed, carries sediment on, and lets water evaporate.
    pub(super) fn carry(&mut self, terrain: &mut Terrain, params: &Params, dt: f32) -> Sums {
        let (width, height) = self.size;
        let border = Border::of(terrain);
        let mut sums = Sums::default();
        // Layers of which a cell needs its own alone are changed where they are.
        let nothing = || Grid::filled(0, 0, 0.0);
        let mut suspended = std::mem::replace(&mut terrain.suspended, nothing());
        let mut softness = std::mem::replace(&mut terrain.softness, nothing());
        let surface = Surface::of_water(terrain, params, dt);
        let flux = self.flux.each_ref().map(|flux| &flux[..]);
        let bed = Bed::new(params, terrain.cell_size, dt);
        let push = push(params, terrain.cell_size, dt);
        let [bedrock, sand, water, _] = &mut self.spare;
        let [u, v] = &mut self.velocity;
        let layers = [bedrock, sand, water, &mut suspended, &mut softness, u, v];
        let written = layers.map(|layer| (&mut layer[..], width));
        let bands = for_bands(height, written, |rows, out| {
            with_vector_unit(Erode { surface: &surface, border, bed, flux, push, rows, out })
        });
        bands.into_iter().for_each(|band| sums += band);
        let [bedrock, sand, water, next] = &mut self.spare;
        std::mem::swap(&mut terrain.bedrock, bedrock);
        std::mem::swap(&mut terrain.sand, sand);
        std::mem::swap(&mut terrain.water, water);
        terrain.softness = softness;
        let carried = Carried { suspended: &suspended };
        let shift = dt / terrain.cell_size;
        let stays = (1.0 - params.evaporation_rate * dt).max(0.0);
        let [u, v] = self.velocity.each_ref();
        let written = [(&mut next[..], width), (&mut terrain.water[..], width)];
        let bands = for_bands(height, written, |rows, out| {
            with_vector_unit(Transport { carried: &carried, border, shift, stays, u, v, rows, out })
        });
        for [lost, evaporated] in bands {
            sums.solid_lost += lost;
            sums.evaporated += evaporated;
        }
        terrain.suspended = std::mem::replace(next, suspended);
        sums
    }
}

/// What a metre of difference adds to the flux of a pipe in a step, in square metres per second.
fn push(params: &Params, size: f32, dt: f32) -> f32 {
    params.gravity * params.pipe_area * dt / size
}
