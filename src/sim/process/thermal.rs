//! Thermal erosion: what stands too steep comes down.
//!
//! Default: sand slides from cell to neighbour by what exceeds its angle of repose; bedrock that stands bare and steeper
//! than its own angle crumbles into sand. A pair of cells exchanges
//!
//! ```text
//! min(k·max(0, Δz − tan φ·distance), sand of the giver / 8),  k = 1/12
//! ```
//!
//! so no cell gives more than it has, nothing swings, and the final slope does not depend on the rate. As published
//! (eqs 17, 18), ΔS = Δt·Kt·R·H/2 leaves a cell for those neighbours that lie lower than the talus angle allows.

use std::ops::Range;

use bevy_reflect::{Reflect, structs::Struct};

use super::{Context, Counts, Info, Mode, Process, Progress, Stage};
use crate::{
    params::{choice, knob},
    sim::{
        grid::Grid,
        real::{Kernel, with_vector_unit},
        stencil::{Border, Quantities, Window, for_bands, row_sum},
        terrain::{Edge, Layer, Terrain},
    },
};

const P1: &str = "Jákó & Tóth 2011, table 2";

/// Parameters of the slumping.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Cured, or as the paper prints it.
    #[reflect(@choice().source("Jákó & Tóth 2011"))]
    pub mode: Mode,
    /// Angle at which sand lies. Small makes flat fans, large steep cones.
    #[reflect(@knob(5.0..=60.0).unit("°").symbol("φ").source("dry sand; ours").main())]
    pub repose_angle: f32,
    /// How fast rock crumbles, and as published how fast everything slides. High rounds ridges at once; at 0 nothing falls.
    #[reflect(@knob(0.0..=3.0).unit("1/s").symbol("Kt").source(P1).main())]
    pub rate: f32,
    /// How much steeper hard rock stands than soft rock, as a slope. High keeps cliffs where the rock is hard.
    #[reflect(@knob(0.0..=1.0).symbol("Ka").source(P1).main())]
    pub talus_coefficient: f32,
    /// Slope at which the softest rock stands. High keeps all cliffs; at 0 soft rock becomes a plain.
    #[reflect(@knob(0.0..=1.0).symbol("Ki").source(P1).main())]
    pub talus_bias: f32,
    /// Time that a tick covers on cells of one metre; the cured mode covers as much more as cells are larger.
    #[reflect(@knob(0.0..=0.05).unit("s").symbol("Δt").source(P1))]
    pub dt: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self { mode: Mode::Default, repose_angle: 33.0, rate: 0.15, talus_coefficient: 0.8, talus_bias: 0.1, dt: 0.02 }
    }
}

const INFO: Info = Info {
    key: "thermal",
    title: "Slumping",
    about: "Slopes that are too steep come down: sand slides, bare rock crumbles into sand.",
    source: "Jákó & Tóth 2011 after Beneš & Forsbach 2001",
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Softness],
    writes: &[Layer::Bedrock, Layer::Sand],
    stages: &[
        Stage { name: "talus", about: "Every cell finds what stands too steep." },
        Stage { name: "slide", about: "It gives that to its lower neighbours and takes from the higher ones." },
    ],
};

/// The process: parameters and room for the next layers.
#[derive(Clone)]
pub struct Thermal {
    /// Its parameters.
    pub params: Params,
    /// Bedrock and sand after a step; what a cell gives per metre that a neighbour lies lower.
    spare: [Grid; 3],
    counts: Counts,
}

impl Default for Thermal {
    fn default() -> Self {
        Self::new(Params::default())
    }
}

impl Thermal {
    /// The process with these parameters.
    pub fn new(params: Params) -> Self {
        Self { params, spare: std::array::from_fn(|_| Grid::filled(0, 0, 0.0)), counts: Counts::default() }
    }

    fn make_room(&mut self, terrain: &Terrain) {
        let (width, height) = (terrain.width(), terrain.height());
        if (self.spare[0].width(), self.spare[0].height()) != (width, height) {
            self.spare = std::array::from_fn(|_| Grid::filled(width, height, 0.0));
        }
    }
}

impl Process for Thermal {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn params(&self) -> &dyn Struct {
        &self.params
    }

    fn params_mut(&mut self) -> &mut dyn Struct {
        &mut self.params
    }

    fn largest_stable_dt(&self, _: &Terrain) -> f32 {
        match self.params.mode {
            Mode::Default => f32::INFINITY,
            // Never more than half the difference.
            Mode::Published => 1.0 / self.params.rate.max(f32::MIN_POSITIVE),
        }
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        self.make_room(terrain);
        let (width, height, border) = (terrain.width(), terrain.height(), Border::of(terrain));
        let steep = Steep::new(&self.params, terrain.cell_size);
        if stage == 0 {
            if self.params.mode == Mode::Published {
                let solid = Solid { terrain, steep };
                for_bands(height, [(&mut self.spare[2][..], width)], |rows, [out]| {
                    with_vector_unit(Talus { solid: &solid, border, rows, out });
                });
            }
            return Progress::Done;
        }
        let [bedrock, sand, gives] = &mut self.spare;
        let written = [(&mut bedrock[..], width), (&mut sand[..], width)];
        let bands = match self.params.mode {
            Mode::Default => {
                let loose = Loose { terrain };
                for_bands(height, written, |rows, out| {
                    with_vector_unit(Slide { loose: &loose, steep, border, rows, out })
                })
            }
            Mode::Published => {
                let falling = Falling { solid: Solid { terrain, steep }, gives };
                for_bands(height, written, |rows, out| {
                    with_vector_unit(Fall { falling: &falling, steep, border, rows, out })
                })
            }
        };
        std::mem::swap(&mut terrain.bedrock, bedrock);
        std::mem::swap(&mut terrain.sand, sand);
        let area = terrain.cell_area();
        let row = context.ledger.solid.row(INFO.key);
        for band in bands {
            row.eroded += band.given * area;
            row.deposited += band.got * area;
            row.moved += (band.given + band.got + band.crumbled) * area;
            row.outflow += band.out * area;
        }
        self.counts.substeps += 1;
        Progress::Done
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn boxed_clone(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

/// What a band moved, in metres times cells.
struct Sums {
    given: f64,
    got: f64,
    crumbled: f64,
    out: f64,
}

/// The numbers of both modes.
#[derive(Clone, Copy)]
struct Steep {
    /// Differences of height between neighbours at which sand lies: beside, and across the corner.
    repose: [f32; 2],
    /// Tangent of the talus angle of rock: per hardness, and at none; times the cell size.
    per_hardness: f32,
    bias: f32,
    /// Share that crumbles, or slides as published, in a tick.
    share: f32,
}

/// Of a pair's excess, what moves in a tick.
const PAIR: f32 = 1.0 / 12.0;
/// Of an eighth of the giver's sand, what moves at least.
const LEAST: f32 = 8e-6;

impl Steep {
    fn new(params: &Params, size: f32) -> Self {
        let repose = params.repose_angle.to_radians().tan() * size;
        let seconds = if params.mode == Mode::Default { params.dt * size } else { params.dt };
        Self {
            repose: [repose, repose * std::f32::consts::SQRT_2],
            per_hardness: params.talus_coefficient * size,
            bias: params.talus_bias * size,
            share: (params.rate * seconds).min(1.0),
        }
    }

    /// Difference of height at which rock of this softness stands beside its neighbour.
    #[inline(always)]
    fn talus(self, softness: f32) -> f32 {
        (1.0 - softness) * self.per_hardness + self.bias
    }
}

#[inline(always)]
fn positive(value: f32) -> f32 {
    if value > 0.0 { value } else { 0.0 }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The eight neighbours of cell x in three padded rows, those beside and those across the corner, each beside its
/// opposite: sums in this order are the same on a turned or mirrored map.
#[inline(always)]
fn neighbours([above, here, below]: [&[f32]; 3], x: usize) -> [[f32; 4]; 2] {
    [[here[x], here[x + 2], above[x + 1], below[x + 1]], [above[x], below[x + 2], above[x + 2], below[x]]]
}

/// A sum over the eight neighbours, in the order of [`neighbours`].
#[inline(always)]
fn sum([beside, across]: [[f32; 4]; 2]) -> f32 {
    ((beside[0] + beside[1]) + (beside[2] + beside[3])) + ((across[0] + across[1]) + (across[2] + across[3]))
}

/// Ground and sand.
struct Loose<'a> {
    terrain: &'a Terrain,
}

impl Quantities<2> for Loose<'_> {
    #[inline(always)]
    fn row(&self, y: usize, [ground, loose]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part]);
        let loose = &mut loose[..width];
        for x in 0..width {
            ground[x] = bedrock[x] + sand[x];
            // An eighth for every neighbour at most.
            loose[x] = sand[x] * 0.125;
        }
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index], 0.0]
    }
}

/// A step of the default mode.
struct Slide<'a> {
    loose: &'a Loose<'a>,
    steep: Steep,
    border: Border,
    rows: Range<usize>,
    out: [&'a mut [f32]; 2],
}

impl Slide<'_> {
    /// What slides from a cell to a neighbour: heights of both, an eighth of the giver's sand, the difference that lies.
    #[inline(always)]
    fn slides(from: f32, to: f32, eighth: f32, lies: f32) -> f32 {
        let slides = smaller(PAIR * positive((from - to) - lies), eighth);
        // Less would fall below the last digit of the giver's sand, and the receiver would get what nobody gave.
        if slides > LEAST * eighth { slides } else { 0.0 }
    }
}

impl Kernel for Slide<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let (steep, terrain) = (self.steep, self.loose.terrain);
        // Nothing slides while time stands still.
        let moves = if steep.share > 0.0 { 1.0 } else { 0.0 };
        let mut window = Window::new(self.border, self.rows.start);
        let (mut given, mut got, mut crumbled) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums { given: 0.0, got: 0.0, crumbled: 0.0, out: 0.0 };
        let [bedrock, sand] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to(y, self.loose);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let loose = window.quantity(1).map(|row| &row[..width + 2]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, softness) = (&terrain.bedrock[part.clone()], &terrain.softness[part.clone()]);
            let old_sand = &terrain.sand[part];
            let here = line * width..(line + 1) * width;
            let (bedrock, sand) = (&mut bedrock[here.clone()][..width], &mut sand[here][..width]);
            let (given, got, crumbled) = (&mut given[..width], &mut got[..width], &mut crumbled[..width]);
            for x in 0..width {
                let (own, eighth, rock) = (ground[1][x + 1], loose[1][x + 1], old_bedrock[x]);
                let (heights, eighths) = (neighbours(ground, x), neighbours(loose, x));
                let talus = steep.talus(softness[x]);
                let lies = [talus, talus * std::f32::consts::SQRT_2];
                let (mut comes, mut goes) = ([[0.0; 4]; 2], [[0.0; 4]; 2]);
                let mut excess = 0.0;
                for kind in 0..2 {
                    for side in 0..4 {
                        let other = heights[kind][side];
                        comes[kind][side] = Self::slides(other, own, eighths[kind][side], steep.repose[kind]);
                        goes[kind][side] = Self::slides(own, other, eighth, steep.repose[kind]);
                        excess = larger(excess, (rock - other) - lies[kind]);
                    }
                }
                let (comes, goes) = (moves * sum(comes), moves * sum(goes));
                // Rock that stands too steep crumbles, unless what would fall lies on it as sand already.
                let crumbles = 0.5 * steep.share * softness[x] * positive(excess - old_sand[x]);
                bedrock[x] = rock - crumbles;
                let crumbles = rock - bedrock[x];
                sand[x] = positive((old_sand[x] + crumbles) + (comes - goes));
                given[x] = goes;
                got[x] = comes;
                crumbled[x] = crumbles;
            }
            sums.given += row_sum(given);
            sums.got += row_sum(got);
            sums.crumbled += row_sum(crumbled);
            if edge == Edge::Open {
                for_border(y, (width, height), |x, kind, side| {
                    let other = neighbours(ground, x)[kind][side];
                    let left = Self::slides(ground[1][x + 1], other, loose[1][x + 1], steep.repose[kind]);
                    sums.out += f64::from(moves * left);
                });
            }
        }
        sums
    }
}

/// Calls `visit` for every neighbour in row `y` that lies beyond the border: the cell, and the neighbour's place in
/// [`neighbours`].
fn for_border(y: usize, (width, height): (usize, usize), mut visit: impl FnMut(usize, usize, usize)) {
    // Steps to the neighbours, in their order.
    const STEPS: [[(isize, isize); 4]; 2] = [[(-1, 0), (1, 0), (0, -1), (0, 1)], [(-1, -1), (1, 1), (1, -1), (-1, 1)]];
    let whole_row = y == 0 || y + 1 == height;
    let cells: &mut dyn Iterator<Item = usize> =
        if whole_row { &mut (0..width) } else { &mut [0, width - 1].into_iter().take(width) };
    for x in cells {
        for (kind, steps) in STEPS.iter().enumerate() {
            for (side, (dx, dy)) in steps.iter().enumerate() {
                let inside = x.checked_add_signed(*dx).is_some_and(|x| x < width)
                    && y.checked_add_signed(*dy).is_some_and(|y| y < height);
                if !inside {
                    visit(x, kind, side);
                }
            }
        }
    }
}

/// The ground as one solid, and the difference of height at which it stands.
struct Solid<'a> {
    terrain: &'a Terrain,
    steep: Steep,
}

impl Quantities<2> for Solid<'_> {
    #[inline(always)]
    fn row(&self, y: usize, [ground, talus]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part.clone()]);
        let (softness, talus) = (&self.terrain.softness[part], &mut talus[..width]);
        for x in 0..width {
            ground[x] = bedrock[x] + sand[x];
            talus[x] = self.steep.talus(softness[x]);
        }
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index], 0.0]
    }
}

/// Eq. 17: what a cell gives, per metre that the neighbours which get it lie lower.
struct Talus<'a> {
    solid: &'a Solid<'a>,
    border: Border,
    rows: Range<usize>,
    out: &'a mut [f32],
}

impl Kernel for Talus<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.border.width;
        let share = 0.5 * self.solid.steep.share;
        let mut window = Window::new(self.border, self.rows.start);
        for (line, y) in self.rows.enumerate() {
            window.go_to(y, self.solid);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let talus = &window.quantity(1)[1][1..=width];
            let softness = &self.solid.terrain.softness[y * width..(y + 1) * width];
            let out = &mut self.out[line * width..(line + 1) * width];
            for x in 0..width {
                let own = ground[1][x + 1];
                let lies = [talus[x], talus[x] * std::f32::consts::SQRT_2];
                let (mut lower, mut most) = ([[0.0; 4]; 2], 0.0);
                for (kind, heights) in neighbours(ground, x).into_iter().enumerate() {
                    for (side, other) in heights.into_iter().enumerate() {
                        let fall = own - other;
                        lower[kind][side] = if fall > lies[kind] { fall } else { 0.0 };
                        most = larger(most, fall);
                    }
                }
                let all = sum(lower);
                out[x] = if all > 0.0 { share * softness[x] * most / all } else { 0.0 };
            }
        }
    }
}

/// Ground, talus, and what cells give.
struct Falling<'a> {
    solid: Solid<'a>,
    gives: &'a Grid,
}

impl Quantities<3> for Falling<'_> {
    #[inline(always)]
    fn row(&self, y: usize, [ground, talus, gives]: [&mut [f32]; 3]) {
        let width = ground.len();
        self.solid.row(y, [ground, talus]);
        gives.copy_from_slice(&self.gives[y * width..(y + 1) * width]);
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 3] {
        [self.solid.terrain.start[index], 0.0, 0.0]
    }
}

/// Eq. 18, gathered: a cell takes from those that give to it, and gives.
struct Fall<'a> {
    falling: &'a Falling<'a>,
    steep: Steep,
    border: Border,
    rows: Range<usize>,
    out: [&'a mut [f32]; 2],
}

impl Kernel for Fall<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let terrain = self.falling.solid.terrain;
        let mut window = Window::new(self.border, self.rows.start);
        let (mut given, mut got) = (vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums { given: 0.0, got: 0.0, crumbled: 0.0, out: 0.0 };
        let [bedrock, sand] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to(y, self.falling);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let talus = window.quantity(1).map(|row| &row[..width + 2]);
            let gives = window.quantity(2).map(|row| &row[..width + 2]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, old_sand) = (&terrain.bedrock[part.clone()], &terrain.sand[part]);
            let here = line * width..(line + 1) * width;
            let (bedrock, sand) = (&mut bedrock[here.clone()][..width], &mut sand[here][..width]);
            let (given, got) = (&mut given[..width], &mut got[..width]);
            for x in 0..width {
                let own = ground[1][x + 1];
                let (heights, taluses, rates) = (neighbours(ground, x), neighbours(talus, x), neighbours(gives, x));
                let (mut comes, mut goes) = ([[0.0; 4]; 2], [[0.0; 4]; 2]);
                for kind in 0..2 {
                    let longer = if kind == 0 { 1.0 } else { std::f32::consts::SQRT_2 };
                    for side in 0..4 {
                        let rise = heights[kind][side] - own;
                        let lies = taluses[kind][side] * longer;
                        comes[kind][side] = if rise > lies { rates[kind][side] * rise } else { 0.0 };
                        let fall = -rise;
                        goes[kind][side] = if fall > talus[1][x + 1] * longer { gives[1][x + 1] * fall } else { 0.0 };
                    }
                }
                let (comes, goes) = (sum(comes), sum(goes));
                // What is given is sand as long as there is some; what comes is part of the solid.
                let from_sand = smaller(goes, old_sand[x]);
                sand[x] = old_sand[x] - from_sand;
                bedrock[x] = old_bedrock[x] + (comes - (goes - from_sand));
                given[x] = goes;
                got[x] = comes;
            }
            sums.given += row_sum(given);
            sums.got += row_sum(got);
            if edge == Edge::Open {
                for_border(y, (width, height), |x, kind, side| {
                    let fall = ground[1][x + 1] - neighbours(ground, x)[kind][side];
                    let longer = if kind == 0 { 1.0 } else { std::f32::consts::SQRT_2 };
                    if fall > talus[1][x + 1] * longer {
                        sums.out += f64::from(gives[1][x + 1] * fall);
                    }
                });
            }
        }
        let _ = self.steep;
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Simulation, process::contract::turned};

    fn run(terrain: Terrain, params: Params, ticks: usize) -> Terrain {
        let mut simulation = Simulation::new(terrain, 1);
        let slot = simulation.slot_mut("thermal").expect("it is in the catalogue");
        slot.process = Box::new(Thermal::new(params));
        slot.enabled = true;
        (0..ticks).for_each(|_| simulation.tick());
        simulation.terrain
    }

    fn energy(terrain: &Terrain) -> f64 {
        terrain.ground().iter().map(|&z| f64::from(z) * f64::from(z)).sum()
    }

    #[test]
    fn a_column_of_sand_becomes_a_cone_at_its_angle() {
        let mut terrain = Terrain::bare(Grid::filled(129, 129, 0.0), 1.0, Edge::Wall);
        let inside = |x: usize, y: usize| (x as f32 - 64.0).hypot(y as f32 - 64.0) <= 10.0;
        let cells = (0..129 * 129).filter(|index| inside(index % 129, index / 129)).count();
        for index in (0..129 * 129).filter(|index| inside(index % 129, index / 129)) {
            terrain.sand[index] = 20_000.0 / cells as f32;
        }
        let before = terrain.solid_volume();
        let after = run(terrain.clone(), Params::default(), 20_000);
        assert!((after.solid_volume() / before - 1.0).abs() <= 1e-6);
        let talus = 33.0_f64.to_radians().tan();
        // From halfway down to near the foot, along and across.
        let ground = after.ground();
        let top = f64::from(ground.at(64, 64));
        let foot = (top / talus) as usize;
        for (dx, dy, step) in [(1, 0, 1.0), (0, 1, 1.0), (1, 1, std::f64::consts::SQRT_2)] {
            let reach = (foot as f64 / step) as usize;
            let (from, to) = (reach / 5, reach * 4 / 5);
            let height = |distance: usize| f64::from(ground.at(64 + dx * distance, 64 + dy * distance));
            let slope = (height(from) - height(to)) / ((to - from) as f64 * step);
            assert!((0.97..=1.083).contains(&(slope / talus)), "{dx},{dy}: {}", slope / talus);
        }
        for quarter in [false, true] {
            let other = run(turned(&terrain, quarter), Params::default(), 500);
            assert!(turned(&run(terrain.clone(), Params::default(), 500), quarter).sand == other.sand);
        }
    }

    #[test]
    fn a_pit_in_a_plateau_never_rises_above_it_and_energy_never_grows() {
        for mode in [Mode::Default, Mode::Published] {
            for rate in [0.15, 3.0] {
                let mut terrain = Terrain::bare(Grid::filled(33, 33, 50.0), 1.0, Edge::Wall);
                terrain.sand = Grid::filled(33, 33, 20.0);
                terrain.sand[16 * 33 + 16] = 0.0;
                terrain.softness = Grid::filled(33, 33, 1.0);
                let params = Params { mode, rate, talus_bias: 0.0, repose_angle: 5.0, dt: 0.05, ..Params::default() };
                let mut energies = vec![energy(&terrain)];
                for _ in 0..300 {
                    terrain = run(terrain, params.clone(), 1);
                    assert!(terrain.ground().min_max().1 <= 70.0 + 1e-4, "{mode:?} {rate}");
                    energies.push(energy(&terrain));
                }
                assert!(energies.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)), "{mode:?} {rate}");
            }
        }
    }

    #[test]
    fn nothing_moves_below_the_angle_and_the_end_does_not_depend_on_the_rate() {
        let slope = |tangent: f32| {
            let mut terrain = Terrain::bare(Grid::from_fn(40, 40, |x, _| tangent * x as f32), 1.0, Edge::Wall);
            terrain.sand = Grid::filled(40, 40, 1.0);
            terrain
        };
        let gentle = slope(0.6);
        assert!(run(gentle.clone(), Params::default(), 50).ground() == gentle.ground());
        let steep = |rate: f32| run(slope(0.9), Params { rate, talus_bias: 1.0, ..Params::default() }, 4000).ground();
        let (slow, fast) = (steep(0.1), steep(2.0));
        let worst = slow.iter().zip(fast.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 1e-3, "{worst}");
    }

    #[test]
    fn bare_rock_crumbles_down_to_its_own_angle_and_hard_rock_stands() {
        let cliff = |softness: f32| {
            let mut terrain =
                Terrain::bare(Grid::from_fn(64, 16, |x, _| if x < 32 { 20.0 } else { 0.0 }), 1.0, Edge::Wall);
            terrain.softness = Grid::filled(64, 16, softness);
            terrain
        };
        let params = Params { rate: 3.0, dt: 0.05, ..Params::default() };
        let (soft, hard) = (run(cliff(0.9), params.clone(), 5000), run(cliff(0.0), params, 5000));
        assert!(hard.ground() == cliff(0.0).ground(), "rock that does not soften at all stands");
        let steepest = (1..64).map(|x| (soft.bedrock.at(x - 1, 8) - soft.bedrock.at(x, 8)).abs()).fold(0.0, f32::max);
        assert!(steepest < 10.0, "the cliff still falls {steepest} m from one cell to the next");
        assert!(soft.sand.total() > 100.0);
    }
}
