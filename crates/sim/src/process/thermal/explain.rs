//! Explanation of thermal erosion in a cell.

use super::{
    super::{
        Mode,
        explain::{ExplainedCell, Explanation, Term},
    },
    DUSTING, Thermal, talus,
};
use crate::core::terrain::Terrain;

/// Explains thermal erosion in a cell.
pub(super) fn explain(thermal: &Thermal, terrain: &Terrain, place: [usize; 2]) -> Explanation {
    let (setup, params) = (&thermal.setup, &thermal.setup.params);
    let cell = ExplainedCell { terrain, place, mode: params.mode };
    let (fall, sand) = (cell.slope(), cell.layer_value(&terrain.sand));
    let stands = thermal.stable_slope_at(terrain, place);
    let steeper = fall > stands;
    let softness = cell.layer_value(&terrain.softness);
    let [hard, least] = [
        cell.param_value(setup, |params| params.talus_coefficient),
        cell.param_value(setup, |params| params.talus_bias),
    ];
    let rock = talus(softness, hard, least);
    let still = params.rate == 0.0 || setup.elapsed == 0.0 && setup.counts.seconds > 0.0;
    let slope = Term::new("S", "steepest slope to a neighbour", fall, "");
    let of_rock = [
        Term::new("Ka", "increase of the talus slope from the softest to the hardest rock", hard, ""),
        Term::new("R", "softness of the ground", softness, ""),
        Term::new("Ki", "talus slope of the softest rock", least, ""),
    ];
    if params.mode == Mode::Published {
        let outcome = match steeper {
            _ if still => "Nothing moves: the rate or the time step is 0.",
            true => {
                "A fraction of the full height difference moves to the lower neighbours, as published. This overshoots the talus slope."
            }
            false => "Nothing moves: no slope to a neighbour exceeds the talus slope.",
        };
        let rate = Term::new("Δt·Kt", "time step times rate", setup.elapsed * f64::from(params.rate), "");
        let height = Term::new("H", "height above the lowest neighbour", fall * terrain.cell_size, "m");
        let terms = [slope].into_iter().chain(of_rock).chain([rate, height]).collect();
        let equation = "where  S > Ka·(1 − R) + Ki  outflow  Δt·Kt·R·H/2";
        return Explanation { equation, terms, outcome: outcome.to_owned() };
    }
    if sand > DUSTING {
        let outcome = match steeper {
            _ if still => "Nothing moves: the rate or the time step is 0.",
            true if fall > rock => {
                "Sand slides to the lower neighbours, and the rock below fails where it exceeds its talus slope."
            }
            true => "Sand slides to the lower neighbours until S = tan φ: only the excess moves.",
            false => "No sand slides: the slope does not exceed the angle of repose.",
        };
        let stands = Term::new("tan φ", "tangent of the angle of repose, smaller under water", stands, "");
        let terms = vec![slope, stands, Term::new("sand", "thickness of the loose sand", sand, "m")];
        return Explanation { equation: "sand slides where  S > tan φ", terms, outcome: outcome.to_owned() };
    }
    let outcome = match steeper {
        _ if still => "Nothing moves: the rate or the time step is 0.",
        true => "The bare rock fails and turns into sand, which slides down.",
        false => "No rock fails: the slope does not exceed the talus slope of the bare rock.",
    };
    let stands = Term::new("talus", "talus slope of this rock, never less than tan φ of its sand", stands, "");
    let terms = [slope, stands].into_iter().chain(of_rock).collect();
    let equation = "rock fails where  S > talus = Ka·(1 − R) + Ki";
    Explanation { equation, terms, outcome: outcome.to_owned() }
}
