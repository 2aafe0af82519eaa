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

/// A failure of the setup or the simulation of a run. The text is a message for the user.
#[derive(Debug, Error)]
pub enum Error {
    /// An option has an invalid value, or two options contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A requested controller cannot be created.
    #[error("--policy {text}: {source}")]
    Policy {
        /// The requested controller, as given.
        text: String,
        /// The problem of the controller.
        source: PolicyError,
    },
    /// The machine is invalid.
    #[error(transparent)]
    Machine(#[from] ConfigErrors),
    /// The machine's event energies are invalid.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// The machine does not support the CPU load.
    #[error(transparent)]
    CpuLoad(CpuLoadError),
    /// The applications of the CPU cores are invalid.
    #[error("--cpu {0}")]
    Cpu(#[source] CpuLoadError),
    /// The kernel model is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The trace is invalid.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The program is invalid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The machine has no unit that could execute the code.
    #[error(
        "{what} has tensor instructions (code for sm_{arch}), and the GPU of {machine}, of compute capability {capability}, has no tensor cores; choose \
         a machine of compute capability 7.0 or later, or code without them"
    )]
    Unfit {
        /// The kernel or program with the code.
        what: String,
        /// Target architecture of the code.
        arch: u32,
        /// Name of the machine.
        machine: String,
        /// Compute capability of the machine's GPU.
        capability: Capability,
    },
    /// The machine has no tensor memory accelerator.
    #[error(
        "{what} has bulk copies of the tensor memory accelerator, which {machine} does not have; choose a machine with `gpu.sm.style = \"control-words\"` \
         (h100), or execute the program without timing with `warpshard exec`"
    )]
    NoBulkCopies {
        /// The kernel with the bulk copies.
        what: String,
        /// Name of the machine.
        machine: String,
    },
    /// The machine has no programmatic dependent launch.
    #[error(
        "{what} is a programmatic dependent launch, which {machine} does not have; choose a machine with `gpu.sm.style = \"control-words\"` and compute \
         capability 9.0 or later (h100), or launch it without `programmatic`"
    )]
    NoDependentLaunches {
        /// The kernel with the dependent launch.
        what: String,
        /// Name of the machine.
        machine: String,
    },
    /// The applications cannot be combined into one workload.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The file of a mix of applications is invalid.
    #[error("{}: {problem}", file.display())]
    MixFile {
        /// The mix file.
        file: PathBuf,
        /// The problem of the file.
        problem: String,
    },
    /// An input file of the run cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The input file.
        file: PathBuf,
        /// Error of the read.
        source: io::Error,
    },
    /// A sampled run failed because of its sampling.
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
    /// Returns the exit code of the program for this error.
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
