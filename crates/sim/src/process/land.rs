//! Fluvial test terrain and measures of it, to check that processes keep its landforms intact.
//!
//! Rivers, depression filling and measures are a test oracle: on purpose they share no code with the hydrology and measures under test.

use std::collections::BinaryHeap;

use crate::core::{
    grid::Grid,
    rng::RandomStream,
    terrain::{Edge, Terrain},
};

/// Drainage area at which a channel begins, in cells.
const CHANNEL: f64 = 100.0;

/// Height and cell, ordered so that a heap pops the lowest first.
#[derive(PartialEq)]
struct HeapEntry(f32, usize);

impl Eq for HeapEntry {}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeapEntry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// Flow routing to the border of a map, with depressions filled.
struct BorderRouting {
    filled: Vec<f32>,
    /// Cells in upstream order, from the outlets.
    order: Vec<usize>,
    /// Receiver of each cell, itself at the border, and the distance to it in cells.
    receivers: Vec<usize>,
    distances: Vec<f64>,
    /// Drainage area of each cell, in cells.
    areas: Vec<f64>,
}

fn is_border(ground: &Grid, cell: usize) -> bool {
    let (x, y) = (cell % ground.width(), cell / ground.width());
    x == 0 || y == 0 || x + 1 == ground.width() || y + 1 == ground.height()
}

/// Returns the neighbours of a cell and their distances in cells.
fn around(ground: &Grid, cell: usize) -> impl Iterator<Item = (usize, f64)> + use<> {
    let (width, height) = (ground.width() as isize, ground.height() as isize);
    let (x, y) = (cell as isize % width, cell as isize / width);
    let offsets = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];
    offsets.into_iter().filter_map(move |(dx, dy)| {
        let on_map = (0..width).contains(&(x + dx)) && (0..height).contains(&(y + dy));
        let far = if dx != 0 && dy != 0 { std::f64::consts::SQRT_2 } else { 1.0 };
        on_map.then_some((((y + dy) * width + x + dx) as usize, far))
    })
}

impl BorderRouting {
    /// Routes flow to the steepest of the eight neighbours. Each diagonal has the length that `diagonal` returns.
    fn of(ground: &Grid, mut diagonal: impl FnMut() -> f64) -> Self {
        let count = ground.len();
        let (mut filled, mut order, mut receivers) =
            (ground.to_vec(), Vec::with_capacity(count), vec![usize::MAX; count]);
        let mut heap = BinaryHeap::new();
        for cell in (0..count).filter(|&cell| is_border(ground, cell)) {
            heap.push(HeapEntry(ground[cell], cell));
            receivers[cell] = cell;
        }
        while let Some(HeapEntry(height, cell)) = heap.pop() {
            order.push(cell);
            for (other, _) in around(ground, cell) {
                if receivers[other] == usize::MAX {
                    receivers[other] = cell;
                    filled[other] = ground[other].max(height);
                    heap.push(HeapEntry(filled[other], other));
                }
            }
        }
        let mut distances = vec![1.0; count];
        for cell in (0..count).filter(|&cell| receivers[cell] != cell).collect::<Vec<_>>() {
            let mut steepest = 0.0;
            for (other, far) in around(ground, cell) {
                let fall = f64::from(filled[cell] - filled[other]) / if far > 1.0 { diagonal() } else { 1.0 };
                if fall > steepest {
                    (steepest, receivers[cell]) = (fall, other);
                }
            }
            let to = around(ground, cell).find(|(other, _)| *other == receivers[cell]);
            distances[cell] = to.map_or(1.0, |(_, far)| far);
        }
        // Filled heights fall towards the outlets, so this remains an upstream order.
        let mut areas = vec![1.0; count];
        for &cell in order.iter().rev().filter(|&&cell| receivers[cell] != cell) {
            areas[receivers[cell]] += areas[cell];
        }
        Self { filled, order, receivers, distances, areas }
    }
}

/// Returns a steady-state terrain of uplift and stream-power incision (solved implicitly, with the default values of the fluvial
/// process), with hillslope diffusion and a critical slope of 0.7.
pub(super) fn fluvial(side: usize, seed: u64) -> Terrain {
    const CELL: f64 = 30.0;
    let (years, uplift, erodibility, exponent, diffusivity) = (2500.0, 1e-3, 2e-4, 0.4, 0.05);
    let mut stream = RandomStream::new(seed, "land", 0);
    let mut ground = Grid::from_fn(side, side, |_, _| stream.uniform());
    (0..side * side)
        .filter(|&cell| is_border(&ground, cell))
        .collect::<Vec<_>>()
        .into_iter()
        .for_each(|cell| ground[cell] = 0.0);
    for _ in 0..200 {
        let drainage = BorderRouting::of(&ground, || 2.0 - f64::from(stream.uniform()));
        for &cell in &drainage.order {
            let to = drainage.receivers[cell];
            if to == cell {
                continue;
            }
            let power = (drainage.areas[cell] * CELL * CELL).powf(exponent);
            let factor = erodibility * power * years / (drainage.distances[cell] * CELL);
            let (risen, below) = (f64::from(ground[cell]) + uplift * years, f64::from(ground[to]));
            ground[cell] = if below > risen { risen } else { (risen + factor * below) / (1.0 + factor) } as f32;
        }
        for cell in (0..side * side).filter(|&cell| !is_border(&ground, cell)).collect::<Vec<_>>() {
            for (other, far) in around(&ground, cell) {
                let excess = f64::from(ground[cell] - ground[other]) - 0.7 * far * CELL;
                if excess > 0.0 {
                    ground[cell] -= 0.5 * excess as f32;
                    ground[other] += if is_border(&ground, other) { 0.0 } else { 0.5 * excess as f32 };
                }
            }
        }
        let before = ground.clone();
        for cell in (0..side * side).filter(|&cell| !is_border(&before, cell)).collect::<Vec<_>>() {
            let around = before[cell - 1] + before[cell + 1] + before[cell - side] + before[cell + side];
            ground[cell] += (diffusivity * years / (CELL * CELL)) as f32 * (around - 4.0 * before[cell]);
        }
    }
    let filled = BorderRouting::of(&ground, || std::f64::consts::SQRT_2).filled;
    Terrain::bare(Grid::from_cells(side, side, filled), CELL as f32, Edge::Open)
}

/// Measures that distinguish fluvial terrain from noise.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerrainMeasures {
    /// Fractions of the inner cells that are pits and that lie in a depression.
    pub pits: f64,
    pub depressions: f64,
    /// Concavity θ that best linearises channel heights over χ = ∫(1/A)^θ dx, and the R² of that fit.
    pub concavity: f64,
    pub straightness: f64,
    /// Median and 99th percentile of the slope angle, in degrees.
    pub slopes: [f64; 2],
}

impl TerrainMeasures {
    pub(super) fn of(terrain: &Terrain) -> Self {
        let (ground, width) = (terrain.ground(), terrain.width());
        let drainage = BorderRouting::of(&ground, || std::f64::consts::SQRT_2);
        let inner: Vec<usize> = (0..ground.len()).filter(|&cell| !is_border(&ground, cell)).collect();
        let share = |count: usize| count as f64 / inner.len() as f64;
        let overtopped = |cell: &&usize| around(&ground, **cell).all(|(other, _)| ground[other] > ground[**cell]);
        let sunken = |cell: &&usize| drainage.filled[**cell] > ground[**cell] + 1e-4;
        let mut angles: Vec<f64> = inner
            .iter()
            .map(|&cell| {
                let along = |far: usize| f64::from(ground[cell + far] - ground[cell - far]);
                (along(1).hypot(along(width)) / (2.0 * f64::from(terrain.cell_size))).atan().to_degrees()
            })
            .collect();
        angles.sort_by(f64::total_cmp);
        let channels: Vec<usize> = inner.iter().copied().filter(|&cell| drainage.areas[cell] >= CHANNEL).collect();
        let fits = (1..40).map(|step| {
            let theta = f64::from(step) * 0.025;
            (theta, drainage.line_over_chi(theta, &channels))
        });
        let (concavity, straightness) = fits.max_by(|one, other| one.1.total_cmp(&other.1)).expect("there are many");
        Self {
            pits: share(inner.iter().filter(overtopped).count()),
            depressions: share(inner.iter().filter(sunken).count()),
            concavity,
            straightness,
            slopes: [angles[angles.len() / 2], angles[angles.len() * 99 / 100]],
        }
    }
}

impl BorderRouting {
    /// Returns R² of the heights of some cells against χ.
    fn line_over_chi(&self, theta: f64, cells: &[usize]) -> f64 {
        let mut chi = vec![0.0; self.areas.len()];
        for &cell in self.order.iter().filter(|&&cell| self.receivers[cell] != cell) {
            chi[cell] = chi[self.receivers[cell]] + self.distances[cell] * self.areas[cell].powf(-theta);
        }
        let count = cells.len() as f64;
        let mean = |of: &dyn Fn(usize) -> f64| cells.iter().map(|&cell| of(cell)).sum::<f64>() / count;
        let height = |cell: usize| f64::from(self.filled[cell]);
        let (mean_x, mean_y) = (mean(&|cell| chi[cell]), mean(&height));
        let both = mean(&|cell| (chi[cell] - mean_x) * (height(cell) - mean_y));
        let (xs, ys) = (mean(&|cell| (chi[cell] - mean_x).powi(2)), mean(&|cell| (height(cell) - mean_y).powi(2)));
        both * both / (xs * ys)
    }
}

#[test]
fn synthetic_fluvial_terrain_passes_terrain_measures() {
    let land = TerrainMeasures::of(&fluvial(128, 3));
    assert!(land.pits == 0.0 && land.depressions == 0.0, "{land:?}");
    assert!((land.concavity - 0.4).abs() <= 0.05 && land.straightness > 0.98, "{land:?}");
}
