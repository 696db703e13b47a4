//! Airflow over dunes: wind shear close to the ground, computed for the whole map at once.
//!
//! With ĥ the Fourier transform of the envelope (see `response.rs`), k the wave vector, and the wind along x,
//!
//! ```text
//! δτ̂ = A·ĥ·(k_x² + i·B·k_x·|k_x|)/|k|        δτ̂_y = A·ĥ·k_x·k_y/|k|
//! τ/τ₀ = max(0, 1 + δτ),  0 in the separation bubble
//! ```
//!
//! (Jackson & Hunt 1975; Weng et al. 1991; Kroy et al. 2002). The envelope is the ground, or the separation bubble where that is higher.
//! The bubble starts at a brink, where the ground falls by more than 0.3, and descends to the ground behind it. Waves of a few cells or
//! saturation lengths are damped: sand in the air does not follow them, and no grid resolves their slopes. The direction of the wind
//! rotates k, so no direction is favoured.

use rayon::prelude::*;

use super::response::{Response, ResponseInput};
use crate::{
    core::{
        grid::{Grid, GridVersion},
        terrain::{Edge, Terrain},
    },
    simd::{
        cells::{Cells, MAX_LANES, Pass, with_vector_unit},
        fourier::Complexes,
    },
};

/// Slope of the ground at which the flow separates.
const BRINK: f32 = 0.3;
/// Slope of the separation bubble.
const BUBBLE_SLOPE: f32 = 0.15;
/// Limit of the increase of the shear over steep mountains, where the linear law fails.
const STRONGEST: f32 = 8.0;
/// Lateral drift of sand, as a multiple of the deflection of the air. With 1, converging wind narrows a barchan without end; with 2 a
/// barchan keeps its width.
const LATERAL_FACTOR: f32 = 2.0;
/// Maximum lateral drift of sand per cell along the wind.
const FARTHEST: f32 = 0.5;

fn hash(heights: &Grid) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(heights))
}

/// Wind, and its response to slopes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindForcing {
    /// Direction in which it blows: cosine and sine.
    pub heading: [f32; 2],
    /// Speed-up over slopes: A.
    pub speed_up: f32,
    /// Upwind shift of the strongest wind from a crest: B.
    pub lead: f32,
    /// Standard deviation of the Gaussian that damps short waves, in metres.
    pub blur: f32,
}

/// Tolerated error of the shear from outdated heights, as a fraction of the shear over a plain.
const SHEAR_TOLERANCE: f32 = 0.05;

impl WindForcing {
    /// Returns the change of the ground, in metres, above which the airflow is recomputed at this speed-up. A wave of height a changes the
    /// shear by A·a·√(1 + B²)·k·exp(−(bk)²/2), which is largest for k = 1/b.
    pub fn change_threshold(&self, speed_up: f32) -> f32 {
        SHEAR_TOLERANCE * self.blur * libm::expf(0.5) / (speed_up * (1.0 + self.lead * self.lead).sqrt())
    }
}

/// Airflow close to the ground.
#[derive(Clone, Default)]
pub(super) struct Air {
    /// Wind, cell size, edge and heights for which it was computed, and `true` if the speed-up is uniform.
    of: Option<(WindForcing, f32, Edge, GridVersion, bool)>,
    /// Hash of these heights. Saving a project counts as a change of its maps, though none is written.
    heights: u64,
    envelope: [Vec<f32>; 2],
    response: Response,
}

impl Air {
    /// Returns the shear of the wind in a cell relative to a plain, 0 in the separation bubble, and the drift of sand to the left of the
    /// wind per cell along it.
    pub fn at(&self, x: usize, y: usize) -> [f32; 2] {
        let cells = self.response.result(x / MAX_LANES, y);
        [cells.re[x % MAX_LANES], cells.im[x % MAX_LANES]]
    }

    /// Returns the shear alone, or `None` if the airflow over these heights was not computed.
    pub fn shear_at(&self, seen: &Grid, x: usize, y: usize) -> Option<f32> {
        let (_, _, _, heights, _) = self.of?;
        (heights == seen.version() || self.heights == hash(seen)).then(|| self.at(x, y)[0])
    }

    /// Fills a row with the same values.
    #[inline(always)]
    pub fn row(&self, y: usize, shear: &mut [f32], lean: &mut [f32]) {
        for (block, (shear, lean)) in shear.chunks_mut(MAX_LANES).zip(lean.chunks_mut(MAX_LANES)).enumerate() {
            let cells = self.response.result(block, y);
            shear.copy_from_slice(&cells.re[..shear.len()]);
            lean.copy_from_slice(&cells.im[..lean.len()]);
        }
    }

    /// Computes the airflow over the `seen` heights unless it is up to date. `factor` multiplies the speed-up in each cell where it is not
    /// uniform.
    pub fn find(&mut self, seen: &Grid, terrain: &Terrain, wind: WindForcing, factor: Option<&Grid>) {
        let Terrain { edge, cell_size, .. } = *terrain;
        let size = [seen.width(), seen.height()];
        let of = Some((wind, cell_size, edge, seen.version(), factor.is_none()));
        // The factor can differ between calls.
        if self.of == of && factor.is_none() {
            return;
        }
        (self.of, self.heights) = (of, hash(seen));
        let low = self.compute_envelope(seen, cell_size, wind.heading, edge);
        let periodic = edge == Edge::Wrap;
        let roof = &self.envelope[0][..];
        let shape = ResponseInput { heights: roof, size, cell_size, periodic, middle: low };
        self.response.find(shape, wind, |block, rows| {
            with_vector_unit(ShearConversion {
                block,
                rows,
                roof,
                seen,
                size,
                still: 1e-3 * cell_size,
                periodic,
                factor,
            });
        });
    }

    /// Computes the envelope in the first roof. Returns the lowest height.
    fn compute_envelope(&mut self, seen: &Grid, cell_size: f32, [cos, sin]: [f32; 2], edge: Edge) -> f32 {
        let (width, height) = (seen.width(), seen.height());
        self.envelope.iter_mut().for_each(|roof| roof.resize(width * height, 0.0));
        let [roof, before] = &mut self.envelope;
        // The point a cell downwind lies between four cells.
        let (left, up) = (cos.floor(), sin.floor());
        let (part_x, part_y) = (cos - left, sin - up);
        let ends = roof.par_chunks_mut(width).enumerate().map_init(Vec::new, |between: &mut Vec<f32>, (y, roof)| {
            let row = |down: isize| &seen[edge.nearest(y as isize + up as isize + down, height) * width..][..width];
            let (near, far, own) = (row(0), row(1), &seen[y * width..][..width]);
            between.resize(width + 3, 0.0);
            let inner = between[1..].iter_mut().zip(near.iter().zip(far));
            inner.for_each(|(between, (near, far))| *between = near + part_y * (far - near));
            for beyond in [-1, width as isize, width as isize + 1] {
                between[(1 + beyond) as usize] = between[1 + edge.nearest(beyond, width)];
            }
            let ahead = between[(1.0 + left) as usize..].windows(2);
            let (mut low, mut high) = (f32::MAX, f32::MIN);
            for ((roof, &own), ahead) in roof.iter_mut().zip(own).zip(ahead) {
                let ahead = ahead[0] + part_x * (ahead[1] - ahead[0]);
                *roof = if own - ahead > BRINK * cell_size { own } else { f32::MIN };
                low = if own < low { own } else { low };
                high = if *roof > high { *roof } else { high };
            }
            [low, high]
        });
        let [low, high] = ends.reduce(|| [f32::MAX, f32::MIN], |[low, high], end| [low.min(end[0]), high.max(end[1])]);
        // The bubble grows in steps of one cell, then of four, of sixteen …
        let (mut step, most) = (1.0, ((high - low) / (BUBBLE_SLOPE * cell_size)).min((width + height) as f32));
        while step < most {
            std::mem::swap(roof, before);
            let shifts = [1.0, 2.0, 3.0].map(|times| [cos, sin].map(|part| (part * (times * step)).round() as isize));
            roof.par_chunks_mut(width).enumerate().for_each(|(y, roof)| {
                roof.copy_from_slice(&before[y * width..][..width]);
                for [right, down] in shifts {
                    let falls = BUBBLE_SLOPE * cell_size * ((right * right + down * down) as f32).sqrt();
                    let Some(from) = edge.index(y as isize - down, height) else { continue };
                    for (place, part) in shifted(&before[from * width..][..width], right, edge) {
                        for (roof, above) in roof[place..].iter_mut().zip(part) {
                            let above = above - falls;
                            *roof = if above > *roof { above } else { *roof };
                        }
                    }
                }
            });
            step *= 4.0;
        }
        roof.par_iter_mut()
            .zip(seen.par_iter())
            .with_min_len(4096)
            .for_each(|(roof, &ground)| *roof = roof.max(ground));
        low
    }
}

/// Returns the parts of a row shifted to the right by this number of columns, each with its first column.
fn shifted(row: &[f32], right: isize, edge: Edge) -> [(usize, &[f32]); 2] {
    let width = row.len();
    if edge == Edge::Wrap {
        let first = (-right).rem_euclid(width as isize) as usize;
        [(0, &row[first..]), (width - first, &row[..first])]
    } else {
        let count = width.saturating_sub(right.unsigned_abs());
        let (from, to) = if right < 0 { (width - count, 0) } else { (0, width - count) };
        [(to, &row[from..][..count]), (0, &[])]
    }
}

/// Converts the response of a block of columns to shear and drift.
struct ShearConversion<'a> {
    block: usize,
    rows: &'a mut [Complexes],
    roof: &'a [f32],
    seen: &'a [f32],
    size: [usize; 2],
    /// Height of the roof above the ground beyond which the air is still.
    still: f32,
    periodic: bool,
    factor: Option<&'a Grid>,
}

impl Pass for ShearConversion<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Cells>(self) {
        let Self { block, rows, roof, seen, size: [width, height], still, periodic, factor } = self;
        let first = block * MAX_LANES;
        let columns = (width - first).min(MAX_LANES);
        // Nothing drifts across a border that does not wrap.
        let inside: [f32; MAX_LANES] =
            std::array::from_fn(|lane| if periodic || (1..width - 1).contains(&(first + lane)) { 1.0 } else { 0.0 });
        let ([mut above, mut more], zero, one) = ([[0.0; MAX_LANES], [1.0; MAX_LANES]], V::all(0.0), V::all(1.0));
        for (y, row) in rows.iter_mut().enumerate() {
            let cells = y * width + first..y * width + first + columns;
            let layers = above.iter_mut().zip(roof[cells.clone()].iter().zip(&seen[cells.clone()]));
            layers.for_each(|(above, (roof, seen))| *above = roof - seen);
            if let Some(factor) = factor {
                more[..columns].copy_from_slice(&factor[cells]);
            }
            let inside_row = if periodic || (1..height - 1).contains(&y) { one } else { zero };
            for lane in (0..MAX_LANES).step_by(V::COUNT) {
                let [aside, stronger] = row.load::<V>(lane);
                let (aside, stronger) = (V::load(&more, lane) * aside, V::load(&more, lane) * stronger);
                let over = stronger.positive() * V::all(1.0 / STRONGEST);
                let change = stronger.positive() / (one + over * over).sqrt() + stronger.min(zero);
                let shear = V::load(&above, lane).if_above(V::all(still), zero, (one + change).positive());
                let turns = V::all(LATERAL_FACTOR) * aside / shear.max(V::all(0.25));
                let turns = turns.max(V::all(-FARTHEST)).min(V::all(FARTHEST));
                let turns = V::load(&above, lane).if_above(V::all(still), zero, turns);
                row.store(lane, [shear, turns * V::load(&inside, lane) * inside_row]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wind(degrees: f32) -> WindForcing {
        let (sin, cos) = degrees.to_radians().sin_cos();
        WindForcing { heading: [cos, sin], speed_up: 3.0, lead: 0.4, blur: 3.0 }
    }

    fn solve_air(ground: Grid, cell_size: f32, edge: Edge, wind: WindForcing) -> Air {
        let terrain = Terrain::bare(ground.clone(), cell_size, edge);
        let mut air = Air::default();
        air.find(&ground, &terrain, wind, None);
        air
    }

    #[test]
    fn airflow_over_low_waves_matches_linear_theory() {
        for (degrees, across, down) in [(0.0, 2.0, 0.0), (30.0, 3.0, 1.0), (30.0, 1.0, -2.0), (200.0, -2.0, 5.0)] {
            let [kx, ky] = [across / 64.0, down / 48.0].map(|turns: f32| turns * std::f32::consts::TAU);
            let low = Grid::from_fn(64, 48, |x, y| 0.1 * (kx * x as f32 + ky * y as f32).cos());
            let wind = wind(degrees);
            let air = solve_air(low, 2.0, Edge::Wrap, wind);
            let [cos, sin] = wind.heading;
            let (along, aside, length) = (kx * cos + ky * sin, ky * cos - kx * sin, kx.hypot(ky));
            let size = 3.0 * 0.1 * (-0.5 * (3.0 * length / 2.0).powi(2)).exp() / (2.0 * length);
            for (x, y) in (0..48).flat_map(|y| (0..64).map(move |x| (x, y))) {
                let (sine, cosine) = (kx * x as f32 + ky * y as f32).sin_cos();
                let right = 1.0 + size * along * (along * cosine - 0.4 * along.abs() * sine);
                let right = [right, 2.0 * size * along * aside * cosine / right];
                let [shear, lean] = air.at(x, y);
                assert!((shear - right[0]).abs() < 1e-4, "{degrees}°, {x}, {y}: {shear} for {}", right[0]);
                assert!((lean - right[1]).abs() < 1e-4, "{degrees}°, {x}, {y}: {lean} for {}", right[1]);
            }
        }
    }

    #[test]
    fn shear_vanishes_behind_cliff_and_is_one_on_flat_maps() {
        for (degrees, dx, dy) in [(0.0, 1, 0), (90.0, 0, 1), (180.0, -1, 0), (270.0, 0, -1)] {
            let along = |x: usize, y: usize| (x as isize - 32) * dx + (y as isize - 32) * dy;
            let step = Grid::from_fn(64, 64, |x, y| if (-12..=0).contains(&along(x, y)) { 4.0 } else { 0.0 });
            let air = solve_air(step, 2.0, Edge::Open, wind(degrees));
            let at = |away: isize| air.at((32 + away * dx) as usize, (32 + away * dy) as usize)[0];
            assert!((1..=12).all(|away| at(away) == 0.0) && at(18) > 0.3, "{degrees}: {} {}", at(12), at(18));
        }
        for (width, height) in [(1, 1), (1, 7), (37, 2), (53, 41)] {
            for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
                let air = solve_air(Grid::filled(width, height, 5.0), 3.0, edge, wind(30.0));
                let mut cells = (0..width * height).map(|cell| air.at(cell % width, cell / width));
                assert!(cells.all(|[shear, _]| (shear - 1.0).abs() < 1e-4), "{width} × {height} {edge:?}");
            }
        }
    }

    /// Airflow over ground that has changed by no more than `news` is within the tolerance of the outdated one.
    #[test]
    fn change_threshold_bounds_shear_error() {
        let hill = |x: usize, y: usize| {
            let (dx, dy) = (x as f32 - 32.0, y as f32 - 32.0);
            8.0 * (-(dx * dx + dy * dy) / 200.0).exp()
        };
        let wind = wind(30.0);
        let old = solve_air(Grid::from_fn(64, 64, hill), 2.0, Edge::Wrap, wind);
        let (news, mut worst) = (wind.change_threshold(wind.speed_up), 0.0_f32);
        for length in [5.0, 9.0, 17.0] {
            let wave = |x: usize, y: usize| news * (x as f32 / length).sin() * (0.3 + y as f32 / (2.0 * length)).cos();
            let new = solve_air(Grid::from_fn(64, 64, |x, y| hill(x, y) + wave(x, y)), 2.0, Edge::Wrap, wind);
            let off =
                (0..64 * 64).map(|cell| (new.at(cell % 64, cell / 64)[0] - old.at(cell % 64, cell / 64)[0]).abs());
            worst = off.fold(worst, f32::max);
        }
        assert!(worst <= SHEAR_TOLERANCE && worst > 0.2 * SHEAR_TOLERANCE, "off by {worst}");
    }
}
