//! What the hand waits for, in milliseconds on this machine: finding the ground under the pointer, a dab, a keyframe, saving
//! and opening.
//!
//! `cargo bench --bench hand` prints medians.

use std::time::Instant;

use thalweg::{
    io::{
        Progress,
        project::{self, Project},
        scene,
    },
    model::{
        origin::Options,
        state::{Copied, State},
    },
    sim::{
        edit::{Brush, Dab, Patch, Tool},
        ray,
    },
};

/// Repetitions whose median is printed.
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

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for side in [512, 1024, 2048] {
        let options = Options { size: Some((side, side)), ..Options::default() };
        let mut sessions = scene::open("river-valley", &options).expect("it is built in");
        let session = &mut sessions[0];
        session.simulation.tick();
        println!("{side} × {side}");
        let terrain = &session.simulation.terrain;
        // From beside the map, just above its highest ground, to all parts of it.
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
                    std::hint::black_box(ray::meet(terrain, from, *towards));
                })
            })
            .fold(0.0, f64::max);
        println!("  finding the ground, slowest of 64 directions   {longest:8.3} ms");
        for tool in [Tool::Raise, Tool::Smooth, Tool::Noise, Tool::Terrace] {
            let brush = Brush { radius: 6400.0 / side as f32, ..Brush::of(tool) };
            let dab = Dab { place: [0.5 * last as f32; 2], inverted: false, level: 0.0 };
            let simulation = &mut session.simulation;
            let mut patch = Patch::default();
            let time = median(|| simulation.dab(tool, &brush, dab, None, &mut patch));
            let first = median(|| simulation.dab(tool, &brush, dab, None, &mut Patch::default()));
            println!(
                "  dab of radius 64, {:<8}                      {time:8.3} ms, the first of a stroke {first:.3}",
                tool.title()
            );
        }
        let copied = median(|| drop(std::hint::black_box(Copied::copied(session))));
        let begun = Instant::now();
        let packed = State::packed(session);
        let packing = begun.elapsed().as_secs_f64() * 1e3 - copied;
        let restored = median(|| packed.restore(session).expect("it is its own"));
        let megabytes = packed.bytes() as f64 / f64::from(1 << 20);
        println!(
            "  keyframe: copy {copied:.1} ms, pack beside the frames {packing:.1} ms, go back {restored:.1} ms, {megabytes:.1} MiB"
        );
        let path = folder.path().join("work.thalweg");
        let mut project = Project { sessions, chosen: 0, camera: None, timeline: Default::default() };
        let saved = median(|| project::save(&mut project, &path, &Progress::default()).expect("it is writable"));
        let opened = median(|| drop(project::open(&path).expect("it was just written")));
        let megabytes = std::fs::metadata(&path).map_or(0.0, |file| file.len() as f64 / f64::from(1 << 20));
        println!("  project: save {saved:.0} ms, open {opened:.0} ms, {megabytes:.1} MiB");
    }
}
