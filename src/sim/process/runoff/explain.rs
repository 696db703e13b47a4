//! What the runoff of 1989 takes from a cell.

use super::{
    super::{
        Mode, Process,
        explain::{Cell, Explanation, Term},
    },
    Runoff,
};
use crate::sim::terrain::Terrain;

/// What runoff does in a cell.
pub(super) fn explain(runoff: &Runoff, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (runoff.setup(), &runoff.setup().params);
    let cell = Cell { terrain, place, mode: params.mode };
    let level = |x: usize, y: usize| {
        f64::from(terrain.bedrock.at(x, y)) + f64::from(terrain.sand.at(x, y)) + f64::from(terrain.water.at(x, y))
    };
    let [x, y] = place;
    let rows = y.saturating_sub(1)..(y + 2).min(terrain.height());
    let around =
        rows.flat_map(|row| (x.saturating_sub(1)..(x + 2).min(terrain.width())).map(move |column| (column, row)));
    let lower = around.map(|(column, row)| level(x, y) - level(column, row)).fold(0.0, f64::max);
    let (water, carried) = (cell.of(&terrain.water), cell.of(&terrain.suspended));
    let capacity = cell.number(setup, |params| params.capacity);
    let goes = water.min(lower);
    let could = capacity * goes;
    let outcome = if water == 0.0 {
        "It is dry: nothing runs off."
    } else if lower == 0.0 {
        "No neighbour's water stands lower: the water stays, and what it carries settles."
    } else if carried > could {
        "The water carries more than it can take along: a part settles."
    } else {
        "The water runs to the lower neighbours, in parts as they lie lower, and digs until it carries what it can."
    };
    let terms = vec![
        Term::new("w", "depth of the water", water, "m"),
        Term::new("D", "how much lower the water of the lowest neighbour stands", lower, "m"),
        Term::new("Kc", "capacity", capacity, ""),
        Term::new("c", "sediment that the water takes along at most", could, "m"),
        Term::new("s", "sediment in the water", carried, "m"),
    ];
    let equation = match params.mode {
        Mode::Published => "water = min(w, Dmax)·D/ΣD,   c = Kc·water",
        Mode::Default => "water = D·min(1/(N + 1), w/ΣD),   c = Kc·water",
    };
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
