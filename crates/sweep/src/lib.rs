//! Sweeps: many runs from one plan.
//!
//! Input: a plan file ([`Plan`]). It expands to [`Run`]s, each of which is the options of one `warpshard run`. Results are stored by content in
//! a [`Store`], so that a sweep that was killed goes on where it was, and collected into one [`Table`]. [`submit`] gives slices of a plan
//! to batch systems. How a run is simulated is not known here.
#![forbid(unsafe_code)]

mod digest;
mod expand;
mod plan;
mod slice;
mod store;
pub mod submit;
mod table;
mod values;

pub use digest::{Digest, Digests, Recipe};
pub use expand::Run;
pub use plan::{Plan, PlanError, Workload};
pub use slice::Slice;
pub use store::{Entry, Staging, Store};
pub use table::Table;
