//! CPU cores: a trace-driven out-of-order core with private caches, as a unit of the machine.
//!
//! Input: a [`warpshard_cpu_load::CpuStream`], replies and credits of the networks. Output: requests, credits, and the events of warm-up
//! and measurement. A core has its own clock and address space and does not depend on other units.
#![forbid(unsafe_code)]

mod caches;
mod core;
mod counters;
mod fetch;
mod net;
#[cfg(test)]
mod tests;
mod window;

pub use self::core::{CpuCore, CpuGoals, CpuSample, GoalMark};
pub use counters::{CpuCounters, CpuMarks};
pub use net::{CpuPorts, machine_addr};
