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

use super::{
    Numbers, Params,
    pieces::{FULL, Gift, Node, Piece, Root},
};
use crate::{core::terrain::Terrain, hydrology::drainage::Drainage, process::Mode};

/// Powers of areas that are worked out beforehand.
const POWERS: usize = 4096;

/// Said of a root instead of the place of its receiver.
const ROOT: u32 = u32::MAX;

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
    linear: bool,
    /// A^m·δt of the first whole numbers of cells, which most areas are.
    powers: &'a [f64],
}

/// A^m·δt of an area in square metres.
#[inline(never)]
pub(super) fn power(params: &Params, area: f32) -> f64 {
    f64::from(libm::powf(area, params.area_exponent)) * f64::from(params.years_per_tick)
}

/// A^m·δt of the first whole numbers of cells of this area in square metres, on a map of so many.
pub(super) fn powers(params: &Params, cell_area: f64, count: usize) -> Vec<f64> {
    (0..POWERS.min(count)).map(|cells| power(params, cells as f32 * cell_area as f32)).collect()
}

/// Returns the incision in a tick per unit of `fall` of ground with a softness and a depth of sand, in metres, where that of rock of
/// neutral softness is `own`. Sand erodes first, for the fraction of the tick that it lasts.
#[inline(always)]
pub(super) fn incision(params: &Params, own: f64, [softness, sand]: [f32; 2], fall: impl FnOnce() -> f64) -> f64 {
    let (rock, sand) = (own * 2.0 * f64::from(softness), f64::from(sand));
    if params.mode == Mode::Published {
        return own;
    }
    if sand <= 0.0 {
        return rock;
    }
    let loose = own * f64::from(params.sand_factor);
    let would_go = loose * fall();
    let lasts = if would_go > sand { sand / would_go } else { 1.0 };
    rock + lasts * (loose - rock)
}

impl<'a> Rivers<'a> {
    /// The law with these powers of areas, on ground of these heights.
    pub(super) fn new(
        params: &'a Params,
        numbers: &'a Numbers<'a>,
        drainage: &'a Drainage,
        terrain: &'a Terrain,
        (ground, powers): (&'a [f32], &'a [f64]),
    ) -> Self {
        Self {
            params,
            numbers,
            drainage,
            terrain,
            ground,
            cell_size: terrain.cell_size.into(),
            cell_area: terrain.cell_area(),
            linear: params.deposition > 0.0 || params.slope_exponent == 1.0,
            powers,
        }
    }

    /// By how much the ground of a cell has grown, in metres.
    #[inline(always)]
    pub(super) fn change(&self, node: &Node) -> f32 {
        (f64::from(node.ground) - f64::from(self.ground[node.cell as usize]) + node.flux) as f32
    }

    /// The rained-on area above a cell and its own, in square metres.
    #[inline(always)]
    pub(super) fn area(&self, node: &Node) -> f32 {
        node.area * self.cell_area as f32
    }

    /// Lists a piece from its roots upwards until it is full; what is too steep slides.
    pub(super) fn climb(&self, piece: &mut Piece) {
        let Piece { nodes, roots, waiting, untouched, .. } = piece;
        let mut begun = 0;
        while nodes.len() < FULL && begun < roots.len() {
            let root = roots[begun];
            begun += 1;
            waiting.push((root.cell, ROOT));
            self.drainage.climb(waiting, FULL - nodes.len(), |cell, below| {
                let here = nodes.len() as u32;
                let index = cell as usize;
                let own = self.ground[index];
                let (below, base) =
                    if below == ROOT { (here, root.base) } else { (below, Some(nodes[below as usize].ground)) };
                let ground = base.map_or(own, |base| own.min((f64::from(base) + self.stands(index)) as f32));
                let rain = self.terrain.rain.as_ref().map_or(1.0, |rain| rain[index]);
                let slid = (f64::from(own) - f64::from(ground)) * self.cell_area;
                nodes.push(Node { cell, below, ground, area: rain, flux: slid, follow: 0.0 });
                here
            });
        }
        untouched.extend(roots.drain(begun..));
    }

    /// How much higher than its receiver a cell may stand, in metres.
    #[inline(always)]
    fn stands(&self, cell: usize) -> f64 {
        self.numbers.at(cell).critical_slope * self.drainage.distance(cell) * self.cell_size
    }

    /// Finds f and g of every cell of a piece, what its roots give, and what reaches outlets.
    pub(super) fn down(&self, piece: &mut Piece) {
        let Piece { nodes, roots, left, .. } = piece;
        let mut roots = roots.iter_mut().rev();
        for here in (0..nodes.len()).rev() {
            let below = nodes[here].below as usize;
            if below != here {
                let ([flux, follow], gift) = self.settle(&nodes[here], nodes[below].ground);
                (nodes[here].flux, nodes[here].follow) = (flux, follow);
                nodes[below].take(gift);
            } else if let Some(root) = roots.next() {
                let node = &mut nodes[here];
                match root.base {
                    Some(base) => ([node.flux, node.follow], root.gift) = self.settle(node, base),
                    None => *left += node.flux,
                }
            }
        }
    }

    /// f and g of a cell, and what it gives to its receiver, which stands at a height of `base` metres.
    #[inline(always)]
    fn settle(&self, node: &Node, base: f32) -> ([f64; 2], Gift) {
        let cell = node.cell as usize;
        let lake = self.drainage.lake(cell, self.ground[cell]);
        let cut = if lake.is_some() { 0.0 } else { self.cut(node, base) };
        if !self.linear {
            return ([0.0, cut], Gift { area: node.area, flux: node.flux, follow: 0.0 });
        }
        let fall = f64::from(node.ground) - f64::from(base);
        let deposition = self.numbers.at(cell).deposition;
        let settles = if node.area > 0.0 { deposition / (f64::from(node.area) * self.cell_area) } else { 0.0 };
        let share = self.cell_area + node.follow;
        let of_whole = 1.0 / (1.0 + cut + settles * share);
        let under = lake.map_or(f64::INFINITY, |level| f64::from(level) - f64::from(node.ground));
        let room = (self.stands(cell) - fall).min(under).max(0.0);
        let grows = ((settles * node.flux - cut * fall) * of_whole).min(room);
        let follows = cut * of_whole;
        ([grows, follows], Gift { area: node.area, flux: node.flux - share * grows, follow: share * follows })
    }

    /// κ: by how much a fall of one metre to the receiver is cut in a tick; with an exponent of the slope, that of the fall's power.
    #[inline(always)]
    fn cut(&self, node: &Node, base: f32) -> f64 {
        let cell = node.cell as usize;
        let params = self.params;
        let far = self.drainage.distance(cell) * self.cell_size;
        let whole = node.area as usize;
        let power = match self.powers.get(whole) {
            Some(power) if whole as f32 == node.area => *power,
            _ => power(params, node.area * self.cell_area as f32),
        };
        let power = if self.linear { power / far } else { power / libm::pow(far, params.slope_exponent.into()) };
        let own = self.numbers.at(cell).erodibility * power;
        incision(params, own, [self.terrain.softness[cell], self.terrain.sand[cell]], || {
            let fall = (f64::from(node.ground) - f64::from(base)).max(0.0);
            if self.linear { fall } else { libm::pow(fall, params.slope_exponent.into()) }
        })
    }

    /// Finds w of every cell of a piece; `grown` is that of a root's receiver. What is cut where the slope has an exponent leaves,
    /// all of it.
    pub(super) fn up(&self, piece: &mut Piece, grown: impl Fn(&Root) -> f64) {
        let exponent = f64::from(self.params.slope_exponent);
        let Piece { nodes, roots, left, .. } = piece;
        let mut roots = roots.iter();
        for here in 0..nodes.len() {
            let Node { below, ground, flux, follow, .. } = nodes[here];
            let (base, growth) = if below as usize == here {
                match roots.next().and_then(|root| Some((root.base?, grown(root)))) {
                    Some(found) => found,
                    None => {
                        nodes[here].flux = 0.0;
                        continue;
                    }
                }
            } else {
                let to = nodes[below as usize];
                (to.ground, to.flux)
            };
            nodes[here].flux = if self.linear {
                flux + follow * growth
            } else {
                let fall = f64::from(ground) - (f64::from(base) + growth);
                let stays = fall_left(fall, follow, exponent);
                *left += follow * libm::pow(stays.max(0.0), exponent) * self.cell_area;
                stays - fall
            };
        }
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
    fn what_is_left_of_a_fall_and_what_is_incision_it_make_the_whole() {
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
