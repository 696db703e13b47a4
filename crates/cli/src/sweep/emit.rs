//! Cluster jobs whose tasks are `thalweg sweep DIR/plan.ron --out DIR --only K`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{Failure, JobType, PLAN};
use thalweg_scene::io::{Budget, Error, output};

/// Maximum number of tasks in an array: Slurm's default limit.
const MOST_TASKS: usize = 1000;
/// Log of the failed tasks, unless each task has a log of its own.
const ERRORS: &str = "errors.log";

/// Resources of a task, and place of its log.
#[derive(Args)]
pub(super) struct ClusterOptions {
    /// Time limit per task: minutes, H:MM:SS or D-HH:MM:SS
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "emit")]
    time: Option<TimeLimit>,
    /// Memory per task, e.g. 800M or 2G
    #[arg(long, value_name = "SIZE", requires = "emit")]
    mem: Option<Budget>,
    /// Cluster partition for the job
    #[arg(long, value_name = "NAME", value_parser = parse_partition, requires = "emit")]
    partition: Option<String>,
    /// Folder for one log per task; by default, errors of all tasks are logged to errors.log in the results folder
    #[arg(long, value_name = "DIR", requires = "emit")]
    logs: Option<PathBuf>,
}

/// Time limit as written, and in minutes.
#[derive(Clone, Debug, PartialEq)]
struct TimeLimit {
    text: String,
    minutes: u64,
}

/// Parses a time limit in a notation of Slurm.
fn parse_time(text: &str) -> Result<TimeLimit, String> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| is_number).map(u64::from)
    };
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (number(days), rest),
        None => (None, text),
    };
    let parts: Option<Vec<u64>> = rest.split(':').map(number).collect();
    // With days, hours follow; without, a single number is minutes.
    let seconds = match (days, parts.as_deref()) {
        (Some(days), Some([hours])) => Some((days * 24 + hours) * 3600),
        (Some(days), Some([hours, minutes])) => Some(((days * 24 + hours) * 60 + minutes) * 60),
        (Some(days), Some([hours, minutes, seconds])) => Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds),
        _ if text.contains('-') => None,
        (_, Some([minutes])) => Some(minutes * 60),
        (_, Some([minutes, seconds])) => Some(minutes * 60 + seconds),
        (_, Some([hours, minutes, seconds])) => Some((hours * 60 + minutes) * 60 + seconds),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| *seconds > 0);
    let limit = seconds.map(|seconds| TimeLimit { text: text.to_owned(), minutes: seconds.div_ceil(60) });
    limit.ok_or_else(|| "use a number of minutes, H:MM:SS or D-HH:MM:SS".to_owned())
}

fn parse_partition(text: &str) -> Result<String, String> {
    let is_name = |letter: char| letter.is_alphanumeric() || "_-.,".contains(letter);
    let valid = !text.is_empty() && text.chars().all(is_name);
    if valid { Ok(text.to_owned()) } else { Err("use the name of a partition, as listed by sinfo".to_owned()) }
}

/// Writes a job into the results folder. Returns the commands that start it.
pub(super) fn write(kind: JobType, options: &ClusterOptions, out: &Path, runs: usize) -> Result<String, Failure> {
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let out = whole(out);
    // Schedulers do not create the folder of the logs.
    let logs = match &options.logs {
        Some(logs) => {
            fs::create_dir_all(logs).map_err(|error| Error::unwritable(logs, &error))?;
            Some(whole(logs).display().to_string())
        }
        None => None,
    };
    let program = env::current_exe().map_or_else(|_| "thalweg".to_owned(), |path| path.display().to_string());
    let (program, folder) = (quoted(&program), quoted(&out.display().to_string()));
    let (name, text, start) = match kind {
        JobType::Slurm => slurm(options, [&program, &folder], logs.as_deref(), runs),
        JobType::Snakemake => snakemake(options, [&program, &folder], logs.as_deref(), runs),
    };
    output::replace(&out.join(name), |file| output::write(file, text))?;
    Ok(format!("Wrote {}. Start it with:\n{start}", out.join(name).display()))
}

fn quoted(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

/// Returns the file name and the text of a job array, and the commands that start it.
fn slurm(
    options: &ClusterOptions,
    [program, folder]: [&str; 2],
    logs: Option<&str>,
    runs: usize,
) -> (&'static str, String, String) {
    let tasks = runs.min(MOST_TASKS);
    let each = runs.div_ceil(tasks.max(1));
    // A percent sign starts a placeholder.
    let log = |name: &str| logs.map(|logs| quoted(&format!("{}/{name}", logs.replace('%', "%%"))));
    let mut lines = vec![
        "job-name=thalweg-sweep".to_owned(),
        format!("array=1-{tasks}"),
        "cpus-per-task=1".to_owned(),
        format!("output={}", log("%A_%a.log").as_deref().unwrap_or("/dev/null")),
    ];
    lines.extend(options.time.as_ref().map(|time| format!("time={}", time.text)));
    lines.extend(options.mem.map(|memory| format!("mem={}M", memory.megabytes())));
    lines.extend(options.partition.as_ref().map(|name| format!("partition={name}")));
    let lines: String = lines.iter().map(|line| format!("#SBATCH --{line}\n")).collect();
    let errors = if logs.is_none() { format!(" 2>> {folder}/{ERRORS}") } else { String::new() };
    let text = format!(
        "#!/bin/bash\n\
         {lines}\
         # {runs} runs, {each} per task. Each task has three attempts. If runs are still missing, submit this job again.\n\
         first=$(( (SLURM_ARRAY_TASK_ID - 1) * {each} + 1 ))\n\
         last=$(( first + {each} - 1 ))\n\
         [ \"$last\" -gt {runs} ] && last={runs}\n\
         [ \"$first\" -gt {runs} ] && exit 0\n\
         for attempt in 1 2 3; do\n    \
         {program} sweep {folder}/{PLAN} --out {folder} --only \"$first-$last\" --jobs 1 --yes{errors} && exit 0\n\
         done\n\
         exit 1\n"
    );
    let last = quoted(&format!("{program} sweep --collect {folder}{errors}"));
    let last_log = log("collect.log").unwrap_or_else(|| "/dev/null".to_owned());
    let partition = options.partition.as_ref().map_or(String::new(), |name| format!(" --partition={name}"));
    let place = logs.map_or_else(|| format!("{folder}/{ERRORS}"), quoted);
    let start = format!(
        "job=$(sbatch --parsable --requeue {folder}/sweep.sbatch)\n\
         sbatch --dependency=afterany:$job{partition} --output={last_log} --wrap {last}\n\
         Errors are logged to {place}.\n"
    );
    ("sweep.sbatch", text, start)
}

/// Returns the file name and the text of a Snakefile, and the command that starts it.
fn snakemake(
    options: &ClusterOptions,
    [program, folder]: [&str; 2],
    logs: Option<&str>,
    runs: usize,
) -> (&'static str, String, String) {
    // Braces and quotes are special in a Snakefile.
    let own = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('{', "{{").replace('}', "}}");
    let program = own(program);
    let mut resources = Vec::new();
    resources.extend(options.mem.map(|memory| format!("mem_mb={}", memory.megabytes())));
    resources.extend(options.time.as_ref().map(|time| format!("runtime={}", time.minutes)));
    resources.extend(options.partition.as_ref().map(|name| format!("slurm_partition=\"{name}\"")));
    let resources =
        if resources.is_empty() { String::new() } else { format!("    resources: {}\n", resources.join(", ")) };
    let (log, errors) = match logs {
        Some(logs) => (format!("    log: \"{}/{{run}}.log\"\n", own(logs)), " 2> {log:q}"),
        None => (String::new(), ""),
    };
    let text = format!(
        "RUNS = [f\"{{number:04}}\" for number in range(1, {runs} + 1)]\n\n\
         rule all:\n    input: \"table.csv\"\n\n\
         rule run:\n    output: \"runs/{{run}}/report.json\"\n{log}{resources}    threads: 1\n    retries: 2\n    \
         shell: \"{program} sweep {PLAN} --out . --only {{wildcards.run}} --jobs 1{errors}\"\n\n\
         rule collect:\n    input: expand(\"runs/{{run}}/report.json\", run=RUNS)\n    output: \"table.csv\"\n    \
         shell: \"{program} sweep --collect .\"\n"
    );
    ("Snakefile", text, format!("snakemake --directory {folder} --snakefile {folder}/Snakefile --cores all\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_have_the_notations_of_slurm() {
        for (text, minutes) in
            [("30", 30), ("2:30", 3), ("2:30:00", 150), ("1-12", 2160), ("1-12:05", 2165), ("0-00:01:01", 2)]
        {
            assert_eq!(parse_time(text), Ok(TimeLimit { text: text.to_owned(), minutes }), "{text}");
        }
        for text in ["", "0", "half", "1:2:3:4", "-5", "1-", "1-1:1:1:1", "+3", "99999999999"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert!(
            parse_partition("long,gpu-2").is_ok() && parse_partition("a b").is_err() && parse_partition("").is_err()
        );
    }
}
