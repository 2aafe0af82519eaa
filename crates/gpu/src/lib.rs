//! The GPU: grid scheduler and SMs.
#![forbid(unsafe_code)]

pub mod cta;
pub mod occupancy;
pub mod sm;
#[cfg(test)]
pub(crate) mod test_machine;
