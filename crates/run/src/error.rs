//! Errors of a run.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use warpshard_chip::{CpuLoadError, RunError};
use warpshard_config::ConfigErrors;
use warpshard_config::machine::Capability;
use warpshard_energy::EnergyError;
use warpshard_model::ModelError;
use warpshard_policy::registry::PolicyError;
use warpshard_program::ProgramError;
use warpshard_sample::SampleError;
use warpshard_trace::TraceError;
use warpshard_workload::MixError;

use super::checkpoint::CheckpointError;
use super::exit::Exit;

/// A run could not be set up, or it failed. The text is a message for the user.
#[derive(Debug, Error)]
pub enum Error {
    /// An option says what is not possible, or two contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A controller that was asked for cannot be made.
    #[error("--policy {text}: {source}")]
    Policy {
        /// What was asked for.
        text: String,
        /// What is wrong with it.
        source: PolicyError,
    },
    /// The machine is wrong.
    #[error(transparent)]
    Machine(#[from] ConfigErrors),
    /// The machine's event energies are wrong.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// Machine and CPU load do not suit each other.
    #[error(transparent)]
    CpuLoad(CpuLoadError),
    /// The applications of the CPU cores are wrong.
    #[error("--cpu {0}")]
    Cpu(#[source] CpuLoadError),
    /// The kernel model is wrong.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The trace is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The program is wrong.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The machine has nothing that could execute the code.
    #[error(
        "{what} has tensor instructions (code for sm_{arch}), and the GPU of {machine}, of compute capability {capability}, has no tensor cores; choose \
         a machine of compute capability 7.0 or later, or code without them"
    )]
    Unfit {
        /// What has the code.
        what: String,
        /// The architecture that it is for.
        arch: u32,
        /// The machine.
        machine: String,
        /// The compute capability of its GPU.
        capability: Capability,
    },
    /// The machine has no tensor memory accelerator.
    #[error(
        "{what} has bulk copies of the tensor memory accelerator, which {machine} does not have; choose a machine with `gpu.sm.style = \"control-words\"` \
         (h100), or execute the program without timing with `warpshard exec`"
    )]
    NoBulkCopies {
        /// What has the code.
        what: String,
        /// The machine.
        machine: String,
    },
    /// The machine has no programmatic dependent launch.
    #[error(
        "{what} is a programmatic dependent launch, which {machine} does not have; choose a machine with `gpu.sm.style = \"control-words\"` and compute \
         capability 9.0 or later (h100), or launch it without `programmatic`"
    )]
    NoDependentLaunches {
        /// What is launched so.
        what: String,
        /// The machine.
        machine: String,
    },
    /// Applications cannot be put together.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The file of a mix of applications is wrong.
    #[error("{}: {problem}", file.display())]
    MixFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file that the run is read from cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The run was sampled and could not be.
    #[error(transparent)]
    Sample(SampleError),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] RunError),
    /// A checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

impl Error {
    /// How the program ends for it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Policy { .. } | Self::Sample(SampleError::Unsuited(_)) => Exit::Usage,
            Self::Machine(_) | Self::Energy(_) | Self::CpuLoad(_) => Exit::Config,
            Self::Cpu(_) | Self::Model(_) | Self::Trace(_) | Self::Program(_) | Self::Mix(_) => Exit::Workload,
            Self::MixFile { .. } | Self::Unreadable { .. } | Self::Unfit { .. } => Exit::Workload,
            Self::NoBulkCopies { .. } | Self::NoDependentLaunches { .. } => Exit::Workload,
            Self::Sample(SampleError::Interrupted) => Exit::Interrupted,
            Self::Checkpoint(_) => Exit::Checkpoint,
            Self::Sample(SampleError::Run(error)) | Self::Simulation(error) => match error {
                RunError::Config(_) => Exit::Config,
                RunError::Trace(_) => Exit::Workload,
                RunError::Deadlock(_) => Exit::Deadlock,
                RunError::Panic(_) => Exit::Internal,
                RunError::Checkpoint(_) => Exit::Checkpoint,
            },
        }
    }
}
