//! Why a river cuts a cell, or why the land rises there.

use super::{
    super::{
        Mode, Process,
        explain::{Cell, Explanation, Term},
    },
    Fluvial,
};
use crate::sim::terrain::Terrain;

/// What uplift and rivers do in a cell; none before the first tick.
pub(super) fn explain(fluvial: &Fluvial, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (fluvial.setup(), &fluvial.setup().params);
    let cell = Cell { terrain, place, mode: params.mode };
    let area = cell.of(fluvial.areas.as_ref()?);
    let (slope, sand) = (cell.slope(), cell.of(&terrain.sand));
    // The erodibility is stated for rock of softness 0.5, and sand is as much softer as its factor says.
    let softer = if params.mode == Mode::Published {
        1.0
    } else if sand > 0.0 {
        f64::from(params.sand_factor)
    } else {
        2.0 * cell.of(&terrain.softness)
    };
    let erodibility = cell.number(setup, |params| params.erodibility) * softer;
    let [m, n] = [params.area_exponent, params.slope_exponent].map(f64::from);
    let cuts = 1e3 * erodibility * libm::pow(area, m) * libm::pow(slope, n);
    let map = terrain.uplift.as_ref().map_or(1.0, |map| cell.of(map));
    let rises = 1e3 * cell.number(setup, |params| params.uplift_rate) * map;
    let needed = rises * (1.0 + cell.number(setup, |params| params.deposition));
    let outcome = if slope == 0.0 {
        "It lies lower than all its neighbours: nothing runs on from here, and debris is laid down.".to_owned()
    } else if cuts > 1.05 * needed {
        "The river takes more than comes: the ground gets lower.".to_owned()
    } else if cuts < 0.95 * needed {
        "The land rises faster than the river cuts: the ground gets higher.".to_owned()
    } else {
        "In balance: the river cuts as fast as the land rises.".to_owned()
    };
    let terms = vec![
        Term::new("A", "land whose rain passes here", area, "m²"),
        Term::new("S", "steepest fall to a neighbour, as a slope", slope, ""),
        Term::new("K", "erodibility of this ground", erodibility, ""),
        Term::new("m", "exponent of the area", m, ""),
        Term::new("n", "exponent of the slope", n, ""),
        Term::new("E", "what the river can cut", cuts, "mm/yr"),
        Term::new("U", "how fast the land rises", rises, "mm/yr"),
        Term::new("(1 + G)·U", "what it has to cut in balance, as it lays down a part again", needed, "mm/yr"),
    ];
    Some(Explanation { equation: "E = K·A^m·S^n,   in balance with (1 + G)·U", terms, outcome })
}
