//! Memory: cache building blocks, LLC slices, DRAM channels, and the partition that joins them into one unit.

mod bridge;
pub mod cache;
pub mod dram;
pub mod llc;
mod partition;
#[cfg(test)]
mod partition_tests;
mod side;
mod warm;

pub use partition::{Partition, PartitionDecision, PartitionPorts, PartitionSample, StallCounts, arrival_capacity};
