//! Why a river cuts a cell, or why the land rises there.

use super::{
    super::explain::{Cell, Explanation, Term},
    Fluvial,
    solve::{incision, power},
};
use crate::core::terrain::{Edge, Terrain};

/// What uplift and rivers do in a cell; none before the first tick.
pub(super) fn explain(fluvial: &Fluvial, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&fluvial.setup, &fluvial.setup.params);
    let cell = Cell { terrain, place, mode: params.mode };
    let size = (terrain.width(), terrain.height());
    let areas = fluvial.areas.as_ref().filter(|areas| (areas.width(), areas.height()) == size)?;
    let area = Some(cell.of(areas)).filter(|area| *area > 0.0)?;
    let (slope, sand) = (f64::from(cell.slope()), cell.of(&terrain.sand));
    let deposition = cell.number(setup, |params| params.deposition);
    // What is laid down again makes the law linear.
    let n = if deposition > 0.0 { 1.0 } else { params.slope_exponent };
    let (power, fall) = (power(params, area), libm::pow(slope, n.into()));
    let own = power * f64::from(cell.number(setup, |params| params.erodibility));
    let cut = incision(params, own, [cell.of(&terrain.softness), sand], || fall);
    let cuts = 1e3 * cut * fall / f64::from(params.years_per_tick);
    let map = terrain.uplift.as_ref().map_or(1.0, |map| cell.of(map));
    let rises = 1e3 * f64::from(cell.number(setup, |params| params.uplift_rate) * map);
    let needed = rises * (1.0 + f64::from(deposition));
    let at_border = place[0].min(place[1]) == 0 || place[0] + 1 == size.0 || place[1] + 1 == size.1;
    let ground = cell.of(&terrain.bedrock) + sand;
    // Elsewhere what comes from above decides as well.
    let even = deposition == 0.0 || terrain.uplift.is_none() && terrain.rain.is_none() && terrain.mask.is_none();
    let outcome = if ground < params.sea() {
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
        Term::new("K", "erodibility of this ground", cut / power, ""),
        Term::new("m", "exponent of the area", params.area_exponent, ""),
        Term::new("n", "exponent of the slope", n, ""),
        Term::new("E", "what the river can cut", cuts, "mm/yr"),
        Term::new("U", "how fast the land rises", rises, "mm/yr"),
        Term::new("G", "deposition coefficient: how easily what was eroded is laid down again", deposition, ""),
        Term::new("(1 + G)·U", "what it cuts in balance, as it lays a part down again", needed, "mm/yr"),
    ];
    Some(Explanation { equation: "E = K·A^m·S^n,   in balance (1 + G)·U", terms, outcome: outcome.to_owned() })
}
