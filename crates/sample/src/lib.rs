//! Sampled runs: a part of a long workload is simulated in full detail, and the rest is estimated from it, with confidence intervals.
//!
//! In: a machine, a workload of launches that run one after the other, [`Options`], and whoever simulates. Out: an
//! [`Outcome`](warpshard_stats::Outcome) whose numbers are estimates, with [`Sampled`](warpshard_stats::Sampled) that says how they came about.
//!
//! *Between launches.* `launches.rs` says what each launch executes without timing it; `strata.rs` puts launches of the same code and of about
//! the same work together; of each stratum some launches, drawn at random (`draw.rs`), are simulated in their order. Before each the LLC gets
//! what skipped launches left there (`history.rs`). `estimate.rs` gives every simulated launch a weight, with which `extrapolate.rs`
//! extrapolates all counters. *Inside a long launch*, parts of its grid are simulated (`inside.rs`, `ranges.rs`). Rounds of simulation follow
//! each other until the interval is as narrow as asked for (`rounds.rs`): `choice.rs` chooses what the next round simulates, `state.rs` runs it,
//! and `known.rs` makes the estimates from all rounds.
//!
//! What this package does not know: how a launch is simulated, files, terminals.
#![forbid(unsafe_code)]

mod choice;
mod draw;
mod estimate;
mod extrapolate;
mod history;
mod inside;
mod known;
mod launches;
mod options;
mod ranges;
mod rounds;
mod simulate;
mod state;
mod strata;
mod student;

pub use options::{Options, OptionsError};
pub use rounds::sample;
pub use simulate::{SampleError, Simulate};
