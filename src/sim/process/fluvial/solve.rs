//! The rivers' part of a tick: cutting and laying down, solved at once for the whole map.
//!
//! With A the rained-on area above, d the way to the receiver b, Qj what donors bring in a tick, a the area of a cell and w by how
//! much the ground grows (Hergarten 2020, Earth Surf. Dynam. 8, 841, in changes instead of heights, which loses fewer digits):
//!
//! ```text
//! w = −κ·(z + w − z_b − w_b) + γ·Q,     κ = Kd·A^m·δt/d,   γ = G/A
//! Q = ΣQj − a·w,                        Qj = pj + qj·w
//! R = a − Σqj,   D = 1 + κ + γ·R,   f = [γ·Σpj − κ·(z − z_b)]/D,   g = κ/D,   p = Σpj − R·f,   q = −R·g
//! ```
//!
//! One sweep down the trees finds f, g, p and q, one sweep up w = f + g·w_b. Outlets keep their height, so that what reaches them
//! is the sum of p. The scheme is stable for every δt. Of what changes it:
//!
//! - Ground that stands steeper above its receiver than the critical slope slides before: the river gets it at that place.
//! - In a lake nothing is cut, κ = 0, and nothing is laid down above the level of its pass. Nowhere do deposits stand steeper than
//!   the critical slope.
//! - Without deposition the slope may have an exponent: x + κ·xⁿ = z − z_b for the fall x is solved by Newton's method
//!   (Braun & Willett 2013).
//! - Sand is cut first. It lasts for a share of the tick, as long as the present slope lets it; for the rest rock is cut.

use std::cell::Cell;

use rayon::prelude::*;

use super::{Numbers, Params};
use crate::sim::{drainage::Drainage, process::Mode, terrain::Terrain};

/// Trees that a thread works on at once are those of so many parts of the outlets.
const PARTS: usize = 256;

/// Powers of areas that are worked out beforehand.
const POWERS: usize = 4096;

/// A cell of a tree.
#[derive(Clone, Copy)]
struct Node {
    cell: u32,
    /// Place of the receiver in the list; its own for an outlet.
    below: u32,
    /// Height after sliding, in metres.
    ground: f32,
    /// Rained-on area above and here, in cells.
    area: f32,
    /// Σp in cubic metres on the way down, then f, then w, in metres.
    flux: f64,
    /// −Σq in square metres on the way down, then g.
    follow: f64,
}

/// A map of which every thread writes the cells of its own trees.
struct Apart<'a>(&'a [Cell<f32>]);

// SAFETY: a cell belongs to one tree and a tree is worked on by one thread, so no cell is used by two.
unsafe impl Sync for Apart<'_> {}

impl<'a> Apart<'a> {
    fn of(map: &'a mut [f32]) -> Self {
        Self(Cell::from_mut(map).as_slice_of_cells())
    }

    #[inline(always)]
    fn set(&self, cell: usize, value: f32) {
        self.0[cell].set(value);
    }
}

/// The law of a tick.
pub(super) struct Rivers<'a> {
    params: &'a Params,
    numbers: &'a Numbers<'a>,
    drainage: &'a Drainage,
    terrain: &'a Terrain,
    /// Heights before the tick's rivers, in metres.
    ground: &'a [f32],
    cell_size: f64,
    cell_area: f64,
    solid: bool,
    linear: bool,
    /// A^m·δt of the first whole numbers of cells, which most areas are.
    powers: Vec<f64>,
}

impl<'a> Rivers<'a> {
    pub(super) fn new(
        params: &'a Params,
        numbers: &'a Numbers<'a>,
        drainage: &'a Drainage,
        terrain: &'a Terrain,
        ground: &'a [f32],
    ) -> Self {
        let mut rivers = Self {
            params,
            numbers,
            drainage,
            terrain,
            ground,
            cell_size: terrain.cell_size.into(),
            cell_area: terrain.cell_area(),
            solid: params.mode == Mode::Published,
            linear: params.deposition > 0.0 || params.slope_exponent == 1.0,
            powers: Vec::new(),
        };
        rivers.powers = (0..POWERS.min(ground.len())).map(|cells| rivers.power(cells as f32)).collect();
        rivers
    }

    /// A^m·δt for so many cells.
    fn power(&self, cells: f32) -> f64 {
        let power = libm::powf(cells * self.cell_area as f32, self.params.area_exponent);
        f64::from(power) * f64::from(self.params.years_per_tick)
    }

    /// Fills in by how much the ground grows and the drained areas, per cell. Returns what leaves at the outlets, in cubic metres.
    pub(super) fn run(&self, change: &mut [f32], areas: &mut [f32]) -> f64 {
        let (change, areas) = (Apart::of(change), Apart::of(areas));
        let outlets = self.drainage.outlets();
        let parts: Vec<&[u32]> = outlets.chunks(outlets.len().div_ceil(PARTS).max(1)).collect();
        let left = parts.into_par_iter().with_max_len(1).map_init(Vec::new, |nodes, outlets| {
            nodes.clear();
            outlets.iter().for_each(|&outlet| self.climb(outlet, nodes));
            let left = self.down(nodes) + self.up(nodes);
            for node in nodes.iter() {
                let cell = node.cell as usize;
                let slid = f64::from(node.ground) - f64::from(self.ground[cell]);
                change.set(cell, (slid + node.flux) as f32);
                areas.set(cell, node.area * self.cell_area as f32);
            }
            left
        });
        let left: Vec<f64> = left.collect();
        left.into_iter().sum()
    }

    /// Lists a tree from its outlet upwards; what is too steep slides.
    fn climb(&self, outlet: u32, nodes: &mut Vec<Node>) {
        self.drainage.climb(outlet, |cell, below: u32| {
            let here = nodes.len() as u32;
            let index = cell as usize;
            let own = self.ground[index];
            let (below, ground) = if cell == outlet {
                (here, own)
            } else {
                let stands = self.numbers.at(index).critical_slope * self.drainage.distance(index) * self.cell_size;
                (below, own.min((f64::from(nodes[below as usize].ground) + stands) as f32))
            };
            let rain = self.terrain.rain.as_ref().map_or(1.0, |rain| rain[index]);
            let slid = (f64::from(own) - f64::from(ground)) * self.cell_area;
            nodes.push(Node { cell, below, ground, area: rain, flux: slid, follow: 0.0 });
            here
        });
    }

    /// Finds f and g of every cell. Returns what reaches the outlets, in cubic metres.
    fn down(&self, nodes: &mut [Node]) -> f64 {
        let mut left = 0.0;
        for here in (0..nodes.len()).rev() {
            let node = nodes[here];
            let below = node.below as usize;
            if below == here {
                left += node.flux;
                continue;
            }
            let base = nodes[below].ground;
            let numbers = self.numbers.at(node.cell as usize);
            let lake = self.drainage.lake(node.cell as usize, self.ground[node.cell as usize]);
            let cut = if lake.is_some() { 0.0 } else { self.cut(&node, base) };
            if !self.linear {
                (nodes[here].flux, nodes[here].follow) = (0.0, cut);
                let to = &mut nodes[below];
                (to.area, to.flux) = (to.area + node.area, to.flux + node.flux);
                continue;
            }
            let fall = f64::from(node.ground) - f64::from(base);
            let settles =
                if node.area > 0.0 { numbers.deposition / (f64::from(node.area) * self.cell_area) } else { 0.0 };
            let share = self.cell_area + node.follow;
            let whole = 1.0 + cut + settles * share;
            let stands = numbers.critical_slope * self.drainage.distance(node.cell as usize) * self.cell_size;
            let under = lake.map_or(f64::INFINITY, |level| f64::from(level) - f64::from(node.ground));
            let room = (stands - fall).min(under).max(0.0);
            let grows = ((settles * node.flux - cut * fall) / whole).min(room);
            let follows = cut / whole;
            (nodes[here].flux, nodes[here].follow) = (grows, follows);
            let to = &mut nodes[below];
            to.area += node.area;
            to.flux += node.flux - share * grows;
            to.follow += share * follows;
        }
        left
    }

    /// κ: by how much a fall of one metre to the receiver is cut in a tick; with an exponent of the slope, that of the fall's power.
    fn cut(&self, node: &Node, base: f32) -> f64 {
        let cell = node.cell as usize;
        let params = self.params;
        let far = self.drainage.distance(cell) * self.cell_size;
        let power = match self.powers.get(node.area as usize) {
            Some(power) if node.area.fract() == 0.0 => *power,
            _ => self.power(node.area),
        };
        let power = if self.linear { power / far } else { power / libm::pow(far, params.slope_exponent.into()) };
        let own = self.numbers.at(cell).erodibility * power;
        if self.solid {
            return own;
        }
        let rock = own * 2.0 * f64::from(self.terrain.softness[cell]);
        let sand = f64::from(self.terrain.sand[cell]);
        let fall = (f64::from(node.ground) - f64::from(base)).max(0.0);
        if sand <= 0.0 {
            return rock;
        }
        let loose = own * f64::from(params.sand_factor);
        let would_go = if self.linear { loose * fall } else { loose * libm::pow(fall, params.slope_exponent.into()) };
        let lasts = if would_go > sand { sand / would_go } else { 1.0 };
        rock + lasts * (loose - rock)
    }

    /// Finds w of every cell. Returns what is cut where the slope has an exponent, in cubic metres: all of it leaves.
    fn up(&self, nodes: &mut [Node]) -> f64 {
        let exponent = f64::from(self.params.slope_exponent);
        let mut left = 0.0;
        for here in 0..nodes.len() {
            let Node { below, ground, flux, follow, .. } = nodes[here];
            let to = nodes[below as usize];
            nodes[here].flux = if below as usize == here {
                0.0
            } else if self.linear {
                flux + follow * to.flux
            } else {
                let fall = f64::from(ground) - (f64::from(to.ground) + to.flux);
                let stays = fall_left(fall, follow, exponent);
                left += follow * libm::pow(stays.max(0.0), exponent) * self.cell_area;
                stays - fall
            };
        }
        left
    }
}

/// The fall x for which x + κ·xⁿ is the fall before, by Newton's method between bounds that close in on it.
fn fall_left(before: f64, cut: f64, exponent: f64) -> f64 {
    if before <= 0.0 || cut <= 0.0 {
        return before;
    }
    let (mut low, mut high) = (0.0, before);
    let mut fall = before / (1.0 + cut * libm::pow(before, exponent - 1.0));
    for _ in 0..100 {
        let power = cut * libm::pow(fall, exponent);
        let over = fall + power - before;
        if over.abs() <= 1e-13 * before {
            break;
        }
        if over > 0.0 {
            high = fall;
        } else {
            low = fall;
        }
        let next = fall - over * fall / (fall + exponent * power);
        fall = if next > low && next < high { next } else { 0.5 * (low + high) };
    }
    fall
}

#[cfg(test)]
mod tests {
    use super::fall_left;

    #[test]
    fn what_is_left_of_a_fall_and_what_is_cut_of_it_make_the_whole() {
        for before in [1e-6, 0.3, 12.0, 5e5] {
            for cut in [1e-9, 0.2, 40.0, 1e12] {
                for exponent in [0.5, 0.8, 1.0, 1.6, 2.0] {
                    let fall = fall_left(before, cut, exponent);
                    let whole = fall + cut * fall.powf(exponent);
                    assert!((whole / before - 1.0).abs() < 1e-9, "{before} {cut} {exponent}: {fall}");
                }
            }
        }
        assert_eq!((fall_left(-2.0, 3.0, 1.0), fall_left(2.0, 0.0, 1.0)), (-2.0, 2.0));
    }
}
