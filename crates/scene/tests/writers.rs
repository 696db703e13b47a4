//! Every function that writes files for the window, where it cannot write.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use thalweg_scene::{
    io::{
        Error, ImagePixels, JobProgress, chart,
        export::{self, Dimensions, Export, ExportSubject},
        film::{VideoRecorder, VideoWriter},
        lesson::{
            self, LessonProgress,
            report::{self, LessonReport, TopViewImage},
        },
        output, playlist,
        preset::Preset,
        project::{self, Project, StoredNode},
        reference, scene,
    },
    model::{
        chart::{Chart, Curve},
        origin::Options,
        playlist::{Item, Playlist},
        session::Session,
        state::SimulationState,
    },
    settings::{Settings, SettingsFile},
};

/// Writes something to a path.
type Write<'a> = Box<dyn Fn(&Path) -> Result<(), Error> + 'a>;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn session() -> Session {
    let options = Options { size: Some((32, 32)), ..Options::default() };
    let mut session = scene::open_first("river-valley", &options).unwrap_or_else(|error| panic!("{error}"));
    session.simulation.tick();
    session
}

/// Returns a map in each of its formats; all grids have the formats of the heights.
fn exports() -> Vec<Export> {
    let has_own_formats = |map: &str| ["height", "mesh", "rivers", "trees"].contains(&map);
    let formats = |map: &'static str| {
        let count = if has_own_formats(map) { usize::MAX } else { 1 };
        export::endings(map).take(count).map(move |(_, format)| Export { map, format })
    };
    export::maps().into_iter().flat_map(formats).collect()
}

fn autosave(session: &Session, path: &Path) -> Result<(), Error> {
    let mut project = Project::of(vec![session.clone()]);
    let states = Arc::new(vec![SimulationState::capture_packed(&mut session.clone())]);
    project.timeline.frames.push(StoredNode { id: 0, parent: None, states });
    project::autosave(&mut project, path, &JobProgress::default())
}

fn screenshot(pixels: &ImagePixels, path: &Path) -> Result<(), Error> {
    output::replace(path, |file| pixels.write(file, (16, 16), &JobProgress::default()))
}

fn write_report(session: &Session, path: &Path) -> Result<(), Error> {
    let content = LessonReport {
        attempt: LessonProgress::default().attempt(lesson::built_in()[0].1.clone()),
        earlier: BTreeMap::new(),
        student: String::new(),
        date: report::today(),
        charts: Vec::new(),
        terrain: TopViewImage::of(session),
    };
    report::save(&content, path)
}

/// Calls `check` with the name of each file or folder and the function that writes it.
fn for_each_writer(check: impl Fn(&str, Write<'_>)) {
    let (session, exports) = (session(), exports());
    let subject = ExportSubject::new(&session, Dimensions::default(), &exports);
    let subject = subject.unwrap_or_else(|error| panic!("{error}"));
    let (session, subject, exports, quiet) = (&session, &subject, &exports, &JobProgress::default());
    for export in exports {
        let save = move |path: &Path| Export::save(export.map, subject, path, quiet);
        check(&export.file_name(), Box::new(save));
    }
    check("exports", Box::new(|path: &Path| export::save_all(exports, subject, path, "hill-", quiet).map(drop)));
    check("preset.ron", Box::new(|path: &Path| Preset::of(session, None).save(path)));
    check("scene.ron", Box::new(|path: &Path| scene::save(session, path, quiet)));
    check("hill.thalweg", Box::new(|path: &Path| project::save(&mut Project::of(vec![session.clone()]), path, quiet)));
    check("kept.thalweg", Box::new(|path: &Path| autosave(session, path)));
    let [bytes, light] = [ImagePixels::Bytes(vec![90; 3 * 256]), ImagePixels::Light(vec![[0.5, 0.5, 0.5, 1.0]; 256])];
    check("screenshot.png", Box::new(|path: &Path| screenshot(&bytes, path)));
    check("screenshot.exr", Box::new(|path: &Path| screenshot(&light, path)));
    let curves = vec![Curve::line("ground", [[0.0, 0.0], [1.0, 2.0]])];
    let plot = Chart { key: "plot", curves, ..Chart::default() };
    for name in ["plot.csv", "plot.svg", "plot.png"] {
        check(name, Box::new(|path: &Path| chart::save(&plot, path)));
    }
    check("table.csv", Box::new(|path: &Path| output::replace(path, |file| output::write(file, "tick,height\n"))));
    check("report.html", Box::new(|path: &Path| write_report(session, path)));
    check("lesson.md", Box::new(|path: &Path| lesson::copy(Path::new(lesson::BUILT_IN[0].0), path)));
    check("answers.ron", Box::new(|path: &Path| LessonProgress::default().save(path)));
    check("settings.ron", Box::new(|path: &Path| SettingsFile::default().save(path)));
    let scenes = vec![Item { open: "round-hill".into(), ..Item::default() }];
    let list = Playlist { title: String::new(), scenes };
    check("playlist.ron", Box::new(|path: &Path| playlist::save(&list, path)));
    check("reference", Box::new(|path: &Path| reference::write(path, ("settings", &Settings::default()))));
    check("redirects", Box::new(|path: &Path| reference::write_redirect(path, "wind").map(drop)));
}

/// Returns the contents of all files below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it is readable").path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            files.insert(path.clone(), fs::read(path).expect("it is readable"));
        }
    }
    files
}

fn write_to(name: &str, write: &Write<'_>, path: &Path) {
    write(path).unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Returns the error of writing where that is impossible, which is one sentence.
fn error_of(name: &str, write: &Write<'_>, path: &Path) -> String {
    let message = write(path).expect_err(name).to_string();
    assert!(!message.contains('\n'), "{name}: {message}");
    message
}

/// No file of a process can grow on a full disk. The limit is per process, so the test runs itself again in a process of its own.
#[cfg(unix)]
#[test]
fn full_disk_is_reported_and_keeps_the_old_files() {
    const FULL: &str = "THALWEG_TEST_FULL";
    if let Some(full) = std::env::var_os(FULL) {
        for_each_writer(|name, write| {
            let message = error_of(name, &write, &Path::new(&full).join(name));
            assert!(message.contains("writing failed"), "{name}: {message}");
        });
        return;
    }
    let folder = folder();
    for_each_writer(|name, write| write_to(name, &write, &folder.path().join(name)));
    let before = contents(folder.path());
    // The ignored signal makes a write beyond the limit fail.
    let script =
        "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact full_disk_is_reported_and_keeps_the_old_files --nocapture";
    let test = std::env::current_exe().expect("it runs");
    let run = std::process::Command::new("sh").args(["-c", script]).arg(test).env(FULL, folder.path()).output();
    let run = run.expect("the shell starts");
    let [output, wrong] = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(run.status.success() && output.contains("1 passed"), "{output}{wrong}");
    assert!(contents(folder.path()) == before, "a file has changed, or something half-written is left");
}

#[test]
fn file_in_place_of_a_folder_is_reported_and_kept() {
    let folder = folder();
    let file = folder.path().join("mine");
    fs::write(&file, "mine").expect("it is writable");
    for_each_writer(|name, write| {
        let message = error_of(name, &write, &file.join(name));
        let is_reported = message.contains("this is a file") || message.contains("writing failed");
        assert!(is_reported && message.contains("mine"), "{name}: {message}");
    });
    assert_eq!(contents(folder.path()), BTreeMap::from([(file, b"mine".to_vec())]));
}

#[test]
fn read_only_file_is_reported_and_kept() {
    for_each_writer(|name, write| {
        let folder = folder();
        let path = folder.path().join(name);
        write_to(name, &write, &path);
        if path.is_dir() {
            return;
        }
        let before = contents(folder.path());
        let mut rights = fs::metadata(&path).expect("it is there").permissions();
        rights.set_readonly(true);
        fs::set_permissions(&path, rights).expect("it is ours");
        let message = error_of(name, &write, &path);
        assert!(message.contains(&format!("{name}: the file is read-only")), "{message}");
        assert!(contents(folder.path()) == before, "{name} has changed, or something half-written is left");
    });
}

#[test]
fn vanished_folder_is_created_again() {
    for_each_writer(|name, write| {
        let around = folder();
        let folder = around.path().join("disk");
        write_to(name, &write, &folder.join(name));
        fs::remove_dir_all(&folder).expect("it is ours");
        write_to(name, &write, &folder.join(name));
        assert!(folder.join(name).exists(), "{name} was not written");
    });
}

#[test]
fn vanished_folder_of_frames_is_reported() {
    let folder = folder();
    let frames = folder.path().join("frames");
    let mut video = VideoWriter::begin(&frames, (2, 2), 30.0).unwrap_or_else(|error| panic!("{error}"));
    video.add(&[90; 12]).unwrap_or_else(|error| panic!("{error}"));
    fs::remove_dir_all(&frames).expect("it is ours");
    let message = video.add(&[90; 12]).expect_err("its folder is gone").to_string();
    assert!(message.contains("000002.png: writing failed") && !message.contains('\n'), "{message}");
    fs::write(&frames, "mine").expect("it is writable");
    let recorder = VideoRecorder::begin(&frames.join("film.mp4"), (2, 2)).map(drop);
    let message = recorder.expect_err("a file is in the way").to_string();
    assert!(message.contains("frames: ") && !message.contains('\n'), "{message}");
    assert_eq!(fs::read(&frames).expect("it is there"), b"mine");
}
