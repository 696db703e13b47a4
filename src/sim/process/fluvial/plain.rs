//! The law in a plain loop: one thread, cell after cell, with nothing that makes it fast. `thalweg bench` compares with it.
//!
//! A priority flood (Barnes et al. 2014) fills hollows and finds the order of the cells; water takes the steepest of eight ways on what
//! is filled; one sweep down and one up solve the law. Hillsides neither creep nor slide, and all ground is one solid.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::Params;
use crate::sim::terrain::Terrain;

/// By how much what is filled rises from cell to cell, in metres.
const RISE: f64 = 1e-6;

/// Ground that open edges surround.
pub struct PlainRivers {
    /// Heights in metres, row by row.
    pub ground: Vec<f64>,
    width: usize,
    cell_size: f64,
    softness: Vec<f64>,
}

/// A height as a number that sorts as it does.
fn sortable(height: f64) -> u64 {
    let bits = height.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

impl PlainRivers {
    /// The ground of a terrain.
    pub fn new(terrain: &Terrain) -> Self {
        Self {
            ground: terrain.ground().iter().map(|&height| height.into()).collect(),
            width: terrain.width(),
            cell_size: terrain.cell_size.into(),
            softness: terrain.softness.iter().map(|&softness| softness.into()).collect(),
        }
    }

    fn neighbours(&self, cell: usize) -> impl Iterator<Item = (usize, f64)> + use<> {
        let (width, height) = (self.width as isize, (self.ground.len() / self.width) as isize);
        let (x, y) = (cell as isize % width, cell as isize / width);
        let ways = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))).filter(|way| *way != (0, 0));
        ways.filter_map(move |(dx, dy)| {
            let (x, y) = (x + dx, y + dy);
            let distance = if dx != 0 && dy != 0 { std::f64::consts::SQRT_2 } else { 1.0 };
            ((0..width).contains(&x) && (0..height).contains(&y)).then_some(((y * width + x) as usize, distance))
        })
    }

    /// Lets the land rise and rivers cut it for as long as a tick covers.
    pub fn tick(&mut self, params: &Params) {
        let count = self.ground.len();
        // Hollows are filled, and the lower of two cells comes first.
        let (mut filled, mut order, mut seen) = (self.ground.clone(), Vec::with_capacity(count), vec![false; count]);
        let mut front = BinaryHeap::new();
        for cell in (0..count).filter(|&cell| self.neighbours(cell).count() < 8) {
            seen[cell] = true;
            front.push(Reverse((sortable(filled[cell]), cell)));
        }
        let outlets = seen.clone();
        while let Some(Reverse((_, cell))) = front.pop() {
            order.push(cell);
            for (other, _) in self.neighbours(cell) {
                if !std::mem::replace(&mut seen[other], true) {
                    filled[other] = filled[other].max(filled[cell] + RISE);
                    front.push(Reverse((sortable(filled[other]), other)));
                }
            }
        }
        let mut receivers = vec![(usize::MAX, 1.0); count];
        for cell in (0..count).filter(|&cell| !outlets[cell]) {
            let mut steepest = 0.0;
            for (other, distance) in self.neighbours(cell) {
                let slope = (filled[cell] - filled[other]) / distance;
                if slope > steepest {
                    (steepest, receivers[cell]) = (slope, (other, distance));
                }
            }
        }
        let area = self.cell_size * self.cell_size;
        let mut areas = vec![area; count];
        for &cell in order.iter().rev() {
            if receivers[cell].0 < count {
                areas[receivers[cell].0] += areas[cell];
            }
        }
        let [uplift, kd, g, m, time] =
            [params.uplift_rate, params.erodibility, params.deposition, params.area_exponent, params.years_per_tick]
                .map(f64::from);
        // Height as f + g·(height of the receiver), and what leaves as p + q·(the same).
        let (mut lines, mut carried) = (vec![[0.0; 2]; count], vec![[0.0; 2]; count]);
        for &cell in order.iter().rev().filter(|&&cell| !outlets[cell]) {
            let (receiver, distance) = receivers[cell];
            let kd = (2.0 * self.softness[cell] * kd).max(1e-12);
            let power = libm::pow(areas[cell], m) / (distance * self.cell_size);
            let risen = uplift + self.ground[cell] / time;
            let p = carried[cell][0] + area * risen;
            let r = area / time - carried[cell][1];
            let settles = g / (kd * areas[cell]);
            let below = power + 1.0 / (kd * time) + r * settles;
            let line = [(risen / kd + p * settles) / below, power / below];
            lines[cell] = line;
            carried[receiver][0] += p - r * line[0];
            carried[receiver][1] -= r * line[1];
        }
        for &cell in order.iter().filter(|&&cell| !outlets[cell]) {
            let [own, share] = lines[cell];
            self.ground[cell] = own + share * self.ground[receivers[cell].0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{
        Simulation,
        grid::Grid,
        process::{Mode, Process, fluvial::Fluvial},
        rng::Stream,
        terrain::Edge,
    };

    #[test]
    fn the_plain_loop_and_the_process_grow_the_same_land() {
        let mut stream = Stream::new(3, "plain", 0);
        let noise = Grid::from_fn(96, 96, |_, _| stream.unit());
        let terrain = Terrain::bare(noise, 30.0, Edge::Open);
        let params = Params { mode: Mode::Published, diffusivity: 0.0, critical_slope: 2.0, ..Params::default() };
        let mut plain = PlainRivers::new(&terrain);
        let mut run = Simulation::of(vec![Box::new(Fluvial::with(params.clone()))], terrain, 1);
        run.slots[0].enabled = true;
        for _ in 0..300 {
            run.tick();
            plain.tick(&params);
        }
        // Networks of channels differ, as ties are broken in other ways: so the same are mean and spread.
        let moments = |heights: &[f64]| {
            let mean =
                |of: fn(f64) -> f64| heights.iter().map(|&height| of(height)).sum::<f64>() / heights.len() as f64;
            let first = mean(|height| height);
            [first, (mean(|height| height * height) - first * first).sqrt()]
        };
        let fast: Vec<f64> = run.terrain.ground().iter().map(|&height| height.into()).collect();
        let (plain, fast) = (moments(&plain.ground), moments(&fast));
        assert!(plain[0] > 20.0, "{plain:?}");
        assert!(plain.iter().zip(fast).all(|(plain, fast)| (plain / fast - 1.0).abs() < 0.05), "{plain:?}, {fast:?}");
    }
}
