//! Where a run broke: a process computed something that is not a finite number, and the run stops before the result is used.

use std::fmt;

use super::terrain::{Layer, Terrain};

/// Where a run broke.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Title of the process that did it.
    pub process: &'static str,
    /// The tick in which it did, from 1.
    pub tick: u64,
    /// The first cell that is broken, as layer, column and row from 0; `None` if only the ledger is.
    pub cell: Option<(Layer, usize, usize)>,
}

impl Fault {
    /// The first cell of a terrain that holds no finite number.
    pub fn broken_cell(terrain: &Terrain) -> Option<(Layer, usize, usize)> {
        terrain.layers().find_map(|(layer, grid)| {
            let place = grid.iter().position(|value| !value.is_finite())?;
            Some((layer, place % terrain.width(), place / terrain.width()))
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} broke the run in tick {}: ", self.process, self.tick)?;
        match self.cell {
            Some((layer, x, y)) => {
                write!(out, "the {} of the cell in column {x}, row {y} is no longer a finite number", layer.key())?;
            }
            None => write!(out, "what it moved is no longer a finite number")?,
        }
        write!(out, "; bring its parameters nearer to their defaults")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Simulation, grid::Grid, terrain::Edge};

    #[test]
    fn a_run_stops_where_a_cell_is_no_number_and_says_who_when_and_where() {
        for (key, title) in
            [("droplets", "Droplets"), ("runoff", "Runoff (1989)"), ("water", "Water"), ("thermal", "Slumping")]
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
                assert!(matches!(fault.cell, Some((Layer::Bedrock, ..))), "{key} {mode}: {fault}");
                assert!(
                    fault
                        .to_string()
                        .starts_with(&format!("{title} broke the run in tick 2: the bedrock of the cell in column "))
                );
                let stopped = run.terrain.sand.clone();
                run.tick();
                assert!(run.between_ticks() && run.ticks() == 1 && run.terrain.sand == stopped, "{key} {mode} goes on");
            }
        }
    }
}
