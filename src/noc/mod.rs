//! The network between SMs and memory partitions: one unit per subnet.
//!
//! `crossbar` is the `fifo` crossbar, `output_queued` one with a queue per output, and `mesh` has networks of virtual-channel
//! routers. `queues` has the input queues, `outputs` the credits and requests of a crossbar's outputs, and `calendar` the cycles in
//! which messages become visible.

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
