//! A DRAM channel: banks with rows, bank groups, a command scheduler and a data bus, in cycles of the command clock.
//!
//! The mechanism and its order within a cycle are those of GPGPU-Sim's `dram.cc` and `dram_sched.cc`; where the reference
//! counts timers down every cycle, the channel keeps the cycle from which each command is allowed, and so knows the next
//! cycle in which it has work. In: requests with bank and row. Out: finished reads and writes in the order of the data bus.

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
pub use request::{Owner, Request, RequestKind, Worked};
pub use simple_channel::{DramCounters, SimpleChannel};
pub use warpshard_device::{mapping, standard};
