//! Explanations of what a process does in a cell: its equation evaluated with the values of that cell.

use bevy_reflect::structs::Struct;

use super::{Mode, Process, Setup, masked::lerp};
use crate::core::{
    analysis::steepest_fall,
    border::Border,
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Symbol of an equation with its value in the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Symbol as written in the equation.
    pub symbol: &'static str,
    /// Meaning of the symbol.
    pub about: &'static str,
    /// Value in the cell.
    pub value: f64,
    /// Unit; empty for a dimensionless quantity.
    pub unit: &'static str,
}

impl Term {
    pub(super) fn new(symbol: &'static str, about: &'static str, value: impl Into<f64>, unit: &'static str) -> Self {
        Self { symbol, about, value: value.into(), unit }
    }
}

/// Explanation of what a process does in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Equation of the selected law.
    pub equation: &'static str,
    /// Terms of the equation.
    pub terms: Vec<Term>,
    /// Outcome in one or two sentences.
    pub outcome: String,
}

/// Cell to be explained, with its terrain and the mode of the process.
#[derive(Clone, Copy)]
pub(super) struct ExplainedCell<'a> {
    pub terrain: &'a Terrain,
    pub place: [usize; 2],
    pub mode: Mode,
}

impl ExplainedCell<'_> {
    /// Returns the value of a layer.
    pub fn layer_value(&self, layer: &Grid) -> f32 {
        layer.at(self.place[0], self.place[1])
    }

    /// Returns the steepest slope down to one of the eight neighbours; 0 in a pit.
    pub fn slope(&self) -> f32 {
        let [x, y] = self.place;
        steepest_fall(self.terrain, self.terrain.bedrock.index(x, y)) / self.terrain.cell_size
    }

    /// Returns `true` if it is an outlet of an open map.
    pub fn is_outlet(&self) -> bool {
        let (border, terrain) = (Border::of(self.terrain), self.terrain);
        let cell = terrain.bedrock.index(self.place[0], self.place[1]);
        terrain.edge == Edge::Open
            && border.outermost().any(|outermost| outermost == cell)
            && border.flows_out(cell, |cell| terrain.bedrock[cell] + terrain.sand[cell])
    }

    /// Returns the value of a parameter in this cell, scaled by the mask.
    pub fn param_value<P: Struct + Clone, F: Struct + Default>(
        &self,
        setup: &Setup<P, F>,
        of: impl Fn(&P) -> f32,
    ) -> f32 {
        let even = of(&setup.params);
        let masked = setup.masked_params_at(self.terrain, self.mode, self.place);
        masked.map_or(even, |(masked, mask)| lerp([even, of(&masked)], mask))
    }
}

/// Explains what a process does in a cell. Returns `None` outside the map and if the law has no equation for a cell.
pub fn explain(process: &dyn Process, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
    let inside = place[0] < terrain.width() && place[1] < terrain.height();
    inside.then(|| process.explain(terrain, place)).flatten()
}

#[cfg(test)]
mod tests {
    use crate::{
        core::{
            grid::Grid,
            terrain::{Edge, Terrain},
        },
        process::explain::Explanation,
        simulation::Simulation,
    };

    /// Returns the explanation that a process gives for a cell after running alone for some ticks.
    fn explain_after(
        key: &str,
        set: &[(&str, &str)],
        terrain: Terrain,
        ticks: usize,
        place: [usize; 2],
    ) -> Explanation {
        let mut run = Simulation::new(terrain, 1);
        for (path, value) in set {
            crate::params::set(&mut run.groups_mut(), path, value).unwrap_or_else(|error| panic!("{error}"));
        }
        run.slot_mut(key).expect("it is in the catalogue").enabled = true;
        (0..ticks).for_each(|_| run.tick());
        let slot = run.slots.iter().find(|slot| slot.key() == key).expect("it is there");
        super::explain(&*slot.process, &run.terrain, place).unwrap_or_else(|| panic!("{key} gives no explanation"))
    }

    fn term(found: &Explanation, symbol: &str) -> f64 {
        let term = found.terms.iter().find(|term| term.symbol == symbol);
        term.unwrap_or_else(|| panic!("there is no {symbol} in {found:?}")).value
    }

    fn slope(degrees: f32, sand: f32) -> Terrain {
        let tangent = degrees.to_radians().tan();
        let mut terrain = Terrain::bare(Grid::from_fn(48, 48, |x, _| 2.0 * tangent * x as f32), 2.0, Edge::Open);
        terrain.spread_sand(sand);
        terrain
    }

    #[test]
    fn thermal_explanation_matches_angle_of_repose() {
        for (degrees, slides) in [(30.0, false), (36.0, true)] {
            let found = explain_after("thermal", &[], slope(degrees, 1.0), 0, [20, 20]);
            assert!((term(&found, "S") - f64::from(degrees).to_radians().tan()).abs() < 1e-3, "{found:?}");
            assert!((term(&found, "tan φ") - 33.0_f64.to_radians().tan()).abs() < 1e-5, "{found:?}");
            assert_eq!(found.outcome.starts_with("Sand slides"), slides, "{found:?}");
        }
        let rock = explain_after("thermal", &[], slope(30.0, 0.0), 0, [20, 20]);
        assert!(rock.outcome.starts_with("No rock fails") && term(&rock, "talus") > 0.6, "{rock:?}");
    }

    #[test]
    fn friction_slope_equals_bed_slope_in_steady_flow() {
        let mut terrain = slope(3.0, 0.0);
        terrain.water.fill(0.2);
        let set = [
            ("water.rain_rate", "0"),
            ("water.evaporation_rate", "0"),
            ("water.roughness", "0.1"),
            ("water.max_erosion_depth", "0"),
        ];
        let found = explain_after("water", &set, terrain, 600, [24, 24]);
        assert!((term(&found, "Sf") / 3.0_f64.to_radians().tan() - 1.0).abs() < 0.03, "{found:?}");
        assert!(term(&found, "v") > 0.1 && term(&found, "Fr") > 0.0, "{found:?}");
        let dry = explain_after("water", &[("water.rain_rate", "0")], slope(3.0, 0.0), 2, [24, 24]);
        assert!(dry.outcome.contains("dry"), "{dry:?}");
    }

    #[test]
    fn explanations_are_finite_at_every_cell_and_edge() {
        for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
            let terrain = Terrain { edge, ..slope(20.0, 0.1) };
            let mut run = Simulation::new(terrain, 1);
            // Created as when a project or undo restores state before the first tick.
            let keys: Vec<&str> = run.slots.iter().map(|slot| slot.key()).collect();
            drop(run.state_values(&keys));
            for ticks in [0, 2] {
                run.slots.iter_mut().for_each(|slot| slot.enabled = slot.key() != "runoff");
                (0..ticks).for_each(|_| run.tick());
                for place in [[0, 0], [47, 0], [0, 47], [47, 47], [20, 20], [48, 0], [0, 99]] {
                    for slot in &run.slots {
                        let found = super::explain(&*slot.process, &run.terrain, place);
                        assert!(found.is_none() || place[0].max(place[1]) < 48, "{} outside the map", slot.key());
                        let numbers = found.iter().flat_map(|found| &found.terms);
                        assert!(numbers.clone().all(|term| term.value.is_finite()), "{edge:?} {place:?}: {found:?}");
                        let early = ticks == 0 && ["wind", "fluvial"].contains(&slot.key());
                        assert!(!early || found.is_none(), "{} has run no tick: {found:?}", slot.key());
                    }
                }
            }
        }
    }

    #[test]
    fn saving_state_leaves_explanations_unchanged() {
        let mut run = Simulation::new(slope(10.0, 1.0), 1);
        run.slots.iter_mut().for_each(|slot| slot.enabled = slot.key() != "runoff");
        (0..3).for_each(|_| run.tick());
        let explain_all = |run: &Simulation| -> Vec<_> {
            run.slots.iter().map(|slot| super::explain(&*slot.process, &run.terrain, [20, 20])).collect()
        };
        let before = explain_all(&run);
        assert!(before.iter().filter(|found| found.is_some()).count() >= 5, "{before:?}");
        let keys: Vec<&str> = run.slots.iter().map(|slot| slot.key()).collect();
        drop(run.state_values(&keys));
        assert_eq!(explain_all(&run), before);
    }

    #[test]
    fn explained_terms_satisfy_process_laws() {
        let found = explain_after("droplets", &[], slope(10.0, 0.0), 40, [20, 20]);
        let [k, area, theta, s] = ["k", "A", "θ", "S"].map(|symbol| term(&found, symbol));
        assert!((term(&found, "C") / (k * libm::pow(area / 1e4, theta) * s) - 1.0).abs() < 0.02, "{found:?}");
        let found = explain_after("fluvial", &[], slope(10.0, 0.0), 5, [20, 20]);
        let [k, area, m, s, n] = ["K", "A", "m", "S", "n"].map(|symbol| term(&found, symbol));
        assert!((term(&found, "E") / (1e3 * k * libm::pow(area, m) * libm::pow(s, n)) - 1.0).abs() < 1e-6, "{found:?}");
        let found = explain_after("wind", &[], slope(0.0, 2.0), 5, [20, 20]);
        assert!((term(&found, "τ") - 1.0).abs() < 0.2 && term(&found, "qs") > 0.0, "{found:?}");
        assert!(found.outcome.starts_with("The wind"), "{found:?}");
        let still = explain_after("wind", &[("wind.strength", "0.5")], slope(0.0, 2.0), 5, [20, 20]);
        assert!(term(&still, "qs") == 0.0 && still.outcome.contains("too weak"), "{still:?}");
        for (capacity, symbol) in [("tilt", "sin α"), ("collision", "−N·V")] {
            let set = [("water.mode", "published"), ("water.capacity", capacity)];
            let found = explain_after("water", &set, slope(10.0, 0.0), 40, [20, 20]);
            let [k, meets, v, shallow] = ["Kc", symbol, "v", "1 − h/Kdmax"].map(|symbol| term(&found, symbol));
            assert!(v > 0.0 && (term(&found, "C") / (k * meets * v * shallow) - 1.0).abs() < 1e-4, "{found:?}");
        }
        let found = explain_after("runoff", &[], slope(5.0, 0.0), 1, [20, 20]);
        let [water, sum, goes] = ["w", "ΣD", "water"].map(|symbol| term(&found, symbol));
        assert!(water > 0.0 && (goes / water.min(sum / (term(&found, "N") + 1.0)) - 1.0).abs() < 1e-6, "{found:?}");
    }
}
