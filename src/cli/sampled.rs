//! Sampled runs of the command line.

use std::sync::Arc;

use warpshard_sync::{Published, StopFlag};

use warpshard_chip::{Progress, RunOptions, RunResult};
use warpshard_config::Machine;
use warpshard_sample::{Options, SampleError, sample};
use warpshard_workload::Workload;

use super::exit::{Exit, Failure};

impl From<SampleError> for Failure {
    fn from(error: SampleError) -> Self {
        match error {
            SampleError::Run(error) => error.into(),
            SampleError::Unsuited(_) => Self::new(Exit::Usage, format!("--sample: {error}")),
            SampleError::Interrupted => Self::new(Exit::Interrupted, format!("{error}; nothing was written")),
        }
    }
}

/// Simulates a sample; `options` makes the options of each round.
///
/// # Errors
/// See [`SampleError`].
pub(super) fn simulate(
    machine: &Machine,
    workload: &Arc<Workload>,
    sampling: &Options,
    (stop, progress): (&StopFlag, Option<&Published<Progress>>),
    options: impl Fn() -> RunOptions,
) -> Result<RunResult, Failure> {
    let mut round = |part: &Arc<Workload>, measure| {
        let options = RunOptions { measure, stop: stop.clone(), progress: progress.cloned(), ..options() };
        warpshard_chip::simulate(machine, part, options)
    };
    Ok(sample(machine, workload, sampling, &mut round)?)
}
