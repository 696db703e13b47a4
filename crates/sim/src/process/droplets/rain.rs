//! Starting positions of droplets: rain on the map, and springs.

use std::f32::consts::PI;

use super::{DropletLaw, Mode, Params, bundle::Droplet, discharge::Discharge, streams::graded_load};
use crate::{
    core::{rng::RandomStream, terrain::Terrain},
    hydrology::HEAVY_RAIN,
    process::masked::{MaskedParams, lerp},
    simd::swarm::BATCH_SIZE,
};

/// [`HEAVY_RAIN`] in millimetres per hour.
const STATED_RATE: f64 = 10.0;

/// Number of cells per droplet of a wave, at least: loads settle only after the wave, and should fill few depressions in which
/// other droplets still erode.
pub(super) const CELLS_PER_DROPLET: usize = 128;
/// Side of the squares that make up a part of the map, in cells.
pub(super) const SQUARE: usize = 64;

/// Droplets of a tick.
pub(super) struct DropletRain {
    /// Initial states, in the order in which they run.
    pub(super) starts: Vec<DropletStart>,
    /// Contributing area of each in square metres: the area on which heavy rain delivers the same water.
    pub(super) contributing_area: f32,
}

/// Initial state of a droplet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DropletStart {
    /// Column and row, in cells.
    pub(super) place: [f32; 2],
    /// Sediment load, in metres times cells.
    pub(super) load: f32,
}

impl DropletStart {
    /// Returns the droplet, with this volume of water.
    pub(super) fn droplet(&self, volume: f32) -> Droplet {
        let [x, y] = self.place;
        Droplet { mass: self.load, ..Droplet::at(x, y, volume) }
    }
}

/// A running spring.
struct Spring {
    cells: Vec<usize>,
    /// Area on which heavy rain delivers the same water, in square metres.
    contributing_area: f64,
    /// Sediment load of each droplet of the spring, in metres times cells.
    load: f32,
}

/// Distance beyond a spring at which its streams and the slope of the terrain are sampled, in the law's unit of length, and its
/// limits in cells.
const VALLEY: f32 = 8.0;
const VALLEY_CELLS: [f32; 2] = [8.0, 64.0];

impl DropletRain {
    /// Draws the starting positions of a tick's droplets: on the map uniformly or weighted by the rain map, and at springs by their
    /// water, if enabled. Where the mask scales the number of droplets, more or fewer rain down. In the published mode, springs are
    /// ignored.
    pub(super) fn new(
        terrain: &Terrain,
        tick: u64,
        params: &Params,
        masked: Option<&MaskedParams<Params>>,
        discharge: &Discharge,
        stream: &mut RandomStream,
    ) -> Self {
        let (width, per_tick) = (terrain.width(), params.per_tick);
        let published = params.mode == Mode::Published;
        let springs =
            if published || !params.springs { Vec::new() } else { springs(terrain, tick, params, masked, discharge) };
        let masked = masked.filter(|masked| masked.params.per_tick != per_tick);
        let weight = |cell: usize| terrain.rain.as_ref().map_or(1.0, |map| f64::from(map[cell].max(0.0)));
        let (mut sums, cells) = (Vec::new(), terrain.bedrock.len());
        // Total weight of all cells without and with the mask.
        let (mut even, mut total) = (cells as f64, cells as f64);
        if terrain.rain.is_some() || masked.is_some() {
            (even, total) = (0.0, 0.0);
            sums = Vec::with_capacity(cells);
            for cell in 0..cells {
                even += weight(cell);
                let more = masked.map_or(0.0, |masked| {
                    let mask = f64::from(masked.mask.at(cell % width, cell / width));
                    mask * (f64::from(masked.params.per_tick) / f64::from(per_tick) - 1.0)
                });
                total += weight(cell) * (1.0 + more);
                sums.push(total);
            }
        }
        let rate = if published { 1.0 } else { f64::from(params.rain_rate) / STATED_RATE };
        let given: f64 = springs.iter().map(|spring| spring.contributing_area).sum();
        let [even, fallen] = [even, total].map(|weight| weight * rate * terrain.cell_area());
        if given + even <= 0.0 {
            return Self { starts: Vec::new(), contributing_area: 0.0 };
        }
        let count = (f64::from(per_tick) * (given + fallen) / (given + even)).round() as usize;
        let starts = (0..count).map(|_| {
            let drawn = if given > 0.0 { stream.fine_unit() * (given + fallen) } else { f64::INFINITY };
            let mut load = 0.0;
            let cell = if drawn < given {
                let spring = &springs[spring_at(&springs, drawn)];
                load = spring.load;
                spring.cells[stream.below(spring.cells.len())]
            } else if sums.is_empty() {
                stream.below(cells)
            } else {
                let drawn = stream.fine_unit() * total;
                sums.partition_point(|&sum| sum <= drawn).min(sums.len() - 1)
            };
            let place = |cell: usize, part: f32| (cell as f32 + part).min((cell as f32 + 1.0).next_down());
            DropletStart { place: [place(cell % width, stream.uniform()), place(cell / width, stream.uniform())], load }
        });
        Self { starts: starts.collect(), contributing_area: ((given + even) / f64::from(per_tick.max(1))) as f32 }
    }
}

/// Returns the springs that run in a tick. Their sediment supply is masked like erosion.
fn springs(
    terrain: &Terrain,
    tick: u64,
    params: &Params,
    masked: Option<&MaskedParams<Params>>,
    discharge: &Discharge,
) -> Vec<Spring> {
    let running = terrain.sources.iter().filter(|source| source.rate > 0.0 && source.runs(tick));
    running
        .map(|source| {
            let (cells, contributing_area) = (source.cells(terrain), f64::from(source.rate) / HEAVY_RAIN);
            let brings = |params: &Params| {
                let brings = params.law == DropletLaw::Streams && params.sediment_supply > 0.0;
                let load = if brings {
                    spring_capacity(terrain, &cells, contributing_area as f32, params, discharge)
                } else {
                    0.0
                };
                params.sediment_supply * load
            };
            let free = brings(params);
            let load = masked.map_or(free, |masked| {
                let masks = cells.iter().map(|&cell| masked.mask.at(cell % terrain.width(), cell / terrain.width()));
                lerp([free, brings(&masked.params)], masks.sum::<f32>() / cells.len() as f32)
            });
            Spring { cells, contributing_area, load }
        })
        .collect()
}

/// Returns the mean transport capacity per droplet of a spring, in metres times cells: on the slope of the starting terrain, in the
/// streams that currently leave the spring. Water spread over many cells carries less than a stream.
fn spring_capacity(
    terrain: &Terrain,
    cells: &[usize],
    contributing_area: f32,
    params: &Params,
    discharge: &Discharge,
) -> f32 {
    let (width, count) = (terrain.width(), cells.len() as f32);
    let mean = |part: &dyn Fn(usize) -> f32| cells.iter().map(|&cell| part(cell)).sum::<f32>() / count;
    let (x, y) = (mean(&|cell| (cell % width) as f32), mean(&|cell| (cell / width) as f32));
    let height = mean(&|cell| terrain.start[cell]);
    let [least, most] = VALLEY_CELLS;
    let far = (count / PI).sqrt() + (VALLEY * params.length / terrain.cell_size).clamp(least, most);
    let range =
        |middle: f32, side: usize| (middle - far - 1.0).max(0.0) as usize..((middle + far + 2.0) as usize).min(side);
    let window = [range(x, width), range(y, terrain.height())];
    let water = discharge.water_in(&window);
    let [columns, rows] = window;
    let places = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
    let (mut slope, mut passes, mut carries) = (0.0_f32, 0.0, 0.0);
    for ((column, row), water) in places.zip(water) {
        let (dx, dy) = (column as f32 - x, row as f32 - y);
        let away = (dx * dx + dy * dy).sqrt();
        if (away - far).abs() <= 1.0 {
            slope = slope.max((height - terrain.start[row * width + column]) / (away * terrain.cell_size));
            let water = water.min(contributing_area);
            (passes, carries) = (passes + water, carries + water * graded_load(params, water, 1.0));
        }
    }
    if passes > 0.0 { slope * carries / passes } else { 0.0 }
}

/// Returns the index of the spring for a number below the sum of their areas, as in weighted sampling.
fn spring_at(springs: &[Spring], mut drawn: f64) -> usize {
    let within = springs.iter().position(|spring| {
        drawn -= spring.contributing_area;
        drawn < 0.0
    });
    // Rounding can leave a remainder.
    within.unwrap_or(springs.len() - 1)
}

/// Sorts a tick's droplets into the order of their waves, on a map of this many cells. Returns the number of droplets per wave.
///
/// If a wave has more droplets than run concurrently, it is split by parts of the map. Each part is a wave of its own, which
/// settles before the next, unless waves are `whole`: for laws that copy the tiles again for each wave.
pub(super) fn in_waves(starts: &mut [DropletStart], cells: usize, whole: bool) -> usize {
    let at_once = (cells / CELLS_PER_DROPLET).max(1);
    if at_once <= BATCH_SIZE {
        return at_once;
    }
    let all = at_once / BATCH_SIZE * BATCH_SIZE;
    for starts in starts.chunks_mut(all) {
        starts.sort_by_cached_key(|DropletStart { place: [x, y], .. }| {
            z_order(*x as usize / SQUARE, *y as usize / SQUARE)
        });
    }
    if whole { all } else { BATCH_SIZE }
}

/// Returns the index of a square in Morton (Z) order, which completes a block of squares before the next. Blocks are at most twice
/// as tall as wide, since the swarm cuts the map along rows.
fn z_order(x: usize, y: usize) -> usize {
    (0..16).map(|bit| ((y >> bit & 1) | (x >> bit & 1) << 1) << (2 * bit)).sum()
}
