//! Steps shards on threads: epochs, exchange, cuts, control.
//!
//! The generic part ([`Plan`], [`run`]) knows units and links but no GPU: a toy machine runs on it in the tests.

mod agenda;
mod build;
mod control;
mod cpu;
mod director;
mod gpu;
mod log;
mod observe;
mod placement;
mod plan;
mod retime;
mod run;
mod sim;
mod snapshot;
mod turns;
mod unit;
mod worker;

pub use build::{Built, GpuLayout, ShardCut, build, occupancies};
pub use control::StopReason;
pub use cpu::{CpuApplication, CpuEnd, CpuLoad, CpuSource};
pub use director::{Cut, Director, SeenEvent};
pub use gpu::{GpuDecision, GpuUnit, counter_lists};
pub use log::{Logged, MessageLog};
pub use observe::Observer;
pub use placement::{ShardCost, improve, place};
pub use plan::{Latency, Plan, PlannedLink, PlannedUnit};
pub use retime::{Timing, retime};
pub use run::{Progress, RunError, RunOptions, RunResult, simulate};
pub use sim::{EngineError, EngineFacts, Finished, Settings, run};
pub use unit::{Unit, Work};
