//! `bench`: speed of simulating the standard set on the host, per trace and class, over thread counts and machine sizes.

mod check;
mod cost;
mod process;
mod scaling;
mod set;
mod sizes;

use std::path::{Path, PathBuf};

use warpshard_lab::error::TaskError;

use super::reference::{SkippedTraces, native_trace};
use super::{TraceRun, Traces};
pub use check::CheckOptions;
use cost::{CostLine, CostSample, WORK_KINDS};
pub use scaling::ScalingOptions;
use set::{TraceClass, all_traces};
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::statistics::{geometric_mean, median};

pub(super) use set::{STANDARD_SET, TraceOrigin};

/// Options of `bench`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchOptions {
    /// Numbers of worker threads; each is compared with the first.
    pub threads: Vec<usize>,
    /// Runs of each trace and thread count; their median is reported.
    pub runs: usize,
    /// Filter: only traces whose name contains this text.
    pub only: Option<String>,
    /// `true` to simulate native traces, converted into the cache, instead of text traces.
    pub native: bool,
}

/// Minimum seconds on the first number of threads for a trace's speed-up to count.
const MIN_SECONDS: f64 = 0.1;
/// Minimum warp instructions of a trace for its rate to be quoted.
const MIN_WARP_INSTRUCTIONS: u64 = 40_000;

/// Measures the standard set and the irregular set. Runs are interleaved over thread counts, so that a drift of the host's speed affects
/// all counts alike.
///
/// # Errors
/// Fails if no trace ran.
pub fn run(references: &References, traces: &Traces<'_>, options: &BenchOptions) -> Result<StudyOutput, StudyError> {
    let first = *options.threads.first().ok_or_else(|| StudyError::Input("expected at least one number of threads".into()))?;
    let mut output = StudyOutput::new(
        "bench",
        format!(
            "host speed on {}, simulate part, medians of {} runs{}",
            traces.machine,
            options.runs,
            if options.native { ", native traces" } else { "" }
        ),
    );
    output.columns(&[
        "trace",
        "class",
        "threads",
        "warp instr",
        "cycles",
        "ms",
        "kinstr/s",
        "kcycles/s",
        "ksectors/s",
        "speed-up",
        "wait %",
        "decode ms",
    ]);
    let mut rates: Vec<(TraceClass, f64)> = Vec::new();
    let mut of_classes: Vec<(TraceClass, f64)> = Vec::new();
    let mut samples: Vec<(&str, CostSample)> = Vec::new();
    let mut speedups: Vec<(usize, f64)> = Vec::new();
    let mut left_out = SkippedTraces::default();
    for &(trace, class) in all_traces() {
        if options.only.as_ref().is_some_and(|only| !trace.contains(only.as_str())) {
            continue;
        }
        let measured = |folder: PathBuf| {
            let path = if options.native { native_trace(&folder, &traces.cache, trace)? } else { folder };
            measure_trace(&path, traces, options)
        };
        let Some(measured) = left_out.unwrap_or_skip(
            trace,
            crate::trace_folder(references, &traces.cache, trace).and_then(|folder| folder.map(measured).transpose()),
            &mut output,
        ) else {
            continue;
        };
        let base = measured[0].1;
        for (threads, seconds, run) in &measured {
            let per_second = |amount: u64| amount as f64 / seconds / 1e3;
            output.row(vec![
                trace.to_owned(),
                class.to_string(),
                threads.to_string(),
                run.warp_instructions.to_string(),
                run.cycles.to_string(),
                format!("{:.2}", seconds * 1e3),
                format!("{:.0}", per_second(run.warp_instructions)),
                format!("{:.0}", per_second(run.cycles)),
                format!("{:.0}", per_second(run.llc_accesses)),
                format!("{:.2}", base / seconds),
                format!("{:.1}", run.wait_share * 100.0),
                format!("{:.1}", run.decode_seconds * 1e3),
            ]);
            if *threads != first {
                if base >= MIN_SECONDS {
                    speedups.push((*threads, base / seconds));
                }
                continue;
            }
            if run.warp_instructions >= MIN_WARP_INSTRUCTIONS {
                rates.push((class, run.warp_instructions as f64 / seconds));
            }
            of_classes.push((class, class.work_amount(run) as f64 / seconds));
            let work = [run.warp_instructions, run.l1_accesses, run.llc_accesses, run.active_sm_cycles].map(|amount| amount as f64);
            samples.push((trace, CostSample { work, seconds: *seconds }));
        }
    }
    left_out.note_missing(references, &mut output);
    let all: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    let all = geometric_mean(&all).ok_or_else(|| StudyError::Nothing("no trace with enough instructions ran".into()))?;
    output.figure(
        &format!("geometric mean over traces of at least {MIN_WARP_INSTRUCTIONS} warp instructions, {first} thread(s), kinstr/s"),
        all / 1e3,
    );
    for class in [TraceClass::Compute, TraceClass::Memory, TraceClass::Latency] {
        let of_class: Vec<f64> = of_classes.iter().filter(|(c, _)| *c == class).map(|(_, rate)| *rate).collect();
        if let Some(mean) = geometric_mean(&of_class) {
            output.figure(&format!("geometric mean of {class}, {} per second, millions", class.work_unit()), mean / 1e6);
        }
    }
    if first == 1 {
        describe_costs(&samples, &mut output);
    }
    for &threads in &options.threads {
        let of_count: Vec<f64> = speedups.iter().filter(|(t, _)| *t == threads).map(|(_, speedup)| *speedup).collect();
        if let Some(mean) = geometric_mean(&of_count) {
            output.figure(
                &format!("geometric mean of the speed-up, {threads} threads over {first}, traces of at least {MIN_SECONDS} s"),
                mean,
            );
        }
    }
    Ok(output)
}

/// Predicts the speed-up on many workers and ranks from recorded runs, and measures it on a few.
///
/// # Errors
/// Fails if the machine cannot be built or does not run.
pub fn run_scaling(traces: &Traces<'_>, options: &ScalingOptions) -> Result<StudyOutput, StudyError> {
    scaling::run(traces.machine, &traces.overrides, options)
}

/// Measures the host cost of a warp instruction on machines with these numbers of SMs.
///
/// # Errors
/// Fails if a machine of one of the sizes cannot be built or does not run.
pub fn run_sizes(traces: &Traces<'_>, sizes: &[u32], runs: usize) -> Result<StudyOutput, StudyError> {
    sizes::run(traces.machine, &traces.overrides, sizes, runs)
}

/// Compares the standard set's results over numbers of threads and lengths of epochs.
///
/// # Errors
/// Fails if results differ, or no trace ran.
pub fn run_check(references: &References, traces: &Traces<'_>, options: &CheckOptions) -> Result<StudyOutput, StudyError> {
    check::run(references, traces, options)
}

/// Measures whole processes against the reference's seconds on `configuration`.
///
/// # Errors
/// Fails if the reference's results cannot be read, or no trace ran.
pub fn run_process(
    references: &References,
    traces: &Traces<'_>,
    configuration: &str,
    options: &BenchOptions,
) -> Result<StudyOutput, StudyError> {
    process::run(&process::ProcessOptions {
        machine: traces.machine,
        configuration,
        references,
        cache: traces.cache.clone(),
        threads: &options.threads,
        runs: options.runs,
        only: options.only.as_deref(),
    })
}

/// Reports the fitted host cost per kind of work, and the residual of each trace.
fn describe_costs(samples: &[(&str, CostSample)], output: &mut StudyOutput) {
    let all: Vec<CostSample> = samples.iter().map(|(_, sample)| *sample).collect();
    let Some(line) = CostLine::fit(&all) else { return };
    for (kind, cost) in WORK_KINDS.iter().zip(line.costs) {
        output.figure(&format!("fitted cost, ns per {kind}"), cost * 1e9);
    }
    let residuals: Vec<String> =
        samples.iter().map(|(trace, sample)| format!("{trace} {:+.0} %", 100.0 * line.relative_residual(sample))).collect();
    output.note(format!("error of the fitted times: {}", residuals.join(", ")));
}

/// Returns the median seconds and the run nearest to the median for each thread count.
fn measure_trace(folder: &Path, traces: &Traces<'_>, options: &BenchOptions) -> Result<Vec<(usize, f64, TraceRun)>, TaskError> {
    let mut runs: Vec<Vec<TraceRun>> = vec![Vec::new(); options.threads.len()];
    for _ in 0..options.runs.max(1) {
        for (of_count, &threads) in runs.iter_mut().zip(&options.threads) {
            of_count.push(traces.run(folder, threads, &[])?);
        }
    }
    let middle = |of_count: Vec<TraceRun>| {
        let seconds: Vec<f64> = of_count.iter().map(|run| run.simulate_seconds).collect();
        let median = median(&seconds).unwrap_or(f64::NAN);
        let nearest =
            of_count.into_iter().min_by(|a, b| (a.simulate_seconds - median).abs().total_cmp(&(b.simulate_seconds - median).abs()));
        nearest.map(|run| (median, run)).ok_or_else(|| TaskError::from("no run"))
    };
    runs.into_iter()
        .zip(&options.threads)
        .map(|(of_count, &threads)| middle(of_count).map(|(seconds, run)| (threads, seconds, run)))
        .collect()
}
