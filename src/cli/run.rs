//! `warpshard run`: simulates a workload, writes the result folder and prints the report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use warpshard_report::frame::NoParquet;
use warpshard_report::{Destination, relaxed_words, summary};
use warpshard_run::{Exit, OpenedRun, Request, WorkloadSource, check_experiment, clock_under_load, remove_checkpoint};
use warpshard_stats::EndedBy;
use warpshard_stats::activity::Activity;
use warpshard_sync::StopFlag;
use warpshard_view::{RunFolder, perfetto};

use super::args::{AUTO_CLOCK, RunArgs};
use super::failure::Failure;
use super::program::prepare_launch;
use super::progress::ProgressView;
use super::ranks::World;
use super::{interrupt, monitor, output};
use crate::catalogue;

/// Parent of the default result folders.
const DEFAULT_PARENT: &str = "results";

/// Simulates, writes the results, and prints the report.
///
/// # Errors
/// Fails if the machine or the workload is invalid, the simulated machine deadlocks, or results cannot be written.
pub(super) fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let mut request = args.request();
    let files: Vec<PathBuf> = args.code.program.iter().chain(&args.files).cloned().collect();
    if !files.is_empty() {
        let arch = || args.arch.map_or_else(|| architecture_of(&args.machine), |arch| Ok(format!("sm_{arch}")));
        request.workload =
            Some(WorkloadSource::Program { file: prepare_launch(&files, &args.code.cubin, &args.launch, arch)?, arch: args.arch });
    } else if args.code.cubin.meta.is_some() || args.arch.is_some() {
        return Err(Failure::new(Exit::Usage, "--meta and --arch are options of a program; name one, such as kernel.cu or --program FILE"));
    }
    if args.clock.as_deref() == Some(AUTO_CLOCK) {
        request.set.insert(0, ("clocks.core".to_owned(), recorded_clock(&request, args.mpi)?));
    }
    let arguments: Vec<String> = arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect();
    let called = || Ok::<_, Failure>(OpenedRun::new(catalogue(), &request)?.with_arguments(arguments.clone()));
    if !args.mpi {
        return run_first_rank(args, &request, called, None);
    }
    let (world, stop) = (World::join()?, StopFlag::new());
    let ended = if world.is_first() { run_first_rank(args, &request, called, Some(&world)) } else { run_other_rank(called, &world, &stop) };
    ended.map_err(|failure| world.abort(&failure, &stop))
}

/// Simulates the run at the machine's clock, and returns the clock that the machine's table gives for the measured load of the matrix
/// units.
fn recorded_clock(request: &Request, in_ranks: bool) -> Result<String, Failure> {
    if in_ranks {
        return Err(Failure::new(Exit::Usage, "--clock auto: all ranks need the clock before they begin; give a frequency"));
    }
    let first = Request { checkpoint_every: None, resume: None, record: None, interval: None, ..request.clone() };
    let opened = OpenedRun::new(catalogue(), &first)?;
    let no_clocks = || {
        let message = format!(
            "--clock auto: machine {} has no clocks for loads of its matrix units\n  = help: give a frequency, or the list `clocks.tensor_load` in the machine's file",
            request.machine
        );
        Failure::new(Exit::Config, message)
    };
    if opened.machine().gpu.tensor_clocks.is_empty() {
        return Err(no_clocks());
    }
    let machine = opened.machine().clone();
    let finished = opened.load()?.simulate(Vec::new(), StopFlag::new(), None)?;
    let (mhz, used) = clock_under_load(&machine, &finished.outcome).ok_or_else(no_clocks)?;
    output::warn(&format!(
        "note: at {} the matrix units are used for {used:.0} % of the time, so the SMs sustain {mhz} MHz",
        machine.clocks.core
    ));
    Ok(format!("{mhz} MHz"))
}

/// Returns the best architecture that a machine's GPU executes according to its compute capability, or sm_70 by default.
fn architecture_of(machine: &str) -> Result<String, Failure> {
    let loaded = catalogue().machine(machine, &[]).map_err(|error| Failure::new(Exit::Config, error))?;
    let best = loaded.machine.gpu.compute_capability.best_of([70, 75, 80, 86, 90]);
    Ok(format!("sm_{}", best.unwrap_or(70)))
}

/// Simulates the part of a rank other than 0.
fn run_other_rank<'a>(open: impl FnOnce() -> Result<OpenedRun<'a>, Failure>, world: &World, stop: &StopFlag) -> Result<Exit, Failure> {
    let asked = stop.clone();
    interrupt::install_repeated(move || asked.request());
    let ready = open()?.load()?.in_ranks(world.ranks());
    let finished = ready.simulate(Vec::new(), stop.clone(), None)?;
    Ok(if finished.outcome.ended_by == EndedBy::Interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// Simulates, writes and prints, as the only process or as rank 0 of `world`.
fn run_first_rank<'a>(
    args: &RunArgs,
    request: &Request,
    open: impl FnOnce() -> Result<OpenedRun<'a>, Failure>,
    world: Option<&World>,
) -> Result<Exit, Failure> {
    if args.parquet {
        NoParquet::check()?;
    }
    if let Some(path) = &args.perfetto {
        // The check reports an unwritable file before a long run and not after it.
        output::writable(path)?;
    }
    let watched = args.monitor.map(|address| monitor::bind(address, args.monitor_token_file.as_deref())).transpose()?;
    let opened = open()?;
    opened.warnings().for_each(|warning| output::warn(&warning));
    // The folder is created before a long trace is read, so that an unwritable folder is reported early.
    let named = args.out.as_deref().map(|folder| Destination::folder(folder, args.force)).transpose()?;
    let ready = opened.load()?;
    ready.resumed().into_iter().for_each(output::warn);
    if let (Some(folder), false) = (&args.out, args.force) {
        check_experiment(folder, &ready.run_toml(), request.resume.is_some())?;
    }
    let ready = if let Some(world) = world { ready.in_ranks(world.ranks()) } else { ready };
    let destination = match named {
        Some(folder) => folder,
        None => Destination::numbered(Path::new(DEFAULT_PARENT), &ready.folder_name())?,
    };
    let stop = StopFlag::new();
    let asked = stop.clone();
    interrupt::install(interrupt::RUN_MESSAGE, move || {
        let before = asked.requested();
        asked.request();
        before
    });
    let finished = {
        let served = watched.map(|bound| bound.serve(ready.title())).transpose()?;
        let live = served.as_ref().map(monitor::RunningMonitor::live);
        let view = ProgressView::start();
        ready.simulate_watched(Vec::new(), stop, view.published(), live)?
    };
    let (mut files, drawn) = finished.files();
    if args.parquet {
        files.extend(finished.parquet()?);
    }
    let written = destination.write(&files).map_err(Failure::from);
    let outcome = &finished.outcome;
    if written.is_ok() && matches!(outcome.ended_by, EndedBy::Completed | EndedBy::Controller | EndedBy::MaxInstructions) {
        remove_checkpoint(request)?;
    }
    if let Some(relaxed) = &outcome.relaxed {
        output::warn(&format!("warning: {}", relaxed_words(relaxed)));
    }
    if outcome.sampled.is_some() {
        output::warn("warning: sampled run: all numbers are estimates");
    }
    // The report is printed first: if the disk is full, it is the only result of a long run.
    let printed = output::print_styled(&summary(&finished.facts, outcome, &finished.host, output::stdout_style()));
    match (written, printed) {
        (Ok(folder), printed) => {
            printed?;
            output::print(&format!("\nResults in {}\n", folder.display()))?;
            if let Some(path) = &args.perfetto {
                trace(path, &folder, &finished.activity)?;
            }
            drawn.map_err(|error| Failure::new(Exit::Output, format!("{error}\n  all other results were written")))?;
        }
        (Err(failure), Ok(())) => {
            let message = format!("{}\n  no results were written; the report on standard output is complete", failure.message.trim_end());
            return Err(Failure { message, ..failure });
        }
        (Err(failure), Err(report)) => {
            output::report(&report);
            return Err(failure);
        }
    }
    Ok(if outcome.ended_by == EndedBy::Interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// Writes the trace for the Perfetto viewer.
fn trace(path: &Path, folder: &Path, activity: &Activity) -> Result<(), Failure> {
    output::file(path, &perfetto(&RunFolder::read(folder)?, activity)?)?;
    let sms = activity.sms.iter().flat_map(|sm| {
        let beside = ("copies, barriers and products of SM", sm.sm, sm.async_events.left_out);
        [("CTAs of SM", sm.sm, sm.ctas.left_out), ("warps of SM", sm.sm, sm.warps.left_out), beside]
    });
    let channels = activity.channels.iter().map(|channel| ("commands of memory partition", channel.partition, channel.commands.left_out));
    let left_out: Vec<String> =
        sms.chain(channels).filter(|(.., events)| *events > 0).map(|(what, unit, events)| format!("{events} of {what} {unit}")).collect();
    if !left_out.is_empty() {
        let shown = left_out.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
        let more = if left_out.len() > 4 { ", .." } else { "" };
        output::warn(&format!(
            "warning: the trace omits later events ({shown}{more}); change --perfetto-from or --perfetto-events to include them"
        ));
    }
    output::print(&format!("Trace for ui.perfetto.dev in {}\n", path.display()))
}
