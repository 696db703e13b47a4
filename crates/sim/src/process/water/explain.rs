//! Explanation of flow velocity, erosion and deposition in a cell.

use super::{
    super::{
        Mode,
        explain::{ExplainedCell, Explanation, Term},
    },
    Capacity, Water,
    friction::{concentration, energy_slope},
    pipes::{PipeCoefficients, collision_squared, sine_squared},
};
use crate::core::{analysis::gradient, border::Border, terrain::Terrain};

/// Depth below which a cell counts as dry, in metres.
const DRY: f32 = 1e-4;

/// Explains flow, erosion and deposition in a cell.
pub(super) fn explain(water: &Water, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&water.setup, &water.setup.params);
    let cell = ExplainedCell { terrain, place, mode: params.mode };
    let (depth, carried) =
        (cell.layer_value(&terrain.water), cell.layer_value(&terrain.suspended) * params.suspended_fraction());
    let [u, v] = water.velocity_at(terrain, place).unwrap_or_default();
    let square = u * u + v * v;
    let capacity = if params.erodes() { cell.param_value(setup, |params| params.sediment_capacity) } else { 0.0 };
    let shallow = if params.erodes() { (1.0 - depth * params.per_depth()).max(0.0) } else { 0.0 };
    let mut terms = vec![
        Term::new("h", "depth of the water", depth, "m"),
        Term::new("v", "flow speed", square.sqrt(), "m/s"),
        Term::new(
            "Fr",
            "Froude number: flow speed divided by the speed of long waves; above 1 no wave travels upstream",
            (square / (params.gravity * depth.max(DRY))).sqrt(),
            "",
        ),
    ];
    let (equation, could) = match params.mode {
        Mode::Corrected => {
            let roughness = cell.param_value(setup, |params| params.roughness);
            let slope = energy_slope(roughness * roughness, depth.max(DRY), square);
            terms.push(Term::new("n", "Manning roughness of the bed", roughness, "s/m^(1/3)"));
            terms.push(Term::new("Sf", "energy slope: head lost to friction per metre", slope, ""));
            let could = depth * concentration(capacity, slope, square, (depth, params.per_depth()));
            ("Sf = n²·v²/h^(4/3),   C = h·min(1/2, Kc·v·sin(atan Sf)·(1 − h/Kdmax))", could)
        }
        Mode::Published => {
            let bed = PipeCoefficients::new(params, terrain.cell_size, params.dt);
            let slopes = |of: &dyn Fn(usize, usize) -> f32| {
                let [x, y] = gradient(Border::of(terrain), terrain.cell_size, place, of);
                (x, y)
            };
            let ground = |x: usize, y: usize| terrain.bedrock.at(x, y) + terrain.sand.at(x, y);
            let bed_slopes = slopes(&ground);
            let (equation, symbol, about, squared) = if params.capacity == Capacity::Collision {
                let surface = slopes(&|x, y| ground(x, y) + terrain.water.at(x, y));
                let meets = "component of the flow direction into the bed, not less than Minimum tilt";
                (
                    "C = Kc·max(least, −N·V)·v·(1 − h/Kdmax)",
                    "−N·V",
                    meets,
                    collision_squared(bed_slopes, surface, (u, v)),
                )
            } else {
                let steep = "sine of the slope of the ground, not less than Minimum tilt";
                ("C = Kc·sin α·v·(1 − h/Kdmax)", "sin α", steep, sine_squared(bed_slopes))
            };
            terms.push(Term::new(symbol, about, squared.sqrt().max(params.least_tilt), ""));
            (equation, bed.capacity(squared, square, depth))
        }
    };
    terms.push(Term::new("Kc", "coefficient of the transport capacity", capacity, ""));
    terms.push(Term::new("1 − h/Kdmax", "factor by which depth reduces the transport capacity", shallow, ""));
    terms.push(Term::new("C", "transport capacity, as a depth of sediment", could, "m"));
    terms.push(Term::new("s", "suspended sediment, as a depth", carried, "m"));
    let outcome = if depth < DRY {
        "The cell is dry: nothing flows and nothing is eroded."
    } else if shallow == 0.0 {
        "Water of this depth does not erode: its sediment settles."
    } else if could <= carried {
        "The sediment load exceeds the transport capacity: part of it settles."
    } else if params.mode == Mode::Corrected && cell.slope() == 0.0 {
        "No neighbour is lower: the water erodes almost nothing here, and bed load stays."
    } else {
        "The sediment load is below the transport capacity: the water erodes, sand first."
    };
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
