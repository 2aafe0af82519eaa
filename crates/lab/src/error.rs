//! Errors of the tasks of a study.

use thiserror::Error;

use warpshard_chip::{BuildError, CpuLoadError, RunError};
use warpshard_config::ConfigErrors;
use warpshard_energy::EnergyError;
use warpshard_model::ModelError;
use warpshard_policy::registry::PolicyError;
use warpshard_program::ProgramError;
use warpshard_trace::{ConvertError, TraceError};
use warpshard_workload::MixError;

/// Failures of a study's task. The text is a message for the user.
#[derive(Debug, Error)]
pub enum TaskError {
    /// A machine is invalid.
    #[error(transparent)]
    Machine(#[from] ConfigErrors),
    /// Event energies are invalid.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// A kernel model is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A trace is invalid.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A program is invalid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A controller cannot be created.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The load of the CPU cores is invalid.
    #[error(transparent)]
    Cpu(#[from] CpuLoadError),
    /// A machine cannot execute a workload.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A simulation failed.
    #[error(transparent)]
    Simulation(#[from] RunError),
    /// A run cannot be prepared or has failed.
    #[error(transparent)]
    Run(#[from] warpshard_run::Error),
    /// Applications cannot be combined into one workload.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// A trace cannot be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A system call failed.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// The task with this name failed.
    #[error("{task}: {source}")]
    Of {
        /// Name of the task.
        task: String,
        /// Reason of the failure.
        source: Box<TaskError>,
    },
    /// The study rejects its input.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for TaskError {
    fn from(what: String) -> Self {
        Self::Refused(what)
    }
}

impl From<&str> for TaskError {
    fn from(what: &str) -> Self {
        Self::Refused(what.to_owned())
    }
}
