//! Reads a project: what runs are in it, how far they are, and what has become of the mass.
//!
//! `cargo run --release --example project WORK.thalweg`

use std::{env, error::Error, path::PathBuf};

use thalweg_scene::io::project;

/// A project of the tests.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/format-1.thalweg");

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).map_or_else(|| PathBuf::from(SAMPLE), PathBuf::from);
    for session in project::open(&path)?.sessions {
        let simulation = &session.simulation;
        let terrain = &simulation.terrain;
        println!("{}: {} × {} cells of {} m", session.title, terrain.width(), terrain.height(), terrain.cell_size);
        println!("  after {} ticks with seed {}", simulation.ticks(), simulation.seed());
        for slot in simulation.slots.iter().filter(|slot| slot.enabled) {
            println!("  {} took {} steps", slot.process.info().title, slot.process.counts().substeps);
        }
        let (low, high) = terrain.ground().min_max();
        println!("  ground from {low:.1} m to {high:.1} m, {:.0} m³ of water", terrain.water_volume());
        println!("  goes on with: {}", session.command_line());
    }
    Ok(())
}
