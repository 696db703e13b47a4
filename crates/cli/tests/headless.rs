//! The command line without a window, as used by scripts. The test binary runs itself as the program, with frames that need no
//! graphics driver.

use std::{
    env, fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output},
    time::Instant,
};

use serde_json::Value;
use thalweg_cli::{Graphics, run};
use thalweg_scene::{
    io::{Error, ImagePixels, watch::VideoJob},
    model::session::Session,
};

/// Environment variable under which this binary is the program.
const AS_PROGRAM: &str = "THALWEG_TESTED_PROGRAM";

/// Tests by name.
const TESTS: [(&str, fn()); 12] = [
    ("log_has_one_row_per_tick", log_has_one_row_per_tick),
    ("invalid_logs_are_rejected_in_one_sentence", invalid_logs_are_rejected_in_one_sentence),
    ("full_disk_is_reported_and_leaves_no_files", full_disk_is_reported_and_leaves_no_files),
    ("closed_pipe_is_no_failure", closed_pipe_is_no_failure),
    ("job_array_completes_a_sweep", job_array_completes_a_sweep),
    ("cluster_options_reach_the_jobs", cluster_options_reach_the_jobs),
    ("results_folder_holds_the_plan_that_is_read", results_folder_holds_the_plan_that_is_read),
    ("parameters_without_effect_are_reported", parameters_without_effect_are_reported),
    ("existing_files_are_replaced_on_request_only", existing_files_are_replaced_on_request_only),
    ("lesson_check_reports_what_students_would_miss", lesson_check_reports_what_students_would_miss),
    ("video_has_title_card_and_fades", video_has_title_card_and_fades),
    ("odd_sizes_of_videos_are_refused", odd_sizes_of_videos_are_refused),
];

fn main() -> ExitCode {
    if env::var_os(AS_PROGRAM).is_some() {
        let graphics = Graphics {
            window: |_, _, _| Err("there is no display".to_owned()),
            screenshot: |_, _| Err(Error::output(Path::new("image"), "there is no graphics driver", "install one")),
            film: draw_noise,
            frames: |_, _| Err("there is no graphics driver".to_owned()),
            bench_frames: |_, _| Err(Error::output(Path::new("frames"), "there is no graphics driver", "install one")),
        };
        return run(Some(graphics));
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    // The values of options are no filters.
    let is_value = |at: usize| at > 0 && ["-Z", "--test-threads"].contains(&&*arguments[at - 1]);
    let filters: Vec<&String> = arguments
        .iter()
        .enumerate()
        .filter(|(at, argument)| !argument.starts_with('-') && !is_value(*at))
        .map(|(_, argument)| argument)
        .collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    let is_timed = arguments.iter().any(|argument| argument == "--report-time");
    let mut failed = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| wanted(name)) {
        let begun = Instant::now();
        let passed = catch_unwind(test).is_ok();
        failed += usize::from(!passed);
        let time = if is_timed { format!(" <{:.3}s>", begun.elapsed().as_secs_f64()) } else { String::new() };
        println!("test {name} ... {}{time}", if passed { "ok" } else { "FAILED" });
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Takes frames of noise, which no encoder makes small, with a white pixel at the upper left.
fn draw_noise(_: Vec<Session>, job: &mut VideoJob<'_>) -> Result<(), Error> {
    let count = 3 * job.size.0 as usize * job.size.1 as usize;
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut pixels: Vec<u8> = (0..count).map(|_| noise()).collect();
    pixels[..3].fill(255);
    (0..job.frames).try_for_each(|_| (job.take)(&ImagePixels::Bytes(pixels.clone())))
}

fn program() -> PathBuf {
    env::current_exe().expect("this binary exists")
}

fn thalweg(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder).env(AS_PROGRAM, "1").output().expect("the program starts")
}

fn succeeds(arguments: &[&str], folder: &Path) -> Output {
    let output = thalweg(arguments, folder);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output
}

/// Checks for exit code 2 and a last line with these words.
fn refuses(arguments: &[&str], folder: &Path, words: &[&str]) {
    let output = thalweg(arguments, folder);
    let sentence = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {sentence}");
    let last = sentence.lines().last().unwrap_or_default();
    for word in words {
        assert!(last.contains(word), "{arguments:?}: \"{last}\" does not say \"{word}\"");
    }
    assert!(!last.contains("For more information") && !last.contains(".;"), "{arguments:?}: \"{last}\"");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn put(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("it is writable");
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all files at or below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("it is a folder").flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(folder).expect("it is inside").display().to_string());
            }
        }
    }
    found.sort();
    found
}

fn log_has_one_row_per_tick() {
    let folder = folder();
    let build = |out: &str, threads: &str| {
        let log = format!("{out}.csv");
        let input =
            ["build", "round-hill", "--size", "32", "--ticks", "3", "--enable", "droplets", "--save", "height.r32"];
        let more =
            ["--out", out, "--threads", threads, "--log", &log, "--probe", "0.5,0.25", "--probe", "0,1", "--json"];
        let report = succeeds(&[&input[..], &more].concat(), folder.path()).stdout;
        (text(folder.path().join(log)), serde_json::from_slice::<Value>(&report).expect("it is JSON"))
    };
    let ((table, report), (again, _)) = (build("one", "1"), build("two", "2"));
    assert_eq!(table, again, "the number of threads changed the log");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5, "a header, the start and three ticks:\n{table}");
    let column = |name: &str| {
        let at =
            rows[0].iter().position(|found| *found == name).unwrap_or_else(|| panic!("no {name} in {:?}", rows[0]));
        rows[1..].iter().map(|row| row[at].parse::<f64>().expect("it is a number")).collect::<Vec<f64>>()
    };
    assert_eq!(column("ticks"), [0.0, 1.0, 2.0, 3.0]);
    for (name, place) in [
        ("simulated_seconds", "/simulated_seconds"),
        ("height_mean_m", "/statistics/mean_m"),
        ("cut_m3", "/statistics/cut_m3"),
        ("solid_residual_m3", "/ledger/solid/residual"),
        ("solid_droplets_eroded_m3", "/ledger/solid/processes/droplets/eroded"),
    ] {
        assert_eq!(
            column(name)[3],
            report.pointer(place).and_then(Value::as_f64).expect("it is in the report"),
            "{name}"
        );
    }
    assert_eq!(column("solid_droplets_eroded_m3")[0], 0.0);
    assert!(!table.contains("_wind_"), "a disabled process has columns");
    // The probe at 0.5, 0.25 lies in column 16 and row 8.
    let heights = fs::read(folder.path().join("one/height.r32")).expect("it was written");
    let at = 4 * (8 * 32 + 16);
    let height = f32::from_le_bytes(heights[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(column("ground_at_0.5_0.25_m")[3] as f32, height);
    assert_eq!(column("water_at_0_1_m").len(), 4);
    // Simulations side by side have a log each.
    let tiles = ["build", "ten-seeds", "--size", "32", "--ticks", "1", "--save", "height.r32", "--out", "tiles"];
    succeeds(&[&tiles[..], &["--log", "tiles/log.csv"]].concat(), folder.path());
    assert_eq!(text(folder.path().join("tiles/20-log.csv")).lines().count(), 3);
    assert!(!folder.path().join("tiles/log.csv").exists());
}

fn invalid_logs_are_rejected_in_one_sentence() {
    let folder = folder();
    fs::create_dir(folder.path().join("place.csv")).expect("it is writable");
    put(folder.path(), "file", "");
    let build = ["build", "round-hill", "--size", "32", "--ticks", "1", "--out", "out"];
    for (more, words) in [
        (&["--log", "log.txt"][..], &["--log", "ends in .csv; see thalweg --help"][..]),
        (&["--log", "file/log.csv"], &["file: this is a file"]),
        (&["--log", "log.csv", "--probe", "2,0"], &["--probe", "fractions of the map's sides"]),
        (&["--log", "log.csv", "--probe", "0.5"], &["--probe", "0.5,0.25"]),
        (&["--log", "log.csv", "--probe", "nan,0"], &["--probe"]),
        (&["--probe", "0,0"], &["--log"]),
        (&["--prob", "0,0"], &["found; tip: ", "--probe", "; see thalweg --help"]),
        (&["--log", "out/rivers.csv", "--save", "rivers.csv"], &["out/rivers.csv", "choose another name"]),
    ] {
        refuses(&[&build[..], more].concat(), folder.path(), words);
    }
    let blocked = thalweg(&[&build[..], &["--log", "place.csv"]].concat(), folder.path());
    assert!(stderr(&blocked).contains("place.csv: a folder with this name exists"), "{}", stderr(&blocked));
    assert_eq!((blocked.status.code(), files(folder.path())), (Some(1), vec!["file".to_owned()]));
    // Without results there is no log either.
    fs::create_dir_all(folder.path().join("out/height.png")).expect("it is writable");
    let blocked = thalweg(&[&build[..], &["--log", "log.csv"]].concat(), folder.path());
    assert!(stderr(&blocked).contains("height.png: a folder with this name exists"), "{}", stderr(&blocked));
    assert_eq!((blocked.status.code(), files(folder.path())), (Some(1), vec!["file".to_owned()]));
}

/// Every command that writes files, on a disk on which no file exceeds a few kilobytes.
fn full_disk_is_reported_and_leaves_no_files() {
    if !cfg!(unix) {
        return;
    }
    let folder = folder();
    let plan = "(input: \"round-hill\", size: 64, ticks: 1, vary: {\"seed\": List([\"1\"])}, save: [\"height.r32\"])";
    put(folder.path(), "plan.ron", plan);
    let before = files(folder.path());
    let build = |name: &str| format!("build round-hill --size 256 --ticks 0 --out out --save {name}");
    let formats = [
        "height.png8",
        "height.png",
        "height.r16",
        "height.r32",
        "height.exr",
        "height.tif",
        "height.asc",
        "hillshade",
        "normal",
        "mesh.obj",
        "mesh.stl",
        "mesh.glb",
    ];
    let mut commands: Vec<String> = formats.iter().map(|name| build(name)).collect();
    commands.extend([
        "build round-hill --size 32 --ticks 200 --out out --save height.png8 --log log.csv".to_owned(),
        "film round-hill --size 32 --ticks 20 --resolution 256x256 --out frames".to_owned(),
        "film round-hill --size 32 --ticks 20 --resolution 256x256 --out film.mp4".to_owned(),
        "sweep plan.ron --out sweep".to_owned(),
        "docs --out docs".to_owned(),
    ]);
    for command in commands {
        // Blocks of 512 bytes. The ignored signal makes a write beyond the limit fail, as on a full disk.
        let script = format!("trap '' XFSZ; ulimit -f 8; exec \"$0\" {command}");
        let run = Command::new("sh")
            .args(["-c", &script])
            .arg(program())
            .current_dir(folder.path())
            .env(AS_PROGRAM, "1")
            .output();
        let run = run.expect("the shell starts");
        let message = stderr(&run);
        assert!(matches!(run.status.code(), Some(1 | 2)), "{command}: {:?} {message}", run.status);
        // Without the encoder, no video is started.
        let reported = message.contains("writing failed") || message.contains("ffmpeg");
        assert!(message.lines().count() == 1 && reported && !message.contains("panicked"), "{command}: {message}");
        assert!(
            !command.starts_with("build round-hill --size 256") || !message.contains("report.json"),
            "{command} fits: {message}"
        );
        let mut left = files(folder.path());
        // The encoder's partial video and the plan are documented.
        left.retain(|name| !before.contains(name) && !name.contains(".part.") && name != "sweep/plan.ron");
        assert!(left.is_empty(), "{command} left {left:?}");
    }
}

fn closed_pipe_is_no_failure() {
    if !cfg!(unix) {
        return;
    }
    let folder = folder();
    for command in ["params", "params --json", "learn", "--help"] {
        let script = format!("{{ \"$0\" {command} 2> errors; echo $? > code; }} | head -1 > first");
        let run = Command::new("sh")
            .args(["-c", &script])
            .arg(program())
            .current_dir(folder.path())
            .env(AS_PROGRAM, "1")
            .status();
        assert!(run.is_ok_and(|status| status.success()));
        let [errors, code, first] = ["errors", "code", "first"].map(|name| text(folder.path().join(name)));
        assert_eq!((errors.trim(), code.trim()), ("", "0"), "{command}");
        assert!(first.lines().count() == 1, "{command}: {first}");
        if Path::new("/dev/full").exists() {
            let script = format!("exec \"$0\" {command} > /dev/full");
            let run = Command::new("sh")
                .args(["-c", &script])
                .arg(program())
                .env(AS_PROGRAM, "1")
                .output()
                .expect("it starts");
            let message = stderr(&run);
            assert!(
                run.status.code() == Some(1) && message.contains("cannot write to standard output"),
                "{command}: {message}"
            );
        }
    }
}

const PLAN: &str = "(input: \"round-hill\", size: 32, ticks: 2, enabled: [\"droplets\"], vary: {\
    \"droplets.per_tick\": Range(from: 100, to: 400, count: 3), \"seed\": List([\"3\", \"4\"])})";

/// A stand-in for Slurm's `sbatch`: runs the tasks of an array one after the other, without their options.
const SBATCH: &str = r#"#!/bin/bash
set -e
while [ $# -gt 0 ]; do
    case $1 in
        --wrap) bash -c "$2"; exit ;;
        --*) ;;
        *) script=$1 ;;
    esac
    shift
done
last=$(sed -n 's/^#SBATCH --array=1-//p' "$script")
for task in $(seq "$last"); do SLURM_ARRAY_TASK_ID=$task bash "$script" > /dev/null; done
echo 17
"#;

fn job_array_completes_a_sweep() {
    if !cfg!(unix) {
        return;
    }
    let folder = folder();
    put(folder.path(), "plan.ron", PLAN);
    succeeds(&["sweep", "plan.ron", "--out", "here"], folder.path());
    let printed = succeeds(&["sweep", "plan.ron", "--out", "with space", "--emit", "slurm"], folder.path()).stdout;
    let printed = String::from_utf8(printed).expect("it is text");
    let commands: Vec<&str> =
        printed.lines().filter(|line| line.contains("sbatch ")).filter(|line| !line.starts_with("Wrote")).collect();
    assert_eq!(commands.len(), 2, "{printed}");
    put(folder.path(), "sbatch", SBATCH);
    put(folder.path(), "start", &format!("set -e\nchmod +x sbatch\nPATH=$PWD:$PATH\n{}\n", commands.join("\n")));
    // Tasks read the plan of the results folder.
    fs::remove_file(folder.path().join("plan.ron")).expect("it is ours");
    let done =
        Command::new("bash").arg("start").current_dir(folder.path()).env(AS_PROGRAM, "1").output().expect("it starts");
    let errors = fs::read_to_string(folder.path().join("with space/errors.log")).unwrap_or_default();
    assert!(done.status.success() && errors.is_empty(), "{}{errors}", stderr(&done));
    let hashes = |out: &str| -> Vec<String> {
        let table = text(folder.path().join(out).join("table.csv"));
        table.lines().map(|line| line.rsplit(',').take(3).collect()).collect()
    };
    assert_eq!(hashes("here").len(), 7);
    assert_eq!(hashes("here"), hashes("with space"));
}

fn cluster_options_reach_the_jobs() {
    let folder = folder();
    put(folder.path(), "plan.ron", PLAN);
    let options = ["--time", "1-02:30:00", "--mem", "1.5G", "--partition", "long", "--logs", "all logs"];
    let emit = |kind: &str| {
        let sweep = ["sweep", "plan.ron", "--out", "out", "--emit", kind];
        succeeds(&[&sweep[..], &options].concat(), folder.path());
    };
    emit("slurm");
    let job = text(folder.path().join("out/sweep.sbatch"));
    for line in ["--array=1-6", "--time=1-02:30:00", "--mem=1500M", "--partition=long"] {
        assert!(job.contains(&format!("#SBATCH {line}\n")), "{line} is not in {job}");
    }
    assert!(job.contains("all logs/%A_%a.log'\n") && !job.contains("errors.log"), "{job}");
    assert!(folder.path().join("all logs").is_dir(), "the scheduler does not create it");
    emit("snakemake");
    let file = text(folder.path().join("out/Snakefile"));
    let resources = "resources: mem_mb=1500, runtime=1590, slurm_partition=\"long\"\n";
    assert!(file.contains(resources) && file.contains("all logs/{run}.log\""), "{file}");
    for (option, value) in [("--time", "soon"), ("--mem", "much"), ("--partition", "a b")] {
        refuses(&["sweep", "plan.ron", "--out", "out", "--emit", "slurm", option, value], folder.path(), &[option]);
    }
    refuses(&["sweep", "plan.ron", "--out", "out", "--time", "30"], folder.path(), &["--emit"]);
}

fn results_folder_holds_the_plan_that_is_read() {
    let folder = folder();
    let grid = "ncols 32\nnrows 32\ncellsize 10\n".to_owned() + &"1 2 3 4 ".repeat(256);
    put(folder.path(), "land.asc", &grid);
    put(folder.path(), "plan.ron", &PLAN.replace("round-hill", "land.asc").replace("size: 32, ", ""));
    let first = succeeds(&["sweep", "plan.ron", "--out", "deep/out", "--json"], folder.path()).stdout;
    assert!(String::from_utf8_lossy(&first).contains("\"made\":6"));
    // The copy finds the input, and its runs are the same.
    let again = succeeds(&["sweep", "deep/out/plan.ron", "--out", "deep/out", "--json"], folder.path()).stdout;
    assert!(String::from_utf8_lossy(&again).contains("\"skipped\":6"), "{}", String::from_utf8_lossy(&again));
    put(folder.path(), "other.ron", &PLAN.replace("400", "500"));
    refuses(&["sweep", "other.ron", "--out", "deep/out"], folder.path(), &["another plan"]);
}

fn parameters_without_effect_are_reported() {
    let folder = folder();
    let vary = |vary: &str| {
        put(
            folder.path(),
            "plan.ron",
            &format!("(input: \"round-hill\", size: 32, ticks: 1, enabled: [\"droplets\"], vary: {{{vary}}})"),
        );
        let _ = fs::remove_dir_all(folder.path().join("out"));
        stderr(&succeeds(&["sweep", "plan.ron", "--out", "out"], folder.path()))
    };
    let message = vary("\"wind.strength\": List([\"0.5\", \"1\"])");
    assert!(
        message.contains("warning: plan.ron: wind.strength has no effect")
            && message.contains("add \"wind\" to `enabled`"),
        "{message}"
    );
    let message = vary("\"droplets.friction\": List([\"0.05\", \"0.1\"])");
    assert!(
        message.contains("droplets.friction has no effect; it requires droplets.") || message.is_empty(),
        "{message}"
    );
    assert_eq!(vary("\"droplets.per_tick\": List([\"10\", \"20\"])"), "");
    let build = |deposition: &str| {
        let arguments =
            ["build", "round-hill", "--size", "32", "--ticks", "1", "--enable", "fluvial", "--out", "built"];
        let set = ["--set", "fluvial.slope_exponent=1.5", "--set", deposition];
        stderr(&succeeds(&[&arguments[..], &set].concat(), folder.path()))
    };
    let message = build("fluvial.deposition=0.5");
    assert_eq!(
        message,
        "thalweg: warning: fluvial.slope_exponent has no effect; it requires fluvial.deposition to be 0\n"
    );
    assert_eq!(build("fluvial.deposition=0"), "");
}

fn existing_files_are_replaced_on_request_only() {
    let folder = folder();
    for command in [&["learn", "the-wadi", "--copy", "mine.md"][..], &["present", "wadi", "--save", "mine.ron"]] {
        let name = command[3];
        put(folder.path(), name, "mine");
        refuses(command, folder.path(), &[name, "the file exists", "--force"]);
        assert_eq!(text(folder.path().join(name)), "mine");
        succeeds(&[command, &["--force"]].concat(), folder.path());
        assert_ne!(text(folder.path().join(name)), "mine");
        fs::remove_file(folder.path().join(name)).expect("it is ours");
        succeeds(command, folder.path());
    }
}

fn lesson_check_reports_what_students_would_miss() {
    let folder = folder();
    let lesson = "---\n(title: \"T\", about: \"a\", level: \"l\", minutes: 5, source: \"s\", scene: \"round-hill\", size: 32)\n---\n\
                  Text.\n\n## Run\n\n```ask\nRun(ticks: 1)\n```\n";
    put(folder.path(), "fair.md", lesson);
    succeeds(&["learn", "fair.md", "--check"], folder.path());
    put(folder.path(), "fair.ron", "()");
    refuses(&["learn", "fair.ron"], folder.path(), &["fair.ron: not a lesson", "(.md)"]);
    for (from, to, expected) in [
        ("```ask", "```aks", "line 8: a code block of the language \"aks\" contains a task"),
        ("Text.", "![A dune](dune.png)", "line 4: the image \"dune.png\" cannot be read"),
        ("## Run", "## For the teacher\n\n## Run", "\"Run\" is never shown"),
        ("ticks: 1", "ticks: 1, sped: 3", "line 9: unknown field `sped`"),
    ] {
        put(folder.path(), "wrong.md", &lesson.replace(from, to));
        refuses(&["learn", "wrong.md", "--check"], folder.path(), &["wrong.md: ", expected]);
    }
}

fn video_has_title_card_and_fades() {
    let folder = folder();
    let camera = "(camera: [(tick: 0, round: 0, above: 30)], title: (text: \"Rain\", seconds: 0.5), fade: (begin: 0.5, end: 0.25))";
    put(folder.path(), "camera.ron", camera);
    let film = [
        "film",
        "round-hill",
        "--size",
        "32",
        "--ticks",
        "15",
        "--resolution",
        "64x48",
        "--fps",
        "8",
        "--out",
        "frames",
    ];
    let done = succeeds(&[&film[..], &["--camera", "camera.ron"]].concat(), folder.path());
    assert_eq!(String::from_utf8_lossy(&done.stdout), "frames: 20 frames.\n");
    // Brightness of the upper left pixel: a card of 4 frames, and 16 frames of white.
    let shades: Vec<u8> = (1..=20).map(|frame| corner(&folder.path().join(format!("frames/{frame:06}.png")))).collect();
    assert_eq!(shades[..9], [0, 0, 0, 0, 0, 64, 128, 191, 255]);
    assert_eq!(shades[17..], [255, 128, 0]);
    for (wrong, expected) in [("seconds: 0.5", "second: 0.5"), ("begin: 0.5", "begin: -1"), ("\"Rain\"", "\" \"")]
        .into_iter()
        .zip(["unknown field `second`", "a fade lasts -1 seconds", "the title is empty"])
    {
        put(folder.path(), "wrong.ron", &camera.replace(wrong.0, wrong.1));
        refuses(&[&film[..], &["--camera", "wrong.ron"]].concat(), folder.path(), &["wrong.ron", expected]);
    }
}

/// Returns the first byte of the pixels of a PNG.
fn corner(path: &Path) -> u8 {
    let (_, pixels) =
        thalweg_scene::io::decode_png_rgb8(&fs::read(path).expect("it was written")).expect("it is an RGB image");
    pixels[0]
}

fn odd_sizes_of_videos_are_refused() {
    let folder = folder();
    let film = ["film", "round-hill", "--size", "32", "--ticks", "1", "--resolution", "641x361"];
    let expected = ["a.mp4", "H.264 needs an even width and height", "use 640x360 or 642x362"];
    refuses(&[&film[..], &["--out", "a.mp4"]].concat(), folder.path(), &expected);
    succeeds(&[&film[..], &["--out", "frames"]].concat(), folder.path());
    assert_eq!(files(folder.path()).len(), 2);
}
