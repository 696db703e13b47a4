//! A simulation without a window: mountains under rain, exported as a heightmap for game engines.
//!
//! `cargo run --release --example heightmap FOLDER`

use std::{env, error::Error, path::PathBuf};

use thalweg_scene::{
    io::{
        JobProgress,
        export::{Dimensions, Export, ExportSubject},
        scene,
    },
    model::origin::Options,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    // A built-in scene, or the path of a scene or heightmap.
    let mut session = scene::open_first("alpine-valley", &Options { size: Some((128, 128)), ..Options::default() })?;
    session.set("droplets.friction", "0.1")?;
    session.enable(&["droplets", "thermal"]);
    for _ in 0..20 {
        session.simulation.tick();
    }
    let moved = session.simulation.ledger.solid.sum(|row| row.moved);
    println!("transported {moved:.0} m³; mass balance residual {:.0e} m³", session.simulation.solid_residual());

    let height = Export::new("height", "png").map_err(|(wrong, right)| format!("{wrong}; {right}"))?;
    let subject = ExportSubject::new(&session, Dimensions::default(), &[height])?;
    // Also writes height.json with the height range in metres.
    Export::save("height", &subject, &folder.join(height.file_name()), &JobProgress::default())?;
    Ok(())
}
