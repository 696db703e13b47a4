//! Fluvial erosion and deposition in a tick, solved implicitly for the whole map.
//!
//! With the drainage area A weighted by rain, the distance d to the receiver b, the sediment Qj of the donors in a tick, the cell area a
//! and the change of height w (Hergarten 2020, Earth Surf. Dynam. 8, 841, written in changes instead of heights, for precision):
//!
//! ```text
//! w = −κ·(z + w − z_b − w_b) + γ·Q,     κ = Kd·A^m·δt/d,   γ = G/A
//! Q = ΣQj − a·w,                        Qj = pj + qj·w
//! R = a − Σqj,   D = 1 + κ + γ·R,   f = [γ·Σpj − κ·(z − z_b)]/D,   g = κ/D,   p = Σpj − R·f,   q = −R·g
//! ```
//!
//! A downstream sweep of the trees computes f, g, p and q, an upstream sweep w = f + g·w_b. Outlets keep their height, so their outflow
//! is the sum of p. The scheme is stable for every δt. Modifications:
//!
//! - Ground above the critical slope to its receiver fails first and is added to the sediment of the river there.
//! - Lakes do not erode (κ = 0), and their deposits do not rise above the spill point. Deposits are never steeper than the critical
//!   slope.
//! - Without deposition, the slope may have an exponent: x + κ·xⁿ = z − z_b is solved for the fall x by Newton's method
//!   (Braun & Willett 2013).
//! - Sand erodes first, for the fraction of the tick that it lasts at the current slope; rock erodes in the rest.

use super::{
    FluvialCoefficients, Params,
    pieces::{Contribution, FlowPiece, MAX_PIECE_CELLS, PieceNode, PieceRoot},
};
use crate::{core::terrain::Terrain, hydrology::drainage::Drainage, process::Mode};

/// Number of precomputed powers of areas.
const POWERS: usize = 4096;

/// Marks a root in place of the index of a receiver.
const ROOT: u32 = u32::MAX;

/// Law of a tick.
pub(super) struct FluvialSolver<'a> {
    params: &'a Params,
    numbers: &'a FluvialCoefficients<'a>,
    drainage: &'a Drainage,
    terrain: &'a Terrain,
    /// Heights after uplift, before erosion, in metres.
    ground: &'a [f32],
    cell_size: f64,
    cell_area: f64,
    linear: bool,
    /// A^m·δt for areas of a whole number of cells, the most common ones, up to [`POWERS`].
    powers: &'a [f64],
}

/// Returns A^m·δt of an area in square metres.
#[inline(never)]
pub(super) fn power(params: &Params, area: f32) -> f64 {
    f64::from(libm::powf(area, params.area_exponent)) * f64::from(params.years_per_tick)
}

/// Returns A^m·δt for areas of whole numbers of cells, of `cell_area` square metres each, on a map of `count` cells.
pub(super) fn powers(params: &Params, cell_area: f64, count: usize) -> Vec<f64> {
    (0..POWERS.min(count)).map(|cells| power(params, cells as f32 * cell_area as f32)).collect()
}

/// Returns the incision in a tick per unit of `fall`, for ground of this softness and depth of sand in metres. `own` is the value for rock
/// of neutral softness. Sand erodes first, for the fraction of the tick that it lasts.
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

impl<'a> FluvialSolver<'a> {
    /// Creates the law for ground of these heights, with precomputed powers of areas.
    pub(super) fn new(
        params: &'a Params,
        numbers: &'a FluvialCoefficients<'a>,
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
            linear: params.effective_slope_exponent() == 1.0,
            powers,
        }
    }

    /// Returns the change of the ground of a cell, in metres.
    #[inline(always)]
    pub(super) fn change(&self, node: &PieceNode) -> f32 {
        (f64::from(node.ground) - f64::from(self.ground[node.cell as usize]) + node.flux) as f32
    }

    /// Returns the drainage area of a cell, including itself, weighted by rain, in square metres.
    #[inline(always)]
    pub(super) fn area(&self, node: &PieceNode) -> f32 {
        node.area * self.cell_area as f32
    }

    /// Fills a piece upstream from its roots until it is full. Slopes above the critical slope fail.
    pub(super) fn grow_piece(&self, piece: &mut FlowPiece) {
        let FlowPiece { nodes, roots, waiting, remaining_roots: untouched, .. } = piece;
        let mut begun = 0;
        while nodes.len() < MAX_PIECE_CELLS && begun < roots.len() {
            let root = roots[begun];
            begun += 1;
            waiting.push((root.cell, ROOT));
            self.drainage.visit_upstream(waiting, MAX_PIECE_CELLS - nodes.len(), |cell, below| {
                let here = nodes.len() as u32;
                let index = cell as usize;
                let own = self.ground[index];
                let (below, base) =
                    if below == ROOT { (here, root.base) } else { (below, Some(nodes[below as usize].ground)) };
                let ground = base.map_or(own, |base| own.min((f64::from(base) + self.stable_fall(index)) as f32));
                let rain = self.terrain.rain.as_ref().map_or(1.0, |rain| rain[index]);
                let slid = (f64::from(own) - f64::from(ground)) * self.cell_area;
                nodes.push(PieceNode { cell, below, ground, area: rain, flux: slid, follow: 0.0 });
                here
            });
        }
        untouched.extend(roots.drain(begun..));
    }

    /// Returns the largest stable height of a cell above its receiver, in metres.
    #[inline(always)]
    fn stable_fall(&self, cell: usize) -> f64 {
        self.numbers.at(cell).critical_slope * self.drainage.distance(cell) * self.cell_size
    }

    /// Computes f and g of every cell of a piece, the contributions of its roots, and the outflow at outlets.
    pub(super) fn sweep_downstream(&self, piece: &mut FlowPiece) {
        let FlowPiece { nodes, roots, left, .. } = piece;
        let mut roots = roots.iter_mut().rev();
        for here in (0..nodes.len()).rev() {
            let below = nodes[here].below as usize;
            if below != here {
                let ([flux, follow], contribution) = self.solve_cell(&nodes[here], nodes[below].ground);
                (nodes[here].flux, nodes[here].follow) = (flux, follow);
                nodes[below].take(contribution);
            } else if let Some(root) = roots.next() {
                let node = &mut nodes[here];
                match root.base {
                    Some(base) => ([node.flux, node.follow], root.contribution) = self.solve_cell(node, base),
                    None => *left += node.flux,
                }
            }
        }
    }

    /// Returns f and g of a cell and its contribution to its receiver, whose height is `base` in metres.
    #[inline(always)]
    fn solve_cell(&self, node: &PieceNode, base: f32) -> ([f64; 2], Contribution) {
        let cell = node.cell as usize;
        let lake = self.drainage.lake(cell, self.ground[cell]);
        let cut = if lake.is_some() { 0.0 } else { self.cut(node, base) };
        if !self.linear {
            return ([0.0, cut], Contribution { area: node.area, flux: node.flux, follow: 0.0 });
        }
        let fall = f64::from(node.ground) - f64::from(base);
        let deposition = self.numbers.at(cell).deposition;
        let settles = if node.area > 0.0 { deposition / (f64::from(node.area) * self.cell_area) } else { 0.0 };
        let share = self.cell_area + node.follow;
        let of_whole = 1.0 / (1.0 + cut + settles * share);
        let under = lake.map_or(f64::INFINITY, |level| f64::from(level) - f64::from(node.ground));
        let room = (self.stable_fall(cell) - fall).min(under).max(0.0);
        let grows = ((settles * node.flux - cut * fall) * of_whole).min(room);
        let follows = cut * of_whole;
        ([grows, follows], Contribution { area: node.area, flux: node.flux - share * grows, follow: share * follows })
    }

    /// Returns κ, the incision in a tick per metre of fall to the receiver; with a slope exponent n, per fall to the power n.
    #[inline(always)]
    fn cut(&self, node: &PieceNode, base: f32) -> f64 {
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

    /// Computes w of every cell of a piece; `grown` returns that of the receiver of a root. With a slope exponent, all eroded material
    /// leaves the map.
    pub(super) fn sweep_upstream(&self, piece: &mut FlowPiece, grown: impl Fn(&PieceRoot) -> f64) {
        let exponent = f64::from(self.params.slope_exponent);
        let FlowPiece { nodes, roots, left, .. } = piece;
        let mut roots = roots.iter();
        for here in 0..nodes.len() {
            let PieceNode { below, ground, flux, follow, .. } = nodes[here];
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

/// Returns the fall x that solves x + κ·xⁿ = `before`, by Newton's method safeguarded with bisection.
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
    fn fall_left_satisfies_implicit_incision_equation() {
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
