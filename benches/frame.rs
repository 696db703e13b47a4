//! Milliseconds per frame on this machine, and those in which heights are made ready for the graphics card.
//!
//! `cargo bench --bench frame` draws off-screen at 1280 × 800 while droplets run, as the window does, and prints medians and what
//! goes to the graphics card in a tick: with the rain of the map's size, and with 1000 droplets a tick on large maps.

use std::time::Instant;

use bevy::prelude::*;
use thalweg::{
    app::off_screen,
    io::scene,
    model::origin::Options,
    runtime::{Live, Preferences, Timing, Transport},
    settings::{Quality, Settings},
    view::camera::Viewpoint,
};

/// Frames until pipelines and textures are there.
const FIRST: usize = 6;
/// Frames that are measured.
const MEASURED: usize = 9;

fn main() {
    println!("{:<34} {:>9} {:>10} {:>10} {:>9} {:>9}", "", "ms/frame", "paused", "ms/remesh", "MB/tick", "MB whole");
    for side in [256, 512, 1024] {
        measure(&format!("{side} × {side}"), side, &[]);
    }
    rivers(1024);
    for side in [1024, 2048, 4096] {
        measure(&format!("{side} × {side}, 1000 droplets"), side, &["droplets.per_tick", "1000"]);
    }
    for (what, set) in [
        ("256 × 256, no shadows", ["look.shadows", "false"]),
        ("256 × 256, hard shadows", ["look.soft_shadows", "false"]),
        ("256 × 256, even paint", ["look.grain", "0"]),
    ] {
        measure(what, 256, &set);
    }
}

/// The default scene with so many cells along a side, drawn off-screen.
fn scene_of(side: usize, set: &[&str]) -> App {
    let options = Options { size: Some((side, side)), ..Options::default() };
    let mut sessions = scene::open(scene::DEFAULT, &options).expect("it is built in");
    if let [path, value] = set {
        sessions[0].set(path, value).expect("it is a parameter");
    }
    let mut app = off_screen::app(sessions, (1280, 800), Viewpoint::default());
    app.insert_resource(Preferences {
        settings: Settings { quality: Quality::Automatic, ..Settings::default() },
        ..Preferences::default()
    });
    app
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of so many frames, in milliseconds.
fn frames(app: &mut App, count: usize) -> f64 {
    let frame = |_| {
        let begun = Instant::now();
        app.update();
        begun.elapsed().as_secs_f64() * 1e3
    };
    median((0..count).map(frame).collect())
}

/// What drawing rivers costs, by paused frames with and without them in turns.
fn rivers(side: usize) {
    let mut app = scene_of(side, &[]);
    app.insert_resource(Transport::paused());
    frames(&mut app, FIRST);
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..2 * MEASURED {
        app.world_mut().resource_mut::<Live>().all_mut()[0].rivers.shown = turn % 2 == 1;
        // Until they are found and brought to the screen.
        frames(&mut app, 2 * FIRST);
        times[turn % 2].push(frames(&mut app, MEASURED));
    }
    let [without, with] = times.map(median);
    println!("{:<34} {:>9} {with:>10.1}   {without:.1} without them", format!("{side} × {side}, rivers"), "");
}

fn measure(what: &str, side: usize, set: &[&str]) {
    let mut app = scene_of(side, set);
    frames(&mut app, FIRST);
    let seen = |app: &App| (app.world().resource::<Timing>().uploaded, app.world().resource::<Live>().ticks());
    let before = seen(&app);
    let running = frames(&mut app, MEASURED);
    let after = seen(&app);
    let uploaded = (after.0 - before.0) as f64 / (after.1 - before.1).max(1) as f64 / 1e6;
    let whole = (16 * side * side) as f64 / 1e6;
    let remesh = app.world().resource::<Timing>().remesh_ms;
    app.insert_resource(Transport::paused());
    frames(&mut app, FIRST);
    let paused = frames(&mut app, MEASURED);
    let ticks = app.world().resource::<Live>().ticks();
    println!("{what:<34} {running:>9.1} {paused:>10.1} {remesh:>10.2} {uploaded:>9.2} {whole:>9.2}   ({ticks} ticks)");
}
