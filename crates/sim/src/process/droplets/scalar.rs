//! Scalar reference implementation of the corrected streams: droplets run one after the other on one layer, and banks fail cell by
//! cell. Tests compare waves of concurrent droplets with it.

use super::{
    Params,
    banks::{LEAST_ROOM, MOST_ROUNDS, SHARE, TOLERANCE},
    rain::CELLS_PER_DROPLET,
    streams::{StreamLaw, update_rate},
};
use crate::{
    core::{
        border::{AROUND, Border},
        grid::Grid,
        rng::RandomStream,
        terrain::Terrain,
    },
    simd::around::DISTANCES_F32,
};

/// A ground, with its discharge and momentum maps.
pub(super) struct ScalarStreams {
    /// Height of the ground, in metres.
    ground: Grid,
    border: Border,
    /// Total erosion so far, in metres times cells.
    pub(super) eroded: f64,
    /// Discharge, and discharge times direction along columns and rows; then the tracks of the current tick.
    maps: [Grid; 3],
    tracks: [Grid; 3],
    ticks: u64,
    /// The ground before the wave, and the cells that have changed since.
    before: Grid,
    changed: Vec<usize>,
    /// Cells where droplets undercut a bank.
    undercut: Vec<usize>,
}

impl ScalarStreams {
    /// Returns the streams of a terrain without discharge.
    pub(super) fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let (maps, tracks) = ([empty(), empty(), empty()], [empty(), empty(), empty()]);
        let ground = terrain.ground();
        let (before, changed, undercut) = (ground.clone(), Vec::new(), Vec::new());
        Self { ground, border: Border::of(terrain), eroded: 0.0, maps, tracks, ticks: 0, before, changed, undercut }
    }

    /// Runs this many droplets in one tick. `params.per_tick` only sets their contributing area. The map has open edges.
    pub(super) fn tick(&mut self, terrain: &Terrain, params: &Params, droplets: usize, stream: &mut RandomStream) {
        let contributing_area = terrain.cell_area() * terrain.bedrock.len() as f64 / f64::from(params.per_tick);
        let law = StreamLaw::new(params, terrain, contributing_area as f32);
        let wave = (terrain.bedrock.len() / CELLS_PER_DROPLET).max(1);
        for number in 1..=droplets {
            let place = [terrain.width(), terrain.height()].map(|side| stream.uniform() * side as f32);
            self.run(terrain, &law, place);
            if number % wave == 0 || number == droplets {
                self.fail(params, terrain.cell_size);
            }
        }
        self.ticks += 1;
        let share = update_rate(params, terrain).of(self.ticks);
        for (map, track) in self.maps.iter_mut().zip(&mut self.tracks) {
            for (map, track) in map.iter_mut().zip(track.iter_mut()) {
                *map += share * (std::mem::take(track) * law.contributing_area - *map);
            }
        }
    }

    /// Returns the ground at a place; beyond the border its slope continues.
    fn continued(&self, place: [isize; 2]) -> f32 {
        let [last, behind] = self.border.last_two(place).map(|[x, y]| self.ground.at(x, y));
        2.0 * last - behind
    }

    /// Returns `true` if water left the map in this cell before the wave.
    fn is_outlet(&self, cell: usize) -> bool {
        let [x, y] = [cell % self.border.width, cell / self.border.width];
        let at_border = x == 0 || y == 0 || x + 1 == self.border.width || y + 1 == self.border.height;
        at_border && self.border.flows_out(cell, |cell| self.before[cell])
    }

    fn run(&mut self, terrain: &Terrain, law: &StreamLaw, [mut x, mut y]: [f32; 2]) {
        let width = self.border.width;
        let (mut vx, mut vy, mut volume, mut load) = (0.0_f32, 0.0_f32, 1.0_f32, 0.0_f32);
        let (mut lowest, mut waited, mut behind) = (f32::INFINITY, 0.0, f32::NEG_INFINITY);
        loop {
            let (column, row) = (x as usize, y as usize);
            let cell = row * width + column;
            let here = self.ground[cell];
            let [place_x, place_y] = [column, row].map(|place| place as isize);
            let beside = [[1, 0], [-1, 0], [0, 1], [0, -1]].map(|[across, down]| [place_x + across, place_y + down]);
            let [east, west, south, north] = beside.map(|place| self.continued(place));
            let (slope_x, slope_y) = ((east - west) * 0.5 * law.steepness, (south - north) * 0.5 * law.steepness);
            let square = vx * vx + vy * vy;
            let longer = if square > 0.0 { square } else { 1.0 };
            let push = -law.gravity * longer / ((1.0 + slope_x * slope_x + slope_y * slope_y).sqrt() * volume);
            (vx, vy) = (vx + push * slope_x, vy + push * slope_y);
            let [water, along, down] = [0, 1, 2].map(|map| self.maps[map][cell]);
            let size = ((along * along + down * down) * (vx * vx + vy * vy)).sqrt();
            let pull =
                law.transfer * longer * (along * vx + down * vy) / (size * (law.own * volume + water)).max(1e-20);
            (vx, vy) = (vx + pull * along, vy + pull * down);
            let pace = vx.abs().max(vy.abs());
            if pace <= 0.0 {
                break;
            }
            (vx, vy) = (vx / pace, vy / pace);
            let distance = libm::hypotf(vx, vy);
            let drawing = if waited < law.circling { volume } else { 0.0 };
            for (track, amount) in
                self.tracks.iter_mut().zip([volume, drawing * vx / distance, drawing * vy / distance])
            {
                track[cell] += amount;
            }
            (x, y) = (x + vx, y + vy);
            let reached = [x.floor() as isize, y.floor() as isize];
            let ahead = self.continued(reached);
            let left = self.border.offset_cell(cell, [reached[0] - place_x, reached[1] - place_y]).is_none();
            let fall = here - ahead;
            let slope = fall.max(0.0) * law.steepness / distance;
            let hectares = (water + law.sheet) * 1e-4;
            let capacity = law.entrainment * volume * libm::powf(hectares, law.exponent) * slope;
            let lacking = capacity - load;
            let wanted = (1.0 - libm::expf(-law.exchange * distance)) * lacking;
            let rise = if fall < 0.0 { -fall } else { (behind - here).max(0.0) };
            let amount = if lacking > 0.0 {
                wanted.min(0.1 * fall.max(0.0))
            } else {
                (if fall < 0.0 { -load } else { wanted }).max(-rise)
            };
            let spare = (here - terrain.start[cell]).max(0.0);
            let amount = if self.is_outlet(cell) { amount.clamp(0.0, spare) } else { amount };
            self.ground[cell] = here - amount;
            self.changed.push(cell);
            if amount > 0.0 && east.max(west).max(south.max(north)) - self.ground[cell] > law.steep {
                self.undercut.push(cell);
            }
            self.eroded += f64::from(amount.max(0.0));
            load += amount;
            behind = here;
            volume *= libm::expf(-law.evaporation * distance);
            if ahead < lowest - 1e-4 / law.steepness {
                (lowest, waited) = (ahead, 0.0);
            } else {
                waited += 1.0;
            }
            if left {
                return;
            }
            if volume <= law.min_volume || waited > law.patience {
                break;
            }
        }
        // The remaining load settles in the final cell.
        let cell = y as usize * width + x as usize;
        self.ground[cell] += load;
        self.changed.push(cell);
    }

    /// Lets banks in rock of softness 0.5 fail.
    fn fail(&mut self, params: &Params, size: f32) {
        let stands = params.bank_slopes().rock;
        let mut dug = std::mem::take(&mut self.undercut);
        for _ in 0..MOST_ROUNDS {
            dug.sort_unstable();
            dug.dedup();
            let mut slides: Vec<(usize, usize, f32, f32)> = Vec::new();
            for &cell in &dug {
                let (here, first) = (self.ground[cell], slides.len());
                if self.before[cell] <= here + LEAST_ROOM * size {
                    continue;
                }
                let (mut wanted, mut most) = (0.0_f32, 0.0_f32);
                for [across, down] in AROUND {
                    // Outlets keep their height.
                    let beside = self.border.offset_cell(cell, [across, down]);
                    let Some(from) = beside.filter(|&from| !self.is_outlet(from)) else { continue };
                    let far = size * DISTANCES_F32[usize::from(across != 0 && down != 0)];
                    let excess = self.ground[from] - here - stands * far;
                    if excess > TOLERANCE * size {
                        (wanted, most) = (wanted + SHARE * excess, most.max(excess));
                        slides.push((from, cell, SHARE * excess, self.ground[from] - excess));
                    }
                }
                let room = (self.before[cell] - here).min(most);
                if wanted > room {
                    slides[first..].iter_mut().for_each(|slide| slide.2 *= room / wanted);
                }
            }
            dug.clear();
            for &(from, to, thickness, floor) in &slides {
                let thickness = thickness.min(self.ground[from] - floor).max(0.0);
                self.ground[from] -= thickness;
                self.ground[to] += thickness;
                dug.extend([from, to]);
            }
            self.changed.extend(&dug);
            if slides.is_empty() {
                break;
            }
        }
        for cell in self.changed.drain(..) {
            self.before[cell] = self.ground[cell];
        }
    }
}
