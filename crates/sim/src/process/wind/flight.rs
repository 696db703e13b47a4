//! Grains that run their whole life on the ground of a wave's start, several at once in the lanes of the vector unit.
//!
//! A lane whose grain has ended takes the next one that waits. Grains don't see each other, so it doesn't matter which
//! thread and which lane runs which grain.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::field::{BELOW, COUNT, Field, Tallies};
use crate::{
    process::{Moment, Track},
    simd::cells::{Cells, MOST, Pass, Places, with_vector_unit},
};

/// Steps between two looks for grains that have ended.
const ROUND: usize = 16;
/// Below this many grains a second thread costs more than it does.
const GRAINS_PER_THREAD: usize = 32;
/// Longest track that is kept, in points.
const LONGEST_TRACK: usize = 2000;

/// A grain at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Start {
    /// Column and row, in cells.
    pub place: [f32; 2],
    /// Velocity along columns and rows, in the unit of the law.
    pub velocity: [f32; 2],
    /// Sand on board, in quanta.
    pub load: i32,
    /// Its place in the law's table of random numbers: below [`TABLE`].
    pub random: i32,
}

/// Grains on their way.
#[derive(Clone, Copy)]
pub struct Grains<V: Cells> {
    /// Column, in cells.
    pub x: V,
    /// Row.
    pub y: V,
    /// Height, in the unit of the law.
    pub height: V,
    /// Velocity along columns, along rows and upwards, in the unit of the law.
    pub velocity: [V; 3],
    /// Sand on board, in quanta.
    pub load: V::Whole,
    /// Steps taken.
    pub age: V,
    /// Place in the law's table of random numbers.
    pub random: V::Whole,
    /// 1 for a grain on its way, 0 for one that has ended...
    pub runs: V,
    /// ...and 1 if it has left the map.
    pub left: V,
    /// Taken off the sand, in quanta.
    pub lifted: V::Whole,
    /// Dropped, in quanta.
    pub dropped: V::Whole,
}

/// What a law counts for a grain that touches the ground; below it, how often sand is to slide.
pub const TOUCH: f32 = (1 << COUNT) as f32;

/// Numbers in a law's table of random numbers.
pub const TABLE: usize = 4096;

impl<V: Cells> Grains<V> {
    /// The next number of the table for every grain.
    #[inline(always)]
    pub fn draw(&mut self, table: &[f32; TABLE]) -> V {
        // SAFETY: places in the table start below its length, see `Start`, and are kept there.
        let drawn = unsafe { V::gather(table, &Places::of::<V>(self.random)) };
        let next = V::number(V::plus(self.random, V::all_whole(1)));
        self.random = V::truncated(V::all(TABLE as f32).if_above(next, next, V::all(0.0)));
        drawn
    }
}

/// What grains ask of the sand in a step.
pub struct GrainNote<V: Cells> {
    /// The cell that is changed, as a place in the field.
    pub at: Places,
    /// A second one, if the law has two.
    pub beside: Option<Places>,
    /// What comes to them, in quanta.
    pub change: [V::Whole; 2],
    /// What is added to the law's own count there.
    pub tally: [V::Whole; 2],
    /// Rock that turns into sand in the first of them, in quanta.
    pub worn: V,
}

/// A law of motion and exchange. Its step must be `#[inline(always)]`.
pub trait GrainLaw: Sync {
    /// Whether what a grain carries at its end is laid down there; else it is lost.
    fn settles(&self) -> bool;

    /// The ground that its grains see.
    fn field(&self) -> &Field;

    /// Share of a cell's loose sand that a visit takes at most.
    fn bite(&self) -> f32;

    /// A step. One that has ended asks for nothing and stays where it is.
    fn step<V: Cells>(&self, grains: &mut Grains<V>) -> GrainNote<V>;
}

/// What grains did, in quanta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightOutcome {
    /// Steps taken.
    pub steps: u64,
    /// Taken off the sand.
    pub lifted: i64,
    /// Dropped.
    pub dropped: i64,
    /// Rock that turned into sand.
    pub worn: i64,
    /// Carried over the border.
    pub outflow: i64,
    /// Lost with grains that ended: published laws only.
    pub lost: i64,
}

impl FlightOutcome {
    fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            lifted: self.lifted + other.lifted,
            dropped: self.dropped + other.dropped,
            worn: self.worn + other.worn,
            outflow: self.outflow + other.outflow,
            lost: self.lost + other.lost,
        }
    }
}

/// Runs grains to their end. What they do to the sand is added to the tallies: one for each thread that ran, as large as
/// the field.
pub fn run<L: GrainLaw>(
    law: &L,
    starts: &[Start],
    tallies: &mut Vec<Tallies>,
    cells: usize,
    watched: bool,
) -> FlightOutcome {
    let threads = rayon::current_num_threads().min(starts.len() / GRAINS_PER_THREAD).max(1);
    if tallies.len() < threads {
        tallies.resize_with(threads, Tallies::default);
    }
    tallies.iter_mut().for_each(|tallies| tallies.resize(cells));
    let next = AtomicUsize::new(0);
    let run = |tallies: &mut Tallies| {
        if watched {
            tallies.passed.resize(cells, 0);
        }
        with_vector_unit(WaveOfThread { law, starts, next: &next, tallies, watched })
    };
    let outcomes: Vec<FlightOutcome> = tallies.par_iter_mut().take(threads).with_max_len(1).map(run).collect();
    outcomes.into_iter().fold(FlightOutcome::default(), FlightOutcome::and)
}

/// The way of one grain, step by step. `offset` is the distance of a cell's centre from its index, `quantum` the sand of a quantum, in metres.
pub fn follow<L: GrainLaw>(law: &L, start: &Start, offset: f32, quantum: f32) -> Vec<Moment> {
    let mut lane = GrainLanes::new();
    lane.take(0, start);
    let mut grains: Grains<f32> = lane.load();
    let mut way = Vec::new();
    while grains.runs > 0.0 {
        law.step(&mut grains);
        let [vx, vy, vz] = grains.velocity;
        way.push(Moment {
            place: [grains.x + offset, grains.y + offset],
            speed: libm::hypotf(libm::hypotf(vx, vy), vz),
            water: None,
            load: grains.load as f32 * quantum,
            capacity: None,
        });
    }
    way
}

/// The ways of grains, run once more by themselves. `offset` is what a cell's middle lies from its number.
pub fn tracks<L: GrainLaw>(law: &L, starts: &[Start], offset: f32) -> Vec<Track> {
    let way = |start: &Start| {
        let mut lane = GrainLanes::new();
        lane.take(0, start);
        let mut grains: Grains<f32> = lane.load();
        let mut track = vec![[grains.x + offset, grains.y + offset]];
        while grains.runs > 0.0 && track.len() < LONGEST_TRACK {
            law.step(&mut grains);
            track.push([grains.x + offset, grains.y + offset]);
        }
        track
    };
    starts.par_iter().map(way).filter(|track| track.len() > 2).collect()
}

/// The state of as many grains as a vector has lanes.
struct GrainLanes {
    numbers: [[f32; MOST]; 9],
    wholes: [[i32; MOST]; 4],
}

/// Places of the parts of a state.
const RUNS: usize = 7;
const LEFT: usize = 8;
const LOAD: usize = 0;

impl GrainLanes {
    /// No grain in any lane.
    fn new() -> Self {
        Self { numbers: [[0.0; MOST]; 9], wholes: [[0; MOST]; 4] }
    }

    /// Puts a grain into a lane.
    fn take(&mut self, lane: usize, start: &Start) {
        let ([x, y], [vx, vy]) = (start.place, start.velocity);
        for (part, value) in self.numbers.iter_mut().zip([x, y, 0.0, vx, vy, 0.0, 0.0, 1.0, 0.0]) {
            part[lane] = value;
        }
        (self.wholes[LOAD][lane], self.wholes[1][lane]) = (start.load, start.random);
    }

    #[inline(always)]
    fn load<V: Cells>(&self) -> Grains<V> {
        let number = |part: usize| V::load(&self.numbers[part], 0);
        let whole = |part: usize| V::load_whole(&self.wholes[part]);
        Grains {
            x: number(0),
            y: number(1),
            height: number(2),
            velocity: [number(3), number(4), number(5)],
            load: whole(LOAD),
            age: number(6),
            random: whole(1),
            runs: number(RUNS),
            left: number(LEFT),
            lifted: whole(2),
            dropped: whole(3),
        }
    }

    #[inline(always)]
    fn store<V: Cells>(&mut self, grains: &Grains<V>) {
        let [vx, vy, vz] = grains.velocity;
        let numbers = [grains.x, grains.y, grains.height, vx, vy, vz, grains.age, grains.runs, grains.left];
        for (part, value) in self.numbers.iter_mut().zip(numbers) {
            value.store(part, 0);
        }
        let wholes = [grains.load, grains.random, grains.lifted, grains.dropped];
        for (part, value) in self.wholes.iter_mut().zip(wholes) {
            V::store_whole(value, part);
        }
    }

    /// Takes what a part has counted, over all lanes.
    fn drain(&mut self, part: usize) -> i64 {
        std::mem::take(&mut self.wholes[part]).iter().map(|&count| i64::from(count)).sum()
    }
}

/// One thread's part of a wave.
struct WaveOfThread<'a, L> {
    law: &'a L,
    starts: &'a [Start],
    next: &'a AtomicUsize,
    tallies: &'a mut Tallies,
    watched: bool,
}

impl<L: GrainLaw> Pass for WaveOfThread<'_, L> {
    type Output = FlightOutcome;

    #[inline(always)]
    fn run<V: Cells>(self) -> FlightOutcome {
        let Self { law, starts, next, tallies, watched } = self;
        let mut lanes = GrainLanes::new();
        let mut outcome = FlightOutcome::default();
        let mut holds = [false; MOST];
        loop {
            let mut grains: Grains<V> = lanes.load();
            for lane in 0..V::COUNT {
                if lanes.numbers[RUNS][lane] > 0.0 {
                    continue;
                }
                if holds[lane] {
                    let load = lanes.wholes[LOAD][lane];
                    if lanes.numbers[LEFT][lane] > 0.0 {
                        outcome.outflow += i64::from(load);
                    } else if law.settles() {
                        let cell = law.field().cell(grains.x, grains.y).0[lane];
                        tallies.changes[cell as usize] += i64::from(load) << BELOW;
                        outcome.dropped += i64::from(load);
                    } else {
                        outcome.lost += i64::from(load);
                    }
                    lanes.wholes[LOAD][lane] = 0;
                }
                let index = next.fetch_add(1, Ordering::Relaxed);
                holds[lane] = index < starts.len();
                if let Some(start) = starts.get(index) {
                    lanes.take(lane, start);
                }
            }
            if !holds.contains(&true) {
                break;
            }
            grains = lanes.load();
            let mut steps = V::all(0.0);
            for _ in 0..ROUND {
                steps = steps + grains.runs;
                let note = law.step(&mut grains);
                apply(tallies, &note, &mut outcome);
                if watched {
                    pass::<V>(tallies, &note.at, grains.load, grains.runs);
                }
            }
            lanes.store(&grains);
            let mut counted = [0.0; MOST];
            steps.store(&mut counted, 0);
            outcome.steps += counted.iter().map(|&count| count as u64).sum::<u64>();
            outcome.lifted += lanes.drain(2);
            outcome.dropped += lanes.drain(3);
        }
        outcome
    }
}

/// A change of sand in the upper half and counts in the lower one, as a tally has them.
#[inline(always)]
fn tally(both: i64) -> i64 {
    ((both >> 32) << BELOW) + (both & i64::from(u32::MAX))
}

/// Adds a note to the tallies.
#[inline(always)]
fn apply<V: Cells>(tallies: &mut Tallies, note: &GrainNote<V>, outcome: &mut FlightOutcome) {
    for (cell, at) in [Some(&note.at), note.beside.as_ref()].into_iter().enumerate() {
        let Some(at) = at else { break };
        let mut both = [0; MOST];
        V::store_pairs(note.tally[cell], note.change[cell], &mut both);
        for lane in 0..V::COUNT {
            // SAFETY: a law's places lie in its field, and the tallies are as large.
            unsafe { *tallies.changes.get_unchecked_mut(at.0[lane] as usize) += tally(both[lane]) };
        }
    }
    if note.worn.any_above(V::all(0.5)) {
        wear(tallies, note, outcome);
    }
}

/// Adds the rock that a note's grains wear off.
#[cold]
fn wear<V: Cells>(tallies: &mut Tallies, note: &GrainNote<V>, outcome: &mut FlightOutcome) {
    tallies.worn.resize(tallies.changes.len(), 0);
    let mut worn = [0; MOST];
    V::store_whole(V::nearest(note.worn.positive()), &mut worn);
    for lane in 0..V::COUNT {
        tallies.worn[note.at.0[lane] as usize] += i64::from(worn[lane]);
        outcome.worn += i64::from(worn[lane]);
    }
}

/// Notes what passes over cells.
#[cold]
fn pass<V: Cells>(tallies: &mut Tallies, at: &Places, load: V::Whole, runs: V) {
    let (mut loads, mut running) = ([0; MOST], [0.0; MOST]);
    V::store_whole(load, &mut loads);
    runs.store(&mut running, 0);
    for lane in (0..V::COUNT).filter(|&lane| running[lane] > 0.0) {
        tallies.passed[at.0[lane] as usize] += i64::from(loads[lane] >> 8);
    }
}
