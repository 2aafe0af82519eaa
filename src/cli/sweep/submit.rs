//! `warpshard sweep submit`: submits slices of a plan as tasks of a batch system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpshard_config::input;
use warpshard_report::frame::NoParquet;
use warpshard_report::text::count_with_noun;
use warpshard_run::Exit;
use warpshard_sweep::submit::{SubmittedSweep, slices};
use warpshard_sweep::{Plan, PreparedSweep, default_folder};

use super::super::args::{BatchSystem, SubmitArgs};
use super::super::failure::Failure;
use super::super::output;

/// Checks the plan, writes the scripts, and submits them.
///
/// # Errors
/// Fails if the plan is invalid, the scripts cannot be written, or the batch system rejects them.
pub(super) fn submit(args: &SubmitArgs) -> Result<Exit, Failure> {
    if args.parquet {
        NoParquet::check()?;
    }
    let plan = Plan::read(&args.plan)?;
    let out = args.out.clone().unwrap_or_else(|| default_folder(&plan));
    // An invalid plan is reported here, and not by a thousand tasks.
    let planned = PreparedSweep::new(crate::catalogue(), &plan, Some(&out))?;
    planned.warnings().iter().for_each(|warning| output::warn(warning));
    let runs = planned.runs().count();
    let here =
        std::env::current_dir().map_err(|error| Failure::new(Exit::Internal, format!("cannot find the working directory: {error}")))?;
    let program =
        std::env::current_exe().map_err(|error| Failure::new(Exit::Internal, format!("cannot find this program's file: {error}")))?;
    let out = here.join(out);
    let text = input::read(&args.plan, input::MAX_TEXT_BYTES)
        .map_err(|error| Failure::new(Exit::Config, format!("cannot read {}: {error}", args.plan.display())))?;
    let copy = out.join("plan.toml");
    output::file(&copy, &text)?;
    let job = SubmittedSweep {
        name: plan.name.clone(),
        program,
        folder: here,
        plan: copy,
        out: out.clone(),
        slices: slices(runs, args.slices.map(std::num::NonZero::get)),
        cpus: args.cpus.get(),
        at_once: args.at_once.map(std::num::NonZero::get),
        parquet: args.parquet,
        options: args.options.clone(),
    };
    let what = format!("{} in {}", count_with_noun(runs as u64, "run"), count_with_noun(job.slices as u64, "slice"));
    match args.to {
        BatchSystem::Slurm => slurm(args, &job, &what),
        BatchSystem::Hyperqueue => hyperqueue(args, &job, &what),
    }
}

/// Writes a script into a subfolder of the result folder.
fn script(job: &SubmittedSweep, folder: &str, name: &str, text: &str) -> Result<PathBuf, Failure> {
    let folder = job.out.join(folder);
    fs::create_dir_all(&folder).map_err(|error| Failure::new(Exit::Output, format!("cannot make {}: {error}", folder.display())))?;
    let path = folder.join(name);
    output::file(&path, text.as_bytes())?;
    Ok(path)
}

fn slurm(args: &SubmitArgs, job: &SubmittedSweep, what: &str) -> Result<Exit, Failure> {
    let array = script(job, "slurm", "array.sh", &job.slurm_array())?;
    let collect = script(job, "slurm", "collect.sh", &job.slurm_collect())?;
    if args.dry_run {
        return output::print(&format!("{what}: {} and {} are written\n", array.display(), collect.display())).map(|()| Exit::Ok);
    }
    let number = sbatch(&job.options, &array)?;
    output::print(&format!("{what}: job {number}\n"))?;
    // `afterany` collects the table of the finished runs even if tasks have failed.
    let mut options = vec![format!("--dependency=afterany:{number}")];
    options.extend(args.wait.then(|| "--wait".to_owned()));
    let collecting = sbatch(&[&options, job.options.as_slice()].concat(), &collect)?;
    let table = job.out.join("sweep.csv");
    output::print(&format!("{} when job {collecting} has ended\n", table.display()))?;
    Ok(Exit::Ok)
}

/// Submits a script and returns the job number.
fn sbatch(options: &[String], script: &Path) -> Result<String, Failure> {
    run(Command::new("sbatch").arg("--parsable").args(options).arg(script)).map(|said| {
        // The name of the cluster may follow the number.
        said.trim().split(';').next().unwrap_or_default().to_owned()
    })
}

fn hyperqueue(args: &SubmitArgs, job: &SubmittedSweep, what: &str) -> Result<Exit, Failure> {
    let path = script(job, "hyperqueue", "submit.sh", &job.hyperqueue())?;
    let command = format!("bash {}", path.display());
    if args.dry_run {
        return output::print(&format!("{what}: {command} submits it, waits and collects\n")).map(|()| Exit::Ok);
    }
    output::print(&format!("{what}: {command}\n"))?;
    run(Command::new("bash").arg(&path)).and_then(|said| output::print(&said)).map(|()| Exit::Ok)
}

/// Runs a command of the batch system and returns its output.
fn run(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let ended = command.output().map_err(|error| {
        let hint = "is the batch system installed here? --dry-run only writes the scripts";
        Failure::new(Exit::Usage, format!("cannot start {program}: {error}; {hint}"))
    })?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    Err(Failure::new(Exit::Usage, format!("{program} failed: {}", String::from_utf8_lossy(&ended.stderr).trim_end())))
}
