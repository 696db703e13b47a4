//! Recorded tracks of a sample of droplets, or of one that is followed step by step. Recording does not affect droplets.

use std::sync::Mutex;

use crate::{
    process::{ParticleState, Track},
    simd::lanes::LANES,
};

/// Maximum length of a track, in points.
const LONGEST: usize = 2000;

/// Tracks that grow while droplets run. Watched droplets have a number from 1; 0 is not watched.
pub struct TrackRecorder {
    trajectories: Vec<Mutex<Vec<ParticleState>>>,
    longest: usize,
}

impl Clone for TrackRecorder {
    fn clone(&self) -> Self {
        let copied = |trajectory: &Mutex<Vec<ParticleState>>| {
            Mutex::new(trajectory.lock().map(|trajectory| trajectory.clone()).unwrap_or_default())
        };
        Self { trajectories: self.trajectories.iter().map(copied).collect(), longest: self.longest }
    }
}

impl TrackRecorder {
    /// Returns empty tracks for the droplets 1 to `count`.
    pub fn new(count: usize) -> Self {
        Self { trajectories: (0..count).map(|_| Mutex::default()).collect(), longest: LONGEST }
    }

    /// Returns an empty track of unlimited length for one droplet.
    pub fn of_one() -> Self {
        Self { longest: usize::MAX, ..Self::new(1) }
    }

    /// Returns the numbers of a wave's droplets, with watched droplets spread evenly over the wave.
    pub fn numbers(&self, wave: usize) -> impl Iterator<Item = u32> + use<> {
        let count = self.trajectories.len().min(wave);
        let until = move |droplet: usize| droplet * count / wave;
        (0..wave).map(move |droplet| if until(droplet + 1) > until(droplet) { until(droplet + 1) as u32 } else { 0 })
    }

    /// Records the states of the running droplets of a bundle.
    pub fn record(
        &self,
        numbers: &[u32; LANES],
        running: impl Fn(usize) -> bool,
        moment: impl Fn(usize) -> ParticleState,
    ) {
        for lane in (0..LANES).filter(|&lane| running(lane)) {
            let Some(trajectory) =
                (numbers[lane] as usize).checked_sub(1).and_then(|index| self.trajectories.get(index))
            else {
                continue;
            };
            // No code panics while it holds the lock.
            let Ok(mut trajectory) = trajectory.lock() else { continue };
            let moment = moment(lane);
            if trajectory.len() < self.longest && trajectory.last().is_none_or(|last| last.place != moment.place) {
                trajectory.push(moment);
            }
        }
    }

    /// Returns the trajectories, by number.
    pub fn into_trajectories(self) -> impl Iterator<Item = Vec<ParticleState>> {
        self.trajectories.into_iter().filter_map(|trajectory| trajectory.into_inner().ok())
    }

    /// Returns the tracks, without those of droplets that never moved.
    pub fn into_tracks(self) -> Vec<Track> {
        let places =
            |trajectory: Vec<ParticleState>| trajectory.into_iter().map(|moment| moment.place).collect::<Track>();
        self.into_trajectories().map(places).filter(|track| track.len() > 1).collect()
    }
}
