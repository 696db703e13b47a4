//! State of a simulation between two ticks: everything its future depends on. History, autosave and projects share this form.

use std::{collections::BTreeMap, sync::Arc};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{origin::Origin, packed::PackedGrid, session::Session, shaped::SculptedStart};
use thalweg_sim::{
    core::{
        bounds::{Bounds, CELL_SIZE, STATE_VARIABLE, TICK},
        grid::{Grid, GridVersion},
        ledger::{Account, Ledger},
        terrain::{Layer, Source, Terrain},
    },
    process::{catalogue, saved_state::StateValue},
};

/// Everything in a state except its maps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateMetadata {
    /// Seed of the simulation.
    pub seed: u64,
    /// Completed ticks.
    pub tick: u64,
    /// Simulated time, in seconds.
    pub seconds: f64,
    /// Number of columns and rows.
    pub size: [usize; 2],
    /// Side of a cell, in metres.
    pub cell_size: f32,
    /// `true` if layers were edited by hand.
    pub edited: bool,
    /// Keys of the enabled processes.
    pub enabled: Vec<String>,
    /// Keys of the processes that respect the mask.
    pub limited: Vec<String>,
    /// All parameters, by path.
    pub set: BTreeMap<String, String>,
    /// Springs and drains.
    pub sources: Vec<Source>,
    /// Ledger of solid matter.
    pub solid: Account,
    /// Ledger of water.
    pub water: Account,
    /// Names of the maps: layers by their keys, state values by process and name.
    pub maps: Vec<String>,
    /// Keys of the processes with state values between ticks.
    pub kept: Vec<String>,
    /// Floating-point state values, by process and name.
    pub numbers: BTreeMap<String, f64>,
    /// Integer state values, by process and name.
    pub counts: BTreeMap<String, u64>,
}

/// Simulation state: its facts, and its maps of type `M` by name.
#[derive(Clone, Debug)]
pub struct SimulationState<M = PackedGrid> {
    /// Everything except the maps.
    pub facts: StateMetadata,
    /// Maps listed in the facts, by name.
    pub maps: BTreeMap<String, M>,
    /// Start terrain as sculpted by hand.
    pub shaped: Option<Arc<SculptedStart>>,
    /// Versions of the layers, valid as long as the session that was captured is alive.
    versions: BTreeMap<String, GridVersion>,
}

/// Map of a state that is not packed yet.
pub enum UnpackedMap {
    /// Values of the cells.
    Cells(Vec<f32>),
    /// Packed map of the previous state, unchanged since.
    Unchanged(PackedGrid),
}

/// Unpacked copy of a state. Copying is fast, packing slow.
pub type UnpackedState = SimulationState<UnpackedMap>;

impl<M> SimulationState<M> {
    /// Creates a state from facts and maps.
    pub fn new(facts: StateMetadata, maps: BTreeMap<String, M>, shaped: Option<Arc<SculptedStart>>) -> Self {
        Self { facts, maps, shaped, versions: BTreeMap::new() }
    }

    /// Captures a session between two ticks. `keep` converts each map; for a layer, it also gets its name and version.
    fn of(session: &mut Session, keep: impl Fn(&[f32], Option<(&str, GridVersion)>) -> M) -> Self {
        let layers = || session.simulation.terrain.layers().map(|(layer, grid)| (layer.key(), grid));
        let versions = layers().map(|(name, grid)| (name.to_owned(), grid.version())).collect();
        let mut maps: BTreeMap<String, M> =
            layers().map(|(name, grid)| (name.to_owned(), keep(grid, Some((name, grid.version()))))).collect();
        let (mut numbers, mut counts) = (BTreeMap::new(), BTreeMap::new());
        let stateful = session.simulation.processes_with_state();
        for (name, memory) in session.simulation.state_values(&stateful) {
            match memory {
                StateValue::Cells(values) => drop(maps.insert(name, keep(values, None))),
                StateValue::Number(number) => drop(numbers.insert(name, *number)),
                StateValue::Count(count) => drop(counts.insert(name, *count)),
            }
        }
        let (set, simulation) = (session.all_parameters(), &session.simulation);
        let terrain = &simulation.terrain;
        let keys = |on: fn(&thalweg_sim::simulation::Slot) -> bool| {
            simulation.slots.iter().filter(|slot| on(slot)).map(|slot| slot.key().to_owned()).collect()
        };
        let facts = StateMetadata {
            seed: simulation.seed(),
            tick: simulation.ticks(),
            seconds: simulation.simulated_seconds(),
            size: [terrain.width(), terrain.height()],
            cell_size: terrain.cell_size,
            edited: session.origin.edited,
            enabled: keys(|slot| slot.enabled),
            limited: keys(|slot| slot.limited),
            set,
            sources: terrain.sources.clone(),
            solid: simulation.ledger.solid.clone(),
            water: simulation.ledger.water.clone(),
            maps: maps.keys().cloned().collect(),
            kept: stateful.into_iter().map(str::to_owned).collect(),
            numbers,
            counts,
        };
        Self { facts, maps, shaped: session.shaped.clone(), versions }
    }
}

impl UnpackedState {
    /// Captures a session between two ticks. Layers that are unchanged since the state `before` are not copied.
    pub fn capture_unpacked(session: &mut Session, before: Option<&SimulationState>) -> Self {
        let same = |(name, version): (&str, GridVersion)| {
            let before = before.filter(|before| before.versions.get(name) == Some(&version))?;
            before.maps.get(name).cloned()
        };
        Self::of(session, |cells, layer| match layer.and_then(same) {
            Some(packed) => UnpackedMap::Unchanged(packed),
            None => UnpackedMap::Cells(cells.par_iter().copied().collect()),
        })
    }

    /// Packs the maps.
    pub fn pack(self) -> SimulationState {
        let pack = |map| match map {
            UnpackedMap::Cells(cells) => PackedGrid::pack(&cells),
            UnpackedMap::Unchanged(packed) => packed,
        };
        let maps = self.maps.into_iter().map(|(name, map)| (name, pack(map))).collect();
        SimulationState { facts: self.facts, maps, shaped: self.shaped, versions: self.versions }
    }
}

impl SimulationState {
    /// Captures a session between two ticks, packed.
    pub fn capture_packed(session: &mut Session) -> Self {
        Self::of(session, |cells, _| PackedGrid::pack(cells))
    }

    /// Returns the number of completed ticks.
    pub fn tick(&self) -> u64 {
        self.facts.tick
    }

    /// Returns the memory use, in bytes; of maps shared with other states, only its share.
    pub fn bytes(&self) -> usize {
        self.maps.values().map(PackedGrid::memory).sum::<usize>() + 64 * self.facts.set.len() + 1024
    }

    /// Restores a session to this state, bit by bit. Its origin, initial look and title are unchanged.
    ///
    /// # Errors
    /// The facts describe no valid session; this never happens for a state from [`Self::capture_packed`].
    pub fn restore(&self, session: &mut Session) -> Result<(), String> {
        self.facts.restore(session, |name| Ok::<_, String>(self.maps.get(name).map(PackedGrid::unpack)))?;
        session.shaped.clone_from(&self.shaped);
        Ok(())
    }
}

/// Returns the bounds of the values in a map.
pub fn bounds_of(map: &str) -> Bounds {
    Layer::from_key(map).map_or(STATE_VARIABLE, |layer| layer.row().bounds)
}

impl StateMetadata {
    /// Returns the number of values in a map; for state values, an upper bound, as these are stored per cell or per face (up to
    /// two more per row or column).
    pub fn numbers_of(&self, map: &str) -> usize {
        let [width, height] = self.size;
        if Layer::from_key(map).is_some() { width * height } else { (width + 2) * (height + 2) }
    }

    /// Checks everything that does not require the maps.
    ///
    /// # Errors
    /// A message that names the invalid fact.
    pub fn check(&self) -> Result<(), String> {
        self.set_up(&mut Session::placeholder("", self.seed, Origin::default()))
    }

    /// Checks the numbers and sets parameters, switches and sources.
    ///
    /// # Errors
    /// A message that names the invalid fact.
    pub fn set_up(&self, session: &mut Session) -> Result<(), String> {
        CELL_SIZE.check("the cell size", self.cell_size)?;
        TICK.check("the tick", self.tick as f64)?;
        STATE_VARIABLE.check("the simulated time", self.seconds)?;
        self.sources.iter().try_for_each(Source::check)?;
        self.numbers.iter().try_for_each(|(name, &number)| STATE_VARIABLE.check(name, number))?;
        let processes: Vec<&str> = catalogue().iter().map(|process| process.info().key).collect();
        [&self.solid, &self.water].into_iter().try_for_each(|account| account.check(&processes))?;
        // A bare terrain has exactly the mandatory layers.
        let bare = Terrain::from_layers((1, 1), (self.cell_size, session.terrain.edge), |_| None);
        let is_missing = |layer: &Layer| self.maps.iter().all(|map| map != layer.key());
        if let Some(layer) = bare.layers().map(|(layer, _)| layer).find(is_missing) {
            return Err(format!("the layer {} is missing", layer.key()));
        }
        // Imported maps may have any cell size, even beyond the range of the generators.
        let set = self.set.iter().map(|(path, value)| (&**path, &**value));
        session.set_all(set.filter(|(path, _)| *path != "terrain.cell_size")).map_err(|error| error.to_string())?;
        session.terrain.cell_size = self.cell_size;
        let names: Vec<&str> = self.enabled.iter().map(String::as_str).collect();
        if let Some(unknown) = session.enable(&names) {
            return Err(format!("there is no process \"{unknown}\""));
        }
        for slot in &mut session.simulation.slots {
            slot.limited = self.limited.iter().any(|key| key == slot.key());
        }
        Ok(())
    }

    /// Restores a session to this state, bit by bit, with maps from `map`.
    ///
    /// # Errors
    /// A map is unavailable, missing or of the wrong size, or the facts describe no valid session.
    pub fn restore<E: From<String>>(
        &self,
        session: &mut Session,
        mut map: impl FnMut(&str) -> Result<Option<Vec<f32>>, E>,
    ) -> Result<(), E> {
        self.set_up(session)?;
        let [width, height] = self.size;
        let sized = |name: &str, cells: Vec<f32>, wanted: usize| {
            let found = cells.len();
            let wrong = || format!("the map {name} has {found} values, expected {wanted}");
            if found == wanted { Ok(cells) } else { Err(wrong()) }
        };
        let mut layers = BTreeMap::new();
        for name in &self.maps {
            let Some(layer) = Layer::from_key(name) else { continue };
            let cells = map(name)?.ok_or_else(|| format!("the layer {name} is missing"))?;
            layers.insert(layer, Grid::from_cells(width, height, sized(name, cells, width * height)?));
        }
        let edge = session.terrain.edge;
        let mut terrain = Terrain::from_layers((width, height), (self.cell_size, edge), |layer| layers.remove(&layer));
        terrain.sources.clone_from(&self.sources);
        session.sources.clone_from(&self.sources);
        session.origin.edited = self.edited;
        let simulation = &mut session.simulation;
        simulation.restart(terrain, self.seed);
        simulation.ledger = Ledger { solid: self.solid.clone(), water: self.water.clone() };
        let stateful: Vec<&str> = self.kept.iter().map(String::as_str).collect();
        for (name, memory) in simulation.state_values(&stateful) {
            let missing = || format!("the process state {name} is missing");
            match memory {
                StateValue::Number(number) => *number = *self.numbers.get(&name).ok_or_else(missing)?,
                StateValue::Count(count) => *count = *self.counts.get(&name).ok_or_else(missing)?,
                StateValue::Cells(values) => {
                    let cells = map(&name)?.ok_or_else(missing)?;
                    values.copy_from_slice(&sized(&name, cells, values.len())?);
                }
            }
        }
        simulation.set_clock(self.tick, self.seconds);
        session.record_uplift_source();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{io::scene, model::origin::Options};

    #[test]
    fn restored_state_continues_bit_identically() {
        for name in ["river-valley", "wadi", "alpine-valley", "musgrave-1989", "figure-7", "parameter-study"] {
            let options = Options { size: Some((48, 48)), ..Options::default() };
            let mut session = scene::open(name, &options).unwrap_or_else(|error| panic!("{error}")).swap_remove(0);
            (0..5).for_each(|_| session.simulation.tick());
            let state = UnpackedState::capture_unpacked(&mut session, None).pack();
            assert_eq!(state.tick(), 5);
            (0..5).for_each(|_| session.simulation.tick());
            // Unchanged layers are stored once.
            let later = UnpackedState::capture_unpacked(&mut session, Some(&state)).pack();
            let start = Layer::Start.key();
            let one = |map: &str| std::ptr::eq(state.maps[map].bytes(), later.maps[map].bytes());
            let rests = session.simulation.slots.iter().all(|slot| !slot.enabled);
            assert!(one(start) && state.maps.keys().any(|map| !one(map)) != rests, "{name}");
            assert_eq!(later.maps[start].memory(), state.maps[start].bytes().len() / 2);
            let fresh = SimulationState::capture_packed(&mut session);
            assert!(fresh.maps.iter().all(|(map, packed)| packed.bytes() == later.maps[map].bytes()), "{name}");
            let (wanted, ledger) = (session.simulation.terrain.clone(), session.simulation.ledger.clone());
            let parameters = session.all_parameters();
            session.set("thermal.repose_angle", "12").unwrap_or_else(|error| panic!("{error}"));
            session.enable(&["thermal"]);
            (0..3).for_each(|_| session.simulation.tick());
            state.restore(&mut session).expect("it is its own");
            assert_eq!((session.simulation.ticks(), session.all_parameters()), (5, parameters));
            (0..5).for_each(|_| session.simulation.tick());
            assert!(session.simulation.terrain == wanted && session.simulation.ledger == ledger, "{name}");
        }
    }
}
