//! The kernel of the simulator: steps units on threads in epochs, exchanges their messages, and makes cuts.
//!
//! Inputs: a [`Plan`] of units and links, and a [`Director`]. Outputs: the units at the last cut. Invariant: simulated results are the same
//! for every number of threads, every assignment of units to workers and every epoch length within the lookahead. The package knows
//! neither GPUs nor memory packets: payloads, events and decisions are types of the [`Unit`]. Hardware models and the toy machine of the
//! tests implement `Unit`.
#![forbid(unsafe_code)]

mod agenda;
mod checkpoint;
mod coordinator;
mod director;
mod error;
mod log;
mod outbox;
mod placement;
mod plan;
mod ranks;
mod record;
mod retime;
mod scaling;
mod shared;
mod sim;
mod unit;
mod unit_groups;
mod worker;

pub use checkpoint::{Checkpoints, StoreCheckpoint};
pub use director::{Cut, CutEvent, Director, View};
pub use error::SetupError;
pub use log::{LoggedMessage, MessageLog};
pub use outbox::{Event, MessageBatch, Outbox, Route, SentMessage};
pub use placement::{LONG_UNIT_COST, ShardCost, assign_shards, move_shards, units_left_to_owner};
pub use plan::{Latency, Plan, PlannedLink, PlannedUnit};
pub use ranks::{LocalRanks, Ranks, share};
pub use record::{HostTimes, RecordedEpoch, Recording, barrier_nanos};
pub use retime::{Retiming, retime};
pub use scaling::Scaling;
pub use shared::StopReason;
pub use sim::{EngineError, EngineFacts, EngineResult, Settings, run, run_in_ranks};
pub use unit::{Unit, Work};
pub use unit_groups::UnitGroups;
