//! Who simulates, and why there may be no estimates.

use std::sync::Arc;

use warpshard_chip::{Measure, RunError, RunResult};
use warpshard_workload::Workload;

/// Why there are no estimates.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// What sampling is not sound for, or cannot be asked for.
    #[error("a sampled run is not possible: {0}")]
    Unsuited(String),
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The user ended it.
    #[error("the sampled run was interrupted before there were estimates")]
    Interrupted,
}

/// Simulates a workload, with its launches measured one by one.
pub type Simulate<'a> = dyn FnMut(&Arc<Workload>, Option<Measure>) -> Result<RunResult, RunError> + 'a;
