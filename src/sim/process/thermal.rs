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
        cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
        grid::Grid,
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
    replaces: &[],
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
                for_bands(height, written, |rows, out| with_vector_unit(Fall { falling: &falling, border, rows, out }))
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

    fn talus(&self, terrain: &Terrain) -> Option<Grid> {
        let Params { mode, repose_angle, talus_coefficient, talus_bias, .. } = self.params;
        let repose = repose_angle.to_radians().tan();
        let cells = terrain.sand.iter().zip(terrain.softness.iter()).map(|(&sand, softness)| {
            // A dusting does not count as loose ground.
            if mode == Mode::Default && sand > 0.01 {
                repose
            } else {
                (1.0 - softness) * talus_coefficient + talus_bias
            }
        });
        Some(Grid::from_cells(terrain.width(), terrain.height(), cells.collect()))
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
    /// Difference of height at which sand lies on the neighbour beside it.
    repose: f32,
    /// Tangent of the talus angle of rock: per hardness, and at none; times the cell size.
    per_hardness: f32,
    bias: f32,
    /// Share that crumbles, or slides as published, in a tick.
    share: f32,
}

/// Of a pair's excess, what moves in a tick.
const PAIR: f32 = 1.0 / 12.0;
/// Sand slides in portions of 2⁻¹⁵ m, 0.03 mm: such sums are exact in single precision as long as less than 512 m lie
/// in a cell, so that nothing is lost in the last digit.
const PORTION: f32 = 1.0 / 32_768.0;
/// Added and taken off again, it leaves whole portions.
const WHOLE: f32 = 1.5 * 8_388_608.0 * PORTION;

impl Steep {
    fn new(params: &Params, size: f32) -> Self {
        let repose = params.repose_angle.to_radians().tan() * size;
        let seconds = if params.mode == Mode::Default { params.dt * size } else { params.dt };
        Self {
            repose,
            per_hardness: params.talus_coefficient * size,
            bias: params.talus_bias * size,
            share: (params.rate * seconds).min(1.0),
        }
    }

    /// Difference of height at which rock of this softness stands beside its neighbour.
    #[inline(always)]
    fn talus<V: Cells>(self, softness: V) -> V {
        (V::all(1.0) - softness) * V::all(self.per_hardness) + V::all(self.bias)
    }
}

/// How much farther neighbours of both kinds are: beside, and across the corner.
const FARTHER: [f32; 2] = [1.0, std::f32::consts::SQRT_2];

/// What a cell and a neighbour of it exchange.
trait Pair<const N: usize> {
    /// For the cells from `x` on and the neighbours in this row and column of the three around: sums and a maximum.
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; N];
}

/// Sums over four neighbours, each beside its opposite: the same on a turned or mirrored map.
#[inline(always)]
fn four<V: Cells, const N: usize>(a: [V; N], b: [V; N], c: [V; N], d: [V; N]) -> [V; N] {
    let mut out = a;
    for part in 0..N {
        out[part] = (a[part] + b[part]) + (c[part] + d[part]);
    }
    out
}

/// Sums over the eight neighbours.
#[inline(always)]
fn around<V: Cells, const N: usize>(pairs: &impl Pair<N>, x: usize) -> [V; N] {
    let [one, root] = FARTHER;
    let beside =
        four(pairs.pair(x, 1, 0, one), pairs.pair(x, 1, 2, one), pairs.pair(x, 0, 1, one), pairs.pair(x, 2, 1, one));
    let across = four(
        pairs.pair(x, 0, 0, root),
        pairs.pair(x, 2, 2, root),
        pairs.pair(x, 0, 2, root),
        pairs.pair(x, 2, 0, root),
    );
    let mut out: [V; N] = beside;
    for part in 0..N {
        out[part] = beside[part] + across[part];
    }
    out
}

/// The least of the heights of four neighbours: those beside, or those across the corner.
#[inline(always)]
fn lowest<V: Cells>([above, here, below]: [&[f32]; 3], x: usize) -> [V; 2] {
    let beside = V::load(here, x).min(V::load(here, x + 2)).min(V::load(above, x + 1).min(V::load(below, x + 1)));
    let across = V::load(above, x).min(V::load(below, x + 2)).min(V::load(above, x + 2).min(V::load(below, x)));
    [beside, across]
}

/// The height of a neighbour, as [`for_border`] names it.
fn neighbour([above, here, below]: [&[f32]; 3], x: usize, kind: usize, side: usize) -> f32 {
    let beside = [here[x], here[x + 2], above[x + 1], below[x + 1]];
    let across = [above[x], below[x + 2], above[x + 2], below[x]];
    [beside, across][kind][side]
}

/// Ground and sand.
struct Loose<'a> {
    terrain: &'a Terrain,
}

impl Quantities<2> for Loose<'_> {
    #[inline(always)]
    fn row<V: Cells>(&self, y: usize, [ground, loose]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part]);
        over_row::<V>(width, LooseRow { bedrock, sand, ground, loose });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index], 0.0]
    }
}

struct LooseRow<'a> {
    bedrock: &'a [f32],
    sand: &'a [f32],
    ground: &'a mut [f32],
    loose: &'a mut [f32],
}

impl RowKernel for LooseRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let sand = V::load(self.sand, x);
        (V::load(self.bedrock, x) + sand).store(self.ground, x);
        // An eighth for every neighbour at most.
        (sand * V::all(0.125)).store(self.loose, x);
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

/// What slides from a cell to a neighbour: heights of both, an eighth of the giver's sand, the difference that lies.
#[inline(always)]
fn slides<V: Cells>(from: V, to: V, eighth: V, lies: f32) -> V {
    let slides = (V::all(PAIR) * ((from - to) - V::all(lies)).positive()).min(eighth);
    (((slides - V::all(0.5 * PORTION)) + V::all(WHOLE)) - V::all(WHOLE)).positive()
}

struct SlideRow<'a> {
    steep: Steep,
    /// 0 while time stands still, else 1.
    moves: f32,
    ground: [&'a [f32]; 3],
    loose: [&'a [f32]; 3],
    bedrock: &'a [f32],
    sand: &'a [f32],
    softness: &'a [f32],
    out: [&'a mut [f32]; 2],
    given: &'a mut [f32],
    got: &'a mut [f32],
    crumbled: &'a mut [f32],
}

impl Pair<2> for SlideRow<'_> {
    /// What comes and what goes.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 2] {
        let (own, eighth) = (V::load(self.ground[1], x + 1), V::load(self.loose[1], x + 1));
        let (other, its_eighth) = (V::load(self.ground[row], x + column), V::load(self.loose[row], x + column));
        let lies = self.steep.repose * farther;
        [slides(other, own, its_eighth, lies), slides(own, other, eighth, lies)]
    }
}

impl RowKernel for SlideRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let (old_bedrock, old_sand) = (V::load(self.bedrock, x), V::load(self.sand, x));
        let softness = V::load(self.softness, x);
        let talus = self.steep.talus(softness);
        let [comes, goes] = around::<V, 2>(self, x);
        let [beside, across] = lowest::<V>(self.ground, x);
        let excess = ((old_bedrock - beside) - talus).max((old_bedrock - across) - talus * V::all(FARTHER[1]));
        let moves = V::all(self.moves);
        let (comes, goes) = (moves * comes, moves * goes);
        // Rock that stands too steep crumbles, unless what would fall lies on it as sand already.
        let crumbles = V::all(0.5 * self.steep.share) * softness * (excess - old_sand).positive();
        let bedrock = old_bedrock - crumbles;
        let crumbles = old_bedrock - bedrock;
        let [bedrock_out, sand_out] = &mut self.out;
        bedrock.store(bedrock_out, x);
        ((old_sand + crumbles) + (comes - goes)).positive().store(sand_out, x);
        goes.store(self.given, x);
        comes.store(self.got, x);
        crumbles.store(self.crumbled, x);
    }
}

impl Pass for Slide<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let (steep, terrain) = (self.steep, self.loose.terrain);
        // Nothing slides while time stands still.
        let moves = if steep.share > 0.0 { 1.0 } else { 0.0 };
        let mut window = Window::new(self.border, self.rows.start);
        let (mut given, mut got, mut crumbled) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums { given: 0.0, got: 0.0, crumbled: 0.0, out: 0.0 };
        let [bedrock, sand] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.loose);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let loose = window.quantity(1).map(|row| &row[..width + 2]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, softness) = (&terrain.bedrock[part.clone()], &terrain.softness[part.clone()]);
            let old_sand = &terrain.sand[part];
            let here = line * width..(line + 1) * width;
            over_row::<V>(
                width,
                SlideRow {
                    steep,
                    moves,
                    ground,
                    loose,
                    bedrock: old_bedrock,
                    sand: old_sand,
                    softness,
                    out: [&mut bedrock[here.clone()], &mut sand[here]],
                    given: &mut given,
                    got: &mut got,
                    crumbled: &mut crumbled,
                },
            );
            sums.given += row_sum::<V>(&given);
            sums.got += row_sum::<V>(&got);
            sums.crumbled += row_sum::<V>(&crumbled);
            if edge == Edge::Open {
                for_border(y, (width, height), |x, kind, side| {
                    let other = neighbour(ground, x, kind, side);
                    let left = slides(ground[1][x + 1], other, loose[1][x + 1], steep.repose * FARTHER[kind]);
                    sums.out += f64::from(moves * left);
                });
            }
        }
        sums
    }
}

/// Calls `visit` for every neighbour in row `y` that lies beyond the border: the cell, whether the neighbour is beside it or
/// across the corner, and which of the four it is.
fn for_border(y: usize, (width, height): (usize, usize), mut visit: impl FnMut(usize, usize, usize)) {
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
    fn row<V: Cells>(&self, y: usize, [ground, talus]: [&mut [f32]; 2]) {
        let width = ground.len();
        let part = y * width..(y + 1) * width;
        let (bedrock, sand) = (&self.terrain.bedrock[part.clone()], &self.terrain.sand[part.clone()]);
        let softness = &self.terrain.softness[part];
        over_row::<V>(width, SolidRow { steep: self.steep, bedrock, sand, softness, ground, talus });
    }

    #[inline(always)]
    fn beyond(&self, index: usize) -> [f32; 2] {
        [self.terrain.start[index], 0.0]
    }
}

struct SolidRow<'a> {
    steep: Steep,
    bedrock: &'a [f32],
    sand: &'a [f32],
    softness: &'a [f32],
    ground: &'a mut [f32],
    talus: &'a mut [f32],
}

impl RowKernel for SolidRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        (V::load(self.bedrock, x) + V::load(self.sand, x)).store(self.ground, x);
        self.steep.talus(V::load(self.softness, x)).store(self.talus, x);
    }
}

struct TalusRow<'a> {
    share: f32,
    ground: [&'a [f32]; 3],
    talus: &'a [f32],
    softness: &'a [f32],
    out: &'a mut [f32],
}

impl Pair<1> for TalusRow<'_> {
    /// How much lower the neighbour lies, if that is more than the talus allows.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 1] {
        let fall = V::load(self.ground[1], x + 1) - V::load(self.ground[row], x + column);
        [fall.if_above(V::load(self.talus, x) * V::all(farther), fall, V::all(0.0))]
    }
}

impl RowKernel for TalusRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let zero = V::all(0.0);
        let [all] = around::<V, 1>(self, x);
        let [beside, across] = lowest::<V>(self.ground, x);
        let most = V::load(self.ground[1], x + 1) - beside.min(across);
        let gives = V::all(self.share) * V::load(self.softness, x) * most / all.max(V::all(f32::MIN_POSITIVE));
        all.if_above(zero, gives, zero).store(self.out, x);
    }
}

/// Eq. 17: what a cell gives, per metre that the neighbours which get it lie lower.
struct Talus<'a> {
    solid: &'a Solid<'a>,
    border: Border,
    rows: Range<usize>,
    out: &'a mut [f32],
}

impl Pass for Talus<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let width = self.border.width;
        let share = 0.5 * self.solid.steep.share;
        let mut window = Window::new(self.border, self.rows.start);
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.solid);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let talus = &window.quantity(1)[1][1..=width];
            let softness = &self.solid.terrain.softness[y * width..(y + 1) * width];
            let out = &mut self.out[line * width..(line + 1) * width];
            over_row::<V>(width, TalusRow { share, ground, talus, softness, out });
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
    fn row<V: Cells>(&self, y: usize, [ground, talus, gives]: [&mut [f32]; 3]) {
        let width = ground.len();
        self.solid.row::<V>(y, [ground, talus]);
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
    border: Border,
    rows: Range<usize>,
    out: [&'a mut [f32]; 2],
}

struct FallRow<'a> {
    ground: [&'a [f32]; 3],
    talus: [&'a [f32]; 3],
    gives: [&'a [f32]; 3],
    bedrock: &'a [f32],
    sand: &'a [f32],
    out: [&'a mut [f32]; 2],
    given: &'a mut [f32],
    got: &'a mut [f32],
}

impl Pair<2> for FallRow<'_> {
    /// What comes, and how much lower the neighbour lies if something goes there.
    #[inline(always)]
    fn pair<V: Cells>(&self, x: usize, row: usize, column: usize, farther: f32) -> [V; 2] {
        let rise = V::load(self.ground[row], x + column) - V::load(self.ground[1], x + 1);
        let (fall, zero, farther) = (-rise, V::all(0.0), V::all(farther));
        let gives = V::load(self.gives[row], x + column);
        [
            rise.if_above(V::load(self.talus[row], x + column) * farther, gives * rise, zero),
            fall.if_above(V::load(self.talus[1], x + 1) * farther, fall, zero),
        ]
    }
}

impl RowKernel for FallRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let [comes, falls] = around::<V, 2>(self, x);
        let goes = V::load(self.gives[1], x + 1) * falls;
        // What is given is sand as long as there is some; what comes is part of the solid.
        let sand = V::load(self.sand, x);
        let from_sand = goes.min(sand);
        let [bedrock_out, sand_out] = &mut self.out;
        (sand - from_sand).store(sand_out, x);
        (V::load(self.bedrock, x) + (comes - (goes - from_sand))).store(bedrock_out, x);
        goes.store(self.given, x);
        comes.store(self.got, x);
    }
}

impl Pass for Fall<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Cells>(self) -> Sums {
        let Border { width, height, edge } = self.border;
        let terrain = self.falling.solid.terrain;
        let mut window = Window::new(self.border, self.rows.start);
        let (mut given, mut got) = (vec![0.0; width], vec![0.0; width]);
        let mut sums = Sums { given: 0.0, got: 0.0, crumbled: 0.0, out: 0.0 };
        let [bedrock, sand] = self.out;
        for (line, y) in self.rows.enumerate() {
            window.go_to::<V>(y, self.falling);
            let ground = window.quantity(0).map(|row| &row[..width + 2]);
            let talus = window.quantity(1).map(|row| &row[..width + 2]);
            let gives = window.quantity(2).map(|row| &row[..width + 2]);
            let part = y * width..(y + 1) * width;
            let (old_bedrock, old_sand) = (&terrain.bedrock[part.clone()], &terrain.sand[part]);
            let here = line * width..(line + 1) * width;
            over_row::<V>(
                width,
                FallRow {
                    ground,
                    talus,
                    gives,
                    bedrock: old_bedrock,
                    sand: old_sand,
                    out: [&mut bedrock[here.clone()], &mut sand[here]],
                    given: &mut given,
                    got: &mut got,
                },
            );
            sums.given += row_sum::<V>(&given);
            sums.got += row_sum::<V>(&got);
            if edge == Edge::Open {
                for_border(y, (width, height), |x, kind, side| {
                    let fall = ground[1][x + 1] - neighbour(ground, x, kind, side);
                    if fall > talus[1][x + 1] * FARTHER[kind] {
                        sums.out += f64::from(gives[1][x + 1] * fall);
                    }
                });
            }
        }
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
        let change = after.solid_volume() / before - 1.0;
        assert!(change.abs() <= 1e-6, "{change:e}");
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
