//! Faults: a process panicked, or computed a number that is not finite. The simulation stops before the result is used.

use std::{any::Any, fmt};

use crate::core::terrain::{Layer, Terrain};

/// A fault of a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Title of the process.
    pub process: &'static str,
    /// Tick of the fault, from 1.
    pub tick: u64,
    /// Cause of the fault.
    pub cause: Cause,
}

/// Cause of a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A cell is not finite: the first one, as layer, column and row from 0.
    Cell(Layer, usize, usize),
    /// Only the row of the process in the ledger is not finite.
    Ledger,
    /// The process panicked, with this message.
    Panic(String),
}

impl Cause {
    /// Returns the cause of a ledger that is no longer finite, on this terrain.
    pub fn not_finite(terrain: &Terrain) -> Self {
        let broken = terrain.layers().find_map(|(layer, grid)| {
            let place = grid.iter().position(|value| !value.is_finite())?;
            Some(Self::Cell(layer, place % terrain.width(), place / terrain.width()))
        });
        broken.unwrap_or(Self::Ledger)
    }

    /// Returns the cause for a caught panic.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Self::Panic(text.unwrap_or("no message").to_owned())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} failed in tick {}: ", self.process, self.tick)?;
        match &self.cause {
            Cause::Cell(layer, x, y) => {
                write!(out, "the {} of the cell in column {x}, row {y} is not finite", layer.key())?;
            }
            Cause::Ledger => write!(out, "the volume that it moved is not finite")?,
            Cause::Panic(message) => {
                return write!(out, "internal error ({}); please report it", message.escape_debug());
            }
        }
        write!(out, "; move its parameters closer to their defaults")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        core::{grid::Grid, terrain::Edge},
        simulation::Simulation,
    };

    #[test]
    fn simulation_stops_at_nan_cell_and_reports_fault() {
        for (key, title) in
            [("droplets", "Droplets"), ("runoff", "Runoff (1989)"), ("water", "Water"), ("thermal", "Thermal erosion")]
        {
            for mode in ["default", "published"] {
                let ground = |x: usize, y: usize| 50.0 + ((x * 7 + y * 3) % 11) as f32;
                let mut run = Simulation::new(Terrain::bare(Grid::from_fn(40, 36, ground), 1.0, Edge::Wall), 1);
                run.terrain.water.fill(0.5);
                run.slot_mut(key).expect("it is in the catalogue").enabled = true;
                let set = crate::params::set(&mut run.groups_mut(), &format!("{key}.mode"), mode);
                set.expect("every process has both modes");
                run.tick();
                assert_eq!((run.fault(), run.ticks()), (None, 1), "{key} {mode}");
                run.terrain.bedrock[9 * 40 + 17] = f32::NAN;
                run.tick();
                let fault = run.fault().unwrap_or_else(|| panic!("{key} {mode} goes on"));
                assert_eq!((fault.process, fault.tick), (title, 2));
                assert!(matches!(fault.cause, Cause::Cell(Layer::Bedrock, ..)), "{key} {mode}: {fault}");
                assert!(
                    fault
                        .to_string()
                        .starts_with(&format!("{title} failed in tick 2: the bedrock of the cell in column "))
                );
                let stopped = run.terrain.sand.clone();
                run.tick();
                assert!(run.between_ticks() && run.ticks() == 1 && run.terrain.sand == stopped, "{key} {mode} goes on");
            }
        }
    }

    #[test]
    fn process_panic_stops_simulation_and_reports_fault() {
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
            let ground = Terrain::bare(Grid::from_fn(40, 36, |x, _| x as f32), 1.0, Edge::Wall);
            let mut run = Simulation::new(ground, 1).with_pool(std::sync::Arc::new(pool));
            run.slot_mut("droplets").expect("it is in the catalogue").enabled = true;
            run.tick();
            assert_eq!((run.fault(), run.ticks()), (None, 1));
            run.terrain.softness = Grid::filled(1, 1, 0.5);
            run.tick();
            let message = run.fault().expect("a layer is too small").to_string();
            let start = "Droplets failed in tick 2: internal error (range start index ";
            assert!(message.starts_with(start) && message.ends_with("); please report it"), "{message}");
            run.tick();
            assert!(run.between_ticks() && run.ticks() == 1, "it goes on");
        }
    }
}
