//! Quantities derived from a terrain: slope, normals, flow accumulation, and the terrain at another size.

use rayon::prelude::*;

use super::{
    border::{Border, DISTANCES, STEPS},
    bounds::HEIGHT,
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

/// Resamples a terrain to another number of cells over the same extent. When enlarged, the ground is interpolated smoothly. Slopes that
/// continue beyond the outermost cell centres end at the bounds of heights.
pub fn resample(terrain: &Terrain, (width, height): (usize, usize)) -> Terrain {
    let grows = width > terrain.width() && height > terrain.height();
    let fit = |grid: &Grid| grid.resample(width, height);
    let smooth = |grid: &Grid| if grows { upsample(grid, terrain.edge, (width, height)) } else { fit(grid) };
    let (mut bedrock, sand, mut start) = (smooth(&terrain.ground()), fit(&terrain.sand), smooth(&terrain.start));
    bedrock.iter_mut().zip(sand.iter()).for_each(|(ground, sand)| *ground = HEIGHT.clamp(*ground - sand));
    start.iter_mut().for_each(|height| *height = HEIGHT.clamp(*height));
    Terrain { bedrock, start, cell_size: terrain.cell_size * terrain.width() as f32 / width as f32, ..terrain.map(fit) }
}

/// Enlarges a map by monotone cubic interpolation (Fritsch & Carlson 1980), which passes through all of its values and stays between the
/// four that surround a place. Where slopes change gradually, it is Catmull–Rom interpolation.
///
/// Beyond the outermost cell centres, a map that is not periodic continues with the smaller of the two nearest slopes.
fn upsample(grid: &Grid, edge: Edge, (width, height): (usize, usize)) -> Grid {
    let (columns, rows) = (grid.width(), grid.height());
    let place = |cell: usize, from: usize, to: usize| {
        let place = (cell as f32 + 0.5) * from as f32 / to as f32 - 0.5;
        (place.floor() as isize, place - place.floor())
    };
    let across: Vec<_> = (0..width).map(|x| place(x, columns, width)).collect();
    let column_at =
        |x: isize, line: isize| extended(line, rows, edge, |y| extended(x, columns, edge, |x| grid.at(x, y)));
    let mut enlarged = Grid::filled(width, height, 0.0);
    enlarged.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        let (first_row, down) = place(y, rows, height);
        let four = |first: isize, at: &dyn Fn(isize) -> f32| std::array::from_fn(|step| at(first - 1 + step as isize));
        // Cells of the map at this row, with a margin of two columns on either side, and the four rows around it.
        let margin = columns as isize + 4;
        let around: Vec<[f32; 4]> = (0..margin).map(|x| four(first_row, &|line| column_at(x - 2, line))).collect();
        let here: Vec<f32> = around.iter().map(|four| monotone(*four, down)).collect();
        for (cell, &(first, t)) in row.iter_mut().zip(&across) {
            let at = |step: usize| (first + 1) as usize + step;
            // Columns first and rows first differ where a slope is limited: their mean does not depend on the axes' order.
            let rows_first = monotone(std::array::from_fn(|step| here[at(step)]), t);
            let lines = std::array::from_fn(|line| monotone(std::array::from_fn(|step| around[at(step)][line]), t));
            *cell = 0.5 * (rows_first + monotone(lines, down));
        }
    });
    enlarged
}

/// Returns the value at an index along a line of `count` cells. Beyond its ends, a periodic line wraps around, and any other continues
/// with the smaller of the two nearest slopes, or level if these have different signs.
fn extended(index: isize, count: usize, edge: Edge, at: impl Fn(usize) -> f32) -> f32 {
    if let Some(index) = edge.index(index, count) {
        return at(index);
    }
    let last = count - 1;
    let (end, away) = if index < 0 { (0, -index) } else { (last, index - last as isize) };
    let inwards = |step: usize| at(end.abs_diff(step.min(last)));
    let [near, far] = [inwards(0) - inwards(1), inwards(1) - inwards(2)];
    let slope = match last {
        0 => 0.0,
        1 => near,
        _ if near * far <= 0.0 => 0.0,
        _ if near.abs() < far.abs() => near,
        _ => far,
    };
    inwards(0) + away as f32 * slope
}

/// Interpolates between the second and the third of four equidistant values, at the fraction `t`. The result is between both.
fn monotone([a, b, c, d]: [f32; 4], t: f32) -> f32 {
    let [before, rise, after] = [b - a, c - b, d - c];
    // A cubic is monotone if its slopes are at most three times that of the chord.
    let slope = |left: f32, right: f32| {
        let most = if left * right > 0.0 { 3.0 * left.abs().min(right.abs()) } else { 0.0 };
        (0.5 * (left + right)).max(-most).min(most)
    };
    let (left, right) = (slope(before, rise), slope(rise, after));
    let (t2, t3) = (t * t, t * t * t);
    let value = b + rise * (3.0 * t2 - 2.0 * t3) + left * (t3 - 2.0 * t2 + t) + right * (t3 - t2);
    // Against rounding errors.
    value.max(b.min(c)).min(b.max(c))
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
    fn upsampling_never_overshoots_and_continues_planes() {
        // A cliff of 400 m on a gentle slope, and its transpose.
        let cliff = Grid::from_fn(40, 32, |x, y| if x + y / 4 < 20 { 400.0 } else { 0.0 });
        let turned = Grid::from_fn(32, 40, |x, y| cliff.at(y, x));
        for factor in [2, 3, 8] {
            let (large, other) = (
                upsample(&cliff, Edge::Open, (40 * factor, 32 * factor)),
                upsample(&turned, Edge::Open, (32 * factor, 40 * factor)),
            );
            assert_eq!(large.min_max(), (0.0, 400.0), "an overshoot");
            for (x, y) in [(57, 31), (70, 9), (8, 60)] {
                assert_eq!(large.at(x, y), other.at(y, x), "it depends on the order of the axes");
            }
        }
        let slope = Grid::from_fn(24, 20, |x, y| 3.0 * x as f32 - 2.0 * y as f32);
        let large = upsample(&slope, Edge::Open, (96, 80));
        let right = |x: usize, y: usize| 3.0 * ((x as f32 + 0.5) / 4.0 - 0.5) - 2.0 * ((y as f32 + 0.5) / 4.0 - 0.5);
        assert!((0..80).all(|y| (0..96).all(|x| (large.at(x, y) - right(x, y)).abs() < 1e-4)), "a crease");
        // Hills: every value is between the four cells around it, and those of cell centres are kept.
        let hills = Grid::from_fn(24, 20, |x, y| (50.0 * (0.9 * x as f32).sin() * (1.3 * y as f32).cos()).max(-20.0));
        let large = upsample(&hills, Edge::Open, (72, 60));
        for (x, y) in (3..69).flat_map(|x| (3..57).map(move |y| (x, y))) {
            let [left, top] = [x, y].map(|cell| ((cell as f32 + 0.5) / 3.0 - 0.5).floor() as usize);
            let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| hills.at(left + dx, top + dy));
            let (low, high) =
                (four.iter().copied().fold(f32::MAX, f32::min), four.iter().copied().fold(f32::MIN, f32::max));
            assert!((low..=high).contains(&large.at(x, y)), "{x}, {y}");
        }
        assert!((0..20).all(|y| (0..24).all(|x| (large.at(3 * x + 1, 3 * y + 1) - hills.at(x, y)).abs() < 1e-4)));
        // A periodic map continues on the opposite side.
        let waves = Grid::from_fn(32, 32, |x, _| (x as f32 * std::f32::consts::TAU / 32.0).sin());
        let large = upsample(&waves, Edge::Wrap, (128, 128));
        let wave = |x: usize| (((x as f32 + 0.5) / 4.0 - 0.5) * std::f32::consts::TAU / 32.0).sin();
        assert!([0, 1, 126, 127].into_iter().all(|x| (large.at(x, 5) - wave(x)).abs() < 5e-3));
        assert_eq!(upsample(&Grid::filled(1, 1, 4.0), Edge::Open, (3, 3)).min_max(), (4.0, 4.0));
    }

    #[test]
    fn enlarged_terrain_stays_within_the_bounds_of_heights() {
        // A plane from the lowest height to the highest: its slope continues for a quarter of a cell.
        let plane = Grid::from_fn(33, 32, |x, _| -1e6 + 2e6 / 32.0 * x as f32);
        assert!(upsample(&plane, Edge::Open, (66, 64)).min_max().1 > 1.01e6, "the bounds do not matter");
        let large = resample(&Terrain::bare(plane, 4.0, Edge::Open), (66, 64));
        assert_eq!((large.bedrock.min_max(), large.start.min_max()), ((-1e6, 1e6), (-1e6, 1e6)));
    }

    #[test]
    fn upsampling_interpolates_parabola_and_preserves_terrain() {
        let parabola = Grid::from_fn(24, 20, |x, y| 0.5 * (x * x) as f32 + y as f32);
        let large = upsample(&parabola, Edge::Open, (72, 60));
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
