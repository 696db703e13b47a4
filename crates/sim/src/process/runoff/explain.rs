//! What the runoff of 1989 takes from a cell.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    Neighbours, Runoff,
    law::{Musgrave, outflow_per_fall},
};
use crate::core::{border::Border, terrain::Terrain};

/// What runoff does in a cell.
pub(super) fn explain(runoff: &Runoff, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&runoff.setup, &runoff.setup.params);
    let cell = Cell { terrain, place, mode: params.mode };
    let level = |cell: usize| terrain.bedrock[cell] + terrain.sand[cell] + terrain.water[cell];
    let here = terrain.bedrock.index(place[0], place[1]);
    let counts = |step: u8| params.neighbours == Neighbours::Eight || step & 1 == 0;
    let around = Border::of(terrain).neighbours(here).filter(|&(step, _)| counts(step));
    let falls: Vec<f32> = around.map(|(_, other)| (level(here) - level(other)).max(0.0)).collect();
    let (lower, sum) = (falls.iter().copied().fold(0.0, f32::max), falls.iter().sum::<f32>());
    let law = Musgrave::new(params);
    let (water, carried) = (cell.of(&terrain.water), cell.of(&terrain.suspended));
    let capacity = cell.number(setup, |params| params.capacity);
    let goes = if sum > 0.0 { sum * outflow_per_fall(law, water, lower, sum) } else { 0.0 };
    let could = capacity * goes;
    let outcome = if water == 0.0 {
        "It is dry: nothing runs off."
    } else if lower == 0.0 {
        "No neighbour's water stands lower: the water stays, and what it carries settles."
    } else if carried > could {
        "The water carries more than it can take along: a part settles."
    } else {
        "The water runs to the lower neighbours, in proportion to how much lower they lie, and digs until it carries what it can."
    };
    let terms = vec![
        Term::new("w", "depth of the water", water, "m"),
        Term::new("Dmax", "how much lower the water of the lowest neighbour stands", lower, "m"),
        Term::new("ΣD", "the same of all lower neighbours together", sum, "m"),
        Term::new("N", "neighbours", law.neighbours as f64, ""),
        Term::new("water", "water that goes to them", goes, "m"),
        Term::new("Kc", "capacity", capacity, ""),
        Term::new("c", "sediment that the water takes along at most", could, "m"),
        Term::new("s", "sediment in the water", carried, "m"),
    ];
    let equation = match params.mode {
        Mode::Published => "water = min(w, Dmax),   c = Kc·water",
        Mode::Corrected => "water = min(w, ΣD/(N + 1)),   c = Kc·water",
    };
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
