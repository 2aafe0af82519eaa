//! Sampled runs: a part of a long workload is simulated in full detail, and the rest is estimated from it, with confidence intervals.
//!
//! Inputs: a machine, a workload of launches that run one after another, [`SamplingOptions`], and a function that simulates. Outputs: an
//! [`Outcome`](warpshard_stats::Outcome) whose numbers are estimates, with [`SamplingData`](warpshard_stats::SamplingData), which describes their
//! origin.
//!
//! *Between launches.* `launches.rs` counts the instructions and accesses of each launch without timing; `strata.rs` groups launches of the
//! same code and of about the same work. From each stratum some launches are drawn at random (`draw.rs`) and simulated in their order.
//! Before each simulated launch, the LLC receives the lines that skipped launches left there (`history.rs`). `estimate.rs` gives every
//! simulated launch a weight, with which `extrapolate.rs` extrapolates all counters. *Inside a long launch*, parts of its grid are
//! simulated (`inside.rs`, `ranges.rs`). Rounds of simulation follow each other until the interval is as narrow as requested (`rounds.rs`):
//! `choice.rs` chooses the launches of the next round, `state.rs` runs it, and `known.rs` computes the estimates from all rounds.
//!
//! This package does not depend on the simulation of a launch, on files, or on terminals.
#![forbid(unsafe_code)]

mod choice;
mod draw;
mod estimate;
mod estimates;
mod extrapolate;
mod history;
mod launches;
mod long_launch;
mod options;
mod ranges;
mod rounds;
mod simulate;
mod state;
mod strata;
mod student;

pub use options::{SamplingOptions, SamplingOptionsError};
pub use rounds::sample;
pub use simulate::{SampleError, SimulateFn};
