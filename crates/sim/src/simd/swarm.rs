//! Particles that move eight at a time in vector lanes, on a map divided into blocks of rows for threads.
//!
//! The particles of a block run one after another, eight of them side by side, and change the ground as they go. One that leaves
//! its block waits for the turn of its new block. Blocks that run at the same time are never adjacent, so that they read and change
//! disjoint ground. Blocks and the order of particles depend on the map and the particles only, so that the bits are the same for
//! any number of threads; and no pass over the whole ground is needed.
//!
//! The computation can pause between blocks and resume later, so that a frame can be drawn in between.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use rayon::{iter::Either, prelude::*};

use super::{
    cells::{Cells, Pass},
    lanes::{LANES, LaneMask, with_eight_lanes},
};
use crate::core::tiles::{SIDE, Tiling};

/// Particles per block: fewer leave lanes empty, more leave threads idle. Under Miri, small maps have several blocks.
const PER_BLOCK: usize = if cfg!(miri) { 2 } else { 120 };
/// Minimum side of a block, in tiles: blocks on both sides of one reach into different tiles of it.
const LEAST: usize = 2;
/// Distance from the start and end of its step within which a particle reads and changes the ground, in cells.
const MARGIN: f32 = 2.0;
/// Steps of the particles of a block after its queue is empty. The rest then joins those of other blocks, so that no lanes stay
/// empty.
const DRAIN_STEPS: usize = 32;
/// Particles per batch, so that the ground that they visit stays in the cache.
pub const BATCH_SIZE: usize = 2048;
/// Steps between calls of [`ParticleKind::account`].
const ACCOUNT_INTERVAL: usize = 16;

/// Kind of particles: how eight of them move, and what they do to the ground.
///
/// The unsafe methods read and change the ground near a particle, which all threads share.
///
/// `step` and `insert_particle` must be `#[inline(always)]`, so that they are compiled for the vector unit.
///
/// # Safety
/// `step` accesses the ground only as it promises.
pub unsafe trait ParticleKind: Sync {
    /// Particle outside the lanes.
    type Particle: Copy + Send + Sync;
    /// Eight moving particles.
    type Bundle;
    /// Accumulated effect of particles.
    type Outcome: Default + Send;

    /// Returns the position of a particle: column and row, in cells.
    fn place(particle: &Self::Particle) -> [f32; 2];

    /// Creates empty lanes at the position of a particle.
    ///
    /// # Safety
    /// No other thread changes the ground at most two cells from the particle during the call.
    unsafe fn bundle(&self, like: &Self::Particle) -> Self::Bundle;

    /// Puts a particle into a lane.
    ///
    /// # Safety
    /// No other thread changes the ground at most two cells from the particle during the call.
    unsafe fn insert_particle(&self, bundle: &mut Self::Bundle, lane: usize, particle: &Self::Particle);

    /// Moves the running particles. Returns the lanes of those that have just ended or left the block.
    ///
    /// A particle that would land beyond the reach of the block stays as it was, and is returned too. It reads and changes the
    /// ground at most two cells from where it was or lands.
    ///
    /// # Safety
    /// No other thread accesses the ground of the block and the two rows beyond its reach during the call.
    unsafe fn step(&self, bundle: &mut Self::Bundle, block: &ParticleBlock) -> LaneMask;

    /// Takes out a particle returned by [`Self::step`]; `None` if it has ended, which adds its effect.
    fn take(&self, bundle: &mut Self::Bundle, lane: usize, outcome: &mut Self::Outcome) -> Option<Self::Particle>;

    /// Adds the effect of the lanes since the last call.
    fn account(&self, bundle: &mut Self::Bundle, outcome: &mut Self::Outcome);

    /// Adds the effect of other particles.
    fn add(outcome: &mut Self::Outcome, other: Self::Outcome);
}

/// Rows of the map whose particles run together.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleBlock {
    rows: Range<f32>,
    /// Rows in which its particles may land.
    reach: Range<f32>,
}

impl ParticleBlock {
    /// Block without limits.
    pub const ALL: Self = Self { rows: f32::NEG_INFINITY..f32::INFINITY, reach: f32::NEG_INFINITY..f32::INFINITY };

    /// Returns `true` if a row lies in it.
    #[inline(always)]
    pub fn has(&self, y: f32) -> bool {
        (y >= self.rows.start) & (y < self.rows.end)
    }

    /// Returns `true` if a particle may land in a row. A row that is not finite counts as reachable: the law ends its particle
    /// there.
    #[inline(always)]
    pub fn reaches(&self, y: f32) -> bool {
        !y.is_finite() | ((y >= self.reach.start) & (y < self.reach.end))
    }

    /// Returns the first and last row in which its particles may land, on a map with `height` rows.
    pub fn landing(&self, height: usize) -> [f32; 2] {
        [self.reach.start.max(0.0), (self.reach.end.min(height as f32) - 1.0).max(0.0)]
    }
}

/// Division of a map into blocks: whole rows of tiles, and an even number of blocks, so that adjacent ones never run in the same of
/// two turns, on a periodic map too. The inner boundaries follow the particles.
#[derive(Clone)]
struct BlockPartition {
    tiling: Tiling,
    /// Rows of tiles that contain particles, without a partial last one.
    rows: Range<usize>,
    count: usize,
}

impl BlockPartition {
    /// Creates blocks for particles in these rows.
    fn new(tiling: Tiling, particles: impl ExactSizeIterator<Item = f32>) -> Self {
        let (count, whole) = (particles.len() / PER_BLOCK, tiling.height() / SIDE);
        let rows = particles.fold((whole, 0), |(least, most), y| {
            let row = y as usize / SIDE;
            (least.min(row), most.max(row + 1))
        });
        let rows = rows.0..rows.1.min(whole);
        Self { tiling, count: (count.min(rows.len() / LEAST) & !1).max(1), rows }
    }

    /// Returns the first row of a block; for the block after the last, the height of the map.
    fn first(&self, block: usize) -> usize {
        match block {
            0 => 0,
            block if block == self.count => self.tiling.height(),
            block => (self.rows.start + block * self.rows.len() / self.count) * SIDE,
        }
    }

    fn block(&self, index: usize) -> ParticleBlock {
        if self.count == 1 {
            return ParticleBlock::ALL;
        }
        let (first, last) = (self.first(index), self.first(index + 1));
        // Less than half of a neighbour: the next block of the same turn begins beyond it.
        let beyond = (self.rows.len() / self.count / 2 * SIDE) as f32 - MARGIN;
        let rows = first as f32..last as f32;
        ParticleBlock { reach: rows.start - beyond..rows.end + beyond, rows }
    }

    /// Returns the block of a row on the map.
    fn of(&self, y: f32) -> usize {
        let y = (y as usize).min(self.tiling.height() - 1);
        let row = (y / SIDE).saturating_sub(self.rows.start);
        let guess = (row * self.count / self.rows.len().max(1)).min(self.count - 1);
        // Rounding can make it one too low.
        if guess + 1 < self.count && y >= self.first(guess + 1) { guess + 1 } else { guess }
    }
}

/// Running particles of a swarm, and their effect so far.
#[derive(Clone)]
pub struct SwarmRun<P, O> {
    /// Particles that have not started.
    later: std::vec::IntoIter<P>,
    /// Particles that wait for the next round.
    particles: Vec<P>,
    round: Option<SwarmRound<P, O>>,
    outcome: O,
}

/// Round of a swarm: in its first turn every other block runs its waiting particles, in the second the blocks between them do.
#[derive(Clone)]
struct SwarmRound<P, O> {
    blocks: BlockPartition,
    waiting: Vec<Vec<P>>,
    turn: usize,
    /// Blocks of the turn that have not run yet, with the particles that waited when it began, and those that have run.
    crowds: Vec<(usize, Vec<P>)>,
    ran: Vec<(usize, BlockResult<P, O>)>,
    /// Steps of the particles of a block after its queue is empty.
    last: usize,
    /// Particles that leap far beyond the border of their block, which they do when the round ends.
    far: Vec<P>,
}

impl<P: Copy + Send + Sync, O: Default + Send> SwarmRun<P, O> {
    /// Creates a swarm of particles at their start. If there are many, neighbours in the list should be close on the map.
    pub fn new(particles: Vec<P>) -> Self {
        Self { later: particles.into_iter(), particles: Vec::new(), round: None, outcome: O::default() }
    }

    /// Starts the next batch if the last one has ended.
    fn begin(&mut self) {
        if self.round.is_none() && self.particles.is_empty() {
            self.particles = self.later.by_ref().take(BATCH_SIZE).collect();
        }
    }

    /// Runs the particles until all have ended, or until a deadline, but at least as many blocks as there are threads, or all that
    /// wait. Returns `true` if all have ended, which completes the outcome. The result does not depend on interruptions.
    ///
    /// # Safety
    /// Nothing else accesses the ground of the swarm during the call.
    pub unsafe fn run_until<S>(&mut self, swarm: &S, tiling: Tiling, until: Option<Instant>) -> bool
    where
        S: ParticleKind<Particle = P, Outcome = O>,
    {
        let (begun, threads) = (AtomicUsize::new(0), rayon::current_num_threads());
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        loop {
            self.begin();
            let mut round = match self.round.take() {
                Some(round) => round,
                None if self.particles.is_empty() => return true,
                None => SwarmRound::new::<S>(tiling, std::mem::take(&mut self.particles)),
            };
            let (blocks, last) = (&round.blocks, round.last);
            let crowds = std::mem::take(&mut round.crowds);
            let work = crowds.into_par_iter().with_max_len(1).map(|(index, mut particles)| {
                if begun.fetch_add(1, Ordering::Relaxed) >= threads && is_late() {
                    return Either::Left((index, particles));
                }
                in_order::<S>(tiling, &mut particles);
                let block = &blocks.block(index);
                Either::Right((index, with_eight_lanes(RunBlock { swarm, block, particles, last })))
            });
            let (left, ran): (Vec<_>, Vec<_>) = work.partition_map(|done| done);
            round.crowds = left;
            round.ran.extend(ran);
            if round.crowds.is_empty() {
                self.end_turn::<S>(&mut round);
            }
            if round.crowds.is_empty() {
                self.end::<S>(swarm, round);
            } else {
                self.round = Some(round);
            }
            let waits = self.round.is_some() || !self.particles.is_empty() || self.later.len() > 0;
            if waits && is_late() {
                return false;
            }
        }
    }

    /// Ends a turn and begins the next: adds the effects of its blocks in order, and passes on the particles that have left them.
    fn end_turn<S: ParticleKind<Particle = P, Outcome = O>>(&mut self, round: &mut SwarmRound<P, O>) {
        round.ran.sort_by_key(|(index, _)| *index);
        for (index, BlockResult { gone, left, outcome }) in round.ran.drain(..) {
            S::add(&mut self.outcome, outcome);
            let block = round.blocks.block(index);
            let (leaps, gone): (Vec<_>, _) = gone.into_iter().partition(|gone| block.has(S::place(gone)[1]));
            round.far.extend(leaps);
            self.particles.extend(left);
            send::<S>(&round.blocks, &mut round.waiting, gone);
        }
        round.turn += 1;
        round.begin_turn();
    }

    /// Ends a round: particles that leap far do so while no block runs, and the others wait for the next round.
    fn end<S: ParticleKind<Particle = P, Outcome = O>>(&mut self, swarm: &S, round: SwarmRound<P, O>) {
        self.particles.extend(round.waiting.into_iter().flatten());
        for particle in round.far {
            let leap = RunBlock { swarm, block: &ParticleBlock::ALL, particles: vec![particle], last: 1 };
            let ran = with_eight_lanes(leap);
            S::add(&mut self.outcome, ran.outcome);
            self.particles.extend(ran.gone.into_iter().chain(ran.left));
        }
    }

    /// Returns the effect of the particles.
    pub fn into_outcome(self) -> O {
        self.outcome
    }
}

impl<P: Copy, O> SwarmRound<P, O> {
    fn new<S: ParticleKind<Particle = P>>(tiling: Tiling, particles: Vec<P>) -> Self {
        let blocks = BlockPartition::new(tiling, particles.iter().map(|particle| S::place(particle)[1]));
        // Many particles that start in few rows are divided into blocks once they have spread.
        let many = blocks.count > 1 || particles.len() >= 2 * PER_BLOCK;
        let last = if many { DRAIN_STEPS } else { usize::MAX };
        let mut waiting = vec![Vec::new(); blocks.count];
        send::<S>(&blocks, &mut waiting, particles);
        let mut round = Self { blocks, waiting, turn: 0, crowds: Vec::new(), ran: Vec::new(), last, far: Vec::new() };
        round.begin_turn();
        round
    }

    /// Queues the blocks of a turn; none after the second.
    fn begin_turn(&mut self) {
        if self.turn < 2 {
            let own = self.waiting.iter_mut().enumerate().skip(self.turn).step_by(2);
            let own = own.map(|(block, own)| (block, std::mem::take(own)));
            self.crowds = own.filter(|(_, own)| !own.is_empty()).collect();
        }
    }
}

/// Queues particles in the blocks that contain them.
fn send<S: ParticleKind>(blocks: &BlockPartition, waiting: &mut [Vec<S::Particle>], particles: Vec<S::Particle>) {
    for particle in particles {
        waiting[blocks.of(S::place(&particle)[1])].push(particle);
    }
}

/// Sorts particles by tile, so that neighbours in the list visit the same ground.
fn in_order<S: ParticleKind>(tiling: Tiling, particles: &mut [S::Particle]) {
    particles.sort_by_cached_key(|particle| {
        let [x, y] = S::place(particle);
        tiling.of(x as usize, y as usize)
    });
}

/// Pass over the particles of a block. While it runs, no other thread accesses the ground in reach of the block.
struct RunBlock<'a, S: ParticleKind> {
    swarm: &'a S,
    block: &'a ParticleBlock,
    particles: Vec<S::Particle>,
    /// Steps of the particles after the queue is empty.
    last: usize,
}

/// Particles that have left their block, those that have neither left nor ended, and the effect of all.
#[derive(Clone)]
struct BlockResult<P, O> {
    gone: Vec<P>,
    left: Vec<P>,
    outcome: O,
}

impl<S: ParticleKind> Pass for RunBlock<'_, S> {
    type Output = BlockResult<S::Particle, S::Outcome>;

    #[inline(always)]
    fn run<V: Cells>(self) -> Self::Output {
        let Self { swarm, block, particles, mut last } = self;
        let mut ran = BlockResult { gone: Vec::new(), left: Vec::new(), outcome: S::Outcome::default() };
        let Some(first) = particles.first() else { return ran };
        // SAFETY: blocks that run at the same time are never adjacent, and nothing else accesses the ground, as promised by the caller of
        // `SwarmRun::run_until`.
        let (mut bundle, mut next) = (unsafe { swarm.bundle(first) }, particles.iter());
        let mut runs = [false; LANES];
        for (lane, particle) in next.by_ref().take(LANES).enumerate() {
            // SAFETY: as above.
            unsafe { swarm.insert_particle(&mut bundle, lane, particle) };
            runs[lane] = true;
        }
        while runs != [false; LANES] && last > 0 {
            for _ in 0..ACCOUNT_INTERVAL.min(last) {
                // SAFETY: as above.
                let stopped = unsafe { swarm.step(&mut bundle, block) };
                if stopped.any() {
                    for lane in (0..LANES).filter(|&lane| stopped.0[lane] != 0) {
                        ran.gone.extend(swarm.take(&mut bundle, lane, &mut ran.outcome));
                        match next.next() {
                            // SAFETY: as above.
                            Some(particle) => unsafe { swarm.insert_particle(&mut bundle, lane, particle) },
                            None => runs[lane] = false,
                        }
                    }
                }
            }
            swarm.account(&mut bundle, &mut ran.outcome);
            if next.len() == 0 {
                last = last.saturating_sub(ACCOUNT_INTERVAL);
            }
        }
        for lane in (0..LANES).filter(|&lane| runs[lane]) {
            ran.left.extend(swarm.take(&mut bundle, lane, &mut ran.outcome));
        }
        ran
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particle_blocks_partition_rows_without_tile_conflicts() {
        for (height, rows, particles) in [
            (256, 0..256, 1000),
            (50, 0..50, 5000),
            (2048, 0..2048, 30_000),
            (2048, 700..1211, 1024),
            (333, 150..333, 900),
            (333, 5..6, 900),
            (8, 0..8, 1000),
            (131, 0..131, 100_000),
            (16, 0..16, 500),
            (1, 0..1, 1),
        ] {
            let rows = (0..particles).map(|particle| (rows.start + particle % rows.len()) as f32 + 0.5);
            let blocks = BlockPartition::new(Tiling::new(37, height), rows);
            let all: Vec<ParticleBlock> = (0..blocks.count).map(|index| blocks.block(index)).collect();
            for y in (0..height).map(|y| y as f32 + 0.5) {
                let own: Vec<usize> = (0..all.len()).filter(|&index| all[index].has(y)).collect();
                assert_eq!(own, [blocks.of(y)], "row {y} of {height}");
            }
            assert!(all.len() == 1 || all.len().is_multiple_of(2));
            for (one, other) in (2..all.len()).map(|index| (&all[index - 2], &all[index])) {
                let tile = |y: f32| (y / SIDE as f32).floor();
                assert!(tile(one.reach.end + MARGIN - 0.5) < tile(other.reach.start - MARGIN), "{one:?} {other:?}");
            }
        }
    }
}
