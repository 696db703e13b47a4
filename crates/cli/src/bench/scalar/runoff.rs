//! Scalar reference implementation of the published runoff: cell by cell, on one thread, eight neighbours, between walls.

use thalweg_sim::{core::terrain::Terrain, process::runoff::Params};

use super::ringed_layers;
#[cfg(test)]
use super::unringed;

/// Layers of a terrain with a single solid, each with a ring of ghost cells.
#[derive(Clone, Debug)]
pub(in crate::bench) struct ScalarRunoff {
    width: usize,
    height: usize,
    ground: Vec<f32>,
    water: Vec<f32>,
    suspended: Vec<f32>,
    /// Outflow of water and of sediment from a cell, per metre of drop to a neighbour.
    gives: Vec<f32>,
    loads: Vec<f32>,
    /// Changes of ground, water and sediment during a step.
    change: [Vec<f32>; 3],
}

impl ScalarRunoff {
    /// Copies the layers of a terrain.
    pub(in crate::bench) fn new(terrain: &Terrain) -> Self {
        let (width, height) = (terrain.width(), terrain.height());
        let empty = || vec![0.0; (width + 2) * (height + 2)];
        let [ground, water, suspended] = ringed_layers(terrain);
        Self {
            width,
            height,
            ground,
            water,
            suspended,
            gives: empty(),
            loads: empty(),
            change: [empty(), empty(), empty()],
        }
    }

    /// Returns ground heights, water depths and suspended sediment.
    #[cfg(test)]
    pub(super) fn layers(&self) -> [Vec<f32>; 3] {
        [&self.ground, &self.water, &self.suspended].map(|layer| unringed(layer, self.width, self.height))
    }

    /// Runs a step without rain.
    pub(in crate::bench) fn step(&mut self, params: &Params) {
        let (width, height, stride) = (self.width, self.height, self.width + 2);
        // Nothing flows into the ring, which acts as a wall.
        for (place, ground) in self.ground.iter_mut().enumerate() {
            let (x, y) = (place % stride, place / stride);
            if x == 0 || y == 0 || x == width + 1 || y == height + 1 {
                *ground = f32::INFINITY;
            }
        }
        let around = [1, stride, stride + 1, stride - 1];
        for y in 1..=height {
            for here in y * stride + 1..=y * stride + width {
                let level = self.ground[here] + self.water[here];
                let (mut all, mut most) = (0.0, 0.0_f32);
                for step in around {
                    for other in [here - step, here + step] {
                        let fall = (level - (self.ground[other] + self.water[other])).max(0.0);
                        all += fall;
                        most = most.max(fall);
                    }
                }
                let per_fall = if all > 0.0 { 1.0 / all } else { 0.0 };
                self.gives[here] = self.water[here].min(most) * per_fall;
                self.loads[here] = self.suspended[here] * per_fall;
            }
        }
        self.change.iter_mut().for_each(|change| change.fill(0.0));
        let [ground_change, water_change, sediment_change] = &mut self.change;
        for y in 1..=height {
            for here in y * stride + 1..=y * stride + width {
                if self.gives[here] == 0.0 {
                    let settles = params.deposition * self.suspended[here];
                    ground_change[here] += settles;
                    sediment_change[here] -= settles;
                    continue;
                }
                let level = self.ground[here] + self.water[here];
                for step in around {
                    for other in [here - step, here + step] {
                        let fall = level - (self.ground[other] + self.water[other]);
                        if fall <= 0.0 {
                            continue;
                        }
                        let (water, load) = (self.gives[here] * fall, self.loads[here] * fall);
                        let capacity = params.capacity * water;
                        let settles = params.deposition * (load - capacity).max(0.0);
                        let digs = params.dissolution * (capacity - load).max(0.0);
                        let goes = load.min(capacity) + digs;
                        ground_change[here] += settles - digs;
                        water_change[here] -= water;
                        water_change[other] += water;
                        sediment_change[here] += (digs - settles) - goes;
                        sediment_change[other] += goes;
                    }
                }
            }
        }
        let stays = 1.0 - params.evaporation;
        for (place, ground) in self.ground.iter_mut().enumerate() {
            *ground += ground_change[place];
            self.water[place] = (self.water[place] + water_change[place]).max(0.0) * stays;
            self.suspended[place] = (self.suspended[place] + sediment_change[place]).max(0.0);
        }
    }
}
