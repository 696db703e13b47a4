//! What a droplet still carries when it ends lies down where it ended: level in the hollow, then as a low fan.

use super::bundle::Droplet;
use crate::sim::terrain::{Edge, Terrain};

/// Half the side of the window in which a hollow is filled, in cells.
const REACH: isize = 3;
/// Greatest half side of a fan, in cells.
const WIDEST_FAN: isize = 12;
/// Thickness at the middle of a fan above which a wider one is chosen, in cell sizes.
const FAN_THICKNESS: f32 = 0.02;

/// Lays the load of every droplet down, one after the other. Returns what was laid, in metres times cells.
pub fn settle(terrain: &mut Terrain, droplets: &[Droplet]) -> f64 {
    let mut laid = 0.0;
    let mut window = Vec::new();
    let fans: Vec<Fan> = (2..=WIDEST_FAN).map(Fan::new).collect();
    for droplet in droplets {
        let (x, y) = (droplet.x as isize, droplet.y as isize);
        let mut load = f64::from(droplet.mass);
        load -= fill_hollow(terrain, x, y, load, &mut window);
        load -= spread(terrain, x, y, load, &fans);
        laid += f64::from(droplet.mass) - load;
        // The rest is rounding: it goes where a layer still resolves it.
        laid += add(terrain, cell(terrain, x, y).unwrap_or_default(), load);
    }
    laid
}

/// The cell at a place; outside, the one that stands for it, or none.
fn cell(terrain: &Terrain, x: isize, y: isize) -> Option<usize> {
    let (width, height) = (terrain.width() as isize, terrain.height() as isize);
    match terrain.edge {
        Edge::Wrap => Some((y.rem_euclid(height) * width + x.rem_euclid(width)) as usize),
        _ => (x >= 0 && y >= 0 && x < width && y < height).then(|| (y * width + x) as usize),
    }
}

/// Puts sand on a cell and returns by how much the layer really changed.
fn add(terrain: &mut Terrain, cell: usize, thickness: f64) -> f64 {
    let old = terrain.sand[cell];
    terrain.sand[cell] = (old + thickness as f32).max(0.0);
    f64::from(terrain.sand[cell]) - f64::from(old)
}

/// Fills the lowest cells of the window up to a common level, at most to where it would spill over the window's rim.
fn fill_hollow(terrain: &mut Terrain, x: isize, y: isize, load: f64, cells: &mut Vec<(f32, usize)>) -> f64 {
    cells.clear();
    let mut rim = f32::INFINITY;
    for dy in -REACH..=REACH {
        for dx in -REACH..=REACH {
            let Some(index) = cell(terrain, x + dx, y + dy) else { continue };
            let ground = terrain.bedrock[index] + terrain.sand[index];
            if dx.abs().max(dy.abs()) == REACH {
                rim = rim.min(ground);
            } else {
                cells.push((ground, index));
            }
        }
    }
    if cells.iter().all(|(ground, _)| *ground >= rim) {
        return 0.0;
    }
    cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut level, mut filled) = (cells.first().map_or(rim, |lowest| lowest.0), 0.0);
    for count in 1..=cells.len() {
        let next = cells.get(count).map_or(rim, |cell| cell.0).min(rim);
        let volume = f64::from(next - level) * count as f64;
        if filled + volume >= load {
            level += ((load - filled) / count as f64) as f32;
            break;
        }
        filled += volume.max(0.0);
        level = next.max(level);
        if level >= rim {
            break;
        }
    }
    cells
        .iter()
        .take_while(|(ground, _)| *ground < level)
        .map(|&(ground, index)| add(terrain, index, f64::from(level) - f64::from(ground)))
        .sum()
}

/// A cone around a cell: where, and how thick in parts of its height at the middle.
struct Fan {
    reach: isize,
    cells: Vec<(isize, isize, f64)>,
}

impl Fan {
    fn new(reach: isize) -> Self {
        let places = (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
        let cells = places.filter_map(|(dx, dy)| {
            let weight = 1.0 - ((dx * dx + dy * dy) as f32).sqrt() / (reach + 1) as f32;
            (weight > 0.0).then_some((dx, dy, f64::from(weight)))
        });
        Self { reach, cells: cells.collect() }
    }
}

/// Lays a load down as a fan whose thickness falls off to its border; wide enough to be low.
fn spread(terrain: &mut Terrain, x: isize, y: isize, load: f64, fans: &[Fan]) -> f64 {
    if load <= 0.0 {
        return 0.0;
    }
    let limit = f64::from(FAN_THICKNESS * terrain.cell_size);
    // A cone of weight 1 at the middle and radius r has the volume π/3·r².
    let low = |fan: &&Fan| load <= limit * 1.047 * ((fan.reach + 1) * (fan.reach + 1)) as f64;
    let Some(fan) = fans.iter().find(low).or(fans.last()) else { return 0.0 };
    let places = || fan.cells.iter().filter_map(|&(dx, dy, weight)| Some((cell(terrain, x + dx, y + dy)?, weight)));
    let total: f64 = places().map(|(_, weight)| weight).sum();
    let (width, height) = (terrain.width() as isize, terrain.height() as isize);
    let inner = x >= fan.reach && y >= fan.reach && x + fan.reach < width && y + fan.reach < height;
    if inner {
        let thickness = load / total;
        let middle = y * width + x;
        fan.cells
            .iter()
            .map(|&(dx, dy, weight)| add(terrain, (middle + dy * width + dx) as usize, thickness * weight))
            .sum()
    } else {
        let cells: Vec<(usize, f64)> = places().collect();
        cells.into_iter().map(|(cell, weight)| add(terrain, cell, load * weight / total)).sum()
    }
}
