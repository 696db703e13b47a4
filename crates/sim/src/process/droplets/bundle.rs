//! Droplets, single and in bundles of eight.

use std::time::Instant;

use super::{ground::DropletGround, tracks::TrackRecorder};
use crate::{
    core::terrain::Edge,
    process::ParticleState,
    simd::{
        lanes::{LANES, LaneMask, Lanes},
        number::Real,
        swarm::{ParticleBlock, ParticleKind, SwarmRun},
    },
};

/// A law of motion for droplets on copies of tiles. `act` must be `#[inline(always)]`.
///
/// # Safety
/// It borrows what it changes exclusively, and `act` accesses the ground as [`ParticleKind::step`] promises.
pub(super) unsafe trait Law: Sync {
    /// Returns the ground.
    fn ground(&self) -> &DropletGround<'_>;
    /// Returns the number of steps after which a running droplet counts as circling, if that is possible.
    fn most_steps(&self) -> Option<u32>;
    /// Moves eight droplets by one step and changes the ground. Returns the sediment that each gained, in metres times cells.
    ///
    /// # Safety
    /// As for [`ParticleKind::step`].
    unsafe fn act(&self, bundle: &mut Bundle) -> Lanes;
}

/// Returns a swarm of droplets at their start on a ground, some of them watched if there are `tracks`.
pub(super) fn begin(
    ground: &DropletGround<'_>,
    mut droplets: Vec<Droplet>,
    tracks: Option<&TrackRecorder>,
) -> SwarmRun<Droplet, Outcome> {
    if let Some(tracks) = tracks {
        let numbers = tracks.numbers(droplets.len());
        droplets.iter_mut().zip(numbers).for_each(|(droplet, number)| droplet.watched = number);
    }
    for droplet in &droplets {
        ground.prepare_tiles([ground.tile_and_cell(droplet.x as i32, droplet.y as i32).0 as u32; LANES]);
    }
    SwarmRun::new(droplets)
}

/// Runs droplets of a law for a while, see [`SwarmRun::run_until`]. Returns `true` if all have ended.
pub(super) fn advance(
    law: &mut impl Law,
    swarm: &mut SwarmRun<Droplet, Outcome>,
    tracks: Option<&TrackRecorder>,
    until: Option<Instant>,
) -> bool {
    let law = &*law;
    // SAFETY: the law, which is borrowed exclusively, has borrowed the ground exclusively.
    unsafe { swarm.run_until(&Wave { law, tracks }, law.ground().tiling(), until) }
}

/// The droplets of a wave.
struct Wave<'a, L> {
    law: &'a L,
    tracks: Option<&'a TrackRecorder>,
}

// SAFETY: as the law promises.
unsafe impl<L: Law> ParticleKind for Wave<'_, L> {
    type Particle = Droplet;
    type Bundle = Bundle;
    type Outcome = Outcome;

    fn place(droplet: &Droplet) -> [f32; 2] {
        [droplet.x, droplet.y]
    }

    unsafe fn bundle(&self, like: &Droplet) -> Bundle {
        Bundle::new(like)
    }

    #[inline(always)]
    unsafe fn insert_particle(&self, bundle: &mut Bundle, lane: usize, droplet: &Droplet) {
        bundle.insert_droplet(lane, droplet);
    }

    #[inline(always)]
    unsafe fn step(&self, bundle: &mut Bundle, block: &ParticleBlock) -> LaneMask {
        let ran = bundle.runs;
        // SAFETY: as promised by the caller.
        let given = unsafe { self.law.act(bundle) };
        bundle.mass = bundle.mass + given;
        // A NaN must not get lost here.
        bundle.given = bundle.given + given;
        bundle.exchanged = bundle.exchanged + given.max(-given);
        if let Some(tracks) = self.tracks {
            tracks.record(&bundle.watched, |lane| ran.0[lane] & bundle.runs.0[lane] != 0, |lane| bundle.moment(lane));
        }
        let mut stopped = LaneMask::default();
        for lane in 0..LANES {
            let continues = block.has(bundle.y.0[lane]) & (bundle.runs.0[lane] != 0);
            stopped.0[lane] = if continues { 0 } else { ran.0[lane] };
        }
        stopped
    }

    fn take(&self, bundle: &mut Bundle, lane: usize, outcome: &mut Outcome) -> Option<Droplet> {
        outcome.take(bundle, lane, self.law.most_steps())
    }

    fn account(&self, bundle: &mut Bundle, outcome: &mut Outcome) {
        outcome.account(bundle);
    }

    fn add(outcome: &mut Outcome, other: Outcome) {
        outcome.add(other);
    }
}

/// A running droplet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Droplet {
    /// Column, in cells; the first cell reaches from 0 to 1.
    pub x: f32,
    /// Row, in cells.
    pub y: f32,
    /// Sediment on board, in metres times cells.
    pub mass: f32,
    pub(super) vx: f32,
    pub(super) vy: f32,
    pub(super) volume: f32,
    pub(super) lowest: f32,
    pub(super) waited: f32,
    pub(super) previous_height: f32,
    pub(super) steps: u32,
    /// Its number if it is watched, from 1; otherwise 0.
    pub(super) watched: u32,
}

/// Totals of droplets, in metres times cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Gross erosion.
    pub eroded: f64,
    /// Gross deposition by running droplets.
    pub deposited: f64,
    /// Sediment carried over an open edge.
    pub outflow: f64,
    /// Steps taken.
    pub steps: u64,
    /// Steps that were shortened, steps with limited erosion, and steps with limited deposition.
    pub limited: [u64; 3],
    /// Droplets that ended because they circled.
    pub endless: u64,
    /// Droplets that ended on the map with a load yet to settle.
    pub ended: Vec<Droplet>,
}

impl Outcome {
    /// Removes a stopped droplet from its lane and returns it, or `None` if it has ended and its totals are added here. A droplet
    /// that has taken `most_steps` counts as circling.
    fn take(&mut self, bundle: &mut Bundle, lane: usize, most_steps: Option<u32>) -> Option<Droplet> {
        let droplet = bundle.droplet(lane);
        if std::mem::take(&mut bundle.runs.0[lane]) != 0 {
            return Some(droplet);
        }
        self.steps += u64::from(droplet.steps);
        self.endless += u64::from(most_steps.is_some_and(|most| droplet.steps >= most));
        if bundle.left.0[lane] != 0 {
            self.outflow += f64::from(droplet.mass);
        } else {
            self.ended.push(droplet);
        }
        None
    }

    /// Adds and resets the accumulators of a bundle.
    fn account(&mut self, bundle: &mut Bundle) {
        let (given, exchanged) = (std::mem::take(&mut bundle.given), std::mem::take(&mut bundle.exchanged));
        for (given, exchanged) in given.0.into_iter().zip(exchanged.0) {
            self.eroded += 0.5 * (f64::from(exchanged) + f64::from(given));
            self.deposited += 0.5 * (f64::from(exchanged) - f64::from(given));
        }
        for (sum, counts) in self.limited.iter_mut().zip(&mut bundle.limited) {
            *sum += std::mem::take(counts).into_iter().map(u64::from).sum::<u64>();
        }
    }

    /// Adds other totals.
    fn add(&mut self, other: Self) {
        self.eroded += other.eroded;
        self.deposited += other.deposited;
        self.outflow += other.outflow;
        self.steps += other.steps;
        self.limited.iter_mut().zip(other.limited).for_each(|(sum, count)| *sum += count);
        self.endless += other.endless;
        self.ended.extend(other.ended);
    }
}

impl Droplet {
    /// Returns a droplet at rest, without sediment.
    pub fn at(x: f32, y: f32, volume: f32) -> Self {
        Self {
            x,
            y,
            mass: 0.0,
            vx: 0.0,
            vy: 0.0,
            volume,
            lowest: f32::INFINITY,
            waited: 0.0,
            previous_height: f32::NEG_INFINITY,
            steps: 0,
            watched: 0,
        }
    }
}

/// Eight droplets.
pub(super) struct Bundle {
    pub x: Lanes,
    pub y: Lanes,
    pub mass: Lanes,
    pub vx: Lanes,
    pub vy: Lanes,
    pub volume: Lanes,
    pub lowest: Lanes,
    pub waited: Lanes,
    pub behind: Lanes,
    /// Transport capacity in the last step, in metres times cells.
    pub capacity: Lanes,
    pub steps: [u32; LANES],
    pub watched: [u32; LANES],
    /// Number of limited steps, as in [`Outcome::limited`].
    pub limited: [[u32; LANES]; 3],
    /// Droplets that are running.
    pub runs: LaneMask,
    /// Droplets that have left the map.
    pub left: LaneMask,
    /// Sum of the sediment gained since the last account, and the sum of its absolute values.
    pub given: Lanes,
    pub exchanged: Lanes,
}

impl Bundle {
    /// Returns a bundle without droplets, its lanes at the position of this one.
    pub fn new(like: &Droplet) -> Self {
        let [x, y, one, zero] = [like.x, like.y, 1.0, 0.0].map(|value| Lanes([value; LANES]));
        Self {
            x,
            y,
            mass: zero,
            vx: zero,
            vy: zero,
            volume: one,
            lowest: zero,
            waited: zero,
            behind: zero,
            capacity: zero,
            steps: [0; LANES],
            watched: [0; LANES],
            limited: [[0; LANES]; 3],
            runs: LaneMask::default(),
            left: LaneMask::default(),
            given: zero,
            exchanged: zero,
        }
    }

    /// Puts a droplet into a lane.
    #[inline(always)]
    pub fn insert_droplet(&mut self, lane: usize, droplet: &Droplet) {
        self.x.0[lane] = droplet.x;
        self.y.0[lane] = droplet.y;
        self.mass.0[lane] = droplet.mass;
        self.vx.0[lane] = droplet.vx;
        self.vy.0[lane] = droplet.vy;
        self.volume.0[lane] = droplet.volume;
        self.lowest.0[lane] = droplet.lowest;
        self.waited.0[lane] = droplet.waited;
        self.behind.0[lane] = droplet.previous_height;
        self.steps[lane] = droplet.steps;
        self.watched[lane] = droplet.watched;
        (self.runs.0[lane], self.left.0[lane]) = (u32::MAX, 0);
    }

    /// Returns the state of a droplet after a step.
    fn moment(&self, lane: usize) -> ParticleState {
        let speed = libm::hypotf(self.vx.0[lane], self.vy.0[lane]);
        ParticleState {
            place: [self.x.0[lane], self.y.0[lane]],
            speed,
            water: Some(self.volume.0[lane]),
            load: self.mass.0[lane],
            capacity: Some(self.capacity.0[lane]),
        }
    }

    pub fn droplet(&self, lane: usize) -> Droplet {
        Droplet {
            x: self.x.0[lane],
            y: self.y.0[lane],
            mass: self.mass.0[lane],
            vx: self.vx.0[lane],
            vy: self.vy.0[lane],
            volume: self.volume.0[lane],
            lowest: self.lowest.0[lane],
            waited: self.waited.0[lane],
            previous_height: self.behind.0[lane],
            steps: self.steps[lane],
            watched: self.watched[lane],
        }
    }

    /// Reflects or wraps droplets that have crossed the edge. Returns the droplets that have left the map.
    #[inline(always)]
    pub fn apply_border(&mut self, (right, bottom): (f32, f32), edge: Edge) -> LaneMask {
        let mut outside = LaneMask::default();
        for lane in 0..LANES {
            let (x, y) = (self.x.0[lane], self.y.0[lane]);
            let on_map = (x >= 0.0) & (y >= 0.0) & (x < right) & (y < bottom);
            outside.0[lane] = if on_map { 0 } else { u32::MAX };
        }
        if !outside.any() {
            return outside;
        }
        let mut left = LaneMask::default();
        for lane in (0..LANES).filter(|&lane| outside.0[lane] != 0) {
            if !self.apply_border_to_lane(lane, (right, bottom), edge) {
                left.0[lane] = u32::MAX;
            }
        }
        left
    }

    /// Reflects or wraps a droplet. Returns `false` if it may leave the map.
    fn apply_border_to_lane(&mut self, lane: usize, (right, bottom): (f32, f32), edge: Edge) -> bool {
        let (x, y) = (&mut self.x.0[lane], &mut self.y.0[lane]);
        // The largest f32 below a side, so that rounding cannot put a droplet outside.
        let inside = |position: f32, side: f32| position.max(0.0).min(side.next_down());
        match edge {
            Edge::Open => return false,
            Edge::Wrap => {
                let wrap = |position: f32, side: f32| {
                    if position < 0.0 {
                        position + side
                    } else if position >= side {
                        position - side
                    } else {
                        position
                    }
                };
                *x = inside(wrap(*x, right), right);
                *y = inside(wrap(*y, bottom), bottom);
            }
            Edge::Wall => {
                let mirror = |position: &mut f32, velocity: &mut f32, side: f32| {
                    if *position < 0.0 || *position >= side {
                        *position = if *position < 0.0 { -*position } else { side + side - *position };
                        *velocity = -*velocity;
                    }
                    *position = inside(*position, side);
                };
                mirror(x, &mut self.vx.0[lane], right);
                mirror(y, &mut self.vy.0[lane], bottom);
            }
        }
        true
    }
}
