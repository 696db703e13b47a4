//! Frame-time benchmark of this machine: `thalweg --bench-frames FILE.json` and `cargo bench --bench frame`.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bevy::{prelude::*, render::renderer::RenderAdapterInfo};
use serde_json::{Map, Value, json};

use super::{graphics::find_adapter, off_screen};
use crate::{
    render::{FixedStep, camera::Viewpoint},
    shell::UiVisible,
    world::{
        AppCommand, EditCommand, Preferences, Revision, RiverExtraction, Simulations, Timing, Transport, ViewportArea,
    },
};
use thalweg_scene::{
    io::{Error, output, scene},
    model::origin::Options,
    settings::{Quality, Settings},
};
use thalweg_sim::params;

/// Frames until pipelines and textures are ready.
const FIRST: usize = 6;
/// Frames until the adaptive resolution has settled.
const SETTLED: usize = 60;
/// Number of measured frames.
const MEASURED: usize = 15;
/// Number of measured frames while a simulation plays.
const RUNNING: usize = 201;
/// Number of alternations between frames with and without rivers.
const ALTERNATIONS: usize = 16;
/// Frames to discard after each alternation.
const AFTER_A_CHANGE: usize = 3;
/// Time without changes until the view is rendered at full quality.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// Resolution scale at which hardly any pixels are shaded.
const TINY: f32 = 0.02;

/// Benchmark case: name, cells along a side, window size in pixels, and a parameter to set.
type BenchCase = (&'static str, usize, (u32, u32), Option<[&'static str; 2]>);

const SMALL: (u32, u32) = (1280, 800);
const LARGE: (u32, u32) = (1920, 1080);
const LIVELY: Option<[&str; 2]> = Some(["droplets.per_tick", "1000"]);

const CASES: [BenchCase; 10] = [
    ("256²", 256, SMALL, None),
    ("512²", 512, SMALL, None),
    ("1024²", 1024, SMALL, None),
    ("1024², 1000 droplets", 1024, SMALL, LIVELY),
    ("1024², 1000 droplets, 1920 × 1080", 1024, LARGE, LIVELY),
    ("2048², 1000 droplets", 2048, SMALL, LIVELY),
    ("4096², 1000 droplets", 4096, SMALL, LIVELY),
    ("256², water", 256, SMALL, Some(["water.rain_rate", "0.00001"])),
    ("256², no shadows", 256, SMALL, Some(["look.shadows", "false"])),
    ("256², uniform colours", 256, SMALL, Some(["look.grain", "0"])),
];

/// Measurements of a case.
struct FrameCase {
    what: &'static str,
    cells: usize,
    pixels: (u32, u32),
    /// Milliseconds, unless the name indicates another unit.
    figures: [(&'static str, f64); 16],
}

impl FrameCase {
    /// Returns the column headers.
    fn header(&self) -> String {
        let names = self.figures.map(|(name, _)| format!("{name:>9}"));
        format!("{:<36}{}", "milliseconds", names.concat())
    }

    /// Returns the row of figures.
    fn line(&self) -> String {
        let values = self.figures.map(|(_, value)| format!("{value:>9.2}"));
        format!("{:<36}{}", self.what, values.concat())
    }

    fn json(&self) -> Value {
        let figures = self.figures.iter().map(|&(name, value)| (name.to_owned(), json!(value)));
        let figures: Map<String, Value> = figures.collect();
        json!({ "what": self.what, "cells": self.cells, "pixels": self.pixels, "figures": figures })
    }
}

/// Measures frames on this machine, reports the figures line by line and writes them to a file. A case that exceeds the memory
/// limit is left out, with the reason.
///
/// # Errors
/// There is no graphics driver, or the file cannot be written.
pub fn bench(file: &Path, say: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let failed = |wrong: String| Error::output(file, wrong, "try another graphics driver");
    let software = find_adapter().map_err(failed)?;
    let mut adapter = Value::Null;
    let mut rows = Vec::new();
    let write = |rows: &[Value], adapter: &Value| {
        let (version, threads) = (env!("CARGO_PKG_VERSION"), rayon::current_num_threads());
        let table =
            json!({ "version": version, "adapter": adapter, "software": software, "threads": threads, "frames": rows });
        output::write(file, format!("{table:#}\n"))
    };
    // Detects an unwritable file before the minutes of measurement, and keeps partial results if interrupted.
    write(&rows, &adapter)?;
    for case in CASES {
        match measure(case) {
            Ok((row, drawn_by)) => {
                if adapter.is_null() {
                    say(&row.header());
                }
                say(&row.line());
                adapter = drawn_by;
                rows.push(row.json());
            }
            Err(error) => {
                say(&error.to_string());
                rows.push(json!({ "what": case.0, "cells": case.1, "pixels": case.2, "left_out": error.to_string() }));
            }
        }
        write(&rows, &adapter)?;
    }
    Ok(())
}

/// Returns the default scene of a case, rendered off-screen as in a window, and the time at which its terrain was ready: growing it
/// takes seconds.
fn scene_of((_, side, pixels, set): BenchCase) -> Result<(App, Instant), Error> {
    let options = Options { size: Some((side, side)), ..Options::default() };
    let mut sessions = scene::open(scene::DEFAULT, &options)?;
    if let Some([path, value]) = set {
        sessions[0].set(path, value).expect("it is a parameter");
    }
    let opens = Instant::now();
    let mut app = off_screen::app(sessions, pixels, Viewpoint::default());
    let settings = Settings { quality: Quality::Automatic, ..Settings::default() };
    app.insert_resource(Preferences { settings, ..Preferences::default() });
    Ok((app, opens))
}

/// Returns the times of `count` frames in milliseconds, in ascending order.
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

/// Returns the mean of the middle half. Where the system's clock ends a frame's wait, times are multiples of some milliseconds, and
/// medians resolve no smaller difference.
fn interquartile_mean(times: &[f64]) -> f64 {
    let middle = &times[times.len() / 4..times.len() - times.len() / 4];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// Returns the measurements of a case, and the adapter.
fn measure(case: BenchCase) -> Result<(FrameCase, Value), Error> {
    let (mut app, opens) = scene_of(case)?;
    frames(&mut app, FIRST);
    let opening = opens.elapsed().as_secs_f64() * 1e3;
    frames(&mut app, SETTLED);
    let seen = |app: &App| (app.world().resource::<Timing>().uploaded, app.world().resource::<Simulations>().ticks());
    let before = seen(&app);
    let running = frames(&mut app, RUNNING);
    let after = seen(&app);
    let uploaded = (after.0 - before.0) as f64 / (after.1 - before.1).max(1) as f64 / 1e6;
    let Timing { tick_ms, prepare_ms: remesh_ms, lighting_ms: shine_ms, .. } = *app.world().resource::<Timing>();
    let share = f64::from(app.world().resource::<ViewportArea>().rendered_fraction.x);
    app.insert_resource(Transport::paused());
    frames(&mut app, 2 * FIRST);
    let turning = median(&frames(&mut app, MEASURED));
    let whole = turning_at(&mut app, (1.0, false));
    let vertices = turning_at(&mut app, (TINY, false));
    let [rivers, whole_rivers] = [(share as f32, true), (1.0, false)].map(|step| rivers_at(&mut app, step));
    app.insert_resource(Viewpoint::named("default").expect("it is a camera"));
    let still = idle_frame_time(&mut app);
    app.insert_resource(UiVisible(false));
    let window = idle_frame_time(&mut app);
    let figures = [
        ("running", median(&running)),
        ("p95", running[(running.len() * 95).div_ceil(100) - 1]),
        ("turning", turning),
        ("share", share),
        ("whole", whole),
        ("tick", tick_ms),
        ("heights", remesh_ms),
        ("light", shine_ms),
        ("MB/tick", uploaded),
        ("vertices", (vertices - still).max(0.0)),
        ("pixels", (whole - vertices).max(0.0)),
        ("rivers", rivers),
        ("full quality", whole_rivers),
        ("panels", (still - window).max(0.0)),
        ("window", window),
        ("opening", opening),
    ];
    let adapter = app.world().get_resource::<RenderAdapterInfo>().map(|adapter| {
        json!({
            "name": adapter.name,
            "driver": format!("{} {}", adapter.driver, adapter.driver_info).trim(),
            "backend": format!("{:?}", adapter.backend),
        })
    });
    let (what, cells, pixels, _) = case;
    Ok((FrameCase { what, cells, pixels, figures }, adapter.unwrap_or_default()))
}

/// Returns the median time of a frame with a turning camera at this resolution scale, with the coarse mesh or not.
fn turning_at(app: &mut App, step: (f32, bool)) -> f64 {
    app.insert_resource(FixedStep(Some(step)));
    frames(app, 2 * FIRST);
    median(&frames(app, MEASURED))
}

/// Returns the median cost of drawing rivers in such a frame. A machine that slows down slows both halves of an alternation, and
/// their order swaps each time.
fn rivers_at(app: &mut App, step: (f32, bool)) -> f64 {
    turning_at(app, step);
    let mut turn = |turn: usize| {
        let mut took = [0.0; 2];
        for shown in if turn.is_multiple_of(2) { [true, false] } else { [false, true] } {
            show_rivers(app, shown);
            let found = |app: &App| {
                let (simulations, revision) =
                    (app.world().resource::<Simulations>(), *app.world().resource::<Revision>());
                app.world().resource::<RiverExtraction>().is_current(simulations, revision)
            };
            while !found(app) {
                app.update();
            }
            frames(app, AFTER_A_CHANGE);
            took[usize::from(shown)] = interquartile_mean(&frames(app, MEASURED));
        }
        took[1] - took[0]
    };
    let mut costs: Vec<f64> = (0..ALTERNATIONS).map(&mut turn).collect();
    costs.sort_by(f64::total_cmp);
    show_rivers(app, true);
    median(&costs)
}

fn show_rivers(app: &mut App, shown: bool) {
    let set = EditCommand::Set("rivers".to_owned(), "shown", params::Value::Switch(shown));
    app.world_mut().write_message(AppCommand::from(set));
    app.update();
}

/// Returns the median time of a frame without changes.
fn idle_frame_time(app: &mut App) -> f64 {
    let stands = Instant::now();
    while stands.elapsed() < SETTLE_TIME {
        app.update();
    }
    median(&frames(app, MEASURED))
}
