//! Range growth from coarse to fine: to maturity on a small map, then on successively larger ones, each starting from the previous
//! one. So the large landforms are those of the smallest map, whatever the size of the largest.
//!
//! An open border would be a straight base level with a comb of even gullies along it. So the range grows on a map with a margin,
//! from which the terrain is cropped: rivers leave it at their valleys.

mod map;
mod target;

pub use self::target::{RangeParams, rising_extent, typical_relief};

use noise::{NoiseFn, Perlin};

use self::{
    map::{GrowthMap, maps},
    target::Target,
};
use crate::{
    core::{
        bounds::InvalidInput,
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Layer, Terrain},
    },
    process::fluvial::{Fluvial, INFO, Params},
    simulation::Simulation,
};

/// Fraction of the uplift that leaves a mature range again, and the number of ticks over which it is measured.
const MATURE: f64 = 0.98;
const BALANCE_WINDOW: usize = 20;
/// Ticks on the smallest map until the range is mature: usually, and at most.
const TICKS: usize = 360;
const MOST_TICKS: usize = 800;
/// Ticks on each of the other maps.
const FINER_TICKS: usize = 40;
/// Maximum number of corrections of the erodibility on the smallest map, and the error of the relief that needs none.
const CORRECTIONS: usize = 4;
const CLOSE: f64 = 0.02;
/// Ground from which the range rises, as fractions of its relief: undulations, and noise from cell to cell.
const SWELLS: f64 = 0.6;
const NOISE: f32 = 0.004;
/// Octaves of the undulations, waves of the first along the shorter side, and the ratio of successive heights.
const OCTAVES: usize = 5;
const WAVES: f64 = 3.0;
const PERSISTENCE: f64 = 0.57;

/// Progress of range growth.
pub struct GrowthProgress<'a> {
    /// Index of the current map.
    pub level: usize,
    /// Number of maps.
    pub levels: usize,
    /// Completed fraction of the work.
    pub share: f32,
    map: &'a GrowthMap,
    terrain: &'a Terrain,
}

impl GrowthProgress<'_> {
    /// Returns the current bedrock and sand, without the margin.
    pub fn layers(&self) -> [Grid; 2] {
        [&self.terrain.bedrock, &self.terrain.sand].map(|layer| self.map.within(layer))
    }
}

/// Range that has grown on a terrain.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownRange {
    /// Terrain of the range.
    pub terrain: Terrain,
    /// Law under which its rivers and hillslopes balance the uplift.
    pub params: Params,
    /// `false` if uplift still exceeded erosion when the range should have been mature.
    pub is_mature: bool,
    /// `false` if the relief at which uplift and erosion balance still differed from the requested one after the last
    /// correction.
    pub has_target_relief: bool,
}

/// Outcome of growing a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthEnd {
    /// The range has reached the requested age.
    Grown,
    /// Uplift still exceeds erosion in a range that should be mature.
    StillRising,
    /// The range is mature, but it was scaled to the requested relief, at which uplift and erosion do not balance.
    OffTarget,
    /// Growing was cancelled; nothing has changed.
    Cancelled,
}

/// State of a range at the end of a stage of its growth; see [`GrownRange`].
#[derive(Clone, Copy)]
struct StageEnd {
    is_mature: bool,
    has_target_relief: bool,
}

/// State of range growth.
struct RangeGrower<'a, F> {
    params: &'a Params,
    target: Target,
    erodibility: f64,
    /// Base level, in metres: sea level, or that of the outlets if the sea is lower.
    base: f64,
    seed: u64,
    /// Number of runs begun; each has its own random numbers.
    runs: u64,
    /// Completed and total work, in cells times ticks; and the largest fraction reported.
    work: [f64; 2],
    share: f32,
    levels: usize,
    show: F,
}

impl<F: FnMut(GrowthProgress<'_>) -> bool> RangeGrower<'_, F> {
    /// Lets the range rise or erode. Returns `false` if it should be mature and is not, or `None` if cancelled.
    fn run(&mut self, (level, map): (usize, &GrowthMap), terrain: &mut Terrain, ticks: GrowthDuration) -> Option<bool> {
        let law = self.target.law(self.params, self.erodibility, terrain.cell_size);
        let uplift_rate = if matches!(ticks, GrowthDuration::Wearing(_)) { 0.0 } else { law.uplift_rate };
        let seed = self.seed.wrapping_add(self.runs);
        self.runs += 1;
        let placeholder = Terrain::bare(Grid::filled(1, 1, 0.0), 1.0, Edge::default());
        let terrain_before = std::mem::replace(terrain, placeholder);
        let fluvial = Fluvial::with(Params { uplift_rate, ..law });
        let mut run = Simulation::of(vec![Box::new(fluvial)], terrain_before, seed);
        run.slots[0].enabled = true;
        let (mut before, done) = ([0.0; 2], self.work[0]);
        let expected = ticks.expected() as f64 * map.cells();
        for tick in 1..=ticks.most() {
            run.tick();
            let part = (tick as f64 / ticks.expected() as f64).min(1.0);
            // Progress does not fall when a correction runs again.
            self.share = self.share.max(((done + part * expected) / self.work[1]) as f32);
            let growth = GrowthProgress { level, levels: self.levels, share: self.share, map, terrain: &run.terrain };
            if tick.is_multiple_of(5) && !(self.show)(growth) {
                return None;
            }
            if matches!(ticks, GrowthDuration::UntilMature) && tick.is_multiple_of(BALANCE_WINDOW) {
                let now = [run.ledger.solid.sum(|row| row.inflow), run.ledger.solid.sum(|row| row.outflow)];
                let [risen, left] = [now[0] - before[0], now[1] - before[1]];
                before = now;
                if left >= MATURE * risen {
                    *terrain = run.terrain;
                    return Some(true);
                }
            }
        }
        *terrain = run.terrain;
        Some(!matches!(ticks, GrowthDuration::UntilMature))
    }

    /// Runs, and scales the range to the requested relief, until that balances its law. Returns `None` if cancelled.
    fn stage(
        &mut self,
        (level, map): (usize, &GrowthMap),
        terrain: &mut Terrain,
        ticks: GrowthDuration,
    ) -> Option<StageEnd> {
        let mut end = StageEnd { is_mature: true, has_target_relief: true };
        let matures = matches!(ticks, GrowthDuration::UntilMature);
        let corrections = if matures { CORRECTIONS } else { 0 };
        for _ in 0..=corrections {
            end.is_mature = self.run((level, map), terrain, ticks)?;
            let factor = self.fit(map, terrain);
            // Without uplift, heights don't balance the law.
            if matches!(ticks, GrowthDuration::Wearing(_)) {
                break;
            }
            self.erodibility = Target::scaled(self.params, self.erodibility, factor);
            let is_close = (factor - 1.0).abs() < CLOSE;
            end.has_target_relief = is_close || !matures;
            if is_close {
                break;
            }
        }
        self.work[0] += ticks.expected() as f64 * map.cells();
        Some(end)
    }

    /// Scales the heights above the base level to the requested relief. Returns the factor.
    fn fit(&self, map: &GrowthMap, terrain: &mut Terrain) -> f64 {
        let (low, high) = map.within(&terrain.ground()).min_max();
        let relief = f64::from(high) - f64::from(low).max(self.base);
        if relief <= 0.0 {
            return 1.0;
        }
        let (factor, base) = ((self.target.relief / relief) as f32, self.base as f32);
        for (rock, sand) in terrain.bedrock.iter_mut().zip(terrain.sand.iter_mut()) {
            let height = *rock + *sand;
            if height > base {
                *sand *= factor;
                *rock = base + (height - base) * factor - *sand;
            }
        }
        f64::from(factor)
    }
}

/// Duration of a run.
#[derive(Clone, Copy)]
enum GrowthDuration {
    /// Until erosion balances uplift.
    UntilMature,
    /// With uplift.
    Rising(usize),
    /// Without uplift.
    Wearing(usize),
}

impl GrowthDuration {
    fn expected(self) -> usize {
        match self {
            Self::UntilMature => TICKS,
            Self::Rising(ticks) | Self::Wearing(ticks) => ticks,
        }
    }

    fn most(self) -> usize {
        if matches!(self, Self::UntilMature) { MOST_TICKS } else { self.expected() }
    }
}

/// Returns the runs on each map by which a range reaches an age. A young range only rises; an old one matures, then erodes without
/// uplift.
fn plan(age: f64, maps: usize) -> Vec<Vec<GrowthDuration>> {
    let ticks_of = |times: f64| (TICKS as f64 * times).round() as usize;
    let finer = ((FINER_TICKS as f64 * age.min(1.0)).round() as usize).max(1);
    let then = if age > 1.0 { GrowthDuration::Wearing(finer) } else { GrowthDuration::Rising(finer) };
    let first = if age < 1.0 {
        vec![GrowthDuration::Rising(ticks_of(age).saturating_sub((maps - 1) * finer).max(finer))]
    } else if age > 1.0 {
        vec![GrowthDuration::UntilMature, GrowthDuration::Wearing(ticks_of(age - 1.0).max(1))]
    } else {
        vec![GrowthDuration::UntilMature]
    };
    std::iter::once(first).chain((1..maps).map(|_| vec![then])).collect()
}

/// Grows a range in place of the ground of a terrain. Returns `None` if `show` has cancelled it. The uplift, rain and softness maps
/// define its shape and material; size, edge and springs stay, and the existing heights are ignored. The lowest outlet is at 0 m,
/// deposits are sand, and the range is dry. Without uplift, the terrain is level.
///
/// `params` are those of uplift and rivers. Erodibility, diffusivity and the time of a tick follow from the requested range, and
/// the critical slope is raised where channel heads are steeper.
///
/// `show` receives the progress every few ticks and returns whether to continue.
pub fn grow(
    terrain: &Terrain,
    params: &Params,
    range: &RangeParams,
    seed: u64,
    show: impl FnMut(GrowthProgress<'_>) -> bool,
) -> Option<GrownRange> {
    let (target, maps) = (Target::of(terrain, params, range), maps(terrain));
    if terrain.bedrock.is_empty() || target.uplift <= 0.0 {
        let layers = [(); 2].map(|()| Grid::filled(terrain.width(), terrain.height(), 0.0));
        return Some(GrownRange {
            terrain: in_place(terrain, layers),
            params: params.clone(),
            is_mature: true,
            has_target_relief: true,
        });
    }
    let plan = plan(target.age, maps.len());
    let work = |(map, stages): (&GrowthMap, &Vec<GrowthDuration>)| {
        map.cells() * stages.iter().map(|ticks| ticks.expected() as f64).sum::<f64>()
    };
    let all = maps.iter().zip(&plan).map(work).sum();
    let mut growing = RangeGrower {
        params,
        erodibility: target.guess(params),
        target,
        base: f64::from(params.sea_level).max(0.0),
        seed,
        runs: 0,
        work: [0.0, all],
        share: 0.0,
        levels: maps.len(),
        show,
    };
    let mut layers = start(&maps[0], terrain, &growing.target, seed);
    let (mut is_mature, mut has_target_relief) = (true, true);
    for (level, (map, stages)) in maps.iter().zip(&plan).enumerate() {
        let mut ground = map.terrain(terrain, layers);
        for &ticks in stages {
            let end = growing.stage((level, map), &mut ground, ticks)?;
            is_mature &= end.is_mature;
            has_target_relief &= end.has_target_relief;
        }
        let of_ground = [&ground.bedrock, &ground.sand];
        layers = match maps.get(level + 1) {
            None => of_ground.map(|layer| map.within(layer)),
            Some(next) if level == 0 => of_ground.map(|layer| map.cut(layer, next.margin)),
            Some(next) => of_ground.map(|layer| layer.resample(next.whole().0, next.whole().1)),
        };
    }
    let [mut bedrock, sand] = layers;
    if params.sea_level <= 0.0 {
        let lowest = bedrock.iter().zip(sand.iter()).map(|(rock, sand)| rock + sand).fold(f32::INFINITY, f32::min);
        bedrock.iter_mut().for_each(|rock| *rock -= lowest);
    }
    let params = growing.target.law(params, growing.erodibility, terrain.cell_size);
    Some(GrownRange { terrain: in_place(terrain, [bedrock, sand]), params, is_mature, has_target_relief })
}

/// Returns a terrain with this bedrock and sand, dry.
fn in_place(terrain: &Terrain, [bedrock, sand]: [Grid; 2]) -> Terrain {
    let mut range = terrain.clone();
    (range.bedrock, range.sand) = (bedrock, sand);
    for layer in [Layer::Water, Layer::Suspended] {
        range.set_layer(layer, None);
    }
    range.start = range.ground();
    range
}

impl Simulation {
    /// Restarts from a range on the terrain's maps of uplift, rain and softness, and sets the parameters of uplift and rivers to
    /// those with which it grew; see [`grow`]. `show` receives the progress and returns whether to continue.
    ///
    /// # Errors
    /// If nothing rises.
    pub fn grow_range(
        &mut self,
        range: &RangeParams,
        show: impl FnMut(GrowthProgress<'_>) -> bool + Send,
    ) -> Result<GrowthEnd, InvalidInput> {
        let params = self.fluvial();
        let uplift = self.terrain.uplift.as_ref().map_or(1.0, |uplift| uplift.min_max().1);
        if params.uplift_rate * uplift <= 0.0 {
            let right = "set fluvial.uplift_rate above 0 and paint the uplift map above 0 somewhere";
            return Err(InvalidInput {
                wrong: "a mountain range cannot grow without uplift".into(),
                right: right.into(),
            });
        }
        let grown = self.on_its_threads(|run| grow(&run.terrain, &params, range, run.seed(), show));
        let Some(GrownRange { terrain, params, is_mature, has_target_relief }) = grown else {
            return Ok(GrowthEnd::Cancelled);
        };
        self.set_fluvial(&params);
        self.restart(terrain, self.seed());
        Ok(match (is_mature, has_target_relief) {
            (false, _) => GrowthEnd::StillRising,
            (true, false) => GrowthEnd::OffTarget,
            (true, true) => GrowthEnd::Grown,
        })
    }

    /// Sets the parameters of uplift and rivers so that the terrain reaches about the relief of `range`.
    pub fn tune_uplift(&mut self, range: &RangeParams) {
        let params = target::tuned(&self.terrain, &self.fluvial(), range);
        self.set_fluvial(&params);
    }

    /// Tunes uplift and rivers likewise if they are enabled with default parameters, which suit only one extent. Returns `true` if
    /// so.
    pub fn tune_default_uplift(&mut self, range: &RangeParams) -> bool {
        let enabled = self.slots.iter().any(|slot| slot.key() == INFO.key && slot.enabled);
        let tunes = enabled && self.fluvial() == Params::default();
        if tunes {
            self.tune_uplift(range);
        }
        tunes
    }

    fn fluvial(&self) -> Params {
        let slot = self.slots.iter().find(|slot| slot.key() == INFO.key);
        let params = slot.and_then(|slot| slot.process.params().as_partial_reflect().try_downcast_ref::<Params>());
        params.cloned().unwrap_or_default()
    }

    fn set_fluvial(&mut self, params: &Params) {
        if let Some(slot) = self.slot_mut(INFO.key) {
            slot.process.settings_mut()[0].apply(params);
        }
    }
}

/// Returns bedrock and sand from which a range rises: undulations where it rises, and outlets at 0 m.
fn start(map: &GrowthMap, terrain: &Terrain, target: &Target, seed: u64) -> [Grid; 2] {
    let ((width, height), edge) = (map.whole(), terrain.edge);
    let uplift = terrain.uplift.as_ref().map(|uplift| map.around(uplift));
    let fastest = uplift.as_ref().map_or(1.0, |uplift| uplift.min_max().1).max(f32::MIN_POSITIVE);
    let mut stream = RandomStream::new(seed, "range", 0);
    let perlin = Perlin::new(stream.bits());
    let wave = WAVES / width.min(height).max(2) as f64;
    let swell = |x: usize, y: usize| {
        let (mut sum, mut size, mut wave) = (0.0, 1.0, wave);
        for octave in 0..OCTAVES {
            sum += size * perlin.get([wave * x as f64 + 0.5, wave * y as f64 + 0.5, octave as f64 + 0.5]);
            (size, wave) = (size * PERSISTENCE, 2.0 * wave);
        }
        sum
    };
    let swells = Grid::from_fn(width, height, |x, y| swell(x, y) as f32);
    let (low, high) = swells.min_max();
    let scale = (SWELLS * target.relief) as f32 / (high - low).max(f32::MIN_POSITIVE);
    let bedrock = Grid::from_fn(width, height, |x, y| {
        let noise = NOISE * target.relief as f32 * stream.uniform();
        let border = (width > 1 && (x == 0 || x + 1 == width)) || (height > 1 && (y == 0 || y + 1 == height));
        if edge == Edge::Open && border {
            return 0.0;
        }
        let rises = uplift.as_ref().map_or(1.0, |uplift| uplift.at(x, y) / fastest);
        rises * scale * (swells.at(x, y) - low) + noise
    });
    [bedrock, Grid::filled(width, height, 0.0)]
}
