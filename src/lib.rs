//! warpshard: a parallel, sharded, deterministic simulator of GPUs and CPU+GPU chips.
#![forbid(unsafe_code)]

pub mod base;
pub mod chip;
pub mod cli;
pub mod config;
pub mod control;
pub mod cpu;
pub mod device;
pub mod energy;
pub mod engine;
pub mod frontend;
pub mod gpu;
pub mod mem;
pub mod noc;
pub mod policy;
pub mod protocol;
pub mod report;
pub mod rig;
pub mod stats;
pub mod study;
pub mod sweep;
pub mod view;

/// The complete example of `docs/adding.md`, which builds and runs as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../docs/adding.md")]
struct Adding;
