//! Standing water of a simulation: rivers and lakes in balance, and lakes in its depressions.

use super::Simulation;
use crate::{
    core::{bounds::Unfit, grid::Grid, quantity::Quantity, terrain::Terrain},
    hydrology::{
        drainage::Drainage,
        network::{Course, Land, RiverParams},
    },
    process::{GoOn, Process, ProcessMap, fluvial, water},
};

/// Rivers and lakes of a run in balance: the processes that move water, and the water.
pub struct Balance(Vec<(Box<dyn Process>, Grid)>);

impl Simulation {
    /// Rivers and lakes as rain and springs of this moment keep them in the long run, between ticks.
    ///
    /// # Errors
    /// One sentence, if no water comes, none can leave the map, or it was given up.
    pub fn balance(&self, go_on: &GoOn<'_>) -> Result<Balance, Unfit> {
        self.on_its_threads(|run| {
            let steady = run.slots.iter().filter_map(|slot| slot.process.abilities().steady);
            let balances = steady.map(|water| water.balance(&run.terrain, run.ticks() + 1, go_on));
            balances.collect::<Result<_, _>>().map(Balance)
        })
    }

    /// Fills rivers and lakes as was found. What comes and what goes is booked as inflow and outflow of the water. Returns by how much
    /// there is more now, in cubic metres.
    pub fn fill_rivers(&mut self, balance: Balance) -> f64 {
        let before = self.terrain.water_volume();
        for (process, water) in balance.0 {
            let key = process.info().key;
            if let Some(slot) = self.slot_mut(key) {
                slot.process = process;
            }
            self.terrain.water = water;
        }
        let came = self.terrain.water_volume() - before;
        self.ledger.water.came(water::INFO.key, came);
        came
    }

    /// Fills every hollow with water up to its lowest pass; water that stands higher stays. What comes is booked as inflow of uplift
    /// and rivers. Returns it, in cubic metres.
    pub fn fill_lakes(&mut self) -> f64 {
        let before = self.terrain.water_volume();
        let lakes = Drainage::of(&self.terrain).lakes(&self.terrain.ground());
        for (water, &lake) in self.terrain.water.iter_mut().zip(lakes.iter()) {
            *water = water.max(lake);
        }
        let came = self.terrain.water_volume() - before;
        self.ledger.water.row(fluvial::INFO.key).inflow += came;
        came
    }

    /// The terrain as it is now, and what leads its rivers.
    pub fn river_land(&self, params: &RiverParams) -> Land {
        let follows = params.course == Course::Droplets;
        let droplets = self.slots.iter().find(|slot| follows && slot.enabled && slot.key() == "droplets");
        let maps = droplets.and_then(|slot| {
            let water = slot.process.map(ProcessMap::Quantity(Quantity::StreamDischarge), &self.terrain)?.into_owned();
            let [along, down] = slot.process.vectors(ProcessMap::Momentum, &self.terrain)?;
            Some([water, along, down])
        });
        Land::new(self.terrain.clone(), params.clone(), maps)
    }

    /// The terrain at the start, whose rivers the ground leads.
    pub fn river_land_at_start(&self, params: &RiverParams) -> Land {
        let Terrain { start, cell_size, edge, rain, sources, .. } = &self.terrain;
        let bare = Terrain::bare(start.clone(), *cell_size, *edge);
        let terrain = Terrain { rain: rain.clone(), sources: sources.clone(), ..bare };
        Land::new(terrain, params.clone(), None)
    }
}
