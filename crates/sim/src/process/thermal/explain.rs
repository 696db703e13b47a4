//! Why a cell slides or crumbles, or why it stands.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    DUSTING, Thermal, talus,
};
use crate::core::terrain::Terrain;

/// What slumping does in a cell.
pub(super) fn explain(thermal: &Thermal, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&thermal.setup, &thermal.setup.params);
    let cell = Cell { terrain, place, mode: params.mode };
    let (fall, sand) = (cell.slope(), cell.of(&terrain.sand));
    let stands = thermal.stands_at(terrain, place);
    let steeper = fall > stands;
    let softness = cell.of(&terrain.softness);
    let [hard, least] =
        [cell.number(setup, |params| params.talus_coefficient), cell.number(setup, |params| params.talus_bias)];
    let rock = talus(softness, hard, least);
    let still = params.rate == 0.0 || setup.elapsed == 0.0 && setup.counts.seconds > 0.0;
    let slope = Term::new("S", "steepest fall to a neighbour, as a slope", fall, "");
    let of_rock = [
        Term::new("Ka", "how much steeper hard rock stands than soft rock", hard, ""),
        Term::new("R", "softness of the ground", softness, ""),
        Term::new("Ki", "slope at which the softest rock stands", least, ""),
    ];
    if params.mode == Mode::Published {
        let outcome = match steeper {
            _ if still => "Nothing moves: the rate, or the time of a tick, is 0.",
            true => {
                "A share of the whole difference of height goes to the lower neighbours, as published: so it goes too far."
            }
            false => "Nothing moves: no neighbour lies lower than the talus slope allows.",
        };
        let rate = Term::new("Δt·Kt", "time of a tick times the rate", setup.elapsed * f64::from(params.rate), "");
        let height = Term::new("H", "how much lower the lowest neighbour lies", fall * terrain.cell_size, "m");
        let terms = [slope].into_iter().chain(of_rock).chain([rate, height]).collect();
        let equation = "where  S > Ka·(1 − R) + Ki  it gives  Δt·Kt·R·H/2";
        return Explanation { equation, terms, outcome: outcome.to_owned() };
    }
    if sand > DUSTING {
        let outcome = match steeper {
            _ if still => "Nothing moves: the rate, or the time of a tick, is 0.",
            true if fall > rock => {
                "Sand slides to the lower neighbours, and the rock below it crumbles where it stands too steep."
            }
            true => "Sand slides to the lower neighbours until S is tan φ: only what stands too steep moves.",
            false => "No sand slides: the ground is less steep than its angle of repose.",
        };
        let stands = Term::new("tan φ", "slope at which this sand stands; under water it is flatter", stands, "");
        let terms = vec![slope, stands, Term::new("sand", "depth of the loose sand", sand, "m")];
        return Explanation { equation: "sand slides where  S > tan φ", terms, outcome: outcome.to_owned() };
    }
    let outcome = match steeper {
        _ if still => "Nothing moves: the rate, or the time of a tick, is 0.",
        true => "The bare rock crumbles into sand, which slides down.",
        false => "Nothing crumbles: the bare rock is less steep than the slope at which it stands.",
    };
    let stands =
        Term::new("talus", "slope at which this rock stands; never less than that of its own sand", stands, "");
    let terms = [slope, stands].into_iter().chain(of_rock).collect();
    let equation = "rock crumbles where  S > talus = Ka·(1 − R) + Ki";
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
