//! Command-line options that select the input, the parameters and the duration of a simulation.

use std::{
    panic::resume_unwind,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::{Arg, ArgMatches, Args, FromArgMatches, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;

use super::{Failure, computer::Computer, is_interrupted, log::RunLog, print_message};
use thalweg_scene::{
    io::{
        Budget, JobProgress, heightmap, project,
        scene::{self, DEFAULT},
    },
    model::{
        origin::{Encoding, Options, RawCells},
        session::Session,
    },
};
use thalweg_sim::{
    core::{bounds::SIDES, terrain::Layer},
    params::join_with_suggestion,
    simulation::grow::GrowthEnd,
};

/// Time after which reading shows its progress.
const SLOW_READ: Duration = Duration::from_secs(1);
/// Interval between checks of a reader.
const POLLING_INTERVAL: Duration = Duration::from_millis(5);

/// Input, parameters and duration of a simulation.
#[derive(Args, Default)]
pub(super) struct RunOptions {
    /// Built-in scene, scene file (.ron), project (.thalweg) or heightmap (.tif, .exr, .png, .r16, .asc, .hgt …)
    input: Option<PathBuf>,
    /// Number of ticks; by default that of the scene. For a video, A..B gives its first and last tick
    #[arg(long, value_name = "N|A..B", value_parser = parse_ticks)]
    ticks: Option<TickArguments>,
    /// First grow a mountain range of age range.age from the uplift map; without --ticks, no ticks run afterwards
    #[arg(long)]
    grow: bool,
    /// Seed of terrain and processes
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    reading: InputOptions,
    /// Set a parameter; can be repeated
    #[arg(long = "set", value_name = "GROUP.PARAM=VALUE")]
    set: Vec<String>,
    /// Processes to enable; all others are disabled
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    enable: Vec<String>,
    /// Processes to disable
    #[arg(long, value_name = "C", value_delimiter = ',')]
    disable: Vec<String>,
    /// Thickness of the initial sand layer, in metres
    #[arg(long, value_name = "M")]
    sand: Option<f32>,
    #[command(flatten)]
    maps: LayerMaps,
    /// Number of threads; does not affect the results
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// `true` to hide the progress bar and warnings.
    #[arg(skip)]
    quiet: bool,
}

/// Number of ticks; for videos, first and last tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickArguments {
    pub from: Option<u64>,
    pub to: u64,
}

fn parse_ticks(text: &str) -> Result<TickArguments, String> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let found = match text.split_once("..") {
        Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| TickArguments { from: Some(from), to }),
        None => number(text).map(|to| TickArguments { from: None, to }),
    };
    let right = "use a number of ticks, or A..B for a video";
    found.filter(|ticks| ticks.from.is_none_or(|from| from <= ticks.to)).ok_or_else(|| right.to_owned())
}

/// Options for reading the input.
#[derive(Args, Clone, Default)]
pub(super) struct InputOptions {
    /// Number of cells to resample to, N or WxH; for raw input without a sidecar, its number of cells
    #[arg(long, value_name = "N|WxH", value_parser = parse_size)]
    size: Option<(usize, usize)>,
    /// Side length of a cell, in metres
    #[arg(long, value_name = "M", value_parser = parse_length)]
    cell_size: Option<f32>,
    /// Elevation of the minimum value of an integer format, or of 0 in floats from 0 to 1, in metres
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    min_height: Option<f32>,
    /// Elevation of the maximum value of an integer format, or of 1 in floats from 0 to 1, in metres
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    max_height: Option<f32>,
    /// Band of a TIFF or raw file, from 1, or channel of an EXR that holds the heights
    #[arg(long, value_name = "N|NAME")]
    channel: Option<String>,
    /// Type and byte order of the cells of a raw file: u8, u16, i16, u32, i32, f32 or f64, followed by le or be
    #[arg(long, value_name = "TYPE", value_parser = RawCells::from_str)]
    raw_cells: Option<RawCells>,
    /// Encoding of heights in the colours of an image
    #[arg(long, value_name = "NAME", value_enum)]
    encoding: Option<ColourEncoding>,
    /// Remove the terraces of quantised heights; no height changes by more than half a step
    #[arg(long)]
    smooth_steps: bool,
}

/// Encoding of heights in colours, by its name on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum ColourEncoding {
    /// Luminance
    Grey,
    /// Terrarium
    Terrarium,
    /// Mapbox Terrain-RGB
    Mapbox,
}

impl InputOptions {
    /// Validates the options for an input. A project has its own size and heights.
    pub(super) fn options(&self, input: &Path) -> Result<Options, Failure> {
        let Self { size, cell_size, min_height, max_height, channel, raw_cells, encoding, smooth_steps } = self.clone();
        let encoding = encoding.map(|encoding| match encoding {
            ColourEncoding::Grey => Encoding::Grey,
            ColourEncoding::Terrarium => Encoding::Terrarium,
            ColourEncoding::Mapbox => Encoding::Mapbox,
        });
        let (min_m, max_m, raw) = (min_height, max_height, raw_cells);
        let options = Options { size, cell_size, min_m, max_m, channel, raw, encoding, smooth_steps };
        options.check_numbers().map_err(|unfit| Failure::bad_input(unfit.to_string()))?;
        if project::is_project(input) && options != Options::default() {
            let sentence = "a project has its own size and heights; omit --size, --cell-size, --min-height and \
                --max-height";
            return Err(Failure::bad_input(sentence));
        }
        if size.is_some_and(|(width, height)| !SIDES.contains(&width) || !SIDES.contains(&height)) {
            let (least, most) = (SIDES.start(), SIDES.end());
            return Err(Failure::bad_input(format!("--size is out of range: use {least} to {most} cells per side")));
        }
        Ok(options)
    }
}

/// Layer maps, with one option for each importable layer.
#[derive(Default)]
struct LayerMaps(Vec<(Layer, PathBuf)>);

impl LayerMaps {
    /// Returns the importable layers with option name and help text.
    fn options() -> impl Iterator<Item = (Layer, &'static str, &'static str)> {
        Layer::imports().filter_map(|(layer, import)| import.option.map(|(name, help)| (layer, name, help)))
    }
}

impl FromArgMatches for LayerMaps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |(layer, name, _)| Some((layer, matches.get_one::<PathBuf>(name)?.clone()));
        Ok(Self(Self::options().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LayerMaps {
    fn augment_args(command: clap::Command) -> clap::Command {
        Self::options().fold(command, |command, (_, name, help)| {
            command
                .arg(Arg::new(name).long(name).help(help).value_name("FILE").value_parser(clap::value_parser!(PathBuf)))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl RunOptions {
    pub(super) fn of_scene(name: &str) -> Self {
        Self { input: Some(name.into()), ..Self::default() }
    }

    /// Creates the options of a sweep run, on one thread and without a progress bar: side in cells, seed, ticks, and parameters as
    /// for `--set`.
    pub(super) fn of_plan(
        input: &Path,
        (size, seed, ticks): (Option<usize>, Option<u64>, Option<u64>),
        enable: Vec<String>,
        set: Vec<String>,
    ) -> Self {
        let reading = InputOptions { size: size.map(|side| (side, side)), ..InputOptions::default() };
        Self {
            input: Some(input.to_owned()),
            ticks: ticks.map(|to| TickArguments { from: None, to }),
            seed,
            reading,
            set,
            enable,
            threads: Some(1),
            quiet: true,
            ..Self::default()
        }
    }

    /// Opens the input and applies all options to each of its simulations.
    pub(super) fn sessions(&self) -> Result<Vec<Session>, Failure> {
        let input = self.input.as_deref().unwrap_or(Path::new(DEFAULT));
        let options = self.reading.options(input)?;
        let threads = self.threads.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Failure::while_running(format!("threads could not be started: {error}")))?;
        let pool = Arc::new(pool);
        let sessions = self.open(input, &options)?;
        let first = sessions.first().map(|session| session.simulation.seed()).unwrap_or_default();
        let start = |mut session: Session| {
            // Side-by-side simulations keep the offsets of their seeds.
            let own = session.simulation.seed();
            self.apply(&mut session, self.seed.map_or(own, |seed| seed.wrapping_add(own.wrapping_sub(first))))?;
            session.simulation = session.simulation.with_pool(Arc::clone(&pool));
            Ok(session)
        };
        let sessions = sessions.into_iter().map(start).collect::<Result<Vec<_>, Failure>>()?;
        // Processes have not allocated their memory yet.
        Budget::present().request(input, sessions.iter().map(Session::additional_bytes).sum())?;
        if !self.quiet {
            print_warnings(&sessions);
        }
        Ok(sessions)
    }

    /// Prints warnings about results, unless they are hidden.
    pub(super) fn warn(&self, warnings: &[&str]) {
        if !self.quiet {
            warnings.iter().for_each(|warning| print_message(&format!("warning: {warning}")));
        }
    }

    /// Opens the input, with a progress bar if it takes long. Ctrl+C cancels.
    fn open(&self, input: &Path, options: &Options) -> Result<Vec<Session>, Failure> {
        let progress = JobProgress::default();
        if self.quiet {
            return Ok(scene::open(input, options)?);
        }
        thread::scope(|scope| {
            let reader = scope.spawn(|| progress.observe(|| scene::open(input, options)));
            let (begun, mut bar) = (Instant::now(), None);
            while !reader.is_finished() {
                thread::sleep(POLLING_INTERVAL);
                if is_interrupted() {
                    progress.cancel();
                }
                if begun.elapsed() > SLOW_READ {
                    let bar = bar.get_or_insert_with(|| progress_bar(1000, "{bar:40} reading, {eta} left"));
                    bar.set_position((1000.0 * progress.share()) as u64);
                }
            }
            bar.iter().for_each(ProgressBar::finish_and_clear);
            let opened = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
            if progress.is_cancelled() { Err(Failure::stopped()) } else { Ok(opened?) }
        })
    }

    /// Returns the value of `--ticks`.
    pub(super) fn asked_ticks(&self) -> Option<TickArguments> {
        self.ticks
    }

    /// Returns `true` if the input is a project, which continues from its saved state.
    pub(super) fn resumes(&self) -> bool {
        self.project().is_some()
    }

    /// Returns the path of the input if it is a project.
    pub(super) fn project(&self) -> Option<&Path> {
        self.input.as_deref().filter(|input| project::is_project(input))
    }

    fn apply(&self, session: &mut Session, seed: u64) -> Result<(), Failure> {
        session.record_sculpted_start();
        let split = |assignment: &String| {
            let without = || Failure::bad_input(format!("--set {assignment} has no value; use group.param=VALUE"));
            assignment
                .split_once('=')
                .ok_or_else(without)
                .map(|(path, value)| (path.trim().to_owned(), value.to_owned()))
        };
        let assignments = self.set.iter().map(split).collect::<Result<Vec<_>, _>>()?;
        session.set_all(assignments.iter().map(|(path, value)| (&**path, &**value)))?;
        if let Some(sand) = self.sand {
            session.set("terrain.sand", &sand.to_string())?;
        }
        let known: Vec<&str> = session.simulation.slots.iter().map(|slot| slot.key()).collect();
        if let Some(unknown) = self.enable.iter().chain(&self.disable).find(|key| !known.contains(&key.as_str())) {
            let known = join_with_suggestion(&known, unknown);
            return Err(Failure::bad_input(format!("there is no process \"{unknown}\"; the processes are {known}")));
        }
        if !self.enable.is_empty() {
            session.enable(&self.enable.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for key in &self.disable {
            if let Some(slot) = session.simulation.slot_mut(key) {
                slot.enabled = false;
            }
        }
        for (layer, file) in &self.maps.0 {
            heightmap::load_map(session, *layer, file)?;
        }
        // A project continues from its saved state, unless an option changes its start.
        let restarts =
            self.seed.is_some() || self.sand.is_some() || self.set.iter().any(|set| set.starts_with("terrain."));
        if restarts || !self.maps.0.is_empty() || !self.resumes() {
            Budget::present().request(Path::new(&session.name), session.additional_bytes())?;
            session.restart(seed);
        }
        if !self.enable.is_empty() {
            let range = session.range.clone();
            session.simulation.tune_default_uplift(&range);
        }
        if !self.quiet {
            let ineffective: Vec<_> =
                assignments.iter().filter_map(|(path, _)| session.warn_of_no_effect(path)).collect();
            session.warnings.extend(ineffective);
        }
        Ok(())
    }

    /// Grows a mountain range in each session, if `--grow` is set.
    pub(super) fn grow(&self, sessions: &mut [Session]) -> Result<(), Failure> {
        if self.grow { sessions.iter_mut().try_for_each(grow) } else { Ok(()) }
    }

    /// Runs sessions for their ticks, with a progress bar if standard error is a terminal. A log gets a row for the start and for
    /// every tick. Ctrl+C cancels.
    pub(super) fn simulate(
        &self,
        sessions: &mut [Session],
        computer: &mut Computer,
        mut log: Option<&mut RunLog>,
    ) -> Result<(), Failure> {
        if self.ticks.is_some_and(|ticks| ticks.from.is_some()) {
            return Err(Failure::bad_input("--ticks A..B is for videos; use a single number"));
        }
        self.grow(sessions)?;
        let asked = self.ticks.map(|ticks| ticks.to);
        let ticks = asked.unwrap_or_else(|| sessions.iter().map(|session| session.ticks).max().unwrap_or_default());
        // Without --ticks, neither a project nor a grown range runs any ticks.
        let ticks = if self.resumes() || self.grow { asked.unwrap_or(0) } else { ticks };
        let bar = progress_bar(ticks, "{bar:40} {pos}/{len} ticks, {eta} left");
        if self.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let batch = computer.batch(log.is_some());
        let mut record = |sessions: &[Session]| log.as_mut().map_or(Ok(()), |log| log.record(sessions));
        record(sessions)?;
        let run = (0..ticks).step_by(batch as usize).try_for_each(|done| {
            let part = batch.min(ticks - done);
            computer.run(sessions, part)?;
            record(sessions)?;
            bar.inc(part);
            if is_interrupted() { Err(Failure::stopped()) } else { Ok(()) }
        });
        let end = if run.is_ok() { ProgressBar::finish_and_clear } else { ProgressBar::abandon };
        end(&bar);
        run
    }
}

/// Reports the warnings about the input without duplicates.
pub(super) fn print_warnings(sessions: &[Session]) {
    let mut warnings: Vec<&String> = sessions.iter().flat_map(|session| &session.warnings).collect();
    warnings.dedup();
    warnings.into_iter().for_each(|warning| print_message(&format!("warning: {warning}")));
}

/// Returns a progress bar of this length, hidden if standard error is not a terminal.
pub(super) fn progress_bar(length: u64, template: &str) -> ProgressBar {
    ProgressBar::new(length).with_style(ProgressStyle::with_template(template).expect("the template is valid"))
}

/// Grows a mountain range, with a progress bar if standard error is a terminal.
fn grow(session: &mut Session) -> Result<(), Failure> {
    let bar = progress_bar(1000, "{bar:40} growing a mountain range, {eta} left");
    Budget::present().request(Path::new(&session.name), session.bytes_to_grow())?;
    let grown = session.grow(|growth| {
        bar.set_position((1000.0 * growth.share) as u64);
        !is_interrupted()
    });
    bar.finish_and_clear();
    match grown {
        Ok(GrowthEnd::Grown) => Ok(()),
        Ok(GrowthEnd::StillRising) => {
            print_message(&format!(
                "warning: {}: the mountain range has not reached steady state: uplift still exceeds erosion",
                session.name
            ));
            Ok(())
        }
        Ok(GrowthEnd::OffTarget) => {
            print_message(&format!(
                "warning: {}: uplift and erosion do not balance at the requested relief, so the relief of the range will \
                 change",
                session.name
            ));
            Ok(())
        }
        Ok(GrowthEnd::Cancelled) => Err(Failure::stopped()),
        Err(unfit) => Err(Failure::bad_input(unfit.to_string())),
    }
}

/// Runs one tick of every session in parallel.
pub(super) fn tick(sessions: &mut [Session]) -> Result<(), Failure> {
    sessions.par_iter_mut().for_each(|session| session.simulation.tick());
    check_faults(sessions)
}

/// Checks that no session has stopped because of a fault.
pub(super) fn check_faults(sessions: &[Session]) -> Result<(), Failure> {
    let broken = |fault| Failure::while_running(format!("{fault}; nothing was written"));
    sessions.iter().find_map(|session| session.simulation.fault()).map_or(Ok(()), |fault| Err(broken(fault)))
}

pub(super) fn parse_size(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| "use N or WxH, e.g. 512 or 512x256");
    match text.split_once(['x', 'X', '×']) {
        Some((width, height)) => Ok((number(width)?, number(height)?)),
        None => number(text).map(|side| (side, side)).map_err(str::to_owned),
    }
}

pub(super) fn parse_blur(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|percent| (0.0..=10.0).contains(percent)).ok_or("use 0 to 10 percent".into())
}

pub(super) fn parse_length(text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|length: &f32| length.is_finite() && *length > 0.0)
        .ok_or("use a length in metres, greater than 0".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::io::scene::open_first;

    #[test]
    fn failed_simulation_ends_with_one_sentence() {
        let mut session = open_first("round-hill", &Options::default()).expect("built in");
        session.simulation.terrain.bedrock[1000] = f32::NAN;
        let start = RunOptions { ticks: Some(TickArguments { from: None, to: 3 }), ..RunOptions::default() };
        let failure = start
            .simulate(std::slice::from_mut(&mut session), &mut Computer::default(), None)
            .expect_err("the run breaks");
        assert_eq!(failure.code, 1);
        for words in ["Droplets failed in tick ", ": the bedrock of the cell in column ", "nothing was written"] {
            assert!(failure.sentence.contains(words), "{}", failure.sentence);
        }
    }
}
