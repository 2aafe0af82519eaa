//! Sweeps: many runs from one plan.
//!
//! A plan file ([`Plan`]) expands to [`Run`]s, each of which is a request of a run. [`Planned`] checks all runs, simulates several at the
//! same time in this process and stores results by content in a [`Store`], so that a sweep that was killed can continue; the results are
//! collected in one [`Table`]. [`submit`] submits slices of a plan to batch systems.
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
pub use execute::{Done, Limits};
pub use expand::Run;
pub use memory::{Bytes, BytesError};
pub use plan::{Plan, PlanError, Workload};
pub use planned::{Planned, default_folder};
pub use slice::{Slice, SliceError};
pub use store::{Entry, Staging, Store};
pub use table::Table;
pub use warpshard_run::Digest;
pub use watch::Watch;
