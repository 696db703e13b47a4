//! A single droplet that is released and followed step by step, on a copy of the terrain.

use super::{DropletStart, Droplets, Stage};
use crate::{
    core::{ledger::Ledger, terrain::Terrain},
    process::{Context, ParticleState, Process, StepProgress},
};

impl Droplets {
    /// Returns the trajectory of one droplet released at a position, in cells, on the current terrain.
    pub(super) fn follow_one(
        &self,
        terrain: &Terrain,
        (seed, tick): (u64, u64),
        place: [f32; 2],
    ) -> Vec<ParticleState> {
        let (mut own, mut land, mut ledger) = (self.clone(), terrain.clone(), Ledger::default());
        let mut context = Context {
            terrain: &mut land,
            ledger: &mut ledger,
            seed,
            tick,
            watched: true,
            stepwise: false,
            water_flows: false,
            elapsed: &mut None,
            deadline: None,
        };
        // The rain stage sets the contributing area of a droplet and prepares the stream maps.
        own.step(Stage::Spawning as usize, &mut context);
        own.waiting = vec![DropletStart { place, load: 0.0 }];
        (own.wave, own.droplets_in_tick, own.trajectory) = (1, 1, Some(Vec::new()));
        while own.step(Stage::Descent as usize, &mut context) == StepProgress::Paused {}
        own.trajectory.unwrap_or_default()
    }
}
