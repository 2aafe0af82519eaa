//! A run from its request to its results. The command line, sweeps, studies and the Python package all use this package, so that equal
//! requests give equal results and equal files.
//!
//! Inputs: a [`Request`], and a [`Catalogue`] of the names that it may use. Outputs: [`FinishedRun`], with the contents of a result folder, or
//! an [`Error`]. [`simulate`] does a whole run; [`OpenedRun`] and [`LoadedRun`] are its steps, for programs that supply a machine, a workload or
//! controllers.
#![forbid(unsafe_code)]

mod applications;
mod catalogue;
mod checkpoint;
mod clock;
mod configuration;
mod digest;
mod error;
mod exit;
mod experiment;
mod files;
mod files_of;
mod fits;
pub mod inputs;
mod numbers;
mod request;
mod run_toml;
mod sampled;
mod select;
mod session;
mod threads;

pub use catalogue::Catalogue;
pub use checkpoint::{CheckpointError, remove_checkpoint};
pub use clock::clock_under_load;
pub use configuration::configuration_of;
pub use digest::{Digest, Digests, Recipe};
pub use error::Error;
pub use exit::{Exit, TABLE as EXIT_CODES, exit_codes};
pub use experiment::{check_experiment, check_study};
pub use files_of::files_of;
pub use fits::{check_code, code_notes, listing_for};
pub use numbers::{UnitNumbers, UnitNumbersError};
pub use request::{
    ArchitectureError, CpuOptions, DEFAULT_MODEL, MODEL_PREFIX, RecordingOptions, Request, RunCondition, WorkloadSource, architecture,
};
pub use select::select;
pub use session::{FinishedRun, LoadedRun, OpenedRun, controllers_of, simulate};
