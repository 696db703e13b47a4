//! Particles that move eight at a time in the lanes of the vector unit, on a map cut into blocks of rows that threads take.
//!
//! A block's particles run one after the other, eight of them side by side, and change the ground as they go. One that leaves
//! its block waits until its new one has its turn. Blocks that run at the same time are never neighbours: what they see and change
//! lies apart. Which blocks there are and in which order particles come depends on the map and the particles alone, so the bits
//! are the same for every number of threads; and nobody passes over the ground.
//!
//! Between blocks it may stop and go on later, so that a frame can be drawn meanwhile.

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

/// Particles for which a block is made: fewer leave lanes empty, more leave threads without work.
const PER_BLOCK: usize = 120;
/// Least side of a block, in tiles: blocks on both sides of one reach into different tiles of it.
const LEAST: usize = 2;
/// How far from where it was or lands a particle sees and changes the ground, in cells.
const MARGIN: f32 = 2.0;
/// Steps that particles of a block do once none of it waits: then they are joined with those of other blocks, so that no lanes stay empty.
const LAST: usize = 32;
/// Particles that run at once, so that the ground they meet stays in the cache; the others follow in batches.
pub const TOGETHER: usize = 2048;
/// Steps after which lanes give account.
const ROUND: usize = 16;

/// Particles of one kind: how eight of them move, and what they do to the ground.
///
/// `step` and `put` must be `#[inline(always)]`, so that they are compiled for the vector unit.
pub trait Swarm: Sync {
    /// A particle that is not on its way.
    type Particle: Copy + Send + Sync;
    /// Eight particles on their way.
    type Bundle;
    /// What particles did.
    type Outcome: Default + Send;

    /// Where a particle is: column and row, in cells.
    fn place(particle: &Self::Particle) -> [f32; 2];

    /// Lanes without particles, which stand where this one is: nobody else may come there now.
    fn bundle(&self, like: &Self::Particle) -> Self::Bundle;

    /// Puts a particle into a lane.
    fn put(&self, bundle: &mut Self::Bundle, lane: usize, particle: &Self::Particle);

    /// Moves the particles that are on their way. Returns the lanes of those that have ended or left the block now.
    ///
    /// A particle that would land farther away than the block reaches stays as it was, and is returned too. What it sees and
    /// changes lies at most two cells from where it was or lands.
    fn step(&self, bundle: &mut Self::Bundle, block: &Block) -> LaneMask;

    /// Takes out a particle that [`Self::step`] has returned. None if it has ended; what it did is then added.
    fn take(&self, bundle: &mut Self::Bundle, lane: usize, outcome: &mut Self::Outcome) -> Option<Self::Particle>;

    /// Adds what lanes did since the last time.
    fn account(&self, bundle: &mut Self::Bundle, outcome: &mut Self::Outcome);

    /// Adds what others did.
    fn add(outcome: &mut Self::Outcome, other: Self::Outcome);
}

/// Rows of the map whose particles run together.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    rows: Range<f32>,
    /// Rows in which they may land.
    reach: Range<f32>,
}

impl Block {
    /// Everything there is.
    pub const ALL: Self = Self { rows: f32::NEG_INFINITY..f32::INFINITY, reach: f32::NEG_INFINITY..f32::INFINITY };

    /// Whether a row lies in it.
    #[inline(always)]
    pub fn has(&self, y: f32) -> bool {
        (y >= self.rows.start) & (y < self.rows.end)
    }

    /// Whether a particle may land in a row. One that is not finite counts as near: there the law ends its particle.
    #[inline(always)]
    pub fn reaches(&self, y: f32) -> bool {
        !y.is_finite() | ((y >= self.reach.start) & (y < self.reach.end))
    }

    /// The rows in which it may land, of a map with so many: the first and the last.
    pub fn landing(&self, height: usize) -> [f32; 2] {
        [self.reach.start.max(0.0), (self.reach.end.min(height as f32) - 1.0).max(0.0)]
    }
}

/// How a map is cut into blocks: whole rows of tiles, and an even number of blocks, so that in two turns none runs beside another, on
/// a periodic map too. Those between the first and the last lie where the particles are.
#[derive(Clone)]
struct Blocks {
    tiling: Tiling,
    /// The rows of tiles that particles are in, without a last one that is cut off.
    rows: Range<usize>,
    count: usize,
}

impl Blocks {
    /// Blocks for particles in these rows.
    fn new(tiling: Tiling, particles: impl ExactSizeIterator<Item = f32>) -> Self {
        let (count, whole) = (particles.len() / PER_BLOCK, tiling.height() / SIDE);
        let rows = particles.fold((whole, 0), |(least, most), y| {
            let row = y as usize / SIDE;
            (least.min(row), most.max(row + 1))
        });
        let rows = rows.0..rows.1.min(whole);
        Self { tiling, count: (count.min(rows.len() / LEAST) & !1).max(1), rows }
    }

    /// The first row of a block; of the one after the last, where the map ends.
    fn first(&self, block: usize) -> usize {
        match block {
            0 => 0,
            block if block == self.count => self.tiling.height(),
            block => (self.rows.start + block * self.rows.len() / self.count) * SIDE,
        }
    }

    fn block(&self, index: usize) -> Block {
        if self.count == 1 {
            return Block::ALL;
        }
        let (first, last) = (self.first(index), self.first(index + 1));
        // Less than half of a neighbour: the next one in its turn begins beyond it.
        let beyond = (self.rows.len() / self.count / 2 * SIDE) as f32 - MARGIN;
        let rows = first as f32..last as f32;
        Block { reach: rows.start - beyond..rows.end + beyond, rows }
    }

    /// The block of a row on the map.
    fn of(&self, y: f32) -> usize {
        let y = (y as usize).min(self.tiling.height() - 1);
        let row = (y / SIDE).saturating_sub(self.rows.start);
        let guess = (row * self.count / self.rows.len().max(1)).min(self.count - 1);
        // Rounding can put it one too low.
        if guess + 1 < self.count && y >= self.first(guess + 1) { guess + 1 } else { guess }
    }
}

/// Particles of a swarm on their way, and what they have done so far.
#[derive(Clone)]
pub struct Flock<P, O> {
    /// Those that have not begun.
    later: std::vec::IntoIter<P>,
    /// Those that wait for the next round.
    particles: Vec<P>,
    round: Option<Round<P, O>>,
    outcome: O,
}

/// A round: in its first turn every other block runs the particles that wait in it, in the second the blocks between them do.
#[derive(Clone)]
struct Round<P, O> {
    blocks: Blocks,
    waiting: Vec<Vec<P>>,
    turn: usize,
    /// Blocks of the turn that have not run yet, with the particles that waited when it began, and those that have.
    crowds: Vec<(usize, Vec<P>)>,
    ran: Vec<(usize, Ran<P, O>)>,
    /// Steps that those do who run when no other waits any more in their block.
    last: usize,
    /// Those that leap far over the border of their block: they do so when the round ends.
    far: Vec<P>,
}

impl<P: Copy + Send + Sync, O: Default + Send> Flock<P, O> {
    /// Particles at their start. If they are many, neighbours in the list should lie together on the map.
    pub fn new(particles: Vec<P>) -> Self {
        Self { later: particles.into_iter(), particles: Vec::new(), round: None, outcome: O::default() }
    }

    /// Starts the next batch if the last one has ended.
    fn begin(&mut self) {
        if self.round.is_none() && self.particles.is_empty() {
            self.particles = self.later.by_ref().take(TOGETHER).collect();
        }
    }

    /// Runs them until each has ended, or until a moment has come; but once as many blocks as there are threads run, or what waits. True if
    /// each has ended; what they did is then complete. What comes of it does not depend on where it stops.
    pub fn go_on<S>(&mut self, swarm: &S, tiling: Tiling, until: Option<Instant>) -> bool
    where
        S: Swarm<Particle = P, Outcome = O>,
    {
        let (begun, threads) = (AtomicUsize::new(0), rayon::current_num_threads());
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        loop {
            self.begin();
            let mut round = match self.round.take() {
                Some(round) => round,
                None if self.particles.is_empty() => return true,
                None => Round::new::<S>(tiling, std::mem::take(&mut self.particles)),
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

    /// Ends a turn, and begins the second one after the first: adds what its blocks did, in their order, and sends on who has left them.
    fn end_turn<S: Swarm<Particle = P, Outcome = O>>(&mut self, round: &mut Round<P, O>) {
        round.ran.sort_by_key(|(index, _)| *index);
        for (index, Ran { gone, left, outcome }) in round.ran.drain(..) {
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

    /// Ends a round: who leaps far does so while no block runs, and the others wait for the next one.
    fn end<S: Swarm<Particle = P, Outcome = O>>(&mut self, swarm: &S, round: Round<P, O>) {
        self.particles.extend(round.waiting.into_iter().flatten());
        for particle in round.far {
            let leap = RunBlock { swarm, block: &Block::ALL, particles: vec![particle], last: 1 };
            let ran = with_eight_lanes(leap);
            S::add(&mut self.outcome, ran.outcome);
            self.particles.extend(ran.gone.into_iter().chain(ran.left));
        }
    }

    /// What they did.
    pub fn into_outcome(self) -> O {
        self.outcome
    }
}

impl<P: Copy, O> Round<P, O> {
    fn new<S: Swarm<Particle = P>>(tiling: Tiling, particles: Vec<P>) -> Self {
        let blocks = Blocks::new(tiling, particles.iter().map(|particle| S::place(particle)[1]));
        // Many that begin in few rows are cut into blocks when they have spread.
        let many = blocks.count > 1 || particles.len() >= 2 * PER_BLOCK;
        let last = if many { LAST } else { usize::MAX };
        let mut waiting = vec![Vec::new(); blocks.count];
        send::<S>(&blocks, &mut waiting, particles);
        let mut round = Self { blocks, waiting, turn: 0, crowds: Vec::new(), ran: Vec::new(), last, far: Vec::new() };
        round.begin_turn();
        round
    }

    /// Has the blocks of a turn run; after the second there is none.
    fn begin_turn(&mut self) {
        if self.turn < 2 {
            let own = self.waiting.iter_mut().enumerate().skip(self.turn).step_by(2);
            let own = own.map(|(block, own)| (block, std::mem::take(own)));
            self.crowds = own.filter(|(_, own)| !own.is_empty()).collect();
        }
    }
}

/// Has particles wait in the blocks that they are in.
fn send<S: Swarm>(blocks: &Blocks, waiting: &mut [Vec<S::Particle>], particles: Vec<S::Particle>) {
    for particle in particles {
        waiting[blocks.of(S::place(&particle)[1])].push(particle);
    }
}

/// Puts particles in the order of the tiles that they are in: neighbours in the list meet the same ground.
fn in_order<S: Swarm>(tiling: Tiling, particles: &mut [S::Particle]) {
    particles.sort_by_cached_key(|particle| {
        let [x, y] = S::place(particle);
        tiling.of(x as usize, y as usize)
    });
}

/// The particles of a block on their way.
struct RunBlock<'a, S: Swarm> {
    swarm: &'a S,
    block: &'a Block,
    particles: Vec<S::Particle>,
    /// Steps that those do who run when no other waits any more.
    last: usize,
}

/// Those that have left their block, those that have neither left it nor ended, and what all did.
#[derive(Clone)]
struct Ran<P, O> {
    gone: Vec<P>,
    left: Vec<P>,
    outcome: O,
}

impl<S: Swarm> Pass for RunBlock<'_, S> {
    type Output = Ran<S::Particle, S::Outcome>;

    #[inline(always)]
    fn run<V: Cells>(self) -> Self::Output {
        let Self { swarm, block, particles, mut last } = self;
        let mut ran = Ran { gone: Vec::new(), left: Vec::new(), outcome: S::Outcome::default() };
        let Some(first) = particles.first() else { return ran };
        let (mut bundle, mut next) = (swarm.bundle(first), particles.iter());
        let mut runs = [false; LANES];
        for (lane, particle) in next.by_ref().take(LANES).enumerate() {
            swarm.put(&mut bundle, lane, particle);
            runs[lane] = true;
        }
        while runs != [false; LANES] && last > 0 {
            for _ in 0..ROUND.min(last) {
                let stopped = swarm.step(&mut bundle, block);
                if stopped.any() {
                    for lane in (0..LANES).filter(|&lane| stopped.0[lane] != 0) {
                        ran.gone.extend(swarm.take(&mut bundle, lane, &mut ran.outcome));
                        match next.next() {
                            Some(particle) => swarm.put(&mut bundle, lane, particle),
                            None => runs[lane] = false,
                        }
                    }
                }
            }
            swarm.account(&mut bundle, &mut ran.outcome);
            if next.len() == 0 {
                last = last.saturating_sub(ROUND);
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
    fn blocks_cover_the_map_once_and_those_of_a_turn_reach_into_different_tiles() {
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
            let blocks = Blocks::new(Tiling::new(37, height), rows);
            let all: Vec<Block> = (0..blocks.count).map(|index| blocks.block(index)).collect();
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
