//! Edits of a simulation: what brushes and menus change of its terrain is booked in its ledger.

use super::Simulation;
use crate::{
    core::{grid::Grid, terrain::Layer},
    edit::{self, Brush, Combine, Dab, Growth, Patch, Selection, Tool},
    hydrology::breach::{Breached, Limits, breach},
};

impl Simulation {
    /// Lays a sheet of sand on the whole map; thickness in metres.
    pub fn spread_sand(&mut self, thickness: f32) {
        self.edit(|simulation| simulation.terrain.sand.iter_mut().for_each(|sand| *sand += thickness));
    }

    /// Takes all loose sand away.
    pub fn remove_sand(&mut self) {
        self.edit(|simulation| simulation.terrain.sand.iter_mut().for_each(|sand| *sand = 0.0));
    }

    /// Takes all water away; what it carried lies down as sand.
    pub fn dry(&mut self) {
        self.edit(|simulation| {
            let terrain = &mut simulation.terrain;
            for (sand, suspended) in terrain.sand.iter_mut().zip(terrain.suspended.iter_mut()) {
                *sand += std::mem::take(suspended);
            }
            terrain.water.iter_mut().for_each(|water| *water = 0.0);
        });
    }

    /// Sets the uplift to 0 everywhere, so that it can be painted. The previous map of uplift is kept in `patch`.
    pub fn clear_uplift(&mut self, patch: &mut Patch) {
        edit::clear(&mut self.terrain, Layer::Uplift, patch);
    }

    /// Touches the ground with a brush. A stamp presses the relief on it, and a clone copies from it. What the layers were
    /// before is kept in `patch`.
    pub fn dab(&mut self, tool: Tool, brush: &Brush, dab: Dab, relief: Option<&Grid>, patch: &mut Patch) {
        self.touch((tool, brush), dab, relief, (patch, None));
    }

    /// The same as a part of a stroke, which lifts or digs no more than the brush's height unless the brush builds up.
    pub fn dab_in_stroke(
        &mut self,
        (tool, brush): (Tool, &Brush),
        dab: Dab,
        relief: Option<&Grid>,
        (patch, growth): (&mut Patch, &mut Growth),
    ) {
        let growth = (tool.adds_up() && !brush.build_up).then_some(growth);
        self.touch((tool, brush), dab, relief, (patch, growth));
    }

    fn touch(
        &mut self,
        (tool, brush): (Tool, &Brush),
        dab: Dab,
        relief: Option<&Grid>,
        (patch, growth): (&mut Patch, Option<&mut Growth>),
    ) {
        let [ground, water] = match tool {
            Tool::Erode => {
                let droplets = self.slots.iter().find(|slot| slot.key() == "droplets").map(|slot| &*slot.process);
                let eroded =
                    droplets.map(|droplets| edit::erode(&mut self.terrain, droplets, self.seed, brush, dab, patch));
                [eroded.unwrap_or_default(), 0.0]
            }
            Tool::Water => edit::pour(&mut self.terrain, brush, dab, patch),
            _ => [edit::dab(&mut self.terrain, tool, brush, dab, relief, (patch, growth)), 0.0],
        };
        self.book([ground, water]);
    }

    /// Makes a ramp between two places, in cells. What the layers were before is kept in `patch`.
    pub fn ramp(&mut self, brush: &Brush, ends: [[f32; 2]; 2], patch: &mut Patch) {
        let grown = edit::ramp(&mut self.terrain, brush, ends, patch);
        self.book([grown, 0.0]);
    }

    /// Combines a selection with the mask. What the mask was before is kept in `patch`.
    pub fn select(&mut self, selection: &Selection, combine: Combine, patch: &mut Patch) {
        edit::select(&mut self.terrain, selection, combine, patch);
    }

    /// Exchanges what is masked for what is not.
    pub fn invert_mask(&mut self, patch: &mut Patch) {
        edit::invert_mask(&mut self.terrain, patch);
    }

    /// Frees everything.
    pub fn clear_mask(&mut self, patch: &mut Patch) {
        edit::clear_mask(&mut self.terrain, patch);
    }

    /// Exchanges what a patch keeps for what is there: takes a stroke back, or does it again.
    pub fn exchange(&mut self, patch: &mut Patch) {
        let grown = patch.exchange(&mut self.terrain);
        self.book(grown);
    }

    /// Books by how much ground and water grew, in metres times cells.
    fn book(&mut self, [ground, water]: [f64; 2]) {
        self.ledger.solid.edits += ground * self.terrain.cell_area();
        self.ledger.water.edits += water * self.terrain.cell_area();
    }

    /// Cuts outlets for the hollows of the ground, as far as the limits allow.
    pub fn carve_outlets(&mut self, limits: Limits) -> Breached {
        let mut breached = Breached::default();
        self.edit(|simulation| breached = breach(&mut simulation.terrain, limits));
        breached
    }

    fn edit(&mut self, change: impl FnOnce(&mut Self)) {
        let before = (self.terrain.solid_volume(), self.terrain.water_volume());
        change(self);
        self.ledger.solid.edits += self.terrain.solid_volume() - before.0;
        self.ledger.water.edits += self.terrain.water_volume() - before.1;
    }
}
