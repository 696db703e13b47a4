//! Log of a simulation: a table with one row for the start and one for each tick.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    Failure,
    build::{numbered, state},
    measures::MEASURES,
};
use thalweg_scene::{
    io::output::{self, OutputFile, OutputSet},
    model::session::Session,
};

/// Entries of the ledger for each process, as in the report.
const SOLID: [&str; 6] = ["eroded", "deposited", "moved", "outflow", "lost", "carried"];
const WATER: [&str; 5] = ["inflow", "outflow", "evaporated", "lost", "carried"];

/// Parses the value of `--log`.
pub(super) fn parse_log(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if is_table { Ok(path) } else { Err("use a file name that ends in .csv".to_owned()) }
}

/// Parses the value of `--probe`.
pub(super) fn parse_probe(text: &str) -> Result<[f32; 2], String> {
    let share = |text: &str| text.trim().parse().ok().filter(|share| (0.0..=1.0).contains(share));
    let place = text.split_once(',').and_then(|(x, y)| Some([share(x)?, share(y)?]));
    place.ok_or_else(|| "use two fractions of the map's sides from 0 to 1, e.g. 0.5,0.25".to_owned())
}

/// Log with one file for each simulation.
pub(super) struct RunLog {
    output: OutputSet,
    simulations: Vec<SimulationLog>,
}

struct SimulationLog {
    file: OutputFile,
    /// JSON pointers into the state, in the order of the columns.
    places: Vec<String>,
    probes: Vec<[f32; 2]>,
}

impl RunLog {
    /// Creates the files and writes their headers.
    pub(super) fn begin(path: &Path, sessions: &[Session], probes: &[[f32; 2]]) -> Result<Self, Failure> {
        let output = OutputSet::new(path.parent().unwrap_or(Path::new("")));
        let output = output.map_err(|error| Failure::bad_input(error.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let begin = |(index, session): (usize, &Session)| {
            let columns: Vec<(String, String)> = columns(session).collect();
            let places = probes
                .iter()
                .flat_map(|[x, y]| ["ground", "sand", "water"].map(|layer| format!("{layer}_at_{x}_{y}_m")));
            let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).chain(places).collect();
            let mut file = output.create(numbered(&name, index, sessions.len()))?;
            file.append(output::csv_row(names.iter().map(String::as_str)))?;
            let places = columns.into_iter().map(|(_, place)| place).collect();
            Ok(SimulationLog { file, places, probes: probes.to_vec() })
        };
        let simulations = sessions.iter().enumerate().map(begin).collect::<Result<_, Failure>>()?;
        Ok(Self { output, simulations })
    }

    /// Appends a row for the present state of each simulation.
    pub(super) fn record(&mut self, sessions: &[Session]) -> Result<(), Failure> {
        for (log, session) in self.simulations.iter_mut().zip(sessions) {
            log.record(session)?;
        }
        Ok(())
    }

    /// Completes the files and checks their targets. They are still to be published.
    pub(super) fn end(self) -> Result<OutputSet, Failure> {
        for log in self.simulations {
            log.file.end()?;
        }
        self.output.check_targets()?;
        Ok(self.output)
    }
}

impl SimulationLog {
    fn record(&mut self, session: &Session) -> Result<(), Failure> {
        let state = state(session);
        // Processes have no entries in the ledger before their first transfer.
        let number = |place: &String| state.pointer(place).map_or(Some(0.0), Value::as_f64);
        let mut cells: Vec<String> =
            self.places.iter().map(|place| number(place).map_or(String::new(), |number| number.to_string())).collect();
        let terrain = &session.simulation.terrain;
        for place in &self.probes {
            let (x, y) = terrain.bedrock.cell_at(*place);
            let (sand, water) = (terrain.sand.at(x, y), terrain.water.at(x, y));
            cells.extend([terrain.bedrock.at(x, y) + sand, sand, water].map(|number| number.to_string()));
        }
        Ok(self.file.append(output::csv_row(cells.iter().map(String::as_str)))?)
    }
}

/// Returns the names of the columns of a simulation, and their JSON pointers into its state.
fn columns(session: &Session) -> impl Iterator<Item = (String, String)> {
    let measures = MEASURES.iter().map(|(name, place)| ((*name).to_owned(), (*place).to_owned()));
    let simulation = &session.simulation;
    let ledger = &simulation.ledger;
    // A project has entries of processes that are now disabled.
    let is_booked = |key: &str| ledger.solid.rows.contains_key(key) || ledger.water.rows.contains_key(key);
    let booked = simulation.slots.iter().filter(move |slot| slot.enabled || is_booked(slot.key()));
    let entries = booked.flat_map(|slot| {
        let entries = SOLID.map(|entry| ("solid", entry)).into_iter().chain(WATER.map(|entry| ("water", entry)));
        entries.map(|(matter, entry)| {
            let key = slot.key();
            (format!("{matter}_{key}_{entry}_m3"), format!("/ledger/{matter}/processes/{key}/{entry}"))
        })
    });
    measures.chain(entries)
}
