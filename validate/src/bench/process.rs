//! `bench --process`: time of the whole program from text trace to results, compared with the seconds of the reference simulator.
//!
//! Each trace runs in a separate process, from its text form, with reading and writing included, as a user runs it: on all cores by
//! default. The reference has one thread and was measured on another host, so the ratios show only the order of magnitude.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::statistics::{geometric_mean, median};

use super::super::reference::SkippedTraces;
use super::set::{STANDARD_SET, TraceClass};

/// Options of `bench --process`.
pub(super) struct ProcessOptions<'a> {
    /// Name or file of the machine.
    pub(super) machine: &'a str,
    /// Name of the reference's configuration.
    pub(super) configuration: &'a str,
    /// Figures and traces of the reference.
    pub(super) references: &'a References,
    /// Folder of generated traces.
    pub(super) cache: PathBuf,
    /// Numbers of worker threads.
    pub(super) threads: &'a [usize],
    /// Runs of each trace and number of threads; their median is reported.
    pub(super) runs: usize,
    /// Filter: only traces whose name contains this text.
    pub(super) only: Option<&'a str>,
}

/// Measures the standard set.
///
/// # Errors
/// Fails if the reference's results cannot be read, or no trace ran.
pub(super) fn run(process: &ProcessOptions<'_>) -> Result<StudyOutput, StudyError> {
    let rows = crate::accel_sim_results(process.references, process.configuration).map_err(StudyError::reference)?.rows;
    let program = std::env::current_exe().map_err(|error| StudyError::Input(format!("cannot find this program: {error}")))?;
    let title = format!("whole process on {}, from text, against {}", process.machine, process.configuration);
    let mut output = StudyOutput::new("bench-process", title);
    output.columns(&["trace", "class", "threads", "ms", "reference s", "times faster"]);
    let mut ratios: Vec<(TraceClass, usize, f64)> = Vec::new();
    let mut left_out = SkippedTraces::default();
    for &(trace, class) in STANDARD_SET.iter().filter(|(trace, _)| process.only.is_none_or(|only| trace.contains(only))) {
        let Some(theirs) = rows.iter().find(|row| row.trace == trace).map(|row| row.user_seconds) else {
            output.note(format!("{trace}: the reference has no result"));
            continue;
        };
        let Some(folder) = left_out.unwrap_or_skip(trace, crate::trace_folder(process.references, &process.cache, trace), &mut output)
        else {
            continue;
        };
        for &threads in process.threads {
            let seconds = match median_seconds(&program, process, &folder, threads) {
                Ok(seconds) => seconds,
                Err(why) => {
                    output.note(format!("{trace} on {threads} threads: {why}"));
                    continue;
                }
            };
            ratios.push((class, threads, theirs / seconds));
            output.row(vec![
                trace.to_owned(),
                class.to_string(),
                threads.to_string(),
                format!("{:.1}", seconds * 1e3),
                format!("{theirs:.2}"),
                format!("{:.0}", theirs / seconds),
            ]);
        }
    }
    left_out.note_missing(process.references, &mut output);
    for &threads in process.threads {
        let of = |classes: &[TraceClass]| {
            let measured = ratios.iter().filter(|(class, on, _)| classes.contains(class) && *on == threads);
            measured.map(|(_, _, ratio)| *ratio).collect::<Vec<_>>()
        };
        let on = if threads == 1 { "on 1 thread".to_owned() } else { format!("on {threads} threads") };
        for (name, classes) in [
            ("compute", &[TraceClass::Compute][..]),
            ("memory", &[TraceClass::Memory]),
            ("compute and memory", &[TraceClass::Compute, TraceClass::Memory]),
            ("latency", &[TraceClass::Latency]),
        ] {
            if let Some(mean) = geometric_mean(&of(classes)) {
                output.figure(&format!("times faster {on}, geometric mean, {name}"), mean);
            }
        }
        if let Some(least) = of(&[TraceClass::Compute]).into_iter().min_by(f64::total_cmp) {
            output.figure(&format!("times faster {on}, least of compute"), least);
        }
    }
    if ratios.is_empty() { Err(StudyError::Nothing("no trace ran".into())) } else { Ok(output) }
}

/// Returns the median seconds of a process that runs the trace.
fn median_seconds(program: &Path, process: &ProcessOptions<'_>, folder: &Path, threads: usize) -> Result<f64, TaskError> {
    let out = tempfile::tempdir()?;
    let mut all = Vec::new();
    for run in 0..process.runs.max(1) {
        let mut command = Command::new(program);
        command.arg("run").args(["--machine", process.machine, "--threads", &threads.to_string()]);
        command.arg("--trace").arg(folder.join("kernelslist.g")).arg("--out").arg(out.path().join(run.to_string()));
        // Backtraces of errors cost time that a user does not spend.
        command.env_remove("RUST_BACKTRACE").stdout(Stdio::null()).stderr(Stdio::null());
        let begun = Instant::now();
        let status = command.status()?;
        all.push(begun.elapsed().as_secs_f64());
        if !status.success() {
            return Err(format!("the run ended with {status}").into());
        }
    }
    median(&all).ok_or_else(|| "no run".to_owned()).map_err(TaskError::from)
}
