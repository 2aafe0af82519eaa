//! The kernel of the simulator: steps units on threads in epochs, exchanges their messages, and makes cuts.
//!
//! In: a [`Plan`] of units and links, and a [`Director`]. Out: the units at the last cut. Invariant: everything simulated is the same
//! for every number of threads, every assignment of units to workers and every epoch length within the lookahead. The package knows
//! neither GPUs nor memory packets: payloads, events and decisions are types of the [`Unit`]. Models lie above it and implement
//! `Unit`; a toy machine in the tests does, too.
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
mod turns;
mod unit;
mod worker;

pub use checkpoint::{Checkpoints, Keep};
pub use director::{Cut, Director, SeenEvent, View};
pub use error::SetupError;
pub use log::{Logged, MessageLog};
pub use outbox::{Batch, Event, Outbox, Route, Sent};
pub use placement::{LONG, ShardCost, improve, left_to_owner, place};
pub use plan::{Latency, Plan, PlannedLink, PlannedUnit};
pub use ranks::{LocalRanks, Ranks, share};
pub use record::{HostTimes, RecordedEpoch, Recording, barrier_nanos};
pub use retime::{Retiming, retime};
pub use scaling::Scaling;
pub use shared::StopReason;
pub use sim::{EngineError, EngineFacts, Finished, Settings, run, run_in_ranks};
pub use turns::Turns;
pub use unit::{Unit, Work};
