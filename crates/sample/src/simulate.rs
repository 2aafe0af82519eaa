//! The simulation function of a sampled run, and its errors.

use std::sync::Arc;

use warpshard_chip::{LaunchSelection, RunError, RunResult};
use warpshard_workload::Workload;

/// The reason why a sampled run has no estimates.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Sampling is not sound for the machine or workload, or the options are invalid.
    #[error("a sampled run is not possible: {0}")]
    Unsuited(String),
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The user interrupted the run.
    #[error("the sampled run was interrupted before it had estimates")]
    Interrupted,
}

/// A function that simulates a workload and measures each launch.
pub type SimulateFn<'a> = dyn FnMut(&Arc<Workload>, Option<LaunchSelection>) -> Result<RunResult, RunError> + 'a;
