//! `thalweg sweep`: runs a scene with many values of its parameters, here or on the nodes of a cluster, and collects what came of it.
//!
//! A folder holds the results of one plan: `plan.ron`, `runs/0001/` and so on with `report.json`, `thumbnail.png` and what was to be
//! saved, and at the end `table.csv`, `table.parquet` and `index.html`. A run whose report says that it was made by the same values is
//! finished, and is not made again.

mod emit;
mod results;
mod sheet;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::{
    Failure,
    build::{parse_export, report},
    interrupted, print,
    setup::RunOptions,
    tell,
};
use crate::{
    io::{
        Error, JobProgress,
        export::{Dimensions, Export, Subject, hillshade::hillshade},
        input,
        output::{self, Output},
        scene::{self, BUILT_IN},
        write_picture,
    },
    model::{
        origin::Options,
        session::Session,
        sweep::{Plan, Run, SEED},
    },
};

/// From so many runs on, a person is asked.
const MANY: usize = 2000;
/// Side of a thumbnail, in pixels.
const THUMBNAIL: usize = 256;
/// The copy of the plan in its folder of results, and the folder of runs.
const PLAN: &str = "plan.ron";
const RUNS: &str = "runs";
/// The report of a run.
const REPORT: &str = "report.json";

#[derive(Args)]
pub(super) struct Sweep {
    /// The plan (.ron): input, parameters and their values
    #[arg(required_unless_present = "collect")]
    plan: Option<PathBuf>,
    /// Folder of the results; finished runs in it are not made again
    #[arg(long, value_name = "DIR", required_unless_present = "collect")]
    out: Option<PathBuf>,
    /// Make one run alone, by its number from 1, or those from one number to another, as a task of a cluster does
    #[arg(long, value_name = "K|A-B", value_parser = parse_numbers, conflicts_with = "emit")]
    only: Option<(usize, usize)>,
    /// Write a job for many machines instead of running here: an array job or a Snakefile
    #[arg(long, value_enum, value_name = "KIND")]
    emit: Option<Kind>,
    /// Make table and contact sheet of the runs in a folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "out", "only", "emit"])]
    collect: Option<PathBuf>,
    /// Runs at the same time; without it, as many as there are cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Don't ask before many runs
    #[arg(long)]
    yes: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// For what many machines are asked.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An array job for Slurm
    Slurm,
    /// A Snakefile
    Snakemake,
}

fn parse_numbers(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number > 0);
    let both = match text.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(text).map(|only| (only, only)),
    };
    both.filter(|(first, last)| first <= last).ok_or_else(|| "write the number of a run from 1, or A-B".to_owned())
}

/// A plan that has been read and checked.
struct Ready {
    plan: Plan,
    text: String,
    /// The input as `scene::open` takes it.
    input: String,
    runs: usize,
    /// What all runs have in common, as text.
    common: String,
    outline: Session,
    exports: Vec<Export>,
}

impl Ready {
    /// Reads a plan and checks all of it but the values of single runs.
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path)?;
        let bad = |wrong: String| Failure::from(Error::input(path, wrong, "see docs/sweeps.md"));
        let extensions = ron::extensions::Extensions::IMPLICIT_SOME;
        let options = ron::Options::default().with_default_extension(extensions);
        let plan: Plan = options.from_str(&text).map_err(|error| bad(error.to_string()))?;
        let runs = plan.count().map_err(bad)?;
        let runs = runs.ok_or_else(|| bad("its runs cannot be counted".to_owned()))?;
        let built_in = BUILT_IN.iter().any(|(name, _)| *name == plan.input);
        let folder = path.parent().unwrap_or(Path::new(""));
        let beside = folder.join(&plan.input);
        let input = if built_in { plan.input.clone() } else { beside.display().to_string() };
        // What the input holds is part of what makes a run.
        let held = if built_in { 0 } else { hash_of(&beside)? };
        let sessions = scene::open(&input, &Options::default())?;
        if sessions.len() != 1 {
            let wrong = format!("the input \"{}\" has {} runs side by side", plan.input, sessions.len());
            return Err(Error::input(path, wrong, "a plan varies a scene with one").into());
        }
        let outline = sessions[0].outline();
        let exports = plan.save.iter().map(|text| parse_export(text)).collect::<Result<Vec<_>, _>>()?;
        let Plan { size, ticks, seed, enabled, set, save, .. } = &plan;
        let common = json!([env!("CARGO_PKG_VERSION"), plan.input, held, size, ticks, seed, enabled, set, save]);
        Ok(Self { text, input, runs, common: common.to_string(), outline, exports, plan })
    }

    fn run(&self, number: usize) -> Result<Run, Failure> {
        self.plan.run(number, &self.outline.groups()).map_err(Failure::bad_input)
    }

    /// Tells runs from each other: those with the same hash have the same results.
    fn hash(&self, run: &Run) -> String {
        format!("{:016x}", xxh3_64(format!("{}{}", self.common, json!(run.values)).as_bytes()))
    }

    /// What a run is started with, on one thread.
    fn options(&self, run: &Run) -> RunOptions {
        let Plan { size, ticks, seed, enabled, set, .. } = &self.plan;
        let own = run.values.get(SEED).and_then(|text| text.parse().ok());
        let varied = run.values.iter().filter(|(path, _)| *path != SEED);
        let set = set.iter().chain(varied).map(|(path, value)| format!("{path}={value}")).collect();
        let (size, seed) = (size.map(|side| side as usize), own.or(*seed));
        RunOptions::of_plan(&self.input, (size, seed, *ticks), enabled.clone(), set)
    }
}

/// The hash of what a file holds.
fn hash_of(path: &Path) -> Result<u64, Failure> {
    let mut hash = Xxh3Default::new();
    io::copy(&mut input::open(path)?, &mut hash)
        .map_err(|error| Failure::bad_input(format!("{}: it cannot be read ({error})", path.display())))?;
    Ok(hash.digest())
}

/// The folder of a run.
fn folder(out: &Path, number: usize) -> PathBuf {
    out.join(RUNS).join(format!("{number:04}"))
}

/// The report of a run, if it is finished.
fn finished(out: &Path, number: usize, hash: &str) -> Option<Value> {
    let text = input::text_if_there(&folder(out, number).join(REPORT)).ok()??;
    let report: Value = serde_json::from_str(&text).ok()?;
    (report["run"]["hash"] == hash).then_some(report)
}

impl Sweep {
    pub(super) fn run(&self) -> Result<(), Failure> {
        if let Some(folder) = &self.collect {
            let text = collect(folder)?;
            return print(&text);
        }
        let (Some(path), Some(out)) = (&self.plan, &self.out) else {
            return Err(Failure::bad_input("name a plan and --out DIR, or --collect DIR"));
        };
        let ready = Ready::read(path)?;
        let (first, last) = self.only.unwrap_or((1, ready.runs));
        if last > ready.runs {
            let sentence = format!("--only {last}: the plan has {} runs", ready.runs);
            return Err(Failure::bad_input(sentence));
        }
        let count = last - first + 1;
        if count > MANY && !self.yes && !asks(count)? {
            return Err(Failure::bad_input("nothing was run"));
        }
        // Every value is checked before the first run begins.
        (first..=last).try_for_each(|number| ready.run(number).map(drop))?;
        claim(out, &ready)?;
        if let Some(kind) = self.emit {
            let written = emit::write(kind, path, out, ready.runs)?;
            return print(&written);
        }
        let jobs = self.jobs.map_or_else(rayon::current_num_threads, usize::from).min(count);
        let begun = Instant::now();
        let made = self.make(&ready, out, (first, last), jobs)?;
        let skipped = count - made;
        let seconds = begun.elapsed().as_secs_f64();
        let text = if self.only.is_none() { collect(out)? } else { String::new() };
        if self.json {
            return print(&format!("{}\n", json!({"made": made, "skipped": skipped, "seconds": seconds})));
        }
        print(&format!("{made} runs made in {seconds:.1} s, {skipped} were finished before.\n{text}"))
    }

    /// Makes runs, several at once. Returns how many were made.
    fn make(&self, ready: &Ready, out: &Path, (first, last): (usize, usize), jobs: usize) -> Result<usize, Failure> {
        let (next, made) = (AtomicUsize::new(first), AtomicUsize::new(0));
        let failed: Mutex<Vec<(usize, Failure)>> = Mutex::new(Vec::new());
        let bar = if io::stderr().is_terminal() {
            ProgressBar::new((last - first + 1) as u64)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left") {
            bar.set_style(style);
        }
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number > last || interrupted() {
                    return;
                }
                match make(ready, out, number) {
                    Ok(true) => {
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(false) => {}
                    // No code panics while it holds the lock.
                    Err(failure) => drop(failed.lock().map(|mut failed| failed.push((number, failure)))),
                }
                bar.inc(1);
            }
        };
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(work);
            }
        });
        bar.finish_and_clear();
        if interrupted() {
            let sentence = "stopped by Ctrl+C; finished runs are kept, and the same command makes the others";
            return Err(Failure::while_running(sentence));
        }
        let failed = failed.into_inner().unwrap_or_default();
        let count = failed.len();
        match failed.into_iter().min_by_key(|(number, _)| *number) {
            None => Ok(made.into_inner()),
            Some((number, failure)) => {
                let others = if count > 1 { format!(" ({} others failed too)", count - 1) } else { String::new() };
                Err(Failure { sentence: format!("run {number}: {}{others}", failure.sentence), ..failure })
            }
        }
    }
}

/// Makes a run, if it is not finished. Returns whether it was made.
fn make(ready: &Ready, out: &Path, number: usize) -> Result<bool, Failure> {
    let run = ready.run(number)?;
    let hash = ready.hash(&run);
    if finished(out, number, &hash).is_some() {
        return Ok(false);
    }
    let output = Output::new(&folder(out, number)).map_err(|error| Failure::bad_input(error.to_string()))?;
    let start = ready.options(&run);
    let mut sessions = start.sessions()?;
    let begun = Instant::now();
    start.simulate(&mut sessions)?;
    let seconds = begun.elapsed().as_secs_f64();
    let session = &sessions[0];
    let subject = Subject::new(session, Dimensions::default(), &ready.exports)?;
    for export in &ready.exports {
        output.write(export.file_name(), |file| export.write(&subject, file, &JobProgress::default()))?;
    }
    output.write("thumbnail.png", |file| thumbnail(session, file))?;
    let mut report = report(session, seconds);
    report["run"] = json!({"number": number, "hash": hash, "values": run.values});
    report["files"] = output.contents()?;
    output.write(REPORT, |file| output::write(file, format!("{report:#}\n")))?;
    if interrupted() {
        return Err(Failure::stopped());
    }
    output.publish(Some(REPORT.as_ref()))?;
    Ok(true)
}

/// A small picture of the land from above.
fn thumbnail(session: &Session, file: &Path) -> Result<(), Error> {
    let terrain = &session.simulation.terrain;
    let larger = terrain.width().max(terrain.height()).max(1);
    let side = |cells: usize| (cells * THUMBNAIL / larger).clamp(1, cells.max(1));
    let size = (side(terrain.width()), side(terrain.height()));
    let (ground, sand) = (terrain.ground().resampled(size.0, size.1), terrain.sand.resampled(size.0, size.1));
    let cell = terrain.cell_size * terrain.width() as f32 / size.0 as f32;
    let progress = JobProgress::default();
    write_picture(file, size, &hillshade(&ground, &sand, cell, &session.look, &progress), &progress)
}

/// Puts the plan into its folder. One that holds results of another plan is left as it is.
fn claim(out: &Path, ready: &Ready) -> Result<(), Failure> {
    let copy = out.join(PLAN);
    match input::text_if_there(&copy)? {
        Some(text) if text == ready.text => return Ok(()),
        Some(_) => {
            let wrong =
                Error::input(out, "it holds results of another plan", "choose another folder, or remove that one");
            return Err(wrong.into());
        }
        None if out.join(RUNS).exists() => {
            let wrong = Error::input(out, "it holds runs without their plan", "choose another folder");
            return Err(wrong.into());
        }
        None => {}
    }
    fs::create_dir_all(out).map_err(|error| {
        Failure::bad_input(format!("{}: it cannot be made ({error}); choose another folder", out.display()))
    })?;
    output::replace(&copy, |file| output::write(file, &ready.text))?;
    Ok(())
}

/// Asks a person whether so many runs are meant.
fn asks(count: usize) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::bad_input(format!("the plan has {count} runs; say --yes if they are meant")));
    }
    let _ = write!(io::stderr(), "The plan has {count} runs. Make them all? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Makes table and contact sheet of a folder. Returns a sentence for each.
fn collect(out: &Path) -> Result<String, Failure> {
    if !out.join(PLAN).exists() {
        return Err(Error::input(out, "there is no plan.ron in it", "name the folder of a sweep").into());
    }
    let listed = fs::read_dir(out.join(RUNS)).into_iter().flatten().flatten();
    let mut reports: BTreeMap<usize, (String, Value)> = BTreeMap::new();
    for entry in listed {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = input::text_if_there(&entry.path().join(REPORT)).ok().flatten().unwrap_or_default();
        let Ok(report) = serde_json::from_str::<Value>(&text) else { continue };
        let Some(number) = report["run"]["number"].as_u64() else { continue };
        reports.insert(number as usize, (name, report));
    }
    if reports.is_empty() {
        return Err(Error::input(out, "no run in it is finished", "make the runs first").into());
    }
    let table = results::Table::of(&reports);
    output::replace(&out.join("table.csv"), |file| output::write(file, table.csv()))?;
    output::replace(&out.join("table.parquet"), |file| output::write(file, table.parquet(file)?))?;
    output::replace(&out.join("index.html"), |file| output::write(file, sheet::page(&table, &reports)))?;
    let last = reports.keys().last().copied().unwrap_or_default();
    let missing: Vec<String> =
        (1..=last).filter(|number| !reports.contains_key(number)).map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        tell(&format!("runs {} are missing; the same command without --collect makes them", missing.join(", ")));
    }
    Ok(format!("{}: {} runs in table.csv, table.parquet and index.html.\n", out.display(), reports.len()))
}
