//! What a cell gives to a lower neighbour.

use super::{Neighbours, Params};
use crate::{process::Mode, simd::cells::Cells};

/// What a strip moved, in metres times cells.
#[derive(Default)]
pub(super) struct RunoffSums {
    pub dug: f64,
    pub settled: f64,
    pub evaporated: f64,
    pub water_out: f64,
    pub solid_out: f64,
    /// Cells that dug less because a neighbour lies where it does.
    pub spared: u64,
}

/// What holds in every cell.
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

    /// What no neighbour gets more of, so that all of them and the cell itself can have as much.
    pub fn part(self) -> f32 {
        1.0 / (self.neighbours + 1) as f32
    }
}

/// What the mask scales, in the order of the names below.
pub(super) fn numbers(params: &Params) -> [f32; 4] {
    [params.capacity, params.deposition, params.dissolution, 1.0 - params.evaporation]
}

pub(super) const CAPACITY: usize = 0;
pub(super) const DEPOSITION: usize = 1;
pub(super) const DISSOLUTION: usize = 2;
/// Share of the water that does not evaporate.
pub(super) const STAYS: usize = 3;

/// What a cell gives: water and sediment per metre that a neighbour lies lower; what a metre of its water can carry, which
/// share of what it could carry more it digs, and which share of the sediment that would go it really has.
#[derive(Clone, Copy)]
pub(super) struct Giver<V> {
    pub water: V,
    pub load: V,
    pub capacity: V,
    pub digs: V,
    pub has: V,
}

/// Returns the outflow to a neighbour per metre of fall: `most` is the largest fall, and `sum`, which is above 0, that of all falls.
#[inline(always)]
pub(super) fn outflow_per_fall<V: Cells>(law: Musgrave, water: V, most: V, sum: V) -> V {
    if law.published { water.min(most) / sum } else { (water / sum).min(V::all(law.part())) }
}

/// What goes from a cell to a lower neighbour, what is dug; what is not dug, so that the cell stays
/// higher.
pub(super) struct Goes<V> {
    pub water: V,
    pub load: V,
    /// How much more sediment comes than this water can carry.
    pub surplus: V,
    pub dug: V,
    pub spared: V,
}

/// What a cell gives to a neighbour: by how much its level and its ground are higher.
#[inline(always)]
pub(super) fn pair<V: Cells>(law: Musgrave, giver: Giver<V>, level: V, ground: V) -> Goes<V> {
    let fall = level.positive();
    let (water, load) = (giver.water * fall, giver.load * fall);
    let capacity = giver.capacity * water;
    let wants = giver.digs * (capacity - load).positive();
    // Not below the neighbour, though all of them take.
    let dug = if law.published { wants } else { wants.min(ground.positive() * V::all(law.part())) };
    let goes = (load.min(capacity) + dug) * giver.has;
    Goes { water, load: goes, surplus: (load - capacity).positive(), dug, spared: wants - dug }
}
