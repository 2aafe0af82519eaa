//! CPU cores: a trace-driven out-of-order core with private caches, as a unit of the machine.
//!
//! Inputs: a [`crate::frontend::cpu::CpuStream`], replies and credits of the networks. Outputs: requests, credits, and the
//! events of warm-up and measurement. A core has its own clock and address space and knows no other unit.
#![forbid(unsafe_code)]

use warpshard_base as base;
use warpshard_config as config;
use warpshard_engine as engine;
use warpshard_frontend as frontend;
use warpshard_mem as mem;
use warpshard_protocol as protocol;
use warpshard_stats as stats;

mod caches;
mod core;
mod counters;
mod fetch;
mod net;
#[cfg(test)]
mod tests;
mod window;

pub use self::core::{CpuCore, CpuGoals, CpuSample, Mark};
pub use counters::{CpuCounters, CpuMarks};
pub use net::{CpuPorts, place};
