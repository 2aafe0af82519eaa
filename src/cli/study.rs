//! `warpshard study` and `warpshard bench`: run experiments, write a result folder and print the results.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use warpshard_lab::reference::References;
use warpshard_lab::{
    ProgressFn,
    output::{StudyError, StudyOutput},
    request::{LoadFn, Request},
};
use warpshard_report::Destination;
use warpshard_run::inputs::{Settings, trace as load_trace};
use warpshard_run::{Exit, check_study};
use warpshard_trace::DecodeClock;
use warpshard_validate::bench::{CheckOptions, ScalingOptions};
use warpshard_validate::{BenchOptions, Traces, accel_sim};

use super::args::{BenchArgs, StudyArgs, TraceSetArgs};
use super::failure::Failure;
use super::inputs;
use super::output;
use crate::catalogue;

/// Runs a study.
///
/// # Errors
/// Fails if an option does not apply to the study, reference data is missing, no run was possible, or the results cannot be written.
pub(super) fn study(args: &StudyArgs) -> Result<Exit, Failure> {
    let study = crate::find_study(&args.name).ok_or_else(|| Failure::new(Exit::Usage, format!("there is no study `{}`", args.name)))?;
    let cycles = |given: Option<NonZeroU64>| given.map(NonZeroU64::get);
    let traces = &args.traces;
    let request = Request {
        catalogue: catalogue(),
        machine: traces.machine.clone(),
        set: traces.set.clone(),
        policy: args.policy.clone(),
        order: args.order.clone(),
        full: args.full,
        quick: args.quick,
        only: args.only.clone(),
        configuration: args.configuration.clone(),
        cpu_warm: cycles(args.cpu_warm),
        cpu_measure: cycles(args.cpu_measure),
        gpu_cycles: cycles(args.gpu_cycles),
        longest: cycles(args.longest),
        scale: args.scale.or(args.tenth.then_some(0.1)),
        pairs: args.pairs.clone(),
        workload: args.workload.clone(),
        load: args.workload.as_ref().map(|name| loader(name, &args.traces.set)).transpose()?,
        cycles: cycles(args.cycles),
        references: references(traces)?,
        cache: Some(traces.cache.clone()),
        progress: Some(progress()),
    };
    show(study.start(&request), "study-", traces.out.as_deref())
}

/// Returns a function that loads a model or a trace, after loading it once to report its errors early.
fn loader(name: &str, set: &[(String, String)]) -> Result<LoadFn, Failure> {
    let (name, parameters) = (name.to_owned(), Settings::of(set).model);
    let load = move || {
        if inputs::is_trace(&name) {
            Ok::<_, Failure>(load_trace(Path::new(&name), 1, false, &Arc::new(DecodeClock::default()))?.0)
        } else {
            inputs::model(&name, 1, &parameters).map(|model| model.workload())
        }
    };
    load()?;
    Ok(Arc::new(move || load().map_err(|failure| failure.message.into())))
}

/// Period of progress lines if standard error is not a terminal.
const PRINT_PERIOD: Duration = Duration::from_secs(60);

/// Returns a function that reports finished runs: each run on a terminal, one per minute elsewhere.
fn progress() -> ProgressFn {
    let start = Instant::now();
    let last = Mutex::new(start);
    Arc::new(move |line: &str| {
        let line = format!("{:>6.0} s  {line}", start.elapsed().as_secs_f64());
        match last.lock() {
            Ok(mut last) if last.elapsed() >= PRINT_PERIOD => {
                *last = Instant::now();
                output::warn(&line);
            }
            _ => output::print_progress(&line),
        }
    })
}

/// Measures the simulation speed on the host.
///
/// # Errors
/// Fails as [`study`] does.
pub(super) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    let options = BenchOptions {
        threads: args.threads.iter().map(|threads| threads.get() as usize).collect(),
        runs: args.runs.get() as usize,
        only: args.only.clone(),
        native: args.native,
    };
    let (traces, references) = (traces(&args.traces), references(&args.traces)?);
    let check = CheckOptions { only: args.only.clone(), max_cycles: args.max_cycles.map(NonZeroU64::get) };
    let scaling =
        ScalingOptions { threads: options.threads.clone(), runs: options.runs, latency_us: args.latency, barrier_ns: args.barrier };
    let result = match &args.sizes {
        None if args.scaling => warpshard_validate::bench::run_scaling(&traces, &scaling),
        None if args.check => warpshard_validate::bench::run_check(&references, &traces, &check),
        Some(sizes) => warpshard_validate::bench::run_sizes(&traces, sizes, options.runs),
        None if args.process => {
            warpshard_validate::bench::run_process(&references, &traces, accel_sim::configuration_of(traces.machine), &options)
        }
        None => warpshard_validate::bench::run(&references, &traces, &options),
    };
    show(result, "", args.traces.out.as_deref())
}

fn references(args: &TraceSetArgs) -> Result<References, Failure> {
    let folder = args.reference.as_deref().map(References::in_folder).transpose();
    folder.map(|named| named.unwrap_or_default()).map_err(|why| Failure::new(Exit::Workload, why))
}

fn traces(args: &TraceSetArgs) -> Traces<'_> {
    let machine = args.machine.as_deref().unwrap_or(TraceSetArgs::DEFAULT_MACHINE);
    Traces { catalogue: catalogue(), machine, overrides: args.set.clone(), cache: args.cache.clone() }
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
    check_study(&folder, &result.name)?;
    let files = result.files().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    output::print(&result.text())?;
    let folder = destination.write(&files)?;
    output::print(&format!("\nResults in {}\n", folder.display()))?;
    Ok(Exit::Ok)
}
