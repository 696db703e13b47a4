//! Law of the transfer from a cell to a lower neighbour.

use super::{Neighbours, Params};
use crate::{process::Mode, simd::cells::Cells};

/// Totals of a strip, in metres times cells.
#[derive(Default)]
pub(super) struct RunoffSums {
    pub dug: f64,
    pub settled: f64,
    pub evaporated: f64,
    pub water_out: f64,
    pub solid_out: f64,
    /// Number of cells in which the height of a neighbour limited erosion.
    pub spared: u64,
}

/// Settings of the law that are uniform on the map.
#[derive(Clone, Copy)]
pub(super) struct Musgrave {
    pub published: bool,
    pub neighbours: usize,
}

impl Musgrave {
    pub fn new(params: &Params) -> Self {
        let neighbours = if params.neighbours == Neighbours::Four { 4 } else { 8 };
        Self { published: params.mode == Mode::Published, neighbours }
    }

    /// Returns the largest fraction of a height difference that may move to one neighbour: 1/(N + 1), so that no pair overshoots.
    pub fn max_fraction(self) -> f32 {
        1.0 / (self.neighbours + 1) as f32
    }
}

/// Returns the coefficients that the mask scales, in the order of the constants below.
pub(super) fn numbers(params: &Params) -> [f32; 4] {
    [params.capacity, params.deposition, params.dissolution, 1.0 - params.evaporation]
}

pub(super) const CAPACITY: usize = 0;
pub(super) const DEPOSITION: usize = 1;
pub(super) const DISSOLUTION: usize = 2;
/// Fraction of the water that does not evaporate.
pub(super) const RETAINED_WATER: usize = 3;

/// Donor cell: outflow of water and sediment per metre of fall, transport capacity per metre of water, fraction of the capacity deficit
/// that is eroded, and fraction of the sediment outflow that is available.
#[derive(Clone, Copy)]
pub(super) struct Donor<V> {
    pub water: V,
    pub load: V,
    pub capacity: V,
    pub digs: V,
    pub has: V,
}

/// Returns the outflow to a neighbour per metre of fall. `most` is the largest fall; `sum`, the sum of all falls, must be positive.
#[inline(always)]
pub(super) fn outflow_per_fall<V: Cells>(law: Musgrave, water: V, most: V, sum: V) -> V {
    if law.published { water.min(most) / sum } else { (water / sum).min(V::all(law.max_fraction())) }
}

/// Transfer from a cell to a lower neighbour: outflow of water and sediment, erosion, and erosion suppressed to keep the cell higher.
pub(super) struct PairTransfer<V> {
    pub water: V,
    pub load: V,
    /// Sediment in excess of the transport capacity of this water.
    pub surplus: V,
    pub dug: V,
    pub spared: V,
}

/// Returns the transfer to a neighbour. `level` and `ground` are the height differences of the water surface and of the ground.
#[inline(always)]
pub(super) fn pair_transfer<V: Cells>(law: Musgrave, giver: Donor<V>, level: V, ground: V) -> PairTransfer<V> {
    let fall = level.positive();
    let (water, load) = (giver.water * fall, giver.load * fall);
    let capacity = giver.capacity * water;
    let wants = giver.digs * (capacity - load).positive();
    // Never below the neighbour, even if all neighbours receive sediment.
    let dug = if law.published { wants } else { wants.min(ground.positive() * V::all(law.max_fraction())) };
    let goes = (load.min(capacity) + dug) * giver.has;
    PairTransfer { water, load: goes, surplus: (load - capacity).positive(), dug, spared: wants - dug }
}
