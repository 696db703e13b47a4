//! A wave: droplets that move in step, a few at a time in vector lanes, on a team of threads.
//!
//! Published laws only. The normals are those of the wave's start; heights are live but for the last few rounds. Next to
//! droplets that run one after the other, gross erosion and the number of pits differ by about a percent.
//!
//! Between two waits every thread moves its own droplets and notes what they take off the ground; then every thread
//! applies, in the order of the droplets, what concerns its own rows. So each cell sees the same sums in the same order
//! for every number of threads.

use rayon::prelude::*;

use super::published::{State, Step, facet_normal};
use crate::sim::{
    grid::Grid,
    real::{Kernel, LANES, Lanes, Real, with_vector_unit},
    team::{self, Member, Shared},
};

/// Rounds between two exchanges of changes. Longer, and a droplet in a pit digs by what it has already dug: 4 is
/// stable for the whole range of the parameters' defaults, 16 is not.
const ROUNDS: usize = 4;
/// Exchanges between two sortings by row, which keep each thread's droplets on rows of its own and drop the dead.
const EXCHANGES_PER_SORT: usize = 64;
/// Below this many droplets a second thread costs more than it does.
const DROPLETS_PER_THREAD: usize = 128;

/// What a droplet needs to know of a cell, side by side in memory.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Cell {
    drive: [f32; 2],
    ground: f32,
}

/// Eight droplets and what they did since the last exchange.
#[derive(Clone, Copy)]
struct Bundle {
    droplets: State<Lanes>,
    cells: [[u32; LANES]; ROUNDS],
    taken: [Lanes; ROUNDS],
    moved: f64,
    steps: u64,
    outflow: f64,
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
    let mut cells = with_normals(ground, cell_size, law);
    let mut outcome = Outcome::default();
    while !droplets.is_empty() {
        droplets.sort_by_key(|droplet| droplet.y as u32);
        let mut bundles: Vec<Bundle> = droplets.chunks(LANES).map(Bundle::of).collect();
        let threads = rayon::current_num_threads().min(droplets.len() / DROPLETS_PER_THREAD).max(1);
        let (shared, width, height) = (Shared::new(&mut cells), ground.width(), ground.height());
        let bundles_shared = Shared::new(&mut bundles);
        team::run(threads, |member| {
            with_vector_unit(Exchanges { cells: shared, bundles: bundles_shared, width, height, law, member });
        });
        droplets.clear();
        for bundle in &bundles {
            outcome.moved += bundle.moved;
            outcome.outflow += bundle.outflow;
            outcome.steps += bundle.steps;
            droplets.extend(bundle.living(law));
        }
    }
    ground.iter_mut().zip(&cells).for_each(|(ground, cell)| *ground = cell.ground);
    outcome
}

/// Every cell with its height and the drive that a droplet feels there; none in the outermost ring.
fn with_normals<S: Step<Lanes>>(ground: &Grid, cell_size: f32, law: &S) -> Vec<Cell> {
    let (width, height) = (ground.width(), ground.height());
    let mut cells: Vec<Cell> = ground.iter().map(|&ground| Cell { drive: [0.0; 2], ground }).collect();
    if width < 3 || height < 3 {
        return cells;
    }
    let steepness = Lanes::splat(1.0 / f64::from(cell_size));
    cells.par_chunks_exact_mut(width).enumerate().skip(1).take(height - 2).for_each(|(y, row)| {
        let lines = [y - 1, y, y + 1].map(|line| &ground[line * width..(line + 1) * width]);
        with_vector_unit(NormalsOfRow { lines, row, steepness, law });
    });
    cells
}

struct NormalsOfRow<'a, S> {
    lines: [&'a [f32]; 3],
    row: &'a mut [Cell],
    steepness: Lanes,
    law: &'a S,
}

impl<S: Step<Lanes>> Kernel for NormalsOfRow<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let inner = self.row.len() - 2;
        for first in (1..=inner).step_by(LANES) {
            let count = LANES.min(inner + 1 - first);
            let load = |line: usize, offset: usize| {
                let mut lanes = Lanes::default();
                let start = first + offset - 1;
                lanes.0[..count].copy_from_slice(&self.lines[line][start..start + count]);
                lanes
            };
            let around = [
                load(0, 0), load(0, 1), load(0, 2),
                load(1, 0), load(1, 1), load(1, 2),
                load(2, 0), load(2, 1), load(2, 2),
            ];
            let [x, y] = self.law.drive(facet_normal(around, self.steepness));
            for (lane, cell) in self.row[first..first + count].iter_mut().enumerate() {
                cell.drive = [x.0[lane], y.0[lane]];
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
            cells: [[0; LANES]; ROUNDS],
            taken: [Lanes::default(); ROUNDS],
            moved: 0.0,
            steps: 0,
            outflow: 0.0,
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

/// One thread's part of the rounds between two sortings.
struct Exchanges<'a, S> {
    cells: Shared<'a, Cell>,
    bundles: Shared<'a, Bundle>,
    width: usize,
    height: usize,
    law: &'a S,
    member: &'a Member<'a>,
}

impl<S: Step<Lanes>> Kernel for Exchanges<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let own = self.member.share(self.bundles.len());
        // SAFETY: nobody writes before the first wait.
        let rows_from = |bundle: usize| unsafe { self.bundles.get(bundle) }.droplets.y.0[0] as usize;
        let from = if own.start == 0 { 0 } else { rows_from(own.start) };
        let to = if own.end == self.bundles.len() { self.height } else { rows_from(own.end) };
        let owned = (from * self.width) as u32..(to * self.width) as u32;
        self.member.wait();
        for _ in 0..EXCHANGES_PER_SORT {
            for round in 0..ROUNDS {
                for index in own.clone() {
                    // SAFETY: shares of bundles don't overlap; cells are only read until the wait.
                    unsafe { self.move_once(self.bundles.get_mut(index), round) };
                }
            }
            self.member.wait();
            for round in 0..ROUNDS {
                for index in 0..self.bundles.len() {
                    // SAFETY: bundles are only read until the next wait, and every cell is in one thread's rows.
                    unsafe {
                        let bundle = self.bundles.get(index);
                        for (&cell, &taken) in bundle.cells[round].iter().zip(&bundle.taken[round].0) {
                            if owned.contains(&cell) {
                                self.cells.get_mut(cell as usize).ground -= taken;
                            }
                        }
                    }
                }
            }
            self.member.wait();
        }
    }
}

impl<S: Step<Lanes>> Exchanges<'_, S> {
    /// Moves eight droplets one step and notes what they take.
    ///
    /// # Safety
    /// No thread writes cells meanwhile.
    #[inline(always)]
    unsafe fn move_once(&self, bundle: &mut Bundle, round: usize) {
        let droplets = &mut bundle.droplets;
        let alive = self.law.remaining(droplets);
        let old = self.cell_of(droplets);
        let (mut x, mut y, mut left) = (Lanes::default(), Lanes::default(), Lanes::default());
        for lane in 0..LANES {
            // SAFETY: as promised by the caller.
            let cell = unsafe { self.cells.get(old[lane] as usize) };
            (x.0[lane], y.0[lane], left.0[lane]) = (cell.drive[0], cell.drive[1], cell.ground);
        }
        let cargo_before = self.law.cargo(droplets);
        self.law.travel(droplets, [x, y]);
        let new = self.cell_of(droplets);
        let mut reached = Lanes::default();
        for lane in 0..LANES {
            // SAFETY: as promised by the caller.
            reached.0[lane] = unsafe { self.cells.get(new[lane] as usize) }.ground;
        }
        let taken = self.law.exchange(droplets, left, reached);
        // One that has left the map exchanged nothing on its last step.
        let cargo = self.law.cargo(droplets);
        let (right, bottom) = (self.width as f32, self.height as f32);
        let (mut outflow, mut moved, mut steps) = (0.0_f32, 0.0_f32, 0_u32);
        for lane in 0..LANES {
            let (x, y) = (droplets.x.0[lane], droplets.y.0[lane]);
            let living = alive.0[lane] > 0.0;
            let on_map = x >= 0.0 && y >= 0.0 && x < right && y < bottom;
            let inside = x >= 1.0 && y >= 1.0 && x < right - 1.0 && y < bottom - 1.0;
            let acts = living && on_map;
            let leaves = living && !inside;
            let amount = if acts { taken.0[lane] } else { 0.0 };
            steps += u32::from(living);
            outflow += if leaves { if acts { cargo.0[lane] } else { cargo_before.0[lane] } } else { 0.0 };
            moved += amount.abs();
            bundle.cells[round][lane] = if S::AT_ARRIVAL { new[lane] } else { old[lane] };
            bundle.taken[round].0[lane] = amount;
            droplets.volume.0[lane] = if leaves || !living { 0.0 } else { droplets.volume.0[lane] };
        }
        bundle.steps += u64::from(steps);
        bundle.moved += f64::from(moved);
        bundle.outflow += f64::from(outflow);
    }

    /// The cells that droplets are on; for one outside, the nearest.
    #[inline(always)]
    fn cell_of(&self, droplets: &State<Lanes>) -> [u32; LANES] {
        let (right, bottom) = ((self.width - 1) as f32, (self.height - 1) as f32);
        let mut cells = [0; LANES];
        for lane in 0..LANES {
            let x = droplets.x.0[lane].max(0.0).min(right);
            let y = droplets.y.0[lane].max(0.0).min(bottom);
            // SAFETY: both lie between 0 and a grid's side (`max` and `min` turn a NaN into a bound).
            let (x, y): (i32, i32) = unsafe { (x.to_int_unchecked(), y.to_int_unchecked()) };
            cells[lane] = (y * self.width as i32 + x) as u32;
        }
        cells
    }
}
