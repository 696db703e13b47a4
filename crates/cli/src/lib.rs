//! The command line: what `thalweg` does without a window, and how the window is asked for.

mod bench;
mod build;
mod check;
mod docs;
mod film;
mod learn;
mod lists;
mod measure;
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
        Budget, Error, SaidBy, escaped, playlist,
        project::{self, Project},
        scene::{self, DEFAULT, Picture},
        watch::{Shooting, Watch},
    },
    model::{origin::Options, playlist::Opening, session::Session},
};
use thalweg_sim::{params::ParamError, simd::vector_unit::VectorUnit};

/// Interactive terrain sandbox: rain, rivers, slumping slopes and wind shape one landscape, in a window or without one.
#[derive(Parser)]
#[command(name = "thalweg", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Action>,
    /// A built-in scene, a scene file (.ron), a project (.thalweg) or a heightmap (.png, .exr, .r16, .r32, .tif, .asc) to open in the window
    input: Option<PathBuf>,
    /// Measure where the time of a frame goes on this machine, off-screen, and write the figures to a file; takes minutes
    #[arg(long, value_name = "FILE.json", conflicts_with = "input")]
    bench_frames: Option<PathBuf>,
    /// Memory that may be used, for example 800M or 2G; without it, what the settings say or half of the machine's
    #[arg(long, global = true, value_name = "SIZE")]
    memory: Option<Budget>,
}

#[derive(Subcommand)]
enum Action {
    /// Simulate without a window and write the results
    Build(build::Build),
    /// Measure the speed of each process on this machine
    Bench(bench::Bench),
    /// Tell land from noise in numbers, for any heightmap
    Measure(measure::Measure),
    /// Open a lesson, list the lessons, or check one without a window
    Learn(learn::Learn),
    /// Show scenes to a room, one after the other, on the whole screen
    Present(present::Present),
    /// Check this machine against what is known exactly
    Check(check::CheckMachine),
    /// Write the reference of processes, equations and parameters as a page
    Docs(docs::Docs),
    /// Render one picture off-screen
    Shot(shot::Shot),
    /// Make a film of a run, off-screen
    Film(film::MakeFilm),
    /// Play scenes for minutes or hours, and report ledger, memory and times as JSON
    Soak(soak::Soak),
    /// Run a scene with many values of its parameters, here or on many machines, and collect the results
    Sweep(sweep::Sweep),
    /// List the built-in scenes
    Scenes {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List every parameter with key, range, default, unit, symbol and source
    Params {
        /// As a Markdown table
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Why the program ends without having done what it was asked for: a sentence and an exit code.
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

    fn stopped() -> Self {
        Self::while_running("stopped by Ctrl+C; nothing was written")
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

/// Takes each line of what is printed.
pub type Say<'a> = dyn FnMut(&str) + 'a;

/// Opens a project in a window, with its file if it has one, and returns when the window is closed.
pub type Window = fn(Project, Option<PathBuf>, Opening) -> Result<(), String>;

/// What needs Bevy and a graphics driver. Errors are one sentence.
pub struct Graphics {
    /// Opens a window.
    pub window: Window,
    /// Takes a picture of sessions.
    pub picture: fn(Vec<Session>, &Picture) -> Result<(), Error>,
    /// Makes a film of sessions.
    pub film: fn(Vec<Session>, &mut Shooting<'_>) -> Result<(), Error>,
    /// Plays sessions off-screen, frame by frame.
    pub frames: fn(Vec<Session>, &mut Watch<'_>) -> Result<(), String>,
    /// Measures frames, says the figures line by line and writes them to a file.
    pub bench_frames: fn(&Path, &mut Say<'_>) -> Result<(), Error>,
}

/// Why there is no window in a program that was built without one.
const NO_WINDOW: &str = "this program was built without its feature \"window\"";

/// Parses the command line and does what it says. Without graphics, commands that need them are refused.
pub fn run(graphics: Option<Graphics>) -> ExitCode {
    let window: Window = graphics.as_ref().map_or(|_, _, _| Err(NO_WINDOW.to_owned()), |graphics| graphics.window);
    let graphics = || {
        let right = "build it again with `cargo build --release`";
        graphics.as_ref().ok_or_else(|| Failure::bad_input(format!("{NO_WINDOW}; {right}")))
    };
    let done = match Cli::try_parse() {
        // A wrong name of a vector unit is refused before anything is computed.
        Ok(Cli { command, memory, input, bench_frames }) => {
            VectorUnit::wanted().map_err(Failure::bad_input).and_then(|_| {
                Budget::say(SaidBy::CommandLine, memory);
                match command {
                    None => match bench_frames {
                        // Where nothing can be printed any more, the file is written all the same.
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
                    Some(Action::Shot(shot)) => shot.run(graphics()?.picture),
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
            tell(&sentence);
            ExitCode::from(code)
        }
    }
}

/// Says a sentence on standard error, in one line. Where that cannot be written, the exit code has to do.
fn tell(sentence: &str) {
    let _ = writeln!(io::stderr(), "thalweg: {}", escaped(sentence));
}

/// Prints to standard output; a reader that has gone away is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::while_running(format!(
            "standard output cannot be written ({error}); send it to where there is room"
        ))),
        _ => Ok(()),
    }
}

/// The command-line parser's message as one line, without the usage that follows it.
fn first_lines(message: &str) -> String {
    let lines = message.lines().take_while(|line| !line.starts_with("Usage"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    format!("{}; see thalweg --help", words.join(" ").trim_start_matches("error: "))
}

fn open(input: Option<PathBuf>, window: Window) -> Result<(), Failure> {
    if let Some(input) = input.clone().filter(|input| playlist::is_playlist_file(input)) {
        return present::Present::of(input).run(window);
    }
    let file = input.clone().filter(|file| project::is_project(file));
    let opened = match &file {
        Some(file) => project::open_whole(file)?,
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
            tell(&format!("{reason}; building {DEFAULT} into ./thalweg-out instead"));
            build::Build::of_scene(DEFAULT, Path::new("thalweg-out")).run()
        }
    }
}

/// Whether Ctrl+C was pressed. The first call takes the signal over: from then on it does not end the program.
fn interrupted() -> bool {
    static PRESSED: AtomicBool = AtomicBool::new(false);
    static TAKEN_OVER: Once = Once::new();
    // Without the handler Ctrl+C ends the program at once, which leaves no half file either.
    TAKEN_OVER.call_once(|| drop(ctrlc::set_handler(|| PRESSED.store(true, Ordering::Relaxed))));
    PRESSED.load(Ordering::Relaxed)
}
