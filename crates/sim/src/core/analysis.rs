//! Quantities derived from a terrain: slope, normals, flow accumulation, and the terrain at another size.

use rayon::prelude::*;

use super::{
    border::{Border, DISTANCES, STEPS},
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Lower limit of the slope in the wetness index, as a tangent.
const LEVEL: f32 = 1e-3;

/// Returns the gradient of the ground along columns and rows, as tangents: central differences, one-sided at the border of a map that
/// is not periodic.
#[inline]
pub fn gradient(border: Border, cell_size: f32, [x, y]: [usize; 2], ground: impl Fn(usize, usize) -> f32) -> [f32; 2] {
    let beside = |place: usize, count: usize| {
        // On a periodic side of two cells, both neighbours are the same cell.
        let edge = if count > 2 { border.edge } else { Edge::Wall };
        let beside = [-1, 1].map(|step| edge.index(place as isize + step, count));
        let span = beside.iter().flatten().count().max(1) as f32;
        (beside.map(|other| other.unwrap_or(place)), span * cell_size)
    };
    let ([left, right], across) = beside(x, border.width);
    let ([above, below], down) = beside(y, border.height);
    [(ground(right, y) - ground(left, y)) / across, (ground(x, below) - ground(x, above)) / down]
}

/// Returns the angle of a slope, in degrees, from its gradient.
pub fn slope_angle([along_x, along_y]: [f32; 2]) -> f32 {
    libm::atanf(libm::hypotf(along_x, along_y)).to_degrees()
}

fn each(ground: &Grid, value: impl Fn(usize, usize) -> f32 + Sync) -> Grid {
    let width = ground.width();
    let mut grid = Grid::filled(width, ground.height(), 0.0);
    grid.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        row.iter_mut().enumerate().for_each(|(x, cell)| *cell = value(x, y));
    });
    grid
}

/// Returns the slope of the ground, in degrees.
pub fn slope(terrain: &Terrain) -> Grid {
    let (ground, border) = (terrain.ground(), Border::of(terrain));
    each(&ground, |x, y| slope_angle(gradient(border, terrain.cell_size, [x, y], |x, y| ground.at(x, y))))
}

/// Returns the slope of the ground in a cell, in degrees.
pub fn slope_at(terrain: &Terrain, x: usize, y: usize) -> f32 {
    let ground = |x: usize, y: usize| terrain.bedrock.at(x, y) + terrain.sand.at(x, y);
    slope_angle(gradient(Border::of(terrain), terrain.cell_size, [x, y], ground))
}

/// Returns the steepest descent from a cell to one of its eight neighbours, in metres per cell; 0 in a pit.
pub fn steepest_fall(terrain: &Terrain, cell: usize) -> f32 {
    let ground = |cell: usize| terrain.bedrock[cell] + terrain.sand[cell];
    let falls = Border::of(terrain).neighbours(cell).map(|(step, other)| {
        let distance = DISTANCES[usize::from(step & 1)] as f32;
        (ground(cell) - ground(other)) / distance
    });
    falls.fold(0.0, f32::max)
}

/// Returns the number of pits, which are lower than all of their eight neighbours, and the number of cells that have eight
/// neighbours.
pub fn count_pits(ground: &[f32], border: Border) -> [usize; 2] {
    let mut counts = [0; 2];
    for cell in 0..ground.len() {
        let (mut neighbours, mut overtopped) = (0, true);
        for (_, other) in border.neighbours(cell) {
            neighbours += 1;
            overtopped &= ground[other] > ground[cell];
        }
        let is_inner = neighbours == STEPS.len();
        counts = [counts[0] + usize::from(is_inner && overtopped), counts[1] + usize::from(is_inner)];
    }
    counts
}

/// Returns the normals of the ground: to the right and to the top of the map, and out of the ground.
pub fn normals(terrain: &Terrain) -> Vec<[f32; 3]> {
    let (ground, border) = (terrain.ground(), Border::of(terrain));
    let width = ground.width();
    (0..ground.len())
        .into_par_iter()
        .map(|index| {
            let place = [index % width, index / width];
            let [along_x, along_y] = gradient(border, terrain.cell_size, place, |x, y| ground.at(x, y));
            let up = 1.0 / (1.0 + along_x * along_x + along_y * along_y).sqrt();
            [-along_x * up, along_y * up, up]
        })
        .collect()
}

/// Returns the upslope area of each cell, in cells, itself included. Flow is divided among all lower neighbours (multiple flow
/// directions) in proportion to slope^1.5, and ends in pits.
fn upslope_area(terrain: &Terrain) -> Grid {
    let (ground, border) = (terrain.ground(), Border::of(terrain));
    let mut order: Vec<u32> = (0..ground.len() as u32).collect();
    order.par_sort_by(|a, b| ground[*b as usize].total_cmp(&ground[*a as usize]).then(a.cmp(b)));
    let mut water = vec![1.0_f64; ground.len()];
    for index in order.into_iter().map(|index| index as usize) {
        let mut lower = [(0_usize, 0.0_f64); 8];
        let (mut count, mut whole) = (0, 0.0);
        for (step, to) in border.neighbours(index) {
            let falls = f64::from(ground[index] - ground[to]) / DISTANCES[usize::from(step & 1)];
            if falls > 0.0 {
                // The exponent above 1 keeps rivers narrow.
                let share = falls * falls.sqrt();
                lower[count] = (to, share);
                count += 1;
                whole += share;
            }
        }
        let here = water[index];
        for &(to, share) in &lower[..count] {
            water[to] += here * share / whole;
        }
    }
    Grid::from_values(ground.width(), ground.height(), water.into_iter().map(|water| water as f32))
}

/// Returns the natural logarithm of the upslope area, in cells.
pub fn log_upslope_area(terrain: &Terrain) -> Grid {
    let mut flow = upslope_area(terrain);
    flow.iter_mut().for_each(|cells| *cells = libm::logf(*cells));
    flow
}

/// Returns the topographic wetness index: ln(a / s) with the upslope area a per metre of width and the slope s.
pub fn wetness_index(terrain: &Terrain) -> Grid {
    let (ground, border) = (terrain.ground(), Border::of(terrain));
    let passing = upslope_area(terrain);
    each(&ground, |x, y| {
        let [along_x, along_y] = gradient(border, terrain.cell_size, [x, y], |x, y| ground.at(x, y));
        libm::logf(passing.at(x, y) * terrain.cell_size / libm::hypotf(along_x, along_y).max(LEVEL))
    })
}

/// Returns the net deposition since the start, in metres, if `laid`; otherwise the net erosion.
pub fn elevation_change(terrain: &Terrain, laid: bool) -> Grid {
    let ground = terrain.ground();
    each(&ground, |x, y| {
        let grown = ground.at(x, y) - terrain.start.at(x, y);
        (if laid { grown } else { -grown }).max(0.0)
    })
}

/// Returns `size` columns and rows of a terrain, starting at `first`. Beyond the terrain, its border cells are repeated.
pub fn crop(terrain: &Terrain, first: (usize, usize), size: (usize, usize)) -> Terrain {
    let part = terrain.map(|grid| windowed_map(grid, first, size));
    // A window of a periodic map is not periodic.
    let is_whole = size == (terrain.width(), terrain.height());
    let edge = if terrain.edge == Edge::Wrap && !is_whole { Edge::Open } else { terrain.edge };
    Terrain { edge, ..part }
}

/// Equivalent of [`crop`] for a single map.
pub fn windowed_map(grid: &Grid, first: (usize, usize), (width, height): (usize, usize)) -> Grid {
    Grid::from_fn(width, height, |x, y| grid.at_clamped((first.0 + x) as isize, (first.1 + y) as isize))
}

/// Resamples a terrain to another number of cells over the same extent. When enlarged, the ground is interpolated smoothly.
pub fn resample(terrain: &Terrain, (width, height): (usize, usize)) -> Terrain {
    let grows = width > terrain.width() && height > terrain.height();
    let fit = |grid: &Grid| grid.resample(width, height);
    let smooth = |grid: &Grid| if grows { upsample(grid, width, height) } else { fit(grid) };
    let (mut bedrock, sand) = (smooth(&terrain.ground()), fit(&terrain.sand));
    bedrock.iter_mut().zip(sand.iter()).for_each(|(ground, sand)| *ground -= sand);
    Terrain {
        bedrock,
        start: smooth(&terrain.start),
        cell_size: terrain.cell_size * terrain.width() as f32 / width as f32,
        ..terrain.map(fit)
    }
}

/// Enlarges a map by Catmull–Rom interpolation, which passes through all of its values.
fn upsample(grid: &Grid, width: usize, height: usize) -> Grid {
    let weights = |cell: usize, from: usize, to: usize| {
        let place = (cell as f32 + 0.5) * from as f32 / to as f32 - 0.5;
        let (first, t) = (place.floor() as isize, place - place.floor());
        let (t2, t3) = (t * t, t * t * t);
        let weights =
            [-0.5 * t + t2 - 0.5 * t3, 1.0 - 2.5 * t2 + 1.5 * t3, 0.5 * t + 2.0 * t2 - 1.5 * t3, -0.5 * t2 + 0.5 * t3];
        (first, weights)
    };
    let columns: Vec<_> = (0..width).map(|x| weights(x, grid.width(), width)).collect();
    let mut enlarged = Grid::filled(width, height, 0.0);
    enlarged.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        let (first_row, down) = weights(y, grid.height(), height);
        for (cell, (first, across)) in row.iter_mut().zip(&columns) {
            *cell = (0..4)
                .map(|line| {
                    let at = |step: isize| grid.at_clamped(first - 1 + step, first_row - 1 + line);
                    down[line as usize] * (0..4).map(|step| across[step as usize] * at(step)).sum::<f32>()
                })
                .sum();
        }
    });
    enlarged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane() -> Terrain {
        // Slopes towards the first column, by 2 m per cell of 4 m.
        Terrain::bare(Grid::from_fn(33, 32, |x, _| 2.0 * x as f32), 4.0, Edge::Open)
    }

    #[test]
    fn slope_normals_and_upslope_area_match_inclined_plane() {
        let angle = 0.5_f32.atan().to_degrees();
        assert!(slope(&plane()).iter().all(|slope| (slope - angle).abs() < 1e-4));
        let expected = [-1.0_f32, 0.0, 2.0].map(|part| part / 5.0_f32.sqrt());
        assert!(normals(&plane()).iter().flatten().zip(expected.iter().cycle()).all(|(a, b)| (a - b).abs() < 1e-6));
        let total: f32 = (0..32).map(|y| upslope_area(&plane()).at(0, y)).sum();
        assert!((total - 33.0 * 32.0).abs() < 0.5, "all water leaves over the lowest column: {total}");
        assert!(
            log_upslope_area(&plane()).at(32, 5) == 0.0
                && wetness_index(&plane()).at(0, 16) > wetness_index(&plane()).at(30, 16)
        );
    }

    #[test]
    fn upsampling_interpolates_parabola_and_preserves_terrain() {
        let parabola = Grid::from_fn(24, 20, |x, y| 0.5 * (x * x) as f32 + y as f32);
        let large = upsample(&parabola, 72, 60);
        for (x, y) in [(30, 30), (40, 21), (50, 44)] {
            let [u, v] = [x, y].map(|cell| (cell as f32 + 0.5) / 3.0 - 0.5);
            assert!((large.at(x, y) - (0.5 * u * u + v)).abs() < 1e-3, "{x}, {y}");
        }
        let mut terrain = Terrain::bare(parabola, 3.0, Edge::Wall);
        terrain.spread_sand(0.5);
        let bigger = resample(&terrain, (48, 40));
        assert_eq!((bigger.width(), bigger.cell_size), (48, 1.5));
        assert!((bigger.ground().at(24, 20) - large.at(36, 30)).abs() < 3.0 && bigger.sand.at(3, 3) == 0.5);
    }
}
