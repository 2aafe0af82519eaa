//! The GPU: grid scheduler and SMs.
