//! Droplets of the published laws as a swarm.
//!
//! The normals are those of the wave's start; heights are live but for the last few rounds. Next to droplets that run
//! one after the other, gross erosion and the number of pits differ by less than the few percent that a test allows.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use rayon::prelude::*;

use super::{
    published::{DropletState, DropletStep, facet_normal},
    tracks::Tracks,
};
use crate::sim::{
    grid::Grid,
    real::{Kernel, LANES, Lanes, Real, gather, with_eight_lanes},
    swarm::{self, Swarm},
};

/// Steps between two exchanges of changes. The more, the more a droplet in a pit digs by what it has already dug: with the
/// parameters' defaults 4 was stable, 16 was not.
const ROUNDS: usize = 4;

/// What lies in a cell: the drive along columns and rows that a droplet feels there, the height, and nothing. Together,
/// because a droplet needs them together.
type DriveCell = [f32; 4];
/// Place of the height in a cell.
const HEIGHT: usize = 2;

/// What eight droplets take off which cells in a step: one line of a processor's cache.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct PublishedNote {
    taken: Lanes,
    cells: [i32; LANES],
}

/// Eight droplets and what they did since the last repacking.
#[derive(Clone, Copy)]
struct PublishedBundle {
    droplets: DropletState<Lanes>,
    moved: Lanes,
    outflow: Lanes,
    steps: [u32; LANES],
    /// Numbers of those that are watched, from 1.
    watched: [u32; LANES],
}

/// What a wave did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PublishedOutcome {
    /// Σ|change of ground|, in metres times cells.
    pub moved: f64,
    /// Sediment that droplets took over the edge, in metres times cells.
    pub outflow: f64,
    /// Steps taken by all droplets together.
    pub steps: u64,
}

/// Runs droplets, given by their start, to their end on a ground in metres whose `highest` cell is known, the first of them watched
/// if there are `tracks`.
pub fn run<S>(
    (ground, highest): (&mut Grid, f32),
    cell_size: f32,
    law: &S,
    droplets: Vec<DropletState<f32>>,
    tracks: Option<&Tracks>,
) -> PublishedOutcome
where
    S: DropletStep<Lanes> + Send,
{
    let mut cells = cells(ground, cell_size, law);
    // Neighbours in the list are neighbours on the map, and share what a core has at hand.
    let numbers = (1..).map(|number| if tracks.is_some() { number } else { 0 });
    let mut droplets: Vec<(DropletState<f32>, u32)> = droplets.into_iter().zip(numbers).collect();
    droplets.sort_by_key(|(droplet, _)| droplet.y as u32);
    let bundles: Vec<PublishedBundle> = droplets.chunks(LANES).map(PublishedBundle::of).collect();
    let mut wave = PublishedWave {
        width: ground.width(),
        height: ground.height(),
        highest,
        law: *law,
        outcome: PublishedOutcome::default(),
        tracks,
    };
    swarm::run(&mut wave, &mut cells, bundles);
    ground.iter_mut().zip(&cells).for_each(|(height, cell)| *height = cell[HEIGHT]);
    wave.outcome
}

/// The cells of a map; nothing drives a droplet in the outermost ring.
fn cells<S: DropletStep<Lanes>>(ground: &Grid, cell_size: f32, law: &S) -> Vec<DriveCell> {
    let (width, height) = (ground.width(), ground.height());
    let mut cells: Vec<DriveCell> = ground.iter().map(|&height| [0.0, 0.0, height, 0.0]).collect();
    if width < 3 || height < 3 {
        return cells;
    }
    let steepness = Lanes::splat(1.0 / f64::from(cell_size));
    cells.par_chunks_exact_mut(width).enumerate().skip(1).take(height - 2).for_each(|(y, row)| {
        let lines = [y - 1, y, y + 1].map(|line| &ground[line * width..(line + 1) * width]);
        with_eight_lanes(DrivesOfRow { lines, row, steepness, law });
    });
    cells
}

struct DrivesOfRow<'a, S> {
    lines: [&'a [f32]; 3],
    row: &'a mut [DriveCell],
    steepness: Lanes,
    law: &'a S,
}

impl<S: DropletStep<Lanes>> Kernel for DrivesOfRow<'_, S> {
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
            for (lane, cell) in self.row[first..first + count].iter_mut().enumerate() {
                (cell[0], cell[1]) = (x.0[lane], y.0[lane]);
            }
        }
    }
}

impl PublishedBundle {
    fn of(droplets: &[(DropletState<f32>, u32)]) -> Self {
        let lanes = |part: fn(&DropletState<f32>) -> f32, rest: f32| {
            let mut lanes = Lanes([rest; LANES]);
            lanes.0.iter_mut().zip(droplets).for_each(|(lane, (droplet, _))| *lane = part(droplet));
            lanes
        };
        let mut watched = [0; LANES];
        watched.iter_mut().zip(droplets).for_each(|(number, (_, watched))| *number = *watched);
        Self {
            droplets: DropletState {
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
            watched,
        }
    }

    fn living<'a, S: DropletStep<Lanes>>(&'a self, law: &S) -> impl Iterator<Item = (DropletState<f32>, u32)> + 'a {
        let remaining = law.remaining(&self.droplets);
        let droplets = &self.droplets;
        (0..LANES).filter(move |&lane| remaining.0[lane] > 0.0).map(move |lane| {
            let droplet = DropletState {
                x: droplets.x.0[lane],
                y: droplets.y.0[lane],
                vx: droplets.vx.0[lane],
                vy: droplets.vy.0[lane],
                volume: droplets.volume.0[lane],
                load: droplets.load.0[lane],
            };
            (droplet, self.watched[lane])
        })
    }
}

/// The droplets of a wave.
struct PublishedWave<'a, S> {
    width: usize,
    height: usize,
    /// The highest ground at the start: nothing is laid above it. What would be is lost.
    highest: f32,
    law: S,
    outcome: PublishedOutcome,
    tracks: Option<&'a Tracks>,
}

impl<S: DropletStep<Lanes> + Send> Swarm for PublishedWave<'_, S> {
    type Ground = Vec<DriveCell>;
    type Bundle = PublishedBundle;
    type Note = [PublishedNote; ROUNDS];
    const EXCHANGES: usize = 16;

    #[inline(always)]
    fn advance(&self, ground: &Vec<DriveCell>, bundle: &mut PublishedBundle) -> [PublishedNote; ROUNDS] {
        let mut notes = [PublishedNote::default(); ROUNDS];
        let mut droplets = bundle.droplets;
        let mut old = self.cell_of(&droplets);
        // SAFETY: `cell_of` gives only cells of the map.
        let mut left = transposed(unsafe { gather(ground, old) });
        for note in &mut notes {
            let before = droplets;
            self.law.travel(&mut droplets, [left[0], left[1]]);
            let new = self.cell_of(&droplets);
            // SAFETY: as above.
            let reached = transposed(unsafe { gather(ground, new) });
            let taken = self.law.exchange(&mut droplets, left[HEIGHT], reached[HEIGHT]);
            note.cells = if S::AT_ARRIVAL { new } else { old };
            note.taken = self.account(bundle, &before, &mut droplets, taken);
            (old, left) = (new, reached);
        }
        bundle.droplets = droplets;
        notes
    }

    fn watches(&self) -> bool {
        self.tracks.is_some()
    }

    #[cold]
    fn watch(&self, bundle: &PublishedBundle) {
        if let Some(tracks) = self.tracks {
            let remaining = self.law.remaining(&bundle.droplets);
            let running = |lane: usize| remaining.0[lane] > 0.0;
            tracks.note(&bundle.watched, running, bundle.droplets.x, bundle.droplets.y);
        }
    }

    #[inline(always)]
    fn apply(&self, ground: &mut Vec<DriveCell>, notes: &[PublishedNote; ROUNDS], _: Option<&mut PublishedBundle>) {
        for note in notes {
            for lane in 0..LANES {
                // SAFETY: `cell_of` gives only cells of the map.
                let height = unsafe { &mut ground.get_unchecked_mut(note.cells[lane] as usize)[HEIGHT] };
                let changed = *height - note.taken.0[lane];
                *height = if changed > self.highest { self.highest } else { changed };
            }
        }
    }

    fn repack(&mut self, bundles: &mut [PublishedBundle]) -> usize {
        let mut droplets = Vec::with_capacity(bundles.len() * LANES);
        for bundle in &*bundles {
            self.outcome.moved += bundle.moved.0.iter().map(|&part| f64::from(part)).sum::<f64>();
            self.outcome.outflow += bundle.outflow.0.iter().map(|&part| f64::from(part)).sum::<f64>();
            self.outcome.steps += bundle.steps.iter().map(|&part| u64::from(part)).sum::<u64>();
            droplets.extend(bundle.living(&self.law));
        }
        for (bundle, droplets) in bundles.iter_mut().zip(droplets.chunks(LANES)) {
            *bundle = PublishedBundle::of(droplets);
        }
        droplets.len().div_ceil(LANES)
    }
}

/// The three used parts of eight cells, each in lanes.
#[inline(always)]
fn transposed(cells: [DriveCell; LANES]) -> [Lanes; 3] {
    let mut parts = [Lanes::default(); 3];
    for lane in 0..LANES {
        for part in 0..3 {
            parts[part].0[lane] = cells[lane][part];
        }
    }
    parts
}

impl<S: DropletStep<Lanes>> PublishedWave<'_, S> {
    /// Books a step and ends the droplets that have left. Returns what is really taken off the ground.
    #[inline(always)]
    fn account(
        &self,
        bundle: &mut PublishedBundle,
        before: &DropletState<Lanes>,
        droplets: &mut DropletState<Lanes>,
        taken: Lanes,
    ) -> Lanes {
        let alive = self.law.remaining(before);
        // One that has left the map exchanged nothing on its last step.
        let (cargo_before, cargo) = (self.law.cargo(before), self.law.cargo(droplets));
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
        let mut acted = Lanes::default();
        for lane in 0..LANES {
            let amount = masked(taken.0[lane], acts[lane]);
            acted.0[lane] = amount;
            bundle.moved.0[lane] += amount.abs();
            let carried = masked(cargo.0[lane], acts[lane]) + masked(cargo_before.0[lane], !acts[lane]);
            bundle.outflow.0[lane] += masked(carried, leaves[lane]);
            bundle.steps[lane] += runs[lane] & 1;
            droplets.volume.0[lane] = masked(droplets.volume.0[lane], runs[lane] & !leaves[lane]);
        }
        acted
    }

    /// The cells that droplets are on; for one outside, the nearest.
    #[inline(always)]
    fn cell_of(&self, droplets: &DropletState<Lanes>) -> [i32; LANES] {
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
