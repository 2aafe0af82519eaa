//! Runs with their results in memory, in the form of the output files.

use warpshard::chip::{RunOptions, RunResult, simulate};
use warpshard::report::{RunFacts, csv, json};

use crate::common::SimulationCase;

/// Simulated files of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResultFiles {
    pub(crate) stats: String,
    pub(crate) intervals: String,
    pub(crate) timeline: String,
    pub(crate) cycles: u64,
    pub(crate) counted_until: u64,
}

pub(crate) fn run(case: &SimulationCase, options: RunOptions) -> ResultFiles {
    files(case, &simulate(&case.machine, &case.workload, options).unwrap_or_else(|error| panic!("{}: {error}", case.name)))
}

/// Runs on two threads and requests a stop after some host time.
pub(crate) fn run_stopped(case: &SimulationCase, after: std::time::Duration) -> ResultFiles {
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let stop = options.stop.clone();
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(after);
            stop.request();
        });
        simulate(&case.machine, &case.workload, options)
    });
    files(case, &result.unwrap_or_else(|error| panic!("{}: {error}", case.name)))
}

pub(crate) fn files(case: &SimulationCase, result: &RunResult) -> ResultFiles {
    let facts = RunFacts::of(&case.machine, &case.workload.name, 1);
    ResultFiles {
        stats: json::stats(&facts, &result.outcome),
        intervals: csv::intervals(&result.outcome.intervals),
        timeline: csv::timeline(&result.outcome.timeline),
        cycles: result.outcome.cycles,
        counted_until: result.outcome.counted_until,
    }
}
