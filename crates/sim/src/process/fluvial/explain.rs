//! Explanation of uplift, erosion and deposition in a cell.

use super::{
    super::explain::{ExplainedCell, Explanation, Term},
    Fluvial,
    solve::{incision, power},
};
use crate::core::terrain::Terrain;

/// Explains uplift and rivers in a cell. Returns `None` before the first tick.
pub(super) fn explain(fluvial: &Fluvial, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let (setup, params) = (&fluvial.setup, &fluvial.setup.params);
    let cell = ExplainedCell { terrain, place, mode: params.mode };
    let size = (terrain.width(), terrain.height());
    let areas = fluvial.areas.as_ref().filter(|areas| (areas.width(), areas.height()) == size)?;
    let area = Some(cell.layer_value(areas)).filter(|area| *area > 0.0)?;
    let (slope, sand) = (f64::from(cell.slope()), cell.layer_value(&terrain.sand));
    let deposition = cell.param_value(setup, |params| params.deposition);
    let n = params.effective_slope_exponent();
    let (power, fall) = (power(params, area), libm::pow(slope, n.into()));
    let own = power * f64::from(cell.param_value(setup, |params| params.erodibility));
    let cut = incision(params, own, [cell.layer_value(&terrain.softness), sand], || fall);
    let cuts = 1e3 * cut * fall / f64::from(params.years_per_tick);
    let map = terrain.uplift.as_ref().map_or(1.0, |map| cell.layer_value(map));
    let rises = 1e3 * f64::from(cell.param_value(setup, |params| params.uplift_rate) * map);
    let needed = rises * (1.0 + f64::from(deposition));
    let ground = cell.layer_value(&terrain.bedrock) + sand;
    // Otherwise the sediment from upstream matters too.
    let even = deposition == 0.0 || terrain.uplift.is_none() && terrain.rain.is_none() && terrain.mask.is_none();
    // After a state was loaded, outlets over which depressions spill are known from the next tick on.
    let last = fluvial.work.as_ref().filter(|work| work.fits(terrain));
    let is_outlet = last.map_or_else(
        || cell.is_outlet(),
        |work| work.drainage.outlets().binary_search(&(terrain.bedrock.index(place[0], place[1]) as u32)).is_ok(),
    );
    let outcome = if ground < params.sea() {
        "The cell is below sea level: rivers end here, and their sediment leaves the map."
    } else if is_outlet {
        "This is an outlet, with a fixed height: sediment that arrives here leaves the map."
    } else if slope == 0.0 {
        "No neighbour is lower: a lake fills this depression up to its spill point, and sediment is deposited."
    } else if !even {
        "The change of height also depends on the sediment from upstream, part of which is deposited here."
    } else if cuts > 1.05 * needed {
        "Erosion exceeds uplift: the surface lowers."
    } else if cuts < 0.95 * needed {
        "Uplift exceeds erosion: the surface rises."
    } else {
        "Steady state: erosion balances uplift."
    };
    let terms = vec![
        Term::new("A", "drainage area", area, "m²"),
        Term::new("S", "steepest slope to a neighbour", slope, ""),
        Term::new("K", "erodibility of this ground", cut / power, ""),
        Term::new("m", "area exponent", params.area_exponent, ""),
        Term::new("n", "slope exponent", n, ""),
        Term::new("E", "potential erosion rate", cuts, "mm/yr"),
        Term::new("U", "uplift rate", rises, "mm/yr"),
        Term::new("G", "deposition coefficient: tendency of eroded sediment to settle again", deposition, ""),
        Term::new(
            "(1 + G)·U",
            "potential erosion rate at steady state, when part of the sediment is redeposited",
            needed,
            "mm/yr",
        ),
    ];
    Some(Explanation { equation: "E = K·A^m·S^n,   at steady state (1 + G)·U", terms, outcome: outcome.to_owned() })
}
