//! warpshard: a parallel, sharded, deterministic simulator of GPUs and CPU+GPU chips.
#![forbid(unsafe_code)]

pub use warpshard_base as base;
pub use warpshard_chip as chip;
pub use warpshard_config as config;
pub use warpshard_control as control;
pub use warpshard_cpu as cpu;
pub use warpshard_device as device;
pub use warpshard_energy as energy;
pub use warpshard_engine as engine;
pub use warpshard_frontend as frontend;
pub use warpshard_gpu as gpu;
pub use warpshard_mem as mem;
pub use warpshard_noc as noc;
pub use warpshard_policy as policy;
pub use warpshard_protocol as protocol;
pub use warpshard_state as state;
pub use warpshard_stats as stats;

pub mod cli;
pub mod report;
pub mod rig;
pub mod sample;
pub mod study;
pub mod sweep;
pub mod view;

/// The complete example of `docs/adding.md`, which builds and runs as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../docs/adding.md")]
struct Adding;
