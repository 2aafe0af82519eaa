//! The GPU: grid scheduler and SMs.

pub mod cta;
