//! Latency of interactive operations on this machine, in milliseconds: picking the ground under the pointer, dabs, keyframes,
//! saving and opening.
//!
//! `cargo bench --bench hand` prints medians, and the longest frame while a brush is drawn during playback.

use std::{
    thread,
    time::{Duration, Instant},
};

use bevy::{prelude::*, state::app::StatesPlugin};
use thalweg::features;
use thalweg::world::{
    self, AppCommand, BrushInput, Brushes, EditCommand, ModifierKeys, Revision, Simulations, Transport,
};
use thalweg_scene::{
    io::{
        JobProgress,
        project::{self, Project},
        scene,
    },
    model::{
        origin::Options,
        state::{SimulationState, UnpackedState},
    },
};
use thalweg_sim::{
    core::ray,
    edit::{Brush, Dab, Tool, UndoPatch},
    params::Value,
};

/// Repetitions for each median.
const REPETITIONS: usize = 9;

fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPETITIONS / 2]
}

/// Duration of the measured stroke, in seconds.
const STROKE: f32 = 8.0;
/// Frame time at 60 Hz.
const FRAME: Duration = Duration::from_micros(16_667);

/// Draws a brush stroke around the map during playback, like the window but without rendering. Prints the frame times and the
/// longest latency from a touch to the changed ground.
fn sculpt(side: usize) {
    let options = Options { size: Some((side, side)), ..Options::default() };
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, StatesPlugin, world::plugin, features::plugin))
        .insert_resource(Simulations::new(scene::open(scene::DEFAULT, &options).expect("it is built in")));
    app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Raise);
    let solid = |app: &App| app.world().resource::<Simulations>().selected().simulation.ledger.solid.edits;
    let ticks = |app: &App| app.world().resource::<Simulations>().ticks();
    let place = |seconds: f32| [0.5 + 0.3 * seconds.cos(), 0.5 + 0.3 * seconds.sin()];
    while ticks(&app) < 3 {
        app.update();
    }
    let (mut frames, mut waits) = (Vec::new(), Vec::new());
    let (begun, first) = (Instant::now(), ticks(&app));
    let mut touched: Option<Instant> = None;
    app.world_mut().write_message(BrushInput::Press(place(0.0), ModifierKeys::default()));
    while begun.elapsed().as_secs_f32() < STROKE {
        let (frame, edits) = (Instant::now(), solid(&app));
        touched.get_or_insert(frame);
        app.world_mut().write_message(BrushInput::Move(place(begun.elapsed().as_secs_f32())));
        app.world_mut().write_message(BrushInput::Rest(FRAME.as_secs_f32()));
        app.update();
        frames.push(frame.elapsed().as_secs_f64() * 1e3);
        if solid(&app) != edits {
            waits.extend(touched.take().map(|since| since.elapsed().as_secs_f64() * 1e3));
        }
        thread::sleep(FRAME.saturating_sub(frame.elapsed()));
    }
    frames.sort_by(f64::total_cmp);
    let longest = waits.into_iter().fold(0.0, f64::max);
    println!(
        "{side} × {side}, a stroke over {} ticks: frame time {:.1} ms (median), {:.1} ms (maximum); touch latency {longest:.0} ms (maximum)",
        ticks(&app) - first,
        frames[frames.len() / 2],
        frames[frames.len() - 1],
    );
}

/// Drags a slider that generates new terrain. Prints the time of a frame, and the longest time until the terrain follows.
fn slide(side: usize) {
    let options = Options { size: Some((side, side)), ..Options::default() };
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, StatesPlugin, world::plugin, features::plugin))
        .insert_resource(Simulations::new(scene::open("round-hill", &options).expect("it is built in")))
        .insert_resource(Transport::paused());
    app.update();
    let start = |app: &App| app.world().resource::<Revision>().start;
    let (mut frames, mut waits, mut applied) = (Vec::new(), Vec::new(), (start(&app), Instant::now()));
    let begun = Instant::now();
    while begun.elapsed().as_secs_f32() < STROKE {
        let relief = Value::Number(100.0 + f64::from(begun.elapsed().as_secs_f32()));
        app.world_mut().write_message(AppCommand::from(EditCommand::Set("terrain".into(), "relief", relief)));
        let frame = Instant::now();
        app.update();
        frames.push(frame.elapsed().as_secs_f64() * 1e3);
        if start(&app) != applied.0 {
            waits.push(applied.1.elapsed().as_secs_f64() * 1e3);
            applied = (start(&app), Instant::now());
        }
        thread::sleep(FRAME.saturating_sub(frame.elapsed()));
    }
    frames.sort_by(f64::total_cmp);
    println!(
        "{side} × {side}, a slider of the terrain: median frame {:.1} ms, longest {:.1} ms; the terrain follows after {:.0} ms at most",
        frames[frames.len() / 2],
        frames[frames.len() - 1],
        waits.into_iter().fold(0.0, f64::max),
    );
}

fn main() {
    for side in [256, 2048] {
        sculpt(side);
        slide(side);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for side in [512, 1024, 2048] {
        let options = Options { size: Some((side, side)), ..Options::default() };
        let mut sessions = scene::open("river-valley", &options).expect("it is built in");
        let session = &mut sessions[0];
        session.simulation.tick();
        println!("{side} × {side}");
        let terrain = &session.simulation.terrain;
        // From outside the map, just above its highest ground, to all parts of it.
        let high = f64::from(terrain.ground().min_max().1) + 20.0;
        let last = side as f64 - 1.0;
        let rays: Vec<[f64; 3]> = (0..64)
            .map(|ray| [last + 200.0, last * f64::from(ray % 8) / 7.0 - 0.5 * last, -high * f64::from(ray / 8) / 16.0])
            .collect();
        let from = [-200.0, 0.5 * last, high];
        let longest = rays
            .iter()
            .map(|towards| {
                median(|| {
                    std::hint::black_box(ray::intersect_ground(terrain, from, *towards));
                })
            })
            .fold(0.0, f64::max);
        println!("  picking the ground, slowest of 64 directions   {longest:8.3} ms");
        for slot in session.simulation.slots.iter().filter(|slot| slot.enabled) {
            let time = median(|| drop(std::hint::black_box(slot.process.explain(terrain, [side / 2; 2]))));
            println!("  explaining a cell, {:<24}    {time:8.3} ms", slot.process.info().title);
        }
        for tool in [Tool::Raise, Tool::Smooth, Tool::Noise, Tool::Terrace, Tool::Erode] {
            let brush = Brush { radius: 6400.0 / side as f32, ..Brush::of(tool) };
            let dab = Dab { place: [0.5 * last as f32; 2], inverted: false, level: 0.0, clone_source: None, number: 0 };
            let simulation = &mut session.simulation;
            let mut patch = UndoPatch::default();
            let time = median(|| simulation.dab(tool, &brush, dab, None, &mut patch));
            let first = median(|| simulation.dab(tool, &brush, dab, None, &mut UndoPatch::default()));
            println!(
                "  dab of radius 64, {:<8}                      {time:8.3} ms, the first of a stroke {first:.3}",
                tool.title()
            );
        }
        let copied = median(|| drop(std::hint::black_box(UnpackedState::capture_unpacked(session, None))));
        let begun = Instant::now();
        let packed = SimulationState::capture_packed(session);
        let packing = begun.elapsed().as_secs_f64() * 1e3 - copied;
        let restored = median(|| packed.restore(session).expect("it is its own"));
        let megabytes = packed.bytes() as f64 / f64::from(1 << 20);
        println!(
            "  keyframe: copy {copied:.1} ms, pack in the background {packing:.1} ms, restore {restored:.1} ms, {megabytes:.1} MiB"
        );
        let path = folder.path().join("work.thalweg");
        let mut project = Project::of(sessions);
        let saved = median(|| project::save(&mut project, &path, &JobProgress::default()).expect("it is writable"));
        let opened = median(|| drop(project::open(&path).expect("it was just written")));
        let megabytes = std::fs::metadata(&path).map_or(0.0, |file| file.len() as f64 / f64::from(1 << 20));
        println!("  project: save {saved:.0} ms, open {opened:.0} ms, {megabytes:.1} MiB");
    }
}
