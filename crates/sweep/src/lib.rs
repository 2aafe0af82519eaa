//! Sweeps: many runs from one plan.
//!
//! A plan file ([`Plan`]) expands to [`SweepRun`]s, each of which is a request of a run. [`PreparedSweep`] checks all runs, simulates several at the
//! same time in this process and stores results by content in a [`Store`], so that a sweep that was killed can continue; the results are
//! collected in one [`SweepTable`]. [`submit`] submits slices of a plan to batch systems.
#![forbid(unsafe_code)]

mod error;
mod execute;
mod expand;
mod memory;
mod picture;
mod plan;
mod planned;
mod prepare;
mod slice;
mod store;
pub mod submit;
mod table;
mod values;
mod watch;

pub use error::SweepError;
pub use execute::{Limits, RunCounts};
pub use expand::SweepRun;
pub use memory::{Bytes, BytesError};
pub use plan::{Plan, PlanError, PlannedWorkload};
pub use planned::{PreparedSweep, default_folder};
pub use slice::{Slice, SliceError};
pub use store::{Staging, Store, StoreEntry};
pub use table::SweepTable;
pub use warpshard_run::Digest;
pub use watch::SweepWatch;
