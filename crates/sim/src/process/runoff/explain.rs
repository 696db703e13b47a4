//! Explanation of runoff and erosion in a cell.

use super::{
    super::{
        Mode,
        explain::{ExplainedCell, Explanation, Term},
    },
    Neighbours, Runoff,
    law::{Musgrave, outflow_per_fall},
};
use crate::core::{border::Border, terrain::Terrain};

/// Explains runoff, erosion and deposition in a cell.
pub(super) fn explain(runoff: &Runoff, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&runoff.setup, &runoff.setup.params);
    let cell = ExplainedCell { terrain, place, mode: params.mode };
    let level = |cell: usize| terrain.bedrock[cell] + terrain.sand[cell] + terrain.water[cell];
    let here = terrain.bedrock.index(place[0], place[1]);
    let counts = |step: u8| params.neighbours == Neighbours::Eight || step & 1 == 0;
    let around = Border::of(terrain).neighbours(here).filter(|&(step, _)| counts(step));
    let falls: Vec<f32> = around.map(|(_, other)| (level(here) - level(other)).max(0.0)).collect();
    let (lower, sum) = (falls.iter().copied().fold(0.0, f32::max), falls.iter().sum::<f32>());
    let law = Musgrave::new(params);
    let (water, carried) = (cell.layer_value(&terrain.water), cell.layer_value(&terrain.suspended));
    let capacity = cell.param_value(setup, |params| params.capacity);
    let goes = if sum > 0.0 { sum * outflow_per_fall(law, water, lower, sum) } else { 0.0 };
    let could = capacity * goes;
    let outcome = if water == 0.0 {
        "The cell is dry: nothing runs off."
    } else if lower == 0.0 {
        "No neighbour has a lower water surface: the water stays, and its sediment settles."
    } else if carried > could {
        "The sediment load exceeds the transport capacity: part of it settles."
    } else {
        "The water runs to the lower neighbours in proportion to the fall and erodes until its load approaches the \
            transport capacity."
    };
    let terms = vec![
        Term::new("w", "depth of the water", water, "m"),
        Term::new("Dmax", "fall of the water surface to the lowest neighbour", lower, "m"),
        Term::new("ΣD", "sum of the falls to all lower neighbours", sum, "m"),
        Term::new("N", "number of neighbours", law.neighbours as f64, ""),
        Term::new("water", "outflow to them", goes, "m"),
        Term::new("Kc", "coefficient of the transport capacity", capacity, ""),
        Term::new("c", "transport capacity of the outflow, as a depth of sediment", could, "m"),
        Term::new("s", "suspended sediment, as a depth", carried, "m"),
    ];
    let equation = match params.mode {
        Mode::Published => "water = min(w, Dmax),   c = Kc·water",
        Mode::Corrected => "water = min(w, ΣD/(N + 1)),   c = Kc·water",
    };
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
