//! Why the wind lifts sand in a cell, or why it does not.

use super::{
    super::{
        Mode,
        explain::{Cell, Explanation, Term},
    },
    Wind,
    drift::{saturated_flux, threshold_increase},
    steps,
    wetness::SHELTERS,
};
use crate::core::terrain::Terrain;

/// What the wind does in a cell; `None` in the published mode, whose laws are about single grains, and before the first tick.
pub(super) fn explain(wind: &Wind, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&wind.setup, &wind.setup.params);
    let maps = wind.spare.as_ref().filter(|maps| maps.fit(terrain))?;
    if params.mode != Mode::Corrected {
        return None;
    }
    let cell = Cell { terrain, place, mode: params.mode };
    let times = wind.air.shear_at(&maps.seen, place[0], place[1])?;
    let shear = steps::shear(cell.number(setup, |params| params.strength)) * times;
    let (wet, dry) = (cell.of(&maps.wet), params.threshold);
    let threshold = dry * (1.0 + threshold_increase(wet));
    let capacity = cell.number(setup, |params| steps::capacity(params, terrain.cell_size));
    let carries = saturated_flux(capacity, shear, threshold) / (1.0 - dry).max(1e-3);
    let (sand, water) = (cell.of(&terrain.sand), cell.of(&terrain.water));
    let outcome = if water > SHELTERS {
        "Water covers the ground and shelters it: what the wind carries falls into it."
    } else if shear <= threshold && times == 0.0 {
        "The air is still here, behind a sharp crest: all sand that comes falls."
    } else if shear <= threshold && shear > dry {
        "Water binds the grains: the wind is too weak for sand that is so wet."
    } else if shear <= threshold {
        "The wind is too weak here: its shear is below the threshold, and nothing is lifted."
    } else if sand < 1e-4 {
        "The wind could carry sand, but there is none to lift: it goes on with what it brings."
    } else {
        "The wind takes up sand until it carries qs; where qs falls along its way, sand is laid down."
    };
    let terms = vec![
        Term::new("τ", "shear of the wind here, without gusts; 1 over a plain at the usual strength", shear, ""),
        Term::new("τ/τ₀", "how many times as large as over a plain the land makes it", times, ""),
        Term::new("w", "wetness of the sand", wet, ""),
        Term::new("τ_dry", "shear below which no dry sand moves", dry, ""),
        Term::new("τt", "shear below which this sand does not move", threshold, ""),
        Term::new("Q", "capacity", capacity, "m²/tick"),
        Term::new("sand", "depth of the sand", sand, "m"),
        Term::new("qs", "sand that the wind can carry", carries, "m²/tick"),
    ];
    let equation = "qs = Q·√τ·max(0, τ − τt)/(1 − τ_dry),   τt = τ_dry·(1 + 1.21·w^(2/3))";
    Some(Explanation { equation, terms, outcome: outcome.to_owned() })
}
