//! The default streams as a plain loop: one droplet after the other on one layer, as one would write it first. The yardstick for
//! speed, and for what waves of droplets side by side do.

use super::{Params, streams::StreamLaw};
use crate::sim::{grid::Grid, rng::Stream, terrain::Terrain};

/// A ground, and the maps of its streams.
pub struct PlainStreams {
    /// Height of the ground, in metres.
    pub ground: Grid,
    /// Taken off the ground so far, in metres times cells.
    pub eroded: f64,
    /// Steps taken so far.
    pub steps: u64,
    /// Water, and water times its direction along columns and rows; and the tracks of the present tick.
    maps: [Grid; 3],
    tracks: [Grid; 3],
    ticks: u64,
}

impl PlainStreams {
    /// Those of a terrain on which no droplet has run.
    pub fn new(terrain: &Terrain) -> Self {
        let empty = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let (maps, tracks) = ([empty(), empty(), empty()], [empty(), empty(), empty()]);
        Self { ground: terrain.ground(), eroded: 0.0, steps: 0, maps, tracks, ticks: 0 }
    }

    /// Rains so many droplets, as a tick of the `params`' number does. A map has open edges.
    pub fn tick(&mut self, terrain: &Terrain, params: &Params, droplets: usize, stream: &mut Stream) {
        let law = StreamLaw::new(params, terrain);
        for _ in 0..droplets {
            self.run(&law, [stream.unit() * terrain.width() as f32, stream.unit() * terrain.height() as f32]);
        }
        self.ticks += 1;
        let share = law.pace.of(self.ticks);
        for (map, track) in self.maps.iter_mut().zip(&mut self.tracks) {
            for (map, track) in map.iter_mut().zip(track.iter_mut()) {
                *map += share * (std::mem::take(track) * law.land - *map);
            }
        }
    }

    fn run(&mut self, law: &StreamLaw, [mut x, mut y]: [f32; 2]) {
        let (width, height) = (self.ground.width(), self.ground.height());
        let (mut vx, mut vy, mut volume, mut load) = (0.0_f32, 0.0_f32, 1.0_f32, 0.0_f32);
        let (mut lowest, mut waited, mut behind) = (f32::INFINITY, 0.0, f32::NEG_INFINITY);
        loop {
            let (column, row) = (x as usize, y as usize);
            if column == 0 || row == 0 || column + 1 >= width || row + 1 >= height {
                return;
            }
            let cell = row * width + column;
            let here = self.ground[cell];
            let slope_x = (self.ground[cell + 1] - self.ground[cell - 1]) * 0.5 * law.steepness;
            let slope_y = (self.ground[cell + width] - self.ground[cell - width]) * 0.5 * law.steepness;
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
            self.steps += 1;
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
            let ahead = self.ground[y as usize * width + x as usize];
            let fall = here - ahead;
            let slope = fall.max(0.0) * law.steepness / distance;
            let land = (water + law.sheet) * 1e-4;
            let capacity = law.entrainment * volume * libm::powf(land, law.exponent) * slope;
            let lacking = capacity - load;
            let wanted = (1.0 - libm::expf(-law.exchange * distance)) * lacking;
            let rise = if fall < 0.0 { -fall } else { (behind - here).max(0.0) };
            let amount = if lacking > 0.0 {
                wanted.min(0.1 * fall.max(0.0))
            } else {
                (if fall < 0.0 { -load } else { wanted }).max(-rise)
            };
            self.ground[cell] = here - amount;
            self.eroded += f64::from(amount.max(0.0));
            load += amount;
            behind = here;
            volume *= libm::expf(-law.evaporation * distance);
            if ahead < lowest - 1e-4 / law.steepness {
                (lowest, waited) = (ahead, 0.0);
            } else {
                waited += 1.0;
            }
            if volume <= law.min_volume || waited > law.patience {
                break;
            }
        }
        // What it still carries lies where it ended.
        self.ground[y as usize * width + x as usize] += load;
    }
}
