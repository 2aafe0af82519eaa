//! Errors of a machine, a workload and controllers that are incompatible.

use thiserror::Error;

use warpshard_config::MachineError;
use warpshard_engine::SetupError;
use warpshard_noc::SpecError;
use warpshard_seam::WiringError;
use warpshard_workload::SpreadError;

use crate::CpuLoadError;

/// An incompatibility of a machine, a workload and controllers. The text is a message for the user.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The load of the CPU cores is invalid.
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
    /// The workload cannot be distributed over the GPUs of a system.
    #[error(transparent)]
    Spread(#[from] SpreadError),
    /// The units cannot be stepped.
    #[error(transparent)]
    Engine(#[from] SetupError),
    /// Any other incompatibility.
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
