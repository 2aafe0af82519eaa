//! Errors of a machine, a workload and controllers that do not fit each other.

use thiserror::Error;

use warpshard_config::MachineError;
use warpshard_engine::SetupError;
use warpshard_noc::SpecError;
use warpshard_seam::WiringError;
use warpshard_workload::SpreadError;

use crate::CpuLoadError;

/// A machine, a workload and controllers do not fit each other. The text is a message for the user.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The CPU cores cannot do what they are to.
    #[error(transparent)]
    Cpu(#[from] CpuLoadError),
    /// A network cannot be built.
    #[error(transparent)]
    Network(#[from] SpecError),
    /// Values of the machine contradict each other.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A topology cannot carry packets.
    #[error(transparent)]
    Topology(#[from] WiringError),
    /// The workload cannot be spread over the GPUs of a system.
    #[error(transparent)]
    Spread(#[from] SpreadError),
    /// The units cannot be stepped.
    #[error(transparent)]
    Engine(#[from] SetupError),
    /// Anything else that does not fit.
    #[error("{0}")]
    Unfit(String),
}

impl From<String> for BuildError {
    fn from(why: String) -> Self {
        Self::Unfit(why)
    }
}

impl From<&str> for BuildError {
    fn from(why: &str) -> Self {
        Self::Unfit(why.to_owned())
    }
}
