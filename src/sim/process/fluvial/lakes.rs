//! Lakes: water in the hollows that the rivers find.

use super::INFO;
use crate::sim::{Simulation, drainage::Drainage};

impl Simulation {
    /// Fills every hollow with water up to its lowest pass; water that stands higher stays. What comes is booked as inflow of uplift
    /// and rivers. Returns it, in cubic metres.
    pub fn fill_lakes(&mut self) -> f64 {
        let before = self.terrain.water_volume();
        let lakes = Drainage::of(&self.terrain).lakes(&self.terrain.ground());
        for (water, &lake) in self.terrain.water.iter_mut().zip(lakes.iter()) {
            *water = water.max(lake);
        }
        let came = self.terrain.water_volume() - before;
        self.ledger.water.row(INFO.key).inflow += came;
        came
    }
}
