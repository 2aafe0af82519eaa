//! The GPU: grid scheduler and SMs.
#![forbid(unsafe_code)]

extern crate self as gpu;
use warpshard_base as base;
use warpshard_config as config;
use warpshard_engine as engine;
use warpshard_frontend as frontend;
use warpshard_mem as mem;
use warpshard_protocol as protocol;
use warpshard_stats as stats;

pub mod cta;
pub mod occupancy;
pub mod sm;
#[cfg(test)]
pub(crate) mod test_machine;
