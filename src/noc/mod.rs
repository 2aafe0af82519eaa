//! The network between SMs and memory partitions: one unit per subnet.
//!
//! `crossbar` is the `fifo` crossbar, `output_queued` one with a queue per output, and `mesh` has networks of virtual-channel
//! routers. `queues` has the input queues, `outputs` the credits and requests of a crossbar's outputs, and `calendar` the cycles in
//! which messages become visible.
#![forbid(unsafe_code)]

use warpshard_base as base;
use warpshard_config as config;
use warpshard_engine as engine;
use warpshard_protocol as protocol;
use warpshard_stats as stats;

mod calendar;
mod crossbar;
pub mod hub;
pub mod mesh;
mod output_queued;
mod outputs;
mod queues;
#[cfg(test)]
mod tests;

pub use crossbar::{Direction, NetCounters, Subnet, SubnetPorts};
pub use output_queued::OutputQueued;
