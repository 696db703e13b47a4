//! Scalar reference implementation of published uplift and rivers: one thread, f64, priority flood from the border, D8, one solid
//! of uniform erodibility, outlets on all sides, a slope exponent of 1.

use std::{cmp::Reverse, collections::BinaryHeap};

use thalweg_sim::{
    core::{
        border::{Border, DISTANCES},
        terrain::{Edge, Terrain},
    },
    process::fluvial::Params,
};

/// Ground of a terrain.
#[derive(Clone, Debug)]
pub(in crate::bench) struct ScalarRivers {
    width: usize,
    height: usize,
    cell_size: f64,
    /// Height of the ground per cell, in metres.
    ground: Vec<f64>,
}

/// Flow direction of a cell.
#[derive(Clone, Copy)]
struct FlowDirection {
    receiver: usize,
    /// Distance to the receiver, in metres.
    far: f64,
    /// Water level of the flooded map, in metres.
    level: f64,
}

impl ScalarRivers {
    /// Copies the ground of a terrain.
    pub(in crate::bench) fn new(terrain: &Terrain) -> Self {
        let ground = terrain.ground().iter().map(|&height| f64::from(height)).collect();
        let (width, height) = (terrain.width(), terrain.height());
        Self { width, height, cell_size: terrain.cell_size.into(), ground }
    }

    /// Returns the ground heights, in metres.
    #[cfg(test)]
    pub(super) fn ground(&self) -> Vec<f32> {
        self.ground.iter().map(|&height| height as f32).collect()
    }

    fn on_border(&self, cell: usize) -> bool {
        let (x, y) = (cell % self.width, cell / self.width);
        x == 0 || y == 0 || x + 1 == self.width || y + 1 == self.height
    }

    /// Returns the neighbours of a cell with their distances, in metres.
    fn around(&self, cell: usize) -> impl Iterator<Item = (usize, f64)> {
        let border = Border { width: self.width, height: self.height, edge: Edge::Open };
        let far = DISTANCES.map(|distance| distance * self.cell_size);
        border.neighbours(cell).map(move |(step, other)| (other, far[usize::from(step & 1)]))
    }

    /// Runs a tick.
    pub(in crate::bench) fn step(&mut self, params: &Params) {
        let years = f64::from(params.years_per_tick);
        let lift = f64::from(params.uplift_rate) * years;
        for cell in 0..self.ground.len() {
            self.ground[cell] += if self.on_border(cell) { 0.0 } else { lift };
        }
        let (order, directions) = self.route();
        self.cut(params, &order, &directions);
        let area = self.cell_size * self.cell_size;
        let lambda = f64::from(params.diffusivity) * years / area;
        if lambda > 0.0 {
            let (width, height) = (self.width, self.height);
            (1..height.saturating_sub(1)).for_each(|y| creep(&mut self.ground[y * width..], (width, 1), lambda));
            (1..width.saturating_sub(1)).for_each(|x| creep(&mut self.ground[x..], (height, width), lambda));
        }
    }

    /// Floods the map from its border, lowest cell first (Barnes et al. 2014). Returns the cells in that order, and their flow
    /// directions.
    fn route(&self) -> (Vec<usize>, Vec<FlowDirection>) {
        let count = self.ground.len();
        // Heights are compared to a tenth of a micrometre.
        let rank = |level: f64| (level * 1e7) as i64;
        let mut directions: Vec<Option<FlowDirection>> = vec![None; count];
        let (mut order, mut queue) = (Vec::with_capacity(count), BinaryHeap::new());
        for cell in (0..count).filter(|&cell| self.on_border(cell)) {
            let level = self.ground[cell];
            directions[cell] = Some(FlowDirection { receiver: cell, far: 0.0, level });
            queue.push(Reverse((rank(level), cell)));
        }
        while let Some(Reverse((_, cell))) = queue.pop() {
            order.push(cell);
            let Some(below) = directions[cell] else { continue };
            for (other, far) in self.around(cell) {
                if directions[other].is_none() {
                    let level = self.ground[other].max(below.level);
                    directions[other] = Some(FlowDirection { receiver: cell, far, level });
                    queue.push(Reverse((rank(level), other)));
                }
            }
        }
        let mut directions: Vec<FlowDirection> = directions.into_iter().flatten().collect();
        // On dry ground, water follows the steepest descent.
        for &cell in order.iter().filter(|&&cell| !self.on_border(cell)) {
            let own = directions[cell].level;
            let mut steepest = 0.0;
            for (other, far) in self.around(cell).filter(|_| self.ground[cell] == own) {
                let slope = (own - directions[other].level) / far;
                if slope > steepest && rank(directions[other].level) < rank(own) {
                    (steepest, directions[cell].receiver, directions[cell].far) = (slope, other, far);
                }
            }
        }
        (order, directions)
    }

    /// Limits slopes, and erodes and deposits along rivers: the equations of `solve.rs`.
    fn cut(&mut self, params: &Params, order: &[usize], directions: &[FlowDirection]) {
        let count = self.ground.len();
        let area = self.cell_size * self.cell_size;
        let (m, deposition) = (f64::from(params.area_exponent), f64::from(params.deposition));
        let cuts = f64::from(params.erodibility) * f64::from(params.years_per_tick);
        let (mut areas, mut flux, mut follow) = (vec![area; count], vec![0.0; count], vec![0.0; count]);
        let stands = |far: f64| f64::from(params.critical_slope) * far;
        let inner = || order.iter().copied().filter(|&cell| directions[cell].receiver != cell);
        for cell in inner() {
            let FlowDirection { receiver, far, .. } = directions[cell];
            let own = self.ground[cell];
            self.ground[cell] = own.min(self.ground[receiver] + stands(far));
            flux[cell] = (own - self.ground[cell]) * area;
        }
        for cell in inner().rev() {
            let FlowDirection { receiver, far, level } = directions[cell];
            let fall = self.ground[cell] - self.ground[receiver];
            let lake = self.ground[cell] < level;
            let cut = if lake { 0.0 } else { cuts * libm::pow(areas[cell], m) / far };
            let (settles, share) = (deposition / areas[cell], area + follow[cell]);
            let whole = 1.0 + cut + settles * share;
            let under = if lake { level - self.ground[cell] } else { f64::INFINITY };
            let room = (stands(far) - fall).min(under).max(0.0);
            let grows = ((settles * flux[cell] - cut * fall) / whole).min(room);
            areas[receiver] += areas[cell];
            flux[receiver] += flux[cell] - share * grows;
            follow[receiver] += share * cut / whole;
            (flux[cell], follow[cell]) = (grows, cut / whole);
        }
        let mut grown = vec![0.0; count];
        for cell in inner() {
            grown[cell] = flux[cell] + follow[cell] * grown[directions[cell].receiver];
        }
        self.ground.iter_mut().zip(&grown).for_each(|(ground, grown)| *ground += grown);
    }
}

/// Diffuses a line of `count` cells, `stride` apart, between fixed ends: backward Euler, solved by the Thomas algorithm.
fn creep(ground: &mut [f64], (count, stride): (usize, usize), lambda: f64) {
    let mut after = vec![0.0; count];
    for place in 1..count - 1 {
        let pivot = 1.0 + 2.0 * lambda - lambda * after[place - 1];
        after[place] = lambda / pivot;
        ground[place * stride] = (ground[place * stride] + lambda * ground[(place - 1) * stride]) / pivot;
    }
    for place in (1..count - 1).rev() {
        ground[place * stride] += after[place] * ground[(place + 1) * stride];
    }
}
