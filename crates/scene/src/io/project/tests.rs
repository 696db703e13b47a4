use std::{
    fs::{self, File},
    io::{Read, Write},
    path::PathBuf,
    time::Instant,
};

use zip::ZipArchive;

use super::*;
use crate::{
    io::{heightmap, scene},
    model::{
        film::{CameraKeyframe, Ease},
        origin::{Crs, Georeference, Options},
    },
    skipped::skipped,
};
use thalweg_sim::{
    core::{bounds::STATE_VARIABLE, rng::RandomStream, terrain::Source},
    edit::{Brush, Dab, Tool, UndoPatch},
    process::saved_state::StateValue,
};

/// A project with all processes, springs, a rain map, a mask, a brush stroke and imported heights.
fn eventful(side: usize) -> Project {
    let options = Options { size: Some((side, side)), ..Options::default() };
    let mut sessions = scene::open("river-valley", &options).expect("it is built in");
    let heights = Grid::from_fn(side, side, |x, y| 30.0 + 6.0 * ((x as f32 * 0.3).sin() + (y as f32 * 0.2).cos()));
    let map = Heightmap {
        heights,
        file_size: (side, side),
        cell_size: 4.0,
        geo: Some(Georeference { west: 3.0, north: 7.5, width: 1.0, height: 0.75, crs: Crs::Epsg(4326) }),
        nodata: Some(Grid::from_fn(side, side, |x, y| if x + y < 9 { 1.0 } else { 0.0 })),
        warnings: vec![],
    };
    sessions.push(heightmap::session("hills", map, Default::default()).expect("it is small"));
    for session in &mut sessions {
        session.enable(&["droplets", "water", "thermal", "wind"]);
        for (path, value) in [("water.rain_rate", "0.01"), ("droplets.per_tick", "37"), ("wind.gusts", "0.3")] {
            session.set(path, value).unwrap_or_else(|error| panic!("{error}"));
        }
        session.maps.insert(Layer::Sand, Grid::filled(side, side, 0.7));
        session.set_sources(vec![Source { place: [0.3, 0.4], radius: 9.0, rate: 3.5, ticks: Some((4, 30)) }]);
        session.restart(11);
        session.simulation.terrain.mask = Some(Grid::from_fn(side, side, |x, _| if x < 9 { 1.0 } else { 0.25 }));
        (0..7).for_each(|_| session.simulation.tick());
        let dab = Dab { place: [20.0, 25.5], inverted: false, level: 0.0, clone_source: None, number: 0 };
        for tool in [Tool::Raise, Tool::Rain, Tool::Softness] {
            session.simulation.dab(tool, &Brush::of(tool), dab, None, &mut UndoPatch::default());
        }
        session.origin.edited = true;
        (0..3).for_each(|_| session.simulation.tick());
    }
    let camera = Camera { focus: [1.0, 2.0, -3.5], yaw: 0.3, pitch: 0.9, distance: 321.0 };
    let mut views = Views { camera: Some(camera), ..Views::default() };
    views.saved.bookmarks[2] = Some(Camera { yaw: -1.5, distance: 40.0, ..camera });
    let key =
        CameraKeyframe { tick: 12.0, at: [0.25, 0.75], then: Ease::Hold, ..CameraKeyframe::still(40.0, 20.0, 1.5) };
    assert!(
        views.saved.keys.set(key)
            && views.saved.keys.set(CameraKeyframe { tick: 3.0, ..CameraKeyframe::still(10.0, 30.0, 1.0) })
    );
    Project { chosen: 1, views, ..Project::of(sessions) }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn saved(project: &mut Project) -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join("work.thalweg");
    save(project, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    (folder, path)
}

fn opened(path: &Path) -> Project {
    open(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that can be compared in a session.
fn state(session: &mut Session) -> (Terrain, Vec<Grid>, String) {
    let keys = session.simulation.processes_with_state();
    let values: Vec<Grid> = session
        .simulation
        .state_values(&keys)
        .into_iter()
        .map(|(_, memory)| match memory {
            StateValue::Cells(cells) => Grid::from_cells(cells.len(), 1, cells),
            StateValue::Number(number) => Grid::filled(1, 1, *number as f32),
            StateValue::Count(count) => Grid::filled(1, 1, *count as f32),
        })
        .collect();
    let simulation = &session.simulation;
    let settings = format!(
        "{:?} {:?} {} {} {:?} {:?} {:?} {}",
        simulation.ledger,
        session.all_parameters(),
        simulation.seed(),
        simulation.ticks(),
        session.origin,
        session.sources,
        simulation.slots.iter().map(|slot| slot.enabled).collect::<Vec<_>>(),
        session.title,
    );
    (simulation.terrain.clone(), values, settings)
}

#[test]
fn project_round_trips_and_continues_bit_identically() {
    let mut project = eventful(48);
    let (_folder, path) = saved(&mut project);
    let mut again = opened(&path);
    assert_eq!((again.chosen, &again.views, again.sessions.len()), (project.chosen, &project.views, 2));
    assert_eq!(again.views.saved.keys.list().len(), 2);
    for _ in 0..2 {
        for (was, is) in project.sessions.iter_mut().zip(&mut again.sessions) {
            let (was, is) = (state(was), state(is));
            assert_eq!(was.2, is.2);
            assert!(was == is);
        }
        for (was, is) in project.sessions.iter().zip(&again.sessions) {
            let metadata =
                |session: &Session| session.heightmap.as_ref().map(|map| (map.geo.clone(), map.nodata.clone()));
            assert_eq!(metadata(was), metadata(is));
        }
        for session in project.sessions.iter_mut().chain(&mut again.sessions) {
            (0..6).for_each(|_| session.simulation.tick());
        }
    }
    // After a restart, both begin with the same state.
    for (was, is) in project.sessions.iter_mut().zip(&mut again.sessions) {
        was.restart(5);
        is.restart(5);
        assert!(was.simulation.terrain == is.simulation.terrain);
    }
}

#[test]
fn every_built_in_scene_round_trips_as_project() {
    for (name, _) in scene::BUILT_IN {
        let options = Options { size: Some((40, 36)), ..Options::default() };
        let mut sessions = scene::open(name, &options).unwrap_or_else(|error| panic!("{error}"));
        sessions.iter_mut().for_each(|session| (0..2).for_each(|_| session.simulation.tick()));
        let mut project = Project::of(sessions);
        let (_folder, path) = saved(&mut project);
        for (was, is) in project.sessions.iter_mut().zip(&mut opened(&path).sessions) {
            assert!(state(was) == state(is), "{name}");
        }
    }
}

/// Returns the error of a file with these bytes.
fn refused(bytes: &[u8]) -> Option<String> {
    let folder = folder();
    let path = folder.path().join("bad.thalweg");
    fs::write(&path, bytes).expect("it is writable");
    open(&path).err().map(|error| {
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    })
}

#[test]
fn damaged_project_is_rejected_or_unchanged() {
    let mut project = eventful(32);
    let (_folder, path) = saved(&mut project);
    let whole = fs::read(&path).expect("it was just written");
    let wanted: Vec<_> = project.sessions.iter_mut().map(state).collect();
    for length in [0, 1, 21, 22, 100, 1000, whole.len() / 2, whole.len() - 30, whole.len() - 1] {
        let message = refused(&whole[..length]).expect("it is cut off");
        assert!(message.contains("bad.thalweg: ") && message.contains("open an intact .thalweg file"), "{message}");
    }
    assert!(refused(b"PK\x03\x04 nothing else").is_some() && refused(&[0x89, b'P', b'N', b'G']).is_some());
    let mut stream = RandomStream::new(1, "flips", 0);
    let anywhere: Vec<usize> = (0..500).map(|_| stream.below(whole.len())).collect();
    assert_flips_are_noticed(&whole, anywhere, &wanted);
}

#[test]
fn flipped_header_bytes_are_detected() {
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let sessions = scene::open("round-hill", &options).expect("it is built in");
    let mut project = Project::of(sessions);
    let (_folder, path) = saved(&mut project);
    let whole = fs::read(&path).expect("it was just written");
    let wanted: Vec<_> = opened(&path).sessions.iter_mut().map(state).collect();
    // Offsets of the parts of the archive; the header of a file is 30 bytes, its name and some more.
    let begins = |mark: &[u8]| -> Vec<usize> {
        whole.windows(4).enumerate().filter(|(_, four)| *four == mark).map(|(place, _)| place).collect()
    };
    let directory = begins(b"PK\x01\x02")[0];
    let headers = begins(b"PK\x03\x04");
    assert!(headers.len() >= 8, "{} files", headers.len());
    let headers = headers.into_iter().flat_map(|header| header..header + 64);
    assert_flips_are_noticed(&whole, headers.chain(directory..whole.len()).collect(), &wanted);
}

/// Opens a project with one bit flipped at each of these offsets: it is rejected with a message, or unchanged.
fn assert_flips_are_noticed(whole: &[u8], places: Vec<usize>, wanted: &[(Terrain, Vec<Grid>, String)]) {
    let (mut refusals, mut count) = (0, 0);
    let folder = folder();
    let path = folder.path().join("flipped.thalweg");
    for place in places {
        let mut bytes = whole.to_vec();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&path, &bytes).expect("it is writable");
        count += 1;
        match open(&path) {
            Err(error) => {
                refusals += 1;
                let message = error.to_string();
                assert!(message.contains("flipped.thalweg: ") && !message.contains('\n'), "{message}");
            }
            Ok(mut same) => {
                let found: Vec<_> = same.sessions.iter_mut().map(state).collect();
                assert!(found == wanted, "flip at {place} was not noticed");
            }
        }
    }
    // Timestamps, attributes and the like are irrelevant.
    assert!(refusals > count / 3, "{refusals} of {count}");
}

#[test]
fn timeline_keyframes_round_trip_bit_identically() {
    let mut project = eventful(32);
    let frame = |project: &mut Project, id: u64, parent: Option<u64>| {
        let states = project.sessions.iter_mut().map(SimulationState::capture_packed).collect();
        project.timeline.frames.push(StoredNode { id, parent, states: Arc::new(states) });
    };
    frame(&mut project, 3, None);
    project.sessions.iter_mut().for_each(|session| (0..4).for_each(|_| session.simulation.tick()));
    frame(&mut project, 5, Some(3));
    project.timeline.here = Some(5);
    let (_folder, path) = saved(&mut project);
    let mut again = opened(&path);
    let timeline = keyframes(&path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(timeline.here, Some(5));
    assert_eq!(
        timeline.frames.iter().map(|frame| (frame.id, frame.parent)).collect::<Vec<_>>(),
        [(3, None), (5, Some(3))]
    );
    for (restored, session) in again.sessions.iter_mut().zip(&mut project.sessions) {
        assert!(state(restored) == state(session), "the project itself");
    }
    let wanted: Vec<_> = project.sessions.iter_mut().map(state).collect();
    for (session, state) in again.sessions.iter_mut().zip(timeline.frames[0].states.iter()) {
        state.restore(session).expect("it was just saved");
        assert_eq!(session.simulation.ticks(), 10);
        (0..4).for_each(|_| session.simulation.tick());
    }
    let found: Vec<_> = again.sessions.iter_mut().map(state).collect();
    assert!(found == wanted, "what was run on from a keyframe");
    // A damaged timeline is reported, and the project opens.
    let whole = fs::read(&path).expect("it was just written");
    for (name, change) in [
        ("timeline.ron", (|bytes| [&bytes[..40], b"?", &bytes[41..]].concat()) as fn(Vec<u8>) -> Vec<u8>),
        ("timeline.ron", |bytes| String::from_utf8(bytes).expect("text").replacen("id:5", "id:3", 1).into_bytes()),
        ("timeline.ron", |bytes| {
            String::from_utf8(bytes).expect("text").replacen("(32,32)", "(99,99)", 1).into_bytes()
        }),
        ("timeline/5/run-1/sand.lz4", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("timeline/5/run-2/bedrock.lz4", |_| vec![0; 1 << 22]),
    ] {
        let bytes = with(&path, name, change);
        fs::write(&path, bytes).expect("it is writable");
        let message = keyframes(&path).expect_err(name).to_string();
        assert!(message.contains("work.thalweg: ") && !message.contains('\n'), "{message}");
        opened(&path);
        fs::write(&path, &whole).expect("it is writable");
    }
}

#[test]
fn autosave_writes_each_map_of_the_timeline_once() {
    let mut project = eventful(32);
    let tick = |project: &mut Project, id: u64, parent: Option<u64>| {
        let states = project.sessions.iter_mut().map(SimulationState::capture_packed).collect();
        project.timeline.frames.push(StoredNode { id, parent, states: Arc::new(states) });
        project.sessions.iter_mut().for_each(|session| session.simulation.tick());
    };
    let folder = folder();
    let path = folder.path().join("kept.thalweg");
    let keep = |project: &mut Project| autosave(project, &path, &JobProgress::default());
    let files = || -> BTreeMap<PathBuf, SystemTime> {
        let entries = fs::read_dir(map_folder(&path)).expect("it is there").map(|entry| entry.expect("it is readable"));
        let modified = |entry: &fs::DirEntry| entry.metadata().and_then(|file| file.modified()).expect("it is there");
        entries.map(|entry| (entry.path(), modified(&entry))).collect()
    };
    tick(&mut project, 0, None);
    tick(&mut project, 1, Some(0));
    keep(&mut project).unwrap_or_else(|error| panic!("{error}"));
    let first = files();
    tick(&mut project, 2, Some(1));
    keep(&mut project).unwrap_or_else(|error| panic!("{error}"));
    let second = files();
    assert!(second.len() > first.len());
    assert!(first.iter().all(|(file, modified)| second.get(file) == Some(modified)), "a map was written again");
    let restored = || open_with_timeline(&path).unwrap_or_else(|error| panic!("{error}"));
    let maps = |project: &Project| -> Vec<Vec<u8>> {
        let states = project.timeline.frames.iter().flat_map(|frame| frame.states.iter());
        states.flat_map(|state| state.maps.values()).map(|map| map.bytes().to_vec()).collect()
    };
    assert_eq!(
        restored().timeline.frames.iter().map(|frame| frame.parent).collect::<Vec<_>>(),
        [None, Some(0), Some(1)]
    );
    assert!(maps(&restored()) == maps(&project));
    // Keyframes that were thinned out leave no files.
    project.timeline.frames.truncate(1);
    keep(&mut project).unwrap_or_else(|error| panic!("{error}"));
    let third = files();
    assert!(third.len() < first.len() && third.keys().all(|file| first.contains_key(file)));
    // Damage costs the timeline only, and so does a folder that cannot be written.
    let damaged = third.keys().next().expect("there are some");
    fs::write(damaged, "damaged").expect("it is writable");
    let opened = restored();
    let has_warning = opened.sessions[0].warnings.iter().any(|warning| warning.contains("opened without the timeline"));
    assert!(opened.timeline.frames.is_empty() && has_warning);
    fs::remove_dir_all(map_folder(&path)).expect("it is ours");
    fs::write(map_folder(&path), "in the way").expect("it is writable");
    project.sessions.iter_mut().for_each(|session| session.simulation.tick());
    let error = keep(&mut project).expect_err("a file is in the way").to_string();
    assert!(error.contains("kept.maps: this is a file"), "{error}");
    assert_eq!(restored().sessions[0].simulation.ticks(), project.sessions[0].simulation.ticks());
}

/// Copies an archive with one of its files changed.
fn with(path: &Path, name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let mut archive = ZipArchive::new(File::open(path).expect("it is there")).expect("it is an archive");
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut other = ZipWriter::new(&mut bytes);
    let mut change = Some(change);
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("it is whole");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("it is whole");
        let own = entry.name().expect("it is text").into_owned();
        let content = if own == name { change.take().expect("once")(content) } else { content };
        other.start_file(own, SimpleFileOptions::default()).expect("in memory");
        other.write_all(&content).expect("in memory");
    }
    other.finish().expect("in memory");
    bytes.into_inner()
}

#[test]
fn unknown_format_bombs_and_invalid_values_are_rejected() {
    let mut project = eventful(32);
    let (_folder, path) = saved(&mut project);
    let manifest = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        refused(&with(&path, "manifest.ron", move |bytes| {
            let text = String::from_utf8(bytes).expect("it is text");
            assert!(text.contains(&from), "{from}");
            text.replacen(&from, &to, 1).into_bytes()
        }))
        .expect("it is refused")
    };
    for other in [1, 3] {
        let message = manifest("format: 2", &format!("format: {other},\n    invented: \"later\""));
        let expected = "project format {} is not supported, expected 2; open it with Thalweg 0.1.0, which wrote it";
        assert!(message.contains(&expected.replace("{}", &other.to_string())), "{message}");
    }
    for (from, to, expected) in [
        ("size: (32, 32)", "size: (40000, 40000)", "each side ranges from 1 to 4096 cells"),
        ("size: (32, 32)", "size: (0, 32)", "each side ranges from 1 to 4096 cells"),
        ("cell_size: 120.0", "cell_size: -80.0", "the cell size is -"),
        ("cell_size: 120.0", "cell_size: 9999999999", "a cell size must be between"),
        ("start: ", "start: NaN, //", "the initial volume in its ledger is NaN"),
        ("rate: 3.5", "rate: 3.5e30", "the rate of a spring is 3.5e30"),
        ("tick: 10", "tick: 999999999999999910", "the tick is 9.99999999999999"),
        ("\"droplets.per_tick\": \"37\"", "\"droplets.per_tick\": \"-37\"", "droplets.per_tick cannot be -37"),
        ("\"water.rain_rate\": ", "\"water.rein_rate\": ", "there is no parameter \"water.rein_rate\""),
        ("\"softness\",", "", "the layer softness is missing; open an intact .thalweg file"),
        ("\"droplets/renewals\"", "\"droplets/renewal\"", "the process state droplets/renewals is missing; open"),
        ("\"thermal\"", "\"thermos\"", "there is no process \"thermos\""),
        ("size: (32, 32)", "size: (32, 31)", "run-1/bedrock.lz4 has 1024 values, expected at most 992"),
        (
            "\"begin sand\": (32, 32)",
            "\"begin junk\": (4096, 4096), \"begin sand\": (32, 32)",
            "map begin junk is unknown",
        ),
    ] {
        let message = manifest(from, to);
        assert!(message.contains(expected), "{message}");
    }
    let unordered = with(&path, "manifest.ron", |bytes| {
        let text = String::from_utf8(bytes).expect("it is text");
        assert!(text.contains("tick: 3.0"), "{text}");
        text.replace("tick: 3.0", "tick: 300.0").into_bytes()
    });
    let other = path.with_file_name("unordered.thalweg");
    fs::write(&other, unordered).expect("it is writable");
    let without = opened(&other);
    assert!(without.views.saved.keys.list().is_empty() && without.sessions[0].warnings.len() == 1, "and says so");
    let message = keys(&other).expect_err("its keys are wrong").to_string();
    assert!(message.contains("camera keyframes are damaged (the camera keyframes are not in order"), "{message}");
    let began = Instant::now();
    let bomb = refused(&with(&path, "run-1/sand.lz4", |_| vec![0; 300 << 20])).expect("it is refused");
    assert!(bomb.contains("run-1/sand.lz4 is longer than allowed"), "{bomb}");
    println!("a bomb is refused after {:.1} s", began.elapsed().as_secs_f64());
    for (map, value, expected) in [
        ("water", f32::NAN, "is NaN; a thickness or depth must be between 0 and"),
        ("sand", -1.0, "is -1; a thickness or depth must be between 0 and"),
        ("sand", 3.4e38, "is 3.4e38; a thickness or depth"),
        ("bedrock", 3.4e38, "is 3.4e38; a height must be between"),
        ("softness", 1e30, "is 1e30; a softness or mask value must be between 0 and 1"),
        ("begin nodata", 7.0, "is 7; a softness or mask value must be between 0 and 1"),
        ("water/flow x", 1e35, "is 1e35; a state variable must be between"),
    ] {
        let name = format!("run-2/{map}.lz4");
        let message = refused(&with(&path, &name, |bytes| {
            let mut cells = PackedGrid::from_bytes(bytes, 4096, STATE_VARIABLE).expect("it is sound").unpack();
            cells[2] = value;
            PackedGrid::pack(&cells).bytes().to_vec()
        }));
        let message = message.expect("it is refused");
        let place = format!("{name} has invalid values: the value in column 2, row 0 (counted from 0) {expected}");
        assert!(message.contains(&place), "{message}");
    }
}

#[test]
fn failed_save_leaves_the_old_project_intact() {
    let mut project = eventful(32);
    let (folder, path) = saved(&mut project);
    let before = fs::read(&path).expect("it was just written");
    let (_other, again) = saved(&mut project);
    assert!(fs::read(again).expect("it was just written") == before, "the same work is not the same bytes");
    project.sessions[0].simulation.tick();
    let work: Vec<_> = project.sessions.iter_mut().map(state).collect();
    let readonly = |on: bool| {
        let mut rights = fs::metadata(&path).expect("it is there").permissions();
        rights.set_readonly(on);
        fs::set_permissions(&path, rights).expect("it is ours");
    };
    readonly(true);
    let error = save(&mut project, &path, &JobProgress::default()).expect_err("it is read-only");
    readonly(false);
    assert!(error.to_string().contains("the file is read-only"), "{error}");
    assert_eq!(fs::read(&path).expect("it is there"), before);
    let inside = path.join("deeper.thalweg");
    assert!(save(&mut project, &inside, &JobProgress::default()).is_err(), "a file is no folder");
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "nothing half-written is left");
    assert!(project.sessions.iter_mut().map(state).eq(work), "the project itself changed");
}

#[test]
fn full_disk_leaves_the_old_project_intact() {
    let folder = folder();
    let small = folder.path().join("small");
    fs::create_dir(&small).expect("it is writable");
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=192k", "tmpfs"]).arg(&small).status();
    if !mounted.is_ok_and(|status| status.success()) {
        skipped("no small disk could be mounted", "THALWEG_REQUIRE_DISK");
        return;
    }
    let path = small.join("work.thalweg");
    let mut project = eventful(32);
    project.sessions.truncate(1);
    project.chosen = 0;
    let first = save(&mut project, &path, &JobProgress::default());
    let before = fs::read(&path).unwrap_or_default();
    let mut large = eventful(96);
    let second = save(&mut large, &path, &JobProgress::default());
    let after = fs::read(&path).unwrap_or_default();
    let left = fs::read_dir(&small).map(Iterator::count);
    let unmounted = std::process::Command::new("umount").arg(&small).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    first.unwrap_or_else(|error| panic!("{error}"));
    let error = second.expect_err("there is no room").to_string();
    assert!(error.contains("work.thalweg: writing failed") && !error.contains('\n'), "{error}");
    assert!(!before.is_empty() && before == after);
    assert_eq!(left.ok(), Some(1), "something half-written is left");
}
