//! Where droplets begin: on the map as rain, and at springs.

use std::f32::consts::PI;

use super::{DropletLaw, Mode, Params, bundle::Droplet, discharge::Discharge, streams::graded_load};
use crate::{
    core::{rng::Stream, terrain::Terrain},
    hydrology::HEAVY_RAIN,
    process::masked::{Masked, between},
    simd::swarm::TOGETHER,
};

/// [`HEAVY_RAIN`] in millimetres in an hour.
const STATED_RATE: f64 = 10.0;

/// Rain falls in waves of at most one droplet for so many cells: what they carry at their end settles after the wave, and should fill
/// few hollows in which others still dig.
pub(super) const CELLS_PER_DROPLET: usize = 128;
/// Side of the squares that a part is made of, in cells.
pub(super) const SQUARE: usize = 64;

/// A tick's droplets.
pub(super) struct Rain {
    /// How they begin, in the order in which they do.
    pub(super) starts: Vec<Start>,
    /// Land that each stands for, in square metres: that on which heavy rain gives as much water.
    pub(super) land: f32,
}

/// How a droplet begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start {
    /// Column and row, in cells.
    pub(super) place: [f32; 2],
    /// Sediment on board, in metres times cells.
    pub(super) load: f32,
}

impl Start {
    /// The droplet, with so much water.
    pub(super) fn droplet(&self, volume: f32) -> Droplet {
        let [x, y] = self.place;
        Droplet { mass: self.load, ..Droplet::at(x, y, volume) }
    }
}

/// A spring that runs.
struct Spring {
    cells: Vec<usize>,
    /// Land on which heavy rain gives as much water, in square metres.
    land: f64,
    /// Sediment that each of its droplets brings, in metres times cells.
    load: f32,
}

/// How far beyond a spring its streams and the slope of its land are looked at: in the law's unit of length, but this many cells at least
/// and at most.
const VALLEY: f32 = 8.0;
const VALLEY_CELLS: [f32; 2] = [8.0, 64.0];

impl Rain {
    /// Chooses where a tick's droplets begin: on the map everywhere alike or in proportion to the rain map, and at springs in proportion
    /// to their water, if droplets rise there. Where the mask scales their number, more or fewer rain down. As published, none rise at
    /// springs.
    pub(super) fn new(
        terrain: &Terrain,
        tick: u64,
        params: &Params,
        masked: Option<&Masked<Params>>,
        discharge: &Discharge,
        stream: &mut Stream,
    ) -> Self {
        let (width, per_tick) = (terrain.width(), params.per_tick);
        let published = params.mode == Mode::Published;
        let springs =
            if published || !params.springs { Vec::new() } else { springs(terrain, tick, params, masked, discharge) };
        let masked = masked.filter(|masked| masked.params.per_tick != per_tick);
        let weight = |cell: usize| terrain.rain.as_ref().map_or(1.0, |map| f64::from(map[cell].max(0.0)));
        let (mut sums, cells) = (Vec::new(), terrain.bedrock.len());
        // Of all cells: what they weigh without and with the mask.
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
        let given: f64 = springs.iter().map(|spring| spring.land).sum();
        let [even, fallen] = [even, total].map(|weight| weight * rate * terrain.cell_area());
        if given + even <= 0.0 {
            return Self { starts: Vec::new(), land: 0.0 };
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
            Start { place: [place(cell % width, stream.unit()), place(cell / width, stream.unit())], load }
        });
        Self { starts: starts.collect(), land: ((given + even) / f64::from(per_tick.max(1))) as f32 }
    }
}

/// The springs that run in a tick. What they bring follows the mask, as what is dug does.
fn springs(
    terrain: &Terrain,
    tick: u64,
    params: &Params,
    masked: Option<&Masked<Params>>,
    discharge: &Discharge,
) -> Vec<Spring> {
    let running = terrain.sources.iter().filter(|source| source.rate > 0.0 && source.runs(tick));
    running
        .map(|source| {
            let (cells, land) = (source.cells(terrain), f64::from(source.rate) / HEAVY_RAIN);
            let brings = |params: &Params| {
                let brings = params.law == DropletLaw::Streams && params.sediment_supply > 0.0;
                let load = if brings { carried_away(terrain, &cells, land as f32, params, discharge) } else { 0.0 };
                params.sediment_supply * load
            };
            let free = brings(params);
            let load = masked.map_or(free, |masked| {
                let masks = cells.iter().map(|&cell| masked.mask.at(cell % terrain.width(), cell / terrain.width()));
                between([free, brings(&masked.params)], masks.sum::<f32>() / cells.len() as f32)
            });
            Spring { cells, land, load }
        })
        .collect()
}

/// What each droplet of a spring can carry away, on average, in metres times cells: down the slope of the land as it was at the start, in
/// the streams that leave the spring now. Water that has spread over many cells carries less than a stream.
fn carried_away(terrain: &Terrain, cells: &[usize], land: f32, params: &Params, discharge: &Discharge) -> f32 {
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
            let water = water.min(land);
            (passes, carries) = (passes + water, carries + water * graded_load(params, water, 1.0));
        }
    }
    if passes > 0.0 { slope * carries / passes } else { 0.0 }
}

/// The number of the spring to which a number below the land of all belongs, if each has its part of it, one after the other.
fn spring_at(springs: &[Spring], mut drawn: f64) -> usize {
    let within = springs.iter().position(|spring| {
        drawn -= spring.land;
        drawn < 0.0
    });
    // Rounding can leave a little.
    within.unwrap_or(springs.len() - 1)
}

/// Puts a tick's droplets in the order in which they rain, on a map of so many cells. Returns how many make a wave.
///
/// Where more may fall at once than run together, they fall on one part of the map after the other. Each part is a wave, which settles before
/// the next, unless waves are `whole`: where tiles are copied anew for each.
pub(super) fn in_waves(starts: &mut [Start], cells: usize, whole: bool) -> usize {
    let at_once = (cells / CELLS_PER_DROPLET).max(1);
    if at_once <= TOGETHER {
        return at_once;
    }
    let all = at_once / TOGETHER * TOGETHER;
    for starts in starts.chunks_mut(all) {
        starts.sort_by_cached_key(|Start { place: [x, y], .. }| z_order(*x as usize / SQUARE, *y as usize / SQUARE));
    }
    if whole { all } else { TOGETHER }
}

/// The number of a square in Morton's order, which visits a block of squares before it goes on to the next one. Blocks are at most
/// twice as tall as wide: the swarm cuts the map along rows.
fn z_order(x: usize, y: usize) -> usize {
    (0..16).map(|bit| ((y >> bit & 1) | (x >> bit & 1) << 1) << (2 * bit)).sum()
}
