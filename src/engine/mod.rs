//! Steps shards on threads: epochs, exchange, cuts, control.
//!
//! The generic part ([`Plan`], [`run`]) knows units and links but no GPU: a toy machine runs on it in the tests.

mod control;
mod director;
mod placement;
mod plan;
mod retime;
mod sim;
mod unit;
mod worker;

pub use control::StopReason;
pub use director::{Cut, Director, SeenEvent};
pub use placement::{ShardCost, place};
pub use plan::{Latency, Plan, PlannedLink, PlannedUnit};
pub use retime::{Timing, retime};
pub use sim::{EngineError, EngineFacts, Finished, Settings, run};
pub use unit::Unit;
pub use worker::{LateMessages, Logged, MessageLog};
