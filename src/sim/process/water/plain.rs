//! The paper's water and slumping as one would first write them: cell by cell, one thread, between walls. The yardstick of
//! `thalweg bench`, and what the fast forms are tested against.

use super::{Capacity, Params};
use crate::sim::{process::thermal, terrain::Terrain};

/// A terrain as the plain loops see it: the ground is one solid.
#[derive(Clone, Debug)]
pub struct Plain {
    width: usize,
    height: usize,
    size: f32,
    /// Height of the ground.
    pub ground: Vec<f32>,
    /// Depth of the water.
    pub water: Vec<f32>,
    /// Sediment in the water.
    pub suspended: Vec<f32>,
    softness: Vec<f32>,
    /// To the left, right, above and below.
    flux: [Vec<f32>; 4],
    velocity: [Vec<f32>; 2],
    spare: Vec<f32>,
    next_water: Vec<f32>,
    gives: Vec<f32>,
}

impl Plain {
    /// A terrain in which nothing flows yet.
    pub fn new(terrain: &Terrain) -> Self {
        let count = terrain.bedrock.len();
        let empty = || vec![0.0; count];
        Self {
            width: terrain.width(),
            height: terrain.height(),
            size: terrain.cell_size,
            ground: terrain.ground().into_cells(),
            water: terrain.water.to_vec(),
            suspended: terrain.suspended.to_vec(),
            softness: terrain.softness.to_vec(),
            flux: [empty(), empty(), empty(), empty()],
            velocity: [empty(), empty()],
            spare: empty(),
            next_water: empty(),
            gives: empty(),
        }
    }

    /// The indices of the neighbours to the left, right, above and below; beyond a wall lies the cell itself.
    fn beside(&self, x: usize, y: usize) -> [usize; 4] {
        let index = y * self.width + x;
        [
            if x > 0 { index - 1 } else { index },
            if x + 1 < self.width { index + 1 } else { index },
            if y > 0 { index - self.width } else { index },
            if y + 1 < self.height { index + self.width } else { index },
        ]
    }

    /// A step of eqs 1 to 16 of `dt` seconds.
    pub fn flow(&mut self, params: &Params, dt: f32) {
        let size = self.size;
        for water in &mut self.water {
            *water += params.rain_rate * dt;
        }
        for y in 0..self.height {
            for x in 0..self.width {
                let index = y * self.width + x;
                let level = self.ground[index] + self.water[index];
                let mut out = 0.0;
                for (side, other) in self.beside(x, y).into_iter().enumerate() {
                    let fall = level - (self.ground[other] + self.water[other]);
                    let flux = &mut self.flux[side][index];
                    *flux = (*flux + dt * params.pipe_area * params.gravity * fall / size).max(0.0);
                    out += *flux;
                }
                let there = self.water[index] * size * size;
                if out * dt > there {
                    let limit = there / (out * dt);
                    for flux in &mut self.flux {
                        flux[index] *= limit;
                    }
                }
            }
        }
        for y in 0..self.height {
            for x in 0..self.width {
                self.erode(x, y, params, dt);
            }
        }
        std::mem::swap(&mut self.ground, &mut self.spare);
        std::mem::swap(&mut self.water, &mut self.next_water);
        self.transport(dt);
        for water in &mut self.water {
            *water *= 1.0 - params.evaporation_rate * dt;
        }
    }

    fn erode(&mut self, x: usize, y: usize, params: &Params, dt: f32) {
        let (index, size) = (y * self.width + x, self.size);
        let [left, right, above, below] = self.beside(x, y);
        let from = |other: usize, side: usize| if other == index { 0.0 } else { self.flux[side][other] };
        let inflow = [from(left, 1), from(right, 0), from(above, 3), from(below, 2)];
        let outflow = [0, 1, 2, 3].map(|side: usize| self.flux[side][index]);
        let before = self.water[index];
        let change = dt * (inflow.iter().sum::<f32>() - outflow.iter().sum::<f32>()) / (size * size);
        let after = (before + change).max(0.0);
        let mean = 0.5 * (before + after);
        let per_depth = 0.5 * mean / ((mean * mean + 1e-6) * size);
        let fastest = size / dt;
        let u = ((inflow[0] - outflow[0] + outflow[1] - inflow[1]) * per_depth).clamp(-fastest, fastest);
        let v = ((inflow[2] - outflow[2] + outflow[3] - inflow[3]) * per_depth).clamp(-fastest, fastest);
        let speed = (u * u + v * v).sqrt();
        let slope = [self.ground[right] - self.ground[left], self.ground[below] - self.ground[above]];
        let slope = slope.map(|rise| rise / (2.0 * size));
        let square = slope[0] * slope[0] + slope[1] * slope[1];
        let tilt = match params.capacity {
            Capacity::Tilt => (square / (1.0 + square)).sqrt(),
            Capacity::Collision => {
                let level = |other: usize| self.ground[other] + self.water[other];
                let fall = [level(right) - level(left), level(below) - level(above)];
                let fall = (fall[0] * u + fall[1] * v) / (2.0 * size * (speed + 1e-9));
                let rise = (slope[0] * u + slope[1] * v) / (speed + 1e-9);
                (rise - fall) / ((1.0 + square) * (1.0 + fall * fall)).sqrt()
            }
        };
        let limit = match (params.depth_limit, before > 0.0) {
            (_, false) => 0.0,
            (false, true) => 1.0,
            (true, true) if params.max_erosion_depth > 0.0 => (1.0 - before / params.max_erosion_depth).max(0.0),
            (true, true) => 0.0,
        };
        let able = params.sediment_capacity * tilt.max(params.least_tilt) * speed * limit;
        let load = self.suspended[index];
        let mut moved = 0.0;
        if able > load {
            moved = (dt * self.softness[index] * params.suspension_rate * (able - load)).min(after);
        } else if able < load {
            let most = if params.displacement { load.min(after) } else { load };
            moved = -(dt * params.deposition_rate * (load - able)).min(most);
            let softer = self.softness[index] + dt * params.softening_rate * params.suspension_rate * (load - able);
            self.softness[index] = self.softness[index].max(softer.min(0.9));
        }
        self.spare[index] = self.ground[index] - moved;
        self.suspended[index] = load + moved;
        self.next_water[index] = if params.displacement { (after + moved).max(0.0) } else { after };
        self.velocity[0][index] = u;
        self.velocity[1][index] = v;
    }

    fn transport(&mut self, dt: f32) {
        for y in 0..self.height {
            for x in 0..self.width {
                let index = y * self.width + x;
                let (a, b) = (self.velocity[0][index] * dt / self.size, self.velocity[1][index] * dt / self.size);
                let from_x = (x as f32 - a).clamp(0.0, (self.width - 1) as f32);
                let from_y = (y as f32 - b).clamp(0.0, (self.height - 1) as f32);
                let (x0, y0) = (from_x as usize, from_y as usize);
                let (x1, y1) = ((x0 + 1).min(self.width - 1), (y0 + 1).min(self.height - 1));
                let (part_x, part_y) = (from_x - x0 as f32, from_y - y0 as f32);
                let at = |x: usize, y: usize| self.suspended[y * self.width + x];
                let above = at(x0, y0) + part_x * (at(x1, y0) - at(x0, y0));
                let below = at(x0, y1) + part_x * (at(x1, y1) - at(x0, y1));
                self.spare[index] = above + part_y * (below - above);
            }
        }
        std::mem::swap(&mut self.suspended, &mut self.spare);
    }

    /// The indices of the eight neighbours, those beside first; beyond a wall lies the cell itself.
    fn around(&self, x: usize, y: usize) -> [usize; 8] {
        let [left, right, above, below] = self.beside(x, y);
        let (index, up, down) = (y * self.width + x, y > 0, y + 1 < self.height);
        let corner = |inside: bool, corner: usize| if inside { corner } else { index };
        [
            left,
            right,
            above,
            below,
            corner(up && x > 0, above.wrapping_sub(1)),
            corner(up && x + 1 < self.width, above + 1),
            corner(down && x > 0, below.wrapping_sub(1)),
            corner(down && x + 1 < self.width, below + 1),
        ]
    }

    /// A step of eqs 17 and 18.
    pub fn slump(&mut self, params: &thermal::Params) {
        let share = 0.5 * (params.rate * params.dt).min(1.0);
        let (beside, across) = (self.size, self.size * 2.0_f32.sqrt());
        let distances = [beside, beside, beside, beside, across, across, across, across];
        let talus = |softness: f32| (1.0 - softness) * params.talus_coefficient + params.talus_bias;
        for y in 0..self.height {
            for x in 0..self.width {
                let index = y * self.width + x;
                let (own, stands) = (self.ground[index], talus(self.softness[index]));
                let (mut all, mut most) = (0.0, 0.0_f32);
                for (other, distance) in self.around(x, y).into_iter().zip(distances) {
                    let fall = own - self.ground[other];
                    most = most.max(fall);
                    if fall > stands * distance {
                        all += fall;
                    }
                }
                self.gives[index] = if all > 0.0 { share * self.softness[index] * most / all } else { 0.0 };
            }
        }
        for y in 0..self.height {
            for x in 0..self.width {
                let index = y * self.width + x;
                let (own, stands) = (self.ground[index], talus(self.softness[index]));
                let mut change = 0.0;
                for (other, distance) in self.around(x, y).into_iter().zip(distances) {
                    let fall = own - self.ground[other];
                    if fall > stands * distance {
                        change -= self.gives[index] * fall;
                    } else if -fall > talus(self.softness[other]) * distance {
                        change -= self.gives[other] * fall;
                    }
                }
                self.spare[index] = own + change;
            }
        }
        std::mem::swap(&mut self.ground, &mut self.spare);
    }
}
