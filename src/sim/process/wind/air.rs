//! The wind close to the ground: sped up where the ground rises above what the wind has come over, still in the lee.
//!
//! Lines of cells are swept downwind, each seeing the line before it where the wind comes from:
//!
//! ```text
//! m ← h̃ + (m_upwind − h̃)·e^(−d/M)          what the wind has come over, over a memory of M metres
//! s ← max(h, s_upwind − d/7)               the roof of the still air behind a crest
//! τ = max(0, 1 + x/(1 + max(0, x)/6))·e^(−(s − h)/B),   x = S·(h̃ − m)/M
//! ```
//!
//! h̃ is the mean across the wind over about 1.5 M: air goes round what is narrow. h̃ − m is in phase with the height of a bump shorter than M and with its slope if it is longer: so the wind is
//! strongest upwind of a crest, which is what makes dunes grow (Jackson & Hunt 1975; Andreotti et al. 2002). Still air behind
//! a crest reaches seven times its height, as measured behind dunes (Kroy et al. 2002).
//! Both are mixed with what comes beside them.

use rayon::prelude::*;

use crate::sim::{
    cells::{Cells, Pass, RowKernel, over_row, with_vector_unit},
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// What the strength over a plain gains at most over what rises.
const FASTEST: f32 = 6.0;
/// How much more the wind feels what it has come over than what lies ahead.
const WINDWARD: f32 = 0.5;
/// Width of the means across the wind, two of which follow one another, as a multiple of the memory.
const WIDTH: f32 = 1.4;
/// Fall of the roof of still air: it ends seven heights behind a crest.
const ROOF: f32 = 1.0 / 7.0;
/// Share that a cell takes over from those beside it per memory that the wind goes.
const MIXING: f32 = 0.06;

/// What the wind meets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Airflow {
    /// Where it blows to: cosine and sine of its direction.
    pub heading: [f32; 2],
    /// Memory, in metres.
    pub memory: f32,
    /// How much a slope speeds it up.
    pub speed_up: f32,
    /// Depth of still air in which it falls off to 1/e, in metres.
    pub boundary_layer: f32,
}

/// e^(−x) for x ≥ 0 to 1e-4, from plain arithmetic alone; 0 beyond 16.
#[inline(always)]
pub(super) fn decay<V: Cells>(x: V) -> V {
    let (one, part) = (V::all(1.0), x.min(V::all(16.0)) * V::all(1.0 / 32.0));
    let mut power = one - part * (one - part * (V::all(0.5) - part * (V::all(1.0 / 6.0) - part * V::all(1.0 / 24.0))));
    for _ in 0..5 {
        power = power * power;
    }
    x.if_above(V::all(16.0), V::all(0.0), power)
}

/// The strength of the wind close to the ground, as a multiple of what it is over a plain.
/// `speed_up` is by how much a slope speeds it up in each cell per metre of memory, where that is not the same everywhere.
pub(super) fn shear(terrain: &Terrain, wind: Airflow, speed_up: Option<&Grid>) -> Grid {
    let ground = terrain.ground();
    let [cos, sin] = wind.heading;
    // Lines lie across the wind: columns if it blows along rows.
    if sin.abs() >= cos.abs() {
        sweep(&ground, terrain, wind, speed_up, [cos, sin])
    } else {
        let speed_up = speed_up.map(transposed);
        transposed(&sweep(&transposed(&ground), terrain, wind, speed_up.as_ref(), [sin, cos]))
    }
}

/// Rows and columns exchanged.
fn transposed(grid: &Grid) -> Grid {
    const BLOCK: usize = 16;
    let (width, height) = (grid.width(), grid.height());
    let mut out = Grid::filled(height, width, 0.0);
    out.par_chunks_mut(height * BLOCK).enumerate().for_each(|(block, rows)| {
        let columns = block * BLOCK..((block + 1) * BLOCK).min(width);
        for first in (0..height).step_by(BLOCK) {
            for y in first..(first + BLOCK).min(height) {
                for (line, x) in columns.clone().enumerate() {
                    rows[line * height + y] = grid[y * width + x];
                }
            }
        }
    });
    out
}

/// Sweeps over rows; `across` is the heading's part along them, `along` the larger part from row to row.
fn sweep(ground: &Grid, terrain: &Terrain, wind: Airflow, speed_up: Option<&Grid>, [across, along]: [f32; 2]) -> Grid {
    let (width, height) = (ground.width(), ground.height());
    let mut shear = Grid::filled(width, height, 0.0);
    // Cells that a line lies beside the one before it.
    let aside = across / along.abs();
    let distance = (1.0 + aside * aside).sqrt() * terrain.cell_size;
    let line = Line {
        wind,
        windward: WINDWARD,
        aside,
        edge: terrain.edge,
        keeps: decay(distance / wind.memory),
        falls: distance * ROOF,
        mixes: (MIXING * wind.memory / terrain.cell_size).min(0.25),
    };
    let reach = (0.5 * WIDTH * wind.memory / (terrain.cell_size * (1.0 + aside * aside).sqrt())).round() as usize;
    let reach = reach.min(width.saturating_sub(1) / 2);
    let downwards = along > 0.0;
    let against = Line { aside: -aside, ..line };
    with_vector_unit(Sweep {
        line: against,
        reach,
        ground,
        speed_up,
        shear: &mut shear,
        downwards: !downwards,
        width,
        height,
        first: true,
    });
    let shear_out = &mut shear;
    with_vector_unit(Sweep { line, reach, ground, speed_up, shear: shear_out, downwards, width, height, first: false });
    shear
}

/// What a line needs to know of the wind.
#[derive(Clone, Copy)]
struct Line {
    wind: Airflow,
    windward: f32,
    aside: f32,
    edge: Edge,
    keeps: f32,
    falls: f32,
    mixes: f32,
}

struct Sweep<'a> {
    line: Line,
    /// Cells on each side over which a mean is taken.
    reach: usize,
    ground: &'a Grid,
    speed_up: Option<&'a Grid>,
    shear: &'a mut Grid,
    downwards: bool,
    width: usize,
    height: usize,
    /// Whether this is the sweep against the wind, which leaves the mean of what lies ahead.
    first: bool,
}

impl Pass for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { line, reach, ground, speed_up, shear, downwards, width, height, first: against } = self;
        let row = |step: usize| if downwards { step % height } else { height - 1 - step % height };
        // Mean and roof of a line, with two cells beyond either end.
        let first = &ground[row(0) * width..][..width];
        let (mut wide, mut smooth) = (vec![0.0; width + 2 * reach], vec![0.0; width]);
        smoothen::<V>(first, reach, line.edge, &mut wide, &mut smooth);
        let (mut mean, mut roof) = (padded(&smooth, line.edge), padded(first, line.edge));
        let (mut next_mean, mut next_roof) = (mean.clone(), roof.clone());
        // Around a periodic map twice: the first time finds what comes in.
        let laps = if line.edge == Edge::Wrap { 2 } else { 1 };
        // The place upwind lies between the cell at this offset of the line before and the next one.
        let offset = if line.aside > 0.0 { -1 } else { 0 };
        let part = -line.aside - offset as f32;
        let same = vec![line.wind.speed_up / line.wind.memory; width];
        for step in 0..laps * height {
            let y = row(step);
            smoothen::<V>(&ground[y * width..][..width], reach, line.edge, &mut wide, &mut smooth);
            over_row::<V>(
                width,
                LineRow {
                    line,
                    against,
                    part,
                    offset,
                    ground: &ground[y * width..][..width],
                    smooth: &smooth,
                    before: [&mean, &roof],
                    after: [&mut next_mean[2..width + 2], &mut next_roof[2..width + 2]],
                    speed_up: speed_up.map_or(&same, |speed_up| &speed_up[y * width..][..width]),
                    shear: &mut shear[y * width..][..width],
                },
            );
            pad(&mut next_mean, line.edge);
            pad(&mut next_roof, line.edge);
            std::mem::swap(&mut mean, &mut next_mean);
            std::mem::swap(&mut roof, &mut next_roof);
        }
    }
}

/// Twice the mean over `reach` cells on each side. `wide` is room for that many more cells.
#[inline(always)]
fn smoothen<V: Cells>(row: &[f32], reach: usize, edge: Edge, wide: &mut [f32], out: &mut [f32]) {
    let width = row.len();
    out.copy_from_slice(row);
    for _ in 0..2 {
        wide[reach..reach + width].copy_from_slice(out);
        for away in 0..reach as isize {
            for place in [-1 - away, width as isize + away] {
                wide[(reach as isize + place) as usize] = out[edge.nearest(place, width)];
            }
        }
        over_row::<V>(width, MeanRow { wide, reach, out });
    }
}

struct MeanRow<'a> {
    wide: &'a [f32],
    reach: usize,
    out: &'a mut [f32],
}

impl RowKernel for MeanRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let middle = x + self.reach;
        let mut sum = V::load(self.wide, middle);
        for away in 1..=self.reach {
            sum = sum + (V::load(self.wide, middle - away) + V::load(self.wide, middle + away));
        }
        (sum * V::all(1.0 / (2 * self.reach + 1) as f32)).store(self.out, x);
    }
}

fn padded(row: &[f32], edge: Edge) -> Vec<f32> {
    let mut out = vec![0.0; row.len() + 4];
    out[2..row.len() + 2].copy_from_slice(row);
    pad(&mut out, edge);
    out
}

/// Fills the two cells beyond either end.
fn pad(line: &mut [f32], edge: Edge) {
    let width = line.len() - 4;
    for place in [-1, -2, width as isize, width as isize + 1] {
        line[(2 + place) as usize] = line[2 + edge.nearest(place, width)];
    }
}

struct LineRow<'a> {
    line: Line,
    against: bool,
    part: f32,
    offset: isize,
    ground: &'a [f32],
    smooth: &'a [f32],
    before: [&'a [f32]; 2],
    after: [&'a mut [f32]; 2],
    /// Per metre of memory.
    speed_up: &'a [f32],
    shear: &'a mut [f32],
}

impl RowKernel for LineRow<'_> {
    #[inline(always)]
    fn cells<V: Cells>(&mut self, x: usize) {
        let Line { wind, keeps, falls, .. } = self.line;
        let (ground, smooth) = (V::load(self.ground, x), V::load(self.smooth, x));
        let from = (x as isize + 2 + self.offset) as usize;
        let (part, mixes) = (V::all(self.part), V::all(self.line.mixes));
        let mut upwind = [ground; 2];
        for (upwind, before) in upwind.iter_mut().zip(self.before) {
            let (near, far) = (V::load(before, from), V::load(before, from + 1));
            let (beside, across) = (V::load(before, from - 1), V::load(before, from + 2));
            let mixed = |left: V, here: V, right: V| here + mixes * ((left - here) + (right - here));
            let (near, far) = (mixed(beside, near, far), mixed(near, far, across));
            *upwind = near + part * (far - near);
        }
        let mean = smooth + (upwind[0] - smooth) * V::all(keeps);
        let [mean_out, roof_out] = &mut self.after;
        mean.store(mean_out, x);
        if self.against {
            mean.store(self.shear, x);
            return;
        }
        let roof = ground.max(upwind[1] - V::all(falls));
        roof.store(roof_out, x);
        let behind = V::all(0.5 + 0.5 * self.line.windward) * mean;
        let around = behind + V::all(0.5 - 0.5 * self.line.windward) * V::load(self.shear, x);
        let rise = V::load(self.speed_up, x) * (smooth - around);
        let faster = V::all(1.0) + rise / (V::all(1.0) + rise.positive() * V::all(1.0 / FASTEST));
        let still = decay((roof - ground) * V::all(1.0 / wind.boundary_layer));
        (faster.positive() * still).store(self.shear, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wind(degrees: f32) -> Airflow {
        let (sin, cos) = degrees.to_radians().sin_cos();
        Airflow { heading: [cos, sin], memory: 20.0, speed_up: 4.0, boundary_layer: 1.0 }
    }

    #[test]
    fn decay_is_the_exponential_function() {
        for step in 0..2000 {
            let x = step as f32 * 0.01;
            assert!((decay(x) - (-x).exp()).abs() < 1e-4, "{x}");
        }
    }

    #[test]
    fn the_wind_is_stronger_before_a_crest_and_still_behind_it() {
        for (degrees, dx, dy) in [(0.0, 1, 0), (90.0, 0, 1), (180.0, -1, 0), (270.0, 0, -1)] {
            let along = |x: usize, y: usize| (x as f32 - 32.0) * dx as f32 + (y as f32 - 32.0) * dy as f32;
            let ground =
                Grid::from_fn(
                    64,
                    64,
                    |x, y| if (-12.0..=0.0).contains(&along(x, y)) { 6.0 + 0.5 * along(x, y) } else { 0.0 },
                );
            let terrain = Terrain::bare(ground, 2.0, Edge::Open);
            let shear = shear(&terrain, wind(degrees), None);
            let at = |away: isize| shear.at((32 + away * dx) as usize, (32 + away * dy) as usize);
            assert!(at(-20) > 0.8 && at(-20) < 1.0, "the plain before it: {}", at(-20));
            assert!(at(-4) > 1.2, "its windward side: {}", at(-4));
            assert!(at(4) < 0.05, "its lee: {}", at(4));
            assert!(at(31) > 0.8 && at(31) < 1.1, "far behind it: {}", at(31));
        }
    }

    #[test]
    fn a_turned_map_gives_the_turned_wind() {
        let mut stream = crate::sim::rng::Stream::new(2, "air", 0);
        let ground = Grid::from_fn(48, 48, |_, _| stream.unit() * 5.0);
        let turned = Grid::from_fn(48, 48, |x, y| ground.at(y, 47 - x));
        for edge in [Edge::Open, Edge::Wrap] {
            for degrees in [0.0, 20.0, 44.0, 70.0, 200.0] {
                let one = shear(&Terrain::bare(ground.clone(), 2.0, edge), wind(degrees), None);
                let other = shear(&Terrain::bare(turned.clone(), 2.0, edge), wind(degrees + 90.0), None);
                let worst = (0..48 * 48)
                    .map(|index| (one.at(index % 48, index / 48) - other.at(47 - index / 48, index % 48)).abs())
                    .fold(0.0, f32::max);
                assert!(worst < 1e-3, "{edge:?} {degrees}: {worst}");
            }
        }
    }
}
