//! `warpshard study` and `warpshard bench`: experiments over the reference's traces, into a result folder and onto the screen.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Override;
use crate::frontend::sass::DecodeClock;
use crate::report::Destination;
use crate::study::bench::CheckOptions;
use crate::study::hetero::concurrency::{self, ConcurrencyOptions, Finished};
use crate::study::wa_sched::{characterise, onac, perf_sat, phase_aware};
use crate::study::{
    self, BenchOptions, HeteroOptions, StudyError, StudyOutput, Traces, accel_sim, cpu, dispatch, dram, hetero, noc, oracle, power, relaxed,
};

use super::args::{BenchArgs, StudyArgs, StudyName, TraceSetArgs};
use super::exit::{Exit, Failure};
use super::inputs::{self, Settings};
use super::output;

/// Runs a study.
///
/// # Errors
/// When the reference data is missing, no trace could be run, or the results cannot be written.
pub(super) fn study(args: &StudyArgs) -> Result<Exit, Failure> {
    let traces = traces(&args.traces);
    let reference = &args.traces.reference;
    compares_with(args.name, reference)?;
    let configuration = || args.configuration.as_deref().unwrap_or_else(|| accel_sim::configuration_of(traces.machine));
    let result = match args.name {
        StudyName::AccelSim => accel_sim::run(reference, configuration(), &traces),
        StudyName::Characterise => characterise::run(&thesis(args)),
        StudyName::Cpu => cpu::run(reference),
        StudyName::Dispatch => dispatch::run(reference, configuration(), &traces),
        StudyName::Relaxed => relaxed::run(reference, &traces),
        StudyName::Hetero => concurrency(args),
        StudyName::HeteroDirections => hetero::run(&hetero_options(args)),
        StudyName::Noc => noc::run(reference),
        StudyName::Onac => onac::run(&thesis(args), args.full, &|line| output::news(line)),
        StudyName::Oracle => sweep(args)?,
        StudyName::PerfSat => perf_sat::run(&thesis(args), args.full),
        StudyName::PhaseAware => phase_aware::run(&thesis(args)),
        StudyName::Power => power::run(reference),
        StudyName::Dram => dram::run(reference),
    };
    show(result, "study-", args.traces.out.as_deref())
}

/// Says at once, and how to mend it, that the folder is not there which a study compares with.
fn compares_with(study: StudyName, reference: &Path) -> Result<(), Failure> {
    let needed =
        matches!(study, StudyName::AccelSim | StudyName::Cpu | StudyName::Dispatch | StudyName::Noc | StudyName::Power | StudyName::Dram);
    if !needed || reference.is_dir() {
        return Ok(());
    }
    let why = format!("the folder of references `{}` is not there, and this study compares with it", reference.display());
    Err(Failure::new(Exit::Workload, format!("{why}; name the folder with --reference")))
}

/// Runs the study `oracle` on whatever workload is named.
fn sweep(args: &StudyArgs) -> Result<Result<StudyOutput, StudyError>, Failure> {
    let settings = Settings::of(&args.traces.set);
    let name = args.workload.as_deref().unwrap_or(inputs::DEFAULT_MODEL);
    let load = || {
        if inputs::is_trace(name) {
            inputs::trace(Path::new(name), 1, false, &Arc::new(DecodeClock::default())).map(|(workload, _)| workload)
        } else {
            inputs::model(name, 1, &settings.model).map(|model| model.workload())
        }
    };
    // What is wrong with the workload is told as other commands tell it.
    load()?;
    let overrides = settings.machine.clone();
    let sweep = oracle::Sweep { machine: &args.traces.machine, overrides, workload: name, cycles: args.cycles.map(NonZeroU64::get) };
    Ok(oracle::run(&sweep, || load().map_err(|failure| failure.message)))
}

/// The options of studies of the thesis, which share what they measured.
fn thesis(args: &StudyArgs) -> characterise::Options {
    characterise::Options {
        cycles: if args.full { characterise::Options::FULL } else { characterise::Options::QUICK },
        only: args.only.clone(),
        cache: Some(args.traces.cache.join("characterise")),
    }
}

/// Runs the study of GPU concurrency beside CPU applications, and tells on the terminal's error stream how far it is.
fn concurrency(args: &StudyArgs) -> Result<StudyOutput, StudyError> {
    let (news, finished) = crossbeam_channel::unbounded();
    let mut options = if args.full { ConcurrencyOptions::full() } else { ConcurrencyOptions::quick() };
    if args.tenth {
        options.scale = 0.1;
    }
    options.scale = args.scale.unwrap_or(options.scale);
    options.longest = args.longest.map(NonZeroU64::get).or(options.longest);
    options.pairs.clone_from(&args.pairs);
    options.overrides = args.traces.set.iter().map(|(key, value)| Override::new(key, value)).collect();
    options.cache = Some(args.traces.cache.join("hetero"));
    options.progress = Some(news);
    let teller = std::thread::spawn(move || tell(&finished));
    let result = concurrency::run(&options);
    drop(options);
    // What was left to tell is told before the result; a teller that failed has nothing to do with it.
    let _ = teller.join();
    result
}

/// A line per finished run, until the study is through.
fn tell(finished: &crossbeam_channel::Receiver<Finished>) {
    let start = std::time::Instant::now();
    for (i, Finished { run, of }) in finished.iter().enumerate() {
        output::warn(&format!("{:>6.0} s  {:>4} of {of}  {run}", start.elapsed().as_secs_f64(), i + 1));
    }
}

/// Lengths and machine of the study of the CPU+GPU chip. The machine that other studies run by default has no CPU cores.
fn hetero_options(args: &StudyArgs) -> HeteroOptions {
    let default = HeteroOptions::new();
    let or = |given: Option<NonZeroU64>, otherwise: u64| given.map_or(otherwise, NonZeroU64::get);
    HeteroOptions {
        machine: if args.traces.machine == TraceSetArgs::MACHINE { default.machine.clone() } else { args.traces.machine.clone() },
        overrides: args.traces.set.iter().map(|(key, value)| Override::new(key, value)).collect(),
        cpu_warm: or(args.cpu_warm, default.cpu_warm),
        cpu_measure: or(args.cpu_measure, default.cpu_measure),
        gpu_cycles: or(args.gpu_cycles, default.gpu_cycles),
        longest: or(args.longest, default.longest),
        ..default
    }
}

/// Measures the host.
///
/// # Errors
/// As [`study`].
pub(super) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    let options = BenchOptions {
        threads: args.threads.iter().map(|threads| threads.get() as usize).collect(),
        runs: args.runs.get() as usize,
        only: args.only.clone(),
        native: args.native,
    };
    let (traces, reference) = (traces(&args.traces), &args.traces.reference);
    let check = CheckOptions { only: args.only.clone(), max_cycles: args.max_cycles.map(NonZeroU64::get) };
    let result = match &args.sizes {
        None if args.check => study::bench::run_check(reference, &traces, &check),
        Some(sizes) => study::bench::run_sizes(&traces, sizes, options.runs),
        None if args.process => study::bench::run_process(reference, &traces, accel_sim::configuration_of(traces.machine), &options),
        None => study::bench::run(reference, &traces, &options),
    };
    show(result, "", args.traces.out.as_deref())
}

fn traces(args: &TraceSetArgs) -> Traces<'_> {
    Traces { machine: &args.machine, overrides: args.set.clone(), cache: args.cache.clone() }
}

pub(super) fn show(result: Result<StudyOutput, StudyError>, prefix: &str, out: Option<&Path>) -> Result<Exit, Failure> {
    let result = result.map_err(|error| {
        let exit = match error {
            StudyError::Input(_) => Exit::Usage,
            StudyError::Differs(_) => Exit::Internal,
            StudyError::Reference(_) | StudyError::Nothing(_) => Exit::Workload,
        };
        Failure::new(exit, error.to_string())
    })?;
    let folder = out.map_or_else(|| PathBuf::from(format!("results/{prefix}{}", result.name)), Path::to_path_buf);
    let destination = Destination::folder(&folder, false)?;
    let files = result.files().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    output::print(&result.text())?;
    let folder = destination.write(&files)?;
    output::print(&format!("\nResults in {}\n", folder.display()))?;
    Ok(Exit::Ok)
}
