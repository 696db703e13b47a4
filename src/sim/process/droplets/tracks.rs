//! The ways of a sample of droplets, to be drawn. Watching changes no droplet.

use std::sync::Mutex;

use crate::sim::{
    process::Track,
    real::{LANES, Lanes},
};

/// Longest track that is kept, in points.
const LONGEST: usize = 2000;

/// Tracks that grow while droplets run. Droplets that are watched have a number from 1; 0 is not watched.
pub struct Tracks(Vec<Mutex<Track>>);

impl Tracks {
    /// Room for the tracks of the droplets 1 to `count`.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::default()).collect())
    }

    /// The numbers of a wave's droplets, those that are watched spread over all of them.
    pub fn numbers(&self, wave: usize) -> impl Iterator<Item = u32> + use<> {
        let count = self.0.len().min(wave);
        let until = move |droplet: usize| droplet * count / wave;
        (0..wave).map(move |droplet| if until(droplet + 1) > until(droplet) { until(droplet + 1) as u32 } else { 0 })
    }

    /// Notes where those of eight droplets are that still run.
    pub fn note(&self, numbers: &[u32; LANES], running: impl Fn(usize) -> bool, x: Lanes, y: Lanes) {
        for lane in (0..LANES).filter(|&lane| running(lane)) {
            let Some(track) = (numbers[lane] as usize).checked_sub(1).and_then(|index| self.0.get(index)) else {
                continue;
            };
            // No code panics while it holds the lock.
            let Ok(mut track) = track.lock() else { continue };
            let place = [x.0[lane], y.0[lane]];
            if track.len() < LONGEST && track.last() != Some(&place) {
                track.push(place);
            }
        }
    }

    /// The tracks, without those of droplets that never moved.
    pub fn into_tracks(self) -> Vec<Track> {
        let tracks = self.0.into_iter().filter_map(|track| track.into_inner().ok());
        tracks.filter(|track| track.len() > 1).collect()
    }
}
