//! The network between SMs and memory partitions: one unit per subnet.
//!
//! `crossbar` is the `fifo` crossbar; `output_queued` another with a queue per
//! output; `mesh` holds networks of virtual-channel routers. `queues` holds their input queues in one slab, `outputs` the credits of a
//! crossbar; `calendar` tells when something becomes visible.

mod calendar;
mod crossbar;
pub mod mesh;
mod output_queued;
mod outputs;
mod queues;
#[cfg(test)]
mod tests;

pub use crossbar::{Direction, NetCounters, Subnet, SubnetPorts};
pub use output_queued::OutputQueued;
