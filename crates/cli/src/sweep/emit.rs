//! Cluster jobs whose tasks are `thalweg sweep PLAN --out DIR --only K`.

use std::{env, fs, path::Path};

use super::{Failure, JobType};
use thalweg_scene::io::output;

/// Maximum number of tasks in an array: Slurm's default limit.
const MOST_TASKS: usize = 1000;

/// Writes a job into the results folder. Returns the commands that start it.
pub(super) fn write(kind: JobType, plan: &Path, out: &Path, runs: usize) -> Result<String, Failure> {
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (plan, out) = (whole(plan), whole(out));
    let program = env::current_exe().map_or_else(|_| "thalweg".to_owned(), |path| path.display().to_string());
    let quoted = |text: &str| shlex::try_quote(text).map_or_else(|_| text.to_owned(), |text| text.into_owned());
    let (program, folder) = (quoted(&program), quoted(&out.display().to_string()));
    let plan = quoted(&plan.display().to_string());
    let (name, text, start) = match kind {
        JobType::Slurm => {
            let tasks = runs.min(MOST_TASKS);
            let each = runs.div_ceil(tasks.max(1));
            let text = format!(
                "#!/bin/bash\n\
                 #SBATCH --job-name=thalweg-sweep\n\
                 #SBATCH --array=1-{tasks}\n\
                 #SBATCH --cpus-per-task=1\n\
                 #SBATCH --output=/dev/null\n\
                 # {runs} runs, {each} per task. Each task has three attempts. If runs are still missing, submit this job again.\n\
                 first=$(( (SLURM_ARRAY_TASK_ID - 1) * {each} + 1 ))\n\
                 last=$(( first + {each} - 1 ))\n\
                 [ \"$last\" -gt {runs} ] && last={runs}\n\
                 [ \"$first\" -gt {runs} ] && exit 0\n\
                 for attempt in 1 2 3; do\n    \
                 {program} sweep {plan} --out {folder} --only \"$first-$last\" --jobs 1 --yes 2>> {folder}/errors.log && exit 0\n\
                 done\n\
                 exit 1\n"
            );
            let last = quoted(&format!("{program} sweep --collect {folder} 2>> {folder}/errors.log"));
            let start = format!(
                "job=$(sbatch --parsable --requeue {folder}/sweep.sbatch)\n\
                 sbatch --dependency=afterany:$job --output=/dev/null --wrap {last}\n\
                 Errors are logged to {folder}/errors.log.\n"
            );
            ("sweep.sbatch", text, start)
        }
        JobType::Snakemake => {
            // Braces and quotes are special in a Snakefile.
            let own =
                |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('{', "{{").replace('}', "}}");
            let (program, plan) = (own(&program), own(&plan));
            let text = format!(
                "RUNS = [f\"{{number:04}}\" for number in range(1, {runs} + 1)]\n\n\
                 rule all:\n    input: \"table.csv\"\n\n\
                 rule run:\n    output: \"runs/{{run}}/report.json\"\n    threads: 1\n    retries: 2\n    \
                 shell: \"{program} sweep {plan} --out . --only {{wildcards.run}} --jobs 1\"\n\n\
                 rule collect:\n    input: expand(\"runs/{{run}}/report.json\", run=RUNS)\n    output: \"table.csv\"\n    \
                 shell: \"{program} sweep --collect .\"\n"
            );
            ("Snakefile", text, format!("snakemake --directory {folder} --snakefile {folder}/Snakefile --cores all\n"))
        }
    };
    output::replace(&out.join(name), |file| output::write(file, text))?;
    Ok(format!("Wrote {}. Start it with:\n{start}", out.join(name).display()))
}
