//! A DRAM channel: banks with rows, bank groups, a command scheduler and a data bus, in cycles of the command clock.
//!
//! The mechanism and its order within a cycle follow GPGPU-Sim's `dram.cc` and `dram_sched.cc`. GPGPU-Sim counts timers down every cycle;
//! this channel stores the cycle from which each command is allowed, which gives the next cycle with work. Input: requests with bank and
//! row. Output: finished reads and writes in the order of the data bus.

mod bank;
mod choice;
mod command_channel;
pub mod control;
mod due;
mod order;
mod request;
mod scheduler;
mod simple_channel;
#[cfg(test)]
mod tests;
mod timing;

pub use choice::{Channel, Clocked};
pub use command_channel::CommandChannel;
pub use request::{CycleEvents, DramRequest, RequestKind, SliceRequest};
pub use simple_channel::{DramCounters, SimpleChannel};
pub use warpshard_device::{mapping, standard};
