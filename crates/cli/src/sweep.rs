//! `thalweg sweep`: runs a scene with varied parameters, here or on a cluster, and collects the results.
//!
//! A folder holds the results of one plan: `plan.ron`, `runs/0001/` etc. with `report.json`, `thumbnail.png` and the saved files,
//! and at the end `table.csv`, `table.parquet` and `index.html`. A run whose report has the same hash is complete and is skipped.

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
use serde_json::{Value, json};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::{
    Failure,
    build::{parse_export, report},
    computer::Computer,
    is_interrupted, print, print_message,
    setup::{RunOptions, print_warnings, progress_bar},
};
use thalweg_scene::{
    io::{
        Budget, Error, JobProgress,
        export::{Dimensions, Export, ExportSubject, hillshade},
        input,
        output::{self, OutputSet},
        scene::BUILT_IN,
        write_png_rgb8,
    },
    model::{
        session::Session,
        sweep::{Plan, PlannedRun, SEED},
    },
};
use thalweg_sim::{
    params::{self, join_with_suggestion},
    process::masked::masked_key,
};

/// Number of runs above which the program asks for confirmation.
const MANY: usize = 2000;
/// Maximum number of missing runs that are listed.
const NAMED: usize = 20;
/// Side of a thumbnail, in pixels.
const THUMBNAIL: usize = 256;
/// Copy of the plan in the results folder, and the folder of runs.
const PLAN: &str = "plan.ron";
const RUNS: &str = "runs";
/// Report of a run.
const REPORT: &str = "report.json";

#[derive(Args)]
pub(super) struct SweepArgs {
    /// Plan (.ron): input, parameters and their values
    #[arg(required_unless_present = "collect")]
    plan: Option<PathBuf>,
    /// Results folder; completed runs in it are skipped
    #[arg(long, value_name = "DIR", required_unless_present = "collect")]
    out: Option<PathBuf>,
    /// Execute only run number K, or numbers A to B (from 1); used by cluster tasks
    #[arg(long, value_name = "K|A-B", value_parser = parse_numbers, conflicts_with = "emit")]
    only: Option<(usize, usize)>,
    /// Write a job for a cluster instead of running: a Slurm job array or a Snakefile
    #[arg(long, value_enum, value_name = "KIND")]
    emit: Option<JobType>,
    #[command(flatten)]
    cluster: emit::ClusterOptions,
    /// Collect the completed runs of a results folder into a table and a page
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "out", "only", "emit"])]
    collect: Option<PathBuf>,
    /// Number of concurrent runs; by default the number of cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Start without asking for confirmation, even for many runs
    #[arg(long)]
    yes: bool,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

/// Type of job.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobType {
    /// Slurm job array
    Slurm,
    /// Snakefile
    Snakemake,
}

fn parse_numbers(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number > 0);
    let both = match text.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(text).map(|only| (only, only)),
    };
    both.filter(|(first, last)| first <= last).ok_or_else(|| "use a run number from 1, or a range A-B".to_owned())
}

/// Validated plan.
struct ValidatedPlan {
    plan: Plan,
    text: String,
    /// Input as for `scene::open`.
    input: PathBuf,
    runs: usize,
    /// Everything the runs have in common, as text.
    common: String,
    outline: Session,
    exports: Vec<Export>,
}

impl ValidatedPlan {
    /// Reads a plan and validates everything except the values of single runs.
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path)?;
        let (plan, runs) = parse(path, &text)?;
        let built_in = is_built_in(&plan.input);
        let beside = path.parent().unwrap_or(Path::new("")).join(&plan.input);
        if !built_in && !beside.exists() {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            let wrong = format!("the input \"{}\" is neither a file next to the plan nor a built-in scene", plan.input);
            return Err(Error::input(
                path,
                wrong,
                format!("the scenes are {}", join_with_suggestion(&names, &plan.input)),
            )
            .into());
        }
        let input = if built_in { PathBuf::from(&plan.input) } else { beside.clone() };
        let start = options(&input, &plan, None, plan.set.iter());
        if start.resumes() && plan.ticks.is_none() {
            let wrong = "the input is a project, which has no default number of ticks";
            return Err(Error::input(path, wrong, "add a number of ticks, e.g. ticks: 200").into());
        }
        let sessions = start.sessions().map_err(|failure| with_plan_path(path, failure))?;
        print_warnings(&sessions);
        if sessions.len() != 1 {
            let wrong = format!("the input \"{}\" has {} simulations side by side", plan.input, sessions.len());
            return Err(Error::input(path, wrong, "use an input with a single simulation").into());
        }
        // The contents of the input determine the results too: its file, and the files it refers to.
        let terrain = &sessions[0].simulation.terrain;
        let mut held: Vec<String> = terrain.layers().map(|(_, grid)| output::hash_of(grid)).collect();
        held.push(terrain.cell_size.to_string());
        let mut name = plan.input.clone();
        if !built_in {
            held.push(hash_of(&beside)?);
            // The copy of the plan names the input by another path.
            name = beside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        let outline = sessions[0].outline();
        let exports = plan.save.iter().map(|text| parse_export(text)).collect::<Result<Vec<_>, _>>()?;
        let plan = located(plan, path);
        let Plan { size, ticks, seed, enabled, set, save, .. } = &plan;
        let common = json!([env!("CARGO_PKG_VERSION"), name, held, size, ticks, seed, enabled, set, save]);
        Ok(Self { text, input, runs, common: common.to_string(), outline, exports, plan })
    }

    /// Returns a warning for each parameter of the plan that has no effect.
    fn warnings(&self) -> Vec<String> {
        let groups = self.outline.groups();
        let warning = |path: &String| {
            let group = path.split('.').next().unwrap_or_default();
            let process =
                self.outline.simulation.slots.iter().find(|slot| [slot.key(), masked_key(slot.key())].contains(&group));
            if let Some(slot) = process.filter(|slot| !slot.enabled) {
                let right = format!("add \"{}\" to `enabled`", slot.key());
                return Some(format!("{path} has no effect, because its process is disabled; {right}"));
            }
            let knob = params::get(&groups, path).ok()?.knob;
            let is_varied = knob.conditions().any(|(name, _)| self.plan.vary.contains_key(&format!("{group}.{name}")));
            self.outline.warn_of_no_effect(path).filter(|_| !is_varied)
        };
        self.plan.vary.keys().chain(self.plan.set.keys()).filter_map(warning).collect()
    }

    fn run(&self, number: usize) -> Result<PlannedRun, Failure> {
        self.plan.run(number, &self.outline.groups()).map_err(Failure::bad_input)
    }

    /// Returns the hash of a run. Runs with the same hash have the same results.
    fn hash(&self, run: &PlannedRun) -> String {
        format!("{:016x}", xxh3_64(format!("{}{}", self.common, json!(run.values)).as_bytes()))
    }

    /// Returns the options of a run, on one thread.
    fn options(&self, run: &PlannedRun) -> RunOptions {
        let seed = run.values.get(SEED).and_then(|text| text.parse().ok());
        options(&self.input, &self.plan, seed, self.plan.set.iter().chain(varied(run)))
    }

    /// Validates the values of a run. Returns its memory use, in bytes.
    fn check(&self, number: usize) -> Result<u64, Failure> {
        let run = self.run(number)?;
        let mut outline = self.outline.clone();
        outline.set_all(varied(&run).map(|(path, value)| (&**path, &**value)))?;
        Ok(outline.bytes() + ExportSubject::bytes(&outline, Dimensions::default(), &self.exports))
    }
}

fn is_built_in(input: &str) -> bool {
    BUILT_IN.iter().any(|(name, _)| *name == input)
}

/// Returns a plan from the file `path` with the absolute path of its input.
fn located(plan: Plan, path: &Path) -> Plan {
    if is_built_in(&plan.input) {
        return plan;
    }
    let beside = path.parent().unwrap_or(Path::new("")).join(&plan.input);
    let whole = std::path::absolute(&beside).unwrap_or(beside);
    Plan { input: whole.to_string_lossy().into_owned(), ..plan }
}

/// Returns the varied parameters of a run with their values.
fn varied(run: &PlannedRun) -> impl Iterator<Item = (&String, &String)> + Clone {
    run.values.iter().filter(|(path, _)| *path != SEED)
}

/// Returns the options of a run of a plan. `seed` overrides that of the plan.
fn options<'a>(
    input: &Path,
    plan: &Plan,
    seed: Option<u64>,
    set: impl Iterator<Item = (&'a String, &'a String)>,
) -> RunOptions {
    let set = set.map(|(path, value)| format!("{path}={value}")).collect();
    let size = plan.size.map(|side| side as usize);
    RunOptions::of_plan(input, (size, seed.or(plan.seed), plan.ticks), plan.enabled.clone(), set)
}

/// Prefixes a failure with the path of the plan.
fn with_plan_path(path: &Path, failure: Failure) -> Failure {
    Failure { sentence: format!("{}: {}", path.display(), failure.sentence), ..failure }
}

/// Parses a plan. Returns it with its number of runs.
fn parse(path: &Path, text: &str) -> Result<(Plan, usize), Failure> {
    let bad = |wrong: String| Failure::from(Error::input(path, wrong, "see docs/sweeps.md"));
    let plan: Plan = input::parse(text, 0).map_err(bad)?;
    let runs = plan.count().map_err(bad)?.ok_or_else(|| bad("the number of runs is too large".to_owned()))?;
    Ok((plan, runs))
}

/// Returns the hash of the contents of a file.
fn hash_of(path: &Path) -> Result<String, Failure> {
    let mut hash = Xxh3Default::new();
    io::copy(&mut input::open(path)?, &mut hash)
        .map_err(|error| Failure::bad_input(format!("{}: cannot be read ({error})", path.display())))?;
    Ok(format!("{:016x}", hash.digest()))
}

/// Returns the folder of a run.
fn folder(out: &Path, number: usize) -> PathBuf {
    out.join(RUNS).join(format!("{number:04}"))
}

/// Returns the report of a run, if it is complete.
fn finished(out: &Path, number: usize, hash: &str) -> Option<Value> {
    let text = input::read_text_if_exists(&folder(out, number).join(REPORT)).ok()??;
    let report: Value = serde_json::from_str(&text).ok()?;
    (report["run"]["hash"] == hash).then_some(report)
}

impl SweepArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        if let Some(folder) = &self.collect {
            let (text, counts) = collect(folder)?;
            return print(&if self.json { format!("{counts}\n") } else { text });
        }
        let (Some(path), Some(out)) = (&self.plan, &self.out) else {
            return Err(Failure::bad_input("specify a plan and --out DIR, or --collect DIR"));
        };
        let ready = ValidatedPlan::read(path)?;
        let (first, last) = self.only.unwrap_or((1, ready.runs));
        if last > ready.runs {
            let sentence = format!("--only {last} is out of range: the plan has {} runs", ready.runs);
            return Err(Failure::bad_input(sentence));
        }
        let count = last - first + 1;
        if count > MANY && !self.yes && !confirm(count)? {
            return Err(Failure::bad_input("cancelled; no run was started"));
        }
        // All values are validated before the first run starts.
        let mut bytes = 0;
        for number in first..=last {
            bytes = ready.check(number).map_err(|failure| with_plan_path(path, failure))?.max(bytes);
        }
        if self.only.is_none() {
            let warnings = ready.warnings();
            warnings.iter().for_each(|text| print_message(&format!("warning: {}: {text}", path.display())));
        }
        claim(out, &ready)?;
        if let Some(kind) = self.emit {
            let written = emit::write(kind, &self.cluster, out, ready.runs)?;
            return print(&written);
        }
        let wanted = self.jobs.map_or_else(rayon::current_num_threads, usize::from).min(count);
        let jobs = wanted.min(Budget::present().times(bytes).max(1));
        if jobs < wanted {
            print_message(&format!(
                "{jobs} concurrent runs instead of {wanted}: each needs {} of memory",
                Budget::of(bytes)
            ));
        }
        let begun = Instant::now();
        let made = self.make(&ready, out, (first, last), jobs)?;
        let skipped = count - made;
        let seconds = begun.elapsed().as_secs_f64();
        let text = if self.only.is_none() { collect(out)?.0 } else { String::new() };
        if self.json {
            return print(&format!("{}\n", json!({"made": made, "skipped": skipped, "seconds": seconds})));
        }
        print(&format!("{made} runs completed in {seconds:.1} s, {skipped} were already complete.\n{text}"))
    }

    /// Executes runs concurrently. Returns the number of executed runs.
    fn make(
        &self,
        ready: &ValidatedPlan,
        out: &Path,
        (first, last): (usize, usize),
        jobs: usize,
    ) -> Result<usize, Failure> {
        let (next, made) = (AtomicUsize::new(first), AtomicUsize::new(0));
        let failed: Mutex<Vec<(usize, Failure)>> = Mutex::new(Vec::new());
        let bar = progress_bar((last - first + 1) as u64, "{bar:40} {pos}/{len} runs, {eta} left");
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number > last || is_interrupted() {
                    return;
                }
                match make(ready, out, number) {
                    Ok(true) => {
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(false) => {}
                    // No code panics while holding the lock.
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
        if is_interrupted() {
            let sentence = "interrupted by Ctrl+C; completed runs are kept, and the same command resumes the sweep";
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

/// Executes a run unless it is complete. Returns `true` if it was executed.
fn make(ready: &ValidatedPlan, out: &Path, number: usize) -> Result<bool, Failure> {
    let run = ready.run(number)?;
    let hash = ready.hash(&run);
    if finished(out, number, &hash).is_some() {
        return Ok(false);
    }
    let output = OutputSet::new(&folder(out, number)).map_err(|error| Failure::bad_input(error.to_string()))?;
    let start = ready.options(&run);
    let mut sessions = start.sessions()?;
    let begun = Instant::now();
    start.simulate(&mut sessions, &mut Computer::default(), None)?;
    let seconds = begun.elapsed().as_secs_f64();
    let session = &sessions[0];
    let subject = ExportSubject::new(session, Dimensions::default(), &ready.exports)?;
    for export in &ready.exports {
        output.write(export.file_name(), |file| export.write(&subject, file, &JobProgress::default()))?;
    }
    output.write("thumbnail.png", |file| thumbnail(session, file))?;
    let mut report = report(session, seconds);
    report["run"] = json!({"number": number, "hash": hash, "values": run.values});
    report["files"] = output.contents()?;
    output.write(REPORT, |file| output::write(file, format!("{report:#}\n")))?;
    if is_interrupted() {
        return Err(Failure::stopped());
    }
    output.publish(Some(REPORT.as_ref()))?;
    Ok(true)
}

/// Writes a top-view thumbnail of the terrain.
fn thumbnail(session: &Session, file: &Path) -> Result<(), Error> {
    let terrain = &session.simulation.terrain;
    let (ground, sand) = (terrain.ground(), &terrain.sand);
    let (size, pixels) = hillshade::thumbnail(&ground, sand, None, terrain.cell_size, &session.look, THUMBNAIL);
    write_png_rgb8(file, size, &pixels, &JobProgress::default())
}

/// Copies the plan into the results folder, with the absolute path of its input. Fails if the folder belongs to another plan.
fn claim(out: &Path, ready: &ValidatedPlan) -> Result<(), Failure> {
    let copy = out.join(PLAN);
    // The order matters: a concurrent process writes its plan before its first run.
    if out.join(RUNS).exists() && !copy.exists() {
        return Err(Error::input(out, "it contains runs but no plan.ron", "choose another folder").into());
    }
    let text = if is_built_in(&ready.plan.input) {
        ready.text.clone()
    } else {
        let text = ron::ser::to_string_pretty(&ready.plan, ron::ser::PrettyConfig::new());
        text.map_err(|error| Error::unwritable(&copy, &error))? + "\n"
    };
    let new = output::write_new(&copy, text).map_err(|error| Failure::bad_input(error.to_string()))?;
    let is_same = || {
        Ok::<_, Failure>(parse(&copy, &input::text(&copy)?).is_ok_and(|(plan, _)| located(plan, &copy) == ready.plan))
    };
    if !new && !is_same()? {
        let right = "choose another folder, or delete this one";
        return Err(Error::input(out, "it contains results of another plan", right).into());
    }
    Ok(())
}

/// Asks the user to confirm the number of runs.
fn confirm(count: usize) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::bad_input(format!("the plan has {count} runs; add --yes to run them all")));
    }
    let _ = write!(io::stderr(), "The plan has {count} runs. Run them all? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Collects a results folder into a table and a page. Returns a message and a JSON summary.
fn collect(out: &Path) -> Result<(String, Value), Failure> {
    let copy = out.join(PLAN);
    let Some(text) = input::read_text_if_exists(&copy)? else {
        return Err(Error::input(out, "it contains no plan.ron", "specify the results folder of a sweep").into());
    };
    let (_, runs) = parse(&copy, &text)?;
    let listed = fs::read_dir(out.join(RUNS)).into_iter().flatten().flatten();
    let mut reports: BTreeMap<usize, (String, Value)> = BTreeMap::new();
    for entry in listed {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = input::read_text_if_exists(&entry.path().join(REPORT)).ok().flatten().unwrap_or_default();
        let Ok(report) = serde_json::from_str::<Value>(&text) else { continue };
        let Some(number) = report["run"]["number"].as_u64() else { continue };
        reports.insert(number as usize, (name, report));
    }
    if reports.is_empty() {
        return Err(Error::input(out, "it contains no completed run", "run the sweep first").into());
    }
    let table = results::ResultTable::of(&reports);
    output::replace(&out.join("table.csv"), |file| output::write(file, table.csv()))?;
    output::replace(&out.join("table.parquet"), |file| output::write(file, table.parquet(file)?))?;
    output::replace(&out.join("index.html"), |file| output::write(file, sheet::page(&table, &reports)))?;
    let missing = || (1..=runs).filter(|number| !reports.contains_key(number));
    let count = missing().count();
    if count > 0 {
        let numbers: Vec<String> = missing().take(NAMED).map(|number| number.to_string()).collect();
        let (numbers, more) = (numbers.join(", "), if count > NAMED { " …" } else { "" });
        let right = format!("complete them with thalweg sweep {} --out {}", copy.display(), out.display());
        print_message(&format!("{count} of {runs} runs are missing ({numbers}{more}); {right}"));
    }
    let text = format!("{}: {} runs in table.csv, table.parquet and index.html.\n", out.display(), reports.len());
    Ok((text, json!({"collected": reports.len(), "missing": count})))
}
