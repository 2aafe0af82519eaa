//! `warpshard run`: from options to a result folder and a report.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use warpshard_sync::StopFlag;

use crate::chip::{self, CpuApplication, CpuEnd, CpuLoad, RunOptions, Scaling};
use crate::config::Machine;
use crate::energy::Model;
use crate::frontend::Workload;
use crate::frontend::sass::DecodeClock;
use crate::report::picture::PictureError;
use crate::report::text::Style;
use crate::report::{Destination, ResultFile, RunFacts, csv, energy, json, relaxed_words, summary};
use crate::stats::{EndedBy, HostFacts, Outcome};

use super::args::{Epoch, RunArgs, Until};
use super::exit::{Exit, Failure};
use super::inputs::{self, Origin, Settings};
use super::progress::ProgressView;
use super::threads::{Threads, threads};
use super::{configuration, interrupt, output, policies, program, runfile, select};

/// Where results go without `--out`.
const RESULTS: &str = "results";

/// Simulates, writes the results, prints the report.
///
/// # Errors
/// When the machine or the workload is wrong, the simulated machine deadlocks, or results cannot be written.
pub(super) fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let started = Instant::now();
    let settings = Settings::of(&args.set);
    let loaded = inputs::machine(&args.machine, &settings.machine)?;
    Model::of(&loaded.machine).map_err(|problem| Failure::new(Exit::Config, problem))?;
    let threads = threads(args.threads);
    if let Some(note) = &threads.note {
        output::warn(note);
    }
    let Threads { count: threads, origin: threads_origin, .. } = threads;
    // Made before a long trace is read, so that a folder that cannot be written is an error at once.
    let named = args.out.as_deref().map(|folder| Destination::folder(folder, args.force)).transpose()?;
    let clock = Arc::new(DecodeClock::default());
    let (workload, origin) = workload(args, &settings, threads, &clock)?;
    let destination = match named {
        Some(folder) => folder,
        None => {
            let suffix = configuration::suffix(args);
            Destination::numbered(Path::new(RESULTS), &file_name(&format!("{}-{}{suffix}", loaded.machine.name, workload.name)))?
        }
    };

    let cpu = cpu_load(args, &loaded.machine)?;
    let configuration = Some(configuration::of(args, arguments));
    let facts = RunFacts { configuration, ..RunFacts::of(&loaded.machine, &workload.name, args.seed) };
    let kernels = workload.kernels.len();
    let stop = StopFlag::new();
    let asked = stop.clone();
    interrupt::install(move || {
        let before = asked.requested();
        asked.request();
        before
    });

    let decoded_before = clock.seconds();
    let prepared = started.elapsed().as_secs_f64() - decoded_before;
    let (outcome, mut host) = simulate(&loaded.machine, &Arc::new(workload), args, cpu, threads, stop)?;
    let decoded_meanwhile = clock.seconds() - decoded_before;
    host.startup_seconds += prepared;
    host.decode_seconds = clock.seconds();
    // All workers wait for decoding, so that on average each loses its share of the decoding time.
    host.simulate_seconds = (host.simulate_seconds - decoded_meanwhile / host.mean_workers.max(1.0)).max(0.0);
    host.peak_memory_bytes = host.peak_memory_bytes.or_else(peak_memory_bytes);

    let run_toml = loaded.provenance.to_toml() + &runfile::run_table(args, &origin, (threads, &threads_origin), kernels, &facts);
    let (files, drawn) = files(&facts, &outcome, &host, run_toml);
    let written = destination.write(&files).map_err(Failure::from);
    if let Some(relaxed) = &outcome.relaxed {
        output::warn(&format!("warning: {}", relaxed_words(relaxed)));
    }
    // The report comes first: where the disk is full, it is all that there is of a long run.
    let printed = output::print_styled(&summary(&facts, &outcome, &host, output::stdout_style()));
    match (written, printed) {
        (Ok(folder), printed) => {
            printed?;
            output::print(&format!("\nResults in {}\n", folder.display()))?;
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

fn workload(args: &RunArgs, settings: &Settings, threads: usize, clock: &Arc<DecodeClock>) -> Result<(Workload, Origin), Failure> {
    let (workload, origin) = match &args.trace {
        Some(_) if !settings.model.is_empty() => {
            let key = &settings.model[0].0;
            return Err(Failure::new(
                Exit::Usage,
                format!("--set workload.{key}: a trace has no parameters; only kernel models have them"),
            ));
        }
        Some(path) => inputs::trace(path, threads, args.lenient, clock)?,
        None if args.program.is_some() => {
            let path = args.program.as_deref().unwrap_or(Path::new(""));
            program::workload(path, args.arch, &settings.model)?
        }
        None => {
            let name = args.workload.as_deref().unwrap_or(inputs::DEFAULT_MODEL);
            inputs::model_workload(name, &inputs::model(name, args.seed, &settings.model)?)
        }
    };
    let workload = match &args.kernels {
        Some(wanted) => select::select(workload, wanted)?,
        None => workload,
    };
    Ok((workload, origin))
}

/// The load of the CPU cores, from `--cpu` and the options that require it.
fn cpu_load(args: &RunArgs, machine: &Machine) -> Result<Option<CpuLoad>, Failure> {
    if args.cpu.is_empty() {
        return Ok(None);
    }
    let cores = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let applications = CpuApplication::all(&args.cpu, cores);
    let load = CpuLoad {
        applications: applications.map_err(|problem| Failure::new(Exit::Workload, format!("--cpu {problem}")))?,
        warm: args.cpu_warm,
        measure: args.cpu_measure.get(),
        gpu_waits: !args.gpu_first,
        end: match args.until {
            Until::Both => CpuEnd::Both,
            Until::Gpu => CpuEnd::Gpu,
            Until::Cpu => CpuEnd::Cpu,
        },
        seed: args.seed,
    };
    load.check(machine).map_err(|problem| Failure::new(Exit::Config, problem))?;
    Ok(Some(load))
}

/// `text` as the name of a file: characters with a meaning for a file system or shell become underscores.
fn file_name(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | ',' | '@' | '+');
    text.chars().map(|c| if safe(c) { c } else { '_' }).take(120).collect()
}

fn simulate(
    machine: &Machine,
    workload: &Arc<Workload>,
    args: &RunArgs,
    cpu: Option<CpuLoad>,
    threads: usize,
    stop: StopFlag,
) -> Result<(Outcome, HostFacts), Failure> {
    let view = ProgressView::start();
    let options = RunOptions {
        threads,
        scaling: Scaling::Adaptive,
        epoch: match args.epoch {
            Epoch::Auto => None,
            Epoch::Cycles(cycles) => Some(cycles.get()),
        },
        relaxed: args.relaxed,
        max_cycles: args.max_cycles.map(NonZeroU64::get),
        interval: args.interval.map(NonZeroU64::get),
        pin: args.pin,
        cpu,
        controllers: policies::controllers(&args.policy)?,
        stop,
        progress: view.published(),
        ..RunOptions::default()
    };
    let result = chip::simulate(machine, workload, options)?;
    Ok((result.outcome, result.host))
}

/// The files of the result, and whether all plots could be drawn.
fn files(facts: &RunFacts, outcome: &Outcome, host: &HostFacts, run_toml: String) -> (Vec<ResultFile>, Result<(), PictureError>) {
    let mut files = vec![
        ResultFile::new("stats.json", json::stats(facts, outcome)),
        ResultFile::new("host.json", json::host(facts, outcome, host)),
        ResultFile::new("run.toml", run_toml),
        ResultFile::new("intervals.csv", csv::intervals(&outcome.intervals)),
        ResultFile::new("summary.txt", summary(facts, outcome, host, Style::Plain)),
    ];
    if !outcome.timeline.is_empty() {
        files.push(ResultFile::new("timeline.csv", csv::timeline(&outcome.timeline)));
    }
    let (energy, drawn) = energy::files(facts, outcome);
    files.extend(energy);
    (files, drawn)
}

/// The peak resident memory of this process, where the host reports it.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_with_a_strange_name_gets_a_harmless_folder() {
        assert_eq!(file_name("v100-../a b<int>"), "v100-.._a_b_int_");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_memory_of_this_process_is_at_least_a_megabyte() {
        assert!(peak_memory_bytes().unwrap() > 1 << 20);
    }
}
