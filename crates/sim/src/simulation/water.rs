//! Instant water: steady-state rivers and lakes, and filled depressions.

use super::Simulation;
use crate::{
    core::{bounds::InvalidInput, quantity::Quantity, terrain::Terrain},
    hydrology::{
        drainage::Drainage,
        network::{Course, RiverParams, RiverTerrain},
    },
    process::{ProgressCallback, SteadyState, VectorMap, fluvial, water},
};

/// Steady state of rivers and lakes, by each process that moves water.
pub struct Balance(Vec<SteadyState>);

impl Balance {
    /// `false` if depths still changed after the last iteration.
    pub fn has_converged(&self) -> bool {
        self.0.iter().all(|steady| steady.has_converged)
    }
}

impl Simulation {
    /// Returns the steady state of rivers and lakes for the rain and the springs of this tick.
    ///
    /// # Errors
    /// If there is no water supply, no outlet, or the search was cancelled.
    pub fn balance(&self, go_on: &ProgressCallback<'_>) -> Result<Balance, InvalidInput> {
        self.on_its_threads(|run| {
            let steady = run.slots.iter().filter_map(|slot| slot.process.capabilities().steady);
            let balances = steady.map(|water| water.solve_steady_state(&run.terrain, run.ticks() + 1, go_on));
            balances.collect::<Result<_, _>>().map(Balance)
        })
    }

    /// Sets rivers and lakes to their steady state. Records the change as inflow or outflow of the water, and returns it in cubic
    /// metres.
    pub fn fill_rivers(&mut self, balance: Balance) -> f64 {
        let before = self.terrain.water_volume();
        for SteadyState { process, water, .. } in balance.0 {
            let key = process.info().key;
            if let Some(slot) = self.slot_mut(key) {
                slot.process = process;
            }
            self.terrain.water = water;
        }
        let came = self.terrain.water_volume() - before;
        self.ledger.water.book_inflow(water::INFO.key, came);
        came
    }

    /// Fills every depression with water up to its spill point; higher water stays. Records the water as inflow of uplift and
    /// rivers, and returns it in cubic metres.
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

    /// Returns the current terrain, with the maps of the droplets if its rivers follow them.
    pub fn river_terrain(&self, params: &RiverParams) -> RiverTerrain {
        let follows = params.course == Course::Droplets;
        let droplets = self.slots.iter().find(|slot| follows && slot.enabled && slot.key() == "droplets");
        let maps = droplets.and_then(|slot| {
            let water = slot.process.map(Quantity::StreamDischarge, &self.terrain)?.into_owned();
            let [along, down] = slot.process.vector_map(VectorMap::Momentum, &self.terrain)?;
            Some([water, along, down])
        });
        RiverTerrain::new(self.terrain.clone(), params.clone(), maps)
    }

    /// Returns the starting terrain, with rivers that follow the ground.
    pub fn river_terrain_at_start(&self, params: &RiverParams) -> RiverTerrain {
        let Terrain { start, cell_size, edge, rain, sources, .. } = &self.terrain;
        let bare = Terrain::bare(start.clone(), *cell_size, *edge);
        let terrain = Terrain { rain: rain.clone(), sources: sources.clone(), ..bare };
        RiverTerrain::new(terrain, params.clone(), None)
    }
}
