//! A run: what it is asked for and what it gives. The command line, sweeps, studies and the Python package all go this way, so that equal requests
//! give equal results and equal files.
//!
//! In: a [`Request`], and a [`Catalogue`] of what it can name. Out: [`Finished`], with everything that a result folder holds, or an [`Error`].
//! [`simulate`] does all of it; [`Opened`] and [`Ready`] are its steps, for programs that bring a machine, a workload or controllers of their own.
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
pub use experiment::{refuse_another, refuse_another_study};
pub use files_of::files_of;
pub use fits::{listing_for, of_code, refuse};
pub use numbers::{Numbers, NumbersError};
pub use request::{ArchitectureError, Cpu, DEFAULT_MODEL, MODEL_PREFIX, Record, Request, Source, Until, architecture};
pub use select::select;
pub use session::{Finished, Opened, Ready, controllers_of, simulate};
