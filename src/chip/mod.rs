//! A whole chip: assembles its units, runs a workload on it, observes it at cuts, and applies what controllers decide.
//!
//! In: a checked machine, a workload, controllers. Out: the outcome of the run. This room lies above the models and is the only one
//! that knows all of them; what is generic about stepping and exchanging messages lies in [`crate::engine`].

mod apply;
mod build;
mod cpu_load;
mod facts;
mod observe;
mod simulate;
mod snapshot;
#[cfg(test)]
mod tests;
mod unit;

pub use crate::engine::Scaling;
pub use build::{Built, ChipLayout, ShardCut, build, occupancies};
pub use cpu_load::{CpuApplication, CpuEnd, CpuLoad, CpuSource};
pub use observe::{Observer, Progress};
pub use simulate::{RunError, RunOptions, RunResult, simulate};
pub use unit::{ChipDecision, ChipUnit, counter_lists};
