//! What a cell gives to a lower neighbour.

use super::{Neighbours, Params};
use crate::sim::{cells::Cells, masked::between, process::Mode};

/// What a strip moved, in metres times cells.
#[derive(Default)]
pub(super) struct Sums {
    pub dug: f64,
    pub settled: f64,
    pub evaporated: f64,
    pub water_out: f64,
    pub solid_out: f64,
    /// Cells that dug less because a neighbour lies where it does.
    pub spared: u64,
}

/// The numbers of both modes.
#[derive(Clone, Copy)]
pub(super) struct Law {
    pub published: bool,
    pub neighbours: usize,
    capacity: f32,
    deposition: f32,
    dissolution: f32,
    pub stays: f32,
}

impl Law {
    pub fn new(params: &Params) -> Self {
        Self {
            published: params.mode == Mode::Published,
            neighbours: if params.neighbours == Neighbours::Four { 4 } else { 8 },
            capacity: params.capacity,
            deposition: params.deposition,
            dissolution: params.dissolution,
            stays: 1.0 - params.evaporation,
        }
    }

    /// What no neighbour gets more of, so that all of them and the cell itself can have as much.
    pub fn part(self) -> f32 {
        1.0 / (self.neighbours + 1) as f32
    }
}

/// The law of some cells: on free ground, or in proportion to the mask.
#[derive(Clone, Copy)]
pub(super) struct CellLaw<V> {
    pub capacity: V,
    pub deposition: V,
    pub dissolution: V,
}

/// The law on free ground and under the mask.
#[derive(Clone, Copy)]
pub(super) struct Laws<const MASKED: bool>(pub [Law; 2]);

impl<const MASKED: bool> Laws<MASKED> {
    #[inline(always)]
    pub fn at<V: Cells>(self, mask: &[f32], x: usize) -> CellLaw<V> {
        let Self([free, under]) = self;
        CellLaw {
            capacity: between::<V, MASKED>([free.capacity, under.capacity], mask, x),
            deposition: between::<V, MASKED>([free.deposition, under.deposition], mask, x),
            dissolution: between::<V, MASKED>([free.dissolution, under.dissolution], mask, x),
        }
    }
}

/// What a cell gives: water and sediment per metre that a neighbour lies lower; how fast its ground is dug, and which share
/// of the sediment that would go it really has.
#[derive(Clone, Copy)]
pub(super) struct Giver<V> {
    pub water: V,
    pub load: V,
    pub soft: V,
    pub has: V,
}

/// What goes from a cell to a lower neighbour, what of it settles and what is dug; what is not dug, so that the cell stays
/// higher.
pub(super) struct Goes<V> {
    pub water: V,
    pub load: V,
    pub settles: V,
    pub dug: V,
    pub spared: V,
}

/// What a cell gives to a neighbour: by how much its level and its ground are higher.
#[inline(always)]
pub(super) fn pair<V: Cells>(law: Law, own: CellLaw<V>, giver: Giver<V>, level: V, ground: V) -> Goes<V> {
    let fall = level.positive();
    let (water, load) = (giver.water * fall, giver.load * fall);
    let able = own.capacity * water;
    let wants = own.dissolution * giver.soft * (able - load).positive();
    // Not below the neighbour, though all of them take.
    let dug = if law.published { wants } else { wants.min(ground.positive() * V::all(law.part())) };
    let goes = (load.min(able) + dug) * giver.has;
    Goes { water, load: goes, settles: own.deposition * (load - able).positive(), dug, spared: wants - dug }
}
