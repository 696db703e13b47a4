use std::fs;

use super::*;
use crate::model::origin::Options;
use thalweg_sim::{
    core::grid::Grid,
    measure::{Measures, score},
    params::{Value, get},
};

#[test]
fn every_built_in_scene_opens_as_its_file_states() {
    for (name, text) in BUILT_IN {
        let sessions = open(name, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let scene: Scene = ron::from_str(text).expect("it just opened");
        assert_eq!(sessions.len(), scene.tiles.len().max(1));
        for (index, session) in sessions.iter().enumerate() {
            assert_eq!(session.title, scene.title);
            let tile = scene.tiles.get(index).cloned();
            let seed = tile.as_ref().and_then(|tile| tile.seed).unwrap_or(scene.seed);
            assert_eq!((session.simulation.seed(), &session.tile), (seed, &tile));
        }
    }
}

#[test]
fn every_built_in_scene_runs_to_its_last_tick_before_all_droplets_have_run() {
    for (name, _) in BUILT_IN {
        let sessions = open(name, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let runs =
            |session: &&Session| session.simulation.slots.iter().any(|slot| slot.enabled && slot.key() == "droplets");
        for session in sessions.iter().filter(runs) {
            let number = |path| match get(&session.groups(), path).expect("it is a parameter").value {
                Value::Number(number) => number,
                other => panic!("{other:?}"),
            };
            let (total, needed) = (number("droplets.total"), session.ticks as f64 * number("droplets.per_tick"));
            assert!(total >= needed, "{name} is finished after {total} of {needed} droplets");
        }
    }
}

#[test]
fn every_built_in_scene_has_effective_sliders() {
    for (name, _) in BUILT_IN {
        let sessions = open(name, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let session = &sessions[0];
        assert!((1..=2).contains(&session.sliders.len()), "{name}: {:?}", session.sliders);
        for AudienceSlider { path, .. } in &session.sliders {
            let (key, _) = path.split_once('.').expect("it is a path");
            // One of several simulations side by side may serve as a reference.
            let does = |session: &Session| {
                let groups = session.groups();
                let group = groups.iter().find(|(group, _)| *group == key).expect("it was checked");
                let declared = thalweg_sim::params::collect_parameters(*group);
                let parameter = declared.iter().find(|parameter| parameter.path == *path).expect("it was checked");
                let runs = session.simulation.slots.iter().any(|slot| slot.enabled && slot.key() == key);
                runs && parameter.knob.idle(&declared).is_none()
            };
            assert!(sessions.iter().any(does), "{name}: {path} has no effect there");
            // Simulations side by side must not share a slider that distinguishes them.
            let apart =
                sessions.iter().filter_map(|session| session.tile.as_ref()).any(|tile| tile.set.contains_key(path));
            assert!(!apart, "{name}: runs differ in {path}");
        }
    }
}

#[test]
fn every_built_in_scene_runs() {
    for (name, _) in BUILT_IN {
        let options = Options { size: Some((64, 48)), ..Options::default() };
        for mut session in open(name, &options).unwrap_or_else(|error| panic!("{error}")) {
            (0..20).for_each(|_| session.simulation.tick());
            let terrain = &session.simulation.terrain;
            let layers = [&terrain.bedrock, &terrain.sand, &terrain.water, &terrain.suspended];
            assert!(layers.iter().all(|layer| layer.iter().all(|value| value.is_finite())), "{name}");
        }
    }
}

/// Runs a scene to its end.
fn finished(name: &str) -> Vec<Session> {
    let mut sessions = open(name, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    for session in &mut sessions {
        (0..session.ticks).for_each(|_| session.simulation.tick());
    }
    sessions
}

/// Spectral power of every third row and column at wavelengths of up to four cells.
fn short_waves(ground: &Grid) -> f64 {
    let line = |heights: Vec<f32>| -> f64 {
        let count = heights.len();
        let turn = std::f64::consts::TAU / count as f64;
        let slope = f64::from(heights[count - 1] - heights[0]) / (count - 1) as f64;
        // Detrended and windowed, so that the ends do not act as a step.
        let faded = |(place, height): (usize, &f32)| {
            (f64::from(height - heights[0]) - slope * place as f64) * (0.5 - 0.5 * (turn * place as f64).cos())
        };
        let heights: Vec<f64> = heights.iter().enumerate().map(faded).collect();
        let power = |waves: usize| {
            let part = |wave: fn(f64) -> f64| -> f64 {
                let terms = heights.iter().enumerate();
                terms.map(|(place, height)| height * wave(turn * (waves * place) as f64)).sum()
            };
            (part(f64::cos).powi(2) + part(f64::sin).powi(2)) / count as f64
        };
        (count / 4..=count / 2).map(power).sum()
    };
    let (width, height) = (ground.width(), ground.height());
    let rows = (0..height).step_by(3).map(|y| line((0..width).map(|x| ground.at(x, y)).collect()));
    let columns = (0..width).step_by(3).map(|x| line((0..height).map(|y| ground.at(x, y)).collect()));
    rows.chain(columns).sum()
}

#[test]
fn figure_8_bed_ripples_only_without_equations_12c_13c() {
    let [without, with] = &finished("figure-8")[..] else { panic!("two runs side by side") };
    let power = |session: &Session| short_waves(&session.simulation.terrain.ground());
    let (without, with) = (power(without), power(with));
    assert!(without >= 5.0 * with, "{without} and {with}");
}

#[test]
fn figure_9_cuts_deeper_without_the_depth_limit() {
    let deepest = |session: &Session| {
        let terrain = &session.simulation.terrain;
        let ground = terrain.ground();
        let cuts = terrain.start.iter().zip(ground.iter()).map(|(start, now)| start - now);
        cuts.fold(0.0, f32::max)
    };
    let [without, with] = &finished("figure-9")[..] else { panic!("two runs side by side") };
    let (without, with) = (deepest(without), deepest(with));
    assert!(without >= 1.5 * with, "{without} and {with}");
}

#[test]
fn saved_scene_reopens_with_same_layers_and_continues() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("mine.ron");
    let size = Some((48, 32));
    let mut session = open_first("round-hill", &Options { size, ..Options::default() }).expect("built in");
    session.set("droplets.per_tick", "40").expect("in range");
    session.enable(&["droplets", "water"]);
    session.simulation.terrain.sources.push(Source { place: [0.5, 0.25], radius: 9.0, rate: 40.0, ticks: None });
    (0..3).for_each(|_| session.simulation.tick());
    save(&session, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut again = open_first(&path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let (before, after) = (&session.simulation.terrain, &again.simulation.terrain);
    assert!(before.bedrock == after.bedrock && before.sand == after.sand && before.softness == after.softness);
    assert!(before.water == after.water && before.suspended == after.suspended && before.water.total() > 0.0);
    assert_eq!(before.sources, after.sources);
    assert_eq!(before.cell_size, after.cell_size);
    assert_eq!(again.all_parameters()["droplets.per_tick"], "40");
    let options = Options { size: Some((96, 64)), ..Options::default() };
    let larger = open_first(&path, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(larger.all_parameters()["droplets.per_tick"], "160");
    again.simulation.tick();
    assert!(again.simulation.terrain.bedrock != session.simulation.terrain.bedrock);
}

#[test]
fn painted_rain_survives_restart_and_is_saved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rain.ron");
    let options = Options { size: Some((64, 64)), ..Options::default() };
    let mut session = open_first("round-hill", &options).expect("built in");
    let rain = Some(Grid::from_fn(64, 64, |x, _| if x < 32 { 2.0 } else { 0.0 }));
    session.simulation.terrain.rain = rain.clone();
    session.restart(1);
    assert!(session.simulation.terrain.rain == rain && session.has_manual_edits());
    save(&session, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let again = open_first(&path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(again.simulation.terrain.rain == rain);
}

#[test]
fn session_at_start_is_saved_without_layer_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("start.ron");
    let session = open_first(DEFAULT, &Options::default()).expect("built in");
    save(&session, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
    let again = open_first(&path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(again.simulation.terrain == session.simulation.terrain);
}

#[test]
fn resizing_keeps_extent_and_relief() {
    let open =
        |size| open_first(DEFAULT, &Options { size, ..Options::default() }).expect("built in").simulation.terrain;
    let (small, large) = (open(Some((64, 64))), open(Some((128, 128))));
    assert_eq!(small.cell_size, 2.0 * large.cell_size);
    assert_eq!(small.bedrock.min_max(), large.bedrock.min_max());
}

/// Correlation coefficient of two maps.
fn correlation(one: &Grid, other: &Grid) -> f64 {
    let mean = |grid: &Grid| grid.total() / grid.len() as f64;
    let (of_one, of_other) = (mean(one), mean(other));
    let pairs = one.iter().zip(other.iter());
    let parts = pairs.map(|(&one, &other)| [f64::from(one) - of_one, f64::from(other) - of_other]);
    let [both, ones, others] = parts.fold([0.0; 3], |sums: [f64; 3], [one, other]| {
        [sums[0] + one * other, sums[1] + one * one, sums[2] + other * other]
    });
    both / (ones * others).sqrt()
}

#[test]
fn erosion_is_independent_of_resolution() {
    for (process, ticks) in [("droplets", 12), ("water", 50)] {
        let runs = [128, 256, 512, 1024].map(|side| {
            let options = Options { size: Some((side, side)), ..Options::default() };
            let mut session = open_first("round-hill", &options).unwrap_or_else(|error| panic!("{error}"));
            let noise = [("terrain.generator", "fbm"), ("terrain.frequency", "1.5"), ("terrain.hurst", "0.95")];
            session.set_all(noise.into_iter()).unwrap_or_else(|error| panic!("{error}"));
            session.restart(7);
            assert_eq!(session.enable(&[process]), None);
            let simulation = &mut session.simulation;
            let before = simulation.terrain.ground();
            (0..ticks).for_each(|_| simulation.tick());
            let after = simulation.terrain.ground();
            let lowered: f64 =
                before.iter().zip(after.iter()).map(|(one, other)| f64::from(one - other).max(0.0)).sum();
            let lowered = lowered * simulation.terrain.cell_area();
            (side, lowered, simulation.simulated_seconds(), after.resample(128, 128))
        });
        let (_, lowered, seconds, heights) = &runs[1];
        for (side, own, own_seconds, own_heights) in &runs {
            let share = own / lowered - 1.0;
            println!("{process} {side}²: {share:.3} {:.4}", correlation(own_heights, heights));
            assert!(share.abs() < 0.15, "{process} {side}²: {share}");
            assert!((own_seconds / seconds.max(1e-9) - 1.0).abs() < 1e-3 || *seconds == 0.0, "{process} {side}²");
            let similarity = correlation(own_heights, heights);
            assert!(similarity > 0.98, "{process} {side}²: {similarity}");
        }
    }
}

#[test]
fn young_range_is_realistic_for_every_seed() {
    for seed in [3, 5] {
        let mut session = open_first("young-range", &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        session.restart(seed);
        (0..session.ticks).for_each(|_| session.simulation.tick());
        let readings = Measures::of(&session.simulation.terrain).readings();
        let (real, of) = score(&readings);
        assert!(real == of && of >= 10, "seed {seed}: {readings:?}");
    }
}

#[test]
fn too_many_simulations_side_by_side_are_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("many.ron");
    for (count, fits) in [(MOST_SIDE_BY_SIDE, true), (MOST_SIDE_BY_SIDE + 1, false)] {
        let tiles: String = (0..count).map(|number| format!("(title: \"{number}\"), ")).collect();
        let text = format!(
            "(title: \"Many\", about: \"b\", seed: 1, ticks: 1, enabled: [], set: {{\"terrain.width\": \"32\", \"terrain.height\": \"32\"}}, \
             tiles: [{tiles}])"
        );
        fs::write(&path, text).expect("it can be written");
        match open(&path, &Options::default()) {
            Ok(sessions) => assert!(fits && sessions.len() == count),
            Err(error) => assert!(!fits && error.to_string().contains("the limit is 32"), "{error}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn non_unicode_paths_are_written_and_opened() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join(OsStr::from_bytes(b"h\xfcgel"));
    fs::create_dir(&folder).expect("it can be made");
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let session = open_first("round-hill", &options).expect("built in");
    // Layer names are text: lossy conversion would map different names to the same file.
    let error = save(&session, &folder.join(OsStr::from_bytes(b"\xfc.ron")), &JobProgress::default());
    assert!(error.is_err_and(|error| error.to_string().contains("not Unicode")));
    let scene = folder.join("mine.ron");
    save(&session, &scene, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let again = open_first(&scene, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.origin.input, scene);
    let project = folder.join(OsStr::from_bytes(b"\xf6.thalweg"));
    let mut saved = project::Project::of(vec![again]);
    project::save(&mut saved, &project, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let opened = open_first(&project, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(opened.simulation.terrain == session.simulation.terrain);
}
