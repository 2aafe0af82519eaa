//! The network between SMs and memory partitions: one unit per subnet.
//!
//! `crossbar` is the `fifo` crossbar; `mesh` holds networks of virtual-channel routers. `queues` its input queues in one slab; `calendar` tells it when something becomes visible.

mod calendar;
mod crossbar;
pub mod mesh;
mod queues;
#[cfg(test)]
mod tests;

pub use crossbar::{Direction, NetCounters, NetDecision, NetSample, Subnet, SubnetPorts};
