//! Why a river cuts a cell, or why the land rises there.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    Fluvial,
};
use crate::core::terrain::{Edge, Terrain};

/// What uplift and rivers do in a cell; none before the first tick.
pub(super) fn explain(fluvial: &Fluvial, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&fluvial.setup, &fluvial.setup.params);
    let cell = Cell { terrain, place, mode: params.mode };
    let size = (terrain.width(), terrain.height());
    let areas = fluvial.areas.as_ref().filter(|areas| (areas.width(), areas.height()) == size)?;
    let area = Some(cell.of(areas)).filter(|area| *area > 0.0)?;
    let (slope, sand) = (cell.slope(), cell.of(&terrain.sand));
    let [m, given] = [params.area_exponent, params.slope_exponent].map(f64::from);
    let deposition = cell.number(setup, |params| params.deposition);
    // What is laid down again makes the law linear.
    let n = if deposition > 0.0 { 1.0 } else { given };
    // The erodibility is stated for rock of softness 0.5; sand counts as long as it lasts in a tick.
    let own = cell.number(setup, |params| params.erodibility);
    let erodibility = if params.mode == Mode::Published {
        own
    } else {
        let (rock, loose) = (2.0 * own * cell.of(&terrain.softness), own * f64::from(params.sand_factor));
        let goes = loose * libm::pow(area, m) * libm::pow(slope, n) * f64::from(params.years_per_tick);
        rock + if sand > 0.0 { (sand / goes).min(1.0) * (loose - rock) } else { 0.0 }
    };
    let cuts = 1e3 * erodibility * libm::pow(area, m) * libm::pow(slope, n);
    let map = terrain.uplift.as_ref().map_or(1.0, |map| cell.of(map));
    let rises = 1e3 * cell.number(setup, |params| params.uplift_rate) * map;
    let needed = rises * (1.0 + deposition);
    let at_border = place[0].min(place[1]) == 0 || place[0] + 1 == size.0 || place[1] + 1 == size.1;
    let ground = cell.of(&terrain.bedrock) + sand;
    // Elsewhere what comes from above decides as well.
    let even = deposition == 0.0 || terrain.uplift.is_none() && terrain.rain.is_none() && terrain.mask.is_none();
    let outcome = if ground < f64::from(params.sea()) {
        "It lies under the sea: rivers end here, and what they bring has left."
    } else if at_border && terrain.edge == Edge::Open {
        "It lies at the border, where land keeps its height: what comes here leaves the map."
    } else if slope == 0.0 {
        "No neighbour lies lower: a lake fills this hollow up to its lowest outlet, and debris is laid down."
    } else if !even {
        "Whether it gets higher depends on the debris that comes from above too: this law lays a part of it down again."
    } else if cuts > 1.05 * needed {
        "The river cuts faster than the land rises: the ground gets lower."
    } else if cuts < 0.95 * needed {
        "The land rises faster than the river cuts: the ground gets higher."
    } else {
        "In balance: the river cuts as fast as the land rises."
    };
    let terms = vec![
        Term::new("A", "land whose rain passes here", area, "m²"),
        Term::new("S", "steepest fall to a neighbour, as a slope", slope, ""),
        Term::new("K", "erodibility of this ground", erodibility, ""),
        Term::new("m", "exponent of the area", m, ""),
        Term::new("n", "exponent of the slope", n, ""),
        Term::new("E", "what the river can cut", cuts, "mm/yr"),
        Term::new("U", "how fast the land rises", rises, "mm/yr"),
        Term::new("G", "deposition coefficient: how easily what was eroded is laid down again", deposition, ""),
        Term::new("(1 + G)·U", "what it cuts in balance, as it lays a part down again", needed, "mm/yr"),
    ];
    Some(Explanation { equation: "E = K·A^m·S^n,   in balance (1 + G)·U", terms, outcome: outcome.to_owned() })
}
