//! `bench`: how fast the host simulates the standard set, per trace and class, over thread counts and machine sizes.

use std::path::Path;

use super::bench_set::{Class, STANDARD_SET};
use super::compare::{geometric_mean, median};
use super::reference::{native_trace, trace_folder};
use super::{StudyError, StudyOutput, TraceRun, Traces};

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchOptions {
    /// Numbers of worker threads, each compared with the first.
    pub threads: Vec<usize>,
    /// Runs of each trace and thread count, of which the median counts.
    pub runs: usize,
    /// Only traces whose name contains this.
    pub only: Option<String>,
    /// Simulate native files, which are converted into the cache, instead of text.
    pub native: bool,
}

/// The least work that a rate in warp instructions is quoted for.
const ENOUGH_INSTRUCTIONS: u64 = 40_000;

/// Measures the standard set. Runs are interleaved over thread counts, so that a drifting host hits all alike.
///
/// # Errors
/// When no trace could be run.
pub fn run(reference: &Path, traces: &Traces<'_>, options: &BenchOptions) -> Result<StudyOutput, StudyError> {
    let first = *options.threads.first().ok_or_else(|| StudyError::Input("name at least one number of threads".into()))?;
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
    let mut rates: Vec<(Class, f64)> = Vec::new();
    let mut speedups: Vec<(usize, f64)> = Vec::new();
    for &(trace, class) in STANDARD_SET {
        if options.only.as_ref().is_some_and(|only| !trace.contains(only.as_str())) {
            continue;
        }
        let measured = trace_folder(reference, &traces.cache, trace)
            .and_then(|folder| if options.native { native_trace(&folder, &traces.cache, trace) } else { Ok(folder) })
            .and_then(|path| measure(&path, traces, options));
        let measured = match measured {
            Ok(measured) => measured,
            Err(why) => {
                output.note(format!("{trace}: {why}"));
                continue;
            }
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
                speedups.push((*threads, base / seconds));
            } else if run.warp_instructions >= ENOUGH_INSTRUCTIONS {
                rates.push((class, run.warp_instructions as f64 / seconds));
            }
        }
    }
    let all: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    let all = geometric_mean(&all).ok_or_else(|| StudyError::Nothing("no trace of enough instructions ran".into()))?;
    output.figure(
        &format!("geometric mean over traces of at least {ENOUGH_INSTRUCTIONS} warp instructions, {first} thread(s), kinstr/s"),
        all / 1e3,
    );
    for class in [Class::Compute, Class::Memory, Class::Latency] {
        let of_class: Vec<f64> = rates.iter().filter(|(c, _)| *c == class).map(|(_, rate)| *rate).collect();
        if let Some(mean) = geometric_mean(&of_class) {
            output.figure(&format!("of these, {class}, kinstr/s"), mean / 1e3);
        }
    }
    for &threads in &options.threads {
        let of_count: Vec<f64> = speedups.iter().filter(|(t, _)| *t == threads).map(|(_, speedup)| *speedup).collect();
        if let Some(mean) = geometric_mean(&of_count) {
            output.figure(&format!("geometric mean of the speed-up, {threads} threads over {first}"), mean);
        }
    }
    Ok(output)
}

/// Median seconds and the run of the median for each thread count.
fn measure(folder: &Path, traces: &Traces<'_>, options: &BenchOptions) -> Result<Vec<(usize, f64, TraceRun)>, String> {
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
        nearest.map(|run| (median, run)).ok_or_else(|| "no run".to_owned())
    };
    runs.into_iter()
        .zip(&options.threads)
        .map(|(of_count, &threads)| middle(of_count).map(|(seconds, run)| (threads, seconds, run)))
        .collect()
}
