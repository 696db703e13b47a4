//! Droplets of the published laws as a swarm.
//!
//! Normals are those at the start of the wave; heights are live except for the last few rounds. Compared with droplets run one
//! after the other, gross erosion and the number of pits differ by less than the few percent that a test allows.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use std::time::Instant;

use bytemuck::Zeroable;
use rayon::prelude::*;

use super::{
    published::{DropletState, DropletStep, facet_normal},
    tracks::TrackRecorder,
};
use crate::{
    core::{
        terrain::Terrain,
        tiles::{CELLS, SIDE, TileCache, Tiling},
    },
    process::ParticleState,
    simd::{
        cells::{Cells, Pass},
        lanes::{LANES, LaneMask, Lanes, with_eight_lanes},
        number::Real,
        swarm::{ParticleBlock, ParticleKind, SwarmRun},
    },
};

/// State of a cell as a droplet needs it: the drive along columns and rows, the height, and padding.
type DriveCell = [f32; 4];
/// Index of the height in a cell.
const HEIGHT: usize = 2;

/// Cells of a tile. The drives are those at the start of the wave.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(64))]
pub struct DriveTile([DriveCell; CELLS]);

/// Steps between two changes of the ground. With more, a droplet in a pit erodes more from outdated heights: with default
/// parameters 4 was stable, 16 was not.
const ROUNDS: usize = 4;

/// Erosion by eight droplets in a step, and the cells: one cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct ErosionRecord {
    taken: Lanes,
    cells: [i32; LANES],
}

/// Eight droplets and their accumulators since the last account.
struct PublishedBundle {
    droplets: DropletState<Lanes>,
    /// Current cells, and the values read there.
    cells: [i32; LANES],
    met: [Lanes; 3],
    /// Droplets that are running.
    runs: LaneMask,
    moved: Lanes,
    outflow: Lanes,
    steps: [u32; LANES],
    /// Numbers of the watched droplets, from 1.
    watched: [u32; LANES],
}

/// Totals of a wave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PublishedOutcome {
    /// Σ|change of ground|, in metres times cells.
    pub moved: f64,
    /// Sediment carried over the edge by droplets, in metres times cells.
    pub outflow: f64,
    /// Steps of all droplets together.
    pub steps: u64,
}

/// A droplet, and its number from 1 if it is watched.
pub type PublishedDroplet = (DropletState<f32>, u32);

/// Returns a swarm of droplets at their start, some of them watched if there are `tracks`. Tiles of earlier waves are
/// discarded.
pub fn begin(
    terrain: &Terrain,
    droplets: Vec<DropletState<f32>>,
    tiles: &mut TileCache<DriveTile>,
    tracks: Option<&TrackRecorder>,
) -> SwarmRun<PublishedDroplet, PublishedOutcome> {
    tiles.begin(Tiling::new(terrain.width(), terrain.height()));
    tiles.clear();
    let numbers = tracks.into_iter().flat_map(|tracks| tracks.numbers(droplets.len())).chain(std::iter::repeat(0));
    let numbers: Vec<u32> = numbers.take(droplets.len()).collect();
    SwarmRun::new(droplets.into_iter().zip(numbers).collect())
}

/// Runs droplets of a law for a while, on the terrain of their start with its `highest` ground, see [`SwarmRun::run_until`]. Returns
/// `true` if all have ended.
pub fn advance<S>(
    terrain: &Terrain,
    highest: f32,
    law: &S,
    swarm: &mut SwarmRun<PublishedDroplet, PublishedOutcome>,
    tiles: &mut TileCache<DriveTile>,
    tracks: Option<&TrackRecorder>,
    until: Option<Instant>,
) -> bool
where
    S: DropletStep<Lanes> + Send,
{
    let tiling = tiles.tiling();
    // SAFETY: the tiles are borrowed exclusively.
    unsafe { swarm.run_until(&PublishedWave { terrain, tiles, tiling, highest, law: *law, tracks }, tiling, until) }
}

/// Writes the heights of tiles back to the terrain: erosion takes sand first, deposition adds bedrock. Returns the net loss of rock
/// and sand, in metres times cells, and the visited tiles, in order.
pub fn write_back(terrain: &mut Terrain, tiles: &mut TileCache<DriveTile>) -> (f64, Vec<usize>) {
    let tiles = &*tiles;
    let (tiling, width, visited) = (tiles.tiling(), terrain.width(), tiles.filled());
    let layers = [&mut terrain.bedrock, &mut terrain.sand];
    let [bedrock, sand] = layers.map(|layer| layer.modify_tiles(&visited).par_chunks_mut(SIDE * width));
    let taken = bedrock.zip(sand).enumerate().map(|(band, (bedrock, sand))| {
        let mut taken = 0.0;
        for &tile in tiling.in_band(&visited, band) {
            let [columns, rows] = tiling.cells(tile);
            // SAFETY: the tile is filled, and the tiles are borrowed exclusively.
            let tile = unsafe { &*tiles.pointer().add(tile) };
            for (line, cells) in tile.0.chunks_exact(SIDE).enumerate().take(rows.len()) {
                let places = line * width + columns.start..line * width + columns.end;
                let layers = bedrock[places.clone()].iter_mut().zip(&mut sand[places]);
                for ((bedrock, sand), cell) in layers.zip(cells) {
                    let (ground, before) = (cell[HEIGHT], f64::from(*bedrock) + f64::from(*sand));
                    let change = ground - (*bedrock + *sand);
                    if change != 0.0 {
                        *sand = (*sand + change.min(0.0)).max(0.0);
                        *bedrock = ground - *sand;
                        taken += before - (f64::from(*bedrock) + f64::from(*sand));
                    }
                }
            }
        }
        taken
    });
    // Summed from north to south, independent of scheduling.
    let taken = taken.collect::<Vec<f64>>().into_iter().sum();
    (taken, visited)
}

/// Fills a tile; the drive is zero in the outermost ring of cells.
struct FillTile<'a, S> {
    terrain: &'a Terrain,
    tiling: Tiling,
    tile: usize,
    law: &'a S,
    cells: &'a mut DriveTile,
}

impl<S: DropletStep<Lanes>> Pass for FillTile<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { terrain, tiling, tile, law, cells } = self;
        let (width, height) = (terrain.width(), terrain.height());
        let steepness = Lanes::splat(1.0 / f64::from(terrain.cell_size));
        let [columns, rows] = tiling.cells(tile);
        let first_row = rows.start;
        let mut above = ground_row(terrain, columns.start, first_row.saturating_sub(1));
        let mut here = ground_row(terrain, columns.start, first_row);
        for (cells, y) in cells.0.chunks_exact_mut(SIDE).zip(rows) {
            let below = ground_row(terrain, columns.start, (y + 1).min(height - 1));
            let [[nw, north, ne], [west, own, east], [sw, south, se]] = [above, here, below];
            let [drive_x, drive_y] =
                law.drive(facet_normal([nw, north, ne, west, own, east, sw, south, se], steepness));
            let inner_row = y > 0 && y + 1 < height;
            for (lane, cell) in cells.iter_mut().enumerate() {
                let x = columns.start + lane;
                let inner = inner_row && x > 0 && x + 1 < width;
                let drive = if inner { [drive_x.0[lane], drive_y.0[lane]] } else { [0.0; 2] };
                *cell = [drive[0], drive[1], own.0[lane], 0.0];
            }
            (above, here) = (here, below);
        }
    }
}

/// Returns the ground of eight cells from column `first` on, with that of their western and eastern neighbours; 0 beyond the map.
#[inline(always)]
fn ground_row(terrain: &Terrain, first: usize, y: usize) -> [Lanes; 3] {
    let width = terrain.width();
    let (bedrock, sand) = (&terrain.bedrock[y * width..][..width], &terrain.sand[y * width..][..width]);
    let mut row = [Lanes::default(); 3];
    for side in 0..3 {
        if first + side > 0 && first + side + SIDE <= width {
            let from = first + side - 1;
            let (bedrock, sand) = (&bedrock[from..from + SIDE], &sand[from..from + SIDE]);
            for lane in 0..LANES {
                row[side].0[lane] = bedrock[lane] + sand[lane];
            }
        } else {
            for lane in 0..LANES {
                let x = (first + side + lane).wrapping_sub(1);
                row[side].0[lane] = if x < width { bedrock[x] + sand[x] } else { 0.0 };
            }
        }
    }
    row
}

/// Droplets of a wave.
struct PublishedWave<'a, S> {
    /// The terrain at the start of the wave.
    terrain: &'a Terrain,
    tiles: &'a TileCache<DriveTile>,
    tiling: Tiling,
    /// Highest ground at the start; deposition above it is lost.
    highest: f32,
    law: S,
    tracks: Option<&'a TrackRecorder>,
}

// SAFETY: a droplet reads and changes the cells of its way only, and those that it may reach lie in the block's reach.
unsafe impl<S: DropletStep<Lanes>> ParticleKind for PublishedWave<'_, S> {
    type Particle = PublishedDroplet;
    type Bundle = PublishedBundle;
    type Outcome = PublishedOutcome;

    fn place((droplet, _): &PublishedDroplet) -> [f32; 2] {
        [droplet.x, droplet.y]
    }

    unsafe fn bundle(&self, (like, _): &PublishedDroplet) -> PublishedBundle {
        let zero = Lanes::default();
        let droplets = DropletState::at(Lanes([like.x; LANES]), Lanes([like.y; LANES]), zero);
        PublishedBundle {
            droplets,
            cells: self.cells_of(&droplets, &ParticleBlock::ALL),
            met: [zero; 3],
            runs: LaneMask::default(),
            moved: zero,
            outflow: zero,
            steps: [0; LANES],
            watched: [0; LANES],
        }
    }

    #[inline(always)]
    unsafe fn insert_particle(&self, bundle: &mut PublishedBundle, lane: usize, (droplet, watched): &PublishedDroplet) {
        let droplets = &mut bundle.droplets;
        droplets.x.0[lane] = droplet.x;
        droplets.y.0[lane] = droplet.y;
        droplets.vx.0[lane] = droplet.vx;
        droplets.vy.0[lane] = droplet.vy;
        droplets.volume.0[lane] = droplet.volume;
        droplets.load.0[lane] = droplet.load;
        bundle.runs.0[lane] = u32::MAX;
        bundle.watched[lane] = *watched;
        bundle.cells[lane] = self.cells_of(&bundle.droplets, &ParticleBlock::ALL)[lane];
        // SAFETY: as promised by the caller.
        let met = unsafe { self.read([bundle.cells[lane]; LANES]) };
        for part in 0..3 {
            bundle.met[part].0[lane] = met[part].0[lane];
        }
    }

    #[inline(always)]
    unsafe fn step(&self, bundle: &mut PublishedBundle, block: &ParticleBlock) -> LaneMask {
        let started = bundle.runs;
        let mut runs = started;
        let mut records = [ErosionRecord::default(); ROUNDS];
        let (mut droplets, mut old, mut left) = (bundle.droplets, bundle.cells, bundle.met);
        for record in &mut records {
            let before = droplets;
            self.law.travel(&mut droplets, [left[0], left[1]]);
            for lane in 0..LANES {
                runs.0[lane] &= if block.reaches(droplets.y.0[lane]) { u32::MAX } else { 0 };
            }
            // A droplet that leaps too far, or has stopped, stays in place.
            droplets.x = runs.select(droplets.x, before.x);
            droplets.y = runs.select(droplets.y, before.y);
            let new = self.cells_of(&droplets, block);
            // SAFETY: as promised by the caller.
            let reached = unsafe { self.read(new) };
            let taken = self.law.exchange(&mut droplets, left[HEIGHT], reached[HEIGHT]);
            record.taken = self.account_for(bundle, runs, &before, &mut droplets, taken);
            record.cells = if S::AT_ARRIVAL { new } else { old };
            droplets = chosen(runs, &droplets, &before);
            let alive = self.law.remaining(&droplets);
            for lane in 0..LANES {
                let continues = block.has(droplets.y.0[lane]) & (alive.0[lane] > 0.0);
                runs.0[lane] &= if continues { u32::MAX } else { 0 };
            }
            (old, left) = (new, reached);
        }
        for record in &records {
            for lane in (0..LANES).filter(|&lane| record.taken.0[lane] != 0.0) {
                // SAFETY: the droplet has read this cell, so its tile is filled, and no block that runs concurrently comes near.
                let height = unsafe { &mut (*self.cells().add(record.cells[lane] as usize))[HEIGHT] };
                let changed = *height - record.taken.0[lane];
                *height = if changed > self.highest { self.highest } else { changed };
            }
        }
        // SAFETY: as promised by the caller.
        bundle.met = unsafe { self.read(old) };
        (bundle.droplets, bundle.cells) = (droplets, old);
        if self.tracks.is_some() {
            self.watch(bundle);
        }
        started.without(runs)
    }

    fn take(&self, bundle: &mut PublishedBundle, lane: usize, _: &mut PublishedOutcome) -> Option<PublishedDroplet> {
        let alive = self.law.remaining(&bundle.droplets).0[lane] > 0.0;
        let droplets = &mut bundle.droplets;
        let droplet = DropletState {
            x: droplets.x.0[lane],
            y: droplets.y.0[lane],
            vx: droplets.vx.0[lane],
            vy: droplets.vy.0[lane],
            volume: droplets.volume.0[lane],
            load: droplets.load.0[lane],
        };
        (droplets.volume.0[lane], bundle.runs.0[lane]) = (0.0, 0);
        alive.then_some((droplet, bundle.watched[lane]))
    }

    fn account(&self, bundle: &mut PublishedBundle, outcome: &mut PublishedOutcome) {
        let sum = |part: &mut Lanes| std::mem::take(part).0.into_iter().map(f64::from).sum::<f64>();
        outcome.moved += sum(&mut bundle.moved);
        outcome.outflow += sum(&mut bundle.outflow);
        outcome.steps += std::mem::take(&mut bundle.steps).into_iter().map(u64::from).sum::<u64>();
    }

    fn add(outcome: &mut PublishedOutcome, other: PublishedOutcome) {
        outcome.moved += other.moved;
        outcome.outflow += other.outflow;
        outcome.steps += other.steps;
    }
}

/// Returns `one` in the lanes of a mask, otherwise `other`.
#[inline(always)]
fn chosen(mask: LaneMask, one: &DropletState<Lanes>, other: &DropletState<Lanes>) -> DropletState<Lanes> {
    DropletState {
        x: mask.select(one.x, other.x),
        y: mask.select(one.y, other.y),
        vx: mask.select(one.vx, other.vx),
        vy: mask.select(one.vy, other.vy),
        volume: mask.select(one.volume, other.volume),
        load: mask.select(one.load, other.load),
    }
}

impl<S: DropletStep<Lanes>> PublishedWave<'_, S> {
    /// Accounts for a step of the running droplets and ends those that have left. Returns the actual erosion.
    #[inline(always)]
    fn account_for(
        &self,
        bundle: &mut PublishedBundle,
        runs: LaneMask,
        before: &DropletState<Lanes>,
        droplets: &mut DropletState<Lanes>,
        taken: Lanes,
    ) -> Lanes {
        // A droplet that has left the map exchanged nothing on its last step.
        let (cargo_before, cargo) = (self.law.cargo(before), self.law.cargo(droplets));
        let (right, bottom) = (self.tiling.width() as f32, self.tiling.height() as f32);
        // All ones or all zeros per droplet: running, changes the ground, leaves.
        let mask = |on: bool| if on { u32::MAX } else { 0 };
        let (LaneMask(runs), mut acts, mut leaves) = (runs, [0; LANES], [0; LANES]);
        for lane in 0..LANES {
            let (x, y) = (droplets.x.0[lane], droplets.y.0[lane]);
            let on_map = (x >= 0.0) & (y >= 0.0) & (x < right) & (y < bottom);
            let inside = (x >= 1.0) & (y >= 1.0) & (x < right - 1.0) & (y < bottom - 1.0);
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

    #[cold]
    fn watch(&self, bundle: &PublishedBundle) {
        if let Some(tracks) = self.tracks {
            let remaining = self.law.remaining(&bundle.droplets);
            let running = |lane: usize| bundle.runs.0[lane] != 0 && remaining.0[lane] > 0.0;
            let (droplets, cargo) = (&bundle.droplets, self.law.cargo(&bundle.droplets));
            tracks.record(&bundle.watched, running, |lane| ParticleState {
                place: [droplets.x.0[lane], droplets.y.0[lane]],
                speed: libm::hypotf(droplets.vx.0[lane], droplets.vy.0[lane]),
                water: Some(droplets.volume.0[lane]),
                load: cargo.0[lane],
                capacity: None,
            });
        }
    }

    /// Returns a pointer to the first cell, in tile order.
    #[inline(always)]
    fn cells(&self) -> *mut DriveCell {
        self.tiles.pointer().cast()
    }

    /// Reads the drives and heights of these cells.
    ///
    /// # Safety
    /// No other thread changes these cells during the call.
    #[inline(always)]
    unsafe fn read(&self, cells: [i32; LANES]) -> [Lanes; 3] {
        let mut ready = true;
        for lane in 0..LANES {
            ready &= self.tiles.is_filled(cells[lane] as usize / CELLS);
        }
        if !ready {
            self.fill(cells);
        }
        let mut parts = [Lanes::default(); 3];
        for lane in 0..LANES {
            // SAFETY: the tiles are filled, and no other thread changes these cells, as promised by the caller.
            let cell = unsafe { &*self.cells().add(cells[lane] as usize) };
            for part in 0..3 {
                parts[part].0[lane] = cell[part];
            }
        }
        parts
    }

    #[cold]
    fn fill(&self, cells: [i32; LANES]) {
        for tile in cells.map(|cell| cell as usize / CELLS) {
            self.tiles.fill(tile, |cells| {
                let Self { terrain, tiling, law, .. } = self;
                with_eight_lanes(FillTile { terrain, tiling: *tiling, tile, law, cells });
            });
        }
    }

    /// Returns the indices of the droplets' cells; outside, of the nearest cell in which droplets of the block may land.
    #[inline(always)]
    fn cells_of(&self, droplets: &DropletState<Lanes>, block: &ParticleBlock) -> [i32; LANES] {
        let (right, [top, bottom]) = ((self.tiling.width() - 1) as f32, block.landing(self.tiling.height()));
        let across = self.tiling.across() as i32;
        let mut cells = [0; LANES];
        for lane in 0..LANES {
            // A NaN is neither below nor above a bound: it becomes the first.
            let clamped = |value: f32, first: f32, last: f32| {
                let value = if value > first { value } else { first };
                if value < last { value } else { last }
            };
            let (x, y) = (clamped(droplets.x.0[lane], 0.0, right), clamped(droplets.y.0[lane], top, bottom));
            // SAFETY: both are between 0 and a grid's side.
            let (x, y): (i32, i32) = unsafe { (x.to_int_unchecked(), y.to_int_unchecked()) };
            cells[lane] = place(x, y, across);
        }
        cells
    }
}

/// Returns the index of a cell in tile order, with this many tiles `across` the map.
#[inline(always)]
fn place(x: i32, y: i32, across: i32) -> i32 {
    const BITS: u32 = SIDE.ilog2();
    const LAST: i32 = SIDE as i32 - 1;
    (((y >> BITS) * across + (x >> BITS)) << (2 * BITS)) + ((y & LAST) << BITS) + (x & LAST)
}
