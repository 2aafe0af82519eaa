//! A whole chip: assembles its units, runs a workload on it, observes it at cuts, and applies what controllers decide.
//!
//! In: a checked machine, a workload, controllers. Out: the outcome of the run. This package lies above the models and is the
//! only one that knows all of them; what is generic about stepping and exchanging messages lies in [`warpshard_engine`].
#![forbid(unsafe_code)]

mod activity;
mod apply;
mod build;
mod build_error;
mod cpu_load;
mod facts;
mod layout;
mod live;
mod measure;
mod observe;
mod progress;
mod share;
mod simulate;
mod snapshot;
mod system;
mod system_stats;
#[cfg(test)]
mod tests;
mod unit;

/// What the engine knows of hosts: the processes of a run, recordings, and how shards are placed.
pub mod host {
    pub use warpshard_engine::{HostTimes, LONG, Ranks, RecordedEpoch, Recording, ShardCost, barrier_nanos, improve, left_to_owner, place};
}

pub use build::{Built, ShardCut, build, occupancies};
pub use build_error::BuildError;
pub use cpu_load::{CpuApplication, CpuEnd, CpuLoad, CpuLoadError, CpuSource};
pub use facts::{facts, launches};
pub use layout::ChipLayout;
pub use live::{Live, LiveView, Wish};
pub use measure::{Mark, Measure, Measured, Skipped};
pub use observe::Observer;
pub use progress::Progress;
pub use simulate::{HostRecording, RecordedUnit, RunError, RunOptions, RunResult, simulate};
pub use system_stats::for_machine;
pub use unit::{ChipDecision, ChipUnit, counter_lists};
pub use warpshard_engine::{Checkpoints, Scaling};
