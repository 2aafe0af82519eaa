//! Test stands: single models under synthetic load, to compare them with other simulators.
//!
//! They use the models that machines are built from, and are deterministic: the same options give the same figures.
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
pub use pattern::{PATTERNS, Pattern};
