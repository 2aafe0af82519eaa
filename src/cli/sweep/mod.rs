//! `warpshard sweep`: simulates all runs of a plan, in this process or through a batch system, and collects their table.

mod progress;
mod submit;

use std::path::Path;

use warpshard_report::frame::NoParquet;
use warpshard_report::text::{count_with_noun, printable};
use warpshard_run::Exit;
use warpshard_sweep::{Limits, Plan, PreparedSweep, RunCounts, Slice, StoreEntry};
use warpshard_sync::StopFlag;

use super::args::{SweepArgs, SweepCommand};
use super::failure::Failure;
use super::{interrupt, output};
use crate::catalogue;

/// Simulates, lists, collects or submits the runs of a plan.
///
/// # Errors
/// Fails if the plan or one of its runs is invalid, or results cannot be written. Runs that fail during simulation do not end the sweep;
/// the exit code is the code of the first failed run.
pub(super) fn sweep(args: &SweepArgs) -> Result<Exit, Failure> {
    if let Some(SweepCommand::Submit(args)) = &args.command {
        return submit::submit(args);
    }
    if args.parquet {
        NoParquet::check()?;
    }
    let plan = Plan::read(args.plan.as_deref().unwrap_or(Path::new("")))?;
    let planned = PreparedSweep::new(catalogue(), &plan, args.out.as_deref())?;
    planned.warnings().iter().for_each(|warning| output::warn(warning));
    if args.list {
        return list(&planned, args.slice);
    }
    let mut interrupted = false;
    if !args.collect {
        let done = simulate(&planned, args)?;
        interrupted = done.interrupted;
        let title = args.slice.map_or_else(String::new, |slice| format!("Slice {slice}: "));
        output::print(&format!("{title}{done}\n"))?;
    }
    let exit = match args.slice {
        Some(_) => planned.verdict(args.slice),
        None => collect(&planned, args.parquet)?,
    };
    Ok(if interrupted { Exit::Interrupted } else { exit })
}

fn simulate(planned: &PreparedSweep, args: &SweepArgs) -> Result<RunCounts, Failure> {
    let stop = StopFlag::new();
    let asked = stop.clone();
    interrupt::install("stopping; finished runs are stored, and the same command continues from them; Ctrl-C again aborts", move || {
        let before = asked.requested();
        asked.request();
        before
    });
    let limits = Limits { jobs: args.jobs.map(std::num::NonZero::get), memory: args.memory };
    Ok(planned.simulate(args.slice, limits, &stop, Box::new(progress::ProgressLine::new()))?)
}

fn list(planned: &PreparedSweep, slice: Option<Slice>) -> Result<Exit, Failure> {
    let shown = planned.runs().filter(|(run, ..)| slice.is_none_or(|slice| slice.contains(run.number)));
    let lines = shown.map(|(run, digest, entry)| {
        let state = match entry {
            StoreEntry::Done(_) => "done",
            StoreEntry::Failed(..) => "failed",
            StoreEntry::Missing => "missing",
        };
        printable(&format!("{:>6}  {state:<7}  {digest}  {}", run.number, run.line())).into_owned() + "\n"
    });
    output::print(&lines.collect::<String>()).map(|()| Exit::Ok)
}

/// Writes the table of all runs, and a picture of the table.
fn collect(planned: &PreparedSweep, parquet: bool) -> Result<Exit, Failure> {
    let table = planned.collect(parquet)?;
    let runs = count_with_noun(table.frame.rows().len() as u64, "run");
    output::print(&format!("Table of {runs} in {}\n", planned.path("sweep.csv").display()))?;
    if let Some(path) = planned.draw(&table)? {
        output::print(&format!("Picture in {}\n", path.display()))?;
    }
    if table.missing > 0 {
        output::warn(&format!(
            "{} are missing; run the plan without --collect to simulate them",
            count_with_noun(table.missing as u64, "run")
        ));
        return Ok(Exit::Negative);
    }
    Ok(planned.verdict(None))
}
