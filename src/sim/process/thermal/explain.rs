//! Why a cell slides or crumbles, or why it stands.

use super::{
    super::{
        Mode, Process,
        explain::{Cell, Explanation, Term},
    },
    DUSTING, Thermal,
};
use crate::sim::terrain::Terrain;

/// What slumping does in a cell.
pub(super) fn explain(thermal: &Thermal, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let params = &thermal.setup().params;
    let cell = Cell { terrain, place, mode: params.mode };
    let (fall, sand) = (cell.slope(), cell.of(&terrain.sand));
    let stands = f64::from(thermal.stands_at(terrain, place));
    let steeper = fall > stands;
    let mut terms = vec![
        Term::new("S", "steepest fall to a neighbour, as a slope", fall, ""),
        Term::new("tan φ", "slope at which this ground stands", stands, ""),
        Term::new("sand", "depth of the loose sand", sand, "m"),
    ];
    if params.mode == Mode::Published {
        terms.push(Term::new("R", "softness of the ground", cell.of(&terrain.softness), ""));
        let outcome = match steeper {
            true => {
                "A share of the whole difference of height goes to the lower neighbours, as published: so it goes too far."
            }
            false => "Nothing moves: no neighbour lies lower than the talus slope allows.",
        };
        return Explanation {
            equation: "S > Ka·(1 − R) + Ki:   ΔS = Δt·Kt·R·H/2", terms, outcome: outcome.to_owned()
        };
    }
    if sand > f64::from(DUSTING) {
        let outcome = match steeper {
            true => "Sand slides to the lower neighbours until S is tan φ: only what stands too steep moves.",
            false => "No sand slides: the ground is less steep than its angle of repose.",
        };
        return Explanation { equation: "sand slides where  S > tan φ", terms, outcome: outcome.to_owned() };
    }
    terms.push(Term::new("R", "softness of the rock", cell.of(&terrain.softness), ""));
    let outcome = match steeper {
        true => "The bare rock crumbles into sand, which slides down.",
        false => "Nothing crumbles: the bare rock is less steep than the slope at which it stands.",
    };
    Explanation { equation: "rock crumbles where  S > Ka·(1 − R) + Ki", terms, outcome: outcome.to_owned() }
}
