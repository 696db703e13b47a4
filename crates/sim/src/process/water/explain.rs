//! Why water runs as fast as it does in a cell, and whether it digs there.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    Capacity, Water,
    friction::MOST_LOAD,
};
use crate::core::terrain::Terrain;

/// Depth below which a cell counts as dry, in metres.
const DRY: f64 = 1e-4;

/// What water does in a cell.
pub(super) fn explain(water: &Water, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&water.setup, &water.setup.params);
    let cell = Cell { terrain, place, mode: params.mode };
    let (depth, carried) = (cell.of(&terrain.water), cell.of(&terrain.suspended));
    let speed = water.velocity(terrain).map_or(0.0, |[u, v]| libm::hypot(cell.of(&u), cell.of(&v)));
    let deepest = f64::from(params.max_erosion_depth);
    let shallow = match (params.depth_limit, deepest > 0.0) {
        (false, _) => 1.0,
        (true, true) => (1.0 - depth / deepest).max(0.0),
        // Down to no depth: nothing is dug.
        (true, false) => 0.0,
    };
    let capacity = cell.number(setup, |params| params.sediment_capacity);
    let gravity = f64::from(params.gravity);
    let mut terms = vec![
        Term::new("h", "depth of the water", depth, "m"),
        Term::new("v", "speed of the water", speed, "m/s"),
        Term::new(
            "Fr",
            "speed over that of a long wave; above 1 no wave can run upstream",
            speed / (gravity * depth.max(DRY)).sqrt(),
            "",
        ),
    ];
    let (equation, could) = match params.mode {
        Mode::Corrected => {
            let roughness = cell.number(setup, |params| params.roughness);
            let slope = roughness * roughness * speed * speed / libm::pow(depth.max(DRY), 4.0 / 3.0);
            terms.push(Term::new("n", "roughness of the bed", roughness, "s/m^(1/3)"));
            terms.push(Term::new("Sf", "slope down which the flow spends its energy", slope, ""));
            let tilt = slope / (1.0 + slope * slope).sqrt();
            let share = (capacity * speed * tilt * shallow).min(MOST_LOAD.into());
            ("Sf = n²·v²/h^(4/3),   C = h·min(1/2, Kc·v·sin(atan Sf)·(1 − h/Kdmax))", Some(depth * share))
        }
        // It asks how squarely the flow meets the bed, which no slope of the cell alone tells.
        Mode::Published if params.capacity == Capacity::Collision => ("C = Kc·max(least, −N·V)·v·(1 − h/Kdmax)", None),
        Mode::Published => {
            let slope = f64::from(crate::core::analysis::slope_at(terrain, place[0], place[1])).to_radians();
            let tilt = libm::sin(slope).max(f64::from(params.least_tilt));
            terms.push(Term::new("sin α", "of the slope of the ground, never less than the least tilt", tilt, ""));
            ("C = Kc·sin α·v·(1 − h/Kdmax)", Some(capacity * tilt * speed * shallow))
        }
    };
    terms.push(Term::new("Kc", "sediment capacity", capacity, ""));
    terms.push(Term::new("1 − h/Kdmax", "share that deep water leaves of it", shallow, ""));
    terms.extend(could.map(|could| Term::new("C", "sediment that the water can carry, as a depth", could, "m")));
    terms.push(Term::new("s", "sediment that it carries", carried, "m"));
    let outcome = if depth < DRY {
        "It is dry: no water flows here, and none digs."
    } else if shallow == 0.0 {
        "Water of this depth does not dig: what it carries settles."
    } else {
        match could {
            None => {
                "Where the flow meets the bed squarely, it can carry more and digs; elsewhere a part of what it carries settles."
            }
            Some(could) if could <= carried => "The water carries more than it can: a part settles.",
            Some(_) if params.mode == Mode::Corrected && cell.slope() == 0.0 => {
                "No neighbour lies lower: the water digs next to nothing here, and what rolls along the bed stays."
            }
            Some(_) => "The water could carry more than it does: it digs, sand first.",
        }
    };
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
