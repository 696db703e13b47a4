//! A wave: droplets that move in step, a few at a time in vector lanes, on a team of threads.
//!
//! Published laws only. The normals are those of the wave's start; heights are live but for the last few rounds. Next to
//! droplets that run one after the other, gross erosion and the number of pits differ by
//! less than the few percent that a test allows.
//!
//! Every thread has a copy of the ground. Between two waits it moves its own droplets and notes what they take off the
//! ground; then it applies the notes of all, in the order of the droplets, to its copy. So all copies hold the same bits, for
//! every number of threads, and no thread waits for memory that another one has just changed but for the notes.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;

use super::published::{State, Step, facet_normal};
use crate::sim::{
    grid::Grid,
    real::{Kernel, LANES, Lanes, Real, gather, with_vector_unit},
    team::{self, Member, Shared},
};

/// Rounds between two exchanges of changes. The more, the more a droplet in a pit digs by what it has already dug: with the
/// parameters' defaults 4 was stable, 16 was not.
const ROUNDS: usize = 4;
/// Exchanges after which droplets that have ended make room; an even number.
const EXCHANGES_PER_CLEANING: usize = 16;
/// Below this many droplets a second thread costs more than it does.
const DROPLETS_PER_THREAD: usize = 128;

/// What eight droplets take off which cells in a round: one line of a processor's cache.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Note {
    taken: Lanes,
    cells: [i32; LANES],
}

/// Eight droplets and what they did since the last cleaning.
#[derive(Clone, Copy)]
struct Bundle {
    droplets: State<Lanes>,
    moved: Lanes,
    outflow: Lanes,
    steps: [u32; LANES],
}

/// What a wave did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Σ|change of ground|, in metres times cells.
    pub moved: f64,
    /// Sediment that droplets took over the edge, in metres times cells.
    pub outflow: f64,
    /// Steps taken by all droplets together.
    pub steps: u64,
}

/// Runs droplets, given by their start, to their end on a ground in metres.
pub fn run<S>(ground: &mut Grid, cell_size: f32, law: &S, mut droplets: Vec<State<f32>>) -> Outcome
where
    S: Step<Lanes>,
{
    let drives = drives(ground, cell_size, law);
    // Neighbours in the list are neighbours on the map, and share what a core has at hand.
    droplets.sort_by_key(|droplet| droplet.y as u32);
    let mut bundles: Vec<Bundle> = droplets.chunks(LANES).map(Bundle::of).collect();
    let mut notes = vec![Note::default(); 2 * ROUNDS * bundles.len()];
    let (count, outcome) = (AtomicUsize::new(droplets.len()), Mutex::new(Outcome::default()));
    let wave = Wave {
        drives: &drives,
        bundles: Shared::new(&mut bundles),
        notes: Shared::new(&mut notes),
        width: ground.width(),
        height: ground.height(),
        law,
    };
    let threads = rayon::current_num_threads().min(droplets.len() / DROPLETS_PER_THREAD).max(1);
    let start: &Grid = ground;
    let result = Mutex::new(None);
    team::run(threads, |mut member| {
        let mut own = start.clone();
        loop {
            let running = count.load(Ordering::Relaxed);
            if running == 0 || !member.shrink(running / DROPLETS_PER_THREAD) {
                break;
            }
            let bundles = running.div_ceil(LANES);
            with_vector_unit(Exchanges { wave: &wave, ground: &mut own, bundles, member: &member });
            if member.index() == 0 {
                // SAFETY: the others wait until there is room again.
                let all = unsafe { wave.bundles.slice_mut() };
                count.store(clean(&mut all[..bundles], law, &outcome), Ordering::Relaxed);
            }
            member.wait();
        }
        if member.index() == 0 {
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
        }
    });
    if let Some(result) = result.into_inner().unwrap_or_else(PoisonError::into_inner) {
        *ground = result;
    }
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Adds up what the bundles did and drops the droplets that have ended. Returns the number of the others.
fn clean<S: Step<Lanes>>(bundles: &mut [Bundle], law: &S, outcome: &Mutex<Outcome>) -> usize {
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    let mut droplets = Vec::with_capacity(bundles.len() * LANES);
    for bundle in &*bundles {
        outcome.moved += bundle.moved.0.iter().map(|&part| f64::from(part)).sum::<f64>();
        outcome.outflow += bundle.outflow.0.iter().map(|&part| f64::from(part)).sum::<f64>();
        outcome.steps += bundle.steps.iter().map(|&part| u64::from(part)).sum::<u64>();
        droplets.extend(bundle.living(law));
    }
    for (bundle, droplets) in bundles.iter_mut().zip(droplets.chunks(LANES)) {
        *bundle = Bundle::of(droplets);
    }
    droplets.len()
}

/// The drive along columns and rows that a droplet feels in every cell; none in the outermost ring.
fn drives<S: Step<Lanes>>(ground: &Grid, cell_size: f32, law: &S) -> Vec<[f32; 2]> {
    let (width, height) = (ground.width(), ground.height());
    let mut drives = vec![[0.0; 2]; ground.len()];
    if width < 3 || height < 3 {
        return drives;
    }
    let steepness = Lanes::splat(1.0 / f64::from(cell_size));
    drives.par_chunks_exact_mut(width).enumerate().skip(1).take(height - 2).for_each(|(y, row)| {
        let lines = [y - 1, y, y + 1].map(|line| &ground[line * width..(line + 1) * width]);
        with_vector_unit(DrivesOfRow { lines, row, steepness, law });
    });
    drives
}

struct DrivesOfRow<'a, S> {
    lines: [&'a [f32]; 3],
    row: &'a mut [[f32; 2]],
    steepness: Lanes,
    law: &'a S,
}

impl<S: Step<Lanes>> Kernel for DrivesOfRow<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let inner = self.lines[0].len() - 2;
        for first in (1..=inner).step_by(LANES) {
            let count = LANES.min(inner + 1 - first);
            let load = |line: usize, offset: usize| {
                let mut lanes = Lanes::default();
                let start = first + offset - 1;
                lanes.0[..count].copy_from_slice(&self.lines[line][start..start + count]);
                lanes
            };
            let around = std::array::from_fn(|place| load(place / 3, place % 3));
            let [x, y] = self.law.drive(facet_normal(around, self.steepness));
            for (lane, pair) in self.row[first..first + count].iter_mut().enumerate() {
                *pair = [x.0[lane], y.0[lane]];
            }
        }
    }
}

impl Bundle {
    fn of(droplets: &[State<f32>]) -> Self {
        let lanes = |part: fn(&State<f32>) -> f32, rest: f32| {
            let mut lanes = Lanes([rest; LANES]);
            lanes.0.iter_mut().zip(droplets).for_each(|(lane, droplet)| *lane = part(droplet));
            lanes
        };
        Self {
            droplets: State {
                x: lanes(|droplet| droplet.x, 0.0),
                y: lanes(|droplet| droplet.y, 0.0),
                vx: lanes(|droplet| droplet.vx, 0.0),
                vy: lanes(|droplet| droplet.vy, 0.0),
                volume: lanes(|droplet| droplet.volume, 0.0),
                load: lanes(|droplet| droplet.load, 0.0),
            },
            moved: Lanes::default(),
            outflow: Lanes::default(),
            steps: [0; LANES],
        }
    }

    fn living<'a, S: Step<Lanes>>(&'a self, law: &S) -> impl Iterator<Item = State<f32>> + 'a {
        let remaining = law.remaining(&self.droplets);
        let droplets = &self.droplets;
        (0..LANES).filter(move |&lane| remaining.0[lane] > 0.0).map(move |lane| State {
            x: droplets.x.0[lane],
            y: droplets.y.0[lane],
            vx: droplets.vx.0[lane],
            vy: droplets.vy.0[lane],
            volume: droplets.volume.0[lane],
            load: droplets.load.0[lane],
        })
    }
}

/// What the threads of a wave share.
struct Wave<'a, S> {
    drives: &'a [[f32; 2]],
    bundles: Shared<'a, Bundle>,
    /// Of this exchange and of the last, so that writing one needs no wait for the readers of the other.
    notes: Shared<'a, Note>,
    width: usize,
    height: usize,
    law: &'a S,
}

/// One thread's part of the rounds between two cleanings.
struct Exchanges<'a, S> {
    wave: &'a Wave<'a, S>,
    ground: &'a mut [f32],
    bundles: usize,
    member: &'a Member<'a>,
}

impl<S: Step<Lanes>> Kernel for Exchanges<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { wave, ground, bundles, member } = self;
        let own = member.share(bundles);
        for exchange in 0..EXCHANGES_PER_CLEANING {
            let first = (exchange % 2) * ROUNDS * bundles;
            for round in 0..ROUNDS {
                for index in own.clone() {
                    // SAFETY: shares of bundles and of their notes don't overlap, and who reads notes reads the other
                    // exchange's: those of this one were last read before the last wait.
                    unsafe {
                        let note = wave.notes.get_mut(first + round * bundles + index);
                        *note = wave.move_once(ground, wave.bundles.get_mut(index));
                    }
                }
            }
            member.wait();
            for index in first..first + ROUNDS * bundles {
                // SAFETY: notes of this exchange are not written before the next wait.
                let note = unsafe { wave.notes.get(index) };
                for lane in 0..LANES {
                    // SAFETY: `cell_of` gives only cells of the map.
                    unsafe { *ground.get_unchecked_mut(note.cells[lane] as usize) -= note.taken.0[lane] };
                }
            }
        }
    }
}

impl<S: Step<Lanes>> Wave<'_, S> {
    /// Moves eight droplets one step and notes what they take.
    #[inline(always)]
    fn move_once(&self, ground: &[f32], bundle: &mut Bundle) -> Note {
        let mut droplets = bundle.droplets;
        let alive = self.law.remaining(&droplets);
        let old = self.cell_of(&droplets);
        // SAFETY: `cell_of` gives only cells of the map.
        let (drives, left) = unsafe { (gather(self.drives, old), Lanes(gather(ground, old))) };
        let (x, y) = (Lanes(drives.map(|[x, _]| x)), Lanes(drives.map(|[_, y]| y)));
        let cargo_before = self.law.cargo(&droplets);
        self.law.travel(&mut droplets, [x, y]);
        let new = self.cell_of(&droplets);
        // SAFETY: as above.
        let reached = Lanes(unsafe { gather(ground, new) });
        let taken = self.law.exchange(&mut droplets, left, reached);
        // One that has left the map exchanged nothing on its last step.
        let cargo = self.law.cargo(&droplets);
        let (right, bottom) = (self.width as f32, self.height as f32);
        // All ones or all zeros for each droplet: whether it runs, changes the ground, leaves.
        let mask = |on: bool| if on { u32::MAX } else { 0 };
        let (mut runs, mut acts, mut leaves) = ([0; LANES], [0; LANES], [0; LANES]);
        for lane in 0..LANES {
            let (x, y) = (droplets.x.0[lane], droplets.y.0[lane]);
            let on_map = (x >= 0.0) & (y >= 0.0) & (x < right) & (y < bottom);
            let inside = (x >= 1.0) & (y >= 1.0) & (x < right - 1.0) & (y < bottom - 1.0);
            runs[lane] = mask(alive.0[lane] > 0.0);
            acts[lane] = runs[lane] & mask(on_map);
            leaves[lane] = runs[lane] & !mask(inside);
        }
        let masked = |value: f32, mask: u32| f32::from_bits(value.to_bits() & mask);
        let mut note = Note { taken: Lanes::default(), cells: if S::AT_ARRIVAL { new } else { old } };
        for lane in 0..LANES {
            let amount = masked(taken.0[lane], acts[lane]);
            note.taken.0[lane] = amount;
            bundle.moved.0[lane] += amount.abs();
            let carried = masked(cargo.0[lane], acts[lane]) + masked(cargo_before.0[lane], !acts[lane]);
            bundle.outflow.0[lane] += masked(carried, leaves[lane]);
            bundle.steps[lane] += runs[lane] & 1;
            droplets.volume.0[lane] = masked(droplets.volume.0[lane], runs[lane] & !leaves[lane]);
        }
        bundle.droplets = droplets;
        note
    }

    /// The cells that droplets are on; for one outside, the nearest.
    #[inline(always)]
    fn cell_of(&self, droplets: &State<Lanes>) -> [i32; LANES] {
        let (right, bottom) = ((self.width - 1) as f32, (self.height - 1) as f32);
        let mut cells = [0; LANES];
        for lane in 0..LANES {
            // A NaN is neither below nor above a bound: it becomes the first.
            let clamped = |value: f32, last: f32| {
                let value = if value > 0.0 { value } else { 0.0 };
                if value < last { value } else { last }
            };
            let (x, y) = (clamped(droplets.x.0[lane], right), clamped(droplets.y.0[lane], bottom));
            // SAFETY: both lie between 0 and a grid's side.
            let (x, y): (i32, i32) = unsafe { (x.to_int_unchecked(), y.to_int_unchecked()) };
            cells[lane] = y * self.width as i32 + x;
        }
        cells
    }
}
