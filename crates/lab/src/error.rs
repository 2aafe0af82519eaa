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

/// A task of a study failed. The text is a message for the user.
#[derive(Debug, Error)]
pub enum TaskError {
    /// A machine is wrong.
    #[error(transparent)]
    Machine(#[from] ConfigErrors),
    /// Event energies are wrong.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// A kernel model is wrong.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A trace is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A program is wrong.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A controller cannot be made.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The CPU cores cannot do what they are to.
    #[error(transparent)]
    Cpu(#[from] CpuLoadError),
    /// A machine and a workload do not work together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A simulation failed.
    #[error(transparent)]
    Simulation(#[from] RunError),
    /// A run cannot be made or did not end well.
    #[error(transparent)]
    Run(#[from] warpshard_run::Error),
    /// Applications do not make one workload.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// A trace cannot be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The system refuses something.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// The task of this name failed.
    #[error("{task}: {source}")]
    Of {
        /// The task.
        task: String,
        /// Why.
        source: Box<TaskError>,
    },
    /// What the study itself refuses.
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
