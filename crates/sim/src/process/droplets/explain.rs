//! What a droplet can carry through a cell.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    DropletLaw, Droplets, Params, streams,
};
use crate::core::terrain::{Edge, Terrain};

/// Water that is less deep, in metres, stands nowhere.
const SHALLOW: f32 = 1e-3;

/// What droplets do in a cell; none under laws that are about the speed of single droplets, and before the first tick.
pub(super) fn explain(droplets: &Droplets, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&droplets.setup, &droplets.setup.params);
    if params.mode != Mode::Corrected || params.law != DropletLaw::Streams {
        return None;
    }
    let cell = Cell { terrain, place, mode: params.mode };
    let water = droplets.discharge.water_at(terrain, place)?;
    let (slope, entrainment) = (cell.slope(), cell.number(setup, |params| params.entrainment));
    let carries = streams::graded_load(&Params { entrainment, ..params.clone() }, water, slope);
    let land = water + streams::sheet(params);
    let at_border = place[0].min(place[1]) == 0 || place[0] + 1 == terrain.width() || place[1] + 1 == terrain.height();
    let outcome = if at_border && terrain.edge == Edge::Open {
        "It lies at the border: droplets leave the map here, and neither dig nor lay sand down."
    } else if cell.of(&terrain.water) > SHALLOW {
        "Water lies here: where it stands, a droplet goes on for a few cells, digs nothing and lays its load down."
    } else if slope == 0.0 {
        "No neighbour lies lower: a droplet can carry no load here, and lays it down until it gets over the rim."
    } else {
        "A droplet that carries less than C digs here, one that carries more lays sand down. In each step its load comes nearer to C by a \
         share. It never digs deeper than a part of the height that it falls in the step, so it makes no pit."
    };
    let terms = vec![
        Term::new("k", "entrainment", entrainment, "m"),
        Term::new("V", "water of a fresh droplet", 1.0, ""),
        Term::new("A", "land whose rain passes here", land, "m²"),
        Term::new("θ", "concavity", params.concavity, ""),
        Term::new("S", "steepest fall to a neighbour, as a slope", slope, ""),
        Term::new("C", "what a fresh droplet can carry", carries, "m"),
    ];
    Some(Explanation { equation: "C = k·V·(A/ha)^θ·S", terms, outcome: outcome.to_owned() })
}
