//! A single dab of a brush, and the ramp between two points.

use noise::{NoiseFn, Simplex};

use super::{
    Brush, StrokeGrowth, Tool, UndoPatch,
    area::{Area, CellInReach},
};
use crate::core::{
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Minimum thickness of sand that brushes add to, in metres.
const DUST: f32 = 1e-3;
/// Width of the smoothing kernel, as a fraction of the radius.
const EVEN: f32 = 0.2;
/// Fraction of a terrace's height taken by its riser.
const RISER: f32 = 0.3;
/// Width below which a terrace is doubled in height, in cells.
const NARROWEST: f32 = 12.0;
/// Cells per period at which an octave of the bumps vanishes; at twice as many it has full amplitude.
const FINEST: f64 = 3.0;

/// Position and parameters of a single touch of a brush.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dab {
    /// Column and row, relative to cell centres.
    pub place: [f32; 2],
    /// `true` to invert the effect.
    pub inverted: bool,
    /// Height of the ground at the start of the stroke, in metres.
    pub level: f32,
    /// Offset of the clone source, in columns and rows, and the height to add to its ground, in metres.
    pub clone_source: Option<([f32; 2], f32)>,
    /// Number of previous dabs in the stroke.
    pub number: u64,
}

/// Applies a dab. `relief` is the stamp, or the ground of the map at the start of a clone. Returns the growth of the ground, in
/// metres times cells.
pub(crate) fn apply(
    terrain: &mut Terrain,
    tool: Tool,
    brush: &Brush,
    dab: Dab,
    relief: Option<&Grid>,
    (patch, growth): (&mut UndoPatch, Option<&mut StrokeGrowth>),
) -> f64 {
    let radius = brush.radius_in_cells(terrain);
    let area = Area::new(terrain, dab.place, radius);
    patch.save_tiles(terrain, tool.writes(), &area);
    let falloff = brush.falloff;
    let weigh = |[x, y]: [f32; 2]| falloff.weight((x * x + y * y).sqrt() / radius);
    let sign = if dab.inverted { -1.0 } else { 1.0 };
    let rise = sign * brush.rise(terrain) * brush.share();
    let approach = brush.approach();
    // Effects that push the ground away from a target must not be faster than a raising brush.
    let most = brush.rise(terrain);
    let once = growth.is_some().then_some(most);
    let lock = brush.lock.then_some(brush.level);
    // A change of height, within the limits of the stroke and the level.
    let bound = |spot: CellInReach, ground: f32, by: f32| {
        bounded(by, once.map(|most| (most * spot.reach, spot.grown)), lock, ground)
    };
    let lifts = (tool == Tool::Raise) != dab.inverted;
    match tool {
        Tool::Raise | Tool::Lower => area.shape(terrain, growth, weigh, |spot, rock, sand| {
            let by = rise.abs() * spot.weight;
            let by = bound(spot, *rock + *sand, if lifts { by } else { -by });
            if lifts { *rock += by } else { shift(rock, sand, by) }
        }),
        Tool::Sand => area.shape(terrain, growth, weigh, |spot, rock, sand| {
            *sand = (*sand + bound(spot, *rock + *sand, rise * spot.weight)).max(0.0);
        }),
        Tool::Smooth => {
            let ground = |cell: usize| terrain.bedrock[cell] + terrain.sand[cell];
            let mean = mean(terrain, &area, (EVEN * radius).ceil() as usize, ground);
            let columns = area.columns.len();
            area.shape(terrain, None, weigh, |spot, rock, sand| {
                let away = mean[spot.row * columns + spot.column] - (*rock + *sand);
                shift(rock, sand, (sign * approach * spot.weight * away).clamp(-most, most));
            })
        }
        Tool::Flatten => area.shape(terrain, None, weigh, |spot, rock, sand| {
            let away = lock.unwrap_or(dab.level) - (*rock + *sand);
            let pushed = if dab.inverted { (-approach * away).clamp(-most, most) } else { approach * away };
            shift(rock, sand, pushed * spot.weight);
        }),
        Tool::Noise => {
            let noise = Simplex::new(0);
            let period = f64::from(0.01 * brush.detail * radius);
            area.shape(terrain, growth, weigh, |spot, rock, sand| {
                // Fixed to the map, so that overlapping dabs make the same bumps.
                let place = [0, 1].map(|axis| f64::from((dab.place[axis] + spot.offset[axis]).round()));
                let bump = bumps(&noise, place, period);
                // A held brush ends at bumps of the same shape.
                let once = once.map(|most| (most * spot.reach * bump.abs(), spot.grown));
                shift(rock, sand, bounded(rise * spot.weight * bump, once, lock, *rock + *sand));
            })
        }
        Tool::Terrace => {
            // The ground at the start of the stroke, so that its dabs cut the same terraces.
            let start = |cell: usize| {
                terrain.bedrock[cell] + terrain.sand[cell] - growth.as_ref().map_or(0.0, |growth| growth.at(cell))
            };
            let (even, columns) = (mean(terrain, &area, (EVEN * radius).ceil() as usize, start), area.columns.len());
            let aims = if dab.inverted { even } else { terraces(&even, columns, brush.step) };
            area.shape(terrain, growth, weigh, |spot, rock, sand| {
                let away = aims[spot.row * columns + spot.column] - (*rock + *sand);
                shift(rock, sand, approach * spot.weight * away);
            })
        }
        Tool::Stamp => {
            let Some(stamp) = relief else { return 0.0 };
            let print = sign * brush.strength * brush.rise(terrain);
            let sides = [stamp.width(), stamp.height()].map(|count| (count as f32 - 1.0).max(0.0));
            area.shape(terrain, None, weigh, |spot, rock, sand| {
                let at = [0, 1].map(|axis| (0.5 + 0.5 * spot.offset[axis] / radius).clamp(0.0, 1.0) * sides[axis]);
                let height = bound(spot, *rock + *sand, print * spot.weight * stamp.sample_bilinear(at[0], at[1]));
                if height < 0.0 { shift(rock, sand, height) } else { *rock += height }
            })
        }
        Tool::Rain => {
            let aim = if dab.inverted { 0.0 } else { brush.rain };
            paint(terrain, tool, &area, weigh, approach, aim)
        }
        Tool::Softness => {
            let aim = if dab.inverted { 1.0 - brush.softness } else { brush.softness };
            paint(terrain, tool, &area, weigh, approach, aim)
        }
        Tool::Uplift => {
            let aim = if dab.inverted { 0.0 } else { brush.uplift };
            paint(terrain, tool, &area, weigh, approach, aim)
        }
        Tool::Mask => {
            let aim = if dab.inverted { 0.0 } else { 1.0 };
            paint(terrain, tool, &area, weigh, approach, aim)
        }
        Tool::Clone => {
            let (Some(ground), Some((away, lower))) = (relief, dab.clone_source) else { return 0.0 };
            let edge = terrain.edge;
            area.shape(terrain, None, weigh, |spot, rock, sand| {
                let place = [0, 1].map(|axis| dab.place[axis] + spot.offset[axis] + away[axis]);
                // Beyond the map there is nothing to copy.
                let Some(height) = height_at(ground, edge, place) else { return };
                shift(rock, sand, approach * spot.weight * (height + lower - (*rock + *sand)));
            })
        }
        // A ramp needs two points: see `ramp`. Erosion needs a process: see `erode.rs`. Water does not change the ground: see
        // `pour.rs`.
        Tool::Slope | Tool::Erode | Tool::Water => 0.0,
    }
}

/// Limits a change of height, in metres, to the remaining growth of its stroke and to its side of a level.
fn bounded(by: f32, once: Option<(f32, f32)>, lock: Option<f32>, ground: f32) -> f32 {
    let rooms = [once.map(|(most, grown)| [-most - grown, most - grown]), lock.map(|level| [level - ground; 2])];
    // If there is no room left, nothing is reverted.
    rooms
        .into_iter()
        .flatten()
        .fold(by, |by, [below, above]| if by > 0.0 { by.min(above.max(0.0)) } else { by.max(below.min(0.0)) })
}

/// Returns the interpolated height; on a periodic map beyond its border too, otherwise `None` there.
fn height_at(ground: &Grid, edge: Edge, [x, y]: [f32; 2]) -> Option<f32> {
    let sides = [ground.width(), ground.height()];
    let off = [x, y].into_iter().zip(sides).any(|(place, side)| place < -0.5 || place > side as f32 - 0.5);
    if edge != Edge::Wrap {
        return (!off).then(|| ground.sample_bilinear(x, y));
    }
    let [left, top] = [x.floor(), y.floor()];
    let at = |across: isize, down: isize| {
        let [column, row] = [left as isize + across, top as isize + down];
        ground.at(edge.nearest(column, sides[0]), edge.nearest(row, sides[1]))
    };
    let between = |from: f32, to: f32, share: f32| from + share * (to - from);
    let (above, below) = (between(at(0, 0), at(1, 0), x - left), between(at(0, 1), at(1, 1), x - left));
    Some(between(above, below, y - top))
}

/// Returns the height of fractal bumps at a position in cells, about −1 to 1. The largest have this period, in cells, and the smallest are
/// a few cells wide. Octaves are rotated and offset against each other, as in the terrain generators.
fn bumps(noise: &Simplex, [x, y]: [f64; 2], period: f64) -> f32 {
    let (mut period, mut height, mut sum) = (period.max(2.0 * FINEST), 1.0, 0.0);
    let (mut cosine, mut sine, mut offset) = (0.8, 0.6, 0.0);
    while period > FINEST {
        let shown = (period / FINEST - 1.0).min(1.0);
        let turned = [cosine * x - sine * y, sine * x + cosine * y];
        sum += shown * height * noise.get(turned.map(|part| part / period + offset));
        (cosine, sine) = (0.8 * cosine - 0.6 * sine, 0.6 * cosine + 0.8 * sine);
        (period, height, offset) = (0.5 * period, 0.5 * height, offset + 7.3);
    }
    sum as f32
}

/// Builds a ramp: within the radius, moves the ground towards the straight line between both ends. Returns the growth of the
/// ground, in metres times cells.
pub(crate) fn ramp(terrain: &mut Terrain, brush: &Brush, [from, to]: [[f32; 2]; 2], patch: &mut UndoPatch) -> f64 {
    let radius = brush.radius_in_cells(terrain);
    let middle = [0, 1].map(|axis| 0.5 * (from[axis] + to[axis]));
    let displacement = [0, 1].map(|axis| to[axis] - from[axis]);
    let squared = (displacement[0] * displacement[0] + displacement[1] * displacement[1]).max(1e-6);
    let reach = radius + 0.5 * squared.sqrt();
    let ends = [from, to].map(|[x, y]| terrain.sample_ground(x, y));
    let area = Area::new(terrain, middle, reach);
    patch.save_tiles(terrain, Tool::Slope.writes(), &area);
    // Position along the line from 0 to 1, and the distance to the nearest point on it.
    let along = |[x, y]: [f32; 2]| {
        let share = (0.5 + (x * displacement[0] + y * displacement[1]) / squared).clamp(0.0, 1.0);
        let (away_x, away_y) = (x - (share - 0.5) * displacement[0], y - (share - 0.5) * displacement[1]);
        (share, (away_x * away_x + away_y * away_y).sqrt())
    };
    let weigh = |offset: [f32; 2]| brush.falloff.weight(along(offset).1 / radius);
    area.shape(terrain, None, weigh, |spot, rock, sand| {
        let (share, _) = along(spot.offset);
        let aim = ends[0] + share * (ends[1] - ends[0]);
        shift(rock, sand, brush.strength * spot.weight * (aim - (*rock + *sand)));
    })
}

/// Changes the height of the ground: erosion takes sand before bedrock, a rise adds sand where there is sand.
fn shift(rock: &mut f32, sand: &mut f32, by: f32) {
    if by < 0.0 {
        let from_sand = sand.min(-by);
        *sand -= from_sand;
        *rock += by + from_sand;
    } else if *sand > DUST {
        *sand += by;
    } else {
        *rock += by;
    }
}

/// Moves a painted map towards a value. The ground does not grow.
fn paint(
    terrain: &mut Terrain,
    tool: Tool,
    area: &Area,
    weigh: impl Fn([f32; 2]) -> f32 + Sync,
    approach: f32,
    aim: f32,
) -> f64 {
    let [layer] = *tool.writes() else { return 0.0 };
    let mask = if tool == Tool::Mask { None } else { terrain.mask.take() };
    area.paint(terrain.layer_mut(layer), mask.as_ref(), weigh, |spot, value| {
        *value += approach * spot.weight * (aim - *value);
    });
    if tool != Tool::Mask {
        terrain.mask = mask;
    }
    0.0
}

/// Returns the heights of terraces on smooth ground, in rows of this many columns. Where terraces of height `size` would be too narrow, they
/// are doubled until they are not; in between, both heights are blended.
fn terraces(ground: &[f32], columns: usize, size: f32) -> Vec<f32> {
    let rise = |before: usize, after: usize, cells: usize| (ground[after] - ground[before]) / cells.max(1) as f32;
    let terrace = |cell: usize| {
        let (x, y) = (cell % columns, cell / columns);
        let (left, right) = (x.saturating_sub(1), (x + 1).min(columns - 1));
        let (above, below) = (y.saturating_sub(1), (y + 1).min(ground.len() / columns - 1));
        let across = rise(y * columns + left, y * columns + right, right - left);
        let down = rise(above * columns + x, below * columns + x, below - above);
        let needed = NARROWEST * (across * across + down * down).sqrt();
        let mut size = size;
        while needed > 2.0 * size {
            size *= 2.0;
        }
        let [one, double] = [size, 2.0 * size].map(|size| step(ground[cell], size));
        one + smooth_step(needed / size - 1.0) * (double - one)
    };
    (0..ground.len()).map(terrace).collect()
}

/// Returns the height of a terrace at a height: flat treads with risers in between.
fn step(height: f32, step: f32) -> f32 {
    let count = height / step + 0.5 * (1.0 - RISER);
    (count.floor() + smooth_step((count - count.floor() - (1.0 - RISER)) / RISER)) * step
}

/// Returns a smooth transition from 0 at 0 to 1 at 1.
fn smooth_step(part: f32) -> f32 {
    let part = part.clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// Returns the mean of a map around each cell of the area, over `reach` cells to every side, applied twice: nearly Gaussian. `at` returns
/// the value of a cell.
fn mean(terrain: &Terrain, area: &Area, reach: usize, at: impl Fn(usize) -> f32) -> Vec<f32> {
    let (rows, columns) = (area.rows.len(), area.columns.len());
    let (Some(first_row), Some(first_column)) = (area.rows.first(), area.columns.first()) else { return Vec::new() };
    // Twice the margin, since the filter is applied twice.
    let margin = 2 * reach;
    let places = |first: isize, lines: usize, count: usize| -> Vec<usize> {
        let place = |line: usize| terrain.edge.nearest(first + line as isize - margin as isize, count);
        (0..lines + 2 * margin).map(place).collect()
    };
    let ys = places(first_row.place, rows, terrain.height());
    let xs = places(first_column.place, columns, terrain.width());
    let mut ground: Vec<f32> = Vec::with_capacity(ys.len() * xs.len());
    for &y in &ys {
        let row = y * terrain.width();
        ground.extend(xs.iter().map(|&x| at(row + x)));
    }
    // Relative to one of them, to preserve precision in the sums.
    let base = ground[0];
    ground.iter_mut().for_each(|ground| *ground -= base);
    let (mut height, mut width) = (ys.len(), xs.len());
    for _ in 0..2 {
        // Along rows, then along columns.
        for _ in 0..2 {
            ground = turned_sums(&ground, width, reach);
            (height, width) = (width - 2 * reach, height);
        }
    }
    debug_assert_eq!((height, width), (rows, columns));
    let square = ((2 * reach + 1) as f32) * ((2 * reach + 1) as f32);
    let share = 1.0 / (square * square);
    ground.iter().map(|sum| base + sum * share).collect()
}

/// Returns the sums of 2 · reach + 1 neighbours along rows, transposed.
fn turned_sums(values: &[f32], width: usize, reach: usize) -> Vec<f32> {
    let (height, window) = (values.len() / width, 2 * reach + 1);
    let out_width = width - 2 * reach;
    let mut sums = vec![0.0; height * out_width];
    for (y, row) in values.chunks_exact(width).enumerate() {
        let mut sum: f64 = row[..window].iter().map(|&value| f64::from(value)).sum();
        sums[y] = sum as f32;
        for x in 1..out_width {
            sum += f64::from(row[x + window - 1]) - f64::from(row[x - 1]);
            sums[x * height + y] = sum as f32;
        }
    }
    sums
}
