//! Command line of Thalweg: all headless commands, and the entry point to the window.

mod bench;
mod build;
mod check;
mod computer;
mod docs;
mod film;
mod learn;
mod lists;
mod log;
mod measure;
mod measures;
mod present;
mod setup;
mod shot;
mod soak;
mod sweep;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::{Parser, Subcommand, error::ErrorKind};

use thalweg_scene::{
    io::{
        Budget, BudgetSource, Error, escape_control, playlist,
        project::{self, Project},
        scene::{self, DEFAULT, RenderJob},
        watch::{FrameCallback, VideoJob},
    },
    model::{origin::Options, playlist::Opening, session::Session},
};
use thalweg_sim::{params::ParamError, simd::vector_unit::VectorUnit};

/// Interactive terrain-erosion sandbox: rainfall, rivers, thermal erosion and wind on one terrain, in a window or headless.
#[derive(Parser)]
#[command(name = "thalweg", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Action>,
    /// Built-in scene, scene file (.ron), project (.thalweg) or heightmap (.tif, .exr, .png, .r16, .asc, .hgt …) to open in the window
    input: Option<PathBuf>,
    /// Profile frame times on this machine, off-screen, and write them to a file; takes minutes
    #[arg(long, value_name = "FILE.json", conflicts_with = "input")]
    bench_frames: Option<PathBuf>,
    /// Memory limit, e.g. 800M or 2G; by default the limit in the settings, or else half of the machine's memory
    #[arg(long, global = true, value_name = "SIZE")]
    memory: Option<Budget>,
}

#[derive(Subcommand)]
enum Action {
    /// Simulate without a window and write the results
    Build(build::BuildArgs),
    /// Benchmark each process on this machine
    Bench(bench::BenchArgs),
    /// Compare the morphometry of a heightmap with that of real mountains
    Measure(measure::MeasureArgs),
    /// Open a lesson, list the lessons, or check one without a window
    Learn(learn::LearnArgs),
    /// Present scenes to an audience in full screen
    Present(present::PresentArgs),
    /// Verify the computations on this machine against exact solutions
    Check(check::CheckArgs),
    /// Write the reference of processes, equations and parameters as an HTML page
    Docs(docs::DocsArgs),
    /// Render an image off-screen
    Shot(shot::ShotArgs),
    /// Render a video of a simulation off-screen
    Film(film::FilmArgs),
    /// Run scenes for minutes or hours and report mass balance, memory and timings as JSON
    Soak(soak::SoakArgs),
    /// Run a parameter sweep, here or on a cluster, and collect the results
    Sweep(sweep::SweepArgs),
    /// List the built-in scenes
    Scenes {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all parameters with key, range, default, unit, symbol and source
    Params {
        /// Print a Markdown table
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Failure of a command: message and exit code.
struct Failure {
    sentence: String,
    code: u8,
}

impl Failure {
    fn bad_input(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: 2 }
    }

    fn while_running(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: 1 }
    }

    /// Creates the failure of a command that would replace a file.
    fn file_exists(path: &Path) -> Self {
        Self::bad_input(format!(
            "{}: the file exists; choose another name, or add --force to replace it",
            path.display()
        ))
    }

    fn stopped() -> Self {
        Self::while_running("interrupted by Ctrl+C; nothing was written")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { sentence: error.to_string(), code: error.exit_code() }
    }
}

impl From<ParamError> for Failure {
    fn from(error: ParamError) -> Self {
        Self::bad_input(error.to_string())
    }
}

/// Callback for each printed line.
pub type LineSink<'a> = dyn FnMut(&str) + 'a;

/// Opens a project in a window, along with its file if there is one. Returns when the window is closed.
pub type OpenWindow = fn(Project, Option<PathBuf>, Opening) -> Result<(), String>;

/// Functions that require Bevy and a graphics driver. Errors are one-sentence messages.
pub struct Graphics {
    /// Opens a window.
    pub window: OpenWindow,
    /// Renders an image of sessions.
    pub screenshot: fn(Vec<Session>, &RenderJob) -> Result<(), Error>,
    /// Renders a video of sessions.
    pub film: fn(Vec<Session>, &mut VideoJob<'_>) -> Result<(), Error>,
    /// Runs sessions off-screen, frame by frame.
    pub frames: fn(Vec<Session>, &mut FrameCallback<'_>) -> Result<(), String>,
    /// Profiles frame times, reports them line by line and writes them to a file.
    pub bench_frames: fn(&Path, &mut LineSink<'_>) -> Result<(), Error>,
}

/// Error message of a build without a window.
const NO_WINDOW: &str = "this program was built without the \"window\" feature";

/// Parses the command line and runs the command. Without graphics, commands that require it fail.
pub fn run(graphics: Option<Graphics>) -> ExitCode {
    let window: OpenWindow = graphics.as_ref().map_or(|_, _, _| Err(NO_WINDOW.to_owned()), |graphics| graphics.window);
    let graphics = || {
        let right = "rebuild it with `cargo build --release`";
        graphics.as_ref().ok_or_else(|| Failure::bad_input(format!("{NO_WINDOW}; {right}")))
    };
    let done = match Cli::try_parse() {
        // An invalid vector unit is rejected before anything is computed.
        Ok(Cli { command, memory, input, bench_frames }) => {
            VectorUnit::from_env().map_err(Failure::bad_input).and_then(|_| {
                Budget::set(BudgetSource::CommandLine, memory);
                match command {
                    None => match bench_frames {
                        // A closed standard output does not prevent writing the file.
                        Some(file) => {
                            Ok((graphics()?.bench_frames)(&file, &mut |line| drop(print(&format!("{line}\n"))))?)
                        }
                        None => open(input, window),
                    },
                    Some(Action::Build(build)) => build.run(),
                    Some(Action::Bench(bench)) => bench.run(),
                    Some(Action::Measure(measure)) => measure.run(),
                    Some(Action::Check(check)) => check.run(),
                    Some(Action::Docs(docs)) => docs.run(),
                    Some(Action::Learn(learn)) => learn.run(window),
                    Some(Action::Present(present)) => present.run(window),
                    Some(Action::Shot(shot)) => shot.run(graphics()?.screenshot),
                    Some(Action::Film(film)) => film.run(graphics()?.film),
                    Some(Action::Soak(soak)) => soak.run(graphics()?.frames),
                    Some(Action::Sweep(sweep)) => sweep.run(),
                    Some(Action::Scenes { json }) => lists::scenes(json),
                    Some(Action::Params { markdown, json }) => lists::params(markdown, json),
                }
            })
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            print(&error.to_string())
        }
        Err(error) => Err(Failure::bad_input(first_lines(&error.to_string()))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { sentence, code }) => {
            print_message(&sentence);
            ExitCode::from(code)
        }
    }
}

/// Writes a message to standard error, on one line. Write errors are ignored: the exit code still reports the failure.
fn print_message(sentence: &str) {
    let _ = writeln!(io::stderr(), "thalweg: {}", escape_control(sentence));
}

/// Prints to standard output. A closed pipe is not an error.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::while_running(format!(
            "cannot write to standard output ({error}); redirect it to a disk with free space"
        ))),
        _ => Ok(()),
    }
}

/// Returns the message of the command-line parser as one sentence, without the usage.
fn first_lines(message: &str) -> String {
    let is_hint = |part: &&str| ["Usage", "For more information"].iter().any(|start| part.starts_with(start));
    let parts = message.split("\n\n").take_while(|part| !is_hint(part));
    let one_line = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<String> = parts.map(one_line).filter(|part| !part.is_empty()).collect();
    format!("{}; see thalweg --help", parts.join("; ").trim_start_matches("error: ").trim_end_matches('.'))
}

fn open(input: Option<PathBuf>, window: OpenWindow) -> Result<(), Failure> {
    if let Some(input) = input.clone().filter(|input| playlist::is_playlist_file(input)) {
        return present::PresentArgs::of(input).run(window);
    }
    let file = input.clone().filter(|file| project::is_project(file));
    let opened = match &file {
        Some(file) => project::open_with_timeline(file)?,
        None => {
            let sessions = scene::open(input.as_deref().unwrap_or(Path::new(DEFAULT)), &Options::default())?;
            Project::of(sessions)
        }
    };
    match (window(opened, file, Opening::Work), input) {
        (Ok(()), _) => Ok(()),
        (Err(reason), Some(_)) => {
            Err(Failure::bad_input(format!("{reason}; \"thalweg build\" works without a display")))
        }
        (Err(reason), None) => {
            print_message(&format!("{reason}; building {DEFAULT} into ./thalweg-out instead"));
            build::BuildArgs::of_scene(DEFAULT, Path::new("thalweg-out")).run()
        }
    }
}

/// Returns `true` after Ctrl+C was pressed. The first call installs the handler, after which the signal no longer ends the process.
fn is_interrupted() -> bool {
    static PRESSED: AtomicBool = AtomicBool::new(false);
    static TAKEN_OVER: Once = Once::new();
    // If the handler cannot be installed, Ctrl+C ends the process immediately, which leaves no partial file either.
    TAKEN_OVER.call_once(|| drop(ctrlc::set_handler(|| PRESSED.store(true, Ordering::Relaxed))));
    PRESSED.load(Ordering::Relaxed)
}
