//! Explanation of the transport capacity of droplets in a cell.

use super::{
    super::{
        Mode,
        explain::{ExplainedCell, Explanation, Term},
    },
    DropletLaw, Droplets, Params, streams,
};
use crate::core::terrain::Terrain;

/// Depth below which water counts as absent, in metres.
const SHALLOW: f32 = 1e-3;

/// Explains the droplets in a cell. Returns `None` under laws that depend on the speed of single droplets, and before the first
/// tick.
pub(super) fn explain(droplets: &Droplets, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&droplets.setup, &droplets.setup.params);
    if params.mode != Mode::Corrected || params.law != DropletLaw::Streams {
        return None;
    }
    let cell = ExplainedCell { terrain, place, mode: params.mode };
    let water = droplets.discharge.water_at(terrain, place)?;
    let (slope, entrainment) = (cell.slope(), cell.param_value(setup, |params| params.entrainment));
    let carries = streams::graded_load(&Params { entrainment, ..params.clone() }, water, slope);
    let drainage_area = water + streams::sheet(params);
    let outcome = if cell.is_outlet() {
        "This is an outlet at the edge, the base level: droplets leave the map here without eroding its initial ground."
    } else if cell.layer_value(&terrain.water) > SHALLOW {
        "Standing water: a droplet drifts on for a few cells, erodes nothing and deposits its load."
    } else if slope == 0.0 {
        "No neighbour is lower: the transport capacity is zero, and a droplet deposits its load until it passes the rim."
    } else {
        "A droplet carrying less than C erodes here; one carrying more deposits sand. Each step closes a fraction of \
            the gap to C. Erosion is limited to a fraction of the fall in that step, so that no pit forms."
    };
    let terms = vec![
        Term::new("k", "capacity coefficient", entrainment, "m"),
        Term::new("V", "initial water of a droplet", 1.0, ""),
        Term::new("A", "drainage area", drainage_area, "m²"),
        Term::new("θ", "concavity", params.concavity, ""),
        Term::new("S", "steepest slope to a neighbour", slope, ""),
        Term::new("C", "transport capacity of a fresh droplet", carries, "m"),
    ];
    Some(Explanation { equation: "C = k·V·(A/ha)^θ·S", terms, outcome: outcome.to_owned() })
}
