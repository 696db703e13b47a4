//! Why water runs as fast as it does in a cell, and whether it digs there.

use super::{
    super::{
        Mode, Process,
        explain::{Cell, Explanation, Term},
    },
    Water,
};
use crate::sim::terrain::Terrain;

/// Depth below which a cell counts as dry, in metres.
const DRY: f64 = 1e-4;

/// What water does in a cell.
pub(super) fn explain(water: &Water, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (water.setup(), &water.setup().params);
    let cell = Cell { terrain, place, mode: params.mode };
    let (depth, carried) = (cell.of(&terrain.water), cell.of(&terrain.suspended));
    let speed = water.velocity(terrain).map_or(0.0, |[u, v]| libm::hypot(cell.of(&u), cell.of(&v)));
    let deepest = f64::from(params.max_erosion_depth);
    let shallow = if params.depth_limit && deepest > 0.0 { (1.0 - depth / deepest).max(0.0) } else { 1.0 };
    let capacity = cell.number(setup, |params| params.sediment_capacity);
    let gravity = f64::from(params.gravity);
    let mut terms = vec![
        Term::new("h", "depth of the water", depth, "m"),
        Term::new("v", "speed of the water", speed, "m/s"),
        Term::new(
            "Fr",
            "speed over that of a long wave; above 1 the flow shoots",
            speed / (gravity * depth.max(DRY)).sqrt(),
            "",
        ),
    ];
    let (equation, could) = match params.mode {
        Mode::Default => {
            let roughness = cell.number(setup, |params| params.roughness);
            let slope = roughness * roughness * speed * speed / libm::pow(depth.max(DRY), 4.0 / 3.0);
            terms.push(Term::new("n", "roughness of the bed", roughness, "s/m^(1/3)"));
            terms.push(Term::new("Sf", "slope down which the flow spends its energy", slope, ""));
            let tilt = slope / (1.0 + slope * slope).sqrt();
            ("Sf = n²·v²/h^(4/3),   C = h·Kc·v·sin(atan Sf)·(1 − h/Kdmax)", depth * capacity * speed * tilt * shallow)
        }
        Mode::Published => {
            let slope = f64::from(crate::sim::analysis::slope_at(terrain, place[0], place[1])).to_radians();
            let tilt = libm::sin(slope).max(f64::from(params.least_tilt));
            terms.push(Term::new("sin α", "of the slope of the ground, never less than the least tilt", tilt, ""));
            ("C = Kc·sin α·v·(1 − h/Kdmax)", capacity * tilt * speed * shallow)
        }
    };
    terms.push(Term::new("Kc", "sediment capacity", capacity, ""));
    terms.push(Term::new("1 − h/Kdmax", "share that deep water leaves of it", shallow, ""));
    terms.push(Term::new("C", "sediment that the water can carry, as a depth", could, "m"));
    terms.push(Term::new("s", "sediment that it carries", carried, "m"));
    let outcome = if depth < DRY {
        "It is dry: no water flows here, and none digs."
    } else if shallow == 0.0 {
        "The water is deeper than the depth down to which it digs: what it carries settles."
    } else if could > carried {
        "The water could carry more than it does: it digs, sand first."
    } else {
        "The water carries more than it can: a part settles."
    };
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
