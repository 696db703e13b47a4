//! Changes made by a single stage of a tick, for stepping through a tick stage by stage.

use std::borrow::Cow;

use super::Simulation;
use crate::core::{
    grid::Grid,
    ledger::{Account, Ledger, LedgerRow},
    quantity::Quantity,
};

/// A volume in a row of the ledger.
type LedgerVolume = fn(&LedgerRow) -> f64;

/// Columns of the ledger, with the names shown to the user.
const COLUMNS: [(&str, LedgerVolume); 7] = [
    ("eroded", |row| -row.eroded),
    ("deposited", |row| row.deposited),
    ("across the edges", |row| -row.outflow),
    ("inflow", |row| row.inflow),
    ("evaporated", |row| -row.evaporated),
    ("lost", |row| -row.lost),
    ("in transit", |row| row.carried),
];

/// A layer or quantity shown to the user: key, unit and values, or `None` if no enabled process has the quantity.
type ShownLayer = (&'static str, &'static str, fn(&Simulation) -> Option<Grid>);

/// Key of the flow speed.
const FLOW_SPEED: &str = "flow_speed";

/// Layers and the maps that processes hand from stage to stage. The first changed one in metres is shown as an overlay.
const SHOWN: [ShownLayer; 10] = [
    ("ground", "m", |simulation| Some(simulation.terrain.ground())),
    ("water_depth", "m", |simulation| Some(simulation.terrain.water.clone())),
    ("suspended_sediment", "m", |simulation| Some(simulation.terrain.suspended.clone())),
    ("pending_change", "m", |simulation| simulation.enabled_map(Quantity::StageChange).map(Cow::into_owned)),
    (FLOW_SPEED, "m/s", |simulation| simulation.speed()),
    ("drainage_area", "m²", |simulation| simulation.enabled_map(Quantity::DrainageArea).map(Cow::into_owned)),
    ("droplet_discharge", "m²", |simulation| simulation.enabled_map(Quantity::StreamDischarge).map(Cow::into_owned)),
    ("sand_flux", "m/tick", |simulation| simulation.enabled_map(Quantity::WindFlux).map(Cow::into_owned)),
    ("abrasion", "m", |simulation| simulation.enabled_map(Quantity::Abrasion).map(Cow::into_owned)),
    ("sand_moisture", "", |simulation| simulation.enabled_map(Quantity::Wetness).map(Cow::into_owned)),
];

/// State before a stage.
pub(crate) struct StageSnapshot {
    layers: [Option<Grid>; SHOWN.len()],
    ledger: Ledger,
}

/// Change of a layer by a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerChange {
    /// Key of the layer.
    pub layer: &'static str,
    /// Unit of the layer.
    pub unit: &'static str,
    /// Number of changed cells.
    pub cells: usize,
    /// Largest decrease (at most 0) and largest increase, in its unit.
    pub range: (f32, f32),
}

/// Changes made by a stage.
#[derive(Clone, Debug)]
pub struct StageChanges {
    /// Title of the process and name of the stage.
    pub stage: (&'static str, &'static str),
    /// Changed layers.
    pub layers: Vec<LayerChange>,
    /// Change of the first changed layer that is measured in metres, in each cell; 0 if there is none.
    pub change: Grid,
    /// Ledger entries of the stage, for solids and for water: name and volume in cubic metres.
    pub booked: [Vec<(&'static str, f64)>; 2],
}

impl StageChanges {
    /// Returns `true` if the stage changed the flow.
    pub fn changes_flow(&self) -> bool {
        self.layers.iter().any(|change| change.layer == FLOW_SPEED)
    }
}

impl StageSnapshot {
    pub(crate) fn of(simulation: &Simulation) -> Self {
        Self { layers: SHOWN.map(|(.., layer)| layer(simulation)), ledger: simulation.ledger.clone() }
    }

    /// Returns the changes since.
    pub(crate) fn since(self, simulation: &Simulation, stage: (&'static str, &'static str)) -> StageChanges {
        let (width, height) = (simulation.terrain.width(), simulation.terrain.height());
        let none = Grid::filled(width, height, 0.0);
        let (mut layers, mut shown) = (Vec::new(), None);
        for ((layer, unit, values), before) in SHOWN.iter().zip(&self.layers) {
            let Some(now) = values(simulation) else { continue };
            let before = before.as_ref().unwrap_or(&none);
            let change =
                Grid::from_values(width, height, now.iter().zip(before.iter()).map(|(now, before)| now - before));
            let cells = change.iter().filter(|change| **change != 0.0).count();
            if cells == 0 {
                continue;
            }
            let (least, most) = change.min_max();
            layers.push(LayerChange { layer, unit, cells, range: (least.min(0.0), most.max(0.0)) });
            if *unit == "m" {
                shown.get_or_insert(change);
            }
        }
        let booked = |now: &Account, before: &Account| {
            let columns = COLUMNS.iter().map(|(name, column)| (*name, now.sum(column) - before.sum(column)));
            columns.filter(|(_, volume)| *volume != 0.0).collect()
        };
        let (now, before) = (&simulation.ledger, &self.ledger);
        let booked = [booked(&now.solid, &before.solid), booked(&now.water, &before.water)];
        let change = shown.unwrap_or(none);
        StageChanges { stage, layers, change, booked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terrain::{Edge, Terrain};

    #[test]
    fn stage_changes_sum_to_whole_tick() {
        let ground = Grid::from_fn(32, 32, |x, y| 0.4 * x as f32 + 2.0 * ((x * 7 + y * 5) % 4) as f32);
        let terrain = Terrain::bare(ground, 2.0, Edge::Open);
        let mut run = Simulation::new(terrain, 1);
        for key in ["water", "thermal"] {
            run.slot_mut(key).expect("it is in the catalogue").enabled = true;
        }
        (0..30).for_each(|_| run.tick());
        assert!(
            run.stage_changes().is_none() && run.quantity(Quantity::StageChange).iter().all(|change| *change == 0.0)
        );
        let (before, ledger) = (run.terrain.ground(), run.ledger.clone());
        let (mut stages, mut ground, mut rained, mut slid) = (Vec::new(), Grid::filled(32, 32, 0.0), 0.0, 0.0);
        let mut flows = false;
        while let Some(stage) = run.stage() {
            let staged = run.stage_changes().expect("a stage has just run");
            assert_eq!(staged.stage, stage);
            let volume =
                |of: usize, name: &str| staged.booked[of].iter().find(|(own, _)| *own == name).map_or(0.0, |row| row.1);
            rained += volume(1, "inflow");
            slid += volume(0, "deposited");
            flows |= staged.changes_flow();
            if staged.layers.first().is_some_and(|change| change.layer == "ground") {
                ground.iter_mut().zip(staged.change.iter()).for_each(|(sum, change)| *sum += change);
                assert!(run.quantity(Quantity::StageChange) == staged.change);
            }
            stages.push(stage.1);
            if run.between_ticks() {
                break;
            }
        }
        assert!(flows, "no stage of the water changes its flow");
        assert!(stages.len() >= 3 && rained > 0.0 && slid > 0.0, "{stages:?}: {rained}, {slid}");
        let all = run.ledger.water.sum(|row| row.inflow) - ledger.water.sum(|row| row.inflow);
        assert!((rained / all - 1.0).abs() < 1e-9, "{rained} of {all}");
        for (sum, (now, before)) in ground.iter().zip(run.terrain.ground().iter().zip(before.iter())) {
            assert!((sum - (now - before)).abs() < 1e-4, "{sum} instead of {}", now - before);
        }
        run.stage();
        assert!(run.stage_changes().is_some());
        run.tick();
        assert!(run.stage_changes().is_none(), "the rest of a tick, and a whole one, have no stage to show");
    }

    #[test]
    fn stages_show_maps_that_they_hand_on() {
        let ground = Grid::from_fn(32, 32, |x, y| 10.0 * x as f32 + ((x * 7 + y * 5) % 4) as f32);
        let mut terrain = Terrain::bare(ground, 100.0, Edge::Open);
        terrain.sand = Grid::filled(32, 32, 2.0);
        for (key, expected) in [
            ("fluvial", [("erosion", "drainage_area"), ("erosion", "pending_change"), ("apply", "ground")].as_slice()),
            ("wind", &[("transport", "ground"), ("transport", "abrasion"), ("avalanching", "sand_flux")]),
        ] {
            let mut run = Simulation::new(terrain.clone(), 1);
            run.slot_mut(key).expect("it is in the catalogue").enabled = true;
            // The flux is measured while particles are shown.
            run.watched = true;
            run.tick();
            let (mut seen, mut pending) = (Vec::new(), Grid::filled(32, 32, 0.0));
            while let Some((_, stage)) = run.stage() {
                let staged = run.stage_changes().expect("a stage has just run");
                if stage == "erosion" || stage == "creep" {
                    pending.iter_mut().zip(staged.change.iter()).for_each(|(sum, change)| *sum += change);
                } else if stage == "apply" {
                    let differences = pending.iter().zip(staged.change.iter()).map(|(one, other)| (one - other).abs());
                    assert!(differences.fold(0.0, f32::max) < 1e-3, "the change is not what was pending");
                    pending.fill(0.0);
                }
                seen.extend(staged.layers.iter().map(|change| (stage, change.layer)));
                if run.between_ticks() {
                    break;
                }
            }
            assert!(expected.iter().all(|change| seen.contains(change)), "{key}: {seen:?}");
        }
    }
}
