//! Deposition of the remaining load where a droplet ends: level in the depression first, then as a low fan.

use std::collections::HashMap;

use super::{bundle::Droplet, ground::DropletGround};
use crate::core::terrain::Edge;

/// Half side of the window in which a depression is filled, in cells.
const REACH: isize = 3;
/// Maximum half side of a fan, in cells.
const WIDEST_FAN: isize = 12;
/// Maximum thickness at the centre of a fan before a wider one is used, as a fraction of the cell size.
const FAN_THICKNESS: f32 = 0.02;
/// Smallest load worth distributing: relative to the cell size and height, and to the precision of the sand.
const RESOLVED: f32 = 1e-8;
const DIGITS: f32 = 64.0 * f32::EPSILON;

/// Deposits the remaining loads of droplets, cell by cell, nowhere above the `highest` ground. All loads of one cell form one fan.
/// Returns the deposited volume, in metres times cells.
pub(super) fn settle(ground: &mut DropletGround<'_>, droplets: &[Droplet], highest: f32) -> f64 {
    // Two representable values below it, so that rounding cannot exceed it.
    let top = highest.next_down().next_down();
    let (mut all, mut window) = (0.0, Vec::new());
    // The rounding remainder of a load is added to the next one.
    let mut rest = 0.0;
    let fans: Vec<Fan> = (2..=WIDEST_FAN).map(Fan::new).collect();
    for (cell, load) in joined(droplets) {
        let [x, y] = cell.map(|place| place as isize);
        // No land grows out of standing water.
        let level = ground.still_level(cell);
        let highest = if level > ground.height_of(cell) { level.min(top) } else { top };
        all += load;
        let mut load = rest + load;
        let rim = cells_around(ground, x, y, REACH, &mut window);
        load -= fill_up(ground, &mut window, rim.min(highest), load);
        load -= spread(ground, [x, y], load, highest, &fans);
        // Between walls a fan has no room, so the load spreads farther.
        let (mut reach, longest) = (WIDEST_FAN, ground.width.max(ground.height) as isize);
        let own = ground.cell(x, y);
        let sand = own.map_or(0.0, |own| ground.sand_of(own));
        let resolved = f64::from(RESOLVED * (ground.cell_size + highest.abs()) + DIGITS * sand);
        while load > resolved && reach < 2 * longest {
            cells_around(ground, x, y, reach + 1, &mut window);
            load -= fill_up(ground, &mut window, highest, load);
            reach *= 2;
        }
        load -= own.map_or(0.0, |own| ground.add_sand(own, load));
        rest = load;
    }
    all - rest
}

/// Returns the loads of droplets, summed by final cell, in the order in which the first of each ended, in metres times cells.
fn joined(droplets: &[Droplet]) -> Vec<([i32; 2], f64)> {
    let mut loads: Vec<([i32; 2], f64)> = Vec::new();
    let mut places = HashMap::new();
    for droplet in droplets.iter().filter(|droplet| droplet.mass != 0.0) {
        let cell = [droplet.x as i32, droplet.y as i32];
        let place = *places.entry(cell).or_insert(loads.len());
        if place == loads.len() {
            loads.push((cell, 0.0));
        }
        loads[place].1 += f64::from(droplet.mass);
    }
    loads
}

/// Height and position of a cell.
type CellHeight = (f32, [i32; 2]);

/// Collects the cells nearer than `reach` to a position, with their ground. Returns the lowest ground at distance `reach`.
fn cells_around(ground: &mut DropletGround<'_>, x: isize, y: isize, reach: isize, cells: &mut Vec<CellHeight>) -> f32 {
    cells.clear();
    let mut rim = f32::INFINITY;
    // Where the map wraps, no cell may occur twice.
    let range = |side: i32| match ground.edge {
        Edge::Wrap => reach.min((side as isize - 1) / 2),
        _ => reach,
    };
    let (across, down) = (range(ground.width), range(ground.height));
    for dy in -down..=down {
        for dx in -across..=across {
            let Some(cell) = ground.cell(x + dx, y + dy) else { continue };
            let height = ground.height_of(cell);
            if dx.abs().max(dy.abs()) == reach {
                rim = rim.min(height);
            } else {
                cells.push((height, cell));
            }
        }
    }
    rim
}

/// Fills the lowest of these cells up to a common level of at most `most`. Returns the deposited volume.
fn fill_up(ground: &mut DropletGround<'_>, cells: &mut [CellHeight], most: f32, load: f64) -> f64 {
    if load <= 0.0 || cells.iter().all(|(height, _)| *height >= most) {
        return 0.0;
    }
    cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then([a.1[1], a.1[0]].cmp(&[b.1[1], b.1[0]])));
    let (mut level, mut filled) = (cells.first().map_or(most, |lowest| lowest.0), 0.0);
    for count in 1..=cells.len() {
        let next = cells.get(count).map_or(most, |cell| cell.0).min(most);
        let volume = f64::from(next - level) * count as f64;
        if filled + volume >= load {
            level += ((load - filled) / count as f64) as f32;
            break;
        }
        filled += volume.max(0.0);
        level = next.max(level);
        if level >= most {
            break;
        }
    }
    cells
        .iter()
        .take_while(|(height, _)| *height < level)
        .map(|&(height, cell)| ground.add_sand(cell, f64::from(level) - f64::from(height)))
        .sum()
}

/// A cone around a cell: offsets, with the thickness relative to the centre.
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

/// Adds sand to a cell, but not above the ceiling. Returns the actual change of the layer.
fn add_below(ground: &mut DropletGround<'_>, cell: [i32; 2], thickness: f64, ceiling: f32) -> f64 {
    let headroom = f64::from(ceiling - ground.height_of(cell));
    if headroom > 0.0 { ground.add_sand(cell, thickness.min(headroom)) } else { 0.0 }
}

/// Deposits a load as a fan that thins out towards its margin, wide enough to be low. Returns the deposited volume.
fn spread(ground: &mut DropletGround<'_>, [x, y]: [isize; 2], load: f64, ceiling: f32, fans: &[Fan]) -> f64 {
    if load <= 0.0 {
        return 0.0;
    }
    let limit = f64::from(FAN_THICKNESS * ground.cell_size);
    // A cone of weight 1 at the centre and radius r has the volume π/3·r².
    let low = |fan: &&Fan| load <= limit * 1.047 * ((fan.reach + 1) * (fan.reach + 1)) as f64;
    let Some(fan) = fans.iter().find(low).or(fans.last()) else { return 0.0 };
    let place = |&(dx, dy, weight): &(isize, isize, f64)| Some((ground.cell(x + dx, y + dy)?, weight));
    let cells: Vec<([i32; 2], f64)> = fan.cells.iter().filter_map(place).collect();
    let total: f64 = cells.iter().map(|(_, weight)| weight).sum();
    cells.into_iter().map(|(cell, weight)| add_below(ground, cell, load * weight / total, ceiling)).sum()
}
