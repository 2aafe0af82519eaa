//! `warpshard sweep`: all runs of a plan, in this process or by a batch system, and their table.

mod execute;
mod inputs;
mod memory;
mod prepare;
mod progress;
mod submit;

use std::path::{Path, PathBuf};

use crate::report::frame::NoParquet;
use crate::report::text::{counted, printable};
use crate::sweep::{Digest, Digests, Entry, Plan, PlanError, Run, Slice, Store, Table};

use super::args::{SweepArgs, SweepCommand};
use super::exit::{Exit, Failure};
use super::output;

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::new(Exit::Config, error)
    }
}

impl From<NoParquet> for Failure {
    fn from(error: NoParquet) -> Self {
        Self::new(Exit::Usage, format!("--parquet: {error}"))
    }
}

/// Simulates, lists, collects or submits the runs of a plan.
///
/// # Errors
/// When the plan or one of its runs is wrong, or results cannot be written. Runs that fail while they are simulated do not end the sweep;
/// the exit code is that of the first of them.
pub(super) fn sweep(args: &SweepArgs) -> Result<Exit, Failure> {
    if let Some(SweepCommand::Submit(args)) = &args.command {
        return submit::submit(args);
    }
    if args.parquet {
        NoParquet::check()?;
    }
    let path = args.plan.as_deref().unwrap_or(Path::new(""));
    let plan = Plan::read(path)?;
    let out = folder(args.out.as_deref(), &plan);
    let store = Store::open(&out)?;
    let known = Digests::new(&store.path("inputs.json"));
    let prepared = prepare::prepare(plan.runs(), &known)?;
    known.keep();
    if args.list {
        return list(&prepared, args.slice, &store);
    }
    let mut interrupted = false;
    if !args.collect {
        let limits = execute::Limits { jobs: args.jobs.map(std::num::NonZero::get), memory: args.memory };
        let of_slice = |run: &&prepare::Prepared| args.slice.is_none_or(|slice| slice.has(run.run.number));
        let wanted: Vec<&prepare::Prepared> = prepared.iter().filter(of_slice).collect();
        let done = execute::execute(&wanted, &store, limits)?;
        interrupted = done.interrupted;
        let title = args.slice.map_or_else(String::new, |slice| format!("Slice {slice}: "));
        output::print(&format!("{title}{done}\n"))?;
    }
    let exit = match args.slice {
        Some(_) => verdict(&prepared, args.slice, &store),
        None => collect(&plan, &prepared, &store, args.parquet)?,
    };
    Ok(if interrupted { Exit::Interrupted } else { exit })
}

/// Where the results of a plan go.
fn folder(asked: Option<&Path>, plan: &Plan) -> PathBuf {
    asked.map_or_else(|| PathBuf::from(format!("results/sweep-{}", plan.name)), Path::to_path_buf)
}

fn list(prepared: &[prepare::Prepared], slice: Option<Slice>, store: &Store) -> Result<Exit, Failure> {
    let line = |one: &prepare::Prepared| {
        let state = match store.entry(one.digest) {
            Entry::Done(_) => "done",
            Entry::Failed(..) => "failed",
            Entry::Missing => "missing",
        };
        printable(&format!("{:>6}  {state:<7}  {}  {}", one.run.number, one.digest, one.run.line())).into_owned() + "\n"
    };
    let shown = prepared.iter().filter(|one| slice.is_none_or(|slice| slice.has(one.run.number)));
    output::print(&shown.map(line).collect::<String>()).map(|()| Exit::Ok)
}

/// Writes the table of all runs.
fn collect(plan: &Plan, prepared: &[prepare::Prepared], store: &Store, parquet: bool) -> Result<Exit, Failure> {
    let (runs, digests): (Vec<Run>, Vec<Digest>) = prepared.iter().map(|one| (one.run.clone(), one.digest)).unzip();
    let table = Table::collect(&runs, &digests, &plan.keys(), store);
    let path = store.path("sweep.csv");
    output::file(&path, table.frame.csv().as_bytes())?;
    if parquet {
        output::file(&store.path("sweep.parquet"), &table.frame.parquet()?)?;
    }
    output::print(&format!("Table of {} in {}\n", counted(table.frame.rows().len() as u64, "run"), path.display()))?;
    if table.missing > 0 {
        output::warn(&format!("{} are missing; the plan without --collect simulates them", counted(table.missing as u64, "run")));
        return Ok(Exit::Negative);
    }
    Ok(verdict(prepared, None, store))
}

/// The exit code of the first run that failed.
fn verdict(prepared: &[prepare::Prepared], slice: Option<Slice>, store: &Store) -> Exit {
    let mut wanted = prepared.iter().filter(|one| slice.is_none_or(|slice| slice.has(one.run.number)));
    let failed = wanted.find_map(|one| match store.entry(one.digest) {
        Entry::Failed(code, _) => Some(Exit::from_code(code)),
        _ => None,
    });
    failed.unwrap_or(Exit::Ok)
}
