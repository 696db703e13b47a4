//! What a person does to the layers by hand. Every cubic metre that comes or goes is booked as an edit.

use super::Simulation;

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

    fn edit(&mut self, change: impl FnOnce(&mut Self)) {
        let before = (self.terrain.solid_volume(), self.terrain.water_volume());
        change(self);
        self.ledger.solid.edits += self.terrain.solid_volume() - before.0;
        self.ledger.water.edits += self.terrain.water_volume() - before.1;
    }
}

#[cfg(test)]
mod tests {
    use crate::sim::{
        Simulation,
        grid::Grid,
        terrain::{Edge, Terrain},
    };

    #[test]
    fn edits_leave_the_ledger_closed_and_drying_keeps_what_the_water_carried() {
        let mut simulation = Simulation::new(Terrain::bare(Grid::filled(8, 8, 3.0), 2.0, Edge::Open), 1);
        simulation.spread_sand(0.5);
        assert_eq!((simulation.ledger.solid.edits, simulation.solid_residual()), (128.0, 0.0));
        simulation.terrain.water[9] = 1.0;
        simulation.terrain.suspended[9] = 0.25;
        simulation.ledger.water.start = simulation.terrain.water_volume();
        simulation.ledger.solid.start += 1.0;
        simulation.dry();
        assert_eq!((simulation.terrain.water_volume(), simulation.terrain.sand[9]), (0.0, 0.75));
        assert_eq!((simulation.water_residual(), simulation.solid_residual()), (0.0, 0.0));
        simulation.remove_sand();
        assert_eq!(simulation.terrain.sand.total(), 0.0);
        assert_eq!(simulation.solid_residual(), 0.0);
    }
}
