//! Sampled runs.

use std::sync::Arc;

use warpshard_chip::{Progress, RunOptions, RunResult};
use warpshard_config::Machine;
use warpshard_sample::{SamplingOptions, sample};
use warpshard_sync::{Published, StopFlag};
use warpshard_workload::Workload;

use super::Error;

/// Simulates a sample; `options` creates the options of each round.
///
/// # Errors
/// See [`SampleError`](warpshard_sample::SampleError).
pub(crate) fn simulate(
    machine: &Machine,
    workload: &Arc<Workload>,
    sampling: &SamplingOptions,
    (stop, progress): (&StopFlag, Option<&Published<Progress>>),
    options: impl Fn() -> RunOptions,
) -> Result<RunResult, Error> {
    let mut round = |part: &Arc<Workload>, measure| {
        let options = RunOptions { measure, stop: stop.clone(), progress: progress.cloned(), ..options() };
        warpshard_chip::simulate(machine, part, options)
    };
    sample(machine, workload, sampling, &mut round).map_err(Error::Sample)
}
