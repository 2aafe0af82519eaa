//! The GPU: grid scheduler and SMs.

pub mod cta;
pub mod occupancy;
#[cfg(test)]
pub(crate) mod test_machine;
