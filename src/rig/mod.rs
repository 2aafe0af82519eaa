//! Test stands: single models driven by synthetic load, as users and studies compare them with other simulators.
//!
//! Thin over the models that machines are built from, and deterministic: the same options give the same figures.

pub mod audit;
pub mod cpu;
mod cpu_dram;
pub mod dram;
pub mod noc;
mod pattern;

pub use pattern::{PATTERNS, Pattern};
