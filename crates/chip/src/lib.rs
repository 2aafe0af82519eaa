//! A whole chip: assembles its units, runs a workload, observes the units at cuts, and applies the decisions of controllers.
//!
//! Input: a checked machine, a workload, controllers. Output: the outcome of the run. This package is the only one that depends on all
//! models; generic stepping and message exchange are in [`warpshard_engine`].
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

/// Host-side types of the engine: processes of a run, recordings, and the placement of shards.
pub mod host {
    pub use warpshard_engine::{
        HostTimes, LONG_UNIT_COST, Ranks, RecordedEpoch, Recording, ShardCost, assign_shards, barrier_nanos, move_shards,
        units_left_to_owner,
    };
}

pub use build::{BuiltChip, ShardCut, build, occupancies};
pub use build_error::BuildError;
pub use cpu_load::{CpuApplication, CpuEnd, CpuLoad, CpuLoadError, CpuSource};
pub use facts::{facts, launches};
pub use layout::ChipLayout;
pub use live::{Live, LiveRequest, LiveView};
pub use measure::{CounterMark, LaunchMeasurement, LaunchSelection, Skipped};
pub use observe::Observer;
pub use progress::Progress;
pub use simulate::{HostRecording, RecordedUnit, RunError, RunOptions, RunResult, simulate};
pub use system_stats::for_machine;
pub use unit::{ChipDecision, ChipUnit, counter_lists};
pub use warpshard_engine::{Checkpoints, Scaling};
