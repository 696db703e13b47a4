//! Reads a project and prints the progress and the volumes of its sessions. Without a file, it first saves a sample.
//!
//! `cargo run --release --example project WORK.thalweg`
use std::{env, error::Error, path::Path};

use thalweg_scene::{
    io::{JobProgress, project, scene},
    model::origin::Options,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let sample = folder.path().join("sample.thalweg");
    let path = env::args_os().nth(1).map_or_else(|| save(&sample).map(|()| sample.clone()), |path| Ok(path.into()))?;
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
        println!("  continue with: {}", session.command_line());
    }
    Ok(())
}

/// Saves a project with one session after ten ticks.
fn save(path: &Path) -> Result<(), Box<dyn Error>> {
    let options = Options { size: Some((64, 64)), ..Options::default() };
    let mut session = scene::open_first("wadi", &options)?;
    (0..10).for_each(|_| session.simulation.tick());
    Ok(project::save(&mut project::Project::of(vec![session]), path, &JobProgress::default())?)
}
