//! What the runoff of 1989 takes from a cell.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    Neighbours, Runoff,
};
use crate::core::terrain::Terrain;

/// What runoff does in a cell.
pub(super) fn explain(runoff: &Runoff, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&runoff.setup, &runoff.setup.params);
    let cell = Cell { terrain, place, mode: params.mode };
    let level = |x: usize, y: usize| {
        f64::from(terrain.bedrock.at(x, y)) + f64::from(terrain.sand.at(x, y)) + f64::from(terrain.water.at(x, y))
    };
    let [x, y] = place;
    let along = |place: usize, step: isize, side: usize| terrain.edge.index(place as isize + step, side);
    let steps = (-1..=1).flat_map(|down| (-1..=1).map(move |right| (right, down))).filter(|step| *step != (0, 0));
    let counts = |(right, down): &(isize, isize)| params.neighbours == Neighbours::Eight || right * down == 0;
    let falls: Vec<f64> = steps
        .filter(counts)
        .filter_map(|(right, down)| Some((along(x, right, terrain.width())?, along(y, down, terrain.height())?)))
        .map(|(column, row)| (level(x, y) - level(column, row)).max(0.0))
        .collect();
    let (lower, sum) = (falls.iter().copied().fold(0.0, f64::max), falls.iter().sum::<f64>());
    let neighbours = if params.neighbours == Neighbours::Four { 4.0 } else { 8.0 };
    let (water, carried) = (cell.of(&terrain.water), cell.of(&terrain.suspended));
    let capacity = cell.number(setup, |params| params.capacity);
    let goes = match params.mode {
        Mode::Published => water.min(lower),
        Mode::Corrected => water.min(sum / (neighbours + 1.0)),
    };
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
        Term::new("N", "neighbours", neighbours, ""),
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
