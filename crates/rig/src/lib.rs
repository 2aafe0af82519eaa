//! Test benches: single models under synthetic load, for comparison with other simulators.
//!
//! They use the same models as machines, and are deterministic: the same options give the same figures.
#![forbid(unsafe_code)]

pub mod audit;
pub mod cpu;
mod cpu_dram;
mod cpu_memory;
pub mod dram;
mod error;
pub mod noc;
mod pattern;

pub use error::RigError;
pub use pattern::{AccessPattern, PATTERNS};
