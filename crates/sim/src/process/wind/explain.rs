//! Explanation of sand transport by wind in a cell.

use super::{
    super::{
        Mode,
        explain::{ExplainedCell, Explanation, Term},
    },
    Wind,
    drift::{saturated_flux, threshold_increase},
    steps,
    wetness::SHELTERS,
};
use crate::core::terrain::Terrain;

/// Explains sand transport in a cell; `None` in the published mode, whose laws apply to single grains, and before the first tick.
pub(super) fn explain(wind: &Wind, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&wind.setup, &wind.setup.params);
    let maps = wind.spare.as_ref().filter(|maps| maps.fit(terrain))?;
    if params.mode != Mode::Corrected {
        return None;
    }
    let cell = ExplainedCell { terrain, place, mode: params.mode };
    let times = wind.air.shear_at(&maps.seen, place[0], place[1])?;
    let shear = steps::shear(cell.param_value(setup, |params| params.strength)) * times;
    let (wet, dry) = (cell.layer_value(&maps.wet), params.threshold);
    let threshold = dry * (1.0 + threshold_increase(wet));
    let capacity = cell.param_value(setup, |params| steps::capacity(params, terrain.cell_size));
    let carries = saturated_flux(capacity, shear, threshold) / (1.0 - dry).max(1e-3);
    let (sand, water) = (cell.layer_value(&terrain.sand), cell.layer_value(&terrain.water));
    let outcome = if water > SHELTERS {
        "Standing water covers the ground: wind-blown sand settles in it."
    } else if shear <= threshold && times == 0.0 {
        "The air is still here, in the separation bubble behind a sharp crest: all incoming sand is deposited."
    } else if shear <= threshold && shear > dry {
        "Moisture binds the grains: the wind is too weak for sand this wet."
    } else if shear <= threshold {
        "The wind is too weak here: its shear is below the threshold, and no sand is entrained."
    } else if sand < 1e-4 {
        "The wind could carry sand, but there is none to entrain: it only carries the incoming sand."
    } else {
        "The wind entrains sand up to its saturated flux qs; where qs falls along its path, sand is deposited."
    };
    let terms = vec![
        Term::new("τ", "shear stress without gusts; 1 over a plain at a strength of 2", shear, ""),
        Term::new("τ/τ₀", "shear relative to that over a plain", times, ""),
        Term::new("w", "moisture of the sand", wet, ""),
        Term::new("τ_dry", "threshold shear of dry sand", dry, ""),
        Term::new("τt", "threshold shear of this sand", threshold, ""),
        Term::new("Q", "capacity", capacity, "m²/tick"),
        Term::new("sand", "thickness of the sand", sand, "m"),
        Term::new("qs", "saturated sand flux", carries, "m²/tick"),
    ];
    let equation = "qs = Q·√τ·max(0, τ − τt)/(1 − τ_dry),   τt = τ_dry·(1 + 1.21·w^(2/3))";
    Some(Explanation { equation, terms, outcome: outcome.to_owned() })
}
