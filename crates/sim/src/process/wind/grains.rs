//! Grains of the published laws. Each runs to its end on the terrain that the previous grain left, as in the published programs.
//!
//! Heights, thicknesses and loads are in metres, positions in cells; the value of a cell is at its integer position. A grain that
//! reaches the border leaves the map with its load. The load of a grain that stops is lost, as published.

use std::time::Instant;

use super::{INFO, Params, Weather, Wind, WindLaw, WindMaps, boundary::BoundaryLayer, law2020::Law2020};
use crate::{
    core::{border::AROUND, rng::RandomStream, terrain::Terrain},
    process::{Context, ParticleState},
    simd::number::Real,
};

/// Maximum length of a stored track, in points.
const LONGEST_TRACK: usize = 2000;
/// Number of low bits for the grain in the number of its random stream; those above are the tick.
const GRAIN_BITS: u32 = 20;

/// Grain in motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain<R> {
    /// Column and row.
    pub place: [R; 2],
    pub height: R,
    /// Velocity along columns, along rows and upwards, in units of the law.
    pub velocity: [R; 3],
    pub load: R,
}

impl<R: Real> Grain<R> {
    /// Creates an empty grain on the ground that moves with the wind.
    pub fn new(place: [R; 2], [along, down]: [R; 2]) -> Self {
        let zero = R::splat(0.0);
        Self { place, height: zero, velocity: [along, down, zero], load: zero }
    }

    /// Returns the speed, in units of the law.
    #[inline(always)]
    pub fn speed(&self) -> R {
        let [vx, vy, vz] = self.velocity;
        ((vx * vx + vy * vy) + vz * vz).sqrt()
    }
}

/// State of a grain after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrainState {
    Moving,
    Stopped,
    /// The grain has left the map.
    Outside,
}

/// Outcome of a step for a grain and the cell that it came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrainStep<R> {
    pub state: GrainState,
    /// Index of the cell.
    pub cell: usize,
    /// `true` if the grain was in contact with the ground.
    pub touches: bool,
    /// Rock abraded into sand there, in metres.
    pub worn: R,
}

/// Totals over the steps of grains, in metres times cells: changes of the layers to their last digit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GrainTally {
    pub steps: u64,
    /// Sand removed from cells by grains and by sliding.
    pub eroded: f64,
    pub deposited: f64,
    /// Rock abraded into sand.
    pub worn: f64,
    /// Sand carried over the border.
    pub outflow: f64,
    /// Sand that the law removes from the ground or from a grain and deposits nowhere.
    pub lost: f64,
}

impl GrainTally {
    /// Adds a change of sand from an old to a new thickness.
    #[inline(always)]
    fn add<R: Into<f64>>(&mut self, old: R, new: R) {
        let lost = old.into() - new.into();
        self.eroded += lost.max(0.0);
        self.deposited += (-lost).max(0.0);
    }
}

/// Layers that grains change, row by row.
pub(super) struct GrainBed<'a, R> {
    pub bedrock: &'a mut [R],
    pub sand: &'a mut [R],
    /// Number of columns, and of rows.
    pub width: usize,
    pub rows: usize,
}

impl<'a> GrainBed<'a, f32> {
    /// Borrows the layers of a terrain.
    pub fn of(terrain: &'a mut Terrain) -> Self {
        let (width, rows) = (terrain.width(), terrain.height());
        Self { bedrock: &mut terrain.bedrock, sand: &mut terrain.sand, width, rows }
    }
}

impl<R: Real + PartialOrd + Into<f64>> GrainBed<'_, R> {
    /// Returns the height of the ground in a cell.
    #[inline(always)]
    pub fn elevation(&self, cell: usize) -> R {
        self.bedrock[cell] + self.sand[cell]
    }

    /// Returns the column and row of the cell at a position on the map.
    #[inline(always)]
    pub fn cell(place: [R; 2]) -> [usize; 2] {
        let whole = |part: R| Into::<f64>::into(part) as i32 as usize;
        [whole(place[0]), whole(place[1])]
    }

    /// Returns `true` if a position is on the map, and not in the outermost `margin` cells.
    #[inline(always)]
    pub fn contains(&self, place: [R; 2], margin: usize) -> bool {
        let (x, y, margin) = (place[0].into(), place[1].into(), margin as f64);
        x >= margin && y >= margin && x < self.width as f64 - margin && y < self.rows as f64 - margin
    }

    /// Sets the thickness of the sand in a cell. Returns its loss, in metres; negative for a gain.
    #[inline(always)]
    pub fn set_sand(&mut self, cell: usize, thickness: R, tally: &mut GrainTally) -> R {
        let old = std::mem::replace(&mut self.sand[cell], thickness);
        tally.add(old, thickness);
        old - thickness
    }

    /// Slides sand between a cell and its neighbours, one after the other: the fraction `rate` of half the height difference beyond
    /// `threshold`.
    #[inline(always)]
    pub fn cascade(&mut self, [x, y]: [usize; 2], threshold: R, rate: R, tally: &mut GrainTally) {
        let (width, rows) = (self.width, self.rows);
        let cell = y * width + x;
        if x > 0 && y > 0 && x + 1 < width && y + 1 < rows {
            let (above, below) = (cell - width, cell + width);
            let around = [above - 1, above, above + 1, cell - 1, cell + 1, below - 1, below, below + 1];
            self.slide_between(cell, &around, threshold, rate, tally);
        } else {
            let around = AROUND.map(|[dx, dy]| (x.wrapping_add_signed(dx), y.wrapping_add_signed(dy)));
            let inside = around.into_iter().filter(|&(column, row)| column < width && row < rows);
            let inside: Vec<usize> = inside.map(|(column, row)| row * width + column).collect();
            self.slide_between(cell, &inside, threshold, rate, tally);
        }
    }

    /// Slides sand between a cell and adjacent cells, in this order.
    #[inline(always)]
    fn slide_between(&mut self, cell: usize, others: &[usize], threshold: R, rate: R, tally: &mut GrainTally) {
        let (zero, half_rate) = (R::splat(0.0), R::splat(0.5) * rate);
        let (rock, mut own) = (self.bedrock[cell], self.sand[cell]);
        let ground = rock + own;
        let mut steepest = zero;
        for &other in others {
            let difference = ground - self.elevation(other);
            steepest = steepest.max(difference.max(-difference));
        }
        // Often nothing slides.
        if steepest <= threshold {
            return;
        }
        let (mut eroded, mut deposited) = (0.0, 0.0);
        for &other in others {
            let theirs = self.sand[other];
            let difference = (rock + own) - (self.bedrock[other] + theirs);
            let steepness = difference.max(-difference);
            if steepness > threshold {
                // From the higher cell to the lower one.
                let [from, to] = if difference > zero { [own, theirs] } else { [theirs, own] };
                let (excess, most) = (half_rate * (steepness - threshold), rate * from);
                let slides = if most < excess { most } else { excess };
                // Rounded to the precision of both layers, so that sand is conserved.
                let rounded = (to + slides) - to;
                let left = if from > rounded { from - rounded } else { zero };
                let got = to + (from - left);
                eroded += from.into() - left.into();
                deposited += got.into() - to.into();
                [own, self.sand[other]] = if difference > zero { [left, got] } else { [got, left] };
            }
        }
        self.sand[cell] = own;
        tally.eroded += eroded;
        tally.deposited += deposited;
    }
}

/// Published law with its coefficients.
enum GrainLaw {
    Of2020(Law2020<f32>),
    BoundaryLayer(BoundaryLayer),
}

impl GrainLaw {
    fn new(params: &Params, Weather { heading, strength }: Weather, terrain: &Terrain) -> Self {
        let wind = heading.map(|part| part * strength);
        match params.law {
            WindLaw::_2020 => Self::Of2020(Law2020::new(params, wind.map(f64::from), f64::from(terrain.cell_size))),
            WindLaw::BoundaryLayer => Self::BoundaryLayer(BoundaryLayer::new(params, wind, terrain.cell_size)),
        }
    }

    /// Returns the width of the border in which a grain leaves the map, in cells.
    fn margin(&self) -> usize {
        match self {
            Self::Of2020(_) => Law2020::<f32>::MARGIN,
            Self::BoundaryLayer(_) => 0,
        }
    }

    /// Returns the number of steps after which a grain stops.
    fn most_steps(&self, terrain: &Terrain) -> u32 {
        match self {
            // The published law has no such limit, but no grain may run forever.
            Self::Of2020(_) => 64 * (terrain.width() + terrain.height()) as u32,
            Self::BoundaryLayer(law) => law.max_age,
        }
    }

    /// Draws the cell in which a grain starts: any cell, or, in the law of 2020, one on the upwind borders.
    fn start(&self, [width, height]: [usize; 2], [cos, sin]: [f32; 2], stream: &mut RandomStream) -> [f32; 2] {
        let margin = self.margin();
        let mut draw = |side: usize| stream.below(side.saturating_sub(2 * margin).max(1)) + margin.min(side - 1);
        let [x, y] = [width, height].map(&mut draw);
        let upwind = |heading: f32, side: usize| {
            if heading > 0.0 { margin.min(side - 1) } else { side.saturating_sub(1 + margin) }
        };
        let [x, y] = match self {
            Self::BoundaryLayer(_) => [x, y],
            Self::Of2020(_) => {
                // Wind that enters across either border.
                let (over_columns, over_rows) = (cos.abs() * height as f32, sin.abs() * width as f32);
                if stream.uniform() * (over_columns + over_rows) < over_columns {
                    [upwind(cos, width), y]
                } else {
                    [x, upwind(sin, height)]
                }
            }
        };
        [x as f32, y as f32]
    }

    /// Runs a grain until it stops or leaves the map, and calls `visit` after every step.
    fn run(
        &self,
        ground: &mut GrainBed<'_, f32>,
        (mut grain, most_steps): (Grain<f32>, u32),
        stream: &mut RandomStream,
        tally: &mut GrainTally,
        mut visit: impl FnMut(GrainStep<f32>, &Grain<f32>),
    ) {
        if !ground.contains(grain.place, self.margin()) {
            return;
        }
        for _ in 0..most_steps {
            let step = match self {
                Self::Of2020(law) => law.step(ground, &mut grain, tally),
                Self::BoundaryLayer(law) => law.step(ground, &mut grain, stream, tally),
            };
            tally.steps += 1;
            visit(step, &grain);
            match step.state {
                GrainState::Moving => {}
                GrainState::Stopped => break,
                GrainState::Outside => {
                    tally.outflow += f64::from(grain.load);
                    return;
                }
            }
        }
        tally.lost += f64::from(grain.load);
    }
}

/// Returns the random stream of a grain.
fn stream_of(seed: u64, tick: u64, number: u32) -> RandomStream {
    RandomStream::new(seed, "wind-grain", (tick << GRAIN_BITS) | u64::from(number))
}

impl Wind {
    /// Runs the remaining grains of the tick, until a frame waits to be drawn.
    pub(super) fn blow(&mut self, context: &mut Context<'_>, maps: &mut WindMaps) {
        let Some(weather) = self.weather else { return };
        let terrain = &mut *context.terrain;
        let params = &self.setup.params;
        let law = GrainLaw::new(params, weather, terrain);
        let (size, most_steps) = ([terrain.width(), terrain.height()], law.most_steps(terrain));
        let velocity = weather.heading.map(|part| part * weather.strength);
        let (tracks, grains) = if context.watched { (params.tracks, params.per_tick) } else { (0, 1) };
        let tracks_below = |number: u32| u64::from(tracks.min(grains)) * u64::from(number) / u64::from(grains);
        let area = terrain.cell_area();
        let mut ground = GrainBed::of(terrain);
        let mut tally = GrainTally::default();
        while self.waiting > 0 {
            self.waiting -= 1;
            let mut stream = stream_of(context.seed, context.tick, self.waiting);
            let grain = Grain::new(law.start(size, weather.heading, &mut stream), velocity);
            let is_tracked = tracks_below(self.waiting + 1) > tracks_below(self.waiting);
            let mut track = vec![grain.place.map(|part| part + 0.5)];
            law.run(&mut ground, (grain, most_steps), &mut stream, &mut tally, |step, grain| {
                if step.touches {
                    maps.touched[step.cell] = 1.0;
                }
                if step.worn > 0.0 {
                    maps.abraded[step.cell] += step.worn;
                }
                if context.watched {
                    maps.passed[step.cell] += grain.load;
                }
                if is_tracked && track.len() < LONGEST_TRACK {
                    track.push(grain.place.map(|part| part + 0.5));
                }
            });
            if track.len() > 2 {
                self.tracks.push(track);
            }
            self.setup.counts.particles += 1;
            if context.deadline.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        self.setup.counts.substeps += tally.steps;
        let GrainTally { eroded, deposited, worn, outflow, lost, .. } = tally;
        let row = context.ledger.solid.row(INFO.key);
        row.eroded += eroded * area;
        row.deposited += deposited * area;
        row.moved += (eroded + deposited + 2.0 * worn) * area;
        row.outflow += outflow * area;
        row.lost += lost * area;
    }

    /// Runs one grain from a position, in cells, on a copy of the terrain; `None` in the default mode, which has no grains.
    pub(super) fn follow_one(
        &self,
        terrain: &Terrain,
        (seed, tick): (u64, u64),
        place: [f32; 2],
    ) -> Option<Vec<ParticleState>> {
        if !self.has_grains() {
            return None;
        }
        let (params, mut terrain) = (&self.setup.params, terrain.clone());
        let weather = Weather::mean(params);
        let law = GrainLaw::new(params, weather, &terrain);
        let (size, most_steps) = ([terrain.width(), terrain.height()], law.most_steps(&terrain));
        let place = [0, 1].map(|axis| (place[axis] - 0.5).clamp(0.0, size[axis] as f32 - 1.0));
        let grain = Grain::new(place, weather.heading.map(|part| part * weather.strength));
        let mut ground = GrainBed::of(&mut terrain);
        let mut moments = Vec::new();
        let mut stream = stream_of(seed, tick, 0);
        law.run(&mut ground, (grain, most_steps), &mut stream, &mut GrainTally::default(), |_, grain| {
            moments.push(ParticleState {
                place: grain.place.map(|part| part + 0.5),
                speed: grain.speed(),
                water: None,
                load: grain.load,
                capacity: None,
            });
        });
        Some(moments)
    }
}
