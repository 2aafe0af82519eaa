//! Test stands: single models under synthetic load, to compare them with other simulators.
//!
//! They use the models that machines are built from, and are deterministic: the same options give the same figures.
#![forbid(unsafe_code)]

pub mod audit;
pub mod cpu;
mod cpu_dram;
mod cpu_memory;
pub mod dram;
pub mod noc;
mod pattern;

pub use pattern::{PATTERNS, Pattern};
