//! Where the time of a frame goes on this machine, in milliseconds.
//!
//! `cargo bench --bench frame` draws off-screen at 1280 × 800, as the window does. It prints medians: of a frame while droplets run
//! (and its 95th percentile), of one in which only the camera turns, and of one in which nothing moves, which is the panels alone.
//! Then come the parts: a tick, the heights and the light that are made ready for the graphics card, the megabytes that go there in a
//! tick, and how much of the picture's sides is drawn while it moves.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use thalweg::{
    app::off_screen,
    io::scene,
    model::origin::Options,
    runtime::{FreeView, Live, Preferences, Timing, Transport},
    settings::{Quality, Settings},
    view::camera::Viewpoint,
};

/// Frames until pipelines and textures are there.
const FIRST: usize = 6;
/// Frames that are measured.
const MEASURED: usize = 15;

fn main() {
    let columns = ["running", "p95", "turning", "still", "tick", "heights", "light", "MB/tick", "share"];
    println!("{:<30}{}", "", columns.map(|column| format!("{column:>9}")).concat());
    for side in [256, 512, 1024] {
        measure(&format!("{side} × {side}"), side, &[]);
    }
    rivers(1024);
    for side in [1024, 2048, 4096] {
        measure(&format!("{side} × {side}, 1000 droplets"), side, &["droplets.per_tick", "1000"]);
    }
    for (what, set) in
        [("256 × 256, no shadows", ["look.shadows", "false"]), ("256 × 256, even paint", ["look.grain", "0"])]
    {
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

/// The times of so many frames in milliseconds, in order.
fn frames(app: &mut App, count: usize) -> Vec<f64> {
    let frame = |_| {
        let begun = Instant::now();
        app.update();
        begun.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..count).map(frame).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn median(times: &[f64]) -> f64 {
    times[times.len() / 2]
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
        times[turn % 2].push(median(&frames(&mut app, MEASURED)));
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [without, with] = times.map(|times| median(&times));
    println!("{:<30}{:>18}{with:>9.1}   {without:.1} without them", format!("{side} × {side}, rivers"), "");
}

fn measure(what: &str, side: usize, set: &[&str]) {
    let mut app = scene_of(side, set);
    // Until the picture is as coarse as the machine needs it.
    frames(&mut app, 10 * FIRST);
    let seen = |app: &App| (app.world().resource::<Timing>().uploaded, app.world().resource::<Live>().ticks());
    let before = seen(&app);
    let running = frames(&mut app, MEASURED);
    let after = seen(&app);
    let uploaded = (after.0 - before.0) as f64 / (after.1 - before.1).max(1) as f64 / 1e6;
    let Timing { tick_ms, remesh_ms, shine_ms, .. } = *app.world().resource::<Timing>();
    app.insert_resource(Transport::paused());
    frames(&mut app, 2 * FIRST);
    let turning = frames(&mut app, MEASURED);
    let share = app.world().resource::<FreeView>().share.x;
    app.insert_resource(Viewpoint::named("default").expect("it is a camera"));
    // Until all counts as standing still, and the picture is drawn in full.
    let stands = Instant::now();
    while stands.elapsed() < Duration::from_secs(1) {
        app.update();
    }
    let still = frames(&mut app, MEASURED);
    let last = running[(running.len() * 95).div_ceil(100) - 1];
    let times = [median(&running), last, median(&turning), median(&still), tick_ms, remesh_ms, shine_ms, uploaded];
    println!("{what:<30}{}{share:>9.2}", times.map(|time| format!("{time:>9.1}")).concat());
}
