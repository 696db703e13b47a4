//! Scalar reference implementation of published water and thermal erosion (Jákó & Tóth 2011): cell by cell, on one thread, between
//! walls.
//!
//! Every layer has a ring of ghost cells, so that no loop checks for the border.

use thalweg_sim::{
    core::terrain::Terrain,
    process::{
        thermal,
        water::{Capacity, Params},
    },
};

#[cfg(test)]
use super::unringed;
use super::{close, ringed, ringed_layers};

/// Layers of a terrain with a single solid, and the fluxes between its cells.
#[derive(Clone, Debug)]
pub(in crate::bench) struct ScalarWater {
    width: usize,
    height: usize,
    size: f32,
    ground: Vec<f32>,
    water: Vec<f32>,
    suspended: Vec<f32>,
    softness: Vec<f32>,
    /// Fluxes to the left, right, above and below; none leaves the ring.
    flux: [Vec<f32>; 4],
    velocity: [Vec<f32>; 2],
    next_ground: Vec<f32>,
    next_water: Vec<f32>,
    next_suspended: Vec<f32>,
    gives: Vec<f32>,
}

impl ScalarWater {
    /// Copies the layers of a terrain, without flow.
    pub(in crate::bench) fn new(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let empty = || vec![0.0; (width + 2) * (height + 2)];
        let [ground, water, suspended] = ringed_layers(terrain);
        Self {
            width,
            height,
            size: terrain.cell_size,
            ground,
            water,
            suspended,
            softness: ringed(&terrain.softness, width, height),
            flux: [empty(), empty(), empty(), empty()],
            velocity: [empty(), empty()],
            next_ground: empty(),
            next_water: empty(),
            next_suspended: empty(),
            gives: empty(),
        }
    }

    /// Returns ground heights, water depths and suspended sediment.
    #[cfg(test)]
    pub(super) fn layers(&self) -> [Vec<f32>; 3] {
        [&self.ground, &self.water, &self.suspended].map(|layer| unringed(layer, self.width, self.height))
    }

    /// Runs a step of `dt` seconds, eqs 1 to 16.
    pub(in crate::bench) fn flow(&mut self, params: &Params, dt: f32) {
        let (width, height, size) = (self.width, self.height, self.size);
        for water in &mut self.water {
            *water += params.rain_rate * dt;
        }
        close(&mut self.ground, width, height);
        close(&mut self.water, width, height);
        let stride = width + 2;
        let push = dt * params.pipe_area * params.gravity / size;
        let [to_left, to_right, to_above, to_below] = &mut self.flux;
        for y in 1..=height {
            let row = y * stride..(y + 1) * stride;
            let (ground, water) = (&self.ground[row.clone()], &self.water[row.clone()]);
            let (ground_above, water_above) = (&self.ground[row.start - stride..], &self.water[row.start - stride..]);
            let (ground_below, water_below) = (&self.ground[row.end..], &self.water[row.end..]);
            let (left, right) = (&mut to_left[row.clone()], &mut to_right[row.clone()]);
            let (above, below) = (&mut to_above[row.clone()], &mut to_below[row]);
            for x in 1..=width {
                let level = ground[x] + water[x];
                let go_left = (left[x] + push * (level - (ground[x - 1] + water[x - 1]))).max(0.0);
                let go_right = (right[x] + push * (level - (ground[x + 1] + water[x + 1]))).max(0.0);
                let go_above = (above[x] + push * (level - (ground_above[x] + water_above[x]))).max(0.0);
                let go_below = (below[x] + push * (level - (ground_below[x] + water_below[x]))).max(0.0);
                let out = (go_left + go_right + go_above + go_below) * dt;
                let there = water[x] * size * size;
                let limit = if out > there { there / out } else { 1.0 };
                left[x] = go_left * limit;
                right[x] = go_right * limit;
                above[x] = go_above * limit;
                below[x] = go_below * limit;
            }
        }
        for y in 1..=height {
            self.erode(y, params, dt);
        }
        std::mem::swap(&mut self.ground, &mut self.next_ground);
        std::mem::swap(&mut self.water, &mut self.next_water);
        self.transport(dt);
        for water in &mut self.water {
            *water *= 1.0 - params.evaporation_rate * dt;
        }
    }

    /// Applies eqs 6 to 14 to a row of cells.
    fn erode(&mut self, y: usize, params: &Params, dt: f32) {
        let (stride, size, width) = (self.width + 2, self.size, self.width);
        let per_depth = match (params.depth_limit, params.max_erosion_depth > 0.0) {
            (true, true) => 1.0 / params.max_erosion_depth,
            (true, false) => f32::INFINITY,
            (false, _) => 0.0,
        };
        let fastest = size / dt;
        let (per_two_cells, per_area) = (0.5 / size, dt / (size * size));
        let [to_left, to_right, to_above, to_below] = &self.flux;
        let (ground, water) = (&self.ground, &self.water);
        for x in 1..=width {
            let here = y * stride + x;
            let (left, right, above, below) = (here - 1, here + 1, here - stride, here + stride);
            let (from_left, from_right) = (to_right[left], to_left[right]);
            let (from_above, from_below) = (to_below[above], to_above[below]);
            let (go_left, go_right, go_above, go_below) =
                (to_left[here], to_right[here], to_above[here], to_below[here]);
            let before = water[here];
            let gain = (from_left + from_right + from_above + from_below) - (go_left + go_right + go_above + go_below);
            let after = (before + per_area * gain).max(0.0);
            let mean = 0.5 * (before + after);
            let per_flux = per_two_cells * mean / (mean * mean + 1e-6);
            let u = ((from_left - go_left + go_right - from_right) * per_flux).clamp(-fastest, fastest);
            let v = ((from_above - go_above + go_below - from_below) * per_flux).clamp(-fastest, fastest);
            let speed = (u * u + v * v).sqrt();
            let per_speed = 1.0 / (speed + 1e-9);
            let slope_x = (ground[right] - ground[left]) * per_two_cells;
            let slope_y = (ground[below] - ground[above]) * per_two_cells;
            let square = slope_x * slope_x + slope_y * slope_y;
            let tilt = match params.capacity {
                Capacity::Tilt => (square / (1.0 + square)).sqrt(),
                Capacity::Collision => {
                    let fall_x = (ground[right] + water[right]) - (ground[left] + water[left]);
                    let fall_y = (ground[below] + water[below]) - (ground[above] + water[above]);
                    let fall = (fall_x * u + fall_y * v) * per_two_cells * per_speed;
                    let rise = (slope_x * u + slope_y * v) * per_speed;
                    (rise - fall) / ((1.0 + square) * (1.0 + fall * fall)).sqrt()
                }
            };
            let limit = if before > 0.0 { (1.0 - before * per_depth).max(0.0) } else { 0.0 };
            let capacity = params.sediment_capacity * tilt.max(params.least_tilt) * speed * limit;
            let (load, soft) = (self.suspended[here], self.softness[here]);
            let taken = (dt * soft * params.suspension_rate * (capacity - load).max(0.0)).min(after);
            let surplus = (load - capacity).max(0.0);
            let most = if params.displacement { load.min(after) } else { load };
            let settled = (dt * params.deposition_rate * surplus).min(most);
            let moved = taken - settled;
            let softer = (soft + dt * params.softening_rate * params.suspension_rate * surplus).min(0.9);
            self.softness[here] = if softer > soft { softer } else { soft };
            self.next_ground[here] = ground[here] - moved;
            self.suspended[here] = load + moved;
            self.next_water[here] = if params.displacement { (after + moved).max(0.0) } else { after };
            self.velocity[0][here] = u;
            self.velocity[1][here] = v;
        }
    }

    /// Advects suspended sediment, eq. 15.
    fn transport(&mut self, dt: f32) {
        let (width, height, stride) = (self.width, self.height, self.width + 2);
        close(&mut self.suspended, width, height);
        let (suspended, shift) = (&self.suspended, dt / self.size);
        for y in 1..=height {
            for x in 1..=width {
                let here = y * stride + x;
                let from_x = (x as f32 - self.velocity[0][here] * shift).clamp(0.0, (width + 1) as f32);
                let from_y = (y as f32 - self.velocity[1][here] * shift).clamp(0.0, (height + 1) as f32);
                let (x0, y0) = ((from_x as usize).min(width), (from_y as usize).min(height));
                let (part_x, part_y) = (from_x - x0 as f32, from_y - y0 as f32);
                let corner = y0 * stride + x0;
                let above = suspended[corner] + part_x * (suspended[corner + 1] - suspended[corner]);
                let under = corner + stride;
                let below = suspended[under] + part_x * (suspended[under + 1] - suspended[under]);
                self.next_suspended[here] = above + part_y * (below - above);
            }
        }
        std::mem::swap(&mut self.suspended, &mut self.next_suspended);
    }

    /// Runs a step of thermal erosion, eqs 17 and 18.
    pub(in crate::bench) fn erode_thermally(&mut self, params: &thermal::Params) {
        let (width, height, stride) = (self.width, self.height, self.width + 2);
        let share = 0.5 * (params.rate * params.dt).min(1.0);
        close(&mut self.ground, width, height);
        close(&mut self.softness, width, height);
        let (beside, across) = (self.size, self.size * 2.0_f32.sqrt());
        let around = [
            (stride, true, beside),
            (1, true, beside),
            (1, false, beside),
            (stride, false, beside),
            (stride + 1, true, across),
            (stride - 1, true, across),
            (stride - 1, false, across),
            (stride + 1, false, across),
        ];
        let at = |here: usize, step: usize, back: bool| if back { here - step } else { here + step };
        let talus = |softness: f32| (1.0 - softness) * params.talus_coefficient + params.talus_bias;
        let ground = &self.ground;
        for y in 1..=height {
            for here in y * stride + 1..=y * stride + width {
                let (own, stands) = (ground[here], talus(self.softness[here]));
                let (mut all, mut most) = (0.0, 0.0_f32);
                for (step, back, distance) in around {
                    let fall = own - ground[at(here, step, back)];
                    most = most.max(fall);
                    all += if fall > stands * distance { fall } else { 0.0 };
                }
                self.gives[here] = if all > 0.0 { share * self.softness[here] * most / all } else { 0.0 };
            }
        }
        for y in 1..=height {
            for here in y * stride + 1..=y * stride + width {
                let (own, stands) = (ground[here], talus(self.softness[here]));
                let (mut falls, mut comes) = (0.0, 0.0);
                for (step, back, distance) in around {
                    let other = at(here, step, back);
                    let fall = own - ground[other];
                    falls += if fall > stands * distance { fall } else { 0.0 };
                    let rise = self.gives[other] * -fall;
                    comes += if -fall > talus(self.softness[other]) * distance { rise } else { 0.0 };
                }
                self.next_ground[here] = own + (comes - self.gives[here] * falls);
            }
        }
        std::mem::swap(&mut self.ground, &mut self.next_ground);
    }
}
