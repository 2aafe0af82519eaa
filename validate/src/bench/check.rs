//! `bench --check`: checks that the standard set produces the same bytes for every number of threads and epoch length.
//!
//! Each trace runs on one, two and three threads, with epochs as long as the machine's lookahead and with epochs of a third of the
//! lookahead. Every file that holds simulated results is compared with the file of the first run. The check ends at the first difference.
//! Host times are not compared, so the check may run on a busy host.

use std::path::PathBuf;
use std::sync::Arc;

use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Machine, Override};
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_report::{RunFacts, csv, json};
use warpshard_workload::Workload;

use super::super::Traces;
use super::super::reference::SkippedTraces;
use super::set::STANDARD_SET;

/// Numbers of worker threads.
const WORKER_COUNTS: [usize; 3] = [1, 2, 3];
/// Divisor of the lookahead that gives the second epoch length.
const EPOCH_DIVISOR: u64 = 3;
/// Core cycles of a row of the interval series.
const INTERVAL_CYCLES: u64 = 1000;

/// Options of `bench --check`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// Filter: only traces whose name contains this text.
    pub only: Option<String>,
    /// Core cycle at which runs end; by default a run ends with its workload.
    pub max_cycles: Option<u64>,
}

/// The files of a run that hold simulated results.
struct SimulatedFiles {
    files_by_name: [(&'static str, String); 3],
    cycles: u64,
    lookahead: u64,
}

/// Checks the standard set.
///
/// # Errors
/// Fails if results differ ([`StudyError::Differs`]), or no trace ran.
pub(super) fn run(references: &References, traces: &Traces<'_>, options: &CheckOptions) -> Result<StudyOutput, StudyError> {
    let overrides: Vec<Override> = traces.overrides.iter().map(|(key, value)| Override::new(key, value)).collect();
    let machine = traces.catalogue.machine(traces.machine, &overrides).map_err(StudyError::input)?.machine;
    let mut output = StudyOutput::new("bench-check", format!("the same bytes for every way of running on {}", machine.name));
    output.columns(&["trace", "class", "cycles", "ways of running", "differences"]);
    let (mut checked, mut left_out) = (0, SkippedTraces::default());
    for &(trace, class) in STANDARD_SET.iter().filter(|(trace, _)| options.only.as_ref().is_none_or(|only| trace.contains(only))) {
        let load =
            |folder: PathBuf| warpshard_trace::load(&folder, &warpshard_trace::TraceOptions::default()).map_err(|error| error.to_string());
        let Some(workload) = left_out.unwrap_or_skip(
            trace,
            crate::trace_folder(references, &traces.cache, trace).and_then(|folder| folder.map(load).transpose().map_err(TaskError::from)),
            &mut output,
        ) else {
            continue;
        };
        let workload = Arc::new(workload);
        let (ways, cycles) = check_trace(trace, &machine, &workload, options.max_cycles)?;
        checked += 1;
        output.row(vec![trace.to_owned(), class.to_string(), cycles.to_string(), ways.to_string(), "none".to_owned()]);
    }
    left_out.note_missing(references, &mut output);
    output.figure("traces checked", f64::from(checked));
    if checked == 0 { Err(StudyError::Nothing("no trace ran".into())) } else { Ok(output) }
}

/// Runs a trace in all ways; returns the number of ways and the trace's cycles.
fn check_trace(trace: &str, machine: &Machine, workload: &Arc<Workload>, max_cycles: Option<u64>) -> Result<(usize, u64), StudyError> {
    let run = |threads, epoch| {
        let options = RunOptions { threads, epoch, max_cycles, interval: Some(INTERVAL_CYCLES), ..RunOptions::default() };
        simulated_files(machine, workload, options).map_err(|why| StudyError::Input(format!("{trace}: {why}")))
    };
    let base = run(WORKER_COUNTS[0], None)?;
    let shorter = (base.lookahead / EPOCH_DIVISOR).max(1);
    let all = [None, Some(shorter)].into_iter().flat_map(|epoch| WORKER_COUNTS.map(|threads| (threads, epoch)));
    let ways: Vec<_> = all.skip(1).collect();
    for &(threads, epoch) in &ways {
        let other = run(threads, epoch)?;
        for ((name, theirs), (_, ours)) in base.files_by_name.iter().zip(&other.files_by_name) {
            if let Some(difference) = first_difference(theirs, ours) {
                let epoch = epoch.unwrap_or(base.lookahead);
                return Err(StudyError::Differs(format!(
                    "{trace}: {name} on {threads} thread(s) with epochs of {epoch} cycles differs from one thread with epochs of \
                     {} cycles: {difference}",
                    base.lookahead
                )));
            }
        }
    }
    Ok((ways.len() + 1, base.cycles))
}

fn simulated_files(machine: &Machine, workload: &Arc<Workload>, options: RunOptions) -> Result<SimulatedFiles, TaskError> {
    let result = simulate(machine, workload, options)?;
    let facts = RunFacts::of(machine, &workload.name, 1);
    let named = [
        ("stats.json", json::stats(&facts, &result.outcome)),
        ("intervals.csv", csv::intervals(&result.outcome.intervals)),
        ("timeline.csv", csv::timeline(&result.outcome.timeline)),
    ];
    Ok(SimulatedFiles { files_by_name: named, cycles: result.outcome.cycles, lookahead: result.host.lookahead_cycles })
}

/// Describes the first line in which two texts differ.
fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (mut theirs, mut ours) = (expected.lines(), found.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (theirs.next(), ours.next()) {
            (Some(expected), Some(found)) if expected == found => {}
            (None, None) => return Some("only the line endings differ".to_owned()),
            (expected, found) => {
                let shown = |line: Option<&str>| line.map_or("the end".to_owned(), |line| format!("`{}`", line.trim()));
                return Some(format!("line {number} is {}, expected {}", shown(found), shown(expected)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\n  b: 1,\nc", "a\n  b: 2,\nd").as_deref(), Some("line 2 is `b: 2,`, expected `b: 1,`"));
        assert_eq!(first_difference("a\nb", "a").as_deref(), Some("line 2 is the end, expected `b`"));
        assert_eq!(first_difference("a\n", "a").as_deref(), Some("only the line endings differ"));
    }
}
