//! Manual edits of a simulation's terrain by brushes and menus, recorded in its ledger.

use super::Simulation;
use crate::{
    core::{grid::Grid, terrain::Layer},
    edit::{self, Brush, CombineMode, Dab, Selection, StrokeGrowth, Tool, UndoPatch},
    hydrology::breach::{BreachReport, Limits, breach},
};

impl Simulation {
    /// Adds a sheet of sand to the whole map; thickness in metres.
    pub fn spread_sand(&mut self, thickness: f32) {
        self.edit(|simulation| simulation.terrain.sand.iter_mut().for_each(|sand| *sand += thickness));
    }

    /// Removes all loose sand.
    pub fn remove_sand(&mut self) {
        self.edit(|simulation| simulation.terrain.sand.iter_mut().for_each(|sand| *sand = 0.0));
    }

    /// Removes all water; its sediment settles as sand.
    pub fn dry(&mut self) {
        self.edit(|simulation| {
            let terrain = &mut simulation.terrain;
            for (sand, suspended) in terrain.sand.iter_mut().zip(terrain.suspended.iter_mut()) {
                *sand += std::mem::take(suspended);
            }
            terrain.water.iter_mut().for_each(|water| *water = 0.0);
        });
    }

    /// Sets the uplift to 0 everywhere, so that it can be painted. The previous uplift map is kept in `patch`.
    pub fn clear_uplift(&mut self, patch: &mut UndoPatch) {
        edit::clear(&mut self.terrain, Layer::Uplift, patch);
    }

    /// Applies a dab of a brush. `relief` is the shape of a stamp or the source of a clone. The previous layers are kept in
    /// `patch`.
    pub fn dab(&mut self, tool: Tool, brush: &Brush, dab: Dab, relief: Option<&Grid>, patch: &mut UndoPatch) {
        self.touch((tool, brush), dab, relief, (patch, None));
    }

    /// Applies a dab as a part of a stroke, which raises or lowers no more than the brush's height unless the brush builds up, and
    /// cuts its terraces into the ground at the start of the stroke.
    pub fn dab_in_stroke(
        &mut self,
        (tool, brush): (Tool, &Brush),
        dab: Dab,
        relief: Option<&Grid>,
        (patch, growth): (&mut UndoPatch, &mut StrokeGrowth),
    ) {
        let counts = tool == Tool::Terrace || tool.adds_up() && !brush.build_up;
        self.touch((tool, brush), dab, relief, (patch, counts.then_some(growth)));
    }

    fn touch(
        &mut self,
        (tool, brush): (Tool, &Brush),
        dab: Dab,
        relief: Option<&Grid>,
        (patch, growth): (&mut UndoPatch, Option<&mut StrokeGrowth>),
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

    /// Builds a ramp between two positions, in cells. The previous layers are kept in `patch`.
    pub fn ramp(&mut self, brush: &Brush, ends: [[f32; 2]; 2], patch: &mut UndoPatch) {
        let grown = edit::ramp(&mut self.terrain, brush, ends, patch);
        self.book([grown, 0.0]);
    }

    /// Combines a selection with the mask. The previous mask is kept in `patch`.
    pub fn select(&mut self, selection: &Selection, combine: CombineMode, patch: &mut UndoPatch) {
        edit::select(&mut self.terrain, selection, combine, patch);
    }

    /// Inverts the mask.
    pub fn invert_mask(&mut self, patch: &mut UndoPatch) {
        edit::invert_mask(&mut self.terrain, patch);
    }

    /// Clears the mask.
    pub fn clear_mask(&mut self, patch: &mut UndoPatch) {
        edit::clear_mask(&mut self.terrain, patch);
    }

    /// Swaps the contents of a patch with the current layers: undoes a stroke, or redoes it.
    pub fn exchange(&mut self, patch: &mut UndoPatch) {
        let grown = patch.exchange(&mut self.terrain);
        self.book(grown);
    }

    /// Records the growth of ground and water, in metres times cells.
    fn book(&mut self, [ground, water]: [f64; 2]) {
        self.ledger.solid.edits += ground * self.terrain.cell_area();
        self.ledger.water.edits += water * self.terrain.cell_area();
    }

    /// Carves outlets for the depressions of the ground, within the limits.
    pub fn carve_outlets(&mut self, limits: Limits) -> BreachReport {
        let mut breached = BreachReport::default();
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
